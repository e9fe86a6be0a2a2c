//! Every packet that ends anywhere but at its destination ends for a named reason.

use crate::arena::Arena;
use crate::packet::Packet;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident => $text:literal),* $(,)?) => {
        /// Why a packet was dropped.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
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
    /// Longer than the link's MTU, and not to be fragmented.
    TooBig => "too_big",
    /// A cache had no room.
    CacheFull => "cache_full",
    /// No socket at the destination takes it.
    NoSocket => "no_socket",
    /// Reassembly gave up: a missing piece, a conflict, or too many datagrams at once.
    Reassembly => "reassembly",
    /// The bytes could not be parsed.
    Malformed => "malformed",
}

/// Counts drops by reason and gives the packets' memory back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropLog {
    counts: [u64; DropReason::ALL.len()],
}

impl DropLog {
    /// Drop `packet` for `reason`.
    pub fn record(&mut self, packet: Packet, reason: DropReason, arena: &mut Arena) {
        arena.free(packet);
        self.counts[reason as usize] += 1;
    }
    /// Count `packets` whose memory has been given back already.
    pub fn count_only(&mut self, reason: DropReason, packets: u64) {
        self.counts[reason as usize] += packets;
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
    }
}
