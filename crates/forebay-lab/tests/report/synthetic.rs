//! A folder of results with every metric that a report can show: a fluid model of three INRPP flows
//! over a detour, and of three RCP flows without.

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// Distance of samples.
const STEP_MS: i64 = 10;
const STEP_S: f64 = STEP_MS as f64 / 1e3;
/// Flow sizes, in bytes.
const SIZE: f64 = 10e6;
const LOW: f64 = 5e6;
const HIGH: f64 = 10e6;
const TOTAL: f64 = 12.5e6;
const SCHEMA: &str = "message forebay {
    required binary run_protocol (STRING); required int64 seed; required int64 t_ns;
    required binary entity (STRING); required binary metric (STRING); required double value;
}";

/// Rows of one run.
#[derive(Default)]
pub struct Rows {
    t_ns: Vec<i64>,
    entity: Vec<ByteArray>,
    metric: Vec<ByteArray>,
    value: Vec<f64>,
}

impl Rows {
    pub fn push(&mut self, at_ms: i64, entity: &str, metric: &str, value: f64) {
        self.t_ns.push(at_ms * 1_000_000);
        self.entity.push(entity.into());
        self.metric.push(metric.into());
        self.value.push(value);
    }
}

/// What is on its way: bytes of each flow that have passed the sender, interface 4-0, interface
/// 0-2.
#[derive(Clone, Copy, Default)]
struct InFlight {
    passed: [f64; 3],
}

/// Move up to `rate_bps` from behind `stage - 1` to behind `stage`, an equal share for each flow
/// that has something there.
fn serve(in_flight: &mut [InFlight; 3], stage: usize, rate_bps: f64) {
    let mut bytes = rate_bps / 8.0 * STEP_S;
    for _ in 0..3 {
        let held = |flight: &InFlight| flight.passed[stage - 1] - flight.passed[stage];
        let waiting = in_flight.iter().filter(|flight| held(flight) > 0.0).count();
        if waiting == 0 {
            return;
        }
        let share = bytes / waiting as f64;
        for flight in in_flight.iter_mut() {
            let moved = held(flight).min(share);
            flight.passed[stage] += moved;
            bytes -= moved;
        }
    }
}

/// Senders at 40 Mbit/s each from 1, 2 and 3 s, 20 Mbit/s through interface 0-2; what its cache
/// does not take, that of 4-0 takes.
fn inrpp() -> Rows {
    let (mut rows, mut in_flight, mut states) =
        (Rows::default(), [InFlight::default(); 3], [0.0; 2]);
    for port in ["port/0-2", "port/4-0"] {
        for (metric, value) in
            [("cache_low_bytes", LOW), ("cache_high_bytes", HIGH), ("cache_total_bytes", TOTAL)]
        {
            rows.push(0, port, metric, value);
        }
        rows.push(0, port, "state", 0.0);
        rows.push(0, port, "rate_bps", 12e6);
        rows.push(0, port, "queue_limit_bytes", 9000.0);
        rows.push(0, port, "queue_limit_packets", 6.0);
    }
    for at_ms in (0..14_000).step_by(STEP_MS as usize) {
        let before = states;
        for (flow, flight) in in_flight.iter_mut().enumerate() {
            let begun = at_ms >= 1000 * (flow as i64 + 1);
            let rate_bps = if states[1] == 2.0 { 6.67e6 } else { 40e6 };
            if begun {
                flight.passed[0] = SIZE.min(flight.passed[0] + rate_bps / 8.0 * STEP_S);
            }
        }
        serve(&mut in_flight, 1, if states[0] == 2.0 { 20e6 } else { 120e6 });
        serve(&mut in_flight, 2, 20e6);
        for (place, (stage, port)) in [(2, "port/0-2"), (1, "port/4-0")].into_iter().enumerate() {
            states[place] = interface(&mut rows, at_ms, stage, port, &in_flight, states[place]);
            if states[place] != before[place] {
                rows.push(at_ms, port, "state", states[place]);
            }
        }
        flows(&mut rows, at_ms, &in_flight);
    }
    rows
}

