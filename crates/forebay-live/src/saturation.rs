//! How many packets one thread can pass on: by the kernel's account alone, and with the machines of
//! a router between. The first is what no router on this machine can exceed.

use crate::clock::Clock;
use crate::demand::Capacity;
use crate::lab::{Cable, CableEnd, Lab, LabError, Occupant};
use crate::scheduling::{hurry, readable, wait};
use crate::session::{LiveError, address_of};
use crate::turn::{Next, Port, Turns};
use crate::wire::{Backlog, Count, PacketWire, PacketWireError, Packets, Wire};
use forebay_base::{LinkId, NodeId, Rate, Span, Time};
use forebay_net::{ForwardingSpec, Limit, LinkSpec, NetSpec, NodeKind, NodeSpec, Place};
use forebay_sim::{Exit, RealWires, Site, SiteOptions};
use nix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What one thread passed on from a receive ring to `sendmmsg`.
#[derive(Clone, Copy, Debug)]
pub struct Saturation {
    /// Number of packets.
    pub packets: u64,
    /// CPU time of the thread, the kernel's share included.
    pub cpu: Duration,
}

impl Saturation {
    /// Packets in a second of CPU time.
    pub fn packets_per_cpu_s(&self) -> f64 {
        self.packets as f64 / self.cpu.as_secs_f64()
    }
}

/// Why it cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum SaturationError {
    /// No laboratory.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// No interface.
    #[error(transparent)]
    Wire(#[from] PacketWireError),
    /// No machines.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// Packets in a ring, and in one turn of the sender.
const FRAMES: usize = 4096;
const TURN: usize = 64;
/// Of packets that are sent, Ethernet headers apart.
const MTU_BYTES: usize = 1508;

/// What passes packets on, with its wires, until the time given; it is in namespace 1 of three.
trait Relay: FnOnce(PacketWire, PacketWire, Clock, Time) -> u64 + Send {}
impl<F: FnOnce(PacketWire, PacketWire, Clock, Time) -> u64 + Send> Relay for F {}

/// How packets come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// As fast as they can be sent.
    Flood,
    /// One at a time, with this between two.
    Every(Span),
}

/// A router between two hosts, and a packet from the one to the other.
pub struct Crossing<'a> {
    spec: &'a NetSpec,
    seed: u64,
    router: NodeId,
    /// The link over which packets come, and the one over which they leave.
    links: [LinkId; 2],
    packet: Vec<u8>,
}

impl<'a> Crossing<'a> {
    /// The way from the first to the second host of `spec`, over the router between them, for IPv4
    /// packets of `len` bytes of a protocol that Forebay does not know. None if it is another
    /// network.
    pub fn foreign(
        spec: &'a NetSpec,
        seed: u64,
        len: usize,
    ) -> Result<Option<Crossing<'a>>, LiveError> {
        let Some((router, hosts, links)) = middle(spec) else { return Ok(None) };
        let mut packet = foreign(len);
        for (host, bytes) in hosts.into_iter().zip([12..16, 16..20]) {
            let IpAddr::V4(address) = address_of(spec, seed, host)? else { return Ok(None) };
            packet[bytes].copy_from_slice(&address.octets());
        }
        Ok(Some(Crossing { spec, seed, router, links, packet: finished(packet) }))
    }
    /// The same for the first packet of at least `least` bytes that the first host sends. None if
    /// it sends none in the first second.
    pub fn of_host(
        spec: &'a NetSpec,
        seed: u64,
        least: usize,
    ) -> Result<Option<Crossing<'a>>, LiveError> {
        const TURN: Span = Span::from_millis(1);
        let Some((router, _, links)) = middle(spec) else { return Ok(None) };
        let site = |node| {
            let place = Place { nodes: vec![NodeId(node)], ..Place::default() };
            Site::new(spec, seed, &place, SiteOptions::default()).map_err(LiveError::Spec)
        };
        let sites = (0..spec.nodes.len() as u32).map(site);
        let mut sites = sites.collect::<Result<Vec<Site>, LiveError>>()?;
        for turn in 1..=1000 {
            let mut left: Vec<(Time, LinkId, Vec<u8>)> = Vec::new();
            for site in &mut sites {
                site.run_until(Time::ZERO + TURN * turn);
                site.exits(|Exit { link, at, bytes, .. }| left.push((at, link, bytes.to_vec())));
            }
            for (at, link, packet) in left {
                if link == links[0] && packet.len() >= least {
                    return Ok(Some(Crossing { spec, seed, router, links, packet }));
                }
                let to = spec.links[link.index()].to;
                sites[to.index()].push(at, link, &packet).expect("the link ends there");
            }
        }
        Ok(None)
    }
    /// What is passed on.
    pub fn packet(&self) -> &[u8] {
        &self.packet
    }
}

