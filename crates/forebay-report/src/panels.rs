//! The plots over time of one run: which lines stand together, and what a reader must know of them.

use super::downsample::Trace;
use super::gather::{Entity, Key, Lines, Metric};
use super::published::published;
use super::series::Series;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Most ports in a plot of queues.
const QUEUES: usize = 8;
/// Most interfaces whose caches are shown.
const CACHES: usize = 6;
/// A port whose peak is below this share of the highest one is not shown.
const MATTERS: f64 = 0.05;
/// The most that a flow may have unacknowledged: a window of that size limits nothing, and would
/// flatten those that do.
const NO_WINDOW_BYTES: f64 = (1u64 << 30) as f64;
/// Most flows whose sequence numbers are shown.
const SEQUENCES: usize = 6;

/// Most links in a plot of throughput, and the share of the utilisation of the busiest that each
/// has at least.
const LINKS: usize = 4;
const NEAR_BUSIEST: f64 = 0.5;
/// Most thresholds of one kind in a plot.
const MARKS: usize = 3;

/// A line of a plot.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub label: String,
    /// Number of its look: a colour of as many as the panel has looks, then dashes. None: the look
    /// of its protocol.
    pub look: Option<usize>,
    pub trace: Trace,
    /// What values are rounded to.
    pub step: f64,
}

/// A threshold: a name, and from which second on it has which value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub name: String,
    pub steps: Vec<(f64, f64)>,
}

/// What a link could have carried, where that changes from moment to moment: drawn behind the
/// lines.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pub label: String,
    pub trace: Trace,
    /// What values are rounded to.
    pub step: f64,
}

/// Curves that are not over time.
#[derive(Clone, Debug)]
pub(super) struct Curves {
    /// What the horizontal axis shows, and in which unit.
    pub x: (&'static str, String),
    /// A name and points for each.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// A plot over time, or of curves.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub group: &'static str,
    pub id: String,
    pub title: String,
    /// What the vertical axis shows.
    pub quantity: Cow<'static, str>,
    /// "bit/s", "B", "s", or what a controller says of what it publishes.
    pub unit: Cow<'static, str>,
    pub lines: Vec<Line>,
    /// The state of an interface, behind the lines.
    pub states: Option<Trace>,
    /// Colours that its lines have; for flows those of all plots, so that a flow looks the same in
    /// each.
    pub looks: usize,
    /// Thresholds.
    pub marks: Vec<Mark>,
    /// What is behind the lines.
    pub area: Option<Area>,
    /// It has these in place of lines.
    pub curves: Option<Curves>,
    /// The axis reaches up to the thresholds, however far below the lines are.
    pub whole: bool,
    /// What is not shown.
    pub omitted: Option<String>,
}

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
        "What receivers could read: payload in order. When a hole is filled, what had arrived \
         beyond it counts at once, so that this may exceed the capacity for a moment.",
    ),
    (
        "delay",
        "One-way delay",
        "Of the data packets that arrived since the sample before, from the transport of the \
         sender to that of the receiver: waiting at the sender's interface, queues and caches \
         included; retransmissions count with their own time, lost packets do not. Percentiles \
         within 3 %.",
    ),
    ("senders", "Senders", "cwnd, pacing rate and smoothed RTT per sender."),
    (
        "published",
        "What controllers publish",
        "Series of the congestion control itself, under the names and in the units that it gives.",
    ),
    ("queues", "Queues", "What waited at the ports of links, and the rate that RCP ports stamped."),
    (
        "signals",
        "Signals of Kick-Ass",
        "What ports of the busiest links say by the lengths at which they cut packets: R, the \
         largest code of at most R (drawn codes may be one higher), and fallback, in which nothing \
         is cut unless it is an order to use TCP.",
    ),
    (
        "caches",
        "Caches",
        "Bytes in the cache of an interface with its thresholds; what came in and went out, \
         detours included. Behind them the state of the interface.",
    ),
    (
        "sequence",
        "Sequence numbers",
        "How far each flow was at its sender, behind each cache on its way, and at its receiver. \
         The height between two lines is what is on the way or in a cache between them.",
    ),
    ("shares", "Cache shares", "Bytes of each flow in the cache of an interface."),
];

/// A kind of plot over time.
pub(super) struct Plot {
    group: &'static str,
    pub id: &'static str,
    /// What the vertical axis shows.
    quantity: &'static str,
    /// Of what; a rate is followed by the length of its windows.
    pub title: &'static str,
    unit: &'static str,
    draw: Draw,
}

