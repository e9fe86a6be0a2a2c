//! No line of a Rust file is longer than 100 columns.

use super::{assert_none, rust_files};

const COLUMNS: usize = 100;

fn long_lines(path: &str, text: &str) -> Vec<String> {
    let numbered = text.lines().enumerate().map(|(i, line)| (i + 1, line.chars().count()));
    let long = numbered.filter(|&(_, columns)| columns > COLUMNS);
    long.map(|(number, columns)| format!("{path}:{number}: {columns} columns")).collect()
}

#[test]
fn lines_fit_in_100_columns() {
    let files = rust_files();
    assert_none(files.iter().flat_map(|f| long_lines(&f.path, &f.text)).collect());
}

#[test]
fn the_check_counts_characters() {
    let [fits, long] = [100, 101].map(|columns| "\u{3bc}".repeat(columns));
    assert!(long_lines("a.rs", &fits).is_empty());
    assert_eq!(long_lines("a.rs", &format!("//\n{long}\n")), ["a.rs:2: 101 columns"]);
}
