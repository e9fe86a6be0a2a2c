//! `flow-monitor.xml`: packets of each flow and direction, in the format of ns-3's FlowMonitor
//! (`FlowMonitor::SerializeToXmlStream`), without histograms and probes.
//!
//! As in ns-3 each direction is a flow of its own; a packet counts from the moment when its host
//! made it, with its IP header; delay and jitter are those of packets that arrived at a host,
//! jitter the difference of the delays of two that arrived one after the other. Differs from ns-3
//! in: a packet lost on a link counts at once, not after 10 s, and has no reason code.

use super::tracked::{Direction, Tracked};
use crate::error::StoreError;
use forebay_base::{Addr, Arena, DropReason, IpVersion, Packet, Span, Time};
use forebay_net::{LinkSpec, NetSpec, NodeKind};
use forebay_sim::PacketEvent;
use forebay_wire::AddressPlan;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

/// Codes of `Ipv4FlowProbe::DropReason`.
const REASON_CODES: usize = 8;

/// The code of a reason; None of those that ns-3 has no code for.
fn code(reason: DropReason) -> Option<usize> {
    match reason {
        DropReason::NoRoute => Some(0),
        DropReason::Ttl => Some(1),
        DropReason::Checksum | DropReason::Malformed => Some(2),
        DropReason::Full => Some(3),
        DropReason::Early | DropReason::CacheFull | DropReason::AckReplaced => Some(4),
        DropReason::LinkDown => Some(5),
        DropReason::FragmentMissing | DropReason::FirstFragmentMissing => Some(7),
        _ => None,
    }
}

/// A packet on its way.
struct OnTheWay {
    made_at: Time,
    forwarded: u64,
}

/// First and last time of something that has happened.
#[derive(Clone, Copy, Default)]
struct Times(Option<(Time, Time)>);

impl Times {
    fn add(&mut self, now: Time) {
        self.0 = Some((self.0.map_or(now, |(first, _)| first), now));
    }
    fn ns(self) -> (u64, u64) {
        self.0.map_or((0, 0), |(first, last)| (first.as_nanos(), last.as_nanos()))
    }
}

#[derive(Clone, Default)]
struct Totals {
    number: usize,
    sent: Times,
    received: Times,
    delay_sum: Span,
    jitter_sum: Span,
    last_delay: Option<Span>,
    sent_bytes: u64,
    received_bytes: u64,
    sent_packets: u64,
    received_packets: u64,
    lost_packets: u64,
    forwarded: u64,
    /// Packets and bytes by code.
    dropped: [(u64, u64); REASON_CODES],
}

/// The table of a run in the making.
pub(super) struct FlowMonitor {
    path: PathBuf,
    version: IpVersion,
    /// By directed link: whether it ends at a host.
    to_host: Vec<bool>,
    flows: BTreeMap<Direction, Totals>,
    on_the_way: Tracked<OnTheWay>,
}

impl FlowMonitor {
    pub fn new(path: PathBuf, spec: &NetSpec) -> FlowMonitor {
        let is_host = |link: &LinkSpec| matches!(spec.nodes[link.to.index()].kind, NodeKind::Host);
        FlowMonitor {
            path,
            version: spec.version,
            to_host: spec.links.iter().map(is_host).collect(),
            flows: BTreeMap::new(),
            on_the_way: Tracked::default(),
        }
    }

    pub fn packet(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena) {
        match event {
            PacketEvent::Sent(_) => {
                let flow = self.flow(packet, arena);
                flow.sent.add(now);
                flow.sent_packets += 1;
                flow.sent_bytes += u64::from(packet.wire_len());
                let known = OnTheWay { made_at: now, forwarded: 0 };
                self.on_the_way.insert(packet, arena, known);
            }
            PacketEvent::Arrived(link) if self.to_host[link.index()] => {
                self.received(now, packet, arena);
            }
            PacketEvent::Arrived(_) => {
                if let Some(known) = self.on_the_way.get_mut(packet, arena) {
                    known.forwarded += 1;
                }
            }
            PacketEvent::Dropped(_, reason) => {
                self.on_the_way.remove(packet, arena);
                let flow = self.flow(packet, arena);
                flow.lost_packets += 1;
                if let Some(code) = code(reason) {
                    flow.dropped[code].0 += 1;
                    flow.dropped[code].1 += u64::from(packet.wire_len());
                }
            }
            PacketEvent::Queued(_) | PacketEvent::Held(_) => {}
        }
    }

