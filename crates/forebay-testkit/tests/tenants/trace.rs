//! A link that follows a trace of delivery opportunities, as mahimahi's do.

use crate::stage::{Scene, Window, simulate};
use forebay_base::{Rate, Span, Time};
use forebay_cc::{AnyController, LossPolicy};
use forebay_net::{ChannelSpec, DeliveryTrace, LinkSpec};
use forebay_sim::PacketEvent;
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::PRESETS;
use std::sync::Arc;

const PACKETS: u64 = 2000;
const DELAY: Span = Span::from_millis(5);
/// Opportunities in the ten milliseconds that repeat while there are any.
const PATTERN: [u64; 10] = [0, 1, 0, 2, 5, 1, 0, 0, 3, 1];
/// More than there are in any three milliseconds.
const THREE_MS: u64 = 9;

/// Opportunities of one second in milliseconds, with a silence from 400 to 700 ms.
fn second() -> impl Iterator<Item = u64> {
    let active = (1..=1000).filter(|ms| !(400..700).contains(ms));
    active.flat_map(|ms| (0..PATTERN[ms as usize % 10]).map(move |_| ms))
}

/// One of 1504 bytes for each packet with mahimahi's 4 bytes on top.
fn traced() -> LinkSpec {
    let times = second().chain([1000]).map(Span::from_millis);
    let trace = DeliveryTrace::new(times, 1504).expect("in order");
    let channel = ChannelSpec::Trace { trace: Arc::new(trace), offset: Span::ZERO };
    let link = link(Rate::mbps(1), DELAY, u64::MAX);
    LinkSpec { channel, ..link.with_wire(|wire| wire.overhead_bytes = 4) }
}

#[derive(Clone, Default)]
struct Seen {
    offered: Notes<Time>,
    arrived: Notes<Time>,
}

fn scene() -> Scene<Seen> {
    let (mut world, seen) = (World::new(), Seen::default());
    let (a, r, b) = (world.host("a"), world.router("r"), world.host("b"));
    let fast = link(Rate::mbps(1000), DELAY, u64::MAX);
    world.join(a, r, fast.clone());
    let traced = world.join_with(r, b, traced(), fast);
    // Everything at once, and nothing twice.
    let policy = Some(LossPolicy::TimeoutOnly);
    let make =
        move |_| AnyController::Custom(Box::new(Window { bytes: 1 << 23, policy, edits: None }));
    let transport = world.transport("window", PRESETS[0].config, make);
    world.flow((a, b), Time::ZERO, Some(PACKETS * 1448), transport);
    let log = seen.clone();
    let tap = Tap::new(move |now, event, packet, _| {
        match event {
            _ if packet.payload_len() == 0 => {}
            PacketEvent::Queued(link) if link == traced => log.offered.push(now),
            PacketEvent::Arrived(link) if link == traced => log.arrived.push(now),
            _ => {}
        };
    });
    Scene::new(world, seen).with_tap(tap)
}

/// Opportunities in the closed interval, by counting.
fn opportunities(from: Time, to: Time) -> u64 {
    let within = |second: u64| {
        let times =
            self::second().chain([1000]).map(move |ms| Time::from_millis(1000 * second + ms));
        times.filter(|at| (from..=to).contains(at)).count() as u64
    };
    (0..10).map(within).sum()
}

/// The queue is never empty from the first packet on: all come within three milliseconds, faster
/// than opportunities but for those of one millisecond. So of the opportunities until the last
/// packet has left, all are used but those that came in these three milliseconds at most: packets
/// <= opportunities <= packets + those of three milliseconds.
#[test]
fn goodput_is_the_capacity_of_the_trace() {
    simulate(scene, |_, seen| {
        let (offered, arrived) = (seen.offered.read(), seen.arrived.read());
        assert_eq!((offered.len() as u64, arrived.len() as u64), (PACKETS, PACKETS));
        let (first, last) = (offered[0], arrived[PACKETS as usize - 1] - DELAY);
        let capacity = opportunities(first, last);
        assert!((PACKETS..=PACKETS + THREE_MS).contains(&capacity), "{capacity} from {first:?}");
    });
}
