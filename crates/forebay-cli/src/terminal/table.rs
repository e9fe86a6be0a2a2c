//! Tables with aligned columns, and text of a given width.

use super::Paint;

/// Columns of the narrowest terminal that everything must fit.
const WIDTH: usize = 80;
/// Spaces between columns.
const GAP: usize = 2;

/// Rows of a label and cells. Labels stand left, cells right.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Table {
    /// A table whose columns have these headings; the column of labels has none.
    pub fn new(header: Vec<String>) -> Table {
        Table { header, rows: Vec::new() }
    }
    /// Add a row, with one cell per heading.
    pub fn push(&mut self, label: impl Into<String>, cells: Vec<String>) {
        assert_eq!(cells.len(), self.header.len(), "a cell per heading");
        self.rows.push((label.into(), cells));
    }
    /// The text, in blocks of as many columns as fit into [`WIDTH`]; each line ends with a line
    /// feed.
    pub fn render(&self, paint: Paint) -> String {
        let labels = self.rows.iter().map(|(label, _)| chars(label)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.header.len()).map(|c| self.column_width(c)).collect();
        let mut text = String::new();
        let mut first = 0;
        while first < widths.len() {
            let mut end = first + 1;
            let mut used = labels + GAP + widths[first];
            while end < widths.len() && used + GAP + widths[end] <= WIDTH {
                used += GAP + widths[end];
                end += 1;
            }
            if first > 0 {
                text.push('\n');
            }
            self.render_block(first..end, labels, &widths, paint, &mut text);
            first = end;
        }
        text
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|(_, cells)| chars(&cells[column]));
        cells.chain([chars(&self.header[column])]).max().unwrap_or(0)
    }

    fn render_block(
        &self,
        columns: std::ops::Range<usize>,
        labels: usize,
        widths: &[usize],
        paint: Paint,
        text: &mut String,
    ) {
        let right = |cell: &str, c: usize| {
            let pad = GAP + widths[c] - chars(cell);
            format!("{:pad$}{cell}", "")
        };
        let heading: String = columns.clone().map(|c| right(&self.header[c], c)).collect();
        text.push_str(&format!("{:labels$}{}\n", "", paint.bold(heading)));
        for (label, cells) in &self.rows {
            let pad = labels - chars(label);
            let line: String = columns.clone().map(|c| right(&cells[c], c)).collect();
            text.push_str(format!("{label}{:pad$}{line}", "").trim_end());
            text.push('\n');
        }
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters_and_not_by_bytes() {
        let mut table = Table::new(vec!["a".into(), "bb".into()]);
        table.push("mean", vec!["1 ± 2".into(), "3".into()]);
        table.push("x", vec!["-".into(), "10".into()]);
        assert_eq!(
            table.render(Paint::none()),
            "          a  bb\nmean  1 ± 2   3\nx         -  10\n"
        );
    }

    #[test]
    fn a_wide_table_becomes_blocks_and_keeps_its_labels() {
        let mut table = Table::new((0..9).map(|c| format!("column {c}")).collect());
        table.push("label", (0..9).map(|c| format!("{c}.0000")).collect());
        let text = table.render(Paint::none());
        assert!(text.lines().all(|line| chars(line) <= WIDTH), "{text}");
        assert_eq!(text.matches("label").count(), 2);
        assert!((0..9).all(|c| text.contains(&format!("column {c}"))));
    }

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
