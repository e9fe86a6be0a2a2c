//! The values of a swept key: a list, or a range such as `10ms..1s log 9`.
//!
//! A range has its ends and its number of values, of equal distances or, after `log`, of equal
//! ratios. Ends without decimals give integers (of a unit: of its smallest), others give numbers
//! with decimals.

use crate::format::fault::{Fault, Problem};
use crate::format::item::{Item, Value};
use crate::format::set;
use crate::format::source::Loc;
use forebay_base::units::{Quantity, RATES, SIZES, TIMES, Units};

/// Most values of one key.
pub(crate) const MAX_VALUES: usize = 100_000;

/// What belongs where the values of a key do.
pub(crate) const EXPECTED: &str =
    "values such as [1, 2] or a range such as \"10ms..1s log 9\" or \"1..9 5\"";

/// Units of queues and shares, whose numbers stay as they are.
const PLAIN_UNITS: [&str; 3] = ["packets", "BDP", "%"];

/// The values in an argument after `KEY=`, which stands at `loc`: separated by commas outside of
/// quotes and brackets, or a range.
pub(crate) fn of_argument(text: &str, loc: Loc) -> Result<Vec<Item>, Fault> {
    let parts = at_commas(text);
    if let [(_, only)] = parts[..]
        && looks_like_range(only)
    {
        return range(only.trim(), loc);
    }
    let whole = text.trim();
    let values = parts.into_iter().map(|(start, part)| {
        let start = loc.start + start as u32;
        let place = Loc { start, end: start + part.len() as u32, ..loc };
        match part.trim() {
            "" => Err(wrong(whole, loc)),
            part => Ok(set::value(part, place)),
        }
    });
    values.collect()
}

/// The values in a scenario: an array, or a text with a range.
pub(crate) fn of_item(item: &Item, key: &str) -> Result<Vec<Item>, Fault> {
    match &item.value {
        Value::Array(items) if items.is_empty() => {
            let expected = "at least one value".to_string();
            let problem = Problem::OutOfRange { found: "[]".into(), expected };
            Err(Fault::at(item.loc, key, problem))
        }
        Value::Array(items) => Ok(items.clone()),
        Value::String(text) => {
            range(text.trim(), item.loc).map_err(|fault| Fault { key: key.into(), ..fault })
        }
        _ => Err(item.expected(key, EXPECTED)),
    }
}

/// The parts between commas, each with its start.
fn at_commas(text: &str) -> Vec<(usize, &str)> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut quoted, mut depth) = (false, 0usize);
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                parts.push((start, &text[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push((start, &text[start..]));
    parts
}

/// True of `1..2 3`, but not of `../file`.
fn looks_like_range(text: &str) -> bool {
    let first = text.trim().trim_start_matches(['-', '+', '"']);
    first.starts_with(|c: char| c.is_ascii_digit()) && first.contains("..")
}

fn wrong(text: &str, loc: Loc) -> Fault {
    let found = format!("`{text}`");
    Fault::at(loc, "", Problem::WrongType { expected: EXPECTED.into(), found })
}

/// The values of a range.
fn range(text: &str, loc: Loc) -> Result<Vec<Item>, Fault> {
    let parsed = parse(text.trim_matches('"')).ok_or_else(|| wrong(text, loc))?;
    let Range { ends, log, count } = parsed;
    let out_of_range = |expected: &str| {
        let problem = Problem::OutOfRange { found: text.into(), expected: expected.into() };
        Err(Fault::at(loc, "", problem))
    };
    if !(2..=MAX_VALUES).contains(&count) {
        return out_of_range(&format!("a range of 2 to {MAX_VALUES} values"));
    }
    if ends.from >= ends.to {
        return out_of_range("a range from a smaller to a larger value");
    }
    if log && ends.from <= 0.0 {
        return out_of_range("a range that begins above 0, as `log` needs equal ratios");
    }
    let values: Vec<Value> =
        (0..count).map(|i| ends.value(between(&ends, log, i, count))).collect();
    let mut texts: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
    texts.dedup();
    if texts.len() < count {
        let fault = out_of_range("fewer values, as integers between its ends");
        let hint = "ends with decimals, such as 0.0..1.0, give numbers with decimals";
        return fault.map_err(|fault| fault.hint(hint));
    }
    Ok(values.into_iter().map(|value| Item { value, loc }).collect())
}

/// Value `i` of `count`; both ends are exact.
fn between(ends: &Ends<'_>, log: bool, i: usize, count: usize) -> f64 {
    let share = i as f64 / (count - 1) as f64;
    match (i, log) {
        (0, _) => ends.from,
        (i, _) if i == count - 1 => ends.to,
        (_, true) => ends.from * libm::pow(ends.to / ends.from, share),
        (_, false) => ends.from + (ends.to - ends.from) * share,
    }
}

struct Range<'a> {
    ends: Ends<'a>,
    log: bool,
    count: usize,
}

struct Ends<'a> {
    from: f64,
    to: f64,
    unit: UnitOf<'a>,
    decimals: bool,
}

