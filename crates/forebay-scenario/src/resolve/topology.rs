//! Nodes and links, from the keys of the file: groups expanded, names resolved, limits in bytes.

mod csv_plan;
mod map_plan;

pub(crate) use self::map_plan::Demand;

use self::csv_plan::CsvPlan;
use self::map_plan::MapPlan;
use crate::OnMap;
use crate::format::csv;
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, Unresolved, all, both};
use crate::format::fields::{Spanned, shown};
use crate::format::source::{Sources, is_unseen};
use crate::format::units::MAX_DELAY;
use crate::keys::file::{File, HostEntry, HostGroup, LinkEntry, RouterTable, numbered};
use crate::keys::inrpp::link_key;
use crate::keys::links::LinkParams;
use crate::keys::reassembly;
use crate::keys::schedules::ScheduleKey;
use crate::registry::Registry;
use crate::resolve::channels::TraceFiles;
use crate::resolve::link_rate::pace_of;
use crate::resolve::queues::{queue_of, threshold_of};
use crate::{Link, LinkDirection, Node};
use forebay_base::{IpVersion, LinkId, NodeId, PortId, Rate, Span};
use forebay_net::{Prefix, ReassemblyLimits, unfit_prefix};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Most hosts, and most flows, that a scenario may have.
pub(crate) const MAX_ENTITIES: usize = 1 << 24;
/// Most ports of a node: the last number stands for "no port" in tables of routes.
const MAX_PORTS: u16 = u16::MAX;
/// Names that are looked through for a suggestion.
const SUGGESTIONS: usize = 100_000;

/// The network of a scenario.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    by_name: BTreeMap<String, NodeId>,
    links_by_name: BTreeMap<String, usize>,
    /// Ports of each node, in order of declaration.
    ports: Vec<Vec<LinkId>>,
    /// For each link, where the values of its two directions stand.
    pub origins: Vec<[Rc<Origin>; 2]>,
    hosts: usize,
    /// Reassembly of hosts that do not set it.
    pub reassembly: ReassemblyLimits,
    version: IpVersion,
    traces: TraceFiles,
    /// What names stand for.
    pub registry: Arc<Registry>,
    /// The traffic matrix of the map.
    pub demands: Vec<Demand>,
    /// What is not here because it was declared wrongly.
    pub lost: Unresolved,
}

/// Expand all that the file and its CSV files say of nodes and links. What is wrong is not there,
/// and its names are lost.
pub(crate) fn expand(
    registry: &Arc<Registry>,
    file: &File,
    sources: &mut Sources,
    lost: Unresolved,
    faults: &mut Faults,
) -> Topology {
    let traces = TraceFiles::new(sources.files.clone());
    let version = file.ip_version.as_ref().map_or(IpVersion::V4, |at| at.value);
    let default = ReassemblyLimits::of(version);
    let limits = reassembly::resolve(file.reassembly.as_ref(), default);
    let reassembly = faults.or(limits, default);
    let registry = Arc::clone(registry);
    let mut topology =
        Topology { registry, lost, traces, reassembly, version, ..Topology::default() };
    let none = LinkParams::default();
    let defaults = file.link_defaults.as_ref().map_or(&none, |at| &at.value);
    for name in file.routers.iter().flat_map(|at| &at.value) {
        let table = &name.value.0;
        if faults.keep(topology.add_router(table)).is_none() {
            topology.lost.node(&table.name.value);
        }
    }
    let mut map = topology.map_plan(file, sources, faults);
    map.add_routers(&mut topology, faults);
    let groups: &[Spanned<HostEntry>] = file.hosts.as_ref().map_or(&[], |at| &at.value);
    let csv = topology.csv_plan(file, sources, faults);
    let links = file.links.as_ref().map_or(0, |at| at.value.len());
    let most = 2 * (links + csv.links(sources) + map.links());
    let (mut made, mut lost_groups) = (Vec::new(), Vec::new());
    for group in groups {
        let ends = topology.lost.any_of_network() || faults.keep(check_ends(group, most)).is_some();
        if ends && faults.keep(topology.add_hosts(group)).is_some() {
            made.push(group)
        } else {
            topology.lose_hosts(&group.value);
            lost_groups.push(group);
        }
    }
    csv.add_routers(&mut topology, sources, faults);
    map.add_links(&mut topology, defaults, faults);
    map.add_hosts(&mut topology, defaults, faults);
    for link in file.links.iter().flat_map(|at| &at.value) {
        if faults.keep(topology.add_link_entry(link, defaults)).is_none() {
            topology.lose_link(&link.value);
        }
    }
    for group in &made {
        if faults.keep(topology.attach(group, defaults)).is_none() {
            topology.lose_hosts(&group.value);
        }
    }
    for group in lost_groups {
        faults.keep(topology.access(group, defaults));
    }
    csv.add_links(&mut topology, sources, defaults, faults);
    csv.add_hosts(&mut topology, sources, defaults, faults);
    for group in made {
        faults.keep(topology.check_linked(group));
    }
    topology.traces.notes().into_iter().for_each(|note| sources.note(note));
    topology
}

