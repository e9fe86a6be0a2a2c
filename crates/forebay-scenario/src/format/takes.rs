//! What a value takes, from its JSON Schema and its range: for parameters whose type only serde
//! knows.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::note;
use crate::format::fields::{Field, Spanned, sentence};
use crate::format::item::{Entry, Item, Value, join};
use crate::format::units::Bytes;
use forebay_base::{ParamError, Rate, Span};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A JSON Schema that is made when it is asked for: most runs do not.
pub(crate) type LazySchema = LazyLock<Json, Box<dyn FnOnce() -> Json + Send + Sync>>;

/// The schema that `make` makes.
pub(crate) fn lazy(make: impl FnOnce() -> Json + Send + Sync + 'static) -> LazySchema {
    LazyLock::new(Box::new(make))
}

/// A schema in the words of the format: references resolved, names of all variants in one list,
/// nulls left out, because TOML has none.
pub(crate) fn plain(root: &Json, schema: &Json) -> Json {
    let (mut names, mut others) = (Vec::new(), Vec::new());
    forms(root, schema, &mut names, &mut others);
    if !names.is_empty() {
        others.push(json!({ "enum": names }));
    }
    let mut plain = match others.len() {
        1 => others.remove(0),
        _ => {
            let of_table = |form: &Json| match form.get("properties") {
                Some(_) => plain(root, form),
                None => form.clone(),
            };
            json!({ "anyOf": others.iter().map(of_table).collect::<Vec<_>>() })
        }
    };
    let Some(words) = plain.as_object_mut() else { return plain };
    if let Some(Json::Object(properties)) = words.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = self::plain(root, property));
        words.insert("additionalProperties".into(), false.into());
        words.remove("title"); // the name of a type
    }
    words.remove("$schema");
    words.remove("default"); // descriptions say it
    for word in ["description", "$comment"] {
        if let Some(text) = schema.get(word).or(words.get(word)).and_then(Json::as_str) {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            words.insert(word.into(), line.into());
        }
    }
    plain
}

/// Add the names and the other forms that a schema allows.
fn forms(root: &Json, schema: &Json, names: &mut Vec<Json>, others: &mut Vec<Json>) {
    let reference = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    if let Some(meant) = reference.and_then(|pointer| root.pointer(pointer)) {
        return forms(root, meant, names, others);
    }
    let both = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
    if let Some(both) = both {
        return both.iter().for_each(|form| forms(root, form, names, others));
    }
    if let Some(name) = schema.get("const") {
        return names.push(name.clone());
    }
    if let Some(all) = schema["enum"].as_array() {
        return names.extend(all.iter().filter(|name| !name.is_null()).cloned());
    }
    if schema["type"] == "null" {
        return;
    }
    let mut schema = schema.clone();
    let kind = schema["type"].as_array().and_then(|all| all.iter().find(|kind| *kind != "null"));
    if let Some(kind) = kind.cloned() {
        schema["type"] = kind;
    }
    others.push(schema);
}

/// Accepted values.
pub(crate) enum Takes {
    Number,
    Integer(i64, i64),
    Boolean,
    Text,
    Names(Vec<String>),
    Time,
    Rate,
    Size,
    Table(Map<String, Json>, Vec<String>),
    /// A form of its own for tables or texts, another for what is none, and words for both.
    Either(Box<Takes>, Box<Takes>, String),
}

impl Takes {
    /// None where a schema in the words of the format says something else.
    pub fn of(schema: &Json) -> Option<Takes> {
        if let Some(both) = schema["anyOf"].as_array() {
            return Takes::of_forms(both, schema["$comment"].as_str());
        }
        if let Some(names) = schema["enum"].as_array() {
            let names = names.iter().map(|name| name.as_str().map(String::from));
            return names.collect::<Option<_>>().map(Takes::Names);
        }
        match schema["type"].as_str()? {
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
            "string" => Some(match schema["title"].as_str() {
                Some("time") => Takes::Time,
                Some("rate") => Takes::Rate,
                _ => Takes::Text,
            }),
            "object" => {
                let required = schema["required"].as_array().into_iter().flatten();
                let required = required.filter_map(|key| key.as_str().map(String::from));
                let properties = schema["properties"].as_object()?.clone();
                Some(Takes::Table(properties, required.collect()))
            }
            _ => None,
        }
    }

    fn of_forms(both: &[Json], words: Option<&str>) -> Option<Takes> {
        let is_size = |form: &Json| form["title"] == "size";
        if both.iter().any(is_size) && both.len() == 2 {
            return Some(Takes::Size);
        }
        let (mut first, rest): (Vec<Takes>, Vec<&Json>) = match both {
            [rest @ .., names] if rest.iter().any(is_size) => {
                (vec![Takes::of(names)?], rest.iter().collect())
            }
            [table, names] => (vec![Takes::of(table)?], vec![names]),
            _ => return None,
        };
        let second = match rest[..] {
            [form] => Takes::of(form)?,
            _ => Takes::Size,
        };
        Some(Takes::Either(Box::new(first.remove(0)), Box::new(second), words?.to_string()))
    }

