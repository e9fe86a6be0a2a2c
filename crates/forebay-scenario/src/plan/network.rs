//! Routers and ports in a run: as the scenario sets them, else as the protocols of
//! the run need.

use crate::format::fault::Fault;
use crate::format::fields::{Spanned, shown};
use crate::format::item::whole;
use crate::format::names::Name;
use crate::keys::file::{EventEntry, File};
use crate::keys::inrpp;
use crate::plan::{caches, inrpp_keys, mtu_check};
use crate::registry::protocol::NetworkRequirements;
use crate::registry::tables::ParamTables;
use crate::registry::{Chosen, Kind, Line, Routers, Schemes};
use crate::resolve::topology::Topology;
use crate::{Link, LinkDirection, Problem, Scenario};
use forebay_base::{IpVersion, NodeId, Rate, Span, Time};
use forebay_net::{ForwardingSpec, NetEvent, SchemeSpec};
use forebay_queue::Carries;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The routers of a network, and how each forwards. Nodes that are hosts are not there.
type RoutersByNode = BTreeMap<NodeId, (Arc<Line<Routers>>, ForwardingSpec)>;

/// Routers and ports of a run.
pub(crate) struct Network {
    routers: RoutersByNode,
    /// See [`caches::fit`].
    pub cache_depth: Option<Span>,
    /// Schemes that the scenario gives its links, by the address of what it says.
    schemes: BTreeMap<usize, SchemeSpec>,
    /// The scheme of the other ports of routers.
    needed: Option<(Arc<Line<Schemes>>, SchemeSpec)>,
    /// What links between routers carry beyond their MTU for the protocols of the run, in bytes.
    mtu_room_bytes: u16,
}

impl Network {
    /// The routers.
    pub fn routers(&self) -> impl Iterator<Item = (NodeId, &ForwardingSpec)> {
        self.routers.iter().map(|(&id, (_, spec))| (id, spec))
    }
    /// How a node forwards; None of a host.
    pub fn forwarding(&self, node: NodeId) -> Option<ForwardingSpec> {
        self.routers.get(&node).map(|(_, spec)| spec.clone())
    }
    /// What the port of `from` into a direction of a link does besides queueing: nothing, if that
    /// is a host.
    pub fn scheme(&self, from: NodeId, wire: &LinkDirection) -> SchemeSpec {
        match &wire.port {
            _ if !self.routers.contains_key(&from) => SchemeSpec::None,
            Some(port) => self.schemes[&address(port)].clone(),
            None => self.needed.as_ref().map_or(SchemeSpec::None, |(_, spec)| spec.clone()),
        }
    }
    /// On which links the scheme of that port can do its work; None: on all.
    fn carries(&self, from: NodeId, wire: &LinkDirection, version: IpVersion) -> Option<Carried> {
        let carries = self.scheme(from, wire).carries(version)?;
        let needed = || self.needed.as_ref().map(|(line, _)| line);
        let line = wire.port.as_ref().map(|port| &port.line).or_else(needed)?;
        Some(Carried { scheme: Arc::clone(line), carries })
    }
    /// What a link carries beyond its MTU, in bytes.
    pub fn mtu_room_bytes(&self, link: &Link) -> u16 {
        let (Some((a, _)), Some((b, _))) = (self.routers.get(&link.a), self.routers.get(&link.b))
        else {
            return 0;
        };
        let between = if a.name == b.name { a.traits.mtu_room_bytes } else { 0 };
        between.max(self.mtu_room_bytes)
    }
}

fn address<T>(of: &Arc<T>) -> usize {
    Arc::as_ptr(of).addr()
}

/// The links on which a scheme can do its work.
#[derive(Clone)]
struct Carried {
    scheme: Arc<Line<Schemes>>,
    carries: Carries,
}

/// Requirements of a protocol.
type Need<'a> = (&'a str, NetworkRequirements);

