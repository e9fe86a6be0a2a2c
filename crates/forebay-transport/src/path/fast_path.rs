//! The fast path: data and ACKs come in order, and nothing is being repaired, probed or negotiated.
//!
//! [`FastPathState`] owns the answers to "may this path take it?" and "how far may full segments
//! leave?". The functions here do what the general path (`send`, `emit`, `input`, `acks`) would do,
//! less the steps that have no effect then.
//!
//! Invariant: whatever may change an answer ends with [`Path::refresh`], and what happens here
//! keeps the answers true. A test holds every packet, time and count to those of the general path.

use super::handshake::Handshake;
use super::input::AckSummary;
use super::input::{Incoming, options_of};
use super::receiver::Receiver;
use super::recovery::LossRecovery;
use super::send::attach;
use super::sender::Sender;
use super::{Cx, Path};
use crate::api::{Counters, PathSetup};
use crate::config::{Pacing, TcpConfig};
use forebay_base::{
    Arena, IpVersion, Kind, OptionList, Packet, Rate, TcpFields, TcpFlags, Time, kind,
};
use forebay_cc::{AnyFeedback, Controller, Limits, StampedIp};

/// What [`Path::poll_fast`] does.
enum NextStep {
    /// Send a full segment of new data; its pacing rate.
    Segment(Option<Rate>),
    /// There is nothing to send.
    Nothing,
    /// The congestion window is full.
    Full,
    /// Ask the general path.
    Other,
}

/// Which fast paths are open, and up to where.
pub(super) struct FastPathState {
    /// The configuration allows fast paths.
    allowed: bool,
    /// Only new data and ACKs in order can be due.
    fast_path: bool,
    /// The fast path is open, an ACK in order cannot reveal a loss, and no one requests the packets
    /// that it covers one by one. One such ACK leaves this true.
    ack_cannot_lose: bool,
    /// Only data out of order keeps the fast path closed, and nothing is outstanding.
    rx_out_of_order: bool,
    /// The data sent has holes, and only their repair is outstanding.
    sack_recovery: bool,
    /// Packets carry nothing but timestamps, are not paced and may not be fragmented, and sending
    /// them does not move the limits of the controller. For the life of the path.
    header_only: bool,
    /// Full segments of new data that end here or before wait for the congestion window alone;
    /// 0 unless the path is `header_only`.
    send_limit: u64,
    /// The congestion window, where `send_limit` is not 0.
    cwnd: u64,
}

impl FastPathState {
    /// Closed.
    pub(super) fn new(setup: &PathSetup, version: IpVersion, config: &TcpConfig) -> FastPathState {
        let traits = setup.controller.traits();
        let header_only = matches!(setup.feedback, AnyFeedback::None)
            && !traits.edits_headers
            && !traits.limits_change_on_send
            && config.pacing == Pacing::Off
            && (config.dont_fragment || version == IpVersion::V6);
        FastPathState {
            allowed: config.fast_path,
            fast_path: false,
            ack_cannot_lose: false,
            rx_out_of_order: false,
            sack_recovery: false,
            header_only: header_only && config.fast_path,
            send_limit: 0,
            cwnd: 0,
        }
    }
    /// No fast path opens from now on. The caller refreshes.
    pub(super) fn close(&mut self) {
        (self.allowed, self.header_only) = (false, false);
    }
    /// The fast path is open.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.fast_path
    }
    /// The fast path of data out of order is open.
    #[inline]
    pub(super) fn is_rx_out_of_order(&self) -> bool {
        self.rx_out_of_order
    }
    /// The fast path of SACKs is open.
    #[inline]
    pub(super) fn is_sack_recovery(&self) -> bool {
        self.sack_recovery
    }
    #[inline]
    pub(super) fn is_header_only(&self) -> bool {
        self.header_only
    }

    /// True if an ACK in order cannot reveal a loss, and no one requests single packets.
    fn finds_no_loss(&self, sender: &Sender, recovery: &LossRecovery) -> bool {
        self.fast_path && !sender.wants_packets() && recovery.ack_cannot_lose(sender.una())
    }
    /// How far full segments of new data may leave without a further check.
    fn update_send_limit(&mut self, sender: &Sender) {
        let open = self.fast_path
            && self.header_only
            && !sender.is_buffer_limited()
            && sender.payload_limit() as u64 == sender.mss()
            && sender.pace_deadline() == Time::MAX;
        self.send_limit = if open { self.current_send_limit(sender) } else { 0 };
    }
    /// The same where nothing has changed but what is acknowledged or offered, or the limits of the
    /// controller.
    #[inline]
    fn renew_send_limit(&mut self, sender: &Sender) {
        if self.send_limit != 0 {
            self.send_limit = self.current_send_limit(sender);
        }
    }
    #[inline]
    fn current_send_limit(&mut self, sender: &Sender) -> u64 {
        let Limits { cwnd_bytes, pacing_rate: None, credits: None, .. } = sender.limits() else {
            return 0;
        };
        self.cwnd = cwnd_bytes;
        // The last segment may be short, and may bring FIN.
        (sender.send_end() - 1).min(sender.window_edge())
    }
    /// Nothing but the congestion window may keep a full segment from leaving.
    #[inline]
    fn is_below_send_limit(&self, sender: &Sender, now: Time) -> bool {
        sender.nxt() + sender.mss() <= self.send_limit && sender.pacer_allows(now)
    }
}