#[derive(Clone, Copy)]
enum UnitOf<'a> {
    None,
    /// In the smallest of these.
    Of(Units),
    Plain(&'a str),
}

fn parse(text: &str) -> Option<Range<'_>> {
    let (from, rest) = text.split_once("..")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (to, log, count) = match words[..] {
        [to, "log", count] => (to, true, count),
        [to, "linear", count] | [to, count] => (to, false, count),
        _ => return None,
    };
    Some(Range { ends: ends(from.trim(), to)?, log, count: count.parse().ok()? })
}

fn ends<'a>(from: &'a str, to: &'a str) -> Option<Ends<'a>> {
    let decimals = from.contains('.') || to.contains('.');
    if let (Ok(from), Ok(to)) = (from.parse::<f64>(), to.parse::<f64>()) {
        let finite = from.is_finite() && to.is_finite();
        let decimals = decimals || [from, to].iter().any(|end| end.fract() != 0.0);
        return finite.then_some(Ends { from, to, unit: UnitOf::None, decimals });
    }
    let [low, high] = [Quantity::read(from).ok()?, Quantity::read(to).ok()?];
    for units in [TIMES, RATES, SIZES] {
        if let (Some(a), Some(b)) = (units.factor(low.unit), units.factor(high.unit)) {
            let [from, to] = [low.scaled(a) as f64, high.scaled(b) as f64];
            return Some(Ends { from, to, unit: UnitOf::Of(units), decimals: false });
        }
    }
    let plain = low.unit == high.unit && PLAIN_UNITS.contains(&low.unit);
    let [from, to] = [number(&low), number(&high)];
    plain.then_some(Ends { from, to, unit: UnitOf::Plain(low.unit), decimals })
}

/// The number of a quantity in its unit.
fn number(of: &Quantity<'_>) -> f64 {
    of.digits as f64 / libm::pow(10.0, f64::from(of.decimals))
}

impl Ends<'_> {
    fn value(&self, x: f64) -> Value {
        match self.unit {
            UnitOf::None if self.decimals => Value::Float(x),
            UnitOf::None => Value::Integer(libm::round(x) as i128),
            UnitOf::Of(units) => Value::String(units.text(libm::round(x) as u128)),
            UnitOf::Plain(unit) if self.decimals => Value::String(format!("{x}{unit}")),
            UnitOf::Plain(unit) => Value::String(format!("{}{unit}", libm::round(x))),
        }
    }
}

