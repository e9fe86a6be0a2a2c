//! The packets of a path: what is written on them, and on the scoreboard.

use super::loss::Detector;
use super::rate::Flight;
use super::recovery::{Episode, Rule};
use super::scoreboard::{FIN, REPEATED, SYN, Segment};
use super::send::Choice;
use super::{Cx, Path, State};
use crate::options::{TIMESTAMP_BYTES, append, mptcp};
use forebay_base::{
    Arena, Ecn, IpVersion, MAX_OPTION_BYTES, OptionList, Packet, TcpFields, TcpFlags, Time, kind,
    narrow,
};
use forebay_cc::{Controller, Feedback, NextPacket, Sent, Stamp, Tag};

const TCP_HEADER_BYTES: u64 = 20;

impl Path {
    /// Make the packet, and write down that it was sent.
    #[inline]
    pub(super) fn transmit(
        &mut self,
        cx: &mut Cx<'_>,
        arena: &mut Arena,
        choice: Choice,
    ) -> Packet {
        self.end_buffer_limit(cx);
        let (wanted, again, syn) = match choice {
            Choice::Syn => (0, false, true),
            Choice::New { len, .. } => (len, false, false),
            Choice::Repeat(at) => {
                let s = self.board.get(at);
                (s.len as u64, true, s.is(SYN))
            }
        };
        let number = self.next_number;
        let next = NextPacket { number, syn, retransmission: again, payload_bytes: wanted as u32 };
        let stamp = match self.traits.stamps {
            true => self.controller.stamp(cx.now, &next),
            false => Stamp::default(),
        };
        let start = match choice {
            Choice::Repeat(at) => self.board.get(at).start,
            _ => self.board.nxt(),
        };
        let mut options = syn.then(|| self.syn_options(cx));
        let len = self.fit(cx, &mut options, &stamp, (start, wanted), syn);
        let mut segment = self.segment(cx.now, (start, len, number));
        let flight = self.note_flight(cx.now, len);
        let index = self.record(choice, &mut segment, flight);
        let packet = self.build(cx, arena, &segment, &mut options, stamp.dont_fragment);
        self.after_send(cx, &segment, index, again);
        packet
    }

    /// Put the options together and cut the payload to what fits beside them.
    pub(super) fn fit(
        &mut self,
        cx: &Cx<'_>,
        options: &mut Option<OptionList>,
        stamp: &Stamp,
        (start, wanted): (u64, u64),
        syn: bool,
    ) -> u64 {
        let stamps = self.stamps(cx);
        let mut signal_bytes = 0;
        let mut run = u64::MAX;
        if let Some(mappings) = self.mappings.as_ref().filter(|_| !syn) {
            signal_bytes = 18;
            run = mappings.locate(start).map_or(0, |(_, run)| run); // 0: a FIN alone
        }
        if let Some(more) = &stamp.options {
            let reserved = if stamps { TIMESTAMP_BYTES } else { 0 } + signal_bytes;
            let before = options.as_ref().map_or(0, OptionList::len);
            match options {
                _ if before + more.len() + reserved > MAX_OPTION_BYTES => {}
                Some(list) => append(list, more),
                None => *options = Some(*more),
            }
        }
        let written = options.as_ref().map_or(0, OptionList::len);
        let unpadded = written + signal_bytes + if stamps { TIMESTAMP_BYTES } else { 0 };
        let option_bytes = unpadded.next_multiple_of(4) as u64;
        let ip_bytes = if self.ids.version == IpVersion::V6 { 40 } else { 20 };
        let header = ip_bytes + TCP_HEADER_BYTES + option_bytes;
        let mut most =
            (self.segment_limit as u64).saturating_sub(option_bytes).min(u16::MAX as u64);
        if let Some(cap) = stamp.max_wire_len {
            most = most.min((cap as u64).saturating_sub(header));
        }
        self.payload_limit = (most.max(1) as u16).min(self.mss);
        wanted.min(most.max(1)).min(run)
    }

