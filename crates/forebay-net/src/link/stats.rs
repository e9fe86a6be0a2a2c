//! Counters of a link.

use forebay_base::{Histogram, Span};

/// Counts and times of one link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[repr(C)] // what a packet that did not wait touches is in the first 64 bytes
pub struct LinkStats {
    /// Packets taken for transmission. Includes packets that still wait if their departures are
    /// known.
    pub packets: u64,
    /// Their bytes, per-packet overhead included.
    pub bytes: u64,
    /// Transmission time of those packets.
    pub busy: Span,
    /// Packets in which the port set CE.
    pub marked: u64,
    /// Packets lost on the wire or in transmission: by loss or because the link went down.
    pub lost: u64,
    /// How long packets waited before transmission, counted when it starts.
    pub waits: Histogram,
}

impl LinkStats {
    #[inline]
    pub(crate) fn transmitted(&mut self, bytes: u64, took: Span) {
        self.packets += 1;
        self.bytes += bytes;
        self.busy += took;
    }
}
