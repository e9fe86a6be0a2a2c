//! The table of a sweep as Markdown: a table for each point, a row for each protocol.

use super::read::Sweep;
use super::table::{Column, quantities};
use crate::error::ReportError;
use crate::escape::html;
use crate::figures::ranges;
use std::fmt::Write;
use std::path::Path;

/// The table of the sweep in `folder`. Errors if it cannot be read.
pub fn sweep_markdown(folder: &Path) -> Result<String, ReportError> {
    let quantities = quantities();
    let sweep = Sweep::read(folder, &quantities)?;
    let record = &sweep.record;
    let mut text = format!(
        "Forebay {}, seeds {}: mean ± half of the 95 % interval, below it\n\
         what it is more than that of {}, seed by seed (bold if the interval does not hold 0).\n",
        record.forebay,
        ranges(&record.seeds),
        record.baseline.as_deref().unwrap_or("no other"),
    );
    for (number, point) in sweep.points.iter().enumerate() {
        let rows: Vec<(usize, usize)> =
            (0..record.protocols.len()).map(|protocol| (number, protocol)).collect();
        let columns: Vec<Column> = quantities
            .iter()
            .zip(&sweep.measured)
            .map(|(quantity, measured)| Column::new(quantity, measured, &rows))
            .filter(|column| column.cells.iter().any(|cell| cell.mean.is_some()))
            .collect();
        if columns.is_empty() {
            continue;
        }
        let name = point.name.clone().unwrap_or_else(|| number.to_string());
        let heads: String = columns.iter().map(|of| format!(" {} |", of.head)).collect();
        let lines = "---:|".repeat(columns.len());
        let _ = write!(text, "\n## {}\n\n| protocol |{heads}\n|:---|{lines}\n", html(&name));
        for (row, protocol) in record.protocols.iter().enumerate() {
            let _ = write!(text, "| {} |", html(protocol));
            for column in &columns {
                let cell = &column.cells[row];
                let below = match (&cell.difference, cell.is_apart()) {
                    (None, _) => String::new(),
                    (Some(_), true) => format!("<br>**{}**", cell.difference_text),
                    (Some(_), false) => format!("<br>{}", cell.difference_text),
                };
                let _ = write!(text, " {}{below} |", cell.text);
            }
            text.push('\n');
        }
    }
    Ok(text)
}
