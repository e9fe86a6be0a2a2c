//! Putting fragments together again (RFC 791 section 3.2, RFC 815, RFC 8200 section 4.5), within
//! bounds.
//!
//! A fragment that overlaps another, and fragments that disagree about the length of the datagram,
//! end the whole datagram (RFC 5722's rule for IPv6, safe for IPv4). An exact duplicate ends only
//! itself; so does a fragment that no datagram can have: without payload, not the last and no
//! multiple of 8 bytes long, or beyond 65 535 bytes. As in Linux, while the memory is full no
//! fragment is taken, not even one that would complete a datagram.
//!
//! Two datagrams with the same identification may be mixed up (RFC 4963). The fragments are put
//! together by their bytes then, and the checksum of TCP decides.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Addr, Arena, DropLog, DropReason, Ecn, IpVersion, Packet, Span, Time};
use forebay_wire::AddressPlan;

/// Bounds of the reassembly of a host. The default is that of Linux 6.18 for IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblyLimits {
    /// How long a datagram may stay incomplete: `net.ipv4.ipfrag_time`, 30 s. (RFC 1122 section
    /// 3.3.2 asks for 60 to 120 s.)
    pub timeout: Span,
    /// No fragment is taken while those held take more memory than this, as [`piece_memory`]
    /// counts: `net.ipv4.ipfrag_high_thresh`, 4 MiB.
    pub memory_bytes: u64,
    /// The held fragments of a datagram are dropped when its next fragment comes, if that is more
    /// than this many fragments of its source after its last one: `net.ipv4.ipfrag_max_dist`, 64. 0
    /// turns it off. Nothing of this in IPv6, whose identifications do not come round so soon.
    pub max_distance: u32,
}

impl ReassemblyLimits {
    /// The default of hosts of this IP version: with IPv6 a datagram may stay incomplete for 60 s
    /// (RFC 8200 section 4.5; `net.ipv6.ip6frag_time`).
    pub fn of(version: IpVersion) -> ReassemblyLimits {
        let limits = ReassemblyLimits::default();
        match version {
            IpVersion::V4 => limits,
            IpVersion::V6 => ReassemblyLimits { timeout: Span::from_secs(60), ..limits },
        }
    }
}

impl Default for ReassemblyLimits {
    fn default() -> Self {
        let timeout = Span::from_secs(30);
        ReassemblyLimits { timeout, memory_bytes: 4 << 20, max_distance: 64 }
    }
}

/// Memory that Linux counts for a fragment of `wire_len` bytes, on a 64-bit machine: 256 bytes of
/// `sk_buff`, and a power of two that holds the packet with 14 bytes of Ethernet, 64 of headroom
/// and 320 of `skb_shared_info`. So 2834 first fragments of 420 bytes, each with the
/// [`DATAGRAM_MEMORY`] of its datagram, fill 4 MiB, which is what Linux 6.18 was measured to do.
pub fn piece_memory(wire_len: u16) -> u64 {
    256 + (u64::from(wire_len) + 14 + 64 + 320).next_power_of_two()
}

/// Memory that Linux counts for a datagram besides its fragments (`struct ipq`), in bytes.
pub const DATAGRAM_MEMORY: u64 = 200;

/// Longest datagram, in bytes.
const MAX_DATAGRAM: u32 = u16::MAX as u32;

/// Source, destination, protocol and identification of a datagram, from the high bits down: one
/// number, because maps compare keys many times per fragment. IPv6 fragments of one datagram may
/// name different protocols (RFC 8200 section 4.5), and have [`ANY_PROTOCOL`] here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    fn new(src: Addr, dst: Addr, protocol: u8, ip_id: u32) -> Key {
        let addresses = u128::from(src.0) << 32 | u128::from(dst.0);
        Key(addresses << 40 | u128::from(protocol) << 32 | u128::from(ip_id))
    }
    fn src(self) -> Addr {
        Addr((self.0 >> 72) as u32)
    }
    /// The lowest of this source.
    fn lowest(src: Addr) -> Key {
        Key::new(src, Addr(0), 0, 0)
    }
}

