//! The interface machine by hand: each sequence is worked out from the rules of the paper, as
//! corrected in the module.

mod order;
mod pauses;
mod room;

use super::cache::Cached;
use super::credits::Arrived;
use super::interface::Interface;
use super::key::{Class, FlowKey};
use super::settings::{CacheLimits, Settings};
use super::state::State;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Rng, Stream, Time};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};

const LIMITS: CacheLimits =
    CacheLimits { low_bytes: 4_500, high_bytes: 9_000, total_bytes: 15_000 };
const PACKET: u16 = 1_500;

struct Bench {
    interface: Interface<u32>,
    rng: Rng,
    next: u32,
    /// What has arrived of each flow, by its last ACK.
    arrived: BTreeMap<u32, u32>,
}

fn flow(n: u32) -> FlowKey {
    FlowKey::new((n, 1), (9, 2), Class::Pooled)
}
fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}
fn asks(ask: BackPressureSignal, nonce: u32) -> BackPressure {
    BackPressure { ask, routers: 1, nonce: Nonce::new(nonce), ..BackPressure::default() }
}

fn packet(what: u32) -> Cached<u32> {
    Cached { echo: None, wire_len: PACKET, payload_len: PACKET, seq: 0, taggable: true, what }
}

impl Bench {
    fn new() -> Bench {
        Bench::with(LIMITS)
    }
    fn with(limits: CacheLimits) -> Bench {
        let settings = Settings { quantum_bytes: 0, ..Settings::default() };
        let rng = Rng::new(1, Stream::Forwarding, 0);
        Bench {
            interface: Interface::new(limits, PACKET, &settings).with_short_round(40_000),
            rng,
            next: 0,
            arrived: BTreeMap::new(),
        }
    }
    /// A packet of flow `n` comes; numbered from 1. What had to go for it.
    fn put(&mut self, at: Time, n: u32, echo: u32) -> Vec<u32> {
        self.next += 1;
        let cached =
            Cached { echo: Nonce::new(echo), what: self.next, seq: self.next, ..packet(0) };
        let kept = self.interface.keep(at, flow(n), cached, 10_000, &mut self.rng);
        kept.pushed_out.into_iter().chain(kept.refused).collect()
    }
    fn pull(&mut self, at: Time) -> Option<(FlowKey, u32)> {
        let eligible = self.interface.has_eligible();
        let pulled = self.interface.pull(at, &mut self.rng);
        assert_eq!(eligible, pulled.is_some(), "what is eligible is pulled, and nothing else");
        pulled.map(|(flow, cached)| (flow, cached.what))
    }
    /// An ACK for one more packet of flow `n`.
    fn ack(&mut self, at: Time, n: u32, option: BackPressure) -> BackPressure {
        let before = self.arrived.get(&n).map_or(0, |&before| before) + PACKET as u32;
        self.arrived.insert(n, before);
        let arrived = Arrived { before, highest: before };
        self.interface.on_ack(at, flow(n), arrived, option)
    }
    fn state(&self) -> State {
        self.interface.state()
    }
}

#[test]
fn the_states_follow_the_thresholds_with_hysteresis() {
    let mut b = Bench::new();
    assert_eq!(b.state(), State::Push);
    for packets in 1..=6 {
        b.put(ms(0), 1, 0);
        assert_eq!(
            b.state(),
            State::StoreDetour,
            "{packets} packets: S_high is six, and not passed"
        );
    }
    b.put(ms(0), 1, 0);
    assert_eq!(b.state(), State::BackPressure, "7 packets");
    b.ack(ms(1), 1, BackPressure::default());
    for left in [6, 5, 4, 3] {
        b.pull(ms(2)).unwrap();
        assert_eq!(
            b.state(),
            State::BackPressure,
            "{left} packets: S_low is three, and not passed"
        );
    }
    b.pull(ms(2)).unwrap();
    assert_eq!(b.state(), State::Disable, "2 packets");
    (0..5).for_each(|_| drop(b.put(ms(3), 1, 0)));
    assert_eq!(b.state(), State::BackPressure, "7 packets again");
}

