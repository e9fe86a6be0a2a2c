//! The door for what other crates bring.

use super::kinds::{ControllerMachine, Controllers, Disciplines, Routers, Schemes};
use super::specs::first_line;
use super::{Kind, Line, Made};
use crate::format::names::{Name, is_name};
use crate::format::takes::lazy;
use crate::registry::protocol::NetworkRequirements;
use forebay_base::head_comment;
use forebay_cc::{AnyController, AnyFeedback, Controller, Feedback, Init, ParamError};
use forebay_net::MakeDiscipline;
use forebay_queue::{AnyDiscipline, Discipline, PortInit, PortScheme, SchemeSpec};
use forebay_router::{Forwarding, ForwardingSpec, RouterInit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A controller, discipline, port scheme or router of another crate, to be registered under a name.
///
/// `P` holds its parameters: serde with `default` and `deny_unknown_fields`, which registering
/// checks; [`NoParams`] if there are none. See `crates/forebay-cli/examples/aimd.rs`.
pub struct Registration<P, K: Kind = Controllers> {
    name: Name,
    title: Option<String>,
    reference: String,
    summary: String,
    about: String,
    schema: Option<Json>,
    check: fn(&P) -> Result<(), ParamError>,
    build: Box<Build<P, K>>,
    traits: K::Traits,
}

/// The parameters of what has none.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// Makes what is registered of its parameters.
type Build<P, K> = dyn Fn(Arc<P>) -> <K as Kind>::Machine + Send + Sync;

impl<P> Registration<P, Controllers>
where
    P: Send + Sync + 'static,
{
    /// The algorithm `name` (lower-case letters, digits, `-`), whose controllers `build` makes.
    pub fn new<C: Controller + 'static>(
        name: impl Into<Name>,
        build: impl Fn(&P, Init) -> C + Send + Sync + 'static,
    ) -> Self {
        let build = Arc::new(build);
        Registration::of(name, move |params: Arc<P>| {
            let build = Arc::clone(&build);
            ControllerMachine {
                controller: Arc::new(move |init| {
                    AnyController::Custom(Box::new(build(&params, init)))
                }),
                feedback: Arc::new(|| AnyFeedback::None),
            }
        })
    }

    /// Its receiver half.
    pub fn feedback<F: Feedback + 'static>(
        self,
        build: impl Fn(&P) -> F + Send + Sync + 'static,
    ) -> Self {
        let (controller, build) = (self.build, Arc::new(build));
        let both = move |params: Arc<P>| {
            let (machine, build) = (controller(Arc::clone(&params)), Arc::clone(&build));
            let feedback = move || AnyFeedback::Custom(Box::new(build(&params)));
            ControllerMachine { feedback: Arc::new(feedback), ..machine }
        };
        Registration { build: Box::new(both), ..self }
    }

    /// Network requirements of its flows, by name.
    pub fn needs(self, bundle: NetworkRequirements) -> Self {
        Registration { traits: bundle, ..self }
    }
}

impl<P> Registration<P, Disciplines>
where
    P: Send + Sync + 'static,
{
    /// The queue discipline `name`, whose queues `build` makes.
    pub fn discipline<D: Discipline + 'static>(
        name: impl Into<Name>,
        build: impl Fn(&P, PortInit) -> D + Send + Sync + 'static,
    ) -> Self {
        let build = Arc::new(build);
        Registration::of(name, move |params: Arc<P>| -> MakeDiscipline {
            let build = Arc::clone(&build);
            Arc::new(move |init| AnyDiscipline::Custom(Box::new(build(&params, init))))
        })
    }
}

impl<P> Registration<P, Schemes>
where
    P: Send + Sync + 'static,
{
    /// The port scheme `name`: `build` makes meter and egress of a port.
    pub fn port_scheme<S: PortScheme + 'static>(
        name: impl Into<Name>,
        build: impl Fn(&P, PortInit) -> S + Send + Sync + 'static,
    ) -> Self {
        let build = Arc::new(build);
        Registration::of(name, move |params: Arc<P>| {
            let build = Arc::clone(&build);
            SchemeSpec::Custom(Arc::new(move |init| Box::new(build(&params, init))))
        })
    }
}

