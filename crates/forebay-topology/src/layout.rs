//! Positions for a drawing: those of the map, or where the distances between routers in the
//! drawing are as the numbers of links between them (Gansner, Koren and North, "Graph Drawing by
//! Stress Majorization", GD 2004).

use crate::graph;
use crate::map::Map;
use std::f64::consts::TAU;

/// Rounds of stress majorization.
const ROUNDS: usize = 120;
/// Distance of routers in different components, in links beyond the diameter.
const APART: f64 = 2.0;
/// Most routers that are laid out from more than one start.
const MAX_STARTS: usize = 200;
/// Most routers that are laid out by distances, of which all pairs are kept.
const MAX_PAIRS: usize = 2_000;

/// A position for each router, x to the right and y up, in a unit of its own. The same map has the
/// same positions.
pub fn positions(map: &Map) -> Vec<[f64; 2]> {
    let neighbours = map.neighbours();
    let known = map.nodes.iter().filter(|node| node.at.is_some()).count();
    if 2 * known > map.nodes.len() {
        return apart(around_known(&map.clone().projected(), &neighbours));
    }
    if map.nodes.len() > MAX_PAIRS {
        return circle(map.nodes.len());
    }
    by_distances(&neighbours)
}

/// The positions of the map; routers without one are where their neighbours are on average.
fn around_known(map: &Map, neighbours: &[Vec<usize>]) -> Vec<[f64; 2]> {
    let known: Vec<[f64; 2]> = map.nodes.iter().filter_map(|node| node.at).collect();
    let middle = [0, 1].map(|axis| known.iter().map(|at| at[axis]).sum::<f64>());
    let middle = middle.map(|sum| sum / known.len() as f64);
    let mut found: Vec<[f64; 2]> = map.nodes.iter().map(|node| node.at.unwrap_or(middle)).collect();
    for _ in 0..ROUNDS {
        for (node, others) in neighbours.iter().enumerate() {
            if map.nodes[node].at.is_some() || others.is_empty() {
                continue;
            }
            let sum = |axis: usize| others.iter().map(|&other| found[other][axis]).sum::<f64>();
            found[node] = [0, 1].map(|axis| sum(axis) / others.len() as f64);
        }
    }
    found
}

/// The same positions; those that are nearly the same are put on a small circle.
fn apart(mut found: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let [x, y] = [0, 1].map(|axis| {
        let of = || found.iter().map(move |at| at[axis]);
        of().fold(f64::MIN, f64::max) - of().fold(f64::MAX, f64::min)
    });
    let radius = if x.max(y) > 0.0 { x.max(y) / 60.0 } else { 1.0 };
    let mut order: Vec<usize> = (0..found.len()).collect();
    let cell = |at: &[f64; 2]| at.map(|value| (value / radius).round() as i64);
    let cells: Vec<[i64; 2]> = found.iter().map(cell).collect();
    order.sort_by_key(|&node| (cells[node], node));
    for group in order.chunk_by(|&a, &b| cells[a] == cells[b]) {
        if group.len() < 2 {
            continue;
        }
        let wide = radius * libm::sqrt(group.len() as f64) / 1.5;
        for (i, &node) in group.iter().enumerate() {
            let angle = TAU * i as f64 / group.len() as f64;
            found[node][0] += wide * libm::cos(angle);
            found[node][1] += wide * libm::sin(angle);
        }
    }
    found
}

fn circle(nodes: usize) -> Vec<[f64; 2]> {
    let angle = |i: usize| TAU * i as f64 / nodes.max(1) as f64;
    (0..nodes).map(|i| [libm::cos(angle(i)), libm::sin(angle(i))]).collect()
}

