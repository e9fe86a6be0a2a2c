//! Means, intervals, quantiles, fairness.

use serde::{Deserialize, Serialize};

/// A mean over runs with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Mean over those runs that have the metric.
    pub mean: f64,
    /// Lower and upper end of the 95 % interval, see [`interval_within`]; None for a single run.
    pub ci95: Option<[f64; 2]>,
    /// Number of runs that have the metric.
    #[serde(default)]
    pub n: usize,
}

/// The values that a quantity can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Any number, as a difference.
    Any,
    /// 0 and above.
    NonNegative,
    /// Between two numbers, both included.
    Within(f64, f64),
}

impl Range {
    /// The values that a difference of two such quantities can have.
    pub fn of_difference(self) -> Range {
        match self {
            Range::Any | Range::NonNegative => Range::Any,
            Range::Within(low, high) => Range::Within(low - high, high - low),
        }
    }
}

/// Width of an interval by its mean below which nothing of it is seen.
const NARROW: f64 = 1e-4;
/// Sums of the same numbers in another order differ by less than this share.
const ROUNDING: f64 = 1e-12;

impl Interval {
    /// Half the width of the interval.
    pub fn half(&self) -> Option<f64> {
        self.ci95.map(|[low, high]| (high - low) / 2.0)
    }

    /// The half, if the interval is nearly symmetric: its upper part is at most a tenth longer or
    /// shorter than its lower one, or neither can be seen. Then "mean ± half" says what it is.
    pub fn symmetric_half(&self) -> Option<f64> {
        let [low, high] = self.ci95?;
        let (below, above) = (self.mean - low, high - self.mean);
        let near = (above - below).abs() <= 0.1 * below.min(above);
        // Its ends are the mean in four digits.
        let narrow = high - low <= NARROW * self.mean.abs();
        if near || narrow { self.half() } else { None }
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
    let size = values.iter().fold(0.0f64, |size, x| size.max(x.abs()));
    let spread = (squares / (n - 1) as f64).sqrt();
    let deviation = if spread <= ROUNDING * size { 0.0 } else { spread };
    let half = student_975(n - 1) * deviation / (n as f64).sqrt();
    Some(Interval { mean, ci95: Some([mean - half, mean + half]), n })
}

/// Mean and 95 % confidence interval of independent values of a quantity whose values lie in
/// `range`. The interval lies in `range`, widened to hold all `values`.
///
/// Student's t, as [`mean_and_interval`], on a scale that has no end: the logarithm of the mean
/// from 0 up, its logit between two ends. The standard error on that scale is that of the mean
/// times the derivative (delta method: Oehlert 1992, doi:10.1080/00031305.1992.10475842). Where the
/// interval is narrow it is Student's; where it is wide it reaches further up than down, as means
/// of skewed values do. Of two to twenty log-normal or exponential values it covers the mean more
/// often than Student's interval does, and far more often than percentile and BCa bootstraps, which
/// are too narrow for few values.
pub fn interval_within(values: &[f64], range: Range) -> Option<Interval> {
    let student = mean_and_interval(values)?;
    let Some(half) = student.half().filter(|half| *half > 0.0) else { return Some(student) };
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Values differ: the mean is above the least and below the most.
    let ci95 = match range {
        Range::Any => return Some(student),
        Range::NonNegative => {
            let low = least.min(0.0);
            let above = student.mean - low;
            [-1.0, 1.0].map(|side: f64| low + above * (side * half / above).exp())
        }
        Range::Within(low, high) => {
            let (low, high) = (least.min(low), most.max(high));
            let (width, above, below) = (high - low, student.mean - low, high - student.mean);
            let reach = half * width / (above * below);
            [-1.0, 1.0]
                .map(|side: f64| low + width * above / (above + below * (-side * reach).exp()))
        }
    };
    Some(Interval { ci95: Some(ci95), ..student })
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
    // Rounding may take it beyond 1.
    (squares > 0.0).then(|| (sum * sum / (values.len() as f64 * squares)).min(1.0))
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

    /// Three equal rates have an index of 1, whatever rounding does to their sums, and runs that
    /// differ by rounding alone have no interval.
    #[test]
    fn rounding_makes_no_unfairness_and_no_interval() {
        for rate in 1..1_000 {
            let rate = f64::from(rate) / 7.0;
            assert!(jain(&[rate; 3]).unwrap() <= 1.0, "{rate}");
        }
        let alike = [0.3, 0.1 + 0.2, 0.3, 0.3];
        for range in [Range::Any, Range::NonNegative, Range::Within(0.0, 0.3)] {
            let found = interval_within(&alike, range).unwrap();
            assert_eq!(found.half(), Some(0.0), "{range:?}");
        }
        let wide = Interval { mean: 0.9, ci95: Some([0.8999, 0.9]), n: 3 };
        assert_eq!(wide.symmetric_half(), None);
        let narrow = Interval { mean: 0.9, ci95: Some([0.899_999, 0.9]), n: 3 };
        assert!(narrow.symmetric_half().is_some());
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

    #[test]
    fn intervals_of_positive_numbers_and_of_shares_by_hand() {
        // As above, half width 1.96325, on the scale of the logarithm 0.654417.
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        let found = interval_within(&values, Range::NonNegative).unwrap();
        let [low, high] = found.ci95.unwrap();
        close(low, 3.0 / 1.924_020, 1e-4);
        close(high, 3.0 * 1.924_020, 1e-4);
        // Between 0 and 10: logit 0.3 is -0.847298, and 1.96325 · 10 / (3 · 7) is 0.934881.
        let [low, high] = interval_within(&values, Range::Within(0.0, 10.0)).unwrap().ci95.unwrap();
        close(low, 10.0 / (1.0 + (0.847_298f64 + 0.934_881).exp()), 1e-4);
        close(high, 10.0 / (1.0 + (0.847_298f64 - 0.934_881).exp()), 1e-4);
        // Where it is narrow it is Student's.
        let narrow = [1000.0, 1001.0, 1002.0, 1003.0, 1004.0];
        let [t, log] =
            [Range::Any, Range::NonNegative].map(|range| interval_within(&narrow, range).unwrap());
        close(t.half().unwrap(), log.symmetric_half().unwrap(), 1e-4);
        // Two very unlike values: nothing is known, and nothing impossible is claimed.
        let [low, _] = interval_within(&[0.0, 178.0], Range::NonNegative).unwrap().ci95.unwrap();
        assert!(low > 0.0);
        assert_eq!(found.symmetric_half(), None);
    }

    #[test]
    fn no_interval_leaves_what_is_possible() {
        let edge = [1.0, 1.0, 1.0, 0.2];
        let [low, high] = interval_within(&edge, Range::Within(0.0, 1.0)).unwrap().ci95.unwrap();
        assert!(0.0 < low && low < 0.8 && 0.8 < high && high < 1.0, "{low} {high}");
        // A value that was seen is possible.
        let beyond = [1.0, 1.0001];
        let found = interval_within(&beyond, Range::Within(0.0, 1.0)).unwrap().ci95.unwrap();
        assert!(found[0] > 0.0 && found[1] <= 1.0001, "{found:?}");
        for range in [Range::Any, Range::NonNegative, Range::Within(0.0, 1.0)] {
            let same = interval_within(&[1.0, 1.0], range).unwrap();
            assert_eq!(same.ci95, Some([1.0, 1.0]));
            assert_eq!(interval_within(&[0.5], range).unwrap().ci95, None);
            assert_eq!(interval_within(&[], range), None);
        }
        let difference = Range::Within(0.0, 1.0).of_difference();
        let found = interval_within(&[-0.9, 0.9], difference).unwrap().ci95.unwrap();
        assert!(-1.0 < found[0] && found[1] < 1.0, "{found:?}");
    }

    /// Uniform numbers above 0 and below 1.
    struct Uniform(u64);

    impl Uniform {
        fn next(&mut self) -> f64 {
            // SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
        }
        /// With mean 1.
        fn exponential(&mut self) -> f64 {
            -self.next().ln()
        }
        /// The exponential of a normal number (Box and Muller).
        fn log_normal(&mut self) -> f64 {
            let (radius, turn) = ((2.0 * self.exponential()).sqrt(), self.next());
            (radius * (std::f64::consts::TAU * turn).cos()).exp()
        }
    }

    /// The share of samples of `n` whose interval holds the true mean, of Student's interval and of
    /// that of positive numbers; and the share of Student's that reach below 0.
    fn coverage(n: usize, mean: f64, draw: fn(&mut Uniform) -> f64) -> [f64; 3] {
        let mut numbers = Uniform(1);
        let runs = 4000;
        let mut found = [0.0; 3];
        for _ in 0..runs {
            let values: Vec<f64> = (0..n).map(|_| draw(&mut numbers)).collect();
            let ends = |range| interval_within(&values, range).unwrap().ci95.unwrap();
            let (t, log) = (ends(Range::Any), ends(Range::NonNegative));
            let holds = |[low, high]: [f64; 2]| (low..=high).contains(&mean);
            assert!(log[0] > 0.0);
            for (share, is) in found.iter_mut().zip([holds(t), holds(log), t[0] < 0.0]) {
                *share += f64::from(u8::from(is)) / f64::from(runs);
            }
        }
        found
    }

    /// Of skewed quantities as delays and completion times are.
    #[test]
    fn the_interval_of_positive_numbers_covers_more_than_students() {
        let e_half = 0.5f64.exp();
        for n in [3, 5, 8] {
            let [t, log, below] = coverage(n, e_half, Uniform::log_normal);
            assert!(log > t + 0.03 && log > 0.85 && below > 0.1, "{n}: {t} {log} {below}");
            let [t, log, below] = coverage(n, 1.0, Uniform::exponential);
            assert!(log > t + 0.03 && log > 0.91 && below > 0.1, "{n}: {t} {log} {below}");
        }
        // What is not skewed keeps its coverage.
        let [t, log, _] =
            coverage(5, 10.0, |numbers| 10.0 + (0..12).map(|_| numbers.next() - 0.5).sum::<f64>());
        assert!((t - 0.95).abs() < 0.015 && (log - t).abs() < 0.01, "{t} {log}");
    }
}
