//! Wrong input gets one clear message with its place, exit code 2, and leaves nothing behind.

use crate::{Desk, Done, SMALL};
use forebay_prerequisites::skip;

/// Run a scenario that must be refused, with an output folder that must not appear.
fn refused(desk: &Desk, args: &[&str]) -> Done {
    let before = desk.names();
    let all = [&["run"], args, &["--out", "results"]].concat();
    let done = desk.forebay(&all);
    assert_eq!(done.code, 2, "{args:?}: {}{}", done.stdout, done.stderr);
    assert_eq!(done.stdout, "", "{args:?}");
    assert!(done.stderr.starts_with("error: "), "{args:?}: {}", done.stderr);
    assert!(!done.stderr.contains("panicked"), "{args:?}: {}", done.stderr);
    assert_eq!(desk.names(), before, "{args:?} left something behind");
    done
}

/// `SMALL` with one text replaced must be refused at that line, with these words.
fn refused_at(from: &str, to: &str, line: usize, words: &[&str]) {
    assert!(SMALL.contains(from), "{from}");
    let desk = Desk::new();
    desk.file("bad.toml", SMALL.replacen(from, to, 1));
    let done = refused(&desk, &["bad.toml"]);
    let place = format!("bad.toml:{line}:");
    for word in words.iter().copied().chain([place.as_str()]) {
        assert!(done.stderr.contains(word), "no `{word}` in:\n{}", done.stderr);
    }
}

#[test]
fn an_unknown_key_with_the_nearest_one() {
    refused_at(
        "rate = \"10Mbit/s\"",
        "rat = \"10Mbit/s\"",
        8,
        &["links[0]", "`rat`", "did you mean `rate`?"],
    );
}

#[test]
fn a_wrong_type() {
    refused_at("bytes = 100_000", "bytes = true", 20, &["flows[0].bytes", "expected", "boolean"]);
}

#[test]
fn a_missing_or_wrong_unit() {
    refused_at("\"10Mbit/s\"", "10", 8, &["links[0].rate", "expected"]);
    refused_at("\"10Mbit/s\"", "\"10ms\"", 8, &["links[0].rate", "expected", "10ms"]);
}

/// A megabyte is 8 megabits: to take one for the other is an error of 8.
#[test]
fn bytes_where_bits_are_usual() {
    let both = ["links[0].rate", "1MB/s is 8Mbit/s", "\"80Mbit/s\"", "\"10Mbit/s\""];
    refused_at("\"10Mbit/s\"", "\"10 MBps\"", 8, &both);
    refused_at("\"10Mbit/s\"", "\"10MB/s\"", 8, &both);
    let kilo = ["1kB/s is 8kbit/s", "\"800kbit/s\"", "\"100kbit/s\""];
    refused_at("\"10Mbit/s\"", "\"100KB/s\"", 8, &kilo);
    refused_at("100_000", "\"10Mb\"", 20, &["8Mbit are 1MB", "\"1.25MB\"", "\"10MB\""]);
    refused_at("100_000", "\"64KB\"", 20, &["\"64kB\" (1000 bytes", "\"64KiB\" (1024 bytes"]);
}

#[test]
fn a_negative_or_zero_rate() {
    refused_at("\"10Mbit/s\"", "\"-10Mbit/s\"", 8, &["links[0].rate", "-10Mbit/s"]);
    refused_at("\"10Mbit/s\"", "\"0Mbit/s\"", 8, &["links[0].rate", "0Mbit/s"]);
}

#[test]
fn a_link_to_a_node_that_is_not_there() {
    refused_at("b = \"r1\"", "b = \"r9\"", 7, &["links[0].b", "`r9`", "one of: d, r0, r1, s"]);
}

#[test]
fn a_router_of_an_access_link_that_is_not_there() {
    // Hosts attach to routers, so those alone are suggested.
    refused_at(
        "attach = \"r1\"",
        "attach = \"x\"",
        15,
        &["there is no node `x`", "one of: r0, r1\n"],
    );
    refused_at(
        "attach = \"r1\"",
        "attach = \"s\"",
        15,
        &["`s` is a host: hosts attach to routers"],
    );
    let braces = &["hosts[1].attach", "\"{}\" stands for a number, but there is no `count`"];
    refused_at("attach = \"r1\"", "attach = \"r{}\"", 15, braces);
}

