//! The rows of the table of results, the same in the terminal and in the report: a value for each
//! protocol.

use super::doc::{Hidden, MetricDoc, Unit};
use super::others::labels;
use super::table::METRICS;
use crate::statistics::Interval;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// The means over the runs of one protocol, by name. Names are `&'static str` where runs are
/// summed up, and `String` where results are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Means<Name: Ord> {
    /// Number of drops, by reason.
    pub drops: BTreeMap<Name, Interval>,
    /// Metrics that are one number; one that no run has is absent.
    pub metrics: BTreeMap<Name, Interval>,
    /// The metrics that classes of flows have, by class and name.
    #[serde(default)]
    pub by_class: BTreeMap<String, BTreeMap<Name, Interval>>,
    /// Utilisation by directed link.
    pub utilisation: BTreeMap<String, Interval>,
    /// Of directed links that follow a trace, what they took by what their opportunities carried.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trace_utilisation: BTreeMap<String, Interval>,
    /// Packets marked with CE, by directed link; links with none left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ce_marks_by_link: BTreeMap<String, Interval>,
    /// Numbers of the reference: afct_s, afct_ratio, jain_goodput, goodput_bps.
    #[serde(default)]
    pub reference: BTreeMap<Name, Interval>,
}

/// What decides which rows say anything.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Number of flows in a run.
    pub flows: usize,
    /// True if it is known what flows delivered: all completed, and none was to stop before.
    pub delivered_is_known: bool,
    /// One link for all protocols, named in the row: the busiest under any of them. Else the
    /// busiest of each.
    pub one_link: bool,
}

/// A row: a value for each protocol, one at least.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is called.
    pub label: String,
    /// The key of the metric, if it is one of the run.
    pub name: &'static str,
    /// What values are, times `scale`.
    pub unit: Unit,
    /// 1e-3 for what results have in milliseconds.
    pub scale: f64,
    /// In results' unit times `scale`.
    pub values: Vec<Option<Interval>>,
}

/// The rows of protocols with these means.
pub fn rows<Name: Ord + Borrow<str>>(means: &[&Means<Name>], shown: Shown) -> Vec<Row> {
    let mut rows = Vec::new();
    let traced = means.iter().any(|of| !of.trace_utilisation.is_empty());
    for metric in METRICS.iter().filter(|metric| metric.in_table) {
        let values: Vec<_> = means.iter().map(|of| of.metrics.get(metric.name).copied()).collect();
        if says_nothing(metric, &values, (shown, traced)) {
            continue;
        }
        rows.push(Row::of(metric, metric.label.to_string(), values));
        if metric.name == "afct_s" {
            let of = |name: &str| means.iter().map(|of| of.reference.get(name).copied()).collect();
            rows.push(Row::new(labels::REFERENCE_AFCT, Unit::Seconds, of("afct_s")));
            rows.push(Row::new(labels::AFCT_RATIO, Unit::Plain, of("afct_ratio")));
        }
    }
    rows.extend(class_rows(means));
    rows.push(busiest(means, shown.one_link));
    rows.push(fullest_trace(means));
    for link in means.iter().flat_map(|of| of.ce_marks_by_link.keys()).collect::<BTreeSet<_>>() {
        let values = means.iter().map(|of| of.ce_marks_by_link.get(link).copied()).collect();
        rows.push(Row::new(&labels::marks(link), Unit::Count, values));
    }
    let dropped = means.iter().flat_map(|of| &of.drops).filter(|(_, drops)| drops.mean > 0.0);
    for reason in dropped.map(|(reason, _)| reason.borrow()).collect::<BTreeSet<_>>() {
        let values = means.iter().map(|of| of.drops.get(reason).copied()).collect();
        rows.push(Row::new(&labels::drops(reason), Unit::Count, values));
    }
    rows.retain(|row| row.values.iter().any(Option::is_some));
    rows
}

