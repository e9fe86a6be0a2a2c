//! The benchmark: fixed scenarios, CPU time per packet-hop.
//!
//! What is measured: the event loop of one run, user and system time of all its threads; reading
//! the scenario, building the network and computing metrics are not counted. The peak of memory is
//! that of the whole process while the scenario ran, with all of that, and with what the allocator
//! kept of the scenarios before it: run one alone for a figure of its own.
//!
//! The figure of a scenario has the trace hash in it, as every run does; next to it stands what is
//! left without.

mod chain;
mod peers;
mod scale;

pub use peers::{PEERS, Peer};
pub use scale::{SCALE_HOSTS, SCALE_ROUTERS};

use crate::clock::CLOCKS;
use crate::{memory, run_one};
use forebay_base::{FlowId, Span, Time};
use forebay_net::{NetSpec, SpecError};
use forebay_run::{Cost, Parallel, RunError, RunOptions, RunResult};
use forebay_scenario::memory_estimate::{MemoryEstimate, NotEnoughMemory, RunMemory, check};
use forebay_scenario::statistics::quantile;
use forebay_scenario::{Files, LoadOptions, Scenario, ScenarioError};
use forebay_sim::{ConservationError, Options, Simulation, Status};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is measured, in order.
pub const BENCHES: &[Bench] = &[
    Bench { name: "s1", work: Work::Scenario("s1", "newreno") },
    Bench { name: "s2", work: Work::Scenario("s2", "newreno") },
    Bench { name: "s3", work: Work::Scenario("s3", "newreno") },
    Bench { name: "s4", work: Work::Network(&S4, "newreno") },
    Bench { name: "s5", work: Work::Network(&S5, "newreno") },
    Bench { name: "inrpp-dumbbell", work: Work::Scenario("inrpp/dumbbell", "inrpp") },
    Bench { name: "inrpp-detour", work: Work::Scenario("inrpp/detour-100", "inrpp") },
    Bench { name: "tcp-detour", work: Work::Scenario("inrpp/detour-100", "cubic") },
    Bench { name: "short-flows", work: Work::Network(&SHORT_FLOWS, "newreno") },
    Bench { name: "shared-hosts", work: Work::Network(&SHARED_HOSTS, "newreno") },
    Bench { name: "s2-loss", work: Work::Changed("newreno", &["link_defaults.loss=0.000001"]) },
    Bench { name: "s2-jitter", work: Work::Changed("newreno", &["link_defaults.jitter=100us"]) },
    Bench { name: "s2-codel", work: Work::Changed("newreno", &[CODEL]) },
    Bench { name: "s2-fq-codel", work: Work::Changed("cubic", &[FQ_CODEL]) },
    Bench { name: "s2-bbr", work: Work::Changed("bbr", &[]) },
    Bench { name: "s2-verus", work: Work::Changed("verus", &[]) },
    Bench { name: "s2-rcp", work: Work::Changed("rcp", &[]) },
    Bench { name: "s2-kickass", work: Work::Changed("kickass", &[]) },
    Bench { name: "s2-inrpp", work: Work::Changed("inrpp", &[]) },
    Bench { name: "cellular", work: Work::Scenario("verus/one-flow", "cubic") },
    Bench { name: "scale-4", work: Work::Scale(10_000) },
    Bench { name: "scale-5", work: Work::Scale(100_000) },
    Bench { name: "scale-6", work: Work::Scale(1_000_000) },
    Bench { name: "scale-7", work: Work::Scale(10_000_000) },
    Bench { name: "chain-100", work: Work::Chain(100) },
    Bench { name: "chain-400", work: Work::Chain(400) },
    Bench { name: "chain-1000", work: Work::Chain(1_000) },
    Bench { name: "chain-4000", work: Work::Chain(4_000) },
];

/// One line of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bench {
    /// Its name.
    pub name: &'static str,
    /// What is run.
    pub work: Work,
}

/// What a benchmark runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A built-in scenario under a protocol.
    Scenario(&'static str, &'static str),
    /// A scenario of the benchmark alone, under a protocol.
    Network(&'static Network, &'static str),
    /// s2 under a protocol, with some of its keys set.
    Changed(&'static str, &'static [&'static str]),
    /// This many short flows over a generated map of [`SCALE_ROUTERS`] routers. Minutes and
    /// gigabytes for the largest: only where it is named.
    Scale(usize),
    /// This many INRPP flows without end over a generated chain of routers, whose load does not
    /// depend on their number. Only where it is named.
    Chain(usize),
}

/// A scenario with the files that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The scenario.
    pub text: &'static str,
    /// Those files, by the paths in it.
    files: &'static [(&'static str, &'static str)],
}

