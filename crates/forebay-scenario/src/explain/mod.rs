//! Every key of scenario files with what is known of it, from the JSON Schema: for `forebay explain
//! KEY` and the reference page.
//!
//! The description of a key may end in sentences that state its range, its default and an example:
//! `Range: 0s to 1000s. Default: "0s". Example: "5ms".` Defaults and examples are TOML.

pub(crate) mod schema;
mod words;

use crate::registry::{Disciplines, Registry, tables};
use crate::resolve::tcp;
use forebay_base::ParamError;
use forebay_transport::PRESETS;
use schema::schema;
use serde_json::Value as Json;
use words::{Words, forms, sentences, unit};

/// What stands in a path for a name that the scenario chooses.
pub const ANY_NAME: &str = "NAME";

/// Where a key may stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPlace {
    /// Its path without the numbers of list elements: `links.queue.limit`.
    pub path: String,
    /// The key next to it that must name something for it to be there, and that name: `discipline`
    /// and `codel`.
    pub when: Option<(String, String)>,
}

/// A key: one meaning, at one place or several.
#[derive(Clone, Debug)]
pub struct Key {
    /// The last part of its path.
    pub name: String,
    /// Where it may stand; the first is the one that comes first in the reference.
    pub places: Vec<KeyPlace>,
    /// True if its table must have it.
    pub required: bool,
    /// What it means.
    pub meaning: String,
    /// The types that it takes, in words.
    pub types: Vec<String>,
    /// The unit of a plain number; empty if there is none.
    pub unit: &'static str,
    /// The values that it takes, in words, where they are fewer than those of the type.
    pub range: Option<String>,
    /// Its default: TOML, or words.
    pub default: Option<String>,
    /// A value of it in TOML; None of tables.
    pub example: Option<String>,
    /// What it is in the schema, but for a name that it must have.
    schema: Json,
    /// It is a list of tables, of which a scenario writes each with a heading.
    listed: bool,
}

/// A table: the keys that may stand in it.
#[derive(Clone, Debug)]
pub struct KeyTable {
    /// Where it may stand; the top level has an empty path.
    pub places: Vec<KeyPlace>,
    /// Its purpose.
    pub meaning: String,
    /// Indices of its keys in [`Keys::all`], by name.
    pub keys: Vec<usize>,
}

/// All keys, and the tables in which they stand.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Each key once.
    pub all: Vec<Key>,
    /// Each table once, in the order of the reference.
    pub tables: Vec<KeyTable>,
}

/// All keys of the format, those of registered algorithms among them.
pub fn keys(registry: &Registry) -> Keys {
    let root = schema(registry);
    let mut walk = Walk { root: &root, all: Vec::new(), tables: Vec::new() };
    walk.top(&tables::top_keys());
    let mut keys = Keys { all: walk.all, tables: walk.tables };
    keys.all.iter_mut().for_each(|key| complete(key, &root, registry));
    keys
}

impl Keys {
    /// The keys that `asked` means: a path (`links.queue.limit`, `flows.0.bytes`,
    /// `tcp_of.cubic.ecn`), or its last part or parts.
    pub fn find(&self, asked: &str) -> Vec<&Key> {
        let wanted = parts(asked);
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let stands = |key: &&Key, whole: bool| {
            key.places.iter().any(|place| is_at(&place.path, &wanted, whole))
        };
        let exact: Vec<&Key> = self.all.iter().filter(|key| stands(key, true)).collect();
        if wanted.len() > 1 && !exact.is_empty() {
            return exact;
        }
        // The table of an algorithm has the name of the algorithm, which means more than a key.
        let named = |key: &&Key| wanted.len() > 1 || !key.places[0].is_of_algorithm();
        self.all.iter().filter(|key| stands(key, false)).filter(named).collect()
    }

    /// The numbers of the tables that the key may be, in which the keys below it stand.
    pub fn tables_of(&self, key: &Key) -> Vec<usize> {
        let is = |table: &KeyTable| table.places.iter().any(|p| p.path == key.places[0].path);
        (0..self.tables.len()).filter(|&number| is(&self.tables[number])).collect()
    }

