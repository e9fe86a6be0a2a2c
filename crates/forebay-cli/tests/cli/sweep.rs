//! One scenario at many points.

use crate::{Desk, Done, SMALL};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const RATES: &str = "links.r0-r1.rate=1Mbit/s,2Mbit/s,4Mbit/s";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk
}

/// The rows that a sweep of `small.toml` prints.
fn rows(done: &Done) -> Vec<Value> {
    done.json()["rows"].as_array().expect("rows").clone()
}

fn numbers(rows: &[Value], column: &str) -> Vec<f64> {
    rows.iter().map(|row| row[column].as_f64().unwrap_or(f64::NAN)).collect()
}

#[test]
fn every_point_protocol_and_seed_is_a_row() {
    let desk = desk();
    let args = ["run", "small.toml", "-p", "newreno,cubic", "--seeds", "2", "--json"];
    let sweep = ["--sweep", RATES, "--sweep", "flows.0.bytes=100000,200000"];
    let rows = rows(&desk.forebay(&[&args[..], &sweep[..]].concat()).ok());
    assert_eq!(rows.len(), 3 * 2 * 2 * 2);
    // The last key changes first, in each point the seeds, in each seed the protocols.
    let first: Vec<_> = rows[..4].iter().map(|r| (&r["run_protocol"], &r["seed"])).collect();
    let expected: Vec<_> = [("newreno", 1), ("cubic", 1), ("newreno", 2), ("cubic", 2)]
        .map(|(p, s)| (Value::from(p), Value::from(s)))
        .into();
    assert_eq!(first, expected.iter().map(|(p, s)| (p, s)).collect::<Vec<_>>());
    assert_eq!(numbers(&rows[..5], "flows.0.bytes"), [1e5, 1e5, 1e5, 1e5, 2e5]);
    let rates: BTreeSet<u64> =
        numbers(&rows, "links.r0-r1.rate").into_iter().map(|bps| bps as u64).collect();
    assert_eq!(rates.into_iter().collect::<Vec<_>>(), [1_000_000, 2_000_000, 4_000_000]);
    // A run at a point is the run with --set.
    let one = ["run", "small.toml", "-p", "cubic", "--seeds", "2..2", "--json"];
    let set = ["--set", "links.r0-r1.rate=4Mbit/s", "--set", "flows.0.bytes=200000"];
    let alone = desk.forebay(&[&one[..], &set[..]].concat()).ok().json();
    let last = rows.last().expect("a row");
    assert_eq!(last["trace_hash"], alone["runs"][0]["trace_hash"]);
    assert_eq!(last["afct_s"], alone["runs"][0]["metrics"]["afct_s"]);
    assert_eq!(last["afct_ratio"], alone["runs"][0]["reference"]["afct_ratio"]);
}

#[test]
fn what_a_scenario_expects_is_not_checked_and_a_note_says_so() {
    let desk = desk();
    let expect = "[[expect]]\nmetric = \"afct_s\"\nop = \"<=\"\nvalue = \"1ms\"\n";
    desk.file("expect.toml", format!("{SMALL}{expect}"));
    let args = ["run", "expect.toml", "-p", "cubic", "--sweep", RATES];
    for more in [&[][..], &["--out", "all"]] {
        let done = desk.forebay(&[&args[..], more].concat()).ok();
        assert!(done.stdout.contains("note: [[expect]] is not checked"), "{}", done.stdout);
    }
    assert!(
        !desk
            .forebay(&["run", "small.toml", "-p", "cubic", "--sweep", RATES])
            .ok()
            .stdout
            .contains("[[expect]]")
    );
}

