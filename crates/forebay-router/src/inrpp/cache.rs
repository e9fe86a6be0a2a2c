//! The cache of one interface: a queue per flow, served by deficit round robin among those that may
//! send.
//!
//! Deficit round robin: Shreedhar and Varghese, SIGCOMM 1995, doi:10.1145/217382.217453. A flow
//! that comes new has its first quantum before the others, where rounds are short. A flow that runs
//! dry when served keeps a place at the end of the round, as in FQ-CoDel (RFC 8290 section 4.2),
//! with a quantum: it is not new again before the round is over, so that sending one packet at a
//! time gains nothing.
//!
//! A flow that may not send, for its first packet is held and has no credit, is *parked* outside
//! the turns. It is parked when its turn comes, not when it is held, so that holding a nonce costs
//! nothing per flow. Between calls the flow whose turn it is may send, or there is none.
//!
//! By attained service, the flow that has sent the fewest bytes may send instead, packet by packet,
//! and has no place once it runs dry.
//!
//! The packets of a flow are in the order of their sequence numbers: retransmissions go ahead of
//! its backlog, and what comes late over a detour to its place in it.

use super::attained::{LeastAttained, Newcomer, Rank};
use super::flow_table::FlowTable;
use super::key::{Class, FlowKey, kind};
use super::lists::{Linked, Links, List, NONE, RANK_BYTES, Ranks};
use super::settings::TurnOrder;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use forebay_base::seq_lt;
use forebay_signal::inrpp::{BackPressure, Nonce};

/// A packet in a cache; `T` is what the owner of the cache stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cached<T> {
    /// What its sender echoed.
    pub echo: Option<Nonce>,
    /// Length on the wire in bytes.
    pub wire_len: u16,
    /// Payload in bytes.
    pub payload_len: u16,
    /// Its first sequence number.
    pub seq: u32,
    /// True if its header has room for the tag of a detour.
    pub taggable: bool,
    /// The packet.
    pub what: T,
}

/// Where a flow with packets is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    /// It has had less than a quantum.
    New,
    Ring,
    /// By attained service.
    Ranked(Rank),
    Parked(Held),
}

/// What waits of a flow. With its key it takes two lines of the processor's cache: in the first is
/// what a packet touches that comes, in the second what its turn does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
struct Queue<T> {
    packets: VecDeque<Cached<T>>,
    bytes: u64,
    /// The sequence number of the last packet, so that this is not read; without meaning where
    /// there is none.
    last_seq: u32,
    /// It is listed by length below this multiple of [`RANK_BYTES`]; 0: it is not listed.
    below_rank: u32,
    turn: Links,
    place: Place,
    /// Under this nonce the first packet may leave, though it is held, and this payload was taken
    /// for it, 1 where it has none; 0: nothing was.
    credit: Option<(Nonce, u16)>,
    /// Bytes: in deficit round robin what it may send in its turn; by attained service what it had
    /// sent before, and from here.
    service_bytes: u64,
    rank: Links,
    /// The notice of the packet that came last. On the heap: ACKs carry most of them.
    noticed: Option<Box<BackPressure>>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Option<(FlowKey, Queue<()>)>>() == 2 * 64);

/// The links of turns.
impl<T> Linked for FlowTable<Queue<T>> {
    fn links(&mut self, place: u32) -> &mut Links {
        &mut self.at_mut(place).turn
    }
}
/// The links of lengths.
struct ByRank<'a, T>(&'a mut FlowTable<Queue<T>>);

impl<T> Linked for ByRank<'_, T> {
    fn links(&mut self, place: u32) -> &mut Links {
        &mut self.0.at_mut(place).rank
    }
}

/// Memory of flows that have run dry, for those that come next. Not state: caches that differ in it
/// alone are equal.
#[derive(Clone, Debug)]
struct Spare<T>(Vec<VecDeque<Cached<T>>>);

impl<T> PartialEq for Spare<T> {
    fn eq(&self, _: &Spare<T>) -> bool {
        true
    }
}

impl<T> Eq for Spare<T> {}

