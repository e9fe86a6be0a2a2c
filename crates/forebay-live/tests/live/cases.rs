//! What goes over cables.

use super::Outcome;
use super::signals::pause;
use forebay_base::{Span, Time};
use forebay_live::wire::{Backlog, Count, PacketWire, Packets, Wire};
use forebay_live::{Cable, CableEnd, Clock, Lab, LabError, Occupant, seal, switch_offloads};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::thread;
use std::time::Duration;

const MTU: usize = 1500;
const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const NODE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// No packet on a cable takes longer, on any machine.
const PATIENCE: Duration = Duration::from_secs(10);

fn end(node: usize, interface: &str) -> CableEnd {
    CableEnd { node, interface: interface.to_string() }
}

/// Two nodes joined by one cable, and the clock of the run.
fn pair(first: Occupant, second: Occupant) -> Result<(Lab, Clock), LabError> {
    let ends = [end(0, "left"), end(1, "right")];
    let lab = Lab::build(vec![first, second], vec![Cable { mtu_bytes: MTU as u32, ends }])?;
    Ok((lab, Clock::starting_in(Span::ZERO)))
}

fn open(lab: &Lab, end: usize, clock: Clock) -> Result<PacketWire, Box<dyn std::error::Error>> {
    let (name, far) = (["left", "right"][end], lab.far_mac(0, end));
    let mut wire = lab.inside(end, || PacketWire::open(name, far, MTU, 256))??;
    wire.begin(clock);
    Ok(wire)
}

/// An IPv4 packet of the experimental protocol 253 (RFC 3692) with a number in it.
fn numbered(number: u32, len: usize) -> Vec<u8> {
    let mut packet = vec![0; len];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 253]);
    packet[20..24].copy_from_slice(&number.to_be_bytes());
    packet
}

fn send(wire: &mut impl Wire, packets: &[Vec<u8>]) {
    let mut batch = Packets::default();
    packets.iter().for_each(|packet| batch.push(packet));
    wire.send(&batch);
}

/// Packets from a wire until there are `count`, with their times.
fn receive(wire: &mut impl Wire, count: usize, clock: Clock) -> Vec<(Time, Vec<u8>)> {
    let mut found = Vec::new();
    let end = clock.now() + Span::from_nanos(PATIENCE.as_nanos() as u64);
    while found.len() < count && clock.now() < end {
        wire.receive(64, |at, packet| found.push((at, packet.to_vec())));
    }
    found
}

fn expect<T: PartialEq + std::fmt::Debug>(found: T, expected: T, what: &str) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: found {found:?}, expected {expected:?}").into())
}

pub fn packets_cross_a_cable() -> Outcome {
    let (lab, clock) = pair(Occupant::Forebay, Occupant::Forebay)?;
    let (mut left, mut right) = (open(&lab, 0, clock)?, open(&lab, 1, clock)?);
    let sent: Vec<Vec<u8>> = (0..200).map(|n| numbered(n, 24 + 7 * n as usize)).collect();
    for swapped in [false, true] {
        let (from, to) = if swapped { (&mut right, &mut left) } else { (&mut left, &mut right) };
        let before = clock.now();
        // A batch and more, with sizes up to nearly the MTU.
        send(from, &sent);
        let got = receive(to, sent.len(), clock);
        let bytes: Vec<Vec<u8>> = got.iter().map(|(_, packet)| packet.clone()).collect();
        expect(bytes == sent, true, "the same packets in the same order")?;
        let times: Vec<Time> = got.iter().map(|(at, _)| *at).collect();
        expect(times.is_sorted(), true, "ascending times")?;
        // 100 us: how exactly two clocks can be read together on a busy machine.
        let sound =
            times[0] + Span::from_micros(100) >= before && *times.last().unwrap() <= clock.now();
        expect(sound, true, "times between sending and reading")?;
        expect(to.receive(64, |_, _| {}), Backlog::Empty, "the ring is empty")?;
    }
    // Nothing else was on the cable: no ARP, no neighbour discovery, no copy of what was sent.
    for wire in [&mut left, &mut right] {
        let counters = wire.counters();
        expect((counters[Count::Received], counters[Count::Sent]), (200, 200), "counts")?;
        expect(counters.dropped(), 0, "drops")?;
        expect(wire.carrier(), true, "carrier")?;
    }
    Ok(())
}

