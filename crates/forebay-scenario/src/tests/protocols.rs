//! What single protocols need: transport of their own, routers of their own. Numbers and messages
//! by hand.

use super::*;
use forebay_net::{ForwardingSpec, NodeKind, SchemeSpec, WireSpec};
use forebay_queue::RcpPortParams;
use forebay_router::inrpp::{CacheLimits, CacheSize, Settings, TurnOrder};

fn rcp_of(scenario: &Scenario) -> RcpPortParams {
    of_ports(scenario, "rcp")
}

fn small(set: &[&str]) -> Scenario {
    parse_with(SMALL, set).unwrap_or_else(|error| panic!("{error}"))
}

/// The first line of the message for the small scenario with these changes.
fn refused(set: &[&str]) -> String {
    let error = parse_with(SMALL, set).expect_err("it is refused").to_string();
    error.lines().next().expect("a message has a line").to_string()
}

#[test]
fn one_protocol_may_have_another_transport() {
    let scenario = small(&[
        "protocols=[\"newreno\", \"cubic\"]",
        "tcp_of.newreno.mss_bytes=1000",
        "tcp_of.newreno.timestamps=false",
        "tcp.min_rto=300ms",
    ]);
    let (newreno, cubic) = (scenario.tcp_for("newreno"), scenario.tcp_for("cubic"));
    assert_eq!((newreno.mss_bytes, newreno.timestamps), (1000, false));
    assert_eq!((cubic.mss_bytes, cubic.timestamps), (1448, true));
    // What the table does not say comes from [tcp].
    assert_eq!([newreno.min_rto, cubic.min_rto], [Span::from_millis(300); 2]);
    assert_eq!(cubic, scenario.tcp);
    let spec = scenario.build("newreno", 1).expect("builds");
    assert_eq!(*spec.transports[0].config, newreno);
}

#[test]
fn a_preset_of_one_protocol_takes_the_place_of_tcp() {
    let scenario = small(&["tcp.min_rto=300ms", "tcp_of.newreno.preset=ns3-2015"]);
    let ns3 = forebay_transport::PRESETS.iter().find(|p| p.name == "ns3-2015").unwrap().config;
    assert_eq!(scenario.tcp_for("newreno"), ns3);
    assert_eq!(scenario.tcp_for("cubic").min_rto, Span::from_millis(300));
}

/// `tcp.preset = "linux-6.18"` and nothing else is Linux's cubic: net/ipv4/tcp_cubic.c.
#[test]
fn a_preset_brings_the_parameters_of_its_controllers() {
    use forebay_cc::hystart::SlowStartKind;
    let cubic = |scenario: &Scenario| match scenario.spec("cubic") {
        Some(AlgorithmSpec::Table(Spec::Cubic(params))) => params,
        other => panic!("{other:?}"),
    };
    let defaults = forebay_cc::cubic::Params::default();
    assert_eq!(cubic(&small(&["tcp.preset=modern"])), defaults);
    let linux = cubic(&small(&["tcp.preset=linux-6.18"]));
    assert_eq!((linux.slow_start, linux.abc_l), (SlowStartKind::Hystart, u32::MAX));
    assert_eq!((linux.c * 1024.0, linux.beta * 1024.0), (410.0, 717.0));
    assert!(linux.reduce_from_cwnd && linux.linux_counting && linux.idle_restart_ms == 200);
    // A key of the scenario changes that one.
    let own = small(&["tcp.preset=linux-6.18", "protocol.cubic.beta=0.5"]);
    assert_eq!(cubic(&own), forebay_cc::cubic::Params { beta: 0.5, ..linux.clone() });
    // The preset of one protocol is its own.
    let one = small(&["tcp.preset=linux-6.18", "tcp_of.cubic.preset=modern"]);
    assert_eq!(cubic(&one), defaults);
    let other = small(&["tcp_of.cubic.preset=linux-6.18"]);
    assert_eq!(cubic(&other), linux);
    assert_eq!(other.spec("newreno"), Registry::default().algorithm("newreno").map(|of| of.spec()));
    for scenario in [own, one, other] {
        assert_eq!(parse(&scenario.to_toml()), scenario, "the expanded text holds them");
    }
}

