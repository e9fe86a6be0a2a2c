//! One-way delays of classes of flows: over time, and how they are distributed.

use super::curves::Curve;
use super::error::ReportError;
use super::parquet_rows::{Bucket, delay_buckets};
use super::results::Results;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Most classes that have a distribution of their own.
const CLASSES: usize = 6;
/// A point of a distribution is drawn if the share or the delay has grown by at least this much
/// since the one before.
const SHARE_STEP: f64 = 0.002;
const DELAY_STEP: f64 = 1.01;

/// The delays of all runs: by protocol of the page and class.
#[derive(Debug, Default)]
pub(super) struct Distributions {
    of: BTreeMap<(usize, String), Vec<Bucket>>,
}

impl Distributions {
    /// Add those of a folder, whose protocols have numbers from `first` on in the page. Results of
    /// older versions have none.
    pub fn read(
        &mut self,
        path: &Path,
        results: &Results,
        first: usize,
    ) -> Result<(), ReportError> {
        if !path.exists() {
            return Ok(());
        }
        delay_buckets(path, |protocol, class, bucket| {
            let named = |name: &str| name.as_bytes() == protocol;
            let number = results.aggregate.iter().position(|of| named(&of.name));
            if let (Some(number), Ok(class)) = (number, std::str::from_utf8(class)) {
                let key = (first + number, class.to_string());
                self.of.entry(key).or_default().push(bucket);
            }
        })
    }

    /// A plot with a line for each protocol; of runs with several classes one for each class.
    pub fn curves(&self) -> Vec<Curve> {
        let classes_of = |number: usize| self.of.keys().filter(move |key| key.0 == number).count();
        let mixed = self.of.keys().any(|key| classes_of(key.0) > 1);
        if !mixed {
            let lines = self.of.iter().map(|(key, buckets)| (key.0, distribution(buckets)));
            return curve("delays".into(), "One-way delay".into(), "", lines.collect());
        }
        let mut packets: BTreeMap<&str, f64> = BTreeMap::new();
        for ((_, class), buckets) in &self.of {
            *packets.entry(class).or_default() += buckets.iter().map(|of| of.packets).sum::<f64>();
        }
        let mut classes: Vec<(&str, f64)> = packets.into_iter().collect();
        classes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let more = if classes.len() > CLASSES {
            " The classes with the most packets; all are in delays.parquet."
        } else {
            ""
        };
        let shown: BTreeSet<&str> = classes.iter().take(CLASSES).map(|(class, _)| *class).collect();
        let curves = shown.into_iter().flat_map(|class| {
            let of = self.of.iter().filter(|(key, _)| key.1 == class);
            let lines = of.map(|(key, buckets)| (key.0, distribution(buckets))).collect();
            curve(format!("delays-{class}"), format!("One-way delay, {class}"), more, lines)
        });
        curves.collect()
    }
}

fn curve(
    id: String,
    title: String,
    more: &str,
    lines: Vec<(usize, Vec<(f64, f64)>)>,
) -> Vec<Curve> {
    let about = format!(
        "Share of the data packets of all seeds that took at most this long, from the transport of \
         the sender to that of the receiver.{more}"
    );
    let curve = Curve { id, title, about, x: "s", of: "packets", stepped: false, lines };
    if curve.lines.is_empty() { Vec::new() } else { vec![curve] }
}

/// The distribution function of packets that are evenly spread over their bucket: points that
/// straight lines join, from a share of 0 to 1.
fn distribution(buckets: &[Bucket]) -> Vec<(f64, f64)> {
    let all: f64 = buckets.iter().map(|of| of.packets).sum();
    // At each end of a bucket: how much the slope grows, and the share itself.
    let mut changes: Vec<(f64, f64, f64)> = Vec::with_capacity(2 * buckets.len());
    for &Bucket { from_s, to_s, packets } in buckets {
        let share = packets / all;
        if to_s > from_s {
            let slope = share / (to_s - from_s);
            changes.extend([(from_s, slope, 0.0), (to_s, -slope, 0.0)]);
        } else {
            changes.push((from_s, 0.0, share));
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(last_s, ..)) = changes.last() else { return Vec::new() };
    let mut points: Vec<(f64, f64)> = Vec::new();
    let (mut share, mut slope, mut before_s) = (0.0, 0.0, changes[0].0);
    for at_once in changes.chunk_by(|a, b| a.0 == b.0) {
        let at_s = at_once[0].0;
        share += slope * (at_s - before_s);
        let jump: f64 = at_once.iter().map(|change| change.2).sum();
        let far = points
            .last()
            .is_none_or(|&(x, y): &(f64, f64)| share - y >= SHARE_STEP || at_s >= x * DELAY_STEP);
        if far || jump > 0.0 || at_s == last_s {
            points.push((at_s, share));
        }
        if jump > 0.0 {
            share += jump;
            points.push((at_s, share));
        }
        slope += at_once.iter().map(|change| change.1).sum::<f64>();
        before_s = at_s;
    }
    // Sums of many small numbers.
    points.iter_mut().for_each(|point| point.1 = point.1.clamp(0.0, 1.0));
    if let Some(last) = points.last_mut() {
        last.1 = 1.0;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(from_s: f64, to_s: f64, packets: f64) -> Bucket {
        Bucket { from_s, to_s, packets }
    }

    #[test]
    fn a_distribution_of_two_runs_by_hand() {
        // A quarter from 1 to 2 s, half from 1.5 to 2.5 s, and a quarter at 4 s.
        let buckets = [bucket(1.0, 2.0, 10.0), bucket(1.5, 2.5, 20.0), bucket(4.0, 4.0, 10.0)];
        let expected = [(1.0, 0.0), (1.5, 0.125), (2.0, 0.5), (2.5, 0.75), (4.0, 0.75), (4.0, 1.0)];
        assert_eq!(distribution(&buckets), expected);
        assert_eq!(distribution(&[bucket(0.3, 0.3, 7.0)]), [(0.3, 0.0), (0.3, 1.0)]);
        assert_eq!(distribution(&[]), []);
    }

    #[test]
    fn many_buckets_become_few_points() {
        let buckets: Vec<Bucket> =
            (0..20_000).map(|i| bucket(f64::from(i) / 1e4, f64::from(i + 1) / 1e4, 1.0)).collect();
        let points = distribution(&buckets);
        assert!((500..2000).contains(&points.len()), "{}", points.len());
        for (x, share) in points {
            assert!((share - x / 2.0).abs() < 1e-9, "{x} {share}");
        }
    }

    #[test]
    fn one_plot_for_all_classes_or_one_for_each() {
        let mut all = Distributions::default();
        let one = || vec![bucket(1.0, 2.0, 1.0)];
        all.of.insert((0, "cubic".into()), one());
        all.of.insert((1, "bbr1".into()), one());
        let [curve] = &all.curves()[..] else { panic!("one plot") };
        assert_eq!((curve.title.as_str(), curve.lines.len()), ("One-way delay", 2));
        all.of.insert((1, "web".into()), one());
        let titles: Vec<String> = all.curves().into_iter().map(|curve| curve.title).collect();
        assert_eq!(titles, ["bbr1", "cubic", "web"].map(|class| format!("One-way delay, {class}")));
    }
}
