//! Storage for the cold parts of packets. An arena belongs to one partition of one run.

use super::bodies::{Bodies, BodyCounts};
use super::{Kind, Packet};
use crate::digest::Digest;
use crate::ids::{Ecn, IpVersion};
use crate::options::OptionList;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::num::NonZeroU32;

/// Names a cold part, or none.
///
/// Never zero inside, so that an `Option<Packet>` is as long as a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Handle(NonZeroU32);

impl Handle {
    /// No cold part.
    pub const NONE: Handle = Handle(NonZeroU32::MAX);

    fn of_slot(slot: u32) -> Handle {
        let number = slot.checked_add(1).and_then(NonZeroU32::new);
        Handle(number.filter(|&n| n < NonZeroU32::MAX).expect("fewer than 2^32 - 2 cold parts"))
    }
    fn slot(self) -> u32 {
        debug_assert!(self != Handle::NONE);
        self.0.get() - 1
    }
}

/// What only some packets carry. Everything here is on the wire.
///
/// Takes two cache lines in its [`Arena`]. The first holds all but long IP options, fragments and
/// bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Cold {
    /// IPv6 flow label, 20 bits (RFC 6437). 0 with IPv4.
    pub flow_label: u32,
    /// IPv4 identification, 16 bits: needed if DF is clear, else 0 unless the sender set it. That
    /// of the Fragment header with IPv6; 0 where there is none.
    pub ip_id: u32,
    /// TCP urgent pointer.
    pub urgent: u16,
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// The four reserved bits of the TCP header.
    pub tcp_reserved: u8,
    /// TCP options other than a leading timestamps option, verbatim.
    pub tcp_options: OptionList,
    /// IPv4 options, verbatim.
    pub ip_options: OptionList,
    /// Which part of a datagram this is, if it is a fragment.
    pub piece: Option<FragmentRange>,
    /// Bytes that cannot be computed. TCP segment: the payload, if it is not the test pattern.
    /// Opaque packet: all bytes from the IP header on; every other field is then the default. They
    /// are not changed in place.
    /// Fragment from outside: all bytes after the IP header.
    pub body: Option<Arc<[u8]>>,
}

const _: () = assert!(size_of::<Slot<Cold>>() == 128);

/// A byte range of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentRange {
    /// Offset of its first byte after the IP header of the datagram, in bytes: a multiple of 8.
    pub offset: u16,
    /// True if fragments follow (the MF flag).
    pub more: bool,
    /// The IP protocol number of the datagram.
    pub protocol: u8,
    /// The datagram it was cut from; None where only its own bytes are known (`Cold::body`).
    pub(crate) datagram: Option<Handle>,
}

impl FragmentRange {
    /// A fragment of which only its own bytes are known: they are in `Cold::body`.
    pub fn from_outside(offset: u16, more: bool, protocol: u8) -> FragmentRange {
        assert!(offset.is_multiple_of(8));
        FragmentRange { offset, more, protocol, datagram: None }
    }
}

#[derive(Debug)]
struct Datagram {
    whole: Packet,
    pieces: u32,
    /// Its name in all arenas of the run; of no meaning where there is only one.
    name: u64,
}

/// Cold parts of packets on their way to another arena.
#[derive(Debug, Default)]
pub(super) struct PackedColds {
    /// In the order of their packets. That of a piece is followed by that of its datagram.
    colds: VecDeque<Cold>,
    /// Name and datagram of each piece.
    datagrams: VecDeque<(u64, Packet)>,
}

/// The tag comes first: it is read before all else, and shares a cache line with the start of the
/// value.
#[derive(Debug)]
#[repr(u8, align(128))]
enum Slot<T> {
    Free,
    Taken(T),
}

