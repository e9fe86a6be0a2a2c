//! One run: a scenario under one protocol and one seed.

use crate::cost::Cost;
use crate::drive::{Drive, Unfinished};
use crate::error::RunError;
use crate::measure::{Bounds, Measured, clock_seconds, interfaces_of, split_transports};
use crate::options::{Progress, RunOptions};
use crate::record::{Record, RunStart};
use crate::result::{Parallel, RunResult};
use forebay_base::{DropReason, FlowId, LinkId, Time};
use forebay_metrics::MAX_FLOWS_BY_PORT;
use forebay_net::{LossModel, NetSpec};
use forebay_reference::{Look, Reference, Wanted, fluid_reference};
use forebay_scenario::memory_estimate::{MemoryEstimate, RunMemory};
use forebay_scenario::{LinkNames, Scenario, count_per_flow};
use forebay_sim::{ConservationError, Options, Role, Simulation};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Run `scenario` with `protocol` and `seed`.
///
/// [`RunError::ConservationError`] if a packet is missing: that is a bug, and the message says how
/// to see it again. [`RunError::Panicked`] if something in it panics and the program unwinds; what
/// `options` refer to must then still be usable.
pub fn run_one(
    scenario: &Scenario,
    protocol: &str,
    seed: u64,
    options: &RunOptions<'_>,
) -> Result<RunResult, RunError> {
    let run = AssertUnwindSafe(|| build_and_run(scenario, protocol, seed, options));
    catch_unwind(run).unwrap_or_else(|panic| Err(options.panicked(&*panic, protocol, seed)))
}

fn build_and_run(
    scenario: &Scenario,
    protocol: &str,
    seed: u64,
    options: &RunOptions<'_>,
) -> Result<RunResult, RunError> {
    let samples = options.record.is_some_and(Record::samples);
    let mut spec = scenario.build(protocol, seed)?;
    let shown = samples && spec.flows.len() <= MAX_FLOWS_BY_PORT;
    if shown || options.looks.is_some() {
        count_per_flow(&mut spec);
    }
    split_transports(&mut spec);
    if let Some(tell) = options.network {
        tell(&spec)?;
    }
    let names = LinkNames::new(scenario);
    let start = RunStart { scenario, protocol, seed, spec: &spec, names: &names };
    let mut recorder = options.record.map(|record| record.open(&start)).transpose()?;
    let bounds = Bounds::new(&spec, scenario.measure_from, scenario.until, scenario.fct);
    let simulation_options = Options {
        bytes: options.bytes,
        binary_heap: options.binary_heap,
        general: options.general,
        without_hash: options.without_hash,
        observer: recorder.as_mut().and_then(|recorder| recorder.observer()),
        threads: options.threads,
        recording: options.recording.map(|recording| recording()),
        cpu_clock: options.clocks.map(|clocks| clocks.cpu),
        wall_clock: options.clocks.filter(|_| !options.without_trial).map(|clocks| clocks.wall),
        clocks_windows: options.clocks_windows,
        ..Options::default()
    };
    let simulation = Simulation::new(&spec, seed, simulation_options);
    let mut simulation = simulation.map_err(|error| RunError::network(error, &spec))?;
    if let Some(recorder) = &mut recorder {
        recorder.begin(&simulation);
    }
    let reference = reference(&start, &bounds, options)?;
    let mut drive = Drive {
        simulation: &mut simulation,
        start: &start,
        bounds,
        options,
        recorder: recorder.as_deref_mut(),
        sample: samples.then_some(scenario.sample),
        cost: Cost::new(options.clocks),
        unfinished: Unfinished::of(&spec),
    };
    let mark = drive.run()?;
    let mut cost = drive.cost;
    cost.add_other_threads(&simulation);
    recorder.map_or(Ok(()), |recorder| recorder.finish())?;
    let (at, conservation) = (simulation.now(), simulation.conservation());
    if !conservation.holds() {
        return Err(options.unbalanced(ConservationError { at, conservation }, protocol, seed));
    }
    let mut result =
        result(&start, &simulation, &Measured::new(&start, &simulation, &bounds, &mark));
    result.wall_s = cost.wall.as_secs_f64();
    result.cpu_s = cost.cpu.as_secs_f64();
    result.reference = reference.beside(result.per_flow.iter().map(|flow| flow.fct_s));
    result.memory = MemoryEstimate::of_run(&spec, simulation.divided_for(), samples).into();
    Ok(result)
}

