//! From a simulation to metrics.

use super::bins::{BinCounter, Bins, Throughput};
use super::capacity::Capacity;
use super::delays::DelayMark;
use super::seconds::{clock_seconds, milliseconds, seconds};
use crate::record::RunStart;
use forebay_base::{FlowId, Histogram, LinkId, Span, Time};
use forebay_metrics::{ClassMetrics, FlowMetrics, FlowResult, Metrics};
use forebay_net::{FlowSpec, LinkStats, NetSpec, NodeKind};
use forebay_scenario::FctClock;
use forebay_scenario::statistics::{jain, mean, quantile};
use forebay_sim::{FlowOutcome, Simulation};
use forebay_transport::{EndCause, Role};
use std::collections::BTreeMap;

/// When a run ends and from when it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Start of the first flow.
    pub first_start: Time,
    /// Start of the window.
    pub from: Time,
    /// The run ends here at the latest.
    pub until: Time,
    /// When the clock of a completion time starts.
    pub clock: FctClock,
}

impl Bounds {
    pub fn new(spec: &NetSpec, measure_from: Time, until: Option<Time>, clock: FctClock) -> Bounds {
        let first_start =
            spec.flows.iter().filter_map(FlowSpec::known_start).min().unwrap_or(Time::ZERO);
        let until = until.unwrap_or(Time::MAX);
        Bounds { first_start, from: first_start.max(measure_from).min(until), until, clock }
    }
}

/// The counts at the start of the window, to be taken off those at its end; and those of the bins
/// since.
pub(crate) struct WindowBaseline {
    at: Time,
    pub bins: BinCounter,
    links: Vec<(Span, LinkStats)>,
    received: Vec<u64>,
    delays: DelayMark,
}

impl WindowBaseline {
    pub fn of(simulation: &Simulation, spec: &NetSpec) -> WindowBaseline {
        let links = (0..spec.links.len() as u32).map(|i| {
            let link = simulation.link(LinkId(i));
            (link.busy(), link.stats())
        });
        let flows = 0..spec.flows.len() as u32;
        WindowBaseline {
            at: simulation.now(),
            bins: BinCounter::begin(simulation, spec),
            links: links.collect(),
            received: flows.map(|i| simulation.received_bytes(FlowId(i))).collect(),
            delays: DelayMark::of(simulation, spec),
        }
    }
}

/// Bits per second; None over no time.
fn rate_bps(bytes: u64, over: Span) -> Option<f64> {
    (!over.is_zero()).then(|| bytes as f64 * 8.0 / seconds(over))
}

/// Flow completion time, by the clock.
fn fct(outcome: &FlowOutcome, clock: FctClock) -> Option<Span> {
    Some(outcome.completed_at?.since(clock_start(outcome, clock)?))
}

fn clock_start(outcome: &FlowOutcome, clock: FctClock) -> Option<Time> {
    match clock {
        FctClock::Syn => outcome.opened_at,
        FctClock::Established => outcome.established_at,
    }
}

fn handshake(outcome: &FlowOutcome) -> Option<Span> {
    Some(outcome.established_at?.since(outcome.opened_at?))
}

/// When a window begins, and the bytes of a flow that had arrived by then.
#[derive(Clone, Copy)]
struct Before {
    at: Time,
    received_bytes: u64,
}

/// Goodput in the flow's part of a window that ends at `now`.
fn goodput(outcome: &FlowOutcome, clock: FctClock, from: Before, now: Time) -> Option<f64> {
    // A flow that never was established has been active since its SYN, and got nothing.
    let begin = clock_start(outcome, clock).or(outcome.opened_at)?.max(from.at);
    let end = outcome.completed_at.unwrap_or(now);
    rate_bps(outcome.received_bytes - from.received_bytes, end.since(begin))
}

/// Share of the life of a flow in which one of its buffers held it back.
fn held_share(outcome: &FlowOutcome, buffer: usize, now: Time) -> Option<f64> {
    let end = outcome.completed_at.or(outcome.ended.map(|(_, at)| at)).unwrap_or(now);
    let life_s = seconds(end.since(outcome.established_at?));
    let share = seconds(outcome.held_back[buffer]) / life_s;
    (life_s > 0.0).then_some(share.min(1.0))
}

fn end_name(outcome: &FlowOutcome) -> &'static str {
    match (outcome.ended, outcome.opened_at) {
        (Some((EndCause::Finished, _)), _) => "finished",
        (Some((EndCause::Reset, _)), _) => "reset",
        (Some((EndCause::TimedOut, _)), _) => "timed_out",
        (None, Some(_)) => "running",
        (None, None) if outcome.skipped => "skipped",
        (None, None) => "unopened",
    }
}

