//! `[kickass]`, and the links that ports of Kick-Ass are for.

use super::*;
use forebay_net::SchemeSpec;
use forebay_queue::KickAssPortParams;
use forebay_queue::kickass::{Beside, Fallback, Ipv6, Rounding, RttAverage};

fn kickass(scenario: &Scenario) -> KickAssPortParams {
    of_ports(scenario, "kickass")
}

fn set(set: &[&str]) -> Scenario {
    let scenario = parse_with(SMALL, set).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
    scenario
}

/// The parameters of the port of each direction.
fn ports(scenario: &Scenario) -> Vec<Option<KickAssPortParams>> {
    let spec = scenario.build("cubic", 1).expect("builds");
    let of = |link: &forebay_net::LinkSpec| match &link.scheme {
        SchemeSpec::KickAss(params) => Some(*params),
        _ => None,
    };
    spec.links.iter().map(of).collect()
}

#[test]
fn gains_by_name_and_by_number() {
    let gains = |keys: &[&str]| {
        let params = kickass(&set(keys));
        (params.alpha, params.beta)
    };
    assert_eq!(gains(&[]), (0.4, 0.226));
    assert_eq!(gains(&["kickass.pair=xcp"]), (0.4, 0.226));
    assert_eq!(gains(&["kickass.pair=ns2"]), (0.4, 0.4));
    assert_eq!(gains(&["kickass.pair=published", "kickass.beta=0.5"]), (0.1, 0.5));
    assert_eq!(gains(&["kickass.pair=stable"]), (0.4, 0.08));
    assert!(!set(&[]).to_toml().contains("[kickass]"), "nobody runs it");
}

#[test]
fn every_key_reaches_the_port() {
    let scenario = set(&[
        "link_defaults.port=kickass",
        "kickass.gamma=0.95",
        "kickass.initial_rtt=3ms",
        "kickass.max_interval=5ms",
        "kickass.initial_share=1",
        "kickass.rounding=shared",
        "kickass.least_bytes=1400",
        "kickass.ipv6=insert",
        "kickass.count_cuts=false",
        "kickass.rtt_average=trimmed",
        "kickass.tagged=true",
        "kickass.fallback=hardened",
        "kickass.explicit_tcp=true",
        "kickass.cuts_per_rtt=8",
        "kickass.beside=floor",
        "links.left-right.port={ scheme = \"kickass\", rounding = \"dither\", pair = \"ns2\" }",
    ]);
    let ports = ports(&scenario);
    let routers = [true, true, false, true, false, true, false, true];
    assert_eq!(ports.iter().map(Option::is_some).collect::<Vec<_>>(), routers);
    let all = ports[3].expect("a router");
    let ms = Span::from_millis;
    assert_eq!((all.gamma, all.initial_rtt), (0.95, ms(3)));
    assert_eq!((all.max_interval, all.initial_share), (ms(5), 1.0));
    assert_eq!((all.rounding, all.least_bytes, all.count_cuts), (Rounding::Shared, 1400, false));
    assert_eq!((all.rtt_average, all.tagged), (RttAverage::Trimmed, true));
    assert_eq!((all.fallback, all.explicit_tcp), (Fallback::Hardened, true));
    assert_eq!((all.cuts_per_rtt, all.ipv6), (8, Ipv6::Insert));
    assert_eq!(all.beside, Beside::Floor);
    let one = ports[0].expect("a router");
    assert_eq!((one.rounding, one.beta, one.tagged), (Rounding::Dither, 0.4, true));
}

#[test]
fn a_preset_stands_for_what_is_not_given() {
    let (paper, recommended) = (KickAssPortParams::paper(), KickAssPortParams::recommended());
    assert_eq!(kickass(&set(&[])), recommended);
    assert_eq!(kickass(&set(&["kickass.preset=paper"])), paper);
    assert_eq!(kickass(&set(&["kickass.preset=recommended"])), recommended);
    let mixed = kickass(&set(&["kickass.preset=recommended", "kickass.tagged=false"]));
    assert_eq!(mixed, KickAssPortParams { tagged: false, ..recommended });
    // Next to the name of a port it stands for the table, too.
    let ports = ports(&set(&[
        "kickass.rounding=dither",
        "link_defaults.port=kickass",
        "links.left-right.port={ scheme = \"kickass\", preset = \"paper\" }",
    ]));
    assert_eq!(ports[0], Some(paper));
    assert_eq!(ports[3], Some(KickAssPortParams { rounding: Rounding::Dither, ..recommended }));
}

