//! The JSON Schema of scenario files, from the declarations that read them.

use super::fields::section_schema;
use super::file::File;
use forebay_cc::Spec;
use serde_json::{Map, Value as Json, json};

/// JSON Schema (2020-12) of a scenario file.
pub fn schema() -> Json {
    let mut root = section_schema::<File>();
    let algorithms = schemars::schema_for!(Spec).to_value();
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "Forebay scenario".into();
    root["properties"]["protocol"] = json!({
        "type": "object",
        "description": root["properties"]["protocol"]["description"],
        "properties": parameters(&algorithms),
        "additionalProperties": false,
    });
    let names: Vec<&str> = forebay_cc::TABLE.iter().map(|entry| entry.name).collect();
    root["properties"]["protocols"]["items"] = json!({ "enum": names });
    if let Some(defs) = algorithms.get("$defs") {
        root["$defs"] = defs.clone();
    }
    root
}

/// The schema of each algorithm's parameters by name, out of that of the enum of all algorithms.
fn parameters(algorithms: &Json) -> Map<String, Json> {
    let variants = algorithms["oneOf"].as_array().into_iter().flatten();
    let properties = variants.filter_map(|variant| variant["properties"].as_object());
    properties.flatten().map(|(name, schema)| (name.clone(), schema.clone())).collect()
}
