//! The rows of one run, sorted into lines.

use super::downsample::{FINEST, Rate, Trace};
use super::parquet_rows::SeriesRow;
use super::series::{Drawn, PUBLISHED, Series};
use std::collections::BTreeMap;

/// Subject of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entity {
    /// A path of a flow; both count from 1.
    Flow(u32, u32),
    /// The flows of the class of this name.
    Class(String),
    /// The port that feeds the directed link of this name.
    Port(String),
    /// A flow at such a port.
    PortFlow(String, u32),
}

impl Entity {
    /// Read `flow/N`, `flow/N/P`, `class/NAME`, `port/a-b` or `port/a-b/flow/N`. The name of a link
    /// may hold anything.
    fn parse(name: &[u8]) -> Option<Entity> {
        let name = std::str::from_utf8(name).ok()?;
        if let Some(flow) = name.strip_prefix("flow/") {
            let (flow, path) = flow.split_once('/').unwrap_or((flow, "1"));
            return Some(Entity::Flow(flow.parse().ok()?, path.parse().ok()?));
        }
        if let Some(class) = name.strip_prefix("class/") {
            return Some(Entity::Class(class.to_string()));
        }
        let port = name.strip_prefix("port/")?;
        let at_port = port.rsplit_once("/flow/");
        let at_port = at_port.and_then(|(port, flow)| Some((port, flow.parse().ok()?)));
        Some(match at_port {
            Some((port, flow)) => Entity::PortFlow(port.to_string(), flow),
            None => Entity::Port(port.to_string()),
        })
    }
    fn flow(&self) -> Option<u32> {
        match self {
            Entity::Flow(flow, _) | Entity::PortFlow(_, flow) => Some(*flow),
            Entity::Class(_) | Entity::Port(_) => None,
        }
    }
}

/// What a line is of: a series of the table, or one that controllers publish.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    Known(Series),
    Published { name: String, unit: String },
}

impl From<Series> for Metric {
    fn from(series: Series) -> Metric {
        Metric::Known(series)
    }
}

impl Metric {
    /// What a row is of; None for a name that says nothing here.
    fn parse(row: &SeriesRow<'_>) -> Option<Metric> {
        if let Some(series) = Series::by_name(row.metric()) {
            return Some(Metric::Known(series));
        }
        let text = |bytes| std::str::from_utf8(bytes).ok().map(str::to_string);
        let name = row.metric().strip_prefix(PUBLISHED.as_bytes())?;
        Some(Metric::Published { name: text(name)?, unit: text(row.unit())? })
    }

    /// Of a count, what one in a second is drawn as: a byte as 8 bits.
    fn scale(&self) -> f64 {
        let is_plain = |series: &Series| series.drawn() == Drawn::Count;
        if matches!(self, Metric::Known(series) if is_plain(series)) { 1.0 } else { 8.0 }
    }
    /// True if its values are drawn, and if it is a count whose rate is drawn.
    fn drawn(&self, entity: &Entity) -> (bool, bool) {
        match self {
            Metric::Published { .. } => (true, false),
            Metric::Known(series) => match (series.drawn(), entity) {
                (Drawn::Values, _) => (true, false),
                (Drawn::Rate | Drawn::Count, _) | (Drawn::RateOfPorts, Entity::Port(_)) => {
                    (false, true)
                }
                (Drawn::RateOfPorts, _) => (true, false),
                (Drawn::Both, _) => (true, true),
            },
        }
    }
}

/// A line: whose, and of what.
pub(super) type Key = (Entity, Metric);

/// What a run drew, line by line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Values as they were sampled.
    pub levels: BTreeMap<Key, Trace>,
    /// Counts of bytes as bits per second, others per second.
    pub rates: BTreeMap<Key, Trace>,
    /// The rates of all flows together, shown or not.
    pub totals: BTreeMap<Metric, Trace>,
}

/// How the rows of one run are gathered.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    /// The length of the run, in nanoseconds.
    pub span_ns: i64,
    /// Rates are means over windows of this length, in nanoseconds.
    pub window_ns: i64,
    /// The flows that have lines of their own, by number, in ascending order.
    pub flows: &'a [u32],
}

/// Gathers the rows of one run.
pub(super) struct Gatherer<'a> {
    terms: Terms<'a>,
    /// By number of the entity in the file: its place in `entities`.
    known_entities: Vec<Known>,
    /// Sinks by place in `metrics`.
    entities: Vec<(Entity, Vec<Option<Box<Sink>>>)>,
    /// By number of metric and unit in the file: their place in `metrics`.
    known_metrics: Vec<Known>,
    metrics: Vec<Metric>,
    totals: BTreeMap<(usize, i64), f64>,
}

