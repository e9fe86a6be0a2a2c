//! Tables at the top of a scenario that have the parameters of a port scheme: what they share.

use crate::Scenario;
use crate::format::error::Problem;
use crate::format::fault::Fault;
use crate::format::fields::{
    At, Field, Fields, Section, property, read_section, section_schema, sections, value_or,
};
use crate::format::item::{Item, whole};
use crate::format::units::Number;
use crate::registry::{Made, Params, SchemeTraits, Schemes};
use forebay_base::{ParamError, Span};
use forebay_queue::{RateParams, SchemeSpec};

/// The table of a port scheme.
pub(crate) trait PortTable: Section + Field {
    /// Its key at the top of a scenario: the name of the scheme.
    const NAME: &'static str;
    /// What ports have of which nothing is said.
    const DEFAULT: Self::Params;
    /// Keys that stand for others.
    const REPLACE: &'static [Replaces];
    /// The parameters of a port.
    type Params: Copy + PartialEq;

    /// What its keys stand for.
    fn params(&self) -> Self::Params;
    /// Errors with name and range of a parameter that is outside it.
    fn check(params: &Self::Params) -> Result<(), ParamError>;
    /// The table that says every parameter.
    fn all_keys(params: &Self::Params) -> Self;
    /// The parameters that a scenario has.
    fn of(scenario: &Scenario) -> &Self::Params;
    /// What makes a port.
    fn machine(params: Self::Params) -> SchemeSpec;
}

/// A key, and which others it stands for: where it is given beside a table, those of the table do
/// not count.
pub(crate) type Replaces = (&'static str, fn(&str) -> bool);

/// A pair of gains by name stands for both.
pub(crate) const PAIR: Replaces = ("pair", |key| matches!(key, "alpha" | "beta"));

/// The scheme in scenarios.
pub(crate) const fn scheme<T: PortTable>(traits: SchemeTraits) -> Params<Schemes> {
    Params {
        name: T::NAME,
        schema: section_schema::<T>,
        make: make::<T>,
        over: Some(ports::<T>),
        traits,
    }
}

/// A port with these parameters.
fn make<T: PortTable>(given: &toml::Table) -> Result<Made<Schemes>, String> {
    let item = Item::of(&toml::Value::Table(given.clone()));
    let params = T::read(&item, "").and_then(|table| within_ranges(&table));
    let params = params.map_err(|fault| fault.problem.to_string())?;
    Ok(Made { machine: T::machine(params), params: given.clone(), range: Ok(()) })
}

fn ports<T: PortTable>(scenario: &Scenario, given: &toml::Table) -> toml::Table {
    over(&T::all_keys(T::of(scenario)), given, T::REPLACE)
}

/// The parameters of the table of a scenario, and over them those given.
pub(crate) fn over(table: &impl Section, given: &toml::Table, replace: &[Replaces]) -> toml::Table {
    let mut params = toml::Table::new();
    table.put(&mut params);
    for (_, replaces) in replace.iter().filter(|(key, _)| given.contains_key(*key)) {
        params.retain(|key, _| !replaces(key));
    }
    params.extend(given.clone());
    params
}

/// What a table stands for.
pub(crate) fn resolve<T: PortTable>(given: Option<&At<T>>) -> Result<T::Params, Fault> {
    given.map_or(Ok(T::DEFAULT), |at| within_ranges(&at.value))
}

fn within_ranges<T: PortTable>(table: &T) -> Result<T::Params, Fault> {
    let params = table.params();
    match T::check(&params) {
        Ok(()) => Ok(params),
        Err(ParamError { param, allowed, .. }) => Err(fault(table, param, &allowed)),
    }
}

/// The parameter of that name is out of its range. Those that are not given are within theirs.
fn fault<T: PortTable>(table: &T, param: &str, allowed: &str) -> Fault {
    let expected = allowed.to_string();
    match table.given(param) {
        Some((place, found)) => place.fault(Problem::OutOfRange { found, expected }),
        None => {
            let text = format!("`{param}` must be {expected}");
            Fault::at(whole(0), T::NAME, Problem::Conflict(text))
        }
    }
}

/// The table that stands for the ports of a scenario, every key given; None where there are none
/// and nothing was said.
pub(crate) fn describe<T: PortTable>(scenario: &Scenario) -> Option<At<T>> {
    let mut names = scenario.named_protocols().into_iter();
    let params = T::of(scenario);
    let is_said = *params != T::DEFAULT;
    let runs = is_said || names.any(|name| scenario.bundle(name).port == Some(T::NAME));
    runs.then(|| At::new(T::all_keys(params)))
}

sections! {
    /// The loop that computes one rate for all flows of a port.
    pub struct RateKeys {
        required {}
        optional {
            /// Gain on the spare rate. Range: more than 0. Default: that of `pair`. Example: 0.4.
            alpha: Number,
            /// Gain on the queue. Range: 0 or more. Default: that of `pair`. Example: 0.4.
            beta: Number,
            /// Share of the link to fill. Range: more than 0, at most 2. Default: 1.
            gamma: Number,
            /// Longest interval between two updates of the rate. Range: 1us or more. Default:
            /// "10ms".
            max_interval: Span,
            /// First rate as a share of the link's rate. Range: more than 0, at most 1. Default:
            /// 0.05.
            initial_share: Number,
        }
    }
}

impl RateKeys {
    /// What they stand for, with the gains of a pair and, for the rest, what `base` has.
    pub fn params(&self, pair: RateParams, base: RateParams) -> RateParams {
        let number = |at: &Option<At<Number>>, or: f64| value_or(at, Number(or)).0;
        RateParams {
            pair: None,
            alpha: number(&self.alpha, pair.alpha),
            beta: number(&self.beta, pair.beta),
            gamma: number(&self.gamma, base.gamma),
            initial_rtt: base.initial_rtt,
            max_interval: value_or(&self.max_interval, base.max_interval),
            initial_share: number(&self.initial_share, base.initial_share),
        }
    }
    /// All of them, and the key `initial_rtt`.
    pub fn all(params: &RateParams) -> (RateKeys, Option<At<Span>>) {
        // Without `..`: a new parameter must get a key here.
        let RateParams { alpha, beta, gamma, initial_rtt, max_interval, initial_share, .. } =
            *params;
        let keys = RateKeys {
            alpha: At::some(Number(alpha)),
            beta: At::some(Number(beta)),
            gamma: At::some(Number(gamma)),
            max_interval: At::some(max_interval),
            initial_share: At::some(Number(initial_share)),
        };
        (keys, At::some(initial_rtt))
    }
}
