//! The rules by hand, and receivers.

use super::*;
use crate::controller::{CongestionCause, Controller};
use crate::feedback::{AckDemand, DatagramView, Feedback};
use crate::testbed::{MSS, ack, congestion, datagram, init, next_packet, sent};
use alloc::vec::Vec;
use forebay_base::{PortId, kind};
use forebay_signal::inrpp::RouterId;

const NOW: Time = Time::from_secs(1);

fn signal(ask: BackPressureSignal, routers: u8, nonce: u32) -> BackPressure {
    BackPressure { ask, routers, nonce: Nonce::new(nonce), ..BackPressure::default() }
}
fn allowing(ask: BackPressureSignal, allowance: u16) -> BackPressure {
    BackPressure { allowance, ..signal(ask, 3, 7) }
}
fn carried(signal: BackPressure) -> OptionList {
    let mut options = OptionList::EMPTY;
    signal.push(&mut options).unwrap();
    options
}
/// A sender past a handshake in which the SYN-ACK carried `signal`.
fn established(signal: BackPressure) -> Inrpp {
    let mut inrpp = Inrpp::new(&Params::default(), init(10));
    inrpp.on_established(NOW, &ack(0).rtt, Some(&carried(signal)));
    inrpp
}
fn open() -> Inrpp {
    established(signal(BackPressureSignal::Nothing, 3, 0))
}
/// An ACK of one segment.
fn hear(inrpp: &mut Inrpp, signal: BackPressure) {
    let options = carried(signal);
    inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(MSS) });
}
fn send(inrpp: &mut Inrpp) {
    inrpp.on_sent(NOW, &sent(false));
}
fn expire(inrpp: &mut Inrpp, first: bool) {
    inrpp.on_rto(NOW, &Timeout { flight_size_bytes: 10 * MSS, first });
}
fn echo(inrpp: &mut Inrpp) -> Option<u32> {
    let next = next_packet();
    let options = inrpp.edit_header(NOW, &next).options.unwrap();
    assert_eq!(options.len(), usize::from(inrpp.traits().option_bytes));
    Echo::find(&options).unwrap().0.map(Nonce::get)
}
fn phase(inrpp: &Inrpp) -> &'static str {
    inrpp.phase()
}

#[test]
fn each_ack_opens_or_closes_the_loop() {
    use BackPressureSignal::{Cancel, Nothing, Pause, SlowDown};
    let mut inrpp = open();
    assert_eq!(inrpp.limits(), Limits::window(FIRST_FLIGHT_BYTES));
    // (what the ACK says, its nonce; phase and echo then): the rules of the head comment.
    let script = [
        (Nothing, 0, "open", None),
        (Nothing, 7, "open", Some(7)), // a router holds: only the name passes on
        (SlowDown, 7, "closed", Some(7)),
        (SlowDown, 9, "closed", Some(9)),
        (Nothing, 9, "ramp", Some(9)), // at full rate it would fill what has just been drained
        (SlowDown, 9, "closed", Some(9)),
        (Cancel, 9, "ramp", None),
        (Nothing, 0, "ramp", None),
        (Pause, 9, "closed", Some(9)),
    ];
    for (step, (ask, nonce, loop_then, echo_then)) in script.into_iter().enumerate() {
        hear(&mut inrpp, signal(ask, 3, nonce));
        assert_eq!((phase(&inrpp), echo(&mut inrpp)), (loop_then, echo_then), "step {step}");
        assert_eq!(inrpp.limits().credits.is_some(), loop_then == "closed");
        assert_eq!(inrpp.limits().cwnd_bytes == 1 << 30, loop_then == "closed");
    }
}

#[test]
fn a_pause_is_worth_no_packet_unless_nothing_else_is_in_flight() {
    let mut inrpp = open();
    let options = carried(signal(BackPressureSignal::Pause, 3, 7));
    let one = |in_flight_bytes| Ack { options: Some(&options), in_flight_bytes, ..ack(MSS) };
    for _ in 0..3 {
        inrpp.on_ack(NOW, &one(5 * MSS));
        assert_eq!(inrpp.limits().credits, Some(0));
    }
    inrpp.on_ack(NOW, &one(0));
    assert_eq!(inrpp.limits().credits, Some(1), "or no ACK would ever come again");
    let idle = established(signal(BackPressureSignal::Pause, 3, 7));
    assert_eq!(idle.limits().credits, Some(1), "the same after the handshake");
}

