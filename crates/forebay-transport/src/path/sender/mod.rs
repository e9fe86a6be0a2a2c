//! The sending half of a path: what was sent, what may be sent, and what limits it.
//!
//! [`Sender`] owns the sequence space with its scoreboard, the controller with its pacer and rate
//! samples, the peer's window, the send buffer and the end of the stream.
//!
//! Invariants: SND.UNA <= SND.NXT <= end of the stream + 1 (the FIN). A segment enters the
//! scoreboard when it leaves, never later. The byte of a window probe is not on the scoreboard.
//! Whatever is found lost goes through [`Sender::losses`]: scoreboard, counts and controller learn
//! of it together.

mod window;
pub(crate) use window::BufferLimit;

use super::MAX_OUTSTANDING_BYTES;
use super::handshake::{Handshake, Negotiated};
use super::loss::Losses;
use super::mapping::{Mapping, Mappings};
use super::samples::{Flight, RateSampler};
use super::scoreboard::{FIN, SYN, Scoreboard, Segment};
use crate::api::Counters;
use crate::config::TcpConfig;
use crate::mptcp::SIGNAL_BYTES;
use crate::options::{TIMESTAMP_BYTES, append};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use forebay_base::{FRAGMENT_HEADER_BYTES, IpVersion, MAX_OPTION_BYTES, OptionList, Time};
use forebay_cc::{
    AnyController, Congestion, Controller, HeaderEdits, Limits, NextPacket, Recovered, RttView,
    Sent, Sibling, Tag, Timeout, Traits,
};
use window::Pacer;

const TCP_HEADER_BYTES: u64 = 20;

/// What to send.
#[derive(Clone, Copy, Debug)]
pub(in crate::path) enum Choice {
    Syn,
    /// The segment at this index of the scoreboard, again.
    Retransmission(usize),
    /// New data of this length; none of it and a FIN: a FIN alone.
    New {
        len: u64,
        fin: bool,
    },
}

pub(super) struct Sender {
    board: Scoreboard,
    /// Number of the next transmission.
    next_number: u64,
    rate: RateSampler,
    controller: AnyController,
    /// [`Traits::wants_packets`] and [`Traits::edits_headers`] of the controller.
    wants_packets: bool,
    edits_headers: bool,
    pacer: Pacer,
    /// When the pacer releases the packet that waits for it; [`Time::MAX`]: none waits.
    pace_at: Time,
    /// Right edge of the peer's window, as an offset.
    peer_edge: u64,
    /// Sequence number of the segment that set it (SND.WL1).
    window_seq: u64,
    last_window: u16,
    /// Largest window that the peer has announced.
    max_window_bytes: u32,
    /// Shift of the windows that the peer announces.
    peer_shift: u8,
    /// The window was full when SND.NXT stood here: ACKs below it end a flight that the window
    /// limited.
    window_full_at: u64,
    /// Which buffers alone hold new data back.
    buffer_limit: BufferLimit,
    /// Bytes that may be sent and not acknowledged, whatever the peer offers.
    send_buffer_bytes: u32,
    /// End of what may be sent: of the stream, or of what the scheduler has assigned.
    send_end: u64,
    fin_allowed: bool,
    mss: u16,
    /// Payload that the peer takes in one segment, excluding its options and ours.
    segment_limit: u16,
    /// Payload that the last packet had room for: less than `mss` where its stamp took some.
    payload_limit: u16,
    /// Zero-window probe (RFC 9293 section 3.8.6.1): its deadline, [`Time::MAX`] if not armed.
    persist_at: Time,
    window_probe_due: bool,
    /// Where the byte of the last window probe ends; the scoreboard does not know of it.
    window_probe_end: u64,
    /// Which data offsets its bytes are; None where they are the same.
    mappings: Option<Box<Mappings>>,
    /// Indices of segments that a SACK block reports for the first time, while it is processed.
    scratch: Vec<usize>,
}

