//! What is in flight in a network at most, as a fluid would have it.
//!
//! A flow has no more in flight than its buffers allow, than slow start gives it before it is over
//! (half of what it sends, and half an initial window), and than its share of what the network
//! holds. The network holds what its wires hold, and what waits in queues that can fill: those of
//! routers to which links lead that are faster together, and carry data.

use forebay_base::{NodeId, PortId, Rate, Time};
use forebay_net::{FlowSpec, LinkSpec, NetSpec, NodeKind, given_back_after};
use forebay_transport::TcpConfig;

/// Headers of a packet, in bytes.
const HEADER_BYTES: u64 = 40;
/// Some link holds flights of two flows at once sooner or later, which of a fluid it would not.
const FLIGHTS: u64 = 2;
/// A link that carries only ACKs holds this many times less than one with the data.
const ACKS: u64 = 4;
/// The load of the most loaded links by the mean.
const UNEVEN: f64 = 4.0;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traffic {
    /// Sum over all flows of the most segments that each has unacknowledged at a time.
    pub segments: u64,
    /// Sum over all links of the most packets that each holds at a time.
    pub queued_packets: u64,
}

impl Traffic {
    pub fn of(spec: &NetSpec) -> Traffic {
        if spec.flows.is_empty() || spec.links.is_empty() {
            return Traffic { segments: 0, queued_packets: 0 };
        }
        let (capacity, hops) = (NetworkCapacity::of(spec), hops(spec));
        let at_once = flows_at_once(spec, hops);
        let total: u64 = capacity.wires.iter().sum::<u64>() + capacity.queues.iter().sum::<u64>();
        let share = ((total as f64 / at_once) as u64).max(1);
        let windows = spec.flows.iter().map(|flow| window(spec, flow).min(share));
        let (mut segments, mut of_node) = (0, vec![0u64; spec.nodes.len()]);
        for (flow, window) in spec.flows.iter().zip(windows) {
            segments += window;
            of_node[flow.src.index()] += window;
            of_node[flow.dst.index()] += window;
        }
        let mean = segments as f64 / spec.flows.len() as f64;
        let in_flight = (at_once * mean).min(total as f64);
        let filling = capacity.queues.iter().filter(|&&packets| packets > 0).count();
        // Evenly over the links, twice; but some flights anywhere.
        let even = |links: usize| (2.0 * in_flight * hops / links.max(1) as f64) as u64;
        let flights = FLIGHTS * mean.ceil() as u64;
        let anywhere = flights.max(even(spec.links.len()));
        let where_it_fills = flights.max(even(filling)).min(in_flight.ceil() as u64);
        let on_link = |(index, link): (usize, &LinkSpec)| {
            let (wire, queue) = (capacity.wires[index], capacity.queues[index]);
            let most = if queue == 0 { anywhere } else { where_it_fills };
            // A link of a host has what that sends and receives.
            let of_host = [link.from, link.to].into_iter().filter(|&node| is_host(spec, node));
            let ends = of_host.map(|node| of_node[node.index()]).min().unwrap_or(u64::MAX);
            // ACKs are half as many, and come one by one.
            let ends = if capacity.loads[index] { ends } else { ends / ACKS };
            (wire + queue).min(most).min(ends)
        };
        let on_links: u64 = spec.links.iter().enumerate().map(on_link).sum();
        let passing = (hops * segments as f64).ceil() as u64;
        Traffic { segments, queued_packets: on_links.min(passing) }
    }
}

fn is_host(spec: &NetSpec, node: NodeId) -> bool {
    matches!(spec.nodes[node.index()].kind, NodeKind::Host)
}

/// By link, in packets: what is on the wire and in transmission, and what waits where more may come
/// than leaves.
struct NetworkCapacity {
    wires: Vec<u64>,
    queues: Vec<u64>,
    /// True of links that carry data.
    loads: Vec<bool>,
}

