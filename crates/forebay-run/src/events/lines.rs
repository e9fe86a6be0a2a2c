//! One line per packet event of a flow or of a node.
//!
//! ```text
//!   1.015208000 arrived  0->2         flow 1 >  seq 1:1449 ack 1 win 502 len 1448 [ACK] ts 15/10
//!   1.031416000 queued   2->0         flow 1 <  seq 1 ack 1449 win 501 len 0 [ACK] ts 31/15
//! ```
//!
//! Time in seconds; what happened; where; the flow, `>` from the end that opened it, `<` towards
//! it. Sequence numbers count from the SYN of their direction, which is 0, as in tcpdump, and do
//! not wrap. `mark` shows ECN fields other than Not-ECT.

use super::filter::EventFilter;
use forebay_base::{
    Arena, Ecn, Endpoint, FlowId, Kind, NodeId, Packet, TcpFields, TcpFlags, Time, widen,
};
use forebay_net::{LinkSpec, NetSpec, Workload};
use forebay_sim::PacketEvent;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The ends of a segment, from and to.
type Ends = (Endpoint, Endpoint);

/// Where a direction of a connection is.
#[derive(Clone, Copy)]
struct Numbering {
    isn: u32,
    /// A stream offset close to the last one seen; the SYN is at 0.
    near: u64,
}

/// Makes the lines of a run.
pub struct EventLines {
    filter: EventFilter,
    node_names: Vec<String>,
    link_names: Vec<String>,
    link_ends: Vec<(NodeId, NodeId)>,
    /// The flow of a pair of ends, and true if it is in the direction from the end that opened.
    flows: BTreeMap<Ends, (FlowId, bool)>,
    numbering: BTreeMap<Ends, Numbering>,
    line: String,
}

impl EventLines {
    /// Of the packets that `filter` lets through, on this network.
    pub fn new(filter: EventFilter, spec: &NetSpec) -> EventLines {
        EventLines {
            filter,
            node_names: spec.nodes.iter().map(|node| node.name.clone()).collect(),
            link_names: link_arrows(spec),
            link_ends: spec.links.iter().map(|link| (link.from, link.to)).collect(),
            flows: BTreeMap::new(),
            numbering: BTreeMap::new(),
            line: String::new(),
        }
    }
    /// The ends of all flows.
    pub fn learn(&mut self, workload: &Workload) {
        for flow in (0..workload.flows().len() as u32).map(FlowId) {
            for path in workload.paths(flow) {
                let (src, dst) = (path.src.0, path.dst.0);
                self.flows.insert((src, dst), (flow, true));
                self.flows.insert((dst, src), (flow, false));
            }
        }
    }

    /// The line of an event, with its end; None if the filter does not want it. All events of a run
    /// are to be shown: numbers count from the first segments.
    pub fn line(
        &mut self,
        now: Time,
        event: PacketEvent,
        packet: &Packet,
        arena: &Arena,
    ) -> Option<&str> {
        let ends = ends_of(packet, arena);
        let flow = ends.and_then(|ends| self.flows.get(&ends)).copied();
        self.number(packet, ends);
        if !self.wanted(event, flow) {
            return None;
        }
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        // Writing to a string cannot fail.
        let _ = self.describe(&mut line, now, event, packet, arena, flow);
        line.push('\n');
        self.line = line;
        Some(&self.line)
    }

    fn wanted(&self, event: PacketEvent, flow: Option<(FlowId, bool)>) -> bool {
        let node = match self.filter {
            EventFilter::Flow(wanted) => return flow.is_some_and(|(flow, _)| flow == wanted),
            EventFilter::Node(node) => node,
        };
        node == match event {
            PacketEvent::Sent(at) | PacketEvent::Dropped(at, _) | PacketEvent::Held(at) => at,
            PacketEvent::Queued(link) => self.link_ends[link.index()].0,
            PacketEvent::Arrived(link) => self.link_ends[link.index()].1,
        }
    }

    /// Note where the direction of this segment is.
    fn number(&mut self, packet: &Packet, ends: Option<Ends>) {
        let (Some(ends), Some(fields)) = (ends, packet.tcp_fields()) else { return };
        if fields.flags.has(TcpFlags::SYN) {
            self.numbering.entry(ends).or_insert(Numbering { isn: fields.seq, near: 0 });
        } else if let Some(known) = self.numbering.get_mut(&ends) {
            known.near = widen(fields.seq, known.isn, known.near).unwrap_or(known.near);
        }
    }

