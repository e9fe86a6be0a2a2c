//! The usual case: data and ACKs come in order, and nothing is being repaired, probed or negotiated.
//!
//! What happens here is what the general path (`send`, `emit`, `input`, `acks`) would do, less the steps that have no effect
//! on a path with an open fast path. `FastPathState::fast_path` remembers whether it is one, `FastPathState::send_limit` and `FastPathState::cwnd` up to where full segments may
//! leave: whatever may change them ends with [`Path::refresh`], and what happens here keeps them true.

use super::emit::attach;
use super::input::{Incoming, options_of};
use super::scoreboard::Segment;
use super::{Cx, Path, SpuriousCheck, State};
use crate::config::{Pacing, TcpConfig};
use crate::connection::{Counters, PathSetup};
use crate::recv::InOrderData;
use forebay_base::{
    Arena, IpVersion, Kind, OptionList, Packet, Rate, TcpFields, TcpFlags, Time, kind, narrow,
};
use forebay_cc::{Ack, AnyFeedback, Controller, Feedback, Limits, NextPacket, Sent};

/// What a path with an open fast path does when it is asked for a packet.
enum NextStep {
    /// Send a full segment of new data; its pacing rate.
    Segment(Option<Rate>),
    /// There is nothing to send.
    Nothing,
    /// The congestion window is full.
    Full,
    /// Something for the general path.
    Other,
}

impl Path {
    /// True if nothing but new data, acknowledgments in order and ACKs of them can be due.
    pub(super) fn may_take_fast_path(&self) -> bool {
        self.recv.has_no_sack_blocks() && self.sender_is_regular()
    }
    /// The same, whatever the receiving half holds out of order.
    pub(super) fn sender_is_regular(&self) -> bool {
        // What is so for a while in most transfers comes first.
        let orderly = self.board.is_orderly() && self.dupacks == 0 && self.limited_bytes == 0;
        if !orderly || !self.fast.allowed {
            return false;
        }
        let open = self.state == State::Established
            && self.mappings.is_none()
            && !self.negotiated.ecn
            && !self.handshake_ack
            && !self.syn_due
            && self.syn_loss_window == u64::MAX;
        let repaired = self.episode.is_none()
            && self.board.una() >= self.recovery_point
            && self.unanswered_loss.is_none()
            && self.spurious == SpuriousCheck::None
            && self.retries == 0;
        let probed = self.probe.is_none() && !self.probe_due && !self.window_probe_due;
        let unlimited = self.timers.loss == Time::MAX && self.timers.persist == Time::MAX;
        open && repaired && probed && unlimited
    }

    /// True if an ACK that a path with an open fast path expects can find no loss, and nobody asks for the packets that it covers one by one. One
    /// such ACK leaves this true.
    pub(super) fn ack_cannot_lose(&self) -> bool {
        self.fast.fast_path
            && !self.traits.wants_packets
            && self.detector.ack_cannot_lose(self.board.una())
    }
    /// True if its packets carry nothing but timestamps, are not paced and may not be cut, and if sending them does not move the
    /// limits of the controller. For the life of the path.
    pub(super) fn is_header_only(
        setup: &PathSetup,
        version: IpVersion,
        config: &TcpConfig,
    ) -> bool {
        let controller = &setup.controller;
        matches!(setup.feedback, AnyFeedback::None)
            && !controller.stamps()
            && !controller.sending_moves_limits()
            && config.pacing == Pacing::Off
            && (config.dont_fragment || version == IpVersion::V6)
    }
    /// How far full segments of new data may leave without a further thought.
    pub(super) fn update_send_limit(&mut self) {
        let open = self.fast.fast_path
            && self.fast.header_only
            && !self.buffer_limit.is_any()
            && self.payload_limit == self.mss
            && self.timers.pace == Time::MAX;
        self.fast.send_limit = if open { self.current_send_limit() } else { 0 };
    }
    /// The same where nothing has changed but what is acknowledged or offered, or the limits of the controller.
    #[inline]
    fn renew_send_limit(&mut self) {
        if self.fast.send_limit != 0 {
            self.fast.send_limit = self.current_send_limit();
        }
    }
    #[inline]
    fn current_send_limit(&mut self) -> u64 {
        let Limits { cwnd_bytes, pacing_rate: None, credits: None } = self.controller.limits()
        else {
            return 0;
        };
        self.fast.cwnd = cwnd_bytes;
        (self.send_end - 1).min(self.window_edge()) // the last segment may be short, and may bring FIN
    }
    /// Right edge of what the peer's window and the send buffer allow.
    #[inline]
    fn window_edge(&self) -> u64 {
        self.peer_edge.min(self.board.una() + self.fast.send_buffer)
    }

