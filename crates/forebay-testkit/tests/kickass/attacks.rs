//! What misleads Kick-Ass, guards off (`plain`, the paper's end points) and on (`kickass`): routers
//! that disagree, plain IP that cuts, forged and orphaned fragments, receivers that lie, and
//! identifications that come again. Scenarios are built in; docs/papers/kickass.md has the figures.
#![allow(clippy::print_stdout)] // the figures

use super::ways::same_every_way;
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{RunOptions, RunResult, run_one};

fn load(name: &str, set: &[&str]) -> Result<Scenario, String> {
    let set = set.iter().map(ToString::to_string).collect();
    Scenario::load(name, &LoadOptions { set, ..LoadOptions::default() })
        .map_err(|error| error.to_string())
}

fn run(name: &str, protocol: &str, set: &[&str]) -> RunResult {
    let scenario = load(name, set).expect("it loads");
    run_one(&scenario, protocol, 1, &RunOptions::default()).expect("it runs")
}

fn goodput_mbps(result: &RunResult) -> Vec<f64> {
    let bps = result.per_flow.iter().map(|flow| flow.goodput_bps.unwrap_or(0.0));
    bps.map(|bps| bps / 1e6).collect()
}

fn dropped(result: &RunResult, reason: &str) -> u64 {
    result.drops.get(reason).copied().unwrap_or(0)
}

/// Mbit/s of payload that fill 10 Mbit/s of packets of 1500 bytes, each with 20 more for a cut.
const FULL_MBPS: f64 = 10.0 * 1460.0 / 1520.0;

/// Where one router falls back and another signals, senders obey the other, and lose packets. The
/// lowest code from the first identifies them as TCP. Who does not know that takes it for its rate:
/// 120.036 kbit/s of packets, 1460 of 1500 bytes of which are payload.
#[test]
fn a_router_that_falls_back_is_heard_behind_one_that_signals_only_if_it_says_so() {
    let of = |protocol: &str, explicit: bool| {
        let explicit = format!("kickass.explicit_tcp={explicit}");
        let result = run("kickass/two-routers", protocol, &["until_s=40", &explicit]);
        let (ours, goodput) = (&result.per_flow[..4], goodput_mbps(&result));
        let repeats: u64 = ours.iter().map(|flow| flow.retransmits).sum();
        let (four, eight): (f64, f64) = (goodput[..4].iter().sum(), goodput[4..].iter().sum());
        let full = dropped(&result, "full");
        println!(
            "two routers, {protocol}, {explicit}: {four:.2} of {:.2} Mbit/s, {repeats} sent again, \
             {full} dropped",
            four + eight
        );
        (four, repeats, full)
    };
    let (silent, said) = (of("kickass", false), of("kickass", true));
    assert!(silent.1 > 2 * said.1 && silent.2 > said.2, "{silent:?} {said:?}");
    let (silent, said) = (of("plain", false), of("plain", true));
    assert!(silent.1 > 2 * said.1, "{silent:?} {said:?}");
    let told = 4.0 * 0.120_036 * 1460.0 / 1500.0;
    assert!((said.0 / told - 1.0).abs() < 0.1, "{said:?}, told {told}");
}

/// A link with an MTU of 1492 bytes says 9.8 Gbit/s: each flow begins with a burst at the rate of
/// its interface. One of 576 says 7.4 Mbit/s; it loses what says the round-trip time, for that has
/// DF and 600 bytes, and each loss counts. With guards both are plain TCP.
#[test]
fn what_plain_ip_cuts_says_rates_that_are_no_routers() {
    for mtu in ["1492", "576"] {
        let of = |protocol: &str| {
            let result = run(&format!("kickass/mtu-{mtu}"), protocol, &[]);
            let sum: f64 = goodput_mbps(&result).iter().sum();
            let (full, long) = (dropped(&result, "full"), dropped(&result, "too_big"));
            println!("MTU {mtu}, {protocol}: {sum:.2} Mbit/s, {full} full, {long} too big");
            (sum, full, long)
        };
        let (tcp, plain, guarded) = (of("newreno"), of("plain"), of("kickass"));
        assert!((guarded.0 / tcp.0 - 1.0).abs() < 0.02, "{guarded:?} {tcp:?}");
        assert!(guarded.1 < tcp.1 + tcp.1 / 4 && guarded.2 == 0, "{guarded:?} {tcp:?}");
        match mtu {
            "1492" => assert!(plain.1 > 4 * tcp.1, "{plain:?} {tcp:?}"),
            _ => assert!(plain.0 < 0.3 * tcp.0 && plain.2 > 100, "{plain:?} {tcp:?}"),
        }
    }
}

