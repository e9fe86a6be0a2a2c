//! A sweep: one scenario at many points, at each of which some keys have other values.
//!
//! A run of a sweep is a point, a seed and a protocol, and gives a [`Row`]: plain data, with the
//! metrics and without flows and series. Runs are numbered from 0: point by point, in each seed by
//! seed, in each protocol by protocol. Every point has the same seeds: what is random is the same
//! at all of them (common random numbers), so that points differ by their keys and not by luck.
//!
//! A run that fails is a row with its error. [`sweep`] gives rows in the order in which they
//! finish; [`run_point`] makes a row alone, in any process.

mod budget;
mod columns;
mod folder;
mod journal;
mod manifest;
mod merge;
mod notes;
mod points;
mod row;
mod shard;
mod size;
mod table;

pub use columns::columns as sweep_columns;
pub use folder::{Opened, SweepFolder};
pub use manifest::{Manifest, SweepRecord};
pub use merge::{MergeError, merge};
pub use notes::ignored_keys;
pub use row::{Cell, Row, RowResult};
pub use shard::Shard;
pub use size::{MAX_UNASKED, TooManyRuns};
pub use table::{SweepOutcome, SweepTable};

use crate::error::StoreError;
use crate::run_one;
use budget::Budget;
use forebay_run::{Progress, RunError, RunOptions};
use forebay_scenario::memory_estimate::{MemoryEstimate, check};
use forebay_scenario::{LoadOptions, Point, ScenarioText, SweptScenario};
use points::{LoadedPoint, Points};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What to run.
#[derive(Clone, Copy)]
pub struct SweepPlan<'a> {
    /// The scenario and its points.
    pub swept: &'a SweptScenario,
    /// The protocols, by name.
    pub protocols: &'a [String],
    /// The seeds, the same at every point.
    pub seeds: &'a [u64],
}

/// One run of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepRun<'a> {
    /// Number of the point.
    pub point: u64,
    /// The seed.
    pub seed: u64,
    /// The protocol.
    pub protocol: &'a str,
}

impl<'a> SweepPlan<'a> {
    /// The number of runs; None above 2^64.
    pub fn runs(&self) -> Option<u64> {
        self.swept.grid().points()?.checked_mul(self.runs_of_point())
    }

    fn runs_of_point(&self) -> u64 {
        (self.protocols.len() * self.seeds.len()) as u64
    }

    /// The run of this number. Panics if there is no such run.
    pub fn run(&self, number: u64) -> SweepRun<'a> {
        let (point, rest) = (number / self.runs_of_point(), number % self.runs_of_point());
        let (seed, protocol) =
            (rest as usize / self.protocols.len(), rest as usize % self.protocols.len());
        SweepRun { point, seed: self.seeds[seed], protocol: &self.protocols[protocol] }
    }
}

/// How to run them.
#[derive(Clone, Copy)]
pub struct SweepOptions<'a> {
    /// Runs at the same time, at least 1.
    pub jobs: usize,
    /// How each is run; `progress`, `network` and `known` of it are not used.
    pub run: RunOptions<'a>,
    /// Memory that all may take together: a run waits until it fits, and one that does not fit
    /// alone fails. None: unknown.
    pub available_bytes: Option<u64>,
    /// Receives progress several times a second, from any thread.
    pub progress: Option<&'a (dyn Fn(&SweepProgress) + Sync)>,
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepProgress {
    /// Runs that have finished, those that failed among them.
    pub finished: usize,
    /// Of these, those that failed.
    pub failed: usize,
    /// Runs in all.
    pub runs: usize,
    /// The share of the work that is done, 0.0 to 1.0, runs under way included.
    pub fraction: f64,
}

/// Takes the rows of a sweep as they come.
pub trait Rows: Send {
    /// The run of this number begins.
    fn begun(&mut self, run: u64) -> Result<(), StoreError> {
        let _ = run;
        Ok(())
    }
    /// The run of this number gave this row. With an error the sweep ends.
    fn finished(&mut self, run: u64, row: Row) -> Result<(), StoreError>;
}

/// Rows with their numbers, in memory.
impl Rows for Vec<(u64, Row)> {
    fn finished(&mut self, run: u64, row: Row) -> Result<(), StoreError> {
        self.push((run, row));
        Ok(())
    }
}

/// How a sweep ended.
#[derive(Debug, Default)]
pub struct SweepEnd {
    /// Runs that gave a row.
    pub finished: usize,
    /// Of these, those that failed.
    pub failed: usize,
    /// It was cancelled before the last run.
    pub cancelled: bool,
    /// Why rows could not be kept.
    pub error: Option<StoreError>,
}

