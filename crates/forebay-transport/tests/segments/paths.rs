//! One stream over two paths.

#![allow(clippy::print_stdout)] // names the case of a failing test

use crate::common::{Event, Fate, Hop, MSS, Pair, Told, Window, Wiring, modern, ms, plain};
use forebay_base::{Rate, Rng, Span, Stream, Time, kind};
use forebay_cc::LossPolicy;
use forebay_transport::TcpConfig;

const FAST: Span = ms(10);
const SLOW: Span = ms(50);

/// Two paths of 10 Mbit/s.
fn two_paths(bytes: u64, script: impl FnMut(&Event) -> Fate + 'static) -> Wiring {
    let hop = |delay| [Hop::link(delay, Rate::mbps(10), 100), Hop::wire(delay)];
    let mut wiring = Wiring::new(modern(), Some(bytes), FAST).script(script);
    wiring.hops = vec![hop(FAST), hop(SLOW)];
    wiring
}

fn reno(wiring: Wiring) -> Pair {
    wiring.build(|_, _| Window::reno(10).any())
}

fn payload(pair: &Pair, path: usize) -> u64 {
    pair.data().iter().filter(|e| e.path == path).map(|e| e.seg.len).sum()
}

/// Whether the second path has joined: it carries data. Without the first one nothing opens before.
#[derive(Default)]
struct Joined(bool);

impl Joined {
    fn saw(&mut self, event: &Event) -> bool {
        self.0 |= event.path == 1 && event.side == 0 && event.seg.len > 0;
        self.0
    }
}

#[test]
fn one_path_puts_nothing_extra_on_the_wire() {
    let mut pair = reno(Wiring::new(modern(), Some(50 * MSS), ms(20)));
    pair.finish(Time::from_secs(10));
    assert!(pair.log.iter().all(|e| e.seg.option(kind::MPTCP).is_none()));
}

#[test]
fn two_paths_carry_more_than_one() {
    let took = |paths: usize| {
        let mut wiring = two_paths(4000 * MSS, |_| Fate::PASS);
        wiring.hops.truncate(paths);
        let mut pair = reno(wiring);
        pair.finish(Time::from_secs(60));
        pair.drain();
        pair.ends[1].progress().last_byte_at.unwrap().as_secs_f64()
    };
    // 4 MB and headers at 10 Mbit/s take 3.3 s; two paths could take half.
    assert!(took(1) > 3.2);
    assert!(took(2) < 2.4, "{} s", took(2));
}

#[test]
fn data_on_two_paths_is_mapped() {
    // 40 segments fit into pipe and buffer of each path: nothing is lost.
    let mut pair = two_paths(500 * MSS, |_| Fate::PASS).build(|_, _| Window::fixed(40).any());
    pair.finish(Time::from_secs(30));
    for event in pair.data() {
        assert!(event.seg.option(kind::MPTCP).is_some(), "{event:?}");
    }
    for path in 0..2 {
        assert!(payload(&pair, path) > 0, "path {path} is used");
    }
    assert_eq!(payload(&pair, 0) + payload(&pair, 1), 500 * MSS, "each byte once");
}

#[test]
fn a_short_flow_stays_on_the_fast_path() {
    // The scheduler takes the path with the lowest smoothed RTT that has window.
    let mut pair = reno(two_paths(8 * MSS, |_| Fate::PASS));
    pair.finish(Time::from_secs(5));
    assert_eq!(payload(&pair, 1), 0);
    let last = pair.ends[1].progress().last_byte_at.unwrap();
    assert!(last < Time::from_millis(45), "handshake, then one flight on the fast path: {last}");
}

#[test]
fn a_path_that_never_opens_does_no_harm() {
    let mut pair = reno(two_paths(500 * MSS, |e| Fate::drop_if(e.path == 1)));
    pair.finish(Time::from_secs(30));
    pair.drain();
    assert_eq!(payload(&pair, 1), 0);
}

#[test]
fn a_path_that_dies_is_replaced_within_its_timeout() {
    for dead in 0..2 {
        let died = Time::from_millis(500);
        let wiring =
            two_paths(2000 * MSS, move |e| Fate::drop_if(e.path == dead && e.seg.at >= died));
        let mut pair = reno(wiring);
        pair.finish(Time::from_secs(30));
        pair.drain();
        let progress = pair.ends[1].progress();
        // 2 MB alone on one path take 1.7 s; the timeout of the dead path is 1 s.
        assert!(progress.last_byte_at.unwrap() < Time::from_secs(5), "{progress:?}");
    }
}

#[test]
fn both_directions_of_a_path_may_die_apart() {
    for dead in 0..2 {
        for side in 0..2 {
            let died = Time::from_millis(500);
            let wiring = two_paths(1000 * MSS, move |e| {
                Fate::drop_if(e.path == dead && e.side == side && e.seg.at >= died)
            });
            let mut pair = reno(wiring);
            pair.finish(Time::from_secs(60));
            pair.drain();
        }
    }
}

#[test]
fn a_path_that_comes_back_is_no_trouble() {
    let wiring = two_paths(3000 * MSS, |e| {
        let down = Time::from_millis(300)..Time::from_millis(4500);
        Fate::drop_if(e.path == 1 && down.contains(&e.seg.at))
    });
    let mut pair = reno(wiring);
    pair.finish(Time::from_secs(60));
    pair.drain();
}

