//! Nodes and links from a map.

use super::{Joined, MAX_ENTITIES, Topology, too_many};
use crate::OnMap;
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, all};
use crate::format::fields::Spanned;
use crate::format::source::Sources;
use crate::keys::file::File;
use crate::keys::links::LinkParams;
use crate::keys::topology::{LinkClass, TopologyTable};
use crate::resolve::maps;
use forebay_base::{NodeId, Span};
use forebay_topology::{Map, MapLink, Role};
use std::sync::Arc;

/// Speed of light in fibre, in m/s: delay of a link with a length.
const FIBRE_M_PER_S: f64 = 2e8;

/// What one router has to send to another, from the traffic matrix of a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Demand {
    /// Router that sends.
    pub from: NodeId,
    /// Router that receives.
    pub to: NodeId,
    /// How much, in bit/s, without `demand_scale`.
    pub bps: f64,
}

/// The map of a network, read.
#[derive(Default)]
pub(super) struct MapPlan<'a> {
    of: Option<(&'a Spanned<TopologyTable>, Map)>,
    /// The node of each router of the map; None where it was declared wrongly.
    nodes: Vec<Option<NodeId>>,
}

impl<'a> MapPlan<'a> {
    pub(super) fn open(file: &'a File, sources: &mut Sources) -> Result<MapPlan<'a>, Fault> {
        let Some(table) = &file.topology else { return Ok(MapPlan::default()) };
        let map = maps::map_of(table, sources)?;
        Ok(MapPlan { of: Some((table, map)), nodes: Vec::new() })
    }

    /// Links of the map.
    pub(super) fn links(&self) -> usize {
        self.of.as_ref().map_or(0, |(_, map)| map.links.len())
    }

    /// Routers of the map, those that the scenario declares as well among them.
    pub(super) fn add_routers(&mut self, topology: &mut Topology, faults: &mut Faults) {
        let Some((at, map)) = &self.of else { return };
        let prefix = at.value.router_prefix.as_ref().map_or("", |at| at.value.as_str());
        let drawn = map.clone().projected();
        for node in &drawn.nodes {
            let name = format!("{prefix}{}", node.name);
            let declared = topology.by_name.get(&name).copied();
            let id = match declared.filter(|&id| !topology.is_host(id)) {
                Some(id) => Some(id),
                None => {
                    let place = at.value.file.as_ref().map_or_else(|| at.place(), Spanned::place);
                    let fault = |problem| place.fault(problem);
                    faults.keep(topology.add_node(name.clone(), false, fault))
                }
            };
            if let Some(id) = id {
                let given = topology.nodes[id.index()].on_map.as_deref().cloned();
                let given = given.unwrap_or_default();
                let (at, role) = (given.at.or(node.at), given.role.or(node.role));
                if at.is_some() || role.is_some() {
                    topology.nodes[id.index()].on_map = Some(Arc::new(OnMap { at, role }));
                }
            } else {
                topology.lost.node(name);
            }
            self.nodes.push(id);
        }
    }

    pub(super) fn add_links(
        &self,
        topology: &mut Topology,
        defaults: &LinkParams,
        faults: &mut Faults,
    ) {
        let Some((at, map)) = &self.of else { return };
        let checked = classes(&at.value, topology);
        let Some(classes) = faults.keep(checked) else { return topology.lost.all_names() };
        let Some(scale) = faults.keep(maps::factor(at.value.rate_scale.as_ref())) else {
            return topology.lost.all_names();
        };
        for link in &map.links {
            let [Some(a), Some(b)] = link.ends.map(|end| self.nodes[end]) else { continue };
            let own = own(link, scale, |problem| {
                let place = at.value.file.as_ref().map_or_else(|| at.place(), Spanned::place);
                place.fault(problem)
            });
            let added = own.and_then(|own| {
                let made = Made { ends: [a, b], weight: link.weight.unwrap_or(1), own };
                add_link(topology, at, &classes, made, defaults)
            });
            if faults.keep(added).is_none() {
                return topology.lost.all_names();
            }
        }
        topology.demands = map
            .demands
            .iter()
            .filter_map(|demand| {
                let [from, to] = [self.nodes[demand.from]?, self.nodes[demand.to]?];
                Some(Demand { from, to, bps: demand.bps })
            })
            .collect();
    }

    /// Hosts, numbered router by router.
    pub(super) fn add_hosts(
        &self,
        topology: &mut Topology,
        defaults: &LinkParams,
        faults: &mut Faults,
    ) {
        let Some((at, map)) = &self.of else { return };
        let Some(count) = at.value.hosts.as_ref().filter(|at| at.value > 0) else { return };
        let added = self.hosts(topology, (at, map), count, defaults);
        if faults.keep(added).is_none() {
            topology.lost.all_names();
        }
    }

    fn hosts(
        &self,
        topology: &mut Topology,
        of: (&Spanned<TopologyTable>, &Map),
        count: &Spanned<u32>,
        defaults: &LinkParams,
    ) -> Result<(), Fault> {
        let (at, map) = of;
        let routers: Vec<NodeId> = match &at.value.hosts_at {
            None => map.edges().into_iter().filter_map(|index| self.nodes[index]).collect(),
            Some(given) => {
                let given = all(given.value.iter().map(|name| end(name, topology)))?;
                let fits = |&node: &NodeId| given.iter().any(|end| end.fits(node, topology));
                self.nodes.iter().copied().flatten().filter(fits).collect()
            }
        };
        let hosts = routers.len().saturating_mul(count.value as usize);
        if hosts > MAX_ENTITIES {
            return Err(count.fault(too_many("hosts", hosts)));
        }
        let none = LinkParams::default();
        let access = at.value.access.as_ref();
        let wires = match access {
            Some(access) => topology.wires(&access.value, None, defaults, access)?,
            None => topology.wires(&none, None, defaults, count)?,
        };
        let prefix = at.value.host_prefix.as_ref().map_or("h", |at| at.value.as_str());
        let each = routers.iter().flat_map(|&router| (0..count.value).map(move |_| router));
        for (number, router) in each.enumerate() {
            let fault = |problem| count.fault(problem);
            let host = topology.add_node(format!("{prefix}{number}"), true, fault)?;
            topology.add_link(None, Joined::access([host, router], &wires), fault)?;
        }
        Ok(())
    }
}

/// A link of the map, to be made.
struct Made {
    ends: [NodeId; 2],
    weight: u32,
    /// What the map says.
    own: LinkParams,
}

fn add_link(
    topology: &mut Topology,
    at: &Spanned<TopologyTable>,
    classes: &[(&LinkClass, [End; 2])],
    made: Made,
    defaults: &LinkParams,
) -> Result<(), Fault> {
    let Made { ends: [a, b], mut weight, own } = made;
    let mut params = at.value.params.or(&own);
    for (class, [one, other]) in classes {
        let fits = |a, b| one.fits(a, topology) && other.fits(b, topology);
        if fits(a, b) || fits(b, a) {
            params = class.params.or(&params);
            weight = class.weight.as_ref().map_or(weight, |at| at.value.0);
        }
    }
    let wires = topology.wires(&params, None, defaults, at)?;
    let [first, second] = [a, b].map(|node| topology.nodes[node.index()].name.clone());
    let plain = format!("{first}-{second}");
    let numbered = (2..).map(|number| format!("{plain}#{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    let name = names.find(|name| !topology.links_by_name.contains_key(name));
    let joined = Joined { ends: [a, b], weight, wires: &wires };
    topology.add_link(name, joined, |problem| at.fault(problem))
}

/// What the map says of a link.
fn own(link: &MapLink, scale: f64, fault: impl Fn(Problem) -> Fault) -> Result<LinkParams, Fault> {
    let rate = link.rate_bps.map(|bps| maps::scaled(bps, scale, &fault)).transpose()?;
    let delay = link.length_m.map(|metres| Span::from_secs_f64(metres / FIBRE_M_PER_S));
    Ok(LinkParams {
        rate: rate.map(Spanned::new),
        delay: delay.map(Spanned::new),
        ..LinkParams::default()
    })
}

/// A role, or a router.
enum End {
    Role(Role),
    Router(NodeId),
}

impl End {
    fn fits(&self, node: NodeId, topology: &Topology) -> bool {
        match self {
            End::Role(role) => {
                let on_map = topology.nodes[node.index()].on_map.as_ref();
                on_map.and_then(|on_map| on_map.role) == Some(*role)
            }
            End::Router(router) => *router == node,
        }
    }
}

/// What a role or the name of a router stands for. A role that no router has is a mistake.
fn end(name: &Spanned<String>, topology: &Topology) -> Result<End, Fault> {
    let role = Role::ALL.into_iter().find(|role| role.name() == name.value);
    let has = |role: Role| {
        let of = |node: &crate::Node| node.on_map.as_ref().and_then(|on_map| on_map.role);
        topology.nodes.iter().any(|node| of(node) == Some(role))
    };
    match role {
        Some(role) if has(role) => Ok(End::Role(role)),
        Some(role) if !topology.by_name.contains_key(&name.value) => {
            let text = format!("no router of the map has the role \"{role}\"");
            Err(name
                .fault(Problem::Conflict(text))
                .hint("a Rocketfuel map has roles with reduce = \"roles\""))
        }
        _ => topology.router(&name.value, |problem| name.fault(problem)).map(End::Router),
    }
}

/// The classes of links, and which routers their ends are.
fn classes<'a>(
    table: &'a TopologyTable,
    topology: &Topology,
) -> Result<Vec<(&'a LinkClass, [End; 2])>, Fault> {
    let given = table.classes.iter().flat_map(|at| &at.value);
    all(given.map(|class| {
        let class = &class.value;
        let between = &class.between;
        let [a, b] = &between.value[..] else {
            let text = format!("expected two ends, found {}", between.value.len());
            return Err(between.fault(Problem::Conflict(text)));
        };
        Ok((class, [end(a, topology)?, end(b, topology)?]))
    }))
}
