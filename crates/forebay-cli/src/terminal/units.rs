//! Numbers in the unit and with the digits that a person would choose.
//!
//! All values of a row share one unit and one number of decimals, so that columns can be compared
//! at a glance.

pub use forebay_lab::report::Unit;

use forebay_lab::scenario::statistics::Interval;

/// A value, and its confidence interval if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    pub ci95: Option<[f64; 2]>,
}

impl From<Interval> for Estimate {
    fn from(of: Interval) -> Estimate {
        Estimate { mean: of.mean, ci95: of.ci95 }
    }
}

impl Estimate {
    /// Its interval, if that has a width: where all runs are alike it says less than none.
    fn wide(&self) -> Option<Interval> {
        let Estimate { mean, ci95 } = *self;
        Some(Interval { mean, ci95, n: 0 }).filter(|of| of.half().is_some_and(|half| half > 0.0))
    }
    /// The shorter of the two parts of its interval.
    fn part(&self) -> Option<f64> {
        let [low, high] = self.wide()?.ci95?;
        Some((self.mean - low).min(high - self.mean))
    }
}

/// The unit's name and each value in it; None is a value that is not there. Intervals are
/// "mean ± half" if all are nearly symmetric, else "mean [low, high]".
pub fn row(unit: Unit, values: &[Option<Estimate>]) -> (&'static str, Vec<String>) {
    let [largest, smallest] = extremes(values);
    let (name, scale) = scale(unit, largest, smallest);
    in_unit(unit, name, scale, values, false)
}

/// The same for a row of a group that has one unit, that of values of the size `typical`.
pub fn row_of_group(
    unit: Unit,
    typical: f64,
    values: &[Option<Estimate>],
) -> (&'static str, Vec<String>) {
    let (name, scale) = scale(unit, typical, typical);
    in_unit(unit, name, scale, values, false)
}

/// The same of differences: those above 0 have a sign as well.
pub fn differences(unit: Unit, values: &[Option<Estimate>]) -> (&'static str, Vec<String>) {
    let [largest, smallest] = extremes(values);
    let (name, scale) = scale(unit, largest, smallest);
    in_unit(unit, name, scale, values, true)
}

/// The largest size of a value and the smallest that is not 0.
fn extremes(values: &[Option<Estimate>]) -> [f64; 2] {
    let sizes = || values.iter().flatten().map(|e| e.mean.abs());
    let largest = sizes().fold(0.0, f64::max);
    [largest, sizes().filter(|&size| size > 0.0).fold(largest, f64::min)]
}

fn in_unit(
    unit: Unit,
    name: &'static str,
    scale: f64,
    values: &[Option<Estimate>],
    signed: bool,
) -> (&'static str, Vec<String>) {
    let all = || values.iter().flatten();
    let [largest, smallest] = extremes(values);
    let parts = || all().filter_map(Estimate::part).filter(|&part| part > 0.0);
    let whole =
        unit == Unit::Count && parts().next().is_none() && all().all(|e| e.mean.fract() == 0.0);
    let decimals = if whole {
        0
    } else {
        decimals(unit, [largest, smallest].map(|v| v * scale), parts().map(|h| h * scale))
    };
    let symmetric = all().filter_map(Estimate::wide).all(|of| of.symmetric_half().is_some());
    let number = |value: f64| match signed {
        true if value > 0.0 => format!("+{:.decimals$}", value * scale),
        _ => format!("{:.decimals$}", value * scale),
    };
    let cell = |value: &Option<Estimate>| {
        let Some(value) = value else { return "-".to_string() };
        let mean = number(value.mean);
        match value.wide() {
            None => mean,
            Some(of) if symmetric => {
                let half = of.half().unwrap_or_default() * scale;
                format!("{mean} ± {half:.decimals$}")
            }
            Some(of) => {
                let [low, high] = of.ci95.unwrap_or_default().map(number);
                format!("{mean} [{low}, {high}]")
            }
        }
    };
    (name, values.iter().map(cell).collect())
}

