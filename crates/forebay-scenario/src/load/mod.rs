//! From the text of a scenario to the scenario: all layers in their order.

pub(crate) mod builtin;
pub(crate) mod map_file;
pub(crate) mod scenario_text;
pub(crate) mod sweep;
mod sweep_steps;
mod version;

use crate::Scenario;
use crate::format::error::{Problem, ScenarioError};
use crate::format::fault::Fault;
use crate::format::faults::{self, Faults, Unresolved};
use crate::format::fields::{Spanned, read_among, shown};
use crate::format::files::Files;
use crate::format::item::Item;
use crate::format::source::{self, Sources};
use crate::format::{item, set, units};
use crate::keys::file::{self, FctClock, File};
use crate::keys::inrpp::NAME;
use crate::keys::routes;
use crate::keys::tcp::Tcp;
use crate::model::protocols::Names;
use crate::plan::{caches, inrpp_keys, mtu_check, network, option_space, outline, queues, samples};
use crate::registry::tables::{self, ParamTables};
use crate::registry::{Registry, named};
use crate::resolve::{
    attacks, buffers, events, expect, flows, inrpp, life, protocols, schedules, tcp, tcp_of,
    topology,
};
use forebay_base::{IpVersion, Span, Time};
use forebay_net::{EventSpec, RouteRule};
use scenario_text::ScenarioText;
use std::sync::Arc;

/// What goes with the text of a scenario.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Changes, as `key=value`, in order.
    pub set: Vec<String>,
    /// The protocols to run, in place of those of the text; none: those of the text.
    pub protocols: Vec<String>,
    /// Where its CSV files and traces come from.
    pub files: Files,
    /// What its names stand for.
    pub registry: Arc<Registry>,
}

impl Scenario {
    /// The built-in scenario of that name, or the one in that file; `-`: on standard input.
    pub fn load(name_or_path: &str, options: &LoadOptions) -> Result<Scenario, ScenarioError> {
        ScenarioText::read(name_or_path)?.scenario(options)
    }

    /// The scenario of a text, which messages call `file`.
    pub fn parse(text: &str, file: &str, options: &LoadOptions) -> Result<Scenario, ScenarioError> {
        let mut sources = Sources::with(options.files.clone());
        let scenario = read(text, file, options, &mut sources);
        scenario.map_err(|faults| faults.resolve(&sources))
    }
}

/// What can be read of a file, and what is wrong with the rest.
struct Readable {
    file: File,
    tables: ParamTables,
    faults: Faults,
    lost: Unresolved,
    /// One of the faults is that there are too many hosts or flows.
    too_large: bool,
}

/// The keys of a text, with all changes. Nothing is expanded. Errors if nothing is left without
/// what is wrong.
fn read_file(
    text: &str,
    name: &str,
    options: &LoadOptions,
    sources: &mut Sources,
) -> Result<Readable, Faults> {
    let (document, faults, _) = document(text, name, options, sources)?;
    read_keys(document, faults, options)
}

/// The document of a text, with all changes and the keys that they change.
fn document(
    text: &str,
    name: &str,
    options: &LoadOptions,
    sources: &mut Sources,
) -> Result<(Item, Faults, Vec<String>), Faults> {
    let mut faults = Faults::default();
    let source = sources.add(name, text);
    let Some(mut document) = faults.keep(item::parse_document(sources, source)) else {
        return Err(faults);
    };
    let apply = |assignment: &String| {
        faults.keep(set::apply(&mut document, sources, "--set", assignment, &file::ALONE))
    };
    let changed = options.set.iter().filter_map(apply).collect();
    if let Err(fault) = version::check(&document) {
        let mut alone = Faults::default();
        alone.add(fault);
        return Err(alone);
    }
    Ok((document, faults, changed))
}

