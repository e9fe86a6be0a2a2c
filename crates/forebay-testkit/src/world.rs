//! Small networks in a few lines.

use forebay_base::{LinkId, NodeId, PortId, Rate, Span, Time};
use forebay_cc::{AnyController, AnyFeedback, Init};
use forebay_net::{
    EventSpec, FlowSpec, ForwardingSpec, LinkSpec, NetEvent, NetSpec, NodeKind, NodeSpec,
    TransportSpec,
};
use forebay_queue::Limit;
use forebay_transport::{MOST_SIGNAL_BYTES, TcpConfig};
use std::sync::Arc;

/// Builds a [`NetSpec`] step by step.
#[derive(Clone, Default)]
pub struct World {
    /// What has been built so far; change what the steps below do not reach.
    pub spec: NetSpec,
}

/// A link as most tests want it: constant rate, drop-tail in bytes, nothing lost.
pub fn link(rate: Rate, delay: Span, queue_bytes: u64) -> LinkSpec {
    LinkSpec::new(NodeId(0), NodeId(0), rate, delay, Limit::Bytes(queue_bytes))
}

impl World {
    /// Nothing yet.
    pub fn new() -> World {
        World::default()
    }
    fn node(&mut self, name: &str, kind: NodeKind) -> NodeId {
        self.spec.nodes.push(NodeSpec { name: name.into(), kind });
        NodeId(self.spec.nodes.len() as u32 - 1)
    }
    /// Add a host.
    pub fn host(&mut self, name: &str) -> NodeId {
        self.node(name, NodeKind::Host)
    }
    /// Add a router with plain IP forwarding.
    pub fn router(&mut self, name: &str) -> NodeId {
        self.node(name, NodeKind::Router(ForwardingSpec::PlainIp))
    }
    /// Add a router with the forwarding given.
    pub fn router_with(&mut self, name: &str, forwarding: ForwardingSpec) -> NodeId {
        self.node(name, NodeKind::Router(forwarding))
    }
    /// Join two nodes with the same link both ways; the id of the direction `a` to `b`, whose
    /// reverse is the next.
    pub fn join(&mut self, a: NodeId, b: NodeId, link: LinkSpec) -> LinkId {
        self.join_with(a, b, link.clone(), link)
    }
    /// Join two nodes with a link of its own for each direction.
    pub fn join_with(&mut self, a: NodeId, b: NodeId, there: LinkSpec, back: LinkSpec) -> LinkId {
        self.spec.links.push(LinkSpec { from: a, to: b, ..there });
        self.spec.links.push(LinkSpec { from: b, to: a, ..back });
        LinkId(self.spec.links.len() as u32 - 2)
    }
    /// Add a transport; its index for flows.
    pub fn transport(
        &mut self,
        name: &str,
        config: TcpConfig,
        controller: impl Fn(Init) -> AnyController + Send + Sync + 'static,
    ) -> usize {
        self.transport_with(name, config, controller, || AnyFeedback::None)
    }
    /// Add a transport with a receiver half of its own.
    pub fn transport_with(
        &mut self,
        name: &str,
        config: TcpConfig,
        controller: impl Fn(Init) -> AnyController + Send + Sync + 'static,
        feedback: impl Fn() -> AnyFeedback + Send + Sync + 'static,
    ) -> usize {
        self.spec.transports.push(TransportSpec {
            name: name.into(),
            algorithm: name.into(),
            class: name.into(),
            config: Arc::new(config),
            controller: Arc::new(controller),
            feedback: Arc::new(feedback),
        });
        self.spec.transports.len() - 1
    }
    /// Add a flow over one path, from the first of `ends` to the second; `bytes` None: without end.
    pub fn flow(
        &mut self,
        ends: (NodeId, NodeId),
        start: Time,
        bytes: Option<u64>,
        transport: usize,
    ) {
        let ((src, dst), paths) = (ends, Vec::new());
        self.spec.flows.push(FlowSpec { src, dst, start, bytes, life: None, transport, paths });
    }
    /// Add a flow over several paths, from the first of `ends` to the second.
    pub fn multipath_flow(
        &mut self,
        ends: (NodeId, NodeId),
        bytes: Option<u64>,
        transport: usize,
        paths: &[(u16, u16)],
    ) {
        // Room for the signals beside timestamps in packets of 1500 bytes.
        let config = Arc::make_mut(&mut self.spec.transports[transport].config);
        config.mss_bytes = config.mss_bytes.min(1448 - MOST_SIGNAL_BYTES.next_multiple_of(4));
        let paths = paths.iter().map(|&(a, b)| (PortId(a), PortId(b))).collect();
        let ((src, dst), start) = (ends, Time::ZERO);
        self.spec.flows.push(FlowSpec { src, dst, start, bytes, life: None, transport, paths });
    }
    /// Add an event.
    pub fn event(&mut self, at: Time, event: NetEvent) {
        self.spec.events.push(EventSpec { at, event });
    }
}

/// Hosts `a` and `b` on either side of one bottleneck: access links of ten times its rate,
/// unlimited queues but the bottleneck's. Returns the world, the hosts, and the bottleneck in the
/// direction `a` to `b`.
pub fn dumbbell(
    pairs: usize,
    rate: Rate,
    rtt: Span,
    queue_bytes: u64,
) -> (World, Vec<(NodeId, NodeId)>, LinkId) {
    let mut world = World::new();
    let (left, right) = (world.router("left"), world.router("right"));
    // A tenth of the way is in each access link, the rest in the bottleneck.
    let access_delay = rtt / 20;
    let delay = (rtt / 2).saturating_sub(access_delay * 2);
    let access = || link(Rate::clamped(rate.bps() * 10), access_delay, u64::MAX);
    let there = link(rate, delay, queue_bytes);
    let back = link(rate, delay, u64::MAX);
    let bottleneck = world.join_with(left, right, there, back);
    let hosts = (0..pairs)
        .map(|i| {
            let (a, b) = (world.host(&format!("a{i}")), world.host(&format!("b{i}")));
            world.join(a, left, access());
            world.join(b, right, access());
            (a, b)
        })
        .collect();
    (world, hosts, bottleneck)
}
