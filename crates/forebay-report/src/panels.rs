//! The plots over time of one run: which lines stand together, and what a reader must know of them.

use super::downsample::Trace;
use super::gather::{Entity, Lines};
use super::panel::{Draw, Line, Mark, Panel, Plot, Sorter, of, step_of};
use super::published::published;
use super::series::Series;
use std::collections::BTreeSet;

/// Most ports in a plot of queues.
const QUEUES: usize = 8;
/// The most that a flow may have unacknowledged: a window of that size limits nothing, and would
/// flatten those that do.
const NO_WINDOW_BYTES: f64 = (1u64 << 30) as f64;
/// Most flows whose sequence numbers are shown.
const SEQUENCES: usize = 6;

/// A group of plots: id, heading, and what they show.
pub(super) const GROUPS: [(&str, &str, &str); 10] = [
    (
        "throughput",
        "Throughput on the wire",
        "Of links: bytes on the wire, headers and retransmissions included; the busiest links of \
         each run. In grey, of the busiest if it follows a trace: what its opportunities carry. Of \
         flows: payload that arrived at the receiver, in order or beyond a hole.",
    ),
    (
        "goodput",
        "Goodput",
        "Payload in order at the receiver. When a hole is filled, the data that had arrived beyond \
         it counts at once, so that this may briefly exceed the capacity.",
    ),
    (
        "delay",
        "One-way delay",
        "Of the data packets that arrived since the previous sample, from the sender's transport \
         to the receiver's, including the wait at the sender's interface, in queues and in caches; \
         retransmissions count from their own departure, lost packets do not count. Percentiles \
         within 3 %.",
    ),
    ("senders", "Senders", "cwnd, pacing rate and smoothed RTT per sender."),
    (
        "published",
        "What controllers publish",
        "Series of the congestion control itself, under its own names and units.",
    ),
    ("queues", "Queues", "Backlog at the ports of links, and the rate that RCP ports wrote."),
    (
        "signals",
        "Signals of Kick-Ass",
        "What ports of the busiest links signal by the lengths of first fragments: R, the \
         largest code of at most R (drawn codes may be one higher), and fallback, in which nothing \
         is cut unless it is an order to use TCP.",
    ),
    (
        "caches",
        "Caches",
        "Bytes in the cache of an interface with its thresholds; arrivals and departures, \
         detours included. Behind them the state of the interface.",
    ),
    (
        "sequence",
        "Sequence numbers",
        "Progress of each flow at its sender, after each cache on its path, and at its receiver. \
         The height between two lines is the data in flight or cached between them.",
    ),
    ("shares", "Cache shares", "Bytes of each flow in the cache of an interface."),
];

const fn plot(
    group: &'static str,
    id: &'static str,
    quantity: &'static str,
    title: &'static str,
    unit: &'static str,
    draw: Draw,
) -> Plot {
    Plot { group, id, quantity, title, unit, draw }
}

/// All plots, in the order of [`GROUPS`]. Of those with the same id the first that has data is
/// shown: results of an earlier version may not have the better one.
const PLOTS: &[Plot] = &[
    plot("throughput", "wire", "throughput", "on the wire of links", "bit/s", Draw::Own(wire)),
    plot(
        "throughput",
        "arrived-all",
        "throughput",
        "arrived at the receiver, all flows together",
        "bit/s",
        Draw::Total(Series::Arrived),
    ),
    plot(
        "throughput",
        "arrived",
        "throughput",
        "arrived at the receiver, each flow",
        "bit/s",
        Draw::FlowRates(Series::Arrived),
    ),
    plot(
        "goodput",
        "goodput-all",
        "goodput",
        "in order at the receiver, all flows together",
        "bit/s",
        Draw::Total(Series::Received),
    ),
    plot(
        "goodput",
        "goodput-all",
        "goodput",
        "acknowledged at the sender, all flows together",
        "bit/s",
        Draw::Total(Series::Delivered),
    ),
    plot(
        "goodput",
        "goodput",
        "goodput",
        "in order at the receiver, each flow",
        "bit/s",
        Draw::FlowRates(Series::Received),
    ),
    plot(
        "goodput",
        "goodput",
        "goodput",
        "acknowledged at the sender, each flow",
        "bit/s",
        Draw::FlowRates(Series::Delivered),
    ),
    plot("delay", "delay-mean", "one-way delay", "mean", "s", Draw::Classes(Series::OneWayMean)),
    plot("delay", "delay-p50", "one-way delay", "median", "s", Draw::Classes(Series::OneWayP50)),
    plot(
        "delay",
        "delay-p95",
        "one-way delay",
        "95th percentile",
        "s",
        Draw::Classes(Series::OneWayP95),
    ),
    plot(
        "senders",
        "cwnd",
        "congestion window",
        "congestion window",
        "B",
        Draw::FlowsBelow(Series::Cwnd, NO_WINDOW_BYTES),
    ),
    plot(
        "senders",
        "pacing",
        "pacing rate",
        "pacing rate",
        "bit/s",
        Draw::Flows(Series::PacingRate),
    ),
    plot(
        "senders",
        "srtt",
        "smoothed round-trip time",
        "smoothed round-trip time",
        "s",
        Draw::Flows(Series::Srtt),
    ),
    plot("published", "cc", "", "", "", Draw::Own(published)),
    plot("queues", "queue", "queue", "waiting at the port", "B", Draw::Own(queues)),
    plot("queues", "rcp", "rate", "rate written by RCP", "bit/s", Draw::Ports(Series::RcpRate)),
    plot(
        "signals",
        "kickass",
        "rate",
        "R of Kick-Ass, as codes say it",
        "bit/s",
        Draw::Ports(Series::KickAssRate),
    ),
    plot(
        "signals",
        "kickass-code",
        "code",
        "largest code of at most R",
        "",
        Draw::Ports(Series::KickAssCode),
    ),
    plot(
        "signals",
        "kickass-mode",
        "mode",
        "mode of the port",
        "0 signals, 1 fallback",
        Draw::Ports(Series::KickAssMode),
    ),
    plot(
        "signals",
        "kickass-pieces",
        "pieces",
        "fragments created",
        "1/s",
        Draw::PortRates(Series::KickAssPieces),
    ),
    plot("caches", "cache", "cache", "in the cache", "B", Draw::Own(caches)),
    plot("sequence", "sequence", "sequence number", "flow", "B", Draw::Own(sequences)),
    plot("shares", "share", "cache", "in the cache, each flow", "B", Draw::Own(shares)),
];