/// Forged codes count as they come, unless their datagrams must be complete: no tail of them comes.
/// The guarded flow loses at most the datagrams whose identification was hit: one of 65 536 for
/// each fragment that is forged.
#[test]
fn forged_leading_pieces_count_only_for_who_does_not_wait_for_their_tails() {
    for attack in ["low", "high"] {
        let of = |protocol: &str| {
            let result = run(&format!("kickass/spoofed-{attack}"), protocol, &[]);
            let (goodput, full) = (goodput_mbps(&result), dropped(&result, "full"));
            println!("forged {attack}, {protocol}: {goodput:.2?} Mbit/s, {full} dropped");
            (goodput[0], goodput[1], full)
        };
        let (plain, guarded) = (of("plain"), of("kickass"));
        let share = FULL_MBPS / 2.0;
        assert!(guarded.0.min(guarded.1) > 0.9 * share && guarded.2 == 0, "{guarded:?}");
        match attack {
            "low" => assert!(plain.0 < 0.5 * share && plain.1 > 1.2 * share, "{plain:?}"),
            _ => assert!(plain.1 < 0.5 * share && plain.2 > 1000, "{plain:?}"),
        }
    }
}

/// The port has one rate R for all. Where one of four receivers says R exp(n / 16), n the codes by
/// which it lies, the rates add up to the link: it has exp(n / 16) / (3 + exp(n / 16)) of it.
#[test]
fn a_receiver_that_lies_gets_what_it_says_at_the_cost_of_its_neighbours() {
    for (codes, factor) in [(16, 1f64.exp()), (-16, (-1f64).exp()), (0, 1.0)] {
        let lie = format!("protocol.liar.lie_codes={codes}");
        let goodput = goodput_mbps(&run("kickass/liar", "kickass", &[&lie]));
        let all: f64 = goodput.iter().sum();
        println!("liar, {codes} codes: {goodput:.3?} Mbit/s");
        assert!((goodput[0] / all / (factor / (3.0 + factor)) - 1.0).abs() < 0.02, "{goodput:?}");
        assert!((goodput[1] / all * (3.0 + factor) - 1.0).abs() < 0.02, "{goodput:?}");
        assert!(all > 0.97 * FULL_MBPS, "{all}");
    }
}

/// 4 MiB hold 2834 first fragments of 420 bytes: what Linux 6.18 was measured to hold. They come
/// within 2.834 s from 10 s on, and end 30 s after they came. Meanwhile nothing that was cut
/// arrives.
#[test]
fn orphans_fill_the_memory_of_a_receiver_for_as_long_as_they_wait() {
    let between = |protocol: &str, from: u32, until: u32| {
        let set = [format!("measure_from_s={from}"), format!("until_s={until}")];
        let result = run("kickass/orphans", protocol, &[&set[0], &set[1]]);
        let mbps = goodput_mbps(&result)[0];
        println!("orphans, {protocol}, {from} to {until} s: {mbps:.2} Mbit/s, {:?}", result.drops);
        (mbps, result)
    };
    let (mbps, filled) = between("plain", 14, 40);
    assert_eq!(mbps, 0.0);
    assert_eq!(dropped(&filled, "fragment_missing"), 0);
    let (mbps, over) = between("plain", 60, 80);
    assert!(mbps > 0.9 * FULL_MBPS, "{mbps}");
    assert_eq!(dropped(&over, "fragment_missing"), 2834);
    let (mbps, guarded) = between("kickass", 14, 40);
    assert!(mbps > 0.95 * FULL_MBPS && guarded.per_flow[0].timeouts == 0, "{mbps}");
}

