//! What flows got in bins of equal length that follow each other: throughput over time, and how
//! fair it was bin by bin.
//!
//! A flow counts in the bins that lie within its life: from its SYN to its completion, or to the
//! end of its sender. What counts is payload that arrived at the receiver for the first time, in
//! order or beyond a hole: what is retransmitted late belongs to no other bin.

use super::seconds::clock_seconds;
use forebay_base::{FlowId, Span, Time};
use forebay_net::NetSpec;
use forebay_scenario::statistics::{jain, mean, quantile};
use forebay_sim::Simulation;

/// Length of the bins of metrics.
const BIN: Span = Span::from_secs(1);
/// Most bins, and most bins times flows, that a run counts: beyond them there are no such metrics.
const MAX_BINS: usize = 20_000;
const MAX_COUNTS: usize = 1 << 20;
/// Times are sums of nanoseconds: equal values may differ by rounding.
const SLACK_S: f64 = 1e-7;

/// From when to when a flow is alive, in seconds; without end if it is at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AppSchedule {
    /// When its SYN was sent.
    pub from_s: f64,
    /// When it completed, or its sender ended.
    pub until_s: f64,
}

impl AppSchedule {
    /// Of a flow so far.
    pub fn of(simulation: &Simulation, flow: FlowId) -> AppSchedule {
        let [opened, ended] = simulation.sender_life(flow);
        let seconds = |at: Option<Time>| at.map_or(f64::INFINITY, clock_seconds);
        let until_s = seconds(simulation.completed_at(flow).or(ended));
        AppSchedule { from_s: seconds(opened), until_s }
    }
}

/// Bins, and the lives of flows.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    /// When the first begins.
    pub from_s: f64,
    /// How long each is.
    pub every_s: f64,
    /// By flow.
    pub lives: Vec<AppSchedule>,
    /// By bin and flow the bytes that arrived.
    pub bytes: Vec<Vec<u64>>,
}

impl Bins {
    /// Those of these flows that are alive in the whole bin.
    fn alive<'a>(&'a self, bin: usize, flows: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let from_s = self.from_s + bin as f64 * self.every_s;
        let until_s = from_s + self.every_s;
        flows.iter().copied().filter(move |&flow| {
            let life = self.lives[flow];
            life.from_s <= from_s + SLACK_S && life.until_s >= until_s - SLACK_S
        })
    }

    /// Bits per second of each of these flows that is alive, bin by bin.
    fn rates<'a>(&'a self, flows: &'a [usize]) -> impl Iterator<Item = Vec<f64>> + 'a {
        self.bytes.iter().enumerate().map(move |(bin, bytes)| {
            let rate = |flow: usize| bytes[flow] as f64 * 8.0 / self.every_s;
            self.alive(bin, flows).map(rate).collect()
        })
    }

    /// The mean over bins of Jain's index over the throughputs of these flows (Zaki et al. 2015,
    /// eq. 7); over bins in which two or more are alive and one gets something.
    pub fn jain(&self, flows: &[usize]) -> Option<f64> {
        let several = self.rates(flows).filter(|rates| rates.len() > 1);
        mean(&several.filter_map(|rates| jain(&rates)).collect::<Vec<_>>())
    }

    /// What these flows got together, in bits per second, in each bin in which one is alive.
    pub fn throughputs(&self, flows: &[usize]) -> Vec<f64> {
        let some = self.rates(flows).filter(|rates| !rates.is_empty());
        some.map(|rates| rates.iter().sum()).collect()
    }
}

/// What is reported of the throughputs of bins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Throughput {
    pub mean_bps: Option<f64>,
    pub p5_bps: Option<f64>,
    pub p50_bps: Option<f64>,
    pub p95_bps: Option<f64>,
}

impl Throughput {
    pub fn of(bins: &Bins, flows: &[usize]) -> Throughput {
        let mut all = bins.throughputs(flows);
        all.sort_by(f64::total_cmp);
        let at = |share| quantile(&all, share);
        Throughput { mean_bps: mean(&all), p5_bps: at(0.05), p50_bps: at(0.5), p95_bps: at(0.95) }
    }
}

/// Counts bins while a run goes on.
#[derive(Debug)]
pub(crate) struct BinCounter {
    flows: usize,
    from: Time,
    /// At the start and at the end of each bin so far, by flow; none if there are too many.
    counts: Vec<Vec<u64>>,
}

impl BinCounter {
    /// The first bin begins now.
    pub fn begin(simulation: &Simulation, spec: &NetSpec) -> BinCounter {
        let flows = spec.flows.len();
        let mut counter = BinCounter { flows, from: simulation.now(), counts: Vec::new() };
        if counter.has_room() {
            counter.count(simulation);
        }
        counter
    }

