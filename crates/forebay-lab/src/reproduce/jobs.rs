//! The runs of experiments, in parallel.

use super::ReproduceOptions;
use super::evaluate::Measured;
use super::file::{Experiment, ExperimentError, Row, SetupScenarios};
use super::folder::{ReproductionFolder, SetupResults, SetupState};
use super::measure::Measure;
use super::paired::{PairedFlow, paired};
use super::recording::{LOOK_EVERY, Recording};
use crate::error::StoreError;
use crate::outputs::Outputs;
use crate::run_one;
use forebay_base::{FlowId, LinkId};
use forebay_net::NetSpec;
use forebay_reference::ReferenceCache;
use forebay_report::{METRICS, Metrics};
use forebay_run::{Capacity, Looks, Progress, RunError, RunOptions, RunResult};
use forebay_scenario::{Flow, LinkNames, Scenario};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// The file of an experiment cannot be used.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// A run failed: which, and why.
    #[error("{0}: {1}")]
    Run(String, #[source] RunError),
    /// The results of a set-up cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was stopped: runs that had finished, and all runs.
    #[error("{0} of {1} runs finished")]
    Cancelled(usize, usize),
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReproduceProgress {
    /// Runs that have finished.
    pub finished: usize,
    /// Runs in all.
    pub runs: usize,
    /// The share that is done, 0.0 to 1.0.
    pub fraction: f64,
}

/// One run, and the rows that it is for.
struct Job<'a> {
    experiment: usize,
    scenario: &'a Scenario,
    setup: usize,
    /// Among the scenarios of the set-up.
    place: usize,
    /// The name of the set-up; where the protocol has a scenario of its own, with its name.
    folder: String,
    name: &'a str,
    protocol: &'a str,
    seed: u64,
    /// Its flows are compared with those of another run.
    paired: bool,
    rows: Vec<(usize, &'a Row)>,
}

/// All runs.
pub(super) struct Jobs<'a> {
    jobs: Vec<Job<'a>>,
    /// Per experiment the number of its rows.
    rows: Vec<usize>,
    /// Per experiment and set-up the references that the runs of each scenario share.
    known: Vec<Vec<Vec<ReferenceCache>>>,
}