/// One value with its unit and all its digits, up to ten.
pub fn exact(unit: Unit, value: f64) -> String {
    let (name, scale) = scale(unit, value.abs(), value.abs());
    let value = value * scale;
    let whole = if value.abs() >= 1.0 { value.abs().log10().floor() as usize + 1 } else { 1 };
    let decimals = 10usize.saturating_sub(whole);
    format!("{} {name}", trimmed(&format!("{value:.decimals$}"))).trim_end().to_string()
}

/// A number without zeros at the end of its fraction.
pub fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// The unit for values up to `largest`, and what to multiply them by. Times of which the smallest
/// would be less than 0.01 have the next smaller unit.
fn scale(unit: Unit, largest: f64, smallest: f64) -> (&'static str, f64) {
    match unit {
        Unit::Seconds if largest >= 1.0 && smallest < 0.01 => ("ms", 1e3),
        Unit::Seconds if largest >= 1e-3 && smallest > 0.0 && smallest < 1e-5 => ("us", 1e6),
        Unit::Seconds if largest >= 1.0 => ("s", 1.0),
        Unit::Seconds if largest >= 1e-3 || largest == 0.0 => ("ms", 1e3),
        Unit::Seconds => ("us", 1e6),
        Unit::BitsPerSecond if largest >= 1e9 => ("Gbit/s", 1e-9),
        Unit::BitsPerSecond if largest >= 1e6 => ("Mbit/s", 1e-6),
        Unit::BitsPerSecond => ("kbit/s", 1e-3),
        Unit::Bytes if largest >= 1e9 => ("GB", 1e-9),
        Unit::Bytes if largest >= 1e6 => ("MB", 1e-6),
        Unit::Bytes => ("kB", 1e-3),
        Unit::Share => ("%", 100.0),
        Unit::Plain | Unit::Count => ("", 1.0),
    }
}

/// Four digits of the largest value; with intervals no more than show two digits of the narrowest;
/// but three digits of the smallest value, two if there are intervals.
fn decimals(unit: Unit, [largest, smallest]: [f64; 2], halves: impl Iterator<Item = f64>) -> usize {
    let places = |digits: i32, value: f64| {
        if value > 0.0 { digits - 1 - value.log10().floor() as i32 } else { 0 }
    };
    let most = match unit {
        Unit::Share | Unit::Count => 1,
        _ => 4,
    };
    let of_values = places(4, largest).clamp(0, most);
    let of_halves = halves.map(|h| places(2, h)).max();
    let of_smallest = match unit {
        Unit::Share | Unit::Count => 0,
        // A cell of 20 characters is read no better.
        _ => places(if of_halves.is_some() { 2 } else { 3 }, smallest).clamp(0, 8),
    };
    let of_halves = of_halves.map_or(of_values, |d| d.clamp(0, most));
    of_values.min(of_halves).max(of_smallest) as usize
}

