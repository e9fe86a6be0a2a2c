//! The handshake of a path: who talks to whom, how far it is open, and what both ends agreed on.
//!
//! [`Handshake`] owns the addresses, the initial sequence numbers and the negotiated options. It
//! maps sequence numbers to offsets, and it writes the header of every segment.
//!
//! Invariants: the options are negotiated once, by the peer's SYN. `Dead` is final. Offset 0 is the
//! SYN of either end.

use super::input::Incoming;
use super::receiver::Receiver;
use super::{Cx, Identity, Path, State};
use crate::api::{PathSetup, Role};
use crate::config::TcpConfig;
use crate::options::{SynOptions, append, data_option_bytes, shift_for};
use alloc::boxed::Box;
use forebay_base::{
    Addr, Endpoint, IpVersion, OptionList, Packet, PortId, Span, TcpFields, TcpFlags, Time, narrow,
    widen,
};
use forebay_cc::{Controller, EcnPolicy};

/// MSS of a peer that announces none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: [u16; 2] = [536, 1220];
/// In each there is at most one challenge ACK: RFC 5961 section 7 asks for a limit; this is that of
/// Linux (`tcp_invalid_ratelimit`).
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);

/// The packet came from this address and port.
#[inline(always)]
pub(super) fn is_from(Endpoint { addr, port }: Endpoint, packet: &Packet) -> bool {
    packet.src() == addr && packet.ports().is_some_and(|(from, _)| from == port)
}

/// The half second of the last challenge ACK, and 1; 0: there was none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChallengeLimit(u32);

impl ChallengeLimit {
    /// See [`Handshake::may_challenge`].
    pub(super) fn may_challenge(&mut self, now: Time) -> bool {
        let current = (now.as_millis() / CHALLENGE_INTERVAL.as_millis()) as u32 + 1;
        let may = self.0 != current;
        self.0 = current;
        may
    }
}

/// What was negotiated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Negotiated {
    pub sack: bool,
    pub timestamps: bool,
    /// Before the peer's SYN came: what this end would use. None: marks are not used.
    pub ecn: Option<EcnPolicy>,
    /// Shift of the windows that the peer announces.
    pub peer_shift: u8,
    /// Shift of the windows that this end announces.
    pub own_shift: u8,
    /// Both sides scale their windows.
    pub scaled: bool,
}

/// Meaning of a segment for a path that is not established.
enum Opening {
    /// Nothing.
    Ignored,
    /// Server: the first SYN.
    Syn,
    /// Client: the answer to its SYN.
    SynAck,
    /// Server: the client has no answer yet.
    SynAgain,
    /// Server: the ACK of its SYN-ACK.
    Ack,
}

pub(super) struct Handshake {
    state: State,
    negotiated: Negotiated,
    version: IpVersion,
    role: Role,
    /// Client: its first bytes carry the keys of a shared stream.
    keyed: bool,
    /// A SYN or SYN-ACK is to be sent for the first time.
    syn_due: bool,
    /// The ACK that ends the handshake is to be sent, alone.
    ack_due: bool,
    /// A reset is to be sent.
    reset_due: bool,
    challenges: ChallengeLimit,
    /// The host port that the path leaves through.
    port: PortId,
    local: Endpoint,
    remote: Endpoint,
    isn: u32,
    peer_isn: u32,
    /// Server: options of the peer's SYN, until the handshake is over.
    peer_syn: Option<Box<OptionList>>,
}

