//! What is printed and kept of all runs together.

use crate::buffer_limits;
use crate::result::{Batch, BatchMemory};
use forebay_base::DropReason;
use forebay_report::schema::RESULTS_VERSION;
use forebay_report::{Means, Paired, RunValues};
use forebay_run::{
    ExpectationResult, FlowResult, Missing, RunResult, check_expectations, clock_seconds,
};
use forebay_scenario::Scenario;
use serde::Serialize;

/// The object that `run --json` prints and `summary.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of the format of results.
    pub results_version: u32,
    /// Version of Forebay.
    pub forebay: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// The runs that finished: by protocol in the order given, then by seed in the order given.
    pub runs: Vec<RunResult>,
    /// Means over seeds, by protocol; without intervals where every seed gives the same result.
    pub aggregate: Vec<Aggregate>,
    /// Differences of each other protocol from the baseline, seed by seed; empty with one seed.
    pub paired: Vec<Paired<&'static str>>,
    /// What the scenario expects, each expectation under each protocol that it is about.
    pub expectations: Vec<ExpectationResult>,
    /// Memory that they took together.
    pub memory: BatchMemory,
    /// The runs that were wanted and did not finish.
    pub missing: Vec<Missing>,
    /// Notes for readers: no randomness, flows that did not complete.
    pub notes: Vec<String>,
}

/// Means over the seeds of one protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// The protocol.
    pub protocol: String,
    /// What text and figures call it: see [`Scenario::label`].
    pub label: String,
    /// The seeds that finished.
    pub seeds: Vec<u64>,
    /// Flows in all those runs.
    pub flows: usize,
    /// Flows that completed in all those runs.
    pub completed: usize,
    /// Flows that did not start in all those runs, because the one before them ended when they had
    /// to stop; absent from JSON if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: usize,
    /// The means, by name.
    #[serde(flatten)]
    pub means: Means<&'static str>,
}

impl Summary {
    /// Put the runs of a batch together. `name` is the scenario's, as the user gave it. Differences
    /// are those from the first protocol.
    pub fn new(name: &str, scenario: &Scenario, batch: Batch) -> Summary {
        Summary::against(name, scenario, batch, None)
    }

    /// The same with the differences from `baseline`, if it is given; a note says why there are
    /// none.
    pub fn against(
        name: &str,
        scenario: &Scenario,
        batch: Batch,
        baseline: Option<&str>,
    ) -> Summary {
        let Batch { runs, missing, memory, .. } = batch;
        let mut protocols: Vec<&str> = Vec::new();
        for run in &runs {
            if !protocols.contains(&run.protocol.as_str()) {
                protocols.push(&run.protocol);
            }
        }
        let values: Vec<ProtocolValues<'_>> = protocols
            .iter()
            .map(|name| (*name, runs_of(&runs, name).map(values_of).collect()))
            .collect();
        let aggregate = |(protocol, values): &ProtocolValues<'_>| {
            let runs: Vec<&RunResult> = runs_of(&runs, protocol).collect();
            Aggregate::of(protocol, &scenario.label(protocol), &runs, values)
        };
        let mut aggregate: Vec<Aggregate> = values.iter().map(aggregate).collect();
        let first = baseline.or(protocols.first().copied());
        let mut paired = first.map_or_else(Vec::new, |baseline| paired(baseline, &values));
        let same = !scenario.is_random() && seeds_agree(&runs);
        if same {
            aggregate.iter_mut().for_each(|of| of.means.drop_intervals());
            paired.iter_mut().for_each(|of| of.means.drop_intervals());
        }
        let mut notes = notes(scenario, same, &aggregate, &runs, &missing);
        let seeds = aggregate.iter().map(|of| of.seeds.len()).max().unwrap_or(0);
        let unpaired = baseline.filter(|_| paired.is_empty() && !runs.is_empty());
        notes.extend(unpaired.and_then(|name| not_paired(name, protocols.len(), seeds)));
        notes.extend(memory.fewer_jobs.clone());
        let expectations = check_expectations(scenario, &runs, &missing);
        Summary {
            results_version: RESULTS_VERSION,
            forebay: env!("CARGO_PKG_VERSION"),
            scenario: name.to_string(),
            runs,
            aggregate,
            paired,
            expectations,
            memory,
            missing,
            notes,
        }
    }
}