impl Sender {
    /// `end`: end of the stream as an offset. `shared`: the stream has several paths.
    pub(super) fn new(
        controller: AnyController,
        config: &TcpConfig,
        send_end: u64,
        fin_allowed: bool,
        shared: bool,
    ) -> Sender {
        let Traits { wants_packets, edits_headers, wants_rate, .. } = controller.traits();
        Sender {
            board: Scoreboard::default(),
            next_number: 0,
            rate: RateSampler::new(wants_rate),
            wants_packets,
            edits_headers,
            controller,
            pacer: Pacer::default(),
            pace_at: Time::MAX,
            peer_edge: 0,
            window_seq: 0,
            last_window: 0,
            max_window_bytes: 0,
            peer_shift: 0,
            window_full_at: 0,
            buffer_limit: BufferLimit::default(),
            send_buffer_bytes: config.send_buffer_bytes.min(MAX_OUTSTANDING_BYTES) as u32,
            send_end,
            fin_allowed,
            mss: config.mss_bytes,
            segment_limit: config.mss_bytes,
            payload_limit: config.mss_bytes,
            persist_at: Time::MAX,
            window_probe_due: false,
            window_probe_end: 0,
            mappings: shared.then(Box::default),
            scratch: Vec::new(),
        }
    }
    /// Nothing more is sent: give memory back.
    pub(super) fn give_back(&mut self) {
        self.board.give_back();
        self.scratch = Vec::new();
    }
    /// The handshake has settled the length of segments.
    pub(super) fn negotiate(&mut self, agreed: Negotiated, mss_bytes: u16, segment_limit: u16) {
        self.peer_shift = agreed.peer_shift;
        self.segment_limit = segment_limit;
        let used = crate::options::data_option_bytes(agreed.timestamps, self.option_bytes());
        self.mss = mss_bytes.min(segment_limit.saturating_sub(used)).max(1);
        self.payload_limit = self.mss;
    }

