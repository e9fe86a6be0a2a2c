//! What files of results hold: columns of the Parquet files and keys of the JSON object, with the
//! version of this format. `forebay explain --all results` prints it; tests compare it with what is
//! written.

use forebay_metrics::{FLOW_COLUMNS, FlowColumn, FlowValue, METRICS};

/// The version of the format: it grows when a column or a key changes its name, its place or its
/// meaning, not when one is added.
pub const RESULTS_VERSION: u32 = 1;

/// The key in the metadata of Parquet files that has [`RESULTS_VERSION`].
pub const VERSION_KEY: &str = "forebay.results_version";

/// A column, or a key in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldDoc {
    /// Its name; in JSON its path, in which words in capitals stand for names of the scenario, of
    /// metrics or of reasons.
    pub name: &'static str,
    /// Its type; of a key that may be absent with "optional" before it.
    pub kind: &'static str,
    /// Its meaning, with unit and range.
    pub meaning: &'static str,
}

/// A file of results.
#[derive(Clone, Copy, Debug)]
pub struct FileDoc {
    /// Its name in the folder.
    pub name: &'static str,
    /// Meaning of a row.
    pub meaning: &'static str,
    /// Its columns, in their order; those of [`FLOW_COLUMNS`] come after them in `flows.parquet`,
    /// and [`METRICS`] that are one number in `sweep.parquet`.
    columns: &'static [FieldDoc],
}

impl FileDoc {
    /// All its columns, in their order.
    pub fn columns(&self) -> Vec<FieldDoc> {
        let of_flow: &[FlowColumn] = if self.name == "flows.parquet" { FLOW_COLUMNS } else { &[] };
        let of_flow = of_flow.iter().map(|column| field(column.name, kind(column), column.meaning));
        let metrics = METRICS.iter().filter(|metric| metric.in_table && self.name == SWEEP_TABLE);
        let metrics = metrics.map(|metric| field(metric.name, "double or null", metric.meaning));
        self.columns.iter().copied().chain(of_flow).chain(metrics).collect()
    }
}

/// The type of a column of flows.
fn kind(column: &FlowColumn) -> &'static str {
    match column.value {
        FlowValue::Id(_) | FlowValue::Count(_) => "int64",
        FlowValue::Text(_) => "string",
        FlowValue::SomeCount(_) => "int64 or null",
        FlowValue::Real(_) => "double or null",
    }
}

const fn field(name: &'static str, kind: &'static str, meaning: &'static str) -> FieldDoc {
    FieldDoc { name, kind, meaning }
}

const RUN_PROTOCOL: FieldDoc =
    field("run_protocol", "string", "Protocol of the run: flows that name none have it.");
const SEED: FieldDoc = field("seed", "int64", "Seed of the run; the bits of an unsigned number.");

/// The Parquet files.
pub const PARQUET: &[FileDoc] = &[
    FileDoc {
        name: "flows.parquet",
        meaning: "One row per flow of each run.",
        columns: &[RUN_PROTOCOL, SEED],
    },
    FileDoc {
        name: "delays.parquet",
        meaning: "The distribution of one-way delays: one row per bucket (2 to 3 % wide) of each \
                  class of each run. The packets are those of the metrics `one_way_delay_*`.",
        columns: DELAYS,
    },
    FileDoc {
        name: "series.parquet",
        meaning: "Time series in long form, sampled every `sample_s`: one row per value, ordered \
                  by run, then by time.",
        columns: SERIES,
    },
    FileDoc {
        name: SWEEP_TABLE,
        meaning: "In the folder of a sweep, alone of these files: one row per run, by point, seed \
                  and protocol. A run that failed has an error and no result.",
        columns: SWEEP,
    },
];

/// The table of a sweep.
pub const SWEEP_TABLE: &str = "sweep.parquet";

/// The column of [`SWEEP_TABLE`] that stands for those of the swept keys.
pub const SWEPT_KEY: &str = "KEY";

