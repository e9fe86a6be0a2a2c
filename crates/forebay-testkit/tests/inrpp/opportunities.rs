//! Links that take packets at opportunities, many at one time: a port that holds packets gives one
//! after the other to the same opportunity, and has enough of them.

use crate::ends::{network, simulation};
use crate::lab::Lab;
use forebay_base::{FlowId, Span, Time};
use forebay_net::{ChannelSpec, DeliveryTrace};
use forebay_sim::{Options, Simulation, Status};
use std::sync::Arc;

const BYTES: u64 = 3_000_000;

/// Seconds that a flow takes over 12 Mbit/s which come `batch` packets at a time.
fn completion_s(batch: usize) -> f64 {
    let mut lab = Lab::chain(&[12], 4_000_000);
    let at = |ms: u64| std::iter::repeat_n(Span::from_millis(ms), batch);
    let times = (1..=100).flat_map(|i| at(i * batch as u64));
    let trace = Arc::new(DeliveryTrace::new(times, 1500).expect("in order"));
    let link = lab.links[0];
    lab.world.spec.links[link.index()].channel = ChannelSpec::Trace { trace, offset: Span::ZERO };
    let lab = lab.flows(1, BYTES, 0);
    let mut sim = Simulation::new(&lab.world.spec, 1, Options::default()).expect("sound");
    assert_eq!(sim.run_until(Time::from_secs(300)).unwrap(), Status::FlowsEnded);
    let flow = sim.flow(FlowId(0));
    assert_eq!(flow.sender.retransmits, 0, "{batch}");
    flow.completed_at.expect("it has all").as_secs_f64()
}

/// One packet of 1 496 bytes goes with each opportunity.
#[test]
fn packets_that_wait_use_each_opportunity_of_a_batch() {
    let least_s = (BYTES as f64 / 1446.0).ceil() * 1e-3;
    for batch in [1, 4, 10, 50] {
        let took_s = completion_s(batch);
        assert!(took_s < 1.03 * least_s + 0.1, "{batch}: {took_s} s, at least {least_s}");
    }
}

/// What arrives in 40 s over a cellular channel.
fn received_bytes(channel: &str, protocol: &str) -> u64 {
    let link = format!("generator = {{ name = '{channel}', seed = 1 }}\nqueue = '100packets'");
    let mut sim = simulation(&network(1, &link, "endless = true"), protocol);
    sim.run_until(Time::from_secs(40)).unwrap();
    sim.flow(FlowId(0)).received_bytes
}

/// A router that holds what the mean rate needs has nothing to send when the channel is fast.
#[test]
fn a_port_has_enough_for_the_best_moments_of_its_channel() {
    for channel in ["shopping-mall", "city-stationary", "lte-hard"] {
        let [ours, theirs] = ["inrpp", "cubic"].map(|protocol| received_bytes(channel, protocol));
        let ratio = ours as f64 / theirs as f64;
        assert!(ratio > 0.95, "{channel}: {ratio}");
    }
}
