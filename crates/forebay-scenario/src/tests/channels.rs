//! Delivery traces in scenarios: files, defaults, directions, and what is refused.

use super::*;
use crate::format::traces::{parse_trace, write_trace};
use forebay_net::ChannelSpec;
use std::fs;
use std::io::Read;
use tempfile::TempDir;

const FILE: &str = "0\n5\n5\n20\n";

/// The small scenario with `rate` of its link replaced by `keys`, next to the file `x.trace`.
fn folder(keys: &str, trace: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = SMALL.replacen("rate = \"10Mbit/s\"", keys, 1);
    fs::write(folder.path().join("s.toml"), text).expect("written");
    fs::write(folder.path().join("x.trace"), trace).expect("written");
    folder
}

fn load(folder: &TempDir, set: &[&str]) -> Result<Scenario, String> {
    files::load(folder, set)
}

fn refused(trace: &[u8]) -> String {
    load(&folder("trace = \"x.trace\"", trace), &[]).expect_err("a bad trace is refused")
}

fn trace_of(scenario: &Scenario, seed: u64, link: usize) -> Option<(u64, u64)> {
    match &scenario.build("cubic", seed).expect("builds").links[link].channel {
        ChannelSpec::Trace { trace, offset } => Some((trace.opportunities(), offset.as_nanos())),
        _ => None,
    }
}

#[test]
fn a_link_follows_a_file_both_ways() {
    let desk = folder("trace = \"x.trace\"", FILE.as_bytes());
    let scenario = load(&desk, &[]).expect("loads");
    let link = &scenario.links[0];
    assert_eq!(link.forward, link.reverse);
    // 4 x 1504 bytes in 20 ms.
    assert_eq!((link.forward.rate.bps(), link.forward.wire.overhead_bytes), (2_406_400, 4));
    assert_eq!(link.forward.queue, Limit::Bytes(15_040), "50 ms at the mean rate");
    assert_eq!(
        (trace_of(&scenario, 1, 0), trace_of(&scenario, 1, 1)),
        (Some((4, 0)), Some((4, 0)))
    );
    assert_eq!(trace_of(&scenario, 1, 2), None);
    assert_eq!(parse(&scenario.to_toml()), scenario);
    assert!(scenario.notes().is_empty());
}

#[test]
fn each_direction_has_a_rate_or_a_trace_of_its_own() {
    let down = "trace = \"x.trace\"\nreverse = { rate = \"1Mbit/s\" }";
    let desk = folder(down, FILE.as_bytes());
    let scenario = load(&desk, &[]).expect("loads");
    let link = &scenario.links[0];
    assert_eq!((&link.reverse.channel, link.reverse.rate.bps()), (&Channel::Constant, 1_000_000));
    assert_eq!(link.reverse.wire.overhead_bytes, 0);
    assert_eq!(parse(&scenario.to_toml()), scenario);
    // A trace stands in place of the rate that others give.
    let up = "rate = \"9Mbit/s\"\nreverse = { trace = { file = \"x.trace\", offset = \"7ms\" } }";
    let desk = folder(up, FILE.as_bytes());
    let scenario = load(&desk, &[]).expect("loads");
    assert_eq!(scenario.links[0].forward.channel, Channel::Constant);
    assert_eq!(trace_of(&scenario, 3, 1), Some((4, 7_000_000)));
    assert_eq!(parse(&scenario.to_toml()), scenario);
    let set = "links.0.trace=x.trace";
    let desk = folder("rate = \"9Mbit/s\"", FILE.as_bytes());
    let scenario = load(&desk, &[set]).expect("loads");
    assert_eq!(trace_of(&scenario, 1, 0), Some((4, 0)));
    let note = "links[0].rate is not used: links[0].trace says the rate";
    assert_eq!(scenario.notes(), [note]);
}

