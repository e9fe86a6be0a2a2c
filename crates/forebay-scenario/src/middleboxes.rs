//! What stands on a link and changes packets: the key `middlebox` of links.

use super::error::{Fault, Problem};
use super::fields::{
    At, Field, Fields, Section, choices, property, read_section, section_schema, sections,
};
use super::item::{Item, Value};
use forebay_net::{Fragments, MiddleboxSpec, StripOptions};
use serde_json::{Value as Json, json};

choices! {
    /// What becomes of fragments.
    pub(super) enum FragmentRule {
        /// They pass.
        Pass = "pass",
        /// They are dropped.
        Drop = "drop",
        /// Datagrams go on whole.
        Whole = "whole",
        /// Pieces wait for each other and go on as they came.
        Pieces = "pieces",
    }
}

sections! {
    /// A middlebox: what it changes in packets, and which it does not pass.
    pub struct MiddleboxTable {
        required {}
        optional {
            /// TCP options that it overwrites with NOP: a list of kinds from 2 to 254, timestamps
            /// (8) not among them; or "unknown": all but those of kinds 0 to 5 and 8. Default:
            /// none.
            strip_options: StripKey,
            /// True: it sets DF in TCP packets that come whole; default false.
            set_df: bool,
            /// What becomes of fragments: "pass" (default), "drop", "whole" (datagrams are
            /// put together and sent on whole), or "pieces" (they wait until all of a datagram are
            /// there, and are sent on as they came).
            fragments: FragmentRule,
        }
    }
}

/// Kinds of options, or a word for them.
#[derive(Clone, Debug, Default)]
pub(super) struct StripKey(StripOptions);

const EXPECTED: &str = "\"unknown\", or kinds of options from 2 to 254 but 8";

impl Field for StripKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(word) if word == "unknown" => Ok(StripKey(StripOptions::Unknown)),
            Value::Array(_) => {
                let kinds = Vec::<At<u8>>::read(item, key)?;
                if let Some(odd) = kinds.iter().find(|at| matches!(at.value, 0 | 1 | 8 | 255)) {
                    let (found, expected) = (odd.value.to_string(), EXPECTED.to_string());
                    return Err(odd.fault(Problem::OutOfRange { found, expected }));
                }
                let kinds: Vec<u8> = kinds.iter().map(|at| at.value).collect();
                Ok(StripKey(match kinds.is_empty() {
                    true => StripOptions::None,
                    false => StripOptions::Kinds(kinds),
                }))
            }
            _ => Err(item.expected(key, EXPECTED)),
        }
    }
    fn write(&self) -> toml::Value {
        match &self.0 {
            StripOptions::Unknown => "unknown".into(),
            StripOptions::None => toml::Value::Array(Vec::new()),
            StripOptions::Kinds(kinds) => kinds.clone().write(),
        }
    }
    fn schema() -> Json {
        let kind =
            json!({ "type": "integer", "minimum": 2, "maximum": 254, "not": { "const": 8 } });
        json!({ "anyOf": [{ "const": "unknown" }, { "type": "array", "items": kind }] })
    }
    fn stand_in() -> Option<Self> {
        Some(StripKey::default())
    }
}

impl MiddleboxTable {
    /// What it does; None: nothing.
    pub fn resolve(&self) -> Option<MiddleboxSpec> {
        let strip = self.strip_options.as_ref().map_or(StripOptions::None, |at| at.value.0.clone());
        let fragments = self.fragments.as_ref().map_or(Fragments::Pass, |at| match at.value {
            FragmentRule::Pass => Fragments::Pass,
            FragmentRule::Drop => Fragments::Drop,
            FragmentRule::Whole => Fragments::Whole,
            FragmentRule::Pieces => Fragments::Pieces,
        });
        let set_df = self.set_df.as_ref().is_some_and(|at| at.value);
        let spec = MiddleboxSpec { strip, set_df, fragments };
        (spec != MiddleboxSpec::default()).then_some(spec)
    }
    /// The keys that say it; those of none where there is none.
    pub fn describe(spec: Option<&MiddleboxSpec>) -> MiddleboxTable {
        let Some(spec) = spec else { return MiddleboxTable::default() };
        let fragments = match spec.fragments {
            Fragments::Pass => FragmentRule::Pass,
            Fragments::Drop => FragmentRule::Drop,
            Fragments::Whole => FragmentRule::Whole,
            Fragments::Pieces => FragmentRule::Pieces,
        };
        MiddleboxTable {
            strip_options: Some(At::new(StripKey(spec.strip.clone()))),
            set_df: Some(At::new(spec.set_df)),
            fragments: Some(At::new(fragments)),
        }
    }
}
