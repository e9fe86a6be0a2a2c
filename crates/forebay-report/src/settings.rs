//! What differs in the scenarios of several folders: in words for a few, as a table for more.

use super::Folder;
use super::error::ReportError;
use super::escape::html;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Folders that differ from the first in words; of more there is a table.
pub(super) const FEW: usize = 4;
/// Keys of scenarios that differ and are named in a note.
const NAMED: usize = 6;
/// Keys that have a column of the table.
const COLUMNS: usize = 10;
/// Values of keys that share a cell.
const VALUES: usize = 3;

/// Keys and values of a scenario.
type Settings = BTreeMap<String, String>;

/// What a page of several folders says of their scenarios.
pub(super) struct Differences {
    /// Notes for readers before comparing.
    pub notes: Vec<String>,
    /// The values that differ, as HTML; empty of few folders and where nothing differs.
    pub table: String,
}

impl Differences {
    /// Of folders that are called `labels`.
    pub fn of(folders: &[Folder], labels: &[String]) -> Result<Differences, ReportError> {
        let read: Result<Vec<_>, _> = folders.iter().map(|folder| settings(&folder.path)).collect();
        let read = read?;
        if folders.len() <= FEW {
            let scenario = |place: usize| folders[place].results.scenario.as_str();
            let of = |place: usize| {
                let labels = [&labels[0], &labels[place]];
                of_two([&read[0], &read[place]], labels, [scenario(0), scenario(place)])
            };
            let notes = (1..folders.len()).filter_map(of).collect();
            return Ok(Differences { notes, table: String::new() });
        }
        let names: BTreeSet<&str> = folders.iter().map(|f| f.results.scenario.as_str()).collect();
        let notes = match names.len() {
            0 | 1 => Vec::new(),
            several => vec![format!(
                "The folders hold {several} different scenarios: numbers of different scenarios \
                 are of different networks."
            )],
        };
        // The keys of different scenarios have nothing to do with each other.
        let table = if names.len() > 1 { String::new() } else { table(&read, labels) };
        Ok(Differences { notes, table })
    }
}

/// In words, how the second of two differs from the first.
fn of_two(
    [first, own]: [&Settings; 2],
    [label_first, label]: [&String; 2],
    [name_first, name]: [&str; 2],
) -> Option<String> {
    if name != name_first {
        return Some(format!(
            "{label} and {label_first} hold different scenarios ({name}, {name_first}): their \
             numbers are of different networks."
        ));
    }
    let keys = differing(&[first, own]);
    let value = |of: &Settings, key: &str| of.get(key).map_or("absent", String::as_str).to_string();
    let shown = keys.iter().take(NAMED);
    let shown: Vec<String> =
        shown.map(|key| format!("{key} = {} ({})", value(own, key), value(first, key))).collect();
    let more = match keys.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more keys"),
    };
    (!keys.is_empty()).then(|| {
        format!(
            "The scenario of {label} differs from that of {label_first} (in brackets): {}{more}.",
            shown.join(", ")
        )
    })
}

/// The keys that do not have the same value in all of them.
fn differing(all: &[&Settings]) -> Vec<String> {
    let keys: BTreeSet<&String> = all.iter().flat_map(|of| of.keys()).collect();
    let differs = |key: &&String| all.iter().any(|of| of.get(*key) != all[0].get(*key));
    keys.into_iter().filter(differs).cloned().collect()
}

/// A row per folder, a column per key that differs; one for keys that differ in numbers only, such
/// as those of all links.
fn table(all: &[Settings], labels: &[String]) -> String {
    let all: Vec<&Settings> = all.iter().collect();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for key in differing(&all) {
        let name = without_numbers(&key);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, keys)) => keys.push(key),
            None => groups.push((name, vec![key])),
        }
    }
    let shown = &groups[..groups.len().min(COLUMNS)];
    if shown.is_empty() {
        return String::new();
    }
    let head = |(name, _): &(String, _)| format!("<th scope=col><code>{}</code></th>", html(name));
    let heads: String = shown.iter().map(head).collect();
    let row = |(label, of): (&String, &&Settings)| {
        let cell = |(_, keys): &(_, Vec<String>)| format!("<td>{}</td>", html(&values(of, keys)));
        let cells: String = shown.iter().map(cell).collect();
        format!("<tr><th scope=row>{}</th>{cells}</tr>", html(label))
    };
    let rows: String = labels.iter().zip(&all).map(row).collect();
    let more = match groups.len() - shown.len() {
        0 => String::new(),
        more => {
            format!("<p class=about>{more} more keys differ: see the scenario.toml of each.</p>")
        }
    };
    format!(
        "<p class=about>Keys of the scenario that differ:</p><div class='wide settings'><table>\
         <thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{more}"
    )
}