/// A number of things, short: `999`, `12.3k`, `4.56M`.
pub fn count(n: u64) -> String {
    let short = |value: f64, letter| match value {
        v if v < 10.0 => format!("{v:.2}{letter}"),
        v if v < 100.0 => format!("{v:.1}{letter}"),
        v => format!("{v:.0}{letter}"),
    };
    match n {
        0..=9_999 => n.to_string(),
        10_000..=999_499 => short(n as f64 * 1e-3, 'k'),
        999_500..=999_499_999 => short(n as f64 * 1e-6, 'M'),
        _ => short(n as f64 * 1e-9, 'G'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(unit: Unit, values: &[(f64, Option<f64>)]) -> (&'static str, Vec<String>) {
        let values = values.iter().map(|&(mean, half)| {
            Some(Estimate { mean, ci95: half.map(|half| [mean - half, mean + half]) })
        });
        row(unit, &values.collect::<Vec<_>>())
    }

    #[test]
    fn a_row_has_one_unit_and_as_many_digits_as_it_earns() {
        let texts = |t: &[&str]| t.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        assert_eq!(
            cells(Unit::Seconds, &[(22.5, None), (0.5, None)]),
            ("s", texts(&["22.500", "0.500"]))
        );
        // Next to the seconds of another protocol, a queue that is nearly empty.
        assert_eq!(
            cells(Unit::Seconds, &[(1.5, None), (0.000_275, None)]),
            ("ms", texts(&["1500.000", "0.275"]))
        );
        assert_eq!(
            cells(Unit::Seconds, &[(1.5, Some(0.2)), (0.000_275, None)]),
            ("ms", texts(&["1500.00 ± 200.00", "0.28"]))
        );
        assert_eq!(
            cells(Unit::Seconds, &[(0.002, None), (0.000_000_5, None)]),
            ("us", texts(&["2000.000", "0.500"]))
        );
        assert_eq!(cells(Unit::Seconds, &[(0.0123456, None)]), ("ms", texts(&["12.35"])));
        assert_eq!(cells(Unit::Seconds, &[(0.000_02, None)]), ("us", texts(&["20.00"])));
        assert_eq!(
            cells(Unit::BitsPerSecond, &[(9.41e6, Some(0.3e6)), (8e6, Some(0.02e6))]),
            ("Mbit/s", texts(&["9.410 ± 0.300", "8.000 ± 0.020"]))
        );
        assert_eq!(cells(Unit::Share, &[(0.99345, None)]), ("%", texts(&["99.3"])));
        assert_eq!(cells(Unit::Count, &[(312.0, None), (4.0, None)]), ("", texts(&["312", "4"])));
        assert_eq!(cells(Unit::Count, &[(312.25, Some(8.5))]), ("", texts(&["312.2 ± 8.5"])));
        assert_eq!(cells(Unit::Seconds, &[(0.0, None)]), ("ms", texts(&["0"])));
        assert_eq!(row(Unit::Plain, &[None]), ("", texts(&["-"])));
    }

    #[test]
    fn an_interval_that_reaches_further_up_shows_its_ends() {
        let of = |mean, ends| Some(Estimate { mean, ci95: Some(ends) });
        // 89 ms and 179 ms on the scale of the logarithm, next to one that is narrow.
        let wide = [of(0.089, [0.012, 0.664]), of(0.08, [0.079, 0.081]), of(0.07, [0.07, 0.07])];
        let (unit, cells) = row(Unit::Seconds, &wide);
        assert_eq!(unit, "ms");
        assert_eq!(cells, ["89.0 [12.0, 664.0]", "80.0 [79.0, 81.0]", "70.0"]);
        let (_, cells) = differences(Unit::Seconds, &[of(0.5, [0.4, 0.6]), of(-0.5, [-1.0, 0.0])]);
        assert_eq!(cells, ["+500 ± 100", "-500 ± 500"]);
    }

    #[test]
    fn rows_of_a_group_have_one_unit() {
        let one = |mean| [Some(Estimate { mean, ci95: None })];
        // p50, p95 and p99 of a delay that is 90 ms in the middle.
        let cells = [0.0005, 0.09, 1.4].map(|mean| row_of_group(Unit::Seconds, 0.09, &one(mean)));
        assert_eq!(cells.clone().map(|(unit, _)| unit), ["ms"; 3]);
        assert_eq!(cells.map(|(_, cells)| cells[0].clone()), ["0.5000", "90.00", "1400"]);
    }

    #[test]
    fn an_exact_value_has_all_digits_that_were_written() {
        assert_eq!(exact(Unit::Seconds, 2.4876), "2.4876 s");
        assert_eq!(exact(Unit::Seconds, 0.0424), "42.4 ms");
        assert_eq!(exact(Unit::Seconds, 0.0), "0 ms");
        assert_eq!(exact(Unit::BitsPerSecond, 9_653_333.0), "9.653333 Mbit/s");
        assert_eq!(exact(Unit::BitsPerSecond, 10e6), "10 Mbit/s");
        assert_eq!(exact(Unit::Share, 0.97), "97 %");
        assert_eq!(exact(Unit::Count, 120.0), "120");
        assert_eq!(exact(Unit::Plain, 0.9), "0.9");
    }

    #[test]
    fn counts_keep_three_digits() {
        let shown = [999, 9_999, 10_000, 158_412, 999_499, 999_500, 3_767_400, 1_500_000_000];
        let expected = ["999", "9999", "10.0k", "158k", "999k", "1.00M", "3.77M", "1.50G"];
        assert_eq!(shown.map(count), expected);
    }
}
