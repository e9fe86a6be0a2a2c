//! `forebay list`: everything that has a name.

use crate::catalogue::{self, Kind};
use crate::failure::Failure;
use crate::terminal::{Paint, wrap};
use forebay_lab::reproduce::EXPERIMENTS;
use std::io::Write;

/// Print all names, by kind.
pub fn list(out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
    let all = catalogue::all();
    let widest = all.iter().map(|entry| entry.name.len()).max().unwrap_or_default();
    let column = widest + 4;
    for kind in Kind::ALL {
        writeln!(out, "{}", paint.bold(kind.heading()))?;
        for entry in all.iter().filter(|entry| entry.kind == kind) {
            let lines = wrap(&entry.summary, column);
            writeln!(out, "  {:<width$}{}", entry.name, lines.trim(), width = column - 2)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", paint.bold("Experiments (reproduce NAME)"))?;
    for experiment in EXPERIMENTS {
        let lines = wrap(&experiment.title(), column);
        writeln!(out, "  {:<width$}{}", experiment.name, lines.trim(), width = column - 2)?;
    }
    writeln!(out)?;
    writeln!(out, "forebay explain NAME says more about each.")?;
    Ok(())
}