/// Refuse more hosts without an access link than all links have ends, before the first of them is
/// made.
fn check_ends(group: &Spanned<HostEntry>, most: usize) -> Result<(), Fault> {
    let host = &group.value;
    match &host.count {
        Some(count) if host.attach.is_none() && count.value as usize > most => {
            let text =
                format!("{} hosts without `attach`, and links with {most} ends", count.value);
            Err(count.fault(Problem::Conflict(text)).hint(NO_LINK_HINT))
        }
        _ => Ok(()),
    }
}

const NO_LINK_HINT: &str =
    "give the router of an access link with `attach`, or a link under [[links]]";

/// The routers that a group of hosts is attached to, and both directions of its links.
type Access<'a> = (&'a [Spanned<String>], [Placed; 2]);

impl Topology {
    /// The map of the file; where it is wrong, all its names are lost.
    fn map_plan<'a>(
        &mut self,
        file: &'a File,
        sources: &mut Sources,
        faults: &mut Faults,
    ) -> MapPlan<'a> {
        // A table that was read in part lacks what was wrong.
        let whole = !faults.touch("topology");
        let opened = MapPlan::open(file, sources).map_err(|fault| fault.following(!whole));
        faults.keep(opened).unwrap_or_else(|| {
            self.lost.all_names();
            MapPlan::default()
        })
    }
    /// The CSV files of the file, the same way.
    fn csv_plan(&mut self, file: &File, sources: &mut Sources, faults: &mut Faults) -> CsvPlan {
        let opened = file.csv.as_ref().map(|at| CsvPlan::open(&at.value, sources));
        opened.and_then(|opened| faults.keep(opened)).unwrap_or_else(|| {
            if file.csv.is_some() {
                self.lost.all_names();
            }
            CsvPlan::default()
        })
    }
    /// The node that a value names.
    pub fn named(&self, name: &str, fault: impl Fn(Problem) -> Fault) -> Result<NodeId, Fault> {
        self.one_of(name, |_| true, fault)
    }
    /// The node that a value names which must be a router: hosts are found, and not suggested.
    pub fn router(&self, name: &str, fault: impl Fn(Problem) -> Fault) -> Result<NodeId, Fault> {
        self.one_of(name, |node| !self.is_host(node), fault)
    }
    fn one_of(
        &self,
        name: &str,
        suggested: impl Fn(NodeId) -> bool,
        fault: impl Fn(Problem) -> Fault,
    ) -> Result<NodeId, Fault> {
        self.by_name.get(name).copied().ok_or_else(|| {
            let problem = Problem::UnknownName { kind: "node", name: name.to_string() };
            let names = self.by_name.iter().filter(|&(_, &node)| suggested(node));
            let names = names.take(SUGGESTIONS).map(|(name, _)| name.as_str());
            fault(problem).suggest(name, names).following(self.lost.has_node(name))
        })
    }
    /// The node that a cell names, with the prefix that is put before it.
    pub fn named_in(
        &self,
        row: &csv::Row<'_>,
        column: usize,
        prefix: &str,
    ) -> Result<NodeId, Fault> {
        let cell = row.text(column);
        self.named(&format!("{prefix}{cell}"), |problem| match prefix {
            "" => row.fault(column, problem),
            _ => {
                let (prefix, cell) = (prefix.to_string(), cell.to_string());
                row.fault(column, Problem::UnknownCell { prefix, cell })
            }
        })
    }
    /// The link that a value names, by its place in `links`.
    pub fn link(&self, name: &Spanned<String>) -> Result<usize, Fault> {
        self.links_by_name.get(&name.value).copied().ok_or_else(|| {
            let problem = Problem::UnknownName { kind: "link", name: name.value.clone() };
            let names = self.links_by_name.keys().take(SUGGESTIONS).map(String::as_str);
            let follows = self.lost.has_link(&name.value);
            name.fault(problem).suggest(&name.value, names).following(follows)
        })
    }
    /// The port by which `node` sends into one direction of a link.
    pub fn port(&self, node: NodeId, link: LinkId) -> Option<PortId> {
        let index = self.ports[node.index()].iter().position(|&l| l == link)?;
        Some(PortId(index as u16))
    }
    /// The node to which one direction of a link leads.
    pub fn other_end(&self, id: LinkId) -> NodeId {
        let link = &self.links[id.index() / 2];
        if id.index().is_multiple_of(2) { link.b } else { link.a }
    }
    /// The directed links that leave a node, in the order of its ports.
    pub fn ports(&self, node: NodeId) -> &[LinkId] {
        &self.ports[node.index()]
    }
    pub fn is_host(&self, node: NodeId) -> bool {
        self.nodes[node.index()].is_host
    }

    /// A router that the scenario declares. What is wrong with its kind or place does not take it
    /// away.
    fn add_router(&mut self, table: &RouterTable) -> Result<(), Fault> {
        let RouterTable { name, router, at, role } = table;
        let id = self.add_node(name.value.clone(), false, |problem| name.fault(problem))?;
        let router = router.as_ref().map(|at| at.value.resolve(&self.registry)).transpose();
        let at = at.as_ref().map(|at| match at.value[..] {
            [x, y] => Ok([x.0, y.0]),
            _ => Err(at.fault(Problem::Conflict("a position is two numbers".into()))),
        });
        let (router, at) = both(router, at.transpose())?;
        let role = role.as_ref().map(|at| at.value.0);
        let node = &mut self.nodes[id.index()];
        node.router = router;
        node.on_map = (at.is_some() || role.is_some()).then(|| Arc::new(OnMap { at, role }));
        Ok(())
    }

    fn add_node(
        &mut self,
        name: String,
        is_host: bool,
        fault: impl Fn(Problem) -> Fault,
    ) -> Result<NodeId, Fault> {
        check_name(&name, &fault)?;
        self.hosts += usize::from(is_host);
        if self.hosts > MAX_ENTITIES || self.nodes.len() >= 2 * MAX_ENTITIES {
            return Err(fault(too_many("hosts", self.hosts)));
        }
        let id = NodeId(self.nodes.len() as u32);
        if self.by_name.contains_key(&name) {
            return Err(fault(Problem::Duplicate { kind: "node", name }));
        }
        self.by_name.insert(name.clone(), id);
        self.nodes.push(Node {
            name,
            is_host,
            router: None,
            reassembly: None,
            prefixes: Vec::new(),
            on_map: None,
        });
        self.ports.push(Vec::new());
        Ok(id)
    }

    fn add_hosts(&mut self, group: &Spanned<HostEntry>) -> Result<(), Fault> {
        let host = &group.value;
        let numbers = numbers(host.count.as_ref(), host.first.as_ref())?;
        if let (Some(at), None) = (&host.delay_step, host.count.as_ref().and(host.attach.as_ref()))
        {
            let text = "`delay_step` is of a group of hosts with `count` and `attach`";
            return Err(at.fault(Problem::Conflict(text.into())));
        }
        if let Some(count) = &host.count {
            if !host.name.value.contains("{}") {
                let text =
                    "the name of a group holds \"{}\", which stands for the number of the host";
                return Err(host.name.fault(Problem::Conflict(text.into())));
            }
            // Before a host is made that will find no port.
            let is_one = |router: &Spanned<String>| !router.value.contains("{}");
            let homes = host.attach.as_ref();
            if homes.is_some_and(|homes| homes.value.0.iter().any(is_one))
                && count.value > u32::from(MAX_PORTS)
            {
                return Err(count.fault(too_many("links of one node", count.value as usize)));
            }
        }
        let prefixes = self.prefixes_of(host)?;
        let given = host.reassembly.as_ref();
        let limits = given.map(|_| reassembly::resolve(given, self.reassembly)).transpose()?;
        for number in numbers {
            let name = numbered(&host.name, number)?;
            let id = self.add_node(name, true, |problem| host.name.fault(problem))?;
            self.nodes[id.index()].reassembly = limits;
            self.nodes[id.index()].prefixes = prefixes.clone();
        }
        Ok(())
    }

    /// The networks behind a host.
    fn prefixes_of(&self, host: &HostGroup) -> Result<Vec<Prefix>, Fault> {
        let Some(given) = &host.prefixes else { return Ok(Vec::new()) };
        if host.count.is_some() {
            let text = "a network is behind one host, and this is a group";
            return Err(given.fault(Problem::Conflict(text.into())));
        }
        let unfit = |prefix: &Prefix| Some((*prefix, unfit_prefix(prefix, self.version)?));
        if let Some((prefix, why)) = given.value.0.iter().find_map(unfit) {
            return Err(given.fault(Problem::Conflict(format!("{prefix}: {why}"))));
        }
        let others = || self.nodes.iter().flat_map(|node| &node.prefixes);
        match given.value.0.iter().find(|prefix| others().any(|other| other == *prefix)) {
            Some(twice) => {
                let text = format!("{twice} is behind another host as well");
                Err(given.fault(Problem::Conflict(text)))
            }
            None => Ok(given.value.0.clone()),
        }
    }

    /// The access links of a group.
    fn attach(&mut self, group: &Spanned<HostEntry>, defaults: &LinkParams) -> Result<(), Fault> {
        let host = &group.value;
        let Some((homes, mut wires)) = self.access(group, defaults)? else { return Ok(()) };
        for (i, number) in (0..).zip(numbers(host.count.as_ref(), host.first.as_ref())?) {
            let a = self.by_name[&numbered(&host.name, number)?];
            if let Some(at) = host.delay_step.as_ref().filter(|_| i > 0) {
                step_delay(&mut wires, at, i)?;
            }
            for router in homes {
                let b = self.access_router(router, number)?;
                let joined = Joined::access([a, b], &wires);
                self.add_link(None, joined, |problem| router.fault(problem))?;
            }
        }
        Ok(())
    }

    /// Where the access links of a group lead, and what they are like; None if it has none.
    fn access<'a>(
        &self,
        group: &'a Spanned<HostEntry>,
        defaults: &LinkParams,
    ) -> Result<Option<Access<'a>>, Fault> {
        let host = &group.value;
        let Some(homes) = &host.attach else { return Ok(None) };
        let wires = self.wires(&host.params, host.reverse.as_ref(), defaults, group);
        // A group at one router has one end, whose mistake is that of all.
        let first = numbers(host.count.as_ref(), host.first.as_ref()).map(|mut all| all.next());
        let first = first.ok().flatten().flatten();
        let homes = &homes.value.0[..];
        let routers = homes.iter().map(|router| self.access_router(router, first));
        let (wires, _) = both(wires, all(routers))?;
        Ok(Some((homes, wires)))
    }

    /// The router that a host attaches to; "{}" in its name stands for the number of the host.
    fn access_router(
        &self,
        router: &Spanned<String>,
        number: Option<u32>,
    ) -> Result<NodeId, Fault> {
        let name = numbered(router, number)?;
        let node = self.router(&name, |problem| router.fault(problem))?;
        if self.is_host(node) {
            let text = format!("`{name}` is a host: hosts attach to routers");
            return Err(router.fault(Problem::Conflict(text)));
        }
        Ok(node)
    }

    /// The names of a group of hosts that is not made, or has no links.
    fn lose_hosts(&mut self, host: &HostGroup) {
        self.lost.node(&host.name.value);
        for router in host.attach.iter().flat_map(|homes| &homes.value.0) {
            let router = self.name_or_any(&router.value);
            self.lost.link(format!("{}-{router}", host.name.value));
        }
    }

    /// The name of a link that is not made.
    fn lose_link(&mut self, link: &LinkEntry) {
        let name = match &link.name {
            Some(name) => name.value.clone(),
            None => [&link.a, &link.b].map(|end| self.name_or_any(&end.value)).join("-"),
        };
        self.lost.link(name);
    }

    /// A name as the part of another; "{}" for one that names nothing, in whose place another was
    /// meant.
    fn name_or_any(&self, name: &str) -> String {
        if self.by_name.contains_key(name) { name.to_string() } else { "{}".to_string() }
    }

    /// Both directions of a link whose table is `owner`.
    fn wires<T>(
        &self,
        params: &LinkParams,
        reverse: Option<&Spanned<LinkParams>>,
        defaults: &LinkParams,
        owner: &Spanned<T>,
    ) -> Result<[Placed; 2], Fault> {
        // The missing part may be in the defaults that are wrong.
        let wires = wires(params, reverse, defaults, owner, &self.registry, &self.traces);
        if self.lost.has_key("link_defaults") {
            wires.map_err(Fault::missing_follows)
        } else {
            wires
        }
    }

    /// A host that is not attached must be the end of a link.
    fn check_linked(&self, group: &Spanned<HostEntry>) -> Result<(), Fault> {
        let host = &group.value;
        if host.attach.is_some() || self.lost.any_of_network() {
            return Ok(());
        }
        for number in numbers(host.count.as_ref(), host.first.as_ref())? {
            let name = numbered(&host.name, number)?;
            if self.ports(self.by_name[&name]).is_empty() {
                let text = format!("the host `{name}` has no link");
                return Err(host.name.fault(Problem::Conflict(text)).hint(NO_LINK_HINT));
            }
        }
        Ok(())
    }

    fn add_link_entry(
        &mut self,
        entry: &Spanned<LinkEntry>,
        defaults: &LinkParams,
    ) -> Result<(), Fault> {
        let link = &entry.value;
        let a = self.named(&link.a.value, |problem| link.a.fault(problem));
        let b = self.named(&link.b.value, |problem| link.b.fault(problem));
        let wires = self.wires(&link.params, link.reverse.as_ref(), defaults, entry);
        let ends = both(a, b).and_then(|(a, b)| {
            if a == b {
                let text = "a link joins two nodes, not one with itself".to_string();
                Err(link.b.fault(Problem::Conflict(text)))
            } else {
                Ok((a, b))
            }
        });
        let weight = link.weight.as_ref().map_or(1, |at| at.value.0);
        let of = || format!("the link `{}-{}`", link.a.value, link.b.value);
        let key = link.inrpp_key.as_ref().map(|at| link_key(at, of)).transpose();
        let (((a, b), wires), key) = both(both(ends, wires), key)?;
        let name = link.name.as_ref().map(|name| name.value.clone());
        let fault = |problem| match &link.name {
            Some(name) => name.fault(problem),
            None => entry.fault(problem).hint("give one of them another `name`"),
        };
        self.add_link(name, Joined { ends: [a, b], weight, wires: &wires }, fault)?;
        self.links.last_mut().expect("it was added").inrpp_key = key;
        Ok(())
    }

    fn add_link(
        &mut self,
        name: Option<String>,
        joined: Joined<'_>,
        fault: impl Fn(Problem) -> Fault,
    ) -> Result<(), Fault> {
        let Joined { ends, weight, wires } = joined;
        let [a, b] = ends;
        let joined = || format!("{}-{}", self.nodes[a.index()].name, self.nodes[b.index()].name);
        let name = name.unwrap_or_else(joined);
        check_name(&name, &fault)?;
        let index = self.links.len();
        if self.links_by_name.contains_key(&name) {
            return Err(fault(Problem::Duplicate { kind: "link", name }));
        }
        for node in ends {
            let ports = self.ports[node.index()].len();
            if ports >= usize::from(MAX_PORTS) {
                return Err(fault(too_many("links of one node", ports + 1)));
            }
        }
        self.links_by_name.insert(name.clone(), index);
        self.ports[a.index()].push(LinkId(2 * index as u32));
        self.ports[b.index()].push(LinkId(2 * index as u32 + 1));
        self.origins.push([wires[0].origin.clone(), wires[1].origin.clone()]);
        let [forward, reverse] = [wires[0].direction.clone(), wires[1].direction.clone()];
        self.links.push(Link { name, a, b, forward, reverse, weight, inrpp_key: None });
        Ok(())
    }
}

