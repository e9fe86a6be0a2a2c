//! Maps made by rules. The same parameters and seed give the same map.

use crate::map::{MAX_LINKS, MAX_NODES, Map, MapLink, MapNode, Role};
use forebay_base::{Rng, Stream};
use std::collections::BTreeSet;

/// Most links of a router in a random mesh, on average.
pub const MAX_DEGREE: u32 = 1_000;
/// Most routers of a Gabriel graph: each pair of them is looked at.
const MAX_GABRIEL: u32 = 5_000;

/// A rule that makes a connected map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Generator {
    /// Routers `r0` to `r(n - 1)` in a row.
    Chain {
        /// Routers, 1 or more.
        nodes: u32,
    },
    /// Routers `r0` to `r(n - 1)` in a ring.
    Ring {
        /// Routers, 3 or more.
        nodes: u32,
    },
    /// A random mesh: a ring in random order, and random links until routers have `degree` of them
    /// on average.
    Mesh {
        /// Routers, 3 or more.
        nodes: u32,
        /// Links of a router on average, 2 to `nodes` - 1: then all are joined with all.
        degree: u32,
        /// Seed of the random choices.
        seed: u64,
    },
    /// Transit and stub domains as in GT-ITM (Zegura, Calvert and Bhattacharjee, "How to Model an
    /// Internetwork", INFOCOM 1996): routers `t0.1` (transit domain 0) and `s0.1.2.3` (router 3 of
    /// stub domain 2 of `t0.1`). Domains are random meshes; transit domains form one as well, and
    /// each stub domain has one link to its transit router.
    TransitStub {
        /// Transit domains, 1 or more.
        domains: u32,
        /// Routers of each, 1 or more.
        transit: u32,
        /// Stub domains of each transit router.
        stubs: u32,
        /// Routers of each, 1 or more.
        stub: u32,
        /// Links of a router within its domain on average, where the domain has so many others.
        degree: u32,
        /// Seed of the random choices.
        seed: u64,
    },
    /// A fat tree (Al-Fares, Loukissas and Vahdat, SIGCOMM 2008) of switches with `ports` ports:
    /// core switches `c0` …, and in pod P `aP.0` … (aggregation) and `eP.0` … (edge).
    FatTree {
        /// Ports of a switch, an even number.
        ports: u32,
    },
    /// A Gabriel graph (Gabriel and Sokal 1969, doi:10.2307/2412323): routers at random places of a
    /// square; two are joined if the circle whose diameter they are holds no other.
    Gabriel {
        /// Routers, 2 or more.
        nodes: u32,
        /// Length of a side of the square, in km.
        side_km: f64,
        /// Seed of the random places.
        seed: u64,
    },
}

/// Parameters of which there is no map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct GeneratorError {
    /// The parameter.
    pub param: &'static str,
    /// What it may be.
    pub expected: String,
}

fn wrong(param: &'static str, expected: impl Into<String>) -> GeneratorError {
    GeneratorError { param, expected: expected.into() }
}