/// The notice of departing data is computed as an ACK's signal; against signals of routers before
/// it the stricter counts.
#[test]
fn a_notice_says_what_an_ack_would_and_the_stricter_of_two_stands() {
    let mut b = Bench::new();
    let none = BackPressure { routers: 2, ..BackPressure::default() };
    let tell = |b: &mut Bench, at, n, notice| b.interface.on_notice(ms(at), flow(n), notice);
    let theirs = |ask, allowance| BackPressure { allowance, ..asks(ask, 77) };
    (0..6).for_each(|_| drop(b.put(ms(0), 1, 0)));
    assert_eq!(tell(&mut b, 0, 1, none), none, "S&D asks nothing");
    b.put(ms(0), 2, 0);
    let told = tell(&mut b, 1, 1, none);
    assert_eq!((told.ask, told.allowance, told.routers), (BackPressureSignal::Pause, 0, 2));
    let nonce = told.nonce.expect("an alias");
    let slow = theirs(BackPressureSignal::SlowDown, 0);
    assert_eq!(
        tell(&mut b, 1, 1, slow),
        BackPressure { routers: 1, ..told },
        "a pause is stricter"
    );
    b.pull(ms(2)).unwrap();
    // Flow 3 has nothing here, and S is S_high: there is room for one packet.
    let allowed = tell(&mut b, 1, 3, none);
    assert_eq!(
        (allowed.ask, allowed.allowance, allowed.nonce),
        (BackPressureSignal::Nothing, 1, Some(nonce))
    );
    assert_eq!(tell(&mut b, 1, 3, slow), slow, "stricter than an allowance");
    assert_eq!(
        tell(&mut b, 1, 3, theirs(BackPressureSignal::Cancel, 9)),
        BackPressure { routers: 1, ..allowed }
    );
    let more = tell(&mut b, 1, 3, theirs(BackPressureSignal::Nothing, 9));
    assert_eq!(
        (more.allowance, more.ask),
        (1, BackPressureSignal::Nothing),
        "the smaller allowance"
    );
    (0..4).for_each(|_| assert!(b.pull(ms(3)).is_some()));
    assert_eq!(b.state(), State::Disable);
    assert_eq!(tell(&mut b, 4, 1, slow), slow, "who asks is not taken back by who asks no more");
    let over = tell(&mut b, 4, 2, told);
    assert_eq!(
        (over.ask, over.nonce),
        (BackPressureSignal::Cancel, Some(nonce)),
        "its own word is written anew"
    );
    assert!(over.allowance >= 1);
    // Last in, first out: here the packets of flow 1 wait, each with its own notice.
    let mut b = Bench::new();
    (0..3).for_each(|_| drop(b.put(ms(5), 1, 0)));
    b.interface.note(flow(1), slow);
    b.pull(ms(5)).unwrap();
    assert_eq!(tell(&mut b, 5, 1, none), BackPressure { routers: 2, ..slow });
    b.interface.note(flow(1), BackPressure::default());
    assert_eq!(tell(&mut b, 5, 1, slow), BackPressure { routers: 1, ..BackPressure::default() });
}

#[test]
fn back_pressure_tells_every_flow_and_takes_it_back_from_every_flow() {
    let mut b = Bench::new();
    (0..6).for_each(|_| drop(b.put(ms(0), 1, 0)));
    b.put(ms(0), 2, 0);
    let told = b.ack(ms(1), 1, BackPressure::default());
    assert_eq!(
        (told.ask, told.routers),
        (BackPressureSignal::Pause, 1),
        "6 packets, of which its share is 3"
    );
    let nonce = told.nonce.expect("an alias");
    assert_eq!(b.ack(ms(2), 2, BackPressure::default()).nonce, Some(nonce), "one per episode");
    (0..5).for_each(|_| assert!(b.pull(ms(3)).is_some()));
    assert_eq!(b.state(), State::Disable);
    let cancelled = b.ack(ms(4), 2, BackPressure::default());
    assert_eq!((cancelled.ask, cancelled.nonce), (BackPressureSignal::Cancel, Some(nonce)));
    b.put(ms(4), 1, 0);
    assert_eq!(b.state(), State::Disable, "flow 1 has not been told");
    assert_eq!(b.ack(ms(5), 1, BackPressure::default()).ask, BackPressureSignal::Cancel);
    b.put(ms(5), 1, 0);
    assert_eq!(b.state(), State::StoreDetour, "all have been told");
    (0..4).for_each(|_| drop(b.put(ms(6), 1, 0)));
    let again = b.ack(ms(7), 1, BackPressure::default());
    assert_eq!(again.ask, BackPressureSignal::Pause);
    assert_ne!(again.nonce, Some(nonce), "drawn anew: a late cancel means nothing now");
}

