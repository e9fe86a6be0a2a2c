//! Sizes of caches: the margin rule by hand, and the notes on explicit sizes.

use super::*;
use forebay_net::{ForwardingSpec, NodeKind};
use forebay_router::inrpp::{CacheLimits, CacheSize};

/// Two hosts of 100 Mbit/s send to a third over 10 Mbit/s; 1 and 5 ms one way. Ports of `left`: to
/// `right`, to `s0`, to `s1`; of `right`: to `left`, to `d`.
const TWO: &str = r#"
    protocols = ["inrpp"]
    routers = ["left", "right"]
    tcp = { mss_bytes = 1448 }
    link_defaults = { rate = "100Mbit/s", delay = "1ms", queue = "50ms" }
    links = [{ a = "left", b = "right", rate = "10Mbit/s", delay = "5ms" }]
    hosts = [{ name = "s{}", count = 2, attach = "left" }, { name = "d", attach = "right" }]
    flows = [{ src = "s{}", dst = "d", count = 2, bytes = "1MB" }]
"#;

fn with(set: &[&str]) -> Scenario {
    parse_with(TWO, set).unwrap_or_else(|error| panic!("{error}"))
}

/// S_low, S_high and S_total of a port.
fn sizes(scenario: &Scenario, node: usize, port: usize) -> [u64; 3] {
    let spec = scenario.build("inrpp", 1).unwrap();
    let NodeKind::Router(ForwardingSpec::Inrpp(settings)) = &spec.nodes[node].kind else {
        panic!("a router of INRPP")
    };
    let CacheSize::Ports(ports) = &settings.cache else { panic!("{:?}", settings.cache) };
    let CacheLimits { low_bytes, high_bytes, total_bytes } = ports[port].limits;
    [low_bytes, high_bytes, total_bytes]
}