/// A fragment whose other half was lost meets that of another datagram when its identification
/// comes again, 0.8 s later at 1 Gbit/s. The checksum finds each such pair: both of its fragments
/// are counted. Linux's limit on the distance, and few packets that may be cut, leave none.
#[test]
fn pieces_of_two_datagrams_are_found_by_the_checksum() {
    let of = |protocol: &str, distance: u32| {
        let distance = format!("hosts.1.reassembly.max_distance={distance}");
        let result = run("kickass/id-wrap", protocol, &["until_s=6", &distance]);
        let mixed = dropped(&result, "checksum");
        println!("IDs, {protocol}, {distance}: {:.0?} Mbit/s, {:?}", goodput_mbps(&result), {
            &result.drops
        });
        (mixed, result)
    };
    let (mixed, plain) = of("plain", 0);
    assert!(mixed >= 4 && mixed.is_multiple_of(2), "{mixed}");
    assert!(plain.per_flow[0].retransmits > dropped(&plain, "loss"), "{:?}", plain.drops);
    let (mixed, linux) = of("plain", 64);
    assert_eq!(mixed, 0);
    assert!(dropped(&linux, "fragment_too_distant") > 0, "{:?}", linux.drops);
    assert_eq!(of("kickass", 0).0, 0);
}

/// The same hash by bytes, without fast paths, and in two threads.
#[test]
fn hashes_do_not_depend_on_how_a_run_is_computed() {
    for (name, protocol) in [
        ("kickass/two-routers", "kickass"),
        ("kickass/mtu-576", "plain"),
        ("kickass/spoofed-low", "plain"),
        ("kickass/orphans", "kickass"),
    ] {
        let scenario = load(name, &["measure_from_s=0", "until_s=13"]).expect("it loads");
        same_every_way(&scenario, protocol, name, |_| ());
    }
}

/// A middlebox that knows no Kick-Ass takes the offer from the SYN: both flows are plain TCP, DF
/// set, and nothing is cut. One that drops fragments after the handshake makes the guarded flow
/// set DF; the other gets nothing through.
#[test]
fn middleboxes_make_plain_tcp_or_silence() {
    let on = |keys: &str| format!("link_defaults.middlebox={keys}");
    let strip = on("{ strip_options = \"unknown\" }");
    let set = ["attacks=[]", "until_s=10", "measure_from_s=0", &strip];
    let hashes = ["plain", "kickass"].map(|protocol| {
        let result = run("kickass/spoofed-low", protocol, &set);
        assert_eq!(result.metrics.options_stripped, 2, "an offer of each flow");
        assert!(goodput_mbps(&result).iter().sum::<f64>() > 0.9 * FULL_MBPS);
        result.trace_hash
    });
    assert_eq!(hashes[0], hashes[1]);
    let drop = ["attacks=[]", "until_s=20", "measure_from_s=5", &on("{ fragments = \"drop\" }")];
    let of = |protocol: &str| run("kickass/spoofed-low", protocol, &drop);
    let (plain, guarded) = (of("plain"), of("kickass"));
    println!("fragments dropped: {:?}, {:?}", goodput_mbps(&plain), goodput_mbps(&guarded));
    assert_eq!(goodput_mbps(&plain).iter().sum::<f64>(), 0.0);
    assert!(goodput_mbps(&guarded).iter().sum::<f64>() > 0.8 * FULL_MBPS);
    assert!(dropped(&guarded, "middlebox") > 0);
}

