//! What leaves next: an ACK, a retransmission, new data or a probe; and what is written on its
//! packet. Each part notes what left.

use super::scoreboard::{FIN, REPEATED, SYN, Segment};
use super::sender::{Choice, Sender};
use super::{Cx, Path, Sharing, State};
use crate::mptcp::{self, Signal};
use crate::options::{TIMESTAMP_BYTES, append};
use forebay_base::{
    Arena, Ecn, IpVersion, MAX_OPTION_BYTES, OptionList, Packet, TcpFlags, Time, narrow,
};
use forebay_cc::{Limits, StampedIp};

impl Path {
    /// False if [`Path::poll`] would find nothing to do at all: most calls of a driver that polls
    /// until None.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.receiver.is_ack_due() || self.sender.is_window_probe_due() || !self.has_nothing()
    }

    /// The next packet, if one may leave now.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        if self.fast.is_open() { self.poll_fast(cx, arena) } else { self.poll_general(cx, arena) }
    }

    /// The general path of [`Path::poll`].
    #[inline(never)]
    pub(super) fn poll_general(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        let dead = self.handshake.state() == State::Dead;
        if dead || (!self.sender.is_shared() && !self.has_work()) {
            return None;
        }
        let due = self.receiver.is_ack_due();
        // An ACK rides on data unless it has options of its own to carry, or ends the handshake.
        let alone = due
            && (self.handshake.is_ack_due()
                || self.receiver.has_feedback()
                || !self.receiver.has_no_sack_blocks());
        let packet = if alone {
            Some(self.make_ack(cx, arena))
        } else {
            match self.poll_data(cx, arena) {
                Some(packet) => Some(packet),
                None if due && self.handshake.is_established() => Some(self.make_ack(cx, arena)),
                None => None,
            }
        };
        self.after_poll(packet.is_some());
        packet
    }

    /// The reset of a path that is refused.
    pub(crate) fn poll_reset(&mut self, now: Time) -> Option<Packet> {
        let Path { handshake, receiver, sender, .. } = self;
        let due = handshake.take_reset();
        due.then(|| handshake.segment(receiver, now, sender.nxt(), TcpFlags::RST, 0, false))
    }

    /// The stream is over for both ends: nothing leaves but ACKs that are asked for.
    pub(crate) fn poll_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        self.receiver.is_ack_due().then(|| self.make_ack(cx, arena))
    }

    #[inline]
    fn poll_data(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        self.sender.clear_pace();
        if self.sender.is_window_probe_due() {
            return Some(self.make_window_probe(cx, arena));
        }
        if self.has_nothing() {
            if self.sender.is_shared() {
                self.sender.set_app_limited();
            }
            return None;
        }
        let limits = self.sender.limits();
        if self.handshake.is_established() {
            // A handshake does not ask the controller.
            if limits.credits == Some(0) && !self.recovery.overrides_limits(&self.sender) {
                return None;
            }
            if !self.sender.pacer_allows(cx.now) {
                self.sender.wait_for_pacer();
                return None;
            }
        }
        let choice = self.choose(cx, &limits)?;
        let pacing = self.recovery.pacing_rate(&self.sender, &limits, cx.config);
        let packet = self.transmit(cx, arena, choice);
        if let Some(rate) = pacing {
            self.sender.on_paced(cx.now, packet.payload_len(), packet.wire_len(), rate);
        }
        Some(packet)
    }

    /// The common case of a receiver: nothing to send at all.
    #[inline]
    fn has_nothing(&self) -> bool {
        let Path { sender, recovery, handshake, .. } = self;
        let idle = !sender.has_unsent()
            && sender.board().lost_segments() == 0
            && !recovery.is_probe_due()
            && !handshake.is_syn_due();
        idle && !recovery.may_rescue()
    }

    fn choose(&mut self, cx: &mut Cx<'_>, limits: &Limits) -> Option<Choice> {
        let Path { sender, recovery, handshake, .. } = self;
        if !handshake.is_established() {
            if handshake.is_syn_due() {
                return Some(Choice::Syn);
            }
            return sender.next_lost().map(Choice::Retransmission);
        }
        if recovery.take_probe_due() {
            return recovery.choose_probe(cx.now, sender, cx.counters);
        }
        if !recovery.wants_new_data()
            && let Some(at) = sender.next_lost()
        {
            let len = sender.board().get(at).len.min(sender.payload_limit()) as u64;
            let room = || recovery.window_room(sender, limits, cx.config);
            if recovery.forces_retransmit() || room() >= len {
                return Some(Choice::Retransmission(at));
            }
            sender.end_buffer_limit(cx.now, cx.counters);
            sender.note_window_full();
            return None;
        }
        self.choose_new(cx, limits)
            .or_else(|| self.recovery.choose_pipe(&self.sender, limits, cx.config))
    }

    /// New data that windows allow.
    fn choose_new(&mut self, cx: &mut Cx<'_>, limits: &Limits) -> Option<Choice> {
        let Path { sender, recovery, .. } = self;
        let Some((len, fin)) = sender.next_new(cx.now, recovery.rtt().rto()) else {
            let (nxt, end) = (sender.nxt(), sender.send_end());
            if nxt == end {
                sender.set_app_limited();
            } else if nxt < end {
                let room = |sender: &Sender| recovery.window_room(sender, limits, cx.config);
                sender.begin_buffer_limit(cx.now, cx.counters, room);
            }
            return None;
        };
        let room = recovery.window_room(sender, limits, cx.config);
        let full = sender.payload_limit() as u64;
        if room < len.min(full) && !recovery.wants_new_data() {
            sender.end_buffer_limit(cx.now, cx.counters);
            sender.note_window_full();
            return None;
        }
        let len_now = len.min(room.max(full));
        Some(Choice::New { len: len_now, fin: fin && len_now == len })
    }
}

