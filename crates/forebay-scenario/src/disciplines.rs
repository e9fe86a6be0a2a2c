//! The queue disciplines that a scenario may name, with the parameters that it gives them.
//!
//! A [`Line`] knows nothing of the type of the parameters, so that one from outside is as good as one of the table.

use super::error::{Fault, Problem};
use super::fields::{At, Section};
use super::file::{Param, Queue, QueueTable};
use forebay_net::{MakeDiscipline, QueueSpec};
use forebay_queue::{
    AnyDiscipline, DISCIPLINES, Discipline, DisciplineEntry, DisciplineSpec, Limit, ParamError,
    PortInit,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

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
    make: Box<ReadParams>,
}

/// Parameters of a discipline from outside, each with a default.
pub trait Params:
    Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// Errors if a parameter is outside its range.
    fn check(&self) -> Result<(), ParamError>;
    /// The discipline of one port. The parameters have passed the check.
    fn build(&self, init: PortInit) -> Box<dyn Discipline>;
}

/// Makes a discipline of a table of all its parameters.
type ReadParams = dyn Fn(&toml::Table) -> Result<MakeDiscipline, Wrong> + Send + Sync;

/// Why parameters were refused.
enum Wrong {
    /// A value has the wrong type, in the words of the reader.
    Type(String),
    /// A value is out of its range.
    Range(ParamError),
}

impl Line {
    /// A discipline from outside, whose parameters are `P`. Its name is of lower-case letters, digits and hyphens.
    pub fn outside<P: Params>(
        name: &'static str,
        title: &'static str,
        reference: &'static str,
        summary: &'static str,
    ) -> Line {
        let defaults = match toml::Value::try_from(P::default()) {
            Ok(toml::Value::Table(params)) => params,
            _ => toml::Table::new(),
        };
        let make = |params: &toml::Table| -> Result<MakeDiscipline, Wrong> {
            let params: P = toml::Value::Table(params.clone()).try_into().map_err(first_line)?;
            params.check().map_err(Wrong::Range)?;
            Ok(Arc::new(move |init| AnyDiscipline::Custom(params.build(init))))
        };
        let schema = schemars::schema_for!(P).to_value();
        let (about, make) = (Vec::new(), Box::new(make));
        Line { name, title, reference, summary, about, defaults, schema, make }
    }
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
            make: Box::new(move |params| make(name, params)),
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
    let spec = spec.map_err(first_line)?;
    spec.check().map_err(Wrong::Range)?;
    Ok(Arc::new(move |init| spec.build(init)))
}

/// The first line says what is wrong; those behind it show a text that is not the user's.
fn first_line(error: toml::de::Error) -> Wrong {
    Wrong::Type(error.message().lines().next().unwrap_or_default().to_string())
}

/// The lines of this process: those of the table, then those from outside.
fn known() -> &'static RwLock<Vec<&'static Line>> {
    static LINES: OnceLock<RwLock<Vec<&'static Line>>> = OnceLock::new();
    LINES.get_or_init(|| {
        let schemas = schemars::schema_for!(DisciplineSpec).to_value();
        let line = |entry| &*Box::leak(Box::new(Line::of(entry, &schemas)));
        RwLock::new(DISCIPLINES.iter().map(line).collect())
    })
}

/// All disciplines; the first is that of queues of which nothing is said.
pub fn lines() -> Vec<&'static Line> {
    // A line is there or not, whatever else a thread that panicked did.
    known().read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Scenarios may name the discipline from now on. Errors with the name if there is one of that name.
pub fn register(line: Line) -> Result<(), &'static str> {
    let mut lines = known().write().unwrap_or_else(PoisonError::into_inner);
    if lines.iter().any(|other| other.name == line.name) {
        return Err(line.name);
    }
    lines.push(Box::leak(Box::new(line))); // for as long as the process lives
    Ok(())
}

/// The discipline of a queue, with its parameters.
#[derive(Clone)]
pub struct QueueDiscipline {
    /// Its name.
    pub name: &'static str,
    /// All its parameters.
    pub params: toml::Table,
    make: MakeDiscipline,
}

impl QueueDiscipline {
    /// The queue of that limit.
    pub(super) fn queue(&self, limit: Limit) -> QueueSpec {
        QueueSpec::Custom(limit, Arc::clone(&self.make))
    }
    /// True if it is that of queues of which nothing is said.
    pub fn is_default(&self) -> bool {
        self.name == DISCIPLINES[0].name
    }
}

impl PartialEq for QueueDiscipline {
    fn eq(&self, other: &QueueDiscipline) -> bool {
        (self.name, &self.params) == (other.name, &other.params)
    }
}

impl fmt::Debug for QueueDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.params)
    }
}

/// The name of a discipline and its parameters as a scenario writes them, without the defaults.
impl fmt::Display for QueueDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        let line = lines().into_iter().find(|line| line.name == self.name);
        let default = |key: &str| line.and_then(|line| line.defaults.get(key));
        let given = self.params.iter().filter(|(key, value)| default(key) != Some(value));
        given.into_iter().try_for_each(|(key, value)| write!(f, ", {key} = {value}"))
    }
}

/// The line of that name.
fn lookup(name: &At<String>) -> Result<&'static Line, Fault> {
    let found = lines().into_iter().find(|line| line.name == name.value);
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
    let lines = match &queue.table.discipline {
        Some(name) => vec![lookup(name)?],
        None => lines(),
    };
    let known = lines.iter().flat_map(|line| line.defaults.keys().map(String::as_str));
    let known: Vec<&str> = known.collect();
    let odd = queue.params.iter().find(|param| !known.contains(&param.key.as_str()));
    odd.map_or(Ok(()), |param| Err(unknown(param, key, &known)))
}

/// The discipline of `queue`, every parameter known and within its range.
pub(super) fn resolve(queue: &At<Queue>) -> Result<Arc<QueueDiscipline>, Fault> {
    let name = queue.value.table.discipline.as_ref();
    let line = name.map_or_else(|| Ok(lines()[0]), lookup)?;
    let mut params = line.defaults.clone();
    let known: Vec<&str> = line.defaults.keys().map(String::as_str).collect();
    for param in &queue.value.params {
        let Some(value) = params.get_mut(&param.key) else {
            return Err(unknown(param, &queue.key, &known));
        };
        *value = param.value.value.clone();
        match (line.make)(&params) {
            Err(Wrong::Type(text)) => return Err(param.value.fault(Problem::Conflict(text))),
            Err(Wrong::Range(_)) | Ok(_) => {} // what follows may belong to it
        }
    }
    match (line.make)(&params) {
        Ok(make) => Ok(Arc::new(QueueDiscipline { name: line.name, params, make })),
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
    let of = |line: &'static Line| {
        let mut form = own.clone();
        form["title"] = line.title.into();
        form["description"] = line.summary.into();
        form["properties"]["discipline"]["const"] = line.name.into();
        for (key, schema) in line.schema["properties"].as_object().into_iter().flatten() {
            form["properties"][key] = schema.clone();
        }
        form
    };
    lines().into_iter().map(of).collect()
}