#[test]
fn a_flow_that_sends_no_more_acks_holds_up_the_end_of_back_pressure_for_200_ms_only() {
    let mut b = Bench::new();
    (0..7).for_each(|_| drop(b.put(ms(0), 1, 0)));
    b.ack(ms(1), 1, BackPressure::default());
    (0..5).for_each(|_| assert!(b.pull(ms(10)).is_some()));
    assert_eq!(b.interface.next_timeout(), Some(ms(210)));
    b.interface.on_timeout(ms(209), &mut b.rng);
    assert_eq!(b.state(), State::Disable, "early calls do nothing");
    b.interface.on_timeout(ms(210), &mut b.rng);
    assert_eq!((b.state(), b.interface.next_timeout()), (State::StoreDetour, None));
}

#[test]
fn a_held_flow_sends_one_packet_for_each_ack_and_others_pass() {
    let mut b = Bench::new();
    let first = b.ack(ms(0), 1, asks(BackPressureSignal::SlowDown, 77));
    // This interface is not congested: no one upstream need slow down, but all must echo the
    // nonce.
    assert_eq!(
        (first.ask, first.nonce, first.routers),
        (BackPressureSignal::Nothing, Nonce::new(77), 2)
    );
    assert!(!b.interface.passes(flow(1), Nonce::new(77)), "held by its echo");
    assert!(!b.interface.passes(flow(1), None), "held though it left before its sender knew");
    assert!(b.interface.passes(flow(2), None), "another flow is not");
    (0..3).for_each(|_| drop(b.put(ms(1), 1, 77)));
    assert_eq!(b.pull(ms(1)), Some((flow(1), 1)), "the first ACK was worth a packet");
    assert_eq!(b.pull(ms(1)), None);
    assert!(b.interface.passes(flow(2), None), "held packets keep nobody back");
    b.ack(ms(2), 1, asks(BackPressureSignal::SlowDown, 77));
    assert!(!b.interface.passes(flow(2), None), "but one that may leave now has its turn first");
    assert_eq!((b.pull(ms(2)), b.pull(ms(2))), (Some((flow(1), 2)), None));
    let cancel = b.ack(ms(3), 1, asks(BackPressureSignal::Cancel, 77));
    assert_eq!(
        (cancel.ask, cancel.nonce),
        (BackPressureSignal::Cancel, Nonce::new(77)),
        "goes on to the sender"
    );
    assert_eq!((b.pull(ms(3)), b.state()), (Some((flow(1), 3)), State::Push));
}

#[test]
fn credits_go_to_those_that_wait_under_the_same_nonce_in_turn_whoever_earned_them() {
    let mut b = Bench::new();
    b.ack(ms(0), 3, asks(BackPressureSignal::SlowDown, 5));
    for n in [1, 1, 1, 2, 2, 2] {
        b.put(ms(0), n, 5);
    }
    // One packet for the ACK that came when nothing waited yet: it belongs to the first that came.
    // Then one for each in turn.
    assert_eq!(b.pull(ms(0)).expect("a credit").0, flow(1));
    b.ack(ms(0), 3, asks(BackPressureSignal::SlowDown, 5));
    let mut order = Vec::new();
    for at in 1..5 {
        order.push(b.pull(ms(at)).expect("a credit").0);
        assert_eq!(b.pull(ms(at)), None, "one each");
        b.ack(ms(at), 3, asks(BackPressureSignal::SlowDown, 5));
    }
    assert_eq!(order, [flow(1), flow(2), flow(1), flow(2)]);
}

#[test]
fn without_acks_one_packet_is_let_go_each_200_ms_and_the_nonce_is_forgotten_after_1_s() {
    let mut b = Bench::new();
    b.ack(ms(0), 1, asks(BackPressureSignal::SlowDown, 5));
    (0..9).for_each(|_| drop(b.put(ms(0), 1, 5)));
    let mut left = Vec::new();
    loop {
        let before = left.len();
        while b.pull(ms(0)).is_some() {
            left.push(b.interface.next_timeout());
        }
        let Some(at) = b.interface.next_timeout() else { break };
        assert!(left.len() > before, "each timeout lets something go");
        b.interface.on_timeout(at, &mut b.rng);
    }
    // The ACK's own, then at 200, 400, 600 and 800 ms; at 1 s all.
    let due: Vec<Option<Time>> =
        [200, 400, 600, 800, 1000].into_iter().map(|t| Some(ms(t))).collect();
    assert_eq!((&left[..5], left.len()), (&due[..], 9));
}