impl Path {
    /// Make the packet, and note that it was sent.
    #[inline]
    pub(super) fn transmit(
        &mut self,
        cx: &mut Cx<'_>,
        arena: &mut Arena,
        choice: Choice,
    ) -> Packet {
        self.sender.end_buffer_limit(cx.now, cx.counters);
        let (start, wanted, again, syn) = self.sender.describe(choice);
        let edits = self.sender.edit_header(cx.now, wanted, syn, again, &self.handshake);
        let mut options = syn.then(|| self.syn_options(cx));
        let signal = if syn { 0 } else { self.signal_bytes(cx, start) };
        let (version, stamps) = (self.handshake.version(), self.handshake.stamps(cx.config));
        let len =
            self.sender.fit(version, stamps, &mut options, &edits, signal, start..start + wanted);
        let index = self.sender.record(cx.now, choice, len);
        if matches!(choice, Choice::Syn) {
            self.handshake.on_syn_sent();
        }
        let segment = *self.sender.board().get(index);
        let ip = edits.ip();
        let packet = self.build(cx, arena, &segment, &mut options, ip);
        self.after_send(cx, &segment, index, again);
        if matches!(choice, Choice::Syn)
            && self.handshake.is_server()
            && self.receiver.has_more_window()
        {
            self.receiver.demand_ack();
            self.handshake.demand_ack();
        }
        packet
    }

