//! The pages at the root keep step with the code that they describe.

use super::{assert_none, files, root};
use std::fs;

/// The words of a Markdown page that stand in backquotes.
fn quoted(page: &str) -> Vec<&str> {
    page.split('`').skip(1).step_by(2).collect()
}

/// Rust files that `page` names and that are not among `paths`.
fn gone(page: &str, paths: &[String]) -> Vec<String> {
    let named = quoted(page).into_iter().filter(|word| word.ends_with(".rs"));
    let missing = named.filter(|name| {
        paths.iter().all(|path| path != name && !path.ends_with(&format!("/{name}")))
    });
    missing.map(|name| format!("`{name}` is named and not there")).collect()
}

/// Crates that `page` has no paragraph for.
fn unmapped<'a>(page: &str, crates: impl Iterator<Item = &'a str>) -> Vec<String> {
    let unnamed = crates.filter(|name| !page.contains(&format!("**`{name}`**")));
    unnamed.map(|name| format!("{name} has no paragraph in the code map")).collect()
}

#[test]
fn the_code_map_names_what_is_there() {
    let paths: Vec<String> = files("crates", ".rs").into_iter().map(|f| f.path).collect();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).expect(page);
        // The file that CONTRIBUTING.md asks the reader to write.
        let text = text.replace("`crates/forebay-cc/src/aimd.rs`", "");
        assert_none(gone(&text, &paths));
    }
}

#[test]
fn the_code_map_has_a_paragraph_for_each_crate() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    assert_none(unmapped(&text, super::arrows::crates()));
}

#[test]
fn a_file_that_went_and_a_crate_without_paragraph_are_seen() {
    let paths = ["crates/forebay-sim/src/agenda.rs".to_string()];
    assert_eq!(gone("see `agenda.rs`, `src/agenda.rs` and `Agenda`", &paths), [""; 0]);
    assert_eq!(gone("see `genda.rs`, and `gone.rs`", &paths).len(), 2);
    assert_eq!(unmapped("**`forebay-sim`**, a driver", ["forebay-sim"].into_iter()), [""; 0]);
    assert_eq!(unmapped("`forebay-sim`", ["forebay-sim"].into_iter()).len(), 1);
}