impl Scenario {
    /// Routers and ports under one protocol, and under those that flows name.
    pub(crate) fn network(&self, protocol: &str) -> Result<Network, Problem> {
        let network = self.network_of(protocol)?;
        match self.unfit(&network) {
            Some(unfit) => Err(unfit.named(self)),
            None => Ok(network),
        }
    }
    /// The same, whether its ports can do their work or not.
    fn network_of(&self, protocol: &str) -> Result<Network, Problem> {
        let names = self.protocols_under(protocol);
        let needs: Vec<Need<'_>> =
            names.into_iter().map(|name| (name, self.bundle(name))).collect();
        let (routers, cache_depth) = self.routers(&needs)?;
        let wires = || self.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let mut schemes = BTreeMap::new();
        for port in wires().filter_map(|wire| wire.port.as_ref()) {
            if let Entry::Vacant(place) = schemes.entry(address(port)) {
                place.insert(self.machine(port)?);
            }
        }
        let needed = if wires().all(|wire| wire.port.is_some()) {
            None
        } else {
            match self.needed::<Schemes>(&needs, |bundle| bundle.port.as_ref())? {
                Some(port) => Some((port.line.clone(), self.machine(&port)?)),
                None => None,
            }
        };
        let mtu_room_bytes = needs.iter().map(|(_, bundle)| bundle.mtu_room_bytes).max();
        Ok(Network {
            routers,
            cache_depth,
            schemes,
            needed,
            mtu_room_bytes: mtu_room_bytes.unwrap_or(0),
        })
    }

