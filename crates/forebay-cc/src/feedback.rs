//! The receiver half of a congestion control: what it measures, and what it tells back on ACKs.

use forebay_base::{Ecn, OptionList, Time};

/// One IP packet came, before reassembly: a whole datagram or a piece of one.
#[derive(Clone, Copy, Debug)]
pub struct PieceView {
    /// Length on the wire, IP header included, in bytes.
    pub wire_len: u16,
    /// Offset in its datagram in bytes; 0 for a whole datagram.
    pub offset: u16,
    /// True if pieces follow.
    pub more: bool,
    /// ECN field.
    pub ecn: Ecn,
}

/// One datagram came, whole or put together again.
#[derive(Clone, Copy, Debug)]
pub struct DatagramView<'a> {
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Length on the wire, as sent.
    pub wire_len: u16,
    /// ECN field, congestion experienced if any piece had it.
    pub ecn: Ecn,
    /// TCP options beside timestamps.
    pub options: Option<&'a OptionList>,
    /// True if it brought the next bytes in order.
    pub in_order: bool,
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
    /// An IP packet of the path came, whole or a piece.
    fn on_piece(&mut self, _now: Time, _piece: &PieceView) {}
    /// A datagram of the path is complete.
    fn on_datagram(&mut self, _now: Time, _datagram: &DatagramView<'_>) -> AckDemand {
        AckDemand::Policy
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
