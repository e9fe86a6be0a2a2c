//! The folder of results: written next to its final place, and renamed when it is whole.
//!
//! | File | What it holds |
//! |---|---|
//! | `scenario.toml` | the scenario with all groups, files, presets and defaults written out |
//! | `summary.json` | what `run --json` prints: see [`crate::Summary`] |
//! | `flows.parquet` | one row per flow of each run: the keys of [`crate::FlowResult`] |
//! | `delays.parquet` | the distribution of one-way delays of each class of each run |
//! | `series.parquet` | one row per sample of each run: `t_ns, entity, metric, value, unit` |
//! | `report.html` | one page that shows all of it: see [`crate::write_report`] |
//! | `channel-N.trace` | the delivery traces of files that links follow, for `scenario.toml` |
//! | `packets.pcapng` | on request; of several runs `packets-PROTOCOL-SEED.pcapng` each |
//! | `flow-monitor-PROTOCOL-SEED.xml` | on request: totals of flows, as ns-3's FlowMonitor |
//! | `mm-link-PROTOCOL-SEED-LINK.log` | on request: a link, as mahimahi's mm-link |
//!
//! `scenario.toml` has version, seeds and trace hashes as comments, so that it can be run again.
//! The tables have `run_protocol` and `seed` before their other columns.
//!
//! `DIR.partial-<process>` next to the folder holds the files until then, and is removed if
//! anything fails; if the process is killed, the next run with the same folder removes it. When a
//! batch is stopped, the runs that had finished are written, and `summary.json` names the others
//! under `missing`.

mod background;
mod coded;
mod copy;
mod delays;
mod flows;
mod leftovers;
mod names;
mod place;
mod rows;
mod series;
pub(crate) mod table;

pub(crate) use copy::write_copy;
pub(crate) use series::SeriesWriter;

use crate::error::StoreError;
use crate::summary::Summary;
use copy::write_file;
use forebay_report::write_report;
use forebay_run::RunStart;
use forebay_scenario::Scenario;
use names::{OWN_FILES, ROWS, is_link_log, is_trace, link_log_name};
pub(crate) use place::Existing;
use place::StagingFolder;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A folder of results in the making. Dropped without [`Store::finish`] it leaves nothing.
#[derive(Debug)]
pub struct Store {
    place: StagingFolder,
}

fn series_part(protocol: &str, seed: u64) -> String {
    format!("series-{protocol}-{seed}.part")
}

fn capture_name(protocol: &str, seed: u64) -> String {
    format!("packets-{protocol}-{seed}.pcapng")
}

fn flow_monitor_name(protocol: &str, seed: u64) -> String {
    format!("flow-monitor-{protocol}-{seed}.xml")
}

impl Store {
    /// Begin a folder of results that will be `target`. Folders above it are made, and what a
    /// killed run left next to it is removed.
    /// Errors if `target` exists and is not empty, if another process is writing to it, or if
    /// nothing can be written next to it.
    pub fn create(target: &Path) -> Result<Store, StoreError> {
        Ok(Store { place: StagingFolder::prepare(target, Existing::Keep)? })
    }
    /// The same, but results at `target` are replaced once the new ones are whole. Errors if
    /// anything else is there.
    pub fn replace(target: &Path) -> Result<Store, StoreError> {
        Ok(Store { place: StagingFolder::prepare(target, Existing::Replace)? })
    }
    /// Where the results will be.
    pub fn target(&self) -> &Path {
        self.place.target()
    }
    /// Begin the series of a run.
    pub(crate) fn series(&self, start: &RunStart<'_>) -> Result<SeriesWriter, StoreError> {
        SeriesWriter::create(self.place.file(&series_part(start.protocol, start.seed)), start)
    }
    /// Where the capture of a run goes for now.
    pub(crate) fn capture_path(&self, protocol: &str, seed: u64) -> PathBuf {
        self.place.file(&capture_name(protocol, seed))
    }
    /// Where the totals of flows of a run go.
    pub(crate) fn flow_monitor_path(&self, protocol: &str, seed: u64) -> PathBuf {
        self.place.file(&flow_monitor_name(protocol, seed))
    }
    /// Where the log of the directed link called `link` goes.
    pub(crate) fn link_log_path(&self, protocol: &str, seed: u64, link: &str) -> PathBuf {
        self.place.file(&link_log_name(protocol, seed, link))
    }

    /// Write everything and put the folder in its place; what was there before goes. Without a
    /// finished run nothing is written, and what was there stays.
    pub fn finish(self, scenario: &Scenario, summary: &Summary) -> Result<(), StoreError> {
        if summary.runs.is_empty() {
            return Ok(());
        }
        write_copy(scenario, self.place.folder(), &comments(summary))?;
        self.write("summary.json", |out| {
            serde_json::to_writer_pretty(&mut *out, summary)?;
            out.write_all(b"\n")
        })?;
        flows::write(self.place.file("flows.parquet"), &summary.runs)?;
        delays::write(self.place.file("delays.parquet"), &summary.runs)?;
        let parts = summary.runs.iter().map(|run| series_part(&run.protocol, run.seed));
        let parts: Vec<PathBuf> = parts.map(|name| self.place.file(&name)).collect();
        let parts: Vec<PathBuf> = parts.into_iter().filter(|path| path.exists()).collect();
        series::join(self.place.file("series.parquet"), &parts)?;
        write_report(self.place.folder())?;
        let captures = summary.runs.iter().map(|run| capture_name(&run.protocol, run.seed));
        let captures: Vec<String> = captures.collect();
        self.place.remove_others(|name| {
            OWN_FILES.contains(&name)
                || is_trace(name)
                || captures.iter().any(|capture| capture == name)
                || summary.runs.iter().any(|run| {
                    name == flow_monitor_name(&run.protocol, run.seed)
                        || is_link_log(name, &run.protocol, run.seed)
                })
        })?;
        self.name_single_capture(&captures)?;
        self.place.settle()
    }

