//! The test cases of the draft's appendix ("BBR Example Test Cases"), on the scenarios of the same
//! names in `scenarios/bbr/`. What a run shows as a whole stands there as `[[expect]]`; what the
//! sender goes through stands here.

use super::lab::Trace;

/// Payload that a link of that rate carries, in bit/s: 1448 of 1500 bytes.
fn payload(mbps: f64) -> f64 {
    mbps * 1e6 * 1448.0 / 1500.0
}
const MARGIN: f64 = 0.99;

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance * expected
}

#[test]
fn startup_plateau() {
    let trace = Trace::of("bbr/startup-plateau");
    assert_eq!(trace.phases()[..2], ["startup", "drain"]);
    let exit = trace.first("drain");
    assert!(near(exit.bw, payload(100.0), 0.02) && exit.lost == 0, "{exit:?}");
    // The pipe was full for three rounds, and for one more in which that was measured.
    let full = trace.find(|s| s.bw >= 0.98 * payload(100.0)).at_s;
    let rounds = (exit.at_s - full) / exit.srtt_s;
    assert!((2.0..=4.5).contains(&rounds), "{rounds}");
}

#[test]
fn startup_loss_app_limited() {
    let trace = Trace::of("bbr/startup-loss-app-limited");
    assert!(trace.all(0.0, 3.0, |s| s.phase == "startup"));
    let exit = trace.find(|s| s.phase != "startup");
    // Losses are known after a round trip, and recovery lasts for one.
    assert!((3.1..3.5).contains(&exit.at_s), "{exit:?}");
    assert!(exit.longterm > 0.0, "only losses set it: {exit:?}");
}

#[test]
fn drain_inflight() {
    let trace = Trace::of("bbr/drain-inflight");
    let drain: Vec<_> = trace.samples.iter().filter(|s| s.phase == "drain").collect();
    let gain = drain[0].pacing_bps / drain[0].bw / MARGIN;
    assert!(near(gain, 0.5, 0.001), "{gain}");
    let (last, next) = (drain[drain.len() - 1], trace.after("drain"));
    let bdp = last.bw * last.min_rtt_s / 8.0 / 1448.0;
    // A millisecond is 8 packets.
    assert!(last.in_flight > bdp && next.in_flight <= bdp + 8.0, "{last:?} {next:?}");
}

#[test]
fn drain_time() {
    // By 10 %, as the draft has it, the queue drains: 0.5 is less than 0.9.
    let trace = Trace::of("bbr/drain-time");
    let (start, end) = (trace.first("drain"), trace.after("drain"));
    let bdp = end.bw * end.min_rtt_s / 8.0 / 1448.0;
    assert!(end.phase == "down" && end.in_flight > 1.5 * bdp, "{end:?}");
    // More than three rounds of a growing queue.
    let rounds = (end.at_s - start.at_s) / end.srtt_s;
    assert!((2.5..=5.0).contains(&rounds), "{rounds}");
}

#[test]
fn up_plateau() {
    let trace = Trace::of("bbr/up-plateau");
    for up in trace.visits("up") {
        let (first, last) = (&up[0], &up[up.len() - 1]);
        // Three rounds of the queue that it builds; 1.25 and 2 BDP in flight.
        let rounds = (last.at_s - first.at_s) / first.min_rtt_s;
        assert!((3.0..=6.0).contains(&rounds), "{rounds}");
        assert!(last.lost == 0 && last.longterm == 0.0, "{last:?}");
        assert!(near(first.pacing_bps, 1.25 * MARGIN * first.bw, 0.001));
    }
    assert!(trace.visits("up").len() >= 3);
    assert!(trace.follows("up", "down"));
}

#[test]
fn up_loss_app_limited() {
    let trace = Trace::of("bbr/up-loss-app-limited");
    assert_eq!(trace.at(8.0).phase, "up");
    let exit = trace.find(|s| s.at_s > 8.0 && s.phase != "up");
    assert!(exit.at_s < 8.5 && exit.lost > 0, "{exit:?}");
    assert_eq!(exit.longterm, 0.0, "losses of what the application limits set no volume");
}

#[test]
fn up_app_limited() {
    let trace = Trace::of("bbr/up-app-limited");
    let last = trace.visits("up").pop().expect("an Up without end");
    let (first, end) = (&last[0], &last[last.len() - 1]);
    // From one ProbeRTT, at 5 s, almost to the next.
    assert!(end.at_s > 10.1 && end.at_s - first.at_s > 50.0 * end.srtt_s, "{first:?}");
}

#[test]
fn startup_app_limited() {
    let trace = Trace::of("bbr/startup-app-limited");
    assert_eq!(trace.phases(), ["startup"]);
}

