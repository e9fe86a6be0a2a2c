//! Behaviour of the application of a flow: the keys `stop`, `write`, `after`, `think` and `rounds`
//! of flows.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::{
    Field, Fields, Section, Spanned, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::units::Bytes;
use forebay_base::{Rate, Span};
use forebay_net::TimeDistribution;
use serde_json::{Value as Json, json};

sections! {
    /// A distribution of times: one of the two.
    pub struct LawTable {
        required {}
        optional {
            /// Exponential distribution with this mean. Example: "500ms".
            exponential: Span,
            /// Uniform distribution between these two times, the shorter first. Example: ["1s",
            /// "2s"].
            uniform: Vec<Span>,
        }
    }
    /// How an application writes over time: at a rate, in periods, or both.
    pub struct WriteTable {
        required {}
        optional {
            /// Rate at which the application writes payload. Without it, as fast as the transport
            /// sends. Example: "5Mbit/s".
            rate: Rate,
            /// Bytes per write under `rate`. Range: 1 to 16777215. Default: a full-sized packet.
            /// Example: "64kB".
            chunk_bytes: Bytes,
            /// Length of the periods in which the application writes, of which the first begins at
            /// once; or a distribution. Example: "1s".
            on: LawOf,
            /// Length of the periods without writes between them, or a distribution. Example: "2s".
            off: LawOf,
        }
    }
}

/// A time, or a distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LawOf(pub TimeDistribution);

impl Field for LawOf {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Table(_) = &item.value else {
            let expected =
                "a time such as \"100ms\", or a table such as { exponential = \"100ms\" }";
            return match item.value {
                Value::String(_) => {
                    Span::read(item, key).map(|span| LawOf(TimeDistribution::Constant(span)))
                }
                _ => Err(item.expected(key, expected)),
            };
        };
        let LawTable { exponential, uniform } = LawTable::read(item, key)?;
        let at = Spanned { value: (), loc: item.loc, key: key.to_string() };
        match (exponential, uniform) {
            (Some(mean), None) => Ok(LawOf(TimeDistribution::Exponential(mean.value))),
            (None, Some(at)) => match at.value[..] {
                [least, most] if least <= most => Ok(LawOf(TimeDistribution::Uniform(least, most))),
                _ => {
                    let expected = "two times, the shorter first".to_string();
                    let found = at.value.write().to_string();
                    Err(at.fault(Problem::OutOfRange { found, expected }))
                }
            },
            _ => Err(at.fault(Problem::Conflict("one of `exponential` and `uniform`".into()))),
        }
    }
    fn write(&self) -> toml::Value {
        let table = |key: &str, value: toml::Value| {
            toml::Value::Table([(key.to_string(), value)].into_iter().collect())
        };
        match self.0 {
            TimeDistribution::Constant(span) => span.write(),
            TimeDistribution::Exponential(mean) => table("exponential", mean.write()),
            TimeDistribution::Uniform(least, most) => table("uniform", vec![least, most].write()),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [Span::schema(), LawTable::schema()] })
    }
}

/// How often a flow is repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rounds {
    /// The number of repetitions.
    Number(u32),
    /// As often as there is time for.
    UntilEnd,
}

/// The name of [`Rounds::UntilEnd`].
const UNTIL_END: &str = "until-end";

impl Field for Rounds {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(name) if name == UNTIL_END => Ok(Rounds::UntilEnd),
            Value::Integer(_) => u32::read(item, key).map(Rounds::Number),
            _ => Err(item.expected(key, format!("a number of rounds, or \"{UNTIL_END}\""))),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            Rounds::Number(rounds) => rounds.write(),
            Rounds::UntilEnd => toml::Value::String(UNTIL_END.to_string()),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [u32::schema(), { "const": UNTIL_END }] })
    }
    fn stand_in() -> Option<Self> {
        Some(Rounds::Number(1))
    }
}

/// The flow or the group that a flow follows.
#[derive(Clone, Debug)]
pub(crate) enum Before {
    /// By its name.
    Named(String),
    /// The flow of this number in results, from 1 on.
    Number(u32),
}

impl Field for Before {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(name) => Ok(Before::Named(name.clone())),
            Value::Integer(_) => u32::read(item, key).map(Before::Number),
            _ => Err(item.expected(key, "the name of a flow, or its number")),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            Before::Named(name) => toml::Value::String(name.clone()),
            Before::Number(number) => toml::Value::Integer((*number).into()),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 1 }] })
    }
}
