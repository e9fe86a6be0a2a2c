//! Routers and ports as keys of the scenario, whatever protocols run.

use super::*;
use crate::registry::{Registration, Registry, Schemes};
use crate::{NetworkRequirements, NoParams, RegisterError};
use forebay_net::{ForwardingSpec, NodeKind, SchemeSpec};
use std::sync::Arc;

fn set(set: &[&str]) -> Scenario {
    let scenario = parse_with(SMALL, set).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
    scenario
}

/// The gain alpha of the port of each direction; None of one without RCP.
fn gains(scenario: &Scenario, protocol: &str) -> Vec<Option<f64>> {
    let spec = scenario.build(protocol, 1).expect("builds");
    let gain = |link: &forebay_net::LinkSpec| match &link.scheme {
        SchemeSpec::Rcp(params) => Some(params.alpha),
        _ => None,
    };
    spec.links.iter().map(gain).collect()
}

/// Whether each router has detours; None of one that is not INRPP.
fn detours(scenario: &Scenario, protocol: &str) -> [Option<bool>; 2] {
    let spec = scenario.build(protocol, 1).expect("builds");
    [0, 1].map(|node: usize| match &spec.nodes[node].kind {
        NodeKind::Router(ForwardingSpec::Inrpp(settings)) => Some(settings.detours),
        _ => None,
    })
}

/// Links of the small scenario: left-right, s0-left, s1-left, d-right. Hosts have no schemes.
#[test]
fn a_port_is_what_the_link_says_whatever_protocols_run() {
    let routers = [true, true, false, true, false, true, false, true];
    let all = |alpha: f64| routers.map(|router| router.then_some(alpha)).to_vec();
    assert_eq!(gains(&set(&["link_defaults.port=rcp"]), "cubic"), all(0.1));
    assert_eq!(gains(&set(&["link_defaults.port=none"]), "rcp"), [None; 8]);
    // Parameters next to the name stand over those of [rcp], which stand over the defaults.
    let mixed = set(&[
        "link_defaults.port=rcp",
        "rcp.alpha=0.3",
        "links.left-right.port=rcp",
        "links.left-right.port.alpha=0.2",
    ]);
    let mut expected = all(0.3);
    (expected[0], expected[1]) = (Some(0.2), Some(0.2));
    assert_eq!(gains(&mixed, "cubic"), expected);
    let pair = set(&["rcp.alpha=0.3", "link_defaults.port={ scheme = \"rcp\", pair = \"ns2\" }"]);
    assert_eq!(gains(&pair, "cubic"), all(0.4), "a pair stands for both gains");
}

#[test]
fn a_router_is_what_the_scenario_says_whatever_protocols_run() {
    let all = set(&["router=inrpp"]);
    assert_eq!(detours(&all, "cubic"), [Some(true), Some(true)]);
    assert_eq!(all.build("cubic", 1).unwrap().links[0].wire.mtu_bytes, 1508, "room for the tag");
    assert_eq!(detours(&set(&["router=ip"]), "inrpp"), [None, None]);
    let one = set(&["routers.right.router=inrpp", "routers.right.router.detours=false"]);
    assert_eq!(detours(&one, "cubic"), [None, Some(false)]);
    // Without a word of the scenario of the other one, it is what the protocol needs.
    assert_eq!(detours(&one, "inrpp"), [Some(true), Some(false)]);
    let listed = set(&["inrpp.routers=[\"right\"]", "inrpp.detours=false"]);
    assert_eq!(detours(&listed, "inrpp"), [None, Some(false)]);
    let both = set(&["router={ kind = \"inrpp\", alpha = 0.2 }", "inrpp.detours=false"]);
    assert_eq!(detours(&both, "cubic"), [Some(false), Some(false)], "[inrpp] is for all of them");
}

