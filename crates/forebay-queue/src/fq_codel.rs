//! FQ-CoDel: a queue for each flow, served in turn, each under CoDel.
//!
//! Hoeiland-Joergensen et al., "The Flow Queue CoDel Packet Scheduler and Active Queue Management
//! Algorithm": RFC 8290 section 4 (doi:10.17487/RFC8290). Q is `quantum_bytes`.
//!
//! 1. A hash of addresses, ports, protocol and a salt selects a packet's queue. A
//!    queue that is on no list gets the credits Q and goes to the end of the list of new queues.
//! 2. The next packet comes from the first new queue, or from the first old one if there is no new
//!    one. A queue whose credits are not above 0 gets Q more, goes to the end of the old list, and
//!    the search begins anew.
//! 3. CoDel (RFC 8289) drops or marks as the packet leaves, with Linux's `ce_threshold`. Its length
//!    is taken from the credits.
//! 4. A new queue that is found empty goes to the end of the old list; an old one leaves the lists.
//! 5. If the packets exceed the limit, or their bytes `memory_bytes`, packets are dropped from the
//!    head of the queue with the most bytes: until half of them are gone, or `drop_batch` packets.
//!
//! A sparse flow, one whose queue empties before the others have had a turn, is therefore served at
//! the next departure: its packets wait for the packet in transmission and those of other new flows
//! alone.
//!
//! Differs from the RFC in: bytes are those of IP packets without link headers, so the quantum is
//! 1500 for its 1514: with 14 bytes more a queue would send two packets in its first turn, and a
//! sparse flow wait for both. Differs from Linux in: CoDel's rule about one MTU looks at the queue
//! of the flow, theirs at all of them; drops by rule 5 do not raise CoDel's count; memory is bytes
//! of packets, theirs those of buffers. The fragments of fragmented packets have a queue for each
//! pair of hosts.

use crate::codel::{self, Control, Setting, Source, check_times};
use crate::discipline::{Discipline, Overflow};
use crate::limit::Limit;
use crate::port::{PortContext, PortInit};
use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{Arena, DropReason, Packet, ParamError, Time, require};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Parameters of FQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of queues, 1 to 65536. RFC 8290 section 5.2.1: 1024.
    pub flows: u32,
    /// Q: bytes that a queue may send in a turn, 64 to 1 000 000; 0: the MTU of the link. RFC 8290
    /// section 5.2.2: 1514, the MTU of Ethernet and its header, which is not counted here. Below
    /// the MTU small packets gain: some turns are needed for a long one.
    pub quantum_bytes: u32,
    /// CoDel's target in ms, above 0 and at most 10 000. RFC 8290 section 5.2.3: 5.
    pub target_ms: f64,
    /// CoDel's interval in ms, above the target and at most 60 000. RFC 8290 section 5.2.4: 100.
    pub interval_ms: f64,
    /// Mark ECN-capable packets instead of dropping them (rule 3; rule 5 drops).
    pub ecn: bool,
    /// Sojourn time above which each ECN-capable packet is marked as it leaves, in ms, at most
    /// 10 000; 0: none. Linux: `ce_threshold`, none by default.
    pub ce_threshold_ms: f64,
    /// Bytes of packets that the queues may hold together, in addition to the limit of the port, at
    /// least 1500. Linux: 32 MiB.
    pub memory_bytes: u64,
    /// Maximum number of packets that rule 5 drops at once, 1 to 10 000. RFC 8290 section 4.1.3:
    /// 64.
    pub drop_batch: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            flows: 1024,
            quantum_bytes: 0,
            target_ms: 5.0,
            interval_ms: 100.0,
            ecn: true,
            ce_threshold_ms: 0.0,
            memory_bytes: 32 << 20,
            drop_batch: 64,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require((1..=1 << 16).contains(&self.flows), "flows", "1 to 65536")?;
        let quantum = self.quantum_bytes == 0 || (64..=1_000_000).contains(&self.quantum_bytes);
        require(quantum, "quantum_bytes", "64 to 1000000; 0: the MTU of the link")?;
        require(self.memory_bytes >= 1500, "memory_bytes", "1500 or more")?;
        require((1..=10_000).contains(&self.drop_batch), "drop_batch", "1 to 10000")?;
        check_times(self.target_ms, self.interval_ms, self.ce_threshold_ms)
    }
}

/// No slot, no flow.
const NONE: u32 = u32::MAX;

/// A waiting packet, and the next one in its queue; or a free slot, and the next free one.
#[derive(Debug)]
struct Slot {
    packet: Option<Packet>,
    next: u32,
}

/// The packets of all queues, in one allocation that grows and never shrinks.
#[derive(Debug)]
struct Slab {
    slots: Vec<Slot>,
    free: u32,
    packets: u64,
    bytes: u64,
}

