//! The cache of one interface: a queue per flow, served by deficit round robin among those that may send.
//!
//! Deficit round robin: Shreedhar and Varghese, SIGCOMM 1995, doi:10.1145/217382.217453. A flow that may not send, for its first
//! packet is held and has no credit, is *parked* outside the ring. It is parked when its turn comes, not when it is held, so
//! that holding a nonce costs nothing per flow. Between calls the flow at the head of the ring may send, or the ring is empty.

use super::hints::Hints;
use super::key::{Class, FlowKey};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use forebay_signal::inrpp::Nonce;

/// A packet in a cache; `T` is what the owner of the cache stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cached<T> {
    /// What its sender echoed.
    pub echo: Option<Nonce>,
    /// Length on the wire in bytes.
    pub wire_len: u16,
    /// Payload in bytes.
    pub payload_len: u16,
    /// True if its header has room for the tag of a detour.
    pub taggable: bool,
    /// The packet.
    pub what: T,
}

/// Where a flow with packets is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    Ring,
    Parked(Nonce),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Queue<T> {
    key: FlowKey,
    packets: VecDeque<Cached<T>>,
    bytes: u64,
    deficit_bytes: u32,
    /// Under this nonce the first packet may leave, though it is held, and so much payload was taken for it.
    credit: Option<(Nonce, u16)>,
    place: Place,
}

/// Which interfaces downstream hold what passes here.
pub(super) trait Holds {
    /// Under which nonce a packet of `flow` with this echo is held; None if it is not.
    fn holder(&self, flow: FlowKey, echo: Option<Nonce>) -> Option<Nonce>;
    /// A packet of so much payload leaves under `nonce`, for what has arrived downstream.
    fn take(&mut self, nonce: Nonce, payload_len: u16);
    /// True if one may.
    fn may_take(&self, nonce: Nonce) -> bool;
    /// A flow waits under `nonce` for a credit from now on.
    fn waits_now(&mut self, nonce: Nonce);
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cache<T> {
    slots: Vec<Option<Queue<T>>>,
    free: Vec<u32>,
    index: BTreeMap<FlowKey, u32>,
    hints: Hints,
    /// Flows in turn; those that may not send are found out when it is theirs.
    ring: VecDeque<u32>,
    parked: BTreeMap<Nonce, BTreeSet<u32>>,
    quantum_bytes: u32,
    /// Of pooled and tagged packets.
    bytes: u64,
    /// Of plain packets.
    plain_bytes: u64,
    packets: u64,
    /// Flows with INRPP data here.
    pooled_flows: u64,
}

impl<T> Cache<T> {
    pub fn new(quantum_bytes: u32) -> Cache<T> {
        assert!(quantum_bytes > 0, "a flow must be served at last");
        Cache {
            slots: Vec::new(),
            free: Vec::new(),
            index: BTreeMap::new(),
            hints: Hints::default(),
            ring: VecDeque::new(),
            parked: BTreeMap::new(),
            quantum_bytes,
            bytes: 0,
            plain_bytes: 0,
            packets: 0,
            pooled_flows: 0,
        }
    }
    /// Bytes of INRPP data held: the S_i of the paper.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Bytes of other packets held.
    pub fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }
    /// Packets held.
    pub fn packets(&self) -> u64 {
        self.packets
    }
    /// True if `flow` has packets here.
    pub fn has(&self, flow: FlowKey) -> bool {
        self.find(flow).is_some()
    }
    #[inline]
    fn find(&self, flow: FlowKey) -> Option<u32> {
        if self.packets == 0 {
            return None;
        }
        let hint = self.hints.get(flow);
        let queue = hint.and_then(|slot| self.slots.get(slot as usize)?.as_ref());
        match queue.is_some_and(|queue| queue.key == flow) {
            true => hint,
            false => self.index.get(&flow).copied(),
        }
    }
    /// Flows with INRPP data here.
    pub fn pooled_flows(&self) -> u64 {
        self.pooled_flows
    }
    /// Flows with other packets here.
    pub fn plain_flows(&self) -> u64 {
        self.index.len() as u64 - self.pooled_flows
    }
    /// Bytes of `flow` here.
    pub fn flow_bytes(&self, flow: FlowKey) -> u64 {
        self.find(flow).map_or(0, |slot| self.queue(slot).bytes)
    }
    /// Flows with packets here, and the bytes of each.
    pub fn flows(&self) -> impl Iterator<Item = (FlowKey, u64)> {
        self.index.iter().map(|(&key, &slot)| (key, self.queue(slot).bytes))
    }

    fn queue(&self, slot: u32) -> &Queue<T> {
        self.slots[slot as usize].as_ref().expect("a flow that is listed has packets")
    }
    fn queue_mut(&mut self, slot: u32) -> &mut Queue<T> {
        self.slots[slot as usize].as_mut().expect("a flow that is listed has packets")
    }
    fn count_mut(&mut self, class: Class) -> &mut u64 {
        if class == Class::Plain { &mut self.plain_bytes } else { &mut self.bytes }
    }

