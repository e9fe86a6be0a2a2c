//! Columns of texts of which there are few: each text has a number in all of its file, so that rows
//! are told apart without a look at their texts.

use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::Result;
use parquet::file::reader::RowGroupReader;
use std::collections::BTreeMap;

/// What a column has room for at once before it is known that the file has that many rows.
const TRUSTED_ROWS: usize = 1 << 20;

/// The entries of the dictionary of a column, and of each row the number of its entry.
type Coded = (Vec<Vec<u8>>, Vec<u32>);

/// The texts of a file that have been read, by number.
#[derive(Default)]
pub(super) struct Texts {
    all: Vec<Vec<u8>>,
    numbers: BTreeMap<Vec<u8>, u32>,
}

impl Texts {
    pub fn of(&self, number: u32) -> &[u8] {
        &self.all[number as usize]
    }

    pub fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.all.len() as u32;
        self.all.push(text.to_vec());
        self.numbers.insert(text.to_vec(), number);
        number
    }

    /// The numbers of the values of a column of a row group, none of which is missing.
    pub fn column(&mut self, group: &dyn RowGroupReader, place: usize) -> Result<Vec<u32>> {
        if let Some((entries, mut rows)) = coded(group, place)? {
            let numbers: Vec<u32> = entries.iter().map(|entry| self.number(entry)).collect();
            rows.iter_mut().for_each(|row| *row = numbers[*row as usize]);
            return Ok(rows);
        }
        let values: Vec<ByteArray> = column::<ByteArrayType>(group, place)?;
        Ok(values.iter().map(|value| self.number(value.data())).collect())
    }
}

/// All values of a column of a row group, none of which is missing.
pub(super) fn column<T: DataType>(group: &dyn RowGroupReader, column: usize) -> Result<Vec<T::T>> {
    let rows = group.metadata().num_rows() as usize;
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(column)?);
    let mut values = Vec::with_capacity(rows.min(TRUSTED_ROWS));
    while values.len() < rows {
        let (read, _, _) = reader.read_records(rows, None, None, &mut values)?;
        if read == 0 {
            let message = format!("column {column} ends after {} of {rows} rows", values.len());
            return Err(parquet::errors::ParquetError::General(message));
        }
    }
    Ok(values)
}

/// None if values may be missing or not all pages have numbers of a dictionary.
fn coded(group: &dyn RowGroupReader, column: usize) -> Result<Option<Coded>> {
    let described = group.metadata().column(column).column_descr();
    if described.max_def_level() > 0 || described.max_rep_level() > 0 {
        return Ok(None);
    }
    let rows = group.metadata().num_rows() as usize;
    let (mut entries, mut numbers) = (None, Vec::with_capacity(rows.min(TRUSTED_ROWS)));
    let mut pages = group.get_column_page_reader(column)?;
    while let Some(page) = pages.get_next_page()? {
        let read = match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                entries = plain_texts(&buf, num_values as usize);
                entries.is_some()
            }
            Page::DataPage {
                buf,
                num_values,
                encoding: Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY,
                ..
            } if num_values as usize <= rows - numbers.len() => {
                unpack(&buf, num_values as usize, &mut numbers).is_some()
            }
            _ => false,
        };
        if !read {
            return Ok(None);
        }
    }
    let whole = |entries: &Vec<Vec<u8>>| {
        numbers.len() == rows && numbers.iter().all(|&number| (number as usize) < entries.len())
    };
    Ok(entries.filter(whole).map(|entries| (entries, numbers)))
}

/// Texts in Parquet's encoding "plain": each after its length. None if they are not.
fn plain_texts(mut bytes: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    for _ in 0..count {
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        texts.push(text.to_vec());
        bytes = rest;
    }
    Some(texts)
}

/// Append `rows` numbers in Parquet's mix of runs and packed bits. None if they are not all there.
fn unpack(bytes: &[u8], rows: usize, numbers: &mut Vec<u32>) -> Option<()> {
    let (&bits, mut bytes) = bytes.split_first()?;
    let bits = usize::from(bits);
    if bits > 32 {
        return None;
    }
    let end = numbers.len() + rows;
    while numbers.len() < end {
        let head = head(&mut bytes)?;
        let count = usize::try_from(head >> 1).ok()?;
        let missing = end - numbers.len();
        if head & 1 == 0 {
            let (number, rest) = bytes.split_at_checked(bits.div_ceil(8))?;
            let number = number.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
            numbers.resize(numbers.len() + count.min(missing), number);
            bytes = rest;
        } else {
            let (packed, rest) = bytes.split_at_checked(count.checked_mul(bits)?)?;
            let mask = (1u64 << bits) - 1;
            let number = |row: usize| {
                let at = row * bits;
                (window(packed, at / 8) >> (at % 8) & mask) as u32
            };
            numbers.extend((0..missing.min(count.saturating_mul(8))).map(number));
            bytes = rest;
        }
    }
    Some(())
}

/// Up to eight bytes from `at` on, the first of them lowest.
fn window(bytes: &[u8], at: usize) -> u64 {
    let rest = &bytes[at.min(bytes.len())..];
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)),
    }
}

/// A number in seven bits a byte, the lowest first.
fn head(bytes: &mut &[u8]) -> Option<u64> {
    let mut head = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        head |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(head);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unpacked() {
        // From the format's text: 0 to 7 in three bits; then a run of 200 times 5.
        let bytes = [3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010, 0x90, 3, 5];
        let mut numbers = Vec::new();
        assert_eq!(unpack(&bytes, 208, &mut numbers), Some(()));
        assert_eq!(numbers[..8], [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(numbers[8..], [5; 200]);
        numbers.clear();
        // A page may end amid what is packed, or in a run.
        assert_eq!(unpack(&bytes, 10, &mut numbers), Some(()));
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 5, 5]);
    }

    #[test]
    fn what_is_cut_or_has_no_sense_is_refused() {
        let bytes = [3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010, 0x90, 3, 5];
        let refused = |bytes: &[u8], rows| unpack(bytes, rows, &mut Vec::new()).is_none();
        for end in 0..bytes.len() {
            assert!(refused(&bytes[..end], 208), "{end}");
        }
        assert!(refused(&bytes, 209), "more rows than there are");
        assert!(refused(&[33, 2, 0, 0, 0, 0, 0], 1), "too many bits");
        assert!(refused(&[1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], 9));
        assert!(plain_texts(&[1, 0, 0, 0, b'a', 9, 0, 0, 0, b'b'], 2).is_none());
        assert_eq!(plain_texts(&[1, 0, 0, 0, b'a'], 1), Some(vec![b"a".to_vec()]));
    }
}
