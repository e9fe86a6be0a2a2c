//! A segment of the path came: what it is, what it acknowledges, and what follows from that.

use super::reassembly::Arrival;
use super::samples::Flight;
use super::scoreboard::Segment;
use super::{Cx, Path, State};
use forebay_base::{Arena, Ecn, OptionList, Packet, Span, TcpFlags, Time};

/// A segment as it came: the fields of its header, each read once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    pub seq: u32,
    pub ack: u32,
    pub flags: TcpFlags,
    pub window: u16,
    pub timestamps: Option<(u32, u32)>,
    pub payload: u64,
    pub ecn: Ecn,
    pub wire_len: u16,
    /// Packets that its datagram came in.
    pub pieces: u16,
    pub dont_fragment: bool,
    pub ip_id: u32,
}

/// Its properties that the connection needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// Payload of this segment that the path accepted, as it lies in the path's sequence space.
    pub accepted: bool,
    /// New bytes in order on the path.
    pub in_order_bytes: u64,
    /// The peer reset the path.
    pub reset: bool,
    /// The path took nothing of the payload: it holds as many ranges as it may.
    pub refused: bool,
}

impl Incoming {
    /// None if the packet, which came in `pieces`, is not a TCP segment.
    #[inline]
    pub(crate) fn read(packet: &Packet, pieces: u16, arena: &Arena) -> Option<Incoming> {
        let tcp = packet.tcp_fields()?;
        Some(Incoming {
            seq: tcp.seq,
            ack: tcp.ack,
            flags: tcp.flags,
            window: tcp.window,
            // Forebay writes them first, others where they like.
            timestamps: tcp.timestamps.or_else(|| options_of(packet, arena)?.timestamps()),
            payload: packet.payload_len() as u64,
            ecn: packet.ecn(),
            wire_len: packet.wire_len(),
            pieces,
            dont_fragment: packet.dont_fragment(),
            ip_id: packet.cold_part(arena).map_or(0, |cold| cold.ip_id),
        })
    }
    /// It has one of `flags`.
    pub(super) fn is(&self, flags: TcpFlags) -> bool {
        self.flags.has(flags)
    }
    /// It acknowledges, and occupies no sequence number.
    fn is_pure_ack(&self) -> bool {
        self.is(TcpFlags::ACK)
            && self.payload == 0
            && !self.is(TcpFlags(TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0))
    }
}

/// TCP options other than timestamps at the beginning, if it has any.
#[inline]
pub(crate) fn options_of<'a>(packet: &Packet, arena: &'a Arena) -> Option<&'a OptionList> {
    packet.cold_part(arena).map(|cold| &cold.tcp_options).filter(|o| !o.is_empty())
}

impl Path {
    /// Process a segment.
    #[inline]
    pub(crate) fn on_segment(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        options: Option<&OptionList>,
    ) -> Received {
        let mut received = Received::default();
        if !self.handshake.is_established() {
            let state = self.handshake.state();
            if segment.is(TcpFlags::RST) {
                let opening = matches!(state, State::Listen | State::SynSent);
                received.reset =
                    !opening && self.reset_is_exact(segment) || self.handshake.refuses_syn(segment);
                return received;
            }
            let go_on = self.on_handshake_segment(cx, segment, options);
            if !go_on {
                if matches!(self.handshake.state(), State::SynReceived | State::Established) {
                    self.receiver.notify_feedback(cx.now, segment, options, false);
                }
                self.refresh();
                return received;
            }
        }
        self.on_synchronized(cx, segment, options, &mut received);
        self.refresh();
        received
    }

    /// RFC 9293 section 3.10.7.4, in its order: sequence number, RST, SYN, ACK, data, FIN.
    fn on_synchronized(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        options: Option<&OptionList>,
        received: &mut Received,
    ) {
        let Path { handshake, receiver, sender, .. } = self;
        let edge = receiver.edge(sender.is_shared());
        let Some(start) = handshake.peer_offset(segment.seq, receiver.nxt()) else {
            return self.refuse(segment);
        };
        if start >= edge && (segment.payload > 0 || start > edge) {
            return self.refuse(segment); // beyond the window
        }
        if segment.is(TcpFlags(TcpFlags::RST.0 | TcpFlags::SYN.0)) {
            if segment.is(TcpFlags::RST) && start == receiver.nxt() {
                received.reset = true;
            } else {
                self.challenge(cx.now);
            }
            return;
        }
        let timestamps = handshake.timestamps_of(segment.timestamps);
        let len = segment.payload + u64::from(segment.is(TcpFlags::FIN));
        if !receiver.accept_timestamp(timestamps, start, len) {
            receiver.note_overtaken(cx.counters, start, segment.payload);
            if !segment.is_pure_ack() {
                return self.refuse(segment);
            }
            if !self.is_overtaken_ack(segment, start) {
                return; // an ACK is not answered by an ACK
            }
        }
        if !segment.is(TcpFlags::ACK) {
            return self.refuse(segment);
        }
        if !self.on_acknowledgment(cx, segment, start, options) {
            return;
        }
        let mut in_order = false;
        if segment.payload > 0 || segment.is(TcpFlags::FIN) {
            let arrival = self.on_data(cx, segment, start);
            received.accepted = !arrival.refused;
            received.refused = arrival.refused;
            received.in_order_bytes = arrival.in_order_bytes;
            in_order = arrival.in_order_bytes > 0;
        } else if start < self.receiver.nxt() {
            self.receiver.demand_ack(); // a probe of the window, or of life
        }
        if self.receiver.has_feedback() {
            self.receiver.notify_feedback(cx.now, segment, options, in_order);
        }
    }

