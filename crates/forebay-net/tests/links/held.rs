//! What a router holds has waited for its link since it came to the router.

use forebay_base::{LinkId, NodeId, Packet, PortId, Rate, Span, Time};
use forebay_cc::{AnyFeedback, Init, Spec};
use forebay_net::{
    Deadline, Driver, Fabric, FlowSpec, ForwardingSpec, LinkSpec, NetSpec, NodeKind, NodeSpec,
    TransportSpec,
};
use forebay_queue::Limit;
use forebay_router::{Forwarding, NodeContext, PlainIp, Verdict};
use forebay_transport::PRESETS;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

const HOLD: Span = Span::from_millis(5);

/// Holds each packet for [`HOLD`].
#[derive(Default)]
struct Hold(VecDeque<(Time, PortId, Packet)>);

impl Forwarding for Hold {
    fn on_packet(&mut self, _: PortId, mut packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        let port = PlainIp.route(cx.node, &mut packet, cx.routes).expect("it has a route");
        self.0.push_back((cx.now + HOLD, port, packet));
        Verdict::Held
    }
    fn pull(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
        let due = |held: &(Time, PortId, Packet)| held.1 == port && held.0 <= cx.now;
        let place = self.0.iter().position(due)?;
        self.0.remove(place).map(|(_, _, packet)| packet)
    }
    fn has_eligible(&self, port: PortId, now: Time) -> bool {
        self.0.iter().any(|held| held.1 == port && held.0 <= now)
    }
    fn held_packets(&self) -> u64 {
        self.0.len() as u64
    }
    fn next_timeout(&self) -> Option<Time> {
        self.0.front().map(|held| held.0)
    }
    fn on_timeout(&mut self, cx: &mut NodeContext<'_>) {
        let due = self.0.iter().take_while(|held| held.0 <= cx.now);
        cx.work.ready.extend(due.map(|held| held.1));
    }
}

/// All that is pending, in order.
#[derive(Default)]
struct Alarms(BTreeSet<(Time, Deadline)>);

impl Driver for Alarms {
    fn arm(&mut self, deadline: Deadline, at: Time) {
        self.0.insert((at, deadline));
    }
}

/// Hosts 0 and 2 at router 1, links of 8 Mbit/s and 1 ms, and a flow of one byte.
fn spec() -> NetSpec {
    let hold = ForwardingSpec::Custom("hold".into(), Arc::new(|_| Box::new(Hold::default())));
    let node = |name: &str, kind| NodeSpec { name: name.into(), kind };
    let link = |from, to| {
        let (rate, delay, limit) = (Rate::mbps(8), Span::from_millis(1), Limit::Bytes(100_000));
        LinkSpec::new(NodeId(from), NodeId(to), rate, delay, limit)
    };
    let newreno = |init: Init| Spec::by_name("newreno").expect("in the table").build(init);
    NetSpec {
        nodes: vec![
            node("a", NodeKind::Host),
            node("r", NodeKind::Router(hold)),
            node("b", NodeKind::Host),
        ],
        links: vec![link(0, 1), link(1, 0), link(1, 2), link(2, 1)],
        transports: vec![TransportSpec {
            name: "newreno".into(),
            algorithm: "newreno".into(),
            class: "newreno".into(),
            config: Arc::new(PRESETS[0].config),
            controller: Arc::new(newreno),
            feedback: Arc::new(|| AnyFeedback::None),
        }],
        flows: vec![FlowSpec {
            src: NodeId(0),
            dst: NodeId(2),
            start: Time::from_secs(1),
            bytes: Some(1),
            life: None,
            transport: 0,
            paths: Vec::new(),
        }],
        ..NetSpec::default()
    }
}

#[test]
fn packets_from_a_cache_have_waited_since_they_came() {
    let mut fabric = Fabric::new(&spec(), 1, false, Alarms::default()).expect("a sound network");
    fabric.start();
    let mut now = Time::ZERO;
    while let Some((at, deadline)) = fabric.driver.0.pop_first() {
        now = at;
        if !fabric.due(now, deadline) {
            continue;
        }
        match deadline {
            Deadline::Arrival(link) => {
                let packet = fabric.take_arrival(now, link).expect("it is due");
                fabric.arrive(now, link, packet);
            }
            Deadline::Transmitter(link) => fabric.on_transmitter(now, link),
            Deadline::Router(node) => fabric.on_router(now, node),
            Deadline::Socket(end) => _ = fabric.on_socket(now, end),
        }
    }
    assert!(fabric.is_at_rest() && fabric.conservation().holds());
    let stats = |link| fabric.link(LinkId(link)).stats(now);
    // Both directions out of the router; a link that is never busy adds nothing.
    for link in [1, 2] {
        let waits = stats(link).waits;
        assert!(waits.count() >= 2 && waits.count() == stats(link).packets, "link {link}");
        assert_eq!((waits.mean(), waits.quantile(1.0)), (Some(HOLD), Some(HOLD)), "link {link}");
    }
}
