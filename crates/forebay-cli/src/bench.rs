//! `forebay bench`: CPU time per packet-hop, compared with what other simulators needed elsewhere.

mod before;

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::terminal::{Paint, Table, count, wrap};
use before::Before;
use forebay_lab::scenario::Builtin;
use forebay_lab::{
    BENCHES, BenchError, BenchOptions, BenchReport, BenchRow, Peer, RunError, WithoutHash, Work,
    bench as measure,
};
use std::io::{self, IsTerminal, Write};

/// CPU time for which each scenario is repeated, in seconds: short runs are measured too coarsely.
const MIN_CPU_S: f64 = 1.0;

/// Columns of the table.
const HEADINGS: [&str; 7] =
    ["CPU/hop", "best", "no hash (best)", "peak", "packet-hops", "CPU", "runs"];

/// Measure and show.
pub fn bench(args: &BenchArgs, out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
    if cfg!(debug_assertions) {
        // Still useful for trying the command; the figures are not.
        writeln!(io::stderr(), "note: a debug build is far slower; cargo run --release -- bench")?;
    }
    let cancel = interrupt::flag();
    let watched = io::stderr().is_terminal();
    let tell = |name: &str| {
        if watched {
            // Without a reader of progress the measurement goes on.
            let _ = writeln!(io::stderr(), "measuring {name} …");
        }
    };
    let options = BenchOptions {
        only: &args.only,
        data: args.data.as_ref(),
        min_cpu_s: MIN_CPU_S,
        threads: args.threads,
        memory_bytes: args.memory,
        cancel: Some(&cancel),
        progress: Some(&tell),
    };
    let before = args.compare.as_deref().map(Before::read).transpose()?;
    let report = measure(&options).map_err(failure)?;
    if args.json {
        serde_json::to_writer(&mut *out, &report).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        out.write_all(text(&report, paint).as_bytes())?;
    }
    if let Some(before) = before {
        out.write_all(before.beside(&report, paint).as_bytes())?;
    }
    Ok(())
}

fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Run(RunError::Cancelled) => Failure::Interrupted("nothing was reported".into()),
        BenchError::Scenario(_) | BenchError::Unknown(_) | BenchError::Memory(..) => {
            Failure::input(error)
        }
        error => Failure::run(error),
    }
}

fn text(report: &BenchReport, paint: Paint) -> String {
    let mut table = Table::new(HEADINGS.map(String::from).to_vec());
    for row in &report.rows {
        table.push(format!("{} Forebay", row.name), own(row));
        for peer in report.peers.iter().filter(|peer| peer.name == row.name) {
            table.push(format!("   {}*", peer.simulator), other(peer));
        }
    }
    let mut text = if report.rows.is_empty() { String::new() } else { table.render(paint) };
    for row in &report.rows {
        let [completed, flows] = row.completed;
        let ended = if endless(&row.name) {
            format!("{flows} flows without end")
        } else {
            format!("{completed} of {flows} flows completed")
        };
        let mut line = format!("{}: trace {}, {ended}", row.name, row.trace_hash);
        if let Some(build_s) = row.build_s {
            line.push_str(&format!(", built in {build_s:.1} s of CPU"));
        }
        if let Some(bytes) = row.bytes_per_flow {
            line.push_str(&format!(", {bytes:.0} bytes per flow while it ran"));
        }
        text.push_str(&wrap(&line, 0));
    }
    for skipped in &report.skipped {
        text.push_str(&paint.note(&format!("{} was not run: {}", skipped.name, skipped.why)));
    }
    text.push_str(&sources(report, paint));
    text
}

/// Where the figures of other simulators are from, and on which machines they were measured.
fn sources(report: &BenchReport, paint: Paint) -> String {
    let shown = |peer: &&Peer| report.rows.iter().any(|row| row.name == peer.name);
    let mut lines: Vec<String> = Vec::new();
    for peer in report.peers.iter().filter(shown) {
        let line = format!("{}: {}", peer.simulator, peer.source);
        let machine = format!("* measured on {}; ratios need figures of one machine", peer.machine);
        for line in [machine, line] {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines.iter().map(|line| paint.dim(wrap(line, 0).trim_end()) + "\n").collect()
}

/// True if the flows of a benchmark have no end.
fn endless(name: &str) -> bool {
    let work = BENCHES.iter().find(|bench| bench.name == name).map(|bench| bench.work);
    match work {
        Some(Work::Scenario(scenario, _)) => {
            Builtin::find(scenario).is_some_and(|b| b.text.contains("endless = true"))
        }
        Some(Work::Chain(_)) => true,
        Some(Work::Changed(..)) => true, // s2
        Some(Work::Network(network, _)) => network.text.contains("endless = true"),
        Some(Work::Scale(_)) | None => false,
    }
}

fn own(row: &BenchRow) -> Vec<String> {
    vec![
        format!("{:.0} ns", row.ns_per_hop),
        format!("{:.0} ns", row.best_ns_per_hop),
        row.without_hash.as_ref().map_or_else(|| "-".into(), unhashed),
        mebibytes(row.peak_mib),
        count(row.packet_hops),
        format!("{:.3} s", row.cpu_s),
        row.repetitions.to_string(),
    ]
}

fn unhashed(figure: &WithoutHash) -> String {
    format!("{:.0} ns ({:.0})", figure.ns_per_hop, figure.best_ns_per_hop)
}

fn other(peer: &Peer) -> Vec<String> {
    let figure = format!("{:.0} ns", peer.ns_per_hop);
    let none = String::new();
    let mut cells = vec![figure, none.clone(), none.clone(), mebibytes(peer.peak_mib)];
    cells.resize(HEADINGS.len(), none);
    cells
}

fn mebibytes(peak: Option<f64>) -> String {
    peak.map_or_else(|| "-".into(), |mib| format!("{mib:.0} MiB"))
}
