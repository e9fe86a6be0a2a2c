//! The receiving half of a path: what came, what is to be acknowledged, what the ACK carries.
//!
//! [`Receiver`] owns the received ranges, the ACK schedule, the window that this end offers,
//! TS.Recent and the controller's receiver half (the feedback).
//!
//! Invariants: RCV.NXT and the right edge of the window never move back. An ACK that leaves is
//! noted by [`Receiver::on_ack_sent`], on its own or with data.

use super::MAX_OUTSTANDING_BYTES;
use super::input::Incoming;
use super::reassembly::{Arrival, Reassembly};
use crate::api::Counters;
use crate::config::TcpConfig;
use alloc::boxed::Box;
use core::num::NonZeroU64;
use forebay_base::{Ecn, MAX_OPTION_BYTES, OptionList, Span, TcpFlags, Time, kind, narrow, seq_lt};
use forebay_cc::{
    AckDemand, AckPolicy, AnyController, AnyFeedback, Controller, DatagramView, EcnPolicy,
    Feedback, PieceView,
};

pub(super) struct Receiver {
    ranges: Reassembly,
    acks: AckSchedule,
    /// The controller's receiver half.
    feedback: AnyFeedback,
    /// There is no such half.
    no_feedback: bool,
    /// ECE on what leaves. RFC 3168: CE was received, and CWR not yet. RFC 8257: the last data had
    /// CE.
    echo_congestion: bool,
    /// An ACK that leaves first, of what came before the echo changed to what it is (RFC 8257
    /// section 3.2): bytes beyond `last_ack_sent` that it acknowledges; 0: there is none.
    bytes_before: u32,
    /// Bytes that one ACK acknowledges where the receiver half splits them; 0: it does not.
    part_bytes: u32,
    /// The offered window as a header has it.
    scaled_window: u16,
    /// Shift of the window of a SYN or SYN-ACK.
    syn_shift: u8,
    ts_recent: u32,
    /// The offered window in bytes.
    window: u64,
    /// Last.ACK.sent (RFC 7323 section 4.3).
    last_ack_sent: u64,
    /// Offset of the peer's FIN.
    fin_at: Option<NonZeroU64>,
}

/// The controller's own policy, or the configured one.
fn ack_schedule(controller: &AnyController, config: &TcpConfig) -> AckSchedule {
    match controller.ack_policy() {
        Some(policy) => AckSchedule::new(policy),
        None if config.quick_while_growing => AckSchedule::new(config.ack_policy)
            .quick_while_growing(config.receive_buffer_bytes, config.mss_bytes.into()),
        None => AckSchedule::new(config.ack_policy),
    }
}

impl Receiver {
    pub(super) fn new(
        controller: &AnyController,
        feedback: AnyFeedback,
        config: &TcpConfig,
    ) -> Receiver {
        Receiver {
            ranges: Reassembly::new(config.receive_buffer_bytes, config.mss_bytes),
            acks: ack_schedule(controller, config),
            no_feedback: matches!(feedback, AnyFeedback::None),
            feedback,
            echo_congestion: false,
            bytes_before: 0,
            part_bytes: 0,
            scaled_window: 0,
            syn_shift: 0,
            ts_recent: 0,
            window: 0,
            last_ack_sent: 0,
            fin_at: None,
        }
    }

