//! `report.html`: what happened in the runs of a folder of results, on one page that needs nothing
//! else.
//!
//! The way through the folder: `results` and `parquet_rows` read the files; `gather` sorts rows
//! into lines, which `downsample` keeps short; `panels` says which lines stand together in a plot
//! over time, `curves` and `charts` what is drawn over all runs; `data` turns them into JSON,
//! `tables` the rest into HTML; `page` puts them together with the script. The script draws what it
//! is given and knows no metric: a new plot is a few lines in `panels`. `network_drawing` draws the
//! network with what a run did to it.
//!
//! The page has no clock in it: the same results give the same bytes.

#![forbid(unsafe_code)]

mod axis;
mod charts;
mod compare;
mod curves;
mod data;
mod delays;
mod downsample;
mod error;
mod escape;
mod expectations;
mod figures;
mod gather;
mod look;
mod marker;
mod network;
mod network_drawing;
mod network_lanes;
mod network_loads;
mod network_ways;
mod octets;
mod open;
mod page;
mod paired;
mod panel;
mod panels;
mod parquet_rows;
mod published;
mod replace;
mod results;
mod scatter;
mod scenario_text;
pub mod schema;
mod series;
mod settings;
mod sweep;
mod tables;
mod texts;

pub use axis::{Axis, round_above};
pub use error::ReportError;
pub use forebay_metrics::{
    ClassMetrics, Counted, DifferenceRow, FlowMetrics, Hidden, METRICS, Means, MetricDoc, Metrics,
    OfLinks, Paired, RESULTS, ResultDoc, Row, RunValues, Runs, Shown, Unit, comparable,
    difference_rows, labels, rows, typical_sizes,
};
pub use network::Network;
pub use network_drawing::SVG_HEAD;
pub use open::{open_table, read_json};
pub use parquet_rows::{SeriesRow, read_series};
pub use replace::{NotReplaced, replace};
pub use series::{Drawn, PUBLISHED, Series};
pub use sweep::rows::{Cell, SweepRows, sweep_rows};
pub use sweep::{sweep_findings, sweep_markdown, write_sweep_report};

use data::{Data, OverAll, RunPanels};
use downsample::{COARSEST, FINEST};
use gather::{Gatherer, Terms};
use look::Protocol;
use results::{Results, Run};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Name of the page in a folder of results.
pub const REPORT_NAME: &str = "report.html";
/// Most runs with plots over time.
const RUNS: usize = 12;
/// Folders that have plots over time however many runs they hold.
const FOLDERS: usize = 6;
/// Most flows with lines of their own.
const FLOWS: usize = 20;
/// Most bytes of numbers in a page.
const DATA_BYTES: usize = 4_000_000;
/// Windows for rates, in nanoseconds.
const WINDOWS_NS: [i64; 12] = [
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
];
/// The window where a run is neither short nor long.
const WINDOW_NS: i64 = 100_000_000;

/// Make `report.html` in `folder`, which holds the results of runs, and give its path. One that is
/// there is replaced.
///
/// It is written to a temporary file in the same folder, which is then renamed. Errors if a file
/// cannot be read or written, or is none of a folder of results.
pub fn write_report(folder: &Path) -> Result<PathBuf, ReportError> {
    write_report_against(folder, None)
}

/// The same, with differences from the protocol `baseline`; without one from that of the run.
/// [`ReportError::Baseline`] if the results do not have it.
pub fn write_report_against(folder: &Path, baseline: Option<&str>) -> Result<PathBuf, ReportError> {
    let text = report(vec![Folder::read(folder)?], baseline)?;
    let path = folder.join(REPORT_NAME);
    put(&path, text)?;
    Ok(path)
}

/// Make one page of the results in `folders`, one at least, and write it to `path`, outside of all
/// of them. A page of Forebay that is there is replaced.
///
/// It is written to a temporary file in the same folder, which is then renamed. Errors as
/// [`write_report`]; also if a folder is given twice, if `path` is inside one of them, or if
/// something else is there.
pub fn write_comparison(folders: &[PathBuf], path: &Path) -> Result<(), ReportError> {
    write_comparison_against(folders, path, None)
}

/// The same, with differences from the protocol `baseline`, of the first folder that has it;
/// without one those of each protocol from the same protocol in the first folder.
/// [`ReportError::Baseline`] if no folder has it.
pub fn write_comparison_against(
    folders: &[PathBuf],
    path: &Path,
    baseline: Option<&str>,
) -> Result<(), ReportError> {
    if folders.is_empty() {
        return Err(ReportError::NoFolder);
    }
    compare::check(folders, path)?;
    let read: Result<Vec<Folder>, ReportError> = folders.iter().map(|f| Folder::read(f)).collect();
    put(path, report(read?, baseline)?)
}

fn put(path: &Path, text: String) -> Result<(), ReportError> {
    let written = replace(path, |file| file.write_all(text.as_bytes()));
    written.map_err(|NotReplaced { what, path, source }| ReportError::Io { what, path, source })
}