#[test]
fn the_expanded_text_of_a_protocol_says_only_what_differs() {
    let scenario = small(&["tcp_of.newreno.mss_bytes=1000", "tcp_of.cubic.mss_bytes=1448"]);
    let text = scenario.to_toml();
    assert!(text.ends_with("\n[tcp_of.cubic]\n\n[tcp_of.newreno]\nmss_bytes = 1000\n"), "{text}");
    assert_eq!(parse(&text), scenario);
}

#[test]
fn wrong_tables_of_single_protocols() {
    let cases = [
        (
            "tcp_of.newrenoo.sack=true",
            "--set:1:8: tcp_of.newrenoo: there is no protocol `newrenoo`",
        ),
        ("tcp_of.cubic.sak=true", "--set:1:14: tcp_of.cubic: unknown key `sak`"),
        (
            "tcp_of.cubic.mss_bytes=9",
            "--set:1:24: tcp_of.cubic.mss_bytes: `9` is out of range: expected 64 to 65535 bytes",
        ),
        ("tcp_of.cubic=7", "--set:1:14: tcp_of.cubic: expected a table, found an integer (7)"),
        (
            "tcp_of=7",
            "--set:1:8: tcp_of: expected a table of tables, one per protocol, found an integer (7)",
        ),
        (
            "tcp_of.cubic.preset=modem",
            "--set:1:21: tcp_of.cubic.preset: there is no preset `modem`",
        ),
    ];
    for (set, expected) in cases {
        assert_eq!(refused(&[set]), expected);
    }
    // The table makes a value of [tcp] wrong that it does not give: one segment no longer fits the
    // buffer.
    let found = refused(&["tcp.receive_buffer_bytes=1448", "tcp_of.cubic.mss_bytes=1449"]);
    assert!(found.contains("tcp_of.cubic: a value that is not given here does not fit"), "{found}");
}

#[test]
fn the_packets_of_every_protocol_must_fit() {
    // 1449 + 12 (timestamps) + 40 = 1501. What does not run is not looked at.
    let long = "tcp_of.newreno.mss_bytes=1449";
    assert!(parse_with(SMALL, &[long]).is_ok());
    let found = parse_with(SMALL, &[long, "protocols=[\"newreno\"]"]).expect_err("too long");
    let found = found.to_string();
    assert!(
        found.starts_with(
            "--set:1:26: tcp_of.newreno.mss_bytes: a full-sized packet has 1501 bytes \
             (mss_bytes = 1449 and headers), more than the mtu_bytes of `left-right` (1500)"
        ),
        "{found}"
    );
    assert!(found.ends_with("hint: tcp_of.newreno.mss_bytes = 1448 fits"), "{found}");
}

#[test]
fn caches_in_bytes_and_in_time() {
    let cache = |set: &[&str]| small(set).inrpp.settings.cache;
    let second = Span::from_secs(1);
    let default = CacheSize::Time { low: second * 4, high: second * 8, total: second * 10 };
    assert_eq!((cache(&[]), Settings::default().cache), (default.clone(), default));
    let bytes = |low_bytes, high_bytes, total_bytes| {
        CacheSize::Bytes(CacheLimits { low_bytes, high_bytes, total_bytes })
    };
    // The paper's ratios: 1.25, 1 and 0.5 MB.
    let paper = bytes(500_000, 1_000_000, 1_250_000);
    assert_eq!(cache(&["inrpp.cache.total=1.25MB"]), paper);
    assert_eq!(cache(&["inrpp.cache.high=1MB"]), paper);
    assert_eq!(cache(&["inrpp.cache={low=1, high=4000, total=\"9kB\"}"]), bytes(1, 4_000, 9_000));
    let ms = Span::from_millis;
    let half = CacheSize::Time { low: ms(200), high: ms(400), total: ms(500) };
    assert_eq!(cache(&["inrpp.cache.total=500ms"]), half);
    // 10 Mbit/s for 0.5 s: 625 kB.
    let at = half.at(forebay_base::PortId(0), Rate::mbps(10));
    assert_eq!((at.low_bytes, at.high_bytes, at.total_bytes), (250_000, 500_000, 625_000));
}

