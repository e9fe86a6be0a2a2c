//! What leaves next: the choice, the limits on it, and the packet.

use super::recovery::{Pipe, Rule};
use super::scoreboard::{FIN, REPEATED, SACKED, SYN, Segment};
use super::{Cx, MAX_OUTSTANDING_BYTES, Path, Probe, State};
use crate::options::{TIMESTAMP_BYTES, append, mptcp};
use forebay_base::{
    Arena, Ecn, IpVersion, MAX_OPTION_BYTES, OptionList, Packet, TcpFields, TcpFlags, Time, kind,
    narrow,
};
use forebay_cc::{Controller, Feedback, Limits, NextPacket, RecoveryOwner, Sent, Stamp, Tag};

const TCP_HEADER_BYTES: u64 = 20;
/// Segments that limited transmit sends beyond the window (RFC 3042).
const LIMITED_SEGMENTS: u64 = 2;

/// What to send.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Syn,
    /// The segment at this index of the scoreboard, again.
    Repeat(usize),
    /// New data of this length; None of it and a FIN: a FIN alone.
    New {
        len: u64,
        fin: bool,
    },
}

impl Path {
    /// False if [`Path::poll`] would find nothing to do at all: most calls of a driver that polls until None.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.acks.is_due() || self.window_probe_due || !self.has_nothing()
    }

    /// The next packet, if one may leave now.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        // An ACK rides on data unless it has options of its own to carry, or ends the handshake.
        let alone = self.acks.is_due()
            && (self.handshake_ack || !self.tells_nothing || !self.recv.is_plain());
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
        self.refresh();
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
        if limits.credits == Some(0) {
            return None;
        }
        if self.state == State::Established && !self.pacer.ready(cx.now) {
            self.timers.pace = self.pacer.release();
            return None;
        }
        let choice = self.choose(cx, &limits)?;
        let pacing = self.pacing_rate(&limits, cx.config);
        let packet = self.transmit(cx, arena, choice);
        if let Some(rate) = pacing {
            self.pacer.sent(cx.now, packet.wire_len() as u64, rate);
        }
        Some(packet)
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
        if !self.doubt.asks()
            && let Some(at) = self.board.next_lost()
        {
            let len = (self.board.get(at).len).min(self.cut) as u64;
            if self.force_repeat || self.window_room(cx, limits) >= len {
                return Some(Choice::Repeat(at));
            }
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
            }
            return None;
        };
        let room = self.window_room(cx, limits);
        if room < len.min(self.cut as u64) && !self.doubt.asks() {
            self.note_window_full();
            return None;
        }
        let len_now = len.min(room.max(self.cut as u64));
        Some(Choice::New { len: len_now, fin: fin && len_now == len })
    }

    /// Length of the next new segment as the stream and the peer's window have it, and whether FIN follows it.
    fn next_new(&mut self, cx: &Cx<'_>) -> Option<(u64, bool)> {
        let nxt = self.board.nxt();
        let buffer = cx.config.send_buffer_bytes.min(MAX_OUTSTANDING_BYTES);
        let edge = if self.mappings.is_some() { u64::MAX } else { self.peer_edge };
        let room = edge.saturating_sub(nxt).min((self.board.una() + buffer).saturating_sub(nxt));
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
    /// Bytes that recovery, window and limited transmit allow now.
    #[inline]
    fn window_room(&self, cx: &Cx<'_>, limits: &Limits) -> u64 {
        let cwnd = self.cwnd(limits);
        let in_flight = self.board.in_flight();
        let orderly = self.dupacks == 0 && self.board.sacked_bytes() == 0;
        match self.episode.as_ref().map(|e| &e.rule) {
            Some(Rule::Prr(prr)) => return prr.room(),
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
        if self.owner == RecoveryOwner::Controller || (self.agreed.sack && limited_transmit) {
            return in_flight;
        }
        if self.agreed.sack {
            return in_flight + self.board.sacked_bytes();
        }
        let freed = if limited_transmit { (self.dupacks as u64).min(LIMITED_SEGMENTS) } else { 0 };
        in_flight.saturating_sub(freed * self.mss())
    }
    /// Data waits for the window.
    fn note_window_full(&mut self) {
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

    /// Make the packet, and write down that it was sent.
    #[inline]
    fn transmit(&mut self, cx: &mut Cx<'_>, arena: &mut Arena, choice: Choice) -> Packet {
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
        let stamp = self.controller.stamp(cx.now, &next);
        let start = match choice {
            Choice::Repeat(at) => self.board.get(at).start,
            _ => self.board.nxt(),
        };
        let mut options = syn.then(|| self.syn_options(cx));
        let len = self.fit(cx, &mut options, &stamp, (start, wanted), syn);
        let mut segment = self.segment(cx, (start, len, number));
        let index = self.record(choice, &mut segment);
        let packet = self.build(cx, arena, &segment, options, stamp.dont_fragment);
        self.after_send(cx, &segment, index, again);
        packet
    }

    /// Put the options together and cut the payload to what fits beside them.
    fn fit(
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
            let list = options.get_or_insert_default();
            let reserved = if stamps { TIMESTAMP_BYTES } else { 0 } + signal_bytes;
            if list.len() + more.len() + reserved <= MAX_OPTION_BYTES {
                append(list, more, stamps);
            }
        }
        let written = options.as_ref().map_or(0, OptionList::len);
        let unpadded = written + signal_bytes + if stamps { TIMESTAMP_BYTES } else { 0 };
        let option_bytes = unpadded.next_multiple_of(4) as u64;
        let ip_bytes = if self.version == IpVersion::V6 { 40 } else { 20 };
        let header = ip_bytes + TCP_HEADER_BYTES + option_bytes;
        let mut most =
            (self.segment_limit as u64).saturating_sub(option_bytes).min(u16::MAX as u64);
        if let Some(cap) = stamp.max_wire_len {
            most = most.min((cap as u64).saturating_sub(header));
        }
        self.cut = (most.max(1) as u16).min(self.mss);
        wanted.min(most.max(1)).min(run)
    }

    /// A transmission of `len` bytes from `start` on, with what the rate sampler wants to remember.
    #[inline]
    fn segment(&mut self, cx: &Cx<'_>, (start, len, number): (u64, u64, u64)) -> Segment {
        self.next_number += 1;
        let mut segment = Segment {
            start,
            number,
            sent_at: cx.now,
            tag: Tag::default(),
            delivered: 0,
            delivered_at: Time::ZERO,
            flight_start: Time::ZERO,
            tx_in_flight: 0,
            lost_before: 0,
            len: len as u16,
            flags: 0,
        };
        self.rate.on_send(cx.now, self.board.in_flight() == 0, &mut segment);
        segment
    }

    /// Write the transmission on the scoreboard. Returns its index there.
    #[inline]
    fn record(&mut self, choice: Choice, segment: &mut Segment) -> usize {
        let len = segment.len as u64;
        segment.tx_in_flight = (self.board.in_flight() + len) as u32;
        match choice {
            Choice::New { len: wanted, fin } => {
                if fin && len == wanted {
                    segment.flags |= FIN;
                }
                self.board.push(*segment);
                self.board.len() - 1
            }
            Choice::Syn => {
                segment.flags |= SYN;
                self.syn_due = false;
                self.board.push(*segment);
                0
            }
            Choice::Repeat(at) => {
                if len < self.board.get(at).len as u64 {
                    self.board.split(at, len as u16);
                }
                segment.tx_in_flight = (self.board.in_flight() + len) as u32;
                self.board.repeat(at, *segment);
                *segment = *self.board.get(at);
                at
            }
        }
    }

    #[inline]
    fn build(
        &mut self,
        cx: &mut Cx<'_>,
        arena: &mut Arena,
        s: &Segment,
        mut options: Option<OptionList>,
        dont_fragment: Option<bool>,
    ) -> Packet {
        let syn = s.is(SYN);
        let mut flags = if syn { self.syn_flags(cx) } else { TcpFlags::ACK };
        let mut ecn = Ecn::NotEct;
        if s.is(FIN) {
            flags = flags.with(TcpFlags::FIN);
        }
        if self.agreed.ecn && !syn {
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
        if syn && self.state == State::SynReceived && !self.tells_nothing {
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
        self.fragmentable(cx, arena, &mut packet, dont_fragment);
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

    /// A packet may be cut by routers only if it can be put together again: it needs an identification.
    #[inline]
    fn fragmentable(
        &mut self,
        cx: &Cx<'_>,
        arena: &mut Arena,
        packet: &mut Packet,
        wish: Option<bool>,
    ) {
        if wish.unwrap_or(cx.config.dont_fragment) || self.version == IpVersion::V6 {
            return;
        }
        packet.set_dont_fragment(false);
        self.ip_id = self.ip_id.wrapping_add(1);
        packet.cold_mut(arena).ip_id = self.ip_id;
    }

    /// A segment of this path from offset `start` on, with what rides on each segment.
    #[inline]
    fn packet(&mut self, cx: &Cx<'_>, start: u64, flags: TcpFlags, len: u16) -> Packet {
        let acks = flags.has(TcpFlags::ACK);
        let timestamps = self.stamps(cx).then(|| (cx.now.as_millis() as u32, self.ts_recent));
        let shift = if flags.has(TcpFlags::SYN) { 0 } else { self.agreed.own_shift };
        let fields = TcpFields {
            seq: narrow(start, self.isn),
            ack: if acks { narrow(self.recv.nxt(), self.peer_isn) } else { 0 },
            flags,
            window: (self.recv_window >> shift).min(u16::MAX as u64) as u16,
            timestamps,
        };
        if acks {
            self.last_ack_sent = self.recv.nxt();
            self.acks.on_sent();
            self.handshake_ack = false;
        }
        Packet::tcp(self.version, self.local, self.remote, fields, len)
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
            self.force_repeat = false;
        } else {
            self.doubt.on_new_segment();
        }
        self.account(s, again);
        if self.timers.rto == Time::MAX {
            self.rearm_rto(cx);
        }
        if !again {
            self.rearm_probe(cx);
        }
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
    fn make_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Packet {
        let mut flags = TcpFlags::ACK;
        if self.echo_congestion {
            flags = flags.with(TcpFlags::ECE);
        }
        let options = self.ack_options(cx);
        cx.counters.acks += 1;
        let nxt = self.board.nxt();
        let mut packet = self.packet(cx, nxt, flags, 0);
        attach(&mut packet, options, arena);
        self.fragmentable(cx, arena, &mut packet, None);
        packet
    }

    /// Options of an ACK: feedback first, the data acknowledgment of several paths, SACK blocks in what is left.
    fn ack_options(&mut self, cx: &Cx<'_>) -> Option<OptionList> {
        let plain = self.recv.is_plain() || !self.agreed.sack;
        if plain && self.tells_nothing && self.mappings.is_none() {
            return None;
        }
        let mut options = OptionList::EMPTY;
        if !self.tells_nothing {
            self.fill_feedback(cx, &mut options);
        }
        if let Some(at) = cx.data_ack.filter(|_| self.mappings.is_some()) {
            let ack = Some(narrow(at, mptcp::DATA_ISN));
            if options.len() + 8 + TIMESTAMP_BYTES <= MAX_OPTION_BYTES {
                mptcp::Signal { ack, ..mptcp::Signal::default() }.push(&mut options);
            }
        }
        if !plain {
            self.push_sacks(cx, &mut options);
        }
        Some(options)
    }

    /// As many SACK blocks as 40 bytes leave room for.
    fn push_sacks(&mut self, cx: &Cx<'_>, options: &mut OptionList) {
        let stamps = if self.stamps(cx) { TIMESTAMP_BYTES } else { 0 };
        let room = MAX_OPTION_BYTES.saturating_sub(stamps + options.len() + 2) / 8;
        let (mut data, mut len) = ([0u8; 32], 0);
        let isn = self.peer_isn;
        self.recv.sack_blocks(room.min(4), |range| {
            data[len..len + 4].copy_from_slice(&narrow(range.start, isn).to_be_bytes());
            data[len + 4..len + 8].copy_from_slice(&narrow(range.end, isn).to_be_bytes());
            len += 8;
        });
        if len > 0 {
            options.push(kind::SACK, &data[..len]).expect("the room was computed");
        }
    }

    /// One byte beyond a closed window (RFC 9293 section 3.8.6.1). It is not on the scoreboard: the peer may refuse it.
    fn make_window_probe(&mut self, cx: &Cx<'_>) -> Packet {
        self.window_probe_sent = true;
        self.next_number += 1;
        let nxt = self.board.nxt();
        let len = u16::from(nxt < self.send_end);
        self.packet(cx, nxt, TcpFlags::ACK, len)
    }
}

/// Put `options` on the packet. That they fit was seen to before.
#[inline]
fn attach(packet: &mut Packet, options: Option<OptionList>, arena: &mut Arena) {
    if let Some(options) = options.filter(|o| !o.is_empty()) {
        packet.set_tcp_options(options, arena).expect("options were fitted before");
    }
}
