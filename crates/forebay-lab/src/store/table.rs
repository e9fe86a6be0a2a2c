//! Parquet files, column by column: Snappy, dictionaries for what repeats.

use super::coded::{Coded, Entries};
use crate::error::StoreError;
use bytes::Bytes;
use forebay_report::schema::{RESULTS_VERSION, VERSION_KEY};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a page at most: a group of rows of series is one.
const PAGE_ROWS: usize = 1 << 17;

/// Values of one column; None where there is no value.
pub(crate) enum Column {
    Text(Vec<ByteArray>),
    Coded(Coded),
    SomeText(Vec<Option<ByteArray>>),
    SomeBooleans(Vec<Option<bool>>),
    Integers(Vec<i64>),
    SomeIntegers(Vec<Option<i64>>),
    Reals(Vec<f64>),
    SomeReals(Vec<Option<f64>>),
}

impl Column {
    pub fn texts<S: AsRef<str>>(values: impl Iterator<Item = S>) -> Column {
        Column::Text(values.map(|text| ByteArray::from(text.as_ref())).collect())
    }
    pub fn counts(values: impl Iterator<Item = u64>) -> Column {
        Column::Integers(values.map(count).collect())
    }
    /// Its type, in words.
    #[cfg(test)]
    pub fn kind(&self) -> &'static str {
        match self {
            Column::Text(_) => "string",
            Column::Coded(coded) => match coded.entries() {
                Entries::Text(_) => "string",
                Entries::Integers(_) => "int64",
            },
            Column::SomeText(_) => "string or null",
            Column::SomeBooleans(_) => "boolean or null",
            Column::Integers(_) => "int64",
            Column::SomeIntegers(_) => "int64 or null",
            Column::Reals(_) => "double",
            Column::SomeReals(_) => "double or null",
        }
    }
    /// As a field called `name`.
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical, repetition) = match self {
            Column::Text(_) => (Physical::BYTE_ARRAY, true, Repetition::REQUIRED),
            Column::Coded(coded) => match coded.entries() {
                Entries::Text(_) => (Physical::BYTE_ARRAY, true, Repetition::REQUIRED),
                Entries::Integers(_) => (Physical::INT64, false, Repetition::REQUIRED),
            },
            Column::SomeText(_) => (Physical::BYTE_ARRAY, true, Repetition::OPTIONAL),
            Column::SomeBooleans(_) => (Physical::BOOLEAN, false, Repetition::OPTIONAL),
            Column::Integers(_) => (Physical::INT64, false, Repetition::REQUIRED),
            Column::SomeIntegers(_) => (Physical::INT64, false, Repetition::OPTIONAL),
            Column::Reals(_) => (Physical::DOUBLE, false, Repetition::REQUIRED),
            Column::SomeReals(_) => (Physical::DOUBLE, false, Repetition::OPTIONAL),
        };
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical.then_some(LogicalType::String))
            .with_repetition(repetition)
            .build()
    }
}

/// Parquet's integers are signed: no count comes near the limit.
pub(super) fn count(value: u64) -> i64 {
    i64::try_from(value).expect("a count below 2^63")
}

/// A table in the making. Its file is whole after [`TableFile::close`].
pub(crate) struct TableFile {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
}

impl TableFile {
    /// A table with the columns of `like`, whose values do not matter.
    pub fn create(path: PathBuf, like: &[(&str, Column)]) -> Result<TableFile, StoreError> {
        let fields = like.iter().map(|(name, column)| Ok(Arc::new(column.field(name)?)));
        let fields: Result<Vec<_>, ParquetError> = fields.collect();
        let schema = fields
            .and_then(|fields| Type::group_type_builder("forebay").with_fields(fields).build());
        let schema = schema.map_err(StoreError::parquet(&path))?;
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        let version = KeyValue::new("forebay".to_string(), env!("CARGO_PKG_VERSION").to_string());
        let format = KeyValue::new(VERSION_KEY.to_string(), RESULTS_VERSION.to_string());
        let properties = like
            .iter()
            .filter(|(_, column)| matches!(column, Column::Reals(_)))
            .fold(WriterProperties::builder(), |properties, (name, _)| {
                let column = ColumnPath::from(*name);
                properties
                    .set_column_dictionary_enabled(column.clone(), false)
                    .set_column_statistics_enabled(column, EnabledStatistics::None)
            })
            .set_compression(Compression::SNAPPY)
            .set_data_page_row_count_limit(PAGE_ROWS)
            .set_key_value_metadata(Some(vec![version, format]))
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        let writer = writer.map_err(StoreError::parquet(&path))?;
        Ok(TableFile { path, writer })
    }
    /// Append rows, in the order of the columns at creation.
    pub fn append(&mut self, columns: &[Column]) -> Result<(), StoreError> {
        self.append_group(columns).map_err(StoreError::parquet(&self.path))
    }
    fn append_group(&mut self, columns: &[Column]) -> parquet::errors::Result<()> {
        let described = self.writer.schema_descr().columns().to_vec();
        let mut group = self.writer.next_row_group()?;
        for (column, described) in columns.iter().zip(described) {
            if let Column::Coded(coded) = column {
                let (chunk, close) = coded.chunk(described)?;
                group.append_column(&Bytes::from(chunk), close)?;
                continue;
            }
            let mut writer = group.next_column()?.expect("as many columns as at creation");
            match column {
                Column::Coded(_) => unreachable!("it is appended as a whole"),
                Column::Text(values) => {
                    writer.typed::<ByteArrayType>().write_batch(values, None, None)?
                }
                Column::Integers(values) => {
                    writer.typed::<Int64Type>().write_batch(values, None, None)?
                }
                Column::Reals(values) => {
                    writer.typed::<DoubleType>().write_batch(values, None, None)?
                }
                Column::SomeText(values) => {
                    let (levels, values) = levels(values);
                    writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?
                }
                Column::SomeBooleans(values) => {
                    let (levels, values) = levels(values);
                    writer.typed::<BoolType>().write_batch(&values, Some(&levels), None)?
                }
                Column::SomeIntegers(values) => {
                    let (levels, values) = levels(values);
                    writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?
                }
                Column::SomeReals(values) => {
                    let (levels, values) = levels(values);
                    writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?
                }
            };
            writer.close()?;
        }
        assert!(group.next_column()?.is_none(), "as many columns as at creation");
        group.close()?;
        Ok(())
    }
    /// Append all rows of another table with the same columns, as they are on disk.
    pub fn splice(&mut self, path: &Path) -> Result<(), StoreError> {
        let file = File::open(path).map_err(StoreError::io("read", path))?;
        self.splice_file(&file).map_err(StoreError::parquet(path))
    }
    fn splice_file(&mut self, file: &File) -> parquet::errors::Result<()> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(file)?;
        for rows in metadata.row_groups() {
            let mut group = self.writer.next_row_group()?;
            for column in rows.columns() {
                let close = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: rows.num_rows() as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                group.append_column(file, close)?;
            }
            group.close()?;
        }
        Ok(())
    }
    /// Write the end of the file, to the disk.
    pub fn close(self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let file = self.end()?;
        file.sync_all().map_err(StoreError::io("write", &path))
    }
    /// Write the end of a file that is read again before the results are whole: it need not come
    /// to the disk.
    pub fn end(self) -> Result<File, StoreError> {
        let TableFile { path, writer } = self;
        writer.into_inner().map_err(StoreError::parquet(&path))
    }
}

/// Definition levels (1: there is a value), and the values that there are.
fn levels<T: Clone>(values: &[Option<T>]) -> (Vec<i16>, Vec<T>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.iter().flatten().cloned().collect())
}
