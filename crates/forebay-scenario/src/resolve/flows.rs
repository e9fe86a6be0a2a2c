//! The flow table, complete before time 0.

use crate::Flow;
use crate::format::csv;
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, all, both};
use crate::format::fields::Spanned;
use crate::format::names::{Name, is_name};
use crate::format::source::Sources;
use crate::keys::arrivals::Pairs;
use crate::keys::file::{CsvFiles, File, FlowGroup, numbered};
use crate::keys::life::Rounds;
use crate::keys::topology::{DemandUse, TopologyTable};
use crate::model::protocols::Names;
use crate::model::sizes::SizeClasses;
use crate::resolve::arrivals::{self, Offered, Processes};
use crate::resolve::life::{self, Waiting};
use crate::resolve::maps;
use crate::resolve::paths;
use crate::resolve::sizes;
use crate::resolve::tcp::TCP_HEADER_BYTES;
use crate::resolve::topology::{MAX_ENTITIES, Topology, numbers};
use forebay_base::units::MAX_SPAN;
use forebay_base::{
    IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, IpVersion, NodeId, PortId, Rate, Span, Time,
};
use forebay_net::{AppSchedule, TimeDistribution, Writing};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most classes of flows in a scenario: each has distributions of delays of its own.
const MAX_CLASSES: usize = 100;

/// Makes flows, each with a route there and back.
struct Table<'a> {
    topology: &'a Topology,
    names: &'a Names,
    classes: BTreeSet<Name>,
    reach: Reach,
    mss_bytes: u64,
    /// Headers of IP and TCP without options.
    header_bytes: u64,
    /// When the run ends.
    until: Option<Span>,
    start_jitter: Span,
    processes: Processes,
    flows: Vec<Flow>,
}

/// What the flows of a group have in common, and the distance of their starts.
struct Pattern {
    flow: Flow,
    every: Span,
    rounds: usize,
}

/// Expand all that the file and its CSV file say of flows.
pub(crate) fn expand(
    file: &File,
    topology: &Topology,
    names: &Names,
    mss_bytes: u16,
    sources: &mut Sources,
    faults: &mut Faults,
) -> Vec<Flow> {
    let before = faults.len();
    let reach = Reach::new(topology);
    let mss_bytes = mss_bytes.into();
    let classes = BTreeSet::new();
    let until = file.until_s.as_ref().map(|at| at.value.0);
    let start_jitter = life::start_jitter(file);
    let (flows, processes) = (Vec::new(), Processes::default());
    let ip_bytes = match file.ip_version.as_ref().map_or(IpVersion::V4, |at| at.value) {
        IpVersion::V4 => IPV4_HEADER_BYTES,
        IpVersion::V6 => IPV6_HEADER_BYTES,
    };
    let header_bytes = u64::from(ip_bytes) + TCP_HEADER_BYTES;
    let mut table = Table {
        topology,
        names,
        classes,
        reach,
        mss_bytes,
        header_bytes,
        until,
        start_jitter,
        processes,
        flows,
    };
    let mut waiting = Waiting::default();
    for (number, group) in (0..).zip(file.flows.iter().flat_map(|at| &at.value)) {
        let first = table.flows.len();
        let added = faults.keep(table.add_group(group, number));
        let noted =
            waiting.note(&group.value, added.map(|rounds| (first, table.flows.len(), rounds)));
        faults.keep(noted);
    }
    if let Some(at) = &file.topology {
        faults.keep(table.add_demands(at, sources));
    }
    if let Some(csv) = &file.csv {
        let added = table.add_csv(&csv.value, sources, faults);
        faults.keep(added);
    }
    let lost = ["flows", "csv", "topology"].iter().any(|key| topology.lost.has_key(key));
    if table.flows.is_empty() && faults.len() == before && !lost && !topology.lost.any_of_network()
    {
        let hint = "add [[flows]] with src, dst and bytes, or csv.flows";
        let loc = crate::format::item::whole(0);
        faults.add(Fault::at(loc, "flows", Problem::NoFlows).hint(hint));
    }
    table.processes.notes().for_each(|note| sources.note(note));
    waiting.resolve(&mut table.flows, topology, faults);
    table.flows
}