    fn reset_is_exact(&self, segment: &Incoming) -> bool {
        segment.seq == self.handshake.peer_seq(self.receiver.nxt())
    }
    /// Ask the peer by an ACK whether it meant that, unless it was asked just now: RFC 5961
    /// sections 3.2, 4.2 and 5.2.
    fn challenge(&mut self, now: Time) {
        if self.handshake.may_challenge(now) {
            self.receiver.demand_ack();
        }
    }
    /// Not acceptable: send the peer RCV.NXT (RFC 9293 section 3.10.7.4, first).
    fn refuse(&mut self, segment: &Incoming) {
        if !segment.is(TcpFlags::RST) {
            self.receiver.demand_ack();
        }
    }

    /// True if a pure ACK with an old timestamp was overtaken by others, not left over from an
    /// earlier use of its sequence numbers: Linux, `tcp_disordered_ack`, with a replay window of
    /// 1.2 RTO. What it SACKs counts. Older ones say nothing. They get no answer, though RFC 7323
    /// section 5.3 R1 asks for one: so does Linux for ACKs below RCV.NXT, and by its rate limit
    /// (RFC 5961 section 7) for others. With reordering both ends would answer most ACKs.
    #[inline(never)]
    fn is_overtaken_ack(&self, segment: &Incoming, start: u64) -> bool {
        let Some((value, _)) = segment.timestamps else { return false };
        let replay_ms = self.recovery.rtt().rto().as_millis() * 6 / 5;
        start == self.receiver.nxt()
            && segment.ack == self.handshake.own_seq(self.sender.una())
            && segment.window == self.sender.last_window()
            && u64::from(self.receiver.ts_recent().wrapping_sub(value)) <= replay_ms
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, segment: &Incoming, start: u64) -> Arrival {
        let Path { handshake, receiver, sender, .. } = self;
        let (ecn, edge) = (handshake.negotiated().ecn, receiver.edge(sender.is_shared()));
        let arrival = receiver.on_data(cx.now, cx.counters, segment, start, ecn, edge);
        let all_sent = sender.nxt() == sender.send_end();
        if receiver.is_complete() && !sender.is_shared() && all_sent {
            sender.allow_fin(); // nothing more to send: close this direction too
        }
        arrival
    }
}

/// What one ACK says.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSummary {
    pub una: u64,
    pub prior_una: u64,
    pub prior_in_flight: u64,
    /// Payload bytes newly acknowledged in order, SACKed earlier or not.
    pub acked: u64,
    /// Payload bytes newly known to have arrived.
    pub delivered: u64,
    /// Those of them that are SACKed.
    pub sacked: u64,
    /// The transmission with the highest number among them.
    pub newest: Option<Segment>,
    /// What the rate sampler noted on it.
    pub newest_flight: Option<Flight>,
    /// A segment that was sent more than once is among what is acknowledged in order.
    pub repeats_acked: bool,
    /// Lowest end of what has arrived and was sent once only.
    pub lowest_original: Option<u64>,
    /// When the first of it was sent.
    pub first_original_sent: Option<Time>,
    pub dsack: Option<(u64, u64)>,
    pub duplicate: bool,
    /// Timestamp echo in ms of this end's clock.
    pub echo_ms: Option<u32>,
    pub ece: bool,
}

impl AckSummary {
    pub(super) fn advanced(&self) -> bool {
        self.una > self.prior_una
    }
    /// The echo is not older than the latest transmission of `s`.
    pub(super) fn echoes(&self, s: &Segment) -> bool {
        let sent_ms = s.sent_at.as_millis() as u32;
        self.echo_ms.is_some_and(|echo| echo.wrapping_sub(sent_ms) as i32 >= 0)
    }
}