    #[inline]
    fn build(
        &mut self,
        cx: &mut Cx<'_>,
        arena: &mut Arena,
        s: &Segment,
        options: &mut Option<OptionList>,
        ip: StampedIp,
    ) -> Packet {
        let Path { handshake, receiver, recovery, .. } = self;
        let syn = s.is(SYN);
        let mut flags = if syn { handshake.syn_flags() } else { TcpFlags::ACK };
        let mut capable = handshake.makes_all_ect();
        if s.is(FIN) {
            flags = flags.with(TcpFlags::FIN);
        }
        if handshake.negotiated().ecn.is_some() && !syn {
            if receiver.echoes_congestion() {
                flags = flags.with(TcpFlags::ECE);
            }
            if !s.is(REPEATED) && s.len > 0 {
                capable = true;
                if recovery.take_cwr() {
                    flags = flags.with(TcpFlags::CWR);
                }
            }
        }
        if syn && handshake.state() == State::SynReceived && receiver.has_feedback() {
            let reserved = self.timestamp_bytes(cx);
            self.receiver.fill_feedback(cx.now, reserved, options.get_or_insert_default());
        } else if let Some(sharing) = cx.sharing.as_ref().filter(|_| !syn) {
            self.signal(sharing, s.start, s.len, options.get_or_insert_default());
        }
        let mut packet = self.packet(cx, s.start, flags, s.len);
        attach(&mut packet, options, arena);
        if capable {
            packet.set_ecn(Ecn::Ect0);
        }
        self.fragmentable(cx, &mut packet, arena, ip);
        packet
    }

    /// Option bytes that timestamps take.
    fn timestamp_bytes(&self, cx: &Cx<'_>) -> usize {
        if self.handshake.stamps(cx.config) { TIMESTAMP_BYTES } else { 0 }
    }

