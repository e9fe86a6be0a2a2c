//! What a map holds.

use std::fmt;

/// Most routers of a map.
pub const MAX_NODES: usize = 1 << 20;
/// Most links of a map.
pub const MAX_LINKS: usize = 1 << 22;

/// A map of routers, as a file or a generator gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// What the file calls it; may be empty.
    pub name: String,
    /// Routers; links and demands name them by index.
    pub nodes: Vec<MapNode>,
    /// Links, each in both directions. A link may join a node with itself, and several may join
    /// two nodes.
    pub links: Vec<MapLink>,
    /// Demands.
    pub demands: Vec<MapDemand>,
    /// True if positions are longitude and latitude in degrees.
    pub geographic: bool,
    /// What of the file is not used, as sentences.
    pub notes: Vec<String>,
}

/// A router of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapNode {
    /// Its name, unique.
    pub name: String,
    /// Where it is, in the words of the file; may be empty.
    pub place: String,
    /// Its position: x to the right, y up.
    pub at: Option<[f64; 2]>,
    /// What it is for.
    pub role: Option<Role>,
    /// Links between it and the backbone; only Rocketfuel says so.
    pub backbone_hops: Option<u32>,
}

/// A link of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapLink {
    /// Its two ends, as indices of nodes.
    pub ends: [usize; 2],
    /// Its rate, in bit/s.
    pub rate_bps: Option<u64>,
    /// Its length, in metres.
    pub length_m: Option<f64>,
    /// Its cost in routes.
    pub weight: Option<u32>,
}

impl MapLink {
    /// A link of which nothing else is known.
    pub(crate) fn between(a: usize, b: usize) -> MapLink {
        MapLink { ends: [a, b], ..MapLink::default() }
    }
    /// Its ends, the lower index first.
    pub(crate) fn pair(&self) -> [usize; 2] {
        let [a, b] = self.ends;
        [a.min(b), a.max(b)]
    }
}

/// What one router has to send to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapDemand {
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// How much, in bit/s.
    pub bps: f64,
}

