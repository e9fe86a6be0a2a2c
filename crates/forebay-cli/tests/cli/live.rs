//! `forebay live` and `forebay replay`: over real interfaces where the machine allows it, in real
//! time without wires, and with wrong input.

use crate::{Desk, Done, SMALL};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The exit code of a run that the machine was too busy for.
pub(crate) const UNFIT: i32 = 3;
/// The exit code where the machine forbids live runs.
pub(crate) const IMPOSSIBLE: i32 = 4;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk
}

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").expect("Linux has it").uid() == 0
}

/// A live run; None where the machine forbids it. Root may do it on any machine.
pub(crate) fn live(desk: &Desk, arguments: &[&str]) -> Option<Done> {
    let done = desk.forebay(&[&["live", "small.toml"], arguments].concat());
    if done.code == IMPOSSIBLE && !is_root() {
        forebay_prerequisites::skip(&format!("a live run: {}", done.stderr));
        return None;
    }
    assert!(done.code == 0 || done.code == UNFIT, "{}: {}", done.code, done.stderr);
    Some(done)
}

#[test]
fn a_live_run_is_recorded_and_replayed_to_the_bit() {
    let desk = desk();
    let Some(lived) = live(&desk, &["--record", "record", "--json"]) else { return };
    let json = lived.json();
    let run = &json["runs"][0];
    assert_eq!((&run["completed"], &run["wire"]["replayed"]), (&1.into(), &true.into()), "{run}");
    assert!(run["wire"]["sent_packets"].as_u64() > Some(300), "{run}");
    desk.file("lived.json", &lived.stdout);
    assert!(
        desk.forebay(&["run", "small.toml", "--late", "lived.json"]).ok().stdout.contains("AFCT")
    );
    let replayed = desk.forebay(&["replay", "record"]).ok();
    assert!(replayed.stdout.contains(": 4 of 4 places as recorded"), "{}", replayed.stdout);
    let again = desk.forebay(&["replay", "record", "--json"]).ok().json();
    assert_eq!(again["runs"][0]["trace_hash"], run["trace_hash"]);
    assert_eq!(again["runs"][0]["metrics"], run["metrics"]);
    let events = desk.forebay(&["replay", "record", "--events", "r0"]).ok();
    assert!(events.stdout.lines().count() > 200, "{}", events.stdout);
    // A packet that came otherwise than it was sent: the TTL of one in the middle, and the sum.
    let path = desk.path("record").join("r1.pcapng");
    let good = std::fs::read(&path).expect("a record");
    let mut bytes = good.clone();
    let middle = bytes.len() / 2;
    let packet = bytes[middle..].windows(2).position(|pair| pair == [0x45, 0]).expect("IPv4");
    bytes[middle + packet + 8] ^= 1;
    bytes[middle + packet + 10] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let other = desk.forebay(&["replay", "record"]);
    assert_eq!(other.code, 1, "{}", other.stderr);
    assert!(
        other.stderr.contains("came a packet that the replay does not send"),
        "{}",
        other.stderr
    );
    // A file that is cut short, and one that is missing.
    std::fs::write(&path, &good[..good.len() - 1]).expect("written");
    let short = desk.forebay(&["replay", "record"]);
    assert_eq!((short.code, short.stdout.as_str()), (2, ""), "{}", short.stderr);
    assert!(short.stderr.contains("r1.pcapng`: it has no end, and 3 of 4"), "{}", short.stderr);
    std::fs::remove_file(&path).expect("removed");
    let absent = desk.forebay(&["replay", "record"]);
    assert_eq!((absent.code, absent.stdout.as_str()), (2, ""), "{}", absent.stderr);
    assert!(absent.stderr.contains("it has no record of `r1`"), "{}", absent.stderr);
}

