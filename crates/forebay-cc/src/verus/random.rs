//! Random profiles, traces and sequences of calls.

use super::*;
use crate::controller::CongestionCause;
use crate::testbed::{MSS, ack, congestion, init, sent};
use alloc::collections::VecDeque;
use forebay_base::Stream;

fn rng(seed: u64) -> Rng {
    Rng::new(seed, Stream::Controller, 7)
}

/// A sender of any preset and options.
fn any_sender(rng: &mut Rng) -> (Verus, u32) {
    let preset = [Preset::Paper, Preset::Authors, Preset::Recommended][rng.below(3) as usize];
    let mut toss = || Some(rng.chance(0.5));
    let flags = [toss(), toss(), toss(), toss(), toss()];
    let cap = [1, 3, 100, 40_000][rng.below(4) as usize];
    let params = Params {
        preset,
        r: Some(1.0 + 9.0 * rng.unit()),
        epoch_ms: Some([1.0, 5.0, 20.0][rng.below(3) as usize]),
        update_ms: Some([20.0, 100.0, 1000.0][rng.below(3) as usize]),
        update: Some(rng.chance(0.9)),
        alpha: Some(rng.unit()),
        m: Some(rng.above_zero().min(0.99)),
        quantile: Some(rng.above_zero()),
        queue_ms: Some(if rng.chance(0.5) { 0.0 } else { 50.0 }),
        profile_cap: Some(cap),
        follow_rate: flags[0],
        pacing: flags[1],
        fractional: flags[2],
        refresh: flags[3],
        loss_bound: flags[4],
        ..Params::default()
    };
    params.check().expect("all of that may be said");
    (Verus::new(&params, Init { rng: rng.clone(), ..init(10) }), cap)
}

/// No NaN, no window without bound, a set point between D_min and the top of the profile.
fn check(verus: &Verus, cap: u32, what: &str) {
    let state = &verus.state;
    let limits = verus.limits();
    assert!(state.window.is_finite() && state.window >= 1.0, "{what}: {}", state.window);
    assert!((MSS..=Limits::MAX_CWND_BYTES).contains(&limits.cwnd_bytes), "{what}: {limits:?}");
    assert!(state.carry.is_finite() && (0.0..1.0).contains(&state.carry), "{what}");
    verus.observe(&mut |one| assert!(one.value.is_finite(), "{what}: {one:?}"));
    if state.slow_start.is_none() && state.d_min_ms.is_finite() {
        assert!(state.d_est_ms.is_finite() && state.d_est_ms >= 0.0, "{what}");
    }
    assert!(state.profile.reach() <= u64::from(cap), "{what}: {}", state.profile.reach());
    // W of an epoch is one of the profile, or the least of a drain.
    assert!(state.credits <= u64::from(cap).max(2) + 1, "{what}: {}", state.credits);
}

struct Packet {
    tag: Tag,
    sent_at: Time,
    back_at: Time,
    lost: bool,
}

/// A drop-tail queue that packets leave at random times, with silences, random losses and
/// an RTT that steps; the sender is one of [`any_sender`].
fn random_trace(seed: u64) {
    let mut rng = rng(seed);
    let (mut verus, cap) = any_sender(&mut rng);
    let what = alloc::format!("trace {seed}");
    let (mut now, mut free_at) = (Time::from_secs(1), Time::from_secs(1));
    let mut out: VecDeque<Packet> = VecDeque::new();
    let limit = 1 + rng.below(100) as usize;
    let gap_us = 50 + rng.below(20_000);
    let mut base = Span::from_micros(rng.below(200_000));
    for _ in 0..250 {
        while out.len() < 2000 {
            let in_flight = out.len() as u64 * MSS;
            let limits = verus.limits();
            if limits.credits == Some(0) || in_flight + MSS > limits.cwnd_bytes {
                break;
            }
            let event = Sent { in_flight_bytes: in_flight + MSS, ..sent(out.is_empty()) };
            let tag = verus.on_sent(now, &event);
            let waits = out.iter().filter(|p| !p.lost && p.back_at > now + base).count();
            let lost = waits >= limit || rng.chance(0.01);
            if !lost {
                let silence = if rng.chance(0.005) { rng.below(3_000_000) } else { 0 };
                free_at = free_at.max(now) + Span::from_micros(rng.below(gap_us) + silence + 1);
            }
            let back_at = free_at.max(now) + base;
            out.push_back(Packet { tag, sent_at: now, back_at, lost });
        }
        let ack_at = out.front().map_or(Time::MAX, |packet| packet.back_at);
        let timer_at = verus.next_timeout().unwrap_or(Time::MAX);
        if timer_at.min(ack_at) == Time::MAX {
            let timeout = Timeout { flight_size_bytes: 0, first: true };
            now += Span::from_secs(1);
            verus.on_rto(now, &timeout);
        } else if timer_at < ack_at {
            now = now.max(timer_at);
            verus.on_timer(now);
        } else {
            now = now.max(ack_at);
            let packet = out.pop_front().expect("it has come");
            back(&mut verus, now, &packet, out.len() as u64 * MSS);
        }
        if rng.chance(0.005) {
            base = Span::from_micros(rng.below(200_000));
        }
        check(&verus, cap, &what);
    }
}

fn back(verus: &mut Verus, now: Time, packet: &Packet, in_flight_bytes: u64) {
    let (tag, sent_at, bytes) = (packet.tag, packet.sent_at, MSS as u32);
    if packet.lost {
        verus.on_loss(now, &Loss { tag, number: 1, bytes, sent_at, in_flight_bytes });
        return verus.on_congestion(now, &congestion(CongestionCause::Loss, 10.0));
    }
    let rtt = Some(now.since(sent_at));
    verus.on_delivered(now, &Delivered { tag, number: 1, bytes, sent_at, rtt });
    verus.on_ack(now, &Ack { in_flight_bytes, ..ack(MSS) });
}

#[test]
fn random_traces_leave_every_number_sound() {
    (0..10_000).for_each(random_trace);
}

/// Calls in an order that no path makes.
#[test]
fn random_calls_leave_every_number_sound() {
    for seed in 0..10_000 {
        let mut rng = rng(seed);
        let (mut verus, cap) = any_sender(&mut rng);
        let mut now = Time::from_secs(1);
        for _ in 0..60 {
            let most_us = [10, 5_000, 2_000_000][rng.below(3) as usize];
            now += Span::from_micros(rng.below(most_us));
            let sent_at = now - Span::from_micros(rng.below(900_000));
            let in_flight_bytes = MSS * rng.below(1000);
            let tag = match rng.below(4) {
                0 => Tag(0),
                1 => Tag(1),
                2 => Tag(1 + rng.below(100)),
                _ => Tag(EXCLUDE_FROM_PROFILE | (1 + rng.below(100))),
            };
            let lost = rng.chance(0.2);
            match rng.below(6) {
                0 => _ = verus.on_sent(now, &Sent { in_flight_bytes, ..sent(rng.chance(0.1)) }),
                1 | 2 => verus.on_timer(now),
                3 if rng.chance(0.1) => {
                    verus.on_rto(now, &Timeout { flight_size_bytes: MSS, first: true });
                }
                _ => {
                    let packet = Packet { tag, sent_at, back_at: now, lost };
                    back(&mut verus, now, &packet, in_flight_bytes);
                }
            }
            check(&verus, cap, &alloc::format!("calls {seed}"));
        }
    }
}