#[test]
fn down_inflight() {
    let trace = Trace::of("bbr/down-inflight");
    let visits = trace.visits("down");
    assert!(visits.len() >= 3);
    for down in visits {
        let (first, last) = (&down[0], &down[down.len() - 1]);
        assert!(near(first.pacing_bps, 0.9 * MARGIN * first.bw, 0.001), "{first:?}");
        let bdp = last.bw * last.min_rtt_s / 8.0 / 1448.0;
        assert!(last.in_flight >= bdp, "{last:?}");
    }
    assert!(trace.follows("down", "cruise"));
    for cruise in trace.visits("cruise") {
        let s = &cruise[0];
        // The window may hold a quantum of two more than a BDP when the ACK has been answered.
        assert!(s.in_flight <= s.bw * s.min_rtt_s / 8.0 / 1448.0 + 3.0, "{s:?}");
    }
}

#[test]
fn down_max_time() {
    let trace = Trace::of("bbr/down-max-time");
    let down = &trace.visits("down")[0];
    let (first, last) = (&down[0], &down[down.len() - 1]);
    assert!(first.at_s < 2.2, "the event must come in it: {first:?}");
    // 33 rounds, or 2 to 3 s.
    let lasted = last.at_s - first.at_s;
    assert!((1.3..=3.1).contains(&lasted), "{lasted}");
    assert_eq!(trace.find(|s| s.at_s > last.at_s).phase, "refill");
}

#[test]
fn probe_rtt() {
    let trace = Trace::of("bbr/probe-rtt");
    let probe = &trace.visits("probe-rtt")[0];
    let before = trace.at(probe[0].at_s - 0.005);
    // 5 s after the last lower sample, those of the first round trips.
    assert!((5.0..5.3).contains(&probe[0].at_s), "{:?}", probe[0]);
    assert!(probe[0].srtt_s > 3.0 * before.min_rtt_s, "samples are inflated");
    assert!(near(probe[0].min_rtt_s, before.min_rtt_s, 0.001), "min_rtt is remembered");
    // Half a BDP of the old estimate, 4 segments at least, all the time.
    let window = (0.5 * before.bw * before.min_rtt_s / 8.0 / 1448.0).max(4.0);
    assert!(probe.iter().all(|s| s.cwnd <= window + 0.01), "{window} {:?}", probe[0]);
    let reached = probe.iter().find(|s| s.in_flight <= window).expect("it drains").at_s;
    let lasted = probe[probe.len() - 1].at_s - reached;
    assert!(lasted >= 0.199, "{lasted}");
    assert_eq!(trace.after("probe-rtt").phase, "cruise");
}

#[test]
fn idle_skips_probe_rtt() {
    let trace = Trace::of("bbr/idle-skips-probe-rtt");
    assert!(trace.all(6.0, 15.9, |s| s.in_flight == 0.0), "the flow is idle");
    assert!(!trace.phases().contains(&"probe-rtt"), "{:?}", trace.phases());
    // It goes on at the rate of before.
    let after = trace.at(16.2);
    assert!(near(after.bw, payload(10.0), 0.02) && after.in_flight > 20.0, "{after:?}");
}

#[test]
fn aggregation_startup() {
    let trace = Trace::of("bbr/aggregation-startup");
    let exit = trace.first("drain");
    assert!(near(exit.bw, payload(100.0), 0.02), "{exit:?}");
    let bdp = exit.bw * exit.min_rtt_s / 8.0 / 1448.0;
    assert!(exit.extra_acked >= 32.0 && exit.cwnd > 2.0 * bdp, "{bdp} {exit:?}");
}

#[test]
fn aggregation_cruise() {
    let trace = Trace::of("bbr/aggregation-cruise");
    for cruise in trace.visits("cruise") {
        let last = &cruise[cruise.len() - 1];
        let bdp = last.bw * last.min_rtt_s / 8.0 / 1448.0;
        assert!(near(last.extra_acked, 128.0, 0.3), "{last:?}");
        assert!(last.cwnd >= 2.0 * bdp + 0.7 * 128.0, "{last:?}");
    }
}

#[test]
fn sub_packet_bdp() {
    let trace = Trace::of("bbr/sub-packet-bdp");
    let settled: Vec<_> = trace.samples.iter().filter(|s| s.at_s > 5.0).collect();
    assert!(settled.iter().all(|s| s.cwnd >= 4.0));
    let s = settled[settled.len() - 1];
    let bdp = s.bw * 0.02 / 8.0 / 1448.0;
    assert!(bdp < 1.0 && near(s.bw, payload(0.256), 0.03), "{s:?}");
}

