//! Charts of what there is too much of for a row each: flows by size, links by utilisation.

use super::super::figures::{four_digits, prefix};
use super::super::look::Protocol;
use super::super::results::{Aggregate, Results, Run};
use super::{Axis, Chart, FLOWS, LINKS, Mark, Row, Scale, Series, beside_reference, without_empty};
use forebay_metrics::statistics::{Range, interval_within, mean};
use std::collections::{BTreeMap, BTreeSet};

/// Parts into which utilisations from 0 to 100 % are divided.
const PARTS: usize = 5;
/// Sizes are told apart by these multiples of each power of ten.
const STEPS: [u64; 2] = [1, 3];

/// The step of sizes that has `bytes`: its two ends.
fn step(bytes: u64) -> (u64, u64) {
    let decade = 10u64.pow(bytes.max(1).ilog10());
    let from = STEPS.iter().rev().map(|step| step * decade).find(|from| *from <= bytes.max(1));
    let from = from.unwrap_or(decade);
    let to = STEPS.iter().map(|step| step * decade).find(|to| *to > from);
    (from, to.unwrap_or(10 * decade))
}

/// Both ends of a step in one unit.
fn range(step: (u64, u64)) -> String {
    let (from, to) = step;
    let (letter, scale) = prefix(from as f64);
    let size = |bytes: u64| four_digits(bytes as f64 / scale);
    format!("{}–{} {letter}B", size(from), size(to))
}

/// Mean completion times of flows of about the same size, on a logarithmic axis; with them those of
/// the reference. None where each flow has a row, or all are of about the same size.
pub(super) fn by_size(results: &Results, protocols: &[Protocol]) -> Option<Chart> {
    if results.runs.iter().all(|run| run.per_flow.len() <= FLOWS) {
        return None;
    }
    let own = |run: &Run| -> Vec<(u64, f64)> {
        run.per_flow.iter().filter_map(|flow| Some((flow.bytes?, flow.fct_s?))).collect()
    };
    let reference = |run: &Run| -> Vec<(u64, f64)> {
        let both = run.against_reference();
        both.filter_map(|(flow, _, reference_s)| Some((flow.bytes?, reference_s))).collect()
    };
    let columns: Vec<_> = results
        .aggregate
        .iter()
        .map(|of| means(results, of, &reference))
        .chain(results.aggregate.iter().map(|of| means(results, of, &own)))
        .collect();
    let steps: BTreeSet<(u64, u64)> = columns.iter().flat_map(|of| of.keys()).copied().collect();
    if steps.len() < 2 {
        return None;
    }
    let row = |step: &(u64, u64)| Row {
        label: range(*step),
        more: String::new(),
        look: None,
        values: columns.iter().map(|of| of.get(step).copied()).collect(),
        intervals: Vec::new(),
    };
    let mut rows: Vec<Row> = steps.iter().map(row).collect();
    let mut series = beside_reference(protocols);
    without_empty(&mut series, &mut rows);
    let reference = if series.iter().any(|series| series.mark == Mark::Tick) {
        " Vertical lines: the same flows in the reference, a fluid max-min network."
    } else {
        ""
    };
    Some(Chart {
        id: "completion-by-size",
        title: "Mean completion time of flows by size".into(),
        row: "size",
        quantity: "completion time",
        unit: "s",
        axis: Scale::logarithmic(&rows)?,
        series,
        rows,
        about: format!("Both axes are logarithmic. Of flows that completed, all seeds.{reference}"),
    })
}

/// The mean time of the flows of each step of sizes.
fn means(
    results: &Results,
    of: &Aggregate,
    times: &impl Fn(&Run) -> Vec<(u64, f64)>,
) -> BTreeMap<(u64, u64), f64> {
    let mut all: BTreeMap<(u64, u64), Vec<f64>> = BTreeMap::new();
    for (bytes, time_s) in results.runs_of(&of.protocol).flat_map(times) {
        all.entry(step(bytes)).or_default().push(time_s);
    }
    all.into_iter().filter_map(|(step, times)| Some((step, mean(&times)?))).collect()
}

/// How many links are how busy. None where each link has bars of its own.
pub(super) fn links(results: &Results, protocols: &[Protocol]) -> Option<Chart> {
    let all = results.runs.iter().map(|run| run.metrics.utilisation.len()).max()?;
    if all <= LINKS {
        return None;
    }
    let row = |part: usize| {
        let share = |run: &Run| {
            let links = &run.metrics.utilisation;
            let inside = links.values().filter(|share| part_of(**share) == part).count();
            100.0 * inside as f64 / links.len() as f64
        };
        let of = |of: &Aggregate| {
            let runs = results.runs_of(&of.protocol);
            let runs = runs.filter(|run| !run.metrics.utilisation.is_empty());
            interval_within(&runs.map(share).collect::<Vec<f64>>(), Range::Within(0.0, 100.0))
        };
        let intervals: Vec<_> = results.aggregate.iter().map(of).collect();
        let width = 100 / PARTS;
        Row {
            label: format!("{}–{} %", part * width, (part + 1) * width),
            more: String::new(),
            look: None,
            values: intervals.iter().map(|of| Some(of.as_ref()?.mean)).collect(),
            intervals,
        }
    };
    Some(Chart {
        id: "utilisation-histogram",
        title: "Share of links by utilisation".into(),
        row: "utilisation",
        quantity: "share of links",
        unit: "%",
        axis: Scale { prefix: "", scale: 1.0, axis: Axis::from_zero(100.0) },
        series: protocols.iter().map(|protocol| Series::of(protocol, Mark::Bar)).collect(),
        rows: (0..PARTS).map(row).collect(),
        about: format!(
            "Of the {all} directed links between routers, the share with a utilisation in each \
             range."
        ),
    })
}

/// The part that has a utilisation; the last one has 1 as well.
fn part_of(share: f64) -> usize {
    ((share * PARTS as f64) as usize).min(PARTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_sizes_by_hand() {
        assert_eq!([0, 1, 2, 3, 9].map(step), [(1, 3), (1, 3), (1, 3), (3, 10), (3, 10)]);
        assert_eq!([999, 1_000, 2_999].map(step), [(300, 1_000), (1_000, 3_000), (1_000, 3_000)]);
        assert_eq!(step(31_000_000), (30_000_000, 100_000_000));
        let texts = [(1, 3), (300, 1_000), (1_000, 3_000), (3_000_000, 10_000_000)].map(range);
        assert_eq!(texts, ["1–3 B", "300–1000 B", "1–3 kB", "3–10 MB"]);
    }

    #[test]
    fn parts_of_utilisations_by_hand() {
        assert_eq!([0.0, 0.199, 0.2, 0.5, 0.8, 1.0].map(part_of), [0, 0, 1, 2, 4, 4]);
    }
}
