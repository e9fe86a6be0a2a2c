//! What is left of a connection that is over.

use crate::testing::{Delivery, ISN, Pair, Plan, SentPacket, config};
use crate::{ClosedConnection, ConnectionView, LINGER, TcpConfig};
use forebay_base::{
    Addr, Arena, Ecn, Endpoint, IpVersion, Packet, Rng, Span, Stream, TcpFields, TcpFlags, Time,
};

const BYTES: u64 = 100_000;

/// Both ends after a transfer with some losses, and when the last of them ended.
fn over(config: TcpConfig) -> (Pair, Time) {
    let mut count = 0;
    let mut pair = Plan::new(config, BYTES).start(move |sent| {
        count += u32::from(sent.len > 0);
        if sent.len > 0 && count % 17 == 0 { Delivery::Drop } else { Delivery::Deliver }
    });
    pair.run_ms(60_000);
    pair.assert_finished(BYTES);
    let ended = pair.ends.iter().filter_map(|end| end.progress().ended).map(|(_, at)| at).max();
    (pair, ended.expect("both have"))
}

fn closed(pair: &Pair, end: usize, now: Time) -> ClosedConnection {
    pair.ends[end].closed(now).expect("it is over")
}

/// A segment for end `to`, from where its peer sends.
fn segment(to: usize, offset: u64, flags: TcpFlags, payload: u16) -> Packet {
    let end = |addr| Endpoint { addr: Addr(addr), port: 1000 };
    let (src, dst) = if to == 0 { (end(2), end(1)) } else { (end(1), end(2)) };
    let ack = if to == 0 { BYTES as u32 + 2 } else { 1 };
    let fields = TcpFields {
        seq: ISN.wrapping_add(offset as u32),
        ack: ISN.wrapping_add(ack),
        flags: flags.with(TcpFlags::ACK),
        window: 1_000,
        timestamps: None,
    };
    Packet::tcp(IpVersion::V4, src, dst, fields, payload)
}

fn stamped(packet: Packet, timestamps: Option<(u32, u32)>) -> Packet {
    let fields = packet.tcp_fields().expect("TCP");
    with_fields(packet, TcpFields { timestamps, ..fields })
}
fn with_fields(packet: Packet, fields: TcpFields) -> Packet {
    let (from, to) = packet.ports().expect("TCP");
    let end = |addr, port| Endpoint { addr, port };
    let (src, dst) = (end(packet.src(), from), end(packet.dst(), to));
    Packet::tcp(IpVersion::V4, src, dst, fields, packet.payload_len())
}

#[test]
fn it_lingers_and_then_the_results_stay() {
    let (pair, ended) = over(config());
    for (end, whole) in pair.ends.iter().enumerate() {
        let (_, at) = whole.progress().ended.expect("it has");
        assert!(whole.closed(at + LINGER - Span::from_nanos(1)).is_none());
        let (now, rest) = (ended + LINGER, closed(&pair, end, ended + LINGER));
        let [whole, rest] = [ConnectionView::Open(whole), ConnectionView::Closed(&rest)];
        assert_eq!(whole.progress(), rest.progress());
        assert_eq!(whole.counters(), rest.counters());
        assert_eq!(whole.arrived_bytes(), rest.arrived_bytes());
        assert_eq!(whole.held_back(now), rest.held_back(now));
        assert_eq!((whole.view(0), whole.rtt_summary(0)), (rest.view(0), rest.rtt_summary(0)));
        assert_eq!((whole.paths(), whole.path_port(0)), (rest.paths(), rest.path_port(0)));
        assert!(rest.is_ended() && rest.open().is_none());
    }
    assert!(size_of::<ClosedConnection>() <= 360, "{}", size_of::<ClosedConnection>());
}

