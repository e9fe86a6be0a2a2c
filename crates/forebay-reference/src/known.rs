//! References that have been worked out: runs with the same flows share one.

use super::mode_of;
use super::outcome::{Reference, Wanted};
use super::packet_cost::PacketCost;
use forebay_net::{FlowSpec, NodeKind};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The ends of a flow, its start in nanoseconds, its bytes, its transport and how many paths
/// it has.
type FlowKey = ([u32; 2], u64, Option<u64>, usize, usize);

/// What distinguishes the references of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Per transport its reference mode, and its packets, as the bits of their sizes.
    transports: Vec<(&'static str, [u64; 7])>,
    /// Routers that have detours.
    detours: Vec<usize>,
    /// Per flow.
    flows: Vec<FlowKey>,
    /// The lives that flows have, with the seed that what they draw follows from.
    lives: Vec<(usize, u64, String)>,
}

impl Key {
    fn of(wanted: &Wanted<'_>) -> Key {
        let spec = wanted.spec;
        let transport = |t: &forebay_net::TransportSpec| {
            let cost = PacketCost::of(t, spec.version);
            let sizes = [
                cost.payload_bytes,
                cost.data_bytes,
                cost.ack_bytes,
                cost.acks_per_packet,
                cost.syn_bytes,
                cost.syn_ack_bytes,
                cost.detour_bytes,
            ];
            (mode_of(wanted.registry, &t.algorithm).name(), sizes.map(f64::to_bits))
        };
        let flow = |f: &FlowSpec| {
            ([f.src.0, f.dst.0], f.start.as_nanos(), f.bytes, f.transport, f.paths.len())
        };
        let detours = spec.nodes.iter().enumerate().filter_map(|(number, node)| match &node.kind {
            NodeKind::Router(forwarding) => forwarding.detours().then_some(number),
            NodeKind::Host => None,
        });
        let lives = spec.flows.iter().enumerate().filter_map(|(number, flow)| {
            Some((number, wanted.seed, format!("{:?}", flow.life.as_ref()?)))
        });
        Key {
            lives: lives.collect(),
            detours: detours.collect(),
            transports: spec.transports.iter().map(transport).collect(),
            flows: spec.flows.iter().map(flow).collect(),
        }
    }
}

type Slot = Arc<Mutex<Option<Reference>>>;

/// References of the runs of one scenario, which have all but transports, routers and flows in
/// common. One entry per seed where flows start late by a random time, about 60 bytes per flow;
/// else one in all for protocols that are alike.
#[derive(Debug, Default)]
pub struct ReferenceCache(Mutex<BTreeMap<Key, Slot>>);

impl ReferenceCache {
    /// The reference of a run: by `work` if no run had the same. Parallel runs that want the
    /// same wait for one of them. None if `work` gives none.
    pub fn or_else<E>(
        &self,
        wanted: &Wanted<'_>,
        work: impl FnOnce() -> Result<Option<Reference>, E>,
    ) -> Result<Option<Reference>, E> {
        let slot = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(Key::of(wanted)).or_default())
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot = work()?;
        }
        Ok(slot.clone())
    }
}
