//! How fast a link transmits: the keys `trace` of links, next to their rate.

use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::units::{Bytes, Number};
use forebay_base::{Rate, Span};
use forebay_net::CHANNEL_PROFILES;
use serde_json::{Value as Json, json};

/// Where in a trace a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// This long after its start.
    Spanned(Span),
    /// Drawn for each seed and each direction, uniformly from the whole trace.
    Random,
}

sections! {
    /// A generated delivery trace.
    pub struct GeneratorTable {
        required {
            /// The model: a name that `forebay channel generate --help` lists. Example:
            /// "city-driving".
            name: String,
        }
        optional {
            /// Length in whole seconds, after which the trace repeats. Range: 1s to 3600s. Default:
            /// "300s".
            length: Span,
            /// Multiplies the rate of the model. Measured uplinks have 0.22 to 0.25 of the rate of
            /// their downlinks. Range: more than 0, at most 100. Default: 1. Example: 0.25.
            scale: Number,
            /// Seed of the trace. Without it, each seed of a run and each direction has a trace of
            /// its own.
            seed: u32,
            /// Where in the trace a run begins: a time, or "random", drawn for each seed and
            /// direction. Default: "0s". Example: "random".
            offset: Offset,
        }
    }
    /// A token bucket.
    pub struct BucketTable {
        required {
            /// Capacity of the bucket. Range: one packet of the MTU or more. Example: "100kB".
            burst: Bytes,
        }
        optional {
            /// Rate at which a burst leaves. Range: the rate of the link or more. Default:
            /// "400Gbit/s". Example: "1Gbit/s".
            peak: Rate,
        }
    }
    /// A delivery trace.
    pub struct TraceTable {
        required {
            /// File in mahimahi's format, relative to the scenario file. Example: "lte.down".
            file: String,
        }
        optional {
            /// Where in the trace a run begins: a time, or "random", drawn for each seed and
            /// direction. Default: "0s". Example: "random".
            offset: Offset,
        }
    }
}

impl Field for Offset {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(text) if text == "random" => Ok(Offset::Random),
            Value::String(text) if text.starts_with(|first: char| first.is_ascii_digit()) => {
                Span::read(item, key).map(Offset::Spanned)
            }
            _ => Err(item.expected(key, "a time such as \"5s\", or \"random\"")),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            Offset::Spanned(span) => span.write(),
            Offset::Random => toml::Value::String("random".into()),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [Span::schema(), { "const": "random" }] })
    }
    fn stand_in() -> Option<Self> {
        Some(Offset::Spanned(Span::ZERO))
    }
}

impl Default for Offset {
    fn default() -> Self {
        Offset::Spanned(Span::ZERO)
    }
}

/// A trace: its file, or a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct TraceKey(pub TraceTable);

impl Field for TraceKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => TraceTable::read(item, key).map(TraceKey),
            Value::String(_) => {
                Ok(TraceKey(TraceTable { file: Spanned::read(item, key)?, offset: None }))
            }
            _ => {
                let expected =
                    "a file, or a table such as { file = \"lte.trace\", offset = \"random\" }";
                Err(item.expected(key, expected))
            }
        }
    }
    fn write(&self) -> toml::Value {
        if self.0.offset.is_none() { self.0.file.write() } else { self.0.write() }
    }
    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), TraceTable::schema()] })
    }
}

/// A generator: its name, or a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratorKey(pub GeneratorTable);

impl Field for GeneratorKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => GeneratorTable::read(item, key).map(GeneratorKey),
            Value::String(_) => {
                let name = Spanned::read(item, key)?;
                Ok(GeneratorKey(GeneratorTable { name, ..GeneratorTable::default() }))
            }
            _ => {
                let expected = "a name such as \"city-driving\", or a table such as { name = \
                                \"city-driving\", scale = 0.25 }";
                Err(item.expected(key, expected))
            }
        }
    }
    fn write(&self) -> toml::Value {
        self.0.write()
    }
    fn schema() -> Json {
        let names: Vec<&str> = CHANNEL_PROFILES.iter().map(|profile| profile.name).collect();
        json!({ "anyOf": [{ "enum": names }, GeneratorTable::schema()] })
    }
}
