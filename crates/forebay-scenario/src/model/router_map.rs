//! The map that the routers of a scenario are.

use crate::Scenario;
use forebay_topology::{Map, MapLink, MapNode};

impl Scenario {
    /// Its routers and the links between them, without hosts. A rate is that from `a` to `b`.
    pub fn router_map(&self) -> Map {
        let mut place = vec![None; self.nodes.len()];
        let mut map = Map::default();
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.is_host) {
            place[index] = Some(map.nodes.len());
            let on_map = node.on_map.as_deref().cloned().unwrap_or_default();
            let (name, at, role) = (node.name.clone(), on_map.at, on_map.role);
            map.nodes.push(MapNode { name, at, role, ..MapNode::default() });
        }
        let links = self.links.iter().filter_map(|link| {
            Some(MapLink {
                ends: [place[link.a.index()]?, place[link.b.index()]?],
                rate_bps: Some(link.forward.rate.bps()),
                weight: Some(link.weight),
                length_m: None,
            })
        });
        map.links = links.collect();
        map
    }
}
