//! What routers and ports are in a run: what the scenario says of them, else what the protocols of
//! the run need.

use crate::error::Fault;
use crate::fields::At;
use crate::item::whole;
use crate::protocol::Bundle;
use crate::registry::{
    Carries, Chosen, Kind, Line, RouterTraits, Routers, SchemeTraits, Schemes, line,
};
use crate::text::shown;
use crate::topology::{Origin, Topology};
use crate::{Link, LinkDirection, Problem, Scenario};
use forebay_base::{IpVersion, NodeId};
use forebay_net::{ForwardingSpec, SchemeSpec};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

/// Routers and ports of a run.
pub(super) struct Network {
    /// Nodes that are hosts are not there.
    routers: BTreeMap<NodeId, (&'static Line<Routers>, ForwardingSpec)>,
    /// Schemes that the scenario gives its links, by the address of what it says.
    schemes: BTreeMap<usize, SchemeSpec>,
    /// The scheme of the other ports of routers.
    needed: (SchemeTraits, SchemeSpec),
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
    /// What the port of `from` into a direction of a link does beside queueing: nothing, if that is
    /// a host.
    pub fn scheme(&self, from: NodeId, wire: &LinkDirection) -> SchemeSpec {
        match &wire.port {
            _ if !self.routers.contains_key(&from) => SchemeSpec::None,
            Some(port) => self.schemes[&address(port)].clone(),
            None => self.needed.1.clone(),
        }
    }
    /// On which links the scheme of that port can do its work; None: on all.
    fn carries(&self, from: NodeId, wire: &LinkDirection, version: IpVersion) -> Option<Carries> {
        let traits = wire.port.as_ref().map_or(self.needed.0, |port| port.line.traits);
        // A host has no scheme.
        let of_router = traits.carries.filter(|_| self.routers.contains_key(&from));
        of_router.map(|carries| carries(&self.scheme(from, wire), version))
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

/// The routers of one kind.
type OfKind = (RouterTraits, Vec<(NodeId, ForwardingSpec)>);

/// What a protocol needs.
type Need = (&'static str, Bundle);

impl Scenario {
    /// Routers and ports under one protocol, and under those that flows name.
    pub(super) fn network(&self, protocol: &'static str) -> Result<Network, Problem> {
        let network = self.network_of(protocol)?;
        match self.unfit(&network) {
            Some(unfit) => Err(unfit.named(self)),
            None => Ok(network),
        }
    }
    /// The same, whether its ports can do their work or not.
    fn network_of(&self, protocol: &'static str) -> Result<Network, Problem> {
        let names = self.protocols_under(protocol);
        let needs: Vec<Need> = names.into_iter().map(|name| (name, self.bundle(name))).collect();
        let routers = self.routers(&needs)?;
        let wires = || self.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let mut schemes = BTreeMap::new();
        for port in wires().filter_map(|wire| wire.port.as_ref()) {
            if let Entry::Vacant(place) = schemes.entry(address(port)) {
                place.insert(self.machine(port)?);
            }
        }
        let needed = match wires().all(|wire| wire.port.is_some()) {
            true => (SchemeTraits::NONE, SchemeSpec::None),
            false => match self.needed::<Schemes>(&needs, |bundle| bundle.port)? {
                Some(port) => (port.line.traits, self.machine(&port)?),
                None => (SchemeTraits::NONE, SchemeSpec::None),
            },
        };
        let mtu_room_bytes = needs.iter().map(|(_, bundle)| bundle.mtu_room_bytes).max();
        Ok(Network { routers, schemes, needed, mtu_room_bytes: mtu_room_bytes.unwrap_or(0) })
    }

    /// The routers, each able to work where it is. The first need is that of the protocol of the
    /// run.
    fn routers(
        &self,
        needs: &[Need],
    ) -> Result<BTreeMap<NodeId, (&'static Line<Routers>, ForwardingSpec)>, Problem> {
        let open = |node: &&crate::Node| !node.is_host && node.router.is_none();
        let common = match (&self.router, self.nodes.iter().find(open)) {
            (Some(router), _) => Some(Chosen::clone(router)),
            (None, None) => None,
            (None, Some(_)) => self.needed::<Routers>(needs, |bundle| bundle.router)?,
        };
        let plain = crate::registry::lines::<Routers>()[0];
        let common = match common {
            Some(router) => (router.line, self.machine(&router)?),
            None => (plain, ForwardingSpec::PlainIp),
        };
        let mut routers = BTreeMap::new();
        for (id, node) in (0..).map(NodeId).zip(&self.nodes).filter(|(_, node)| !node.is_host) {
            let router = match &node.router {
                Some(router) => (router.line, self.machine(router)?),
                None => common.clone(),
            };
            routers.insert(id, router);
        }
        let mut checks: BTreeMap<&str, OfKind> = BTreeMap::new();
        for (&id, (line, spec)) in routers.iter().filter(|(_, (line, _))| line.name != plain.name) {
            let of_kind = checks.entry(line.name).or_insert((line.traits, Vec::new()));
            of_kind.1.push((id, spec.clone()));
        }
        for (traits, of_kind) in checks.values_mut() {
            if let Some(fit) = traits.fit {
                fit(self, needs[0].0, of_kind);
            }
            traits.check.map_or(Ok(()), |check| check(self, of_kind))?;
            for (id, spec) in of_kind {
                let router = routers.get_mut(id).expect("it is one of them");
                router.1 = spec.clone();
            }
        }
        Ok(routers)
    }

    fn machine<K: Kind>(&self, chosen: &Chosen<K>) -> Result<K::Machine, Problem> {
        chosen.machine(self).map_err(|why| Problem::Conflict(format!("{}: {why}", chosen.name())))
    }

    /// The one thing of a kind that all protocols which need one agree on.
    fn needed<K: Kind>(
        &self,
        needs: &[Need],
        of: impl Fn(&Bundle) -> Option<&'static str>,
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
        let Some(line) = line::<K>(name) else {
            let word = K::WORD;
            let text = format!("`{by}` needs the {word} `{name}`, but there is no such {word}");
            return Err(Problem::Conflict(text));
        };
        Ok(Some(Chosen::of(line, line.defaults(), toml::Table::new())))
    }

    /// Routers of a kind in a run under `protocol`. Where protocols do not agree on one, those that
    /// any of them needs.
    pub(crate) fn routers_of(&self, kind: &str, protocol: &'static str) -> Vec<NodeId> {
        let needs = |name: &'static str| self.bundle(name).router == Some(kind);
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

/// A link on which a port cannot do its work.
struct Unfit {
    link: usize,
    /// 0: forward; 1: reverse.
    direction: usize,
    /// What is wrong with it.
    key: &'static str,
    problem: Problem,
}

impl Unfit {
    /// The problem with the name of the link.
    fn named(&self, scenario: &Scenario) -> Problem {
        let name = &scenario.links[self.link].name;
        Problem::Conflict(format!("the {} of `{name}`: {}", self.key, self.problem))
    }
    /// Where that stands, if it does.
    fn place(&self, origins: &[[Rc<Origin>; 2]]) -> Option<At<()>> {
        let origin = &origins[self.link][self.direction];
        if self.key == RATE { origin.rate.clone() } else { origin.mtu.clone() }
    }
}

const RATE: &str = "rate";
const MTU: &str = "mtu_bytes";

impl Scenario {
    /// The first link on which a port cannot do its work.
    fn unfit(&self, network: &Network) -> Option<Unfit> {
        for (link, both) in self.links.iter().enumerate() {
            let ends = [(both.a, &both.forward), (both.b, &both.reverse)];
            for (direction, (from, wire)) in ends.into_iter().enumerate() {
                let carries = network.carries(from, wire, self.ip_version);
                if let Some((key, problem)) = carries.and_then(|carries| misfit(wire, &carries)) {
                    return Some(Unfit { link, direction, key, problem });
                }
            }
        }
        None
    }
}

/// What of a link a port cannot work with.
fn misfit(wire: &LinkDirection, carries: &Carries) -> Option<(&'static str, Problem)> {
    let Carries { by, rates: (low, high), mtu_bytes, why } = *carries;
    if wire.rate < low || wire.rate > high {
        let expected = format!("{} to {} for ports of {by}", shown(&low), shown(&high));
        return Some((RATE, Problem::OutOfRange { found: shown(&wire.rate), expected }));
    }
    if wire.mtu_bytes < mtu_bytes {
        let expected = format!("at least {mtu_bytes} bytes for ports of {by}: {why}");
        return Some((MTU, Problem::OutOfRange { found: wire.mtu_bytes.to_string(), expected }));
    }
    None
}

/// Errors if routers or ports do not go with a protocol that is compared.
pub(super) fn check(scenario: &Scenario, topology: &Topology) -> Result<(), Fault> {
    for protocol in &scenario.protocols {
        let fault = |problem| Fault::at(whole(0), "protocols", problem);
        let network = scenario.network_of(protocol).map_err(fault)?;
        if let Some(unfit) = scenario.unfit(&network) {
            let place = unfit.place(&topology.origins);
            return Err(match place {
                Some(place) => place.fault(unfit.problem),
                None => fault(unfit.named(scenario)),
            });
        }
    }
    Ok(())
}
