//! What a person reads after `forebay run`.

use super::published::Published;
use crate::expect;
use crate::terminal::{Estimate, Paint, Table, count, row_of_group, wrap};
use forebay_lab::report::{Shown, labels, rows, typical_sizes};
use forebay_lab::scenario::memory_estimate::RunMemory;
use forebay_lab::scenario::{Flow, Scenario};
use forebay_lab::{Aggregate, ExpectationResult, RunResult, Status, Summary};
use std::fmt::Write;

/// Tables of the results and of their cost, and notes. Writing to the string cannot fail.
pub fn text(
    scenario: &Scenario,
    summary: &Summary,
    published: &[&Published],
    paint: Paint,
) -> String {
    let head = match scenario.description.as_str() {
        "" => summary.scenario.clone(),
        description => format!("{}: {description}", summary.scenario),
    };
    let mut text = paint.bold(wrap(&head, 0).trim_end()) + "\n";
    let seeds = summary.aggregate.iter().map(|a| a.seeds.len()).max().unwrap_or(0);
    if seeds > 1 {
        let _ = writeln!(text, "mean and 95 % confidence interval over {seeds} seeds");
    }
    let table = results(scenario, &summary.aggregate, published);
    let _ = write!(text, "\n{}", table.render(paint));
    let _ = write!(text, "\n{}", costs(&summary.runs, &summary.aggregate).render(paint));
    text.push_str(&expectations(&summary.expectations, paint));
    if let Some(line) = reference(&summary.runs) {
        let _ = write!(text, "{}", paint.dim(wrap(&line, 0).trim_end()) + "\n");
    }
    let _ = write!(text, "{}", paint.dim(wrap(&memory(summary), 0).trim_end()) + "\n");
    // Missing runs are reported at the end, in ranges of seeds.
    for note in summary.notes.iter().filter(|note| !note.starts_with("missing:")) {
        text.push_str(&paint.note(note));
    }
    for column in published {
        let source = format!("{}: {}", column.name, column.source);
        let _ = write!(text, "{}", paint.dim(wrap(&source, 0).trim_end()) + "\n");
    }
    text
}

/// A column per protocol, then one per published result; a row per metric.
fn results(scenario: &Scenario, aggregates: &[Aggregate], published: &[&Published]) -> Table {
    let titles = aggregates.iter().map(|a| a.label.clone());
    let columns = titles.chain(published.iter().map(|p| p.name.to_string())).collect();
    let mut table = Table::new(columns);
    let sized = scenario.flows.iter().filter(|flow| !flow.is_endless()).count();
    let means: Vec<_> = aggregates.iter().map(|of| &of.means).collect();
    let rows = rows(&means, shown(scenario, aggregates));
    for (of, typical) in rows.iter().zip(typical_sizes(&rows)) {
        let ours = of.values.iter().map(|value| value.map(Estimate::from));
        let theirs = published.iter().map(|p| {
            let (_, value) = p.figures.iter().find(|(metric, _)| *metric == of.name)?;
            Some(Estimate { mean: value * of.scale, ci95: None })
        });
        let values: Vec<_> = ours.chain(theirs).collect();
        let (unit, cells) = row_of_group(of.unit, typical, &values);
        let comma = if unit.is_empty() { "" } else { ", " };
        table.push(format!("{}{comma}{unit}", of.label), cells);
    }
    if sized > 0 {
        // Flows that did not start are reported separately.
        let wanted = |a: &Aggregate| (sized * a.seeds.len()).saturating_sub(a.skipped);
        let completed = aggregates.iter().map(|a| format!("{} of {}", a.completed, wanted(a)));
        let nothing = published.iter().map(|_| "-".to_string());
        table.push(labels::COMPLETED, completed.chain(nothing).collect());
    }
    table
}

/// Inputs that decide which rows are shown.
pub fn shown(scenario: &Scenario, aggregates: &[Aggregate]) -> Shown {
    // Bytes delivered by flows that stop are not known in advance.
    let delivered_is_known = !scenario.flows.iter().any(Flow::stops)
        && aggregates.iter().all(|a| a.completed == a.flows);
    Shown { flows: scenario.flows.len(), delivered_is_known, one_link: true }
}

