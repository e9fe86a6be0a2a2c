//! Texts and places in them: the scenario file, its `--set` arguments, its CSV files.

use crate::format::error::Place;
use crate::format::files::Files;
use std::sync::Arc;

/// Characters of a line that a message shows around the place that it is about.
const SHOWN_BEFORE: usize = 50;
const SHOWN_BEHIND: usize = 50;

/// A stretch of one of the [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loc {
    pub source: u32,
    pub start: u32,
    pub end: u32,
}

/// The texts that a scenario was read from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// Those that clones share: see [`Sources::share`].
    shared: Arc<Vec<(String, String)>>,
    texts: Vec<(String, String)>,
    /// Notes on them for readers of results.
    notes: Vec<String>,
    /// Where the files come from that they name.
    pub files: Files,
}

impl Sources {
    /// None yet.
    pub fn with(files: Files) -> Sources {
        Sources { files, ..Sources::default() }
    }
    /// Keep a text of less than 4 GiB under the name that messages show; its index.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u32 {
        self.texts.push((name.into(), text.into()));
        (self.shared.len() + self.texts.len() - 1) as u32
    }
    /// Clones from now on share what is here: a sweep has a clone for each point, and may have a
    /// text for each value.
    pub fn share(&mut self) {
        let mut all = Arc::unwrap_or_clone(std::mem::take(&mut self.shared));
        all.append(&mut self.texts);
        self.shared = Arc::new(all);
    }
    fn named(&self, source: u32) -> &(String, String) {
        let source = source as usize;
        self.shared.get(source).unwrap_or_else(|| &self.texts[source - self.shared.len()])
    }
    /// Keep a note for readers of results.
    pub fn note(&mut self, note: String) {
        self.notes.push(readable(&note, 1_000));
    }
    /// The notes, once.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
    pub fn text(&self, source: u32) -> &str {
        &self.named(source).1
    }
    /// Line, column and text of a location.
    pub fn place(&self, loc: Loc, key: String) -> Place {
        let (file, text) = self.named(loc.source);
        let start = floor_boundary(text, loc.start as usize);
        let end = floor_boundary(text, loc.end as usize).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let chars = |range: &str| range.chars().count();
        let column = chars(&text[line_start..start]) + 1;
        let width = chars(&text[start..end.min(line_end)]).max(1);
        let (shown, indent) = around(text[line_start..line_end].trim_end_matches('\r'), column - 1);
        let width = width.min(shown.chars().count().saturating_sub(indent)).max(1);
        let line = text[..line_start].matches('\n').count() + 1;
        Place { file: readable(file, usize::MAX), line, column, key, text: shown, indent, width }
    }
}

/// The part of a line around its character `at`, "…" for what is cut off; and where that character
/// stands in it.
fn around(line: &str, at: usize) -> (String, usize) {
    let first = at.saturating_sub(SHOWN_BEFORE);
    let mut rest = line.chars().skip(first);
    let mut shown = if first > 0 { "…".to_string() } else { String::new() };
    let indent = shown.chars().count() + at - first;
    let part = rest.by_ref().take(at - first + SHOWN_BEHIND);
    shown.extend(part.map(|c| if is_unseen(c) { ' ' } else { c }));
    if rest.next().is_some() {
        shown.push('…');
    }
    (shown, indent)
}

/// True for what a terminal obeys and for what changes how the text around it is shown: control
/// characters, marks and overrides of direction (Unicode standard annex 9), and characters without
/// width.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A text from a file as messages show it: at most `most` characters, what is not seen as its
/// number.
pub(crate) fn readable(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut shown = String::new();
    for c in chars.by_ref().take(most) {
        if is_unseen(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// The nearest character boundary at or before `index`.
fn floor_boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_and_lines() {
        let mut sources = Sources::default();
        let source = sources.add("f", "é = 1\r\n\tü = \"ü\"\n");
        // Bytes: é 0..2, the second line starts at 8 with a tab, ü 9..11, its value 14..18.
        let place = sources.place(Loc { source, start: 14, end: 18 }, "k".into());
        assert_eq!((place.line, place.column, place.width), (2, 6, 3));
        assert_eq!(place.text, " ü = \"ü\"");
        let first = sources.place(Loc { source, start: 0, end: 2 }, "k".into());
        assert_eq!(
            (first.line, first.column, first.width, first.text.as_str()),
            (1, 1, 1, "é = 1")
        );
        let end = sources.place(Loc { source, start: 99, end: 99 }, "k".into());
        assert_eq!((end.line, end.column, end.width), (3, 1, 1));
    }

    #[test]
    fn long_lines_are_cut_around_their_place() {
        let mut sources = Sources::default();
        let text = format!("{}x{}", "a".repeat(1_000), "b".repeat(1_000_000));
        let source = sources.add("f", text);
        let place = sources.place(Loc { source, start: 1_000, end: 900_000 }, "k".into());
        assert_eq!(place.column, 1_001);
        let expected = format!("…{}x{}…", "a".repeat(50), "b".repeat(49));
        assert_eq!((place.text, place.indent, place.width), (expected, 51, 51));
    }

    #[test]
    fn what_is_not_seen_is_shown_as_its_number() {
        assert_eq!(readable("a\u{1b}[31m\u{202e}b é", 99), "a\\u{1b}[31m\\u{202e}b é");
        assert_eq!(readable("1000000", 3), "100…");
        assert_eq!(readable("100", 3), "100");
    }
}
