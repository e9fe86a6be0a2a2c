//! The network of a drawing: from the text of a scenario, or from a map.

use super::network_ways::FlowWays;
use super::scenario_text::{LinkText, NodeText, ScenarioFile};
use forebay_base::Rate;
use forebay_scenario::LinkNames;
use forebay_topology::{Map, MapLink, MapNode, Role, positions};
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};

/// Most nodes of a network whose hosts are drawn.
const MAX_WITH_HOSTS: usize = 100;

/// A network, as far as it is drawn.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Routers first, then the hosts that are drawn.
    pub(super) nodes: Vec<DrawnNode>,
    pub(super) links: Vec<DrawnLink>,
    /// Of flows over several paths.
    pub(super) flow_ways: FlowWays,
    /// Loads are known.
    pub(super) measured: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct DrawnNode {
    pub name: String,
    pub at: [f64; 2],
    pub is_host: bool,
    pub role: Option<Role>,
    /// Hosts at it that are not drawn.
    pub hosts: usize,
}

/// A link, and for each direction what is known of it.
#[derive(Clone, Debug, Default)]
pub(super) struct DrawnLink {
    /// Of the link in the text, from 0.
    pub number: usize,
    pub ends: [usize; 2],
    pub ways: [Way; 2],
}

/// One direction of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    /// Its name in results.
    pub name: String,
    pub rate_bps: Option<f64>,
    pub utilisation: Option<f64>,
    /// Most bytes in the cache of its port, and the size of that.
    pub cache_bytes: Option<[u64; 2]>,
    /// Share of the bytes for it that took a detour.
    pub detoured: f64,
}

/// A link between two nodes of a text, by number.
struct Joined {
    number: usize,
    ends: [usize; 2],
    ways: [Way; 2],
}

impl Network {
    /// Most routers of a network that is drawn.
    pub const MAX_ROUTERS: usize = 600;

    /// The network of a scenario whose groups are expanded, as [`Scenario::to_toml`] writes it and
    /// folders of results have it; None if it has no link, or more routers than a drawing shows.
    ///
    /// [`Scenario::to_toml`]: forebay_scenario::Scenario::to_toml
    pub fn of_scenario(text: &str) -> Option<Network> {
        Network::of_file(toml::from_str(text).ok()?)
    }

    pub(super) fn of_file(file: ScenarioFile) -> Option<Network> {
        let flow_ways = FlowWays::of_file(&file);
        let ScenarioFile { routers, hosts, links, .. } = file;
        let first_host = routers.len();
        let mut map = Map::default();
        let mut numbers = BTreeMap::new();
        for node in routers.into_iter().chain(hosts) {
            let node = match node {
                NodeText::Name(name) => MapNode { name, ..MapNode::default() },
                NodeText::Table { name, at, role } => {
                    let role = Role::ALL.into_iter().find(|of| Some(of.name()) == role.as_deref());
                    MapNode { name, at, role, ..MapNode::default() }
                }
            };
            numbers.insert(node.name.clone(), map.nodes.len());
            map.nodes.push(node);
        }
        let own: Vec<String> = links.iter().map(LinkText::name).collect();
        let ends = |link: &LinkText| [link.a.clone(), link.b.clone()];
        let names = LinkNames::of_links(own.into_iter().zip(links.iter().map(ends)));
        let joined = links.iter().enumerate().filter_map(|(number, link)| {
            let ends = [*numbers.get(&link.a)?, *numbers.get(&link.b)?];
            let reverse = link.reverse.as_ref().and_then(|of| of.rate).or(link.rate);
            let way = |index: usize, rate: Option<Rate>| Way {
                name: names.of(index).to_string(),
                rate_bps: rate.map(|rate| rate.bps() as f64),
                ..Way::default()
            };
            let ways = [way(2 * number, link.rate), way(2 * number + 1, reverse)];
            Some(Joined { number, ends, ways })
        });
        let joined = joined.collect();
        let network = Network::new(map, first_host, joined)?;
        Some(Network { flow_ways, ..network })
    }

