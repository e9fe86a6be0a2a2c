//! Ports of Kick-Ass under senders that know nothing of them.

use forebay_base::{FlowId, LinkId, Rate, Span, Time};
use forebay_cc::{AnyController, Init, Spec};
use forebay_net::{LinkSpec, SchemeSpec};
use forebay_queue::kickass::{Fallback, PIECES_METRIC, Rounding};
use forebay_queue::{KickAssPortParams, Limit};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};

const BYTES: u64 = 3_000_000;

fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

/// Two flows of NewReno through two routers whose ports into the middle are these.
fn world(scheme: SchemeSpec, dont_fragment: bool) -> (World, LinkId) {
    let mut world = World::new();
    let ms = Span::from_millis;
    let config = TcpConfig { dont_fragment, mss_bytes: 1448, ..PRESETS[0].config };
    let transport = world.transport("newreno", config, newreno);
    let (left, right) = (world.router("left"), world.router("right"));
    let narrow = link(Rate::mbps(10), ms(10), 0);
    let queue = forebay_net::QueueSpec::DropTail(Limit::Packets(60));
    let middle = world.join(left, right, LinkSpec { queue, scheme, ..narrow });
    for i in 0..2 {
        let (a, b) = (world.host(&format!("a{i}")), world.host(&format!("b{i}")));
        world.join(a, left, link(Rate::mbps(100), ms(1), 1 << 20));
        world.join(right, b, link(Rate::mbps(100), ms(1), 1 << 20));
        world.flow((a, b), Time::from_millis(20 * i), Some(BYTES), transport);
    }
    (world, middle)
}

fn run(world: &World, options: Options) -> Simulation {
    let mut sim = Simulation::new(&world.spec, 1, options).expect("a sound network");
    assert_eq!(sim.run_until(Time::from_secs(60)).unwrap(), Status::FlowsEnded);
    sim
}

fn paper() -> KickAssPortParams {
    KickAssPortParams::paper()
}

#[test]
fn packets_with_df_pass_as_if_there_were_no_such_ports() {
    let plain = run(&world(SchemeSpec::None, true).0, Options::default()).trace_hash();
    for params in [paper(), KickAssPortParams::recommended()] {
        let (world, _) = world(SchemeSpec::KickAss(params), true);
        assert_eq!(run(&world, Options::default()).trace_hash(), plain, "{params:?}");
    }
}

/// Every option, also as bytes: the stream arrives, nothing is forgotten, and the trace is the
/// same.
#[test]
fn what_is_cut_arrives_whole_whatever_the_options() {
    for params in [
        paper(),
        KickAssPortParams { rounding: Rounding::Dither, explicit_tcp: true, ..paper() },
        KickAssPortParams { fallback: Fallback::Hardened, cuts_per_rtt: 1, ..paper() },
        KickAssPortParams::recommended(),
    ] {
        let (world, middle) = world(SchemeSpec::KickAss(params), false);
        let sim = run(&world, Options::default());
        for flow in [FlowId(0), FlowId(1)] {
            assert_eq!(sim.flow(flow).received_bytes, BYTES);
        }
        let mut pieces = 0.0;
        sim.link(middle).publish(&mut |name, value| {
            if name == PIECES_METRIC {
                pieces = value;
            }
        });
        // Both directions of the link cut, but ACKs are short.
        assert_eq!(pieces, sim.conservation().split as f64);
        // NewReno keeps the queue above half of its limit most of the time: only where fallback
        // says a code, too, all full packets are cut.
        let least = if params.explicit_tcp { 2 * (BYTES / 1448) } else { 20 };
        assert!(pieces >= least as f64, "{params:?}: {pieces}");
        let bytes = run(&world, Options { bytes: true, ..Options::default() });
        assert_eq!(bytes.trace_hash(), sim.trace_hash(), "{params:?}");
    }
}
