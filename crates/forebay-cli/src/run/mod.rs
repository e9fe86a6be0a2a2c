//! `forebay run`: a scenario under protocols and seeds, and what a person or a program learns of
//! it.

mod differences;
mod junit;
mod published;
mod report;
mod sweep;

pub(crate) use report::shown;

use crate::args::{PacketArgs, ResultArgs, RunArgs};
use crate::expect::{self, ranges};
use crate::failure::Failure;
use crate::interrupt;
use crate::late;
use crate::output::is_same_file;
use crate::terminal::{Paint, Progress};
use forebay_base::LinkId;
use forebay_lab::report::REPORT_NAME;
use forebay_lab::scenario::memory_estimate::{Admission, NotEnoughMemory, check_outline};
use forebay_lab::scenario::{LoadOptions, Registry, Scenario, ScenarioText};
use forebay_lab::{
    Batch, BatchOptions, BatchPlan, BatchProgress, CaptureFilter, CaptureLimit, EventFilter,
    EventWriter, ExpectationResult, LEFT_OUT, Missing, Outputs, RunError, RunOptions, Status,
    Store, StoreError, Summary, batch, directed_links,
};
use forebay_sim::Recording;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

/// Run, store, show.
pub fn run(
    mut args: RunArgs,
    registry: &Arc<Registry>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    let text = ScenarioText::read(&args.scenario).map_err(Failure::input)?;
    args.scenario = text.name().to_string();
    let args = &args;
    let available_bytes = args.memory.or_else(forebay_lab::available_bytes);
    if let Some(swept) = sweep::swept(args, registry, &text, available_bytes)? {
        return sweep::run(args, &text, &swept, available_bytes, out, paint);
    }
    let scenario = load(args, registry, &text, available_bytes)?;
    let watched = Watched::of(args, &scenario)?;
    let runs = scenario.protocols.len() * args.seeds.0.len();
    if watched.events.is_some() && runs > 1 {
        let (protocol, seed) = (scenario.protocols[0].as_str(), args.seeds.0[0]);
        let hint = format!("hint: --protocol {protocol} --seeds {seed}..{seed}");
        return Err(at("--events", format!("shows one run, and {runs} are wanted\n{hint}")));
    }
    if let Some(path) = &args.junit {
        if is_same_file(path, Path::new(&args.scenario)) {
            return Err(at("--junit", format!("`{}` is the scenario", path.display())));
        }
        junit::target(path, args.results.force).check()?;
    }
    let admission = admit(args, &scenario, available_bytes)?;
    // Before there is a folder that an interrupt must remove.
    let cancel = interrupt::flag();
    let store = store(&args.results)?;
    let job = Job { args, scenario: &scenario, watched: &watched, recorded: None };
    let mut done = job.simulate(admission.jobs, store.as_ref(), &cancel);
    done.memory = done.memory.chosen_by(admission);
    conclude(args, &scenario, done, store, out, paint)
}

/// The folder of results that is asked for.
pub(crate) fn store(args: &ResultArgs) -> Result<Option<Store>, Failure> {
    let Some(folder) = &args.out else { return Ok(None) };
    let store = if args.force { Store::replace(folder) } else { Store::create(folder) };
    store.map(Some).map_err(|error| match error {
        StoreError::Results { .. } => {
            let hint = "hint: choose another folder, or replace them with --force";
            at("--out", format!("{error}\n{hint}"))
        }
        _ => at("--out", error),
    })
}

/// A problem with an option.
fn at(option: &str, what: impl std::fmt::Display) -> Failure {
    Failure::input(format!("{option}: {what}"))
}

/// A scenario that needs more memory than there is.
fn refused(args: &RunArgs, refused: NotEnoughMemory) -> Failure {
    let hint = "hint: fewer flows, nodes or --threads; --memory SIZE says that more may be taken";
    Failure::input(format!("{}: {refused}\n{hint}", args.scenario))
}

/// How many runs go in parallel.
fn admit(
    args: &RunArgs,
    scenario: &Scenario,
    available_bytes: Option<u64>,
) -> Result<Admission, Failure> {
    // As many threads in all as there are cores.
    let side_by_side = || (cores() / threads(args)).max(1);
    let (wanted, threads) = (args.jobs.unwrap_or_else(side_by_side), threads(args));
    let protocols: Vec<String> = scenario.protocols.iter().map(ToString::to_string).collect();
    let plan = BatchPlan { scenario, protocols: &protocols, seeds: &args.seeds.0 };
    let admission = plan.admit(wanted, threads, args.results.out.is_some(), available_bytes);
    admission.map_err(|error| refused(args, error))
}

