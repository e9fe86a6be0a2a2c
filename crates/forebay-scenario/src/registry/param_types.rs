//! Accepted values of a parameter, in words, from its JSON Schema: for values that serde does not
//! read.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::Spanned;
use crate::format::item::Item;
use crate::format::takes::{Takes, plain};
use serde_json::{Map, Value as Json};

/// The parameters of something, and where references in them lead.
pub(crate) struct ParamSchema {
    pub root: Json,
    pub params: Json,
}

impl ParamSchema {
    /// Their names.
    pub fn keys(&self) -> Vec<&str> {
        let properties = self.params["properties"].as_object().into_iter().flatten();
        properties.map(|(key, _)| key.as_str()).collect()
    }
    /// The fault of the value of a parameter that was refused with `error`.
    pub fn fault(&self, key: &str, value: &Spanned<toml::Value>, error: String) -> Fault {
        let takes = Takes::of(&plain(&self.root, &self.params["properties"][key]));
        let item = Item { loc: value.loc, ..Item::of(&value.value) };
        let checked = takes.map_or(Ok(()), |takes| takes.check(&item, &value.key));
        checked.err().unwrap_or_else(|| {
            value.fault(Problem::Conflict(error)) // the type is right
        })
    }
}

/// The schema of each algorithm's parameters by name, out of that of the enum of all algorithms.
pub(crate) fn of_algorithms(algorithms: &Json) -> Map<String, Json> {
    let variants = algorithms["oneOf"].as_array().into_iter().flatten();
    let properties = variants.filter_map(|variant| variant["properties"].as_object());
    properties.flatten().map(|(name, schema)| (name.clone(), schema.clone())).collect()
}
