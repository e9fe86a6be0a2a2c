//! `[routes]`, and `weight` of a link: which way packets take.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::all;
use crate::format::fields::{
    Field, Fields, Section, Spanned, names, property, read_section, section_schema, sections,
    value_or,
};
use crate::format::item::{Item, Value};
use forebay_net::{EqualCosts, MAX_TREES, Prefix, RouteRule};
use serde_json::{Value as Json, json};
use std::ops::RangeInclusive;

sections! {
    /// How routes are chosen: by the least sum of the `weight` of links, and between equal sums by
    /// a fixed hash of the links.
    pub struct RoutesTable {
        required {}
        optional {
            /// Number of choices between paths of equal cost (ECMP). Each flow keeps to one of
            /// them, by a hash of its addresses and ports that is the same in both directions.
            /// Range: 1 to 64. Default: 1.
            trees: u8,
            /// Between paths of equal cost: "symmetric", the same one in both directions; or
            /// "independent", one drawn for each destination, so that ACKs often return over
            /// other links. Default: "symmetric".
            equal_costs: EqualCosts,
        }
    }
}

names! {
    EqualCosts { Symmetric = "symmetric", Independent = "independent", }
}

/// Of a link, as the metric of OSPF (RFC 2328 section C.3).
const WEIGHTS: RangeInclusive<u32> = 1..=65_535;
/// In words.
pub(crate) const WEIGHT_RANGE: &str = "1 to 65535";
const WEIGHT_HINT: &str = "a path over more links must cost more: give the links to be preferred \
                           1, and the others more";

/// The rule that a table says.
pub(crate) fn resolve(given: Option<&Spanned<RoutesTable>>) -> Result<RouteRule, Fault> {
    let Some(Spanned { value: table, .. }) = given else { return Ok(RouteRule::default()) };
    if let Some(trees) = table.trees.as_ref().filter(|at| !(1..=MAX_TREES).contains(&at.value)) {
        return Err(trees.out_of_range("1 to 64"));
    }
    let default = RouteRule::default();
    Ok(RouteRule {
        trees: value_or(&table.trees, default.trees),
        equal_costs: value_or(&table.equal_costs, default.equal_costs),
    })
}

/// The table of a rule, every key given.
pub(crate) fn table_of(rule: RouteRule) -> RoutesTable {
    RoutesTable { trees: Spanned::some(rule.trees), equal_costs: Spanned::some(rule.equal_costs) }
}

/// The cost of a link in routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight(pub u32);

impl Weight {
    /// One in the range.
    pub fn new(value: i128) -> Option<Weight> {
        u32::try_from(value).ok().filter(|value| WEIGHTS.contains(value)).map(Weight)
    }
    /// What is wrong with a value that is none.
    pub fn fault(value: i128, fault: impl Fn(Problem) -> Fault) -> Fault {
        let expected = WEIGHT_RANGE.to_string();
        fault(Problem::OutOfRange { found: value.to_string(), expected }).hint(WEIGHT_HINT)
    }
}

/// Prefixes of addresses, as texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prefixes(pub Vec<Prefix>);

/// What a list of them looks like.
const PREFIXES: &str = "an array of prefixes, such as [\"192.0.2.0/24\"]";

impl Field for Prefixes {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Array(items) = &item.value else { return Err(item.expected(key, PREFIXES)) };
        let one = |item: &Item| {
            let Value::String(text) = &item.value else { return Err(item.expected(key, PREFIXES)) };
            text.parse::<Prefix>().map_err(|error| {
                let problem = Problem::Conflict(format!("\"{text}\": {error}"));
                Fault::at(item.loc, key, problem)
            })
        };
        all(items.iter().map(one)).map(Prefixes)
    }
    fn write(&self) -> toml::Value {
        let text = |prefix: &Prefix| toml::Value::String(prefix.to_string());
        toml::Value::Array(self.0.iter().map(text).collect())
    }
    fn schema() -> Json {
        json!({ "type": "array", "items": { "type": "string" } })
    }
}

impl Field for Weight {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Integer(value) = item.value else {
            return Err(item.expected(key, format!("an integer from {WEIGHT_RANGE}")));
        };
        let fault = |problem| Fault::at(item.loc, key, problem);
        Weight::new(value).ok_or_else(|| Weight::fault(value, fault))
    }
    fn write(&self) -> toml::Value {
        self.0.write()
    }
    fn schema() -> Json {
        json!({ "type": "integer", "minimum": WEIGHTS.start(), "maximum": WEIGHTS.end() })
    }
}
