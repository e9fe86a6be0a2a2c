//! A report cannot be made.

use std::path::{Path, PathBuf};

/// A report cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The operating system refused.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried: "read", "write", "rename".
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is there and is not what a run writes.
    #[error("`{}` {why}: a folder that `forebay run --out` wrote is expected", path.display())]
    NotResults {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file has a later version of the format than this program reads.
    #[error(
        "`{}` has version {found} of the format of results and was written by Forebay {made_by}; \
         this is Forebay {}, which reads versions up to {}\n\
         hint: read it with the version that wrote it, or with a later one",
        path.display(), env!("CARGO_PKG_VERSION"), crate::schema::RESULTS_VERSION
    )]
    Later {
        /// The file.
        path: PathBuf,
        /// The version of Forebay that wrote it.
        made_by: String,
        /// The version of its format.
        found: u32,
    },
    /// The same results are to be compared with themselves.
    #[error(
        "`{}` and `{}` are the same folder: different folders are expected",
        first.display(), second.display()
    )]
    SameFolder {
        /// As it was given first.
        first: PathBuf,
        /// As it was given again.
        second: PathBuf,
    },
    /// There is nothing to show.
    #[error("no folder: one or more that `forebay run --out` wrote are expected")]
    NoFolder,
    /// The page would be written into a folder of results.
    #[error(
        "`{}` is inside the folder of results `{}`: a file outside of it is expected",
        path.display(), folder.display()
    )]
    Inside {
        /// The page.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// Where the page would be written there is something else.
    #[error(
        "`{}` is there and is no page that Forebay wrote: another name is expected",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Differences are wanted from a protocol that the results do not have.
    #[error("there is no protocol `{name}` in these results\nhint: one of: {}", known.join(", "))]
    Baseline {
        /// What was asked for.
        name: String,
        /// The protocols that there are; of several folders with the name of each.
        known: Vec<String>,
    },
    /// A Parquet file cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl ReportError {
    /// For `map_err`: trying `what` at `path`.
    pub(super) fn io(what: &'static str, path: &Path) -> impl Fn(std::io::Error) -> ReportError {
        let path = path.to_path_buf();
        move |source| ReportError::Io { what, path: path.clone(), source }
    }
    /// For `map_err`: reading the Parquet file at `path`.
    pub(super) fn parquet(path: &Path) -> impl Fn(parquet::errors::ParquetError) -> ReportError {
        let path = path.to_path_buf();
        move |error| ReportError::Parquet { path: path.clone(), why: error.to_string() }
    }
    /// For `map_err`: what is wrong with the file at `path`.
    pub(super) fn not_results<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> ReportError {
        let path = path.to_path_buf();
        move |error| ReportError::NotResults {
            path: path.clone(),
            why: format!("cannot be read ({error})"),
        }
    }
}
