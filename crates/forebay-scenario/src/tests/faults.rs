//! Middleboxes and attacks in scenarios: what is read, written, built and refused.

use super::*;
use crate::model::attacks::AttackKind;
use forebay_cc::Spec;
use forebay_cc::inrpp::Misbehaviour;
use forebay_net::{ForwardingSpec, Look, NodeKind, Replay, SpoofedPacket};
use forebay_signal::inrpp::guard::Carrier;
use forebay_signal::inrpp::{BackPressure, BackPressureSignal};

/// The small scenario with `keys` for its link, and `tables` at the end.
fn small(keys: &str, tables: &str) -> String {
    let rate = "rate = \"10Mbit/s\"";
    SMALL.replacen(rate, &format!("{rate}\n{keys}"), 1) + tables
}

fn said(text: &str, expected: &str) {
    let error = Scenario::parse(text, "small.toml", &LoadOptions::default());
    let message = error.expect_err("refused").to_string();
    assert!(message.contains(expected), "{message}");
}

#[test]
fn middleboxes_are_read_and_written() {
    let keys = "middlebox = { strip_options = [253, 4], fragments = \"whole\" }\n\
                reverse = { middlebox = { strip_options = \"unknown\", set_df = true } }";
    let scenario = parse(&small(keys, ""));
    let link = &scenario.links[0];
    let there = MiddleboxSpec {
        strip: StripOptions::Kinds(vec![253, 4]),
        set_df: false,
        fragments: Fragments::Whole,
        ..MiddleboxSpec::default()
    };
    let back =
        MiddleboxSpec { strip: StripOptions::Unknown, set_df: true, ..MiddleboxSpec::default() };
    assert_eq!(link.forward.wire.middlebox.as_ref(), Some(&there));
    assert_eq!(link.reverse.wire.middlebox.as_ref(), Some(&back));
    let spec = scenario.build("cubic", 1).expect("builds");
    assert_eq!(spec.links[0].wire.middlebox, Some(there));
    assert_eq!(spec.links[2].wire.middlebox, None);
    assert!(scenario.to_toml().contains("\"reassemble\""));
    assert_eq!(parse(&scenario.to_toml()), scenario);
    for [former, name] in [["whole", "reassemble"], ["pieces", "virtual-reassembly"]] {
        let of = |name| parse(&small(&format!("middlebox = {{ fragments = \"{name}\" }}"), ""));
        assert_eq!(of(former), of(name));
    }
    // What one direction says holds for the other, but for an empty table.
    for (reverse, same) in [("", true), ("\nreverse = { middlebox = {} }", false)] {
        let keys = format!("middlebox = {{ fragments = \"drop\" }}{reverse}");
        let scenario = parse(&small(&keys, ""));
        let link = &scenario.links[0];
        assert_eq!(link.forward.wire.middlebox == link.reverse.wire.middlebox, same);
        assert_eq!(parse(&scenario.to_toml()), scenario);
    }
}

#[test]
fn bad_middleboxes_are_refused() {
    said(
        &small("middlebox = { strip_options = [253, 8] }", ""),
        "links[0].middlebox.strip_options[1]: `8` is out of range: expected \"unknown\", or kinds \
         of options from 2 to 254 but 8",
    );
    said(
        &small("middlebox = { strip_options = \"KA\" }", ""),
        "links[0].middlebox.strip_options: expected \"unknown\", or kinds of options from 2 to 254 \
         but 8, found a string (\"KA\")",
    );
    said(
        &small("middlebox = { fragments = \"dorp\" }", ""),
        "links[0].middlebox.fragments: expected one of \"pass\", \"drop\", \"reassemble\", \
         \"virtual-reassembly\", found a string (\"dorp\")",
    );
    said(&small("middlebox = { strip = [253] }", ""), "links[0].middlebox: unknown key `strip`");
}

fn attack(keys: &str) -> String {
    small("", &format!("\n[[attacks]]\nfrom = \"left\"\n{keys}\n"))
}