/// The window that the ramp begins with is what is in flight, or what a router has room for.
#[test]
fn an_allowance_begins_a_ramp_where_it_is_more_than_what_is_in_flight() {
    // In quarters of a segment: what an ACK of one adds.
    let window = |inrpp: &Inrpp| inrpp.limits().cwnd_bytes / (MSS / 4);
    assert_eq!(window(&established(allowing(BackPressureSignal::Nothing, 5))), 4 * 5);
    assert_eq!(window(&established(allowing(BackPressureSignal::Nothing, 64))), 4 * 64);
    for (in_flight, allowance, expected) in [(0, 9, 9), (20, 9, 20), (20, 0, 20), (0, 0, 1)] {
        let mut inrpp = open();
        hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 7));
        let options = carried(allowing(BackPressureSignal::Cancel, allowance));
        let prior_in_flight_bytes = in_flight * MSS;
        inrpp.on_ack(NOW, &Ack { options: Some(&options), prior_in_flight_bytes, ..ack(MSS) });
        let more = if expected < RAMP_SMALL_SEGMENTS { 4 } else { 1 };
        assert_eq!(window(&inrpp), 4 * expected + more, "for what was delivered");
    }
    // It begins a ramp in the open loop, raises one that lasts, and never lowers it.
    let mut inrpp = open();
    for (allowance, expected) in [(4, 17), (0, 18), (20, 81), (3, 82)] {
        hear(&mut inrpp, allowing(BackPressureSignal::Nothing, allowance));
        assert_eq!((phase(&inrpp), window(&inrpp)), ("ramp", expected), "{allowance}");
    }
}

/// Rule 13: until something has arrived, as much as routers have room for, and 65 535 bytes in any
/// case. A SYN of the peer says nothing of the kind.
#[test]
fn a_first_flight_is_what_routers_have_room_for() {
    let first = |allowance, opens| {
        let mut inrpp = Inrpp::new(&Params::default(), init(10));
        if opens {
            let syn = NextPacket { syn: true, ..next_packet() };
            inrpp.edit_header(NOW, &syn);
        }
        let offer = BackPressure { allowance, ..signal(BackPressureSignal::Nothing, 3, 0) };
        inrpp.on_established(NOW, &ack(0).rtt, Some(&carried(offer)));
        let before = inrpp.limits().cwnd_bytes;
        hear(&mut inrpp, signal(BackPressureSignal::Nothing, 3, 0));
        assert_eq!((phase(&inrpp), inrpp.limits()), ("open", Limits::window(before + 16 * MSS)));
        before
    };
    assert_eq!([0, 1, 1_024].map(|packets| first(packets, true)), [65_535, 65_535, 1_024 * MSS]);
    assert_eq!(first(0, false), FIRST_FLIGHT_BYTES);
}

/// Where most ACKs are lost, the others say for many packets that they have arrived.
#[test]
fn an_ack_that_reports_many_packets_is_worth_as_many() {
    let slow = signal(BackPressureSignal::SlowDown, 3, 7);
    let options = carried(slow);
    for (segments, worth) in [(3, 3), (20, 20), (1_000, 64)] {
        let mut inrpp = open();
        hear(&mut inrpp, slow);
        send(&mut inrpp);
        inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(segments * MSS) });
        assert_eq!(inrpp.limits().credits, Some(worth));
        hear(&mut inrpp, slow);
        assert_eq!(inrpp.limits().credits, Some(worth), "and no more than two are saved");
    }
}

#[test]
fn one_packet_for_each_that_has_arrived_and_no_more_than_two_kept() {
    let mut inrpp = open();
    let slow = signal(BackPressureSignal::SlowDown, 3, 7);
    let credits = |inrpp: &Inrpp| inrpp.limits().credits.unwrap();
    hear(&mut inrpp, slow);
    assert_eq!(credits(&inrpp), 1, "the ACK that closes the loop is worth a packet");
    send(&mut inrpp);
    assert_eq!(credits(&inrpp), 0);
    // A duplicate with SACK, the option repeating the last word; then without it.
    let options = carried(slow);
    let sacked = Ack { duplicate: true, acked_bytes: 0, in_flight_bytes: MSS, ..ack(MSS) };
    inrpp.on_ack(NOW, &Ack { options: Some(&options), ..sacked });
    assert_eq!(credits(&inrpp), 1);
    inrpp.on_ack(NOW, &sacked);
    assert_eq!(credits(&inrpp), 2);
    hear(&mut inrpp, slow);
    assert_eq!(credits(&inrpp), 2, "two at most");
    // Retransmissions pay as well; that of a timeout may leave without.
    for left in [1, 0, 0] {
        inrpp.on_sent(NOW, &Sent { retransmission: true, ..sent(false) });
        assert_eq!(credits(&inrpp), left);
    }
    // Duplicates that carry no information, and a segment in 100 fragments.
    let nothing = Ack { duplicate: true, in_flight_bytes: MSS, ..ack(0) };
    (0..1_000).for_each(|_| inrpp.on_ack(NOW, &Ack { options: Some(&options), ..nothing }));
    assert_eq!(credits(&inrpp), 0);
    let piece = Ack { in_flight_bytes: MSS, ..ack(MSS / 100) };
    (0..99).for_each(|_| inrpp.on_ack(NOW, &Ack { options: Some(&options), ..piece }));
    assert_eq!(credits(&inrpp), 0);
    inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(MSS) });
    assert_eq!(credits(&inrpp), 1, "and one for that which comes whole");
    send(&mut inrpp);
    inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(1) });
    assert_eq!(credits(&inrpp), 1, "nothing is in flight: no ACK would come any more");
}

