//! `[inrpp]`: which routers run INRPP, and what they are configured with.

mod caches;

use crate::Scenario;
use crate::format::error::Problem;
use crate::format::fault::Fault;
use crate::format::faults::Faults;
use crate::format::fields::shown;
use crate::format::fields::{
    At, Field, Fields, Section, property, read_section, section_schema, sections, value_or,
};
use crate::format::item::Item;
use crate::format::units::{Number, Room};
use crate::keys::file::File;
use crate::keys::port_tables::{self, Replaces};
use crate::registry::protocol::{Bundle, ReferenceMode};
use crate::registry::{Chosen, Line, Made, Params, RouterTraits, Routers};
use crate::resolve::topology::Topology;
pub(crate) use caches::check;
use caches::{CacheRule, GivenCache, cache, check_routers, fit, sizes};
use forebay_base::{NodeId, Span};
use forebay_net::ForwardingSpec;
use forebay_router::inrpp::Settings;
use forebay_signal::inrpp::DETOUR_TAG_BYTES;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::{PI, SQRT_2};
use std::sync::Arc;

sections! {
    /// Which routers run INRPP, and their parameters.
    pub struct InrppTable {
        required {}
        optional {
            /// Names of the routers that run INRPP, whatever protocol is compared. Default: all if
            /// the protocol of the run, or of a flow, is inrpp; otherwise none. Example: ["r0",
            /// "r1"].
            routers: Vec<At<String>>,
            /// Cache of each interface: "margin", sized by what may arrive until a request to slow
            /// down takes effect; "paper", 10 s at the rate of the interface; a size ("10MB") or a
            /// time ("8s"), which sets `total`; or a table of sizes. An interface that no INRPP
            /// flow uses at the start then has the paper's. Default: "margin".
            cache: GivenCache,
            /// If true, excess data may leave on detours of one hop. Default: true.
            detours: bool,
            /// Time between two probes of a detour, T_p. Range: 100us to 10s. Default: "10ms".
            probe_interval: Span,
            /// Time between two decisions to open or close a detour, T_d. Below 5 probe_interval
            /// loads have not settled since the last decision, and a note reports it. Range:
            /// probe_interval or more. Default: 5 probe_interval. Example: "50ms".
            decision_interval: Span,
            /// Gain of the rate of detours. Range: more than 0, less than 0.555 (pi / (4 sqrt 2)).
            /// Default: 0.4.
            alpha: Number,
            /// Weight of the last probe interval in the load that sets the rate of detours: 1 is no
            /// filter, 1/3 is the paper's. Range: more than 0, at most 1. Default: 1.
            load_weight: Number,
            /// Bytes that a flow may send from a cache per round of deficit round robin. Below the
            /// MTU, the first packet of a new flow does not overtake those of other flows. Range:
            /// 64 to 1048576, or 0: the MTU of the link. Default: 0. Example: 1500.
            quantum_bytes: u32,
            /// Shortest time for which an interface signals that its congestion is over. Range: 1ms
            /// to 100s. Default: "200ms".
            cancel_for: Span,
            /// Shortest time after which a router forgets a congested downstream interface that
            /// sends it no signals. Range: 1ms to 100s. Default: "1s".
            forget_after: Span,
            /// Shortest time without an ACK after which one packet of a held flow is released.
            /// Range: 1ms to 100s. Default: "200ms".
            watchdog: Span,
        }
    }
    /// Cache of an interface: three sizes ("10MB"), or three times at the rate of the interface
    /// ("8s"). With `total` alone, `high` is four fifths of it, and `low` half of `high`, as in the
    /// paper.
    pub struct CacheTable {
        required {}
        optional {
            /// Below this level back-pressure ends. Default: high / 2. Example: "2MB".
            low: Room,
            /// Above this level back-pressure begins. Default: 4/5 total ("8s"). Example: "4MB".
            high: Room,
            /// Capacity of the cache. Default: 5/4 high ("10s"). Example: "5MB".
            total: Room,
        }
    }
}