/// Two senders over a bottleneck: one is the kernel's, to a host of Forebay's; the other is
/// Forebay's, to a host of the kernel's.
const MIXED: &str = r#"
    until_s = 20
    routers = ["r0", "r1"]
    [[links]]
    a = "r0"
    b = "r1"
    rate = "20Mbit/s"
    delay = "5ms"
    queue = "100packets"
    [[hosts]]
    name = "s1"
    attach = "r0"
    rate = "1Gbit/s"
    delay = "1ms"
    queue = "1000packets"
    [[hosts]]
    name = "s2"
    attach = "r0"
    rate = "1Gbit/s"
    delay = "1ms"
    queue = "1000packets"
    [[hosts]]
    name = "d1"
    attach = "r1"
    rate = "1Gbit/s"
    delay = "1ms"
    queue = "1000packets"
    [[hosts]]
    name = "d2"
    attach = "r1"
    rate = "1Gbit/s"
    delay = "1ms"
    queue = "1000packets"
    [[flows]]
    src = "s1"
    dst = "d1"
    bytes = 400_000
    [[flows]]
    src = "s2"
    dst = "d2"
    bytes = 300_000
"#;

#[test]
fn the_kernels_tcp_sends_and_receives() {
    let desk = desk();
    desk.file("small.toml", MIXED);
    let chosen = ["--kernel", "s1=reno", "--kernel", "d2=reno", "--no-reference"];
    let kept = ["--record", "record", "--out", "out", "--json"];
    let Some(lived) = live(&desk, &[&chosen[..], &kept].concat()) else { return };
    let json = lived.json();
    let run = &json["runs"][0];
    assert_eq!((&run["completed"], &run["wire"]["replayed"]), (&2.into(), &true.into()), "{run}");
    let flow = |of: usize, key: &str| run["per_flow"][of][key].clone();
    let both = |key| [flow(0, key), flow(1, key)];
    assert_eq!(both("received_bytes"), [400_000.into(), 300_000.into()] as [serde_json::Value; 2]);
    assert_eq!(flow(0, "protocol"), "kernel reno");
    assert_ne!(flow(1, "protocol"), "kernel reno");
    // Packets of 1448 bytes, and the last.
    let packets = both("data_packets").map(|count| count.as_u64());
    assert!(packets[0] >= Some(277) && packets[1] >= Some(208), "{run}");
    // 12 ms there and back, and what it takes at 20 Mbit/s.
    for of in 0..2 {
        let (handshake, fct) = (flow(of, "handshake_s").as_f64(), flow(of, "fct_s").as_f64());
        assert!(handshake.is_some_and(|s| (0.014..1.0).contains(&s)), "{handshake:?}");
        assert!(fct.is_some_and(|s| (0.12..15.0).contains(&s)), "{fct:?}");
    }
    let again = desk.forebay(&["replay", "record", "--json", "--no-reference"]).ok().json();
    assert_eq!(again["runs"][0]["per_flow"], run["per_flow"]);
    assert_eq!(again["runs"][0]["metrics"], run["metrics"]);
    let notes = again["notes"].to_string();
    assert!(notes.contains("kernel reno sends flow 1"), "{notes}");
    // A file that is changed, and one that is missing.
    let path = desk.path("record").join("kernel.json");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let refused = |why: &str| {
        let broken = desk.forebay(&["replay", "record"]);
        assert_eq!(broken.code, 2, "{}", broken.stderr);
        assert!(broken.stderr.contains(&format!("kernel.json`: {why}")), "{}", broken.stderr);
    };
    for other in [text.replace("\"lost_packets\":0", "\"lost_packets\":7"), "[]".to_string()] {
        std::fs::write(&path, other).expect("written");
        refused("it is not what the run wrote");
    }
    std::fs::remove_file(&path).expect("removed");
    refused("it is missing, and the ends of the captures name it");
}

