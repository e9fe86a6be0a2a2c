//! The pages that people write stay few in words, their tables narrow, and each can be reached from
//! `README.md`.
//!
//! A word is what stands between blanks and has a letter, so that figures do not count. What is
//! not prose does not count either: code (fenced, indented or in backquotes), targets of links,
//! comments, and what commands generate (whole pages, and the parts of a page between
//! `<!-- forebay ARGS -->` and `<!-- end of tables -->`).

use super::pages::links;
use super::{File, assert_none, files, root};
use std::collections::BTreeSet;
use std::path::{Component, Path};

/// Words that all written pages together may have.
const MAX_WORDS: usize = 28_900;

/// Characters that a cell of a table may have, without the targets of links.
const MAX_CELL_CHARS: usize = 200;

/// Pages that `forebay explain --all` writes.
const GENERATED: [&str; 3] =
    ["docs/reference/keys.md", "docs/reference/metrics.md", "docs/reference/results.md"];

/// The pages of the repository that are documentation: at its root, and in `docs/`.
fn pages() -> Vec<File> {
    let mut found = files("docs", ".md");
    for path in ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"] {
        let text = std::fs::read_to_string(root().join(path)).expect(path);
        found.push(File { path: path.to_string(), text });
    }
    found
}

/// The lines of a page that are neither code nor generated.
fn written(page: &str) -> Vec<&str> {
    let (mut fenced, mut generated, mut indented, mut blank) = (false, false, false, true);
    let mut found = Vec::new();
    for line in page.lines() {
        let text = line.trim();
        let fence = text.starts_with("```");
        fenced ^= fence;
        let comment = text.starts_with("<!--");
        generated |= text.starts_with("<!-- forebay ");
        generated &= !text.starts_with("<!-- end of tables");
        indented = line.starts_with("    ") && (blank || indented) || (indented && text.is_empty());
        blank = text.is_empty();
        if !(fence || fenced || comment || generated || indented || blank) {
            found.push(line);
        }
    }
    found
}

/// A line without the targets of its links; empty if it only defines one.
fn without_targets(line: &str) -> String {
    if line.starts_with('[') && line.contains("]: ") {
        return String::new();
    }
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        let rest = part.split_once(')').map_or("", |(_, rest)| rest);
        text + "]" + rest
    })
}

fn words(page: &str) -> usize {
    let count = |line: &str| {
        let text: String =
            without_targets(line).split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let words = text.split(|c: char| c.is_whitespace() || c == '|');
        words.filter(|word| word.chars().any(char::is_alphabetic)).count()
    };
    written(page).into_iter().map(count).sum()
}

/// Cells that have more than [`MAX_CELL_CHARS`].
fn long_cells(path: &str, page: &str) -> Vec<String> {
    let rows = page.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
    rows.flat_map(|(at, line)| {
        let line = without_targets(&line.replace("\\|", "/"));
        let lengths: Vec<usize> = line.split('|').map(|cell| cell.trim().chars().count()).collect();
        let long = lengths.into_iter().filter(|&length| length > MAX_CELL_CHARS);
        long.map(|length| format!("{path}:{}: a cell of {length} characters", at + 1))
            .collect::<Vec<_>>()
    })
    .collect()
}

/// The path from the root that a link on a page leads to.
fn target(page: &str, link: &str) -> String {
    let link = link.split('#').next().unwrap_or_default();
    let folder = Path::new(page).parent().expect("a page is in a folder");
    let mut parts: Vec<String> = Vec::new();
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.join("/")
}

/// The pages to which no way of links leads from `README.md`.
fn unreachable(pages: &[File]) -> Vec<String> {
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut next = vec!["README.md".to_string()];
    while let Some(path) = next.pop() {
        if reached.insert(path.clone())
            && let Some(page) = pages.iter().find(|page| page.path == path)
        {
            next.extend(links(&page.text).into_iter().map(|(_, link)| target(&path, &link)));
        }
    }
    let missed = pages.iter().filter(|page| !reached.contains(&page.path));
    missed.map(|page| format!("{}: no link leads here from README.md", page.path)).collect()
}

#[test]
fn written_pages_have_at_most_so_many_words() {
    let pages = pages();
    assert_none(
        GENERATED
            .iter()
            .filter(|path| pages.iter().all(|page| page.path != **path))
            .map(|path| format!("{path} is not there"))
            .collect(),
    );
    let written = pages.iter().filter(|page| !GENERATED.contains(&page.path.as_str()));
    let counted: Vec<(usize, &str)> =
        written.map(|page| (words(&page.text), page.path.as_str())).collect();
    let total: usize = counted.iter().map(|(words, _)| words).sum();
    let list: Vec<String> =
        counted.iter().map(|(words, path)| format!("{words:6} {path}")).collect();
    assert!(total <= MAX_WORDS, "{total} words, at most {MAX_WORDS}:\n{}", list.join("\n"));
    assert!(total > MAX_WORDS / 4, "the scan found only {total} words");
}

#[test]
fn cells_of_tables_are_short() {
    assert_none(pages().iter().flat_map(|page| long_cells(&page.path, &page.text)).collect());
}

#[test]
fn every_page_can_be_reached_from_the_readme() {
    assert_none(unreachable(&pages()));
}

#[test]
fn what_counts_as_a_word_is_told_apart() {
    let page = "# One `two` three\n\n    code code\n\n    code\n\nfour 5 [six](seven.md) 8 ms\n\
                | nine | 10.5 ± 2 |\n|---|---|\n```\nno\n```\n<!-- forebay run x -->\n| no |\n\
                <!-- end of tables -->\n[ten]: none.md\n- eleven\n    twelve\n";
    assert_eq!(words(page), 8, "{:?}", written(page));
}

#[test]
fn a_long_cell_and_a_lonely_page_are_seen() {
    let long = "x".repeat(MAX_CELL_CHARS + 1);
    let row = format!("| a | {long} | [b]({long}) |\n");
    assert_eq!(long_cells("x.md", &row), ["x.md:1: a cell of 201 characters"]);
    assert_eq!(long_cells("x.md", &long), [""; 0]);

    let page = |path: &str, text: &str| File { path: path.to_string(), text: text.to_string() };
    let all = [
        page("README.md", "[a](docs/a.md#x)"),
        page("docs/a.md", "[b](deep/b.md) [c](../C.md)"),
        page("docs/deep/b.md", ""),
        page("C.md", ""),
        page("docs/lonely.md", "[a](a.md)"),
    ];
    assert_eq!(unreachable(&all), ["docs/lonely.md: no link leads here from README.md"]);
}
