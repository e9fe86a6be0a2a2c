//! The last ACK of a path that is over.

use super::Path;
use super::handshake::{ChallengeLimit, is_from};
use super::input::Incoming;
use super::receiver::echo_after;
use super::send::attach;
use crate::api::Counters;
use crate::config::TcpConfig;
use forebay_base::{
    Arena, Ecn, Endpoint, IpVersion, OptionList, Packet, TcpFields, TcpFlags, Time, kind, narrow,
    seq_lt, widen,
};
use forebay_cc::EcnPolicy;

/// What it takes to send that ACK again: a peer that has missed it asks for it.
#[derive(Clone, Debug)]
pub(crate) struct LastAck {
    version: IpVersion,
    local: Endpoint,
    remote: Endpoint,
    isn: u32,
    /// SND.NXT, all of which is acknowledged, as an offset.
    nxt: u64,
    ack: u32,
    window: u16,
    /// TS.Recent, where segments have timestamps.
    echo: Option<u32>,
    /// A duplicate to report (RFC 2883): from, and up to.
    duplicate: Option<(u32, u32)>,
    sack: bool,
    /// The policy in force, and ECE on what leaves.
    ecn: Option<EcnPolicy>,
    echoes_congestion: bool,
    dont_fragment: bool,
    challenges: ChallengeLimit,
    /// Largest window that the peer has announced.
    max_window_bytes: u32,
    is_due: bool,
    /// The peer has reset the connection: it has no more to say.
    is_reset: bool,
}

impl Path {
    /// See [`LastAck`].
    pub(crate) fn last_ack(&self, config: &TcpConfig) -> LastAck {
        let Path { handshake, receiver, sender, .. } = self;
        let [local, remote] = handshake.endpoints();
        LastAck {
            version: handshake.version(),
            local,
            remote,
            isn: handshake.own_seq(0),
            nxt: sender.nxt(),
            ack: handshake.peer_seq(receiver.ack_number()),
            window: receiver.window_field(TcpFlags::ACK),
            echo: handshake.stamps(config).then(|| receiver.ts_recent()),
            duplicate: None,
            sack: handshake.negotiated().sack,
            ecn: handshake.negotiated().ecn,
            echoes_congestion: receiver.echoes_congestion(),
            dont_fragment: config.dont_fragment,
            challenges: handshake.challenges(),
            max_window_bytes: sender.max_window_bytes() as u32,
            is_due: false,
            is_reset: false,
        }
    }
}

impl LastAck {
    /// The packet came from the peer.
    pub(crate) fn is_from_peer(&self, packet: &Packet) -> bool {
        is_from(self.remote, packet)
    }
    /// Offset of a segment of this end, near `about`.
    pub(crate) fn own_offset(&self, seq: u32, about: u64) -> Option<u64> {
        widen(seq, self.isn, about)
    }
    /// A segment came: what [`Path::on_segment`] makes of it, where nothing new can come. Counts
    /// duplicates and marks.
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Incoming, counters: &mut Counters) {
        if self.is_reset {
            return;
        }
        if segment.is(TcpFlags(TcpFlags::RST.0 | TcpFlags::SYN.0)) {
            let exact = segment.is(TcpFlags::RST) && segment.seq == self.ack;
            self.is_reset = exact;
            return if exact { self.is_due = false } else { self.challenge(now) };
        }
        let len = segment.payload as u32 + u32::from(segment.is(TcpFlags::FIN));
        if !self.accept_timestamp(segment) {
            counters.duplicates_received += u64::from(segment.payload > 0);
            self.is_due |= !segment.is(TcpFlags::ACK) || len > 0; // no ACK answers an ACK
        } else if !segment.is(TcpFlags::ACK) {
            self.is_due = true;
        } else if !self.can_acknowledge(segment.ack) {
            self.challenge(now);
        } else if len > 0 {
            counters.duplicates_received += u64::from(segment.payload > 0);
            self.note_mark(segment, counters);
            self.duplicate = Some((segment.seq, segment.seq.wrapping_add(len)));
            self.is_due = true;
        } else {
            self.is_due |= seq_lt(segment.seq, self.ack); // a probe of life
        }
    }
    fn challenge(&mut self, now: Time) {
        self.is_due |= self.challenges.may_challenge(now);
    }
    fn accept_timestamp(&mut self, segment: &Incoming) -> bool {
        let (Some(recent), Some((value, _))) = (&mut self.echo, segment.timestamps) else {
            return true;
        };
        let is_old = seq_lt(value, *recent);
        if !is_old && segment.seq == self.ack {
            *recent = value;
        }
        !is_old
    }
    /// It is of something that was sent, and not older than any window.
    fn can_acknowledge(&self, ack: u32) -> bool {
        let known = self.own_offset(ack, self.nxt).and_then(|ack| self.nxt.checked_sub(ack));
        known.is_some_and(|before| before <= self.max_window_bytes.into())
    }
    fn note_mark(&mut self, segment: &Incoming, counters: &mut Counters) {
        let Some(policy) = self.ecn else { return };
        counters.ce_received += u64::from(segment.ecn == Ecn::Ce);
        self.echoes_congestion = echo_after(policy, self.echoes_congestion, segment);
    }
    /// It is to be sent.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }
    /// The ACK, with the time of day.
    pub(crate) fn packet(&mut self, now: Time, arena: &mut Arena) -> Packet {
        self.is_due = false;
        let echo = if self.echoes_congestion { TcpFlags::ECE } else { TcpFlags::default() };
        let fields = TcpFields {
            seq: narrow(self.nxt, self.isn),
            ack: self.ack,
            flags: TcpFlags::ACK.with(echo),
            window: self.window,
            timestamps: self.echo.map(|echo| (now.as_millis() as u32, echo)),
        };
        let mut packet = Packet::tcp(self.version, self.local, self.remote, fields, 0);
        let options = self.duplicate.take().filter(|_| self.sack).map(|(from, to)| {
            let mut options = OptionList::EMPTY;
            let block = [from.to_be_bytes(), to.to_be_bytes()].concat();
            options.push(kind::SACK, &block).expect("one block fits");
            options
        });
        attach(&mut packet, &options, arena);
        if self.ecn == Some(EcnPolicy::Rfc8257) {
            packet.set_ecn(Ecn::Ect0);
        }
        if self.version == IpVersion::V4 && !self.dont_fragment {
            packet.set_dont_fragment(false);
        }
        packet
    }
}
