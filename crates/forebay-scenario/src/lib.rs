//! Scenario files: a network, its flows, its events, and the protocols to compare on it.
//!
//! Text becomes a [`Scenario`] in one go, or an error that names file, line and key; a [`Scenario`]
//! has nothing left to check.
//!
//! With them come what their names stand for: [`Algorithm`] (the table of `forebay-cc`, and those
//! that a program registers), [`Bundle`] (what a protocol needs in the network), [`LinkNames`], and
//! how much memory a run will take ([`memory_estimate`]). The way through the folder: `source`
//! (texts), `item` (values with places), `set` (changes from the command line), `file` (typed
//! keys), `faults` (all mistakes at once), then `topology`, `flows`, `events`, `tcp`, `buffers`,
//! `tcp_of`, `inrpp`, `rcp`, `expect` (names resolved, groups expanded), at last `build` (what a
//! driver runs).

#![forbid(unsafe_code)]

mod algorithms;
mod attacks;
mod buffers;
mod build;
mod builtin;
mod channels;
mod csv;
mod error;
mod events;
mod expect;
mod expectation;
mod faults;
mod fields;
mod file;
mod flows;
pub mod input;
mod inrpp;
mod item;
mod keys;
mod kickass;
mod labels;
mod life;
mod link_names;
mod losses;
mod margin;
pub mod memory_estimate;
mod middleboxes;
mod mtu_check;
mod named;
mod names;
mod network;
mod outline;
mod pace;
mod param_types;
mod port_tables;
mod protocol;
mod protocols;
mod queues;
mod rcp;
mod reassembly;
pub mod registry;
mod routes;
mod samples;
mod scenario_text;
mod schedules;
mod schema;
mod set;
mod sizes;
mod source;
mod tcp;
mod tcp_of;
mod text;
mod topology;
pub mod trace_statistics;
pub mod traces;
mod traps;
mod units;

#[cfg(test)]
mod tests;

pub use algorithms::{Algorithm, AlgorithmSpec, RegisteredSpec};
pub use attacks::Attack;
pub use build::count_per_flow;
pub use builtin::{BUILTINS, Builtin};
pub use channels::{Channel, GeneratedTrace, Offset, TraceFile};
pub use csv::{CSV_COLUMNS, CsvColumn};
pub use error::{Mistake, Place, Problem, ScenarioError};
pub use expectation::{Bound, Expectation, Over};
pub use file::FctClock;
pub use forebay_metrics::statistics;
pub use forebay_net::{
    After, Fragments, Knowledge, Law, Life, LossModel, MiddleboxSpec, StripOptions, Writing,
};
pub use inrpp::InrppNetwork;
pub use keys::{ANY_NAME, Key, KeyPlace, KeyTable, Keys, keys};
pub use link_names::LinkNames;
pub use protocol::{Bundle, ReferenceMode};
pub use protocols::ProtocolSpec;
pub use registry::{NoParams, RegisterError, Registration};
pub use scenario_text::ScenarioText;
pub use schema::schema;
pub use sizes::{SizeClasses, SizeForm, SizeLaw};