    /// Append a packet.
    pub fn push(&mut self, flow: FlowKey, packet: Cached<T>) {
        *self.count_mut(flow.class()) += packet.wire_len as u64;
        let slot = match self.find(flow) {
            Some(slot) => slot,
            None => self.open(flow),
        };
        self.packets += 1;
        let queue = self.queue_mut(slot);
        queue.bytes += packet.wire_len as u64;
        queue.packets.push_back(packet);
    }
    /// A flow without packets gets its first.
    fn open(&mut self, key: FlowKey) -> u32 {
        let queue = Queue {
            key,
            packets: VecDeque::new(),
            bytes: 0,
            deficit_bytes: self.quantum_bytes,
            credit: None,
            place: Place::Ring,
        };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                self.slots.len() as u32 - 1
            }
        };
        self.slots[slot as usize] = Some(queue);
        self.pooled_flows += u64::from(key.class() != Class::Plain);
        self.index.insert(key, slot);
        self.hints.note(key, slot, &self.index);
        self.ring.push_back(slot);
        slot
    }
    /// The last packet of a flow has left.
    fn close(&mut self, slot: u32) {
        let queue = self.slots[slot as usize].take().expect("closed once");
        debug_assert!(queue.packets.is_empty() && queue.bytes == 0);
        self.index.remove(&queue.key);
        self.pooled_flows -= u64::from(queue.key.class() != Class::Plain);
        self.free.push(slot);
    }

    /// Under which nonce the first packet of a flow is held; None if it is not.
    fn holder(&self, slot: u32, holds: &impl Holds) -> Option<Nonce> {
        let queue = self.queue(slot);
        let first = queue.packets.front().expect("a flow that is listed has packets");
        match queue.key.class() {
            Class::Pooled => holds.holder(queue.key, first.echo),
            Class::Tagged | Class::Plain => None,
        }
    }
    /// Under which nonce the first packet of a flow may not leave; None if it may.
    fn barred(&self, slot: u32, holds: &impl Holds) -> Option<Nonce> {
        let holder = self.holder(slot, holds)?;
        let own = self.queue(slot).credit.is_some_and(|(nonce, _)| nonce == holder);
        let may = own || holds.may_take(holder);
        (!may).then_some(holder)
    }
    /// Park flows at the head of the ring until one may send. To be called after whatever may change who may.
    pub fn settle(&mut self, holds: &mut impl Holds) {
        while let Some(&slot) = self.ring.front() {
            let Some(nonce) = self.barred(slot, holds) else { return };
            self.ring.pop_front();
            self.queue_mut(slot).place = Place::Parked(nonce);
            self.parked.entry(nonce).or_default().insert(slot);
            holds.waits_now(nonce);
        }
    }
    /// True if a flow may send now.
    #[inline]
    pub fn has_eligible(&self) -> bool {
        !self.ring.is_empty()
    }
    /// The place in the ring of the first flow that may send now on a detour.
    fn first_for_detour(&self, max_wire_len: u16, holds: &impl Holds) -> Option<usize> {
        self.ring.iter().position(|&slot| {
            self.may_detour(slot, max_wire_len) && self.barred(slot, holds).is_none()
        })
    }
    /// True if a flow may send now on a detour.
    pub fn has_eligible_for_detour(&self, max_wire_len: u16, holds: &impl Holds) -> bool {
        self.first_for_detour(max_wire_len, holds).is_some()
    }
    fn may_detour(&self, slot: u32, max_wire_len: u16) -> bool {
        let queue = self.queue(slot);
        let first = queue.packets.front();
        let fits = first.is_some_and(|p| p.taggable && p.wire_len <= max_wire_len);
        queue.key.class() == Class::Pooled && fits
    }

    /// The next packet in turn, for the interface itself.
    pub fn pull(&mut self, holds: &mut impl Holds) -> Option<(FlowKey, Cached<T>)> {
        while !self.ring.is_empty() {
            let served = self.serve(0, holds);
            self.settle(holds);
            if served.is_some() {
                return served;
            }
        }
        None
    }
    /// The next packet in turn that may take a detour and is no longer than `max_wire_len`. Others keep their turn.
    pub fn pull_for_detour(
        &mut self,
        max_wire_len: u16,
        holds: &mut impl Holds,
    ) -> Option<(FlowKey, Cached<T>)> {
        // Each round a flow gains a quantum: it ends when the first of them has enough.
        while let Some(at) = self.first_for_detour(max_wire_len, holds) {
            let served = self.serve(at, holds);
            self.settle(holds);
            if served.is_some() {
                return served;
            }
        }
        None
    }
    /// Serve the flow at that place of the ring, which may send; or let it gain a quantum and wait for its next turn.
    fn serve(&mut self, at: usize, holds: &mut impl Holds) -> Option<(FlowKey, Cached<T>)> {
        let slot = self.ring[at];
        let holder = self.holder(slot, holds);
        let quantum_bytes = self.quantum_bytes;
        let queue = self.queue_mut(slot);
        let key = queue.key;
        let wire_len = queue.packets.front().expect("a flow that is listed has packets").wire_len;
        if queue.deficit_bytes < wire_len as u32 {
            queue.deficit_bytes += quantum_bytes;
            self.ring.remove(at);
            self.ring.push_back(slot);
            return None;
        }
        queue.deficit_bytes -= wire_len as u32;
        let credit = queue.credit.take();
        let packet = queue.packets.pop_front().expect("just seen");
        queue.bytes -= wire_len as u64;
        if queue.packets.is_empty() {
            self.ring.remove(at);
            self.close(slot);
        }
        if let Some(nonce) = holder.filter(|_| credit.map(|(nonce, _)| nonce) != holder) {
            debug_assert!(holds.may_take(nonce), "a flow that is held has sent without a credit");
            holds.take(nonce, packet.payload_len);
        }
        self.left(key, &packet);
        Some((key, packet))
    }
    fn left(&mut self, key: FlowKey, packet: &Cached<T>) {
        *self.count_mut(key.class()) -= packet.wire_len as u64;
        self.packets -= 1;
    }

    /// A credit for a flow that waits under `nonce`: the first after `after` gets it. None if none waits. Its place, and the
    /// payload that it is for.
    pub fn credit_any(&mut self, nonce: Nonce, after: u32) -> Option<(u32, u16)> {
        let waiting = self.parked.get(&nonce)?;
        let next = waiting.range(after.saturating_add(1)..).next().or_else(|| waiting.first());
        let slot = *next?;
        let queue = self.queue_mut(slot);
        let payload_len = queue.packets.front().map_or(0, |packet| packet.payload_len);
        queue.credit = Some((nonce, payload_len));
        self.unpark(slot, nonce);
        Some((slot, payload_len))
    }
    /// True if a flow waits under `nonce`.
    pub fn waits(&self, nonce: Nonce) -> bool {
        self.parked.contains_key(&nonce)
    }
    /// Nothing is held under `nonce` any more, and its credits are void.
    pub fn release(&mut self, nonce: Nonce) {
        for slot in self.parked.remove(&nonce).unwrap_or_default() {
            self.enter_ring(slot);
        }
        for queue in self.slots.iter_mut().flatten() {
            queue.credit.take_if(|credit| credit.0 == nonce);
        }
    }
    /// `flow` may be under another nonce than before. A credit that it has no use for any more.
    pub fn reconsider(&mut self, flow: FlowKey, holds: &impl Holds) -> Option<(Nonce, u16)> {
        let slot = self.find(flow)?;
        let holder = self.holder(slot, holds);
        if let Place::Parked(nonce) = self.queue(slot).place
            && holder != Some(nonce)
        {
            self.unpark(slot, nonce);
        }
        self.queue_mut(slot).credit.take_if(|credit| holder != Some(credit.0))
    }
    fn unpark(&mut self, slot: u32, nonce: Nonce) {
        let waiting = self.parked.get_mut(&nonce).expect("a parked flow is listed");
        let listed = waiting.remove(&slot);
        debug_assert!(listed, "a parked flow is listed");
        if waiting.is_empty() {
            self.parked.remove(&nonce);
        }
        self.enter_ring(slot);
    }
    fn enter_ring(&mut self, slot: u32) {
        let quantum_bytes = self.quantum_bytes;
        let queue = self.queue_mut(slot);
        queue.place = Place::Ring;
        queue.deficit_bytes = quantum_bytes;
        self.ring.push_back(slot);
    }

    /// The longest flow, in bytes, of those that are plain or of those that are not; the first of equals in order of keys.
    pub fn longest(&self, plain: bool) -> Option<(FlowKey, u64)> {
        let kind = self.flows().filter(|(key, _)| (key.class() == Class::Plain) == plain);
        kind.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }
    /// Take the last packet of a flow that has some, and a credit that the flow has no use for any more.
    pub fn push_out(&mut self, flow: FlowKey) -> (Cached<T>, Option<(Nonce, u16)>) {
        let slot = self.index[&flow];
        let queue = self.queue_mut(slot);
        let packet = queue.packets.pop_back().expect("a flow that is listed has packets");
        queue.bytes -= packet.wire_len as u64;
        let mut unused = None;
        if queue.packets.is_empty() {
            unused = queue.credit.take();
            if let Place::Parked(nonce) = queue.place {
                self.unpark(slot, nonce);
            }
            self.ring.retain(|&other| other != slot);
            self.close(slot);
        }
        self.left(flow, &packet);
        (packet, unused)
    }
    /// Take everything out.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        let emptied = core::mem::replace(self, Cache::new(self.quantum_bytes));
        emptied.slots.into_iter().flatten().flat_map(|q| q.packets).map(|p| p.what)
    }
}
