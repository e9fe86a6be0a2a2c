//! Delivery traces in a folder of results: the run can be made again without the files it had.

use crate::results_in;
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{BatchOptions, BatchPlan, Outputs, RunOptions, Store, Summary, batch};
use std::path::Path;

const TEXT: &str = r#"
until_s = 2
routers = ["bs"]
[link_defaults]
rate = "1Gbit/s"
delay = "10ms"
queue = "200packets"
[[hosts]]
name = "server"
attach = "bs"
[[hosts]]
name = "phone"
attach = "bs"
trace = { file = "up.trace", offset = "random" }
reverse = { trace = "down.trace" }
[[flows]]
src = "server"
dst = "phone"
endless = true
"#;

fn hash(scenario: &Path, target: &Path) -> Vec<String> {
    let scenario = Scenario::load(&scenario.display().to_string(), &LoadOptions::default());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let store = Store::create(target).unwrap();
    let protocols = ["cubic".to_string()];
    let plan = BatchPlan { scenario: &scenario, protocols: &protocols, seeds: &[1, 2] };
    let outputs = Outputs::to(&store);
    let run = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let batch = batch(&plan, &BatchOptions { jobs: 1, run, progress: None });
    assert!(batch.error.is_none());
    let summary = Summary::new("traced", &scenario, batch);
    store.finish(&scenario, &summary).unwrap();
    summary.runs.iter().map(|run| run.trace_hash.clone()).collect()
}

#[test]
fn a_folder_of_results_has_the_traces_that_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let (source, out) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("s.toml"), TEXT).unwrap();
    std::fs::write(source.join("up.trace"), "3\n3\n7\n").unwrap();
    let down: String = (1..500).map(|n| format!("{}\n", n / 3 * 4)).collect();
    std::fs::write(source.join("down.trace"), &down).unwrap();
    let first = hash(&source.join("s.toml"), &out);
    assert!(first[0] != first[1], "the offset is drawn");
    std::fs::remove_dir_all(&source).unwrap();
    assert_eq!(std::fs::read_to_string(out.join("channel-2.trace")).unwrap(), down);
    let again = folder.path().join("again");
    assert_eq!(hash(&out.join("scenario.toml"), &again), first);
    assert_eq!(results_in(folder.path()), ["again", "out"]);
}
