//! What is printed and kept of all runs together.

use crate::buffer_limits;
use crate::expectations::{self, ExpectationResult};
use crate::metrics::{FlowResult, clock_seconds};
use crate::result::{Missing, RunResult, Sweep, SweepMemory};
use forebay_base::DropReason;
use forebay_report::Means;
use forebay_scenario::Scenario;
use forebay_scenario::statistics::{Interval, mean_and_interval};
use serde::Serialize;
use std::collections::BTreeMap;

/// The object that `run --json` prints and `summary.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of Forebay.
    pub forebay: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// The runs that finished: by protocol in the order given, then by seed in the order given.
    pub runs: Vec<RunResult>,
    /// Means over seeds, by protocol; without intervals where every seed gives the same result.
    pub aggregate: Vec<Aggregate>,
    /// What the scenario expects, each expectation under each protocol that it is about.
    pub expectations: Vec<ExpectationResult>,
    /// Memory that they took together.
    pub memory: SweepMemory,
    /// The runs that were wanted and did not finish.
    pub missing: Vec<Missing>,
    /// What a reader should know: no randomness, flows that did not complete.
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
    /// Put the runs of a sweep together. `name` is the scenario's, as the user gave it.
    pub fn new(name: &str, scenario: &Scenario, sweep: Sweep) -> Summary {
        let Sweep { runs, missing, memory, .. } = sweep;
        let mut protocols: Vec<&str> = Vec::new();
        for run in &runs {
            if !protocols.contains(&run.protocol.as_str()) {
                protocols.push(&run.protocol);
            }
        }
        let of = |protocol: &&str| {
            let runs: Vec<&RunResult> = runs.iter().filter(|r| r.protocol == *protocol).collect();
            Aggregate::of((protocol, &scenario.label(protocol)), &runs)
        };
        let mut aggregate: Vec<Aggregate> = protocols.iter().map(of).collect();
        let same = !scenario.is_random() && seeds_agree(&runs);
        if same {
            aggregate.iter_mut().for_each(Aggregate::drop_intervals);
        }
        let mut notes = notes(scenario, same, (&aggregate, &runs), &missing);
        notes.extend(memory.fewer_jobs.clone());
        let expectations = expectations::check(scenario, &runs, &missing);
        Summary {
            forebay: env!("CARGO_PKG_VERSION"),
            scenario: name.to_string(),
            runs,
            aggregate,
            expectations,
            memory,
            missing,
            notes,
        }
    }
}

