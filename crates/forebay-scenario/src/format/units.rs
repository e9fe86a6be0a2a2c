//! Values of the format that are numbers, most of them with units, which
//! [`forebay_base::units`] reads and writes.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::Field;
use crate::format::item::{Item, Value};
use crate::format::unit_hints;
use forebay_base::units::{MAX_SPAN, Quantity, RATES, SIZES, TIMES, Units, Unread};
use forebay_base::{IpVersion, Rate, Span, units};
use forebay_metrics::{MetricDoc, Unit};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Longest propagation delay, and longest jitter, of a link.
pub(crate) const MAX_DELAY: Span = Span::from_secs(1_000);

const SHARE_EXPECTED: &str = "a share such as 0.9 or \"90%\"";
const ROOM_EXPECTED: &str = "a size such as \"10MB\" or a time such as \"8s\"";
const LIMIT_EXPECTED: &str =
    "a queue limit such as \"64kB\", \"100packets\", \"50ms\" or \"1.5BDP\"";

/// The number of a quantity without the unit, for messages.
fn number(read: &Quantity<'_>) -> f64 {
    read.digits as f64 / 10f64.powi(read.decimals as i32)
}

fn unit_problem(expected: &'static str, found: &str, units: &[&str]) -> (Problem, Option<String>) {
    let read = Quantity::read(found).ok();
    let unit = read.map(|q| q.unit).unwrap_or_default();
    let near = read.and_then(|read| unit_hints::hint(number(&read), unit, units)).or_else(|| {
        crate::format::fault::nearest(unit, units).map(|near| format!("did you mean `{near}`?"))
    });
    let why = match unit {
        "" => "without a unit".to_string(),
        _ => format!("with the unit `{unit}`"),
    };
    let hint = near.or_else(|| Some(format!("units: {}", units.join(", "))));
    (Problem::Unit { expected, found: found.to_string(), why }, hint)
}

/// Read a number with one of `units`, as a multiple of the smallest.
fn read_units(item: &Item, key: &str, units: Units) -> Result<u128, Fault> {
    let expected = units.expected;
    let fault = |problem| Fault::at(item.loc, key, problem);
    let text = match &item.value {
        Value::String(text) => text.clone(),
        Value::Integer(i) => i.to_string(),
        Value::Float(x) => x.to_string(),
        _ => return Err(item.expected(key, expected)),
    };
    let parsed = Quantity::read(&text).map_err(|why| unread(item, key, expected, &text, why))?;
    match units.factor(parsed.unit) {
        Some(factor) => Ok(parsed.scaled(factor)),
        None => {
            let names: Vec<&str> = units.names().collect();
            let (problem, hint) = unit_problem(expected, &text, &names);
            Err(Fault { hint, ..fault(problem) })
        }
    }
}

/// The value of a text with unit, in the unit that results have `metric` in; one without a unit
/// takes no text.
pub(crate) fn in_unit_of(metric: &MetricDoc, item: &Item, key: &str) -> Result<f64, Fault> {
    match metric.shown {
        Unit::Seconds => {
            let unit_ns = (metric.scale * 1e9).round();
            Span::read(item, key).map(|span| span.as_nanos() as f64 / unit_ns)
        }
        Unit::BitsPerSecond => read_units(item, key, RATES).map(|bps| bps as f64),
        Unit::Bytes => Bytes::read(item, key).map(|bytes| bytes.0 as f64),
        Unit::Share => percent(item, key),
        Unit::Plain | Unit::Count => Err(item.expected(key, "a number")),
    }
}

/// The share that a text such as "90%" says: the float that is nearest to it.
fn percent(item: &Item, key: &str) -> Result<f64, Fault> {
    let Value::String(text) = &item.value else {
        return Err(item.expected(key, SHARE_EXPECTED));
    };
    let read = Quantity::read(text).map_err(|why| unread(item, key, SHARE_EXPECTED, text, why))?;
    if read.unit == "%" {
        return Ok(read.digits as f64 / 10f64.powi(read.decimals as i32 + 2));
    }
    let (problem, hint) = unit_problem(SHARE_EXPECTED, text, &["%"]);
    Err(Fault { hint, ..Fault::at(item.loc, key, problem) })
}

fn unread(item: &Item, key: &str, expected: &'static str, text: &str, why: Unread) -> Fault {
    match why {
        Unread::NotANumber => item.expected(key, expected),
        Unread::Negative | Unread::TooLong => {
            let expected = expected.to_string();
            Fault::at(item.loc, key, Problem::OutOfRange { found: text.to_string(), expected })
        }
    }
}