impl Handshake {
    pub(super) fn new(
        setup: &PathSetup,
        Identity { role, version, index }: Identity,
        config: &TcpConfig,
    ) -> Handshake {
        let configured = config.ecn.then_some(EcnPolicy::Rfc3168);
        let ecn = setup.controller.traits().ecn_policy.or(configured);
        Handshake {
            state: if role == Role::Server { State::Listen } else { State::Closed },
            negotiated: Negotiated { ecn, ..Negotiated::default() },
            version,
            role,
            keyed: role == Role::Client && index == 0,
            syn_due: false,
            ack_due: false,
            reset_due: false,
            challenges: ChallengeLimit::default(),
            port: setup.port,
            local: setup.local,
            remote: setup.remote,
            isn: setup.isn,
            peer_isn: 0,
            peer_syn: None,
        }
    }
    pub(super) fn port(&self) -> PortId {
        self.port
    }
    /// Of this end and of the peer.
    #[inline]
    pub(super) fn addresses(&self) -> (Addr, Addr) {
        (self.local.addr, self.remote.addr)
    }
    /// This end, and the peer.
    pub(super) fn endpoints(&self) -> [Endpoint; 2] {
        [self.local, self.remote]
    }
    /// The packet came from the peer: from its address and its port.
    #[inline]
    pub(super) fn is_from_peer(&self, packet: &Packet) -> bool {
        is_from(self.remote, packet)
    }
    #[inline]
    pub(super) fn is_server(&self) -> bool {
        self.role == Role::Server
    }
    #[inline]
    pub(super) fn state(&self) -> State {
        self.state
    }
    #[inline]
    pub(super) fn is_established(&self) -> bool {
        self.state == State::Established
    }
    #[inline]
    pub(super) fn negotiated(&self) -> Negotiated {
        self.negotiated
    }
    #[inline]
    pub(super) fn version(&self) -> IpVersion {
        self.version
    }
    #[inline]
    pub(super) fn is_syn_due(&self) -> bool {
        self.syn_due
    }
    /// The next ACK leaves alone: it ends the handshake.
    pub(super) fn is_ack_due(&self) -> bool {
        self.ack_due
    }
    /// Established, nothing of the handshake is left to send, and no ECN bit is in use.
    pub(super) fn is_regular(&self) -> bool {
        self.is_established() && self.negotiated.ecn.is_none() && !self.ack_due && !self.syn_due
    }

    /// Sequence number on the wire of offset `at` of this end.
    #[inline]
    pub(super) fn own_seq(&self, at: u64) -> u32 {
        narrow(at, self.isn)
    }
    /// Sequence number on the wire of offset `at` of the peer.
    #[inline]
    pub(super) fn peer_seq(&self, at: u64) -> u32 {
        narrow(at, self.peer_isn)
    }
    /// Offset of this end that `seq` stands for, near `about`.
    #[inline]
    pub(super) fn own_offset(&self, seq: u32, about: u64) -> Option<u64> {
        widen(seq, self.isn, about)
    }
    /// Offset of the peer that `seq` stands for, near `about`.
    #[inline]
    pub(super) fn peer_offset(&self, seq: u32, about: u64) -> Option<u64> {
        widen(seq, self.peer_isn, about)
    }
    #[inline]
    pub(super) fn peer_isn(&self) -> u32 {
        self.peer_isn
    }
    /// The timestamps of a segment, where both ends agreed on them.
    #[inline]
    pub(super) fn timestamps_of(&self, timestamps: Option<(u32, u32)>) -> Option<(u32, u32)> {
        timestamps.filter(|_| self.negotiated.timestamps)
    }
    /// True if timestamps are on the packet: on a client's SYN as an offer, later once both ends
    /// agreed.
    pub(super) fn stamps(&self, config: &TcpConfig) -> bool {
        self.negotiated.timestamps || (self.state == State::SynSent && config.timestamps)
    }

    /// A segment of `len` bytes from offset `start` on. The only place where a header is built.
    #[inline(always)]
    pub(super) fn segment(
        &self,
        receiver: &Receiver,
        now: Time,
        start: u64,
        flags: TcpFlags,
        len: u16,
        timestamps: bool,
    ) -> Packet {
        let timestamps = timestamps.then(|| (now.as_millis() as u32, receiver.ts_recent()));
        let acks = flags.has(TcpFlags::ACK);
        let fields = TcpFields {
            seq: self.own_seq(start),
            ack: if acks { self.peer_seq(receiver.ack_number()) } else { 0 },
            flags,
            window: receiver.window_field(flags),
            timestamps,
        };
        let (local, remote) = (self.local, self.remote);
        // The compiler knows the lengths of the most frequent header.
        let mut packet = match (self.version, timestamps) {
            (IpVersion::V4, Some(_)) => Packet::tcp(IpVersion::V4, local, remote, fields, len),
            (version, _) => Packet::tcp(version, local, remote, fields, len),
        };
        if len > 0 {
            packet.set_left_host_at(now);
        }
        packet
    }

