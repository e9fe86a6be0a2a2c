//! The window of a sender. What ACKs say has arrived moves its left edge: scoreboard, rate samples
//! and controller are brought up to date. Its right edge is limited, besides the controller, by the
//! peer's window, the send buffer and the pacer.

use super::Sender;
use crate::api::Counters;
use crate::path::input::AckSummary;
use crate::path::loss::Arrivals;
use crate::path::samples::{Edges, Flight, RttEstimator};
use crate::path::scoreboard::{REPEATED, SACKED, Segment};
use forebay_base::{OptionList, Rate, Span, Time};
use forebay_cc::{Ack, Controller, Delivered};

/// Why new data cannot leave while the congestion window has room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferLimit {
    pub peer_window: bool,
    pub send_buffer: bool,
}

impl BufferLimit {
    #[inline]
    pub(crate) fn is_any(self) -> bool {
        self.peer_window || self.send_buffer
    }
    /// From `now` on it is `limit`.
    pub(crate) fn change(&mut self, limit: BufferLimit, now: Time, counters: &mut Counters) {
        if *self != limit {
            self.end(now, counters);
            *self = limit;
            self.begin(now, counters);
        }
    }
    /// Begin at `now`: until the end, the totals are short of that time (they wrap).
    fn begin(self, now: Time, counters: &mut Counters) {
        self.add(now.since(Time::ZERO).as_nanos().wrapping_neg(), counters);
    }
    /// End at `now`, or show what the totals are then.
    pub(crate) fn end(self, now: Time, counters: &mut Counters) {
        self.add(now.since(Time::ZERO).as_nanos(), counters);
    }
    fn add(self, nanos: u64, counters: &mut Counters) {
        let sum = |total: Span| Span::from_nanos(total.as_nanos().wrapping_add(nanos));
        if self.peer_window {
            counters.held_by_peer = sum(counters.held_by_peer);
        }
        if self.send_buffer {
            counters.held_by_buffer = sum(counters.held_by_buffer);
        }
    }
}

impl Sender {
    // The peer's window.

