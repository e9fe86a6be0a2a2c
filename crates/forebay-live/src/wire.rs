//! What carries packets between nodes: an interface, or memory.

mod checksum;
mod counters;
mod memory;
mod packet;

pub use counters::{Count, Counters};
pub use memory::MemoryWire;
pub use packet::{PacketWire, PacketWireError};

use forebay_base::Time;
use std::os::fd::BorrowedFd;

/// One end of a wire: IP packets come and go over it, in order. What fails is counted, not
/// returned: a wire may go and come back.
pub trait Wire {
    /// Hand over packets that have arrived, with their times, oldest first; at most `limit`.
    fn receive(&mut self, limit: usize, take: impl FnMut(Time, &[u8])) -> Backlog;
    /// Send packets, in order.
    fn send(&mut self, packets: &Packets);
    /// What becomes readable when a packet arrives, if anything does.
    fn fd(&self) -> Option<BorrowedFd<'_>>;
    /// True if the other end can be reached.
    fn carrier(&self) -> bool;
    /// Find out again whether it can, and repair what a lost interface has broken.
    fn refresh(&mut self);
    /// What was counted so far.
    fn counters(&mut self) -> Counters;
}

/// What has arrived at a wire and was not handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// Nothing.
    Empty,
    /// Packets that arrived at this time or later.
    Since(Time),
}

/// IP packets, one after the other in one buffer.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    bytes: Vec<u8>,
    /// Where each packet ends.
    ends: Vec<usize>,
}

impl Packets {
    /// Add a packet.
    pub fn push(&mut self, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.ends.push(self.bytes.len());
    }
    /// Remove all packets; the buffer is kept.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// The packets from number `first` on.
    pub fn from(&self, first: usize) -> impl Iterator<Item = &[u8]> {
        let start = |number: usize| if number == 0 { 0 } else { self.ends[number - 1] };
        (first..self.len()).map(move |number| &self.bytes[start(number)..self.ends[number]])
    }
}

/// The length of the IP packet at the start of `bytes`, by its header; None if it has none, or
/// says more bytes than there are. Ethernet pads short packets.
fn ip_len(bytes: &[u8]) -> Option<usize> {
    const IPV6_HEADER_BYTES: usize = 40;
    let field = |at: usize| Some(usize::from(u16::from_be_bytes(*bytes[at..].first_chunk()?)));
    let len = match bytes.first()? >> 4 {
        4 if bytes.len() >= 20 => field(2)?,
        6 if bytes.len() >= IPV6_HEADER_BYTES => IPV6_HEADER_BYTES + field(4)?,
        _ => return None,
    };
    (len <= bytes.len()).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_as_they_went_in() {
        let mut packets = Packets::default();
        assert!(packets.is_empty() && packets.from(0).next().is_none());
        [&b"one"[..], b"", b"three"].iter().for_each(|packet| packets.push(packet));
        assert_eq!(packets.from(0).collect::<Vec<_>>(), [&b"one"[..], b"", b"three"]);
        assert_eq!(packets.from(2).collect::<Vec<_>>(), [b"three"]);
        assert_eq!((packets.len(), packets.from(3).count()), (3, 0));
        packets.clear();
        assert!(packets.is_empty());
    }

    #[test]
    fn lengths_are_those_of_the_ip_header() {
        let v4 = |total: u16, len: usize| {
            let mut bytes = vec![0; len];
            bytes[0] = 0x45;
            bytes[2..4].copy_from_slice(&total.to_be_bytes());
            bytes
        };
        assert_eq!(ip_len(&v4(28, 46)), Some(28));
        assert_eq!(ip_len(&v4(28, 27)), None);
        assert_eq!(ip_len(&v4(10, 20)), Some(10));
        assert_eq!(ip_len(&v4(20, 19)), None);
        let mut v6 = vec![0; 60];
        (v6[0], v6[5]) = (0x60, 20);
        assert_eq!(ip_len(&v6), Some(60));
        assert_eq!(ip_len(&v6[..59]), None);
        assert_eq!(ip_len(&v6[..39]), None);
        assert_eq!((ip_len(&[]), ip_len(&[0x50; 64])), (None, None));
    }
}
