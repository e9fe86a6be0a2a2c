//! The log of a link in the format of mahimahi's mm-link, as `mm-throughput-graph` and
//! `mm-delay-graph` read it.
//!
//! ```text
//! # base timestamp: 0
//! 12 # 1504        an opportunity: the link could carry 1504 bytes in the millisecond 12
//! 12 + 1500        a packet of 1500 bytes came to the queue
//! 14 - 1500 2      it left after 2 ms; the propagation delay is not part of it, as in mm-link
//! 14 d 1 1500      a packet was dropped, in the queue or on the link
//! ```
//!
//! A link of constant rate has an opportunity each millisecond, of the bytes that fit. Lines are in
//! order of time. A packet that is refused counts for the link over which its flow left the node
//! before.

use super::tracked::{Direction, Tracked};
use crate::error::{LinkLogError, StoreError};
use forebay_base::{Arena, LinkId, NodeId, Packet, Span, Time};
use forebay_net::{NetEvent, NetSpec};
use forebay_run::{Capacity, link_arrows};
use forebay_sim::PacketEvent;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

const MS: u64 = 1_000_000;

/// The log of one directed link in the making.
pub(super) struct LinkLog {
    path: PathBuf,
    out: BufWriter<File>,
    link: LinkId,
    from: NodeId,
    delay: Span,
    capacity: Capacity,
    /// Bytes in a line of capacity; None: all that fit into a millisecond.
    opportunity_bytes: Option<u32>,
    /// Capacity is written up to this millisecond, and so many bytes.
    capacity_ms: u64,
    capacity_bytes: u64,
    queued: Tracked<Time>,
    /// By flow, the link over which its latest packet left the node.
    ways: BTreeMap<Direction, LinkId>,
    /// Lines that wait for departures before them, which show only at the far end.
    held_back: VecDeque<(Time, String)>,
}

/// Ok if the log of `link` can be written: what arrives at its far end left it a known time before.
fn check(spec: &NetSpec, link: LinkId, name: &str) -> Result<(), LinkLogError> {
    let wire = &spec.links[link.index()].wire;
    let moves = |of: &NetEvent| matches!(of, NetEvent::Delay(other, _) if *other == link);
    let why = if wire.jitter > Span::ZERO {
        "it has jitter"
    } else if wire.late.is_some() {
        "packets leave for it late (`--late`)"
    } else if spec.events.iter().any(|timed| moves(&timed.event)) {
        "an event changes its delay"
    } else {
        return Ok(());
    };
    Err(LinkLogError { link: name.to_string(), why })
}

impl LinkLog {
    pub fn create(path: PathBuf, spec: &NetSpec, link: LinkId) -> Result<LinkLog, StoreError> {
        let name = link_arrows(spec).swap_remove(link.index());
        check(spec, link, &name)?;
        let capacity = Capacity::of(spec, link);
        let opportunity_bytes = match &capacity {
            Capacity::Trace(trace, _) => Some(trace.bytes_per_opportunity()),
            Capacity::Rates(_) => None,
        };
        let of = &spec.links[link.index()];
        let create = || {
            let mut out = BufWriter::new(File::create(&path)?);
            writeln!(out, "# mahimahi mm-link ({name}) written by Forebay")?;
            writeln!(out, "# base timestamp: 0")?;
            Ok(out)
        };
        let out = create().map_err(StoreError::io("create", &path))?;
        Ok(LinkLog {
            out,
            path,
            link,
            from: of.from,
            delay: of.wire.delay,
            capacity,
            opportunity_bytes,
            capacity_ms: 0,
            capacity_bytes: 0,
            queued: Tracked::default(),
            ways: BTreeMap::new(),
            held_back: VecDeque::new(),
        })
    }

    pub fn packet(
        &mut self,
        now: Time,
        event: PacketEvent,
        packet: &Packet,
        arena: &Arena,
    ) -> Result<(), StoreError> {
        let written = self.event(now, event, packet, arena);
        written.map_err(StoreError::io("write", &self.path))
    }

    fn event(
        &mut self,
        now: Time,
        event: PacketEvent,
        packet: &Packet,
        arena: &Arena,
    ) -> io::Result<()> {
        let (ms, bytes) = (now.as_nanos() / MS, packet.wire_len());
        match event {
            PacketEvent::Queued(link) => {
                self.ways.insert(Direction::of(packet, arena), link);
                if link == self.link {
                    self.queued.insert(packet, arena, now);
                    self.held_back.push_back((now, format!("{ms} + {bytes}")));
                }
            }
            PacketEvent::Arrived(link) if link == self.link => {
                let left_at = Time::from_nanos(now.since(Time::ZERO + self.delay).as_nanos());
                self.release(left_at)?;
                let came_at = self.queued.remove(packet, arena);
                let left_ms = left_at.as_nanos() / MS;
                let waited_ms = came_at.map_or(0, |came| left_ms - came.as_nanos() / MS);
                writeln!(self.out, "{left_ms} - {bytes} {waited_ms}")?;
            }
            PacketEvent::Dropped(node, _) if node == self.from => {
                let was_queued = self.queued.remove(packet, arena).is_some();
                let way = self.ways.get(&Direction::of(packet, arena));
                if was_queued || way == Some(&self.link) {
                    if !was_queued {
                        self.held_back.push_back((now, format!("{ms} + {bytes}")));
                    }
                    self.held_back.push_back((now, format!("{ms} d 1 {bytes}")));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Write what comes before a departure at `until`.
    fn release(&mut self, until: Time) -> io::Result<()> {
        while self.held_back.front().is_some_and(|(at, _)| *at <= until) {
            let Some((at, line)) = self.held_back.pop_front() else { break };
            self.write_capacity(at)?;
            writeln!(self.out, "{line}")?;
        }
        self.write_capacity(until)
    }

    /// Write the opportunities up to the millisecond of `until`.
    fn write_capacity(&mut self, until: Time) -> io::Result<()> {
        while self.capacity_ms < until.as_nanos() / MS {
            self.capacity_ms += 1;
            let ms = self.capacity_ms;
            let so_far = self.capacity.bytes_until(Time::from_nanos(ms * MS)) as u64;
            let line_bytes = self.opportunity_bytes.map(u64::from);
            while self.capacity_bytes < so_far {
                let bytes = line_bytes.unwrap_or(so_far - self.capacity_bytes);
                writeln!(self.out, "{ms} # {bytes}")?;
                self.capacity_bytes += bytes;
            }
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<(), StoreError> {
        let last = self.held_back.back().map(|(at, _)| *at);
        let path = self.path.clone();
        let mut finish = || {
            self.release(last.unwrap_or_default())?;
            self.out.flush()?;
            self.out.get_ref().sync_all()
        };
        finish().map_err(StoreError::io("write", &path))
    }
}
