//! The numbers of runs, their means over seeds, and the differences of runs with the same seed.

use super::table::{METRICS, Metrics};
use crate::statistics::{Interval, Range, interval_within};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers by name: of one run, or means over the runs of one protocol. Names are `&'static str`
/// where runs are summed up, and `String` where results are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Means<Name: Ord, Value = Interval> {
    /// Number of drops, by reason.
    pub drops: BTreeMap<Name, Value>,
    /// Metrics that are one number; one that no run has is absent.
    pub metrics: BTreeMap<Name, Value>,
    /// The metrics that classes of flows have, by class and name.
    #[serde(default = "BTreeMap::new")]
    pub by_class: BTreeMap<String, BTreeMap<Name, Value>>,
    /// Utilisation by directed link.
    pub utilisation: BTreeMap<String, Value>,
    /// Of directed links that follow a trace, what they took by what their opportunities carried.
    #[serde(default = "BTreeMap::new", skip_serializing_if = "BTreeMap::is_empty")]
    pub trace_utilisation: BTreeMap<String, Value>,
    /// Packets marked with CE, by directed link; links with none left out.
    #[serde(default = "BTreeMap::new", skip_serializing_if = "BTreeMap::is_empty")]
    pub ce_marks_by_link: BTreeMap<String, Value>,
    /// Numbers of the reference: afct_s, afct_ratio, jain_goodput, goodput_bps.
    #[serde(default = "BTreeMap::new")]
    pub reference: BTreeMap<Name, Value>,
}

/// The numbers of one run.
pub type RunValues<Name> = Means<Name, f64>;

/// The differences between the runs of a protocol and those of another with the same seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired<Name: Ord> {
    /// The protocol.
    pub protocol: String,
    /// The one whose numbers are subtracted.
    pub baseline: String,
    /// The seeds with which both have a run.
    pub seeds: Vec<u64>,
    /// Means of the differences, with 95 % confidence intervals; each `n` is the number of seeds
    /// with which both have a value.
    #[serde(flatten)]
    pub means: Means<Name>,
    /// The differences with each seed.
    #[serde(skip)]
    pub runs: Vec<RunValues<Name>>,
}

/// Runs of a protocol, by seed.
pub type Runs<'a, Name> = &'a [(u64, RunValues<Name>)];

impl<Name: Ord + Clone + From<&'static str>> RunValues<Name> {
    /// Those of a run with these metrics, drops by reason, and numbers of the reference.
    pub fn of_run(
        metrics: &Metrics,
        drops: impl IntoIterator<Item = (Name, u64)>,
        reference: impl IntoIterator<Item = (Name, Option<f64>)>,
    ) -> RunValues<Name> {
        let named = |(name, value): (&'static str, Option<f64>)| Some((Name::from(name), value?));
        let classes = metrics
            .by_class
            .iter()
            .map(|(class, metrics)| (class.clone(), metrics.numbers().filter_map(named).collect()));
        let counts = metrics.ce_marks_by_link.iter();
        Means {
            drops: drops.into_iter().map(|(reason, count)| (reason, count as f64)).collect(),
            metrics: metrics.numbers().filter_map(named).collect(),
            by_class: classes.collect(),
            utilisation: metrics.utilisation.clone(),
            trace_utilisation: metrics.trace_utilisation.clone(),
            ce_marks_by_link: counts.map(|(link, &n)| (link.clone(), n as f64)).collect(),
            reference: reference.into_iter().filter_map(|(n, value)| Some((n, value?))).collect(),
        }
    }

    /// This minus `other`: what both have. Of counts, what only one has is 0 in the other.
    fn minus(&self, other: &RunValues<Name>) -> RunValues<Name> {
        let classes = self.by_class.iter().filter_map(|(class, own)| {
            Some((class.clone(), minus(own, other.by_class.get(class)?)))
        });
        Means {
            drops: minus_counts(&self.drops, &other.drops),
            metrics: minus(&self.metrics, &other.metrics),
            by_class: classes.collect(),
            utilisation: minus(&self.utilisation, &other.utilisation),
            trace_utilisation: minus(&self.trace_utilisation, &other.trace_utilisation),
            ce_marks_by_link: minus_counts(&self.ce_marks_by_link, &other.ce_marks_by_link),
            reference: minus(&self.reference, &other.reference),
        }
    }
}

/// Two runs whose numbers differ by at most this share differ by rounding.
const ROUNDING: f64 = 1e-9;

/// 0 where the two differ by rounding alone.
fn difference(own: f64, other: f64) -> f64 {
    let size = own.abs().max(other.abs());
    if (own - other).abs() <= ROUNDING * size { 0.0 } else { own - other }
}

