//! How a command can fail, and the exit code that says so.

use crate::terminal::Paint;
use std::fmt::Display;
use std::io::{self, Write};

/// A run failed, or an expectation does not hold.
pub const EXIT_RUN: u8 = 1;
/// The input is wrong.
pub const EXIT_INPUT: u8 = 2;
/// The machine was too busy for a live run to be evidence.
pub const EXIT_UNFIT: u8 = 3;
/// Not possible on this machine.
pub const EXIT_IMPOSSIBLE: u8 = 4;
/// Interrupted: 128 + SIGINT, as shells have it.
pub const EXIT_INTERRUPTED: u8 = 130;

/// A command that did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong: what, where, and what was expected.
    Input(String),
    /// A run failed.
    Run(String),
    /// Results are not what the scenario expects; how many, and which.
    Unmet(String),
    /// A live run is no evidence: why.
    Unfit(String),
    /// This machine does not allow it: which right is missing, and how to grant it.
    Impossible(String),
    /// Another process of the command has reported it, and ended with this exit code.
    Reported(u8),
    /// Stopped by a person; what is missing.
    Interrupted(String),
    /// No one reads the output any more, as with `| head`.
    Unread,
}

impl Failure {
    /// The input is wrong.
    pub fn input(what: impl Display) -> Failure {
        Failure::Input(what.to_string())
    }
    /// A run failed.
    pub fn run(what: impl Display) -> Failure {
        Failure::Run(what.to_string())
    }
    /// Report it to the user, and give the exit code.
    pub fn report(&self) -> u8 {
        let mut stderr = io::stderr();
        let paint = Paint::of(&stderr);
        let (head, text, code) = match self {
            Failure::Input(text) => (paint.red("error:"), text, EXIT_INPUT),
            Failure::Run(text) => (paint.red("error:"), text, EXIT_RUN),
            Failure::Unmet(text) => (paint.red("failed:"), text, EXIT_RUN),
            Failure::Interrupted(text) => (paint.yellow("interrupted:"), text, EXIT_INTERRUPTED),
            Failure::Unfit(text) => (paint.yellow("unfit:"), text, EXIT_UNFIT),
            Failure::Impossible(text) => (paint.red("not possible here:"), text, EXIT_IMPOSSIBLE),
            Failure::Reported(code) => return *code,
            Failure::Unread => return 0,
        };
        // If standard error cannot be written either, the exit code must suffice.
        let _ = writeln!(stderr, "{head} {text}");
        code
    }
}

impl From<io::Error> for Failure {
    /// Of writing to standard output; other I/O says which file it was about.
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Run(format!("cannot write to standard output: {error}")),
        }
    }
}
