//! `forebay merge`: shards of a sweep become one folder.

use crate::args::MergeArgs;
use crate::failure::Failure;
use forebay_lab::report::REPORT_NAME;
use forebay_lab::{MergeError, StoreError, merge as join};
use std::io::Write;

/// Merge, and say where the result is.
pub fn merge(args: &MergeArgs, out: &mut impl Write) -> Result<(), Failure> {
    let merged = join(&args.folders, &args.out, args.force).map_err(|error| match error {
        MergeError::Store(error @ StoreError::Results { .. }) => {
            let hint = "hint: choose another folder, or replace them with --force";
            Failure::input(format!("--out: {error}\n{hint}"))
        }
        MergeError::Store(StoreError::Io { .. }) => Failure::run(error),
        MergeError::Missing(_) => {
            let hint = "hint: each shard is made by `forebay run … --shard I/N --out DIR`";
            Failure::input(format!("{error}\n{hint}"))
        }
        error => Failure::input(error),
    })?;
    writeln!(out, "{} rows", merged.rows)?;
    for note in &merged.notes {
        writeln!(out, "note: {note}")?;
    }
    writeln!(out, "Results: {}", args.out.join(REPORT_NAME).display())?;
    Ok(())
}
