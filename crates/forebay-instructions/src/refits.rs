//! What a controller does now and then, and not for each packet.

use crate::harness::{Bench, counted_section};
use crate::packets::MSS;
use forebay_base::{Rng, Span, Stream, Time};
use forebay_cc::{Controller, Delivered, Init, Spec, Tag, Timeout};
use std::hint::black_box;

/// Windows of which a Verus sender knows the delay.
const POINTS: u64 = 2_000;
const REFITS: u64 = 10;
/// More than the time from one refit to the next.
const LATER: Span = Span::from_millis(1_100);

/// A packet that left under a window of `w` came back after `delay`.
fn deliver(verus: &mut impl Controller, now: Time, w: u64, delay: Span) {
    let (bytes, sent_at) = (u32::from(MSS), now - delay);
    verus
        .on_delivered(now, &Delivered { tag: Tag(w), number: w, bytes, sent_at, rtt: Some(delay) });
}

/// A refit of Verus' delay profile from [`POINTS`] points, and the few epochs that a timer does
/// with it.
fn refit() -> u64 {
    let init = Init {
        mss_bytes: u32::from(MSS),
        initial_window_bytes: 10 * u64::from(MSS),
        initial_ssthresh_bytes: u64::MAX,
        paced: false,
        rng: Rng::new(1, Stream::Controller, 0),
    };
    let mut verus = Spec::by_name("verus").expect("it is in the table").build(init);
    let (mut rng, mut now) = (Rng::new(1, Stream::Test, 0), Time::from_secs(10));
    let mut learn = |verus: &mut _, now| {
        for w in 1..=POINTS {
            // It rises, but not from each point to the next: some pool.
            let delay = Span::from_micros(20_000 + 50 * w + rng.below(1_000));
            deliver(verus, now, w, delay);
        }
    };
    learn(&mut verus, now);
    // The end of slow start: the first fit.
    verus.on_rto(now, &Timeout { flight_size_bytes: 0, first: true });
    for _ in 0..REFITS {
        learn(&mut verus, now);
        verus.on_timer(now + Span::from_millis(20)); // takes the delays, and no refit is due
        now += LATER;
        counted_section(&mut || verus.on_timer(now));
        black_box(verus.limits());
    }
    let (mut top, mut half_s) = (0.0, 0.0);
    verus.observe(&mut |seen| match seen.name {
        "profile_top" => top = seen.value,
        "profile_08" => half_s = seen.value,
        _ => {}
    });
    assert_eq!(top, POINTS as f64, "points up to this window");
    assert!((0.069..0.072).contains(&half_s), "the delay under half of it: {half_s} s");
    REFITS
}

pub fn benches() -> Vec<Bench> {
    vec![Bench::new("verus/refit-2000", refit)]
}
