//! Opening a path: SYN, SYN-ACK, ACK, and what they negotiate.

use super::input::Incoming;
use super::scoreboard::REPEATED;
use super::{Cx, Negotiated, Path, State};
use crate::options::{SynOptions, data_option_bytes, mptcp, shift_for};
use alloc::boxed::Box;
use forebay_base::{IpVersion, OptionList, Span, TcpFlags, seq_lt, widen};
use forebay_cc::Controller;

/// What a peer takes that announces no MSS (RFC 9293 section 3.7.1).
const DEFAULT_MSS: [u16; 2] = [536, 1220];

impl Path {
    /// Client: begin.
    pub(crate) fn open(&mut self, cx: &Cx<'_>) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.syn_due = true;
            self.offer_window(cx.config.receive_buffer_bytes);
        }
    }

    /// What the MSS option announces: the longest packet less the fixed headers, so options that data
    /// carries are not subtracted (RFC 6691 section 2). Each sender takes off its own. A peer whose data carries
    /// as many options as this side's finds room for [`TcpConfig::mss_bytes`](crate::TcpConfig::mss_bytes).
    fn announced_mss(&self, cx: &Cx<'_>) -> u16 {
        let options = data_option_bytes(cx.config.timestamps, self.controller.option_bytes());
        cx.config.mss_bytes.saturating_add(options)
    }

    /// The options of this side's SYN or SYN-ACK: a SYN offers, a SYN-ACK accepts.
    pub(super) fn syn_options(&self, cx: &Cx<'_>) -> OptionList {
        let config = cx.config;
        let reply = self.ids.role == crate::connection::Role::Server;
        let scaled = config.window_scaling && (!reply || self.negotiated.scaled);
        let syn = SynOptions {
            mss: Some(self.announced_mss(cx)),
            sack: config.sack && (!reply || self.negotiated.sack),
            shift: scaled.then(|| shift_for(config.receive_buffer_bytes)),
        };
        let mut options = syn.write();
        if self.mappings.is_some() {
            mptcp::push_syn(&mut options, self.ids.index == 0, reply);
        }
        options
    }
    pub(super) fn syn_flags(&self, cx: &Cx<'_>) -> TcpFlags {
        let reply = self.ids.role == crate::connection::Role::Server;
        let flags = if reply { TcpFlags::SYN.with(TcpFlags::ACK) } else { TcpFlags::SYN };
        match (reply, cx.config.ecn, self.negotiated.ecn) {
            (false, true, _) => flags.with(TcpFlags::ECE).with(TcpFlags::CWR),
            (true, _, true) => flags.with(TcpFlags::ECE),
            _ => flags,
        }
    }
    /// Timestamps are on the packet: offered by a client's SYN, used once both sides agreed.
    pub(super) fn stamps(&self, cx: &Cx<'_>) -> bool {
        self.negotiated.timestamps || (self.state == State::SynSent && cx.config.timestamps)
    }

    /// The peer's SYN says what is in force from now on.
    fn negotiate(&mut self, cx: &Cx<'_>, segment: &Incoming, options: Option<&OptionList>) {
        let config = cx.config;
        let peer = SynOptions::read(options);
        let scaled = config.window_scaling && peer.shift.is_some();
        self.negotiated = Negotiated {
            sack: config.sack && peer.sack,
            timestamps: config.timestamps && segment.timestamps.is_some(),
            ecn: config.ecn && self.peer_speaks_ecn(segment.flags),
            peer_shift: peer.shift.filter(|_| scaled).unwrap_or(0),
            own_shift: if scaled { shift_for(config.receive_buffer_bytes) } else { 0 },
            scaled,
        };
        let most = if scaled { u64::MAX } else { u16::MAX as u64 };
        self.offer_window(config.receive_buffer_bytes.min(most));
        let default = DEFAULT_MSS[usize::from(self.ids.version == IpVersion::V6)];
        self.segment_limit = peer.mss.unwrap_or(default).min(self.announced_mss(cx));
        let used = data_option_bytes(self.negotiated.timestamps, self.controller.option_bytes());
        self.mss = config.mss_bytes.min(self.segment_limit.saturating_sub(used)).max(1);
        self.payload_limit = self.mss;
        self.adopt_policy(cx.config);
        self.ts_recent = segment.timestamps.map_or(0, |(value, _)| value);
        self.ids.peer_isn = segment.seq;
        self.recv.start(1);
        self.last_ack_sent = 1;
    }
    fn peer_speaks_ecn(&self, flags: TcpFlags) -> bool {
        // RFC 3168 section 6.1.1: both bits on a SYN, ECE alone on a SYN-ACK.
        flags.has(TcpFlags::ECE) && (flags.has(TcpFlags::CWR) != flags.has(TcpFlags::ACK))
    }

    /// A segment came before the handshake is over. True if it is to be processed further.
    pub(super) fn on_handshake_segment(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        options: Option<&OptionList>,
    ) -> bool {
        let flags = segment.flags;
        let syn = flags.has(TcpFlags::SYN);
        match self.state {
            State::Listen if syn && !flags.has(TcpFlags::ACK) => {
                self.negotiate(cx, segment, options);
                self.peer_syn = options.map(|o| Box::new(*o));
                self.set_first_window(segment.window as u64, 0);
                self.state = State::SynReceived;
                self.syn_due = true;
                false
            }
            State::SynSent if syn && flags.has(TcpFlags::ACK) => {
                if widen(segment.ack, self.ids.isn, 0) == Some(1) && !self.syn_due {
                    self.negotiate(cx, segment, options);
                    self.set_first_window(segment.window as u64, 1);
                    self.establish(cx, segment, options);
                    self.acks.demand();
                    self.handshake_ack = true;
                }
                false
            }
            State::SynReceived if syn => {
                // The SYN-ACK was lost, or is late: answer again.
                if !self.board.is_empty() && self.board.lost_segments() == 0 {
                    self.board.mark_lost(0);
                }
                false
            }
            State::SynReceived if flags.has(TcpFlags::ACK) => {
                if widen(segment.ack, self.ids.isn, 1).is_none_or(|ack| ack == 0) {
                    return false;
                }
                let options = self.peer_syn.take();
                self.establish(cx, segment, options.as_deref());
                true
            }
            _ => false,
        }
    }

    /// The peer acknowledged this side's SYN.
    fn establish(&mut self, cx: &mut Cx<'_>, segment: &Incoming, options: Option<&OptionList>) {
        self.state = State::Established;
        let mut syn_lost = self.retries > 0;
        if let Some((syn, _)) = self.board.pop_acked(1) {
            self.board.advance(1);
            let echo =
                segment.timestamps.map(|(_, echo)| echo).filter(|_| self.negotiated.timestamps);
            let sent_ms = syn.sent_at.as_millis() as u32;
            match echo {
                _ if !syn.is(REPEATED) => self.take_sample(cx.now.since(syn.sent_at)),
                // Circular: the clock of timestamps wraps after 49.7 days (RFC 7323 section 5.4).
                Some(echo) if !seq_lt(echo, sent_ms) => {
                    self.take_sample(cx.now.since(syn.sent_at));
                }
                // An earlier SYN is answered: it was late, not lost (RFC 7323 section 4.1, RFC 3522).
                Some(echo) => {
                    let elapsed_ms = (cx.now.as_millis() as u32).wrapping_sub(echo);
                    self.take_sample(Span::from_millis(elapsed_ms.into()));
                    syn_lost = false;
                }
                None => {}
            }
        }
        if syn_lost {
            self.rtt.after_syn_loss();
            self.syn_loss_window = self.mss();
        }
        self.rtt.collapse();
        self.retries = 0;
        self.rearm_rto(cx.now);
        self.acks.begin(cx.now);
        self.controller.on_established(cx.now, &self.rtt.view(), options);
        self.adopt_policy(cx.config);
    }

    /// Offer a window of `bytes`.
    fn offer_window(&mut self, bytes: u64) {
        self.recv_window = bytes;
        self.announced = (bytes >> self.negotiated.own_shift).min(u16::MAX as u64) as u16;
    }
    /// The first window that the peer announces, never scaled.
    fn set_first_window(&mut self, window: u64, una: u64) {
        self.peer_edge = una.max(1) + window;
        self.last_window = window as u16;
    }
}
