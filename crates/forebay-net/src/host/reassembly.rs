//! Putting IPv4 fragments together again (RFC 791 section 3.2, RFC 815), within bounds.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Addr, Arena, DropLog, DropReason, Ecn, Packet, Span, Time};
use forebay_wire::AddressPlan;

/// Datagrams in reassembly at once, at most; the oldest goes first.
const MAX_DATAGRAMS: usize = 256;
/// Pieces of a datagram, at most.
const MAX_PIECES: usize = 64;
/// How long a datagram may stay incomplete (Linux: 30 s; RFC 1122 section 3.3.2 asks for 60 to 120
/// s).
const TIMEOUT: Span = Span::from_secs(30);

type Key = (Addr, Addr, u8, u16);

struct Partial {
    /// Number in the order in which datagrams began.
    number: u64,
    /// In order of offset, none overlapping another.
    pieces: Vec<Packet>,
}

/// The reassembly buffer of a host.
#[derive(Default)]
pub struct Reassembly {
    partial: BTreeMap<Key, Partial>,
    /// When those began, by their numbers: the first is the oldest.
    since: BTreeMap<u64, (Time, Key)>,
    /// Datagrams that have begun so far.
    begun: u64,
}

/// First byte, byte after the last, and whether pieces follow.
fn range(piece: &Packet, arena: &Arena) -> (u32, u32, bool) {
    let part = piece.cold_part(arena).and_then(|c| c.piece).expect("only pieces are kept");
    let first = part.offset as u32;
    (first, first + piece.payload_len() as u32, part.more)
}

fn is_whole(pieces: &[Packet], arena: &Arena) -> bool {
    let mut next = 0;
    for piece in pieces {
        let (first, end, more) = range(piece, arena);
        if first != next {
            return false;
        }
        if !more {
            return true;
        }
        next = end;
    }
    false
}

impl Reassembly {
    /// A piece came. The datagram and the number of its pieces, if this was the last one; with CE
    /// if any piece had it. A piece that overlaps another ends its whole datagram (RFC 5722's rule
    /// for IPv6, safe for IPv4). An exact duplicate ends only itself.
    pub fn on_piece(
        &mut self,
        now: Time,
        packet: Packet,
        plan: &AddressPlan,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Option<(Packet, u64)> {
        let pieces = self.take_pieces(now, packet, arena, drops)?;
        Self::join(pieces, plan, arena, drops)
    }
    /// The same without putting them together: all pieces of the datagram, in order of offset.
    pub(crate) fn take_pieces(
        &mut self,
        now: Time,
        packet: Packet,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Option<Vec<Packet>> {
        self.expire(now, arena, drops);
        let cold = packet.cold_part(arena).expect("a piece has a cold part");
        let protocol = cold.piece.expect("a piece says which").protocol;
        let key = (packet.src(), packet.dst(), protocol, cold.ip_id);
        let partial = self.partial.entry(key).or_insert_with(|| {
            self.begun += 1;
            self.since.insert(self.begun, (now, key));
            Partial { number: self.begun, pieces: Vec::new() }
        });
        let (first, end, _) = range(&packet, arena);
        let at = partial.pieces.partition_point(|p| range(p, arena).0 < first);
        let before = at.checked_sub(1).map(|i| range(&partial.pieces[i], arena));
        let after = partial.pieces.get(at).map(|p| range(p, arena));
        if after.is_some_and(|(f, e, _)| (f, e) == (first, end)) {
            drops.record(packet, DropReason::Reassembly, arena);
            return None;
        }
        let overlaps =
            before.is_some_and(|(_, e, _)| e > first) || after.is_some_and(|(f, _, _)| f < end);
        partial.pieces.insert(at, packet);
        if overlaps || partial.pieces.len() > MAX_PIECES {
            self.give_up(key, arena, drops);
            return None;
        }
        if !is_whole(&partial.pieces, arena) {
            return None;
        }
        self.remove(key)
    }

    /// The datagram of all its pieces, and their number. None, and they are dropped, if they are
    /// not of one datagram.
    pub(crate) fn join(
        mut pieces: Vec<Packet>,
        plan: &AddressPlan,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Option<(Packet, u64)> {
        let count = pieces.len() as u64;
        let marked = pieces.iter().any(|p| p.ecn() == Ecn::Ce);
        let ttl = pieces.iter().map(Packet::ttl).min();
        let mut whole = match arena.reassemble(&mut pieces) {
            Some(whole) => whole,
            // Only their own bytes are known.
            None => match forebay_wire::join(&mut pieces, plan, arena) {
                Ok(whole) => whole,
                Err(_) => {
                    pieces.drain(..).for_each(|p| drops.record(p, DropReason::Malformed, arena));
                    return None;
                }
            },
        };
        if marked {
            whole.set_ecn(Ecn::Ce); // RFC 3168 section 5.3
        }
        if let Some(ttl) = ttl {
            whole.set_ttl(ttl);
        }
        Some((whole, count))
    }

    fn expire(&mut self, now: Time, arena: &mut Arena, drops: &mut DropLog) {
        while let Some((_, &(since, key))) = self.since.first_key_value() {
            if now.since(since) < TIMEOUT && self.partial.len() < MAX_DATAGRAMS {
                return;
            }
            self.give_up(key, arena, drops);
        }
    }
    fn remove(&mut self, key: Key) -> Option<Vec<Packet>> {
        let partial = self.partial.remove(&key)?;
        self.since.remove(&partial.number);
        Some(partial.pieces)
    }
    fn give_up(&mut self, key: Key, arena: &mut Arena, drops: &mut DropLog) {
        let pieces = self.remove(key).unwrap_or_default();
        pieces.into_iter().for_each(|p| drops.record(p, DropReason::Reassembly, arena));
    }
    /// Pieces held.
    pub fn held_packets(&self) -> u64 {
        self.partial.values().map(|p| p.pieces.len() as u64).sum()
    }
}