/// That of a file in `networks`, alone or with the CSV files in the folder of its name.
macro_rules! network {
    ($name:literal) => { network!($name, []) };
    ($name:literal with CSV) => { network!($name, ["/links.csv", "/hosts.csv", "/flows.csv"]) };
    ($name:literal, [$($file:literal),*]) => {
        Network {
            text: include_str!(concat!("networks/", $name, ".toml")),
            files: &[
                $((concat!($name, $file), include_str!(concat!("networks/", $name, $file)))),*
            ],
        }
    };
}

const SHORT_FLOWS: Network = network!("short-flows");
const SHARED_HOSTS: Network = network!("shared-hosts");
/// Mesh and fat tree.
const S4: Network = network!("s4" with CSV);
const S5: Network = network!("s5" with CSV);
const CODEL: &str = r#"link_defaults.queue={ discipline = "codel", limit = "2500000B" }"#;
const FQ_CODEL: &str = r#"link_defaults.queue={ discipline = "fq-codel", limit = "2500000B" }"#;

/// The environment variable that names the folder of S3's files.
pub const BENCH_DATA_VARIABLE: &str = "FOREBAY_BENCH_DATA";
/// More repetitions than this make no figure better.
const MAX_REPETITIONS: usize = 1_000;
/// More flows than this, and the scale series is not run again without its hash: that would take
/// minutes.
const MAX_FLOWS_TWICE: usize = 100_000;
/// Repetitions at least, whatever CPU time they take: a median of fewer says nothing.
const FEWEST_REPETITIONS: usize = 3;

/// What to run.
#[derive(Clone, Copy)]
pub struct BenchOptions<'a> {
    /// Names from [`BENCHES`]; empty: all scenarios, and nothing of the scale series.
    pub only: &'a [String],
    /// Folder with `s3_links.csv`, `s3_hosts.csv` and `s3_flows.csv`; None: that of the environment
    /// variable, if set.
    pub data: Option<&'a PathBuf>,
    /// Each scenario is repeated until it has used this much CPU time, in seconds (1.0); and as
    /// long again without its hash.
    pub min_cpu_s: f64,
    /// Threads in each run, where its network can be divided among that many.
    pub threads: usize,
    /// Memory that a benchmark of the scale series may take, in bytes; None: what the system has
    /// available.
    pub memory_bytes: Option<u64>,
    /// Set by a caller to stop it.
    pub cancel: Option<&'a AtomicBool>,
    /// Receives the name of each scenario before it runs.
    pub progress: Option<&'a dyn Fn(&str)>,
}

/// One scenario of the benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchRow {
    /// Name of the scenario.
    pub name: String,
    /// How the first run used its threads.
    #[serde(flatten)]
    pub parallel: Parallel,
    /// Packet-hops of one run.
    pub packet_hops: u64,
    /// Events of one run.
    pub events: u64,
    /// Wall-clock time of one run, in seconds: the median of the repetitions.
    pub wall_s: f64,
    /// CPU time (user and system) of one run, in seconds: the median of the repetitions; building
    /// the network not counted.
    pub cpu_s: f64,
    /// `cpu_s` by `packet_hops`, in nanoseconds.
    pub ns_per_hop: f64,
    /// Wall-clock time of the fastest repetition, in seconds.
    pub best_wall_s: f64,
    /// `ns_per_hop` of the fastest repetition: what the machine does when nothing else uses it.
    pub best_ns_per_hop: f64,
    /// The same runs without a trace hash; None where the scale series has more than 100 000 flows,
    /// and takes minutes.
    pub without_hash: Option<WithoutHash>,
    /// Peak of resident memory while it ran, in MiB; None where the system does not report it.
    pub peak_mib: Option<f64>,
    /// Estimate of it before the run, from the network alone, in MiB.
    pub need_mib: f64,
    /// Trace hash, the same in all repetitions.
    pub trace_hash: String,
    /// Repetitions.
    pub repetitions: usize,
    /// Flows that completed, and flows.
    pub completed: [usize; 2],
    /// Bytes in order at all receivers.
    pub delivered_bytes: u64,
    /// Mean completion time of completed flows, in seconds.
    pub afct_s: Option<f64>,
    /// CPU time to build the network, in seconds; for the scale series.
    pub build_s: Option<f64>,
    /// What memory grew by in the run, by flow, in bytes; for the scale series, where the system
    /// reports it.
    pub bytes_per_flow: Option<f64>,
}

