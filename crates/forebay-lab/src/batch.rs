//! Many seeds and protocols, in parallel.

use crate::memory;
use crate::result::{Batch, BatchMemory, RunKey};
use crate::run_one;
use forebay_reference::ReferenceCache;
use forebay_run::{Missing, Progress, RunError, RunOptions, RunResult};
use forebay_scenario::Scenario;
use forebay_scenario::memory_estimate::{Admission, MemoryEstimate, NotEnoughMemory, admit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What to run.
#[derive(Clone, Copy)]
pub struct BatchPlan<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The protocols, by name.
    pub protocols: &'a [String],
    /// The seeds.
    pub seeds: &'a [u64],
}

/// How to run them.
#[derive(Clone, Copy)]
pub struct BatchOptions<'a> {
    /// Runs at the same time, at least 1.
    pub jobs: usize,
    /// How each is run; `progress` of it is not used.
    pub run: RunOptions<'a>,
    /// Receives progress several times a second, from any thread.
    pub progress: Option<&'a (dyn Fn(&BatchProgress) + Sync)>,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchProgress {
    /// Runs that have finished.
    pub finished: usize,
    /// Runs in all.
    pub runs: usize,
    /// The share of the work that is done, 0.0 to 1.0, runs under way included.
    pub fraction: f64,
}

impl BatchPlan<'_> {
    /// How many of the runs go in parallel if `wanted` are wanted, each in this many threads, and
    /// with series if that is true: no more than fit into the memory that is available, with the
    /// results of all; where that is unknown, as many as are wanted. A protocol that cannot be
    /// built is left out: its run says why.
    pub fn admit(
        &self,
        wanted: usize,
        threads: usize,
        series: bool,
        available_bytes: Option<u64>,
    ) -> Result<Admission, NotEnoughMemory> {
        let seed = self.seeds.first().copied().unwrap_or(1);
        let specs = self.protocols.iter().filter_map(|name| self.scenario.build(name, seed).ok());
        let needs = specs.map(|spec| MemoryEstimate::of_run(&spec, threads, series));
        let dearest = needs.max_by_key(MemoryEstimate::bytes).unwrap_or_default();
        admit(wanted, dearest, keys_of(self).len(), available_bytes)
    }
}

/// Run every protocol with every seed, each pair once: seed by seed, so that protocols can be
/// compared whenever it stops. A run that fails stops those that have not begun, but one that
/// panics does not; cancelling stops all.
///
/// What is left of a batch that was cancelled has the same seeds under each protocol. Of one that
/// did not finish a seed under all of them it has one seed, under those that finished it.
///
/// Results depend neither on the number of jobs nor on what finishes first. Memory: `jobs`
/// simulations at a time, and the results of the runs that have finished, about 200 bytes per flow
/// of each.
pub fn batch(plan: &BatchPlan<'_>, options: &BatchOptions<'_>) -> Batch {
    assert!(options.jobs > 0, "a batch needs a job");
    let keys = keys_of(plan);
    let (state, known) = (BatchState::new(keys.len(), options), ReferenceCache::default());
    let run = RunOptions { known: Some(&known), ..options.run };
    let options = &BatchOptions { run, ..*options };
    let jobs = options.jobs.min(keys.len());
    memory::reset_peak();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| work(plan, &keys, &state, options));
        }
    });
    let mut batch = collect(keys, state, options);
    batch.memory = memory_of(&batch.runs, jobs);
    batch
}

/// Of runs that are over. What was available before them is known to the code that chose the number
/// of jobs.
fn memory_of(runs: &[RunResult], jobs: usize) -> BatchMemory {
    let tenths = |mib: f64| (mib * 10.0).round() / 10.0;
    let peak_mib = memory::peak_mib();
    BatchMemory {
        jobs,
        fewer_jobs: None,
        need_mib: runs.iter().map(|run| run.memory.need_mib).fold(0.0, f64::max),
        available_mib: None,
        peak_mib: peak_mib.map(tenths),
        peak_by_jobs_mib: peak_mib.map(|peak| tenths(peak / jobs.max(1) as f64)),
    }
}

/// The runs in the order in which they begin: for each seed all protocols.
fn keys_of(plan: &BatchPlan<'_>) -> Vec<RunKey> {
    let of = |&seed: &u64| {
        plan.protocols.iter().map(move |protocol| RunKey { protocol: protocol.clone(), seed })
    };
    let mut seen = BTreeSet::new();
    let all = plan.seeds.iter().flat_map(of);
    // A run that is named twice would be the same run twice, and no second sample for an interval.
    all.filter(|key| seen.insert((key.protocol.clone(), key.seed))).collect()
}