/// Rounds of stress majorization from a start by the largest two axes of the distances; of a map
/// that is not large also from a circle on which neighbours follow each other. The better result
/// counts: from one start alone, a ring of six may end up crossed.
fn by_distances(neighbours: &[Vec<usize>]) -> Vec<[f64; 2]> {
    let all = neighbours.len();
    let hops: Vec<Vec<Option<u32>>> =
        (0..all).map(|from| graph::distances(neighbours, from)).collect();
    let most = hops.iter().flatten().flatten().max().copied().unwrap_or(0);
    let distance = |a: usize, b: usize| hops[a][b].map_or(f64::from(most) + APART, f64::from);
    let by_axes = majorized(start(all, &distance), &distance);
    if all > MAX_STARTS {
        return by_axes;
    }
    let round = majorized(around(neighbours, f64::from(most) / 2.0 + 0.1), &distance);
    // What differs by less is the same picture.
    let better = stress(&round, &distance) < 0.99 * stress(&by_axes, &distance);
    if better { round } else { by_axes }
}

/// How far distances in the drawing are from those that are wanted.
fn stress(at: &[[f64; 2]], distance: &impl Fn(usize, usize) -> f64) -> f64 {
    let of = |a: usize, b: usize| {
        let length = libm::hypot(at[a][0] - at[b][0], at[a][1] - at[b][1]);
        (length / distance(a, b) - 1.0).powi(2)
    };
    (0..at.len()).map(|a| (0..a).map(|b| of(a, b)).sum::<f64>()).sum()
}

/// On a circle, each router after one of its neighbours where there is one.
fn around(neighbours: &[Vec<usize>], radius: f64) -> Vec<[f64; 2]> {
    let (all, mut place) = (neighbours.len(), vec![None; neighbours.len()]);
    let mut placed = 0;
    let mut open: Vec<usize> = (0..all).rev().collect();
    while let Some(node) = open.pop() {
        if place[node].is_none() {
            place[node] = Some(placed);
            placed += 1;
            open.extend(neighbours[node].iter().rev());
        }
    }
    let on = circle(all);
    let at = |place: Option<usize>| on[place.expect("all are in the list")].map(|x| radius * x);
    place.into_iter().map(at).collect()
}

/// Stress majorization of these positions.
fn majorized(mut found: Vec<[f64; 2]>, distance: &impl Fn(usize, usize) -> f64) -> Vec<[f64; 2]> {
    let all = found.len();
    for _ in 0..ROUNDS {
        for a in 0..all {
            let (mut sum, mut weights) = ([0.0; 2], 0.0);
            for b in (0..all).filter(|&b| b != a) {
                let wanted = distance(a, b);
                let weight = 1.0 / (wanted * wanted);
                let gap = [0, 1].map(|axis| found[a][axis] - found[b][axis]);
                let length = libm::hypot(gap[0], gap[1]).max(1e-9);
                for axis in [0, 1] {
                    sum[axis] += weight * (found[b][axis] + wanted * gap[axis] / length);
                }
                weights += weight;
            }
            if weights > 0.0 {
                found[a] = sum.map(|sum| sum / weights);
            }
        }
    }
    found
}

