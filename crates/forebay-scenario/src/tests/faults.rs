//! Middleboxes and attacks in scenarios: what is read, written, built and refused.

use super::*;
use forebay_net::SpoofedFragment;

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
    };
    let back =
        MiddleboxSpec { strip: StripOptions::Unknown, set_df: true, fragments: Fragments::Pass };
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
    let forged = |seed| -> Vec<(u64, SpoofedFragment)> {
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
    assert_eq!((a.lead_bytes, a.knows, a.flow.0), (1472, Knowledge::Ports, 0));
    assert!(a.draw != b.draw && a.draw != other[0].1.draw);
    // What is not said.
    let Attack { start, every, count, lead_bytes, knows, .. } =
        parse(&attack("flow = 1")).attacks.remove(0);
    assert_eq!((start, every, count), (Time::ZERO, Span::from_millis(10), 1));
    assert_eq!((lead_bytes, knows), (24, Knowledge::Receiver));
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
    said(
        &attack(""),
        "attacks[0]: the key `flow` is missing: the flow that they claim to belong to",
    );
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