#[test]
fn a_scenario_says_what_is_swept() {
    let desk = desk();
    let zip = "[[sweep]]\nzip = { \"links.r0-r1.rate\" = [\"1Mbit/s\", \"2Mbit/s\"], \
               \"flows.0.bytes\" = \"100kB..200kB 2\" }\n[[sweep]]\n\
               points = [{ name = \"near\", set = { \"link_defaults.delay\" = \"1ms\" } }, \
               { set = { \"fct\" = \"established\" } }]\n";
    desk.file("zip.toml", format!("{SMALL}{zip}"));
    let rows = rows(&desk.forebay(&["run", "zip.toml", "--json"]).ok());
    assert_eq!(numbers(&rows, "links.r0-r1.rate"), [1e6, 1e6, 2e6, 2e6]);
    assert_eq!(numbers(&rows, "flows.0.bytes"), [1e5, 1e5, 2e5, 2e5]);
    let names: Vec<_> = rows.iter().map(|row| row["point_name"].as_str()).collect();
    assert_eq!(names, [Some("near"), None, Some("near"), None]);
    assert_eq!(rows[0]["link_defaults.delay"], 0.001);
    assert_eq!((&rows[0]["fct"], &rows[1]["fct"]), (&Value::Null, &"established".into()));
    // Dotted keys say the same as quoted ones.
    let dotted = "[[sweep]]\n[sweep.grid]\nlinks.r0-r1.rate = [\"1Mbit/s\", \"2Mbit/s\"]\n";
    desk.file("dotted.toml", format!("{SMALL}{dotted}"));
    let done = desk.forebay(&["run", "dotted.toml", "--json"]).ok();
    assert_eq!(done.json()["rows"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_wrong_is_said_before_the_first_run() {
    let desk = desk();
    let said = |sweep: &[&str]| {
        let mut args = vec!["run", "small.toml", "--out", "results"];
        sweep.iter().for_each(|text| args.extend(["--sweep", *text]));
        let done = desk.forebay(&args);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{sweep:?}: {}", done.stderr);
        assert_eq!(desk.names(), ["small.toml"]);
        done.stderr
    };
    let of_set = |text: &str| {
        let done = desk.forebay(&["run", "small.toml", "--set", text]);
        // The same words, at the place of the value that is wrong.
        done.stderr
            .lines()
            .next()
            .map(|line| line.rsplit("rate: ").next().unwrap_or("").to_string())
    };
    let text = said(&["links.r0-r1.rat=1Mbit/s,2Mbit/s"]);
    assert!(text.contains("--sweep:1:13: links[0]: unknown key `rat`"), "{text}");
    assert!(text.contains("hint: did you mean `rate`?"), "{text}");
    let text = said(&["links.r0-r2.rate=1Mbit/s,2Mbit/s"]);
    assert!(text.contains("there is no element `r0-r2`"), "{text}");
    let text = said(&["links.r0-r1.rate=1Mbit/s,2 apples"]);
    let words = of_set("links.r0-r1.rate=2 apples").expect("a line");
    assert!(text.contains(&words) && text.contains("--sweep:1:26"), "{text} / {words}");
    let text = said(&["links.r0-r1.rate=1Mbit/s,true"]);
    assert!(text.contains("expected a rate such as"), "{text}");
    let text = said(&[RATES, "links.0.rate=5Mbit/s"]);
    assert!(
        text.contains("the key `links.0.rate` is swept twice, as `links.r0-r1.rate`"),
        "{text}"
    );
    let text = said(&["links.0.rate=9Mbit/s..1Mbit/s 3"]);
    assert!(text.contains("from a smaller to a larger value"), "{text}");
    assert!(said(&["links.0.rate=1Mbit/s..9Mbit/s 0"]).contains("2 to 100000 values"));
    assert!(said(&["links.0.rate="]).contains("expected values such as"));
    assert!(said(&["links.0.rate"]).contains("expected key=value"));
    assert!(said(&["protocols=a,b"]).contains("every point has the same protocols"));
    let text = said(&["links.0.rate=1Mbit/s..9Mbit/s 10000", "flows.0.bytes=1..1000 1000"]);
    assert!(text.contains("10000000 points x 1 protocols x 1 seeds are 10000000 runs"), "{text}");
    assert!(text.contains("about ") && text.contains("hint: --yes"), "{text}");
    let set = ["run", "small.toml", "--set", "links.0.rate=1Mbit/s", "--sweep", RATES];
    let text = desk.forebay(&set).stderr;
    assert!(text.contains("is swept, and `links[0].rate` is set"), "{text}");
    // In a file, with its line.
    let wrong = "[[sweep]]\ngrid = { \"links.0.rate\" = [\"1Mbit/s\", \"2apples\"] }\n";
    desk.file("wrong.toml", format!("{SMALL}{wrong}"));
    let text = desk.forebay(&["run", "wrong.toml"]).stderr;
    assert!(text.contains("wrong.toml:22:") && text.contains("2apples"), "{text}");
    for option in [&["--resume", "--out", "x"][..], &["--shard", "1/2", "--out", "x"]] {
        let done = desk.forebay(&[&["run", "small.toml"], option].concat());
        assert!(done.code == 2 && done.stderr.contains("nothing is swept"), "{}", done.stderr);
    }
}

#[test]
fn a_point_that_cannot_run_is_a_row_with_its_error() {
    let desk = desk();
    // At 1 kbit/s a queue of 50 ms holds no packet.
    let args = ["run", "small.toml", "--sweep", "links.0.rate=1kbit/s,2Mbit/s", "--out", "out"];
    let done = desk.forebay(&args);
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(done.stderr.contains("1 of 2 runs failed, the first: point 0 under newreno"), "{}", {
        &done.stderr
    });
    let record: Value =
        serde_json::from_slice(&fs::read(desk.path("out/sweep.json")).unwrap()).unwrap();
    assert_eq!((&record["rows"], &record["failed"]), (&2.into(), &1.into()));
    let page = fs::read_to_string(desk.path("out/report.html")).unwrap();
    assert!(page.contains("1 of 2 runs failed"));
    fs::write(desk.path("out/report.html"), "").unwrap();
    desk.forebay(&["report", "out"]).ok();
    assert_eq!(fs::read_to_string(desk.path("out/report.html")).unwrap(), page);
    // Without enough memory it is the same.
    let args = ["run", "small.toml", "--sweep", RATES, "--memory", "1MiB", "--json"];
    let done = desk.forebay(&args);
    assert_eq!(done.code, 2, "no point can be made: {}", done.stderr);
    assert!(done.stderr.contains("of memory are needed"), "{}", done.stderr);
}

#[test]
fn a_key_that_a_protocol_ignores_is_noted() {
    let desk = desk();
    let args =
        ["run", "small.toml", "-p", "newreno,cubic", "--sweep", "protocol.cubic.beta=0.5,0.7"];
    let larger = ["--set", "flows.0.bytes=3MB", "--set", "start_jitter=0s", "--out", "out"];
    let done = desk.forebay(&[&args[..], &larger[..]].concat()).ok();
    let note = "newreno ignores protocol.cubic.beta: its results are the same at every value";
    let told: Vec<&str> = done.stdout.split_whitespace().collect();
    assert!(told.join(" ").contains(note), "{}", done.stdout);
    assert!(!done.stdout.contains("cubic ignores"), "{}", done.stdout);
    let done = desk.forebay(&[&args[..], &larger[..4], &["--json"]].concat()).ok();
    assert_eq!(done.json()["notes"][0], note);
}

/// What is the same on every machine: the table without times, as text.
pub(crate) fn without_times(folder: &Path) -> Vec<String> {
    let (names, rows) =
        forebay_lab::report::sweep_rows(&folder.join("sweep.parquet")).expect("a table");
    let times: Vec<usize> = ["wall_s", "cpu_s"]
        .map(|name| names.iter().position(|known| known == name).expect("a column"))
        .into();
    let rows = rows.map(|row| {
        let cells = row.expect("a row").into_iter().enumerate();
        let cells = cells.filter(|(place, _)| !times.contains(place));
        format!("{:?}", cells.collect::<Vec<_>>())
    });
    rows.collect()
}

#[test]
fn shards_merge_into_what_one_machine_writes() {
    let desk = desk();
    let sweep = ["run", "small.toml", "--sweep", RATES, "-p", "newreno,cubic", "--seeds", "3"];
    let run = |more: &[&str]| desk.forebay(&[&sweep[..], more].concat());
    run(&["--out", "all"]).ok();
    for shard in ["1", "2", "3"] {
        run(&["--shard", &format!("{shard}/3"), "--out", &format!("part-{shard}")]).ok();
    }
    desk.forebay(&["merge", "part-3", "part-1", "part-2", "--out", "merged"]).ok();
    assert_eq!(without_times(&desk.path("merged")), without_times(&desk.path("all")));
    let parts = ["1", "2", "3"].map(|n| without_times(&desk.path(&format!("part-{n}"))).len());
    assert_eq!((parts.iter().sum::<usize>(), parts.iter().all(|rows| *rows >= 5)), (18, true));
    for file in ["sweep.json", "scenario.toml", "report.html"] {
        let [one, other] = ["all", "merged"].map(|folder| desk.path(&format!("{folder}/{file}")));
        assert_eq!(fs::read_to_string(one).unwrap(), fs::read_to_string(other).unwrap(), "{file}");
    }
    // What does not belong together is refused, and nothing is written.
    let refused = |folders: &[&str], words: &str| {
        let done = desk.forebay(&[&["merge"], folders, &["--out", "bad"]].concat());
        assert_eq!(done.code, 2, "{}", done.stderr);
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
        assert!(!desk.path("bad").exists());
    };
    refused(&["part-1", "part-2"], "these shards are missing: 3/3");
    refused(&["part-1", "part-2", "part-2"], "overlap: both are the shard 2/3");
    refused(&["part-1", "all"], "is a whole sweep, and no shard");
    refused(&["part-1", "small.toml"], "has no sweep.json");
    run(&["--set", "fct=established", "--shard", "2/3", "--out", "other"]).ok();
    refused(&["part-1", "other", "part-3"], "has another text, other files, changes or values");
    let change = |key: &str, value: Value| {
        let path = desk.path("part-2/sweep.json");
        let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let before = std::mem::replace(&mut record[key], value);
        fs::write(&path, record.to_string()).unwrap();
        before
    };
    for (key, value, words) in [
        ("hash_epoch", Value::from(99), "its trace hashes are of epoch 99"),
        ("forebay", Value::from("0.0.1"), "it was made by Forebay 0.0.1"),
        ("shard", Value::from("2/4"), "it is the shard 2/4"),
    ] {
        let before = change(key, value);
        refused(&["part-1", "part-2", "part-3"], words);
        change(key, before);
    }
    // A shard that says it is another has the wrong rows.
    fs::copy(desk.path("part-1/sweep.parquet"), desk.path("part-2/sweep.parquet")).unwrap();
    refused(&["part-1", "part-2", "part-3"], "both have point");
    refused(&["part-3", "part-1", "part-2"], "`part-1` and `part-2` overlap");
    for option in [&["--flow-monitor"][..], &["--mm-link", "0-2"]] {
        let done = run(&[option, &["--out", "bad"]].concat());
        assert_eq!(done.code, 2, "{}", done.stderr);
        assert!(done.stderr.contains("is not for a sweep"), "{}", done.stderr);
    }
    for options in [&["--out", "o.html"][..], &["--baseline", "cubic"], &["all"]] {
        let done = desk.forebay(&[&["report", "all"], options].concat());
        assert_eq!(done.code, 2, "{}", done.stderr);
        assert!(done.stderr.contains("`all` is a sweep"), "{}", done.stderr);
    }
}

/// The commands on the page, also of a scenario that says what is swept, give the runs of the
/// sweep.
#[test]
fn the_commands_of_the_page_make_the_reports_of_points() {
    let desk = desk();
    let grid = "[[sweep]]\ngrid = { \"links.r0-r1.rate\" = [\"1Mbit/s\", \"2Mbit/s\"] }\n";
    desk.file("grid.toml", format!("{SMALL}{grid}"));
    for (name, more) in [("grid.toml", &[][..]), ("small.toml", &["--sweep", RATES])] {
        let args = ["run", name, "-p", "cubic", "--seeds", "2", "--out", "all", "--force"];
        desk.forebay(&[&args[..], more].concat()).ok();
        let (names, rows) =
            forebay_lab::report::sweep_rows(&desk.path("all/sweep.parquet")).expect("a table");
        let hash = names.iter().position(|name| name == "trace_hash").expect("a column");
        let rows: Vec<_> = rows.map(|row| row.expect("a row")).collect();
        let page = fs::read_to_string(desk.path("all/report.html")).expect("the page");
        let commands: Vec<&str> = page
            .split("forebay run ")
            .filter_map(|rest| Some(rest.split_once(" --out point-")?.0))
            .collect();
        assert_eq!(commands.len(), rows.len() / 2, "{page}");
        for (point, command) in commands.into_iter().enumerate() {
            let command = command.replace("&#39;", "'").replace("&#x27;", "'");
            let line = format!("forebay run {command} --json --no-reference >one.json");
            desk.file("one.sh", line);
            bash(&desk, &["one.sh"], &[]).ok();
            let one: Value =
                serde_json::from_slice(&fs::read(desk.path("one.json")).unwrap()).unwrap();
            let expected = rows[2 * point][hash].text().expect("a hash");
            assert_eq!(one["runs"][0]["trace_hash"], expected, "{command}");
        }
    }
}

/// A line of shell with `bash`, in which `forebay` is the program.
fn bash(desk: &Desk, args: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut command = std::process::Command::new("bash");
    command.current_dir(desk.path("")).envs(variables.iter().copied());
    let path = Path::new(env!("CARGO_BIN_EXE_forebay")).parent().expect("a folder");
    command.args(["-c", "PATH=\"$0:$PATH\" exec bash \"$@\""]).arg(path).args(args);
    Done::of(command.output().expect("bash is there"))
}

/// The code of the page, between two texts.
fn recipe(from: &str, to: &str) -> String {
    let page = fs::read_to_string("../../docs/how-to/sweeps.md").expect("the page");
    let rest = page.split_once(from).expect("the recipe").1;
    rest.split_once(to).expect("its end").0.to_string()
}

/// What the page sweeps, by one process.
fn whole(desk: &Desk, seeds: &str) -> Vec<String> {
    desk.file("mine.toml", SMALL);
    let delays = "links.0.delay=10ms..1s log 9";
    desk.forebay(&["run", "mine.toml", "--sweep", delays, "--seeds", seeds, "--out", "whole"]).ok();
    without_times(&desk.path("whole"))
}

#[test]
fn an_array_of_a_cluster_makes_shards() {
    let desk = desk();
    desk.file("sweep.sbatch", format!("#!/bin/bash{}", recipe("```bash\n#!/bin/bash", "```")));
    bash(&desk, &["-n", "sweep.sbatch"], &[]).ok();
    let whole = whole(&desk, "10");
    for task in ["1", "2"] {
        let variables = [
            ("SLURM_ARRAY_TASK_ID", task),
            ("SLURM_ARRAY_TASK_COUNT", "2"),
            ("SLURM_CPUS_PER_TASK", "1"),
        ];
        bash(&desk, &["sweep.sbatch"], &variables).ok();
        // A task that is put into the queue again finds its work done.
        bash(&desk, &["sweep.sbatch"], &variables).ok();
    }
    desk.forebay(&["merge", "parts/1", "parts/2", "--out", "all"]).ok();
    assert_eq!(without_times(&desk.path("all")), whole);
}

#[test]
fn gnu_parallel_makes_shards() {
    if forebay_prerequisites::program(&["parallel"]).is_none() {
        return;
    }
    let desk = desk();
    desk.file("recipe.sh", recipe("With GNU parallel:\n", "\n\nAs a job array"));
    let whole = whole(&desk, "1");
    bash(&desk, &["-e", "recipe.sh"], &[("HOME", desk.path("").to_str().expect("UTF-8"))]).ok();
    assert_eq!(without_times(&desk.path("all")), whole);
    for file in ["sweep.json", "scenario.toml", "report.html"] {
        let [one, other] = ["all", "whole"].map(|folder| desk.path(&format!("{folder}/{file}")));
        assert_eq!(fs::read_to_string(one).unwrap(), fs::read_to_string(other).unwrap(), "{file}");
    }
}

#[cfg(unix)]
mod stopped {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::Duration;

    const SWEEP: [&str; 7] = ["run", "small.toml", "--seeds", "40", "--jobs", "2", "--sweep"];

    fn slow() -> Desk {
        let desk = Desk::new();
        desk.file("small.toml", SMALL.replace("100_000", "3_000_000"));
        desk
    }

    fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
        SWEEP.iter().copied().chain([RATES]).chain(more.iter().copied()).collect()
    }

    /// Rows in the file of a sweep that is not finished.
    fn kept(desk: &Desk) -> Vec<String> {
        let text = fs::read_to_string(desk.path("out.unfinished/rows.jsonl")).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("{\"run\""));
        lines.map(str::to_string).collect()
    }

    #[allow(clippy::disallowed_methods)] // A person who kills a process has a clock.
    fn kill_midway(desk: &Desk, signal: &str) -> Done {
        let mut command = desk.command(&args(&["--out", "out"]));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        for _ in 0..2_000 {
            if kept(desk).len() >= 10 {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or(-1);
        Done { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[test]
    fn a_killed_sweep_goes_on_where_it_was() {
        let desk = slow();
        desk.forebay(&args(&["--out", "whole"])).ok();
        kill_midway(&desk, "-KILL");
        assert!(!desk.path("out").exists());
        let before = kept(&desk);
        assert!((10..120).contains(&before.len()), "{}", before.len());
        // Half of a line, as of a process that was killed while it wrote.
        let journal = desk.path("out.unfinished/rows.jsonl");
        let mut file = fs::File::options().append(true).open(&journal).unwrap();
        file.write_all(b"{\"run\":119,\"row\":{\"poi").unwrap();
        // Neither begun anew by accident, nor taken for another sweep.
        let done = desk.forebay(&args(&["--out", "out"]));
        assert!(done.code == 2 && done.stderr.contains("--resume"), "{}", done.stderr);
        let other = ["run", "small.toml", "--sweep", RATES, "--resume", "--out", "out"];
        let done = desk.forebay(&other);
        assert!(done.code == 2 && done.stderr.contains("it has other seeds"), "{}", done.stderr);
        assert_eq!(kept(&desk), before, "nothing is lost by that");
        // What has finished is not run again: its times are those of before.
        let done = desk.forebay(&args(&["--resume", "--out", "out"])).ok();
        let told = format!("going on: {} of 120 runs had finished", before.len());
        assert!(done.stderr.contains(&told), "{}", done.stderr);
        let under_way = "under way were, and are run again: point";
        assert!(done.stderr.contains(under_way), "{}", done.stderr);
        assert_eq!(without_times(&desk.path("out")), without_times(&desk.path("whole")));
        let (names, rows) =
            forebay_lab::report::sweep_rows(&desk.path("out/sweep.parquet")).unwrap();
        let cpu = names.iter().position(|name| name == "cpu_s").unwrap();
        let cpu_s: Vec<f64> = rows.map(|row| row.unwrap()[cpu].number().unwrap()).collect();
        for line in &before {
            let row: Value = serde_json::from_str(line).unwrap();
            let number = row["run"].as_u64().unwrap() as usize;
            assert_eq!(Some(cpu_s[number]), row["row"]["result"]["cpu_s"].as_f64());
        }
        assert_eq!(desk.names(), ["out", "small.toml", "whole"]);
        // Once more there is nothing to do.
        let again = desk.forebay(&args(&["--resume", "--out", "out"])).ok();
        assert!(again.stdout.contains("Results: out/report.html"), "{}", again.stdout);
    }

    #[test]
    fn an_interrupt_says_how_to_go_on() {
        let desk = slow();
        let done = kill_midway(&desk, "-INT");
        assert_eq!(done.code, 130, "{}", done.stderr);
        assert!(done.stderr.contains("go on with --resume"), "{}", done.stderr);
        desk.forebay(&args(&["--force", "--out", "out"])).ok();
        assert_eq!(without_times(&desk.path("out")).len(), 120);
    }

    #[test]
    fn a_full_disk_loses_nothing_that_was_kept() {
        let desk = slow();
        // A limit on the size of files is as good as a full disk.
        let binary = env!("CARGO_BIN_EXE_forebay");
        let limited = "ulimit -f 32; trap '' XFSZ; exec \"$0\" \"$@\"";
        let mut command = Command::new("bash");
        command.current_dir(desk.path("")).args(["-c", limited, binary]);
        let done = Done::of(command.args(args(&["--out", "out"])).output().unwrap());
        assert_eq!(done.code, 1, "{}", done.stderr);
        assert!(done.stderr.contains("rows.jsonl"), "{}", done.stderr);
        assert!(done.stderr.contains("go on with --resume"), "{}", done.stderr);
        let before = kept(&desk).len();
        assert!((1..120).contains(&before), "{before}");
        let done = desk.forebay(&args(&["--resume", "--out", "out"])).ok();
        assert!(done.stderr.contains(&format!("going on: {before} of 120")), "{}", done.stderr);
        assert_eq!(without_times(&desk.path("out")).len(), 120);
    }
}