#[test]
fn wrong_caches() {
    let cache = |text: &str| refused(&[&format!("inrpp.cache={text}")]);
    let expected = [
        (
            "{low=\"4MB\", high=\"4MB\", total=\"5MB\"}",
            "inrpp.cache.low: `4000000` is out of range: expected less than cache.high (4000000)",
        ),
        (
            "{low=\"1s\", high=\"4s\", total=\"3s\"}",
            "inrpp.cache.high: `4s` is out of range: expected less than cache.total (3s)",
        ),
        (
            "{low=\"1s\", high=\"4MB\", total=\"5MB\"}",
            "inrpp.cache.high: low, high and total of a cache are all sizes or all times",
        ),
        (
            "{low=\"1s\"}",
            "inrpp.cache: the key `total` is missing: low alone does not say how large a cache is",
        ),
        (
            "{total=\"5Mbit\"}",
            "inrpp.cache.total: expected a size such as \"10MB\" or a time such as \"8s\", found \
             `5Mbit` with the unit `Mbit`",
        ),
        (
            "{total=true}",
            "inrpp.cache.total: expected a size such as \"10MB\" or a time such as \"8s\", found a \
             boolean (true)",
        ),
    ];
    for (text, expected) in expected {
        assert_eq!(cache(text), format!("--set:1:13: {expected}"));
    }
    // A full-sized packet has 1500 bytes.
    let whole = cache("{total=1499}");
    assert_eq!(
        whole,
        "--set:1:13: inrpp.cache.total: `1499 bytes` is out of range: expected a full-sized packet \
         (1500 bytes) or more, and low < high < total, in the cache of `left` at `left-right` \
         (10Mbit/s)"
    );
    assert!(parse_with(SMALL, &["inrpp.cache.total=1500"]).is_ok());
    // 1 ms is 1250 bytes at 10 Mbit/s and 12 500 at 100 Mbit/s: only the slow interface is too
    // small.
    assert!(
        cache("{total=\"1ms\"}").ends_with("in the cache of `left` at `left-right` (10Mbit/s)")
    );
}

#[test]
fn wrong_settings_of_inrpp_routers() {
    let cases = [
        ("routers=[\"lefft\"]", "routers[0]: there is no node `lefft`"),
        ("routers=[\"d\"]", "routers[0]: `d` is a host, not a router"),
        ("routers=[\"left\",\"left\"]", "routers[1]: the router `left` is declared twice"),
        ("probe_interval=99us", "probe_interval: `99us` is out of range: expected 100us to 10s"),
        (
            "decision_interval=9ms",
            "decision_interval: `9ms` is out of range: expected 10ms to 1000s",
        ),
        ("alpha=0", "alpha: `0.0` is out of range: expected more than 0 and less than 0.555"),
        (
            "alpha=0.5554",
            "alpha: `0.5554` is out of range: expected more than 0 and less than 0.555",
        ),
        ("alpha=\"x\"", "alpha: expected a number, found a string (\"x\")"),
        ("load_weight=1.1", "load_weight: `1.1` is out of range: expected more than 0, at most 1"),
        (
            "quantum_bytes=63",
            "quantum_bytes: `63` is out of range: expected 64 to 1048576 bytes, or 0: the MTU of \
             the link",
        ),
        ("watchdog=0s", "watchdog: `0s` is out of range: expected 1ms to 100s"),
        ("cancel_for=101s", "cancel_for: `101s` is out of range: expected 1ms to 100s"),
        ("forget_after=0ms", "forget_after: `0s` is out of range: expected 1ms to 100s"),
    ];
    for (set, expected) in cases {
        let found = refused(&[&format!("inrpp.{set}")]);
        assert!(found.ends_with(&format!(": inrpp.{expected}")), "{found}");
    }
    let found = refused(&["inrpp.probe_intervall=1ms"]);
    assert_eq!(found, "--set:1:7: inrpp: unknown key `probe_intervall`");
}

