//! NewReno and CUBIC, alone and against each other, compared with the closed forms of
//! `forebay_testkit::duel::sawtooth`; and those that look at delay (`delay`).
//!
//! `short.txt`, `full.txt` and their like next to this file are what a run must print. Measured
//! values are rounded so that they show the science and not the scheduling of single packets. A
//! change of behaviour shows in the diff of these files; a change for the worse fails the
//! tolerances below even with new files.

mod alone;
mod delay;
mod pair;
pub mod table;

use forebay_base::{Rate, Span};
use forebay_cc::{Spec, cubic};
use forebay_testkit::duel::Duel;
use forebay_testkit::duel::sawtooth::SawtoothModel;
use forebay_transport::{PRESETS, TcpConfig};

/// A bottleneck: Mbit/s, ms of round trip, buffer in bandwidth-delay products.
#[derive(Clone, Copy)]
pub struct Net {
    mbps: u64,
    rtt_ms: u64,
    buffer_bdp: f64,
}

/// Who competes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681 and 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
}

impl Algorithm {
    fn law(self) -> SawtoothModel {
        match self {
            Algorithm::NewReno => SawtoothModel::NEWRENO,
            Algorithm::Cubic => SawtoothModel::CUBIC,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Algorithm::NewReno => "newreno",
            Algorithm::Cubic => "cubic",
        }
    }
    /// RFC 9438 section 4.7 wants no fast convergence where a flow is alone.
    fn spec(self, alone: bool) -> Spec {
        match self {
            Algorithm::NewReno => Spec::NewReno(forebay_cc::newreno::Params::default()),
            Algorithm::Cubic => {
                Spec::Cubic(cubic::Params { fast_convergence: !alone, ..cubic::Params::default() })
            }
        }
    }
}

/// The preset `modern`, with buffers at both ends for the largest window here: 5 BDP of 1.25 MB,
/// and slow start's excess.
fn config() -> TcpConfig {
    let modern = PRESETS.iter().find(|p| p.name == "modern").expect("a preset of that name");
    TcpConfig { send_buffer_bytes: 1 << 26, receive_buffer_bytes: 1 << 26, ..modern.config }
}

fn duel(net: Net, flows: Vec<Spec>) -> Duel {
    Duel {
        flows,
        rate: Rate::mbps(net.mbps),
        rtt: Span::from_millis(net.rtt_ms),
        buffer_bdp: net.buffer_bdp,
        config: config(),
        warm_up: Span::ZERO,
        measured: Span::ZERO,
        seed: 1,
    }
}

fn grid(nets: &[(u64, u64)], buffers: &[f64]) -> Vec<Net> {
    let net =
        |&(mbps, rtt_ms)| buffers.iter().map(move |&buffer_bdp| Net { mbps, rtt_ms, buffer_bdp });
    nets.iter().flat_map(net).collect()
}

const BUFFERS: &[f64] = &[0.25, 0.5, 1.0, 2.0, 4.0];
const NETS: &[(u64, u64)] = &[(10, 20), (10, 100), (100, 20), (100, 100)];

#[test]
fn duels_keep_to_their_closed_forms() {
    let mut alone = grid(&[(10, 20), (10, 100), (100, 20)], BUFFERS);
    alone.extend(grid(&[(100, 100)], &[0.25]));
    let mut pairs = grid(&[(10, 20), (10, 100)], &[0.25, 1.0]);
    pairs.extend(grid(&[(10, 20)], &[4.0]));
    let text = format!("{}\n{}", alone::table(&alone, 5), pair::table(&pairs, 40));
    table::compare("short.txt", &text);
}

#[test]
#[ignore = "the whole grid: 15 minutes of CPU time with --release"]
fn the_whole_grid_keeps_to_its_closed_forms() {
    let all = grid(NETS, BUFFERS);
    let text = format!("{}\n{}", alone::table(&all, 10), pair::table(&all, 20));
    table::compare("full.txt", &text);
}

#[test]
fn those_that_look_at_delay_keep_their_queues() {
    let alone = grid(&[(10, 20), (10, 100)], &[1.0, 4.0]);
    let mut pairs = grid(&[(10, 20)], &[1.0, 4.0]);
    pairs.extend(grid(&[(10, 100)], &[1.0]));
    let length = delay::Length { warm_up: 200.0, warm_up_s: 10.0, measured: 200.0, seeds: 3 };
    let text = format!("{}\n{}", delay::alone(&alone, &length), delay::pairs(&pairs, &length));
    table::compare("delay-short.txt", &text);
}

#[test]
fn those_that_look_at_delay_have_one_trace() {
    delay::hashes_agree();
}

const DELAY_BUFFERS: &[f64] = &[0.5, 1.0, 2.0, 4.0, 8.0];
const DELAY_LENGTH: delay::Length =
    delay::Length { warm_up: 100.0, warm_up_s: 50.0, measured: 100.0, seeds: 1 };

#[test]
#[ignore = "the whole grid, alone: minutes with --release"]
fn alone_those_that_look_at_delay_keep_their_queues_everywhere() {
    let text = delay::alone(&grid(NETS, DELAY_BUFFERS), &DELAY_LENGTH);
    table::compare("delay-alone.txt", &text);
}

#[test]
#[ignore = "the whole grid of pairs: a quarter of an hour with --release"]
fn pairs_of_those_that_look_at_delay_have_their_shares_everywhere() {
    let text = delay::pairs(&grid(NETS, DELAY_BUFFERS), &DELAY_LENGTH);
    table::compare("delay-pairs.txt", &text);
}