impl Aggregate {
    /// Means over `runs`, all of one protocol.
    fn of((protocol, label): (&str, &str), runs: &[&RunResult]) -> Aggregate {
        let mut values: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        let mut utilisation: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut of_traces: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut reference: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        let mut classes: BTreeMap<String, BTreeMap<&'static str, Vec<f64>>> = BTreeMap::new();
        for run in runs {
            for (name, value) in run.metrics.numbers() {
                values.entry(name).or_default().extend(value);
            }
            for (class, metrics) in &run.metrics.by_class {
                let values = classes.entry(class.clone()).or_default();
                for (name, value) in metrics.numbers() {
                    values.entry(name).or_default().extend(value);
                }
            }
            for (name, value) in run.reference.numbers() {
                reference.entry(name).or_default().extend(value);
            }
            for (link, &share) in &run.metrics.utilisation {
                utilisation.entry(link.clone()).or_default().push(share);
            }
            for (link, &share) in &run.metrics.trace_utilisation {
                of_traces.entry(link.clone()).or_default().push(share);
            }
        }
        // A link that a run does not list marked nothing in it.
        let marking = runs.iter().flat_map(|run| run.metrics.ce_marks_by_link.keys());
        let marks = marking.collect::<std::collections::BTreeSet<_>>().into_iter().map(|link| {
            let of =
                |run: &&RunResult| run.metrics.ce_marks_by_link.get(link).copied().unwrap_or(0);
            (link.clone(), runs.iter().map(|run| of(run) as f64).collect())
        });
        // A reason that a run does not list dropped nothing in it.
        let reasons = runs.iter().flat_map(|run| run.drops.keys()).copied();
        let drops = reasons.collect::<std::collections::BTreeSet<_>>().into_iter().map(|reason| {
            let counts = runs.iter().map(|run| run.drops.get(reason).copied().unwrap_or(0) as f64);
            (reason, counts.collect())
        });
        Aggregate {
            protocol: protocol.to_string(),
            label: label.to_string(),
            seeds: runs.iter().map(|run| run.seed).collect(),
            flows: runs.iter().map(|run| run.flows).sum(),
            completed: runs.iter().map(|run| run.completed).sum(),
            skipped: runs.iter().map(|run| skipped(run)).sum(),
            means: Means {
                drops: intervals(drops),
                metrics: intervals(values),
                by_class: classes.into_iter().map(|(c, values)| (c, intervals(values))).collect(),
                utilisation: intervals(utilisation),
                trace_utilisation: intervals(of_traces),
                ce_marks_by_link: intervals(marks),
                reference: intervals(reference),
            },
        }
    }
    /// The same run again and again is no sample: its spread says nothing.
    fn drop_intervals(&mut self) {
        let Means {
            drops,
            metrics,
            by_class,
            utilisation,
            trace_utilisation,
            ce_marks_by_link,
            reference,
        } = &mut self.means;
        let named = [drops, metrics, reference].into_iter().chain(by_class.values_mut());
        let of_links = [utilisation, trace_utilisation, ce_marks_by_link].into_iter();
        let of_links = of_links.flat_map(BTreeMap::values_mut);
        let values = named.flat_map(BTreeMap::values_mut).chain(of_links);
        values.for_each(|interval| interval.ci95 = None);
    }
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

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// True if no two runs of a protocol differ in a metric.
fn seeds_agree(runs: &[RunResult]) -> bool {
    let mut pairs = runs.windows(2);
    pairs.all(|pair| pair[0].protocol != pair[1].protocol || pair[0].metrics == pair[1].metrics)
}

fn intervals<K: Ord>(values: impl IntoIterator<Item = (K, Vec<f64>)>) -> BTreeMap<K, Interval> {
    let values = values.into_iter();
    values.filter_map(|(key, values)| Some((key, mean_and_interval(&values)?))).collect()
}

fn notes(
    scenario: &Scenario,
    same: bool,
    (aggregate, runs): (&[Aggregate], &[RunResult]),
    missing: &[Missing],
) -> Vec<String> {
    let mut notes = scenario.notes();
    if same {
        notes.push("this scenario has no randomness: every seed gives the same result".to_string());
    }
    for of in aggregate.iter().filter(|of| of.completed < of.flows) {
        let endless = scenario.flows.iter().filter(|flow| flow.is_endless()).count();
        let skipped = of.skipped;
        let mine = runs.iter().filter(|run| run.protocol == of.protocol);
        let stopped: usize = mine.map(|run| stopped(scenario, run)).sum();
        if stopped > 0 {
            let (name, flows) = (&of.protocol, of.flows);
            notes.push(format!(
                "{name}: {stopped} of {flows} flows did not start: the one before them ended when \
                 they had to `stop`"
            ));
        }
        let sized = (of.flows - endless * of.seeds.len()).saturating_sub(skipped);
        if of.completed < sized {
            let (name, completed) = (&of.protocol, of.completed);
            notes.push(format!(
                "{name}: {completed} of {sized} flows completed; completion times count only those"
            ));
        }
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

/// Flows whose senders had no answer for so long that they ended.
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

/// What runs say themselves: each note once, with the number of runs that have it.
fn of_runs(name: &str, runs: &[&RunResult]) -> Vec<String> {
    let mut notes: Vec<(&str, usize)> = Vec::new();
    for note in runs.iter().flat_map(|run| &run.notes) {
        match notes.iter_mut().find(|(known, _)| known == note) {
            Some((_, count)) => *count += 1,
            None => notes.push((note, 1)),
        }
    }
    let all = runs.len();
    let told = notes.into_iter().map(|(note, count)| match count == all {
        true => format!("{name}: {note}"),
        false => format!("{name}: {note} ({count} of {all} runs)"),
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
            ..RunResult::example(protocol, seed)
        }
    }

    fn scenario(set: &str) -> Scenario {
        let options = LoadOptions { set: vec![set.to_string()], base: None };
        Scenario::load("s1", &options).unwrap()
    }

    #[test]
    fn means_and_intervals_by_hand() {
        let runs =
            vec![run("a", 1, Some(20.0), 4), run("a", 2, Some(22.0), 6), run("b", 1, None, 0)];
        let sweep = Sweep { runs, ..Sweep::default() };
        let summary = Summary::new("x", &scenario("start_jitter=1ms"), sweep);
        let [a, b] = &summary.aggregate[..] else { panic!("two protocols") };
        // Mean 21, s = √2, t(1) = 12.7062: half width 12.7062 · √2 / √2.
        let afct = a.means.metrics["afct_s"];
        assert_eq!((afct.mean, afct.n), (21.0, 2));
        let [low, high] = afct.ci95.unwrap();
        assert!((low - 8.2938).abs() < 1e-4 && (high - 33.7062).abs() < 1e-4, "{low} {high}");
        assert_eq!(a.means.utilisation["0-2"].mean, 0.75);
        assert_eq!((a.means.drops["full"].mean, a.means.drops["loss"].mean), (5.0, 3.5));
        assert_eq!((a.seeds.as_slice(), a.flows, a.completed), (&[1, 2][..], 6, 6));
        assert!(!b.means.metrics.contains_key("afct_s"));
        assert_eq!(b.means.drops["full"].ci95, None);
        assert_eq!(summary.notes.len(), 1);
        assert!(summary.notes[0].starts_with("b: 0 of 3 flows completed"), "{:?}", summary.notes);
    }

    #[test]
    fn no_randomness_and_missing_runs_are_said() {
        let missing = Missing { protocol: "a".into(), seed: 9, why: "interrupted".into() };
        let runs = || vec![run("a", 1, Some(1.0), 0), run("b", 1, Some(2.0), 0)];
        let of = |mut runs: Vec<RunResult>, again: Option<f64>| {
            let mut second = run("b", 2, again, 0);
            second.metrics.utilisation = runs[1].metrics.utilisation.clone();
            runs.push(second);
            let sweep = Sweep { runs, missing: vec![missing.clone()], ..Sweep::default() };
            Summary::new("x", &scenario("start_jitter=0s"), sweep)
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
    /// 5 s.
    fn notes_of(set: &[&str]) -> Vec<String> {
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
        let scenario = Scenario::parse(text, "x", &LoadOptions { set, base: None }).unwrap();
        let run = crate::run_one(&scenario, "cubic", 1, &crate::RunOptions::default()).unwrap();
        let sweep = Sweep { runs: vec![run], ..Sweep::default() };
        let mut notes = Summary::new("x", &scenario, sweep).notes;
        notes.retain(|note| !note.contains("no randomness") && !note.contains("completed"));
        notes
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
        let [note] = &notes_of(&[set])[..] else { panic!("one note") };
        let told = "cubic: 2 of the 3 packets in loss.packets of the link a-b never came: it \
                    carried ";
        assert!(note.starts_with(told) && note.ends_with(" packets"), "{note}");
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
