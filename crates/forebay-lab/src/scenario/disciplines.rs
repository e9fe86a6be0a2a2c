//! The queue disciplines that a scenario may name, with the parameters that it gives them.
//!
//! A [`Line`] knows nothing of the type of the parameters, so that one from outside is as good as one of the table.

use super::error::{Fault, Problem};
use super::fields::{At, Section};
use super::file::{Param, Queue, QueueTable};
use forebay_net::{MakeDiscipline, QueueSpec};
use forebay_queue::{DISCIPLINES, DisciplineEntry, DisciplineSpec, Limit, ParamError};
use serde_json::Value as Json;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A queue discipline: its name, what to show of it, and how it is made of parameters.
pub struct Line {
    /// Name in scenario files and in results.
    pub name: &'static str,
    /// Name in figures and text.
    pub title: &'static str,
    /// RFC, draft or DOI.
    pub reference: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What is implemented, line by line.
    pub about: Vec<&'static str>,
    /// All parameters with their defaults.
    pub defaults: toml::Table,
    /// JSON Schema of the parameters.
    pub schema: Json,
    /// Makes the discipline of a table of all parameters.
    make: fn(&'static str, &toml::Table) -> Result<MakeDiscipline, Wrong>,
}

/// Why parameters were refused.
enum Wrong {
    /// A value has the wrong type, in the words of the reader.
    Type(String),
    /// A value is out of its range.
    Range(ParamError),
}

impl Line {
    fn of(entry: &DisciplineEntry, schemas: &Json) -> Line {
        let spec = toml::Value::try_from((entry.spec)()).expect("parameters are plain values");
        let defaults = match spec.get(entry.name) {
            Some(toml::Value::Table(params)) => params.clone(),
            _ => toml::Table::new(),
        };
        let DisciplineEntry { name, title, reference, summary, .. } = *entry;
        let schema = parameters(schemas, name);
        Line {
            name,
            title,
            reference,
            summary,
            about: entry.about().collect(),
            defaults,
            schema,
            make,
        }
    }
}

/// The parameters of that discipline, out of the schema of the enum of all disciplines.
fn parameters(schemas: &Json, name: &str) -> Json {
    let variants = schemas["oneOf"].as_array().into_iter().flatten();
    let mut found = variants.filter_map(|variant| variant["properties"].get(name));
    let schema = found.next().cloned().unwrap_or_default();
    let pointer = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
    pointer.and_then(|p| schemas.pointer(p)).cloned().unwrap_or(schema)
}

/// A discipline of the table.
fn make(name: &'static str, params: &toml::Table) -> Result<MakeDiscipline, Wrong> {
    let mut tagged = toml::Table::new();
    tagged.insert(name.to_string(), toml::Value::Table(params.clone()));
    let spec: Result<DisciplineSpec, toml::de::Error> = toml::Value::Table(tagged).try_into();
    // The first line says what is wrong; those behind it show a text that is not the user's.
    let first = |error: toml::de::Error| {
        Wrong::Type(error.message().lines().next().unwrap_or_default().to_string())
    };
    let spec = spec.map_err(first)?;
    spec.check().map_err(Wrong::Range)?;
    Ok(Arc::new(move |init| spec.build(init)))
}

/// All disciplines; the first is that of queues of which nothing is said.
pub fn lines() -> &'static [Line] {
    static LINES: OnceLock<Vec<Line>> = OnceLock::new();
    LINES.get_or_init(|| {
        let schemas = schemars::schema_for!(DisciplineSpec).to_value();
        DISCIPLINES.iter().map(|entry| Line::of(entry, &schemas)).collect()
    })
}

/// The discipline of a queue, with its parameters.
#[derive(Clone)]
pub struct Discipline {
    /// Its name.
    pub name: &'static str,
    /// All its parameters.
    pub params: toml::Table,
    make: MakeDiscipline,
}

impl Discipline {
    /// The queue of that limit.
    pub(super) fn queue(&self, limit: Limit) -> QueueSpec {
        QueueSpec::Custom(limit, Arc::clone(&self.make))
    }
    /// True if it is that of queues of which nothing is said.
    pub fn is_default(&self) -> bool {
        self.name == lines()[0].name
    }
}