#[test]
fn attacks_are_read_written_and_become_events() {
    let keys = "flow = 1\nstart = \"250ms\"\nevery = \"1ms\"\ncount = 3\nlead_bytes = 1472\n\
                knows = \"ports\"";
    let scenario = parse(&attack(keys));
    assert_eq!(parse(&scenario.to_toml()), scenario);
    assert!(scenario.is_random());
    let forged = |seed| -> Vec<(u64, SpoofedPacket)> {
        let spec = scenario.build("cubic", seed).expect("builds");
        assert!(spec.events.is_sorted_by_key(|event| event.at));
        let forged = spec.events.into_iter().filter_map(|event| match event.event {
            NetEvent::Forge(forgery) => Some((event.at.as_nanos() / 1_000_000, forgery)),
            _ => None,
        });
        forged.collect()
    };
    let (one, other) = (forged(1), forged(2));
    assert_eq!(one.iter().map(|(ms, _)| *ms).collect::<Vec<_>>(), [250, 251, 252]);
    let [(_, a), (_, b), _] = &one[..] else { panic!("three packets") };
    assert_eq!(
        (a.look, a.knows, a.flow.0),
        (Look::Fragment { lead_bytes: 1472 }, Knowledge::Ports, 0)
    );
    assert!(a.draw != b.draw && a.draw != other[0].1.draw);
    // What is not said.
    let AttackKind::Forge { start, every, count, look, knows } =
        parse(&attack("flow = 1")).attacks.remove(0).what
    else {
        panic!("packets");
    };
    assert_eq!((start, every, count), (Time::ZERO, Span::from_millis(10), 1));
    assert_eq!((look, knows), (Look::Fragment { lead_bytes: 24 }, Knowledge::Receiver));
}

#[test]
fn bad_attacks_are_refused() {
    said(
        &attack("flow = 7"),
        "attacks[0].flow: `7` is out of range: expected the number of a flow",
    );
    said(
        &attack("flow = 0"),
        "attacks[0].flow: `0` is out of range: expected the number of a flow",
    );
    said(&attack(""), "attacks[0]: the key `flow` is missing: the flow, by its number in results");
    for odd in [16, 30, 1488] {
        said(
            &attack(&format!("flow = 1\nlead_bytes = {odd}")),
            &format!(
                "attacks[0].lead_bytes: `{odd}` is out of range: expected a multiple of 8 from 24 \
                 to 1480"
            ),
        );
    }
    said(
        &attack("flow = 1\ncount = 1_000_001"),
        "attacks[0].count: `1000001` is out of range: expected at most 1000000 packets in all \
         attacks",
    );
    said(
        &attack("flow = 1\nknows = \"all\""),
        "attacks[0].knows: expected one of \"receiver\", \"addresses\", \"ports\", \"sequence\"",
    );
    said(
        &attack("flow = 1").replace("\"left\"\nflow", "\"lfet\"\nflow"),
        "attacks[0].from: there is no node `lfet`",
    );
    let six = format!("ip_version = 6\n{}", attack("flow = 1"));
    said(&six, "attacks[0]: attacks forge IPv4 fragments, and `ip_version` is 6");
}

#[test]
fn attacks_on_inrpp_are_read_written_and_become_events() {
    let keys = "flow = 1\nkind = \"acks\"\nask = \"pause\"\nknows = \"sequence\"";
    let look = |text: &str| {
        let scenario = parse(text);
        assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
        match scenario.attacks[0].what {
            AttackKind::Forge { look, .. } => look,
            AttackKind::Replay { .. } | AttackKind::Misbehave(_) => panic!("forged"),
        }
    };
    let signal = |ask| BackPressure { ask, routers: 2, ..BackPressure::default() };
    let (carrier, guarded) = (Carrier::Ack, false);
    let pause = signal(BackPressureSignal::Pause);
    assert_eq!(look(&attack(keys)), Look::Notice { carrier, signal: pause, guarded });
    // Where there are keys it has a code, if a wrong one.
    let keyed = format!("{}\n[inrpp]\nkey = \"0123456789abcdef\"\n", attack(keys));
    assert_eq!(look(&keyed), Look::Notice { carrier, signal: pause, guarded: true });
    let slow = signal(BackPressureSignal::SlowDown);
    let data = Look::Notice { carrier: Carrier::Data, signal: slow, guarded };
    assert_eq!(look(&attack("flow = 1\nkind = \"notices\"")), data);
}