/// Reserved by IANA: no datagram has it.
const ANY_PROTOCOL: u8 = 255;

/// A datagram of which fragments are held.
struct Partial {
    /// Number in the order in which datagrams began.
    number: u64,
    /// In order of offset, none overlapping another.
    pieces: Vec<Packet>,
    /// Payload of all fragments, in bytes.
    held_bytes: u32,
    /// Where it ends, if the last fragment is here.
    end: Option<u32>,
    /// Fragments that had come from its source when its last one came.
    came: u64,
}

impl Partial {
    fn is_whole(&self) -> bool {
        self.end == Some(self.held_bytes) // for they do not overlap
    }
    fn memory(&self) -> u64 {
        let pieces = self.pieces.iter().map(|p| piece_memory(p.wire_len()));
        DATAGRAM_MEMORY + pieces.sum::<u64>()
    }
    /// Why it is given up when its time is over.
    fn what_is_missing(&self, arena: &Arena) -> DropReason {
        if self.pieces.first().is_some_and(|first| Range::of(first, arena).first == 0) {
            DropReason::FragmentMissing
        } else {
            DropReason::FirstFragmentMissing
        }
    }
}

/// Where a fragment lies in its datagram.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u32,
    /// The byte after the last.
    end: u32,
    /// Fragments follow.
    more: bool,
}

impl Range {
    fn of(piece: &Packet, arena: &Arena) -> Range {
        let part = piece.cold_part(arena).and_then(|c| c.piece).expect("only pieces are kept");
        let first = u32::from(part.offset);
        Range { first, end: first + u32::from(piece.payload_len()), more: part.more }
    }
    /// No datagram has such a fragment.
    fn is_malformed(&self, header_len: u16) -> bool {
        let len = self.end - self.first;
        len == 0
            || self.more && !len.is_multiple_of(8)
            || u32::from(header_len) + self.end > MAX_DATAGRAM
    }
}

/// The fate of a fragment that is not held.
enum Fit {
    /// It goes in at this place.
    At(usize),
    /// It is held already.
    Duplicate,
    /// It contradicts them.
    Conflict,
}

/// Where a fragment belongs among those of `partial`.
fn fit(partial: &Partial, new: Range, arena: &Arena) -> Fit {
    let at = partial.pieces.partition_point(|p| Range::of(p, arena).first < new.first);
    let before = at.checked_sub(1).map(|i| Range::of(&partial.pieces[i], arena));
    let after = partial.pieces.get(at).map(|p| Range::of(p, arena));
    if after == Some(new) {
        return Fit::Duplicate;
    }
    let overlaps =
        before.is_some_and(|b| b.end > new.first) || after.is_some_and(|a| a.first < new.end);
    // None follows the last fragment.
    let beyond = partial.end.is_some_and(|end| new.end > end || !new.more);
    let is_last = !new.more && after.is_some();
    if overlaps || beyond || is_last { Fit::Conflict } else { Fit::At(at) }
}

/// The reassembly buffer of a host.
#[derive(Default)]
pub struct Reassembly {
    limits: ReassemblyLimits,
    /// Made when the first fragment comes.
    held: Option<Box<Held>>,
}

#[derive(Default)]
struct Held {
    partial: BTreeMap<Key, Partial>,
    /// When those began, by their numbers: the first is the oldest.
    since: BTreeMap<u64, (Time, Key)>,
    /// Datagrams that have begun so far.
    begun: u64,
    /// Fragments that have come so far, by source: of those of which fragments are held.
    came: BTreeMap<Addr, u64>,
    /// Memory of all that is held.
    memory: u64,
}

impl Reassembly {
    /// A buffer with these bounds.
    pub fn new(limits: ReassemblyLimits) -> Reassembly {
        Reassembly { limits, held: None }
    }

