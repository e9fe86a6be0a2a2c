//! Dependency arrows: the list below is the drawing in ARCHITECTURE.md; anything else is refused.

use super::{PURE, assert_none, root};
use serde_json::Value;
use std::process::Command;

/// Crate, and the crates of the workspace that it may depend on (dev-dependencies apart).
/// A new crate needs a row here and a table in ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("forebay-base", &[]),
    ("forebay-wire", &["base"]),
    ("forebay-signal", &["base"]),
    ("forebay-cc", &["base", "signal"]),
    ("forebay-queue", &["base", "signal"]),
    ("forebay-router", &["base", "signal", "queue"]),
    ("forebay-transport", &["base", "wire", "cc"]),
    ("forebay-net", &["base", "wire", "signal", "cc", "queue", "router", "transport"]),
    ("forebay-sim", &["base", "wire", "cc", "queue", "router", "transport", "net"]),
    ("forebay-live", &["base", "wire", "net", "sim"]),
    ("forebay-metrics", &[]),
    ("forebay-topology", &["base"]),
    ("forebay-scenario", BELOW_SCENARIO),
    ("forebay-reference", SCENARIO_AND_BELOW),
    ("forebay-report", &["base", "metrics", "topology", "scenario"]),
    ("forebay-run", RUN_AND_BELOW.split_last().expect("a list").1),
    ("forebay-lab", BELOW_LAB),
    ("forebay-cli", CLI),
    ("forebay-python", PYTHON),
    ("forebay-testkit", LAB_AND_BELOW),
    ("forebay-instructions", INSTRUCTIONS),
    ("forebay-prerequisites", &[]),
];

/// What the command is made of.
const CLI: &[&str] = &["base", "cc", "lab", "live", "net", "sim", "topology", "transport"];

/// What the Python package is made of: runs, and the parts of which learners make their own.
const PYTHON: &[&str] = &["base", "cc", "lab", "metrics", "net", "sim"];

/// The crates under `forebay-scenario`, and itself.
const SCENARIO_AND_BELOW: &[&str] = &[
    "base",
    "wire",
    "signal",
    "cc",
    "queue",
    "router",
    "transport",
    "net",
    "metrics",
    "topology",
    "scenario",
];
const BELOW_SCENARIO: &[&str] = SCENARIO_AND_BELOW.split_last().expect("a list").1;

/// The crates under `forebay-run`, and itself. It has neither Parquet nor files.
const RUN_AND_BELOW: &[&str] = &[
    "base",
    "wire",
    "signal",
    "cc",
    "queue",
    "router",
    "transport",
    "net",
    "sim",
    "metrics",
    "topology",
    "scenario",
    "reference",
    "run",
];

/// The crates under `forebay-lab`, and itself.
const LAB_AND_BELOW: &[&str] = &[
    "base",
    "wire",
    "signal",
    "cc",
    "queue",
    "router",
    "transport",
    "net",
    "sim",
    "metrics",
    "topology",
    "scenario",
    "reference",
    "run",
    "report",
    "lab",
];
const BELOW_LAB: &[&str] = LAB_AND_BELOW.split_last().expect("a list").1;

/// What the counts of instructions are made with: the packet path, and what a run is read from.
const INSTRUCTIONS: &[&str] = &[
    "base",
    "wire",
    "signal",
    "cc",
    "queue",
    "router",
    "transport",
    "net",
    "sim",
    "scenario",
    "testkit",
];

/// What a pure crate may take from outside, always without default features.
const OUTSIDE: &[&str] = &["hmac", "libm", "serde", "sha2", "siphasher"];
/// What it may take under a feature that is off by default.
const OPTIONAL: &[&str] = &["schemars"];

/// The crates that have a row.
pub fn crates() -> impl Iterator<Item = &'static str> {
    ARROWS.iter().map(|(name, _)| *name)
}

/// One declared dependency.
#[derive(Clone, Debug)]
struct Dependency {
    from: String,
    to: String,
    dev: bool,
    optional: bool,
    default_features: bool,
}

/// The packages of a `cargo metadata` document and the dependencies that they declare.
fn read(metadata: &Value) -> (Vec<String>, Vec<Dependency>) {
    let text = |v: &Value| v.as_str().expect("a string in cargo metadata").to_string();
    let list = |v: &Value| v.as_array().expect("a list in cargo metadata").clone();
    let mut packages = Vec::new();
    let mut dependencies = Vec::new();
    for package in list(&metadata["packages"]) {
        let from = text(&package["name"]);
        for dependency in list(&package["dependencies"]) {
            dependencies.push(Dependency {
                from: from.clone(),
                to: text(&dependency["name"]),
                dev: dependency["kind"] == "dev",
                optional: dependency["optional"] == true,
                default_features: dependency["uses_default_features"] == true,
            });
        }
        packages.push(from);
    }
    (packages, dependencies)
}