#[test]
fn a_syn_ack_may_slow_down_and_brings_the_first_credit() {
    let mut inrpp = established(signal(BackPressureSignal::SlowDown, 1, 5));
    assert_eq!(inrpp.limits().credits, Some(1), "else nothing would ever leave");
    assert_eq!(echo(&mut inrpp), Some(5));
}

#[test]
fn a_timeout_of_a_flow_never_slowed_down_changes_nothing() {
    let mut inrpp = open();
    expire(&mut inrpp, true);
    assert_eq!(inrpp.limits(), Limits::window(FIRST_FLIGHT_BYTES));
}

#[test]
fn a_flow_once_slowed_down_ramps_after_a_timeout() {
    let mut allowed = open();
    hear(&mut allowed, allowing(BackPressureSignal::Nothing, 40));
    expire(&mut allowed, true);
    assert_eq!(allowed.limits(), Limits::window(MSS), "what had little room, as well");
    let mut inrpp = open();
    hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 7));
    hear(&mut inrpp, signal(BackPressureSignal::Nothing, 3, 7));
    expire(&mut inrpp, true);
    // Doubled by the ACKs of each round up to 4 segments; "nothing" is not a request.
    for window in [1, 2, 4, 5] {
        assert_eq!(inrpp.limits(), Limits::window(window * MSS), "{window}");
        (0..window).for_each(|_| hear(&mut inrpp, signal(BackPressureSignal::Nothing, 3, 7)));
    }
    // 6.25 segments; one ACK for a hundred adds two.
    inrpp.on_ack(NOW, &ack(100 * MSS));
    assert_eq!(inrpp.limits().cwnd_bytes, 33 * MSS / 4);
    expire(&mut inrpp, false);
    assert_eq!(inrpp.limits().cwnd_bytes, MSS);
    let mut cancelled = established(signal(BackPressureSignal::SlowDown, 1, 5));
    expire(&mut cancelled, true);
    assert_eq!((phase(&cancelled), cancelled.limits().credits), ("ramp", None));
    hear(&mut cancelled, signal(BackPressureSignal::Cancel, 3, 5));
    assert_eq!((phase(&cancelled), cancelled.limits().cwnd_bytes), ("ramp", 2 * MSS));
    hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 7));
    assert_eq!(inrpp.limits().credits, Some(1));
}

#[test]
fn a_spurious_timeout_gives_the_loop_back_unless_a_router_has_spoken_since() {
    let closed = || {
        let mut inrpp = open();
        (0..2).for_each(|_| hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 7)));
        inrpp
    };
    let mut inrpp = closed();
    expire(&mut inrpp, true);
    expire(&mut inrpp, false);
    inrpp.on_spurious(NOW);
    assert_eq!(inrpp.limits().credits, Some(2));
    let mut inrpp = closed();
    expire(&mut inrpp, true);
    hear(&mut inrpp, signal(BackPressureSignal::Cancel, 3, 7));
    inrpp.on_spurious(NOW);
    assert_eq!(phase(&inrpp), "ramp");
}

#[test]
fn the_ramp_ends_where_the_window_limits_nothing() {
    let mut inrpp = open();
    hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 7));
    expire(&mut inrpp, true);
    // 1, 3, 5 segments, then half of one for each ACK.
    let acks = 2 + ((1 << 30) - 5 * MSS).div_ceil(MSS / 2);
    (1..acks).for_each(|_| inrpp.on_ack(NOW, &ack(2 * MSS)));
    assert_eq!(phase(&inrpp), "ramp");
    inrpp.on_ack(NOW, &ack(2 * MSS));
    assert_eq!((phase(&inrpp), inrpp.limits()), ("open", Limits::window(1 << 30)));
}