pub fn what_does_not_fit_is_counted() -> Outcome {
    let (lab, clock) = pair(Occupant::Forebay, Occupant::Forebay)?;
    let (mut left, mut right) = (open(&lab, 0, clock)?, open(&lab, 1, clock)?);
    let mut short = numbered(0, 100);
    short.truncate(60);
    let mut stranger = numbered(1, 100);
    stranger[0] = 0x55;
    send(&mut left, &[numbered(1, MTU), numbered(2, MTU + 1), short, stranger, numbered(3, 24)]);
    let got = receive(&mut right, 2, clock);
    let lengths: Vec<usize> = got.iter().map(|(_, packet)| packet.len()).collect();
    expect(lengths, vec![MTU, 24], "the packets around those that do not fit")?;
    expect(left.counters()[Count::TooBig], 1, "EMSGSIZE")?;
    expect(left.counters()[Count::Sent], 4, "sent")?;
    let counters = right.counters();
    expect((counters[Count::Truncated], counters.dropped()), (2, 2), "drops at the other end")
}

pub fn a_host_of_the_kernel_answers() -> Outcome {
    let kernel = Occupant::Kernel(vec![IpAddr::V4(KERNEL)]);
    let (lab, clock) = pair(kernel, Occupant::Forebay)?;
    let mut wire = open(&lab, 1, clock)?;
    let socket = lab.inside(0, || UdpSocket::bind((KERNEL, 7)))??;
    socket.set_read_timeout(Some(PATIENCE))?;
    let question = [7u8; 333];
    socket.send_to(&question, (NODE, 9))?;
    let got = receive(&mut wire, 1, clock);
    let (_, packet) = got.first().ok_or("the datagram of the kernel")?;
    let parsed = forebay_wire::checksum::checksum(&packet[..20]);
    expect((parsed, packet.len()), (0, 20 + 8 + 333), "an IP header with its checksum")?;
    // The answer: addresses and ports exchanged, which changes no checksum.
    let mut answer = packet.clone();
    answer[12..16].copy_from_slice(&packet[16..20]);
    answer[16..20].copy_from_slice(&packet[12..16]);
    answer[20..22].copy_from_slice(&packet[22..24]);
    answer[22..24].copy_from_slice(&packet[20..22]);
    send(&mut wire, &[answer]);
    let mut bytes = [0; 1024];
    let (len, from) = socket.recv_from(&mut bytes)?;
    expect((&bytes[..len], from.ip()), (&question[..], IpAddr::V4(NODE)), "the answer")?;
    // The UDP checksum came complete from the kernel: it accepted its own.
    expect(wire.counters()[Count::ChecksumCompleted], 0, "offloads are off")?;
    // A kernel that is asked for an address that it does not have keeps quiet.
    expect(wire.counters().dropped(), 0, "no other packets")
}

/// Two hosts of the kernel with a node between them that passes packets on.
fn pass_on(left: &mut PacketWire, right: &mut PacketWire, done: impl Fn() -> bool) {
    let mut batch = Packets::default();
    while !done() {
        for turn in 0..2 {
            let (from, to) =
                if turn == 0 { (&mut *left, &mut *right) } else { (&mut *right, &mut *left) };
            from.receive(64, |_, packet| batch.push(packet));
            to.send(&batch);
            batch.clear();
        }
        // The kernels wait for timeouts most of the time: neither needs this core meanwhile.
        let mut files: Vec<PollFd<'_>> = [&*left, &*right]
            .into_iter()
            .filter_map(Wire::fd)
            .map(|file| PollFd::new(file, PollFlags::POLLIN))
            .collect();
        let _ = poll(&mut files, PollTimeout::from(5u8));
    }
}