/// For each row the typical size of the values of its group, in results' unit times `scale`: their
/// geometric mean without zeros, 0 if there is none. What has one unit and is of one kind
/// (completion times, delays, rates, ...) is a group, and reads best in one unit: the one in which
/// the typical value is not below 1.
pub fn typical_sizes(rows: &[Row]) -> Vec<f64> {
    let of_group = |row: &Row| {
        // Results have delays in milliseconds and completion times in seconds.
        let group = rows.iter().filter(|own| (own.unit, own.scale) == (row.unit, row.scale));
        let means = group.flat_map(|row| &row.values).flatten().map(|value| value.mean.abs());
        let logs: Vec<f64> = means.filter(|mean| *mean > 0.0).map(f64::ln).collect();
        crate::statistics::mean(&logs).map_or(0.0, f64::exp)
    };
    rows.iter().map(of_group).collect()
}

fn says_nothing(
    metric: &MetricDoc,
    values: &[Option<Interval>],
    (shown, traced): (Shown, bool),
) -> bool {
    match metric.hidden {
        Hidden::No => false,
        Hidden::Always => true,
        Hidden::OneFlow => shown.flows == 1,
        Hidden::AllCompleted => shown.delivered_is_known,
        Hidden::Zero => values.iter().flatten().all(|value| value.mean <= 0.0),
        Hidden::NoTrace => !traced,
    }
}

/// Of each class of flows, one class after the other; none where no run has more than one class.
fn class_rows<Name: Ord + Borrow<str>>(means: &[&Means<Name>]) -> Vec<Row> {
    if means.iter().all(|of| of.by_class.len() < 2) {
        return Vec::new();
    }
    let classes: BTreeSet<&String> = means.iter().flat_map(|of| of.by_class.keys()).collect();
    let traced = means.iter().any(|of| !of.trace_utilisation.is_empty());
    let says = |metric: &&MetricDoc| traced || metric.hidden != Hidden::NoTrace;
    let shown = || METRICS.iter().filter(|metric| metric.class_row).filter(says);
    let row = |class: &str, metric: &MetricDoc| {
        let values =
            means.iter().map(|of| of.by_class.get(class)?.get(metric.name).copied()).collect();
        let label = labels::of_class(metric.label, class);
        Row { name: "", ..Row::of(metric, label, values) }
    };
    let rows = classes.into_iter().flat_map(|class| shown().map(move |metric| row(class, metric)));
    rows.collect()
}

/// The utilisation of the busiest link. Of equals the first in the order of protocols and names.
fn busiest<Name: Ord>(means: &[&Means<Name>], one_link: bool) -> Row {
    let all = || means.iter().flat_map(|of| &of.utilisation);
    let link = if one_link { all().reduce(busier).map(|(name, _)| name) } else { None };
    let value = |of: &&Means<Name>| match link {
        Some(link) => of.utilisation.get(link).copied(),
        None => of.utilisation.iter().reduce(busier).map(|(_, share)| *share),
    };
    let values = means.iter().map(value).collect();
    Row::new(&labels::busiest_link(link.map(String::as_str)), Unit::Share, values)
}

/// The utilisation of the link with a trace that has the highest under any protocol.
fn fullest_trace<Name: Ord>(means: &[&Means<Name>]) -> Row {
    let all = means.iter().flat_map(|of| &of.trace_utilisation);
    let link = all.reduce(busier).map(|(name, _)| name.as_str());
    let value = |of: &&Means<Name>| of.trace_utilisation.get(link?).copied();
    let values = means.iter().map(value).collect();
    Row::new(&labels::fullest_trace(link.unwrap_or_default()), Unit::Share, values)
}

/// The name and the utilisation of a link.
type Link<'a> = (&'a String, &'a Interval);

fn busier<'a>(first: Link<'a>, second: Link<'a>) -> Link<'a> {
    if second.1.mean > first.1.mean { second } else { first }
}

impl Row {
    fn new(label: &str, unit: Unit, values: Vec<Option<Interval>>) -> Row {
        Row { label: label.to_string(), name: "", unit, scale: 1.0, values }
    }

    fn of(metric: &MetricDoc, label: String, values: Vec<Option<Interval>>) -> Row {
        let MetricDoc { name, shown: unit, scale, .. } = *metric;
        let scaled = values.into_iter().map(|value| Some(value?.times(scale)));
        Row { label, name, unit, scale, values: scaled.collect() }
    }
}