/// What a router is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Of an ISP: in the middle.
    Backbone,
    /// Of an ISP: between edge and backbone.
    Gateway,
    /// Of an ISP or of a fat tree: where hosts are attached.
    Edge,
    /// Of a transit domain.
    Transit,
    /// Of a stub domain, where hosts are attached.
    Stub,
    /// Of a fat tree: at the top.
    Core,
    /// Of a fat tree: in the middle.
    Aggregation,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 7] = [
        Role::Backbone,
        Role::Gateway,
        Role::Edge,
        Role::Transit,
        Role::Stub,
        Role::Core,
        Role::Aggregation,
    ];

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Role::Backbone => "backbone",
            Role::Gateway => "gateway",
            Role::Edge => "edge",
            Role::Transit => "transit",
            Role::Stub => "stub",
            Role::Core => "core",
            Role::Aggregation => "aggregation",
        }
    }
    /// True if hosts are attached to such routers, unless somebody says otherwise.
    pub fn has_hosts(self) -> bool {
        matches!(self, Role::Edge | Role::Stub)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Map {
    /// For each node, those at the other end of its links, in the order of the links. A node that
    /// a link joins with itself is its own neighbour, once.
    pub fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut found = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            let [a, b] = link.ends;
            found[a].push(b);
            if a != b {
                found[b].push(a);
            }
        }
        found
    }

    /// The indices of the routers to which hosts are attached, unless somebody says otherwise:
    /// those at the edge, or all if none has such a role.
    pub fn edges(&self) -> Vec<usize> {
        let is_edge = |node: &MapNode| node.role.is_some_and(Role::has_hosts);
        let any = self.nodes.iter().any(is_edge);
        let all = self.nodes.iter().enumerate();
        all.filter(|(_, node)| !any || is_edge(node)).map(|(index, _)| index).collect()
    }

    /// The same map with positions for a drawing, equally long in both directions: degrees of
    /// longitude are shortened as in the middle of the map.
    #[must_use]
    pub fn projected(mut self) -> Map {
        if std::mem::take(&mut self.geographic) {
            let known = || self.nodes.iter().filter_map(|node| node.at);
            let middle = known().map(|at| at[1]).sum::<f64>() / known().count().max(1) as f64;
            let stretch = libm::cos(middle.to_radians()).max(0.1);
            for at in self.nodes.iter_mut().filter_map(|node| node.at.as_mut()) {
                at[0] *= stretch;
            }
        }
        self
    }

    /// The same map without the links that join a node with itself; a note says how many.
    #[must_use]
    pub fn without_loops(mut self) -> Map {
        let before = self.links.len();
        self.links.retain(|link| link.ends[0] != link.ends[1]);
        match before - self.links.len() {
            0 => {}
            1 => self.notes.push("one link that joins a router with itself is left out".into()),
            many => {
                let text = format!("{many} links that join a router with itself are left out");
                self.notes.push(text);
            }
        }
        self
    }

    /// The same map with one link between two nodes that have several: its rate is the sum of
    /// theirs where each has one, its length and its weight those of the first.
    #[must_use]
    pub fn with_merged_links(mut self) -> Map {
        let mut first = std::collections::BTreeMap::new();
        let mut merged: Vec<MapLink> = Vec::with_capacity(self.links.len());
        for link in self.links {
            let place = *first.entry(link.pair()).or_insert(merged.len());
            match merged.get_mut(place) {
                Some(kept) => {
                    let sum = kept.rate_bps.zip(link.rate_bps);
                    kept.rate_bps = sum.and_then(|(a, b)| a.checked_add(b));
                }
                None => merged.push(link),
            }
        }
        self.links = merged;
        self
    }

    /// The part of the map that has the nodes for which `kept` is true, and of their links those
    /// for which `with` is.
    pub(crate) fn part(&self, kept: &[bool], with: impl Fn(&MapLink) -> bool) -> Map {
        let mut place = vec![None; self.nodes.len()];
        let mut nodes = Vec::new();
        for (index, node) in self.nodes.iter().enumerate().filter(|&(index, _)| kept[index]) {
            place[index] = Some(nodes.len());
            nodes.push(node.clone());
        }
        let links = self.links.iter().filter(|link| with(link)).filter_map(|link| {
            let [a, b] = link.ends;
            Some(MapLink { ends: [place[a]?, place[b]?], ..link.clone() })
        });
        let links = links.collect();
        let demands = self.demands.iter().filter_map(|demand| {
            Some(MapDemand { from: place[demand.from]?, to: place[demand.to]?, ..*demand })
        });
        let demands = demands.collect();
        Map { nodes, links, demands, notes: self.notes.clone(), name: self.name.clone(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(links: &[(usize, usize, Option<u64>)]) -> Map {
        let most = links.iter().map(|&(a, b, _)| a.max(b)).max().unwrap_or(0);
        let name = |i: usize| MapNode { name: i.to_string(), ..MapNode::default() };
        let link = |&(a, b, rate_bps)| MapLink { rate_bps, ..MapLink::between(a, b) };
        Map {
            nodes: (0..=most).map(name).collect(),
            links: links.iter().map(link).collect(),
            ..Map::default()
        }
    }

    #[test]
    fn several_links_become_one_with_the_sum_of_their_rates() {
        let rates = map(&[(0, 1, Some(10)), (1, 2, Some(5)), (1, 0, Some(20))]).with_merged_links();
        let found: Vec<_> = rates.links.iter().map(|link| (link.ends, link.rate_bps)).collect();
        assert_eq!(found, [([0, 1], Some(30)), ([1, 2], Some(5))]);
        // Where one of them has none, the sum is not known.
        let unknown = map(&[(0, 1, Some(10)), (0, 1, None)]).with_merged_links();
        assert_eq!(unknown.links[0].rate_bps, None);
    }

    #[test]
    fn loops_go_with_a_note() {
        let map = map(&[(0, 0, None), (0, 1, None), (1, 1, None)]);
        assert_eq!(map.neighbours(), [vec![0, 1], vec![0, 1]]);
        let map = map.without_loops();
        assert_eq!(map.links.len(), 1);
        assert_eq!(map.notes, ["2 links that join a router with itself are left out"]);
    }
}
