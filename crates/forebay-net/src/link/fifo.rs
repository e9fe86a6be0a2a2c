//! A link with a drop-tail queue and a constant rate: one ring holds queue and wire, and the
//! departure of a packet is computed when it is queued, and its loss and jitter are drawn.

use crate::link::fates::Fates;
use crate::link::impairment::Impairment;
use crate::link::stats::LinkStats;
use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{
    Arena, Histogram, Packet, PacketRing, PacketTransfer, Rate, Serializer, Span, Time,
};
use forebay_queue::{Limit, Overflow, PortContext};

/// Whether packets come from a single upstream link, and whether the next may look ahead. 0:
/// several upstreams. n+1: one upstream, and n packets in its ring must enter first. See
/// [`crate::Fabric::extend_horizon`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpstreamGate(u32);

impl UpstreamGate {
    /// One upstream, and no packet to wait for.
    pub const SINGLE: UpstreamGate = UpstreamGate(1);
    /// Set where fates are drawn.
    const DRAWS: u32 = 1 << 31;

    /// The gate of a link that draws for its packets: never open to the fast path.
    pub fn drawing(self) -> UpstreamGate {
        if self.is_single() { UpstreamGate(self.0 | UpstreamGate::DRAWS) } else { self }
    }
    /// True if a packet may be queued here as soon as it is queued on the upstream link, and its
    /// fate is drawn.
    pub fn is_open_to_draw(self) -> bool {
        self.0 == UpstreamGate::DRAWS | 1
    }
    /// True if all packets come from one link.
    #[inline]
    pub fn is_single(self) -> bool {
        self.0 > 0
    }
    /// True if a packet may be queued here as soon as it is queued on the upstream link.
    #[inline]
    pub fn is_open(self) -> bool {
        self.0 == 1
    }
    /// A packet for this link stays in the ring of the upstream link, if there is a single one.
    #[inline]
    pub fn expect_one(&mut self) {
        self.0 += u32::from(self.is_single());
    }
    /// Such a packet enters.
    #[inline]
    pub fn admit_expected(&mut self) {
        let expected = self.0 & !UpstreamGate::DRAWS != 1;
        assert!(expected, "a packet came to a link that early transit did not expect it on");
        self.0 -= u32::from(self.is_single());
    }
}

/// See the module. Packets in the ring have as hop time their arrival at the far end.
// three lines of the cache, with what the fabric keeps of a link: what an arrival touches comes
// first
#[repr(C)]
pub struct FifoLink {
    ring: PacketRing,
    limit: Limit,
    overhead_bytes: u16,
    /// Packets are lost or shaken: there are [`Fates`].
    impaired: bool,
    /// See [`UpstreamGate`].
    pub(crate) upstream_gate: UpstreamGate,
    /// End of the last transmission.
    free_at: Time,
    delay: Span,
    /// Packets of the ring whose transmission has not started.
    waits: QueueDelays,
    serializer: Serializer,
    packets: u64,
    /// Overhead included.
    bytes: u64,
    busy: Span,
}

impl FifoLink {
    /// An idle link.
    pub fn new(rate: Rate, delay: Span, limit: Limit, overhead_bytes: u16) -> FifoLink {
        FifoLink {
            ring: PacketRing::default(),
            limit,
            overhead_bytes,
            impaired: false,
            upstream_gate: UpstreamGate::default(),
            free_at: Time::ZERO,
            delay,
            waits: QueueDelays::default(),
            serializer: Serializer::new(rate),
            packets: 0,
            bytes: 0,
            busy: Span::ZERO,
        }
    }

    /// The same with losses and jitter.
    pub(crate) fn with_impairment(mut self, impairment: Impairment) -> FifoLink {
        self.impaired = true;
        self.waits.aside.get_or_insert_default().fates = Some(Fates::new(impairment));
        self
    }

