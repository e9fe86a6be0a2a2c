//! The flow table, complete before time 0.

use super::Flow;
use super::csv;
use super::error::{Fault, Problem};
use super::fields::At;
use super::file::{CsvFiles, File, FlowGroup, numbered};
use super::life::{self, Waiting};
use super::source::Sources;
use super::topology::{MAX_ENTITIES, Topology, numbers};
use super::units::MAX_SPAN;
use forebay_base::{NodeId, Rate, Span, Time};
use forebay_net::{Law, Life, Writing};
use std::path::Path;

/// Makes flows, each with a route there and back.
struct Table<'a> {
    topology: &'a Topology,
    reach: Reach,
    mss_bytes: u64,
    flows: Vec<Flow>,
}

/// Expand all that the file and its CSV file say of flows.
pub(super) fn expand(
    file: &File,
    topology: &Topology,
    mss_bytes: u16,
    sources: &mut Sources,
    base: &Path,
) -> Result<Vec<Flow>, Fault> {
    let reach = Reach::new(topology);
    let mut table = Table { topology, reach, mss_bytes: mss_bytes.into(), flows: Vec::new() };
    let mut waiting = Waiting::default();
    for group in file.flows.iter().flat_map(|at| &at.value) {
        let first = table.flows.len();
        table.add_group(group)?;
        let rounds = life::rounds(&group.value)?;
        waiting.note(&group.value, first..table.flows.len(), rounds)?;
    }
    if let Some(csv) = &file.csv {
        table.add_csv(&csv.value, sources, base)?;
    }
    if table.flows.is_empty() {
        let hint = "add [[flows]] with src, dst and bytes, or csv.flows";
        let loc = super::item::whole(0);
        return Err(Fault::at(loc, "flows", Problem::NoFlows).hint(hint));
    }
    waiting.resolve(&mut table.flows, topology)?;
    Ok(table.flows)
}