impl<P> Registration<P, Routers>
where
    P: Send + Sync + 'static,
{
    /// The kind of router `name`: `build` makes the machine of a node.
    pub fn router<F: Forwarding>(
        name: impl Into<Name>,
        build: impl Fn(&P, RouterInit<'_>) -> F + Send + Sync + 'static,
    ) -> Self {
        let (name, build) = (name.into(), Arc::new(build));
        let of_spec: Arc<str> = name.as_str().into();
        Registration::of(name, move |params: Arc<P>| {
            let build = Arc::clone(&build);
            let make = move |init: RouterInit<'_>| -> Box<dyn Forwarding> {
                Box::new(build(&params, init))
            };
            ForwardingSpec::Custom(of_spec.clone(), Arc::new(make))
        })
    }

    /// What links between two of this kind carry beyond their MTU, in bytes: room for what these
    /// routers add to a full-sized packet.
    pub fn mtu_room_bytes(mut self, bytes: u16) -> Self {
        self.traits.mtu_room_bytes = bytes;
        self
    }
}

impl<P, K: Kind> Registration<P, K> {
    fn of(
        name: impl Into<Name>,
        build: impl Fn(Arc<P>) -> K::Machine + Send + Sync + 'static,
    ) -> Self {
        Registration {
            name: name.into(),
            title: None,
            reference: String::new(),
            summary: String::new(),
            about: String::new(),
            schema: None,
            check: |_| Ok(()),
            build: Box::new(build),
            traits: K::Traits::default(),
        }
    }

    /// Name in figures and text; else the name itself.
    pub fn title(self, title: impl Into<String>) -> Self {
        Registration { title: Some(title.into()), ..self }
    }

    /// RFC, draft or DOI.
    pub fn reference(self, reference: impl Into<String>) -> Self {
        Registration { reference: reference.into(), ..self }
    }

    /// Its summary, in one line, for `forebay list`.
    pub fn summary(self, summary: impl Into<String>) -> Self {
        Registration { summary: summary.into(), ..self }
    }

    /// What it implements, for `forebay explain`: text, or the source of a file whose head comment
    /// (`//!`) says it.
    pub fn about(self, about: impl Into<String>) -> Self {
        Registration { about: about.into(), ..self }
    }

    /// How its parameters are checked against their ranges.
    pub fn check(self, check: fn(&P) -> Result<(), ParamError>) -> Self {
        Registration { check, ..self }
    }

    /// JSON Schema of the parameters; else it is made of the defaults, without descriptions.
    pub fn schema(self, schema: Json) -> Self {
        Registration { schema: Some(schema), ..self }
    }
}

impl<P, K: Kind> Registration<P, K>
where
    P: Default + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    /// The line that it adds to a registry.
    pub(super) fn line(self) -> Result<Line<K>, RegisterError> {
        let name = self.name.clone();
        if !is_name(&name) {
            return Err(RegisterError::NotAName { name });
        }
        let defaults = self.defaults()?;
        if let Some(key) = K::OWN_KEYS.iter().find(|key| defaults.contains_key(**key)) {
            return Err(RegisterError::Key { name, key });
        }
        let Registration { title, reference, summary, about, schema, check, build, traits, .. } =
            self;
        let head: Vec<String> = head_comment(&about).map(str::to_string).collect();
        let lines = || about.lines().map(str::to_string).collect();
        let schema = schema.unwrap_or_else(|| schema_of(&defaults));
        Ok(Line {
            title: title.unwrap_or_else(|| name.to_string()),
            name,
            reference,
            summary,
            about: if head.is_empty() { lines() } else { head },
            schema: lazy(move || schema),
            traits,
            make: Box::new(move |given| {
                let params: P = read(given).map_err(first_line)?;
                let all = written(&params).expect("the defaults could be written");
                let range = check(&params);
                Ok(Made { machine: build(Arc::new(params)), params: all, range })
            }),
            over: None,
        })
    }

    /// The defaults of its parameters, which can be written and read and are within their ranges.
    fn defaults(&self) -> Result<toml::Table, RegisterError> {
        let name = || self.name.clone();
        (self.check)(&P::default())
            .map_err(|error| RegisterError::Defaults { name: name(), error })?;
        let unread = |why: String| RegisterError::Parameters { name: name(), why };
        let defaults = written(&P::default()).map_err(unread)?;
        read::<P>(&defaults).map_err(|e| unread(e.to_string()))?;
        read::<P>(&toml::Table::new()).map_err(|_| {
            unread("a table with some of them is refused: add #[serde(default)]".to_string())
        })?;
        let mut odd = defaults.clone();
        odd.insert("no-such-parameter".to_string(), toml::Value::Integer(1));
        if read::<P>(&odd).is_ok() {
            let why = "a name that is none of them passes: add #[serde(deny_unknown_fields)]";
            return Err(unread(why.to_string()));
        }
        Ok(defaults)
    }
}