#[test]
fn wrong_parameters() {
    let cases = [
        ("alpha=0", "--set:1:15: kickass.alpha: `0.0` is out of range: expected above 0"),
        (
            "least_bytes=44",
            "--set:1:21: kickass.least_bytes: `44` is out of range: expected 45 or more",
        ),
        (
            "rounding=nearest",
            "--set:1:18: kickass.rounding: expected one of \"floor\", \"dither\", \"shared\", \
             found a string (\"nearest\")",
        ),
        (
            "fallback=none",
            "--set:1:18: kickass.fallback: expected one of \"paper\", \"hardened\", found a \
             string (\"none\")",
        ),
        (
            "rtt_average=mean",
            "--set:1:21: kickass.rtt_average: expected one of \"moving\", \"median\", \
             \"trimmed\", found a string (\"mean\")",
        ),
        (
            "cuts_per_rtt=-1",
            "--set:1:22: kickass.cuts_per_rtt: `-1` is out of range: expected an integer \
             from 0 to 4294967295",
        ),
        (
            "ipv6=6",
            "--set:1:14: kickass.ipv6: expected one of \"pass\", \"header\", \"insert\", found an \
             integer (6)",
        ),
        ("dither=true", "--set:1:9: kickass: unknown key `dither`"),
    ];
    for (key, expected) in cases {
        let told = set_message(&format!("kickass.{key}"));
        assert_eq!(told.lines().next(), Some(expected), "{told}");
    }
}

/// Codes say 120 kbit/s to 9.8 Gbit/s, and only packets that pass the MTU are there to be cut.
#[test]
fn links_for_which_there_are_no_codes() {
    let refused = |keys: &[&str]| {
        let keys = [&["link_defaults.port=kickass"], keys].concat();
        let told = parse_with(SMALL, &keys).expect_err("refused").to_string();
        told.lines().next().unwrap_or_default().to_string()
    };
    let rates = "is out of range: expected 120kbit/s to 10Gbit/s for ports of Kick-Ass";
    assert_eq!(
        refused(&["links.left-right.rate=119kbit/s", "links.left-right.queue=9kB"]),
        format!("--set:1:23: links[0].rate: `119kbit/s` {rates}")
    );
    assert_eq!(
        refused(&["links.left-right.rate=40Gbit/s"]),
        format!("--set:1:23: links[0].rate: `40Gbit/s` {rates}")
    );
    assert_eq!(
        refused(&["links.left-right.mtu_bytes=1400", "tcp.mss_bytes=1300"]),
        "--set:1:28: links[0].mtu_bytes: `1400` is out of range: expected at least 1500 bytes for \
         ports of Kick-Ass: no shorter packet is cut (least_bytes)"
    );
    // With IPv6 8.1 Gbit/s are the most that a packet of 1500 bytes can say.
    let fast = ["ip_version=6", "tcp.mss_bytes=1400", "links.left-right.rate=8.2Gbit/s"];
    assert_eq!(
        refused(&fast),
        "--set:1:23: links[0].rate: `8200Mbit/s` is out of range: expected 120kbit/s to \
         8100Mbit/s for ports of Kick-Ass"
    );
    for ipv6 in ["kickass.ipv6=pass", "ip_version=4"] {
        let keys = [&["link_defaults.port=kickass"], &fast[..], &[ipv6]].concat();
        assert!(parse_with(SMALL, &keys).is_ok(), "{ipv6}");
    }
    // A port for such a link, or none.
    let small = ["links.left-right.mtu_bytes=1400", "tcp.mss_bytes=1300"];
    for other in ["kickass.least_bytes=1400", "links.left-right.port=none"] {
        let keys = [&["link_defaults.port=kickass"], &small[..], &[other]].concat();
        assert!(parse_with(SMALL, &keys).is_ok(), "{other}");
    }
    for rate in ["120kbit/s", "10Gbit/s"] {
        let rate = format!("links.left-right.rate={rate}");
        let queue = "links.left-right.queue=100packets";
        let keys = ["link_defaults.port=kickass", &rate, queue];
        assert!(parse_with(SMALL, &keys).is_ok(), "{rate}");
    }
}

/// The first line of what is reported of keys that are refused.
fn told(keys: &[&str]) -> String {
    let told = parse_with(SMALL, keys).expect_err("refused").to_string();
    told.lines().next().unwrap_or_default().to_string()
}

/// Events and schedules change rates later: what they set must have a code, too.
#[test]
fn events_that_set_rates_for_which_there_are_no_codes() {
    let rates = "is out of range: expected 120kbit/s to 10Gbit/s for ports of Kick-Ass";
    let event = |rate: &str| {
        format!("events=[{{ at = \"1s\", link = \"left-right\", rate = \"{rate}\" }}]")
    };
    let keys = |rate| [event(rate), "link_defaults.port=kickass".into()];
    for rate in ["119kbit/s", "10001Mbit/s"] {
        let [event, port] = keys(rate);
        let expected = format!("--set:1:8: events[0].rate: `{rate}` {rates}");
        assert_eq!(told(&[&event, &port]).replace("10.001Gbit/s", rate), expected);
        assert!(parse_with(SMALL, &[&event]).is_ok(), "no port says codes");
        let none = "links.left-right.port=none";
        assert!(parse_with(SMALL, &[&event, &port, none]).is_ok(), "not this port");
    }
    let [event, port] = keys("120kbit/s");
    assert!(parse_with(SMALL, &[&event, &port]).is_ok());
    let schedule = "links.left-right.schedule=[{ at = \"2s\", rate = \"1kbit/s\" }]";
    assert_eq!(
        told(&[schedule, &port]),
        format!("--set:1:27: links[0].schedule: `1kbit/s` {rates}")
    );
}

