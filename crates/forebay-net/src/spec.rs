//! What to build: a network, its flows and its events. Every choice is made.
//!
//! Everything here is a number or an index. Names, units and files belong to the maker of a spec.

use crate::channel::{BucketSpec, DeliveryTrace};
use crate::life::{After, AppSchedule, Writing};
use crate::link::WireSpec;
use crate::reassembly::ReassemblyLimits;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{FlowId, IpVersion, LinkId, NodeId, PortId, Rate, Span, Time};
use forebay_cc::{AnyController, AnyFeedback, Init};
use forebay_queue::{AnyDiscipline, DropTail, PortInit};
pub use forebay_queue::{Limit, SchemeSpec};
pub use forebay_router::{EqualCosts, ForwardingSpec, MAX_TREES, RouteRule};
use forebay_signal::inrpp::guard::Carrier;
use forebay_signal::inrpp::{BackPressure, BackPressureSignal};
use forebay_transport::TcpConfig;
pub use forebay_wire::Prefix;

/// A network with its workload.
#[derive(Clone, Default)]
pub struct NetSpec {
    /// IP version of the address plan.
    pub version: IpVersion,
    /// Nodes; [`NodeId`] is the index.
    pub nodes: Vec<NodeSpec>,
    /// Directed links in pairs: 2k and 2k+1 are the two directions of one link. [`LinkId`] is the
    /// index. The ports of a node are its outgoing links in this order.
    pub links: Vec<LinkSpec>,
    /// How routes are chosen.
    pub routes: RouteRule,
    /// Kinds of transport that flows refer to.
    pub transports: Vec<TransportSpec>,
    /// Flows; [`FlowId`] is the index.
    pub flows: Vec<FlowSpec>,
    /// What happens to the network, in order of time.
    pub events: Vec<EventSpec>,
    /// Bounds of the reassembly of hosts.
    pub reassembly: ReassemblyLimits,
    /// Hosts with other bounds.
    pub reassembly_of: BTreeMap<NodeId, ReassemblyLimits>,
    /// Networks outside the address plan, and the host behind whose first interface each is.
    pub prefixes: Vec<(NodeId, Prefix)>,
}

impl NetSpec {
    /// Bounds of the reassembly of a host.
    pub fn reassembly_at(&self, host: NodeId) -> ReassemblyLimits {
        self.reassembly_of.get(&host).copied().unwrap_or(self.reassembly)
    }
}

impl NetSpec {
    /// The packets that events forge.
    pub fn forgeries(&self) -> impl Iterator<Item = &SpoofedPacket> {
        self.events.iter().filter_map(|event| match &event.event {
            NetEvent::Forge(forgery) => Some(forgery),
            _ => None,
        })
    }
}

