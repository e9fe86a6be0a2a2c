//! Turns over wires in memory, with a clock that the test moves.

use forebay_base::{DropReason, LinkId, NodeId, Rate, Rng, Span, Stream, Time};
use forebay_live::wire::{Count, MemoryWire};
use forebay_live::{Next, Port, Record, Turns};
use forebay_net::{DriverError, NetSpec, Place};
use forebay_sim::{Input, InputEvent, Options, RealWires, Simulation, Site, SiteOptions, TraceSum};
use forebay_testkit::world;
use forebay_transport::PRESETS;
use std::cell::Cell;

/// Inputs with the times at which they are executed.
#[derive(Default)]
struct Inputs {
    found: Vec<Input>,
    past: Time,
}

impl Inputs {
    fn add(&mut self, at: Time, link: LinkId, event: InputEvent) {
        assert!(at > self.past, "an input at {at}, but {} has passed", self.past);
        self.found.push(Input { at, link, event });
    }
}

impl Record for Inputs {
    fn input(&mut self, at: Time, link: LinkId, packet: &[u8]) {
        self.add(at, link, InputEvent::Packet(packet.to_vec()));
    }
    fn carrier(&mut self, at: Time, link: LinkId, up: bool) {
        self.add(at, link, InputEvent::Carrier(up));
    }
}

/// A flow of 300 kB from the first to the second node, over 10 Mbit/s and 5 ms.
fn spec() -> NetSpec {
    let mut world = world::World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let link = world::link(Rate::clamped(10_000_000), Span::from_millis(5), 20_000);
    world.join(a, b, link);
    let newreno = world.transport("newreno", PRESETS[0].config, |init| {
        forebay_cc::Spec::by_name("newreno").expect("it is in the table").build(init)
    });
    world.flow((a, b), Time::from_millis(1), Some(300_000), newreno);
    world.spec
}

fn site(spec: &NetSpec, node: u32) -> Site {
    let place = Place { nodes: vec![NodeId(node)], ..Place::default() };
    let options = SiteOptions { real: Some(RealWires::default()), ..SiteOptions::default() };
    Site::new(spec, 1, &place, options).expect("a sound network")
}

fn turns(spec: &NetSpec) -> [Turns<MemoryWire, Inputs>; 2] {
    [0, 1].map(|node| {
        let port = Port::new(MemoryWire::default(), LinkId(node ^ 1), LinkId(node));
        Turns::new(site(spec, node), vec![port], Inputs::default())
    })
}

/// Both nodes until `end`. The clock goes on by up to `step` between turns; a packet arrives when
/// it is sent.
fn run(spec: &NetSpec, step: Span, end: Time) -> [Turns<MemoryWire, Inputs>; 2] {
    let mut both = turns(spec);
    let mut rng = Rng::new(step.as_nanos(), Stream::Test, 1);
    let clock = Cell::new(Time::ZERO);
    let mut over = [false; 2];
    while over != [true; 2] {
        clock.set(clock.get() + Span::from_nanos(1 + rng.below(step.as_nanos())));
        for node in 0..2 {
            if over[node] {
                continue;
            }
            let before = both[node].site().now();
            let next = both[node].turn(|| clock.get(), || end).expect("fast enough");
            over[node] = next == Next::End;
            let now = both[node].site().now();
            both[node].record().past = now;
            assert!(now >= before && now <= clock.get());
            let sent: Vec<_> = both[node].ports()[0].wire.sent.drain(..).collect();
            let arrived = &mut both[1 - node].ports()[0].wire.arrived;
            arrived.extend(sent.into_iter().map(|packet| (clock.get(), packet)));
        }
    }
    both
}

/// The sum of what arrives is that of the simulation if no turn is late.
fn arrivals(both: [Turns<MemoryWire, Inputs>; 2]) -> (TraceSum, Time, u64) {
    let mut sum = TraceSum::default();
    both.iter().for_each(|turns| sum.add(turns.site().arrivals()));
    let ended = both.iter().map(|turns| turns.site().last_ended()).max().expect("two nodes");
    let late = both.map(|turns| turns.into_parts().1[0].late.clone());
    let most = late.iter().filter_map(|late| late.quantile(1.0)).max().unwrap_or_default();
    (sum, ended, most.as_nanos())
}

