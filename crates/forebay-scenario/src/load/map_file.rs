//! Map files by themselves, without a scenario.

use super::scenario_text::of_file;
use crate::format::error::ScenarioError;
use crate::format::input;
use crate::format::source::Sources;
use crate::resolve::maps;
use forebay_topology::{Map, ReadOptions};
use std::path::Path;

/// The map in a file. Errors, which name the line and what was expected, if it cannot be read or is
/// of no known format.
pub fn load_map(path: &str, options: &ReadOptions) -> Result<Map, ScenarioError> {
    let mut sources = Sources::default();
    let text = input::read_text(Path::new(path));
    let text = text.map_err(|error| of_file(path, &error).resolve(&sources))?;
    let source = sources.add(path, text);
    maps::parse(&sources, source, options).map_err(|fault| fault.resolve(&sources))
}
