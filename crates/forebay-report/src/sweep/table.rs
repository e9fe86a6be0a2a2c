//! All points and protocols of a sweep in one table. A script sorts and filters it
//! (`assets/sweep.js`); without one it is there as well.

use super::Quantity;
use super::read::{Measured, Sweep};
use super::scale::KeyScale;
use crate::escape::html;
use crate::figures::intervals;
use crate::look::Protocol;
use crate::tables::unit_of;
use crate::{METRICS, Unit};
use forebay_metrics::statistics::{Interval, Range};
use std::fmt::Write;

/// Most rows of the table.
const MAX_ROWS: usize = 5_000;

/// A share between none and all.
const SHARE: Range = Range::Within(0.0, 1.0);

/// Its columns.
pub(super) fn quantities() -> Vec<Quantity> {
    let metric = |name: &str, meaning: &'static str| {
        let metric = METRICS.iter().find(|metric| metric.name == name);
        Quantity::of(metric.expect("a metric of this name"), meaning)
    };
    let share = |label, meaning, columns: &[&'static str]| {
        let (unit, scale, columns) = (Unit::Share, 1.0, columns.to_vec());
        Quantity { label, meaning, unit, scale, range: SHARE, columns }
    };
    vec![
        share(
            "utilisation",
            "share of the bytes that the bottleneck could carry; of links that follow no trace \
             the busy share of the busiest",
            &["trace_utilisation", "utilisation"],
        ),
        metric("goodput_bps", "bytes in order at all receivers in the window, per time"),
        share(
            "share of goodput",
            "that of the class of the first flow",
            &["first_class_goodput_share"],
        ),
        Quantity { range: SHARE, ..metric("jain_goodput", "over the goodputs of all flows") },
        Quantity {
            label: "delay p95",
            columns: vec!["first_class_delay_p95_ms"],
            ..metric(
                "one_way_delay_p95_ms",
                "from sender to receiver, of data packets of the class of the first flow",
            )
        },
        share(
            "sent again",
            "retransmitted packets by packets sent, of the class of the first flow",
            &["first_class_retransmit_share"],
        ),
    ]
}

/// The section; empty if no run has a result.
pub(super) fn section(
    sweep: &Sweep,
    protocols: &[Protocol],
    quantities: &[Quantity],
    measured: &[Measured],
) -> String {
    let points = 0..sweep.points.len();
    let all = points.flat_map(|point| (0..protocols.len()).map(move |protocol| (point, protocol)));
    let rows: Vec<(usize, usize)> = all
        .filter(|&(point, protocol)| measured.iter().any(|of| of.at(point, protocol).is_some()))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let (shown, more) = rows.split_at(rows.len().min(MAX_ROWS));
    let columns: Vec<Column> = quantities
        .iter()
        .zip(measured)
        .filter(|(_, measured)| !measured.is_empty())
        .map(|(quantity, measured)| Column::new(quantity, measured, shown))
        .collect();
    let axes: Vec<(String, Vec<String>)> =
        (0..sweep.record.axes.len()).map(|axis| labels(sweep, axis)).collect();
    let named = axes.iter().map(|(name, _)| name.as_str()).chain(["protocol"]);
    let mut heads: String =
        named.map(|name| format!("<th class=name scope=col>{}</th>", html(name))).collect();
    for column in &columns {
        let (meaning, head) = (html(column.meaning), html(&column.head));
        let _ = write!(heads, "<th scope=col title='{meaning}'>{head}</th>");
    }
    let mut body = String::new();
    for (row, &(point, protocol)) in shown.iter().enumerate() {
        body.push_str("<tr>");
        for ((_, labels), step) in axes.iter().zip(sweep.steps(point)) {
            let _ = write!(body, "<th scope=row>{}</th>", html(&labels[step]));
        }
        let look = &protocols[protocol];
        let _ = write!(body, "<th scope=row>{}{}</th>", look.picture(), html(&look.title));
        columns.iter().for_each(|column| body.push_str(&column.cells[row].html()));
        body.push_str("</tr>\n");
    }
    let about = about(sweep, protocols, quantities, more.len());
    format!(
        "<section id=table><h2>Points and protocols</h2>{about}<div class=wide><table>\
         <thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div></section>\n"
    )
}