/// A folder, and what has come of each set-up.
type Wanted<'s, 'a> = (&'s ReproductionFolder, &'s [SetupResults<'a>]);

/// Why a run has no values.
#[derive(Debug, thiserror::Error)]
enum JobError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What has come of an experiment.
#[derive(Clone, Debug, Default)]
pub(super) struct Done {
    /// By row the values, in the order of the seeds.
    pub values: Vec<Vec<Option<f64>>>,
    /// Of the runs of the first seed.
    pub digest: String,
}

/// The values of the rows of a run, by row.
type Values = Vec<(usize, Option<f64>)>;

/// What is kept of a run.
struct Output {
    values: Values,
    trace_hash: String,
    /// Of a run that is compared with another: its flows.
    flows: Vec<PairedFlow>,
    /// And its metrics.
    metrics: Option<Metrics>,
}

impl Output {
    /// The value of a measure of two runs, this one and the other.
    fn beside(&self, other: &Output, measure: &Measure) -> Option<f64> {
        match measure {
            Measure::Against { metric, class, take, .. } => {
                let of = |output: &Output| {
                    let metrics = output.metrics.as_ref()?;
                    let doc = METRICS.iter().find(|doc| doc.name == metric)?;
                    match class {
                        Some(class) => doc.of_class(metrics, class),
                        None => doc.of(metrics),
                    }
                };
                take.of(of(self)?, of(other)?)
            }
            _ => paired(measure, &self.flows, &other.flows),
        }
    }
}

impl<'a> Jobs<'a> {
    pub fn new(experiments: &'a [Experiment], quick: bool) -> Jobs<'a> {
        let of_setup =
            |of: &SetupScenarios| of.all.iter().map(|_| ReferenceCache::default()).collect();
        let known = |e: &Experiment| e.scenarios.iter().map(of_setup).collect();
        Jobs {
            jobs: experiments.iter().enumerate().flat_map(|(i, e)| jobs_of(i, e, quick)).collect(),
            rows: experiments.iter().map(|experiment| experiment.file.rows.len()).collect(),
            known: experiments.iter().map(known).collect(),
        }
    }

    /// Room for the results of each set-up, of experiments of these names.
    pub fn results(&self, experiments: &[String]) -> Vec<SetupResults<'a>> {
        let same = |a: &Job<'_>, b: &Job<'_>| std::ptr::eq(a.scenario, b.scenario);
        let of = |jobs: &[Job<'a>]| SetupResults {
            names: (experiments[jobs[0].experiment].clone(), jobs[0].folder.clone()),
            name: jobs[0].name,
            scenario: jobs[0].scenario,
            state: Mutex::new(SetupState { left: jobs.len(), store: None, done: Vec::new() }),
        };
        self.jobs.chunk_by(same).map(of).collect()
    }

    /// Run them, with their results in a folder if one is given. By experiment what has come of it.
    pub fn run(
        &self,
        options: &ReproduceOptions<'_>,
        folder: Option<Wanted<'_, 'a>>,
    ) -> Result<Vec<Done>, ReproduceError> {
        assert!(options.jobs > 0, "runs need a job");
        let state = JobsState {
            next: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            results: self.jobs.iter().map(|_| OnceLock::new()).collect(),
            shares: self.jobs.iter().map(|_| AtomicUsize::new(0)).collect(),
        };
        std::thread::scope(|scope| {
            for _ in 0..options.jobs.min(self.jobs.len()) {
                scope.spawn(|| self.work(&state, options, folder));
            }
        });
        self.collect(state)
    }

    /// One thread: take the next run until there is none.
    fn work(
        &self,
        state: &JobsState,
        options: &ReproduceOptions<'_>,
        folder: Option<Wanted<'_, 'a>>,
    ) {
        let cancelled = || options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed));
        while !state.stop.load(Ordering::Relaxed) && !cancelled() {
            let index = state.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(index) else { return };
            let tell = |progress: &Progress| state.tell(index, progress.fraction(), options);
            let run = RunOptions {
                name: job.name,
                cancel: options.cancel,
                progress: Some(&tell),
                known: Some(&self.known[job.experiment][job.setup][job.place]),
                without_reference: !job.needs_reference(),
                whole_reference: true,
                ..RunOptions::default()
            };
            let result = self.run_into(index, run, folder);
            state.stop.fetch_or(result.is_err(), Ordering::Relaxed);
            state.finished.fetch_add(usize::from(result.is_ok()), Ordering::Relaxed);
            state.tell(index, 1.0, options);
            let first = state.results[index].set(result).is_ok();
            assert!(first, "each run is taken once");
        }
    }

    /// Run one, and keep its results where they are wanted.
    fn run_into(
        &self,
        index: usize,
        run: RunOptions<'_>,
        folder: Option<Wanted<'_, 'a>>,
    ) -> Result<Output, JobError> {
        let job = &self.jobs[index];
        let Some((folder, results)) = folder else {
            return Ok(job.run(run)?.0);
        };
        // Runs of a scenario stand together.
        let of = |results: &&SetupResults<'_>| std::ptr::eq(results.scenario, job.scenario);
        let results = results.iter().find(of).expect("each set-up has room for its results");
        let store = results.store(folder)?;
        let outputs = Outputs::to(&store);
        let (output, result) = job.run(RunOptions { record: Some(&outputs), ..run })?;
        results.finished(index, result, store)?;
        Ok(output)
    }

    fn collect(&self, state: JobsState) -> Result<Vec<Done>, ReproduceError> {
        let (finished, runs) = (state.finished.into_inner(), self.jobs.len());
        let mut outputs = Vec::new();
        for (job, slot) in self.jobs.iter().zip(state.results) {
            match slot.into_inner() {
                Some(Ok(output)) => outputs.push(output),
                Some(Err(JobError::Run(RunError::Cancelled))) | None => {}
                Some(Err(JobError::Run(error))) => {
                    return Err(ReproduceError::Run(job.words(), error));
                }
                Some(Err(JobError::Store(error))) => return Err(error.into()),
            }
        }
        if outputs.len() < self.jobs.len() {
            return Err(ReproduceError::Cancelled(finished, runs));
        }
        let empty = |&rows: &usize| Done { values: vec![Vec::new(); rows], ..Done::default() };
        let mut done: Vec<Done> = self.rows.iter().map(empty).collect();
        let mut digests = vec![Digest::default(); done.len()];
        for (job, output) in self.jobs.iter().zip(&outputs) {
            if job.seed == 1 {
                digests[job.experiment].take(&output.trace_hash);
            }
            for ((row, value), (_, of)) in output.values.iter().zip(&job.rows) {
                let value = match of.measure.get_ref().other() {
                    None => *value,
                    Some(other) => {
                        let with = self.place_of(job, other);
                        output.beside(&outputs[with], of.measure.get_ref())
                    }
                };
                done[job.experiment].values[*row].push(value);
            }
        }
        for (done, digest) in done.iter_mut().zip(digests) {
            done.digest = digest.text();
        }
        Ok(done)
    }

    /// The run of the same set-up and seed under another protocol.
    fn place_of(&self, job: &Job<'_>, protocol: &str) -> usize {
        let key = |job: &Job<'_>| (job.experiment, job.setup, job.seed);
        let same = |other: &Job<'_>| key(other) == key(job) && other.protocol == protocol;
        self.jobs.iter().position(same).expect("runs that others are compared with are made")
    }
}

