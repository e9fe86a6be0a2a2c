//! `sweep.parquet`: rows in the order of their runs, and what is known of all of them.

use super::Manifest;
use super::columns::{columns, places};
use super::notes::Ignored;
use crate::error::StoreError;
use crate::store::table::{Column, TableFile};
use forebay_report::Cell;
use parquet::data_type::ByteArray;
use std::path::PathBuf;

/// Rows in a row group.
const GROUP_ROWS: usize = 1 << 13;

/// The table in the making.
pub struct SweepTable {
    file: TableFile,
    kinds: Vec<&'static str>,
    waiting: Vec<Vec<Cell>>,
    error_column: usize,
    rows: u64,
    failed: u64,
    ignored: Ignored,
}

/// What a finished sweep came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepOutcome {
    /// Rows.
    pub rows: u64,
    /// Of these, those of runs that failed.
    pub failed: u64,
    /// Notes for readers.
    pub notes: Vec<String>,
}

impl SweepTable {
    /// Begin the table of the sweep at `path`.
    pub fn create(path: PathBuf, manifest: &Manifest) -> Result<SweepTable, StoreError> {
        let columns = columns(&manifest.keys);
        let [error_column] = places(&manifest.keys, ["error"]);
        let kinds: Vec<&'static str> = columns.iter().map(|(_, kind)| *kind).collect();
        let like: Vec<(&str, Column)> =
            columns.iter().map(|(name, kind)| (name.as_str(), column(kind, &[], 0))).collect();
        let ignored = Ignored::new(manifest);
        let file = TableFile::create(path, &like)?;
        let (waiting, rows, failed) = (Vec::new(), 0, 0);
        Ok(SweepTable { file, kinds, waiting, error_column, rows, failed, ignored })
    }

    /// Append the row of the run `number`, which follows those before.
    pub fn push(&mut self, number: u64, cells: Vec<Cell>) -> Result<(), StoreError> {
        self.rows += 1;
        self.failed += u64::from(cells[self.error_column] != Cell::Null);
        self.ignored.see(number, &cells);
        self.waiting.push(cells);
        if self.waiting.len() < GROUP_ROWS { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.waiting);
        let kinds = self.kinds.iter().enumerate();
        let columns: Vec<Column> = kinds.map(|(place, kind)| column(kind, &rows, place)).collect();
        if rows.is_empty() { Ok(()) } else { self.file.append(&columns) }
    }

    /// Write the end of the file.
    pub fn close(mut self) -> Result<SweepOutcome, StoreError> {
        self.flush()?;
        self.file.close()?;
        let notes = self.ignored.notes();
        Ok(SweepOutcome { rows: self.rows, failed: self.failed, notes })
    }
}

/// The values of a column of this type.
fn column(kind: &str, rows: &[Vec<Cell>], place: usize) -> Column {
    let cells = || rows.iter().map(|row| &row[place]);
    let integer = |cell: &Cell| match cell {
        Cell::Integer(value) => Some(*value),
        _ => None,
    };
    let text = |cell: &Cell| cell.text().map(ByteArray::from);
    let there = "a value in a column that has them all";
    match kind {
        "int64" => Column::Integers(cells().map(|cell| integer(cell).expect(there)).collect()),
        "int64 or null" => Column::SomeIntegers(cells().map(integer).collect()),
        "double or null" => Column::SomeReals(cells().map(Cell::number).collect()),
        "string" => Column::Text(cells().map(|cell| text(cell).expect(there)).collect()),
        "string or null" => Column::SomeText(cells().map(text).collect()),
        "boolean or null" => {
            let boolean = |cell: &Cell| match cell {
                Cell::Boolean(value) => Some(*value),
                _ => None,
            };
            Column::SomeBooleans(cells().map(boolean).collect())
        }
        _ => unreachable!("the types of columns are those of their description"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Row, SweepRun};
    use super::*;
    use forebay_run::RunResult;
    use forebay_scenario::{SweptKey, SweptKind};

    #[test]
    fn a_row_has_a_cell_of_the_right_type_for_each_column() {
        let keys = [("x", SweptKind::Real), ("y", SweptKind::Text)].map(|(key, kind)| SweptKey {
            key: key.to_string(),
            kind,
            unit: String::new(),
        });
        let columns = columns(&keys);
        let run = SweepRun { point: 7, seed: 1, protocol: "cubic" };
        let failed = Row::failed(&run, "why".to_string());
        let done = Row::of(7, &RunResult { protocol: "cubic".to_string(), ..RunResult::default() });
        for row in [failed, done] {
            let cells = row.cells(Some("name"), &[None, None]);
            assert_eq!(cells.len(), columns.len());
            for (cell, (name, kind)) in cells.iter().zip(&columns) {
                let fits = match cell {
                    Cell::Null => kind.ends_with("or null"),
                    Cell::Integer(_) => kind.starts_with("int64"),
                    Cell::Real(_) => kind.starts_with("double"),
                    Cell::Text(_) => kind.starts_with("string"),
                    Cell::Boolean(_) => kind.starts_with("boolean"),
                };
                assert!(fits, "{name}: {cell:?} in a column of {kind}");
            }
            let place = columns.iter().position(|(name, _)| name == "error");
            assert_eq!(place, Some(6));
        }
    }

    #[test]
    fn no_fixed_column_has_the_name_of_a_key() {
        let keys = forebay_scenario::keys(&forebay_scenario::Registry::default());
        for (name, _) in columns(&[]) {
            let own = keys.all.iter().any(|key| key.places.iter().any(|place| place.path == name));
            assert!(!own, "{name} may be swept, too");
        }
    }
}