pub(crate) fn range_fault(item: &Item, key: &str, expected: impl Into<String>) -> Fault {
    let found = match &item.value {
        Value::String(s) => s.clone(),
        Value::Integer(i) => i.to_string(),
        Value::Float(x) => decimal(*x),
        other => other.kind().to_string(),
    };
    Fault::at(item.loc, key, Problem::OutOfRange { found, expected: expected.into() })
}

/// A float as people write it: with an exponent where it would have many digits.
fn decimal(x: f64) -> String {
    if x == 0.0 || (1e-9..1e15).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

/// The schema of a type that serde reads.
fn schema_of<T: JsonSchema>() -> Json {
    T::json_schema(&mut SchemaGenerator::default()).to_value()
}

impl Field for Rate {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let range = "a rate from 1kbit/s to 400Gbit/s";
        let bps = read_units(item, key, RATES).map_err(|f| in_range(f, range))?;
        let rate = u64::try_from(bps).ok().and_then(Rate::new);
        rate.ok_or_else(|| range_fault(item, key, range))
    }
    fn write(&self) -> toml::Value {
        toml::Value::String(self.text())
    }
    fn schema() -> Json {
        schema_of::<Rate>()
    }
    fn stand_in() -> Option<Self> {
        Some(Rate::mbps(1000))
    }
}

impl Field for Span {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        // A delay of a link, as its keys say; its upper end is checked where the link is made.
        let range = match key.rsplit('.').next() {
            Some("delay" | "jitter") => "a time from 0s to 1000s",
            _ => "a time from 0s to 100 years",
        };
        let ns = read_units(item, key, TIMES).map_err(|f| in_range(f, range))?;
        let span = u64::try_from(ns).ok().map(Span::from_nanos).filter(|&s| s <= MAX_SPAN);
        span.ok_or_else(|| range_fault(item, key, range))
    }
    fn write(&self) -> toml::Value {
        toml::Value::String(self.text())
    }
    fn schema() -> Json {
        schema_of::<Span>()
    }
    fn stand_in() -> Option<Self> {
        Some(Span::from_millis(1))
    }
}

/// Say the whole range where a number is negative or too long.
fn in_range(mut fault: Fault, range: &str) -> Fault {
    if let Problem::OutOfRange { expected, .. } = fault.problem.as_mut() {
        *expected = range.to_string();
    }
    fault
}

/// A time given as a number of seconds, in keys that end in `_s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seconds(pub Span);

impl Field for Seconds {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let span = match item.value {
            Value::Integer(s) => {
                u64::try_from(s).ok().filter(|&s| s <= 3_155_760_000).map(Span::from_secs)
            }
            Value::Float(s) => (0.0..=3_155_760_000.0).contains(&s).then(|| Span::from_secs_f64(s)),
            _ => {
                let fault = item.expected(key, "a number of seconds");
                let hint = "keys that end in _s take seconds without a unit, such as 60 or 0.5";
                return Err(fault.hint(hint));
            }
        };
        let range = || range_fault(item, key, "0 to 3155760000 seconds (100 years)");
        span.map(Seconds).ok_or_else(range)
    }
    fn write(&self) -> toml::Value {
        let ns = self.0.as_nanos();
        match ns % 1_000_000_000 {
            0 => toml::Value::Integer((ns / 1_000_000_000) as i64),
            // The nearest float to the decimal, which is the one that was read; a product with 1e-9
            // need not be.
            _ => toml::Value::Float(ns as f64 / 1e9),
        }
    }
    fn schema() -> Json {
        json!({
            "title": "number of seconds", "type": "number", "minimum": 0,
            "maximum": 3_155_760_000u64
        })
    }
}

/// A number of bytes: an integer, or a string with a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Bytes(#[serde(with = "units::Bytes")] pub u64);

impl Field for Bytes {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let range = "0 to 18446744073709551615 bytes";
        let bytes = match item.value {
            Value::Integer(i) => u128::try_from(i).ok(),
            _ => Some(read_units(item, key, SIZES).map_err(|f| in_range(f, range))?),
        };
        let bytes = bytes.and_then(|b| u64::try_from(b).ok());
        bytes.map(Bytes).ok_or_else(|| range_fault(item, key, range))
    }
    fn write(&self) -> toml::Value {
        toml::Value::try_from(self).expect("an integer or a text")
    }
    fn schema() -> Json {
        schema_of::<units::Bytes>()
    }
    fn stand_in() -> Option<Self> {
        Some(Bytes(1))
    }
}

