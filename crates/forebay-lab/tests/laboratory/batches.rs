//! Many runs, and the folder that they leave.

use crate::{results_in, scenario};
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{
    Batch, BatchOptions, BatchPlan, BatchProgress, CaptureLimit, Outputs, RunError, RunOptions,
    Store, StoreError, Summary, batch,
};
use parquet::basic::{Compression, Encoding, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn protocols() -> Vec<String> {
    ["newreno", "cubic"].map(String::from).to_vec()
}

fn batch_of_all(scenario: &Scenario, jobs: usize, run: RunOptions<'_>) -> Batch {
    let protocols = protocols();
    let plan = BatchPlan { scenario, protocols: &protocols, seeds: &[3, 1, 2, 1] };
    batch(&plan, &BatchOptions { jobs, run, progress: None })
}

/// Batch into a folder.
fn results(scenario: &Scenario, jobs: usize, target: &Path) -> Summary {
    let store = Store::create(target).unwrap();
    let outputs = Outputs::to(&store);
    let run = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let batch = batch_of_all(scenario, jobs, run);
    assert!(batch.error.is_none() && batch.missing.is_empty() && !batch.cancelled);
    let summary = Summary::new("small", scenario, batch);
    store.finish(scenario, &summary).unwrap();
    summary
}

fn kept(target: &Path) -> String {
    std::fs::read_to_string(target.join("summary.json")).unwrap()
}

pub fn rows(path: &Path) -> (Vec<String>, Vec<Row>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    for group in reader.metadata().row_groups() {
        for column in group.columns() {
            assert_eq!(column.compression(), Compression::SNAPPY);
            let text = column.column_type() == Type::BYTE_ARRAY;
            assert!(!text || column.encodings().any(|e| e == Encoding::RLE_DICTIONARY));
        }
    }
    let fields = reader.metadata().file_metadata().schema().get_fields().iter();
    let names = fields.map(|field| field.name().to_string()).collect();
    (names, reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect())
}

#[test]
fn one_job_and_four_give_the_same_files_in_the_same_order() {
    let (folder, scenario) = (tempfile::tempdir().unwrap(), scenario(&[]));
    let [one, four] = [1, 4].map(|jobs| folder.path().join(jobs.to_string()));
    let summaries = [results(&scenario, 1, &one), results(&scenario, 4, &four)];
    let order: Vec<(&str, u64)> =
        summaries[0].runs.iter().map(|run| (run.protocol.as_str(), run.seed)).collect();
    let expected =
        [("newreno", 3), ("newreno", 1), ("newreno", 2), ("cubic", 3), ("cubic", 1), ("cubic", 2)];
    assert_eq!(order, expected);
    assert_eq!(summaries[0].aggregate, summaries[1].aggregate);
    for name in ["scenario.toml", "flows.parquet", "delays.parquet", "series.parquet"] {
        let read = |folder: &Path| std::fs::read(folder.join(name)).unwrap();
        assert!(read(&one) == read(&four), "{name} differs");
    }
    assert_eq!(results_in(folder.path()), ["1", "4"]);
}

#[test]
fn the_folder_holds_what_the_runs_gave() {
    let (folder, scenario) = (tempfile::tempdir().unwrap(), scenario(&[]));
    let target = folder.path().join("out");
    let summary = results(&scenario, 2, &target);
    assert!(kept(&target) == serde_json::to_string_pretty(&summary).unwrap() + "\n");
    let (names, rows) = rows(&target.join("flows.parquet"));
    let column = |name: &str| names.iter().position(|n| n == name).unwrap();
    let flows = summary.runs.iter().flat_map(|run| run.per_flow.iter().map(move |f| (run, f)));
    assert_eq!(rows.len(), 12);
    for (row, (run, flow)) in rows.iter().zip(flows) {
        let long = |name| row.get_long(column(name)).unwrap() as u64;
        let double = |name| row.get_double(column(name)).ok();
        let text = |name| row.get_string(column(name)).unwrap();
        assert_eq!((text("run_protocol"), long("seed")), (&run.protocol, run.seed));
        assert_eq!((long("id"), text("src")), (u64::from(flow.id), &flow.src));
        assert_eq!((text("dst"), text("end")), (&flow.dst, &flow.end.to_string()));
        assert_eq!(double("start_s"), flow.start_s);
        assert_eq!((double("fct_s"), double("goodput_bps")), (flow.fct_s, flow.goodput_bps));
        assert_eq!(
            (double("rtt_mean_ms"), double("rtt_p95_ms")),
            (flow.rtt_mean_ms, flow.rtt_p95_ms)
        );
        assert_eq!(row.get_long(column("bytes")).ok().map(|b| b as u64), flow.bytes);
        let counts = [flow.received_bytes, flow.data_packets, flow.retransmits, flow.lost_packets];
        let read = ["received_bytes", "data_packets", "retransmits", "lost_packets"].map(long);
        assert_eq!((read, long("timeouts")), (counts, flow.timeouts));
    }
}

#[test]
fn the_scenario_kept_runs_again_to_the_same_trace() {
    let (folder, scenario) = (tempfile::tempdir().unwrap(), scenario(&["until_s=0.1"]));
    let target = folder.path().join("out");
    let summary = results(&scenario, 2, &target);
    let path = target.join("scenario.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let run = &summary.runs[1];
    assert!(text.contains(&format!("# protocol newreno seed 1 trace hash {}", run.trace_hash)));
    let again = Scenario::load(path.to_str().unwrap(), &LoadOptions::default()).unwrap();
    let again = forebay_lab::run_one(&again, "newreno", 1, &RunOptions::default()).unwrap();
    assert_eq!(again.trace_hash, run.trace_hash);
}

#[test]
fn series_are_sampled_at_their_times_and_agree_with_the_flows() {
    let (folder, scenario) = (tempfile::tempdir().unwrap(), scenario(&["sample_s=0.02"]));
    let target = folder.path().join("out");
    let summary = results(&scenario, 2, &target);
    let (names, rows) = rows(&target.join("series.parquet"));
    assert_eq!(names, ["run_protocol", "seed", "t_ns", "entity", "metric", "value", "unit"]);
    let of = |run: usize, entity: &str, metric: &str| -> Vec<(i64, f64)> {
        let (protocol, seed) = (&summary.runs[run].protocol, summary.runs[run].seed as i64);
        let rows = rows.iter().filter(|row| {
            row.get_string(0).unwrap() == protocol
                && row.get_long(1).unwrap() == seed
                && row.get_string(3).unwrap() == entity
                && row.get_string(4).unwrap() == metric
        });
        rows.map(|row| (row.get_long(2).unwrap(), row.get_double(5).unwrap())).collect()
    };
    for (i, run) in summary.runs.iter().enumerate() {
        for flow in &run.per_flow {
            let entity = format!("flow/{}", flow.id);
            let delivered = of(i, &entity, "delivered_bytes");
            // Every 20 ms from the first sample after its start to the last before its end, without
            // a gap.
            let step = |pair: &[(i64, f64)]| pair[1].0 - pair[0].0 == 20_000_000;
            assert!(delivered.windows(2).all(step) && delivered[0].0 == 20_000_000);
            assert!(delivered.len() as f64 >= (flow.fct_s.unwrap() / 0.02).floor());
            assert!(delivered.is_sorted_by_key(|&(_, bytes)| bytes as u64));
            assert!(delivered.iter().all(|&(_, bytes)| bytes <= 200_000.0));
            let cwnd = of(i, &entity, "cwnd_bytes");
            assert_eq!(cwnd.len(), delivered.len());
            let lost = of(i, &entity, "lost_bytes").last().unwrap().1;
            assert!(lost <= flow.lost_packets as f64 * 1448.0);
        }
        let queue = of(i, "port/l-r", "queue_bytes");
        let most = queue.iter().map(|&(_, bytes)| bytes).fold(0.0, f64::max);
        assert!((5_000.0..=25_000.0).contains(&most), "{most}");
    }
}

#[test]
fn a_failing_write_leaves_nothing_and_spares_what_was_there() {
    let (folder, scenario) = (tempfile::tempdir().unwrap(), scenario(&[]));
    let target = folder.path().join("out");
    let before = results(&scenario, 1, &target);
    let store = Store::replace(&target).unwrap();
    let outputs = Outputs { capture: Some(CaptureLimit(50_000)), ..Outputs::to(&store) };
    let run = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let batch = batch_of_all(&scenario, 1, run);
    let (key, error) = batch.error.as_ref().unwrap();
    assert_eq!((key.protocol.as_str(), key.seed), ("newreno", 3));
    let RunError::Record(error) = error else { panic!("{error}") };
    let error = error.downcast_ref().expect("an error of the store");
    assert!(matches!(error, StoreError::CaptureTooLong { limit_bytes: 50_000, .. }), "{error}");
    assert_eq!((batch.runs.len(), batch.missing.len(), batch.cancelled), (0, 6, false));
    assert_eq!(batch.missing[1].why, "not started");
    store.finish(&scenario, &Summary::new("small", &scenario, batch)).unwrap();
    assert_eq!(results_in(folder.path()), ["out"]);
    assert!(kept(&target) == serde_json::to_string_pretty(&before).unwrap() + "\n");
}

#[test]
fn a_folder_lost_on_the_way_is_an_error_and_leaves_nothing() {
    let (folder, scenario) = (tempfile::tempdir().unwrap(), scenario(&[]));
    let target = folder.path().join("out");
    let store = Store::create(&target).unwrap();
    let [partial] = &results_in(folder.path())[..] else { panic!("one folder in the making") };
    assert!(partial.starts_with("out.partial-"), "{partial}");
    std::fs::remove_dir_all(folder.path().join(partial)).unwrap();
    let summary =
        Summary::new("small", &scenario, batch_of_all(&scenario, 4, RunOptions::default()));
    let error = store.finish(&scenario, &summary).unwrap_err().to_string();
    assert!(error.contains("cannot create") && error.contains("scenario.toml"), "{error}");
    assert!(results_in(folder.path()).is_empty());
}

/// Runs of two protocols with three seeds, one at a time, interrupted when this many have finished.
fn interrupted_after(finished: usize) -> Batch {
    let (scenario, protocols, flag) = (scenario(&[]), protocols(), AtomicBool::new(false));
    let plan = BatchPlan { scenario: &scenario, protocols: &protocols, seeds: &[3, 1, 2] };
    let run = RunOptions { cancel: Some(&flag), ..RunOptions::default() };
    let tell = |progress: &BatchProgress| {
        if progress.finished >= finished {
            flag.store(true, Ordering::Relaxed);
        }
    };
    batch(&plan, &BatchOptions { jobs: 1, run, progress: Some(&tell) })
}

/// Whatever is left can be compared: the same seeds under each protocol.
#[test]
fn an_interrupted_batch_keeps_the_same_seeds_of_all_protocols() {
    let both = |seeds: &[u64]| -> Vec<(String, u64)> {
        protocols().into_iter().flat_map(|p| seeds.iter().map(move |&s| (p.clone(), s))).collect()
    };
    let first = vec![("newreno".to_string(), 3)];
    // One run of a seed is left out where another seed is whole; with nothing else it stays.
    let expected = [(1, first), (2, both(&[3])), (3, both(&[3])), (4, both(&[3, 1]))];
    for (finished, expected) in expected {
        let batch = interrupted_after(finished);
        assert!(batch.cancelled && batch.error.is_none());
        let kept: Vec<_> = batch.runs.iter().map(|run| (run.protocol.clone(), run.seed)).collect();
        assert_eq!(kept, expected, "after {finished}");
        let mut all: Vec<_> = batch.missing.iter().map(|m| (m.protocol.clone(), m.seed)).collect();
        assert!(all.is_sorted_by_key(|(protocol, _)| std::cmp::Reverse(protocol.clone())));
        all.extend(kept);
        all.sort();
        let mut wanted = both(&[1, 2, 3]);
        wanted.sort();
        assert_eq!(all, wanted, "each run is kept or missing");
    }
    let left = interrupted_after(3).missing.into_iter().find(|run| run.seed == 1).unwrap();
    assert_eq!(left.why, "finished, and left out: not every protocol has this seed");
    let done = interrupted_after(6);
    assert_eq!((done.runs.len(), done.missing.len(), done.cancelled), (6, 0, false));
}
