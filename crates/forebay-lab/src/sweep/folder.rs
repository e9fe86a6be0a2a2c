//! The folder of a sweep: `DIR.unfinished` until all runs are done, then `DIR`.
//!
//! | File | What it holds |
//! |---|---|
//! | `sweep.parquet` | one row per run |
//! | `sweep.json` | what was run: [`SweepRecord`](super::SweepRecord) |
//! | `scenario.toml` | the scenario, as it was read |
//! | `report.html` | one page that shows the table |
//!
//! Until it is finished, `rows.jsonl` has the rows that there are. A process that is killed leaves
//! it; the next one goes on from there.

use super::journal::Journal;
use super::manifest::SweepRecord;
use super::table::{SweepOutcome, SweepTable};
use super::{Manifest, Row, Rows};
use crate::error::StoreError;
use crate::store::{Existing, UnfinishedFolder};
use forebay_report::schema::SWEEP_TABLE;
use forebay_report::{ReportError, read_json};
use forebay_scenario::{Point, SweptValue};
use std::io::Write;
use std::path::Path;

/// What was found at the place of a folder.
#[derive(Debug)]
pub enum Opened {
    /// Runs are left to do.
    Begun(Box<SweepFolder>),
    /// The same sweep is there, finished.
    Finished,
}

/// See the module.
#[derive(Debug)]
pub struct SweepFolder {
    place: UnfinishedFolder,
    journal: Journal,
    manifest: Manifest,
    in_progress: Vec<u64>,
}

impl SweepFolder {
    /// Begin the folder of a sweep at `target`. Results that are there are replaced if `replace` is
    /// true, once the new ones are whole. With `resume`, rows of the same sweep that was stopped
    /// are kept.
    ///
    /// Errors if something else is at `target`, if another process writes there, if there are rows
    /// of a sweep that was stopped and neither is true, or if it was another sweep.
    pub fn open(
        target: &Path,
        manifest: Manifest,
        resume: bool,
        replace: bool,
    ) -> Result<Opened, StoreError> {
        if resume && let Some(found) = read_record(target)? {
            return match manifest.difference(&found.manifest) {
                None if found.manifest.shard == manifest.shard => Ok(Opened::Finished),
                difference => Err(other_sweep(target, difference, &found.manifest)),
            };
        }
        let existing = if replace { Existing::Replace } else { Existing::Keep };
        let place = UnfinishedFolder::open(target, existing)?;
        let found = Journal::open(place.folder())?;
        let (journal, in_progress) = match found {
            Some((journal, found, in_progress)) if resume => {
                let difference = manifest.difference(&found);
                if difference.is_some() || found.shard != manifest.shard {
                    return Err(other_sweep(place.folder(), difference, &found));
                }
                (journal, in_progress)
            }
            Some((journal, found, _)) if !replace => {
                return Err(StoreError::Unfinished {
                    path: place.folder().to_path_buf(),
                    scenario: found.scenario,
                    finished: journal.finished_runs(),
                });
            }
            _ => (Journal::create(place.folder(), &manifest)?, Vec::new()),
        };
        Ok(Opened::Begun(Box::new(SweepFolder { place, journal, manifest, in_progress })))
    }

    /// Where it will be.
    pub fn target(&self) -> &Path {
        self.place.target()
    }

    /// Where it is now.
    pub fn folder(&self) -> &Path {
        self.place.folder()
    }

    /// True if the run of this number has finished.
    pub fn has(&self, run: u64) -> bool {
        self.journal.has(run)
    }

    /// Runs that have finished.
    pub fn finished_runs(&self) -> u64 {
        self.journal.finished_runs()
    }

    /// Of these, those that failed.
    pub fn failed_runs(&self) -> u64 {
        self.journal.failed_runs()
    }

    /// Runs that were under way when the process before this one ended.
    pub fn in_progress(&self) -> &[u64] {
        &self.in_progress
    }

    /// Make the table and the page of all rows, and put the folder in its place. `of` gives the
    /// point of a number and the values of its keys; `text` is the scenario.
    pub fn finish(
        self,
        text: &str,
        of: &dyn Fn(u64) -> (Point, Vec<Option<SweptValue>>),
    ) -> Result<SweepOutcome, StoreError> {
        let mut table = SweepTable::create(self.place.file(SWEEP_TABLE), &self.manifest)?;
        self.journal.each(|run, row| {
            let (point, values) = of(row.point);
            table.push(run, row.cells(point.name.as_deref(), &values))
        })?;
        let outcome = write_rest(&self.place, table, &self.manifest, text)?;
        self.place.finish()?;
        Ok(outcome)
    }
}

impl Rows for SweepFolder {
    fn begun(&mut self, run: u64) -> Result<(), StoreError> {
        self.journal.begun(run)
    }
    fn finished(&mut self, run: u64, row: Row) -> Result<(), StoreError> {
        self.journal.finished(run, row)
    }
}

/// The record of a sweep that is finished; None if there is none. Errors if it has a later version
/// of the format than this program reads.
pub(super) fn read_record(folder: &Path) -> Result<Option<SweepRecord>, ReportError> {
    match read_json(&folder.join("sweep.json")) {
        Err(error @ ReportError::Later { .. }) => Err(error),
        other => Ok(other.ok()),
    }
}

/// What stands beside the table, whose rows are all there.
pub(super) fn write_rest(
    place: &UnfinishedFolder,
    table: SweepTable,
    manifest: &Manifest,
    text: &str,
) -> Result<SweepOutcome, StoreError> {
    let outcome = table.close()?;
    let SweepOutcome { rows, failed, notes } = outcome.clone();
    let record = SweepRecord { manifest: manifest.clone(), rows, failed, notes };
    place.write("sweep.json", |out| {
        serde_json::to_writer_pretty(&mut *out, &record)?;
        out.write_all(b"\n")
    })?;
    place.write("scenario.toml", |out| out.write_all(text.as_bytes()))?;
    forebay_report::write_sweep_report(place.folder())?;
    Ok(outcome)
}

fn other_sweep(folder: &Path, difference: Option<String>, found: &Manifest) -> StoreError {
    let why = difference.unwrap_or_else(|| match found.shard {
        Some(shard) => format!("it is the shard {shard}"),
        None => "it is all of it, and not a shard".to_string(),
    });
    StoreError::OtherSweep { path: folder.to_path_buf(), why }
}