/// What the threads share.
struct BatchState<'a> {
    next: AtomicUsize,
    finished: AtomicUsize,
    failed: AtomicBool,
    results: Vec<OnceLock<Result<RunResult, RunError>>>,
    /// The share of each run that is done, in millionths.
    shares: Vec<AtomicUsize>,
    progress: Option<&'a (dyn Fn(&BatchProgress) + Sync)>,
}

impl<'a> BatchState<'a> {
    fn new(runs: usize, options: &BatchOptions<'a>) -> BatchState<'a> {
        BatchState {
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
        tell(&BatchProgress { finished: self.finished.load(Ordering::Relaxed), runs, fraction });
    }
}

/// One thread: take the next run until there is none.
fn work(plan: &BatchPlan<'_>, keys: &[RunKey], state: &BatchState<'_>, options: &BatchOptions<'_>) {
    let cancelled = || options.run.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed));
    while !state.failed.load(Ordering::Relaxed) && !cancelled() {
        let run = state.next.fetch_add(1, Ordering::Relaxed);
        let Some(key) = keys.get(run) else { return };
        let tell = |progress: &Progress| state.tell(run, progress.fraction());
        let run_options = RunOptions { progress: Some(&tell), ..options.run };
        let result = run_one(plan.scenario, &key.protocol, key.seed, &run_options);
        match &result {
            Ok(_) => {
                state.finished.fetch_add(1, Ordering::Relaxed);
                state.tell(run, 1.0);
            }
            Err(RunError::Cancelled | RunError::Panicked { .. }) => {}
            Err(_) => state.failed.store(true, Ordering::Relaxed),
        }
        let first = state.results[run].set(result).is_ok();
        assert!(first, "each run is taken once");
    }
}

/// What the runs gave: by protocol, then by seed, in the orders given.
fn collect(keys: Vec<RunKey>, state: BatchState<'_>, options: &BatchOptions<'_>) -> Batch {
    let mut protocols: Vec<String> = Vec::new();
    for key in &keys {
        if !protocols.contains(&key.protocol) {
            protocols.push(key.protocol.clone());
        }
    }
    let place = |protocol: &String| protocols.iter().position(|known| known == protocol);
    let mut done: Vec<_> = keys.into_iter().zip(state.results).collect();
    done.sort_by_key(|(key, _)| place(&key.protocol));
    let mut batch = Batch::default();
    for (key, slot) in done {
        let why = match slot.into_inner() {
            Some(Ok(result)) => {
                batch.runs.push(result);
                continue;
            }
            Some(Err(RunError::Cancelled)) => "interrupted".to_string(),
            Some(Err(error)) => {
                let why = error.to_string();
                batch.error.get_or_insert((key.clone(), error));
                why
            }
            None => "not started".to_string(),
        };
        batch.missing.push(Missing { protocol: key.protocol, seed: key.seed, why });
    }
    let flag = options.run.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed));
    batch.cancelled = flag && !batch.missing.is_empty();
    if batch.cancelled && batch.error.is_none() {
        keep_alike(&mut batch, &protocols);
    }
    batch
}

/// Why a run is missing that finished.
pub const LEFT_OUT: &str = "finished, and left out: not every protocol has this seed";

/// Leave out runs with seeds that not all protocols have; where there is no such seed, all runs but
/// those of the seed that most have.
fn keep_alike(batch: &mut Batch, protocols: &[String]) {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    batch.runs.iter().for_each(|run| *counts.entry(run.seed).or_default() += 1);
    let most = counts.values().copied().max().unwrap_or(0);
    let best = batch.runs.iter().map(|run| run.seed).find(|seed| counts[seed] == most);
    let is_kept = |run: &RunResult| {
        if most == protocols.len() { counts[&run.seed] == most } else { Some(run.seed) == best }
    };
    let (kept, left): (Vec<_>, Vec<_>) =
        std::mem::take(&mut batch.runs).into_iter().partition(is_kept);
    batch.runs = kept;
    batch.missing.extend(left.into_iter().map(|RunResult { protocol, seed, .. }| Missing {
        protocol,
        seed,
        why: LEFT_OUT.to_string(),
    }));
    let place = |protocol: &String| protocols.iter().position(|known| known == protocol);
    batch.missing.sort_by_key(|run| place(&run.protocol));
}
