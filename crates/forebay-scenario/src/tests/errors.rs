//! One test for each way in which a file can be wrong, with the whole message.

use super::*;

fn lines(expected: &[&str]) -> String {
    expected.join("\n")
}

#[test]
fn unknown_key() {
    let expected = lines(&[
        "small.toml:10:1: links[0]: unknown key `rat`",
        "  10 | rat = \"10Mbit/s\"",
        "     | ^^^",
        "hint: did you mean `rate`?",
    ]);
    assert_eq!(message("rate = \"10", "rat = \"10"), expected);
    let top = message("until_s", "untils");
    assert!(top.starts_with("small.toml:1:1: unknown key `untils`\n"), "{top}");
}

#[test]
fn not_toml() {
    let found = message("delay = \"5ms\"", "delay = ");
    assert!(found.starts_with("small.toml:11:9: not valid TOML: "), "{found}");
    let found = message("delay = \"5ms\"", "rate = \"5Mbit/s\"");
    assert!(found.starts_with("small.toml:11:1: not valid TOML: duplicate key"), "{found}");
}

#[test]
fn wrong_type() {
    let expected = lines(&[
        "small.toml:16:9: hosts[0].count: expected an integer, found a string (\"two\")",
        "  16 | count = \"two\"",
        "     |         ^^^^^",
    ]);
    assert_eq!(message("count = 2", "count = \"two\""), expected);
    let expected = lines(&[
        "small.toml:2:11: routers: expected an array, found a boolean (true)",
        "  2 | routers = true",
        "    |           ^^^^",
    ]);
    assert_eq!(message("[\"left\", \"right\"]", "true"), expected);
    let expected = lines(&[
        "small.toml:2:20: routers[1]: expected a string, or a table such as { name = \"r\", \
         router = \"ip\" }, found an integer (7)",
        "  2 | routers = [\"left\", 7]",
        "    |                    ^",
    ]);
    assert_eq!(message("\"right\"]", "7]"), expected);
}

#[test]
fn wrong_or_missing_unit() {
    let expected = lines(&[
        "small.toml:11:9: links[0].delay: expected a time such as \"5ms\", found `5` without a \
         unit",
        "  11 | delay = 5",
        "     |         ^",
        "hint: units: ns, us, ms, s, µs, min",
    ]);
    assert_eq!(message("delay = \"5ms\"", "delay = 5"), expected);
    let expected = lines(&[
        "small.toml:10:8: links[0].rate: expected a rate such as \"10Mbit/s\", found `10Mbits` \
         with the unit `Mbits`",
        "  10 | rate = \"10Mbits\"",
        "     |        ^^^^^^^^^",
        "hint: did you mean \"10Mbit/s\"?",
    ]);
    assert_eq!(message("10Mbit/s", "10Mbits"), expected);
    let expected = lines(&[
        "small.toml:12:9: links[0].queue: expected a queue limit such as \"64kB\", \"100packets\", \
         \"50ms\" or \"1.5BDP\", found `50` without a unit",
        "  12 | queue = \"50\"",
        "     |         ^^^^",
        "hint: units: B, kB, MB, GB, KiB, MiB, GiB, ns, us, ms, s, µs, min, packets, BDP",
    ]);
    assert_eq!(message("\"50ms\"", "\"50\""), expected);
}

#[test]
fn negative_or_zero_rate() {
    for rate in ["-10Mbit/s", "0Mbit/s", "999bit/s", "401Gbit/s"] {
        let expected = lines(&[
            &format!(
                "small.toml:10:8: links[0].rate: `{rate}` is out of range: expected a rate from \
                 1kbit/s to 400Gbit/s"
            ),
            &format!("  10 | rate = \"{rate}\""),
            &format!("     |        {}", "^".repeat(rate.len() + 2)),
        ]);
        assert_eq!(message("10Mbit/s", rate), expected);
    }
}

