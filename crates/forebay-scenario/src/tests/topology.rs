//! `[topology]`: map files and generators in scenarios.

use super::*;
use forebay_topology::Role;

const FLOW: &str = "until_s = 1\n[[flows]]\nsrc = \"h0\"\ndst = \"h1\"\nbytes = 1000\n";
const DEFAULTS: &str = "[link_defaults]\nrate = \"10Mbit/s\"\ndelay = \"2ms\"\nqueue = \"50ms\"\n";

/// A scenario with this table, whose map file is `map`.
fn with(table: &str, map: &str) -> Result<Scenario, ScenarioError> {
    let text = format!("{FLOW}{DEFAULTS}[topology]\n{table}");
    let files = [("map", map)].into_iter().collect();
    Scenario::parse(&text, "map.toml", &LoadOptions { files, ..LoadOptions::default() })
}

fn made(table: &str, map: &str) -> Scenario {
    with(table, map).unwrap_or_else(|error| panic!("{table}: {error}"))
}

fn refused(table: &str, map: &str) -> String {
    with(table, map).expect_err(table).to_string()
}

fn link<'a>(scenario: &'a Scenario, name: &str) -> &'a Link {
    let found = scenario.links.iter().find(|link| link.name == name);
    found.unwrap_or_else(|| panic!("no link {name}"))
}

/// A backbone of three, a gateway at each, and an edge router at each of those.
const ISP: &str = "0 @A bb (3) -> <1> <2> <3> =a r0\n1 @B bb (3) -> <0> <2> <4> =b r0\n\
                   2 @C bb (3) -> <0> <1> <5> =c r0\n3 @A (3) -> <0> <6> <4> =d r1\n\
                   4 @B (3) -> <1> <7> <3> =e r1\n5 @C (3) -> <2> <8> <4> =f r1\n\
                   6 @A (1) -> <3> =g r2\n7 @B (1) -> <4> =h r2\n8 @C (1) -> <5> =i r2\n";

#[test]
fn a_rocketfuel_map_with_roles_classes_and_hosts() {
    let table = "file = \"map\"\nreduce = \"roles\"\nrouter_prefix = \"r\"\nhosts = 2\n\
                 rate = \"1Gbit/s\"\n\
                 classes = [{ between = [\"edge\", \"gateway\"], rate = \"100Mbit/s\" }, \
                 { between = [\"r3\", \"r6\"], delay = \"7ms\", weight = 3 }]\n\
                 [topology.access]\nrate = \"40Mbit/s\"\n";
    let scenario = made(table, ISP);
    let names: Vec<_> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names[..9], ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"]);
    assert_eq!(names[9..], ["h0", "h1", "h2", "h3", "h4", "h5"]);
    let role = |i: usize| scenario.nodes[i].on_map.as_ref().and_then(|on_map| on_map.role);
    let roles = [(0, Role::Backbone), (3, Role::Gateway), (8, Role::Edge)];
    assert!(roles.iter().all(|&(i, expected)| role(i) == Some(expected)));
    let edge = link(&scenario, "r4-r7");
    assert_eq!((edge.forward.rate, edge.weight), (Rate::mbps(100), 1));
    assert_eq!(edge.reverse.wire.delay, Span::from_millis(2));
    let own = link(&scenario, "r3-r6");
    assert_eq!((own.forward.rate, own.weight), (Rate::mbps(100), 3));
    assert_eq!(own.forward.wire.delay, Span::from_millis(7));
    assert_eq!(link(&scenario, "r0-r1").forward.rate, Rate::mbps(1000));
    // Hosts are numbered router by router: the second of r6 is h1.
    assert_eq!(link(&scenario, "h1-r6").forward.rate, Rate::mbps(40));
    assert_eq!(link(&scenario, "h5-r8").forward.rate, Rate::mbps(40));
    // What is written out is the same scenario, roles among it.
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

#[test]
fn rates_lengths_and_positions_of_a_map_file() {
    let map = r#"{"graph": {"demands": {"A": {"B": 2, "C": 0.0001}}},
        "nodes": [{"id": "A", "pos": [8, 50]}, {"id": "B", "pos": [9, 50]}, {"id": "C"}],
        "links": [{"source": "A", "target": "B", "dist": 400}, {"source": "B", "target": "C"},
        {"source": "C", "target": "B"}]}"#;
    let scenario = made("file = \"map\"\nhosts = 1\n", map);
    // 400 km take 2 ms at 2e8 m/s, as the default has it for others; so another default is set.
    let scenario_of = |delay: &str| made(&format!("file = \"map\"\nhosts = 1\n{delay}"), map);
    assert_eq!(link(&scenario, "A-B").forward.wire.delay, Span::from_millis(2));
    let names: Vec<_> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["A-B", "B-C", "C-B", "h0-A", "h1-B", "h2-C"]);
    // What stands in the table holds for all links.
    let other = scenario_of("delay = \"9ms\"\n");
    assert_eq!(link(&other, "A-B").forward.wire.delay, Span::from_millis(9));
    let at = |i: usize| scenario.nodes[i].on_map.as_ref().and_then(|on_map| on_map.at);
    let [a, b] = [at(0), at(1)].map(|at| at.expect("it is given"));
    // At 50 degrees north a degree of longitude has 0.643 of the length of one of latitude.
    assert!((b[0] - a[0] - 0.643).abs() < 0.001, "{a:?} {b:?}");
    assert_eq!(at(2), None);
    let merged = scenario_of("parallel = \"merge\"\n");
    assert_eq!(merged.links.len(), 5);
}