#[test]
fn a_random_offset_is_of_the_seed_and_the_direction() {
    let keys = "trace = { file = \"x.trace\", offset = \"random\" }";
    let desk = folder(keys, FILE.as_bytes());
    let scenario = load(&desk, &["start_jitter=0s"]).expect("loads");
    assert!(scenario.is_random());
    let offset = |seed, link| trace_of(&scenario, seed, link).expect("a trace").1;
    assert_eq!(offset(1, 0), offset(1, 0));
    assert!(offset(1, 0) != offset(2, 0) && offset(1, 0) != offset(1, 1));
    assert!((1..50).all(|seed| offset(seed, 0) < 20_000_000));
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

#[test]
fn line_ends_of_windows_and_a_last_line_without_end_are_read() {
    let of = |text: &str| parse_trace(text.as_bytes(), "x").expect("a good trace");
    assert_eq!(of("0\r\n5\r\n5\r\n20\r\n"), of(FILE));
    assert_eq!(of("0\n5\n5\n20"), of(FILE));
    assert_eq!(of("\u{feff}0\n5\n5\n20"), of(FILE), "a byte order mark before the first");
    let mut written = Vec::new();
    write_trace(&of(FILE), &mut written).expect("written");
    assert_eq!(String::from_utf8(written).as_deref(), Ok(FILE));
}

#[test]
fn bad_traces_are_refused_with_their_line() {
    let at = "s.toml:10:9: links[0].trace: ";
    let below = "\n  10 | trace = \"x.trace\"\n     |         ^^^^^^^^^";
    let full = |said: &str| format!("{at}{said}{below}");
    let line = |n: u32, said: &str| full(&format!("`x.trace` line {n}: {said}"));
    assert_eq!(
        refused(b""),
        full("`x.trace` is no delivery trace: it is empty; expected a time in ms in each line")
    );
    assert_eq!(
        refused(b"0\n0\n"),
        full(
            "`x.trace` is no delivery trace: it has no duration: expected a last time above 0 ms, \
              after which it repeats"
        )
    );
    let order = "expected a time of 7 ms or more, as in the line before, found 6";
    assert_eq!(refused(b"3\n7\n6\n9\n"), line(3, order));
    assert_eq!(refused(b"-3\n7\n"), line(1, "expected a time of 0 ms or more, found `-3`"));
    assert_eq!(refused(b"1\n2.5\n"), line(2, "expected a whole number of ms, found `2.5`"));
    assert_eq!(refused(b"1\nms\n"), line(2, "expected a whole number of ms, found `ms`"));
    assert_eq!(refused(b"1\n\n2\n"), line(2, "expected a whole number of ms, found an empty line"));
    let late = "expected at most 31536000000 ms (a year), found `31536000001`";
    assert_eq!(refused(b"31536000001\n"), line(1, late));
    let long = format!("expected a whole number of ms, found `{}…`", "0".repeat(40));
    assert_eq!(refused(&[b'0'; 300]), line(1, &long));
    assert!(refused(b"\xff\xfe1\0").contains("line 1: expected a whole number of ms"));
}

#[test]
fn files_that_are_not_there_and_rates_of_traces_are_refused() {
    let missing = load(&folder("trace = \"y.trace\"", b"1\n"), &[]).expect_err("no such file");
    assert!(missing.contains("cannot read `y.trace`: there is no such file"), "{missing}");
    assert!(missing.contains("hint: give the file with --set links.0.trace=PATH"), "{missing}");
    let keys = "rate = \"9Mbit/s\"\nschedule = \"y.csv\"";
    let missing = load(&folder(keys, b"1\n"), &[]).expect_err("no such file");
    assert!(missing.contains("hint: give the file with --set links.0.schedule=PATH"), "{missing}");
    let keys = "trace = { offset = \"1s\" }";
    let wrong = load(&folder(keys, b"1\n"), &[]).expect_err("no file");
    assert!(wrong.contains("the key `file` is missing"), "{wrong}");
    let wrong = load(&folder("trace = 3", b"1\n"), &[]).expect_err("no file");
    assert!(wrong.contains("expected a file, or a table such as"), "{wrong}");
    let event = ["events.0.rate=3Mbit/s"];
    let wrong = load(&folder("trace = \"x.trace\"", b"1\n"), &event).expect_err("no rate");
    let said = "events[0].rate: the link `left-right` follows a trace, which says its rate";
    assert!(wrong.contains(said), "{wrong}");
}

/// 100 MB of text in pieces: 12.5 million opportunities, of which each second one is new.
struct Long(u64, Vec<u8>);

impl Read for Long {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() && self.0 < 12_500_000 {
            let lines = (self.0..self.0 + 500).map(|n| format!("{:07}\n", n / 2));
            self.1 = lines.collect::<String>().into_bytes();
            self.0 += 500;
        }
        let taken = out.len().min(self.1.len());
        out[..taken].copy_from_slice(&self.1[..taken]);
        self.1.drain(..taken);
        Ok(taken)
    }
}

#[test]
fn a_trace_of_100_mb_is_streamed() {
    let trace = parse_trace(Long(0, Vec::new()), "long").expect("a good trace");
    assert_eq!(trace.opportunities(), 12_500_000);
    assert_eq!(trace.memory_bytes(), 6_250_000 * 12);
}

fn channel_message(keys: &str) -> String {
    let desk = folder(keys, b"1\n");
    load(&desk, &[]).expect_err("a bad link is refused")
}