use error::Fault;
use faults::{Faults, Lost};
use fields::{At, Field, Section};
use file::File;
use forebay_base::{IpVersion, NodeId, Rate, Span, Time};
use forebay_net::{EventSpec, NetEvent, ReassemblyLimits};
use forebay_queue::{KickAssPortParams, Limit, RcpPortParams};
use forebay_transport::TcpConfig;
use kickass::KickAssTable;
use port_tables::PortTable;
use rcp::RcpTable;
use registry::{Chosen, Disciplines, Routers, Schemes};
use source::Sources;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario with every choice made.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it shows, for people; may be empty.
    pub description: String,
    /// Protocols to compare: algorithms and variants; at least one, each once.
    pub protocols: Vec<&'static str>,
    /// When a run ends; None: when all flows end.
    pub until: Option<Time>,
    /// From when metrics count.
    pub measure_from: Time,
    /// Distance of samples in series.
    pub sample: Span,
    /// When the clock of a flow completion time starts.
    pub fct: FctClock,
    /// Each flow starts later by a time drawn uniformly from 0 to this.
    pub start_jitter: Span,
    /// IP version of the address plan.
    pub ip_version: IpVersion,
    /// Configuration of connections; that of a protocol is [`Scenario::tcp_for`].
    pub tcp: TcpConfig,
    /// Protocols with a configuration of their own.
    pub tcp_of: Vec<(&'static str, TcpConfig)>,
    /// What kind of routers they are that say nothing of it; None: what the protocols of a run
    /// need.
    pub router: Option<Arc<Chosen<Routers>>>,
    /// Routers of INRPP.
    pub inrpp: InrppNetwork,
    /// Ports of routers under RCP.
    pub rcp: RcpPortParams,
    /// Ports of routers under Kick-Ass.
    pub kickass: KickAssPortParams,
    /// How hosts put pieces of datagrams together again.
    pub reassembly: ReassemblyLimits,
    /// Protocols whose parameters the scenario gives, variants among them; the others have their
    /// defaults.
    pub specs: Vec<ProtocolSpec>,
    /// Nodes; [`NodeId`] is the index.
    pub nodes: Vec<Node>,
    /// Links; link k has the directed links 2k (from a to b) and 2k + 1.
    pub links: Vec<Link>,
    /// Flows; the flow's id is the index.
    pub flows: Vec<Flow>,
    /// What happens to the network, in order of time.
    pub events: Vec<EventSpec>,
    /// Packets that somebody forges.
    pub attacks: Vec<Attack>,
    /// What is expected of its results.
    pub expect: Vec<Expectation>,
    /// What its CSV files hold that is not used, as sentences.
    pub unused: Vec<String>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name, unique.
    pub name: String,
    /// A host has sockets and does not forward; a router forwards and has none.
    pub is_host: bool,
    /// What kind of router it is; None: that of the scenario, or what the protocols of a run need.
    pub router: Option<Arc<Chosen<Routers>>>,
    /// How a host puts pieces of datagrams together again; None: as the scenario says.
    pub reassembly: Option<ReassemblyLimits>,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name, unique.
    pub name: String,
    /// One end.
    pub a: NodeId,
    /// The other.
    pub b: NodeId,
    /// From a to b.
    pub forward: LinkDirection,
    /// From b to a.
    pub reverse: LinkDirection,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkDirection {
    /// Rate; where it follows a trace, the mean.
    pub rate: Rate,
    /// How it transmits.
    pub channel: Channel,
    /// Propagation delay.
    pub delay: Span,
    /// Extra delay of each packet, uniform from 0 to this.
    pub jitter: Span,
    /// Packets overtake others where an event lowers the delay.
    pub reorder: bool,
    /// Probability that a packet is lost, 0.0 to 1.0.
    pub loss: f64,
    /// Losses that are not independent, in place of that probability.
    pub loss_model: Option<LossModel>,
    /// What stands on the link and changes packets.
    pub middlebox: Option<MiddleboxSpec>,
    /// Longest IP packet, in bytes.
    pub mtu_bytes: u16,
    /// Bytes that each packet costs beside its own.
    pub overhead_bytes: u16,
    /// Limit of the queue in front of it.
    pub queue: Limit,
    /// The discipline of that queue.
    pub discipline: Arc<Chosen<Disciplines>>,
    /// The scheme of its port, if a router feeds it; None: what the protocols of a run need.
    pub port: Option<Arc<Chosen<Schemes>>>,
}

impl LinkDirection {
    /// True if events and schedules may set its rate: where it follows a trace, the trace says it.
    pub(crate) fn takes_rate(&self) -> bool {
        !self.channel.is_trace()
    }

    /// True if events and schedules may set its probability of loss: a table of losses has none.
    pub(crate) fn takes_loss(&self) -> bool {
        self.loss_model.is_none()
    }
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Host that opens and sends.
    pub src: NodeId,
    /// Host that receives.
    pub dst: NodeId,
    /// When the SYN is sent, start jitter not counted; it says nothing of a flow that follows
    /// another.
    pub start: Time,
    /// What is drawn for each flow and added to its start.
    pub start_law: Option<Law>,
    /// Bytes to send, of a size that is drawn the most; None: without end.
    pub bytes: Option<u64>,
    /// The law of its size, if that is drawn.
    pub size_law: Option<SizeLaw>,
    /// What its application does beside writing all that at the start; None of most flows.
    pub life: Option<Box<Life>>,
    /// Its own protocol, whatever the run compares.
    pub protocol: Option<&'static str>,
    /// Its class in results; None: its protocol.
    pub class: Option<&'static str>,
    /// Classes by size, in place of that.
    pub by_size: Option<Arc<SizeClasses>>,
}

impl Flow {
    /// True if its application may stop before it has written everything.
    pub fn stops(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.stop.is_some())
    }
    /// True if nothing but the end of the run ends it.
    pub fn is_endless(&self) -> bool {
        self.bytes.is_none() && !self.stops()
    }
    /// True if it is no lack that it has not started when the run ends.
    pub fn is_spare(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.spare)
    }
    /// The classes that it may have under a run's `protocol`.
    pub fn classes<'a>(&'a self, protocol: &'a str) -> Vec<&'a str> {
        match &self.by_size {
            Some(classes) => classes.names.clone(),
            None => vec![self.class.or(self.protocol).unwrap_or(protocol)],
        }
    }
}

