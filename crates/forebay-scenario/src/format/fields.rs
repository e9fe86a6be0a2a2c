//! From a TOML item to a typed value, and back; and the tables of which the format is made.
//!
//! A table of the format is declared once, with [`sections!`]: from that come its reader, its
//! writer, the list of keys for suggestions, and its JSON Schema.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::{all, note};
use crate::format::item::{Entry, Item, Value, join};
use crate::format::source::Loc;
use serde_json::{Value as Json, json};
use std::borrow::Cow;

/// A type that a value of the format can have.
pub(crate) trait Field: Sized {
    /// Read a value, which `key` names in messages.
    fn read(item: &Item, key: &str) -> Result<Self, Fault>;
    /// Write it so that reading gives the same.
    fn write(&self) -> toml::Value;
    /// Its JSON Schema.
    fn schema() -> Json;
    /// What stands in an element of a list for a value that is wrong, so that the rest of the
    /// element is checked; None where no value is sane without the one that was meant.
    fn stand_in() -> Option<Self> {
        None
    }
}

/// A table of the format.
pub(crate) trait Section: Sized {
    /// Take the keys that are its own; None, and a fault in `fields`, if one that must be there is
    /// not or is wrong.
    fn take(fields: &mut Fields<'_>) -> Option<Self>;
    /// Write its keys.
    fn put(&self, table: &mut toml::Table);
    /// What is given here, and the keys of `other` that are not.
    #[must_use]
    fn over(&self, other: &Self) -> Self;
    /// Its keys, in order of declaration.
    fn keys(out: &mut Vec<&'static str>);
    /// Former names of keys, which are still read, with the current names.
    fn renamed() -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Add its properties, and the keys that must be there.
    fn describe(properties: &mut serde_json::Map<String, Json>, required: &mut Vec<&'static str>);
    /// Its purpose.
    fn doc() -> &'static [&'static str];
}

/// A value that knows its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spanned<T> {
    pub value: T,
    pub loc: Loc,
    pub key: String,
}

impl<T> Spanned<T> {
    /// A value that stands in no text.
    pub fn new(value: T) -> Spanned<T> {
        Spanned { value, loc: Loc::default(), key: String::new() }
    }
    /// Its place alone.
    pub fn place(&self) -> Spanned<()> {
        Spanned { value: (), loc: self.loc, key: self.key.clone() }
    }
    /// A problem with this value.
    pub fn fault(&self, problem: Problem) -> Fault {
        Fault::at(self.loc, self.key.clone(), problem)
    }
    /// A value that is given, and stands in no text.
    pub fn some(value: T) -> Option<Spanned<T>> {
        Some(Spanned::new(value))
    }
    /// Its key as `--set` has it: `links.0.trace` for `links[0].trace`.
    pub fn set_path(&self) -> String {
        self.key.replace('[', ".").replace(']', "")
    }
}

impl<T: Field> Spanned<T> {
    /// The fault of a value out of its range.
    pub fn out_of_range(&self, expected: impl Into<String>) -> Fault {
        self.fault(Problem::OutOfRange { found: shown(&self.value), expected: expected.into() })
    }
}

/// A value of the format as text, for messages and tables.
pub(crate) fn shown(value: &impl Field) -> String {
    match value.write() {
        toml::Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The value of a key, or what stands where it is not given.
pub(crate) fn value_or<T: Copy>(at: &Option<Spanned<T>>, default: T) -> T {
    at.as_ref().map_or(default, |at| at.value)
}

impl<T: Field> Field for Spanned<T> {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        Ok(Spanned { value: T::read(item, key)?, loc: item.loc, key: key.to_string() })
    }
    fn write(&self) -> toml::Value {
        self.value.write()
    }
    fn schema() -> Json {
        T::schema()
    }
    fn stand_in() -> Option<Self> {
        T::stand_in().map(Spanned::new)
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Array(items) = &item.value else {
            return Err(item.expected(key, "an array"));
        };
        let present = items.iter().enumerate();
        let present = present.filter(|(_, item)| !matches!(item.value, Value::Removed));
        all(present.map(|(i, item)| T::read(item, &format!("{key}[{i}]"))))
    }
    fn write(&self) -> toml::Value {
        toml::Value::Array(self.iter().map(Field::write).collect())
    }
    fn schema() -> Json {
        json!({ "type": "array", "items": T::schema() })
    }
}

/// The entries of a table that is being read.
pub(crate) struct Fields<'a> {
    entries: &'a [Entry],
    loc: Loc,
    key: &'a str,
    /// A key is unknown: one that is missing may be meant by it.
    unknown: bool,
    /// What was wrong so far.
    fault: Option<Fault>,
}

impl Fields<'_> {
    /// The value of a key, if it is there and right.
    pub fn optional<T: Field>(&mut self, key: &'static str) -> Option<Spanned<T>> {
        let entry = self.entries.iter().find(|e| e.key == key)?;
        if matches!(entry.item.value, Value::Removed) {
            return self.instead(entry, key);
        }
        let read = Spanned::<T>::read(&entry.item, &join(self.key, key));
        read.map_err(|fault| note(&mut self.fault, fault)).ok()
    }
    /// What stands for a value that is wrong and was reported. Without it the table is lost, too.
    fn instead<T: Field>(&mut self, entry: &Entry, key: &'static str) -> Option<Spanned<T>> {
        let (loc, key) = (entry.item.loc, join(self.key, key));
        let value = T::stand_in();
        if value.is_none() {
            let fault = Fault::at(loc, self.key, Problem::UnknownKey(key.clone()));
            note(&mut self.fault, fault.following(true));
        }
        value.map(|value| Spanned { value, loc, key })
    }
    /// The value of a key that must be there.
    pub fn required<T: Field>(&mut self, key: &'static str, doc: &[&str]) -> Option<Spanned<T>> {
        if !self.entries.iter().any(|e| e.key == key) {
            let problem = Problem::MissingKey { key: key.into(), meaning: sentence(doc) };
            let fault = Fault::at(self.loc, self.key, problem).following(self.unknown);
            note(&mut self.fault, fault);
        }
        self.optional(key)
    }
}