impl Generator {
    /// The number of routers and links, without making them; of random maps about so many links.
    ///
    /// # Errors
    ///
    /// If a parameter is out of its range, or the map would be larger than [`MAX_NODES`] and
    /// [`MAX_LINKS`].
    pub fn size(&self) -> Result<[u64; 2], GeneratorError> {
        let sum = |nodes: u32, degree: u32| u64::from(nodes) * u64::from(degree) / 2;
        let (size, param) = match *self {
            Generator::Chain { nodes } => {
                least("nodes", nodes, 1)?;
                ([u64::from(nodes), u64::from(nodes - 1)], "nodes")
            }
            Generator::Ring { nodes } => {
                least("nodes", nodes, 3)?;
                ([u64::from(nodes); 2], "nodes")
            }
            Generator::Mesh { nodes, degree, .. } => {
                least("nodes", nodes, 3)?;
                let most = (nodes - 1).min(MAX_DEGREE);
                if !(2..=most).contains(&degree) {
                    return Err(wrong("degree", format!("2 to {most}, with {nodes} nodes")));
                }
                ([u64::from(nodes), sum(nodes, degree)], "nodes")
            }
            Generator::TransitStub { domains, transit, stubs, stub, degree, .. } => {
                least("domains", domains, 1)?;
                least("transit", transit, 1)?;
                least("stub", stub, 1)?;
                if !(2..=MAX_DEGREE).contains(&degree) {
                    return Err(wrong("degree", format!("2 to {MAX_DEGREE}")));
                }
                let product = |a: u64, b: u32| a.saturating_mul(u64::from(b));
                let transits = product(domains.into(), transit);
                let all = product(product(transits, stubs), stub).saturating_add(transits);
                ([all, all.saturating_mul(u64::from(degree)) / 2], "stubs")
            }
            Generator::FatTree { ports } => {
                if ports < 2 || !ports.is_multiple_of(2) {
                    return Err(wrong("ports", "an even number, 2 or more"));
                }
                let half = u64::from(ports / 2);
                let ports = u64::from(ports);
                ([half * half + ports * ports, ports.saturating_mul(2 * half * half)], "ports")
            }
            Generator::Gabriel { nodes, side_km, .. } => {
                if !(2..=MAX_GABRIEL).contains(&nodes) {
                    return Err(wrong("nodes", format!("2 to {MAX_GABRIEL}")));
                }
                if !(side_km > 0.0 && side_km <= 1e6) {
                    return Err(wrong("side_km", "more than 0, at most 1000000 km"));
                }
                ([u64::from(nodes), 2 * u64::from(nodes)], "nodes")
            }
        };
        if size[0] > MAX_NODES as u64 || size[1] > MAX_LINKS as u64 {
            let expected = format!("at most {MAX_NODES} routers and {MAX_LINKS} links in all");
            return Err(wrong(param, expected));
        }
        Ok(size)
    }

    /// The map.
    ///
    /// # Errors
    ///
    /// As [`Generator::size`].
    pub fn map(&self) -> Result<Map, GeneratorError> {
        self.size()?;
        Ok(match *self {
            Generator::Chain { nodes } => {
                let mut map = routers(nodes);
                map.links = (1..nodes as usize).map(|b| MapLink::between(b - 1, b)).collect();
                map
            }
            Generator::Ring { nodes } => {
                let mut map = routers(nodes);
                let all = nodes as usize;
                map.links = (0..all).map(|a| MapLink::between(a, (a + 1) % all)).collect();
                map
            }
            Generator::Mesh { nodes, degree, seed } => {
                let mut map = routers(nodes);
                let mut rng = Rng::new(seed, Stream::Map, 0);
                let all: Vec<usize> = (0..nodes as usize).collect();
                map.join(&all, degree as usize, &mut rng);
                map
            }
            Generator::TransitStub { domains, transit, stubs, stub, degree, seed } => {
                let sizes = Domains { domains, transit, stubs, stub, degree: degree as usize };
                sizes.map(&mut Rng::new(seed, Stream::Map, 0))
            }
            Generator::FatTree { ports } => fat_tree(ports as usize / 2),
            Generator::Gabriel { nodes, side_km, seed } => {
                gabriel(nodes, side_km, &mut Rng::new(seed, Stream::Map, 0))
            }
        })
    }
}

fn least(param: &'static str, value: u32, least: u32) -> Result<(), GeneratorError> {
    if value >= least { Ok(()) } else { Err(wrong(param, format!("{least} or more"))) }
}

/// Routers `r0`, `r1`, …, without links.
fn routers(nodes: u32) -> Map {
    let name = |i: u32| MapNode { name: format!("r{i}"), ..MapNode::default() };
    Map { nodes: (0..nodes).map(name).collect(), ..Map::default() }
}

impl Map {
    fn add(&mut self, name: String, role: Role) -> usize {
        self.nodes.push(MapNode { name, role: Some(role), ..MapNode::default() });
        self.nodes.len() - 1
    }

