//! Random INRPP networks in which every flow lasts: flows over one or several hops that come one by
//! one, some of plain TCP, between routers in series or in a ring, or in a mesh with paths of equal
//! cost, fast links, detours, traffic both ways and links that fail. Each has a share by max-min
//! fairness.

use crate::pool::{config, pooled_link, router, settings, transport};
use crate::random::log_uniform;
use crate::world::World;
use forebay_base::{LinkId, NodeId, Rate, Rng, Span, Stream, Time};
use forebay_net::{EqualCosts, NetEvent, NetSpec, RouteRule};
use forebay_router::inrpp::CacheLimits;
use forebay_router::{Edge, ShortestPaths};

const PACKET_BYTES: u64 = 1500;
const ACCESS_DELAY: Span = Span::from_millis(1);
/// Timers of what a failure has cost have doubled a few times by then.
const REPAIR: Span = Span::from_secs(20);

/// A network and what each of its flows should have.
pub struct Crowd {
    /// The network; flows without end.
    pub spec: NetSpec,
    /// Of each flow: true if it speaks INRPP.
    pub pooled: Vec<bool>,
    /// Max-min share of each flow over its shortest path alone, with headers, in bit/s.
    pub shares_bps: Vec<f64>,
    /// The links between routers that each flow takes.
    pub paths: Vec<Vec<LinkId>>,
    /// Round trip of each flow over empty links.
    pub rtts: Vec<Span>,
    /// When the last flow has started, and what a failure has cost is repaired.
    pub settled_at: Time,
}

/// A flow: its first router, the number of links between routers that it takes, its access.
struct Plan {
    first: usize,
    hops: usize,
    access: Rate,
    start: Time,
    pooled: bool,
}

/// The network of a seed.
pub fn crowd(seed: u64) -> Crowd {
    let mut rng = Rng::new(seed, Stream::Test, 2);
    let ring = rng.chance(0.4);
    // In a ring of fewer than five not every way of two hops is the shortest.
    let routers = if ring { 5 + rng.below(2) as usize } else { 2 + rng.below(5) as usize };
    let links = if ring { routers } else { routers - 1 };
    let rates: Vec<Rate> =
        (0..links).map(|_| Rate::clamped(log_uniform(&mut rng, 1e6, 5e6) as u64)).collect();
    let delays: Vec<Span> =
        (0..links).map(|_| Span::from_secs_f64(log_uniform(&mut rng, 0.001, 0.006))).collect();
    let plans: Vec<Plan> = (0..2 + rng.below(7)).map(|_| plan(&mut rng, ring, links)).collect();
    let demands: Vec<Vec<usize>> = plans
        .iter()
        .map(|plan| (0..plan.hops).map(|hop| (plan.first + hop) % links).collect())
        .collect();
    let rtts: Vec<Span> = demands
        .iter()
        .map(|way| {
            way.iter().map(|&l| delays[l]).fold(ACCESS_DELAY * 2, |sum, delay| sum + delay) * 2
        })
        .collect();
    let shares_bps = max_min(&rates, &plans, &demands);
    let mut world = World::new();
    let limits = caches(&mut rng, &plans, &rates, &rtts);
    let settings = settings(limits);
    let nodes: Vec<NodeId> =
        (0..routers).map(|i| router(&mut world, &format!("r{i}"), &settings)).collect();
    for link in 0..links {
        let (a, b) = (nodes[link], nodes[(link + 1) % routers]);
        world.join(a, b, pooled_link(rates[link], delays[link]));
    }
    let ends = plans.iter().map(|plan| (plan.first, (plan.first + plan.hops) % routers));
    join_hosts(&mut world, &nodes, &plans, ends);
    let settled_at = last_start(&plans);
    let pooled = plans.iter().map(|plan| plan.pooled).collect();
    let forwards = |link: usize| LinkId(2 * link as u32);
    let paths = demands.into_iter().map(|way| way.into_iter().map(forwards).collect()).collect();
    Crowd { spec: world.spec, pooled, shares_bps, paths, rtts, settled_at }
}