/// What is known of a name.
#[derive(Clone, Copy)]
enum Known {
    No,
    /// It says nothing here.
    SaysNothing,
    Place(usize),
}

/// The place of the name of this number; `parse` finds it where it is new.
fn place(
    known: &mut Vec<Known>,
    number: u32,
    parse: impl FnOnce() -> Option<usize>,
) -> Option<usize> {
    let number = number as usize;
    if number >= known.len() {
        known.resize(number + 1, Known::No);
    }
    if let Known::No = known[number] {
        known[number] = parse().map_or(Known::SaysNothing, Known::Place);
    }
    match known[number] {
        Known::Place(place) => Some(place),
        Known::No | Known::SaysNothing => None,
    }
}

struct Sink {
    level: Option<Trace>,
    rate: Option<Rate>,
    /// Of `rate`, if it is drawn.
    rates: Option<Trace>,
}

impl<'a> Gatherer<'a> {
    pub fn new(terms: Terms<'a>) -> Gatherer<'a> {
        Gatherer {
            terms,
            known_entities: Vec::new(),
            entities: Vec::new(),
            known_metrics: Vec::new(),
            metrics: Vec::new(),
            totals: BTreeMap::new(),
        }
    }

    /// Take a row. Names that a report does not know are passed over: later versions may write
    /// more.
    pub fn push(&mut self, row: &SeriesRow<'_>) {
        let metrics = &mut self.metrics;
        let metric = place(&mut self.known_metrics, row.series_number(), || {
            metrics.push(Metric::parse(row)?);
            Some(metrics.len() - 1)
        });
        let Some(metric) = metric else { return };
        let entities = &mut self.entities;
        let entity = place(&mut self.known_entities, row.entity_number(), || {
            entities.push((Entity::parse(row.entity())?, Vec::new()));
            Some(entities.len() - 1)
        });
        let Some(entity) = entity else { return };
        let (entity, sinks) = &mut self.entities[entity];
        let (terms, of) = (self.terms, &self.metrics[metric]);
        if metric >= sinks.len() {
            sinks.resize_with(metric + 1, || None);
        }
        let sink = sinks[metric].get_or_insert_with(|| Box::new(Sink::new(entity, of, terms)));
        if let Some(level) = &mut sink.level {
            level.push(row.t_ns, row.value);
        }
        let Some(rate) = &mut sink.rate else { return };
        let totals = matches!(entity, Entity::Flow(..)).then_some(&mut self.totals);
        let mut emit = Emit { metric, scale: of.scale(), terms, rates: &mut sink.rates, totals };
        rate.push(row.t_ns, row.value, |number, rate| emit.window(number, rate));
    }

    /// The run has ended.
    pub fn finish(mut self) -> Lines {
        let mut lines = Lines::default();
        for (entity, sinks) in self.entities {
            let sinks = (0..).zip(sinks).filter_map(|(metric, sink)| Some((metric, sink?)));
            for (metric, mut sink) in sinks {
                let of = &self.metrics[metric];
                if let Some(rate) = &mut sink.rate {
                    let totals = matches!(entity, Entity::Flow(..)).then_some(&mut self.totals);
                    let (scale, terms, rates) = (of.scale(), self.terms, &mut sink.rates);
                    let mut emit = Emit { metric, scale, terms, rates, totals };
                    let held = [Series::Transmitted, Series::Opportunities].map(Metric::Known);
                    if held.contains(of) {
                        // An idle link has no rows: nothing more was sent until the end. The same
                        // of a channel without opportunities.
                        rate.hold(self.terms.span_ns, |number, rate| emit.window(number, rate));
                    }
                    rate.finish(|number, rate| emit.window(number, rate));
                }
                keep(&mut lines.levels, (entity.clone(), of.clone()), sink.level);
                keep(&mut lines.rates, (entity.clone(), of.clone()), sink.rates);
            }
        }
        for ((metric, number), bps) in self.totals {
            let total = lines.totals.entry(self.metrics[metric].clone());
            let total = total.or_insert_with(|| Trace::new(self.terms.span_ns));
            total.push(self.terms.middle_ns(number), bps);
        }
        lines.totals.values_mut().for_each(|total| total.downsample(FINEST));
        lines
    }
}

fn keep(lines: &mut BTreeMap<Key, Trace>, key: Key, trace: Option<Trace>) {
    if let Some(mut trace) = trace.filter(|trace| !trace.samples().is_empty()) {
        trace.downsample(FINEST);
        lines.insert(key, trace);
    }
}

impl Terms<'_> {
    /// Where the rate of a window is drawn.
    fn middle_ns(&self, number: i64) -> i64 {
        number * self.window_ns + self.window_ns / 2
    }
}

