//! Values that name something of the registry: `"rcp"`, or `{ scheme = "rcp", alpha = 0.4 }`.
//! Here they are read as they are written; whether there is such a thing, and what its parameters
//! may be, is looked up where they are resolved.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::{Field, Section, Spanned, read_section};
use crate::format::item::{Entry, Item, Value, join};
use crate::format::source::Loc;
use crate::keys::kinds::Word;
use serde_json::{Value as Json, json};
use std::fmt;
use std::marker::PhantomData;

/// One parameter of an algorithm or of a discipline.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub key: String,
    pub key_loc: Loc,
    pub value: Spanned<toml::Value>,
}

/// One parameter of the table that is called `key`.
pub(crate) fn param(entry: &Entry, key: &str) -> Param {
    let (value, key) = (entry.item.to_toml(), join(key, &entry.key));
    let value = Spanned { value, loc: entry.item.loc, key };
    Param { key: entry.key.clone(), key_loc: entry.key_loc, value }
}

/// The own keys of a table, and parameters that stand next to them.
pub(crate) fn read_own<S: Section>(item: &Item, key: &str) -> Result<(S, Vec<Param>), Fault> {
    let Value::Table(entries) = &item.value else { return Err(item.expected(key, "a table")) };
    let mut known = Vec::new();
    S::keys(&mut known);
    let own = |entry: &&Entry| known.contains(&entry.key.as_str());
    let (own, params): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(own);
    let own = Item { value: Value::Table(own.into_iter().cloned().collect()), loc: item.loc };
    let params = params.into_iter().map(|entry| param(entry, key)).collect();
    Ok((read_section(&own, key)?, params))
}

/// The same as one table.
pub(crate) fn write_own(own: &impl Section, params: &[Param]) -> toml::Value {
    let mut table = toml::Table::new();
    own.put(&mut table);
    table.extend(params.iter().map(|param| (param.key.clone(), param.value.value.clone())));
    toml::Value::Table(table)
}

/// In a schema, the place of the names of a kind, which the registry fills in.
pub(crate) const NAMES: &str = "names of";
/// In a schema, the place of a form of the table `OWN` for each name of a kind.
pub(crate) const FORMS: &str = "forms of";
/// The keys that all of these forms have.
pub(crate) const OWN: &str = "own";

/// The place of the forms of a table that has the keys of `own`, and those of what is named.
pub(crate) fn forms<K: Word>(own: &Json) -> Json {
    json!({ FORMS: K::KEY, OWN: own })
}

/// A name of a kind, and the parameters next to it.
pub(crate) struct Named<K> {
    pub name: Spanned<String>,
    pub params: Vec<Param>,
    kind: PhantomData<K>,
}

impl<K> Clone for Named<K> {
    fn clone(&self) -> Self {
        Named { name: self.name.clone(), params: self.params.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for Named<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Named").field(&self.name.value).field(&self.params).finish()
    }
}

impl<K: Word> Field for Named<K> {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let (name, others): (Spanned<String>, Vec<&Entry>) = match &item.value {
            Value::Table(entries) => {
                let Some(named) = entries.iter().find(|entry| entry.key == K::KEY) else {
                    let meaning = format!("name of the {}", K::WORD);
                    let problem = Problem::MissingKey { key: K::KEY.into(), meaning };
                    return Err(Fault::at(item.loc, key, problem));
                };
                let others = entries.iter().filter(|entry| entry.key != K::KEY);
                let name = Spanned::read(&named.item, &join(key, K::KEY))?;
                (name, others.collect())
            }
            Value::String(_) => (Spanned::read(item, key)?, Vec::new()),
            _ => {
                let expected = format!("the name of a {}, or a table with `{}`", K::WORD, K::KEY);
                return Err(item.expected(key, expected));
            }
        };
        let params: Vec<Param> = others.into_iter().map(|entry| param(entry, key)).collect();
        Ok(Named { name, params, kind: PhantomData })
    }
    fn write(&self) -> toml::Value {
        let name = toml::Value::String(self.name.value.clone());
        if self.params.is_empty() {
            return name;
        }
        let params = self.params.iter().map(|p| (p.key.clone(), p.value.value.clone()));
        let all = [(K::KEY.to_string(), name)].into_iter().chain(params);
        toml::Value::Table(all.collect())
    }
    fn schema() -> Json {
        let own = json!({
            "type": "object",
            "properties": { K::KEY: { "description": format!("Name of the {}.", K::WORD) } },
            "required": [K::KEY],
            "additionalProperties": false,
        });
        json!({ "anyOf": [{ NAMES: K::KEY }, forms::<K>(&own)] })
    }
}

impl<K> Named<K> {
    /// As a scenario would write it.
    pub fn new(name: &str, params: Vec<Param>) -> Named<K> {
        Named { name: Spanned::new(name.to_string()), params, kind: PhantomData }
    }
}
