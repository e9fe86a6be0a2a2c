//! The names of files in a folder of results.

use crate::error::StoreError;
use forebay_report::REPORT_NAME;
use std::fs;
use std::path::Path;

/// Files that a folder of results may hold.
pub(super) const OWN_FILES: [&str; 9] = [
    "scenario.toml",
    "summary.json",
    "flows.parquet",
    "delays.parquet",
    "series.parquet",
    REPORT_NAME,
    "sweep.parquet",
    "sweep.json",
    ROWS,
];
/// Rows of a sweep until it is finished.
pub(super) const ROWS: &str = "rows.jsonl";
const CAPTURE_SUFFIX: &str = ".pcapng";

/// The name of the copy of a trace file, from 1 on.
pub(super) fn trace_name(number: usize) -> String {
    format!("channel-{number}.trace")
}

pub(super) fn is_trace(name: &str) -> bool {
    name.starts_with("channel-") && name.ends_with(".trace")
}

/// The name of the log of the directed link called `link`.
pub(super) fn link_log_name(protocol: &str, seed: u64, link: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-._".contains(c) { c } else { '-' };
    let link: String = link.chars().map(plain).collect();
    format!("mm-link-{protocol}-{seed}-{link}.log")
}

/// True of the name of a log of a link of that run.
pub(super) fn is_link_log(name: &str, protocol: &str, seed: u64) -> bool {
    name.starts_with(&format!("mm-link-{protocol}-{seed}-")) && name.ends_with(".log")
}

/// True of the name of a file of results.
pub(super) fn is_own(name: &str) -> bool {
    OWN_FILES.contains(&name)
        || is_trace(name)
        || name.starts_with("packets") && name.ends_with(CAPTURE_SUFFIX)
        || name.starts_with("flow-monitor-") && name.ends_with(".xml")
        || name.starts_with("mm-link-") && name.ends_with(".log")
}

/// Names of what a folder holds, in order.
pub(super) fn entries(folder: &Path) -> Result<Vec<String>, StoreError> {
    let read = || -> std::io::Result<Vec<String>> {
        let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
        let names = names.map(|name| name.map(|n| n.to_string_lossy().into_owned()));
        names.collect()
    };
    let mut names = read().map_err(StoreError::io("read", folder))?;
    names.sort();
    Ok(names)
}
