//! The differences between protocols and a baseline, run by run with the same seed: a table with a
//! small plot in each cell.

use super::axis::Axis;
use super::error::ReportError;
use super::escape::html;
use super::figures::intervals;
use super::look::Protocol;
use super::results::{Aggregate, Results};
use super::tables::{shown, unit_of};
use forebay_metrics::statistics::Interval;
use forebay_metrics::{DifferenceRow, Paired, RunValues, difference_rows};
use std::fmt::Write;

/// Most seeds with a point in a cell.
const POINTS: usize = 200;
/// Width and height of a cell's plot in its own units; it is stretched to the width of the cell.
const WIDTH: f64 = 1000.0;
const HEIGHT: u32 = 16;

/// Places of protocols in the page: of a protocol and of its baseline.
type Pair = (usize, usize);

/// The section; empty without two seeds that two protocols share.
pub(super) fn section(
    results: &Results,
    protocols: &[Protocol],
    baseline: Option<&str>,
) -> Result<String, ReportError> {
    let values: Vec<Vec<(u64, RunValues<String>)>> = results
        .aggregate
        .iter()
        .map(|of| results.runs_of(&of.protocol).map(|run| (run.seed, run.values())).collect())
        .collect();
    let mut columns = Vec::new();
    for (own, other) in pairs(results, baseline)? {
        let name = |place: usize| results.aggregate[place].protocol.as_str();
        let paired = Paired::of(name(own), &values[own], name(other), &values[other]);
        if let Some(mut paired) = paired {
            let alone = |place: usize| {
                let of = &results.aggregate[place].means.metrics;
                of.values().all(|interval| interval.ci95.is_none())
            };
            if alone(own) && alone(other) {
                // The same run again and again.
                paired.means.drop_intervals();
            }
            columns.push((own, other, paired));
        }
    }
    if columns.iter().all(|(_, _, paired)| paired.seeds.len() < 2) {
        return Ok(String::new());
    }
    let (places, paired): (Vec<Pair>, Vec<Paired<String>>) =
        columns.into_iter().map(|(own, other, paired)| ((own, other), paired)).unzip();
    let means: Vec<_> = results.aggregate.iter().map(|of| &of.means).collect();
    let rows = difference_rows(&means, &paired, shown(results));
    Ok(table(&rows, &paired, &places, protocols))
}

/// Which protocols are compared with which.
fn pairs(results: &Results, baseline: Option<&str>) -> Result<Vec<Pair>, ReportError> {
    let all = &results.aggregate;
    let place = |is: &dyn Fn(&Aggregate) -> bool| all.iter().position(is);
    let is_labelled = all.iter().any(|of| of.protocol != of.name);
    let other = match baseline {
        Some(name) => {
            let found = place(&|of| of.protocol == name).or_else(|| place(&|of| of.name == name));
            let missing = || {
                let known = all.iter().map(|of| of.protocol.clone()).collect();
                ReportError::Baseline { name: name.to_string(), known }
            };
            found.ok_or_else(missing)?
        }
        None if is_labelled => {
            // The same protocol in another folder.
            let first = |own: usize| place(&|of| of.name == all[own].name);
            let pairs = (0..all.len()).filter_map(|own| Some((own, first(own)?)));
            return Ok(pairs.filter(|(own, other)| own != other).collect());
        }
        None => {
            let of_run = results.paired.first();
            of_run.and_then(|of| place(&|own| own.name == of.baseline)).unwrap_or(0)
        }
    };
    Ok((0..all.len()).filter(|&own| own != other).map(|own| (own, other)).collect())
}