    /// The first window that the peer announces, in units of `1 << shift` bytes. `una`: what its
    /// SYN acknowledges.
    pub(in crate::path) fn set_first_window(&mut self, window: u16, una: u64, shift: u8) {
        self.peer_edge = una.max(1) + (u64::from(window) << shift);
        self.last_window = window;
        self.max_window_bytes = u32::from(window) << shift;
    }
    /// RFC 9293 section 3.10.7.4: the window of the newest segment counts.
    #[inline]
    pub(in crate::path) fn note_window(&mut self, window: u16, seq: u64, ack: u64) {
        if seq >= self.window_seq {
            self.window_seq = seq;
            if window != self.last_window {
                self.change_window(window);
            }
            self.peer_edge = ack + ((window as u64) << self.peer_shift);
        }
    }
    #[inline(never)] // most windows are the one before
    fn change_window(&mut self, window: u16) {
        self.last_window = window;
        self.max_window_bytes = self.max_window_bytes.max(u32::from(window) << self.peer_shift);
    }
    /// The same. True if it ends the wait for a window.
    pub(in crate::path) fn reopen(&mut self, window: u16, seq: u64, ack: u64) -> bool {
        let before = self.peer_edge;
        self.note_window(window, seq, ack);
        let reopens = self.peer_edge > before && self.persist_at != Time::MAX;
        if reopens {
            self.persist_at = Time::MAX;
        }
        reopens
    }
    /// The window field of the last segment that set the window.
    pub(in crate::path) fn last_window(&self) -> u16 {
        self.last_window
    }
    /// Window that the peer announced last, in bytes.
    pub(in crate::path) fn peer_window(&self) -> u64 {
        (self.last_window as u64) << self.peer_shift
    }
    /// MAX.SND.WND of RFC 5961 section 5: the largest window that the peer has announced, in bytes.
    pub(in crate::path) fn max_window_bytes(&self) -> u64 {
        self.max_window_bytes.into()
    }
    /// Right edge of the peer's window.
    #[inline]
    pub(in crate::path) fn peer_edge(&self) -> u64 {
        self.peer_edge
    }
    /// Right edge of what the peer's window and the send buffer allow.
    #[inline]
    pub(in crate::path) fn window_edge(&self) -> u64 {
        self.peer_edge.min(self.board.una() + u64::from(self.send_buffer_bytes))
    }
    /// Bytes of new data that the peer's window has room for.
    fn peer_room(&self) -> u64 {
        let edge = if self.is_shared() { u64::MAX } else { self.peer_edge };
        edge.saturating_sub(self.board.nxt())
    }
    /// Bytes of new data that the send buffer has room for.
    fn buffer_room(&self) -> u64 {
        (self.board.una() + u64::from(self.send_buffer_bytes)).saturating_sub(self.board.nxt())
    }
    /// Length of the next new segment as the stream and the peer's window have it, and whether FIN
    /// follows it. `rto`: how long to wait before a closed window is probed.
    pub(in crate::path) fn next_new(&mut self, now: Time, rto: Span) -> Option<(u64, bool)> {
        let room = self.peer_room().min(self.buffer_room());
        let rest = self.send_end.saturating_sub(self.board.nxt());
        let whole = rest.min(self.mss());
        let fin = self.fin_allowed && !self.is_fin_sent();
        if whole == 0 {
            return (fin && rest == 0).then_some((0, true));
        }
        // RFC 9293 section 3.8.6.2.1: no small segment because of a small window.
        if room < whole {
            if self.board.is_empty() {
                if room > 0 && room >= self.peer_window() / 2 {
                    return Some((room, false));
                }
                self.arm_persist(now, rto);
            }
            return None;
        }
        Some((whole, fin && whole == rest))
    }
    /// A full segment of new data could leave, as far as the peer's window goes.
    pub(in crate::path) fn has_new_data(&self) -> bool {
        let nxt = self.board.nxt();
        nxt < self.send_end && nxt + self.mss().min(self.send_end - nxt) <= self.peer_edge
    }

    // Probes of a closed window (RFC 9293 section 3.8.6.1).

    /// Data waits for a window, and nothing is outstanding that would bring an ACK.
    fn arm_persist(&mut self, now: Time, rto: Span) {
        if self.persist_at == Time::MAX {
            self.persist_at = now + rto;
        }
    }
    #[inline]
    pub(in crate::path) fn persist_deadline(&self) -> Time {
        self.persist_at
    }
    /// The persist timer expired: send a probe, and the next one after `rto`.
    pub(in crate::path) fn on_persist_timer(&mut self, now: Time, rto: Span) {
        self.window_probe_due = true;
        self.persist_at = now + rto;
    }
    #[inline]
    pub(in crate::path) fn is_window_probe_due(&self) -> bool {
        self.window_probe_due
    }
    /// The probe that is due leaves. Returns its start and length: a byte beyond the window, if
    /// there is one.
    pub(in crate::path) fn take_window_probe(&mut self) -> (u64, u16) {
        self.window_probe_due = false;
        self.next_number += 1;
        let nxt = self.board.nxt();
        let len = u16::from(nxt < self.send_end);
        self.window_probe_end = nxt + u64::from(len);
        (nxt, len)
    }
    /// Highest offset that the peer may acknowledge beyond SND.NXT.
    pub(in crate::path) fn window_probe_end(&self) -> u64 {
        self.window_probe_end
    }
    /// The peer took the byte of a window probe.
    pub(in crate::path) fn skip_to(&mut self, ack: u64) {
        self.board.skip_to(ack);
    }

    // Which buffer holds new data back.

