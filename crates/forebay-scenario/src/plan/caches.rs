//! The caches of INRPP routers: as a scenario gives them, or as the margin rule sizes them.

use super::margin::{Margin, Waiting, margins};
use super::mtu_check;
use crate::format::fault::{Fault, Problem};
use crate::format::fields::{Spanned, shown};
use crate::format::item::whole;
use crate::keys::inrpp::{CACHE, CacheTable, GivenCache, InrppKeys, NAME};
use crate::{AlgorithmSpec, Flow, Scenario};
use forebay_base::{IpVersion, LinkId, NodeId, PortId, Rate, Span};
use forebay_net::ForwardingSpec;
use forebay_router::inrpp::{CacheLimits, CacheSize, Crowd, PortCache, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most caches that notes name.
const MAX_NOTES: usize = 3;
/// Of the fallback, in packets: S_low, S_high and S_total at least.
const MIN_PACKETS: [u64; 3] = [2, 4, 5];

/// Where a link begins.
struct Interface {
    id: LinkId,
    from: NodeId,
    port: PortId,
    rate: Rate,
}

/// A router of INRPP.
type Router = (NodeId, Arc<Settings>);

fn of_inrpp(id: NodeId, spec: &ForwardingSpec) -> Option<Router> {
    match spec {
        ForwardingSpec::Inrpp(settings) => Some((id, Arc::clone(settings))),
        _ => None,
    }
}

/// Give the routers whose caches have the sizes of the margin rule those.
///
/// S_low is half of S_high, and S_high what keeps link and detours busy (see `margin.rs`). Where no
/// flow of INRPP comes by at the start there is nothing to go by, and the sizes are the paper's.
///
/// Returns for how long the deepest of them holds a packet before it asks, if the rule sizes all.
pub(crate) fn fit(
    scenario: &Scenario,
    protocol: &str,
    routers: &mut [(NodeId, &mut ForwardingSpec)],
) -> Option<Span> {
    let of_kind: Vec<Router> =
        routers.iter().filter_map(|(id, spec)| of_inrpp(*id, spec)).collect();
    if !of_kind.iter().any(|(id, _)| scenario.has_margin_rule(*id)) {
        return None;
    }
    let margins = scenario.margins(protocol, &of_kind);
    let packet_bytes = scenario.full_packet_bytes();
    let mut sizes: BTreeMap<NodeId, Vec<PortCache>> = BTreeMap::new();
    let paper = Settings::default().cache;
    for Interface { id, from, port, rate } in scenario.interfaces() {
        let cache = match margins.get(&id) {
            Some(margin) => {
                let high_bytes = margin.high_bytes();
                let total_bytes = high_bytes.saturating_add(margin.bytes());
                let limits = CacheLimits { low_bytes: high_bytes / 2, high_bytes, total_bytes };
                let crowd = Crowd { flows: margin.flows, flow_bytes: margin.flow_bytes() };
                PortCache { limits, crowd }
            }
            None => {
                let [low, high, total] = MIN_PACKETS.map(|packets| packets * packet_bytes);
                let paper = paper.at(port, rate);
                let limits = if paper.total_bytes < total {
                    CacheLimits { low_bytes: low, high_bytes: high, total_bytes: total }
                } else {
                    paper
                };
                PortCache { limits, crowd: Crowd::default() }
            }
        };
        sizes.entry(from).or_default().push(cache);
    }
    for (id, spec) in routers.iter_mut().filter(|(id, _)| scenario.has_margin_rule(*id)) {
        if let ForwardingSpec::Inrpp(settings) = spec {
            let ports = sizes.remove(id).unwrap_or_default();
            Arc::make_mut(settings).cache = CacheSize::Ports(ports.into());
        }
    }
    let all = of_kind.iter().all(|(id, _)| scenario.has_margin_rule(*id));
    margins.values().map(Margin::depth).max().filter(|_| all)
}

impl AlgorithmSpec {
    /// The same, which knows how deep caches are ([`fit`]), if it is INRPP.
    #[must_use]
    pub(crate) fn with_cache_depth(mut self, cache_depth: Option<Span>) -> AlgorithmSpec {
        if let Some(params) = self.inrpp_mut() {
            params.cache_depth = cache_depth;
        }
        self
    }
}

impl Scenario {
    /// Errors if the cache of an interface of `routers` cannot hold a packet, or its thresholds are
    /// one.
    fn check_caches(&self, routers: &BTreeMap<NodeId, CacheSize>) -> Result<(), Problem> {
        let packet_bytes = self.full_packet_bytes();
        for Interface { id, from, port, rate } in self.interfaces() {
            let Some(cache) = routers.get(&from) else { continue };
            let CacheLimits { low_bytes, high_bytes, total_bytes } = cache.at(port, rate);
            if total_bytes >= packet_bytes && low_bytes < high_bytes && high_bytes < total_bytes {
                continue;
            }
            let name = self.name_of(id);
            return Err(Problem::OutOfRange {
                found: format!("{total_bytes} bytes"),
                expected: format!(
                    "a full-sized packet ({packet_bytes} bytes) or more, and low < high < total, \
                     in the cache of {name} ({})",
                    shown(&rate)
                ),
            });
        }
        Ok(())
    }

    /// The longest packet of a protocol that is compared or named, in bytes.
    fn full_packet_bytes(&self) -> u64 {
        let names = self.named_protocols().into_iter();
        let packet_bytes = names.map(|name| mtu_check::packet_bytes(self, name)).max();
        packet_bytes.expect("at least one protocol is compared")
    }

    /// Where links begin, in order.
    fn interfaces(&self) -> Vec<Interface> {
        let mut ports = vec![0u16; self.nodes.len()];
        let wires = self.links.iter().zip(0u32..).flat_map(|(link, k)| {
            [(link.a, link.forward.rate, 2 * k), (link.b, link.reverse.rate, 2 * k + 1)]
        });
        let interface = |(from, rate, id): (NodeId, Rate, u32)| {
            let port = &mut ports[from.index()];
            let of = Interface { id: LinkId(id), from, port: PortId(*port), rate };
            *port += 1;
            of
        };
        wires.map(interface).collect()
    }

    /// Router and interface, for messages.
    fn name_of(&self, id: LinkId) -> String {
        let link = &self.links[id.index() / 2];
        let from = if id.index().is_multiple_of(2) { link.a } else { link.b };
        format!("`{}` at `{}`", self.nodes[from.index()].name, link.name)
    }

    /// True if the caches of a router have the sizes of the margin rule.
    fn has_margin_rule(&self, node: NodeId) -> bool {
        let chosen = self.nodes[node.index()].router.as_ref().or(self.router.as_ref());
        match chosen.and_then(|chosen| chosen.params.get(CACHE)) {
            Some(cache) => cache.as_str() == Some("margin"),
            None => self.inrpp.margin_rule,
        }
    }

    /// Those of `names` whose flows are of INRPP.
    pub(crate) fn pooled<'a>(&self, mut names: Vec<&'a str>) -> Vec<&'a str> {
        names.retain(|name| self.bundle(name).router.as_deref() == Some(NAME));
        names
    }

    /// True if the parameters of a protocol ask for notices on data.
    fn is_notified(&self, name: &str) -> bool {
        let params = self.spec(name).map(|spec| spec.params());
        let asked = |params: toml::Table| params.get("notify_on_data")?.as_bool();
        params.and_then(asked).unwrap_or(false)
    }

    /// What the margin rule says of each interface that flows of INRPP take in a run under
    /// `protocol`.
    fn margins(&self, protocol: &str, routers: &[Router]) -> BTreeMap<LinkId, Margin> {
        let names = self.protocols_under(protocol);
        let notified: Vec<&str> =
            names.iter().copied().filter(|name| self.is_notified(name)).collect();
        let pooled = self.pooled(names);
        let held = |flow: &Flow| pooled.contains(&flow.protocol_under(protocol));
        // Payload and length are those of the protocol that sends the longest packets.
        let packet = |name| {
            let mss_bytes = u64::from(self.tcp_for(name).mss_bytes);
            (mtu_check::packet_bytes(self, name), mss_bytes)
        };
        let Some((packet_bytes, mss_bytes)) = pooled.iter().copied().map(packet).max() else {
            return BTreeMap::new();
        };
        // The tag of a detour is an option of IPv4.
        let tagged = self.ip_version == IpVersion::V4;
        let detours = routers.iter().filter(|(_, settings)| settings.detours && tagged);
        let waiting = Waiting {
            routers: &routers.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>(),
            held: &held,
            notified: &|flow| notified.contains(&flow.protocol_under(protocol)),
            packet: (mss_bytes, packet_bytes),
            detours: detours.map(|(_, settings)| settings.probe_interval).max(),
        };
        margins(self, &waiting)
    }

    /// Stated sizes that are less than what the flows may need.
    pub(crate) fn cache_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for protocol in &self.protocols {
            let Ok(network) = self.network(protocol) else { continue };
            let routers: Vec<Router> =
                network.routers().filter_map(|(id, spec)| of_inrpp(id, spec)).collect();
            let stated: BTreeMap<NodeId, CacheSize> = routers
                .iter()
                .filter(|(id, _)| !self.has_margin_rule(*id))
                .map(|(id, settings)| (*id, settings.cache.clone()))
                .collect();
            if stated.is_empty() {
                continue;
            }
            let margins = self.margins(protocol, &routers);
            for note in self.notes_of(&stated, &margins) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes
    }

    /// One note for each of the interfaces that lack most, and one for the others.
    fn notes_of(
        &self,
        stated: &BTreeMap<NodeId, CacheSize>,
        margins: &BTreeMap<LinkId, Margin>,
    ) -> Vec<String> {
        let mut short = Vec::new();
        for Interface { id, from, port, rate } in self.interfaces() {
            let (Some(cache), Some(margin)) = (stated.get(&from), margins.get(&id)) else {
                continue;
            };
            let limits = cache.at(port, rate);
            let lack = margin.bytes().saturating_sub(limits.total_bytes - limits.high_bytes);
            let packets_bytes = margin.flows * margin.packet_bytes;
            if lack > 0 || limits.total_bytes < packets_bytes {
                short.push((lack, id, self.note(id, limits, margin)));
            }
        }
        short.sort_by_key(|(lack, id, _)| (std::cmp::Reverse(*lack), *id));
        let more = short.len().saturating_sub(MAX_NOTES);
        let mut notes: Vec<String> = short.into_iter().take(MAX_NOTES).map(|s| s.2).collect();
        if more > 0 {
            notes.push(format!("inrpp: the same is true of {more} more caches, which lack less"));
        }
        notes
    }

    fn note(&self, id: LinkId, limits: CacheLimits, margin: &Margin) -> String {
        let CacheLimits { high_bytes, total_bytes, .. } = limits;
        let Margin { flows, packet_bytes, .. } = *margin;
        let name = self.name_of(id);
        let packets_bytes = flows * packet_bytes;
        if total_bytes < packets_bytes {
            return format!(
                "inrpp: the cache of {name} holds {total_bytes} bytes, less than one packet of \
                 {packet_bytes} bytes of each of its {flows} flows ({packets_bytes} bytes): some \
                 lose all they send for a while"
            );
        }
        let (room_bytes, bytes) = (total_bytes - high_bytes, margin.bytes());
        let ms = |span: Span| span.as_nanos() as f64 / 1e6;
        format!(
            "inrpp: the cache of {name} has {room_bytes} bytes between high ({high_bytes}) and \
             total ({total_bytes}), and may need {bytes}: ({:.1} Mbit/s in - {:.1} Mbit/s out) x \
             ({:.1} ms round trip upstream + {:.1} ms longest round trip of a flow + {:.1} ms \
             packets on it + {:.1} ms between its ACKs) + {flows} packets of {packet_bytes} \
             bytes, and no more than the flows have: it may drop packets \
             (inrpp.cache = \"margin\" takes these terms)",
            margin.in_bps as f64 / 1e6,
            margin.out_bps as f64 / 1e6,
            ms(margin.round_trip),
            ms(margin.path),
            ms(margin.passing),
            ms(margin.ack_spacing),
        )
    }
}

