//! Several folders of results on one page: what they are called, whether they may be compared, and
//! how their runs look.

use super::Folder;
use super::data::Protocol;
use super::error::ReportError;
use super::escape::html;
use super::look::{Looks, NEXT_DASHES};
use super::page::{Heading, ranges};
use super::results::{Aggregate, Results};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Keys of scenarios that differ and are named.
const NAMED: usize = 6;
/// What every page of Forebay has in it.
const GENERATOR: &str = "<meta name=generator content='Forebay ";

/// Errors if a folder is there twice, or if the page at `path` would not be a file of its own
/// outside of all of them.
pub(super) fn check(folders: &[PathBuf], path: &Path) -> Result<(), ReportError> {
    // One that cannot be found is told by whoever reads it.
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    for (place, second) in folders.iter().enumerate() {
        if let Some(first) = folders[..place].iter().find(|first| real(first) == real(second)) {
            let (first, second) = (first.clone(), second.clone());
            return Err(ReportError::SameFolder { first, second });
        }
    }
    let above = match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    if let Some(folder) = folders.iter().find(|folder| real(above).starts_with(real(folder))) {
        let (path, folder) = (path.to_path_buf(), folder.clone());
        return Err(ReportError::Inside { path, folder });
    }
    let foreign = path.is_dir()
        || (path.exists() && !fs::read_to_string(path).is_ok_and(|text| text.contains(GENERATOR)));
    match foreign {
        true => Err(ReportError::Foreign { path: path.to_path_buf() }),
        false => Ok(()),
    }
}

/// Names for several folders, and what the page says of them. Their runs are called after them from
/// now on.
pub(super) fn label(folders: &mut [Folder]) -> Result<Heading, ReportError> {
    let labels = labels(folders);
    let notes = differences(folders, &labels)?;
    let mut rows = String::new();
    for (label, folder) in labels.iter().zip(folders.iter_mut()) {
        let results = &mut folder.results;
        let seeds = results.aggregate.iter().map(|a| &a.seeds).max_by_key(|seeds| seeds.len());
        let seeds = seeds.map_or(String::new(), |seeds| ranges(seeds));
        let (path, scenario) = (html(&folder.path.display().to_string()), html(&results.scenario));
        let (label_html, version) = (html(label), html(&results.forebay));
        rows += &format!(
            "<li><b>{label_html}</b>: {scenario}, seeds {seeds}, Forebay {version}, \
             in <code>{path}</code></li>"
        );
        let named = |name: &str| format!("{label}: {name}");
        results.runs.iter_mut().for_each(|run| run.protocol = named(&run.name));
        results.aggregate.iter_mut().for_each(|of| of.protocol = named(&of.name));
        results.expectations.iter_mut().for_each(|of| of.protocol = named(&of.protocol));
    }
    let header = format!("<ul class=meta>{rows}</ul>");
    Ok(Heading { title: labels.join(" beside "), header, labels, notes })
}

/// The names of the folders; of folders that have the same, their paths.
fn labels(folders: &[Folder]) -> Vec<String> {
    let name = |folder: &Folder| {
        let name = folder.path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| folder.path.display().to_string())
    };
    let names: Vec<String> = folders.iter().map(name).collect();
    let alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let labels = names.iter().zip(folders).map(|(name, folder)| match alone(name) {
        true => name.clone(),
        false => folder.path.display().to_string(),
    });
    labels.collect()
}

/// In words, how the scenario of each folder differs from that of the first.
fn differences(folders: &[Folder], labels: &[String]) -> Result<Vec<String>, ReportError> {
    let read: Result<Vec<_>, _> = folders.iter().map(|folder| settings(&folder.path)).collect();
    let read = read?;
    let first = &read[0];
    let mut notes = Vec::new();
    for ((label, own), folder) in labels.iter().zip(&read).zip(folders).skip(1) {
        let mut keys: Vec<&String> = first.keys().chain(own.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| first.get(*key) != own.get(*key));
        let (name, name_first) = (&folder.results.scenario, &folders[0].results.scenario);
        if name != name_first {
            notes.push(format!(
                "{label} and {} hold different scenarios ({name}, {name_first}): their numbers are \
                 of different networks.",
                labels[0]
            ));
        } else if !keys.is_empty() {
            let value = |of: &BTreeMap<String, String>, key: &String| {
                of.get(key).map_or("absent", String::as_str).to_string()
            };
            let shown = keys.iter().take(NAMED);
            let shown: Vec<String> = shown
                .map(|key| format!("{key} = {} ({})", value(own, key), value(first, key)))
                .collect();
            let more = match keys.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more keys"),
            };
            notes.push(format!(
                "The scenario of {label} differs from that of {} (in brackets): {}{more}.",
                labels[0],
                shown.join(", ")
            ));
        }
    }
    Ok(notes)
}