/// A key with `*` for each number in it.
fn without_numbers(key: &str) -> String {
    let part = |part: &str| if part.parse::<u32>().is_ok() { "*".into() } else { part.to_string() };
    key.split('.').map(part).collect::<Vec<_>>().join(".")
}

/// The values of these keys, each once.
fn values(of: &Settings, keys: &[String]) -> String {
    let mut once: Vec<&str> = Vec::new();
    for key in keys {
        let value = of.get(key).map_or("–", |value| value.trim_matches('"'));
        if !once.contains(&value) {
            once.push(value);
        }
    }
    let more = if once.len() > VALUES { ", …" } else { "" };
    once.truncate(VALUES);
    once.join(", ") + more
}

/// The keys of `scenario.toml` that say something of the network and its load, and their values.
fn settings(folder: &Path) -> Result<Settings, ReportError> {
    let path = folder.join("scenario.toml");
    let text = fs::read_to_string(&path).map_err(ReportError::io("read", &path))?;
    let mut table: toml::Table = toml::from_str(&text).map_err(ReportError::not_results(&path))?;
    for key in ["description", "forebay", "protocols"] {
        table.remove(key);
    }
    let mut flat = BTreeMap::new();
    flatten(&toml::Value::Table(table), "", &mut flat);
    Ok(flat)
}

fn flatten(value: &toml::Value, key: &str, flat: &mut Settings) {
    let join = |part: &str| if key.is_empty() { part.to_string() } else { format!("{key}.{part}") };
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(part, value)| flatten(value, &join(part), flat));
        }
        toml::Value::Array(values) if values.iter().any(|value| value.is_table()) => {
            let parts = values.iter().enumerate();
            parts.for_each(|(part, value)| flatten(value, &join(&part.to_string()), flat));
        }
        value => {
            flat.insert(key.to_string(), value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(text: &str) -> Settings {
        let mut flat = BTreeMap::new();
        flatten(&toml::Value::Table(toml::from_str(text).unwrap()), "", &mut flat);
        flat
    }

    #[test]
    fn keys_of_tables_in_arrays_have_numbers() {
        let flat =
            flat("until_s = 2\n[[links]]\na = \"x\"\n[[links]]\nqueue = { limit = [1, 2] }\n");
        let expected =
            [("links.0.a", "\"x\""), ("links.1.queue.limit", "[1, 2]"), ("until_s", "2")];
        let expected = expected.map(|(key, value)| (key.to_string(), value.to_string()));
        assert_eq!(flat.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_table_has_the_keys_that_differ_and_no_others() {
        let all = ["a = 1\nb = 2\n", "a = 1\nb = 3\n", "a = 1\n"].map(flat);
        let labels = ["x", "y", "z"].map(String::from);
        let html = table(&all, &labels);
        assert!(html.contains("<code>b</code>") && !html.contains("<code>a</code>"), "{html}");
        for cells in ["x</th><td>2</td>", "y</th><td>3</td>", "z</th><td>–</td>"] {
            assert!(html.contains(cells), "{cells}: {html}");
        }
        assert_eq!(table(&all[..1], &labels[..1]), "");
        // What is the same change of many links has one column.
        let of = |n: u32| {
            flat(&format!("[[l]]\nq = \"{n}B\"\n[[l]]\nq = \"{n}B\"\n[[l]]\nq = \"{}B\"", 2 * n))
        };
        let html = table(&[of(1), of(2), of(3)], &labels);
        assert!(html.contains("<code>l.*.q</code>") && html.matches("<code>").count() == 1);
        assert!(html.contains("z</th><td>3B, 6B</td>"), "{html}");
    }
}
