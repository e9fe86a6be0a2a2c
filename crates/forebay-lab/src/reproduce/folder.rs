//! A folder with everything that experiments come to: the results of the runs of each set-up, as
//! `forebay run --out` writes them, and what the caller adds.

use crate::error::StoreError;
use crate::result::{Batch, BatchMemory};
use crate::store::{NewFolder, Store};
use crate::summary::Summary;
use forebay_run::RunResult;
use forebay_scenario::Scenario;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A folder of reproduced experiments in the making: `DIR.partial-<process>` next to its place
/// holds the files until [`ReproductionFolder::finish`]. Dropped before that, it leaves nothing.
#[derive(Debug)]
pub struct ReproductionFolder {
    new: NewFolder,
}

impl ReproductionFolder {
    /// Begin a folder that will be `target`. Folders above it are made.
    ///
    /// Errors if `target` exists and is not empty, if another process is writing to it, or if
    /// nothing can be written next to it.
    pub fn create(target: &Path) -> Result<ReproductionFolder, StoreError> {
        Ok(ReproductionFolder { new: NewFolder::create(target)? })
    }

    /// Where it will be.
    pub fn target(&self) -> &Path {
        self.new.target()
    }

    /// Where the results of a set-up are in it, as a path within it.
    pub fn place_of(experiment: &str, setup: &str) -> PathBuf {
        experiment.split('/').chain([setup]).map(segment).collect()
    }

    /// Write a file next to the results of the experiments.
    pub fn write(&self, name: &str, text: &str) -> Result<(), StoreError> {
        self.new.write(name, text)
    }

    /// Put the folder in its place.
    pub fn finish(self) -> Result<(), StoreError> {
        self.new.finish()
    }

    /// Begin the results of a set-up.
    fn store(&self, experiment: &str, setup: &str) -> Result<Store, StoreError> {
        Store::create(&self.new.file(&ReproductionFolder::place_of(experiment, setup)))
    }
}

/// A name as a part of a path.
fn segment(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    // Neither the folder itself nor that above it.
    if name.chars().all(|c| c == '.') { "-".to_string() } else { name }
}

/// The results of the runs of one set-up, while they are made.
pub(super) struct SetupResults<'a> {
    /// `source/experiment`, and the folder below that of the experiment.
    pub names: (String, String),
    /// Name of the scenario.
    pub name: &'a str,
    pub scenario: &'a Scenario,
    pub state: Mutex<SetupState>,
}

/// Their outcomes.
pub(super) struct SetupState {
    /// Runs that have not finished.
    pub left: usize,
    pub store: Option<Arc<Store>>,
    /// With the number of the run.
    pub done: Vec<(usize, RunResult)>,
}

impl SetupResults<'_> {
    fn lock(&self) -> MutexGuard<'_, SetupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a run of it writes, which the first of them makes.
    pub fn store(&self, folder: &ReproductionFolder) -> Result<Arc<Store>, StoreError> {
        let mut state = self.lock();
        if state.store.is_none() {
            state.store = Some(Arc::new(folder.store(&self.names.0, &self.names.1)?));
        }
        Ok(Arc::clone(state.store.as_ref().expect("it has been made")))
    }

    /// Take the result of a run, whose share of the store is `store`; after the last of them the
    /// folder is written.
    pub fn finished(
        &self,
        index: usize,
        result: RunResult,
        store: Arc<Store>,
    ) -> Result<(), StoreError> {
        drop(store);
        let mut state = self.lock();
        state.done.push((index, result));
        state.left -= 1;
        if state.left > 0 {
            return Ok(());
        }
        let store = state.store.take().and_then(Arc::into_inner);
        let mut done = std::mem::take(&mut state.done);
        drop(state);
        let store = store.expect("every run has given back its share");
        done.sort_by_key(|(index, _)| *index);
        let runs: Vec<RunResult> = done.into_iter().map(|(_, run)| run).collect();
        let memory = BatchMemory::default();
        let batch = Batch { runs, missing: Vec::new(), error: None, cancelled: false, memory };
        store.finish(self.scenario, &Summary::new(self.name, self.scenario, batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_up_has_a_folder_below_that_of_its_experiment() {
        let place = ReproductionFolder::place_of;
        assert_eq!(place("verus/now", "one flow, R = 2"), Path::new("verus/now/one-flow--R---2"));
        assert_eq!(place("../mine", "a/b"), Path::new("-/mine/a-b"));
    }
}