/// The router between the first two hosts, these, and the links from the one over it to the other.
fn middle(spec: &NetSpec) -> Option<(NodeId, [NodeId; 2], [LinkId; 2])> {
    let numbered = || (0..).map(NodeId).zip(&spec.nodes);
    let mut hosts = numbered().filter(|(_, node)| matches!(node.kind, NodeKind::Host));
    let [a, b] = [hosts.next()?.0, hosts.next()?.0];
    let router = numbered().find(|(_, node)| matches!(node.kind, NodeKind::Router(_)))?.0;
    let find = |from, to| {
        let joins = |link: &LinkSpec| link.from == from && link.to == to;
        Some(LinkId(spec.links.iter().position(joins)? as u32))
    };
    Some((router, [a, b], [find(a, router)?, find(router, b)?]))
}

/// Passes `packet` on for `span`: with [`Arrivals::Flood`] as fast as it comes, else each so long
/// after it or the one before it as two are apart. To be called inside
/// [`isolate`](crate::isolate()), with two cores free.
pub fn kernel_saturation(
    packet: &[u8],
    arrivals: Arrivals,
    span: Span,
) -> Result<Saturation, SaturationError> {
    saturate(packet, arrivals, span, |mut from, mut to, clock, end| {
        let mut waiting = VecDeque::new();
        let mut batch = Packets::default();
        let mut free = Time::ZERO;
        let mut now = clock.now();
        while now < end {
            from.receive(TURN, |at, packet| match arrivals {
                Arrivals::Flood => batch.push(packet),
                Arrivals::Every(gap) => {
                    free = free.max(at) + gap;
                    waiting.push_back((free, packet.to_vec()));
                }
            });
            now = clock.now();
            while waiting.front().is_some_and(|(at, _): &(Time, Vec<u8>)| *at <= now) {
                batch.push(&waiting.pop_front().expect("there is one").1);
            }
            if !batch.is_empty() {
                to.send(&batch);
                batch.clear();
            } else {
                let next = waiting.front().map_or(end, |&(at, _)| at);
                await_packet(&[&from], clock, next);
            }
        }
        to.counters()[Count::Sent]
    })
}

/// The same with the machines of the router: what they pass on leaves by the rates of their links.
pub fn router_saturation(
    crossing: &Crossing<'_>,
    arrivals: Arrivals,
    span: Span,
) -> Result<Saturation, SaturationError> {
    let Crossing { spec, seed, router, links: [incoming, outgoing], ref packet } = *crossing;
    let place = Place { nodes: vec![router], ..Place::default() };
    // As in a live run: no link has a short cut that a lost wire forbids.
    let options = SiteOptions { real: Some(RealWires::default()), ..SiteOptions::default() };
    let site = Site::new(spec, seed, &place, options).map_err(LiveError::Spec)?;
    saturate(packet, arrivals, span, |from, to, clock, end| {
        let from = Port::new(from, incoming, incoming.opposite());
        let to = Port::new(to, outgoing.opposite(), outgoing);
        let mut turns = Turns::new(site, vec![from, to], ());
        // More comes than can be passed on: a lag is not an error here.
        loop {
            match turns.turn(|| clock.now(), || end) {
                Ok(Next::End) => break,
                Ok(Next::At(at)) if at > clock.now() => {
                    let ports = turns.ports();
                    await_packet(&[&ports[0].wire, &ports[1].wire], clock, at);
                }
                Ok(_) => {}
                Err(_) if clock.now() >= end => break,
                Err(_) => {}
            }
        }
        turns.ports()[1].wire.counters()[Count::Sent]
    })
}

/// What the threads of this machine can do: a plain router with full packets, measured once in a
/// process, in less than 0.3 s. To be called inside [`isolate`](crate::isolate()).
pub fn measured_capacity() -> Result<Capacity, SaturationError> {
    static MEASURED: OnceLock<Capacity> = OnceLock::new();
    const SPAN: Span = Span::from_millis(200);
    const PACKET_BYTES: usize = 1500;
    if let Some(&known) = MEASURED.get() {
        return Ok(known);
    }
    let spec = two_links();
    let crossing = Crossing::foreign(&spec, 1, PACKET_BYTES)?;
    let crossing = crossing.expect("two IPv4 hosts beside a router");
    let measured = router_saturation(&crossing, Arrivals::Flood, SPAN)?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let per_thread_pps = measured.packets_per_cpu_s();
    Ok(*MEASURED.get_or_init(|| Capacity { per_thread_pps, cores }))
}

