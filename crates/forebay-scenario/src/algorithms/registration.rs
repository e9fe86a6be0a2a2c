//! The door for algorithms of other crates.

use super::is_name;
use forebay_base::head_comment;
use forebay_cc::{AnyController, AnyFeedback, Controller, Feedback, Init, ParamError, TABLE};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Says whether parameters are within their ranges.
type Check<P> = dyn Fn(&P) -> Result<(), ParamError> + Send + Sync;
/// Makes a controller of parameters.
type Build<P> = dyn Fn(&P, Init) -> AnyController + Send + Sync;
/// Makes the receiver's part.
type MakeFeedback<P> = dyn Fn(&P) -> AnyFeedback + Send + Sync;

/// An algorithm of another crate, to be registered under a name.
///
/// `P` holds its parameters: serde with `default` and `deny_unknown_fields`, which registering
/// checks. See `crates/forebay-cli/examples/aimd.rs`.
pub struct Registration<P> {
    name: &'static str,
    title: &'static str,
    reference: &'static str,
    summary: &'static str,
    about: &'static str,
    schema: Option<Json>,
    check: fn(&P) -> Result<(), ParamError>,
    build: Box<Build<P>>,
    feedback: Box<MakeFeedback<P>>,
}

impl<P> Registration<P>
where
    P: Default + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    /// The algorithm `name` (lower-case letters, digits, `-`), whose controllers `build` makes.
    pub fn new<C: Controller + 'static>(
        name: &'static str,
        build: impl Fn(&P, Init) -> C + Send + Sync + 'static,
    ) -> Registration<P> {
        Registration {
            name,
            title: name,
            reference: "",
            summary: "",
            about: "",
            schema: None,
            check: |_| Ok(()),
            build: Box::new(move |params, init| {
                AnyController::Custom(Box::new(build(params, init)))
            }),
            feedback: Box::new(|_| AnyFeedback::None),
        }
    }

    /// Name in figures and text; else the name itself.
    pub fn title(self, title: &'static str) -> Self {
        Registration { title, ..self }
    }

    /// RFC, draft or DOI.
    pub fn reference(self, reference: &'static str) -> Self {
        Registration { reference, ..self }
    }

    /// What it does, in one line, for `forebay list`.
    pub fn summary(self, summary: &'static str) -> Self {
        Registration { summary, ..self }
    }

    /// What it implements, for `forebay explain`: text, or the source of a file whose head comment
    /// (`//!`) says it.
    pub fn about(self, about: &'static str) -> Self {
        Registration { about, ..self }
    }

    /// How its parameters are checked against their ranges.
    pub fn check(self, check: fn(&P) -> Result<(), ParamError>) -> Self {
        Registration { check, ..self }
    }

    /// JSON Schema of the parameters; else it is made of the defaults, without descriptions.
    pub fn schema(self, schema: Json) -> Self {
        Registration { schema: Some(schema), ..self }
    }

    /// Its receiver half.
    pub fn feedback<F: Feedback + 'static>(
        self,
        build: impl Fn(&P) -> F + Send + Sync + 'static,
    ) -> Self {
        let feedback = Box::new(move |params: &P| AnyFeedback::Custom(Box::new(build(params))));
        Registration { feedback, ..self }
    }

    /// From now on scenarios, sweeps, reports and experiments of this process know the name.
    pub fn register(self) -> Result<(), RegisterError> {
        let name = self.name;
        if !is_name(name) {
            return Err(RegisterError::NotAName { name });
        }
        (self.check)(&P::default()).map_err(|error| RegisterError::Defaults { name, error })?;
        let unread = |why: String| RegisterError::Parameters { name, why };
        let defaults = toml::Table::try_from(P::default()).map_err(|e| unread(e.to_string()))?;
        defaults.clone().try_into::<P>().map_err(|e| unread(e.to_string()))?;
        toml::Table::new().try_into::<P>().map_err(|_| {
            unread("a table with some of them is refused: add #[serde(default)]".to_string())
        })?;
        let mut odd = defaults.clone();
        odd.insert("no-such-parameter".to_string(), toml::Value::Integer(1));
        if odd.try_into::<P>().is_ok() {
            let why = "a name that is none of them passes: add #[serde(deny_unknown_fields)]";
            return Err(unread(why.to_string()));
        }
        let Registration {
            title, reference, summary, about, schema, check, build, feedback, ..
        } = self;
        let registered = Registered {
            name,
            title,
            reference,
            summary,
            about,
            schema: schema.unwrap_or_else(|| schema_of(&defaults)),
            defaults,
            read: |table| {
                let params: P = table.clone().try_into()?;
                let all = toml::Table::try_from(&params).expect("the defaults could be written");
                Ok((Arc::new(params), all))
            },
            check: Box::new(move |params| check(of_type(params))),
            build: Box::new(move |params, init| build(of_type(params), init)),
            feedback: Box::new(move |params| feedback(of_type(params))),
        };
        let mut all = registry();
        if TABLE.iter().any(|entry| entry.name == name)
            || all.iter().any(|other| other.name == name)
        {
            return Err(RegisterError::Stands { name });
        }
        all.push(Box::leak(Box::new(registered)));
        Ok(())
    }
}

