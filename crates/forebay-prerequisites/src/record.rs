//! The record of skipped tests.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::thread;

pub(crate) const SKIPPED: &str = "FOREBAY_SKIPPED";

/// Record that the running test is skipped. The caller returns at once.
///
/// # Panics
///
/// If the record cannot be written: a skip without a record would pass for a test.
#[track_caller]
pub fn skip(reason: &str) {
    let line = format!("skipped: {}: {reason}\n", test_name(Location::caller()));
    let file = record();
    // One write to a file opened for appending: lines of parallel processes do not mix.
    let opened = OpenOptions::new().append(true).create(true).open(&file);
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// The file of records.
fn record() -> PathBuf {
    let named = env::var_os(SKIPPED).filter(|name| !name.is_empty()).map(PathBuf::from);
    named.unwrap_or_else(|| {
        let this = env::current_exe().expect("a test is a program");
        let profile = this.parent().and_then(Path::parent).expect("it lies in PROFILE/deps");
        profile.join("skipped-tests.txt")
    })
}

/// `EXECUTABLE::TEST`. libtest gives the thread of a test its name; with `--test-threads=1` it has
/// none, and the place of the caller stands for it.
fn test_name(caller: &Location<'_>) -> String {
    let this = env::current_exe().expect("a test is a program");
    let stem = this.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.expect("a program has a name");
    // Cargo's names end with a dash and a hash.
    let executable = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
    match thread::current().name() {
        Some(test) if test != "main" => format!("{executable}::{test}"),
        _ => format!("{executable}::{}:{}", caller.file(), caller.line()),
    }
}
