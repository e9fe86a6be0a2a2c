//! The points of a sweep: one scenario, of which some keys have other values at each point.

use serde::{Deserialize, Serialize};

/// One point: what to change in the scenario. Plain data, which another process can be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Its number, from 0.
    pub number: u64,
    /// Its name, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The changes, as `--set` has them: `links.0.rate = "10Mbit/s"`.
    pub set: Vec<String>,
}

/// A key that is swept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptKey {
    /// As it was given: `links.0.rate`.
    pub key: String,
    /// The type of its values.
    pub kind: SweptKind,
    /// The unit of its values: `s`, `bit/s`, `B`, `packets`, `BDP`, or empty.
    pub unit: String,
}

/// The type of the values of a swept key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SweptKind {
    /// All of them are integers.
    Integer,
    /// Numbers, in one unit.
    Real,
    /// True or false.
    Boolean,
    /// Anything else: as it is written.
    Text,
}

/// A value of a swept key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SweptValue {
    /// True or false.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A number, in the unit of its key.
    Real(f64),
    /// Anything else.
    Text(String),
}

/// What to sweep, besides what the scenario itself says under `[[sweep]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Swept {
    /// As an argument of the command: `KEY=V1,V2` or `KEY=FROM..TO log N`.
    Argument(String),
    /// Keys that change together, each with as many values as the others, which are TOML or bare
    /// texts as in `--set`.
    Together(Vec<(String, Vec<String>)>),
    /// Points one by one: a name, and changes as `--set` has them.
    Points(Vec<(Option<String>, Vec<String>)>),
    /// Of the points that have names those with these names alone, and all of those of tables in
    /// which none has such a name.
    Only(Vec<String>),
}

/// All points of a sweep: every step of each axis with every step of the others, the last axis
/// changing first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    pub(crate) keys: Vec<SweptKey>,
    pub(crate) axes: Vec<Axis>,
}

/// Keys that change together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// What its steps differ in, if it is said.
    pub name: Option<String>,
    /// Their numbers among the keys of the grid.
    pub keys: Vec<usize>,
    pub steps: Vec<Step>,
}

/// One step of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub name: Option<String>,
    /// By key of the axis; None where this step does not set it.
    pub values: Vec<Option<StepValue>>,
}

/// A value that a step sets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepValue {
    /// The value as TOML.
    pub toml: String,
    pub value: SweptValue,
}

impl Grid {
    /// The keys that are swept.
    pub fn keys(&self) -> &[SweptKey] {
        &self.keys
    }

    /// The number of points; None above 2^64.
    pub fn points(&self) -> Option<u64> {
        self.axes.iter().try_fold(1u64, |all, axis| all.checked_mul(axis.steps.len() as u64))
    }

    /// The keys that change together, as numbers of [`Grid::keys`], with the number of their steps.
    pub fn axes(&self) -> impl Iterator<Item = (&[usize], usize)> {
        self.axes.iter().map(|axis| (axis.keys.as_slice(), axis.steps.len()))
    }

    /// Of each axis its name, if it has one, and those of its steps; no step if one has none.
    pub fn names(&self) -> impl Iterator<Item = (Option<&str>, Vec<&str>)> {
        self.axes.iter().map(|axis| {
            let names: Option<Vec<&str>> =
                axis.steps.iter().map(|step| step.name.as_deref()).collect();
            (axis.name.as_deref(), names.unwrap_or_default())
        })
    }

    /// A point. Panics if there is no such point.
    pub fn point(&self, number: u64) -> Point {
        let (mut names, mut set) = (Vec::new(), Vec::new());
        for (axis, step) in self.steps(number) {
            names.extend(step.name.as_deref());
            for (key, value) in axis.keys.iter().zip(&step.values) {
                let Some(StepValue { toml, .. }) = value else { continue };
                set.push(format!("{}={toml}", self.keys[*key].key));
            }
        }
        let name = (!names.is_empty()).then(|| names.join(", "));
        Point { number, name, set }
    }

    /// The values of the keys at a point, in their order; None where the point does not set one.
    /// Panics if there is no such point.
    pub fn values(&self, number: u64) -> Vec<Option<SweptValue>> {
        let mut values = vec![None; self.keys.len()];
        for (axis, step) in self.steps(number) {
            for (key, value) in axis.keys.iter().zip(&step.values) {
                values[*key] = value.as_ref().map(|of| of.value.clone());
            }
        }
        values
    }

    /// The step of each axis at a point.
    pub(crate) fn steps(&self, number: u64) -> impl Iterator<Item = (&Axis, &Step)> {
        let mut rest = number;
        let numbers = self.axes.iter().rev().map(|axis| {
            let steps = axis.steps.len() as u64;
            let step = rest % steps;
            rest /= steps;
            step as usize
        });
        let numbers: Vec<usize> = numbers.collect();
        assert_eq!(rest, 0, "a sweep has no point {number}");
        self.axes.iter().zip(numbers.into_iter().rev()).map(|(axis, n)| (axis, &axis.steps[n]))
    }
}
