//! `series.parquet`: what changes over time, in long form, sampled every `sample_s`.
//!
//! Columns `run_protocol`, `seed`, `t_ns`, `entity`, `metric`, `value`, `unit`; rows in order of
//! run, then of time. Names and units stand in the table of [`Series`].
//!
//! * `flow/N` (and `flow/N/P` for each further path P, from 2), from the sender's first packet to
//!   its end: `cwnd_bytes`, `ssthresh_bytes`, `srtt_ms`, `in_flight_bytes`, `pacing_rate_bps`,
//!   `delivered_bytes`, `lost_bytes`; no row for what is not set (no threshold, no RTT sample yet,
//!   not paced). Of the flow as a whole `sent_bytes`, sent at least once, `received_bytes`, in
//!   order at the receiver, and `arrived_bytes`, those and what has arrived beyond a hole;
//!   Of each path `cc.NAME`, whatever its controller publishes, in the unit that it gives;
//! * `class/NAME`, the flows of a class, at each sample before which a data packet of theirs had
//!   arrived: `one_way_delay_mean_ms`, `one_way_delay_p50_ms` and `one_way_delay_p95_ms` of the
//!   packets that arrived since the sample before. They count what the metrics of these names
//!   count; percentiles are exact within a bucket (3 %);
//! * `port/a-b`, the port that feeds a directed link, from the first sample at which something
//!   waits there: `queue_bytes`. From the first packet on what the scheme and the discipline of the
//!   port publish, as RCP the rate that it writes, `rcp_rate_bps`. Of a port that has another row
//!   or lies between two routers `transmitted_bytes`, on the wire since the start, headers and
//!   per-packet overhead included, at each sample at which it has grown. Next to the first of those
//!   `rate_bps`, the rate of the link, and again when it has changed; once `queue_limit_bytes`, of
//!   a limit in packets that many of the MTU, and in that case `queue_limit_packets`.
//!   If its link follows a trace `opportunity_bytes`, what its opportunities have carried since the
//!   start, at each sample at which that has grown;
//! * `port/a-b` of an INRPP router, from the first sample at which it has left the state P:
//!   `cache_bytes`, `state` (0 P, 1 S&D, 2 B, 3 DB), and bytes on the wire since the start:
//!   `offered_bytes` to that interface, of those `sent_bytes` over its link and its detours, of
//!   those `detoured_bytes`. Once, at that sample: `cache_low_bytes`, `cache_high_bytes`,
//!   `cache_total_bytes`;
//! * `port/a-b/flow/N` of those, in scenarios of at most 50 flows: `cache_bytes`, and
//!   `passed_bytes`, payload that has left.

use super::background::BackgroundTable;
use super::rows::{Entity, Names, Rows};
use super::table::{Column, TableFile};
use crate::error::StoreError;
use forebay_base::{Endpoint, FlowId, LinkId, Rate, Span, Time};
use forebay_cc::SeriesSample;
use forebay_metrics::MAX_FLOWS_BY_PORT;
use forebay_queue::Limit;
use forebay_report::Series;
use forebay_router::inrpp::{CacheLimits, FlowTotals, InterfaceView};
use forebay_run::{Capacity, DelaySamples, RunStart, has_left_push, interface};
use forebay_scenario::{LinkNames, Scenario};
use forebay_sim::Simulation;
use forebay_transport::{ConnectionView, PathView, Role};
use parquet::data_type::ByteArray;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Rows that are kept in memory.
const GROUP_ROWS: usize = 1 << 16;
/// Samples one run.
pub(crate) struct SeriesWriter {
    table: BackgroundTable,
    protocol: ByteArray,
    seed: i64,
    names: LinkNames,
    /// By directed link.
    facts: Vec<PortFacts>,
    /// By directed link, of those that follow a trace.
    traces: Vec<Option<Capacity>>,
    /// By directed link.
    ports: Vec<Port>,
    flows: Vec<Entity>,
    /// By flow and path, of paths but the first.
    paths: BTreeMap<(FlowId, usize), Entity>,
    classes: BTreeMap<String, Entity>,
    /// Of flows at an interface.
    shares: BTreeMap<(LinkId, FlowId), Entity>,
    /// By its endpoints, where interfaces have rows for each flow.
    flow_ids: BTreeMap<[(u32, u16); 2], FlowId>,
    delays: DelaySamples,
    names_of_series: Names,
    rows: Rows,
    /// What scheme and discipline of a port publish at a sample, kept for its memory.
    published: Vec<(&'static str, f64)>,
}

/// What the scenario says of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PortFacts {
    between_routers: bool,
    limit_bytes: u64,
    /// Where the limit is in packets.
    limit_packets: Option<u64>,
}

