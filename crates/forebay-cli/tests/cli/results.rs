//! What a run prints and writes.

use crate::{Desk, SMALL};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn hashes(summary: &Value) -> Vec<String> {
    let runs = summary["runs"].as_array().expect("runs");
    runs.iter().map(|run| run["trace_hash"].as_str().expect("a hash").to_string()).collect()
}

/// Take out what is measured with a clock.
fn without_costs(mut summary: Value) -> Value {
    for run in summary["runs"].as_array_mut().expect("runs") {
        for cost in ["wall_s", "cpu_s"] {
            assert!(run[cost].take().is_number(), "{cost}");
        }
        assert!(run["reference"]["cpu_s"].take().is_number());
    }
    assert!(summary["memory"]["jobs"].take().is_number());
    for cost in ["available_mib", "peak_mib", "peak_by_jobs_mib"] {
        let told = summary["memory"][cost].take().is_number();
        assert_eq!(told, cfg!(target_os = "linux"), "{cost}");
    }
    summary
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk
}

#[test]
fn a_table_has_a_column_per_protocol_and_fits_80_columns() {
    let done = desk().forebay(&["run", "small.toml", "--protocol", "newreno,cubic"]).ok();
    assert_eq!(done.stderr, "");
    assert!(done.stdout.contains("NewReno") && done.stdout.contains("CUBIC"), "{}", done.stdout);
    for word in [
        "AFCT, ms",
        "goodput (all flows), Mbit/s",
        "retransmits",
        "completed",
        "1 of 1",
        "trace hash",
    ] {
        assert!(done.stdout.contains(word), "no `{word}` in:\n{}", done.stdout);
    }
    assert!(done.stdout.lines().all(|line| line.chars().count() <= 80), "{}", done.stdout);
    assert!(!done.stdout.contains('\x1b'), "colour without a terminal");
}

#[test]
fn flows_without_end_are_not_waited_for() {
    let desk = Desk::new();
    let endless = SMALL.replace("bytes = 100_000", "endless = true");
    desk.file("endless.toml", format!("until_s = 2\n{endless}"));
    let text = desk.forebay(&["run", "endless.toml"]).ok().stdout;
    assert!(text.contains("delivered (all flows), MB") && !text.contains("completed"), "{text}");
}

#[test]
fn several_seeds_have_intervals_and_one_has_none() {
    let desk = desk();
    let one = desk.forebay(&["run", "small.toml"]).ok().stdout;
    let many = desk.forebay(&["run", "small.toml", "--seeds", "3"]).ok().stdout;
    assert!(!one.contains('±') && many.contains('±') && many.contains("over 3 seeds"), "{many}");
}

#[test]
fn json_is_one_object_with_the_promised_keys() {
    let args = ["run", "small.toml", "--json", "--protocol", "newreno,cubic", "--seeds", "1,2"];
    let done = desk().forebay(&args).ok();
    assert_eq!((done.stderr.as_str(), done.stdout.lines().count()), ("", 1));
    let summary = done.json();
    assert_eq!(summary["scenario"], "small.toml");
    let runs = summary["runs"].as_array().expect("runs");
    let keys: Vec<_> = runs.iter().map(|r| (r["protocol"].as_str(), r["seed"].as_u64())).collect();
    let (newreno, cubic) = (Some("newreno"), Some("cubic"));
    assert_eq!(keys, [(newreno, Some(1)), (newreno, Some(2)), (cubic, Some(1)), (cubic, Some(2))]);
    let run = &runs[0];
    for key in ["events", "packet_hops", "wall_s", "cpu_s", "flows", "completed"] {
        assert!(run[key].is_number(), "{key}");
    }
    for key in ["afct_s", "fct_p50_s", "fct_p99_s", "jain_goodput", "goodput_bps"] {
        assert!(run["metrics"][key].is_number(), "{key}");
    }
    for key in ["queue_delay_mean_ms", "queue_delay_p95_ms"] {
        assert!(run["metrics"][key].is_number(), "{key}");
    }
    assert!(run["metrics"]["utilisation"]["r0-r1"].is_number());
    assert!(run["drops"]["full"].is_number() && run["reference"]["kind"].is_string());
    let flow = &run["per_flow"][0];
    assert_eq!((flow["id"].as_u64(), flow["bytes"].as_u64()), (Some(1), Some(100_000)));
    for key in ["start_s", "fct_s", "goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "retransmits"] {
        assert!(flow[key].is_number(), "{key}");
    }
    assert_eq!(summary["aggregate"].as_array().map(Vec::len), Some(2));
}

