//! Numbers with units, as people write them in scenarios: `10Mbit/s`, `5ms`, `2.5 MB`. Decimal
//! fractions are exact. [`Rate`] and [`Span`] are read and written so by serde, and a number of
//! bytes with `#[serde(with = "Bytes")]`.

use crate::rate::Rate;
use crate::time::Span;
use alloc::format;
use alloc::string::String;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// Longest time that can be written: 100 years of 365.25 days.
pub const MAX_SPAN: Span = Span::from_secs(3_155_760_000);

/// The units of one kind of number.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// What belongs where such a number does, for messages.
    pub expected: &'static str,
    /// Each spelling with its factor. The first spelling of a factor is the one that is written.
    pub spellings: &'static [(&'static str, u128)],
    /// How many of them are written; the others are only read.
    written: usize,
}

/// Units of data rates, as multiples of 1 bit/s.
pub const RATES: Units = Units {
    expected: "a rate such as \"10Mbit/s\"",
    spellings: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
    ],
    written: 4,
};
/// Units of time, as multiples of 1 ns. Minutes are read, not written: 60s says the same.
pub const TIMES: Units = Units {
    expected: "a time such as \"5ms\"",
    spellings: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("µs", 1_000),
        ("min", 60_000_000_000),
    ],
    written: 4,
};
/// Units of data, as multiples of 1 byte.
pub const SIZES: Units = Units {
    expected: "a size such as 10000 or \"10kB\"",
    spellings: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    written: 4,
};

impl Units {
    /// Their spellings.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.spellings.iter().map(|unit| unit.0)
    }
    /// What one of this unit is; None if it is not among them.
    pub fn factor(&self, unit: &str) -> Option<u128> {
        self.spellings.iter().find(|known| known.0 == unit).map(|known| known.1)
    }
    /// `value` in the largest unit that divides it.
    pub fn text(&self, value: u128) -> String {
        let fits = self.spellings[..self.written].iter().filter(|u| value.is_multiple_of(u.1));
        let (name, factor) = fits.max_by_key(|u| u.1).expect("one unit has the factor 1");
        format!("{}{name}", value / factor)
    }
    /// A regular expression of what is read.
    pub fn pattern(&self) -> String {
        let mut names = String::new();
        for name in self.names() {
            names.extend(if names.is_empty() { ["", name] } else { ["|", name] });
        }
        format!("^\\s*[0-9][0-9_]*(\\.[0-9_]+)?\\s*({names})\\s*$")
    }
    /// The number in a text as a multiple of the smallest unit; None if it is none of this kind.
    fn read(&self, text: &str) -> Option<u128> {
        let read = Quantity::read(text).ok()?;
        self.factor(read.unit).map(|factor| read.scaled(factor))
    }
}

/// A decimal number as an integer and the number of its digits after the point, and the unit that
/// follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity<'a> {
    /// All digits.
    pub digits: u128,
    /// How many of them follow the point.
    pub decimals: u32,
    /// The unit as it is written; empty if there is none.
    pub unit: &'a str,
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The number is negative.
    Negative,
    /// It does not begin with a number.
    NotANumber,
    /// The number has more than 27 digits.
    TooLong,
}

impl<'a> Quantity<'a> {
    /// The quantity that a text says. Digits may be grouped with `_`.
    pub fn read(text: &'a str) -> Result<Quantity<'a>, Unread> {
        let text = text.trim();
        if text.starts_with('-') {
            return Err(Unread::Negative);
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let plain: String = number.chars().filter(|&c| c != '_').collect();
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
            return Err(Unread::NotANumber);
        }
        // 27 digits times the largest factor (6 x 10^10) stay within 128 bits.
        if whole.len() + fraction.len() > 27 {
            return Err(Unread::TooLong);
        }
        let digits = format!("{whole}{fraction}").parse().map_err(|_| Unread::NotANumber)?;
        Ok(Quantity { digits, decimals: fraction.len() as u32, unit: unit.trim_start() })
    }
    /// Its value times `factor`, to the nearest integer.
    pub fn scaled(&self, factor: u128) -> u128 {
        let divisor = 10u128.pow(self.decimals);
        (self.digits * factor + divisor / 2) / divisor
    }
}

impl Span {
    /// As scenarios have it: "5ms".
    pub fn text(self) -> String {
        TIMES.text(self.as_nanos().into())
    }
}

impl Rate {
    /// As scenarios have it: "10Mbit/s".
    pub fn text(self) -> String {
        RATES.text(self.bps().into())
    }
}

/// Reads a text with a unit, or an integer where one may stand alone.
struct Reader<T> {
    units: Units,
    value: fn(u128) -> Option<T>,
    bare: bool,
}

impl<T> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.units.expected)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let value = self.units.read(text).and_then(self.value);
        value.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
    fn visit_u64<E: Error>(self, bare: u64) -> Result<T, E> {
        let value = Some(bare.into()).filter(|_| self.bare).and_then(self.value);
        value.ok_or_else(|| E::invalid_type(Unexpected::Unsigned(bare), &self))
    }
    fn visit_i64<E: Error>(self, bare: i64) -> Result<T, E> {
        match u64::try_from(bare) {
            Ok(bare) => self.visit_u64(bare),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(bare), &self)),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        let value = |ns| {
            let span = u64::try_from(ns).ok().map(Span::from_nanos);
            span.filter(|&span| span <= MAX_SPAN)
        };
        deserializer.deserialize_str(Reader { units: TIMES, value, bare: false })
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        let value = |bps| u64::try_from(bps).ok().and_then(Rate::new);
        deserializer.deserialize_str(Reader { units: RATES, value, bare: false })
    }
}