    /// The far end of a link whose near end is in another partition. Nothing is ever queued on it.
    pub fn far_end() -> FifoLink {
        let rate = Rate::clamped(0); // of no transmission
        FifoLink::new(rate, Span::ZERO, Limit::Packets(0), 0)
    }
    /// Move all packets of the near end of such a link into `transfer`. Their arrivals are known.
    pub fn export(&mut self, transfer: &mut PacketTransfer, arena: &mut Arena) {
        transfer.pack_all(&mut self.ring, arena);
    }
    /// A packet from the near end, with its arrival as hop time.
    pub fn import(&mut self, packet: Packet) {
        self.ring.insert_by_stamp(packet);
    }

    /// True if there is room for a packet of `wire_len` bytes.
    #[inline(always)] // into the two ways that most packets take
    pub fn admits(&mut self, now: Time, wire_len: u16) -> bool {
        self.waits.bring_up_to_date(now);
        self.free_at <= now || self.limit.admits(wire_len, self.waits.packets(), self.waits.bytes())
    }
    /// Schedule a packet of `wire_len` bytes, for which there is room: its arrival at the far end.
    #[inline(always)]
    pub(crate) fn schedule(&mut self, now: Time, wire_len: u16) -> Time {
        let start = self.free_at.max(now);
        if start > now {
            self.waits.push(now, start, wire_len);
        }
        let bytes = wire_len as u32 + self.overhead_bytes as u32;
        let took = self.serializer.serialize(bytes);
        self.free_at = start + took;
        self.packets += 1;
        self.bytes += bytes as u64;
        self.busy += took;
        self.free_at + self.delay
    }
    /// True if each packet's fate must be drawn when it was scheduled: [`FifoLink::draw`], and
    /// [`FifoLink::keep`] in place of [`FifoLink::lay`].
    #[inline(always)]
    pub(crate) fn is_impaired(&self) -> bool {
        self.impaired
    }
    /// Draw for the packet that was just scheduled, for this arrival. True if it arrives then.
    pub(crate) fn draw(&mut self, arrival: Time) -> bool {
        self.fates_mut().is_none_or(|fates| fates.draw(arrival))
    }
    /// Keep that packet, by what was drawn, with this time to live.
    #[inline(always)]
    pub(crate) fn keep(&mut self, packet: Packet, arrival: Time, ttl: u8) {
        self.keep_last(arrival, ttl, |ring| ring.push_back(packet));
    }
    /// The same with the first packet of `from`.
    #[inline(always)]
    pub(crate) fn keep_first_of(&mut self, from: &mut PacketRing, arrival: Time, ttl: u8) {
        self.keep_last(arrival, ttl, |ring| from.move_front(ring));
    }
    /// The same with what `append` makes the last of a ring.
    #[inline(always)]
    fn keep_last(
        &mut self,
        arrival: Time,
        ttl: u8,
        append: impl FnOnce(&mut PacketRing) -> &mut Packet,
    ) {
        let FifoLink { ring, waits, free_at, .. } = self;
        let (ring, stamp) = match waits.aside.as_mut().and_then(|aside| aside.fates.as_mut()) {
            Some(fates) => fates.place(*free_at, arrival, ring),
            None => (ring, arrival),
        };
        let packet = append(ring);
        packet.set_hop_time(stamp);
        packet.set_ttl(ttl);
        ring.settle_last();
    }
    fn fates(&self) -> Option<&Fates> {
        self.waits.aside.as_ref().and_then(|aside| aside.fates.as_ref())
    }
    fn fates_mut(&mut self) -> Option<&mut Fates> {
        self.waits.aside.as_mut().and_then(|aside| aside.fates.as_mut())
    }
    /// Append a packet that was scheduled to arrive at `arrival` with this time to live. Stamp and
    /// TTL are written after the copy: see [`PacketRing`].
    #[inline(always)]
    pub(crate) fn lay(&mut self, packet: Packet, arrival: Time, ttl: u8) {
        let packet = self.ring.push_back(packet);
        packet.set_hop_time(arrival);
        packet.set_ttl(ttl);
    }
    /// The same with the first packet of `from`.
    #[inline(always)]
    pub(crate) fn lay_first_of(&mut self, from: &mut FifoLink, arrival: Time, ttl: u8) {
        let packet = from.ring.move_front(&mut self.ring);
        packet.set_hop_time(arrival);
        packet.set_ttl(ttl);
    }
    /// See [`crate::AnyLink::offer`].
    pub fn offer(&mut self, packet: Packet, now: Time) -> Result<(), Overflow> {
        if !self.admits(now, packet.wire_len()) {
            return Err(Overflow(packet));
        }
        let arrival = self.schedule(now, packet.wire_len());
        if self.impaired {
            self.draw(arrival);
            let ttl = packet.ttl();
            self.keep(packet, arrival, ttl);
        } else {
            self.ring.push_back(packet).set_hop_time(arrival);
        }
        Ok(())
    }
    /// See [`crate::AnyLink::next_transmitter`].
    #[inline]
    pub fn next_transmitter(&self) -> Option<Time> {
        if self.impaired { self.next_loss() } else { None }
    }
    #[cold] // other links stay small
    fn next_loss(&self) -> Option<Time> {
        self.fates().and_then(Fates::next_loss)
    }
    /// See [`crate::AnyLink::on_transmitter`].
    #[inline]
    pub fn on_transmitter(&mut self, cx: &mut PortContext<'_>) {
        if self.impaired {
            self.lose_due(cx);
        }
    }
    #[cold]
    fn lose_due(&mut self, cx: &mut PortContext<'_>) {
        if let Some(fates) = self.fates_mut() {
            fates.lose_due(cx);
        }
    }
    /// See [`crate::AnyLink::next_arrival`].
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        self.ring.front().map(Packet::hop_time)
    }
    /// The first packet, if it has arrived by `now`.
    #[inline]
    pub fn first_arrived(&self, now: Time) -> Option<&Packet> {
        self.first().filter(|first| first.hop_time() <= now)
    }
    /// The packet that arrives next.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Packet> {
        self.ring.front()
    }
    /// See [`crate::AnyLink::wire_mut`].
    #[inline]
    pub(crate) fn wire_mut(&mut self) -> &mut PacketRing {
        &mut self.ring
    }
    /// Take that packet, arrived or not.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<Packet> {
        self.ring.pop_front()
    }
    /// Put that packet behind all others.
    pub(crate) fn put_first_last(&mut self) {
        if let Some(first) = self.ring.pop_front() {
            self.ring.push_back(first);
        }
    }
    /// See [`crate::AnyLink::take_arrival`].
    #[inline]
    pub fn take_arrival(&mut self, now: Time) -> Option<Packet> {
        self.first_arrived(now)?;
        self.take_first()
    }
    /// True if nothing waits, is in transmission or on the wire.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
    /// See [`crate::AnyLink::waiting_packets`].
    #[inline(always)] // once for each packet of a host
    pub fn waiting_packets(&mut self, now: Time) -> u64 {
        self.waits.bring_up_to_date(now);
        self.waits.packets()
    }
    /// See [`crate::AnyLink::waiting_bytes`].
    pub fn waiting_bytes(&self, now: Time) -> u64 {
        self.waits.at_time(now).1
    }
    /// See [`crate::AnyLink::next_start`]. Call [`FifoLink::waiting_packets`] before it.
    pub fn next_start(&self) -> Option<Time> {
        self.waits.next_start()
    }
    /// See [`crate::AnyLink::has_room`].
    pub fn has_room(&self, wire_len: u16, now: Time) -> bool {
        let (packets, bytes) = self.waits.at_time(now);
        self.free_at <= now || self.limit.admits(wire_len, packets, bytes)
    }
    /// See [`crate::AnyLink::is_idle`].
    pub fn is_idle(&self, now: Time) -> bool {
        self.free_at <= now
    }
    /// See [`crate::AnyLink::delay`].
    pub fn delay(&self) -> Span {
        self.delay
    }
    /// See [`crate::AnyLink::rate`].
    pub fn rate(&self, _: Time) -> Rate {
        self.serializer.rate()
    }
    /// See [`crate::AnyLink::stats`].
    pub fn stats(&self, now: Time) -> LinkStats {
        let mut waits = self.waits.histogram(now);
        let (waiting, _) = self.waits.at_time(now);
        // All others started when they came.
        waits.record_zeros(self.packets - waits.count() - waiting);
        let (packets, bytes, busy) = (self.packets, self.bytes, self.busy);
        let lost = self.fates().map_or(0, Fates::lost);
        LinkStats { packets, bytes, busy, waits, marked: 0, lost }
    }
    /// See [`crate::AnyLink::busy`]. Transmission time after `now` does not count.
    pub fn busy(&self, now: Time) -> Span {
        self.busy.saturating_sub(self.free_at.since(now))
    }
    /// See [`crate::AnyLink::transmitted_bytes`]. The rate is constant: bytes left are time left.
    pub fn transmitted_bytes(&self, now: Time) -> u64 {
        let left_bytes = self.serializer.rate().bytes_in(self.free_at.since(now));
        self.bytes.saturating_sub(left_bytes)
    }
    /// See [`crate::AnyLink::serialized_packets`].
    pub fn serialized_packets(&self, now: Time) -> u64 {
        // Less those that wait, and the one in transmission.
        self.packets - self.waits.at_time(now).0 - u64::from(self.free_at > now)
    }
    /// Packets that will arrive.
    pub(crate) fn scheduled_packets(&self) -> usize {
        self.ring.len()
    }
    /// See [`crate::AnyLink::held_packets`].
    pub fn held_packets(&self) -> u64 {
        self.ring.len() as u64 + self.fates().map_or(0, Fates::doomed_packets)
    }
}