#[test]
fn link_to_a_node_that_is_not_there() {
    let expected = lines(&[
        "small.toml:9:5: links[0].b: there is no node `rihgt`",
        "  9 | b = \"rihgt\"",
        "    |     ^^^^^^^",
        "hint: did you mean `right`?",
    ]);
    assert_eq!(message("b = \"right\"", "b = \"rihgt\""), expected);
    let expected = lines(&[
        "small.toml:17:10: hosts[0].attach: there is no node `x`",
        "  17 | attach = \"x\"",
        "     |          ^^^",
        "hint: one of: left, right",
    ]);
    assert_eq!(message("attach = \"left\"", "attach = \"x\""), expected);
}

#[test]
fn destination_with_no_route() {
    let expected = |line: u32| {
        lines(&[
            &format!("small.toml:{line}:7: flows[0].dst: there is no route from `s0` to `d`"),
            &format!("  {line} | dst = \"d\""),
            "     |       ^^^",
        ])
    };
    // The router of the destination is an island.
    let island = SMALL.replace("\"left\", \"right\"]", "\"left\", \"right\", \"far\"]");
    let island = island.replace("b = \"right\"", "b = \"far\"").replace("left-right", "left-far");
    let found = parse_with(&island, &[]).expect_err("no route").to_string();
    assert_eq!(found, expected(31));
    // Hosts do not forward: the only way leads through s1.
    let through = "name = \"left-right\"\na = \"s1\"";
    assert_eq!(message("a = \"left\"", through), expected(32));
}

#[test]
fn duplicate_names() {
    let expected = lines(&[
        "small.toml:23:8: hosts[1].name: the node `s1` is declared twice",
        "  23 | name = \"s1\"",
        "     |        ^^^^",
        "",
        "small.toml:31:7: flows[0].dst: there is no node `d`",
        "  31 | dst = \"d\"",
        "     |       ^^^",
        "hint: one of: left, right, s0, s1",
    ]);
    assert_eq!(message("name = \"d\"", "name = \"s1\""), expected);
    let twice = "[[links]]\na = \"left\"\nb = \"right\"\nrate = \"1Mbit/s\"\ndelay = \"1ms\"\n\
                 queue = \"50ms\"\n\n[[links]]";
    let expected = lines(&[
        "small.toml:14:1: links[1]: the link `left-right` is declared twice",
        "  14 | [[links]]",
        "     | ^^^^^^^^^",
        "hint: give one of them another `name`",
    ]);
    assert_eq!(message("[[links]]", twice), expected);
    let found = message("until_s = 5", "protocols = [\"cubic\", \"cubic\"]");
    assert!(
        found.starts_with("small.toml:1:13: protocols: the protocol `cubic` is declared twice")
    );
}

#[test]
fn hosts_without_a_link() {
    let group = |more: &str| format!("[[hosts]]\nname = \"x{{}}\"\n{more}\n\n[[flows]]");
    // One link has two ends: no third host can have one. Nothing is made of the 2^24.
    let expected = lines(&[
        "small.toml:31:9: hosts[2].count: 16777216 hosts without `attach`, and links with 2 ends",
        "  31 | count = 16777216",
        "     |         ^^^^^^^^",
        "hint: give the router of an access link with `attach`, or a link under [[links]]",
    ]);
    assert_eq!(message("[[flows]]", &group("count = 16777216")), expected);
    let found = message("[[flows]]", &group("count = 2"));
    assert!(
        found.starts_with("small.toml:30:8: hosts[2].name: the host `x0` has no link\n"),
        "{found}"
    );
    let found = message("attach = \"right\"\n", "");
    assert!(
        found.starts_with("small.toml:23:8: hosts[1].name: the host `d` has no link\n"),
        "{found}"
    );
}

#[test]
fn texts_that_a_terminal_would_obey() {
    let found = message("until_s = 5", "description = \"\\u001b[31mred\"");
    let expected = "small.toml:1:15: description: `\\u{1b}[31mred` is out of range: expected text \
                    without control characters";
    assert!(found.starts_with(expected), "{found}");
    let found = message("name = \"d\"", "name = \"d\u{202e}\"");
    let expected = "small.toml:23:8: hosts[1].name: `d\\u{202e}` is out of range: expected a name \
                    of 1 to 100 characters without spaces, control characters";
    assert!(found.starts_with(expected), "{found}");
    assert!(!found.contains('\u{202e}'), "{found}");
    let lines = "description = \"\"\"one\n\ttwo\"\"\"";
    let scenario = parse(&SMALL.replace("until_s = 5", lines));
    assert_eq!(scenario.description, "one\n\ttwo");
}