/// The keys of a document, of which some faults are known.
fn read_keys(
    mut document: Item,
    mut faults: Faults,
    options: &LoadOptions,
) -> Result<Readable, Faults> {
    let mut lost = Unresolved::default();
    let known = tables::top_keys();
    let mut too_large = false;
    // Taking out what the types of values are wrong with may show a group that is too large, and
    // that another.
    for _ in 0..MAX_CUTS {
        let mut wrong = Faults::default();
        named::check(&options.registry, &document, &mut wrong);
        let tables = tables::read(&document, &mut wrong);
        let file = wrong.keep(read_among::<File>(&document, "", &known));
        if let Some(file) = file.filter(|_| wrong.is_empty()) {
            if wrong.keep(outline::check(&file)).is_some() {
                return Ok(Readable { file, tables, faults, lost, too_large });
            }
            too_large = true;
        }
        faults::cut(&mut document, &wrong, &known, &mut lost);
        faults.extend(wrong);
    }
    Err(faults)
}

/// Most times that a document is read without what was wrong the time before.
const MAX_CUTS: usize = 10;

fn read(
    text: &str,
    name: &str,
    options: &LoadOptions,
    sources: &mut Sources,
) -> Result<Scenario, Faults> {
    resolve(read_file(text, name, options, sources)?, options, sources)
}

/// From keys to the scenario.
fn resolve(
    read: Readable,
    options: &LoadOptions,
    sources: &mut Sources,
) -> Result<Scenario, Faults> {
    let Readable { file, tables, mut faults, lost, .. } = read;
    let registry = &options.registry;
    let mut topology = topology::expand(registry, &file, sources, lost, &mut faults);
    let params = tables.get(NAME).map(|table| &table.params);
    let inrpp = inrpp::resolve(&file, params, &mut topology, &mut faults);
    let topology = topology;
    let no_keys = Tcp::default();
    let table = file.tcp.as_ref().map_or(&no_keys, |at| &at.value);
    let mut tcp = faults.or(tcp::resolve(table), forebay_transport::PRESETS[0].config);
    let names = Names::of(registry, &file);
    let mss_bytes = tcp.mss_bytes;
    let flows = flows::expand(&file, &topology, &names, mss_bytes, sources, &mut faults);
    let events = all_events(&file, &topology, sources, &mut faults);
    let guarded = inrpp.key.is_some() || topology.links.iter().any(|link| link.inrpp_key.is_some());
    let attacks = attacks::expand(&file, &topology, &flows, guarded, &mut faults);
    let routes = faults.or(routes::resolve(file.routes.as_ref()), RouteRule::default());
    let mut needed = buffers::Needed::new(&topology, routes, &flows, &events);
    buffers::follow(&mut needed, table, &mut tcp);
    let specs = protocols::specs(registry, &file, &mut faults);
    let protocols = protocols::compared(file.protocols.as_ref(), &names, &mut faults);
    let (until, measure_from, sample) = times(&file, &topology.lost, &mut faults);
    if !faults.touch("sample_s") {
        faults.keep(samples::check(&file, sample, until, &flows, &topology.links));
    }
    let mut scenario = Scenario {
        registry: Arc::clone(registry),
        description: faults.or(description(&file), String::new()),
        protocols,
        until,
        measure_from,
        sample,
        fct: file.fct.as_ref().map_or(FctClock::Syn, |at| at.value),
        start_jitter: life::start_jitter(&file),
        ip_version: file.ip_version.as_ref().map_or(IpVersion::V4, |at| at.value),
        tcp,
        tcp_of: Vec::new(),
        router: file.router.as_ref().and_then(|at| faults.keep(at.value.resolve(registry))),
        inrpp,
        ports: tables::ports(&tables),
        reassembly: topology.reassembly,
        routes,
        specs,
        nodes: topology.nodes.clone(),
        links: topology.links.clone(),
        flows,
        events,
        attacks,
        expect: Vec::new(),
        unused: sources.take_notes(),
    };
    // The flows say how large the buffers of some protocols are.
    let of = file.tcp_of.as_ref();
    scenario.tcp_of = tcp_of::resolve(&scenario, &topology, &names, of, &mut faults);
    scenario.expect = expect::resolve(&file, &scenario, &names, &topology.lost, &mut faults);
    if !options.protocols.is_empty() {
        let asked = protocols::asked(&options.protocols, sources);
        scenario.protocols = protocols::compared(Some(&asked), &names, &mut faults);
    }
    buffers::follow_paths(&mut scenario, table, of.map_or(&[], |at| &at.value.0));
    check_sizes(&scenario, &file, &tables, &topology, &mut faults);
    if faults.is_empty() { Ok(scenario) } else { Err(faults) }
}

