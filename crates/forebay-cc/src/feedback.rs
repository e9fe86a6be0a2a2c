//! The receiver half of a congestion control: what it measures, and what it feeds back on ACKs.

use forebay_base::{Ecn, OptionList, Time};

/// One IP packet came, before reassembly: a whole datagram or a fragment of one.
#[derive(Clone, Copy, Debug)]
pub struct PieceView {
    /// Length on the wire, IP header included, in bytes.
    pub wire_len: u16,
    /// Bytes after the IP header with its options or its Fragment header.
    pub payload_bytes: u16,
    /// Offset in its datagram in bytes; 0 for a whole datagram.
    pub offset: u16,
    /// True if fragments follow.
    pub more: bool,
    /// True if routers must not cut it. What comes whole with this clear could have been cut.
    pub dont_fragment: bool,
    /// Identification: the same in all fragments of a datagram. Of no meaning where routers must
    /// not cut (RFC 6864 section 4.1).
    pub ip_id: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// How its TCP header begins; None if it holds less than these 8 bytes.
    pub head: Option<TcpHead>,
}

impl PieceView {
    /// It is a whole datagram.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.offset == 0 && !self.more
    }
    /// It is the first of the fragments of a datagram.
    #[inline]
    pub fn is_leading(&self) -> bool {
        self.offset == 0 && self.more
    }
}

/// The first 8 bytes of a TCP header (RFC 9293 section 3.1). No checksum covers them before the
/// datagram is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHead {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of its first payload byte, or of its SYN.
    pub seq: u32,
}

/// One segment of the path was accepted: a datagram that came whole or was reassembled. SYN,
/// pure ACKs and what came before count as well; what the window, PAWS or RFC 5961 refuse does not.
#[derive(Clone, Copy, Debug)]
pub struct DatagramView<'a> {
    /// Payload bytes; 0 for a pure ACK.
    pub payload_bytes: u32,
    /// Length of the datagram in bytes, IP header included, as its sender made it. Where a router
    /// has cut it, the fragments that came are 20 bytes longer for each cut, 48 with IPv6:
    /// [`Feedback::on_piece`] sees those.
    pub wire_len: u16,
    /// Packets that it came in: 1 if it came whole.
    pub pieces: u16,
    /// True if routers must not cut it. What comes whole with this clear could have been cut.
    pub dont_fragment: bool,
    /// Identification, as in [`PieceView::ip_id`].
    pub ip_id: u32,
    /// ECN field, congestion experienced if any fragment had it.
    pub ecn: Ecn,
    /// TCP options other than timestamps.
    pub options: Option<&'a OptionList>,
    /// True if it brought the next bytes in order. False for what fills no gap at the front, for
    /// what is known already, and where there is no payload.
    pub in_order: bool,
}

impl DatagramView<'_> {
    /// No router cut it.
    #[inline]
    pub fn came_whole(&self) -> bool {
        self.pieces == 1
    }
}

/// Whether an ACK must leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckDemand {
    /// The ACK policy decides.
    Policy,
    /// Now.
    Now,
}

/// The receiver half of a congestion control, one per path.
pub trait Feedback: Send {
    /// False if [`Feedback::on_piece`] does nothing: it need not be called. Never changes.
    fn wants_pieces(&self) -> bool {
        true
    }
    /// An IP packet of the path came, whole or a fragment.
    fn on_piece(&mut self, _now: Time, _piece: &PieceView) {}
    /// True if it demands an ACK for each packet as a rule, whatever the ACK policy is: what models
    /// of the path go by. Never changes.
    fn demands_acks(&self) -> bool {
        false
    }
    /// A datagram of the path is complete.
    fn on_datagram(&mut self, _now: Time, _datagram: &DatagramView<'_>) -> AckDemand {
        AckDemand::Policy
    }
    /// True if an ACK follows the SYN-ACK at once where the window is larger than that can say: the
    /// window of a SYN-ACK is not scaled (RFC 7323 section 2.2), that of the ACK is. Asked once.
    fn widens_window(&self) -> bool {
        false
    }
    /// True if ACKs of data that come in order are this machine's business: the ACK policy is not
    /// asked, and one leaves when this demands it. What TCP owes at once (a duplicate, a gap that
    /// is filled, a probe, a FIN) leaves all the same.
    fn clocks_acks(&self) -> bool {
        false
    }
    /// ACKs for each packet that comes in order, each for a part of it. More than one is an attack
    /// on senders that count ACKs (RFC 3465 section 2.2).
    fn ack_parts(&self) -> u8 {
        1
    }
    /// False where the network serves retransmissions before what the flow sent seconds earlier:
    /// PAWS (RFC 7323 section 5) would take all of that for old duplicates. Asked for segments
    /// alone whose timestamp is older than TS.Recent.
    fn wants_paws(&self) -> bool {
        true
    }
    /// Add options to the ACK that is about to leave. `options` holds what is there already (SACK
    /// goes in after this).
    fn fill(&mut self, _now: Time, _options: &mut OptionList) {}
    /// When `on_timer` is due.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// The time asked for has come. Early calls do nothing.
    fn on_timer(&mut self, _now: Time) -> AckDemand {
        AckDemand::Policy
    }
}
