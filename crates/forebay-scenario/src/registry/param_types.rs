//! What a parameter takes, in words, from its JSON Schema: for values that serde does not read.

use crate::format::error::Problem;
use crate::format::fault::Fault;
use crate::format::fields::{At, Field};
use crate::format::item::Item;
use forebay_base::{Rate, Span};
use serde_json::{Map, Value as Json};

/// The parameters of something, and where references in them lead.
pub(crate) struct ParamSchema {
    pub root: Json,
    pub params: Json,
}

impl ParamSchema {
    /// Their names.
    pub fn keys(&self) -> Vec<&str> {
        let properties = self.params["properties"].as_object().into_iter().flatten();
        properties.map(|(key, _)| key.as_str()).collect()
    }
    /// The fault of the value of a parameter that was refused with `error`.
    pub fn fault(&self, key: &str, value: &At<toml::Value>, error: String) -> Fault {
        let takes = Takes::of(&self.root, &self.params["properties"][key]);
        takes.and_then(|takes| takes.fault(value)).unwrap_or_else(|| {
            value.fault(Problem::Conflict(error)) // the type is right
        })
    }
}

/// What a parameter takes.
enum Takes {
    Number,
    Integer(i64, i64),
    Boolean,
    Text,
    Names(Vec<String>),
    /// What this reads.
    Quantity(fn(&Item, &str) -> Result<(), Fault>),
}

fn quantity<T: Field>(item: &Item, key: &str) -> Result<(), Fault> {
    T::read(item, key).map(drop)
}

impl Takes {
    /// None where the schema says something else.
    fn of(root: &Json, schema: &Json) -> Option<Takes> {
        let pointer = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
        if let Some(pointer) = pointer {
            return Takes::of(root, root.pointer(pointer)?);
        }
        match schema["title"].as_str() {
            Some("time") => return Some(Takes::Quantity(quantity::<Span>)),
            Some("rate") => return Some(Takes::Quantity(quantity::<Rate>)),
            _ => {}
        }
        if let Some(forms) = schema["anyOf"].as_array() {
            // A parameter that may be left out is of its type or null.
            let mut given = forms.iter().filter(|form| form["type"] != "null");
            return given
                .next()
                .filter(|_| given.next().is_none())
                .and_then(|f| Takes::of(root, f));
        }
        if let Some(names) = schema["enum"].as_array().or_else(|| schema["oneOf"].as_array()) {
            let name = |form: &Json| form.get("const").unwrap_or(form).as_str().map(String::from);
            let names = names.iter().filter(|form| !form.is_null());
            return names.map(name).collect::<Option<_>>().map(Takes::Names);
        }
        let kind = match &schema["type"] {
            Json::Array(kinds) => kinds.iter().find(|&kind| kind != "null")?,
            kind => kind,
        };
        match kind.as_str()? {
            "number" => Some(Takes::Number),
            "integer" => {
                let (least, most) = match schema["format"].as_str() {
                    Some("uint8") => (0, u8::MAX.into()),
                    Some("uint16") => (0, u16::MAX.into()),
                    Some("uint32") => (0, u32::MAX.into()),
                    Some("uint64" | "uint") => (0, i64::MAX),
                    Some("int8") => (i8::MIN.into(), i8::MAX.into()),
                    Some("int16") => (i16::MIN.into(), i16::MAX.into()),
                    Some("int32") => (i32::MIN.into(), i32::MAX.into()),
                    _ => (i64::MIN, i64::MAX),
                };
                Some(Takes::Integer(least, most))
            }
            "boolean" => Some(Takes::Boolean),
            "string" => Some(Takes::Text),
            _ => None,
        }
    }

    /// None if it takes values of this type, so that something else is wrong.
    fn fault(&self, value: &At<toml::Value>) -> Option<Fault> {
        let expected = match self {
            Takes::Number => "a number".into(),
            Takes::Integer(i64::MIN, i64::MAX) => "an integer".into(),
            Takes::Integer(least, i64::MAX) => format!("an integer, {least} or more"),
            Takes::Integer(least, most) => format!("an integer from {least} to {most}"),
            Takes::Boolean => "true or false".into(),
            Takes::Text => "a string".into(),
            Takes::Quantity(read) => {
                let item = Item { loc: value.loc, ..Item::of(&value.value) };
                return read(&item, &value.key).err();
            }
            Takes::Names(names) => format!("one of \"{}\"", names.join("\", \"")),
        };
        let item = Item { loc: value.loc, ..Item::of(&value.value) };
        let wrong_type = || item.expected(&value.key, expected.clone());
        match (self, &value.value) {
            (Takes::Number, toml::Value::Float(_) | toml::Value::Integer(_))
            | (Takes::Boolean, toml::Value::Boolean(_))
            | (Takes::Text, toml::Value::String(_)) => None,
            (&Takes::Integer(least, most), &toml::Value::Integer(found)) => {
                let fits = (least..=most).contains(&found);
                let found = found.to_string();
                (!fits).then(|| value.fault(Problem::OutOfRange { found, expected }))
            }
            (Takes::Names(names), toml::Value::String(found)) => {
                let fits = names.contains(found);
                (!fits).then(|| wrong_type().suggest(found, names.iter().map(String::as_str)))
            }
            _ => Some(wrong_type()),
        }
    }
}

/// The schema of each algorithm's parameters by name, out of that of the enum of all algorithms.
pub(crate) fn of_algorithms(algorithms: &Json) -> Map<String, Json> {
    let variants = algorithms["oneOf"].as_array().into_iter().flatten();
    let properties = variants.filter_map(|variant| variant["properties"].as_object());
    properties.flatten().map(|(name, schema)| (name.clone(), schema.clone())).collect()
}