/// True if nothing but new data, ACKs in order and the answers to them can be due, whatever the
/// receiver holds out of order.
#[inline]
fn is_regular(sender: &Sender, recovery: &LossRecovery, handshake: &Handshake) -> bool {
    // The field that differs most often comes first.
    sender.is_regular() && recovery.is_regular(sender.una()) && handshake.is_regular()
}

impl Path {
    /// Find out which fast paths are open.
    #[inline]
    pub(super) fn refresh_fast_path(&mut self) {
        let Path { fast, handshake, sender, recovery, receiver, .. } = self;
        let regular = fast.allowed && is_regular(sender, recovery, handshake);
        let no_sacks = receiver.has_no_sack_blocks();
        fast.fast_path = regular && no_sacks;
        fast.rx_out_of_order = regular
            && !no_sacks
            && fast.header_only
            && handshake.negotiated().sack
            && sender.board().is_empty()
            && !receiver.has_fin();
        fast.sack_recovery = !regular
            && fast.header_only
            && !sender.board().sacked().is_empty()
            && handshake.is_established()
            && !sender.is_shared()
            && handshake.negotiated().sack
            && handshake.negotiated().ecn.is_none()
            && sender.persist_deadline() == Time::MAX
            && recovery.takes_sacks_alone();
        fast.ack_cannot_lose = fast.finds_no_loss(sender, recovery);
        fast.update_send_limit(sender);
    }

    /// True if [`Path::poll`] would find neither data nor an ACK to send: the most frequent answer
    /// of a receiver.
    #[inline(always)] // once for each packet
    pub(crate) fn has_nothing_to_send(&self) -> bool {
        if self.fast.fast_path {
            !self.receiver.is_ack_due() && self.sender.has_sent_all()
        } else {
            !self.sender.is_shared() && !self.has_work()
        }
    }
    /// True if [`Path::poll`] would only note that the window is full, however late it is called,
    /// if nothing comes before.
    #[inline]
    pub(crate) fn awaits_window(&self, now: Time, config: &TcpConfig) -> bool {
        self.fast.fast_path
            && !self.receiver.is_ack_due()
            && matches!(self.next_step(now, config), NextStep::Full)
    }
    /// [`Path::poll`] would give what [`Path::send_fast_segment`] makes.
    #[inline(always)] // once for each packet
    pub(crate) fn has_fast_segment(&self, now: Time) -> bool {
        let Path { fast, sender, .. } = self;
        fast.fast_path
            && fast.is_below_send_limit(sender, now)
            && sender.in_flight() + sender.mss() <= fast.cwnd
    }

    /// [`Path::poll`] where the fast path is open.
    #[inline]
    pub(super) fn poll_fast(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        debug_assert!(is_regular(&self.sender, &self.recovery, &self.handshake));
        if self.receiver.has_feedback() && self.receiver.is_ack_due() {
            return Some(self.send_ack(cx, arena)); // alone: it has options of its own
        }
        match self.next_step(cx.now, cx.config) {
            NextStep::Segment(pacing) if self.fast.header_only => {
                debug_assert!(pacing.is_none(), "sending_moves_limits says so");
                return Some(self.send_fast_segment(cx.now, cx.counters));
            }
            NextStep::Segment(pacing) => return Some(self.send_segment(cx, arena, pacing)),
            NextStep::Other => return self.poll_general(cx, arena),
            NextStep::Full => self.sender.note_window_full(),
            NextStep::Nothing => {}
        }
        self.receiver.is_ack_due().then(|| self.send_ack(cx, arena))
    }