impl<T> Hash for Spare<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Flows that are examined for one that may take a detour. After this many that may not, one waits
/// for its turn on the link.
const DETOUR_LOOK: usize = 32;
/// In which way a flow is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Hold {
    /// Its packets leave for what has arrived.
    Slowed,
    /// It has more than its share there: it has no part in what the ACKs of others are worth.
    Paused,
    /// A router between holds it: it leaves the link to flows that no one holds, but for a little
    /// more than what has arrived.
    Yields,
}

/// How the packets of a flow are held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Held {
    pub hold: Hold,
    /// The interface downstream that asks.
    pub nonce: Nonce,
}

impl Held {
    /// All ways to be held under `nonce`: those with a part in what the ACKs of others are worth
    /// first.
    pub fn all(nonce: Nonce) -> [Held; 3] {
        [Hold::Slowed, Hold::Yields, Hold::Paused].map(|hold| Held { hold, nonce })
    }
    /// Those with a part in what the ACKs of others are worth.
    pub fn with_others(nonce: Nonce) -> [Held; 2] {
        [Hold::Slowed, Hold::Yields].map(|hold| Held { hold, nonce })
    }
}

/// Which interfaces downstream hold what passes here.
pub(super) trait Holds {
    /// True if there are any.
    fn any(&self) -> bool;
    /// How a packet of `flow` is held; None if it is not. Its echo is read only where it decides.
    fn holder(&self, flow: FlowKey, echo: impl FnOnce() -> Option<Nonce>) -> Option<Held>;
    /// A packet of this payload leaves under `nonce`, for what has arrived downstream.
    fn take(&mut self, nonce: Nonce, payload_len: u16);
    /// True if one may, of a flow that is held like this.
    fn may_take(&self, held: Held) -> bool;
    /// A flow waits under `nonce` for a credit from now on.
    fn waits_now(&mut self, nonce: Nonce);
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[repr(C)] // what every packet touches comes first
pub(super) struct Cache<T> {
    packets: u64,
    /// Of pooled and tagged packets.
    bytes: u64,
    /// Of plain packets.
    plain_bytes: u64,
    /// Flows with packets here: pooled and tagged, plain.
    counts: [u64; 2],
    /// New flows, in turn. Those that may not send are found out when it is theirs, as in `ring`.
    new: List,
    /// Flows in turn. Those without packets keep their place until it is theirs.
    ring: List,
    /// How the first packet of the flow is held whose turn it is.
    head_holder: Option<Held>,
    quantum_bytes: u32,
    flows: FlowTable<Queue<T>>,
    /// By attained service: all that are neither parked nor dry. `new` and `ring` are empty then.
    ranked: Option<LeastAttained>,
    parked: BTreeMap<Held, List>,
    /// By length: pooled and tagged, plain.
    ranks: [Ranks; 2],
    spare: Spare<T>,
}

impl<T> Cache<T> {
    pub fn new(quantum_bytes: u32, order: TurnOrder) -> Cache<T> {
        assert!(quantum_bytes > 0, "a flow must be served at last");
        Cache {
            flows: FlowTable::default(),
            spare: Spare(Vec::new()),
            new: List::default(),
            ring: List::default(),
            ranked: (order == TurnOrder::Attained).then(LeastAttained::default),
            ranks: <[Ranks; 2]>::default(),
            parked: BTreeMap::new(),
            head_holder: None,
            quantum_bytes,
            bytes: 0,
            plain_bytes: 0,
            packets: 0,
            counts: [0; 2],
        }
    }
    fn order(&self) -> TurnOrder {
        self.ranked.as_ref().map_or(TurnOrder::Share, |_| TurnOrder::Attained)
    }
    /// Bytes that leave in a round of all flows and one more, each with a quantum.
    pub fn round_bytes(&self) -> u64 {
        (self.flows.len() as u64 + 1) * u64::from(self.quantum_bytes)
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
        self.flow_bytes(flow) > 0
    }
    /// Flows with INRPP data here.
    pub fn pooled_flows(&self) -> u64 {
        self.counts[0]
    }
    /// Flows with other packets here.
    pub fn plain_flows(&self) -> u64 {
        self.counts[1]
    }
    /// Bytes of `flow` here.
    pub fn flow_bytes(&self, flow: FlowKey) -> u64 {
        self.flows.get(flow).map_or(0, |queue| queue.bytes)
    }
    /// Flows with packets here, and the bytes of each.
    pub fn flows(&self) -> impl Iterator<Item = (FlowKey, u64)> {
        let flows = self.flows.iter().map(|(flow, queue)| (flow, queue.bytes));
        flows.filter(|&(_, bytes)| bytes > 0)
    }