/// It counted as in flight, and was in no cache: to send it again there must be room first.
#[test]
fn what_is_lost_leaves_the_window_of_a_ramp() {
    let mut inrpp = open();
    hear(&mut inrpp, allowing(BackPressureSignal::Nothing, 40));
    let before = inrpp.limits().cwnd_bytes;
    let bytes = MSS as u32;
    let loss = Loss { tag: Tag(0), number: 0, bytes, sent_at: NOW, in_flight_bytes: 0 };
    (0..10).for_each(|_| inrpp.on_loss(NOW, &loss));
    assert_eq!(before - inrpp.limits().cwnd_bytes, 10 * MSS);
    (0..40).for_each(|_| inrpp.on_loss(NOW, &loss));
    assert_eq!(inrpp.limits().cwnd_bytes, MSS, "one segment at least");
}

#[test]
fn losses_change_nothing_where_routers_hold() {
    let mut inrpp = open();
    inrpp.on_congestion(NOW, &congestion(CongestionCause::Loss, 10.0));
    assert_eq!(inrpp.limits(), Limits::window(FIRST_FLIGHT_BYTES));
    assert_eq!(inrpp.recovery_owner(), RecoveryOwner::Controller);
    assert_eq!(inrpp.loss_policy(), Some(LossPolicy::HoldTolerant));
}

/// Rule 1: sixteen round trips of arrivals and the first flight; after a loss one and the initial
/// window.
#[test]
fn the_open_loop_has_no_more_in_flight_than_some_round_trips_of_arrivals() {
    let (mut inrpp, nothing) = (open(), carried(signal(BackPressureSignal::Nothing, 3, 0)));
    // RTT 100 ms; as many segments in each.
    for (round, segments) in [(0u64, 4u64), (1, 20), (2, 20), (3, 1)] {
        for n in 0..segments {
            let at = NOW + Span::from_millis(round * 100 + n * 5);
            inrpp.on_ack(at, &Ack { options: Some(&nothing), ..ack(MSS) });
        }
    }
    // The first ACK of a round trip ends the one before.
    assert_eq!(inrpp.limits().cwnd_bytes, FIRST_FLIGHT_BYTES + 16 * 20 * MSS);
    lose(&mut inrpp, NOW);
    assert_eq!(inrpp.limits().cwnd_bytes, 10 * MSS + 20 * MSS);
}

#[test]
fn without_routers_it_is_cubic() {
    let none = signal(BackPressureSignal::Nothing, 0, 0);
    let mut unheard = Inrpp::new(&Params::default(), init(10));
    unheard.on_established(NOW, &ack(0).rtt, None);
    for mut inrpp in [established(none), unheard] {
        let mut cubic = Cubic::new(&cubic::Params::default(), init(10));
        let mut seen = Vec::new();
        for step in 0..400 {
            for c in [&mut inrpp as &mut dyn Controller, &mut cubic] {
                c.on_sent(NOW, &sent(false));
                c.on_ack(NOW, &ack(MSS));
                match step % 150 {
                    50 => c.on_congestion(NOW, &congestion(CongestionCause::Loss, 20.0)),
                    60 => c.on_recovered(NOW, &Recovered { cwnd_cap_bytes: Some(9 * MSS) }),
                    100 => c.on_rto(NOW, &Timeout { flight_size_bytes: 7 * MSS, first: true }),
                    105 => c.on_spurious(NOW),
                    _ => {}
                }
            }
            assert_eq!(inrpp.limits(), cubic.limits(), "step {step}");
            assert_eq!(
                (inrpp.ssthresh_bytes(), inrpp.phase()),
                (cubic.ssthresh_bytes(), cubic.phase()),
                "step {step}"
            );
            seen.push(cubic.limits().cwnd_bytes);
        }
        assert!(seen.contains(&MSS) && seen.iter().any(|&w| w > 20 * MSS), "it was exercised");
        assert_eq!(inrpp.loss_policy(), None);
        assert_eq!(inrpp.recovery_owner(), RecoveryOwner::Transport);
        let options = inrpp.edit_header(NOW, &next_packet()).options.unwrap();
        assert!(Echo::is_delayed(&options), "it still says that it speaks INRPP");
        assert_eq!(options.len(), usize::from(inrpp.traits().option_bytes));
    }
}

