//! `flows.parquet`: one row per flow of each run.

use super::table::{Column, TableFile, count};
use crate::error::StoreError;
use crate::metrics::FlowResult;
use crate::result::RunResult;
use std::path::PathBuf;

/// Rows in a row group: few enough that a reader can skip, and enough that its dictionaries pay.
const GROUP_ROWS: usize = 1 << 16;

/// A flow and the run that it was in.
type RunFlow<'a> = (&'a RunResult, &'a FlowResult);

/// Write the flows of all runs.
pub(super) fn write(path: PathBuf, runs: &[RunResult]) -> Result<(), StoreError> {
    let flows = runs.iter().flat_map(|run| run.per_flow.iter().map(move |flow| (run, flow)));
    let flows: Vec<RunFlow<'_>> = flows.collect();
    let mut table = TableFile::create(path, &columns(&[]))?;
    for group in flows.chunks(GROUP_ROWS) {
        table.append(&columns(group).map(|(_, column)| column))?;
    }
    table.close()
}

pub(super) fn columns(flows: &[RunFlow<'_>]) -> [(&'static str, Column); 32] {
    let counts = |of: fn(&FlowResult) -> u64| Column::counts(flows.iter().map(|(_, f)| of(f)));
    let reals = |of: fn(&FlowResult) -> Option<f64>| {
        Column::SomeReals(flows.iter().map(|(_, f)| of(f)).collect())
    };
    let texts = |of: fn(&FlowResult) -> &str| Column::texts(flows.iter().map(|(_, f)| of(f)));
    let bytes = flows.iter().map(|(_, f)| f.bytes.map(count));
    [
        ("run_protocol", Column::texts(flows.iter().map(|(run, _)| &run.protocol))),
        // A seed may use all 64 bits; as a signed number it has the same ones.
        ("seed", Column::Integers(flows.iter().map(|(run, _)| run.seed as i64).collect())),
        ("id", counts(|f| f.id.into())),
        ("src", texts(|f| &f.src)),
        ("dst", texts(|f| &f.dst)),
        ("protocol", texts(|f| &f.protocol)),
        ("class", texts(|f| &f.class)),
        ("start_s", reals(|f| f.start_s)),
        ("bytes", Column::SomeIntegers(bytes.collect())),
        ("received_bytes", counts(|f| f.received_bytes)),
        ("fct_s", reals(|f| f.fct_s)),
        ("handshake_s", reals(|f| f.handshake_s)),
        ("goodput_bps", reals(|f| f.goodput_bps)),
        ("rtt_mean_ms", reals(|f| f.rtt_mean_ms)),
        ("rtt_p95_ms", reals(|f| f.rtt_p95_ms)),
        ("one_way_delay_mean_ms", reals(|f| f.one_way_delay_mean_ms)),
        ("one_way_delay_p50_ms", reals(|f| f.one_way_delay_p50_ms)),
        ("one_way_delay_p95_ms", reals(|f| f.one_way_delay_p95_ms)),
        ("one_way_delay_p99_ms", reals(|f| f.one_way_delay_p99_ms)),
        ("throughput_mean_bps", reals(|f| f.throughput_mean_bps)),
        ("throughput_p5_bps", reals(|f| f.throughput_p5_bps)),
        ("throughput_p50_bps", reals(|f| f.throughput_p50_bps)),
        ("throughput_p95_bps", reals(|f| f.throughput_p95_bps)),
        ("data_packets", counts(|f| f.data_packets)),
        ("retransmits", counts(|f| f.retransmits)),
        ("lost_packets", counts(|f| f.lost_packets)),
        ("timeouts", counts(|f| f.timeouts)),
        ("ce_received", counts(|f| f.ce_received)),
        ("ecn_responses", counts(|f| f.ecn_responses)),
        ("held_by_receive_window", reals(|f| f.held_by_receive_window)),
        ("held_by_send_buffer", reals(|f| f.held_by_send_buffer)),
        ("end", texts(|f| f.end)),
    ]
}