    fn count_mut(&mut self, class: Class) -> &mut u64 {
        if class == Class::Plain { &mut self.plain_bytes } else { &mut self.bytes }
    }

    /// True if the data of `packet` waits here already. Its sender took what waits for lost: one
    /// copy is all that its receiver needs, and others only make those after them wait longer.
    pub fn has_copy(&self, flow: FlowKey, packet: &Cached<T>) -> bool {
        if flow.class() != Class::Pooled || packet.payload_len == 0 {
            return false;
        }
        let Some(queue) = self.flows.get(flow) else { return false };
        let packets = &queue.packets;
        if packets.is_empty() || seq_lt(queue.last_seq, packet.seq) {
            return false;
        }
        let at = packets.partition_point(|other| seq_lt(other.seq, packet.seq));
        let same = |it: &Cached<T>| it.seq == packet.seq && it.payload_len >= packet.payload_len;
        packets.iter().skip(at).take_while(|it| it.seq == packet.seq).any(same)
    }
    /// Put a packet in its place among those of its flow. True if it is the first now, and was not
    /// alone.
    pub fn push(&mut self, flow: FlowKey, packet: Cached<T>, newcomer: Newcomer) -> bool {
        *self.count_mut(flow.class()) += packet.wire_len as u64;
        let slot = match self.flows.find(flow) {
            Some(slot) => slot,
            None => self.open(flow, newcomer),
        };
        self.packets += 1;
        let (bytes, seq) = (packet.wire_len as u64, packet.seq);
        let queue = self.flows.at_mut(slot);
        // In order, whatever came late over a detour or is sent again: all later data waits for it.
        let in_order = queue.packets.is_empty() || !seq_lt(seq, queue.last_seq);
        let mut at = None;
        if in_order || flow.class() != Class::Pooled {
            queue.packets.push_back(packet);
            queue.last_seq = seq;
        } else {
            let place = queue.packets.partition_point(|other| !seq_lt(seq, other.seq));
            queue.packets.insert(place, packet);
            at = Some(place);
        }
        let before = queue.bytes;
        queue.bytes += bytes;
        let longer = queue.bytes >= u64::from(queue.below_rank) * RANK_BYTES;
        self.counts[kind(flow)] += u64::from(before == 0);
        if longer {
            self.rank(slot);
        }
        at == Some(0)
    }
    /// The packet of `flow` that came last has this notice.
    pub fn note(&mut self, flow: FlowKey, notice: BackPressure) {
        if let Some(queue) = self.flows.get_mut(flow) {
            queue.noticed = Some(Box::new(notice));
        }
    }
    /// The notice of the packet that came last, where packets of `flow` wait.
    pub fn noted(&self, flow: FlowKey) -> Option<BackPressure> {
        let queue = self.flows.get(flow)?;
        queue.noticed.as_deref().copied().filter(|_| queue.bytes > 0)
    }
    /// List a flow by its length.
    #[inline(never)]
    fn rank(&mut self, slot: u32) {
        self.unrank(slot);
        let (kind, bytes) = (kind(self.flows.key(slot)), self.flows.at(slot).bytes);
        let below = self.ranks[kind].put(&mut ByRank(&mut self.flows), slot, bytes);
        self.flows.at_mut(slot).below_rank = below;
    }
    fn unrank(&mut self, slot: u32) {
        let below = core::mem::take(&mut self.flows.at_mut(slot).below_rank);
        if below > 0 {
            let kind = kind(self.flows.key(slot));
            self.ranks[kind].take(&mut ByRank(&mut self.flows), slot, below);
        }
    }
    /// Bytes of a flow are gone.
    fn shrink(&mut self, slot: u32, bytes: u64) {
        let queue = self.flows.at_mut(slot);
        queue.bytes -= bytes;
        if queue.bytes == 0 {
            self.counts[kind(self.flows.key(slot))] -= 1;
        }
    }
    /// A flow without packets gets its first.
    fn open(&mut self, key: FlowKey, newcomer: Newcomer) -> u32 {
        let service_bytes = match self.ranked {
            None => u64::from(self.quantum_bytes),
            Some(_) => newcomer.attained_bytes,
        };
        let queue = Queue {
            packets: self.spare.0.pop().unwrap_or_default(),
            bytes: 0,
            last_seq: 0,
            below_rank: 0,
            turn: Links::default(),
            place: if newcomer.ahead { Place::New } else { Place::Ring },
            credit: None,
            service_bytes,
            rank: Links::default(),
            noticed: None,
        };
        let slot = self.flows.insert(key, queue);
        match &mut self.ranked {
            None if newcomer.ahead => self.new.push(&mut self.flows, slot),
            None => self.ring.push(&mut self.flows, slot),
            Some(_) => self.rank_by_service(slot),
        }
        slot
    }
    /// A flow without packets has no turn any more.
    fn close(&mut self, slot: u32) {
        self.leave(slot);
        self.unrank(slot);
        let queue = self.flows.remove_at(slot);
        debug_assert!(queue.packets.is_empty() && queue.bytes == 0);
        self.spare.0.push(queue.packets);
    }
    /// Out of the list in which it waits for its turn.
    fn leave(&mut self, slot: u32) {
        match self.flows.at(slot).place {
            Place::New => self.new.remove(&mut self.flows, slot),
            Place::Ring => self.ring.remove(&mut self.flows, slot),
            Place::Ranked(rank) => {
                self.ranked.as_mut().expect("the flow has a rank").remove(slot, rank);
            }
            Place::Parked(held) => {
                let waiting = self.parked.get_mut(&held).expect("a parked flow is listed");
                waiting.remove(&mut self.flows, slot);
                if waiting.is_empty() {
                    self.parked.remove(&held);
                }
            }
        }
    }
    /// To the end of the round.
    fn queue_up(&mut self, slot: u32) {
        if self.ring.is_only(slot) {
            return;
        }
        self.leave(slot);
        if self.ranked.is_some() {
            self.rank_by_service(slot);
            return;
        }
        self.flows.at_mut(slot).place = Place::Ring;
        self.ring.push(&mut self.flows, slot);
    }
    /// Into the order by attained service.
    fn rank_by_service(&mut self, slot: u32) {
        let Some(ranked) = &mut self.ranked else { return };
        let queue = self.flows.at_mut(slot);
        queue.place = Place::Ranked(ranked.insert(slot, queue.service_bytes));
    }
    /// The flow to serve next; [`NONE`]: none.
    #[inline]
    pub fn head(&self) -> u32 {
        if self.new.first != NONE {
            return self.new.first;
        }
        match &self.ranked {
            None => self.ring.first,
            Some(ranked) => ranked.first().unwrap_or(NONE),
        }
    }

