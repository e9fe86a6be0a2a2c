//! The three stages of a port in their fixed order.

use crate::discipline::{Discipline, Overflow};
use crate::lanes::Queues;
use crate::port::PortContext;
use crate::scheme::{PortScheme, TrailingPackets};
use crate::schemes::AnyScheme;
use crate::table::AnyDiscipline;
use alloc::collections::VecDeque;
use forebay_base::{Arena, DropReason, Packet, Rate, Time};

/// Meter, queues and egress of one port.
pub struct Pipeline {
    scheme: AnyScheme,
    queues: Queues,
    /// [`Discipline::passes_at_once`], and nothing is to be noted in a port with two queues.
    passes_at_once: bool,
    /// [`Discipline::notes_passing`] of what passes.
    notes_passing: bool,
    /// What the egress cut off from the last packet: it leaves next. Allocated once, where anything
    /// is cut.
    behind: VecDeque<Packet>,
}

impl Pipeline {
    /// A port with the given stages.
    pub fn new(scheme: AnyScheme, discipline: AnyDiscipline) -> Pipeline {
        let are_two = scheme.division().is_some();
        // Listeners pass another queue than the one that would note them.
        let passes_at_once =
            discipline.passes_at_once() && !(are_two && discipline.notes_passing());
        let notes_passing = passes_at_once && discipline.notes_passing();
        let queues = Queues::new(discipline, are_two);
        Pipeline { scheme, queues, passes_at_once, notes_passing, behind: VecDeque::new() }
    }
    /// A port that queues and does nothing else.
    pub fn plain(discipline: AnyDiscipline) -> Pipeline {
        Pipeline::new(AnyScheme::None, discipline)
    }
    /// True if a packet that finds nothing waiting leaves as it came, and if nothing ever happens
    /// here by itself.
    pub fn is_transparent(&self) -> bool {
        matches!(self.scheme, AnyScheme::None) && self.passes_at_once
    }
    /// True if such a packet is to be shown to [`Pipeline::note_passing`].
    pub fn notes_passing(&self) -> bool {
        self.notes_passing
    }
    /// See [`Discipline::note_passing`].
    pub fn note_passing(&mut self, packet: &Packet, arena: &Arena) {
        debug_assert_eq!(self.backlog_packets(), 0, "it would overtake");
        self.queues.discipline_mut().note_passing(packet, arena);
    }
    /// True if what waits may leave whenever the transmitter is free: no timer holds it back.
    pub fn is_prompt(&self) -> bool {
        self.passes_at_once
    }
    /// A packet arrives: metered, then queued or given back for want of room.
    pub fn enqueue(
        &mut self,
        mut packet: Packet,
        cx: &mut PortContext<'_>,
    ) -> Result<(), Overflow> {
        if !matches!(self.scheme, AnyScheme::None) {
            if self.queues.are_two() {
                return self.enqueue_in_lane(packet, cx);
            }
            self.scheme.on_arrival(&mut packet, self.queues.of_scheme(), cx);
        }
        packet.set_hop_time(cx.now);
        self.queues.discipline_mut().enqueue(packet, cx)
    }
    #[inline(never)] // ports with one queue stay small
    fn enqueue_in_lane(
        &mut self,
        mut packet: Packet,
        cx: &mut PortContext<'_>,
    ) -> Result<(), Overflow> {
        self.scheme.on_arrival(&mut packet, self.queues.of_scheme(), cx);
        packet.set_hop_time(cx.now);
        match self.scheme.division() {
            None => self.queues.discipline_mut().enqueue(packet, cx),
            Some(division) => self.queues.enqueue(packet, division, cx),
        }
    }
    /// A packet arrives where the transmitter is free and nothing waits: what is to be transmitted
    /// at once. No limit applies here, for the packet in service is not counted. Its hop time has
    /// no meaning.
    #[inline]
    pub fn pass(&mut self, mut packet: Packet, cx: &mut PortContext<'_>) -> Option<Packet> {
        debug_assert_eq!(self.backlog_packets(), 0, "it would overtake");
        if !self.passes_at_once {
            return match self.enqueue(packet, cx) {
                Ok(()) => self.dequeue(cx),
                Err(Overflow(packet)) => Some(self.leave(packet, cx)),
            };
        }
        if self.notes_passing() {
            self.note_passing(&packet, cx.arena);
        }
        if let AnyScheme::None = self.scheme {
            return Some(packet);
        }
        self.scheme.on_arrival(&mut packet, self.queues.of_scheme(), cx);
        if let Some(division) = self.scheme.division_mut() {
            self.queues.pass(packet.wire_len(), division);
        }
        packet.set_hop_time(cx.now);
        Some(self.leave_changed(packet, cx))
    }
    /// The transmitter is free: the next packet, if there is one.
    #[inline]
    pub fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        if !self.behind.is_empty() {
            return self.behind.pop_front();
        }
        if let AnyScheme::None = self.scheme {
            return self.queues.discipline_mut().dequeue(cx);
        }
        if self.queues.are_two() {
            return self.dequeue_from_lanes(cx);
        }
        let packet = self.queues.discipline_mut().dequeue(cx)?;
        Some(self.leave_changed(packet, cx))
    }
    #[inline(never)]
    fn dequeue_from_lanes(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        let packet = match self.scheme.division_mut() {
            None => self.queues.discipline_mut().dequeue(cx),
            Some(division) => self.queues.dequeue(division, cx),
        }?;
        if !self.scheme.touches(&packet, cx.now) {
            return Some(packet);
        }
        Some(self.leave_changed(packet, cx))
    }
    /// Pass a packet that comes from a cache, not from the queue, through the egress.
    #[inline]
    pub fn leave(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Packet {
        debug_assert!(self.behind.is_empty(), "the transmitter took only a part of a cut packet");
        if let AnyScheme::None = self.scheme {
            return packet; // not in and out of what may be several
        }
        self.leave_changed(packet, cx)
    }
    fn leave_changed(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Packet {
        let (queue, queued_at) = (self.queues.of_scheme(), packet.hop_time());
        // All fragments waited from the same time on.
        let mut behind = TrailingPackets::new(&mut self.behind, queued_at);
        let mut first = self.scheme.leave(packet, &mut behind, queue, cx);
        if !self.behind.is_empty() {
            first.set_hop_time(queued_at);
            *cx.split += self.behind.len() as u64;
        }
        first
    }
    /// True if a packet of `wire_len` bytes would be queued without a drop.
    pub fn has_room(&self, wire_len: u16) -> bool {
        self.queues.has_room(wire_len, self.scheme.division())
    }
    /// Bytes that wait.
    #[inline]
    pub fn backlog_bytes(&self) -> u64 {
        let behind = self.behind.iter().map(|packet| packet.wire_len() as u64);
        self.queues.backlog_bytes() + behind.sum::<u64>()
    }
    /// Packets that wait.
    #[inline]
    pub fn backlog_packets(&self) -> u64 {
        self.queues.backlog_packets() + self.behind.len() as u64
    }
    /// When `on_timeout` is due.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        if self.passes_at_once {
            return self.scheme.next_timeout(); // the discipline has no timers
        }
        match (self.scheme.next_timeout(), self.queues.discipline().next_timeout()) {
            (Some(scheme), Some(discipline)) => Some(scheme.min(discipline)),
            (scheme, discipline) => scheme.or(discipline),
        }
    }
    /// The time asked for has come; it is `cx.now`. Afterwards the driver tries
    /// [`Pipeline::dequeue`] if the transmitter is free.
    pub fn on_timeout(&mut self, cx: &mut PortContext<'_>) {
        if !matches!(self.scheme, AnyScheme::None) {
            self.scheme.on_timeout(cx.now, self.queues.of_scheme());
        }
        self.queues.discipline_mut().on_timeout(cx);
    }
    /// See [`PortScheme::publish`] and [`Discipline::publish`].
    pub fn publish(&self, now: Time, see: &mut dyn FnMut(&'static str, f64)) {
        self.scheme.publish(now, see);
        self.queues.publish(see);
        self.queues.discipline().publish(now, see);
    }
    /// The link runs at `rate` at the start of time. Called once, before all else.
    pub fn begin(&mut self, rate: Rate) {
        self.scheme.set_rate(Time::ZERO, rate);
        self.queues.discipline_mut().set_rate(Time::ZERO, rate);
    }
    /// The link runs at `rate` from now on.
    pub fn set_rate(&mut self, rate: Rate, cx: &mut PortContext<'_>) {
        self.on_timeout(cx); // what is due belongs to the old rate
        self.scheme.set_rate(cx.now, rate);
        self.queues.discipline_mut().set_rate(cx.now, rate);
    }
    /// Give up everything held.
    pub fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        while let Some(packet) = self.behind.pop_front() {
            cx.drop_packet(packet, reason);
        }
        self.queues.clear(reason, cx);
    }
}
