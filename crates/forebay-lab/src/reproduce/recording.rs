//! State kept of a run while it goes on, for measures that need more than its result.

use super::profile;
use forebay_base::{FlowId, LinkId, Span};
use forebay_router::inrpp::{Class, FlowKey, FlowTotals};
use forebay_run::{AppSchedule, Bins, interface};
use forebay_sim::{LinkOutcome, Simulation};
use forebay_transport::Role;

/// Simulated time between two looks: what a time is known to where nothing more exact is.
pub(super) const LOOK_EVERY: Span = Span::from_millis(5);

/// One look.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Simulated time, in seconds.
    pub at_s: f64,
    /// Per flow the bytes that its sender has sent once.
    pub sent_bytes: Vec<u64>,
    /// Per flow the bytes in order at its receiver.
    pub received_bytes: Vec<u64>,
    /// Per flow the payload that has arrived for the first time, in order or not.
    pub arrived_bytes: Vec<u64>,
    /// Per class that is watched the bytes in order at the receivers of its flows, together.
    pub class_bytes: Vec<u64>,
    /// Per directed link the bytes that it took.
    pub link_bytes: Vec<u64>,
    /// Per directed link how long what waits for it takes at its rate, in seconds; infinite at no
    /// rate.
    pub queue_s: Vec<f64>,
    /// The interfaces that are watched.
    pub ports: Vec<PortSample>,
    /// Per window that is watched its delay in the profile of flow 1, in seconds.
    pub profile_s: Vec<Option<f64>>,
}

/// An INRPP interface at one look; zeros of a router that is none of INRPP.
#[derive(Clone, Debug, Default)]
pub(super) struct PortSample {
    /// Bytes in its cache.
    pub cache_bytes: u64,
    /// Bytes that have left, detours included.
    pub sent_bytes: u64,
    /// Per flow what waits and what has left.
    pub flows: Vec<FlowTotals>,
}

/// All looks at one run.
#[derive(Debug)]
pub(super) struct Recording {
    /// The flows that are looked at one by one: all, or none.
    flows: usize,
    /// The flows of which it is looked at what has arrived: all, or none.
    arrived: usize,
    /// Of those, when they were alive.
    lives: Vec<AppSchedule>,
    /// The classes that are watched, with their flows.
    classes: Vec<(String, Vec<FlowId>)>,
    links: usize,
    /// The interfaces that are watched, by their directed links.
    watched: Vec<usize>,
    /// The windows whose delays in the profile of flow 1 are watched, in packets.
    windows: Vec<f64>,
    /// Per flow when its handshake was over at its sender, in seconds.
    established_s: Vec<Option<f64>>,
    /// Per flow its first slow start.
    slow_starts: Vec<SlowStart>,
    /// The phases of controllers that are watched.
    phases: Vec<String>,
    /// Per class that is watched and flow of it the looks with a connection, and of these per phase
    /// those in it.
    in_phase: Vec<Vec<(u32, Vec<u32>)>>,
    samples: Vec<Sample>,
}

/// The first slow start of a sender.
#[derive(Clone, Copy, Debug, Default)]
struct SlowStart {
    /// The largest window so far, in bytes.
    peak_bytes: u64,
    /// It is over.
    over: bool,
}

impl SlowStart {
    /// Take a window and its threshold at a look.
    fn take(&mut self, cwnd_bytes: u64, ssthresh_bytes: Option<u64>) {
        if !self.over {
            self.peak_bytes = self.peak_bytes.max(cwnd_bytes);
            self.over = ssthresh_bytes.is_some();
        }
    }
}