#[test]
fn long_values_are_cut() {
    let found = message("until_s = 5", &format!("fct = \"{}\"", "x".repeat(1_000_000)));
    assert!(found.starts_with("small.toml:1:7: fct: expected one of \"syn\""), "{found}");
    assert!(found.contains("xxx…") && found.len() < 500, "{} bytes", found.len());
}

#[test]
fn absurd_sizes() {
    let cases = [
        (
            "bytes = 10000",
            "bytes = 18446744073709551616",
            "small.toml:32:9: flows[0].bytes: `18446744073709551616` is out of range: expected 0 \
             to 18446744073709551615 bytes",
        ),
        (
            "bytes = 10000",
            "bytes = \"99999999999GB\"",
            "small.toml:32:9: flows[0].bytes: `99999999999GB` is out of range: expected 0 to \
             18446744073709551615 bytes",
        ),
        (
            "bytes = 10000",
            "bytes = 0",
            "small.toml:32:9: flows[0].bytes: `0` is out of range: expected 1 or more",
        ),
        (
            "count = 2",
            "count = 16777217",
            "small.toml:16:9: hosts[0].count: `16777217` is out of range: expected 1 to 2^24, and \
             numbers below 2^32",
        ),
        (
            "count = 2",
            "count = 0",
            "small.toml:16:9: hosts[0].count: `0` is out of range: expected 1 to 2^24, and numbers \
             below 2^32",
        ),
        (
            "count = 2",
            "count = 65536",
            "small.toml:16:9: hosts[0].count: `65536` is out of range: expected at most 65535 \
             links of one node",
        ),
        (
            "count = 2",
            "count = 4294967296",
            "small.toml:16:9: hosts[0].count: `4294967296` is out of range: expected an integer \
             from 0 to 4294967295",
        ),
        (
            "delay = \"5ms\"",
            "delay = \"3155760001s\"",
            "small.toml:11:9: links[0].delay: `3155760001s` is out of range: expected a time from \
             0s to 1000s",
        ),
        (
            "delay = \"5ms\"",
            "delay = \"1000.000000001s\"",
            "small.toml:11:9: links[0].delay: `1000000000001ns` is out of range: expected at most \
             1000s on a link",
        ),
        (
            "queue = \"50ms\"",
            "queue = \"50ms\"\njitter = \"1001s\"",
            "small.toml:13:10: links[0].jitter: `1001s` is out of range: expected at most 1000s on \
             a link",
        ),
        (
            "queue = \"50ms\"",
            "queue = \"50ms\"\nreorder = \"yes\"",
            "small.toml:13:11: links[0].reorder: expected true or false, found a string (\"yes\")",
        ),
        (
            "loss = 0.5",
            "delay = \"1001s\"",
            "small.toml:37:9: events[0].delay: `1001s` is out of range: expected at most 1000s on \
             a link",
        ),
        (
            "until_s = 5",
            "until_s = 3155760001",
            "small.toml:1:11: until_s: `3155760001` is out of range: expected 0 to 3155760000 \
             seconds (100 years)",
        ),
        ("until_s = 5", "until_s = 1e300", "small.toml:1:11: until_s: `1e300` is out of range"),
        (
            "\"50ms\"",
            "\"99999999999999999999GB\"",
            "small.toml:12:9: links[0].queue: `99999999999999999999GB` is out of range: expected a \
             queue of at most 2^63 bytes or 100 years",
        ),
    ];
    for (old, new, expected) in cases {
        let found = message(old, new);
        assert!(found.starts_with(expected), "{found}");
    }
    let huge = format!("bytes = {}", "9".repeat(50));
    let found = message("bytes = 10000", &huge);
    assert!(found.contains("is out of range: expected a number of at most 38 digits"), "{found}");
    let late = "bytes = 10000\ncount = 3\nevery = \"3000000000s\"";
    let found = message("bytes = 10000", late);
    assert!(found.starts_with("small.toml:34:9: flows[0].every: `start of flow 2: "), "{found}");
}

