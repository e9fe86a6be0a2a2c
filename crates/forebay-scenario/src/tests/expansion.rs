//! What groups, defaults and overrides become: numbers by hand from the definitions of the bench
//! scenarios.

use super::*;
use forebay_base::{LinkId, PortId};
use forebay_cc::{AckPolicy, LossPolicy};
use forebay_net::{NodeKind, WireSpec};
use forebay_transport::Pacing;

fn link<'a>(scenario: &'a Scenario, name: &str) -> &'a Link {
    scenario.links.iter().find(|l| l.name == name).unwrap_or_else(|| panic!("no link {name}"))
}

fn name(scenario: &Scenario, node: NodeId) -> &str {
    &scenario.nodes[node.index()].name
}

#[test]
fn s1_is_what_the_bench_defines() {
    let s1 = builtin("s1");
    assert_eq!((s1.nodes.len(), s1.links.len(), s1.flows.len()), (11, 11, 3));
    // 50 ms: 10 Mbit/s x 0.05 s / 8 = 62 500 bytes, and in proportion.
    for (name, mbps, bytes) in [
        ("4-0", 100, 625_000),
        ("0-2", 10, 62_500),
        ("2-3", 100, 625_000),
        ("0-1", 10, 62_500),
        ("1-2", 10, 62_500),
        ("s1-4", 40, 250_000),
        ("d3-3", 40, 250_000),
    ] {
        let link = link(&s1, name);
        for wire in [&link.forward, &link.reverse] {
            assert_eq!(wire.rate, Rate::mbps(mbps), "{name}");
            assert_eq!(wire.wire.delay, Span::from_millis(5), "{name}");
            assert_eq!(wire.queue, Limit::Bytes(bytes), "{name}");
            assert_eq!(
                (wire.wire.loss, wire.wire.mtu_bytes, wire.wire.overhead_bytes),
                (0.0, 1500, 0),
                "{name}"
            );
        }
    }
    for (i, flow) in s1.flows.iter().enumerate() {
        assert_eq!(name(&s1, flow.src), format!("s{}", i + 1));
        assert_eq!(name(&s1, flow.dst), format!("d{}", i + 1));
        assert_eq!(flow.start, Time::from_secs(i as u64));
        assert_eq!(flow.bytes, Some(10_000_000));
    }
    assert_eq!((s1.tcp.mss_bytes, s1.tcp.initial_window_segments), (1448, 10));
    assert!(s1.tcp.sack && s1.tcp.window_scaling && s1.tcp.timestamps);
    assert!(matches!(s1.tcp.ack_policy, AckPolicy::Delayed { packets: 2, .. }));
    assert_eq!(s1.tcp.min_rto, Span::from_secs(1));
    assert_eq!((s1.tcp.send_buffer_bytes, s1.tcp.receive_buffer_bytes), (4_000_000, 4_000_000));
    assert_eq!(s1.until, None);
    assert_eq!(s1.protocols, ["newreno"]);
}

#[test]
fn the_main_job_runs_newreno_and_cubic_over_the_network_of_s1() {
    let (main, s1) = (builtin("dumbbell"), builtin("s1"));
    assert_eq!(main.protocols, ["newreno", "cubic"]);
    assert_eq!((&main.nodes, &main.links, &main.flows), (&s1.nodes, &s1.links, &s1.flows));
}

#[test]
fn s2_is_what_the_bench_defines() {
    let s2 = builtin("s2");
    assert_eq!((s2.nodes.len(), s2.links.len(), s2.flows.len()), (202, 201, 100));
    let middle = link(&s2, "left-right");
    assert_eq!(middle.forward.wire.delay, Span::from_millis(8));
    for link in &s2.links {
        let wire = WireSpec { delay: link.forward.wire.delay, ..middle.forward.wire.clone() };
        assert_eq!(link.forward, LinkDirection { wire, ..middle.forward.clone() });
        assert_eq!(link.forward, link.reverse);
        assert_eq!(link.forward.rate, Rate::mbps(1000));
        assert_eq!(link.forward.queue, Limit::Bytes(2_500_000));
    }
    assert_eq!(link(&s2, "s99-left").forward.wire.delay, Span::from_millis(1));
    for (i, flow) in s2.flows.iter().enumerate() {
        assert_eq!((flow.start, flow.bytes), (Time::from_millis(i as u64), None));
        assert_eq!(name(&s2, flow.src), format!("s{i}"));
        assert_eq!(name(&s2, flow.dst), format!("d{i}"));
    }
    assert_eq!(s2.until, Some(Time::from_secs(10)));
    assert!(!s2.is_random());
}