impl Table<'_> {
    fn add_group(&mut self, group: &At<FlowGroup>) -> Result<(), Fault> {
        let flow = &group.value;
        let bytes = self.size(group)?;
        let protocol = flow.protocol.as_ref().map(super::protocols::lookup).transpose()?;
        let start = flow.start.as_ref().map_or(Span::ZERO, |at| at.value);
        let (life, rounds) = (life::of_group(group, self.mss_bytes)?, life::rounds(flow)?);
        let every = flow.every.as_ref().map_or(Span::ZERO, |at| at.value);
        for (i, number) in numbers(flow.count.as_ref(), flow.first.as_ref())?.enumerate() {
            let start = start + every * i as u64;
            if start > MAX_SPAN {
                let at = flow.every.as_ref().map_or_else(|| group.place(), At::place);
                let problem = Problem::OutOfRange {
                    found: format!("start of flow {i}: {start}"),
                    expected: "at most 100 years".into(),
                };
                return Err(at.fault(problem));
            }
            if flow.after.is_none() {
                life::check_stop(flow.stop.as_ref(), start)?;
            }
            let src = self.end(&flow.src, number)?;
            let dst = self.end(&flow.dst, number)?;
            let start = Time::ZERO + start;
            let life = life.clone().map(Box::new);
            let mut made = Flow { src, dst, start, bytes, life, protocol };
            for round in 0..rounds {
                if round > 0 {
                    if made.is_endless() {
                        let text = "a flow that never ends has no second round".to_string();
                        return Err(group.fault(Problem::Conflict(text)));
                    }
                    made.start = Time::ZERO;
                    life::follow(&mut made, self.flows.len() - 1, life::think(flow));
                }
                self.push(made.clone(), |problem| flow.dst.fault(problem))?;
            }
        }
        Ok(())
    }

    /// One of `bytes`, `packets` and `endless`.
    fn size(&self, group: &At<FlowGroup>) -> Result<Option<u64>, Fault> {
        let flow = &group.value;
        let endless = flow.endless.as_ref().is_some_and(|at| at.value);
        let positive = |place: At<()>, n: u64| match n {
            0 => {
                let expected = "1 or more".to_string();
                Err(place.fault(Problem::OutOfRange { found: "0".into(), expected }))
            }
            _ => Ok(n),
        };
        match (&flow.bytes, &flow.packets, endless) {
            (Some(bytes), None, false) => positive(bytes.place(), bytes.value.0).map(Some),
            (None, Some(packets), false) => {
                let packets = positive(packets.place(), packets.value.into())?;
                // 2^32 packets of 2^16 bytes fit.
                Ok(Some(packets * self.mss_bytes))
            }
            (None, None, true) => Ok(None),
            (None, None, false) if flow.stop.is_some() => Ok(None),
            (None, None, false) => {
                let meaning = "how much the flow sends; or `packets`, or `endless = true`".into();
                Err(group.fault(Problem::MissingKey { key: "bytes", meaning }))
            }
            _ => {
                let text = "only one of `bytes`, `packets` and `endless` may be given";
                Err(group.fault(Problem::Conflict(text.into())))
            }
        }
    }

    /// The host that a pattern and a number name.
    fn end(&self, pattern: &At<String>, number: Option<u32>) -> Result<NodeId, Fault> {
        let name = numbered(pattern, number)?;
        let node = self.topology.named(&name, |problem| pattern.fault(problem))?;
        self.host(node, |problem| pattern.fault(problem))
    }

    fn host(&self, node: NodeId, fault: impl Fn(Problem) -> Fault) -> Result<NodeId, Fault> {
        if self.topology.is_host(node) {
            return Ok(node);
        }
        let name = &self.topology.nodes[node.index()].name;
        let text = format!("`{name}` is a router: flows run between hosts");
        Err(fault(Problem::Conflict(text)))
    }

    fn push(&mut self, flow: Flow, fault: impl Fn(Problem) -> Fault) -> Result<(), Fault> {
        let name = |node: NodeId| self.topology.nodes[node.index()].name.clone();
        if flow.src == flow.dst {
            let text = format!("a flow from `{}` to itself", name(flow.src));
            return Err(fault(Problem::Conflict(text)));
        }
        if !self.reach.joined(self.topology, flow.src, flow.dst) {
            let (from, to) = (name(flow.src), name(flow.dst));
            return Err(fault(Problem::NoRoute { from, to }));
        }
        if self.flows.len() >= MAX_ENTITIES {
            let (found, expected) =
                ((self.flows.len() + 1).to_string(), "at most 2^24 flows".into());
            return Err(fault(Problem::OutOfRange { found, expected }));
        }
        self.flows.push(flow);
        Ok(())
    }

    fn add_csv(
        &mut self,
        files: &CsvFiles,
        sources: &mut Sources,
        base: &Path,
    ) -> Result<(), Fault> {
        let Some(path) = &files.flows else { return Ok(()) };
        let csv = csv::open(sources, base, path, &COLUMNS)?;
        [(1, 3), (2, 4), (5, 6)].into_iter().try_for_each(|(a, b)| csv.not_both(a, b))?;
        // Full names where the file has those columns, else numbers behind the prefix.
        let ends = if csv.has(3) { [3, 4] } else { [1, 2] };
        let size = if csv.has(6) { 6 } else { 5 };
        [0, ends[0], ends[1], size].into_iter().try_for_each(|column| csv.need(column))?;
        let prefix = match (&files.host_prefix, ends[0]) {
            (_, 3) => "",
            (Some(prefix), _) => prefix.value.as_str(),
            (None, _) => "h",
        };
        let first = self.flows.len();
        for row in csv.rows(sources) {
            let row = row?;
            let end = |column: usize| {
                let node = self.topology.named_in(&row, column, prefix)?;
                self.host(node, |problem| row.fault(column, problem))
            };
            let (src, dst) = (end(ends[0])?, end(ends[1])?);
            let after = after(&row, self.flows.len() - first)?;
            let start = if after.is_some() { Span::ZERO } else { seconds(&row, START)? };
            let number = row.integer(size)?;
            let bytes = if size == 5 { number.checked_mul(self.mss_bytes) } else { Some(number) };
            let bytes = bytes.filter(|&b| b > 0);
            let bytes = bytes.ok_or_else(|| row.wrong(size, "1 byte to 2^64 bytes"))?;
            let life = life_of(&row, after.is_none().then_some(start), self.mss_bytes)?;
            let (bytes, start) = (Some(bytes), Time::ZERO + start);
            let flow = Flow { src, dst, start, bytes, life: life.map(Box::new), protocol: None };
            self.push(flow, |problem| row.fault(ends[1], problem))?;
            if let Some((before, think)) = after {
                let (flow, before) = (self.flows.len() - 1, first + before);
                let fault = |problem| row.fault(AFTER, problem);
                life::check(&self.flows, (flow, before), self.topology, fault)?;
                life::follow(&mut self.flows[flow], before, Law::Constant(think));
            }
        }
        Ok(())
    }
}