#[test]
fn each_cache_has_the_size_of_the_rule() {
    let scenario = with(&[]);
    assert!(scenario.inrpp.margin_rule && with(&["inrpp.cache=margin"]) == scenario);
    // In: 200 Mbit/s. Out: 10. To the hosts and back: 2 ms; from end to end and back: 14 ms. A
    // packet at each link, there and back: 4 x 0.12 + 2 x 1.2 = 2.88 ms. Two packets of 1500 bytes
    // at 10 Mbit/s: 2.4 ms. 190e6 / 8 x 21.28 ms = 505 400 bytes, and two packets. S_low: 10 Mbit/s
    // for 14 and 2.4 ms: 20 500 bytes.
    assert_eq!(sizes(&scenario, 0, 0), [20_500, 41_000, 41_000 + 505_400 + 3_000]);
    // 10 Mbit/s in, 100 out: two packets. 14.24 ms of 100 Mbit/s: 178 000 bytes.
    assert_eq!(sizes(&scenario, 1, 1), [178_000, 356_000, 359_000]);
    // No data come by: 10 s, as in the paper.
    assert_eq!(sizes(&scenario, 0, 1), [50_000_000, 100_000_000, 125_000_000]);
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

#[test]
fn the_terms_follow_flows_and_events() {
    let margin = |set: &[&str]| {
        let [low, high, total] = sizes(&with(set), 0, 0);
        assert_eq!(low, high / 2);
        total - high
    };
    // Seven packets of each are all that comes.
    assert_eq!(margin(&["flows.0.bytes=10000"]), 2 * 7 * 1_500);
    // Flows that follow each other are there one at a time.
    assert_eq!(margin(&["flows.0.rounds=5", "flows.0.think=1s"]), 508_400);
    // Two from each host: the hosts are no faster, but ACKs 4.8 ms apart.
    let twice = "flows=[{src=\"s{}\", dst=\"d\", count=2, bytes=1000000}, \
                 {src=\"s{}\", dst=\"d\", count=2, bytes=1000000}]";
    assert_eq!(margin(&[twice]), 190_000_000 / 8 * 2_368 / 100_000 + 6_000);
    // The least rate out counts: 195 Mbit/s for 2 + 14 + 4.8 ms, and 0.48 + 2.4 + 2.4 for packets,
    // for it counts both ways.
    let slower = "events=[{at=\"1s\", link=\"left-right\", rate=\"5Mbit/s\"}]";
    assert_eq!(margin(&[slower]), 195_000_000 / 8 * 2_608 / 100_000 + 3_000);
    // A slower link after this one may hold it: 199 Mbit/s for 2 + 14 + 24 ms, and 0.24 + 2.4 + 24
    // for packets.
    assert_eq!(margin(&["hosts.d.rate=1Mbit/s"]), 199_000_000 / 8 * 6_664 / 100_000 + 3_000);
    // Who holds is one hop further up, behind a queue of 50 ms.
    let behind = [
        "routers=[\"far\", \"left\", \"right\"]",
        "links=[{a=\"far\", b=\"left\", rate=\"100Mbit/s\"}, \
          {a=\"left\", b=\"right\", rate=\"10Mbit/s\", delay=\"5ms\"}]",
        "hosts=[{name=\"s{}\", count=2, attach=\"far\"}, {name=\"d\", attach=\"right\"}]",
    ];
    let [_, high, total] = sizes(&with(&behind), 1, 1);
    // 90 Mbit/s for 2 + 50 + 16 + 2.4 ms, and 6 x 0.12 + 2.4 for packets.
    assert_eq!(total - high, 90_000_000 / 8 * 7_352 / 100_000 + 3_000);
    // A router that holds nothing is passed over: two links of 1 ms more, and its queue.
    let [_, high, total] =
        sizes(&with(&[&behind[..], &["inrpp.routers=[\"left\"]"]].concat()), 1, 1);
    assert_eq!(total - high, 90_000_000 / 8 * 7_552 / 100_000 + 3_000);
}

/// A long path: the longest round trip counts besides that to those who hold.
#[test]
fn what_comes_before_a_flow_that_was_silent_hears_of_it_counts() {
    let long = [
        "routers=[\"far\", \"left\", \"right\"]",
        "links=[{a=\"far\", b=\"left\", rate=\"50Mbit/s\", delay=\"150ms\"}, \
          {a=\"left\", b=\"right\", rate=\"10Mbit/s\", delay=\"150ms\"}]",
        "hosts=[{name=\"s{}\", count=2, attach=\"far\"}, {name=\"d\", attach=\"right\"}]",
        "flows=[{src=\"s{}\", dst=\"d\", count=2, bytes=20000000}]",
    ];
    let [low, high, total] = sizes(&with(&long), 1, 1);
    // A SYN-ACK that passes `left` just before it asks is at the host after 151 ms, and what that
    // sends at `left` 151 ms later, after 50 ms more in a full queue. It goes to its receiver, and
    // its ACK to `far`, in a round trip of 604 ms in all, after 2.4 ms of waiting for its turn.
    // What `far` does then is seen after 150 ms: what comes is at most 40 Mbit/s for 300 + 50 +
    // 604 + 2.4 ms, and 2 x (0.12 + 0.24 + 1.2 + 0.12) for packets: 4 798 800 bytes. Without the
    // longest round trip it is 1 762 000.
    assert_eq!(total - high, 4_798_800 + 3_000);
    // 10 Mbit/s for 606.4 ms.
    assert_eq!([low, high], [758_000, 1_516_000]);
}

#[test]
fn detours_count_where_they_begin_and_where_they_end() {
    const TRIANGLE: &str = r#"
        protocols = ["inrpp"]
        routers = ["u", "v", "x"]
        tcp = { mss_bytes = 1448 }
        link_defaults = { rate = "10Mbit/s", delay = "1ms", queue = "50ms" }
        links = [{ a = "u", b = "v" }, { a = "u", b = "x" }, { a = "x", b = "v" }]
        hosts = [
            { name = "a", attach = "u" },
            { name = "b", attach = "v" },
            { name = "c", attach = "x" },
        ]
        flows = [
            { src = "a", dst = "b", bytes = "1MB" }, { src = "c", dst = "b", bytes = "1MB" },
        ]
    "#;
    let margin = |set: &[&str], node, port| {
        let [low, high, total] = sizes(&parse_with(TRIANGLE, set).unwrap(), node, port);
        [low, total - high]
    };
    // The port of u to v: 10 Mbit/s in, and the half of the link to b out: the flows meet there,
    // 2.4 ms between ACKs. 6 ms from end to end, and the same to the host, 2 ms; 6 x 1.2 ms for
    // packets.
    let alone = 5_000_000 / 8 * 176 / 10_000;
    assert_eq!(margin(&["inrpp.detours=false"], 0, 0), [10_500, alone + 1_500]);
    assert_eq!(margin(&["inrpp.detours=false"], 2, 1), [10_500, alone + 1_500]);
    // The detour of x over u ends here: 10 Mbit/s more than go out, until a probe (10 ms) says so.
    // 12 ms, 6 ms, 7.2 ms and 2.4 ms. That over x drains nothing more than the link to b takes.
    let detour = 15_000_000 / 8 * 276 / 10_000;
    assert_eq!(margin(&[], 0, 0), [10_500, detour + 1_500]);
    assert_eq!(margin(&[], 2, 1), [10_500, detour + 1_500]);
    // With a fast one both can drain.
    let [low, _] = margin(&["hosts.b.rate=1Gbit/s"], 0, 0);
    assert_eq!(low, 20_000_000 / 8 * 72 / 10_000, "20 Mbit/s for 6 + 1.2 ms");
}

/// A port before slower links keeps no more than these can drain: a minimum cut of the tree of
/// paths. Two branches of 10 Mbit/s; on one of them four hosts of 4, on the other three of 2.
#[test]
fn a_cache_is_as_deep_as_what_drains_it_is_fast() {
    const TREE: &str = r#"
        protocols = ["inrpp"]
        routers = ["far", "near", "x", "y"]
        tcp = { mss_bytes = 1448 }
        link_defaults = { rate = "1Gbit/s", delay = "1ms", queue = "50ms" }
        links = [
            { a = "far", b = "near" },
            { a = "near", b = "x", rate = "10Mbit/s" },
            { a = "near", b = "y", rate = "10Mbit/s" },
        ]
        hosts = [
            { name = "s{}", count = 7, attach = "far" },
            { name = "d{}", first = 0, count = 4, attach = "x", rate = "4Mbit/s" },
            { name = "d{}", first = 4, count = 3, attach = "y", rate = "2Mbit/s" },
        ]
        flows = [{ src = "s{}", dst = "d{}", first = 0, count = 7, bytes = "9MB" }]
    "#;
    let low = |set: &[&str]| sizes(&parse_with(TREE, set).unwrap(), 0, 0)[0];
    // 10 Mbit/s of the first branch, 3 x 2 behind the second; 8 ms from end to end, and 6 ms for a
    // packet at 2 Mbit/s.
    assert_eq!(low(&[]), 16_000_000 / 8 * 14 / 1_000);
    // A link that is no faster than what is behind it: its own rate.
    assert_eq!(low(&["links.far-near.rate=15Mbit/s"]), 15_000_000 / 8 * 14 / 1_000);
    // The most that a link ever is.
    let faster = "events=[{at=\"1s\", link=\"near-x\", rate=\"12Mbit/s\"}]";
    assert_eq!(low(&[faster]), 18_000_000 / 8 * 14 / 1_000);
    // With four paths each, what they all pass counts once.
    assert_eq!(low(&["routes.trees=4"]), low(&[]));
}

/// What has waited before a link leaves at its rate, and not at that of the host it came from.
#[test]
fn where_a_backlog_can_form_all_of_the_link_counts() {
    const PAIRS: &str = r#"
        protocols = ["inrpp"]
        routers = ["far", "near"]
        tcp = { mss_bytes = 1448 }
        link_defaults = { rate = "4Mbit/s", delay = "1ms", queue = "50ms" }
        links = [{ a = "far", b = "near", rate = "10Mbit/s" }]
        hosts = [
            { name = "s{}", count = 3, attach = "far" },
            { name = "d{}", count = 3, attach = "near" },
        ]
        flows = [{ src = "s{}", dst = "d{}", count = 3, bytes = "9MB" }]
    "#;
    let room = |set: &[&str]| {
        let [_, high, total] = sizes(&parse_with(PAIRS, set).unwrap(), 1, 1);
        total - high
    };
    // 12 Mbit/s come to the link: 10 in and 4 out. To `far` and back 2 ms and a queue of 50 ms,
    // 6 ms from end to end, a packet to the host 3 ms, and 2 x (3 + 1.2 + 3) for packets.
    assert_eq!(room(&[]), 6_000_000 / 8 * 754 / 10_000 + 1_500);
    // 9 Mbit/s: nothing waits.
    assert_eq!(room(&["hosts.0.rate=3Mbit/s"]), 1_500);
}

/// Flows of other ports have their shares of the link for whose sake a port is held.
#[test]
fn what_leaves_at_least_is_the_share_of_the_flows_of_the_port() {
    const MEET: &str = r#"
        protocols = ["inrpp"]
        routers = ["side", "near", "end"]
        tcp = { mss_bytes = 1448 }
        inrpp = { detours = false }
        link_defaults = { rate = "10Mbit/s", delay = "5ms", queue = "50ms" }
        links = [{ a = "side", b = "near" }, { a = "near", b = "end" }]
        hosts = [
            { name = "a", attach = "side" },
            { name = "b{}", first = 1, count = 9, attach = "near" },
            { name = "d", attach = "end", rate = "100Mbit/s" },
        ]
        flows = [
            { src = "a", dst = "d", bytes = "9MB" },
            { src = "b{}", dst = "d", first = 1, count = 9, bytes = "9MB" },
        ]
    "#;
    let [_, high, total] = sizes(&parse(MEET), 0, 0);
    // 10 Mbit/s in, 1 out. To the host and back 10 ms, from end to end and back 40 ms, a round of
    // ten packets 12 ms; 6 x 1.2 + 0.24 for packets.
    assert_eq!(total - high, 9_000_000 / 8 * 6_944 / 100_000 + 1_500);
}

/// What comes to a port over one link may come over a detour round that link as well.
#[test]
fn a_detour_round_the_link_before_counts_at_the_next_port() {
    const KITE: &str = r#"
        protocols = ["inrpp"]
        routers = ["u", "v", "x", "w"]
        link_defaults = { rate = "10Mbit/s", delay = "1ms", queue = "50ms" }
        links = [
            { a = "u", b = "v" }, { a = "u", b = "x" }, { a = "x", b = "v" }, { a = "v", b = "w" },
        ]
        hosts = [{ name = "a", attach = "u" }, { name = "e", attach = "w" }]
        flows = [{ src = "a", dst = "e", bytes = "1MB" }]
    "#;
    let room = |set: &[&str]| {
        let [_, high, total] = sizes(&parse_with(KITE, set).unwrap(), 1, 2);
        total - high
    };
    // 20 Mbit/s in and 10 out. From u over x: 2 ms and two queues of 50 ms, and 1 ms back; 8 ms
    // from end to end, 1.2 ms for a packet, and 8 x 1.2 for packets there and back.
    assert_eq!(room(&[]), 10_000_000 / 8 * 1_218 / 10_000 + 1_500);
    assert_eq!(room(&["inrpp.detours=false"]), 1_500);
}

#[test]
fn one_router_may_have_other_sizes_than_the_others() {
    let paper = "routers=[{name=\"left\", router={kind=\"inrpp\", cache=\"paper\"}}, \"right\"]";
    let scenario = with(&[paper]);
    let spec = scenario.build("inrpp", 1).unwrap();
    let NodeKind::Router(ForwardingSpec::Inrpp(settings)) = &spec.nodes[0].kind else { panic!() };
    assert_eq!(settings.cache, forebay_router::inrpp::Settings::default().cache);
    assert_eq!(sizes(&scenario, 1, 1), [178_000, 356_000, 359_000]);
    let rule = "routers=[{name=\"left\", router={kind=\"inrpp\", cache=\"margin\"}}, \"right\"]";
    let scenario = with(&[rule, "inrpp.cache=1MB"]);
    assert_eq!(sizes(&scenario, 0, 0), [20_500, 41_000, 549_400]);
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

#[test]
fn a_stated_size_below_the_rule_is_told_with_its_terms() {
    let notes =
        |cache: &str| with(&["inrpp.detours=false", &format!("inrpp.cache={cache}")]).notes();
    assert_eq!(notes("margin"), [""; 0]);
    assert_eq!(notes("paper"), [""; 0]);
    assert_eq!(notes("{high=\"42500B\", total=\"550900B\"}"), [""; 0], "508 400 bytes are enough");
    // Thresholds that leave too little room.
    assert_eq!(
        notes("{high=\"42501B\", total=\"550900B\"}"),
        ["inrpp: the cache of `left` at `left-right` has 508399 bytes between high (42501) and \
          total (550900), and may need 508400: (200.0 Mbit/s in - 10.0 Mbit/s out) x (2.0 ms round \
          trip upstream + 14.0 ms longest round trip of a flow + 2.9 ms packets on it + 2.4 ms \
          between its ACKs) + 2 packets of 1500 bytes, and no more than the flows \
          have: it may drop packets (inrpp.cache = \"margin\" takes these terms)"]
    );
    // Not one packet of each flow, at two ports.
    let below = |name: &str| {
        format!(
            "inrpp: the cache of {name} holds 2999 bytes, less than one packet of 1500 bytes of \
             each of its 2 flows (3000 bytes): some lose all they send for a while"
        )
    };
    assert_eq!(
        notes("{high=\"1500B\", total=\"2999B\"}"),
        [below("`left` at `left-right`"), below("`right` at `d-right`")]
    );
    // Of many the worst are reported.
    let text = TWO.replace("count = 2", "count = 6").replace("dst = \"d\"", "dst = \"t{}\"");
    let hosts = text.replace("{ name = \"d\"", "{ name = \"t{}\", count = 6");
    let scenario = parse_with(&hosts, &["inrpp.detours=false", "inrpp.cache=1500"]).unwrap();
    let notes = scenario.notes();
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert_eq!(notes[3], "inrpp: the same is true of 4 more caches, which lack less");
    // No flow runs INRPP: nothing to say.
    assert_eq!(with(&["protocols=[\"cubic\"]", "inrpp.cache=1500"]).notes(), [""; 0]);
}

#[test]
fn what_is_no_cache_is_refused() {
    let refused = |set: &str| parse_with(TWO, &[set]).expect_err("it is wrong").to_string();
    let first = |set: &str| refused(set).lines().next().map(str::to_string).unwrap();
    let expected = "error: --set:1:13: inrpp.cache: expected \"margin\", \"paper\", a size such as \
                    \"10MB\", a time such as \"8s\", or a table of low, high and total, found";
    assert_eq!(first("inrpp.cache=margn"), format!("{expected} a string (\"margn\")")[7..]);
    assert!(refused("inrpp.cache=margn").ends_with("hint: did you mean `margin`?"));
    assert_eq!(first("inrpp.cache=true"), format!("{expected} a boolean (true)")[7..]);
    assert_eq!(
        first("inrpp.cache=0"),
        "--set:1:13: inrpp.cache: `0 bytes` is out of range: expected a full-sized packet (1500 \
         bytes) or more, and low < high < total, in the cache of `left` at `left-right` (10Mbit/s)"
    );
    let at = "--set:1:13: inrpp.cache";
    for (cache, expected) in [
        (
            "{low=1000, high=1000, total=\"9kB\"}",
            "low: `1000` is out of range: expected less than cache.high (1000)",
        ),
        (
            "{high=\"9kB\", total=\"9kB\"}",
            "high: `9000` is out of range: expected less than cache.total (9000)",
        ),
        (
            "{high=\"10kB\", total=\"9kB\"}",
            "high: `10000` is out of range: expected less than cache.total (9000)",
        ),
    ] {
        assert_eq!(first(&format!("inrpp.cache={cache}")), format!("{at}.{expected}"));
    }
    // What a flow is allowed follows from the cache: there is no key for it.
    assert_eq!(first("inrpp.allowance=0"), "--set:1:7: inrpp: unknown key `allowance`");
}

/// The tag of a detour is an option of IPv4.
#[test]
fn over_ipv6_there_are_no_detours_to_make_room_for() {
    let triangle = TWO
        .replace("1448", "1428")
        .replace("[\"left\", \"right\"]", "[\"left\", \"right\", \"x\"]")
        .replace(
            "delay = \"5ms\" }]",
            "delay = \"5ms\" }, { a = \"left\", b = \"x\" }, { a = \"x\", b = \"right\" }]",
        );
    let of = |set: &[&str]| {
        let scenario = parse_with(&triangle, set).unwrap_or_else(|error| panic!("{error}"));
        let noted = scenario.notes().iter().any(|note| note.contains("no detours over IPv6"));
        (sizes(&scenario, 0, 0), noted)
    };
    let without = "inrpp.detours=false";
    assert_ne!(of(&[]).0, of(&[without]).0);
    assert_eq!(of(&["ip_version=6"]).0, of(&["ip_version=6", without]).0);
    assert!(of(&["ip_version=6"]).1 && !of(&[]).1 && !of(&["ip_version=6", without]).1);
}