/// Read a whole table: nothing in it may be left over.
pub(crate) fn read_section<S: Section>(item: &Item, key: &str) -> Result<S, Fault> {
    let mut known = Vec::new();
    S::keys(&mut known);
    read_among(item, key, &known)
}

/// Read the keys of a table that are its own; others of `known` are left to others.
pub(crate) fn read_among<S: Section>(item: &Item, key: &str, known: &[&str]) -> Result<S, Fault> {
    let Value::Table(entries) = &item.value else {
        return Err(item.expected(key, "a table"));
    };
    let entries = &renamed(entries, S::renamed())[..];
    let fault = unknown_keys(entries, key, known);
    let mut fields = Fields { entries, loc: item.loc, key, unknown: fault.is_some(), fault };
    let section = S::take(&mut fields);
    match fields.fault {
        Some(fault) => Err(fault),
        None => Ok(section.expect("nothing was wrong")),
    }
}

/// The fault of the keys that are none of those that are known.
fn unknown_keys(entries: &[Entry], key: &str, known: &[&str]) -> Option<Fault> {
    let mut fault = None;
    for entry in entries.iter().filter(|e| !known.contains(&e.key.as_str())) {
        let unknown = Fault::at(entry.key_loc, key, Problem::UnknownKey(entry.key.clone()));
        note(&mut fault, unknown.suggest(&entry.key, known.iter().copied()));
    }
    fault
}

/// The entries under their current names. A former name next to the current one stays unknown.
fn renamed<'a>(entries: &'a [Entry], names: &[(&str, &str)]) -> Cow<'a, [Entry]> {
    let mut entries = Cow::Borrowed(entries);
    for (old, new) in names {
        let at = entries.iter().position(|entry| entry.key == *old);
        if let Some(at) = at.filter(|_| entries.iter().all(|entry| entry.key != *new)) {
            entries.to_mut()[at].key = (*new).to_string();
        }
    }
    entries
}