/// Where a key of ports asks for longer packets than links carry, that key is wrong.
#[test]
fn a_port_that_cuts_only_what_is_longer_than_the_mtu() {
    let expected = "least_bytes: `least_bytes = 1501` is out of range: expected at most 1500, the \
                    mtu_bytes of `left-right`";
    assert_eq!(
        told(&["link_defaults.port=kickass", "kickass.least_bytes=1501"]),
        format!("--set:1:21: kickass.{expected}")
    );
    let port = "links.left-right.port={ scheme = \"kickass\", least_bytes = 1501 }";
    let expected = expected.replacen("least_bytes: ", "links[0].port: ", 1);
    assert_eq!(told(&[port]), format!("--set:1:23: {expected}"));
}

#[test]
fn segments_too_short_to_be_cut_have_a_note() {
    let notes = |keys: &[&str]| {
        let keys = [&["protocols=[\"kickass\", \"cubic\"]"], keys].concat();
        parse_with(SMALL, &keys).unwrap_or_else(|error| panic!("{error}")).notes()
    };
    assert_eq!(notes(&[]), [""; 0]);
    assert_eq!(
        notes(&["tcp.mss_bytes=1447"]),
        ["kickass: full-sized packets have 1499 bytes, and ports of Kick-Ass need 1500: no \
          shorter packet is cut; raise tcp.mss_bytes by 1, or lower kickass.least_bytes"]
    );
    assert_eq!(notes(&["tcp.mss_bytes=1447", "kickass.least_bytes=1499"]), [""; 0]);
    let plain = ["tcp.mss_bytes=1200", "protocols=[\"cubic\"]"];
    assert_eq!(parse_with(SMALL, &plain).unwrap().notes(), [""; 0]);
}

/// Two presets: hosts of the paper know no order.
#[test]
fn end_points_that_take_an_order_for_a_rate_have_a_note() {
    let notes = |keys: &[&str]| {
        let keys = [&["protocols=[\"kickass\"]"], keys].concat();
        parse_with(SMALL, &keys).unwrap_or_else(|error| panic!("{error}")).notes()
    };
    let hosts = "protocol.kickass.preset=paper";
    let expected = "kickass: ports of Kick-Ass in fallback say the lowest code \
                    (kickass.explicit_tcp), which these end points take for a rate of 120 kbit/s; \
                    give both the same preset, or set kickass.explicit_tcp = false";
    assert_eq!(notes(&[hosts]), [expected]);
    assert_eq!(notes(&[hosts, "kickass.explicit_tcp=false"]), [""; 0]);
    assert_eq!(notes(&[hosts, "kickass.preset=paper"]), [""; 0]);
    assert_eq!(notes(&["kickass.preset=paper"]), [""; 0]);
}

/// A parameter that may be left out is a key like the others.
#[test]
fn wrong_parameters_of_end_points() {
    let range = "is out of range: expected";
    let cases = [
        ("agree=null", ("24", "expected true or false, found a string (\"null\")".to_string())),
        ("agree=1", ("24", "expected true or false, found an integer (1)".into())),
        ("clear_per_rtt=-1", ("32", format!("`-1` {range} an integer from 0 to 4294967295"))),
        ("clear_per_rtt=1001", ("32", format!("`1001` {range} 0 to 1000"))),
        (
            "take=first",
            (
                "23",
                "expected one of \"last\", \"mean\", \"min\", found a string (\"first\")".into(),
            ),
        ),
        (
            "preset=3",
            ("25", "expected one of \"paper\", \"recommended\", found an integer (3)".into()),
        ),
        ("interface_mbps=true", ("33", "expected a number, found a boolean (true)".into())),
        ("interface_mbps=1e-9", ("33", format!("`0.000000001` {range} 0, or 0.12 to 400 000"))),
        ("lie_codes=40000", ("28", format!("`40000` {range} an integer from -32768 to 32767"))),
    ];
    for (key, (column, expected)) in cases {
        let name = key.split_once('=').expect("a key and a value").0;
        let expected = format!("--set:1:{column}: protocol.kickass.{name}: {expected}");
        assert_eq!(told(&[&format!("protocol.kickass.{key}")]), expected);
    }
    let unknown = set_message("protocol.kickass.agreed=true");
    assert!(unknown.ends_with("hint: did you mean `agree`?"), "{unknown}");
}

#[test]
fn an_aqm_under_a_port_governs_only_flows_that_do_not_listen() {
    let notes = |keys: &[&str]| {
        let keys = [&["protocols=[\"kickass\"]"], keys].concat();
        let scenario = parse_with(SMALL, &keys).unwrap_or_else(|error| panic!("{error}"));
        scenario.notes().into_iter().filter(|note| note.contains("kickass.beside")).count()
    };
    let codel = "links.0.queue={ discipline = \"codel\", limit = \"100packets\" }";
    assert_eq!(notes(&[codel]), 1);
    assert_eq!(notes(&[]), 0, "drop-tail");
    assert_eq!(notes(&[codel, "links.0.port=none", "hosts.0.port=none"]), 0, "no port");
    assert_eq!(notes(&[codel, "kickass.beside=one-queue"]), 0);
}