/// 100 kB are 70 packets; with 52 bytes of headers each they take 82.9 ms at 10 Mbit/s. The first
/// arrives 1.5 round trips after the SYN at the earliest. A round trip is 30 ms of propagation and
/// at most 3 ms of transmission and waiting while the window (10, 15, 22 segments with an ACK for
/// every second packet) is below the 27 packets that the path holds: three idle gaps.
#[test]
fn the_completion_time_is_what_arithmetic_says() {
    let summary = desk().forebay(&["run", "small.toml", "--json"]).ok().json();
    let fct_s = summary["runs"][0]["metrics"]["afct_s"].as_f64().expect("completed");
    let sent_s = (100_000.0 + 70.0 * 52.0) * 8.0 / 10e6;
    assert!(fct_s > sent_s + 1.5 * 0.030 && fct_s < sent_s + 4.5 * 0.033, "{fct_s}");
}

#[test]
fn the_trace_hash_knows_scenario_and_seed_and_nothing_else() {
    let desk = desk();
    let run = |more: &[&str]| {
        let args = [&["run", "small.toml", "--json", "--seeds", "4"], more].concat();
        without_costs(desk.forebay(&args).ok().json())
    };
    let first = run(&["--jobs", "1"]);
    assert_eq!(run(&["--jobs", "1"]), first, "twice");
    assert_eq!(run(&["--jobs", "4"]), first, "side by side");
    assert_eq!(run(&["--bytes"]), first, "as bytes");
    assert_eq!(hashes(&run(&["--general"])), hashes(&first), "the general way");
    let mut different = hashes(&first);
    different.dedup();
    assert_eq!(different.len(), 4, "seeds must differ");
    assert_ne!(hashes(&run(&["--set", "links.r0-r1.delay=6ms"])), hashes(&first));
}

#[test]
fn a_scenario_without_chance_says_so() {
    let args = ["run", "small.toml", "--set", "start_jitter=0s", "--seeds", "2"];
    let text = desk().forebay(&args).ok().stdout;
    assert!(text.contains("note:") && text.contains("random"), "{text}");
}

#[test]
fn flows_that_do_not_complete_are_not_hidden() {
    let args = ["run", "small.toml", "--set", "until_s=0.05"];
    let text = desk().forebay(&args).ok().stdout;
    assert!(text.contains("0 of 1") && text.contains("note:"), "{text}");
}

