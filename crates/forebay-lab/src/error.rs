//! Why results cannot be written.

use forebay_report::ReportError;
use forebay_run::RunError;
use std::path::{Path, PathBuf};

/// Results cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried: "create", "write", "rename", "remove", "read".
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The folder is there and holds something that is not a result of Forebay.
    #[error("`{}` exists and {why}: choose another folder, or remove it", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The folder holds results, and they may not be replaced.
    #[error("`{}` holds results{}{}", path.display(), of(scenario), made_at(made.as_deref()))]
    Results {
        /// The folder.
        path: PathBuf,
        /// The scenario, as its user gave it; empty if the results do not say.
        scenario: String,
        /// When they were written: `2026-11-22 04:12 UTC`; None if the system does not report it.
        made: Option<String>,
    },
    /// Another process is writing results to the folder.
    #[error("process {process} is writing results to `{}`", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The number of the process.
        process: u32,
    },
    /// Another process is writing to the folder of a sweep.
    #[error("another process is writing to `{}`", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has rows of a sweep that was stopped.
    #[error("`{}` holds {finished} finished runs{}", path.display(), of(scenario))]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// The scenario, as its user gave it.
        scenario: String,
        /// Runs that it has.
        finished: u64,
    },
    /// The folder has rows of another sweep.
    #[error("`{}` holds another sweep: {why}", path.display())]
    OtherSweep {
        /// The folder.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// A Parquet file cannot be written.
    #[error("cannot write `{}`: {why}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The page that shows the results cannot be made.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The log of a link cannot be written.
    #[error(transparent)]
    LinkLog(#[from] LinkLogError),
    /// A capture outgrew its limit.
    #[error("the capture `{}` is longer than its limit of {limit_bytes} bytes", path.display())]
    CaptureTooLong {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit_bytes: u64,
    },
}

fn of(scenario: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let name: String = scenario.chars().take(200).map(plain).collect();
    if name.is_empty() { name } else { format!(" of `{name}`") }
}

fn made_at(made: Option<&str>) -> String {
    made.map_or_else(String::new, |made| format!(", made {made}"))
}

/// Why the log of a link cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the times when packets leave `{link}` are not known: {why}")]
pub struct LinkLogError {
    /// The directed link.
    pub link: String,
    /// What of it makes them so.
    pub why: &'static str,
}

impl StoreError {
    /// For `map_err`: trying `what` at `path`.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { what, path, source }
    }
    /// For `map_err`: writing the Parquet file at `path`.
    pub(crate) fn parquet(path: &Path) -> impl Fn(parquet::errors::ParquetError) -> StoreError {
        let path = path.to_path_buf();
        move |error| StoreError::Parquet { path: path.clone(), why: error.to_string() }
    }
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> RunError {
        RunError::Record(Box::new(error))
    }
}