/// The queue of one flow.
#[derive(Debug)]
struct Flow {
    first: u32,
    last: u32,
    /// The next flow on its list.
    next: u32,
    bytes: u64,
    /// What is left of its turn; below 0 if a packet took more.
    credits: i32,
    list: List,
    control: Control,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

/// Flows in order: linked through [`Flow::next`].
#[derive(Clone, Copy, Debug)]
struct Order {
    first: u32,
    last: u32,
}

impl Order {
    const EMPTY: Order = Order { first: NONE, last: NONE };

    #[inline]
    fn push(&mut self, flow: u32, flows: &mut [Flow]) {
        flows[flow as usize].next = NONE;
        match self.last {
            NONE => self.first = flow,
            last => flows[last as usize].next = flow,
        }
        self.last = flow;
    }
    /// Take the first flow off.
    #[inline]
    fn pop(&mut self, flows: &[Flow]) {
        self.first = flows[self.first as usize].next;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

impl Slab {
    const EMPTY: Slab = Slab { slots: Vec::new(), free: NONE, packets: 0, bytes: 0 };

    #[inline]
    fn insert(&mut self, packet: Packet, flow: &mut Flow) {
        let wire_len = u64::from(packet.wire_len());
        self.packets += 1;
        self.bytes += wire_len;
        flow.bytes += wire_len;
        let at = self.free;
        if at == NONE {
            return self.insert_more(packet, flow);
        }
        let slot = &mut self.slots[at as usize];
        self.free = slot.next;
        slot.next = NONE;
        slot.packet = Some(packet);
        self.append(at, flow);
    }
    #[cold]
    #[inline(never)]
    fn insert_more(&mut self, packet: Packet, flow: &mut Flow) {
        let at = self.slots.len() as u32;
        assert!(at < NONE, "a queue of 2^32 packets is full");
        self.slots.push(Slot { packet: Some(packet), next: NONE });
        self.append(at, flow);
    }
    #[inline]
    fn append(&mut self, at: u32, flow: &mut Flow) {
        match flow.last {
            NONE => flow.first = at,
            last => self.slots[last as usize].next = at,
        }
        flow.last = at;
    }
}

/// The queue of one flow, as CoDel sees it.
struct Queue<'a> {
    slab: &'a mut Slab,
    first: &'a mut u32,
    last: &'a mut u32,
    bytes: &'a mut u64,
}

impl Source for Queue<'_> {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let at = *self.first;
        if at == NONE {
            return None;
        }
        let slot = &mut self.slab.slots[at as usize];
        let packet = slot.packet.take()?;
        *self.first = slot.next;
        slot.next = self.slab.free;
        self.slab.free = at;
        if *self.first == NONE {
            *self.last = NONE;
        }
        let wire_len = u64::from(packet.wire_len());
        *self.bytes -= wire_len;
        self.slab.bytes -= wire_len;
        self.slab.packets -= 1;
        Some(packet)
    }
    #[inline]
    fn bytes(&self) -> u64 {
        *self.bytes
    }
}

impl Flow {
    fn empty() -> Flow {
        let control = Control::default();
        Flow {
            first: NONE,
            last: NONE,
            next: NONE,
            bytes: 0,
            credits: 0,
            list: List::None,
            control,
        }
    }

    #[inline]
    fn queue<'a>(&'a mut self, slab: &'a mut Slab) -> (Queue<'a>, &'a mut Control) {
        let Flow { first, last, bytes, control, .. } = self;
        (Queue { slab, first, last, bytes }, control)
    }
}

/// See the module.
#[derive(Debug)]
pub struct FqCodel {
    slab: Slab,
    new: Order,
    old: Order,
    quantum: i32,
    salt: u64,
    setting: Setting,
    flows: Box<[Flow]>,
    limit: Limit,
    memory_bytes: u64,
    drop_batch: u32,
}

impl FqCodel {
    /// Empty queues of a port.
    pub fn new(params: &Params, mut init: PortInit) -> FqCodel {
        let Params { target_ms, interval_ms, ecn, ce_threshold_ms, .. } = *params;
        let control = codel::Params { target_ms, interval_ms, ecn, ce_threshold_ms };
        let quantum = match params.quantum_bytes {
            0 => init.mtu_bytes.into(),
            bytes => bytes as i32, // at most a million
        };
        FqCodel {
            slab: Slab::EMPTY,
            new: Order::EMPTY,
            old: Order::EMPTY,
            quantum,
            salt: init.rng.next_u64(),
            setting: Setting::new(&control, init.mtu_bytes),
            flows: (0..params.flows).map(|_| Flow::empty()).collect(),
            limit: init.limit,
            memory_bytes: params.memory_bytes,
            drop_batch: params.drop_batch,
        }
    }

