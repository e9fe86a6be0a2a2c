//! `benches/instructions.txt`: what was counted when somebody last looked.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// Changes up to this share are not worth a note: another place of a table in memory makes as much.
const NOTABLE: f64 = 0.05;

/// The file.
pub struct Recorded {
    /// Compiler, valgrind and machine that it was counted with.
    circumstances: String,
    rows: Vec<(String, f64)>,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.txt")
}

/// Read the file.
pub fn read() -> Result<Recorded, String> {
    let path = path();
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|line| format!("{}: what is this: `{line}`", path.display()))
}

/// A comment with the circumstances, and a row per benchmark; else the line that is neither.
fn parse(text: &str) -> Result<Recorded, String> {
    let mut recorded = Recorded { circumstances: String::new(), rows: Vec::new() };
    for line in text.lines() {
        if let Some(circumstances) = line.strip_prefix(CIRCUMSTANCES) {
            recorded.circumstances = circumstances.to_string();
        } else if !line.starts_with('#') {
            let (name, count) = line.split_once(' ').ok_or(line)?;
            let count = count.trim().parse().map_err(|_| line)?;
            recorded.rows.push((name.to_string(), count));
        }
    }
    Ok(recorded)
}

const CIRCUMSTANCES: &str = "# Counted with ";

/// Write the file.
pub fn write(circumstances: &str, counted: &[(String, f64)]) -> Result<(), String> {
    let mut text =
        String::from("# Instructions per operation. Written by .ci/instructions --write\n");
    writeln!(text, "{CIRCUMSTANCES}{circumstances}").expect("a string takes it");
    for (name, count) in counted {
        writeln!(text, "{name:<40} {count:>10.1}").expect("a string takes it");
    }
    fs::write(path(), text).map_err(|e| format!("{}: {e}", path().display()))
}

impl Recorded {
    /// A table of what was counted now beside what was recorded, and notes.
    pub fn beside(&self, circumstances: &str, counted: &[(String, f64)]) -> String {
        let mut text =
            format!("{:<40} {:>10} {:>10}\n", "instructions per operation", "recorded", "now");
        let mut notes = String::new();
        for (name, now) in counted {
            let before = self.rows.iter().find(|(recorded, _)| recorded == name);
            let Some((_, before)) = before else {
                writeln!(text, "{name:<40} {:>10} {now:>10.1}", "").expect("a string takes it");
                continue;
            };
            let change = now / before - 1.0;
            writeln!(text, "{name:<40} {before:>10.1} {now:>10.1} {:>+8.1} %", change * 100.0)
                .expect("a string takes it");
            if change.abs() > NOTABLE {
                writeln!(notes, "note: {name} changed by {:+.1} %", change * 100.0)
                    .expect("a string takes it");
            }
        }
        if self.circumstances != circumstances {
            let before = &self.circumstances;
            writeln!(notes, "note: recorded with {before}; counted with {circumstances}")
                .expect("a string takes it");
        }
        text + &notes
    }
    /// Benchmarks without a row, rows without a benchmark, rows that are there twice.
    pub fn gaps(&self, names: &[&str]) -> Vec<String> {
        let rows = || self.rows.iter().map(|(name, _)| name.as_str());
        let missing = names.iter().filter(|&name| rows().all(|row| row != *name));
        let missing = missing.map(|name| format!("instructions.txt has no row for {name}"));
        let gone = rows().filter(|row| !names.contains(row));
        let gone = gone.map(|row| format!("instructions.txt has a row for {row}, which is gone"));
        let twice = rows().enumerate().filter(|&(at, row)| rows().take(at).any(|r| r == row));
        let twice = twice.map(|(_, row)| format!("instructions.txt has two rows for {row}"));
        missing.chain(gone).chain(twice).collect()
    }
}