/// A simulation that has ended, with all that is needed to measure it.
pub(crate) struct Measured<'a> {
    start: &'a RunStart<'a>,
    simulation: &'a Simulation,
    bounds: &'a Bounds,
    mark: &'a WindowBaseline,
    bins: Bins,
    delays: DelayMark,
}

impl<'a> Measured<'a> {
    pub fn new(
        start: &'a RunStart<'a>,
        simulation: &'a Simulation,
        bounds: &'a Bounds,
        mark: &'a WindowBaseline,
    ) -> Measured<'a> {
        let bins = mark.bins.bins(simulation);
        let delays = DelayMark::of(simulation, start.spec);
        Measured { start, simulation, bounds, mark, bins, delays }
    }

    /// One entry per flow, in order of id.
    pub fn flows(&self) -> Vec<FlowResult> {
        let flows = (0u32..).zip(&self.start.spec.flows);
        flows.map(|(i, flow)| self.flow(FlowId(i), flow)).collect()
    }

    fn flow(&self, id: FlowId, flow: &FlowSpec) -> FlowResult {
        let (spec, now, i) = (self.start.spec, self.simulation.now(), id.0 as usize);
        let name = |node: forebay_base::NodeId| spec.nodes[node.index()].name.clone();
        let outcome = self.simulation.flow(id);
        let from = Before { at: self.mark.at, received_bytes: self.mark.received[i] };
        let seen = outcome.rtt.samples > 0;
        debug_assert!(outcome.needless_retransmits <= outcome.sender.retransmits, "no duplicates");
        let delays = self.delays.of_flow(&self.mark.delays, flow.transport).unwrap_or_default();
        let Throughput { mean_bps, p5_bps, p50_bps, p95_bps } = Throughput::of(&self.bins, &[i]);
        FlowResult {
            id: id.0 + 1,
            src: name(flow.src),
            dst: name(flow.dst),
            protocol: match self.simulation.foreign(id, Role::Client) {
                Some(sender) => sender.stack.clone(),
                None => spec.transports[flow.transport].name.clone(),
            },
            class: spec.transports[flow.transport].class.clone(),
            start_s: flow.known_start().or(outcome.opened_at).map(clock_seconds),
            bytes: flow.bytes,
            received_bytes: outcome.received_bytes,
            fct_s: fct(&outcome, self.bounds.clock).map(seconds),
            handshake_s: handshake(&outcome).map(seconds),
            goodput_bps: goodput(&outcome, self.bounds.clock, from, now),
            rtt_mean_ms: seen.then_some(outcome.rtt.mean_ms),
            rtt_p95_ms: seen.then_some(outcome.rtt.p95_ms),
            one_way_delay_mean_ms: delays.one_way_delay_mean_ms,
            one_way_delay_p50_ms: delays.one_way_delay_p50_ms,
            one_way_delay_p95_ms: delays.one_way_delay_p95_ms,
            one_way_delay_p99_ms: delays.one_way_delay_p99_ms,
            throughput_mean_bps: mean_bps,
            throughput_p5_bps: p5_bps,
            throughput_p50_bps: p50_bps,
            throughput_p95_bps: p95_bps,
            data_packets: outcome.sender.data_packets,
            retransmits: outcome.sender.retransmits,
            needless_retransmits: outcome.needless_retransmits,
            lost_packets: outcome.sender.lost_packets,
            timeouts: outcome.sender.timeouts,
            ce_received: outcome.ce_received,
            ecn_responses: outcome.sender.ecn_responses,
            held_by_receive_window: held_share(&outcome, 0, now),
            held_by_send_buffer: held_share(&outcome, 1, now),
            end: end_name(&outcome),
        }
    }

    /// The one-way delays that the metrics of the run count, by class.
    pub fn one_way(&self) -> BTreeMap<String, Histogram> {
        self.delays.one_way_since(&self.mark.delays)
    }

    /// All metrics of the run, whose flows these are.
    pub fn metrics(&self, flows: &[FlowResult]) -> Metrics {
        let (delays, mut by_class) = self.delays.since(&self.mark.delays);
        let mut classes: BTreeMap<&str, Vec<&FlowResult>> = BTreeMap::new();
        for flow in flows {
            classes.entry(&flow.class).or_default().push(flow);
        }
        let classes = classes.into_iter().map(|(name, flows)| {
            let delays = by_class.remove(name).unwrap_or_default();
            let of_flows = self.of_flows(&flows, delays);
            (name.to_string(), ClassMetrics { flows: flows.len(), of_flows })
        });
        let by_class = classes.collect();
        let all: Vec<&FlowResult> = flows.iter().collect();
        // A run of several starts counts from the first, jitter included.
        let first = self.first_start(&all);
        debug_assert!(flows.is_empty() || first == Some(self.bounds.first_start));
        let mut metrics = Metrics {
            of_flows: self.of_flows(&all, delays),
            by_class,
            ce_marks: self.simulation.drops().ce_marks(),
            window_s: [clock_seconds(self.mark.at), clock_seconds(self.simulation.now())],
            ..Metrics::default()
        };
        self.put_links(&mut metrics);
        metrics
    }

    /// When the first of these flows started. One that follows another starts when it opens.
    fn first_start(&self, flows: &[&FlowResult]) -> Option<Time> {
        let start = |flow: &&FlowResult| {
            let index = flow.id - 1;
            let known = self.start.spec.flows[index as usize].known_start();
            known.or_else(|| self.simulation.flow(FlowId(index)).opened_at)
        };
        flows.iter().filter_map(start).min()
    }

    /// What is reported of these flows together, given their delays.
    fn of_flows(&self, flows: &[&FlowResult], delays: FlowMetrics) -> FlowMetrics {
        let (simulation, window) = (self.simulation, self.simulation.now().since(self.mark.at));
        let index = |flow: &FlowResult| flow.id as usize - 1;
        let before = |flow: &FlowResult| self.mark.received[index(flow)];
        let delivered_bytes = flows.iter().map(|f| f.received_bytes - before(f)).sum();
        let goodputs: Vec<f64> = flows.iter().filter_map(|f| f.goodput_bps).collect();
        let mut fcts: Vec<f64> = flows.iter().filter_map(|f| f.fct_s).collect();
        fcts.sort_by(f64::total_cmp);
        let sum = |count: fn(&FlowResult) -> u64| flows.iter().map(|flow| count(flow)).sum();
        let sent: u64 = sum(|f| f.data_packets);
        let needless_retransmits: u64 = sum(|f| f.needless_retransmits);
        let outcomes = || flows.iter().map(|f| simulation.flow(FlowId(index(f) as u32)));
        let established = outcomes().filter_map(|outcome| fct(&outcome, FctClock::Established));
        let established: Vec<f64> = established.map(seconds).collect();
        // No one waits for those that will never be.
        let done =
            outcomes().filter(|outcome| !outcome.skipped).map(|outcome| outcome.completed_at);
        let last = done.collect::<Option<Vec<Time>>>().and_then(|done| done.into_iter().max());
        let first = self.first_start(flows);
        let places: Vec<usize> = flows.iter().map(|flow| index(flow)).collect();
        let Throughput { mean_bps, p5_bps, p50_bps, p95_bps } = Throughput::of(&self.bins, &places);
        FlowMetrics {
            afct_s: mean(&fcts),
            afct_established_s: mean(&established),
            fct_p50_s: quantile(&fcts, 0.5),
            fct_p99_s: quantile(&fcts, 0.99),
            all_done_s: last.zip(first).map(|(last, first)| seconds(last.since(first))),
            jain_goodput: jain(&goodputs),
            jain_flows: goodputs.len(),
            jain_1s: self.bins.jain(&places),
            throughput_mean_bps: mean_bps,
            throughput_p5_bps: p5_bps,
            throughput_p50_bps: p50_bps,
            throughput_p95_bps: p95_bps,
            goodput_bps: rate_bps(delivered_bytes, window),
            delivered_bytes,
            retransmits: sum(|f| f.retransmits),
            needless_retransmits,
            needless_share: (sent > 0).then(|| needless_retransmits as f64 / sent as f64),
            ce_received: sum(|f| f.ce_received),
            ecn_responses: sum(|f| f.ecn_responses),
            timeouts: sum(|f| f.timeouts),
            ..delays
        }
    }

    /// Utilisation of the links between routers, and the queue delay of the busiest that leaves a
    /// router. In a network without routers, or with one, all links take their place.
    fn put_links(&self, metrics: &mut Metrics) {
        let (simulation, mark) = (self.simulation, self.mark);
        let RunStart { spec, names, .. } = *self.start;
        let is_router =
            |id: forebay_base::NodeId| matches!(spec.nodes[id.index()].kind, NodeKind::Router(_));
        let all = || (0..spec.links.len()).collect::<Vec<_>>();
        let chosen = |keep: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let some: Vec<usize> = all().into_iter().filter(|&i| keep(i)).collect();
            if some.is_empty() { all() } else { some }
        };
        let between = chosen(&|i| is_router(spec.links[i].from) && is_router(spec.links[i].to));
        let leaving = chosen(&|i| is_router(spec.links[i].from));
        let busy = |i: usize| {
            seconds(simulation.link(LinkId(i as u32)).busy().saturating_sub(mark.links[i].0))
        };
        for middlebox in all().into_iter().map(|i| simulation.link(LinkId(i as u32)).middlebox()) {
            metrics.options_stripped += middlebox.options_stripped;
            metrics.df_set += middlebox.df_set;
            metrics.fragments_merged += middlebox.fragments_merged;
        }
        let marks = |i: usize| simulation.link(LinkId(i as u32)).stats().marked;
        let marked = all().into_iter().map(|i| (names.of(i).to_string(), marks(i)));
        metrics.ce_marks_by_link = marked.filter(|(_, marks)| *marks > 0).collect();
        let window = seconds(simulation.now().since(mark.at));
        if window > 0.0 {
            let shares = between.iter().map(|&i| (names.of(i).to_string(), busy(i) / window));
            metrics.utilisation = shares.collect::<BTreeMap<_, _>>();
        }
        metrics.trace_utilisation = self.trace_utilisation();
        // The first of equals.
        let busiest = leaving.into_iter().rev().max_by(|&a, &b| busy(a).total_cmp(&busy(b)));
        let Some(busiest) = busiest.filter(|&i| busy(i) > 0.0) else { return };
        let outcome = simulation.link(LinkId(busiest as u32));
        let (stats, before) = (outcome.stats(), &mark.links[busiest].1);
        let waits = stats.waits.since(&before.waits);
        metrics.queue_delay_link = Some(names.of(busiest).to_string());
        metrics.queue_delay_mean_ms = waits.mean().map(milliseconds);
        let quantile = |q| waits.quantile(q).map(milliseconds);
        metrics.queue_delay_p50_ms = quantile(0.5);
        metrics.queue_delay_p95_ms = quantile(0.95);
        metrics.queue_delay_p99_ms = quantile(0.99);
    }

    /// Of each directed link that follows a trace, what it took by what its opportunities carried.
    fn trace_utilisation(&self) -> BTreeMap<String, f64> {
        let (simulation, mark) = (self.simulation, self.mark);
        let RunStart { spec, names, .. } = *self.start;
        let share = |i: usize| {
            let id = LinkId(i as u32);
            let offered = Capacity::of_trace(spec, id)?.bytes(mark.at, simulation.now());
            let taken = simulation.link(id).stats().bytes - mark.links[i].1.bytes;
            // A packet may be taken before the last opportunity that it needs.
            let share = || (names.of(i).to_string(), (taken as f64 / offered).min(1.0));
            (offered > 0.0).then(share)
        };
        (0..spec.links.len()).filter_map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(opened: u64, established: u64, completed: Option<u64>, bytes: u64) -> FlowOutcome {
        FlowOutcome {
            opened_at: Some(Time::from_millis(opened)),
            established_at: Some(Time::from_millis(established)),
            completed_at: completed.map(Time::from_millis),
            received_bytes: bytes,
            ..FlowOutcome::default()
        }
    }

    #[test]
    fn completion_time_by_both_clocks() {
        let done = outcome(1_000, 1_020, Some(3_000), 1);
        assert_eq!(fct(&done, FctClock::Syn), Some(Span::from_millis(2_000)));
        assert_eq!(fct(&done, FctClock::Established), Some(Span::from_millis(1_980)));
        assert_eq!(fct(&outcome(1_000, 1_020, None, 1), FctClock::Syn), None);
        assert_eq!(fct(&FlowOutcome::default(), FctClock::Syn), None);
    }

    #[test]
    fn goodput_by_hand() {
        let now = Time::from_secs(10);
        let start = Before { at: Time::ZERO, received_bytes: 0 };
        // 1 MB in 2 s of its own: 4 Mbit/s, whatever the length of the run.
        let done = outcome(1_000, 1_020, Some(3_000), 1_000_000);
        assert_eq!(goodput(&done, FctClock::Syn, start, now), Some(4e6));
        // Unfinished: 9 MB from 1 s to 10 s.
        let running = outcome(1_000, 1_020, None, 9_000_000);
        assert_eq!(goodput(&running, FctClock::Syn, start, now), Some(8e6));
        // The window cuts: 1 of the 9 MB came before 6 s.
        let cut = Before { at: Time::from_secs(6), received_bytes: 1_000_000 };
        assert_eq!(goodput(&running, FctClock::Syn, cut, now), Some(16e6));
        // Done before the window, and never begun: not active.
        let cut = Before { at: Time::from_secs(6), received_bytes: 1_000_000 };
        assert_eq!(goodput(&done, FctClock::Syn, cut, now), None);
        assert_eq!(goodput(&FlowOutcome::default(), FctClock::Syn, start, now), None);
        // Never established: active, with nothing.
        let stuck = FlowOutcome { established_at: None, ..outcome(0, 0, None, 0) };
        assert_eq!(goodput(&stuck, FctClock::Established, start, now), Some(0.0));
    }
}