#[derive(Debug)]
struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Slot<T> {
    #[inline(always)]
    fn is_free(&self) -> bool {
        matches!(self, Slot::Free)
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Inlined, so that the caller builds the value in place.
    #[inline(always)]
    fn insert(&mut self, value: T) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| self.add());
        // The slot is free: there is nothing to drop.
        core::mem::forget(core::mem::replace(&mut self.slots[at as usize], Slot::Taken(value)));
        at
    }
    #[cold]
    #[inline(never)]
    fn add(&mut self) -> u32 {
        self.slots.push(Slot::Free);
        (self.slots.len() - 1) as u32
    }
    /// Free a slot where it is. Gives what `last` takes out of it.
    #[inline]
    fn end<R>(&mut self, at: u32, last: impl FnOnce(&mut T) -> R) -> R {
        let slot = &mut self.slots[at as usize];
        let Slot::Taken(value) = slot else { panic!("handle freed twice") };
        let read = last(value);
        *slot = Slot::Free;
        self.free.push(at);
        read
    }
    #[inline]
    fn remove(&mut self, at: u32) -> T {
        let Slot::Taken(value) = core::mem::replace(&mut self.slots[at as usize], Slot::Free)
        else {
            panic!("handle freed twice");
        };
        self.free.push(at);
        value
    }
    #[inline]
    fn get(&self, at: u32) -> &T {
        match &self.slots[at as usize] {
            Slot::Taken(value) => value,
            Slot::Free => panic!("handle of a freed slot"),
        }
    }
    #[inline]
    fn get_mut(&mut self, at: u32) -> &mut T {
        match &mut self.slots[at as usize] {
            Slot::Taken(value) => value,
            Slot::Free => panic!("handle of a freed slot"),
        }
    }
    /// Load the start of a slot, for no one to wait for.
    #[inline(always)]
    fn touch(&self, at: u32) {
        if let Some(slot) = self.slots.get(at as usize) {
            core::hint::black_box(slot.is_free());
        }
    }
    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// The cold parts of all packets of a partition, and the datagrams that fragments were cut from.
#[derive(Debug, Default)]
pub struct Arena {
    colds: Slab<Cold>,
    datagrams: Slab<Datagram>,
    /// The name of the next datagram that is cut here.
    next_name: u64,
    /// Handles of datagrams by name. Fragments that come from another arena one by one share one
    /// datagram here. None in the only arena of a run.
    named: Option<BTreeMap<u64, Handle>>,
    bodies: Bodies,
    digests: OpaqueDigests,
}

/// By slot of a cold part: what the digest of an opaque packet there became by its body, if it was
/// signed. A packet is signed where it comes and where it leaves.
#[derive(Debug, Default)]
struct OpaqueDigests(Vec<Cell<Option<Folded>>>);

/// A body was folded into a digest.
#[derive(Clone, Copy, Debug)]
struct Folded {
    /// Where it is: another body in place of it is elsewhere, for both are there for a moment.
    body: usize,
    before: Digest,
    after: Digest,
}

impl OpaqueDigests {
    /// The slot gets an opaque packet.
    fn expect(&mut self, slot: u32) {
        if self.0.len() <= slot as usize {
            self.0.resize(slot as usize + 1, Cell::default());
        }
        self.forget(slot);
    }
    /// The slot gets a packet of any kind.
    #[cold]
    fn forget(&mut self, slot: u32) {
        if let Some(folded) = self.0.get_mut(slot as usize) {
            folded.set(None);
        }
    }
    /// `before` after `fold`, which folds `body` in.
    fn of(&self, slot: u32, body: &[u8], before: Digest, fold: impl Fn(&mut Digest)) -> Digest {
        let fold = || {
            let mut digest = before;
            fold(&mut digest);
            digest
        };
        let (kept, at) = (self.0.get(slot as usize), body.as_ptr().addr());
        if let Some(folded) = kept.and_then(Cell::get)
            && (folded.body, folded.before) == (at, before)
        {
            debug_assert_eq!(folded.after, fold(), "the body of a packet was changed in place");
            return folded.after;
        }
        let after = fold();
        if let Some(kept) = kept {
            kept.set(Some(Folded { body: at, before, after }));
        }
        after
    }
}

