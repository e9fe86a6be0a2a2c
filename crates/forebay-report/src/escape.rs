//! Text of users inside a page.

use std::fmt::Write;

/// As text or as a quoted attribute of HTML.
pub(super) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() && !c.is_whitespace() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON that may stand inside a `script` element: no `<`, so that nothing ends the element or opens
/// a comment.
pub(super) fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// A word for a shell.
pub(super) fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    let mut quoted = String::new();
    // Writing to a string cannot fail.
    let _ = write!(quoted, "'{}'", word.replace('\'', "'\\''"));
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_user_is_markup() {
        assert_eq!(html("<b>\"R&D's\"</b>"), "&lt;b&gt;&quot;R&amp;D&#39;s&quot;&lt;/b&gt;");
        assert_eq!(html("a\u{0}\u{1b}b\nc"), "a\u{fffd}\u{fffd}b\nc");
        let json = json_in_script(r#"{"a":"</script><!--"}"#);
        assert_eq!(json, r#"{"a":"\u003c/script>\u003c!--"}"#);
        let back: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(back["a"], "</script><!--");
    }

    #[test]
    fn words_for_a_shell() {
        assert_eq!(shell("1..3"), "1..3");
        assert_eq!(shell("it's a $HOME"), "'it'\\''s a $HOME'");
        assert_eq!(shell(""), "''");
    }
}
