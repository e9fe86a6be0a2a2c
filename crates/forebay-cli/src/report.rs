//! `forebay report`: the page of a folder of results, made again, or of several compared.

use crate::args::ReportArgs;
use crate::failure::Failure;
use forebay_lab::report::{
    ReportError, write_comparison_against, write_report_against, write_sweep_report,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the page of several folders goes.
const COMPARISON: &str = "compare.html";

/// Make the page and say where it is.
pub fn report(args: &ReportArgs, out: &mut impl Write) -> Result<(), Failure> {
    let baseline = args.baseline.as_deref();
    refuse_for_sweeps(args)?;
    let path =
        written(&args.folders, args.out.as_deref(), baseline).map_err(|error| match error {
            ReportError::NotResults { .. }
            | ReportError::Later { .. }
            | ReportError::SameFolder { .. }
            | ReportError::NoFolder
            | ReportError::Inside { .. }
            | ReportError::Foreign { .. } => Failure::input(error),
            ReportError::Baseline { .. } => Failure::input(format!("--baseline: {error}")),
            ReportError::Io { what: "read", .. } | ReportError::Parquet { .. } => Failure::input(
                format!("{error}\nhint: expected a folder that `forebay run --out` wrote"),
            ),
            _ => Failure::run(error),
        })?;
    writeln!(out, "{}", path.display())?;
    Ok(())
}

/// The page of a sweep is made again in its folder, alone.
fn refuse_for_sweeps(args: &ReportArgs) -> Result<(), Failure> {
    let sweep = args.folders.iter().find(|folder| is_sweep(folder));
    let option = match args {
        ReportArgs { out: Some(_), .. } => "--out",
        ReportArgs { baseline: Some(_), .. } => "--baseline",
        ReportArgs { folders, .. } if folders.len() > 1 => "a comparison",
        _ => return Ok(()),
    };
    sweep.map_or(Ok(()), |folder| {
        let folder = folder.display();
        Err(Failure::input(format!(
            "`{folder}` is a sweep: {option} is not for it\nhint: `forebay report {folder}` makes \
             its page again, in the folder; `forebay run --baseline` names what it compares with"
        )))
    })
}

fn is_sweep(folder: &Path) -> bool {
    folder.join("sweep.json").is_file()
}

fn written(
    folders: &[PathBuf],
    out: Option<&Path>,
    baseline: Option<&str>,
) -> Result<PathBuf, ReportError> {
    match (folders, out) {
        ([folder], None) if is_sweep(folder) => write_sweep_report(folder),
        ([folder], None) => write_report_against(folder, baseline),
        (several, out) => {
            let path = out.unwrap_or(Path::new(COMPARISON)).to_path_buf();
            write_comparison_against(several, &path, baseline)?;
            Ok(path)
        }
    }
}
