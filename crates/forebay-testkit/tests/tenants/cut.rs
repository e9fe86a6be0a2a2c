//! A port whose egress cuts packets in two, after the idea of Kick-Ass: the length of the first
//! fragment says a number to the receiver, through routers that know of nothing.

use crate::stage::{Line, Scene, line, live, newreno, simulate};
use forebay_base::{
    Addr, Arena, DropLog, DropReason, Endpoint, IpVersion, Packet, Rate, Span, TcpFields, Time,
};
use forebay_cc::{AnyFeedback, Feedback, PieceView};
use forebay_net::{LinkSpec, SchemeSpec};
use forebay_queue::{
    AnyScheme, Backlog, DropTail, Limit, Pipeline, PortContext, PortScheme, TrailingPackets,
};
use forebay_testkit::tap::Notes;
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};
use forebay_wire::{AddressPlan, emit, join, parse};
use std::sync::Arc;

const NUMBERS: u16 = 100;

/// Says 0, 1, 2 … on one packet after the other: the first fragment carries 160 + 8 n bytes.
#[derive(Default)]
struct Cutter {
    next: u16,
}

impl PortScheme for Cutter {
    fn on_arrival(&mut self, _: &mut Packet, _: Backlog, _: &mut PortContext<'_>) {}
    fn leave(
        &mut self,
        packet: Packet,
        behind: &mut TrailingPackets<'_>,
        _: Backlog,
        cx: &mut PortContext<'_>,
    ) -> Packet {
        if packet.payload_len() < 1000 {
            return packet;
        }
        let cut = behind.cut(packet, 8 * (20 + self.next % NUMBERS), cx.arena);
        self.next += u16::from(cut.is_ok());
        cut.unwrap_or_else(|whole| whole)
    }
}

/// Reads the numbers.
struct Reader(Notes<u16>);

impl Feedback for Reader {
    fn on_piece(&mut self, _: Time, piece: &PieceView) {
        if piece.is_leading() {
            self.0.push(piece.payload_bytes / 8 - 20);
        }
    }
}

fn cutting(rate: Rate, delay: Span) -> LinkSpec {
    let scheme = SchemeSpec::Custom(Arc::new(|_| Box::new(Cutter::default())));
    LinkSpec { scheme, ..link(rate, delay, 30_000) }
}

fn scene() -> (Scene<Notes<u16>>, Line) {
    let (mut world, notes) = (World::new(), Notes::default());
    let access = link(Rate::mbps(50), Span::from_millis(1), u64::MAX);
    let there = cutting(Rate::mbps(8), Span::from_millis(4));
    let line = line(&mut world, &access, there, access.clone());
    let config = TcpConfig { dont_fragment: false, ..PRESETS[0].config };
    let reader = notes.clone();
    let feedback = move || AnyFeedback::Custom(Box::new(Reader(reader.clone())));
    let transport = world.transport_with("newreno", config, newreno, feedback);
    world.flow((line.a, line.b), Time::ZERO, Some(300_000), transport);
    (Scene::new(world, notes), line)
}

/// Nothing is lost between the cut and the reader, so it reads every number, in order.
fn reads_all(numbers: &[u16], cuts: u64) {
    let expected = (0..cuts).map(|n| (n % u64::from(NUMBERS)) as u16);
    assert!(numbers.iter().copied().eq(expected), "{cuts} cuts: {numbers:?}");
    assert!(cuts >= 300_000 / 1448);
}

#[test]
fn simulated() {
    simulate(|| scene().0, |sim, read| reads_all(&read.read(), sim.conservation().split));
}

/// With fragments lost after the cut, what is left of their datagrams is of no use, and what is
/// read still in order.
#[test]
fn pieces_are_lost() {
    let lossy = || {
        let (mut scene, line) = scene();
        scene.world.spec.links[line.middle.index() + 2].wire.loss = 0.02;
        scene
    };
    simulate(lossy, |sim, read| {
        assert!(sim.drops().count(DropReason::Loss) > 0);
        let numbers = read.read();
        let steps = numbers.windows(2).map(|w| (w[1] + NUMBERS - w[0]) % NUMBERS);
        assert!(steps.clone().all(|step| (1..10).contains(&step)), "{numbers:?}");
        assert!((numbers.len() as u64) < sim.conservation().split && steps.max() > Some(1));
    });
}

#[test]
fn in_real_time() {
    let (_, Line { far, b, .. }) = scene();
    live(|| scene().0, &[far, b], |run, read| reads_all(&read.read(), run.conservation().split));
}

/// What leaves the port, as bytes and put together by bytes alone, is the packet that came.
#[test]
fn two_pieces_are_the_datagram_byte_for_byte() {
    let (plan, mut arena) = (AddressPlan::default(), Arena::default());
    let end = |id| Endpoint { addr: Addr(id), port: 5000 };
    let mut whole = Packet::tcp(IpVersion::V4, end(1), end(2), TcpFields::default(), 1448);
    whole.set_dont_fragment(false);
    whole.cold_mut(&mut arena).ip_id = 9;
    let bytes_of = |packet: &Packet, arena: &Arena| {
        let mut bytes = Vec::new();
        emit(packet, arena, &plan, &mut bytes).expect("addresses of the plan");
        bytes
    };
    let bytes = bytes_of(&whole, &arena);
    let (mut drops, mut split) = (DropLog::default(), 0);
    let now = Time::ZERO;
    let mut cx = PortContext { now, arena: &mut arena, drops: &mut drops, split: &mut split };
    let cutter = AnyScheme::Custom(Box::new(Cutter { next: 42 }));
    let mut port = Pipeline::new(cutter, DropTail::with_limit(Limit::Packets(1)).into());
    let first = port.leave(whole, &mut cx);
    let second = port.dequeue(&mut cx).expect("the other piece");
    assert_eq!((port.backlog_packets(), *cx.split), (0, 1));
    assert_eq!(first.wire_len(), 20 + 8 * (20 + 42));
    let mut pieces = [first, second]
        .map(|piece| parse(&bytes_of(&piece, &arena), &plan, &mut arena).expect("a fragment"))
        .into();
    let again = join(&mut pieces, &plan, &mut arena).expect("both pieces");
    assert_eq!(bytes_of(&again, &arena), bytes);
}
