//! How a link changes over time: the key `schedule` of links, a list or a CSV file. Each step is an
//! event of the network, so packets do not overtake others where a step lowers the delay.

use crate::format::csv::ExtraColumns;
use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::units::Probability;
use forebay_base::{Rate, Span};
use serde_json::{Value as Json, json};

sections! {
    /// A step of a schedule: values that hold from its time on. Values that it does not set stay.
    pub struct StepEntry {
        required {
            /// Time of the step. Example: "10s".
            at: Span,
        }
        optional {
            /// New rate. Range: 1kbit/s to 400Gbit/s. Example: "5Mbit/s".
            rate: Rate,
            /// New propagation delay. Range: 0s to 1000s. Example: "20ms".
            delay: Span,
            /// New loss probability.
            loss: Probability,
        }
    }
    /// A CSV file of steps.
    pub struct ScheduleFile {
        required {
            /// The file, relative to that of the scenario: columns at_s, and rate_bps, delay_ns,
            /// loss.
            file: String,
        }
        optional {
            /// Treatment of unknown columns: "refuse" (default) or "ignore".
            extra_columns: ExtraColumns,
        }
    }
}

/// A schedule: a list of steps, or the CSV file that has them.
#[derive(Clone, Debug)]
pub(crate) enum ScheduleKey {
    /// In the scenario.
    Steps(Vec<Spanned<StepEntry>>),
    /// In a file.
    File(ScheduleFile),
}

impl Field for ScheduleKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Array(_) => Vec::read(item, key).map(ScheduleKey::Steps),
            Value::String(_) => {
                let file = Spanned::read(item, key)?;
                Ok(ScheduleKey::File(ScheduleFile { file, extra_columns: None }))
            }
            Value::Table(_) => ScheduleFile::read(item, key).map(ScheduleKey::File),
            _ => {
                let expected =
                    "a CSV file, or a list such as [{ at = \"5s\", rate = \"2Mbit/s\" }]";
                Err(item.expected(key, expected))
            }
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            ScheduleKey::Steps(steps) => steps.write(),
            ScheduleKey::File(file) => file.write(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), ScheduleFile::schema(), Vec::<StepEntry>::schema()] })
    }
    fn stand_in() -> Option<Self> {
        Some(ScheduleKey::Steps(Vec::new()))
    }
}