#[test]
fn what_a_router_between_has_cleared_releases_those_further_up() {
    let mut b = Bench::new();
    b.ack(ms(0), 1, asks(BackPressureSignal::SlowDown, 5));
    b.put(ms(0), 1, 5);
    b.put(ms(0), 1, 5);
    b.pull(ms(0)).unwrap();
    assert_eq!(b.pull(ms(0)), None);
    b.ack(ms(1), 1, asks(BackPressureSignal::Nothing, 5));
    assert!(b.pull(ms(1)).is_some());
}

#[test]
fn two_congested_interfaces_in_series_share_one_option() {
    let mut b = Bench::new();
    (0..7).for_each(|_| drop(b.put(ms(0), 1, 0)));
    b.pull(ms(0)).unwrap();
    // Congested itself: the nonce from downstream goes on as a slow-down, for those upstream hold
    // under it.
    let on = b.ack(ms(1), 1, asks(BackPressureSignal::SlowDown, 5));
    assert_eq!((on.ask, on.nonce), (BackPressureSignal::SlowDown, Nonce::new(5)));
    let on = b.ack(ms(2), 1, asks(BackPressureSignal::Nothing, 5));
    assert_eq!((on.ask, on.nonce), (BackPressureSignal::SlowDown, Nonce::new(5)));
    let own = b.ack(ms(3), 1, BackPressure::default());
    assert_eq!(own.ask, BackPressureSignal::SlowDown);
    assert!(own.nonce.is_some() && own.nonce != Nonce::new(5), "under its own name now");
    // The end of theirs is not the end of its own.
    let on = b.ack(ms(3), 1, asks(BackPressureSignal::Cancel, 5));
    assert_eq!((on.ask, on.nonce), (BackPressureSignal::SlowDown, own.nonce));
    // The request of another router ends here. The flow needs one signal that this interface asks
    // no more; then its name goes on.
    (0..4).for_each(|_| assert!(b.pull(ms(4)).is_some()));
    assert_eq!(b.state(), State::Disable);
    let on = b.ack(ms(5), 1, asks(BackPressureSignal::SlowDown, 6));
    assert_eq!((on.ask, on.nonce), (BackPressureSignal::Cancel, own.nonce));
    let on = b.ack(ms(5), 1, asks(BackPressureSignal::SlowDown, 6));
    assert_eq!((on.ask, on.nonce), (BackPressureSignal::Nothing, Nonce::new(6)));
}

#[test]
fn a_full_cache_takes_from_the_longest_flow_and_never_more_than_it_holds() {
    let mut b = Bench::new();
    for _ in 0..8 {
        assert!(b.put(ms(0), 1, 0).is_empty());
    }
    assert_eq!((b.put(ms(0), 2, 0), b.put(ms(0), 2, 0)), (Vec::new(), Vec::new()));
    assert_eq!(b.interface.cache_bytes(), LIMITS.total_bytes);
    assert_eq!(b.put(ms(0), 2, 0), [8], "the last of flow 1");
    assert_eq!(b.put(ms(0), 1, 0), [12], "flow 1 would take from itself");
    for n in 3..8 {
        assert_eq!(b.put(ms(0), n, 0).len(), 1);
        assert_eq!(b.interface.cache_bytes(), LIMITS.total_bytes);
    }
}

#[test]
fn flows_leave_in_turn_whatever_their_backlog() {
    let mut b = Bench::new();
    for n in [1, 1, 1, 1, 2, 2, 3] {
        b.put(ms(0), n, 0);
    }
    let order: Vec<u32> = core::iter::from_fn(|| b.pull(ms(0))).map(|(_, what)| what).collect();
    assert_eq!(order, [1, 5, 7, 2, 6, 3, 4]);
}

#[test]
fn a_detour_takes_no_tagged_no_plain_and_no_held_packet_and_none_that_is_too_long() {
    let mut b = Bench::new();
    b.ack(ms(0), 4, asks(BackPressureSignal::SlowDown, 5));
    let classes = [(1, Class::Tagged), (2, Class::Plain), (3, Class::Pooled), (4, Class::Pooled)];
    for (n, class) in classes {
        let key = FlowKey::new((n, 1), (9, 2), class);
        for _ in 0..2 {
            let cached = packet(n);
            b.interface.keep(ms(0), key, cached, 5_000, &mut b.rng);
        }
    }
    let mut detour = |max| b.interface.pull_for_detour(ms(0), max, &mut b.rng).map(|(_, c)| c.what);
    assert_eq!(detour(PACKET - 1), None);
    // Flow 4 has one credit, from the ACK.
    let mut taken = [detour(PACKET), detour(PACKET), detour(PACKET)];
    taken.sort();
    assert_eq!((taken, detour(PACKET)), ([Some(3), Some(3), Some(4)], None));
    let rest: Vec<u32> = core::iter::from_fn(|| b.pull(ms(0))).map(|(_, what)| what).collect();
    assert_eq!(rest, [1, 2, 1, 2], "the link takes all but the held one");
    assert_eq!(b.interface.cache_bytes(), PACKET as u64);
}