/// The oracle is the connection as a whole: its answers to the same segments, options and all.
#[test]
fn what_comes_late_has_the_answers_that_the_whole_connection_gives() {
    let mut rng = Rng::new(1, Stream::Test, 0);
    let mut answers = 0;
    for round in 0..400 {
        let [sack, timestamps, ecn] = [0, 1, 2].map(|bit| round >> bit & 1 == 1);
        let end = round >> 3 & 1;
        let (mut pair, ended) = over(TcpConfig { sack, timestamps, ecn, ..config() });
        let mut now = ended + LINGER;
        let mut rest = closed(&pair, end, now);
        let arena = &mut Arena::default();
        for _ in 0..30 {
            now += Span::from_millis([0, 1, 20, 300][rng.below(4) as usize]);
            let packet = late(&mut rng, end, now, timestamps);
            assert!(rest.is_from_peer(&packet));
            pair.ends[end].on_packet(now, 0, &packet, arena);
            rest.on_packet(now, &packet, arena);
            if rng.chance(0.7) {
                let asked = pair.ends[end].poll_transmit(now, 0, arena);
                let answer = rest.poll_transmit(now, arena);
                let digest = |packet: &Packet| (packet.digest(arena), packet.ecn());
                assert_eq!(answer.as_ref().map(digest), asked.as_ref().map(digest), "{packet:?}");
                answers += u32::from(answer.is_some());
                assert!(rest.has_nothing_to_send() && rest.poll_transmit(now, arena).is_none());
            }
            assert_eq!(ConnectionView::Closed(&rest).counters(), pair.ends[end].counters());
        }
    }
    assert!(answers > 3_000, "{answers}");
}

/// A segment that may come late to `end`, or may have been invented.
fn late(rng: &mut Rng, end: usize, now: Time, timestamps: bool) -> Packet {
    let sent = if end == 0 { 0 } else { BYTES };
    // All sequence numbers of the peer: SYN, data, FIN, and what follows.
    let offset = [0, 1, sent.max(1), sent + 1, sent + 2, 1 + rng.below(sent + 1)];
    let offset = offset[rng.below(6) as usize];
    let payload = if end == 1 { (sent + 1).saturating_sub(offset.max(1)).min(1448) } else { 0 };
    let payload = if rng.chance(0.5) { payload } else { 0 };
    let fin = offset + payload == sent + 1 && rng.chance(0.7);
    let mut flags = if fin { TcpFlags::FIN } else { TcpFlags::default() };
    // ECE is left out: there is no window any more that could be reduced.
    let others = [TcpFlags::SYN, TcpFlags::RST, TcpFlags::CWR];
    if rng.chance(0.2) {
        flags = flags.with(others[rng.below(3) as usize]);
    }
    let millis = [now.as_millis(), now.as_millis() - 150, 1][rng.below(3) as usize] as u32;
    let stamps = timestamps.then_some((millis, millis));
    let mut packet = stamped(segment(end, offset, flags, payload as u16), stamps);
    let mut fields = packet.tcp_fields().expect("TCP");
    match rng.below(20) {
        0 => fields.flags = flags,
        1 => fields.ack = fields.ack.wrapping_add(1),
        2 => fields.ack = fields.ack.wrapping_sub(1 << 20),
        3 => fields.ack = fields.ack.wrapping_sub(1),
        _ => {}
    }
    packet = with_fields(packet, fields);
    if rng.chance(0.2) {
        packet.set_ecn(Ecn::Ce);
    }
    packet
}

#[test]
fn a_reset_and_a_stranger_have_no_answer() {
    let (pair, ended) = over(config());
    let mut rest = closed(&pair, 1, ended + LINGER);
    rest.on_packet(ended + LINGER, &segment(1, BYTES + 2, TcpFlags::RST, 0), &Arena::default());
    assert!(rest.has_nothing_to_send());
    assert!(!rest.is_from_peer(&segment(0, 1, TcpFlags::FIN, 0)));
}

#[test]
fn one_that_was_aborted_says_nothing() {
    let script = |sent: &SentPacket| if sent.forth { Delivery::Deliver } else { Delivery::Drop };
    let mut pair = Plan::new(config(), BYTES).start(script);
    pair.run_ms(3_000_000);
    let (_, at) = pair.ends[0].progress().ended.expect("nobody answers");
    let mut rest = closed(&pair, 0, at + LINGER);
    let arena = &mut Arena::default();
    rest.on_packet(at + LINGER, &segment(0, 0, TcpFlags::SYN, 0), arena);
    assert!(rest.poll_transmit(at + LINGER, arena).is_none());
}