/// TCP between two kernels, with offloads on: checksums are completed. Then super-packets.
pub fn offloads_are_noticed() -> Outcome {
    let kernel = |address| Occupant::Kernel(vec![IpAddr::V4(address)]);
    let cable = |a, b| Cable { mtu_bytes: MTU as u32, ends: [a, b] };
    let lab = Lab::build(
        vec![kernel(KERNEL), Occupant::Forebay, kernel(NODE)],
        vec![cable(end(0, "up"), end(1, "a")), cable(end(1, "b"), end(2, "up"))],
    )?;
    let wire = |name, mac| lab.inside(1, || PacketWire::open(name, mac, MTU, 256));
    let (mut a, mut b) = (wire("a", lab.far_mac(0, 1))??, wire("b", lab.far_mac(1, 0))??);
    let transfer = |len: usize| -> Result<_, Box<dyn std::error::Error>> {
        let listener = lab.inside(2, || TcpListener::bind((NODE, 80)))??;
        let server = thread::spawn(move || {
            let mut bytes = Vec::new();
            let stream = listener.accept().map(|(mut stream, _)| stream.read_to_end(&mut bytes));
            stream.and_then(|read| read).map(|_| bytes)
        });
        let client = lab.inside(0, || {
            thread::spawn(move || {
                let address = (NODE, 80).into();
                let mut stream = std::net::TcpStream::connect_timeout(&address, PATIENCE)?;
                stream.write_all(&vec![3; len])
            })
        })?;
        Ok((server, client))
    };
    // With segmentation on, only packets of one segment pass: one for each timeout of TCP.
    for (on, len) in [(false, 400_000), (true, 40_000)] {
        for node in [0, 2] {
            lab.inside(node, || switch_offloads("up", on))??;
        }
        let before = [a.counters(), b.counters()];
        let (server, client) = transfer(len)?;
        pass_on(&mut a, &mut b, || server.is_finished());
        client.join().expect("the client")?;
        let bytes = server.join().expect("the server")?;
        expect(bytes.len(), len, "bytes of the transfer")?;
        let mut since = |count| a.counters()[count] - before[0][count];
        expect(since(Count::ChecksumCompleted) > 0, on, "completed checksums")?;
        expect(since(Count::SuperPacket) > 0, on, "super-packets")?;
        expect(b.counters().dropped() - before[1].dropped(), 0, "drops among ACKs")?;
    }
    Ok(())
}

pub fn an_interface_goes_down_and_comes_back() -> Outcome {
    comes_back(|lab, up| lab.switch(1, "right", up))
}

pub fn an_interface_is_removed_and_made_again() -> Outcome {
    comes_back(|lab, up| if up { lab.plug(0) } else { lab.unplug(0) })
}

/// Sends before, while and after an interface is away.
fn comes_back(switch: impl Fn(&Lab, bool) -> Result<(), LabError>) -> Outcome {
    let (lab, clock) = pair(Occupant::Forebay, Occupant::Forebay)?;
    let (mut left, mut right) = (open(&lab, 0, clock)?, open(&lab, 1, clock)?);
    let refresh = |wire: &mut PacketWire, end: usize| lab.inside(end, || wire.refresh());
    for round in 0..2 {
        send(&mut right, &[numbered(round, 100)]);
        expect(receive(&mut left, 1, clock).len(), 1, "a packet before")?;
        switch(&lab, false)?;
        send(&mut right, &[numbered(7, 100), numbered(8, 100)]);
        expect(right.carrier(), false, "no carrier is noticed by sending")?;
        // The kernel changes the state of the other end a little later.
        let end = clock.now() + Span::from_nanos(PATIENCE.as_nanos() as u64);
        while left.carrier() && clock.now() < end {
            refresh(&mut left, 0)?;
            pause(5);
        }
        expect(left.carrier(), false, "no carrier at the other end")?;
        expect(left.receive(64, |_, _| {}), Backlog::Empty, "nothing arrives")?;
        switch(&lab, true)?;
        while !(left.carrier() && right.carrier()) && clock.now() < end {
            refresh(&mut left, 0)?;
            refresh(&mut right, 1)?;
            pause(5);
        }
        send(&mut right, &[numbered(9, 100)]);
        let got = receive(&mut left, 1, clock);
        expect(got.first().map(|(_, packet)| packet[23]), Some(9), "a packet after")?;
        let counters = right.counters();
        let lost = u64::from(round) + 1;
        expect(counters[Count::CarrierLost], lost, "carrier lost")?;
        expect(counters[Count::InterfaceDown], 2 * lost, "packets that were not sent")?;
    }
    expect(left.counters()[Count::CarrierLost], 2, "carrier lost at the other end")
}

