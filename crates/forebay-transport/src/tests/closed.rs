//! What is left of a connection that is over.

use crate::testing::{Delivery, ISN, Pair, Plan, SentPacket, config};
use crate::{ClosedConnection, ConnectionView, LINGER, TcpConfig};
use forebay_base::{Addr, Arena, Endpoint, IpVersion, Packet, Span, TcpFields, TcpFlags, Time};

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
    let (fields, len) = (packet.tcp_fields().expect("TCP"), packet.payload_len());
    let (from, to) = packet.ports().expect("TCP");
    let end = |addr, port| Endpoint { addr, port };
    let fields = TcpFields { timestamps, ..fields };
    Packet::tcp(IpVersion::V4, end(packet.src(), from), end(packet.dst(), to), fields, len)
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
    assert!(size_of::<ClosedConnection>() <= 352, "{}", size_of::<ClosedConnection>());
}

/// The oracle is the connection as a whole: its answer to the same segments, options and all.
#[test]
fn what_comes_late_has_the_answer_that_the_whole_connection_gives() {
    for (sack, timestamps) in [(false, false), (true, false), (false, true), (true, true)] {
        let (mut pair, ended) = over(TcpConfig { sack, timestamps, ..config() });
        let now = ended + LINGER + Span::from_secs(1);
        let (fin, none) = (TcpFlags::FIN, TcpFlags::default());
        // To the client: the server's FIN, and its last ACK. To the server: first and last data,
        // with FIN, a FIN alone, and an ACK. Each with a timestamp of then, and of long before.
        let last = BYTES - 99;
        let late = [
            (0, 1, fin, 0, true),
            (0, 2, none, 0, false),
            (1, 1, none, 1448, true),
            (1, last, fin, 100, true),
            (1, BYTES + 1, fin, 0, true),
            (1, BYTES + 2, none, 0, false),
        ];
        for (end, offset, flags, payload, is_answered) in late {
            for sent_ms in [now.as_millis() as u32, 1] {
                let arena = &mut Arena::default();
                let stamps = timestamps.then_some((sent_ms, sent_ms));
                let packet = stamped(segment(end, offset, flags, payload), stamps);
                let mut rest = closed(&pair, end, now);
                assert!(rest.is_from_peer(&packet));
                pair.ends[end].on_packet(now, 0, &packet, arena);
                let asked = pair.ends[end].poll_transmit(now, 0, arena);
                rest.on_packet(&packet, arena);
                assert_eq!(rest.has_nothing_to_send(), !is_answered);
                let answer = rest.poll_transmit(now, arena);
                let digest = |packet: &Packet| packet.digest(arena);
                assert_eq!(answer.as_ref().map(digest), asked.as_ref().map(digest));
                assert_eq!(answer.is_some(), is_answered);
                assert!(rest.has_nothing_to_send() && rest.poll_transmit(now, arena).is_none());
                // Both count the same: duplicates and answers.
                assert_eq!(ConnectionView::Closed(&rest).counters(), pair.ends[end].counters());
            }
        }
    }
}

#[test]
fn a_reset_and_a_stranger_have_no_answer() {
    let (pair, ended) = over(config());
    let mut rest = closed(&pair, 1, ended + LINGER);
    rest.on_packet(&segment(1, BYTES + 2, TcpFlags::RST, 0), &Arena::default());
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
    rest.on_packet(&segment(0, 0, TcpFlags::SYN, 0), arena);
    assert!(rest.poll_transmit(at + LINGER, arena).is_none());
}
