//! The plots over time of one run: which lines stand together, and what a reader must know of them.

use super::downsample::Trace;
use super::gather::{Entity, Lines, Metric};

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

/// A plot over time.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub group: &'static str,
    pub id: String,
    pub title: String,
    /// What the vertical axis shows.
    pub quantity: &'static str,
    /// "bit/s", "B" or "s".
    pub unit: &'static str,
    pub lines: Vec<Line>,
    /// The state of an interface, behind the lines.
    pub states: Option<Trace>,
    /// Colours that its lines have; for flows those of all plots, so that a flow looks the same in
    /// each.
    pub looks: usize,
    /// Thresholds.
    pub marks: Vec<Mark>,
    /// The axis reaches up to the thresholds, however far below the lines are.
    pub whole: bool,
    /// What is not shown.
    pub omitted: Option<String>,
}

/// A group of plots: id, heading, and what they show.
pub(super) const GROUPS: [(&str, &str, &str); 7] = [
    (
        "throughput",
        "Throughput on the wire",
        "Of links: bytes on the wire, headers and retransmissions included; the busiest links of \
         each run. Of flows: payload that arrived at the receiver, in order or beyond a hole.",
    ),
    (
        "goodput",
        "Goodput",
        "What receivers could read: payload in order. When a hole is filled, what had arrived \
         beyond it counts at once, so that this may exceed the capacity for a moment.",
    ),
    ("senders", "Senders", "What each sender allowed itself, and the round-trip time it saw."),
    ("queues", "Queues", "What waited at the ports of links, and the rate that RCP ports stamped."),
    (
        "caches",
        "Caches",
        "Bytes in the cache of an interface with its thresholds; what came in and went out, detours included. \
         Behind them the state of the interface.",
    ),
    (
        "sequence",
        "Sequence numbers",
        "How far each flow was at its sender, behind each cache on its way, and at its receiver. \
         The height between two lines is what is on the way or in a cache between them.",
    ),
    ("shares", "Cache shares", "Bytes of each flow in the cache of an interface."),
];

/// All plots of a run, in the order of [`GROUPS`]; those without data are left out.
pub(super) fn panels(lines: &Lines, window: &str, flows: &[u32]) -> Vec<Panel> {
    let run = Sorter { lines, window, flows };
    let busiest = run.busiest_links();
    let mut panels = vec![run.wire(&busiest)];
    panels.extend(run.received(&busiest));
    panels.extend(run.senders());
    panels.extend([run.queues(), run.stamped(&busiest)]);
    let caches = run.interfaces();
    panels.extend(run.caches(&caches));
    panels.extend(run.sequences());
    panels.extend(run.shares(&caches));
    panels.retain(|panel| panel.lines.iter().any(|line| line.trace.samples().len() > 1));
    panels
}

struct Sorter<'a> {
    lines: &'a Lines,
    window: &'a str,
    flows: &'a [u32],
}

impl Panel {
    fn new(
        group: &'static str,
        id: impl Into<String>,
        (quantity, title): (&'static str, String),
        unit: &'static str,
    ) -> Panel {
        let (id, lines, states, marks) = (id.into(), Vec::new(), None, Vec::new());
        let (looks, whole, omitted) = (0, false, None);
        Panel { group, id, title, quantity, unit, lines, states, looks, marks, whole, omitted }
    }
    fn push(&mut self, label: String, look: usize, trace: &Trace) {
        let (trace, look) = (trace.clone(), Some(look));
        self.looks = self.looks.max(self.lines.len() + 1);
        let step = step_of(self.unit, trace.highest());
        self.lines.push(Line { label, look, trace, step });
    }
}

/// What values are rounded to: below a thousandth of the highest, and whole bytes where those are
/// enough.
fn step_of(unit: &str, highest: f64) -> f64 {
    let fine = 10f64.powi((highest.max(1e-9) / 1e4).log10().floor() as i32);
    if unit == "B" { fine.max(1.0) } else { fine }
}

impl<'a> Sorter<'a> {
    fn levels(&self, metric: Metric) -> impl Iterator<Item = (&'a Entity, &'a Trace)> + use<'a> {
        let of = self.lines.levels.iter().filter(move |((_, m), _)| *m == metric);
        of.map(|((entity, _), trace)| (entity, trace))
    }
    fn level(&self, entity: &Entity, metric: Metric) -> Option<&'a Trace> {
        self.lines.levels.get(&(entity.clone(), metric))
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
    fn add_flows(&self, panel: &mut Panel, of: impl Iterator<Item = (&'a Entity, &'a Trace)>) {
        for (entity, trace) in of {
            if let Entity::Flow(flow, path) = entity {
                let (label, look) = self.flow(*flow, *path);
                panel.push(label, look, trace);
            }
        }
        panel.looks = self.flows.len();
    }

