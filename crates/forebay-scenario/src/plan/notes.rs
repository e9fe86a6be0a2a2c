//! Notes on a scenario for readers of results.

use super::queues;
use crate::format::fields::shown;
use crate::format::units;
use crate::model::attacks::Attack;
use crate::resolve::routes::shortest_paths;
use crate::{AlgorithmSpec, Scenario};
use forebay_base::{LinkId, MAX_TTL, NodeId, Time};
use forebay_cc::Spec;
use forebay_net::{Lateness, SchemeSpec};

/// Links of the longest path that packets travel: each router between two of them takes one of the
/// TTL.
const MAX_LINKS: usize = MAX_TTL as usize;

impl Scenario {
    /// Notes for readers of its results: settings that are allowed and seldom meant.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.unused.clone();
        notes.extend(self.inrpp_notes());
        notes.extend(self.late_notes());
        notes.extend(self.lateness_note());
        notes.extend(queues::notes(self));
        notes.extend(self.short_packet_notes());
        notes.extend(self.beside_notes());
        notes.extend(self.order_notes());
        notes.extend(self.single_path_notes());
        notes.extend(self.path_buffer_notes());
        notes.extend(self.reach_note());
        notes
    }

    /// Flows whose packets pass more routers than their TTL allows.
    fn reach_note(&self) -> Option<String> {
        let far = |links: Option<Vec<LinkId>>| links.is_some_and(|links| links.len() > MAX_LINKS);
        if self.all_routers().len() < MAX_LINKS {
            return None;
        }
        let mut paths = shortest_paths(self.routes, &self.nodes, &self.links);
        let mut pairs: Vec<[NodeId; 2]> = self.flows.iter().map(|f| [f.src, f.dst]).collect();
        // Those to one attachment share the search.
        pairs.sort_by_key(|&[src, dst]| (paths.attachment(dst), dst, src));
        let count = pairs.iter().filter(|&&[src, dst]| far(paths.walk(src, dst, 0))).count();
        (count > 0).then(|| {
            format!(
                "{count} of {} flows have {MAX_LINKS} routers or more between their hosts: their \
                 packets are dropped on the way (ttl), as hosts give them a TTL of {MAX_LINKS}",
                pairs.len()
            )
        })
    }

    /// Links for which packets leave late: no key of a scenario says so.
    fn lateness_note(&self) -> Option<String> {
        let wires = || self.links.iter().flat_map(|link| [&link.forward.wire, &link.reverse.wire]);
        let late: Vec<&Lateness> = wires().filter_map(|wire| wire.late.as_ref()).collect();
        let first = *late.first()?;
        let how = match first {
            _ if late.iter().any(|other| *other != first) => "by several distributions".to_string(),
            Lateness::Constant(by) => format!("by {}", by.text()),
            Lateness::Exponential(mean) => format!("by {} on average, exponential", mean.text()),
            Lateness::Recorded(_) => "as recorded".to_string(),
        };
        let (late, all) = (late.len(), wires().count());
        let wires = if late == all { "all links".into() } else { format!("{late} of {all} links") };
        Some(format!("packets leave late for {wires}, {how} (--late; not in scenario.toml)"))
    }

    /// End points of Kick-Ass that take the order of its ports for a rate.
    fn order_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for protocol in &self.protocols {
            let Ok(network) = self.network(protocol) else { continue };
            let orders = self.links.iter().any(|link| {
                let ports = [(link.a, &link.forward), (link.b, &link.reverse)];
                ports.into_iter().any(|(from, wire)| match network.scheme(from, wire) {
                    SchemeSpec::KickAss(params) => params.explicit_tcp,
                    _ => false,
                })
            });
            for name in self.protocols_under(protocol).into_iter().filter(|_| orders) {
                let Some(AlgorithmSpec::Table(Spec::KickAss(params))) = self.spec(name) else {
                    continue;
                };
                if !params.takes_orders() {
                    notes.push(format!(
                        "{name}: ports of Kick-Ass in fallback say the lowest code \
                         (kickass.explicit_tcp), which these end points take for a rate of 120 \
                         kbit/s; give both the same preset, or set kickass.explicit_tcp = false"
                    ));
                }
            }
        }
        notes.sort_unstable();
        notes.dedup();
        notes
    }

    /// Flows and events that no run reaches, because they begin when it has ended.
    fn late_notes(&self) -> Vec<String> {
        let Some(until) = self.until else { return Vec::new() };
        let end = shown(&units::Seconds(until.since(Time::ZERO)));
        let late = self.flows.iter().filter(|flow| flow.start >= until).count();
        let all = self.flows.len();
        let mut notes = Vec::new();
        // If no flow starts, every run has a note that says so.
        if (1..all).contains(&late) {
            notes.push(format!(
                "{late} of {all} flows never start: they are due at until_s ({end} s) or later"
            ));
        }
        let starts = self.attacks.iter().filter_map(Attack::start);
        if starts.max().is_some_and(|start| start >= until) {
            notes.push(format!("attacks at until_s ({end} s) or later never happen"));
        }
        if self.events.iter().any(|event| event.at >= until) {
            notes.push(format!("events at until_s ({end} s) or later never happen"));
        }
        notes
    }
}
