//! Axes of what is drawn without a script: where a value is, and which values are written.

use serde::Serialize;

/// An axis from one value to another, with a few values written at it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// The value at its beginning; above 0 if the axis is logarithmic.
    pub from: f64,
    /// The value at its end, above `from`.
    pub to: f64,
    /// True if equal distances are equal ratios.
    pub log: bool,
}

/// Most values at an axis.
const TICKS: usize = 6;

impl Axis {
    /// From 0.
    pub const fn from_zero(to: f64) -> Axis {
        Axis { from: 0.0, to, log: false }
    }

    /// Where a value is: 0 at the beginning of the axis, 1 at its end.
    pub fn share(&self, value: f64) -> f64 {
        if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        }
    }

    /// The same in percent.
    pub(super) fn percent(&self, value: f64) -> f64 {
        100.0 * self.share(value)
    }

    /// Round values on it, in units of `scale`.
    pub fn ticks(&self, scale: f64) -> Vec<f64> {
        let (from, to) = (self.from / scale, self.to / scale);
        if self.log { log_steps(from, to, TICKS) } else { steps(from, to, TICKS - 1) }
    }

    /// Five values at equal distances, in units of `scale`: round ones if `to` is
    /// [`round_above`] something and `from` is 0.
    pub fn quarters(&self, scale: f64) -> [f64; 5] {
        [0.0, 1.0, 2.0, 3.0, 4.0].map(|i| self.to / scale * i / 4.0)
    }
}

/// The least of a few round numbers times a power of ten that is not below `value`, which is above
/// 0: a quarter of it has few digits.
pub fn round_above(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    let found = steps.iter().map(|step| step * decade).find(|round| *round >= value);
    found.unwrap_or(10.0 * decade)
}

/// Round values of a logarithmic axis between two values, at most this many.
fn log_steps(from: f64, to: f64, most: usize) -> Vec<f64> {
    let decades = from.log10().floor() as i32..=to.log10().floor() as i32;
    let of = |parts: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|power| {
            parts.iter().map(move |part| decimal(*part, power)).collect::<Vec<_>>()
        });
        all.filter(|tick| (from..=to).contains(tick)).collect()
    };
    let finest = [&[1.0, 2.0, 3.0, 5.0, 7.0][..], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    let found = finest.into_iter().map(of).find(|ticks| ticks.len() <= most);
    found.unwrap_or_else(|| of(&[1.0]))
}

/// `part` times a power of ten, as the number that people would write.
fn decimal(part: f64, power: i32) -> f64 {
    if power < 0 { part / 10f64.powi(-power) } else { part * 10f64.powi(power) }
}

/// Multiples of 1, 2 or 5 times a power of ten between two values, at most this many.
fn steps(from: f64, to: f64, most: usize) -> Vec<f64> {
    let raw = (to - from) / most as f64;
    let decade = 10f64.powi(raw.log10().floor() as i32);
    let sizes = [1.0, 2.0, 5.0, 10.0].map(|part| part * decade);
    let size = sizes.into_iter().find(|size| *size >= raw * (1.0 - 1e-9)).unwrap_or(10.0 * decade);
    let first = (from / size - 1e-9).ceil() as i64;
    let ticks = (first..).map(|number| number as f64 * size);
    // A whole number of steps has rounding errors after its last digit.
    let round = |tick: f64| (tick / size).round() * size;
    ticks.map(round).take_while(|tick| *tick <= to * (1.0 + 1e-9)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_few_round_values() {
        assert_eq!(steps(0.0, 21.3, 5), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(steps(41.2, 58.0, 5), [45.0, 50.0, 55.0]);
        assert_eq!(log_steps(0.0385, 6.5, 6), [0.1, 0.3, 1.0, 3.0]);
    }

    #[test]
    fn the_middle_of_a_logarithmic_axis_is_the_geometric_mean() {
        let axis = |from, to| Axis { from, to, log: true };
        assert_eq!(axis(0.041, 0.480).ticks(1e-3), [50.0, 70.0, 100.0, 200.0, 300.0]);
        assert_eq!(axis(0.02, 3.0).ticks(1.0), [0.03, 0.1, 0.3, 1.0, 3.0]);
        assert!((axis(0.01, 1.0).percent(0.1) - 50.0).abs() < 1e-9);
    }
}