impl Aggregate {
    /// Means over `runs`, all of one protocol.
    fn of(
        protocol: &str,
        label: &str,
        runs: &[&RunResult],
        values: &[(u64, RunValues<&'static str>)],
    ) -> Aggregate {
        Aggregate {
            protocol: protocol.to_string(),
            label: label.to_string(),
            seeds: runs.iter().map(|run| run.seed).collect(),
            flows: runs.iter().map(|run| run.flows).sum(),
            completed: runs.iter().map(|run| run.completed).sum(),
            skipped: runs.iter().map(|run| skipped(run)).sum(),
            means: Means::over(&values.iter().map(|(_, values)| values).collect::<Vec<_>>()),
        }
    }
}

/// A protocol, and the numbers of its runs by seed.
type ProtocolValues<'a> = (&'a str, Vec<(u64, RunValues<&'static str>)>);

fn runs_of<'a>(runs: &'a [RunResult], protocol: &'a str) -> impl Iterator<Item = &'a RunResult> {
    runs.iter().filter(move |run| run.protocol == protocol)
}

/// The numbers of a run, by its seed.
fn values_of(run: &RunResult) -> (u64, RunValues<&'static str>) {
    let drops = run.drops.iter().map(|(&reason, &count)| (reason, count));
    (run.seed, RunValues::of_run(&run.metrics, drops, run.reference.numbers()))
}

/// The differences of all protocols from `baseline`, which is one of them; none if no seed has two
/// runs, or no protocol two seeds.
fn paired(baseline: &str, protocols: &[ProtocolValues<'_>]) -> Vec<Paired<&'static str>> {
    let others = protocols.iter().find(|(name, _)| *name == baseline);
    let Some((_, others)) = others.filter(|_| protocols.iter().any(|of| of.1.len() > 1)) else {
        return Vec::new();
    };
    let own = protocols.iter().filter(|(name, _)| *name != baseline);
    own.filter_map(|(name, own)| Paired::of(name, own, baseline, others)).collect()
}

/// Why there are no differences from the protocol that the user named.
fn not_paired(baseline: &str, protocols: usize, seeds: usize) -> Option<String> {
    let why = match (protocols, seeds) {
        (0 | 1, _) => "no other protocol was run",
        (_, 0 | 1) => "they need two seeds or more, such as --seeds 8",
        _ => "no seed has a run of both",
    };
    Some(format!("no differences from {baseline}: {why}"))
}

/// Flows of a run that did not start, and never do.
fn skipped(run: &RunResult) -> usize {
    run.per_flow.iter().filter(|flow| flow.end == "skipped").count()
}

/// Of these, those that are no spare ones.
fn stopped(scenario: &Scenario, run: &RunResult) -> usize {
    let counts = |flow: &&FlowResult| {
        flow.end == "skipped" && !scenario.flows[flow.id as usize - 1].is_spare()
    };
    run.per_flow.iter().filter(counts).count()
}

/// Flows of a run with an amount to send whose start was still to come at the end.
fn not_due(scenario: &Scenario, run: &RunResult) -> usize {
    let counts = |flow: &&FlowResult| {
        flow.end == "unopened" && !scenario.flows[flow.id as usize - 1].is_endless()
    };
    run.per_flow.iter().filter(counts).count()
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// True if no two runs of a protocol differ in a metric.
fn seeds_agree(runs: &[RunResult]) -> bool {
    let mut pairs = runs.windows(2);
    pairs.all(|pair| pair[0].protocol != pair[1].protocol || pair[0].metrics == pair[1].metrics)
}

fn notes(
    scenario: &Scenario,
    same: bool,
    aggregate: &[Aggregate],
    runs: &[RunResult],
    missing: &[Missing],
) -> Vec<String> {
    let mut notes = scenario.notes();
    if same {
        notes.push("this scenario has no randomness: every seed gives the same result".to_string());
    }
    for of in aggregate.iter().filter(|of| of.completed < of.flows) {
        notes.extend(incomplete(scenario, of, runs));
    }
    for of in aggregate {
        let mine: Vec<&RunResult> = runs.iter().filter(|run| run.protocol == of.protocol).collect();
        notes.extend(empty_window(scenario, &of.protocol, &mine));
        notes.extend(gave_up(&of.protocol, &mine));
        notes.extend(starved(&of.protocol, &mine));
        notes.extend(crowded(&of.protocol, &mine));
        notes.extend(buffer_limits::notes(scenario, &of.protocol, &mine));
        notes.extend(of_runs(&of.protocol, &mine));
    }
    let fewer = |run: &RunResult| Some((run.parallel.threads, run.parallel.fewer_threads.clone()?));
    if let Some((threads, why)) = runs.iter().find_map(fewer) {
        let plural = if threads == 1 { "" } else { "s" };
        notes.push(format!("{threads} thread{plural} used in a run: {why}"));
    }
    if !missing.is_empty() {
        let list = missing.iter().map(|run| format!("{} seed {}", run.protocol, run.seed));
        notes.push(format!("missing: {}", list.collect::<Vec<_>>().join(", ")));
    }
    notes
}

/// Flows of a protocol that did not complete: those that never started, by why, and the others.
fn incomplete(scenario: &Scenario, of: &Aggregate, runs: &[RunResult]) -> Vec<String> {
    let (name, flows, completed) = (&of.protocol, of.flows, of.completed);
    let mut notes = Vec::new();
    let stopped: usize = runs_of(runs, name).map(|run| stopped(scenario, run)).sum();
    if stopped > 0 {
        notes.push(format!(
            "{name}: {stopped} of {flows} flows did not start: their predecessor ended too late \
             for their `stop`"
        ));
    }
    let not_due: usize = runs_of(runs, name).map(|run| not_due(scenario, run)).sum();
    let endless = scenario.flows.iter().filter(|flow| flow.is_endless()).count();
    let sized = (flows - endless * of.seeds.len()).saturating_sub(of.skipped);
    let mut due = sized;
    // Where no flow started, another note says so.
    if let (Some(until), true) = (scenario.until, (1..sized).contains(&not_due)) {
        due = sized - not_due;
        // Those whose start is written in the scenario have a note of their own.
        let late = scenario.flows.iter().filter(|flow| !flow.is_endless() && flow.start >= until);
        if not_due > late.count() * of.seeds.len() {
            let end = clock_seconds(until);
            notes.push(format!(
                "{name}: {not_due} of {sized} flows had not started at the end (until_s = {end})"
            ));
        }
    }
    if completed < due {
        notes.push(format!(
            "{name}: {completed} of {due} flows completed; completion times count only those"
        ));
    }
    notes
}

/// Runs whose window holds nothing: rows of the results are missing, and a reader should know why.
fn empty_window(scenario: &Scenario, name: &str, runs: &[&RunResult]) -> Option<String> {
    let (from_s, all) = (clock_seconds(scenario.measure_from), runs.len());
    let unopened = |run: &RunResult| run.per_flow.iter().all(|flow| flow.end == "unopened");
    let idle = runs.iter().filter(|run| !run.per_flow.is_empty() && unopened(run)).count();
    if let (Some(until), true) = (scenario.until, idle > 0) {
        let until_s = clock_seconds(until);
        return Some(format!(
            "{name}: in {idle} of {all} runs no flow had started at the end (until_s = {until_s})"
        ));
    }
    let before = runs.iter().filter(|run| from_s > 0.0 && run.ended_s <= from_s).count();
    (before > 0).then(|| {
        format!(
            "{name}: {before} of {all} runs ended before measure_from_s = {from_s}: goodput, \
             utilisation and queue delay count nothing of them"
        )
    })
}

/// Flows whose senders ended for want of an answer.
fn gave_up(name: &str, runs: &[&RunResult]) -> Option<String> {
    let flows = || runs.iter().flat_map(|run| &run.per_flow);
    let (ended, all) = (flows().filter(|flow| flow.end == "timed_out").count(), flows().count());
    let why = "their senders had no answer to many retransmissions, and gave up";
    (ended > 0).then(|| format!("{name}: {ended} of {all} flows timed out: {why}"))
}

/// Flows that had a tenth of the run or more and got nothing through.
fn starved(name: &str, runs: &[&RunResult]) -> Option<String> {
    let all: usize = runs.iter().map(|run| run.per_flow.len()).sum();
    let of = |run: &RunResult| {
        let late_s = 0.9 * run.ended_s;
        let started = |flow: &FlowResult| flow.start_s.is_some_and(|start_s| start_s < late_s);
        let nothing = |flow: &&FlowResult| started(flow) && flow.received_bytes == 0;
        run.per_flow.iter().filter(nothing).count()
    };
    let nothing: usize = runs.iter().map(|run| of(run)).sum();
    (nothing > 0).then(|| format!("{name}: {nothing} of {all} flows delivered nothing"))
}

/// Notes of runs: each note once, with the number of runs that have it.
fn of_runs(name: &str, runs: &[&RunResult]) -> Vec<String> {
    let mut notes: Vec<(&str, usize)> = Vec::new();
    for note in runs.iter().flat_map(|run| &run.notes) {
        match notes.iter_mut().find(|(known, _)| known == note) {
            Some((_, count)) => *count += 1,
            None => notes.push((note, 1)),
        }
    }
    let all = runs.len();
    let told = notes.into_iter().map(|(note, count)| {
        if count == all {
            format!("{name}: {note}")
        } else {
            format!("{name}: {note} ({count} of {all} runs)")
        }
    });
    told.collect()
}

/// Receivers that held as many ranges out of order as they may.
fn crowded(name: &str, runs: &[&RunResult]) -> Option<String> {
    let reason = DropReason::TooManyRanges.name();
    let dropped: u64 = runs.iter().filter_map(|run| run.drops.get(reason)).sum();
    (dropped > 0).then(|| {
        format!(
            "{name}: receivers dropped {dropped} packets ({reason}): they held as many ranges out \
             of order as they may; a larger receive_buffer_bytes raises that"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_report::{FlowMetrics, Metrics};
    use forebay_scenario::LoadOptions;

    fn run(protocol: &str, seed: u64, afct_s: Option<f64>, drops: u64) -> RunResult {
        RunResult {
            flows: 3,
            completed: 3 * usize::from(afct_s.is_some()),
            drops: [("full", drops)]
                .into_iter()
                .chain((seed == 1).then_some(("loss", 7)))
                .collect(),
            metrics: Metrics {
                of_flows: FlowMetrics { afct_s, ..FlowMetrics::default() },
                utilisation: [("0-2".to_string(), 0.5 * seed as f64)].into(),
                ..Metrics::default()
            },
            protocol: protocol.to_string(),
            label: protocol.to_string(),
            seed,
            ended_s: 1.0,
            ..RunResult::default()
        }
    }

    fn scenario(set: &str) -> Scenario {
        let options = LoadOptions { set: vec![set.to_string()], ..LoadOptions::default() };
        Scenario::load("s1", &options).unwrap()
    }

    #[test]
    fn means_and_intervals_by_hand() {
        let runs =
            vec![run("a", 1, Some(20.0), 4), run("a", 2, Some(22.0), 6), run("b", 1, None, 0)];
        let batch = Batch { runs, ..Batch::default() };
        let summary = Summary::new("x", &scenario("start_jitter=1ms"), batch);
        let [a, b] = &summary.aggregate[..] else { panic!("two protocols") };
        // Mean 21, s = √2, t(1) = 12.7062: half width 12.7062 · √2 / √2. On the scale of the
        // logarithm 12.7062 / 21, whose exponential is 1.831325.
        let afct = a.means.metrics["afct_s"];
        assert_eq!((afct.mean, afct.n), (21.0, 2));
        let [low, high] = afct.ci95.unwrap();
        let expected = [21.0 / 1.831_325, 21.0 * 1.831_325];
        assert!(
            (low - expected[0]).abs() < 1e-3 && (high - expected[1]).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!(a.means.utilisation["0-2"].mean, 0.75);
        assert_eq!((a.means.drops["full"].mean, a.means.drops["loss"].mean), (5.0, 3.5));
        assert_eq!((a.seeds.as_slice(), a.flows, a.completed), (&[1, 2][..], 6, 6));
        assert!(!b.means.metrics.contains_key("afct_s"));
        assert_eq!(b.means.drops["full"].ci95, None);
        assert_eq!(summary.notes.len(), 1);
        assert!(summary.notes[0].starts_with("b: 0 of 3 flows completed"), "{:?}", summary.notes);
    }

    /// 20, 22 and 30 s against 19, 22.5 and 27 s with the same seeds; a has no run of seed 4.
    #[test]
    fn differences_are_those_of_runs_with_the_same_seed() {
        let runs = |names: &[&str]| -> Vec<RunResult> {
            let of = |name: &str, seed, afct| run(name, seed, Some(afct), 0);
            let all = [
                of("a", 1, 20.0),
                of("a", 2, 22.0),
                of("a", 3, 30.0),
                of("b", 4, 99.0),
                of("b", 3, 27.0),
                of("b", 2, 22.5),
                of("b", 1, 19.0),
            ];
            let wanted = |run: &RunResult| names.contains(&run.protocol.as_str());
            all.into_iter().filter(wanted).collect()
        };
        let of = |runs, baseline| {
            let batch = Batch { runs, ..Batch::default() };
            Summary::against("x", &scenario("start_jitter=1ms"), batch, baseline)
        };
        let summary = of(runs(&["a", "b"]), Some("b"));
        let [paired] = &summary.paired[..] else { panic!("a minus b") };
        assert_eq!((paired.protocol.as_str(), paired.baseline.as_str()), ("a", "b"));
        assert_eq!(paired.seeds, [1, 2, 3]);
        // 1, -0.5 and 3: mean 7/6, s = 1.755942, t(2) = 4.30265, half width 4.362024.
        let afct = paired.means.metrics["afct_s"];
        let [low, high] = afct.ci95.unwrap();
        assert!((afct.mean - 7.0 / 6.0).abs() < 1e-9 && afct.n == 3);
        assert!(
            (afct.mean - low - 4.362_024).abs() < 1e-4 && (low + high - 7.0 / 3.0).abs() < 1e-9
        );
        // The first protocol where none is named.
        let first = of(runs(&["a", "b"]), None);
        assert_eq!(first.paired[0].baseline, "a");
        assert_eq!(first.paired[0].means.metrics["afct_s"].mean, -afct.mean);
        let json = serde_json::to_value(&summary).unwrap();
        assert!(json["paired"][0]["metrics"]["afct_s"]["ci95"][0].as_f64() == Some(low), "{json}");
        // Why there is none.
        let alone = of(runs(&["b"]), Some("b"));
        let once = of(vec![run("a", 1, None, 0), run("b", 1, None, 0)], Some("b"));
        let told = |summary: &Summary, why: &str| {
            assert!(summary.paired.is_empty());
            let text = format!("no differences from b: {why}");
            assert!(summary.notes.contains(&text), "{:?}", summary.notes);
        };
        told(&alone, "no other protocol was run");
        told(&once, "they need two seeds or more, such as --seeds 8");
    }

    #[test]
    fn no_randomness_and_missing_runs_are_said() {
        let missing = Missing { protocol: "a".into(), seed: 9, why: "interrupted".into() };
        let runs = || vec![run("a", 1, Some(1.0), 0), run("b", 1, Some(2.0), 0)];
        let of = |mut runs: Vec<RunResult>, again: Option<f64>| {
            let mut second = run("b", 2, again, 0);
            second.metrics.utilisation = runs[1].metrics.utilisation.clone();
            runs.push(second);
            let batch = Batch { runs, missing: vec![missing.clone()], ..Batch::default() };
            Summary::new("x", &scenario("start_jitter=0s"), batch)
        };
        let same = of(runs(), Some(2.0));
        assert!(same.notes[0].contains("no randomness"), "{:?}", same.notes);
        assert_eq!(same.notes[1], "missing: a seed 9");
        assert_eq!(
            (same.aggregate[1].means.metrics["afct_s"].ci95, same.aggregate[1].seeds.len()),
            (None, 2)
        );
        // An algorithm that draws numbers makes runs differ all the same: then nothing is claimed.
        let differ = of(runs(), Some(2.5));
        assert_eq!(differ.notes.len(), 1);
        assert!(differ.aggregate[1].means.metrics["afct_s"].ci95.is_some());
    }

    /// The notes on real runs of two flows of 100 kB at 10 Mbit/s, the second of which starts after
    /// 5 s, without those on flows that did not complete.
    fn notes_of(set: &[&str]) -> Vec<String> {
        let mut notes = all_notes_of(set);
        notes.retain(|note| !note.contains("completed") && !note.contains("had not started"));
        notes
    }

    fn all_notes_of(set: &[&str]) -> Vec<String> {
        let text = r#"
            start_jitter = "0s"
            hosts = [{ name = "a" }, { name = "b" }]
            links = [{ a = "a", b = "b", rate = "10Mbit/s", delay = "5ms", queue = "1MB" }]
            flows = [
                { src = "a", dst = "b", bytes = 100_000, start = "1s" },
                { src = "a", dst = "b", bytes = 100_000, start = "5s" },
            ]
        "#;
        let set = set.iter().map(ToString::to_string).collect();
        let scenario =
            Scenario::parse(text, "x", &LoadOptions { set, ..LoadOptions::default() }).unwrap();
        let run = crate::run_one(&scenario, "cubic", 1, &crate::RunOptions::default()).unwrap();
        let batch = Batch { runs: vec![run], ..Batch::default() };
        let mut notes = Summary::new("x", &scenario, batch).notes;
        notes.retain(|note| !note.contains("no randomness"));
        notes
    }

    /// A flow of 100 kB at 10 Mbit/s takes 0.1 s and some round trips of 10 ms.
    #[test]
    fn flows_that_were_not_due_are_told_from_those_that_did_not_complete() {
        let not_due = |until: &str| {
            format!("1 of 2 flows never start: they are due at until_s ({until} s) or later")
        };
        let cut =
            |of| format!("cubic: 0 of {of} flows completed; completion times count only those");
        assert_eq!(all_notes_of(&["until_s=3"]), [not_due("3")]);
        assert_eq!(all_notes_of(&["until_s=1.05"]), [not_due("1.05"), cut(1)]);
        let none = "cubic: in 1 of 1 runs no flow had started at the end (until_s = 0.5)";
        assert_eq!(all_notes_of(&["until_s=0.5"]), [cut(2), none.to_string()]);
    }

    #[test]
    fn what_receivers_refused_is_said() {
        let mut runs = [run("b", 1, None, 0), run("b", 2, None, 0)];
        assert_eq!(crowded("b", &runs.each_ref()), None);
        runs[0].drops.insert("too_many_ranges", 3);
        runs[1].drops.insert("too_many_ranges", 4);
        let note = crowded("b", &runs.each_ref()).unwrap();
        assert!(note.starts_with("b: receivers dropped 7 packets (too_many_ranges): "), "{note}");
        assert!(note.contains("receive_buffer_bytes"), "{note}");
    }

    /// The link carries the packets of both flows: two handshakes, and 70 packets of data of each.
    #[test]
    fn losses_that_never_came_are_said() {
        let set = "links.0.loss={ packets = [3, 500, 600] }";
        let notes = notes_of(&[set]);
        assert_eq!(notes.len(), 2, "one for each direction: {notes:?}");
        for (note, link) in notes.iter().zip(["a-b", "b-a"]) {
            let told = format!(
                "cubic: 2 of the 3 packets in loss.packets of the link {link} never came: it \
                 carried "
            );
            assert!(note.starts_with(&told) && note.ends_with(" packets"), "{note}");
        }
        assert_eq!(notes_of(&["links.0.loss={ packets = [3, 50] }"]), [""; 0]);
    }

    #[test]
    fn a_window_that_holds_nothing_is_said() {
        assert_eq!(notes_of(&[]), [""; 0]);
        assert_eq!(notes_of(&["until_s=10", "measure_from_s=5.05"]), [""; 0]);
        let early = "cubic: in 1 of 1 runs no flow had started at the end (until_s = 0.5)";
        assert_eq!(notes_of(&["until_s=0.5"]), [early]);
        let late = "cubic: 1 of 1 runs ended before measure_from_s = 100: goodput, utilisation and \
                    queue delay count nothing of them";
        assert_eq!(notes_of(&["measure_from_s=100"]), [late]);
    }

    #[test]
    fn flows_that_got_nothing_through_are_counted() {
        let cut = "events=[{ at = \"4s\", link = \"a-b\", state = \"down\" }]";
        let expected = ["cubic: 1 of 2 flows delivered nothing"];
        assert_eq!(notes_of(&[cut, "until_s=10"]), expected);
        // Without an end of the run its sender goes on until it gives up.
        let timed_out = "cubic: 1 of 2 flows timed out: their senders had no answer to many \
                         retransmissions, and gave up";
        assert_eq!(notes_of(&[cut]), [timed_out, expected[0]]);
        // It began in the last tenth: no wonder.
        assert_eq!(notes_of(&[cut, "until_s=5.5"]), [""; 0]);
    }
}
