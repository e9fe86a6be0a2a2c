//! One run: a scenario under one protocol and one seed.

mod clock;
mod drive;
mod parallel;

use crate::error::RunError;
use crate::metrics::{
    Bounds, Mark, clock_seconds, flows_of, interfaces_of, metrics_of, one_way_of, split_transports,
};
use crate::observe::{CaptureFilter, CaptureLimit, EventFilter, EventWriter, RunObserver};
use crate::result::{Parallel, RunResult};
use crate::store::Store;
pub(crate) use clock::{Cost, cpu_clock};
use drive::Drive;
use forebay_base::{DropReason, LinkId, Span, Time};
use forebay_net::{LossModel, NetSpec, SpecError};
use forebay_reference::{Known, Reference, Wanted, fluid_reference};
use forebay_report::MOST_FLOWS_BY_PORT;
use forebay_scenario::memory_estimate::{MemoryEstimate, RunMemory};
use forebay_scenario::{LinkNames, Registry, Scenario, count_per_flow};
use forebay_sim::{Options, Simulation, Unbalanced};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to run, as opposed to what. The default runs quietly and keeps nothing but the result.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// Scenario as the user gave it, `--set` arguments included, for messages that say how to run
    /// it again.
    pub name: &'a str,
    /// Emit every packet to bytes and parse it back on every link.
    pub bytes: bool,
    /// Use the simple event heap.
    pub binary_heap: bool,
    /// Run everything the simple way, to check the others: see [`Options::general`]. Results do not
    /// depend on it.
    pub general: bool,
    /// Make no trace hash: that of the result is that of a run in which nothing arrives. For
    /// measurements of what it costs.
    pub without_hash: bool,
    /// Set by whoever wants the run to stop; looked at several times a second.
    pub cancel: Option<&'a AtomicBool>,
    /// Told of progress several times a second.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Where series go (and a capture, if wanted); None: no series.
    pub store: Option<&'a Store>,
    /// Write packets to `packets.pcapng` of the store, which must be given with it.
    pub capture: Option<CaptureLimit>,
    /// What the capture holds.
    pub capture_filter: CaptureFilter<'a>,
    /// Write a line for each packet event of a flow or node.
    pub events: Option<(EventFilter, &'a EventWriter)>,
    /// Do not work out the reference.
    pub without_reference: bool,
    /// References that other runs of the scenario have worked out; None: this run asks no other.
    pub known: Option<&'a Known>,
    /// Threads to use in the run, if its network can be divided among so many; 0 and 1: one. A run
    /// that is captured, or whose packet events are written, uses one. Results do not depend on it.
    pub threads: usize,
    /// Who looks at the simulation from time to time.
    pub looks: Option<Looks<'a>>,
    /// Told of the network before it runs.
    pub network: Option<&'a (dyn Fn(&NetSpec) + Sync)>,
}

/// Looks at a simulation while it runs. They change nothing: the trace is the same with and
/// without.
#[derive(Clone, Copy)]
pub struct Looks<'a> {
    /// Simulated time between two of them; the first is that long after time 0, the last at the end
    /// of the run.
    pub every: Span,
    /// Who looks.
    pub who: &'a (dyn Fn(&Simulation) + Sync),
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// When it ends at the latest, if the scenario says so.
    pub until: Option<Time>,
    /// Flows that have completed.
    pub completed: usize,
    /// Flows with an end.
    pub flows: usize,
}

impl Progress {
    /// The share that is done, 0.0 to 1.0: of the time, or of the flows if that is more.
    pub fn fraction(&self) -> f64 {
        let time = self.until.map_or(0.0, |until| {
            self.now.as_secs_f64() / until.as_secs_f64().max(f64::MIN_POSITIVE)
        });
        let flows = self.completed as f64 / self.flows.max(1) as f64;
        time.max(flows).clamp(0.0, 1.0)
    }
}

/// The error for packets that are missing, with the command that shows it again.
fn unbalanced(
    error: Unbalanced,
    options: &RunOptions<'_>,
    (protocol, seed): (&str, u64),
) -> RunError {
    let name = options.name;
    let bytes = if options.bytes { " --bytes" } else { "" };
    let general = if options.general { " --general" } else { "" };
    let again =
        format!("forebay run {name} --protocol {protocol} --seeds {seed}..{seed}{bytes}{general}");
    RunError::Unbalanced(error, again)
}

