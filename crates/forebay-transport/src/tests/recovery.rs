//! Scenarios in which every packet is known beforehand: which segment leaves on which ACK.

use crate::testing::{Delivery, Pair, Plan, SentPacket, config};
use crate::{Recovery, TcpConfig};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use forebay_base::{Span, Time};
use forebay_cc::{AckPolicy, LossPolicy};

const MSS: u64 = 1000;

/// A window of `segments` in congestion avoidance, every packet acknowledged.
fn window(segments: u32) -> TcpConfig {
    TcpConfig {
        mss_bytes: MSS as u16,
        initial_window_segments: segments,
        initial_ssthresh_bytes: Some(0),
        ack_policy: AckPolicy::EveryPacket,
        loss_policy: LossPolicy::DupThresh,
        timestamps: false,
        // The window field is the same from the SYN on, as RFC 5681 asks of a duplicate.
        window_scaling: false,
        limited_transmit: false,
        ..config()
    }
}

/// The first flight arrives one microsecond apart, so that each of its ACKs has a time of its own;
/// the first transmissions of `lost` are dropped.
fn flight(config: TcpConfig, lost: &'static [u64]) -> Pair {
    let mut dropped: Vec<u64> = Vec::new();
    let plan = Plan { client_bytes: None, ..Plan::new(config, 0) };
    plan.start(move |f| {
        let segment = f.segment(MSS);
        if !f.forth || f.len == 0 {
            return Delivery::Deliver;
        }
        if lost.contains(&segment) && !dropped.contains(&segment) {
            dropped.push(segment);
            return Delivery::Drop;
        }
        Delivery::Delay(Span::from_micros(segment))
    })
}

/// What the client sends on the ACK of each segment of its first flight: the ACK of segment n comes
/// n us after 200 ms.
fn answers(pair: &Pair, segments: u64) -> Vec<String> {
    let mut seen = Vec::new();
    let name = |f: &SentPacket, seen: &mut Vec<u64>| {
        let again = seen.contains(&f.offset);
        seen.push(f.offset);
        format!("{}{}", if again { "R" } else { "" }, f.segment(MSS))
    };
    let names: Vec<(Time, String)> = pair.data().map(|f| (f.at, name(f, &mut seen))).collect();
    let on = |n: u64| {
        let at = Time::from_millis(200) + Span::from_micros(n);
        let left = names.iter().filter(|(t, _)| *t == at).map(|(_, s)| s.as_str());
        left.collect::<Vec<_>>().join(" ")
    };
    (1..=segments).map(on).collect()
}

fn newreno(limited_transmit: bool) -> TcpConfig {
    TcpConfig { sack: false, recovery: Recovery::NewReno, limited_transmit, ..window(10) }
}

/// RFC 6582: ssthresh 5, cwnd 8, R1 on the third duplicate; inflation lets four new segments out.
#[test]
fn newreno_repairs_one_loss() {
    let mut pair = flight(newreno(false), &[1]);
    pair.run_ms(250);
    // The third duplicate is the ACK that segment 4 brings.
    assert_eq!(answers(&pair, 10), ["", "", "", "R1", "", "", "11", "12", "13", "14"]);
    assert_eq!(pair.view().ssthresh_bytes, Some(5 * MSS));
    pair.run_ms(301); // the full ACK is here: flight 4, cwnd min(5, 4 + 1)
    assert_eq!(pair.view().cwnd_bytes, 5 * MSS);
    assert_eq!(pair.counters().recoveries, 1);
}

#[test]
fn newreno_with_limited_transmit_keeps_ssthresh() {
    let mut pair = flight(newreno(true), &[1]);
    pair.run_ms(250);
    assert_eq!(answers(&pair, 10), ["", "11", "12", "R1", "", "", "", "", "13", "14"]);
    assert_eq!(
        pair.view().ssthresh_bytes,
        Some(5 * MSS),
        "what limited transmit sent is not FlightSize"
    );
}

#[test]
fn newreno_repairs_two_losses_with_one_cut() {
    let mut pair = flight(newreno(false), &[1, 5]);
    pair.run_ms(250);
    assert_eq!(answers(&pair, 10), ["", "", "", "R1", "", "", "", "11", "12", "13"]);
    pair.run_ms(301); // partial ACK up to 5
    let sent: Vec<u64> =
        pair.data().filter(|f| f.at > Time::from_millis(290)).map(|f| f.segment(MSS)).collect();
    assert_eq!(sent[..2], [5, 14]);
    pair.run_ms(403);
    assert_eq!((pair.view().cwnd_bytes, pair.counters().recoveries), (5 * MSS, 1));
}

