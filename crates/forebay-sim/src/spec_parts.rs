//! Which events of a spec happen where.

use forebay_base::{LinkId, NodeId};
use forebay_net::{EventSpec, NetEvent, NetSpec, Replay, SpoofedPacket};
use std::collections::VecDeque;

/// The events of a network that happen at nodes and links here, in order of time.
pub(crate) fn events_of(
    spec: &NetSpec,
    is_near: impl Fn(LinkId) -> bool,
    is_here: impl Fn(NodeId) -> bool,
) -> VecDeque<EventSpec> {
    let mut events = spec.events.clone();
    events.retain(|event| match event.event {
        NetEvent::Rate(link, _)
        | NetEvent::Delay(link, _)
        | NetEvent::Loss(link, _)
        | NetEvent::Down(link)
        | NetEvent::Up(link)
        | NetEvent::Replay(Replay { link, .. }) => is_near(link),
        NetEvent::Restart(node)
        | NetEvent::Route { node, .. }
        | NetEvent::Forge(SpoofedPacket { node, .. }) => is_here(node),
    });
    events.sort_by_key(|event| event.at);
    events.into()
}

/// The same for each of `parts` partitions; `owner` says in which a node is. A link is where it
/// begins.
pub(crate) fn events_of_parts(
    spec: &NetSpec,
    owner: &[u16],
    parts: u16,
) -> Vec<VecDeque<EventSpec>> {
    let of_part = |part: u16| {
        let is_here = |node: NodeId| owner[node.index()] == part;
        events_of(spec, |link| is_here(spec.links[link.index()].from), is_here)
    };
    (0..parts).map(of_part).collect()
}
