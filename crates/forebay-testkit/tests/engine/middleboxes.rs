//! What boxes on a link do to packets, and what forged packets do to hosts.

use forebay_base::{DropReason, LinkId, NodeId, Rate, Span, Time, kind};
use forebay_cc::{AnyController, Init, Spec};
use forebay_net::{
    Fragments, Knowledge, Look, MiddleboxSpec, NetEvent, SpoofedPacket, StripOptions,
};
use forebay_sim::{FewerThreads, Options, PacketEvent, Simulation, Status};
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};

fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

/// a - left - right - b. Packets of 1500 bytes are cut on the link from left to right, which has
/// an MTU of 800 bytes; the link from right to b has the middlebox. The flow has `bytes`.
struct Line {
    world: World,
    last: LinkId,
    right: NodeId,
}

const BYTES: u64 = 400_000;

fn line(middlebox: MiddleboxSpec, config: TcpConfig) -> Line {
    let mut world = World::new();
    let (left, right) = (world.router("left"), world.router("right"));
    let (a, b) = (world.host("a"), world.host("b"));
    let access = link(Rate::mbps(100), Span::from_millis(1), 1_000_000);
    world.join(a, left, access.clone());
    let middle = link(Rate::mbps(10), Span::from_millis(10), 30_000);
    world.join(left, right, middle.with_wire(|wire| wire.mtu_bytes = 800));
    let boxed = access.clone().with_wire(|wire| wire.middlebox = Some(middlebox));
    let last = world.join_with(right, b, boxed, access);
    let transport = world.transport("newreno", config, newreno);
    world.flow((a, b), Time::ZERO, Some(BYTES), transport);
    Line { world, last, right }
}

/// TCP whose packets routers may cut.
fn cut() -> TcpConfig {
    TcpConfig { dont_fragment: false, ..PRESETS[0].config }
}

fn fragments(fragments: Fragments) -> MiddleboxSpec {
    MiddleboxSpec { fragments, ..MiddleboxSpec::default() }
}

fn run(world: &World, options: Options) -> Simulation {
    let mut sim = Simulation::new(&world.spec, 3, options).expect("a sound network");
    let _ = sim.run_until(Time::from_secs(100)).expect("packets are conserved");
    sim
}

/// The run, and the same hash by bytes, by the simple engine, and in three threads.
fn checked(world: &World) -> Simulation {
    let sim = run(world, Options::default());
    for options in [
        Options { bytes: true, ..Options::default() },
        Options { general: true, ..Options::default() },
        Options { threads: 3, ..Options::default() },
    ] {
        let name = (options.bytes, options.general, options.threads);
        assert_eq!(run(world, options).trace_hash(), sim.trace_hash(), "{name:?}");
    }
    sim
}

/// Of each packet that comes over `link`: when, its length, the offset if it is a fragment, and its
/// TCP options.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    at: Time,
    len: u16,
    piece: Option<(u16, bool, u16)>,
    kinds: Vec<u8>,
}

fn seen_on(world: &World, link: LinkId) -> (Simulation, Vec<Seen>) {
    let notes: Notes<Seen> = Notes::default();
    let written = notes.clone();
    let tap = Tap::new(move |at, event, packet, arena| {
        if event == PacketEvent::Arrived(link) {
            let cold = packet.cold_part(arena);
            let piece = cold.and_then(|c| c.piece.map(|p| (p.offset, p.more, c.ip_id as u16)));
            let options = cold.map(|c| c.tcp_options.iter().map(|o| o.kind).collect());
            let (len, kinds) = (packet.wire_len(), options.unwrap_or_default());
            written.push(Seen { at, len, piece, kinds });
        }
    });
    let sim = run(world, Options { observer: Some(Box::new(tap)), ..Options::default() });
    let seen = notes.read().clone();
    (sim, seen)
}

fn completed(sim: &Simulation) -> Option<Time> {
    sim.flow(forebay_base::FlowId(0)).completed_at
}

