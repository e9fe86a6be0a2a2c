//! Tables with aligned columns.

use super::Paint;
use super::wrap::{WIDTH, chars};

/// Spaces between columns.
const GAP: usize = 2;

/// A heading is broken where it is wider than this and than the cells below it.
const HEADING: usize = 14;

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
        let cells = cells.max().unwrap_or(0);
        let heading = heading(&self.header[column], cells.max(HEADING));
        heading.iter().map(|line| chars(line)).max().unwrap_or(0).max(cells)
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
        let headings: Vec<(usize, Vec<String>)> = columns
            .clone()
            .map(|c| (c, heading(&self.header[c], widths[c].max(HEADING))))
            .collect();
        let lines = headings.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
        for line in 0..lines {
            // Short headings stand on the last line, above their cells.
            let part = |(c, own): &(usize, Vec<String>)| {
                let at = (line + own.len()).checked_sub(lines);
                right(at.map_or("", |at| own[at].as_str()), *c)
            };
            let joined: String = headings.iter().map(part).collect();
            text.push_str(&format!("{:labels$}{}\n", "", paint.bold(joined.trim_end())));
        }
        for (label, cells) in &self.rows {
            let pad = labels - chars(label);
            let line: String = columns.clone().map(|c| right(&cells[c], c)).collect();
            text.push_str(format!("{label}{:pad$}{line}", "").trim_end());
            text.push('\n');
        }
    }
}

/// A heading in lines of at most `most` characters, if its words allow it. `R = 2` is one word.
fn heading(text: &str, most: usize) -> Vec<String> {
    let kept = text.replace(" = ", "\u{a0}=\u{a0}");
    let mut lines = vec![String::new()];
    for word in kept.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if chars(line) + 1 + chars(word) <= most {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
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
    fn a_long_heading_is_broken_between_its_words() {
        let headings = ["Verus, recommended, R = 2", "CUBIC"];
        let mut table = Table::new(headings.map(String::from).to_vec());
        table.push("mean", vec!["1.5".into(), "12".into()]);
        let expected = "            Verus,\n      recommended,\n             \
                        R = 2  CUBIC\nmean           1.5     12\n";
        assert_eq!(table.render(Paint::none()), expected);
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
}