impl PortFacts {
    /// By directed link.
    fn all(scenario: &Scenario) -> Vec<PortFacts> {
        let of = |link: &forebay_scenario::Link| {
            let is_host = |node: forebay_base::NodeId| scenario.nodes[node.index()].is_host;
            let between_routers = !is_host(link.a) && !is_host(link.b);
            [&link.forward, &link.reverse].map(|wire| {
                let (limit_bytes, limit_packets) = match wire.queue {
                    Limit::Packets(packets) => {
                        (packets.saturating_mul(u64::from(wire.wire.mtu_bytes)), Some(packets))
                    }
                    limit => (limit.most(), None),
                };
                PortFacts { between_routers, limit_bytes, limit_packets }
            })
        };
        scenario.links.iter().flat_map(of).collect()
    }
}

/// What has been written of a port.
#[derive(Clone, Default)]
struct Port {
    entity: Entity,
    /// The latest row of `transmitted_bytes`.
    transmitted_bytes: u64,
    /// The latest row of `opportunity_bytes`.
    opportunity_bytes: f64,
    /// The latest row of `rate_bps`.
    rate: Option<Rate>,
    /// Something has waited there.
    queued: bool,
    /// Its scheme or its discipline has published a number.
    published: bool,
    /// It is an interface of an INRPP router, once that was asked.
    pools: Option<bool>,
    /// That router has left P there.
    pooled: bool,
}

/// What is sampled of a path.
fn path_values(view: &PathView) -> [(Series, Option<f64>); 7] {
    [
        (Series::Cwnd, Some(view.cwnd_bytes as f64)),
        (Series::Ssthresh, view.ssthresh_bytes.map(|bytes| bytes as f64)),
        (Series::Srtt, view.srtt.map(|srtt| srtt.as_secs_f64() * 1e3)),
        (Series::InFlight, Some(view.in_flight_bytes as f64)),
        (Series::PacingRate, view.pacing_rate.map(|rate| rate.bps() as f64)),
        (Series::Delivered, Some(view.delivered_bytes as f64)),
        (Series::Lost, Some(view.lost_bytes as f64)),
    ]
}

/// What is sampled of the bytes of a flow.
fn stream_values(simulation: &Simulation, flow: FlowId, sent_bytes: u64) -> [(Series, u64); 3] {
    [
        (Series::Sent, sent_bytes),
        (Series::Received, simulation.received_bytes(flow)),
        (Series::Arrived, simulation.arrived_bytes(flow)),
    ]
}

/// What is sampled of an interface of an INRPP router.
fn interface_values(view: &InterfaceView<'_>) -> [(Series, f64); 5] {
    [
        (Series::Cache, view.cache_bytes() as f64),
        (Series::State, f64::from(view.state() as u8)),
        (Series::Offered, view.offered_bytes() as f64),
        (Series::Sent, view.sent_bytes() as f64),
        (Series::Detoured, view.detoured_bytes() as f64),
    ]
}

impl SeriesWriter {
    pub(super) fn create(path: PathBuf, start: &RunStart<'_>) -> Result<SeriesWriter, StoreError> {
        let RunStart { scenario, protocol, seed, spec, names } = *start;
        let protocol = ByteArray::from(protocol);
        // A seed may use all 64 bits; as a signed number it has the same ones.
        let seed = seed as i64;
        let links = (0..spec.links.len() as u32).map(LinkId);
        let table = TableFile::create(path, &no_rows())?;
        Ok(SeriesWriter {
            table: BackgroundTable::new(table),
            protocol,
            seed,
            ports: vec![Port::default(); names.iter().count()],
            facts: PortFacts::all(scenario),
            traces: links.map(|link| Capacity::of_trace(spec, link)).collect(),
            names: names.clone(),
            flows: vec![Entity::default(); spec.flows.len()],
            paths: BTreeMap::new(),
            classes: BTreeMap::new(),
            shares: BTreeMap::new(),
            flow_ids: BTreeMap::new(),
            delays: DelaySamples::new(spec),
            names_of_series: Names::new(),
            rows: Rows::new(),
            published: Vec::new(),
        })
    }