impl Arena {
    /// The arena of one partition of several, numbered from 0. Packets may move between such
    /// arenas.
    pub fn of_partition(number: u16) -> Arena {
        let next_name = u64::from(number) << 48;
        Arena { next_name, named: Some(BTreeMap::new()), ..Arena::default() }
    }
    /// Keep `cold` for a packet.
    #[inline]
    pub fn insert(&mut self, cold: Cold) -> Handle {
        Handle::of_slot(self.colds.insert(cold))
    }
    /// The same for an opaque packet.
    pub(super) fn insert_opaque(&mut self, cold: Cold) -> Handle {
        let handle = self.insert(cold);
        self.digests.expect(handle.slot());
        handle
    }
    /// The cold part of a handle. Panics on a handle that was freed.
    #[inline]
    pub fn cold(&self, handle: Handle) -> &Cold {
        self.colds.get(handle.slot())
    }
    /// The cold part of a handle, to change.
    #[inline]
    pub fn cold_mut(&mut self, handle: Handle) -> &mut Cold {
        self.colds.get_mut(handle.slot())
    }
    /// Load the cold part of a packet that is needed soon. Nothing waits for it: the processor goes
    /// on meanwhile.
    #[inline(always)]
    pub fn touch(&self, packet: &Packet) {
        if packet.cold() != Handle::NONE {
            self.colds.touch(packet.cold().slot());
        }
    }
    /// A buffer with these bytes, for [`Cold::body`]: one of a packet that has ended, if there is
    /// one of this length.
    pub fn body(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        self.bodies.fill(bytes)
    }
    /// How often [`Arena::body`] was called.
    pub fn body_counts(&self) -> BodyCounts {
        self.bodies.counts
    }
    /// Free a packet: its cold part, and its share of a datagram.
    #[inline]
    pub fn free(&mut self, packet: Packet) {
        if packet.cold() != Handle::NONE {
            self.free_cold(packet.cold());
        }
    }
    fn free_cold(&mut self, handle: Handle) {
        let bodies = &mut self.bodies;
        let datagram = self.colds.end(handle.slot(), |cold| {
            if let Some(body) = cold.body.take() {
                bodies.keep(body);
            }
            cold.piece?.datagram
        });
        if let Some(datagram) = datagram {
            self.end_piece(datagram);
        }
    }
    /// A fragment of a datagram has ended; with the last one the datagram ends, where it is.
    #[inline]
    fn end_piece(&mut self, at: Handle) {
        let shared = self.datagrams.get_mut(at.slot());
        shared.pieces -= 1;
        if shared.pieces > 0 {
            return;
        }
        let (cold, name) =
            self.datagrams.end(at.slot(), |shared| (shared.whole.cold(), shared.name));
        if let Some(named) = &mut self.named {
            named.remove(&name);
        }
        if cold != Handle::NONE {
            self.free_cold(cold);
        }
    }
    fn remove_datagram(&mut self, at: Handle) -> Datagram {
        let datagram = self.datagrams.remove(at.slot());
        if let Some(named) = &mut self.named {
            named.remove(&datagram.name);
        }
        datagram
    }
    #[inline(always)] // as `Slab::insert`
    fn insert_datagram(&mut self, datagram: Datagram) -> Handle {
        let name = datagram.name;
        let at = Handle::of_slot(self.datagrams.insert(datagram));
        if let Some(named) = &mut self.named {
            named.insert(name, at);
        }
        at
    }
    /// A copy of a packet with the same content (reinjection tests, multicast, taps).
    pub fn duplicate(&mut self, packet: &Packet) -> Packet {
        let mut copy = packet.bitwise_copy();
        if let Some(cold) = packet.cold_part(self) {
            let cold = cold.clone();
            if let Some(datagram) = cold.piece.and_then(|p| p.datagram) {
                self.datagrams.get_mut(datagram.slot()).pieces += 1;
            }
            let handle = self.insert(cold);
            self.digests.forget(handle.slot());
            copy.set_cold(handle);
        }
        copy
    }
    /// Turn all fragments of a datagram into the datagram, and free the fragments. None, and
    /// nothing is freed, if `pieces` are not from one datagram in this arena or do not cover it.
    /// The datagram has the TTL of the first in the list, and CE if any fragment has it (RFC 3168
    /// section 5.3).
    pub fn reassemble(&mut self, pieces: &mut Vec<Packet>) -> Option<Packet> {
        let datagram_of = |arena: &Arena, p: &Packet| p.cold_part(arena)?.piece?.datagram;
        let datagram = datagram_of(self, pieces.first()?)?;
        if pieces.iter().any(|p| datagram_of(self, p) != Some(datagram)) {
            return None;
        }
        let whole = self.datagrams.get(datagram.slot()).whole.bitwise_copy();
        let mut whole = self.duplicate(&whole);
        whole.set_ttl(pieces[0].ttl());
        let marked = pieces.iter().any(|p| p.ecn() == Ecn::Ce);
        whole.set_ecn(if marked { Ecn::Ce } else { pieces[0].ecn() });
        pieces.drain(..).for_each(|p| self.free(p));
        Some(whole)
    }
    /// Share `whole` between `pieces` fragments to be made.
    #[inline]
    pub(crate) fn share(&mut self, whole: Packet, pieces: u32) -> Handle {
        let name = self.next_name;
        self.next_name += 1;
        self.insert_datagram(Datagram { whole, pieces, name })
    }
    pub(crate) fn add_piece(&mut self, datagram: Handle) {
        self.datagrams.get_mut(datagram.slot()).pieces += 1;
    }
    /// The whole datagram that `piece` was cut from. `wire::emit` writes only the fragment's bytes
    /// of it.
    pub fn datagram_of(&self, piece: &FragmentRange) -> Option<&Packet> {
        piece.datagram.map(|d| &self.datagrams.get(d.slot()).whole)
    }