    #[inline]
    pub(in crate::path) fn is_buffer_limited(&self) -> bool {
        self.buffer_limit.is_any()
    }
    /// The next new segment waits for the peer's window or the send buffer. From now on they hold
    /// it back, if the congestion window has room, of which `window_room` says how much.
    pub(in crate::path) fn begin_buffer_limit(
        &mut self,
        now: Time,
        counters: &mut Counters,
        window_room: impl FnOnce(&Sender) -> u64,
    ) {
        let whole = (self.send_end - self.board.nxt()).min(self.mss());
        let limit = BufferLimit {
            peer_window: self.peer_room() < whole,
            send_buffer: self.buffer_room() < whole,
        };
        if self.buffer_limit == limit {
            return;
        }
        self.end_buffer_limit(now, counters);
        if window_room(self) >= whole {
            self.buffer_limit = limit;
            limit.begin(now, counters);
        }
    }
    /// Buffers do not hold new data back, or no longer.
    #[inline]
    pub(in crate::path) fn end_buffer_limit(&mut self, now: Time, counters: &mut Counters) {
        if self.buffer_limit.is_any() {
            core::mem::take(&mut self.buffer_limit).end(now, counters);
        }
    }
    /// Add what lasts at `now`.
    pub(in crate::path) fn add_buffer_limit(&self, now: Time, counters: &mut Counters) {
        self.buffer_limit.end(now, counters);
    }
    /// Data waits for the congestion window.
    #[inline]
    pub(in crate::path) fn note_window_full(&mut self) {
        self.window_full_at = self.board.nxt();
    }
    /// The same of what is assigned, sent or not.
    pub(in crate::path) fn note_assigned_full(&mut self) {
        self.window_full_at = self.send_end;
    }
    /// Data acknowledged up to `una` was sent while the window was full.
    #[inline]
    pub(in crate::path) fn was_window_full(&self, una: u64) -> bool {
        una < self.window_full_at
    }

    // Pacing.

    /// The pacer lets a packet leave now.
    #[inline]
    pub(in crate::path) fn pacer_allows(&self, now: Time) -> bool {
        self.pacer.ready(now)
    }
    /// When the pacer releases the packet that waits for it; [`Time::MAX`]: none waits.
    #[inline]
    pub(in crate::path) fn pace_deadline(&self) -> Time {
        self.pace_at
    }
    /// A packet waits for the pacer.
    pub(in crate::path) fn wait_for_pacer(&mut self) {
        self.pace_at = self.pacer.release();
    }
    /// No packet waits for the pacer.
    #[inline]
    pub(in crate::path) fn clear_pace(&mut self) {
        self.pace_at = Time::MAX;
    }
    /// Nothing leaves before `until`.
    pub(in crate::path) fn hold_until(&mut self, until: Time) {
        self.pacer.hold(until);
    }
    /// A packet left at this pacing rate, with this many bytes of payload, and this many as an IP
    /// packet.
    pub(in crate::path) fn on_paced(&mut self, now: Time, payload: u16, wire_len: u16, rate: Rate) {
        match self.limits().send_quantum_bytes {
            0 => self.pacer.sent(now, wire_len.into(), rate),
            quantum => self.pacer.sent_of_quantum(now, payload.into(), rate, quantum),
        }
    }
}

/// Packets that may leave at once after a pause or a late timer.
const QUANTUM_PACKETS: u64 = 2;

/// Release times that are exact to the nanosecond: the fraction is carried from packet to packet.
///
/// The rate counts bytes of IP packets, headers included: what the rate of a router or a link
/// means. Where packets leave by the quantum, it counts their payload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    /// When the next packet may leave, the rest of a quantum excepted.
    release: Time,
    /// Shortfall of `release`, in bits x 10^9 divided by the rate.
    remainder: u64,
    /// In bit/s, that of the last packet; 0: there was none.
    rate: u64,
    /// Bytes of a quantum that may leave before `release`.
    quantum_left: u32,
}

