//! Names for scenarios: controllers, queue disciplines, port schemes, routers. A [`Registry`]
//! has one list for each kind: the lines of its table, then those that a program registers
//! ([`Registration`]). Both are of one type, which knows nothing of the type of the parameters.

pub(crate) mod algorithms;
pub(crate) mod inrpp;
mod kinds;
pub(crate) mod named;
pub(crate) mod param_types;
pub(crate) mod protocol;
mod registration;
mod specs;
pub(crate) mod tables;

pub use kinds::{
    ControllerMachine, Controllers, Disciplines, RouterTraits, Routers, Schemes, Word,
};
pub use registration::{NoParams, RegisterError, Registration};
pub(crate) use specs::first_line;

use crate::format::names::Name;
use crate::format::takes::{LazySchema, plain};
use crate::registry::param_types::ParamSchema;
use forebay_base::ParamError;
use forebay_queue::DISCIPLINES;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// A kind of thing that scenarios name.
pub trait Kind: Word {
    /// What is made of parameters.
    type Machine: Clone + Send + Sync + 'static;
    /// Further properties of one of them.
    type Traits: Clone + Default + Send + Sync + 'static;
    /// Its list.
    fn lines(of: &Registry) -> &Lines<Self>;
    /// The same, to be added to.
    fn lines_mut(of: &mut Registry) -> &mut Lines<Self>;
    /// True if a name is taken without a line in the list.
    fn is_taken(_name: &str) -> bool {
        false
    }
}

/// A line of a list: a name, what to show of it, and how it is made of parameters.
pub struct Line<K: Kind> {
    /// Name in scenario files and in results.
    pub name: Name,
    /// Name in figures and text.
    pub title: String,
    /// RFC, draft or DOI; empty if there is none.
    pub reference: String,
    /// Its summary, in one line.
    pub summary: String,
    /// What is implemented, line by line.
    pub about: Vec<String>,
    /// See [`Line::schema`].
    pub(crate) schema: LazySchema,
    /// Further properties.
    pub traits: K::Traits,
    /// Makes it of the parameters that are given.
    pub(crate) make: Box<Make<K>>,
    /// Where a scenario may have a table of parameters for all of this name: what is made of the
    /// given ones and, for the rest, those of the table.
    pub(crate) over: Option<Box<Over<K>>>,
}

/// What is made of parameters; Err of such that cannot be read.
pub(crate) type Make<K> = dyn Fn(&toml::Table) -> Result<Made<K>, String> + Send + Sync;
/// The same of the parameters of a table, and of those that are given next to it.
pub(crate) type Over<K> =
    dyn Fn(&toml::Table, &toml::Table) -> Result<Made<K>, String> + Send + Sync;

/// What a line makes.
pub(crate) struct Made<K: Kind> {
    pub machine: K::Machine,
    /// All parameters.
    pub params: toml::Table,
    /// Err if one is out of its range: the machine must not be used.
    pub range: Result<(), ParamError>,
}

impl<K: Kind> Line<K> {
    /// JSON Schema of the parameters.
    pub fn schema(&self) -> &Json {
        &self.schema
    }
    /// The names of its parameters.
    pub fn keys(&self) -> Vec<&str> {
        let properties = self.schema()["properties"].as_object().into_iter().flatten();
        properties.map(|(key, _)| key.as_str()).collect()
    }
    /// The schema of its parameters, which needs nothing else.
    pub(crate) fn param_schema(&self) -> ParamSchema {
        ParamSchema { root: self.schema().clone(), params: self.schema().clone() }
    }
    /// The same as keys of a scenario have it: where there is a table for all of this name, in the
    /// words of the format.
    pub(crate) fn key_schema(&self) -> Json {
        let schema = self.schema();
        if self.over.is_some() { plain(schema, schema) } else { schema.clone() }
    }
    /// It with default parameters.
    pub(crate) fn defaults(&self) -> Made<K> {
        (self.make)(&toml::Table::new()).expect("a line can be made of nothing")
    }
}

impl<K: Kind> fmt::Debug for Line<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The lines of a kind.
pub type Lines<K> = Vec<Arc<Line<K>>>;

/// Names for scenarios: the tables of this build, and what a program has registered. A plain
/// value: a scenario is loaded with one ([`LoadOptions`](crate::LoadOptions)) and keeps it.
#[derive(Clone, Debug)]
pub struct Registry {
    controllers: Lines<Controllers>,
    disciplines: Lines<Disciplines>,
    schemes: Lines<Schemes>,
    routers: Lines<Routers>,
}

/// The tables of this build.
impl Default for Registry {
    fn default() -> Registry {
        Registry::of_build().clone()
    }
}

