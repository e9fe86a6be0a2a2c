//! Is ours what was published?

use forebay_scenario::statistics::Interval;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of comparing a measured value with a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The mean is within the tolerance of the published value, or on the side of it that the
    /// source claims.
    Reproduced,
    /// It is not, but on the better side, under a protocol that the source proposes.
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

/// An order that a source claims, of ours and a published value or one that stands for its words.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Ours is above the value.
    Above,
    /// Ours is below it.
    Below,
}

impl Claim {
    /// The sign of the order.
    pub const fn sign(self) -> &'static str {
        match self {
            Claim::Above => ">",
            Claim::Below => "<",
        }
    }
}

/// A published value: one number, or the least, the median and the most of repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Published {
    pub value: f64,
    /// Least and most of the repetitions, if there are several.
    pub range: Option<[f64; 2]>,
}

impl<'de> Deserialize<'de> for Published {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Published, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Published;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or [least, median, most] in ascending order")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Published, E> {
                if value.is_finite() {
                    Ok(Published { value, range: None })
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(value), &self))
                }
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Published, E> {
                self.visit_f64(value as f64)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Published, A::Error> {
                let mut values = Vec::new();
                while let Some(Published { value, range: None }) = seq.next_element()? {
                    values.push(value);
                }
                match values[..] {
                    [least, value, most] if least <= value && value <= most => {
                        Ok(Published { value, range: Some([least, most]) })
                    }
                    _ => Err(de::Error::invalid_value(de::Unexpected::Seq, &self)),
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// How far from a published value is the same: `"2%"` of that value, `"factor 1.5"` either way, or
/// a number in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tolerance {
    Percent(f64),
    Factor(f64),
    Absolute(f64),
}

impl Tolerance {
    /// The least and the most that is the same as `value`.
    fn around(self, value: f64) -> [f64; 2] {
        match self {
            Tolerance::Percent(percent) => {
                let reach = percent / 100.0 * value.abs();
                [value - reach, value + reach]
            }
            Tolerance::Factor(factor) => [value / factor, value * factor],
            Tolerance::Absolute(by) => [value - by, value + by],
        }
    }

    /// Errors with why it says nothing of that value.
    pub fn check(self, published: &Published) -> Result<(), String> {
        match self {
            Tolerance::Percent(_) if published.value == 0.0 => {
                Err("a share of 0 is 0: give the tolerance as a number".to_string())
            }
            Tolerance::Factor(_) if published.value <= 0.0 => {
                Err("a factor needs a value above 0: give the tolerance as a number".to_string())
            }
            _ => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tolerance, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Tolerance;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a share such as \"2%\", a factor such as \"factor 1.5\", \
                     or a number in the unit of the row",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Tolerance, E> {
                let number = |text: &str| {
                    let number: Option<f64> = text.trim().parse().ok();
                    number.filter(|number| number.is_finite())
                };
                let share = text.strip_suffix('%').and_then(number);
                let share = share.filter(|&share| share >= 0.0).map(Tolerance::Percent);
                let factor = text.strip_prefix("factor ").and_then(number);
                let factor = factor.filter(|&factor| factor >= 1.0).map(Tolerance::Factor);
                share.or(factor).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
            fn visit_f64<E: de::Error>(self, by: f64) -> Result<Tolerance, E> {
                if by.is_finite() && by >= 0.0 {
                    Ok(Tolerance::Absolute(by))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(by), &self))
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
            Tolerance::Factor(factor) => write!(f, "a factor of {factor}"),
            Tolerance::Absolute(by) => write!(f, "{by}"),
        }
    }
}

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    /// A value.
    Value(Value),
    /// That ours is above or below this.
    Order(Claim, f64),
}

/// A value that was published, and what counts as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    pub published: Published,
    pub tolerance: Tolerance,
    /// Of a value for which one side is better.
    pub better: Option<Side>,
}

/// The verdict on a mean with its interval, and the arithmetic in words. The mean decides; where
/// the interval crosses the edge, the words say so.
pub(super) fn judge(target: &Target, measured: &Interval) -> (Verdict, String) {
    match target {
        Target::Value(value) => judge_value(value, measured),
        Target::Order(claim, bound) => judge_order(*claim, *bound, measured),
    }
}

/// Equal is neither above nor below.
fn judge_order(claim: Claim, bound: f64, measured: &Interval) -> (Verdict, String) {
    let holds = |x: f64| match claim {
        Claim::Above => x > bound,
        Claim::Below => x < bound,
    };
    let verdict = if holds(measured.mean) { Verdict::Reproduced } else { Verdict::Differs };
    let name = match (measured.mean > bound, measured.mean < bound) {
        (true, _) => "above",
        (_, true) => "below",
        _ => "equal to",
    };
    let [low, high] = measured.ci95.unwrap_or([measured.mean; 2]);
    let clear = holds(low) == holds(high);
    let end = if clear { "" } else { "; the CI has both sides" };
    (verdict, format!("{name} {bound}{end}"))
}

/// What a repetition of the published measurement gave is within the tolerance.
fn judge_value(target: &Value, measured: &Interval) -> (Verdict, String) {
    let Value { published: Published { value, range }, tolerance, better } = *target;
    let [least, most] = range.unwrap_or([value; 2]);
    let [near, far] = tolerance.around(value);
    let [low_edge, high_edge] = [near.min(least), far.max(most)];
    // Decimal values and their difference are not exact in binary.
    let slack = (high_edge - low_edge) * 1e-9;
    let within = |x: f64, [low, high]: [f64; 2]| low - slack <= x && x <= high + slack;
    let inside = |x: f64| within(x, [low_edge, high_edge]);
    let off = measured.mean - value;
    let verdict = match (inside(measured.mean), better) {
        (true, _) => Verdict::Reproduced,
        (false, Some(Side::Lower)) if off < 0.0 => Verdict::Better,
        (false, Some(Side::Higher)) if off > 0.0 => Verdict::Better,
        (false, _) => Verdict::Differs,
    };
    let place = if within(measured.mean, [near, far]) { "within" } else { "outside" };
    let mut words = match tolerance {
        Tolerance::Percent(_) => {
            format!("{:+.1} %, {place} {tolerance}", off / value.abs() * 100.0)
        }
        Tolerance::Factor(_) => format!("{:.2} times, {place} {tolerance}", measured.mean / value),
        Tolerance::Absolute(by) if by > 0.0 => format!("{}, {place} {tolerance}", signed(off, by)),
        Tolerance::Absolute(_) if off == 0.0 => "equal".to_string(),
        Tolerance::Absolute(_) => format!("{off:+.1}, must be equal"),
    };
    if verdict == Verdict::Reproduced && place == "outside" {
        words.push_str(", as in a repetition");
    }
    let [low, high] = measured.ci95.unwrap_or([measured.mean; 2]);
    let all_inside = inside(low) && inside(high);
    let apart = low > high_edge || high < low_edge;
    match verdict {
        Verdict::Reproduced if !all_inside => {
            words.push_str("; the CI extends outside the tolerance")
        }
        Verdict::Better | Verdict::Differs if !apart => {
            words.push_str("; the CI overlaps the tolerance");
        }
        _ => {}
    }
    (verdict, words)
}

/// A difference with its sign and two digits of the tolerance, which is above 0.
fn signed(off: f64, reach: f64) -> String {
    let places = (1.0 - reach.log10().floor()).clamp(0.0, 6.0);
    format!("{off:+.*}", places as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(value: f64, tolerance: Tolerance, better: Option<Side>) -> Target {
        Target::Value(Value { published: Published { value, range: None }, tolerance, better })
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
        assert!(of(10.7, 0.1).1.ends_with("the CI extends outside the tolerance"));
        let (verdict, words) = of(10.8, 0.2);
        assert_eq!(verdict, Verdict::Differs);
        assert!(words.ends_with("the CI overlaps the tolerance"), "{words}");
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
        assert_eq!(read("t = \"factor 1.5\""), Ok(Tolerance::Factor(1.5)));
        for wrong in ["\"2\"", "\"%\"", "-1", "nan", "\"-1%\"", "true", "\"factor 0.5\"", "\"x 2\""]
        {
            let error = read(&format!("t = {wrong}")).unwrap_err();
            assert!(error.contains("a share such as"), "{wrong}: {error}");
        }
    }

    /// Drops of 15, in three repetitions 14 to 52: a factor of 1.5 is 10 to 22.5.
    #[test]
    fn a_factor_reaches_both_ways_and_a_repetition_is_within() {
        let drops = |range| {
            let published = Published { value: 15.0, range };
            Target::Value(Value { published, tolerance: Tolerance::Factor(1.5), better: None })
        };
        let of = |range, m| judge(&drops(range), &mean(m, 0.0));
        let (verdict, words) = of(None, 22.5);
        assert_eq!(
            (verdict, words.as_str()),
            (Verdict::Reproduced, "1.50 times, within a factor of 1.5")
        );
        assert_eq!(of(None, 10.0).0, Verdict::Reproduced);
        assert_eq!((of(None, 9.9).0, of(None, 22.6).0), (Verdict::Differs, Verdict::Differs));
        let spread = Some([14.0, 52.0]);
        let (verdict, words) = of(spread, 45.0);
        assert_eq!(verdict, Verdict::Reproduced);
        assert_eq!(words, "3.00 times, outside a factor of 1.5, as in a repetition");
        assert_eq!(
            (of(spread, 10.0).0, of(spread, 52.1).0),
            (Verdict::Reproduced, Verdict::Differs)
        );
    }

    /// No side of an order is better than claimed: far above is as claimed, below contradicts.
    #[test]
    fn an_order_is_as_claimed_or_not() {
        let above = |m, half| judge(&Target::Order(Claim::Above, 1.0), &mean(m, half));
        assert_eq!(above(1.2, 0.1), (Verdict::Reproduced, "above 1".into()));
        assert_eq!(above(9.0, 0.1).0, Verdict::Reproduced);
        let both = "above 1; the CI has both sides";
        assert_eq!(above(1.2, 0.3), (Verdict::Reproduced, both.into()));
        assert_eq!(above(1.0, 0.0), (Verdict::Differs, "equal to 1".into()));
        assert_eq!(above(0.9, 0.05), (Verdict::Differs, "below 1".into()));
        let below = |m| judge(&Target::Order(Claim::Below, -0.5), &mean(m, 0.0));
        assert_eq!(below(-0.62), (Verdict::Reproduced, "below -0.5".into()));
        assert_eq!(below(-0.02), (Verdict::Differs, "above -0.5".into()));
    }

    #[test]
    fn a_count_that_must_be_equal() {
        let none = target(0.0, Tolerance::Absolute(0.0), None);
        assert_eq!(judge(&none, &mean(0.0, 0.0)), (Verdict::Reproduced, "equal".into()));
        let (verdict, words) = judge(&none, &mean(0.2, 0.0));
        assert_eq!((verdict, words.as_str()), (Verdict::Differs, "+0.2, must be equal"));
    }

    #[test]
    fn published_values_are_numbers_or_ascending_threes() {
        #[derive(Deserialize)]
        struct Row {
            p: Published,
        }
        let read =
            |text: &str| toml::from_str::<Row>(text).map(|row| row.p).map_err(|e| e.to_string());
        assert_eq!(read("p = 10.5"), Ok(Published { value: 10.5, range: None }));
        assert_eq!(
            read("p = [14, 15, 52]"),
            Ok(Published { value: 15.0, range: Some([14.0, 52.0]) })
        );
        for wrong in ["[1, 2]", "[2, 1, 3]", "[1, 2, 3, 4]", "inf", "\"1\"", "[[1, 2, 3], 1, 2]"] {
            let error = read(&format!("p = {wrong}")).unwrap_err();
            assert!(error.contains("[least, median, most]"), "{wrong}: {error}");
        }
    }
}
