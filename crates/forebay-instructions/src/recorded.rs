//! `instructions.txt`: the record of each benchmark, which it must not exceed.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// Growth up to this share is within what another place of a table in memory makes.
const TOLERATED: f64 = 0.01;

/// The file.
#[derive(Default)]
pub struct Recorded {
    /// Compiler, valgrind and machine that it was counted with.
    circumstances: String,
    rows: Vec<Row>,
}

/// The record of a benchmark.
struct Row {
    name: String,
    count: f64,
    /// Why it was raised, if it was.
    reason: Option<String>,
}

impl Row {
    /// A row: name, count, and `# reason` where the count was raised by hand.
    fn parse(line: &str) -> Option<Row> {
        let (row, reason) = match line.split_once('#') {
            Some((row, reason)) => (row, Some(reason.trim().to_string())),
            None => (line, None),
        };
        let (name, count) = row.split_once(' ')?;
        Some(Row { name: name.to_string(), count: count.trim().parse().ok()?, reason })
    }

    /// True if `now` is more than the record allows.
    fn is_exceeded_by(&self, now: f64) -> bool {
        now > self.count * (1.0 + TOLERATED)
    }
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions.txt")
}

/// Read the file.
pub fn read() -> Result<Recorded, String> {
    let path = path();
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let wrong = |line| format!("{}: not a row of name and count: `{line}`", path.display());
    parse(&text).map_err(wrong)
}

/// A comment with the circumstances, and a row per benchmark; else the line that is neither.
fn parse(text: &str) -> Result<Recorded, String> {
    let mut recorded = Recorded::default();
    for line in text.lines() {
        if let Some(circumstances) = line.strip_prefix(CIRCUMSTANCES) {
            recorded.circumstances = circumstances.to_string();
        } else if !line.starts_with('#') {
            recorded.rows.push(Row::parse(line).ok_or(line)?);
        }
    }
    Ok(recorded)
}

const HEAD: &str = "# Instructions per operation. .ci/instructions --write adds and lowers rows; \
                    raise one by hand, with `# reason` after it\n";
const CIRCUMSTANCES: &str = "# Counted with ";

impl Recorded {
    /// Add what has no row and lower what became less; under other circumstances, write all anew.
    /// A row that is exceeded stays.
    pub fn write(&self, circumstances: &str, counted: &[(String, f64)]) -> Result<(), String> {
        let mut text = format!("{HEAD}{CIRCUMSTANCES}{circumstances}\n");
        for (name, now) in counted {
            let row = self.row(name).filter(|_| self.circumstances == circumstances);
            let kept = row.filter(|row| *now >= row.count);
            let count = kept.map_or(*now, |row| row.count);
            let reason = kept.and_then(|row| row.reason.as_ref());
            let reason = reason.map_or_else(String::new, |reason| format!("  # {reason}"));
            writeln!(text, "{name:<40} {count:>10.1}{reason}").expect("a string takes it");
        }
        fs::write(path(), text).map_err(|e| format!("{}: {e}", path().display()))
    }

    fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// A table of what was counted now and what was recorded.
    pub fn table(&self, circumstances: &str, counted: &[(String, f64)]) -> String {
        let mut text =
            format!("{:<40} {:>10} {:>10}\n", "instructions per operation", "recorded", "now");
        for (name, now) in counted {
            let Some(row) = self.row(name) else {
                writeln!(text, "{name:<40} {:>10} {now:>10.1}", "").expect("a string takes it");
                continue;
            };
            let change = (now / row.count - 1.0) * 100.0;
            writeln!(text, "{name:<40} {:>10.1} {now:>10.1} {change:>+8.1} %", row.count)
                .expect("a string takes it");
        }
        if self.circumstances != circumstances {
            let before = &self.circumstances;
            writeln!(text, "note: recorded with {before}; counted with {circumstances}")
                .expect("a string takes it");
        }
        text
    }

    /// Benchmarks that take more than their records allow. Counts of another compiler or valgrind
    /// are not comparable: then there are none.
    pub fn exceeded(&self, circumstances: &str, counted: &[(String, f64)]) -> Vec<String> {
        if self.circumstances != circumstances {
            return Vec::new();
        }
        let above = counted.iter().filter_map(|(name, now)| {
            let row = self.row(name).filter(|row| row.is_exceeded_by(*now))?;
            let grown = (now / row.count - 1.0) * 100.0;
            Some(format!("{name} takes {grown:.1} % more instructions than its record"))
        });
        above.collect()
    }

    /// Benchmarks without a row, rows without a benchmark, rows that are there twice.
    pub fn gaps(&self, names: &[&str]) -> Vec<String> {
        let rows = || self.rows.iter().map(|row| row.name.as_str());
        let missing = names.iter().filter(|&name| rows().all(|row| row != *name));
        let missing = missing.map(|name| format!("instructions.txt has no row for {name}"));
        let gone = rows().filter(|row| !names.contains(row));
        let gone = gone.map(|row| format!("instructions.txt has a row for {row}, which is gone"));
        let twice = rows().enumerate().filter(|&(at, row)| rows().take(at).any(|r| r == row));
        let twice = twice.map(|(_, row)| format!("instructions.txt has two rows for {row}"));
        missing.chain(gone).chain(twice).collect()
    }
}