    #[inline]
    pub(super) fn board(&self) -> &Scoreboard {
        &self.board
    }
    /// SND.UNA.
    #[inline]
    pub(super) fn una(&self) -> u64 {
        self.board.una()
    }
    /// SND.NXT.
    #[inline]
    pub(super) fn nxt(&self) -> u64 {
        self.board.nxt()
    }
    #[inline]
    pub(super) fn in_flight(&self) -> u64 {
        self.board.in_flight()
    }
    #[inline]
    pub(super) fn mss(&self) -> u64 {
        self.mss as u64
    }
    /// Number that the next transmission gets.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }
    /// Payload that the last packet had room for.
    #[inline]
    pub(super) fn payload_limit(&self) -> u16 {
        self.payload_limit
    }
    /// Its stream has several paths.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.mappings.is_some()
    }
    #[inline]
    pub(super) fn mappings(&self) -> Option<&Mappings> {
        self.mappings.as_deref()
    }
    /// `len` bytes from data offset `data` on are to leave after what was assigned before.
    pub(super) fn assign(&mut self, data: u64, len: u64) {
        let run = Mapping { path: self.send_end, data, len };
        if let Some(mappings) = &mut self.mappings {
            mappings.push(run);
        }
        self.send_end += len;
    }
    /// Nothing was lost, no window probe is open, and the path has the stream for itself.
    #[inline]
    pub(super) fn is_regular(&self) -> bool {
        self.board.is_orderly()
            && !self.is_shared()
            && !self.window_probe_due
            && self.persist_at == Time::MAX
    }

    /// Payload bytes sent and not acknowledged in order.
    pub(super) fn outstanding(&self) -> u64 {
        let una = self.una().max(1);
        (self.nxt().max(1) - una).saturating_sub(u64::from(self.is_fin_sent()))
    }
    /// Delivered and lost payload bytes so far.
    pub(super) fn rate(&self) -> &RateSampler {
        &self.rate
    }
    /// There is nothing to send although the window is open.
    pub(super) fn set_app_limited(&mut self) {
        self.rate.set_app_limited(self.board.in_flight());
    }

    // What the controller says.

    #[inline]
    pub(super) fn controller(&self) -> &AnyController {
        &self.controller
    }
    #[inline]
    pub(super) fn limits(&self) -> Limits {
        self.controller.limits()
    }
    /// When the controller wants its timer.
    #[inline]
    pub(super) fn controller_deadline(&self) -> Option<Time> {
        self.controller.next_timeout()
    }
    /// Option bytes of data besides timestamps.
    pub(super) fn option_bytes(&self) -> u16 {
        let signal = if self.is_shared() { SIGNAL_BYTES } else { 0 };
        self.controller.traits().option_bytes + signal
    }
    /// The path has the stream for itself, up to `send_end`, which FIN follows if it is `closed`.
    pub(super) fn take_stream(&mut self, send_end: u64, closed: bool) {
        (self.send_end, self.fin_allowed, self.mappings) = (send_end, closed, None);
    }
    /// The controller asks for each packet that arrives.
    #[inline]
    pub(super) fn wants_packets(&self) -> bool {
        self.wants_packets
    }
    /// The controller writes on packets.
    #[inline]
    pub(super) fn edits_headers(&self) -> bool {
        self.edits_headers
    }

    // What is reported to the controller.

    pub(super) fn couple(&mut self, siblings: &[Sibling], index: usize) {
        self.controller.couple(siblings, index);
    }
    pub(super) fn on_established(
        &mut self,
        now: Time,
        rtt: &RttView,
        options: Option<&OptionList>,
    ) {
        self.controller.on_established(now, rtt, options);
    }
    pub(super) fn on_congestion(&mut self, now: Time, event: &Congestion) {
        self.controller.on_congestion(now, event);
    }
    pub(super) fn on_recovered(&mut self, now: Time, end: &Recovered) {
        self.controller.on_recovered(now, end);
    }
    pub(super) fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        self.controller.on_rto(now, timeout);
    }
    /// Nothing was lost: what is marked lost is in flight again.
    pub(super) fn on_spurious(&mut self, now: Time) {
        self.board.unmark_lost();
        self.controller.on_spurious(now);
    }
    /// It is `now`: run the controller's timer, if it is due.
    pub(super) fn on_controller_timer(&mut self, now: Time) {
        if self.controller.next_timeout().is_some_and(|at| at <= now) {
            self.controller.on_timer(now);
        }
    }

    // Losses.

    /// The scoreboard, and where losses on it are declared.
    pub(super) fn losses<'a>(
        &'a mut self,
        now: Time,
        counters: &'a mut Counters,
    ) -> (&'a mut Scoreboard, Losses<'a>) {
        (&mut self.board, Losses::none(now, &mut self.controller, &mut self.rate, counters))
    }
    /// The peer may have dropped what it reported.
    pub(super) fn forget_sacks(&mut self) {
        self.board.forget_sacks();
    }
    /// Index of the lowest segment that awaits retransmission.
    #[inline]
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        self.board.next_lost()
    }
    /// The peer has no answer to its SYN: send it again, unless it waits already.
    pub(super) fn repeat_syn(&mut self) {
        if !self.board.is_empty() && self.board.lost_segments() == 0 {
            self.board.mark_lost(0);
        }
    }

    // Transmissions.

    /// What the controller writes on the next packet, of at most `payload` bytes.
    pub(super) fn edit_header(
        &mut self,
        now: Time,
        payload: u64,
        syn: bool,
        retransmission: bool,
        handshake: &Handshake,
    ) -> HeaderEdits {
        if !self.edits_headers {
            return HeaderEdits::default();
        }
        let (src, dst) = handshake.addresses();
        let reply = syn && handshake.is_server();
        let (number, payload_bytes) = (self.next_number, payload as u32);
        let version = handshake.version();
        let next =
            NextPacket { number, syn, reply, retransmission, payload_bytes, version, src, dst };
        self.controller.edit_header(now, &next)
    }

    /// Put the options together and cut the payload, which is to be `wanted` of the path, to what
    /// fits next to them and `signal_bytes` more. Returns its length.
    pub(super) fn fit(
        &mut self,
        version: IpVersion,
        timestamps: bool,
        options: &mut Option<OptionList>,
        edits: &HeaderEdits,
        signal_bytes: u16,
        wanted: Range<u64>,
    ) -> u64 {
        let (start, wanted) = (wanted.start, wanted.end - wanted.start);
        let mut run = u64::MAX;
        if let Some(mappings) = self.mappings.as_ref().filter(|_| signal_bytes > 0) {
            run = mappings.locate(start).map_or(0, |(_, run)| run);
        }
        let stamps = if timestamps { TIMESTAMP_BYTES } else { 0 };
        let reserved = stamps + usize::from(signal_bytes);
        if let Some(more) = &edits.options {
            let before = options.as_ref().map_or(0, OptionList::len);
            match options {
                _ if before + more.len() + reserved > MAX_OPTION_BYTES => {}
                Some(list) => append(list, more),
                None => *options = Some(*more),
            }
        }
        let written = options.as_ref().map_or(0, OptionList::len);
        let option_bytes = (written + reserved).next_multiple_of(4) as u64;
        let ip_bytes = if version == IpVersion::V6 { 40 } else { 20 };
        let mut most =
            (self.segment_limit as u64).saturating_sub(option_bytes).min(u16::MAX as u64);
        let mut header = ip_bytes + TCP_HEADER_BYTES + option_bytes;
        if edits.has_fragment_header(version) {
            // RFC 9293 section 3.7.1: what IP needs besides its header, the payload lacks.
            header += FRAGMENT_HEADER_BYTES as u64;
            let least_room = most.saturating_sub(FRAGMENT_HEADER_BYTES as u64);
            most = least_room.min((self.mss as u64).saturating_sub(FRAGMENT_HEADER_BYTES as u64));
        }
        if let Some(cap) = edits.max_wire_len {
            most = most.min((cap as u64).saturating_sub(header));
        }
        self.payload_limit = (most.max(1) as u16).min(self.mss);
        wanted.min(most.max(1)).min(run)
    }

    /// Start offset and payload of `choice`, whether it was sent before, and whether it has a SYN.
    pub(super) fn describe(&self, choice: Choice) -> (u64, u64, bool, bool) {
        match choice {
            Choice::Syn => (self.nxt(), 0, false, true),
            Choice::New { len, .. } => (self.nxt(), len, false, false),
            Choice::Retransmission(at) => {
                let s = self.board.get(at);
                (s.start, s.len as u64, true, s.is(SYN))
            }
        }
    }
    /// A transmission of `len` bytes from `start` on; it takes a number.
    #[inline]
    fn number(&mut self, now: Time, start: u64, len: u16) -> Segment {
        let number = self.next_number;
        self.next_number += 1;
        Segment { start, number, sent_at: now, tag: Tag::default(), len, flags: 0 }
    }
    /// What the rate sampler notes on a transmission of `len` bytes.
    #[inline]
    fn note_flight(&mut self, now: Time, len: u64) -> Option<Flight> {
        let in_flight = self.board.in_flight();
        self.rate.on_send(now, in_flight == 0, in_flight + len)
    }

    /// `choice` leaves with `len` bytes: write it on the scoreboard. Returns its index there.
    pub(super) fn record(&mut self, now: Time, choice: Choice, len: u64) -> usize {
        let (start, ..) = self.describe(choice);
        let mut segment = self.number(now, start, len as u16);
        let flight = self.note_flight(now, len);
        match choice {
            Choice::New { len: wanted, fin } if fin && len == wanted => segment.flags |= FIN,
            Choice::New { .. } => {}
            Choice::Syn => segment.flags |= SYN,
            Choice::Retransmission(at) => {
                if len < self.board.get(at).len as u64 {
                    self.board.split(at, len as u16);
                }
                self.board.repeat(at, segment, flight);
                return at;
            }
        }
        self.board.push(segment);
        if let Some(flight) = flight {
            self.board.push_flight(flight);
        }
        self.board.len() - 1
    }
    /// Segment `index` has left: notify the controller, and count it.
    pub(super) fn on_sent(
        &mut self,
        now: Time,
        index: usize,
        again: bool,
        counters: &mut Counters,
    ) {
        let (number, len) = (self.board.get(index).number, self.board.get(index).len);
        let in_flight_bytes = self.board.in_flight();
        let sent = Sent {
            number,
            bytes: len as u32,
            in_flight_bytes,
            retransmission: again,
            after_idle: in_flight_bytes == len as u64,
            app_limited: self.rate.is_app_limited(),
        };
        let tag = self.controller.on_sent(now, &sent);
        self.board.set_tag(index, tag);
        if len > 0 {
            counters.data_packets += 1;
            counters.retransmits += u64::from(again);
        }
    }
    /// `len` bytes of new data leave, on the fast path: what [`Sender::record`] and
    /// [`Sender::on_sent`] do. True if nothing else was in flight.
    #[inline(always)]
    pub(super) fn send_new(&mut self, now: Time, len: u16, counters: &mut Counters) -> bool {
        let after_idle = self.board.in_flight() == 0;
        let in_flight_bytes = self.board.in_flight() + len as u64;
        let mut segment = self.number(now, self.board.nxt(), len);
        if self.rate.is_wanted() {
            self.push_flight(now, len);
        }
        let (number, bytes) = (segment.number, len as u32);
        let sent = Sent {
            number,
            bytes,
            in_flight_bytes,
            retransmission: false,
            after_idle,
            app_limited: self.rate.is_app_limited(),
        };
        segment.tag = self.controller.on_sent(now, &sent);
        self.board.push(segment);
        counters.data_packets += 1;
        after_idle
    }
    #[inline(never)]
    fn push_flight(&mut self, now: Time, len: u16) {
        if let Some(flight) = self.note_flight(now, len as u64) {
            self.board.push_flight(flight);
        }
    }
}