/// Both SYNs carry SACK-permitted; the box takes it from that of the client, so that no end uses
/// SACK (RFC 2018 section 2). The lengths of packets do not change.
#[test]
fn stripped_options_are_gone_and_counted() {
    let config = PRESETS[0].config;
    let mut plain = line(MiddleboxSpec::default(), config);
    plain.world.spec.links[2].wire.mtu_bytes = 1500;
    let (_, before) = seen_on(&plain.world, plain.last);
    assert!(before[0].kinds.contains(&kind::SACK_PERMITTED));
    let strip = StripOptions::Kinds(vec![kind::SACK_PERMITTED]);
    let mut boxed = line(MiddleboxSpec { strip, ..MiddleboxSpec::default() }, config);
    boxed.world.spec.links[2].wire.mtu_bytes = 1500;
    let (sim, after) = seen_on(&boxed.world, boxed.last);
    assert!(!after[0].kinds.contains(&kind::SACK_PERMITTED));
    assert_eq!((after[0].at, after[0].len), (before[0].at, before[0].len));
    assert_eq!(sim.link(boxed.last).middlebox().options_stripped, 1);
    let (_, answers) = seen_on(&boxed.world, boxed.last.opposite());
    assert!(answers.iter().all(|s| !s.kinds.contains(&kind::SACK_PERMITTED)));
    assert!(answers.iter().all(|s| !s.kinds.contains(&kind::SACK)));
    checked(&boxed.world);
}

#[test]
fn df_that_a_box_sets_makes_packets_too_big_for_the_next_link() {
    let mut line = line(MiddleboxSpec::default(), cut());
    let set_df = MiddleboxSpec { set_df: true, ..MiddleboxSpec::default() };
    line.world.spec.links[0].wire.middlebox = Some(set_df);
    let sim = checked(&line.world);
    assert_eq!(completed(&sim), None);
    let too_big = sim.drops().count(DropReason::TooBig);
    let set = sim.link(LinkId(0)).middlebox().df_set;
    // The SYN and the ACK of the handshake pass.
    assert!(too_big > 5 && set == too_big + 2, "{too_big} of {set}");
    assert_eq!(sim.drops().total(), too_big);
}

#[test]
fn a_box_that_drops_fragments_lets_the_handshake_pass_and_no_data() {
    let line = line(fragments(Fragments::Drop), cut());
    let sim = checked(&line.world);
    assert_eq!(completed(&sim), None);
    assert!(sim.flow(forebay_base::FlowId(0)).established_at.is_some());
    assert_eq!(sim.flow(forebay_base::FlowId(0)).received_bytes, 0);
    let [dropped, all] = [sim.drops().count(DropReason::Middlebox), sim.drops().total()];
    assert!(dropped >= 20 && dropped == all, "{dropped} of {all}");
}

/// The host sees whole packets only. What reassembly gives up are fragments whose others the queue
/// dropped, of which the box keeps the rest; all others it counts.
#[test]
fn a_box_that_puts_datagrams_together_sends_them_on_whole() {
    let line = line(fragments(Fragments::Whole), cut());
    let (sim, seen) = seen_on(&line.world, line.last);
    assert!(seen.iter().all(|s| s.piece.is_none()));
    let full = seen.iter().filter(|s| s.len == 1500).count() as u64;
    // Each came in two.
    assert_eq!(sim.link(line.last).middlebox().fragments_merged, full);
    assert!(full >= BYTES / 1448, "{full}");
    assert!(completed(&sim).is_some());
    checked(&line.world);
}

/// As Linux with connection tracking: both fragments come when the second has, in order, as they
/// were cut, though the first was there before.
#[test]
fn a_box_that_holds_pieces_sends_them_on_as_they_came() {
    let (held, passed) = (fragments(Fragments::Pieces), fragments(Fragments::Pass));
    let [(_, held), (sim, passed)] = [held, passed].map(|middlebox| {
        let line = line(middlebox, cut());
        let (sim, seen) = seen_on(&line.world, line.last);
        assert!(completed(&sim).is_some());
        checked(&line.world);
        (sim, seen)
    });
    assert_eq!(sim.link(LinkId(4)).middlebox(), Default::default());
    let first = |seen: &[Seen]| seen.iter().position(|s| s.piece.is_some()).expect("pieces");
    let (held, passed) = (&held[first(&held)..][..2], &passed[first(&passed)..][..2]);
    for (a, b) in held.iter().zip(passed) {
        assert_eq!((a.len, a.piece), (b.len, b.piece));
    }
    assert_eq!(held[0].len, 796);
    assert_eq!((held[0].at, held[1].at), (passed[1].at, passed[1].at));
    assert!(passed[0].at < passed[1].at);
}

/// A datagram that does not fit the MTU of the link goes on in its fragments.
#[test]
fn a_box_does_not_join_what_the_link_cannot_carry() {
    let mut line = line(fragments(Fragments::Whole), cut());
    line.world.spec.links[4].wire.mtu_bytes = 1400;
    let (sim, seen) = seen_on(&line.world, line.last);
    assert_eq!(sim.link(line.last).middlebox().fragments_merged, 0);
    assert!(seen.iter().any(|s| s.len == 796));
    assert!(completed(&sim).is_some());
}

