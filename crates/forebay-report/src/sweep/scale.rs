//! Where the values of a key are on a plot, and how they are written.

use super::read::{Key, ShownPoint, Sweep};
use super::rows::Cell;
use crate::axis::Axis;
use crate::figures::{four_digits, prefix, second_prefix};
use crate::{Unit, round_above};

/// An axis of a plot for the values of a key.
pub(super) struct KeyScale {
    /// The key and its unit.
    pub title: String,
    /// By step: its place from 0 to 1.
    pub places: Vec<f64>,
    /// What is written below, and where.
    pub ticks: Vec<(f64, String)>,
    /// True if there is something between two steps.
    pub is_number: bool,
    /// By step: its value in words.
    pub labels: Vec<String>,
}

/// Most names at an axis.
pub(super) const MAX_NAMES: usize = 12;

impl KeyScale {
    /// Of an axis of the sweep.
    pub fn of(sweep: &Sweep, axis: usize) -> KeyScale {
        let along = sweep.along(axis);
        let keys = &sweep.record.axes[axis].keys;
        let title = sweep.axis_title(axis);
        let labels: Vec<String> = match sweep.record.axes[axis].names.as_slice() {
            [] => along.iter().map(|point| words(sweep, keys, *point)).collect(),
            names => names.to_vec(),
        };
        let numbers = |point: &Option<&ShownPoint>| value(*point, *keys.first()?)?.number();
        let values: Option<Vec<f64>> = match keys.as_slice() {
            [_] => along.iter().map(numbers).collect(),
            _ => None,
        };
        match values.filter(|values| values.len() > 1 && distinct(values)) {
            Some(values) => KeyScale::numbers(&sweep.record.keys[keys[0]], title, values, labels),
            None => KeyScale::names(title, labels),
        }
    }

    fn numbers(key: &Key, title: String, values: Vec<f64>, labels: Vec<String>) -> KeyScale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted[sorted.len() / 2];
        // Nearer to equal ratios than to equal distances.
        let log = low > 0.0
            && high / low >= 4.0
            && (0.5 - (middle / low).ln() / (high / low).ln()).abs()
                < (0.5 - (middle - low) / (high - low)).abs();
        let axis = Axis { from: low, to: high, log };
        let (name, per) = unit_of_key(&key.unit, high);
        let unit = if name.is_empty() { String::new() } else { format!(", {name}") };
        let ticks = axis.ticks(per).into_iter();
        let ticks = ticks.map(|tick| (axis.share(tick * per), plain(tick))).collect();
        KeyScale {
            title: format!("{title}{unit}"),
            places: values.iter().map(|value| axis.share(*value)).collect(),
            ticks,
            is_number: true,
            labels,
        }
    }

    fn names(title: String, labels: Vec<String>) -> KeyScale {
        let count = labels.len() as f64;
        let places: Vec<f64> = (0..labels.len()).map(|i| (i as f64 + 0.5) / count).collect();
        let every = labels.len().div_ceil(MAX_NAMES);
        let ticks = places.iter().zip(&labels).step_by(every);
        let ticks = ticks.map(|(place, label)| (*place, short(label))).collect();
        KeyScale { title, places, ticks, is_number: false, labels }
    }
}

fn distinct(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] < pair[1])
}

fn value(point: Option<&ShownPoint>, key: usize) -> Option<&Cell> {
    point?.values.get(key)?.as_ref()
}

/// A step in words: its name, or its values.
fn words(sweep: &Sweep, keys: &[usize], point: Option<&ShownPoint>) -> String {
    let only = sweep.record.axes.len() == 1;
    if let Some(name) = point.and_then(|point| point.name.as_ref()).filter(|_| only) {
        return name.clone();
    }
    let values = keys
        .iter()
        .filter_map(|key| value(point, *key).map(|cell| key_value(&sweep.record.keys[*key], cell)));
    values.collect::<Vec<_>>().join(", ")
}

/// A value of a key, with its unit.
pub(super) fn key_value(key: &Key, cell: &Cell) -> String {
    match cell {
        Cell::Null => "-".to_string(),
        Cell::Boolean(value) => value.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Integer(value) => value.to_string(),
        Cell::Real(value) => {
            let (name, per) = unit_of_key(&key.unit, *value);
            format!("{} {name}", four_digits(value / per)).trim_end().to_string()
        }
    }
}

/// The unit in which a value of a key is written, and what it stands for.
fn unit_of_key(unit: &str, size: f64) -> (String, f64) {
    let (prefix, per) = match unit {
        "s" => second_prefix(size),
        "bit/s" | "B" => prefix(size),
        _ => ("", 1.0),
    };
    (format!("{prefix}{unit}"), per)
}

/// A metric on the other axis, from 0.
pub(super) struct ValueScale {
    pub unit: String,
    per: f64,
    axis: Axis,
}

impl ValueScale {
    /// For values up to `most`.
    pub fn of(unit: Unit, most: f64) -> ValueScale {
        let ((prefix, per), name) = match unit {
            Unit::Seconds => (second_prefix(most), "s"),
            Unit::BitsPerSecond => (prefix(most), "bit/s"),
            Unit::Bytes => (prefix(most), "B"),
            Unit::Share => (("", 0.01), "%"),
            Unit::Plain | Unit::Count => (("", 1.0), ""),
        };
        let top = if most > 0.0 { round_above(most / per) * per } else { per };
        ValueScale { unit: format!("{prefix}{name}"), per, axis: Axis::from_zero(top) }
    }

    /// Its place from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        self.axis.share(value)
    }

    pub fn ticks(&self) -> Vec<(f64, String)> {
        let ticks = self.axis.ticks(self.per).into_iter();
        ticks.map(|tick| (self.axis.share(tick * self.per), plain(tick))).collect()
    }

    /// A value in words.
    pub fn words(&self, value: f64) -> String {
        format!("{} {}", four_digits(value / self.per), self.unit).trim_end().to_string()
    }

    /// A value without its unit, short.
    pub fn short(&self, value: f64) -> String {
        let value = value / self.per;
        let decimals = match value.abs() {
            v if v >= 100.0 || v == 0.0 => 0,
            v if v >= 10.0 => 1,
            _ => 2,
        };
        format!("{value:.decimals$}")
    }
}

/// A round number.
fn plain(tick: f64) -> String {
    let text = format!("{tick:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn short(label: &str) -> String {
    const MOST: usize = 14;
    match label.chars().count() {
        count if count > MOST => label.chars().take(MOST - 1).chain(['…']).collect(),
        _ => label.to_string(),
    }
}
