//! What a receiver refuses is dropped for a reason that has a name, and counted once.

use forebay_base::{DropReason, FlowId, Rate, Span, Time};
use forebay_cc::{
    Ack, AnyController, Congestion, Controller, HeaderEdits, Limits, NextPacket, RecoveryOwner,
    Timeout,
};
use forebay_net::{NetEvent, NetSpec};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::reading::{assert_same, read};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};

/// As much as the buffers hold, in packets of 152 bytes: 100 bytes of payload each.
struct Small;

impl Controller for Small {
    fn limits(&self) -> Limits {
        Limits::window(1 << 30)
    }
    fn on_ack(&mut self, _: Time, _: &Ack<'_>) {}
    fn on_congestion(&mut self, _: Time, _: &Congestion) {}
    fn on_rto(&mut self, _: Time, _: &Timeout) {}
    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }
    fn edit_header(&mut self, _: Time, _: &NextPacket) -> HeaderEdits {
        HeaderEdits { max_wire_len: Some(152), ..HeaderEdits::default() }
    }
}

/// 80 000 packets, of which all but the first window of 64 kB leave at once and half are lost; what
/// repairs them is not. By hand: of n packets a quarter begin a range, so that the 16 384 ranges
/// that a receiver keeps, whose buffer of 8 MB holds fewer full segments, are there after 65 536
/// packets. What comes of the other 13 800 is refused: 6 900, with a standard deviation of 140.
fn crowded() -> NetSpec {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let (left, right) = (world.router("left"), world.router("right"));
    let fast = link(Rate::mbps(1_000), Span::from_millis(1), u64::MAX);
    world.join(a, left, fast.clone());
    let middle =
        world.join(left, right, fast.clone().with_wire(|wire| wire.delay = Span::from_millis(200)));
    world.event(Time::from_millis(800), NetEvent::Loss(middle, 0.5));
    world.event(Time::from_millis(1_000), NetEvent::Loss(middle, 0.0));
    world.join(right, b, fast);
    let bytes = 8_000_000;
    let config =
        TcpConfig { receive_buffer_bytes: bytes, send_buffer_bytes: bytes, ..PRESETS[0].config };
    let make = |_| AnyController::Custom(Box::new(Small));
    let transport = world.transport("small", config, make);
    world.flow((a, b), Time::ZERO, Some(bytes), transport);
    world.spec
}

#[test]
fn ranges_beyond_what_a_receiver_keeps_are_counted_as_dropped() {
    let spec = crowded();
    let run = |options| {
        let mut sim = Simulation::new(&spec, 1, options).expect("a sound network");
        let status = sim.run_until(Time::from_secs(1_000)).unwrap();
        assert_eq!(status, Status::FlowsEnded);
        assert!(sim.flow(FlowId(0)).completed_at.is_some());
        let refused = sim.drops().count(DropReason::TooManyRanges);
        assert!((6_300..7_500).contains(&refused), "{refused}");
        assert!(sim.conservation().holds(), "{:?}", sim.conservation());
        read(&sim, status, &spec)
    };
    // Through the host's short way, and through the general one.
    let simple = run(Options { binary_heap: true, ..Options::default() });
    assert_same(&[run(Options::default())], &[simple], "early transit");
}
