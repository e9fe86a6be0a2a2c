//! An algorithm of another crate in the whole command: `examples/aimd.rs`.

use super::{Desk, Done};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The example, which `cargo test` has built, and `cargo test --test` has not. A build from here
/// has the features that this crate alone asks of its dependencies, not those of the workspace, and
/// may build all of them again; so there is one only where it is needed.
fn example() -> PathBuf {
    let command = Path::new(env!("CARGO_BIN_EXE_forebay"));
    let profile = command.parent().expect("it is in the folder of the profile");
    let example = profile.join("examples/aimd").with_extension(std::env::consts::EXE_EXTENSION);
    if !is_newer_than_its_sources(&example) {
        build(profile);
    }
    example
}

/// By the list of sources that cargo writes beside a program, and the lock file.
fn is_newer_than_its_sources(program: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let (Some(built), Ok(rule)) =
        (changed(program), fs::read_to_string(program.with_extension("d")))
    else {
        return false;
    };
    let (_, sources) = rule.trim_end().split_once(": ").expect("cargo writes `PROGRAM: SOURCE...`");
    let sources = sources.replace("\\ ", "\0");
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    let paths = sources.split(' ').map(|source| source.replace('\0', " "));
    paths.chain([lock.to_string()]).all(|path| changed(path.as_ref()).is_some_and(|at| at <= built))
}

fn build(profile: &Path) {
    let target = profile.parent().expect("that is in the target folder");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--offline", "--quiet", "-p", "forebay-cli", "--example", "aimd"]);
    build.args(profile.ends_with("release").then_some("--release"));
    build.arg("--target-dir").arg(target);
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

fn aimd(desk: &Desk, args: &[&str]) -> Done {
    let mut command = Command::new(example());
    Done::of(command.current_dir(desk.path(".")).args(args).output().expect("it starts"))
}

#[test]
fn the_example_is_a_page() {
    let source = include_str!("../../examples/aimd.rs");
    assert!(source.lines().count() <= 60, "{} lines", source.lines().count());
}

#[test]
fn a_registered_algorithm_runs_beside_those_of_the_table() {
    let desk = Desk::new();
    let scenario = "\
protocols = [\"aimd\", \"aimd-mild\", \"cubic\"]
until_s = 5
routers = [\"left\", \"right\"]
hosts = [{ name = \"a\" }, { name = \"b\" }]
links = [
  { a = \"a\", b = \"left\", rate = \"100Mbit/s\", delay = \"1ms\", queue = \"100packets\" },
  { a = \"left\", b = \"right\", rate = \"10Mbit/s\", delay = \"10ms\", queue = \"20packets\" },
  { a = \"right\", b = \"b\", rate = \"100Mbit/s\", delay = \"1ms\", queue = \"100packets\" },
]
flows = [{ src = \"a\", dst = \"b\", endless = true }]
[protocol.aimd-mild]
of = \"aimd\"
keep = 0.9
";
    desk.file("s.toml", scenario);
    let json = aimd(&desk, &["run", "s.toml", "--json", "--out", "out"]).ok().json();
    let of = |i: usize| &json["aggregate"][i];
    let titles = [0, 1, 2].map(|i| of(i)["label"].as_str().unwrap().to_string());
    assert_eq!(titles, ["AIMD", "aimd-mild (keep = 0.9)", "CUBIC"]);
    // A queue of 20 packets is less than the path holds: what is left of the window after a loss
    // decides how much of the link is used.
    let goodput = |i: usize| of(i)["metrics"]["goodput_bps"]["mean"].as_f64().unwrap();
    assert!(goodput(1) > goodput(0) && goodput(0) > 5e6, "{} {}", goodput(0), goodput(1));
    // What is stored runs again.
    let again = aimd(&desk, &["run", "out/scenario.toml", "--json"]).ok().json();
    let hash = |json: &serde_json::Value, i: usize| json["runs"][i]["trace_hash"].clone();
    assert_eq!([0, 1, 2].map(|i| hash(&again, i)), [0, 1, 2].map(|i| hash(&json, i)));
    aimd(&desk, &["report", "out"]).ok();
    let page = fs::read_to_string(desk.path("out/report.html")).expect("it was written");
    assert!(page.contains("AIMD") && page.contains("aimd-mild"));
    // What it publishes has a plot, under both its names; CUBIC publishes nothing.
    assert_eq!(page.matches("\"title\":\"added_per_packet\"").count(), 2);
}

#[test]
fn a_registered_algorithm_is_in_the_matrix() {
    let desk = Desk::new();
    let args = ["reproduce", "matrix", "--quick", "--point", "thin-1bdp,beside-cubic", "--json"];
    let json = aimd(&desk, &args).ok().json();
    let rows = json["rows"].as_array().expect("rows");
    let own: Vec<_> = rows.iter().filter(|row| row["run_protocol"] == "aimd").collect();
    let has_share = |row: &&serde_json::Value| row["first_class_goodput_share"].is_f64();
    assert!(own.len() == 2 && own.iter().all(has_share), "{own:?}");
}

#[test]
fn a_registered_algorithm_is_listed_explained_and_checked() {
    let desk = Desk::new();
    assert!(aimd(&desk, &["list"]).ok().stdout.contains("  aimd "));
    let text = aimd(&desk, &["explain", "aimd"]).ok().stdout;
    assert!(text.contains("AIMD - congestion control") && text.contains("keep = 0.5"), "{text}");
    let wrong =
        aimd(&desk, &["run", "dumbbell", "--protocol", "aimd", "--set", "protocol.aimd.keep=1.5"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("`1.5` is out of range: expected above 0, below 1"),
        "{}",
        wrong.stderr
    );
    let wrong = aimd(&desk, &["run", "dumbbell", "--protocol", "aimt"]);
    assert!(wrong.stderr.contains("did you mean `aimd`?"), "{}", wrong.stderr);
}