/// Entries of packets that have started are moved into the histogram in batches of this size: the
/// entries are contiguous in memory, the histogram is elsewhere.
const BATCH: u32 = 64;

/// A packet that waits for transmission, or waited.
#[derive(Clone, Copy, Default)]
struct Wait {
    /// When it starts, which is when the one before it departs.
    start: Time,
    /// When it came.
    queued_at: Time,
    wire_len: u16,
}

/// What most links do not have. In one box, for a link is three lines of the cache.
#[derive(Default)]
struct Aside {
    /// Waits of packets that have started.
    counted: Histogram,
    fates: Option<Fates>,
}

/// See the module. A ring of entries in order: first those of packets that had started at the last
/// update.
#[derive(Default)]
#[repr(C)]
pub(super) struct QueueDelays {
    /// The number of slots is a power of two.
    entries: Box<[Wait]>,
    head: u32,
    len: u32,
    started: u32,
    /// Of those that have not started.
    bytes: u64,
    aside: Option<Box<Aside>>,
}

impl QueueDelays {
    #[inline(always)]
    fn at(&self, index: u32) -> &Wait {
        &self.entries[(self.head as usize + index as usize) & (self.entries.len() - 1)]
    }
    fn iter(&self) -> impl Iterator<Item = &Wait> {
        (0..self.len).map(|index| self.at(index))
    }
    /// Packets that wait.
    #[inline]
    pub fn packets(&self) -> u64 {
        (self.len - self.started) as u64
    }
    /// Bytes that wait.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// When the first of them starts.
    #[inline]
    pub fn next_start(&self) -> Option<Time> {
        if self.started < self.len { Some(self.at(self.started).start) } else { None }
    }
    /// Packets and bytes that wait at `now`, which is not before the last update.
    pub fn at_time(&self, now: Time) -> (u64, u64) {
        let waiting = self.iter().filter(|w| w.start > now);
        waiting.fold((0, 0), |(packets, bytes), w| (packets + 1, bytes + w.wire_len as u64))
    }
    /// Update: packets that have started by `now` do not wait any more.
    #[inline(always)]
    pub fn bring_up_to_date(&mut self, now: Time) {
        if self.started == self.len {
            return; // most links, most of the time
        }
        while self.started < self.len {
            let &Wait { start, wire_len, .. } = self.at(self.started);
            if start > now {
                break;
            }
            self.bytes -= wire_len as u64;
            self.started += 1;
        }
        if self.started >= BATCH {
            self.count_started();
        }
    }
    /// A packet of `wire_len` bytes came at `now` and starts at `start`, which is later.
    #[inline(always)]
    pub fn push(&mut self, now: Time, start: Time, wire_len: u16) {
        let wait = Wait { start, queued_at: now, wire_len };
        if self.len as usize >= self.entries.len() {
            return self.push_into_more(wait);
        }
        self.push_entry(wait);
    }
    /// Append an entry; there must be room. The index has the width of that of
    /// [`forebay_base::PacketRing`], for the same reason.
    #[inline(always)]
    fn push_entry(&mut self, wait: Wait) {
        let at = (self.head as usize + self.len as usize) & (self.entries.len() - 1);
        // Field by field: a copy of the whole entry would stall on fields written just before.
        let entry = &mut self.entries[at];
        entry.start = wait.start;
        entry.queued_at = wait.queued_at;
        entry.wire_len = wait.wire_len;
        self.len += 1;
        self.bytes += wait.wire_len as u64;
    }
    #[cold]
    #[inline(never)]
    fn push_into_more(&mut self, wait: Wait) {
        self.grow();
        self.push_entry(wait);
    }
    /// Waiting times of the packets that had to wait and have started by `now`.
    pub fn histogram(&self, now: Time) -> Histogram {
        let counted = self.aside.as_ref().map(|aside| aside.counted.clone());
        let mut all = counted.unwrap_or_default();
        let started = self.iter().take_while(|w| w.start <= now);
        started.for_each(|w| all.record(w.start.since(w.queued_at)));
        all
    }

