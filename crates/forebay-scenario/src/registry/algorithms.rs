//! Congestion control algorithms by name: the table of `forebay-cc`, and those that a program
//! registers before it reads its first scenario.

use crate::registry::param_types::{ParamSchema, of_algorithms};
use crate::registry::protocol::Bundle;
use crate::registry::{Chosen, Controllers, Line, first_line, lines};
use forebay_base::{Rng, Stream};
use forebay_cc::{
    AckPolicy, AnyController, AnyFeedback, Controller, Entry, Init, ParamError, Spec, TABLE,
};
use serde_json::Value as Json;
use std::sync::Arc;

/// An algorithm that scenarios can name.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Table(&'static Entry),
    Registered(&'static Line<Controllers>),
}

impl Algorithm {
    /// All of them: those of the table, then registered ones in their order.
    pub fn all() -> Vec<Algorithm> {
        let table = TABLE.iter().map(|entry| Algorithm(Kind::Table(entry)));
        let registered = lines().into_iter().map(|one| Algorithm(Kind::Registered(one)));
        table.chain(registered).collect()
    }

    /// The one of that name.
    pub fn by_name(name: &str) -> Option<Algorithm> {
        Algorithm::all().into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Name in scenario files, on the command line and in results.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Table(entry) => entry.name,
            Kind::Registered(one) => one.name,
        }
    }

    /// Name in figures and text.
    pub fn title(self) -> &'static str {
        match self.0 {
            Kind::Table(entry) => entry.title,
            Kind::Registered(one) => one.title,
        }
    }

    /// RFC, draft or DOI; empty if a registered one gives none.
    pub fn reference(self) -> &'static str {
        match self.0 {
            Kind::Table(entry) => entry.reference,
            Kind::Registered(one) => one.reference,
        }
    }

    /// What it does, in one line.
    pub fn summary(self) -> &'static str {
        match self.0 {
            Kind::Table(entry) => entry.summary,
            Kind::Registered(one) => one.summary,
        }
    }

    /// What it implements, line by line.
    pub fn about(self) -> Vec<&'static str> {
        match self.0 {
            Kind::Table(entry) => entry.about().collect(),
            Kind::Registered(one) => one.about.clone(),
        }
    }

    /// It with its default parameters.
    pub fn spec(self) -> AlgorithmSpec {
        match self.0 {
            Kind::Table(entry) => AlgorithmSpec::Table((entry.spec)()),
            Kind::Registered(one) => {
                let spec = RegisteredSpec::of(one, &toml::Table::new());
                AlgorithmSpec::Registered(spec.expect("a line can be made of nothing"))
            }
        }
    }

    /// It with these parameters, which are not checked against their ranges.
    pub(crate) fn with(self, params: &toml::Table) -> Result<AlgorithmSpec, String> {
        match self.0 {
            Kind::Table(entry) => {
                let tagged = [(entry.name.to_string(), toml::Value::Table(params.clone()))];
                let tagged: toml::Table = tagged.into_iter().collect();
                let spec: Result<Spec, _> = toml::Value::Table(tagged).try_into();
                spec.map(AlgorithmSpec::Table).map_err(first_line)
            }
            Kind::Registered(one) => RegisteredSpec::of(one, params).map(AlgorithmSpec::Registered),
        }
    }

    /// What its flows need in the network and of the transport.
    pub fn bundle(self) -> Bundle {
        match self.0 {
            Kind::Table(entry) => Bundle::of_table(entry.name),
            Kind::Registered(one) => one.traits,
        }
    }

    /// When ACKs of its flows leave, if it says so itself; None: as `ack_policy` says.
    pub fn ack_policy(self) -> Option<AckPolicy> {
        let init = Init {
            mss_bytes: 1460,
            initial_window_bytes: 14_600,
            initial_ssthresh_bytes: u64::MAX,
            paced: false,
            rng: Rng::new(0, Stream::Controller, 0),
        };
        self.spec().build(init).ack_policy()
    }

    /// The schema of its parameters.
    pub(crate) fn schema(self) -> ParamSchema {
        let own = self.own_schema().map(|own| (own.clone(), own));
        let (root, params) = own.unwrap_or_else(|| {
            let all = schemars::schema_for!(Spec).to_value();
            let params = of_algorithms(&all)[self.name()].clone();
            (all, params)
        });
        let params = match params["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
            Some(pointer) => root.pointer(pointer).cloned().unwrap_or_default(),
            None => params,
        };
        ParamSchema { root, params }
    }

    /// JSON Schema of its parameters; None for one of the table, which `forebay-cc` describes.
    pub(crate) fn own_schema(self) -> Option<Json> {
        match self.0 {
            Kind::Table(_) => None,
            Kind::Registered(one) => Some(one.schema.clone()),
        }
    }
}

/// A registered algorithm and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredSpec {
    chosen: Chosen<Controllers>,
    range: Result<(), ParamError>,
}

impl RegisteredSpec {
    fn of(line: &'static Line<Controllers>, given: &toml::Table) -> Result<RegisteredSpec, String> {
        let made = (line.make)(given)?;
        let range = made.range;
        Ok(RegisteredSpec { chosen: Chosen::of(line, made, given.clone()), range })
    }
}

/// An algorithm and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum AlgorithmSpec {
    /// One of the table.
    Table(Spec),
    /// A registered one.
    Registered(RegisteredSpec),
}

impl AlgorithmSpec {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            AlgorithmSpec::Table(spec) => spec.name(),
            AlgorithmSpec::Registered(spec) => spec.chosen.name(),
        }
    }

    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        match self {
            AlgorithmSpec::Table(spec) => spec.check(),
            AlgorithmSpec::Registered(spec) => spec.range,
        }
    }

    /// The controller of one path. The parameters must have passed [`AlgorithmSpec::check`].
    pub fn build(&self, init: Init) -> AnyController {
        match self {
            AlgorithmSpec::Table(spec) => spec.build(init),
            AlgorithmSpec::Registered(spec) => (spec.chosen.own_machine().controller)(init),
        }
    }

    /// Makes the receiver half of a path, again and again.
    pub fn feedback_maker(&self) -> Arc<dyn Fn() -> AnyFeedback + Send + Sync> {
        match self {
            AlgorithmSpec::Table(spec) => spec.feedback_maker(),
            AlgorithmSpec::Registered(spec) => spec.chosen.own_machine().feedback.clone(),
        }
    }

    /// All parameters.
    pub fn params(&self) -> toml::Table {
        match self {
            AlgorithmSpec::Table(spec) => {
                let value = toml::Value::try_from(spec).expect("parameters are plain values");
                match value.get(spec.name()) {
                    Some(toml::Value::Table(params)) => params.clone(),
                    _ => toml::Table::new(),
                }
            }
            AlgorithmSpec::Registered(spec) => spec.chosen.params.clone(),
        }
    }
}
