//! The page of a folder of results: what stands in it, and what a browser makes of it.

mod browser;
mod dom;
mod looks;
mod page;
mod synthetic;

use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{BatchOptions, BatchPlan, Outputs, RunOptions, Store, Summary, batch};
use std::path::Path;

/// Run a scenario and keep its results in `folder`.
fn run(name: &str, set: &[&str], protocols: &[&str], seeds: &[u64], folder: &Path) {
    let set = set.iter().map(ToString::to_string).collect();
    let scenario = Scenario::load(name, &LoadOptions { set, ..LoadOptions::default() }).unwrap();
    let store = Store::create(folder).unwrap();
    let protocols: Vec<String> = protocols.iter().map(ToString::to_string).collect();
    let plan = BatchPlan { scenario: &scenario, protocols: &protocols, seeds };
    let outputs = Outputs::to(&store);
    let run = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let done = batch(&plan, &BatchOptions { jobs: 2, run, progress: None });
    assert!(done.error.is_none(), "{:?}", done.error);
    store.finish(&scenario, &Summary::new(name, &scenario, done)).unwrap();
}