impl PartialEq for Discipline {
    fn eq(&self, other: &Discipline) -> bool {
        (self.name, &self.params) == (other.name, &other.params)
    }
}

impl fmt::Debug for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.params)
    }
}

/// The name of a discipline and its parameters as a scenario writes them, without the defaults.
impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        let line = lines().iter().find(|line| line.name == self.name);
        let default = |key: &str| line.and_then(|line| line.defaults.get(key));
        let given = self.params.iter().filter(|(key, value)| default(key) != Some(value));
        given.into_iter().try_for_each(|(key, value)| write!(f, ", {key} = {value}"))
    }
}

/// The line of that name.
fn lookup(name: &At<String>) -> Result<&'static Line, Fault> {
    let found = lines().iter().find(|line| line.name == name.value);
    found.ok_or_else(|| {
        let problem = Problem::UnknownName { kind: "discipline", name: name.value.clone() };
        name.fault(problem).suggest(&name.value, lines().iter().map(|line| line.name))
    })
}

/// The keys of a queue that are not parameters.
fn own_keys() -> Vec<&'static str> {
    let mut keys = Vec::new();
    QueueTable::keys(&mut keys);
    keys
}

fn unknown(param: &Param, key: &str, known: &[&str]) -> Fault {
    let fault = Fault::at(param.key_loc, key, Problem::UnknownKey(param.key.clone()));
    fault.suggest(&param.key, known.iter().copied().chain(own_keys()))
}

/// Errors if `queue`, whose table is called `key`, has a parameter that its discipline has not; without a name, that none has.
pub(super) fn check_keys(queue: &Queue, key: &str) -> Result<(), Fault> {
    let lines: Vec<&Line> = match &queue.table.discipline {
        Some(name) => vec![lookup(name)?],
        None => lines().iter().collect(),
    };
    let known = lines.iter().flat_map(|line| line.defaults.keys().map(String::as_str));
    let known: Vec<&str> = known.collect();
    let odd = queue.params.iter().find(|param| !known.contains(&param.key.as_str()));
    odd.map_or(Ok(()), |param| Err(unknown(param, key, &known)))
}

/// The discipline of `queue`, every parameter known and within its range.
pub(super) fn resolve(queue: &At<Queue>) -> Result<Arc<Discipline>, Fault> {
    let name = queue.value.table.discipline.as_ref();
    let line = name.map_or(Ok(&lines()[0]), lookup)?;
    let mut params = line.defaults.clone();
    let known: Vec<&str> = line.defaults.keys().map(String::as_str).collect();
    for param in &queue.value.params {
        let Some(value) = params.get_mut(&param.key) else {
            return Err(unknown(param, &queue.key, &known));
        };
        *value = param.value.value.clone();
        match (line.make)(line.name, &params) {
            Err(Wrong::Type(text)) => return Err(param.value.fault(Problem::Conflict(text))),
            Err(Wrong::Range(_)) | Ok(_) => {} // what follows may belong to it
        }
    }
    match (line.make)(line.name, &params) {
        Ok(make) => Ok(Arc::new(Discipline { name: line.name, params, make })),
        Err(Wrong::Type(text)) => Err(queue.fault(Problem::Conflict(text))),
        Err(Wrong::Range(ParamError { param: key, allowed })) => {
            let expected = allowed.to_string();
            match queue.value.params.iter().find(|param| param.key == key) {
                Some(Param { value, .. }) => {
                    let found = value.value.to_string();
                    Err(value.fault(Problem::OutOfRange { found, expected }))
                }
                None => {
                    let text = format!("`{key}` must be {expected}");
                    Err(queue.fault(Problem::Conflict(text)))
                }
            }
        }
    }
}

/// The schema of a queue's table: one form for each discipline. `own` is that of the keys that all have.
pub(super) fn schema(own: &Json) -> Vec<Json> {
    let of = |line: &Line| {
        let mut form = own.clone();
        form["title"] = line.title.into();
        form["description"] = line.summary.into();
        form["properties"]["discipline"]["const"] = line.name.into();
        for (key, schema) in line.schema["properties"].as_object().into_iter().flatten() {
            form["properties"][key] = schema.clone();
        }
        form
    };
    lines().iter().map(of).collect()
}