#[test]
fn wrong_names_and_parameters_are_told_with_file_line_and_key() {
    let cases = [
        (
            "queue = \"50ms\"",
            "queue = \"50ms\"\nport = \"rcpp\"",
            "small.toml:13:8: links[0].port: there is no port scheme `rcpp`\n  \
             13 | port = \"rcpp\"\n     |        ^^^^^^\nhint: did you mean `rcp`?",
        ),
        (
            "queue = \"50ms\"",
            "queue = \"50ms\"\nport = { scheme = \"rcp\", alpa = 1 }",
            "small.toml:13:26: links[0].port: unknown key `alpa`\n  \
             13 | port = { scheme = \"rcp\", alpa = 1 }\n     |                          ^^^^\n\
             hint: did you mean `alpha`?",
        ),
        (
            "until_s = 5",
            "until_s = 5\nrouter = \"inrp\"",
            "small.toml:2:10: router: there is no kind of router `inrp`\n  \
             2 | router = \"inrp\"\n    |          ^^^^^^\nhint: did you mean `inrpp`?",
        ),
        (
            "\"right\"]",
            "{ name = \"right\", router = \"zzz\" }]",
            "small.toml:2:47: routers[1].router: there is no kind of router `zzz`\n  \
             2 | routers = [\"left\", { name = \"right\", router = \"zzz\" }]\n    |  \
             \x20                                            ^^^^^\nhint: one of: ip, inrpp",
        ),
    ];
    for (old, new, expected) in cases {
        let told = message(old, new);
        assert_eq!(told, expected);
    }
    let told = set_message("link_defaults.port=rpc");
    assert!(told.contains("link_defaults.port: there is no port scheme `rpc`"), "{told}");
    let told = set_message("link_defaults.port={ scheme = \"rcp\", gamma = 3 }");
    assert!(told.contains("`3.0` is out of range: expected above 0, at most 2"), "{told}");
    let told = set_message("routers.right.router=7");
    let expected = "expected the name of a kind of router, or a table with `kind`";
    assert!(told.contains(expected), "{told}");
}

fn no_port(_: &NoParams, _: forebay_queue::PortInit) -> forebay_queue::RcpPort {
    unreachable!("nothing is built")
}

struct Never;