#[test]
fn a_detour_is_worth_it_where_the_link_serves_less_meanwhile_or_the_cache_is_small() {
    let mut b = Bench::with(ROOMY);
    let mut first_worth = |lag_bytes| {
        let mut packets = 0;
        while !b.interface.is_worth_a_detour(lag_bytes) {
            b.put(ms(0), 1, 0);
            packets += 1;
        }
        packets
    };
    assert_eq!(first_worth(0), 1);
    assert_eq!(first_worth(6_000), 4, "five in all");
    assert_eq!(first_worth(u64::MAX), 6, "11 in all: a quarter of S_low is ten");
}

/// A sender echoes its state of a round trip ago. Packets cached under a nonce that no
/// longer asks their flow, while it asks others, have no credits to wait for.
#[test]
fn a_flow_whose_ack_asks_nothing_is_free_whatever_its_cached_packets_echo() {
    let mut b = Bench::new();
    for n in [1, 2] {
        b.ack(ms(0), n, asks(BackPressureSignal::SlowDown, 5));
    }
    for n in [1, 1, 1, 1, 2, 2, 2, 2] {
        b.put(ms(0), n, 5);
    }
    // The two ACKs were worth two packets.
    assert_eq!((b.pull(ms(0)), b.pull(ms(0))), (Some((flow(1), 1)), Some((flow(2), 5))));
    assert_eq!(b.pull(ms(0)), None);
    b.ack(ms(1), 1, asks(BackPressureSignal::Nothing, 0));
    b.ack(ms(1), 2, asks(BackPressureSignal::SlowDown, 5));
    let mut left: Vec<u32> = core::iter::from_fn(|| b.pull(ms(1))).map(|(_, what)| what).collect();
    left.sort_unstable();
    assert_eq!(left, [2, 3, 4, 6, 7], "flow 1, and of flow 2 one packet for each of the two ACKs");
    assert!(b.interface.passes(flow(1), Nonce::new(5)), "nor does what comes wait");
    assert!(!b.interface.passes(flow(2), None));
}

/// A congested router asks flows one by one: that it asks one of them nothing, or cancels, is no
/// word to the others.
#[test]
fn an_ack_of_one_flow_frees_no_other_under_the_same_nonce() {
    for last in [BackPressureSignal::Nothing, BackPressureSignal::Cancel] {
        let mut b = Bench::new();
        b.ack(ms(0), 1, asks(BackPressureSignal::SlowDown, 5));
        (0..100).for_each(|_| drop(b.put(ms(0), 1, 5)));
        let held = b.interface.cache_packets();
        assert!(b.pull(ms(0)).is_some(), "the ACK's");
        for n in 2..50 {
            b.ack(ms(1), n, asks(last, 5));
        }
        assert_eq!((b.pull(ms(1)), b.interface.cache_packets()), (None, held - 1), "{last:?}");
        assert_eq!(b.interface.nonces(), 1);
        b.ack(ms(2), 1, asks(last, 5));
        assert_eq!(core::iter::from_fn(|| b.pull(ms(2))).count() as u64, held - 1);
    }
}

/// Flows whose packets all wait here get no ACKs. Each flow that is freed lets one of them ask.
#[test]
fn the_ack_that_frees_a_flow_is_worth_a_packet_of_those_still_held() {
    let mut b = Bench::new();
    (1..4).for_each(|n| _ = b.ack(ms(0), n, asks(BackPressureSignal::SlowDown, 5)));
    [1, 1, 1, 2, 2, 2, 3, 3, 3].iter().for_each(|&n| _ = b.put(ms(0), n, 5));
    assert_eq!([1, 2, 3].map(|_| b.pull(ms(0)).expect("an ACK's").0), [1, 2, 3].map(flow));
    assert_eq!(b.pull(ms(0)), None);
    let mut freed = |n| {
        b.ack(ms(1), n, asks(BackPressureSignal::Cancel, 5));
        let left = core::iter::from_fn(|| b.pull(ms(1))).map(|(flow, _)| flow.src().0);
        left.partition::<Vec<u32>, _>(|&other| other == n)
    };
    // Of 1 both that wait here, and one of another flow; of 2 and 3 what is left of them then.
    let (own, others) = freed(1);
    assert_eq!((own, others.len()), ([1, 1].into(), 1));
    let left = |n| 2 - others.iter().filter(|&&other| other == n).count();
    let (own, more) = freed(2);
    assert_eq!((own.len(), &more[..]), (left(2), &[3][..]));
    assert_eq!(freed(3), (alloc::vec![3; left(3) - 1], Vec::new()));
}

