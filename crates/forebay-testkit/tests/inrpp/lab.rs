//! Networks of the hard cases, and a run of each compared with the fluid reference.

use forebay_base::{DropReason, FlowId, LinkId, NodeId, PortId, Rate, Span, Time};
use forebay_net::{NetEvent, NetSpec};
use forebay_reference::{Wanted, fluid_reference};
use forebay_router::inrpp::{CacheLimits, Settings};
use forebay_scenario::{FctClock, Registry};
use forebay_sim::{Options, Simulation};
use forebay_testkit::pool::{config, pooled_link, router, settings, transport};
use forebay_testkit::world::World;
use forebay_transport::TcpConfig;

pub const NEAR: Span = Span::from_millis(5);
/// Wire bytes per payload byte: 1446 of payload, 40 of headers, 8 of echo, 2 of PPP.
pub const WIRE: f64 = 1496.0 / 1446.0;
const SEED: u64 = 1;

pub fn cache(total_bytes: u64) -> CacheLimits {
    CacheLimits { low_bytes: total_bytes * 2 / 5, high_bytes: total_bytes * 4 / 5, total_bytes }
}

/// Routers in a row or in a shape of one's own, hosts in pairs.
#[derive(Clone)]
pub struct Lab {
    pub world: World,
    pub routers: Vec<NodeId>,
    pub links: Vec<LinkId>,
    pub settings: Settings,
    access: Rate,
    hosts: u32,
}

impl Lab {
    /// `routers` routers with caches of that size, not joined.
    pub fn new(routers: usize, cache_bytes: u64) -> Lab {
        Lab::with(routers, cache(cache_bytes))
    }
    /// The same with thresholds of one's own.
    pub fn with(routers: usize, limits: CacheLimits) -> Lab {
        let mut world = World::new();
        let settings = settings(limits);
        let routers =
            (0..routers).map(|i| router(&mut world, &format!("r{i}"), &settings)).collect();
        transport(&mut world, "inrpp", config());
        let plain = TcpConfig { mss_bytes: 1446, timestamps: false, ..config() };
        for name in ["cubic", "newreno"] {
            transport(&mut world, name, plain);
        }
        let access = Rate::mbps(40);
        Lab { world, routers, links: Vec::new(), settings, access, hosts: 0 }
    }
    /// Routers in a row over links of these rates.
    pub fn chain(mbps: &[u64], cache_bytes: u64) -> Lab {
        let mut lab = Lab::new(mbps.len() + 1, cache_bytes);
        for (i, &rate) in mbps.iter().enumerate() {
            lab.join((i, i + 1), rate);
        }
        lab
    }
    /// This router speaks no INRPP.
    pub fn plain(mut self, router: usize) -> Lab {
        let node = &mut self.world.spec.nodes[self.routers[router].index()];
        node.kind = forebay_net::NodeKind::Router(forebay_net::ForwardingSpec::PlainIp);
        self
    }
    pub fn join(&mut self, (a, b): (usize, usize), mbps: u64) -> LinkId {
        let spec = pooled_link(Rate::mbps(mbps), NEAR);
        let link = self.world.join(self.routers[a], self.routers[b], spec);
        self.links.push(link);
        link
    }
    pub fn pair(&mut self, (a, b): (usize, usize), delay: Span) -> (NodeId, NodeId) {
        self.hosts += 1;
        let world = &mut self.world;
        let (s, d) =
            (world.host(&format!("s{}", self.hosts)), world.host(&format!("d{}", self.hosts)));
        world.join(s, self.routers[a], pooled_link(self.access, delay));
        world.join(self.routers[b], d, pooled_link(self.access, delay));
        (s, d)
    }
    /// A flow of its own pair of hosts. `kind`: 0 INRPP, 1 CUBIC, 2 NewReno.
    pub fn flow(
        &mut self,
        ends: (usize, usize),
        at_ms: u64,
        bytes: Option<u64>,
        kind: usize,
    ) -> (NodeId, NodeId) {
        let (s, d) = self.pair(ends, NEAR);
        self.world.flow((s, d), Time::from_millis(at_ms), bytes, kind);
        (s, d)
    }
    /// `count` flows of `bytes` from end to end of the chain.
    pub fn flows(mut self, count: u64, bytes: u64, apart_ms: u64) -> Lab {
        let last = self.routers.len() - 1;
        for i in 0..count {
            self.flow((0, last), i * apart_ms, Some(bytes), 0);
        }
        self
    }
    /// The route of `node` to `dst` leads to the router `to`, from `at_ms` on.
    pub fn route(&mut self, at_ms: u64, node: usize, dst: NodeId, to: usize) {
        let (node, to) = (self.routers[node], self.routers[to]);
        let mut ports = self.world.spec.links.iter().filter(|l| l.from == node);
        let via = ports.position(|l| l.to == to).map(|at| PortId(at as u16));
        assert!(via.is_some(), "they are joined");
        self.world.event(Time::from_millis(at_ms), NetEvent::Route { node, dst, via });
    }
    /// Something happens to both directions of a link.
    pub fn both(&mut self, at_ms: u64, link: LinkId, event: fn(LinkId) -> NetEvent) {
        for one in [link, link.opposite()] {
            self.world.event(Time::from_millis(at_ms), event(one));
        }
    }
}

