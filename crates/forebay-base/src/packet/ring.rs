//! A ring buffer of packets.

use super::Packet;
use super::arena::{Arena, Handle};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A line of the cache with one packet in it. Packets of 56 bytes side by side would straddle two
/// lines three times in four, and the first packet of a ring is what an arrival waits for.
#[derive(Debug)]
#[repr(align(64))]
struct Slot(Packet);

const _: () = assert!(size_of::<Slot>() == 64);

/// A packet that overtakes no more than these moves past them one by one.
const NEAR: u32 = 8;

/// A queue of packets in one allocation that grows and never shrinks. A packet moves between rings
/// in one copy. Write the fields that change after the copy: a load that overlaps a recent narrower
/// store stalls.
#[derive(Debug, Default)]
pub struct PacketRing {
    /// Their number is a power of two. Empty slots hold the rest of packets that have moved on.
    slots: Box<[Slot]>,
    /// Index of the first in the queue.
    head: u32,
    len: u32,
}

impl PacketRing {
    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Slot of packet `at`, counted from the first. The arithmetic is in the width of an index, so
    /// that the compiler can drop the bounds check.
    #[inline(always)]
    fn slot(&self, at: u32) -> usize {
        (self.head as usize + at as usize) & (self.slots.len() - 1)
    }
    /// The first packet.
    #[inline(always)]
    pub fn front(&self) -> Option<&Packet> {
        if self.len == 0 { None } else { Some(&self.slots[self.head as usize].0) }
    }
    /// All packets, the first first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Packet> + ExactSizeIterator {
        (0..self.len).map(|at| &self.slots[self.slot(at)].0)
    }
    /// Take the first packet out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        let packet = self.slots[self.head as usize].0.bitwise_copy();
        self.leave();
        Some(packet)
    }
    /// Take the last packet out.
    pub fn pop_back(&mut self) -> Option<Packet> {
        let last = self.len.checked_sub(1)?;
        let packet = self.slots[self.slot(last)].0.bitwise_copy();
        self.len = last;
        Some(packet)
    }
    /// The first packet ends, if there is one.
    #[inline]
    pub fn end_front(&mut self, arena: &mut Arena) {
        match self.front().map(Packet::cold) {
            None => {}
            Some(Handle::NONE) => self.leave(),
            Some(_) => {
                if let Some(packet) = self.pop_front() {
                    arena.free(packet);
                }
            }
        }
    }
    /// Append `packet`. The result refers to it in its slot.
    #[inline(always)]
    pub fn push_back(&mut self, packet: Packet) -> &mut Packet {
        let slot = self.next_slot();
        *slot = packet;
        slot
    }
    /// Insert `packet` after all that have its hop time or an earlier one. The ring must
    /// be in order of hop times.
    pub fn insert_by_stamp(&mut self, packet: Packet) {
        self.push_back(packet);
        self.settle_last();
    }
    /// Move the last packet after all that have its hop time or an earlier one. The others must be
    /// in order of hop times.
    #[inline(always)] // mostly it stays
    pub fn settle_last(&mut self) {
        let Some(at) = self.len.checked_sub(2) else { return };
        if self.slots[self.slot(at)].0.hop_time() > self.slots[self.slot(at + 1)].0.hop_time() {
            self.overtake_with_last();
        }
    }
    #[inline(never)]
    fn overtake_with_last(&mut self) {
        let mut at = self.len - 1;
        let stamp = self.slots[self.slot(at)].0.hop_time();
        for _ in 0..NEAR {
            if at == 0 || self.slots[self.slot(at - 1)].0.hop_time() <= stamp {
                return;
            }
            let (before, here) = (self.slot(at - 1), self.slot(at));
            self.slots.swap(before, here);
            at -= 1;
        }
        // Far ahead, as with much jitter at a high rate.
        let (mut place, mut end) = (0, at);
        while place < end {
            let middle = place.midpoint(end);
            if self.slots[self.slot(middle)].0.hop_time() <= stamp {
                place = middle + 1;
            } else {
                end = middle;
            }
        }
        self.move_ahead(at, place);
    }
    /// Packet `at` becomes packet `place`, and those from there on come after it.
    fn move_ahead(&mut self, at: u32, place: u32) {
        let (from, to) = (self.slot(place), self.slot(at));
        if from <= to {
            self.slots[from..=to].rotate_right(1);
            return;
        }
        let edge = self.slots.len() - 1;
        self.slots[..=to].rotate_right(1);
        self.slots.swap(0, edge);
        self.slots[from..].rotate_right(1);
    }
    /// Append the first packet to `to`. Panics if there is none.
    #[inline(always)] // once for each packet on each link behind a router
    pub fn move_front<'a>(&mut self, to: &'a mut PacketRing) -> &'a mut Packet {
        assert!(self.len > 0, "no packet to move");
        let slot = to.next_slot();
        *slot = self.slots[self.head as usize].0.bitwise_copy();
        self.leave();
        slot
    }
    /// The first packet has moved on.
    #[inline(always)]
    fn leave(&mut self) {
        self.head = self.slot(1) as u32;
        self.len -= 1;
    }
    #[inline(always)]
    fn next_slot(&mut self) -> &mut Packet {
        if self.len as usize >= self.slots.len() {
            return self.next_slot_of_more();
        }
        let at = self.slot(self.len);
        self.len += 1;
        &mut self.slots[at].0
    }
    #[cold]
    #[inline(never)]
    fn next_slot_of_more(&mut self) -> &mut Packet {
        self.grow();
        let at = self.slot(self.len);
        self.len += 1;
        &mut self.slots[at].0
    }
    fn grow(&mut self) {
        let capacity = (2 * self.slots.len()).max(4);
        assert!(capacity <= 1 << 31, "a ring of 2^31 packets is full");
        let mut slots = Vec::with_capacity(capacity);
        slots.extend(self.iter().map(|packet| Slot(packet.bitwise_copy())));
        slots.resize_with(capacity, || Slot(Packet::left_over()));
        (self.slots, self.head) = (slots.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Addr, Endpoint, IpVersion, Rng, Stream, TcpFields};
    use alloc::collections::VecDeque;

    fn packet(seq: u32) -> Packet {
        let end = Endpoint { addr: Addr(1), port: 1 };
        Packet::tcp(IpVersion::V4, end, end, TcpFields { seq, ..TcpFields::default() }, 0)
    }
    fn seq(packet: &Packet) -> u32 {
        packet.tcp_fields().unwrap().seq
    }

    #[test]
    fn stamps_put_packets_in_order_and_equal_ones_stay_in_theirs() {
        let mut ring = PacketRing::default();
        // The head is not at the first slot.
        for number in 0..3 {
            ring.push_back(packet(number));
        }
        for _ in 0..3 {
            ring.pop_front();
        }
        for (number, ns) in [(1, 50), (2, 20), (3, 50), (4, 20), (5, 70), (6, 10), (7, 20)] {
            let mut packet = packet(number);
            packet.set_hop_time(crate::Time::from_nanos(ns));
            ring.insert_by_stamp(packet);
        }
        assert!(ring.iter().map(seq).eq([6, 2, 4, 7, 1, 3, 5]));
    }

    #[test]
    fn insertion_at_random_sorts_wherever_the_ring_begins() {
        let mut rng = Rng::new(9, Stream::Test, 0);
        let (mut ring, mut sorted) = (PacketRing::default(), Vec::new());
        for number in 0..5_000 {
            if sorted.len() > rng.below(40) as usize {
                let (_, first) = sorted.remove(0);
                assert_eq!(ring.pop_front().map(|p| seq(&p)), Some(first));
                continue;
            }
            let ns = rng.below(50);
            let mut packet = packet(number);
            packet.set_hop_time(crate::Time::from_nanos(ns));
            ring.insert_by_stamp(packet);
            let place = sorted.partition_point(|&(stamp, _)| stamp <= ns);
            sorted.insert(place, (ns, number));
            assert!(ring.iter().map(seq).eq(sorted.iter().map(|&(_, number)| number)));
        }
    }

    #[test]
    fn two_rings_behave_as_two_queues() {
        let mut rng = Rng::new(3, Stream::Test, 0);
        let (mut rings, mut queues) =
            ([(); 2].map(|_| PacketRing::default()), [(); 2].map(|_| VecDeque::new()));
        let mut longest = 0;
        for number in 0..20_000 {
            let at = rng.below(2) as usize;
            // Waves: they fill for a while, then they empty.
            let fills = (number / 2_000) % 2 == 0;
            match rng.below(4) {
                0 if !queues[at].is_empty() => {
                    let ([a, b], [qa, qb]) = (&mut rings, &mut queues);
                    let (from, to, qfrom, qto) =
                        if at == 0 { (a, b, qa, qb) } else { (b, a, qb, qa) };
                    from.move_front(to).set_ttl(7);
                    qto.push_back(qfrom.pop_front().unwrap());
                    assert_eq!(to.iter().next_back().unwrap().ttl(), 7);
                }
                1 | 2 if fills => {
                    rings[at].push_back(packet(number));
                    queues[at].push_back(number);
                }
                _ if number % 5 == 0 => {
                    assert_eq!(rings[at].pop_back().map(|p| seq(&p)), queues[at].pop_back());
                }
                _ => assert_eq!(rings[at].pop_front().map(|p| seq(&p)), queues[at].pop_front()),
            }
            for (ring, queue) in rings.iter().zip(&queues) {
                assert_eq!(
                    (ring.len(), ring.front().map(seq)),
                    (queue.len(), queue.front().copied())
                );
                longest = longest.max(ring.len());
            }
            if number % 97 == 0 {
                assert!(rings[at].iter().map(seq).eq(queues[at].iter().copied()));
            }
        }
        assert!(longest > 100, "{longest}");
    }
}
