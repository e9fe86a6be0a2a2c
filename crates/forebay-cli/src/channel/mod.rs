//! `forebay channel`: what a delivery trace is like, traces from models, and other formats.

mod convert;
mod plot;

use crate::args::{ChannelArgs, ChannelCommand, ChannelSource, GenerateArgs, ShowArgs};
use crate::failure::Failure;
use crate::output::Target;
use crate::terminal::{Paint, Progress, Table};
use forebay_base::Span;
use forebay_lab::report::SVG_HEAD;
use forebay_lab::scenario::trace_statistics::TraceStatistics;
use forebay_lab::scenario::traces::{
    ChannelProfile, DeliveryTrace, TraceFileError, read_trace, write_trace,
};
use forebay_lab::scenario::{GeneratedTrace, Offset};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

/// Do one of the three.
pub fn channel(args: &ChannelArgs, out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
    match &args.command {
        ChannelCommand::Show(args) => show(args, out, paint),
        ChannelCommand::Generate(args) => generate(args, out),
        ChannelCommand::Convert(args) => convert::convert(args, out),
    }
}

/// The trace of a file, or of a model.
fn load(name: &str, source: &ChannelSource) -> Result<Arc<DeliveryTrace>, Failure> {
    match ChannelProfile::find(name) {
        Some(profile) if !Path::new(name).exists() => {
            let ChannelSource { seconds, scale, seed } = *source;
            let offset = Offset::default();
            Ok(GeneratedTrace { profile, seconds, scale, seed: None, offset }.generate(seed))
        }
        _ => read_trace(Path::new(name)).map(Arc::new).map_err(|error| {
            let no_file = matches!(error, TraceFileError::Io { .. });
            if no_file && !name.contains(['/', '.']) {
                Failure::input(format!(
                    "{error}\nhint: a file, or one of {}",
                    crate::args::channel_names().join(", ")
                ))
            } else {
                Failure::input(error)
            }
        }),
    }
}

