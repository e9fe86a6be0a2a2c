//! The pending events: pop the first, push it again for later.

use crate::harness::{Bench, repeat};
use forebay_base::{Rng, Span, Stream, Time};
use forebay_sim::EventQueue;

/// A population of events, each of which is pushed again when it has left.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    pending: u32,
    /// Mean time from a push to its pop, of all but the timers.
    mean: Span,
}

/// The busy links of S2 (half a million hops a second), and those of S3 (1.1 million).
const LOADS: [Load; 2] = [
    Load { name: "s2", pending: 300, mean: Span::from_micros(600) },
    Load { name: "s3", pending: 10_000, mean: Span::from_millis(9) },
];

/// One push in so many is of a timer, [`TIMER`] away.
const TIMER_SHARE: u64 = 64;
const TIMER: Span = Span::from_millis(200);
/// Different times that are drawn: a power of two.
const DRAWN: usize = 1 << 12;
/// Pushes before it counts: the calendar reviews the length of its days each 65 536.
const BEFORE: u64 = 200_000;
const OPERATIONS: u64 = 100_000;

/// Exponential, as arrivals at many links are.
fn delays(load: Load) -> Vec<Span> {
    let mut rng = Rng::new(1, Stream::Test, 0);
    let mut draw = || match rng.below(TIMER_SHARE) {
        0 => TIMER,
        _ => Span::from_secs_f64(-(1.0 - rng.unit()).ln() * load.mean.as_secs_f64()),
    };
    (0..DRAWN).map(|_| draw()).collect()
}

fn hold(mut agenda: EventQueue, load: Load) -> u64 {
    let delays = delays(load);
    let mut drawn = (0..DRAWN).cycle();
    let mut delay = || delays[drawn.next().expect("without end") & (DRAWN - 1)];
    (0..load.pending).for_each(|entity| agenda.push(Time::ZERO + delay(), entity));
    repeat(BEFORE, OPERATIONS, || {
        let (now, entity) = agenda.pop_until(Time::MAX).expect("it is pushed again");
        agenda.push(now + delay(), entity);
    })
}

pub fn benches() -> Vec<Bench> {
    let kinds =
        [("calendar", EventQueue::calendar as fn() -> EventQueue), ("binary", EventQueue::binary)];
    let of = |(kind, agenda): (&str, fn() -> EventQueue)| {
        LOADS.map(|load| {
            Bench::new(format!("agenda/{kind}-{}", load.name), move || hold(agenda(), load))
        })
    };
    kinds.into_iter().flat_map(of).collect()
}