    fn name_single_capture(&self, captures: &[String]) -> Result<(), StoreError> {
        let [only] = captures else { return Ok(()) };
        let (from, to) = (self.place.file(only), self.place.file("packets.pcapng"));
        if from.exists() {
            std::fs::rename(&from, &to).map_err(StoreError::io("rename", &from))
        } else {
            Ok(())
        }
    }

    fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        write_file(&self.place.file(name), content)
    }
}

/// A folder that appears whole or not at all, with folders of results in it.
#[derive(Debug)]
pub(crate) struct NewFolder {
    place: StagingFolder,
}

impl NewFolder {
    /// Begin one that will be `target`. Errors as [`Store::create`].
    pub fn create(target: &Path) -> Result<NewFolder, StoreError> {
        Ok(NewFolder { place: StagingFolder::prepare(target, Existing::Keep)? })
    }
    /// Where it will be.
    pub fn target(&self) -> &Path {
        self.place.target()
    }
    /// The path of something in it for now.
    pub fn file(&self, path: &Path) -> PathBuf {
        self.place.folder().join(path)
    }
    /// Write a file of it.
    pub fn write(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.place.file(name);
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(StoreError::io("write", &path))
    }
    /// Put it in its place.
    pub fn finish(self) -> Result<(), StoreError> {
        self.place.settle()
    }
}

/// The folder of a sweep in the making: what is in it stays if the process ends.
#[derive(Debug)]
pub(crate) struct UnfinishedFolder {
    place: StagingFolder,
}

impl UnfinishedFolder {
    /// The one that will be `target`, with what an earlier process left in it. Errors as
    /// [`Store::create`] and [`Store::replace`].
    pub fn open(target: &Path, existing: Existing) -> Result<UnfinishedFolder, StoreError> {
        Ok(UnfinishedFolder { place: StagingFolder::take_up(target, existing)? })
    }
    /// A new one, of which nothing stays if it is not finished.
    pub fn new(target: &Path, existing: Existing) -> Result<UnfinishedFolder, StoreError> {
        Ok(UnfinishedFolder { place: StagingFolder::prepare(target, existing)? })
    }
    /// Where it will be.
    pub fn target(&self) -> &Path {
        self.place.target()
    }
    /// Where it is now.
    pub fn folder(&self) -> &Path {
        self.place.folder()
    }
    /// The path of a file in it for now.
    pub fn file(&self, name: &str) -> PathBuf {
        self.place.file(name)
    }
    /// Write a file of it.
    pub fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        write_file(&self.place.file(name), content)
    }
    /// Put it in its place, with the files of a sweep alone.
    pub fn finish(self) -> Result<(), StoreError> {
        let kept = |name: &str| OWN_FILES.contains(&name) && name != ROWS;
        // Until it is in its place, its rows are there to go on from.
        let target = self.place.target().to_path_buf();
        self.place.remove_others(|name| kept(name) || name == ROWS)?;
        self.place.settle()?;
        let rows = target.join(ROWS);
        match std::fs::remove_file(&rows) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::Io { what: "remove", path: rows, source: error })
            }
            _ => Ok(()),
        }
    }
}

/// What `scenario.toml` says about its runs.
fn comments(summary: &Summary) -> Vec<String> {
    let head = format!("{} under Forebay {}", summary.scenario, summary.forebay);
    let runs = summary.runs.iter().map(|run| {
        let (protocol, seed, hash) = (&run.protocol, run.seed, &run.trace_hash);
        format!("protocol {protocol} seed {seed} trace hash {hash}")
    });
    std::iter::once(head).chain(runs).collect()
}

#[cfg(test)]
mod tests {
    use super::table::Column;
    use super::{delays, flows, series};
    use forebay_report::schema::{PARQUET, SWEEP_TABLE};

    #[test]
    fn the_columns_of_each_file_are_those_of_its_description() {
        let kinds = |columns: &[(&'static str, Column)]| -> Vec<(&'static str, &'static str)> {
            columns.iter().map(|(name, column)| (*name, column.kind())).collect()
        };
        let written = [
            ("flows.parquet", kinds(&flows::columns(&[]))),
            ("delays.parquet", kinds(&delays::columns(&[]))),
            ("series.parquet", kinds(&series::no_rows())),
        ];
        // That of a sweep has a column for each of its keys.
        let fixed = PARQUET.iter().filter(|file| file.name != SWEEP_TABLE);
        let described = fixed.map(|file| {
            (file.name, file.columns().iter().map(|of| (of.name, of.kind)).collect::<Vec<_>>())
        });
        assert_eq!(described.collect::<Vec<_>>(), written);
    }
}
