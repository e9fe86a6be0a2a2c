//! What pure crates must not hold, and where `unsafe` may stand.

use super::source::{blank, product, words};
use super::{PURE, assert_none, root, rust_files};
use std::fs;

/// Files that may hold `unsafe`: proven hot spots of the simulator, and the live data path.
const MAY_BE_UNSAFE: &[&str] = &["crates/forebay-live/src/os.rs"];
/// Lines that such a file may have: a reader can check them in one go.
const UNSAFE_LINES: usize = 300;

/// Words that betray a changeable global, a thread, a clock, or a way around a wall. (A `static`
/// without them is a constant with an address.)
const IMPURE: &[&str] = &[
    "thread_local",
    "OnceCell",
    "LazyCell",
    "OnceLock",
    "LazyLock",
    "Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
    "disallowed_methods",
    "disallowed_types",
    "print",
    "println",
    "eprint",
    "eprintln",
];

fn missing_walls(lib_rs: &str) -> Vec<&'static str> {
    let blanked = blank(lib_rs);
    ["#![no_std]", "#![forbid(unsafe_code)]"]
        .into_iter()
        .filter(|wall| !blanked.lines().any(|line| line.trim() == *wall))
        .collect()
}

fn impure_words(path: &str, text: &str) -> Vec<String> {
    let blanked = product(path, text);
    let words = words(&blanked);
    let impure = words.iter().enumerate().filter(|(i, w)| {
        let after_static = *i > 0 && words[*i - 1].text == "static" && !words[*i - 1].lifetime;
        let changeable = w.text.starts_with("Atomic") || (after_static && w.text == "mut");
        !w.lifetime && (IMPURE.contains(&w.text) || changeable || w.text == "std")
    });
    impure.map(|(_, w)| format!("{path}:{}: `{}` in a pure crate", w.line, w.text)).collect()
}

fn unsafe_words(path: &str, text: &str) -> Vec<String> {
    let blanked = blank(text);
    let found = words(&blanked);
    let found = found.iter().filter(|w| w.text == "unsafe");
    found.map(|w| format!("{path}:{}: `unsafe`", w.line)).collect()
}

/// Crates of machines, and of what a wire carries: a word of the packet that is a measurement of
/// drivers is nothing to them.
const MACHINES: [&str; 5] =
    ["forebay-wire", "forebay-cc", "forebay-queue", "forebay-router", "forebay-transport"];

#[test]
fn no_machine_reads_when_a_packet_left_its_host() {
    let mut complaints = Vec::new();
    let inside =
        |path: &str| MACHINES.iter().any(|m| path.starts_with(&format!("crates/{m}/src/")));
    for file in rust_files().iter().filter(|file| inside(&file.path)) {
        let blanked = blank(&file.text);
        let named = words(&blanked).into_iter().filter(|w| w.text == "left_host_at");
        complaints.extend(named.map(|w| format!("{}:{}: `{}`", file.path, w.line, w.text)));
    }
    assert_none(complaints);
}

#[test]
fn pure_crates_declare_themselves() {
    let mut complaints = Vec::new();
    for name in PURE {
        let path = root().join("crates").join(name).join("src/lib.rs");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        complaints.extend(missing_walls(&text).iter().map(|w| format!("{name}: no {w}")));
    }
    assert_none(complaints);
}

#[test]
fn pure_crates_hold_no_global_thread_or_clock() {
    let inside = |path: &str| PURE.iter().any(|p| path.starts_with(&format!("crates/{p}/src/")));
    let files = rust_files();
    let pure = files.iter().filter(|f| inside(&f.path));
    assert_none(pure.flat_map(|f| impure_words(&f.path, &f.text)).collect());
}

/// What one run must not reach for: it runs in a web page, too.
const OUTSIDE_OF_A_RUN: [&str; 6] = ["File", "Instant", "SystemTime", "fs", "parquet", "thread"];

fn reaches_outside(path: &str, text: &str) -> Vec<String> {
    let blanked = product(path, text);
    let found = words(&blanked).into_iter().filter(|w| OUTSIDE_OF_A_RUN.contains(&w.text));
    found.map(|w| format!("{path}:{}: `{}` in forebay-run", w.line, w.text)).collect()
}

#[test]
fn a_run_knows_no_file_and_no_clock() {
    let files = rust_files();
    let run: Vec<_> =
        files.iter().filter(|file| file.path.starts_with("crates/forebay-run/src/")).collect();
    assert!(!run.is_empty());
    assert_none(run.iter().flat_map(|file| reaches_outside(&file.path, &file.text)).collect());
    let seen = |text| reaches_outside("crates/forebay-run/src/x.rs", text).len();
    assert_eq!(seen("use std::fs::File;"), 2);
    assert_eq!(seen("fn f() -> Instant { Instant::now() } // File"), 2);
    assert_eq!(seen("struct Files { files: u8 }"), 0);
}

#[test]
fn unsafe_stands_only_where_it_is_allowed() {
    let files = rust_files();
    let guarded = files.iter().filter(|f| !MAY_BE_UNSAFE.contains(&f.path.as_str()));
    assert_none(guarded.flat_map(|f| unsafe_words(&f.path, &f.text)).collect());
    for path in MAY_BE_UNSAFE {
        let file = files.iter().find(|f| f.path == *path);
        let used = file.is_some_and(|f| !unsafe_words(path, &f.text).is_empty());
        assert!(used, "{path} needs no `unsafe`: take it off the list");
        let lines = file.map_or(0, |f| f.text.lines().count());
        assert!(lines <= UNSAFE_LINES, "{path}: {lines} lines, at most {UNSAFE_LINES}");
    }
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let manifests = super::files("crates", "Cargo.toml");
    let open = manifests.iter().filter(|m| !inherits_lints(&m.text));
    assert_none(open.map(|m| format!("{}: no `lints.workspace = true`", m.path)).collect());
}

fn inherits_lints(manifest: &str) -> bool {
    manifest.contains("[lints]\nworkspace = true\n")
}

#[test]
fn a_missing_wall_is_seen() {
    assert_eq!(missing_walls("#![no_std]\n#![forbid(unsafe_code)]\n").len(), 0);
    assert_eq!(missing_walls("//! #![no_std]\n#![forbid(unsafe_code)]\n"), ["#![no_std]"]);
    assert_eq!(missing_walls("#![cfg_attr(test, no_std)]").len(), 2);
    assert!(!inherits_lints("[package]\nname = \"x\"\n"));
}

#[test]
fn an_impurity_is_seen() {
    let seen = |text| impure_words("crates/forebay-net/src/x.rs", text).len();
    assert_eq!(seen("static COUNT: AtomicU64 = AtomicU64::new(0);"), 2);
    assert_eq!(seen("static mut COUNT: u64 = 0;"), 1);
    assert_eq!(seen("static TABLE: [u8; 2] = [1, 2]; fn f(x: &'static mut u8) {}"), 0);
    assert_eq!(seen("use std::time::Instant;"), 2);
    assert_eq!(seen("extern crate std;"), 1);
    assert_eq!(seen("#[allow(clippy::disallowed_types)]"), 1);
    assert_eq!(seen("const NAME: &'static str = \"static Instant\"; // HashMap"), 0);
    assert_eq!(seen("fn f() {}\n#[cfg(test)]\nmod tests { use std::vec; }"), 0);
}

#[test]
fn an_unsafe_block_is_seen() {
    let seen = |text| unsafe_words("x.rs", text).len();
    assert_eq!(seen("fn f() { unsafe { g() } }"), 1);
    assert_eq!(seen("#![forbid(unsafe_code)] // unsafe"), 0);
}
