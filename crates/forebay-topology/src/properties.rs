//! Numbers that describe a map.

use crate::graph;
use crate::map::Map;

/// Most routers of a map whose diameter is computed: the time grows with their square.
const MAX_FOR_DISTANCES: usize = 20_000;

/// Numbers that describe a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// Routers.
    pub nodes: usize,
    /// Links, those that join a node with itself and all of several between two nodes included.
    pub links: usize,
    /// Links that join a node with itself.
    pub loops: usize,
    /// Links beyond the first between two nodes.
    pub parallel: usize,
    /// Components.
    pub components: usize,
    /// Nodes of the largest component.
    pub largest_component: usize,
    /// For each degree from 0 on the number of nodes that have so many neighbours other than
    /// themselves.
    pub degrees: Vec<usize>,
    /// The largest number of links between two nodes of one component; None where the map is too
    /// large for it.
    pub diameter: Option<u32>,
    /// The mean number of links between two nodes of one component; None as for `diameter`, and
    /// where no two nodes are joined.
    pub mean_distance: Option<f64>,
    /// Nodes with a position.
    pub placed: usize,
    /// Links with a rate.
    pub rated: usize,
    /// Demands, and their sum in bit/s.
    pub demands: (usize, f64),
}

impl Properties {
    /// Those of a map.
    pub fn of(map: &Map) -> Properties {
        let mut neighbours = map.neighbours();
        for (node, list) in neighbours.iter_mut().enumerate() {
            list.retain(|&other| other != node);
            list.sort_unstable();
            list.dedup();
        }
        let mut degrees = Vec::new();
        for list in &neighbours {
            degrees.resize(degrees.len().max(list.len() + 1), 0);
            degrees[list.len()] += 1;
        }
        let (_, sizes) = graph::components(&neighbours);
        let loops = map.links.iter().filter(|link| link.ends[0] == link.ends[1]).count();
        let pairs = neighbours.iter().map(Vec::len).sum::<usize>() / 2;
        let (diameter, mean_distance) = distances(&neighbours);
        Properties {
            nodes: map.nodes.len(),
            links: map.links.len(),
            loops,
            parallel: map.links.len() - loops - pairs,
            components: sizes.len(),
            largest_component: sizes.iter().copied().max().unwrap_or(0),
            degrees,
            diameter,
            mean_distance,
            placed: map.nodes.iter().filter(|node| node.at.is_some()).count(),
            rated: map.links.iter().filter(|link| link.rate_bps.is_some()).count(),
            demands: (map.demands.len(), map.demands.iter().fold(0.0, |sum, of| sum + of.bps)),
        }
    }

    /// The mean number of neighbours of a node.
    pub fn mean_degree(&self) -> f64 {
        let sum: usize =
            self.degrees.iter().enumerate().map(|(degree, nodes)| degree * nodes).sum();
        sum as f64 / self.nodes.max(1) as f64
    }
}

fn distances(neighbours: &[Vec<usize>]) -> (Option<u32>, Option<f64>) {
    if neighbours.len() > MAX_FOR_DISTANCES {
        return (None, None);
    }
    let (mut most, mut sum, mut pairs) = (0, 0u64, 0u64);
    for from in 0..neighbours.len() {
        for hops in graph::distances(neighbours, from).into_iter().flatten() {
            most = most.max(hops);
            sum += u64::from(hops);
            pairs += u64::from(hops > 0);
        }
    }
    (Some(most), (pairs > 0).then(|| sum as f64 / pairs as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{MapLink, MapNode};

    #[test]
    fn a_star_with_a_loop_and_two_equal_links() {
        let links = [(0, 1), (0, 2), (0, 3), (3, 0), (2, 2)];
        let map = Map {
            nodes: vec![MapNode::default(); 5],
            links: links.into_iter().map(|(a, b)| MapLink::between(a, b)).collect(),
            ..Map::default()
        };
        let found = Properties::of(&map);
        assert_eq!((found.nodes, found.links, found.loops, found.parallel), (5, 5, 1, 1));
        assert_eq!((found.components, found.largest_component), (2, 4));
        assert_eq!(found.degrees, [1, 3, 0, 1]);
        assert_eq!(found.diameter, Some(2));
        // Of 12 ordered pairs 6 are neighbours, and 6 are two links apart.
        assert_eq!(found.mean_distance, Some(1.5));
        assert_eq!(found.mean_degree(), 6.0 / 5.0);
    }

    #[test]
    fn an_empty_map_has_no_distances() {
        let found = Properties::of(&Map::default());
        assert_eq!((found.nodes, found.components, found.mean_distance), (0, 0, None));
        assert_eq!(found.mean_degree(), 0.0);
    }
}