#[test]
fn unknown_protocol() {
    let expected = lines(&[
        "small.toml:1:14: protocols[0]: there is no protocol `cubik`",
        "  1 | protocols = [\"cubik\"]",
        "    |              ^^^^^^^",
        "hint: did you mean `cubic`?",
    ]);
    assert_eq!(message("until_s = 5", "protocols = [\"cubik\"]"), expected);
    let error = parse(SMALL).build("cubik", 1).err().expect("no such protocol").to_string();
    assert_eq!(error, "there is no protocol `cubik`\nhint: did you mean `cubic`?");
    let found = message("bytes = 10000", "bytes = 10000\nprotocol = \"renew\"");
    assert!(found.starts_with("small.toml:33:12: flows[0].protocol: there is no protocol `renew`"));
    let found = message("until_s = 5", "protocols = []");
    assert!(found.starts_with("small.toml:1:13: protocols: expected at least one protocol"));
}

#[test]
fn parameters_of_algorithms() {
    let head = "bytes = 10000\n[protocol.cubic]\n";
    let expected = lines(&[
        "small.toml:34:1: protocol.cubic: unknown key `betta`",
        "  34 | betta = 0.5",
        "     | ^^^^^",
        "hint: did you mean `beta`?",
    ]);
    assert_eq!(message("bytes = 10000", &format!("{head}betta = 0.5")), expected);
    let found = message("bytes = 10000", &format!("{head}beta = 2.0"));
    assert!(
        found.starts_with("small.toml:34:8: protocol.cubic.beta: `2.0` is out of range: expected "),
        "{found}"
    );
    let found = message("bytes = 10000", &format!("{head}beta = \"much\""));
    let expected =
        "small.toml:34:8: protocol.cubic.beta: expected a number, found a string (\"much\")";
    assert_eq!(found.lines().next(), Some(expected));
    let head = "bytes = 10000\n[protocol.inrpp]\n";
    let expected = lines(&[
        "small.toml:34:18: protocol.inrpp.notify_on_data: expected true or false, found a string \
         (\"on\")",
        "  34 | notify_on_data = \"on\"",
        "     |                  ^^^^",
    ]);
    assert_eq!(message("bytes = 10000", &format!("{head}notify_on_data = \"on\"")), expected);
    let found = message("bytes = 10000", "bytes = 10000\n[protocol.cubik]");
    assert!(
        found.starts_with("small.toml:33:11: protocol.cubik: there is no protocol `cubik`"),
        "{found}"
    );
}

#[test]
fn set_arguments() {
    let expected = lines(&[
        "--set:1:5: tcp: unknown key `min_rtt`",
        "  1 | tcp.min_rtt=200ms",
        "    |     ^^^^^^^",
        "hint: did you mean `min_rto`?",
    ]);
    assert_eq!(set_message("tcp.min_rtt=200ms"), expected);
    let expected = lines(&[
        "--set:1:7: links: there is no element `left-rigth`",
        "  1 | links.left-rigth.rate=1Mbit/s",
        "    |       ^^^^^^^^^^",
        "hint: did you mean `left-right`?",
    ]);
    assert_eq!(set_message("links.left-rigth.rate=1Mbit/s"), expected);
    let expected = lines(&[
        "--set:1:7: flows: there is no element `7`",
        "  1 | flows.7.bytes=1MB",
        "    |       ^",
        "hint: elements count from 0, and there is one: 0",
    ]);
    assert_eq!(set_message("flows.7.bytes=1MB"), expected);
    let expected = lines(&[
        "--set:1:9: until_s: expected a number of seconds, found a string (\"60s\")",
        "  1 | until_s=60s",
        "    |         ^^^",
        "hint: keys that end in _s take seconds without a unit, such as 60 or 0.5",
    ]);
    assert_eq!(set_message("until_s=60s"), expected);
    let expected = lines(&[
        "--set:1:13: tcp.min_rto: expected a time such as \"5ms\", found `200` without a unit",
        "  1 | tcp.min_rto=200",
        "    |             ^^^",
        "hint: units: ns, us, ms, s, µs, min",
    ]);
    assert_eq!(set_message("tcp.min_rto=200"), expected);
    for bad in ["tcp.min_rto", "=3", "tcp..min_rto=3", ""] {
        let expected = format!("--set:1:1: expected key=value, found `{bad}`\n");
        assert!(set_message(bad).starts_with(&expected), "{bad}");
    }
    let found = set_message("until_s.x=3");
    assert!(
        found.starts_with("--set:1:9: until_s: expected a table, found an integer\n"),
        "{found}"
    );
}