    /// RCV.NXT.
    #[inline]
    pub(super) fn nxt(&self) -> u64 {
        self.ranges.nxt()
    }
    #[inline]
    pub(super) fn ts_recent(&self) -> u32 {
        self.ts_recent
    }
    /// Last.ACK.sent.
    #[inline]
    pub(super) fn last_ack_sent(&self) -> u64 {
        self.last_ack_sent
    }
    /// The offered window in bytes.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        self.window
    }
    /// The window field of a segment with `flags`.
    #[inline]
    pub(super) fn window_field(&self, flags: TcpFlags) -> u16 {
        if flags.has(TcpFlags::SYN) {
            (self.window >> self.syn_shift).min(u16::MAX as u64) as u16
        } else {
            self.scaled_window
        }
    }
    /// A SYN-ACK cannot say the window, and the peer should hear of it at once.
    pub(super) fn has_more_window(&self) -> bool {
        self.window >> self.syn_shift > u16::MAX.into() && self.feedback.widens_window()
    }
    /// Right edge of the window. With several paths the window is that of the stream (RFC 8684
    /// section 3.3.1): a path takes all that it can number.
    pub(super) fn edge(&self, shared: bool) -> u64 {
        self.nxt() + if shared { MAX_OUTSTANDING_BYTES } else { self.window }
    }
    /// An ACK has no SACK block to carry.
    #[inline]
    pub(super) fn has_no_sack_blocks(&self) -> bool {
        self.ranges.has_no_sack_blocks()
    }
    #[inline]
    pub(super) fn has_fin(&self) -> bool {
        self.fin_at.is_some()
    }
    /// Payload bytes received in order.
    pub(super) fn received_bytes(&self) -> u64 {
        let nxt = self.fin_at.map_or(self.nxt(), |fin| self.nxt().min(fin.get()));
        nxt.saturating_sub(1)
    }
    /// Payload bytes received in order or beyond a hole.
    pub(super) fn arrived_bytes(&self) -> u64 {
        self.received_bytes() + self.ranges.held_bytes(self.fin_at.map(NonZeroU64::get))
    }
    /// The peer's FIN is in order.
    pub(super) fn is_complete(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.nxt() > fin.get())
    }

    /// The peer's SYN came, with this timestamp.
    pub(super) fn start(&mut self, timestamp: u32) {
        self.ts_recent = timestamp;
        self.ranges.start(1);
        self.last_ack_sent = 1;
    }
    pub(super) fn on_established(&mut self, now: Time) {
        self.acks.begin(now);
    }
    /// Offer a window of `bytes`, which headers give in units of `1 << shift`, a SYN or SYN-ACK in
    /// units of `1 << syn_shift`.
    pub(super) fn offer_window(&mut self, bytes: u64, shift: u8, syn_shift: u8) {
        self.syn_shift = syn_shift;
        self.window = bytes;
        self.scaled_window = (bytes >> shift).min(u16::MAX as u64) as u16;
    }

    /// PAWS, unless the feedback half does without, and TS.Recent (RFC 7323 sections 5.3 and 4.3),
    /// for a segment that takes `len` sequence numbers from `start` on. False if it is too old.
    #[inline]
    pub(super) fn accept_timestamp(
        &mut self,
        timestamps: Option<(u32, u32)>,
        start: u64,
        len: u64,
    ) -> bool {
        // R2 comes before R3: what lies wholly below RCV.NXT is outside the window, and a late
        // original would look too old compared with the timestamp of a spurious retransmission.
        let in_window = start + len.max(1) > self.nxt();
        self.accept_timestamp_in_window(timestamps, start, in_window)
    }
    /// The same for a segment that begins at RCV.NXT.
    #[inline]
    pub(super) fn accept_next_timestamp(&mut self, timestamps: Option<(u32, u32)>) -> bool {
        self.accept_timestamp_in_window(timestamps, self.nxt(), true)
    }
    #[inline(always)]
    fn accept_timestamp_in_window(
        &mut self,
        timestamps: Option<(u32, u32)>,
        start: u64,
        in_window: bool,
    ) -> bool {
        let Some((value, _)) = timestamps else { return true };
        if seq_lt(value, self.ts_recent) {
            return !self.feedback.wants_paws();
        }
        if in_window && start <= self.last_ack_sent {
            self.ts_recent = value;
        }
        true
    }
    /// A segment is refused for its timestamp: an original that a retransmission overtook counts as
    /// a duplicate.
    #[inline(never)]
    pub(super) fn note_overtaken(&self, counters: &mut Counters, start: u64, payload: u64) {
        let known = payload > 0 && self.ranges.covers(start, start + payload);
        counters.duplicates_received += u64::from(known);
    }
    /// Data or a FIN came. `ecn`: ECN is in use; `edge`: the right edge of the window.
    pub(super) fn on_data(
        &mut self,
        now: Time,
        counters: &mut Counters,
        segment: &Incoming,
        start: u64,
        ecn: Option<EcnPolicy>,
        edge: u64,
    ) -> Arrival {
        let fin = segment.is(TcpFlags::FIN);
        let end = start + segment.payload + u64::from(fin);
        if fin && self.fin_at.is_none() && end <= edge {
            self.fin_at = NonZeroU64::new(end - 1); // offset 0 is the SYN
        }
        if let Some(policy) = ecn {
            self.note_mark(policy, segment);
            counters.ce_received += u64::from(segment.ecn == Ecn::Ce);
        }
        let arrival = self.ranges.accept(start, end, edge);
        let expected = arrival.in_order_bytes > 0 && !arrival.filled && !arrival.beyond_window;
        if !expected || fin {
            self.acks.demand();
        } else {
            self.schedule_ack(now, segment.payload, segment.timestamps);
        }
        if arrival.duplicate {
            counters.duplicates_received += u64::from(segment.payload > 0);
        }
        arrival
    }
    fn note_mark(&mut self, policy: EcnPolicy, segment: &Incoming) {
        let (before, marked) = (self.echo_congestion, segment.ecn == Ecn::Ce);
        self.echo_congestion = echo_after(policy, before, segment);
        if policy == EcnPolicy::Rfc8257 && marked != before {
            // As in Linux (dctcp_ece_ack_update): an ACK that waits goes first, and reports what
            // came before.
            self.bytes_before = (self.nxt() - self.last_ack_sent) as u32;
            self.acks.demand();
        }
    }
    /// The next `bytes` came in order, on the fast path: nothing waits beyond them.
    #[inline(always)]
    pub(super) fn on_next_data(&mut self, now: Time, bytes: u64, timestamps: Option<(u32, u32)>) {
        self.ranges.append_next(bytes);
        self.schedule_ack(now, bytes, timestamps);
    }
    /// New data came in order.
    #[inline(always)]
    fn schedule_ack(&mut self, now: Time, bytes: u64, timestamps: Option<(u32, u32)>) {
        if !self.no_feedback {
            if self.feedback.clocks_acks() {
                return;
            }
            let parts = u64::from(self.feedback.ack_parts());
            if parts > 1 {
                self.part_bytes = bytes.div_ceil(parts) as u32;
                self.bytes_before = self.next_part();
            }
        }
        if self.acks.watches_growth() {
            let echo_ms = timestamps.map(|(_, echo)| echo);
            self.acks.note_growth(now, InOrderData { bytes, nxt: self.nxt(), echo_ms });
        }
        self.acks.on_data(now);
    }
    /// `start..end` came, if all that it does is to extend the range that was reported first in the
    /// last ACK. False, and nothing has changed, if it does something else.
    #[inline]
    pub(super) fn extend_reported(&mut self, start: u64, end: u64) -> bool {
        let grown = self.ranges.grow(start, end);
        if grown {
            self.acks.demand();
        }
        grown
    }
    /// An ACK is due that reports [`Receiver::extend_reported`].
    #[inline]
    pub(super) fn owes_sack_update(&self) -> bool {
        self.acks.is_due() && self.ranges.has_grown()
    }
    /// The SACK option of that ACK.
    #[inline]
    pub(super) fn sack_update(&mut self, peer_isn: u32) -> Option<OptionList> {
        self.ranges.report_growth(peer_isn)
    }

    #[inline]
    pub(super) fn is_ack_due(&self) -> bool {
        self.acks.is_due()
    }
    /// Send an ACK as soon as possible.
    pub(super) fn demand_ack(&mut self) {
        self.acks.demand();
    }
    /// The longest that an ACK waits; None: none does.
    #[inline]
    pub(super) fn longest_delay(&self) -> Option<Span> {
        self.acks.longest_delay()
    }
    /// A segment that leaves acknowledges all data received.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        let first = self.bytes_before > 0;
        self.last_ack_sent = self.ack_number();
        if first {
            self.bytes_before = self.next_part(); // and one for what came last is still due
        } else {
            self.acks.on_sent();
        }
    }
    /// What the next ACK acknowledges, if that is not all.
    fn next_part(&self) -> u32 {
        let left = self.nxt() - self.last_ack_sent;
        if left > u64::from(self.part_bytes) { self.part_bytes } else { 0 }
    }
    /// What a segment acknowledges that leaves now.
    #[inline]
    pub(super) fn ack_number(&self) -> u64 {
        match self.bytes_before {
            0 => self.nxt(),
            bytes => self.last_ack_sent + u64::from(bytes),
        }
    }
    /// A segment that leaves now echoes congestion (ECE).
    pub(super) fn echoes_congestion(&self) -> bool {
        self.echo_congestion != (self.bytes_before > 0 && self.part_bytes == 0)
    }

    /// When a delayed ACK is due.
    #[inline]
    pub(super) fn ack_deadline(&self) -> Time {
        self.acks.deadline()
    }
    /// When the feedback half wants its timer.
    #[inline]
    pub(super) fn feedback_deadline(&self) -> Time {
        if self.no_feedback {
            return Time::MAX;
        }
        self.feedback.next_timeout().unwrap_or(Time::MAX)
    }
    /// It is `now`: send the delayed ACK.
    pub(super) fn on_ack_timer(&mut self, now: Time) {
        self.acks.on_timeout(now);
    }
    /// It is `now`: run the timer of the feedback half, if it is due.
    pub(super) fn on_feedback_timer(&mut self, now: Time) {
        if self.feedback_deadline() <= now && self.feedback.on_timer(now) == AckDemand::Now {
            self.acks.demand();
        }
    }

    /// The controller has a receiver half.
    #[inline]
    pub(super) fn has_feedback(&self) -> bool {
        !self.no_feedback
    }
    pub(super) fn wants_pieces(&self) -> bool {
        self.feedback.wants_pieces()
    }
    pub(super) fn on_piece(&mut self, now: Time, piece: &PieceView) {
        self.feedback.on_piece(now, piece);
    }
    /// Show a segment to the feedback half.
    #[inline]
    pub(super) fn notify_feedback(
        &mut self,
        now: Time,
        segment: &Incoming,
        options: Option<&OptionList>,
        in_order: bool,
    ) {
        let view = DatagramView {
            payload_bytes: segment.payload as u32,
            wire_len: segment.wire_len,
            pieces: segment.pieces,
            dont_fragment: segment.dont_fragment,
            ip_id: segment.ip_id,
            ecn: segment.ecn,
            options,
            in_order,
        };
        if self.feedback.on_datagram(now, &view) == AckDemand::Now {
            self.acks.demand();
        }
    }
    /// Let the feedback half write its options, if they fit in addition to `reserved` bytes.
    pub(super) fn fill_feedback(&mut self, now: Time, reserved: usize, options: &mut OptionList) {
        let before = *options;
        self.feedback.fill(now, options);
        if options.len() + reserved > MAX_OPTION_BYTES {
            *options = before;
        }
    }
    /// Append as many SACK blocks as fit in addition to `reserved` bytes.
    pub(super) fn push_sacks(&mut self, isn: u32, reserved: usize, options: &mut OptionList) {
        let room = MAX_OPTION_BYTES.saturating_sub(reserved + options.len() + 2) / 8;
        let (mut data, mut len) = ([0u8; 32], 0);
        let again = self.ranges.sack_blocks(room.min(4), |range| {
            data[len..len + 4].copy_from_slice(&narrow(range.start, isn).to_be_bytes());
            data[len + 4..len + 8].copy_from_slice(&narrow(range.end, isn).to_be_bytes());
            len += 8;
        });
        if len > 0 {
            let alone = options.is_empty();
            options.push(kind::SACK, &data[..len]).expect("the room was computed");
            if again && alone {
                self.ranges.note_report(options);
            }
        }
    }
}