fn too_many(what: &str, found: usize) -> Problem {
    let expected = match what {
        "links of one node" => format!("at most {MAX_PORTS} {what}"),
        _ => format!("at most 2^24 {what}"),
    };
    Problem::OutOfRange { found: found.to_string(), expected }
}

/// Names stand in tables, paths and messages.
fn check_name(name: &str, fault: &impl Fn(Problem) -> Fault) -> Result<(), Fault> {
    let bad = name.chars().find(|&c| is_unseen(c) || c.is_whitespace() || "{},\"".contains(c));
    let expected = "a name of 1 to 100 characters without spaces, control characters, commas, \
                    quotes and braces";
    if name.is_empty() || name.chars().count() > 100 || bad.is_some() {
        let found = name.to_string();
        return Err(fault(Problem::OutOfRange { found, expected: expected.into() }));
    }
    Ok(())
}

/// The numbers of a group; one None without `count`.
pub(crate) fn numbers(
    count: Option<&Spanned<u32>>,
    first: Option<&Spanned<u32>>,
) -> Result<impl Iterator<Item = Option<u32>> + use<>, Fault> {
    let grouped = count.is_some();
    if let (None, Some(first)) = (count, first) {
        return Err(first.fault(Problem::Conflict("`first` without `count`".into())));
    }
    let number = count.map_or(1, |count| count.value);
    let start = first.map_or(0, |first| first.value);
    let end = start.checked_add(number);
    let fits = number >= 1 && number as usize <= MAX_ENTITIES;
    match (count, end) {
        (_, Some(end)) if fits => Ok((start..end).map(move |i| grouped.then_some(i))),
        (Some(count), _) => {
            let expected = "1 to 2^24, and numbers below 2^32".to_string();
            Err(count.fault(Problem::OutOfRange { found: number.to_string(), expected }))
        }
        (None, _) => unreachable!("one is a number that fits"),
    }
}

