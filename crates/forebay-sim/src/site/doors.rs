//! The doors of a [`Site`]: what comes from elsewhere and goes there, as bytes.

use super::Site;
use super::streams::Streams;
use crate::driver::SimDriver;
use crate::event_queue::EventQueue;
use crate::injection::{Door, Entrant};
use crate::input::{Input, InputEvent};
use crate::observe::Observer;
use crate::spec_parts::events_of;
use crate::trace::TraceSum;
use forebay_base::{BodyCounts, DropLog, FlowId, LinkId, Packet, Signature, Span, Time, mix64};
use forebay_net::{
    AnswerCounts, AnyLink, Conservation, DriverError, Fabric, Horizon, NetSpec, Place, SpecError,
    Workload,
};
use forebay_transport::{ConnectionView, Role};
use forebay_wire::{emit, emit_payload, parse};
use std::collections::VecDeque;
use std::sync::Arc;

/// Buffers of inputs that are kept for the next ones.
const SPARE_BUFFERS: usize = 1 << 10;

/// What a [`Site`] may be given besides its network.
#[derive(Default)]
pub struct SiteOptions {
    /// The observer, which is shown every packet event here, but not packets that leave.
    pub observer: Option<Box<dyn Observer>>,
    /// By flow the bytes that its client sends, or where that is elsewhere its server. Without them
    /// the payload is a pattern that depends on flow and sequence number.
    pub payload: Option<Arc<Vec<Vec<u8>>>>,
    /// On real wires: what nobody here takes is answered, nobody elsewhere can foresee what the
    /// hosts here choose, and a wire may be lost ([`Site::push_carrier`]).
    pub real: Option<RealWires>,
    /// Every link is built the general way, for comparison.
    pub all_queued: bool,
}

/// What a [`Site`] on real wires has besides, of which a record is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RealWires {
    /// What initial sequence numbers and keys come from, besides the seed.
    pub secret: [u64; 2],
}

/// A packet that has left a [`Site`].
#[derive(Clone, Copy, Debug)]
pub struct Exit<'a> {
    /// The link that it left over.
    pub link: LinkId,
    /// The nominal time at which it is at the far end of that link.
    pub at: Time,
    /// The packet, from its IP header on.
    pub bytes: &'a [u8],
    /// [`Packet::signature`], and when it left the host that made it: on no wire.
    pub(crate) stamp: (Signature, Time),
}

/// An [`Exit`] that was not fetched yet.
struct Waiting {
    link: LinkId,
    at: Time,
    len: usize,
    stamp: (Signature, Time),
}

/// See the module.
#[derive(Default)]
pub(super) struct Doors {
    exits: Vec<Waiting>,
    /// The bytes of `exits`, one after the other.
    bytes: Vec<u8>,
    left: TraceSum,
    streams: Option<Streams>,
    spare: Vec<Vec<u8>>,
}

impl Site {
    /// What is at `place` of the network of `spec`, before anything has happened. All places of a
    /// run are built of the same spec and seed.
    pub fn new(
        spec: &NetSpec,
        seed: u64,
        place: &Place,
        options: SiteOptions,
    ) -> Result<Site, SpecError> {
        // What comes from elsewhere cannot be foreseen: no early transit.
        let driver = SimDriver::new(EventQueue::calendar(), true, options.observer, false);
        let secret = options.real.map(|real| real.secret);
        let mut fabric = Fabric::of_place(spec, seed, options.all_queued, secret, place, driver)?;
        if options.real.is_some() {
            fabric.answer_strangers();
        }
        fabric.start();
        let horizon = Horizon::new(&fabric, Time::MAX);
        let is_here = |node| place.nodes.contains(&node);
        let is_near =
            |link: LinkId| is_here(spec.links[link.index()].from) || place.offered.contains(&link);
        let events = events_of(spec, is_near, is_here);
        let streams = options.payload.map(|sent| Streams::new(fabric.workload(), sent));
        let mut site = Site::at_start(fabric, events, VecDeque::new(), false, horizon);
        site.doors = Some(Box::new(Doors { streams, ..Doors::default() }));
        site.plain_arrivals = false;
        Ok(site)
    }

