//! What a router reads on a packet.

use forebay_base::{Arena, Kind, Packet};
use forebay_signal::inrpp::{BackPressure, DetourTag, Echo, Found, Notice, find_all};

/// What a packet carries for INRPP.
#[derive(Clone, Copy)]
pub(super) struct Signals {
    pub back_pressure: Option<BackPressure>,
    /// That of a packet with a notice is empty: no router holds it for another one.
    pub echo: Option<Echo>,
    pub notice: Option<Notice>,
    pub tag: Option<DetourTag>,
}

impl Signals {
    pub const NONE: Signals = Signals { back_pressure: None, echo: None, notice: None, tag: None };

    #[inline(always)] // what is not looked at is not made
    pub fn of(packet: &Packet, arena: &Arena) -> Signals {
        let Some(cold) = packet.cold_part(arena) else { return Signals::NONE };
        if packet.kind() != Kind::Tcp {
            return Signals::NONE;
        }
        let Found { back_pressure, echo, notice } = find_all(&cold.tcp_options);
        let echo = if notice.is_some() { Some(Echo(None)) } else { echo };
        let tagged = !cold.ip_options.is_empty();
        let tag = if tagged { DetourTag::find(&cold.ip_options) } else { None };
        Signals { back_pressure, echo, notice, tag }
    }
}