/// The sender and the receiver of each flow at the routers at the `ends` of its path.
fn join_hosts(
    world: &mut World,
    nodes: &[NodeId],
    plans: &[Plan],
    ends: impl Iterator<Item = (usize, usize)>,
) {
    let kinds = [transport(world, "cubic", config()), transport(world, "inrpp", config())];
    for (i, (plan, (from, to))) in plans.iter().zip(ends).enumerate() {
        let (s, d) = (world.host(&format!("s{i}")), world.host(&format!("d{i}")));
        let access = pooled_link(plan.access, ACCESS_DELAY);
        world.join(s, nodes[from], access.clone());
        world.join(nodes[to], d, access);
        world.flow((s, d), plan.start, None, kinds[plan.pooled as usize]);
    }
}

fn last_start(plans: &[Plan]) -> Time {
    plans.iter().map(|plan| plan.start).max().expect("flows")
}

/// A link of a mesh.
struct Joint {
    ends: [usize; 2],
    rate: Rate,
    delay: Span,
}

/// The mesh of a seed. A share is that over the shortest path alone: a detour takes what is spare.
pub fn mesh(seed: u64) -> Crowd {
    let mut rng = Rng::new(seed, Stream::Test, 3);
    let routers = 4 + rng.below(5) as usize;
    let joints = joints(&mut rng, routers);
    let edges = joints.iter().map(|joint| {
        let ends = joint.ends.map(|end| NodeId(end as u32));
        Edge { ends, weight: 1 }
    });
    let rule = RouteRule { trees: 1, equal_costs: EqualCosts::Symmetric };
    let mut paths = ShortestPaths::new(rule, (0..routers).map(|_| true), edges);
    let mut plans = Vec::new();
    let (mut ends, mut demands) = (Vec::new(), Vec::new());
    for _ in 0..2 + rng.below(7) {
        let from = rng.below(routers as u64) as usize;
        let to = (from + 1 + rng.below(routers as u64 - 1) as usize) % routers;
        paths.search(NodeId(to as u32), 0);
        let next = |link: &LinkId| {
            let end = joints[link.index() / 2].ends[1 - link.index() % 2];
            paths.next(NodeId(end as u32))
        };
        let path = std::iter::successors(paths.next(NodeId(from as u32)), next);
        demands.push(path.map(|link| link.index()).collect::<Vec<usize>>());
        plans.push(plan(&mut rng, false, 1));
        ends.push((from, to));
    }
    let rates: Vec<Rate> = joints.iter().flat_map(|joint| [joint.rate; 2]).collect();
    let rtt = |path: &Vec<usize>| {
        path.iter().map(|link| joints[link / 2].delay).fold(ACCESS_DELAY * 2, |a, b| a + b) * 2
    };
    let rtts: Vec<Span> = demands.iter().map(rtt).collect();
    let shares_bps = max_min(&rates, &plans, &demands);
    let mut world = World::new();
    world.spec.routes = rule;
    let settings = settings(caches(&mut rng, &plans, &rates, &rtts));
    let nodes: Vec<NodeId> =
        (0..routers).map(|i| router(&mut world, &format!("r{i}"), &settings)).collect();
    for Joint { ends, rate, delay } in &joints {
        let [a, b] = ends.map(|end| nodes[end]);
        world.join(a, b, pooled_link(*rate, *delay));
    }
    join_hosts(&mut world, &nodes, &plans, ends.into_iter());
    let failed = fail(&mut world, &mut rng, joints.len());
    let settled_at = last_start(&plans).max(failed.map_or(Time::ZERO, |at| at + REPAIR));
    let pooled = plans.iter().map(|plan| plan.pooled).collect();
    let link = |link: usize| LinkId(link as u32);
    let paths = demands.into_iter().map(|path| path.into_iter().map(link).collect()).collect();
    Crowd { spec: world.spec, pooled, shares_bps, paths, rtts, settled_at }
}