impl Pacer {
    #[inline]
    pub(crate) fn ready(&self, now: Time) -> bool {
        self.release <= now || self.quantum_left > 0
    }
    /// When the next packet may leave.
    #[inline]
    pub(crate) fn release(&self) -> Time {
        self.release
    }
    /// Nothing leaves before `until`.
    pub(crate) fn hold(&mut self, until: Time) {
        self.release = self.release.max(until);
        self.quantum_left = 0;
    }
    /// A packet of `bytes` left.
    pub(crate) fn sent(&mut self, now: Time, bytes: u64, rate: Rate) {
        self.keep_remainder_of(rate);
        let catch_up = rate.span_of(bytes * (QUANTUM_PACKETS - 1));
        if self.release + catch_up < now {
            (self.release, self.remainder) = (now - catch_up, 0);
        }
        self.quantum_left = 0;
        self.advance(bytes);
    }
    /// A packet of `bytes` left. As much as `quantum` leaves at once, in whole packets.
    pub(crate) fn sent_of_quantum(&mut self, now: Time, bytes: u32, rate: Rate, quantum: u32) {
        self.keep_remainder_of(rate);
        if self.release <= now {
            // A part of the last quantum held back by the window is not saved up.
            (self.release, self.quantum_left) = (now, quantum);
        }
        self.quantum_left = self.quantum_left.saturating_sub(bytes);
        if self.quantum_left < bytes {
            self.quantum_left = 0;
        }
        self.advance(bytes.into());
    }
    /// The fraction that the last packet has left is one of its rate.
    fn keep_remainder_of(&mut self, rate: Rate) {
        if self.rate != rate.bps() {
            (self.rate, self.remainder) = (rate.bps(), 0);
        }
    }
    /// The next packet is due when `bytes` have left at the rate.
    fn advance(&mut self, bytes: u64) {
        let scaled = bytes * 8_000_000_000 + self.remainder;
        let ns = scaled / self.rate;
        self.remainder = scaled - ns * self.rate;
        self.release += Span::from_nanos(ns);
    }
}

impl Sender {
    /// SND.UNA and SND.NXT.
    #[inline]
    pub(in crate::path) fn edges(&self) -> Edges {
        Edges { una: self.board.una(), nxt: self.board.nxt() }
    }
    /// An ACK up to `ack`, before anybody has looked at what it says.
    #[inline]
    pub(in crate::path) fn empty_summary(&self, ack: u64, echo_ms: Option<u32>) -> AckSummary {
        AckSummary {
            una: ack,
            prior_una: self.board.una(),
            prior_in_flight: self.board.in_flight(),
            acked: 0,
            delivered: 0,
            sacked: 0,
            newest: None,
            newest_flight: None,
            repeats_acked: false,
            lowest_original: None,
            first_original_sent: None,
            dsack: None,
            duplicate: false,
            echo_ms,
            ece: false,
        }
    }

    /// The peer acknowledged the SYN: it leaves the scoreboard.
    pub(in crate::path) fn pop_syn(&mut self) -> Option<Segment> {
        let (syn, _) = self.board.pop_acked(1)?;
        self.board.advance(1);
        Some(syn)
    }
    /// Everything below `summary.una` is acknowledged.
    pub(in crate::path) fn take_cumulative(
        &mut self,
        now: Time,
        arrivals: &mut Arrivals<'_>,
        summary: &mut AckSummary,
    ) {
        while let Some((s, flight)) = self.board.pop_acked(summary.una) {
            summary.acked += s.len as u64;
            summary.repeats_acked |= s.is(REPEATED);
            if !s.is(SACKED) {
                self.arrived(now, arrivals, &s, flight, summary);
            }
        }
        let head = self.board.advance(summary.una);
        if head > 0 {
            // Part of a segment: its transmission is open until the rest is acknowledged.
            summary.acked += head;
            summary.delivered += head;
            self.rate.add_delivered(now, head);
        }
        if let Some(mappings) = &mut self.mappings {
            mappings.trim_below(summary.una);
        }
    }
    /// The first `segments` leave the scoreboard: an ACK up to `ack` covers them, `bytes` in all,
    /// and they were sent once. Returns what the rate sampler noted on the last of them.
    #[inline(always)]
    pub(in crate::path) fn take_run(
        &mut self,
        now: Time,
        segments: usize,
        ack: u64,
        bytes: u64,
    ) -> Option<Flight> {
        self.board.pop_run(segments, ack, bytes);
        self.rate.add_delivered(now, bytes);
        self.board.drop_flights(segments)
    }

