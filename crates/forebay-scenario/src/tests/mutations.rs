//! Random changes of good files: each gives a scenario or an error with a line, never a panic.

use super::*;
use forebay_base::{Rng, Stream};

const SPLINTERS: &[&str] = &[
    "0",
    "9",
    "-",
    ".",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    "\n",
    " ",
    "\0",
    "µ",
    "\u{1f30a}",
    "ms",
    "Mbit/s",
    "true",
    "nan",
    "inf",
    "99999999999999999999",
    "{}",
    "1e400",
    "[[",
    "\"\"",
    "#",
    "count = 70000\n",
    "reverse = {}\n",
    "1979-05-27",
];

/// An index at a character boundary.
fn boundary(text: &str, rng: &mut Rng) -> usize {
    let at = rng.below(text.len() as u64 + 1) as usize;
    (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

fn mutate(text: &mut String, rng: &mut Rng) {
    match rng.below(4) {
        0 => {
            let (at, what) = (boundary(text, rng), rng.below(SPLINTERS.len() as u64));
            text.insert_str(at, SPLINTERS[what as usize]);
        }
        1 => {
            let (a, b) = (boundary(text, rng), boundary(text, rng));
            let (start, end) = (a.min(b), a.max(b).min(a.min(b) + 8));
            let end = (start..=end).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(start);
            text.replace_range(start..end, "");
        }
        // A line goes elsewhere, or stands twice.
        kind => {
            let mut lines: Vec<String> = text.lines().map(ToString::to_string).collect();
            if !lines.is_empty() {
                let from = rng.below(lines.len() as u64) as usize;
                let line = if kind == 2 { lines.remove(from) } else { lines[from].clone() };
                let to = rng.below(lines.len() as u64 + 1) as usize;
                lines.insert(to, line);
            }
            *text = lines.join("\n");
        }
    }
}

#[test]
fn five_hundred_broken_files_never_panic() {
    let good: Vec<&str> = BUILTINS.iter().map(|b| b.text).chain([SMALL]).collect();
    let (mut valid, mut wrong) = (0, 0);
    for case in 0..500 {
        let mut rng = Rng::new(7, Stream::Test, case);
        let mut text = good[case as usize % good.len()].to_string();
        for _ in 0..=rng.below(3) {
            mutate(&mut text, &mut rng);
        }
        match parse_with(&text, &[]) {
            Ok(scenario) => {
                valid += 1;
                let again = parse_with(&scenario.to_toml(), &[]);
                let again = again.unwrap_or_else(|error| panic!("case {case}: {error}"));
                // Keys that are not used are not written, so no note repeats them.
                let scenario = Scenario { unused: Vec::new(), ..scenario };
                assert_eq!(again, scenario, "case {case}");
            }
            Err(error) => {
                wrong += 1;
                let place =
                    error.first().place.as_ref().unwrap_or_else(|| panic!("case {case}: {error}"));
                assert!(place.line >= 1 && place.column >= 1, "case {case}: {error}");
                let lines = text.lines().count().max(1);
                assert!(place.line <= lines + 1, "case {case}: {error}");
            }
        }
    }
    assert!(valid > 50 && wrong > 50, "{valid} valid, {wrong} wrong");
}
