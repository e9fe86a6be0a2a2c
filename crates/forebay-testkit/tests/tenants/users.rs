//! A user who thinks between two requests, and one who writes slowly: flows that follow each other,
//! and flows that write over time.

use crate::stage::{Line, Scene, line, live, newreno, simulate};
use forebay_base::{FlowId, Rate, Span, Time};
use forebay_net::{After, AppSchedule, TimeDistribution, Writing};
use forebay_testkit::world::{World, link};
use forebay_transport::{ConnectionView, PRESETS, Role};

const THINK: Span = Span::from_millis(30);
const REQUESTS: u32 = 5;
/// 1 000 bytes each 10 ms.
const SLOWLY: Writing =
    Writing { rate: Some(Rate::clamped(800_000)), chunk_bytes: 1_000, periods: None };

/// Flows 0 to 4 follow each other; flow 5, at the same time, writes for 200 ms.
fn scene() -> (Scene<()>, Line) {
    let mut world = World::new();
    let access = link(Rate::mbps(50), Span::from_millis(1), u64::MAX);
    let middle = link(Rate::mbps(8), Span::from_millis(8), u64::MAX);
    let line = line(&mut world, &access, middle.clone(), middle);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    for number in 0..REQUESTS {
        world.flow((line.a, line.b), Time::ZERO, Some(30_000), transport);
        let think = TimeDistribution::Constant(THINK);
        let after = number.checked_sub(1).map(|n| After { flow: FlowId(n), think });
        world.spec.flows[number as usize].life =
            Some(Box::new(AppSchedule { after, ..AppSchedule::default() }));
    }
    world.flow((line.a, line.b), Time::ZERO, Some(20_500), transport);
    let life = AppSchedule { write: Some(SLOWLY), ..AppSchedule::default() };
    world.spec.flows[REQUESTS as usize].life = Some(Box::new(life));
    (Scene::new(world, ()), line)
}

/// Each opens when the one before it has ended and the user has thought; `late` at most.
fn follows<'a>(connection: impl Fn(FlowId) -> Option<ConnectionView<'a>>, late: Span) {
    let progress = |n: u32| connection(FlowId(n)).expect("opened").progress();
    for number in 1..REQUESTS {
        let (_, ended_at) = progress(number - 1).ended.expect("ended");
        let (due, opened_at) = (ended_at + THINK, progress(number).opened_at.expect("opened"));
        assert!(due <= opened_at && opened_at <= due + late, "{number}: {opened_at} for {due}");
    }
    // The last 500 bytes are written at 200 ms, and need a way to be acknowledged.
    let (_, ended_at) = progress(REQUESTS).ended.expect("ended");
    let due = Time::from_millis(220);
    assert!(due <= ended_at && ended_at <= due + Span::from_millis(30) + late * 4, "{ended_at}");
}

#[test]
fn users_think_and_write_on_all_engines() {
    let make = || scene().0;
    simulate(make, |sim, _| follows(|flow| sim.connection(flow, Role::Client), Span::ZERO));
}

#[test]
fn users_think_and_write_in_real_time() {
    let (_, line) = scene();
    let late = Span::from_millis(500); // on a busy machine
    live(
        || scene().0,
        &[line.far, line.b],
        |run, _| {
            follows(|flow| run.connection(flow, Role::Client), late);
        },
    );
}