/// Sample an interface; its next state.
fn interface(
    rows: &mut Rows,
    at_ms: i64,
    stage: usize,
    port: &str,
    in_flight: &[InFlight; 3],
    state: f64,
) -> f64 {
    let held = |flight: &InFlight| flight.passed[stage - 1] - flight.passed[stage];
    let cache: f64 = in_flight.iter().map(held).sum();
    let sum = |stage: usize| in_flight.iter().map(|flight| flight.passed[stage]).sum::<f64>();
    for (metric, value) in
        [("cache_bytes", cache), ("offered_bytes", sum(stage - 1)), ("sent_bytes", sum(stage))]
    {
        rows.push(at_ms, port, metric, value);
    }
    if stage == 2 {
        // 1500 bytes on the wire have 1448 of payload, half of them by the detour.
        rows.push(at_ms, port, "transmitted_bytes", sum(2) / 2.0 * 1500.0 / 1448.0);
        rows.push(at_ms, port, "detoured_bytes", sum(2) / 2.0);
        rows.push(at_ms, port, "queue_bytes", 1500.0 * (1 + at_ms / 10 % 5) as f64);
    }
    for (flow, flight) in in_flight.iter().enumerate() {
        let entity = format!("{port}/flow/{}", flow + 1);
        rows.push(at_ms, &entity, "cache_bytes", held(flight));
        rows.push(at_ms, &entity, "passed_bytes", flight.passed[stage]);
    }
    match state {
        s if s >= 2.0 && cache > LOW => 2.0,
        _ if cache >= HIGH => 2.0,
        _ if cache > 0.0 => 1.0,
        _ => 0.0,
    }
}

fn flows(rows: &mut Rows, at_ms: i64, in_flight: &[InFlight; 3]) {
    for (flow, flight) in in_flight.iter().enumerate() {
        if at_ms < 1000 * (flow as i64 + 1) || flight.passed[2] >= SIZE {
            continue;
        }
        let entity = format!("flow/{}", flow + 1);
        let delayed = flight.passed[2];
        let values = [
            ("sent_bytes", flight.passed[0]),
            ("received_bytes", delayed),
            ("arrived_bytes", delayed),
            ("delivered_bytes", delayed),
            ("pacing_rate_bps", if flight.passed[0] < SIZE { 40e6 } else { 6.67e6 }),
            ("cwnd_bytes", flight.passed[0] - delayed + 250e3),
            ("srtt_ms", 50.0 + (flight.passed[0] - delayed) * 8.0 / 20e3),
        ];
        values.iter().for_each(|(metric, value)| rows.push(at_ms, &entity, metric, *value));
    }
}

/// 10 Mbit/s shared by those that have begun; the port stamps the share, and rings a little.
fn rcp() -> Rows {
    let mut rows = Rows::default();
    let mut received = [0.0f64; 3];
    rows.push(0, "port/0-2", "rate_bps", 10e6);
    rows.push(0, "port/0-2", "queue_limit_bytes", 62_500.0);
    for at_ms in (0..26_000i64).step_by(STEP_MS as usize) {
        let active: Vec<usize> =
            (0..3).filter(|&f| at_ms >= 1000 * (f as i64 + 1) && received[f] < SIZE).collect();
        let rate_bps =
            10e6 / active.len().max(1) as f64 * (1.0 + 0.1 * (at_ms as f64 / 300.0).sin());
        rows.push(at_ms, "port/0-2", "rcp_rate_bps", rate_bps);
        rows.push(at_ms, "port/0-2", "queue_bytes", 10e3 * (1.0 + (at_ms as f64 / 300.0).sin()));
        rows.push(at_ms, "port/0-2", "transmitted_bytes", received.iter().sum::<f64>());
        for flow in active {
            received[flow] += rate_bps / 8.0 * STEP_S;
            let entity = format!("flow/{}", flow + 1);
            for (metric, value) in [
                ("received_bytes", received[flow]),
                ("arrived_bytes", received[flow]),
                ("sent_bytes", received[flow] + rate_bps / 160.0),
                ("pacing_rate_bps", rate_bps),
                ("srtt_ms", 55.0 + (at_ms as f64 / 300.0).sin()),
            ] {
                rows.push(at_ms, &entity, metric, value);
            }
        }
    }
    rows
}

