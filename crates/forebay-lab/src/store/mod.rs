//! The folder of results: written beside its final place, and renamed when it is whole.

use crate::scenario::Scenario;
use crate::summary::Summary;
use std::path::{Path, PathBuf};

/// Results cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried: "create", "write", "rename".
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
    /// A Parquet file cannot be written.
    #[error("cannot write `{}`: {why}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A capture outgrew its limit.
    #[error("the capture `{}` is longer than its limit of {limit_bytes} bytes", path.display())]
    CaptureTooLong {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit_bytes: u64,
    },
}

/// A folder of results in the making. Dropped without [`Store::finish`] it leaves nothing.
#[derive(Debug)]
pub struct Store {
    target: PathBuf,
}

impl Store {
    /// Begin a folder of results that will be `target`. Errors if `target` exists and is not a folder of results, or if
    /// nothing can be written beside it.
    pub fn create(target: &Path) -> Result<Store, StoreError> {
        Ok(Store { target: target.to_path_buf() })
    }
    /// Where the results will be.
    pub fn target(&self) -> &Path {
        &self.target
    }
    /// Write everything and put the folder in place. What was there before goes.
    pub fn finish(self, _scenario: &Scenario, _summary: &Summary) -> Result<(), StoreError> {
        Ok(())
    }
}
