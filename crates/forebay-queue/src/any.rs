//! Any discipline of the table is a discipline.

use crate::discipline::{Discipline, Overflow};
use crate::port::PortContext;
use crate::table::AnyDiscipline;
use forebay_base::{Arena, DropReason, Packet, Rate, Time};

impl Discipline for AnyDiscipline {
    #[inline]
    fn enqueue(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        each_discipline!(self, d => d.enqueue(packet, cx))
    }
    fn has_room(&self, wire_len: u16) -> bool {
        each_discipline!(self, d => d.has_room(wire_len))
    }
    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        each_discipline!(self, d => d.dequeue(cx))
    }
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        each_discipline!(self, d => d.backlog_bytes())
    }
    #[inline]
    fn backlog_packets(&self) -> u64 {
        each_discipline!(self, d => d.backlog_packets())
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each_discipline!(self, d => d.next_timeout())
    }
    fn on_timeout(&mut self, cx: &mut PortContext<'_>) {
        each_discipline!(self, d => d.on_timeout(cx))
    }
    fn set_rate(&mut self, now: Time, rate: Rate) {
        each_discipline!(self, d => d.set_rate(now, rate))
    }
    #[inline]
    fn passes_at_once(&self) -> bool {
        each_discipline!(self, d => d.passes_at_once())
    }
    fn notes_passing(&self) -> bool {
        each_discipline!(self, d => d.notes_passing())
    }
    fn note_passing(&mut self, packet: &Packet, arena: &Arena) {
        each_discipline!(self, d => d.note_passing(packet, arena))
    }
    fn publish(&self, now: Time, see: &mut dyn FnMut(&'static str, f64)) {
        each_discipline!(self, d => d.publish(now, see))
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        each_discipline!(self, d => d.clear(reason, cx))
    }
}
