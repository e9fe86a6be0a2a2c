//! The rows of a sweep by point and protocol.

use super::Quantity;
use super::rows::{Cell, sweep_rows};
use crate::error::ReportError;
use crate::open::read_json;
use crate::schema::SWEEP_TABLE;
use forebay_metrics::statistics::{Interval, Range, interval_within};
use serde::Deserialize;
use std::path::Path;

/// Most points that a page shows.
const MAX_POINTS: u64 = 10_000;

/// Most reasons why runs failed.
const MAX_REASONS: usize = 3;

/// Cells before those of the swept keys.
const FIRST_KEY: usize = 4;

/// What the page needs of `sweep.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Record {
    pub forebay: String,
    pub scenario: String,
    pub set: Vec<String>,
    pub keys: Vec<Key>,
    pub axes: Vec<Axis>,
    pub points: u64,
    pub protocols: Vec<String>,
    pub seeds: Vec<u64>,
    pub baseline: Option<String>,
    pub shard: Option<String>,
    pub rows: u64,
    pub failed: u64,
    pub notes: Vec<String>,
}

/// A swept key.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Key {
    pub key: String,
    pub unit: String,
}

/// Keys that change together.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Axis {
    pub keys: Vec<usize>,
    pub steps: u64,
    pub name: Option<String>,
    #[serde(default)]
    pub names: Vec<String>,
}

/// A point.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownPoint {
    pub name: Option<String>,
    /// By key.
    pub values: Vec<Option<Cell>>,
    pub failed: bool,
}

/// A number of each run by point and protocol; None where no run has it.
pub(super) struct Measured {
    /// Its mean over the seeds.
    means: Vec<Vec<Option<Interval>>>,
    /// What it has more than the baseline, seed by seed.
    differences: Vec<Vec<Option<Interval>>>,
}

/// Of one number, point and protocol: seeds with their values.
type Seeds = Vec<(i64, f64)>;

impl Measured {
    fn of(points: &[Vec<Seeds>], range: Range, baseline: Option<usize>) -> Measured {
        let mean = |seeds: &Seeds| {
            let values: Vec<f64> = seeds.iter().map(|(_, value)| *value).collect();
            interval_within(&values, range)
        };
        let difference = |seeds: &Seeds, other: &Seeds| {
            let paired = seeds.iter().filter_map(|(seed, value)| {
                let (_, other) = other.iter().find(|(known, _)| known == seed)?;
                Some(value - other)
            });
            interval_within(&paired.collect::<Vec<f64>>(), range.of_difference())
        };
        let differences = |of: &Vec<Seeds>| {
            let pair = |own: usize| baseline.filter(|other| *other != own);
            let all = of.iter().enumerate();
            all.map(|(own, seeds)| difference(seeds, &of[pair(own)?])).collect()
        };
        Measured {
            means: points.iter().map(|of| of.iter().map(mean).collect()).collect(),
            differences: points.iter().map(differences).collect(),
        }
    }
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }
    /// All means that there are.
    pub fn all(&self) -> impl Iterator<Item = &Interval> {
        self.means.iter().flatten().flatten()
    }
    pub fn at(&self, point: usize, protocol: usize) -> Option<Interval> {
        self.means[point][protocol]
    }
    /// The difference from the baseline; None of the baseline itself.
    pub fn difference_at(&self, point: usize, protocol: usize) -> Option<Interval> {
        self.differences[point][protocol]
    }
    /// The largest value that is drawn, with intervals, of which no more than twice the largest
    /// mean: those of two seeds can reach far beyond.
    pub fn most(&self) -> f64 {
        let mean = self.all().map(|of| of.mean).fold(0.0, f64::max);
        let tops = self.all().map(|of| of.ci95.map_or(of.mean, |[_, high]| high.max(of.mean)));
        tops.fold(0.0, f64::max).min(2.0 * mean)
    }
}

/// See the module.
pub(super) struct Sweep {
    pub record: Record,
    /// By number.
    pub points: Vec<ShownPoint>,
    /// By metric.
    pub measured: Vec<Measured>,
    /// What the page leaves out.
    pub left_out: Vec<String>,
    /// Why runs failed: each reason once, the first [`MAX_REASONS`].
    pub reasons: Vec<String>,
}

