//! Between mahimahi's format and rates over time (CSV).

use super::load;
use crate::args::{ChannelSource, ConvertArgs};
use crate::failure::Failure;
use crate::output::Target;
use forebay_base::Span;
use forebay_lab::scenario::input;
use forebay_lab::scenario::trace_statistics::bins;
use forebay_lab::scenario::traces::{
    DeliveryTrace, DeliveryTraceBuilder, OPPORTUNITY_BYTES, write_trace,
};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Longest time that rates may last, in s: a day.
const MAX_SECONDS: f64 = 86_400.0;
/// Highest rate in bit/s: 400 Gbit/s.
const MAX_BPS: f64 = 4e11;

pub(super) fn convert(args: &ConvertArgs, out: &mut impl Write) -> Result<(), Failure> {
    let is_csv = |path: &Path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"));
    let target = Target { path: &args.to, option: "", head: "", force: args.force };
    target.is_not([&args.from])?;
    match (is_csv(&args.from), is_csv(&args.to)) {
        (true, false) => {
            let trace = of_rates(&args.from, args.end_s)?;
            target.put(|file| write_trace(&trace, file))?;
        }
        (false, true) => {
            let source = ChannelSource { seconds: 300, scale: 1.0, seed: 1 };
            let trace = load(&args.from.display().to_string(), &source)?;
            target.put(|file| write_rates(&trace, args.bin_ms, file))?;
        }
        _ => {
            let text = "one of the two files is rates over time (a name that ends with .csv), the \
                        other a delivery trace";
            return Err(Failure::input(text));
        }
    }
    writeln!(out, "{}", args.to.display())?;
    Ok(())
}

/// The mean rate of each bin, as a schedule of a link has it.
fn write_rates(trace: &DeliveryTrace, bin_ms: u64, out: impl Write) -> std::io::Result<()> {
    let mut out = BufWriter::new(out);
    writeln!(out, "at_s,rate_bps")?;
    for (n, count) in (0u64..).zip(bins(trace, bin_ms)) {
        let bps = count * f64::from(OPPORTUNITY_BYTES) * 8e3 / bin_ms as f64;
        // No link has less than 1 kbit/s.
        writeln!(out, "{},{}", (n * bin_ms) as f64 / 1e3, bps.max(1e3).round())?;
    }
    out.flush()
}

/// Opportunities at the rates of a file, the last of which holds until `end_s`.
fn of_rates(path: &Path, end_s: Option<f64>) -> Result<DeliveryTrace, Failure> {
    let steps = steps(path)?;
    let fail = |why: &str| Failure::input(format!("`{}`: {why}", path.display()));
    let Some(&(last_s, _)) = steps.last() else { return Err(fail("there are no rows")) };
    // Without an end, the last rate holds as long as the one before it.
    let before_s = steps.len().checked_sub(2).map_or(last_s - 1.0, |i| steps[i].0);
    if steps.iter().all(|&(_, bps)| bps == 0.0) {
        return Err(fail("all rates are 0: a trace needs an opportunity; expected one above 0"));
    }
    let end_s = end_s.unwrap_or(last_s + (last_s - before_s));
    if !(end_s > last_s && end_s <= MAX_SECONDS) {
        return Err(fail(&format!(
            "the end, {end_s} s, must be after the last row and within a day"
        )));
    }
    let ends = steps.iter().skip(1).map(|step| step.0).chain([end_s]);
    let mut builder = DeliveryTraceBuilder::default();
    let mut due_bits = 0.0;
    let mut ms = (steps[0].0 * 1e3).round() as u64;
    for (&(_, bps), end) in steps.iter().zip(ends) {
        while ms < (end * 1e3).round() as u64 {
            ms += 1;
            due_bits += bps * 1e-3;
            let each = f64::from(OPPORTUNITY_BYTES) * 8.0;
            while due_bits >= each {
                due_bits -= each;
                builder.push(Span::from_millis(ms)).map_err(|e| fail(&format!("{e:?}")))?;
            }
        }
    }
    // The last opportunity is the length of the trace.
    if builder.last() != Some(Span::from_millis(ms)) {
        builder.push(Span::from_millis(ms)).map_err(|e| fail(&format!("{e:?}")))?;
    }
    builder.finish(OPPORTUNITY_BYTES).map_err(|_| fail("its rates carry no packet"))
}

/// Rows of seconds and bit/s.
fn steps(path: &Path) -> Result<Vec<(f64, f64)>, Failure> {
    let io = |e: std::io::Error| {
        let why = input::reason(&e);
        Failure::input(format!("cannot read `{}`: {why}", path.display()))
    };
    let file = input::open(path).map_err(io)?;
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (n, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(io)?;
        let fail = |expected: &str| {
            let shown: String = line.chars().take(60).collect();
            let place = path.display();
            Failure::input(format!("`{place}` line {n}: expected {expected}, found `{shown}`"))
        };
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if n == 1 {
            match cells[..] {
                ["at_s", "rate_bps"] => continue,
                _ => return Err(fail("the columns `at_s,rate_bps`")),
            }
        }
        let numbers: Option<Vec<f64>> = cells.iter().map(|cell| cell.parse().ok()).collect();
        let Some([at_s, bps]) = numbers.and_then(|numbers| <[f64; 2]>::try_from(numbers).ok())
        else {
            return Err(fail("two numbers, seconds and bit/s"));
        };
        if !(0.0..=MAX_SECONDS).contains(&at_s) || steps.last().is_some_and(|last| at_s <= last.0) {
            return Err(fail("times that rise, from 0 to 86400 s"));
        }
        if !(0.0..=MAX_BPS).contains(&bps) {
            return Err(fail("a rate from 0 to 4e11 bit/s"));
        }
        steps.push((at_s, bps));
    }
    Ok(steps)
}