    /// A transmission of `len` bytes from `start` on.
    #[inline]
    pub(super) fn segment(&mut self, now: Time, (start, len, number): (u64, u64, u64)) -> Segment {
        self.next_number += 1;
        Segment { start, number, sent_at: now, tag: Tag::default(), len: len as u16, flags: 0 }
    }
    /// What the rate sampler wants to remember of a transmission of `len` bytes.
    #[inline]
    pub(super) fn note_flight(&mut self, now: Time, len: u64) -> Option<Flight> {
        let in_flight = self.board.in_flight();
        self.rate.on_send(now, in_flight == 0, in_flight + len)
    }

    /// Write the transmission on the scoreboard. Returns its index there.
    #[inline]
    fn record(&mut self, choice: Choice, segment: &mut Segment, flight: Option<Flight>) -> usize {
        let len = segment.len as u64;
        match choice {
            Choice::New { len: wanted, fin } => {
                if fin && len == wanted {
                    segment.flags |= FIN;
                }
                self.push(*segment, flight);
                self.board.len() - 1
            }
            Choice::Syn => {
                segment.flags |= SYN;
                self.syn_due = false;
                self.push(*segment, flight);
                0
            }
            Choice::Repeat(at) => {
                if len < self.board.get(at).len as u64 {
                    self.board.split(at, len as u16);
                }
                self.board.repeat(at, *segment, flight);
                *segment = *self.board.get(at);
                at
            }
        }
    }

    fn push(&mut self, segment: Segment, flight: Option<Flight>) {
        self.board.push(segment);
        if let Some(flight) = flight {
            self.board.push_flight(flight);
        }
    }

    #[inline]
    fn build(
        &mut self,
        cx: &mut Cx<'_>,
        arena: &mut Arena,
        s: &Segment,
        options: &mut Option<OptionList>,
        dont_fragment: Option<bool>,
    ) -> Packet {
        let syn = s.is(SYN);
        let mut flags = if syn { self.syn_flags(cx) } else { TcpFlags::ACK };
        let mut ecn = Ecn::NotEct;
        if s.is(FIN) {
            flags = flags.with(TcpFlags::FIN);
        }
        if self.negotiated.ecn && !syn {
            if self.echo_congestion {
                flags = flags.with(TcpFlags::ECE);
            }
            if !s.is(REPEATED) && s.len > 0 {
                ecn = Ecn::Ect0;
                if core::mem::take(&mut self.send_cwr) {
                    flags = flags.with(TcpFlags::CWR);
                }
            }
        }
        if syn && self.state == State::SynReceived && !self.no_feedback {
            self.fill_feedback(cx, options.get_or_insert_default());
        }
        if !syn && self.mappings.is_some() {
            self.signal(cx, s, options.get_or_insert_default());
        }
        let mut packet = self.packet(cx, s.start, flags, s.len);
        attach(&mut packet, options, arena);
        if ecn != Ecn::NotEct {
            packet.set_ecn(ecn);
        }
        self.fragmentable(cx, &mut packet, dont_fragment);
        packet
    }

    /// With several paths: which data these are.
    fn signal(&self, cx: &Cx<'_>, s: &Segment, options: &mut OptionList) {
        let Some(mappings) = &self.mappings else { return };
        let data = match mappings.locate(s.start) {
            Some((data, _)) => data,
            None => cx.data_end.expect("a FIN follows the end of the stream"),
        };
        let fin = cx.data_end == Some(data + s.len as u64);
        let length = s.len + u16::from(fin);
        let mapping = (narrow(data, mptcp::DATA_ISN), s.start as u32, length);
        let ack = cx.data_ack.map(|at| narrow(at, mptcp::DATA_ISN));
        mptcp::Signal { ack, mapping: Some(mapping), fin }.push(options);
    }