fn table(
    rows: &[DifferenceRow],
    paired: &[Paired<String>],
    places: &[Pair],
    protocols: &[Protocol],
) -> String {
    let titles = |place: usize| html(&protocols[place].title);
    let one = places.iter().all(|(_, other)| *other == places[0].1);
    let what = if one { titles(places[0].1) } else { "the first folder".to_string() };
    let heads = places.iter().map(|&(own, other)| {
        let minus = if one { String::new() } else { format!(" − {}", titles(other)) };
        format!("<th scope=col>{}{}{minus}</th>", protocols[own].picture(), titles(own))
    });
    let heads: String = heads.collect();
    let colours: Vec<String> =
        places.iter().map(|&(own, _)| html(&protocols[own].colour)).collect();
    let body: String = rows.iter().map(|of| row(of, paired, &colours)).collect();
    let pairs: String = paired.iter().map(|of| format!("<td>{}</td>", of.seeds.len())).collect();
    let columns = places.len();
    format!(
        "<section id=paired><h2>Difference from {what}, seed by seed</h2>\
         <p class=about>Runs with the same seed share channels, starts and losses, so their \
         numbers are subtracted before the mean is taken: mean and 95 % confidence interval \
         (Student's t over the pairs), bold where it does not hold 0. In the plots a dot for each \
         seed, a bar for the interval, a vertical line at 0; one scale in each row.</p>\
         <div class=wide><table style=--n:{columns}><thead><tr><th></th>{heads}</tr></thead>\
         <tbody>{body}<tr><th scope=row>pairs</th>{pairs}</tr></tbody></table></div></section>\n"
    )
}

fn row(of: &DifferenceRow, paired: &[Paired<String>], colours: &[String]) -> String {
    let DifferenceRow { row, seeds } = of;
    let largest = row.values.iter().flatten().map(|of| of.mean.abs()).fold(0.0, f64::max);
    let (unit, scale) = unit_of(row.unit, largest);
    let axis = RowAxis::of(of);
    let texts = intervals(&row.values, scale, true);
    let mut cells = String::new();
    for (place, text) in texts.iter().enumerate() {
        let value = row.values[place];
        let fewer = value.filter(|value| value.n < paired[place].seeds.len());
        let fewer = fewer.map_or(String::new(), |value| format!(" (n = {})", value.n));
        let clear = value.and_then(|of| of.ci95).is_some_and(|[low, high]| low * high > 0.0);
        let tag = if clear { "b" } else { "span" };
        let plot = axis.plot(&seeds[place], value, &colours[place]);
        // Writing to a string cannot fail.
        let _ = write!(cells, "<td><{tag}>{text}</{tag}>{fewer}{plot}</td>");
    }
    let comma = if unit.is_empty() { "" } else { ", " };
    format!("<tr><th scope=row>{}{comma}{unit}</th>{cells}</tr>", html(&row.label))
}

/// The axis of a row, in units of the plot: from the lowest to the highest of 0, all differences
/// and all intervals.
struct RowAxis(Axis);

impl RowAxis {
    fn of(row: &DifferenceRow) -> RowAxis {
        let ends = row.row.values.iter().flatten().filter_map(|of| of.ci95).flatten();
        let all = row.seeds.iter().flatten().flatten().copied().chain(ends);
        let (from, to) = all.fold((0.0f64, 0.0f64), |(a, b), value| (a.min(value), b.max(value)));
        RowAxis(Axis { from, to: to.max(from + f64::MIN_POSITIVE), log: false })
    }
    /// Dots have room at both ends.
    fn x(&self, value: f64) -> f64 {
        WIDTH * (0.02 + 0.96 * self.0.share(value))
    }
    fn plot(&self, seeds: &[Option<f64>], value: Option<Interval>, colour: &str) -> String {
        let Some(Interval { mean, ci95, .. }) = value else { return String::new() };
        let (middle, zero) = (HEIGHT / 2, self.x(0.0));
        let mut dots = String::new();
        for &seed in seeds.iter().flatten().take(POINTS) {
            let _ = write!(dots, "M{:.0} {middle}h0", self.x(seed));
        }
        let bar = ci95.map_or(String::new(), |[low, high]| {
            let (low, high) = (self.x(low), self.x(high));
            format!("<path class=bar d='M{low:.0} {middle}H{high:.0}'/>")
        });
        format!(
            "<svg class=strip viewBox='0 0 {WIDTH} {HEIGHT}' preserveAspectRatio=none \
             style='--c:{colour}' aria-hidden=true><path class=zero d='M{zero:.0} 0V{HEIGHT}'/>\
             {bar}<path class=dots d='{dots}'/><path class=mean d='M{:.0} 2V{}'/></svg>",
            self.x(mean),
            HEIGHT - 2
        )
    }
}