    fn describe(
        &self,
        line: &mut String,
        now: Time,
        event: PacketEvent,
        packet: &Packet,
        arena: &Arena,
        flow: Option<(FlowId, bool)>,
    ) -> std::fmt::Result {
        let (what, place) = match event {
            PacketEvent::Sent(node) => ("sent", &self.node_names[node.index()]),
            PacketEvent::Held(node) => ("held", &self.node_names[node.index()]),
            PacketEvent::Dropped(node, _) => ("dropped", &self.node_names[node.index()]),
            PacketEvent::Queued(link) => ("queued", &self.link_names[link.index()]),
            PacketEvent::Arrived(link) => ("arrived", &self.link_names[link.index()]),
        };
        let (s, ns) = (now.as_nanos() / 1_000_000_000, now.as_nanos() % 1_000_000_000);
        write!(line, "{s:3}.{ns:09} {what:8} {place:12} ")?;
        match flow {
            Some((flow, true)) => write!(line, "flow {} > ", flow.0 + 1)?,
            Some((flow, false)) => write!(line, "flow {} < ", flow.0 + 1)?,
            None => write!(line, "no flow  ")?,
        }
        if let PacketEvent::Dropped(_, reason) = event {
            write!(line, " ({})", reason.name())?;
        }
        match packet.tcp_fields() {
            Some(fields) => self.describe_segment(line, packet, &fields, arena)?,
            None => describe_other(line, packet, arena)?,
        }
        match packet.ecn() {
            Ecn::NotEct => Ok(()),
            Ecn::Ect1 => write!(line, " mark ECT(1)"),
            Ecn::Ect0 => write!(line, " mark ECT(0)"),
            Ecn::Ce => write!(line, " mark CE"),
        }
    }

    fn describe_segment(
        &self,
        line: &mut String,
        packet: &Packet,
        fields: &TcpFields,
        arena: &Arena,
    ) -> std::fmt::Result {
        let ends = ends_of(packet, arena);
        let here = ends.and_then(|ends| self.numbering.get(&ends));
        let there = ends.and_then(|(src, dst)| self.numbering.get(&(dst, src)));
        let relative = |number: u32, numbering: Option<&Numbering>| {
            let offset = numbering.and_then(|n| widen(number, n.isn, n.near));
            offset.unwrap_or(number.into())
        };
        let (len, seq) = (packet.payload_len(), relative(fields.seq, here));
        match len {
            0 => write!(line, " seq {seq}")?,
            _ => write!(line, " seq {seq}:{}", seq + u64::from(len))?,
        }
        if fields.flags.has(TcpFlags::ACK) {
            write!(line, " ack {}", relative(fields.ack, there))?;
        }
        write!(line, " win {} len {len} [{}]", fields.window, flag_names(fields.flags))?;
        if let Some((value, echo)) = fields.timestamps {
            write!(line, " ts {value}/{echo}")?;
        }
        let Some(cold) = packet.cold_part(arena) else { return Ok(()) };
        for (i, block) in cold.tcp_options.sack_blocks().enumerate() {
            let (start, end) = (relative(block.start, there), relative(block.end, there));
            write!(line, "{}{start}:{end}", if i == 0 { " sack " } else { "," })?;
        }
        Ok(())
    }
}

/// The ends that the bytes of a segment show, or those of the datagram that a fragment was cut
/// from.
fn ends_of(packet: &Packet, arena: &Arena) -> Option<Ends> {
    let whole = packet.cold_part(arena).and_then(|cold| cold.piece);
    let whole = whole.and_then(|piece| arena.datagram_of(&piece)).unwrap_or(packet);
    let (src_port, dst_port) = whole.ports()?;
    let src = Endpoint { addr: whole.src(), port: src_port };
    Some((src, Endpoint { addr: whole.dst(), port: dst_port }))
}

fn describe_other(line: &mut String, packet: &Packet, arena: &Arena) -> std::fmt::Result {
    let piece = packet.cold_part(arena).and_then(|cold| cold.piece);
    match (packet.kind(), piece) {
        (Kind::Fragment, Some(piece)) => {
            let end = u32::from(piece.offset) + u32::from(packet.payload_len());
            let more = if piece.more { " MF" } else { "" };
            write!(line, " fragment {}:{end}{more}", piece.offset)
        }
        _ => write!(line, " foreign len {}", packet.wire_len()),
    }
}

fn flag_names(flags: TcpFlags) -> String {
    const NAMES: [(TcpFlags, &str); 8] = [
        (TcpFlags::SYN, "SYN"),
        (TcpFlags::FIN, "FIN"),
        (TcpFlags::RST, "RST"),
        (TcpFlags::PSH, "PSH"),
        (TcpFlags::ACK, "ACK"),
        (TcpFlags::URG, "URG"),
        (TcpFlags::ECE, "ECE"),
        (TcpFlags::CWR, "CWR"),
    ];
    let set: Vec<&str> = NAMES.iter().filter(|(f, _)| flags.has(*f)).map(|&(_, n)| n).collect();
    set.join(",")
}

/// `a->b` for each directed link; one of several between two nodes is followed by `#2` and so on.
pub fn link_arrows(spec: &NetSpec) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let name = |node: NodeId| &spec.nodes[node.index()].name;
    let arrow = |link: &LinkSpec| {
        let count = seen.entry((link.from, link.to)).or_insert(0u32);
        *count += 1;
        let arrow = format!("{}->{}", name(link.from), name(link.to));
        if *count == 1 { arrow } else { format!("{arrow}#{count}") }
    };
    spec.links.iter().map(arrow).collect()
}
