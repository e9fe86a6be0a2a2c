//! Types, ranges, units and examples of keys in words.

use super::{Key, resolve};
use serde_json::Value as Json;

/// The longest time that a scenario may name.
const HUNDRED_YEARS_S: f64 = 3_155_760_000.0;

/// What the last sentences of a description state.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Words {
    pub range: Option<String>,
    pub default: Option<String>,
    pub example: Option<String>,
}

/// Parts a description into its meaning and what its last sentences state.
pub(super) fn sentences(description: &str) -> (String, Words) {
    // Line feeds of a doc comment say nothing.
    let description = &description.split_whitespace().collect::<Vec<_>>().join(" ");
    const HEADS: [&str; 3] = ["Range: ", "Default: ", "Example: "];
    let mut starts: Vec<(usize, usize)> = HEADS
        .iter()
        .enumerate()
        .filter_map(|(which, head)| Some((description.rfind(head)?, which)))
        .collect();
    starts.sort_unstable();
    let mut words = Words::default();
    let ends = starts.iter().skip(1).map(|&(start, _)| start).chain([description.len()]);
    for (&(start, which), end) in starts.iter().zip(ends) {
        let text = description[start + HEADS[which].len()..end].trim();
        let text = text.strip_suffix('.').unwrap_or(text).to_string();
        match which {
            0 => words.range = Some(text),
            1 => words.default = Some(text),
            _ => words.example = Some(text),
        }
    }
    let meaning = &description[..starts.first().map_or(description.len(), |&(start, _)| start)];
    (meaning.trim().to_string(), words)
}

/// The types that a value may have, in words, each once.
pub(super) fn forms(root: &Json, schema: &Json) -> Vec<String> {
    let mut all = Vec::new();
    gather(root, schema, &mut all);
    let mut once: Vec<String> = Vec::new();
    all.into_iter().for_each(|form| {
        if !once.contains(&form) {
            once.push(form);
        }
    });
    // Tables are the longer form, whichever the schema has first.
    once.sort_by_key(|form| form == "table");
    once
}

fn gather(root: &Json, schema: &Json, all: &mut Vec<String>) {
    let schema = resolve(root, schema);
    if let Some(name) = schema.get("const") {
        return all.push(name.to_string());
    }
    if let Some(names) = schema["enum"].as_array() {
        return all.extend(names.iter().filter(|name| !name.is_null()).map(Json::to_string));
    }
    if let Some(forms) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return forms.iter().for_each(|form| gather(root, form, all));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let title = schema["title"].as_str();
    for kind in kinds.into_iter().filter(|kind| *kind != "null") {
        all.push(match (kind, title) {
            ("object", _) => "table".to_string(),
            ("array", _) => list(&forms(root, &schema["items"])),
            (_, Some(title)) => title.to_string(),
            ("boolean", _) => "true or false".to_string(),
            (kind, None) => kind.to_string(),
        });
    }
}

/// A list, by the forms of its elements.
fn list(forms: &[String]) -> String {
    let plural = |form: &String| match form.as_str() {
        "table" => "tables".to_string(),
        form if form.starts_with('"') => form.to_string(),
        form => format!("{form}s"),
    };
    // The names that a list of names may hold are those of another table.
    match forms.iter().filter(|form| !form.starts_with('"')).map(plural).collect::<Vec<_>>() {
        all if all.is_empty() => format!("list of {}", forms.join(", ")),
        all => format!("list of {}", all.join(" or ")),
    }
}

/// The range that the schema states of a number, unless it is that of the type.
pub(super) fn range(root: &Json, schema: &Json) -> Option<String> {
    let schema = resolve(root, schema);
    if let Some(forms) = schema["anyOf"].as_array() {
        // That bytes are not negative goes without saying.
        let all = forms.iter().filter_map(|form| range(root, form));
        return all.into_iter().find(|range| range != "0 or more");
    }
    let number = |key: &str| schema[key].as_f64();
    let show = |value: f64| match value {
        value if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        value => value.to_string(),
    };
    let at_least = number("minimum").map(|low| (show(low), "or more"));
    let above = number("exclusiveMinimum").map(|low| (format!("more than {}", show(low)), ""));
    let (low, or_more) = at_least.or(above)?;
    if number("maximum") == Some(HUNDRED_YEARS_S) {
        return Some(format!("{low} to 100 years"));
    }
    // The end of 32 bits is that of a type, not of a quantity.
    let high = number("maximum").filter(|high| *high < f64::from(u32::MAX));
    Some(match high {
        Some(high) if or_more.is_empty() => format!("{low}, at most {}", show(high)),
        Some(high) => format!("{low} to {}", show(high)),
        None => format!("{low} {or_more}").trim().to_string(),
    })
}