    /// Move the cold part of a packet into `packed`.
    #[cold]
    pub(super) fn pack_cold(&mut self, handle: Handle, packed: &mut PackedColds) {
        let cold = self.colds.remove(handle.slot());
        let datagram = cold.piece.and_then(|p| p.datagram);
        packed.colds.push_back(cold);
        let Some(at) = datagram else { return };
        let shared = self.datagrams.get_mut(at.slot());
        shared.pieces -= 1;
        let name = shared.name;
        let whole = if shared.pieces == 0 {
            self.remove_datagram(at).whole
        } else {
            let whole = shared.whole.bitwise_copy();
            self.duplicate(&whole)
        };
        let handle = whole.cold();
        packed.datagrams.push_back((name, whole));
        if handle != Handle::NONE {
            self.pack_cold(handle, packed);
        }
    }
    /// Take the next of `packed` into this arena.
    #[cold]
    pub(super) fn unpack_cold(&mut self, packed: &mut PackedColds) -> Handle {
        let mut cold = packed.colds.pop_front().expect("packed with its packet");
        if let Some(piece) = cold.piece.as_mut().filter(|p| p.datagram.is_some()) {
            let (name, mut whole) = packed.datagrams.pop_front().expect("packed with its piece");
            if whole.cold() != Handle::NONE {
                whole.set_cold(self.unpack_cold(packed));
            }
            piece.datagram = Some(self.join_datagram(name, whole));
        }
        let handle = self.insert(cold);
        self.digests.forget(handle.slot());
        handle
    }
    /// Count one more fragment of the datagram `name`. The first to come brings it, as `whole`.
    fn join_datagram(&mut self, name: u64, whole: Packet) -> Handle {
        let named = self.named.as_ref().expect("the arena of a partition");
        match named.get(&name).copied() {
            Some(at) => {
                self.add_piece(at);
                self.free(whole);
                at
            }
            None => self.insert_datagram(Datagram { whole, pieces: 1, name }),
        }
    }
    /// Number of cold parts and datagrams in use: zero when every packet has ended.
    pub fn live(&self) -> usize {
        self.colds.len() + self.datagrams.len()
    }

