//! The rows of the table of results, the same in the terminal and in the report: a value for each
//! protocol.

use super::doc::{Hidden, MetricDoc, Unit};
use super::others::labels;
use super::table::METRICS;
use super::values::{Means, Paired};
use crate::statistics::Interval;
use std::borrow::Borrow;
use std::collections::BTreeSet;

/// Inputs that decide which rows say anything.
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
    /// Its name.
    pub label: String,
    /// The key of the metric, if it is one of the run.
    pub name: &'static str,
    /// Unit of values, times `scale`.
    pub unit: Unit,
    /// 1e-3 for what results have in milliseconds.
    pub scale: f64,
    /// In results' unit times `scale`.
    pub values: Vec<Option<Interval>>,
}

/// A row of the differences between protocols and a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferenceRow {
    /// A value for each protocol.
    pub row: Row,
    /// For each protocol the difference with each seed of its pairs, in the unit of `row`.
    pub seeds: Vec<Vec<Option<f64>>>,
}

/// The rows of protocols with these means.
pub fn rows<Name: Ord + Borrow<str>>(means: &[&Means<Name>], shown: Shown) -> Vec<Row> {
    let keys = keys(means, shown);
    let row = |key: Key<'_>| {
        let values = means.iter().map(|of| match key.place {
            Place::Busiest(None) => of.utilisation.iter().reduce(busier).map(|(_, share)| *share),
            _ => key.value(of),
        });
        key.row(values.collect())
    };
    let mut rows: Vec<Row> = keys.into_iter().map(row).collect();
    rows.retain(|row| row.values.iter().any(Option::is_some));
    rows
}

/// The rows of differences between protocols, in the order of [`rows`] of the protocols with these
/// means. Those in which nothing differs are left out.
pub fn difference_rows<Name: Ord + Borrow<str>>(
    means: &[&Means<Name>],
    paired: &[Paired<Name>],
    shown: Shown,
) -> Vec<DifferenceRow> {
    // The busiest link of each would be another one on either side.
    let keys = keys(means, Shown { one_link: true, ..shown });
    let row = |key: Key<'_>| {
        let row = key.row(paired.iter().map(|of| key.value(&of.means)).collect());
        let seeds = |of: &Paired<Name>| {
            of.runs.iter().map(|run| Some(key.value(run)? * row.scale)).collect()
        };
        let seeds = paired.iter().map(seeds).collect();
        DifferenceRow { row, seeds }
    };
    let mut rows: Vec<DifferenceRow> = keys.into_iter().map(row).collect();
    let differs = |of: &Interval| of.mean != 0.0 || of.ci95.is_some_and(|[low, high]| low < high);
    rows.retain(|of| of.row.values.iter().flatten().any(differs));
    rows
}

