//! The pages of the repository keep step with the code that they describe, their links lead
//! somewhere, and their lines are short.

use super::{File, assert_none, files, root};
use std::fs;

/// Columns that a line of text may have.
const COLUMNS: usize = 100;

fn page(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The words of a Markdown page that stand in backquotes.
fn quoted(page: &str) -> Vec<&str> {
    page.split('`').skip(1).step_by(2).collect()
}

/// Rust files that `page` names and that are not among `paths`: by the end of their path, or by the
/// short name of a crate and their path in its `src`.
fn gone(page: &str, paths: &[String]) -> Vec<String> {
    let named = quoted(page).into_iter().filter(|word| word.ends_with(".rs"));
    let in_crate = |name: &str| {
        let (short, rest) = name.split_once('/')?;
        Some(format!("crates/forebay-{short}/src/{rest}"))
    };
    let missing = named.filter(|name| {
        let full = in_crate(name);
        let is = |path: &String| path == name || path.ends_with(&format!("/{name}"));
        !paths.iter().any(|path| is(path) || full.as_ref() == Some(path))
    });
    missing.map(|name| format!("`{name}` is named and not there")).collect()
}

/// The tables of the code map: a crate, and what the first cells of its table name.
fn code_map(page: &str) -> Vec<(&str, Vec<&str>)> {
    let map = page.split("\n## Code map\n").nth(1).expect("a code map");
    let map = map.split("\n## ").next().expect("its end");
    let sections = map.split("\n### `").skip(1);
    sections
        .map(|section| {
            let (name, rest) = section.split_once('`').expect("a crate in the heading");
            let rows = rest.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
            (name, rows.flat_map(quoted).collect())
        })
        .collect()
}

/// Where the code map and the files and folders directly under `src` of a crate part.
fn unmapped(name: &str, named: &[&str], present: &[String]) -> Vec<String> {
    let stem = |entry: &str| entry.trim_end_matches('/').trim_end_matches(".rs").to_string();
    let shown = |entry: &String| named.iter().any(|n| stem(n) == stem(entry));
    let silent = present.iter().filter(|entry| !shown(entry));
    let direct = named.iter().filter(|n| !n.trim_end_matches('/').contains('/'));
    let gone = direct.filter(|n| !present.iter().any(|entry| entry == *n));
    silent
        .map(|entry| format!("{name}: `{entry}` has no row in the code map"))
        .chain(gone.map(|entry| format!("{name}: `{entry}` has a row and is not there")))
        .collect()
}

/// Files and folders directly under `src` of a crate; folders end with a slash.
fn entries(name: &str) -> Vec<String> {
    let folder = root().join("crates").join(name).join("src");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("a folder entry").path();
        let entry = path.file_name().expect("a name").to_string_lossy().into_owned();
        match path.is_dir() {
            true => found.push(format!("{entry}/")),
            false if matches!(entry.as_str(), "lib.rs" | "main.rs") => {}
            false => found.push(entry),
        }
    }
    found.sort();
    found
}

/// The lines of a page outside fenced blocks, with their numbers from 1.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.lines().enumerate().filter_map(move |(at, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((at + 1, line))
    })
}

/// Where the links of a page lead: `[text](target)` and `[text]: target`, with their lines.
pub fn links(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(page) {
        let code_apart: String = line.split('`').step_by(2).collect::<Vec<_>>().join("` `");
        let inline = code_apart.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(inline.map(|target| (number, target.to_string())));
        let defined = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        found.extend(defined.map(|(_, target)| (number, target.trim().to_string())));
    }
    found
}