const ROOMY: CacheLimits =
    CacheLimits { low_bytes: 60_000, high_bytes: 120_000, total_bytes: 150_000 };

/// A quarter of S_high is room for twenty packets of one flow alone, for ten of each of two.
#[test]
fn a_flow_below_its_share_is_told_how_much_room_there_is_and_is_not_asked() {
    let mut b = Bench::with(ROOMY);
    (0..81).for_each(|_| drop(b.put(ms(0), 1, 0)));
    assert_eq!(b.state(), State::BackPressure);
    // There is room for 19 more. Of two flows each may have half of that.
    let new = b.ack(ms(1), 2, BackPressure::default());
    assert_eq!((new.ask, new.allowance), (BackPressureSignal::Nothing, 9));
    assert!(new.nonce.is_some(), "those upstream hold it, and let as many go");
    (0..4).for_each(|_| drop(b.put(ms(1), 2, 0)));
    (0..10).for_each(|_| _ = b.pull(ms(1)));
    // 75 are cached, none of flow 2. A quarter of S_high binds.
    assert_eq!(b.ack(ms(2), 2, BackPressure::default()).allowance, 10);
    (0..5).for_each(|_| drop(b.put(ms(2), 2, 0)));
    assert_eq!(b.ack(ms(2), 2, BackPressure::default()).allowance, 5, "five are here");
    let less = BackPressure { allowance: 2, ..BackPressure::default() };
    assert_eq!(b.ack(ms(2), 2, less).allowance, 2, "someone downstream has less");
    (0..5).for_each(|_| drop(b.put(ms(2), 2, 0)));
    let told = b.ack(ms(3), 2, BackPressure::default());
    assert_eq!((told.ask, told.allowance), (BackPressureSignal::SlowDown, 0), "it has its share");
    assert!(told.nonce.is_some());
}

/// S_high of six packets has no room for a quarter of it per flow. Who comes last, and has nothing
/// here, may have one all the same, also somewhat above S_high: there the others pause.
#[test]
fn who_has_nothing_in_a_small_cache_is_allowed_a_packet() {
    let mut b = Bench::new();
    (11..19).for_each(|n| drop(b.put(ms(0), n, 0)));
    let told = |b: &mut Bench, n| {
        let told = b.ack(ms(1), n, BackPressure::default());
        (told.ask, told.allowance)
    };
    // A quarter of the room above S_high is one packet. Of eight that have one, and this one, each
    // has two thirds as its share.
    assert_eq!(told(&mut b, 2), (BackPressureSignal::SlowDown, 0), "eight packets");
    b.pull(ms(1));
    assert_eq!(told(&mut b, 2), (BackPressureSignal::Nothing, 1), "seven");
    (0..2).for_each(|_| drop(b.put(ms(1), 2, 0)));
    assert_eq!(told(&mut b, 2), (BackPressureSignal::Pause, 0), "it has two");
}

/// A flow that does not pause fills the cache. What it has above its share does not count for one
/// that has nothing there.
#[test]
fn who_fills_the_cache_leaves_a_packet_to_who_has_nothing() {
    let mut b = Bench::new();
    (0..10).for_each(|_| drop(b.put(ms(0), 1, 0)));
    let told = b.ack(ms(1), 2, BackPressure::default());
    assert_eq!((told.ask, told.allowance), (BackPressureSignal::Nothing, 1), "ten of ten");
    assert_eq!(b.put(ms(1), 2, 0), [10], "the last packet of the other makes room");
    let told = b.ack(ms(1), 1, BackPressure::default());
    assert_eq!((told.ask, told.allowance), (BackPressureSignal::Pause, 0));
}

/// The sender counts the packets of an allowance in the longest that it sends.
#[test]
fn allowances_count_in_the_longest_packets_that_came() {
    for (wire_len, packets) in [(500, 20), (1_500, 6), (9_000, 1)] {
        let mut b = Bench::with(ROOMY);
        let cached = |what| Cached { wire_len, ..packet(what) };
        for what in 0..80_000 / u32::from(wire_len) {
            b.interface.keep(ms(0), flow(1), cached(what), 10_000, &mut b.rng);
            b.interface.keep(ms(0), flow(2), cached(what), 10_000, &mut b.rng);
        }
        assert_eq!(b.state(), State::BackPressure);
        while b.interface.cache_bytes() > 80_000 {
            b.pull(ms(0));
        }
        // A quarter of S_high for three flows: 10 000 bytes each.
        let told = b.ack(ms(1), 3, BackPressure::default()).allowance;
        assert_eq!(told, packets, "{wire_len} bytes each");
    }
}

