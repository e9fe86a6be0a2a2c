//! What the port adds to the loop of RCP.

use super::*;

/// A port that nobody uses says two codes to a first flight, also above the largest: by hand, of
/// 10 packets that say one of two with 1/4 and 3/4, all are equal in 5.6 % of flights.
#[test]
fn a_port_at_its_cap_says_two_codes() {
    for (rate, rounding, codes) in [
        (Rate::mbps(10_000), Rounding::Shared, &[1464, 1472][..]),
        (Rate::mbps(10_000), Rounding::Floor, &[1472][..]),
        // 149.163 Mbit/s is code 117: next to nothing would be rounded up.
        (Rate::clamped(149_170_000 * 1520 / 1500), Rounding::Shared, &[936, 944][..]),
        (Rate::clamped(149_170_000 * 1520 / 1500), Rounding::Floor, &[936][..]),
    ] {
        let params =
            KickAssPortParams { rounding, initial_share: 1.0, ..KickAssPortParams::paper() };
        let mut port = Port::of(params, init(rate, Limit::Packets(1000), 0, 0));
        let leads: Vec<u16> = (0..4000).filter_map(|number| port.lead(number)).collect();
        for &code in codes {
            let share = leads.iter().filter(|&&lead| lead == code).count() as f64 / 4000.0;
            assert!(share > 0.23, "{rate:?} {rounding:?}: {code} in {share}");
        }
        assert!(leads.len() == 4000 && leads.iter().all(|lead| codes.contains(lead)), "{rate:?}");
        // Of first flights those that show all codes.
        let shows = |flight: &&[u16]| codes.iter().all(|code| flight.contains(code));
        assert!(leads.chunks(10).filter(shows).count() > 360, "{rate:?} {rounding:?}");
    }
}

/// The first R is for 20 flows. By hand: 60 that come at once have a 60th of the link each, and 15
/// more, or none, leave R to the loop.
#[test]
fn r_is_divided_at_once_where_many_flows_come_together() {
    for (flows, share) in [(15, 20.0), (30, 20.0), (60, 60.0)] {
        let mut port = Port::new(KickAssPortParams::recommended());
        let arena = &mut Arena::default();
        (0..flows).for_each(|flow| port.arrive(&mut segment(flow, 1, 1500, arena), arena));
        port.now = port.scheme.control.ends;
        port.scheme.on_timeout(port.now, Backlog::default());
        let part = C.bps() as f64 / port.scheme.control.rate_bps;
        // The loop has moved R by alpha T / d = 4 % at most, and N is counted within 5 %.
        assert!((part / share - 1.0).abs() < 0.09, "{flows} flows: 1 / {part}");
    }
}

/// By hand: 1500 bytes take 12 ms at 1 Mbit/s.
#[test]
fn d_is_at_least_four_packets_of_a_flow_with_the_hardened_rule() {
    for (fallback, bps, expected_ms) in [
        (Fallback::Hardened, 1e6, 48.0),
        (Fallback::Hardened, 24e6, 2.0),
        (Fallback::Hardened, 96e6, 1.0),
        (Fallback::Paper, 1e6, 1.0),
    ] {
        let params = KickAssPortParams { fallback, initial_rtt: MS, ..KickAssPortParams::paper() };
        let mut port = Port::new(params);
        port.say_bps(bps);
        let end = port.scheme.control.ends;
        port.scheme.on_timeout(end, Backlog::default());
        let rtt_ms = port.scheme.control.rtt_s * 1e3;
        assert!((rtt_ms - expected_ms).abs() < 1e-9, "{fallback:?} {bps}: {rtt_ms} ms");
    }
}