/// The limit of a queue, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenLimit {
    /// A number of bytes.
    Bytes(u64),
    /// A number of packets.
    Packets(u64),
    /// The bytes that the link transmits in this time.
    Time(Span),
    /// A multiple of rate x RTT, in millionths.
    Bdp { millionths: u64 },
}

impl Default for GivenLimit {
    fn default() -> Self {
        GivenLimit::Bytes(0)
    }
}

impl Field for GivenLimit {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::String(text) = &item.value else {
            return Err(item.expected(key, LIMIT_EXPECTED));
        };
        let q = Quantity::read(text).map_err(|why| unread(item, key, LIMIT_EXPECTED, text, why))?;
        let units = SIZES.names().chain(TIMES.names()).chain(["packets", "BDP"]);
        let range = || range_fault(item, key, "a queue of at most 2^63 bytes or 100 years");
        let small = |value: u128| u64::try_from(value).ok().filter(|&v| v < 1 << 63);
        if matches!(q.unit, "packets" | "packet") {
            return small(q.scaled(1)).map(GivenLimit::Packets).ok_or_else(range);
        }
        if matches!(q.unit, "BDP" | "bdp") {
            let millionths = small(q.scaled(1_000_000));
            return millionths.map(|millionths| GivenLimit::Bdp { millionths }).ok_or_else(range);
        }
        if let Some(factor) = SIZES.factor(q.unit) {
            return small(q.scaled(factor)).map(GivenLimit::Bytes).ok_or_else(range);
        }
        if let Some(factor) = TIMES.factor(q.unit) {
            let span = small(q.scaled(factor)).map(Span::from_nanos).filter(|&s| s <= MAX_SPAN);
            return span.map(GivenLimit::Time).ok_or_else(range);
        }
        let (problem, hint) = unit_problem(LIMIT_EXPECTED, text, &units.collect::<Vec<_>>());
        Err(Fault { hint, ..Fault::at(item.loc, key, problem) })
    }
    fn write(&self) -> toml::Value {
        match self {
            GivenLimit::Bytes(bytes) => toml::Value::String(format!("{bytes}B")),
            GivenLimit::Packets(packets) => toml::Value::String(format!("{packets}packets")),
            GivenLimit::Time(span) => span.write(),
            GivenLimit::Bdp { millionths } => {
                let (whole, rest) = (millionths / 1_000_000, millionths % 1_000_000);
                toml::Value::String(format!("{whole}.{rest:06}BDP"))
            }
        }
    }
    fn schema() -> Json {
        json!({
            "title": "queue limit", "type": "string",
            "examples": ["62500B", "100packets", "50ms", "1.5BDP"]
        })
    }
    fn stand_in() -> Option<Self> {
        Some(GivenLimit::Bytes(1 << 40))
    }
}

/// A volume of data: bytes, or what an interface sends in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// A number of bytes.
    Bytes(u64),
    /// The bytes that the interface transmits in this time.
    Time(Span),
}

impl Default for Room {
    fn default() -> Self {
        Room::Bytes(0)
    }
}

impl Field for Room {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let text = match &item.value {
            Value::String(text) => text,
            Value::Integer(_) => return Bytes::read(item, key).map(|bytes| Room::Bytes(bytes.0)),
            _ => return Err(item.expected(key, ROOM_EXPECTED)),
        };
        let unit =
            Quantity::read(text).map_err(|why| unread(item, key, ROOM_EXPECTED, text, why))?.unit;
        if TIMES.factor(unit).is_some() {
            return Span::read(item, key).map(Room::Time);
        }
        if SIZES.factor(unit).is_some() {
            return Bytes::read(item, key).map(|bytes| Room::Bytes(bytes.0));
        }
        let units: Vec<&str> = SIZES.names().chain(TIMES.names()).collect();
        let (problem, hint) = unit_problem(ROOM_EXPECTED, text, &units);
        Err(Fault { hint, ..Fault::at(item.loc, key, problem) })
    }
    fn write(&self) -> toml::Value {
        match self {
            Room::Bytes(bytes) => Bytes(*bytes).write(),
            Room::Time(span) => span.write(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [Bytes::schema(), Span::schema()] })
    }
}

/// A finite number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Number(pub f64);

impl Field for Number {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match item.value {
            Value::Integer(i) => Ok(Number(i as f64)),
            Value::Float(x) if x.is_finite() => Ok(Number(x)),
            _ => Err(item.expected(key, "a number")),
        }
    }
    fn write(&self) -> toml::Value {
        toml::Value::Float(self.0)
    }
    fn schema() -> Json {
        json!({ "type": "number" })
    }
}

