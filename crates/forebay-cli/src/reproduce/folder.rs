//! `reproduce --out DIR`: the folder with the comparison, and below it the results of each set-up.

use super::{markdown, rows_of};
use crate::failure::Failure;
use forebay_lab::StoreError;
use forebay_lab::report::REPORT_NAME;
use forebay_lab::reproduce::{ExperimentHead, Reproduction, ReproductionFolder};
use std::path::Path;

/// The comparison for people.
pub const TABLES: &str = "comparison.md";
/// The same as `--json` prints.
const ROWS: &str = "rows.json";

/// Begin the folder.
pub fn create(path: &Path) -> Result<ReproductionFolder, Failure> {
    if path.join(ROWS).exists() {
        let what = "exists and holds an earlier comparison: choose another folder, or remove it";
        return Err(Failure::input(format!("--out: `{}` {what}", path.display())));
    }
    ReproductionFolder::create(path).map_err(|error| {
        let hint = match error {
            StoreError::Results { .. } => "\nhint: choose a new folder: this one stays as it is",
            _ => "",
        };
        Failure::input(format!("--out: {error}{hint}"))
    })
}

/// Write the comparison, and put the folder in its place.
pub fn write(folder: ReproductionFolder, compared: &Reproduction) -> Result<(), Failure> {
    let rows = serde_json::to_string_pretty(compared).expect("rows are numbers and texts");
    folder.write(ROWS, &(rows + "\n")).map_err(Failure::run)?;
    folder.write(TABLES, &tables(compared)).map_err(Failure::run)?;
    folder.finish().map_err(Failure::run)
}

fn tables(compared: &Reproduction) -> String {
    let version = compared.forebay;
    let mut text = format!("# Comparison\n\nBy Forebay {version}; all rows are in {ROWS}.\n");
    for experiment in &compared.experiments {
        let ExperimentHead { name, title, source, .. } = experiment;
        text.push_str(&format!("\n## {name}\n\n{title}\n\nSource: {source}\n\n"));
        let rows = rows_of(compared, experiment);
        text.push_str(&markdown::of_experiment(experiment, &rows));
        text.push_str("\nPages of the set-ups:\n\n");
        for folder in experiment.setups.iter().flat_map(|setup| &setup.folders) {
            let page = ReproductionFolder::place_of(name, folder).join(REPORT_NAME);
            text.push_str(&format!("- [{folder}]({})\n", page.display()));
        }
    }
    text
}
