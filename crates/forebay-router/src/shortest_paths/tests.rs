use super::*;
use forebay_base::{Rng, Stream};

/// Routers joined at random, with parallel links; some nodes are hosts.
struct Map {
    forwards: Vec<bool>,
    links: Vec<Edge>,
}

impl Map {
    fn random(rng: &mut Rng, weights: u64) -> Map {
        let nodes = 2 + rng.below(12);
        let forwards = (0..nodes).map(|_| rng.chance(0.9)).collect();
        let mut links = Vec::new();
        for _ in 0..rng.below(4 * nodes) {
            let ends = [rng.below(nodes), rng.below(nodes)].map(|node| NodeId(node as u32));
            if ends[0] != ends[1] {
                links.push(Edge { ends, weight: 1 + rng.below(weights) as u32 });
            }
        }
        Map { forwards, links }
    }
    fn paths(&self, rule: RouteRule) -> ShortestPaths {
        ShortestPaths::new(rule, self.forwards.iter().copied(), self.links.iter().copied())
    }
    fn routers(&self) -> impl Iterator<Item = NodeId> {
        (0..self.forwards.len() as u32).map(NodeId).filter(|node| self.forwards[node.index()])
    }
    /// By Floyd and Warshall: the least sum of weights from each node to each, over routers.
    fn distances(&self) -> Vec<Vec<u64>> {
        let nodes = self.forwards.len();
        let mut least = vec![vec![u64::MAX / 4; nodes]; nodes];
        (0..nodes).for_each(|node| least[node][node] = 0);
        for Edge { ends, weight } in &self.links {
            let [a, b] = ends.map(NodeId::index);
            if self.forwards[a] && self.forwards[b] {
                least[a][b] = least[a][b].min(u64::from(*weight));
                least[b][a] = least[a][b];
            }
        }
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    let over = least[from][via] + least[via][to];
                    least[from][to] = least[from][to].min(over);
                }
            }
        }
        least
    }
}

/// The links between two routers, by number; None if there is no way.
fn path(paths: &mut ShortestPaths, from: NodeId, to: NodeId, tree: u8) -> Option<Vec<u32>> {
    paths.search(to, tree);
    let (mut at, mut links) = (from, Vec::new());
    while at != to {
        let link = paths.next(at)?;
        links.push(link.0 / 2);
        at = paths.end(link);
    }
    Some(links)
}

/// Every pair of routers of random maps: the path is a shortest one, and the path back is the same,
/// reversed; hashes that collide always, often, or never change nothing about that.
#[test]
fn the_way_back_is_the_way_there_and_none_is_shorter() {
    let mut rng = Rng::new(1, Stream::Test, 0);
    let hashes: [Hash; 3] = [|_| 7, |link| mix64(link) as u32 % 3, hash];
    let (mut pairs, mut ties) = (0, 0);
    for round in 0..600 {
        let map = Map::random(&mut rng, if round % 2 == 0 { 1 } else { 3 });
        let mut paths = map.paths(RouteRule { trees: 3, ..RouteRule::default() });
        paths.hash = hashes[round % 3];
        let (distances, tree) = (map.distances(), (round % 5) as u8);
        for from in map.routers() {
            for to in map.routers() {
                let least = distances[from.index()][to.index()];
                let Some(there) = path(&mut paths, from, to, tree) else {
                    assert!(least >= u64::MAX / 4, "{from:?} reaches {to:?}");
                    continue;
                };
                let weights = there.iter().map(|&link| u64::from(map.links[link as usize].weight));
                assert_eq!(weights.sum::<u64>(), least, "{from:?} to {to:?}");
                let mut back = path(&mut paths, to, from, tree).expect("links lead both ways");
                back.reverse();
                assert_eq!(there, back, "{from:?} to {to:?} and back");
                pairs += 1;
                ties += u32::from(path(&mut paths, from, to, tree + 1) != Some(there));
            }
        }
    }
    assert!(pairs > 20_000 && ties > 1_000, "{pairs} pairs, {ties} have another path");
}

/// The same maps where each direction decides for itself: paths are as short, many differ.
#[test]
fn independent_choices_are_shortest_paths_that_often_come_back_otherwise() {
    let mut rng = Rng::new(2, Stream::Test, 0);
    let rule = RouteRule { equal_costs: EqualCosts::Independent, ..RouteRule::default() };
    let (mut pairs, mut differ) = (0, 0);
    for _ in 0..200 {
        let map = Map::random(&mut rng, 1);
        let (mut paths, distances) = (map.paths(rule), map.distances());
        for from in map.routers() {
            for to in map.routers() {
                let Some(there) = path(&mut paths, from, to, 0) else { continue };
                assert_eq!(there.len() as u64, distances[from.index()][to.index()]);
                let mut back = path(&mut paths, to, from, 0).expect("links lead both ways");
                back.reverse();
                pairs += 1;
                differ += u32::from(there != back);
            }
        }
    }
    assert!(pairs > 5_000 && differ * 20 > pairs, "{differ} of {pairs}");
}

/// A square: two ways from corner to corner. Trees take either.
#[test]
fn trees_spread_over_equal_costs_and_weights_come_first() {
    let node = NodeId;
    let square = |weight: u32| Map {
        forwards: vec![true; 4],
        links: [(0, 1, 1), (1, 3, 1), (0, 2, weight), (2, 3, 1)]
            .map(|(a, b, weight)| Edge { ends: [node(a), node(b)], weight })
            .into(),
    };
    let rule = RouteRule { trees: 32, ..RouteRule::default() };
    let over_1 = |map: Map| {
        let mut paths = map.paths(rule);
        let mut over_1 = |tree| path(&mut paths, node(0), node(3), tree) == Some(vec![0, 1]);
        (0..32).filter(|&tree| over_1(tree)).count()
    };
    assert!((8..=24).contains(&over_1(square(1))), "{}", over_1(square(1)));
    assert_eq!(over_1(square(2)), 32);
}
