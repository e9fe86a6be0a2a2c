//! Which packet of one event is that of another.

use forebay_base::{Addr, Arena, FragmentRange, Packet, Time};
use std::collections::{BTreeMap, VecDeque};

/// One direction between two ports of hosts; fragments that do not show their ports have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Direction {
    pub src: Addr,
    pub dst: Addr,
    pub ports: Option<(u16, u16)>,
}

impl Direction {
    /// That of `packet`; of a fragment that of its datagram, if it was cut here.
    pub fn of(packet: &Packet, arena: &Arena) -> Direction {
        let whole = || arena.datagram_of(piece(packet, arena)?)?.ports();
        let ports = packet.ports().or_else(whole);
        Direction { src: packet.src(), dst: packet.dst(), ports }
    }
}

fn piece<'a>(packet: &Packet, arena: &'a Arena) -> Option<&'a FragmentRange> {
    packet.cold_part(arena)?.piece.as_ref()
}

/// What stays the same on a packet's way. Routers change ECN, TTL and options.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    direction: Direction,
    made_at: Time,
    seq: u32,
    ack: u32,
    len_bytes: u16,
    offset: u16,
}

impl Look {
    fn of(packet: &Packet, arena: &Arena) -> Look {
        let fields = packet.tcp_fields();
        Look {
            direction: Direction::of(packet, arena),
            made_at: packet.left_host_at(),
            seq: fields.map_or(0, |of| of.seq),
            ack: fields.map_or(0, |of| of.ack),
            len_bytes: packet.wire_len(),
            offset: piece(packet, arena).map_or(0, |piece| piece.offset),
        }
    }
}

/// What is known of packets on their way. Of two that look the same the first to come is the first
/// to leave.
pub(super) struct Tracked<T>(BTreeMap<Look, VecDeque<T>>);

impl<T> Default for Tracked<T> {
    fn default() -> Self {
        Tracked(BTreeMap::new())
    }
}

impl<T> Tracked<T> {
    /// `packet` is on its way.
    pub fn insert(&mut self, packet: &Packet, arena: &Arena, known: T) {
        self.0.entry(Look::of(packet, arena)).or_default().push_back(known);
    }
    /// What is known of `packet`.
    pub fn get_mut(&mut self, packet: &Packet, arena: &Arena) -> Option<&mut T> {
        self.0.get_mut(&Look::of(packet, arena))?.front_mut()
    }
    /// What is known of `packet`, whose way has ended.
    pub fn remove(&mut self, packet: &Packet, arena: &Arena) -> Option<T> {
        let look = Look::of(packet, arena);
        let same = self.0.get_mut(&look)?;
        let known = same.pop_front();
        if same.is_empty() {
            self.0.remove(&look);
        }
        known
    }
}
