//! How much work a run is, before it is built: an estimate from its network alone, to share work
//! out and to say how long it will take.

use super::memory_estimate::hops;
use forebay_base::Time;
use forebay_net::{NetSpec, NodeKind};

/// An ACK for each second packet, and it crosses as many links.
const WITH_ACKS: f64 = 1.5;
/// What a run is at least, in packet-hops: to make the network, and to measure it.
const LEAST: f64 = 20_000.0;

/// Packets that a run serialises, each link counted. Flows with a size send it, within what their
/// own links and those between routers carry until the end; others send as much as these carry.
pub fn packet_hops(spec: &NetSpec, until: Option<Time>) -> f64 {
    let is_host = |node: usize| matches!(spec.nodes[node].kind, NodeKind::Host);
    let (mut access_bps, mut between_bps) = (vec![0u64; spec.nodes.len()], 0.0f64);
    for link in &spec.links {
        let rate_bps = link.channel.rate().bps();
        match (is_host(link.from.index()), is_host(link.to.index())) {
            (true, _) => {
                let own = &mut access_bps[link.from.index()];
                *own = own.saturating_add(rate_bps);
            }
            (false, false) => between_bps += rate_bps as f64,
            (false, true) => {}
        }
    }
    let mut bits = 0.0;
    for flow in &spec.flows {
        let most = until.map_or(f64::INFINITY, |until| {
            let sends_s = until.since(flow.start).as_secs_f64();
            access_bps[flow.src.index()] as f64 * sends_s
        });
        bits += flow.bytes.map_or(most, |bytes| (8.0 * bytes as f64).min(most));
    }
    let hops = hops(spec);
    if let (Some(until), true) = (until, between_bps > 0.0) {
        bits = bits.min(between_bps * until.as_secs_f64() / (hops - 2.0).max(1.0));
    }
    let mss_bytes = spec.transports.iter().map(|of| f64::from(of.config.mss_bytes));
    let packets = bits / 8.0 / mss_bytes.fold(f64::INFINITY, f64::min).clamp(1.0, 65_535.0);
    let all = WITH_ACKS * packets * hops + LEAST;
    if all.is_finite() { all } else { LEAST }
}