    #[inline]
    fn next_step(&self, now: Time, config: &TcpConfig) -> NextStep {
        let Path { fast, sender, .. } = self;
        let in_flight = sender.in_flight();
        if sender.has_sent_all() {
            NextStep::Nothing
        } else if in_flight == 0 || !fast.is_below_send_limit(sender, now) {
            self.next_limited(now, config)
        } else if in_flight + sender.mss() <= fast.cwnd {
            NextStep::Segment(None)
        } else {
            NextStep::Full
        }
    }
    /// The same where data waits, and is not known to be a full segment with room in the window.
    #[inline]
    fn next_limited(&self, now: Time, config: &TcpConfig) -> NextStep {
        let sender = &self.sender;
        let (end, mss) = (sender.nxt() + sender.mss(), sender.mss());
        let limits = sender.limits();
        let unpaced = sender.pace_deadline() == Time::MAX;
        if limits.credits == Some(0) && unpaced {
            return NextStep::Nothing; // until the controller gets some
        }
        let usual = !sender.is_buffer_limited() // whose end is noted
            && end < sender.send_end() // the last segment may be short, and may bring FIN
            && end <= sender.window_edge()
            && sender.payload_limit() as u64 == mss
            && unpaced
            && sender.pacer_allows(now);
        let in_flight = sender.in_flight();
        if usual && in_flight + mss <= limits.cwnd_bytes {
            return NextStep::Segment(self.recovery.pacing_rate(sender, &limits, config));
        }
        if !usual || in_flight == 0 {
            return NextStep::Other;
        }
        NextStep::Full
    }

    /// An ACK that no data carries.
    fn send_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Packet {
        let mut packet = self.send_fast_ack(cx.now, cx.counters);
        if !self.fast.header_only {
            if self.receiver.has_feedback() {
                attach(&mut packet, &self.ack_options(cx), arena);
            }
            self.fragmentable(cx, &mut packet, arena, StampedIp::default());
            self.lower_deadline();
        }
        packet
    }

    /// True if [`Path::poll`] would give what [`Path::send_fast_ack`] makes.
    #[inline]
    pub(crate) fn owes_fast_ack(&self) -> bool {
        self.fast.fast_path
            && self.fast.header_only
            && self.receiver.is_ack_due()
            && self.sender.has_sent_all()
    }
    /// An ACK without options other than timestamps.
    #[inline(never)]
    pub(crate) fn send_fast_ack(&mut self, now: Time, counters: &mut Counters) -> Packet {
        counters.acks += 1;
        self.note_ack();
        self.fast_packet(now, self.sender.nxt(), 0)
    }
    /// A full segment of new data without options other than timestamps.
    #[inline(never)]
    pub(crate) fn send_fast_segment(&mut self, now: Time, counters: &mut Counters) -> Packet {
        let (start, len) = (self.sender.nxt(), self.sender.mss() as u16);
        let after_idle = self.record_new_data(now, len, counters);
        if after_idle {
            self.fast.renew_send_limit(&self.sender);
        }
        self.fast_packet(now, start, len)
    }

    /// A full segment of new data; a shorter one where its stamp leaves less room.
    fn send_segment(&mut self, cx: &mut Cx<'_>, arena: &mut Arena, pacing: Option<Rate>) -> Packet {
        let start = self.sender.nxt();
        let (len, options, ip) = self.stamp_fast(cx, start);
        self.record_new_data(cx.now, len, cx.counters);
        let mut packet = self.fast_packet(cx.now, start, len);
        attach(&mut packet, &options, arena);
        self.fragmentable(cx, &mut packet, arena, ip); // which may lengthen it
        if let Some(rate) = pacing {
            self.sender.on_paced(cx.now, len, packet.wire_len(), rate);
        }
        self.fast.renew_send_limit(&self.sender);
        packet
    }

    /// `len` bytes of new data leave, and an ACK with them: for scoreboard, controller and timers.
    /// True if nothing else was in flight.
    #[inline(always)]
    fn record_new_data(&mut self, now: Time, len: u16, counters: &mut Counters) -> bool {
        let Path { sender, recovery, receiver, .. } = self;
        let after_idle = sender.send_new(now, len, counters);
        recovery.on_new_data(now, sender, receiver);
        self.note_ack();
        self.lower_deadline();
        after_idle
    }

    /// A segment of `len` bytes from offset `start` on, or an ACK alone, without options besides
    /// timestamps.
    #[inline]
    pub(super) fn fast_packet(&self, now: Time, start: u64, len: u16) -> Packet {
        let stamps = self.handshake.negotiated().timestamps;
        self.handshake.segment(&self.receiver, now, start, TcpFlags::ACK, len, stamps)
    }

