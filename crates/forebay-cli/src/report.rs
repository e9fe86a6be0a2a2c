//! `forebay report`: the page of a folder of results, made again.

use crate::args::ReportArgs;
use crate::failure::Failure;
use forebay_lab::{ReportError, write_report};
use std::io::Write;

/// Make the page and say where it is.
pub fn report(args: &ReportArgs, out: &mut impl Write) -> Result<(), Failure> {
    let written = write_report(&args.folder);
    let path = written.map_err(|error| match error {
        ReportError::NotResults { .. } => Failure::input(error),
        ReportError::Io { what: "read", .. } => Failure::input(format!(
            "{error}\nhint: expected a folder that `forebay run --out` wrote"
        )),
        _ => Failure::run(error),
    })?;
    writeln!(out, "{}", path.display())?;
    Ok(())
}