/// A router that asks draws a new nonce each time. Flows whose packets all wait under an old one
/// get no ACK that could carry it to them: what arrives of others lets one after the other go.
#[test]
fn what_arrives_of_who_comes_under_another_nonce_goes_to_those_that_wait_under_the_last() {
    let mut b = Bench::new();
    (1..4).for_each(|n| _ = b.ack(ms(0), n, asks(BackPressureSignal::SlowDown, 5)));
    [1, 1, 2, 2, 3, 3].iter().for_each(|&n| _ = b.put(ms(0), n, 5));
    assert_eq!([1, 2, 3].map(|_| b.pull(ms(0)).expect("an ACK's").0), [1, 2, 3].map(flow));
    assert_eq!(b.pull(ms(0)), None, "one packet of each waits");
    b.ack(ms(1), 1, asks(BackPressureSignal::SlowDown, 6));
    let next = b.pull(ms(1)).expect("one of those under 5").0.src().0;
    assert_ne!(next, 1);
    b.ack(ms(2), next, asks(BackPressureSignal::SlowDown, 6));
    assert_eq!(b.pull(ms(2)).expect("the last under 5").0, flow(5 - next));
    b.ack(ms(3), 5 - next, asks(BackPressureSignal::SlowDown, 6));
    assert_eq!(b.pull(ms(3)).expect("under 6").0, flow(1));
    assert_eq!(b.pull(ms(3)), None);
}

/// Above S_high the longest pay, so that there is room for those who come.
#[test]
fn what_is_above_s_high_drains_at_the_cost_of_flows_above_their_share() {
    let mut b = Bench::with(ROOMY);
    (0..50).for_each(|_| drop(b.put(ms(0), 1, 0)));
    (0..30).for_each(|_| drop(b.put(ms(0), 2, 0)));
    let mut told = |n| b.ack(ms(1), n, BackPressure::default()).ask;
    assert_eq!(
        (told(1), told(2)),
        (BackPressureSignal::Nothing, BackPressureSignal::Nothing),
        "80 packets are not above S_high"
    );
    (0..2).for_each(|_| drop(b.put(ms(1), 1, 0)));
    let mut told = |n| b.ack(ms(1), n, BackPressure::default()).ask;
    assert_eq!(
        (told(1), told(2)),
        (BackPressureSignal::Pause, BackPressureSignal::SlowDown),
        "52 and 30 packets of 40 each"
    );
    (0..2).for_each(|_| _ = b.pull(ms(1)));
    let mut told = |n| b.ack(ms(1), n, BackPressure::default()).ask;
    assert_eq!(
        (told(1), told(2)),
        (BackPressureSignal::SlowDown, BackPressureSignal::SlowDown),
        "80 packets again"
    );
}

#[test]
fn a_pause_is_worth_no_packet_of_those_held_and_an_allowance_is_worth_two() {
    let mut b = Bench::with(ROOMY);
    let pulled = |b: &mut Bench| core::iter::from_fn(|| b.pull(ms(9))).count();
    let on = b.ack(ms(0), 1, asks(BackPressureSignal::Pause, 5));
    assert_eq!((on.ask, on.nonce), (BackPressureSignal::Nothing, Nonce::new(5)), "it ends here");
    (0..9).for_each(|_| drop(b.put(ms(0), 1, 5)));
    assert_eq!(pulled(&mut b), 0);
    b.ack(ms(1), 1, asks(BackPressureSignal::SlowDown, 5));
    assert_eq!(pulled(&mut b), 1);
    let room = BackPressure { allowance: 4, ..asks(BackPressureSignal::Nothing, 5) };
    let on = b.ack(ms(2), 1, room);
    assert_eq!(on, BackPressure { allowance: 0, routers: 2, ..room }, "it ends here as well");
    assert_eq!(pulled(&mut b), 2);
    (0..9).for_each(|_| drop(b.put(ms(2), 2, 0)));
    b.ack(ms(3), 1, asks(BackPressureSignal::Nothing, 0));
    assert_eq!(pulled(&mut b), 6 + 9, "nobody asks: free");
    (0..9).for_each(|_| drop(b.put(ms(4), 2, 5)));
    b.ack(ms(4), 2, room);
    assert_eq!(
        pulled(&mut b),
        4 + 1,
        "who comes under a nonce has its allowance first; flow 1 left one"
    );
}