/// True if both know the same names.
impl PartialEq for Registry {
    fn eq(&self, other: &Registry) -> bool {
        fn same<K: Kind>(one: &Lines<K>, other: &Lines<K>) -> bool {
            one.iter().map(|line| &line.name).eq(other.iter().map(|line| &line.name))
        }
        same(&self.controllers, &other.controllers)
            && same(&self.disciplines, &other.disciplines)
            && same(&self.schemes, &other.schemes)
            && same(&self.routers, &other.routers)
    }
}

impl Registry {
    /// The tables of this build.
    pub(crate) fn of_build() -> &'static Registry {
        static BUILD: LazyLock<Registry> = LazyLock::new(kinds::tables);
        &BUILD
    }

    /// Add what another crate brings: scenarios that are loaded with this registry know its name.
    pub fn register<P, K: Kind>(
        &mut self,
        registration: Registration<P, K>,
    ) -> Result<(), RegisterError>
    where
        P: Default + Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        self.add(registration.line()?)
    }

    /// The same of one whose parameters have no type of their own: names, types and defaults are
    /// those of `defaults`. For bindings to languages whose classes say them when they run.
    pub fn register_with<K: Kind>(
        &mut self,
        registration: Registration<toml::Table, K>,
        defaults: toml::Table,
    ) -> Result<(), RegisterError> {
        self.add(registration.line_with(defaults)?)
    }

    fn add<K: Kind>(&mut self, line: Line<K>) -> Result<(), RegisterError> {
        if K::is_taken(&line.name) || self.line::<K>(&line.name).is_some() {
            return Err(RegisterError::Stands { kind: K::WORD, name: line.name });
        }
        K::lines_mut(self).push(Arc::new(line));
        Ok(())
    }

    /// All of a kind, those of the table first; the first is the default, where
    /// there is such a one. Controllers of the table are not there: see [`Registry::algorithms`].
    pub fn lines<K: Kind>(&self) -> &[Arc<Line<K>>] {
        K::lines(self)
    }

    /// The line of that name.
    pub fn line<K: Kind>(&self, name: &str) -> Option<&Arc<Line<K>>> {
        self.lines().iter().find(|line| line.name == *name)
    }
}

/// One of a kind with its parameters.
pub struct Chosen<K: Kind> {
    /// Its line.
    pub line: Arc<Line<K>>,
    /// Its parameters: all, or those that a scenario gives it besides a table for all of its name.
    pub params: toml::Table,
    machine: K::Machine,
}

impl<K: Kind> Chosen<K> {
    pub(crate) fn of(line: Arc<Line<K>>, made: Made<K>, given: toml::Table) -> Chosen<K> {
        let params = if line.over.is_some() { given } else { made.params };
        Chosen { line, params, machine: made.machine }
    }
    /// Its name.
    pub fn name(&self) -> &str {
        &self.line.name
    }
    /// The default.
    pub(crate) fn plain(line: &Arc<Line<K>>) -> Chosen<K> {
        Chosen::of(Arc::clone(line), line.defaults(), toml::Table::new())
    }
    /// What to build it with. Errors in words if the parameters do not go with those of the table
    /// that the scenario has for all of this name.
    pub(crate) fn machine(&self, table: &toml::Table) -> Result<K::Machine, String> {
        let Some(over) = &self.line.over else { return Ok(self.machine.clone()) };
        let made = over(table, &self.params)?;
        made.range.map_err(|e| format!("`{}` must be {}", e.param, e.allowed))?;
        Ok(made.machine)
    }
    /// The machine of one whose scenario has no table for all of its name.
    pub(crate) fn own_machine(&self) -> &K::Machine {
        &self.machine
    }
}

impl Chosen<Disciplines> {
    /// True if it is the default of queues, drop-tail.
    pub fn is_default(&self) -> bool {
        self.line.name == DISCIPLINES[0].name
    }
}

impl<K: Kind> Clone for Chosen<K> {
    fn clone(&self) -> Self {
        let Chosen { line, params, machine } = self;
        Chosen { line: line.clone(), params: params.clone(), machine: machine.clone() }
    }
}

impl<K: Kind> PartialEq for Chosen<K> {
    fn eq(&self, other: &Self) -> bool {
        (&self.line.name, &self.params) == (&other.line.name, &other.params)
    }
}

impl<K: Kind> fmt::Debug for Chosen<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.line.name, self.params)
    }
}

/// The name and the parameters as a scenario writes them, without the defaults.
impl<K: Kind> fmt::Display for Chosen<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line.name)?;
        // Next to a table for all of its name what is given counts, whatever the default.
        let defaults = match self.line.over {
            Some(_) => toml::Table::new(),
            None => self.line.defaults().params,
        };
        let given = self.params.iter().filter(|(key, value)| defaults.get(*key) != Some(value));
        given.into_iter().try_for_each(|(key, value)| write!(f, ", {key} = {value}"))
    }
}