/// What goes with the text of a scenario.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Changes, as `key=value`, in order.
    pub set: Vec<String>,
    /// Folder that CSV paths are relative to; None: that of the scenario file, or the current one
    /// for a built-in scenario and for one that is read from standard input.
    pub base: Option<PathBuf>,
}

impl Scenario {
    /// The built-in scenario of that name, or the one in that file; `-`: on standard input.
    pub fn load(name_or_path: &str, options: &LoadOptions) -> Result<Scenario, ScenarioError> {
        ScenarioText::read(name_or_path)?.scenario(options)
    }

    /// The scenario of a text, which messages call `file`.
    pub fn parse(text: &str, file: &str, options: &LoadOptions) -> Result<Scenario, ScenarioError> {
        let mut sources = Sources::default();
        let base = options.base.clone().unwrap_or_default();
        let scenario = read(text, file, &options.set, &base, &mut sources);
        scenario.map_err(|faults| faults.resolve(&sources))
    }

    /// As the text of a file that gives the same scenario, with all groups, CSV files, presets and
    /// defaults written out.
    pub fn to_toml(&self) -> String {
        text::write(self)
    }

    /// The delivery traces that are files, each once, in the order of links.
    pub fn trace_files(&self) -> Vec<&TraceFile> {
        let directions = self.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let mut files: Vec<&TraceFile> = Vec::new();
        for file in directions.filter_map(|direction| direction.channel.file()) {
            if files.iter().all(|known| known.path != file.path) {
                files.push(file);
            }
        }
        files
    }

    /// The same scenario with other paths of its trace files.
    #[must_use]
    pub fn with_trace_paths(&self, path: impl Fn(&TraceFile) -> String) -> Scenario {
        let mut scenario = self.clone();
        for link in &mut scenario.links {
            for direction in [&mut link.forward, &mut link.reverse] {
                if let Channel::Trace(file) = &mut direction.channel {
                    file.path = path(file);
                }
            }
        }
        scenario
    }