impl NetworkCapacity {
    fn of(spec: &NetSpec) -> NetworkCapacity {
        let packet_bytes = packet_bytes(spec);
        let (mut sends, mut receives) =
            (vec![false; spec.nodes.len()], vec![false; spec.nodes.len()]);
        for flow in &spec.flows {
            (sends[flow.src.index()], receives[flow.dst.index()]) = (true, true);
        }
        let is_host = |node| is_host(spec, node);
        // Hosts that only receive send ACKs, and hosts that only send are sent ACKs: those fill
        // nothing.
        let loads = |link: &LinkSpec| {
            (!is_host(link.from) || sends[link.from.index()])
                && (!is_host(link.to) || receives[link.to.index()])
        };
        let mut inflow_bps = vec![0u64; spec.nodes.len()];
        for link in spec.links.iter().filter(|link| loads(link)) {
            let into = &mut inflow_bps[link.to.index()];
            *into = into.saturating_add(rate(link).bps());
        }
        let fills = |index: usize, link: &LinkSpec| {
            let back = &spec.links[index ^ 1];
            let own_bps = if loads(back) { rate(back).bps() } else { 0 };
            let others_bps = inflow_bps[link.from.index()].saturating_sub(own_bps);
            !is_host(link.from) && loads(link) && others_bps > rate(link).bps()
        };
        // By node: how many of its ports were seen.
        let mut seen = vec![0u16; spec.nodes.len()];
        let mut queue = |(index, link): (usize, &LinkSpec)| {
            let port = PortId(seen[link.from.index()]);
            seen[link.from.index()] += 1;
            if fills(index, link) { queue_packets(spec, port, link, packet_bytes) } else { 0 }
        };
        let wire = |link: &LinkSpec| rate(link).bytes_in(link.wire.delay) / packet_bytes + 2;
        NetworkCapacity {
            wires: spec.links.iter().map(wire).collect(),
            queues: spec.links.iter().enumerate().map(&mut queue).collect(),
            loads: spec.links.iter().map(loads).collect(),
        }
    }
}

fn rate(link: &LinkSpec) -> Rate {
    link.channel.rate()
}

/// Packets that may wait for a link, with those in the cache of its router.
fn queue_packets(spec: &NetSpec, port: PortId, link: &LinkSpec, packet_bytes: u64) -> u64 {
    let waiting = link.queue.limit().packets_of(packet_bytes);
    let cached = match &spec.nodes[link.from.index()].kind {
        NodeKind::Router(forwarding) => forwarding.cache_bytes(port, rate(link)) / packet_bytes,
        NodeKind::Host => 0,
    };
    waiting.saturating_add(cached).min(u64::from(u32::MAX))
}

/// Full-sized packets of the shortest kind, in bytes.
fn packet_bytes(spec: &NetSpec) -> u64 {
    let shortest = spec.transports.iter().map(|t| u64::from(t.config.mss_bytes)).min();
    shortest.unwrap_or(0).max(1) + HEADER_BYTES
}

fn config<'a>(spec: &'a NetSpec, flow: &FlowSpec) -> &'a TcpConfig {
    &spec.transports[flow.transport].config
}

/// Segments that a flow sends; None: without end.
fn segments(spec: &NetSpec, flow: &FlowSpec) -> Option<u64> {
    let mss_bytes = u64::from(config(spec, flow).mss_bytes).max(1);
    flow.bytes.map(|bytes| bytes.div_ceil(mss_bytes))
}

/// The most segments that a flow has unacknowledged if nothing but itself holds it back.
fn window(spec: &NetSpec, flow: &FlowSpec) -> u64 {
    let config = config(spec, flow);
    let buffers_bytes = config.send_buffer_bytes.min(config.receive_buffer_bytes);
    let buffers = (buffers_bytes / u64::from(config.mss_bytes).max(1)).max(1);
    let initial = u64::from(config.initial_window_segments);
    // The last flight of slow start is as long as all before it, and the first one longer than
    // nothing.
    let own = segments(spec, flow).map(|all| all.min(all.saturating_add(initial) / 2 + 1));
    own.map_or(buffers, |own| own.min(buffers))
}