/// What is drawn.
enum Draw {
    /// The values of each flow.
    Flows(Series),
    /// The same of flows that stay below this value.
    FlowsBelow(Series, f64),
    /// The rate of each flow.
    FlowRates(Series),
    /// The delay of each class of flows.
    Classes(Series),
    /// The rate of all flows together.
    Total(Series),
    /// The values of the ports of the busiest links: others say what leaves their links idle.
    Ports(Series),
    /// The rate of a count of each of these ports.
    PortRates(Series),
    /// Something else, for which there may be several plots.
    Own(fn(&Sorter<'_>, &Plot) -> Vec<Panel>),
}

const fn plot(
    (group, id): (&'static str, &'static str),
    (quantity, title): (&'static str, &'static str),
    unit: &'static str,
    draw: Draw,
) -> Plot {
    Plot { group, id, quantity, title, unit, draw }
}

/// All plots, in the order of [`GROUPS`]. Of those with the same id the first that has data is
/// shown: results of an earlier version may not have the better one.
const PLOTS: &[Plot] = &[
    plot(("throughput", "wire"), ("throughput", "on the wire of links"), "bit/s", Draw::Own(wire)),
    plot(
        ("throughput", "arrived-all"),
        ("throughput", "arrived at the receiver, all flows together"),
        "bit/s",
        Draw::Total(Series::Arrived),
    ),
    plot(
        ("throughput", "arrived"),
        ("throughput", "arrived at the receiver, each flow"),
        "bit/s",
        Draw::FlowRates(Series::Arrived),
    ),
    plot(
        ("goodput", "goodput-all"),
        ("goodput", "in order at the receiver, all flows together"),
        "bit/s",
        Draw::Total(Series::Received),
    ),
    plot(
        ("goodput", "goodput-all"),
        ("goodput", "acknowledged at the sender, all flows together"),
        "bit/s",
        Draw::Total(Series::Delivered),
    ),
    plot(
        ("goodput", "goodput"),
        ("goodput", "in order at the receiver, each flow"),
        "bit/s",
        Draw::FlowRates(Series::Received),
    ),
    plot(
        ("goodput", "goodput"),
        ("goodput", "acknowledged at the sender, each flow"),
        "bit/s",
        Draw::FlowRates(Series::Delivered),
    ),
    plot(
        ("delay", "delay-mean"),
        ("one-way delay", "mean"),
        "s",
        Draw::Classes(Series::OneWayMean),
    ),
    plot(
        ("delay", "delay-p50"),
        ("one-way delay", "median"),
        "s",
        Draw::Classes(Series::OneWayP50),
    ),
    plot(
        ("delay", "delay-p95"),
        ("one-way delay", "95th percentile"),
        "s",
        Draw::Classes(Series::OneWayP95),
    ),
    plot(
        ("senders", "cwnd"),
        ("congestion window", "congestion window"),
        "B",
        Draw::FlowsBelow(Series::Cwnd, NO_WINDOW_BYTES),
    ),
    plot(
        ("senders", "pacing"),
        ("pacing rate", "pacing rate"),
        "bit/s",
        Draw::Flows(Series::PacingRate),
    ),
    plot(
        ("senders", "srtt"),
        ("smoothed round-trip time", "smoothed round-trip time"),
        "s",
        Draw::Flows(Series::Srtt),
    ),
    plot(("published", "cc"), ("", ""), "", Draw::Own(published)),
    plot(("queues", "queue"), ("queue", "waiting at the port"), "B", Draw::Own(queues)),
    plot(("queues", "rcp"), ("rate", "rate stamped by RCP"), "bit/s", Draw::Ports(Series::RcpRate)),
    plot(
        ("signals", "kickass"),
        ("rate", "R of Kick-Ass, as codes say it"),
        "bit/s",
        Draw::Ports(Series::KickAssRate),
    ),
    plot(
        ("signals", "kickass-code"),
        ("code", "largest code of at most R"),
        "",
        Draw::Ports(Series::KickAssCode),
    ),
    plot(
        ("signals", "kickass-mode"),
        ("mode", "mode of the port"),
        "0 signals, 1 fallback",
        Draw::Ports(Series::KickAssMode),
    ),
    plot(
        ("signals", "kickass-pieces"),
        ("pieces", "packets made by cutting"),
        "1/s",
        Draw::PortRates(Series::KickAssPieces),
    ),
    plot(("caches", "cache"), ("cache", "in the cache"), "B", Draw::Own(caches)),
    plot(("sequence", "sequence"), ("sequence number", "flow"), "B", Draw::Own(sequences)),
    plot(("shares", "share"), ("cache", "in the cache, each flow"), "B", Draw::Own(shares)),
];

/// All plots of a run, in the order of [`GROUPS`]; those without data are left out.
pub(super) fn panels(lines: &Lines, window: &str, flows: &[u32]) -> Vec<Panel> {
    let mut run = Sorter { lines, window, flows, busiest: Vec::new() };
    run.busiest = run.busiest_links();
    let mut panels: Vec<Panel> = PLOTS.iter().flat_map(|plot| run.draw(plot)).collect();
    panels.retain(Panel::has_data);
    let mut seen = BTreeSet::new();
    panels.retain(|panel| seen.insert(panel.id.clone()));
    panels
}

pub(super) struct Sorter<'a> {
    pub lines: &'a Lines,
    window: &'a str,
    pub flows: &'a [u32],
    /// The links that were busiest, by the share of their capacity that was used; the busiest
    /// first.
    busiest: Vec<(&'a String, &'a Trace)>,
}

impl Line {
    /// From milliseconds to seconds.
    pub fn milliseconds(&mut self) {
        self.trace = self.trace.scaled(1e-3);
        self.step = step_of("s", self.trace.highest());
    }
}

impl Panel {
    /// Without lines yet; `id` and `title` of one of several.
    pub fn new(plot: &Plot, id: impl Into<String>, title: String) -> Panel {
        let (group, id) = (plot.group, id.into());
        let (quantity, unit) = (Cow::Borrowed(plot.quantity), Cow::Borrowed(plot.unit));
        let (lines, states, marks) = (Vec::new(), None, Vec::new());
        let (looks, whole, omitted) = (0, false, None);
        let (area, curves) = (None, None);
        Panel {
            group,
            id,
            title,
            quantity,
            unit,
            lines,
            states,
            looks,
            marks,
            area,
            curves,
            whole,
            omitted,
        }
    }
    /// True if there is something to draw.
    fn has_data(&self) -> bool {
        let some = |line: &Line| line.trace.samples().len() > 1;
        self.curves.is_some() || self.lines.iter().any(some)
    }
    pub fn push(&mut self, label: String, look: usize, trace: &Trace) {
        let (trace, look) = (trace.clone(), Some(look));
        self.looks = self.looks.max(self.lines.len() + 1);
        let step = step_of(&self.unit, trace.highest());
        self.lines.push(Line { label, look, trace, step });
    }
}

/// What values are rounded to: below a thousandth of the highest, and whole bytes where those are
/// enough.
fn step_of(unit: &str, highest: f64) -> f64 {
    let fine = 10f64.powi((highest.max(1e-9) / 1e4).log10().floor() as i32);
    if unit == "B" { fine.max(1.0) } else { fine }
}

/// The lines of a series.
fn of(
    lines: &BTreeMap<Key, Trace>,
    series: Series,
) -> impl Iterator<Item = (&Entity, &Trace)> + use<'_> {
    let of = lines.iter().filter(move |((_, m), _)| *m == Metric::Known(series));
    of.map(|((entity, _), trace)| (entity, trace))
}

