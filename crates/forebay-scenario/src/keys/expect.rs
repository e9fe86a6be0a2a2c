//! `[[expect]]`: what a scenario expects of its results, from the keys of the file and back.

use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, choices, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::units::{Number, range_fault};
use serde_json::{Value as Json, json};
use std::fmt;

choices! {
    /// How a value is compared with that of the expectation.
    #[derive(Default)]
    pub(crate) enum Op {
        /// Less.
        Below = "<",
        /// Less or equal.
        AtMost = "<=",
        /// More.
        Above = ">",
        /// More or equal.
        AtLeast = ">=",
        /// Equal.
        #[default]
        Equal = "==",
        /// Between two values, both included.
        Within = "within",
    }
    /// Which value of those of all seeds is compared.
    pub(crate) enum OverName {
        /// Their mean.
        Mean = "mean",
        /// The smallest.
        Min = "min",
        /// The largest.
        Max = "max",
    }
}

sections! {
    /// An expectation of a metric. If one fails, `forebay run` names it and ends with exit code 1.
    pub struct ExpectEntry {
        required {
            /// Name of the metric (see `forebay list`). Example: "goodput_bps".
            metric: String,
            /// Comparison: "<", "<=", ">", ">=", "==", or "within" for two values. Example: ">=".
            op: Op,
            /// What the metric is compared with. A number in the unit at the end of its name, a
            /// string with a unit such as "50ms", or "90%" for a share; with "within" the lower and
            /// the upper end, [low, high]. Example: "5Mbit/s".
            value: Expected,
        }
        optional {
            /// Name in reports. Default: the expectation in words. Example: "cubic fills the link".
            name: String,
            /// Protocol whose runs it is about. Default: each protocol that is compared. Example:
            /// "cubic".
            protocol: String,
            /// Class of the flows that it is about. Default: all flows. Example: "web".
            class: String,
            /// Directed link that it is about, by its name in results; only for metrics of links.
            /// Example: "r0-r1".
            link: String,
            /// Which value over seeds: "mean", "min", "max", or { share = 0.9 }: each of that share
            /// of the seeds or more must pass. Default: "mean".
            over: OverRule,
        }
    }
    /// A share of the seeds.
    pub struct ShareTable {
        required {
            /// The share. Range: more than 0.0, at most 1.0. Example: 0.9.
            share: Share,
        }
        optional {}
    }
}

/// A share above 0.0: of no seed at all anything is true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share(pub f64);

impl Default for Share {
    fn default() -> Share {
        Share(1.0)
    }
}

impl Field for Share {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let expected = "above 0.0, at most 1.0";
        let Ok(Number(share)) = Number::read(item, key) else {
            return Err(item.expected(key, format!("a share, {expected}")));
        };
        let inside = share > 0.0 && share <= 1.0;
        inside.then_some(Share(share)).ok_or_else(|| range_fault(item, key, expected))
    }
    fn write(&self) -> toml::Value {
        Number(self.0).write()
    }
    fn schema() -> Json {
        json!({ "type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0 })
    }
    fn stand_in() -> Option<Self> {
        Some(Share::default())
    }
}

/// A number, or a string with a unit that the metric must have.
#[derive(Clone, Debug)]
pub(crate) enum Scalar {
    Number(f64),
    Text(String),
}

const SCALAR: &str = "a number, or a string with unit such as \"50ms\"";

impl Field for Scalar {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(text) => Ok(Scalar::Text(text.clone())),
            Value::Integer(_) | Value::Float(_) => {
                Number::read(item, key).map(|number| Scalar::Number(number.0))
            }
            _ => Err(item.expected(key, SCALAR)),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            Scalar::Number(number) => Number(*number).write(),
            Scalar::Text(text) => text.write(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string" }] })
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Number(number) => write!(f, "{number}"),
            Scalar::Text(text) => write!(f, "{text}"),
        }
    }
}

/// One value, or the two ends of a range.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    One(Scalar),
    Range(Vec<Spanned<Scalar>>),
}

impl Default for Expected {
    fn default() -> Expected {
        Expected::One(Scalar::Number(0.0))
    }
}

impl Field for Expected {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Array(_) => Vec::read(item, key).map(Expected::Range),
            Value::String(_) | Value::Integer(_) | Value::Float(_) => {
                Scalar::read(item, key).map(Expected::One)
            }
            _ => Err(item.expected(key, format!("{SCALAR}, or with op = \"within\" [low, high]"))),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            Expected::One(value) => value.write(),
            Expected::Range(ends) => ends.write(),
        }
    }
    fn schema() -> Json {
        let ends = json!({
            "type": "array", "items": Scalar::schema(), "minItems": 2, "maxItems": 2
        });
        json!({ "anyOf": [Scalar::schema(), ends] })
    }
}

/// Which value over seeds.
#[derive(Clone, Debug)]
pub(crate) enum OverRule {
    Named(OverName),
    Share(ShareTable),
}

impl Field for OverRule {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => ShareTable::read(item, key).map(OverRule::Share),
            Value::String(_) => OverName::read(item, key).map(OverRule::Named),
            _ => {
                let expected = "\"mean\", \"min\", \"max\", or a table such as { share = 0.9 }";
                Err(item.expected(key, expected))
            }
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            OverRule::Named(name) => name.write(),
            OverRule::Share(table) => table.write(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [OverName::schema(), ShareTable::schema()] })
    }
    fn stand_in() -> Option<Self> {
        Some(OverRule::Named(OverName::Mean))
    }
}
