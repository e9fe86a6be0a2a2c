//! Several folders of results on one page: what they are called, whether they may be compared, and
//! how their runs look.

use super::Folder;
use super::error::ReportError;
use super::escape::html;
use super::figures::ranges;
use super::look::{Looks, NEXT_DASHES, Protocol};
use super::page::Heading;
use super::results::{Aggregate, Results};
use super::settings::{Differences, FEW};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What every page of Forebay has in its first [`HEAD_BYTES`].
const GENERATOR: &str = "<meta name=generator content='Forebay ";
const HEAD_BYTES: u64 = 4096;

/// Errors if a folder is there twice, or if the page at `path` would not be a file of its own
/// outside of all of them.
pub(super) fn check(folders: &[PathBuf], path: &Path) -> Result<(), ReportError> {
    // One that cannot be found is reported by its reader.
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
    if path.exists() && !is_page(path) {
        Err(ReportError::Foreign { path: path.to_path_buf() })
    } else {
        Ok(())
    }
}

/// True of a page that Forebay wrote: its head says so. A special file is none, and is not
/// read: a device may have no end.
fn is_page(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = |file: File| file.take(HEAD_BYTES).read_to_end(&mut head);
    path.is_file()
        && File::open(path).and_then(read).is_ok()
        && String::from_utf8_lossy(&head).contains(GENERATOR)
}

/// Names for several folders, and what the page says of them. Their runs are called after them from
/// now on.
pub(super) fn label(folders: &mut [Folder]) -> Result<Heading, ReportError> {
    let labels = labels(folders);
    let Differences { notes, table } = Differences::of(folders, &labels)?;
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
    let header = format!("<ul class=meta>{rows}</ul>{table}");
    let title = match &labels[..] {
        few if few.len() <= FEW => few.join(" vs. "),
        many => format!("{} folders: {} to {}", many.len(), many[0], many[many.len() - 1]),
    };
    Ok(Heading { title, header, labels, notes })
}

/// The names of the folders; of folders that have the same, their paths.
fn labels(folders: &[Folder]) -> Vec<String> {
    let name = |folder: &Folder| {
        let name = folder.path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| folder.path.display().to_string())
    };
    let names: Vec<String> = folders.iter().map(name).collect();
    let alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let labels = names.iter().zip(folders).map(|(name, folder)| {
        if alone(name) { name.clone() } else { folder.path.display().to_string() }
    });
    labels.collect()
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

/// A note of the folder that is called so.
pub(super) type Note = (Option<String>, String);

/// Notes, each with its folder; what is noted of more than a few folders stands once.
pub(super) fn noted(notes: Vec<Note>) -> Vec<String> {
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    let mut all = Vec::new();
    for (label, text) in notes {
        let Some(label) = label else {
            all.push(text);
            continue;
        };
        match texts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, labels)) => labels.push(label),
            None => texts.push((text, vec![label])),
        }
    }
    for (text, labels) in texts {
        match labels.len() {
            0..=FEW => all.extend(labels.iter().map(|label| format!("{label}: {text}"))),
            many => {
                let few = labels[..FEW].join(", ");
                all.push(format!("{few} and {} more folders: {text}", many - FEW));
            }
        }
    }
    all
}

/// The results of all folders as those of one.
pub(super) fn together(folders: Vec<Folder>, heading: &Heading) -> Results {
    let mut all: Option<Results> = None;
    let mut notes = Vec::new();
    for (number, Folder { mut results, .. }) in folders.into_iter().enumerate() {
        let label = heading.labels.get(number);
        notes.extend(results.notes.drain(..).map(|note| (label.cloned(), note)));
        match &mut all {
            None => all = Some(results),
            Some(all) => {
                all.runs.extend(results.runs);
                all.aggregate.extend(results.aggregate);
                all.expectations.extend(results.expectations);
            }
        }
    }
    let all = all.expect("there is a folder");
    Results { notes: noted(notes), ..all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_many_folders_stands_once() {
        let of = |label: &str, text: &str| (Some(label.to_string()), text.to_string());
        let few = noted(vec![of("a", "x"), of("b", "x"), of("a", "y")]);
        assert_eq!(few, ["a: x", "b: x", "a: y"]);
        let many = noted(["a", "b", "c", "d", "e", "f"].map(|label| of(label, "x")).to_vec());
        assert_eq!(many, ["a, b, c, d and 2 more folders: x"]);
        assert_eq!(noted(vec![(None, "x".to_string())]), ["x"]);
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
