//! What is odd about the queues of a scenario: thresholds out of reach, short turns, ECN where
//! nothing marks.

use crate::format::error::Problem;
use crate::format::faults::Faults;
use crate::registry::Disciplines;
use crate::resolve::topology::Topology;
use crate::{LinkDirection, Scenario};
use forebay_base::{LinkId, Rate};
use forebay_net::NetEvent;
use forebay_queue::Limit;

/// A TCP segment without payload and options over IPv4.
const MIN_PACKET_BYTES: u64 = 40;

/// Refuse thresholds that no queue within its limit reaches: nothing would be marked.
pub(crate) fn check(scenario: &Scenario, topology: &Topology, faults: &mut Faults) {
    for (number, (link, origins)) in scenario.links.iter().zip(&topology.origins).enumerate() {
        for (side, origin) in origins.iter().enumerate() {
            let wire = [&link.forward, &link.reverse][side];
            let Some(place) = &origin.threshold else { continue };
            // What the forward direction says besides a limit of its own may not be meant for this
            // one.
            if side == 1 && wire.discipline.params == link.forward.discipline.params {
                continue;
            }
            let least = least_rate(scenario, LinkId((2 * number + side) as u32), wire);
            if let Some(problem) = unreached_threshold(wire, least) {
                let hint = format!("the limit of the queue of `{}` is {}", link.name, wire.queue);
                faults.add(place.fault(problem).hint(hint));
            }
        }
    }
}

/// The smallest rate that a directed link ever has; None if it fails, or follows a trace.
fn least_rate(scenario: &Scenario, link: LinkId, wire: &LinkDirection) -> Option<Rate> {
    let mut least = Some(wire.rate).filter(|_| wire.takes_rate());
    for event in &scenario.events {
        match event.event {
            NetEvent::Rate(of, rate) if of == link => least = least.map(|least| least.min(rate)),
            NetEvent::Down(of) if of == link => least = None,
            _ => {}
        }
    }
    least
}

/// What is wrong with the threshold of a queue. FQ-CoDel's is no matter of the limit: other flows
/// are served in between.
fn unreached_threshold(wire: &LinkDirection, least: Option<Rate>) -> Option<Problem> {
    let number = |key: &str| {
        let value = wire.discipline.params.get(key)?;
        value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
    };
    let (found, most, unit) = match wire.discipline.name() {
        "codel" => (number("ce_threshold_ms")?, longest_wait_ms(wire, least?), "ms"),
        "red" => {
            let packet = number("packet_bytes")? as u64;
            (number("min_packets")?, wire.queue.packets_of(packet) as f64, "packets")
        }
        _ => return None,
    };
    (found > most).then(|| Problem::OutOfRange {
        found: format!("{found} {unit}"),
        expected: format!("at most {most} {unit}, which is what the queue holds"),
    })
}

/// How long a packet waits at most behind a full queue and the packet in transmission, in ms. The
/// shortest packets cost most per byte.
fn longest_wait_ms(wire: &LinkDirection, rate: Rate) -> f64 {
    let overhead = u64::from(wire.wire.overhead_bytes);
    let (packets, bytes) = match wire.queue {
        Limit::Packets(packets) => (packets, packets.saturating_mul(wire.wire.mtu_bytes.into())),
        limit => (limit.packets_of(MIN_PACKET_BYTES), limit.most()),
    };
    let bytes = bytes.saturating_add(wire.wire.mtu_bytes.into());
    let bytes = bytes.saturating_add((packets + 1).saturating_mul(overhead));
    (bytes as f64 * 8e3 / rate.bps() as f64 * 1e3).ceil() / 1e3
}

/// What is allowed and seldom meant: a turn shorter than a packet (RFC 8290 section 5.2.2), and ECN
/// where nothing marks.
pub(crate) fn notes(scenario: &Scenario) -> Vec<String> {
    let mut notes = Vec::new();
    let short = scenario.links.iter().filter_map(|link| {
        let both = [&link.forward, &link.reverse];
        let (bytes, mtu) = both.into_iter().find_map(short_quantum)?;
        Some((&link.name, bytes, mtu))
    });
    let short: Vec<_> = short.collect();
    if let Some((name, bytes, mtu)) = short.first() {
        let turns = (i64::from(*mtu) + bytes - 1) / bytes;
        let more = match short.len() {
            1 => String::new(),
            links => format!("; the same is true of {} more links", links - 1),
        };
        notes.push(format!(
            "links.{name}: quantum_bytes = {bytes} is below the MTU of {mtu} bytes: a full packet \
             takes {turns} turns{more}"
        ));
    }
    let ecn = scenario.tcp.ecn || scenario.tcp_of.iter().any(|(_, tcp)| tcp.ecn);
    let plain = |wire: &LinkDirection| wire.discipline.is_default() && wire.port.is_none();
    if ecn && scenario.links.iter().all(|link| plain(&link.forward) && plain(&link.reverse)) {
        let discipline = &scenario.registry.lines::<Disciplines>()[0].name;
        notes.push(format!("tcp.ecn is on, but each queue is {discipline}, which marks nothing"));
    }
    notes
}

/// The quantum and the MTU of a direction whose queue has turns shorter than a packet.
fn short_quantum(wire: &LinkDirection) -> Option<(i64, u16)> {
    let quantum = wire.discipline.params.get("quantum_bytes")?.as_integer()?;
    (quantum > 0 && quantum < wire.wire.mtu_bytes.into()).then_some((quantum, wire.wire.mtu_bytes))
}