/// The reference, computed before the run so that waiting for it looks like waiting for the run.
fn reference(
    start: &RunStart<'_>,
    bounds: &Bounds,
    options: &RunOptions<'_>,
) -> Result<Reference, RunError> {
    if options.without_reference {
        return Ok(Reference::none("not asked for"));
    }
    let RunStart { scenario, spec, seed, .. } = *start;
    let flows = spec.flows.iter().filter(|flow| !flow.is_endless()).count();
    let until = Some(bounds.until).filter(|&until| until < Time::MAX);
    let mut look = |seen: Look| {
        if let Some(tell) = options.progress {
            let reference = Some(seen.share);
            tell(&Progress { now: Time::ZERO, until, completed: 0, flows, reference });
        }
        !options.is_cancelled()
    };
    let Bounds { from, until, clock, .. } = *bounds;
    let registry = &scenario.registry;
    let in_full = options.whole_reference;
    let wanted = Wanted { registry, spec, seed, from, until, clock, in_full };
    let mut work = || {
        let mut cost = Cost::new(options.clocks);
        let (worked, _) = cost.charge(|| fluid_reference(&wanted, &mut look));
        let with_cost = |reference| Reference { cpu_s: cost.cpu.as_secs_f64(), ..reference };
        worked.map(|reference| reference.map(with_cost))
    };
    let found = match options.known {
        Some(known) => known.or_else(&wanted, work),
        None => work(),
    };
    let found = found.map_err(|error| RunError::network(error, spec))?;
    found.ok_or(RunError::Cancelled)
}

/// The result of a simulation that has ended, but for its costs and its reference.
fn result(start: &RunStart<'_>, simulation: &Simulation, measured: &Measured<'_>) -> RunResult {
    let RunStart { scenario, protocol, seed, spec, names } = *start;
    let per_flow = measured.flows();
    RunResult {
        protocol: protocol.to_string(),
        label: scenario.label(protocol),
        seed,
        trace_hash: format!("{:016x}", simulation.trace_hash()),
        events: simulation.events(),
        packet_hops: simulation.packet_hops(),
        wall_s: 0.0,
        cpu_s: 0.0,
        parallel: Parallel::of(simulation),
        memory: RunMemory::default(),
        ended_s: clock_seconds(simulation.now()),
        flows: per_flow.len(),
        completed: per_flow.iter().filter(|flow| flow.fct_s.is_some()).count(),
        drops: drops_of(simulation),
        metrics: measured.metrics(&per_flow),
        per_flow,
        interfaces: interfaces_of(simulation, names),
        one_way: measured.one_way(),
        reference: Reference::default(),
        wire: None,
        notes: [unreached_losses(simulation, spec, names), foreign_senders(simulation)].concat(),
    }
}

/// A note for each link that carried fewer packets than the list of those that it loses.
fn unreached_losses(simulation: &Simulation, spec: &NetSpec, names: &LinkNames) -> Vec<String> {
    let links = (0u32..).map(LinkId).zip(&spec.links).zip(names.iter());
    let noted = links.filter_map(|((id, link), name)| {
        let Some(LossModel::List(numbers)) = &link.wire.loss_model else { return None };
        let carried = simulation.link(id).serialized_packets();
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

/// A note for each other stack: the flows that it sends.
fn foreign_senders(simulation: &Simulation) -> Vec<String> {
    let mut flows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for id in 0..simulation.workload().flows().len() as u32 {
        if let Some(sender) = simulation.foreign(FlowId(id), Role::Client) {
            flows.entry(&sender.stack).or_default().push((id + 1).to_string());
        }
    }
    let noted = flows.into_iter().map(|(stack, flows)| {
        let plural = if flows.len() == 1 { "" } else { "s" };
        format!("{stack} sends flow{plural} {}", flows.join(", "))
    });
    noted.collect()
}

fn drops_of(simulation: &Simulation) -> BTreeMap<&'static str, u64> {
    let counts = DropReason::ALL.iter().map(|&reason| (reason, simulation.drops().count(reason)));
    let shown = counts.filter(|&(reason, count)| count > 0 || reason == DropReason::Full);
    shown.map(|(reason, count)| (reason.name(), count)).collect()
}