/// Where the values of one direction stand, for what is found wrong with them later.
#[derive(Debug)]
pub(crate) struct Origin {
    pub rate: Option<Spanned<()>>,
    pub limit: Spanned<()>,
    /// The threshold of its queue, from which packets are marked.
    pub threshold: Option<Spanned<()>>,
    pub mtu: Option<Spanned<()>>,
    pub port: Option<Spanned<()>>,
    pub schedule: Option<Spanned<ScheduleKey>>,
}

/// A link to be made, without its name.
struct Joined<'a> {
    ends: [NodeId; 2],
    weight: u32,
    wires: &'a [Placed; 2],
}

impl Joined<'_> {
    /// The link of a host, on whose weight no route depends.
    fn access(ends: [NodeId; 2], wires: &[Placed; 2]) -> Joined<'_> {
        Joined { ends, weight: 1, wires }
    }
}

/// One direction, and where its values stand. A group shares one.
struct Placed {
    direction: LinkDirection,
    origin: Rc<Origin>,
}

/// More delay in both directions of the access link of host number `i` of a group.
fn step_delay(wires: &mut [Placed; 2], step: &Spanned<Span>, i: u64) -> Result<(), Fault> {
    for placed in wires {
        let delay = placed.direction.wire.delay + step.value;
        if delay > MAX_DELAY {
            let found = format!("delay of host {i}: {}", shown(&delay));
            let expected = "at most 1000s on a link".to_string();
            return Err(step.fault(Problem::OutOfRange { found, expected }));
        }
        placed.direction.wire.delay = delay;
    }
    Ok(())
}