#[test]
fn a_destination_without_route() {
    let alone = "a = \"r0\"\nb = \"r2\"";
    let without = SMALL.replacen("[\"r0\", \"r1\"]", "[\"r0\", \"r1\", \"r2\"]", 1);
    let desk = Desk::new();
    desk.file("bad.toml", without.replacen("a = \"r0\"\nb = \"r1\"", alone, 1));
    let done = refused(&desk, &["bad.toml"]);
    for word in ["bad.toml:19:", "flows[0].dst", "no route", "`s`", "`d`"] {
        assert!(done.stderr.contains(word), "no `{word}` in:\n{}", done.stderr);
    }
}

#[test]
fn duplicate_names() {
    refused_at("name = \"d\"", "name = \"s\"", 14, &["hosts[1].name", "`s`", "twice"]);
    refused_at("[\"r0\", \"r1\"]", "[\"r0\", \"r1\", \"r0\"]", 3, &["`r0`", "twice"]);
}

#[test]
fn an_absurd_size() {
    refused_at(
        "100_000",
        "\"99999999999999999999TB\"",
        20,
        &["flows[0].bytes", "99999999999999999999TB"],
    );
    refused_at("name = \"s\"", "name = \"s{}\"\ncount = 4_000_000_000", 11, &["hosts[0]"]);
    refused_at("delay = \"5ms\"", "delay = \"99999999999999s\"", 4, &["delay"]);
}

#[test]
fn not_toml() {
    refused_at("routers = [\"r0\"", "routers = [\"r0", 3, &["TOML"]);
}

#[test]
fn files_that_cannot_be_read() {
    let desk = Desk::new();
    let because = |args: &[&str], words: &[&str]| {
        let done = refused(&desk, args);
        for word in words {
            assert!(done.stderr.contains(word), "no `{word}` in:\n{}", done.stderr);
        }
    };
    because(&["absent.toml"], &["absent.toml", "no such file"]);
    because(&["."], &["folder"]);
    desk.file("latin1.toml", b"description = \"x\"\nrouters = [\"caf\xe9\"]\n");
    because(&["latin1.toml"], &["latin1.toml", "UTF-8", "line 2"]);
    desk.file("plain", "");
    because(&["plain/x.toml"], &["plain/x.toml", "cannot read"]);
    // Opens, but reading fails, for every user.
    if cfg!(target_os = "linux") {
        because(&["/proc/self/mem"], &["/proc/self/mem", "cannot read"]);
    }
}

#[cfg(unix)]
#[test]
fn a_file_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.file("closed.toml", SMALL);
    let path = desk.path("closed.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("own file");
    if std::fs::read(&path).is_ok() {
        return skip("this user may read everything");
    }
    let done = refused(&desk, &["closed.toml"]);
    assert!(done.stderr.contains("permission denied"), "{}", done.stderr);
}

#[test]
fn an_unknown_protocol_or_scenario_with_the_nearest_one() {
    let desk = Desk::new();
    let says = |args: &[&str], words: &[&str]| {
        let done = refused(&desk, args);
        assert!(words.iter().all(|word| done.stderr.contains(word)), "{}", done.stderr);
    };
    says(&["dumbell"], &["no scenario `dumbell`", "did you mean `dumbbell`?"]);
    says(&["dumbbell", "--protocol", "cubik"], &["--protocol", "`cubik`", "did you mean `cubic`?"]);
    says(&["dumbbell", "--protocol", "cubic,cubic"], &["--protocol", "`cubic`", "twice"]);
    refused_at("[\"newreno\"]", "[\"newrino\"]", 2, &["protocols[0]", "did you mean `newreno`?"]);
}