    /// Join nodes by a ring in random order (a link, if they are two), and random links until they
    /// have `degree` on average, or all are joined with all.
    fn join(&mut self, nodes: &[usize], degree: usize, rng: &mut Rng) {
        let all = nodes.len();
        let mut order = nodes.to_vec();
        for i in (1..all).rev() {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let steps = if all == 2 { 1 } else { all };
        let ring = (0..steps).map(|i| [order[i], order[(i + 1) % all]]);
        let ring = ring.filter(|[a, b]| a != b).map(|[a, b]| [a.min(b), a.max(b)]);
        let mut pairs: Vec<[usize; 2]> = ring.collect();
        let mut joined: BTreeSet<[usize; 2]> = pairs.iter().copied().collect();
        let complete = all * all.saturating_sub(1) / 2;
        let wanted = (all * degree / 2).min(complete);
        // Where most pairs are wanted, they are drawn from a list: else most draws are known.
        if wanted * 2 > complete {
            let of = |i: usize| (i + 1..all).map(move |j| [nodes[i], nodes[j]]);
            let others = (0..all).flat_map(of).map(|[a, b]| [a.min(b), a.max(b)]);
            let mut rest: Vec<[usize; 2]> = others.filter(|pair| !joined.contains(pair)).collect();
            while pairs.len() < wanted {
                pairs.push(rest.swap_remove(rng.below(rest.len() as u64) as usize));
            }
        }
        while pairs.len() < wanted {
            let [a, b] = [0; 2].map(|_| nodes[rng.below(all as u64) as usize]);
            let pair = [a.min(b), a.max(b)];
            if a != b && joined.insert(pair) {
                pairs.push(pair);
            }
        }
        self.links.extend(pairs.into_iter().map(|[a, b]| MapLink::between(a, b)));
    }
}

/// The sizes of a transit-stub map.
struct Domains {
    domains: u32,
    transit: u32,
    stubs: u32,
    stub: u32,
    degree: usize,
}

impl Domains {
    fn map(&self, rng: &mut Rng) -> Map {
        let mut map = Map::default();
        let mut transits: Vec<Vec<usize>> = Vec::new();
        for domain in 0..self.domains {
            let names = (0..self.transit).map(|i| format!("t{domain}.{i}"));
            let nodes: Vec<usize> = names.map(|name| map.add(name, Role::Transit)).collect();
            map.join(&nodes, self.degree, rng);
            transits.push(nodes);
        }
        // The domains are joined as routers would be, each time at a router that is drawn.
        let mut between = Map::default();
        let numbers: Vec<usize> = (0..transits.len()).collect();
        between.join(&numbers, self.degree, rng);
        for link in between.links {
            let [a, b] = link.ends.map(|domain| *pick(&transits[domain], rng));
            map.links.push(MapLink::between(a, b));
        }
        for transit in transits.into_iter().flatten() {
            let above = map.nodes[transit].name.replacen('t', "s", 1);
            for stub in 0..self.stubs {
                let names = (0..self.stub).map(|i| format!("{above}.{stub}.{i}"));
                let nodes: Vec<usize> = names.map(|name| map.add(name, Role::Stub)).collect();
                map.join(&nodes, self.degree, rng);
                let end = *pick(&nodes, rng);
                map.links.push(MapLink::between(transit, end));
            }
        }
        map
    }
}

fn pick<'a, T>(of: &'a [T], rng: &mut Rng) -> &'a T {
    &of[rng.below(of.len() as u64) as usize]
}

/// Of switches with twice `half` ports.
fn fat_tree(half: usize) -> Map {
    let mut map = Map::default();
    let core: Vec<usize> = (0..half * half).map(|i| map.add(format!("c{i}"), Role::Core)).collect();
    for pod in 0..2 * half {
        let above: Vec<usize> =
            (0..half).map(|i| map.add(format!("a{pod}.{i}"), Role::Aggregation)).collect();
        for (i, &switch) in above.iter().enumerate() {
            let group = &core[i * half..][..half];
            map.links.extend(group.iter().map(|&top| MapLink::between(top, switch)));
        }
        for i in 0..half {
            let edge = map.add(format!("e{pod}.{i}"), Role::Edge);
            map.links.extend(above.iter().map(|&switch| MapLink::between(switch, edge)));
        }
    }
    map
}

