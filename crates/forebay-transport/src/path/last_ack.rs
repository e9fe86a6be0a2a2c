//! The last ACK of a path that is over.

use super::Path;
use super::input::Incoming;
use super::send::attach;
use crate::config::TcpConfig;
use forebay_base::{
    Arena, Ecn, Endpoint, IpVersion, OptionList, Packet, TcpFields, TcpFlags, Time, kind, seq_lt,
    widen,
};

/// What it takes to send that ACK again: a peer that has missed it asks for it.
#[derive(Clone, Debug)]
pub(crate) struct LastAck {
    version: IpVersion,
    local: Endpoint,
    remote: Endpoint,
    isn: u32,
    seq: u32,
    ack: u32,
    window: u16,
    /// TS.Recent, where segments have timestamps.
    echo: Option<u32>,
    /// A duplicate to report (RFC 2883): from, and up to.
    duplicate: Option<(u32, u32)>,
    sack: bool,
    ect: bool,
    dont_fragment: bool,
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
            seq: handshake.own_seq(sender.nxt()),
            ack: handshake.peer_seq(receiver.ack_number()),
            window: receiver.window_field(TcpFlags::ACK),
            echo: handshake.stamps(config).then(|| receiver.ts_recent()),
            duplicate: None,
            sack: handshake.negotiated().sack,
            ect: handshake.makes_all_ect(),
            dont_fragment: config.dont_fragment,
        }
    }
}

impl LastAck {
    /// It is for whoever sent `packet`.
    pub(crate) fn is_for_sender_of(&self, packet: &Packet) -> bool {
        let Endpoint { addr, port } = self.remote;
        packet.src() == addr && packet.ports().is_some_and(|(from, _)| from == port)
    }
    /// Offset of a segment of this end, near `about`.
    pub(crate) fn own_offset(&self, seq: u32, about: u64) -> Option<u64> {
        widen(seq, self.isn, about)
    }
    /// A segment came again. PAWS comes before the report of it (RFC 7323 section 5.3).
    pub(crate) fn note_duplicate(&mut self, segment: &Incoming) {
        let stamps = self.echo.zip(segment.timestamps);
        let is_old = stamps.is_some_and(|(recent, (value, _))| seq_lt(value, recent));
        let len = segment.payload as u32 + u32::from(segment.is(TcpFlags::FIN));
        if self.sack && !is_old && len > 0 {
            self.duplicate = Some((segment.seq, segment.seq.wrapping_add(len)));
        }
    }
    /// The ACK, with the time of day.
    pub(crate) fn packet(&mut self, now: Time, arena: &mut Arena) -> Packet {
        let fields = TcpFields {
            seq: self.seq,
            ack: self.ack,
            flags: TcpFlags::ACK,
            window: self.window,
            timestamps: self.echo.map(|echo| (now.as_millis() as u32, echo)),
        };
        let mut packet = Packet::tcp(self.version, self.local, self.remote, fields, 0);
        let options = self.duplicate.take().map(|(from, to)| {
            let mut options = OptionList::EMPTY;
            let block = [from.to_be_bytes(), to.to_be_bytes()].concat();
            options.push(kind::SACK, &block).expect("one block fits");
            options
        });
        attach(&mut packet, &options, arena);
        if self.ect {
            packet.set_ecn(Ecn::Ect0);
        }
        if self.version == IpVersion::V4 && !self.dont_fragment {
            packet.set_dont_fragment(false);
        }
        packet
    }
}