/// What is replayed has left `from`: the direction of the link is that. The link records.
#[test]
fn replays_are_read_written_and_their_link_records() {
    let keys = "flow = 1\nkind = \"replay\"\nlink = \"LINK\"\nage = \"25s\"\ncount = 2";
    let link = parse(SMALL).links.iter().position(|link| link.name == "left-right").expect("one");
    let keys = keys.replace("LINK", &parse(SMALL).links[link].name);
    for (from, side) in [("left", 0), ("right", 1)] {
        let text = attack(&keys).replace("from = \"left\"", &format!("from = \"{from}\""));
        let scenario = parse(&text);
        assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
        let spec = scenario.build("inrpp", 1).expect("builds");
        let replays = spec.events.iter().filter_map(|event| match &event.event {
            NetEvent::Replay(replay) => Some(replay.clone()),
            _ => None,
        });
        let id = forebay_base::LinkId((2 * link + side) as u32);
        let (ask, age) = (BackPressureSignal::SlowDown, Span::from_secs(25));
        let expected = Replay { link: id, flow: forebay_base::FlowId(0), ask, age };
        assert_eq!(replays.collect::<Vec<_>>(), [expected.clone(), expected]);
        let recording = spec.links.iter().map(|link| link.wire.middlebox.as_ref());
        let recording = recording.map(|middlebox| middlebox.is_some_and(|m| m.records));
        assert_eq!(recording.filter(|records| *records).count(), 1);
        assert!(spec.links[id.index()].wire.middlebox.is_some());
    }
    said(
        &attack("flow = 1\nkind = \"replay\""),
        "attacks[0]: the key `link` is missing: the link on which packets are recorded",
    );
    said(
        &attack(&keys.replace("left-right", "rihgt")),
        "attacks[0].link: there is no link `rihgt`",
    );
    said(
        &attack("flow = 1\nage = \"1s\""),
        "attacks[0].age: an attack of the kind \"fragments\" has",
    );
}

/// The end that breaks rules, `from` its own host, has a transport of its own; no other flow has.
#[test]
fn ends_that_break_the_rules_have_transports_of_their_own() {
    let flow = &parse(SMALL).flows[0];
    let [src, dst] = [flow.src, flow.dst].map(|id| parse(SMALL).nodes[id.index()].name.clone());
    let at = |from: &str, keys: &str| {
        attack(keys).replace("from = \"left\"", &format!("from = \"{from}\""))
    };
    for (from, keys, expected) in [
        (&src, "kind = \"greedy-sender\"", Misbehaviour::GreedySender),
        (&dst, "kind = \"split-acks\"", Misbehaviour::SplitAcks(8)),
        (&dst, "kind = \"split-acks\"\nparts = 64", Misbehaviour::SplitAcks(64)),
    ] {
        let scenario = parse(&at(from, &format!("flow = 1\n{keys}")));
        assert_eq!(parse(&scenario.to_toml()), scenario);
        assert_eq!(scenario.attacks[0].what, AttackKind::Misbehave(expected));
        let honest = parse(SMALL).build("inrpp", 1).expect("builds");
        let spec = scenario.build("inrpp", 1).expect("builds");
        assert_eq!(spec.transports.len(), honest.transports.len() + 1);
        let own = spec.flows.iter().filter(|flow| flow.transport == honest.transports.len());
        assert_eq!(own.count(), 1, "{keys}");
        let others = scenario.build("cubic", 1).expect("builds").transports.len();
        assert_eq!(others, parse(SMALL).build("cubic", 1).expect("builds").transports.len());
    }
    said(
        &at(&dst, "flow = 1\nkind = \"greedy-sender\""),
        &format!("attacks[0].from: the sender of this flow is `{src}`"),
    );
    said(
        &at(&src, "flow = 1\nkind = \"forging-receiver\""),
        &format!("attacks[0].from: the receiver of this flow is `{dst}`"),
    );
    said(
        &at(&dst, "flow = 1\nkind = \"split-acks\"\nparts = 65"),
        "attacks[0].parts: `65` is out of range: expected 2 to 64",
    );
    said(
        &at(&dst, "flow = 1\nkind = \"split-acks\"\ncount = 3"),
        "attacks[0].count: an attack of the kind \"split-acks\" has no such key",
    );
    said(
        &attack("flow = 1\nask = \"pause\""),
        "attacks[0].ask: an attack of the kind \"fragments\" has no such key",
    );
    said(&attack("flow = 1\nkind = \"gredy\""), "attacks[0].kind: expected one of");
}