pub fn a_full_ring_is_counted() -> Outcome {
    let (lab, clock) = pair(Occupant::Forebay, Occupant::Forebay)?;
    let (mut left, mut right) = (open(&lab, 0, clock)?, open(&lab, 1, clock)?);
    let sent: Vec<Vec<u8>> = (0..1000).map(|n| numbered(n, 100)).collect();
    send(&mut left, &sent);
    // What is left in a ring arrived no earlier than what was taken last.
    let mut last = Time::ZERO;
    let backlog = right.receive(10, |at, _| last = at);
    expect(backlog, Backlog::Since(last), "a backlog")?;
    let got = receive(&mut right, 246, clock);
    expect(got.len(), 246, "packets that the ring held")?;
    expect(got.iter().all(|(at, _)| *at >= last), true, "times after the first ones")?;
    expect(right.counters()[Count::RingFull], 1000 - 256, "packets that it did not")
}

pub fn plans_are_checked() -> Outcome {
    let kernel = || Occupant::Kernel(vec![IpAddr::V4(KERNEL)]);
    let nodes = || vec![Occupant::Forebay, Occupant::Forebay, kernel(), kernel()];
    let bad: [&[[CableEnd; 2]]; 6] = [
        &[[end(0, "a"), end(4, "b")]],
        &[[end(0, ""), end(1, "b")]],
        &[[end(0, "a-name-of-16-byte"), end(1, "b")]],
        &[[end(0, "a"), end(1, "a")], [end(0, "a"), end(1, "b")]],
        &[[end(0, "a"), end(2, "a")], [end(1, "a"), end(2, "b")]],
        &[[end(2, "a"), end(3, "a")]],
    ];
    for ends in bad {
        let cables = ends.iter().map(|ends| Cable { mtu_bytes: 1500, ends: ends.clone() });
        let refused = matches!(Lab::build(nodes(), cables.collect()), Err(LabError::Plan { .. }));
        expect(refused, true, &format!("refused: {ends:?}"))?;
    }
    let cable = Cable { mtu_bytes: 1, ends: [end(0, "a"), end(1, "b")] };
    let refused = matches!(Lab::build(nodes(), vec![cable]), Err(LabError::Refused { .. }));
    expect(refused, true, "an MTU of one byte")
}

pub fn sealed_threads_keep_their_sockets() -> Outcome {
    let (lab, clock) = pair(Occupant::Forebay, Occupant::Forebay)?;
    let (mut left, mut right) = (open(&lab, 0, clock)?, open(&lab, 1, clock)?);
    let sealed = thread::spawn(move || -> Result<(), String> {
        seal().map_err(|errno| errno.to_string())?;
        let privileged = PacketWire::open("lo", [0; 6], MTU, 256).is_ok();
        send(&mut left, &[numbered(1, 100)]);
        let arrived = receive(&mut right, 1, clock).len();
        if privileged || arrived != 1 {
            return Err(format!("packet sockets: {privileged}, packets: {arrived}"));
        }
        Ok(())
    });
    Ok(sealed.join().expect("the thread")?)
}