    /// Client: begin. False if it has begun before.
    fn open(&mut self) -> bool {
        let closed = self.state == State::Closed;
        if closed {
            self.state = State::SynSent;
            self.syn_due = true;
        }
        closed
    }
    /// The SYN or SYN-ACK left.
    pub(super) fn on_syn_sent(&mut self) {
        self.syn_due = false;
    }
    /// An ACK is to leave alone.
    pub(super) fn demand_ack(&mut self) {
        self.ack_due = true;
    }
    /// An ACK left.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        self.ack_due = false;
    }
    /// Nothing leaves any more.
    pub(super) fn kill(&mut self) {
        self.state = State::Dead;
    }
    /// Nothing leaves any more but a reset.
    pub(super) fn refuse(&mut self) {
        self.kill();
        self.reset_due = true;
    }
    /// A reset is due; it leaves now.
    pub(super) fn take_reset(&mut self) -> bool {
        core::mem::take(&mut self.reset_due)
    }
    /// The client's first bytes on the path that opens a shared stream: they carry its keys.
    pub(super) fn carries_keys(&self, start: u64) -> bool {
        start == 1 && self.keyed
    }
    /// A challenge ACK may be sent now. It then is.
    pub(super) fn may_challenge(&mut self, now: Time) -> bool {
        self.challenges.may_challenge(now)
    }
    /// Of the challenge ACKs so far.
    pub(super) fn challenges(&self) -> ChallengeLimit {
        self.challenges
    }
    /// The peer refuses this end's SYN, by a RST that acknowledges it.
    pub(super) fn refuses_syn(&self, segment: &Incoming) -> bool {
        self.state == State::SynSent
            && segment.is(TcpFlags::ACK)
            && self.own_offset(segment.ack, 0) == Some(1)
    }

    /// The options of this end's SYN or SYN-ACK: a SYN offers, a SYN-ACK accepts. `opening`: that
    /// of a stream that is shared.
    pub(super) fn syn_options(
        &self,
        config: &TcpConfig,
        mss: u16,
        opening: Option<&OptionList>,
    ) -> OptionList {
        let reply = self.role == Role::Server;
        let scaled = config.window_scaling && (!reply || self.negotiated.scaled);
        let syn = SynOptions {
            mss: Some(mss),
            sack: config.sack && (!reply || self.negotiated.sack),
            shift: scaled.then(|| shift_for(config.receive_buffer_bytes)),
        };
        let mut options = syn.write();
        if let Some(opening) = opening {
            append(&mut options, opening);
        }
        options
    }
    pub(super) fn syn_flags(&self) -> TcpFlags {
        let reply = self.role == Role::Server;
        let flags = if reply { TcpFlags::SYN.with(TcpFlags::ACK) } else { TcpFlags::SYN };
        match (reply, self.negotiated.ecn) {
            (_, None) => flags,
            (false, Some(_)) => flags.with(TcpFlags::ECE).with(TcpFlags::CWR),
            (true, Some(_)) => flags.with(TcpFlags::ECE),
        }
    }
    /// All packets are ECN-capable, the client's SYN before both ends agreed too.
    #[inline]
    pub(super) fn makes_all_ect(&self) -> bool {
        self.negotiated.ecn == Some(EcnPolicy::Rfc8257)
    }

    /// The peer's SYN settles what is in force from now on. Returns the MSS that it announces.
    fn negotiate(
        &mut self,
        config: &TcpConfig,
        segment: &Incoming,
        options: Option<&OptionList>,
    ) -> u16 {
        let peer = SynOptions::read(options);
        let scaled = config.window_scaling && peer.shift.is_some();
        self.negotiated = Negotiated {
            sack: config.sack && peer.sack,
            timestamps: config.timestamps && segment.timestamps.is_some(),
            ecn: self.negotiated.ecn.filter(|_| peer_speaks_ecn(segment.flags)),
            peer_shift: peer.shift.filter(|_| scaled).unwrap_or(0),
            own_shift: if scaled { shift_for(config.receive_buffer_bytes) } else { 0 },
            scaled,
        };
        self.peer_isn = segment.seq;
        peer.mss.unwrap_or(DEFAULT_MSS[usize::from(self.version == IpVersion::V6)])
    }

    /// Server: the options of the peer's SYN. A second one may offer less: what is not taken from
    /// it is not taken.
    fn note_peer_syn(&mut self, options: Option<&OptionList>) {
        self.peer_syn = options.map(|options| Box::new(*options));
    }

    /// Meaning of a segment before the handshake is over.
    fn read(&self, segment: &Incoming) -> Opening {
        let (syn, ack) = (segment.is(TcpFlags::SYN), segment.is(TcpFlags::ACK));
        match self.state {
            State::Listen if syn && !ack => Opening::Syn,
            State::SynSent if syn && ack && !self.syn_due => {
                let ours = self.own_offset(segment.ack, 0) == Some(1);
                if ours { Opening::SynAck } else { Opening::Ignored }
            }
            State::SynReceived if syn => Opening::SynAgain,
            State::SynReceived if ack => {
                let ours = self.own_offset(segment.ack, 1).is_some_and(|ack| ack > 0);
                if ours { Opening::Ack } else { Opening::Ignored }
            }
            _ => Opening::Ignored,
        }
    }
}