impl forebay_cc::Controller for Never {
    fn limits(&self) -> forebay_cc::Limits {
        forebay_cc::Limits::window(1)
    }
    fn on_ack(&mut self, _: Time, _: &forebay_cc::Ack<'_>) {}
    fn on_congestion(&mut self, _: Time, _: &forebay_cc::Congestion) {}
    fn on_rto(&mut self, _: Time, _: &forebay_cc::Timeout) {}
}

/// It puts this many bytes of options on all data, over several paths or one.
struct Stamps(u16, bool);

impl forebay_cc::Controller for Stamps {
    fn limits(&self) -> forebay_cc::Limits {
        forebay_cc::Limits::window(1)
    }
    fn traits(&self) -> forebay_cc::Traits {
        let Stamps(option_bytes, multipath) = *self;
        forebay_cc::Traits { option_bytes, multipath, ..Default::default() }
    }
    fn on_ack(&mut self, _: Time, _: &forebay_cc::Ack<'_>) {}
    fn on_congestion(&mut self, _: Time, _: &forebay_cc::Congestion) {}
    fn on_rto(&mut self, _: Time, _: &forebay_cc::Timeout) {}
}

#[test]
fn options_on_data_that_do_not_fit_into_a_header_are_refused() {
    let mut registry = Registry::default();
    for (name, bytes, multipath) in
        [("most", 8, true), ("guarded", 17, true), ("alone", 30, false), ("too-long", 41, false)]
    {
        let build = move |_: &NoParams, _: forebay_cc::Init| Stamps(bytes, multipath);
        registry.register(Registration::new(name, build)).expect("registers");
    }
    let registry = Arc::new(registry);
    let load = |set: &[&str]| {
        let set = set.iter().map(ToString::to_string).collect();
        let options = LoadOptions { set, registry: registry.clone(), ..LoadOptions::default() };
        Scenario::parse(SMALL, "small.toml", &options)
    };
    let refused = |set: &[&str]| load(set).expect_err("refused").to_string();
    let stamps = "tcp.timestamps=true";
    assert!(load(&[stamps, "protocols=[\"most\", \"alone\"]"]).is_ok());
    let told = refused(&[stamps, "protocols=[\"most\", \"guarded\"]"]);
    let expected = "data of `guarded` have 49 bytes of TCP options (17 of its controller, 22 of \
                    MPTCP, 10 of timestamps), and a header holds 40";
    assert!(told.contains(expected), "{told}");
    assert!(told.contains("protocols") && told.contains("tcp_of.guarded.timestamps"), "{told}");
    assert!(load(&["tcp.timestamps=false", "protocols=[\"guarded\"]"]).is_ok());
    let told = refused(&["flows.0.protocol=too-long"]);
    assert!(told.contains("flows.0.protocol") && !told.contains("makes room"), "{told}");
}

#[test]
fn a_registered_controller_asks_for_ports_and_routers_by_name() {
    let mut registry = Registry::default();
    let mut register = |name: &str, bundle| {
        let build = |_: &NoParams, _: forebay_cc::Init| Never;
        registry.register(Registration::new(name, build).needs(bundle)).expect("registers");
    };
    register(
        "asks-rcp",
        NetworkRequirements { port: Some("rcp".into()), ..NetworkRequirements::NONE },
    );
    register(
        "asks-inrpp",
        NetworkRequirements { router: Some("inrpp".into()), ..NetworkRequirements::NONE },
    );
    register(
        "asks-nothing-known",
        NetworkRequirements { port: Some("no-such".into()), ..NetworkRequirements::NONE },
    );
    register(
        "asks-another",
        NetworkRequirements {
            port: Some("none".into()),
            mtu_room_bytes: 40,
            ..NetworkRequirements::NONE
        },
    );
    let registry = Arc::new(registry);
    let load = |set: &[&str]| {
        let set = set.iter().map(ToString::to_string).collect();
        let options = LoadOptions { set, registry: registry.clone(), ..LoadOptions::default() };
        Scenario::parse(SMALL, "small.toml", &options)
    };
    let set = |changes: &[&str]| load(changes).unwrap_or_else(|error| panic!("{error}"));
    let set_message = |change: &str| load(&[change]).expect_err("refused").to_string();
    let scenario = set(&[]);
    assert_eq!(gains(&scenario, "asks-rcp")[0], Some(0.1));
    assert_eq!(detours(&scenario, "asks-inrpp"), [Some(true), Some(true)]);
    let spec = scenario.build("asks-another", 1).unwrap();
    assert_eq!((spec.links[0].wire.mtu_bytes, spec.links[2].wire.mtu_bytes), (1540, 1500));
    let told = scenario.build("asks-nothing-known", 1).err().expect("refused").to_string();
    let expected =
        "`asks-nothing-known` needs the port scheme `no-such`, but there is no such port scheme";
    assert_eq!(told, expected);
    let told = set_message("protocols=[\"asks-nothing-known\"]");
    assert!(told.contains(expected), "{told}");
    let mixed = set(&["flows.0.protocol=asks-another"]);
    assert_eq!(
        mixed.build("rcp", 1).err().expect("refused").to_string(),
        "`rcp` needs the port scheme `rcp`, and `asks-another` the port scheme `none`: they cannot \
         be in one run"
    );
    let said = set(&["flows.0.protocol=asks-another", "link_defaults.port=rcp"]);
    assert!(said.build("rcp", 1).is_ok(), "the scenario decides");
}

#[test]
fn names_that_stand_and_keys_that_collide_are_refused() {
    let error = |result: Result<(), RegisterError>| result.expect_err("refused").to_string();
    let mut registry = Registry::default();
    let mut port = |name: &str| registry.register(Registration::port_scheme(name, no_port));
    assert_eq!(error(port("rcp")), "the port scheme `rcp` is there already: choose another name");
    assert_eq!(error(port("none")), "the port scheme `none` is there already: choose another name");
    assert_eq!(
        error(port("Not A Name")),
        "`Not A Name` is no name: expected 1 to 40 lower-case letters, digits and `-`"
    );
    let router = |_: &NoParams, _: forebay_router::RouterInit<'_>| forebay_router::PlainIp;
    assert_eq!(
        error(registry.register(Registration::router("inrpp", router))),
        "the kind of router `inrpp` is there already: choose another name"
    );
    let never = |_: &NoParams, _: forebay_cc::Init| Never;
    assert_eq!(
        error(registry.register(Registration::new("cubic", never))),
        "the protocol `cubic` is there already: choose another name"
    );
    #[derive(Default, serde::Serialize, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Colliding {
        scheme: u8,
    }
    let build = |_: &Colliding, _: forebay_queue::PortInit| -> forebay_queue::RcpPort {
        unreachable!("nothing is built")
    };
    assert_eq!(
        error(registry.register(Registration::port_scheme("collides", build))),
        "`collides` has a parameter `scheme`: that key has a meaning of its own in scenarios"
    );
    assert!(registry.line::<Schemes>("collides").is_none());
}

/// Bad input of names, variants, classes and lives: the whole message.
#[test]
fn bad_input_is_told_word_by_word() {
    let with = |more: &str| parse_with(&format!("{SMALL}\n{more}\n"), &[]);
    let told = |more: &str| with(more).expect_err("it is wrong").to_string();
    assert_eq!(
        told("[protocol.one]\nof = \"cubic\"\n[protocol.two]\nof = \"one\""),
        "small.toml:42:6: protocol.two.of: `one` is a variant itself: `of` names an algorithm\n  \
         42 | of = \"one\"\n     |      ^^^^^\nhint: of = \"cubic\""
    );
    let flow = "bytes = 10000";
    assert_eq!(
        message(flow, "bytes = 10000\ncount = 0\nclass = \"bulk\""),
        "small.toml:33:9: flows[0].count: `0` is out of range: expected 1 to 2^24, and numbers \
         below 2^32\n  33 | count = 0\n     |         ^"
    );
    let next = |first: &str, second: &str| {
        format!("{first}\n\n[[flows]]\nsrc = \"s0\"\ndst = \"d\"\n{second}")
    };
    assert_eq!(
        message(flow, &next("name = \"a\"\nendless = true", "packets = 1\nafter = \"a\"")),
        "small.toml:39:9: flows[1].after: the flow before it never ends\n  \
         39 | after = \"a\"\n     |         ^^^\nhint: give that one `stop`, `bytes` or `packets`"
    );
    assert_eq!(
        message(
            flow,
            &next(
                "name = \"a\"\nafter = \"b\"\npackets = 1",
                "name = \"b\"\npackets = 1\nafter = \"a\""
            )
        ),
        "small.toml:33:9: flows[0].after: circular `after`: none of these flows can start\n  \
         33 | after = \"b\"\n     |         ^^^"
    );
    assert_eq!(
        message(flow, "bytes = 10000\nstart = \"3s\"\nstop = \"2s\""),
        "small.toml:34:8: flows[0].stop: `2s` is out of range: expected a time after the flow \
         starts (3s)\n  34 | stop = \"2s\"\n     |        ^^^^"
    );
}

/// RFC 8290 section 5.2.2: a quantum below the MTU is allowed, and said; so is ECN with drop-tail
/// alone.
#[test]
fn a_short_quantum_and_ecn_without_marks_are_noted() {
    let notes = |set: &[&str]| parse_with(SMALL, set).unwrap().notes();
    let fq = "links.left-right.queue={ discipline = \"fq-codel\", limit = \"100packets\" }";
    assert_eq!(notes(&[fq, "tcp.ecn=true"]), [""; 0]);
    let short = fq.replace("limit", "quantum_bytes = 300, limit");
    let found = notes(&[&short]);
    let words = "quantum_bytes = 300 is below the MTU of 1500 bytes: a full packet takes 5 turns";
    assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
    let found = notes(&["tcp.ecn=true"]);
    assert_eq!(found, ["tcp.ecn is on, but each queue is droptail, which marks nothing"]);
}

/// A threshold that no queue within the limit reaches marks nothing: 20 packets of 1500 bytes and
/// the one in transmission take 25.2 ms at 10 Mbit/s.
#[test]
fn a_threshold_above_the_limit_of_its_queue_is_refused() {
    let codel = |threshold_ms: &str| {
        format!(
            "links.left-right.queue={{ discipline = \"codel\", limit = \"20packets\", \
             ce_threshold_ms = {threshold_ms} }}"
        )
    };
    let refused = |set: &[&str]| parse_with(SMALL, set).expect_err("must be refused").to_string();
    let found = refused(&[&codel("26")]);
    let expected = "queue.ce_threshold_ms: `26 ms` is out of range: expected at most 25.2 ms, \
                    which is what the queue holds";
    assert!(found.contains(expected), "{found}");
    assert!(
        found.contains("hint: the limit of the queue of `left-right` is 20 packets"),
        "{found}"
    );
    assert!(parse_with(SMALL, &[&codel("25.2")]).is_ok());
    // Reached after all: at a quarter of the rate, or while the link is down.
    let slower = "events=[{ at = \"1s\", link = \"left-right\", rate = \"2.5Mbit/s\" }]";
    assert!(parse_with(SMALL, &[&codel("26"), slower]).is_ok());
    let fq = codel("26").replace("codel", "fq-codel");
    assert!(parse_with(SMALL, &[&fq]).is_ok(), "other flows are served in between");
    let red = "links.left-right.queue={ discipline = \"red\", limit = \"20packets\", \
               min_packets = 30, max_packets = 60 }";
    let found = refused(&[red]);
    assert!(found.contains("queue.min_packets: `30 packets` is out of range"), "{found}");
}