impl<'a> Sorter<'a> {
    /// The plots of that kind.
    fn draw(&self, plot: &Plot) -> Vec<Panel> {
        let title = || plot.title.to_string();
        let over = || format!("{}, over {}", plot.title, self.window);
        let capacity = || self.capacity(self.busiest.iter().take(1));
        let area = || self.area();
        match plot.draw {
            Draw::Own(draw) => draw(self, plot),
            Draw::Classes(series) => delays_of_classes(self, plot, series),
            Draw::Flows(series) => {
                let mut panel = Panel::new(plot, plot.id, title());
                self.add_flows(&mut panel, self.levels(series));
                if series.unit() == "ms" {
                    panel.lines.iter_mut().for_each(Line::milliseconds);
                }
                vec![panel]
            }
            Draw::FlowsBelow(series, most) => {
                let mut panel = Panel::new(plot, plot.id, title());
                self.add_flows(&mut panel, self.levels(series));
                panel.lines.retain(|line| line.trace.highest() < most);
                vec![panel]
            }
            Draw::FlowRates(series) => {
                let empty = Panel::new(plot, plot.id, over());
                let mut panel = Panel { marks: capacity(), area: area(), ..empty };
                self.add_flows(&mut panel, of(&self.lines.rates, series));
                vec![panel]
            }
            Draw::Ports(series) => {
                vec![self.add_ports(Panel::new(plot, plot.id, title()), self.levels(series))]
            }
            Draw::PortRates(series) => {
                let panel = Panel::new(plot, plot.id, over());
                vec![self.add_ports(panel, of(&self.lines.rates, series))]
            }
            Draw::Total(series) => {
                let total = self.lines.totals.get(&series.into());
                let lines = total.map(|trace| {
                    let (label, step) =
                        ("all flows".to_string(), step_of("bit/s", trace.highest()));
                    Line { label, look: None, trace: trace.clone(), step }
                });
                let (lines, marks, area) = (lines.into_iter().collect(), capacity(), area());
                vec![Panel { lines, marks, area, whole: true, ..Panel::new(plot, plot.id, over()) }]
            }
        }
    }

