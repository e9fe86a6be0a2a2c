//! `forebay live`: a scenario on real interfaces, in real time.
//!
//! A process of its own, in namespaces of its own, does everything; this one only waits for it.
//! Nothing is left when either is killed.

mod bench;
mod compare;
mod feasible;
mod kernel;
mod paced;
mod session;

pub use bench::bench;
pub use compare::compare;

use crate::args::{LiveArgs, LiveRun};
use crate::failure::Failure;
use crate::interrupt;
use crate::run::{self, Watched};
use crate::terminal::Paint;
use forebay_base::Time;
use forebay_lab::scenario::{Registry, Scenario, ScenarioText};
use forebay_lab::{Batch, Missing, RunResult, WireReport};
use forebay_live::{Check, check, isolate};
use session::Session;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Run, record, replay, show.
pub fn live(
    mut args: LiveArgs,
    registry: &Arc<Registry>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    if args.check {
        return show_check(out);
    }
    let name = args.scenario.take().expect("the command line demands it without --check");
    let text = ScenarioText::read(&name).map_err(Failure::input)?;
    let args = args.into_run(text.name());
    let scenario = run::load(&args.run, registry, &text, forebay_lab::available_bytes())?;
    if let Some(record) = args.record.as_ref().filter(|_| scenario.protocols.len() > 1) {
        let (record, first) = (record.display(), &scenario.protocols[0]);
        return Err(Failure::input(format!(
            "--record {record}: holds one run, and {} protocols are wanted\n\
             hint: --protocol {first}",
            scenario.protocols.len()
        )));
    }
    check_folders(&args)?;
    if args.paced {
        return paced::paced(&args, &scenario, out, paint);
    }
    isolated(out, || inside(&args, &scenario, paint))
}

/// Errors if results and record would be in one another: either is in a folder of its own.
fn check_folders(args: &LiveRun) -> Result<(), Failure> {
    let (Some(record), Some(out)) = (&args.record, &args.run.results.out) else { return Ok(()) };
    // A path without a name is refused where it is used.
    let [Ok(a), Ok(b)] = [record, out].map(std::path::absolute) else { return Ok(()) };
    if a.starts_with(&b) || b.starts_with(&a) {
        let (record, out) = (record.display(), out.display());
        return Err(Failure::input(format!(
            "--record {record}: --out {out} is the same folder, or one is in the other\n\
             hint: two folders beside each other"
        )));
    }
    Ok(())
}

/// Do it in a process of its own.
fn isolated(
    out: &mut impl Write,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    // The child has its own standard output.
    out.flush()?;
    let work = || work().map_or_else(|failure| failure.report(), |()| 0);
    match isolate(work) {
        Ok(0) => Ok(()),
        Ok(code) => Err(Failure::Reported(code)),
        Err(error) => Err(Failure::Impossible(error.to_string())),
    }
}

/// What this machine allows.
fn show_check(out: &mut impl Write) -> Result<(), Failure> {
    out.flush()?;
    let work = || {
        let found = check();
        let mut out = io::stdout().lock();
        let written = write!(out, "{found}").and_then(|()| out.flush());
        u8::from(!found.is_able() || written.is_err())
    };
    match isolate(work) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Failure::Impossible("a right is missing; see above".to_string())),
        Err(error) => {
            write!(out, "{}", Check::refused(&error))?;
            Err(Failure::Impossible("a right is missing; see above".to_string()))
        }
    }
}

