//! Two flows of equal RTT: the share of the first, over seeds that start them at different times
//! within the first second.
//!
//! What is expected:
//!
//! - **The same algorithm twice**: 1/2, by symmetry, for the mean over seeds. A single run may
//!   settle elsewhere: two flows of exactly equal RTT on a drop-tail queue fall into step, and then
//!   the same one loses each time (Floyd and Jacobson, On Traffic Phase Effects in Packet-Switched
//!   Gateways, 1992). So 1/2 must lie in the interval of the mean of each row, which is one of 40
//!   such intervals in the whole grid and hence of 99.9 %, and in the 95 % interval of all rows
//!   together. (CUBIC twice at 100 Mbit/s, 20 ms, 1 BDP: 45 % over seeds 1 to 5, 49.8 % over 1 to
//!   40.) No run may leave 20 to 80 %.
//! - **CUBIC competing with NewReno**: between the two limits of `Overflow`. If an overflow hits
//!   both, CUBIC's line is fair (1/2), and on its curve it gets the more the longer the cycle is.
//!   If it hits the grower, NewReno, which grows by 1 and not by 0.53 per round trip, is hit more
//!   often: 5/8 for CUBIC, and less than with both where CUBIC's curve is the steeper one. Reality
//!   mixes the two, so the mean must lie between the limits, widened by its 95 % interval and by
//!   half a packet of the largest window, since windows are whole packets. (That shows at 10
//!   Mbit/s, 20 ms, 0.5 BDP, where all seeds fall into the same pattern of 28 losses in 2.26 s:
//!   NewReno loses at 8 to 13 packets, one or two of which FlightSize leaves out.)

use super::table::{self, map};
use super::{Algorithm, Net, duel};
use forebay_base::Span;
use forebay_testkit::duel::Outcome;
use forebay_testkit::duel::sawtooth::{Overflow, Variant};

/// The flows of a row, and where they meet.
type Case = ((Algorithm, Algorithm), Net);

/// Two-sided 95 % quantile of Student's t with 4 degrees of freedom.
const T_95_OF_5_SEEDS: f64 = 2.776;
/// The same of 99.9 %.
const T_999_OF_5_SEEDS: f64 = 8.610;
/// 95 % with 24 degrees of freedom, those of the smallest table.
const T_95_OF_ALL_ROWS: f64 = 2.064;
const SEEDS: u64 = 5;
const WARM_UP_CYCLES: f64 = 5.0;
const HALF_A_PACKET: f64 = 0.5;
/// No flow may have less competing with its like.
const STARVED: f64 = 0.2;

pub fn table(nets: &[Net], cycles: u32) -> String {
    let pairs = [
        (Algorithm::NewReno, Algorithm::NewReno),
        (Algorithm::Cubic, Algorithm::Cubic),
        (Algorithm::Cubic, Algorithm::NewReno),
    ];
    let cases: Vec<Case> = pairs.iter().flat_map(|&p| nets.iter().map(move |&n| (p, n))).collect();
    let runs: Vec<(Case, u64)> =
        cases.iter().flat_map(|&case| (1..=SEEDS).map(move |seed| (case, seed))).collect();
    let outcomes = map(&runs, |&(case, seed)| run(case, cycles, seed));
    let mut rows: Vec<_> =
        cases.iter().zip(outcomes.chunks(SEEDS as usize)).map(|(&c, o)| row(c, o)).collect();
    for (a, b) in pairs.into_iter().filter(|(a, b)| a == b) {
        let of_pair = runs.iter().zip(&outcomes).filter(|((case, _), _)| case.0 == (a, b));
        let shares: Vec<f64> = of_pair.map(|(_, outcome)| outcome.share()).collect();
        rows.push(all_rows(a, &shares));
    }
    let head = format!(
        "Pairs, over the time of {cycles} expected cycles of the first flow alone, after \
         {WARM_UP_CYCLES}; seeds 1 to {SEEDS}; means over seeds.\n\
         Share of the first flow in %: if both lose, if the grower loses, measured with its 95 % \
         interval, seed by seed.\n\
         pair            Mbit/s   ms  BDP |  both grower |  share  95 % \
         | seeds          | utilisation | wait ms | period s"
    );
    table::join(&head, rows)
}

