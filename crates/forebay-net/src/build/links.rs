//! The links of a network: a [`FifoLink`] where nothing can cancel or change a departure, else a
//! [`QueuedLink`].

use crate::channel::{AnyChannel, ConstantRate, TokenBucket, TraceChannel};
use crate::early_transit::{EarlyTransitPlan, changed_links};
use crate::link::{AnyLink, FifoLink, QueuedLink};
use crate::spec::{ChannelSpec, LinkSpec, NetSpec};
use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{LinkId, Rng, Stream};
use forebay_queue::{AnyDiscipline, Pipeline, PortInit};

pub(super) fn build_links(
    spec: &NetSpec,
    seed: u64,
    all_queued: bool,
    plan: &mut EarlyTransitPlan,
) -> Vec<AnyLink> {
    let changed = changed_links(spec);
    let build = |(i, link): (usize, &LinkSpec)| {
        let id = LinkId(i as u32);
        let discipline = link.queue.build(port_init(link, id, seed, Stream::Discipline));
        if plan.departures(id).is_ok() {
            if let AnyDiscipline::DropTail(queue) = &discipline {
                let (rate, limit) = (link.channel.rate(), queue.limit());
                return AnyLink::Fifo(FifoLink::new(
                    rate,
                    link.wire.delay,
                    limit,
                    link.wire.overhead_bytes,
                ));
            }
            plan.is_not_drop_tail(id);
        }
        let scheme = link.scheme.build(port_init(link, id, seed, Stream::PortScheme));
        let pipeline = Pipeline::new(scheme, discipline);
        let steady =
            !all_queued && !changed[i] && !link.wire.loses() && link.wire.middlebox.is_none();
        let queued = queued_link(link, id, pipeline, seed, steady);
        if queued.is_direct() {
            plan.is_direct(id);
        }
        AnyLink::Queued(Box::new(queued))
    };
    spec.links.iter().enumerate().map(build).collect()
}

/// Inputs to build a machine of the port of a link, with random numbers for that purpose.
fn port_init(link: &LinkSpec, id: LinkId, seed: u64, stream: Stream) -> PortInit {
    PortInit {
        limit: link.queue.limit(),
        rate: link.channel.rate(),
        mtu_bytes: link.wire.mtu_bytes,
        overhead_bytes: link.wire.overhead_bytes,
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
        ChannelSpec::Trace { trace, offset } => {
            AnyChannel::Trace(TraceChannel::new(trace.clone(), *offset))
        }
        ChannelSpec::Bucket(bucket) => AnyChannel::Bucket(TokenBucket::new(*bucket)),
    };
    let rng = Rng::new(seed, Stream::Link, id.0 as u64);
    QueuedLink::over(&link.wire, pipeline, channel, rng, steady)
}
