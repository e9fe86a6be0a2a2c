//! Where the tenants play.

use forebay_base::{FlowId, LinkId, NodeId, Time};
use forebay_cc::{
    Ack, AnyController, Congestion, Controller, HeaderEdits, Init, Limits, LossPolicy, NextPacket,
    RecoveryOwner, Spec, Timeout,
};
use forebay_net::LinkSpec;
use forebay_sim::{Injection, Options, Simulation, Status};
use forebay_testkit::realtime::Realtime;
use forebay_testkit::tap::Tap;
use forebay_testkit::world::World;
use forebay_transport::{ConnectionView, EndCause, Role};
use std::time::Duration;

/// A network with a tenant in it, made afresh for each run, and what is written down there.
pub struct Scene<N> {
    pub world: World,
    pub tap: Option<Tap>,
    pub injections: Vec<Injection>,
    pub notes: N,
}

impl<N> Scene<N> {
    pub fn new(world: World, notes: N) -> Scene<N> {
        Scene { world, tap: None, injections: Vec::new(), notes }
    }
    pub fn with_tap(self, tap: Tap) -> Scene<N> {
        Scene { tap: Some(tap), ..self }
    }
}

/// Run a scene on packets, on bytes, on the other heap and on the other kind of link. Every flow
/// must finish, every packet be accounted for, and the four trace hashes be one. `check` looks at
/// each run.
pub fn simulate<N>(make: impl Fn() -> Scene<N>, check: impl Fn(&Simulation, &N)) {
    let engines = || {
        [
            Options::default(),
            Options { bytes: true, ..Options::default() },
            Options { binary_heap: true, ..Options::default() },
            Options { all_queued: true, ..Options::default() },
        ]
    };
    let hashes = engines().map(|options| {
        let Scene { world, tap, injections, notes } = make();
        let observer = tap.map(|tap| Box::new(tap) as _);
        let options = Options { observer, injections, ..options };
        let mut sim = Simulation::new(&world.spec, 7, options).expect("a sound network");
        assert_eq!(sim.run_until(Time::from_secs(100)).unwrap(), Status::FlowsEnded);
        finished(&world, |flow, role| sim.connection(flow, role));
        assert!(sim.conservation().holds(), "{:?}", sim.conservation());
        check(&sim, &notes);
        sim.trace_hash()
    });
    assert_eq!(hashes, [hashes[0]; 4], "packets, bytes, heap, links");
}

/// Run a scene in real time with the nodes of `right` on the far side.
pub fn live<N>(make: impl Fn() -> Scene<N>, right: &[NodeId], check: impl Fn(&Realtime, &N)) {
    let Scene { world, tap, notes, .. } = make();
    let mut run = Realtime::new(&world.spec, 7, right, tap.as_ref(), None).expect("two sockets");
    // Long for a transfer of a fraction of a second, in case the machine is busy.
    let all_ended = run.run(Duration::from_secs(60)).expect("loopback works");
    assert!(all_ended, "after {:?} late", run.lateness());
    finished(&world, |flow, role| run.connection(flow, role));
    assert_eq!(run.between(), 0, "lost between the sockets");
    assert!(run.crossed() > 0);
    assert!(run.conservation().holds(), "{:?}", run.conservation());
    check(&run, &notes);
}

fn finished<'a>(world: &World, connection: impl Fn(FlowId, Role) -> Option<ConnectionView<'a>>) {
    for (i, flow) in world.spec.flows.iter().enumerate() {
        for role in [Role::Client, Role::Server] {
            let progress = connection(FlowId(i as u32), role).expect("opened").progress();
            assert!(matches!(progress.ended, Some((EndCause::Finished, _))), "{progress:?}");
            if role == Role::Server {
                assert_eq!(Some(progress.received_bytes), flow.bytes);
                assert!(progress.stream_complete);
            }
        }
    }
}

/// The nodes of [`line`].
pub struct Line {
    pub a: NodeId,
    pub near: NodeId,
    pub far: NodeId,
    pub b: NodeId,
    /// From `near` to `far`; the way back is the next.
    pub middle: LinkId,
}

/// Hosts a and b with two routers between them: `access`, `there` (and `back`), `access`.
pub fn line(world: &mut World, access: &LinkSpec, there: LinkSpec, back: LinkSpec) -> Line {
    let (a, near) = (world.host("a"), world.router("near"));
    let (far, b) = (world.router("far"), world.host("b"));
    world.join(a, near, access.clone());
    let middle = world.join_with(near, far, there, back);
    world.join(far, b, access.clone());
    Line { a, near, far, b, middle }
}

pub fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("in the table").build(init)
}

/// A window that nothing changes.
pub struct Window {
    pub bytes: u64,
    pub policy: Option<LossPolicy>,
    /// What to write on the packet of this transmission number.
    pub edits: Option<(u64, HeaderEdits)>,
}

impl Controller for Window {
    fn limits(&self) -> Limits {
        Limits::window(self.bytes)
    }
    fn on_ack(&mut self, _: Time, _: &Ack<'_>) {}
    fn on_congestion(&mut self, _: Time, _: &Congestion) {}
    fn on_rto(&mut self, _: Time, _: &Timeout) {}
    fn loss_policy(&self) -> Option<LossPolicy> {
        self.policy
    }
    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }
    fn edit_header(&mut self, _: Time, next: &NextPacket) -> HeaderEdits {
        let edits = self.edits.filter(|(number, _)| *number == next.number);
        edits.map_or(HeaderEdits::default(), |(_, edits)| edits)
    }
}