/// Parameters as the type that they were read as.
fn of_type<P: 'static>(params: &dyn Any) -> &P {
    params.downcast_ref().expect("an algorithm gets the parameters that it has read")
}

/// Why a name was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The name stands already: in the table of algorithms, or registered before.
    #[error("the protocol `{name}` is there already: choose another name")]
    Stands {
        /// The name.
        name: &'static str,
    },
    /// It cannot be a name.
    #[error("`{name}` is no name: expected 1 to 40 lower-case letters, digits and `-`")]
    NotAName {
        /// The name.
        name: &'static str,
    },
    /// The default of a parameter is out of its range.
    #[error("the default of `{}` in `{name}` is out of range: expected {}", .error.param, .error.allowed)]
    Defaults {
        /// The name.
        name: &'static str,
        /// The parameter, and its range.
        error: ParamError,
    },
    /// The parameters cannot be read from a scenario.
    #[error("the parameters of `{name}`: {why}")]
    Parameters {
        /// The name.
        name: &'static str,
        /// What is wrong with their type.
        why: String,
    },
}

/// Parameters as a scenario gives them, read; and all of them, as a table.
type Read = (Arc<dyn Any + Send + Sync>, toml::Table);

/// A registration whose parameters have lost their type.
pub(super) struct Registered {
    pub name: &'static str,
    pub title: &'static str,
    pub reference: &'static str,
    pub summary: &'static str,
    about: &'static str,
    pub schema: Json,
    defaults: toml::Table,
    read: fn(&toml::Table) -> Result<Read, toml::de::Error>,
    check: Box<Check<dyn Any>>,
    build: Box<Build<dyn Any>>,
    feedback: Box<MakeFeedback<dyn Any>>,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Registered {
    pub fn about(&self) -> Vec<&'static str> {
        let head: Vec<&str> = head_comment(self.about).collect();
        if head.is_empty() { self.about.lines().collect() } else { head }
    }

    pub fn spec(&'static self) -> RegisteredSpec {
        self.with(&self.defaults).expect("registering has read the defaults")
    }

    pub fn with(&'static self, params: &toml::Table) -> Result<RegisteredSpec, toml::de::Error> {
        let (params, table) = (self.read)(params)?;
        Ok(RegisteredSpec { of: self, params, table })
    }
}

/// A registered algorithm and its parameters.
#[derive(Clone)]
pub struct RegisteredSpec {
    of: &'static Registered,
    params: Arc<dyn Any + Send + Sync>,
    table: toml::Table,
}

impl PartialEq for RegisteredSpec {
    fn eq(&self, other: &RegisteredSpec) -> bool {
        (self.of.name, &self.table) == (other.of.name, &other.table)
    }
}

impl fmt::Debug for RegisteredSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RegisteredSpec").field(&self.of.name).field(&self.table).finish()
    }
}

impl RegisteredSpec {
    pub(super) fn name(&self) -> &'static str {
        self.of.name
    }
    pub(super) fn params(&self) -> &toml::Table {
        &self.table
    }
    pub(super) fn check(&self) -> Result<(), ParamError> {
        (self.of.check)(&*self.params)
    }
    pub(super) fn build(&self, init: Init) -> AnyController {
        (self.of.build)(&*self.params, init)
    }
    pub(super) fn build_feedback(&self) -> AnyFeedback {
        (self.of.feedback)(&*self.params)
    }
}

/// The schema that defaults tell: names, types and values.
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

fn registry() -> MutexGuard<'static, Vec<&'static Registered>> {
    static REGISTRY: Mutex<Vec<&'static Registered>> = Mutex::new(Vec::new());
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What has been registered, in order.
pub(super) fn registered() -> Vec<&'static Registered> {
    registry().clone()
}
