//! One-way delay, round trip and queue delay against arithmetic, event lines and captures.

use crate::pcapng::{self, Record};
use crate::scenario;
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{
    Batch, CaptureLimit, EventFilter, EventWriter, Outputs, RunOptions, RunResult, Store, Summary,
    run_one,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

fn close(got: Option<f64>, expected: f64, tolerance: f64) {
    let got = got.unwrap();
    assert!((got - expected).abs() <= tolerance, "{got} is not {expected}");
}

/// One flow over 100 Mbit/s, 10 Mbit/s and 100 Mbit/s; 7 ms of propagation each way. A full packet
/// takes 0.12 ms and 1.2 ms.
fn alone(bytes: u64) -> RunResult {
    let set = ["start_jitter=0s".to_string(), format!("flows.0.bytes={bytes}")];
    let set: Vec<&str> = set.iter().map(String::as_str).chain(["flows.0.count=1"]).collect();
    run_one(&scenario(&set), "newreno", 1, &RunOptions::default()).unwrap()
}

#[test]
fn one_packet_takes_the_sum_of_its_parts() {
    let delays = alone(1448).metrics.of_flows;
    // The ACK that ends the handshake, 52 bytes, is in transmission before it at 100 Mbit/s.
    let there_ms = 0.00416 + 0.12 + 1.2 + 0.12 + 7.0;
    for got in [
        delays.one_way_delay_mean_ms,
        delays.one_way_delay_p50_ms,
        delays.one_way_delay_p95_ms,
        delays.one_way_delay_p99_ms,
    ] {
        close(got, there_ms, 1e-9);
    }
    // Its ACK of 52 bytes finds nothing in its way; the sample of the handshake is shorter.
    let back_ms = 2.0 * 0.00416 + 0.0416 + 7.0;
    close(delays.rtt_p99_ms, there_ms + back_ms, 1e-9);
}

/// Ten packets at once. The interface of the host takes one packet after the one in transmission,
/// so packet k leaves the transport when packet k - 1 starts, 0.12 (k - 2) + 0.00416 ms after the
/// first; and it ends its transmission at 10 Mbit/s 1.2 k ms after the first has come there.
#[test]
fn packets_of_a_burst_wait_for_each_other() {
    let first_ms = 0.00416 + 0.12 + 1.0;
    let arrives_ms = |k: f64| first_ms + 1.2 * k + 5.0 + 0.12 + 1.0;
    let made_ms = |k: f64| if k < 2.0 { 0.0 } else { 0.00416 + 0.12 * (k - 2.0) };
    let delays_ms = (1..=10).map(|k| arrives_ms(f64::from(k)) - made_ms(f64::from(k)));
    let expected: Vec<f64> = delays_ms.collect();
    let delays = alone(14_480).metrics.of_flows;
    close(delays.one_way_delay_mean_ms, expected.iter().sum::<f64>() / 10.0, 1e-6);
    // Nearest rank: the fifth of ten, within a bucket of 3 %; the last.
    close(delays.one_way_delay_p50_ms, expected[4], 0.03 * expected[4]);
    close(delays.one_way_delay_p99_ms, expected[9], 1e-9);
}

/// Nanoseconds of a time in an event line.
fn time_ns(text: &str) -> u64 {
    let (s, ns) = text.split_once('.').unwrap();
    s.parse::<u64>().unwrap() * 1_000_000_000 + ns.parse::<u64>().unwrap()
}

/// Of the data packets of a flow, when each arrived, in ns, and its one-way delay in ms, from the
/// lines of `--events`.
fn from_event_lines(lines: &str, dst: &str) -> Vec<(u64, f64)> {
    let mut sent: BTreeMap<String, VecDeque<u64>> = BTreeMap::new();
    let mut delays_ms = Vec::new();
    for line in lines.lines() {
        let Some((before, packet)) = line.split_once(" >  ") else { continue };
        let words: Vec<&str> = before.split_whitespace().collect();
        let (at_ns, event, place) = (time_ns(words[0]), words[1], words[2]);
        if packet.contains(" len 0 ") {
            continue;
        }
        match event {
            "sent" => sent.entry(packet.to_string()).or_default().push_back(at_ns),
            "arrived" if place.ends_with(&format!("->{dst}")) => {
                let sent_ns = sent.get_mut(packet).unwrap().pop_front().unwrap();
                delays_ms.push((at_ns, (at_ns - sent_ns) as f64 * 1e-6));
            }
            _ => {}
        }
    }
    delays_ms
}

/// A run, and the delays of each flow with the times of arrival.
pub fn by_event_lines(scenario: &Scenario, protocol: &str) -> (RunResult, Vec<Vec<(u64, f64)>>) {
    let mut of_flows = Vec::new();
    let mut result = None;
    for (i, flow) in scenario.flows.iter().enumerate() {
        let text = Arc::new(Mutex::new(Vec::<u8>::new()));
        let writer: EventWriter = text.clone();
        let filter = EventFilter::parse(&format!("flow:{}", i + 1), scenario).unwrap();
        let outputs = Outputs { events: Some((filter, &writer)), ..Outputs::default() };
        let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
        result = Some(run_one(scenario, protocol, 1, &options).unwrap());
        let text = String::from_utf8(text.lock().unwrap().clone()).unwrap();
        of_flows.push(from_event_lines(&text, &scenario.nodes[flow.dst.index()].name));
    }
    (result.unwrap(), of_flows)
}

fn assert_as_by_event_lines(scenario: &Scenario, protocol: &str) -> RunResult {
    let (result, of_flows) = by_event_lines(scenario, protocol);
    let mut all: Vec<f64> = of_flows.concat().into_iter().map(|(_, ms)| ms).collect();
    all.sort_by(f64::total_cmp);
    let delays = result.metrics.of_flows;
    close(delays.one_way_delay_mean_ms, all.iter().sum::<f64>() / all.len() as f64, 1e-5);
    let quantiles = [
        (0.5, delays.one_way_delay_p50_ms),
        (0.95, delays.one_way_delay_p95_ms),
        (0.99, delays.one_way_delay_p99_ms),
    ];
    for (q, got) in quantiles {
        let expected = all[(q * all.len() as f64).ceil() as usize - 1];
        close(got, expected, 0.03 * expected);
    }
    result
}

#[test]
fn retransmissions_count_from_their_own_departure() {
    let scenario = scenario(&["start_jitter=0s"]);
    let result = assert_as_by_event_lines(&scenario, "newreno");
    assert!(result.metrics.of_flows.retransmits > 0);
    // Without an observer, as bytes, and in other partitions than its sender's: the same.
    for (bytes, threads) in [(false, 1), (true, 1), (false, 2), (false, 4)] {
        let options = RunOptions { bytes, threads, without_trial: true, ..RunOptions::default() };
        let again = run_one(&scenario, "newreno", 1, &options).unwrap();
        assert_eq!(again.metrics, result.metrics, "{bytes} {threads}");
    }
}

fn inrpp(set: &[&str]) -> Scenario {
    let set = set.iter().map(ToString::to_string).collect();
    Scenario::load("inrpp/dumbbell", &LoadOptions { set, ..LoadOptions::default() }).unwrap()
}

#[test]
fn what_waits_in_a_cache_is_under_way() {
    let scenario = inrpp(&["flows.0.bytes=2MB"]);
    let delays = assert_as_by_event_lines(&scenario, "inrpp").metrics.of_flows;
    // The round trip is one way and at least 25 ms of propagation back.
    let (there, both) = (delays.one_way_delay_mean_ms.unwrap(), delays.rtt_mean_ms.unwrap());
    // A free path takes 26 ms; the link that two megabytes of each flow share is far too slow for
    // them.
    assert!(there > 200.0 && (there..there + 60.0).contains(&both), "{there} {both}");
}

/// The TCP bytes of a packet with or without IP options.
fn tcp_bytes(record: &Record) -> &[u8] {
    &record.bytes[usize::from(record.bytes[0] & 15) * 4..]
}

#[test]
fn queue_delay_holds_the_time_in_the_cache_of_the_router() {
    let scenario = inrpp(&["flows.0.bytes=2MB"]);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let store = Store::create(&target).unwrap();
    let capture = Some(CaptureLimit::default());
    let outputs = Outputs { capture, ..Outputs::to(&store) };
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let result = run_one(&scenario, "inrpp", 1, &options).unwrap();
    let batch = Batch { runs: vec![result.clone()], ..Batch::default() };
    store.finish(&scenario, &Summary::new("inrpp", &scenario, batch)).unwrap();
    let (_, records) = pcapng::read(&target.join("packets.pcapng"));
    let on = |interface: &'static str| records.iter().filter(move |r| r.interface == interface);
    let mut came: BTreeMap<&[u8], VecDeque<u64>> = BTreeMap::new();
    on("4->0").for_each(|r| came.entry(tcp_bytes(r)).or_default().push_back(r.at_ns));
    let (mut waited_ms, mut flows, mut own) = (0.0, 0, 0);
    for record in on("0->2") {
        let Some(came_ns) = came.get_mut(tcp_bytes(record)).and_then(VecDeque::pop_front) else {
            // A message of the router; those before the first flow are before the window.
            own += i32::from(record.at_ns as f64 * 1e-9 > result.metrics.window_s[0]);
            continue;
        };
        // 5 ms of propagation; 2 bytes of framing at 10 Mbit/s.
        let took_ms = 5.0 + (record.bytes.len() + 2) as f64 * 8e-4;
        waited_ms += (record.at_ns - came_ns) as f64 * 1e-6 - took_ms;
        flows += 1;
    }
    assert_eq!(result.metrics.queue_delay_link.as_deref(), Some("0-2"));
    // Messages wait for one packet at most, 1.2 ms.
    let all = f64::from(flows + own);
    let mean_ms = result.metrics.queue_delay_mean_ms.unwrap();
    let (least, most) = (waited_ms / all, (waited_ms + 1.2 * f64::from(own)) / all);
    assert!((least - 1e-5..most + 1e-5).contains(&mean_ms), "{least} {mean_ms} {most}");
    assert!(mean_ms > 200.0 && own < flows / 4, "{mean_ms} {own} {flows}");
}

#[test]
fn classes_are_the_protocols_of_flows_and_make_up_the_run() {
    let both = Scenario::parse(
        &crate::SMALL.replace(
            "flows = [{ src = \"s{}\", dst = \"d{}\", count = 2, bytes = 200_000 }]",
            "flows = [{ src = \"s0\", dst = \"d0\", bytes = 200_000, protocol = \"cubic\" }, \
             { src = \"s1\", dst = \"d1\", bytes = 100_000 }]",
        ),
        "both.toml",
        &LoadOptions::default(),
    );
    let result = run_one(&both.unwrap(), "newreno", 1, &RunOptions::default()).unwrap();
    let classes = &result.metrics.by_class;
    assert_eq!(classes.keys().collect::<Vec<_>>(), ["cubic", "newreno"]);
    // The mean of all is that of the classes by the packets that arrived: all that were sent and
    // not dropped.
    let means = classes.values().map(|class| class.of_flows.one_way_delay_mean_ms.unwrap());
    let (least, most) = means.fold((f64::MAX, 0f64), |(a, b), x| (a.min(x), b.max(x)));
    let all = result.metrics.of_flows.one_way_delay_mean_ms.unwrap();
    assert!(least < all && all < most, "{least} {all} {most}");
    let json = serde_json::to_value(&result).unwrap();
    let cubic = &json["metrics"]["by_class"]["cubic"];
    assert!(cubic["flows"] == 1 && cubic["rtt_p95_ms"].is_number(), "{cubic}");
}

#[test]
fn classes_of_one_protocol_have_metrics_of_their_own() {
    let text = crate::SMALL.replace(
        "flows = [{ src = \"s{}\", dst = \"d{}\", count = 2, bytes = 200_000 }]",
        "flows = [{ src = \"s0\", dst = \"d0\", bytes = 200_000, class = \"long\" }, \
         { src = \"s1\", dst = \"d1\", bytes = 20_000, class = \"short\", start = \"1s\" }, \
         { src = \"s1\", dst = \"d1\", bytes = 20_000, class = \"short\", start = \"2s\" }]",
    );
    let parse = |text: &str| Scenario::parse(text, "classes.toml", &LoadOptions::default());
    let scenario = parse(&text).unwrap();
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario);
    let result = run_one(&scenario, "newreno", 1, &RunOptions::default()).unwrap();
    let classes = &result.metrics.by_class;
    assert_eq!(classes.keys().collect::<Vec<_>>(), ["long", "short"]);
    let (long, short) = (&classes["long"], &classes["short"]);
    assert_eq!((long.flows, short.flows), (1, 2));
    assert_eq!((long.of_flows.delivered_bytes, short.of_flows.delivered_bytes), (200_000, 40_000));
    let fct = |flow: usize| result.per_flow[flow].fct_s.unwrap();
    let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-9 * b;
    assert!(
        close(long.of_flows.afct_s, fct(0))
            && close(short.of_flows.afct_s, (fct(1) + fct(2)) / 2.0)
    );
    // From the start of the first short flow, at 1 s or so, to the end of the second.
    let starts = |flow: usize| result.per_flow[flow].start_s.unwrap();
    assert!(close(short.of_flows.all_done_s, starts(2) + fct(2) - starts(1)));
    let all = result.metrics.of_flows.goodput_bps.unwrap();
    assert!(close(
        Some(long.of_flows.goodput_bps.unwrap() + short.of_flows.goodput_bps.unwrap()),
        all
    ));
    assert_eq!(
        result.metrics.of_flows.retransmits,
        long.of_flows.retransmits + short.of_flows.retransmits
    );
    assert!(long.of_flows.one_way_delay_mean_ms > short.of_flows.one_way_delay_mean_ms);
    // Classes change nothing of what happens.
    let plain = ["long", "short"]
        .iter()
        .fold(text.clone(), |text, class| text.replace(&format!(", class = \"{class}\""), ""));
    let plain = run_one(&parse(&plain).unwrap(), "newreno", 1, &RunOptions::default()).unwrap();
    assert_eq!(plain.trace_hash, result.trace_hash);
    let error = parse(&text.replace("\"long\"", "\"Long one\"")).unwrap_err().to_string();
    assert!(error.contains("class: `Long one` is out of range: expected 1 to 40"), "{error}");
}