/// A tree and as many links again or fewer, a quarter of them fast.
fn joints(rng: &mut Rng, routers: usize) -> Vec<Joint> {
    let mut pairs: Vec<[usize; 2]> =
        (1..routers).map(|r| [rng.below(r as u64) as usize, r]).collect();
    for _ in 0..rng.below(2 * routers as u64) {
        let (a, b) = (rng.below(routers as u64) as usize, rng.below(routers as u64) as usize);
        let pair = [a.min(b), a.max(b)];
        if a != b && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let joint = |ends| {
        let most_bps = if rng.chance(0.25) { 1e8 } else { 5e6 };
        let rate = Rate::clamped(log_uniform(rng, most_bps / 5.0, most_bps) as u64);
        Joint { ends, rate, delay: Span::from_secs_f64(log_uniform(rng, 0.001, 0.006)) }
    };
    pairs.into_iter().map(joint).collect()
}

/// In every other network a link fails, for a second at most. When it has healed.
fn fail(world: &mut World, rng: &mut Rng, links: usize) -> Option<Time> {
    if rng.chance(0.5) {
        return None;
    }
    let link = LinkId(2 * rng.below(links as u64) as u32);
    let at = Time::from_nanos(rng.below(2_000_000_000));
    let heals = at + Span::from_secs_f64(log_uniform(rng, 0.01, 1.0));
    for one in [link, link.opposite()] {
        world.event(at, NetEvent::Down(one));
        world.event(heals, NetEvent::Up(one));
    }
    Some(heals)
}

fn plan(rng: &mut Rng, ring: bool, links: usize) -> Plan {
    let first = rng.below(links as u64) as usize;
    let most_hops = if ring { 2 } else { links - first };
    let hops = 1 + rng.below(most_hops as u64) as usize;
    // Some hosts are slower than what they share.
    let access = Rate::clamped(log_uniform(rng, 2e6, 4e7) as u64);
    let start = Time::from_nanos(rng.below(1_500_000_000));
    Plan { first, hops, access, start, pooled: !rng.chance(0.15) }
}

/// Room above S_high for what all senders send in the longest round trip and in that of the ACKs of
/// all of them. S_high has room for ten packets or more, however many flows there are.
fn caches(rng: &mut Rng, plans: &[Plan], rates: &[Rate], rtts: &[Span]) -> CacheLimits {
    let offered_bps: u64 = plans.iter().map(|plan| plan.access.bps()).sum();
    let slowest = rates.iter().min().expect("links");
    let spacing = slowest.span_of(plans.len() as u64 * PACKET_BYTES);
    // Queues hold 50 ms each: two of hosts, and those of the links.
    let queues = Span::from_millis(50) * (rates.len() as u64 + 2);
    let longest = *rtts.iter().max().expect("flows") + spacing + queues;
    let room = (offered_bps as f64 / 8.0 * longest.as_secs_f64()) as u64;
    let high_bytes = (log_uniform(rng, 10.0, 200.0) * PACKET_BYTES as f64) as u64;
    let low_bytes = 1 + rng.below(high_bytes);
    CacheLimits { low_bytes, high_bytes, total_bytes: high_bytes + room }
}

/// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates rise
/// together; where a link is full, those that cross it stay.
fn max_min(rates: &[Rate], plans: &[Plan], demands: &[Vec<usize>]) -> Vec<f64> {
    let mut left: Vec<f64> = rates.iter().map(|rate| rate.bps() as f64).collect();
    let mut shares = vec![0.0; plans.len()];
    let mut rising: Vec<usize> = (0..plans.len()).collect();
    while !rising.is_empty() {
        let crossing = |link: usize| rising.iter().filter(|&&f| demands[f].contains(&link)).count();
        let by_link = (0..left.len()).filter(|&l| crossing(l) > 0);
        let by_link = by_link.map(|l| left[l] / crossing(l) as f64);
        let by_access = rising.iter().map(|&f| plans[f].access.bps() as f64 - shares[f]);
        let step = by_link.chain(by_access).fold(f64::INFINITY, f64::min);
        for &flow in &rising {
            shares[flow] += step;
            demands[flow].iter().for_each(|&link| left[link] -= step);
        }
        let done = |flow: usize| {
            let full = demands[flow].iter().any(|&link| left[link] < 1.0);
            full || plans[flow].access.bps() as f64 - shares[flow] < 1.0
        };
        rising.retain(|&flow| !done(flow));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figure of the book: links of 1, three flows over one link each, one over all; and a
    /// host that has less than its part.
    #[test]
    fn shares_are_those_of_the_book() {
        let plan = |first, hops, mbps| Plan {
            first,
            hops,
            access: Rate::mbps(mbps),
            start: Time::ZERO,
            pooled: true,
        };
        let plans = [plan(0, 2, 9), plan(0, 1, 9), plan(1, 1, 9), plan(1, 1, 1)];
        let demands = [vec![0, 1], vec![0], vec![1], vec![1]];
        let shares = max_min(&[Rate::mbps(12), Rate::mbps(6)], &plans, &demands);
        // Of 6 Mbit/s one takes 1, the others 2.5 each; of 12 what is left is more than a host has.
        assert_eq!(shares, [2.5e6, 9e6, 2.5e6, 1e6]);
    }
}
