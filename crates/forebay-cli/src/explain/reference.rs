//! The reference pages, as Markdown: all keys of scenarios, all metrics.

use super::key::when;
use super::words::{TYPES, joined};
use forebay_lab::report::{METRICS, MetricDoc, RESULTS};
use forebay_lab::scenario::{Key, KeyTable, Keys, Registry, keys};
use std::fmt::Write;

/// `docs/reference/keys.md`.
pub fn of_keys(registry: &Registry) -> String {
    let keys = keys(registry);
    let mut text = String::from(
        "# Scenario keys\n\n\
         Every key of a scenario file. `forebay explain KEY` shows one with an example;\n\
         [scenarios.md](../scenarios.md) shows how they work together. `forebay explain --all\n\
         keys` writes this page.\n\n\
         A path leaves out the numbers of list elements: `links.rate` is the key `rate` of each\n\
         `[[links]]`. With `--set` the number stands in it, counted from 0: `--set\n\
         links.0.rate=10Mbit/s`. `NAME` stands for a name of your choice.\n\n\
         ## Types\n\n| Type | Value |\n|-|-|\n",
    );
    for of in TYPES {
        let _ = writeln!(text, "| {} | {} |", of.name, cell(of.what));
    }
    for (number, table) in keys.tables.iter().enumerate() {
        text.push_str(&section(&keys, number, table));
    }
    text
}

fn section(keys: &Keys, number: usize, table: &KeyTable) -> String {
    let place = &table.places[0];
    let head = match place.path.as_str() {
        "" => "Top level".to_string(),
        path => format!("`{path}`{}", code_when(&when(place))),
    };
    let mut text = format!("\n## {head}\n\n{}\n", lines(&table.meaning));
    let others: Vec<String> = table.places[1..]
        .iter()
        .map(|place| match place.when == table.places[0].when {
            true => format!("`{}`", place.path),
            false => format!("`{}`{}", place.path, code_when(&when(place))),
        })
        .collect();
    if !others.is_empty() {
        let _ = write!(text, "\n{}\n", lines(&format!("Also at {}.", others.join(", "))));
    }
    let within = keys.within(number);
    if let Some(base) = within {
        let base = &base.places[0];
        let name = format!("`{}`{}", base.path, code_when(&when(base)));
        let _ = write!(text, "\n{}\n", lines(&format!("It has all keys of {name} as well.")));
    }
    let own = table.keys.iter().filter(|key| within.is_none_or(|base| !base.keys.contains(key)));
    let own: Vec<&Key> = own.map(|&key| &keys.all[key]).collect();
    if own.is_empty() {
        return text;
    }
    text.push_str("\n| Key | Type | Default | Meaning |\n|-|-|-|-|\n");
    let (required, optional): (Vec<&Key>, Vec<&Key>) = own.into_iter().partition(|k| k.required);
    required.into_iter().chain(optional).for_each(|key| text.push_str(&row(key)));
    text
}

fn row(key: &Key) -> String {
    let types: Vec<String> = key.types.iter().map(|form| quoted(form)).collect();
    let default = match (&key.default, key.required) {
        (Some(default), _) => default_cell(default),
        (None, true) => "required".to_string(),
        (None, false) => String::new(),
    };
    let range = key.range.as_ref().map_or(String::new(), |range| format!(" Range: {range}."));
    let unit = match key.unit {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    let meaning = cell(&format!("{}{range}", key.meaning));
    format!("| `{}` | {}{unit} | {default} | {meaning} |\n", key.name, cell(&joined(&types)))
}

/// A default that is TOML as code, one in words as it is.
fn default_cell(default: &str) -> String {
    let (value, rest) = default.split_once("; ").unwrap_or((default, ""));
    let plain = !value.contains(' ') || value.starts_with(['"', '[', '{']);
    let value = if plain && value != "none" { format!("`{}`", cell(value)) } else { cell(value) };
    if rest.is_empty() { value } else { format!("{value}; {}", cell(rest)) }
}

/// A name as code.
fn quoted(form: &str) -> String {
    if form.starts_with('"') { format!("`{form}`") } else { form.to_string() }
}

fn code_when(when: &str) -> String {
    when.replace("(with ", "(with `").replace("\")", "\"`)")
}

/// Text of a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Text in lines of at most 100 columns.
fn lines(text: &str) -> String {
    let mut all = String::new();
    let mut line = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if line > 0 && line + 1 + length > 100 {
            all.push('\n');
            line = 0;
        } else if line > 0 {
            all.push(' ');
            line += 1;
        }
        all.push_str(word);
        line += length;
    }
    all
}

/// `docs/reference/metrics.md`.
pub fn of_metrics() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         Every metric of a run. `forebay explain NAME` explains one; `forebay explain --all\n\
         metrics` writes this page. In JSON and in `summary.json` a metric is\n\
         `.runs[].metrics.NAME`, and its mean over seeds is in `.aggregate[]`. `[[expect]]` may\n\
         name each metric that is one number.\n\n\
         | Metric | Row in tables | Unit | Meaning |\n|-|-|-|-|\n",
    );
    METRICS.iter().for_each(|metric| text.push_str(&metric_row(metric)));
    text.push_str("\n## Other results\n\n| Name | Place in JSON | Meaning |\n|-|-|-|\n");
    for result in RESULTS {
        let (place, meaning) = (cell(result.place), cell(&capital(result.meaning)));
        let _ = writeln!(text, "| {} | `{place}` | {meaning} |", cell(result.name));
    }
    text
}

fn metric_row(metric: &MetricDoc) -> String {
    let row = if metric.in_table { cell(metric.label) } else { String::new() };
    let more = metric.more.split_whitespace().collect::<Vec<_>>().join(" ");
    let meaning = cell(format!("{}. {more}", capital(metric.meaning)).trim_end());
    format!("| `{}` | {row} | {} | {meaning} |\n", metric.name, metric.unit)
}

/// Words with a capital at their beginning.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next()
        .map(|first| first.to_uppercase().collect::<String>() + rest.as_str())
        .unwrap_or_default()
}