const KEY: &str = "0123456789abcdef";

/// Two routers in a row, and a host at each.
fn keyed(of_link: &str, of_host: &str, table: &str) -> String {
    format!(
        "protocols = [\"inrpp\"]\nrouters = [\"a\", \"b\"]\n\
         link_defaults = {{ rate = \"10Mbit/s\", delay = \"5ms\", queue = \"50ms\" }}\n\
         hosts = [{{ name = \"s\", attach = \"a\" }}, {{ name = \"d\" }}]\n\
         flows = [{{ src = \"s\", dst = \"d\", bytes = \"1MB\" }}]\n\
         links = [{{ a = \"a\", b = \"b\"{of_link} }}, \
         {{ a = \"b\", b = \"d\"{of_host} }}]\n{table}"
    )
}

/// The ports of a router whose link has a key, and room for codes in the options of hosts.
fn guards(text: &str) -> (Vec<Option<Vec<bool>>>, bool) {
    let scenario = parse(text);
    assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
    let spec = scenario.build("inrpp", 1).expect("builds");
    let ports = spec.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Router(ForwardingSpec::Inrpp(settings)) => {
            let secrets = settings.secrets.as_ref();
            Some(secrets.map(|ports| ports.iter().map(Option::is_some).collect()))
        }
        _ => None,
    });
    let guarded = match scenario.spec("inrpp") {
        Some(AlgorithmSpec::Table(Spec::Inrpp(params))) => params.guarded,
        _ => panic!("a line of the table"),
    };
    (ports.collect(), guarded)
}

#[test]
fn keys_of_links_are_read_written_and_reach_both_ends() {
    let of_link = format!(", inrpp_key = \"{KEY}\"");
    let table = format!("inrpp = {{ key = \"{KEY}\" }}\n");
    assert_eq!(guards(&keyed("", "", "")), (vec![None, None], false));
    let one_each = vec![Some(vec![true, false]), Some(vec![true, false])];
    assert_eq!(guards(&keyed(&of_link, "", "")), (one_each, true));
    let all = vec![Some(vec![true, true]), Some(vec![true, true])];
    assert_eq!(guards(&keyed("", "", &table)), (all, true));
}

#[test]
fn a_note_says_where_keys_cover_no_link() {
    let table = format!("inrpp = {{ key = \"{KEY}\" }}\n");
    let note = |text: &str| {
        let notes = parse(text).notes();
        notes.into_iter().find(|note| note.starts_with("`inrpp.key`"))
    };
    assert_eq!(note(&keyed("", "", &table)), None);
    assert_eq!(note(&keyed("", "", "")), None);
    let cubic = keyed("", "", &table).replace("[\"inrpp\"]", "[\"cubic\"]");
    assert!(note(&cubic).expect("a note").ends_with("no router runs INRPP"));
    let plain = "routers = [\"a\", { name = \"b\", router = \"ip\" }]";
    let half = keyed("", "", &table).replace("routers = [\"a\", \"b\"]", plain);
    assert!(note(&half).expect("a note").ends_with("two routers that run INRPP"));
}

#[test]
fn keys_too_short_or_on_one_side_only_are_refused() {
    said(
        &keyed(", inrpp_key = \"secret\"", "", ""),
        "links[0].inrpp_key: `a key of 6 bytes` is out of range: expected at least 16 bytes for \
         the link `a-b`",
    );
    said(
        &keyed("", "", "inrpp = { key = \"secret\" }\n"),
        "inrpp.key: `a key of 6 bytes` is out of range: expected at least 16 bytes for inrpp.key",
    );
    let of_link = format!(", inrpp_key = \"{KEY}\"");
    said(
        &keyed("", &of_link, ""),
        "links[1].inrpp_key: the link `b-d` has a key on one side only: `d` is a host",
    );
    said(
        &keyed(&of_link, "", "inrpp = { routers = [\"a\"] }\n"),
        "links[0].inrpp_key: the link `a-b` has a key on one side only: `b` does not run INRPP",
    );
    // Where no router runs INRPP a key has no effect.
    parse(&keyed(&of_link, "", "").replace("\"inrpp\"]", "\"cubic\"]"));
}
