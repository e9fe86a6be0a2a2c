//! What a wire counts, by name.

use std::ops::{Index, IndexMut};

macro_rules! counts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Count {
            $($(#[$doc])* $variant,)*
        }
        impl Count {
            /// All of them.
            pub const ALL: &[Count] = &[$(Count::$variant),*];
            /// Its name in results.
            pub fn name(self) -> &'static str {
                match self {
                    $(Count::$variant => $name,)*
                }
            }
        }
    };
}

counts! {
    /// Packets handed over.
    Received = "received",
    /// Packets that the kernel has taken.
    Sent = "sent",
    /// Received: checksums that were left to the device, completed here.
    ChecksumCompleted = "checksum_completed",
    /// Times that the real-time clock was set.
    ClockStepped = "clock_stepped",
    /// Times that the carrier was lost.
    CarrierLost = "carrier_lost",
    /// Received and dropped: in a VLAN.
    Vlan = "vlan",
    /// Received and dropped: neither IPv4 nor IPv6.
    Ethertype = "ethertype",
    /// Received and dropped: shorter than its IP header says.
    Truncated = "truncated",
    /// Received and dropped: longer than the MTU.
    Oversized = "oversized",
    /// Received and dropped: several segments in one, as an offload makes them.
    SuperPacket = "super_packet",
    /// Received and dropped: a checksum left to the device, of a protocol that is not known here.
    ChecksumMissing = "checksum_missing",
    /// Dropped by the kernel: the receive ring was full.
    RingFull = "ring_full",
    /// Not sent: longer than the MTU (`EMSGSIZE`).
    TooBig = "too_big",
    /// Not sent: the kernel had no buffer (`ENOBUFS`, `EAGAIN`).
    NoBuffer = "no_buffer",
    /// Not sent: the interface is down or gone (`ENETDOWN`, `ENXIO`, `ENODEV`).
    InterfaceDown = "interface_down",
    /// Not sent: another error.
    SendFailed = "send_failed",
}

impl Count {
    /// What to do about it, where something can be done. `interface` is the one that counted.
    pub fn advice(self, interface: &str) -> Option<String> {
        match self {
            Count::SuperPacket | Count::ChecksumMissing => Some(format!(
                "on both sides of the wire: `ethtool -K {interface} tso off gso off gro off tx off`"
            )),
            Count::Oversized | Count::TooBig => {
                Some(format!("`ip link set dev {interface} mtu N`, with the MTU of the scenario"))
            }
            Count::RingFull => Some("fewer nodes or lower rates on this machine".to_string()),
            Count::InterfaceDown => Some(format!("`ip link set dev {interface} up`")),
            _ => None,
        }
    }
}

/// How often each was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters([u64; Count::ALL.len()]);

impl Index<Count> for Counters {
    type Output = u64;
    fn index(&self, count: Count) -> &u64 {
        &self.0[count as usize]
    }
}

impl IndexMut<Count> for Counters {
    fn index_mut(&mut self, count: Count) -> &mut u64 {
        &mut self.0[count as usize]
    }
}

impl Counters {
    /// All counts that are not zero.
    pub fn named(&self) -> impl Iterator<Item = (Count, u64)> {
        Count::ALL.iter().map(|&count| (count, self[count])).filter(|(_, number)| *number > 0)
    }
    /// Packets that came and were not handed over, or were to be sent and were not.
    pub fn dropped(&self) -> u64 {
        self.named().filter(|(count, _)| *count >= Count::Vlan).map(|(_, number)| number).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_drops_are_told_from_events() {
        let mut names: Vec<&str> = Count::ALL.iter().map(|count| count.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Count::ALL.len());
        let mut counters = Counters::default();
        Count::ALL.iter().for_each(|&count| counters[count] += 1);
        assert_eq!(counters.dropped(), Count::ALL.len() as u64 - 5);
        assert_eq!(counters.named().count(), Count::ALL.len());
        assert!(Count::SuperPacket.advice("eth1").unwrap().contains("ethtool -K eth1 tso off"));
    }
}
