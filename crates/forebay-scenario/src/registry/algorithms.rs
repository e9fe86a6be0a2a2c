//! Congestion control algorithms by name: the table of `forebay-cc`, and those that a program
//! registers.

use crate::registry::param_types::{ParamSchema, of_algorithms};
use crate::registry::protocol::NetworkRequirements;
use crate::registry::{Chosen, Controllers, Line, Registry, first_line};
use forebay_base::{Rng, Stream};
use forebay_cc::{
    AckPolicy, AnyController, AnyFeedback, Controller, Entry, Feedback, Init, ParamError, Spec,
    TABLE,
};
use serde_json::Value as Json;
use std::sync::Arc;

/// An algorithm that scenarios can name.
#[derive(Clone, Debug)]
pub struct Algorithm(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Table(&'static Entry),
    Registered(Arc<Line<Controllers>>),
}

impl Registry {
    /// All algorithms: those of the table, then registered ones in their order.
    pub fn algorithms(&self) -> Vec<Algorithm> {
        let table = TABLE.iter().map(|entry| Algorithm(Kind::Table(entry)));
        let registered = self.lines().iter().map(|one| Algorithm(Kind::Registered(one.clone())));
        table.chain(registered).collect()
    }

    /// The algorithm of that name.
    pub fn algorithm(&self, name: &str) -> Option<Algorithm> {
        let listed = TABLE.iter().find(|entry| entry.name == name);
        let registered = || self.lines().iter().find(|one| one.name == name).cloned();
        listed.map(Kind::Table).or_else(|| registered().map(Kind::Registered)).map(Algorithm)
    }
}

impl Algorithm {
    /// Name in scenario files, on the command line and in results.
    pub fn name(&self) -> &str {
        match &self.0 {
            Kind::Table(entry) => entry.name,
            Kind::Registered(one) => &one.name,
        }
    }

    /// Name in figures and text.
    pub fn title(&self) -> &str {
        match &self.0 {
            Kind::Table(entry) => entry.title,
            Kind::Registered(one) => &one.title,
        }
    }

    /// RFC, draft or DOI; empty if a registered one gives none.
    pub fn reference(&self) -> &str {
        match &self.0 {
            Kind::Table(entry) => entry.reference,
            Kind::Registered(one) => &one.reference,
        }
    }

    /// Its summary, in one line.
    pub fn summary(&self) -> &str {
        match &self.0 {
            Kind::Table(entry) => entry.summary,
            Kind::Registered(one) => &one.summary,
        }
    }

    /// What it implements, line by line.
    pub fn about(&self) -> Vec<&str> {
        match &self.0 {
            Kind::Table(entry) => entry.about().collect(),
            Kind::Registered(one) => one.about.iter().map(String::as_str).collect(),
        }
    }

    /// It with its default parameters.
    pub fn spec(&self) -> AlgorithmSpec {
        match &self.0 {
            Kind::Table(entry) => AlgorithmSpec::Table((entry.spec)()),
            Kind::Registered(one) => {
                let spec = RegisteredSpec::of(one, &toml::Table::new());
                AlgorithmSpec::Registered(spec.expect("a line can be made of nothing"))
            }
        }
    }

    /// It with these parameters, which are not checked against their ranges.
    pub(crate) fn with(&self, params: &toml::Table) -> Result<AlgorithmSpec, String> {
        match &self.0 {
            Kind::Table(entry) => {
                let tagged = [(entry.name.to_string(), toml::Value::Table(params.clone()))];
                let tagged: toml::Table = tagged.into_iter().collect();
                let spec: Result<Spec, _> = toml::Value::Table(tagged).try_into();
                spec.map(AlgorithmSpec::Table).map_err(first_line)
            }
            Kind::Registered(one) => RegisteredSpec::of(one, params).map(AlgorithmSpec::Registered),
        }
    }

    /// True if its connections are those of MPTCP, over all paths of a flow.
    pub fn is_multipath(&self) -> bool {
        self.controller().traits().multipath
    }
    /// With its default parameters, at its start.
    fn controller(&self) -> AnyController {
        self.spec().build(Init {
            mss_bytes: 1460,
            initial_window_bytes: 14_600,
            initial_ssthresh_bytes: u64::MAX,
            paced: false,
            rng: Rng::new(0, Stream::Controller, 0),
        })
    }

    /// Requirements of its flows in the network and of the transport.
    pub fn bundle(&self) -> NetworkRequirements {
        match &self.0 {
            Kind::Table(entry) => NetworkRequirements::of_table(entry.name),
            Kind::Registered(one) => one.traits.clone(),
        }
    }

    /// When ACKs of its flows leave, if it says so itself; None: as `ack_policy` says.
    pub fn ack_policy(&self) -> Option<AckPolicy> {
        self.controller().ack_policy()
    }
    /// True if its receivers demand an ACK for each packet as a rule, whatever `ack_policy` says.
    pub fn demands_acks(&self) -> bool {
        let feedback = self.spec().feedback_maker();
        feedback().demands_acks()
    }

    /// The schema of its parameters.
    pub(crate) fn schema(&self) -> ParamSchema {
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
    pub(crate) fn own_schema(&self) -> Option<Json> {
        match &self.0 {
            Kind::Table(_) => None,
            Kind::Registered(one) => Some(one.schema().clone()),
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
    fn of(line: &Arc<Line<Controllers>>, given: &toml::Table) -> Result<RegisteredSpec, String> {
        let made = (line.make)(given)?;
        let range = made.range.clone();
        Ok(RegisteredSpec { chosen: Chosen::of(Arc::clone(line), made, given.clone()), range })
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
    pub fn name(&self) -> &str {
        match self {
            AlgorithmSpec::Table(spec) => spec.name(),
            AlgorithmSpec::Registered(spec) => spec.chosen.name(),
        }
    }

    /// All parameters as the paper of the algorithm has them; of a registered one its defaults.
    pub(crate) fn paper_params(&self) -> toml::Table {
        match self {
            AlgorithmSpec::Table(spec) => AlgorithmSpec::Table(spec.of_paper()).params(),
            AlgorithmSpec::Registered(spec) => spec.chosen.line.defaults().params,
        }
    }

    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        match self {
            AlgorithmSpec::Table(spec) => spec.check(),
            AlgorithmSpec::Registered(spec) => spec.range.clone(),
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
