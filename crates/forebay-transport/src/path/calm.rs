//! The usual case: data and ACKs come in order, and nothing is being repaired, probed or negotiated.
//!
//! What happens here is what the general way (`send`, `emit`, `input`, `acks`) would do, less the steps that have no effect
//! on a calm path. `Path::calm` remembers whether it is one: whatever may change that ends with [`Path::refresh`], and
//! nothing here does.

use super::emit::attach;
use super::input::Incoming;
use super::loss::Detector;
use super::{Cx, Doubt, Path, State, send_buffer};
use crate::config::TcpConfig;
use forebay_base::{Arena, OptionList, Packet, Rate, TcpFlags, Time, kind, narrow};
use forebay_cc::{Ack, Controller, Feedback, NextPacket, Sent};

/// What a calm path does when it is asked for a packet.
enum Next {
    /// Send a full segment of new data; its pacing rate.
    Segment(Option<Rate>),
    /// There is nothing to send.
    Nothing,
    /// The congestion window is full.
    Full,
    /// Something for the general way.
    Other,
}

impl Path {
    /// True if nothing but new data, acknowledgments in order and ACKs of them can be due.
    pub(super) fn is_calm(&self) -> bool {
        #[cfg(test)]
        if self.general {
            return false;
        }
        let open = self.state == State::Established
            && self.mappings.is_none()
            && !self.agreed.ecn
            && !self.handshake_ack
            && !self.syn_due
            && self.syn_loss_window == u64::MAX;
        let orderly = self.board.is_orderly()
            && self.dupacks == 0
            && self.limited_bytes == 0
            && self.recv.is_plain();
        let repaired = self.episode.is_none()
            && self.board.una() >= self.recovery_point
            && self.unanswered_loss.is_none()
            && self.doubt == Doubt::None
            && self.retries == 0;
        let probed = self.probe.is_none() && !self.probe_due && !self.window_probe_due;
        let unlimited = self.timers.loss == Time::MAX && self.timers.persist == Time::MAX;
        open && orderly && repaired && probed && unlimited
    }

