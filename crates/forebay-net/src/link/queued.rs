//! A link with any pipeline and any channel, which may lose, delay and fail.
//!
//! The end of a transmission is an event only if something depends on it: a packet waits, loss is
//! drawn then, or an event may change the link first. Else a packet is put on the wire when its
//! transmission starts. If the link fails before the end, it is taken back.

mod deferral;
mod without_delay;

use crate::channel::{AnyChannel, Channel};
use crate::link::impairment::Impairment;
use crate::link::impairment::Propagation;
use crate::link::middlebox::{Middlebox, MiddleboxCounts, Passed};
use crate::link::stats::LinkStats;
use crate::link::wire::WireSpec;
use alloc::boxed::Box;
use forebay_base::{
    Arena, DropReason, Endpoint, Packet, PacketRing, PacketTransfer, Rate, Rng, Span, Time,
};
use forebay_queue::{Overflow, Pipeline, PortContext};
use forebay_signal::inrpp::BackPressureSignal;
use forebay_wire::AddressPlan;

/// A packet in transmission.
#[derive(Clone, Copy)]
struct Transmission {
    /// When the transmitter became busy with it: its start, or when it began to wait for an
    /// opportunity.
    start: Time,
    end: Time,
    bytes: u64,
}

/// An opportunity that something waits for.
#[derive(Clone, Copy)]
struct Opening {
    at: Time,
    /// Since when only the channel holds up the packets that wait.
    since: Time,
}

/// Why a link is down. It is up when neither holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outage {
    /// An event of the spec.
    Event,
    /// The wire that it leaves over has no carrier.
    Carrier,
}

/// See the module.
#[repr(C, align(64))] // whole lines of the cache: what every packet touches comes first
pub struct QueuedLink {
    up: bool,
    /// Nothing is lost, and no event changes the link: the fate of a packet is known when it
    /// starts, unless the link fails.
    steady: bool,
    /// The pipeline has no meter and no egress stage, and needs no timer: bypass it when it is
    /// empty.
    transparent: bool,
    /// [`Pipeline::notes_passing`].
    notes_passing: bool,
    /// [`Pipeline::is_prompt`]: a pipeline that gives nothing has nothing.
    prompt: bool,
    /// False if surely nothing waits.
    may_wait: bool,
    /// [`Channel::starts_at_once`].
    starts_at_once: bool,
    /// The rate is constant: each time is an opportunity.
    always_open: bool,
    /// A packet for an idle transmitter arrives at a time that is known then: the link is up,
    /// steady, transparent, of constant rate, and without jitter.
    direct: bool,
    /// The link is steady and without jitter: nothing is drawn for a packet.
    even: bool,
    /// See `without_delay`.
    instant: bool,
    /// The end of a transmission needs no event: see [`QueuedLink::defer`].
    deferred: bool,
    /// It would have been an event, for a packet waits or did.
    end_matters: bool,
    overhead_bytes: u16,
    delay: Span,
    /// Arrival of the packet that was put on the wire last. Later packets do not arrive before it,
    /// unless the link reorders.
    last_arrival: Time,
    /// End of the last transmission, also if its packet is on the wire already.
    transmitting: Option<Transmission>,
    /// In order of arrival, their hop time; packets that arrive at the same time stay in order of
    /// departure.
    wire: PacketRing,
    /// The transmitter is free, packets wait, and the channel takes the next one later.
    opening: Option<Opening>,
    /// What stands between transmitter and wire.
    middlebox: Option<Box<Middlebox>>,
    stats: LinkStats,
    channel: AnyChannel,
    pipeline: Pipeline,
    /// Ends of transmissions at which a packet waited, since they were asked for.
    deferred_ends: u64,
    /// See [`QueuedLink::is_newly_deferred`].
    listed: bool,
    /// By [`Outage`]: the link is down for it.
    down_for: [bool; 2],
    /// When a timer of the pipeline expired last.
    timed_out_at: Time,
    /// The packet in transmission, if it is not on the wire already. On a steady link it is: the
    /// last there.
    in_service: Option<Packet>,
    impairment: Impairment,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(core::mem::offset_of!(QueuedLink, wire) == 64);
    assert!(core::mem::offset_of!(QueuedLink, stats) == 2 * 64);
    assert!(core::mem::offset_of!(QueuedLink, channel) == 4 * 64);
};