    fn fill_feedback(&mut self, cx: &Cx<'_>, options: &mut OptionList) {
        let before = *options;
        self.feedback.fill(cx.now, options);
        let stamps = if self.stamps(cx) { TIMESTAMP_BYTES } else { 0 };
        if options.len() + stamps > MAX_OPTION_BYTES {
            *options = before;
        }
    }

    /// Clear DF where routers may cut the packet. The host gives it the identification that this
    /// needs: identifications are the host's, not the path's (RFC 6864 section 4).
    #[inline]
    pub(super) fn fragmentable(&self, cx: &Cx<'_>, packet: &mut Packet, wish: Option<bool>) {
        let whole = wish.unwrap_or(cx.config.dont_fragment) || self.ids.version == IpVersion::V6;
        if !whole {
            packet.set_dont_fragment(false);
        }
    }

    /// A segment of this path from offset `start` on, with what rides on each segment.
    #[inline]
    fn packet(&mut self, cx: &Cx<'_>, start: u64, flags: TcpFlags, len: u16) -> Packet {
        if flags.has(TcpFlags::ACK) {
            self.note_ack();
        }
        self.segment_packet(cx, start, flags, len)
    }

    /// What is received so far is about to be acknowledged.
    #[inline]
    pub(super) fn note_ack(&mut self) {
        self.last_ack_sent = self.recv.nxt();
        self.acks.on_sent();
        self.handshake_ack = false;
    }

    /// The packet alone: nothing is noted.
    #[inline]
    pub(super) fn segment_packet(
        &self,
        cx: &Cx<'_>,
        start: u64,
        flags: TcpFlags,
        len: u16,
    ) -> Packet {
        let acks = flags.has(TcpFlags::ACK);
        let timestamps = self.stamps(cx).then(|| (cx.now.as_millis() as u32, self.ts_recent));
        let unscaled = self.recv_window.min(u16::MAX as u64) as u16;
        let fields = TcpFields {
            seq: narrow(start, self.ids.isn),
            ack: if acks { narrow(self.recv.nxt(), self.ids.peer_isn) } else { 0 },
            flags,
            window: if flags.has(TcpFlags::SYN) { unscaled } else { self.announced },
            timestamps,
        };
        let (local, remote) = (self.ids.local, self.ids.remote);
        let mut packet = Packet::tcp(self.ids.version, local, remote, fields, len);
        if len > 0 {
            packet.set_left_host_at(cx.now);
        }
        packet
    }

    fn after_send(&mut self, cx: &mut Cx<'_>, s: &Segment, index: usize, again: bool) {
        let sent = Sent {
            number: s.number,
            bytes: s.len as u32,
            in_flight_bytes: self.board.in_flight(),
            retransmission: again,
            after_idle: self.board.in_flight() == s.len as u64,
        };
        let tag = self.controller.on_sent(cx.now, &sent);
        self.board.set_tag(index, tag);
        if s.len > 0 {
            cx.counters.data_packets += 1;
            cx.counters.retransmits += u64::from(again);
        }
        if again {
            self.force_retransmit = false;
        } else {
            self.spurious.on_new_segment();
        }
        self.account(s, again);
        let repair = again && self.repair_restarts_timer(index);
        if self.timers.rto == Time::MAX || repair {
            self.rearm_rto(cx.now);
        }
        if !again {
            self.rearm_probe(cx);
        }
    }

    /// The repair of the first hole gets a full timer, for what was waited for before may have used it up (RFC 6675 section 6;
    /// Linux, tcp_xmit_retransmit_queue); not where RFC 6582 section 3.2 step 3 has its own rule. On a patient path every hole
    /// was waited for.
    fn repair_restarts_timer(&self, index: usize) -> bool {
        let newreno =
            matches!(self.episode.as_deref(), Some(Episode { rule: Rule::NewReno(_), .. }));
        (index == 0 && !newreno) || matches!(self.detector, Detector::Patient(_))
    }

