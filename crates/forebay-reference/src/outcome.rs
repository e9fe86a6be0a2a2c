//! The reference of a run, in the terms of its results.

use super::packet_cost::PacketCost;
use super::routes::{Setting, clock_seconds, seconds};
use super::sharing::{Horizon, Look, Served};
use super::{Mode, NoReference, mode_of};
use forebay_base::{FlowId, Time};
use forebay_net::{FlowSpec, NetSpec, Network, SpecError};
use forebay_scenario::statistics::{jain, mean};
use forebay_scenario::{FctClock, Registry};
use serde::Serialize;
use std::cell::RefCell;

/// What a fluid model with max-min fair sharing would have done with the same flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reference {
    /// Mean flow completion time of the flows that complete, in seconds.
    pub afct_s: Option<f64>,
    /// "exact" (up to rounding), "approx" or "none".
    pub kind: &'static str,
    /// Why there is none, or why it is not exact; empty otherwise.
    pub why: &'static str,
    /// "single-path" or "pooled" (over detours, or over several paths); "mixed" if flows of both
    /// kinds are in the run, each compared with its own.
    pub mode: &'static str,
    /// Mean completion time of the run by that of the reference, both over the flows that complete
    /// in both.
    pub afct_ratio: Option<f64>,
    /// Flows that complete before the end of the run is due.
    pub completed: usize,
    /// Jain's index over the goodputs of the flows, in the window of the run's metric of that name.
    pub jain_goodput: Option<f64>,
    /// Bytes served in the window, as bits per second.
    pub goodput_bps: Option<f64>,
    /// CPU time that it took when it was worked out, in seconds. Runs with the same flows share one
    /// reference.
    pub cpu_s: f64,
    /// Completion time of each flow, in seconds; None if it does not complete.
    pub per_flow_fct_s: Vec<Option<f64>>,
}

impl Reference {
    /// No reference, for this reason.
    pub fn none(why: &'static str) -> Reference {
        Reference { kind: "none", why, ..Reference::default() }
    }

    /// Its numbers that are compared with those of runs, by name.
    pub fn numbers(&self) -> [(&'static str, Option<f64>); 4] {
        [
            ("afct_s", self.afct_s),
            ("afct_ratio", self.afct_ratio),
            ("jain_goodput", self.jain_goodput),
            ("goodput_bps", self.goodput_bps),
        ]
    }

    /// With the ratio for the flows of a run, given the completion time of each in seconds.
    pub fn beside(mut self, fct_s: impl Iterator<Item = Option<f64>>) -> Reference {
        let both = fct_s.zip(&self.per_flow_fct_s);
        let pairs: Vec<(f64, f64)> =
            both.filter_map(|(ours, reference)| Some((ours?, (*reference)?))).collect();
        let (ours, reference) =
            pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        self.afct_ratio = (reference > 0.0).then(|| ours / reference);
        self
    }
}

/// Inputs of the reference of a run.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The run.
    pub spec: &'a NetSpec,
    /// What the names of its algorithms stand for.
    pub registry: &'a Registry,
    /// Its seed.
    pub seed: u64,
    /// From when goodput counts.
    pub from: Time,
    /// When the run ends at the latest; [`Time::MAX`]: when all flows have.
    pub until: Time,
    /// When the clock of a completion time starts.
    pub clock: FctClock,
    /// However much work it is. If false, there is none where it would take long beside the run:
    /// see [`fluid_reference`].
    pub in_full: bool,
}

/// Why there is none of many flows.
const TOO_MUCH_WORK: &str = "too many flows; --reference has it all the same";
/// Steps that every reference may take: see [`Look::work`]. About 0.4 s.
const FREE_STEPS: u64 = 40_000_000;
/// Payload of a usual packet.
const PACKET_BYTES: f64 = 1448.0;
/// Steps that it may take for each packet on each link of its route, if that is more: about a tenth
/// of what the run takes.
const STEPS_PER_PACKET: u64 = 1;

/// Work the reference out. `look` receives how far it is, and says whether to go on; None if it did
/// not want to. Unless it is wanted in full, it is given up once it has taken about a tenth of the
/// work of the run and 0.4 s. Steps are counted, not time: every machine gives up the same.
pub fn fluid_reference(
    wanted: &Wanted<'_>,
    look: &mut dyn FnMut(Look) -> bool,
) -> Result<Option<Reference>, SpecError> {
    let spec = wanted.spec;
    let network = Network::build(spec, wanted.seed, false)?;
    let modes: Vec<Mode> =
        spec.transports.iter().map(|t| mode_of(wanted.registry, &t.algorithm)).collect();
    let costs = spec.transports.iter().map(|t| PacketCost::of(t, spec.version)).collect();
    let setting = match Setting::new(spec, &network, &modes, costs) {
        Ok(setting) => setting,
        Err(NoReference(why)) => return Ok(Some(Reference::none(why))),
    };
    let until_s =
        if wanted.until == Time::MAX { f64::INFINITY } else { clock_seconds(wanted.until) };
    let horizon = Horizon { from_s: clock_seconds(wanted.from), until_s };
    let starts = Starts::new(spec);
    let followers = |flow: u32, at_s: f64| starts.after(&network, &setting, flow, at_s);
    let most = if wanted.in_full { u64::MAX } else { steps_beside(&setting) };
    let mut exceeded = false;
    let mut within = |seen: Look| {
        exceeded = seen.work > most;
        !exceeded && look(seen)
    };
    let Some(served) = setting.fluid.serve_after(horizon, &mut within, &followers) else {
        return Ok(exceeded.then(|| Reference::none(TOO_MUCH_WORK)));
    };
    let starts_s = starts.at_s.into_inner();
    let mut reference = measure(wanted, &setting, &starts_s, &served, horizon);
    reference.mode = mode_name(spec, &modes);
    (reference.kind, reference.why) = match setting.approximate {
        _ if !served.exact => ("approx", "the solver failed at times: some rates are too low"),
        "" if served.met => ("approx", "ACKs limit flows over several paths as data does"),
        "" if served.crowded => ("approx", "ACKs take more of a link than the data of others"),
        "" => ("exact", ""),
        why => ("approx", why),
    };
    Ok(Some(reference))
}