#[test]
fn routers_of_inrpp_are_those_that_are_named_under_every_protocol() {
    let scenario = small(&["inrpp.routers=[\"right\"]", "inrpp.detours=false"]);
    assert_eq!(scenario.inrpp_routers("cubic").into_iter().collect::<Vec<_>>(), [NodeId(1)]);
    assert!(small(&[]).inrpp_routers("cubic").is_empty());
    let again = parse(&scenario.to_toml());
    assert_eq!((&again, again.inrpp.settings.detours), (&scenario, false));
    assert!(scenario.inrpp_routers("inrpp").len() == 1, "the list says it, whatever runs");
    assert!(!small(&[]).to_toml().contains("[inrpp]"), "nobody runs it");
}

#[test]
fn every_setting_of_inrpp_comes_back_from_the_expanded_text() {
    let scenario = small(&[
        "inrpp.cache={low=\"10kB\", high=\"20kB\", total=\"40kB\"}",
        "inrpp.probe_interval=7ms",
        "inrpp.decision_interval=36ms",
        "inrpp.alpha=0.125",
        "inrpp.load_weight=0.25",
        "inrpp.quantum_bytes=3000",
        "inrpp.cancel_for=3ms",
        "inrpp.forget_after=4ms",
        "inrpp.watchdog=5ms",
        "inrpp.pooled_turns=false",
        "inrpp.push_packets=6",
        "inrpp.order=attained",
    ]);
    let ms = Span::from_millis;
    let cache = CacheLimits { low_bytes: 10_000, high_bytes: 20_000, total_bytes: 40_000 };
    let expected = Settings {
        cache: CacheSize::Bytes(cache),
        detours: true,
        probe_interval: ms(7),
        decision_interval: ms(36),
        alpha: 0.125,
        load_weight: 0.25,
        quantum_bytes: 3000,
        cancel_for: ms(3),
        forget_after: ms(4),
        watchdog: ms(5),
        pooled_turns: false,
        push_packets: 6,
        order: TurnOrder::Attained,
        flow_totals: false,
        secrets: None,
    };
    assert_eq!(scenario.inrpp.settings, expected);
    assert_eq!(parse(&scenario.to_toml()), scenario);
    // As long as the probe interval, unless it is given.
    let decision = |set: &str| small(&[set]).inrpp.settings.decision_interval;
    assert_eq!((decision("until_s=4"), decision("inrpp.probe_interval=20ms")), (ms(10), ms(20)));
}

#[test]
fn what_is_allowed_and_seldom_meant_is_told() {
    const TRIANGLE: &str = r#"
        until_s = 1
        routers = ["u", "v", "x"]
        link_defaults = { rate = "10Mbit/s", delay = "1ms", queue = "50ms" }
        links = [{ a = "u", b = "v" }, { a = "u", b = "x" }, { a = "x", b = "v" }]
        hosts = [{ name = "a", attach = "u" }, { name = "b", attach = "v" }]
        flows = [{ src = "a", dst = "b", bytes = 1000 }]
    "#;
    let notes = |set: &[&str]| {
        let scenario = parse_with(TRIANGLE, set).unwrap_or_else(|error| panic!("{error}"));
        scenario.notes()
    };
    let all = "inrpp.routers=[\"u\", \"v\", \"x\"]";
    assert_eq!(notes(&[all]), [""; 0]);
    let none = "inrpp: no link between two INRPP routers has a detour of one hop: excess data is \
                cached, never sent round";
    assert_eq!(notes(&["inrpp.routers=[\"u\", \"v\"]"]), [none]);
    // No flow runs INRPP: nothing to say.
    assert_eq!(notes(&[]), [""; 0]);
    let alone = notes(&["inrpp.routers=[]", "flows.0.protocol=inrpp"]);
    assert!(alone[0].starts_with("inrpp: no router runs INRPP"), "{alone:?}");
    assert_eq!(notes(&["inrpp.routers=[\"u\", \"v\"]", "inrpp.detours=false"]), [""; 0]);
    let said = notes(&[all, "link_defaults.queue={discipline=\"codel\", limit=\"100packets\"}"]);
    assert!(said.iter().any(|note| note.contains("codel of links.")), "{said:?}");
}