    /// What a reader of its results should know: settings that are allowed and seldom meant.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.unused.clone();
        notes.extend(self.inrpp_notes());
        notes.extend(self.late_notes());
        notes.extend(queues::notes(self));
        notes.extend(self.short_packet_notes());
        notes
    }

    /// Flows and events that no run reaches, because they begin when it has ended.
    fn late_notes(&self) -> Vec<String> {
        let Some(until) = self.until else { return Vec::new() };
        let end = text::shown(&units::Seconds(until.since(Time::ZERO)));
        let late = self.flows.iter().filter(|flow| flow.start >= until).count();
        let all = self.flows.len();
        let mut notes = Vec::new();
        // If no flow starts, every run has a note that says so.
        if (1..all).contains(&late) {
            notes.push(format!(
                "{late} of {all} flows never start: they are due at until_s ({end} s) or later"
            ));
        }
        if self.attacks.iter().any(|attack| attack.start >= until) {
            notes.push(format!("attacks at until_s ({end} s) or later never happen"));
        }
        if self.events.iter().any(|event| event.at >= until) {
            notes.push(format!("events at until_s ({end} s) or later never happen"));
        }
        notes
    }

    /// The protocols of a run under `protocol`: that one, then those that flows name.
    pub fn protocols_under(&self, protocol: &'static str) -> Vec<&'static str> {
        let mut names = vec![protocol];
        for pinned in self.flows.iter().filter_map(|flow| flow.protocol) {
            if !names.contains(&pinned) {
                names.push(pinned);
            }
        }
        names
    }

    /// Every protocol that is compared, that a flow names, or that has a transport of its own, each
    /// once.
    fn named_protocols(&self) -> Vec<&'static str> {
        let mut names = self.protocols.clone();
        let pinned = self.flows.iter().filter_map(|flow| flow.protocol);
        for name in pinned.chain(self.tcp_of.iter().map(|(name, _)| *name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// True if the seed makes a difference: start jitter, loss, jitter on a link, a queue, port or
    /// router that may draw lots, or what users do. Initial sequence numbers do not count.
    pub fn is_random(&self) -> bool {
        let directions = self.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let lossy = |e: &EventSpec| matches!(e.event, NetEvent::Loss(_, p) if p > 0.0);
        !self.start_jitter.is_zero()
            || directions.into_iter().any(|direction| {
                direction.loss > 0.0
                    || direction.channel.is_random()
                    || matches!(direction.loss_model, Some(LossModel::GilbertElliott { .. }))
                    || !direction.jitter.is_zero()
                    || !direction.discipline.is_default()
                    || direction.port.is_some()
            })
            || self.events.iter().any(lossy)
            || !self.attacks.is_empty()
            || self.router.is_some()
            || self.nodes.iter().any(|node| node.router.is_some())
            || self.flows.iter().filter_map(|flow| flow.life.as_deref()).any(is_drawn)
            || self.flows.iter().any(|flow| flow.start_law.is_some() || flow.size_law.is_some())
    }
}

/// True if anything in a life is drawn.
fn is_drawn(life: &Life) -> bool {
    let think = life.after.map(|after| after.think);
    let periods = life.write.and_then(|write| write.periods);
    let laws = think.into_iter().chain(periods.into_iter().flatten());
    laws.into_iter().any(|law| !law.is_constant())
}

/// What can be read of a file, and what is wrong with the rest.
struct Readable {
    file: File,
    faults: Faults,
    lost: Lost,
    /// One of the faults is that there are too many hosts or flows.
    too_large: bool,
}

/// The keys of a text, with all changes. Nothing is expanded. Errors if nothing is left without
/// what is wrong.
fn read_file(
    text: &str,
    name: &str,
    set: &[String],
    sources: &mut Sources,
) -> Result<Readable, Faults> {
    let (mut faults, mut lost) = (Faults::default(), Lost::default());
    let source = sources.add(name, text);
    let Some(mut document) = faults.keep(item::parse_document(sources, source)) else {
        return Err(faults);
    };
    for assignment in set {
        faults.keep(set::apply(&mut document, sources, assignment));
    }
    let mut known = Vec::new();
    <File as Section>::keys(&mut known);
    let mut too_large = false;
    // Taking out what the types of values are wrong with may show a group that is too large, and
    // that another.
    for _ in 0..MOST_CUTS {
        let mut wrong = Faults::default();
        if let Some(file) = wrong.keep(File::read(&document, "")) {
            if wrong.keep(outline::check(&file)).is_some() {
                return Ok(Readable { file, faults, lost, too_large });
            }
            too_large = true;
        }
        faults::cut(&mut document, &wrong, &known, &mut lost);
        faults.extend(wrong);
    }
    Err(faults)
}

/// Most times that a document is read without what was wrong the time before.
const MOST_CUTS: usize = 10;

fn read(
    text: &str,
    name: &str,
    set: &[String],
    base: &Path,
    sources: &mut Sources,
) -> Result<Scenario, Faults> {
    let Readable { file, mut faults, lost, .. } = read_file(text, name, set, sources)?;
    let mut topology = topology::expand(&file, (sources, base), lost, &mut faults);
    let inrpp = inrpp::resolve(&file, &mut topology, &mut faults);
    let topology = topology;
    let no_keys = file::Tcp::default();
    let table = file.tcp.as_ref().map_or(&no_keys, |at| &at.value);
    let mut tcp = faults.or(tcp::resolve(table), forebay_transport::PRESETS[0].config);
    let names = protocols::Names::of(&file);
    let mss_bytes = tcp.mss_bytes;
    let flows = flows::expand(&file, (&topology, &names), mss_bytes, (sources, base), &mut faults);
    let events = all_events((&file, &topology), (sources, base), &mut faults);
    let attacks = attacks::expand(&file, &topology, &flows, &mut faults);
    let mut needed = buffers::Needed::new(&topology, &flows, &events);
    buffers::follow(&mut needed, table, &mut tcp);
    let specs = protocols::specs(&file, &mut faults);
    let protocols = protocols::compared(file.protocols.as_ref(), &names, &mut faults);
    let (until, measure_from, sample) = times(&file, &topology.lost, &mut faults);
    if !faults.touch("sample_s") {
        faults.keep(samples::check(&file, (sample, until), &flows, &topology.links));
    }
    let mut scenario = Scenario {
        description: faults.or(description(&file), String::new()),
        protocols,
        until,
        measure_from,
        sample,
        fct: file.fct.as_ref().map_or(FctClock::Syn, |at| at.value),
        start_jitter: file.start_jitter.as_ref().map_or(DEFAULT_START_JITTER, |at| at.value),
        ip_version: file.ip_version.as_ref().map_or(IpVersion::V4, |at| at.value),
        tcp,
        tcp_of: Vec::new(),
        router: file.router.as_ref().and_then(|at| faults.keep(at.value.resolve())),
        inrpp,
        rcp: faults.or(port_tables::resolve(file.rcp.as_ref()), RcpTable::DEFAULT),
        kickass: faults.or(port_tables::resolve(file.kickass.as_ref()), KickAssTable::DEFAULT),
        reassembly: topology.reassembly,
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
    let tables = file.tcp_of.as_ref();
    scenario.tcp_of = tcp_of::resolve(&scenario, (&topology, &names), tables, &mut faults);
    scenario.expect = expect::resolve(&file, &scenario, (&names, &topology.lost), &mut faults);
    check_sizes(&scenario, &file, &topology, &mut faults);
    if faults.is_empty() { Ok(scenario) } else { Err(faults) }
}

/// Packets and caches have a size where all that they are made of is right.
fn check_sizes(
    scenario: &Scenario,
    file: &File,
    topology: &topology::Topology,
    faults: &mut Faults,
) {
    let made_of = ["tcp", "tcp_of", "ip_version", "protocols", "link_defaults", "inrpp"];
    if made_of.iter().any(|key| faults.about(key) || topology.lost.has_key(key)) {
        return;
    }
    mtu_check::check(scenario, file, topology, faults);
    queues::check(scenario, topology, faults);
    if faults.is_empty() {
        faults.keep(inrpp::check(scenario, file.inrpp.as_ref()));
    }
    if faults.is_empty() {
        let port_key = |scheme: &str, key: &str| {
            let given = match scheme {
                RcpTable::NAME => file.rcp.as_ref()?.value.given(key),
                KickAssTable::NAME => file.kickass.as_ref()?.value.given(key),
                _ => None,
            };
            given.map(|(place, _)| place)
        };
        let places = network::Places { file, topology, port_key: &port_key };
        faults.keep(network::check(scenario, &places));
    }
}

/// Events and schedules, in order of time.
fn all_events(
    (file, topology): (&File, &topology::Topology),
    (sources, base): (&mut Sources, &Path),
    faults: &mut Faults,
) -> Vec<EventSpec> {
    let mut events = events::expand(file, topology, faults);
    events.extend(schedules::expand(topology, (sources, base), faults));
    events.sort_by_key(|event| event.at);
    events
}

/// The description, which is printed as it stands: lines and tabs, but nothing that a terminal
/// obeys.
fn description(file: &File) -> Result<String, Fault> {
    let Some(at) = &file.description else { return Ok(String::new()) };
    let plain = |c: char| matches!(c, '\n' | '\r' | '\t') || !source::is_unseen(c);
    match at.value.chars().all(plain) {
        true => Ok(at.value.clone()),
        false => {
            let expected = "text without control characters and marks of direction".to_string();
            Err(at.fault(Problem::OutOfRange { found: at.value.clone(), expected }))
        }
    }
}

/// Flows of one start do not march in step: each is late by up to this.
const DEFAULT_START_JITTER: Span = Span::from_millis(1);
/// Distance of samples in series.
const DEFAULT_SAMPLE: Span = Span::from_millis(10);

/// When the run ends, from when it is measured, and how often it is sampled.
fn times(file: &File, lost: &Lost, faults: &mut Faults) -> (Option<Time>, Time, Span) {
    let mut positive = |at: &At<units::Seconds>| match at.value.0.is_zero() {
        true => {
            let (found, expected) = ("0".to_string(), "more than 0 seconds".to_string());
            faults.add(at.fault(Problem::OutOfRange { found, expected }));
            None
        }
        false => Some(at.value.0),
    };
    let until = file.until_s.as_ref().and_then(&mut positive).map(|span| Time::ZERO + span);
    let sample = file.sample_s.as_ref().and_then(&mut positive);
    let from = file.measure_from_s.as_ref().map_or(Span::ZERO, |at| at.value.0);
    let from = Time::ZERO + from;
    if let (Some(at), Some(until)) = (&file.measure_from_s, until)
        && from >= until
    {
        let shown = text::shown(&units::Seconds(until.since(Time::ZERO)));
        let expected = format!("less than until_s ({shown})");
        let found = text::shown(&at.value);
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
        faults.add(at.fault(Problem::MissingKey { key: "until_s", meaning }));
    }
    (until, from, sample.unwrap_or(DEFAULT_SAMPLE))
}

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
