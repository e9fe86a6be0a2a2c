//! Scenarios with every choice made.

pub(crate) mod arrivals;
pub(crate) mod attacks;
pub(crate) mod channels;
pub(crate) mod expectation;
pub(crate) mod inrpp;
pub(crate) mod labels;
pub(crate) mod link_names;
pub(crate) mod protocols;
mod router_map;
pub(crate) mod sizes;
pub(crate) mod sweep;

use crate::format::names::Name;
use crate::keys::file::FctClock;
use crate::registry::{Chosen, Disciplines, Registry, Routers, Schemes};
use arrivals::Arrival;
use attacks::Attack;
use channels::{Channel, TraceFile};
use expectation::Expectation;
use forebay_base::{IpVersion, NodeId, PortId, Rate, Span, Time};
use forebay_net::{
    AppSchedule, EventSpec, NetEvent, Prefix, ReassemblyLimits, RouteRule, TimeDistribution,
    WireSpec,
};
use forebay_queue::Limit;
use forebay_topology::Role;
use forebay_transport::TcpConfig;
use inrpp::InrppNetwork;
use protocols::ProtocolSpec;
use sizes::{SizeClasses, SizeDistribution};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A scenario with every choice made.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What its names stand for.
    pub registry: Arc<Registry>,
    /// Its description, for people; may be empty.
    pub description: String,
    /// Protocols to compare: algorithms and variants; at least one, each once.
    pub protocols: Vec<Name>,
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
    pub tcp_of: Vec<(Name, TcpConfig)>,
    /// Kind of the routers that do not set it; None: the one that the protocols of a run
    /// need.
    pub router: Option<Arc<Chosen<Routers>>>,
    /// Routers of INRPP.
    pub inrpp: InrppNetwork,
    /// Parameters of the ports of a scheme, all of them, by its name; schemes that are not there
    /// have their defaults.
    pub ports: BTreeMap<&'static str, toml::Table>,
    /// How hosts reassemble datagrams.
    pub reassembly: ReassemblyLimits,
    /// How routes are chosen.
    pub routes: RouteRule,
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
    /// Its kind of router; None: that of the scenario, or the one that the protocols of a run need.
    pub router: Option<Arc<Chosen<Routers>>>,
    /// How a host reassembles datagrams; None: as the scenario says.
    pub reassembly: Option<ReassemblyLimits>,
    /// Networks outside the address plan that are reached over a host.
    pub prefixes: Vec<Prefix>,
    /// What a map says of a router.
    pub on_map: Option<Arc<OnMap>>,
}

/// What a map says of a router.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnMap {
    /// Its position in drawings: x to the right, y up, in the same unit.
    pub at: Option<[f64; 2]>,
    /// What it is for.
    pub role: Option<Role>,
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
    /// Its cost in routes.
    pub weight: u32,
    /// Key with which its INRPP routers authenticate notices; None: that of [`InrppNetwork`].
    pub inrpp_key: Option<Arc<str>>,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkDirection {
    /// Rate; where it follows a trace, the mean.
    pub rate: Rate,
    /// How it transmits.
    pub channel: Channel,
    /// What happens to packets on it.
    pub wire: WireSpec,
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
        self.wire.loss_model.is_none()
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
    pub start_law: Option<TimeDistribution>,
    /// Its place in a random process that begins at its start, if it arrives by one.
    pub arrival: Option<Arrival>,
    /// Bytes to send, of a size that is drawn the most; None: without end.
    pub bytes: Option<u64>,
    /// The distribution of its size, if that is sampled.
    pub size_law: Option<SizeDistribution>,
    /// Behaviour of its application other than writing all that at the start; None of most flows.
    pub life: Option<Box<AppSchedule>>,
    /// The paths of a protocol that uses several, as ports of both hosts; None: one, over the first
    /// port of each.
    pub paths: Option<Arc<[(PortId, PortId)]>>,
    /// Its own protocol, whatever the run compares.
    pub protocol: Option<Name>,
    /// Its class in results; None: its protocol.
    pub class: Option<Name>,
    /// Classes by size, in place of that.
    pub by_size: Option<Arc<SizeClasses>>,
}