    /// The routers, each able to work where it is. The first need is that of the protocol of the
    /// run.
    fn routers(&self, needs: &[Need<'_>]) -> Result<(RoutersByNode, Option<Span>), Problem> {
        let open = |node: &&crate::Node| !node.is_host && node.router.is_none();
        let common = match (&self.router, self.nodes.iter().find(open)) {
            (Some(router), _) => Some(Chosen::clone(router)),
            (None, None) => None,
            (None, Some(_)) => self.needed::<Routers>(needs, |bundle| bundle.router.as_ref())?,
        };
        let plain = Arc::clone(&self.registry.lines::<Routers>()[0]);
        let common = match common {
            Some(router) => (router.line.clone(), self.machine(&router)?),
            None => (plain.clone(), ForwardingSpec::PlainIp),
        };
        let mut routers = BTreeMap::new();
        for (id, node) in (0..).map(NodeId).zip(&self.nodes).filter(|(_, node)| !node.is_host) {
            let router = match &node.router {
                Some(router) => (router.line.clone(), self.machine(router)?),
                None => common.clone(),
            };
            routers.insert(id, router);
        }
        let specs = routers.iter_mut().map(|(&id, (_, spec))| (id, spec));
        let mut specs: Vec<_> = specs.collect();
        let cache_depth = caches::fit(self, needs[0].0, &mut specs);
        inrpp_keys::fit(self, &mut specs);
        caches::check_routers(self, routers.iter().map(|(&id, (_, spec))| (id, spec)))?;
        Ok((routers, cache_depth))
    }

    fn machine<K: Kind>(&self, chosen: &Chosen<K>) -> Result<K::Machine, Problem> {
        let name = chosen.name();
        let inrpp = (name == inrpp::NAME).then(|| self.inrpp.params());
        let table = inrpp.or_else(|| self.ports.get(name).cloned()).unwrap_or_default();
        chosen.machine(&table).map_err(|why| Problem::Conflict(format!("{name}: {why}")))
    }

    /// The one thing of a kind that all protocols which need one agree on.
    fn needed<K: Kind>(
        &self,
        needs: &[Need<'_>],
        of: impl Fn(&NetworkRequirements) -> Option<&Name>,
    ) -> Result<Option<Chosen<K>>, Problem> {
        let mut wanted = needs.iter().filter_map(|(by, bundle)| Some((*by, of(bundle)?)));
        let Some((by, name)) = wanted.next() else { return Ok(None) };
        if let Some((other, another)) = wanted.find(|(_, another)| *another != name) {
            return Err(Problem::Conflict(format!(
                "`{by}` needs the {word} `{name}`, and `{other}` the {word} `{another}`: \
                 they cannot be in one run",
                word = K::WORD
            )));
        }
        let Some(line) = self.registry.line::<K>(name) else {
            let word = K::WORD;
            let text = format!("`{by}` needs the {word} `{name}`, but there is no such {word}");
            return Err(Problem::Conflict(text));
        };
        Ok(Some(Chosen::plain(line)))
    }

    /// Routers of a kind in a run under `protocol`. Where protocols do not agree on one, those that
    /// any of them needs.
    pub(crate) fn routers_of(&self, kind: &str, protocol: &str) -> Vec<NodeId> {
        let needs = |name: &str| self.bundle(name).router.as_deref() == Some(kind);
        let common = match &self.router {
            Some(router) => router.name() == kind,
            None => self.protocols_under(protocol).into_iter().any(needs),
        };
        let is_one = |node: &crate::Node| match &node.router {
            _ if node.is_host => false,
            Some(router) => router.name() == kind,
            None => common,
        };
        let nodes = (0..).map(NodeId).zip(&self.nodes);
        nodes.filter(|(_, node)| is_one(node)).map(|(id, _)| id).collect()
    }
}

/// What of a link a port cannot work with.
struct Unfit {
    link: usize,
    /// 0: forward; 1: reverse.
    direction: usize,
    what: Misfit,
    by: Carried,
}

enum Misfit {
    Rate(Rate),
    /// One that an event sets.
    LaterRate(Time, Rate),
    Mtu(u16),
}

impl Unfit {
    fn problem(&self) -> Problem {
        let Carried { scheme, carries } = &self.by;
        let Carries { least_rate, most_rate, packet_bytes, key, why, .. } = *carries;
        let (by, low, high) = (&scheme.title, shown(&least_rate), shown(&most_rate));
        match self.what {
            Misfit::Rate(rate) | Misfit::LaterRate(_, rate) => {
                let expected = format!("{low} to {high} for ports of {by}");
                Problem::OutOfRange { found: shown(&rate), expected }
            }
            Misfit::Mtu(mtu) => {
                let expected =
                    format!("at least {packet_bytes} bytes for ports of {by}: {why} ({key})");
                Problem::OutOfRange { found: mtu.to_string(), expected }
            }
        }
    }
    /// The problem with the name of the link.
    fn named(&self, scenario: &Scenario) -> Problem {
        let name = &scenario.links[self.link].name;
        let (key, from) = match self.what {
            Misfit::Rate(_) => ("rate", String::new()),
            Misfit::LaterRate(at, _) => {
                ("rate", format!(" from {} on", shown(&at.since(Time::ZERO))))
            }
            Misfit::Mtu(_) => ("mtu_bytes", String::new()),
        };
        Problem::Conflict(format!("the {key} of `{name}`{from}: {}", self.problem()))
    }
    /// The same where it stands, if it does.
    fn fault(&self, scenario: &Scenario, places: &Places<'_>) -> Option<Fault> {
        let Places { file, topology, tables } = places;
        let origin = &topology.origins[self.link][self.direction];
        let Carried { scheme, carries } = &self.by;
        let Carries { packet_bytes, key, .. } = *carries;
        match self.what {
            Misfit::Rate(_) => Some(origin.rate.as_ref()?.fault(self.problem())),
            Misfit::LaterRate(_, rate) => {
                let entries = file.events.iter().flat_map(|at| &at.value).map(|at| &at.value);
                let sets = |event: &&EventEntry| {
                    let link = event.link.as_ref().and_then(|link| topology.link(link).ok());
                    link == Some(self.link) && event.rate.as_ref().is_some_and(|r| r.value == rate)
                };
                let event = entries.clone().find(sets);
                let place = event.and_then(|event| event.rate.as_ref().map(Spanned::place));
                let place = place.or_else(|| origin.schedule.as_ref().map(Spanned::place))?;
                Some(place.fault(self.problem()))
            }
            Misfit::Mtu(_) if origin.mtu.is_some() => {
                Some(origin.mtu.as_ref()?.fault(self.problem()))
            }
            Misfit::Mtu(mtu) => {
                let link = &scenario.links[self.link];
                let wire = [&link.forward, &link.reverse][self.direction];
                let own = wire.port.as_ref().is_some_and(|port| port.params.contains_key(key));
                let common = || {
                    let mut given = tables.get(scheme.name.as_str())?.given.iter();
                    given.find(|param| param.key == key).map(|param| param.value.place())
                };
                let place = if own { origin.port.clone() } else { common() }?;
                let expected = format!("at most {mtu}, the mtu_bytes of `{}`", link.name);
                let found = format!("{key} = {packet_bytes}");
                Some(place.fault(Problem::OutOfRange { found, expected }))
            }
        }
    }
}

impl Scenario {
    /// The first link on which a port cannot do its work.
    fn unfit(&self, network: &Network) -> Option<Unfit> {
        let ports = || self.ports(network);
        let fits = |carries: &Carries, rate: Rate| {
            (carries.least_rate..=carries.most_rate).contains(&rate)
        };
        let now = ports().find_map(|(place, wire, by)| {
            let what = if !fits(&by.carries, wire.rate) {
                Misfit::Rate(wire.rate)
            } else if wire.wire.mtu_bytes < by.carries.packet_bytes {
                Misfit::Mtu(wire.wire.mtu_bytes)
            } else {
                return None;
            };
            Some((place, what, by))
        });
        let later = || {
            self.events.iter().find_map(|event| {
                let NetEvent::Rate(id, rate) = event.event else { return None };
                let place = (id.index() / 2, id.index() % 2);
                let by = self.port(network, place.0, place.1)?.1;
                let what = Misfit::LaterRate(event.at, rate);
                (!fits(&by.carries, rate)).then_some((place, what, by))
            })
        };
        let ((link, direction), what, by) = now.or_else(later)?;
        Some(Unfit { link, direction, what, by })
    }

    /// What the port into a direction (0 forward, 1 reverse) of a link works on; None if it works
    /// on all links.
    fn port(
        &self,
        network: &Network,
        link: usize,
        direction: usize,
    ) -> Option<(&LinkDirection, Carried)> {
        let link = &self.links[link];
        let (from, wire) = [(link.a, &link.forward), (link.b, &link.reverse)][direction];
        network.carries(from, wire, self.ip_version).map(|carries| (wire, carries))
    }
    /// All of these, with index and direction of their links.
    fn ports(
        &self,
        network: &Network,
    ) -> impl Iterator<Item = ((usize, usize), &LinkDirection, Carried)> {
        let places = (0..self.links.len()).flat_map(|link| [(link, 0), (link, 1)]);
        places.filter_map(move |(link, direction)| {
            let (wire, carries) = self.port(network, link, direction)?;
            Some(((link, direction), wire, carries))
        })
    }

    /// Notes on disciplines beside which some flows have a queue of their own.
    pub(crate) fn beside_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for protocol in &self.protocols {
            let Ok(network) = self.network_of(protocol) else { continue };
            let mut places = self
                .ports(&network)
                .filter(|(_, wire, by)| by.carries.beside && !wire.discipline.is_default());
            let Some(((link, _), wire, by)) = places.next() else { continue };
            let (name, discipline) = (&self.links[link].name, wire.discipline.name());
            let (title, scheme) = (&by.scheme.title, &by.scheme.name);
            let more = match places.count() {
                0 => String::new(),
                ports => format!("; the same is true of {ports} more ports"),
            };
            notes.push(format!(
                "links.{name}: {discipline} governs only flows that do not listen to the port of \
                 {title}; those that do wait in a queue of their own, and nothing marks them \
                 ({scheme}.beside){more}"
            ));
        }
        notes.sort_unstable();
        notes.dedup();
        notes
    }

    /// Notes on protocols whose packets are all too short for what their ports do.
    pub(crate) fn short_packet_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for protocol in &self.protocols {
            let names = self.protocols_under(protocol).into_iter();
            let mut names = names.filter(|name| self.bundle(name).port.is_some()).peekable();
            if names.peek().is_none() {
                continue;
            }
            let Ok(network) = self.network_of(protocol) else { continue };
            for name in names {
                let scheme = self.bundle(name).port;
                let mine = self.ports(&network).map(|(.., by)| by);
                let mine = mine.filter(|by| Some(&by.scheme.name) == scheme.as_ref());
                let Some(by) = mine.min_by_key(|by| by.carries.packet_bytes) else {
                    continue;
                };
                let Carried { scheme, carries } = &by;
                let Carries { packet_bytes, key, why, .. } = *carries;
                let (by, scheme) = (&scheme.title, &scheme.name);
                let bytes = mtu_check::packet_bytes(self, name);
                let lacks = u64::from(packet_bytes).saturating_sub(bytes);
                if lacks > 0 {
                    notes.push(format!(
                        "{name}: full-sized packets have {bytes} bytes, and ports of {by} need \
                         {packet_bytes}: {why}; raise tcp.mss_bytes by {lacks}, or lower \
                         {scheme}.{key}"
                    ));
                }
            }
        }
        notes.sort_unstable();
        notes.dedup();
        notes
    }
}

/// Where keys stand.
pub(crate) struct Places<'a> {
    pub file: &'a File,
    pub topology: &'a Topology,
    pub tables: &'a ParamTables,
}

/// Errors if routers or ports do not go with a protocol that is compared.
pub(crate) fn check(scenario: &Scenario, places: &Places<'_>) -> Result<(), Fault> {
    for protocol in &scenario.protocols {
        let fault = |problem| Fault::at(whole(0), "protocols", problem);
        let network = scenario.network_of(protocol).map_err(fault)?;
        if let Some(unfit) = scenario.unfit(&network) {
            let placed = unfit.fault(scenario, places);
            return Err(placed.unwrap_or_else(|| fault(unfit.named(scenario))));
        }
    }
    Ok(())
}
