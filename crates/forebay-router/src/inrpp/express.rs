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
    /// The rate of the link when the last of the ACKs passed, and what it takes for a byte, in ps.
    rate: Rate,
    byte_ps: u64,
    /// While the ACKs in the queue of the link take it longer, others wait here: there none
    /// replaces another.
    patience: Span,
    /// ACKs have waited here, and the queue of the link has not run out of them since: the next
    /// ones wait until it has, so that what leaves is new.
    thins: bool,
    /// When the last of the ACKs in the queue of the link leaves, if no data are between them.
    busy_until: Time,
    /// Bytes that it was ahead of the data of its port while these waited.
    lead_bytes: i64,
    /// What waits. On the heap: at most ports nothing ever does.
    waiting: Option<Box<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    /// None in the place of one that need not be sent any more; never at the front.
    packets: VecDeque<Option<Packet>>,
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
    /// It need not be sent: one of its flow that waits says all that it does.
    Needless(Packet),
    /// There is no room for it.
    NoRoom(Packet),
}

impl Express {
    /// Before a link of this rate, whose queue is to hold ACKs for no longer than `patience`.
    pub fn new(rate: Rate, patience: Span) -> Express {
        let byte_ps = byte_ps(rate);
        let (thins, busy_until) = (false, Time::ZERO);
        Express { rate, byte_ps, patience, thins, busy_until, lead_bytes: 0, waiting: None }
    }
    /// True if the ACKs in the queue of the link take it long at this rate. Data between them do
    /// not count: they would hold back those who share the link with TCP.
    #[inline]
    pub fn is_long(&self, now: Time, rate: Rate) -> bool {
        let patience = if self.thins { Span::ZERO } else { self.patience };
        if rate == self.rate {
            return self.busy_until > now + patience;
        }
        self.busy_at(now, rate) > patience
    }
    /// A packet is put in the queue of the link, which has this rate, without a wait.
    #[inline]
    pub fn passed_at_once(&mut self, now: Time, rate: Rate, wire_len: u16) {
        self.thins = false;
        self.passed(now, rate, wire_len);
    }
    /// A packet leaves, or is put in the queue of the link, which has this rate.
    #[inline]
    pub fn passed(&mut self, now: Time, rate: Rate, wire_len: u16) {
        if rate != self.rate {
            self.busy_until = now + self.busy_at(now, rate);
            (self.rate, self.byte_ps) = (rate, byte_ps(rate));
        }
        let span = Span::from_nanos(self.byte_ps * u64::from(wire_len) / 1000);
        self.busy_until = self.busy_until.max(now) + span;
    }
    /// How long the ACKs in the queue of the link take it at another rate than that of the last.
    #[cold]
    fn busy_at(&self, now: Time, rate: Rate) -> Span {
        rate.span_of(self.rate.bytes_in(self.busy_until.since(now)))
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
        self.thins = self.patience < Span::MAX;
        self.waiting.get_or_insert_default().wait(packet, arena)
    }
    /// The packet that is next.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        self.waiting.as_mut()?.pop()
    }
    /// All that waits, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.iter().flat_map(|waiting| waiting.packets.iter().flatten())
    }
    /// `packet`, which did not wait here, leaves. The ACK of its flow that waits, if `packet` says
    /// all that it does.
    #[inline]
    pub fn outdated_by(&mut self, packet: &Packet, arena: &Arena) -> Option<Packet> {
        self.waiting.as_mut()?.outdated_by(packet, arena)
    }
    /// Lose all that waits.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> + use<> {
        self.lead_bytes = 0;
        self.waiting.take().into_iter().flat_map(|waiting| waiting.packets).flatten()
    }
}