/// INRPP in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct InrppNetwork {
    /// What its routers are configured with.
    pub settings: Settings,
    /// True if each cache has the size that the margin rule gives it; that of `settings` is for
    /// interfaces that no flow of INRPP takes at the start.
    pub margin_rule: bool,
}

impl Default for InrppNetwork {
    fn default() -> InrppNetwork {
        InrppNetwork { settings: Settings::default(), margin_rule: true }
    }
}

const NAME: &str = "inrpp";

/// What flows of INRPP need.
pub(crate) const BUNDLE: (&str, Bundle) = (
    NAME,
    Bundle {
        router: Some(NAME),
        reference: ReferenceMode::Pooled,
        buffers_hold_a_flow: true,
        ..Bundle::NONE
    },
);

/// The kind of router in scenarios.
pub(crate) const PARAMS: Params<Routers> = Params {
    name: NAME,
    schema,
    make,
    over: Some(over),
    traits: RouterTraits {
        mtu_room_bytes: DETOUR_TAG_BYTES,
        fit: Some(fit),
        check: Some(check_routers),
    },
};

/// The key of `[inrpp]` that is no parameter of a router.
const LIST: &str = "routers";

fn schema() -> Json {
    let mut schema = section_schema::<InrppTable>();
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove(LIST);
    }
    schema
}

/// A router with these parameters.
fn make(given: &toml::Table) -> Result<Made<Routers>, String> {
    let item = Item::of(&toml::Value::Table(given.clone()));
    let table = InrppTable::read(&item, "").map_err(|fault| fault.problem.to_string())?;
    let mut faults = Faults::default();
    let settings = settings(&table, &mut faults);
    if let Some(problem) = faults.first_problem() {
        return Err(problem.to_string());
    }
    let machine = ForwardingSpec::Inrpp(Arc::new(settings));
    Ok(Made { machine, params: given.clone(), range: Ok(()) })
}

/// The parameters of `[inrpp]`, and over them those given.
fn over(scenario: &Scenario, given: &toml::Table) -> toml::Table {
    // The default of the second follows from the first.
    let replaces: Replaces = ("probe_interval", |key| key == "decision_interval");
    port_tables::over(&all_keys(&scenario.inrpp), given, &[replaces])
}

/// Probes per decision below which loads have not settled (paper, section II-B).
const MIN_PROBES_PER_DECISION: u64 = 5;
/// Above it the rate of detours is not stable, by TeXCP's analysis.
const ALPHA_BOUND: f64 = PI / (4.0 * SQRT_2);

/// What `[inrpp]` stands for. Its list of routers says of all routers that say nothing themselves
/// what they are: INRPP if they are on it, else as `router` at the top says, or plain.
pub(crate) fn resolve(file: &File, topology: &mut Topology, faults: &mut Faults) -> InrppNetwork {
    let Some(At { value: table, .. }) = &file.inrpp else { return InrppNetwork::default() };
    if let Some(names) = &table.routers {
        let registry = Arc::clone(&topology.registry);
        let named = named(&names.value, topology, faults);
        let of = |line| Arc::new(chosen(line));
        let inrpp = registry.line::<Routers>(NAME).map(of).expect("it is in the table");
        let plain = file.router.is_none().then(|| of(&registry.lines::<Routers>()[0]));
        for (id, node) in (0..).map(NodeId).zip(&mut topology.nodes) {
            if !node.is_host && node.router.is_none() {
                let listed = named.contains(&id);
                node.router = if listed { Some(Arc::clone(&inrpp)) } else { plain.clone() };
            }
        }
    }
    let given = table.cache.as_ref().map(|at| &at.value);
    let margin_rule = given.is_none_or(|cache| cache.is_margin());
    InrppNetwork { settings: settings(table, faults), margin_rule }
}

