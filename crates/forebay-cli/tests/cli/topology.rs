//! `forebay topology`: numbers, drawings, and what is wrong input.

use crate::{Desk, SMALL};
use std::fs;

/// A triangle of backbone routers, one of which is its own neighbour, and a router beside it.
const ISP: &str = "0 @A bb (4) -> <0> <1> <2> <3> =a r0\n1 @B bb (2) -> <0> <2> =b r0\n\
                   2 @C bb (2) -> <0> <1> =c r0\n3 @D (1) -> <0> =d r1\n";

#[test]
fn a_map_is_described_and_drawn() {
    let desk = Desk::new();
    desk.file("isp.cch", ISP);
    let simple = desk.forebay(&["topology", "isp.cch", "--json"]).ok().json();
    assert_eq!((simple["routers"].as_u64(), simple["links"].as_u64()), (Some(4), Some(5)));
    assert_eq!((simple["loops"].as_u64(), simple["diameter"].as_u64()), (Some(1), Some(2)));
    // Three of the four links without the loop are of the triangle.
    assert_eq!(simple["detours"]["share_percent"], 75.0);
    let table = desk.forebay(&["topology", "isp.cch", "--convention", "table-1"]).ok().stdout;
    // In the backbone there are four links with the loop, and all have detours.
    let line = table.lines().find(|line| line.starts_with("links with a detour [%]"));
    assert!(line.is_some_and(|line| line.ends_with(" 100.00")), "{table}");
    let drawn = desk.forebay(&["topology", "isp.cch", "--out", "isp.svg"]).ok().stdout;
    assert!(drawn.ends_with("isp.svg\n"), "{drawn}");
    let svg = fs::read_to_string(desk.path("isp.svg")).expect("a drawing");
    let document = roxmltree::Document::parse(&svg).expect("it is XML");
    let titles = document.descendants().filter(|node| node.tag_name().name() == "title").count();
    assert_eq!((titles, svg.matches("<circle").count()), (8, 4), "four routers, four links");
    desk.forebay(&["topology", "isp.cch", "--out", "isp.svg"]).ok();
}

#[test]
fn a_scenario_is_described_with_its_hosts() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let of_file = desk.forebay(&["topology", "small.toml", "--json"]).ok().json();
    assert_eq!(of_file["components"].as_u64(), Some(1));
    let builtin = desk.forebay(&["topology", "inrpp/dumbbell", "--json"]).ok().json();
    assert_eq!((builtin["routers"].as_u64(), builtin["hosts"].as_u64()), (Some(5), Some(6)));
    assert_eq!(builtin["detours"]["share_percent"], 60.0);
}

#[test]
fn wrong_input_is_told_and_leaves_nothing() {
    let desk = Desk::new();
    desk.file("broken.cch", ISP.replace("<3>", "<3"));
    desk.file("empty.graphml", "");
    desk.file("one.cch", "0 @A (0) -> =a r0\n");
    desk.file("small.toml", SMALL);
    let before = desk.names();
    for (words, said) in [
        (&["broken.cch"][..], "broken.cch:1:28: expected <uid> of a neighbour"),
        (&["empty.graphml"], "the file is empty"),
        (&["."], "it is a folder"),
        (&["none.cch"], "there is no such file"),
        (&["one.cch", "--out", "one.svg"], "--out: no drawing: expected a link, found 0"),
        (&["one.cch", "--out", "one.cch"], "the command reads it"),
        (&["one.cch", "--set", "a=b"], "--set: overrides keys of a scenario"),
        (&["small.toml", "--reduce", "roles"], "hint: --set topology.reduce=backbone"),
        (&["dumbell"], "did you mean `dumbbell`?"),
    ] {
        let done = desk.forebay(&[&["topology"], words].concat());
        assert_eq!(done.code, 2, "{words:?}: {}", done.stdout);
        assert!(done.stderr.contains(said), "{words:?}: {}", done.stderr);
    }
    assert_eq!(desk.names(), before);
}
