//! Head comments and parameters, as `explain` shows them.

use crate::terminal::{Paint, wrap};
use serde_json::Value as Json;
use std::fmt::Write;

/// The parameters of a schema with type, default and meaning; None if there are none. `root` is
/// where references lead.
pub fn parameters(root: &Json, schema: &Json, paint: Paint) -> Option<String> {
    let properties = schema["properties"].as_object().filter(|p| !p.is_empty())?;
    let mut text = String::new();
    for (key, param) in properties {
        let (key, kind) = (paint.bold(key), kind(root, param));
        // Writing to a string cannot fail.
        // A parameter that may be left out has no value of its own then.
        let _ = match param.get("default").filter(|default| !default.is_null()) {
            Some(default) => writeln!(text, "\n  {key} = {default}   {kind}"),
            None => writeln!(text, "\n  {key}   {kind}"),
        };
        text.push_str(&wrap(param["description"].as_str().unwrap_or_default(), 6));
    }
    Some(text)
}

/// The paragraphs and the numbered items of a head comment, each on one line.
pub fn paragraphs<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut open = false;
    for line in lines.map(str::trim) {
        let item = line.split_once(". ").is_some_and(|(n, _)| n.parse::<u8>().is_ok());
        match all.last_mut().filter(|_| open && !item) {
            _ if line.is_empty() => {}
            Some(last) => *last = format!("{last} {line}"),
            None => all.push(line.to_string()),
        }
        open = !line.is_empty();
    }
    all
}

/// What a `$ref` stands for, or the schema itself.
pub fn resolve<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let pointer = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
    pointer.and_then(|p| root.pointer(p)).unwrap_or(schema)
}

/// The type of a parameter; of a choice, its names.
fn kind(root: &Json, param: &Json) -> String {
    let mut forms = param["anyOf"].as_array().into_iter().flatten();
    let given = forms.find(|form| form["type"] != "null").unwrap_or(param);
    let schema = resolve(root, given);
    let variants = schema["oneOf"].as_array().or_else(|| schema["enum"].as_array());
    if let Some(variants) = variants {
        let names = variants.iter().map(|v| v.get("const").unwrap_or(v).to_string());
        return names.collect::<Vec<_>>().join(" | ");
    }
    let kinds = schema["type"].as_array();
    let kind = kinds.and_then(|kinds| kinds.iter().find(|&kind| kind != "null"));
    kind.unwrap_or(&schema["type"]).as_str().unwrap_or_default().to_string()
}