    /// Fold the cold part of `packet` into its digest. A fragment contributes its IP header, and
    /// its ports if it holds them.
    #[inline(never)]
    pub(crate) fn digest_cold(&self, packet: &Packet, hot: u64) -> u64 {
        if packet.kind() != Kind::Tcp {
            return self.digest_other(packet, hot);
        }
        let cold = self.cold(packet.cold());
        let small = cold.small_fields();
        let options = cold.ip_options.len() + cold.tcp_options.len();
        if (small, cold.flow_label, options) == (0, 0, 0) {
            return hot; // at most payload, which counts for nothing
        }
        let mut digest = Digest::of_fields(hot, small, cold);
        if cold.ip_options.is_empty() {
            digest.word(0); // as of any empty list
        } else {
            digest.options(&cold.ip_options);
        }
        digest.options(&cold.tcp_options);
        digest.finish()
    }
    /// The same of what is not a TCP segment.
    #[inline(never)]
    fn digest_other(&self, packet: &Packet, hot: u64) -> u64 {
        let cold = self.cold(packet.cold());
        let mut digest = Digest::of_fields(hot, cold.small_fields(), cold);
        digest.options(&cold.ip_options);
        digest.options(&cold.tcp_options);
        if let (Kind::Fragment, Some(piece)) = (packet.kind(), cold.piece) {
            digest.word(
                (piece.offset as u64) << 16 | (piece.more as u64) << 8 | piece.protocol as u64,
            );
        }
        if let (Some(body), Kind::Opaque) = (&cold.body, packet.kind()) {
            let fold = |digest: &mut Digest| digest.opaque(packet.version(), body);
            digest = self.digests.of(packet.cold().slot(), body, digest, fold);
        }
        digest.finish()
    }
}

impl Cold {
    /// The fields of up to 16 bits, in one word.
    #[inline(always)]
    fn small_fields(&self) -> u64 {
        let (id, id_above) = (self.ip_id & 0xffff, self.ip_id >> 16);
        (id_above as u64) << 48
            | (self.dscp as u64) << 40
            | (id as u64) << 24
            | (self.urgent as u64) << 8
            | self.tcp_reserved as u64
    }
}

