//! The links of a network: a [`FifoLink`] where nothing can cancel or change a departure, else a
//! [`QueuedLink`].

use crate::channel::{AnyChannel, ConstantRate, TokenBucket, TraceChannel};
use crate::early_transit::{EarlyTransitPlan, LinkChange};
use crate::link::{AnyLink, FifoLink, QueuedLink};
use crate::spec::{ChannelSpec, LinkSpec, NetSpec};
use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{LinkId, Rng, Stream};
use forebay_queue::{AnyDiscipline, Pipeline, PortInit};

pub(super) fn build_links(
    spec: &NetSpec,
    seed: u64,
    changes: &[LinkChange],
    all_queued: bool,
    plan: &mut EarlyTransitPlan,
) -> Vec<AnyLink> {
    let build = |(i, link): (usize, &LinkSpec)| {
        let id = LinkId(i as u32);
        let discipline = link.queue.build(port_init(link, id, seed, Stream::Discipline));
        if plan.departures(id).is_ok() {
            if let AnyDiscipline::DropTail(queue) = &discipline {
                let (rate, limit) = (link.channel.rate(), queue.limit());
                let (delay, overhead_bytes) = (link.wire.delay, link.wire.overhead_bytes);
                let fifo = FifoLink::new(rate, delay, limit, overhead_bytes);
                if !link.wire.loses() && link.wire.jitter.is_zero() {
                    return AnyLink::Fifo(fifo);
                }
                let [rng, late_rng] = draws(id, seed);
                return AnyLink::Fifo(fifo.with_impairment(link.wire.impairment(rng, late_rng)));
            }
            plan.is_not_drop_tail(id);
        }
        let scheme = link.scheme.build(port_init(link, id, seed, Stream::PortScheme));
        let pipeline = Pipeline::new(scheme, discipline);
        let wire = &link.wire;
        let settled = match changes[i] {
            LinkChange::Nothing => true,
            LinkChange::Carrier => wire.is_even(),
            LinkChange::Event => false,
        };
        let steady = !all_queued && settled && !wire.loses() && wire.middlebox.is_none();
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
    // As mahimahi counts.
    let limit = match link.channel {
        ChannelSpec::Trace { .. } => link.queue.limit().framed(link.wire.overhead_bytes),
        ChannelSpec::Constant(_) | ChannelSpec::Bucket(_) => link.queue.limit(),
    };
    PortInit {
        limit,
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
    QueuedLink::over(&link.wire, pipeline, channel, draws(id, seed), steady)
}

/// Random numbers for losses and delays of a link, and for how late packets leave.
fn draws(id: LinkId, seed: u64) -> [Rng; 2] {
    [Stream::Link, Stream::Lateness].map(|of| Rng::new(seed, of, id.0 as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::DeliveryTrace;
    use alloc::sync::Arc;
    use forebay_base::{NodeId, Rate, Span};
    use forebay_queue::Limit;

    /// Ten packets of 1500 bytes with mahimahi's 4 bytes each are 15 040 bytes.
    #[test]
    fn the_queue_of_a_trace_counts_the_overhead_of_its_link() {
        let trace = DeliveryTrace::new([Span::from_millis(1)], 1504).expect("a trace");
        let trace = ChannelSpec::Trace { trace: Arc::new(trace), offset: Span::ZERO };
        for (channel, limit, most) in [
            (trace.clone(), Limit::Bytes(15_040), 10),
            (trace.clone(), Limit::Bytes(15_039), 9),
            (trace, Limit::Packets(9), 9),
            (ChannelSpec::Constant(Rate::mbps(1)), Limit::Bytes(15_000), 10),
        ] {
            let mut link = LinkSpec::new(NodeId(0), NodeId(1), Rate::mbps(1), Span::ZERO, limit)
                .with_wire(|wire| wire.overhead_bytes = 4);
            link.channel = channel;
            let limit = port_init(&link, LinkId(0), 1, Stream::Discipline).limit;
            assert_eq!(limit.packets_of(1500), most, "{limit}");
        }
    }
}