/// ECE on what leaves after this segment; `before`: on what left before it.
pub(super) fn echo_after(policy: EcnPolicy, before: bool, segment: &Incoming) -> bool {
    let marked = segment.ecn == Ecn::Ce;
    match policy {
        // Section 6.1.3: CWR ends the echo, a mark on the same packet begins it anew.
        EcnPolicy::Rfc3168 => marked || before && !segment.is(TcpFlags::CWR),
        EcnPolicy::Rfc8257 => marked,
    }
}

/// Whether and when an ACK is due (RFC 5681 section 4.2).
#[derive(Debug)]
pub(crate) struct AckSchedule {
    /// Packets per ACK.
    packets: u32,
    /// The longest that an ACK waits; [`Span::MAX`]: none does.
    timeout: Span,
    /// Packets that are not acknowledged yet.
    pending: u32,
    /// Packets that are still acknowledged one by one.
    quick: u16,
    now: bool,
    deadline: Time,
    /// Where packets that open the window are acknowledged one by one.
    growth: Option<Box<WindowGrowth>>,
}

impl AckSchedule {
    pub(crate) fn new(policy: AckPolicy) -> AckSchedule {
        let (packets, timeout, quick) = match policy {
            AckPolicy::EveryPacket => (1, Span::MAX, 0),
            AckPolicy::Delayed { packets, timeout, quick } => (packets.into(), timeout, quick),
        };
        AckSchedule {
            packets,
            timeout,
            pending: 0,
            quick,
            now: false,
            deadline: Time::MAX,
            growth: None,
        }
    }
    /// Acknowledge packets one by one while Linux would open its window, of at most `most_bytes`.
    pub(crate) fn quick_while_growing(mut self, most_bytes: u64, mss: u64) -> AckSchedule {
        if self.timeout != Span::MAX {
            self.growth = Some(Box::new(WindowGrowth::new(most_bytes, mss)));
        }
        self
    }
    /// The handshake has ended.
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(growth) = &mut self.growth {
            growth.begin(now);
        }
    }
    /// An ACK is due now.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.now
    }
    /// When a delayed ACK is due; [`Time::MAX`] if none waits.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }
    /// The longest that an ACK waits; None: none does.
    pub(crate) fn longest_delay(&self) -> Option<Span> {
        (self.timeout != Span::MAX).then_some(self.timeout)
    }
    /// Send one as soon as possible.
    #[inline]
    pub(crate) fn demand(&mut self) {
        self.now = true;
    }
    /// True if [`AckSchedule::note_growth`] must see each packet in order, before
    /// [`AckSchedule::on_data`].
    #[inline]
    pub(crate) fn watches_growth(&self) -> bool {
        self.growth.is_some()
    }
    /// A packet in order came.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Time) {
        self.pending += 1;
        if self.quick > 0 {
            self.quick -= 1;
            self.now = true;
        } else if self.pending >= self.packets {
            self.now = true;
        } else if self.timeout != Span::MAX && self.deadline == Time::MAX && !self.now {
            self.deadline = now + self.timeout;
        }
    }
    /// Linux, tcp_grow_window: `quick |= 1`, so that a count that is not used up lasts as long as
    /// the window grows.
    #[inline(never)]
    pub(crate) fn note_growth(&mut self, now: Time, data: InOrderData) {
        if self.growth.as_mut().is_some_and(|growth| growth.on_data(now, data)) {
            self.quick |= 1;
        }
    }
    pub(crate) fn on_timeout(&mut self, now: Time) {
        if self.deadline <= now {
            // It may be a while until the host can send it: the deadline is met by asking.
            self.deadline = Time::MAX;
            self.demand();
        }
    }
    /// An ACK left, on its own or with data.
    #[inline]
    pub(crate) fn on_sent(&mut self) {
        (self.pending, self.now, self.deadline) = (0, false, Time::MAX);
    }
}

