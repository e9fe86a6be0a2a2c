//! What `bench --json` wrote earlier, beside what is measured now.

use crate::failure::Failure;
use crate::terminal::{Paint, Table};
use forebay_lab::{BenchReport, BenchRow};
use serde_json::Value;
use std::path::Path;

/// An earlier report.
pub struct Before {
    name: String,
    machine: String,
    /// Name, trace hash, and nanoseconds per packet-hop: median and best.
    rows: Vec<(String, String, [f64; 2])>,
}

impl Before {
    /// The report in this file.
    pub fn read(path: &Path) -> Result<Before, Failure> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::input(format!("{name}: {error}")))?;
        let other = |why: &str| Failure::input(format!("{name}: {why}: expected bench --json"));
        let value: Value =
            serde_json::from_str(&text).map_err(|error| other(&error.to_string()))?;
        let row = |row: &Value| {
            let text = |key: &str| Some(row.get(key)?.as_str()?.to_string());
            let number = |key: &str| row.get(key)?.as_f64();
            let ns = [number("ns_per_hop")?, number("best_ns_per_hop")?];
            Some((text("name")?, text("trace_hash")?, ns))
        };
        let rows = value.get("rows").and_then(Value::as_array);
        let rows = rows.ok_or_else(|| other("it has no `rows`"))?;
        let rows: Option<Vec<_>> = rows.iter().map(row).collect();
        let rows = rows.ok_or_else(|| other("a row lacks a figure"))?;
        let machine = value.get("machine").and_then(Value::as_str);
        let machine = machine.ok_or_else(|| other("it has no `machine`"))?.to_string();
        Ok(Before { name, machine, rows })
    }

    /// Both, with their ratios: below 1 it is faster now.
    pub fn beside(&self, report: &BenchReport, paint: Paint) -> String {
        let headings = ["before", "now", "now / before", "of the best", "hash"];
        let mut table = Table::new(headings.map(String::from).to_vec());
        let earlier = |row: &BenchRow| self.rows.iter().find(|(name, ..)| *name == row.name);
        for row in &report.rows {
            let Some((name, hash, [median, best])) = earlier(row) else { continue };
            let same = if *hash == row.trace_hash { "same" } else { "differs" };
            let cells = [
                format!("{median:.0} ns"),
                format!("{:.0} ns", row.ns_per_hop),
                format!("{:.2}", row.ns_per_hop / median),
                format!("{:.2}", row.best_ns_per_hop / best),
                same.to_string(),
            ];
            table.push(name.clone(), cells.to_vec());
        }
        let mut text = format!("\nbeside {}:\n", self.name) + &table.render(paint);
        if self.machine != report.machine {
            let note = format!(
                "{} was measured on {}, this on {}: ratios need figures of one machine",
                self.name, self.machine, report.machine
            );
            text.push_str(&paint.note(&note));
        }
        text
    }
}
