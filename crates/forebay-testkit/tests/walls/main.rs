//! The walls of the house, as tests: who may depend on whom, what pure crates must not hold, and
//! what keeps the source readable. Each check is a function over text or a graph, shown to fail on
//! a bad example next to it.

mod arrows;
mod circles;
mod columns;
mod docs;
mod idiom;
mod layers;
mod modules;
mod outside;
mod pages;
mod publish;
mod purity;
mod schemes;
mod source;
mod tidy;

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that are pure: `no_std`, no clock, no I/O, no globals, no threads, no `unsafe`.
const PURE: &[&str] = &[
    "forebay-base",
    "forebay-wire",
    "forebay-signal",
    "forebay-cc",
    "forebay-queue",
    "forebay-router",
    "forebay-transport",
    "forebay-net",
];

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository.
struct File {
    /// Path from the root, with `/`.
    path: String,
    /// What is in it.
    text: String,
}

/// All files below `folder` (a path from the root) whose name ends with `suffix`, in order of their
/// paths. Build output is left out.
fn files(folder: &str, suffix: &str) -> Vec<File> {
    let root = root();
    let mut folders = vec![root.join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("a folder entry").path();
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
            let name = name.expect("an entry has a name");
            if path.is_dir() {
                if !matches!(name.as_str(), "target" | "out" | ".git") {
                    folders.push(path);
                }
            } else if name.ends_with(suffix) {
                let text =
                    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let relative = path.strip_prefix(&root).expect("below the root");
                found.push(File { path: relative.to_string_lossy().replace('\\', "/"), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The Rust files of all crates.
fn rust_files() -> Vec<File> {
    let found = files("crates", ".rs");
    assert!(found.len() > 20, "the scan of crates/ found only {} files", found.len());
    found
}

/// Fails with one line for each complaint.
fn assert_none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