/// Classical scaling (Torgerson 1952): the two axes along which squared distances vary most, by
/// power iteration; and a little beside it, so that no two routers are in one place.
fn start(all: usize, distance: &impl Fn(usize, usize) -> f64) -> Vec<[f64; 2]> {
    let square = |a: usize, b: usize| distance(a, b).powi(2);
    let mean: Vec<f64> =
        (0..all).map(|a| (0..all).map(|b| square(a, b)).sum::<f64>() / all as f64).collect();
    let total = mean.iter().sum::<f64>() / all.max(1) as f64;
    let centred = |a: usize, b: usize| (mean[a] + mean[b] - total - square(a, b)) / 2.0;
    let beside = circle(all);
    let mut axes: Vec<Vec<f64>> = Vec::new();
    for axis in 0..2 {
        let mut values: Vec<f64> = beside.iter().map(|at| at[axis] + 0.01).collect();
        let mut length = 0.0;
        for _ in 0..30 {
            for other in &axes {
                let norm = other.iter().map(|x| x * x).sum::<f64>().max(1e-12);
                let along = values.iter().zip(other).map(|(x, y)| x * y).sum::<f64>() / norm;
                values.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
            }
            let next: Vec<f64> = (0..all)
                .map(|a| (0..all).map(|b| centred(a, b) * values[b]).sum::<f64>())
                .collect();
            length = libm::sqrt(next.iter().map(|x| x * x).sum::<f64>()).max(1e-12);
            values = next.into_iter().map(|x| x / length).collect();
        }
        axes.push(values.into_iter().map(|x| x * libm::sqrt(length)).collect());
    }
    (0..all).map(|i| [0, 1].map(|axis| axes[axis][i] + 0.05 * beside[i][axis])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Generator;
    use crate::map::{MapLink, MapNode};

    fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
        libm::hypot(a[0] - b[0], a[1] - b[1])
    }

    /// A chain is a line: neighbours are one apart, and its ends as far as there are links.
    #[test]
    fn a_chain_is_a_line_and_a_ring_is_round() {
        let chain = positions(&Generator::Chain { nodes: 8 }.map().expect("a map"));
        assert!((distance(chain[0], chain[7]) - 7.0).abs() < 0.05, "{chain:?}");
        let ring = positions(&Generator::Ring { nodes: 12 }.map().expect("a map"));
        let middle = [0, 1].map(|axis| ring.iter().map(|at| at[axis]).sum::<f64>() / 12.0);
        let radii: Vec<f64> = ring.iter().map(|&at| distance(at, middle)).collect();
        assert!(radii.iter().all(|r| (r / radii[0] - 1.0).abs() < 0.05), "{radii:?}");
        for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            assert!((0.5..2.0).contains(&distance(*a, *b)));
        }
    }

    /// Two ways between two hosts, declared as `mptcp/multihomed` has them: a ring, whatever the
    /// order, in which no two links cross.
    #[test]
    fn a_ring_of_six_in_any_order_is_not_crossed() {
        for order in
            [[0, 1, 2, 3, 4, 5], [4, 0, 2, 5, 3, 1], [0, 3, 1, 4, 2, 5], [5, 1, 4, 0, 2, 3]]
        {
            let links = (0..6).map(|i| MapLink::between(order[i], order[(i + 1) % 6])).collect();
            let map = Map { nodes: vec![MapNode::default(); 6], links, ..Map::default() };
            let at = positions(&map);
            let opposite = |i: usize| distance(at[order[i]], at[order[(i + 3) % 6]]);
            let beside = |i: usize| distance(at[order[i]], at[order[(i + 1) % 6]]);
            let longest = (0..6).map(beside).fold(0.0, f64::max);
            assert!((0..6).all(|i| opposite(i) > 1.5 * longest), "{order:?}: {at:?}");
        }
    }

    /// In a star, leaves have the same distances to all others and still places of their own.
    #[test]
    fn no_two_routers_are_in_one_place() {
        let star = Map {
            nodes: vec![MapNode::default(); 20],
            links: (1..20).map(|leaf| MapLink::between(0, leaf)).collect(),
            ..Map::default()
        };
        let mut cities = Generator::Chain { nodes: 5 }.map().expect("a map");
        for node in &mut cities.nodes[..4] {
            node.at = Some([8.0, 50.0]);
        }
        for map in [star, cities, Generator::FatTree { ports: 4 }.map().expect("a map")] {
            let found = positions(&map);
            for (i, &a) in found.iter().enumerate() {
                assert!(a.iter().all(|x| x.is_finite()));
                for &b in &found[i + 1..] {
                    assert!(distance(a, b) > 0.05, "{found:?}");
                }
            }
        }
    }

    #[test]
    fn positions_of_the_map_stay() {
        let mut map = Generator::Chain { nodes: 3 }.map().expect("a map");
        map.geographic = true;
        map.nodes[0].at = Some([0.0, 60.0]);
        map.nodes[2].at = Some([10.0, 60.0]);
        let found = positions(&map);
        // At 60 degrees a degree of longitude is half as long as one of latitude.
        assert!(distance(found[0], [0.0, 60.0]) < 1e-9, "{found:?}");
        assert!(distance(found[2], [5.0, 60.0]) < 1e-9, "{found:?}");
        assert!(distance(found[1], [2.5, 60.0]) < 0.1, "between its neighbours: {found:?}");
        assert!(positions(&Map::default()).is_empty());
    }
}
