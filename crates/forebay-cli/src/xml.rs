//! Text of users in XML and SVG.

use std::fmt::Write;

/// As text, or as an attribute in double quotes. XML 1.0 has no way to write most control
/// characters; and a reader turns a line feed in an attribute into a space unless it is written as
/// a number.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_an_attribute_that_reads_back() {
        let text = "a < b && \"c\" > 'd'\n\ttab \r cr µ 中 \u{1f30a}";
        let document = format!("<e v=\"{}\"/>", escaped(text));
        let read = roxmltree::Document::parse(&document).unwrap();
        assert_eq!(read.root_element().attribute("v"), Some(text));
        // What XML cannot say is replaced.
        let document = format!("<e v=\"{}\"/>", escaped("a\0b\u{1b}[31mc\u{ffff}"));
        let read = roxmltree::Document::parse(&document).unwrap();
        assert_eq!(read.root_element().attribute("v"), Some("a\u{fffd}b\u{fffd}[31mc\u{fffd}"));
    }
}