pub fn write_series(path: &Path, runs: &[(&str, Rows)]) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    for (protocol, rows) in runs {
        let many = rows.value.len();
        let mut group = writer.next_row_group().unwrap();
        let texts =
            [vec![ByteArray::from(*protocol); many], rows.entity.clone(), rows.metric.clone()];
        let numbers = [vec![1i64; many], rows.t_ns.clone()];
        for place in 0..6 {
            let mut column = group.next_column().unwrap().unwrap();
            match place {
                0 => column.typed::<ByteArrayType>().write_batch(&texts[0], None, None),
                1 | 2 => column.typed::<Int64Type>().write_batch(&numbers[place - 1], None, None),
                3 | 4 => column.typed::<ByteArrayType>().write_batch(&texts[place - 2], None, None),
                _ => column.typed::<DoubleType>().write_batch(&rows.value, None, None),
            }
            .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn summary_of(protocol: &str, fct_s: [f64; 3], ideal_s: [f64; 3], ended_s: f64) -> (Value, Value) {
    let mean = |times: [f64; 3]| times.iter().sum::<f64>() / 3.0;
    let flow = |i: usize| {
        let [src, dst] = ["s", "d"].map(|side| format!("{side}{}", i + 1));
        json!({"id": i + 1, "src": src, "dst": dst, "protocol": protocol, "bytes": 10_000_000,
               "fct_s": fct_s[i]})
    };
    let reference = json!({"afct_s": mean(ideal_s), "kind": "exact", "mode": "pooled", "why": "",
                           "per_flow_fct_s": ideal_s});
    let per_flow = [flow(0), flow(1), flow(2)];
    let run = json!({"protocol": protocol, "seed": 1, "ended_s": ended_s, "per_flow": per_flow,
                     "reference": reference});
    let of = |mean: f64| json!({"mean": mean, "ci95": null, "n": 1});
    let aggregate = json!({
        "protocol": protocol, "seeds": [1], "flows": 3, "completed": 3, "drops": {"full": of(0.0)},
        "metrics": {"afct_s": of(mean(fct_s)), "jain_goodput": of(0.998)},
        "utilisation": {"0-2": of(0.97), "0-1": of(if protocol == "inrpp" { 0.96 } else { 0.0 })},
        "reference": {"afct_s": of(mean(ideal_s)), "afct_ratio": of(mean(fct_s) / mean(ideal_s))},
    });
    (run, aggregate)
}

/// Write `summary.json`, `scenario.toml` and `series.parquet`; `name` and `description` are the
/// user's.
pub fn write(folder: &Path, name: &str, description: &str, notes: &[&str]) {
    let (pooled, single) = ([9.5, 10.5, 10.0], [21.5, 22.5, 22.0]);
    let runs = [
        summary_of("inrpp", [9.6, 10.6, 10.1], pooled, 14.0),
        summary_of("rcp", [22.0, 23.1, 22.4], single, 26.0),
    ];
    let [(inrpp_run, inrpp_aggregate), (rcp_run, rcp_aggregate)] = runs;
    let summary = json!({
        "forebay": "0.0.0-test", "scenario": name, "runs": [inrpp_run, rcp_run],
        "aggregate": [inrpp_aggregate, rcp_aggregate], "missing": [], "notes": notes,
    });
    fs::write(folder.join("summary.json"), summary.to_string()).unwrap();
    let scenario = format!("description = {}\n", json!(description));
    fs::write(folder.join("scenario.toml"), scenario).unwrap();
    write_series(&folder.join("series.parquet"), &[("inrpp", inrpp()), ("rcp", rcp())]);
}