    /// The network of a map; None as [`Network::of_scenario`].
    pub fn of_map(map: &Map) -> Option<Network> {
        let map = map.clone().without_loops();
        let joined = map.links.iter().enumerate().map(|(number, link)| {
            let [a, b] = link.ends.map(|end| map.nodes[end].name.as_str());
            let rate_bps = link.rate_bps.map(|bps| bps as f64);
            let way = |name: String| Way { name, rate_bps, ..Way::default() };
            let ways = [way(format!("{a}-{b}")), way(format!("{b}-{a}"))];
            Joined { number, ends: link.ends, ways }
        });
        let joined = joined.collect();
        let routers = map.nodes.len();
        Network::new(map, routers, joined)
    }

    /// Nodes from number `routers` on are hosts.
    fn new(map: Map, routers: usize, joined: Vec<Joined>) -> Option<Network> {
        if routers == 0 || joined.is_empty() || routers > Network::MAX_ROUTERS {
            return None;
        }
        let all = map.nodes.len();
        let mut degree = vec![0; all];
        for end in joined.iter().flat_map(|link| link.ends) {
            degree[end] += 1;
        }
        // A host with several links is a part of the network; others are drawn where there is room.
        let room = all <= MAX_WITH_HOSTS;
        let is_inner = |node: usize| node < routers || degree[node] > 1;
        let mut place = vec![None; all];
        let mut inner = Map { links: Vec::new(), nodes: Vec::new(), ..map.clone() };
        for node in (0..all).filter(|&node| is_inner(node)) {
            place[node] = Some(inner.nodes.len());
            inner.nodes.push(map.nodes[node].clone());
        }
        for link in &joined {
            if let [Some(a), Some(b)] = link.ends.map(|end| place[end]) {
                inner.links.push(MapLink { ends: [a, b], ..MapLink::default() });
            }
        }
        let at = positions(&inner);
        let mut network = Network::default();
        for node in (0..all).filter(|&node| is_inner(node)) {
            let MapNode { name, role, .. } = map.nodes[node].clone();
            let (at, is_host) = (at[network.nodes.len()], node >= routers);
            network.nodes.push(DrawnNode { name, at, is_host, role, hosts: 0 });
        }
        for Joined { number, ends, ways } in joined {
            match ends.map(|end| place[end]) {
                [Some(a), Some(b)] => {
                    network.links.push(DrawnLink { number, ends: [a, b], ways });
                }
                [Some(a), None] if !room => network.nodes[a].hosts += 1,
                [None, Some(b)] if !room => network.nodes[b].hosts += 1,
                [inside, outside] => {
                    let at_router = inside.or(outside);
                    let host = if inside.is_some() { ends[1] } else { ends[0] };
                    let Some(router) = at_router else { continue };
                    let name = map.nodes[host].name.clone();
                    let new = network.nodes.len();
                    let is_host = true;
                    network.nodes.push(DrawnNode { name, is_host, ..DrawnNode::default() });
                    let ends = if inside.is_some() { [router, new] } else { [new, router] };
                    network.links.push(DrawnLink { number, ends, ways });
                }
            }
        }
        network.place_hosts(at.len());
        if map.nodes.iter().all(|node| node.at.is_none()) {
            network.begin_left(at.len());
        }
        Some(network)
    }

    /// Turn the drawing so that the first host, which mostly sends, or the first router is at the
    /// left.
    fn begin_left(&mut self, inner: usize) {
        let first = if self.nodes.len() > inner { inner } else { 0 };
        let middle = self.nodes.iter().map(|node| node.at[0]).sum::<f64>();
        if self.nodes[first].at[0] * self.nodes.len() as f64 > middle {
            self.nodes.iter_mut().for_each(|node| node.at[0] = -node.at[0]);
        }
    }

