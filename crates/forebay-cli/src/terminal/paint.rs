//! Colour, where a person reads it.

use super::wrap;
use std::fmt::Display;
use std::io::IsTerminal;

/// Paints text for one stream: only if that is a terminal, and not if NO_COLOR is set
/// (no-color.org) or TERM is `dumb`.
#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

impl Paint {
    /// For what goes to this stream.
    pub fn of(stream: &impl IsTerminal) -> Paint {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Paint(stream.is_terminal() && !set("NO_COLOR") && !dumb)
    }
    /// No colour.
    #[cfg(test)]
    pub fn none() -> Paint {
        Paint(false)
    }
    /// A heading.
    pub fn bold(self, text: impl Display) -> String {
        self.with("1", text)
    }
    /// What matters less.
    pub fn dim(self, text: impl Display) -> String {
        self.with("2", text)
    }
    /// What is as it should be.
    pub fn green(self, text: impl Display) -> String {
        self.with("32", text)
    }
    /// What is wrong.
    pub fn red(self, text: impl Display) -> String {
        self.with("1;31", text)
    }
    /// What deserves a look.
    pub fn yellow(self, text: impl Display) -> String {
        self.with("33", text)
    }
    /// Notes for readers, in lines of a terminal's width.
    pub fn note(self, text: &str) -> String {
        // Broken into lines before it is painted, since colour has no width.
        let lines = wrap(&format!("note: {text}"), 0);
        self.yellow("note:") + lines.trim_start_matches("note:")
    }
    fn with(self, code: &str, text: impl Display) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}
