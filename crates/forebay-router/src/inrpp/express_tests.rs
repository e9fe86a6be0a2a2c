//! ACKs that wait at a port: which of them are sent.

use super::express::{Express, Waits};
use alloc::vec::Vec;
use forebay_base::{Addr, Arena, Endpoint, IpVersion, Packet, Rate, Span, TcpFields, TcpFlags};
use forebay_base::{Time, kind};

const SYN_ACK: TcpFlags = TcpFlags::SYN.with(TcpFlags::ACK);
const FIN_ACK: TcpFlags = TcpFlags::FIN.with(TcpFlags::ACK);
const T_P: Span = Span::from_millis(10);

fn port() -> Express {
    Express::new(Rate::mbps(1), T_P)
}
/// A segment without payload from the receiver of flow `n`.
fn segment(n: u16, (seq, ack): (u32, u32), flags: TcpFlags) -> Packet {
    let end = |host, port| Endpoint { addr: Addr(host), port };
    let fields = TcpFields { seq, ack, flags, ..TcpFields::default() };
    Packet::tcp(IpVersion::V4, end(2, 80), end(1, 5000 + n), fields, 0)
}
fn ack(n: u16, ack: u32) -> Packet {
    segment(n, (1, ack), TcpFlags::ACK)
}
/// What leaves: flow and acknowledgement of each packet.
fn left(port: &mut Express) -> Vec<(u16, u32)> {
    let named = |packet: Packet| {
        let (_, to) = packet.ports().expect("TCP");
        (to - 5000, packet.tcp_fields().expect("TCP").ack)
    };
    core::iter::from_fn(|| port.pop()).map(named).collect()
}

#[test]
fn a_newer_ack_takes_the_place_of_an_older_one() {
    let (mut port, arena) = (port(), Arena::default());
    for packet in [ack(1, 100), ack(2, 100)] {
        assert!(matches!(port.wait(packet, &arena), Waits::Last));
    }
    assert!(matches!(port.wait(ack(1, 200), &arena), Waits::InsteadOf(_)));
    assert_eq!(left(&mut port), [(1, 200), (2, 100)]);
    assert!(port.is_empty());
}

#[test]
fn an_ack_that_a_newer_one_has_overtaken_does_not_wait() {
    let (mut port, arena) = (port(), Arena::default());
    assert!(matches!(port.wait(ack(1, 300), &arena), Waits::Last));
    assert!(matches!(port.wait(ack(1, 200), &arena), Waits::Needless(_)));
    // As much is no less: without SACK duplicates are counted.
    assert!(matches!(port.wait(ack(1, 300), &arena), Waits::Last));
    assert_eq!(left(&mut port), [(1, 300), (1, 300)]);
}

#[test]
fn a_window_waits_for_the_first_ack_of_data_where_its_syn_ack_waits() {
    let (mut port, arena) = (port(), Arena::default());
    assert!(matches!(port.wait(segment(1, (0, 1), SYN_ACK), &arena), Waits::Last));
    assert!(matches!(port.wait(ack(1, 1), &arena), Waits::Needless(_)));
    assert!(matches!(port.wait(ack(1, 1461), &arena), Waits::Last));
    assert_eq!(left(&mut port), [(1, 1), (1, 1461)]);
    // Without its SYN-ACK before it, it is an ACK like others.
    assert!(matches!(port.wait(ack(1, 1), &arena), Waits::Last));
}

#[test]
fn an_ack_whose_fin_has_left_is_not_sent() {
    let (mut port, mut arena) = (port(), Arena::default());
    for packet in [ack(1, 100), ack(2, 100), ack(3, 100)] {
        port.wait(packet, &arena);
    }
    let fin = |n, ack| segment(n, (1, ack), FIN_ACK);
    assert!(port.outdated_by(&fin(2, 99), &arena).is_none(), "it says less");
    assert!(port.outdated_by(&fin(4, 100), &arena).is_none(), "none waits");
    for n in [2, 1] {
        assert!(port.outdated_by(&fin(n, 100), &arena).is_some());
        assert!(port.outdated_by(&fin(n, 100), &arena).is_none(), "it has gone");
    }
    assert_eq!(port.iter().count(), 1);
    assert!(matches!(port.wait(ack(3, 200), &arena), Waits::InsteadOf(_)));
    assert_eq!(left(&mut port), [(3, 200)]);

    // Data that repeat what is acknowledged may have a duplicate before them; so may a FIN where
    // SACK blocks say that something is missing.
    let data = |ack| segment(1, (1, ack), TcpFlags::ACK.with(TcpFlags::PSH));
    port.wait(ack(1, 300), &arena);
    assert!(port.outdated_by(&data(300), &arena).is_none());
    assert!(port.outdated_by(&data(301), &arena).is_some());
    let mut missing = ack(1, 300);
    let cold = missing.cold_mut(&mut arena);
    cold.tcp_options.push(kind::SACK, &[0; 8]).expect("there is room");
    port.wait(missing, &arena);
    assert!(port.outdated_by(&fin(1, 300), &arena).is_none());
    assert!(port.outdated_by(&fin(1, 301), &arena).is_some());
    assert!(port.is_empty());
}

/// 1 Mbit/s carries 1250 bytes in T_p.
#[test]
fn acks_wait_while_those_in_the_queue_take_the_link_long() {
    let (rate, slow) = (Rate::mbps(1), Rate::new(500_000).expect("in range"));
    let mut port = port();
    for _ in 0..12 {
        assert!(!port.is_long(Time::ZERO, rate));
        port.passed_at_once(Time::ZERO, rate, 100);
    }
    assert!(!port.is_long(Time::ZERO, rate), "9.6 ms");
    assert!(port.is_long(Time::ZERO, slow), "at half the rate 19.2 ms");
    port.passed_at_once(Time::ZERO, slow, 100);
    assert!(port.is_long(Time::from_millis(10), slow), "10.8 ms");
    assert!(!port.is_long(Time::from_millis(11), slow), "9.8 ms");
    assert!(!port.is_long(Time::ZERO, Rate::mbps(10)), "1.0 ms");
}

#[test]
fn once_some_have_waited_others_do_until_the_queue_has_none() {
    let (mut port, arena, rate) = (port(), Arena::default(), Rate::mbps(1));
    port.passed_at_once(Time::ZERO, rate, 1250);
    port.wait(ack(1, 100), &arena);
    assert_eq!(left(&mut port), [(1, 100)]);
    port.passed(Time::from_millis(10), rate, 1250);
    assert!(port.is_long(Time::from_millis(19), rate));
    assert!(!port.is_long(Time::from_millis(20), rate));
    port.passed_at_once(Time::from_millis(20), rate, 1250);
    assert!(!port.is_long(Time::from_millis(20), rate), "it begins again");

    // Where the queue of the link may be full before anything waits, it decides alone.
    let mut port = Express::new(rate, Span::MAX);
    port.passed_at_once(Time::ZERO, rate, 1250);
    port.wait(ack(1, 100), &arena);
    assert!(!port.is_long(Time::ZERO, rate));
}