fn minus<K: Ord + Clone>(own: &BTreeMap<K, f64>, other: &BTreeMap<K, f64>) -> BTreeMap<K, f64> {
    let both = own
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), difference(*value, *other.get(key)?))));
    both.collect()
}

fn minus_counts<K: Ord + Clone>(
    own: &BTreeMap<K, f64>,
    other: &BTreeMap<K, f64>,
) -> BTreeMap<K, f64> {
    let count = |of: &BTreeMap<K, f64>, key: &K| of.get(key).copied().unwrap_or(0.0);
    let keys: BTreeSet<&K> = own.keys().chain(other.keys()).collect();
    keys.into_iter().map(|key| (key.clone(), count(own, key) - count(other, key))).collect()
}

impl<Name: Ord + Clone + AsRef<str>> Means<Name> {
    /// Means over runs. Their intervals hold values alone that the quantity can have.
    pub fn over(runs: &[&RunValues<Name>]) -> Means<Name> {
        Means::with_ranges(runs, &|range| range)
    }

    /// Means of differences between runs.
    fn of_differences(runs: &[&RunValues<Name>]) -> Means<Name> {
        Means::with_ranges(runs, &Range::of_difference)
    }

    fn with_ranges(runs: &[&RunValues<Name>], of: &dyn Fn(Range) -> Range) -> Means<Name> {
        let share = |_: &String| of(Range::Within(0.0, 1.0));
        let named = |name: &Name| of(range_of(name.as_ref()));
        let classes: BTreeSet<&String> = runs.iter().flat_map(|run| run.by_class.keys()).collect();
        let class = |class: &String| {
            (class.clone(), means(runs.iter().filter_map(|run| run.by_class.get(class)), named))
        };
        let count = || of(Range::NonNegative);
        Means {
            drops: means_of_counts(runs.iter().map(|run| &run.drops), count()),
            metrics: means(runs.iter().map(|run| &run.metrics), named),
            by_class: classes.into_iter().map(class).collect(),
            utilisation: means(runs.iter().map(|run| &run.utilisation), share),
            trace_utilisation: means(runs.iter().map(|run| &run.trace_utilisation), share),
            ce_marks_by_link: means_of_counts(
                runs.iter().map(|run| &run.ce_marks_by_link),
                count(),
            ),
            reference: means(runs.iter().map(|run| &run.reference), named),
        }
    }

    /// Take all intervals away: of the same run again and again, which is not a sample.
    pub fn drop_intervals(&mut self) {
        let named = [&mut self.drops, &mut self.metrics, &mut self.reference];
        let named = named.into_iter().chain(self.by_class.values_mut());
        let links =
            [&mut self.utilisation, &mut self.trace_utilisation, &mut self.ce_marks_by_link];
        let of_links = links.into_iter().flat_map(BTreeMap::values_mut);
        named.flat_map(BTreeMap::values_mut).chain(of_links).for_each(|of| of.ci95 = None);
    }
}

/// The values that a metric, or a number of the reference, can have.
fn range_of(name: &str) -> Range {
    let metric = METRICS.iter().find(|metric| metric.name == name);
    metric.map_or(Range::NonNegative, |metric| metric.range())
}

fn means<'a, K: Ord + Clone + 'a>(
    runs: impl Iterator<Item = &'a BTreeMap<K, f64>>,
    range: impl Fn(&K) -> Range,
) -> BTreeMap<K, Interval> {
    let mut values: BTreeMap<&K, Vec<f64>> = BTreeMap::new();
    for (key, &value) in runs.flatten() {
        values.entry(key).or_default().push(value);
    }
    let interval =
        |(key, values): (&K, Vec<f64>)| Some((key.clone(), interval_within(&values, range(key))?));
    values.into_iter().filter_map(interval).collect()
}

/// What a run does not list it has none of.
fn means_of_counts<'a, K: Ord + Clone + 'a>(
    runs: impl Iterator<Item = &'a BTreeMap<K, f64>> + Clone,
    range: Range,
) -> BTreeMap<K, Interval> {
    let keys: BTreeSet<&K> = runs.clone().flat_map(BTreeMap::keys).collect();
    let mean = |key: &K| {
        let counts = runs.clone().map(|run| run.get(key).copied().unwrap_or(0.0));
        Some((key.clone(), interval_within(&counts.collect::<Vec<f64>>(), range)?))
    };
    keys.into_iter().filter_map(mean).collect()
}

