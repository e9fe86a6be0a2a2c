//! Completion times in slow start against the closed form: RTT (k + 1/2) from the SYN to the last
//! byte, where k rounds of the initial window and its growth hold all segments, plus the time to
//! transmit the last round's packets.

use forebay_base::{FlowId, Rate, Span, Time};
use forebay_cc::{AckPolicy, Spec};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};

/// A flow of `segments` over a fast link; its FCT in round trips.
fn round_trips(segments: u64, rtt: Span, ack_policy: AckPolicy) -> f64 {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    world.join(a, b, link(Rate::mbps(100_000), rtt / 2, 1 << 30));
    let config = TcpConfig { ack_policy, ..PRESETS[0].config };
    let newreno = Spec::by_name("newreno").expect("in the table");
    let transport = world.transport("newreno", config, move |init| newreno.build(init));
    let bytes = segments * u64::from(config.mss_bytes);
    world.flow((a, b), Time::ZERO, Some(bytes), transport);
    let mut sim = Simulation::new(&world.spec, 1, Options::default()).expect("a sound network");
    assert_eq!(sim.run_until(Time::from_secs(10_000)).unwrap(), Status::FlowsEnded);
    let flow = sim.flow(FlowId(0));
    let fct = flow.completed_at.unwrap().since(flow.opened_at.unwrap());
    assert_eq!(flow.sender.retransmits, 0);
    fct.as_secs_f64() / rtt.as_secs_f64()
}

fn holds(policy: AckPolicy, rtt: Span, rounds: [(u64, u32); 5]) {
    for (segments, k) in rounds {
        let expected = f64::from(k) + 0.5;
        let got = round_trips(segments, rtt, policy);
        // 2000 packets of 1500 bytes take 0.24 ms at 100 Gbit/s.
        assert!(
            (got - expected).abs() < 0.01,
            "{segments} segments: {got} round trips, not {expected}"
        );
    }
}

#[test]
fn windows_double_with_an_ack_for_every_packet() {
    let rounds = [(10, 1), (30, 2), (100, 4), (500, 6), (2000, 8)];
    holds(AckPolicy::EveryPacket, Span::from_millis(100), rounds);
}

#[test]
fn windows_grow_by_half_with_an_ack_for_every_second() {
    // The timer is longer than a round: an odd packet is acknowledged with the first of the next
    // one.
    let policy = AckPolicy::Delayed { packets: 2, timeout: Span::from_millis(500), quick: 0 };
    let rounds = [(10, 1), (30, 3), (100, 5), (500, 9), (2000, 12)];
    holds(policy, Span::from_millis(100), rounds);
}

/// The SYN is retransmitted at 1, 3 and 7 s although it was not lost; its echoed timestamp says so.
#[test]
fn a_round_trip_of_ten_seconds_costs_rounds_and_no_timeouts() {
    let rounds = [(10, 1), (30, 2), (100, 4), (500, 6), (1000, 7)];
    holds(AckPolicy::EveryPacket, Span::from_secs(10), rounds);
}