/// An INRPP router with a detour: half of 20 Mbit/s lead over `x`.
const DETOUR: &str = r#"
    protocols = ["inrpp"]
    until_s = 20
    routers = ["a", "b", "x"]
    [link_defaults]
    delay = "5ms"
    queue = "50ms"
    [inrpp.cache]
    low = "500kB"
    high = "1MB"
    total = "5MB"
    [[links]]
    a = "a"
    b = "b"
    rate = "10Mbit/s"
    [[links]]
    a = "a"
    b = "x"
    rate = "10Mbit/s"
    [[links]]
    a = "x"
    b = "b"
    rate = "10Mbit/s"
    [[hosts]]
    name = "s"
    attach = "a"
    rate = "40Mbit/s"
    [[hosts]]
    name = "d"
    attach = "b"
    rate = "40Mbit/s"
    [[flows]]
    src = "s"
    dst = "d"
    bytes = "4MB"
"#;

/// Processes that descend from this one, at any distance.
pub(crate) fn descendants(of: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("Linux has it").flatten();
    let parent = |process: u32| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<u32>().ok())
    };
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let ids: Vec<(u32, u32)> = ids.filter_map(|id| Some((id, parent(id)?))).collect();
    let mut found = vec![of];
    let mut place = 0;
    while let Some(&next) = found.get(place) {
        found.extend(ids.iter().filter(|(_, parent)| *parent == next).map(|(id, _)| *id));
        place += 1;
    }
    found
}

/// The network namespace of the first node of a live run, once it has one.
pub(crate) fn namespace(process: u32) -> Option<String> {
    let threads =
        |process| std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let threads = descendants(process).into_iter().flat_map(threads).flatten();
    let name = |thread: &std::fs::DirEntry| std::fs::read_to_string(thread.path().join("comm"));
    let mut first = threads.filter(|thread| name(thread).is_ok_and(|name| name == "node0\n"));
    Some(first.next()?.path().join("ns/net").display().to_string())
}

