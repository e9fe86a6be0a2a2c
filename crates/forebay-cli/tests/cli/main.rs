//! The binary as a person or a script meets it: what it prints where, and with which exit code.

mod bad_input;
mod baseline;
mod channel;
#[cfg(target_os = "linux")]
mod disturbed;
mod expect;
mod interrupt;
#[cfg(target_os = "linux")]
mod live;
mod matrix;
mod memory;
mod mistakes;
mod names;
mod out;
mod outside;
mod pages;
mod pcap;
#[cfg(unix)]
mod pipes;
mod progress;
mod readme;
mod reference;
mod report;
mod reproduce;
mod results;
mod sweep;
mod topology;
mod validation;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Two hosts and a 10 Mbit/s bottleneck of 5 ms between two routers; 100 kB, which takes 0.2 s of
/// simulated time or so. The lines are counted by tests: the description is line 1.
pub(crate) const SMALL: &str = r#"description = "small"
protocols = ["newreno"]
routers = ["r0", "r1"]
link_defaults = { delay = "5ms", queue = "50ms" }
[[links]]
a = "r0"
b = "r1"
rate = "10Mbit/s"
[[hosts]]
name = "s"
attach = "r0"
rate = "100Mbit/s"
[[hosts]]
name = "d"
attach = "r1"
rate = "100Mbit/s"
[[flows]]
src = "s"
dst = "d"
bytes = 100_000
"#;

/// What a finished command left.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    pub(crate) fn of(output: Output) -> Done {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        let code = output.status.code().expect("it was not killed by a signal");
        Done { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
    /// The JSON object on standard output, which must hold nothing else.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }
    /// The same, of a command that did what it was asked.
    pub(crate) fn ok(self) -> Done {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }
}

/// A folder of its own for a test.
pub(crate) struct Desk(TempDir);

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk(tempfile::tempdir().expect("a folder for the test"))
    }
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    /// Write a file.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), content).expect("a file for the test");
        self
    }
    /// The names in the folder, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder is there");
        let name = |e: std::io::Result<fs::DirEntry>| e.expect("an entry").file_name();
        let mut names: Vec<_> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
    /// The command, with this folder as its current one.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = forebay_in(self.0.path());
        command.args(args);
        command
    }
    /// Run it to its end.
    pub(crate) fn forebay(&self, args: &[&str]) -> Done {
        Done::of(self.command(args).output().expect("the binary starts"))
    }
}

fn forebay_in(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.current_dir(folder).stdin(Stdio::null());
    for variable in ["FOREBAY_BENCH_DATA", "FOREBAY_HUGE_PAGES", "GLIBC_TUNABLES"] {
        command.env_remove(variable);
    }
    command
}