/// Columns of a CSV file of flows.
const COLUMNS: [&str; 11] = [
    "start_s", "src_host", "dst_host", "src", "dst", "packets", "bytes", "stop_s", "rate_bps",
    "after", "think_s",
];
const START: usize = 0;
const STOP: usize = 7;
const RATE: usize = 8;
const AFTER: usize = 9;
const THINK: usize = 10;

/// A column that the file has, where its cell is not empty.
fn filled(row: &csv::Row<'_>, column: usize) -> bool {
    row.has(column) && !row.text(column).is_empty()
}

fn seconds(row: &csv::Row<'_>, column: usize) -> Result<Span, Fault> {
    let wrong = || row.wrong(column, "a number of seconds");
    let seconds: f64 = row.text(column).parse().map_err(|_| wrong())?;
    let inside = (0.0..=MAX_SPAN.as_secs_f64()).contains(&seconds);
    let span = inside.then(|| Span::from_secs_f64(seconds));
    span.ok_or_else(|| row.wrong(column, "0 s to 100 years"))
}

/// Which of the `rows` rows before this one its flow follows, from 0 on, and how long after that
/// has ended.
fn after(row: &csv::Row<'_>, rows: usize) -> Result<Option<(usize, Span)>, Fault> {
    if !filled(row, AFTER) {
        return match filled(row, THINK) {
            true => Err(row.fault(THINK, Problem::Conflict("`think_s` without `after`".into()))),
            false => Ok(None),
        };
    }
    if filled(row, START) {
        let text = "`start_s` of a flow that starts when another has ended (`after`)";
        return Err(row.fault(START, Problem::Conflict(text.into())).hint("leave the cell empty"));
    }
    let before = usize::try_from(row.integer(AFTER)?).ok().and_then(|n| n.checked_sub(1));
    let wrong = || row.wrong(AFTER, "the number of an earlier row, from 1 on");
    let before = before.filter(|&before| before < rows).ok_or_else(wrong)?;
    let think = if filled(row, THINK) { seconds(row, THINK)? } else { Span::ZERO };
    Ok(Some((before, think)))
}

/// The rest of its life. `start`: when it starts, if that is known.
fn life_of(row: &csv::Row<'_>, start: Option<Span>, mss_bytes: u64) -> Result<Option<Life>, Fault> {
    let mut life = Life::default();
    if filled(row, STOP) {
        let stop = seconds(row, STOP)?;
        if start.is_some_and(|start| stop <= start) {
            return Err(row.wrong(STOP, "a time behind the start of the flow"));
        }
        life.stop = Some(Time::ZERO + stop);
    }
    if filled(row, RATE) {
        let rate = Rate::new(row.integer(RATE)?);
        let rate = rate.ok_or_else(|| row.wrong(RATE, "1000 to 400000000000 bit/s"))?;
        let chunk_bytes = mss_bytes as u32;
        life.write = Some(Writing { rate: Some(rate), chunk_bytes, periods: None });
    }
    Ok((life != Life::default()).then_some(life))
}

/// Which routers a packet can go between: hosts do not forward.
struct Reach {
    /// For each node the smallest of its component's nodes that is known; itself for hosts.
    parent: Vec<u32>,
}

impl Reach {
    fn new(topology: &Topology) -> Reach {
        let mut reach = Reach { parent: (0..topology.nodes.len() as u32).collect() };
        for link in &topology.links {
            if !topology.is_host(link.a) && !topology.is_host(link.b) {
                let (a, b) = (reach.root(link.a.0), reach.root(link.b.0));
                reach.parent[a.max(b) as usize] = a.min(b);
            }
        }
        reach
    }

    /// The component's representative; halves the path on the way.
    fn root(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let above = self.parent[node as usize];
            self.parent[node as usize] = self.parent[above as usize];
            node = above;
        }
        node
    }

    /// True if there is a path between the first ports of two hosts.
    fn joined(&mut self, topology: &Topology, src: NodeId, dst: NodeId) -> bool {
        let next = |node: NodeId| topology.ports(node).first().map(|&id| topology.other_end(id));
        match (next(src), next(dst)) {
            (Some(a), Some(b)) => {
                let routers = !topology.is_host(a) && !topology.is_host(b);
                (a == dst && b == src) || routers && self.root(a.0) == self.root(b.0)
            }
            _ => false,
        }
    }
}