    /// Transmission `s` is known to have arrived, for the first time.
    #[inline]
    fn arrived(
        &mut self,
        now: Time,
        arrivals: &mut Arrivals<'_>,
        s: &Segment,
        flight: Option<Flight>,
        summary: &mut AckSummary,
    ) {
        let repeated = s.is(REPEATED);
        summary.delivered += s.len as u64;
        if !repeated {
            let end = s.end();
            summary.lowest_original = Some(summary.lowest_original.map_or(end, |e| e.min(end)));
            let first = summary.first_original_sent.map_or(s.sent_at, |at| at.min(s.sent_at));
            summary.first_original_sent = Some(first);
        }
        if summary.newest.is_none_or(|n| s.number > n.number) {
            (summary.newest, summary.newest_flight) = (Some(*s), flight);
        }
        self.rate.add_delivered(now, s.len as u64);
        if arrivals.are_wanted() {
            let sent_below = if repeated { self.board.sent_below(s.number) } else { None };
            arrivals.show(now, s, sent_below, summary);
        }
        if self.wants_packets {
            let unambiguous = !repeated || summary.echoes(s);
            let packet = Delivered {
                tag: s.tag,
                number: s.number,
                bytes: s.len as u32,
                sent_at: s.sent_at,
                rtt: unambiguous.then(|| now.since(s.sent_at)),
            };
            self.controller.on_delivered(now, &packet);
        }
    }

    /// Take the SACK blocks of an ACK. `offset` maps a sequence number to an offset.
    #[inline(never)]
    pub(in crate::path) fn take_sacks(
        &mut self,
        now: Time,
        arrivals: &mut Arrivals<'_>,
        options: &OptionList,
        offset: impl Fn(u32) -> Option<u64>,
        summary: &mut AckSummary,
    ) {
        let una = summary.una;
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for block in options.sack_blocks().take(4) {
            let (Some(start), Some(end)) = (offset(block.start), offset(block.end)) else {
                continue;
            };
            if start < end && end <= self.board.nxt() {
                blocks[count] = (start, end);
                count += 1;
            }
        }
        // RFC 2883 section 4: a first block below this packet's ACK, or inside the second one,
        // reports a duplicate.
        let mut reported = &blocks[..count];
        if let [first, rest @ ..] = reported {
            let inside = rest.first().is_some_and(|r| r.0 <= first.0 && first.1 <= r.1);
            if first.1 <= una || inside {
                summary.dsack = Some(*first);
                reported = rest;
            }
        }
        for &(start, end) in reported {
            if end > una {
                self.take_sack(now, arrivals, start.max(una), end, summary);
            }
        }
    }
    fn take_sack(
        &mut self,
        now: Time,
        arrivals: &mut Arrivals<'_>,
        start: u64,
        end: u64,
        summary: &mut AckSummary,
    ) {
        if self.take_highest(now, arrivals, start, end, summary) {
            return;
        }
        if self.board.sacked().covers(start, end) {
            return;
        }
        let mut fresh = core::mem::take(&mut self.scratch);
        self.board.sack(start, end, |at| fresh.push(at));
        for at in fresh.drain(..) {
            let (s, flight) = (*self.board.get(at), self.board.flight(at));
            summary.sacked += s.len as u64;
            self.arrived(now, arrivals, &s, flight, summary);
        }
        self.scratch = fresh;
    }
    /// The peer holds `start..end`: if this goes beyond the highest range that it has reported, and
    /// touches it. False, and nothing has changed, if not.
    #[inline]
    pub(in crate::path) fn take_highest(
        &mut self,
        now: Time,
        arrivals: &mut Arrivals<'_>,
        start: u64,
        end: u64,
        summary: &mut AckSummary,
    ) -> bool {
        let Some((mut at, end)) = self.board.extend_highest(start, end) else { return false };
        while let Some(s) = self.board.sack_next(at, end) {
            summary.sacked += s.len as u64;
            self.arrived(now, arrivals, &s, self.board.flight(at), summary);
            at += 1;
        }
        true
    }