    /// True if [`Path::poll`] would find neither data nor an ACK to send: the most frequent answer of a receiver.
    #[inline]
    pub(crate) fn has_nothing_to_send(&self) -> bool {
        if self.fast.fast_path {
            !self.acks.is_due() && self.all_sent()
        } else {
            self.mappings.is_none() && !self.has_work()
        }
    }
    /// True if [`Path::poll`] would only note that the window is full, however late it is called, if nothing comes before.
    #[inline]
    pub(crate) fn awaits_window(&self, now: Time, config: &TcpConfig) -> bool {
        self.fast.fast_path
            && !self.acks.is_due()
            && matches!(self.next_step(now, config), NextStep::Full)
    }
    /// [`Path::poll`] would give what [`Path::send_fast_segment`] makes.
    #[inline]
    pub(crate) fn has_fast_segment(&self, now: Time) -> bool {
        self.fast.fast_path
            && self.below_send_limit(now)
            && self.board.in_flight() + self.mss() <= self.fast.cwnd
    }
    /// Nothing but the congestion window may keep a full segment from leaving.
    #[inline]
    fn below_send_limit(&self, now: Time) -> bool {
        self.board.nxt() + self.mss() <= self.fast.send_limit && self.pacer.ready(now)
    }
    /// The stream has been sent, and FIN if it may follow.
    #[inline]
    fn all_sent(&self) -> bool {
        let nxt = self.board.nxt();
        nxt > self.send_end || (nxt == self.send_end && !self.fin_allowed)
    }

    /// [`Path::poll`] of a path with an open fast path.
    #[inline]
    pub(super) fn poll_fast(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        debug_assert!(self.may_take_fast_path());
        if !self.no_feedback && self.acks.is_due() {
            return Some(self.send_ack(cx, arena)); // alone: it has options of its own
        }
        match self.next_step(cx.now, cx.config) {
            NextStep::Segment(_) if self.fast.header_only => {
                return Some(self.send_fast_segment(cx.now, cx.counters));
            }
            NextStep::Segment(pacing) => return Some(self.send_segment(cx, arena, pacing)),
            NextStep::Other => return self.poll_general(cx, arena),
            NextStep::Full => self.note_window_full(),
            NextStep::Nothing => {}
        }
        self.acks.is_due().then(|| self.send_ack(cx, arena))
    }

    #[inline]
    fn next_step(&self, now: Time, config: &TcpConfig) -> NextStep {
        let in_flight = self.board.in_flight();
        if self.all_sent() {
            NextStep::Nothing
        } else if in_flight == 0 || !self.below_send_limit(now) {
            self.next_limited(now, config)
        } else if in_flight + self.mss() <= self.fast.cwnd {
            NextStep::Segment(None)
        } else {
            NextStep::Full
        }
    }
    /// The same where data waits, and is not known to be a full segment with room in the window.
    #[inline]
    fn next_limited(&self, now: Time, config: &TcpConfig) -> NextStep {
        let (nxt, mss) = (self.board.nxt(), self.mss());
        let limits = self.controller.limits();
        if limits.credits == Some(0) && self.timers.pace == Time::MAX {
            return NextStep::Nothing; // until the controller has heard something
        }
        let usual = !self.buffer_limit.is_any() // whose end is written down
            && nxt + mss < self.send_end // the last segment may be short, and may bring FIN
            && nxt + mss <= self.window_edge()
            && self.payload_limit == self.mss
            && self.timers.pace == Time::MAX
            && self.pacer.ready(now);
        let in_flight = self.board.in_flight();
        if usual && in_flight + mss <= limits.cwnd_bytes {
            return NextStep::Segment(self.pacing_rate(&limits, config));
        }
        if !usual || in_flight == 0 {
            return NextStep::Other;
        }
        NextStep::Full
    }

    /// An ACK that no data carries.
    fn send_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Packet {
        cx.counters.acks += 1;
        self.note_ack();
        let mut packet = self.fast_packet(cx.now, self.board.nxt(), 0);
        if !self.fast.header_only {
            if !self.no_feedback {
                attach(&mut packet, &self.ack_options(cx), arena);
            }
            self.fragmentable(cx, &mut packet, None);
            self.lower_deadline();
        }
        packet
    }

    /// True if [`Path::poll`] would give what [`Path::send_fast_ack`] makes.
    #[inline]
    pub(crate) fn owes_fast_ack(&self) -> bool {
        self.fast.fast_path && self.fast.header_only && self.acks.is_due() && self.all_sent()
    }
    /// An ACK of a plain path.
    #[inline(never)]
    pub(crate) fn send_fast_ack(&mut self, now: Time, counters: &mut Counters) -> Packet {
        counters.acks += 1;
        self.note_ack();
        self.fast_packet(now, self.board.nxt(), 0)
    }
    /// A full segment of new data on a plain path.
    #[inline(never)]
    pub(crate) fn send_fast_segment(&mut self, now: Time, counters: &mut Counters) -> Packet {
        let (start, len) = (self.board.nxt(), self.mss);
        let after_idle = self.record_new_data(now, len, counters);
        if after_idle {
            self.renew_send_limit();
        }
        let mut packet = self.fast_packet(now, start, len);
        packet.set_left_host_at(now);
        packet
    }

