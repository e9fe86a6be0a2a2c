use super::rates::SampleDriven;
use crate::testing::{Delivery, Pair, Plan, config, newreno};
use crate::{Connection, PRESETS, Recovery, TcpConfig};
use alloc::boxed::Box;
use forebay_base::{OptionList, Rng, Span, Stream, Time};
use forebay_cc::{
    AckDemand, AckPolicy, AnyController, AnyFeedback, DatagramView, Feedback, Init, LossPolicy,
    Spec,
};

#[test]
fn a_bulk_transfer_arrives_and_both_ends_know_it() {
    let mut pair = Plan::new(config(), 1_000_000).start(|_| Delivery::Deliver);
    pair.run_ms(60_000);
    pair.assert_finished(1_000_000);
    assert_eq!(pair.counters().retransmits, 0);
    assert_eq!(pair.counters().data_packets, 1_000_000u64.div_ceil(1448));
}

/// Every way of finding and repairing losses delivers the stream exactly once, whatever is dropped.
#[test]
fn random_loss_in_both_directions_is_repaired_under_every_policy() {
    let policies = [
        LossPolicy::DupThresh,
        LossPolicy::RackTlp,
        LossPolicy::GapTimer { num: 3, den: 2 },
        LossPolicy::TimeoutOnly,
    ];
    for loss_policy in policies {
        for recovery in [Recovery::Prr, Recovery::Pipe, Recovery::NewReno] {
            for (sack, timestamps) in [(true, true), (true, false), (false, true), (false, false)] {
                let c = TcpConfig { loss_policy, recovery, sack, timestamps, ..config() };
                for seed in 0..3 {
                    let mut rng = Rng::new(seed, Stream::Test, 0);
                    let mut pair = Plan::new(c, 300_000).start(move |_| {
                        if rng.chance(0.03) { Delivery::Drop } else { Delivery::Deliver }
                    });
                    pair.run_ms(3_000_000);
                    pair.assert_finished(300_000);
                }
            }
        }
    }
}

/// Writes into every ACK, and demands one of every third datagram, and every 70 ms from the first
/// on.
#[derive(Default)]
struct OptionWriter {
    datagrams: u32,
    clocks: bool,
    due: Time,
}
impl Feedback for OptionWriter {
    fn on_datagram(&mut self, _: Time, datagram: &DatagramView<'_>) -> AckDemand {
        self.datagrams += u32::from(datagram.payload_bytes > 0);
        if datagram.payload_bytes > 0 && self.datagrams.is_multiple_of(3) {
            AckDemand::Now
        } else {
            AckDemand::Policy
        }
    }
    fn clocks_acks(&self) -> bool {
        self.clocks
    }
    fn fill(&mut self, _: Time, options: &mut OptionList) {
        options.push_experiment(0x1234, &self.datagrams.to_be_bytes()).expect("it is first");
    }
    fn next_timeout(&self) -> Option<Time> {
        (self.datagrams > 0).then_some(self.due)
    }
    fn on_timer(&mut self, now: Time) -> AckDemand {
        self.due = now + Span::from_millis(70);
        AckDemand::Now
    }
}

/// Controller and receiver half of both ends.
type Halves = (fn(Init) -> AnyController, fn() -> AnyFeedback);

fn halves() -> [Halves; 6] {
    let writer: fn() -> AnyFeedback = || AnyFeedback::Custom(Box::new(OptionWriter::default()));
    let clock: fn() -> AnyFeedback =
        || AnyFeedback::Custom(Box::new(OptionWriter { clocks: true, ..OptionWriter::default() }));
    let inrpp: Halves = (
        |init| Spec::by_name("inrpp").expect("it is in the table").build(init),
        || Spec::by_name("inrpp").expect("it is in the table").build_feedback(),
    );
    let rcp: Halves = (
        |init| Spec::by_name("rcp").expect("it is in the table").build(init),
        || Spec::by_name("rcp").expect("it is in the table").build_feedback(),
    );
    let sample_driven: Halves = (SampleDriven::boxed, || AnyFeedback::None);
    [
        (newreno, || AnyFeedback::None),
        (newreno, writer),
        (newreno, clock),
        inrpp,
        rcp,
        sample_driven,
    ]
}

/// A transfer of which every fiftieth packet is lost and every fiftieth late. Most have no end.
fn troubled(config: TcpConfig, seed: u64, halves: Halves) -> Pair {
    let mut rng = Rng::new(seed, Stream::Test, 0);
    let script = move |_: &_| match rng.below(100) {
        0 | 1 => Delivery::Drop,
        2 | 3 => Delivery::Delay(Span::from_millis(rng.below(90))),
        _ => Delivery::Deliver,
    };
    let (controller, feedback) = halves;
    let server_bytes = match seed % 7 {
        3 => None, // both send
        4 => Some(400_000),
        _ => Some(0),
    };
    let plan = Plan {
        client_bytes: if seed % 4 == 1 { Some(300_000 + seed) } else { None },
        server_bytes,
        controller,
        feedback,
        ..Plan::new(config, 0)
    };
    let mut pair = plan.start(script);
    pair.run_ms(60_000);
    pair
}

/// The general path is the oracle of the fast path: packets, times, counts and estimates are the
/// same.
#[test]
fn fast_path_and_general_path_agree() {
    let policies = [
        LossPolicy::DupThresh,
        LossPolicy::RackTlp,
        LossPolicy::GapTimer { num: 3, den: 2 },
        LossPolicy::TimeoutOnly,
        LossPolicy::HoldTolerant,
    ];
    let delayed = AckPolicy::Delayed { packets: 2, timeout: Span::from_millis(40), quick: 8 };
    let buffers = [20_000, 4 << 20]; // the first is below the window that congestion leaves
    let configs = PRESETS.iter().flat_map(|preset| {
        policies.iter().flat_map(move |&loss_policy| {
            [AckPolicy::EveryPacket, delayed].into_iter().flat_map(move |ack_policy| {
                buffers.map(|receive_buffer_bytes| TcpConfig {
                    loss_policy,
                    ack_policy,
                    receive_buffer_bytes,
                    ..preset.config
                })
            })
        })
    });
    let mut fast_packets = 0;
    for (seed, config) in (0..).zip(configs.cycle().take(250)) {
        let halves = halves()[seed as usize / 5 % 6];
        let fast = troubled(config, seed, halves);
        let config = TcpConfig { fast_path: false, ..config };
        let general = troubled(config, seed, halves);
        assert!(fast.data().count() > 200, "seed {seed}, {config:?}");
        assert!(fast.log == general.log, "seed {seed}, {config:?}");
        assert_eq!(general.fast_packets, 0, "the configuration turns it off");
        fast_packets += fast.fast_packets;
        for (mut a, b) in fast.ends.into_iter().zip(&general.ends) {
            assert_eq!((a.counters(), a.progress()), (b.counters(), b.progress()));
            assert_eq!((a.view(0), a.rtt_summary(0)), (b.view(0), b.rtt_summary(0)));
            // The fast path may leave the deadline early, never late; asked then, it finds the true
            // one.
            let due = |end: &Connection| end.next_timeout().unwrap_or(Time::MAX);
            assert!(due(&a) <= due(b));
            a.find_deadline();
            assert_eq!(a.next_timeout(), b.next_timeout());
        }
    }
    assert!(fast_packets > 100_000, "the fast path was hardly taken: {fast_packets} packets");
}