impl Recording {
    /// Nothing yet, of a run with this many flows to sample, this many whose arrivals count, and
    /// this many directed links.
    pub fn new(
        flows: usize,
        arrived: usize,
        classes: Vec<(String, Vec<FlowId>)>,
        links: usize,
        watched: Vec<usize>,
    ) -> Recording {
        Recording {
            flows,
            arrived,
            lives: Vec::new(),
            classes,
            links,
            watched,
            windows: Vec::new(),
            established_s: vec![None; flows],
            slow_starts: vec![SlowStart::default(); flows],
            phases: Vec::new(),
            in_phase: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// The same, with the delays of these windows, in packets.
    pub fn with_windows(self, windows: Vec<f64>) -> Recording {
        Recording { windows, ..self }
    }

    /// The same, with the shares of time in these phases.
    pub fn with_phases(self, phases: Vec<String>) -> Recording {
        let none = |flows: &[FlowId]| vec![(0, vec![0; phases.len()]); flows.len()];
        let in_phase = if phases.is_empty() {
            Vec::new()
        } else {
            self.classes.iter().map(|(_, flows)| none(flows)).collect()
        };
        Recording { phases, in_phase, ..self }
    }

    /// Count the phases of the flows that are watched.
    fn count_phases(&mut self, simulation: &Simulation) {
        let flows = self.classes.iter().flat_map(|(_, flows)| flows);
        for (&flow, (looks, counts)) in flows.zip(self.in_phase.iter_mut().flatten()) {
            let Some(end) = simulation.connection(flow, Role::Client) else { continue };
            *looks += 1;
            let phase = end.view(0).phase;
            for (count, _) in counts.iter_mut().zip(&self.phases).filter(|(_, of)| *of == phase) {
                *count += 1;
            }
        }
    }

    /// Look at the simulation.
    pub fn look(&mut self, simulation: &Simulation) {
        self.count_phases(simulation);
        let of_bins = || (0..self.arrived as u32).map(FlowId);
        self.lives = of_bins().map(|flow| AppSchedule::of(simulation, flow)).collect();
        let count = self.flows as u32;
        let flows = || (0..count).map(FlowId);
        let progress = |flow, role| simulation.connection(flow, role).map(|end| end.progress());
        let established = |flow| progress(flow, Role::Client).and_then(|p| p.established_at);
        for (flow, known) in flows().zip(&mut self.established_s) {
            *known = known.or_else(|| established(flow).map(|at| at.as_secs_f64()));
        }
        for (flow, slow_start) in flows().zip(&mut self.slow_starts) {
            let view = simulation.connection(flow, Role::Client).map(|end| end.view(0));
            if let Some(view) = view {
                slow_start.take(view.cwnd_bytes, view.ssthresh_bytes);
            }
        }
        let sent = |flow| progress(flow, Role::Client).map_or(0, |p| p.sent_bytes);
        let received = |flow| progress(flow, Role::Server).map_or(0, |p| p.received_bytes);
        let of_class =
            |(_, flows): &(String, Vec<FlowId>)| flows.iter().map(|&f| received(f)).sum();
        let links = || (0..self.links as u32).map(|link| simulation.link(LinkId(link)));
        let ports = self.watched.iter().map(|&link| self.port(simulation, link));
        let profile_s = self.windows.iter().map(|&packets| profile::delay_s(simulation, packets));
        let sample = Sample {
            at_s: simulation.now().as_secs_f64(),
            sent_bytes: flows().map(sent).collect(),
            received_bytes: flows().map(received).collect(),
            arrived_bytes: of_bins().map(|flow| simulation.arrived_bytes(flow)).collect(),
            class_bytes: self.classes.iter().map(of_class).collect(),
            link_bytes: links().map(|link| link.stats().bytes).collect(),
            queue_s: links().map(|link| queue_s(&link)).collect(),
            ports: ports.collect(),
            profile_s: profile_s.collect(),
        };
        self.samples.push(sample);
    }

    fn port(&self, simulation: &Simulation, link: usize) -> PortSample {
        let Some(view) = interface(simulation, LinkId(link as u32)) else {
            return PortSample {
                flows: vec![FlowTotals::default(); self.flows],
                ..PortSample::default()
            };
        };
        let shares = view.flows();
        let share = |flow| {
            let path = simulation.workload().paths(flow)[0];
            let [src, dst] = [path.src.0, path.dst.0].map(|end| (end.addr.0, end.port));
            shares.get(&FlowKey::new(src, dst, Class::Pooled)).copied().unwrap_or_default()
        };
        PortSample {
            cache_bytes: view.cache_bytes(),
            sent_bytes: view.sent_bytes(),
            flows: (0..self.flows as u32).map(FlowId).map(share).collect(),
        }
    }

    /// Place of a class in [`Sample::class_bytes`], and the number of its flows.
    pub fn class(&self, name: &str) -> (usize, usize) {
        let place = self.classes.iter().position(|(class, _)| class == name);
        let place = place.expect("what is measured is watched");
        (place, self.classes[place].1.len())
    }

    /// Place of the directed link's interface in [`Sample::ports`].
    pub fn place_of(&self, link: usize) -> usize {
        let place = self.watched.iter().position(|&watched| watched == link);
        place.expect("what is measured is watched")
    }

    /// Place of a window in [`Sample::profile_s`].
    pub fn place_of_window(&self, packets: f64) -> usize {
        let place = self.windows.iter().position(|&watched| watched == packets);
        place.expect("what is measured is watched")
    }

    /// Per flow of a class the share of its looks in a phase, of flows that have any.
    pub fn phase_shares(&self, class: &str, phase: &str) -> Vec<f64> {
        let (class, _) = self.class(class);
        let place = self.phases.iter().position(|of| of == phase).expect("it is watched");
        let flows = self.in_phase[class].iter().filter(|(looks, _)| *looks > 0);
        flows.map(|(looks, counts)| f64::from(counts[place]) / f64::from(*looks)).collect()
    }

    /// When the handshake of the flow with that index was over at its sender, in seconds.
    pub fn established_s(&self, flow: usize) -> Option<f64> {
        self.established_s[flow]
    }

    /// The largest window of the first slow start of the flow with that index, in bytes; None if it
    /// is not over.
    pub fn slow_start_bytes(&self, flow: usize) -> Option<u64> {
        let SlowStart { peak_bytes, over } = self.slow_starts[flow];
        over.then_some(peak_bytes)
    }

    /// What arrived in the whole bins of a stretch of time, all looks at most.
    pub fn bins(&self, every_s: f64, [from_s, until_s]: [f64; 2]) -> Bins {
        let last_s = self.samples.last().map_or(0.0, |look| look.at_s);
        let whole = ((until_s.min(last_s) - from_s) / every_s + 1e-9).floor().max(0.0) as u32;
        // Nothing has arrived before the first look, at time 0.
        let until = |end: u32| {
            let looks = self.within([0.0, from_s + f64::from(end) * every_s]);
            looks.last().map_or_else(|| vec![0; self.arrived], |look| look.arrived_bytes.clone())
        };
        let ends: Vec<Vec<u64>> = (0..=whole).map(until).collect();
        let grown = |pair: &[Vec<u64>]| -> Vec<u64> {
            pair[1].iter().zip(&pair[0]).map(|(end, begin)| end - begin).collect()
        };
        let (lives, bytes) = (self.lives.clone(), ends.windows(2).map(grown).collect());
        Bins { from_s, every_s, lives, bytes }
    }

    /// All looks, in order of time.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The looks within a stretch of time, both ends included.
    pub fn within(&self, [from_s, until_s]: [f64; 2]) -> &[Sample] {
        // Times are sums of 5 ms in nanoseconds: equal values may differ by rounding.
        const SLACK_S: f64 = 1e-7;
        let first = self.samples.partition_point(|s| s.at_s < from_s - SLACK_S);
        let end = self.samples.partition_point(|s| s.at_s <= until_s + SLACK_S);
        &self.samples[first..end.max(first)]
    }
}

fn queue_s(link: &LinkOutcome<'_>) -> f64 {
    match link.queue_bytes() {
        0 => 0.0,
        bytes => bytes as f64 * 8.0 / link.rate().bps() as f64,
    }
}

/// How fast a count grew from the first of the samples to the last, per second; None for less than
/// two.
pub(super) fn growth(samples: &[Sample], count: impl Fn(&Sample) -> u64) -> Option<f64> {
    let (first, last) = (samples.first()?, samples.last()?);
    let elapsed_s = last.at_s - first.at_s;
    (elapsed_s > 0.0).then(|| (count(last) as f64 - count(first) as f64) / elapsed_s)
}

#[cfg(test)]
impl Recording {
    /// These samples.
    pub fn of(watched: Vec<usize>, samples: Vec<Sample>) -> Recording {
        let flows = samples.first().map_or(0, |sample| sample.sent_bytes.len());
        let classes = vec![("c".to_string(), vec![FlowId(0), FlowId(1)])];
        Recording { samples, ..Recording::new(flows, flows, classes, 0, watched) }
    }

    /// Of flows with these lives.
    pub fn with_lives(self, lives: &[(f64, f64)]) -> Recording {
        let life = |&(from_s, until_s): &(f64, f64)| AppSchedule { from_s, until_s };
        Recording { lives: lives.iter().map(life).collect(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_ends_with_a_threshold() {
        let mut recording = Recording::new(1, 0, Vec::new(), 0, Vec::new());
        let looks = [(10, None), (80, None), (124, Some(62)), (500, Some(62))];
        for (cwnd, ssthresh) in &looks[..2] {
            recording.slow_starts[0].take(*cwnd, *ssthresh);
        }
        assert_eq!(recording.slow_start_bytes(0), None);
        for (cwnd, ssthresh) in &looks[2..] {
            recording.slow_starts[0].take(*cwnd, *ssthresh);
        }
        assert_eq!(recording.slow_start_bytes(0), Some(124));
    }
}