    /// What the controller writes on a full segment from `start` on: the payload that this leaves
    /// room for, the options, its wishes for DF and IP ID.
    #[inline]
    fn stamp_fast(&mut self, cx: &Cx<'_>, start: u64) -> (u16, Option<OptionList>, StampedIp) {
        let Path { sender, handshake, .. } = self;
        let (mss, mut options) = (sender.mss(), None);
        if !sender.edits_headers() {
            return (mss as u16, None, StampedIp::default());
        }
        let edits = sender.edit_header(cx.now, mss, false, false, handshake);
        let stamps = handshake.stamps(cx.config);
        let len =
            sender.fit(handshake.version(), stamps, &mut options, &edits, 0, start..start + mss);
        (len as u16, options, edits.ip())
    }

    /// True if the fast path is open and this is a segment that it expects next, as far as flags
    /// and sequence number show.
    #[inline]
    pub(crate) fn expects(&self, packet: &Packet) -> bool {
        let next = |tcp: TcpFields| {
            tcp.flags == TcpFlags::ACK && tcp.seq == self.handshake.peer_seq(self.receiver.nxt())
        };
        self.fast.fast_path && packet.kind() == Kind::Tcp && packet.tcp_fields().is_some_and(next)
    }

    /// Process the ACK of whole segments that were sent once, if [`Path::expects`] it and it is
    /// nothing but that. False, and nothing has changed, if it is something else.
    #[inline(never)]
    pub(crate) fn on_next_ack(
        &mut self,
        now: Time,
        config: &TcpConfig,
        packet: &Packet,
        arena: &Arena,
    ) -> bool {
        let Path { fast, handshake, sender, recovery, receiver, .. } = self;
        let Some(tcp) = packet.tcp_fields() else { return false };
        let una = sender.una();
        let ack = una + tcp.ack.wrapping_sub(handshake.own_seq(una)) as u64;
        if ack == una || ack > sender.nxt() || !fast.ack_cannot_lose {
            return false;
        }
        let options = options_of(packet, arena);
        if options.is_some_and(|options| options.find(kind::SACK).is_some()) {
            return false;
        }
        let Some((segments, &newest)) = sender.board().whole_run(ack) else { return false };
        let start = receiver.nxt();
        if !receiver.accept_next_timestamp(handshake.timestamps_of(tcp.timestamps)) {
            return false;
        }
        debug_assert!(is_regular(sender, recovery, handshake));
        debug_assert!(fast.finds_no_loss(sender, recovery));
        let acked = ack - una;
        let mut summary = AckSummary {
            acked,
            delivered: acked,
            newest: Some(newest),
            ..sender.empty_summary(ack, None)
        };
        sender.note_window(tcp.window, start, ack);
        summary.newest_flight = sender.take_run(now, segments, ack, acked);
        let sample = recovery.on_run(now, sender, &newest);
        let rtt = recovery.rtt();
        sender.notify_controller(now, &summary, Some(sample), rtt, false, options);
        if sender.edits_headers() && options.is_some() {
            recovery.adopt_policy(sender, config);
            fast.ack_cannot_lose = fast.finds_no_loss(sender, recovery);
        }
        if receiver.has_feedback() {
            show_feedback(receiver, now, packet, arena);
        }
        recovery.rearm_after_run(now, sender, receiver);
        fast.renew_send_limit(sender);
        self.lower_deadline();
        true
    }

    /// Process the next bytes in order, if [`Path::expects`] them and this end has nothing
    /// outstanding. False, and nothing has changed, if it is otherwise.
    #[inline]
    pub(crate) fn on_next_data(&mut self, now: Time, packet: &Packet, arena: &Arena) -> bool {
        debug_assert!(is_regular(&self.sender, &self.recovery, &self.handshake));
        let Path { fast, handshake, sender, receiver, .. } = self;
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (start, una) = (receiver.nxt(), sender.una());
        let payload = packet.payload_len() as u64;
        let known = sender.board().is_empty() // else its ACK field may be a duplicate
            && tcp.ack == handshake.own_seq(una)
            && !receiver.has_fin()
            && payload <= receiver.window();
        if !known {
            return false;
        }
        let options = options_of(packet, arena);
        let sacks = options.is_some_and(|options| options.find(kind::SACK).is_some());
        let timestamps = handshake.timestamps_of(tcp.timestamps);
        if sacks || !receiver.accept_next_timestamp(timestamps) {
            return false;
        }
        let edge = sender.peer_edge();
        sender.note_window(tcp.window, start, una);
        receiver.on_next_data(now, payload, tcp.timestamps);
        if sender.peer_edge() != edge {
            fast.renew_send_limit(sender);
        }
        if receiver.has_feedback() {
            show_feedback(receiver, now, packet, arena);
            self.lower_deadline();
        }
        self.lower_ack_deadline();
        true
    }
}

