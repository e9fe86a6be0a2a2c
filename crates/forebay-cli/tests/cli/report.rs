//! The page of a folder of results. What a browser makes of it is tested beside the code that writes it.

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
