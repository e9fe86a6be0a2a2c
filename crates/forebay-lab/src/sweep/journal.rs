//! The rows of a sweep as they come, one line each, until the table is made: what a killed process
//! leaves is whole but for its last line.
//!
//! The first line is the [`Manifest`]. `{"begun":N}` says that run N began, `{"run":N,"row":…}`
//! what it gave.

use super::{Manifest, Row};
use crate::error::StoreError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Its name in the folder.
pub(super) const NAME: &str = "rows.jsonl";

/// See the module.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Where the next line goes.
    end: u64,
    /// Where the row of each finished run begins.
    rows: BTreeMap<u64, u64>,
    failed: u64,
}

/// A line after the first.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Line {
    Row { run: u64, row: Box<Row> },
    Begun { begun: u64 },
}

impl Journal {
    /// A new one in `folder`.
    pub fn create(folder: &Path, manifest: &Manifest) -> Result<Journal, StoreError> {
        let path = folder.join(NAME);
        let open = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = open.map_err(StoreError::io("create", &path))?;
        let mut journal = Journal { path, file, end: 0, rows: BTreeMap::new(), failed: 0 };
        journal.append(manifest)?;
        Ok(journal)
    }

    /// The one in `folder`, with its manifest and the runs that began and did not finish. A half of
    /// a line at its end is thrown away. None if there is no line.
    pub fn open(folder: &Path) -> Result<Option<(Journal, Manifest, Vec<u64>)>, StoreError> {
        let path = folder.join(NAME);
        let open = File::options().read(true).write(true).open(&path);
        let file = match open {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            open => open.map_err(StoreError::io("read", &path))?,
        };
        let mut journal = Journal { path, file, end: 0, rows: BTreeMap::new(), failed: 0 };
        let (manifest, begun) = journal.read()?;
        let cut = journal.file.set_len(journal.end);
        cut.map_err(StoreError::io("write", &journal.path))?;
        Ok(manifest.map(|manifest| (journal, manifest, begun)))
    }

    fn read(&mut self) -> Result<(Option<Manifest>, Vec<u64>), StoreError> {
        let again = self.file.try_clone().map_err(StoreError::io("read", &self.path))?;
        let (mut reader, mut line) = (BufReader::new(again), Vec::new());
        let (mut manifest, mut begun) = (None, BTreeSet::new());
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line);
            read.map_err(StoreError::io("read", &self.path))?;
            if line.last() != Some(&b'\n') {
                break;
            }
            if manifest.is_none() {
                let Ok(first) = serde_json::from_slice(&line) else { break };
                manifest = Some(first);
            } else {
                match serde_json::from_slice(&line) {
                    Ok(Line::Begun { begun: run }) => drop(begun.insert(run)),
                    Ok(Line::Row { run, row }) => {
                        self.rows.insert(run, self.end);
                        self.failed += u64::from(row.error.is_some());
                    }
                    Err(_) => break,
                }
            }
            self.end += line.len() as u64;
        }
        begun.retain(|run| !self.rows.contains_key(run));
        Ok((manifest, begun.into_iter().collect()))
    }

    pub fn begun(&mut self, run: u64) -> Result<(), StoreError> {
        self.append(&Line::Begun { begun: run })
    }

    pub fn finished(&mut self, run: u64, row: Row) -> Result<(), StoreError> {
        let (at, failed) = (self.end, row.error.is_some());
        self.append(&Line::Row { run, row: Box::new(row) })?;
        self.rows.insert(run, at);
        self.failed += u64::from(failed);
        Ok(())
    }

    /// Append a line, all of it or nothing.
    fn append(&mut self, line: &impl Serialize) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec(line).expect("plain data is JSON");
        text.push(b'\n');
        let written =
            self.file.seek(SeekFrom::Start(self.end)).and_then(|_| self.file.write_all(&text));
        if let Err(source) = written {
            // What cannot be cut off is thrown away when the sweep is resumed.
            let _ = self.file.set_len(self.end);
            return Err(StoreError::Io { what: "write", path: self.path.clone(), source });
        }
        self.end += text.len() as u64;
        Ok(())
    }

    pub fn has(&self, run: u64) -> bool {
        self.rows.contains_key(&run)
    }

    pub fn finished_runs(&self) -> u64 {
        self.rows.len() as u64
    }

    pub fn failed_runs(&self) -> u64 {
        self.failed
    }

    /// All rows in the order of their runs.
    pub fn each(
        &self,
        mut each: impl FnMut(u64, Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let file = File::open(&self.path).map_err(StoreError::io("read", &self.path))?;
        let (mut reader, mut line) = (BufReader::new(file), Vec::new());
        for &at in self.rows.values() {
            line.clear();
            // A row may be one of the next ones in the buffer.
            let here = reader.stream_position().map_err(StoreError::io("read", &self.path))?;
            let seek = reader.seek_relative(at as i64 - here as i64);
            let read = seek.and_then(|()| reader.by_ref().read_until(b'\n', &mut line));
            read.map_err(StoreError::io("read", &self.path))?;
            match serde_json::from_slice(&line) {
                Ok(Line::Row { run, row }) => each(run, *row)?,
                _ => {
                    let source = std::io::ErrorKind::InvalidData.into();
                    return Err(StoreError::Io { what: "read", path: self.path.clone(), source });
                }
            }
        }
        Ok(())
    }
}
