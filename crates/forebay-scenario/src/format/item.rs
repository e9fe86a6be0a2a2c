//! A TOML document in which every value knows where it stands.

use crate::format::fault::{Fault, Problem};
use crate::format::source::{Loc, Sources};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub value: Value,
    pub loc: Loc,
}

/// What a TOML value can be.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Datetime,
    Array(Vec<Item>),
    Table(Vec<Entry>),
    /// An element of an array that is wrong, taken out: the others keep their numbers.
    Removed,
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_loc: Loc,
    pub item: Item,
}

impl Value {
    /// With its article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(number) if number.is_nan() => "not a number",
            Value::Float(number) if number.is_infinite() => "an infinite number",
            Value::Float(_) => "a float",
            Value::Boolean(_) => "a boolean",
            Value::Datetime => "a date",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
            Value::Removed => "nothing",
        }
    }
}

impl Item {
    /// The fault of a value of the wrong type; scalars are shown.
    pub fn expected(&self, key: &str, expected: impl Into<String>) -> Fault {
        let kind = self.value.kind();
        let found = match &self.value {
            Value::String(s) => format!("{kind} (\"{s}\")"),
            Value::Integer(i) => format!("{kind} ({i})"),
            Value::Float(x) => format!("{kind} ({x})"),
            Value::Boolean(b) => format!("{kind} ({b})"),
            _ => kind.to_string(),
        };
        Fault::at(self.loc, key, Problem::WrongType { expected: expected.into(), found })
    }
    /// That of a plain TOML value, which stands in no text.
    pub fn of(value: &toml::Value) -> Item {
        let loc = whole(0);
        let value = match value {
            toml::Value::String(s) => Value::String(s.clone()),
            toml::Value::Integer(i) => Value::Integer(i128::from(*i)),
            toml::Value::Float(x) => Value::Float(*x),
            toml::Value::Boolean(b) => Value::Boolean(*b),
            toml::Value::Datetime(_) => Value::Datetime,
            toml::Value::Array(items) => Value::Array(items.iter().map(Item::of).collect()),
            toml::Value::Table(table) => {
                let entries = table.iter().map(|(key, value)| Entry {
                    key: key.clone(),
                    key_loc: loc,
                    item: Item::of(value),
                });
                Value::Table(entries.collect())
            }
        };
        Item { value, loc }
    }
    /// As a plain TOML value. Integers beyond 64 bits saturate, dates become empty strings.
    pub fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::String(s) => toml::Value::String(s.clone()),
            Value::Integer(i) => {
                toml::Value::Integer((*i).clamp(i64::MIN.into(), i64::MAX.into()) as i64)
            }
            Value::Float(x) => toml::Value::Float(*x),
            Value::Boolean(b) => toml::Value::Boolean(*b),
            Value::Datetime | Value::Removed => toml::Value::String(String::new()),
            Value::Array(items) => toml::Value::Array(items.iter().map(Item::to_toml).collect()),
            Value::Table(entries) => {
                let pairs = entries.iter().map(|e| (e.key.clone(), e.item.to_toml()));
                toml::Value::Table(pairs.collect())
            }
        }
    }
}

/// Join the parts of a key's path.
pub(crate) fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() { key.to_string() } else { format!("{parent}.{key}") }
}

/// Read the document of a source.
pub(crate) fn parse_document(sources: &Sources, source: u32) -> Result<Item, Fault> {
    let text = sources.text(source);
    let document = DeTable::parse(text).map_err(|e| {
        let span = e.span().unwrap_or(0..0);
        let loc = Loc { source, start: span.start as u32, end: span.end as u32 };
        Fault::at(loc, "", Problem::Syntax(e.message().to_string()))
    })?;
    table(document.get_ref(), whole(source), source)
}

/// The start of a source: where to point for what is missing from all of it.
pub(crate) fn whole(source: u32) -> Loc {
    Loc { source, start: 0, end: 0 }
}

fn loc_of<T>(spanned: &Spanned<T>, source: u32) -> Loc {
    let span = spanned.span();
    Loc { source, start: span.start as u32, end: span.end as u32 }
}

fn table(table: &DeTable<'_>, loc: Loc, source: u32) -> Result<Item, Fault> {
    let entries: Result<Vec<Entry>, Fault> = table
        .iter()
        .map(|(key, value)| {
            let item = convert(value, source)?;
            Ok(Entry { key: key.get_ref().to_string(), key_loc: loc_of(key, source), item })
        })
        .collect();
    let mut entries = entries?;
    // In the order of the text, so that the first error is the first one that a reader meets.
    entries.sort_by_key(|e| e.key_loc.start);
    Ok(Item { value: Value::Table(entries), loc })
}

fn convert(spanned: &Spanned<DeValue<'_>>, source: u32) -> Result<Item, Fault> {
    let loc = loc_of(spanned, source);
    let value = match spanned.get_ref() {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(i) => match i128::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Value::Integer(i),
            Err(_) => return Err(out_of_range(loc, i.as_str())),
        },
        DeValue::Float(x) => match x.as_str().parse::<f64>() {
            Ok(x) => Value::Float(x),
            Err(_) => return Err(out_of_range(loc, x.as_str())),
        },
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => {
            let items: Result<Vec<Item>, Fault> =
                items.iter().map(|i| convert(i, source)).collect();
            Value::Array(items?)
        }
        DeValue::Table(entries) => return table(entries, loc, source),
    };
    Ok(Item { value, loc })
}

fn out_of_range(loc: Loc, text: &str) -> Fault {
    let expected = "a number of at most 38 digits".to_string();
    Fault::at(loc, "", Problem::OutOfRange { found: text.to_string(), expected })
}
