//! No line of a Rust file is longer than 100 columns.

use super::{assert_none, rust_files};

const COLUMNS: usize = 100;

/// Paths whose files still have longer lines. A path leaves this list when it has none.
const TO_WRAP: &[&str] = &[
    "crates/forebay-cc/src/inrpp.rs",
    "crates/forebay-router/src/inrpp/",
    "crates/forebay-testkit/tests/inrpp/",
];

fn long_lines(path: &str, text: &str) -> Vec<String> {
    let numbered = text.lines().enumerate().map(|(i, line)| (i + 1, line.chars().count()));
    let long = numbered.filter(|&(_, columns)| columns > COLUMNS);
    long.map(|(number, columns)| format!("{path}:{number}: {columns} columns")).collect()
}

#[test]
fn lines_fit_in_100_columns() {
    let files = rust_files();
    let done = files.iter().filter(|f| !TO_WRAP.iter().any(|start| f.path.starts_with(start)));
    assert_none(done.flat_map(|f| long_lines(&f.path, &f.text)).collect());
}

#[test]
fn paths_to_wrap_have_long_lines() {
    let files = rust_files();
    let is_done = |start: &&&str| {
        let inside = files.iter().filter(|f| f.path.starts_with(**start));
        inside.flat_map(|f| long_lines(&f.path, &f.text)).next().is_none()
    };
    let done = TO_WRAP.iter().filter(is_done);
    assert_none(done.map(|start| format!("{start}: take it out of TO_WRAP")).collect());
}

#[test]
fn the_check_counts_characters() {
    let [fits, long] = [100, 101].map(|columns| "\u{3bc}".repeat(columns));
    assert!(long_lines("a.rs", &fits).is_empty());
    assert_eq!(long_lines("a.rs", &format!("//\n{long}\n")), ["a.rs:2: 101 columns"]);
}