/// What a run costs that makes no trace hash.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WithoutHash {
    /// CPU time (user and system) of one run, in seconds: the median of the repetitions; building
    /// the network not counted.
    pub cpu_s: f64,
    /// `cpu_s` by the packet-hops, in nanoseconds.
    pub ns_per_hop: f64,
    /// `ns_per_hop` of the fastest repetition.
    pub best_ns_per_hop: f64,
    /// Repetitions.
    pub repetitions: usize,
}

/// A scenario, or an experiment, that was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// All rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BenchReport {
    /// One row per scenario.
    pub rows: Vec<BenchRow>,
    /// Scenarios without a row.
    pub skipped: Vec<Skipped>,
    /// The processor on which it was measured, as the system calls it.
    pub machine: String,
    /// Figures of other simulators for the same scenarios, on the machine that each names.
    pub peers: &'static [Peer],
}

/// The benchmark cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is no such scenario.
    #[error("there is no benchmark `{name}`: one of {known}", name = .0, known = names())]
    Unknown(String),
    /// A generated network cannot be built.
    #[error("the generated network cannot be built: {0:?}")]
    Network(SpecError),
    /// A run would need more memory than the machine has.
    #[error("{0}: {1}")]
    Memory(&'static str, NotEnoughMemory),
    /// A run over a generated network does not balance.
    #[error("{0}: {1}")]
    ConservationError(&'static str, ConservationError),
}

fn names() -> String {
    BENCHES.iter().map(|bench| bench.name).collect::<Vec<_>>().join(", ")
}

/// Run the benchmark with seed 1, in this thread, without series.
pub fn bench(options: &BenchOptions<'_>) -> Result<BenchReport, BenchError> {
    let known = |name: &String| BENCHES.iter().any(|bench| bench.name == name);
    if let Some(name) = options.only.iter().find(|name| !known(name)) {
        return Err(BenchError::Unknown(name.clone()));
    }
    let machine = machine();
    let mut report = BenchReport { machine, peers: PEERS, ..BenchReport::default() };
    for bench in BENCHES {
        let wanted = if options.only.is_empty() {
            !matches!(bench.work, Work::Scale(_) | Work::Chain(_))
        } else {
            options.only.iter().any(|only| only == bench.name)
        };
        if !wanted {
            continue;
        }
        if let Some(tell) = options.progress {
            tell(bench.name);
        }
        match row(bench, options)? {
            Ok(row) => report.rows.push(row),
            Err(why) => report.skipped.push(Skipped { name: bench.name.to_string(), why }),
        }
    }
    Ok(report)
}

/// The row of this benchmark, or why there is none here.
fn row(bench: &Bench, options: &BenchOptions<'_>) -> Result<Result<BenchRow, String>, BenchError> {
    let (loaded, protocol) = match bench.work {
        Work::Scale(flows) => {
            let of = Generated { network: scale::network, flows, ends: Time::MAX };
            return measure_generated(bench.name, of, options).map(Ok);
        }
        Work::Chain(flows) => {
            let of = Generated { network: chain::network, flows, ends: chain::CHAIN_ENDS };
            return measure_generated(bench.name, of, options).map(Ok);
        }
        Work::Scenario(scenario, protocol) => (load(scenario, options)?, protocol),
        Work::Network(Network { text, files }, protocol) => {
            let files = files.iter().copied().collect();
            let given = LoadOptions { files, ..LoadOptions::default() };
            (Ok(Scenario::parse(text, bench.name, &given)?), protocol)
        }
        Work::Changed(protocol, keys) => {
            let set = keys.iter().map(ToString::to_string).collect();
            let changed = LoadOptions { set, ..LoadOptions::default() };
            (Ok(Scenario::load("s2", &changed)?), protocol)
        }
    };
    match loaded {
        Ok(scenario) => measure(bench.name, &scenario, protocol, options).map(Ok),
        Err(why) => Ok(Err(why)),
    }
}

/// The processor and how many of it there are, for tables that are compared later.
fn machine() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = known.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cores} x {model}")
}

