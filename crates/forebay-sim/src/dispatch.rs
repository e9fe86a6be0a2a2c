//! What happens at each kind of event, where it is the simulator's business: the way through bytes, and what the scenario
//! does. The rest is in [`forebay_net::Fabric`].

use crate::world::Simulation;
use forebay_base::{LinkId, Packet};

impl Simulation {
    /// The first packet on the wire of `link` has arrived: as bytes.
    pub(crate) fn arrive_as_bytes(&mut self, link: LinkId) {
        let Some(packet) = self.fabric.take_arrival(self.now, link) else { return };
        let packet = self.through_bytes(packet);
        self.fabric.arrive(self.now, link, packet);
    }

    /// Emit to bytes and parse back: what a machine reads, a wire carries.
    fn through_bytes(&mut self, packet: Packet) -> Packet {
        let buffer = self.bytes.as_mut().expect("bytes mode");
        let (plan, arena) = (&self.fabric.plan, &mut self.fabric.arena);
        buffer.clear();
        let emitted = forebay_wire::emit(&packet, arena, plan, buffer);
        emitted.expect("every address of a run is in its plan");
        assert_eq!(buffer.len(), packet.wire_len() as usize, "wire length of {packet:?}");
        let stamp = packet.stamp();
        let mut parsed = match forebay_wire::parse(buffer, plan, arena) {
            Ok(parsed) => parsed,
            Err(error) => panic!("{error}: {packet:?} does not parse back"),
        };
        parsed.set_stamp(stamp);
        arena.free(packet);
        parsed
    }

    /// Everything of the event list and of the injections that is due.
    pub(crate) fn on_control(&mut self) {
        while let Some(event) = self.events.get(self.next_event).filter(|e| e.at <= self.now) {
            self.next_event += 1;
            self.fabric.on_event(self.now, &event.event);
        }
        while self.injections.front().is_some_and(|i| i.at <= self.now) {
            let due = self.injections.pop_front().expect("just seen");
            self.fabric.inject(self.now, due.node, due.port, &due.bytes);
        }
        self.arm_control();
    }
}