/// A node.
#[derive(Clone)]
pub struct NodeSpec {
    /// Its name in results.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// The kind of a node.
#[derive(Clone)]
pub enum NodeKind {
    /// Has sockets, does not forward.
    Host,
    /// Forwards, has no sockets.
    Router(ForwardingSpec),
}

/// One direction of a link: a port with its queue, a transmitter, and a wire.
#[derive(Clone)]
pub struct LinkSpec {
    /// The node whose port this is.
    pub from: NodeId,
    /// The node at the other end.
    pub to: NodeId,
    /// How fast it transmits.
    pub channel: ChannelSpec,
    /// What happens to packets on it.
    pub wire: WireSpec,
    /// The queue in front of it.
    pub queue: QueueSpec,
    /// The port scheme: rate computation and signalling besides queueing.
    pub scheme: SchemeSpec,
    /// What it adds to the cost of a path, 1 or more; the same in both directions.
    pub weight: u32,
}

impl LinkSpec {
    /// A link of constant rate with a drop-tail queue. Its wire is [`WireSpec::default`] but for
    /// the delay.
    pub fn new(from: NodeId, to: NodeId, rate: Rate, delay: Span, limit: Limit) -> LinkSpec {
        let (channel, queue) = (ChannelSpec::Constant(rate), QueueSpec::DropTail(limit));
        let wire = WireSpec { delay, ..WireSpec::default() };
        LinkSpec { from, to, channel, wire, queue, scheme: SchemeSpec::None, weight: 1 }
    }
    /// The same link with another wire.
    #[must_use]
    pub fn with_wire(mut self, change: impl FnOnce(&mut WireSpec)) -> LinkSpec {
        change(&mut self.wire);
        self
    }
}

/// How fast a link transmits.
#[derive(Clone)]
pub enum ChannelSpec {
    /// At a constant rate.
    Constant(Rate),
    /// By a trace of delivery opportunities.
    Trace {
        /// The trace.
        trace: Arc<DeliveryTrace>,
        /// Where in it the run begins.
        offset: Span,
    },
    /// By a token bucket.
    Bucket(BucketSpec),
}

impl ChannelSpec {
    /// Its rate at the start; of a trace, the mean.
    pub fn rate(&self) -> Rate {
        match self {
            ChannelSpec::Constant(rate) => *rate,
            ChannelSpec::Trace { trace, .. } => trace.mean_rate(),
            ChannelSpec::Bucket(bucket) => bucket.rate,
        }
    }
}

/// Makes the discipline of a port.
pub type MakeDiscipline = Arc<dyn Fn(PortInit) -> AnyDiscipline + Send + Sync>;

/// The queue of a port.
#[derive(Clone)]
pub enum QueueSpec {
    /// Drop-tail.
    DropTail(Limit),
    /// Any discipline, of this limit.
    Custom(Limit, MakeDiscipline),
}

impl QueueSpec {
    /// Its limit.
    pub fn limit(&self) -> Limit {
        match *self {
            QueueSpec::DropTail(limit) | QueueSpec::Custom(limit, _) => limit,
        }
    }
    pub(crate) fn build(&self, init: PortInit) -> AnyDiscipline {
        match self {
            QueueSpec::DropTail(_) => AnyDiscipline::DropTail(DropTail::with_limit(init.limit)),
            QueueSpec::Custom(_, make) => make(init),
        }
    }
}

/// A kind of transport: what an algorithm needs at both ends.
#[derive(Clone)]
pub struct TransportSpec {
    /// Its name in results.
    pub name: String,
    /// Its algorithm; another name than its own if it is a variant.
    pub algorithm: String,
    /// The class of its flows, for metrics of their own.
    pub class: String,
    /// Configuration of the connections.
    pub config: Arc<TcpConfig>,
    /// Makes the controller of the sending end of a path.
    pub controller: Arc<dyn Fn(Init) -> AnyController + Send + Sync>,
    /// Makes the feedback of the receiving end of a path.
    pub feedback: Arc<dyn Fn() -> AnyFeedback + Send + Sync>,
}

/// A flow: a client that opens a connection and sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// The host that opens and sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// When the SYN is sent. Not used if the flow follows another ([`AppSchedule::after`]).
    pub start: Time,
    /// Bytes to send; None: without end.
    pub bytes: Option<u64>,
    /// How its application writes and stops, if it does not write `bytes` at `start`.
    pub life: Option<Box<AppSchedule>>,
    /// Index into [`NetSpec::transports`].
    pub transport: usize,
    /// Paths as (port of `src`, port of `dst`); empty: one path over port 0 of both.
    pub paths: Vec<(PortId, PortId)>,
}

impl FlowSpec {
    /// True if only the end of the run ends it.
    pub fn is_endless(&self) -> bool {
        self.bytes.is_none() && self.stop().is_none()
    }
    /// When it starts, if that is known before the run: not of a flow that follows another, or that
    /// waits for somebody to connect.
    pub fn known_start(&self) -> Option<Time> {
        let is_known = self.after().is_none() && self.listen().is_none();
        is_known.then_some(self.start)
    }
    /// The port at which its server waits for whoever connects.
    pub fn listen(&self) -> Option<u16> {
        self.life.as_ref()?.listen
    }
    /// The flow that it follows.
    pub fn after(&self) -> Option<After> {
        self.life.as_ref()?.after
    }
    /// When its application writes no more.
    pub fn stop(&self) -> Option<Time> {
        self.life.as_ref()?.stop
    }
    /// True if it is not a failure that it has not started when the run ends.
    pub fn is_spare(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.spare)
    }
    /// Bytes that the server sends back.
    pub fn answer_bytes(&self) -> u64 {
        self.life.as_ref().map_or(0, |life| life.answer_bytes)
    }
    /// How its application writes; None: all it has at once.
    pub fn write(&self) -> Option<Writing> {
        self.life.as_ref()?.write
    }
}

/// Something that happens to the network at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct EventSpec {
    /// When.
    pub at: Time,
    /// What.
    pub event: NetEvent,
}

