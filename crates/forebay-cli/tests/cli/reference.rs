//! `explain KEY`, the reference pages, completions and manual pages.

use crate::Desk;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn explained(name: &str) -> String {
    let text = Desk::new().forebay(&["explain", name]).ok().stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_key_is_explained_with_type_range_default_places_and_example() {
    let rule = explained("rto_rule");
    for words in [
        "tcp.rto_rule - scenario key",
        "Type \"rfc6298\" or \"linux\"",
        "Default \"rfc6298\"; \"linux\" with the preset linux-6.18",
        "tcp_of.NAME.rto_rule",
        "Example [tcp] rto_rule = \"linux\"",
    ] {
        assert!(rule.contains(words), "no `{words}` in:\n{rule}");
    }
    let lost = explained("links.loss.packets");
    for words in ["links.loss.packets - scenario key", "[[links]] loss.packets = [3, 10]"] {
        assert!(lost.contains(words), "no `{words}` in:\n{lost}");
    }
    let buffer = explained("tcp.receive_buffer_bytes");
    for words in ["Unit bytes", "Range one segment or more", "KiB, MiB, GiB"] {
        assert!(buffer.contains(words), "no `{words}` in:\n{buffer}");
    }
    let queue = explained("queue");
    for words in ["with discipline = \"codel\"", "interval_ms", "hosts.reverse.queue"] {
        assert!(queue.contains(words), "no `{words}` in:\n{queue}");
    }
}

#[test]
fn a_key_at_several_places_lists_them_and_a_name_of_two_kinds_shows_both() {
    let rate = explained("rate");
    for words in ["rate - 3 scenario keys", "link_defaults.rate", "flows.write.rate"] {
        assert!(rate.contains(words), "no `{words}` in:\n{rate}");
    }
    let rcp = explained("rcp");
    for words in ["congestion control", "port scheme", "rcp - scenario key"] {
        assert!(rcp.contains(words), "no `{words}` in:\n{rcp}");
    }
    // The table of its parameters adds nothing to an algorithm.
    assert!(!explained("cubic").contains("scenario key"));
}

#[test]
fn an_unknown_key_has_the_nearest_suggested() {
    for (asked, meant) in [
        ("quue", "the key `queue`"),
        ("tcp.rto_rul", "the key `tcp.rto_rule`"),
        ("links.loss.packet", "the key `links.loss.packets`"),
    ] {
        let done = Desk::new().forebay(&["explain", asked]);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""));
        assert!(done.stderr.contains(&format!("did you mean {meant}?")), "{}", done.stderr);
    }
    for wrong in
        [&["explain"][..], &["explain", "--all", "kies"], &["explain", "x", "--all", "keys"]]
    {
        assert_eq!(Desk::new().forebay(wrong).code, 2, "{wrong:?}");
    }
}

#[test]
fn the_reference_pages_are_what_the_command_writes() {
    for what in ["keys", "metrics", "results"] {
        let page = format!("{what}.md");
        let written = Desk::new().forebay(&["explain", "--all", what]).ok().stdout;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(&page);
        let there = fs::read_to_string(&path).expect("a page of the repository");
        let differs = there.lines().zip(written.lines()).position(|(a, b)| a != b);
        assert!(
            there == written,
            "docs/reference/{page} is old, from line {:?} on: forebay explain --all {what} > \
             docs/reference/{page}",
            differs.map(|line| line + 1)
        );
    }
}

/// Each row of a table has as many cells as its head: no text of a cell broke it.
#[test]
fn tables_of_reference_pages_are_whole() {
    for what in ["keys", "metrics", "results"] {
        let page = Desk::new().forebay(&["explain", "--all", what]).ok().stdout;
        let mut columns = 0;
        for line in page.lines() {
            let cells = line.replace("\\|", "").matches('|').count();
            match line.starts_with('|') {
                true if columns == 0 => columns = cells,
                true => assert_eq!(cells, columns, "{line}"),
                false => columns = 0,
            }
        }
        assert!(page.lines().filter(|line| line.starts_with("| `")).count() > 30, "{what}");
    }
}

/// Where the values of a JSON object are: a path for each.
fn places(path: &str, value: &serde_json::Value, found: &mut BTreeSet<String>) {
    found.insert(path.to_string());
    match value {
        serde_json::Value::Object(keys) => {
            keys.iter().for_each(|(key, value)| places(&format!("{path}.{key}"), value, found));
        }
        serde_json::Value::Array(values) => {
            values.iter().for_each(|value| places(&format!("{path}[]"), value, found));
        }
        _ => {}
    }
}

/// True if `place` is at the path that the page names; or below it, if the page says no more.
fn is_at(place: &str, path: &str, rows: &[(&str, bool)]) -> bool {
    let (deep, steps) = (place.split('.').count(), path.split('.').count());
    let last = !rows.iter().any(|(row, _)| row.starts_with(&format!("{path}[].")));
    let fits = |(place, path): (&str, &str)| {
        let wild = path.chars().all(|c| c.is_ascii_uppercase());
        wild || place == path || place.trim_end_matches("[]") == path
    };
    let along = place.split('.').zip(path.split('.')).all(fits);
    along && (deep == steps || (last && deep > steps))
}

