//! ACKs and messages that wait at a port. They are never cached. They take turns with the data of
//! the port by bytes, so that neither can keep the other from the link; and an ACK that says all
//! that an older one of its flow does takes its place, so that what waits is what is new.
//!
//! Acknowledgements are cumulative: who thins them on a narrow return path loses nothing but their
//! number (RFC 3449 section 5.2.1, ACK filtering).

use super::key::{Class, FlowKey};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use core::mem::replace;
use forebay_base::{Arena, OptionList, Packet, Rate, Span, TcpFields, TcpFlags, Time, kind};
use forebay_signal::inrpp::{BackPressure, Returned};

/// Packets that may wait, per port.
const MAX_WAITING: usize = 4096;
/// In turns, one side is ahead of the other by no more than this many bytes.
const MAX_LEAD_BYTES: i64 = 3000;

/// See the module.
pub(super) struct Express {
    /// What the link takes for a byte, at its rate of the start, in ps.
    byte_ps: u64,
    /// While the ACKs in the queue of the link take it longer, others wait here: there none
    /// replaces another.
    patience: Span,
    /// When the last of the ACKs in the queue of the link leaves, if no data are between them.
    busy_until: Time,
    /// Bytes that it was ahead of the data of its port while these waited.
    lead_bytes: i64,
    /// What waits. On the heap: at most ports nothing ever does.
    waiting: Option<Box<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    packets: VecDeque<Packet>,
    /// Number of the first of them: they are counted.
    first: u64,
    /// Number of the last one of each flow.
    last: BTreeMap<FlowKey, u64>,
}

/// What became of a packet that is to wait.
pub(super) enum Waits {
    /// It waits.
    Last,
    /// It waits in the place of this one.
    InsteadOf(Packet),
    /// There is no room for it.
    NoRoom(Packet),
}

impl Express {
    /// Before a link of this rate, whose queue is to hold ACKs for no longer than `patience`.
    pub fn new(rate: Rate, patience: Span) -> Express {
        let byte_ps = 8_000_000_000_000 / rate.bps();
        Express { byte_ps, patience, busy_until: Time::ZERO, lead_bytes: 0, waiting: None }
    }
    /// True if the ACKs in the queue of the link take it long. Data between them do not count: they
    /// would hold back those who share the link with TCP.
    #[inline]
    pub fn is_long(&self, now: Time) -> bool {
        self.busy_until > now + self.patience
    }
    /// A packet leaves, or is put in the queue of the link.
    #[inline]
    pub fn passed(&mut self, now: Time, wire_len: u16) {
        let span = Span::from_nanos(self.byte_ps * u64::from(wire_len) / 1000);
        self.busy_until = self.busy_until.max(now) + span;
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.as_ref().is_none_or(|waiting| waiting.packets.is_empty())
    }
    /// True if data that wait go before what waits here.
    #[inline]
    pub fn yields(&self) -> bool {
        self.lead_bytes > 0
    }
    /// A packet has left while data waited.
    #[inline]
    pub fn sent(&mut self, wire_len: u16) {
        self.lead_bytes = (self.lead_bytes + i64::from(wire_len)).min(MAX_LEAD_BYTES);
    }
    /// A packet of data that waited has left.
    #[inline]
    pub fn data_sent(&mut self, wire_len: u16) {
        self.lead_bytes = (self.lead_bytes - i64::from(wire_len)).max(-MAX_LEAD_BYTES);
    }
    /// `packet` is to wait.
    pub fn wait(&mut self, packet: Packet, arena: &Arena) -> Waits {
        self.waiting.get_or_insert_default().wait(packet, arena)
    }
    /// The packet that is next.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        self.waiting.as_mut()?.pop()
    }
    /// All that waits, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.iter().flat_map(|waiting| &waiting.packets)
    }
    /// Lose all that waits.
    pub fn drain(&mut self) -> VecDeque<Packet> {
        self.lead_bytes = 0;
        self.waiting.take().map_or_else(VecDeque::new, |waiting| waiting.packets)
    }
}

impl Waiting {
    fn wait(&mut self, packet: Packet, arena: &Arena) -> Waits {
        let flow = FlowKey::of(&packet, Class::Plain);
        if let Some(&number) = self.last.get(&flow)
            && let place = &mut self.packets[(number - self.first) as usize]
            && replaces(&packet, place, arena)
        {
            return Waits::InsteadOf(replace(place, packet));
        }
        if self.packets.len() == MAX_WAITING {
            return Waits::NoRoom(packet);
        }
        self.last.insert(flow, self.first + self.packets.len() as u64);
        self.packets.push_back(packet);
        Waits::Last
    }
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        let flow = FlowKey::of(&packet, Class::Plain);
        if self.last.get(&flow) == Some(&self.first) {
            self.last.remove(&flow);
        }
        self.first += 1;
        Some(packet)
    }
}

/// True if `new` says all that `old`, an ACK of the same flow before it, does: more is
/// acknowledged, or as much and more is reported by SACK. (Without SACK duplicates are counted.)
fn replaces(new: &Packet, old: &Packet, arena: &Arena) -> bool {
    let (Some(newer), Some(older)) = (acknowledges(new), acknowledges(old)) else { return false };
    let empty = OptionList::EMPTY;
    let options = |packet: &Packet| packet.cold_part(arena).map_or(empty, |cold| cold.tcp_options);
    let (now, before) = (options(new), options(old));
    let more = match newer.ack.wrapping_sub(older.ack).cast_signed() {
        0 => now.find(kind::SACK).is_some(),
        ahead => ahead > 0,
    };
    let stamped = newer.timestamps.is_some() == older.timestamps.is_some();
    newer.flags == older.flags && more && stamped && covers(&now, &before)
}
/// The fields of a packet that acknowledges, may echo a mark, and does nothing else.
fn acknowledges(packet: &Packet) -> Option<TcpFields> {
    let fields = packet.tcp_fields().filter(|_| packet.payload_len() == 0)?;
    let marked = TcpFlags::ACK.with(TcpFlags::ECE);
    (fields.flags == TcpFlags::ACK || fields.flags == marked).then_some(fields)
}
/// True if `old` has no option but signals, which a later one of `new` replaces, and SACK blocks.
fn covers(new: &OptionList, old: &OptionList) -> bool {
    let known = |kind| matches!(kind, kind::NOP | kind::SACK | kind::EXPERIMENT);
    let experiments =
        |list: &OptionList| list.iter().filter(|o| o.kind == kind::EXPERIMENT).count();
    let signals =
        |list: &OptionList| [BackPressure::find(list).is_some(), Returned::find(list).is_some()];
    let found = signals(old);
    old.iter().all(|option| known(option.kind))
        && experiments(old) == found.into_iter().filter(|there| *there).count()
        && signals(new) == found
}