    /// The links that were busiest, by the share of their capacity that was used; the busiest
    /// first.
    fn busiest_links(&self) -> Vec<(&'a String, &'a Trace)> {
        let rates = self.lines.rates.iter().filter_map(|((entity, metric), trace)| {
            let Entity::Port(port) = entity else { return None };
            let capacity = self.level(entity, Metric::LinkRate).map(Trace::highest);
            let capacity = capacity.filter(|&bps| *metric == Metric::Transmitted && bps > 0.0)?;
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
    /// The thresholds `metric` of ports, each value once.
    fn marks_of<'b>(
        &self,
        name: &str,
        ports: impl Iterator<Item = &'b String>,
        metric: Metric,
    ) -> Vec<Mark> {
        let mut found: Vec<(Vec<&String>, Mark)> = Vec::new();
        let mut ports_with = 0;
        for port in ports {
            let entity = Entity::Port(port.clone());
            let Some(trace) = self.level(&entity, metric) else { continue };
            ports_with += 1;
            let samples = trace.samples().iter().enumerate();
            // The first value was so from the start.
            let at_s = |place: usize, t_ns: i64| if place == 0 { 0.0 } else { t_ns as f64 / 1e9 };
            let steps = samples.map(|(place, &(t_ns, value))| (at_s(place, t_ns), value)).collect();
            let packets = self.level(&entity, Metric::LimitPackets).and_then(Trace::last);
            let packets = packets.filter(|_| metric == Metric::LimitBytes);
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
    fn capacity<'b>(&self, links: impl Iterator<Item = &'b (&'b String, &'b Trace)>) -> Vec<Mark> {
        self.marks_of("capacity", links.map(|(port, _)| *port), Metric::LinkRate)
    }

    /// What was on the wire of the busiest links.
    fn wire(&self, busiest: &[(&'a String, &'a Trace)]) -> Panel {
        let title = format!("on the wire of links, over {}", self.window);
        let mut panel = Panel::new("throughput", "wire", ("throughput", title), "bit/s");
        for (look, (port, trace)) in busiest.iter().enumerate() {
            panel.push(format!("link {port}"), look, trace);
        }
        panel.marks = self.capacity(busiest.iter());
        panel.whole = true;
        panel
    }
    /// What arrived at receivers, then what was in order there; of both first all flows together.
    fn received(&self, busiest: &[(&'a String, &'a Trace)]) -> Vec<Panel> {
        let in_order = match self.lines.totals.contains_key(&Metric::Received) {
            true => (Metric::Received, "in order at the receiver"),
            false => (Metric::Delivered, "acknowledged at the sender"),
        };
        let arrived = (Metric::Arrived, "arrived at the receiver");
        let kinds = [
            ("throughput", ["arrived-all", "arrived"], arrived),
            ("goodput", ["goodput-all", "goodput"], in_order),
        ];
        let mut panels = Vec::new();
        for (group, [id_of_all, id], (metric, words)) in kinds {
            let new = |id: &str, what: &str| {
                let title = format!("{words}, {what}, over {}", self.window);
                let mut panel = Panel::new(group, id, (group, title), "bit/s");
                panel.marks = self.capacity(busiest.iter().take(1));
                panel
            };
            let mut flows = new(id, "each flow");
            let rates = self.lines.rates.iter().filter(|((_, m), _)| *m == metric);
            self.add_flows(&mut flows, rates.map(|((entity, _), trace)| (entity, trace)));
            if let Some(trace) = self.lines.totals.get(&metric) {
                let mut all = new(id_of_all, "all flows together");
                let step = step_of("bit/s", trace.highest());
                let (label, trace) = ("all flows".to_string(), trace.clone());
                all.lines.push(Line { label, look: None, trace, step });
                all.whole = true;
                panels.push(all);
            }
            panels.push(flows);
        }
        panels
    }

    fn senders(&self) -> [Panel; 3] {
        let of = |id: &str, quantity: &'static str, unit, metric| {
            let names = (quantity, quantity.to_string());
            let mut panel = Panel::new("senders", id, names, unit);
            self.add_flows(&mut panel, self.levels(metric));
            panel
        };
        let mut srtt = of("srtt", "smoothed round-trip time", "s", Metric::Srtt);
        for line in &mut srtt.lines {
            line.trace = line.trace.scaled(1e-3);
            line.step = step_of("s", line.trace.highest());
        }
        let mut cwnd = of("cwnd", "congestion window", "B", Metric::Cwnd);
        cwnd.lines.retain(|line| line.trace.highest() < NO_WINDOW_BYTES);
        [cwnd, of("pacing", "pacing rate", "bit/s", Metric::PacingRate), srtt]
    }

    /// Ports with a metric that matters, those with the highest peak first; and what is left out.
    fn busiest(
        &self,
        metric: Metric,
        most: usize,
    ) -> (Vec<(&'a String, &'a Trace)>, Option<String>) {
        let mut ports: Vec<(&String, &Trace)> = self
            .levels(metric)
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

    fn queues(&self) -> Panel {
        let names = ("queue", "waiting at the port".to_string());
        let mut panel = Panel::new("queues", "queue", names, "B");
        let (ports, omitted) = self.busiest(Metric::Queue, QUEUES);
        for (look, (port, trace)) in ports.iter().enumerate() {
            panel.push(format!("port {port}"), look, trace);
        }
        let shown = ports.iter().map(|(port, _)| *port);
        panel.marks = self.marks_of("limit", shown, Metric::LimitBytes);
        panel.omitted = omitted;
        panel
    }
    /// What the ports of the busiest links stamp: others stamp their capacity, whatever it is.
    fn stamped(&self, busiest: &[(&'a String, &'a Trace)]) -> Panel {
        let names = ("rate", "rate stamped by RCP".to_string());
        let mut panel = Panel::new("queues", "rcp", names, "bit/s");
        let known = self.levels(Metric::RcpRate).filter_map(|(entity, trace)| match entity {
            Entity::Port(port) => Some((port, trace)),
            _ => None,
        });
        // Results of an earlier version do not say which links were busy.
        let of_busy =
            |port: &String| busiest.is_empty() || busiest.iter().any(|(busy, _)| *busy == port);
        let ports: Vec<_> = known.filter(|(port, _)| of_busy(port)).take(LINKS).collect();
        for (look, (port, trace)) in ports.iter().enumerate() {
            panel.push(format!("port {port}"), look, trace);
        }
        panel.marks = self.capacity(ports.iter());
        panel
    }

    /// The interfaces whose caches are shown.
    fn interfaces(&self) -> (Vec<&'a String>, Option<String>) {
        let (mut ports, omitted) = self.busiest(Metric::Cache, CACHES);
        // Back-pressure goes upstream: in the order in which caches began to fill.
        ports.sort_by_key(|(_, trace)| trace.first_positive_ns());
        (ports.into_iter().map(|(port, _)| port).collect(), omitted)
    }

    /// Two plots for each interface: what is in the cache, and what comes and goes.
    fn caches(&self, (ports, omitted): &(Vec<&'a String>, Option<String>)) -> Vec<Panel> {
        let mut panels = Vec::new();
        for port in ports {
            let entity = Entity::Port((*port).clone());
            let states = self.level(&entity, Metric::State).cloned();
            let new = |id: &str, quantity: &'static str, title: &str, unit| {
                let names = (quantity, format!("{port}: {title}"));
                let mut panel = Panel::new("caches", format!("{id}-{port}"), names, unit);
                panel.states = states.clone();
                panel
            };
            let mut cache = new("cache", "cache", "in the cache", "B");
            if let Some(trace) = self.level(&entity, Metric::Cache) {
                cache.push("cache".to_string(), 0, trace);
            }
            let thresholds = [
                ("low", Metric::CacheLow),
                ("high", Metric::CacheHigh),
                ("total", Metric::CacheTotal),
            ];
            for (name, metric) in thresholds {
                let value = self.level(&entity, metric).and_then(Trace::last);
                let steps = |value| vec![(0.0, value)];
                let mark = |value| Mark { name: name.to_string(), steps: steps(value) };
                cache.marks.extend(value.map(mark));
            }
            cache.omitted.clone_from(omitted);
            let title = format!("in and out, over {}", self.window);
            let mut rates = new("rates", "rate", &title, "bit/s");
            rates.marks = self.marks_of("capacity", std::iter::once(*port), Metric::LinkRate);
            let flows =
                [("in", Metric::Offered), ("out", Metric::Sent), ("detoured", Metric::Detoured)];
            for (look, (name, metric)) in flows.into_iter().enumerate() {
                let rate = self.lines.rates.get(&(entity.clone(), metric));
                if let Some(rate) = rate.filter(|rate| rate.highest() > 0.0) {
                    rates.push(name.to_string(), look, rate);
                }
            }
            panels.extend([cache, rates]);
        }
        panels
    }

    fn sequences(&self) -> Vec<Panel> {
        let mut panels = Vec::new();
        for &flow in self.flows.iter().take(SEQUENCES) {
            let own = Entity::Flow(flow, 1);
            let title = format!("flow {flow}");
            let names = ("sequence number", title);
            let mut panel = Panel::new("sequence", format!("sequence-{flow}"), names, "B");
            let sent = self.level(&own, Metric::Sent).map(|trace| ("sent".to_string(), trace));
            let received = self.level(&own, Metric::Received);
            let received = received.map(|trace| ("received".to_string(), trace));
            let lines = sent.into_iter().chain(self.passed(flow)).chain(received);
            lines.enumerate().for_each(|(look, (name, trace))| panel.push(name, look, trace));
            let more = self.flows.len().saturating_sub(SEQUENCES);
            panel.omitted = (more > 0)
                .then(|| format!("the first {SEQUENCES} flows; others are in series.parquet"));
            if panel.lines.len() > 1 {
                panels.push(panel);
            }
        }
        panels
    }
    /// What left each interface for a flow, in the order of its way: nothing is further ahead than
    /// what it comes from.
    fn passed(&self, flow: u32) -> Vec<(String, &'a Trace)> {
        let mut passed: Vec<(f64, &String, &Trace)> = self
            .levels(Metric::Passed)
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

    fn shares(&self, (ports, omitted): &(Vec<&'a String>, Option<String>)) -> Vec<Panel> {
        let of = |port: &&String| {
            let names = ("cache", format!("{port}: in the cache, each flow"));
            let mut panel = Panel::new("shares", format!("share-{port}"), names, "B");
            for (entity, trace) in self.levels(Metric::Cache) {
                match entity {
                    Entity::PortFlow(at, flow) if at == *port && trace.highest() > 0.0 => {
                        let (label, look) = self.flow(*flow, 1);
                        panel.push(label, look, trace);
                    }
                    _ => {}
                }
            }
            panel.looks = self.flows.len();
            let state = self.level(&Entity::Port(port.to_string()), Metric::State);
            panel.states = state.cloned();
            panel.omitted.clone_from(omitted);
            panel
        };
        ports.iter().map(of).collect()
    }
}
