//! Default buffers that follow the path. All sizes are computed by hand.

use super::*;
use forebay_transport::PRESETS;
use std::collections::BTreeSet;

const FLOOR: u64 = 4 << 20;

/// s - a - (x or y) - b - d: 1 Gbit/s at the ends, 400 Mbit/s by x and 800 Mbit/s by y, which has
/// the greater weight; 10 ms a link.
const DIAMOND: &str = r#"
until_s = 5
routers = ["a", "b", "x", "y"]
link_defaults = { rate = "1Gbit/s", delay = "10ms", queue = "1MB" }
links = [
    { a = "a", b = "x", rate = "400Mbit/s" },
    { a = "a", b = "y", rate = "800Mbit/s", weight = 2 },
    { a = "x", b = "b", rate = "400Mbit/s" },
    { a = "y", b = "b", rate = "800Mbit/s" },
]
hosts = [{ name = "s", attach = "a" }, { name = "d", attach = "b" }]
flows = [{ src = "s", dst = "d", endless = true }]
"#;

fn buffers(text: &str, set: &[&str]) -> [u64; 2] {
    let scenario = parse_with(text, set).unwrap_or_else(|error| panic!("{error}"));
    [scenario.tcp.receive_buffer_bytes, scenario.tcp.send_buffer_bytes]
}

#[test]
fn they_hold_twice_what_the_path_does() {
    // By x: 400 Mbit/s times 80 ms, and the queues before a-x and
    // x-b, which is no faster.
    let by_x = 2 * (50_000_000 * 80 / 1000 + 2 * 1_000_000);
    assert_eq!(buffers(DIAMOND, &[]), [by_x; 2]);
    // By y, where that costs less.
    let by_y = 2 * (100_000_000 * 80 / 1000 + 2 * 1_000_000);
    assert_eq!(buffers(DIAMOND, &["links.x-b.weight=3"]), [by_y; 2]);
    // a-y has 400 Mbit/s now, and y-b after it 800: the queue there never fills.
    let slower = ["links.x-b.weight=3", "links.a-y.rate=400Mbit/s"];
    assert_eq!(buffers(DIAMOND, &slower), [2 * (50_000_000 * 80 / 1000 + 1_000_000); 2]);
    // Of several trees the one that needs most counts.
    let both = ["links.a-y.weight=1", "routes.trees=16"];
    assert_eq!(buffers(DIAMOND, &both), [by_y; 2]);
    // In packets of 1500 bytes; more than a second of a queue does not count: 50 MB.
    let packets = ["links.a-x.queue=1000packets", "links.x-b.queue=1000packets"];
    assert_eq!(buffers(DIAMOND, &packets), [2 * (4_000_000 + 2 * 1_500_000); 2]);
    let endless = ["links.a-x.queue=1GB"];
    assert_eq!(buffers(DIAMOND, &endless), [2 * (4_000_000 + 50_000_000 + 1_000_000); 2]);
}

#[test]
fn they_are_between_those_of_the_preset_and_a_gibibyte_or_the_flow() {
    assert_eq!(
        buffers(DIAMOND, &["link_defaults.delay=0s", "link_defaults.queue=10kB"]),
        [FLOOR; 2]
    );
    assert_eq!(buffers(DIAMOND, &["link_defaults.delay=100s"]), [1 << 30; 2]);
    let sized = |bytes: &str| DIAMOND.replace("endless = true", &format!("bytes = {bytes}"));
    assert_eq!(buffers(&sized("5_000_000"), &[]), [5_000_000; 2]);
    assert_eq!(buffers(&sized("4_000_000"), &[]), [FLOOR; 2]);
    assert_eq!(buffers(&sized("50_000_000"), &[]), [12_000_000; 2]);
}