const SWEEP: &[FieldDoc] = &[
    field("point", "int64", "Number of the point, from 0."),
    field("point_name", "string or null", "Name of the point, if the sweep gives one."),
    RUN_PROTOCOL,
    SEED,
    field(
        SWEPT_KEY,
        "double, int64, boolean or string; or null",
        "A column for each swept key, with its name: its value at the point. Numbers with units \
         are in s, bit/s, B, packets or BDP.",
    ),
    field("error", "string or null", "Why the run failed; null if it has a result."),
    field("label", "string or null", "Name of the protocol in tables and plots."),
    field("trace_hash", "string or null", "16 hexadecimal digits."),
    field("flow_count", "int64 or null", "Number of flows."),
    field("completed_flows", "int64 or null", "Flows that completed."),
    field("dropped_packets", "int64 or null", "Packets dropped, for any reason."),
    field("event_count", "int64 or null", "Events handled."),
    field("packet_hops", "int64 or null", "Packets serialised, counted on each link."),
    field("ended_s", "double or null", "Simulated time at the end, in s."),
    field("wall_s", "double or null", "Wall-clock time of the event loop, in s."),
    field("cpu_s", "double or null", "CPU time of the event loop, in s."),
    field(
        "utilisation",
        "double or null",
        "Busy share of the busiest link between routers, in one direction.",
    ),
    field("afct_ratio", "double or null", "AFCT divided by that of the fluid reference."),
    field(
        "trace_utilisation",
        "double or null",
        "Of the busiest link that follows a trace: bytes sent in the window by bytes offered.",
    ),
    field(
        "first_class_goodput_share",
        "double or null",
        "Goodput of the flows of the first flow's class, by that of all.",
    ),
    field(
        "first_class_delay_p95_ms",
        "double or null",
        "95th percentile of the one-way delay of data packets of that class, within 3 %.",
    ),
    field(
        "first_class_retransmit_share",
        "double or null",
        "Retransmitted packets with payload by those sent, of that class, whole run.",
    ),
];

const DELAYS: &[FieldDoc] = &[
    RUN_PROTOCOL,
    SEED,
    field("class", "string", "Class of the flows."),
    field("from_ms", "double", "Shortest delay of the bucket, in ms."),
    field("to_ms", "double", "Longest delay of the bucket, in ms."),
    field("packets", "int64", "Data packets with a delay in the bucket."),
];

const SERIES: &[FieldDoc] = &[
    RUN_PROTOCOL,
    SEED,
    field("t_ns", "int64", "Simulated time in ns."),
    field("entity", "string", "What the value belongs to: see below."),
    field("metric", "string", "Name of the series: see below."),
    field("value", "double", "The value."),
    field("unit", "string", "Its unit; empty for a plain number."),
];

/// Entities of `series.parquet`.
pub const ENTITIES: &[[&str; 2]] = &[
    ["flow/N", "Flow N, from 1, and its first path, from the sender's first packet to its end."],
    ["flow/N/P", "Path P of flow N, from 2."],
    ["class/NAME", "The flows of a class, at samples before which data packets arrived."],
    ["port/A-B", "The port that feeds the link from A to B, once something has waited there."],
    ["port/A-B/flow/N", "Flow N at a port of an INRPP router, in runs of at most 50 flows."],
];