    /// How the first packet of a flow is held; None if it is not.
    #[inline]
    fn holder(&self, slot: u32, holds: &impl Holds) -> Option<Held> {
        if !holds.any() {
            return None;
        }
        let key = self.flows.key(slot);
        let echo = || self.flows.at(slot).packets.front().and_then(|first| first.echo);
        match key.class() {
            Class::Pooled => holds.holder(key, echo),
            Class::Tagged | Class::Plain => None,
        }
    }
    /// True if the first packet of a flow may leave, given how it is held.
    #[inline]
    fn may_send(&self, slot: u32, holder: Option<Held>, holds: &impl Holds) -> bool {
        holder.is_none_or(|held| {
            let own = self.flows.at(slot).credit.is_some_and(|(nonce, _)| nonce == held.nonce);
            own || holds.may_take(held)
        })
    }
    /// Park flows whose turn it is until one may send. To be called after whatever may change who
    /// may.
    pub fn settle(&mut self, holds: &mut impl Holds) {
        loop {
            let slot = self.head();
            if slot == NONE {
                self.head_holder = None;
                if self.let_yielding_go() {
                    continue;
                }
                return;
            }
            if self.flows.at(slot).packets.is_empty() {
                self.close(slot);
                continue;
            }
            let holder = self.holder(slot, holds);
            self.head_holder = holder;
            let Some(held) = holder.filter(|_| !self.may_send(slot, holder, holds)) else {
                return;
            };
            self.leave(slot);
            self.flows.at_mut(slot).place = Place::Parked(held);
            self.parked.entry(held).or_default().push(&mut self.flows, slot);
            holds.waits_now(held.nonce);
        }
    }
    /// True if a flow may send now.
    #[inline]
    pub fn has_eligible(&self) -> bool {
        self.head() != NONE
    }
    /// The first flow in turn that may send now on a detour.
    fn first_for_detour(&self, max_wire_len: u16, holds: &impl Holds) -> Option<u32> {
        let head = self.head();
        if head == NONE || self.may_detour(head, max_wire_len) {
            return (head != NONE).then_some(head);
        }
        let after = |&slot: &u32| (slot != NONE).then(|| self.flows.at(slot).turn.after);
        let listed = |list: List| core::iter::successors(Some(list.first), after);
        let turns = listed_while(listed(self.new)).chain(listed_while(listed(self.ring)));
        turns
            .chain(self.ranked.iter().flat_map(LeastAttained::iter))
            .take(DETOUR_LOOK)
            .find(|&slot| self.may_detour(slot, max_wire_len) && self.may_leave(slot, holds))
    }
    /// True if the first packet of a flow may leave.
    fn may_leave(&self, slot: u32, holds: &impl Holds) -> bool {
        self.may_send(slot, self.holder(slot, holds), holds)
    }
    /// True if a flow may send now on a detour.
    pub fn has_eligible_for_detour(&self, max_wire_len: u16, holds: &impl Holds) -> bool {
        self.first_for_detour(max_wire_len, holds).is_some()
    }
    fn may_detour(&self, slot: u32, max_wire_len: u16) -> bool {
        let first = self.flows.at(slot).packets.front();
        let fits = first.is_some_and(|p| p.taggable && p.wire_len <= max_wire_len);
        self.flows.key(slot).class() == Class::Pooled && fits
    }