#[test]
fn figures_of_others_stand_beside_s1() {
    let text = desk().forebay(&["run", "s1"]).ok().stdout;
    for word in ["ns-3-dev", "22.50", "ns-3.41", "23.58", "26.27", "floor", "24.86"] {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
    let changed = desk().forebay(&["run", "s1", "--set", "tcp.min_rto=200ms"]).ok().stdout;
    assert!(!changed.contains("ns-3"), "{changed}");
}

#[test]
fn results_are_written_and_replace_only_results() {
    let desk = desk();
    for force in [&[][..], &["--force"]] {
        let args = [&["run", "small.toml", "--out", "results", "--pcap"], force].concat();
        desk.forebay(&args).ok();
        assert_eq!(desk.names(), ["results", "small.toml"]);
        let folder = |name: &str| desk.path("results").join(name);
        for name in ["scenario.toml", "summary.json", "flows.parquet", "series.parquet"] {
            assert!(folder(name).metadata().is_ok_and(|m| m.len() > 0), "{name}");
        }
        let capture = std::fs::read(folder("packets.pcapng")).expect("a capture");
        assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section header block");
    }
    let text = std::fs::read_to_string(desk.path("results/summary.json")).expect("a summary");
    let kept: Value = serde_json::from_str(&text).expect("JSON");
    let again = desk.forebay(&["run", "results/scenario.toml", "--json"]).ok().json();
    assert_eq!(hashes(&kept), hashes(&again), "the expanded scenario is the same scenario");
}

/// More threads than cores wait for each other: 256 on 2 cores took minutes for seconds.
#[test]
fn threads_beyond_the_cores_are_not_used_and_a_note_says_so() {
    let desk = desk();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (one, many) = (
        desk.forebay(&["run", "small.toml", "--json"]).ok().json(),
        desk.forebay(&["run", "s2", "--set", "until_s=1", "--threads", "256", "--json"])
            .ok()
            .json(),
    );
    assert!(one["notes"].as_array().is_some_and(|notes| notes.is_empty()), "{}", one["notes"]);
    let used = many["runs"][0]["threads"].as_u64().expect("a number") as usize;
    assert!(used <= cores, "{used} threads on {cores} cores");
    if cores < 256 {
        let notes = many["notes"].to_string();
        assert!(notes.contains("--threads 256 is more than the"), "{notes}");
    }
    let few = desk.forebay(&["run", "s2", "--set", "until_s=1", "--json"]).ok().json();
    assert_eq!(hashes(&many), hashes(&few));
}

#[test]
fn events_are_lines_and_whoever_reads_them_may_leave() {
    let desk = desk();
    let done = desk.forebay(&["run", "small.toml", "--events", "1"]).ok();
    // 70 packets of data over three links, and as many events at least.
    assert!(done.stdout.lines().count() > 3 * 70, "{}", done.stdout);
    assert!(done.stderr.contains("AFCT"), "the table is beside: {}", done.stderr);
    let args = ["run", "dumbbell", "--protocol", "cubic", "--events", "1"];
    let mut child = desk.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.as_mut().expect("the binary starts");
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    reader.read_line(&mut String::new()).expect("a line");
    drop(reader);
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    let mut stderr = BufReader::new(child.stderr.take().expect("piped")).lines();
    assert!(stderr.next().is_none(), "a reader that leaves is no error");
}

/// 10 kB in each round trip of 30 ms, where the path holds 37 kB and the queue more.
#[test]
fn a_flow_that_its_buffers_limit_is_named_in_a_note() {
    let desk = desk();
    let text = desk.forebay(&["run", "small.toml"]).ok().stdout;
    assert!(!text.contains("limited by"), "{text}");
    for (key, what) in
        [("receive_buffer_bytes", "receive window"), ("send_buffer_bytes", "send buffer")]
    {
        let set = format!("tcp.{key}=10kB");
        let text = desk.forebay(&["run", "small.toml", "--set", &set]).ok().stdout;
        let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = format!("newreno: flow 1 was limited by the {what} for ");
        assert!(line.contains(&told) && line.contains(&format!("raise tcp.{key}")), "{text}");
    }
}

/// Each has a column of its own, named to distinguish it from the others.
#[test]
fn forty_variants_in_one_run() {
    let desk = Desk::new();
    let names: Vec<String> = (1..=40).map(|n| format!("copa-{n}")).collect();
    let tables = names.iter().zip(1..).map(|(name, n)| {
        format!("[protocol.{name}]\nof = \"copa\"\ndelta = {}\n", f64::from(n) / 100.0)
    });
    desk.file("many.toml", format!("{SMALL}{}", tables.collect::<String>()));
    let protocols = names.join(",");
    let run = |more: &[&str]| {
        let args = ["run", "many.toml", "--protocol", &protocols, "--no-reference"];
        desk.forebay(&[&args[..], more].concat()).ok()
    };
    let json = run(&["--json", "--out", "results"]).json();
    let runs = json["runs"].as_array().expect("runs");
    let aggregate = json["aggregate"].as_array().expect("means");
    assert_eq!((runs.len(), aggregate.len()), (40, 40));
    for (n, name) in names.iter().enumerate() {
        let label = format!("{name} (delta = {})", (n + 1) as f64 / 100.0);
        for of in [&runs[n], &aggregate[n]] {
            assert_eq!(
                (of["protocol"].as_str(), of["label"].as_str()),
                (Some(&name[..]), Some(&label[..]))
            );
        }
    }
    let text = run(&[]).stdout;
    assert!(names.iter().all(|name| text.contains(&format!("{name} (delta"))), "{text}");
}
