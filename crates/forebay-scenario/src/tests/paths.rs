//! Hosts with several links, and flows over several paths.

use super::*;
use forebay_base::PortId;

/// A host at two routers, one at one, and a ring of three.
const HOMES: &str = r#"routers = ["a", "b", "c"]
protocols = ["mptcp", "newreno"]
[link_defaults]
rate = "10Mbit/s"
delay = "5ms"
queue = "50ms"
[[links]]
a = "a"
b = "c"
[[links]]
a = "b"
b = "c"
[[hosts]]
name = "s"
attach = ["a", "b"]
[[hosts]]
name = "d"
attach = "c"
[[flows]]
src = "s"
dst = "d"
bytes = "1MB"
"#;

fn scenario(set: &[&str]) -> Scenario {
    let scenario = parse_with(HOMES, set).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
    scenario
}

/// Ports of both hosts, path by path, of the first flow under a protocol.
fn paths(scenario: &Scenario, protocol: &str) -> Vec<(u16, u16)> {
    let spec = scenario.build(protocol, 1).unwrap_or_else(|error| panic!("{error}"));
    spec.flows[0].paths.iter().map(|&(PortId(a), PortId(b))| (a, b)).collect()
}

#[test]
fn a_host_has_a_link_to_each_of_its_routers() {
    let scenario = scenario(&[]);
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["a-c", "b-c", "s-a", "s-b", "d-c"]);
}

#[test]
fn a_flow_has_as_many_paths_as_the_host_with_more_links() {
    assert_eq!(paths(&scenario(&[]), "mptcp"), [(0, 0), (1, 0)]);
    assert_eq!(paths(&scenario(&[]), "newreno"), [], "one path over the first links");
    assert_eq!(paths(&scenario(&["flows.0.paths=3"]), "mptcp"), [(0, 0), (1, 0), (0, 0)]);
    let named = scenario(&["flows.0.paths=[[\"s-b\", \"d-c\"], [\"s-a\", \"d-c\"]]"]);
    assert_eq!(paths(&named, "mptcp"), [(1, 0), (0, 0)]);
}

#[test]
fn what_is_wrong_with_paths_is_said() {
    for (set, expected) in [
        ("flows.0.paths=0", "expected 1 to 8"),
        ("flows.0.paths=9", "expected 1 to 8"),
        ("flows.0.paths=[]", "expected 1 to 8"),
        ("flows.0.paths=[[\"s-a\"]]", "expected a link of the sender and one of the receiver"),
        ("flows.0.paths=[[\"s-x\", \"d-c\"]]", "no link `s-x`"),
        (
            "flows.0.paths=[[\"d-c\", \"d-c\"]]",
            "`d-c` is not a link of `s`, which has `s-a`, `s-b`",
        ),
        ("flows.0.paths=\"all\"", "an array of pairs of links"),
        ("hosts.0.attach=[]", "expected a router, or an array of routers"),
        ("hosts.0.attach=[\"a\", \"a\"]", "s-a"),
        ("hosts.0.attach=[\"a\", \"d\"]", "`d` is a host"),
    ] {
        let error = parse_with(HOMES, &[set]).expect_err(set).to_string();
        assert!(error.contains(expected), "{set}: {error}");
    }
}

#[test]
fn a_note_says_where_there_is_one_subflow() {
    let note = |scenario: &Scenario| {
        scenario.notes().into_iter().find(|note| note.contains("one subflow"))
    };
    assert_eq!(note(&scenario(&[])), None);
    assert_eq!(note(&scenario(&["flows.0.paths=1"])), None, "that is what the file says");
    let single = scenario(&["hosts.0.attach=a"]);
    let note = note(&single).expect("both hosts have one link");
    assert!(note.starts_with("mptcp: 1 of 1 flows have one subflow"), "{note}");
}

#[test]
fn a_note_says_which_paths_are_of_no_use() {
    let has =
        |set: &[&str], text: &str| scenario(set).notes().iter().any(|note| note.contains(text));
    let unused = "use the first alone";
    assert!(!has(&[], unused));
    assert!(has(&["protocols=[\"newreno\"]"], unused));
    let same = "take the same links";
    let single = ["hosts.0.attach=a", "flows.0.paths=2"];
    assert!(!has(&["flows.0.paths=2"], same));
    assert!(has(&single, same));
    assert!(!has(&[&single[..], &["routes.trees=8"]].concat(), same), "ECMP may part them");
}

/// Options of 28 bytes, timestamps included, in place of 12: packets are as long as others.
#[test]
fn signals_have_room_in_full_packets() {
    let scenario = scenario(&[]);
    let [mptcp, newreno] = ["mptcp", "newreno"].map(|name| scenario.tcp_for(name).mss_bytes);
    assert_eq!(newreno - mptcp, 16);
}