    /// The next packet in turn, for the interface itself.
    pub fn pull(&mut self, holds: &mut impl Holds) -> Option<(FlowKey, Cached<T>)> {
        while self.has_eligible() {
            let served = self.serve(self.head(), holds);
            self.settle(holds);
            if served.is_some() {
                return served;
            }
        }
        None
    }
    /// The next packet in turn that may take a detour and is no longer than `max_wire_len`. Others
    /// keep their turn.
    pub fn pull_for_detour(
        &mut self,
        max_wire_len: u16,
        holds: &mut impl Holds,
    ) -> Option<(FlowKey, Cached<T>)> {
        // Each round a flow gains a quantum: it ends when the first of them has enough. A flow at
        // the end of the round may come after too many that may not: its turn then stays.
        let first = self.first_for_detour(max_wire_len, holds)?;
        let mut next = Some(first);
        loop {
            let served = self.serve(next.unwrap_or(first), holds);
            self.settle(holds);
            if served.is_some() {
                return served;
            }
            next = self.first_for_detour(max_wire_len, holds);
        }
    }
    /// What a flow has just sent does not count in its turns, as long as it has more.
    pub fn refund(&mut self, flow: FlowKey, wire_len: u16, holds: &mut impl Holds) {
        let more = |&slot: &u32| !self.flows.at(slot).packets.is_empty();
        let Some(slot) = self.flows.find(flow).filter(more) else { return };
        let ranked = self.ranked.is_some();
        let queue = self.flows.at_mut(slot);
        if !ranked {
            queue.service_bytes += u64::from(wire_len);
            return;
        }
        queue.service_bytes -= u64::from(wire_len);
        if matches!(queue.place, Place::Ranked(_)) {
            self.queue_up(slot);
            self.settle(holds);
        }
    }
    /// Serve a flow which may send; or let it gain a quantum and wait for its next turn.
    fn serve(&mut self, slot: u32, holds: &mut impl Holds) -> Option<(FlowKey, Cached<T>)> {
        let is_head = slot == self.head();
        let holder = if is_head { self.head_holder } else { self.holder(slot, holds) };
        debug_assert_eq!(holder, self.holder(slot, holds), "settled after what changes it");
        let (quantum_bytes, ranked) = (u64::from(self.quantum_bytes), self.ranked.is_some());
        let key = self.flows.key(slot);
        let queue = self.flows.at_mut(slot);
        let wire_len = queue.packets.front().expect("who may send has packets").wire_len;
        if ranked {
            queue.service_bytes += u64::from(wire_len);
        } else if queue.service_bytes < u64::from(wire_len) {
            queue.service_bytes += quantum_bytes;
            self.queue_up(slot);
            return None;
        } else {
            queue.service_bytes -= u64::from(wire_len);
        }
        let credit = queue.credit.take();
        let packet = queue.packets.pop_front().expect("just seen");
        let empty = queue.packets.is_empty();
        self.shrink(slot, wire_len as u64);
        if ranked && empty {
            self.close(slot);
        } else if ranked {
            self.queue_up(slot);
        } else if empty {
            // Its turn is over. Closed at once it would be new with its next packet, and have one
            // more than its part each time that it runs dry.
            self.flows.at_mut(slot).service_bytes = quantum_bytes;
            self.queue_up(slot);
        }
        if let Some(held) =
            holder.filter(|held| credit.is_none_or(|(nonce, _)| nonce != held.nonce))
        {
            debug_assert!(holds.may_take(held), "a flow that is held has sent without a credit");
            holds.take(held.nonce, packet.payload_len);
        }
        self.left(key, &packet);
        Some((key, packet))
    }
    fn left(&mut self, key: FlowKey, packet: &Cached<T>) {
        *self.count_mut(key.class()) -= packet.wire_len as u64;
        self.packets -= 1;
    }

