//! What a router holds has waited for its link since it came to the router.

use forebay_base::{
    Endpoint, IpVersion, LinkId, NodeId, Packet, PortId, Rate, Span, TcpFields, Time,
};
use forebay_cc::{AnyFeedback, Init, Spec};
use forebay_net::{
    Deadline, Driver, Fabric, FlowSpec, ForwardingSpec, LinkSpec, NetSpec, Network, NodeKind,
    NodeSpec, Place, TransportSpec,
};
use forebay_queue::Limit;
use forebay_router::{Forwarding, NodeContext, PlainIp, Verdict};
use forebay_transport::PRESETS;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

const HOLD: Span = Span::from_millis(5);

/// Holds each packet for [`HOLD`].
#[derive(Default)]
struct Hold {
    held: VecDeque<(Time, PortId, Packet)>,
    /// Of those whose time has come, it has told the last of this time.
    told: Time,
}

impl Forwarding for Hold {
    fn on_packet(&mut self, _: PortId, mut packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        let port = PlainIp.route(cx.node, &mut packet, cx.routes).expect("it has a route");
        self.held.push_back((cx.now + HOLD, port, packet));
        Verdict::Held
    }
    fn pull(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
        let due = |held: &(Time, PortId, Packet)| held.1 == port && held.0 <= cx.now;
        let place = self.held.iter().position(due)?;
        self.held.remove(place).map(|(_, _, packet)| packet)
    }
    fn has_eligible(&self, port: PortId, now: Time) -> bool {
        self.held.iter().any(|held| held.1 == port && held.0 <= now)
    }
    fn held_packets(&self) -> u64 {
        self.held.len() as u64
    }
    fn next_timeout(&self) -> Option<Time> {
        self.held.iter().map(|held| held.0).find(|&at| at > self.told)
    }
    fn on_timeout(&mut self, cx: &mut NodeContext<'_>) {
        let due = self.held.iter().take_while(|held| held.0 <= cx.now);
        cx.work.ready.extend(due.map(|held| held.1));
        self.told = cx.now;
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

/// The router alone, on real wires. A long packet is in transmission to b from 6 ms on, until 7.5
/// ms, when the wire is lost; a short one is held. When the wire is back, at 6.6 ms, the short one
/// starts, and leaves before the long one would have.
#[test]
fn what_was_held_does_not_wait_for_a_packet_that_was_cut_off() {
    let spec = spec();
    let network = Network::build(&spec, 1, false).expect("a sound network");
    let us = |us: u64| Time::ZERO + Span::from_micros(us);
    for all_queued in [false, true] {
        let place = Place { nodes: vec![NodeId(1)], ..Place::default() };
        let fabric =
            Fabric::of_place(&spec, 1, all_queued, Some([1, 2]), &place, Alarms::default());
        let mut fabric = fabric.expect("a sound network");
        fabric.start();
        let [src, dst] = [0, 2].map(|node| Endpoint { addr: network.addresses[node][0], port: 9 });
        for (at, wire_len) in [(us(1_000), 1_500), (us(1_200), 100)] {
            let packet = Packet::tcp(IpVersion::V4, src, dst, TcpFields::default(), wire_len - 40);
            fabric.enter(at, LinkId(0), packet).expect("it comes in there");
        }
        let mut left = Vec::new();
        let mut run_to = |fabric: &mut Fabric<Alarms>, until: Time| {
            while let Some((at, deadline)) = fabric.driver.0.pop_first() {
                if at >= until {
                    fabric.driver.0.insert((at, deadline));
                    return;
                }
                match deadline {
                    _ if !fabric.due(at, deadline) => {}
                    Deadline::Arrival(link) if fabric.is_exit(link) => {
                        let packet = fabric.take_exit(at, link);
                        left.extend(packet.map(|packet| (at, link, packet.wire_len())));
                    }
                    Deadline::Arrival(link) => {
                        let packet = fabric.take_arrival(at, link).expect("it is due");
                        fabric.arrive(at, link, packet);
                    }
                    Deadline::Transmitter(link) => fabric.on_transmitter(at, link),
                    Deadline::Router(node) => fabric.on_router(at, node),
                    Deadline::Socket(_) => unreachable!("there is no host"),
                }
            }
        };
        for (at, up) in [(us(6_500), false), (us(6_600), true)] {
            run_to(&mut fabric, at);
            fabric.on_carrier(at, LinkId(2), up).expect("a real wire");
        }
        run_to(&mut fabric, Time::MAX);
        assert_eq!(left, [(us(7_700), LinkId(2), 100)], "all queued: {all_queued}");
    }
}
