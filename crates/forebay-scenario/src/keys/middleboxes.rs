//! What stands on a link and changes packets: the key `middlebox` of links.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::{
    Field, Fields, Section, Spanned, names, property, read_section, section_schema, sections,
    value_or,
};
use crate::format::item::{Item, Value};
use forebay_net::{Fragments, MiddleboxSpec, StripOptions};
use serde_json::{Value as Json, json};

names! {
    Fragments {
        Pass = "pass", Drop = "drop", Whole = "reassemble" | "whole",
        Pieces = "virtual-reassembly" | "pieces",
    }
}

sections! {
    /// A middlebox: what it changes in packets, and which packets it drops.
    pub struct MiddleboxTable {
        required {}
        optional {
            /// TCP options that it overwrites with NOP: a list of kinds, or "unknown": all but
            /// those of kinds 0 to 5 and 8. Range: kinds 2 to 254 without 8, timestamps. Default:
            /// none. Example: "unknown".
            strip_options: StripKey,
            /// If true, it sets DF in unfragmented TCP packets. Default: false.
            set_df: bool,
            /// What becomes of fragments: "pass", "drop", "reassemble" (it forwards
            /// reassembled datagrams), or "virtual-reassembly" (it holds fragments until a datagram
            /// is complete, and then forwards them as they came). Default: "pass".
            fragments: Fragments,
        }
    }
}

/// Kinds of options, or a word for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripKey(StripOptions);

const EXPECTED: &str = "\"unknown\", or kinds of options from 2 to 254 but 8";

/// A kind of option that may be overwritten.
struct Kind(u8);

impl Field for Kind {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match item.value {
            Value::Integer(kind @ (2..=7 | 9..=254)) => Ok(Kind(kind as u8)),
            Value::Integer(kind) => {
                let (found, expected) = (kind.to_string(), EXPECTED.to_string());
                Err(Fault::at(item.loc, key, Problem::OutOfRange { found, expected }))
            }
            _ => Err(item.expected(key, EXPECTED)),
        }
    }
    fn write(&self) -> toml::Value {
        i64::from(self.0).into()
    }
    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 2, "maximum": 254, "not": { "const": 8 } })
    }
}

impl Field for StripKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(word) if word == "unknown" => Ok(StripKey(StripOptions::Unknown)),
            Value::Array(_) => {
                let kinds = Vec::<Kind>::read(item, key)?.into_iter().map(|Kind(kind)| kind);
                let kinds: Vec<u8> = kinds.collect();
                Ok(StripKey(if kinds.is_empty() {
                    StripOptions::None
                } else {
                    StripOptions::Kinds(kinds)
                }))
            }
            _ => Err(item.expected(key, EXPECTED)),
        }
    }
    fn write(&self) -> toml::Value {
        match &self.0 {
            StripOptions::Unknown => "unknown".into(),
            StripOptions::None => toml::Value::Array(Vec::new()),
            StripOptions::Kinds(kinds) => {
                toml::Value::Array(kinds.iter().map(|&kind| Kind(kind).write()).collect())
            }
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "const": "unknown" }, Vec::<Kind>::schema()] })
    }
    fn stand_in() -> Option<Self> {
        Some(StripKey::default())
    }
}

impl MiddleboxTable {
    /// What it does; None: nothing.
    pub fn resolve(&self) -> Option<MiddleboxSpec> {
        let strip = self.strip_options.as_ref().map_or(StripOptions::None, |at| at.value.0.clone());
        let fragments = value_or(&self.fragments, Fragments::Pass);
        let set_df = value_or(&self.set_df, false);
        let spec = MiddleboxSpec { strip, set_df, fragments, records: false };
        (spec != MiddleboxSpec::default()).then_some(spec)
    }
    /// The keys that say it; those of none where there is none.
    pub fn describe(spec: Option<&MiddleboxSpec>) -> MiddleboxTable {
        let Some(spec) = spec else { return MiddleboxTable::default() };
        MiddleboxTable {
            strip_options: Spanned::some(StripKey(spec.strip.clone())),
            set_df: Spanned::some(spec.set_df),
            fragments: Spanned::some(spec.fragments),
        }
    }
}