    /// A credit for the flow that is held under `nonce` and waits for longest, if it is not paused.
    /// The payload that it is for; None if none waits.
    pub fn credit_any(&mut self, nonce: Nonce) -> Option<u16> {
        let mut ways = Held::with_others(nonce).into_iter();
        ways.find_map(|held| self.credit(held))
    }
    /// The same for those that are held like this.
    pub fn credit(&mut self, held: Held) -> Option<u16> {
        let slot = self.parked.get(&held)?.first;
        let queue = self.flows.at_mut(slot);
        let payload_len = queue.packets.front().map_or(1, |packet| packet.payload_len.max(1));
        queue.credit = Some((held.nonce, payload_len));
        self.unpark(slot);
        Some(payload_len)
    }
    /// The one that waits for longest of those that yield may send, for no one else would.
    fn let_yielding_go(&mut self) -> bool {
        let last = self.parked.last_entry().filter(|last| last.key().hold == Hold::Yields);
        let Some(last) = last else { return false };
        let (nonce, slot) = (last.key().nonce, last.get().first);
        self.flows.at_mut(slot).credit = Some((nonce, 0));
        self.unpark(slot);
        true
    }
    /// The flow that is held like this and waits for longest; it is the last of them now.
    pub fn rotate(&mut self, held: Held) -> Option<FlowKey> {
        let waiting = self.parked.get_mut(&held)?;
        let slot = waiting.first;
        if !waiting.is_only(slot) {
            waiting.remove(&mut self.flows, slot);
            waiting.push(&mut self.flows, slot);
        }
        Some(self.flows.key(slot))
    }
    /// True if a flow waits under `nonce` that is not paused.
    pub fn waits_with_others(&self, nonce: Nonce) -> bool {
        Held::with_others(nonce).iter().any(|held| self.parked.contains_key(held))
    }
    /// True if a flow waits under `nonce`.
    pub fn waits(&self, nonce: Nonce) -> bool {
        Held::all(nonce).iter().any(|held| self.parked.contains_key(held))
    }
    /// Twice the bytes of credit that flows under `nonce` have not used.
    #[cfg(test)]
    pub fn lent(&self, nonce: Nonce) -> i64 {
        let credits = self.flows.iter().filter_map(|(_, queue)| queue.credit);
        credits.filter(|credit| credit.0 == nonce).map(|credit| 2 * i64::from(credit.1)).sum()
    }
    /// True if `flow` has a credit that it has not used.
    #[cfg(test)]
    pub fn has_credit(&self, flow: FlowKey) -> bool {
        self.credit_of(flow).is_some_and(|payload_len| payload_len > 0)
    }
    /// The payload that was taken for a credit of `flow` that it has not used.
    #[cfg(test)]
    pub fn credit_of(&self, flow: FlowKey) -> Option<u16> {
        self.flows.get(flow)?.credit.map(|(_, payload_len)| payload_len)
    }
    /// The flows that wait under `nonce`.
    #[cfg(test)]
    pub fn parked(&self, nonce: Nonce) -> Vec<FlowKey> {
        let after = |&slot: &u32| (slot != NONE).then(|| self.flows.at(slot).turn.after);
        let lists = Held::all(nonce).into_iter().filter_map(|held| self.parked.get(&held));
        let slots =
            lists.flat_map(|list| listed_while(core::iter::successors(Some(list.first), after)));
        slots.map(|slot| self.flows.key(slot)).collect()
    }
    /// Nothing is held under `nonce` any more, and its credits are void.
    pub fn release(&mut self, nonce: Nonce) {
        for held in Held::all(nonce) {
            while let Some(waiting) = self.parked.get(&held) {
                self.unpark(waiting.first);
            }
        }
        for queue in self.flows.values_mut() {
            queue.credit.take_if(|credit| credit.0 == nonce);
        }
    }
    /// `flow` may be held otherwise than before. A credit that it has no use for any more.
    pub fn reconsider(&mut self, flow: FlowKey, holds: &impl Holds) -> Option<(Nonce, u16)> {
        let slot = self.flows.find(flow)?;
        let holder = self.holder(slot, holds);
        if let Place::Parked(held) = self.flows.at(slot).place
            && holder != Some(held)
        {
            self.unpark(slot);
        }
        let keeps = |(nonce, payload_len)| {
            holder.is_some_and(|held| match held.hold {
                Hold::Slowed => held.nonce == nonce && payload_len > 0,
                Hold::Yields => held.nonce == nonce,
                Hold::Paused => false,
            })
        };
        self.flows.at_mut(slot).credit.take_if(|credit| !keeps(*credit))
    }
    fn unpark(&mut self, slot: u32) {
        self.queue_up(slot);
        if self.ranked.is_none() {
            self.flows.at_mut(slot).service_bytes = u64::from(self.quantum_bytes);
        }
    }

