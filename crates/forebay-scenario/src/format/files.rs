//! Where the files come from that a scenario names.

use crate::format::input;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the files come from that a scenario names: CSV files and delivery traces.
///
/// A program without a file system gives them with the text of the scenario:
/// `[("x.trace", "0\n12\n")].into_iter().collect::<Files>()`.
#[derive(Clone, Debug, Default)]
pub enum Files {
    /// The folder of the scenario file, or the current one for a built-in scenario, for a text and
    /// for standard input.
    #[default]
    Beside,
    /// This folder.
    In(PathBuf),
    /// These bytes, by the path that the scenario gives; no file is opened.
    Given(Arc<BTreeMap<String, Vec<u8>>>),
}

impl<K: Into<String>, V: Into<Vec<u8>>> FromIterator<(K, V)> for Files {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(files: I) -> Files {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes.into()));
        Files::Given(Arc::new(files.collect()))
    }
}

impl Files {
    /// The same; those beside the scenario file are in `folder`.
    pub(crate) fn beside(&self, folder: &Path) -> Files {
        match self {
            Files::Beside => Files::In(folder.to_path_buf()),
            other => other.clone(),
        }
    }
    /// The path of a file as messages have it.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        match self {
            Files::In(folder) => folder.join(file),
            Files::Beside | Files::Given(_) => PathBuf::from(file),
        }
    }
    /// Open a file. Errors as [`input::open`] does, and if it is not among those given.
    pub(crate) fn open(&self, file: &str) -> io::Result<Box<dyn Read + '_>> {
        match self {
            Files::Given(files) => match files.get(file) {
                Some(bytes) => Ok(Box::new(&bytes[..])),
                None => Err(io::ErrorKind::NotFound.into()),
            },
            Files::Beside | Files::In(_) => Ok(Box::new(input::open(&self.path(file))?)),
        }
    }
    /// Open a file that can be read again: None if there is none, and for a pipe.
    pub(crate) fn open_again(&self, file: &str) -> Option<Box<dyn Read + '_>> {
        let is_file = matches!(self, Files::Given(_)) || self.path(file).is_file();
        is_file.then(|| self.open(file).ok()).flatten()
    }
}
