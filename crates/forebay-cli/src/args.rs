//! The command line: what may be asked, and the texts that explain it.

mod sweep;

pub use sweep::{MatrixArgs, MergeArgs, SweepArgs};

#[cfg(target_os = "linux")]
use crate::kernel_choice::KernelChoice;
use crate::late::Late;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// Most seeds that one command may ask for.
const MAX_SEEDS: u64 = 10_000;
/// Most threads in one run.
const MAX_THREADS: usize = 256;
/// Most runs that may go in parallel.
const MAX_JOBS: usize = 1024;

/// Simulates networks, and compares congestion control on them.
#[derive(Debug, Parser)]
#[command(name = "forebay", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  forebay run dumbbell                   NewReno and CUBIC on one bottleneck
  forebay run dumbbell --seeds 20        with 95 % confidence intervals
  forebay run mine.toml --out results    a scenario of yours, results in files
  forebay explain cubic                  what CUBIC is here, with parameters")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario and compare protocols on it
    Run(Box<RunArgs>),
    /// Run a scenario over real Linux interfaces, in real time, without root
    Live(LiveArgs),
    /// Do again what a live run has recorded, in simulated time
    Replay(ReplayArgs),
    /// Run a scenario both ways, simulated and live, and say how far they agree
    Compare(CompareArgs),
    /// Run an experiment of a paper or of another system, and compare with its published values
    Reproduce(ReproduceArgs),
    /// Rebuild report.html from a results folder, or make one page of several folders
    Report(ReportArgs),
    /// Join the folders of the shards of a sweep
    Merge(MergeArgs),
    /// Write a results folder in a format of other programs: CSV, qlog
    Export(ExportArgs),
    /// List protocols, disciplines, presets, scenarios, metrics and experiments
    List(ListArgs),
    /// Explain a protocol, discipline, preset, scenario, metric or scenario key
    Explain(ExplainArgs),
    /// Print the JSON Schema of scenario files
    Schema,
    /// Show, generate and convert delivery traces of links
    Channel(ChannelArgs),
    /// Describe and draw the network of a map file or a scenario
    Topology(TopologyArgs),
    /// Measure the speed: CPU time per packet-hop on fixed scenarios
    Bench(BenchArgs),
    /// Print a script that completes commands, options and names in your shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command into a folder
    Man(ManArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay run dumbbell --protocol cubic        one protocol
  forebay run s1 --seeds 1..20 --jobs 4        twenty seeds, four at a time
  forebay run lossy --seeds 8 --baseline newreno
  forebay run s1 --set tcp.preset=linux-6.18 --set links.4-0.delay=20ms
  forebay run dumbbell --json | jq '.runs[].metrics.afct_s'
  forebay run dumbbell --protocol cubic --events 1 | head
  sed s/10Mbit/20Mbit/ mine.toml | forebay run -
  forebay run dumbbell --out results --pcap    with captures for Wireshark
  forebay run s1 --out results --pcap 0-2,2-0 --snaplen 100
  forebay run dumbbell --late exp:40us         as on a machine that is busy
  forebay run dumbbell --sweep 'links.0-2.delay=1ms..100ms log 9' --seeds 8

The memory that a run needs is estimated before it begins. What cannot fit even
one at a time is refused; --memory with more than there is runs it all the same.

Exit codes: 0 done, 1 a run failed or an expectation of the scenario does not
hold, 2 the input is wrong, 130 interrupted.")]
pub struct RunArgs {
    /// A built-in scenario (see `forebay list scenarios`), a TOML file, or - for standard input
    pub scenario: String,
    /// Protocols to compare instead of the scenario's own, separated by commas
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub protocol: Vec<String>,
    /// Seeds: 1..10 (both included), 1,2,5, or a count: 10 is 1..10
    #[arg(long, short, default_value = "1", value_parser = seeds)]
    pub seeds: Seeds,
    /// Show what each other protocol has more than this one, seed by seed: runs with the same seed
    /// share channels, starts and losses
    #[arg(long, value_name = "PROTOCOL")]
    pub baseline: Option<String>,
    /// Override a key (repeatable). Indices start at 0: the first of flows is flows.0
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Packets leave late, as at a busy machine (repeatable): a time, exp:TIME for the mean of an
    /// exponential distribution, or a JSON file of `forebay live`; for some links only with
    /// LINKS= before it, such as 0-2,2-0=exp:40us
    #[arg(long, value_name = "[LINKS=]DIST")]
    pub late: Vec<Late>,
    /// Threads per run, at most the core count; results do not depend on it. For one long run over
    /// a large network; one goes on, with a note, where more are not faster. For several runs use
    /// --jobs
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub threads: usize,
    /// Runs in parallel, one thread each: seeds, protocols, points of a sweep [default: all cores;
    /// with --threads N an Nth of them]; reduced, with a note, if memory is short
    #[arg(long, short, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Memory that all runs may take together, such as 8GiB [default: what the system has
    /// available]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub sweep: SweepArgs,
    #[command(flatten)]
    pub results: ResultArgs,
    /// Write whether runs and expectations ([[expect]] of the scenario) succeeded to this file, as
    /// JUnit XML for CI; replaces such a file of Forebay's, and nothing else
    #[arg(long, value_name = "FILE", group = "written")]
    pub junit: Option<PathBuf>,
    /// Serialise and re-parse every packet; the trace hash stays the same
    #[arg(long)]
    pub bytes: bool,
    /// Disable all fast paths: slower, with the same trace hash and results
    #[arg(long)]
    pub general: bool,
    #[command(flatten)]
    pub packets: PacketArgs,
}

impl RunArgs {
    /// A run of `scenario` that keeps and shows no more than it must.
    pub fn quiet(scenario: String) -> RunArgs {
        RunArgs {
            scenario,
            protocol: Vec::new(),
            seeds: Seeds(vec![1]),
            baseline: None,
            set: Vec::new(),
            late: Vec::new(),
            threads: 1,
            jobs: None,
            memory: None,
            sweep: SweepArgs::default(),
            results: ResultArgs::default(),
            junit: None,
            bytes: false,
            general: false,
            packets: PacketArgs::default(),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay live --check                         what this machine allows
  forebay live dumbbell --protocol cubic       over virtual Ethernet, one thread per node
  forebay live dumbbell -p cubic --record DIR  and keep what came out of the wires
  forebay replay DIR --events 1 | head         the same again, event by event
  forebay live dumbbell --paced                in real time without wires

Each node has a network namespace and a thread of its own. Links, queues and
channels are those of the simulator; packets cross real interfaces between them.
Root is not needed where user namespaces are allowed.

Exit codes: 0 done, 1 a run failed or an expectation of the scenario does not
hold, 2 the input is wrong, 3 the machine was too busy for the run to be
evidence, 4 not possible on this machine, 130 interrupted.")]
pub struct LiveArgs {
    /// A built-in scenario (see `forebay list scenarios`), a TOML file, or - for standard input
    #[arg(required_unless_present = "check")]
    pub scenario: Option<String>,
    /// Protocols to run, one after the other, instead of the scenario's own
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub protocol: Vec<String>,
    /// Seed of everything that is random but the machine
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Override a key (repeatable). Indices start at 0: the first of flows is flows.0
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print what this machine allows, and how to grant what is missing
    #[arg(long, exclusive = true)]
    pub check: bool,
    /// Write what came out of the wires to this new folder, for `forebay replay` and Wireshark
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// No wires: all nodes in one place, in real time; the trace hash is that of `forebay run`
    #[arg(long, conflicts_with = "record")]
    pub paced: bool,
    /// A host whose TCP is the kernel's, and the congestion control of its flows, such as a=cubic
    /// (repeatable); the names are those of /proc/sys/net/ipv4/tcp_available_congestion_control
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "HOST=NAME", value_parser = crate::kernel_choice::choice)]
    #[arg(conflicts_with = "paced")]
    pub kernel: Vec<KernelChoice>,
    /// Run it even if the scenario is too fast for this machine
    #[arg(long, conflicts_with = "paced")]
    pub anyway: bool,
    #[command(flatten)]
    pub results: ResultArgs,
}

/// What a live run shares with `forebay run`, and the rest.
#[cfg(target_os = "linux")]
pub struct LiveRun {
    /// As `forebay run` has them: one seed, one job.
    pub run: RunArgs,
    /// Where the record goes.
    pub record: Option<PathBuf>,
    /// Without wires.
    pub paced: bool,
    /// Hosts of the kernel.
    pub kernel: Vec<KernelChoice>,
    /// Whether or not the machine is fast enough.
    pub anyway: bool,
}

impl LiveArgs {
    /// With a scenario of this name: what it shares with `forebay run`, and the rest.
    #[cfg(target_os = "linux")]
    pub fn into_run(self, scenario: &str) -> LiveRun {
        let LiveArgs { protocol, seed, set, record, paced, kernel, anyway, results, .. } = self;
        let run = RunArgs {
            protocol,
            seeds: Seeds(vec![seed]),
            set,
            jobs: Some(1),
            results,
            ..RunArgs::quiet(scenario.to_string())
        };
        LiveRun { run, record, paced, kernel, anyway }
    }
}

impl CompareArgs {
    /// What its runs share with those of `forebay live`.
    #[cfg(target_os = "linux")]
    pub fn into_run(self, scenario: &str) -> LiveRun {
        let CompareArgs { protocol, seeds, set, kernel, anyway, results, .. } = self;
        let quiet = RunArgs::quiet(scenario.to_string());
        LiveRun {
            run: RunArgs { protocol, seeds, set, results, ..quiet },
            record: None,
            paced: false,
            kernel,
            anyway,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay live dumbbell -p cubic --record DIR
  forebay replay DIR                     results, and whether every place did the same
  forebay replay DIR --events r0 | head  packet events of a node
  forebay replay DIR --out results --pcap

Exit codes: 0 all places did the same as recorded, 1 not the same (with the
first packet that differs), a run failed or an expectation of the scenario does
not hold, 2 the input is wrong or a part of the record is missing or changed, 3
the record has no end (the run was killed or its disk was full): done again as
far as it goes, and what came is as the replay sends it, 130 interrupted.")]
pub struct ReplayArgs {
    /// The folder of `forebay live --record`
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    #[command(flatten)]
    pub results: ResultArgs,
    #[command(flatten)]
    pub packets: PacketArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay compare dumbbell -p newreno              ten live runs beside ten seeds
  forebay compare dumbbell -p cubic --live 3 --seeds 20
  forebay compare dumbbell --out DIR               with compare.html, both on one page

A figure agrees if the means differ by at most --within, or mean delays by 1 ms
if that is more, or if the 95 % confidence intervals overlap; drops agree if both
have that kind, however many. A live run for which the machine was too busy is
listed and repeated.

Exit codes: 0 they agree, 1 they disagree or a run failed, 2 the input is wrong,
3 too few live runs are evidence, 4 not possible on this machine, 130 interrupted.")]
pub struct CompareArgs {
    /// A built-in scenario (see `forebay list scenarios`), a TOML file, or - for standard input
    pub scenario: String,
    /// Protocols to compare instead of the scenario's own, separated by commas
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub protocol: Vec<String>,
    /// Live runs of each protocol, one after the other, with the first of the seeds; where there
    /// are fewer seeds, from the first seed again
    #[arg(long, value_name = "N", default_value = "10", value_parser = live_runs())]
    pub live: u16,
    /// Seeds of the simulated runs: 1..10 (both included), 1,2,5, or a count: 10 is 1..10
    #[arg(long, short, default_value = "10", value_parser = seeds)]
    pub seeds: Seeds,
    /// How far rates, sizes, completion times and mean delays may be apart, in per cent
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    pub within: f64,
    /// Override a key (repeatable). Indices start at 0: the first of flows is flows.0
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// A host whose TCP is the kernel's in live runs, and the congestion control of its flows, such
    /// as a=cubic (repeatable)
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "HOST=NAME", value_parser = crate::kernel_choice::choice)]
    pub kernel: Vec<KernelChoice>,
    /// Run it even if the scenario is too fast for this machine
    #[arg(long)]
    pub anyway: bool,
    /// Print the judged figures as Markdown, for pages
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    #[command(flatten)]
    pub results: ResultArgs,
}

/// What becomes of results.
#[derive(Clone, Debug, Default, Args)]
#[command(group(ArgGroup::new("written").args(["out"]).multiple(true)))]
pub struct ResultArgs {
    /// Write scenario, summary, flows, series and report.html to this folder
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the results that are in the folder of --out, and what else is to be written
    #[arg(long, requires = "written")]
    pub force: bool,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Skip the fluid reference (a model with max-min fair sharing)
    #[arg(long)]
    pub no_reference: bool,
    /// Work the fluid reference out also where it takes long beside the run, for many flows
    #[arg(long, conflicts_with = "no_reference")]
    pub reference: bool,
}

/// What of a run is shown or kept packet by packet.
#[derive(Debug, Default, Args)]
pub struct PacketArgs {
    /// Print every packet event of a flow (its number in results, from 1) or of a node (its name)
    #[arg(long, value_name = "FLOW|NODE", conflicts_with = "json")]
    pub events: Option<String>,
    /// Also write packets.pcapng, for Wireshark (one per run): packets on these links, each in one
    /// direction, such as 0-2,2-0 [default: all]; needs --out
    #[arg(long, requires = "out", value_name = "LINKS", num_args = 0..=1)]
    pub pcap: Option<Option<String>>,
    /// Bytes of each packet that the capture keeps, from the IP header on [default: all]
    #[arg(long, requires = "pcap", value_name = "BYTES", value_parser = snap_bytes)]
    pub snaplen: Option<u32>,
    /// Also write flow-monitor-PROTOCOL-SEED.xml, the totals of each flow and direction as ns-3's
    /// FlowMonitor writes them; needs --out
    #[arg(long, requires = "out")]
    pub flow_monitor: bool,
    /// Also write mm-link-PROTOCOL-SEED-LINK.log for each of these directed links, such as 0-2,2-0,
    /// as mahimahi's mm-link writes it; needs --out
    #[arg(long, requires = "out", value_name = "LINKS")]
    pub mm_link: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay reproduce                      every experiment of every source
  forebay reproduce inrpp/dumbbell       one of them: a paper's figures
  forebay reproduce linux                comparison with Linux kernel TCP
  forebay reproduce inrpp --quick        fewer seeds
  forebay reproduce verus/now --out now  with the page of every set-up
  forebay reproduce mine.toml            an experiment of yours (format: experiments/)
  forebay reproduce --json | jq '.rows[] | select(.verdict == \"differs\")'
  forebay reproduce matrix --quick       every controller on seven paths
  forebay reproduce matrix --shard 1/8 --out part-1

`matrix` runs every controller on the 30 paths of the scenario of this name,
alone, twice and beside CUBIC, with ten seeds: a table (sweep.parquet) and a
page to sort and filter, in the folder `matrix` unless --out names another.

A row that differs is a result: the exit code is 0. It is 1 if a run fails, 2
if there is no such experiment.")]
pub struct ReproduceArgs {
    /// A source (a paper, a measured system), one experiment of it (see `forebay list`), a TOML
    /// file, or `matrix` [default: all experiments that are built in]
    #[arg(value_name = "SOURCE[/EXPERIMENT]|FILE")]
    pub name: Option<String>,
    /// Fewer seeds; of `matrix` fewer paths as well
    #[arg(long)]
    pub quick: bool,
    /// Folder of Rocketfuel's maps (3257.pop.cch); without it experiments on them are skipped
    /// [default: FOREBAY_ROCKETFUEL]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Runs in parallel [default: all cores]
    #[arg(long, short, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Print the comparison as Markdown tables, and nothing else
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print every row and why it has its verdict, instead of a summary
    #[arg(long, short, conflicts_with_all = ["json", "markdown"])]
    pub verbose: bool,
    /// Write the comparison (comparison.md, rows.json) and the results of all runs with their pages
    /// to this new folder
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub matrix: MatrixArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay run dumbbell --out results     writes results/report.html
  forebay report results                 writes it again
  forebay report old new                 both in one page, compare.html
  forebay report old new --out page.html
  forebay report sweep/*                 a row for each folder of many
  forebay report results --baseline cubic

The page needs no network and no other file: open it in any browser.")]
pub struct ReportArgs {
    /// Folders that `forebay run --out` wrote
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Write the page to this file, outside of the folders [default: report.html in the folder, or
    /// compare.html here]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The protocol from which the page shows differences [default: that of the run; of several
    /// folders the same protocol in the first]
    #[arg(long, value_name = "PROTOCOL")]
    pub baseline: Option<String>,
}

/// A format of `forebay export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportTo {
    /// Each Parquet file as comma-separated values
    Csv,
    /// cwnd, RTT and pacing rate of each flow as a JSON text sequence, for qvis
    Qlog,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay run dumbbell --out results
  forebay export csv results --out csv
  forebay export qlog results --out qlog

Logs of packets are written while a scenario runs: see --pcap, --flow-monitor and
--mm-link of `forebay run`.")]
pub struct ExportArgs {
    /// The format
    #[arg(value_name = "FORMAT")]
    pub format: ExportTo,
    /// A folder that `forebay run --out` wrote
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The new folder for the files
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay list
  forebay list scenarios
  forebay list protocols --json | jq -r '.protocols[].name'")]
pub struct ListArgs {
    /// What to list [default: all]
    #[arg(value_name = "KIND", value_parser = kinds())]
    pub kind: Option<String>,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    pub json: bool,
}

fn kinds() -> clap::builder::PossibleValuesParser {
    crate::catalogue::listed().into()
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay explain cubic
  forebay explain linux-6.18
  forebay explain dumbbell
  forebay explain jain_goodput
  forebay explain links.loss.packets     a key of scenarios, by its path
  forebay explain rto_rule               or by the end of it
  forebay explain --all keys > keys.md")]
pub struct ExplainArgs {
    /// What to explain: any name of `forebay list`, a key of scenarios, or a scenario file
    #[arg(required_unless_present = "all")]
    pub name: Option<String>,
    /// Print the reference of all keys of scenarios, or of all metrics, as Markdown
    #[arg(long, value_name = "WHAT", conflicts_with = "name")]
    pub all: Option<Reference>,
}

/// A reference page.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Reference {
    /// All keys of scenario files
    Keys,
    /// All metrics of results
    Metrics,
    /// All columns and keys of results
    Results,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay bench
  forebay bench --only s2 --json
  forebay bench --data folder-with-s3-csv-files
  forebay bench --only scale-4,scale-5,scale-6
  forebay bench --only chain-100,chain-400,chain-1000,chain-4000
  forebay bench live

A figure is the user and system CPU time of the run, start-up not counted, by
packets (data, ACKs, retransmissions) fully serialised on a link. Measure on a
quiet machine. FOREBAY_HUGE_PAGES=0 measures without huge pages.")]
pub struct BenchArgs {
    /// What a thread passes on over real interfaces, in place of the benchmarks
    #[arg(value_name = "live", value_parser = ["live"])]
    #[arg(conflicts_with_all = ["only", "threads", "memory", "data", "compare"])]
    pub live: Option<String>,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Benchmarks to run, separated by commas; without it all but scale and chain
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = benches())]
    pub only: Vec<String>,
    /// Threads per run; one goes on where more are not faster
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub threads: usize,
    /// Memory that scale and chain may take, such as 24GiB [default: what the system has
    /// available]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,
    /// Show the figures of this file, which `bench --json` wrote, beside those of now
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub compare: Option<PathBuf>,
    /// Folder with s3_links.csv, s3_hosts.csv and s3_flows.csv; without it s3 is skipped
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay completions bash > ~/.local/share/bash-completion/completions/forebay
  forebay completions zsh > ~/.zfunc/_forebay     a folder of $fpath
  forebay completions fish > ~/.config/fish/completions/forebay.fish

Names of protocols and scenarios are those of the binary that prints the script.")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay man | man -l -
  forebay man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write forebay.1, forebay-run.1 and so on into this folder, which is made
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace files in that folder that are not man pages
    #[arg(long, requires = "out")]
    pub force: bool,
}

fn benches() -> clap::builder::PossibleValuesParser {
    forebay_lab::BENCHES.iter().map(|bench| bench.name).collect::<Vec<_>>().into()
}

#[derive(Debug, Args)]
pub struct ChannelArgs {
    #[command(subcommand)]
    pub command: ChannelCommand,
}

#[derive(Debug, Subcommand)]
pub enum ChannelCommand {
    /// Print statistics of traces, and plot them
    Show(ShowArgs),
    /// Write the trace of a model, in mahimahi's format
    Generate(GenerateArgs),
    /// Rates over time (CSV) to a delivery trace, or back
    Convert(ConvertArgs),
}

/// How a model is run.
#[derive(Clone, Debug, Args)]
pub struct ChannelSource {
    /// Length of a generated trace in seconds
    #[arg(long, value_name = "N", default_value = "300", value_parser = seconds())]
    pub seconds: u32,
    /// Multiply the model's rate by X
    #[arg(long, value_name = "X", default_value = "1", value_parser = scale)]
    pub scale: f64,
    /// Seed of a generated trace
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay channel show city-driving --plot city.svg
  forebay channel show lte.down city-driving       side by side

Rates are those of 1500-byte packets. A burst is milliseconds in a row that have
opportunities. Variation is the standard deviation over the mean; autocorrelation
is that of the rate over 100 ms.")]
pub struct ShowArgs {
    /// Files in mahimahi's format, or models (see `forebay channel generate --help`)
    #[arg(required = true, num_args = 1..=6, value_name = "TRACE")]
    pub traces: Vec<String>,
    /// Write plots to this file (SVG)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Replace an existing file that is not such a plot
    #[arg(long, requires = "plot")]
    pub force: bool,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub source: ChannelSource,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay channel generate city-driving --out city.down
  forebay channel generate city-driving --scale 0.25 --seed 2 --out city.up")]
pub struct GenerateArgs {
    /// The model
    #[arg(value_parser = channel_models(), value_name = "MODEL")]
    pub name: String,
    /// Write to this file; without it to standard output
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub source: ChannelSource,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay channel convert lte.down lte.csv --bin-ms 100    for `schedule = \"lte.csv\"`
  forebay channel convert rates.csv rates.trace            columns at_s, rate_bps")]
pub struct ConvertArgs {
    /// A delivery trace, or rates over time (a name that ends with .csv)
    pub from: PathBuf,
    /// The other of the two
    pub to: PathBuf,
    /// Rates of a trace are means over this many ms
    #[arg(long, value_name = "N", default_value = "100", value_parser = bin_ms())]
    pub bin_ms: u64,
    /// The last rate holds until then; default: as long as the one before it
    #[arg(long, value_name = "SECONDS")]
    pub end_s: Option<f64>,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay topology Abilene.graphml --out abilene.svg
  forebay topology 3257.pop.cch --reduce roles
  forebay topology 3257.pop.cch --convention table-1   as in Table I of the INRPP paper
  forebay topology mine.toml --set topology.seed=2

A detour of a link is a third router with links to both its ends. Reports of
runs (forebay run --out) show the same drawing with loads, caches and detours.")]
pub struct TopologyArgs {
    /// A map file (Rocketfuel .cch, GraphML, SNDlib, topohub's JSON), a scenario file (.toml), or
    /// the name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Leave out parts of a map file
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub reduce: ReduceMap,
    /// Which routers and links count for detours
    #[arg(long, value_name = "NAME", default_value = "simple")]
    pub convention: DetourConvention,
    /// Override a key of a scenario (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write the drawing to this file (SVG)
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file of others
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What is left out of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReduceMap {
    /// Nothing
    None,
    /// Of a Rocketfuel map all but the routers r0
    Backbone,
    /// Routers get roles by degree (edge, gateway, backbone), as in ndnSIM; links that fit no role
    /// go
    Roles,
}

/// Which routers and links count for detours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DetourConvention {
    /// All routers; links of a router with itself do not count
    Simple,
    /// As in Table I of the INRPP paper: of a Rocketfuel map the routers r0 and the links between
    /// them; a link of a router with itself counts
    #[value(name = "table-1")]
    Table1,
}

/// Names of channel models.
pub fn channel_names() -> Vec<&'static str> {
    forebay_lab::scenario::traces::CHANNEL_PROFILES.iter().map(|profile| profile.name).collect()
}

fn channel_models() -> clap::builder::PossibleValuesParser {
    let value = |profile: &forebay_lab::scenario::traces::ChannelProfile| {
        clap::builder::PossibleValue::new(profile.name).help(profile.summary)
    };
    forebay_lab::scenario::traces::CHANNEL_PROFILES.iter().map(value).collect::<Vec<_>>().into()
}

fn seconds() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=3600)
}

fn bin_ms() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=3_600_000)
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale: &f64| *scale > 0.0 && *scale <= 100.0);
    scale.ok_or_else(|| "expected a number above 0, at most 100".to_string())
}

/// Seeds in the order asked for; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

fn seeds(text: &str) -> Result<Seeds, String> {
    let number = |part: &str| -> Result<u64, String> {
        let digits = part.trim();
        digits.parse().map_err(|_| {
            format!("`{digits}` is not a seed: expected a whole number from 0 to {}", u64::MAX)
        })
    };
    let bounded = |count: u64| match count {
        0..=MAX_SEEDS => Ok(()),
        _ => Err(format!("{count} seeds are more than {MAX_SEEDS}")),
    };
    if let Some((first, last)) = text.split_once("..") {
        let (first, last) = (number(first)?, number(last)?);
        if last < first {
            return Err(format!("the range is empty: {last} is below {first}"));
        }
        bounded((last - first).saturating_add(1))?;
        return Ok(Seeds((first..=last).collect()));
    }
    if text.contains(',') {
        let list: Vec<u64> = text.split(',').map(number).collect::<Result<_, _>>()?;
        bounded(list.len() as u64)?;
        let mut sorted = list.clone();
        sorted.sort_unstable();
        return match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("seed {} is given twice", pair[0])),
            None => Ok(Seeds(list)),
        };
    }
    let count = number(text)?;
    if count == 0 {
        return Err("expected 1 or more, a range such as 1..10, or a list such as 1,2,5".into());
    }
    bounded(count)?;
    Ok(Seeds((1..=count).collect()))
}

fn live_runs() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=1000)
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "expected a number from 0 to 100".to_string())
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=MAX_THREADS) => Ok(threads),
        _ => Err(format!("expected a number from 1 to {MAX_THREADS}")),
    }
}

fn snap_bytes(text: &str) -> Result<u32, String> {
    let bytes = text.parse().ok().filter(|bytes| (1..=65_535).contains(bytes));
    bytes.ok_or_else(|| "expected a number of bytes from 1 to 65535".to_string())
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs @ 1..=MAX_JOBS) => Ok(jobs),
        _ => Err(format!("expected a number from 1 to {MAX_JOBS}")),
    }
}

/// A size of memory in bytes.
fn memory(text: &str) -> Result<u64, String> {
    // Longer names first: they end in "B" as well.
    const UNITS: [(&str, u64); 9] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("kB", 1_000),
        ("B", 1),
    ];
    let names = UNITS.map(|(name, _)| name).join(", ");
    let expected =
        || format!("expected a whole number with unit, such as 500MiB or 8GB (units: {names})");
    let unit = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)));
    let (number, unit) = unit.ok_or_else(expected)?;
    let number: u64 = number.trim().parse().map_err(|_| expected())?;
    number.checked_mul(*unit).filter(|&bytes| bytes > 0).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn seeds_are_ranges_lists_and_counts() {
        let read = |text| seeds(text).map(|s| s.0);
        assert_eq!(read("1..3"), Ok(vec![1, 2, 3]));
        assert_eq!(read("7..7"), Ok(vec![7]));
        assert_eq!(read("5,1, 2"), Ok(vec![5, 1, 2]));
        assert_eq!(read("3"), Ok(vec![1, 2, 3]));
        assert_eq!(read("18446744073709551615..18446744073709551615"), Ok(vec![u64::MAX]));
        for wrong in [
            "",
            "0",
            "3..1",
            "..",
            "1..",
            "1,,2",
            "1,1",
            "-1",
            "x",
            "0..10000",
            "0..18446744073709551615",
        ] {
            assert!(read(wrong).is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn memory_is_a_number_with_unit() {
        assert_eq!((memory("500MiB"), memory("8 GB")), (Ok(500 << 20), Ok(8_000_000_000)));
        assert_eq!((memory("1B"), memory("64 kB")), (Ok(1), Ok(64_000)));
        assert!(memory("1.5GiB").unwrap_err().contains("whole number"));
        for wrong in ["", "0GiB", "8", "GB", "-1GB", "1.5GiB", "99999999999TiB", "8gb"] {
            assert!(memory(wrong).is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn the_definition_of_the_command_line_holds_together() {
        Cli::command().debug_assert();
    }
}