impl Digest {
    /// Of what is before the options.
    #[inline(always)]
    fn of_fields(hot: u64, small: u64, cold: &Cold) -> Digest {
        let mut digest = Digest::default();
        digest.word(hot);
        digest.word(small);
        digest.word(cold.flow_label as u64);
        digest
    }
    #[inline(always)]
    fn options(&mut self, options: &OptionList) {
        self.word(options.len() as u64);
        options.words().for_each(|word| self.word(word));
    }
    /// Opaque bytes without what the packet itself overrules: TTL, ECN field, and the checksum that
    /// follows.
    fn opaque(&mut self, version: IpVersion, body: &[u8]) {
        let mut head = [0u8; 20];
        let (start, rest) = body.split_at(head.len().min(body.len()));
        head[..start.len()].copy_from_slice(start);
        match version {
            IpVersion::V4 => {
                head[1] &= 0b1111_1100;
                head[8] = 0;
                head[10..12].fill(0);
            }
            IpVersion::V6 => {
                head[1] &= 0b1100_1111;
                head[7] = 0;
            }
        }
        self.bytes(&head);
        self.bytes(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused_and_counted() {
        let mut arena = Arena::default();
        let first = arena.insert(Cold::default());
        assert_eq!(arena.live(), 1);
        arena.free_cold(first);
        assert_eq!(arena.live(), 0);
        assert_eq!(arena.insert(Cold::default()), first);
    }

    #[test]
    fn an_opaque_digest_sees_each_byte_once() {
        let mut arena = Arena::default();
        let mut bytes = [7u8; 24];
        bytes[0] = 0x45;
        let mut make = |bytes: &[u8]| {
            let cold = Cold { body: Some(bytes.into()), ..Cold::default() };
            let ends = (crate::Addr(1), crate::Addr(2));
            let packet = Packet::opaque(IpVersion::V4, ends, None, cold, &mut arena);
            packet.digest(&arena)
        };
        let digest = make(&bytes);
        for at in 1..bytes.len() {
            let mut changed = bytes;
            changed[at] ^= 2;
            // TTL, ECN and checksum are the packet's own fields.
            let own = matches!(at, 1 | 8 | 10 | 11);
            assert_eq!(make(&changed) == digest, own, "byte {at}");
        }
        bytes[1] ^= 4;
        assert_ne!(make(&bytes), digest, "DSCP");
    }

    /// Against an arena in which nothing was signed before.
    #[test]
    fn an_opaque_digest_is_of_what_is_there_now() {
        let bytes = |fill: u8| -> Arc<[u8]> {
            let mut bytes = [fill; 100];
            bytes[0] = 0x45;
            bytes.into()
        };
        let make = |fill, arena: &mut Arena| {
            let cold = Cold { body: Some(bytes(fill)), ..Cold::default() };
            Packet::opaque(IpVersion::V4, (crate::Addr(1), crate::Addr(2)), None, cold, arena)
        };
        let fresh = |fill, ecn| {
            let mut arena = Arena::default();
            let mut packet = make(fill, &mut arena);
            packet.set_ecn(ecn);
            packet.digest(&arena)
        };
        let mut arena = Arena::default();
        let mut packet = make(1, &mut arena);
        let slot = packet.cold();
        for ecn in [Ecn::NotEct, Ecn::NotEct, Ecn::Ce, Ecn::Ce, Ecn::NotEct] {
            packet.set_ecn(ecn);
            assert_eq!(packet.digest(&arena), fresh(1, ecn), "{ecn:?}");
        }
        let copy = arena.duplicate(&packet);
        packet.cold_mut(&mut arena).body = Some(bytes(2));
        assert_eq!(packet.digest(&arena), fresh(2, Ecn::NotEct), "changed");
        assert_eq!(copy.digest(&arena), fresh(1, Ecn::NotEct), "a copy");
        arena.free(packet);
        let next = make(3, &mut arena);
        assert_eq!(next.cold(), slot);
        assert_eq!(next.digest(&arena), fresh(3, Ecn::NotEct), "the next there");
    }

    #[test]
    fn a_mark_on_any_piece_marks_the_datagram() {
        let mut arena = Arena::default();
        let end = |addr| crate::Endpoint { addr: crate::Addr(addr), port: 9 };
        let fields = crate::TcpFields::default();
        let mut whole = Packet::tcp(IpVersion::V4, end(1), end(2), fields, 1000);
        whole.set_dont_fragment(false);
        whole.set_ecn(Ecn::Ect0);
        whole.cold_mut(&mut arena).ip_id = 1;
        let (first, mut second) = crate::cut_ipv4(whole, 576, &mut arena).unwrap();
        second.set_ecn(Ecn::Ce);
        let again = arena.reassemble(&mut alloc::vec![first, second]).unwrap();
        assert_eq!(again.ecn(), Ecn::Ce);
        arena.free(again);
        assert_eq!(arena.live(), 0);
    }

    #[test]
    #[should_panic(expected = "freed")]
    fn a_freed_handle_is_a_bug() {
        let mut arena = Arena::default();
        let handle = arena.insert(Cold::default());
        arena.free_cold(handle);
        arena.cold(handle);
    }
}