/// Packets and caches have a size where all that they are made of is right.
fn check_sizes(
    scenario: &Scenario,
    file: &File,
    tables: &ParamTables,
    topology: &topology::Topology,
    faults: &mut Faults,
) {
    let made_of = ["tcp", "tcp_of", "ip_version", "protocols", "link_defaults", "inrpp"];
    if made_of.iter().any(|key| faults.about(key) || topology.lost.has_key(key)) {
        return;
    }
    option_space::check(scenario, file, faults);
    mtu_check::check(scenario, file, topology, faults);
    queues::check(scenario, topology, faults);
    if faults.is_empty() {
        let given = file.inrpp.as_ref().map(|at| &at.value.table);
        faults.keep(caches::check(scenario, given));
    }
    inrpp_keys::check(scenario, file, topology, faults);
    if faults.is_empty() {
        let places = network::Places { file, topology, tables };
        faults.keep(network::check(scenario, &places));
    }
}

/// Events and schedules, in order of time.
fn all_events(
    file: &File,
    topology: &topology::Topology,
    sources: &mut Sources,
    faults: &mut Faults,
) -> Vec<EventSpec> {
    let mut events = events::expand(file, topology, faults);
    events.extend(schedules::expand(topology, sources, faults));
    events.sort_by_key(|event| event.at);
    events
}

/// The description, which is printed as it stands: lines and tabs, but nothing that a terminal
/// obeys.
fn description(file: &File) -> Result<String, Fault> {
    let Some(at) = &file.description else { return Ok(String::new()) };
    let plain = |c: char| matches!(c, '\n' | '\r' | '\t') || !source::is_unseen(c);
    if at.value.chars().all(plain) {
        Ok(at.value.clone())
    } else {
        let expected = "text without control characters and marks of direction".to_string();
        Err(at.fault(Problem::OutOfRange { found: at.value.clone(), expected }))
    }
}

/// Distance of samples in series.
const DEFAULT_SAMPLE: Span = Span::from_millis(10);

/// When the run ends, from when it is measured, and how often it is sampled.
fn times(file: &File, lost: &Unresolved, faults: &mut Faults) -> (Option<Time>, Time, Span) {
    let mut positive = |at: &Spanned<units::Seconds>| {
        if at.value.0.is_zero() {
            let (found, expected) = ("0".to_string(), "more than 0 seconds".to_string());
            faults.add(at.fault(Problem::OutOfRange { found, expected }));
            None
        } else {
            Some(at.value.0)
        }
    };
    let until = file.until_s.as_ref().and_then(&mut positive).map(|span| Time::ZERO + span);
    let sample = file.sample_s.as_ref().and_then(&mut positive);
    let from = file.measure_from_s.as_ref().map_or(Span::ZERO, |at| at.value.0);
    let from = Time::ZERO + from;
    if let (Some(at), Some(until)) = (&file.measure_from_s, until)
        && from >= until
    {
        let end = shown(&units::Seconds(until.since(Time::ZERO)));
        let expected = format!("less than until_s ({end})");
        let found = shown(&at.value);
        faults.add(at.fault(Problem::OutOfRange { found, expected }));
    }
    let groups = file.flows.iter().flat_map(|at| &at.value);
    let endless = groups.filter(|group| group.value.stop.is_none());
    let mut endless =
        endless.filter_map(|group| group.value.endless.as_ref().filter(|at| at.value));
    if let (None, None, Some(at)) = (&file.until_s, until, endless.next())
        && !lost.has_key("until_s")
    {
        let meaning = "a scenario with endless flows needs an end".to_string();
        faults.add(at.fault(Problem::MissingKey { key: "until_s".into(), meaning }));
    }
    (until, from, sample.unwrap_or(DEFAULT_SAMPLE))
}
