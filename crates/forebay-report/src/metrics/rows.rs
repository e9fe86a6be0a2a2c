//! The rows of the table of results, the same in the terminal and in the report: a value for each
//! protocol.

use super::doc::{Hidden, MetricDoc, Unit};
use super::others::labels;
use super::table::METRICS;
use forebay_scenario::statistics::Interval;
use std::collections::BTreeSet;

/// The means over the runs of one protocol, by name.
pub trait Means {
    /// A metric.
    fn metric(&self, name: &str) -> Option<Interval>;
    /// The classes of flows.
    fn classes(&self) -> impl Iterator<Item = &str>;
    /// A metric of the flows of a class.
    fn of_class(&self, class: &str, name: &str) -> Option<Interval>;
    /// A number of the reference.
    fn reference(&self, name: &str) -> Option<Interval>;
    /// The share of time that directed links were busy.
    fn utilisation(&self) -> impl Iterator<Item = (&str, Interval)>;
    /// Packets marked with CE, by directed link.
    fn marks(&self) -> impl Iterator<Item = (&str, Interval)>;
    /// Packets dropped, by reason.
    fn drops(&self) -> impl Iterator<Item = (&str, Interval)>;
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
pub fn rows<M: Means>(means: &[M], shown: Shown) -> Vec<Row> {
    let mut rows = Vec::new();
    for metric in METRICS.iter().filter(|metric| metric.in_table) {
        let values: Vec<_> = means.iter().map(|of| of.metric(metric.name)).collect();
        if says_nothing(metric, &values, shown) {
            continue;
        }
        rows.push(Row::of(metric, metric.label.to_string(), values));
        if metric.name == "afct_s" {
            let of = |name: &str| means.iter().map(|of| of.reference(name)).collect();
            rows.push(Row::new(labels::REFERENCE_AFCT, Unit::Seconds, of("afct_s")));
            rows.push(Row::new(labels::AFCT_RATIO, Unit::Plain, of("afct_ratio")));
        }
    }
    rows.extend(class_rows(means));
    rows.push(busiest(means, shown.one_link));
    for link in
        means.iter().flat_map(|of| of.marks()).map(|(link, _)| link).collect::<BTreeSet<_>>()
    {
        let of = |of: &M| of.marks().find(|(name, _)| *name == link).map(|(_, marks)| marks);
        rows.push(Row::new(&labels::marks(link), Unit::Count, means.iter().map(of).collect()));
    }
    let dropped = means.iter().flat_map(|of| of.drops()).filter(|(_, drops)| drops.mean > 0.0);
    for reason in dropped.map(|(reason, _)| reason).collect::<BTreeSet<_>>() {
        let of = |of: &M| of.drops().find(|(name, _)| *name == reason).map(|(_, drops)| drops);
        let values = means.iter().map(of).collect();
        rows.push(Row::new(&labels::drops(reason), Unit::Count, values));
    }
    rows.retain(|row| row.values.iter().any(Option::is_some));
    rows
}

fn says_nothing(metric: &MetricDoc, values: &[Option<Interval>], shown: Shown) -> bool {
    match metric.hidden {
        Hidden::No => false,
        Hidden::OneFlow => shown.flows == 1,
        Hidden::AllCompleted => shown.delivered_is_known,
        Hidden::Zero => values.iter().flatten().all(|value| value.mean <= 0.0),
    }
}

/// Of each class of flows, one class after the other; none where no run has more than one class.
fn class_rows<M: Means>(means: &[M]) -> Vec<Row> {
    if means.iter().all(|of| of.classes().count() < 2) {
        return Vec::new();
    }
    let classes: BTreeSet<&str> = means.iter().flat_map(|of| of.classes()).collect();
    let shown = || METRICS.iter().filter(|metric| metric.class_row);
    let row = |class: &str, metric: &MetricDoc| {
        let values = means.iter().map(|of| of.of_class(class, metric.name)).collect();
        let label = labels::of_class(metric.label, class);
        Row { name: "", ..Row::of(metric, label, values) }
    };
    let rows = classes.into_iter().flat_map(|class| shown().map(move |metric| row(class, metric)));
    rows.collect()
}

/// The utilisation of the busiest link. Of equals the first in the order of protocols and names.
fn busiest<M: Means>(means: &[M], one_link: bool) -> Row {
    let most = |links: &mut dyn Iterator<Item = (String, Interval)>| {
        links.reduce(|a, b| if b.1.mean > a.1.mean { b } else { a })
    };
    let links = |of: &M| {
        of.utilisation().map(|(name, share)| (name.to_string(), share)).collect::<Vec<_>>()
    };
    let all = || means.iter().flat_map(links);
    let link = if one_link { most(&mut all()).map(|(name, _)| name) } else { None };
    let value = |of: &M| match &link {
        Some(link) => of.utilisation().find(|(name, _)| name == link).map(|(_, share)| share),
        None => most(&mut links(of).into_iter()).map(|(_, share)| share),
    };
    let values = means.iter().map(value).collect();
    Row::new(&labels::busiest_link(link.as_deref()), Unit::Share, values)
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