    fn has_room(&self) -> bool {
        self.flows > 0
            && self.counts.len() < MAX_BINS
            && (self.counts.len() + 2) * self.flows <= MAX_COUNTS
    }

    fn count(&mut self, simulation: &Simulation) {
        let flows = (0..self.flows as u32).map(FlowId);
        self.counts.push(flows.map(|flow| simulation.arrived_bytes(flow)).collect());
    }

    /// When the bin ends that has begun.
    pub fn next(&self) -> Time {
        match self.counts.len() {
            0 => Time::MAX,
            begun => self.from + BIN * begun as u64,
        }
    }

    /// End the bins that are over.
    pub fn look(&mut self, simulation: &Simulation) {
        while simulation.now() >= self.next() {
            if self.has_room() {
                self.count(simulation);
            } else {
                // Some bins are not all.
                self.counts = Vec::new();
            }
        }
    }

    /// All whole bins.
    pub fn bins(&self, simulation: &Simulation) -> Bins {
        let flows = (0..self.flows as u32).map(FlowId);
        let grown = |pair: &[Vec<u64>]| -> Vec<u64> {
            pair[1].iter().zip(&pair[0]).map(|(end, begin)| end - begin).collect()
        };
        Bins {
            from_s: clock_seconds(self.from),
            every_s: BIN.as_secs_f64(),
            lives: flows.map(|flow| AppSchedule::of(simulation, flow)).collect(),
            bytes: self.counts.windows(2).map(grown).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(lives: &[(f64, f64)], bytes: &[&[u64]]) -> Bins {
        let life = |&(from_s, until_s): &(f64, f64)| AppSchedule { from_s, until_s };
        Bins {
            from_s: 2.0,
            every_s: 0.5,
            lives: lives.iter().map(life).collect(),
            bytes: bytes.iter().map(|bin| bin.to_vec()).collect(),
        }
    }

    /// Bins from 2.0, 2.5, 3.0 and 3.5 s. The second flow begins within the second, the third ends
    /// within the last one.
    #[test]
    fn fairness_counts_the_flows_that_live_in_a_whole_bin() {
        let bins = bins(
            &[(0.0, f64::INFINITY), (2.6, f64::INFINITY), (2.0, 3.9)],
            &[&[100, 0, 300], &[100, 50, 100], &[100, 200, 300], &[100, 300, 0]],
        );
        // {100, 300}: 16 / 20; {100, 100}: 1; {100, 200, 300}: 36 / 42; {100, 300}: 16 / 20.
        let expected = (0.8 + 1.0 + 36.0 / 42.0 + 0.8) / 4.0;
        assert!((bins.jain(&[0, 1, 2]).unwrap() - expected).abs() < 1e-12);
        // Alone it shares with no one.
        assert_eq!(bins.jain(&[0]), None);
        // The two are alive together in the last two bins.
        assert!((bins.jain(&[0, 1]).unwrap() - (0.9 + 0.8) / 2.0).abs() < 1e-12);
        // Bits in half a second.
        assert_eq!(bins.throughputs(&[0, 2]), [6400.0, 3200.0, 6400.0, 1600.0]);
        assert_eq!(bins.throughputs(&[1]), [3200.0, 4800.0]);
    }

    #[test]
    fn a_bin_in_which_nobody_gets_anything_says_nothing_of_fairness() {
        let bins = bins(&[(0.0, 9.0); 2], &[&[0, 0], &[100, 0]]);
        assert_eq!(bins.jain(&[0, 1]), Some(0.5));
        assert_eq!(bins.throughputs(&[0, 1]), [0.0, 1600.0]);
    }

    /// 2 to 200 kbit/s in 100 bins: by NumPy's rule twice the quantiles of 1 to 100.
    #[test]
    fn quantiles_over_bins() {
        let bytes: Vec<Vec<u64>> = (1..=100).rev().map(|n| vec![n * 125]).collect();
        let all: Vec<&[u64]> = bytes.iter().map(Vec::as_slice).collect();
        let of = Throughput::of(&bins(&[(0.0, f64::INFINITY)], &all), &[0]);
        let close = |found: Option<f64>, kbps: f64| (found.unwrap() - kbps * 1e3).abs() < 1e-6;
        assert!(close(of.mean_bps, 101.0) && close(of.p5_bps, 11.9), "{of:?}");
        assert!(close(of.p50_bps, 101.0) && close(of.p95_bps, 190.1), "{of:?}");
    }
}