/// Both directions of a link whose table is `owner`.
fn wires<T>(
    params: &LinkParams,
    reverse: Option<&Spanned<LinkParams>>,
    defaults: &LinkParams,
    owner: &Spanned<T>,
    registry: &Registry,
    traces: &TraceFiles,
) -> Result<[Placed; 2], Fault> {
    let forward = params.or(defaults);
    let backward = reverse.map_or_else(|| forward.clone(), |at| at.value.or(&forward));
    let of = |params| wire(params, owner, registry, traces);
    both(of(&forward), of(&backward)).map(<[Placed; 2]>::from)
}

fn wire<T>(
    params: &LinkParams,
    owner: &Spanned<T>,
    registry: &Registry,
    traces: &TraceFiles,
) -> Result<Placed, Fault> {
    let missing = |key: &'static str, meaning: &str| {
        let problem = Problem::MissingKey { key: key.into(), meaning: meaning.into() };
        owner.fault(problem).hint("give it here or under [link_defaults]")
    };
    let pace = pace_of(params, traces, &missing);
    let wire = params.wire(&missing);
    // The limit is checked at any rate; without one there is no link.
    let bps = pace.as_ref().map_or(Rate::mbps(1000), |(rate, _)| *rate);
    let queue = params.queue.as_ref().ok_or_else(|| missing("queue", "limit of its queue"));
    let queue = queue.and_then(|queue| queue_of(registry, queue, bps, &missing));
    let port = params.port.as_ref().map(|at| at.value.resolve(registry)).transpose();
    let (((rate, channel), wire), (queue, port)) = both(both(pace, wire), both(queue, port))?;
    let (limit, queue, discipline) = queue;
    let threshold = params.queue.as_ref().and_then(|queue| threshold_of(&queue.value));
    let direction = LinkDirection { rate, channel, wire, queue, discipline, port };
    let (rate, mtu) =
        (params.rate.as_ref().map(Spanned::place), params.mtu_bytes.as_ref().map(Spanned::place));
    let (port_at, schedule) = (params.port.as_ref().map(Spanned::place), params.schedule.clone());
    let origin = Rc::new(Origin { rate, limit, threshold, mtu, port: port_at, schedule });
    Ok(Placed { direction, origin })
}