impl Path {
    /// Process the acknowledgment of a segment that starts at `seq`. False if it is of something
    /// that was never sent, or is older than any window: then nothing of the segment counts (RFC
    /// 9293 section 3.10.7.4, fifth; RFC 5961 section 5: data that somebody guesses do not get in).
    #[inline]
    pub(super) fn on_acknowledgment(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        seq: u64,
        options: Option<&OptionList>,
    ) -> bool {
        let Path { handshake, sender, recovery, .. } = self;
        let (prior_una, agreed) = (sender.una(), handshake.negotiated());
        // Before offset 0, or after all that was sent.
        let known = handshake.own_offset(segment.ack, prior_una);
        let Some(ack) = known.filter(|&ack| ack <= sender.nxt().max(sender.window_probe_end()))
        else {
            self.challenge(cx.now);
            return false;
        };
        if ack > sender.nxt() {
            sender.skip_to(ack);
        }
        if ack < prior_una {
            // Overtaken by a later one, if it can have been.
            let old = prior_una - ack > sender.max_window_bytes();
            if old {
                self.challenge(cx.now);
            }
            return !old;
        }
        let ece = agreed.ecn.is_some() && segment.is(TcpFlags::ECE);
        if ack == prior_una && segment.payload > 0 && sender.board().is_empty() && !ece {
            // Data for an end that has nothing outstanding: its ACK field says nothing new.
            self.update_window(cx.now, segment, seq, ack);
            return true;
        }
        let echo_ms = handshake.timestamps_of(segment.timestamps).map(|(_, echo)| echo);
        let mut summary = AckSummary { ece, ..sender.empty_summary(ack, echo_ms) };
        if ack > prior_una {
            sender.take_cumulative(cx.now, &mut recovery.arrivals(), &mut summary);
            recovery.on_cumulative();
        }
        if let Some(options) = options.filter(|_| agreed.sack) {
            let offset = |seq| handshake.own_offset(seq, ack);
            let arrivals = &mut recovery.arrivals();
            sender.take_sacks(cx.now, arrivals, options, offset, &mut summary);
        }
        let same_window = segment.window == sender.last_window();
        self.update_window(cx.now, segment, seq, ack);
        summary.duplicate = if agreed.sack {
            summary.sacked > 0 // RFC 6675 section 2
        } else {
            !summary.advanced() && same_window && self.is_bare_duplicate(segment)
        };
        if summary.duplicate {
            self.recovery.on_duplicate();
        }
        self.process(cx, &summary, options);
        true
    }
    /// RFC 5681 section 2, but for the window.
    fn is_bare_duplicate(&self, segment: &Incoming) -> bool {
        !self.sender.board().is_empty()
            && segment.payload == 0
            && !segment.is(TcpFlags(TcpFlags::SYN.0 | TcpFlags::FIN.0))
    }

    fn update_window(&mut self, now: Time, segment: &Incoming, seq: u64, ack: u64) {
        if self.sender.reopen(segment.window, seq, ack) {
            self.recovery.on_window_open(now, &self.sender);
        }
    }

    /// What follows from an ACK, in the order that [`Controller`](forebay_cc::Controller)
    /// prescribes.
    fn process(&mut self, cx: &mut Cx<'_>, summary: &AckSummary, options: Option<&OptionList>) {
        let Path { sender, recovery, receiver, .. } = self;
        let sample = recovery.sample(cx.now, sender, summary);
        if summary.advanced() {
            recovery.on_advance(sender, summary);
        }
        let undone = recovery.check_spurious(cx.now, sender, summary);
        let ends = recovery.is_ended_by(summary);
        let found = recovery.find_losses(sender, cx, summary, ends);
        recovery.check_probe(sender, cx, summary, ends);
        if summary.ece {
            recovery.on_ecn_echo(sender, cx);
        }
        let (rtt, in_recovery) = (recovery.rtt(), recovery.is_in_recovery());
        sender.notify_controller(cx.now, summary, sample, rtt, in_recovery, options);
        if sender.edits_headers() && options.is_some() {
            recovery.adopt_policy(sender, cx.config);
        }
        if ends {
            recovery.leave_recovery(cx.now, sender);
        } else {
            recovery.advance_recovery(sender, summary, found);
        }
        if !undone {
            recovery.pass_recovery_point(summary);
        }
        recovery.rearm_after_ack(cx.now, sender, receiver, summary);
        debug_assert!(sender.board().len() > 64 || sender.board().is_consistent());
    }

    /// Process an ACK whose first SACK block, `block`, extends the highest range that was reported,
    /// and that says nothing else. True if losses were found or are waited for.
    pub(super) fn process_sack(
        &mut self,
        cx: &mut Cx<'_>,
        mut summary: AckSummary,
        block: (u64, u64),
        options: &OptionList,
    ) -> bool {
        let Path { sender, recovery, receiver, .. } = self;
        let grown =
            sender.take_highest(cx.now, &mut recovery.arrivals(), block.0, block.1, &mut summary);
        debug_assert!(grown);
        summary.duplicate = summary.sacked > 0;
        if summary.duplicate {
            recovery.on_duplicate();
        }
        let sample: Option<Span> = recovery.sample(cx.now, sender, &summary);
        let found = recovery.find_losses(sender, cx, &summary, false);
        let (rtt, in_recovery) = (recovery.rtt(), recovery.is_in_recovery());
        sender.notify_controller(cx.now, &summary, sample, rtt, in_recovery, Some(options));
        recovery.advance_recovery(sender, &summary, found);
        recovery.rearm_after_ack(cx.now, sender, receiver, &summary);
        found || recovery.loss_deadline() != Time::MAX
    }
}
