//! What README.md shows is what happens.

use crate::Desk;

/// The fenced blocks of the page in this language.
fn blocks(language: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let page = std::fs::read_to_string(path).expect("README.md");
    let parts = page.split("\n```");
    // Fences open and close in turn: the odd parts are inside.
    let inside = parts.skip(1).step_by(2).filter_map(|part| part.split_once('\n'));
    inside.filter(|(tag, _)| *tag == language).map(|(_, text)| text.to_string()).collect()
}

/// What a line says without the costs of a run, which differ from machine to machine.
fn words(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if words.last().is_some_and(|last| last.len() == 16) && words.contains(&"ns") {
        words.drain(4..words.len() - 1);
    }
    if words.first() == Some(&"memory:") {
        words.truncate(1);
    }
    words
}

#[test]
fn the_first_command_prints_what_the_page_shows() {
    let shown = blocks("text");
    let shown = shown.iter().find(|b| b.starts_with("dumbbell:")).expect("the output is shown");
    let printed = Desk::new().forebay(&["run", "dumbbell"]).ok().stdout;
    let pairs = || shown.lines().zip(printed.lines());
    let same = pairs().all(|(a, b)| words(a) == words(b));
    let complete = shown.lines().count() == printed.lines().count();
    assert!(
        same && complete,
        "put the output of `forebay run dumbbell` into README.md:\n{printed}"
    );
}

#[test]
fn the_example_scenario_runs() {
    let blocks = blocks("toml");
    let [scenario] = blocks.as_slice() else { panic!("one example: {blocks:?}") };
    let desk = Desk::new();
    desk.file("office.toml", scenario);
    let done = desk.forebay(&["run", "office.toml", "--json"]).ok();
    let summary = done.json();
    for run in summary["runs"].as_array().expect("runs") {
        assert_eq!(run["completed"], run["flows"], "{run}");
    }
}