/// What the headings of a page are called in links to them.
fn anchors(page: &str) -> Vec<String> {
    let headings = prose(page).filter(|(_, line)| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let slug = |text: &str| {
        text.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    headings.map(|(_, line)| slug(line.trim_start_matches('#'))).collect()
}

/// The links of a page to files and headings that are not there. Addresses are not looked up.
fn broken(file: &File) -> Vec<String> {
    let mut complaints = Vec::new();
    let folder = root().join(&file.path).parent().expect("a file is in a folder").to_path_buf();
    for (line, target) in links(&file.text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let place = folder.join(path);
        if !path.is_empty() && !place.exists() {
            complaints.push(format!("{}:{line}: {target} is not there", file.path));
            continue;
        }
        let text = match path {
            "" => Some(file.text.clone()),
            page if page.ends_with(".md") => fs::read_to_string(&place).ok(),
            _ => None,
        };
        let there = |text: String| anchor.is_empty() || anchors(&text).iter().any(|a| a == anchor);
        if !text.is_none_or(there) {
            complaints.push(format!("{}:{line}: {target}: no such heading", file.path));
        }
    }
    complaints
}

/// Lines longer than [`COLUMNS`]. Rows of tables may be, and a single word, such as an address.
fn wide(path: &str, text: &str) -> Vec<String> {
    let long = |line: &&str| {
        let line = line.trim();
        line.contains(' ') && !line.starts_with('|')
    };
    let lines = text.lines().enumerate().filter(|(_, line)| line.chars().count() > COLUMNS);
    let lines = lines.filter(|(_, line)| long(line));
    lines.map(|(at, line)| format!("{path}:{}: {} columns", at + 1, line.chars().count())).collect()
}

#[test]
fn pages_name_files_that_are_there() {
    let paths: Vec<String> = files("crates", ".rs").into_iter().map(|f| f.path).collect();
    for path in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        // The files that CONTRIBUTING.md asks the reader to write.
        let mine = ["`crates/forebay-cc/src/aimd.rs`", "`crates/forebay-queue/src/step.rs`"];
        let text = mine.iter().fold(page(path), |text, file| text.replace(file, ""));
        assert_none(gone(&text, &paths));
    }
}

#[test]
fn the_code_map_has_a_row_for_each_file_and_folder_of_a_crate() {
    let page = page("ARCHITECTURE.md");
    let map = code_map(&page);
    let mut complaints = Vec::new();
    for name in super::arrows::crates() {
        match map.iter().find(|(mapped, _)| *mapped == name) {
            Some((_, named)) => complaints.extend(unmapped(name, named, &entries(name))),
            None => complaints.push(format!("{name} has no table in the code map")),
        }
    }
    assert_none(complaints);
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    let pages = files("", ".md");
    assert!(pages.iter().map(|f| links(&f.text).len()).sum::<usize>() > 20, "no links are seen");
    assert_none(pages.iter().flat_map(broken).collect());
}

/// But for `CHANGELOG.md`, into which everybody writes.
#[test]
fn lines_of_pages_fit_into_100_columns() {
    let pages = files("", ".md").into_iter().filter(|f| f.path != "CHANGELOG.md");
    assert_none(pages.flat_map(|f| wide(&f.path, &f.text)).collect());
}

#[test]
fn a_file_that_went_and_one_without_a_row_are_seen() {
    let paths = ["crates/forebay-sim/src/agenda.rs".to_string()];
    assert_eq!(gone("see `agenda.rs`, `src/agenda.rs` and `Agenda`", &paths), [""; 0]);
    assert_eq!(gone("see `genda.rs`, and `gone.rs`", &paths).len(), 2);

    let page = "\n## Code map\n\n### `forebay-sim`: time\n\n| file | what |\n|---|---|\n\
                | `agenda/` | `no.rs` |\n| `a.rs`, `b.rs` | x |\n| `agenda/heap.rs` | y |\n\n\
                ## Z\n";
    let map = code_map(page);
    assert_eq!(map, [("forebay-sim", vec!["agenda/", "a.rs", "b.rs", "agenda/heap.rs"])]);
    let present = |entries: &[&str]| entries.iter().map(|e| e.to_string()).collect::<Vec<_>>();
    let named = &map[0].1;
    assert_eq!(unmapped("x", named, &present(&["a.rs", "agenda/", "agenda.rs", "b.rs"])), [""; 0]);
    let parted = unmapped("x", named, &present(&["a.rs", "agenda/", "c.rs"]));
    assert_eq!(parted.len(), 2, "{parted:?}");
}

#[test]
fn a_broken_link_and_a_wide_line_are_seen() {
    let text = "# One `two` & three!\n[a](#one-two--three) [b](Cargo.toml), `[c](none)` [d](#one)\n\
                ```\n[e](none)\n```\n[f]: none.md\n[g](https://example.org/none)\n";
    let file = File { path: "page.md".to_string(), text: text.to_string() };
    assert_eq!(broken(&file).len(), 2, "{:?}", broken(&file));
    let line = "x ".repeat(COLUMNS / 2);
    assert_eq!(wide("x.md", &line), [""; 0]);
    assert_eq!(wide("x.md", &format!("{line}x")), ["x.md:1: 101 columns"]);
    assert_eq!(wide("x.md", &format!("| {line}\n{}", "x".repeat(200))), [""; 0]);
}
