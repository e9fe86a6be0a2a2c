//! Text in lines of a terminal's width.

/// Columns of the narrowest terminal that everything must fit.
pub(super) const WIDTH: usize = 80;

/// `text` in lines of at most [`WIDTH`] characters, each after `indent` spaces; words longer than a
/// line stand alone. An empty line parts paragraphs, a single line feed is a space.
pub fn wrap(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    for (i, paragraph) in text.split("\n\n").enumerate() {
        if i > 0 {
            lines.push('\n');
        }
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && indent + chars(&line) + 1 + chars(word) > WIDTH {
                lines.push_str(&format!("{:indent$}{line}\n", ""));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push_str(format!("{:indent$}{line}", "").trim_end());
        lines.push('\n');
    }
    lines
}

pub(super) fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_text_fits_and_loses_no_word() {
        let text = "one two three ".repeat(30);
        let wrapped = wrap(&text, 4);
        assert!(
            wrapped.lines().all(|line| chars(line) <= WIDTH
                && line.starts_with("    one") | line.starts_with("    t"))
        );
        assert_eq!(wrapped.split_whitespace().count(), 90);
    }
}
