//! Parquet files as comma-separated values (RFC 4180).

use super::ExportError;
use crate::error::StoreError;
use crate::store::NewFolder;
use forebay_report::open_table;
use forebay_report::schema::PARQUET;
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::record::Field;
use std::io;
use std::path::Path;

/// Write each Parquet file of `folder` as `NAME.csv`; a file that is not there is left out.
pub(super) fn write(folder: &Path, new: &NewFolder) -> Result<Vec<String>, ExportError> {
    let mut files = Vec::new();
    for file in PARQUET {
        let from = folder.join(file.name);
        if !from.exists() {
            continue;
        }
        let name = file.name.replace(".parquet", ".csv");
        table(&from, &new.file(Path::new(&name)))?;
        files.push(name);
    }
    if files.is_empty() {
        return Err(ExportError::Nothing { folder: folder.to_path_buf(), what: "Parquet files" });
    }
    Ok(files)
}

fn table(from: &Path, to: &Path) -> Result<(), ExportError> {
    let unreadable = |source| ExportError::Parquet { path: from.to_path_buf(), source };
    let reader = open_table(from)?;
    let rows = reader.get_row_iter(None).map_err(unreadable)?;
    let unwritable = |error: ::csv::Error| StoreError::io("write", to)(io::Error::from(error));
    let mut out = ::csv::Writer::from_path(to).map_err(unwritable)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    out.write_record(schema.columns().iter().map(|c| c.name())).map_err(unwritable)?;
    let mut record = ::csv::StringRecord::new();
    for row in rows {
        record.clear();
        for (name, field) in row.map_err(unreadable)?.get_column_iter() {
            let text = match (name.as_str(), field) {
                ("seed", Field::Long(bits)) => bits.cast_unsigned().to_string(),
                _ => text(field).map_err(unreadable)?,
            };
            record.push_field(&text);
        }
        out.write_record(&record).map_err(unwritable)?;
    }
    let file = out.into_inner().map_err(::csv::IntoInnerError::into_error);
    let synced = file.and_then(|file| file.sync_all());
    Ok(synced.map_err(StoreError::io("write", to))?)
}

/// A value, such that reading it back gives the same.
fn text(field: &Field) -> Result<String, ParquetError> {
    Ok(match field {
        Field::Null => String::new(),
        Field::Bool(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Str(value) => value.clone(),
        other => {
            let what = format!("a value of another type than results have: {other}");
            return Err(ParquetError::General(what));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_as_they_were() {
        for value in [0.1, 1e300, -2.5e-9, 12_345_678.901_234_5, f64::MIN_POSITIVE] {
            let written = text(&Field::Double(value)).unwrap();
            assert_eq!(written.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{written}");
        }
        assert_eq!(text(&Field::Null).unwrap(), "");
        assert_eq!(text(&Field::Long(-3)).unwrap(), "-3");
        assert_eq!(text(&Field::Bool(true)).unwrap(), "true");
        assert!(text(&Field::Byte(1)).is_err());
    }
}
