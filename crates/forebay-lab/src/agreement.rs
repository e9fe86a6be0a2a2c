//! How far runs over real wires agree with simulated ones of the same scenario.

use crate::summary::{Aggregate, Summary};
use forebay_metrics::statistics::Interval;
use forebay_report::{Row, Shown, Unit, rows, typical_sizes};
use serde::Serialize;

/// Mean delays that differ by no more agree, in seconds, however short they are.
const DELAY_BOUND_S: f64 = 1e-3;
/// A kind of drop that is as frequent in one, and that the other never has, is a difference:
/// packets per run.
const FREQUENT: f64 = 0.5;
/// Hosts of the kernel do not tell when each packet left and came: beside them these are of other
/// packets than in a simulation.
const PER_PACKET: [&str; 2] = ["rtt_mean_ms", "one_way_delay_mean_ms"];

/// What became of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the bound, or the 95 % intervals overlap.
    Agree,
    /// Neither.
    Differ,
    /// Shown, and not judged.
    Unjudged,
}

/// A figure of one protocol, simulated and live.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What tables call it.
    pub label: String,
    /// The key of the metric; empty if it is none of the run.
    pub metric: &'static str,
    /// Over the simulated runs. In the unit of the row: seconds, bit/s, bytes, shares, numbers.
    pub simulated: Option<f64>,
    /// Its 95 % interval.
    pub simulated_ci95: Option<[f64; 2]>,
    /// Over the live runs.
    pub live: Option<f64>,
    /// Its 95 % interval.
    pub live_ci95: Option<[f64; 2]>,
    /// What it comes to.
    pub verdict: Verdict,
    /// The unit, for tables.
    #[serde(skip)]
    pub unit: Unit,
    /// The size of values of its kind, for tables.
    #[serde(skip)]
    pub typical: f64,
}

/// The figures of one protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The protocol.
    pub protocol: String,
    /// What text and figures call it.
    pub label: String,
    /// Its figures, in the order of tables.
    pub figures: Vec<Figure>,
}

impl Agreement {
    /// Of each protocol that has runs of both kinds. Rates, sizes, completion times and mean delays
    /// agree when they differ by at most the share `within`. RTTs and one-way delays are judged if
    /// `all_ours`: all hosts of the live runs are Forebay's.
    pub fn of_summaries(
        simulated: &Summary,
        live: &Summary,
        shown: Shown,
        within: f64,
        all_ours: bool,
    ) -> Vec<Agreement> {
        let pairs = simulated.aggregate.iter().filter_map(|simulated| {
            let live = live.aggregate.iter().find(|of| of.protocol == simulated.protocol)?;
            let mut agreement = Agreement::of(simulated, live, shown, within);
            if !all_ours {
                agreement.leave_out(&PER_PACKET);
            }
            Some(agreement)
        });
        pairs.collect()
    }
    /// Do not judge these metrics.
    fn leave_out(&mut self, metrics: &[&str]) {
        let theirs = self.figures.iter_mut().filter(|of| metrics.contains(&of.metric));
        theirs.for_each(|of| of.verdict = Verdict::Unjudged);
    }
    fn of(simulated: &Aggregate, live: &Aggregate, shown: Shown, within: f64) -> Agreement {
        let rows = rows(&[&simulated.means, &live.means], shown);
        let sizes = typical_sizes(&rows);
        let figures = rows.iter().zip(sizes).map(|(row, typical)| figure(row, typical, within));
        let mut figures: Vec<Figure> = figures.collect();
        let share = |of: &Aggregate| of.completed as f64 / of.flows.max(1) as f64;
        figures.push(completed(share(simulated), share(live)));
        let (protocol, label) = (simulated.protocol.clone(), simulated.label.clone());
        Agreement { protocol, label, figures }
    }
    /// The figures that were judged, and those of them that differ.
    pub fn judged(&self) -> (usize, Vec<&Figure>) {
        let judged = self.figures.iter().filter(|of| of.verdict != Verdict::Unjudged).count();
        let differing = self.figures.iter().filter(|of| of.verdict == Verdict::Differ);
        (judged, differing.collect())
    }
}

/// How far two values of a figure may be apart.
enum Bound {
    /// By this much, in the unit of the figure.
    Of(f64),
    /// Neither may be 0 where the other is frequent.
    Presence,
}

fn bound(row: &Row, simulated: f64, within: f64) -> Option<Bound> {
    match row.name {
        "afct_s" | "goodput_bps" | "throughput_mean_bps" | "delivered_bytes" => {
            Some(Bound::Of(within * simulated.abs()))
        }
        "queue_delay_mean_ms" | "one_way_delay_mean_ms" | "rtt_mean_ms" => {
            Some(Bound::Of(DELAY_BOUND_S.max(within * simulated.abs())))
        }
        "" if row.unit == Unit::Count => Some(Bound::Presence),
        _ => None,
    }
}

