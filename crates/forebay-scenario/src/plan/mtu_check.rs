//! Whether a full-sized packet passes every link and fits every queue: if not, a flow would stall
//! for ever.

use crate::LinkDirection;
use crate::Scenario;
use crate::format::error::Problem;
use crate::format::faults::Faults;
use crate::format::fields::Spanned;
use crate::keys::file::File;
use crate::resolve::tcp::TCP_HEADER_BYTES;
use crate::resolve::topology::Topology;
use forebay_base::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, IpVersion};
use forebay_transport::TcpConfig;

/// Every IPv6 link carries packets of this length (RFC 8200 section 5), in bytes.
const MIN_IPV6_MTU_BYTES: u16 = 1280;

/// A full-sized packet of one protocol.
struct FullPacket<'a> {
    protocol: &'a str,
    bytes: u64,
    mss_bytes: u16,
    dont_fragment: bool,
}

impl<'a> FullPacket<'a> {
    fn of(scenario: &Scenario, protocol: &'a str) -> FullPacket<'a> {
        let TcpConfig { mss_bytes, dont_fragment, .. } = scenario.tcp_for(protocol);
        FullPacket { protocol, bytes: packet_bytes(scenario, protocol), mss_bytes, dont_fragment }
    }
    fn fault(&self, what: String) -> Problem {
        let (packet_bytes, mss_bytes) = (self.bytes, self.mss_bytes);
        Problem::PacketTooLarge { packet_bytes, mss_bytes, what }
    }
    /// The key that says how long it is, its value, and where that stands.
    fn mss(&self, scenario: &Scenario, file: &File) -> (String, u16, Option<Spanned<()>>) {
        let own = file.tcp_of.iter().flat_map(|at| &at.value.0);
        let mut own = own.filter(|(name, _)| name.value == self.protocol);
        match own.find_map(|(_, table)| table.given("mss_bytes")) {
            Some(at) => (at.key.clone(), scenario.tcp_for(self.protocol).mss_bytes, Some(at)),
            None => {
                let table = file.tcp.as_ref().map(|at| &at.value);
                let at = table.and_then(|table| table.given("mss_bytes"));
                ("tcp.mss_bytes".into(), scenario.tcp.mss_bytes, at)
            }
        }
    }
}

/// Refuse links and queues that a full-sized packet of a protocol that sends does not pass.
pub(crate) fn check(scenario: &Scenario, file: &File, topology: &Topology, faults: &mut Faults) {
    let names = scenario.sending_protocols().into_iter();
    for packet in names.map(|name| FullPacket::of(scenario, name)) {
        let before = faults.len();
        passes(&packet, scenario, file, topology, faults);
        // What the packet of one protocol does not pass is mostly what those of the others do not.
        if faults.len() > before {
            return;
        }
    }
}

fn passes(
    packet: &FullPacket<'_>,
    scenario: &Scenario,
    file: &File,
    topology: &Topology,
    faults: &mut Faults,
) {
    let (key, mss_bytes, at_mss) = packet.mss(scenario, file);
    if packet.bytes > u64::from(u16::MAX) {
        let place = at_mss.unwrap_or_default();
        return faults.add(place.fault(packet.fault("an IP packet can have (65535 bytes)".into())));
    }
    let fragments = scenario.ip_version == IpVersion::V4 && !packet.dont_fragment;
    for (link, origins) in scenario.links.iter().zip(&topology.origins) {
        for (direction, origin) in [&link.forward, &link.reverse].into_iter().zip(origins) {
            let mtu = direction.wire.mtu_bytes;
            let place = || {
                let ip = file.ip_version.as_ref().map(Spanned::place);
                origin.mtu.clone().or(at_mss.clone()).or(ip).unwrap_or_default()
            };
            if scenario.ip_version == IpVersion::V6 && mtu < MIN_IPV6_MTU_BYTES {
                let expected = "at least 1280 bytes for IPv6 (RFC 8200)".to_string();
                let found = mtu.to_string();
                faults.add(place().fault(Problem::OutOfRange { found, expected }));
            } else if !fragments && packet.bytes > u64::from(mtu) {
                let what = format!("the mtu_bytes of `{}` ({mtu})", link.name);
                let mss = u64::from(mss_bytes).saturating_sub(packet.bytes - u64::from(mtu));
                let hint = format!("{key} = {mss} fits");
                faults.add(place().fault(packet.fault(what)).hint(hint));
            } else if !holds(direction, packet.bytes.min(mtu.into())) {
                let what = format!("the queue of `{}` ({})", link.name, direction.queue);
                faults.add(origin.limit.fault(packet.fault(what)));
            }
        }
    }
}

/// IP length of a full-sized packet of a protocol, as its sender makes it.
pub(crate) fn packet_bytes(scenario: &Scenario, protocol: &str) -> u64 {
    let ip = match scenario.ip_version {
        IpVersion::V4 => IPV4_HEADER_BYTES,
        IpVersion::V6 => IPV6_HEADER_BYTES,
    };
    let payload = scenario.tcp_for(protocol).mss_bytes;
    let options = scenario.data_option_bytes(protocol);
    u64::from(payload) + u64::from(ip) + TCP_HEADER_BYTES + u64::from(options)
}

fn holds(direction: &LinkDirection, packet_bytes: u64) -> bool {
    direction.queue.packets_of(packet_bytes) > 0
}
