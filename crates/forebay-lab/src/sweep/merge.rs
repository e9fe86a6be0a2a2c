//! Shards of a sweep become the folder that one machine would have written.

use super::columns::columns;
use super::folder::{read_record, write_rest};
use super::journal;
use super::manifest::SweepRecord;
use super::table::SweepTable;
use super::{Manifest, SweepOutcome};
use crate::error::StoreError;
use crate::store::{Existing, UnfinishedFolder};
use forebay_report::schema::SWEEP_TABLE;
use forebay_report::{Cell, ReportError, SweepRows, sweep_rows};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Shards that cannot be merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A folder is no finished sweep.
    #[error("`{}` {why}: a folder of `forebay run --sweep … --out` is expected", path.display())]
    NoSweep {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Two folders are of different sweeps.
    #[error("`{}` is not of the sweep of `{}`: {why}", path.display(), first.display())]
    Different {
        /// The folder.
        path: PathBuf,
        /// The one that was given first.
        first: PathBuf,
        /// The difference.
        why: String,
    },
    /// Two folders have the same runs.
    #[error("`{}` and `{}` overlap: {what}", first.display(), second.display())]
    Overlap {
        /// As given first.
        first: PathBuf,
        /// As given later.
        second: PathBuf,
        /// What both have.
        what: String,
    },
    /// Runs are in no folder.
    #[error("{0}")]
    Missing(String),
    /// A table cannot be read.
    #[error(transparent)]
    Read(#[from] ReportError),
    /// The result cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Write to `target` what the shards in `folders` are together. A folder of results that is there
/// is replaced if `replace` is true.
///
/// Errors if they are of different scenarios, versions or epochs of trace hashes, if two of them
/// have the same runs, or if some are missing.
pub fn merge(
    folders: &[PathBuf],
    target: &Path,
    replace: bool,
) -> Result<SweepOutcome, MergeError> {
    let records = folders.iter().map(|folder| record(folder)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = records.first() else {
        return Err(MergeError::Missing("there is no folder to merge".to_string()));
    };
    for (folder, record) in folders.iter().zip(&records) {
        if let Some(why) = first.manifest.difference(&record.manifest) {
            let (path, first) = (folder.clone(), folders[0].clone());
            return Err(MergeError::Different { path, first, why });
        }
    }
    check_shards(folders, &records)?;
    let manifest = Manifest { shard: None, ..first.manifest.clone() };
    let text = folders[0].join("scenario.toml");
    let text = std::fs::read_to_string(&text).map_err(StoreError::io("read", &text))?;
    let existing = if replace { Existing::Replace } else { Existing::Keep };
    let place = UnfinishedFolder::new(target, existing)?;
    let table = SweepTable::create(place.file(SWEEP_TABLE), &manifest)?;
    let table = join(folders, &manifest, table)?;
    let outcome = write_rest(&place, table, &manifest, &text)?;
    place.finish()?;
    Ok(outcome)
}

fn record(folder: &Path) -> Result<SweepRecord, MergeError> {
    let no_sweep = |why: &str| MergeError::NoSweep { path: folder.into(), why: why.to_string() };
    let mut unfinished = folder.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = Path::new(&unfinished).join(journal::NAME);
    let found = read_record(folder)?;
    if unfinished.exists() || folder.join(journal::NAME).exists() && found.is_none() {
        return Err(no_sweep("has runs to do still (go on with --resume)"));
    }
    found.ok_or_else(|| no_sweep("has no sweep.json"))
}

/// Errors unless the shards are all of one number, each once.
fn check_shards(folders: &[PathBuf], records: &[SweepRecord]) -> Result<(), MergeError> {
    let mut seen: BTreeMap<u64, &PathBuf> = BTreeMap::new();
    let mut all = None;
    for (folder, record) in folders.iter().zip(records) {
        let Some(shard) = record.manifest.shard else {
            let why = "is a whole sweep, and no shard".to_string();
            return Err(MergeError::NoSweep { path: folder.clone(), why });
        };
        if *all.get_or_insert(shard.of) != shard.of {
            let (path, first) = (folder.clone(), folders[0].clone());
            let why = format!("it is the shard {shard}");
            return Err(MergeError::Different { path, first, why });
        }
        if let Some(first) = seen.insert(shard.number, folder) {
            let (first, second) = (first.clone(), folder.clone());
            let what = format!("both are the shard {shard}");
            return Err(MergeError::Overlap { first, second, what });
        }
    }
    let of = all.unwrap_or(0);
    let missing: Vec<String> =
        (1..=of).filter(|n| !seen.contains_key(n)).take(20).map(|n| format!("{n}/{of}")).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(MergeError::Missing(format!("these shards are missing: {}", missing.join(", "))))
    }
}

/// The rows of a shard, of which the next one is known.
struct Source<'a> {
    folder: &'a PathBuf,
    rows: SweepRows,
    next: Option<(u64, Vec<Cell>)>,
}

impl Source<'_> {
    fn advance(&mut self, manifest: &Manifest) -> Result<(), MergeError> {
        let Some(cells) = self.rows.next().transpose()? else {
            self.next = None;
            return Ok(());
        };
        let number = match (&cells[0], &cells[2], &cells[3]) {
            (Cell::Integer(point), Cell::Text(protocol), Cell::Integer(seed)) => {
                manifest.number(*point as u64, protocol, *seed as u64)
            }
            _ => None,
        };
        let number = number.ok_or_else(|| MergeError::NoSweep {
            path: self.folder.clone(),
            why: "has rows of runs that are not in its sweep.json".to_string(),
        })?;
        self.next = Some((number, cells));
        Ok(())
    }
}

/// All rows in the order of their runs.
fn join(
    folders: &[PathBuf],
    manifest: &Manifest,
    mut table: SweepTable,
) -> Result<SweepTable, MergeError> {
    let wanted: Vec<String> = columns(&manifest.keys).into_iter().map(|(name, _)| name).collect();
    let mut sources = Vec::new();
    for folder in folders {
        let (names, rows) = sweep_rows(&folder.join(SWEEP_TABLE))?;
        if names != wanted {
            let why = "has a table with other columns".to_string();
            return Err(MergeError::NoSweep { path: folder.clone(), why });
        }
        let mut source = Source { folder, rows, next: None };
        source.advance(manifest)?;
        sources.push(source);
    }
    for expected in 0..manifest.runs() {
        let first = sources
            .iter()
            .enumerate()
            .filter_map(|(place, source)| source.next.as_ref().map(|(number, _)| (*number, place)));
        let (number, place) = first.min().unwrap_or((u64::MAX, 0));
        if number > expected {
            let run = manifest.run(expected);
            return Err(MergeError::Missing(format!(
                "no shard has the run of point {} under {} with seed {}",
                run.point, run.protocol, run.seed
            )));
        }
        let mut same = sources.iter().enumerate().filter(|(other, source)| {
            *other != place && source.next.as_ref().is_some_and(|(n, _)| *n == number)
        });
        let same = same.next().map(|(other, _)| other);
        if number < expected || same.is_some() {
            let run = manifest.run(number);
            let what = format!("both have point {} under {}", run.point, run.protocol);
            // What was there before may have come from any of the others.
            let [first, second] = [place, same.unwrap_or(usize::from(place == 0))];
            let [first, second] = [first, second].map(|at| sources[at].folder.clone());
            return Err(MergeError::Overlap { first, second, what });
        }
        if let Some((number, cells)) = sources[place].next.take() {
            table.push(number, cells)?;
        }
        sources[place].advance(manifest)?;
    }
    Ok(table)
}
