//! Folders of results in the formats of other programs.

mod csv;
mod qlog;

use crate::error::StoreError;
use crate::store::NewFolder;
use forebay_report::{ReportError, read_json};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A format of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Each Parquet file as comma-separated values (RFC 4180), with the same columns; a value that
    /// is missing is an empty field.
    Csv,
    /// A JSON text sequence (RFC 7464) for each path of each flow, with qlog's events
    /// `quic:recovery_metrics_updated` (draft-ietf-quic-qlog-quic-events): cwnd, ssthresh, RTT,
    /// bytes in flight, pacing rate.
    Qlog,
}

/// Results cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// They cannot be read.
    #[error(transparent)]
    Read(#[from] ReportError),
    /// A Parquet file of them cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: parquet::errors::ParquetError,
    },
    /// The files cannot be written.
    #[error(transparent)]
    Write(#[from] StoreError),
    /// The results hold nothing that the format has.
    #[error("`{}` has no {what}", folder.display())]
    Nothing {
        /// The folder.
        folder: PathBuf,
        /// What is not there.
        what: &'static str,
    },
}

/// What is read of `summary.json`.
#[derive(Deserialize)]
struct Results {
    forebay: String,
    scenario: String,
}

impl Results {
    fn read(folder: &Path) -> Result<Results, ReportError> {
        read_json(&folder.join("summary.json"))
    }
}

/// Write the results in `folder`, which `forebay run --out` made, as files of `format` into the new
/// folder `target`, which appears whole or not at all. Returns the names of the files.
/// Errors if `folder` holds no results or `target` is not free.
pub fn export(
    format: ExportFormat,
    folder: &Path,
    target: &Path,
) -> Result<Vec<String>, ExportError> {
    let sweep = folder.join("sweep.json").exists();
    if sweep && format == ExportFormat::Qlog {
        let (folder, what) = (folder.to_path_buf(), "flows, for it is a sweep");
        return Err(ExportError::Nothing { folder, what });
    }
    let results = if sweep { None } else { Some(Results::read(folder)?) };
    let new = NewFolder::create(target)?;
    let files = match (format, results) {
        (ExportFormat::Qlog, Some(results)) => qlog::write(folder, &results, &new)?,
        _ => csv::write(folder, &new)?,
    };
    new.finish()?;
    Ok(files)
}