/// How serde reads and writes a number of bytes: an integer, or read from a text with a unit too.
#[derive(Clone, Copy, Debug)]
pub enum Bytes {}

impl Bytes {
    /// Write it. What a TOML integer cannot hold becomes a text.
    pub fn serialize<S: Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(*bytes) {
            Ok(bytes) => serializer.serialize_i64(bytes),
            Err(_) => serializer.serialize_str(&format!("{bytes}B")),
        }
    }
    /// Read it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let value = |bytes| u64::try_from(bytes).ok();
        deserializer.deserialize_any(Reader { units: SIZES, value, bare: true })
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::{Bytes, RATES, Rate, SIZES, Span, TIMES};
    use alloc::borrow::Cow;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    macro_rules! schemas {
        ($($type:ident: $name:literal, $schema:expr;)*) => { $(
            impl JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }
                fn schema_name() -> Cow<'static, str> {
                    $name.into()
                }
                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    $schema
                }
            }
        )* };
    }
    schemas! {
        Span: "time", json_schema!({
            "title": "time", "type": "string", "pattern": TIMES.pattern(),
            "examples": ["5ms", "1.5s"]
        });
        Rate: "rate", json_schema!({
            "title": "rate", "type": "string", "pattern": RATES.pattern(),
            "examples": ["10Mbit/s", "1Gbps"]
        });
        Bytes: "bytes", json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "title": "size", "type": "string", "pattern": SIZES.pattern() }
        ] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use serde_json::{Value, from_value, json, to_value};

    fn bytes(value: Value) -> Option<u64> {
        Bytes::deserialize(value).ok()
    }

    #[test]
    fn what_is_written_reads_back() {
        for bps in [1_000, 1_500, 2_000_000, 2_999_999_999, 400_000_000_000] {
            let rate = Rate::new(bps).unwrap();
            assert_eq!(from_value::<Rate>(to_value(rate).unwrap()).unwrap(), rate);
        }
        for ns in [0, 1, 1_500_000, 60_000_000_000, MAX_SPAN.as_nanos()] {
            let span = Span::from_nanos(ns);
            assert_eq!(from_value::<Span>(to_value(span).unwrap()).unwrap(), span);
        }
        for size in [0, 10_000, i64::MAX as u64, u64::MAX] {
            let written = Bytes::serialize(&size, serde_json::value::Serializer).unwrap();
            assert_eq!(bytes(written), Some(size));
        }
        assert_eq!(Rate::mbps(10).text(), "10Mbit/s");
        let times = [Span::from_micros(1500), Span::from_secs(120), Span::ZERO];
        assert_eq!(times.map(Span::text), ["1500us", "120s", "0s"]);
    }

    #[test]
    fn numbers_are_exact_and_those_that_do_not_fit_are_refused() {
        let span = |text: &str| from_value::<Span>(json!(text)).ok();
        assert_eq!(span(" 1_000.5 us "), Some(Span::from_nanos(1_000_500)));
        assert_eq!(span("0.3ms"), Some(Span::from_nanos(300_000)));
        assert_eq!(span("0.0000000016s"), Some(Span::from_nanos(2)));
        assert_eq!(span("1.5min"), Some(Span::from_secs(90)));
        assert_eq!(span("3155760000s"), Some(MAX_SPAN));
        let refused = ["3155760000.000000001s", "5", "5m", "-5ms", "ms", "5.ms", "", "1e3ms"];
        assert_eq!(refused.map(span), [None; 8]);
        let bps = |text: &str| from_value::<Rate>(json!(text)).ok().map(Rate::bps);
        assert_eq!(bps("0.1Mbit/s"), Some(100_000));
        assert_eq!(bps("2.999999999 Gbps"), Some(2_999_999_999));
        assert!(from_value::<Rate>(json!("400.000000001Gbit/s")).is_err());
        assert!(from_value::<Rate>(json!("999bit/s")).is_err());
        assert_eq!(bytes(json!("2.5 MB")), Some(2_500_000));
        assert_eq!(bytes(json!("1KiB")), Some(1024));
        assert_eq!(bytes(json!("4MiB")), Some(4_194_304));
        assert_eq!(bytes(json!("99999999999999999999999999GB")), None);
        let refused = [json!("18446744073709551616B"), json!(-1), json!(1.5), json!("5ms")];
        assert_eq!(refused.map(bytes), [None; 4]);
    }

    #[test]
    fn a_value_that_is_none_says_what_belongs_there() {
        let error = |value| from_value::<Span>(value).unwrap_err().to_string();
        assert_eq!(error(json!(5)), "invalid type: integer `5`, expected a time such as \"5ms\"");
        assert_eq!(
            error(json!("5")),
            "invalid value: string \"5\", expected a time such as \"5ms\""
        );
    }
}