    /// The earlier table all of whose keys stand in the table `number` as well, if there is one:
    /// the largest.
    pub fn within(&self, number: usize) -> Option<&KeyTable> {
        let own = &self.tables[number].keys;
        let inside = |of: &&KeyTable| of.keys.len() < own.len() && of.keys.len() > 1;
        let all = |of: &&KeyTable| of.keys.iter().all(|key| own.contains(key));
        let earlier = self.tables[..number].iter().filter(inside).filter(all);
        earlier.max_by_key(|of| of.keys.len())
    }

    /// The path or name of a key that is most like `asked`, and how like it is, from 0 to 1.
    pub fn nearest(&self, asked: &str) -> Option<(String, f64)> {
        let wanted = parts(asked).join(".").to_lowercase();
        let known = self.all.iter().flat_map(|key| {
            let paths = key.places.iter().map(|place| place.path.clone());
            let name = (!key.places[0].is_of_algorithm()).then(|| key.name.clone());
            paths.chain(name)
        });
        let alike = known.map(|path| {
            let likeness = strsim::jaro_winkler(&wanted, &path.to_lowercase());
            (path, likeness)
        });
        alike.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl Keys {
    /// True if the last `below` parts of the path are keys of the tables in a list, whose own key
    /// stands before them.
    fn is_of_list(&self, path: &str, below: usize) -> bool {
        let parts: Vec<&str> = path.split('.').collect();
        let (list, own) = parts.split_at(parts.len() - below);
        let list = list.join(".");
        let key = self.all.iter().find(|key| key.places.iter().any(|place| place.path == list));
        let forms = key.and_then(|key| key.schema["anyOf"].as_array());
        forms.into_iter().flatten().any(|form| !form["items"]["properties"][own[0]].is_null())
    }
}

impl Key {
    /// The place that `asked` names; else the first.
    pub fn place(&self, asked: &str) -> &KeyPlace {
        let wanted = parts(asked);
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let named = self.places.iter().find(|place| is_at(&place.path, &wanted, true));
        named.unwrap_or(&self.places[0])
    }

    /// The key with a value in its table at this place, as a scenario file has it; None of a table,
    /// which has examples with its keys.
    pub fn example_at(&self, place: &KeyPlace, keys: &Keys) -> Option<String> {
        let value = self.example.as_ref()?;
        let mut path: Vec<&str> = place.path.split('.').collect();
        // [protocol.cubic] and [tcp_of.cubic] are headings of two parts.
        let of_protocol = matches!(path[0], "protocol" | "tcp_of") && path.len() > 2;
        let heading = match path.len() {
            1 => String::new(),
            _ if of_protocol => format!("[{}]\n", path.drain(..2).collect::<Vec<_>>().join(".")),
            _ => {
                let top = path.remove(0);
                let listed = keys.all.iter().any(|key| key.listed && key.places[0].path == top);
                if listed { format!("[[{top}]]\n") } else { format!("[{top}]\n") }
            }
        };
        // A step of a schedule stands in a list: `schedule = [{ at = "10s" }]`.
        let in_list = |end: &usize| keys.is_of_list(&place.path, path.len() - end);
        if let Some(end) = (1..path.len()).find(in_list) {
            let (list, own) = (path[..end].join("."), path[end..].join("."));
            return Some(format!("{heading}{list} = [{{ {own} = {value} }}]\n"));
        }
        let beside = place.when.iter().map(|(key, name)| {
            let table = &path[..path.len() - 1];
            let path: Vec<&str> = table.iter().copied().chain([key.as_str()]).collect();
            format!("{} = \"{name}\"\n", path.join("."))
        });
        let beside: String = beside.collect();
        Some(format!("{heading}{beside}{} = {value}\n", path.join(".")))
    }
}

impl KeyPlace {
    fn is_of_algorithm(&self) -> bool {
        let parts: Vec<&str> = self.path.split('.').collect();
        matches!(parts[..], ["protocol" | "tcp_of", _])
    }
}

/// The parts of a path, without the numbers of list elements.
fn parts(asked: &str) -> Vec<String> {
    let plain = asked.replace('[', ".").replace(']', "");
    let parts = plain.split('.').map(str::trim).filter(|part| !part.is_empty());
    parts.filter(|part| part.parse::<u32>().is_err()).map(String::from).collect()
}

/// True if the path is the wanted one, or ends in it.
fn is_at(path: &str, wanted: &[&str], whole: bool) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.len() < wanted.len() || (whole && parts.len() != wanted.len()) {
        return false;
    }
    let tail = &parts[parts.len() - wanted.len()..];
    tail.iter().zip(wanted).all(|(part, wanted)| part == wanted || *part == ANY_NAME)
}

/// Goes through the schema.
struct Walk<'a> {
    root: &'a Json,
    all: Vec<Key>,
    tables: Vec<KeyTable>,
}

