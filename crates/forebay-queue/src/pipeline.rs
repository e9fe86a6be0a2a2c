//! The three stages of a port in their fixed order.

use crate::discipline::{AnyDiscipline, Discipline, Overflow};
use crate::egress::{AnyEgress, Egress, Leaving};
use crate::meter::{AnyMeter, Meter};
use forebay_base::{Arena, DropLog, DropReason, Packet, Rate, Time};

/// What a port machine works with during one call.
pub struct PortContext<'a> {
    /// Now.
    pub now: Time,
    /// Where the cold parts of packets are.
    pub arena: &'a mut Arena,
    /// Where drops are counted.
    pub drops: &'a mut DropLog,
    /// Packets made by cutting: each cut adds one.
    pub split: &'a mut u64,
}

impl PortContext<'_> {
    /// End `packet` here.
    pub fn drop_packet(&mut self, packet: Packet, reason: DropReason) {
        self.drops.record(packet, reason, self.arena);
    }
}

/// Meter, discipline and egress of one port.
pub struct Pipeline {
    meter: AnyMeter,
    discipline: AnyDiscipline,
    egress: AnyEgress,
    /// The second half of a packet that the egress split: it leaves next.
    second: Option<Packet>,
}

impl Pipeline {
    /// A port with the given stages.
    pub fn new(meter: AnyMeter, discipline: AnyDiscipline, egress: AnyEgress) -> Pipeline {
        Pipeline { meter, discipline, egress, second: None }
    }
    /// True if a packet that finds nothing waiting leaves as it came, unseen, and if nothing ever happens here by itself.
    pub fn is_transparent(&self) -> bool {
        let unseen = matches!((&self.meter, &self.egress), (AnyMeter::None, AnyEgress::Plain));
        unseen && self.discipline.passes_at_once()
    }
    /// A packet arrives: metered, then queued or given back for want of room.
    pub fn enqueue(
        &mut self,
        mut packet: Packet,
        cx: &mut PortContext<'_>,
    ) -> Result<(), Overflow> {
        self.meter.on_arrival(&mut packet, self.discipline.backlog_bytes(), cx);
        packet.set_stamp(cx.now);
        self.discipline.enqueue(packet, cx)
    }
    /// A packet arrives where the transmitter is free and nothing waits: what is to be transmitted at once. A limit says
    /// nothing here, for what is in service is not counted. Its stamp says nothing.
    #[inline]
    pub fn pass(&mut self, mut packet: Packet, cx: &mut PortContext<'_>) -> Option<Packet> {
        debug_assert_eq!(self.backlog_packets(), 0, "it would overtake");
        if !self.discipline.passes_at_once() {
            return match self.enqueue(packet, cx) {
                Ok(()) => self.dequeue(cx),
                Err(Overflow(packet)) => Some(self.leave(packet, cx)),
            };
        }
        self.meter.on_arrival(&mut packet, 0, cx);
        // Nobody looks at the time when it came any more: it is not written into a packet that is about to be copied.
        if !matches!(self.egress, AnyEgress::Plain) {
            packet.set_stamp(cx.now);
        }
        Some(self.leave(packet, cx))
    }
    /// The transmitter is free: the next packet, if there is one.
    #[inline]
    pub fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        if let Some(second) = self.second.take() {
            return Some(second);
        }
        let packet = self.discipline.dequeue(cx)?;
        Some(self.leave(packet, cx))
    }
    /// Pass a packet that comes from a cache, not from the queue, through the egress.
    #[inline]
    pub fn leave(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Packet {
        debug_assert!(self.second.is_none(), "the transmitter took only half of a split packet");
        if let AnyEgress::Plain = self.egress {
            return packet; // not in and out of what may be two
        }
        self.leave_changed(packet, cx)
    }
    fn leave_changed(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Packet {
        let advertised = self.meter.advertised(cx.now);
        match self.egress.leave(packet, advertised, cx) {
            Leaving::One(packet) => packet,
            Leaving::Two(first, second) => {
                *cx.split += 1;
                self.second = Some(second);
                first
            }
        }
    }
    /// True if a packet of `wire_len` bytes would be queued without a drop.
    pub fn has_room(&self, wire_len: u16) -> bool {
        self.discipline.has_room(wire_len)
    }
    /// Bytes that wait.
    #[inline]
    pub fn backlog_bytes(&self) -> u64 {
        self.discipline.backlog_bytes() + self.second.as_ref().map_or(0, |p| p.wire_len() as u64)
    }
    /// Packets that wait.
    #[inline]
    pub fn backlog_packets(&self) -> u64 {
        self.discipline.backlog_packets() + self.second.is_some() as u64
    }
    /// When `on_timeout` is due.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        match (self.meter.next_timeout(), self.discipline.next_timeout()) {
            (Some(meter), Some(discipline)) => Some(meter.min(discipline)),
            (meter, discipline) => meter.or(discipline),
        }
    }
    /// The time asked for has come; afterwards the driver tries [`Pipeline::dequeue`] if the transmitter is free.
    pub fn on_timeout(&mut self, now: Time) {
        self.meter.on_timeout(now, self.discipline.backlog_bytes());
    }
    /// What the port grants a flow at `now`, if its meter measures that.
    pub fn advertised(&self, now: Time) -> Option<Rate> {
        self.meter.advertised(now)
    }
    /// The link runs at `rate` from `now` on.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.on_timeout(now); // what is due belongs to the old rate
        self.meter.set_rate(now, rate);
    }
    /// Give up everything held.
    pub fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        if let Some(second) = self.second.take() {
            cx.drop_packet(second, reason);
        }
        self.discipline.clear(reason, cx);
    }
}