/// Run `scenario` with `protocol` and `seed`.
///
/// [`RunError::Unbalanced`] if a packet is missing: that is a bug, and the message says how to see
/// it again.
pub fn run_one(
    scenario: &Scenario,
    protocol: &str,
    seed: u64,
    options: &RunOptions<'_>,
) -> Result<RunResult, RunError> {
    assert!(options.capture.is_none() || options.store.is_some(), "a capture needs a store");
    let mut spec = scenario.build(protocol, seed)?;
    let shown = options.store.is_some() && spec.flows.len() <= MOST_FLOWS_BY_PORT;
    if shown || options.looks.is_some() {
        count_per_flow(&mut spec);
    }
    split_transports(&mut spec);
    if let Some(tell) = options.network {
        tell(&spec);
    }
    let names = LinkNames::new(scenario);
    let bounds = Bounds::new(&spec, scenario.measure_from, scenario.until, scenario.fct);
    let capture = options.store.zip(options.capture).map(|(store, limit)| {
        (store.capture_path(protocol, seed), (limit, options.capture_filter))
    });
    let observer = RunObserver::open(&spec, capture, options.events)?;
    let simulation_options = Options {
        bytes: options.bytes,
        binary_heap: options.binary_heap,
        general: options.general,
        without_hash: options.without_hash,
        observer: observer.observer(),
        threads: options.threads,
        cpu_clock: Some(cpu_clock),
        ..Options::default()
    };
    let simulation = Simulation::new(&spec, seed, simulation_options);
    let mut simulation =
        simulation.map_err(|error| RunError::Network(describe(&error, &spec), error))?;
    observer.begin(simulation.workload());
    let network = || (names.clone(), scenario, &spec);
    let series = options.store.map(|store| store.series(protocol, seed, network()));
    let mut series = series.transpose()?;
    let mut drive = Drive {
        simulation: &mut simulation,
        spec: &spec,
        bounds,
        options,
        observer: &observer,
        series: series.as_mut().map(|writer| (writer, scenario.sample)),
        cost: Cost::default(),
        run: (protocol, seed),
    };
    let reference = reference(&scenario.registry, drive.spec, seed, (&bounds, options))?;
    let mark = drive.run()?;
    let mut cost = drive.cost;
    cost.add_other_threads(&simulation);
    observer.finish()?;
    series.map(|writer| writer.finish()).transpose()?;
    let (at, conservation) = (simulation.now(), simulation.conservation());
    if !conservation.holds() {
        let error = Unbalanced { at, conservation };
        return Err(unbalanced(error, options, (protocol, seed)));
    }
    let measured = Measured { spec: &spec, names: &names, bounds: &bounds, mark: &mark };
    let mut result = measured.result((protocol, seed), &simulation, &cost);
    result.label = scenario.label(protocol);
    result.reference = reference.beside(result.per_flow.iter().map(|flow| flow.fct_s));
    result.memory =
        MemoryEstimate::of_run(&spec, simulation.threads(), options.store.is_some()).into();
    Ok(result)
}

/// The reference, worked out before the run so that waiting for it looks like waiting for the run.
fn reference(
    registry: &Registry,
    spec: &NetSpec,
    seed: u64,
    (bounds, options): (&Bounds, &RunOptions<'_>),
) -> Result<Reference, RunError> {
    if options.without_reference {
        return Ok(Reference::none("not asked for"));
    }
    let flows = spec.flows.iter().filter(|flow| !flow.is_endless()).count();
    let until = Some(bounds.until).filter(|&until| until < Time::MAX);
    let mut look = |_| {
        if let Some(tell) = options.progress {
            tell(&Progress { now: Time::ZERO, until, completed: 0, flows });
        }
        !options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    };
    let Bounds { from, until, clock, .. } = *bounds;
    let wanted = Wanted { registry, spec, seed, from, until, clock };
    let mut work = || {
        let mut cost = Cost::default();
        let (worked, _) = cost.charge(|| fluid_reference(&wanted, &mut look));
        let with_cost = |reference| Reference { cpu_s: cost.cpu.as_secs_f64(), ..reference };
        worked.map(|reference| reference.map(with_cost))
    };
    let found = match options.known {
        Some(known) => known.or_else(&wanted, work),
        None => work(),
    };
    let found = found.map_err(|error| RunError::Network(describe(&error, spec), error))?;
    found.ok_or(RunError::Cancelled)
}

/// Everything that turns a simulation into a result.
struct Measured<'a> {
    spec: &'a NetSpec,
    names: &'a LinkNames,
    bounds: &'a Bounds,
    mark: &'a Mark,
}