/// RFC 6675 with ten segments in flight and two lost.
#[test]
fn the_pipe_waits_until_half_the_flight_has_left() {
    let mut pair = flight(TcpConfig { recovery: Recovery::Pipe, ..window(10) }, &[1, 2]);
    pair.run_ms(250);
    assert_eq!(answers(&pair, 10), ["", "", "", "", "R1", "", "R2", "11", "12", "13"]);
}

/// RFC 6675 with twenty in flight and five lost: R2 waits for the seventh ACK.
#[test]
fn the_pipe_is_silent_after_a_burst_of_losses() {
    let mut pair = flight(TcpConfig { recovery: Recovery::Pipe, ..window(20) }, &[1, 2, 3, 4, 5]);
    pair.run_ms(250);
    let on = ["R1", "", "", "", "R2", "R3", "R4", "R5", "21", "22", "23", "24", "25"];
    assert_eq!(answers(&pair, 20)[7..], on);
}

/// RFC 9937 with the same losses: R2 on the fourth ACK.
#[test]
fn prr_spreads_what_it_sends() {
    let mut pair = flight(window(20), &[1, 2, 3, 4, 5]);
    pair.run_ms(250);
    let on = ["R1", "R2", "", "R3", "", "", "R4", "R5", "21", "22", "23", "24", "25"];
    assert_eq!(answers(&pair, 20)[7..], on);
    assert_eq!(pair.view().ssthresh_bytes, Some(10 * MSS));
}

/// Sends at 0, 1, .. 9 ms, RTT 100 ms, the first one lost: without reordering seen, the third SACK
/// decides at 103 ms.
#[test]
fn rack_takes_three_sacks_for_a_loss_before_it_has_seen_reordering() {
    let config = TcpConfig { loss_policy: LossPolicy::RackTlp, ..window(10) };
    let mut lost = false;
    let mut pair = Plan { client_bytes: None, ..Plan::new(config, 0) }.start(move |f| {
        if !f.forth || f.len == 0 {
            return Delivery::Deliver;
        }
        if f.offset == 0 && !lost {
            lost = true;
            return Delivery::Drop;
        }
        Delivery::Delay(Span::from_millis(f.segment(MSS) - 1))
    });
    pair.run_ms(250);
    let again = pair.repeats();
    assert_eq!(again[0].at, Time::from_millis(203));
}

/// The last of several segments is lost: the probe leaves two SRTT after the last ACK that
/// advanced, and repairs it.
#[test]
fn a_tail_loss_is_probed_after_two_round_trips() {
    let config = TcpConfig { loss_policy: LossPolicy::RackTlp, ..window(10) };
    let mut lost = false;
    let mut pair = Plan::new(config, 5 * MSS).start(move |f| {
        let last = f.forth && f.segment(MSS) == 5 && f.len > 0;
        if last && !core::mem::replace(&mut lost, true) {
            Delivery::Drop
        } else {
            Delivery::Deliver
        }
    });
    pair.run_ms(10_000);
    pair.assert_finished(5 * MSS);
    let again = pair.repeats();
    // One segment is in flight: 40 ms for a delayed ACK come on top.
    assert_eq!((again.len(), again[0].at), (1, Time::from_millis(200 + 200 + 40)));
    assert_eq!((pair.counters().tail_probes, pair.counters().timeouts), (1, 0));
}

/// Nothing comes back from the start: the SYN leaves at 1, 3, 7, 15, 31, 63, 123 and 183 s.
#[test]
fn a_black_hole_is_tried_with_doubled_patience() {
    let mut pair = Plan::new(config(), MSS).start(|_| Delivery::Drop);
    pair.run_ms(200_000);
    let at: Vec<u64> = pair.log.iter().map(|f| f.at.as_millis() / 1000).collect();
    assert_eq!(at, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
}

/// Nothing arrives before 2.6 s, and nothing is lost: the timer expired once, needlessly. One
/// retransmission, and the window is given back: by F-RTO, and by Eifel where there are timestamps.
#[test]
fn a_delay_without_loss_costs_one_retransmission() {
    for timestamps in [false, true] {
        let c = TcpConfig { timestamps, ..window(10) };
        let mut pair = Plan { client_bytes: None, ..Plan::new(c, 0) }.start(|f| {
            let late = f.forth && f.len > 0;
            let wait = Time::from_millis(2600).since(f.at);
            if late { Delivery::Delay(wait) } else { Delivery::Deliver }
        });
        pair.run_ms(2750);
        let again: Vec<u64> = pair.repeats().iter().map(|f| f.segment(MSS)).collect();
        assert_eq!((again, pair.counters().timeouts), (Vec::from([1]), 1));
        assert!(pair.view().cwnd_bytes >= 10 * MSS, "{:?}", pair.view());
    }
}