/// A run compared with its reference.
#[derive(Clone, Debug)]
pub struct Result {
    /// Mean completion time over that of the reference.
    pub ratio: f64,
    /// The same of each flow.
    pub ratios: Vec<f64>,
    /// When the last flow was complete, in seconds.
    pub last_s: f64,
    /// Packets dropped for want of room in caches, and in queues.
    pub cache_drops: u64,
    pub queue_drops: u64,
    /// Packets retransmitted, of all sent; those that a restart of a router or a link that failed
    /// took with it do not count.
    pub resent: f64,
}

fn reference(spec: &NetSpec) -> Vec<Option<f64>> {
    let until = Time::MAX;
    let (from, clock) = (Time::ZERO, FctClock::Established);
    let wanted = Wanted {
        registry: &Registry::default(),
        spec,
        seed: SEED,
        from,
        until,
        clock,
        in_full: true,
    };
    let done = fluid_reference(&wanted, &mut |_| true).expect("sound").expect("to the end");
    assert_ne!(done.kind, "none", "{}", done.why);
    done.per_flow_fct_s
}

/// Run until all flows are complete. `by_hand`: what each takes at best, in seconds, where the
/// reference cannot say.
pub fn run(spec: &NetSpec, by_hand: Option<f64>) -> Result {
    let mut sim = Simulation::new(spec, SEED, Options::default()).expect("sound");
    sim.run_until(Time::from_secs(4_000)).unwrap();
    assert!(sim.conservation().holds());
    let ideals = match by_hand {
        Some(ideal) => vec![Some(ideal); spec.flows.len()],
        None => reference(spec),
    };
    let (mut ratios, mut last_s, mut sums) = (Vec::new(), 0f64, (0.0, 0.0));
    let (mut resent, mut sent) = (0, 0);
    for (i, ideal) in ideals.into_iter().enumerate() {
        let outcome = sim.flow(FlowId(i as u32));
        let done = outcome.completed_at.unwrap_or(Time::MAX);
        let fct = done.since(outcome.established_at.expect("established")).as_secs_f64();
        let ideal = ideal.expect("it completes");
        ratios.push(fct / ideal);
        sums = (sums.0 + fct, sums.1 + ideal);
        last_s = last_s.max(done.as_secs_f64());
        resent += outcome.sender.retransmits;
        sent += outcome.received_bytes.div_ceil(1446);
    }
    let lost = sim.drops().count(DropReason::NodeRestart) + sim.drops().count(DropReason::LinkDown);
    Result {
        ratio: sums.0 / sums.1,
        ratios,
        last_s,
        cache_drops: sim.drops().count(DropReason::CacheFull),
        queue_drops: sim.drops().count(DropReason::Full),
        resent: resent.saturating_sub(lost) as f64 / sent as f64,
    }
}

/// Payload of each flow between two moments, in Mbit/s.
pub fn goodputs(spec: &NetSpec, from_s: u64, until_s: u64) -> (Vec<f64>, Simulation) {
    let mut sim = Simulation::new(spec, SEED, Options::default()).expect("sound");
    let received = |sim: &Simulation| -> Vec<u64> {
        (0..spec.flows.len() as u32).map(|i| sim.flow(FlowId(i)).received_bytes).collect()
    };
    sim.run_until(Time::from_secs(from_s)).unwrap();
    let before = received(&sim);
    sim.run_until(Time::from_secs(until_s)).unwrap();
    let seconds = (until_s - from_s) as f64;
    let both = received(&sim).into_iter().zip(before);
    (both.map(|(now, before)| (now - before) as f64 * 8e-6 / seconds).collect(), sim)
}
