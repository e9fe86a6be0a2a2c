//! A drop-tail queue, a constant rate and a wire, in one ring: the departure of a packet is computed when it comes.

use crate::link::stats::LinkStats;
use alloc::collections::VecDeque;
use forebay_base::{Packet, Rate, Serializer, Span, Time};
use forebay_queue::{Overflow, PortContext};

/// The limit of the queue, the packet in transmission not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FifoLimit {
    /// In bytes.
    Bytes(u64),
    /// In packets.
    Packets(u64),
}

/// See the module. The ring holds queue and wire; packets are stamped with their arrival at the far end.
pub struct FifoLink {
    serializer: Serializer,
    delay: Span,
    /// End of the last transmission.
    free_at: Time,
    ring: VecDeque<Packet>,
    /// Index in `ring` of the first packet that had not started transmission when this was last brought up to date.
    first_waiting: usize,
    waiting_bytes: u64,
    /// When that packet starts, which is when the one before it departs; of no meaning if none waits.
    next_start: Time,
    /// When each of the waiting packets came.
    queued_at: VecDeque<Time>,
    limit: FifoLimit,
    overhead_bytes: u16,
    stats: LinkStats,
}

impl FifoLink {
    /// An idle link.
    pub fn new(rate: Rate, delay: Span, limit: FifoLimit, overhead_bytes: u16) -> FifoLink {
        FifoLink {
            serializer: Serializer::new(rate),
            delay,
            free_at: Time::ZERO,
            ring: VecDeque::new(),
            first_waiting: 0,
            waiting_bytes: 0,
            next_start: Time::ZERO,
            queued_at: VecDeque::new(),
            limit,
            overhead_bytes,
            stats: LinkStats::default(),
        }
    }

    /// When the packet at `index` ends transmission.
    #[inline]
    fn departure(&self, index: usize) -> Time {
        self.ring[index].stamp() - self.delay
    }
    /// What waits at `now`, from what was known last: index of the first packet, and bytes.
    #[inline]
    fn waiting(&self, now: Time) -> (usize, u64) {
        let len = self.ring.len();
        if self.free_at <= now {
            return (len, 0);
        }
        let (mut first, mut bytes) = (self.first_waiting, self.waiting_bytes);
        let mut next_start = self.next_start;
        while first < len && next_start <= now {
            bytes -= self.ring[first].wire_len() as u64;
            next_start = self.departure(first);
            first += 1;
        }
        (first, bytes)
    }
    /// The packets that have started by `now` wait no longer.
    #[inline]
    fn bring_up_to_date(&mut self, now: Time) {
        while self.first_waiting < self.ring.len() && self.next_start <= now {
            self.start_next();
            self.first_waiting += 1;
        }
    }
    /// The first waiting packet starts.
    #[inline]
    fn start_next(&mut self) {
        let queued_at = self.queued_at.pop_front().expect("it waited");
        self.stats.waits.record(self.next_start.since(queued_at));
        self.waiting_bytes -= self.ring[self.first_waiting].wire_len() as u64;
        self.next_start = self.departure(self.first_waiting);
    }
    #[inline]
    fn room_for(&self, wire_len: u16, (first, bytes): (usize, u64)) -> bool {
        match self.limit {
            FifoLimit::Bytes(limit) => bytes + wire_len as u64 <= limit,
            FifoLimit::Packets(limit) => ((self.ring.len() - first) as u64) < limit,
        }
    }

    /// See [`crate::AnyLink::offer`].
    #[inline]
    pub fn offer(&mut self, mut packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        let now = cx.now;
        self.bring_up_to_date(now);
        if self.free_at > now {
            if !self.room_for(packet.wire_len(), (self.first_waiting, self.waiting_bytes)) {
                return Err(Overflow(packet));
            }
            if self.queued_at.is_empty() {
                self.next_start = self.free_at;
            }
            self.queued_at.push_back(now);
            self.waiting_bytes += packet.wire_len() as u64;
        } else {
            self.first_waiting += 1;
            self.stats.waits.record(Span::ZERO);
        }
        let bytes = packet.wire_len() as u32 + self.overhead_bytes as u32;
        let took = self.serializer.serialize(bytes);
        self.free_at = self.free_at.max(now) + took;
        self.stats.transmitted(bytes as u64, took);
        packet.set_stamp(self.free_at + self.delay);
        self.ring.push_back(packet);
        Ok(())
    }
    /// See [`crate::AnyLink::next_arrival`].
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        self.ring.front().map(Packet::stamp)
    }
    /// See [`crate::AnyLink::take_arrival`].
    #[inline]
    pub fn take_arrival(&mut self, now: Time) -> Option<Packet> {
        if self.next_arrival()? > now {
            return None;
        }
        if self.first_waiting == 0 {
            // It was still counted as waiting: it has started, departed and arrived since.
            self.start_next();
        } else {
            self.first_waiting -= 1;
        }
        self.ring.pop_front()
    }
    /// See [`crate::AnyLink::waiting_packets`].
    #[inline]
    pub fn waiting_packets(&mut self, now: Time) -> u64 {
        self.bring_up_to_date(now);
        (self.ring.len() - self.first_waiting) as u64
    }
    /// See [`crate::AnyLink::waiting_bytes`].
    pub fn waiting_bytes(&self, now: Time) -> u64 {
        self.waiting(now).1
    }
    /// See [`crate::AnyLink::next_start`]. Call [`FifoLink::waiting_packets`] before it.
    pub fn next_start(&self) -> Option<Time> {
        (self.first_waiting < self.ring.len()).then_some(self.next_start)
    }
    /// See [`crate::AnyLink::has_room`].
    pub fn has_room(&self, wire_len: u16, now: Time) -> bool {
        self.free_at <= now || self.room_for(wire_len, self.waiting(now))
    }
    /// See [`crate::AnyLink::is_idle`].
    pub fn is_idle(&self, now: Time) -> bool {
        self.free_at <= now
    }
    /// See [`crate::AnyLink::rate`].
    pub fn rate(&self, _: Time) -> Rate {
        self.serializer.rate()
    }
    /// See [`crate::AnyLink::stats`].
    pub fn stats(&self, now: Time) -> LinkStats {
        let mut stats = self.stats.clone();
        let mut start = self.next_start;
        for (i, &queued_at) in self.queued_at.iter().enumerate() {
            if start > now {
                break;
            }
            stats.waits.record(start.since(queued_at));
            start = self.departure(self.first_waiting + i);
        }
        stats
    }
    /// See [`crate::AnyLink::busy`]: what is committed beyond `now` does not count.
    pub fn busy(&self, now: Time) -> Span {
        self.stats.busy.saturating_sub(self.free_at.since(now))
    }
    /// See [`crate::AnyLink::serialized_packets`].
    pub fn serialized_packets(&self, now: Time) -> u64 {
        let not_yet = (0..self.ring.len()).rev().take_while(|&i| self.departure(i) > now).count();
        self.stats.packets - not_yet as u64
    }
    /// See [`crate::AnyLink::held_packets`].
    pub fn held_packets(&self) -> u64 {
        self.ring.len() as u64
    }
}
