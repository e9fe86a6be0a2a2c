//! What a scenario expects of its results: a bound for a metric, over the seeds of each protocol.

use crate::format::names::Name;
use forebay_metrics::{MetricDoc, Metrics, comparable};
use serde::{Serialize, Serializer};

/// A bound for a metric of the runs of a protocol. Values are in the unit of results, which the
/// name of the metric ends in.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// What reports call it, if the scenario says so.
    pub name: Option<String>,
    /// Name of the metric; it is one of [`comparable`].
    pub metric: &'static str,
    /// The only protocol whose runs it is about; None: each that is compared.
    pub protocol: Option<Name>,
    /// The class of flows that it is about; None: all flows.
    pub class: Option<String>,
    /// The directed link, of a metric of links.
    pub link: Option<String>,
    /// What the value must be.
    pub bound: Bound,
    /// Which value of all seeds.
    pub over: Over,
    /// Its keys, all of them.
    pub(crate) keys: toml::Table,
}

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Less than this.
    Below(f64),
    /// This or less.
    AtMost(f64),
    /// More than this.
    Above(f64),
    /// This or more.
    AtLeast(f64),
    /// This, exactly.
    Equal(f64),
    /// Between these two, both included.
    Within(f64, f64),
}

/// Which value of the runs with all seeds is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Over {
    /// The mean; of one seed the value itself.
    #[default]
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Each by itself: this share of them, above 0.0 and at most 1.0, or more must meet the bound.
    Share(f64),
}

impl Expectation {
    /// The metric.
    pub fn metric(&self) -> &'static MetricDoc {
        let found = comparable().find(|metric| metric.name == self.metric);
        found.expect("an expectation names a metric of the table")
    }

    /// True if it is about runs under this protocol.
    pub fn is_about(&self, protocol: &str) -> bool {
        self.protocol.as_ref().is_none_or(|own| *own == *protocol)
    }

    /// The value in a run; None if the run has none, or no finite one, or if it is not a metric but
    /// counted (`metric().counted`).
    pub fn value(&self, metrics: &Metrics) -> Option<f64> {
        let metric = self.metric();
        let value = match (&self.link, &self.class) {
            (Some(link), _) => metric.of_link(metrics, link),
            (None, Some(class)) => metric.of_class(metrics, class),
            (None, None) => metric.of(metrics),
        };
        value.filter(|value| value.is_finite())
    }
}

impl Bound {
    /// True if `value` is what it must be; NaN never is.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Bound::Below(end) => value < end,
            Bound::AtMost(end) => value <= end,
            Bound::Above(end) => value > end,
            Bound::AtLeast(end) => value >= end,
            Bound::Equal(wanted) => value == wanted,
            Bound::Within(low, high) => (low..=high).contains(&value),
        }
    }

    /// How scenarios and results write the comparison.
    pub fn op(self) -> &'static str {
        match self {
            Bound::Below(_) => "<",
            Bound::AtMost(_) => "<=",
            Bound::Above(_) => ">",
            Bound::AtLeast(_) => ">=",
            Bound::Equal(_) => "==",
            Bound::Within(..) => "within",
        }
    }

    /// Its one end, or its two.
    pub fn ends(self) -> (f64, Option<f64>) {
        match self {
            Bound::Below(end)
            | Bound::AtMost(end)
            | Bound::Above(end)
            | Bound::AtLeast(end)
            | Bound::Equal(end) => (end, None),
            Bound::Within(low, high) => (low, Some(high)),
        }
    }
}

impl Serialize for Over {
    /// As scenarios write it: a name, or `{ "share": 0.9 }`.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Over::Mean => to.serialize_str("mean"),
            Over::Min => to.serialize_str("min"),
            Over::Max => to.serialize_str("max"),
            Over::Share(share) => to.collect_map([("share", share)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comparison_below_at_and_above_its_end() {
        let values = [f64::NAN, 1.0, 2.0, 3.0];
        let holds = |bound: Bound| values.map(|value| bound.holds(value));
        assert_eq!(holds(Bound::Below(2.0)), [false, true, false, false]);
        assert_eq!(holds(Bound::AtMost(2.0)), [false, true, true, false]);
        assert_eq!(holds(Bound::Above(2.0)), [false, false, false, true]);
        assert_eq!(holds(Bound::AtLeast(2.0)), [false, false, true, true]);
        assert_eq!(holds(Bound::Equal(2.0)), [false, false, true, false]);
        assert_eq!(holds(Bound::Within(1.0, 2.0)), [false, true, true, false]);
        assert_eq!(holds(Bound::Within(1.5, 3.0)), [false, false, true, true]);
    }
}