/// Flows whose connections are there as a whole at one time, at most: twice those that are under
/// way, those that have ended and are not given back, and all that never are.
pub(super) fn open_flows(spec: &NetSpec) -> u64 {
    let flows = spec.flows.len() as u64;
    if spec.links.is_empty() {
        return flows;
    }
    let never = spec.flows.iter().filter(|flow| flow.paths.len() > 1).count() as u64;
    let span_s = starts_span_s(spec.flows.iter());
    let given_back_s = given_back_after().as_secs_f64();
    let ended = flows as f64 * (given_back_s / span_s.max(given_back_s));
    let under_way = FLIGHTS as f64 * flows_at_once(spec, hops(spec));
    never.max((under_way + ended).ceil() as u64).min(flows)
}

/// From the first start to the last.
fn starts_span_s<'a>(flows: impl Iterator<Item = &'a FlowSpec> + Clone) -> f64 {
    let starts = flows.map(|flow| flow.start);
    let first = starts.clone().min().unwrap_or(Time::ZERO);
    starts.max().unwrap_or(Time::ZERO).since(first).as_secs_f64()
}

/// Flows that are under way at one time: as many as overlap if each is as short as slow start
/// allows, and all that are in each other's way. Of those that follow each other one is.
fn flows_at_once(spec: &NetSpec, hops: f64) -> f64 {
    let firsts = || spec.flows.iter().filter(|flow| flow.after().is_none());
    let span_s = starts_span_s(firsts());
    let delays_s = spec.links.iter().map(|link| link.wire.delay.as_secs_f64()).sum::<f64>();
    let rtt_s = 2.0 * hops * delays_s / spec.links.len() as f64;
    let (mut finite, mut busy_s, mut bits) = (0.0, 0.0, 0.0);
    for flow in firsts() {
        let Some(all) = segments(spec, flow) else { continue };
        let initial = f64::from(config(spec, flow).initial_window_segments.max(1));
        finite += 1.0;
        // A handshake, doublings, and the last flight.
        busy_s += rtt_s * (2.0 + libm::log2(all as f64 / initial + 1.0));
        bits += 8.0 * flow.bytes.unwrap_or(0) as f64;
    }
    let overlap = if span_s > 0.0 { busy_s / (span_s + busy_s / finite) } else { finite };
    let between = |link: &&LinkSpec| !is_host(spec, link.from) && !is_host(spec, link.to);
    let rates = spec.links.iter().filter(between).map(|link| rate(link).bps() as f64);
    // The time that the links between routers are busy with all of it, if some have several times
    // the load of others.
    let loaded_s = UNEVEN * bits * (hops - 2.0).max(1.0) / rates.sum::<f64>().max(1.0);
    let in_the_way = finite * (loaded_s / (span_s + f64::MIN_POSITIVE)).min(1.0);
    (firsts().count() as f64 - finite + overlap.max(in_the_way).min(finite)).max(1.0)
}

