//! Where every packet is.

/// Counters of the fabric.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub sent: u64,
    pub split: u64,
    pub delivered: u64,
    pub entered: u64,
    pub left: u64,
}

/// Where every packet is. Each fragment counts as a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conservation {
    /// Packets made by hosts and routers.
    pub sent: u64,
    /// Packets that came from outside the network. Not those from other partitions.
    pub entered: u64,
    /// Packets made by cutting: one for each cut.
    pub split: u64,
    /// Packets that came to the host they were for.
    pub delivered: u64,
    /// Packets that left the network over a link that ends outside. Not those to other partitions.
    pub left: u64,
    /// Packets dropped, for any reason.
    pub dropped: u64,
    /// Packets in queues, caches, reassembly, transmission and on wires.
    pub held: u64,
    /// Cold parts of packets alive.
    pub cold_parts: u64,
}

impl Conservation {
    /// The sum of two partitions of a network.
    pub fn with(self, other: Conservation) -> Conservation {
        Conservation {
            sent: self.sent + other.sent,
            entered: self.entered + other.entered,
            split: self.split + other.split,
            delivered: self.delivered + other.delivered,
            left: self.left + other.left,
            dropped: self.dropped + other.dropped,
            held: self.held + other.held,
            cold_parts: self.cold_parts + other.cold_parts,
        }
    }
    /// True if packets are conserved, and no cold part is left when no packet is left.
    pub fn holds(&self) -> bool {
        let came = self.sent + self.entered + self.split;
        let balanced = came == self.delivered + self.left + self.dropped + self.held;
        balanced && (self.held > 0 || self.cold_parts == 0)
    }
}
