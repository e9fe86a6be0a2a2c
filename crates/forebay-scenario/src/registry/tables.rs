//! Tables at the top of a scenario that have the parameters of all ports of a scheme, or of all
//! routers of a kind: their keys are the names of schemes and kinds.

use super::named::{Place, make};
use super::{Kind, Line, Registry, Routers, Schemes};
use crate::format::fault::{Fault, Problem};
use crate::format::faults::Faults;
use crate::format::fields::{Section, Spanned};
use crate::format::item::{Item, Value, whole};
use crate::keys::file::File;
use crate::keys::inrpp::{InrppKeys, NAME};
use crate::keys::named::{Param, param};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table that a scenario gives.
pub(crate) struct ParamTable {
    /// What it gives.
    pub given: Vec<Param>,
    /// All parameters.
    pub params: toml::Table,
}

/// The tables of a scenario by name.
pub(crate) type ParamTables = BTreeMap<&'static str, ParamTable>;

/// The lines that have such a table: all are of this build.
fn with_tables<K: Kind>() -> impl Iterator<Item = &'static Line<K>> {
    let lines = Registry::of_build().lines().iter();
    lines.map(Arc::as_ref).filter(|line| line.over.is_some())
}

/// The names of tables that are no keys of [`File`].
pub(crate) fn names() -> Vec<&'static str> {
    let routers = with_tables::<Routers>().map(|line| line.name.as_str());
    let all = with_tables::<Schemes>().map(|line| line.name.as_str()).chain(routers);
    all.filter(|name| *name != NAME).collect()
}

/// All keys at the top of a scenario: tables of schemes stand after that of INRPP.
pub(crate) fn top_keys() -> Vec<&'static str> {
    let mut keys = Vec::new();
    File::keys(&mut keys);
    let at = keys.iter().position(|key| *key == NAME).map_or(keys.len(), |at| at + 1);
    keys.splice(at..at, names());
    keys
}

/// Add the schemas of all tables to the properties of a scenario.
pub(crate) fn describe(properties: &mut Json) {
    let schemas = with_tables::<Schemes>().map(|line| (line.name.as_str(), line.key_schema()));
    let routers = with_tables::<Routers>().map(|line| (line.name.as_str(), line.key_schema()));
    for (name, schema) in schemas.chain(routers) {
        match properties.get_mut(name).map(|table| &mut table["properties"]) {
            None => properties[name] = schema,
            Some(own) => {
                for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
                    own[key] = schema.clone();
                }
            }
        }
    }
}

/// The tables of a document.
pub(crate) fn read(document: &Item, faults: &mut Faults) -> ParamTables {
    let registry = Registry::of_build();
    let top = Place { registry, item: document, key: String::new() };
    let mut tables = ParamTables::new();
    for line in with_tables::<Schemes>() {
        tables.extend(one(line, &top, faults));
    }
    for line in with_tables::<Routers>() {
        tables.extend(one(line, &top, faults));
    }
    tables
}

fn one<K: Kind>(
    line: &'static Line<K>,
    top: &Place<'_>,
    faults: &mut Faults,
) -> Option<(&'static str, ParamTable)> {
    let Place { item, key, .. } = top.get(&line.name)?;
    let Value::Table(entries) = &item.value else {
        if line.name != NAME {
            faults.add(item.expected(&key, "a table"));
        }
        return None;
    };
    let mut own = Vec::new();
    if line.name == NAME {
        InrppKeys::keys(&mut own);
    }
    let known: Vec<&str> = own.iter().copied().chain(line.keys()).collect();
    let mut given = Vec::new();
    for entry in entries.iter().filter(|entry| !own.contains(&entry.key.as_str())) {
        if known.contains(&entry.key.as_str()) {
            given.push(param(entry, &key));
        } else {
            let problem = Problem::UnknownKey(entry.key.clone());
            let fault = Fault::at(entry.key_loc, &key, problem);
            faults.add(fault.suggest(&entry.key, known.iter().copied()));
        }
    }
    let place = Spanned { value: (), loc: whole(0), key: line.name.to_string() };
    let (made, _) = faults.keep(make(line, &given, &place))?;
    Some((line.name.as_str(), ParamTable { given, params: made.params }))
}

/// Of the tables of schemes, those that say something else than their defaults.
pub(crate) fn ports(tables: &ParamTables) -> BTreeMap<&'static str, toml::Table> {
    let params = |line: &'static Line<Schemes>| {
        let params = &tables.get(line.name.as_str())?.params;
        (*params != line.defaults().params).then(|| (line.name.as_str(), params.clone()))
    };
    with_tables::<Schemes>().filter_map(params).collect()
}
