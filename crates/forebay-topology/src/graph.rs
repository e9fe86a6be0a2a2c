//! Searches in a graph of neighbours.

use std::collections::VecDeque;

/// The number of links between `from` and each node; None where there is no way.
pub(crate) fn distances(neighbours: &[Vec<usize>], from: usize) -> Vec<Option<u32>> {
    let mut found = vec![None; neighbours.len()];
    let mut next = VecDeque::from([from]);
    found[from] = Some(0);
    while let Some(node) = next.pop_front() {
        let beyond = found[node].map(|hops| hops + 1);
        for &other in &neighbours[node] {
            if found[other].is_none() {
                found[other] = beyond;
                next.push_back(other);
            }
        }
    }
    found
}

/// For each node the number of its component; components are numbered in the order of their first
/// nodes. And the size of each.
pub(crate) fn components(neighbours: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut of = vec![usize::MAX; neighbours.len()];
    let mut sizes = Vec::new();
    for start in 0..neighbours.len() {
        if of[start] != usize::MAX {
            continue;
        }
        let mut waiting = vec![start];
        of[start] = sizes.len();
        let mut size = 0;
        while let Some(node) = waiting.pop() {
            size += 1;
            for &other in &neighbours[node] {
                if of[other] == usize::MAX {
                    of[other] = sizes.len();
                    waiting.push(other);
                }
            }
        }
        sizes.push(size);
    }
    (of, sizes)
}