#[test]
fn eight_acks_in_a_row_change_sides() {
    let (held, alone) =
        (signal(BackPressureSignal::Nothing, 2, 0), signal(BackPressureSignal::Nothing, 0, 0));
    let pooled = |inrpp: &Inrpp| inrpp.loss_policy() == Some(LossPolicy::HoldTolerant);
    let mut inrpp = open();
    for _ in 0..7 {
        hear(&mut inrpp, alone);
    }
    hear(&mut inrpp, held);
    for _ in 0..7 {
        hear(&mut inrpp, alone);
        inrpp.on_ack(NOW, &ack(MSS)); // says nothing of routers
    }
    assert!(pooled(&inrpp), "seven, twice");
    hear(&mut inrpp, alone);
    assert!(!pooled(&inrpp));
    let start = Cubic::new(&cubic::Params::default(), init(10)).limits().cwnd_bytes;
    assert_eq!(inrpp.limits().cwnd_bytes, start + MSS, "a new CUBIC, one ACK old");
    for at in 1..=8 {
        assert!(!pooled(&inrpp), "{at}");
        hear(&mut inrpp, held);
    }
    assert!(pooled(&inrpp) && phase(&inrpp) == "open");
}

fn lose(inrpp: &mut Inrpp, sent_at: Time) {
    let bytes = MSS as u32;
    inrpp.on_loss(NOW, &Loss { tag: Tag(0), number: 0, bytes, sent_at, in_flight_bytes: 0 });
}

#[test]
fn a_path_that_loses_much_unasked_is_one_of_tcp_though_routers_are_counted() {
    let pooled = |inrpp: &Inrpp| inrpp.loss_policy() == Some(LossPolicy::HoldTolerant);
    let (nothing, before) = (signal(BackPressureSignal::Nothing, 3, 0), Time::from_millis(900));
    let mut inrpp = open();
    (0..31).for_each(|_| lose(&mut inrpp, before));
    assert!(pooled(&inrpp), "31 packets say nothing");
    lose(&mut inrpp, before);
    assert!(!pooled(&inrpp), "32 do");
    assert_eq!(inrpp.limits(), Cubic::new(&cubic::Params::default(), init(10)).limits());
    (0..100).for_each(|_| hear(&mut inrpp, nothing));
    assert!(!pooled(&inrpp), "for good, unless somebody asks");
    hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 7));
    assert!(pooled(&inrpp) && inrpp.limits().credits == Some(1));

    // One in nine, for long. One in four is too much.
    let mut inrpp = open();
    for _ in 0..1_000 {
        (0..8).for_each(|_| hear(&mut inrpp, nothing));
        lose(&mut inrpp, before);
        assert!(pooled(&inrpp));
    }
    for _ in 0..400 {
        (0..3).for_each(|_| hear(&mut inrpp, nothing));
        lose(&mut inrpp, before);
    }
    assert!(!pooled(&inrpp));

    // A router that has asked since the packet was sent may have dropped it for want of room:
    // others pay for him.
    let mut inrpp = open();
    hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 7));
    (0..1_000).for_each(|_| lose(&mut inrpp, before));
    assert!(pooled(&inrpp));
    let after = NOW + Span::from_millis(1);
    // One has arrived.
    (0..254).for_each(|_| lose(&mut inrpp, after));
    assert!(pooled(&inrpp), "of one that is asked 255 packets say nothing");
    (0..2).for_each(|_| lose(&mut inrpp, after));
    assert!(!pooled(&inrpp), "he had been silent when these were sent");
}

/// Rule 14.
#[test]
fn a_loss_is_one_of_tcp_where_data_pass_on_to_a_router_without_inrpp() {
    let pooled = |inrpp: &Inrpp| inrpp.loss_policy() == Some(LossPolicy::HoldTolerant);
    let asks = signal(BackPressureSignal::SlowDown, 3, 7);
    let foreign = BackPressure { foreign: true, ..asks };
    let mut inrpp = open();
    hear(&mut inrpp, foreign);
    assert!(pooled(&inrpp), "nothing is lost yet");
    lose(&mut inrpp, Time::from_millis(900));
    assert!(!pooled(&inrpp), "though a router has asked");
    (0..100).for_each(|_| hear(&mut inrpp, foreign));
    assert!(!pooled(&inrpp), "and asks again");
    hear(&mut inrpp, asks);
    assert!(pooled(&inrpp), "routes have changed");
    lose(&mut inrpp, Time::from_millis(900));
    assert!(pooled(&inrpp), "others pay for him");
}

