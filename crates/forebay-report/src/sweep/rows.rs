//! Rows of `sweep.parquet`, in the order of the file.

use crate::error::ReportError;
use crate::open::open_table;
use parquet::file::reader::FileReader;
use parquet::record::Field;
use std::path::Path;

/// A value in a table of which the columns have several types.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// There is none.
    Null,
    /// True or false.
    Boolean(bool),
    /// An integer; an unsigned number has its bits.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
}

impl Cell {
    /// As a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Integer(value) => Some(*value as f64),
            Cell::Real(value) => Some(*value),
            Cell::Null | Cell::Boolean(_) | Cell::Text(_) => None,
        }
    }

    /// As a text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Rows of a table, one by one.
pub type SweepRows = Box<dyn Iterator<Item = Result<Vec<Cell>, ReportError>>>;

/// The names of the columns of a table, and its rows. Errors if it cannot be read or has values of
/// other types.
pub fn sweep_rows(path: &Path) -> Result<(Vec<String>, SweepRows), ReportError> {
    let reader = open_table(path)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let names = schema.columns().iter().map(|column| column.name().to_string()).collect();
    let path = path.to_path_buf();
    let rows = reader.into_iter().map(move |row| {
        let row = row.map_err(ReportError::parquet(&path))?;
        let cells = row.into_columns().into_iter().map(|(name, field)| match field {
            Field::Null => Ok(Cell::Null),
            Field::Bool(value) => Ok(Cell::Boolean(value)),
            Field::Long(value) => Ok(Cell::Integer(value)),
            Field::Double(value) => Ok(Cell::Real(value)),
            Field::Str(text) => Ok(Cell::Text(text)),
            _ => Err(ReportError::NotResults {
                path: path.clone(),
                why: format!("has a column `{name}` of an unknown type"),
            }),
        });
        cells.collect()
    });
    Ok((names, Box::new(rows)))
}
