//! Many seeds and protocols, side by side.

use crate::reference::Known;
use crate::run::{Progress, RunError, RunOptions, RunResult, run_one};
use crate::scenario::Scenario;
use crate::summary::Missing;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey {
    /// The protocol.
    pub protocol: String,
    /// The seed.
    pub seed: u64,
}

/// What to run.
#[derive(Clone, Copy)]
pub struct SweepPlan<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The protocols, by name.
    pub protocols: &'a [String],
    /// The seeds.
    pub seeds: &'a [u64],
}

/// How to run them.
#[derive(Clone, Copy)]
pub struct SweepOptions<'a> {
    /// Runs at the same time, at least 1.
    pub jobs: usize,
    /// How each is run; `progress` of it is not used.
    pub run: RunOptions<'a>,
    /// Told of progress several times a second, from any thread.
    pub progress: Option<&'a (dyn Fn(&SweepProgress) + Sync)>,
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepProgress {
    /// Runs that have finished.
    pub finished: usize,
    /// Runs in all.
    pub runs: usize,
    /// The share of the work that is done, 0.0 to 1.0, runs under way included.
    pub fraction: f64,
}

/// What a sweep gave.
#[derive(Debug, Default)]
pub struct Sweep {
    /// The runs that finished: by protocol in the order given, then by seed in the order given, whatever finished first.
    pub runs: Vec<RunResult>,
    /// The others, in the same order.
    pub missing: Vec<Missing>,
    /// The first error of a run, in the same order, with the run. Cancelling is none.
    pub error: Option<(RunKey, RunError)>,
    /// True if it was cancelled before the end.
    pub cancelled: bool,
}

/// Run every protocol with every seed, each pair once. A run that fails stops those that have not begun; cancelling stops all.
///
/// Results depend neither on the number of jobs nor on what finishes first. Memory: `jobs` simulations at a time, and the
/// results of the runs that have finished, about 200 bytes per flow of each.
pub fn sweep(plan: &SweepPlan<'_>, options: &SweepOptions<'_>) -> Sweep {
    assert!(options.jobs > 0, "a sweep needs a job");
    let keys = keys_of(plan);
    let (board, known) = (Board::new(keys.len(), options), Known::default());
    let run = RunOptions { known: Some(&known), ..options.run };
    let options = &SweepOptions { run, ..*options };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.min(keys.len()) {
            scope.spawn(|| work(plan, &keys, &board, options));
        }
    });
    collect(keys, board, options)
}

fn keys_of(plan: &SweepPlan<'_>) -> Vec<RunKey> {
    let of = |protocol: &String| {
        let protocol = protocol.clone();
        plan.seeds.iter().map(move |&seed| RunKey { protocol: protocol.clone(), seed })
    };
    let mut seen = BTreeSet::new();
    let all = plan.protocols.iter().flat_map(of);
    // A run that is named twice would be the same run twice, and no second sample for an interval.
    all.filter(|key| seen.insert((key.protocol.clone(), key.seed))).collect()
}

/// What the threads share.
struct Board<'a> {
    next: AtomicUsize,
    finished: AtomicUsize,
    failed: AtomicBool,
    results: Vec<OnceLock<Result<RunResult, RunError>>>,
    /// The share of each run that is done, in millionths.
    shares: Vec<AtomicUsize>,
    progress: Option<&'a (dyn Fn(&SweepProgress) + Sync)>,
}

impl<'a> Board<'a> {
    fn new(runs: usize, options: &SweepOptions<'a>) -> Board<'a> {
        Board {
            next: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            results: (0..runs).map(|_| OnceLock::new()).collect(),
            shares: (0..runs).map(|_| AtomicUsize::new(0)).collect(),
            progress: options.progress,
        }
    }
    fn tell(&self, run: usize, share: f64) {
        self.shares[run].store((share * 1e6) as usize, Ordering::Relaxed);
        let Some(tell) = self.progress else { return };
        let millionths: usize = self.shares.iter().map(|s| s.load(Ordering::Relaxed)).sum();
        let runs = self.shares.len();
        let fraction = millionths as f64 * 1e-6 / runs as f64;
        tell(&SweepProgress { finished: self.finished.load(Ordering::Relaxed), runs, fraction });
    }
}

/// One thread: take the next run until there is none.
fn work(plan: &SweepPlan<'_>, keys: &[RunKey], board: &Board<'_>, options: &SweepOptions<'_>) {
    let cancelled = || options.run.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed));
    while !board.failed.load(Ordering::Relaxed) && !cancelled() {
        let run = board.next.fetch_add(1, Ordering::Relaxed);
        let Some(key) = keys.get(run) else { return };
        let tell = |progress: &Progress| board.tell(run, progress.fraction());
        let run_options = RunOptions { progress: Some(&tell), ..options.run };
        let result = run_one(plan.scenario, &key.protocol, key.seed, &run_options);
        match &result {
            Ok(_) => {
                board.finished.fetch_add(1, Ordering::Relaxed);
                board.tell(run, 1.0);
            }
            Err(RunError::Cancelled) => {}
            Err(_) => board.failed.store(true, Ordering::Relaxed),
        }
        let first = board.results[run].set(result).is_ok();
        assert!(first, "each run is taken once");
    }
}

fn collect(keys: Vec<RunKey>, board: Board<'_>, options: &SweepOptions<'_>) -> Sweep {
    let mut sweep = Sweep::default();
    for (key, slot) in keys.into_iter().zip(board.results) {
        let why = match slot.into_inner() {
            Some(Ok(result)) => {
                sweep.runs.push(result);
                continue;
            }
            Some(Err(RunError::Cancelled)) => "interrupted".to_string(),
            Some(Err(error)) => {
                let why = error.to_string();
                sweep.error.get_or_insert((key.clone(), error));
                why
            }
            None => "not started".to_string(),
        };
        sweep.missing.push(Missing { protocol: key.protocol, seed: key.seed, why });
    }
    let flag = options.run.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed));
    sweep.cancelled = flag && !sweep.missing.is_empty();
    sweep
}
