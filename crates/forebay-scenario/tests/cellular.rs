//! The generators of cellular channels next to measured traces, and next to their table in the
//! documentation.
//!
//! The mean is a parameter: measured rates count packets of 1400 bytes, and are clipped at the load
//! that was sent.

#![allow(clippy::print_stderr)] // the numbers beside each other

use forebay_net::ChannelProfile;
use forebay_prerequisites::measured_trace;
use forebay_scenario::trace_statistics::TraceStatistics;
use forebay_scenario::traces::{OPPORTUNITY_BYTES, read_trace};
use std::fmt::Write;

/// Three would do for all but the variation over 1 s, which differs by 15 % from seed to seed.
const SEEDS: u64 = 8;
const SECONDS: u32 = 300;

/// A statistic, and how far a model may be from a measured trace.
struct Column {
    name: &'static str,
    of: fn(&TraceStatistics) -> f64,
    /// In the table.
    decimals: usize,
    /// A share of the measured value, and what is added to it.
    tolerance: (f64, f64),
    /// A count a minute: twice the counting error of the measured trace is added, too.
    counts: bool,
}

const fn column(
    name: &'static str,
    of: fn(&TraceStatistics) -> f64,
    decimals: usize,
    tolerance: (f64, f64),
) -> Column {
    Column { name, of, decimals, tolerance, counts: false }
}

const fn count(name: &'static str, of: fn(&TraceStatistics) -> f64, decimals: usize) -> Column {
    Column { name, of, decimals, tolerance: (0.2, 0.0), counts: true }
}

const COLUMNS: [Column; 11] = [
    column("variation over 20 ms", |s| s.cv_20ms, 2, (0.12, 0.0)),
    column("over 100 ms", |s| s.cv_100ms, 2, (0.15, 0.0)),
    column("over 1 s", |s| s.cv_1s, 2, (0.20, 0.0)),
    column("autocorrelation at 100 ms", |s| s.autocorrelation_100ms, 2, (0.0, 0.12)),
    column("at 10 s", |s| s.autocorrelation_10s, 2, (0.0, 0.12)),
    column("burst", |s| s.burst[0], 1, (0.15, 0.0)),
    column("between bursts", |s| s.gap_ms[0], 1, (0.15, 0.0)),
    column("empty windows", |s| s.empty_20ms * 100.0, 1, (0.2, 0.3)),
    count("silences above 20 ms", |s| s.silences_20ms_per_minute, 0),
    count("above 100 ms", |s| s.silences_100ms_per_minute, 1),
    count("above 200 ms", |s| s.silences_per_minute, 1),
];

/// A measured trace and its statistics in the order of [`COLUMNS`]; NaN where not published with
/// it.
struct Measured {
    model: &'static str,
    trace: &'static str,
    minutes: f64,
    row: [f64; 11],
    /// The file of `forebay-prerequisites`, if the trace may be at hand.
    file: Option<&'static str>,
}

const UNKNOWN: f64 = f64::NAN;

/// The first three are of the authors of Verus (Zaki et al., SIGCOMM 2015), the others come with
/// mahimahi (Winstein et al., NSDI 2013).
const MEASURED: [Measured; 5] = [
    Measured {
        model: "campus-pedestrian",
        trace: "Campus_Pedestrian_DL",
        minutes: 5.0,
        row: [0.501, 0.283, 0.154, 0.359, 0.057, 7.116, 4.584, 0.433, 31.8, 0.0, 0.0],
        file: Some("2_campus_pedestrian.trace"),
    },
    Measured {
        model: "city-driving",
        trace: "cityDriving",
        minutes: 5.0,
        row: [0.397, 0.264, 0.199, 0.669, 0.023, 7.238, 4.269, 0.713, 7.4, 0.6, 0.2],
        file: Some("4_city_driving.trace"),
    },
    Measured {
        model: "highway-driving",
        trace: "HighWay_DL",
        minutes: 5.0,
        row: [0.725, 0.498, 0.416, 0.693, 0.426, 7.326, 5.544, 3.474, 189.2, 1.2, 0.2],
        file: Some("5_highway_driving.trace"),
    },
    Measured {
        model: "lte-hard",
        trace: "TMobile-LTE-short.down",
        minutes: 2.3,
        row: [0.88, 0.69, 0.59, 0.84, -0.05, 10.1, 7.2, 14.3, UNKNOWN, 12.0, 3.9],
        file: None,
    },
    Measured {
        model: "umts-hard",
        trace: "TMobile-UMTS-driving.down",
        minutes: 15.5,
        row: [0.94, 0.83, 0.78, 0.92, 0.24, 2.1, 12.5, 20.3, UNKNOWN, UNKNOWN, 10.7],
        file: None,
    },
];

fn row(of: &TraceStatistics) -> [f64; 11] {
    COLUMNS.each_ref().map(|column| (column.of)(of))
}

/// Mean over seeds.
fn generated(name: &str) -> [f64; 11] {
    let profile = ChannelProfile::find(name).expect("a profile");
    let mut sum = [0.0; 11];
    for seed in 1..=SEEDS {
        let trace = profile.generate(seed, SECONDS, 1.0, OPPORTUNITY_BYTES).expect("a trace");
        let of = row(&TraceStatistics::of(&trace));
        sum.iter_mut().zip(of).for_each(|(sum, value)| *sum += value / SEEDS as f64);
    }
    sum
}

fn room(column: &Column, measured: &Measured, expected: f64) -> f64 {
    let (share, more) = column.tolerance;
    // Of at least one event in the whole trace.
    let error = (expected.max(1.0 / measured.minutes) / measured.minutes).sqrt();
    share * expected.abs() + more + if column.counts { 2.0 * error } else { 0.0 }
}

fn line(name: &str, values: &[f64; 11]) -> String {
    let mut line = format!("| {name} |");
    for (column, value) in COLUMNS.iter().zip(values) {
        // Writing to a string cannot fail.
        let _ = if value.is_nan() {
            write!(line, " |")
        } else {
            write!(line, " {value:.*} |", column.decimals)
        };
    }
    line
}

/// The tolerances are those that the parameters were fitted to.
#[test]
fn generators_are_like_measured_channels_and_as_documented() {
    let documented = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/channels.md");
    let documented = std::fs::read_to_string(documented).expect("the documentation");
    let mut wrong = Vec::new();
    for measured in &MEASURED {
        let found = generated(measured.model);
        for (column, (found, expected)) in COLUMNS.iter().zip(found.iter().zip(measured.row)) {
            let room = room(column, measured, expected);
            if (found - expected).abs() > room {
                let (model, name) = (measured.model, column.name);
                wrong.push(format!("{model} {name}: {found:.3}, not {expected:.3} +- {room:.3}"));
            }
        }
        for line in [line(measured.model, &found), line(measured.trace, &measured.row)] {
            eprintln!("{line}");
            if !documented.contains(&line) {
                wrong.push(format!("docs/how-to/channels.md lacks {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn measured_traces_have_the_statistics_that_are_compared() {
    for measured in &MEASURED {
        let Some(file) = measured.file.and_then(measured_trace) else { continue };
        let found = row(&TraceStatistics::of(&read_trace(&file).expect("a good trace")));
        for (column, (found, expected)) in COLUMNS.iter().zip(found.iter().zip(measured.row)) {
            let near = (found - expected).abs() <= 0.0006 + 0.001 * expected.abs();
            assert!(near, "{} {}: {found}, not {expected}", measured.trace, column.name);
        }
    }
}