/// The unit of a number, which its name ends in.
pub(super) fn unit(name: &str, schema: &Json) -> &'static str {
    const UNITS: [(&str, &str); 9] = [
        ("_s", "s"),
        ("_ms", "ms"),
        ("_us", "µs"),
        ("_ns", "ns"),
        ("_bps", "bit/s"),
        ("_bytes", "bytes"),
        ("_segments", "segments"),
        ("_packets", "packets"),
        ("_percent", "%"),
    ];
    let numeric = |schema: &Json| match &schema["type"] {
        Json::Array(kinds) => kinds.iter().any(|kind| kind == "number" || kind == "integer"),
        kind => kind == "number" || kind == "integer",
    };
    let mut given = schema["anyOf"].as_array().into_iter().flatten();
    if schema["title"] == "number of seconds" {
        return "";
    }
    if !numeric(schema) && !given.any(|form| numeric(form) || form["anyOf"].is_array()) {
        return "";
    }
    UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// A value that the key takes: the one that its text gives; else one that changes something.
pub(super) fn example(key: &Key) -> Option<String> {
    if key.example.is_some() {
        return key.example.clone();
    }
    let default = key.default.as_deref().map(|text| text.split("; ").next().unwrap_or(text));
    let toml = |text: &&str| toml::from_str::<toml::Table>(&format!("k = {text}")).is_ok();
    let default = default.filter(toml).filter(|text| *text != "\"\"");
    let first = key.types.first()?;
    let mut names = key.types.iter().filter(|form| form.starts_with('"'));
    if let Some(name) = names.find(|name| Some(name.as_str()) != default) {
        return Some(name.clone());
    }
    Some(match (first.as_str(), default) {
        ("true or false", default) => (default != Some("true")).to_string(),
        ("table" | "string", None) => return None,
        (first, None) if first.starts_with("list") => return None,
        (_, Some(default)) => default.to_string(),
        ("time", None) => "\"100ms\"".into(),
        ("rate", None) => "\"10Mbit/s\"".into(),
        ("size", None) => "\"1MB\"".into(),
        ("queue limit", None) => "\"50ms\"".into(),
        ("probability", None) => "0.01".into(),
        ("number" | "number of seconds", None) => "1.5".into(),
        _ => "10".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_sentences_of_a_description_are_range_default_and_example() {
        let text = "Propagation delay. Range: 0s to 1000s. Default: \"0.5s\". Example: \"5ms\".";
        let (meaning, words) = sentences(text);
        assert_eq!(meaning, "Propagation delay.");
        let text = |text: &str| Some(text.to_string());
        let expected = Words {
            range: text("0s to 1000s"),
            default: text("\"0.5s\""),
            example: text("\"5ms\""),
        };
        assert_eq!(words, expected);
        assert_eq!(sentences("Only this."), ("Only this.".into(), Words::default()));
    }

    #[test]
    fn a_range_is_in_words_unless_it_is_that_of_the_type() {
        let words = |schema: Json| range(&Json::Null, &schema);
        assert_eq!(words(json!({ "minimum": 0.0, "maximum": 1.0 })).as_deref(), Some("0 to 1"));
        let share = json!({ "exclusiveMinimum": 0.0, "maximum": 1.0 });
        assert_eq!(words(share).as_deref(), Some("more than 0, at most 1"));
        let whole = json!({ "minimum": 0, "maximum": u32::MAX });
        assert_eq!(words(whole).as_deref(), Some("0 or more"));
        assert_eq!(words(json!({ "type": "string" })), None);
    }
}