#[test]
fn gains_of_rcp_by_name_and_by_number() {
    let gains = |set: &[&str]| {
        let rcp = rcp_of(&small(set));
        (rcp.alpha, rcp.beta)
    };
    assert_eq!(gains(&[]), (0.1, 1.0));
    assert_eq!(gains(&["rcp.pair=published"]), (0.1, 1.0));
    assert_eq!(gains(&["rcp.pair=ns2"]), (0.4, 0.4));
    assert_eq!(gains(&["rcp.pair=stable", "rcp.alpha=0.5"]), (0.5, 0.08));
    assert_eq!(gains(&["rcp.beta=0"]), (0.1, 0.0));
    let other =
        ["rcp.gamma=0.95", "rcp.initial_rtt=3ms", "rcp.max_interval=5ms", "rcp.initial_share=1"];
    let scenario = small(&other);
    let rcp = rcp_of(&scenario);
    let ms = Span::from_millis;
    assert_eq!(
        (rcp.gamma, rcp.initial_rtt, rcp.max_interval, rcp.initial_share),
        (0.95, ms(3), ms(5), 1.0)
    );
    assert_eq!(parse(&scenario.to_toml()), scenario);
    assert!(!small(&[]).to_toml().contains("[rcp]"), "nobody runs it");
}

#[test]
fn wrong_gains_of_rcp() {
    let cases = [
        ("alpha=0", "--set:1:11: rcp.alpha: `0.0` is out of range: expected above 0"),
        ("beta=-0.1", "--set:1:10: rcp.beta: `-0.1` is out of range: expected 0 or more"),
        ("gamma=2.5", "--set:1:11: rcp.gamma: `2.5` is out of range: expected above 0, at most 2"),
        ("gamma=nan", "--set:1:11: rcp.gamma: expected a number, found not a number (NaN)"),
        (
            "initial_rtt=0s",
            "--set:1:17: rcp.initial_rtt: `0s` is out of range: expected 1 us or more",
        ),
        (
            "initial_share=2",
            "--set:1:19: rcp.initial_share: `2.0` is out of range: expected above 0, at most 1",
        ),
        (
            "pair=stabel",
            "--set:1:10: rcp.pair: expected one of \"published\", \"ns2\", \"stable\", found a \
             string (\"stabel\")",
        ),
        ("apha=1", "--set:1:5: rcp: unknown key `apha`"),
    ];
    for (set, expected) in cases {
        assert_eq!(refused(&[&format!("rcp.{set}")]), expected);
    }
}

