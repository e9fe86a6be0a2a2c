//! What happens at each kind of event, where it is the simulator's business: what an arrival adds to the trace hash, the
//! way through bytes, and what the scenario does. The rest is in [`forebay_net::Fabric`].

use crate::world::Simulation;
use forebay_base::{LinkId, Packet};

impl Simulation {
    /// The first packet on the wire of `link` has arrived.
    #[inline]
    pub(crate) fn on_arrival(&mut self, link: LinkId) {
        let Some(packet) = self.fabric.take_arrival(self.now, link) else { return };
        if self.bytes.is_some() {
            return self.arrive_as_bytes(link, packet);
        }
        self.arrive(link, packet);
    }

    #[inline(always)] // into the one way that most packets take
    fn arrive(&mut self, link: LinkId, packet: Packet) {
        self.hashes[link.index()].arrived(self.now, packet.digest(&self.fabric.arena));
        self.fabric.arrive(self.now, link, packet);
    }

    #[cold]
    #[inline(never)]
    fn arrive_as_bytes(&mut self, link: LinkId, packet: Packet) {
        let packet = self.through_bytes(packet);
        self.arrive(link, packet);
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
