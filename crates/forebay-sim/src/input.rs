//! What wires bring to a place, with the time at which it is executed.

use forebay_base::{LinkId, Time};

/// An input of a [`Site`](crate::Site).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// When it was executed: what [`Site::push`](crate::Site::push) or
    /// [`Site::push_carrier`](crate::Site::push_carrier) gave.
    pub at: Time,
    /// The link over which a packet came, or whose wire it is.
    pub link: LinkId,
    /// What happened.
    pub event: InputEvent,
}

/// What happened at a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputEvent {
    /// It brought this packet, from its IP header on.
    Packet(Vec<u8>),
    /// The carrier of the wire that the link leaves over is back (true), or lost.
    Carrier(bool),
}