    /// Put the hosts from number `inner` on around their routers, away from other routers.
    fn place_hosts(&mut self, inner: usize) {
        let lengths: Vec<f64> = self
            .links
            .iter()
            .filter(|link| link.ends.iter().all(|&end| end < inner))
            .map(|link| distance(self.nodes[link.ends[0]].at, self.nodes[link.ends[1]].at))
            .collect();
        let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        let radius = if mean > 0.0 { 0.6 * mean } else { 1.0 };
        let mut of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for link in &self.links {
            if let Some(&host) = link.ends.iter().find(|&&end| end >= inner) {
                of.entry(link.ends[0] + link.ends[1] - host).or_default().push(host);
            }
        }
        for (router, hosts) in of {
            let centre = self.nodes[router].at;
            let mut away = [0.0; 2];
            let beside = |link: &&DrawnLink| link.ends.contains(&router);
            for link in self.links.iter().filter(beside) {
                let other = link.ends[0] + link.ends[1] - router;
                if other < inner && other != router {
                    let at = self.nodes[other].at;
                    let length = distance(at, centre).max(1e-9);
                    away = [0, 1].map(|axis| away[axis] + (centre[axis] - at[axis]) / length);
                }
            }
            let alone = away[0].abs() + away[1].abs() < 1e-6;
            let middle = if alone { PI / 2.0 } else { away[1].atan2(away[0]) };
            let fan = if alone { TAU } else { (0.45 * hosts.len() as f64).min(1.3 * PI) };
            for (i, &host) in hosts.iter().enumerate() {
                let share = (i as f64 + 0.5) / hosts.len() as f64 - 0.5;
                let angle = middle + fan * share;
                self.nodes[host].at =
                    [centre[0] + radius * angle.cos(), centre[1] + radius * angle.sin()];
            }
        }
    }
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_topology::Generator;

    const SMALL: &str = r#"
        routers = ["r0", { name = "r1", at = [1.0, 2.0], role = "edge" }]
        hosts = [{ name = "h0" }, { name = "h1" }, { name = "h2" }]
        links = [
            { a = "r0", b = "r1", rate = "10Mbit/s", reverse = { rate = "2Mbit/s" } },
            { a = "h0", b = "r0", rate = "1Gbit/s" },
            { a = "h1", b = "r1", name = "up" },
            { a = "h2", b = "r0" }, { a = "h2", b = "r1" },
        ]
    "#;

    #[test]
    fn nodes_and_directions_of_a_scenario() {
        let network = Network::of_scenario(SMALL).expect("it has links");
        let names: Vec<_> = network.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["r0", "r1", "h2", "h0", "h1"], "h2 has two links");
        let ways: Vec<_> = network.links.iter().flat_map(|link| &link.ways).collect();
        let names: Vec<_> = ways.iter().map(|way| way.name.as_str()).collect();
        let expected = ["r0-r1", "r1-r0", "h0-r0", "r0-h0", "up", "up:reverse", "h2-r0", "r0-h2"];
        assert_eq!(names[..8], expected);
        assert_eq!([ways[0].rate_bps, ways[1].rate_bps], [Some(1e7), Some(2e6)]);
        assert_eq!(network.nodes[1].role, Some(Role::Edge));
        let apart = |a: usize, b: usize| distance(network.nodes[a].at, network.nodes[b].at);
        assert!((0..5).all(|a| (0..a).all(|b| apart(a, b) > 0.1)), "{network:?}");
    }

    #[test]
    fn many_hosts_are_a_number_and_many_routers_no_drawing() {
        let ring = |nodes| Generator::Ring { nodes }.map().expect("a map");
        let hosts: String = (0..200).map(|i| format!("{{ name = \"h{i}\" }},")).collect();
        let links: String =
            (0..200).map(|i| format!("{{ a = \"h{i}\", b = \"r{}\" }},", i % 2)).collect();
        let text = format!(
            "routers = [\"r0\", \"r1\"]\nhosts = [{hosts}]\n\
             links = [{{ a = \"r0\", b = \"r1\" }}, {links}]\n"
        );
        let network = Network::of_scenario(&text).expect("it has links");
        assert_eq!(network.nodes.iter().map(|node| node.hosts).collect::<Vec<_>>(), [100, 100]);
        assert_eq!(network.links.len(), 1);
        assert!(Network::of_map(&ring(Network::MAX_ROUTERS as u32)).is_some());
        assert!(Network::of_map(&ring(Network::MAX_ROUTERS as u32 + 1)).is_none());
        assert!(Network::of_scenario("description = \"none\"").is_none());
    }
}