/// Rule 14: as CUBIC does packet for packet, until a router asks.
#[test]
fn where_a_router_without_inrpp_is_near_an_unasked_flow_is_one_of_cubic() {
    let quiet = BackPressure { foreign: true, ..signal(BackPressureSignal::Nothing, 3, 0) };
    let (mut inrpp, mut cubic) = (established(quiet), Cubic::new(&<_>::default(), init(10)));
    cubic.on_established(NOW, &ack(0).rtt, None);
    let echo = |inrpp: &mut Inrpp| inrpp.edit_header(NOW, &next_packet()).options.unwrap();
    for _ in 0..500 {
        assert_eq!(inrpp.limits(), cubic.limits());
        assert_eq!(inrpp.on_sent(NOW, &sent(false)), cubic.on_sent(NOW, &sent(false)));
        hear(&mut inrpp, quiet);
        cubic.on_ack(NOW, &ack(MSS));
        assert_eq!(echo(&mut inrpp), delayed_echo_of(None));
    }
    assert!(cubic.limits().cwnd_bytes > 100 * MSS, "{:?}", cubic.limits());
    // The routers before the plain one hold its packets. Of many in flight not each needs an ACK.
    let slowed =
        carried(BackPressure { foreign: true, ..signal(BackPressureSignal::SlowDown, 3, 7) });
    for (in_flight, option) in [(7, echo_of(Nonce::new(7))), (8, delayed_echo_of(Nonce::new(7)))] {
        let prior_in_flight_bytes = in_flight * MSS;
        inrpp.on_ack(NOW, &Ack { options: Some(&slowed), prior_in_flight_bytes, ..ack(MSS) });
        assert!(inrpp.limits().credits.is_some());
        assert_eq!(echo(&mut inrpp), option, "{in_flight}");
    }
    // A flow that was open has the window that arrived, not the first one.
    let mut inrpp = open();
    (0..60).for_each(|_| hear(&mut inrpp, signal(BackPressureSignal::Nothing, 3, 0)));
    hear(&mut inrpp, quiet);
    assert!(inrpp.limits().cwnd_bytes > 10 * MSS, "{:?}", inrpp.limits());
    assert_eq!(echo(&mut inrpp), delayed_echo_of(None));
    // Lost: for as long as that is said.
    lose(&mut inrpp, Time::from_millis(900));
    hear(&mut inrpp, BackPressure { foreign: true, ..signal(BackPressureSignal::SlowDown, 3, 7) });
    assert_eq!(inrpp.limits().credits, None);
}

/// Packets leave in the open loop, and of each `one_of` one never arrives; an ACK each 10 ms.
/// When the window is what is in flight, and when the flow is one of CUBIC, in ACKs.
fn missing(inrpp: &mut Inrpp, one_of: u64, acks: u64) -> (Option<u64>, Option<u64>) {
    late(inrpp, one_of, acks, u64::MAX)
}
/// The same, where all that came `after` packets before the newest is acknowledged.
fn late(inrpp: &mut Inrpp, one_of: u64, acks: u64, after: u64) -> (Option<u64>, Option<u64>) {
    let tags: Vec<Tag> = (0..acks * 2).map(|_| inrpp.on_sent(NOW, &sent(false))).collect();
    let options = carried(signal(BackPressureSignal::Nothing, 3, 0));
    let (mut arrived, mut wary, mut tcp) = (0, None, None);
    for n in (0..acks).filter(|n| n % one_of != one_of - 1) {
        let in_flight_bytes = (tags.len() as u64 - arrived) * MSS;
        arrived += 1;
        let known = Ack {
            newest: Some((tags[n as usize], n)),
            total_delivered_bytes: arrived * MSS,
            in_flight_bytes,
            snd_una: n.saturating_sub(after) * MSS,
            snd_nxt: tags.len() as u64 * MSS,
            options: Some(&options),
            duplicate: true,
            ..ack(MSS)
        };
        inrpp.on_ack(NOW + Span::from_millis(10 * n), &known);
        let pooled = inrpp.loss_policy() == Some(LossPolicy::HoldTolerant);
        let missing = inrpp.tcp.fate.missing;
        if pooled && missing.is_some_and(|missing| missing.in_flight_bytes == in_flight_bytes) {
            wary.get_or_insert(n);
        }
        if !pooled {
            tcp.get_or_insert(n);
        }
    }
    (wary, tcp)
}

#[test]
fn a_flow_that_nobody_ever_asked_sees_by_what_is_missing_that_nobody_holds() {
    // One of four: the 64th is missing itself, so the 65th shows it; 300 ms later it is sure.
    assert_eq!(missing(&mut open(), 4, 200), (Some(64), Some(94)));
    assert_eq!(missing(&mut open(), 9, 400), (None, None), "a lossy link");
    let mut asked = open();
    hear(&mut asked, signal(BackPressureSignal::SlowDown, 3, 7));
    hear(&mut asked, signal(BackPressureSignal::Cancel, 3, 7));
    assert_eq!(missing(&mut asked, 4, 200), (None, None), "he holds");
    // Where something is always late, but by less, it is a detour.
    assert_eq!(late(&mut open(), 4, 200, 29), (Some(64), None));
    assert_eq!(late(&mut open(), 4, 200, 31), (Some(64), Some(94)));
    // Where nothing is missing any more, it was a detour.
    let mut inrpp = open();
    assert_eq!(missing(&mut inrpp, 4, 80), (Some(64), None));
    let all = Ack { snd_una: 160 * MSS, snd_nxt: 160 * MSS, ..ack(MSS) };
    inrpp.on_ack(NOW, &Ack { total_delivered_bytes: 160 * MSS, ..all });
    assert!(inrpp.tcp.fate.missing.is_none() && phase(&inrpp) == "open");
}

