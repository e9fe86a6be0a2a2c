//! A controller with a timer for each packet (Verus, TCP over links that reorder) that has one
//! packet cut to 600 bytes with DF set, as a probe of the path would be.

use crate::stage::{Line, Scene, Window, line, live, simulate};
use forebay_base::{FlowId, Rate, Span, Time};
use forebay_cc::{AnyController, HeaderEdits, LossPolicy};
use forebay_sim::PacketEvent;
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};

/// The transmission to stamp: the SYN is number 0.
const NUMBER: usize = 6;

/// What the sender puts on the wire: length and DF of each packet with payload.
fn scene() -> (Scene<Notes<(u16, bool)>>, Line) {
    let (mut world, notes) = (World::new(), Notes::default());
    let access = link(Rate::mbps(50), Span::from_millis(1), u64::MAX);
    let middle = link(Rate::mbps(8), Span::from_millis(8), u64::MAX);
    let lossy = middle.clone().with_wire(|wire| wire.loss = 0.03);
    let line = line(&mut world, &access, lossy, middle);
    let edits = HeaderEdits {
        max_wire_len: Some(600),
        dont_fragment: Some(true),
        ..HeaderEdits::default()
    };
    let make = move |_| {
        AnyController::Custom(Box::new(Window {
            bytes: 20 * 1448,
            policy: Some(LossPolicy::GapTimer { num: 2, den: 1 }),
            edits: Some((NUMBER as u64, edits)),
        }))
    };
    let config = TcpConfig { dont_fragment: false, ..PRESETS[0].config };
    let transport = world.transport("window", config, make);
    world.flow((line.a, line.b), Time::ZERO, Some(200 * 1448), transport);
    let (a, seen) = (line.a, notes.clone());
    let tap = Tap::new(move |_, event, packet, _| {
        if event == PacketEvent::Sent(a) && packet.payload_len() > 0 {
            seen.push((packet.wire_len(), packet.dont_fragment()));
        }
    });
    (Scene::new(world, notes).with_tap(tap), line)
}

/// One packet, the right one, is 600 bytes long and must not be cut; the others are full, but for
/// what 548 leaves over.
fn stamped(sent: &[(u16, bool)]) {
    assert_eq!(sent[NUMBER - 1], (600, true));
    assert_eq!(sent.iter().filter(|(_, dont_fragment)| *dont_fragment).count(), 1);
    let short = sent.iter().filter(|(len, _)| *len < 1500 && *len != 600).count();
    assert!(sent.iter().all(|(len, _)| [1500, 600, 52 + 1448 - 548].contains(len)), "{sent:?}");
    assert!(short >= 1, "the last one");
}

#[test]
fn simulated() {
    simulate(
        || scene().0,
        |sim, sent| {
            stamped(&sent.read());
            let counts = sim.flow(FlowId(0)).sender;
            assert!(counts.retransmits > 0 && counts.timeouts == 0, "{counts:?}");
        },
    );
}

#[test]
fn in_real_time() {
    let (_, Line { far, b, .. }) = scene();
    live(|| scene().0, &[far, b], |_, sent| stamped(&sent.read()));
}
