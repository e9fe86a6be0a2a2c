//! Columns with few different values: each value once, and for each row its number, as Parquet's
//! dictionaries have them. Who knows the numbers spares the search for each row's value.
//!
//! Numbers are in Parquet's mix of runs and packed bits: "RLE / bit-packing hybrid" in
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{AsBytes, ByteArray};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Values that are numbered, from 0.
pub(crate) enum Entries {
    Text(Vec<ByteArray>),
    Integers(Vec<i64>),
}

/// A column of such values.
pub(crate) struct Coded {
    entries: Entries,
    rows: usize,
    /// Bits of a number, then all numbers, in order of the rows.
    numbers: Vec<u8>,
}

impl Coded {
    /// The column in which runs of equal rows have a number of `entries` and a length.
    pub fn of_runs(entries: Entries, runs: impl IntoIterator<Item = (u32, usize)>) -> Coded {
        let mut numbers = Numbers::new(entries.len());
        let mut rows = 0;
        for (number, times) in runs {
            numbers.write_run(number, times);
            rows += times;
        }
        Coded { entries, rows, numbers: numbers.out }
    }

    /// The column in which each row has a number of `entries`.
    pub fn of_rows(entries: Entries, rows: &[u32]) -> Coded {
        let mut numbers = Numbers::new(entries.len());
        numbers.write_rows(rows);
        Coded { entries, rows: rows.len(), numbers: numbers.out }
    }

    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    /// A column chunk, compressed with Snappy, and what the file says of it.
    pub fn chunk(&self, column: ColumnDescPtr) -> Result<(Vec<u8>, ColumnCloseResult)> {
        let mut chunk = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut chunk);
        let plain = self.entries.plain();
        let dictionary = Page::DictionaryPage {
            buf: compressed(&plain)?.into(),
            num_values: self.entries.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let dictionary = pages.write_page(CompressedPage::new(dictionary, plain.len()))?;
        let data = Page::DataPage {
            buf: compressed(&self.numbers)?.into(),
            num_values: self.rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let data = pages.write_page(CompressedPage::new(data, self.numbers.len()))?;
        pages.close()?;
        let metadata = ColumnChunkMetaData::builder(column)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_compression(Compression::SNAPPY)
            .set_num_values(self.rows as i64)
            .set_total_compressed_size((dictionary.compressed_size + data.compressed_size) as i64)
            .set_total_uncompressed_size(
                (dictionary.uncompressed_size + data.uncompressed_size) as i64,
            )
            .set_dictionary_page_offset(Some(dictionary.offset as i64))
            .set_data_page_offset(data.offset as i64)
            .set_statistics(self.entries.range())
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: chunk.bytes_written() as u64,
            rows_written: self.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((chunk.into_inner()?, close))
    }
}

impl Entries {
    fn len(&self) -> usize {
        match self {
            Entries::Text(texts) => texts.len(),
            Entries::Integers(numbers) => numbers.len(),
        }
    }

    /// In Parquet's encoding "plain".
    fn plain(&self) -> Vec<u8> {
        match self {
            Entries::Text(texts) => {
                let with_len =
                    |text: &ByteArray| [&(text.len() as u32).to_le_bytes(), text.data()].concat();
                texts.iter().flat_map(with_len).collect()
            }
            Entries::Integers(numbers) => numbers.iter().flat_map(|n| n.to_le_bytes()).collect(),
        }
    }

    /// The least and the greatest value, all of which rows have.
    fn range(&self) -> Statistics {
        match self {
            Entries::Text(texts) => {
                let by_bytes = |a: &&ByteArray, b: &&ByteArray| a.as_bytes().cmp(b.as_bytes());
                let end = |end: Option<&ByteArray>| end.cloned();
                let (min, max) = (texts.iter().min_by(by_bytes), texts.iter().max_by(by_bytes));
                let range = ValueStatistics::new(end(min), end(max), None, Some(0), false);
                Statistics::ByteArray(range.with_backwards_compatible_min_max(false))
            }
            Entries::Integers(numbers) => {
                let (min, max) = (numbers.iter().min(), numbers.iter().max());
                let range = ValueStatistics::new(min.copied(), max.copied(), None, Some(0), false);
                Statistics::Int64(range)
            }
        }
    }
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let compressed = snap::raw::Encoder::new().compress_vec(bytes);
    compressed.map_err(|error| ParquetError::External(Box::new(error)))
}

/// Rows that are packed together. Fewer only at the end of a column.
const OCTET: usize = 8;

/// Encodes numbers of one width.
struct Numbers {
    bits: u32,
    out: Vec<u8>,
}

impl Numbers {
    /// Of as many entries.
    fn new(entries: usize) -> Numbers {
        let bits = usize::BITS - entries.saturating_sub(1).leading_zeros();
        Numbers { bits, out: vec![bits as u8] }
    }

