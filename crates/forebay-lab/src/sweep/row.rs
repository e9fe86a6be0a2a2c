//! What a run of a sweep gives.

use super::SweepRun;
use forebay_metrics::METRICS;
use forebay_run::RunResult;
use forebay_scenario::SweptValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use forebay_report::Cell;

/// The result of one run, or its error: plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Number of the point.
    pub point: u64,
    /// Protocol of the flows that name none.
    pub protocol: String,
    /// The seed.
    pub seed: u64,
    /// Why there is no result; None if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RowResult>,
}

/// What is kept of the result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowResult {
    /// What text and figures call the protocol.
    pub label: String,
    /// Trace hash, 16 hexadecimal digits.
    pub trace_hash: String,
    /// Number of flows.
    pub flow_count: u64,
    /// Flows that completed.
    pub completed_flows: u64,
    /// Packets dropped, for any reason.
    pub dropped_packets: u64,
    /// Events handled.
    pub event_count: u64,
    /// Packets fully serialised on a link, each link counted.
    pub packet_hops: u64,
    /// Simulated time at the end, in seconds.
    pub ended_s: f64,
    /// Wall-clock time of the event loop, in seconds.
    pub wall_s: f64,
    /// CPU time of the event loop, in seconds.
    pub cpu_s: f64,
    /// Busy share of the busiest link between routers, in one direction.
    pub utilisation: Option<f64>,
    /// AFCT by that of the reference.
    pub afct_ratio: Option<f64>,
    /// Of the busiest link that follows a trace, bytes sent in the window by bytes offered.
    pub trace_utilisation: Option<f64>,
    /// Of the class of the first flow.
    #[serde(default)]
    pub first_class: FirstClass,
    /// The metrics that are one number, in the order of [`METRICS`].
    pub metrics: Vec<Option<f64>>,
}

/// Of the flows of the class of the first flow: where classes compete, how the first one fares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FirstClass {
    /// Their goodput by that of all flows.
    pub goodput_share: Option<f64>,
    /// 95th percentile of the one-way delay of their data packets, in milliseconds.
    pub delay_p95_ms: Option<f64>,
    /// Retransmitted packets with payload by those sent, whole run.
    pub retransmit_share: Option<f64>,
}

impl FirstClass {
    fn of(run: &RunResult) -> FirstClass {
        let Some(first) = run.per_flow.first() else { return FirstClass::default() };
        let own = || run.per_flow.iter().filter(|flow| flow.class == first.class);
        let sent: u64 = own().map(|flow| flow.data_packets).sum();
        let again: u64 = own().map(|flow| flow.retransmits).sum();
        // One class alone has no metrics of its own.
        let all = &run.metrics.of_flows;
        let class = run.metrics.by_class.get(&first.class).map_or(all, |class| &class.of_flows);
        let goodputs = class.goodput_bps.zip(all.goodput_bps.filter(|bps| *bps > 0.0));
        FirstClass {
            goodput_share: goodputs.map(|(own, all)| own / all),
            delay_p95_ms: class.one_way_delay_p95_ms,
            retransmit_share: (sent > 0).then(|| again as f64 / sent as f64),
        }
    }
}

impl Row {
    /// Of a run at `point` that finished.
    pub fn of(point: u64, run: &RunResult) -> Row {
        let most = |links: &BTreeMap<String, f64>| links.values().copied().reduce(f64::max);
        let result = RowResult {
            label: run.label.clone(),
            trace_hash: run.trace_hash.clone(),
            flow_count: run.flows as u64,
            completed_flows: run.completed as u64,
            dropped_packets: run.drops.values().sum(),
            event_count: run.events,
            packet_hops: run.packet_hops,
            ended_s: run.ended_s,
            wall_s: run.wall_s,
            cpu_s: run.cpu_s,
            utilisation: most(&run.metrics.utilisation),
            afct_ratio: run.reference.afct_ratio,
            trace_utilisation: most(&run.metrics.trace_utilisation),
            first_class: FirstClass::of(run),
            metrics: run.metrics.numbers().map(|(_, value)| value).collect(),
        };
        let (protocol, seed) = (run.protocol.clone(), run.seed);
        Row { point, protocol, seed, error: None, result: Some(result) }
    }

    /// Of a run that failed.
    pub(super) fn failed(run: &SweepRun<'_>, error: String) -> Row {
        let SweepRun { point, seed, protocol } = *run;
        Row { point, protocol: protocol.to_string(), seed, error: Some(error), result: None }
    }

    /// A metric by its name; None if the run failed or has no value of it.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let place = METRICS.iter().filter(|metric| metric.in_table).position(|m| m.name == name)?;
        self.result.as_ref()?.metrics[place]
    }

    /// Its cells in the order of [`super::sweep_columns`]; `values` are those of the swept keys at
    /// its point, and `name` the name of that.
    pub fn cells(&self, name: Option<&str>, values: &[Option<SweptValue>]) -> Vec<Cell> {
        let text = |text: Option<&str>| text.map_or(Cell::Null, |text| Cell::Text(text.into()));
        // The bits of an unsigned number, as in the other tables.
        let mut cells = vec![Cell::Integer(self.point as i64), text(name)];
        cells.extend([text(Some(&self.protocol)), Cell::Integer(self.seed as i64)]);
        cells.extend(values.iter().map(|value| value.as_ref().map_or(Cell::Null, cell_of)));
        cells.push(text(self.error.as_deref()));
        let metrics = || METRICS.iter().filter(|metric| metric.in_table);
        let Some(of) = &self.result else {
            cells.extend(vec![Cell::Null; RESULT_COLUMNS + metrics().count()]);
            return cells;
        };
        let number = |value: Option<f64>| value.map_or(Cell::Null, Cell::Real);
        let counts =
            [of.flow_count, of.completed_flows, of.dropped_packets, of.event_count, of.packet_hops];
        cells.extend([text(Some(&of.label)), text(Some(&of.trace_hash))]);
        cells.extend(counts.map(|count| Cell::Integer(count as i64)));
        cells.extend([of.ended_s, of.wall_s, of.cpu_s].map(Cell::Real));
        cells.extend([of.utilisation, of.afct_ratio, of.trace_utilisation].map(number));
        let FirstClass { goodput_share, delay_p95_ms, retransmit_share } = of.first_class;
        cells.extend([goodput_share, delay_p95_ms, retransmit_share].map(number));
        cells.extend(of.metrics.iter().map(|value| number(*value)));
        cells
    }
}

/// Columns of a result that are no metrics.
const RESULT_COLUMNS: usize = 16;

fn cell_of(value: &SweptValue) -> Cell {
    match value {
        SweptValue::Boolean(value) => Cell::Boolean(*value),
        SweptValue::Integer(value) => Cell::Integer(*value),
        SweptValue::Real(value) => Cell::Real(*value),
        SweptValue::Text(text) => Cell::Text(text.clone()),
    }
}
