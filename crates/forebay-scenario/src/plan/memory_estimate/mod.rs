//! How much memory a run will take, before it is built: an estimate from its network alone.
//!
//! What takes memory in a run, in order: **connections**, both ends of every flow, which leave a
//! third of their memory after their end, with the segments that they have unacknowledged;
//! **routes**, two bytes by router and attachment; **queues**, rings of packets that grow with what
//! waits and what is on the wire, and never shrink; **nodes and links**; and **copies**, for each
//! partition of a run in several threads has a place for every link, node and flow of the whole
//! network.
//!
//! All but what is in flight is counted, and multiplied by what each needs. What is in flight is
//! computed in `traffic.rs` as a fluid would have it, and is where estimate and run differ most.
//! The constants were measured on x86-64 Linux with glibc by attributing the peak of the heap to
//! who allocated it (heaptrack; `run s3` and `bench --only scale-5`, November 2026), and checked
//! against peaks of whole runs: `docs/how-to/scale.md` has the table, with estimates of 1.0 to 2.1
//! times the peak.

mod admission;
mod traffic;

pub(crate) use admission::Size;
pub use admission::{Admission, NotEnoughMemory, admit, check, check_outline};

use forebay_net::{ChannelSpec, DeliveryTrace, EventSpec, LinkSpec, NetSpec, NodeKind};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use traffic::Traffic;
pub(in crate::plan) use traffic::hops;

/// The program with its libraries, and what every run has: agenda, buffers of output. Measured: 15
/// MiB is the peak of `run s1`.
const PROCESS_BYTES: u64 = 16 << 20;
/// Both ends of a flow that is open, without what they have unacknowledged, and what is written
/// down of it elsewhere (scenario, specification, workload, sockets, agenda, result). Measured on
/// scale-5 while all stayed open: connections 2 x 1090 + 2 x 190, controllers 2 x 220, sockets 130,
/// specifications 100, histogram of round-trip times 64, and a result in `run` 300; another 700 by
/// the slope of the peak from 10 000 to 100 000 flows of 5 packets, which have nearly nothing else.
const FLOW_BYTES: u64 = 4_200;
/// The same of a flow that is not open. Measured on scale-6: 2 x 368 of its closed connections, and
/// all but those in `FLOW_BYTES`.
const CLOSED_FLOW_BYTES: u64 = 1_700;
/// An entry of a scoreboard, in a ring that doubles: 80 bytes, a third of the places free on
/// average.
const SEGMENT_BYTES: u64 = 120;
/// A packet in the ring of a link, in a ring that doubles: 64 bytes, a third of the places free on
/// average.
const PACKET_BYTES: u64 = 96;
/// A node in scenario, specification and fabric, with its name, interface and ports. Measured on
/// S3: 13 691 nodes.
const NODE_BYTES: u64 = 700;
/// A directed link without its packets: slot, specification, names, and a histogram of waits twice
/// (once for the start of the window of measurement). Measured on S3, 28 064 of them: 1 100 bytes;
/// on scale-5, where few have a queue, 700.
const LINK_BYTES: u64 = 1_100;
/// An event: in scenario, specification and run. Forged packets are events, up to a million.
const EVENT_BYTES: u64 = 3 * size_of::<EventSpec>() as u64;
/// A next hop (`Routes`), and an address.
const ROUTE_BYTES: u64 = 2;
const ADDRESS_BYTES: u64 = 16;
/// What each partition has for each link, node and flow of the network, be they elsewhere: slot
/// 192, edge 24, hash and ports 16; place of a node 150; two ends of a flow 24 each. S3 has 8.3 MB
/// more for each partition.
const PART_LINK_BYTES: u64 = 232;
const PART_NODE_BYTES: u64 = 150;
const PART_FLOW_BYTES: u64 = 48;
/// Partitions that a run has for each of its threads, at most.
const PARTS_PER_THREAD: u64 = 2;
/// Memory kept of a flow after its run, until all runs are: its result, three names with
/// it, and its reference.
const KEPT_FLOW_BYTES: u64 = 400;
/// Rows of series that wait to be written, and their compressed columns. Measured: `run s2` needs
/// 12 MiB more with `--out`.
const SERIES_BYTES: u64 = 16 << 20;

/// Nodes, links and flows of a scenario. What is wrong with it is not known yet: it has that many
/// at most, or is no scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Nodes that are declared, or are in a CSV file of hosts.
    pub nodes: u64,
    /// Links, each in two directions.
    pub links: u64,
    /// Flows.
    pub flows: u64,
}