    #[inline(never)]
    fn count_started(&mut self) {
        let counted = &mut self.aside.get_or_insert_default().counted;
        let (head, capacity) = (self.head as usize, self.entries.len());
        let end = head + self.started as usize;
        // The ring wraps.
        let parts = [head..end.min(capacity), 0..end.saturating_sub(capacity)];
        for part in parts {
            counted.record_all(self.entries[part].iter().map(|w| w.start.since(w.queued_at)));
        }
        self.head = (end & (capacity - 1)) as u32;
        self.len -= self.started;
        self.started = 0;
    }
    fn grow(&mut self) {
        if self.started > 0 {
            return self.count_started(); // there is room again
        }
        let capacity = (2 * self.entries.len()).max(4);
        assert!(capacity <= 1 << 31, "2^31 packets wait");
        let mut entries: Vec<Wait> = Vec::with_capacity(capacity);
        entries.extend(self.iter());
        entries.resize(capacity, Wait::default());
        (self.entries, self.head) = (entries.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::Span;

    /// A packet of 100 bytes comes each ms and starts 10 ms later; by hand: after k ms, k - 10 of k
    /// have started.
    #[test]
    fn packets_start_in_turn_and_each_wait_is_counted_once() {
        let ms = Time::from_millis;
        let mut waits = QueueDelays::default();
        for k in 1..=1_000 {
            waits.bring_up_to_date(ms(k));
            waits.push(ms(k), ms(k + 10), 100);
            let waiting = k.min(10);
            assert_eq!((waits.packets(), waits.bytes()), (waiting, 100 * waiting), "{k} ms");
            assert_eq!(waits.next_start(), Some(ms(k + 11 - waiting)));
            assert_eq!(waits.at_time(ms(k)), (waiting, 100 * waiting));
            let histogram = waits.histogram(ms(k));
            assert_eq!(histogram.count(), k - waiting);
            assert!(histogram.mean().is_none_or(|mean| mean == Span::from_millis(10)));
        }
        // Not yet requested notifications are delivered as well.
        assert_eq!(waits.at_time(ms(1_005)), (5, 500));
        assert_eq!(waits.histogram(ms(1_005)).count(), 995);
        assert!(waits.entries.len() < 4 * BATCH as usize, "{} entries", waits.entries.len());
    }

    #[test]
    fn a_long_queue_keeps_its_order() {
        let mut waits = QueueDelays::default();
        let at = Time::from_millis;
        (1..=700).for_each(|k| waits.push(at(1), at(1 + k), k as u16));
        let mut lengths = Vec::new();
        for k in 1..=700 {
            let before = waits.bytes();
            waits.bring_up_to_date(at(1 + k));
            lengths.push(before - waits.bytes());
        }
        assert!(lengths.into_iter().eq(1..=700));
        assert_eq!((waits.packets(), waits.next_start()), (0, None));
    }
}
