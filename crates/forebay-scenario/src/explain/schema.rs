//! The JSON Schema of scenario files, from the declarations that read them.

use crate::format::fields::section_schema;
use crate::keys::file::File;
use crate::registry::algorithms::Algorithm;
use crate::registry::param_types::of_algorithms;
use crate::registry::{Registry, named, tables};
use forebay_cc::Spec;
use serde_json::{Value as Json, json};

const OF: &str = "The algorithm; parameters that are not given have its defaults.";
const TITLE: &str = "What tables and figures call it; for a variant its name if there is none.";
const VARIANT: &str = "A variant that [protocol.NAME] declares.";

/// JSON Schema (2020-12) of a scenario file.
pub fn schema(registry: &Registry) -> Json {
    let mut root = section_schema::<File>();
    tables::describe(&mut root["properties"]);
    named::fill(registry, &mut root);
    let algorithms = schemars::schema_for!(Spec).to_value();
    let all = registry.algorithms();
    let names: Vec<&str> = all.iter().map(Algorithm::name).collect();
    let title = json!({ "type": "string", "description": TITLE });
    let mut properties = of_algorithms(&algorithms);
    let mut defs = algorithms["$defs"].as_object().cloned().unwrap_or_default();
    for algorithm in &all {
        let Some(mut own) = algorithm.own_schema() else { continue };
        let own_defs = own.as_object_mut().and_then(|own| own.remove("$defs"));
        defs.extend(
            own_defs
                .iter()
                .filter_map(Json::as_object)
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        properties.insert(algorithm.name().to_string(), own);
    }
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "Forebay scenario".into();
    root["properties"]["protocol"] = json!({
        "type": "object",
        "description": root["properties"]["protocol"]["description"],
        "properties": properties,
        "additionalProperties": {
            "type": "object",
            "description": "A variant: an algorithm with other parameters under a name of its own.",
            "properties": { "of": { "enum": names, "description": OF }, "title": title },
            "required": ["of"],
        },
    });
    let tcp = root["properties"]["tcp_of"]["additionalProperties"].clone();
    for name in &names {
        root["properties"]["tcp_of"]["properties"][*name] = tcp.clone();
    }
    root["properties"]["protocols"]["items"] =
        json!({ "anyOf": [{ "enum": names }, { "type": "string", "description": VARIANT }] });
    if !defs.is_empty() {
        root["$defs"] = defs.into();
    }
    root
}