/// The scenario, or why there is none here.
fn load(name: &str, options: &BenchOptions<'_>) -> Result<Result<Scenario, String>, BenchError> {
    let mut files = Files::Beside;
    if name == "s3" {
        let folder = options.data.cloned().or_else(|| folder_from_environment(BENCH_DATA_VARIABLE));
        let Some(folder) = folder else {
            let why = format!(
                "its map is not part of Forebay: name the folder of s3_links.csv, s3_hosts.csv and \
                 s3_flows.csv, or set {BENCH_DATA_VARIABLE}"
            );
            return Ok(Err(why));
        };
        files = Files::In(folder);
    }
    Ok(Ok(Scenario::load(name, &LoadOptions { files, ..LoadOptions::default() })?))
}

/// The folder that a variable names: the one input of the benchmark and of experiments that no
/// argument names; their documentation says so.
#[allow(clippy::disallowed_methods)]
pub(crate) fn folder_from_environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

/// Repeat the scenario, and then without its hash.
fn measure(
    name: &str,
    scenario: &Scenario,
    protocol: &str,
    options: &BenchOptions<'_>,
) -> Result<BenchRow, BenchError> {
    let run_options = RunOptions {
        name,
        cancel: options.cancel,
        without_reference: true,
        threads: options.threads,
        ..RunOptions::default()
    };
    memory::reset_peak();
    let hashed = repeat(scenario, protocol, &run_options, options.min_cpu_s)?;
    let peak_mib = memory::peak_mib();
    let bare_options = RunOptions { without_hash: true, ..run_options };
    let bare = repeat(scenario, protocol, &bare_options, options.min_cpu_s)?;
    let Repeated { first, parallel, cpu_s, best_cpu_s, wall_s, best_wall_s, repetitions } = hashed;
    let counts = |run: &RunResult| (run.packet_hops, run.events, run.completed);
    assert_eq!(counts(&bare.first), counts(&first), "{name} without its hash");
    let per_hop = |cpu_s: f64| cpu_s * 1e9 / first.packet_hops.max(1) as f64;
    let without_hash = WithoutHash {
        cpu_s: bare.cpu_s,
        ns_per_hop: per_hop(bare.cpu_s),
        best_ns_per_hop: per_hop(bare.best_cpu_s),
        repetitions: bare.repetitions,
    };
    Ok(BenchRow {
        name: name.to_string(),
        parallel,
        best_wall_s,
        packet_hops: first.packet_hops,
        events: first.events,
        wall_s,
        cpu_s,
        ns_per_hop: per_hop(cpu_s),
        best_ns_per_hop: per_hop(best_cpu_s),
        without_hash: Some(without_hash),
        peak_mib,
        need_mib: first.memory.need_mib,
        trace_hash: first.trace_hash,
        repetitions,
        completed: [first.completed, first.flows],
        delivered_bytes: first.metrics.of_flows.delivered_bytes,
        afct_s: first.metrics.of_flows.afct_s,
        build_s: None,
        bytes_per_flow: None,
    })
}

/// The same run several times.
struct Repeated {
    first: RunResult,
    /// Of the first run.
    parallel: Parallel,
    /// Medians and shortest.
    cpu_s: f64,
    best_cpu_s: f64,
    wall_s: f64,
    best_wall_s: f64,
    repetitions: usize,
}

/// Repeat the scenario until it has used enough CPU time.
fn repeat(
    scenario: &Scenario,
    protocol: &str,
    run_options: &RunOptions<'_>,
    min_cpu_s: f64,
) -> Result<Repeated, RunError> {
    let first = run_one(scenario, protocol, 1, run_options)?;
    let (mut cpu_s, mut wall_s) = (vec![first.cpu_s], vec![first.wall_s]);
    let mut parallel = first.parallel.clone();
    if parallel.threads > 1 {
        // Measuring each window slows a run down: once is enough.
        let measured = RunOptions { clocks_windows: true, ..*run_options };
        parallel.shares = run_one(scenario, protocol, 1, &measured)?.parallel.shares;
    }
    let enough =
        |cpu_s: &[f64]| cpu_s.len() >= FEWEST_REPETITIONS && cpu_s.iter().sum::<f64>() >= min_cpu_s;
    while !enough(&cpu_s) && cpu_s.len() < MAX_REPETITIONS {
        let again = run_one(scenario, protocol, 1, run_options)?;
        let name = run_options.name;
        assert_eq!(again.trace_hash, first.trace_hash, "{name} twice with the same seed");
        cpu_s.push(again.cpu_s);
        wall_s.push(again.wall_s);
    }
    let best = |seconds: &[f64]| seconds.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Repeated {
        first,
        parallel,
        repetitions: cpu_s.len(),
        best_cpu_s: best(&cpu_s),
        best_wall_s: best(&wall_s),
        cpu_s: median(cpu_s),
        wall_s: median(wall_s),
    })
}