/// A line for each expectation under each protocol.
fn expectations(all: &[ExpectationResult], paint: Paint) -> String {
    let passing = all.iter().filter(|of| of.status == Status::Passes).count();
    if all.is_empty() {
        return String::new();
    }
    let unchecked = all.iter().filter(|of| of.status == Status::Unchecked).count();
    let mut text = match (all.len() - unchecked, unchecked) {
        (checked, 0) => format!("\nexpectations: {passing} of {checked} pass\n"),
        (0, unchecked) => format!("\nexpectations: {unchecked} not checked\n"),
        (checked, unchecked) => {
            format!("\nexpectations: {passing} of {checked} pass, {unchecked} not checked\n")
        }
    };
    for of in all {
        let (word, line) = match of.status {
            Status::Passes => (paint.green("pass "), expect::outcome(of)),
            Status::Fails => (paint.red("FAIL "), expect::outcome(of)),
            Status::Unchecked => (paint.dim("-    "), expect::outcome(of)),
        };
        let lines = wrap(&line, 9);
        let _ = writeln!(text, "  {word}  {}", lines.trim());
    }
    text.push('\n');
    text
}

/// A row per protocol: what its runs cost, and the hash of the first.
fn costs(runs: &[RunResult], aggregates: &[Aggregate]) -> Table {
    let headings = ["runs", "events", "packet-hops", "wall", "CPU/hop", "trace hash (first seed)"];
    let mut table = Table::new(headings.map(String::from).to_vec());
    for aggregate in aggregates {
        let mine = || runs.iter().filter(|run| run.protocol == aggregate.protocol);
        let hops: u64 = mine().map(|run| run.packet_hops).sum();
        let cpu_s: f64 = mine().map(|run| run.cpu_s).sum();
        let cells = vec![
            mine().count().to_string(),
            count(mine().map(|run| run.events).sum()),
            count(hops),
            format!("{:.2} s", mine().map(|run| run.wall_s).sum::<f64>()),
            format!("{:.0} ns", cpu_s * 1e9 / hops.max(1) as f64),
            mine().next().map_or_else(String::new, |run| run.trace_hash.clone()),
        ];
        table.push(aggregate.label.as_str(), cells);
    }
    table
}

/// What the dearest run needs by its size, and what the process has taken, in which runs side by
/// side cannot be distinguished.
fn memory(summary: &Summary) -> String {
    let runs = summary.runs.iter().map(|run| run.memory);
    let dearest = runs.reduce(|a, b| if b.need_mib > a.need_mib { b } else { a });
    let Some(RunMemory { need_mib, mostly }) = dearest else { return String::new() };
    let need = mebibytes(need_mib);
    let mut text = format!("memory: {need} per run (estimated, mostly {mostly})");
    if let Some(peak_mib) = summary.memory.peak_mib {
        let _ = write!(text, ", {} total (measured)", mebibytes(peak_mib));
    }
    text
}

fn mebibytes(mib: f64) -> String {
    if mib < 10.0 { format!("{mib:.1} MiB") } else { format!("{mib:.0} MiB") }
}

/// What "reference" stands for in the table, and what it cost; None if no run has it. Runs with the
/// same flows share one, which counts for each: the cost is that of the dearest.
fn reference(runs: &[RunResult]) -> Option<String> {
    let known: Vec<_> =
        runs.iter().map(|run| &run.reference).filter(|r| r.kind != "none").collect();
    let dearest_s = known.iter().map(|r| r.cpu_s).reduce(f64::max)?;
    let mut kinds: Vec<String> = known.iter().map(|r| format!("{} ({})", r.mode, r.kind)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds = kinds.join(", ");
    Some(format!(
        "reference: a fluid model with max-min fair sharing, {kinds}; {dearest_s:.2} s of CPU"
    ))
}
