//! Flows that split their data over several paths, against values by hand.

use crate::close;
use forebay_base::{Rng, Stream};
use forebay_reference::{SplitDemand, Use, split};

fn path(links: &[u32]) -> Vec<Use> {
    let one = |&link: &u32| Use { link, weight: 1.0, detourable: 0.0, acks: false };
    links.iter().map(one).collect()
}

fn rates(capacity: &[f64], demands: &[(&[&[u32]], f64)]) -> Vec<f64> {
    let uses: Vec<Vec<Vec<Use>>> =
        demands.iter().map(|(paths, _)| paths.iter().map(|links| path(links)).collect()).collect();
    let demands: Vec<SplitDemand<'_>> = uses
        .iter()
        .zip(demands)
        .map(|(paths, (_, flows))| SplitDemand {
            paths: paths.iter().map(Vec::as_slice).collect(),
            flows: *flows,
        })
        .collect();
    let found = split(capacity, &demands);
    assert!(!found.degraded && !found.met);
    found.rates
}

#[test]
fn shares_by_hand() {
    let cases: &[(&[f64], &[(&[&[u32]], f64)], &[f64])] = &[
        // Alone: the sum.
        (&[10.0, 5.0], &[(&[&[0], &[1]], 1.0)], &[15.0]),
        // A link before both.
        (&[10.0, 5.0, 8.0], &[(&[&[2, 0], &[2, 1]], 1.0)], &[8.0]),
        // Beside a flow on one of the links: 7.5 each; beside two of them 5 each.
        (&[10.0, 5.0], &[(&[&[0], &[1]], 1.0), (&[&[0]], 1.0)], &[7.5, 7.5]),
        (&[10.0, 5.0], &[(&[&[0], &[1]], 1.0), (&[&[0]], 2.0)], &[5.0, 5.0]),
        // A wide link of its own: the other has what it wants.
        (&[10.0, 50.0], &[(&[&[0], &[1]], 1.0), (&[&[0]], 1.0)], &[50.0, 10.0]),
        // Three links in a ring of three flows, each over two of them: resources are pooled.
        (
            &[12.0, 10.0, 8.0],
            &[(&[&[0], &[1]], 1.0), (&[&[1], &[2]], 1.0), (&[&[2], &[0]], 1.0)],
            &[10.0, 10.0, 10.0],
        ),
        // A link that is down.
        (&[10.0, 0.0], &[(&[&[0], &[1]], 1.0), (&[&[1]], 1.0)], &[10.0, 0.0]),
    ];
    for (capacity, demands, expected) in cases {
        let found = rates(capacity, demands);
        for (found, &expected) in found.iter().zip(*expected) {
            assert!((found - expected).abs() <= 1e-9 * expected, "{demands:?}: {found}");
        }
    }
}

/// With one path each the rates are those of progressive filling, which is written anew here.
#[test]
fn one_path_each_is_progressive_filling() {
    for seed in 0..50 {
        let mut rng = Rng::new(seed, Stream::Test, 4);
        let capacity: Vec<f64> = (0..6).map(|_| 1.0 + 9.0 * rng.unit()).collect();
        let routes: Vec<Vec<u32>> = (0..5)
            .map(|_| {
                let mut links: Vec<u32> = (0..6).filter(|_| rng.chance(0.4)).collect();
                if links.is_empty() {
                    links.push(0);
                }
                links
            })
            .collect();
        let uses: Vec<[&[u32]; 1]> = routes.iter().map(|links| [&links[..]]).collect();
        let demands: Vec<(&[&[u32]], f64)> = uses.iter().map(|paths| (&paths[..], 1.0)).collect();
        let found = rates(&capacity, &demands);
        let mut filled: Vec<Option<f64>> = vec![None; routes.len()];
        while filled.contains(&None) {
            let level = |link: u32| {
                let on = routes.iter().zip(&filled).filter(|(route, _)| route.contains(&link));
                let fixed: f64 = on.clone().filter_map(|(_, rate)| *rate).sum();
                let rising = on.filter(|(_, rate)| rate.is_none()).count();
                (rising > 0).then(|| (capacity[link as usize] - fixed) / rising as f64)
            };
            let levels = (0..6).filter_map(|link| Some((link, level(link)?)));
            let (link, level) = levels.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            for (rate, route) in filled.iter_mut().zip(&routes) {
                if route.contains(&link) {
                    rate.get_or_insert(level);
                }
            }
        }
        for (found, expected) in found.iter().zip(filled) {
            close(*found, expected.unwrap(), 1e-9);
        }
    }
}
