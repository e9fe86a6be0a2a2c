//! XML documents, and what the formats in XML share.

use super::text::{MapError, fault, number, shown};
use roxmltree::{Document, Node, ParsingOptions};

/// The document of a text.
pub(super) fn parse(text: &str) -> Result<Document<'_>, MapError> {
    let parsing = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, parsing).map_err(|error| {
        // The position counts lines and characters from 1.
        let pos = error.pos();
        let line = text.split_inclusive('\n').take(pos.row.saturating_sub(1) as usize);
        let start = line.map(str::len).sum::<usize>();
        let column = pos.col.saturating_sub(1) as usize;
        let before = text[start..].chars().take(column).map(char::len_utf8).sum::<usize>();
        let message = error.to_string();
        let message = message.rsplit_once(" at ").map_or(message.as_str(), |(what, _)| what);
        fault(start + before..start + before, format!("not valid XML: {message}"))
    })
}

/// The elements of this name in an element.
pub(super) fn children<'a>(
    of: Node<'a, 'a>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'a>> {
    of.children().filter(move |node| node.is_element() && node.tag_name().name() == name)
}

/// The first element of this name in an element.
pub(super) fn child<'a>(of: Node<'a, 'a>, name: &'static str) -> Option<Node<'a, 'a>> {
    children(of, name).next()
}

/// An element that must be there.
pub(super) fn needed<'a>(of: Node<'a, 'a>, name: &'static str) -> Result<Node<'a, 'a>, MapError> {
    child(of, name).ok_or_else(|| {
        let own = of.tag_name().name();
        fault(of.range(), format!("<{own}> without <{name}>"))
    })
}

/// An attribute that must be there.
pub(super) fn attribute<'a>(of: Node<'a, 'a>, name: &str) -> Result<&'a str, MapError> {
    of.attribute(name).ok_or_else(|| {
        let own = of.tag_name().name();
        fault(of.range(), format!("<{own}> without the attribute `{name}`"))
    })
}

/// The text of an element, without blanks around it.
pub(super) fn text_of<'a>(of: Node<'a, 'a>) -> &'a str {
    of.text().unwrap_or_default().trim()
}

/// The number in an element.
pub(super) fn number_of(of: Node<'_, '_>) -> Result<f64, MapError> {
    number(text_of(of)).ok_or_else(|| {
        let (own, found) = (of.tag_name().name(), shown(text_of(of)));
        fault(of.range(), format!("expected a number in <{own}>, found `{found}`"))
    })
}
