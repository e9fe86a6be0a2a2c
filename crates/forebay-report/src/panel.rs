//! A plot over time, and the lines of a run that a plot is made of.

use super::downsample::Trace;
use super::gather::{Entity, Key, Lines, Metric};
use super::series::Series;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Most interfaces whose caches are shown.
const CACHES: usize = 6;
/// A port whose peak is below this share of the highest one is not shown.
const MATTERS: f64 = 0.05;
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
    /// Rounding of values.
    pub step: f64,
}

/// A threshold: a name, and from which second on it has which value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub name: String,
    pub steps: Vec<(f64, f64)>,
}

/// Capacity of a link, where that changes from moment to moment: drawn behind the
/// lines.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pub label: String,
    pub trace: Trace,
    /// Rounding of values.
    pub step: f64,
}

/// Curves that are not over time.
#[derive(Clone, Debug)]
pub(super) struct Curves {
    /// Quantity on the horizontal axis, and in which unit.
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
    /// Quantity on the vertical axis.
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
    /// What is drawn behind the lines.
    pub area: Option<Area>,
    /// It has these in place of lines.
    pub curves: Option<Curves>,
    /// The axis reaches up to the thresholds, however far below the lines are.
    pub whole: bool,
    /// What is not shown.
    pub omitted: Option<String>,
}

/// A kind of plot over time.
pub(super) struct Plot {
    pub group: &'static str,
    pub id: &'static str,
    /// Quantity on the vertical axis.
    pub quantity: &'static str,
    /// Of what; a rate is followed by the length of its windows.
    pub title: &'static str,
    pub unit: &'static str,
    pub draw: Draw,
}

/// What is drawn.
pub(super) enum Draw {
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

pub(super) struct Sorter<'a> {
    pub lines: &'a Lines,
    pub window: &'a str,
    pub flows: &'a [u32],
    /// The links that were busiest, by the share of their capacity that was used; the busiest
    /// first.
    pub busiest: Vec<(&'a String, &'a Trace)>,
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
    pub fn has_data(&self) -> bool {
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

/// Rounding of values: below a thousandth of the highest, and whole bytes where those are
/// enough.
pub(super) fn step_of(unit: &str, highest: f64) -> f64 {
    let fine = 10f64.powi((highest.max(1e-9) / 1e4).log10().floor() as i32);
    if unit == "B" { fine.max(1.0) } else { fine }
}

/// The lines of a series.
pub(super) fn of(
    lines: &BTreeMap<Key, Trace>,
    series: Series,
) -> impl Iterator<Item = (&Entity, &Trace)> + use<'_> {
    let of = lines.iter().filter(move |((_, m), _)| *m == Metric::Known(series));
    of.map(|((entity, _), trace)| (entity, trace))
}

impl<'a> Sorter<'a> {
    /// Of these lines; `window` is the length of the windows of rates, in words.
    pub fn new(lines: &'a Lines, window: &'a str, flows: &'a [u32]) -> Sorter<'a> {
        let mut run = Sorter { lines, window, flows, busiest: Vec::new() };
        run.busiest = run.busiest_links();
        run
    }
    pub fn levels(
        &self,
        series: Series,
    ) -> impl Iterator<Item = (&'a Entity, &'a Trace)> + use<'a> {
        of(&self.lines.levels, series)
    }
    pub fn level(&self, entity: &Entity, series: Series) -> Option<&'a Trace> {
        self.lines.levels.get(&(entity.clone(), series.into()))
    }
    /// Label and look of a flow's path.
    pub fn flow(&self, flow: u32, path: u32) -> (String, usize) {
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
    pub fn add_ports(
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
    pub fn marks_of<'b>(
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
    /// The rates of links; of one with a trace the rate is not a threshold.
    pub fn capacity<'b>(
        &self,
        links: impl Iterator<Item = &'b (&'b String, &'b Trace)>,
    ) -> Vec<Mark> {
        let steady = links.map(|(port, _)| *port).filter(|port| self.opportunities(port).is_none());
        self.marks_of("capacity", steady, Series::LinkRate)
    }
    /// What the opportunities of a link with a trace carry.
    pub fn opportunities(&self, port: &str) -> Option<&'a Trace> {
        let key = (Entity::Port(port.to_string()), Series::Opportunities.into());
        self.lines.rates.get(&key)
    }
    /// The capacity of the busiest link, if that follows a trace.
    pub fn area(&self) -> Option<Area> {
        let (port, _) = self.busiest.first()?;
        let trace = self.opportunities(port)?.clone();
        let step = step_of("bit/s", trace.highest());
        Some(Area { label: format!("capacity of {port}"), trace, step })
    }

    /// Ports with a metric that matters, those with the highest peak first; and what is left out.
    pub fn busiest(
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
    pub fn interfaces(&self) -> (Vec<&'a String>, Option<String>) {
        let (mut ports, omitted) = self.busiest(Series::Cache, CACHES);
        // Back-pressure goes upstream: in the order in which caches began to fill.
        ports.sort_by_key(|(_, trace)| trace.first_positive_ns());
        (ports.into_iter().map(|(port, _)| port).collect(), omitted)
    }

    /// What left each interface for a flow, in the order of its way: nothing is further ahead than
    /// what it comes from.
    pub fn passed(&self, flow: u32) -> Vec<(String, &'a Trace)> {
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