fn run(((a, b), net): Case, cycles: u32, seed: u64) -> Outcome {
    let mut duel = duel(net, vec![a.spec(false), b.spec(false)]);
    let cycle_s = duel.pipe().cycle(a.law(), Variant::default()).period_s;
    duel.warm_up = Span::from_secs_f64(WARM_UP_CYCLES * cycle_s + 2.0);
    duel.measured = Span::from_secs_f64(f64::from(cycles) * cycle_s);
    duel.seed = seed;
    duel.run()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// The mean, and its standard error.
fn mean_and_error(shares: &[f64]) -> (f64, f64) {
    let n = shares.len() as f64;
    let mean = mean(shares.iter().copied());
    let squares = shares.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// One algorithm competing with itself, everywhere.
fn all_rows(algorithm: Algorithm, shares: &[f64]) -> (String, Vec<String>) {
    let (share, error) = mean_and_error(shares);
    let half_width = T_95_OF_ALL_ROWS * error;
    let name = algorithm.name();
    let line =
        format!("{name} {name} everywhere: {:.1} +- {:.1} %", 100.0 * share, 100.0 * half_width);
    let fair = (share - 0.5).abs() <= half_width;
    let complaint = (!fair).then(|| format!("{line} is not 50 %"));
    (line, complaint.into_iter().collect())
}

fn row(((a, b), net): Case, outcomes: &[Outcome]) -> (String, Vec<String>) {
    let pipe = duel(net, Vec::new()).pipe();
    let limit = |overflow| if a == b { 0.5 } else { pipe.share(a.law(), b.law(), overflow) };
    let (both, grower) = (limit(Overflow::HitsBoth), limit(Overflow::HitsTheGrower));
    let shares: Vec<f64> = outcomes.iter().map(Outcome::share).collect();
    let (share, error) = mean_and_error(&shares);
    assert_eq!(shares.len() as u64, SEEDS, "the quantiles are for this number");
    let half_width = T_95_OF_5_SEEDS * error;
    let slack =
        if a == b { T_999_OF_5_SEEDS * error } else { half_width + HALF_A_PACKET / pipe.top() };
    let (low, high) = (both.min(grower) - slack, both.max(grower) + slack);
    let name = format!("{} {}", a.name(), b.name());
    let Net { mbps, rtt_ms, buffer_bdp } = net;
    let context = format!("{name} {mbps} Mbit/s {rtt_ms} ms {buffer_bdp} BDP");
    let mut complaints = Vec::new();
    if share < low || share > high {
        complaints.push(format!("{context}: share {share:.3} not in {low:.3}..={high:.3}"));
    }
    if a == b && shares.iter().any(|s| !(STARVED..=1.0 - STARVED).contains(s)) {
        complaints.push(format!("{context}: a flow starves: {shares:.3?}"));
    }
    let percent: Vec<String> = shares.iter().map(|s| format!("{:.0}", 100.0 * s)).collect();
    let line = format!(
        "{name:<15} {mbps:>6} {rtt_ms:>4} {buffer_bdp:>4} | {:>5.0} {:>6.0} | {:>6.0} +- {:>2.0} \
         | {:<14} | {:>11.1} | {:>7.1} | {:>8}",
        100.0 * both,
        100.0 * grower,
        100.0 * share,
        100.0 * half_width,
        percent.join(" "),
        100.0 * mean(outcomes.iter().map(|o| o.utilisation)),
        1e3 * mean(outcomes.iter().map(|o| o.wait.as_secs_f64())),
        table::seconds(mean(outcomes.iter().map(|o| o.period_s().expect("several losses")))),
    );
    (line, complaints)
}
