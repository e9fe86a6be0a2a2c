//! Places in a text, and what is wrong with it there.

use std::ops::Range;

/// A map file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct MapError {
    /// The bytes of the text that it is about.
    pub range: Range<usize>,
    /// What is wrong, and what was expected.
    pub problem: String,
    /// Advice.
    pub hint: Option<String>,
}

impl MapError {
    pub(super) fn hint(self, hint: impl Into<String>) -> MapError {
        MapError { hint: Some(hint.into()), ..self }
    }
}

/// A problem with a part of the text.
pub(super) fn fault(range: Range<usize>, problem: impl Into<String>) -> MapError {
    MapError { range, problem: problem.into(), hint: None }
}

/// A word of a text, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl Word<'_> {
    /// Its bytes.
    pub fn range(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }
    /// The fault of a word where something else was expected.
    pub fn wrong(&self, expected: &str) -> MapError {
        fault(self.range(), format!("expected {expected}, found `{}`", shown(self.text)))
    }
}

/// The beginning of a text from a file.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let mut chars = text.chars();
    let begin: String = chars.by_ref().take(MOST).collect();
    if chars.next().is_some() { begin + "…" } else { begin }
}

/// The words of a text between blanks. `at` is where it stands.
pub(super) fn words(text: &str, at: usize) -> impl Iterator<Item = Word<'_>> {
    let start = text.as_ptr() as usize;
    text.split_whitespace()
        .map(move |word| Word { text: word, at: at + (word.as_ptr() as usize - start) })
}

/// A number that is finite.
pub(super) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}
