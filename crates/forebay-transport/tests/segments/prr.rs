//! Proportional rate reduction: RFC 9937, and its invariants.

use crate::common::{Bench, Fate, Lab, MSS, Pair, Reaction, Window, Wiring, data, ms, plain};
use forebay_base::{Rng, Stream, Time};
use forebay_cc::LossPolicy;
use forebay_transport::{Recovery, TcpConfig};

fn config(loss_policy: LossPolicy) -> TcpConfig {
    TcpConfig { recovery: Recovery::Prr, loss_policy, ..plain() }
}

fn bench(segments: u64, num: u64, den: u64, loss_policy: LossPolicy) -> Bench {
    let reaction = Reaction::Multiply(num, den);
    let window = Window { reaction, ..Window::fixed(segments) };
    let lab = Lab { config: config(loss_policy), window, ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    bench
}

/// The first `lost` of `total` segments are lost, the others arrive one by one: what is sent on
/// each ACK.
fn arrivals(bench: &mut Bench, lost: u64, total: u64) -> String {
    let sent: Vec<String> = (lost + 1..=total)
        .map(|last| {
            bench.advance(ms(1));
            data(&bench.sack(0, &[(lost + 1, last)]))
        })
        .collect();
    sent.join("|")
}

const POLICIES: [LossPolicy; 2] = [LossPolicy::DupThresh, LossPolicy::RackTlp];

#[test]
fn one_loss_of_ten_down_to_five() {
    for policy in POLICIES {
        let mut bench = bench(10, 1, 2, policy);
        assert_eq!(arrivals(&mut bench, 1, 10), "||R1|11|||12|13|14", "{policy:?}");
        bench.advance(ms(90));
        // The ACK that ends recovery: cwnd = ssthresh.
        bench.ack(10);
        assert_eq!((bench.cwnd(), bench.ssthresh()), (5, Some(5)));
    }
}

#[test]
fn one_loss_of_ten_down_to_seven() {
    for policy in POLICIES {
        let mut bench = bench(10, 7, 10, policy);
        assert_eq!(arrivals(&mut bench, 1, 10), "||R1|11|12|13|14|15|16", "{policy:?}");
    }
}

#[test]
fn one_loss_of_twenty_down_to_ten() {
    for policy in POLICIES {
        let mut bench = bench(20, 1, 2, policy);
        // New data on ACKs 4, 6, 8, 10, 12, 13, 15, 18, 19.
        let expected = "||R1|21||22||23||24||25|26||27|||28|29";
        assert_eq!(arrivals(&mut bench, 1, 20), expected, "{policy:?}");
        assert_eq!(bench.in_flight(), 10);
    }
}

#[test]
fn five_losses_of_twenty_down_to_ten() {
    for policy in POLICIES {
        let mut bench = bench(20, 1, 2, policy);
        let sent = arrivals(&mut bench, 5, 20);
        assert_eq!(sent, "||R1|R2||R3|||R4|R5|21|22|23|24|25", "{policy:?}");
        assert_eq!(bench.in_flight(), 10);
    }
}

#[test]
fn heavy_loss_is_conservative_until_the_repair_makes_progress() {
    // Fifteen of twenty lost: inflight starts below ssthresh 10. While SND.UNA stands, one segment
    // for each delivered; a SafeACK allows one more.
    for policy in POLICIES {
        let mut bench = bench(20, 1, 2, policy);
        assert_eq!(arrivals(&mut bench, 15, 20), "||R1|R2|R3", "{policy:?}");
        bench.advance(ms(98));
        assert_eq!(data(&bench.sack(1, &[(16, 20)])), "R4 R5", "{policy:?}");
        bench.advance(ms(1));
        assert_eq!(data(&bench.sack(2, &[(16, 20)])), "R6 R7", "{policy:?}");
        bench.advance(ms(1));
        assert_eq!(data(&bench.sack(3, &[(16, 20)])), "R8 R9", "{policy:?}");
    }
}

#[test]
fn an_ack_without_delivery_sends_nothing() {
    let mut bench = bench(10, 1, 2, LossPolicy::DupThresh);
    assert_eq!(data(&bench.sack(0, &[(2, 5)])), "R1");
    for _ in 0..5 {
        assert_eq!(data(&bench.sack(0, &[(2, 5)])), "");
    }
}

#[test]
fn the_flight_of_recovery_leaves_out_what_was_sacked_before() {
    // One ACK shows 2 to 8 at once: RecoverFS = 10 - 7 + 7 = 10, inflight 2 < ssthresh 5:
    // SndCnt = min(7, 5 - 2) = 3.
    let mut bench = bench(10, 1, 2, LossPolicy::DupThresh);
    assert_eq!(data(&bench.sack(0, &[(2, 8)])), "R1 11 12");
    // 9 arrives: prr_delivered 8, prr_out 3, inflight 4: min(max(5, 1), 1).
    assert_eq!(data(&bench.sack(0, &[(2, 9)])), "13");
}

/// Blocks of the segments in `held` above `ack`: the one with `newest` first, as many as fit.
fn blocks(held: &[bool], ack: usize, newest: usize) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    let mut at = ack + 1;
    while at < held.len() {
        if held[at] {
            let from = at;
            while at + 1 < held.len() && held[at + 1] {
                at += 1;
            }
            all.push((from as u64, at as u64));
        }
        at += 1;
    }
    let first = newest as u64;
    all.sort_by_key(|&(from, to)| (!(from <= first && first <= to), u64::MAX - to));
    all.truncate(if crate::common::timestamps() { 3 } else { 4 });
    all
}