fn show(args: &ShowArgs, out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
    let traces = args.traces.iter().map(|name| load(name, &args.source));
    let traces: Vec<Arc<DeliveryTrace>> = traces.collect::<Result<_, _>>()?;
    let statistics: Vec<TraceStatistics> =
        traces.iter().map(|trace| TraceStatistics::of(trace)).collect();
    if let Some(path) = &args.plot {
        let named: Vec<(&str, &DeliveryTrace)> =
            args.traces.iter().map(String::as_str).zip(traces.iter().map(AsRef::as_ref)).collect();
        let target = Target { path, option: "--plot", head: SVG_HEAD, force: args.force };
        target.is_not(&args.traces)?;
        target.put(|file| file.write_all(plot::svg(&named).as_bytes()))?;
    }
    if args.json {
        let named: serde_json::Map<String, serde_json::Value> = args
            .traces
            .iter()
            .zip(&statistics)
            .map(|(name, of)| (name.clone(), serde_json::json!(of)))
            .collect();
        writeln!(out, "{}", serde_json::Value::Object(named))?;
        return Ok(());
    }
    let mut table = Table::new(args.traces.iter().map(|name| plot::short(name)).collect());
    for (label, value) in ROWS {
        table.push(*label, statistics.iter().map(value).collect());
    }
    write!(out, "{}", table.render(paint))?;
    if let Some(path) = &args.plot {
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}

/// A line of the table: what it is called, and its value.
type StatisticRow = (&'static str, fn(&TraceStatistics) -> String);

/// The lines of the table.
const ROWS: &[StatisticRow] = &[
    ("length [s]", |of| three(of.seconds)),
    ("opportunities", |of| of.opportunities.to_string()),
    ("mean rate [Mbit/s]", |of| rate(of.mean_mbps)),
    ("rate over 1 s, 5 % [Mbit/s]", |of| rate(of.quantiles_1s_mbps[0])),
    ("rate over 1 s, 50 % [Mbit/s]", |of| rate(of.quantiles_1s_mbps[1])),
    ("rate over 1 s, 95 % [Mbit/s]", |of| rate(of.quantiles_1s_mbps[2])),
    ("variation over 20 ms", |of| three(of.cv_20ms)),
    ("variation over 100 ms", |of| three(of.cv_100ms)),
    ("variation over 1 s", |of| three(of.cv_1s)),
    ("autocorrelation, 100 ms", |of| three(of.autocorrelation_100ms)),
    ("autocorrelation, 1 s", |of| three(of.autocorrelation_1s)),
    ("autocorrelation, 10 s", |of| three(of.autocorrelation_10s)),
    ("burst, mean [packets]", |of| three(of.burst[0])),
    ("burst, 50 % [packets]", |of| three(of.burst[1])),
    ("burst, 95 % [packets]", |of| three(of.burst[2])),
    ("between bursts, mean [ms]", |of| three(of.gap_ms[0])),
    ("between bursts, 50 % [ms]", |of| three(of.gap_ms[1])),
    ("between bursts, 95 % [ms]", |of| three(of.gap_ms[2])),
    ("empty windows of 20 ms [%]", |of| three(of.empty_20ms * 100.0)),
    ("silences above 20 ms [1/min]", |of| three(of.silences_20ms_per_minute)),
    ("silences above 50 ms [1/min]", |of| three(of.silences_50ms_per_minute)),
    ("silences above 100 ms [1/min]", |of| three(of.silences_100ms_per_minute)),
    ("silences above 200 ms [1/min]", |of| three(of.silences_per_minute)),
    ("silences above 1 s [1/min]", |of| three(of.silences_1s_per_minute)),
];

/// To three places, without zeros at the end.
fn three(value: f64) -> String {
    let text = format!("{value:.3}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_string(),
        text => text.to_string(),
    }
}

/// The same, but a rate that three places would make 0 has two digits.
fn rate(mbps: f64) -> String {
    if mbps >= 0.001 || mbps <= 0.0 {
        return three(mbps);
    }
    let places = (1.0 - mbps.log10().floor()) as usize;
    format!("{mbps:.places$}").trim_end_matches('0').to_string()
}

fn generate(args: &GenerateArgs, out: &mut impl Write) -> Result<(), Failure> {
    // A trace may be measured: it does not say who wrote it.
    let target = |path| Target { path, option: "--out", head: "", force: args.force };
    args.out.iter().try_for_each(|path| target(path).check())?;
    let bar = Progress::start();
    let trace = load(&args.name, &args.source)?;
    let told = |trace: &DeliveryTrace, to: &mut dyn Write| {
        let mut told = Told {
            to,
            done: 0,
            all: file_bytes(trace),
            tell: |done, all| {
                bar.set(done as f64 / all as f64, || format!("{} MB of {}", done >> 20, all >> 20));
            },
        };
        let written = write_trace(trace, &mut told);
        bar.finish();
        written
    };
    match &args.out {
        Some(path) => {
            target(path).put(|file| told(&trace, file))?;
            writeln!(out, "{}", path.display())?;
            Ok(())
        }
        // Lines of a trace and a bar on one terminal would be neither.
        None if io::stdout().is_terminal() => Ok(write_trace(&trace, out)?),
        None => Ok(told(&trace, out)?),
    }
}

/// Bytes of the file of a trace: a line for each opportunity.
fn file_bytes(trace: &DeliveryTrace) -> u64 {
    let line = |at: Span| u64::from((at.as_nanos() / 1_000_000).max(1).ilog10()) + 2;
    trace.times().map(|(at, count)| line(at) * u64::from(count)).sum()
}

/// Writes, and reports how many of all bytes are written.
struct Told<'a, F: Fn(u64, u64)> {
    to: &'a mut dyn Write,
    done: u64,
    all: u64,
    tell: F,
}

impl<F: Fn(u64, u64)> Write for Told<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.done += written as u64;
        (self.tell)(self.done, self.all);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Only the last report counts: the size of the file is known before it is written.
    #[test]
    fn progress_of_a_file_ends_with_its_size() {
        let times = [0, 9, 9, 10, 99, 1_000, 1_000].map(Span::from_millis);
        let trace = DeliveryTrace::new(times, 1504).unwrap();
        let (mut file, told) = (Vec::new(), RefCell::new(Vec::new()));
        let tell = |done, all| told.borrow_mut().push((done, all));
        let mut to = Told { to: &mut file, done: 0, all: file_bytes(&trace), tell };
        write_trace(&trace, &mut to).unwrap();
        assert_eq!(file, b"0\n9\n9\n10\n99\n1000\n1000\n");
        assert_eq!(told.borrow().last(), Some(&(22, 22)));
    }

    #[test]
    fn zero_has_no_sign_and_what_is_not_zero_is_not_shown_as_zero() {
        assert_eq!([-0.0, -0.0001, 0.5, -0.25].map(three), ["0", "0", "0.5", "-0.25"]);
        let rates = [0.0, 0.00024, 0.0009, 0.001, 4.0, 2.4064].map(rate);
        assert_eq!(rates, ["0", "0.00024", "0.0009", "0.001", "4", "2.406"]);
    }
}