/// A text as a number in a basic unit: s, bit/s, B, packets, BDP, or none (shares).
pub(crate) fn in_basic_unit(text: &str) -> Option<(f64, &'static str)> {
    let read = Quantity::read(text).ok()?;
    let of = |units: Units, per: f64| Some(read.scaled(units.factor(read.unit)?) as f64 / per);
    let known = of(TIMES, 1e9).map(|s| (s, "s"));
    let known = known.or_else(|| of(RATES, 1.0).map(|bps| (bps, "bit/s")));
    known.or_else(|| of(SIZES, 1.0).map(|bytes| (bytes, "B"))).or(match read.unit {
        "packets" | "packet" => Some((number(&read), "packets")),
        "BDP" | "bdp" => Some((number(&read), "BDP")),
        "%" => Some((number(&read) / 100.0, "")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(argument: &str) -> Result<Vec<String>, String> {
        let loc = Loc::default();
        let shown = |item: Item| match item.value {
            Value::String(text) => text,
            value => format!("{value:?}"),
        };
        let values = of_argument(argument, loc).map(|items| items.into_iter().map(shown).collect());
        values.map_err(|fault| fault.problem.to_string())
    }

    #[test]
    fn a_list_is_cut_at_commas_outside_of_brackets_and_quotes() {
        assert_eq!(texts("10ms, 1s").unwrap(), ["10ms", "1s"]);
        assert_eq!(texts("\"a,b\",c").unwrap(), ["a,b", "c"]);
        assert_eq!(texts("1,2").unwrap(), ["Integer(1)", "Integer(2)"]);
        assert_eq!(texts("[1,2],[3]").unwrap().len(), 2);
        assert_eq!(texts("{ limit = \"1BDP\", rtt = \"40ms\" },50ms").unwrap().len(), 2);
        assert_eq!(texts("../a.trace").unwrap(), ["../a.trace"]);
        for empty in ["", "1,,2", "1,"] {
            assert!(texts(empty).unwrap_err().starts_with("expected values such as"), "{empty}");
        }
    }

    #[test]
    fn ranges_have_equal_distances_or_equal_ratios() {
        assert_eq!(texts("10ms..1s log 3").unwrap(), ["10ms", "100ms", "1s"]);
        assert_eq!(
            texts("1Mbit/s..4Mbit/s 4").unwrap(),
            ["1Mbit/s", "2Mbit/s", "3Mbit/s", "4Mbit/s"]
        );
        assert_eq!(texts("1kB..1MB linear 2").unwrap(), ["1kB", "1MB"]);
        assert_eq!(
            texts("1packets..100packets log 3").unwrap(),
            ["1packets", "10packets", "100packets"]
        );
        assert_eq!(texts("0.5BDP..1.5BDP 3").unwrap(), ["0.5BDP", "1BDP", "1.5BDP"]);
        assert_eq!(texts("1..3 3").unwrap(), ["Integer(1)", "Integer(2)", "Integer(3)"]);
        assert_eq!(texts("0.0..1 3").unwrap(), ["Float(0.0)", "Float(0.5)", "Float(1.0)"]);
        assert_eq!(texts("-1..1 3").unwrap(), ["Integer(-1)", "Integer(0)", "Integer(1)"]);
        assert_eq!(texts("10ms..1s log 9").unwrap()[1], "17782794ns");
    }

    #[test]
    fn an_empty_range_and_one_that_is_none_are_faults() {
        for (range, expected) in [
            ("1s..10ms log 9", "from a smaller to a larger value"),
            ("1s..1s 2", "from a smaller to a larger value"),
            ("1..9 0", "2 to 100000 values"),
            ("1..9 1", "2 to 100000 values"),
            ("1..10000000 10000000", "2 to 100000 values"),
            ("0s..1s log 3", "begins above 0"),
            ("0..1 5", "fewer values"),
            ("1..2 log", "expected values such as"),
            ("1ms..2kB 3", "expected values such as"),
            ("1..2", "expected values such as"),
        ] {
            let said = texts(range).unwrap_err();
            assert!(said.contains(expected), "{range}: {said}");
        }
    }

    #[test]
    fn values_with_units_are_numbers_in_basic_units() {
        assert_eq!(in_basic_unit("10ms"), Some((0.01, "s")));
        assert_eq!(in_basic_unit("20Mbit/s"), Some((2e7, "bit/s")));
        assert_eq!(in_basic_unit("64kB"), Some((64_000.0, "B")));
        assert_eq!(in_basic_unit("1.5BDP"), Some((1.5, "BDP")));
        assert_eq!(in_basic_unit("90%"), Some((0.9, "")));
        assert_eq!((in_basic_unit("4G.trace"), in_basic_unit("cubic")), (None, None));
    }
}
