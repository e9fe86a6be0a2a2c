//! Runs that are stopped, watched, or fail.

use crate::scenario;
use forebay_lab::{
    BatchOptions, BatchPlan, BatchProgress, EventFilter, EventWriter, Outputs, Progress, RunError,
    RunOptions, RunResult, batch, run_one,
};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than anyone waits.
const LONG: [&str; 4] = [
    "until_s=1000000",
    "sample_s=100000",
    "flows=[{ src = \"s0\", dst = \"d0\", endless = true }]",
    "start_jitter=1ms",
];

#[test]
fn a_run_stops_soon_after_it_is_told_to() {
    let (scenario, stop) = (scenario(&LONG), AtomicBool::new(false));
    let told = Mutex::new(Vec::new());
    let tell = |progress: &Progress| {
        told.lock().unwrap().push(progress.fraction());
        stop.store(told.lock().unwrap().len() >= 3, Ordering::Relaxed);
    };
    let options =
        RunOptions { cancel: Some(&stop), progress: Some(&tell), ..RunOptions::default() };
    let start = now();
    let error = run_one(&scenario, "cubic", 1, &options).unwrap_err();
    assert!(matches!(error, RunError::Cancelled));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let told = told.into_inner().unwrap();
    assert!(told.len() == 3 && told.is_sorted() && told[2] > 0.0 && told[2] < 1.0, "{told:?}");
}

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

/// A flow that starts after 95 years runs as one that starts at once, and its run takes no longer
/// to speak of.
#[test]
fn years_in_which_nothing_happens_are_crossed_at_once() {
    let late = |start: &str| {
        let flow =
            format!("flows=[{{ src = \"s0\", dst = \"d0\", bytes = 20000, start = \"{start}\" }}]");
        let scenario = scenario(&["start_jitter=0s", &flow]);
        run_one(&scenario, "newreno", 1, &RunOptions::default()).unwrap()
    };
    let (soon, began) = (late("0s"), now());
    let run = late("3000000000s");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!((run.events, run.packet_hops), (soon.events, soon.packet_hops));
    let per_flow = |run: &RunResult| (run.per_flow[0].fct_s, run.per_flow[0].rtt_mean_ms);
    assert_eq!(per_flow(&run), per_flow(&soon));
    assert_eq!(run.metrics.window_s[0], 3e9);
}

/// A network that stays cut ends with its last event, whatever lies idle before.
#[test]
fn a_network_that_stays_cut_ends_with_its_last_event() {
    let set = [
        "start_jitter=0s",
        "until_s=1e9",
        "events=[{ at = \"5000.25s\", link = \"l-r\", state = \"down\" }]",
    ];
    let flows = "flows=[{ src = \"s0\", dst = \"d0\", bytes = 20000, start = \"1s\" }, \
                 { src = \"s1\", dst = \"d1\", bytes = 20000, start = \"5000.3s\" }]";
    let scenario = scenario(&[&set[..], &[flows]].concat());
    let run = run_one(&scenario, "newreno", 1, &RunOptions::default()).unwrap();
    assert_eq!((run.completed, run.per_flow[1].end), (1, "timed_out"));
    // SYNs wait 1, 2, 4, 8, 16 and 32 s, and ten times 60 s: 663 s.
    assert_eq!(run.ended_s, 5663.3);
}

#[test]
fn a_batch_that_is_stopped_keeps_what_has_finished_and_names_the_rest() {
    let (scenario, stop) = (scenario(&[]), AtomicBool::new(false));
    let tell = |progress: &BatchProgress| stop.store(progress.finished >= 3, Ordering::Relaxed);
    let protocols = ["newreno".to_string()];
    let plan = BatchPlan { scenario: &scenario, protocols: &protocols, seeds: &[1, 2, 3, 4, 5] };
    let run = RunOptions { cancel: Some(&stop), ..RunOptions::default() };
    let batch = batch(&plan, &BatchOptions { jobs: 1, run, progress: Some(&tell) });
    assert_eq!(batch.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [1, 2, 3]);
    let missing: Vec<_> = batch.missing.iter().map(|m| (m.seed, m.why.as_str())).collect();
    assert_eq!(missing, [(4, "not started"), (5, "not started")]);
    assert!(batch.cancelled && batch.error.is_none());
}

/// Text that can be looked at, and a writer that fails after some lines.
#[derive(Default)]
struct Page {
    text: Vec<u8>,
    room: Option<usize>,
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.room {
            Some(room) if self.text.len() >= room => Err(io::ErrorKind::BrokenPipe.into()),
            _ => self.text.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn events_of(which: &str, room: Option<usize>) -> (Result<u64, RunError>, String) {
    let scenario = scenario(&["start_jitter=0s"]);
    let filter = EventFilter::parse(which, &scenario).unwrap();
    let page = Arc::new(Mutex::new(Page { text: Vec::new(), room }));
    let writer: EventWriter = page.clone();
    let outputs = Outputs { events: Some((filter, &writer)), ..Outputs::default() };
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let result = run_one(&scenario, "newreno", 1, &options).map(|run| run.drops["full"]);
    let text = String::from_utf8(page.lock().unwrap().text.clone()).unwrap();
    (result, text)
}

#[test]
fn events_of_a_flow_tell_its_story_from_the_first_syn() {
    let (_, text) = events_of("1", None);
    let lines: Vec<&str> = text.lines().collect();
    let first = [
        "  0.000000000 sent     s0           flow 1 >  seq 0 win 65535 len 0 [SYN]",
        "  0.000000000 queued   s0->l        flow 1 >  seq 0 win 65535 len 0 [SYN]",
        // 60 bytes at 100 Mbit/s, and 1 ms.
        "  0.001004800 arrived  s0->l        flow 1 >  seq 0 win 65535 len 0 [SYN]",
    ];
    for (line, expected) in lines.iter().zip(first) {
        assert!(line.starts_with(expected), "{line}");
    }
    assert!(lines.iter().all(|line| line.contains("flow 1 ")));
    assert!(text.contains(" arrived  r->d0        flow 1 >  seq 1:1449 ack 1 win "), "{text}");
    assert!(text.contains(" sack "), "a loss shows in SACK blocks");
    assert!(text.contains(" seq 198377:200001 ") || text.contains(":200001 "));
}

#[test]
fn events_of_a_node_are_those_that_happen_there() {
    let (drops, text) = events_of("l", None);
    let dropped = text.lines().filter(|line| line.contains(" dropped  l ")).count() as u64;
    assert!(dropped > 0 && dropped == drops.unwrap());
    let places = ["s0->l", "s1->l", "r->l", "l->r", "l->s0", "l->s1", "l"];
    for line in text.lines() {
        let place = line.split_whitespace().nth(2).unwrap();
        assert!(places.contains(&place), "{line}");
        let here =
            if line.contains(" arrived ") { place.ends_with('l') } else { place.starts_with('l') };
        assert!(here, "{line}");
    }
}

#[test]
fn a_page_that_takes_no_more_ends_the_run() {
    let (result, text) = events_of("1", Some(1_000));
    assert!(matches!(result, Err(RunError::Events(e)) if e.kind() == io::ErrorKind::BrokenPipe));
    assert!((1_000..1_200).contains(&text.len()));
}