impl Sink {
    fn new(entity: &Entity, metric: &Metric, terms: Terms<'_>) -> Sink {
        let (level, rate) = metric.drawn(entity);
        let drawn = entity.flow().is_none_or(|flow| terms.flows.binary_search(&flow).is_ok());
        let trace = || Trace::new(terms.span_ns);
        Sink {
            level: (drawn && level).then(trace),
            rate: rate.then(|| Rate::new(terms.window_ns)),
            rates: (drawn && rate).then(trace),
        }
    }
}

/// Where the rates of windows go.
struct Emit<'a, 'b> {
    /// Its place among the metrics.
    metric: usize,
    /// Scale of one unit per second.
    scale: f64,
    terms: Terms<'a>,
    rates: &'b mut Option<Trace>,
    totals: Option<&'b mut BTreeMap<(usize, i64), f64>>,
}

impl Emit<'_, '_> {
    fn window(&mut self, number: i64, units_per_s: f64) {
        let rate = units_per_s * self.scale;
        if let Some(rates) = self.rates {
            rates.push(self.terms.middle_ns(number), rate);
        }
        if let Some(totals) = &mut self.totals {
            *totals.entry((self.metric, number)).or_default() += rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parquet_rows::Known as File;
    use super::*;

    #[test]
    fn names_of_entities() {
        let parse = |name: &str| Entity::parse(name.as_bytes());
        assert_eq!(parse("flow/3"), Some(Entity::Flow(3, 1)));
        assert_eq!(parse("flow/3/2"), Some(Entity::Flow(3, 2)));
        assert_eq!(parse("class/web-1"), Some(Entity::Class("web-1".into())));
        assert_eq!(parse("port/a-b"), Some(Entity::Port("a-b".into())));
        assert_eq!(
            parse("port/x/flow/y-b/flow/12"),
            Some(Entity::PortFlow("x/flow/y-b".into(), 12))
        );
        assert_eq!(parse("port/a/flow/x"), Some(Entity::Port("a/flow/x".into())));
        assert_eq!([parse("flow/x"), parse("node/1"), parse("")], [None, None, None]);
        assert_eq!(Entity::parse(b"port/\xff"), None);
    }

    #[test]
    fn counts_of_bytes_are_drawn_as_bits_and_others_as_they_are() {
        let terms = Terms { span_ns: 1_000_000_000, window_ns: 100_000_000, flows: &[] };
        let (mut gatherer, mut file) = (Gatherer::new(terms), File::default());
        for (t_ms, value) in [(0, 10.0), (50, 25.0), (100, 60.0)] {
            gatherer.push(&file.row(t_ms * 1_000_000, "port/a-b", "transmitted_bytes", value));
            gatherer.push(&file.row(t_ms * 1_000_000, "port/a-b", "kickass_pieces", value));
        }
        let lines = gatherer.finish();
        // 50 in 100 ms.
        let first = |series| {
            lines.rates[&(Entity::Port("a-b".into()), Metric::Known(series))].samples()[0].1
        };
        assert_eq!([Series::Transmitted, Series::KickAssPieces].map(first), [4000.0, 500.0]);
    }

    #[test]
    fn flows_without_lines_count_in_the_total() {
        let terms = Terms { span_ns: 1_000_000_000, window_ns: 100_000_000, flows: &[2] };
        let (mut gatherer, mut file) = (Gatherer::new(terms), File::default());
        for (t_ms, value) in [(0, 0.0), (100, 100.0), (150, 150.0)] {
            gatherer.push(&file.row(t_ms * 1_000_000, "flow/1", "received_bytes", value));
            gatherer.push(&file.row(t_ms * 1_000_000, "flow/2", "received_bytes", 2.0 * value));
            gatherer.push(&file.row(t_ms * 1_000_000, "flow/2", "of_a_later_version", 1.0));
            gatherer.push(&file.row(t_ms * 1_000_000, "cell/2", "queue_bytes", 1.0));
        }
        let lines = gatherer.finish();
        // 200 bytes in 100 ms are 16 kbit/s, with those of flow 1 24; then 100 in a window that has
        // only begun, with them 150.
        let key = (Entity::Flow(2, 1), Metric::Known(Series::Received));
        assert_eq!(lines.rates[&key].samples(), [(50_000_000, 16e3), (150_000_000, 8e3)]);
        let total = &lines.totals[&Metric::Known(Series::Received)];
        assert_eq!(total.samples(), [(50_000_000, 24e3), (150_000_000, 12e3)]);
        assert_eq!((lines.rates.len(), lines.levels.len()), (1, 1));
    }
}
