//! The packets of a path: what is written on them. Each part notes what left.

use super::scoreboard::{FIN, REPEATED, SYN, Segment};
use super::{Choice, Cx, Path, State};
use crate::options::{TIMESTAMP_BYTES, mptcp};
use forebay_base::{Arena, Ecn, IpVersion, MAX_OPTION_BYTES, OptionList, Packet, TcpFlags, narrow};
use forebay_cc::StampedIp;

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
        let stamp = self.sender.stamp(cx.now, wanted, (syn, again), &self.handshake);
        let mut options = syn.then(|| self.syn_options(cx.config));
        let header = (self.handshake.version(), self.handshake.stamps(cx.config));
        let len = self.sender.fit(header, &mut options, &stamp, (start, wanted), syn);
        let index = self.sender.record(cx.now, choice, len);
        if matches!(choice, Choice::Syn) {
            self.handshake.on_syn_sent();
        }
        let segment = *self.sender.board().get(index);
        let ip = stamp.ip();
        let packet = self.build(cx, arena, &segment, &mut options, ip);
        self.after_send(cx, (&segment, index), again);
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
        let Path { handshake, receiver, recovery, sender, .. } = self;
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
        } else if !syn && sender.is_shared() {
            self.signal(cx, s, options.get_or_insert_default());
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

    /// With several paths: which data these are.
    fn signal(&self, cx: &Cx<'_>, s: &Segment, options: &mut OptionList) {
        let Some(mappings) = self.sender.mappings() else { return };
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
        let packet = self.handshake.segment(&self.receiver, cx.now, (start, flags, len), stamps);
        if acks {
            self.note_ack();
        }
        packet
    }

    /// What is received so far is about to be acknowledged.
    #[inline]
    pub(super) fn note_ack(&mut self) {
        self.receiver.on_ack_sent();
        self.handshake.on_ack_sent();
    }

    fn after_send(&mut self, cx: &mut Cx<'_>, (s, index): (&Segment, usize), again: bool) {
        let Path { handshake, receiver, recovery, sender, .. } = self;
        sender.on_sent(cx.now, index, again, cx.counters);
        recovery.on_sent(cx.now, sender, (s, index), again);
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
        let Path { handshake, receiver, sender, .. } = self;
        let no_sacks = receiver.has_no_sack_blocks() || !handshake.negotiated().sack;
        let feedback = receiver.has_feedback();
        if no_sacks && !feedback && !sender.is_shared() {
            return None;
        }
        let mut options = OptionList::EMPTY;
        if feedback {
            receiver.fill_feedback(cx.now, stamps, &mut options);
        }
        if let Some(at) = cx.data_ack.filter(|_| sender.is_shared()) {
            let ack = Some(narrow(at, mptcp::DATA_ISN));
            if options.len() + 8 + TIMESTAMP_BYTES <= MAX_OPTION_BYTES {
                mptcp::Signal { ack, ..mptcp::Signal::default() }.push(&mut options);
            }
        }
        if !no_sacks {
            receiver.push_sacks(handshake.peer_isn(), stamps, &mut options);
        }
        Some(options)
    }

    /// One byte beyond a closed window (RFC 9293 section 3.8.6.1). It is not on the scoreboard: the
    /// peer may refuse it.
    pub(super) fn make_window_probe(&mut self, cx: &Cx<'_>) -> Packet {
        let (start, len) = self.sender.take_window_probe();
        self.packet(cx, start, TcpFlags::ACK, len)
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