/// The JSON Schema of a table.
pub(crate) fn section_schema<S: Section>() -> Json {
    let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
    S::describe(&mut properties, &mut required);
    table_schema(S::doc(), properties, required)
}
fn table_schema(
    doc: &[&str],
    properties: serde_json::Map<String, Json>,
    required: Vec<&str>,
) -> Json {
    json!({
        "type": "object",
        "description": paragraph(doc),
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A property with its description.
pub(crate) fn property<T: Field>(doc: &[&str]) -> Json {
    described(T::schema(), doc)
}
fn described(mut schema: Json, doc: &[&str]) -> Json {
    let description = paragraph(doc);
    if let (Json::Object(map), false) = (&mut schema, description.is_empty()) {
        map.insert("description".into(), description.into());
    }
    schema
}

/// The lines of a doc comment as one.
fn paragraph(doc: &[&str]) -> String {
    doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// The first sentence of a doc comment as part of another: without its capital and its full stop.
pub(crate) fn sentence(doc: &[&str]) -> String {
    let text = paragraph(doc);
    let first = text.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let mut rest = first.chars();
    rest.next().map(|c| c.to_lowercase().collect::<String>() + rest.as_str()).unwrap_or_default()
}

/// Declares tables of the format: keys that must be there, keys that may, and a table whose keys
/// are also its own.
macro_rules! sections {
    ($(
        $(#[doc = $doc:literal])*
        pub struct $name:ident {
            required { $( $(#[doc = $rdoc:literal])* $rkey:ident: $rtype:ty, )* }
            optional { $( $(#[doc = $odoc:literal])* $okey:ident: $otype:ty, )* }
            $( renamed { $( $old:ident => $new:ident, )* } )?
            $( flatten $fkey:ident: $ftype:ty, )?
        }
    )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $name {
            $( $(#[doc = $rdoc])* pub $rkey: Spanned<$rtype>, )*
            $( $(#[doc = $odoc])* pub $okey: Option<Spanned<$otype>>, )*
            $( pub $fkey: $ftype, )?
        }
        impl Section for $name {
            fn take(fields: &mut Fields<'_>) -> Option<Self> {
                $( let $rkey = fields.required(stringify!($rkey), &[$($rdoc),*]); )*
                $( let $okey = fields.optional(stringify!($okey)); )*
                $( let $fkey = <$ftype>::take(fields)?; )?
                Some($name { $( $rkey: $rkey?, )* $( $okey, )* $( $fkey, )? })
            }
            fn put(&self, table: &mut toml::Table) {
                $( table.insert(stringify!($rkey).into(), self.$rkey.write()); )*
                $( if let Some(value) = &self.$okey {
                    table.insert(stringify!($okey).into(), value.write());
                } )*
                $( self.$fkey.put(table); )?
                let _ = table;
            }
            fn over(&self, other: &Self) -> Self {
                let _ = other;
                $name {
                    $( $rkey: self.$rkey.clone(), )*
                    $( $okey: self.$okey.as_ref().or(other.$okey.as_ref()).cloned(), )*
                    $( $fkey: self.$fkey.over(&other.$fkey), )?
                }
            }
            fn keys(out: &mut Vec<&'static str>) {
                out.extend_from_slice(&[$(stringify!($rkey),)* $(stringify!($okey),)*]);
                $( <$ftype>::keys(out); )?
            }
            $( fn renamed() -> &'static [(&'static str, &'static str)] {
                &[$((stringify!($old), stringify!($new)),)*]
            } )?
            fn describe(
                properties: &mut serde_json::Map<String, serde_json::Value>,
                required: &mut Vec<&'static str>,
            ) {
                required.extend_from_slice(&[$(stringify!($rkey),)*]);
                $( properties.insert(
                    stringify!($rkey).into(),
                    property::<$rtype>(&[$($rdoc),*]),
                ); )*
                $( properties.insert(
                    stringify!($okey).into(),
                    property::<$otype>(&[$($odoc),*]),
                ); )*
                $( <$ftype>::describe(properties, required); )?
            }
            fn doc() -> &'static [&'static str] {
                &[$($doc),*]
            }
        }
        impl Field for $name {
            fn read(item: &Item, key: &str) -> Result<Self, Fault> {
                read_section(item, key)
            }
            fn write(&self) -> toml::Value {
                let mut table = toml::Table::new();
                self.put(&mut table);
                toml::Value::Table(table)
            }
            fn schema() -> serde_json::Value {
                section_schema::<$name>()
            }
        }
    )* };
}
pub(crate) use sections;

/// Makes enums choices among names, one for each variant. After `|`: its former name, still read.
macro_rules! names {
    ($( $name:ident {
        $( $variant:ident = $text:literal $(| $old:literal)?, )*
    } )*) => { $(
        impl Field for $name {
            fn read(item: &Item, key: &str) -> Result<Self, Fault> {
                let names = [$($text),*];
                match &item.value {
                    $( Value::String(s) if s == $text $(|| s == $old)? => Ok($name::$variant), )*
                    Value::String(s) => {
                        let expected = format!("one of \"{}\"", names.join("\", \""));
                        Err(item.expected(key, expected).suggest(s, names))
                    }
                    _ => Err(item.expected(key, format!("one of \"{}\"", names.join("\", \"")))),
                }
            }
            fn write(&self) -> toml::Value {
                toml::Value::String(match self { $( $name::$variant => $text, )* }.into())
            }
            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": [$($text),*] })
            }
            fn stand_in() -> Option<Self> {
                [$($name::$variant),*].into_iter().next()
            }
        }
    )* };
}
pub(crate) use names;

/// Declares choices among names.
macro_rules! choices {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$of_variant:meta])* $variant:ident = $text:literal, )*
        }
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $( $(#[$of_variant])* $variant, )* }
        $crate::format::fields::names! { $name { $( $variant = $text, )* } }
    )* };
}
pub(crate) use choices;
