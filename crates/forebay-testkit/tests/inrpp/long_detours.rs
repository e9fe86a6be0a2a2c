//! Detours over links that take much longer than the one that they go round.
#![allow(clippy::print_stdout)] // the table

use super::ends::mean_fct;
use super::lab::WIRE;

/// `count` flows of this size from r0 to r1, over a link of 10 Mbit/s and 5 ms, and round it over
/// two links that take so many milliseconds each.
fn triangle(count: usize, bytes: &str, delay_ms: u64) -> String {
    let link = |a: &str, b: &str, delay_ms: u64| {
        format!(
            "[[links]]\na = '{a}'\nb = '{b}'\nrate = '10Mbit/s'\ndelay = '{delay_ms}ms'\n\
             queue = '50ms'\n"
        )
    };
    let links =
        [link("r0", "r1", 5), link("r0", "r2", delay_ms), link("r2", "r1", delay_ms)].concat();
    let hosts = |name: &str, router: &str| {
        format!(
            "[[hosts]]\nname = '{name}{{}}'\ncount = {count}\nattach = '{router}'\n\
             rate = '100Mbit/s'\ndelay = '1ms'\nqueue = '50ms'\n"
        )
    };
    let (s, d) = (hosts("s", "r0"), hosts("d", "r1"));
    format!(
        "routers = ['r0', 'r1', 'r2']\n{links}{s}{d}[[flows]]\nsrc = 's{{}}'\ndst = 'd{{}}'\n\
         count = {count}\nevery = '50ms'\nbytes = '{bytes}'\n"
    )
}

/// Over what it is without detours, which ones of 5 s have nobody take.
fn with_detours(count: usize, bytes: &str, delay_ms: u64) -> f64 {
    let mean_s = |delay_ms| mean_fct(&triangle(count, bytes, delay_ms), "inrpp", count as u32);
    let ((with_s, needless), (without_s, _)) = (mean_s(delay_ms), mean_s(5_000));
    let ratio = with_s / without_s;
    println!("| {count} of {bytes}, 2 x {delay_ms} ms | {ratio:.3} | {needless} needless |");
    if delay_ms > 405 {
        assert_eq!(needless, 0, "{count} of {bytes}, {delay_ms} ms");
    }
    ratio
}

/// The last packets of a flow would be late by the time that the detour takes more.
#[test]
fn a_detour_that_is_later_than_the_link_takes_nothing() {
    for (count, bytes) in [(10, "300kB"), (2, "16MB"), (10, "30kB"), (1, "2MB")] {
        for delay_ms in [410, 500, 1_000] {
            let ratio = with_detours(count, bytes, delay_ms);
            assert!((ratio - 1.0).abs() < 0.001, "{count} of {bytes}, {delay_ms} ms: {ratio}");
        }
    }
    for (count, bytes) in [(10, "30kB"), (4, "100kB")] {
        for delay_ms in [20, 50, 100, 200] {
            let ratio = with_detours(count, bytes, delay_ms);
            assert!(ratio < 1.25, "{count} of {bytes}, {delay_ms} ms: {ratio}");
        }
    }
}

#[test]
fn bulk_has_its_detours_all_the_same() {
    // At 400 ms a quarter of S_low is less than the link serves in that time, and S_low is lower
    // while one of the two has nothing in the cache: 0.533 where it is not.
    for (delay_ms, most) in [(50, 0.56), (200, 0.56), (400, 0.58)] {
        let ratio = with_detours(2, "16MB", delay_ms);
        assert!(ratio < most, "{delay_ms} ms: {ratio}");
    }
}

/// A flow alone, whose cache holds little because its round trip is short, runs dry between its
/// bursts: its excess lasts all the same.
#[test]
fn a_flow_with_a_short_round_trip_has_a_longer_detour() {
    let text = "link_defaults = { queue = '100packets', delay = '100us', rate = '30Mbit/s' }
        routers = ['r0', 'r1', 'r2']
        links = [
            { a = 'r0', b = 'r1' },
            { a = 'r0', b = 'r2' },
            { a = 'r2', b = 'r1', delay = '10ms' },
        ]
        hosts = [
            { name = 's', attach = 'r0', rate = '300Mbit/s' },
            { name = 'd', attach = 'r1', rate = '1Gbit/s' },
        ]
        flows = [{ src = 's', dst = 'd', bytes = '20MB' }]";
    let (seconds, needless) = mean_fct(text, "inrpp", 1);
    let pooled = 20e6 * 8.0 * WIRE / 60e6;
    println!("| 20 MB over 30 + 30 Mbit/s, 10 ms longer | {:.3} |", seconds / pooled);
    assert!(seconds < 1.05 * pooled, "{seconds} s, at both rates {pooled}");
    assert_eq!(needless, 0);
}

/// A packet that is missing may be on the detour, and is waited for: for no longer than a few round
/// trips where detours are not longer.
#[test]
fn a_loss_beside_a_detour_is_repaired_in_a_few_round_trips() {
    let mean = |protocol| {
        let of = |packet: u64| {
            let loss = format!("queue = '50ms'\nloss = {{ packets = [{packet}] }}");
            let lossy = triangle(1, "150kB", 5).replacen("queue = '50ms'", &loss, 1);
            mean_fct(&lossy, protocol, 1).0
        };
        (10..60).map(of).sum::<f64>() / 50.0
    };
    let (ours, theirs) = (mean("inrpp"), mean("newreno"));
    println!("| a packet lost beside a detour | {ours:.3} | NewReno {theirs:.3} |");
    assert!(ours < theirs * 1.45, "{ours} s beside {theirs} s");
}

/// While its link fails, nothing that a flow hears is late: it has not been sent round. ACKs that
/// waited behind the link say that much is lost, and the flows go on. They took 8.2 s.
#[test]
fn a_failure_beside_a_detour_is_no_lateness() {
    let link = |a: &str, b: &str, mbps: u64| {
        format!(
            "[[links]]\na = '{a}'\nb = '{b}'\nrate = '{mbps}Mbit/s'\ndelay = '12ms'\n\
             queue = '50ms'\n"
        )
    };
    let links = [link("r0", "r1", 200), link("r0", "r2", 30), link("r2", "r1", 30)].concat();
    let hosts = |name: &str, router: &str| {
        format!(
            "[[hosts]]\nname = '{name}{{}}'\ncount = 2\nattach = '{router}'\nrate = '1Gbit/s'\n\
             delay = '1ms'\nqueue = '50ms'\n"
        )
    };
    let (s, d) = (hosts("s", "r0"), hosts("d", "r1"));
    let event = |at: &str, state: &str| {
        format!("[[events]]\nat = '{at}'\nlink = 'r0-r1'\nstate = '{state}'\n")
    };
    let (down, up) = (event("700ms", "down"), event("3700ms", "up"));
    let text = format!(
        "routers = ['r0', 'r1', 'r2']\n{links}{s}{d}[[flows]]\nsrc = 's{{}}'\ndst = 'd{{}}'\n\
         count = 2\nevery = '20ms'\nbytes = '15MB'\n{down}{up}"
    );
    let ((ours, needless), (theirs, _)) =
        (mean_fct(&text, "inrpp", 2), mean_fct(&text, "cubic", 2));
    println!("| a failure of 3 s beside a detour | {ours:.3} | CUBIC {theirs:.3} | {needless} |");
    assert!(ours < theirs * 1.3, "{ours} s beside {theirs} s");
    assert!(needless < 10, "{needless} of 20 000 packets");
}
