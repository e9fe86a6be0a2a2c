//! What an attacker on a link has recorded: packets with a signal of an INRPP router.

use alloc::collections::VecDeque;
use forebay_base::{Arena, Endpoint, IpVersion, OptionList, Packet, TcpFields, Time};
use forebay_signal::inrpp::{BackPressureSignal, Found, Notice, find_all};

/// Most packets that are kept: the oldest go first.
const MAX_PACKETS: usize = 1 << 16;

/// Packets with a signal, in order of time.
#[derive(Default)]
pub(crate) struct Recording(VecDeque<Recorded>);

/// A packet, as far as a copy needs it.
struct Recorded {
    at: Time,
    version: IpVersion,
    /// Source and destination.
    ends: [Endpoint; 2],
    fields: TcpFields,
    options: OptionList,
    payload_bytes: u16,
    ask: BackPressureSignal,
}

impl Recording {
    /// Keep `packet`, which passes at `now`, if it carries a signal.
    pub fn look(&mut self, now: Time, packet: &Packet, arena: &Arena) {
        let Some(cold) = packet.cold_part(arena) else { return };
        let Found { back_pressure, notice, .. } = find_all(&cold.tcp_options);
        let signal = notice.map(|Notice(signal)| signal).or(back_pressure);
        let (Some(signal), Some(fields), Some((src, dst))) =
            (signal, packet.tcp_fields(), packet.ports())
        else {
            return;
        };
        if self.0.len() == MAX_PACKETS {
            self.0.pop_front();
        }
        let end = |addr, port| Endpoint { addr, port };
        self.0.push_back(Recorded {
            at: now,
            version: packet.version(),
            ends: [end(packet.src(), src), end(packet.dst(), dst)],
            fields,
            options: cold.tcp_options,
            payload_bytes: packet.payload_len(),
            ask: signal.ask,
        });
    }
    /// A copy of the last packet between these ends, in either direction, that has asked for `ask`
    /// at `latest` or before.
    pub fn copy(
        &self,
        latest: Time,
        ends: [Endpoint; 2],
        ask: BackPressureSignal,
        arena: &mut Arena,
    ) -> Option<Packet> {
        let old = self.0.partition_point(|recorded| recorded.at <= latest);
        let [a, b] = ends;
        let fits = |one: &&Recorded| one.ask == ask && (one.ends == [a, b] || one.ends == [b, a]);
        let Recorded { version, ends: [src, dst], fields, options, payload_bytes, .. } =
            self.0.range(..old).rev().find(fits)?;
        let mut packet = Packet::tcp(*version, *src, *dst, *fields, *payload_bytes);
        packet.set_tcp_options(*options, arena).expect("they fitted once");
        Some(packet)
    }
}