    /// A packet, from its IP header on, arrives at `at` over a link that begins elsewhere, or is
    /// offered to it by a host ([`Place::offered`]). Gives the time at which it will be executed:
    /// `at`, or 1 ns after [`Site::now`] if that is later.
    ///
    /// Inputs come before events of the same time; of one link, in the order in which they were
    /// pushed. So a run that is given the same inputs for the times at which they were executed
    /// here is the same run, however calls of `push` and [`Site::run_until`] alternate.
    ///
    /// What cannot be parsed is counted as dropped. Err if nothing comes in over this link.
    pub fn push(&mut self, at: Time, link: LinkId, bytes: &[u8]) -> Result<Time, DriverError> {
        self.push_stamped(at, link, bytes, |_| Time::ZERO)
    }
    /// The same; `left_host_at` knows when a packet left the host that made it, zero if nobody
    /// does.
    pub(crate) fn push_stamped(
        &mut self,
        at: Time,
        link: LinkId,
        bytes: &[u8],
        left_host_at: impl FnOnce(Signature) -> Time,
    ) -> Result<Time, DriverError> {
        let at = at.max(self.now + Span::from_nanos(1));
        if self.fabric.is_offered(link) {
            self.push_offered(at, link, bytes);
            return Ok(at);
        }
        match parse(bytes, &self.fabric.plan, &mut self.fabric.arena) {
            Ok(mut packet) => {
                packet.set_left_host_at(left_host_at(packet.signature(&self.fabric.arena)));
                self.note_payload(&packet, bytes);
                self.fabric.enter(at, link, packet)?;
            }
            // The fabric counts it.
            Err(_) => self.fabric.enter_bytes(at, link, bytes)?,
        }
        Ok(at)
    }
    fn push_offered(&mut self, at: Time, link: LinkId, bytes: &[u8]) {
        let spare = self.doors.as_mut().and_then(|doors| doors.spare.pop());
        let mut buffer = spare.unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.let_in(Entrant { at, door: Door::Queue(link), bytes: buffer });
    }
    fn let_in(&mut self, entrant: Entrant) {
        let place = self.entrants.iter().rposition(|other| other.at <= entrant.at);
        self.entrants.insert(place.map_or(0, |last| last + 1), entrant);
        self.arm_control();
    }

    /// At `at` it was noticed that the carrier of the wire that `link` leaves over is lost, or back
    /// (`up`): the link goes down or up, as by an event of the spec; it is up if no event keeps it
    /// down either. An input as those of [`Site::push`], with the same times. Err unless `link`
    /// leaves from here over a real wire ([`SiteOptions::real`]).
    pub fn push_carrier(&mut self, at: Time, link: LinkId, up: bool) -> Result<Time, DriverError> {
        self.fabric.may_lose_carrier(link)?;
        let at = at.max(self.now + Span::from_nanos(1));
        self.let_in(Entrant { at, door: Door::Carrier(link, up), bytes: Vec::new() });
        Ok(at)
    }
    /// True if links that leave from here may lose their wires: [`SiteOptions::real`].
    pub fn has_real_wires(&self) -> bool {
        self.fabric.has_real_wires()
    }
    /// Either of them.
    pub fn push_input(&mut self, input: &Input) -> Result<Time, DriverError> {
        match &input.event {
            InputEvent::Packet(bytes) => self.push(input.at, input.link, bytes),
            InputEvent::Carrier(up) => self.push_carrier(input.at, input.link, *up),
        }
    }

    /// Keep real payload that is for a server here.
    fn note_payload(&mut self, packet: &Packet, bytes: &[u8]) {
        if let Some(streams) = self.doors.as_mut().and_then(|doors| doors.streams.as_mut()) {
            let payload = &bytes[bytes.len() - usize::from(packet.payload_len())..];
            streams.incoming(packet, payload, &self.fabric);
        }
    }

    /// What comes from outside is due.
    pub(super) fn admit(&mut self, entrant: Entrant) {
        let Entrant { door, bytes, .. } = entrant;
        let taken = match door {
            Door::Port(node, port) => self.fabric.inject(self.now, node, port, &bytes),
            Door::Queue(link) => self.fabric.offer_bytes(self.now, link, &bytes),
            Door::Carrier(link, up) => self.fabric.on_carrier(self.now, link, up),
        };
        taken.expect("its door was checked, and nothing looks ahead");
        if let Some(doors) = self.doors.as_mut().filter(|doors| doors.spare.len() < SPARE_BUFFERS) {
            doors.spare.push(bytes);
        }
    }