#[test]
fn inflight_falls_to_ssthresh_and_never_rises_above_it_again() {
    let mut rng = Rng::new(9937, Stream::Test, 0);
    for case in 0..200 {
        let policy = POLICIES[case % 2];
        let total = 12 + rng.below(50);
        let mut bench = bench(total, 1 + rng.below(3), 4, policy);
        let mut held = vec![false; total as usize + 1];
        let odds = rng.unit() * 0.4;
        let mut entry: Option<u64> = None;
        for number in 2..=total as usize {
            // 1 is lost; the last three arrive, so that everything is found lost in the end.
            if number + 3 <= total as usize && rng.chance(odds) {
                continue;
            }
            held[number] = true;
            bench.advance(ms(1));
            bench.sack(0, &blocks(&held, 0, number));
            let Some(ssthresh) = bench.ssthresh() else { continue };
            let limit = *entry.get_or_insert(bench.in_flight().max(ssthresh));
            assert!(bench.in_flight() <= limit, "case {case}: {} > {limit}", bench.in_flight());
            // Once down, never above ssthresh again.
            entry = Some(limit.min(bench.in_flight().max(ssthresh)));
        }
        assert!(bench.in_flight() <= bench.ssthresh().unwrap(), "case {case}");
    }
}

fn lossy(recovery: Recovery, policy: LossPolicy, lost: &[u64]) -> Pair {
    let lost = lost.to_vec();
    let config = TcpConfig { recovery, ..config(policy) };
    let wiring = Wiring::new(config, Some(120 * MSS), ms(50)).script(move |e| {
        let number = e.seg.off as u64 / MSS + 1;
        Fate::drop_if(e.side == 0 && e.seg.len > 0 && e.nth == 1 && lost.contains(&number))
    });
    let mut pair = wiring.build(|_, _| Window::reno(10).any());
    pair.finish(Time::from_secs(30));
    pair
}

#[test]
fn losses_in_one_window_are_repaired_without_a_timeout_and_with_one_retransmission_each() {
    for policy in POLICIES {
        for recovery in [Recovery::Prr, Recovery::Pipe] {
            for lost in [&[11][..], &[11, 12], &[11, 15, 20], &[31, 33, 35, 37, 39, 41]] {
                let pair = lossy(recovery, policy, lost);
                let counters = pair.ends[0].counters();
                let state = (policy, recovery, lost);
                assert_eq!(counters.retransmits, lost.len() as u64, "{state:?}");
                assert_eq!((counters.timeouts, counters.recoveries), (0, 1), "{state:?}");
                assert_eq!(counters.lost_packets, lost.len() as u64, "{state:?}");
            }
        }
    }
}
