//! What leaves next: the choice, and the limits on it.

use super::recovery::{Pipe, Rule};
use super::scoreboard::SACKED;
use super::{BufferLimit, Cx, Path, Probe, State};
use crate::connection::Counters;
use forebay_base::{Arena, Packet, Span, Time};
use forebay_cc::{Controller, Limits, RecoveryOwner};

/// Segments that limited transmit sends beyond the window (RFC 3042).
const LIMITED_SEGMENTS: u64 = 2;

/// What to send.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    Syn,
    /// The segment at this index of the scoreboard, again.
    Repeat(usize),
    /// New data of this length; None of it and a FIN: a FIN alone.
    New {
        len: u64,
        fin: bool,
    },
}

impl BufferLimit {
    #[inline]
    pub(super) fn is_any(self) -> bool {
        self.peer_window || self.send_buffer
    }
    /// Begin at `now`: until the end, the totals are short of that time (they wrap).
    fn begin(self, now: Time, counters: &mut Counters) {
        self.add(now.since(Time::ZERO).as_nanos().wrapping_neg(), counters);
    }
    fn end(self, now: Time, counters: &mut Counters) {
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

impl Path {
    /// False if [`Path::poll`] would find nothing to do at all: most calls of a driver that polls until None.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.acks.is_due() || self.window_probe_due || !self.has_nothing()
    }

    /// The next packet, if one may leave now.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        if self.fast.fast_path { self.poll_fast(cx, arena) } else { self.poll_general(cx, arena) }
    }

    /// The general path of [`Path::poll`].
    #[inline(never)]
    pub(super) fn poll_general(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        if self.state == State::Dead || (self.mappings.is_none() && !self.has_work()) {
            return None;
        }
        // An ACK rides on data unless it has options of its own to carry, or ends the handshake.
        let alone = self.acks.is_due()
            && (self.handshake_ack || !self.no_feedback || !self.recv.has_no_sack_blocks());
        let packet = if alone {
            Some(self.make_ack(cx, arena))
        } else {
            match self.poll_data(cx, arena) {
                Some(packet) => Some(packet),
                None if self.acks.is_due() && self.state == State::Established => {
                    Some(self.make_ack(cx, arena))
                }
                None => None,
            }
        };
        // Where nothing leaves while holes are mended, only the clock of the pacer may have changed.
        if packet.is_some() || !self.fast.sack_recovery || self.timers.pace != Time::MAX {
            self.refresh();
        }
        packet
    }