fn chosen(line: &Arc<Line<Routers>>) -> Chosen<Routers> {
    Chosen::of(line.clone(), line.defaults(), toml::Table::new())
}

fn settings(table: &InrppTable, faults: &mut Faults) -> Settings {
    let default = Settings::default();
    let patience = (Span::from_millis(1), Span::from_secs(100));
    let probes = (Span::from_micros(100), Span::from_secs(10));
    let probe = time(&table.probe_interval, default.probe_interval, probes);
    let probe_interval = faults.or(probe, default.probe_interval);
    let decisions = (probe_interval, Span::from_secs(1_000));
    let settled = probe_interval * MIN_PROBES_PER_DECISION;
    let mut span = |at: &Option<At<Span>>, default: Span, range: (Span, Span)| {
        faults.or(time(at, default, range), default)
    };
    let decision_interval = span(&table.decision_interval, settled, decisions);
    let cancel_for = span(&table.cancel_for, default.cancel_for, patience);
    let forget_after = span(&table.forget_after, default.forget_after, patience);
    let watchdog = span(&table.watchdog, default.watchdog, patience);
    let sizes = table.cache.as_ref().map_or_else(|| Ok(default.cache.clone()), cache);
    let gain = number(&table.alpha, default.alpha, "more than 0 and less than 0.555", |a| {
        a > 0.0 && a < ALPHA_BOUND
    });
    let weight = number(&table.load_weight, default.load_weight, "more than 0, at most 1", |w| {
        w > 0.0 && w <= 1.0
    });
    let quantum_bytes = quantum(&table.quantum_bytes, default.quantum_bytes);
    Settings {
        cache: faults.or(sizes, default.cache),
        detours: value_or(&table.detours, default.detours),
        probe_interval,
        decision_interval,
        alpha: faults.or(gain, default.alpha),
        load_weight: faults.or(weight, default.load_weight),
        quantum_bytes: faults.or(quantum_bytes, default.quantum_bytes),
        cancel_for,
        forget_after,
        watchdog,
        flow_totals: default.flow_totals,
    }
}

fn time(at: &Option<At<Span>>, default: Span, (low, high): (Span, Span)) -> Result<Span, Fault> {
    let Some(at) = at else { return Ok(default) };
    match (low..=high).contains(&at.value) {
        true => Ok(at.value),
        false => Err(at.out_of_range(format!("{} to {}", shown(&low), shown(&high)))),
    }
}

