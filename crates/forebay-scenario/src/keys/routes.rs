//! `[routes]`, and `weight` of a link: which way packets take.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::{
    Field, Fields, Section, Spanned, names, property, read_section, section_schema, sections,
    value_or,
};
use crate::format::item::{Item, Value};
use forebay_net::{EqualCosts, MAX_TREES, RouteRule};
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

/// The weight of a link; `fault` places what is wrong with it.
pub(crate) fn weight(value: u32, fault: impl Fn(Problem) -> Fault) -> Result<u32, Fault> {
    if WEIGHTS.contains(&value) {
        return Ok(value);
    }
    let problem = Problem::OutOfRange { found: value.to_string(), expected: WEIGHT_RANGE.into() };
    Err(fault(problem).hint(WEIGHT_HINT))
}