    fn levels(&self, series: Series) -> impl Iterator<Item = (&'a Entity, &'a Trace)> + use<'a> {
        of(&self.lines.levels, series)
    }
    fn level(&self, entity: &Entity, series: Series) -> Option<&'a Trace> {
        self.lines.levels.get(&(entity.clone(), series.into()))
    }
    /// Label and look of a flow's path.
    fn flow(&self, flow: u32, path: u32) -> (String, usize) {
        let place = self.flows.binary_search(&flow);
        let place = place.expect("only flows that were chosen have lines");
        match path {
            1 => (format!("flow {flow}"), place),
            _ => {
                (format!("flow {flow} path {path}"), place + (path as usize - 1) * self.flows.len())
            }
        }
    }
    /// A line for each flow that has the metric.
    pub fn add_flows(&self, panel: &mut Panel, of: impl Iterator<Item = (&'a Entity, &'a Trace)>) {
        for (entity, trace) in of {
            if let Entity::Flow(flow, path) = entity {
                let (label, look) = self.flow(*flow, *path);
                panel.push(label, look, trace);
            }
        }
        panel.looks = self.flows.len();
    }

    /// A line for each port of the busiest links that has the metric.
    fn add_ports(
        &self,
        mut panel: Panel,
        of: impl Iterator<Item = (&'a Entity, &'a Trace)>,
    ) -> Panel {
        // Results of an earlier version do not say which links were busy.
        let of_busy = |port: &String| {
            self.busiest.is_empty() || self.busiest.iter().any(|(busy, _)| *busy == port)
        };
        let known = of.filter_map(|(entity, trace)| match entity {
            Entity::Port(port) if of_busy(port) => Some((port, trace)),
            _ => None,
        });
        let ports: Vec<_> = known.take(LINKS).collect();
        for (look, (port, trace)) in ports.iter().enumerate() {
            panel.push(format!("port {port}"), look, trace);
        }
        if panel.unit == "bit/s" {
            panel.marks = self.capacity(ports.iter());
        }
        panel
    }

    /// The links that were busiest, by the share of their capacity that was used; the busiest
    /// first.
    fn busiest_links(&self) -> Vec<(&'a String, &'a Trace)> {
        let rates = self.lines.rates.iter().filter_map(|((entity, metric), trace)| {
            let Entity::Port(port) = entity else { return None };
            let capacity = self.level(entity, Series::LinkRate).map(Trace::highest);
            let capacity =
                capacity.filter(|&bps| *metric == Series::Transmitted.into() && bps > 0.0)?;
            Some((trace.area() / capacity, port, trace))
        });
        let mut links: Vec<(f64, &String, &Trace)> = rates.collect();
        // A stable sort: of equals the first in the order of names.
        links.sort_by(|a, b| b.0.total_cmp(&a.0));
        let most = links.first().map_or(0.0, |link| link.0);
        links.retain(|link| link.0 > 0.0 && link.0 >= NEAR_BUSIEST * most);
        links.truncate(LINKS);
        links.into_iter().map(|(_, port, trace)| (port, trace)).collect()
    }
    /// The thresholds `series` of ports, each value once.
    fn marks_of<'b>(
        &self,
        name: &str,
        ports: impl Iterator<Item = &'b String>,
        series: Series,
    ) -> Vec<Mark> {
        let mut found: Vec<(Vec<&String>, Mark)> = Vec::new();
        let mut ports_with = 0;
        for port in ports {
            let entity = Entity::Port(port.clone());
            let Some(trace) = self.level(&entity, series) else { continue };
            ports_with += 1;
            let samples = trace.samples().iter().enumerate();
            // The first value was so from the start.
            let at_s = |place: usize, t_ns: i64| if place == 0 { 0.0 } else { t_ns as f64 / 1e9 };
            let steps = samples.map(|(place, &(t_ns, value))| (at_s(place, t_ns), value)).collect();
            let packets = self.level(&entity, Series::LimitPackets).and_then(Trace::last);
            let packets = packets.filter(|_| series == Series::LimitBytes);
            let packets = packets.map_or(String::new(), |n| format!(" ({n} packets)"));
            let mark = Mark { name: packets, steps };
            match found.iter_mut().find(|(_, other)| *other == mark) {
                Some((ports, _)) => ports.push(port),
                None => found.push((vec![port], mark)),
            }
        }
        let alone = found.len() == 1 && ports_with > 1;
        let named = found.into_iter().take(MARKS).map(|(ports, Mark { name: packets, steps })| {
            let of = match (alone, ports.as_slice()) {
                (true, _) => String::new(),
                (false, [port]) => format!(" of {port}"),
                (false, [port, more @ ..]) => format!(" of {port} and {} more", more.len()),
                (false, []) => String::new(),
            };
            Mark { name: format!("{name}{of}{packets}"), steps }
        });
        named.collect()
    }
    /// The rates of links; of one with a trace the rate is no threshold.
    fn capacity<'b>(&self, links: impl Iterator<Item = &'b (&'b String, &'b Trace)>) -> Vec<Mark> {
        let steady = links.map(|(port, _)| *port).filter(|port| self.opportunities(port).is_none());
        self.marks_of("capacity", steady, Series::LinkRate)
    }
    /// What the opportunities of a link with a trace carry.
    fn opportunities(&self, port: &str) -> Option<&'a Trace> {
        let key = (Entity::Port(port.to_string()), Series::Opportunities.into());
        self.lines.rates.get(&key)
    }
    /// The capacity of the busiest link, if that follows a trace.
    fn area(&self) -> Option<Area> {
        let (port, _) = self.busiest.first()?;
        let trace = self.opportunities(port)?.clone();
        let step = step_of("bit/s", trace.highest());
        Some(Area { label: format!("capacity of {port}"), trace, step })
    }

    /// Ports with a metric that matters, those with the highest peak first; and what is left out.
    fn busiest(
        &self,
        series: Series,
        most: usize,
    ) -> (Vec<(&'a String, &'a Trace)>, Option<String>) {
        let mut ports: Vec<(&String, &Trace)> = self
            .levels(series)
            .filter_map(|(entity, trace)| match entity {
                Entity::Port(name) if trace.highest() > 0.0 => Some((name, trace)),
                _ => None,
            })
            .collect();
        // A stable sort: of equals the first in the order of names.
        ports.sort_by(|a, b| b.1.highest().total_cmp(&a.1.highest()));
        let all = ports.len();
        let highest = ports.first().map_or(0.0, |(_, trace)| trace.highest());
        ports.retain(|(_, trace)| trace.highest() >= highest * MATTERS);
        ports.truncate(most);
        let (shown, left_out) = (ports.len(), all - ports.len());
        let omitted = (left_out > 0)
            .then(|| format!("{shown} of {all} ports, by their peaks; all are in series.parquet"));
        (ports, omitted)
    }

    /// The interfaces whose caches are shown.
    fn interfaces(&self) -> (Vec<&'a String>, Option<String>) {
        let (mut ports, omitted) = self.busiest(Series::Cache, CACHES);
        // Back-pressure goes upstream: in the order in which caches began to fill.
        ports.sort_by_key(|(_, trace)| trace.first_positive_ns());
        (ports.into_iter().map(|(port, _)| port).collect(), omitted)
    }

    /// What left each interface for a flow, in the order of its way: nothing is further ahead than
    /// what it comes from.
    fn passed(&self, flow: u32) -> Vec<(String, &'a Trace)> {
        let mut passed: Vec<(f64, &String, &Trace)> = self
            .levels(Series::Passed)
            .filter_map(|(entity, trace)| match entity {
                Entity::PortFlow(port, of) if *of == flow && trace.highest() > 0.0 => {
                    Some((trace.area(), port, trace))
                }
                _ => None,
            })
            .collect();
        passed.sort_by(|a, b| b.0.total_cmp(&a.0));
        passed.into_iter().map(|(_, port, trace)| (format!("left {port}"), trace)).collect()
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
