//! Drops: every packet that does not reach its destination ends for a named reason.

use crate::packet::{Arena, Packet};
use alloc::vec::Vec;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident => $text:literal),* $(,)?) => {
        /// Why a packet was dropped.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum DropReason { $($(#[$doc])* $name),* }
        impl DropReason {
            /// All reasons in order.
            pub const ALL: &'static [DropReason] = &[$(DropReason::$name),*];
            /// The name used in results.
            pub const fn name(self) -> &'static str {
                match self { $(DropReason::$name => $text),* }
            }
        }
    };
}

reasons! {
    /// The queue had no room.
    Full => "full",
    /// An active queue management dropped it before the queue was full.
    Early => "early",
    /// The link lost it.
    Loss => "loss",
    /// It was on the wire, or came to a port, while the link was down.
    LinkDown => "link_down",
    /// It was held by, or came to, a node that restarted.
    NodeRestart => "node_restart",
    /// No route to its destination.
    NoRoute => "no_route",
    /// Its time to live ran out.
    Ttl => "ttl",
    /// Longer than the link's MTU, and a router may not cut it: DF is set, or it is IPv6; or the
    /// MTU has no room for 8 bytes after its IP header.
    TooBig => "too_big",
    /// A cache had no room.
    CacheFull => "cache_full",
    /// A copy of a packet that waits in the cache that it came to.
    CacheDuplicate => "cache_duplicate",
    /// An ACK that waited at an INRPP router for its turn: a newer one of its flow that says all
    /// that it did has its place.
    AckReplaced => "ack_replaced",
    /// No socket at the destination takes it.
    NoSocket => "no_socket",
    /// A middlebox on the link passes no fragments.
    Middlebox => "middlebox",
    /// A fragment of a datagram whose first fragment came, and of which another did not in time.
    FragmentMissing => "fragment_missing",
    /// A fragment of a datagram whose first fragment did not come in time.
    FirstFragmentMissing => "first_fragment_missing",
    /// A fragment of a datagram whose fragments overlap, or disagree about its length.
    FragmentOverlap => "fragment_overlap",
    /// A fragment that was held already.
    FragmentDuplicate => "fragment_duplicate",
    /// A fragment of a datagram of which another came much later: their source had sent many
    /// others.
    FragmentTooDistant => "fragment_too_distant",
    /// A fragment that came while the memory for reassembly was full.
    ReassemblyFull => "reassembly_full",
    /// A TCP segment whose checksum is wrong, as that of fragments of two datagrams is.
    Checksum => "checksum",
    /// The bytes could not be parsed.
    Malformed => "malformed",
    /// The receiver held as many ranges out of order as it may, and it would have begun one more.
    TooManyRanges => "too_many_ranges",
    /// Its data sequence mapping is not as long as its payload (multipath).
    BadMapping => "bad_mapping",
}

/// Counts drops by reason, and packets marked with CE. Frees dropped packets; or keeps them for a
/// driver that shows them to an observer and frees them.
#[derive(Debug, Default)]
pub struct DropLog {
    counts: [u64; DropReason::ALL.len()],
    keeps: bool,
    /// Dropped, counted, not freed yet; empty unless `keeps`.
    kept: Vec<(Packet, DropReason)>,
    /// Packets that a queue marked with CE instead of dropping them.
    ce_marks: u64,
}

impl DropLog {
    /// A log that keeps the packets until [`DropLog::take_kept`].
    pub fn keeping() -> DropLog {
        DropLog { keeps: true, ..DropLog::default() }
    }
    /// Drop `packet` for `reason`.
    pub fn record(&mut self, packet: Packet, reason: DropReason, arena: &mut Arena) {
        self.counts[reason as usize] += 1;
        if self.keeps {
            self.kept.push((packet, reason));
        } else {
            arena.free(packet);
        }
    }
    /// True if there are packets to take.
    #[inline]
    pub fn has_kept(&self) -> bool {
        !self.kept.is_empty()
    }
    /// The packets to take, in order.
    pub fn kept(&self) -> &[(Packet, DropReason)] {
        &self.kept
    }
    /// The packets dropped since the last call, in order. The caller frees them.
    pub fn take_kept(&mut self) -> Vec<(Packet, DropReason)> {
        core::mem::take(&mut self.kept)
    }
    /// Count `packets` that were freed already.
    pub fn count_only(&mut self, reason: DropReason, packets: u64) {
        self.counts[reason as usize] += packets;
    }
    /// A queue has set CE in a packet.
    #[inline]
    pub fn count_ce_mark(&mut self) {
        self.ce_marks += 1;
    }
    /// Packets in which queues have set CE (RFC 3168 section 5); one that is marked twice counts
    /// once.
    pub fn ce_marks(&self) -> u64 {
        self.ce_marks
    }
    /// Packets dropped for `reason`.
    pub fn count(&self, reason: DropReason) -> u64 {
        self.counts[reason as usize]
    }
    /// Packets dropped for any reason.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
    /// Add another log's counts.
    pub fn add(&mut self, other: &DropLog) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.ce_marks += other.ce_marks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Addr, Cold, IpVersion};

    fn packet(arena: &mut Arena) -> Packet {
        let cold = Cold { body: Some([0x45; 20].into()), ..Cold::default() };
        Packet::opaque(IpVersion::V4, (Addr(1), Addr(2)), None, cold, arena)
    }

    #[test]
    fn what_is_kept_is_counted_at_once_and_freed_by_its_taker() {
        let (mut arena, mut freeing, mut keeping) =
            (Arena::default(), DropLog::default(), DropLog::keeping());
        let (one, other) = (packet(&mut arena), packet(&mut arena));
        freeing.record(one, DropReason::Loss, &mut arena);
        keeping.record(other, DropReason::Ttl, &mut arena);
        assert_eq!((freeing.has_kept(), keeping.has_kept()), (false, true));
        assert_eq!((freeing.total(), keeping.total(), arena.live()), (1, 1, 1));
        let mut kept = keeping.take_kept();
        assert_eq!(kept.len(), 1);
        let (packet, reason) = kept.remove(0);
        assert_eq!(reason, DropReason::Ttl);
        arena.free(packet);
        assert_eq!((arena.live(), keeping.has_kept()), (0, false));
    }
}
