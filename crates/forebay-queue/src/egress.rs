//! The last stage of a port: what happens to a packet on its way to the transmitter.

use crate::pipeline::PortContext;
use alloc::boxed::Box;
use forebay_base::Packet;

/// What leaves for one packet: itself, or two packets that leave one right after the other.
#[derive(Debug)]
pub enum Leaving {
    /// One packet.
    One(Packet),
    /// Two packets, adjacent on the wire.
    Two(Packet, Packet),
}

/// Stamps (RCP), splits (Kick-Ass), strips a tag.
pub trait Egress: Send {
    /// `packet` is next on the transmitter.
    fn leave(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Leaving;
}

/// The egress stages.
#[derive(Default)]
pub enum AnyEgress {
    /// Nothing happens.
    #[default]
    Plain,
    /// Brought from outside.
    Custom(Box<dyn Egress>),
}

impl Egress for AnyEgress {
    fn leave(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Leaving {
        match self {
            AnyEgress::Plain => Leaving::One(packet),
            AnyEgress::Custom(e) => e.leave(packet, cx),
        }
    }
}
