//! A run whose packets do not add up ends in an error, whatever drives it.

use forebay_base::{DropReason, Packet, Rate, Span, Time};
use forebay_cc::{AnyController, Init, Spec};
use forebay_net::{LinkSpec, NetSpec, QueueSpec};
use forebay_queue::{AnyDiscipline, Discipline, DropTail, Overflow, PortContext, PortInit};
use forebay_sim::{ConservationError, Options, Simulation, Status};
use forebay_testkit::world::{World, link};
use forebay_transport::PRESETS;
use std::sync::Arc;

fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

/// Drop-tail that forgets one packet; if it is honest it drops that one as it should.
struct Forgetful {
    queue: DropTail,
    seen: u64,
    honest: bool,
}

/// The hundredth packet that it is given.
const FORGOTTEN: u64 = 100;

impl Discipline for Forgetful {
    fn enqueue(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        self.seen += 1;
        if self.seen == FORGOTTEN {
            if self.honest {
                cx.drop_packet(packet, DropReason::Early);
            }
            return Ok(());
        }
        self.queue.enqueue(packet, cx)
    }
    fn has_room(&self, wire_len: u16) -> bool {
        self.queue.has_room(wire_len)
    }
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        self.queue.dequeue(cx)
    }
    fn backlog_bytes(&self) -> u64 {
        self.queue.backlog_bytes()
    }
    fn backlog_packets(&self) -> u64 {
        self.queue.backlog_packets()
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.queue.clear(reason, cx);
    }
}

fn network(bytes: Option<u64>, honest: bool) -> NetSpec {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let (left, right) = (world.router("left"), world.router("right"));
    let make = move |init: PortInit| {
        let queue = DropTail::with_limit(init.limit);
        AnyDiscipline::Custom(Box::new(Forgetful { queue, seen: 0, honest }))
    };
    let plain = link(Rate::mbps(10), Span::from_millis(5), 1_000_000);
    let queue = QueueSpec::Custom(plain.queue.limit(), Arc::new(make));
    let odd = LinkSpec { queue, ..plain.clone() };
    world.join(a, left, link(Rate::mbps(100), Span::from_millis(5), 1_000_000));
    world.join_with(left, right, odd, plain.clone());
    world.join(right, b, plain);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, bytes, transport);
    world.spec
}

fn run(spec: &NetSpec, threads: usize) -> Result<Status, ConservationError> {
    let options = Options { threads, ..Options::default() };
    let mut sim = Simulation::new(spec, 1, options).expect("a sound network");
    let status = sim.run_until(Time::from_secs(20));
    assert_eq!(sim.conservation().holds(), status.is_ok());
    status
}

/// One packet is missing; that it was lost the flow has repaired.
#[test]
fn a_discipline_that_forgets_a_packet_ends_the_run_in_an_error() {
    for threads in [1, 2] {
        for bytes in [Some(1_000_000), None] {
            let error = run(&network(bytes, false), threads).unwrap_err();
            let c = error.conservation;
            assert_eq!(c.sent + c.split - c.delivered - c.dropped - c.held, 1, "{error}");
            assert!(error.to_string().starts_with("packets are not conserved at "), "{error}");
        }
        assert_eq!(run(&network(Some(1_000_000), true), threads), Ok(Status::FlowsEnded));
        assert_eq!(run(&network(None, true), threads), Ok(Status::Running));
    }
}
