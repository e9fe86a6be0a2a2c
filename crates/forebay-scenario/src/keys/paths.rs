//! Several links of a host, and the paths of a flow over them.

use crate::format::fault::Fault;
use crate::format::fields::{Field, Spanned};
use crate::format::item::{Item, Value};
use serde_json::{Value as Json, json};

/// The routers that a host attaches to: one, or several.
#[derive(Clone, Debug)]
pub(crate) struct Homes(pub Vec<Spanned<String>>);

impl Field for Homes {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match item.value {
            Value::Array(ref routers) if routers.is_empty() => {
                Err(item.expected(key, "a router, or an array of routers"))
            }
            Value::Array(_) => Vec::read(item, key).map(Homes),
            _ => {
                let one = Spanned::<String>::read(item, key);
                let one = one.map_err(|fault| fault.or_also(key, "an array of names"))?;
                Ok(Homes(vec![one]))
            }
        }
    }
    fn write(&self) -> toml::Value {
        match &self.0[..] {
            [one] => one.write(),
            all => toml::Value::Array(all.iter().map(Field::write).collect()),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), { "type": "array", "items": String::schema() }] })
    }
}

/// The paths of a flow: how many, or over which links.
#[derive(Clone, Debug)]
pub(crate) enum PathsOf {
    Number(u32),
    Links(Vec<Spanned<Vec<Spanned<String>>>>),
}

impl Field for PathsOf {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match item.value {
            Value::Array(_) => Vec::read(item, key).map(PathsOf::Links),
            _ => {
                let number = u32::read(item, key);
                let pairs = "an array of pairs of links such as [[\"s-r0\", \"d-r1\"]]";
                number.map(PathsOf::Number).map_err(|fault| fault.or_also(key, pairs))
            }
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            PathsOf::Number(number) => number.write(),
            PathsOf::Links(pairs) => pairs.write(),
        }
    }
    fn schema() -> Json {
        let pair = json!({
            "type": "array", "items": String::schema(), "minItems": 2, "maxItems": 2
        });
        json!({ "anyOf": [u32::schema(), { "type": "array", "items": pair }] })
    }
}