impl<K: Kind> Registration<toml::Table, K> {
    /// The line of one whose parameters are known when the program runs, by their defaults.
    pub(super) fn line_with(self, defaults: toml::Table) -> Result<Line<K>, RegisterError> {
        let name = self.name.clone();
        if !is_name(&name) {
            return Err(RegisterError::NotAName { name });
        }
        if let Some(key) = K::OWN_KEYS.iter().find(|key| defaults.contains_key(**key)) {
            return Err(RegisterError::Key { name, key });
        }
        let Registration { title, reference, summary, about, schema, build, traits, .. } = self;
        let schema = schema.unwrap_or_else(|| schema_of(&defaults));
        Ok(Line {
            title: title.unwrap_or_else(|| name.to_string()),
            name,
            reference,
            summary,
            about: about.lines().map(str::to_string).collect(),
            schema: lazy(move || schema),
            traits,
            make: Box::new(move |given| {
                let params = completed(&defaults, given)?;
                Ok(Made { machine: build(Arc::new(params.clone())), params, range: Ok(()) })
            }),
            over: None,
        })
    }
}

/// The defaults with what is given in their place, each of the type of its default. An integer
/// stands for a float.
fn completed(defaults: &toml::Table, given: &toml::Table) -> Result<toml::Table, String> {
    let mut params = defaults.clone();
    for (key, value) in given {
        let Some(default) = defaults.get(key) else { return Err(format!("unknown key `{key}`")) };
        let value = match (default, value) {
            (toml::Value::Float(_), toml::Value::Integer(n)) => toml::Value::Float(*n as f64),
            (default, value) if default.same_type(value) => value.clone(),
            (default, value) => {
                let (expected, found) = (default.type_str(), value.type_str());
                return Err(format!("expected {expected}, found {found}"));
            }
        };
        params.insert(key.clone(), value);
    }
    Ok(params)
}

fn read<P: DeserializeOwned>(table: &toml::Table) -> Result<P, toml::de::Error> {
    toml::Value::Table(table.clone()).try_into()
}

fn written<P: Serialize>(params: &P) -> Result<toml::Table, String> {
    toml::Table::try_from(params).map_err(|e| e.to_string())
}

/// Why a name was not registered.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum RegisterError {
    /// The name stands already: in the table, or registered before.
    #[error("the {kind} `{name}` is there already: choose another name")]
    Stands {
        /// What has the name.
        kind: &'static str,
        /// The name.
        name: Name,
    },
    /// It cannot be a name.
    #[error("`{name}` is no name: expected 1 to 40 lower-case letters, digits and `-`")]
    NotAName {
        /// The name.
        name: Name,
    },
    /// A parameter has the name of a key that stands next to the parameters.
    #[error("`{name}` has a parameter `{key}`: that key has a meaning of its own in scenarios")]
    Key {
        /// The name.
        name: Name,
        /// The parameter.
        key: &'static str,
    },
    /// The default of a parameter is out of its range.
    #[error(
        "the default of `{}` in `{name}` is out of range: expected {}",
        .error.param, .error.allowed
    )]
    Defaults {
        /// The name.
        name: Name,
        /// The parameter, and its range.
        error: ParamError,
    },
    /// The parameters cannot be read from a scenario.
    #[error("the parameters of `{name}`: {why}")]
    Parameters {
        /// The name.
        name: Name,
        /// What is wrong with their type.
        why: String,
    },
}

/// The schema that follows from defaults: names, types and values.
fn schema_of(defaults: &toml::Table) -> Json {
    let kind = |value: &toml::Value| match value {
        toml::Value::Boolean(_) => "boolean",
        toml::Value::Integer(_) => "integer",
        toml::Value::Float(_) => "number",
        toml::Value::Array(_) => "array",
        toml::Value::Table(_) => "object",
        toml::Value::String(_) | toml::Value::Datetime(_) => "string",
    };
    let properties = defaults.iter().map(|(key, value)| {
        let default = serde_json::to_value(value).unwrap_or(Json::Null);
        (key.clone(), json!({ "type": kind(value), "default": default }))
    });
    let properties: serde_json::Map<String, Json> = properties.collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}