#[test]
fn buckets_and_losses_are_read_and_written() {
    let keys = "rate = \"10Mbit/s\"\nbucket = { burst = \"30kB\", peak = \"1Gbit/s\" }\n\
                reverse = { loss = { enter = 0.01, leave = 0.25 } }";
    let desk = folder(keys, b"1\n");
    let scenario = load(&desk, &["events=[]"]).expect("loads");
    let link = &scenario.links[0];
    let bucket = Channel::Bucket { burst_bytes: 30_000, peak: Rate::mbps(1000) };
    assert_eq!((&link.forward.channel, &link.reverse.channel), (&bucket, &bucket));
    let model = LossModel::GilbertElliott { enter: 0.01, leave: 0.25, good: 0.0, bad: 1.0 };
    assert_eq!(
        (&link.forward.wire.loss_model, &link.reverse.wire.loss_model),
        (&None, &Some(model))
    );
    assert_eq!(parse(&scenario.to_toml()), scenario);
    let set = ["events=[]", "links.0.reverse.loss={ packets = [1, 4] }"];
    let scenario = load(&desk, &set).expect("loads");
    assert_eq!(scenario.links[0].reverse.wire.loss_model, Some(LossModel::List([1, 4].into())));
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

#[test]
fn bad_buckets_and_losses_are_refused() {
    let said = |keys: &str, text: &str| {
        let message = channel_message(keys);
        assert!(message.contains(text), "{message}");
    };
    let rate = "rate = \"10Mbit/s\"\n";
    said(
        &format!("{rate}bucket = {{ burst = 1000 }}"),
        "links[0].bucket.burst: `1000` is out of range: expected 1500 bytes or more, a packet of \
         the MTU",
    );
    said(
        &format!("{rate}bucket = {{ burst = 9000, peak = \"1Mbit/s\" }}"),
        "links[0].bucket.peak: `1Mbit/s` is out of range: expected the rate of the link \
         (10Mbit/s) or more",
    );
    said(
        "trace = \"x.trace\"\nbucket = { burst = 9000 }",
        "links[0].bucket: a link has a token bucket or a trace, not both",
    );
    said(
        &format!("{rate}loss = {{ enter = 0.1, leave = 0 }}"),
        "links[0].loss.leave: `0` is out of range: expected more than 0, at most 1",
    );
    said(
        &format!("{rate}loss = {{ enter = 0.1, leave = 1.5 }}"),
        "links[0].loss.leave: `1.5` is out of range: expected 0.0 to 1.0",
    );
    let message = channel_message(&format!("{rate}loss = {{ enter = 2, leave = 0.5 }}"));
    assert_eq!(message.matches("links[0].loss.enter: ").count(), 1, "{message}");
    let table = "links[0].loss: a table of losses has `enter` and `leave`, or `packets`";
    said(&format!("{rate}loss = {{ enter = 0.1 }}"), table);
    said(
        &format!("{rate}loss = {{ packets = [3, 3] }}"),
        "links[0].loss.packets: `[3, 3]` is out of range: expected numbers of packets from 1 on, \
         rising",
    );
    said(
        &format!("{rate}loss = {{ packets = [7] }}"),
        "events[0].loss: the link `left-right` has a table of losses, not a probability",
    );
}

#[test]
fn a_schedule_is_a_list_or_a_file_and_both_are_events() {
    let list = "rate = \"10Mbit/s\"\nschedule = [{ at = \"1s\", rate = \"2Mbit/s\", loss = 0.5 }, \
                { at = \"1500ms\", delay = \"9ms\" }]";
    let desk = folder(list, b"at_s,rate_bps,delay_ns,loss\n1,2000000,,0.5\n1500ms,,9ms,\n");
    let scenario = load(&desk, &["events=[]"]).expect("loads");
    let events: Vec<(u64, NetEvent)> =
        scenario.events.iter().map(|e| (e.at.as_nanos() / 1_000_000, e.event.clone())).collect();
    let at = |link| {
        let link = forebay_base::LinkId(link);
        let rate = (1000, NetEvent::Rate(link, Rate::mbps(2)));
        [
            rate,
            (1000, NetEvent::Loss(link, 0.5)),
            (1500, NetEvent::Delay(link, Span::from_millis(9))),
        ]
    };
    let [[a, b, c], [d, e, f]] = [at(0), at(1)];
    assert_eq!(events, [a, b, d, e, c, f]);
    let csv = ["events=[]", "links.0.schedule=x.trace"];
    let from_file = load(&desk, &csv).expect("loads");
    assert_eq!(from_file.events, scenario.events);
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

#[test]
fn bad_schedules_are_refused() {
    let rate = "rate = \"10Mbit/s\"\n";
    let said = |keys: &str, rows: &str, text: &str| {
        let desk = folder(keys, rows.as_bytes());
        let message = load(&desk, &[]).expect_err("a bad schedule is refused");
        assert!(message.contains(text), "{message}");
    };
    let file = format!("{rate}schedule = \"x.trace\"");
    said(&file, "rate_bps\n1000000\n", "x.trace:1:1: the column `at_s` is missing");
    said(&file, "at_s,loss\n1,1.5\n", "x.trace:2:3: loss: expected a probability from 0.0 to 1.0");
    let empty = format!("{rate}schedule = [{{ at = \"1s\" }}]");
    said(&empty, "", "links[0].schedule[0]: the key `rate` is missing: what changes");
    let trace = "trace = \"x.trace\"\nschedule = [{ at = \"1s\", rate = \"1Mbit/s\" }]";
    said(trace, "1\n", "links[0].schedule: it sets the rate of a link that follows a trace");
}

#[test]
fn a_generator_gives_each_seed_and_direction_a_trace() {
    let keys = "generator = { name = \"highway-driving\", length = \"20s\", scale = 0.5 }";
    let desk = folder(keys, b"1\n");
    let scenario = load(&desk, &["events=[]", "start_jitter=0s"]).expect("loads");
    let link = &scenario.links[0].forward;
    // 15 Mbit/s of 1500 bytes, halved, in opportunities of 1504.
    assert_eq!((link.rate.bps(), link.wire.overhead_bytes), (7_520_000, 4));
    assert!(scenario.is_random());
    let generated = |scenario: &Scenario, seed, link: usize| match scenario
        .build("cubic", seed)
        .expect("builds")
        .links
        .swap_remove(link)
        .channel
    {
        ChannelSpec::Trace { trace, .. } => trace,
        _ => panic!("a generated trace was expected"),
    };
    let first = generated(&scenario, 1, 0);
    assert_eq!(generated(&scenario, 1, 0), first);
    assert!(generated(&scenario, 1, 1) != first && generated(&scenario, 2, 0) != first);
    assert_eq!(parse(&scenario.to_toml()), scenario);
    let set = ["events=[]", "start_jitter=0s", "links.0.generator.seed=7"];
    let fixed = load(&desk, &set).expect("loads");
    assert!(!fixed.is_random());
    assert_eq!(generated(&fixed, 1, 0), generated(&fixed, 2, 1));
}

#[test]
fn a_generated_trace_begins_where_its_offset_says() {
    let keys = "generator = { name = \"city-driving\", length = \"20s\", seed = 7 }";
    let desk = folder(keys, b"1\n");
    let with = |offset: &str| {
        let offset = format!("links.0.generator.offset={offset}");
        load(&desk, &["events=[]", "start_jitter=0s", &offset]).expect("loads")
    };
    let (fixed, random) = (with("3s"), with("random"));
    assert!(!fixed.is_random() && random.is_random());
    assert_eq!(trace_of(&fixed, 1, 0).expect("a trace").1, 3_000_000_000);
    // One trace, begun elsewhere by each seed and each direction.
    let of = |seed, link| trace_of(&random, seed, link).expect("a trace");
    assert!(of(1, 0).0 == of(2, 1).0 && of(1, 0) == of(1, 0));
    let offsets = [of(1, 0).1, of(2, 0).1, of(1, 1).1];
    assert!(offsets[0] != offsets[1] && offsets[0] != offsets[2]);
    assert!(offsets.iter().all(|&offset| offset < 20_000_000_000));
    assert_eq!(parse(&random.to_toml()), random);
}

#[test]
fn bad_generators_are_refused() {
    for (keys, said) in [
        ("generator = \"city-drivin\"", "there is no generator `city-drivin`"),
        ("generator = \"city-drivin\"", "did you mean `city-driving`?"),
        (
            "generator = { name = \"sprout\", length = \"1500ms\" }",
            "generator.length: `1500ms` is out of range: expected whole seconds, 1s to 3600s",
        ),
        (
            "generator = { name = \"sprout\", scale = 0 }",
            "generator.scale: `0` is out of range: expected above 0, at most 100",
        ),
        (
            "generator = \"sprout\"\ntrace = \"x.trace\"",
            "links[0].trace: a link has one of `generator`, `trace` and `bucket`",
        ),
        (
            "generator = { name = \"sprout\", offset = 5 }",
            "links[0].generator.offset: expected a time such as \"5s\", or \"random\"",
        ),
        (
            "generator = { name = \"sprout\", offset = \"Random\" }",
            "links[0].generator.offset: expected a time such as \"5s\", or \"random\", found a",
        ),
        ("generator = \"sprout\"", "events[0].rate: the link `left-right` follows a trace"),
    ] {
        let desk = folder(keys, b"1\n");
        let message = load(&desk, &["events.0.rate=1Mbit/s"]).expect_err("refused");
        assert!(message.contains(said), "{message}");
    }
}