/// All plots of a run, in the order of [`GROUPS`]; those without data are left out.
pub(super) fn panels(lines: &Lines, window: &str, flows: &[u32]) -> Vec<Panel> {
    let run = Sorter::new(lines, window, flows);
    let mut panels: Vec<Panel> = PLOTS.iter().flat_map(|plot| draw(&run, plot)).collect();
    panels.retain(Panel::has_data);
    let mut seen = BTreeSet::new();
    panels.retain(|panel| seen.insert(panel.id.clone()));
    panels
}

/// The plots of that kind.
fn draw(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let title = || plot.title.to_string();
    let over = || format!("{}, over {}", plot.title, run.window);
    let capacity = || run.capacity(run.busiest.iter().take(1));
    let area = || run.area();
    match plot.draw {
        Draw::Own(draw) => draw(run, plot),
        Draw::Classes(series) => delays_of_classes(run, plot, series),
        Draw::Flows(series) => {
            let mut panel = Panel::new(plot, plot.id, title());
            run.add_flows(&mut panel, run.levels(series));
            if series.unit() == "ms" {
                panel.lines.iter_mut().for_each(Line::milliseconds);
            }
            vec![panel]
        }
        Draw::FlowsBelow(series, most) => {
            let mut panel = Panel::new(plot, plot.id, title());
            run.add_flows(&mut panel, run.levels(series));
            panel.lines.retain(|line| line.trace.highest() < most);
            vec![panel]
        }
        Draw::FlowRates(series) => {
            let empty = Panel::new(plot, plot.id, over());
            let mut panel = Panel { marks: capacity(), area: area(), ..empty };
            run.add_flows(&mut panel, of(&run.lines.rates, series));
            vec![panel]
        }
        Draw::Ports(series) => {
            vec![run.add_ports(Panel::new(plot, plot.id, title()), run.levels(series))]
        }
        Draw::PortRates(series) => {
            let panel = Panel::new(plot, plot.id, over());
            vec![run.add_ports(panel, of(&run.lines.rates, series))]
        }
        Draw::Total(series) => {
            let total = run.lines.totals.get(&series.into());
            let lines = total.map(|trace| {
                let (label, step) = ("all flows".to_string(), step_of("bit/s", trace.highest()));
                Line { label, look: None, trace: trace.clone(), step }
            });
            let (lines, marks, area) = (lines.into_iter().collect(), capacity(), area());
            vec![Panel { lines, marks, area, whole: true, ..Panel::new(plot, plot.id, over()) }]
        }
    }
}

/// What was on the wire of the busiest links.
fn wire(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let title = format!("{}, over {}", plot.title, run.window);
    let mut panel = Panel::new(plot, plot.id, title);
    for (look, (port, trace)) in run.busiest.iter().enumerate() {
        panel.push(format!("link {port}"), look, trace);
    }
    panel.marks = run.capacity(run.busiest.iter());
    panel.area = run.area();
    panel.whole = true;
    vec![panel]
}

