//! Packets that pass a router from ring to ring, or that it keeps from there: nothing that can be
//! read shows whether they did.
//!
//! Each network runs in three ways that share less and less code: as it is; with routers that are
//! asked to see to each packet themselves; and with everything built the general way.

use super::networks::row;
use super::random::{Run, random_looks, readings};
use forebay_base::{Packet, PacketRing, PortId, Rng, Stream, Time};
use forebay_net::{ForwardingSpec, NetSpec, NodeKind, QueueSpec, SchemeSpec};
use forebay_queue::{DISCIPLINES, RcpPortParams};
use forebay_router::{
    Forwarding, MakeRouter, NodeContext, RouterInit, RouterSettings, Sends, Verdict,
};
use forebay_sim::Options;
use forebay_testkit::random_pool::{self, NetworkConditions};
use forebay_testkit::reading::assert_same;
use forebay_testkit::{lives, random};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often a router was asked, and how often it passed or kept a packet where it lay.
#[derive(Default)]
struct Count {
    asked: AtomicU64,
    passed: AtomicU64,
    kept: AtomicU64,
}

/// A router that does what another does. `declines`: it passes and keeps no packet where it lies.
struct Counted<F> {
    inner: F,
    declines: bool,
    count: Arc<Count>,
}

impl<F: Forwarding> Forwarding for Counted<F> {
    fn forward_in_place(
        &mut self,
        in_port: PortId,
        packet: &Packet,
        cx: &mut NodeContext<'_>,
    ) -> Option<PortId> {
        self.count.asked.fetch_add(1, Ordering::Relaxed);
        let port =
            if self.declines { None } else { self.inner.forward_in_place(in_port, packet, cx) };
        self.count.passed.fetch_add(u64::from(port.is_some()), Ordering::Relaxed);
        port
    }
    fn keep_first(&mut self, ring: &mut PacketRing, cx: &mut NodeContext<'_>) -> bool {
        let kept = !self.declines && self.inner.keep_first(ring, cx);
        self.count.kept.fetch_add(u64::from(kept), Ordering::Relaxed);
        kept
    }
    fn holds_packets(&self) -> bool {
        self.inner.holds_packets()
    }
    fn sends(&self, port: PortId) -> Sends {
        self.inner.sends(port)
    }
    fn on_packet(&mut self, in_port: PortId, packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        self.inner.on_packet(in_port, packet, cx)
    }
    fn on_overflow(&mut self, port: PortId, packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        self.inner.on_overflow(port, packet, cx)
    }
    fn pull(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
        self.inner.pull(port, cx)
    }
    fn has_eligible(&self, port: PortId, now: Time) -> bool {
        self.inner.has_eligible(port, now)
    }
    fn held_packets(&self) -> u64 {
        self.inner.held_packets()
    }
    fn held_bytes(&self, port: PortId) -> u64 {
        self.inner.held_bytes(port)
    }
    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }
    fn on_timeout(&mut self, cx: &mut NodeContext<'_>) {
        self.inner.on_timeout(cx);
    }
    fn on_link(&mut self, port: PortId, up: bool, cx: &mut NodeContext<'_>) {
        self.inner.on_link(port, up, cx);
    }
    fn restart(&mut self, cx: &mut NodeContext<'_>) {
        self.inner.restart(cx);
    }
}

/// The same network with its INRPP routers counted.
fn counted(spec: &NetSpec, declines: bool, count: &Arc<Count>) -> NetSpec {
    let mut spec = spec.clone();
    for node in &mut spec.nodes {
        let NodeKind::Router(forwarding) = &mut node.kind else { continue };
        let ForwardingSpec::Inrpp(settings) = forwarding else { continue };
        let (settings, count) = (Arc::clone(settings), Arc::clone(count));
        let make = move |init: RouterInit<'_>| -> Box<dyn Forwarding> {
            Box::new(Counted { inner: settings.build(init), declines, count: Arc::clone(&count) })
        };
        *forwarding = ForwardingSpec::Custom("counted".into(), Arc::new(make) as MakeRouter);
    }
    spec
}

/// Panics where two runs differ in anything but what depends on the kind of a link: how many events
/// there are, and whether packets that wait count in its statistics.
fn assert_alike(one: &mut Run, other: &mut Run, context: &str) {
    for reading in one.readings.iter_mut().chain(&mut other.readings) {
        reading.events = 0;
        reading.links.clear();
    }
    assert_same(&one.readings, &other.readings, context);
}

#[test]
fn inrpp_routers_do_not_show_where_they_read_packets() {
    let (taken, declined) = (Arc::new(Count::default()), Arc::new(Count::default()));
    for seed in 0..240 {
        let weather = if seed % 3 == 0 { NetworkConditions::Fair } else { NetworkConditions::Foul };
        let mut spec = random_pool::scenario(seed, weather);
        if seed % 4 == 3 {
            lives::give(&mut spec, seed);
        }
        let looks = random_looks(&spec, seed);
        let run = |spec: &NetSpec, options| readings(spec, seed, options, &looks).1;
        let in_place = run(&counted(&spec, false, &taken), Options::default());
        let by_hand = run(&counted(&spec, true, &declined), Options::default());
        let context = format!("{weather:?} {seed}");
        assert_same(&in_place.readings, &by_hand.readings, &context);
        let threads = 1 + seed as usize % 3;
        let mut plain = run(&spec, Options { threads, ..Options::default() });
        assert_same(&plain.readings, &in_place.readings, &format!("{context}, {threads} threads"));
        let mut general = run(&spec, Options { all_queued: true, ..Options::default() });
        assert_alike(&mut plain, &mut general, &format!("{context}, the general way"));
    }
    let [asked, passed] = [&taken.asked, &taken.passed].map(|n| n.load(Ordering::Relaxed));
    assert!(asked > 100_000 && 2 * passed > asked, "{passed} of {asked} packets were passed");
    let kept = taken.kept.load(Ordering::Relaxed);
    assert!(8 * kept > asked - passed, "{kept} of {asked} were kept, {passed} were passed");
    assert_eq!(declined.asked.load(Ordering::Relaxed), asked, "asked for the same packets");
}

/// Plain routers between links of which some have a scheme or a discipline of their own.
#[test]
fn plain_routers_between_queued_links_do_not_either() {
    for seed in 0..200 {
        let mut spec = if seed % 2 == 0 { row(seed) } else { random::scenario(seed) };
        let mut rng = Rng::new(seed, Stream::Test, 17);
        for link in &mut spec.links {
            match rng.below(4) {
                0 if matches!(link.scheme, SchemeSpec::None) => {
                    link.scheme = SchemeSpec::Rcp(RcpPortParams::published());
                }
                1 => {
                    let entry = DISCIPLINES[rng.below(DISCIPLINES.len() as u64) as usize];
                    let make = Arc::new(move |init| (entry.spec)().build(init));
                    link.queue = QueueSpec::Custom(link.queue.limit(), make);
                }
                _ => {}
            }
        }
        let looks = random_looks(&spec, seed);
        let threads = 1 + seed as usize % 3;
        let mut usual = readings(&spec, seed, Options { threads, ..Options::default() }, &looks).1;
        let mut general =
            readings(&spec, seed, Options { general: true, ..Options::default() }, &looks).1;
        assert_alike(&mut usual, &mut general, &format!("seed {seed} in {threads} threads"));
    }
}