impl Walk<'_> {
    /// The top level, and then its tables in this order; those of algorithms, which are many, last.
    fn top(&mut self, order: &[&str]) {
        let root = self.root;
        let place = KeyPlace { path: String::new(), when: None };
        self.table(root, &place);
        let (last, first): (Vec<&str>, Vec<&str>) =
            order.iter().copied().partition(|key| *key == "protocol");
        for key in first.into_iter().chain(last) {
            let place = KeyPlace { path: key.to_string(), when: None };
            self.below(&root["properties"][key], &place);
        }
    }

    /// Add a table and its keys, but not what is below them.
    fn table(&mut self, table: &Json, place: &KeyPlace) {
        let required = table["required"].as_array();
        let required = |key: &str| required.is_some_and(|all| all.iter().any(|name| name == key));
        let properties = table["properties"].as_object().into_iter().flatten();
        // A table for each algorithm, all alike, is one table.
        let alike = |schema: &Json| schema == &table["additionalProperties"];
        let own = properties.filter(|(_, schema)| !alike(schema));
        let keys: Vec<usize> =
            own.map(|(name, schema)| self.key(name, schema, required(name), place)).collect();
        if keys.is_empty() {
            return;
        }
        if let Some(known) = self.tables.iter_mut().find(|known| known.keys == keys) {
            known.places.push(place.clone());
            return;
        }
        let (meaning, _) = sentences(table["description"].as_str().unwrap_or_default());
        self.tables.push(KeyTable { places: vec![place.clone()], meaning, keys });
    }

    /// The number of a key, which is added unless it is known from another place.
    fn key(&mut self, name: &str, schema: &Json, required: bool, table: &KeyPlace) -> usize {
        let place = KeyPlace { path: join(&table.path, name), when: table.when.clone() };
        // What a key names in one form of a table and in another makes one key.
        let mut plain = resolve(self.root, schema).clone();
        let named = plain.as_object_mut().and_then(|plain| plain.remove("const"));
        let names = named.iter().map(|name| name.to_string());
        let known =
            self.all.iter_mut().enumerate().find(|(_, key)| {
                key.name == name && key.required == required && key.schema == plain
            });
        if let Some((index, key)) = known {
            if !key.places.iter().any(|known| known.path == place.path) {
                key.places.push(place);
            }
            key.types.extend(names.filter(|name| !key.types.contains(name)).collect::<Vec<_>>());
            return index;
        }
        let of_choice = named.is_some();
        let description = schema["description"].as_str().or(plain["description"].as_str());
        let (meaning, Words { range, default, example }) = sentences(description.unwrap_or(""));
        let types = if of_choice { names.collect() } else { forms(self.root, &plain) };
        // A null is a parameter that may be left out, not a value.
        let default = default.or_else(|| {
            let default = schema.get("default").filter(|default| !default.is_null());
            default.map(|default| default.to_string().trim_end_matches(".0").to_string())
        });
        let listed = plain["type"] == "array" && types.iter().any(|t| t.starts_with("list of tab"));
        self.all.push(Key {
            name: name.to_string(),
            places: vec![if of_choice { KeyPlace { when: None, ..place } } else { place }],
            required,
            meaning,
            types,
            unit: unit(name, &plain),
            range,
            default,
            example,
            schema: plain,
            listed,
        });
        self.all.len() - 1
    }

    /// Add the tables that a value may be, and what is below them.
    fn below(&mut self, schema: &Json, place: &KeyPlace) {
        let schema = resolve(self.root, schema);
        if let Some(forms) = schema["anyOf"].as_array() {
            forms.iter().for_each(|form| self.below(form, place));
            return;
        }
        if schema["type"] == "array" {
            self.below(&schema["items"], place);
            return;
        }
        let properties = schema["properties"].as_object();
        let named = properties.into_iter().flatten().find_map(|(key, property)| {
            Some((key.clone(), property.get("const")?.as_str()?.to_string()))
        });
        let place = KeyPlace { when: named.or_else(|| place.when.clone()), ..place.clone() };
        self.table(schema, &place);
        let any = &schema["additionalProperties"];
        for (key, property) in properties.into_iter().flatten().filter(|(_, p)| *p != any) {
            self.below(property, &KeyPlace { path: join(&place.path, key), when: None });
        }
        if any.is_object() {
            self.below(any, &KeyPlace { path: join(&place.path, ANY_NAME), when: None });
        }
    }
}

fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() { key.to_string() } else { format!("{parent}.{key}") }
}

/// What a `$ref` stands for, or the schema itself.
fn resolve<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let pointer = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// Add what the code knows and no text says: defaults of presets, ranges of parameters.
fn complete(key: &mut Key, root: &Json, registry: &Registry) {
    let place = key.places[0].clone();
    let parts: Vec<&str> = place.path.split('.').collect();
    match parts[..] {
        ["tcp", name] if key.default.is_none() && !key.meaning.contains("Without this key") => {
            key.default = of_presets(name);
        }
        ["protocol", algorithm, _] => {
            if let Some(algorithm) = registry.algorithm(algorithm) {
                check_values(key, |params| algorithm.with(params).ok()?.check().err());
            }
        }
        [.., "queue", _] => {
            let discipline =
                place.when.as_ref().and_then(|(_, name)| registry.line::<Disciplines>(name));
            if let Some(discipline) = discipline {
                check_values(key, |params| (discipline.make)(params).ok()?.range.err());
            }
        }
        _ => {}
    }
    key.range = key.range.take().or_else(|| words::range(root, &key.schema));
    key.example = words::example(key);
}

/// The values of a key of `[tcp]` in the presets: that of the default, and others that differ.
fn of_presets(name: &str) -> Option<String> {
    let value = |preset: &forebay_transport::Preset| {
        tcp::described(&preset.config).get(name).map(toml::Value::to_string)
    };
    let default = value(&PRESETS[0])?;
    let others = PRESETS[1..].iter().filter_map(|preset| {
        let other = value(preset).filter(|other| *other != default)?;
        Some(format!("{} with the preset {}", other.trim(), preset.name))
    });
    Some([default.trim().to_string()].into_iter().chain(others).collect::<Vec<_>>().join("; "))
}

/// What the check of a parameter says of values: a range in its words, that of the first value
/// which it refuses; and, where a number has no default, an example that it accepts.
fn check_values(key: &mut Key, check: impl Fn(&toml::Table) -> Option<ParamError>) {
    let kind = |kind: &str| match &key.schema["type"] {
        Json::Array(kinds) => kinds.iter().any(|k| k == kind),
        of => of == kind,
    };
    let (odd, usual): (Vec<toml::Value>, Vec<toml::Value>) = match (kind("number"), kind("integer"))
    {
        (true, _) => (
            [-1.0, 0.0, 1e300, 1.0].map(toml::Value::Float).to_vec(),
            [1.5, 0.5, 2.0, 10.0, 100.0, 1000.0].map(toml::Value::Float).to_vec(),
        ),
        (_, true) => (
            [0, 1, i64::from(u32::MAX), -1, 255].map(toml::Value::Integer).to_vec(),
            [10, 1, 100, 1000].map(toml::Value::Integer).to_vec(),
        ),
        _ => return,
    };
    let fault = |value: &toml::Value| {
        let params = toml::Table::from_iter([(key.name.clone(), value.clone())]);
        check(&params).filter(|error| error.param == key.name)
    };
    let range = odd.iter().find_map(fault).map(|error| error.allowed.to_string());
    let example = usual.into_iter().find(|value| fault(value).is_none()).map(|v| v.to_string());
    key.range = key.range.take().or(range);
    if key.default.is_none() {
        key.example = key.example.take().or(example);
    }
}