fn gabriel(nodes: u32, side_km: f64, rng: &mut Rng) -> Map {
    let mut map = routers(nodes);
    let places: Vec<[f64; 2]> =
        (0..nodes).map(|_| [rng.unit() * side_km, rng.unit() * side_km]).collect();
    for (node, &at) in map.nodes.iter_mut().zip(&places) {
        node.at = Some(at);
    }
    let square = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
    for (a, &from) in places.iter().enumerate() {
        // A third router in the circle of two is nearer to each than they are to each other.
        let mut near: Vec<usize> = (0..places.len()).filter(|&other| other != a).collect();
        near.sort_by(|&x, &y| square(from, places[x]).total_cmp(&square(from, places[y])));
        for (rank, &b) in near.iter().enumerate().filter(|&(_, &b)| b > a) {
            let diameter = square(from, places[b]);
            let inside =
                |&c: &usize| square(from, places[c]) + square(places[c], places[b]) < diameter;
            if !near[..rank].iter().any(inside) {
                let length_m = Some(libm::sqrt(diameter) * 1e3);
                map.links.push(MapLink { length_m, ..MapLink::between(a, b) });
            }
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::Properties;

    /// Nodes, links and degrees of a map that must be simple and connected.
    fn shape(generator: Generator) -> (usize, usize, Vec<usize>) {
        let map = generator.map().expect("a map");
        assert_eq!(Ok(map.clone()), generator.map(), "the same again");
        let names: BTreeSet<_> = map.nodes.iter().map(|node| &node.name).collect();
        assert_eq!(names.len(), map.nodes.len(), "names are unique");
        let found = Properties::of(&map);
        assert_eq!((found.components, found.loops, found.parallel), (1, 0, 0), "{generator:?}");
        (found.nodes, found.links, found.degrees)
    }

    #[test]
    fn chains_and_rings() {
        assert_eq!(shape(Generator::Chain { nodes: 1 }), (1, 0, vec![1]));
        assert_eq!(shape(Generator::Chain { nodes: 5 }), (5, 4, vec![0, 2, 3]));
        assert_eq!(shape(Generator::Ring { nodes: 6 }), (6, 6, vec![0, 0, 6]));
        let ring = Generator::Ring { nodes: 7 }.map().expect("a map");
        assert_eq!(Properties::of(&ring).diameter, Some(3));
    }

    #[test]
    fn meshes_have_their_degree() {
        for (nodes, degree) in [(3, 2), (10, 3), (50, 4), (50, 30), (200, 2)] {
            for seed in 1..=3 {
                let (found, links, degrees) = shape(Generator::Mesh { nodes, degree, seed });
                assert_eq!((found, links), (nodes as usize, (nodes * degree / 2) as usize));
                assert_eq!(degrees[..2], [0, 0], "each is on the ring");
            }
        }
        let complete = Generator::Mesh { nodes: 8, degree: 7, seed: 1 };
        assert_eq!(shape(complete), (8, 28, vec![0, 0, 0, 0, 0, 0, 0, 8]));
        let seeds = [1, 2].map(|seed| Generator::Mesh { nodes: 20, degree: 3, seed }.map());
        assert_ne!(seeds[0], seeds[1]);
    }

    /// 2 transit domains of 4 routers, each with 3 stub domains of 5: 8 + 120 routers. Domains of
    /// degree 3 have 6 and 7 links, the two domains one, and each stub domain one more.
    #[test]
    fn transit_and_stub_domains() {
        let (domains, transit, stubs, stub) = (2, 4, 3, 5);
        let generator =
            Generator::TransitStub { domains, transit, stubs, stub, degree: 3, seed: 1 };
        let (nodes, links, _) = shape(generator);
        assert_eq!((nodes, links), (128, 2 * 6 + 1 + 24 * (7 + 1)));
        let map = generator.map().expect("a map");
        let count = |role| map.nodes.iter().filter(|node| node.role == Some(role)).count();
        assert_eq!([Role::Transit, Role::Stub].map(count), [8, 120]);
        assert_eq!(map.edges().len(), 120);
        // No stub domain is joined with another: a link between two of them would carry transit.
        let domain = |i: usize| map.nodes[i].name.rsplit_once('.').expect("a dot").0.to_string();
        let is = |i: usize, role| map.nodes[i].role == Some(role);
        for link in map.links.iter().filter(|link| link.ends.iter().all(|&i| is(i, Role::Stub))) {
            assert_eq!(domain(link.ends[0]), domain(link.ends[1]));
        }
        let one = Generator::TransitStub {
            domains: 1,
            transit: 1,
            stubs: 0,
            stub: 1,
            degree: 2,
            seed: 1,
        };
        assert_eq!(shape(one), (1, 0, vec![1]));
    }

    /// k ports: (k/2)^2 core switches, k pods of k switches, k^3/2 links; edge switches have k/2
    /// ports left for hosts, all others none.
    #[test]
    fn fat_trees_have_the_published_sizes() {
        for k in [2, 4, 6, 8] {
            let (nodes, links, degrees) = shape(Generator::FatTree { ports: k as u32 });
            assert_eq!((nodes, links), (k * k / 4 + k * k, k * k * k / 2), "{k}");
            assert_eq!(degrees[k / 2], k * k / 2, "edge switches");
            assert_eq!(degrees[k], k * k / 4 + k * k / 2, "the others");
        }
        let map = Generator::FatTree { ports: 4 }.map().expect("a map");
        assert_eq!(Properties::of(&map).diameter, Some(4));
    }

    /// Against the definition, pair by pair.
    #[test]
    fn gabriel_graphs_meet_their_definition() {
        let map = Generator::Gabriel { nodes: 60, side_km: 1000.0, seed: 7 }.map().expect("a map");
        shape(Generator::Gabriel { nodes: 60, side_km: 1000.0, seed: 7 });
        let at = |i: usize| map.nodes[i].at.expect("each has a place");
        let joined: BTreeSet<_> = map.links.iter().map(|link| link.pair()).collect();
        for a in 0..60 {
            for b in a + 1..60 {
                let middle = [0, 1].map(|axis| (at(a)[axis] + at(b)[axis]) / 2.0);
                let far = |p: [f64; 2]| libm::hypot(p[0] - middle[0], p[1] - middle[1]);
                let radius = far(at(a));
                let inside = (0..60).filter(|&c| c != a && c != b).any(|c| far(at(c)) < radius);
                assert_eq!(joined.contains(&[a, b]), !inside, "{a} and {b}");
            }
        }
        for link in &map.links {
            let [a, b] = link.ends.map(at);
            let km = libm::hypot(a[0] - b[0], a[1] - b[1]);
            assert!((link.length_m.expect("known") - km * 1e3).abs() < 1e-3);
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let param = |generator: Generator| generator.map().expect_err("no map").param;
        assert_eq!(param(Generator::Chain { nodes: 0 }), "nodes");
        assert_eq!(param(Generator::Ring { nodes: 2 }), "nodes");
        assert_eq!(param(Generator::Mesh { nodes: 5, degree: 5, seed: 1 }), "degree");
        assert_eq!(param(Generator::Mesh { nodes: 5, degree: 1, seed: 1 }), "degree");
        assert_eq!(param(Generator::FatTree { ports: 3 }), "ports");
        assert_eq!(param(Generator::FatTree { ports: 100_000 }), "ports");
        assert_eq!(param(Generator::Gabriel { nodes: 9, side_km: 0.0, seed: 1 }), "side_km");
        assert_eq!(param(Generator::Chain { nodes: u32::MAX }), "nodes");
        let many = Generator::TransitStub {
            domains: u32::MAX,
            transit: u32::MAX,
            stubs: u32::MAX,
            stub: u32::MAX,
            degree: 2,
            seed: 1,
        };
        assert_eq!(param(many), "stubs");
    }
}