#[test]
fn the_timeout_is_long_until_round_trips_under_a_request_are_known() {
    assert_eq!(open().rto_floor(), Span::ZERO);
    let mut inrpp = established(signal(BackPressureSignal::Pause, 3, 7));
    // 10 s, and a quarter less for each ACK with a sample, whichever router asks.
    for (nonce, seconds) in [(7, 7.5), (7, 5.625), (9, 4.21875)] {
        hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, nonce));
        assert_eq!(inrpp.rto_floor(), Span::from_secs_f64(seconds));
    }
    hear(&mut inrpp, signal(BackPressureSignal::Cancel, 3, 9));
    assert_eq!(inrpp.rto_floor(), Span::ZERO);
    hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 5));
    assert!(inrpp.rto_floor() < Span::from_secs(3), "it does not begin anew");
    for held_rto_s in [0, 61] {
        let error = Params { held_rto_s, ..Params::default() }.check().unwrap_err();
        assert_eq!((error.param, &*error.allowed), ("held_rto_s", "1 to 60"));
    }
}

#[test]
fn the_first_count_decides_at_once() {
    let mut server = Inrpp::new(&Params::default(), init(10));
    server.on_established(NOW, &ack(0).rtt, None);
    hear(&mut server, signal(BackPressureSignal::Nothing, 1, 0));
    assert_eq!(phase(&server), "open");
}

#[test]
fn a_receiver_leaves_room_for_routers_once_the_peer_speaks_inrpp() {
    let mut receiver = InrppReceiver::new(&Params::default());
    let mut options = OptionList::EMPTY;
    assert_eq!(receiver.on_datagram(NOW, &datagram(None)), AckDemand::Policy);
    receiver.fill(NOW, &mut options);
    assert!(options.is_empty(), "a peer that speaks plain TCP gets plain ACKs");
    assert!(receiver.wants_paws());
    let echo = echo_of(None);
    let mut data = |echo: OptionList| {
        receiver.on_datagram(NOW, &DatagramView { payload_bytes: 1_440, ..datagram(Some(&echo)) })
    };
    assert_eq!(data(echo), AckDemand::Now, "an ACK for each packet");
    for (options, demand) in [(delayed_echo_of(None), AckDemand::Policy), (echo, AckDemand::Now)] {
        assert_eq!(data(options), demand);
    }
    assert!(!receiver.wants_paws());
    let pure = receiver.on_datagram(NOW, &datagram(Some(&echo)));
    assert_eq!(pure, AckDemand::Policy, "no ACK of an ACK");
    receiver.on_datagram(NOW, &datagram(None));
    receiver.fill(NOW, &mut options);
    assert_eq!(BackPressure::find(&options), Some(BackPressure::default()));
    let mut full = OptionList::EMPTY;
    full.push(kind::SACK, &[0; 29]).unwrap();
    receiver.fill(NOW, &mut full);
    assert_eq!(full.len(), 31, "31 + 10 do not fit into 40");
}

/// Rule 11.
#[test]
fn with_notices_the_loop_is_closed_by_what_the_receiver_returns() {
    let params = Params { notify_on_data: true, ..Params::default() };
    let mut inrpp = Inrpp::new(&params, init(10));
    let mut receiver = InrppReceiver::new(&Params::default());
    let next = NextPacket { syn: true, ..next_packet() };
    let edits = inrpp.edit_header(NOW, &next).options.unwrap();
    assert_eq!(Notice::find(&edits), Some(Notice::default()));
    assert_eq!(edits.len(), usize::from(inrpp.traits().option_bytes));
    // The routers that the data pass write, the receiver returns the last word on all its ACKs.
    let mut returned = |on_data: Option<BackPressure>| {
        let mut data = edits;
        let written = on_data.is_some_and(|signal| Notice(signal).overwrite(&mut data));
        receiver.on_datagram(NOW, &datagram(Some(&data).filter(|_| written)));
        let mut ack = OptionList::EMPTY;
        receiver.fill(NOW, &mut ack);
        assert_eq!(BackPressure::find(&ack), None, "routers that ACKs pass have no part in it");
        ack
    };
    let syn_ack = returned(Some(signal(BackPressureSignal::Nothing, 2, 0)));
    inrpp.on_established(NOW, &ack(0).rtt, Some(&syn_ack));
    assert_eq!((phase(&inrpp), inrpp.loss_policy()), ("open", Some(LossPolicy::HoldTolerant)));
    for (on_data, phase_then) in [
        (Some(signal(BackPressureSignal::SlowDown, 2, 7)), "closed"),
        (None, "closed"),
        (Some(signal(BackPressureSignal::Pause, 2, 7)), "closed"),
        (Some(allowing(BackPressureSignal::Cancel, 5)), "ramp"),
    ] {
        let options = returned(on_data);
        inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(MSS) });
        assert_eq!(phase(&inrpp), phase_then, "{on_data:?}");
        let edits = inrpp.edit_header(NOW, &next).options.unwrap();
        assert_eq!(Notice::find(&edits), Some(Notice::default()), "always empty");
    }
    // What a router writes on ACKs is about data of another way.
    hear(&mut inrpp, signal(BackPressureSignal::SlowDown, 3, 9));
    assert_eq!(phase(&inrpp), "ramp");
}