#[test]
fn the_dumbbell_of_the_inrpp_paper() {
    let scenario = builtin("inrpp/dumbbell");
    assert_eq!(scenario.protocols, ["inrpp", "rcp", "newreno", "cubic"]);
    assert_eq!((scenario.start_jitter, scenario.fct), (Span::ZERO, FctClock::Established));
    assert_eq!((scenario.nodes.len(), scenario.links.len(), scenario.flows.len()), (11, 11, 3));
    for link in &scenario.links {
        let mbps = match link.name.as_str() {
            "4-0" | "2-3" => 10_000,
            "0-2" | "0-1" | "1-2" => 10,
            _ => 40,
        };
        assert_eq!(link.forward, link.reverse);
        let LinkDirection { rate, queue, ref wire, .. } = link.forward;
        let WireSpec { delay, overhead_bytes, .. } = *wire;
        assert_eq!((rate, delay), (Rate::mbps(mbps), Span::from_millis(5)), "{}", link.name);
        // 50 ms of the rate: mbps x 1e6 x 0.05 / 8.
        assert_eq!((overhead_bytes, queue), (2, Limit::Bytes(mbps * 6_250)), "{}", link.name);
    }
    let starts: Vec<u64> = scenario.flows.iter().map(|flow| flow.start.as_millis()).collect();
    assert_eq!(starts, [1_000, 2_000, 3_000]);
    assert!(scenario.flows.iter().all(|flow| flow.bytes == Some(10_000_000)));
    // Frames of TCP and RCP have 1500 bytes with the 2 of PPP, those of INRPP 1496.
    let frame = |name| mtu_check::packet_bytes(&scenario, name) + 2;
    assert_eq!(["newreno", "cubic", "rcp", "inrpp"].map(frame), [1500, 1500, 1500, 1496]);
    let inrpp = scenario.tcp_for("inrpp");
    assert_eq!((inrpp.mss_bytes, inrpp.timestamps), (1446, false));
    let rcp = scenario.tcp_for("rcp");
    assert_eq!((rcp.mss_bytes, rcp.timestamps, rcp.send_buffer_bytes), (1434, true, 4 << 20));
    // A flow of INRPP fits its buffers whole.
    assert_eq!((inrpp.send_buffer_bytes, inrpp.receive_buffer_bytes), (10_000_000, 10_000_000));
    assert!(inrpp.window_scaling);
    let figures =
        CacheLimits { low_bytes: 5_000_000, high_bytes: 10_000_000, total_bytes: 12_500_000 };
    assert_eq!(scenario.inrpp.settings.cache, CacheSize::Bytes(figures));
    assert_eq!((rcp_of(&scenario).alpha, rcp_of(&scenario).beta), (0.1, 1.0));
    assert_eq!(scenario.notes(), [""; 0]);
}

#[test]
fn the_caches_of_the_papers_text() {
    let set = ["total=1.25MB", "high=1MB", "low=0.5MB"].map(|set| format!("inrpp.cache.{set}"));
    let options = LoadOptions { set: set.to_vec(), ..LoadOptions::default() };
    let scenario = Scenario::load("inrpp/dumbbell", &options).expect("loads");
    let text = CacheLimits { low_bytes: 500_000, high_bytes: 1_000_000, total_bytes: 1_250_000 };
    assert_eq!(scenario.inrpp.settings.cache, CacheSize::Bytes(text));
}

#[test]
fn round_trips_of_230_430_and_830_ms() {
    let scenario = builtin("inrpp/dumbbell-rtt");
    let delay = |name: &str| {
        let link = scenario.links.iter().find(|l| l.name == name).expect("the link is there");
        link.forward.wire.delay.as_nanos() / 1_000_000
    };
    let core = delay("4-0") + delay("0-2") + delay("2-3");
    let rtt = |i: u32| 2 * (delay(&format!("s{i}-4")) + core + delay(&format!("r{i}-3")));
    assert_eq!([1, 2, 3].map(rtt), [230, 430, 830]);
    let (equal, other) = (builtin("inrpp/dumbbell"), scenario);
    assert_eq!((equal.tcp_of, equal.inrpp, equal.flows.len()), (other.tcp_of, other.inrpp, 3));
}

#[test]
fn an_endless_flow_of_inrpp_has_the_largest_buffers() {
    let scenario = builtin("inrpp/detour-100");
    assert_eq!(scenario.tcp_for("inrpp").send_buffer_bytes, 1 << 30);
    assert_eq!(scenario.flows.len(), 100);
    // 1448 bytes of payload less the 8 of the echo.
    assert_eq!(scenario.tcp_for("inrpp").mss_bytes, 1440);
    // 100 ms of 1 Gbit/s.
    let limits = scenario.inrpp.settings.cache.at(forebay_base::PortId(0), Rate::mbps(1000));
    let [low, high, total] = [limits.low_bytes, limits.high_bytes, limits.total_bytes];
    assert_eq!([low, high, total], [5_000_000, 10_000_000, 12_500_000]);
}