/// What can happen to a network.
#[derive(Clone, Debug, PartialEq)]
pub enum NetEvent {
    /// The rate of one direction changes; the packet in transmission keeps its own. Not of a link
    /// that follows a trace.
    Rate(LinkId, Rate),
    /// The propagation delay of one direction changes, for packets sent from now on; they do not
    /// overtake those before them, unless [`WireSpec::reorder`] says so.
    Delay(LinkId, Span),
    /// The loss probability of one direction changes.
    Loss(LinkId, f64),
    /// One direction fails: what is on the wire is lost, what is queued waits.
    Down(LinkId),
    /// One direction works again.
    Up(LinkId),
    /// A router loses all it holds: queues and caches.
    Restart(NodeId),
    /// Somebody sends a packet that no host of the flow made.
    Forge(SpoofedPacket),
    /// Somebody on a link sends again what passed there.
    Replay(Replay),
    /// `node` sends what is for `dst` through `via` from now on; None: it has no route there.
    Route {
        /// The node whose table changes.
        node: NodeId,
        /// The destination host.
        dst: NodeId,
        /// The port.
        via: Option<PortId>,
    },
}

/// A forged packet of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoofedPacket {
    /// The host that sends it over its first interface, or the router to which it comes from
    /// outside.
    pub node: NodeId,
    /// The flow.
    pub flow: FlowId,
    /// What it looks like.
    pub look: Look,
    /// What its maker knows of the flow.
    pub knows: Knowledge,
    /// A random number, from which all comes that its maker does not know.
    pub draw: u64,
}

impl SpoofedPacket {
    /// The least that holds a TCP header.
    pub const MIN_LEAD_BYTES: u16 = 24;
    /// The most in a packet of 1500 bytes.
    pub const MAX_LEAD_BYTES: u16 = 1480;
}

/// The last packet of a flow, in either direction, with a certain signal is sent once more. If none
/// was recorded, nothing happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The direction of a link on which it passed, and on which it is sent. It records:
    /// [`crate::MiddleboxSpec::records`].
    pub link: LinkId,
    /// The flow, on its first path.
    pub flow: FlowId,
    /// The signal that it carries.
    pub ask: BackPressureSignal,
    /// Time since it passed, at least.
    pub age: Span,
}

/// What a forged packet looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A first fragment of an IPv4 datagram: it claims to hold the beginning of a TCP segment from
    /// the flow's client to its server. Its tail never comes.
    Fragment {
        /// Bytes after the IP header: a multiple of 8, [`SpoofedPacket::MIN_LEAD_BYTES`] to
        /// [`SpoofedPacket::MAX_LEAD_BYTES`].
        lead_bytes: u16,
    },
    /// A packet without payload that carries a signal of an INRPP router, under a random nonce.
    Notice {
        /// An ACK from the flow's server to its client, or, as a notice on data, a packet from the
        /// client to the server.
        carrier: Carrier,
        /// What is asked.
        signal: BackPressure,
        /// With a code, which is random: where routers have keys.
        guarded: bool,
    },
}

/// What the maker of a forged packet knows of a flow; each knows what the one before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// The address of the packet's receiver: that of its sender is random, in the address plan.
    Receiver,
    /// Both addresses.
    Addresses,
    /// Both ports.
    Ports,
    /// The sequence numbers that both ends expect next.
    Sequence,
}

/// A spec that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
// Not `non_exhaustive`: forebay-run has words for each, and must not compile without those of a
// new one.
pub enum SpecError {
    /// A part of the spec names what is not there, or contradicts itself.
    Unsound {
        /// What it is: "link", "flow", "event".
        part: &'static str,
        /// Its index.
        index: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// The flow's source has no path to its destination (or back).
    NoRoute {
        /// The flow.
        flow: FlowId,
        /// From here.
        from: NodeId,
        /// To here.
        to: NodeId,
    },
    /// More addresses than the IPv4 plan has room for. The IPv6 plan has room.
    TooManyAddresses(usize),
    /// A host without a link.
    HostWithoutLink(NodeId),
    /// A flow from or to a node that is not a host, or from a host to itself.
    NotAHost {
        /// The flow.
        flow: FlowId,
        /// The node.
        node: NodeId,
    },
    /// The [`AppSchedule`] of a flow is invalid.
    AppSchedule {
        /// The flow.
        flow: FlowId,
        /// What is wrong.
        why: &'static str,
    },
    /// An event sets the rate of a link that follows a trace: the trace says its rate at all times.
    RateOfTrace(LinkId),
    /// A forged packet in an IPv6 network, or one of a length that none has: its flow.
    SpoofedPacket(FlowId),
}
