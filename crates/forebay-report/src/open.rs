//! Opens files of results. One in a later version of the format is refused by name, not by the key
//! or column that happens to be missed first.

use crate::error::ReportError;
use crate::schema::{RESULTS_VERSION, VERSION_KEY};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::path::Path;

/// What every JSON file of results says of itself. Results from before there was a version of the
/// format say nothing.
#[derive(Deserialize)]
struct Head {
    results_version: Option<u32>,
    forebay: Option<String>,
}

/// The contents of a JSON file of results. Errors if it cannot be read, has a later version of the
/// format, or is no such file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ReportError> {
    let text = std::fs::read(path).map_err(ReportError::io("read", path))?;
    let wrong = ReportError::not_results(path);
    let head: Head = serde_json::from_slice(&text).map_err(&wrong)?;
    refuse_later(path, head.results_version, head.forebay.as_deref())?;
    serde_json::from_slice(&text).map_err(wrong)
}

/// A Parquet file of results. Errors as [`read_json`].
pub fn open_table(path: &Path) -> Result<SerializedFileReader<File>, ReportError> {
    let file = File::open(path).map_err(ReportError::io("read", path))?;
    let reader = SerializedFileReader::new(file).map_err(ReportError::parquet(path))?;
    let said = reader.metadata().file_metadata().key_value_metadata();
    let value = |key: &str| {
        let pair = said?.iter().find(|pair| pair.key == key)?;
        pair.value.as_deref()
    };
    let version = value(VERSION_KEY).map(str::parse).transpose();
    let version = version.map_err(|error| ReportError::NotResults {
        path: path.to_path_buf(),
        why: format!("has a {VERSION_KEY} that is no version ({error})"),
    })?;
    refuse_later(path, version, value("forebay"))?;
    Ok(reader)
}

fn refuse_later(
    path: &Path,
    version: Option<u32>,
    made_by: Option<&str>,
) -> Result<(), ReportError> {
    match version {
        Some(found) if found > RESULTS_VERSION => {
            let made_by = made_by.unwrap_or("of an unknown version").to_string();
            Err(ReportError::Later { path: path.to_path_buf(), made_by, found })
        }
        _ => Ok(()),
    }
}