#[test]
fn the_expanded_text_gives_the_same_scenario() {
    for builtin in BUILTINS.iter().filter(|b| !b.is_template()) {
        let scenario = super::builtin(builtin.name);
        let again = parse(&scenario.to_toml());
        assert_eq!(again, scenario, "{}", builtin.name);
        assert_eq!(again.to_toml(), scenario.to_toml());
    }
}

#[test]
fn every_built_in_scenario_describes_itself_and_builds() {
    for builtin in BUILTINS.iter().filter(|b| !b.is_template()) {
        let scenario = super::builtin(builtin.name);
        assert!(!scenario.description.is_empty(), "{}", builtin.name);
        for protocol in &scenario.protocols {
            let spec = scenario.build(protocol, 1).expect("the protocol is there");
            assert_eq!(spec.links.len(), 2 * scenario.links.len());
            assert_eq!(spec.transports[0].name, *protocol);
        }
    }
}

#[test]
fn a_built_network_has_the_numbers_of_the_scenario() {
    let small = parse(SMALL);
    let spec = small.build("cubic", 1).expect("builds");
    let hosts = spec.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Host)).count();
    assert_eq!((spec.nodes.len(), hosts), (5, 3));
    let forward = &spec.links[0];
    assert_eq!((forward.from, forward.to), (NodeId(0), NodeId(1)));
    assert_eq!((spec.links[1].from, spec.links[1].to), (NodeId(1), NodeId(0)));
    assert_eq!(forward.queue.limit(), Limit::Bytes(62_500));
    assert_eq!(spec.links[2].queue.limit(), Limit::Packets(100));
    assert_eq!(spec.events.len(), 2);
    assert_eq!(spec.events[1].event, NetEvent::Loss(LinkId(1), 0.5));
    assert_eq!(spec.flows[0].bytes, Some(10_000));
}

#[test]
fn start_jitter_is_drawn_from_the_seed_and_bounded() {
    let scenario = builtin("s1");
    let starts = |seed| -> Vec<Time> {
        let spec = scenario.build("newreno", seed).expect("builds");
        spec.flows.iter().map(|f| f.start).collect()
    };
    assert_eq!(starts(1), starts(1));
    assert_ne!(starts(1), starts(2));
    let mut latest = Span::ZERO;
    for seed in 0..200 {
        for (start, flow) in starts(seed).iter().zip(&scenario.flows) {
            assert!(*start >= flow.start && start.since(flow.start) <= Span::from_millis(1));
            latest = latest.max(start.since(flow.start));
        }
    }
    assert!(latest > Span::from_micros(900), "600 draws reach the upper tenth, not only {latest}");
    let exact = parse_with(SMALL, &["start_jitter=0s"]).expect("parses");
    assert_eq!(exact.build("cubic", 9).expect("builds").flows[0].start, Time::ZERO);
}

#[test]
fn randomness_is_known() {
    let quiet = ["start_jitter=0s", "events=[]"];
    let with = |more: &str| parse_with(SMALL, &[quiet[0], quiet[1], more]).expect("parses");
    assert!(!with("until_s=6").is_random());
    assert!(with("links.left-right.loss=0.1").is_random());
    assert!(with("links.left-right.reverse.jitter=1ms").is_random());
    assert!(with("start_jitter=1ns").is_random());
    assert!(parse_with(SMALL, &["start_jitter=0s"]).expect("parses").is_random(), "loss at 1 s");
}

#[test]
fn a_link_reorders_where_it_is_told_to() {
    let reorders = |set: &[&str]| {
        let scenario = parse_with(SMALL, set).expect("parses");
        let again = Scenario::parse(&scenario.to_toml(), "x", &LoadOptions::default());
        let wires =
            |s: &Scenario| [s.links[0].forward.wire.reorder, s.links[0].reverse.wire.reorder];
        assert_eq!(wires(&scenario), wires(&again.expect("its own text")));
        let built = scenario.build("cubic", 1).expect("builds").links;
        assert_eq!(wires(&scenario), [built[0].wire.reorder, built[1].wire.reorder]);
        wires(&scenario)
    };
    assert_eq!(reorders(&[]), [false, false]);
    assert_eq!(reorders(&["links.left-right.reorder=true"]), [true, true]);
    assert_eq!(reorders(&["links.left-right.reverse.reorder=true"]), [false, true]);
    let defaults = ["link_defaults.reorder=true", "links.left-right.reorder=false"];
    assert_eq!(reorders(&defaults), [false, false]);
}

