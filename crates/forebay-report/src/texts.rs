//! Columns of texts of which there are few: each text has a number in all of its file, so that rows
//! are told apart without a look at their texts.

use super::octets::unpack;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::Result;
use parquet::file::reader::RowGroupReader;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// What a column has room for at once before it is known that the file has that many rows.
const TRUSTED_ROWS: usize = 1 << 20;

/// Different values in the order in which they came: each has its place as its number.
#[derive(Default)]
pub(super) struct Numbered<T> {
    all: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

/// The texts of a file that have been read.
pub(super) type Texts = Numbered<Vec<u8>>;

impl<T: Ord> Numbered<T> {
    pub fn of(&self, number: u32) -> &T {
        &self.all[number as usize]
    }

    pub fn number<Q>(&mut self, value: &Q) -> u32
    where
        Q: Ord + ToOwned<Owned = T> + ?Sized,
        T: Borrow<Q>,
    {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = self.all.len() as u32;
        self.all.push(value.to_owned());
        self.numbers.insert(value.to_owned(), number);
        number
    }
}

/// A column of texts, as Parquet's dictionaries have it.
pub(super) struct TextColumn {
    /// Of each entry of its dictionary, the number of the text in the file.
    pub entries: Vec<u32>,
    /// Of each row, its entry.
    pub rows: Vec<u32>,
}

impl Texts {
    /// The values of a column of a row group, none of which is missing.
    pub fn column(&mut self, group: &dyn RowGroupReader, place: usize) -> Result<TextColumn> {
        if let Some((entries, rows)) = coded(group, place)? {
            let entries = entries.iter().map(|entry| self.number(entry.as_slice())).collect();
            return Ok(TextColumn { entries, rows });
        }
        let values: Vec<ByteArray> = column::<ByteArrayType>(group, place)?;
        let rows = values.iter().map(|value| self.number(value.data())).collect();
        Ok(TextColumn { entries: (0..self.all.len() as u32).collect(), rows })
    }
}

/// The entries of the dictionary of a column, and of each row its entry.
type Coded = (Vec<Vec<u8>>, Vec<u32>);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_cut_are_refused() {
        assert!(plain_texts(&[1, 0, 0, 0, b'a', 9, 0, 0, 0, b'b'], 2).is_none());
        assert_eq!(plain_texts(&[1, 0, 0, 0, b'a'], 1), Some(vec![b"a".to_vec()]));
    }

    #[test]
    fn equal_values_have_one_number() {
        let mut texts = Texts::default();
        assert_eq!(["b", "a", "b", ""].map(|text| texts.number(text.as_bytes())), [0, 1, 0, 2]);
        assert_eq!(texts.of(1), b"a");
    }
}
