//! What README.md and docs/how-to/scenarios.md show is what happens.

use crate::Desk;

/// The fenced blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let path = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).expect("a page of the repository");
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

/// True if `printed` is `shown`, in which a line `…` stands for one or more lines.
fn shows(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        ([], _) | (_, []) => false,
        (["…", shown @ ..], printed) => {
            (1..=printed.len()).any(|left_out| shows(shown, &printed[left_out..]))
        }
        ([a, shown @ ..], [b, printed @ ..]) => words(a) == words(b) && shows(shown, printed),
    }
}

#[test]
fn the_first_command_prints_what_the_page_shows() {
    let blocks = blocks("README.md", "text");
    let shown = blocks.iter().find(|b| b.starts_with("dumbbell:")).expect("the output is shown");
    let shown: Vec<&str> = shown.lines().collect();
    let printed = Desk::new().forebay(&["run", "dumbbell"]).ok().stdout;
    assert!(
        shown.len() > 15 && shows(&shown, &printed.lines().collect::<Vec<_>>()),
        "put the output of `forebay run dumbbell` into README.md:\n{printed}"
    );
}

#[test]
fn a_page_that_shows_something_else_is_seen() {
    let printed = ["a 1", "b 2", "c 3"];
    for shown in [&["a 1", "b 2", "c 3"][..], &["a 1", "…"], &["…", "c 3"], &["a 1", "…", "c 3"]]
    {
        assert!(shows(shown, &printed), "{shown:?}");
    }
    for shown in [&["a 1", "b 2"][..], &["a 2", "…"], &["…", "b 2"], &["a 1", "b 2", "c 3", "…"]]
    {
        assert!(!shows(shown, &printed), "{shown:?}");
    }
}

#[test]
fn the_example_scenarios_run() {
    let blocks = blocks("docs/how-to/scenarios.md", "toml");
    assert_eq!(blocks.len(), 2, "{blocks:?}");
    for scenario in &blocks {
        let desk = Desk::new();
        desk.file("example.toml", scenario);
        let done = desk.forebay(&["run", "example.toml", "--json"]).ok();
        let summary = done.json();
        for run in summary["runs"].as_array().expect("runs") {
            assert_eq!(run["completed"], run["flows"], "{run}");
        }
    }
}

#[test]
fn what_the_page_shows_of_expectations_is_printed() {
    let blocks = blocks("docs/how-to/scenarios.md", "text");
    let shown = blocks.iter().find(|block| block.starts_with("expectations:")).expect("a block");
    let set = "links.left-right.queue.limit=6kB";
    let args = ["run", "checks/full-link", "--seeds", "5", "--set", set];
    let printed = Desk::new().forebay(&args).stdout;
    assert!(printed.contains(shown.trim_end()), "{printed}");
}
