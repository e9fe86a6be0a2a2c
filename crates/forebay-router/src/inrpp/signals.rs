//! What a router reads on a packet, and the tag of detours that it writes.

use forebay_base::{Arena, Cold, IpVersion, Kind, MAX_OPTION_BYTES, OptionList, Packet};
use forebay_signal::inrpp::{
    BackPressure, DETOUR_KIND, DETOUR_TAG_BYTES, DetourTag, Echo, Found, Notice, find_all,
};

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

/// The data that an ACK acknowledges come from a router without INRPP.
#[inline(never)]
pub(super) fn note_foreign(packet: &mut Packet, arena: &mut Arena) {
    let options = &mut packet.cold_mut(arena).tcp_options;
    if let Some(option) = BackPressure::find(options) {
        BackPressure { foreign: true, ..option }.overwrite(options);
    }
}

/// Put the tag on, replace it, or take it off.
pub(super) fn set_tag(packet: &mut Packet, tag: Option<DetourTag>, arena: &mut Arena) {
    let mut options = packet.cold_part(arena).map_or(OptionList::EMPTY, without_tag);
    if let Some(tag) = tag {
        tag.push(&mut options).expect("only what has room for a tag gets one");
    }
    packet.set_ip_options(options, arena).expect("tagged packets are IPv4 and TCP");
}

/// The IP options that are no tag.
#[inline]
fn without_tag(cold: &Cold) -> OptionList {
    let mut options = OptionList::EMPTY;
    // Nearly always there are none.
    let tag_alone =
        |bytes: &[u8]| bytes[0] == DETOUR_KIND && bytes[1..].first() == Some(&(bytes.len() as u8));
    let bytes = cold.ip_options.as_bytes();
    if bytes.is_empty() || tag_alone(bytes) {
        return options;
    }
    for option in cold.ip_options.iter().filter(|option| option.kind != DETOUR_KIND) {
        options.push(option.kind, option.data).expect("they were there before");
    }
    options
}

/// True if `packet` can be sent on a detour: IPv6 has no such options, and foreign ones may fill
/// those of IPv4.
#[inline]
pub(super) fn has_room_for_tag(packet: &Packet, arena: &Arena) -> bool {
    let used = packet.cold_part(arena).map_or(0, |cold| cold.ip_options.len());
    packet.version() == IpVersion::V4 && used + DETOUR_TAG_BYTES as usize <= MAX_OPTION_BYTES
}