/// Threads that a run uses at most: one where someone looks on, else no more than there are cores.
/// Threads meet thousands of
/// times in a second of simulated time, and one that has no core keeps all others waiting.
fn threads(args: &RunArgs) -> usize {
    let PacketArgs { events, pcap, flow_monitor, mm_link, .. } = &args.packets;
    if pcap.is_some() || events.is_some() || mm_link.is_some() || *flow_monitor {
        1
    } else {
        args.threads.min(cores())
    }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Why no run uses as many threads as `--threads` says, where that is because of the cores.
fn fewer_threads(args: &RunArgs) -> Option<String> {
    let (wanted, cores) = (args.threads, cores());
    (wanted > cores).then(|| match cores {
        1 => format!("--threads {wanted} is more than the one core of this machine"),
        _ => format!("--threads {wanted} is more than the {cores} cores of this machine"),
    })
}

/// The scenario with everything that the command line changes.
pub(crate) fn load(
    args: &RunArgs,
    registry: &Arc<Registry>,
    text: &ScenarioText,
    available_bytes: Option<u64>,
) -> Result<Scenario, Failure> {
    let (set, protocols) = (args.set.clone(), args.protocol.clone());
    let options =
        LoadOptions { set, protocols, registry: registry.clone(), ..LoadOptions::default() };
    // Flows and hosts by the million are given in a line: what cannot fit is not expanded.
    let keys = text.keys(&options).map_err(Failure::input)?;
    let checked = check_outline(&keys.outline(), available_bytes);
    checked.map_err(|error| refused(args, error))?;
    let mut scenario = keys.scenario().map_err(Failure::input)?;
    late::apply(&args.late, &mut scenario)?;
    let compared: Vec<&str> = scenario.protocols.iter().map(|name| &**name).collect();
    args.baseline.as_ref().map_or(Ok(()), |name| check_baseline(name, &compared))?;
    Ok(scenario)
}

/// Errors if no such protocol is compared.
fn check_baseline(name: &str, compared: &[&str]) -> Result<(), Failure> {
    if compared.contains(&name) {
        return Ok(());
    }
    let compared = compared.join(", ");
    let what = format!("`{name}` is not among the protocols of this run");
    Err(at("--baseline", format!("{what}\nhint: one of: {compared}")))
}

/// What of a run is written packet by packet.
pub(crate) struct Watched {
    events: Option<EventFilter>,
    /// Links of a capture; None: all.
    links: Option<Vec<LinkId>>,
    /// Links with logs.
    logged: Vec<LinkId>,
}

impl Watched {
    /// What `args` wants to see of `scenario`.
    pub fn of(args: &RunArgs, scenario: &Scenario) -> Result<Watched, Failure> {
        let events = args.packets.events.as_ref().map(|text| EventFilter::parse(text, scenario));
        let links = args.packets.pcap.as_ref().and_then(Option::as_ref);
        let links = links.map(|names| directed_links(names, scenario));
        Ok(Watched {
            events: events.transpose().map_err(|error| at("--events", error))?,
            links: links.transpose().map_err(|error| at("--pcap", error))?,
            logged: match &args.packets.mm_link {
                Some(names) => {
                    directed_links(names, scenario).map_err(|error| at("--mm-link", error))?
                }
                None => Vec::new(),
            },
        })
    }
}

/// Runs that one command makes.
pub(crate) struct Job<'a> {
    pub args: &'a RunArgs,
    pub scenario: &'a Scenario,
    pub watched: &'a Watched,
    /// The one run that there is, if it is done again from its record.
    pub recorded: Option<Recorded<'a>>,
}

/// A run that was recorded.
#[derive(Clone, Copy)]
pub(crate) struct Recorded<'a> {
    pub protocol: &'a str,
    pub seed: u64,
    /// What came in, from the beginning.
    pub inputs: &'a (dyn Fn() -> Recording + Sync),
}

