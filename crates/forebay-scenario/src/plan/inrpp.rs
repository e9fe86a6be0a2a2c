//! Routers of INRPP in a run, and what a reader of results should know of them.

use crate::keys::inrpp::NAME;
use crate::resolve::routes::asymmetric;
use crate::{Flow, Link, Scenario};
use forebay_base::{IpVersion, NodeId};
use std::collections::{BTreeMap, BTreeSet};

impl Scenario {
    /// Routers that run INRPP in a run under `protocol`.
    pub fn inrpp_routers(&self, protocol: &str) -> BTreeSet<NodeId> {
        self.routers_of(NAME, protocol).into_iter().collect()
    }

    pub(crate) fn all_routers(&self) -> BTreeSet<NodeId> {
        let nodes = (0..).map(NodeId).zip(&self.nodes);
        nodes.filter(|(_, node)| !node.is_host).map(|(id, _)| id).collect()
    }

    /// Routers that run INRPP under any of the protocols compared.
    pub(crate) fn ever_inrpp(&self) -> BTreeSet<NodeId> {
        self.protocols.iter().flat_map(|protocol| self.inrpp_routers(protocol)).collect()
    }

    /// Notes for readers of results about INRPP in this scenario.
    pub(crate) fn inrpp_notes(&self) -> Vec<String> {
        let routers = self.ever_inrpp();
        let settings = &self.inrpp.settings;
        let mut notes = self.cache_notes();
        notes.extend(self.asymmetry_note());
        notes.extend(self.discipline_note(&routers));
        notes.extend(self.key_note(&routers));
        notes.extend(self.alone_note(&routers));
        if routers.is_empty() || !settings.detours {
            return notes;
        }
        if self.ip_version == IpVersion::V6 {
            notes.push(
                "inrpp: no detours over IPv6, as their tag is an option of IPv4: excess data is \
                 cached, never sent round"
                    .to_string(),
            );
            return notes;
        }
        if !self.has_detour(&routers) {
            notes.push(
                "inrpp: no link between two INRPP routers has a detour of one hop: excess data is \
                 cached, never sent round"
                    .to_string(),
            );
        }
        notes
    }

    /// Flows of INRPP under any of the protocols compared.
    fn pooled_flows(&self) -> Vec<&Flow> {
        let names = self.pooled(self.sending_protocols());
        let is_pooled = |flow: &&Flow| {
            self.protocols.iter().any(|name| names.contains(&flow.protocol_under(name)))
        };
        self.flows.iter().filter(is_pooled).collect()
    }

    /// Flows of INRPP whose data and ACKs take different links.
    fn asymmetry_note(&self) -> Option<String> {
        let flows = self.pooled_flows();
        let differ = asymmetric(self, flows.iter().copied());
        let count = flows.iter().filter(|flow| differ.contains(&[flow.src, flow.dst])).count();
        (count > 0).then(|| {
            format!(
                "inrpp: data and ACKs of {count} of {} flows take different links: their senders \
                 are notified on data, and no router upstream of a congested one holds them",
                flows.len()
            )
        })
    }

    /// Disciplines of ports that hold what waits in caches.
    fn discipline_note(&self, routers: &BTreeSet<NodeId>) -> Option<String> {
        let ports = self.links.iter().flat_map(|link| {
            [(link.a, &link.forward, &link.name), (link.b, &link.reverse, &link.name)]
        });
        let mut set = ports
            .filter(|(from, wire, _)| routers.contains(from) && !wire.discipline.is_default())
            .peekable();
        let (_, wire, name) = *set.peek()?;
        let (discipline, count) = (wire.discipline.name(), set.count());
        Some(format!(
            "inrpp: {count} ports of INRPP routers have a discipline, such as {discipline} of \
             links.{name}: it governs nothing there, as packets wait in the cache, those of TCP \
             too, and are neither marked nor dropped early"
        ))
    }

    /// End points whose protocol comes with routers, of which the scenario has none.
    fn alone_note(&self, routers: &BTreeSet<NodeId>) -> Option<String> {
        let alone = routers.is_empty() && !self.pooled_flows().is_empty();
        alone.then(|| {
            "inrpp: no router runs INRPP: nothing is cached or sent round, and its hosts send as \
             CUBIC does"
                .to_string()
        })
    }

    /// Keys that authenticate nothing.
    fn key_note(&self, routers: &BTreeSet<NodeId>) -> Option<String> {
        let between = |link: &Link| routers.contains(&link.a) && routers.contains(&link.b);
        if !self.has_link_keys() || self.links.iter().any(between) {
            return None;
        }
        let why = if routers.is_empty() {
            "no router runs"
        } else {
            "no link joins two routers that run"
        };
        Some(format!("`inrpp.key` and `inrpp_key` have no effect: {why} INRPP"))
    }

    /// True if two neighbours among `routers` have a third one as neighbour of both.
    fn has_detour(&self, routers: &BTreeSet<NodeId>) -> bool {
        let mut neighbours: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
        let between = self.links.iter().map(|link| (link.a, link.b));
        let between: Vec<(NodeId, NodeId)> =
            between.filter(|(a, b)| routers.contains(a) && routers.contains(b)).collect();
        for &(a, b) in &between {
            neighbours.entry(a).or_default().insert(b);
            neighbours.entry(b).or_default().insert(a);
        }
        between.iter().any(|(a, b)| !neighbours[a].is_disjoint(&neighbours[b]))
    }
}
