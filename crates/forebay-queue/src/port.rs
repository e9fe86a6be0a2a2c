//! Inputs to build the machines of a port, and their context at run time.

use crate::limit::Limit;
use forebay_base::{Arena, DropLog, DropReason, Ecn, Packet, Rate, Rng, Time};

/// Inputs to build a port.
#[derive(Clone, Debug)]
pub struct PortInit {
    /// The limit of its queue.
    pub limit: Limit,
    /// The rate of the link at the start; of a delivery trace, the mean.
    pub rate: Rate,
    /// Longest IP packet on the link, in bytes.
    pub mtu_bytes: u16,
    /// Framing overhead of the link per packet, in bytes (PPP 2, Ethernet 38).
    pub overhead_bytes: u16,
    /// Random numbers for this machine alone: the discipline of a port has one stream, its scheme
    /// another. A salt for [`PortContext::flow_hash`] is drawn from it.
    pub rng: Rng,
}

/// What a port scheme sees of the queues: what waits in the discipline of its port, or, where the
/// flows that listen to it have a queue of their own, in that one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// In bytes.
    pub bytes: u64,
    /// In packets.
    pub packets: u64,
}

/// What a port machine works with during one call.
pub struct PortContext<'a> {
    /// Now.
    pub now: Time,
    /// Where the cold parts of packets are.
    pub arena: &'a mut Arena,
    /// Where drops and marks are counted.
    pub drops: &'a mut DropLog,
    /// Packets made by cutting: each cut adds one.
    pub split: &'a mut u64,
}

impl PortContext<'_> {
    /// End `packet` here.
    pub fn drop_packet(&mut self, packet: Packet, reason: DropReason) {
        self.drops.record(packet, reason, self.arena);
    }
    /// Set CE in `packet` (RFC 3168 section 5), and count it. False if it is not ECN-capable:
    /// nothing has happened, and a discipline that must signal congestion drops it. A packet that
    /// carries CE already is not counted again.
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        match packet.ecn() {
            Ecn::NotEct => return false,
            Ecn::Ce => {}
            Ecn::Ect0 | Ecn::Ect1 => {
                packet.set_ecn(Ecn::Ce);
                self.drops.count_ce_mark();
            }
        }
        true
    }
    /// See [`Packet::protocol`].
    pub fn protocol(&self, packet: &Packet) -> u8 {
        packet.protocol(self.arena)
    }
    /// See [`Packet::flow_hash`].
    pub fn flow_hash(&self, packet: &Packet, salt: u64) -> u64 {
        packet.flow_hash(salt, self.arena)
    }
    /// Do something at `at`, which is not after now.
    pub fn at<R>(&mut self, at: Time, act: impl FnOnce(&mut Self) -> R) -> R {
        let now = core::mem::replace(&mut self.now, at);
        let done = act(self);
        self.now = now;
        done
    }
}
