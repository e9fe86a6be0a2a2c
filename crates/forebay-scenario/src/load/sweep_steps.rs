//! What is swept, as it was read: the axes of a sweep and their steps.

use crate::format::axis;
use crate::format::fault::{Fault, Problem};
use crate::format::item::{Item, Value};
use crate::keys::sweep::Target;
use std::collections::BTreeSet;

/// An axis as it was read.
pub(super) struct Draft {
    /// What its steps differ in, if it is said.
    pub name: Option<String>,
    pub targets: Vec<Target>,
    /// Names and values by target.
    pub steps: Vec<(Option<String>, Vec<Option<Item>>)>,
    /// Its values are those of a range.
    pub is_range: bool,
}

impl Draft {
    /// Keep the steps with these names, if there are some.
    pub fn keep_only(&mut self, names: &[String]) {
        let is_wanted = |name: &Option<String>| name.as_ref().is_some_and(|n| names.contains(n));
        if self.steps.iter().any(|(name, _)| is_wanted(name)) {
            self.steps.retain(|(name, _)| is_wanted(name));
        }
    }
}

/// Errors if two steps of an axis have one name, or, without names, the same values: their results
/// could not be told apart.
pub(super) fn check(draft: &Draft) -> Result<(), Fault> {
    let mut known = BTreeSet::new();
    for (name, values) in &draft.steps {
        let set = || {
            draft.targets.iter().zip(values).filter_map(|(of, value)| Some((of, value.as_ref()?)))
        };
        let text =
            |(target, item): (&Target, &Item)| format!("{} = {}", target.text, item.to_toml());
        let value = |(target, item): (&Target, &Item)| format!("{} = {}", target.text, same(item));
        let as_known = match name {
            Some(name) => format!("`{name}`"),
            None => set().map(value).collect::<Vec<_>>().join(", "),
        };
        if !known.insert(as_known) {
            let conflict = Problem::Conflict(match name {
                Some(name) => format!("two points are called `{name}`"),
                None => {
                    format!("`{}` is there twice", set().map(text).collect::<Vec<_>>().join("`, `"))
                }
            });
            return Err(match set().next() {
                Some((_, item)) => Fault::at(item.loc, "", conflict),
                None => Fault::nowhere(conflict),
            });
        }
    }
    Ok(())
}

/// The same text for values that are the same: `1ms` and `0.001s`, 1 and 1.0.
fn same(item: &Item) -> String {
    match &item.value {
        Value::Integer(i) => i.to_string(),
        Value::Float(x) => x.to_string(),
        Value::String(text) => match axis::in_basic_unit(text) {
            Some((value, unit)) => format!("{value} {unit}"),
            None => item.to_toml().to_string(),
        },
        _ => item.to_toml().to_string(),
    }
}