    /// A fragment came. The datagram and the number of its fragments, if this was the last one;
    /// with CE if any fragment had it (RFC 3168 section 5.3). What is dropped is counted in
    /// `drops`.
    pub fn on_piece(
        &mut self,
        now: Time,
        packet: Packet,
        plan: &AddressPlan,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Option<(Packet, u64)> {
        let pieces = self.take_pieces(now, packet, arena, drops)?;
        join(pieces, plan, arena, drops)
    }
    /// The same without reassembly: all fragments of the datagram, in order of offset.
    pub(crate) fn take_pieces(
        &mut self,
        now: Time,
        packet: Packet,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Option<Vec<Packet>> {
        let limits = self.limits;
        let held = self.held.get_or_insert_default();
        held.expire(now, limits.timeout, arena, drops);
        let range = Range::of(&packet, arena);
        if range.is_malformed(packet.header_len()) {
            drops.record(packet, DropReason::Malformed, arena);
            return None;
        }
        if held.memory > limits.memory_bytes {
            drops.record(packet, DropReason::ReassemblyFull, arena);
            return None;
        }
        let cold = packet.cold_part(arena).expect("a piece has a cold part");
        let piece = cold.piece.expect("a piece says which");
        let is_v4 = packet.version() == IpVersion::V4;
        let protocol = if is_v4 { piece.protocol } else { ANY_PROTOCOL };
        let key = Key::new(packet.src(), packet.dst(), protocol, cold.ip_id);
        let came = held.count(packet.src());
        let last_came = held.partial.get(&key).map_or(came, |partial| partial.came);
        if is_v4 && limits.max_distance > 0 && came - last_came > u64::from(limits.max_distance) {
            held.give_up(key, DropReason::FragmentTooDistant, arena, drops);
        }
        held.add(key, (now, came), packet, arena, drops)
    }

    /// Fragments held.
    pub fn held_packets(&self) -> u64 {
        let partial = self.held.iter().flat_map(|held| held.partial.values());
        partial.map(|p| p.pieces.len() as u64).sum()
    }
}

impl Held {
    /// Fragments that have come from `src` so far, with one that comes now.
    fn count(&self, src: Addr) -> u64 {
        self.came.get(&src).map_or(1, |came| came + 1)
    }
    /// Put a fragment to those of its datagram; `at` is now, and how many have come from its
    /// source. All of them, if the datagram is whole now.
    fn add(
        &mut self,
        key: Key,
        at: (Time, u64),
        packet: Packet,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Option<Vec<Packet>> {
        let range = Range::of(&packet, arena);
        if !self.partial.contains_key(&key) {
            self.begin(key, at.0);
        }
        let partial = self.partial.get_mut(&key)?;
        partial.came = at.1;
        self.came.insert(key.src(), at.1);
        match fit(partial, range, arena) {
            Fit::Duplicate => {
                drops.record(packet, DropReason::FragmentDuplicate, arena);
                return None;
            }
            Fit::Conflict => {
                drops.record(packet, DropReason::FragmentOverlap, arena);
                self.give_up(key, DropReason::FragmentOverlap, arena, drops);
                return None;
            }
            Fit::At(at) => {
                self.memory += piece_memory(packet.wire_len());
                partial.pieces.insert(at, packet);
            }
        }
        partial.held_bytes += range.end - range.first;
        if !range.more {
            partial.end = Some(range.end);
        }
        let whole = partial.is_whole();
        whole.then(|| self.remove(key))
    }
    fn begin(&mut self, key: Key, now: Time) {
        self.begun += 1;
        self.memory += DATAGRAM_MEMORY;
        self.since.insert(self.begun, (now, key));
        let (pieces, number) = (Vec::new(), self.begun);
        self.partial.insert(key, Partial { number, pieces, held_bytes: 0, end: None, came: 0 });
    }
    /// The fragments held of a datagram; none are held any more.
    fn remove(&mut self, key: Key) -> Vec<Packet> {
        let Some(partial) = self.partial.remove(&key) else { return Vec::new() };
        self.since.remove(&partial.number);
        self.memory -= partial.memory();
        let src = key.src();
        let others = self.partial.range(Key::lowest(src)..);
        if others.map(|(other, _)| other.src()).next() != Some(src) {
            self.came.remove(&src);
        }
        partial.pieces
    }
    fn give_up(&mut self, key: Key, reason: DropReason, arena: &mut Arena, drops: &mut DropLog) {
        for piece in self.remove(key) {
            drops.record(piece, reason, arena);
        }
    }
    fn expire(&mut self, now: Time, timeout: Span, arena: &mut Arena, drops: &mut DropLog) {
        while let Some((_, &(since, key))) = self.since.first_key_value() {
            if now.since(since) < timeout {
                return;
            }
            let reason = self.partial[&key].what_is_missing(arena);
            self.give_up(key, reason, arena, drops);
        }
    }
}

/// The datagram that `pieces` are all of, and their number. None, and they are dropped, if they are
/// not of one datagram.
pub(crate) fn join(
    mut pieces: Vec<Packet>,
    plan: &AddressPlan,
    arena: &mut Arena,
    drops: &mut DropLog,
) -> Option<(Packet, u64)> {
    let count = pieces.len() as u64;
    let marked = pieces.iter().any(|p| p.ecn() == Ecn::Ce);
    let ttl = pieces.iter().map(Packet::ttl).min();
    let id = pieces.first().and_then(|p| p.cold_part(arena)).map_or(0, |cold| cold.ip_id);
    let mut whole = match arena.reassemble(&mut pieces) {
        Some(whole) => whole,
        // Only their bytes are known, or they are not of one datagram.
        None => match forebay_wire::join(&mut pieces, plan, arena) {
            Ok(whole) => whole,
            Err(_) => {
                pieces.drain(..).for_each(|p| drops.record(p, DropReason::Malformed, arena));
                return None;
            }
        },
    };
    if marked {
        whole.set_ecn(Ecn::Ce); // RFC 3168 section 5.3
    }
    if let Some(ttl) = ttl {
        whole.set_ttl(ttl);
    }
    // Where a router put the Fragment headers in. Their identification is that of the datagram.
    whole.add_fragment_header(id, arena);
    Some((whole, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use forebay_base::{Cold, Endpoint, FragmentRange, Kind, TcpFields, cut_ipv4, cut_ipv6};

    const UDP: u8 = 17;

    /// A buffer and all that it works with.
    #[derive(Default)]
    struct Bench {
        buffer: Reassembly,
        arena: Arena,
        drops: DropLog,
        plan: AddressPlan,
        now: Time,
    }

    impl Bench {
        fn give(&mut self, packet: Packet) -> Option<(Packet, u64)> {
            let Bench { buffer, arena, drops, plan, now } = self;
            buffer.on_piece(*now, packet, plan, arena, drops)
        }
        /// A fragment of UDP with bytes of its own. Length of the datagram, if that made it whole.
        fn piece(&mut self, ip_id: u32, first: u16, len: u16, more: bool) -> Option<u16> {
            let body = vec![first as u8; usize::from(len)];
            let piece = Some(FragmentRange::from_outside(first, more, UDP));
            let cold = Cold { ip_id, piece, body: Some(body.into()), ..Cold::default() };
            let ends = (Addr(1), Addr(2));
            let packet = Packet::piece(IpVersion::V4, ends, 20 + len, None, cold, &mut self.arena);
            let (whole, _) = self.give(packet)?;
            let len = whole.wire_len();
            self.arena.free(whole);
            Some(len)
        }
        /// Reasons with a count.
        fn dropped(&self) -> Vec<(DropReason, u64)> {
            let counts = DropReason::ALL.iter().map(|&reason| (reason, self.drops.count(reason)));
            counts.filter(|&(_, count)| count > 0).collect()
        }
        /// Everything that was given has ended.
        fn is_empty(&self) -> bool {
            let rest = self
                .buffer
                .held
                .as_ref()
                .map_or((0, 0, 0), |held| (held.memory, held.came.len(), held.since.len()));
            (self.buffer.held_packets(), self.arena.live(), rest) == (0, 0, (0, 0, 0))
        }
    }

    #[test]
    fn pieces_in_any_order_make_the_datagram_and_a_duplicate_ends_itself() {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for order in orders {
            let mut bench = Bench::default();
            let mut whole = None;
            for (nth, piece) in order.into_iter().enumerate() {
                assert_eq!(whole, None);
                let (first, len, more) = [(0, 16, true), (16, 8, true), (24, 5, false)][piece];
                whole = bench.piece(7, first, len, more);
                if nth < 2 {
                    assert_eq!(bench.piece(7, first, len, more), None, "again");
                }
            }
            assert_eq!(whole, Some(49), "{order:?}");
            assert_eq!(bench.dropped(), [(DropReason::FragmentDuplicate, 2)]);
            assert!(bench.is_empty());
        }
    }

    /// Each list ends with the fragment that contradicts those before it.
    #[test]
    fn pieces_that_overlap_or_disagree_about_the_length_end_the_datagram() {
        let cases: [&[(u16, u16, bool)]; 9] = [
            &[(0, 16, true), (8, 16, true)],
            &[(8, 16, true), (0, 16, true)],
            &[(0, 32, true), (8, 8, true)],
            &[(8, 8, true), (0, 32, true)],
            &[(0, 16, true), (0, 8, true)],
            &[(16, 8, false), (24, 8, false)],
            &[(16, 8, false), (24, 8, true)],
            &[(16, 8, true), (8, 8, false)],
            &[(16, 8, true), (16, 8, false)],
        ];
        for case in cases {
            let mut bench = Bench::default();
            for &(first, len, more) in case {
                assert_eq!(bench.piece(7, first, len, more), None);
            }
            assert_eq!(
                bench.dropped(),
                [(DropReason::FragmentOverlap, case.len() as u64)],
                "{case:?}"
            );
            assert!(bench.is_empty());
        }
    }

    #[test]
    fn a_piece_that_no_datagram_can_have_ends_itself() {
        let mut bench = Bench::default();
        assert_eq!(bench.piece(7, 0, 16, true), None);
        assert_eq!(bench.piece(7, 16, 0, true), None);
        assert_eq!(bench.piece(7, 16, 0, false), None);
        assert_eq!(bench.piece(7, 16, 12, true), None);
        assert_eq!(bench.piece(7, 65_512, 4, false), None); // 20 + 65 516
        assert_eq!(bench.dropped(), [(DropReason::Malformed, 4)]);
        assert_eq!(bench.piece(7, 16, 12, false), Some(48));
        assert_eq!(bench.piece(8, 65_512, 3, false), None);
        assert_eq!((bench.drops.total(), bench.buffer.held_packets()), (4, 1));
    }

    /// Linux 6.18, measured: 2834 first fragments of 420 bytes fill 4 MiB. Then nothing is taken
    /// until their 30 s are over.
    #[test]
    fn memory_is_full_when_that_of_linux_is_and_until_time_is_over() {
        let mut bench = Bench::default();
        for id in 0..3000 {
            assert_eq!(bench.piece(id, 0, 400, true), None);
        }
        assert_eq!(bench.buffer.held_packets(), 2834);
        assert_eq!(bench.piece(0, 400, 8, false), None, "the tail of one that is held");
        assert_eq!(bench.dropped(), [(DropReason::ReassemblyFull, 3000 - 2834 + 1)]);
        bench.now = Time::from_millis(29_999);
        assert_eq!(bench.piece(4000, 0, 400, true), None);
        assert_eq!(bench.drops.count(DropReason::ReassemblyFull), 3000 - 2834 + 2);
        bench.now = Time::from_secs(30);
        assert_eq!(bench.piece(4000, 0, 400, true), None);
        assert_eq!(bench.piece(4000, 400, 8, false), Some(428));
        assert_eq!(bench.drops.count(DropReason::FragmentMissing), 2834);
        assert!(bench.is_empty());
    }

    #[test]
    fn what_misses_has_a_name_when_time_is_over() {
        let timeout = Span::from_millis(200);
        let limits = ReassemblyLimits { timeout, ..ReassemblyLimits::default() };
        let mut bench = Bench { buffer: Reassembly::new(limits), ..Bench::default() };
        bench.piece(1, 0, 8, true);
        bench.piece(1, 16, 8, true);
        bench.piece(2, 8, 8, false);
        bench.now = Time::from_millis(199);
        bench.piece(3, 0, 8, true);
        assert_eq!(bench.dropped(), []);
        bench.now = Time::from_millis(200);
        assert_eq!(bench.piece(3, 8, 8, false), Some(36));
        let expected = [(DropReason::FragmentMissing, 2), (DropReason::FirstFragmentMissing, 1)];
        assert_eq!(bench.dropped(), expected);
        assert!(bench.is_empty());
    }

    /// Linux, `ip_frag_too_far`: the next fragment of a datagram is the 64th of its source after
    /// its last one, at most.
    #[test]
    fn a_piece_that_comes_after_many_others_begins_anew() {
        for (others, whole) in [(63, Some(36)), (64, None)] {
            let mut bench = Bench::default();
            bench.piece(9, 0, 8, true);
            (0..others).for_each(|id| assert_eq!(bench.piece(100 + id, 8, 8, true), None));
            assert_eq!(bench.piece(9, 8, 8, false), whole, "{others}");
            assert_eq!(
                bench.drops.count(DropReason::FragmentTooDistant),
                u64::from(whole.is_none())
            );
        }
        let limits = ReassemblyLimits { max_distance: 0, ..ReassemblyLimits::default() };
        let mut bench = Bench { buffer: Reassembly::new(limits), ..Bench::default() };
        bench.piece(9, 0, 8, true);
        (0..1000).for_each(|id| assert_eq!(bench.piece(100 + id, 8, 8, true), None));
        assert_eq!(bench.piece(9, 8, 8, false), Some(36));
    }

    /// A fragment of IPv6 with bytes of its own, of that next header.
    fn piece_v6(bench: &mut Bench, id: u32, next_header: u8, at: (u16, u16, bool)) -> Option<u16> {
        let (first, len, more) = at;
        let body = Some(vec![first as u8; usize::from(len)].into());
        let piece = Some(FragmentRange::from_outside(first, more, next_header));
        let cold = Cold { ip_id: id, piece, body, ..Cold::default() };
        let ends = (Addr(1), Addr(2));
        let packet = Packet::piece(IpVersion::V6, ends, 48 + len, None, cold, &mut bench.arena);
        let (whole, _) = bench.give(packet)?;
        let len = whole.wire_len();
        bench.arena.free(whole);
        Some(len)
    }

    /// RFC 8200 section 4.5: fragments belong together by addresses and all 32 bits of the
    /// identification, whatever their next header; a fragment that overlaps ends all (RFC 5722), an
    /// exact duplicate itself; a fragment that is not the last has a multiple of 8 bytes; a
    /// datagram waits for 60 s. The identification of IPv4 comes round, that of IPv6 does not: no
    /// distance ends it.
    #[test]
    fn pieces_of_ipv6_are_put_together_by_the_rules_of_rfc_8200() {
        let limits = ReassemblyLimits::of(IpVersion::V6);
        let mut bench = Bench { buffer: Reassembly::new(limits), ..Bench::default() };
        let id = 0x0001_0007;
        assert_eq!(piece_v6(&mut bench, id, UDP, (0, 16, true)), None);
        assert_eq!(piece_v6(&mut bench, id & 0xffff, UDP, (16, 5, false)), None, "of another");
        assert_eq!(piece_v6(&mut bench, id, UDP, (0, 16, true)), None, "again");
        (0..200).for_each(|n| assert_eq!(piece_v6(&mut bench, 900 + n, UDP, (8, 8, true)), None));
        assert_eq!(piece_v6(&mut bench, id, 60, (16, 5, false)), Some(48 + 21));
        assert_eq!(bench.dropped(), [(DropReason::FragmentDuplicate, 1)]);
        assert_eq!(piece_v6(&mut bench, 8, UDP, (0, 16, true)), None);
        assert_eq!(piece_v6(&mut bench, 8, UDP, (8, 16, false)), None);
        assert_eq!(bench.drops.count(DropReason::FragmentOverlap), 2);
        assert_eq!(piece_v6(&mut bench, 9, UDP, (0, 12, true)), None);
        assert_eq!(piece_v6(&mut bench, 9, UDP, (65_480, 8, false)), None); // 48 + 65 488
        assert_eq!(bench.drops.count(DropReason::Malformed), 2);
        bench.now = Time::from_millis(59_999);
        assert_eq!(piece_v6(&mut bench, id & 0xffff, UDP, (0, 16, true)), Some(48 + 21));
        bench.now = Time::from_secs(60);
        assert_eq!(piece_v6(&mut bench, 999, UDP, (0, 8, true)), None);
        assert_eq!(bench.drops.count(DropReason::FirstFragmentMissing), 200);
    }

    /// A router that is not the source has put the Fragment headers in: the segment has one, too.
    #[test]
    fn a_segment_of_ipv6_keeps_the_identification_of_its_pieces() {
        let mut bench = Bench::default();
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let packet = Packet::tcp(IpVersion::V6, end(1), end(2), TcpFields::default(), 1000);
        let (lead, tail) = cut_ipv6(packet, 400, Some(0xabcd_ef01), &mut bench.arena).unwrap();
        assert!(bench.give(tail).is_none());
        let (whole, pieces) = bench.give(lead).expect("it is whole");
        let id = whole.cold_part(&bench.arena).map(|cold| cold.ip_id);
        assert_eq!((whole.kind(), whole.payload_len(), pieces), (Kind::Tcp, 1000, 2));
        assert_eq!(id, Some(0xabcd_ef01));
        bench.arena.free(whole);
        assert!(bench.is_empty());
    }

    fn segment(seq: u32, arena: &mut Arena) -> (Packet, Packet) {
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let fields = TcpFields { seq, ..TcpFields::default() };
        let mut packet = Packet::tcp(IpVersion::V4, end(1), end(2), fields, 1000);
        packet.set_dont_fragment(false);
        packet.cold_mut(arena).ip_id = 77;
        cut_ipv4(packet, 400, arena).expect("it may be cut")
    }

    /// The identification has come round: the first fragment of one segment and the tail of another
    /// are a datagram with a wrong checksum, which is not a TCP segment (RFC 4963). Where both were
    /// the same segment, sent twice, it is that segment.
    #[test]
    fn pieces_of_two_datagrams_are_judged_by_the_checksum_of_tcp() {
        for (second_seq, kind) in [(5000, Kind::Opaque), (1, Kind::Tcp)] {
            let mut bench = Bench::default();
            let (lead, lost) = segment(1, &mut bench.arena);
            let (again, tail) = segment(second_seq, &mut bench.arena);
            bench.arena.free(lost);
            assert!(bench.give(lead).is_none());
            assert!(bench.give(again).is_none());
            let (whole, pieces) = bench.give(tail).expect("it looks whole");
            assert_eq!((whole.kind(), whole.wire_len(), pieces), (kind, 1040, 2));
            assert_eq!(whole.protocol(&bench.arena), 6);
            bench.arena.free(whole);
            assert_eq!(bench.dropped(), [(DropReason::FragmentDuplicate, 1)]);
            assert!(bench.is_empty());
        }
    }
}