/// FNV-1a over the trace hashes of runs, in order.
#[derive(Clone, Debug)]
struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn take(&mut self, text: &str) {
        let byte = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = text.bytes().fold(self.0, byte);
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// What the threads share.
struct JobsState {
    next: AtomicUsize,
    finished: AtomicUsize,
    stop: AtomicBool,
    results: Vec<OnceLock<Result<Output, JobError>>>,
    /// The share of each run that is done, in millionths.
    shares: Vec<AtomicUsize>,
}

impl JobsState {
    fn tell(&self, run: usize, share: f64, options: &ReproduceOptions<'_>) {
        self.shares[run].store((share * 1e6) as usize, Ordering::Relaxed);
        let Some(tell) = options.progress else { return };
        let millionths: usize = self.shares.iter().map(|s| s.load(Ordering::Relaxed)).sum();
        let runs = self.shares.len();
        let fraction = millionths as f64 * 1e-6 / runs as f64;
        tell(&ReproduceProgress {
            finished: self.finished.load(Ordering::Relaxed),
            runs,
            fraction,
        });
    }
}

/// The runs that rows of an experiment need: by set-up, protocol and seed.
fn jobs_of(index: usize, experiment: &Experiment, quick: bool) -> Vec<Job<'_>> {
    let file = &experiment.file;
    let seeds = *if quick { &file.quick_seeds } else { &file.seeds }.get_ref();
    let mut jobs = Vec::new();
    for (setup, (of, scenarios)) in file.setups.iter().zip(&experiment.scenarios).enumerate() {
        let mut protocols: Vec<_> = of.protocols.iter().zip(&scenarios.places).collect();
        protocols.sort_by_key(|(_, place)| **place);
        for (protocol, &place) in protocols {
            let rows = file.rows_of(of, protocol.get_ref());
            let paired = file.is_paired(of, protocol.get_ref());
            let needed = paired || !rows.is_empty();
            jobs.extend((1..=seeds).filter(|_| needed).map(|seed| Job {
                experiment: index,
                scenario: &scenarios.all[place],
                setup,
                place,
                folder: file.folder(of, protocol.get_ref()),
                name: of.scenario.get_ref(),
                protocol: protocol.get_ref(),
                seed,
                paired,
                rows: rows.iter().map(|&row| (row, &file.rows[row])).collect(),
            }));
        }
    }
    jobs
}

