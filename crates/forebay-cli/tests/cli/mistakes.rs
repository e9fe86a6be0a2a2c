//! All mistakes of a file at once, each with its place, in the order of the file; and none that
//! only follows from another.

use crate::{Desk, SMALL};

/// The places and the first words of all mistakes: `bad.toml:8:1: links[0]: unknown key `.
fn heads(stderr: &str) -> Vec<&str> {
    let text = stderr.strip_prefix("error: ").expect("an error");
    text.trim_end().split("\n\n").map(|part| part.lines().next().unwrap_or_default()).collect()
}

fn refused(text: &str, more: &[&str]) -> String {
    let desk = Desk::new();
    desk.file("bad.toml", text);
    let done = desk.forebay(&[&["run", "bad.toml", "--out", "results"], more].concat());
    assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{}", done.stderr);
    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    assert_eq!(desk.names(), ["bad.toml"]);
    done.stderr
}

fn changed(changes: &[(&str, &str)]) -> String {
    let mut text = SMALL.to_string();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

fn starts_are(stderr: &str, expected: &[&str]) {
    let found = heads(stderr);
    assert_eq!(found.len(), expected.len(), "{stderr}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "expected {expected}\nfound {found}\nin\n{stderr}");
    }
}

#[test]
fn mistakes_of_all_kinds_come_together_in_the_order_of_the_file() {
    let text = changed(&[
        ("[\"newreno\"]", "[\"newrino\"]"),
        ("rate = \"10Mbit/s\"", "rate = \"10MBps\"\nlos = 0.1"),
        ("attach = \"r1\"", "attach = \"r7\""),
        ("bytes = 100_000\n", "bytes = \"many\"\n[[events]]\nat = 3\nlink = \"r0-r1\"\n"),
    ]);
    let stderr = refused(&text, &["--set", "tcp.min_rtt=1s", "--set", "links.r5-r6.rate=1Mbit/s"]);
    starts_are(
        &stderr,
        &[
            "bad.toml:2:14: protocols[0]: there is no protocol `newrino`",
            "bad.toml:8:8: links[0].rate: expected a rate",
            "bad.toml:9:1: links[0]: unknown key `los`",
            "bad.toml:16:10: hosts[1].attach: there is no node `r7`",
            "bad.toml:21:9: flows[0].bytes: expected a size",
            "bad.toml:22:1: events[0]: the key `state` is missing",
            "bad.toml:23:6: events[0].at: expected a time",
            "--set:1:5: tcp: unknown key `min_rtt`",
            "--set:1:7: links: there is no element `r5-r6`",
        ],
    );
    for hint in ["`newreno`", "\"80Mbit/s\"", "`loss`", "one of: r0, r1", "units: ", "`min_rto`"] {
        assert!(stderr.contains(hint), "no {hint} in\n{stderr}");
    }
    let carets =
        stderr.lines().filter(|line| line.trim_start().starts_with("| ") && line.ends_with('^'));
    assert_eq!(carets.count(), 9, "{stderr}");
}

/// 50 hosts at a router that is not there, and 50 links to it: one mistake, with the number of the
/// places.
#[test]
fn a_missing_router_is_one_mistake() {
    let mut text = changed(&[]);
    for i in 0..50 {
        text.push_str(&format!(
            "[[hosts]]\nname = \"x{i}\"\nattach = \"rx\"\nrate = \"1Mbit/s\"\n"
        ));
        text.push_str(&format!("[[flows]]\nsrc = \"x{i}\"\ndst = \"d\"\nbytes = 1\n"));
        text.push_str(&format!("[[events]]\nat = \"1s\"\nlink = \"x{i}-rx\"\nstate = \"down\"\n"));
    }
    let stderr = refused(&text, &[]);
    starts_are(&stderr, &["bad.toml:23:10: hosts[2].attach: there is no node `rx`"]);
    assert!(stderr.contains("(and in 49 more places)"), "{stderr}");
}

#[test]
fn what_a_wrong_declaration_takes_with_it_is_not_told() {
    // The group `s` has a wrong rate: the flow from `s` has no mistake.
    let text = changed(&[("rate = \"100Mbit/s\"", "rate = 100")]);
    starts_are(&refused(&text, &[]), &["bad.toml:12:8: hosts[0].rate: "]);
    // Nor has an event on a link that is declared with a misspelled end.
    let text = changed(&[("b = \"r1\"", "b = \"r9\"")]);
    let event = "[[events]]\nat = \"1s\"\nlink = \"r0-r1\"\nstate = \"down\"\n";
    starts_are(&refused(&format!("{text}{event}"), &[]), &["bad.toml:7:5: links[0].b: "]);
    // Nor have links that lack what the wrong defaults would give.
    let text = changed(&[("delay = \"5ms\",", "delay = 5,")]);
    starts_are(&refused(&text, &[]), &["bad.toml:4:27: link_defaults.delay: "]);
    // Nor has a flow without end where `until_s` is misspelled.
    let text = changed(&[("bytes = 100_000", "endless = true")]);
    let text = format!("untils = 3\n{text}");
    starts_are(&refused(&text, &[]), &["bad.toml:1:1: unknown key `untils`"]);
}

#[test]
fn a_flow_without_end_is_where_an_end_is_missed() {
    let text = changed(&[("bytes = 100_000", "endless = true")]);
    let expected = "bad.toml:20:11: flows[0].endless: the key `until_s` is missing";
    starts_are(&refused(&text, &[]), &[expected]);
}

#[test]
fn no_more_than_twenty_are_told_and_the_rest_counted() {
    let mut text = changed(&[]);
    (0..33).for_each(|i| {
        text.push_str(&format!("[[flows]]\nsrc = \"s\"\ndst = \"q{i}\"\nbytes = 1\n"))
    });
    let stderr = refused(&text, &[]);
    let heads = heads(&stderr);
    assert_eq!((heads.len(), heads[20]), (21, "and 13 more mistakes"), "{stderr}");
    assert!(heads[0].starts_with("bad.toml:23:7: flows[1].dst: there is no node `q0`"), "{stderr}");
    let with_json = refused(&text, &["--json"]);
    assert_eq!(with_json, stderr);
}

#[test]
fn mistakes_in_csv_files_come_together() {
    let desk = Desk::new();
    let text = "routers = [\"0\"]\nlink_defaults = { queue = \"9kB\" }\n[csv]\n\
                links = \"links.csv\"\n\
                hosts = \"hosts.csv\"\nflows = \"flows.csv\"\naccess = { rate = \"1Gbit/s\", \
                delay = \"1ms\" }\nextra_columns = \"ignore\"\n";
    desk.file("s.toml", text).file("hosts.csv", "host,router\n0,0\n1,1\n");
    desk.file(
        "links.csv",
        "# from a map\na,b,rate_bps,delay_ns,length_km\n\"0\",1,\"10Mbit/s\",5ms,7\n",
    );
    desk.file(
        "flows.csv",
        "start_s,src_host,dst_host,bytes\n0,0,1,1e5\n\"5ms\",1,0,100kB\n# the end\n",
    );
    let done = desk.forebay(&["run", "s.toml"]).ok();
    let note = "column not used: `length_km`";
    assert!(done.stdout.contains("links.csv") && done.stdout.contains(note), "{}", done.stdout);
    assert!(done.stdout.contains("2 of 2"), "{}", done.stdout);
    let wrong = |name: &str, csv: &str, expected: &[&str]| {
        let before = std::fs::read(desk.path(name)).expect("a file");
        desk.file(name, csv);
        let done = desk.forebay(&["run", "s.toml"]);
        assert_eq!(done.code, 2, "{}", done.stderr);
        starts_are(&done.stderr, expected);
        desk.file(name, before);
        done.stderr
    };
    let flows =
        "start_s,src_host,dst_host,packets\n0,0,9,1\n-1,0,1,0\n0,0,1\n0,\"0,1,1\n0,0,1,2.5\n";
    wrong(
        "flows.csv",
        flows,
        &[
            "flows.csv:2:5: dst_host: there is no node `h9`",
            "flows.csv:3:1: start_s: expected 0 s to 100 years",
            "flows.csv:3:8: packets: expected 1 to 4294967295 packets, found `0`",
            "flows.csv:4:1: expected 4 columns, found 3",
            "flows.csv:5:3: a cell that begins with a quote",
            "flows.csv:6:7: packets: expected 1 to 4294967295 packets, found `2.5`",
        ],
    );
    let misspelled = "a,b,rate_bsp,delay_ns,colour\n0,1,1e7,1000,red\n";
    let told = wrong("links.csv", misspelled, &["links.csv:1:5: there is no column `rate_bsp`"]);
    assert!(told.contains("did you mean `rate_bps`?"), "{told}");
    let rate = "a,b,rate_bps,delay_ns\n0,1,10MB/s,1000\n";
    let told = wrong("links.csv", rate, &["links.csv:2:5: rate_bps: expected a rate"]);
    assert!(told.contains("80Mbit/s"), "{told}");
}
