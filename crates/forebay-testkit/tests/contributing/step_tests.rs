//! Step marking with numbers by hand: the rules of RFC 8257 section 3.1.

use crate::step::{Params, Step};
use forebay_base::{
    Addr, Arena, DropLog, Ecn, Endpoint, IpVersion, Packet, Rate, Rng, Stream, TcpFields, Time,
};
use forebay_queue::{Discipline, Limit, PortContext, PortInit};

fn packet(ecn: Ecn) -> Packet {
    let end = |id| Endpoint { addr: Addr(id), port: 7 };
    let mut packet = Packet::tcp(IpVersion::V4, end(1), end(2), TcpFields::default(), 960);
    packet.set_ecn(ecn);
    packet
}

/// The packets that leave of those that come at once to a queue of at most four: K = 2.
fn through(arrivals: &[Ecn]) -> (Vec<Ecn>, u64) {
    let rng = Rng::new(1, Stream::Discipline, 0);
    let (rate, limit) = (Rate::mbps(10), Limit::Packets(4));
    let init = PortInit { limit, rate, mtu_bytes: 1500, overhead_bytes: 0, rng };
    let mut queue = Step::new(&Params { mark_packets: 2 }, init);
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let (arena, drops, split) = (&mut arena, &mut drops, &mut split);
    let mut cx = PortContext { now: Time::ZERO, arena, drops, split };
    for &ecn in arrivals {
        let _refused = queue.enqueue(packet(ecn), &mut cx);
    }
    let mut left = Vec::new();
    while let Some(packet) = queue.dequeue(&mut cx) {
        left.push(packet.ecn());
    }
    (left, cx.drops.ce_marks())
}

#[test]
fn a_packet_that_finds_k_packets_is_marked_and_one_that_does_not_fit_is_refused() {
    let (left, marks) = through(&[Ecn::Ect0; 5]);
    assert_eq!((left, marks), (vec![Ecn::Ect0, Ecn::Ect0, Ecn::Ce, Ecn::Ce], 2));
    let (left, marks) = through(&[Ecn::NotEct; 5]);
    assert_eq!((left, marks), (vec![Ecn::NotEct; 4], 0));
}

#[test]
fn a_threshold_of_nothing_is_refused() {
    assert_eq!(Params { mark_packets: 0 }.check().map_err(|e| e.param), Err("mark_packets"));
    assert_eq!(Params::default().check(), Ok(()));
}
