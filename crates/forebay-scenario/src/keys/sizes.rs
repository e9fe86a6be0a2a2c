//! How much flows send: a number, or a distribution sampled per flow; and classes by size.

use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::units::{Bytes, Number};
use serde_json::{Value as Json, json};

sections! {
    /// A distribution of sizes: one of `pareto`, `lomax` and `exponential`.
    pub struct SizeTable {
        required {}
        optional {
            /// Pareto distribution (type I) with this shape; `mean` or `min` sets its scale.
            /// Example: 1.8.
            pareto: Number,
            /// Lomax distribution (Pareto type II, from 0 on) with this shape; `mean` sets its
            /// scale. Example: 1.8.
            lomax: Number,
            /// Exponential distribution with this mean. Example: "1MB".
            exponential: Amount,
            /// Mean of the distribution before `max` limits it. Example: "100kB".
            mean: Amount,
            /// Minimum of `pareto`. Example: "10kB".
            min: Amount,
            /// Maximum: larger samples become this size. Example: "20MB".
            max: Amount,
        }
        renamed { least => min, most => max, }
    }
}

/// A number of packets, or of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    pub value: f64,
    /// It was given with a unit of bytes.
    pub in_bytes: bool,
}

impl Field for Amount {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match item.value {
            Value::String(_) => {
                let Bytes(bytes) = Bytes::read(item, key)?;
                Ok(Amount { value: bytes as f64, in_bytes: true })
            }
            _ => Number::read(item, key).map(|Number(value)| Amount { value, in_bytes: false }),
        }
    }
    fn write(&self) -> toml::Value {
        Number(self.value).write()
    }
    fn schema() -> Json {
        json!({ "anyOf": [Number::schema(), Bytes::schema()] })
    }
}

/// A size, or a distribution.
#[derive(Clone, Debug)]
pub(crate) enum SizeOf<T> {
    Number(T),
    Distribution(Box<SizeTable>),
}

impl<T: Field> Field for SizeOf<T> {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match item.value {
            Value::Table(_) => SizeTable::read(item, key).map(Box::new).map(SizeOf::Distribution),
            _ => T::read(item, key).map(SizeOf::Number),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            SizeOf::Number(number) => number.write(),
            SizeOf::Distribution(law) => law.write(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [T::schema(), SizeTable::schema()] })
    }
    fn stand_in() -> Option<Self> {
        T::stand_in().map(SizeOf::Number)
    }
}