#[test]
fn rate_up_10x() {
    let trace = Trace::of("bbr/rate-up-10x");
    let up = trace.find(|s| s.at_s > 5.0 && s.phase == "up");
    let full = trace.find(|s| s.bw >= 0.98 * payload(100.0));
    // 1, 2, 4 .. segments a round: 68 and 2^n - 1 must pass 333, the new BDP, so n = 9; a round of
    // 40 ms to 80 ms before the queue is gone, and one in which the growth is measured.
    let rounds = (full.at_s - up.at_s) / 0.04;
    assert!((8.0..=24.0).contains(&rounds), "{rounds}");
    // 1, then 2, 4, 8, 16 more, in rounds of little more than 40 ms.
    let start = trace.find(|s| s.at_s > up.at_s && s.longterm > up.longterm).at_s;
    let grown = |rounds: f64| trace.at(start + rounds * 0.042).longterm - up.longterm;
    let sums: Vec<f64> = [1.0, 2.0, 3.0, 4.0].map(grown).into();
    for (n, sum) in sums.iter().enumerate() {
        let expected = f64::from((4 << n) - 1);
        assert!((0.9..=1.5).contains(&(sum / expected)), "{sums:?}");
    }
}

#[test]
fn rate_down_10x() {
    let trace = Trace::of("bbr/rate-down-10x");
    let lowest = trace.samples.iter().filter(|s| (5.0..7.0).contains(&s.at_s)).map(|s| s.bw);
    let lowest = lowest.fold(f64::MAX, f64::min);
    assert!(lowest <= 0.71 * payload(100.0), "the short-term model adapts first: {lowest}");
    let known = trace.find(|s| s.at_s > 5.0 && s.bw <= 1.02 * payload(10.0)).at_s;
    let cycles = trace.visits("up").iter().filter(|u| (5.0..known).contains(&u[0].at_s)).count();
    assert!(cycles <= 3, "{cycles}");
    assert!(near(trace.at(19.0).bw, payload(10.0), 0.02));
}

#[test]
fn policer() {
    let trace = Trace::of("bbr/policer");
    let (half, end) = (trace.at(10.0), trace.at(19.9));
    let lost = (end.lost - half.lost) as f64 / (end.delivered - half.delivered) as f64;
    assert!(lost < 0.01, "{lost}");
    assert!(trace.samples.iter().any(|s| s.shortterm > 0.0));
    let longterm = (half.longterm, end.longterm);
    assert!(longterm.0 > 30.0 && near(longterm.1, longterm.0, 0.2), "{longterm:?}");
}

#[test]
fn spurious_recovery() {
    let trace = Trace::of("bbr/spurious-recovery");
    let (before, after) = (trace.at(3.0), trace.at(3.15));
    assert!(before.lost == 0 && after.lost > 0, "{after:?}");
    assert_eq!((after.longterm, after.shortterm), (0.0, 0.0), "nothing is left of it");
    assert_eq!(after.phase, before.phase);
}

#[test]
fn spurious_rto() {
    let trace = Trace::of("bbr/spurious-rto");
    let before = trace.at(3.0);
    let timeout = trace.find(|s| s.at_s > 3.0 && s.cwnd <= 1.0);
    assert!((4.0..4.2).contains(&timeout.at_s), "a second after it was armed: {timeout:?}");
    let after = trace.at(4.7);
    assert_eq!((after.longterm, after.shortterm), (0.0, 0.0), "nothing is left of it");
    assert!(near(after.cwnd, before.cwnd, 0.1), "{after:?}");
}

#[test]
fn probe_rtt_in_startup() {
    let trace = Trace::of("bbr/probe-rtt-in-startup");
    assert_eq!(trace.phases()[..3], ["startup", "probe-rtt", "startup"]);
    assert!(trace.follows("probe-rtt", "startup"));
    let probe = &trace.visits("probe-rtt")[0];
    assert!((5.0..5.2).contains(&probe[0].at_s), "{:?}", probe[0]);
}

#[test]
fn up_loss_longterm() {
    let trace = Trace::of("bbr/up-loss-longterm");
    let before = trace.at(1.94);
    assert!(before.phase == "up" && before.longterm > 0.0, "{before:?}");
    let exit = trace.find(|s| s.at_s > 1.95 && s.phase != "up");
    assert!(exit.at_s < 2.06, "before the plateau: {exit:?}");
    let bdp = exit.bw * exit.min_rtt_s / 8.0 / 1448.0;
    assert!(exit.longterm < before.longterm && exit.longterm >= 0.699 * bdp, "{exit:?}");
}

#[test]
fn refill_app_limited() {
    let trace = Trace::of("bbr/refill-app-limited");
    let refill = &trace.visits("refill")[0];
    let (first, last) = (&refill[0], &refill[refill.len() - 1]);
    // The last segment waits for its delayed ACK.
    assert!(refill.iter().any(|s| s.in_flight <= 1.0), "the application pauses");
    let bw = first.bw;
    assert!(trace.all(first.at_s, first.at_s + 0.5, |s| s.bw >= bw), "a sample too low is taken");
    assert_eq!(trace.find(|s| s.at_s > last.at_s).phase, "up");
}