impl QueuedLink {
    /// An idle link that is up. A link that is `steady` loses nothing and is never changed. It may
    /// fail if nothing is drawn for its packets.
    pub fn new(
        mut pipeline: Pipeline,
        channel: AnyChannel,
        delay: Span,
        overhead_bytes: u16,
        impairment: Impairment,
        steady: bool,
    ) -> QueuedLink {
        assert!(!steady || impairment.is_lossless(), "a steady link loses nothing");
        pipeline.begin(channel.rate(Time::ZERO));
        let transparent = pipeline.is_transparent();
        let always_open = matches!(channel, AnyChannel::Constant(_));
        let even = steady && impairment.is_even();
        let mut link = QueuedLink {
            up: true,
            steady,
            transparent,
            notes_passing: pipeline.notes_passing(),
            prompt: pipeline.is_prompt(),
            may_wait: true,
            starts_at_once: channel.starts_at_once(),
            always_open,
            direct: false,
            even,
            instant: !steady && delay.is_zero(),
            deferred: false,
            end_matters: false,
            overhead_bytes,
            delay,
            last_arrival: Time::ZERO,
            transmitting: None,
            wire: PacketRing::default(),
            opening: None,
            middlebox: None,
            stats: LinkStats::default(),
            channel,
            pipeline,
            deferred_ends: 0,
            listed: false,
            down_for: [false; 2],
            timed_out_at: Time::MAX,
            in_service: None,
            impairment,
        };
        link.set_direct();
        link
    }
    fn set_direct(&mut self) {
        self.direct = self.up && self.even && self.transparent && self.always_open;
    }
    /// The same over this wire, whose losses and delays draw from `rng`, and lateness from
    /// `late_rng`. A link with a middlebox
    /// is not `steady`.
    pub(crate) fn over(
        wire: &WireSpec,
        pipeline: Pipeline,
        channel: AnyChannel,
        [rng, late_rng]: [Rng; 2],
        steady: bool,
    ) -> QueuedLink {
        let (delay, overhead_bytes) = (wire.delay, wire.overhead_bytes);
        let impairment = wire.impairment(rng, late_rng);
        let mut link =
            QueuedLink::new(pipeline, channel, delay, overhead_bytes, impairment, steady);
        if let Some(spec) = wire.middlebox.clone() {
            assert!(!steady, "a middlebox sees packets when they leave");
            let middlebox = Middlebox::new(spec, wire.mtu_bytes, AddressPlan::default());
            link.middlebox = Some(Box::new(middlebox));
        }
        link
    }

