//! Samples of paths as qlog (draft-ietf-quic-qlog-main-schema), a file for each path of each flow
//! of each run: `PROTOCOL-SEED-flow-N.sqlog`, of further paths `PROTOCOL-SEED-flow-N-P.sqlog`.
//!
//! | qlog | unit | series |
//! |---|---|---|
//! | `congestion_window` | bytes | `cwnd_bytes` |
//! | `ssthresh` | bytes | `ssthresh_bytes` |
//! | `smoothed_rtt` | ms | `srtt_ms` |
//! | `bytes_in_flight` | bytes | `in_flight_bytes` |
//! | `pacing_rate` | bit/s | `pacing_rate_bps` |
//!
//! An event has the values that changed since the one before, as the draft recommends; there is at
//! most one for each sample. Times are ms of simulated time.

use super::{ExportError, Results};
use crate::error::StoreError;
use crate::store::NewFolder;
use forebay_report::{Series, SeriesRow, read_series};
use serde_json::{Map, Number, Value, json};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Bytes of a file that are kept in memory.
const MOST_HELD_BYTES: usize = 1 << 16;

/// What begins a record of a JSON text sequence (RFC 7464 section 2.2).
const RECORD_SEPARATOR: u8 = 0x1e;

pub(super) fn write(
    folder: &Path,
    results: &Results,
    new: &NewFolder,
) -> Result<Vec<String>, ExportError> {
    let mut logs = Logs { results, new, open: BTreeMap::new(), files: Vec::new() };
    let mut failed = None;
    read_series(
        &folder.join("series.parquet"),
        |_| true,
        |row| {
            if failed.is_none() {
                failed = logs.row(row).err();
            }
        },
    )?;
    failed.map_or(Ok(()), Err)?;
    logs.close()?;
    if logs.files.is_empty() {
        let what = "series of flows; a run samples them every `sample_s`";
        return Err(ExportError::Nothing { folder: folder.to_path_buf(), what });
    }
    Ok(logs.files)
}

/// The field of qlog that has the values of a series, if one has.
fn field(series: Series) -> Option<&'static str> {
    match series {
        Series::Cwnd => Some("congestion_window"),
        Series::Ssthresh => Some("ssthresh"),
        Series::Srtt => Some("smoothed_rtt"),
        Series::InFlight => Some("bytes_in_flight"),
        Series::PacingRate => Some("pacing_rate"),
        _ => None,
    }
}

struct Logs<'a> {
    results: &'a Results,
    new: &'a NewFolder,
    /// By name of the file: those of the run that is read.
    open: BTreeMap<String, Log>,
    files: Vec<String>,
}

/// A file in the making.
struct Log {
    run: (Vec<u8>, u64),
    held: Vec<u8>,
    t_ns: i64,
    /// What the latest events said.
    known: BTreeMap<&'static str, f64>,
    /// What the next one says.
    changed: Map<String, Value>,
}

impl Logs<'_> {
    fn row(&mut self, row: &SeriesRow<'_>) -> Result<(), StoreError> {
        let Some(path) = row.entity().strip_prefix(b"flow/") else { return Ok(()) };
        let Some(field) = Series::by_name(row.metric()).and_then(field) else { return Ok(()) };
        let run = (row.protocol().to_vec(), row.seed());
        if self.open.values().next().is_some_and(|log| log.run != run) {
            self.close()?;
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (protocol, path) = (text(row.protocol()), text(path));
        let name = format!("{protocol}-{}-flow-{}.sqlog", row.seed(), path.replace('/', "-"));
        if !self.open.contains_key(&name) {
            let held = self.head(&protocol, row.seed(), &path);
            let known = BTreeMap::new();
            let log = Log { run, held, t_ns: row.t_ns, known, changed: Map::new() };
            self.open.insert(name.clone(), log);
            self.files.push(name.clone());
        }
        let Some(log) = self.open.get_mut(&name) else { return Ok(()) };
        log.sample(row.t_ns, field, row.value);
        if log.held.len() > MOST_HELD_BYTES {
            append(self.new, &name, &mut log.held)?;
        }
        Ok(())
    }

    /// The first record: what is logged.
    fn head(&self, protocol: &str, seed: u64, path: &str) -> Vec<u8> {
        let Results { forebay, scenario } = self.results;
        let epoch = json!({"clock_type": "monotonic", "epoch": "unknown"});
        record(&json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": format!("{scenario}: flow {path}, protocol {protocol}, seed {seed}"),
            "description": format!("Samples of a simulation by Forebay {forebay}"),
            "trace": {
                "common_fields": {"time_format": "relative_to_epoch", "reference_time": epoch},
                "vantage_point": {"name": format!("sender of flow {path}"), "type": "client"},
                "event_schemas": ["urn:ietf:params:qlog:events:quic-12"],
            },
        }))
    }

    /// Write what is held of all that are open.
    fn close(&mut self) -> Result<(), StoreError> {
        for (name, mut log) in std::mem::take(&mut self.open) {
            log.end_event();
            append(self.new, &name, &mut log.held)?;
        }
        Ok(())
    }
}

impl Log {
    fn sample(&mut self, t_ns: i64, field: &'static str, value: f64) {
        if t_ns != self.t_ns {
            self.end_event();
            self.t_ns = t_ns;
        }
        if self.known.insert(field, value) == Some(value) {
            return;
        }
        let number = match field {
            "smoothed_rtt" => Number::from_f64(value),
            // Bytes and bit/s are whole numbers in qlog.
            _ => Some(Number::from(value.round() as u64)),
        };
        if let Some(number) = number {
            self.changed.insert(field.to_string(), Value::Number(number));
        }
    }

    fn end_event(&mut self) {
        if self.changed.is_empty() {
            return;
        }
        let data = Value::Object(std::mem::take(&mut self.changed));
        let (time, name) = (self.t_ns as f64 / 1e6, "quic:recovery_metrics_updated");
        self.held.extend(record(&json!({"time": time, "name": name, "data": data})));
    }
}

fn record(value: &Value) -> Vec<u8> {
    let mut bytes = vec![RECORD_SEPARATOR];
    bytes.extend(value.to_string().as_bytes());
    bytes.push(b'\n');
    bytes
}

fn append(new: &NewFolder, name: &str, held: &mut Vec<u8>) -> Result<(), StoreError> {
    let path = new.file(Path::new(name));
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    let written = opened.and_then(|mut file| file.write_all(held));
    held.clear();
    written.map_err(StoreError::io("write", &path))
}