fn about(
    sweep: &Sweep,
    protocols: &[Protocol],
    quantities: &[Quantity],
    left_out: usize,
) -> String {
    let meanings: Vec<String> =
        quantities.iter().map(|of| format!("{}: {}", html(of.label), html(of.meaning))).collect();
    let baseline = sweep.record.baseline.as_ref();
    let baseline = baseline.and_then(|name| sweep.record.protocols.iter().position(|p| p == name));
    let difference = baseline.map_or(String::new(), |place| {
        let title = html(&protocols[place].title);
        format!(
            "<p class=about data-baseline='{title}'>Differences from {title} are taken seed by \
             seed, at the same point: mean and 95 % interval (Student's t over the pairs), bold \
             where it does not hold 0.</p>"
        )
    });
    let more = match left_out {
        0 => String::new(),
        more => format!("<p class=about>{more} more rows are in sweep.parquet.</p>"),
    };
    format!("<p class=about>{}.</p>{difference}{more}", meanings.join("; "))
}

/// What an axis is called, and each of its steps.
fn labels(sweep: &Sweep, axis: usize) -> (String, Vec<String>) {
    (sweep.axis_title(axis), KeyScale::of(sweep, axis).labels)
}

/// A quantity of the rows of a table.
pub(super) struct Column {
    /// Its name and unit.
    pub head: String,
    meaning: &'static str,
    /// By row.
    pub cells: Vec<Shown>,
}

/// A value in a row.
pub(super) struct Shown {
    pub mean: Option<Interval>,
    /// From the baseline.
    pub difference: Option<Interval>,
    pub text: String,
    pub difference_text: String,
}

impl Column {
    /// Of these rows: of each the numbers of point and protocol.
    pub fn new(quantity: &Quantity, measured: &Measured, rows: &[(usize, usize)]) -> Column {
        let means: Vec<Option<Interval>> = rows.iter().map(|&(p, q)| measured.at(p, q)).collect();
        let differences: Vec<Option<Interval>> =
            rows.iter().map(|&(p, q)| measured.difference_at(p, q)).collect();
        let mut sizes: Vec<f64> = means.iter().flatten().map(|of| of.mean).collect();
        sizes.sort_by(f64::total_cmp);
        let (unit, per) = unit_of(quantity.unit, sizes.get(sizes.len() / 2).map_or(0.0, |s| *s));
        let comma = if unit.is_empty() { "" } else { ", " };
        let texts = intervals(&means, per, false).into_iter();
        let texts = texts.zip(intervals(&differences, per, true));
        let cells = texts.zip(means.iter().zip(&differences));
        let cells = cells.map(|((text, difference_text), (mean, difference))| Shown {
            mean: *mean,
            difference: *difference,
            text,
            difference_text,
        });
        Column {
            head: format!("{}{comma}{unit}", quantity.label),
            meaning: quantity.meaning,
            cells: cells.collect(),
        }
    }
}

impl Shown {
    /// True if the interval of the difference does not hold 0.
    pub fn is_apart(&self) -> bool {
        let ends = self.difference.and_then(|of| of.ci95);
        ends.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }

    fn html(&self) -> String {
        let number = |of: &Option<Interval>| of.map_or(String::new(), |of| of.mean.to_string());
        let (text, difference) = (html(&self.text), html(&self.difference_text));
        let difference = if self.is_apart() { format!("<b>{difference}</b>") } else { difference };
        format!(
            "<td data-v='{}' data-d='{}'><span>{text}</span><i>{difference}</i></td>",
            number(&self.mean),
            number(&self.difference),
        )
    }
}
