//! What an ACK says has arrived: scoreboard, rate samples and controller are brought up to date.

use super::Sender;
use crate::path::input::AckSummary;
use crate::path::loss::Arrivals;
use crate::path::samples::Flight;
use crate::path::samples::{Edges, RttEstimator};
use crate::path::scoreboard::{REPEATED, SACKED, Segment};
use forebay_base::{OptionList, Span, Time};
use forebay_cc::{Ack, Controller, Delivered};

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
        if self.traits.wants_packets {
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

    /// Tell the controller of an ACK. The only place where an [`Ack`] is built.
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
