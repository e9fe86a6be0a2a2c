//! A table that a second thread encodes and writes, so that the run does not wait for it.

use super::table::{Column, TableFile};
use crate::error::StoreError;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Groups of rows that wait for the writer: a run that makes them faster than a disk takes them
/// waits, and memory stays bounded.
const MAX_WAITING: usize = 2;

/// See the module.
pub(super) struct BackgroundTable {
    groups: SyncSender<Vec<Column>>,
    /// None once it has failed.
    writer: Option<JoinHandle<Result<TableFile, StoreError>>>,
}

impl BackgroundTable {
    /// Hand `table` to a thread of its own.
    pub fn new(mut table: TableFile) -> BackgroundTable {
        let (groups, received) = sync_channel::<Vec<Column>>(MAX_WAITING);
        let write = move || {
            received.iter().try_for_each(|columns| table.append(&columns))?;
            Ok(table)
        };
        BackgroundTable { groups, writer: Some(std::thread::spawn(write)) }
    }
    /// Append rows, in the order of the columns at creation. What went wrong with rows before these
    /// is reported here. Panics after an error.
    pub fn append(&mut self, columns: Vec<Column>) -> Result<(), StoreError> {
        match self.groups.send(columns) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.join().err().expect("a writer ends early for an error alone")),
        }
    }
    /// Wait until all rows are in the file, and end it as [`TableFile::end`].
    pub fn end(mut self) -> Result<(), StoreError> {
        let (nowhere, _) = sync_channel(0);
        drop(std::mem::replace(&mut self.groups, nowhere));
        self.join()?.end()?;
        Ok(())
    }
    fn join(&mut self) -> Result<TableFile, StoreError> {
        let writer = self.writer.take().expect("nothing is written after an error");
        writer.join().expect("the writer of a table does not panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(rows: std::ops::Range<i64>) -> Vec<Column> {
        vec![Column::Integers(rows.collect())]
    }

    #[test]
    fn rows_come_in_the_order_in_which_they_were_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let like = [("n", Column::Integers(Vec::new()))];
        let mut table = BackgroundTable::new(TableFile::create(path.clone(), &like).unwrap());
        for group in 0..10 {
            table.append(columns(group * 100..(group + 1) * 100)).unwrap();
        }
        table.end().unwrap();
        let file = std::fs::File::open(path).unwrap();
        let reader = parquet::file::serialized_reader::SerializedFileReader::new(file).unwrap();
        let values: Vec<i64> = reader
            .into_iter()
            .map(|row| parquet::record::RowAccessor::get_long(&row.unwrap(), 0).unwrap())
            .collect();
        assert_eq!(values, (0..1000).collect::<Vec<i64>>());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told_by_a_later_call() {
        let like = [("n", Column::Integers(Vec::new()))];
        let mut table = BackgroundTable::new(TableFile::create("/dev/full".into(), &like).unwrap());
        // Values that do not compress, more than the buffers of the file take.
        let mixed = |i: i64| i.wrapping_mul(0x5851_F42D_4C95_7F2D);
        let told = (0..50).find_map(|_| {
            table.append(vec![Column::Integers((0..100_000).map(mixed).collect())]).err()
        });
        let text = told.expect("told").to_string();
        assert!(text.contains("/dev/full"), "{text}");
    }
}
