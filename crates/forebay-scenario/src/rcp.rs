//! `[rcp]`: parameters of the ports of routers under RCP.

use super::Scenario;
use super::error::{Fault, Problem};
use super::fields::{
    At, Field, Fields, Section, choices, property, read_section, section_schema, sections,
};
use super::item::{Item, Value, whole};
use super::protocol::Bundle;
use super::registry::{Made, Params, SchemeTraits, Schemes};
use super::text::shown;
use super::units::Number;
use forebay_base::Span;
use forebay_queue::{RcpPortParams, SchemeSpec};
use serde_json::Value as Json;

choices! {
    /// A pair of gains with a name.
    pub(super) enum Pair {
        /// That of the published experiments.
        Published = "published",
        /// That of the authors' ns-2 code.
        Ns2 = "ns2",
        /// One that holds a standing queue still.
        Stable = "stable",
    }
}

sections! {
    /// Ports of routers under RCP.
    pub struct RcpTable {
        required {}
        optional {
            /// Gains by name: "published" (alpha 0.1, beta 1; default, as in the papers), "ns2"
            /// (0.4, 0.4) or "stable" (0.4, 0.08).
            pair: Pair,
            /// Gain on the spare rate, above 0, instead of that of the pair.
            alpha: Number,
            /// Gain on the queue, 0 or more, instead of that of the pair.
            beta: Number,
            /// Share of the link to fill, above 0 and at most 2; default 1.
            gamma: Number,
            /// Mean round-trip time before the first sample, with unit, 1us or more; default
            /// "200ms".
            initial_rtt: Span,
            /// Longest interval between two rates, with unit, 1us or more; default "10ms".
            max_interval: Span,
            /// First rate as a share of the link, above 0 and at most 1; default 0.05.
            initial_share: Number,
        }
    }
}

/// What flows of RCP need: ports of routers that stamp rates.
pub(super) const BUNDLE: (&str, Bundle) = ("rcp", Bundle { port: Some("rcp"), ..Bundle::NONE });

/// The scheme in scenarios.
pub(super) const PARAMS: Params<Schemes> =
    Params { name: "rcp", schema, make, over: Some(over), traits: SchemeTraits::NONE };

fn schema() -> Json {
    section_schema::<RcpTable>()
}

/// A port with these parameters.
fn make(given: &toml::Table) -> Result<Made<Schemes>, String> {
    let item = Item::of(&toml::Value::Table(given.clone()));
    let table = At::<RcpTable>::read(&item, "");
    let params = table.and_then(|table| resolve(Some(&table)));
    let params = params.map_err(|fault| fault.problem.to_string())?;
    Ok(Made { machine: SchemeSpec::Rcp(params), params: given.clone(), range: Ok(()) })
}

/// The parameters of `[rcp]`, and over them those given. A pair that is given stands for both of
/// its gains.
fn over(scenario: &Scenario, given: &toml::Table) -> toml::Table {
    let mut params = toml::Table::new();
    all_keys(&scenario.rcp).put(&mut params);
    if given.contains_key("pair") {
        params.retain(|key, _| !matches!(key, "alpha" | "beta"));
    }
    params.extend(given.clone());
    params
}

/// What ports have of which nothing is said: the gains that papers compare themselves with.
pub(super) const DEFAULT: RcpPortParams = RcpPortParams::published();

/// What a table stands for.
pub(super) fn resolve(given: Option<&At<RcpTable>>) -> Result<RcpPortParams, Fault> {
    let Some(At { value: table, .. }) = given else { return Ok(DEFAULT) };
    let base = match table.pair.as_ref().map(|at| at.value) {
        None => DEFAULT,
        Some(Pair::Published) => RcpPortParams::published(),
        Some(Pair::Ns2) => RcpPortParams::default_ns2(),
        Some(Pair::Stable) => RcpPortParams::stable(),
    };
    let number =
        |at: &Option<At<Number>>, default: f64| at.as_ref().map_or(default, |at| at.value.0);
    let time = |at: &Option<At<Span>>, default: Span| at.as_ref().map_or(default, |at| at.value);
    let params = RcpPortParams {
        alpha: number(&table.alpha, base.alpha),
        beta: number(&table.beta, base.beta),
        gamma: number(&table.gamma, base.gamma),
        initial_rtt: time(&table.initial_rtt, base.initial_rtt),
        max_interval: time(&table.max_interval, base.max_interval),
        initial_share: number(&table.initial_share, base.initial_share),
    };
    params.check().map_err(|(param, allowed)| fault(table, param, allowed))?;
    Ok(params)
}

/// The parameter of that name is out of its range. Those that are not given are within theirs.
fn fault(table: &RcpTable, param: &str, allowed: &str) -> Fault {
    let numbers = [
        ("alpha", &table.alpha),
        ("beta", &table.beta),
        ("gamma", &table.gamma),
        ("initial_share", &table.initial_share),
    ];
    let times = [("initial_rtt", &table.initial_rtt), ("max_interval", &table.max_interval)];
    let numbers = numbers
        .iter()
        .filter_map(|(key, at)| at.as_ref().map(|at| (*key, at.place(), shown(&at.value))));
    let times = times
        .iter()
        .filter_map(|(key, at)| at.as_ref().map(|at| (*key, at.place(), shown(&at.value))));
    let expected = allowed.to_string();
    match numbers.chain(times).find(|(key, ..)| *key == param) {
        Some((_, place, found)) => place.fault(Problem::OutOfRange { found, expected }),
        None => {
            let text = format!("`{param}` must be {expected}");
            Fault::at(whole(0), "rcp", Problem::Conflict(text))
        }
    }
}

/// The table that stands for the ports of a scenario, every key given; None where there are none
/// and nothing was said.
pub(super) fn describe(scenario: &Scenario) -> Option<RcpTable> {
    let names = scenario.named_protocols().into_iter();
    let mut names = names.filter(|name| scenario.bundle(name).port == BUNDLE.1.port);
    if scenario.rcp == DEFAULT && names.next().is_none() {
        return None;
    }
    Some(all_keys(&scenario.rcp))
}

/// The table that says every parameter.
fn all_keys(params: &RcpPortParams) -> RcpTable {
    fn some<T>(value: T) -> Option<At<T>> {
        Some(At::new(value))
    }
    // Without `..`: a new parameter must get a key here.
    let RcpPortParams { alpha, beta, gamma, initial_rtt, max_interval, initial_share } = *params;
    RcpTable {
        pair: None,
        alpha: some(Number(alpha)),
        beta: some(Number(beta)),
        gamma: some(Number(gamma)),
        initial_rtt: some(initial_rtt),
        max_interval: some(max_interval),
        initial_share: some(Number(initial_share)),
    }
}