/// A box that puts datagrams together takes the signal: TCP, which keeps the queue long. One that
/// sends fragments on as they came, as Linux does, leaves it.
#[test]
fn a_box_that_reassembles_leaves_the_signal_if_it_keeps_the_pieces() {
    for protocol in ["plain", "kickass"] {
        let of = |rule: &str| {
            let rule = format!("link_defaults.middlebox={{ fragments = \"{rule}\" }}");
            let result = run("kickass/spoofed-low", protocol, &["attacks=[]", &rule]);
            let queue_ms = result.metrics.queue_delay_mean_ms.expect("a bottleneck");
            println!("{rule}, {protocol}: queue {queue_ms:.1} ms, {:?}", result.drops);
            (queue_ms, dropped(&result, "full"), result.metrics.fragments_merged)
        };
        let (whole, pieces) = (of("whole"), of("pieces"));
        assert!(whole.0 > 50.0 && whole.1 > 0 && whole.2 > 0, "{whole:?}");
        assert!(pieces.0 < 5.0 && pieces.1 == 0 && pieces.2 == 0, "{pieces:?}");
    }
}

/// Where a box sets DF in all packets, none is cut: plain TCP, which fills the link without the
/// headers that cuts add.
#[test]
fn a_box_that_sets_df_leaves_nothing_to_cut() {
    let set = ["attacks=[]", "link_defaults.middlebox={ set_df = true }"];
    for protocol in ["plain", "kickass"] {
        let result = run("kickass/spoofed-low", protocol, &set);
        let mbps: f64 = goodput_mbps(&result).iter().sum();
        println!("DF set, {protocol}: {mbps:.2} Mbit/s, {} packets", result.metrics.df_set);
        assert!(mbps > FULL_MBPS && result.metrics.df_set > 1000, "{mbps}");
        assert!(result.drops.keys().all(|&reason| reason == "full"), "{:?}", result.drops);
    }
}

/// Who takes the offer and never reports has a sender that is plain TCP: it fills half of the
/// queue, the port falls back, and all are.
#[test]
fn a_peer_that_never_reports_leaves_its_sender_with_tcp() {
    let set = ["protocol.liar.mute=true", "protocol.liar.lie_codes=0"];
    let goodput = goodput_mbps(&run("kickass/liar", "kickass", &set));
    println!("mute: {goodput:.2?} Mbit/s");
    let all: f64 = goodput.iter().sum();
    assert!(goodput.iter().all(|one| (0.5..2.0).contains(&(one / all * 4.0))), "{goodput:?}");
    assert!(all > 0.99 * FULL_MBPS, "{all}");
}

#[test]
fn what_codes_cannot_say_is_refused_with_its_place() {
    for (set, expected) in [
        (
            "links.r0-r1.rate=119kbit/s",
            "links[0].rate: `119kbit/s` is out of range: expected 120kbit/s to 10Gbit/s for ports \
             of Kick-Ass",
        ),
        (
            "links.r0-r1.rate=11Gbit/s",
            "links[0].rate: `11Gbit/s` is out of range: expected 120kbit/s to 10Gbit/s for ports \
             of Kick-Ass",
        ),
        (
            "links.r0-r1.mtu_bytes=1400",
            "links[0].mtu_bytes: a full-sized packet has 1500 bytes (mss_bytes = 1460 and \
             headers), more than the mtu_bytes of `r0-r1` (1400)",
        ),
        ("links.r0-r1.mtu_bytes=44", "links[0].mtu_bytes: `44` is out of range: expected 68 to"),
        (
            "kickass.least_bytes=44",
            "kickass.least_bytes: `44` is out of range: expected 45 or more",
        ),
        (
            "kickass.least_bytes=1600",
            "kickass.least_bytes: `least_bytes = 1600` is out of range: expected at most 1500, the \
             mtu_bytes of `r0-r1`",
        ),
        (
            "protocol.liar.lie_codes=182",
            "protocol.liar.lie_codes: `182` is out of range: expected -181 to 181",
        ),
    ] {
        let message = load("kickass/liar", &[set]).expect_err("refused");
        assert!(message.contains(expected), "{message}");
    }
}