impl Job<'_> {
    /// Run all of them.
    pub fn simulate(&self, jobs: usize, store: Option<&Store>, cancel: &AtomicBool) -> Batch {
        let Job { args, scenario, watched, recorded } = *self;
        let bar = Progress::start().lines(!args.results.json);
        let tell = |progress: &BatchProgress| {
            let BatchProgress { finished, runs, fraction } = *progress;
            bar.set(fraction, || format!("{finished} of {runs} runs done"));
        };
        let (protocols, seeds) = match recorded {
            Some(of) => (vec![of.protocol.to_string()], vec![of.seed]),
            None => {
                let protocols = scenario.protocols.iter().map(ToString::to_string);
                (protocols.collect::<Vec<_>>(), args.seeds.0.clone())
            }
        };
        let lines = Arc::new(Mutex::new(BufWriter::new(io::stdout())));
        let writer: EventWriter = lines.clone();
        let outputs = Outputs {
            store,
            capture: args.packets.pcap.is_some().then(CaptureLimit::default),
            capture_filter: CaptureFilter {
                links: watched.links.as_deref(),
                snap_bytes: args.packets.snaplen,
            },
            flow_monitor: args.packets.flow_monitor,
            link_logs: &watched.logged,
            events: watched.events.map(|filter| (filter, &writer)),
        };
        let options = BatchOptions {
            jobs,
            run: RunOptions {
                name: &args.scenario,
                bytes: args.bytes,
                general: args.general,
                cancel: Some(cancel),
                record: Some(&outputs),
                without_reference: args.results.no_reference,
                whole_reference: args.results.reference,
                threads: args.threads.min(cores()),
                recording: recorded.map(|of| of.inputs),
                ..RunOptions::default()
            },
            progress: Some(&tell),
        };
        let plan = BatchPlan { scenario, protocols: &protocols, seeds: &seeds };
        let mut done = batch(&plan, &options);
        bar.finish();
        for run in &mut done.runs {
            let why: Vec<_> =
                fewer_threads(args).into_iter().chain(run.parallel.fewer_threads.take()).collect();
            run.parallel.fewer_threads = (!why.is_empty()).then(|| why.join("; "));
        }
        let flushed = lines.lock().map_or(Ok(()), |mut lines| lines.flush());
        if let (Err(error), None) = (flushed, &done.error) {
            let protocol = protocols[0].clone();
            let key = forebay_lab::RunKey { protocol, seed: seeds[0] };
            done.error = Some((key, RunError::Events(error)));
        }
        done
    }
}

/// Show and keep what finished, then say what did not.
pub(crate) fn conclude(
    args: &RunArgs,
    scenario: &Scenario,
    mut done: Batch,
    store: Option<Store>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    let error = done.error.take();
    let cancelled = done.cancelled;
    let wanted = done.runs.len() + done.missing.len();
    let gone = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    if matches!(&error, Some((_, RunError::Events(cause))) if gone(cause)) {
        return Err(Failure::Unread);
    }
    let summary = Summary::against(&args.scenario, scenario, done, args.baseline.as_deref());
    let kept = match store {
        // A failed run leaves no folder: half of a comparison is easily taken for all of it.
        Some(store) if error.is_none() && !summary.runs.is_empty() => {
            let target = store.target().to_path_buf();
            store.finish(scenario, &summary).map_err(Failure::run)?;
            Some(target)
        }
        _ => None,
    };
    if args.results.json {
        serde_json::to_writer(&mut *out, &summary).map_err(io::Error::from)?;
        writeln!(out)?;
    } else if !summary.runs.is_empty() {
        let published = published::of(&args.scenario, &args.set, &scenario.protocols);
        let mut text = report::text(scenario, &summary, &published, paint);
        if args.baseline.is_some() {
            text.push_str(&differences::text(scenario, &summary, paint));
        }
        if let Some(folder) = &kept {
            let page = folder.join(REPORT_NAME);
            text.push_str(&format!("\nResults: {}\n", page.display()));
        }
        if args.packets.events.is_some() {
            io::stderr().write_all(text.as_bytes())?
        } else {
            out.write_all(text.as_bytes())?
        }
    }
    out.flush()?;
    if let Some(path) = &args.junit {
        let text = junit::text(&summary, &scenario.protocols, error.as_ref());
        junit::target(path, args.results.force).put(|file| file.write_all(text.as_bytes()))?;
    }
    if let Some((key, error)) = error {
        let what = format!("{} with seed {}: {error}", key.protocol, key.seed);
        return Err(match error {
            RunError::Scenario(_) | RunError::Network(..) => Failure::input(what),
            _ => Failure::run(what),
        });
    }
    if cancelled {
        Err(Failure::Interrupted(missing(&summary.missing, wanted)))
    } else {
        unmet(&summary, args.results.json).map_or(Ok(()), |text| Err(Failure::Unmet(text)))
    }
}

