//! How many packets one thread can pass on: by the kernel's account alone, and with the machines of
//! a router between. The first is what no router on this machine can exceed.

use crate::clock::Clock;
use crate::lab::{Cable, CableEnd, Lab, LabError, Occupant};
use crate::scheduling::{readable, wait};
use crate::session::{LiveError, address_of};
use crate::turn::{Next, Port, Turns};
use crate::wire::{Backlog, Count, PacketWire, PacketWireError, Packets, Wire};
use forebay_base::{LinkId, NodeId, Span, Time};
use forebay_net::{NetSpec, Place};
use forebay_sim::{Site, SiteOptions};
use nix::time::{ClockId, clock_gettime};
use std::net::IpAddr;
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

/// Passes packets of `len` bytes on for `span`, as fast as they come. To be called inside
/// [`isolate`](crate::isolate()), with two cores free.
pub fn kernel_saturation(len: usize, span: Span) -> Result<Saturation, SaturationError> {
    let mut packet = foreign(len);
    packet[12..20].copy_from_slice(&[10, 0, 0, 0, 10, 0, 0, 1]);
    saturate(&finished(packet), span, |mut from, mut to, clock, end| {
        let mut batch = Packets::default();
        while clock.now() < end {
            from.receive(TURN, |_, packet| batch.push(packet));
            if batch.is_empty() {
                await_packet(&from, clock);
            }
            to.send(&batch);
            batch.clear();
        }
        to.counters()[Count::Sent]
    })
}

/// The same with the machines of a router between. Of `spec`, node 0 is a host, node 1 the router,
/// node 2 a host; links 0 and 2 lead from each to the next. Packets are of a protocol that Forebay
/// does not know.
pub fn router_saturation(
    spec: &NetSpec,
    seed: u64,
    len: usize,
    span: Span,
) -> Result<Saturation, SaturationError> {
    let mut packet = foreign(len);
    for (node, bytes) in [(0, 12..16), (2, 16..20)] {
        match address_of(spec, seed, NodeId(node))? {
            IpAddr::V4(address) => packet[bytes].copy_from_slice(&address.octets()),
            IpAddr::V6(_) => return Err(LiveError::NoAddress(NodeId(node)).into()),
        }
    }
    let place = Place { nodes: vec![NodeId(1)], ..Place::default() };
    let site = Site::new(spec, seed, &place, SiteOptions::default()).map_err(LiveError::Spec)?;
    saturate(&finished(packet), span, |from, to, clock, end| {
        let ports =
            vec![Port::new(from, LinkId(0), LinkId(1)), Port::new(to, LinkId(3), LinkId(2))];
        let mut turns = Turns::new(site, ports, ());
        // More comes than can be passed on: a lag is not an error here.
        loop {
            match turns.turn(|| clock.now(), || end) {
                Ok(Next::End) => break,
                Ok(Next::At(at)) if at > clock.now() => await_packet(&turns.ports()[0].wire, clock),
                Ok(_) => {}
                Err(_) if clock.now() >= end => break,
                Err(_) => {}
            }
        }
        turns.ports()[1].wire.counters()[Count::Sent]
    })
}

/// Waiting is no work. The router has nothing to do either: all its packets leave soon.
fn await_packet(wire: &PacketWire, clock: Clock) {
    let mut files: Vec<_> = wire.fd().map(readable).into_iter().collect();
    let _ = wait(clock, clock.now() + Span::from_micros(100), &mut files);
}

fn saturate(packet: &[u8], span: Span, relay: impl Relay) -> Result<Saturation, SaturationError> {
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
        scope.spawn(|| feed(source, sink, packet, &done));
        let relay = scope.spawn(move || {
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
fn feed(mut source: PacketWire, mut sink: PacketWire, packet: &[u8], done: &AtomicBool) {
    let mut batch = Packets::default();
    (0..TURN).for_each(|_| batch.push(packet));
    while !done.load(Ordering::Relaxed) {
        source.send(&batch);
        while sink.receive(TURN, |_, _| {}) != Backlog::Empty {}
    }
}
