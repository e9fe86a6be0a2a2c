//! An Internet-like network of 10 000 routers with any number of short flows, made from a seed.
//!
//! Routers join one by one, each with two links to routers that are there, chosen in proportion to
//! their degree (Barabasi and Albert, Science 1999, doi:10.1126/science.286.5439.509): degrees
//! follow a power law, as those of autonomous systems do. Each of the 4 096 youngest has a host.
//! Between routers a link is as fast as the smaller degree of its ends asks for, so that what
//! limits flows is the access.

use forebay_base::{NodeId, Rate, Rng, Span, Stream, Time};
use forebay_cc::Spec;
use forebay_net::{FlowSpec, ForwardingSpec, LinkSpec, NetSpec, NodeKind, NodeSpec, TransportSpec};
use forebay_queue::Limit;
use forebay_transport::{PRESETS, TcpConfig};
use std::sync::Arc;

/// Routers of the map.
pub const SCALE_ROUTERS: usize = 10_000;
/// Hosts: one at each of the youngest routers.
pub const SCALE_HOSTS: usize = 4_096;
/// Links that each router brings.
const LINKS_PER_ROUTER: usize = 2;
/// Flows start within this time.
const STARTS_WITHIN: Span = Span::from_secs(10);
/// Sizes in full packets: bounded Pareto of shape 1.2 between these, 15 packets on average.
const MIN_PACKETS: f64 = 4.0;
const MAX_PACKETS: f64 = 1_000.0;
const SHAPE: f64 = 1.2;

/// The network with this many flows. The map and the first flows are the same for any number.
pub fn network(flows: usize, seed: u64) -> NetSpec {
    let mut spec = NetSpec::default();
    map(&mut spec, &mut Rng::new(seed, Stream::Test, 0));
    let config = TcpConfig { timestamps: false, ..PRESETS[0].config };
    let (sender, receiver) = (Spec::default(), Spec::default());
    spec.transports.push(TransportSpec {
        name: sender.name().into(),
        algorithm: sender.name().into(),
        class: sender.name().into(),
        config: Arc::new(config),
        controller: Arc::new(move |init| sender.build(init)),
        feedback: Arc::new(move || receiver.build_feedback()),
    });
    let mut rng = Rng::new(seed, Stream::Test, 1);
    let mss = config.mss_bytes as u64;
    spec.flows = (0..flows).map(|_| flow(&mut rng, mss)).collect();
    spec
}

fn flow(rng: &mut Rng, mss_bytes: u64) -> FlowSpec {
    let hosts = SCALE_HOSTS as u64;
    let src = rng.below(hosts);
    let dst = (src + 1 + rng.below(hosts - 1)) % hosts;
    let node = |host: u64| NodeId((SCALE_ROUTERS as u64 + host) as u32);
    FlowSpec {
        src: node(src),
        dst: node(dst),
        start: Time::from_nanos(rng.below(STARTS_WITHIN.as_nanos())),
        bytes: Some(packets(rng.unit()) * mss_bytes),
        life: None,
        transport: 0,
        paths: Vec::new(),
    }
}

/// The inverse of the bounded Pareto distribution.
fn packets(u: f64) -> u64 {
    let ratio = libm::pow(MIN_PACKETS / MAX_PACKETS, SHAPE);
    (MIN_PACKETS / libm::pow(1.0 - u * (1.0 - ratio), 1.0 / SHAPE)) as u64
}

fn map(spec: &mut NetSpec, rng: &mut Rng) {
    // Each end of each link once: a draw from it is a draw in proportion to degrees.
    let mut ends: Vec<usize> = vec![0, 1];
    let mut pairs = vec![(0, 1)];
    for router in 2..SCALE_ROUTERS {
        let mut chosen = Vec::with_capacity(LINKS_PER_ROUTER);
        while chosen.len() < LINKS_PER_ROUTER {
            let peer = ends[rng.below(ends.len() as u64) as usize];
            if !chosen.contains(&peer) {
                chosen.push(peer);
            }
        }
        for peer in chosen {
            pairs.push((router, peer));
            ends.extend([router, peer]);
        }
    }
    let mut degree = vec![0u64; SCALE_ROUTERS];
    ends.iter().for_each(|&end| degree[end] += 1);
    let kind = NodeKind::Router(ForwardingSpec::PlainIp);
    let routers =
        (0..SCALE_ROUTERS).map(|i| NodeSpec { name: format!("r{i}"), kind: kind.clone() });
    let hosts = (0..SCALE_HOSTS).map(|i| NodeSpec { name: format!("h{i}"), kind: NodeKind::Host });
    spec.nodes = routers.chain(hosts).collect();
    for (a, b) in pairs {
        let rate = Rate::clamped(10_000_000_000 * degree[a].min(degree[b]));
        let delay = Span::from_micros(1_000 + rng.below(9_000));
        join(spec, a, b, rate, delay);
    }
    for host in 0..SCALE_HOSTS {
        let at = SCALE_ROUTERS - SCALE_HOSTS + host;
        join(spec, SCALE_ROUTERS + host, at, Rate::mbps(1_000), Span::from_micros(500));
    }
}

/// A link in both directions, with a queue of 10 ms.
fn join(spec: &mut NetSpec, a: usize, b: usize, rate: Rate, delay: Span) {
    spec.links.extend(joined(a, b, rate, delay, Span::from_millis(10)));
}

/// Both directions of a link, each with a queue of this time at its rate.
pub(super) fn joined(a: usize, b: usize, rate: Rate, delay: Span, queue: Span) -> [LinkSpec; 2] {
    let limit = Limit::Bytes(rate.bytes_in(queue));
    let [a, b] = [a, b].map(|node| NodeId(node as u32));
    [(a, b), (b, a)].map(|(a, b)| LinkSpec::new(a, b, rate, delay, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_has_its_size_and_a_power_law_of_degrees() {
        let spec = network(10, 1);
        assert_eq!(spec.nodes.len(), SCALE_ROUTERS + SCALE_HOSTS);
        assert_eq!(spec.links.len(), 2 * (1 + (SCALE_ROUTERS - 2) * 2 + SCALE_HOSTS));
        let mut degree = vec![0usize; SCALE_ROUTERS];
        for link in spec.links.iter().filter(|link| link.to.index() < SCALE_ROUTERS) {
            if link.from.index() < SCALE_ROUTERS {
                degree[link.from.index()] += 1;
            }
        }
        // P(degree >= k) is about (m / k)^2 with m = 2: doubling k leaves a quarter.
        let at_least = |k: usize| degree.iter().filter(|&&d| d >= k).count() as f64;
        for k in [4, 8, 16] {
            let ratio = at_least(2 * k) / at_least(k);
            assert!((0.18..0.34).contains(&ratio), "{k}: {ratio}");
        }
    }

    #[test]
    fn more_flows_leave_the_first_as_they_were() {
        let (few, more) = (network(100, 1), network(1_000, 1));
        assert_eq!(few.flows[..], more.flows[..100]);
        // Mean of the bounded Pareto: a/(a-1) xm (1-(xm/B)^(a-1)) / (1-(xm/B)^a) = 16.1; floor
        // takes half a packet.
        let sum: u64 = (0..1_000_000).map(|i| packets((i as f64 + 0.5) / 1e6)).sum();
        let mean = sum as f64 / 1e6;
        assert!((15.3..15.9).contains(&mean), "{mean}");
    }
}