impl Sender {
    /// Payload bytes that were sent at least once.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.board.nxt().saturating_sub(1).min(self.send_end - 1)
    }
    /// Payload bytes acknowledged in order.
    pub(super) fn acked_bytes(&self) -> u64 {
        self.board.una().saturating_sub(1).min(self.send_end - 1)
    }
    /// End of what may be sent.
    #[inline]
    pub(super) fn send_end(&self) -> u64 {
        self.send_end
    }
    #[inline]
    pub(super) fn is_fin_allowed(&self) -> bool {
        self.fin_allowed
    }
    /// The stream of this end may end now, if it has not yet.
    pub(super) fn allow_fin(&mut self) {
        self.fin_allowed = true;
    }
    #[inline]
    pub(super) fn is_fin_sent(&self) -> bool {
        self.board.nxt() > self.send_end
    }
    /// The peer acknowledged the FIN of this end.
    pub(super) fn is_fin_acked(&self) -> bool {
        self.fin_allowed && self.board.una() > self.send_end
    }
    /// The stream has been sent, and FIN if it may follow.
    #[inline]
    pub(super) fn has_sent_all(&self) -> bool {
        let nxt = self.board.nxt();
        nxt > self.send_end || (nxt == self.send_end && !self.fin_allowed)
    }
    /// Data or FIN has not been sent at all.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.board.nxt() < self.send_end || (self.fin_allowed && !self.is_fin_sent())
    }

    /// The application has `bytes` more to send.
    pub(super) fn write(&mut self, bytes: u64) {
        self.send_end = self.send_end.saturating_add(bytes);
    }
    /// Data was missing while the window of `cwnd` bytes was open: `tcp_rate_check_app_limited` of
    /// Linux (net/ipv4/tcp_rate.c), which asks this when the application writes.
    pub(super) fn note_app_limited(&mut self, cwnd: u64) {
        let starved = self.send_end.saturating_sub(self.board.nxt()) < self.mss()
            && self.board.in_flight() < cwnd
            && self.board.lost_segments() == 0;
        if starved {
            self.set_app_limited();
        }
    }
    /// Unsent data is withdrawn, and the stream goes on; unless FIN was sent. True if
    /// anything may have changed.
    pub(super) fn hold(&mut self) -> bool {
        if self.is_fin_sent() {
            return false;
        }
        // The peer may have taken the byte of a window probe, which is not on the scoreboard.
        let sent = self.board.nxt().max(1).max(self.window_probe_end);
        self.send_end = self.send_end.min(sent);
        self.fin_allowed = false;
        if self.board.nxt() >= self.send_end {
            (self.persist_at, self.window_probe_due) = (Time::MAX, false);
        }
        true
    }
}