    /// A full segment of new data; a shorter one where its stamp leaves less room.
    fn send_segment(&mut self, cx: &mut Cx<'_>, arena: &mut Arena, pacing: Option<Rate>) -> Packet {
        let start = self.board.nxt();
        let (len, options, dont_fragment) = self.stamp_fast(cx, start);
        self.record_new_data(cx.now, len, cx.counters);
        let mut packet = self.fast_packet(cx.now, start, len);
        packet.set_left_host_at(cx.now);
        attach(&mut packet, &options, arena);
        if let Some(rate) = pacing {
            self.pacer.sent(cx.now, packet.wire_len() as u64, rate);
        }
        self.fragmentable(cx, &mut packet, dont_fragment);
        self.renew_send_limit();
        packet
    }

    /// `len` bytes of new data leave, and an ACK with them: for scoreboard, controller and timers. True if nothing else was in
    /// flight.
    #[inline(always)]
    fn record_new_data(&mut self, now: Time, len: u16, counters: &mut Counters) -> bool {
        let (start, number) = (self.board.nxt(), self.next_number);
        let after_idle = self.board.in_flight() == 0;
        let in_flight_bytes = self.board.in_flight() + len as u64;
        let mut segment = self.segment(now, (start, len as u64, number));
        if self.rate.is_wanted() {
            self.push_flight(now, len);
        }
        let bytes = len as u32;
        let sent = Sent { number, bytes, in_flight_bytes, retransmission: false, after_idle };
        segment.tag = self.controller.on_sent(now, &sent);
        self.board.push(segment);
        counters.data_packets += 1;
        if self.timers.rto == Time::MAX {
            self.rearm_rto(now);
        }
        self.rearm_probe_fast(now);
        self.note_ack();
        self.lower_deadline();
        after_idle
    }

    #[inline(never)]
    fn push_flight(&mut self, now: Time, len: u16) {
        if let Some(flight) = self.note_flight(now, len as u64) {
            self.board.push_flight(flight);
        }
    }

    /// A segment of `len` bytes from offset `start` on, or an ACK alone, without options beside timestamps.
    #[inline]
    pub(super) fn fast_packet(&self, now: Time, start: u64, len: u16) -> Packet {
        let stamps = self.negotiated.timestamps.then(|| (now.as_millis() as u32, self.ts_recent));
        let fields = TcpFields {
            seq: narrow(start, self.ids.isn),
            ack: narrow(self.recv.nxt(), self.ids.peer_isn),
            flags: TcpFlags::ACK,
            window: self.announced,
            timestamps: stamps,
        };
        let (local, remote) = (self.ids.local, self.ids.remote);
        // The lengths of the most frequent header are known when this is compiled.
        match (self.ids.version, stamps) {
            (IpVersion::V4, Some(_)) => Packet::tcp(IpVersion::V4, local, remote, fields, len),
            (version, _) => Packet::tcp(version, local, remote, fields, len),
        }
    }

    /// What the controller writes on a full segment from `start` on: the payload that this leaves room for, the options, its
    /// wish for DF.
    #[inline]
    fn stamp_fast(&mut self, cx: &Cx<'_>, start: u64) -> (u16, Option<OptionList>, Option<bool>) {
        if !self.traits.stamps {
            return (self.mss, None, None);
        }
        let payload_bytes = self.mss as u32;
        let (number, mut options) = (self.next_number, None);
        let next = NextPacket { number, syn: false, retransmission: false, payload_bytes };
        let stamp = self.controller.stamp(cx.now, &next);
        let len = self.fit(cx, &mut options, &stamp, (start, self.mss()), false);
        (len as u16, options, stamp.dont_fragment)
    }

    /// True if this is a segment that a path with an open fast path expects next, as far as flags and sequence number tell.
    #[inline]
    pub(crate) fn expects(&self, packet: &Packet) -> bool {
        let next = |tcp: TcpFields| {
            tcp.flags == TcpFlags::ACK && tcp.seq == narrow(self.recv.nxt(), self.ids.peer_isn)
        };
        self.fast.fast_path && packet.kind() == Kind::Tcp && packet.tcp_fields().is_some_and(next)
    }

