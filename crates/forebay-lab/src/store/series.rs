//! `series.parquet`: what changes over time, in long form, sampled every `sample_s`.
//!
//! Columns `run_protocol`, `seed`, `t_ns`, `entity`, `metric`, `value`; rows in order of run, then of time.
//!
//! * `flow/N` (and `flow/N/P` for each further path P, from 2), from the sender's first packet to its end: `cwnd_bytes`,
//!   `ssthresh_bytes`, `srtt_ms`, `in_flight_bytes`, `pacing_rate_bps`, `delivered_bytes`, `lost_bytes`; no row for what is not
//!   set (no threshold, no RTT sample yet, not paced);
//! * `port/a-b`, the port that feeds a directed link, from the first sample at which something waits there: `queue_bytes`.

use super::error::StoreError;
use super::table::{Column, TableFile, count};
use crate::run::LinkNames;
use forebay_base::{FlowId, LinkId, Time};
use forebay_sim::Simulation;
use forebay_transport::{PathView, Role};
use parquet::data_type::ByteArray;
use std::path::PathBuf;

/// Rows that are kept in memory.
const GROUP_ROWS: usize = 1 << 16;

/// Samples one run.
pub(crate) struct SeriesWriter {
    table: TableFile,
    protocol: ByteArray,
    seed: i64,
    names: LinkNames,
    /// By directed link: its name, once something has waited there.
    ports: Vec<Option<ByteArray>>,
    flows: Vec<Option<ByteArray>>,
    metrics: Metrics,
    rows: Rows,
}

#[derive(Default)]
struct Rows {
    t_ns: Vec<i64>,
    entity: Vec<ByteArray>,
    metric: Vec<ByteArray>,
    value: Vec<f64>,
}

impl Rows {
    fn push(&mut self, at: Time, entity: &ByteArray, metric: &ByteArray, value: f64) {
        self.t_ns.push(count(at.as_nanos()));
        self.entity.push(entity.clone());
        self.metric.push(metric.clone());
        self.value.push(value);
    }
}

/// Names of metrics, shared by all rows that have them.
struct Metrics {
    queue: ByteArray,
    of_path: [ByteArray; 7],
}

const QUEUE_METRIC: &str = "queue_bytes";
const PATH_METRICS: [&str; 7] = [
    "cwnd_bytes",
    "ssthresh_bytes",
    "srtt_ms",
    "in_flight_bytes",
    "pacing_rate_bps",
    "delivered_bytes",
    "lost_bytes",
];

/// The values of [`PATH_METRICS`].
fn values(view: &PathView) -> [Option<f64>; 7] {
    [
        Some(view.cwnd_bytes as f64),
        view.ssthresh_bytes.map(|bytes| bytes as f64),
        view.srtt.map(|srtt| srtt.as_secs_f64() * 1e3),
        Some(view.in_flight_bytes as f64),
        view.pacing_rate.map(|rate| rate.bps() as f64),
        Some(view.delivered_bytes as f64),
        Some(view.lost_bytes as f64),
    ]
}

impl SeriesWriter {
    pub(super) fn create(
        path: PathBuf,
        (protocol, seed): (&str, u64),
        names: LinkNames,
    ) -> Result<SeriesWriter, StoreError> {
        let rows = Rows::default();
        let protocol = ByteArray::from(protocol);
        // A seed may use all 64 bits; as a signed number it has the same ones.
        let seed = seed as i64;
        let table = TableFile::create(path, &columns(&protocol, seed, rows))?;
        Ok(SeriesWriter {
            table,
            protocol,
            seed,
            ports: vec![None; names.iter().count()],
            names,
            flows: Vec::new(),
            metrics: Metrics {
                queue: ByteArray::from(QUEUE_METRIC),
                of_path: PATH_METRICS.map(ByteArray::from),
            },
            rows: Rows::default(),
        })
    }

    /// Take a sample of everything now. `flows` is the number of flows.
    pub fn sample(&mut self, simulation: &Simulation, flows: usize) -> Result<(), StoreError> {
        self.flows.resize(flows, None);
        for flow in (0..flows as u32).map(FlowId) {
            self.sample_flow(simulation, flow);
        }
        for (i, port) in self.ports.iter_mut().enumerate() {
            let queue_bytes = simulation.link(LinkId(i as u32)).queue_bytes();
            if queue_bytes == 0 && port.is_none() {
                continue;
            }
            let names = &self.names;
            let name = || ByteArray::from(format!("port/{}", names.of(i)).as_str());
            let entity = port.get_or_insert_with(name);
            let metric = &self.metrics.queue;
            self.rows.push(simulation.now(), entity, metric, queue_bytes as f64);
        }
        if self.rows.value.len() >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    fn sample_flow(&mut self, simulation: &Simulation, flow: FlowId) {
        let client = simulation.connection(flow, Role::Client);
        let Some(client) = client.filter(|c| c.progress().ended.is_none()) else { return };
        let first = self.flows[flow.index()]
            .get_or_insert_with(|| ByteArray::from(format!("flow/{}", flow.0 + 1).as_str()));
        for path in 0..client.paths() {
            let further;
            let entity = match path {
                0 => &*first,
                _ => {
                    let name = format!("flow/{}/{}", flow.0 + 1, path + 1);
                    further = ByteArray::from(name.as_str());
                    &further
                }
            };
            let named = self.metrics.of_path.iter().zip(values(&client.view(path)));
            for (metric, value) in named {
                if let Some(value) = value {
                    self.rows.push(simulation.now(), entity, metric, value);
                }
            }
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.value.is_empty() {
            return Ok(());
        }
        self.table.append(&columns(&self.protocol, self.seed, rows).map(|(_, column)| column))
    }

    /// The run has ended.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.table.close()
    }
}

fn columns(protocol: &ByteArray, seed: i64, rows: Rows) -> [(&'static str, Column); 6] {
    let len = rows.value.len();
    [
        ("run_protocol", Column::Text(vec![protocol.clone(); len])),
        ("seed", Column::Integers(vec![seed; len])),
        ("t_ns", Column::Integers(rows.t_ns)),
        ("entity", Column::Text(rows.entity)),
        ("metric", Column::Text(rows.metric)),
        ("value", Column::Reals(rows.value)),
    ]
}

/// Put the series of several runs into one file, in the order given.
pub(super) fn join(path: PathBuf, parts: &[PathBuf]) -> Result<(), StoreError> {
    let like = columns(&ByteArray::from(""), 0, Rows::default());
    let mut table = TableFile::create(path, &like)?;
    parts.iter().try_for_each(|part| table.splice(part))?;
    table.close()
}