/// The memory that a run needs, by what needs it, in bytes. An estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Flows.
    pub flows: u64,
    /// The program.
    pub process_bytes: u64,
    /// Buffers of the files that the run writes.
    pub files_bytes: u64,
    /// Connections, with what they have unacknowledged.
    pub connections_bytes: u64,
    /// Tables of next hops.
    pub routes_bytes: u64,
    /// Packets in queues and on wires.
    pub queues_bytes: u64,
    /// Nodes and links.
    pub network_bytes: u64,
    /// Places for what is in other partitions.
    pub copies_bytes: u64,
}

impl MemoryEstimate {
    /// Memory of a run of a network in `threads` threads.
    pub fn of(spec: &NetSpec, threads: usize) -> MemoryEstimate {
        let traffic = Traffic::of(spec);
        let (nodes, links, flows) =
            (spec.nodes.len() as u64, spec.links.len() as u64, spec.flows.len() as u64);
        let paths: u64 = spec.flows.iter().map(|flow| flow.paths.len().max(1) as u64).sum();
        // Of so many paths, and their segments, those of open flows.
        let open_flows = traffic::open_flows(spec);
        let open =
            |all: u64| (u128::from(all) * u128::from(open_flows) / flows.max(1) as u128) as u64;
        let parts = match threads {
            0 | 1 => 0,
            _ => (PARTS_PER_THREAD * threads as u64).min(nodes),
        };
        // Partitions are tried beside the whole network. While they are built there is also the
        // table that is divided among them.
        let (tables, wholes) = if parts == 0 { (1, 1) } else { (3, 2) };
        let in_a_part = links * PART_LINK_BYTES + nodes * PART_NODE_BYTES + flows * PART_FLOW_BYTES;
        let network_bytes = nodes * NODE_BYTES
            + links * LINK_BYTES
            + spec.events.len() as u64 * EVENT_BYTES
            + traces(spec);
        MemoryEstimate {
            flows,
            process_bytes: PROCESS_BYTES,
            files_bytes: 0,
            connections_bytes: (flows - open_flows) * CLOSED_FLOW_BYTES
                + open(paths) * FLOW_BYTES
                + open(traffic.segments) * SEGMENT_BYTES,
            routes_bytes: routes(spec) * ROUTE_BYTES * tables + links * ADDRESS_BYTES,
            queues_bytes: traffic.queued_packets * PACKET_BYTES,
            network_bytes: network_bytes * wholes,
            copies_bytes: parts * in_a_part,
        }
    }

    /// What a run of a scenario needs at least, of which only the sizes are known.
    pub fn at_least(outline: &Outline) -> MemoryEstimate {
        let Outline { nodes, links, flows } = *outline;
        MemoryEstimate {
            flows,
            process_bytes: PROCESS_BYTES,
            connections_bytes: flows.saturating_mul(CLOSED_FLOW_BYTES),
            network_bytes: nodes
                .saturating_mul(NODE_BYTES)
                .saturating_add(links.saturating_mul(2 * LINK_BYTES)),
            ..MemoryEstimate::default()
        }
    }

    /// The same of a run of `run_one`, whose series are written to files if `series` is true.
    pub fn of_run(spec: &NetSpec, threads: usize, series: bool) -> MemoryEstimate {
        let files_bytes = if series { SERIES_BYTES } else { 0 };
        MemoryEstimate { files_bytes, ..MemoryEstimate::of(spec, threads) }
    }

    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.named().iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// What takes most of it, in words.
    pub fn mostly(&self) -> &'static str {
        self.most().0
    }
    /// The same with its bytes.
    pub fn most(&self) -> (&'static str, u64) {
        let [first, others @ ..] = self.named();
        others.into_iter().fold(first, |most, part| if part.1 > most.1 { part } else { most })
    }

    /// Memory kept after the run.
    pub fn kept_bytes(&self) -> u64 {
        self.flows.saturating_mul(KEPT_FLOW_BYTES)
    }

    fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("the program", self.process_bytes),
            ("buffers of files", self.files_bytes),
            ("connections", self.connections_bytes),
            ("routes", self.routes_bytes),
            ("queues", self.queues_bytes),
            ("nodes and links", self.network_bytes),
            ("copies of the network for each thread", self.copies_bytes),
        ]
    }
}

/// Memory of a run, as its result reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunMemory {
    /// Estimate of what the run needs, the program included, in MiB. Several runs share a process,
    /// in which no one of them can be measured: what the process took is in `BatchMemory` of
    /// `forebay-lab`.
    pub need_mib: f64,
    /// What takes most of that: "the program", "buffers of files", "connections", "routes",
    /// "queues", "nodes and links", or "copies of the network for each thread".
    pub mostly: &'static str,
}

impl From<MemoryEstimate> for RunMemory {
    fn from(estimate: MemoryEstimate) -> RunMemory {
        RunMemory { need_mib: mib(estimate.bytes()), mostly: estimate.mostly() }
    }
}

