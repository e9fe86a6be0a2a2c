//! `[routes]` and weights of links: which way packets take.

use super::files::{folder, load};
use super::*;
use crate::resolve::routes::shortest_paths;
use forebay_base::LinkId;
use forebay_net::{EqualCosts, RouteRule};

/// Two ways from a host at `a` to one at `d`: over `b` and over `c`.
const SQUARE: &str = r#"routers = ["a", "b", "c", "d"]
protocols = ["inrpp"]
[link_defaults]
rate = "10Mbit/s"
delay = "5ms"
queue = "50ms"
[[links]]
a = "a"
b = "b"
[[links]]
a = "b"
b = "d"
[[links]]
a = "a"
b = "c"
[[links]]
a = "c"
b = "d"
[[hosts]]
name = "s"
attach = "a"
[[hosts]]
name = "t"
attach = "d"
[[flows]]
src = "s"
dst = "t"
bytes = "1MB"
count = 8
"#;

fn square(set: &[&str]) -> Scenario {
    let scenario = parse_with(SQUARE, set).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
    scenario
}

/// The links from `s` to `t`, and back, by number.
fn ways(scenario: &Scenario, tree: u8) -> [Vec<u32>; 2] {
    let mut paths = shortest_paths(scenario.routes, &scenario.nodes, &scenario.links);
    let [s, t] = ["s", "t"].map(|name| {
        let node = scenario.nodes.iter().position(|node| node.name == name).expect("a host");
        NodeId(node as u32)
    });
    let number = |link: LinkId| link.0 / 2;
    [[s, t], [t, s]].map(|[from, to]| {
        let walked = paths.walk(from, to, tree).expect("a route");
        walked.into_iter().map(number).collect()
    })
}

#[test]
fn weights_decide_before_the_number_of_links() {
    for heavy in ["a-b", "b-d"] {
        let [there, back] = ways(&square(&[&format!("links.{heavy}.weight=2")]), 0);
        assert_eq!((there, back), (vec![4, 2, 3, 5], vec![5, 3, 2, 4]));
    }
    let built = square(&["links.c-d.weight=65535"]).build("inrpp", 1).expect("builds");
    let weights: Vec<u32> = built.links.iter().map(|link| link.weight).collect();
    assert_eq!(weights, [1, 1, 1, 1, 1, 1, 65_535, 65_535, 1, 1, 1, 1]);
}

#[test]
fn routes_are_symmetric_in_each_tree_unless_they_are_asked_not_to_be() {
    let trees = square(&["routes.trees=16"]);
    assert_eq!(trees.routes, RouteRule { trees: 16, equal_costs: EqualCosts::Symmetric });
    let mut over_b = 0;
    for tree in 0..16 {
        let [there, mut back] = ways(&trees, tree);
        back.reverse();
        assert_eq!(there, back);
        over_b += u32::from(there[1] == 0);
    }
    assert!((3..=13).contains(&over_b), "{over_b} of 16");
    assert!(trees.notes().iter().all(|note| !note.contains("ACKs")), "{:?}", trees.notes());
    let set = ["routes.trees=16", "routes.equal_costs=independent"];
    let (apart, expected) = (square(&set), "inrpp: data and ACKs of 8 of 8 flows take different");
    assert!(apart.notes().iter().any(|note| note.starts_with(expected)), "{:?}", apart.notes());
    let cubic = square(&["routes.trees=16", set[1], "protocols=[\"cubic\"]"]);
    assert!(cubic.notes().iter().all(|note| !note.contains("ACKs")), "{:?}", cubic.notes());
}

#[test]
fn what_is_out_of_range_is_told_with_its_place() {
    let message = |old: &str, new: &str| {
        let text = SQUARE.replacen(old, new, 1);
        parse_with(&text, &[]).expect_err("out of range").to_string()
    };
    let hint = "hint: a path over more links must cost more: give the links to be preferred 1, and \
                the others more";
    for weight in ["0", "65536"] {
        let found = message("a = \"a\"\n", &format!("weight = {weight}\na = \"a\"\n"));
        let place = format!("small.toml:8:10: links[0].weight: `{weight}` is out of range");
        assert!(found.starts_with(&place), "{found}");
        assert!(found.ends_with(hint), "{found}");
    }
    for trees in ["0", "65"] {
        let found = message("[link_d", &format!("[routes]\ntrees = {trees}\n[link_d"));
        let place = format!("small.toml:4:9: routes.trees: `{trees}` is out of range");
        assert!(found.starts_with(&place), "{found}");
    }
}