/// A network that is made for the benchmark.
#[derive(Clone, Copy)]
struct Generated {
    /// Makes it with so many flows from a seed.
    network: fn(usize, u64) -> NetSpec,
    flows: usize,
    /// A run ends here, if its flows do not end before.
    ends: Time,
}

/// A run over a generated network, which is long enough to be measured once; and one without its
/// hash.
fn measure_generated(
    name: &'static str,
    of: Generated,
    options: &BenchOptions<'_>,
) -> Result<BenchRow, BenchError> {
    let row = run_generated(name, of, false, options)?;
    if of.flows > MAX_FLOWS_TWICE {
        return Ok(row);
    }
    let bare = run_generated(name, of, true, options)?;
    let counts = |row: &BenchRow| (row.packet_hops, row.events, row.delivered_bytes);
    assert_eq!(counts(&bare), counts(&row), "{name} without its hash");
    let BenchRow { cpu_s, ns_per_hop, best_ns_per_hop, repetitions, .. } = bare;
    let without_hash = Some(WithoutHash { cpu_s, ns_per_hop, best_ns_per_hop, repetitions });
    Ok(BenchRow { without_hash, ..row })
}

/// One run over a generated network.
fn run_generated(
    name: &'static str,
    Generated { network, flows, ends }: Generated,
    without_hash: bool,
    options: &BenchOptions<'_>,
) -> Result<BenchRow, BenchError> {
    memory::reset_peak();
    let mut building = Cost::new(Some(CLOCKS));
    let (spec, _) = building.charge(|| network(flows, 1));
    let estimate = MemoryEstimate::of(&spec, options.threads);
    let available = options.memory_bytes.or_else(memory::available_bytes);
    check(estimate, available).map_err(|error| BenchError::Memory(name, error))?;
    let (built, _) = building.charge(|| {
        let (cpu_clock, wall_clock) = (Some(CLOCKS.cpu), Some(CLOCKS.wall));
        let of_run = Options { threads: options.threads, without_hash, ..Options::default() };
        Simulation::new(&spec, 1, Options { cpu_clock, wall_clock, ..of_run })
    });
    drop(spec);
    let mut simulation = built.map_err(BenchError::Network)?;
    let at_rest_mib = memory::peak_mib();
    let (mut running, mut until) = (Cost::new(Some(CLOCKS)), Time::ZERO);
    let mut status = Status::Running;
    while status == Status::Running && until < ends {
        if options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(RunError::Cancelled.into());
        }
        until += Span::from_millis(20);
        let (advanced, _) = running.charge(|| simulation.run_until(until));
        status = advanced.map_err(|error| BenchError::ConservationError(name, error))?;
    }
    running.add_other_threads(&simulation);
    let outcomes = (0..flows as u32).map(|id| simulation.flow(FlowId(id)));
    let (mut completed, mut delivered_bytes, mut fct_s) = (0, 0, 0.0);
    for outcome in outcomes {
        delivered_bytes += outcome.received_bytes;
        if let (Some(from), Some(to)) = (outcome.opened_at, outcome.completed_at) {
            completed += 1;
            fct_s += to.since(from).as_secs_f64();
        }
    }
    let packet_hops = simulation.packet_hops();
    let (cpu_s, peak_mib) = (running.cpu.as_secs_f64(), memory::peak_mib());
    let ns_per_hop = cpu_s * 1e9 / packet_hops.max(1) as f64;
    let grown = peak_mib.zip(at_rest_mib).map(|(peak, rest)| (peak - rest).max(0.0) * 1048576.0);
    Ok(BenchRow {
        name: name.to_string(),
        parallel: Parallel::of(&simulation),
        best_wall_s: running.wall.as_secs_f64(),
        packet_hops,
        events: simulation.events(),
        wall_s: running.wall.as_secs_f64(),
        cpu_s,
        ns_per_hop,
        best_ns_per_hop: ns_per_hop,
        without_hash: None,
        peak_mib,
        need_mib: RunMemory::from(estimate).need_mib,
        trace_hash: format!("{:016x}", simulation.trace_hash()),
        repetitions: 1,
        completed: [completed, flows],
        delivered_bytes,
        afct_s: (completed > 0).then(|| fct_s / completed as f64),
        build_s: Some(building.cpu.as_secs_f64()),
        bytes_per_flow: grown.map(|bytes| bytes / flows as f64),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5).expect("one repetition or more")
}