impl<Name: Ord + Clone + AsRef<str> + From<&'static str>> Paired<Name> {
    /// Pair the runs of `protocol` with those of `baseline` that have the same seed, which share
    /// channels, starts and losses; None without such a seed. The interval is Student's over the
    /// differences (Student 1908, doi:10.2307/2331554), as [`interval_within`] has it for what may
    /// have either sign.
    pub fn of(
        protocol: &str,
        own: Runs<'_, Name>,
        baseline: &str,
        others: Runs<'_, Name>,
    ) -> Option<Paired<Name>> {
        let pair = |(seed, own): &(u64, RunValues<Name>)| {
            let (_, other) = others.iter().find(|(other, _)| other == seed)?;
            Some((*seed, own.minus(other)))
        };
        let (seeds, runs): (Vec<u64>, Vec<RunValues<Name>>) = own.iter().filter_map(pair).unzip();
        let means = Means::of_differences(&runs.iter().collect::<Vec<_>>());
        let (protocol, baseline) = (protocol.to_string(), baseline.to_string());
        (!seeds.is_empty()).then_some(Paired { protocol, baseline, seeds, means, runs })
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::FlowMetrics;
    use super::*;

    fn run(afct_s: Option<f64>, jain: f64, full: u64) -> RunValues<&'static str> {
        let of_flows = FlowMetrics { afct_s, jain_goodput: Some(jain), ..FlowMetrics::default() };
        let mut metrics = Metrics { of_flows, ..Metrics::default() };
        metrics.utilisation.insert("a-b".into(), jain);
        let drops = (full > 0).then_some(("full", full));
        RunValues::of_run(&metrics, drops, [("afct_ratio", afct_s)])
    }

    /// Student's own data: the additional sleep of ten patients under two drugs. R's
    /// `t.test(extra ~ group, data = sleep, paired = TRUE)` says 1.58, from 0.7001142 to 2.4598858.
    #[test]
    fn the_paired_differences_of_student_1908() {
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let runs = |hours: [f64; 10]| -> Vec<(u64, RunValues<&str>)> {
            (1..).zip(hours.map(|hours| run(Some(hours), 0.5, 0))).collect()
        };
        // In another order: pairs are found by seed.
        let (one, mut two) = (runs(one), runs(two));
        two.reverse();
        let paired = Paired::of("two", &two, "one", &one).unwrap();
        let found = paired.means.metrics["afct_s"];
        let [low, high] = found.ci95.unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{a} is not {b}");
        close(found.mean, 1.58);
        close(low, 0.700_114_2);
        close(high, 2.459_885_8);
        assert_eq!((found.n, paired.seeds.len(), paired.seeds[0]), (10, 10, 10));
        assert_eq!(paired.means.utilisation["a-b"].ci95, Some([0.0, 0.0]));
    }

    #[test]
    fn pairs_are_those_that_exist() {
        let own = [(1, run(Some(3.0), 0.5, 4)), (2, run(None, 0.7, 0)), (4, run(None, 0.1, 9))];
        let others =
            [(2, run(Some(1.0), 0.6, 1)), (1, run(Some(2.5), 0.4, 0)), (3, run(None, 0.9, 0))];
        let paired = Paired::of("x", &own, "y", &others).unwrap();
        assert_eq!((paired.seeds.as_slice(), paired.runs.len()), (&[1, 2][..], 2));
        let afct = paired.means.metrics["afct_s"];
        assert_eq!((afct.mean, afct.ci95, afct.n), (0.5, None, 1));
        // A reason that a run does not list dropped nothing in it: 4 and -1.
        let full = paired.means.drops["full"];
        assert_eq!((full.mean, full.n), (1.5, 2));
        let jain = paired.means.metrics["jain_goodput"];
        assert!((jain.mean - 0.1).abs() < 1e-12);
        assert!(Paired::of("x", &own[2..], "y", &others).is_none());
    }

    #[test]
    fn means_stay_within_what_is_possible() {
        let runs = [run(Some(0.001), 0.2, 0), run(Some(0.178), 1.0, 3), run(None, 1.0, 0)];
        let means = Means::over(&runs.iter().collect::<Vec<_>>());
        for interval in
            [means.metrics["afct_s"], means.drops["full"], means.reference["afct_ratio"]]
        {
            assert!(interval.ci95.unwrap()[0] > 0.0, "{interval:?}");
        }
        for interval in [means.metrics["jain_goodput"], means.utilisation["a-b"]] {
            let [low, high] = interval.ci95.unwrap();
            assert!(low > 0.0 && high < 1.0, "{interval:?}");
        }
    }
}