#[test]
fn csv_files_may_have_weights() {
    let links = "a,b,weight,rate_bps,delay_ns\n0,1,7,100000000,5000000\n1,2,,1000000000,5000000\n";
    let hosts = "host,router\n0,0\n1,2\n";
    let flows = "start_s,src_host,dst_host,packets\n0,0,1,40\n";
    let scenario = load(&folder(links, hosts, flows), &[]).expect("loads");
    assert_eq!(scenario.links.iter().map(|link| link.weight).collect::<Vec<_>>(), [7, 1, 1, 1]);
    for (weight, expected) in [
        ("0", "links.csv:2:5: weight: `0` is out of range: expected 1 to 65535"),
        ("heavy", "links.csv:2:5: weight: expected 1 to 65535, found `heavy`"),
    ] {
        let links = links.replacen(",7,", &format!(",{weight},"), 1);
        let found = load(&folder(&links, hosts, flows), &[]).expect_err("no weight");
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_weight_out_of_range_has_its_range_and_a_hint() {
    for weight in ["-1", "0", "65536", "99999999999"] {
        let message = set_message(&format!("links.0.weight={weight}"));
        let expected = format!("links[0].weight: `{weight}` is out of range: expected 1 to 65535");
        assert!(message.contains(&expected), "{message}");
    }
}

/// The square with this behind `t`.
fn behind_t(keys: &str) -> String {
    SQUARE.replace("attach = \"d\"\n", &format!("attach = \"d\"\n{keys}\n"))
}

#[test]
fn prefixes_are_behind_their_hosts() {
    let text = behind_t(r#"prefixes = ["192.0.2.0/24", "0.0.0.0/0"]"#);
    let scenario = parse(&text);
    assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
    let t = scenario.nodes.iter().position(|node| node.name == "t").expect("a host");
    let spec = scenario.build("newreno", 1).expect("it can be built");
    let found = spec.prefixes.iter().map(|(host, prefix)| (host.index(), prefix.to_string()));
    let expected = ["192.0.2.0/24", "0.0.0.0/0"].map(|prefix| (t, prefix.to_string()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_no_prefix_is_refused() {
    for (keys, what) in [
        ("prefixes = 7", "an array of prefixes"),
        ("prefixes = [7]", "an array of prefixes"),
        (r#"prefixes = ["192.0.2.0"]"#, "an address, a slash and a number of bits"),
        (r#"prefixes = ["192.0.2.1/24"]"#, "192.0.2.0/24?"),
        (r#"prefixes = ["192.0.2.0/33"]"#, "33 bits"),
        (r#"prefixes = ["2001:db8::/32"]"#, "2001:db8::/32: it is of the other IP version"),
        (r#"prefixes = ["10.1.0.0/16"]"#, "10.1.0.0/16: its addresses are those of the hosts"),
        ("prefixes = [\"192.0.2.0/24\"]\ncount = 2", "\"{}\""),
    ] {
        let error = parse_with(&behind_t(keys), &[]).expect_err(keys).to_string();
        assert!(error.contains(what), "{keys}: {error}");
    }
    let twice = behind_t(r#"prefixes = ["192.0.2.0/24"]"#)
        .replace("attach = \"a\"\n", "attach = \"a\"\nprefixes = [\"192.0.2.0/24\"]\n");
    let error = parse_with(&twice, &[]).expect_err("at two places").to_string();
    assert!(error.contains("192.0.2.0/24 is behind another host as well"), "{error}");
    let group = behind_t("prefixes = [\"192.0.2.0/24\"]\ncount = 2")
        .replace("name = \"t\"", "name = \"t{}\"");
    let error = parse_with(&group, &[]).expect_err("a group").to_string();
    assert!(error.contains("a network is behind one host"), "{error}");
}