/// Three forged fragments 1 s after the flow began; those behind `right` see them.
fn attacked(knows: Knowledge, lead_bytes: u16) -> Line {
    let mut line = line(MiddleboxSpec::default(), cut());
    line.world.spec.flows[0].bytes = Some(3_000_000);
    for i in 0..3 {
        let (node, flow) = (line.right, forebay_base::FlowId(0));
        let forgery =
            SpoofedPacket { node, flow, look: Look::Fragment { lead_bytes }, knows, draw: 77 + i };
        line.world.event(Time::from_millis(1_000 + i), NetEvent::Forge(forgery));
    }
    line
}

/// The addresses, ports and sequence numbers of what was forged, next to those of the flow: RFC 791
/// and RFC 9293 say where they stand.
#[test]
fn who_forges_knows_what_it_is_said_to_know() {
    for knows in [Knowledge::Receiver, Knowledge::Addresses, Knowledge::Ports, Knowledge::Sequence]
    {
        let line = attacked(knows, 32);
        let notes: Notes<(bool, bool, u32)> = Notes::default();
        let (written, mut own) = (notes.clone(), None);
        let last = line.last;
        let tap = Tap::new(move |_, event, packet, arena| {
            if event != PacketEvent::Arrived(last) {
                return;
            }
            let cold = packet.cold_part(arena);
            if let (Some(fields), Some(ports)) = (packet.tcp_fields(), packet.ports()) {
                own.get_or_insert((packet.src(), packet.dst(), ports, fields.seq));
            }
            let Some(body) = cold.and_then(|cold| cold.body.as_ref()) else { return };
            let (src, dst, ports, isn) = own.expect("the SYN came before");
            assert_eq!((packet.wire_len(), body.len(), packet.dst()), (52, 32, dst));
            let word = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
            let seq = u32::from(word(4)) << 16 | u32::from(word(6));
            assert_eq!(packet.ports(), Some((word(0), word(2))));
            let same = (packet.src() == src, packet.ports() == Some(ports));
            written.push((same.0, same.1, seq.wrapping_sub(isn)));
        });
        let sim = run(&line.world, Options { observer: Some(Box::new(tap)), ..Options::default() });
        let seen = notes.read().clone();
        assert_eq!(seen.len(), 3);
        for (address, ports, behind_isn) in seen {
            assert_eq!(address, knows >= Knowledge::Addresses);
            assert_eq!(ports, knows >= Knowledge::Ports);
            let in_window = (1..=3_000_000).contains(&behind_isn);
            assert_eq!(in_window, knows == Knowledge::Sequence, "{behind_isn}");
        }
        // No tail comes: the fragments wait at the host.
        assert!(completed(&sim).is_some());
        checked(&line.world);
    }
}

#[test]
fn a_host_that_forges_sends_over_its_own_link() {
    let mut line = attacked(Knowledge::Ports, 1480);
    let evil = line.world.host("evil");
    let own = line.world.join(evil, line.right, link(Rate::mbps(1), Span::from_millis(5), 100_000));
    for event in &mut line.world.spec.events {
        if let NetEvent::Forge(forgery) = &mut event.event {
            forgery.node = evil;
        }
    }
    let (sim, seen) = seen_on(&line.world, own);
    // 1500 bytes at 1 Mbit/s take 12 ms, the link 5 ms more.
    let at: Vec<u64> = seen.iter().map(|s| s.at.as_nanos() / 1_000_000).collect();
    assert_eq!(at, [1_017, 1_029, 1_041]);
    assert!(completed(&sim).is_some());
    checked(&line.world);
}

#[test]
fn only_who_reads_the_receivers_sequence_number_needs_one_thread() {
    for (knows, why) in
        [(Knowledge::Ports, None), (Knowledge::Sequence, Some(FewerThreads::Forged))]
    {
        let options = Options { threads: 2, ..Options::default() };
        let sim = Simulation::new(&attacked(knows, 24).world.spec, 1, options).unwrap();
        assert_eq!(sim.fewer_threads(), why);
    }
    let reason = FewerThreads::Forged.to_string();
    assert!(reason.starts_with("whoever forges packets"), "{reason}");
    let mut sim =
        Simulation::new(&attacked(Knowledge::Ports, 24).world.spec, 1, Options::default()).unwrap();
    assert_eq!(sim.run_until(Time::from_secs(100)).unwrap(), Status::FlowsEnded);
}