fn figure(row: &Row, typical: f64, within: f64) -> Figure {
    let [simulated, live] = [0, 1].map(|at| row.values[at]);
    // What one of them never had is absent there.
    let or_zero =
        |value: Option<f64>| if row.name.is_empty() { value.or(Some(0.0)) } else { value };
    let means = [simulated, live].map(|value| or_zero(value.map(|value| value.mean)));
    let ends = |value: Option<Interval>, mean: f64| {
        value.and_then(|value| value.ci95).unwrap_or([mean, mean])
    };
    let verdict = match means {
        [Some(a), Some(b)] => bound(row, a, within).map_or(Verdict::Unjudged, |bound| {
            let ([a_low, a_high], [b_low, b_high]) = (ends(simulated, a), ends(live, b));
            let overlap = a_low <= b_high && b_low <= a_high;
            let near = match bound {
                Bound::Of(bound) => (a - b).abs() <= bound,
                Bound::Presence => a.min(b) > 0.0 || a.max(b) < FREQUENT,
            };
            if near || overlap { Verdict::Agree } else { Verdict::Differ }
        }),
        [None, None] => Verdict::Unjudged,
        _ if bound(row, 0.0, within).is_some() => Verdict::Differ,
        _ => Verdict::Unjudged,
    };
    Figure {
        label: row.label.clone(),
        metric: row.name,
        simulated: means[0],
        simulated_ci95: simulated.and_then(|value| value.ci95),
        live: means[1],
        live_ci95: live.and_then(|value| value.ci95),
        verdict,
        unit: row.unit,
        typical,
    }
}

/// Flows that completed: as many of both.
fn completed(simulated: f64, live: f64) -> Figure {
    Figure {
        label: forebay_report::labels::COMPLETED.to_string(),
        metric: "completed",
        simulated: Some(simulated),
        simulated_ci95: None,
        live: Some(live),
        live_ci95: None,
        verdict: if simulated == live { Verdict::Agree } else { Verdict::Differ },
        unit: Unit::Share,
        typical: 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(mean: f64, half: f64) -> Option<Interval> {
        let ci95 = (half > 0.0).then_some([mean - half, mean + half]);
        Some(Interval { mean, ci95, n: 10 })
    }

    fn verdict(name: &'static str, unit: Unit, values: [Option<Interval>; 2]) -> Verdict {
        let row = Row { label: name.into(), name, unit, scale: 1.0, values: values.to_vec() };
        figure(&row, 1.0, 0.01).verdict
    }

    #[test]
    fn figures_agree_within_the_bound_or_where_intervals_overlap() {
        let time = |a, b| verdict("afct_s", Unit::Seconds, [a, b]);
        assert_eq!(time(interval(10.0, 0.0), interval(10.09, 0.0)), Verdict::Agree);
        assert_eq!(time(interval(10.0, 0.0), interval(10.11, 0.0)), Verdict::Differ);
        assert_eq!(time(interval(10.0, 0.3), interval(10.5, 0.3)), Verdict::Agree);
        assert_eq!(time(interval(10.0, 0.2), interval(10.5, 0.2)), Verdict::Differ);
        assert_eq!(time(interval(10.0, 0.0), None), Verdict::Differ);
        let wait = |a, b| verdict("queue_delay_mean_ms", Unit::Seconds, [a, b]);
        assert_eq!(wait(interval(0.003, 0.0), interval(0.0039, 0.0)), Verdict::Agree);
        assert_eq!(wait(interval(0.003, 0.0), interval(0.0041, 0.0)), Verdict::Differ);
        let tail = |a, b| verdict("fct_p99_s", Unit::Seconds, [a, b]);
        assert_eq!(tail(interval(1.0, 0.0), interval(9.0, 0.0)), Verdict::Unjudged);
    }

    #[test]
    fn drops_that_only_one_has_are_a_difference() {
        let drops = |a, b| verdict("", Unit::Count, [a, b]);
        assert_eq!(drops(interval(15.0, 0.0), interval(11.0, 0.0)), Verdict::Agree);
        assert_eq!(drops(interval(15.0, 0.0), None), Verdict::Differ);
        assert_eq!(drops(None, interval(0.2, 0.0)), Verdict::Agree);
        assert_eq!(verdict("", Unit::Share, [interval(0.9, 0.0), None]), Verdict::Unjudged);
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_not_judged() {
        let figure = |name: &'static str, other| {
            let (unit, values) = (Unit::Seconds, vec![interval(0.1, 0.0), other]);
            figure(&Row { label: name.into(), name, unit, scale: 1.0, values }, 1.0, 0.01)
        };
        let names = ["rtt_mean_ms", "one_way_delay_mean_ms", "queue_delay_mean_ms"];
        for other in [interval(0.2, 0.0), None] {
            let figures = names.map(|name| figure(name, other)).to_vec();
            let (protocol, label) = ("inrpp".to_string(), "INRPP".to_string());
            let mut agreement = Agreement { protocol, label, figures };
            assert_eq!(agreement.judged().1.len(), 3);
            agreement.leave_out(&PER_PACKET);
            let (judged, differing) = agreement.judged();
            assert_eq!((judged, differing[0].metric), (1, "queue_delay_mean_ms"));
        }
    }

    #[test]
    fn flows_that_do_not_complete_are_a_difference() {
        assert_eq!(completed(1.0, 1.0).verdict, Verdict::Agree);
        assert_eq!(completed(1.0, 0.9).verdict, Verdict::Differ);
    }
}
