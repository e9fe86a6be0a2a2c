//! Each packet that comes to a queue has one line of `--events`: that it was queued, or dropped.

use crate::scenario;
use forebay_lab::scenario::Scenario;
use forebay_lab::{EventFilter, EventWriter, Outputs, RunOptions, run_one};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Lines at node `l`, which has the bottleneck.
fn lines(scenario: &Scenario) -> String {
    let text = Arc::new(Mutex::new(Vec::<u8>::new()));
    let writer: EventWriter = text.clone();
    let filter = EventFilter::parse("node:l", scenario).unwrap();
    let outputs = Outputs { events: Some((filter, &writer)), ..Outputs::default() };
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    run_one(scenario, "newreno", 1, &options).unwrap();
    let text = text.lock().unwrap().clone();
    String::from_utf8(text).unwrap()
}

/// Counts of lines by what happened, and of packets that were queued and dropped at one time.
fn counted(lines: &str) -> (BTreeMap<String, usize>, usize) {
    let (mut counts, mut twice) = (BTreeMap::new(), 0);
    let (mut queued, mut since) = (Vec::new(), "");
    for line in lines.lines() {
        let (time, rest) = line.trim_start().split_once(' ').unwrap();
        let (what, _) = rest.split_once(' ').unwrap();
        *counts.entry(what.to_string()).or_default() += 1;
        if time != since {
            (queued, since) = (Vec::new(), time);
        }
        let packet = line.split_once(" seq ").unwrap().1;
        match what {
            "queued" => queued.push(packet),
            "dropped" => twice += usize::from(queued.contains(&packet)),
            _ => {}
        }
    }
    (counts, twice)
}

/// Drop-tail, RED, PIE and a cell refuse a packet or keep it; CoDel, FQ-CoDel drop also what they
/// had queued.
#[test]
fn a_packet_is_queued_or_dropped_on_arrival() {
    let constant = "rate = \"10Mbit/s\"";
    let traced = "generator = { name = \"campus-pedestrian\", scale = 0.6 }";
    for (discipline, drops_later) in [
        ("droptail", false),
        ("red", false),
        ("pie", false),
        ("cell", false),
        ("codel", true),
        ("fq-codel", true),
    ] {
        for channel in [constant, traced] {
            let queue = format!("queue = {{ discipline = \"{discipline}\", limit = \"25kB\" }}");
            let link = format!("links=[{{ a = \"l\", b = \"r\", {queue}, {channel} }}]");
            let scenario = scenario(&[&link, "flows.0.bytes=1MB"]);
            let (counts, twice) = counted(&lines(&scenario));
            let what = format!("{discipline}, {channel}: {counts:?}");
            assert_eq!(twice, 0, "{what}");
            let (came, queued, dropped) = (counts["arrived"], counts["queued"], counts["dropped"]);
            assert!(dropped > 0, "{what}");
            if drops_later {
                assert!(queued <= came && came <= queued + dropped, "{what}");
            } else {
                assert_eq!(came, queued + dropped, "{what}");
            }
        }
    }
}