/// Errors if the cache of an interface cannot hold a packet.
pub(crate) fn check_routers<'a>(
    scenario: &Scenario,
    routers: impl Iterator<Item = (NodeId, &'a ForwardingSpec)>,
) -> Result<(), Problem> {
    let caches = routers
        .filter_map(|(id, spec)| of_inrpp(id, spec))
        .map(|(id, settings)| (id, settings.cache.clone()));
    scenario.check_caches(&caches.collect())
}

/// Refuse caches that hold no packet, where the scenario gives them or a protocol that it compares
/// needs them.
pub(crate) fn check(scenario: &Scenario, given: Option<&InrppKeys>) -> Result<(), Fault> {
    if scenario.inrpp.margin_rule {
        return Ok(()); // its sizes have room for a packet
    }
    let cache = given.and_then(|table| table.cache.as_ref());
    let listed = given.is_some_and(|table| table.routers.is_some());
    let routers = match (cache, listed) {
        (Some(_), false) => scenario.all_routers(),
        _ => scenario.ever_inrpp(),
    };
    let size = &scenario.inrpp.settings.cache;
    let routers = routers.into_iter().map(|router| (router, size.clone())).collect();
    scenario.check_caches(&routers).map_err(|problem| match cache {
        Some(Spanned {
            value: GivenCache::Sizes(CacheTable { total: Some(total), .. }), ..
        }) => total.fault(problem),
        Some(at) => at.fault(problem),
        None => Fault::at(whole(0), "inrpp.cache", problem),
    })
}