/// Rule 12. The SYN passes two routers; the SYN-ACK the same ports, or others.
#[test]
fn a_syn_ack_that_came_another_way_switches_notices_on() {
    let ports = |a, b| [PortId(a), PortId(b)];
    for (back, differs) in [(ports(3, 4), false), (ports(3, 5), true)] {
        let mut inrpp = Inrpp::new(&Params::default(), init(10));
        let mut server = Inrpp::new(&Params::default(), init(10));
        let mut receiver = InrppReceiver::new(&Params::default());
        let syn = |reply| NextPacket { syn: true, reply, ..next_packet() };
        let pass = |options: &mut OptionList, router, ports| {
            let digest = PathDigest::find(options).expect("a digest");
            assert!(digest.passing(RouterId(router), ports).overwrite(options));
        };
        let mut opening = inrpp.edit_header(NOW, &syn(false)).options.unwrap();
        assert_eq!(opening.len(), usize::from(inrpp.traits().option_bytes), "as long as the echo");
        pass(&mut opening, 1, ports(1, 2));
        pass(&mut opening, 2, ports(3, 4));
        receiver.on_datagram(NOW, &datagram(Some(&opening)));
        assert_eq!(server.edit_header(NOW, &syn(true)).options, None);
        let mut answer = OptionList::EMPTY;
        receiver.fill(NOW, &mut answer);
        pass(&mut answer, 2, back);
        pass(&mut answer, 1, ports(2, 1));
        let signal = signal(BackPressureSignal::Nothing, 2, 0);
        assert!(signal.overwrite(&mut answer));
        inrpp.on_established(NOW, &ack(0).rtt, Some(&answer));
        // The handshake is over: ACKs carry no digest, and its own receiver writes none.
        let mut client = InrppReceiver::new(&Params::default());
        client.on_datagram(NOW, &datagram(Some(&answer)));
        let mut last = OptionList::EMPTY;
        client.fill(NOW, &mut last);
        assert_eq!((last.len(), PathDigest::find(&last)), (10, None));
        receiver.on_datagram(NOW, &datagram(Some(&last)));
        let data = inrpp.edit_header(NOW, &next_packet()).options.unwrap();
        assert_eq!(
            (Notice::find(&data).is_some(), Echo::find(&data).is_some()),
            (differs, !differs)
        );
        receiver.on_datagram(NOW, &datagram(Some(&data)));
        let mut ack_of_data = OptionList::EMPTY;
        receiver.fill(NOW, &mut ack_of_data);
        let found = (Returned::find(&ack_of_data), BackPressure::find(&ack_of_data));
        assert_eq!((found.0.is_some(), found.1.is_some()), (differs, !differs));
        // It sends at line rate on the word of routers that its data pass, no other.
        let pooled = inrpp.loss_policy() == Some(LossPolicy::HoldTolerant);
        assert_eq!(pooled, !differs);
    }
}

#[test]
fn where_a_middlebox_took_the_digest_away_data_carry_the_echo() {
    let mut inrpp = Inrpp::new(&Params::default(), init(10));
    inrpp.edit_header(NOW, &NextPacket { syn: true, ..next_packet() });
    let mut answer = OptionList::EMPTY;
    signal(BackPressureSignal::Nothing, 2, 0).push(&mut answer).unwrap();
    inrpp.on_established(NOW, &ack(0).rtt, Some(&answer));
    let data = inrpp.edit_header(NOW, &next_packet()).options.unwrap();
    assert!(Echo::find(&data).is_some());
    assert_eq!(inrpp.loss_policy(), Some(LossPolicy::HoldTolerant));
}