/// Show an expected segment, which came whole, to the feedback half.
fn show_feedback(receiver: &mut Receiver, now: Time, packet: &Packet, arena: &Arena) {
    if let Some(segment) = Incoming::read(packet, 1, arena) {
        let options = options_of(packet, arena);
        receiver.notify_feedback(now, &segment, options, segment.payload > 0);
    }
}

impl Path {
    /// Process a segment that continues the highest of the ranges that are held, if that is all
    /// that it does. False, and nothing has changed, if it is something else.
    #[inline(never)]
    pub(crate) fn on_next_out_of_order(&mut self, packet: &Packet) -> bool {
        let Path { fast, handshake, sender, receiver, .. } = self;
        if !fast.is_rx_out_of_order() {
            return false;
        }
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (una, nxt, payload) = (sender.una(), receiver.nxt(), packet.payload_len() as u64);
        let usual = tcp.flags == TcpFlags::ACK && payload > 0;
        if !usual || tcp.ack != handshake.own_seq(una) {
            return false;
        }
        let start = nxt + tcp.seq.wrapping_sub(handshake.peer_seq(nxt)) as u64;
        let end = start + payload;
        // After what was acknowledged last, a timestamp is not kept: PAWS is all there is to it.
        if end > nxt + receiver.window()
            || start <= receiver.last_ack_sent()
            || !receiver.accept_timestamp(handshake.timestamps_of(tcp.timestamps), start, payload)
            || !receiver.extend_reported(start, end)
        {
            return false;
        }
        sender.note_window(tcp.window, start, una);
        true
    }

    /// True if [`Path::poll`] would give what [`Path::send_sack_update`] makes.
    #[inline]
    pub(crate) fn owes_sack_update(&self) -> bool {
        self.fast.is_rx_out_of_order() && self.receiver.owes_sack_update()
    }
    /// The ACK that reports what [`Path::on_next_out_of_order`] took.
    #[inline(never)]
    pub(crate) fn send_sack_update(
        &mut self,
        now: Time,
        counters: &mut Counters,
        arena: &mut Arena,
    ) -> Packet {
        counters.acks += 1;
        self.note_ack();
        let options = self.receiver.sack_update(self.handshake.peer_isn());
        let mut packet = self.fast_packet(now, self.sender.nxt(), 0);
        attach(&mut packet, &options, arena);
        packet
    }

    /// Process an ACK whose first SACK block extends the highest range that was reported, if that
    /// is all that it does. False, and nothing has changed, if it is something else.
    #[inline]
    pub(crate) fn on_next_sack(&mut self, cx: &mut Cx<'_>, packet: &Packet, arena: &Arena) -> bool {
        let Path { fast, handshake, sender, receiver, .. } = self;
        if !fast.is_sack_recovery() {
            return false;
        }
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (una, start) = (sender.una(), receiver.nxt());
        let usual = tcp.flags == TcpFlags::ACK && packet.payload_len() == 0;
        if !usual || tcp.ack != handshake.own_seq(una) || tcp.seq != handshake.peer_seq(start) {
            return false;
        }
        let Some(options) = options_of(packet, arena) else { return false };
        let Some(block) = growing_block(handshake, sender, options) else { return false };
        let timestamps = handshake.timestamps_of(tcp.timestamps);
        if !receiver.accept_next_timestamp(timestamps) {
            return false;
        }
        sender.note_window(tcp.window, start, una);
        let summary = sender.empty_summary(una, timestamps.map(|(_, echo)| echo));
        if self.process_sack(cx, summary, block, options) {
            self.refresh();
        } else {
            self.lower_deadline(); // the holes are there still, and what is open remains so
        }
        true
    }
}

/// The first of these SACK blocks, if it goes beyond the highest range reported and the others are
/// known.
#[inline]
fn growing_block(
    handshake: &Handshake,
    sender: &Sender,
    options: &OptionList,
) -> Option<(u64, u64)> {
    let (una, sacked) = (sender.una(), sender.board().sacked());
    let below = handshake.own_seq(una);
    // What lies below SND.UNA comes out as far above what was sent.
    let offset = |seq: u32| una + seq.wrapping_sub(below) as u64;
    let mut blocks = options.sack_blocks().map(|b| (offset(b.start), offset(b.end)));
    let (start, end) = blocks.next()?;
    let top = sacked.last()?;
    let grows = top.start <= start && start <= top.end && top.end < end;
    let known = grows && end <= sender.nxt() && blocks.all(|(s, e)| s < e && sacked.covers(s, e));
    known.then_some((start, end))
}