/// A demand is a flow that writes at its rate; what is below the lowest rate is left out.
#[test]
fn demands_become_flows() {
    let map = r#"{"graph": {"demands": {"0": {"1": 2, "2": 0.0001}, "2": {"0": 1}}},
        "nodes": [{"id": 0}, {"id": 1}, {"id": 2}],
        "links": [{"source": 0, "target": 1}, {"source": 1, "target": 2}]}"#;
    let table = "file = \"map\"\nhosts = 2\ndemands = \"flows\"\ndemand_scale = 0.5\n";
    let scenario = made(table, map);
    let name = |node: NodeId| scenario.nodes[node.index()].name.as_str();
    let flows: Vec<_> = scenario.flows[1..]
        .iter()
        .map(|flow| {
            let life = flow.life.as_ref().expect("it writes over time");
            let rate = life.write.and_then(|write| write.rate);
            (name(flow.src), name(flow.dst), rate.map(Rate::bps), flow.bytes)
        })
        .collect();
    assert_eq!(flows, [("h0", "h2", Some(1_000_000), None), ("h4", "h0", Some(500_000), None)]);
    assert_eq!(scenario.unused, ["demands of less than 1 kbit/s are left out: 1"]);
    let message = refused("file = \"map\"\ndemands = \"flows\"\n", map);
    assert!(message.contains("has demands, but no host"), "{message}");
    let message = refused(&table.replace("0.5", "0"), map);
    assert!(message.contains("topology.demand_scale: `0.0` is out of range"), "{message}");
    let given = format!("{table}unit = \"1kbit/s\"\n");
    assert_eq!(made(&given, map).flows.len(), 2, "demands of 1 and 0.5 kbit/s: one is left");
}

#[test]
fn generators_with_hosts() {
    let tables = [
        ("kind = \"chain\"\nnodes = 2\nhosts = 1", 4, 3),
        ("kind = \"ring\"\nnodes = 6\nhosts = 1", 12, 12),
        ("kind = \"mesh\"\nnodes = 20\ndegree = 4\nseed = 3\nhosts = 1", 40, 60),
        ("kind = \"transit-stub\"\nhosts = 1", 100 + 96, 6 + 12 * (12 + 1) + 96),
        ("kind = \"fat-tree\"\nports = 4\nhosts = 2", 20 + 16, 32 + 16),
    ];
    for (table, nodes, links) in tables {
        let scenario = made(table, "");
        assert_eq!((scenario.nodes.len(), scenario.links.len()), (nodes, links), "{table}");
        assert_eq!(parse(&scenario.to_toml()), scenario, "{table}");
    }
    // The delay of a Gabriel graph follows from the distance.
    let scenario = made("kind = \"gabriel\"\nnodes = 30\nside_km = 500\nhosts = 1", "");
    let delays: Vec<Span> = scenario.links.iter().map(|link| link.forward.wire.delay).collect();
    assert!(delays[..30].iter().all(|&delay| delay < Span::from_micros(3_536)), "{delays:?}");
    // Other links and hosts go with those of the map.
    let text = format!(
        "{FLOW}{DEFAULTS}routers = [\"x\"]\n[topology]\nkind = \"ring\"\nnodes = 3\nhosts = 1\n\
         [[links]]\na = \"x\"\nb = \"r0\"\n[[hosts]]\nname = \"y\"\nattach = \"r2\"\n"
    );
    let text = text.replace("routers = [\"x\"]\n", "");
    let scenario = parse(&format!("routers = [\"x\", \"r1\"]\n{text}"));
    assert_eq!(scenario.nodes.len(), 8, "r1 is declared and on the map");
    assert_eq!(link(&scenario, "y-r2").forward.rate, Rate::mbps(10));
}