/// RFC 3168 section 6.1.1: both bits on a SYN, ECE alone on a SYN-ACK.
fn peer_speaks_ecn(flags: TcpFlags) -> bool {
    flags.has(TcpFlags::ECE) && (flags.has(TcpFlags::CWR) != flags.has(TcpFlags::ACK))
}

impl Path {
    /// Client: this path exchanges the keys of a shared stream.
    pub(crate) fn carry_keys(&mut self) {
        self.handshake.keyed = true;
    }
    /// Client: begin.
    pub(crate) fn open(&mut self, cx: &Cx<'_>) {
        if self.handshake.open() {
            self.receiver.offer_window(cx.config.receive_buffer_bytes, 0, 0);
        }
    }

    /// What the MSS option announces: the longest packet less the fixed headers. Options that data
    /// carries are not subtracted (RFC 6691 section 2): each sender subtracts its own. A peer whose
    /// data carries as many options as this end's has room for
    /// [`TcpConfig::mss_bytes`](crate::TcpConfig::mss_bytes).
    fn announced_mss(&self, config: &TcpConfig) -> u16 {
        let options = data_option_bytes(config.timestamps, self.sender.option_bytes());
        config.mss_bytes.saturating_add(options)
    }
    pub(super) fn syn_options(&self, cx: &Cx<'_>) -> OptionList {
        let mss = self.announced_mss(cx.config);
        let opening = cx.sharing.as_ref().and_then(|sharing| sharing.opening);
        self.handshake.syn_options(cx.config, mss, opening)
    }

    /// The peer's SYN came: give every part the negotiated settings.
    fn negotiate(&mut self, cx: &Cx<'_>, segment: &Incoming, options: Option<&OptionList>) {
        let config = cx.config;
        let peer_mss = self.handshake.negotiate(config, segment, options);
        let negotiated = self.handshake.negotiated();
        let segment_limit = peer_mss.min(self.announced_mss(config));
        self.sender.negotiate(negotiated, config.mss_bytes, segment_limit);
        self.recovery.negotiate(negotiated);
        self.recovery.adopt_policy(&self.sender, config);
        let most = if negotiated.scaled { u64::MAX } else { u16::MAX as u64 };
        let window = config.receive_buffer_bytes.min(most);
        let syn_shift = if config.scaled_syn_ack { negotiated.own_shift } else { 0 };
        self.receiver.offer_window(window, negotiated.own_shift, syn_shift);
        self.receiver.start(segment.timestamps.map_or(0, |(value, _)| value));
    }

    /// A segment came before the handshake is over. True if it is to be processed further.
    pub(super) fn on_handshake_segment(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        options: Option<&OptionList>,
    ) -> bool {
        match self.handshake.read(segment) {
            Opening::Ignored => false,
            Opening::Syn => {
                self.negotiate(cx, segment, options);
                self.handshake.note_peer_syn(options);
                self.handshake.state = State::SynReceived;
                self.handshake.syn_due = true;
                self.sender.set_first_window(segment.window, 0, 0);
                false
            }
            Opening::SynAck => {
                self.negotiate(cx, segment, options);
                let agreed = self.handshake.negotiated().peer_shift;
                let shift = if cx.config.scaled_syn_ack { agreed } else { 0 };
                self.sender.set_first_window(segment.window, 1, shift);
                self.establish(cx, segment, options);
                self.receiver.demand_ack();
                self.handshake.demand_ack();
                false
            }
            Opening::SynAgain => {
                self.handshake.note_peer_syn(options);
                self.sender.repeat_syn(); // the SYN-ACK was lost, or is late
                false
            }
            Opening::Ack => {
                let options = self.handshake.peer_syn.take();
                self.establish(cx, segment, options.as_deref());
                true
            }
        }
    }

    /// The peer acknowledged this end's SYN.
    fn establish(&mut self, cx: &mut Cx<'_>, segment: &Incoming, options: Option<&OptionList>) {
        let Path { handshake, sender, recovery, receiver, .. } = self;
        handshake.state = State::Established;
        let echo_ms = handshake.timestamps_of(segment.timestamps).map(|(_, echo)| echo);
        let syn = sender.pop_syn();
        recovery.on_established(cx.now, sender, syn, echo_ms);
        receiver.on_established(cx.now);
        sender.on_established(cx.now, &recovery.rtt().view(), options);
        recovery.adopt_policy(sender, cx.config);
    }
}
