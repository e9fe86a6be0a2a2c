//! The machine beside numbers that are not its own.

use super::belief::{Belief, Grid, Work};
use super::forecast::Tables;
use super::*;
use crate::feedback::{AckDemand, DatagramView, Feedback};
use crate::testbed::{MSS, ack, init, ms, next_packet, sent};
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{Ecn, kind};

const NOW: Time = Time::from_secs(10);

fn stock() -> Grid {
    Grid::new(1000.0, 200.0, 1.0)
}
/// Certainly in this bin.
fn certain(tables: &Tables, bin: usize) -> Box<[f32]> {
    let mut shares = tables.room();
    shares[bin] = 1.0;
    shares
}
/// The forecast of a belief.
fn told(tables: &Tables, belief: &Belief) -> [u32; TICKS] {
    let mut shares = tables.room();
    shares.iter_mut().zip(belief.shares()).for_each(|(share, p)| *share = *p as f32);
    tables.forecast(&shares)
}

/// Mean and variance of the rate a tick after it was certainly that of `bin`, in packets/s.
fn after_a_tick(grid: &Grid, bin: usize) -> (f64, f64) {
    let mut work = Work::of(grid);
    let rates: Vec<f64> = grid.means().iter().map(|mean| mean * 50.0).collect();
    let mut expect = |f: &dyn Fn(f64) -> f64| {
        let mut out = vec![0.0; grid.len()];
        grid.expect(&rates.iter().map(|&rate| f(rate)).collect::<Vec<_>>(), &mut work, &mut out);
        out[bin]
    };
    let mean = expect(&|rate| rate);
    (mean, expect(&|rate| (rate - mean) * (rate - mean)))
}

/// The kernel's variance is `sigma^2 t = 800`, and that of the width of a bin, `3.90625^2 / 12`.
#[test]
fn a_rate_moves_by_sigma_in_a_root_second() {
    let (mean, variance) = after_a_tick(&stock(), 128);
    assert!((mean - 128.5 * 3.90625).abs() < 1e-3, "{mean}");
    assert!((variance / 801.272 - 1.0).abs() < 1e-4, "{variance}");
    // Beyond the cut at 5 sigma lie 5.7e-7.
    let grid = stock();
    let (mut work, mut out) = (Work::of(&grid), vec![0.0; grid.len()]);
    grid.expect(&vec![1.0; grid.len()], &mut work, &mut out);
    assert!(out[1..].iter().all(|sum| (sum - 1.0).abs() < 6e-7));
    // Phi(3.90625 / 28.2843) = 0.554922, exp(-0.02) = 0.980199.
    assert!((out[0] - 0.552747).abs() < 1e-6, "{}", out[0]);
}

/// What is believed and what is expected are the same matrix from both sides.
#[test]
fn a_belief_and_an_expectation_take_the_same_steps() {
    let grid = stock();
    let mut work = Work::of(&grid);
    let f: Vec<f64> = (0..grid.len()).map(|i| (i % 17) as f64).collect();
    let mut expected = vec![0.0; grid.len()];
    grid.expect(&f, &mut work, &mut expected);
    let mut belief = Belief::new(&grid);
    let share = belief.shares()[0];
    belief.tick(&grid, None);
    let mut ones = vec![0.0; grid.len()];
    grid.expect(&vec![1.0; grid.len()], &mut work, &mut ones);
    let forwards: f64 = belief.shares().iter().zip(&f).map(|(p, f)| p * f).sum();
    let sum = |of: &[f64]| of.iter().map(|x| x * share).sum::<f64>();
    assert!((forwards - sum(&expected) / sum(&ones)).abs() < 1e-12);
}

#[test]
fn packets_are_evidence_as_poisson_says() {
    // Rates stand still: 1.9921875 and 4.0234375 packets per tick.
    let grid = Grid::new(1000.0, 0.0, 0.0);
    let ratio = |packets| {
        let mut belief = Belief::new(&grid);
        belief.tick(&grid, packets);
        belief.shares()[51] / belief.shares()[25]
    };
    // (4.0234375 / 1.9921875)^k exp(-2.03125)
    for (packets, by_hand) in [(Some(0), 0.131171), (Some(3), 1.080539), (None, 1.0)] {
        assert!((ratio(packets) / by_hand - 1.0).abs() < 1e-5, "{packets:?}: {}", ratio(packets));
    }
    let mut belief = Belief::new(&grid);
    belief.tick(&grid, Some(1));
    assert_eq!(belief.shares()[0], 0.0, "no packet comes in an outage");
}

/// Forecasts for rates that stay are quantiles of Poisson(h mean), computed elsewhere.
#[test]
fn forecasts_of_a_known_rate_are_quantiles_of_poisson() {
    let tables = Tables::new(&Params { sigma: 0.0, ..Params::default() });
    for (bin, mean, packets) in [
        (25, 1.9921875, [0, 1, 2, 4, 5, 7, 8, 10]),
        (64, 5.0390625, [2, 5, 9, 13, 17, 21, 26, 30]),
        (128, 10.0390625, [5, 13, 21, 30, 39, 48, 57, 66]),
        (230, 18.0078125, [11, 26, 42, 58, 75, 91, 108, 125]),
    ] {
        assert_eq!(tables.grid.means()[bin], mean);
        assert_eq!(tables.forecast(&certain(&tables, bin)), packets, "{mean} packets per tick");
    }
}

/// A second program that follows the authors' code gave 35, 77 and 80 packets in 100 ms, and 134 in
/// 160 ms from the highest rate; its grid ends one bin lower.
#[test]
fn forecasts_after_a_steady_stream_are_those_of_the_authors_model() {
    let tables = Tables::new(&Params::default());
    for (packets, within) in [(10, 35), (20, 77), (29, 80)] {
        let mut belief = Belief::new(&tables.grid);
        (0..500).for_each(|_| belief.tick(&tables.grid, Some(packets)));
        let found = told(&tables, &belief)[4];
        assert!(found.abs_diff(within) <= 1, "{packets}: {found}");
    }
    let most = tables.forecast(&certain(&tables, 256))[TICKS - 1];
    assert!(most.abs_diff(134) <= 2, "{most}");
}
