//! Whether a full-sized packet passes every link and fits every queue: if not, a flow would stall for ever.

use super::Scenario;
use super::error::{Fault, Problem};
use super::fields::At;
use super::file::File;
use super::topology::Topology;
use super::{QueueLimit, Wire};
use forebay_base::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, IpVersion};

/// TCP header without options, in bytes.
const TCP_HEADER_BYTES: u64 = 20;
/// The timestamps option with its padding, in bytes (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;
/// Every IPv6 link carries packets of this length (RFC 8200 section 5), in bytes.
const MIN_IPV6_MTU_BYTES: u16 = 1280;

/// Refuse links and queues that a full-sized packet does not pass.
pub(super) fn check(scenario: &Scenario, file: &File, topology: &Topology) -> Result<(), Fault> {
    let packet_bytes = packet_bytes(scenario);
    let fault = |what: String| Problem::PacketTooLarge {
        packet_bytes,
        mss_bytes: scenario.tcp.mss_bytes,
        what,
    };
    let at_mss = || file.tcp.as_ref().and_then(|at| at.value.mss_bytes.as_ref().map(At::place));
    if packet_bytes > u64::from(u16::MAX) {
        let place = at_mss().unwrap_or_default();
        return Err(place.fault(fault("an IP packet can have (65535 bytes)".into())));
    }
    let fragments = scenario.ip_version == IpVersion::V4 && !scenario.tcp.dont_fragment;
    for (link, origins) in scenario.links.iter().zip(&topology.origins) {
        for (wire, origin) in [&link.forward, &link.reverse].into_iter().zip(origins) {
            let mtu = wire.mtu_bytes;
            let place = || {
                let ip = file.ip_version.as_ref().map(At::place);
                origin.mtu.clone().or_else(at_mss).or(ip).unwrap_or_default()
            };
            if scenario.ip_version == IpVersion::V6 && mtu < MIN_IPV6_MTU_BYTES {
                let expected = "at least 1280 bytes for IPv6 (RFC 8200)".to_string();
                return Err(place().fault(Problem::OutOfRange { found: mtu.to_string(), expected }));
            }
            if !fragments && packet_bytes > u64::from(mtu) {
                let what = format!("the mtu_bytes of `{}` ({mtu})", link.name);
                let headers = packet_bytes - u64::from(scenario.tcp.mss_bytes);
                let mss = u64::from(mtu).saturating_sub(headers);
                let hint = format!("tcp.mss_bytes = {mss} fits");
                return Err(place().fault(fault(what)).hint(hint));
            }
            if !holds(wire, packet_bytes.min(mtu.into())) {
                let what = format!("the queue of `{}` ({})", link.name, wire.queue);
                return Err(origin.limit.fault(fault(what)));
            }
        }
    }
    Ok(())
}

/// IP length of a full-sized packet.
fn packet_bytes(scenario: &Scenario) -> u64 {
    let ip = match scenario.ip_version {
        IpVersion::V4 => IPV4_HEADER_BYTES,
        IpVersion::V6 => IPV6_HEADER_BYTES,
    };
    let options = if scenario.tcp.timestamps { TIMESTAMPS_BYTES } else { 0 };
    u64::from(scenario.tcp.mss_bytes) + u64::from(ip) + TCP_HEADER_BYTES + options
}

fn holds(wire: &Wire, packet_bytes: u64) -> bool {
    match wire.queue {
        QueueLimit::Bytes(limit) => limit >= packet_bytes,
        QueueLimit::Packets(limit) => limit >= 1,
    }
}
