//! `flows.parquet`: one row per flow of each run.

use super::error::StoreError;
use super::table::{Column, TableFile, count};
use crate::metrics::FlowResult;
use crate::run::RunResult;
use std::path::PathBuf;

/// Write the flows of all runs, a row group per run.
pub(super) fn write(path: PathBuf, runs: &[RunResult]) -> Result<(), StoreError> {
    let mut table = TableFile::create(path, &columns("", 0, &[]))?;
    for run in runs.iter().filter(|run| !run.per_flow.is_empty()) {
        let columns = columns(&run.protocol, run.seed, &run.per_flow);
        table.append(&columns.map(|(_, column)| column))?;
    }
    table.close()
}

fn columns(protocol: &str, seed: u64, flows: &[FlowResult]) -> [(&'static str, Column); 18] {
    let counts = |of: fn(&FlowResult) -> u64| Column::counts(flows.iter().map(of));
    let reals =
        |of: fn(&FlowResult) -> Option<f64>| Column::SomeReals(flows.iter().map(of).collect());
    let texts = |of: fn(&FlowResult) -> &str| Column::texts(flows.iter().map(of));
    [
        ("run_protocol", Column::texts(flows.iter().map(|_| protocol))),
        // A seed may use all 64 bits; as a signed number it has the same ones.
        ("seed", Column::Integers(vec![seed as i64; flows.len()])),
        ("id", counts(|f| f.id.into())),
        ("src", texts(|f| &f.src)),
        ("dst", texts(|f| &f.dst)),
        ("protocol", texts(|f| &f.protocol)),
        ("start_s", Column::Reals(flows.iter().map(|f| f.start_s).collect())),
        ("bytes", Column::SomeIntegers(flows.iter().map(|f| f.bytes.map(count)).collect())),
        ("received_bytes", counts(|f| f.received_bytes)),
        ("fct_s", reals(|f| f.fct_s)),
        ("goodput_bps", reals(|f| f.goodput_bps)),
        ("rtt_mean_ms", reals(|f| f.rtt_mean_ms)),
        ("rtt_p95_ms", reals(|f| f.rtt_p95_ms)),
        ("data_packets", counts(|f| f.data_packets)),
        ("retransmits", counts(|f| f.retransmits)),
        ("lost_packets", counts(|f| f.lost_packets)),
        ("timeouts", counts(|f| f.timeouts)),
        ("end", texts(|f| f.end)),
    ]
}
