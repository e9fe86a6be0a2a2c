//! The links of a network: a [`FifoLink`] where nothing can cancel or change a departure, else a
//! [`QueuedLink`].

use crate::channel::{AnyChannel, ConstantRate, TraceChannel};
use crate::link::{AnyLink, FifoLink, Impairment, QueuedLink};
use crate::spec::{ChannelSpec, ForwardingSpec, LinkSpec, NetEvent, NetSpec, NodeKind, SchemeSpec};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{LinkId, Rng, Stream};
use forebay_queue::{AnyDiscipline, Pipeline, PortInit};

/// Links that an event of the network changes or fails.
fn changed_links(spec: &NetSpec) -> Vec<bool> {
    let mut changed = vec![false; spec.links.len()];
    for event in &spec.events {
        match event.event {
            NetEvent::Rate(l, _)
            | NetEvent::Delay(l, _)
            | NetEvent::Loss(l, _)
            | NetEvent::Down(l)
            | NetEvent::Up(l) => changed[l.index()] = true,
            NetEvent::Restart(_) | NetEvent::Route { .. } => {}
        }
    }
    changed
}

/// Nodes whose forwarding wants to know when a link has room, or may lose what is queued.
fn pulling_nodes(spec: &NetSpec) -> Vec<bool> {
    let pulls = |kind: &NodeKind| {
        matches!(kind, NodeKind::Router(ForwardingSpec::Custom(_) | ForwardingSpec::Inrpp(_)))
    };
    let mut nodes: Vec<bool> = spec.nodes.iter().map(|node| pulls(&node.kind)).collect();
    for event in &spec.events {
        if let NetEvent::Restart(node) = event.event {
            nodes[node.index()] = true;
        }
    }
    nodes
}

pub(super) fn build_links(spec: &NetSpec, seed: u64, all_queued: bool) -> Vec<AnyLink> {
    let (changed, pulling) = (changed_links(spec), pulling_nodes(spec));
    let build = |(i, link): (usize, &LinkSpec)| {
        let id = LinkId(i as u32);
        let steady = !all_queued && !changed[i] && link.loss == 0.0;
        let simple = steady && !pulling[link.from.index()] && link.jitter.is_zero();
        let discipline = link.queue.build(port_init(link, id, seed, Stream::Discipline));
        match (&link.channel, &link.scheme, discipline) {
            (ChannelSpec::Constant(rate), SchemeSpec::None, AnyDiscipline::DropTail(queue))
                if simple =>
            {
                let limit = queue.limit();
                AnyLink::Fifo(FifoLink::new(*rate, link.delay, limit, link.overhead_bytes))
            }
            (_, scheme, discipline) => {
                let scheme = scheme.build(port_init(link, id, seed, Stream::PortScheme));
                let pipeline = Pipeline::new(scheme, discipline);
                AnyLink::Queued(Box::new(queued_link(link, id, pipeline, seed, steady)))
            }
        }
    };
    spec.links.iter().enumerate().map(build).collect()
}

/// What a machine of the port of a link is built for, with random numbers for that purpose.
fn port_init(link: &LinkSpec, id: LinkId, seed: u64, stream: Stream) -> PortInit {
    PortInit {
        limit: link.queue.limit(),
        rate: link.channel.rate(),
        mtu_bytes: link.mtu_bytes,
        overhead_bytes: link.overhead_bytes,
        rng: Rng::new(seed, stream, id.0 as u64),
    }
}

fn queued_link(
    link: &LinkSpec,
    id: LinkId,
    pipeline: Pipeline,
    seed: u64,
    steady: bool,
) -> QueuedLink {
    let channel = match &link.channel {
        ChannelSpec::Constant(rate) => AnyChannel::Constant(ConstantRate::new(*rate)),
        ChannelSpec::Trace(trace) => AnyChannel::Trace(TraceChannel::new(trace.clone())),
    };
    let mut impairment =
        Impairment::new(link.loss, link.jitter, Rng::new(seed, Stream::Link, id.0 as u64));
    impairment.reorder = link.reorder;
    QueuedLink::new(pipeline, channel, link.delay, link.overhead_bytes, impairment, steady)
}