    /// Report an ACK to the controller. The only place where an [`Ack`] is built.
    #[inline(always)]
    pub(in crate::path) fn notify_controller(
        &mut self,
        now: Time,
        summary: &AckSummary,
        rtt_sample: Option<Span>,
        rtt: &RttEstimator,
        in_recovery: bool,
        options: Option<&OptionList>,
    ) {
        let rate = match (&summary.newest, &summary.newest_flight) {
            (Some(newest), Some(flight)) => self.rate.sample(newest.sent_at, flight, rtt.min()),
            _ => None,
        };
        let ack = Ack {
            acked_bytes: summary.acked,
            delivered_bytes: summary.delivered,
            total_delivered_bytes: self.rate.delivered(),
            duplicate: summary.duplicate,
            rtt_sample,
            newest: summary.newest.map(|s| (s.tag, s.number)),
            rtt: rtt.view(),
            prior_in_flight_bytes: summary.prior_in_flight,
            in_flight_bytes: self.board.in_flight(),
            snd_una: summary.una.saturating_sub(1),
            snd_nxt: self.board.nxt().saturating_sub(1),
            cwnd_limited: self.was_window_full(summary.prior_una),
            in_recovery,
            ecn_echo: summary.ece,
            rate,
            options,
        };
        self.controller.on_ack(now, &ack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_flow_keeps_its_rate_to_the_nanosecond() {
        let rate = Rate::new(2_999_999_999).unwrap();
        let mut pacer = Pacer { release: Time::from_secs(1), ..Pacer::default() };
        for _ in 0..100_000 {
            let now = pacer.release();
            pacer.sent(now, 1500, rate);
        }
        let exact = 100_000u128 * 12_000 * 1_000_000_000 / 2_999_999_999;
        assert_eq!(pacer.release(), Time::from_secs(1) + Span::from_nanos(exact as u64));
    }

    #[test]
    fn after_a_pause_two_packets_leave_at_once_and_no_more() {
        let (rate, now) = (Rate::mbps(12), Time::from_secs(5));
        let mut pacer = Pacer::default();
        pacer.sent(now, 1500, rate);
        assert!(pacer.ready(now));
        pacer.sent(now, 1500, rate);
        assert_eq!(pacer.release(), now + Span::from_millis(1));
    }

    #[test]
    fn a_quantum_leaves_at_once_and_the_next_one_when_it_is_due() {
        let (rate, start) = (Rate::mbps(12), Time::from_secs(5));
        let mut pacer = Pacer::default();
        // 5000 bytes: three packets of 1500. 12 Mbit/s: 1 ms each.
        for burst in 0..4 {
            let now = start + Span::from_millis(3 * burst);
            for _ in 0..3 {
                assert!(pacer.ready(now));
                pacer.sent_of_quantum(now, 1500, rate, 5000);
            }
            assert_eq!(pacer.release(), now + Span::from_millis(3));
        }
    }

    #[test]
    fn what_the_window_kept_of_a_quantum_leaves_later_and_the_rate_holds() {
        let (rate, start) = (Rate::mbps(12), Time::from_secs(5));
        let mut pacer = Pacer::default();
        pacer.sent_of_quantum(start, 1500, rate, 3000);
        // An ACK 0.4 ms later: the second packet may leave, a third may not before 2 ms.
        let soon = start + Span::from_micros(400);
        assert!(pacer.ready(soon));
        pacer.sent_of_quantum(soon, 1500, rate, 3000);
        assert_eq!(pacer.release(), start + Span::from_millis(2));
        // After a pause there is one quantum, not more.
        let late = start + Span::from_secs(1);
        pacer.sent_of_quantum(late, 1500, rate, 3000);
        pacer.sent_of_quantum(late, 1500, rate, 3000);
        assert_eq!(pacer.release(), late + Span::from_millis(2));
    }
}