/// Make the runs of these numbers, each once, and hand their rows over as they finish. Cancelling
/// (`options.run.cancel`) ends it: what is under way gives no row.
///
/// Rows depend neither on the number of jobs nor on which other runs there are. Memory: that of
/// `jobs` simulations, and as many scenarios.
pub fn sweep(
    plan: &SweepPlan<'_>,
    numbers: &[u64],
    options: &SweepOptions<'_>,
    rows: &mut dyn Rows,
) -> SweepEnd {
    assert!(options.jobs > 0, "a sweep needs a job");
    let jobs = options.jobs.min(numbers.len());
    let state = SweepState {
        next: AtomicUsize::new(0),
        finished: AtomicUsize::new(0),
        failed: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        shares: (0..jobs).map(|_| AtomicUsize::new(0)).collect(),
        points: Points::new(plan.swept, jobs),
        budget: Budget::new(options.available_bytes),
        rows: Mutex::new((rows, None)),
    };
    std::thread::scope(|scope| {
        for job in 0..jobs {
            let (state, plan) = (&state, *plan);
            scope.spawn(move || state.work(job, &plan, numbers, options));
        }
    });
    let cancelled = is_cancelled(options);
    let (finished, failed) = (state.finished.into_inner(), state.failed.into_inner());
    let (_, error) = state.rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    SweepEnd { finished, failed, cancelled: cancelled && finished < numbers.len(), error }
}

fn is_cancelled(options: &SweepOptions<'_>) -> bool {
    options.run.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// What the threads share.
struct SweepState<'a> {
    next: AtomicUsize,
    finished: AtomicUsize,
    failed: AtomicUsize,
    stopped: AtomicBool,
    /// The share that each thread has done of its run, in millionths.
    shares: Vec<AtomicUsize>,
    points: Points<'a>,
    budget: Budget,
    rows: Mutex<(&'a mut dyn Rows, Option<StoreError>)>,
}

impl SweepState<'_> {
    /// One thread: take the next run until there is none.
    fn work(&self, job: usize, plan: &SweepPlan<'_>, numbers: &[u64], options: &SweepOptions<'_>) {
        while !self.stopped.load(Ordering::Relaxed) && !is_cancelled(options) {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&number) = numbers.get(next) else { return };
            let run = plan.run(number);
            let point = self.points.get(run.point);
            self.keep(|rows| rows.begun(number));
            let tell = |progress: &Progress| {
                self.tell(job, progress.fraction(), numbers.len(), options);
            };
            let run_options = RunOptions { progress: Some(&tell), ..options.run };
            let row = row_of(&run, &point, &run_options, options.available_bytes, &self.budget);
            let Some(row) = row else { return };
            self.failed.fetch_add(usize::from(row.error.is_some()), Ordering::Relaxed);
            self.finished.fetch_add(1, Ordering::Relaxed);
            self.keep(|rows| rows.finished(number, row));
            self.tell(job, 0.0, numbers.len(), options);
        }
    }

    fn keep(&self, what: impl FnOnce(&mut dyn Rows) -> Result<(), StoreError>) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let (rows, first) = &mut *rows;
        if first.is_none()
            && let Err(error) = what(*rows)
        {
            *first = Some(error);
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    fn tell(&self, job: usize, share: f64, runs: usize, options: &SweepOptions<'_>) {
        self.shares[job].store((share * 1e6) as usize, Ordering::Relaxed);
        let Some(tell) = options.progress else { return };
        let begun: usize = self.shares.iter().map(|share| share.load(Ordering::Relaxed)).sum();
        let finished = self.finished.load(Ordering::Relaxed);
        let fraction = (finished as f64 + begun as f64 * 1e-6) / runs.max(1) as f64;
        let failed = self.failed.load(Ordering::Relaxed);
        tell(&SweepProgress { finished, failed, runs, fraction: fraction.min(1.0) });
    }
}

/// The row of a run at a point that has been made; None if it was cancelled.
fn row_of(
    run: &SweepRun<'_>,
    point: &LoadedPoint,
    options: &RunOptions<'_>,
    available_bytes: Option<u64>,
    budget: &Budget,
) -> Option<Row> {
    let scenario = match &point.scenario {
        Ok(scenario) => scenario,
        Err(why) => return Some(Row::failed(run, why.clone())),
    };
    let taken = Mutex::new(None);
    let admit = |spec: &forebay_net::NetSpec| {
        let estimate = MemoryEstimate::of_run(spec, options.threads, false);
        check(estimate, available_bytes).map_err(RunError::Memory)?;
        let share = budget.take(estimate.bytes(), || {
            options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
        });
        *taken.lock().unwrap_or_else(PoisonError::into_inner) = share;
        Ok(())
    };
    let options = RunOptions { network: Some(&admit), known: Some(&point.known), ..*options };
    match run_one(scenario, run.protocol, run.seed, &options) {
        Ok(result) => Some(Row::of(run.point, &result)),
        Err(RunError::Cancelled) => None,
        Err(error) => Some(Row::failed(run, error.to_string())),
    }
}

/// The row of one run at `point` of a scenario, alone: what [`sweep`] gives for it, in any process.
/// None if it was cancelled.
pub fn run_point(
    text: &ScenarioText,
    options: &LoadOptions,
    point: &Point,
    protocol: &str,
    seed: u64,
    run: &RunOptions<'_>,
) -> Option<Row> {
    let of = SweepRun { point: point.number, seed, protocol };
    let set = options.set.iter().chain(&point.set).cloned().collect();
    let scenario = text.scenario(&LoadOptions { set, ..options.clone() });
    let scenario = scenario.map_err(|error| error.to_string());
    let loaded = LoadedPoint { scenario, known: Default::default() };
    row_of(&of, &loaded, run, crate::available_bytes(), &Budget::new(None))
}