/// A probability.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Probability(pub f64);

impl Field for Probability {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let p = match item.value {
            Value::Integer(i) => i as f64,
            Value::Float(p) => p,
            _ => return Err(item.expected(key, "a probability from 0.0 to 1.0")),
        };
        let inside = (0.0..=1.0).contains(&p);
        inside.then_some(Probability(p)).ok_or_else(|| range_fault(item, key, "0.0 to 1.0"))
    }
    fn write(&self) -> toml::Value {
        toml::Value::Float(self.0)
    }
    fn schema() -> Json {
        json!({ "title": "probability", "type": "number", "minimum": 0.0, "maximum": 1.0 })
    }
    fn stand_in() -> Option<Self> {
        Some(Probability(0.5)) // some have to be above 0
    }
}

macro_rules! integers {
    ($($int:ty),*) => { $(
        impl Field for $int {
            fn read(item: &Item, key: &str) -> Result<Self, Fault> {
                let Value::Integer(i) = item.value else {
                    return Err(item.expected(key, "an integer"));
                };
                let range = || format!("an integer from {} to {}", <$int>::MIN, <$int>::MAX);
                <$int>::try_from(i).map_err(|_| range_fault(item, key, range()))
            }
            fn write(&self) -> toml::Value {
                toml::Value::Integer(i64::from(*self))
            }
            fn schema() -> Json {
                json!({ "type": "integer", "minimum": <$int>::MIN, "maximum": <$int>::MAX })
            }
        }
    )* };
}
integers!(u8, u16, u32);

impl Field for bool {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match item.value {
            Value::Boolean(b) => Ok(b),
            _ => Err(item.expected(key, "true or false")),
        }
    }
    fn write(&self) -> toml::Value {
        toml::Value::Boolean(*self)
    }
    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
}

impl Field for String {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(s) => Ok(s.clone()),
            _ => Err(item.expected(key, "a string")),
        }
    }
    fn write(&self) -> toml::Value {
        toml::Value::String(self.clone())
    }
    fn schema() -> Json {
        json!({ "type": "string" })
    }
}

impl Field for IpVersion {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match item.value {
            Value::Integer(4) => Ok(IpVersion::V4),
            Value::Integer(6) => Ok(IpVersion::V6),
            Value::Integer(_) => Err(range_fault(item, key, "4 or 6")),
            _ => Err(item.expected(key, "4 or 6")),
        }
    }
    fn write(&self) -> toml::Value {
        toml::Value::Integer(match self {
            IpVersion::V4 => 4,
            IpVersion::V6 => 6,
        })
    }
    fn schema() -> Json {
        json!({ "enum": [4, 6] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::source::Loc;

    fn read<T: Field>(value: Value) -> Result<T, String> {
        let item = Item { value, loc: Loc::default() };
        T::read(&item, "k").map_err(|f| format!("{}", f.problem))
    }
    fn text<T: Field>(text: &str) -> Result<T, String> {
        read(Value::String(text.into()))
    }

    #[test]
    fn limits_of_queues_have_four_units() {
        assert_eq!(text::<GivenLimit>("2.5 MB"), Ok(GivenLimit::Bytes(2_500_000)));
        assert_eq!(text::<GivenLimit>("1.5BDP"), Ok(GivenLimit::Bdp { millionths: 1_500_000 }));
        assert_eq!(text::<GivenLimit>("50ms"), Ok(GivenLimit::Time(Span::from_millis(50))));
        assert_eq!(text::<GivenLimit>("1_000 packets"), Ok(GivenLimit::Packets(1_000)));
    }

    #[test]
    fn seconds_are_written_in_decimal() {
        for (given, shown) in
            [(1e-7, "0.0000001"), (30.5, "30.5"), (0.3, "0.3"), (12.000_000_7, "12.0000007")]
        {
            let seconds = read::<Seconds>(Value::Float(given)).unwrap();
            assert_eq!(crate::format::fields::shown(&seconds), shown);
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_not_wrapped() {
        assert_eq!(read::<Bytes>(Value::Integer(u64::MAX.into())), Ok(Bytes(u64::MAX)));
        assert!(read::<Bytes>(Value::Integer(i128::from(u64::MAX) + 1)).is_err());
        assert!(read::<Seconds>(Value::Float(f64::NAN)).is_err());
        assert!(read::<Probability>(Value::Float(f64::NAN)).is_err());
        assert!(read::<u16>(Value::Integer(65_536)).is_err());
    }
}