#[test]
fn turns_without_delay_are_the_simulation() {
    let spec = spec();
    let end = Time::from_secs(2);
    let mut sim = Simulation::new(&spec, 1, Options::default()).expect("a sound network");
    sim.run_until(end).expect("conserved");
    // Every event is one turn: the clock is that of the first of both nodes.
    let mut both = turns(&spec);
    loop {
        let next = both.iter().filter_map(|turns| turns.site().next()).min();
        let now = next.map_or(end, |next| next.min(end));
        for node in 0..2 {
            both[node].turn(|| now, || end).expect("no time passes");
            let sent: Vec<_> = both[node].ports()[0].wire.sent.drain(..).collect();
            both[1 - node].ports()[0].wire.arrived.extend(sent.into_iter().map(|p| (now, p)));
        }
        // What the second has sent arrives at the first at this very time.
        both[0].turn(|| now, || end).expect("no time passes");
        if now == end {
            break;
        }
    }
    let (_, ended, late_ns) = arrivals(both);
    assert_eq!(late_ns, 0);
    let difference = ended.since(sim.now()).as_nanos();
    // An input comes 1 ns after an event of its time: about that much for each packet in a row.
    assert!(ended > Time::from_millis(200) && difference < 1_000_000, "{ended} {}", sim.now());
}

#[test]
fn late_turns_are_done_again_by_what_they_executed() {
    let spec = spec();
    let end = Time::from_secs(3);
    let mut ends = Vec::new();
    for step in [10_000, 300_000, 5_000_000] {
        let both = run(&spec, Span::from_nanos(step), end);
        for (node, turns) in (0..).zip(both) {
            let (live, ports, inputs) = turns.into_parts();
            assert!(live.conservation().holds());
            let mut again = site(&spec, node);
            for input in &inputs.found {
                assert_eq!(again.push_input(input), Ok(input.at));
            }
            again.run_until(end);
            assert_eq!(again.hash(), live.hash(), "node {node}, step {step}");
            assert_eq!(ports[0].inputs, inputs.found.len() as u64);
            let late = ports[0].late.quantile(1.0).expect("packets left");
            assert!(late <= Span::from_nanos(2 * step), "{late:?}");
            ends.push(live.last_ended());
        }
    }
    // Late packets make round trips longer.
    assert!(ends[0] < ends[5] && ends[0] > Time::from_millis(240), "{ends:?}");
}

/// The sender's wire is lost for 200 ms: its machines hear of it when a turn notices, packets wait
/// or are lost by name, and all of it is done again.
#[test]
fn a_lost_carrier_is_an_input() {
    let spec = spec();
    let mut both = turns(&spec);
    let (mut now, end) = (Time::ZERO, Time::from_secs(3));
    while now < end {
        now += Span::from_micros(400);
        let is_away = (100..300).contains(&(now.as_nanos() / 1_000_000));
        for node in 0..2 {
            both[node].ports()[0].wire.carrier = !is_away;
            both[node].turn(|| now, || end).expect("fast enough");
            let past = both[node].site().now();
            both[node].record().past = past;
            let sent: Vec<_> = both[node].ports()[0].wire.sent.drain(..).collect();
            both[1 - node].ports()[0].wire.arrived.extend(sent.into_iter().map(|p| (now, p)));
        }
    }
    for (node, turns) in (0..).zip(both) {
        let (live, ports, inputs) = turns.into_parts();
        assert!(live.conservation().holds() && live.ends().1 == 0, "node {node}");
        let changes = inputs.found.iter().filter_map(|input| match input.event {
            InputEvent::Carrier(up) => Some((input.at.as_nanos() / 1_000_000, input.link, up)),
            InputEvent::Packet(_) => None,
        });
        let changes: Vec<_> = changes.collect();
        assert_eq!(changes, [(100, LinkId(node), false), (300, LinkId(node), true)]);
        // What had left before that was noticed, if anything, is all that the wire lost.
        assert!(ports[0].counters[Count::InterfaceDown] <= 1, "{:?}", ports[0].counters);
        if node == 0 {
            assert!(live.drops().count(DropReason::LinkDown) > 2, "packets were on the wire");
            assert!(live.last_ended() > Time::from_millis(450), "{}", live.last_ended());
        }
        let mut again = site(&spec, node);
        inputs.found.iter().for_each(|of| assert_eq!(again.push_input(of), Ok(of.at)));
        again.run_until(end);
        assert_eq!(again.hash(), live.hash(), "node {node}");
    }
}