    fn write_run(&mut self, number: u32, times: usize) {
        self.write_head((times as u64) << 1);
        let bytes = self.bits.div_ceil(8) as usize;
        self.out.extend(&number.to_le_bytes()[..bytes]);
    }

    /// Octets of equal rows as runs, others packed.
    fn write_rows(&mut self, rows: &[u32]) {
        let (mut packed, mut at) = (0, 0);
        while at < rows.len() {
            let end = rows.len().min(at + OCTET);
            let first = rows[at];
            if end - at < OCTET || rows[at + 1..end].iter().any(|&row| row != first) {
                at = end;
                continue;
            }
            let times = rows[at..].iter().take_while(|&&row| row == first).count();
            self.pack(&rows[packed..at]);
            self.write_run(first, times);
            at += times;
            packed = at;
        }
        self.pack(&rows[packed..]);
    }

    fn pack(&mut self, rows: &[u32]) {
        if rows.is_empty() {
            return;
        }
        let octets = rows.len().div_ceil(OCTET);
        self.write_head((octets as u64) << 1 | 1);
        let end = self.out.len() + octets * self.bits as usize;
        let (mut bits, mut held) = (0u64, 0);
        for &number in rows {
            bits |= u64::from(number) << held;
            held += self.bits;
            if held >= 32 {
                self.out.extend((bits as u32).to_le_bytes());
                (bits, held) = (bits >> 32, held - 32);
            }
        }
        self.out.extend(bits.to_le_bytes());
        // What is left may be less than those bytes, and an octet may end with rows that are not.
        self.out.resize(end, 0);
    }

    /// In seven bits a byte, the lowest first.
    fn write_head(&mut self, mut head: u64) {
        while head >= 0x80 {
            self.out.push(head as u8 | 0x80);
            head >>= 7;
        }
        self.out.push(head as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{Column, TableFile};
    use super::*;
    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;
    use parquet::record::RowAccessor;
    use std::fs::File;

    /// The numbers that a reader of Parquet finds in a column with so many entries: entry `n` is
    /// 7 `n`.
    fn read_back(entries: i64, column: impl Fn(Entries) -> Coded) -> Vec<u32> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let all = || Entries::Integers((0..entries).map(|n| 7 * n).collect());
        let like = [("n", Column::Coded(column(all())))];
        let mut table = TableFile::create(path.clone(), &like).unwrap();
        table.append(&like.map(|(_, column)| column)).unwrap();
        table.close().unwrap();
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let statistics = reader.metadata().row_group(0).column(0).statistics().cloned();
        let Some(Statistics::Int64(range)) = statistics else { panic!("{statistics:?}") };
        assert_eq!((range.min_opt(), range.max_opt()), (Some(&0), Some(&(7 * (entries - 1)))));
        let value = |row: Result<_>| -> i64 { RowAccessor::get_long(&row.unwrap(), 0).unwrap() };
        reader.into_iter().map(|row| (value(row) / 7) as u32).collect()
    }

    #[test]
    fn rows_come_back_whatever_is_packed_and_whatever_runs() {
        for entries in [1, 2, 3, 5, 100, 300, 70_000] {
            // Runs of 1 to 40 rows between rows that differ.
            let mixed = |i: u64| (i.wrapping_mul(0x5851_F42D_4C95_7F2D) >> 33) as u32;
            let mut rows = Vec::new();
            for i in 0..200 {
                let times = [1, 2, 3, 7, 8, 9, 15, 16, 40][i as usize % 9];
                rows.extend(std::iter::repeat_n(mixed(i) % entries, times));
                rows.extend((0..i % 11).map(|j| mixed(1000 * i + j) % entries));
            }
            for end in [1, 7, 8, 9, rows.len()] {
                let coded = |all| Coded::of_rows(all, &rows[..end]);
                assert_eq!(read_back(i64::from(entries), coded), rows[..end], "{entries}");
            }
        }
    }

    #[test]
    fn runs_come_back() {
        let runs = [(0, 1), (2, 7), (1, 1000), (2, 8)];
        let rows: Vec<u32> =
            runs.iter().flat_map(|&(n, times)| std::iter::repeat_n(n, times)).collect();
        assert_eq!(read_back(3, |all| Coded::of_runs(all, runs)), rows);
        assert_eq!(read_back(1, |all| Coded::of_runs(all, [(0, 70_000)])), [0; 70_000]);
    }
}