fn queues(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let mut panel = Panel::new(plot, plot.id, plot.title.to_string());
    let (ports, omitted) = run.busiest(Series::Queue, QUEUES);
    for (look, (port, trace)) in ports.iter().enumerate() {
        panel.push(format!("port {port}"), look, trace);
    }
    let shown = ports.iter().map(|(port, _)| *port);
    panel.marks = run.marks_of("limit", shown, Series::LimitBytes);
    panel.omitted = omitted;
    vec![panel]
}

/// Two plots for each interface: what is in the cache, and what comes and goes.
fn caches(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let (ports, omitted) = run.interfaces();
    let mut panels = Vec::new();
    for port in ports {
        let entity = Entity::Port(port.clone());
        let states = run.level(&entity, Series::State).cloned();
        let title = format!("{port}: {}", plot.title);
        let mut cache = Panel::new(plot, format!("{}-{port}", plot.id), title);
        cache.states.clone_from(&states);
        if let Some(trace) = run.level(&entity, Series::Cache) {
            cache.push("cache".to_string(), 0, trace);
        }
        let thresholds =
            [("low", Series::CacheLow), ("high", Series::CacheHigh), ("total", Series::CacheTotal)];
        for (name, series) in thresholds {
            let value = run.level(&entity, series).and_then(Trace::last);
            let mark = |value| Mark { name: name.to_string(), steps: vec![(0.0, value)] };
            cache.marks.extend(value.map(mark));
        }
        cache.omitted.clone_from(&omitted);
        let title = format!("{port}: in and out, over {}", run.window);
        let mut rates = Panel::new(plot, format!("rates-{port}"), title);
        (rates.quantity, rates.unit) = ("rate".into(), "bit/s".into());
        rates.states = states;
        rates.marks = run.marks_of("capacity", std::iter::once(port), Series::LinkRate);
        let flows =
            [("in", Series::Offered), ("out", Series::Sent), ("detoured", Series::Detoured)];
        for (look, (name, series)) in flows.into_iter().enumerate() {
            let rate = run.lines.rates.get(&(entity.clone(), series.into()));
            if let Some(rate) = rate.filter(|rate| rate.highest() > 0.0) {
                rates.push(name.to_string(), look, rate);
            }
        }
        panels.extend([cache, rates]);
    }
    panels
}

fn sequences(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let mut panels = Vec::new();
    for &flow in run.flows.iter().take(SEQUENCES) {
        let own = Entity::Flow(flow, 1);
        let title = format!("{} {flow}", plot.title);
        let mut panel = Panel::new(plot, format!("{}-{flow}", plot.id), title);
        let sent = run.level(&own, Series::Sent).map(|trace| ("sent".to_string(), trace));
        let received = run.level(&own, Series::Received);
        let received = received.map(|trace| ("received".to_string(), trace));
        let lines = sent.into_iter().chain(run.passed(flow)).chain(received);
        lines.enumerate().for_each(|(look, (name, trace))| panel.push(name, look, trace));
        let more = run.flows.len().saturating_sub(SEQUENCES);
        panel.omitted = (more > 0)
            .then(|| format!("the first {SEQUENCES} flows; others are in series.parquet"));
        if panel.lines.len() > 1 {
            panels.push(panel);
        }
    }
    panels
}

fn shares(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let (ports, omitted) = run.interfaces();
    let of = |port: &String| {
        let title = format!("{port}: {}", plot.title);
        let mut panel = Panel::new(plot, format!("{}-{port}", plot.id), title);
        for (entity, trace) in run.levels(Series::Cache) {
            let Entity::PortFlow(at, flow) = entity else { continue };
            if at == port && trace.highest() > 0.0 {
                let (label, look) = run.flow(*flow, 1);
                panel.push(label, look, trace);
            }
        }
        panel.looks = run.flows.len();
        panel.states = run.level(&Entity::Port(port.clone()), Series::State).cloned();
        panel.omitted.clone_from(&omitted);
        panel
    };
    ports.into_iter().map(of).collect()
}

/// A line for each class. That of the only class of a run is of its protocol.
fn delays_of_classes(run: &Sorter<'_>, plot: &Plot, series: Series) -> Vec<Panel> {
    let mut panel = Panel::new(plot, plot.id, plot.title.to_string());
    for (entity, trace) in run.levels(series) {
        let Entity::Class(class) = entity else { continue };
        panel.push(class.clone(), panel.lines.len(), trace);
    }
    panel.lines.iter_mut().for_each(Line::milliseconds);
    if let [only] = &mut panel.lines[..] {
        // What it is called differs by protocol and says nothing.
        (only.label, only.look) = ("all flows".to_string(), None);
    }
    vec![panel]
}
