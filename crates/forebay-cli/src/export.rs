//! `forebay export`: a folder of results in the formats of other programs.

use crate::args::{ExportArgs, ExportTo};
use crate::failure::Failure;
use forebay_lab::report::ReportError;
use forebay_lab::{ExportError, ExportFormat, StoreError};
use std::io::Write;

/// Write the files and say where they are.
pub fn export(args: &ExportArgs, out: &mut impl Write) -> Result<(), Failure> {
    let format = match args.format {
        ExportTo::Csv => ExportFormat::Csv,
        ExportTo::Qlog => ExportFormat::Qlog,
    };
    let files = forebay_lab::export(format, &args.folder, &args.out).map_err(failure)?;
    for file in files {
        writeln!(out, "{}", args.out.join(file).display())?;
    }
    Ok(())
}

fn failure(error: ExportError) -> Failure {
    let hint = "hint: expected a folder that `forebay run --out` wrote";
    match &error {
        ExportError::Read(
            ReportError::Io { what: "read", .. } | ReportError::NotResults { .. },
        )
        | ExportError::Parquet { .. } => Failure::input(format!("{error}\n{hint}")),
        ExportError::Write(
            StoreError::Occupied { .. } | StoreError::Results { .. } | StoreError::InUse { .. },
        ) => Failure::input(format!("--out: {error}")),
        ExportError::Read(ReportError::Later { .. }) | ExportError::Nothing { .. } => {
            Failure::input(error)
        }
        _ => Failure::run(error),
    }
}
