//! Where the packets of a link come from: found by walking the ways of all flows.

use crate::link::AnyLink;
use crate::spec::{ForwardingSpec, NetEvent, NetSpec, NodeKind};
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::LinkId;

/// What is known of the link that packets come from onto another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Upstream {
    /// No flow uses the link, or it is the first of all its flows.
    None,
    /// All come from this one.
    Only(LinkId),
    /// They come from several.
    Many,
}

/// By link: where its packets come from.
pub(crate) struct Upstreams {
    of: Vec<Upstream>,
}

impl Upstreams {
    /// Of a network with so many links, before any way was walked.
    pub fn new(links: usize) -> Upstreams {
        Upstreams { of: vec![Upstream::None; links] }
    }
    /// Packets go from one link to another.
    pub fn note(&mut self, from: LinkId, to: LinkId) {
        let upstream = &mut self.of[to.index()];
        *upstream = match *upstream {
            Upstream::None => Upstream::Only(from),
            Upstream::Only(only) if only == from => Upstream::Only(from),
            Upstream::Only(_) | Upstream::Many => Upstream::Many,
        };
    }
    /// By link: the only one that its packets come from, where it is sure that this does not change: routers forward by static
    /// routes, each flow has one path, and the link is one whose departures are known when packets are queued.
    pub fn only(&self, spec: &NetSpec, links: &[AnyLink]) -> Vec<Option<LinkId>> {
        let plain = |kind: &NodeKind| {
            matches!(kind, NodeKind::Host | NodeKind::Router(ForwardingSpec::PlainIp))
        };
        let fixed = spec.nodes.iter().all(|node| plain(&node.kind))
            && spec.flows.iter().all(|flow| flow.paths.len() <= 1)
            && !spec.events.iter().any(|e| matches!(e.event, NetEvent::Route { .. }));
        let of = |(upstream, link): (&Upstream, &AnyLink)| match *upstream {
            Upstream::Only(from) if fixed && link.is_fifo() => Some(from),
            _ => None,
        };
        self.of.iter().zip(links).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_none_one_or_many() {
        let [a, b, c] = [0, 1, 2].map(LinkId);
        let mut upstreams = Upstreams::new(3);
        upstreams.note(a, c);
        upstreams.note(a, c);
        assert_eq!(upstreams.of, [Upstream::None, Upstream::None, Upstream::Only(a)]);
        upstreams.note(b, c);
        upstreams.note(a, c);
        assert_eq!(upstreams.of, [Upstream::None, Upstream::None, Upstream::Many]);
    }
}