#[test]
fn reverse_directions_override_field_by_field() {
    let text = SMALL.replacen(
        "queue = \"50ms\"",
        "queue = { limit = \"1.5BDP\", rtt = \"12ms\" }\n\
         reverse = { rate = \"2Mbit/s\", queue = { limit = \"0.5BDP\" } }",
        1,
    );
    let scenario = parse(&text);
    let link = link(&scenario, "left-right");
    // 10 Mbit/s x 12 ms / 8 = 15 000 bytes, x 1.5; 2 Mbit/s x 12 ms / 8 = 3 000 bytes, x 0.5.
    assert_eq!(link.forward.queue, Limit::Bytes(22_500));
    assert_eq!(link.reverse.queue, Limit::Bytes(1_500));
    assert_eq!((link.reverse.rate, link.reverse.wire.delay), (Rate::mbps(2), Span::from_millis(5)));
}

#[test]
fn set_changes_what_it_names() {
    let set = [
        "links.left-right.rate=20Mbit/s",
        "hosts.1.delay=7ms",
        "flows.0.packets=3",
        "tcp.loss_policy={num=3,den=1}",
        "tcp.pacing.slow_start_percent=200",
        "tcp.pacing.avoidance_percent=120",
        "protocol.cubic.beta=0.5",
        "protocols=[\"cubic\", \"newreno\"]",
        "description=as set",
        "tcp.mss_bytes=1000",
    ];
    let text = SMALL.replace("bytes = 10000\n", "");
    let scenario = parse_with(&text, &set).unwrap_or_else(|error| panic!("{error}"));
    let middle = link(&scenario, "left-right");
    assert_eq!(middle.forward.rate, Rate::mbps(20));
    assert_eq!(middle.forward.queue, Limit::Bytes(125_000), "50 ms of the new rate");
    assert_eq!(link(&scenario, "d-right").forward.wire.delay, Span::from_millis(7));
    assert_eq!(scenario.flows[0].bytes, Some(3_000));
    assert_eq!(scenario.tcp.loss_policy, LossPolicy::GapTimer { num: 3, den: 1 });
    let windowed = Pacing::Windowed { slow_start_percent: 200, avoidance_percent: 120 };
    assert_eq!(scenario.tcp.pacing, windowed);
    assert_eq!(scenario.protocols, ["cubic", "newreno"]);
    assert_eq!(scenario.description, "as set");
    let params = scenario.spec("cubic").unwrap().params();
    assert_eq!(params["beta"], toml::Value::Float(0.5));
    assert_eq!(
        scenario.spec("newreno"),
        Registry::default().algorithm("newreno").map(|of| of.spec())
    );
}

#[test]
fn flows_keep_the_protocol_that_they_name() {
    let spec = builtin("duel").build("newreno", 1).expect("builds");
    let names: Vec<&str> =
        spec.flows.iter().map(|f| spec.transports[f.transport].name.as_str()).collect();
    assert_eq!(names, ["newreno", "cubic"]);
}

#[test]
fn events_come_in_order_of_time_with_ports_resolved() {
    let more = "[[events]]\nat = \"0.5s\"\nroute = { node = \"left\", dst = \"d\", \
                via = \"s1-left\" }\n\
                [[events]]\nat = \"2s\"\nrestart = \"right\"\n[[events]]\nat = \"0s\"\n\
                link = \"s0-left\"\n\
                direction = \"reverse\"\nrate = \"1Mbit/s\"\nstate = \"down\"\n";
    let scenario = parse(&format!("{SMALL}{more}"));
    let at: Vec<u64> = scenario.events.iter().map(|e| e.at.as_millis()).collect();
    assert_eq!(at, [0, 0, 500, 1000, 1000, 2000]);
    // Links: left-right 0, s0-left 1, s1-left 2. The ports of left: to right, s0, s1.
    assert_eq!(scenario.events[0].event, NetEvent::Rate(LinkId(3), Rate::mbps(1)));
    assert_eq!(scenario.events[1].event, NetEvent::Down(LinkId(3)));
    let (left, d) = (NodeId(0), NodeId(4));
    let via = Some(PortId(2));
    assert_eq!(scenario.events[2].event, NetEvent::Route { node: left, dst: d, via });
    assert_eq!(scenario.events[5].event, NetEvent::Restart(NodeId(1)));
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

#[test]
fn the_schema_knows_every_key_with_a_description() {
    fn walk(schema: &serde_json::Value, path: &str, seen: &mut usize) {
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            let described = property["description"].as_str().is_some_and(|d| !d.is_empty());
            let algorithm = path.starts_with(".protocol.");
            assert!(described || algorithm, "{path} has no description");
            *seen += 1;
            walk(property, &path, seen);
            walk(&property["items"], &path, seen);
        }
    }
    let schema = schema(&Registry::default());
    let mut seen = 0;
    walk(&schema, "", &mut seen);
    assert!(seen > 100, "{seen} keys");
    assert_eq!(schema["properties"]["tcp"]["properties"]["sack"]["type"], "boolean");
    let cubic = &schema["properties"]["protocol"]["properties"]["cubic"];
    let target = cubic["$ref"].as_str().expect("a reference").trim_start_matches('#');
    assert!(schema.pointer(target).is_some_and(|s| s["properties"]["beta"].is_object()));
}

