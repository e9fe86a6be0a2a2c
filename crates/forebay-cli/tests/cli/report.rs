//! The page of a folder of results. What a browser makes of it is tested next to the code that
//! writes it.

use crate::{Desk, SMALL};
use std::fs;

#[test]
fn a_run_leaves_a_page_and_report_makes_the_same_again() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk.forebay(&["run", "small.toml", "--out", "results"]).ok();
    let path = desk.path("results/report.html");
    let first = fs::read(&path).expect("a page");
    fs::remove_file(&path).expect("it was there");
    let done = desk.forebay(&["report", "results"]).ok();
    assert_eq!(done.stdout.trim_end(), "results/report.html");
    assert_eq!(fs::read(&path).expect("a page"), first);
    // A folder with its page is still a folder of results, which another run may replace.
    desk.forebay(&["run", "small.toml", "--out", "results", "--force"]).ok();
    assert_eq!(fs::read(&path).expect("a page"), first, "the clock does not show in it");
}

#[test]
fn a_folder_without_results_is_wrong_input() {
    let desk = Desk::new();
    desk.file("summary.json", "{\"sums\": 1}");
    for (folder, word) in [("nothing", "nothing/summary.json"), (".", "summary.json")] {
        let done = desk.forebay(&["report", folder]);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{}", done.stderr);
        assert!(done.stderr.contains(word) && done.stderr.contains("--out"), "{}", done.stderr);
    }
    assert_eq!(desk.names(), ["summary.json"]);
}

/// Whichever of its files is damaged, the folder is wrong input.
#[test]
fn a_damaged_folder_is_wrong_input() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk.forebay(&["run", "small.toml", "--out", "results"]).ok();
    for name in ["series.parquet", "summary.json", "scenario.toml"] {
        let path = desk.path("results").join(name);
        let whole = fs::read(&path).expect("a file of results");
        for damaged in [&whole[..whole.len() / 2], b"\xff\x00["] {
            fs::write(&path, damaged).expect("damaged");
            let done = desk.forebay(&["report", "results"]);
            assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{name}: {}", done.stderr);
            assert!(done.stderr.contains(name), "{}", done.stderr);
        }
        fs::write(&path, whole).expect("whole again");
    }
}

#[test]
fn two_folders_are_one_page_outside_of_both() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    for folder in ["old", "new"] {
        desk.forebay(&["run", "small.toml", "--out", folder]).ok();
    }
    let pages = ["old/report.html", "new/report.html"].map(|page| desk.path(page));
    let before = pages.each_ref().map(|page| fs::read(page).expect("a page"));
    let done = desk.forebay(&["report", "old", "new"]).ok();
    assert_eq!(done.stdout.trim_end(), "compare.html");
    let page = fs::read_to_string(desk.path("compare.html")).expect("a page");
    assert!(page.contains("<h1>old vs. new</h1>") && page.contains("<b>new</b>: "));
    assert_eq!(pages.each_ref().map(|page| fs::read(page).expect("a page")), before);
    // A page of Forebay is replaced; the name may be another one.
    desk.forebay(&["report", "new", "old"]).ok();
    let done = desk.forebay(&["report", "old", "new", "--out", "both.html"]).ok();
    assert_eq!(done.stdout.trim_end(), "both.html");
    assert_eq!(fs::read_to_string(desk.path("both.html")).expect("a page"), page);
}

#[test]
fn folders_that_cannot_be_compared_are_wrong_input() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk.file("mine.html", "my own page");
    for folder in ["old", "new"] {
        desk.forebay(&["run", "small.toml", "--out", folder]).ok();
    }
    let names = desk.names();
    for (line, words) in [
        (&["old", "old"][..], "`old` and `old` are the same folder"),
        (&["old", "new/../old"], "`old` and `new/../old` are the same folder"),
        (&["old", "nothing"], "nothing/summary.json"),
        (&["old", "mine.html"], "mine.html/summary.json"),
        (&["old", "new", "--out", "new/page.html"], "inside the folder of results `new`"),
        (&["old", "new", "--out", "mine.html"], "`mine.html` is there and is no page"),
        (&["old", "new", "3", "4", "5", "6", "7", "8"], "3/summary.json"),
        (&[], "<DIR>"),
    ] {
        let done = desk.forebay(&[&["report"], line].concat());
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{line:?}: {}", done.stderr);
        assert!(done.stderr.contains(words), "{line:?}: {}", done.stderr);
    }
    assert_eq!(desk.names(), names, "nothing was written");
    assert_eq!(fs::read(desk.path("mine.html")).expect("it stays"), b"my own page");
}

#[test]
fn a_run_without_a_reference_says_why_there_is_none() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk.forebay(&["run", "small.toml", "--out", "results", "--no-reference"]).ok();
    let page = fs::read_to_string(desk.path("results/report.html")).expect("a page");
    assert!(page.contains("<p class=about>Reference: none (not asked for) for NewReno.</p>"));
}