/// How many expectations do not hold, and which, unless a person has just read it; None if all that
/// were checked hold.
fn unmet(summary: &Summary, with_list: bool) -> Option<String> {
    let all = summary.expectations.iter();
    let checked = all.clone().filter(|of| of.status != Status::Unchecked).count();
    let failed: Vec<&ExpectationResult> = all.filter(|of| of.status == Status::Fails).collect();
    let plural = if checked == 1 { "" } else { "s" };
    let mut text = format!("{} of {checked} expectation{plural}", failed.len());
    for of in failed.iter().filter(|_| with_list) {
        text.push_str(&format!("\n  {}", expect::outcome(of)));
    }
    (!failed.is_empty()).then_some(text)
}

/// What an interrupted command did not do: seeds by protocol.
fn missing(missing: &[Missing], wanted: usize) -> String {
    let left_out = missing.iter().filter(|run| run.why == LEFT_OUT).count();
    let finished = wanted - missing.len() + left_out;
    let mut text = format!("{finished} of {wanted} runs finished");
    if left_out > 0 {
        text.push_str(&format!(", {left_out} of them left out: not every protocol has their seed"));
    }
    let mut protocols: Vec<&str> = missing.iter().map(|run| run.protocol.as_str()).collect();
    protocols.dedup();
    for protocol in protocols {
        let runs = missing.iter().filter(|run| run.protocol == protocol);
        let seeds = ranges(&runs.map(|run| run.seed).collect::<Vec<_>>());
        text.push_str(&format!("\nmissing: {protocol} with seeds {seeds}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use forebay_base::Time;
    use forebay_cc::{Ack, Congestion, Controller, Limits, Timeout};
    use forebay_lab::scenario::{NoParams, Registration};

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: RunArgs,
    }

    struct Fragile;

    impl Controller for Fragile {
        fn limits(&self) -> Limits {
            Limits::window(50_000)
        }
        fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>) {
            panic!("on purpose");
        }
        fn on_congestion(&mut self, _now: Time, _event: &Congestion) {}
        fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {}
    }

    #[test]
    fn a_scheme_that_panics_fails_the_command_and_the_others_are_shown() {
        let fragile = Registration::new("fragile", |_: &NoParams, _| Fragile);
        let mut registry = Registry::default();
        registry.register(fragile).expect("a new name");
        let line = ["run", "dumbbell", "--protocol", "fragile,cubic", "--seeds", "1..1"];
        let CommandLine { args } = CommandLine::parse_from(line);
        let mut out = Vec::new();
        let failure =
            run(args, &Arc::new(registry), &mut out, Paint::none()).expect_err("a run panics");
        let Failure::Run(text) = failure else { panic!("{failure:?}") };
        assert!(text.starts_with("fragile with seed 1: the run panicked: on purpose. "), "{text}");
        let shown = String::from_utf8(out).expect("text");
        assert!(shown.contains("CUBIC"), "{shown}");
    }

    #[test]
    fn missing_seeds_are_told_in_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1..3, 7, 9..10");
        assert_eq!(ranges(&[u64::MAX]), u64::MAX.to_string());
        let run = |protocol: &str, seed| Missing {
            protocol: protocol.into(),
            seed,
            why: "interrupted".into(),
        };
        let runs = [run("newreno", 2), run("newreno", 3), run("cubic", 1)];
        assert_eq!(
            missing(&runs, 6),
            "3 of 6 runs finished\nmissing: newreno with seeds 2..3\nmissing: cubic with seeds 1"
        );
        let left = [Missing { why: LEFT_OUT.into(), ..run("newreno", 2) }, run("cubic", 2)];
        let told = "3 of 4 runs finished, 1 of them left out: not every protocol has their seed\n\
                    missing: newreno with seeds 2\nmissing: cubic with seeds 2";
        assert_eq!(missing(&left, 4), told);
    }
}