/// Window of a connection at its start: what `tcp_rmem[1]` (128 KiB) holds where half of it is
/// overhead.
const FIRST_CLAMP_BYTES: u64 = 65_536;
/// The same once a full-sized packet has shown how much of its memory is payload
/// (`tcp_measure_rcv_mss`): five eighths.
const MEASURED_CLAMP_BYTES: u64 = 81_920;
/// Segments of the first round that a larger one is compared with (TCP_INIT_CWND).
const FIRST_ROUND_SEGMENTS: u64 = 10;
/// Round trips below this grow the buffer less (`tcp_rcvbuf_low_rtt`).
const LOW_RTT: Span = Span::from_millis(1);
/// Smaller packets do not open the window (`tcp_event_data_recv`).
const MIN_PACKET_BYTES: u64 = 128;

/// Data that came in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrderData {
    pub bytes: u64,
    /// RCV.NXT after them.
    pub nxt: u64,
    /// Timestamp echo in ms of this end's clock.
    pub echo_ms: Option<u32>,
}

/// The window as Linux would have it.
#[derive(Debug)]
pub(super) struct WindowGrowth {
    /// rcv_ssthresh: how far it is open.
    open_bytes: u64,
    /// window_clamp: how far it may be.
    clamp_bytes: u64,
    /// What the receive buffer holds.
    most_bytes: u64,
    mss: u64,
    /// Smoothed RTT as the receiver sees it: falls at once, rises by an eighth
    /// (`tcp_rcv_rtt_update`).
    rtt: Option<Span>,
    last_echo_ms: Option<u32>,
    /// Most that came in one round trip.
    round_bytes: u64,
    round_began: Time,
    round_from: u64,
}