/// A folder of results.
struct Folder {
    path: PathBuf,
    results: Results,
}

impl Folder {
    fn read(path: &Path) -> Result<Folder, ReportError> {
        Ok(Folder { path: path.to_path_buf(), results: Results::read(path)? })
    }
}

fn report(mut folders: Vec<Folder>, baseline: Option<&str>) -> Result<String, ReportError> {
    let mut heading = match folders.as_mut_slice() {
        [one] => page::heading(&one.results),
        several => compare::label(several)?,
    };
    let (mut protocols, mut runs, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut networks = String::new();
    let mut noted = Vec::new();
    let over_time = over_time(&folders);
    let many: usize = folders[..over_time].iter().map(|of| of.results.aggregate.len()).sum();
    if over_time < folders.len() {
        left_out.push(format!(
            "Plots over time show the first {over_time} of {} folders; tables and charts show all.",
            folders.len()
        ));
    }
    let looks = look::Looks::of_results(folders.iter().map(|folder| &folder.results));
    let mut delays = delays::Distributions::default();
    for (number, Folder { path, results }) in folders.iter().enumerate() {
        let choice = Choice::of(results, many);
        let before = protocols.len();
        protocols.extend(results.aggregate.iter().map(|a| compare::look(&looks, a, number)));
        delays.read(&path.join("delays.parquet"), results, before)?;
        if number == 0 {
            networks = network_drawing::section(results, &protocols);
        }
        if number >= over_time {
            continue;
        }
        for note in choice.notes(results) {
            noted.push((heading.labels.get(number).cloned(), note));
        }
        let mut read = choice.read(&path.join("series.parquet"), results)?;
        read.iter_mut().for_each(|run| run.protocol += before);
        runs.extend(read);
    }
    left_out.extend(compare::noted(noted));
    look::tell_apart(&mut protocols);
    let results = compare::together(folders, &heading);
    let mut curves = curves::curves(&results);
    curves.extend(delays.curves());
    let paired = paired::section(&results, &protocols, baseline)?;
    let charts = charts::charts(&results, &protocols, &looks);
    let scatters = scatter::scatters(&results, &protocols, &looks);
    let over_all = OverAll { curves, charts, scatters };
    let (json, downsampled) = fit(&heading.title, &protocols, &mut runs, &over_all);
    left_out.extend(downsampled);
    heading.notes.extend(look::Looks::note(protocols.len()));
    let OverAll { curves, charts, scatters } = over_all;
    let drawn = !(runs.iter().all(|run| run.panels.is_empty()) && curves.is_empty());
    let curves = !curves.is_empty();
    let plots =
        page::Plots { json, notes: left_out, drawn, curves, charts, scatters, paired, networks };
    Ok(page::page(&heading, &results, &protocols, &plots))
}

/// How many of the folders have plots over time: the first, with a dozen runs of a seed together,
/// but never less than a few.
fn over_time(folders: &[Folder]) -> usize {
    let runs = folders.iter().scan(0, |sum, folder| {
        *sum += folder.results.aggregate.len();
        Some(*sum)
    });
    runs.take_while(|&runs| runs <= RUNS).count().max(FOLDERS).min(folders.len())
}

/// What of the runs has plots over time.
struct Choice {
    seeds: BTreeSet<u64>,
    /// In ascending order.
    flows: Vec<u32>,
    all_flows: usize,
    all_seeds: usize,
}

impl Choice {
    /// The first seeds, as many as leave a dozen runs of all `protocols` of the page, one at least;
    /// and the flows with the most bytes.
    fn of(results: &Results, protocols: usize) -> Choice {
        let mut seeds = Vec::new();
        for seed in results.aggregate.iter().flat_map(|a| &a.seeds) {
            if !seeds.contains(seed) {
                seeds.push(*seed);
            }
        }
        let all_seeds = seeds.len();
        seeds.truncate((RUNS / protocols.max(1)).max(1));
        let all: &[results::Flow] = results.runs.first().map_or(&[], |run| &run.per_flow);
        let mut flows: Vec<(u64, u32)> =
            all.iter().map(|f| (f.bytes.unwrap_or(u64::MAX), f.id)).collect();
        flows.sort_by_key(|&(bytes, id)| (std::cmp::Reverse(bytes), id));
        let mut flows: Vec<u32> = flows.into_iter().take(FLOWS).map(|(_, id)| id).collect();
        flows.sort_unstable();
        Choice { seeds: seeds.into_iter().collect(), flows, all_flows: all.len(), all_seeds }
    }

    fn notes(&self, results: &Results) -> Vec<String> {
        let mut notes = Vec::new();
        if self.seeds.len() < self.all_seeds {
            let (shown, all) = (self.seeds.len(), self.all_seeds);
            notes.push(format!(
                "Plots over time show the first {shown} of {all} seeds; the others are \
                 in series.parquet."
            ));
        }
        if self.flows.len() < self.all_flows {
            let (shown, all) = (self.flows.len(), self.all_flows);
            notes.push(format!(
                "The {shown} flows with the most bytes (of equals the first) of {all} have \
                 lines of their own; all are in flows.parquet and series.parquet."
            ));
        }
        if results.runs.is_empty() {
            notes.push("No run finished.".to_string());
        }
        notes
    }

    /// Read the lines of the chosen runs, in the order of the summary.
    fn read(&self, path: &Path, results: &Results) -> Result<Vec<RunPanels>, ReportError> {
        let mut runs: Vec<(&Run, Option<Gatherer<'_>>, Vec<panel::Panel>)> = results
            .runs
            .iter()
            .filter(|run| self.seeds.contains(&run.seed))
            .map(|run| (run, None, Vec::new()))
            .collect();
        // Rows come run by run: whatever another run had gathered is complete, and becomes plots
        // before memory is needed again.
        let mut current: Option<usize> = None;
        let mut run_number = None;
        read_series(
            path,
            |seed| self.seeds.contains(&seed),
            |row| {
                if run_number.replace(row.run_number()) != Some(row.run_number()) {
                    if let Some(place) = current {
                        self.settle(&mut runs[place]);
                    }
                    let is =
                        |run: &Run| run.seed == row.seed() && run.name.as_bytes() == row.protocol();
                    current = runs.iter().position(|(run, _, _)| is(run));
                }
                let Some(place) = current else { return };
                let (run, gatherer, _) = &mut runs[place];
                gatherer.get_or_insert_with(|| Gatherer::new(self.terms(run))).push(row);
            },
        )?;
        if let Some(place) = current {
            self.settle(&mut runs[place]);
        }
        let protocol = |run: &Run| results.aggregate.iter().position(|a| a.name == run.name);
        let drawn = runs.into_iter().filter_map(|(run, _, panels)| {
            let (seed, end_s) = (run.seed, run.ended_s);
            Some(RunPanels { protocol: protocol(run)?, seed, end_s, panels })
        });
        Ok(drawn.collect())
    }
    fn settle(&self, run: &mut (&Run, Option<Gatherer<'_>>, Vec<panel::Panel>)) {
        if let Some(gatherer) = run.1.take() {
            let window = self.terms(run.0).window_ns / 1_000_000;
            run.2 = panels::panels(&gatherer.finish(), &format!("{window} ms"), &self.flows);
        }
    }
    fn terms(&self, run: &Run) -> Terms<'_> {
        let span_ns = run.span_ns();
        Terms { span_ns, window_ns: window_ns(span_ns), flows: &self.flows }
    }
}

/// 100 ms; less in a run that is shorter than fifty of them, more in one that is longer than two
/// thousand.
fn window_ns(span_ns: i64) -> i64 {
    let few_enough = |window: &&i64| span_ns / **window <= 2000;
    let long = WINDOWS_NS.iter().find(few_enough).unwrap_or(&WINDOWS_NS[11]);
    let short = WINDOWS_NS.iter().rev().find(|window| span_ns / **window >= 50);
    WINDOW_NS.min(*short.unwrap_or(&WINDOWS_NS[0])).max(*long)
}

/// The numbers of the page, downsampled until they fit; and what was downsampled, in words.
fn fit(
    title: &str,
    protocols: &[Protocol],
    runs: &mut [RunPanels],
    over_all: &OverAll,
) -> (String, Option<String>) {
    let mut level = FINEST;
    loop {
        let data = Data::new(title, protocols, runs, over_all);
        let json = serde_json::to_string(&data).expect("numbers and texts are JSON");
        if json.len() <= DATA_BYTES || level == COARSEST {
            return (json, downsampled(runs, level));
        }
        level -= 1;
        for panel in runs.iter_mut().flat_map(|run| &mut run.panels) {
            panel.lines.iter_mut().for_each(|line| line.trace.downsample(level));
            if let Some(states) = &mut panel.states {
                states.downsample(level);
            }
            if let Some(area) = &mut panel.area {
                area.trace.downsample(level);
            }
        }
    }
}

fn downsampled(runs: &[RunPanels], level: u32) -> Option<String> {
    let lines = || runs.iter().flat_map(|run| &run.panels).flat_map(|panel| &panel.lines);
    let (of, all) = (lines().filter(|line| line.trace.is_downsampled()).count(), lines().count());
    (of > 0).then(|| {
        format!(
            "{of} of {all} lines over time are downsampled: the run is cut into {} parts of equal \
             length, and of each the first, lowest, highest and last sample are drawn. All samples \
             are in series.parquet.",
            1 << level
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_fit_the_run() {
        let ms = |span_s: f64| window_ns((span_s * 1e9) as i64) / 1_000_000;
        assert_eq!((ms(5.0), ms(28.0), ms(200.0)), (100, 100, 100));
        assert_eq!((ms(0.001), ms(0.3), ms(1.0), ms(4.9)), (1, 5, 20, 50));
        assert_eq!((ms(201.0), ms(3600.0), ms(1e6)), (200, 2000, 5000));
    }
}