#[test]
fn each_host_of_a_group_may_attach_to_a_router_of_its_own() {
    let text = SMALL.replacen("name = \"s{}\"", "name = \"s{}\"\nfirst = 1", 1);
    let text = text.replacen("[\"left\", \"right\"]", "[\"left\", \"right\", \"r1\", \"r2\"]", 1);
    let text = text.replacen("attach = \"left\"", "attach = \"r{}\"", 1);
    let text = text.replacen("src = \"s0\"", "src = \"s1\"", 1);
    let joined = "links = [{ a = \"r1\", b = \"left\", rate = \"1Mbit/s\", delay = \"1ms\", \
                  queue = \"9kB\" }]";
    let scenario = parse(&text.replacen("[[links]]", &format!("{}\n[[links]]", row(joined)), 1));
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert!(names.contains(&"s1-r1") && names.contains(&"s2-r2"), "{names:?}");
}

/// A list of one link as a table of its own.
fn row(list: &str) -> String {
    let inner = list.trim_start_matches("links = [{").trim_end_matches("}]");
    format!("[[links]]\n{}", inner.split(", ").map(str::trim).collect::<Vec<_>>().join("\n"))
}

/// Nothing happens at the end of a run or after it.
#[test]
fn flows_and_events_behind_the_end_are_noted() {
    let late = "[[flows]]\nsrc = \"s1\"\ndst = \"d\"\nbytes = 1000\nstart = \"300ms\"\n";
    let notes = |set: &[&str]| parse_with(&format!("{SMALL}\n{late}"), set).unwrap().notes();
    assert_eq!(notes(&["until_s=1.1"]), [""; 0]);
    assert_eq!(
        notes(&["until_s=0.3"]),
        [
            "1 of 2 flows never start: they are due at until_s (0.3 s) or later",
            "events at until_s (0.3 s) or later never happen"
        ]
    );
}

#[test]
fn hosts_with_nothing_but_a_name_are_strings() {
    let text = r#"
        hosts = ["a", { name = "b" }]
        links = [{ a = "a", b = "b", rate = "1Mbit/s", delay = "1ms", queue = "9kB" }]
        flows = [{ src = "a", dst = "b", bytes = 1 }]
    "#;
    let both = parse(text);
    assert_eq!(both, parse(&text.replace("\"a\", {", "{ name = \"a\" }, {")));
    assert_eq!(parse(&both.to_toml()), both);
    // A string that a `--set` changes becomes a table.
    let scenario = parse_with(text, &["hosts.a.count=1"]).unwrap_err().to_string();
    assert!(scenario.contains("hosts[0].name: the name of a group holds \"{}\""), "{scenario}");
    let wrong = |hosts: &str| parse_with(&text.replace("\"a\", {", hosts), &[]).unwrap_err();
    let told = wrong("7, {").to_string();
    let expected = "small.toml:2:18: hosts[0]: expected a string, or a table such as { name = \
                    \"h\", attach = \"r\" }, found an integer (7)\n";
    assert!(told.starts_with(expected), "{told}");
    let told = wrong("\"a\", \"a\", {").to_string();
    assert!(told.contains("hosts[1]: the node `a` is declared twice"), "{told}");
    let told = wrong("\"a{}\", {").to_string();
    assert!(
        told.contains("hosts[0]: \"{}\" stands for a number, but there is no `count`"),
        "{told}"
    );
}