    /// True if [`Path::poll`] would find neither data nor an ACK to send: the most frequent answer of a receiver.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        self.calm && !self.acks.is_due() && self.all_sent()
    }
    /// True if [`Path::poll`] would only note that the window is full, however late it is called, if nothing comes before.
    #[inline]
    pub(crate) fn awaits_window(&self, now: Time, config: &TcpConfig) -> bool {
        self.calm && !self.acks.is_due() && matches!(self.next_calm(now, config), Next::Full)
    }
    /// The stream has been sent, and FIN if it may follow.
    #[inline]
    fn all_sent(&self) -> bool {
        let nxt = self.board.nxt();
        nxt > self.send_end || (nxt == self.send_end && !self.fin_allowed)
    }

    /// [`Path::poll`] of a calm path.
    #[inline]
    pub(super) fn poll_calm(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        debug_assert!(self.is_calm());
        if !self.tells_nothing && self.acks.is_due() {
            return Some(self.send_ack(cx, arena)); // alone: it has options of its own
        }
        match self.next_calm(cx.now, cx.config) {
            Next::Segment(pacing) => return Some(self.send_segment(cx, arena, pacing)),
            Next::Other => return self.poll_any(cx, arena),
            Next::Full => self.note_window_full(),
            Next::Nothing => {}
        }
        self.acks.is_due().then(|| self.send_ack(cx, arena))
    }

    #[inline]
    fn next_calm(&self, now: Time, config: &TcpConfig) -> Next {
        if self.all_sent() {
            return Next::Nothing;
        }
        let (nxt, mss) = (self.board.nxt(), self.mss());
        let edge = self.peer_edge.min(self.board.una() + send_buffer(config));
        let limits = self.controller.limits();
        if limits.credits == Some(0) && self.timers.pace == Time::MAX {
            return Next::Nothing; // until the controller has heard something
        }
        let usual = nxt + mss < self.send_end // the last segment may be short, and may bring FIN
            && nxt + mss <= edge
            && self.cut == self.mss
            && self.timers.pace == Time::MAX
            && self.pacer.ready(now);
        let in_flight = self.board.in_flight();
        if usual && in_flight + mss <= limits.cwnd_bytes {
            return Next::Segment(self.pacing_rate(&limits, config));
        }
        if !usual || in_flight == 0 {
            return Next::Other;
        }
        Next::Full
    }

    /// An ACK that no data carries.
    fn send_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Packet {
        cx.counters.acks += 1;
        self.note_ack();
        self.refresh_deadline_calm();
        let mut packet = self.segment_packet(cx, self.board.nxt(), TcpFlags::ACK, 0);
        if !self.tells_nothing {
            attach(&mut packet, &self.ack_options(cx), arena);
        }
        self.fragmentable(cx, arena, &mut packet, None);
        packet
    }

    /// A full segment of new data; a shorter one where its stamp leaves less room.
    fn send_segment(&mut self, cx: &mut Cx<'_>, arena: &mut Arena, pacing: Option<Rate>) -> Packet {
        let (start, number) = (self.board.nxt(), self.next_number);
        let (len, options, dont_fragment) = self.stamp_calm(cx, start);
        let in_flight_bytes = self.board.in_flight() + len as u64;
        let mut segment = self.segment(cx, (start, len as u64, number));
        segment.tx_in_flight = in_flight_bytes as u32;
        let sent = Sent {
            number,
            bytes: len as u32,
            in_flight_bytes,
            retransmission: false,
            after_idle: in_flight_bytes == len as u64,
        };
        segment.tag = self.controller.on_sent(cx.now, &sent);
        self.board.push(segment);
        cx.counters.data_packets += 1;
        if self.timers.rto == Time::MAX {
            self.rearm_rto(cx);
        }
        self.rearm_probe_calm(cx);
        self.note_ack();
        self.refresh_deadline_calm();
        let mut packet = self.segment_packet(cx, start, TcpFlags::ACK, len);
        attach(&mut packet, &options, arena);
        if let Some(rate) = pacing {
            self.pacer.sent(cx.now, packet.wire_len() as u64, rate);
        }
        self.fragmentable(cx, arena, &mut packet, dont_fragment);
        packet
    }

    /// What the controller writes on a full segment from `start` on: the payload that this leaves room for, the options, its
    /// wish for DF.
    #[inline]
    fn stamp_calm(&mut self, cx: &Cx<'_>, start: u64) -> (u16, Option<OptionList>, Option<bool>) {
        if !self.declared.stamps {
            return (self.mss, None, None);
        }
        let payload_bytes = self.mss as u32;
        let (number, mut options) = (self.next_number, None);
        let next = NextPacket { number, syn: false, retransmission: false, payload_bytes };
        let stamp = self.controller.stamp(cx.now, &next);
        let len = self.fit(cx, &mut options, &stamp, (start, self.mss()), false);
        (len as u16, options, stamp.dont_fragment)
    }

    /// Process a segment without SACK blocks if it is the one that a calm path expects next: an ACK alone, or data for an
    /// end that has nothing outstanding. False, and nothing has changed, if it is another. True: the payload was the next
    /// in order. `options` are those beside timestamps.
    #[inline]
    pub(crate) fn on_expected(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        options: Option<&OptionList>,
    ) -> bool {
        let expected = self.calm
            && segment.flags == TcpFlags::ACK
            && segment.seq == narrow(self.recv.nxt(), self.who.peer_isn);
        if !expected || options.is_some_and(|options| options.find(kind::SACK).is_some()) {
            return false;
        }
        debug_assert!(self.is_calm());
        let una = self.board.una();
        let acked = segment.ack.wrapping_sub(narrow(una, self.who.isn));
        let taken = if segment.payload == 0 {
            self.on_next_ack(cx, segment, una + acked as u64, options)
        } else {
            acked == 0 && self.on_next_data(cx, segment)
        };
        if taken && !self.tells_nothing {
            self.tell_feedback(cx, segment, options, segment.payload > 0);
            self.refresh_deadline_calm();
        }
        taken
    }

    /// The ACK of whole segments that were sent once.
    #[inline]
    fn on_next_ack(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        ack: u64,
        options: Option<&OptionList>,
    ) -> bool {
        let (una, nxt, prior_in_flight_bytes) =
            (self.board.una(), self.board.nxt(), self.board.in_flight());
        let refused = ack == una || ack > nxt || self.declared.wants_packets;
        if refused || !self.detector.is_settled(una) {
            return false;
        }
        let Some((segments, acked_bytes)) = self.board.whole_run(ack) else { return false };
        let start = self.recv.nxt();
        if !self.accept_timestamp(segment, start) {
            return false;
        }
        self.update_window(cx, segment, start, ack);
        let newest = self.board.get(segments - 1);
        self.rate.add_delivered(cx.now, acked_bytes);
        self.detector.on_run(cx.now, newest);
        let (sample, label) = (cx.now.since(newest.sent_at), (newest.tag, newest.number));
        self.take_sample(cx, sample);
        self.be_patient(cx);
        let rate = self.rate.sample(self.board.get(segments - 1), self.rtt.min());
        self.board.pop_run(segments, ack, acked_bytes);
        let news = Ack {
            acked_bytes,
            delivered_bytes: acked_bytes,
            total_delivered_bytes: self.rate.delivered(),
            duplicate: false,
            rtt_sample: Some(sample),
            newest: Some(label),
            rtt: self.rtt.view(),
            prior_in_flight_bytes,
            in_flight_bytes: self.board.in_flight(),
            snd_una: ack.saturating_sub(1),
            snd_nxt: nxt.saturating_sub(1),
            cwnd_limited: una < self.window_full_at,
            in_recovery: false,
            ecn_echo: false,
            rate,
            options,
        };
        self.controller.on_ack(cx.now, &news);
        if self.declared.stamps && options.is_some() {
            self.adopt_policy(cx);
        }
        if let Detector::Patient(_) = self.detector {
            self.rtt.collapse(); // as `rearm_after_ack` does
        }
        self.rearm_rto(cx);
        self.rearm_probe_calm(cx);
        self.refresh_deadline_calm();
        true
    }

    /// The next bytes in order.
    #[inline]
    fn on_next_data(&mut self, cx: &mut Cx<'_>, segment: &Incoming) -> bool {
        let start = self.recv.nxt();
        let known = self.board.is_empty() // else its ACK field may be a duplicate
            && self.fin_received_at.is_none()
            && segment.payload <= self.recv_window;
        if !known || !self.accept_timestamp(segment, start) {
            return false;
        }
        self.update_window(cx, segment, start, self.board.una());
        self.recv.append_next(segment.payload);
        if self.tells_nothing || !self.feedback.clocks_acks() {
            self.acks.on_data(cx.now);
        }
        self.timers.next = self.timers.next.min(self.acks.deadline());
        true
    }
}