/// In the isolated process: all runs, one after the other.
fn inside(args: &LiveRun, scenario: &Scenario, paint: Paint) -> Result<(), Failure> {
    let cancel = interrupt::flag();
    feasible::check(args, scenario)?;
    let watched = Watched::of(&args.run, scenario)?;
    let store = run::store(&args.run.results)?;
    let (mut done, mut text) = (Batch::default(), String::new());
    let (mut cut, mut failed) = (None, None);
    let seed = args.run.seeds.0[0];
    for (number, protocol) in scenario.protocols.iter().enumerate() {
        if cancel.load(Ordering::Relaxed) {
            let (protocol, why) = (protocol.to_string(), "not started".to_string());
            done.missing.push(Missing { protocol, seed, why });
            continue;
        }
        let last = number + 1 == scenario.protocols.len();
        let lived = match (Session { args, scenario, protocol, seed, last }).run(&cancel) {
            Ok(lived) => lived,
            Err(failure) => {
                // What was done before is shown and kept.
                failed = Some(failure);
                break;
            }
        };
        let mut again = lived.results(&args.run, &watched, store.as_ref(), &cancel);
        for run in &mut again.runs {
            text.push_str(&wires(run, &lived.report, lived.record.until(), paint));
            if lived.stopped && is_cut(run, scenario) {
                let until = lived.record.until().as_secs_f64();
                run.notes.push(format!("interrupted at {until:.3} s"));
                cut = Some(format!("{protocol} was cut at {until:.3} s"));
            }
        }
        done.absorb(again);
    }
    let interrupted = interruption(cut, &done.missing);
    let unfit: Vec<String> = done.runs.iter().filter_map(unfit).collect();
    if let Some(failure) = failed.take_if(|_| done.runs.is_empty()) {
        return Err(failure);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let concluded = run::conclude(&args.run, scenario, done, store, &mut out, paint);
    if !args.run.results.json {
        out.write_all(text.as_bytes())?;
    }
    out.flush()?;
    match (concluded, interrupted, failed) {
        // What is expected of a whole run need not hold for a part of it.
        (Ok(()) | Err(Failure::Unmet(_)), Some(text), _) => Err(Failure::Interrupted(text)),
        // Nor does what an unfit run does say anything of what is expected.
        (Ok(()) | Err(Failure::Unmet(_)), _, None) if !unfit.is_empty() => {
            Err(Failure::Unfit(unfit.join("\n")))
        }
        (Err(failure), ..) | (_, _, Some(failure)) => Err(failure),
        (Ok(()), None, None) => Ok(()),
    }
}

/// True if a run that was to stop did so before its end.
fn is_cut(run: &RunResult, scenario: &Scenario) -> bool {
    let end = scenario.until.unwrap_or(Time::MAX).as_secs_f64();
    run.ended_s < end && (run.completed < run.flows || run.flows == 0)
}

/// What an interrupt has kept from being done; None if nothing.
fn interruption(cut: Option<String>, missing: &[Missing]) -> Option<String> {
    let protocols: Vec<&str> = missing.iter().map(|run| run.protocol.as_str()).collect();
    let not_run = (!missing.is_empty()).then(|| format!("not run: {}", protocols.join(", ")));
    let parts: Vec<String> = [cut, not_run].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// Why a run is unfit, in a line.
fn unfit(run: &RunResult) -> Option<String> {
    let reasons = &run.wire.as_ref()?.unfit;
    (!reasons.is_empty()).then(|| format!("{}: {}", run.protocol, reasons.join("; ")))
}

/// How late packets left in live runs of one protocol, in a line; None if there are none.
fn lateness(runs: &[RunResult]) -> Option<String> {
    let wires = || runs.iter().filter_map(|run| run.wire.as_ref());
    let span = |of: fn(&WireReport) -> f64| {
        let least = wires().map(of).reduce(f64::min)?;
        let most = wires().map(of).reduce(f64::max)?;
        Some(format!("{least:.0} to {most:.0} us"))
    };
    let (p50, p99) = (span(|of| of.late_p50_us)?, span(|of| of.late_p99_us)?);
    let most = wires().map(|of| of.late_max_us).reduce(f64::max)?;
    let (label, priority) = (&runs.first()?.label, priority(wires().next()?));
    Some(format!(
        "{label}: packets left {p50} late (median), {p99} (p99), {most:.0} us at most, \
         at {priority}"
    ))
}

fn priority(report: &WireReport) -> &'static str {
    if report.priority == "fifo" { "SCHED_FIFO" } else { "ordinary priority" }
}

/// A few lines on how a run over wires went.
fn wires(run: &RunResult, report: &WireReport, until: Time, paint: Paint) -> String {
    let mut text = String::new();
    let WireReport { late_p50_us, late_p99_us, late_max_us, .. } = report;
    let priority = priority(report);
    let (label, sent, until) = (&run.label, report.sent_packets, until.as_secs_f64());
    let _ =
        writeln!(text, "{label}: {sent} packets left over wires in {until:.3} s, at {priority}");
    let _ = writeln!(
        text,
        "  {late_p50_us:.0} us late (median), {late_p99_us:.0} us (p99), \
         {late_max_us:.0} us (maximum)"
    );
    for (reason, packets) in &report.refused {
        let _ = writeln!(text, "  {packets} {reason}");
    }
    let same = if report.replayed { "the same".to_string() } else { paint.red("not the same") };
    let _ = writeln!(text, "  replayed from its record: {same}");
    text
}