/// Machines that are not on real wires do not hear of a carrier: the wire counts what it loses.
#[test]
fn a_simulated_link_has_no_carrier_to_lose() {
    let spec = spec();
    let place = Place { nodes: vec![NodeId(0)], ..Place::default() };
    let mut site = Site::new(&spec, 1, &place, SiteOptions::default()).expect("a sound network");
    let refused = site.push_carrier(Time::from_millis(1), LinkId(0), false);
    assert_eq!(refused, Err(DriverError::NoRealWire(LinkId(0))));
    let port = Port::new(MemoryWire::default(), LinkId(1), LinkId(0));
    let mut turns = Turns::new(site, vec![port], Inputs::default());
    turns.ports()[0].wire.carrier = false;
    turns.turn(|| Time::from_millis(20), || Time::MAX).expect("fast enough");
    let (site, ports, inputs) = turns.into_parts();
    assert!(inputs.found.is_empty() && site.link(LinkId(0)).is_up());
    assert_eq!(ports[0].counters[Count::InterfaceDown], 1, "the SYN");
}

/// More packets than a turn takes: no event happens before what has arrived earlier.
#[test]
fn no_turn_goes_beyond_the_packets_that_it_has_not_taken() {
    let spec = spec();
    let mut sender = turns(&spec);
    let packet = {
        sender[0].turn(|| Time::from_millis(20), || Time::MAX).expect("fast enough");
        sender[0].ports()[0].wire.sent.pop_front().expect("a SYN")
    };
    let [_, mut receiver] = turns(&spec);
    let at = |number: u64| Time::from_nanos(10_000 * number);
    let arrived = &mut receiver.ports()[0].wire.arrived;
    arrived.extend((1..=1000).map(|number| (at(number), packet.clone())));
    let (mut turns, now) = (0, Time::from_millis(15));
    while receiver.turn(|| now, || Time::MAX).expect("fast enough") == Next::Now {
        turns += 1;
        assert!(receiver.bound() < at(1000) && receiver.site().now() <= receiver.bound());
    }
    assert!(turns > 1 && receiver.bound() == now);
    let (site, ports, inputs) = receiver.into_parts();
    assert!(site.conservation().holds());
    // Each at its time.
    let times: Vec<Time> = inputs.found.iter().map(|input| input.at).collect();
    assert!(times.into_iter().eq((1..=1000).map(at)));
    assert_eq!((ports[0].inputs, ports[0].held_back), (1000, 0));
}

/// Each turn takes longer than the time that it works off.
#[test]
fn a_machine_that_falls_behind_stops() {
    let spec = spec();
    let [mut sender, _] = turns(&spec);
    let clock = Cell::new(Time::ZERO);
    let slow = || {
        let before = clock.get();
        clock.set(Time::from_nanos(before.as_nanos() * 11 / 10) + Span::from_micros(100));
        before
    };
    let failed = (0..1000).find_map(|_| sender.turn(slow, || Time::MAX).err());
    let percent = failed.expect("it falls behind").percent;
    assert!(percent > 5.0 && percent < 100.0, "{percent}");

    // Stopped once, for 400 ms, within a turn.
    let [mut sender, _] = turns(&spec);
    let clock = Cell::new(Time::ZERO);
    for turn in 0..2000 {
        let mut reads = 0;
        let stopping = || {
            reads += 1;
            let stop = if turn == 300 && reads == 1 { 400_000 } else { 500 };
            clock.set(clock.get() + Span::from_micros(stop));
            clock.get()
        };
        sender.turn(stopping, || Time::MAX).expect("it catches up");
    }
}