    /// Errors if a value, which `key` names in messages, is not of this type.
    pub fn check(&self, item: &Item, key: &str) -> Result<(), Fault> {
        let expected = match self {
            Takes::Number => "a number".into(),
            Takes::Integer(i64::MIN, i64::MAX) => "an integer".into(),
            Takes::Integer(least, i64::MAX) => format!("an integer, {least} or more"),
            Takes::Integer(least, most) => format!("an integer from {least} to {most}"),
            Takes::Boolean => "true or false".into(),
            Takes::Text => "a string".into(),
            Takes::Names(names) => format!("one of \"{}\"", names.join("\", \"")),
            Takes::Time => return Span::read(item, key).map(|_| ()),
            Takes::Rate => return Rate::read(item, key).map(|_| ()),
            Takes::Size => return Bytes::read(item, key).map(|_| ()),
            Takes::Table(properties, required) => return table(properties, required, item, key),
            Takes::Either(first, second, words) => {
                let own = match **first {
                    Takes::Table(..) => matches!(item.value, Value::Table(_)),
                    _ => matches!(item.value, Value::String(_)),
                };
                let checked = if own { first } else { second }.check(item, key);
                return checked.map_err(|fault| fault.or_also(key, words));
            }
        };
        match (self, &item.value) {
            (Takes::Number, Value::Integer(_))
            | (Takes::Boolean, Value::Boolean(_))
            | (Takes::Text, Value::String(_)) => Ok(()),
            (Takes::Number, Value::Float(number)) if number.is_finite() => Ok(()),
            (&Takes::Integer(least, most), &Value::Integer(found)) => {
                if (i128::from(least)..=i128::from(most)).contains(&found) {
                    return Ok(());
                }
                let found = found.to_string();
                Err(Fault::at(item.loc, key, Problem::OutOfRange { found, expected }))
            }
            (Takes::Names(names), Value::String(found)) => {
                if names.contains(found) {
                    return Ok(());
                }
                let fault = item.expected(key, expected);
                Err(fault.suggest(found, names.iter().map(String::as_str)))
            }
            _ => Err(item.expected(key, expected)),
        }
    }
}

fn table(
    properties: &Map<String, Json>,
    required: &[String],
    item: &Item,
    key: &str,
) -> Result<(), Fault> {
    let Value::Table(entries) = &item.value else {
        return Err(item.expected(key, "a table"));
    };
    let mut fault = entries_of(properties, entries, key).err();
    let unknown = fault.is_some();
    for name in required {
        if !entries.iter().any(|entry| entry.key == *name) {
            let description = properties[name]["description"].as_str().unwrap_or_default();
            let meaning = sentence(&[description]);
            let problem = Problem::MissingKey { key: name.clone().into(), meaning };
            note(&mut fault, Fault::at(item.loc, key, problem).following(unknown));
        }
    }
    fault.map_or(Ok(()), Err)
}

/// The keys of a table.
pub(crate) trait Properties {
    /// The schema of a key, in the words of the format; None if there is no such key.
    fn schema(&self, key: &str) -> Option<&Json>;
    fn names(&self) -> impl Iterator<Item = &str>;
}

impl Properties for Map<String, Json> {
    fn schema(&self, key: &str) -> Option<&Json> {
        self.get(key)
    }
    fn names(&self) -> impl Iterator<Item = &str> {
        self.keys().map(String::as_str)
    }
}

impl Properties for BTreeMap<String, LazySchema> {
    fn schema(&self, key: &str) -> Option<&Json> {
        self.get(key).map(|schema| &**schema)
    }
    fn names(&self) -> impl Iterator<Item = &str> {
        self.keys().map(String::as_str)
    }
}

/// Errors if one of the entries of the table `key` is none of these properties, or not of its type.
pub(crate) fn entries_of(
    properties: &impl Properties,
    entries: &[Entry],
    key: &str,
) -> Result<(), Fault> {
    let mut fault = None;
    for entry in entries.iter().filter(|entry| !matches!(entry.item.value, Value::Removed)) {
        let checked = match properties.schema(&entry.key) {
            None => {
                let problem = Problem::UnknownKey(entry.key.clone());
                let unknown = Fault::at(entry.key_loc, key, problem);
                Err(unknown.suggest(&entry.key, properties.names()))
            }
            Some(schema) => Takes::of(schema)
                .map_or(Ok(()), |takes| takes.check(&entry.item, &join(key, &entry.key))),
        };
        if let Err(wrong) = checked {
            note(&mut fault, wrong);
        }
    }
    fault.map_or(Ok(()), Err)
}

/// What `make` makes of those of the given parameters that are in their ranges. Each other one is a
/// fault of its own: it is taken out of `given`, and what else is wrong shows without it.
/// `place_of` says where a parameter that is given stands, and its value; `not_given` is the fault
/// of one that is not, with what is allowed.
pub(crate) fn in_range<M>(
    given: &mut toml::Table,
    fault: &mut Option<Fault>,
    make: impl Fn(&toml::Table) -> (M, Result<(), ParamError>),
    place_of: impl Fn(&M, &str) -> Option<(Spanned<()>, String)>,
    not_given: impl Fn(&str, &str) -> Fault,
) -> M {
    loop {
        let (made, range) = make(given);
        let Err(ParamError { param, allowed, other }) = range else { return made };
        let other = other.map(|(param, allowed)| (param, allowed.into()));
        let wrong =
            [(param, allowed.clone())].into_iter().chain(other).find_map(|(param, allowed)| {
                let key = param.split('.').next().unwrap_or(param);
                let (at, found) = given.get(key).and_then(|_| place_of(&made, param))?;
                Some((key, at.fault(Problem::OutOfRange { found, expected: allowed.to_string() })))
            });
        let Some((key, out_of_range)) = wrong else {
            note(fault, not_given(param, &allowed));
            return made;
        };
        note(fault, out_of_range);
        given.remove(key);
    }
}