    /// The slot and the bytes of the longest flow of those that are plain or of those that are not,
    /// to within a packet.
    #[inline(always)] // in the one place where it counts
    pub fn longest(&mut self, plain: bool) -> Option<(u32, u64)> {
        loop {
            let (slot, from_bytes) = self.ranks[usize::from(plain)].first()?;
            match self.flows.at(slot).bytes {
                0 => self.unrank(slot),
                bytes if bytes < from_bytes => self.rank(slot),
                bytes => return Some((slot, bytes)),
            }
        }
    }
    /// What the longest flow that is not plain has at least, in whole packets.
    #[inline(never)]
    pub fn longest_pooled_bytes(&mut self) -> u64 {
        self.longest(false).map_or(0, |(_, bytes)| bytes / RANK_BYTES * RANK_BYTES)
    }
    /// Take the last packet of the flow in `slot`, and a credit that it has no use for any more.
    pub fn push_out(&mut self, slot: u32) -> (Cached<T>, Option<(Nonce, u16)>) {
        let flow = self.flows.key(slot);
        let queue = self.flows.at_mut(slot);
        let packet = queue.packets.pop_back().expect("a flow that is listed has packets");
        let mut unused = None;
        let empty = queue.packets.is_empty();
        match queue.packets.back() {
            Some(last) => queue.last_seq = last.seq,
            None => unused = queue.credit.take(),
        }
        self.shrink(slot, packet.wire_len as u64);
        if empty {
            self.close(slot);
        }
        self.left(flow, &packet);
        (packet, unused)
    }
    /// Take everything out.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        let emptied = core::mem::replace(self, Cache::new(self.quantum_bytes, self.order()));
        emptied.flows.into_values().flat_map(|queue| queue.packets).map(|p| p.what)
    }
}

/// Up to the end of a list.
fn listed_while(slots: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    slots.take_while(|&slot| slot != NONE)
}