impl Table<'_> {
    /// Add the flows of group number `group_number`; the rounds of each of its users.
    fn add_group(&mut self, group: &Spanned<FlowGroup>, group_number: u64) -> Result<usize, Fault> {
        let flow = &group.value;
        let numbers: Vec<_> = numbers(flow.count.as_ref(), flow.first.as_ref())?.collect();
        let (pattern, offered) = self.pattern(group, numbers.first().copied().flatten())?;
        let mut process = self.processes.of_group(flow, &offered, self.topology)?;
        let pairs = arrivals::pairs(flow, &numbers, group_number, self.topology)?;
        for (i, [src, dst]) in pairs.into_iter().enumerate() {
            let start = pattern.flow.start.since(Time::ZERO) + pattern.every * i as u64;
            if start > MAX_SPAN {
                let at = flow.every.as_ref().map_or_else(|| group.place(), Spanned::place);
                let problem = Problem::OutOfRange {
                    found: format!("start of flow {i}: {start}"),
                    expected: "at most 100 years".into(),
                };
                return Err(at.fault(problem));
            }
            if flow.after.is_none() {
                life::check_stop(flow.stop.as_ref(), start, self.start_jitter)?;
            }
            let number = src;
            let (src, dst) = both(self.end(&flow.src, src), self.end(&flow.dst, dst))?;
            let paths = paths::of_group(flow.paths.as_ref(), [src, dst], number, self.topology)?;
            let arrival = process.as_mut().map(|of| of.next(src, self.topology));
            let start = Time::ZERO + start;
            let made = Flow { src, dst, start, arrival, paths, ..pattern.flow.clone() };
            self.push_rounds(group, made, pattern.rounds)?;
        }
        self.processes.end(process);
        Ok(pattern.rounds)
    }

    /// What the flows of a group have in common, those of its first pair checked, and what is
    /// offered by them.
    fn pattern(
        &mut self,
        group: &Spanned<FlowGroup>,
        first: Option<u32>,
    ) -> Result<(Pattern, Offered), Fault> {
        let flow = &group.value;
        let protocol = flow.protocol.as_ref().map(|at| self.names.lookup(at)).transpose();
        let ends = match flow.pairs.as_ref().map_or(Pairs::Numbered, |at| at.value) {
            Pairs::Numbered => {
                let ends = both(self.end(&flow.src, first), self.end(&flow.dst, first));
                ends.and_then(|(src, dst)| self.two(src, dst, |problem| flow.dst.fault(problem)))
            }
            Pairs::Permuted | Pairs::Random => Ok(()),
        };
        let class = flow.class.as_ref();
        let class = class.map(|at| self.class(&at.value, |problem| at.fault(problem))).transpose();
        let size = sizes::of_group(group, self.mss_bytes);
        let classes = both(class, self.size_classes(flow));
        let rounds = life::rounds(flow, self.until);
        let life = life::of_group(flow, self.mss_bytes, self.start_jitter);
        let life = both(both(life, life::start(flow)), rounds);
        let values = both(both(size, both(protocol, classes)), life);
        let (((size, (protocol, (class, by_size))), ((life, (start, start_law)), rounds)), _) =
            both(values, ends)?;
        let (bytes, size_law) = (size.most_bytes(), size.law());
        if let (Some(at), None) = (&flow.size_classes, bytes) {
            let text = "classes by size of a flow that sends without end".to_string();
            return Err(at.fault(Problem::Conflict(text)));
        }
        let (src, dst, start) = (NodeId(0), NodeId(0), Time::ZERO + start);
        let (life, arrival) = (life.map(Box::new), None);
        let flow_of = Flow {
            src,
            dst,
            start,
            start_law,
            arrival,
            bytes,
            size_law,
            life,
            paths: None,
            protocol,
            class,
            by_size,
        };
        let every = flow.every.as_ref().map_or(Span::ZERO, |at| at.value);
        let (mss_bytes, header_bytes, until) = (self.mss_bytes, self.header_bytes, self.until);
        let offered = Offered { size, mss_bytes, header_bytes, until };
        Ok((Pattern { flow: flow_of, every, rounds }, offered))
    }

    /// Add a flow, and those that follow it in the rounds of its user.
    fn push_rounds(
        &mut self,
        group: &Spanned<FlowGroup>,
        mut made: Flow,
        rounds: usize,
    ) -> Result<(), Fault> {
        let flow = &group.value;
        let ends = matches!(&flow.rounds, Some(Spanned { value: Rounds::UntilEnd, .. }));
        for round in 0..rounds {
            if round > 0 {
                if made.is_endless() {
                    let text = "`rounds` needs a flow that ends".to_string();
                    return Err(group.fault(Problem::Conflict(text)));
                }
                (made.start, made.start_law) = (Time::ZERO, None);
                life::follow(&mut made, self.flows.len() - 1, life::think(flow));
                made.life.get_or_insert_default().spare |= ends;
            }
            self.push(made.clone(), |problem| flow.dst.fault(problem))?;
        }
        Ok(())
    }

    /// The classes by size of a group.
    fn size_classes(&mut self, flow: &FlowGroup) -> Result<Option<Arc<SizeClasses>>, Fault> {
        let Some(at) = &flow.size_classes else { return Ok(None) };
        let bounds = sizes::bounds(at)?;
        let class = flow.class.as_ref().map(|at| at.value.as_str());
        let mut names = Vec::new();
        let mut above = 0;
        for most in bounds.iter().copied().map(Some).chain([None]) {
            let name = SizeClasses::name(class, above, most);
            names.push(self.class(&name, |problem| at.fault(problem))?);
            above = most.unwrap_or(above);
        }
        let (bounds_packets, packet_bytes) = (bounds.to_vec(), self.mss_bytes);
        Ok(Some(Arc::new(SizeClasses { bounds_packets, packet_bytes, names })))
    }

    /// The host that a pattern and a number name.
    fn end(&self, pattern: &Spanned<String>, number: Option<u32>) -> Result<NodeId, Fault> {
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

    /// The class of that name.
    fn class(&mut self, name: &str, fault: impl Fn(Problem) -> Fault) -> Result<Name, Fault> {
        let out_of_range =
            |expected: String| fault(Problem::OutOfRange { found: name.to_string(), expected });
        if !is_name(name) {
            return Err(out_of_range("1 to 40 lower-case letters, digits and `-`".to_string()));
        }
        if self.classes.len() >= MAX_CLASSES && !self.classes.contains(name) {
            return Err(out_of_range(format!("at most {MAX_CLASSES} classes")));
        }
        let name = Name::from(name);
        self.classes.insert(name.clone());
        Ok(name)
    }

    /// Refuse a flow from a host to itself.
    fn two(&self, src: NodeId, dst: NodeId, fault: impl Fn(Problem) -> Fault) -> Result<(), Fault> {
        if src != dst {
            return Ok(());
        }
        let name = &self.topology.nodes[src.index()].name;
        Err(fault(Problem::Conflict(format!("a flow from `{name}` to itself"))))
    }

    fn push(&mut self, flow: Flow, fault: impl Fn(Problem) -> Fault) -> Result<(), Fault> {
        let name = |node: NodeId| self.topology.nodes[node.index()].name.clone();
        self.two(flow.src, flow.dst, &fault)?;
        let first = [(PortId(0), PortId(0))];
        let mut paths = flow.paths.as_deref().unwrap_or(&first).iter();
        if !paths.all(|&path| self.reach.joined(self.topology, [flow.src, flow.dst], path)) {
            let (from, to) = (name(flow.src), name(flow.dst));
            let follows = self.topology.lost.any_of_network();
            return Err(fault(Problem::NoRoute { from, to }).following(follows));
        }
        if self.flows.len() >= MAX_ENTITIES {
            let (found, expected) =
                ((self.flows.len() + 1).to_string(), "at most 2^24 flows".into());
            return Err(fault(Problem::OutOfRange { found, expected }));
        }
        self.flows.push(flow);
        Ok(())
    }

    /// A flow for each demand of the map, if that is asked for.
    fn add_demands(
        &mut self,
        at: &Spanned<TopologyTable>,
        sources: &mut Sources,
    ) -> Result<(), Fault> {
        let of = at.value.demands.as_ref().filter(|at| at.value == DemandUse::Flows);
        let Some(of) = of.filter(|_| !self.topology.lost.any_of_network()) else { return Ok(()) };
        if self.topology.demands.is_empty() {
            let text = "the map has no demands".to_string();
            return Err(of.fault(Problem::Conflict(text)));
        }
        if self.until.is_none() {
            let meaning = "a scenario with unbounded flows needs an end".to_string();
            return Err(of.fault(Problem::MissingKey { key: "until_s".into(), meaning }));
        }
        let scale = maps::factor(at.value.demand_scale.as_ref())?;
        let host = |router: NodeId| {
            let beyond = self.topology.ports(router).iter().map(|&id| self.topology.other_end(id));
            let first = beyond.into_iter().find(|&node| self.topology.is_host(node));
            first.ok_or_else(|| {
                let name = &self.topology.nodes[router.index()].name;
                let text = format!("the router `{name}` has demands, but no host");
                of.fault(Problem::Conflict(text)).hint("hosts = 1 under [topology]")
            })
        };
        let (mut made, mut small) = (Vec::new(), 0);
        for demand in &self.topology.demands {
            let bps = demand.bps * scale;
            if bps < 1e3 {
                small += 1;
                continue;
            }
            let hint = "`demand_scale` is a factor for all demands";
            let rate = Rate::new(bps as u64).ok_or_else(|| {
                let (found, expected) = (format!("{bps} bit/s"), "at most 400Gbit/s".to_string());
                of.fault(Problem::OutOfRange { found, expected }).hint(hint)
            })?;
            let chunk_bytes = self.mss_bytes as u32;
            let write = Some(Writing { rate: Some(rate), chunk_bytes, periods: None });
            let life = Some(Box::new(AppSchedule { write, ..AppSchedule::default() }));
            let (src, dst) = both(host(demand.from), host(demand.to))?;
            made.push(Flow {
                src,
                dst,
                start: Time::ZERO,
                start_law: None,
                arrival: None,
                bytes: None,
                size_law: None,
                life,
                paths: paths::default(src, dst, self.topology),
                protocol: None,
                class: None,
                by_size: None,
            });
        }
        if small > 0 {
            sources.note(format!("demands of less than 1 kbit/s are left out: {small}"));
        }
        made.into_iter().try_for_each(|flow| self.push(flow, |problem| of.fault(problem)))
    }

    fn add_csv(
        &mut self,
        files: &CsvFiles,
        sources: &mut Sources,
        faults: &mut Faults,
    ) -> Result<(), Fault> {
        let Some(path) = &files.flows else { return Ok(()) };
        let extra = files.extra_columns.as_ref();
        let csv = csv::open(sources, path, csv::FLOW_COLUMNS, extra)?;
        all([(1, 3), (2, 4), (5, 6)].map(|(a, b)| csv.not_both(a, b)))?;
        // Full names where the file has those columns, else numbers after the prefix.
        let ends = if csv.has(3) { [3, 4] } else { [1, 2] };
        let size = if csv.has(6) { 6 } else { 5 };
        csv.need(&[0, ends[0], ends[1], size])?;
        let prefix = match (&files.host_prefix, ends[0]) {
            (_, 3) => "",
            (Some(prefix), _) => prefix.value.as_str(),
            (None, _) => "h",
        };
        let rows = FlowRows { ends, size, prefix, first: self.flows.len() };
        for (before, row) in csv.rows(sources).enumerate() {
            faults.keep(row.and_then(|row| self.add_row(&row, before, &rows)));
        }
        Ok(())
    }

    /// The flow of a row that has `before` rows before it.
    fn add_row(
        &mut self,
        row: &csv::Row<'_>,
        before: usize,
        rows: &FlowRows<'_>,
    ) -> Result<(), Fault> {
        let FlowRows { ends, size, prefix, first } = *rows;
        let end = |column: usize| {
            let node = self.topology.named_in(row, column, prefix)?;
            self.host(node, |problem| row.fault(column, problem))
        };
        let bytes = match size {
            5 => row.packets(5).map(|packets| packets * self.mss_bytes),
            _ => row.bytes(size),
        };
        let hosts = both(end(ends[0]), end(ends[1]));
        let class = row.has(csv::CLASS).then(|| row.text(csv::CLASS));
        let class = class.map(|name| self.class(name, |problem| row.fault(csv::CLASS, problem)));
        let class = class.transpose();
        let life = life::of_row(row, before, self.mss_bytes, self.start_jitter);
        let values = both(both(bytes, class), life);
        let ((src, dst), ((bytes, class), (start, life, after))) = both(hosts, values)?;
        let (bytes, start) = (Some(bytes), Time::ZERO + start);
        let life = life.map(Box::new);
        let flow = Flow {
            src,
            dst,
            start,
            start_law: None,
            arrival: None,
            bytes,
            size_law: None,
            life,
            paths: paths::default(src, dst, self.topology),
            protocol: None,
            class,
            by_size: None,
        };
        self.push(flow, |problem| row.fault(ends[1], problem))?;
        // Where a row before this one is wrong, rows are not known by their numbers.
        let flow = self.flows.len() - 1;
        match after.filter(|_| flow == first + before) {
            Some((row_before, think)) => {
                let other = first + row_before;
                let fault = |problem| row.fault(csv::AFTER, problem);
                life::check(&self.flows[flow], &self.flows[other], self.topology, fault)?;
                life::follow(&mut self.flows[flow], other, TimeDistribution::Constant(think));
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// How the rows of a file of flows are read.
struct FlowRows<'a> {
    /// The columns of the two hosts.
    ends: [usize; 2],
    /// The column of packets (5) or bytes (6).
    size: usize,
    /// What goes before the values in `ends`.
    prefix: &'a str,
    /// Number of the flow in the first row.
    first: usize,
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

    /// True if there is a path between two hosts that leaves the first, and enters the second, by
    /// these ports.
    fn joined(
        &mut self,
        topology: &Topology,
        [src, dst]: [NodeId; 2],
        ports: (PortId, PortId),
    ) -> bool {
        let (leaves, enters) = ports;
        let next = |node: NodeId, port: PortId| {
            topology.ports(node).get(port.index()).map(|&id| topology.other_end(id))
        };
        match (next(src, leaves), next(dst, enters)) {
            (Some(a), Some(b)) => {
                let routers = !topology.is_host(a) && !topology.is_host(b);
                (a == dst && b == src) || routers && self.root(a.0) == self.root(b.0)
            }
            _ => false,
        }
    }
}