#[test]
fn the_best_that_events_give_counts() {
    let event = |what: &str| format!(r#"events=[{{ at = "1s", link = "a-x", {what} }}]"#);
    // x-b stays at 400 Mbit/s.
    assert_eq!(
        buffers(DIAMOND, &[&event(r#"rate = "2Gbit/s""#)]),
        [2 * (4_000_000 + 1_000_000); 2]
    );
    assert_eq!(buffers(DIAMOND, &[&event(r#"rate = "1Mbit/s""#)]), [12_000_000; 2]);
    // 40 ms more each way.
    let later = 2 * (50_000_000 * 160 / 1000 + 2_000_000);
    assert_eq!(buffers(DIAMOND, &[&event(r#"delay = "50ms""#)]), [later; 2]);
}

#[test]
fn keys_and_other_presets_win() {
    let given = ["tcp.receive_buffer_bytes=1MB"];
    assert_eq!(buffers(DIAMOND, &given), [1_000_000, 12_000_000]);
    assert_eq!(buffers(DIAMOND, &["tcp.send_buffer_bytes=2MB"]), [12_000_000, 2_000_000]);
    for preset in &PRESETS[1..] {
        let set = format!("tcp.preset={}", preset.name);
        let config = preset.config;
        let own = [config.receive_buffer_bytes, config.send_buffer_bytes];
        assert_eq!(buffers(DIAMOND, &[&set]), own, "{}", preset.name);
    }
    // A protocol with another preset than the others.
    let set =
        ["tcp.preset=ns3-2015", "tcp_of.cubic={ preset = \"modern\", send_buffer_bytes = 99999 }"];
    let scenario = parse_with(DIAMOND, &set).unwrap();
    let cubic = scenario.tcp_for("cubic");
    assert_eq!((cubic.receive_buffer_bytes, cubic.send_buffer_bytes), (12_000_000, 99_999));
    assert_eq!(scenario.tcp_for("newreno").receive_buffer_bytes, 131_072);
    // INRPP holds the largest flow, or what the path needs if that is more.
    let sized = DIAMOND.replace("endless = true", "bytes = 50_000_000");
    let scenario = parse_with(&sized, &[]).unwrap();
    assert_eq!(scenario.tcp_for("inrpp").send_buffer_bytes, 50_000_000);
}

/// 1 Mbit/s with a queue of more than a second, 50 Mbit/s with a longer delay. Round trips of 6 and
/// 44 ms; the longest with its queue is 1.006 s. 51 Mbit/s for that time, twice.
#[test]
fn those_of_several_paths_hold_all_rates_for_the_longest_round_trip() {
    let text = r#"
protocols = ["mptcp", "newreno"]
until_s = 5
routers = ["a0", "a1", "b0", "b1"]
links = [
    { a = "a0", b = "b0", rate = "1Mbit/s", delay = "1ms", queue = "100packets" },
    { a = "a1", b = "b1", rate = "50Mbit/s", delay = "20ms", queue = "5packets" },
]
hosts = [
    { name = "s", attach = ["a1", "a0"], rate = "100Mbit/s", delay = "1ms", queue = "1MB" },
    { name = "d", attach = ["b1", "b0"], rate = "100Mbit/s", delay = "1ms", queue = "1MB" },
]
flows = [{ src = "s", dst = "d", endless = true }]
"#;
    let needed = 2 * (125_750 + 6_287_500);
    let held = |text: &str, set: &[&str], protocol: &str| {
        let config = parse_with(text, set).unwrap().tcp_for(protocol);
        [config.receive_buffer_bytes, config.send_buffer_bytes]
    };
    assert_eq!(held(text, &[], "mptcp"), [needed; 2]);
    assert_eq!(held(text, &[], "newreno"), [FLOOR; 2]);
    let scenario = parse(text);
    assert_eq!(parse(&scenario.to_toml()), scenario);
    assert!(scenario.notes().is_empty(), "{:?}", scenario.notes());
    // Keys win; what is too small gets a note.
    for set in ["tcp.receive_buffer_bytes=64kB", "tcp_of.mptcp.receive_buffer_bytes=64kB"] {
        assert_eq!(held(text, &[set], "mptcp"), [64_000, needed], "{set}");
        let notes = parse_with(text, &[set]).unwrap().notes();
        assert!(notes.iter().any(|note| note.contains("12826500")), "{notes:?}");
    }
    // A short flow needs no more than its length.
    let sized = text.replace("endless = true", "bytes = 5_000_000");
    assert_eq!(held(&sized, &[], "mptcp"), [5_000_000; 2]);
}

#[test]
fn they_are_written_out() {
    let set = "tcp_of.cubic={ preset = \"modern\", mss_bytes = 1000 }";
    let scenario = parse_with(DIAMOND, &[set]).unwrap();
    let text = scenario.to_toml();
    assert!(text.contains("receive_buffer_bytes = 12000000"), "{text}");
    assert_eq!(parse(&text), scenario);
}

#[test]
fn builtin_scenarios_have_those_of_their_presets() {
    // The last is the payload that 4 MiB of truesize hold (linux-6.18).
    let sizes = [4_000_000, FLOOR, 131_072, 6 << 20, 2_159_183];
    let mut other = BTreeSet::new();
    for name in BUILTINS.iter().map(|builtin| builtin.name) {
        let Ok(scenario) = Scenario::load(name, &LoadOptions::default()) else {
            continue; // its CSV files are elsewhere
        };
        let tcp = scenario.tcp;
        for bytes in [tcp.receive_buffer_bytes, tcp.send_buffer_bytes] {
            if !sizes.contains(&bytes) {
                other.insert((name, bytes));
            }
        }
    }
    // Twice what path and queue hold: 4 BDP and the path, at 100 Mbit/s and 40 or 100 ms; 8 BDP and
    // a path that is 1.54 s long later, at 10 Mbit/s. Of Kick-Ass, 1000 packets at one bottleneck
    // or two, and the path at 150 Mbit/s and 100 ms, 100 Mbit/s and 60 or 100 ms. Of Verus, 50 ms
    // and a queue at 20.055893 and 17.245866 Mbit/s, a second of it at most, and one of 2.25 MB at
    // 19.050666; 30 ms at 50 Mbit/s, 600 ms at 25; the highest rate and the longest delay of
    // rapid-100. Those of controllers/ and matrix say theirs: no window reaches it. That of
    // kickass/cut holds its longest flow, which is less.
    let by_hand = [
        ("bbr/drain-inflight", 2 * (500_000 + 4 * 500_000)),
        ("bbr/spurious-rto", 2 * (1_925_000 + 8 * 50_000)),
        ("bbr/startup-loss-app-limited", 2 * (1_250_000 + 4 * 1_250_000)),
        ("bbr/startup-plateau", 2 * (500_000 + 4 * 500_000)),
        ("controllers/alone", 64_000_000),
        ("controllers/bottleneck", 64_000_000),
        ("controllers/marks", 64_000_000),
        ("kickass/cut", 10_000_000),
        ("kickass/edge", 2 * (750_000 + 1_500_000)),
        ("kickass/ipv6", 2 * (1_875_000 + 1_500_000)),
        ("kickass/joins", 2 * (1_875_000 + 1_500_000)),
        ("kickass/legacy-bottleneck", 2 * (1_875_000 + 2 * 1_500_000)),
        ("kickass/overhead", 2 * (1_250_000 + 1_500_000)),
        ("kickass/partial", 2 * (1_875_000 + 1_500_000)),
        ("kickass/static", 2 * (1_875_000 + 1_500_000)),
        ("matrix", 64_000_000),
        ("verus/competing-user", 2 * (125_349 + 2_000_000)),
        ("verus/dsl", 2 * (187_500 + 2_500_000)),
        ("verus/fairness", 2 * (107_786 + 2_155_733)),
        ("verus/frozen-profile", 2 * (107_786 + 2_155_733)),
        ("verus/mobility", 2 * (107_786 + 2_155_733)),
        ("verus/parameters", 2 * (119_066 + 2_250_000)),
        ("verus/rapid-100", 2 * (1_161_468 + 1_500_000)),
        ("verus/satellite", 2 * (1_875_000 + 1_875_000)),
    ];
    assert_eq!(other, BTreeSet::from(by_hand));
}