#[test]
fn a_change_of_a_key_that_is_not_there() {
    let desk = Desk::new();
    let says = |set: &str, words: &[&str]| {
        let done = refused(&desk, &["dumbbell", "--set", set]);
        assert!(words.iter().all(|word| done.stderr.contains(word)), "{}", done.stderr);
    };
    says("tcp.min_rtt=1s", &["--set", "`min_rtt`", "did you mean `min_rto`?"]);
    says("links.0-3.rate=1Mbit/s", &["--set", "`0-3`"]);
    // Flows have no names: tables count from 0.
    says("flows.9.bytes=1", &["--set", "flows: ", "`9`", "elements count from 0"]);
    says("tcp.min_rto", &["--set", "key=value"]);
    says("tcp.min_rto=fast", &["--set", "tcp.min_rto", "fast"]);
}

#[test]
fn seeds_threads_and_jobs() {
    let desk = Desk::new();
    let says = |args: &[&str], words: &[&str]| {
        let done = refused(&desk, &[&["dumbbell"], args].concat());
        assert!(words.iter().all(|word| done.stderr.contains(word)), "{}", done.stderr);
    };
    says(&["--seeds", "5..1"], &["--seeds", "5..1", "empty"]);
    says(&["--seeds", ""], &["--seeds"]);
    says(&["--seeds", "0"], &["--seeds", "1..10"]);
    says(&["--seeds", "one"], &["--seeds", "`one`"]);
    says(&["--jobs", "0"], &["--jobs", "from 1"]);
    says(&["--threads", "0"], &["--threads", "from 1"]);
    says(&["--threads", "many"], &["--threads", "from 1"]);
}

#[test]
fn an_output_folder_that_cannot_be_written() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL).file("plain", "mine");
    std::fs::create_dir(desk.path("full")).expect("a folder");
    desk.file("full/thesis.tex", "mine");
    let before = desk.names();
    for (folder, word) in [("plain/x", "plain"), ("plain", "plain"), ("full", "full")] {
        let done = desk.forebay(&["run", "small.toml", "--out", folder]);
        assert_eq!(done.code, 2, "{folder}: {}", done.stderr);
        assert!(done.stderr.contains("--out") && done.stderr.contains(word), "{}", done.stderr);
        assert_eq!((done.stdout.as_str(), desk.names()), ("", before.clone()));
    }
    assert_eq!(std::fs::read(desk.path("full/thesis.tex")).expect("still there"), b"mine");
    assert_eq!(std::fs::read(desk.path("plain")).expect("still there"), b"mine");
}

#[test]
fn events_and_captures_of_what_is_not_there_or_of_many_runs() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let says = |args: &[&str], words: &[&str]| {
        let done = refused(&desk, &[&["small.toml"], args].concat());
        assert!(words.iter().all(|word| done.stderr.contains(word)), "{}", done.stderr);
    };
    says(&["--events", "9"], &["--events", "`9`"]);
    says(&["--events", "r7"], &["--events", "`r7`"]);
    says(&["--events", "1", "--seeds", "2"], &["--events", "one run"]);
    let done = desk.forebay(&["run", "small.toml", "--pcap"]);
    assert!(done.code == 2 && done.stderr.contains("--out"), "{}", done.stderr);
}

#[test]
fn samples_that_would_dominate_the_run_are_refused_with_the_least_distance() {
    let desk = Desk::new();
    let endless = SMALL.replace("bytes = 100_000", "endless = true");
    desk.file("endless.toml", format!("until_s = 2\n{endless}"));
    let done = refused(&desk, &["endless.toml", "--set", "sample_s=1e-9"]);
    let told = ["sample_s: `", "expected at least "].iter().all(|text| done.stderr.contains(text));
    assert!(told, "{}", done.stderr);
    desk.forebay(&["run", "endless.toml", "--set", "sample_s=0.001"]).ok();
}

#[test]
fn the_least_distance_of_samples_that_is_told_is_accepted() {
    let desk = Desk::new();
    for wanted in ["1e-9", "1e-7"] {
        let done = refused(&desk, &["dumbbell", "--set", &format!("sample_s={wanted}")]);
        let told = done.stderr.split("expected at least ").nth(1).expect("a least distance");
        let least = told.split(' ').next().unwrap_or_default();
        let set = format!("sample_s={least}");
        desk.forebay(&["run", "dumbbell", "--protocol", "newreno", "--set", &set]).ok();
    }
}