    /// Rule 1: the queue of a packet.
    #[inline]
    fn flow_of(&self, packet: &Packet, arena: &Arena) -> u32 {
        let hash = packet.flow_hash(self.salt, arena) >> 32;
        ((hash * self.flows.len() as u64) >> 32) as u32
    }

    #[inline]
    fn put(&mut self, packet: Packet, at: u32) {
        self.slab.insert(packet, &mut self.flows[at as usize]);
        self.begin(at);
    }
    /// The flow has a packet: it is on a list.
    #[inline]
    fn begin(&mut self, at: u32) {
        let flow = &mut self.flows[at as usize];
        if flow.list == List::None {
            flow.credits = self.quantum;
            flow.list = List::New;
            self.new.push(at, &mut self.flows);
        }
    }

    fn is_full(&self) -> bool {
        let used = self.limit.used(self.slab.packets, self.slab.bytes);
        used > self.limit.most() || self.slab.bytes > self.memory_bytes
    }

    /// Rule 5.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, cx: &mut PortContext<'_>) {
        while self.is_full() {
            let fattest = self.flows.iter_mut().max_by_key(|flow| flow.bytes);
            let flow = fattest.expect("there is at least one queue");
            let keep = flow.bytes - flow.bytes.div_ceil(2);
            for _ in 0..self.drop_batch {
                let Some(packet) = flow.queue(&mut self.slab).0.pop() else { break };
                cx.drop_packet(packet, DropReason::Full);
                if flow.bytes <= keep {
                    break;
                }
            }
        }
    }

    /// The first flow of its list has had its turn, or is empty: to the end of the old ones, or off
    /// the lists.
    #[inline]
    fn move_first(&mut self, at: u32, to: List) {
        match self.flows[at as usize].list {
            List::New => self.new.pop(&self.flows),
            List::Old | List::None => self.old.pop(&self.flows),
        }
        self.flows[at as usize].list = to;
        if to == List::Old {
            self.old.push(at, &mut self.flows);
        }
    }
    /// Queues that are on a list.
    pub(crate) fn active(&self) -> usize {
        self.flows.iter().filter(|flow| flow.list != List::None).count()
    }
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        let at = self.flow_of(&packet, cx.arena);
        self.put(packet, at);
        if self.is_full() {
            self.make_room(cx);
        }
        Ok(())
    }
    fn has_room(&self, wire_len: u16) -> bool {
        let (packets, bytes) = (self.slab.packets, self.slab.bytes);
        self.limit.admits(wire_len, packets, bytes)
            && Limit::Bytes(self.memory_bytes).admits(wire_len, packets, bytes)
    }
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        loop {
            let at = if self.new.first != NONE { self.new.first } else { self.old.first };
            if at == NONE {
                return None;
            }
            let flow = &mut self.flows[at as usize];
            if flow.credits <= 0 {
                flow.credits += self.quantum; // rule 2
                self.move_first(at, List::Old);
                continue;
            }
            let (mut queue, control) = flow.queue(&mut self.slab);
            if let Some(packet) = control.dequeue(&self.setting, &mut queue, cx) {
                flow.credits -= i32::from(packet.wire_len()); // rule 3
                return Some(packet);
            }
            let was_new = flow.list == List::New; // rule 4
            self.move_first(at, if was_new { List::Old } else { List::None });
        }
    }
    fn passes_at_once(&self) -> bool {
        true
    }
    fn notes_passing(&self) -> bool {
        true
    }
    /// Until its transmission ends, its flow is that of the last turn.
    fn note_passing(&mut self, packet: &Packet, arena: &Arena) {
        for list in [&mut self.new, &mut self.old] {
            while list.first != NONE {
                let at = list.first;
                list.pop(&self.flows);
                let flow = &mut self.flows[at as usize];
                flow.list = List::None; // rule 4
                flow.control.on_empty();
            }
        }
        let at = self.flow_of(packet, arena);
        self.begin(at);
        self.flows[at as usize].credits -= i32::from(packet.wire_len()); // rule 3
    }
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.slab.bytes
    }
    #[inline]
    fn backlog_packets(&self) -> u64 {
        self.slab.packets
    }
    fn publish(&self, _: Time, see: &mut dyn FnMut(&'static str, f64)) {
        // Where nothing waits, queues leave the lists when the next packet comes.
        let flows = if self.slab.packets > 0 { self.active() } else { 0 };
        see("fq_codel_flows", flows as f64);
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        for flow in &mut self.flows {
            let (mut queue, _) = flow.queue(&mut self.slab);
            while let Some(packet) = queue.pop() {
                cx.drop_packet(packet, reason);
            }
        }
    }
}
