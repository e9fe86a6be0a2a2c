//! The runs of experiments, side by side.

use super::ReproduceOptions;
use super::evaluate::Measured;
use super::file::{Experiment, ExperimentError, Row};
use super::recording::{LOOK_EVERY, Recording};
use crate::error::RunError;
use crate::run::{Looks, Progress, RunOptions, run_one};
use forebay_reference::Known;
use forebay_scenario::LinkNames;
use forebay_scenario::Scenario;
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
    name: &'a str,
    protocol: &'a str,
    seed: u64,
    rows: Vec<(usize, &'a Row)>,
}

/// All runs.
pub(super) struct Jobs<'a> {
    jobs: Vec<Job<'a>>,
    /// Per experiment the number of its rows.
    rows: Vec<usize>,
    /// Per experiment and set-up the references that its runs share.
    known: Vec<Vec<Known>>,
}

/// The values of the rows of a run, by row.
type Values = Vec<(usize, Option<f64>)>;

impl<'a> Jobs<'a> {
    pub fn new(experiments: &'a [Experiment], quick: bool) -> Jobs<'a> {
        let known = |e: &Experiment| e.scenarios.iter().map(|_| Known::default()).collect();
        Jobs {
            jobs: experiments.iter().enumerate().flat_map(|(i, e)| jobs_of(i, e, quick)).collect(),
            rows: experiments.iter().map(|experiment| experiment.file.rows.len()).collect(),
            known: experiments.iter().map(known).collect(),
        }
    }

    /// Run them. Per experiment and row the values, in the order of the seeds.
    pub fn run(
        &self,
        options: &ReproduceOptions<'_>,
    ) -> Result<Vec<Vec<Vec<Option<f64>>>>, ReproduceError> {
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
                scope.spawn(|| self.work(&state, options));
            }
        });
        self.collect(state)
    }

    /// One thread: take the next run until there is none.
    fn work(&self, state: &JobsState, options: &ReproduceOptions<'_>) {
        let cancelled = || options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed));
        while !state.stop.load(Ordering::Relaxed) && !cancelled() {
            let index = state.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(index) else { return };
            let tell = |progress: &Progress| state.tell(index, progress.fraction(), options);
            let run = RunOptions {
                name: job.name,
                cancel: options.cancel,
                progress: Some(&tell),
                known: Some(&self.known[job.experiment][job.setup]),
                ..RunOptions::default()
            };
            let result = job.run(run);
            state.stop.fetch_or(result.is_err(), Ordering::Relaxed);
            state.finished.fetch_add(usize::from(result.is_ok()), Ordering::Relaxed);
            state.tell(index, 1.0, options);
            let first = state.results[index].set(result).is_ok();
            assert!(first, "each run is taken once");
        }
    }

    fn collect(&self, state: JobsState) -> Result<Vec<Vec<Vec<Option<f64>>>>, ReproduceError> {
        let mut values: Vec<Vec<Vec<Option<f64>>>> =
            self.rows.iter().map(|&rows| vec![Vec::new(); rows]).collect();
        let (finished, runs) = (state.finished.into_inner(), self.jobs.len());
        let mut complete = true;
        for (job, slot) in self.jobs.iter().zip(state.results) {
            match slot.into_inner() {
                Some(Ok(of_run)) => {
                    of_run.into_iter().for_each(|(row, v)| values[job.experiment][row].push(v));
                }
                Some(Err(RunError::Cancelled)) | None => complete = false,
                Some(Err(error)) => return Err(ReproduceError::Run(job.words(), error)),
            }
        }
        if complete { Ok(values) } else { Err(ReproduceError::Cancelled(finished, runs)) }
    }
}

/// What the threads share.
struct JobsState {
    next: AtomicUsize,
    finished: AtomicUsize,
    stop: AtomicBool,
    results: Vec<OnceLock<Result<Values, RunError>>>,
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
    for (setup, (of, scenario)) in file.setups.iter().zip(&experiment.scenarios).enumerate() {
        for protocol in &of.protocols {
            let mine = |row: &&Row| row.setup == of.name && row.protocol == *protocol;
            let rows: Vec<usize> =
                (0..file.rows.len()).filter(|&row| mine(&&file.rows[row])).collect();
            jobs.extend((1..=seeds).filter(|_| !rows.is_empty()).map(|seed| Job {
                experiment: index,
                scenario,
                setup,
                name: of.scenario.get_ref(),
                protocol: protocol.get_ref(),
                seed,
                rows: rows.iter().map(|&row| (row, &file.rows[row])).collect(),
            }));
        }
    }
    jobs
}

impl Job<'_> {
    fn run(&self, options: RunOptions<'_>) -> Result<Values, RunError> {
        let names = LinkNames::new(self.scenario);
        let ports = self.rows.iter().filter_map(|(_, row)| row.measure.get_ref().port());
        let watched: Vec<usize> = (0..names.iter().count())
            .filter(|&link| ports.clone().any(|port| port == names.of(link)))
            .collect();
        let (flows, links) = (self.scenario.flows.len(), names.iter().count());
        let recording = Mutex::new(Recording::new(flows, links, watched));
        let who = |simulation: &forebay_sim::Simulation| {
            recording.lock().unwrap_or_else(PoisonError::into_inner).look(simulation);
        };
        let looks = Some(Looks { every: LOOK_EVERY, who: &who });
        let result =
            run_one(self.scenario, self.protocol, self.seed, &RunOptions { looks, ..options })?;
        let recording = recording.into_inner().unwrap_or_else(PoisonError::into_inner);
        let measured = Measured { result: &result, recording: &recording, names: &names };
        let value = |(row, of): &(usize, &Row)| (*row, measured.value(of.measure.get_ref()));
        Ok(self.rows.iter().map(value).collect())
    }

    /// Which run it is, for messages.
    fn words(&self) -> String {
        format!("{} under {} with seed {}", self.name, self.protocol, self.seed)
    }
}