impl Job<'_> {
    /// True if a row compares with the reference, which can take longer than the run.
    fn needs_reference(&self) -> bool {
        self.rows.iter().any(|(_, row)| row.measure.get_ref().needs_reference())
    }

    fn run(&self, options: RunOptions<'_>) -> Result<(Output, RunResult), RunError> {
        let names = LinkNames::new(self.scenario);
        let recording = Mutex::new(self.recording(&names));
        let who = |simulation: &forebay_sim::Simulation| {
            recording.lock().unwrap_or_else(PoisonError::into_inner).look(simulation);
        };
        let wanted = self.measures().any(|measure| measure.needs().looks);
        let looks = wanted.then_some(Looks { every: LOOK_EVERY, who: &who });
        let capacities: OnceLock<Vec<Capacity>> = OnceLock::new();
        let network = |spec: &NetSpec| {
            let links = (0..spec.links.len() as u32).map(LinkId);
            let first = capacities.set(links.map(|link| Capacity::of(spec, link)).collect());
            debug_assert!(first.is_ok(), "a run has one network");
            Ok(())
        };
        let options = RunOptions { looks, network: Some(&network), ..options };
        let result = run_one(self.scenario, self.protocol, self.seed, &options)?;
        let recording = recording.into_inner().unwrap_or_else(PoisonError::into_inner);
        let capacities = capacities.into_inner().expect("a run builds its network");
        let measured = Measured {
            result: &result,
            recording: &recording,
            names: &names,
            capacities: &capacities,
        };
        let value = |(row, of): &(usize, &Row)| (*row, measured.value(of.measure.get_ref()));
        let values = self.rows.iter().map(value).collect();
        let flows = result.per_flow.iter().filter(|_| self.paired).map(PairedFlow::of).collect();
        let metrics = self.paired.then(|| result.metrics.clone());
        let trace_hash = result.trace_hash.clone();
        Ok((Output { values, trace_hash, flows, metrics }, result))
    }

    fn measures(&self) -> impl Iterator<Item = &Measure> + Clone {
        self.rows.iter().map(|(_, row)| row.measure.get_ref())
    }

    /// Nothing yet: for what the measures of the run need.
    fn recording(&self, names: &LinkNames) -> Recording {
        let links = names.iter().count();
        let ports = self.measures().filter_map(Measure::port);
        let watched = |&link: &usize| ports.clone().any(|port| port == names.of(link));
        let wanted: BTreeSet<&str> = self.measures().filter_map(Measure::class).collect();
        let flows = (0..).map(FlowId).zip(&self.scenario.flows);
        let of_class = |class: &str| {
            let mine = |flow: &Flow| flow.classes(self.protocol).contains(&class);
            flows.clone().filter(|(_, flow)| mine(flow)).map(|(id, _)| id).collect()
        };
        let classes = wanted.into_iter().map(|class| (class.to_string(), of_class(class)));
        let all = |wanted: bool| if wanted { self.scenario.flows.len() } else { 0 };
        let flows = all(self.measures().any(|measure| measure.needs().flows));
        let arrived = all(self.measures().any(|measure| measure.needs().arrived));
        let phases: BTreeSet<&str> = self.measures().filter_map(Measure::phase).collect();
        let windows = self.measures().filter_map(Measure::profile_packets).collect();
        Recording::new(
            flows,
            arrived,
            classes.collect(),
            links,
            (0..links).filter(watched).collect(),
        )
        .with_windows(windows)
        .with_phases(phases.into_iter().map(str::to_string).collect())
    }

    /// Which run it is, for messages.
    fn words(&self) -> String {
        format!("{} under {} with seed {}", self.name, self.protocol, self.seed)
    }
}
