//! One connection over two paths, between hosts with two interfaces each.

use crate::stage::{Scene, live, newreno, simulate};
use forebay_base::{LinkId, NodeId, Rate, Span, Time};
use forebay_net::NetEvent;
use forebay_sim::PacketEvent;
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::PRESETS;

/// Long enough that the slower path has a part: the faster one sends the end alone.
const BYTES: u64 = 2_000_000;

/// Links from the upper and from the lower router to b, and the nodes of the right side.
struct Ends {
    last: [LinkId; 2],
    right: [NodeId; 3],
}

/// Payload bytes that came over each of the last links.
fn scene() -> (Scene<[Notes<u64>; 2]>, Ends) {
    let mut world = World::new();
    let [a, upper, lower, b] =
        [world.host("a"), world.router("upper"), world.router("lower"), world.host("b")];
    let path = |mbps, ms| link(Rate::mbps(mbps), Span::from_millis(ms), 30_000);
    world.join(a, upper, path(8, 5));
    world.join(a, lower, path(4, 10));
    let last = [world.join(upper, b, path(8, 5)), world.join(lower, b, path(4, 10))];
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.multipath_flow((a, b), Some(BYTES), transport, &[(0, 0), (1, 1)]);
    let notes = [Notes::default(), Notes::default()];
    let seen = notes.clone();
    let tap = Tap::new(move |_, event, packet, _| {
        for (link, seen) in last.iter().zip(&seen) {
            if event == PacketEvent::Arrived(*link) && packet.payload_len() > 0 {
                seen.push(packet.payload_len().into());
            }
        }
    });
    (Scene::new(world, notes).with_tap(tap), Ends { last, right: [upper, lower, b] })
}

fn carried(notes: &[Notes<u64>; 2]) -> [u64; 2] {
    notes.each_ref().map(|path| path.read().iter().sum())
}

/// The upper path fails for good, both ways, a third into the transfer.
fn with_failure() -> Scene<[Notes<u64>; 2]> {
    let (mut scene, ends) = scene();
    let upper = ends.last[0];
    for link in [upper, LinkId(upper.0 + 1)] {
        scene.world.event(Time::from_millis(600), NetEvent::Down(link));
    }
    scene
}

#[test]
fn simulated() {
    simulate(
        || scene().0,
        |_, notes| {
            let [upper, lower] = carried(notes);
            assert!(upper + lower >= BYTES);
            // Neither is there for show: the slower one has a third of the rate.
            assert!(upper > BYTES / 10 && lower > BYTES / 10, "{upper} {lower}");
        },
    );
}

#[test]
fn a_path_that_fails_leaves_its_data_to_the_other() {
    simulate(with_failure, |_, notes| {
        let [upper, lower] = carried(notes);
        assert!(upper > 0 && upper < BYTES / 2, "{upper}");
        assert!(lower >= BYTES - upper, "{upper} {lower}");
    });
}

#[test]
fn in_real_time() {
    let (_, Ends { right, .. }) = scene();
    live(
        || scene().0,
        &right,
        |_, notes| {
            let [upper, lower] = carried(notes);
            assert!(upper > 0 && lower > 0 && upper + lower >= BYTES, "{upper} {lower}");
        },
    );
}