impl Sweep {
    pub fn read(folder: &Path, quantities: &[Quantity]) -> Result<Sweep, ReportError> {
        let record: Record = read_json(&folder.join("sweep.json"))?;
        let table = folder.join(SWEEP_TABLE);
        let (names, rows) = sweep_rows(&table)?;
        let place = |name: &str| {
            let place = names.iter().position(|known| known == name);
            place.ok_or_else(|| ReportError::NotResults {
                path: table.clone(),
                why: format!("does not have the column {name}"),
            })
        };
        let [protocol, seed, error] = [place("run_protocol")?, place("seed")?, place("error")?];
        // A table of an earlier version has fewer columns.
        let columns = quantities.iter().map(|of| of.columns.iter().flat_map(|name| place(name)));
        let columns: Vec<Vec<usize>> = columns.map(Iterator::collect).collect();
        let count = record.points.min(MAX_POINTS) as usize;
        let mut points = vec![ShownPoint::default(); count];
        let none = vec![vec![Vec::new(); record.protocols.len()]; count];
        let mut values: Vec<Vec<Vec<Seeds>>> = vec![none; quantities.len()];
        let mut reasons: Vec<String> = Vec::new();
        for cells in rows {
            let cells = cells?;
            let Cell::Integer(number) = cells[0] else { continue };
            let Some(point) = points.get_mut(number as usize) else { continue };
            point.name = cells[1].text().map(str::to_string);
            let keys = &cells[FIRST_KEY..FIRST_KEY + record.keys.len()];
            point.values =
                keys.iter().map(|cell| Some(cell.clone()).filter(|c| *c != Cell::Null)).collect();
            point.failed |= cells[error] != Cell::Null;
            if let Some(reason) = cells[error].text().and_then(|why| why.lines().next())
                && reasons.len() < MAX_REASONS
                && !reasons.iter().any(|known| known == reason)
            {
                reasons.push(reason.to_string());
            }
            let of =
                record.protocols.iter().position(|p| Some(p.as_str()) == cells[protocol].text());
            let Some(of) = of else { continue };
            let Cell::Integer(seed) = cells[seed] else { continue };
            for (metric, (columns, quantity)) in columns.iter().zip(quantities).enumerate() {
                let value = columns.iter().find_map(|column| cells[*column].number());
                let value = value.map(|value| (seed, value * quantity.scale));
                values[metric][number as usize][of].extend(value);
            }
        }
        let baseline = record.baseline.as_ref();
        let baseline = baseline.and_then(|name| record.protocols.iter().position(|p| p == name));
        let measured = values.iter().zip(quantities);
        let measured = measured.map(|(of, quantity)| Measured::of(of, quantity.range, baseline));
        let measured = measured.collect();
        let left_out = (record.points > MAX_POINTS).then(|| {
            let all = record.points;
            format!("The page shows the first {MAX_POINTS} of {all} points; sweep.parquet has all.")
        });
        let left_out = left_out.into_iter().collect();
        Ok(Sweep { record, points, measured, left_out, reasons })
    }

    /// What an axis is called: by its name, or by its keys.
    pub fn axis_title(&self, axis: usize) -> String {
        let Axis { keys, name, .. } = &self.record.axes[axis];
        let keys = || keys.iter().map(|key| self.record.keys[*key].key.as_str());
        name.clone().unwrap_or_else(|| keys().collect::<Vec<_>>().join(", "))
    }

    /// The number of the point with these steps of the axes; None if the page does not show it.
    pub fn point(&self, steps: &[usize]) -> Option<usize> {
        let axes = self.record.axes.iter().zip(steps);
        let number = axes.fold(0usize, |number, (axis, step)| number * axis.steps as usize + step);
        (number < self.points.len()).then_some(number)
    }

    /// The steps of a point.
    pub fn steps(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let steps = self.record.axes.iter().rev().map(|axis| {
            let step = rest % axis.steps as usize;
            rest /= axis.steps as usize;
            step
        });
        let mut steps: Vec<usize> = steps.collect();
        steps.reverse();
        steps
    }

    /// A point at each step of an axis, the others at their first; None where there is none.
    pub fn along(&self, axis: usize) -> Vec<Option<&ShownPoint>> {
        let steps = (0..self.record.axes[axis].steps as usize).map(|step| {
            let mut steps = vec![0; self.record.axes.len()];
            steps[axis] = step;
            self.point(&steps).map(|number| &self.points[number])
        });
        steps.collect()
    }
}
