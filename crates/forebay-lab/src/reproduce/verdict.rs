//! Is ours what was published?

use crate::statistics::Interval;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What comes of putting a measured value beside a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The mean is within the tolerance of the published value.
    Reproduced,
    /// It is not, and on the side that is better.
    Better,
    /// It is not.
    Differs,
    /// Nothing was published.
    NotStated,
}

impl Verdict {
    /// As results spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Better => "better",
            Verdict::Differs => "differs",
            Verdict::NotStated => "not-stated",
        }
    }
}

/// The side of a published value that is better.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    Lower,
    Higher,
}

/// How far from a published value is the same: `"2%"` of that value, or a number in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tolerance {
    Percent(f64),
    Absolute(f64),
}

impl Tolerance {
    /// In the unit of the value.
    pub fn around(self, published: f64) -> f64 {
        match self {
            Tolerance::Percent(percent) => percent / 100.0 * published.abs(),
            Tolerance::Absolute(by) => by,
        }
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tolerance, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Tolerance;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share such as \"2%\" or a number in the unit of the row")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Tolerance, E> {
                let share = text.strip_suffix('%').and_then(|share| share.trim().parse().ok());
                let share = share.filter(|share: &f64| share.is_finite() && *share >= 0.0);
                share
                    .map(Tolerance::Percent)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
            fn visit_f64<E: de::Error>(self, by: f64) -> Result<Tolerance, E> {
                match by.is_finite() && by >= 0.0 {
                    true => Ok(Tolerance::Absolute(by)),
                    false => Err(E::invalid_value(de::Unexpected::Float(by), &self)),
                }
            }
            fn visit_i64<E: de::Error>(self, by: i64) -> Result<Tolerance, E> {
                self.visit_f64(by as f64)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Percent(percent) => write!(f, "{percent} %"),
            Tolerance::Absolute(by) => write!(f, "{by}"),
        }
    }
}

/// A value that was published, and what counts as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target {
    pub published: f64,
    pub tolerance: Tolerance,
    /// Of a value for which one side is better.
    pub better: Option<Side>,
}

/// The verdict on a mean with its interval, and the arithmetic in words. The mean decides; where the interval crosses the edge
/// of the tolerance, the words say so.
pub(super) fn judge(target: &Target, measured: &Interval) -> (Verdict, String) {
    let Target { published, tolerance, better } = *target;
    let reach = tolerance.around(published);
    // Decimal values and their difference are not exact in binary.
    let inside = |value: f64| (value - published).abs() <= reach * (1.0 + 1e-9);
    let off = measured.mean - published;
    let verdict = match (inside(measured.mean), better) {
        (true, _) => Verdict::Reproduced,
        (false, Some(Side::Lower)) if off < 0.0 => Verdict::Better,
        (false, Some(Side::Higher)) if off > 0.0 => Verdict::Better,
        (false, _) => Verdict::Differs,
    };
    let place = if verdict == Verdict::Reproduced { "within" } else { "outside" };
    let mut words = match tolerance {
        Tolerance::Percent(_) => {
            format!("{:+.1} %, {place} {tolerance}", off / published.abs() * 100.0)
        }
        Tolerance::Absolute(_) => format!("{}, {place} {tolerance}", signed(off, reach)),
    };
    let [low, high] = measured.ci95.unwrap_or([measured.mean; 2]);
    let all_inside = inside(low) && inside(high);
    let apart = low > published + reach || high < published - reach;
    match verdict {
        Verdict::Reproduced if !all_inside => words.push_str("; the interval reaches beyond that"),
        Verdict::Better | Verdict::Differs if !apart => {
            words.push_str("; the interval reaches into that");
        }
        _ => {}
    }
    (verdict, words)
}

/// A difference with its sign and two digits of the tolerance; whole where there is none, as of counts.
fn signed(off: f64, reach: f64) -> String {
    let places = if reach > 0.0 { (1.0 - reach.log10().floor()).clamp(0.0, 6.0) } else { 0.0 };
    format!("{off:+.*}", places as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(published: f64, tolerance: Tolerance, better: Option<Side>) -> Target {
        Target { published, tolerance, better }
    }
    fn mean(mean: f64, half: f64) -> Interval {
        Interval { mean, ci95: Some([mean - half, mean + half]), n: 5 }
    }

    #[test]
    fn the_mean_decides_and_the_interval_is_told() {
        let two = target(10.5, Tolerance::Percent(2.0), Some(Side::Lower));
        let of = |m, half| judge(&two, &mean(m, half));
        // 2 % of 10.5 is 0.21: 10.29 to 10.71.
        assert_eq!(of(10.58, 0.0), (Verdict::Reproduced, "+0.8 %, within 2 %".into()));
        assert_eq!(of(10.71, 0.0).0, Verdict::Reproduced);
        assert_eq!(of(10.72, 0.0), (Verdict::Differs, "+2.1 %, outside 2 %".into()));
        assert_eq!(of(10.28, 0.0).0, Verdict::Better);
        assert!(of(10.7, 0.1).1.ends_with("the interval reaches beyond that"));
        let (verdict, words) = of(10.8, 0.2);
        assert_eq!(verdict, Verdict::Differs);
        assert!(words.ends_with("the interval reaches into that"), "{words}");
    }

    #[test]
    fn sides_and_absolute_tolerances() {
        let jain = target(0.89, Tolerance::Absolute(0.02), Some(Side::Higher));
        assert_eq!(
            judge(&jain, &mean(0.95, 0.0)),
            (Verdict::Better, "+0.060, outside 0.02".into())
        );
        assert_eq!(judge(&jain, &mean(0.8, 0.0)).0, Verdict::Differs);
        // No side: above and below are alike.
        let time = target(3.04, Tolerance::Absolute(0.1), None);
        assert_eq!(judge(&time, &mean(1.4, 0.0)).0, Verdict::Differs);
        assert_eq!(judge(&time, &mean(4.4, 0.0)).0, Verdict::Differs);
        assert_eq!(judge(&time, &mean(3.13, 0.0)).0, Verdict::Reproduced);
        let none = Interval { mean: 3.0, ci95: None, n: 1 };
        assert_eq!(judge(&time, &none), (Verdict::Reproduced, "-0.04, within 0.1".into()));
    }

    #[test]
    fn tolerances_are_shares_or_numbers() {
        #[derive(Deserialize)]
        struct Row {
            t: Tolerance,
        }
        let read =
            |text: &str| toml::from_str::<Row>(text).map(|row| row.t).map_err(|e| e.to_string());
        assert_eq!(read("t = \"2%\""), Ok(Tolerance::Percent(2.0)));
        assert_eq!(read("t = \"0.5 %\""), Ok(Tolerance::Percent(0.5)));
        assert_eq!(read("t = 3"), Ok(Tolerance::Absolute(3.0)));
        for wrong in ["t = \"2\"", "t = \"%\"", "t = -1", "t = nan", "t = \"-1%\"", "t = true"] {
            assert!(read(wrong).unwrap_err().contains("a share such as"), "{wrong}");
        }
    }
}
