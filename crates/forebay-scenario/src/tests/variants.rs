//! Several settings of one algorithm in one scenario.

use super::*;

const TWO: &str = r#"
protocols = ["cubic", "cubic-slow"]
routers = ["r1", "r2"]
hosts = [{ name = "a" }, { name = "b" }]
links = [
  { a = "a", b = "r1", rate = "10Mbit/s", delay = "1ms", queue = "50packets" },
  { a = "r1", b = "r2", rate = "1Mbit/s", delay = "1ms", queue = "50packets" },
  { a = "r2", b = "b", rate = "10Mbit/s", delay = "1ms", queue = "50packets" },
]
flows = [
  { src = "a", dst = "b", bytes = "100kB" },
  { src = "b", dst = "a", bytes = "100kB", protocol = "cubic-slow" },
]
[protocol.cubic]
beta = 0.6
[protocol.cubic-slow]
of = "cubic"
title = "CUBIC, slow"
c = 0.1
[tcp_of.cubic-slow]
mss_bytes = 1000
"#;

fn parsed(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, "two.toml", &LoadOptions::default())
}

fn first_mistake(text: &str) -> String {
    parsed(text).expect_err("it is wrong").to_string()
}

#[test]
fn a_variant_has_its_own_parameters_transport_and_title() {
    let scenario = parsed(TWO).unwrap();
    assert_eq!(scenario.protocols, ["cubic", "cubic-slow"]);
    let params = |name: &str| scenario.spec(name).unwrap().params();
    let number = |name: &str, key: &str| params(name)[key].as_float().unwrap();
    // What is not given is the algorithm's default, not what [protocol.cubic] says.
    let default = forebay_cc::cubic::Params::default();
    assert_eq!((number("cubic", "beta"), number("cubic", "c")), (0.6, default.c));
    assert_eq!((number("cubic-slow", "beta"), number("cubic-slow", "c")), (default.beta, 0.1));
    assert_eq!(scenario.flows[1].protocol.as_deref(), Some("cubic-slow"));
    let mss = |name| scenario.tcp_for(name).mss_bytes;
    assert_eq!((mss("cubic"), mss("cubic-slow")), (scenario.tcp.mss_bytes, 1000));
    assert_eq!(scenario.title("cubic-slow"), "CUBIC, slow");
    let net = scenario.build("cubic-slow", 1).unwrap();
    let named: Vec<_> = net.transports.iter().map(|t| (t.name.as_str(), &*t.algorithm)).collect();
    assert_eq!(named, [("cubic-slow", "cubic")]);
}

#[test]
fn a_scenario_with_variants_writes_itself() {
    let scenario = parsed(TWO).unwrap();
    let again = parsed(&scenario.to_toml()).unwrap();
    assert_eq!(again, scenario);
    assert!(scenario.to_toml().contains("of = \"cubic\""), "{}", scenario.to_toml());
}

#[test]
fn the_network_of_a_variant_is_that_of_its_algorithm() {
    let of = |algorithm: &str, param: &str| {
        TWO.replace("of = \"cubic\"", &format!("of = \"{algorithm}\""))
            .replace("c = 0.1", param)
            .replace("mss_bytes = 1000", "")
    };
    let inrpp = parsed(&of("inrpp", "")).unwrap();
    assert_eq!(inrpp.inrpp_routers("cubic-slow").len(), 2);
    assert_eq!(inrpp.tcp_for("cubic-slow"), inrpp.tcp_for("inrpp"));
    let rcp = parsed(&of("rcp", "")).unwrap().build("cubic-slow", 1).unwrap();
    let stamps =
        |link: &&forebay_net::LinkSpec| matches!(link.scheme, forebay_net::SchemeSpec::Rcp(_));
    // The four ports of the two routers; hosts have none.
    assert_eq!(rcp.links.iter().filter(stamps).count(), 4);
}

#[test]
fn a_variant_needs_an_algorithm_and_a_name_of_its_own() {
    let with = |more: &str| format!("{TWO}\n{more}\n");
    let cases = [
        (
            "[protocol.x]\nof = \"cubic-slow\"",
            "two.toml:24:6: protocol.x.of: `cubic-slow` is a variant itself",
        ),
        ("[protocol.x]\nof = \"cubic-slow\"", "hint: of = \"cubic\""),
        (
            "[protocol.newreno]\nof = \"cubic\"",
            "two.toml:23:11: protocol.newreno: `newreno` is an algorithm",
        ),
        ("[protocol.newreno]\nof = \"newreno\"", "protocol.newreno: `newreno` is an algorithm"),
        ("[protocol.x]\nof = \"x\"", "two.toml:24:6: protocol.x.of: `x` is a variant of itself"),
        ("[protocol.x]\nof = \"cubik\"", "protocol.x.of: there is no algorithm `cubik`"),
        ("[protocol.x]\nof = \"cubik\"", "did you mean `cubic`?"),
        ("[protocol.x]\nc = 1.0", "two.toml:23:11: protocol.x: there is no protocol `x`"),
        ("[protocol.x]\nof = 3", "two.toml:24:6: protocol.x.of: expected"),
        ("[protocol.\"x y\"]\nof = \"cubic\"", "expected 1 to 40 lower-case letters"),
        (
            "[protocol.x]\nof = \"cubic\"\nbeta = 7.0",
            "two.toml:25:8: protocol.x.beta: `7.0` is out of",
        ),
        ("[protocol.x]\nof = \"cubic\"\nbeat = 0.5", "did you mean `beta`?"),
    ];
    for (more, expected) in cases {
        let error = first_mistake(&with(more));
        assert!(error.contains(expected), "{more}\n{error}");
    }
    // A flow that names a variant with mistakes gets an error about the variant alone.
    let error = parsed(&TWO.replace("of = \"cubic\"", "of = \"cubik\"")).unwrap_err();
    assert_eq!(error.mistakes.len(), 1, "{error}");
}