impl Measured<'_> {
    fn result(
        &self,
        (protocol, seed): (&str, u64),
        simulation: &Simulation,
        cost: &Cost,
    ) -> RunResult {
        let per_flow = flows_of(simulation, self.spec, self.bounds, self.mark);
        let window = (self.bounds, self.mark);
        let metrics = metrics_of(simulation, self.spec, self.names, window, &per_flow);
        RunResult {
            protocol: protocol.to_string(),
            label: String::new(),
            seed,
            trace_hash: format!("{:016x}", simulation.trace_hash()),
            events: simulation.events(),
            packet_hops: simulation.packet_hops(),
            wall_s: cost.wall.as_secs_f64(),
            cpu_s: cost.cpu.as_secs_f64(),
            parallel: Parallel::of(simulation),
            memory: RunMemory::default(),
            ended_s: clock_seconds(simulation.now()),
            flows: per_flow.len(),
            completed: per_flow.iter().filter(|flow| flow.fct_s.is_some()).count(),
            drops: drops_of(simulation),
            metrics,
            per_flow,
            interfaces: interfaces_of(simulation, self.names),
            one_way: one_way_of(simulation, self.spec, self.mark),
            reference: Reference::default(),
            notes: unreached_losses(simulation, self.spec, self.names),
        }
    }
}

/// A note for each link that carried fewer packets than the list of those that it loses.
fn unreached_losses(simulation: &Simulation, spec: &NetSpec, names: &LinkNames) -> Vec<String> {
    let links = (0u32..).map(LinkId).zip(&spec.links).zip(names.iter());
    let noted = links.filter_map(|((id, link), name)| {
        let Some(LossModel::List(numbers)) = &link.loss_model else { return None };
        let carried = simulation.link(id).stats().packets;
        let beyond = numbers.len() - numbers.partition_point(|&number| number <= carried);
        (beyond > 0).then(|| {
            let all = numbers.len();
            format!(
                "{beyond} of the {all} packets in loss.packets of the link {name} never came: it \
                 carried {carried} packets"
            )
        })
    });
    noted.collect()
}

fn drops_of(simulation: &Simulation) -> BTreeMap<&'static str, u64> {
    let counts = DropReason::ALL.iter().map(|&reason| (reason, simulation.drops().count(reason)));
    let shown = counts.filter(|&(reason, count)| count > 0 || reason == DropReason::Full);
    shown.map(|(reason, count)| (reason.name(), count)).collect()
}

/// A spec error in the names of the scenario.
fn describe(error: &SpecError, spec: &NetSpec) -> String {
    let node = |id: &forebay_base::NodeId| spec.nodes[id.index()].name.as_str();
    match error {
        SpecError::NoRoute { flow, from, to } => {
            format!("flow {}: no route from `{}` to `{}`", flow.0 + 1, node(from), node(to))
        }
        SpecError::TooManyAddresses(n) => {
            format!("{n} addresses are more than IPv4 has room for; set ip_version = 6")
        }
        SpecError::HostWithoutLink(host) => format!("the host `{}` has no link", node(host)),
        SpecError::NotAHost { flow, node: end } => {
            format!("flow {}: `{}` is no host, or both its ends are", flow.0 + 1, node(end))
        }
        SpecError::Life { flow, why } => format!("flow {}: {why}", flow.0 + 1),
        SpecError::Forgery(flow) => {
            let text = "forged pieces are IPv4, of a multiple of 8 bytes from 24 to 1480";
            format!("flow {}: {text}", flow.0 + 1)
        }
        SpecError::RateOfTrace(link) => {
            let link = &spec.links[link.index()];
            let (from, to) = (node(&link.from), node(&link.to));
            format!(
                "an event sets the rate of the link from `{from}` to `{to}`, which follows a trace"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_is_missing_is_a_bug_that_can_be_seen_again() {
        let [sent, held] = [2, 1];
        let conservation = forebay_sim::Conservation {
            sent,
            split: 0,
            delivered: 0,
            dropped: 0,
            held,
            cold_parts: 0,
        };
        let options = RunOptions { name: "s1 --set fct=syn", bytes: true, ..RunOptions::default() };
        let lost = Unbalanced { at: Time::from_secs(1), conservation };
        let text = unbalanced(lost, &options, ("cubic", 7)).to_string();
        let again = "forebay run s1 --set fct=syn --protocol cubic --seeds 7..7 --bytes";
        assert!(text.starts_with("packets are not conserved at 1"), "{text}");
        assert!(text.contains("sent: 2") && text.ends_with(again), "{text}");
    }

    #[test]
    fn progress_is_the_share_of_time_or_of_flows() {
        let until = Some(Time::from_secs(10));
        let at = |s, until, completed| {
            Progress { now: Time::from_secs(s), until, completed, flows: 4 }.fraction()
        };
        assert_eq!((at(5, until, 1), at(1, until, 3), at(99, None, 1)), (0.5, 0.75, 0.25));
        assert_eq!(
            Progress { now: Time::ZERO, until: None, completed: 0, flows: 0 }.fraction(),
            0.0
        );
    }
}