/// As a person would, from outside: `nsenter … ip link set … down`, and a second later `up`.
#[test]
fn a_router_turns_to_its_detour_while_an_interface_is_down() {
    if forebay_prerequisites::program(&["nsenter"]).is_none() {
        return;
    }
    if !is_root() || Command::new("ip").arg("-Version").output().is_err() {
        return forebay_prerequisites::skip("an interface that goes down: needs root, and `ip`");
    }
    let desk = desk();
    desk.file("detour.toml", DETOUR);
    let mut command = desk.command(&["live", "detour.toml", "--record", "record", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let pause = |ms| {
        #[expect(clippy::disallowed_methods, reason = "a person at a keyboard has a clock")]
        std::thread::sleep(Duration::from_millis(ms));
    };
    let found = (0..1000).find_map(|_| {
        pause(10);
        namespace(child.id())
    });
    let namespace = format!("--net={}", found.expect("a run with threads"));
    pause(600);
    for state in ["down", "up"] {
        let words = [&namespace, "ip", "link", "set", "link0", state];
        let set = Command::new("nsenter").args(words).output().expect("it was found");
        assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
        pause(1000);
    }
    let done = Done::of(child.wait_with_output().expect("it ends"));
    assert_eq!(done.code, UNFIT, "{}", done.stderr);
    assert!(done.stderr.contains("the carrier was lost at a-b, b-a"), "{}", done.stderr);
    let run = &done.json()["runs"][0];
    assert_eq!((&run["completed"], &run["wire"]["replayed"]), (&1.into(), &true.into()), "{run}");
    let lost = run["drops"]["link_down"].as_u64();
    assert!(lost.is_some_and(|lost| (1..50).contains(&lost)), "{run}");
    let replayed = desk.forebay(&["replay", "record"]).ok();
    assert!(replayed.stdout.contains(": 5 of 5 places as recorded"), "{}", replayed.stdout);
    let again = desk.forebay(&["replay", "record", "--json"]).ok().json();
    assert_eq!(again["runs"][0]["trace_hash"], run["trace_hash"]);
    assert_eq!(again["runs"][0]["drops"], run["drops"]);
}

#[test]
fn hosts_that_the_kernel_cannot_be_are_refused() {
    let desk = desk();
    desk.file("small.toml", MIXED);
    let refused = |arguments: &[&str], code, why: &str| {
        let done = desk.forebay(&[&["live", "small.toml"], arguments].concat());
        if done.code == IMPOSSIBLE && code != IMPOSSIBLE && !is_root() {
            return forebay_prerequisites::skip(&format!("a live run: {}", done.stderr));
        }
        assert_eq!(done.code, code, "{}", done.stderr);
        assert!(done.stderr.contains(why), "{}", done.stderr);
    };
    refused(&["--kernel", "s1"], 2, "expected HOST=NAME, such as a=cubic");
    refused(&["--kernel", "x=reno"], 2, "no node of the scenario is `x`\nhint: its hosts are");
    refused(&["--kernel", "r0=reno"], 2, "--kernel r0=reno: a router");
    refused(&["--kernel", "s1=reno", "--kernel", "s1=cubic"], 2, "it is chosen twice");
    refused(&["--kernel", "s1=reno", "--paced"], 2, "cannot be used with");
    let unknown = "the kernel refuses congestion control `no-such`";
    refused(&["--kernel", "s1=no-such"], IMPOSSIBLE, unknown);
}

/// Few runs, on a machine that may be busy: whether they agree is not said here, only what of it.
#[test]
fn a_comparison_has_both_on_one_page() {
    let desk = desk();
    let counts = ["--live", "1", "--seeds", "2"];
    let done =
        desk.forebay(&[&["compare", "small.toml", "--json", "--out", "d"], &counts[..]].concat());
    if done.code == IMPOSSIBLE && !is_root() {
        forebay_prerequisites::skip(&format!("a comparison: {}", done.stderr));
        return;
    }
    assert!([0, 1, UNFIT].contains(&done.code), "{}: {}", done.code, done.stderr);
    let json = done.json();
    let runs = |of: &str| json[of]["runs"].as_array().map_or(0, Vec::len);
    assert_eq!(runs("simulated"), 2);
    if done.code == UNFIT {
        assert_eq!((runs("live"), json["unfit"].as_array().map(Vec::len)), (0, Some(20)));
        return;
    }
    assert_eq!(runs("live"), 1);
    let figures = json["agreement"][0]["figures"].as_array().expect("figures");
    let figure = |metric: &str| figures.iter().find(|of| of["metric"] == metric).expect("there");
    assert_eq!(figure("completed")["verdict"], "agree");
    let afct = figure("afct_s");
    let [simulated, live] =
        ["simulated", "live"].map(|of| afct[of].as_f64().expect("a completion time"));
    let differ = (live / simulated - 1.0).abs() > 0.01;
    assert_eq!(afct["verdict"], if differ { "differ" } else { "agree" }, "{afct}");
    let all_agree = figures.iter().all(|of| of["verdict"] != "differ");
    assert_eq!(done.code == 0, all_agree, "{}", done.stderr);
    let page = std::fs::read_to_string(desk.path("d").join("compare.html")).expect("a page");
    assert!(page.contains("simulated vs. live") && page.contains("figures agree"));
    let again = desk.forebay(&["compare", "small.toml", "--live", "1", "--out", "d"]);
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
}

#[test]
fn what_a_thread_passes_on_is_measured() {
    let desk = desk();
    let done = desk.forebay(&["bench", "live", "--json"]);
    if done.code == IMPOSSIBLE && !is_root() {
        forebay_prerequisites::skip(&format!("a measurement over wires: {}", done.stderr));
        return;
    }
    let measured = done.ok().json();
    let rows = measured["rows"].as_array().expect("rows");
    let names = ["kernel alone", "router", "INRPP router"];
    let paced = ["bare loop, 100 Mbit/s", "router, 100 Mbit/s"];
    for (row, name) in rows.iter().zip(names.iter().chain(&paced)) {
        assert_eq!(row["name"], *name);
        // 8 333 packets leave in a second at 100 Mbit/s.
        assert!(row["packets"].as_u64() > Some(8_000), "{row}");
    }
    assert_eq!(rows.len(), 5);
    assert!(measured["paced_ratio"].as_f64() > Some(0.5), "{measured}");
    let refused = desk.forebay(&["bench", "live", "--only", "s2"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--only"), "{}", refused.stderr);
}

#[test]
fn paced_runs_have_the_hash_of_the_simulation() {
    let desk = desk();
    let paced = desk.forebay(&["live", "small.toml", "--paced", "--json"]).ok().json();
    let simulated = desk.forebay(&["run", "small.toml", "--json"]).ok().json();
    assert_eq!(paced["runs"][0]["trace_hash"], simulated["runs"][0]["trace_hash"]);
}

/// What a live run writes predicts, in simulation, what the machine does to a scheme.
#[test]
fn lateness_is_simulated() {
    let desk = desk();
    let hash = |arguments: &[&str]| {
        let json =
            desk.forebay(&[&["run", "small.toml", "--json"], arguments].concat()).ok().json();
        let delay = json["runs"][0]["metrics"]["one_way_delay_mean_ms"].as_f64();
        let notes = json["notes"].to_string();
        (json["runs"][0]["trace_hash"].to_string(), delay.expect("a delay"), notes)
    };
    let (plain, drawn) = (hash(&[]), hash(&["--late", "exp:1ms"]));
    assert_ne!(plain.0, drawn.0);
    assert_eq!(drawn, hash(&["--late", "exp:1ms"]));
    assert!(drawn.2.contains("by 1ms on average, exponential"), "{}", drawn.2);
    // No link is full at first: the handshake and slow start are later by what each link is.
    let (one, all) = (hash(&["--late", "r0-r1=1ms"]), hash(&["--late", "1ms"]));
    assert!(one.1 > plain.1 && all.1 > one.1, "{} {} {}", plain.1, one.1, all.1);
    assert!(one.2.contains("1 of 6 links, by 1ms"), "{}", one.2);
    let file =
        r#"{"runs": [{"wire": null}, {"wire": {"late_us": [[10, 20, 99], [900, 950, 1]]}}]}"#;
    desk.file("live.json", file).file("none.json", r#"{"runs": [{}]}"#).file("bad.json", "{");
    assert_ne!(hash(&["--late", "live.json"]).0, plain.0);
    for (late, expected) in [
        ("50", "expected a time such as 50us"),
        ("r0-r9=50us", "r0-r9"),
        ("none.json", "has no lateness of live runs"),
        ("bad.json", "`bad.json`: "),
        ("absent.json", "cannot read `absent.json`"),
    ] {
        let done = desk.forebay(&["run", "small.toml", "--late", late]);
        assert_eq!(done.code, 2, "{late}: {}", done.stderr);
        assert!(done.stderr.contains(expected), "{late}: {}", done.stderr);
    }
}

#[test]
fn what_cannot_be_run_or_replayed_is_refused() {
    let desk = desk();
    desk.file("endless.toml", SMALL.replace("bytes = 100_000", "endless = true"));
    std::fs::create_dir(desk.path("empty")).expect("a folder");
    for (arguments, expected) in [
        (&["live"][..], "required arguments were not provided"),
        (&["live", "nothing.toml"], "nothing.toml"),
        (&["live", "endless.toml"], "the key `until_s` is missing"),
        (
            &["live", "small.toml", "-p", "newreno,cubic", "--record", "r"],
            "holds one run, and 2 protocols are wanted\nhint: --protocol newreno",
        ),
        (&["live", "small.toml", "--paced", "--record", "r"], "cannot be used with"),
        (&["live", "small.toml", "--out", "r", "--record", "./r"], "the same folder, or one is in"),
        (&["live", "small.toml", "--out", "r", "--record", "r/s"], "the same folder, or one is in"),
        (&["compare", "small.toml", "--live", "0"], "0 is not in 1..=1000"),
        (&["compare", "small.toml", "--within", "x"], "expected a number from 0 to 100"),
        (&["compare", "endless.toml"], "the key `until_s` is missing"),
        (&["replay", "empty"], "holds no record"),
        (&["replay", "none"], "cannot read `none`"),
    ] {
        let done = desk.forebay(arguments);
        assert_eq!(done.code, 2, "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains(expected), "{arguments:?}: {}", done.stderr);
    }
}