/// Two hosts beside a router, over links that are no limit.
fn two_links() -> NetSpec {
    let mut spec = NetSpec::default();
    let kinds = [NodeKind::Host, NodeKind::Router(ForwardingSpec::PlainIp), NodeKind::Host];
    spec.nodes = kinds.map(|kind| NodeSpec { name: String::new(), kind }).into();
    let link = |from, to| {
        let (rate, limit) = (Rate::clamped(100_000_000_000), Limit::Packets(10_000));
        LinkSpec::new(NodeId(from), NodeId(to), rate, Span::from_micros(1), limit)
    };
    spec.links = [(0, 1), (1, 0), (1, 2), (2, 1)].map(|(from, to)| link(from, to)).into();
    spec
}

/// Sleep until a packet comes, or until `until`.
fn await_packet(wires: &[&PacketWire], clock: Clock, until: Time) {
    let mut files: Vec<_> = wires.iter().filter_map(|wire| wire.fd()).map(readable).collect();
    let _ = wait(clock, until.min(clock.now() + Span::from_millis(20)), &mut files);
}

fn saturate(
    packet: &[u8],
    arrivals: Arrivals,
    span: Span,
    relay: impl Relay,
) -> Result<Saturation, SaturationError> {
    let end = |node, name: &str| CableEnd { node, interface: name.to_string() };
    let cable = |a, b| Cable { mtu_bytes: MTU_BYTES as u32, ends: [a, b] };
    let cables = vec![cable(end(0, "out"), end(1, "in")), cable(end(1, "out"), end(2, "in"))];
    let lab = Lab::build(vec![Occupant::Forebay; 3], cables)?;
    let clock = Clock::starting_in(Span::ZERO);
    let open = |node, name, cable, end| -> Result<PacketWire, SaturationError> {
        let far = lab.far_mac(cable, end);
        let open = || PacketWire::open(name, far, MTU_BYTES, FRAMES);
        let mut wire = lab.inside(node, open)??;
        wire.begin(clock);
        Ok(wire)
    };
    let (source, relay_in) = (open(0, "out", 0, 0)?, open(1, "in", 0, 1)?);
    let (relay_out, sink) = (open(1, "out", 1, 0)?, open(2, "in", 1, 1)?);
    let done = AtomicBool::new(false);
    Ok(thread::scope(|scope| {
        scope.spawn(|| feed(source, sink, packet, arrivals, clock, &done));
        let relay = scope.spawn(move || {
            // A flood under SCHED_FIFO would leave nothing to the thread that sends it.
            if arrivals != Arrivals::Flood {
                hurry();
            }
            let before = cpu_time();
            let packets = relay(relay_in, relay_out, clock, clock.now() + span);
            Saturation { packets, cpu: cpu_time() - before }
        });
        let found = relay.join().expect("it passes packets on");
        done.store(true, Ordering::Relaxed);
        found
    }))
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has this clock").into()
}

/// An IPv4 packet of the experimental protocol 253 (RFC 3692), without addresses and checksum.
fn foreign(len: usize) -> Vec<u8> {
    let mut packet = vec![0; len.max(20)];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 253]);
    packet
}

fn finished(mut packet: Vec<u8>) -> Vec<u8> {
    let checksum = forebay_wire::checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// Sends without end, and empties the ring at the other end.
fn feed(
    mut source: PacketWire,
    mut sink: PacketWire,
    packet: &[u8],
    arrivals: Arrivals,
    clock: Clock,
    done: &AtomicBool,
) {
    let mut batch = Packets::default();
    let mut due = clock.now();
    match arrivals {
        Arrivals::Flood => (0..TURN).for_each(|_| batch.push(packet)),
        Arrivals::Every(_) => {
            hurry();
            batch.push(packet);
        }
    }
    while !done.load(Ordering::Relaxed) {
        if let Arrivals::Every(gap) = arrivals {
            due += gap;
            let _ = wait(clock, due, &mut []);
        }
        source.send(&batch);
        while sink.receive(TURN, |_, _| {}) != Backlog::Empty {}
    }
}