/// The keys of `scenario.toml` that say something of the network and its load, and their values.
fn settings(folder: &Path) -> Result<BTreeMap<String, String>, ReportError> {
    let path = folder.join("scenario.toml");
    let text = fs::read_to_string(&path).map_err(ReportError::io("read", &path))?;
    let mut table: toml::Table = toml::from_str(&text).map_err(ReportError::not_results(&path))?;
    for key in ["description", "protocols"] {
        table.remove(key);
    }
    let mut flat = BTreeMap::new();
    flatten(&toml::Value::Table(table), "", &mut flat);
    Ok(flat)
}

fn flatten(value: &toml::Value, key: &str, flat: &mut BTreeMap<String, String>) {
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

/// The look of a protocol of the folder with this number: that of the protocol, with shade and
/// dashes of the folder.
pub(super) fn look(looks: &Looks, of: &Aggregate, folder: usize) -> Protocol {
    let known = looks.of(&of.name, &of.title);
    let title = match of.protocol.strip_suffix(&of.name) {
        Some(label) => format!("{label}{}", known.title),
        None => known.title,
    };
    let colour = shade(&known.colour, folder);
    let dash = known.dash + folder * NEXT_DASHES;
    Protocol { name: of.protocol.clone(), title, colour, dash, ..known }
}

/// Lighter or darker: folders have 0, 45 % of white, 45 % of black, and again.
fn shade(colour: &str, folder: usize) -> String {
    let part = |at: usize| colour.get(at..at + 2).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let (end, parts) = match (folder % 3, [part(1), part(3), part(5)]) {
        (1, [Some(r), Some(g), Some(b)]) => (255, [r, g, b]),
        (2, [Some(r), Some(g), Some(b)]) => (0, [r, g, b]),
        _ => return colour.to_string(),
    };
    let mixed = parts.map(|part| (part * 55 + end * 45) / 100);
    format!("#{:02X}{:02X}{:02X}", mixed[0], mixed[1], mixed[2])
}

/// A note, and whose it is.
pub(super) fn noted(label: Option<&String>, note: String) -> String {
    label.map_or(note.clone(), |label| format!("{label}: {note}"))
}

/// The results of all folders as those of one.
pub(super) fn together(folders: Vec<Folder>, heading: &Heading) -> Results {
    let mut all: Option<Results> = None;
    for (number, Folder { mut results, .. }) in folders.into_iter().enumerate() {
        let label = heading.labels.get(number);
        results.notes = results.notes.into_iter().map(|note| noted(label, note)).collect();
        match &mut all {
            None => all = Some(results),
            Some(all) => {
                all.runs.extend(results.runs);
                all.aggregate.extend(results.aggregate);
                all.notes.extend(results.notes);
                all.expectations.extend(results.expectations);
            }
        }
    }
    all.expect("there is a folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_tables_in_arrays_have_numbers() {
        let text = "until_s = 2\n[[links]]\na = \"x\"\n[[links]]\nqueue = { limit = [1, 2] }\n";
        let mut flat = BTreeMap::new();
        flatten(&toml::Value::Table(toml::from_str(text).unwrap()), "", &mut flat);
        let expected =
            [("links.0.a", "\"x\""), ("links.1.queue.limit", "[1, 2]"), ("until_s", "2")];
        let expected = expected.map(|(key, value)| (key.to_string(), value.to_string()));
        assert_eq!(flat.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn folders_have_shades() {
        // 0x80 = 128: (128 * 55 + 255 * 45) / 100 = 185 = 0xB9; 128 * 55 / 100 = 70 = 0x46.
        assert_eq!(
            [0, 1, 2, 3].map(|folder| shade("#808080", folder)),
            ["#808080", "#B9B9B9", "#464646", "#808080"]
        );
    }
}