    /// Option bytes that say which data a segment from `start` on has.
    fn signal_bytes(&self, cx: &Cx<'_>, start: u64) -> u16 {
        match &cx.sharing {
            None => 0,
            Some(sharing) if self.keys_of(sharing, start).is_some() => mptcp::MOST_SIGNAL_BYTES,
            Some(_) => mptcp::SIGNAL_BYTES,
        }
    }
    /// The keys that a segment from `start` on carries in place of a signal.
    fn keys_of<'a>(&self, sharing: &Sharing<'a>, start: u64) -> Option<&'a OptionList> {
        sharing.opening.filter(|_| self.handshake.carries_keys(start))
    }

    /// Of a stream that is shared: which data these are.
    fn signal(&self, sharing: &Sharing<'_>, start: u64, len: u16, options: &mut OptionList) {
        let Some(mappings) = self.sender.mappings() else { return };
        if let Some(keys) = self.keys_of(sharing, start) {
            return mptcp::push_keyed(keys, len, options);
        }
        let (data, _) = mappings.locate(start).expect("what leaves was assigned");
        let fin = sharing.data_end == Some(data + len as u64);
        let number = narrow(data, sharing.numbers[0]);
        let mapping = Some((number, start as u32, len + u16::from(fin)));
        let ack = Some(narrow(sharing.data_ack, sharing.numbers[1]));
        Signal { ack, mapping, fin }.push(options);
    }

    /// Clear DF where routers may cut the packet. The host gives it the identification that this
    /// needs: identifications are the host's, not the path's (RFC 6864 section 4). With DF set, the
    /// one that the controller wants. With IPv6 a Fragment header is put in where the controller
    /// wants it, and only there.
    #[inline]
    pub(super) fn fragmentable(
        &self,
        cx: &Cx<'_>,
        packet: &mut Packet,
        arena: &mut Arena,
        ip: StampedIp,
    ) {
        let version = self.handshake.version();
        if version == IpVersion::V6 {
            if ip.has_fragment_header(version) {
                packet.add_fragment_header(ip.ip_id.unwrap_or(0), arena);
            }
        } else if !ip.dont_fragment.unwrap_or(cx.config.dont_fragment) {
            packet.set_dont_fragment(false);
        } else if let Some(ip_id) = ip.ip_id {
            packet.cold_mut(arena).ip_id = ip_id & 0xffff;
        }
    }

    /// A segment of this path from offset `start` on, with what rides on each segment.
    #[inline]
    fn packet(&mut self, cx: &Cx<'_>, start: u64, flags: TcpFlags, len: u16) -> Packet {
        let stamps = self.handshake.stamps(cx.config);
        let acks = flags.has(TcpFlags::ACK);
        let packet = self.handshake.segment(&self.receiver, cx.now, start, flags, len, stamps);
        if acks {
            self.note_ack();
        }
        packet
    }

    /// All data received so far is about to be acknowledged.
    #[inline]
    pub(super) fn note_ack(&mut self) {
        self.receiver.on_ack_sent();
        self.handshake.on_ack_sent();
    }

    fn after_send(&mut self, cx: &mut Cx<'_>, s: &Segment, index: usize, again: bool) {
        let Path { handshake, receiver, recovery, sender, .. } = self;
        sender.on_sent(cx.now, index, again, cx.counters);
        recovery.on_sent(cx.now, sender, s, index, again);
        if !again {
            recovery.rearm_probe(cx.now, sender, receiver, handshake.is_established());
        }
    }

    /// An ACK and nothing else.
    pub(super) fn make_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Packet {
        let mut flags = TcpFlags::ACK;
        if self.receiver.echoes_congestion() {
            flags = flags.with(TcpFlags::ECE);
        }
        let options = self.ack_options(cx);
        cx.counters.acks += 1;
        let mut packet = self.packet(cx, self.sender.nxt(), flags, 0);
        attach(&mut packet, &options, arena);
        if self.handshake.makes_all_ect() {
            packet.set_ecn(Ecn::Ect0);
        }
        self.fragmentable(cx, &mut packet, arena, StampedIp::default());
        packet
    }

    /// Options of an ACK: feedback first, the data acknowledgment of several paths, SACK blocks in
    /// what is left.
    pub(super) fn ack_options(&mut self, cx: &Cx<'_>) -> Option<OptionList> {
        let stamps = self.timestamp_bytes(cx);
        let Path { handshake, receiver, .. } = self;
        let no_sacks = receiver.has_no_sack_blocks() || !handshake.negotiated().sack;
        let feedback = receiver.has_feedback();
        if no_sacks && !feedback && cx.sharing.is_none() {
            return None;
        }
        let mut options = OptionList::EMPTY;
        if feedback {
            receiver.fill_feedback(cx.now, stamps, &mut options);
        }
        if let Some(sharing) = &cx.sharing {
            let signal = sharing.signal_of_ack();
            let room = MAX_OPTION_BYTES - options.len() - stamps;
            match sharing.opening {
                Some(opening) if opening.len() <= room => append(&mut options, opening),
                None if signal.len() <= room => signal.push(&mut options),
                _ => {}
            }
        }
        if !no_sacks {
            receiver.push_sacks(handshake.peer_isn(), stamps, &mut options);
        }
        Some(options)
    }

    /// One byte beyond a closed window (RFC 9293 section 3.8.6.1). It is not on the scoreboard: the
    /// peer may refuse it.
    pub(super) fn make_window_probe(&mut self, cx: &Cx<'_>, arena: &mut Arena) -> Packet {
        let (start, len) = self.sender.take_window_probe();
        let mut options = None;
        if let Some(sharing) = &cx.sharing {
            let list = options.get_or_insert_default();
            match len {
                0 => sharing.signal_of_ack().push(list),
                _ => self.signal(sharing, start, len, list),
            }
        }
        let mut packet = self.packet(cx, start, TcpFlags::ACK, len);
        attach(&mut packet, &options, arena);
        packet
    }
}

impl Sharing<'_> {
    /// What an ACK says of the stream.
    fn signal_of_ack(&self) -> Signal {
        let end = self.data_end.filter(|_| self.ends_alone);
        let mapping = end.map(|end| (narrow(end, self.numbers[0]), 0, 1));
        let ack = Some(narrow(self.data_ack, self.numbers[1]));
        Signal { ack, mapping, fin: mapping.is_some() }
    }
}

/// Put `options` on the packet. They fit: the caller has seen to that.
#[inline]
pub(super) fn attach(packet: &mut Packet, options: &Option<OptionList>, arena: &mut Arena) {
    if let Some(options) = options
        && !options.is_empty()
    {
        packet.set_tcp_options(*options, arena).expect("options were fitted before");
    }
}