#[test]
fn a_loss_on_one_path_leaves_the_window_of_the_other() {
    let mut lost = false;
    let wiring = two_paths(1000 * MSS, move |e| {
        let now = e.path == 1 && e.side == 0 && e.seg.len > 0 && e.index > 100 && !lost;
        lost |= now;
        Fate::drop_if(now)
    });
    let windows = [Window::fixed(20), Window::fixed(20)];
    let logs = [windows[0].log.clone(), windows[1].log.clone()];
    let mut pair =
        wiring.build(
            |side, path| {
                if side == 0 { windows[path].clone().any() } else { Window::fixed(20).any() }
            },
        );
    pair.finish(Time::from_secs(30));
    assert_eq!(logs[0].congestions().len(), 0);
    assert_eq!(logs[1].congestions().len(), 1);
}

#[test]
fn storms_on_both_paths() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed, Stream::Test, 9);
        let (lose, hold) = (rng.unit() * 0.15, rng.unit() * 0.2);
        let die = rng.chance(0.3).then(|| (rng.below(2) as usize, ms(100 + rng.below(2000))));
        let bytes = rng.below(300_000);
        let mut joined = Joined::default();
        let script = move |e: &Event| Fate {
            drop: rng.chance(lose)
                || joined.saw(e)
                    && die.is_some_and(|(path, at)| e.path == path && e.seg.at >= Time::ZERO + at),
            late: if rng.chance(hold) {
                Span::from_micros(1 + rng.below(100_000))
            } else {
                Span::ZERO
            },
            again: rng.chance(0.02).then(|| ms(1 + rng.below(200))),
            mark: false,
            strip: None,
        };
        println!("seed {seed} lose {lose:.3} die {die:?} bytes {bytes}");
        let mut wiring = two_paths(bytes, script);
        if seed.is_multiple_of(3) {
            wiring.send_bytes[1] = Some(50_000);
        }
        let mut pair = reno(wiring);
        pair.finish(Time::from_secs(7200));
        pair.drain();
    }
}

#[test]
fn controllers_see_their_siblings() {
    let client = [Window::fixed(20), Window::fixed(30)];
    let log = client[1].log.clone();
    let mut pair = two_paths(500 * MSS, |_| Fate::PASS).build(|side, path| {
        if side == 0 { client[path].clone().any() } else { Window::fixed(20).any() }
    });
    pair.finish(Time::from_secs(30));
    let seen: Vec<_> = log
        .all()
        .into_iter()
        .filter_map(|(_, t)| if let Told::Couple(all, me) = t { Some((all, me)) } else { None })
        .collect();
    assert!(seen.iter().all(|(all, me)| all.len() == 2 && *me == 1));
    let (all, _) = seen.last().expect("coupled before ACKs");
    assert_eq!((all[0].cwnd_bytes, all[1].cwnd_bytes), (20 * MSS, 30 * MSS));
    assert!(all[0].usable && all[1].usable);
    assert!(all[0].srtt < all[1].srtt);
}

/// Two wires of 10 and 50 ms; one packet in `every` is lost, and from `at` on all of what `side`
/// (2: both) sends on `path`.
fn dying(config: TcpConfig, bytes: u64, back: u64, every: u64, path: usize, side: usize, at: Time) {
    let mut joined = Joined::default();
    let mut wiring = Wiring::new(config, Some(bytes), FAST).script(move |e| {
        let dying = joined.saw(e) || path == 1;
        let dead = dying && e.path == path && (side == 2 || e.side == side) && e.seg.at >= at;
        Fate::drop_if(dead || (e.index * 7 + e.side as u64) % every == 3)
    });
    wiring.send_bytes[1] = Some(back);
    wiring.hops = vec![[Hop::wire(FAST), Hop::wire(FAST)], [Hop::wire(SLOW), Hop::wire(SLOW)]];
    let mut pair = reno(wiring);
    pair.finish(Time::from_secs(600));
    pair.drain();
}

#[test]
fn a_path_that_dies_among_losses_holds_nothing_back() {
    for policy in [LossPolicy::DupThresh, LossPolicy::RackTlp, LossPolicy::TimeoutOnly] {
        for at in (0..2000).step_by(100).map(Time::from_millis) {
            for side in 0..3 {
                println!("{policy:?} side {side} at {at}");
                let config = TcpConfig { loss_policy: policy, ..plain() };
                dying(config, 100_000, 0, 8, 1, side, at);
            }
        }
    }
}

#[test]
fn a_small_window_is_shared_by_the_paths() {
    for policy in [LossPolicy::DupThresh, LossPolicy::RackTlp, LossPolicy::TimeoutOnly] {
        for at in (0..2000).step_by(37).map(Time::from_millis) {
            for path in 0..2 {
                println!("{policy:?} path {path} at {at}");
                let config =
                    TcpConfig { loss_policy: policy, receive_buffer_bytes: 5000, ..plain() };
                dying(config, 100_000, 50_000, 30, path, 0, at);
            }
        }
    }
}