/// Steps that the reference may take beside a run of these flows.
fn steps_beside(setting: &Setting) -> u64 {
    let packets = setting.fluid.flows.iter().map(|flow| {
        let links = setting.fluid.routes[flow.route as usize].len() as f64;
        flow.bytes.map_or(0.0, |bytes| bytes / PACKET_BYTES * links)
    });
    FREE_STEPS.max(packets.sum::<f64>() as u64 * STEPS_PER_PACKET)
}

/// The later of both; not a number if the first is none.
fn starting(clock_s: f64, from_s: f64) -> f64 {
    if clock_s < from_s { from_s } else { clock_s }
}

fn mode_name(spec: &NetSpec, modes: &[Mode]) -> &'static str {
    let mut used = spec
        .flows
        .iter()
        .map(|flow| if flow.paths.len() > 1 { Mode::Pooled } else { modes[flow.transport] });
    let first = used.next().unwrap_or(Mode::SinglePath);
    if used.all(|mode| mode == first) { first.name() } else { "mixed" }
}

/// When each flow starts, in seconds; not a number where that is not known.
struct Starts<'a> {
    spec: &'a NetSpec,
    at_s: RefCell<Vec<f64>>,
}

impl Starts<'_> {
    fn new(spec: &NetSpec) -> Starts<'_> {
        let known = |flow: &FlowSpec| flow.known_start().map_or(f64::NAN, clock_seconds);
        Starts { spec, at_s: RefCell::new(spec.flows.iter().map(known).collect()) }
    }
    /// The flows that come because `flow` has been served at `at_s`, and when they may send.
    fn after(&self, network: &Network, setting: &Setting, flow: u32, at_s: f64) -> Vec<(u32, f64)> {
        let (workload, flows) = (&network.workload, &self.spec.flows);
        if workload.followers(FlowId(flow)).is_empty() {
            return Vec::new();
        }
        let closed_s = setting.closed_s(flow as usize, &flows[flow as usize], at_s);
        let (mut ended, mut come) = (vec![FlowId(flow)], Vec::new());
        while let Some(flow) = ended.pop() {
            for &next in workload.followers(flow) {
                let spec = &flows[next.index()];
                let start_s = closed_s + seconds(workload.think(next));
                if spec.stop().is_some_and(|stop| clock_seconds(stop) <= start_s) {
                    ended.push(next); // it does not start
                    continue;
                }
                self.at_s.borrow_mut()[next.index()] = start_s;
                let handshake_s = setting.handshake_of_s(next.index(), spec, start_s);
                come.push((next.0, start_s + handshake_s));
            }
        }
        come
    }
}

fn measure(
    wanted: &Wanted<'_>,
    setting: &Setting,
    starts_s: &[f64],
    served: &Served,
    horizon: Horizon,
) -> Reference {
    let flows = &wanted.spec.flows;
    let arrived_s = |i: usize| {
        let done_s = served.done_s[i]?;
        let arrived_s = done_s + setting.last_byte_s(i, &flows[i], done_s);
        (arrived_s <= horizon.until_s).then_some(arrived_s)
    };
    let arrived_s: Vec<Option<f64>> = (0..flows.len()).map(arrived_s).collect();
    let last_s = arrived_s.iter().flatten().fold(served.end_s, |a, &b| a.max(b));
    let end_s = if horizon.until_s.is_finite() { horizon.until_s } else { last_s };
    let clock_s = |i: usize| match wanted.clock {
        FctClock::Syn => starts_s[i],
        FctClock::Established => starts_s[i] + setting.handshake_of_s(i, &flows[i], starts_s[i]),
    };
    let bytes = |i: usize| (served.bytes[i] - served.before[i]) * setting.density(&flows[i]);
    let goodput = |i: usize| {
        // Not a number, and false, of a flow that has not started.
        let over_s = arrived_s[i].unwrap_or(end_s) - starting(clock_s(i), horizon.from_s);
        (over_s > 0.0).then(|| bytes(i) * 8.0 / over_s)
    };
    let goodputs: Vec<f64> = (0..flows.len()).filter_map(goodput).collect();
    let total_bytes: f64 = (0..flows.len()).map(bytes).sum();
    let window_s = end_s - horizon.from_s;
    let fct_s = |i: usize| Some(arrived_s[i]? - clock_s(i));
    let per_flow_fct_s: Vec<Option<f64>> = (0..flows.len()).map(fct_s).collect();
    let fcts: Vec<f64> = per_flow_fct_s.iter().copied().flatten().collect();
    Reference {
        afct_s: mean(&fcts),
        completed: fcts.len(),
        jain_goodput: jain(&goodputs),
        goodput_bps: (window_s > 0.0).then(|| total_bytes * 8.0 / window_s),
        per_flow_fct_s,
        ..Reference::default()
    }
}
