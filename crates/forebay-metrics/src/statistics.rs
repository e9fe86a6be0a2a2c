//! Means, intervals, quantiles, fairness.

use serde::{Deserialize, Serialize};

/// A mean over runs with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Mean over those runs that have the metric.
    pub mean: f64,
    /// Lower and upper end of the 95 % interval (Student's t); None for a single run.
    pub ci95: Option<[f64; 2]>,
    /// Number of runs that have the metric.
    #[serde(default)]
    pub n: usize,
}

impl Interval {
    /// Half the width of the interval.
    pub fn half(&self) -> Option<f64> {
        self.ci95.map(|[low, high]| (high - low) / 2.0)
    }

    /// In another unit: times `scale`.
    pub fn times(self, scale: f64) -> Interval {
        let ci95 = self.ci95.map(|ends| ends.map(|end| end * scale));
        Interval { mean: self.mean * scale, ci95, ..self }
    }
}

/// Mean and 95 % confidence interval of independent values, `mean ± t(0.975, n - 1) s / √n` with
/// the sample standard deviation s (divisor n - 1); no interval for a single value, None for no
/// value.
pub fn mean_and_interval(values: &[f64]) -> Option<Interval> {
    let mean = mean(values)?;
    let n = values.len();
    if n == 1 {
        return Some(Interval { mean, ci95: None, n });
    }
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let deviation = (squares / (n - 1) as f64).sqrt();
    let half = student_975(n - 1) * deviation / (n as f64).sqrt();
    Some(Interval { mean, ci95: Some([mean - half, mean + half]), n })
}

/// Arithmetic mean; None for no value.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The quantile `q` in `0.0..=1.0` of values in ascending order, by linear interpolation between
/// the two nearest ranks, as in NumPy and R (type 7 of Hyndman and Fan 1996, doi:10.2307/2684934).
/// None for no value.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&q), "a quantile is between 0 and 1");
    debug_assert!(sorted.is_sorted(), "values in ascending order");
    let last = sorted.len().checked_sub(1)?;
    let rank = q * last as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(last);
    let part = rank - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * part)
}

/// Jain's index of fairness, `(Σx)² / (n Σx²)` (Jain, Chiu and Hawe 1984, DEC-TR-301): 1 if all are
/// equal, 1/n if one has all. None for no value, and if all are zero.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// 97.5 % quantile of Student's t for 1 to 30 degrees of freedom (Abramowitz and Stegun 1964, table
/// 26.10).
const STUDENT_975: [f64; 30] = [
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814,
    2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
    2.07961, 2.07387, 2.06866, 2.06390, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227,
];

/// 97.5 % quantile of Student's t: from the table, beyond it by the expansion in 1/ν around the
/// normal quantile (Abramowitz and Stegun 26.7.5), which is exact to 10^-5 there. Panics for no
/// degree of freedom.
fn student_975(freedom: usize) -> f64 {
    assert!(freedom > 0, "two values or more");
    if let Some(&t) = STUDENT_975.get(freedom - 1) {
        return t;
    }
    let (z, v) = (1.959_963_985_f64, freedom as f64);
    let z3 = z.powi(3);
    let (z5, z7) = (z.powi(5), z.powi(7));
    let g1 = (z3 + z) / 4.0;
    let g2 = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
    let g3 = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
    z + g1 / v + g2 / (v * v) + g3 / (v * v * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() < by, "{a} is not {b}");
    }

    #[test]
    fn jain_by_hand() {
        close(jain(&[1.0, 2.0, 3.0]).unwrap(), 36.0 / 42.0, 1e-12);
        close(jain(&[5.0; 7]).unwrap(), 1.0, 1e-12);
        close(jain(&[0.0, 0.0, 0.0, 4.0]).unwrap(), 0.25, 1e-12);
        assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn quantiles_as_numpy_has_them() {
        // numpy.quantile([1, 2, 3, 4], [0, .5, .95, .99, 1]), and of one value.
        let values = [1.0, 2.0, 3.0, 4.0];
        for (q, x) in [(0.0, 1.0), (0.5, 2.5), (0.95, 3.85), (0.99, 3.97), (1.0, 4.0)] {
            close(quantile(&values, q).unwrap(), x, 1e-12);
        }
        assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn student_quantiles_of_the_tables() {
        // Beyond the table: values of printed tables for 40, 60, 120 and infinitely many degrees of
        // freedom.
        for (v, t) in
            [(1, 12.706), (9, 2.262), (19, 2.093), (30, 2.042), (40, 2.0211), (60, 2.0003)]
        {
            close(student_975(v), t, 6e-4);
        }
        close(student_975(120), 1.9799, 6e-5);
        close(student_975(1_000_000), 1.95996, 1e-5);
        // The expansion meets the table where it ends.
        assert!(student_975(31) < student_975(30) && student_975(31) > 2.0395);
    }

    #[test]
    fn an_interval_by_hand() {
        // Mean 3, s = √2.5, t(4) = 2.77645: half width 2.77645 · √0.5 = 1.96325.
        let interval = mean_and_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((interval.mean, interval.n), (3.0, 5));
        let [low, high] = interval.ci95.unwrap();
        close(low, 3.0 - 1.963_25, 1e-5);
        close(high, 3.0 + 1.963_25, 1e-5);
        assert_eq!(mean_and_interval(&[4.0]), Some(Interval { mean: 4.0, ci95: None, n: 1 }));
        assert_eq!(mean_and_interval(&[]), None);
    }
}