#[test]
fn an_ack_that_asks_nothing_where_nobody_waits_is_told_without_a_look_at_its_flow() {
    let mut b = Bench::new();
    let came = |allowance, routers| BackPressure { allowance, routers, ..BackPressure::default() };
    for (allowance, routers, after) in [(0, 3, 4), (7, 255, 255)] {
        let idle = b.interface.on_idle_ack(came(allowance, routers));
        assert_eq!(idle, Some(came(0, after)));
        assert_eq!(idle, Some(b.ack(ms(1), 1, came(allowance, routers))));
    }
    for ask in [
        BackPressureSignal::Nothing,
        BackPressureSignal::SlowDown,
        BackPressureSignal::Cancel,
        BackPressureSignal::Pause,
    ] {
        assert_eq!(b.interface.on_idle_ack(asks(ask, 5)), None, "{ask:?} under a nonce");
    }
    b.put(ms(2), 1, 0);
    assert_eq!(b.interface.on_idle_ack(came(0, 0)), None, "something waits");
    let mut b = Bench::new();
    b.ack(ms(1), 1, asks(BackPressureSignal::SlowDown, 5));
    assert_eq!(b.interface.on_idle_ack(came(0, 0)), None, "somebody is held");
}

/// Delivery bounds the release: not how often, nor in how many fragments, it is
/// acknowledged.
#[test]
fn duplicate_and_split_acks_are_no_credits() {
    let mut b = Bench::with(ROOMY);
    let slow = asks(BackPressureSignal::SlowDown, 5);
    let ack = |b: &mut Bench, before: u32, highest: u32| {
        b.interface.on_ack(ms(1), flow(1), Arrived { before, highest }, slow);
    };
    let pulled = |b: &mut Bench| core::iter::from_fn(|| b.pull(ms(1))).count();
    let start = u32::MAX - 20_000;
    (0..100_000).for_each(|_| ack(&mut b, start, start));
    (0..99).for_each(|_| drop(b.put(ms(1), 1, 5)));
    assert_eq!(pulled(&mut b), 1, "the first that was seen");
    // Ten packets, byte by byte, past the end of the numbers.
    (1..=15_000 * 2).for_each(|n: u32| {
        let before = start.wrapping_add(n.div_ceil(2));
        ack(&mut b, before, before);
    });
    assert_eq!(pulled(&mut b), 10);
    // Four packets after a hole of one count half, and half when the hole is closed.
    let at = start.wrapping_add(15_000);
    (2..=5).for_each(|n| ack(&mut b, at, at.wrapping_add(n * 1_500)));
    assert_eq!(pulled(&mut b), 3, "five halves");
    (0..50).for_each(|_| ack(&mut b, at, at.wrapping_add(7_500)));
    ack(&mut b, at.wrapping_add(7_500), at.wrapping_add(7_500));
    assert_eq!(pulled(&mut b), 2);
    // An old ACK, and a number that nothing near was sent with.
    ack(&mut b, at, at);
    assert_eq!(pulled(&mut b), 0);
    ack(&mut b, at.wrapping_add(1 << 30), at.wrapping_add(1 << 30));
    assert!(pulled(&mut b) <= (1 << 17) / 1_500 + 1);
}

#[test]
fn what_is_known_of_flows_that_have_ended_is_forgotten() {
    let mut b = Bench::with(ROOMY);
    (0..81).for_each(|_| drop(b.put(ms(0), 1, 0)));
    // Back-pressure of its own, and from downstream, for hours: 100 flows come each second, and
    // have one ACK.
    for n in 0..200_000 {
        let at = ms(u64::from(n) * 10);
        b.interface.on_timeout(at, &mut b.rng);
        let told = b.ack(at, 1_000 + n, asks(BackPressureSignal::SlowDown, 5));
        assert_eq!(told.ask, BackPressureSignal::Nothing);
        b.ack(at, 1_000_000 + n, BackPressure::default());
    }
    assert_eq!((b.state(), b.interface.nonces()), (State::BackPressure, 1));
    // 30 s of them, and as much again before they are looked for.
    let (known, asked) = b.interface.remembered();
    assert!(known < 2 * 2 * 3_100 && asked < 2 * 2 * 3_100, "{known} and {asked}");
}
