//! What README.md and the pages of docs/start and docs/how-to show is what happens.

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
    let blocks = blocks("docs/how-to/ci.md", "text");
    let shown = blocks.iter().find(|block| block.starts_with("expectations:")).expect("a block");
    let set = "links.left-right.queue.limit=6kB";
    let args = ["run", "checks/full-link", "--seeds", "5", "--set", set];
    let printed = Desk::new().forebay(&args).stdout;
    assert!(printed.contains(shown.trim_end()), "{printed}");
}

/// The fenced blocks of a page in their order: language and text.
fn all_blocks(page: &str) -> Vec<(String, String)> {
    let path = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).expect("a page of the repository");
    let inside = page.split("\n```").skip(1).step_by(2);
    let parted = inside.filter_map(|part| part.split_once('\n'));
    parted.map(|(language, text)| (language.to_string(), text.to_string())).collect()
}

/// The scenario of the lesson, each command in its order, and what the page shows of it.
#[test]
fn the_lesson_of_the_teacher_prints_what_it_says() {
    let desk = Desk::new();
    let (mut commands, mut compared, mut printed) = (0, 0, String::new());
    for (language, text) in all_blocks("docs/start/teacher.md") {
        match language.as_str() {
            "toml" => {
                desk.file("lesson.toml", &text);
            }
            "sh" => {
                let line = text.replace("\\\n", " ");
                let args: Vec<&str> = line.split_whitespace().collect();
                assert_eq!(args[0], "forebay", "{line}");
                let done = desk.forebay(&args[1..]);
                // 1: an expectation fails, as the page then shows.
                assert!(matches!(done.code, 0 | 1), "{line}: {}", done.stderr);
                printed = done.stdout;
                commands += 1;
            }
            _ => {
                let shown: Vec<&str> = text.lines().collect();
                let printed: Vec<&str> = printed.lines().collect();
                assert!(shows(&shown, &printed), "the lesson shows {shown:#?} of {printed:#?}");
                compared += 1;
            }
        }
    }
    assert_eq!((commands, compared), (6, 5));
    for page in ["one/report.html", "compare.html"] {
        let page = std::fs::read_to_string(desk.path(page)).expect("a page");
        assert!(page.contains("cwnd") && page.contains("queue"));
    }
}

/// The files of the network of the operator, with its events and its expectation.
#[test]
fn the_network_of_the_operator_runs() {
    let desk = Desk::new();
    let blocks = all_blocks("docs/start/operator.md");
    let (_, files) = &blocks[0];
    for line in files.lines() {
        let (name, rows) = line.split_once(':').expect("a name");
        desk.file(name, rows.split_whitespace().collect::<Vec<_>>().join("\n"));
    }
    let scenario: Vec<&str> =
        blocks.iter().filter(|(of, _)| of == "toml").map(|(_, text)| text.as_str()).collect();
    assert_eq!(scenario.len(), 3);
    desk.file("backbone.toml", scenario.join("\n"));
    let json = desk.forebay(&["run", "backbone.toml", "--json"]).ok().json();
    assert_eq!(json["runs"][0]["completed"], json["runs"][0]["flows"]);
    let set = "link_defaults.queue.discipline=codel";
    let limit = "link_defaults.queue.limit=100ms";
    desk.forebay(&["run", "backbone.toml", "--set", set, "--set", limit]).ok();
}
