//! A scenario as it was run, with the delivery traces that it needs, in a folder.

use super::names::trace_name;
use crate::error::StoreError;
use forebay_scenario::traces::write_trace;
use forebay_scenario::{Scenario, TraceFile};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Write `scenario.toml`, beginning with these lines of comment, and the traces to `folder`.
pub(crate) fn write_copy(
    scenario: &Scenario,
    folder: &Path,
    comments: &[String],
) -> Result<(), StoreError> {
    let traces = scenario.trace_files();
    for (n, file) in (1..).zip(&traces) {
        write_file(&folder.join(trace_name(n)), |out| write_trace(&file.trace, out))?;
    }
    let beside = |file: &TraceFile| {
        let place = traces.iter().position(|known| known.path == file.path);
        trace_name(1 + place.expect("each file is among them"))
    };
    let copied = scenario.with_trace_paths(beside);
    write_file(&folder.join("scenario.toml"), |out| {
        comments.iter().try_for_each(|line| writeln!(out, "# {}", one_line(line)))?;
        writeln!(out)?;
        out.write_all(copied.to_toml().as_bytes())
    })
}

/// Write a file, to the disk.
pub(super) fn write_file(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let file = File::create(path).map_err(StoreError::io("create", path))?;
    let mut out = BufWriter::new(file);
    let written = content(&mut out).and_then(|()| out.flush());
    let synced = written.and_then(|()| out.get_ref().sync_all());
    synced.map_err(StoreError::io("write", path))
}

/// Text that a comment can hold.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