impl WindowGrowth {
    pub(super) fn new(most_bytes: u64, mss: u64) -> WindowGrowth {
        WindowGrowth {
            open_bytes: FIRST_CLAMP_BYTES,
            clamp_bytes: MEASURED_CLAMP_BYTES,
            most_bytes,
            mss,
            rtt: None,
            last_echo_ms: None,
            round_bytes: FIRST_ROUND_SEGMENTS * mss,
            round_began: Time::ZERO,
            round_from: 1,
        }
    }

    /// The handshake has ended: the first round trip begins (`tcp_init_buffer_space`).
    pub(super) fn begin(&mut self, now: Time) {
        self.round_began = now;
    }

    /// True if the window opens with this packet.
    pub(super) fn on_data(&mut self, now: Time, data: InOrderData) -> bool {
        let room = self.clamp_bytes.min(self.most_bytes).saturating_sub(self.open_bytes);
        let opens = room > 0 && data.bytes >= MIN_PACKET_BYTES;
        if opens {
            self.open_bytes += room.min(2 * self.mss.max(data.bytes));
        }
        self.measure(now, data.echo_ms);
        self.end_round(now, data.nxt);
        opens
    }

    /// A packet that answers an ACK not looked at yet (`tcp_rcv_rtt_measure_ts`).
    fn measure(&mut self, now: Time, echo_ms: Option<u32>) {
        if echo_ms.is_none() || echo_ms == self.last_echo_ms {
            return;
        }
        self.last_echo_ms = echo_ms;
        let Some(echo_ms) = echo_ms else { return };
        let sample = Span::from_millis((now.as_millis() as u32).wrapping_sub(echo_ms).into());
        if sample.is_zero() {
            return;
        }
        self.rtt = Some(match self.rtt {
            Some(rtt) if sample >= rtt => rtt.mul_div(7, 8) + sample / 8,
            _ => sample,
        });
    }