/// Verus: R below 1, no epoch, fits more often than epochs, M outside (0, 1), no profile, merged
/// ACKs.
#[test]
fn parameters_that_verus_cannot_work_with() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let range = "is out of range: expected";
    let cases: &[(&[&str], String)] = &[
        (&["r=0.99"], format!("--set:1:18: protocol.verus.r: `0.99` {range} 1 to 100")),
        (&["epoch_ms=0"], format!("--set:1:25: protocol.verus.epoch_ms: `0` {range} 1 to 1000")),
        (
            &["update_ms=4.9"],
            format!("--set:1:26: protocol.verus.update_ms: `4.9` {range} epoch_ms to 1000000"),
        ),
        (
            &["epoch_ms=20", "update_ms=19"],
            format!("--set:1:26: protocol.verus.update_ms: `19` {range} epoch_ms to 1000000"),
        ),
        (&["m=0"], format!("--set:1:18: protocol.verus.m: `0` {range} above 0, below 1")),
        (&["m=1.0"], format!("--set:1:18: protocol.verus.m: `1.0` {range} above 0, below 1")),
        (
            &["profile_cap=0"],
            format!("--set:1:28: protocol.verus.profile_cap: `0` {range} 1 to 1000000"),
        ),
        (
            &["profile_cap=-1"],
            format!(
                "--set:1:28: protocol.verus.profile_cap: `-1` {range} an integer from 0 to \
                 4294967295"
            ),
        ),
    ];
    for (keys, expected) in cases {
        let keys: Vec<String> = keys.iter().map(|key| format!("protocol.verus.{key}")).collect();
        let sets = keys.iter().flat_map(|key| ["--set", key]);
        let args: Vec<&str> = ["small.toml"].into_iter().chain(sets).collect();
        let told = refused(&desk, &args).stderr;
        assert_eq!(told.lines().next(), Some(format!("error: {expected}").as_str()));
    }
}

#[test]
fn an_ack_policy_for_a_protocol_that_has_its_own() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let merged = "{ packets = 2, timeout = \"40ms\" }";
    let told = |set: &[&str]| {
        let sets = set.iter().flat_map(|key| ["--set", key]);
        let args: Vec<&str> = ["small.toml"].into_iter().chain(sets).collect();
        refused(&desk, &args).stderr.lines().next().unwrap_or_default().to_string()
    };
    let expected = "is out of range: expected \"every-packet\", or nothing: Verus needs an ACK for \
                    each packet";
    let own = format!("tcp_of.verus.ack_policy={merged}");
    let found = told(&[&own]);
    assert!(found.starts_with("error: --set:1:25: tcp_of.verus.ack_policy: `{ "), "{found}");
    assert!(found.ends_with(expected), "{found}");
    desk.forebay(&["run", "small.toml", "--set", "tcp_of.verus.ack_policy=every-packet"]).ok();
    let common = format!("tcp.ack_policy={merged}");
    desk.forebay(&["run", "small.toml", "--protocol", "verus", "--set", &common]).ok();
    let text = desk.forebay(&["explain", "verus"]).ok().stdout;
    assert!(text.contains("An ACK for each packet, whatever [tcp] says."), "{text}");
}

#[test]
fn a_loss_policy_for_a_protocol_that_has_its_own() {
    let desk = Desk::new();
    for (name, title) in [("verus", "Verus"), ("sprout", "Sprout")] {
        let table = format!("[tcp_of.{name}]\nloss_policy = \"dup-thresh\"\n");
        desk.file("own.toml", format!("{SMALL}\n{table}"));
        let line = SMALL.lines().count() + 3;
        let expected = format!(
            "error: own.toml:{line}:15: tcp_of.{name}.loss_policy: `dup-thresh` is out of range: \
             expected nothing: {title} finds losses by a rule of its own"
        );
        let told = refused(&desk, &["own.toml"]).stderr;
        assert!(told.starts_with(&expected), "{told}");
        assert!(told.contains("\nhint: remove the key; `[tcp]` sets it"), "{told}");
    }
    desk.file("small.toml", SMALL);
    for set in ["tcp_of.cubic.loss_policy=dup-thresh", "tcp.loss_policy=dup-thresh"] {
        desk.forebay(&["run", "small.toml", "--set", set]).ok();
    }
}
