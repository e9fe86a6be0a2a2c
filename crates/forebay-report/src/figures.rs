//! Numbers as a person reads them.

use forebay_metrics::statistics::Interval;

/// An SI prefix and what it stands for; the one in which `value` is at least 1.
pub(super) fn prefix(value: f64) -> (&'static str, f64) {
    let value = value.abs();
    let known = [("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)];
    known.into_iter().find(|&(_, scale)| value >= scale).unwrap_or(("", 1.0))
}

/// The same for seconds, which have small prefixes.
pub(super) fn second_prefix(value_s: f64) -> (&'static str, f64) {
    match value_s.abs() {
        s if s >= 1.0 || s == 0.0 => ("", 1.0),
        s if s >= 1e-3 => ("m", 1e-3),
        _ => ("µ", 1e-6),
    }
}

/// A mean and half of its interval: the half to two digits and the mean to the same place, but the
/// mean to four digits at most; a mean alone to four digits.
pub(super) fn figure(mean: f64, half: Option<f64>) -> String {
    match half {
        Some(half) if half > 0.0 => {
            let digits = decimals(half, 2).min(decimals(mean, 4));
            format!("{mean:.digits$} ± {half:.digits$}")
        }
        _ => four_digits(mean),
    }
}

/// Means with their intervals, over `scale`: "mean ± half" if all intervals are nearly symmetric,
/// else "mean [low, high]". Differences have a sign.
pub(super) fn intervals(values: &[Option<Interval>], scale: f64, signed: bool) -> Vec<String> {
    let wide = |of: &Interval| of.half().is_some_and(|half| half > 0.0);
    let mut all = values.iter().flatten().filter(|of| wide(of));
    let symmetric = all.all(|of| of.symmetric_half().is_some());
    let text = |of: &Interval| {
        let sign = if signed && of.mean > 0.0 { "+" } else { "" };
        let of = of.times(1.0 / scale);
        match of.ci95.filter(|_| !symmetric && wide(&of)) {
            None => format!("{sign}{}", figure(of.mean, of.half())),
            Some([low, high]) => {
                // Three digits of each, and as many as tell the nearer end from the mean.
                let part = (of.mean - low).min(high - of.mean);
                let apart = decimals(part, 1).min(decimals(of.mean, 5));
                let digits = |value: f64| format!("{value:.*}", decimals(value, 3).max(apart));
                format!("{sign}{} [{}, {}]", digits(of.mean), digits(low), digits(high))
            }
        }
    };
    values.iter().map(|value| value.as_ref().map_or("–".to_string(), text)).collect()
}

/// Four digits, or as many as the whole part has.
pub(super) fn four_digits(value: f64) -> String {
    if value == value.round() && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    format!("{value:.*}", decimals(value, 4))
}

/// Digits after the point that show `digits` digits of `value`.
fn decimals(value: f64, digits: i32) -> usize {
    if value == 0.0 {
        return 0;
    }
    let magnitude = value.abs().log10().floor() as i32;
    (digits - 1 - magnitude).clamp(0, 12) as usize
}

/// Numbers as the command line takes them: one range, or a list.
pub(super) fn ranges(seeds: &[u64]) -> String {
    let in_order = seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    match seeds {
        [first, .., last] if in_order => format!("{first}..{last}"),
        _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_mean_something() {
        assert_eq!(figure(22.4716, Some(0.1234)), "22.47 ± 0.12");
        assert_eq!(figure(1523.4, Some(35.2)), "1523 ± 35");
        assert_eq!(figure(21.660_04, Some(0.000_68)), "21.66 ± 0.00");
        assert_eq!(figure(0.0, Some(0.0)), "0");
        assert_eq!(figure(0.990_21, None), "0.9902");
        assert_eq!(figure(3.0, Some(0.0)), "3");
        assert_eq!(
            (four_digits(12.3456), four_digits(0.0), four_digits(87_654.3)),
            ("12.35".into(), "0".into(), "87654".into())
        );
    }

    #[test]
    fn intervals_show_their_ends_where_they_reach_further_up() {
        let of = |mean, low, high| Some(Interval { mean, ci95: Some([low, high]), n: 5 });
        let alike = [of(0.02, 0.019, 0.021), None, of(0.01, 0.01, 0.01)];
        assert_eq!(intervals(&alike, 1e-3, false), ["20.0 ± 1.0", "–", "10"]);
        assert_eq!(intervals(&alike[..1], 1e-3, true), ["+20.0 ± 1.0"]);
        let wide = [of(0.089, 0.012, 0.664), of(0.02, 0.019, 0.021)];
        assert_eq!(intervals(&wide, 1e-3, false), ["89.0 [12.0, 664]", "20.0 [19.0, 21.0]"]);
        let near = [of(100.291, 100.22, 100.45)];
        assert_eq!(intervals(&near, 1.0, false), ["100.29 [100.22, 100.45]"]);
    }

    #[test]
    fn prefixes() {
        assert_eq!(
            (prefix(9.9e6), prefix(999.0), prefix(1e12)),
            (("M", 1e6), ("", 1.0), ("T", 1e12))
        );
        assert_eq!(
            (second_prefix(0.05), second_prefix(2.0), second_prefix(2e-5)),
            (("m", 1e-3), ("", 1.0), ("µ", 1e-6))
        );
    }

    #[test]
    fn seeds_are_written_as_the_command_line_takes_them() {
        assert_eq!(ranges(&[1, 2, 3]), "1..3");
        assert_eq!((ranges(&[7]), ranges(&[1, 5])), ("7".to_string(), "1, 5".to_string()));
    }
}
