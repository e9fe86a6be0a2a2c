//! How a router identifies flows.

use core::fmt;
use forebay_base::Packet;

/// How a cache treats the packets of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// INRPP data: cached, held in closed loop, sent on detours.
    Pooled = 0,
    /// INRPP data that is on a detour already: cached, never held, never sent on another detour.
    Tagged = 1,
    /// Everything else: takes its turn, within the room of a drop-tail queue.
    Plain = 2,
}

/// The 5-tuple of a flow in the direction of its data, and its class; in 16 bytes, for look-ups.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(u128);

impl FlowKey {
    /// The flow that `packet` belongs to. Packets that show no ports share the flow of their
    /// addresses.
    pub fn of(packet: &Packet, class: Class) -> FlowKey {
        let (src, dst) = packet.ports().unwrap_or((0, 0));
        FlowKey::new((packet.src().0, src), (packet.dst().0, dst), class)
    }
    /// The flow that `ack` acknowledges: the same in the other direction.
    pub fn acknowledged_by(ack: &Packet) -> FlowKey {
        let (src, dst) = ack.ports().unwrap_or((0, 0));
        FlowKey::new((ack.dst().0, dst), (ack.src().0, src), Class::Pooled)
    }
    /// From source and destination, each an address and a port.
    pub fn new(src: (u32, u16), dst: (u32, u16), class: Class) -> FlowKey {
        let addresses = (src.0 as u128) << 72 | (dst.0 as u128) << 40;
        let ports = (src.1 as u128) << 24 | (dst.1 as u128) << 8;
        FlowKey(addresses | ports | class as u128)
    }
    /// A number in which the bits of the whole key are mixed: a product of its halves, folded.
    #[inline]
    pub(super) fn spread(self) -> u64 {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        // Odd constants from the digits of the golden ratio and of pi: that no half is zero nearly
        // always.
        let wide = (low ^ 0x9e37_79b9_7f4a_7c15) as u128 * (high ^ 0x243f_6a88_85a3_08d3) as u128;
        wide as u64 ^ (wide >> 64) as u64
    }
    /// How its packets are treated.
    pub fn class(self) -> Class {
        match self.0 as u8 {
            0 => Class::Pooled,
            1 => Class::Tagged,
            _ => Class::Plain,
        }
    }
    /// Address and port of the source.
    pub fn src(self) -> (u32, u16) {
        ((self.0 >> 72) as u32, (self.0 >> 24) as u16)
    }
    /// Address and port of the destination.
    pub fn dst(self) -> (u32, u16) {
        ((self.0 >> 40) as u32, (self.0 >> 8) as u16)
    }
}

impl fmt::Debug for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}->{:?} {:?}", self.src(), self.dst(), self.class())
    }
}

/// Where counts of pooled and tagged packets (0) and of plain ones (1) are.
pub(super) fn kind(key: FlowKey) -> usize {
    usize::from(key.class() == Class::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_key_counts_and_is_read_back() {
        let ends = [(0, 0), (1, 0), (0, 1), (u32::MAX, u16::MAX)];
        let mut seen = alloc::collections::BTreeSet::new();
        for src in ends {
            for dst in ends {
                for class in [Class::Pooled, Class::Tagged, Class::Plain] {
                    let key = FlowKey::new(src, dst, class);
                    assert_eq!((key.src(), key.dst(), key.class()), (src, dst, class));
                    assert!(seen.insert(key));
                }
            }
        }
    }
}