/// MiB, to a tenth.
pub fn mib(bytes: u64) -> f64 {
    (bytes as f64 / 1048576.0 * 10.0).round() / 10.0
}

/// Delivery traces, each once.
fn traces(spec: &NetSpec) -> u64 {
    let of = |link: &LinkSpec| match &link.channel {
        ChannelSpec::Trace { trace, .. } => Some((Arc::as_ptr(trace), trace.memory_bytes())),
        ChannelSpec::Constant(_) | ChannelSpec::Bucket(_) => None,
    };
    let traces: BTreeMap<*const DeliveryTrace, u64> = spec.links.iter().filter_map(of).collect();
    traces.values().sum()
}

/// Entries of the table of next hops: one by router and attachment, a node at which hosts are
/// reached.
fn routes(spec: &NetSpec) -> u64 {
    let is_host =
        |node: forebay_base::NodeId| matches!(spec.nodes[node.index()].kind, NodeKind::Host);
    let hosts = spec.links.iter().filter(|link| is_host(link.from));
    let attachments: BTreeSet<u32> = hosts.map(|link| link.to.0).collect();
    let router = |kind: &NodeKind| matches!(kind, NodeKind::Router(_));
    let routers = spec.nodes.iter().filter(|node| router(&node.kind)).count();
    (routers * attachments.len()) as u64 * u64::from(spec.routes.trees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, Scenario};

    const SMALL: &str = r#"
        routers = ["p", "q"]
        link_defaults = { rate = "120Mbit/s", delay = "1ms", queue = "30packets" }
        links = [{ a = "p", b = "q" }]
        hosts = [{ name = "h{}", count = 3, attach = "p" }, { name = "g", attach = "q" }]
        flows = [
            { src = "h{}", dst = "g", count = 3, bytes = 1 },
            { src = "h0", dst = "h1", bytes = 1 },
        ]
    "#;

    fn spec(text: &str) -> NetSpec {
        let scenario = Scenario::parse(text, "x", &LoadOptions::default()).unwrap();
        scenario.build("newreno", 1).unwrap()
    }

    #[test]
    fn what_can_be_counted_is_counted() {
        let estimate = MemoryEstimate::of(&spec(SMALL), 1);
        // Five links in two directions; two routers that are both attachments.
        assert_eq!(estimate.routes_bytes, 2 * 2 * 2 + 10 * 16);
        assert_eq!(estimate.network_bytes, 6 * 700 + 10 * 1_100);
        // A segment each.
        assert_eq!((estimate.flows, estimate.connections_bytes), (4, 4 * (4_200 + 120)));
        assert_eq!((estimate.copies_bytes, estimate.files_bytes), (0, 0));
        assert_eq!((estimate.kept_bytes(), estimate.mostly()), (1_600, "the program"));
        let sum = estimate.process_bytes + estimate.connections_bytes + estimate.routes_bytes;
        assert_eq!(estimate.bytes(), sum + estimate.queues_bytes + estimate.network_bytes);
    }

    #[test]
    fn threads_copy_the_network_and_series_have_buffers() {
        let (spec, alone) = (spec(SMALL), MemoryEstimate::of(&spec(SMALL), 1));
        let in_a_part = 10 * 232 + 6 * 150 + 4 * 48;
        for (threads, parts) in [(2, 4), (3, 6), (200, 6)] {
            let estimate = MemoryEstimate::of(&spec, threads);
            assert_eq!(estimate.copies_bytes, parts * in_a_part, "{threads}");
            // The whole table, that of the trial, and those of the parts.
            assert_eq!(estimate.routes_bytes, alone.routes_bytes + 2 * (2 * 2 * 2));
            assert_eq!(estimate.network_bytes, 2 * alone.network_bytes);
            assert_eq!(estimate.connections_bytes, alone.connections_bytes);
        }
        let with_series = MemoryEstimate::of_run(&spec, 1, true);
        assert_eq!(with_series.bytes(), alone.bytes() + (16 << 20));
    }

    #[test]
    fn an_outline_asks_for_no_more_than_the_network_will() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        std::fs::write(&path, SMALL).unwrap();
        let text = crate::ScenarioText::read(path.to_str().unwrap()).unwrap();
        let outline = text.keys(&LoadOptions::default()).unwrap().outline();
        assert_eq!(outline, Outline { nodes: 6, links: 5, flows: 4 });
        let (least, estimate) =
            (MemoryEstimate::at_least(&outline), MemoryEstimate::of(&spec(SMALL), 1));
        assert_eq!(least.network_bytes, estimate.network_bytes);
        assert!(least.bytes() <= estimate.bytes());
        let refused = check_outline(&outline, Some(1 << 20)).unwrap_err().to_string();
        assert!(refused.starts_with("at least 16 MiB of memory are needed"), "{refused}");
    }
}
