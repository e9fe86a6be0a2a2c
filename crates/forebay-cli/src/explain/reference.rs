//! The reference pages, as Markdown: all keys of scenarios, all metrics, all that files of results
//! hold.

use super::key::when;
use super::words::{TYPES, joined};
use forebay_lab::report::schema::{
    ENTITIES, FieldDoc, JSON, PARQUET, RESULTS_VERSION, VERSION_KEY,
};
use forebay_lab::report::{METRICS, MetricDoc, PUBLISHED, RESULTS, Series};
use forebay_lab::scenario::{Key, KeyTable, Keys, Registry, keys};
use std::fmt::Write;

/// Characters of a cell; what is longer stands below its table.
const CELL_CHARS: usize = 200;

/// `docs/reference/keys.md`.
pub fn of_keys(registry: &Registry) -> String {
    let keys = keys(registry);
    let mut text = String::from(
        "# Scenario keys\n\n\
         Every key of a scenario file. `forebay explain KEY` shows one with an example;\n\
         [Write a scenario](../how-to/scenarios.md) shows how they work together. `forebay \
         explain\n--all keys` writes this page.\n\n\
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
        .map(|place| {
            if place.when == table.places[0].when {
                format!("`{}`", place.path)
            } else {
                format!("`{}`{}", place.path, code_when(&when(place)))
            }
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
    let rows: Vec<[String; 2]> = required.into_iter().chain(optional).map(row).collect();
    rows.iter().for_each(|[row, _]| text.push_str(row));
    rows.iter().for_each(|[_, below]| text.push_str(below));
    text
}

/// A row, and what stands below the table.
fn row(key: &Key) -> [String; 2] {
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
    let types = joined(&types);
    let (types, listed) = if types.chars().count() > CELL_CHARS {
        ("a name, see below".to_string(), format!("{types}. "))
    } else {
        (types, String::new())
    };
    let (meaning, rest) = divided(&key.meaning, CELL_CHARS - range.chars().count());
    let meaning = cell(&format!("{meaning}{range}"));
    let row = format!("| `{}` | {}{unit} | {default} | {meaning} |\n", key.name, cell(&types));
    [row, below(&key.name, &format!("{listed}{rest}"))]
}

/// The sentences of a text that fit into a cell of `chars`, and the others.
fn divided(text: &str, chars: usize) -> (&str, &str) {
    if text.chars().count() <= chars {
        return (text, "");
    }
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    let end = ends.take_while(|&end| text[..end].chars().count() <= chars).last();
    match end {
        Some(end) => (&text[..end], text[end..].trim()),
        None => ("See below.", text),
    }
}

/// A paragraph below a table; empty if there is nothing to say.
fn below(name: &str, text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!("\n{}\n", lines(&format!("**`{name}`**: {text}"))),
    }
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
    METRICS.iter().for_each(|metric| text.push_str(&below(metric.name, metric.more)));
    text.push_str("\n## Other results\n\n| Name | Place in JSON | Meaning |\n|-|-|-|\n");
    for result in RESULTS {
        let (meaning, _) = divided(result.meaning, CELL_CHARS);
        let (place, meaning) = (cell(result.place), cell(&capital(meaning)));
        let _ = writeln!(text, "| {} | `{place}` | {meaning} |", cell(result.name));
    }
    for result in RESULTS {
        text.push_str(&below(result.name, divided(result.meaning, CELL_CHARS).1));
    }
    text
}

/// `docs/reference/results.md`.
pub fn of_results() -> String {
    let mut text = format!(
        "# Results\n\n\
         What `forebay run --out DIR` writes, and what `--json` prints. `forebay explain --all\n\
         results` writes this page. [Metrics](metrics.md) defines the metrics.\n\n\
         This is version {RESULTS_VERSION} of the format: `.results_version` in JSON, \
         `{VERSION_KEY}`\nin the metadata of Parquet files. It grows when a column or key changes \
         its name, place or\nmeaning; new ones may come at any time. Parquet files are compressed \
         with Snappy. The\nunit ends a name: `_s`, `_ms`, `_ns`, `_bps` (bit/s), `_bytes`.\n"
    );
    for file in PARQUET {
        let _ = write!(text, "\n## {}\n\n{}\n", file.name, lines(file.meaning));
        text.push_str(&fields("Column", &file.columns()));
    }
    text.push_str("\n### Entities\n\n| Entity | Meaning |\n|-|-|\n");
    ENTITIES.iter().for_each(|[name, what]| {
        let _ = writeln!(text, "| `{name}` | {what} |");
    });
    text.push_str("\n### Series\n\n| Metric | Unit | Meaning |\n|-|-|-|\n");
    for series in Series::ALL {
        let _ =
            writeln!(text, "| `{}` | {} | {} |", series.name(), series.unit(), series.meaning());
    }
    let published = format!(
        "What a controller publishes is listed with them as `{PUBLISHED}NAME`, what a port scheme \
         or discipline publishes under its own name."
    );
    let _ = write!(text, "\n{}\n", lines(&published));
    text.push_str(
        "\n## JSON\n\n\
         The object that `run --json` prints and `summary.json` holds. Words in capitals \
         stand for\nnames; a key whose type begins with \"optional\" is absent where it has no \
         value.\n",
    );
    text.push_str(&fields("Key", JSON));
    text
}

fn fields(head: &str, fields: &[FieldDoc]) -> String {
    let mut text = format!("\n| {head} | Type | Meaning |\n|-|-|-|\n");
    for FieldDoc { name, kind, meaning } in fields {
        let _ = writeln!(text, "| `{name}` | {kind} | {meaning} |");
    }
    text
}

fn metric_row(metric: &MetricDoc) -> String {
    let row = if metric.in_table { cell(metric.label) } else { String::new() };
    let meaning = cell(&format!("{}.", capital(metric.meaning)));
    format!("| `{}` | {row} | {} | {meaning} |\n", metric.name, metric.unit)
}

/// Words with a capital at their beginning.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next()
        .map(|first| first.to_uppercase().collect::<String>() + rest.as_str())
        .unwrap_or_default()
}