/// Where the values of a row are.
#[derive(Clone, Copy)]
enum Place<'a> {
    Metric(&'static str),
    Reference(&'static str),
    Class(&'a str, &'static str),
    /// Utilisation of one link; of the busiest of each protocol where none is named.
    Busiest(Option<&'a str>),
    Trace(&'a str),
    Marks(&'a str),
    Drops(&'a str),
}

/// Subject of a row.
struct Key<'a> {
    label: String,
    unit: Unit,
    /// Factor for values.
    scale: f64,
    place: Place<'a>,
}

impl<'a> Key<'a> {
    fn new(label: impl Into<String>, unit: Unit, place: Place<'a>) -> Key<'a> {
        Key { label: label.into(), unit, scale: 1.0, place }
    }

    fn of(metric: &MetricDoc, label: String, place: Place<'a>) -> Key<'a> {
        Key { label, unit: metric.shown, scale: metric.scale, place }
    }

    /// Its value; None of [`Place::Busiest`] without a name.
    fn value<Name: Ord + Borrow<str>, Value: Copy>(
        &self,
        of: &Means<Name, Value>,
    ) -> Option<Value> {
        let found = match self.place {
            Place::Metric(name) => of.metrics.get(name),
            Place::Reference(name) => of.reference.get(name),
            Place::Class(class, name) => of.by_class.get(class)?.get(name),
            Place::Busiest(link) => of.utilisation.get(link?),
            Place::Trace(link) => of.trace_utilisation.get(link),
            Place::Marks(link) => of.ce_marks_by_link.get(link),
            Place::Drops(reason) => of.drops.get(reason),
        };
        found.copied()
    }

    fn row(&self, values: Vec<Option<Interval>>) -> Row {
        let name = if let Place::Metric(name) = self.place { name } else { "" };
        let (label, unit, scale) = (self.label.clone(), self.unit, self.scale);
        let values = values.into_iter().map(|value| Some(value?.times(scale))).collect();
        Row { label, name, unit, scale, values }
    }
}

/// What protocols with these means have rows of.
fn keys<'a, Name: Ord + Borrow<str>>(means: &[&'a Means<Name>], shown: Shown) -> Vec<Key<'a>> {
    let mut keys = Vec::new();
    let traced = means.iter().any(|of| !of.trace_utilisation.is_empty());
    for metric in METRICS.iter().filter(|metric| metric.in_table) {
        let values: Vec<_> = means.iter().map(|of| of.metrics.get(metric.name).copied()).collect();
        if says_nothing(metric, &values, shown, traced) {
            continue;
        }
        keys.push(Key::of(metric, metric.label.to_string(), Place::Metric(metric.name)));
        if metric.name == "afct_s" {
            let (afct, ratio) = (Place::Reference("afct_s"), Place::Reference("afct_ratio"));
            keys.push(Key::new(labels::REFERENCE_AFCT, Unit::Seconds, afct));
            keys.push(Key::new(labels::AFCT_RATIO, Unit::Plain, ratio));
        }
    }
    keys.extend(class_keys(means));
    let busiest = means.iter().flat_map(|of| &of.utilisation).reduce(busier);
    let busiest = busiest.map(|(name, _)| name.as_str()).filter(|_| shown.one_link);
    keys.push(Key::new(labels::busiest_link(busiest), Unit::Share, Place::Busiest(busiest)));
    let fullest = means.iter().flat_map(|of| &of.trace_utilisation).reduce(busier);
    keys.extend(
        fullest.map(|(name, _)| {
            Key::new(labels::fullest_trace(name), Unit::Share, Place::Trace(name))
        }),
    );
    for link in means.iter().flat_map(|of| of.ce_marks_by_link.keys()).collect::<BTreeSet<_>>() {
        keys.push(Key::new(labels::marks(link), Unit::Count, Place::Marks(link)));
    }
    let dropped = means.iter().flat_map(|of| &of.drops).filter(|(_, drops)| drops.mean > 0.0);
    for reason in dropped.map(|(reason, _)| reason.borrow()).collect::<BTreeSet<_>>() {
        keys.push(Key::new(labels::drops(reason), Unit::Count, Place::Drops(reason)));
    }
    keys
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
    shown: Shown,
    traced: bool,
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
fn class_keys<'a, Name: Ord + Borrow<str>>(means: &[&'a Means<Name>]) -> Vec<Key<'a>> {
    if means.iter().all(|of| of.by_class.len() < 2) {
        return Vec::new();
    }
    let classes: BTreeSet<&'a String> = means.iter().flat_map(|of| of.by_class.keys()).collect();
    let traced = means.iter().any(|of| !of.trace_utilisation.is_empty());
    let says = |metric: &&MetricDoc| traced || metric.hidden != Hidden::NoTrace;
    let shown = || METRICS.iter().filter(|metric| metric.class_row).filter(says);
    let key = |class: &'a str, metric: &MetricDoc| {
        Key::of(metric, labels::of_class(metric.label, class), Place::Class(class, metric.name))
    };
    let keys = classes.into_iter().flat_map(|class| shown().map(move |metric| key(class, metric)));
    keys.collect()
}

/// The name and the utilisation of a link.
type Link<'a> = (&'a String, &'a Interval);

fn busier<'a>(first: Link<'a>, second: Link<'a>) -> Link<'a> {
    if second.1.mean > first.1.mean { second } else { first }
}
