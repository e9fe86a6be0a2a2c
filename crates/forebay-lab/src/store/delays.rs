//! `delays.parquet`: how one-way delays are distributed, in buckets 2 to 3 % wide.
//!
//! Columns `run_protocol`, `seed`, `class`, `from_ms`, `to_ms`, `packets`; a row for each bucket
//! with packets, in order of run, class, delay. They are the packets that the metrics
//! `one_way_delay_*` of the class count. The first bucket begins at the shortest delay, the last
//! ends at the longest.

use super::table::{Column, TableFile};
use crate::error::StoreError;
use crate::result::RunResult;
use forebay_base::Span;
use std::path::PathBuf;

/// A bucket, and whose it is.
pub(super) struct Bucket<'a> {
    run: &'a RunResult,
    class: &'a str,
    ends: [Span; 2],
    packets: u64,
}

/// Write the distributions of all runs.
pub(super) fn write(path: PathBuf, runs: &[RunResult]) -> Result<(), StoreError> {
    let mut table = TableFile::create(path, &columns(&[]))?;
    for run in runs {
        let buckets = run.one_way.iter().flat_map(|(class, delays)| {
            let buckets = delays.buckets();
            buckets.map(move |(from, to, packets)| Bucket { run, class, ends: [from, to], packets })
        });
        let buckets: Vec<Bucket<'_>> = buckets.collect();
        if !buckets.is_empty() {
            table.append(&columns(&buckets).map(|(_, column)| column))?;
        }
    }
    table.close()
}

pub(super) fn columns(buckets: &[Bucket<'_>]) -> [(&'static str, Column); 6] {
    let milliseconds = |end: usize| {
        let of = |bucket: &Bucket<'_>| bucket.ends[end].as_nanos() as f64 / 1e6;
        Column::Reals(buckets.iter().map(of).collect())
    };
    [
        ("run_protocol", Column::texts(buckets.iter().map(|of| &of.run.protocol))),
        // A seed may use all 64 bits; as a signed number it has the same ones.
        ("seed", Column::Integers(buckets.iter().map(|of| of.run.seed as i64).collect())),
        ("class", Column::texts(buckets.iter().map(|of| of.class))),
        ("from_ms", milliseconds(0)),
        ("to_ms", milliseconds(1)),
        ("packets", Column::counts(buckets.iter().map(|of| of.packets))),
    ]
}
