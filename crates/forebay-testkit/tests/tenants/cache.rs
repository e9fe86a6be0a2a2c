//! A node that holds the data for its port 1 and lets one packet go for each ACK that comes in on
//! its port 2.

use crate::stage::{Scene, live, newreno, simulate};
use forebay_base::{DropReason, NodeId, Packet, PortId, Rate, Span, Time};
use forebay_cc::AckPolicy;
use forebay_net::{EqualCosts, ForwardingSpec, NetEvent};
use forebay_router::{Forwarding, NodeContext, Verdict};
use forebay_sim::PacketEvent;
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};
use std::collections::VecDeque;
use std::sync::Arc;

const DATA: PortId = PortId(1);
const ACKS: PortId = PortId(2);
const CACHE_PACKETS: usize = 64;
/// Without an ACK for this long one packet goes all the same, or nothing would ever come back.
const WATCHDOG: Span = Span::from_millis(50);

#[derive(Default)]
struct Gate {
    held: VecDeque<Packet>,
    credits: usize,
    last_release: Time,
}

impl Forwarding for Gate {
    fn on_packet(&mut self, from: PortId, mut packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        if !packet.decrement_ttl() {
            return Verdict::Drop(packet, DropReason::Ttl);
        }
        let Some(port) = cx.routes.port(cx.node, &packet) else {
            return Verdict::Drop(packet, DropReason::NoRoute);
        };
        if from == ACKS {
            self.credits = (self.credits + 1).min(CACHE_PACKETS);
            cx.work.ready.push(DATA);
        }
        if port != DATA || packet.payload_len() == 0 {
            return Verdict::Forward(port, packet);
        }
        if self.held.len() == CACHE_PACKETS {
            return Verdict::Drop(packet, DropReason::CacheFull);
        }
        if self.held.is_empty() {
            self.last_release = cx.now;
        }
        self.held.push_back(packet);
        cx.work.ready.push(DATA);
        Verdict::Held
    }
    fn pull(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
        if !self.has_eligible(port, cx.now) {
            return None;
        }
        self.credits -= 1;
        self.last_release = cx.now;
        self.held.pop_front()
    }
    fn has_eligible(&self, port: PortId, _: Time) -> bool {
        port == DATA && self.credits > 0 && !self.held.is_empty()
    }
    fn held_packets(&self) -> u64 {
        self.held.len() as u64
    }
    fn next_timeout(&self) -> Option<Time> {
        let stuck = self.credits == 0 && !self.held.is_empty();
        stuck.then(|| self.last_release + WATCHDOG)
    }
    fn on_timeout(&mut self, cx: &mut NodeContext<'_>) {
        if self.next_timeout().is_some_and(|at| at <= cx.now) {
            self.credits = 1;
            cx.work.ready.push(DATA);
        }
    }
    fn restart(&mut self, cx: &mut NodeContext<'_>) {
        self.held.drain(..).for_each(|p| cx.drops.record(p, DropReason::NodeRestart, cx.arena));
        *self = Gate::default();
    }
}

/// What passed the gate, data out on port 1 and ACKs in on port 2, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Passed {
    Data(Time),
    Ack(Time),
    /// Data that the gate keeps.
    Held,
}

/// Data go a, gate, upper, far, b; ACKs come back over lower: each direction has a choice of its
/// own between two ways as long, which follows from the order of the links.
fn scene() -> (Scene<Notes<Passed>>, [NodeId; 2]) {
    let (mut world, notes) = (World::new(), Notes::default());
    world.spec.routes.equal_costs = EqualCosts::Independent;
    let a = world.host("a");
    let make = ForwardingSpec::Custom("gate".into(), Arc::new(|_| Box::new(Gate::default())));
    let gate = world.router_with("gate", make);
    let [upper, lower, far] = ["upper", "lower", "far"].map(|name| world.router(name));
    let b = world.host("b");
    let hop = link(Rate::mbps(20), Span::from_millis(2), u64::MAX);
    world.join(a, gate, hop.clone());
    let data = world.join(gate, upper, hop.clone());
    let acks = forebay_base::LinkId(world.join(gate, lower, hop.clone()).0 + 1);
    world.join(far, upper, hop.clone());
    world.join(far, b, hop.clone());
    world.join(far, lower, hop);
    let config = TcpConfig { ack_policy: AckPolicy::EveryPacket, ..PRESETS[0].config };
    let transport = world.transport("newreno", config, newreno);
    world.flow((a, b), Time::ZERO, Some(100_000), transport);
    let seen = notes.clone();
    let tap = Tap::new(move |now, event, packet, _| match event {
        PacketEvent::Queued(l) if l == data && packet.payload_len() > 0 => {
            seen.push(Passed::Data(now));
        }
        PacketEvent::Arrived(l) if l == acks => seen.push(Passed::Ack(now)),
        PacketEvent::Held(node) if node == gate => seen.push(Passed::Held),
        _ => {}
    });
    (Scene::new(world, notes).with_tap(tap), [far, b])
}

/// The node restarts while it holds the first window.
fn with_restart() -> Scene<Notes<Passed>> {
    let (mut scene, _) = scene();
    scene.world.event(Time::from_millis(40), NetEvent::Restart(NodeId(1)));
    scene
}

/// Each packet goes for an ACK that came before it, or after the watchdog; the packets that went
/// for nothing.
fn unpaid(passed: &[Passed]) -> usize {
    let (mut credits, mut unpaid, mut last) = (0, 0, None);
    for event in passed {
        match *event {
            Passed::Held => {}
            Passed::Ack(_) => credits += 1,
            Passed::Data(at) if credits == 0 => {
                assert!(last.is_none_or(|last| at >= last + WATCHDOG), "{at:?}: {passed:?}");
                (unpaid, last) = (unpaid + 1, Some(at));
            }
            Passed::Data(at) => (credits, last) = (credits - 1, Some(at)),
        }
    }
    unpaid
}

#[test]
fn simulated() {
    simulate(
        || scene().0,
        |_, passed| {
            // The SYN-ACK pays for the first packet, and each for the next.
            let passed = passed.read();
            assert_eq!(unpaid(&passed), 0);
            let count = |which: fn(&Passed) -> bool| passed.iter().filter(|p| which(p)).count();
            let held = count(|p| matches!(p, Passed::Held));
            assert_eq!(held, count(|p| matches!(p, Passed::Data(_))));
        },
    );
}

#[test]
fn a_restart_loses_what_is_held_and_the_watchdog_begins_anew() {
    simulate(with_restart, |sim, passed| {
        assert!(sim.drops().count(DropReason::NodeRestart) > 0);
        assert!(unpaid(&passed.read()) <= 2, "{:?}", passed.read());
    });
}

#[test]
fn in_real_time() {
    let (_, right) = scene();
    live(|| scene().0, &right, |_, passed| assert!(passed.read().len() > 100_000 / 1448));
}