    /// Let recovery and limited transmit count what was sent.
    fn account(&mut self, s: &Segment, again: bool) {
        let len = s.len as u64;
        let disorder =
            (self.dupacks > 0 || self.board.sacked_bytes() > 0) && !self.in_timeout_recovery();
        match self.episode.as_mut().map(|e| &mut e.rule) {
            Some(Rule::Prr(prr)) => prr.on_sent(len),
            Some(Rule::Pipe(pipe)) if again => pipe.on_repeat(s.end()),
            None if !again && disorder => {
                self.limited_bytes += len;
            }
            _ => {}
        }
    }

    /// An ACK and nothing else.
    pub(super) fn make_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Packet {
        let mut flags = TcpFlags::ACK;
        if self.echo_congestion {
            flags = flags.with(TcpFlags::ECE);
        }
        let options = self.ack_options(cx);
        cx.counters.acks += 1;
        let nxt = self.board.nxt();
        let mut packet = self.packet(cx, nxt, flags, 0);
        attach(&mut packet, &options, arena);
        self.fragmentable(cx, &mut packet, None);
        packet
    }

    /// Options of an ACK: feedback first, the data acknowledgment of several paths, SACK blocks in what is left.
    pub(super) fn ack_options(&mut self, cx: &Cx<'_>) -> Option<OptionList> {
        let no_sacks = self.recv.has_no_sack_blocks() || !self.negotiated.sack;
        if no_sacks && self.no_feedback && self.mappings.is_none() {
            return None;
        }
        let mut options = OptionList::EMPTY;
        if !self.no_feedback {
            self.fill_feedback(cx, &mut options);
        }
        if let Some(at) = cx.data_ack.filter(|_| self.mappings.is_some()) {
            let ack = Some(narrow(at, mptcp::DATA_ISN));
            if options.len() + 8 + TIMESTAMP_BYTES <= MAX_OPTION_BYTES {
                mptcp::Signal { ack, ..mptcp::Signal::default() }.push(&mut options);
            }
        }
        if !no_sacks {
            self.push_sacks(cx, &mut options);
        }
        Some(options)
    }

    /// As many SACK blocks as 40 bytes leave room for.
    fn push_sacks(&mut self, cx: &Cx<'_>, options: &mut OptionList) {
        let stamps = if self.stamps(cx) { TIMESTAMP_BYTES } else { 0 };
        let room = MAX_OPTION_BYTES.saturating_sub(stamps + options.len() + 2) / 8;
        let (mut data, mut len) = ([0u8; 32], 0);
        let isn = self.ids.peer_isn;
        let again = self.recv.sack_blocks(room.min(4), |range| {
            data[len..len + 4].copy_from_slice(&narrow(range.start, isn).to_be_bytes());
            data[len + 4..len + 8].copy_from_slice(&narrow(range.end, isn).to_be_bytes());
            len += 8;
        });
        if len > 0 {
            let alone = options.is_empty();
            options.push(kind::SACK, &data[..len]).expect("the room was computed");
            if again && alone {
                self.recv.note_report(options);
            }
        }
    }

    /// One byte beyond a closed window (RFC 9293 section 3.8.6.1). It is not on the scoreboard: the peer may refuse it.
    pub(super) fn make_window_probe(&mut self, cx: &Cx<'_>) -> Packet {
        self.next_number += 1;
        let nxt = self.board.nxt();
        let len = u16::from(nxt < self.send_end);
        self.window_probe_end = nxt + u64::from(len);
        self.packet(cx, nxt, TcpFlags::ACK, len)
    }
}

/// Put `options` on the packet. That they fit was seen to before.
#[inline]
pub(super) fn attach(packet: &mut Packet, options: &Option<OptionList>, arena: &mut Arena) {
    if let Some(options) = options
        && !options.is_empty()
    {
        packet.set_tcp_options(*options, arena).expect("options were fitted before");
    }
}