impl Waiting {
    fn wait(&mut self, packet: Packet, arena: &Arena) -> Waits {
        let flow = FlowKey::of(&packet, Class::Plain);
        if let Some(place) = self.last_of(flow) {
            if replaces(&packet, place, arena) {
                return Waits::InsteadOf(replace(place, packet));
            }
            if replaces(place, &packet, arena) || is_window_after(place, &packet) {
                return Waits::Needless(packet);
            }
        }
        if self.packets.len() == MAX_WAITING {
            return Waits::NoRoom(packet);
        }
        self.last.insert(flow, self.first + self.packets.len() as u64);
        self.packets.push_back(Some(packet));
        Waits::Last
    }
    fn last_of(&mut self, flow: FlowKey) -> Option<&mut Packet> {
        let number = self.last.get(&flow)?;
        self.packets[(number - self.first) as usize].as_mut()
    }
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()??;
        let flow = FlowKey::of(&packet, Class::Plain);
        if self.last.get(&flow) == Some(&self.first) {
            self.last.remove(&flow);
        }
        self.first += 1;
        self.skip_empty();
        Some(packet)
    }
    fn outdated_by(&mut self, packet: &Packet, arena: &Arena) -> Option<Packet> {
        let flow = FlowKey::of(packet, Class::Plain);
        let old = self.last_of(flow)?;
        if !outdates(packet, old, arena) {
            return None;
        }
        let number = self.last.remove(&flow)?;
        let old = self.packets[(number - self.first) as usize].take();
        self.skip_empty();
        old
    }
    fn skip_empty(&mut self) {
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

/// What a link of this rate takes for a byte, in ps.
fn byte_ps(rate: Rate) -> u64 {
    8_000_000_000_000 / rate.bps()
}

/// True if `new` says all that `old`, an ACK of the same flow before it, does: more is
/// acknowledged, or as much and more is reported by SACK. (Without SACK duplicates are counted.)
fn replaces(new: &Packet, old: &Packet, arena: &Arena) -> bool {
    let flags = |packet| acknowledges(packet).map(|fields| fields.flags);
    flags(new).is_some()
        && flags(new) == flags(old)
        && says_all_of(new, old, arena, |now, _| now.find(kind::SACK).is_some())
}
/// The same of a segment that does more than acknowledge: a FIN may repeat what is acknowledged,
/// if nothing is missing that an ACK of SACK blocks would report.
fn outdates(new: &Packet, old: &Packet, arena: &Arena) -> bool {
    let Some(TcpFields { flags, .. }) = new.tcp_fields() else { return false };
    let marked = |flags: TcpFlags| flags.has(TcpFlags::ECE);
    flags.has(TcpFlags::ACK)
        && acknowledges(old).is_some_and(|older| marked(older.flags) == marked(flags))
        && says_all_of(new, old, arena, |_, before| {
            flags.has(TcpFlags::FIN) && before.find(kind::SACK).is_none()
        })
}
/// True if `new` acknowledges more than `old`, or as much and it `counts`, and has what its options
/// say.
fn says_all_of(
    new: &Packet,
    old: &Packet,
    arena: &Arena,
    counts: impl Fn(&OptionList, &OptionList) -> bool,
) -> bool {
    let (Some(newer), Some(older)) = (new.tcp_fields(), old.tcp_fields()) else { return false };
    let empty = OptionList::EMPTY;
    let options = |packet: &Packet| packet.cold_part(arena).map_or(empty, |cold| cold.tcp_options);
    let (now, before) = (options(new), options(old));
    let more = match newer.ack.wrapping_sub(older.ack).cast_signed() {
        0 => counts(&now, &before),
        ahead => ahead > 0,
    };
    let stamped = newer.timestamps.is_some() == older.timestamps.is_some();
    more && stamped && covers(&now, &before)
}
/// True if `ack` does no more than give the window in its scaled form after `syn`, a SYN-ACK: the
/// first ACK of data does so as well, and a sender has the window of the SYN-ACK until then.
fn is_window_after(syn: &Packet, ack: &Packet) -> bool {
    let (Some(syn), Some(ack)) = (syn.tcp_fields(), acknowledges(ack)) else { return false };
    syn.flags.has(TcpFlags::SYN)
        && syn.flags.has(TcpFlags::ACK)
        && (ack.seq, ack.ack) == (syn.seq.wrapping_add(1), syn.ack)
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