/// What `cargo metadata` says of the workspace.
pub fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn workspace() -> (Vec<String>, Vec<Dependency>) {
    read(&metadata())
}

fn undrawn(dependencies: &[Dependency]) -> Vec<String> {
    let mut complaints = Vec::new();
    for d in dependencies.iter().filter(|d| !d.dev) {
        let Some(to) = d.to.strip_prefix("forebay-") else { continue };
        let drawn = ARROWS.iter().any(|(from, allowed)| *from == d.from && allowed.contains(&to));
        if !drawn {
            complaints.push(format!("{} must not depend on {}", d.from, d.to));
        }
    }
    complaints
}

fn without_row(packages: &[String]) -> Vec<String> {
    let unlisted = packages.iter().filter(|p| crates().all(|c| c != *p));
    let gone = crates().filter(|r| packages.iter().all(|p| p != r));
    unlisted
        .map(|p| format!("{p} has no row in ARROWS: draw its arrows"))
        .chain(gone.map(|r| format!("{r} has a row in ARROWS and no crate")))
        .collect()
}

fn foreign_to_pure(dependencies: &[Dependency]) -> Vec<String> {
    let mut complaints = Vec::new();
    let outer = |d: &&Dependency| {
        !d.dev && PURE.contains(&d.from.as_str()) && !d.to.starts_with("forebay-")
    };
    for d in dependencies.iter().filter(outer) {
        let to = d.to.as_str();
        let allowed = OUTSIDE.contains(&to) || (d.optional && OPTIONAL.contains(&to));
        if !allowed {
            complaints.push(format!("{} is pure and must not depend on {}", d.from, d.to));
        }
        if d.default_features {
            complaints.push(format!("{}: {} needs default-features = false", d.from, d.to));
        }
    }
    complaints
}

#[test]
fn every_arrow_is_drawn() {
    assert_none(undrawn(&workspace().1));
}

#[test]
fn every_crate_has_a_row_and_every_row_a_crate() {
    assert_none(without_row(&workspace().0));
}

#[test]
fn pure_crates_take_little_from_outside() {
    assert_none(foreign_to_pure(&workspace().1));
}

/// A document of the shape that cargo prints, with one package that has one dependency.
fn one(from: &str, to: &str, kind: Value, default_features: bool) -> Vec<Dependency> {
    let document = serde_json::json!({ "packages": [{ "name": from, "dependencies": [
        { "name": to, "kind": kind, "uses_default_features": default_features }
    ]}]});
    read(&document).1
}

#[test]
fn an_undrawn_arrow_is_seen() {
    let arrow = |from, to| undrawn(&one(from, to, Value::Null, true)).len();
    assert_eq!(arrow("forebay-cc", "forebay-transport"), 1);
    assert_eq!(arrow("forebay-queue", "forebay-router"), 1);
    assert_eq!(arrow("forebay-sim", "forebay-lab"), 1);
    assert_eq!(arrow("forebay-report", "forebay-reference"), 1);
    assert_eq!(arrow("forebay-reference", "forebay-report"), 1);
    assert_eq!(arrow("forebay-scenario", "forebay-sim"), 1);
    assert_eq!(arrow("forebay-run", "forebay-report"), 1);
    assert_eq!(arrow("forebay-lab", "forebay-lab"), 1);
    assert_eq!(arrow("forebay-new", "forebay-base"), 1);
    assert_eq!(arrow("forebay-transport", "forebay-cc"), 0);
    assert_eq!(undrawn(&one("forebay-cc", "forebay-sim", "build".into(), true)).len(), 1);
    assert_eq!(undrawn(&one("forebay-cc", "forebay-sim", "dev".into(), true)).len(), 0);
}

#[test]
fn a_crate_without_a_row_is_seen() {
    let mut packages: Vec<String> = crates().map(str::to_string).collect();
    assert!(without_row(&packages).is_empty());
    packages[0] = "forebay-new".into();
    assert_eq!(without_row(&packages).len(), 2, "one unlisted, one gone");
}

#[test]
fn a_foreign_dependency_of_a_pure_crate_is_seen() {
    let count = |from, to, kind, defaults| foreign_to_pure(&one(from, to, kind, defaults)).len();
    assert_eq!(count("forebay-net", "rand", Value::Null, false), 1);
    assert_eq!(count("forebay-net", "serde", Value::Null, true), 1);
    assert_eq!(count("forebay-net", "serde", Value::Null, false), 0);
    assert_eq!(count("forebay-net", "proptest", "dev".into(), true), 0);
    assert_eq!(count("forebay-lab", "parquet", Value::Null, true), 0);
    assert_eq!(count("forebay-cc", "schemars", Value::Null, false), 1);
    let mut behind_a_feature = one("forebay-cc", "schemars", Value::Null, false);
    behind_a_feature[0].optional = true;
    assert_eq!(foreign_to_pure(&behind_a_feature).len(), 0);
}
