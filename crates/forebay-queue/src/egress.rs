//! The last stage of a port: what happens to a packet on its way to the transmitter.

use crate::pipeline::PortContext;
use crate::rcp;
use alloc::boxed::Box;
use forebay_base::{Packet, Rate};

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
    /// `packet` is next on the transmitter. `advertised` is what the meter of the port grants a flow now, if it measures that.
    fn leave(
        &mut self,
        packet: Packet,
        advertised: Option<Rate>,
        cx: &mut PortContext<'_>,
    ) -> Leaving;
}

/// The egress stages.
#[derive(Default)]
pub enum AnyEgress {
    /// Nothing happens.
    #[default]
    Plain,
    /// RCP: the packet's request is lowered to what the meter grants.
    RcpStamp,
    /// Brought from outside.
    Custom(Box<dyn Egress>),
}

impl Egress for AnyEgress {
    fn leave(
        &mut self,
        mut packet: Packet,
        advertised: Option<Rate>,
        cx: &mut PortContext<'_>,
    ) -> Leaving {
        match self {
            AnyEgress::Plain => Leaving::One(packet),
            AnyEgress::RcpStamp => {
                if let Some(rate) = advertised {
                    rcp::stamp(&mut packet, rate, cx.arena);
                }
                Leaving::One(packet)
            }
            AnyEgress::Custom(e) => e.leave(packet, advertised, cx),
        }
    }
}