fn number(
    at: &Option<At<Number>>,
    default: f64,
    expected: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<f64, Fault> {
    match at {
        None => Ok(default),
        Some(at) if fits(at.value.0) => Ok(at.value.0),
        Some(at) => Err(at.out_of_range(expected)),
    }
}

fn quantum(at: &Option<At<u32>>, default: Option<u32>) -> Result<Option<u32>, Fault> {
    match at {
        None => Ok(default),
        Some(at) if at.value == 0 => Ok(None),
        Some(at) if (64..=1 << 20).contains(&at.value) => Ok(Some(at.value)),
        Some(at) => Err(at.out_of_range("64 to 1048576 bytes, or 0: the MTU of the link")),
    }
}

/// The routers of a list, each once, in order of id.
fn named(names: &[At<String>], topology: &Topology, faults: &mut Faults) -> BTreeSet<NodeId> {
    let mut routers = BTreeSet::new();
    for name in names {
        let node = topology.router(&name.value, |problem| name.fault(problem));
        let Some(node) = faults.keep(node) else { continue };
        if topology.is_host(node) {
            let text = format!("`{}` is a host, not a router", name.value);
            faults.add(name.fault(Problem::Conflict(text)));
        } else if topology.nodes[node.index()].router.as_ref().is_some_and(|r| r.name() != NAME) {
            let text = format!("`{}` is declared as another kind of router", name.value);
            faults.add(name.fault(Problem::Conflict(text)));
        } else if !routers.insert(node) {
            let name_again = name.value.clone();
            faults.add(name.fault(Problem::Duplicate { kind: "router", name: name_again }));
        }
    }
    routers
}

/// The table that stands for INRPP in a scenario, every key given; None where nobody runs it and
/// nothing was said of it.
pub(crate) fn describe(scenario: &Scenario) -> Option<InrppTable> {
    if scenario.inrpp == InrppNetwork::default() && scenario.ever_inrpp().is_empty() {
        return None;
    }
    Some(all_keys(&scenario.inrpp))
}

/// The table that says every setting.
fn all_keys(network: &InrppNetwork) -> InrppTable {
    // Without `..`: a new setting must get a key here, or a reason. Totals per flow are kept where
    // series are.
    let Settings {
        cache,
        detours,
        probe_interval,
        decision_interval,
        alpha,
        load_weight,
        quantum_bytes,
        cancel_for,
        forget_after,
        watchdog,
        flow_totals: _,
    } = network.settings.clone();
    let cache = match network.margin_rule {
        true => GivenCache::Rule(CacheRule::Margin),
        false => GivenCache::Sizes(sizes(&cache)),
    };
    InrppTable {
        routers: None,
        cache: At::some(cache),
        detours: At::some(detours),
        probe_interval: At::some(probe_interval),
        decision_interval: At::some(decision_interval),
        alpha: At::some(Number(alpha)),
        load_weight: At::some(Number(load_weight)),
        quantum_bytes: At::some(quantum_bytes.unwrap_or(0)),
        cancel_for: At::some(cancel_for),
        forget_after: At::some(forget_after),
        watchdog: At::some(watchdog),
    }
}

impl Scenario {
    /// Routers that run INRPP in a run under `protocol`.
    pub fn inrpp_routers(&self, protocol: &str) -> BTreeSet<NodeId> {
        self.routers_of(NAME, protocol).into_iter().collect()
    }

    fn all_routers(&self) -> BTreeSet<NodeId> {
        let nodes = (0..).map(NodeId).zip(&self.nodes);
        nodes.filter(|(_, node)| !node.is_host).map(|(id, _)| id).collect()
    }

    /// Routers that run INRPP under any of the protocols compared.
    fn ever_inrpp(&self) -> BTreeSet<NodeId> {
        self.protocols.iter().flat_map(|protocol| self.inrpp_routers(protocol)).collect()
    }

    /// What a reader of results should know of INRPP in this scenario.
    pub(crate) fn inrpp_notes(&self) -> Vec<String> {
        let routers = self.ever_inrpp();
        let settings = &self.inrpp.settings;
        let mut notes = self.cache_notes();
        if routers.is_empty() || !settings.detours {
            return notes;
        }
        let (probe, decision) = (settings.probe_interval, settings.decision_interval);
        if decision < probe * MIN_PROBES_PER_DECISION {
            notes.push(format!(
                "inrpp: decision_interval ({}) is less than 5 probe_interval (5 x {}): detours are \
                 opened and closed by loads that have not settled since the last decision",
                shown(&decision),
                shown(&probe)
            ));
        }
        if !self.has_detour(&routers) {
            notes.push(
                "inrpp: no link between two INRPP routers has a detour of one hop: excess data is \
                 cached, never sent round"
                    .to_string(),
            );
        }
        notes
    }

    /// True if two neighbours among `routers` have a third one as neighbour of both.
    fn has_detour(&self, routers: &BTreeSet<NodeId>) -> bool {
        let mut neighbours: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
        let between = self.links.iter().map(|link| (link.a, link.b));
        let between: Vec<(NodeId, NodeId)> =
            between.filter(|(a, b)| routers.contains(a) && routers.contains(b)).collect();
        for &(a, b) in &between {
            neighbours.entry(a).or_default().insert(b);
            neighbours.entry(b).or_default().insert(a);
        }
        between.iter().any(|(a, b)| !neighbours[a].is_disjoint(&neighbours[b]))
    }
}