    /// Do something, and count the marks that the port sets meanwhile as those of this link.
    #[inline(always)]
    fn counting<R>(
        &mut self,
        cx: &mut PortContext<'_>,
        act: impl FnOnce(&mut Self, &mut PortContext<'_>) -> R,
    ) -> R {
        let before = cx.drops.ce_marks();
        let result = act(self, cx);
        self.stats.marked += cx.drops.ce_marks() - before;
        result
    }
    /// See [`crate::AnyLink::offer_since`].
    pub fn offer(
        &mut self,
        packet: Packet,
        queued_at: Time,
        cx: &mut PortContext<'_>,
    ) -> Result<(), Overflow> {
        if let Some(arrival) = self.start_direct(cx.now, queued_at, &packet, cx.arena) {
            self.lay_direct(packet, arrival);
            return Ok(());
        }
        self.counting(cx, |link, cx| link.take(packet, queued_at, cx))
    }
    /// The arrival of what comes to an idle transmitter is known then.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }
    /// Put a packet on the wire that was started and arrives at `arrival`.
    #[inline(always)]
    pub(crate) fn lay_direct(&mut self, packet: Packet, arrival: Time) {
        self.wire.push_back(packet).set_hop_time(arrival);
    }
    /// Put the first packet of `from` on the wire: it was started, arrives at `arrival`, and gets
    /// this time to live.
    #[inline(always)]
    pub(crate) fn lay_first_of(&mut self, from: &mut PacketRing, arrival: Time, ttl: u8) {
        let packet = from.move_front(&mut self.wire);
        packet.set_hop_time(arrival);
        packet.set_ttl(ttl);
    }
    /// Start to transmit a packet that comes now, if nothing is before it and nothing can happen to
    /// it: its arrival. It has waited elsewhere since `queued_at`.
    #[inline(always)] // once for each packet at each router that may hold it
    pub(crate) fn start_direct(
        &mut self,
        now: Time,
        queued_at: Time,
        packet: &Packet,
        arena: &Arena,
    ) -> Option<Time> {
        // A transmission that ends now is over, as in `advance`.
        let busy = self.transmitting.as_ref().is_some_and(|t| t.end > now);
        if !self.direct || busy || self.waits() {
            return None;
        }
        if self.notes_passing {
            self.note_passing(packet, arena);
        }
        let AnyChannel::Constant(channel) = &mut self.channel else { return None };
        let bytes = packet.wire_len() as u32 + self.overhead_bytes as u32;
        let end = channel.transmit(now, bytes);
        self.stats.transmitted(bytes as u64, end.since(now));
        self.stats.waits.record(now.since(queued_at));
        self.transmitting = Some(Transmission { start: now, end, bytes: bytes as u64 });
        self.last_arrival = end + self.delay;
        Some(self.last_arrival)
    }
    #[inline(never)] // most links have no use for it
    fn note_passing(&mut self, packet: &Packet, arena: &Arena) {
        self.pipeline.note_passing(packet, arena);
        self.may_wait = true; // its turn ends when the next one is asked for
    }
    #[inline(always)]
    fn take(
        &mut self,
        packet: Packet,
        queued_at: Time,
        cx: &mut PortContext<'_>,
    ) -> Result<(), Overflow> {
        // A transmission that ends now is over: the order of events at one instant must not matter.
        self.advance(cx);
        if self.takes_at_once(cx.now) {
            if self.transparent {
                if self.notes_passing {
                    self.note_passing(&packet, cx.arena);
                }
                self.transmit(packet, queued_at, cx.now, cx.now, cx);
                return Ok(());
            }
            if let Some(packet) = self.pipeline.pass(packet, cx) {
                self.transmit(packet, queued_at, cx.now, cx.now, cx);
            }
            // What was cut off from it may.
            let may_wait = !self.prompt || self.notes_passing;
            self.may_wait = may_wait || self.pipeline.backlog_packets() > 0;
            return Ok(());
        }
        // What a router held back for this link was there before an opportunity at this time.
        let comes_now = queued_at == cx.now;
        if !self.starts_at_once && comes_now && self.opening.is_none() && self.is_free(cx.now) {
            self.channel.on_idle(cx.now);
        }
        self.may_wait = true;
        let queued = self.pipeline.enqueue(packet, cx);
        if self.transmitting.is_none() && self.opening.is_none() {
            self.start(cx.now, cx); // nothing but the channel holds it up
        }
        queued
    }
    /// True if a packet that is offered now does not wait.
    #[inline]
    fn takes_at_once(&self, now: Time) -> bool {
        self.starts_at_once
            && self.is_free(now)
            && (self.always_open || self.channel.next_opportunity(now) <= now)
    }
    /// True if many packets may leave at one time: its feeder keeps its queue full.
    pub fn takes_bursts(&self) -> bool {
        !self.starts_at_once
    }
    #[inline]
    fn waits(&self) -> bool {
        self.may_wait && self.pipeline.backlog_packets() > 0
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        if self.transparent { None } else { self.pipeline.next_timeout() }
    }
    #[inline]
    fn is_free(&self, now: Time) -> bool {
        // A transmission that ends now is over when `on_transmitter` has been called, as if its end
        // were an event.
        let over = |t: &Transmission| t.end < now && !self.serves();
        let free = self.transmitting.as_ref().is_none_or(over);
        self.up && free && !self.waits()
    }
    /// True if the packet in transmission is not on the wire.
    #[inline]
    fn serves(&self) -> bool {
        !self.steady && self.in_service.is_some()
    }
    /// The transmitter is free since `at`: a packet that waited then has started then, or waits for
    /// an opportunity.
    #[inline]
    fn start(&mut self, at: Time, cx: &mut PortContext<'_>) {
        if !self.may_wait || !self.up || self.transmitting.is_some() {
            return;
        }
        if self.always_open {
            return self.take_next(at, at, cx);
        }
        match self.channel.next_opportunity(at) {
            open if open == at => self.take_next(at, at, cx),
            open => self.await_opportunity(at, open, cx),
        }
    }
    /// The transmitter is free since `at`, and the channel takes the next packet at `open`.
    #[inline(never)]
    fn await_opportunity(&mut self, at: Time, open: Time, cx: &mut PortContext<'_>) {
        if !self.waits() {
            self.may_wait = !self.prompt;
            return;
        }
        let since = self.opening.map_or(at, |opening| opening.since);
        self.opening = Some(Opening { at: open, since });
        if open <= cx.now {
            self.on_opening(cx);
        }
    }
    /// The opportunity that something waited for has come.
    #[inline(never)]
    fn on_opening(&mut self, cx: &mut PortContext<'_>) {
        if let Some(Opening { at, since }) = self.opening.take() {
            self.take_next(since, at, cx);
        }
    }
    /// Start the transmission of the next packet at `at`, if there is one. The discipline learns
    /// that time, even if the call is late.
    #[inline]
    fn take_next(&mut self, since: Time, at: Time, cx: &mut PortContext<'_>) {
        if let Some(packet) = cx.at(at, |cx| self.pipeline.dequeue(cx)) {
            let queued_at = packet.hop_time();
            self.transmit(packet, queued_at, since.max(queued_at), at.max(queued_at), cx);
        } else {
            self.may_wait = !self.prompt;
        }
    }
    /// Start the transmission of a packet at `start`. It came at `queued_at`; the transmitter is
    /// busy with it since `since`.
    fn transmit(
        &mut self,
        packet: Packet,
        queued_at: Time,
        since: Time,
        start: Time,
        cx: &mut PortContext<'_>,
    ) {
        let bytes = packet.wire_len() as u32 + self.overhead_bytes as u32;
        let end = self.channel.transmit(start, bytes);
        let least = if self.starts_at_once { Span::from_nanos(1) } else { Span::ZERO };
        debug_assert!(end >= start + least, "a transmission takes at least 1 ns");
        self.stats.transmitted(bytes as u64, end.since(since));
        self.stats.waits.record(start.since(queued_at));
        self.transmitting = Some(Transmission { start: since, end, bytes: bytes as u64 });
        if self.steady { self.put_on_wire(packet, end, cx) } else { self.in_service = Some(packet) }
    }
    /// See [`crate::AnyLink::on_transmitter`]. A late call does all that was due, in order and as
    /// of its time: a driver that wakes late must not make the link slower.
    pub fn on_transmitter(&mut self, cx: &mut PortContext<'_>) {
        self.counting(cx, QueuedLink::advance);
    }
    #[inline]
    fn advance(&mut self, cx: &mut PortContext<'_>) {
        loop {
            if !self.transparent || self.opening.is_some() {
                self.do_due(cx);
            }
            let Some(done) = self.transmitting.take_if(|t| t.end <= cx.now) else { break };
            self.on_end(done, cx);
        }
        if self.may_wait && self.opening.is_none() {
            self.start(cx.now, cx);
        }
    }
    /// Timers and opportunities that are due, and what ended before them.
    #[inline]
    fn do_due(&mut self, cx: &mut PortContext<'_>) {
        while self.next_timeout().is_some_and(|at| at <= cx.now) || self.is_open(cx.now) {
            self.do_first_due(cx);
        }
    }
    #[inline]
    fn is_open(&self, now: Time) -> bool {
        self.opening.is_some_and(|opening| opening.at <= now)
    }
    #[inline(always)]
    fn on_end(&mut self, done: Transmission, cx: &mut PortContext<'_>) {
        if !self.steady
            && let Some(packet) = self.in_service.take()
        {
            self.put_on_wire(packet, done.end, cx);
        }
        self.start(done.end, cx);
        if self.end_matters {
            self.count_deferred_end(done.end);
        }
    }
    /// Handle the first timer or opportunity that is due; at equal times the timer goes first.
    #[inline(never)]
    fn do_first_due(&mut self, cx: &mut PortContext<'_>) {
        let timeout = self.next_timeout().unwrap_or(Time::MAX);
        let opens = self.opening.map_or(Time::MAX, |opening| opening.at);
        if let Some(done) = self.transmitting.take_if(|t| t.end < timeout) {
            self.on_end(done, cx);
        } else if timeout <= opens {
            self.timed_out_at = timeout;
            cx.at(timeout, |cx| self.pipeline.on_timeout(cx));
            assert!(self.next_timeout().is_none_or(|next| next > timeout), "a timer stands still");
            if self.opening.is_none() {
                self.start(timeout, cx);
            }
        } else {
            self.on_opening(cx);
        }
    }
    fn put_on_wire(&mut self, packet: Packet, departed: Time, cx: &mut PortContext<'_>) {
        match self.middlebox {
            None => self.propagate(packet, departed, cx),
            Some(_) => self.pass_middlebox(packet, departed, cx),
        }
    }
    #[cold]
    fn pass_middlebox(&mut self, packet: Packet, departed: Time, cx: &mut PortContext<'_>) {
        let Some(middlebox) = &mut self.middlebox else { return };
        match middlebox.on_packet(departed, packet, cx.arena, cx.drops) {
            Passed::Nothing => {}
            Passed::One(packet) => self.propagate(packet, departed, cx),
            Passed::Pieces(pieces) => {
                for piece in pieces {
                    self.propagate(piece, departed, cx);
                }
            }
        }
    }
    /// Put on the wire a copy of the last packet that asked for `ask`, between these ends and at
    /// least `age` ago. False if none was recorded.
    pub fn replay(
        &mut self,
        age: Span,
        ends: [Endpoint; 2],
        ask: BackPressureSignal,
        cx: &mut PortContext<'_>,
    ) -> bool {
        let since_start = cx.now.since(Time::ZERO);
        let (Some(middlebox), true) = (&self.middlebox, since_start >= age) else { return false };
        let latest = Time::ZERO + since_start.saturating_sub(age);
        let Some(copy) = middlebox.recording().copy(latest, ends, ask, cx.arena) else {
            return false;
        };
        self.propagate(copy, cx.now, cx);
        true
    }
    #[inline]
    fn propagate(&mut self, mut packet: Packet, departed: Time, cx: &mut PortContext<'_>) {
        if self.even {
            return self.lay(packet, departed + self.delay);
        }
        match self.impairment.draw() {
            Propagation::Lost => {
                self.stats.lost += 1;
                cx.drop_packet(packet, DropReason::Loss);
            }
            Propagation::Arrives(extra) => {
                let mut arrival = departed + self.delay + extra;
                if self.impairment.late.is_some() {
                    arrival += self.impairment.draw_late();
                }
                if arrival < self.last_arrival {
                    if self.impairment.reorders() {
                        packet.set_hop_time(arrival);
                        return self.wire.insert_by_stamp(packet);
                    }
                    arrival = self.last_arrival;
                }
                self.lay(packet, arrival);
            }
        }
    }
    /// Put a packet on the wire that arrives after all others.
    #[inline]
    fn lay(&mut self, packet: Packet, arrival: Time) {
        self.last_arrival = arrival;
        // After the copy: see the ring.
        self.wire.push_back(packet).set_hop_time(arrival);
    }
    /// See [`crate::AnyLink::next_transmitter`].
    #[inline]
    pub fn next_transmitter(&self) -> Option<Time> {
        let matters = |_: &&Transmission| self.serves() || (!self.deferred && self.waits());
        let end = self.transmitting.as_ref().filter(matters).map(|t| t.end);
        if self.always_open && self.transparent {
            return end;
        }
        let end = end.or(self.opening.map(|opening| opening.at)); // never both
        match (end, self.next_timeout()) {
            (Some(end), Some(timeout)) => Some(end.min(timeout)),
            (end, timeout) => end.or(timeout),
        }
    }
    /// See [`crate::AnyLink::next_arrival`].
    #[inline(always)] // once for each packet
    pub fn next_arrival(&self) -> Option<Time> {
        let first = self.wire.front().map(Packet::hop_time);
        if self.instant { self.instant_arrival(first) } else { first }
    }
    /// See [`crate::AnyLink::first`].
    #[inline]
    pub(crate) fn first(&self) -> Option<&Packet> {
        self.wire.front()
    }
    /// See [`crate::AnyLink::first_arrived`].
    #[inline]
    pub(crate) fn first_arrived(&self, now: Time) -> Option<&Packet> {
        self.wire.front().filter(|first| first.hop_time() <= now)
    }
    /// See [`crate::AnyLink::wire_mut`].
    #[inline]
    pub(crate) fn wire_mut(&mut self) -> &mut PacketRing {
        &mut self.wire
    }
    /// See [`crate::AnyLink::take_arrival`].
    #[inline]
    pub fn take_arrival(&mut self, now: Time) -> Option<Packet> {
        self.first_arrived(now)?;
        self.wire.pop_front()
    }
    /// See [`crate::AnyLink::export`].
    pub fn export(&mut self, transfer: &mut PacketTransfer, arena: &mut Arena) {
        transfer.pack_all(&mut self.wire, arena);
    }
    /// See [`crate::AnyLink::waiting_packets`].
    pub fn waiting_packets(&self, _: Time) -> u64 {
        self.pipeline.backlog_packets()
    }
    /// See [`crate::AnyLink::waiting_bytes`].
    pub fn waiting_bytes(&self, _: Time) -> u64 {
        self.pipeline.backlog_bytes()
    }
    /// See [`crate::AnyLink::next_start`].
    pub fn next_start(&self) -> Option<Time> {
        let end = self.transmitting.as_ref().map(|t| t.end);
        end.or(self.opening.map(|opening| opening.at))
    }
    /// See [`crate::AnyLink::has_room`].
    pub fn has_room(&self, wire_len: u16, now: Time) -> bool {
        self.takes_at_once(now) || self.pipeline.has_room(wire_len)
    }
    /// See [`crate::AnyLink::is_idle`].
    pub fn is_idle(&self, now: Time) -> bool {
        self.is_free(now)
    }
    /// See [`crate::AnyLink::is_up`].
    pub fn is_up(&self) -> bool {
        self.up
    }
    /// See [`crate::AnyLink::delay`].
    pub fn delay(&self) -> Span {
        self.delay
    }
    /// See [`crate::AnyLink::rate`].
    pub fn rate(&self, now: Time) -> Rate {
        self.channel.rate(now)
    }
    /// See [`crate::AnyLink::publish`].
    pub fn publish(&self, now: Time, see: &mut dyn FnMut(&'static str, f64)) {
        self.pipeline.publish(now, see);
    }
    /// See [`crate::AnyLink::stats`].
    pub fn stats(&self, _: Time) -> LinkStats {
        self.stats.clone()
    }
    /// See [`crate::AnyLink::busy`].
    pub fn busy(&self, now: Time) -> Span {
        let rest = self.transmitting.as_ref().map_or(Span::ZERO, |t| t.end.since(now));
        // The wait for an opportunity is counted when that comes: what of it has passed counts now.
        let waited = self.opening.map_or(Span::ZERO, |opening| now.since(opening.since));
        self.stats.busy.saturating_sub(rest) + waited
    }
    /// See [`crate::AnyLink::transmitted_bytes`].
    pub fn transmitted_bytes(&self, now: Time) -> u64 {
        let left = self.transmitting.as_ref().filter(|t| t.end > now).map_or(0, |t| {
            let (rest, whole) = (t.end.since(now.max(t.start)), t.end.since(t.start));
            (u128::from(t.bytes) * u128::from(rest.as_nanos()) / u128::from(whole.as_nanos()))
                as u64
        });
        self.stats.bytes - left
    }
    /// See [`crate::AnyLink::serialized_packets`].
    pub fn serialized_packets(&self, now: Time) -> u64 {
        self.stats.packets - self.is_transmitting(now) as u64
    }
    fn is_transmitting(&self, now: Time) -> bool {
        self.in_service.is_some() || self.transmitting.as_ref().is_some_and(|t| t.end > now)
    }
    /// See [`crate::AnyLink::held_packets`].
    pub fn held_packets(&self) -> u64 {
        let in_middlebox = self.middlebox.as_ref().map_or(0, |m| m.held_packets());
        self.pipeline.backlog_packets()
            + self.in_service.is_some() as u64
            + self.wire.len() as u64
            + in_middlebox
    }

    /// See [`crate::AnyLink::middlebox`].
    pub fn middlebox(&self) -> MiddleboxCounts {
        self.middlebox.as_ref().map_or_else(MiddleboxCounts::default, |m| m.counts())
    }

    /// The rate changes; the packet in transmission keeps its own.
    pub fn set_rate(&mut self, rate: Rate, cx: &mut PortContext<'_>) {
        self.counting(cx, |link, cx| {
            link.pipeline.set_rate(rate, cx);
            link.channel.set_rate(cx.now, rate);
            if link.opening.take().is_some() {
                link.start(cx.now, cx); // by the opportunities that there are now
            }
        });
    }
    /// The delay changes for packets that leave from now on. If it falls, they arrive together with
    /// the last one before them, or overtake it if the link reorders.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
        self.instant = !self.steady && delay.is_zero();
    }
    /// The loss probability changes.
    pub fn set_loss(&mut self, loss: f64) {
        self.impairment.loss = loss;
    }
    /// True if the link is down for this reason.
    pub(crate) fn is_down_for(&self, why: Outage) -> bool {
        self.down_for[why as usize]
    }
    /// The link fails: what is in transmission or on the wire is lost, what is queued waits. At the
    /// end of a transmission the failure comes first.
    pub fn link_down(&mut self, why: Outage, cx: &mut PortContext<'_>) {
        debug_assert!(!self.steady || self.even, "no draw can be taken back");
        self.down_for[why as usize] = true;
        self.up = false;
        self.set_direct();
        self.opening = None;
        if let Some((Transmission { start, end, bytes }, packet)) = self.cut_off(cx.now) {
            // The packet was not transmitted: only the time that it took counts.
            self.stats.busy = self.stats.busy.saturating_sub(end.since(cx.now.max(start)));
            self.stats.packets -= 1;
            self.stats.bytes -= bytes;
            self.stats.lost += 1;
            cx.drop_packet(packet, DropReason::LinkDown);
        }
        self.last_arrival = Time::ZERO; // nobody waits for what is lost
        self.stats.lost += self.wire.len() as u64;
        while let Some(packet) = self.wire.pop_front() {
            cx.drop_packet(packet, DropReason::LinkDown);
        }
    }
    /// The transmitter stops: what it was transmitting.
    fn cut_off(&mut self, now: Time) -> Option<(Transmission, Packet)> {
        let cut = self.transmitting.take()?;
        let packet = match self.steady {
            true if cut.end < now => None, // it has left, and nothing depended on that
            true => self.wire.pop_back(),
            false => self.in_service.take(),
        };
        Some((cut, packet?))
    }
    /// This reason for a failure is over. True: the link works again, for the other one does not
    /// hold.
    pub fn link_up(&mut self, why: Outage, cx: &mut PortContext<'_>) -> bool {
        self.down_for[why as usize] = false;
        self.up = self.down_for == [false; 2];
        self.set_direct();
        if self.up {
            self.counting(cx, |link, cx| link.start(cx.now, cx));
        }
        self.up
    }
    /// Give up everything queued, for `reason`; what is in transmission goes on.
    pub fn clear_queue(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.pipeline.clear(reason, cx);
    }
}