/// The object that `run --json` prints and `summary.json` holds. Metrics have pages of their own,
/// and the keys of `per_flow` are the columns of `flows.parquet`.
pub const JSON: &[FieldDoc] = &[
    field(".results_version", "integer", "Version of this format."),
    field(".forebay", "string", "Version of Forebay."),
    field(".scenario", "string", "Name of the scenario, as given."),
    field(".runs", "list", "Completed runs, by protocol, then by seed."),
    field(".runs[].protocol", "string", "Protocol of flows that name none."),
    field(
        ".runs[].label",
        "string",
        "Its name in tables and plots, with parameters that differ from its paper.",
    ),
    field(".runs[].seed", "integer", "Seed."),
    field(".runs[].trace_hash", "string", "16 hexadecimal digits."),
    field(".runs[].events", "integer", "Events handled."),
    field(".runs[].packet_hops", "integer", "Packets serialised, counted on each link."),
    field(".runs[].wall_s", "number", "Wall-clock time of the event loop, in s."),
    field(".runs[].cpu_s", "number", "CPU time of the event loop in all threads, in s."),
    field(".runs[].threads", "integer", "Threads used."),
    field(".runs[].fewer_threads", "optional string", "Why there are fewer than requested."),
    field(".runs[].windows", "optional integer", "Sync windows of a run in several threads."),
    field(
        ".runs[].work_cpu_s",
        "optional number",
        "CPU time spent on events in all threads, in s.",
    ),
    field(
        ".runs[].critical_path_s",
        "optional number",
        "Sum over windows of the most loaded thread's work, in s.",
    ),
    field(".runs[].sync_share", "optional number", "Share of CPU time not spent on events."),
    field(
        ".runs[].memory.need_mib",
        "number",
        "Estimated memory of the run, the program included.",
    ),
    field(".runs[].memory.mostly", "string", "What takes most of it."),
    field(".runs[].ended_s", "number", "Simulated time at the end, in s."),
    field(".runs[].flows", "integer", "Number of flows."),
    field(".runs[].completed", "integer", "Flows that completed."),
    field(
        ".runs[].drops.REASON",
        "integer",
        "Packets dropped for a reason; `full` is always present.",
    ),
    field(
        ".runs[].metrics.METRIC",
        "number, null or object",
        "See [metrics](metrics.md); metrics by link or class are objects.",
    ),
    field(
        ".runs[].per_flow",
        "list",
        "One object per flow, with the columns of `flows.parquet` from `id` on.",
    ),
    field(
        ".runs[].interfaces",
        "optional list",
        "Ports of INRPP routers that left the state P or ignored notices.",
    ),
    field(".runs[].interfaces[].port", "string", "Directed link."),
    field(
        ".runs[].interfaces[].first_entered_s.STATE",
        "number",
        "When it first entered a state, in s.",
    ),
    field(".runs[].interfaces[].entries.STATE", "integer", "How often it entered a state."),
    field(".runs[].interfaces[].highest_cache_bytes", "integer", "Maximum bytes in its cache."),
    field(
        ".runs[].interfaces[].cache_limits_bytes",
        "list of 3",
        "Low mark, high mark and size of its cache.",
    ),
    field(".runs[].interfaces[].cache_drops", "integer", "Packets that its cache had no room for."),
    field(".runs[].interfaces[].offered_bytes", "integer", "Wire bytes offered to it."),
    field(".runs[].interfaces[].detoured_bytes", "integer", "Of those, bytes sent on detours."),
    field(
        ".runs[].interfaces[].ignored_notices",
        "integer",
        "Notices from the other end of the link that were forged, or not empty though from hosts.",
    ),
    field(".runs[].reference.afct_s", "number or null", "AFCT in the fluid reference."),
    field(".runs[].reference.kind", "string", "\"exact\", \"approx\" or \"none\"."),
    field(".runs[].reference.why", "string", "Why it is not exact; else empty."),
    field(".runs[].reference.mode", "string", "\"single-path\", \"pooled\" or \"mixed\"."),
    field(
        ".runs[].reference.afct_ratio",
        "number or null",
        "AFCT of the run divided by that of the reference.",
    ),
    field(".runs[].reference.completed", "integer", "Flows that complete in the reference."),
    field(".runs[].reference.jain_goodput", "number or null", "Its Jain's index."),
    field(".runs[].reference.goodput_bps", "number or null", "Its goodput."),
    field(".runs[].reference.cpu_s", "number", "CPU time that it took, in s."),
    field(
        ".runs[].reference.per_flow_fct_s",
        "list",
        "Completion time per flow; null if it does not complete.",
    ),
    field(
        ".runs[].wire.priority",
        "optional string",
        "How threads of a run over real interfaces were scheduled: \"fifo\" or \"ordinary\".",
    ),
    field(".runs[].wire.late_p50_us", "optional number", "Lateness of packets that left, median."),
    field(".runs[].wire.late_p99_us", "optional number", "The same, 99th percentile."),
    field(".runs[].wire.late_max_us", "optional number", "The same, maximum."),
    field(
        ".runs[].wire.late_us",
        "optional list of lists",
        "Distribution of the lateness: from and to, in us, and the number of packets.",
    ),
    field(".runs[].wire.sent_packets", "optional integer", "Packets that left over wires."),
    field(
        ".runs[].wire.missing_packets",
        "optional integer",
        "Packets that were sent and did not arrive, those on their way at the end included.",
    ),
    field(
        ".runs[].wire.refused.REASON",
        "optional integer",
        "Packets that interfaces refused, dropped or damaged.",
    ),
    field(
        ".runs[].wire.held_back_share",
        "optional number",
        "Share of arrivals that were executed over 1 ms later than they arrived.",
    ),
    field(
        ".runs[].wire.behind_share",
        "optional number",
        "Share of the run in which something due at a node was over 5 ms late, of the latest node.",
    ),
    field(
        ".runs[].wire.foreign_packets",
        "optional integer",
        "Packets that came over links and no node had sent there; without hosts of the kernel.",
    ),
    field(
        ".runs[].wire.replayed",
        "optional boolean",
        "Whether the machines did the same again in a replay.",
    ),
    field(
        ".runs[].wire.unfit",
        "optional list of strings",
        "Why the run is no evidence of what the protocol does; empty if it is.",
    ),
    field(".runs[].notes", "optional list of strings", "Notes about the run."),
    field(".aggregate", "list", "One object per protocol."),
    field(".aggregate[].protocol", "string", "Protocol."),
    field(".aggregate[].label", "string", "As in runs."),
    field(".aggregate[].seeds", "list of integers", "Seeds that finished."),
    field(".aggregate[].flows", "integer", "Flows in all these runs."),
    field(".aggregate[].completed", "integer", "Completed flows in all these runs."),
    field(".aggregate[].skipped", "optional integer", "Flows that never started."),
    field(
        ".aggregate[].drops.REASON",
        "object",
        "An estimate: `mean`, `ci95` (two numbers or null), `n` (seeds with a value).",
    ),
    field(
        ".aggregate[].metrics.METRIC",
        "object",
        "An estimate for each metric that is one number.",
    ),
    field(".aggregate[].utilisation.LINK", "object", "An estimate for each directed link."),
    field(
        ".aggregate[].trace_utilisation.LINK",
        "optional object",
        "The same for links with a trace.",
    ),
    field(".aggregate[].ce_marks_by_link.LINK", "optional object", "The same for CE marks."),
    field(".aggregate[].by_class.CLASS", "optional object", "Estimates of the metrics of a class."),
    field(".aggregate[].reference", "object", "Estimates of `afct_s`, `afct_ratio` and more."),
    field(".paired", "list", "Differences from the baseline, seed by seed; empty with one seed."),
    field(".paired[].protocol", "string", "Protocol."),
    field(".paired[].baseline", "string", "Protocol that is subtracted."),
    field(".paired[].seeds", "list of integers", "Seeds with both runs."),
    field(
        ".paired[].GROUP",
        "object",
        "`drops`, `metrics`, `utilisation`, `by_class` and `reference` as in `aggregate`: \
         estimates of the differences.",
    ),
    field(".expectations", "list", "One object per expectation and protocol."),
    field(".expectations[].expect", "integer", "Number of the expectation, from 0."),
    field(".expectations[].name", "optional string", "Its name."),
    field(".expectations[].protocol", "string", "Protocol."),
    field(".expectations[].metric", "string", "Metric."),
    field(".expectations[].class", "optional string", "Class of flows."),
    field(".expectations[].link", "optional string", "Directed link."),
    field(".expectations[].op", "string", "Comparison."),
    field(
        ".expectations[].expected",
        "list",
        "One number in the unit of the metric; two for \"within\".",
    ),
    field(".expectations[].over", "string or object", "How seeds combine."),
    field(".expectations[].seeds", "list of integers", "Seeds that finished."),
    field(".expectations[].value", "number or null", "The value compared."),
    field(
        ".expectations[].seed",
        "optional integer",
        "The seed that has it, for \"min\" and \"max\".",
    ),
    field(".expectations[].failing_seeds", "optional list", "Seeds that fail by themselves."),
    field(".expectations[].status", "string", "\"passes\", \"fails\" or \"unchecked\"."),
    field(
        ".expectations[].why",
        "optional string",
        "Why there is no value, or why it was not checked.",
    ),
    field(".memory.jobs", "integer", "Runs that went in parallel."),
    field(".memory.fewer_jobs", "optional string", "Why there were fewer than requested."),
    field(".memory.need_mib", "number", "Estimate for the largest run."),
    field(".memory.available_mib", "number or null", "Available before the first run."),
    field(".memory.peak_mib", "number or null", "Peak of the process, measured."),
    field(".memory.peak_by_jobs_mib", "number or null", "That peak divided by `jobs`."),
    field(".missing", "list", "Runs without a result: `protocol`, `seed`, `why`."),
    field(".notes", "list of strings", "Notes about all runs."),
];