#[test]
fn a_broken_map_is_named_with_file_and_line() {
    let broken = ISP.replace("<5>", "<5");
    let message = refused("file = \"map\"", &broken);
    let expected = "map:3:24: expected <uid> of a neighbour, {-uid} or =name, found `<5`";
    assert!(message.contains(expected), "{message}");
    assert!(message.contains("3 | 2 @C bb (3) -> <0> <1> <5 =c r0"), "{message}");
    assert!(!message.contains("h0"), "what follows from it is not reported: {message}");
    assert!(refused("file = \"map\"", "").contains("the file is empty"));
    assert!(refused("file = \"none\"", "").contains("there is no such file"));
    let message =
        refused("file = \"map\"", "<graphml>\n<graph><node id=\"0\"/>\n<edge/></graph></graphml>");
    assert!(message.contains("map:3:1: <edge> without the attribute `source`"), "{message}");
}

#[test]
fn what_cannot_be_is_refused() {
    let two = "0 @A (1) -> <1> =a r0\n1 @B (1) -> <0> =b r0\n2 @C (0) -> =c r1\n";
    let message = refused("file = \"map\"", two);
    assert!(message.contains("topology.file: the map has 2 components"), "{message}");
    assert!(message.contains("hint: components = \"largest\""), "{message}");
    let scenario = made("file = \"map\"\ncomponents = \"largest\"\nhosts = 1", two);
    assert_eq!(
        scenario.unused,
        ["map: 1 of 3 routers are left out: they are in 1 other component"]
    );
    let cases = [
        ("", "the key `file` is missing"),
        ("file = \"map\"\nkind = \"ring\"", "only one of `file` and `kind`"),
        ("kind = \"ring\"", "the key `nodes` is missing"),
        ("kind = \"ring\"\nnodes = 2", "topology.nodes: `2` is out of range: expected 3 or more"),
        ("kind = \"ring\"\nnodes = 3\ndegree = 2", "`degree` is not a parameter of \"ring\""),
        ("kind = \"ring\"\nnodes = 3\nreduce = \"roles\"", "`reduce` is of a map file"),
        ("file = \"map\"\nnodes = 3", "`nodes` is of a generator"),
        ("kind = \"rings\"", "did you mean `ring`?"),
        ("kind = \"fat-tree\"\nports = 5", "an even number"),
        ("kind = \"ring\"\nnodes = 3\nhosts_at = [\"edge\"]\nhosts = 1", "has the role"),
        ("kind = \"ring\"\nnodes = 3\nhosts = 4294967295", "at most 2^24 hosts"),
        ("kind = \"ring\"\nnodes = 3\nclasses = [{ between = [\"r0\"] }]", "two ends, found 1"),
        (
            "kind = \"ring\"\nnodes = 3\nhosts = 1\n\
             classes = [{ between = [\"r0\", \"r1\"], weight = 0 }]",
            "expected 1 to 65535",
        ),
        (
            "kind = \"ring\"\nnodes = 3\nhosts = 1\nclasses = [{ between = [\"r0\", \"r9\"] }]",
            "no node `r9`",
        ),
    ];
    for (table, expected) in cases {
        let message = refused(table, two);
        assert!(message.contains(expected), "{table}: {message}");
    }
}

#[test]
fn an_unknown_generator_is_the_only_mistake() {
    let message = set_message("topology={kind=\"torus\"}");
    assert!(message.contains("topology.kind: expected one of \"chain\""), "{message}");
    assert!(!message.contains("is missing"), "{message}");
}

#[test]
fn a_path_that_the_ttl_does_not_cover_has_a_note() {
    let notes = |routers: u32| {
        let text = format!(
            "until_s = 1\ntopology = {{ kind = 'chain', nodes = {routers}, hosts = 0 }}\n\
             link_defaults = {{ rate = '10Mbit/s', delay = '1ms', queue = '50ms' }}\n\
             hosts = [{{ name = 'a', attach = 'r0' }}, {{ name = 'b', attach = 'r{}' }}]\n\
             flows = [{{ src = 'a', dst = 'b', bytes = 1000 }}]\n",
            routers - 1
        );
        parse_with(&text, &[]).unwrap_or_else(|error| panic!("{error}")).notes()
    };
    assert!(notes(63).iter().all(|note| !note.contains("TTL")), "{:?}", notes(63));
    let far = notes(64);
    assert!(far.iter().any(|note| note.contains("1 of 1 flows have 64 routers")), "{far:?}");
}
