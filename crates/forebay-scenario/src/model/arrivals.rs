//! Random processes by which flows arrive.

use crate::model::sizes::SizeDistribution;
use forebay_base::{Rng, Span, Stream, Time};
use std::collections::BTreeMap;

/// The place of a flow in a random process of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Mean number of arrivals in a second.
    pub per_s: f64,
    /// The random stream of the process.
    pub stream: u32,
    /// The flow's number in the process, from 0 on.
    pub number: u32,
    /// Mean number of flows in progress when a process begins in its steady state (PPBP); None: it
    /// begins with none.
    pub in_progress: Option<f64>,
    /// A flow due then or later does not arrive.
    pub until: Option<Time>,
}

/// When a flow arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arrived {
    /// It was in progress when the process began, and has a remainder of its size to send.
    Before,
    /// So long after the process began.
    After(Span),
    /// Not at all.
    Never,
}

/// The arrivals of a run: each process is drawn once, as far as flows ask.
pub(crate) struct ArrivalTimes {
    seed: u64,
    processes: BTreeMap<u32, Waits>,
    /// Flows in progress at the start, by stream and mean.
    in_progress: BTreeMap<(u32, u64), u32>,
}

/// Sums of exponential times of mean 1.
struct Waits {
    rng: Rng,
    sums: Vec<f64>,
}

impl ArrivalTimes {
    pub fn new(seed: u64) -> ArrivalTimes {
        ArrivalTimes { seed, processes: BTreeMap::new(), in_progress: BTreeMap::new() }
    }

    /// When the flow arrives whose process begins at `start`.
    pub fn of(&mut self, arrival: &Arrival, start: Time) -> Arrived {
        let (seed, stream) = (self.seed, arrival.stream);
        let before = arrival.in_progress.map_or(0, |mean| {
            let known = self.in_progress.entry((stream, mean.to_bits()));
            *known.or_insert_with(|| {
                poisson(mean, &mut Rng::new(seed, Stream::Arrivals, entity(stream, true)))
            })
        });
        let Some(number) = arrival.number.checked_sub(before) else { return Arrived::Before };
        let rng = || Rng::new(seed, Stream::Arrivals, entity(stream, false));
        let waits = self.processes.entry(stream);
        let waits = waits.or_insert_with(|| Waits { rng: rng(), sums: Vec::new() });
        while waits.sums.len() <= number as usize {
            let last = waits.sums.last().copied().unwrap_or(0.0);
            waits.sums.push(last + waits.rng.exponential());
        }
        let after = Span::from_secs_f64(waits.sums[number as usize] / arrival.per_s);
        match arrival.until {
            Some(until) if start + after >= until => Arrived::Never,
            _ => Arrived::After(after),
        }
    }
}

/// A Poisson number of this mean: as many as arrive in that many times the mean interval.
fn poisson(mean: f64, rng: &mut Rng) -> u32 {
    let (mut sum, mut number) = (rng.exponential(), 0);
    while sum <= mean {
        sum += rng.exponential();
        number += 1;
    }
    number
}

fn entity(stream: u32, in_progress: bool) -> u64 {
    u64::from(stream) << 1 | u64::from(in_progress)
}

/// What is left of a flow that was in progress when its process began, in bytes: what a size is
/// that was met at a random moment.
pub(crate) fn rest_bytes(size: Option<&SizeDistribution>, bytes: u64, rng: &mut Rng) -> u64 {
    match size {
        Some(law) => law.draw_rest_bytes(rng),
        None => ((bytes as f64 * rng.above_zero()).ceil() as u64).clamp(1, bytes),
    }
}
