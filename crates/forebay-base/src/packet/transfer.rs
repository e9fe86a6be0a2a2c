//! Packets that move from one arena to another.

use super::Packet;
use super::arena::{Arena, Handle, PackedColds};
use super::ring::PacketRing;

/// Packets in order, with their cold parts. They belong to no arena. The memory is reused.
#[derive(Debug, Default)]
pub struct PacketTransfer {
    /// The handles of cold parts are not valid here.
    packets: PacketRing,
    /// Cold parts of those packets.
    colds: PackedColds,
}

impl PacketTransfer {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    /// Put `packet` of `arena` after the others.
    pub fn pack(&mut self, packet: Packet, arena: &mut Arena) {
        if packet.cold() != Handle::NONE {
            arena.pack_cold(packet.cold(), &mut self.colds);
        }
        self.packets.push_back(packet);
    }
    /// Put all packets of `ring`, whose cold parts are in `arena`, after the others.
    pub fn pack_all(&mut self, ring: &mut PacketRing, arena: &mut Arena) {
        while let Some(handle) = ring.front().map(Packet::cold) {
            if handle != Handle::NONE {
                arena.pack_cold(handle, &mut self.colds);
            }
            ring.move_front(&mut self.packets);
        }
    }
    /// Move the first packet into `arena`, which must be that of a partition.
    pub fn unpack(&mut self, arena: &mut Arena) -> Option<Packet> {
        let mut packet = self.packets.pop_front()?;
        if packet.cold() != Handle::NONE {
            packet.set_cold(arena.unpack_cold(&mut self.colds));
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Addr, Ecn, Endpoint, IpVersion, OptionList, TcpFields, cut_ipv4};
    use alloc::vec;
    use alloc::vec::Vec;

    fn segment(seq: u32) -> Packet {
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let fields = TcpFields { seq, ..TcpFields::default() };
        Packet::tcp(IpVersion::V4, end(1), end(2), fields, 1000)
    }
    fn cuttable(seq: u32, arena: &mut Arena) -> Packet {
        let mut packet = segment(seq);
        packet.set_dont_fragment(false);
        packet.cold_mut(arena).ip_id = seq & 0xffff;
        packet
    }

    #[test]
    fn what_arrives_has_the_digest_of_what_left() {
        let (mut here, mut there) = (Arena::of_partition(0), Arena::of_partition(1));
        let mut with_options = segment(2);
        let options = OptionList::from_bytes(&[253, 4, 1, 2]).unwrap();
        with_options.set_tcp_options(options, &mut here).unwrap();
        let (first, rest) = cut_ipv4(cuttable(3, &mut here), 576, &mut here).unwrap();
        let packets = [segment(1), with_options, first, rest, segment(4)];
        let digests: Vec<u64> = packets.iter().map(|p| p.digest(&here)).collect();
        let (mut transfer, mut ring) = (PacketTransfer::default(), PacketRing::default());
        let mut packets = packets.into_iter();
        transfer.pack(packets.next().unwrap(), &mut here);
        for packet in packets {
            ring.push_back(packet);
        }
        transfer.pack_all(&mut ring, &mut here);
        assert_eq!((transfer.len(), ring.len(), here.live()), (5, 0, 0));
        // Slots of the other arena are in use: handles must not be taken over.
        let other = cuttable(9, &mut there);
        let came: Vec<Packet> = core::iter::from_fn(|| transfer.unpack(&mut there)).collect();
        assert_eq!(came.iter().map(|p| p.digest(&there)).collect::<Vec<_>>(), digests);
        came.into_iter().for_each(|p| there.free(p));
        there.free(other);
        assert_eq!((there.live(), transfer.is_empty()), (0, true));
    }

    #[test]
    fn pieces_that_come_on_different_ways_find_their_datagram() {
        let mut arenas = [0, 1, 2].map(Arena::of_partition);
        let [home, way, end] = &mut arenas;
        let carry = |packet, from: &mut Arena, to: &mut Arena| {
            let mut transfer = PacketTransfer::default();
            transfer.pack(packet, from);
            transfer.unpack(to).unwrap()
        };
        // Slots are taken, in both, by datagrams with the same slot number as the one that comes.
        let others = [
            cut_ipv4(cuttable(8, way), 576, way).unwrap(),
            cut_ipv4(cuttable(9, end), 576, end).unwrap(),
        ];
        let whole = cuttable(7, home);
        let digest = whole.digest(home);
        let (first, rest) = cut_ipv4(whole, 680, home).unwrap();
        let (second, mut third) = cut_ipv4(rest, 280, home).unwrap();
        third.set_ecn(Ecn::Ce);
        let first = carry(first, home, way);
        let first = carry(first, way, end);
        let third = carry(third, home, end);
        let second = carry(second, home, way);
        let second = carry(second, way, end);
        assert_eq!(home.live(), 0);
        let again = end.reassemble(&mut vec![first, second, third]).unwrap();
        assert_eq!(again.ecn(), Ecn::Ce);
        let mut unmarked = again;
        unmarked.set_ecn(Ecn::NotEct);
        assert_eq!(unmarked.digest(end), digest);
        end.free(unmarked);
        let [(a, b), (c, d)] = others;
        [a, b].into_iter().for_each(|p| way.free(p));
        [c, d].into_iter().for_each(|p| end.free(p));
        assert_eq!((way.live(), end.live()), (0, 0));
    }
}
