//! A receiver that sends an ACK every 20 ms by a clock of its own, whatever the data do (Sprout's
//! forecasts).

use crate::stage::{Line, Scene, line, live, newreno, simulate};
use forebay_base::{FlowId, LinkId, Rate, Span, Time};
use forebay_cc::{AckDemand, AckPolicy, AnyFeedback, DatagramView, Feedback};
use forebay_net::NetEvent;
use forebay_sim::PacketEvent;
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, Role, TcpConfig};

const TICK: Span = Span::from_millis(20);

/// Ticks from the first datagram on.
struct Clock {
    next: Option<Time>,
    ticks: Notes<Time>,
}

impl Feedback for Clock {
    fn on_datagram(&mut self, now: Time, _: &DatagramView<'_>) -> AckDemand {
        self.next.get_or_insert(now + TICK);
        AckDemand::Policy
    }
    fn clocks_acks(&self) -> bool {
        true
    }
    fn next_timeout(&self) -> Option<Time> {
        self.next
    }
    fn on_timer(&mut self, now: Time) -> AckDemand {
        if self.next.is_none_or(|at| at > now) {
            return AckDemand::Policy;
        }
        self.next = Some(now + TICK);
        self.ticks.push(now);
        AckDemand::Now
    }
}

#[derive(Clone, Default)]
struct Seen {
    ticks: Notes<Time>,
    /// When the receiver sent what.
    acks: Notes<Time>,
}

fn scene() -> (Scene<Seen>, Line) {
    let (mut world, seen) = (World::new(), Seen::default());
    let access = link(Rate::mbps(50), Span::from_millis(1), u64::MAX);
    let middle = link(Rate::mbps(8), Span::from_millis(9), u64::MAX);
    let line = line(&mut world, &access, middle.clone(), middle);
    // The policy would answer each packet; it is not asked.
    let config = TcpConfig { ack_policy: AckPolicy::EveryPacket, ..PRESETS[0].config };
    let ticks = seen.ticks.clone();
    let feedback =
        move || AnyFeedback::Custom(Box::new(Clock { next: None, ticks: ticks.clone() }));
    let transport = world.transport_with("newreno", config, newreno, feedback);
    world.flow((line.a, line.b), Time::ZERO, Some(200_000), transport);
    let (b, acks) = (line.b, seen.acks.clone());
    let tap = Tap::new(move |now, event, _, _| {
        if event == PacketEvent::Sent(b) {
            acks.push(now);
        }
    });
    (Scene::new(world, seen).with_tap(tap), line)
}

/// The link fails for 200 ms in the middle of the transfer: data stop, and the clock goes on.
fn with_failure() -> Scene<Seen> {
    let (mut scene, line) = scene();
    let LinkId(middle) = line.middle;
    scene.world.event(Time::from_millis(100), NetEvent::Down(LinkId(middle)));
    scene.world.event(Time::from_millis(300), NetEvent::Up(LinkId(middle)));
    scene
}

fn gaps(ticks: &[Time]) -> impl Iterator<Item = Span> {
    ticks.windows(2).map(|w| w[1].since(w[0]))
}

#[test]
fn simulated() {
    simulate(with_failure, |_, seen| {
        let (ticks, acks) = (seen.ticks.read(), seen.acks.read());
        assert!(gaps(&ticks).all(|gap| gap == TICK), "{ticks:?}");
        // An ACK of 52 bytes or more is never still in the way of the next one 20 ms later.
        assert!(ticks.iter().all(|tick| acks.contains(tick)), "{ticks:?} {acks:?}");
        let outage = Time::from_millis(125)..Time::from_millis(300);
        let quiet: Vec<_> = acks.iter().filter(|at| outage.contains(at)).copied().collect();
        assert!(quiet.len() >= 8 && gaps(&quiet).all(|gap| gap == TICK), "{quiet:?}");
    });
}

#[test]
fn the_clock_alone_answers_data_in_order() {
    simulate(
        || scene().0,
        |_, seen| {
            let (ticks, acks) = (seen.ticks.read(), seen.acks.read());
            let others: Vec<_> = acks.iter().filter(|at| !ticks.contains(at)).collect();
            // The SYN-ACK, the answer to the FIN, and the FIN of its own.
            assert_eq!(others.len(), 3, "{others:?}");
        },
    );
}

#[test]
fn in_real_time() {
    let (_, Line { far, b, .. }) = scene();
    live(
        || scene().0,
        &[far, b],
        |_, seen| {
            let (ticks, acks) = (seen.ticks.read(), seen.acks.read());
            assert!(ticks.len() >= 2 && gaps(&ticks).all(|gap| gap >= TICK), "{ticks:?}");
            assert!(acks.len() >= ticks.len());
        },
    );
}

#[test]
fn the_clock_stops_with_its_connection() {
    let long = || {
        let (mut scene, line) = scene();
        let transport = scene.world.transport("newreno", PRESETS[0].config, newreno);
        scene.world.flow((line.a, line.b), Time::ZERO, Some(2_000_000), transport);
        scene
    };
    simulate(long, |sim, seen| {
        let (_, ended) = sim.connection(FlowId(0), Role::Server).unwrap().progress().ended.unwrap();
        let last = *seen.ticks.read().last().unwrap();
        assert!(
            sim.now().since(ended) > TICK * 10 && last <= ended + TICK,
            "{last:?} {ended:?} {:?}",
            sim.now()
        );
    });
}