    /// Let all events and inputs up to and including `limit` happen, in order of time.
    pub fn run_until(&mut self, limit: Time) {
        self.run(limit, false);
    }

    /// The first packet on `link` has arrived at its far end, elsewhere.
    pub(super) fn leave(&mut self, link: LinkId) {
        let Some(packet) = self.fabric.take_exit(self.now, link) else { return };
        let (fabric, doors) = (&mut self.fabric, self.doors.as_mut().expect("it has doors"));
        let signature = packet.signature(&fabric.arena);
        doors.left.arrived(self.now, link, signature, packet.ttl());
        let before = doors.bytes.len();
        doors.write(&packet, fabric);
        let (len, stamp) = (doors.bytes.len() - before, (signature, packet.left_host_at()));
        doors.exits.push(Waiting { link, at: self.now, len, stamp });
        fabric.arena.free(packet);
    }

    /// Give `each` the packets that have left since the last call, in order.
    pub fn exits(&mut self, mut each: impl FnMut(Exit<'_>)) {
        let Some(doors) = &mut self.doors else { return };
        let mut rest = doors.bytes.as_slice();
        for Waiting { link, at, len, stamp } in doors.exits.drain(..) {
            let (bytes, behind) = rest.split_at(len);
            each(Exit { link, at, bytes, stamp });
            rest = behind;
        }
        doors.bytes.clear();
    }

    /// The time of the last event or input. Never later than the limit of the last
    /// [`Site::run_until`].
    pub fn now(&self) -> Time {
        self.now
    }
    /// When something may happen next without an input; None if nothing will.
    pub fn next(&self) -> Option<Time> {
        Some(self.next_time()).filter(|&at| at < Time::MAX)
    }
    /// A digest of all arrivals here and all that has left, with their times.
    pub fn hash(&self) -> u64 {
        let left = self.doors.as_ref().map_or(0, |doors| doors.left.finish());
        mix64(self.arrivals().finish().rotate_left(32) ^ left)
    }
    /// The part of the trace hash of a run that belongs to arrivals here. The sum over all places
    /// is that of the run, if wires between them neither lose nor delay.
    pub fn arrivals(&self) -> TraceSum {
        self.fabric.driver.trace()
    }
    /// What became of every packet here.
    pub fn conservation(&self) -> Conservation {
        self.fabric.conservation()
    }
    /// Packets that were answered by ICMP or a reset.
    pub fn answers(&self) -> AnswerCounts {
        self.fabric.answers()
    }
    /// How often a packet that is carried as it is needed a buffer.
    pub fn body_counts(&self) -> BodyCounts {
        self.fabric.arena.body_counts()
    }
    /// Drops here so far.
    pub fn drops(&self) -> &DropLog {
        self.fabric.drops()
    }
    /// Ends of flows: all of the network, and those here that have not ended; see
    /// [`Fabric::ends`]. The sum of the latter over all places counts.
    pub fn ends(&self) -> (usize, isize) {
        self.fabric.ends()
    }
    /// When the last of those ended that have; zero if none has.
    pub fn last_ended(&self) -> Time {
        self.fabric.last_ended()
    }
    /// The connection at an end of a flow, once it exists, if it is here.
    pub fn connection(&self, flow: FlowId, role: Role) -> Option<ConnectionView<'_>> {
        self.fabric.connection(flow, role)
    }
    /// The flows of the network.
    pub fn workload(&self) -> &Workload {
        self.fabric.workload()
    }
    /// A link; of one that is not here, its far end.
    pub fn link(&self, link: LinkId) -> &AnyLink {
        self.fabric.link(link)
    }
    /// The bytes that the server of a flow has received in order, if it is here and the run carries
    /// bytes.
    pub fn received(&self, flow: FlowId) -> Option<&[u8]> {
        let streams = self.doors.as_ref()?.streams.as_ref()?;
        streams.received(flow, &self.fabric)
    }
}

impl Doors {
    /// Append the bytes of `packet`.
    fn write(&mut self, packet: &Packet, fabric: &Fabric<SimDriver>) {
        let (plan, arena) = (&fabric.plan, &fabric.arena);
        let payload = self.streams.as_ref().and_then(|s| s.outgoing(packet, fabric));
        let written = match payload {
            Some(payload) => emit_payload(packet, arena, plan, payload, &mut self.bytes),
            None => emit(packet, arena, plan, &mut self.bytes),
        };
        written.expect("every address of a run is in its plan");
    }
}