impl Flow {
    /// True if its start or its size is drawn.
    fn is_drawn(&self) -> bool {
        self.start_law.is_some() || self.size_law.is_some() || self.arrival.is_some()
    }
    /// When it starts on average, if its start is drawn from a process; else the earliest start.
    pub(crate) fn mean_start(&self) -> Time {
        let mean_s = |of: &Arrival| (f64::from(of.number) + 1.0) / of.per_s;
        self.start + self.arrival.as_ref().map_or(Span::ZERO, |of| Span::from_secs_f64(mean_s(of)))
    }
    /// True if its application may stop before it has written everything.
    pub fn stops(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.stop.is_some())
    }
    /// True if nothing but the end of the run ends it.
    pub fn is_endless(&self) -> bool {
        self.bytes.is_none() && !self.stops()
    }
    /// True if it is not a failure that it has not started when the run ends.
    pub fn is_spare(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.spare)
    }
    /// Its protocol in a run under `protocol`.
    pub fn protocol_under<'a>(&'a self, protocol: &'a str) -> &'a str {
        self.protocol.as_deref().unwrap_or(protocol)
    }
    /// Its class in a run under `protocol`, if its size says nothing of it.
    pub fn class_under<'a>(&'a self, protocol: &'a str) -> &'a str {
        self.class.as_deref().unwrap_or_else(|| self.protocol_under(protocol))
    }
    /// The classes that it may have under a run's `protocol`.
    pub fn classes<'a>(&'a self, protocol: &'a str) -> Vec<&'a str> {
        match &self.by_size {
            Some(classes) => classes.names.iter().map(Name::as_str).collect(),
            None => vec![self.class_under(protocol)],
        }
    }
}

impl Scenario {
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

    /// The protocols of a run under `protocol`: that one, then those that flows name.
    pub fn protocols_under<'a>(&'a self, protocol: &'a str) -> Vec<&'a str> {
        let mut names = vec![protocol];
        for pinned in self.flows.iter().filter_map(|flow| flow.protocol.as_deref()) {
            if !names.contains(&pinned) {
                names.push(pinned);
            }
        }
        names
    }

    /// Every protocol that sends: those that are compared and those that flows name, each once.
    pub(crate) fn sending_protocols(&self) -> Vec<&str> {
        let pinned = self.flows.iter().filter_map(|flow| flow.protocol.as_deref());
        each_once(self.protocols.iter().map(Name::as_str).chain(pinned))
    }

    /// Those, and every protocol that has a transport of its own.
    pub(crate) fn named_protocols(&self) -> Vec<&str> {
        let with_own = self.tcp_of.iter().map(|(name, _)| name.as_str());
        each_once(self.sending_protocols().into_iter().chain(with_own))
    }

    /// True if the seed makes a difference: start jitter, loss, jitter on a link, a queue, port or
    /// router that may draw lots, or what users do. Initial sequence numbers do not count.
    pub fn is_random(&self) -> bool {
        let directions = self.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let lossy = |e: &EventSpec| matches!(e.event, NetEvent::Loss(_, p) if p > 0.0);
        !self.start_jitter.is_zero()
            || directions.into_iter().any(|direction| {
                direction.wire.is_random()
                    || direction.channel.is_random()
                    || !direction.discipline.is_default()
                    || direction.port.is_some()
            })
            || self.events.iter().any(lossy)
            || !self.attacks.is_empty()
            || self.router.is_some()
            || self.nodes.iter().any(|node| node.router.is_some())
            || self.flows.iter().filter_map(|flow| flow.life.as_deref()).any(is_drawn)
            || self.flows.iter().any(Flow::is_drawn)
    }
}

fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// True if anything in a life is drawn.
fn is_drawn(life: &AppSchedule) -> bool {
    let think = life.after.map(|after| after.think);
    let periods = life.write.and_then(|write| write.periods);
    let laws = think.into_iter().chain(periods.into_iter().flatten());
    laws.into_iter().any(|law| !law.is_constant())
}