#[test]
fn empty_flows() {
    let flows = "[[flows]]\nsrc = \"s0\"\ndst = \"d\"\nbytes = 10000\n";
    let expected = lines(&[
        "small.toml:1:1: flows: the scenario has no flows",
        "  1 | until_s = 5",
        "    | ^",
        "hint: add [[flows]] with src, dst and bytes, or csv.flows",
    ]);
    assert_eq!(message(flows, ""), expected);
    assert!(parse_with("", &[]).is_err());
}

#[test]
fn events() {
    let expected = lines(&[
        "small.toml:36:8: events[0].link: there is no link `left-rihgt`",
        "  36 | link = \"left-rihgt\"",
        "     |        ^^^^^^^^^^^^",
        "hint: did you mean `left-right`?",
    ]);
    assert_eq!(message("link = \"left-right\"", "link = \"left-rihgt\""), expected);
    let expected = lines(&[
        "small.toml:35:6: events[0].at: `-1s` is out of range: expected a time from 0s to 100 \
         years",
        "  35 | at = \"-1s\"",
        "     |      ^^^^^",
    ]);
    assert_eq!(message("at = \"1s\"", "at = \"-1s\""), expected);
    let cases = [
        (
            "loss = 0.5",
            "",
            "small.toml:34:1: events[0]: the key `state` is missing: what changes: rate, delay, \
             loss or state",
        ),
        (
            "link = \"left-right\"",
            "",
            "small.toml:34:1: events[0]: the key `link` is missing: the link that changes",
        ),
        (
            "loss = 0.5",
            "loss = 0.5\nrestart = \"left\"",
            "small.toml:34:1: events[0]: an event is one of",
        ),
        (
            "loss = 0.5",
            "state = \"dwn\"",
            "small.toml:37:9: events[0].state: expected one of \"down\", \"up\", found a string \
             (\"dwn\")",
        ),
        (
            "link = \"left-right\"\nloss = 0.5",
            "restart = \"d\"",
            "small.toml:36:11: events[0].restart: `d` is a host: only routers restart",
        ),
        (
            "link = \"left-right\"\nloss = 0.5",
            "route = { node = \"left\", dst = \"d\", via = \"d-right\" }",
            "small.toml:36:43: events[0].route.via: the link `d-right` is not at `left`",
        ),
    ];
    for (old, new, expected) in cases {
        let found = message(old, new);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn times_and_probabilities() {
    let cases = [
        (
            "until_s = 5",
            "until_s = 0",
            "small.toml:1:11: until_s: `0` is out of range: expected more than 0 seconds",
        ),
        (
            "until_s = 5",
            "until_s = -1",
            "small.toml:1:11: until_s: `-1` is out of range: expected 0 to 3155760000 seconds (100 \
             years)",
        ),
        (
            "until_s = 5",
            "sample_s = 0.0",
            "small.toml:1:12: sample_s: `0` is out of range: expected more than 0 seconds",
        ),
        (
            "until_s = 5",
            "until_s = 5\nmeasure_from_s = 5",
            "small.toml:2:18: measure_from_s: `5` is out of range: expected less than until_s (5)",
        ),
        (
            "loss = 0.5",
            "loss = 1.5",
            "small.toml:37:8: events[0].loss: `1.5` is out of range: expected 0.0 to 1.0",
        ),
        (
            "queue = \"50ms\"",
            "queue = \"50ms\"\nloss = -0.1",
            "small.toml:13:8: links[0].loss: `-0.1` is out of range: expected 0.0 to 1.0",
        ),
        (
            "queue = \"50ms\"",
            "queue = \"50ms\"\nloss = \"1%\"",
            "small.toml:13:8: links[0].loss: expected a probability from 0.0 to 1.0, found a \
             string (\"1%\")",
        ),
        (
            "until_s = 5",
            "fct = \"sin\"",
            "small.toml:1:7: fct: expected one of \"syn\", \"established\", found a string \
             (\"sin\")",
        ),
        (
            "until_s = 5",
            "ip_version = 5",
            "small.toml:1:14: ip_version: `5` is out of range: expected 4 or 6",
        ),
        (
            "bytes = 10000",
            "bytes = 10000\npackets = 3",
            "small.toml:29:1: flows[0]: only one of `bytes`, `packets` and `endless` may be given",
        ),
        (
            "bytes = 10000",
            "",
            "small.toml:29:1: flows[0]: the key `bytes` is missing: how much the flow sends",
        ),
        (
            "src = \"s0\"",
            "src = \"left\"",
            "small.toml:30:7: flows[0].src: `left` is a router: flows run between hosts",
        ),
        (
            "dst = \"d\"",
            "dst = \"s0\"",
            "small.toml:31:7: flows[0].dst: a flow from `s0` to itself",
        ),
        (
            "queue = \"50ms\"",
            "",
            "small.toml:7:1: links[0]: the key `queue` is missing: limit of its queue",
        ),
        (
            "name = \"s{}\"",
            "name = \"s\"",
            "small.toml:15:8: hosts[0].name: the name of a group holds \"{}\"",
        ),
        ("b = \"right\"", "b = \"left\"", "small.toml:9:5: links[0].b: a link joins two nodes"),
        (
            "name = \"d\"",
            "name = \"a b\"",
            "small.toml:23:8: hosts[1].name: `a b` is out of range: expected a name of 1 to 100 \
             characters",
        ),
    ];
    for (old, new, expected) in cases {
        let found = message(old, new);
        assert!(found.starts_with(expected), "{found}");
    }
    let found = parse_with(
        &SMALL.replace("until_s = 5", "").replace("bytes = 10000", "endless = true"),
        &[],
    );
    let found = found.expect_err("endless without an end").to_string();
    assert!(
        found.starts_with("small.toml:32:11: flows[0].endless: the key `until_s` is missing"),
        "{found}"
    );
}

/// Protocols with packets that do not pass are refused if they run, and only then.
#[test]
fn the_mtu_counts_for_the_protocols_that_run() {
    let set = ["links.left-right.mtu_bytes=1499", "tcp_of.newreno.mss_bytes=1447"];
    let run = |protocols: &[&str]| {
        let options = LoadOptions {
            set: set.map(String::from).to_vec(),
            protocols: protocols.iter().map(ToString::to_string).collect(),
            ..LoadOptions::default()
        };
        Scenario::parse(SMALL, "small.toml", &options)
    };
    let scenario = run(&["newreno"]).expect("its packets pass");
    assert_eq!(scenario.protocols, ["newreno"]);
    for protocols in [&["cubic"][..], &["newreno", "cubic"]] {
        let error = run(protocols).expect_err("those of CUBIC do not").to_string();
        assert!(error.contains("a full-sized packet has 1500 bytes"), "{error}");
    }
    // A transport of its own for a protocol that does not run does not count either.
    let long = parse_with(SMALL, &["protocols=['newreno']", "tcp_of.cubic.mss_bytes=9000"]);
    assert_eq!(long.expect("CUBIC does not run").protocols, ["newreno"]);
}

#[test]
fn protocols_of_the_caller_have_places_of_their_own() {
    let wrong = |protocols: &[&str]| {
        let protocols = protocols.iter().map(ToString::to_string).collect();
        let options = LoadOptions { protocols, ..LoadOptions::default() };
        Scenario::parse(SMALL, "small.toml", &options).expect_err("it is refused").to_string()
    };
    let expected = lines(&[
        "--protocol:1:7: protocols[1]: there is no protocol `cubik`",
        "  1 | cubic,cubik",
        "    |       ^^^^^",
        "hint: did you mean `cubic`?",
    ]);
    assert_eq!(wrong(&["cubic", "cubik"]), expected);
    assert!(wrong(&["cubic", "cubic"]).starts_with("--protocol:1:1: protocols: "));
}

#[test]
fn mtu_too_small_for_the_mss() {
    // 1448 + 12 (timestamps) + 20 (TCP) + 20 (IPv4) = 1500.
    let expected = lines(&[
        "small.toml:13:13: links[0].mtu_bytes: a full-sized packet has 1500 bytes \
         (mss_bytes = 1448 and headers), more than the mtu_bytes of `left-right` (1499)",
        "  13 | mtu_bytes = 1499",
        "     |             ^^^^",
        "hint: tcp.mss_bytes = 1447 fits",
    ]);
    assert_eq!(message("queue = \"50ms\"", "queue = \"50ms\"\nmtu_bytes = 1499"), expected);
    let found = message("mss_bytes = 1448", "mss_bytes = 1449");
    assert!(
        found.starts_with("small.toml:5:13: tcp.mss_bytes: a full-sized packet has 1501 bytes")
    );
    // IPv6 headers have 20 bytes more.
    let found = message("until_s = 5", "ip_version = 6");
    assert!(found.ends_with("hint: tcp.mss_bytes = 1428 fits"), "{found}");
    let found = message("queue = \"50ms\"", "queue = \"1499B\"");
    assert!(found.starts_with(
        "small.toml:12:9: links[0].queue: a full-sized packet has 1500 bytes \
         (mss_bytes = 1448 and headers), more than the queue of `left-right` (1499 bytes)"
    ));
    let found = message("queue = \"50ms\"", "queue = \"50ms\"\nmtu_bytes = 67");
    assert!(found.starts_with(
        "small.toml:13:13: links[0].mtu_bytes: `67` is out of range: \
         expected 68 to 65535 bytes (RFC 791)"
    ));
    // Without DF, IPv4 routers cut packets.
    let cut = SMALL.replace("mss_bytes = 1448", "mss_bytes = 1448\ndont_fragment = false");
    assert!(parse_with(&cut, &["links.left-right.mtu_bytes=576"]).is_ok());
}

#[test]
fn transport_values() {
    let cases = [
        (
            "tcp.mss_bytes=63",
            "--set:1:15: tcp.mss_bytes: `63` is out of range: expected 64 to 65535 bytes",
        ),
        (
            "tcp.send_buffer_bytes=2GiB",
            "--set:1:23: tcp.send_buffer_bytes: `2147483648` is out of range: expected at least \
             one segment (1448) and at most 2^30 bytes",
        ),
        (
            "tcp.min_rto=61s",
            "--set:1:13: tcp.min_rto: `61s` is out of range: expected at most max_rto",
        ),
        ("tcp.preset=modem", "--set:1:12: tcp.preset: there is no preset `modem`"),
        (
            "tcp.ack_policy={packets=0,timeout=\"1ms\"}",
            "--set:1:16: tcp.ack_policy.packets: `0` is out of range: expected 1 to 255",
        ),
        (
            "tcp.loss_policy=rack",
            "--set:1:17: tcp.loss_policy: expected one of \"dup-thresh\", \"rack-tlp\", \
             \"timeout-only\", \"patient\", or a table such as { num = 2, den = 1 }, found a \
             string (\"rack\")",
        ),
        (
            "tcp.ack_policy=every",
            "--set:1:16: tcp.ack_policy: expected one of \"every-packet\", or a table such as \
             { packets = 2, timeout = \"40ms\" }, found a string (\"every\")",
        ),
        (
            "tcp.pacing=on",
            "--set:1:12: tcp.pacing: expected one of \"off\", or a table such as \
             { slow_start_percent = 200, avoidance_percent = 120 }, found a string (\"on\")",
        ),
    ];
    for (set, expected) in cases {
        let found = set_message(set);
        assert!(found.starts_with(expected), "{found}");
    }
}