    /// The totals of the direction of `packet`; numbers from 1, in the order of first packets.
    fn flow(&mut self, packet: &Packet, arena: &Arena) -> &mut Totals {
        let number = self.flows.len() + 1;
        let new = || Totals { number, ..Totals::default() };
        self.flows.entry(Direction::of(packet, arena)).or_insert_with(new)
    }

    fn received(&mut self, now: Time, packet: &Packet, arena: &Arena) {
        // A router cut it out of another packet, or it came from outside.
        let Some(known) = self.on_the_way.remove(packet, arena) else { return };
        let flow = self.flow(packet, arena);
        let delay = now.since(known.made_at);
        flow.received.add(now);
        flow.received_packets += 1;
        flow.received_bytes += u64::from(packet.wire_len());
        flow.forwarded += known.forwarded;
        flow.delay_sum += delay;
        if let Some(last) = flow.last_delay {
            flow.jitter_sum += Span::from_nanos(last.as_nanos().abs_diff(delay.as_nanos()));
        }
        flow.last_delay = Some(delay);
    }

    pub fn finish(self) -> Result<(), StoreError> {
        let write = || {
            let mut out = BufWriter::new(File::create(&self.path)?);
            self.write(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        };
        write().map_err(StoreError::io("write", &self.path))
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut flows: Vec<(&Direction, &Totals)> = self.flows.iter().collect();
        flows.sort_by_key(|(_, totals)| totals.number);
        writeln!(out, "<?xml version=\"1.0\" ?>\n<FlowMonitor>\n  <FlowStats>")?;
        for (_, totals) in &flows {
            totals.write(out)?;
        }
        let version = match self.version {
            IpVersion::V4 => 4,
            IpVersion::V6 => 6,
        };
        writeln!(out, "  </FlowStats>\n  <Ipv{version}FlowClassifier>")?;
        for (direction, totals) in &flows {
            let [src, dst] = [direction.src, direction.dst].map(|addr| self.address(addr));
            let (from, to) = direction.ports.unwrap_or_default();
            writeln!(
                out,
                "    <Flow flowId=\"{}\" sourceAddress=\"{src}\" destinationAddress=\"{dst}\" \
                 protocol=\"6\" sourcePort=\"{from}\" destinationPort=\"{to}\" />",
                totals.number
            )?;
        }
        writeln!(out, "  </Ipv{version}FlowClassifier>\n  <FlowProbes>\n  </FlowProbes>")?;
        writeln!(out, "</FlowMonitor>")
    }

    fn address(&self, addr: Addr) -> String {
        let plan = AddressPlan::default();
        match self.version {
            IpVersion::V4 => {
                let bytes = plan.to_v4(addr).expect("every address of a run is in its plan");
                Ipv4Addr::from(bytes).to_string()
            }
            IpVersion::V6 => Ipv6Addr::from(plan.to_v6(addr)).to_string(),
        }
    }
}

impl Totals {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let ((first_tx, last_tx), (first_rx, last_rx)) = (self.sent.ns(), self.received.ns());
        let last_delay = self.last_delay.unwrap_or_default();
        let times = [
            ("timeFirstTxPacket", first_tx),
            ("timeFirstRxPacket", first_rx),
            ("timeLastTxPacket", last_tx),
            ("timeLastRxPacket", last_rx),
            ("delaySum", self.delay_sum.as_nanos()),
            ("jitterSum", self.jitter_sum.as_nanos()),
            ("lastDelay", last_delay.as_nanos()),
        ];
        write!(out, "    <Flow flowId=\"{}\"", self.number)?;
        for (name, ns) in times {
            write!(out, " {name}=\"+{ns}.0ns\"")?;
        }
        let counts = [
            ("txBytes", self.sent_bytes),
            ("rxBytes", self.received_bytes),
            ("txPackets", self.sent_packets),
            ("rxPackets", self.received_packets),
            ("lostPackets", self.lost_packets),
            ("timesForwarded", self.forwarded),
        ];
        for (name, count) in counts {
            write!(out, " {name}=\"{count}\"")?;
        }
        writeln!(out, ">")?;
        let codes = self.dropped.iter().rposition(|&(packets, _)| packets > 0);
        let dropped = &self.dropped[..codes.map_or(0, |last| last + 1)];
        for (code, (packets, _)) in dropped.iter().enumerate() {
            writeln!(out, "      <packetsDropped reasonCode=\"{code}\" number=\"{packets}\" />")?;
        }
        for (code, (_, bytes)) in dropped.iter().enumerate() {
            writeln!(out, "      <bytesDropped reasonCode=\"{code}\" bytes=\"{bytes}\" />")?;
        }
        writeln!(out, "    </Flow>")
    }
}