    /// Take a sample of everything now.
    pub fn sample(&mut self, simulation: &Simulation) -> Result<(), StoreError> {
        let flows = self.flows.len();
        if self.flow_ids.is_empty() && flows <= MAX_FLOWS_BY_PORT {
            self.flow_ids = flow_ids(simulation, flows);
        }
        self.rows.begin(simulation.now());
        for flow in (0..flows as u32).map(FlowId) {
            self.sample_flow(simulation, flow);
        }
        self.sample_delays(simulation);
        for link in (0..self.ports.len() as u32).map(LinkId) {
            self.sample_port(simulation, link);
        }
        if self.rows.len() >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    fn sample_delays(&mut self, simulation: &Simulation) {
        let (rows, classes) = (&mut self.rows, &mut self.classes);
        self.delays.sample(simulation, |class, delays| {
            if !classes.contains_key(class) {
                classes.insert(class.to_string(), Entity::default());
            }
            let entity = classes.get_mut(class).expect("it was inserted");
            let entity = rows.enter(entity, || format!("class/{class}"));
            let values = [
                (Series::OneWayMean, delays.mean()),
                (Series::OneWayP50, delays.quantile(0.5)),
                (Series::OneWayP95, delays.quantile(0.95)),
            ];
            for (series, delay) in values {
                let ms = delay.unwrap_or(Span::ZERO).as_nanos() as f64 / 1e6;
                rows.push(entity, series, ms);
            }
        });
    }

    fn sample_port(&mut self, simulation: &Simulation, id: LinkId) {
        let link = simulation.link(id);
        let queue_bytes = link.queue_bytes();
        self.published.clear();
        if !link.busy().is_zero() {
            link.publish(&mut |name, value| self.published.push((name, value)));
        }
        let port = &mut self.ports[id.index()];
        let pools = *port.pools.get_or_insert_with(|| interface(simulation, id).is_some());
        let view = if pools { interface(simulation, id).filter(has_left_push) } else { None };
        port.queued |= queue_bytes > 0;
        port.published |= !self.published.is_empty();
        let between_routers = self.facts[id.index()].between_routers;
        if !port.queued && !port.published && view.is_none() && !between_routers {
            return;
        }
        let transmitted_bytes = link.transmitted_bytes();
        if transmitted_bytes == 0 && !port.entity.has_rows() {
            return;
        }
        let names = &self.names;
        let name = || format!("port/{}", names.of(id.index()));
        let entity = self.rows.enter(&mut port.entity, name);
        let first = view.is_some() && !std::mem::replace(&mut port.pooled, view.is_some());
        let (queued, rate) = (port.queued, link.rate());
        self.sample_wire(simulation.now(), entity, id, transmitted_bytes, rate);
        if queued {
            self.rows.push(entity, Series::Queue, queue_bytes as f64);
        }
        for &(name, value) in &self.published {
            let number = self.names_of_series.of_scheme(name);
            self.rows.push_numbered(entity, number, value);
        }
        if let Some(view) = view {
            self.sample_interface(id, entity, &view, first);
        }
    }

    fn sample_wire(
        &mut self,
        now: Time,
        entity: u32,
        id: LinkId,
        transmitted_bytes: u64,
        rate: Rate,
    ) {
        let (port, facts) = (&mut self.ports[id.index()], self.facts[id.index()]);
        if transmitted_bytes > port.transmitted_bytes {
            port.transmitted_bytes = transmitted_bytes;
            self.rows.push(entity, Series::Transmitted, transmitted_bytes as f64);
        }
        if let Some(capacity) = &self.traces[id.index()] {
            let bytes = capacity.bytes_until(now);
            if bytes > port.opportunity_bytes {
                port.opportunity_bytes = bytes;
                self.rows.push(entity, Series::Opportunities, bytes);
            }
        }
        let before = port.rate.replace(rate);
        if before != Some(rate) {
            self.rows.push(entity, Series::LinkRate, rate.bps() as f64);
        }
        if before.is_none() {
            self.rows.push(entity, Series::LimitBytes, facts.limit_bytes as f64);
            if let Some(packets) = facts.limit_packets {
                self.rows.push(entity, Series::LimitPackets, packets as f64);
            }
        }
    }

    fn sample_interface(&mut self, id: LinkId, entity: u32, view: &InterfaceView<'_>, first: bool) {
        for (series, value) in interface_values(view) {
            self.rows.push(entity, series, value);
        }
        if first {
            let CacheLimits { low_bytes, high_bytes, total_bytes } = view.limits();
            let limits = [
                (Series::CacheLow, low_bytes),
                (Series::CacheHigh, high_bytes),
                (Series::CacheTotal, total_bytes),
            ];
            for (series, bytes) in limits {
                self.rows.push(entity, series, bytes as f64);
            }
        }
        if self.flow_ids.is_empty() {
            return;
        }
        // A flow has one share, whether its packets came by their own way or on a detour.
        let mut shares: BTreeMap<FlowId, FlowTotals> = BTreeMap::new();
        for (key, totals) in view.flows() {
            let Some(&flow) = self.flow_ids.get(&[key.src(), key.dst()]) else { continue };
            let share = shares.entry(flow).or_default();
            share.cached_bytes += totals.cached_bytes;
            share.passed_bytes += totals.passed_bytes;
        }
        let port = self.names.of(id.index());
        for (flow, FlowTotals { cached_bytes, passed_bytes }) in shares {
            let entity = self.shares.entry((id, flow)).or_default();
            let entity = self.rows.enter(entity, || format!("port/{port}/flow/{}", flow.0 + 1));
            self.rows.push(entity, Series::Cache, cached_bytes as f64);
            self.rows.push(entity, Series::Passed, passed_bytes as f64);
        }
    }

    fn sample_flow(&mut self, simulation: &Simulation, flow: FlowId) {
        let client = simulation.connection(flow, Role::Client).and_then(ConnectionView::open);
        let Some(client) = client.filter(|client| !client.is_ended()) else {
            return self.sample_foreign(simulation, flow);
        };
        for path in 0..client.paths() {
            let entity = match path {
                0 => self.enter_flow(flow),
                _ => {
                    let entity = self.paths.entry((flow, path)).or_default();
                    self.rows.enter(entity, || format!("flow/{}/{}", flow.0 + 1, path + 1))
                }
            };
            self.push_view(entity, &client.view(path));
            let (rows, names) = (&mut self.rows, &mut self.names_of_series);
            client.observe(path, &mut |SeriesSample { name, unit, value }| {
                if value.is_finite() {
                    rows.push_numbered(entity, names.of_controller(name, unit), value);
                }
            });
        }
        let entity = self.enter_flow(flow);
        for (series, bytes) in stream_values(simulation, flow, client.progress().sent_bytes) {
            self.rows.push(entity, series, bytes as f64);
        }
    }

    fn enter_flow(&mut self, flow: FlowId) -> u32 {
        self.rows.enter(&mut self.flows[flow.index()], || format!("flow/{}", flow.0 + 1))
    }

    fn push_view(&mut self, entity: u32, view: &PathView) {
        for (series, value) in path_values(view) {
            if let Some(value) = value {
                self.rows.push(entity, series, value);
            }
        }
    }

    /// A flow whose sender is a host with another stack.
    fn sample_foreign(&mut self, simulation: &Simulation, flow: FlowId) {
        let now = simulation.now();
        let sender = simulation.foreign(flow, Role::Client);
        let sender = sender.filter(|end| end.ended_by(now).is_none());
        let Some(sample) = sender.and_then(|end| end.sample(now)) else { return };
        let entity = self.enter_flow(flow);
        self.push_view(entity, &sample.view);
        for (series, bytes) in stream_values(simulation, flow, sample.stream_bytes) {
            self.rows.push(entity, series, bytes as f64);
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        let columns = self.rows.columns(&self.protocol, self.seed, &self.names_of_series);
        self.table.append(columns.map(|(_, column)| column).into())
    }

    /// The run has ended.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.table.end()
    }
}

/// The flows by address and port of both ends of each of their paths, in the direction of the data.
fn flow_ids(simulation: &Simulation, flows: usize) -> BTreeMap<[(u32, u16); 2], FlowId> {
    let end = |end: Endpoint| (end.addr.0, end.port);
    let ids = (0..flows as u32).map(FlowId).flat_map(|flow| {
        let paths = simulation.workload().paths(flow).iter();
        paths.map(move |path| ([end(path.src.0), end(path.dst.0)], flow))
    });
    ids.collect()
}

/// The columns of an empty table.
pub(super) fn no_rows() -> [(&'static str, Column); 7] {
    Rows::new().columns(&ByteArray::from(""), 0, &Names::new())
}

/// Put the series of several runs into one file, in the order given.
pub(super) fn join(path: PathBuf, parts: &[PathBuf]) -> Result<(), StoreError> {
    let mut table = TableFile::create(path, &no_rows())?;
    parts.iter().try_for_each(|part| table.splice(part))?;
    table.close()
}