    /// Process the ACK of whole segments that were sent once, if [`Path::expects`] it and it is nothing but that. False, and
    /// nothing has changed, if it is something else.
    #[inline(never)]
    pub(crate) fn on_next_ack(
        &mut self,
        now: Time,
        config: &TcpConfig,
        packet: &Packet,
        arena: &Arena,
    ) -> bool {
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let ack = una + tcp.ack.wrapping_sub(narrow(una, self.ids.isn)) as u64;
        if ack == una || ack > nxt || !self.fast.ack_cannot_lose {
            return false;
        }
        let options = options_of(packet, arena);
        if options.is_some_and(|options| options.find(kind::SACK).is_some()) {
            return false;
        }
        let Some((segments, &newest)) = self.board.whole_run(ack) else { return false };
        let Segment { tag, number, sent_at, .. } = newest;
        let acked_bytes = ack - una;
        let start = self.recv.nxt();
        if !self.accept_timestamp(tcp.timestamps, start) {
            return false;
        }
        debug_assert!(self.may_take_fast_path() && self.ack_cannot_lose());
        self.note_window(tcp.window, start, ack);
        let prior_in_flight_bytes = self.board.in_flight();
        self.board.pop_run(segments, ack, acked_bytes);
        self.rate.add_delivered(now, acked_bytes);
        let sample = now.since(sent_at);
        self.take_sample(sample);
        if self.detector.on_run(sample, (number, sent_at), ack) {
            self.raise_patient_rto();
        }
        let mut summary = Ack {
            acked_bytes,
            delivered_bytes: acked_bytes,
            total_delivered_bytes: self.rate.delivered(),
            duplicate: false,
            rtt_sample: Some(sample),
            newest: Some((tag, number)),
            rtt: self.rtt.view(),
            prior_in_flight_bytes,
            in_flight_bytes: self.board.in_flight(),
            snd_una: ack - 1,
            snd_nxt: nxt - 1,
            cwnd_limited: una < self.window_full_at,
            in_recovery: false,
            ecn_echo: false,
            rate: None,
            options,
        };
        if let Some(flight) = self.board.drop_flights(segments) {
            summary.rate = self.rate.sample(sent_at, &flight, self.rtt.min());
        }
        self.controller.on_ack(now, &summary);
        if self.traits.stamps && options.is_some() {
            self.adopt_policy(config);
            self.fast.ack_cannot_lose = self.ack_cannot_lose();
        }
        if !self.no_feedback {
            self.show_feedback(now, packet, options);
        }
        self.after_next_ack(now);
        true
    }
    /// Timers and reach behind the ACK of a run.
    #[inline(always)]
    fn after_next_ack(&mut self, now: Time) {
        // The sample has ended back-off.
        self.timers.rto = if self.board.is_empty() { Time::MAX } else { now + self.rtt.base() };
        self.rearm_probe_fast(now);
        self.lower_deadline();
        self.renew_send_limit();
    }

    /// What the feedback half makes of an expected segment.
    fn show_feedback(&mut self, now: Time, packet: &Packet, options: Option<&OptionList>) {
        if let Some(segment) = Incoming::read(packet) {
            self.notify_feedback(now, &segment, options, segment.payload > 0);
        }
    }

    /// Process the next bytes in order, if [`Path::expects`] them and this end has nothing outstanding. False, and nothing has
    /// changed, if it is otherwise.
    #[inline]
    pub(crate) fn on_next_data(&mut self, now: Time, packet: &Packet, arena: &Arena) -> bool {
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (start, una) = (self.recv.nxt(), self.board.una());
        let payload = packet.payload_len() as u64;
        let known = self.board.is_empty() // else its ACK field may be a duplicate
            && tcp.ack == narrow(una, self.ids.isn)
            && self.fin_received_at.is_none()
            && payload <= self.recv_window;
        if !known {
            return false;
        }
        let options = options_of(packet, arena);
        let sacks = options.is_some_and(|options| options.find(kind::SACK).is_some());
        if sacks || !self.accept_timestamp(tcp.timestamps, start) {
            return false;
        }
        debug_assert!(self.may_take_fast_path());
        let edge = self.peer_edge;
        self.note_window(tcp.window, start, una);
        self.recv.append_next(payload);
        if self.fast.header_only || self.no_feedback || !self.feedback.clocks_acks() {
            if self.acks.watches_growth() {
                let echo_ms = tcp.timestamps.map(|(_, echo)| echo);
                self.acks.note_growth(
                    now,
                    InOrderData { bytes: payload, nxt: self.recv.nxt(), echo_ms },
                );
            }
            self.acks.on_data(now);
        }
        self.timers.next = self.timers.next.min(self.acks.deadline());
        if self.peer_edge != edge {
            self.renew_send_limit();
        }
        if !self.no_feedback {
            self.show_feedback(now, packet, options);
            self.lower_deadline();
        }
        true
    }
}
