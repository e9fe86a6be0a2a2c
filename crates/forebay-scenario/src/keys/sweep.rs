//! `[[sweep]]`: keys that change from point to point.

use crate::format::axis;
use crate::format::fault::Fault;
use crate::format::faults::all;
use crate::format::fields::{
    Field, Fields, Section, Spanned, property, read_section, section_schema, sections,
};
use crate::format::item::{Entry, Item, Value, join};
use crate::format::set::{self, Path};
use crate::format::source::Loc;
use serde_json::{Value as Json, json};

sections! {
    /// Keys that a sweep changes from point to point: one of `grid`, `zip` and `points`. Of several
    /// such tables every point of one is combined with every point of the others.
    pub struct SweepEntry {
        required {}
        optional {
            /// Keys, as `--set` has them, each with its values: an array, or a range such as
            /// "10ms..1s log 9". Every value of one key is combined with every value of the others.
            /// Example: { "links.0.delay" = "10ms..1s log 9" }.
            grid: Axes,
            /// Keys with their values, as in `grid`, that change together: the first values make
            /// the first point, the second values the second. Range: as many values for each key.
            /// Example: { "links.0.rate" = ["1Mbit/s", "9Mbit/s"], "flows.0.bytes" = ["1MB",
            /// "9MB"] }.
            zip: Axes,
            /// The points one by one.
            points: Vec<Spanned<PointEntry>>,
            /// What these points differ in, for the head of a column; not with `grid`. Example:
            /// "path".
            name: String,
        }
    }
    /// A point of a sweep.
    pub struct PointEntry {
        required {
            /// Keys, as `--set` has them, with the values that they have at this point. Example: {
            /// "links.0.rate" = "10Mbit/s" }.
            set: Assignments,
        }
        optional {
            /// Name of the point in tables and plots. Example: "DSL".
            name: String,
        }
    }
}

/// Where a key of the scenario stands, as it is written where it is swept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    /// As it is written.
    pub text: String,
    pub path: Path,
    pub loc: Loc,
}

/// Keys with their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axes(pub Vec<(Target, Vec<Item>)>);

/// Keys with one value each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assignments(pub Vec<(Target, Item)>);

impl Field for Axes {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let axes = leaves(item, key)?.into_iter().map(|(target, item, key)| {
            let values = axis::of_item(item, &key)?;
            Ok((target, values))
        });
        all(axes).map(Axes)
    }
    fn write(&self) -> toml::Value {
        let array = |items: &[Item]| toml::Value::Array(items.iter().map(Item::to_toml).collect());
        let axes = self.0.iter().map(|(target, values)| (target.text.clone(), array(values)));
        toml::Value::Table(axes.collect())
    }
    fn schema() -> Json {
        json!({ "type": "object", "additionalProperties": true })
    }
}

impl Field for Assignments {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let leaves = leaves(item, key)?.into_iter();
        Ok(Assignments(leaves.map(|(target, item, _)| (target, item.clone())).collect()))
    }
    fn write(&self) -> toml::Value {
        let all = self.0.iter().map(|(target, item)| (target.text.clone(), item.to_toml()));
        toml::Value::Table(all.collect())
    }
    fn schema() -> Json {
        json!({ "type": "object", "additionalProperties": true })
    }
}

/// What stands in a table whose keys are paths, with the path of each in the scenario and in this
/// table: `"a.b" = 1` and `a.b = 1` say the same.
fn leaves<'a>(item: &'a Item, key: &str) -> Result<Vec<(Target, &'a Item, String)>, Fault> {
    let Value::Table(entries) = &item.value else {
        return Err(item.expected(key, "a table of keys and values"));
    };
    if entries.is_empty() {
        return Err(item.expected(key, "a table of at least one key"));
    }
    let mut found = Vec::new();
    collect(entries, "", &Vec::new(), key, &mut found)?;
    Ok(found)
}

fn collect<'a>(
    entries: &'a [Entry],
    text: &str,
    path: &Path,
    key: &str,
    found: &mut Vec<(Target, &'a Item, String)>,
) -> Result<(), Fault> {
    // One that was wrong is removed: what is left is read for other mistakes.
    let left = entries.iter().filter(|entry| !matches!(entry.item.value, Value::Removed));
    for Entry { key: part, key_loc: loc, item } in left {
        let (text, key) = (join(text, part), join(key, part));
        let own = set::path_at(part, *loc).ok_or_else(|| set::not_assignment(part, *loc))?;
        // In quotes, the parts do not stand where they would without them.
        let own = own.into_iter().map(|(_, part)| (*loc, part));
        let path: Path = path.iter().cloned().chain(own).collect();
        match &item.value {
            Value::Table(entries) if !entries.is_empty() => {
                collect(entries, &text, &path, &key, found)?
            }
            _ => found.push((Target { text, path, loc: *loc }, item, key)),
        }
    }
    Ok(())
}