/// Keys of a flow have the columns of `flows.parquet`, and what is only a step to keys below it has
/// no row.
#[test]
fn results_have_the_keys_that_the_page_lists() {
    let page = Desk::new().forebay(&["explain", "--all", "results"]).ok().stdout;
    let json = page.split("\n## JSON\n").nth(1).expect("a section");
    let rows: Vec<(&str, bool)> = json
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| {
            let (path, rest) = row.split_once('`').expect("a path in backquotes");
            (path, rest.starts_with(" | optional"))
        })
        .collect();
    let mut found = BTreeSet::new();
    let limit = "links.left-right.queue.limit=6kB";
    for args in [
        &["run", "dumbbell", "--threads", "2", "--seeds", "2", "--json"][..],
        &["run", "inrpp/dumbbell", "--json"],
        &["run", "checks/full-link", "--seeds", "2", "--set", limit, "--json"],
    ] {
        let done = Desk::new().forebay(args);
        let json = serde_json::from_str(&done.stdout).expect("a JSON object");
        places("", &json, &mut found);
    }
    for (path, optional) in &rows {
        let there = *optional || found.iter().any(|place| is_at(place, path, &rows));
        assert!(there, "the page names {path}, which no result has");
    }
    for place in &found {
        let step = rows.iter().any(|(path, _)| path.starts_with(place.as_str()));
        let listed = step || rows.iter().any(|(path, _)| is_at(place, path, &rows));
        assert!(listed, "{place} is in results, and not on the page");
    }
}

/// What bash says of this text on standard input.
fn bash(args: &[&str], text: &str) -> String {
    let mut command = Command::new("bash");
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("bash is installed");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("written");
    let done = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(done.status.success(), "{args:?}: {said}");
    said
}

#[test]
fn bash_accepts_the_completions_and_completes_names() {
    let script = Desk::new().forebay(&["completions", "bash"]).ok().stdout;
    assert_eq!(bash(&["-n"], &script), "");
    // The function completes what bash would ask it for.
    for (words, wanted) in [
        (&["forebay", "run", "dumb"][..], "dumbbell"),
        (&["forebay", "run", "s1", "--protocol", "cub"], "cubic"),
        (&["forebay", "reproduce", "linux/"], "linux/one-flow"),
        (&["forebay", "expl"], "explain"),
    ] {
        let line = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let last = words.len() - 1;
        let asks = format!(
            "{script}\nCOMP_WORDS=({line}); COMP_CWORD={last}\n\
             _forebay forebay '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            words[last],
            words[last - 1]
        );
        let said = bash(&["--noprofile", "--norc", "-s"], &asks);
        assert!(said.lines().any(|line| line == wanted), "{words:?}: {said}");
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let text = Desk::new().forebay(&["completions", shell]).ok().stdout;
        assert!(text.contains("reproduce"), "{shell}");
    }
    // zsh offers files only where configured: a scenario, an experiment, what is explained.
    let zsh = Desk::new().forebay(&["completions", "zsh"]).ok().stdout;
    let files = zsh.lines().filter(|line| line.contains("_files\"}' \\")).count();
    assert_eq!(files, 3, "{zsh}");
    let wrong = Desk::new().forebay(&["completions", "ksh"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("bash, elvish, fish, powershell, zsh"), "{}", wrong.stderr);
}

#[test]
fn manual_pages_have_every_command_and_option() {
    let desk = Desk::new();
    let page = desk.forebay(&["man"]).ok().stdout;
    assert!(page.contains(".TH FOREBAY 1") && page.contains("forebay\\-run(1)"), "{page}");
    let listed = desk.forebay(&["man", "--out", "man1"]).ok().stdout;
    assert_eq!(listed.lines().count(), desk_pages(&desk).len());
    for name in ["forebay.1", "forebay-run.1", "forebay-channel-generate.1"] {
        assert!(desk_pages(&desk).iter().any(|page| page == name), "{name}");
    }
    let run = fs::read_to_string(desk.path("man1/forebay-run.1")).expect("a page");
    assert!(run.contains("\\-\\-protocol") && run.contains(".TH FOREBAY-RUN 1"), "{run}");
    // Requests that man(7) has: text that begins with a dot would be another one.
    const KNOWN: [&str; 10] =
        [".TH", ".SH", ".TP", ".PP", ".RS", ".RE", ".br", ".ie", ".el", ".IP"];
    for name in desk_pages(&desk) {
        let text = fs::read_to_string(desk.path("man1").join(&name)).expect("a page");
        for line in text.lines().filter(|line| line.starts_with(['.', '\''])) {
            let request = line.split_whitespace().next().unwrap_or_default();
            assert!(KNOWN.contains(&request), "{name}: {line}");
        }
    }
    desk.file("occupied", "");
    let wrong = desk.forebay(&["man", "--out", "occupied"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("cannot write `occupied`"), "{}", wrong.stderr);
}

fn desk_pages(desk: &Desk) -> Vec<String> {
    let all = fs::read_dir(desk.path("man1")).expect("the folder is there");
    all.map(|page| page.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}