    /// The stream is over for both ends: nothing but ACKs that are asked for.
    pub(crate) fn poll_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        self.acks.is_due().then(|| self.make_ack(cx, arena))
    }

    #[inline]
    fn poll_data(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        self.timers.pace = Time::MAX;
        if self.window_probe_due {
            self.window_probe_due = false;
            return Some(self.make_window_probe(cx));
        }
        if self.has_nothing() {
            if self.mappings.is_some() {
                self.rate.set_app_limited(self.board.in_flight());
            }
            return None;
        }
        let limits = self.controller.limits();
        if self.state == State::Established {
            // A handshake needs no leave of the controller.
            if limits.credits == Some(0) && !self.timeout_overrides_limits() {
                return None;
            }
            if !self.pacer.ready(cx.now) {
                self.timers.pace = self.pacer.release();
                return None;
            }
        }
        let choice = self.choose(cx, &limits)?;
        let pacing = self.pacing_rate(&limits, cx.config);
        let packet = self.transmit(cx, arena, choice);
        if let Some(rate) = pacing {
            self.pacer.sent(cx.now, packet.wire_len() as u64, rate);
        }
        Some(packet)
    }

    /// A timeout has its segment sent whatever limits there are.
    fn timeout_overrides_limits(&self) -> bool {
        self.force_retransmit && self.in_timeout_recovery() && self.board.lost_segments() > 0
    }

    /// The common case of a receiver: nothing to send at all.
    #[inline]
    fn has_nothing(&self) -> bool {
        let unsent = self.board.nxt() < self.send_end || (self.fin_allowed && !self.fin_sent());
        let idle = !unsent && self.board.lost_segments() == 0 && !self.probe_due && !self.syn_due;
        let rescue = matches!(&self.episode, Some(e) if matches!(e.rule, Rule::Pipe(_)));
        idle && !rescue
    }

    fn choose(&mut self, cx: &mut Cx<'_>, limits: &Limits) -> Option<Choice> {
        if self.state != State::Established {
            if self.syn_due {
                return Some(Choice::Syn);
            }
            return self.board.next_lost().map(Choice::Repeat);
        }
        if core::mem::take(&mut self.probe_due) {
            return self.choose_probe(cx);
        }
        if !self.spurious.wants_new_data()
            && let Some(at) = self.board.next_lost()
        {
            let len = (self.board.get(at).len).min(self.payload_limit) as u64;
            if self.force_retransmit || self.window_room(cx, limits) >= len {
                return Some(Choice::Repeat(at));
            }
            self.end_buffer_limit(cx);
            self.note_window_full();
            return None;
        }
        self.choose_new(cx, limits).or_else(|| self.choose_pipe(cx, limits))
    }

    /// New data that windows allow.
    fn choose_new(&mut self, cx: &mut Cx<'_>, limits: &Limits) -> Option<Choice> {
        let Some((len, fin)) = self.next_new(cx) else {
            if self.board.nxt() == self.send_end {
                self.rate.set_app_limited(self.board.in_flight());
            } else if self.board.nxt() < self.send_end {
                self.begin_buffer_limit(cx, limits);
            }
            return None;
        };
        let room = self.window_room(cx, limits);
        if room < len.min(self.payload_limit as u64) && !self.spurious.wants_new_data() {
            self.end_buffer_limit(cx);
            self.note_window_full();
            return None;
        }
        let len_now = len.min(room.max(self.payload_limit as u64));
        Some(Choice::New { len: len_now, fin: fin && len_now == len })
    }

    /// Length of the next new segment as the stream and the peer's window have it, and whether FIN follows it.
    fn next_new(&mut self, cx: &Cx<'_>) -> Option<(u64, bool)> {
        let nxt = self.board.nxt();
        let room = self.peer_room().min(self.buffer_room());
        let rest = self.send_end.saturating_sub(nxt);
        let whole = rest.min(self.mss());
        let fin = self.fin_allowed && !self.fin_sent();
        if whole == 0 {
            return (fin && rest == 0).then_some((0, true));
        }
        // RFC 9293 section 3.8.6.2.1: no small segment because of a small window.
        if room < whole {
            if self.board.is_empty() {
                if room > 0 && room >= self.peer_window() / 2 {
                    return Some((room, false));
                }
                self.rearm_persist(cx);
            }
            return None;
        }
        Some((whole, fin && whole == rest))
    }
    /// Bytes of new data that the peer's window has room for.
    fn peer_room(&self) -> u64 {
        let edge = if self.mappings.is_some() { u64::MAX } else { self.peer_edge };
        edge.saturating_sub(self.board.nxt())
    }
    /// Bytes of new data that the send buffer has room for.
    fn buffer_room(&self) -> u64 {
        (self.board.una() + self.fast.send_buffer).saturating_sub(self.board.nxt())
    }

    /// The next new segment waits for the peer's window or the send buffer. From now on they hold
    /// it back, if the congestion window has room.
    fn begin_buffer_limit(&mut self, cx: &mut Cx<'_>, limits: &Limits) {
        let whole = (self.send_end - self.board.nxt()).min(self.mss());
        let held = BufferLimit {
            peer_window: self.peer_room() < whole,
            send_buffer: self.buffer_room() < whole,
        };
        if self.buffer_limit == held {
            return;
        }
        self.end_buffer_limit(cx);
        if self.window_room(cx, limits) >= whole {
            self.buffer_limit = held;
            held.begin(cx.now, cx.counters);
        }
    }
    /// Buffers do not hold new data back, or no longer.
    #[inline]
    pub(super) fn end_buffer_limit(&mut self, cx: &mut Cx<'_>) {
        if self.buffer_limit.is_any() {
            core::mem::take(&mut self.buffer_limit).end(cx.now, cx.counters);
        }
    }
    /// Add what lasts at `now`.
    pub(crate) fn add_buffer_limit(&self, now: Time, counters: &mut Counters) {
        self.buffer_limit.end(now, counters);
    }

    /// Bytes that recovery, window and limited transmit allow now.
    #[inline]
    fn window_room(&self, cx: &Cx<'_>, limits: &Limits) -> u64 {
        let cwnd = self.cwnd(limits);
        let in_flight = self.board.in_flight();
        let orderly = self.dupacks == 0 && self.board.sacked_bytes() == 0;
        match self.episode.as_ref().map(|e| &e.rule) {
            Some(Rule::Prr(prr)) => return prr.room(in_flight),
            Some(Rule::NewReno(newreno)) => {
                return newreno.window.saturating_sub(self.outstanding());
            }
            None if !orderly && !self.in_timeout_recovery() => {
                return cwnd.saturating_sub(self.disordered_flight(cx));
            }
            Some(Rule::Pipe(_) | Rule::Controller) | None => {}
        }
        if in_flight == 0 && cwnd > 0 {
            return cwnd.max(self.mss()); // a window below one segment holds one segment
        }
        cwnd.saturating_sub(in_flight)
    }
    /// Bytes that count against the window while ACKs arrive out of order. With SACK the pipe shrinks by what has arrived, and
    /// that is limited transmit; without, the first two duplicates free a segment each (RFC 3042).
    fn disordered_flight(&self, cx: &Cx<'_>) -> u64 {
        let in_flight = self.board.in_flight();
        let limited_transmit = cx.config.limited_transmit;
        if self.traits.owner == RecoveryOwner::Controller
            || (self.negotiated.sack && limited_transmit)
        {
            return in_flight;
        }
        if self.negotiated.sack {
            return in_flight + self.board.sacked_bytes();
        }
        let freed = if limited_transmit { (self.dupacks as u64).min(LIMITED_SEGMENTS) } else { 0 };
        in_flight.saturating_sub(freed * self.mss())
    }
    /// Data waits for the window.
    #[inline]
    pub(crate) fn note_window_full(&mut self) {
        self.window_full_at = self.board.nxt();
    }

    /// RFC 6675 section 4, NextSeg rules 3 and 4: what is not known to be lost, below and at the end of what was sent.
    fn choose_pipe(&mut self, cx: &Cx<'_>, limits: &Limits) -> Option<Choice> {
        let Some(Rule::Pipe(Pipe { rescue, high_rxt, .. })) =
            self.episode.as_ref().map(|e| &e.rule)
        else {
            return None;
        };
        let (rescue, high_rxt) = (*rescue, *high_rxt);
        let top = self.board.sacked().last().map_or(self.board.una(), |r| r.end);
        if self.window_room(cx, limits) < self.mss() {
            return None;
        }
        let from = self.board.find(high_rxt.max(self.board.una()));
        let hole = (from..self.board.len()).find(|&i| !self.board.get(i).is(SACKED))?;
        if self.board.get(hole).start < top {
            return Some(Choice::Repeat(hole)); // rule 3
        }
        if rescue == u64::MAX || self.board.una() <= rescue {
            return None;
        }
        let last = (0..self.board.len()).rev().find(|&i| !self.board.get(i).is(SACKED))?;
        if let Some(Rule::Pipe(pipe)) = self.episode.as_mut().map(|e| &mut e.rule) {
            pipe.rescue = u64::MAX;
            pipe.rescuing = true;
        }
        Some(Choice::Repeat(last)) // rule 4
    }

    /// A tail loss probe: new data if the peer's window has room, whatever cwnd says; else the last segment again.
    fn choose_probe(&mut self, cx: &mut Cx<'_>) -> Option<Choice> {
        let choice = match self.next_new(cx) {
            Some((len, fin)) => Choice::New { len, fin },
            None => {
                let last =
                    (0..self.board.len()).rev().find(|&i| self.board.get(i).outstanding())?;
                Choice::Repeat(last)
            }
        };
        let end = match choice {
            Choice::New { len, fin } => self.board.nxt() + len + u64::from(fin),
            _ => self.board.nxt(),
        };
        cx.counters.tail_probes += 1;
        self.probe = Some(Probe { end, repeats_data: matches!(choice, Choice::Repeat(_)) });
        Some(choice)
    }
}