    /// Once a round trip: more data than ever before in one lets the window open further.
    fn end_round(&mut self, now: Time, nxt: u64) {
        let Some(rtt) = self.rtt else { return };
        if now.since(self.round_began) < rtt {
            return;
        }
        let (data, before) = (nxt - self.round_from, self.round_bytes);
        (self.round_began, self.round_from) = (now, nxt);
        if data <= before {
            return;
        }
        self.round_bytes = data;
        // The measure is one round trip late: twice that, and in slow start as much more as it
        // grew.
        let window = 2 * data;
        let more = if rtt < LOW_RTT {
            window * rtt.as_nanos() / LOW_RTT.as_nanos()
        } else {
            2 * window * (data - before) / before.max(1)
        };
        self.clamp_bytes = self.clamp_bytes.max(window + more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Rounds of `segments` at 100 ms: how many packets of each open the window.
    fn opening(rounds: &[u64]) -> [u64; 8] {
        let mut growth = WindowGrowth::new(32 << 20, MSS);
        growth.begin(Time::from_millis(100));
        let (mut nxt, mut opened) = (1, [0; 8]);
        for (round, &segments) in rounds.iter().enumerate() {
            let now = Time::from_millis(100 * (round as u64 + 1));
            for _ in 0..segments {
                nxt += MSS;
                let data = InOrderData { bytes: MSS, nxt, echo_ms: Some(100 * round as u32) };
                opened[round] += u64::from(growth.on_data(now, data));
            }
        }
        opened
    }

    /// By hand from tcp_grow_window and tcp_rcvbuf_grow, in steps of two segments: 16384 bytes are
    /// 6 steps. A round is judged with the first packet of the next, which counts: the first round,
    /// from the handshake on, has 11 segments and not 10. 20 then are 9/11 more: the clamp is 40 +
    /// 2 x 40 x 9/11 segments, 152698 bytes, 25 steps beyond 81920. 40 are twice as many: 6 x 40
    /// segments, 347520 bytes, 68 steps further. 80: 120 steps further.
    #[test]
    fn slow_start_opens_the_window_with_most_packets() {
        assert_eq!(opening(&[10, 20, 40, 80, 160])[..5], [6, 0, 25, 68, 120]);
    }

    /// Once rounds have the same size nothing opens it further: 68 steps after the first packet of
    /// the second round of 40, and no more.
    #[test]
    fn a_steady_flow_opens_it_no_further() {
        assert_eq!(opening(&[10, 20, 40, 40, 40, 40, 40, 40]), [6, 0, 25, 39, 29, 0, 0, 0]);
    }
}