#[test]
fn ports_of_routers_stamp_rates_while_a_flow_runs_rcp() {
    let stamps = |scenario: &Scenario, protocol: &str| -> Vec<bool> {
        let spec = scenario.build(protocol, 1).expect("builds");
        let links = spec.links.iter();
        links.map(|link| matches!(link.scheme, SchemeSpec::Rcp(_))).collect()
    };
    // Links of the small scenario: left-right, s0-left, s1-left, d-right. Hosts stamp nothing.
    let routers = [true, true, false, true, false, true, false, true];
    assert_eq!(stamps(&small(&[]), "rcp"), routers);
    assert_eq!(stamps(&small(&[]), "cubic"), [false; 8]);
    assert_eq!(stamps(&small(&["flows.0.protocol=rcp"]), "cubic"), routers);
}

#[test]
fn routers_run_inrpp_while_a_flow_does_with_room_for_the_tag_between_them() {
    let runs = |scenario: &Scenario, protocol: &str| -> (Vec<bool>, Vec<u16>) {
        let spec = scenario.build(protocol, 1).expect("builds");
        let inrpp = |kind: &NodeKind| matches!(kind, NodeKind::Router(ForwardingSpec::Inrpp(_)));
        let links = spec.links.iter().map(|link| link.wire.mtu_bytes);
        (spec.nodes.iter().map(|node| inrpp(&node.kind)).collect(), links.collect())
    };
    // Nodes: left, right, three hosts. Links: left-right, then access links.
    let (plain, tagged) = ([1500; 8], [1508, 1508, 1500, 1500, 1500, 1500, 1500, 1500]);
    let all = ([true, true, false, false, false].to_vec(), tagged.to_vec());
    let none = (vec![false; 5], plain.to_vec());
    assert_eq!(runs(&small(&[]), "inrpp"), all);
    assert_eq!(runs(&small(&["flows.0.protocol=inrpp"]), "rcp"), all);
    assert_eq!(runs(&small(&[]), "cubic"), none);
    assert_eq!(runs(&small(&["inrpp.routers=[]"]), "inrpp"), none);
    let one = (vec![false, true, false, false, false], plain.to_vec());
    assert_eq!(runs(&small(&["inrpp.routers=[\"right\"]"]), "cubic"), one);
}

#[test]
fn a_cache_too_small_for_a_packet_is_found_under_a_protocol_that_is_added_later() {
    // 10 s of 1 kbit/s are 1250 bytes, the size of the router that says it.
    let routers = "routers=[{name=\"left\", router={kind=\"inrpp\", cache=\"10s\"}}, \"right\"]";
    let slow = ["links.left-right.rate=1kbit/s", "links.left-right.queue=9kB"];
    assert!(small(&slow).build("inrpp", 1).is_ok(), "the margin rule has room for a packet");
    let error = parse_with(SMALL, &[&slow[..], &[routers]].concat()).expect_err("too small");
    assert_eq!(
        error.to_string().lines().next().unwrap(),
        "small.toml:1:1: protocols: `1250 bytes` is out of range: expected a full-sized packet \
         (1500 bytes) or more, and low < high < total, in the cache of `left` at `left-right` \
         (1kbit/s)"
    );
}

#[test]
fn the_names_of_coupled_increases_lead_to_mptcp() {
    for (name, meant) in
        [("lia", "mptcp"), ("mptcp-lia", "mptcp"), ("MPTCP/LIA", "mptcp"), ("olia", "mptcp-olia")]
    {
        let message = set_message(&format!("protocols=[\"{name}\"]"));
        assert!(message.contains(&format!("did you mean `{meant}`?")), "{name}: {message}");
    }
}
