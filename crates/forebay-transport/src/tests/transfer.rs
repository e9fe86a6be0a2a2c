use crate::testing::{Fate, Plan, config};
use crate::{Recovery, TcpConfig};
use forebay_base::{Rng, Stream};
use forebay_cc::LossPolicy;

#[test]
fn a_bulk_transfer_arrives_and_both_ends_know_it() {
    let mut pair = Plan::new(config(), 1_000_000).start(|_| Fate::Deliver);
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
        LossPolicy::PerPacketTimer { num: 3, den: 2 },
        LossPolicy::TimeoutOnly,
    ];
    for loss_policy in policies {
        for recovery in [Recovery::Prr, Recovery::Pipe, Recovery::NewReno] {
            for (sack, timestamps) in [(true, true), (true, false), (false, true), (false, false)] {
                let c = TcpConfig { loss_policy, recovery, sack, timestamps, ..config() };
                for seed in 0..3 {
                    let mut rng = Rng::new(seed, Stream::Test, 0);
                    let mut pair = Plan::new(c, 300_000)
                        .start(move |_| if rng.chance(0.03) { Fate::Drop } else { Fate::Deliver });
                    pair.run_ms(3_000_000);
                    pair.assert_finished(300_000);
                }
            }
        }
    }
}