/// Links on the way of a packet: two of hosts, and the diameter of a random network of this many
/// routers of this many links.
pub(in crate::plan) fn hops(spec: &NetSpec) -> f64 {
    let routers = spec.nodes.iter().filter(|node| !matches!(node.kind, NodeKind::Host)).count();
    let between = |link: &&LinkSpec| !is_host(spec, link.from) && !is_host(spec, link.to);
    let links = spec.links.iter().filter(between).count();
    let degree = links as f64 / routers.max(1) as f64;
    2.0 + libm::log(routers.max(1) as f64) / libm::log(degree.max(2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, Scenario};

    /// h - p - q - g: 10 packets of 1500 bytes are on each wire, two in transmission, 30 wait for
    /// p-q at most, and a hundred are what a send buffer holds.
    fn spec(flow: &str, set: &[&str]) -> NetSpec {
        let text = format!(
            r#"
            until_s = 1
            routers = ["p", "q"]
            tcp.mss_bytes = 1460
            tcp.timestamps = false
            tcp.initial_window_segments = 10
            tcp.send_buffer_bytes = 146000
            link_defaults = {{ rate = "120Mbit/s", delay = "1ms", queue = "30packets" }}
            links = [{{ a = "p", b = "q", rate = "12Mbit/s", delay = "10ms" }}]
            hosts = [{{ name = "h", attach = "p" }}, {{ name = "g", attach = "q" }}]
            flows = [{flow}]
            "#
        );
        let set = set.iter().map(ToString::to_string).collect();
        let scenario =
            Scenario::parse(&text, "x", &LoadOptions { set, ..LoadOptions::default() }).unwrap();
        scenario.build("newreno", 1).unwrap()
    }
    fn of(flow: &str, set: &[&str]) -> Traffic {
        Traffic::of(&spec(flow, set))
    }
    const ENDLESS: &str = r#"{ src = "h", dst = "g", endless = true }"#;

    #[test]
    fn one_flow_fills_the_queue_before_the_slow_link_and_no_other() {
        // Six wires of 12, and 30 that wait.
        let all = Traffic { segments: 100, queued_packets: 6 * 12 + 30 };
        assert_eq!(of(ENDLESS, &[]), all);
        // No link is slower than the one before it: nothing waits, and the network holds no more
        // than its wires.
        let even = of(ENDLESS, &["links.p-q.rate=120Mbit/s", "links.p-q.delay=1ms"]);
        assert_eq!(even, Traffic { segments: 72, queued_packets: 72 });
    }

    #[test]
    fn a_buffer_without_end_holds_what_its_flows_have_in_flight() {
        let large = ["links.p-q.queue=1000000packets"];
        // All hundred before p-q, and five wires.
        assert_eq!(of(ENDLESS, &large), Traffic { segments: 100, queued_packets: 100 + 5 * 12 });
        let ten = format!("{ENDLESS}, {ENDLESS}");
        let of_two = of(&ten, &large);
        assert_eq!(of_two, Traffic { segments: 200, queued_packets: 200 + 5 * 12 });
    }

    #[test]
    fn flows_share_what_the_network_holds() {
        let four = [ENDLESS; 4].join(", ");
        // 102 packets by four.
        assert_eq!(of(&four, &[]).segments, 4 * 25);
    }

    #[test]
    fn a_short_flow_has_its_last_flight_in_flight() {
        let packets = |n: u32| of(&format!(r#"{{ src = "h", dst = "g", packets = {n} }}"#), &[]);
        // Flights of 10, 20 and 40.
        assert_eq!([1, 10, 30, 70].map(|n| packets(n).segments), [1, 10, 21, 41]);
        // Ten packets over three links.
        assert_eq!(packets(10).queued_packets, 30);
    }

    #[test]
    fn of_a_user_who_thinks_one_flow_is_under_way() {
        let rounds = |n: u32| format!(r#"{{ src = "h", dst = "g", packets = 70, rounds = {n} }}"#);
        // Each may have all of its 41 segments in flight, and the network holds those of one.
        assert_eq!(of(&rounds(20), &[]).segments, 20 * 41);
        let [one, all] = [1, 20].map(|n| of(&rounds(n), &["links.p-q.queue=1000000packets"]));
        assert_eq!(one.segments * 20, all.segments);
        assert!(all.queued_packets <= 2 * one.queued_packets, "{one:?} {all:?}");
    }

    #[test]
    fn flows_that_follow_each_other_do_not_share() {
        let flows = |every: &str| {
            format!(r#"{{ src = "h", dst = "g", count = 20, packets = 70, every = "{every}" }}"#)
        };
        // At once they have five each, of 102.
        assert_eq!(of(&flows("0s"), &[]).segments, 20 * 5);
        assert_eq!(of(&flows("100s"), &["until_s=9999"]).segments, 20 * 41);
    }

    /// Of a thousand flows of two packets in 100 s a few are under way or have just ended; all
    /// are where they start together.
    #[test]
    fn flows_that_are_over_are_not_open() {
        let open = |every: &str| {
            let flows = format!(
                r#"{{ src = "h", dst = "g", count = 1000, packets = 2, every = "{every}" }}"#
            );
            open_flows(&spec(&flows, &["until_s=9999"]))
        };
        assert!((12..200).contains(&open("100ms")), "{}", open("100ms"));
        assert_eq!(open("0s"), 1_000);
    }
}
