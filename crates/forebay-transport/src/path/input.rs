//! A segment of the path came.

use super::{Cx, MAX_OUTSTANDING_BYTES, Path, State};
use crate::recv::{Arrival, InOrderData};
use forebay_base::{Arena, Ecn, OptionList, Packet, TcpFlags, Time, narrow, seq_lt, widen};
use forebay_cc::{AckDemand, DatagramView, Feedback};

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
}

/// What the connection needs to know of it.
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
    /// None if the packet is not a TCP segment.
    #[inline]
    pub(crate) fn read(packet: &Packet) -> Option<Incoming> {
        let tcp = packet.tcp_fields()?;
        Some(Incoming {
            seq: tcp.seq,
            ack: tcp.ack,
            flags: tcp.flags,
            window: tcp.window,
            timestamps: tcp.timestamps,
            payload: packet.payload_len() as u64,
            ecn: packet.ecn(),
            wire_len: packet.wire_len(),
        })
    }
    fn is(&self, flag: TcpFlags) -> bool {
        self.flags.has(flag)
    }
    /// It acknowledges, and occupies no sequence number.
    fn is_pure_ack(&self) -> bool {
        self.is(TcpFlags::ACK)
            && self.payload == 0
            && !self.flags.has(TcpFlags(TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0))
    }
}

/// TCP options beside timestamps, if it has any.
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
        if self.state != State::Established {
            let listening = matches!(self.state, State::Listen | State::SynSent);
            if segment.is(TcpFlags::RST) {
                received.reset = !listening && self.reset_is_exact(segment)
                    || self.state == State::SynSent && self.refuses(segment);
                return received;
            }
            let go_on = self.on_handshake_segment(cx, segment, options);
            if self.state == State::SynReceived || self.state == State::Established {
                self.notify_feedback(cx.now, segment, options, false);
            }
            if !go_on {
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
        let Some(start) = widen(segment.seq, self.ids.peer_isn, self.recv.nxt()) else {
            return self.refuse(segment);
        };
        if start >= self.edge() && (segment.payload > 0 || start > self.edge()) {
            return self.refuse(segment); // beyond the window
        }
        if segment.flags.has(TcpFlags(TcpFlags::RST.0 | TcpFlags::SYN.0)) {
            if segment.is(TcpFlags::RST) && start == self.recv.nxt() {
                received.reset = true;
            } else {
                self.acks.demand(); // RFC 5961: a challenge ACK
            }
            return;
        }
        if !self.accept_timestamp(segment.timestamps, start) {
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
        self.on_acknowledgment(cx, segment, start, options);
        let fin = segment.is(TcpFlags::FIN);
        let mut in_order = false;
        if segment.payload > 0 || fin {
            let arrival = self.on_data(cx, segment, start, fin);
            received.accepted = !arrival.refused;
            received.refused = arrival.refused;
            received.in_order_bytes = arrival.in_order_bytes;
            in_order = arrival.in_order_bytes > 0;
        } else if start < self.recv.nxt() {
            self.acks.demand(); // a probe of the window, or of life
        }
        if !self.no_feedback {
            self.notify_feedback(cx.now, segment, options, in_order);
        }
    }

    /// Right edge of the window. With several paths the window is that of the stream (RFC 8684 section 3.3.1): a path takes
    /// all that it can number.
    fn edge(&self) -> u64 {
        let window = if self.mappings.is_some() { MAX_OUTSTANDING_BYTES } else { self.recv_window };
        self.recv.nxt() + window
    }
    fn reset_is_exact(&self, segment: &Incoming) -> bool {
        segment.seq == narrow(self.recv.nxt(), self.ids.peer_isn)
    }
    /// A RST that answers our SYN.
    fn refuses(&self, segment: &Incoming) -> bool {
        segment.is(TcpFlags::ACK) && widen(segment.ack, self.ids.isn, 0) == Some(1)
    }
    /// Not acceptable: say where we are (RFC 9293 section 3.10.7.4, first).
    fn refuse(&mut self, segment: &Incoming) {
        if !segment.is(TcpFlags::RST) {
            self.acks.demand();
        }
    }

    /// PAWS and TS.Recent (RFC 7323 sections 5.3 and 4.3). False if the segment is a ghost.
    #[inline]
    pub(super) fn accept_timestamp(&mut self, timestamps: Option<(u32, u32)>, start: u64) -> bool {
        if !self.negotiated.timestamps {
            return true;
        }
        let Some((value, _)) = timestamps else { return true };
        if seq_lt(value, self.ts_recent) {
            return false;
        }
        if start <= self.last_ack_sent {
            self.ts_recent = value;
        }
        true
    }

    /// True if a pure ACK with an old timestamp was overtaken by others, not left over from an earlier use of its sequence numbers:
    /// Linux, `tcp_disordered_ack`, with a replay window of 1.2 RTO. What it SACKs is news. Older ones say nothing: the rule of
    /// RFC 7323 section 5.3 R1, to answer, is left out for them, as in Linux for ACKs below RCV.NXT and by its rate limit
    /// (RFC 5961 section 7) for others. With reordering both ends would answer most ACKs.
    #[inline(never)]
    fn is_overtaken_ack(&self, segment: &Incoming, start: u64) -> bool {
        let Some((value, _)) = segment.timestamps else { return false };
        let replay_ms = self.rtt.rto().as_millis() * 6 / 5;
        start == self.recv.nxt()
            && segment.ack == narrow(self.board.una(), self.ids.isn)
            && segment.window == self.last_window
            && u64::from(self.ts_recent.wrapping_sub(value)) <= replay_ms
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, segment: &Incoming, start: u64, fin: bool) -> Arrival {
        let end = start + segment.payload + u64::from(fin);
        if fin && self.fin_received_at.is_none() && end <= self.edge() {
            self.fin_received_at = Some(end - 1);
        }
        if self.negotiated.ecn {
            // RFC 3168 section 6.1.3: CWR ends the echo, a mark on the same packet begins it anew.
            self.echo_congestion &= !segment.is(TcpFlags::CWR);
            self.echo_congestion |= segment.ecn == Ecn::Ce;
        }
        let arrival = self.recv.accept(start, end, self.edge());
        let expected = arrival.in_order_bytes > 0 && !arrival.filled && !arrival.beyond_window;
        if !expected || fin {
            self.acks.demand();
        } else if self.no_feedback || !self.feedback.clocks_acks() {
            if self.acks.watches_growth() {
                let echo_ms = segment.timestamps.map(|(_, echo)| echo);
                let data = InOrderData { bytes: segment.payload, nxt: self.recv.nxt(), echo_ms };
                self.acks.note_growth(cx.now, data);
            }
            self.acks.on_data(cx.now);
        }
        if arrival.duplicate {
            cx.counters.duplicates_received += u64::from(segment.payload > 0);
        }
        if self.stream_complete() && self.mappings.is_none() && self.board.nxt() == self.send_end {
            self.allow_fin(); // nothing more to send: close this side too
        }
        arrival
    }

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
            ecn: segment.ecn,
            options,
            in_order,
        };
        if self.feedback.on_datagram(now, &view) == AckDemand::Now {
            self.acks.demand();
        }
    }
}
