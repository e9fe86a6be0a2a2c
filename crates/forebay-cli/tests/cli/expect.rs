//! `[[expect]]`: what is printed, the exit code, JSON, and the file of `--junit`.

use crate::{Desk, Done, SMALL};
use std::fs;

/// 100 kB at 10 Mbit/s: 70 packets of 1500 bytes, 69 of them with 1448 bytes of payload, take
/// 84 ms on the bottleneck, and the handshake and the way there 30 ms of delays. So the flow takes
/// more than 0.1 s, in less than 10 s, and it sends less than 10 Mbit/s.
const HOLDS: &str = "metric = \"afct_s\"\nop = \"within\"\nvalue = [0.1, \"10s\"]";
const FAILS: &str = "metric = \"goodput_bps\"\nop = \">=\"\nvalue = \"10Mbit/s\"";

fn desk(expectations: &[&str]) -> Desk {
    let tables = expectations.iter().map(|lines| format!("[[expect]]\n{lines}\n"));
    let desk = Desk::new();
    desk.file("small.toml", format!("{SMALL}{}", tables.collect::<String>()));
    desk
}

fn run(expectations: &[&str], more: &[&str]) -> Done {
    let mut args = vec!["run", "small.toml"];
    args.extend(more);
    desk(expectations).forebay(&args)
}

/// The lines about expectations.
fn lines(done: &Done) -> Vec<&str> {
    let lines = done.stdout.lines().skip_while(|line| !line.starts_with("expectations:"));
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn what_holds_is_said_and_the_code_is_0() {
    let done = run(&[HOLDS], &[]).ok();
    assert_eq!(done.stderr, "");
    let lines = lines(&done);
    assert_eq!(lines[0], "expectations: 1 of 1 pass");
    assert!(
        lines[1].starts_with("  pass   newreno: afct_s within 100 ms and 10 s: 1"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.lines().all(|line| line.chars().count() <= 80), "{}", done.stdout);
}

#[test]
fn what_fails_has_its_value_and_the_code_is_1() {
    let done = run(&[HOLDS, FAILS], &[]);
    assert_eq!((done.code, done.stderr.as_str()), (1, "failed: 1 of 2 expectations\n"));
    let lines = lines(&done);
    assert_eq!(lines[0], "expectations: 1 of 2 pass");
    let (expected, value) = lines[2]
        .split_once(": ")
        .and_then(|(a, rest)| {
            let (b, c) = rest.split_once(": ")?;
            Some((format!("{a}: {b}"), c))
        })
        .expect("two parts");
    assert_eq!(expected, "  FAIL   newreno: goodput_bps >= 10 Mbit/s");
    let mbps: f64 = value.strip_suffix(" Mbit/s").expect("a rate").parse().expect("a number");
    assert!(mbps > 1.0 && mbps < 10.0, "{value}");
    // The table of results is printed all the same.
    assert!(done.stdout.contains("AFCT, ms"), "{}", done.stdout);
}

#[test]
fn json_has_an_array_and_standard_error_the_list() {
    let done = run(&[HOLDS, FAILS], &["--json", "--seeds", "3"]);
    assert_eq!(done.code, 1);
    let mut told = done.stderr.lines();
    assert_eq!(told.next(), Some("failed: 1 of 2 expectations"));
    let line = told.next().expect("the one that failed");
    assert!(line.starts_with("  newreno: goodput_bps >= 10 Mbit/s: "), "{line}");
    assert!(line.ends_with(" Mbit/s, mean over 3 seeds; not met with seeds 1..3"), "{line}");
    let json = done.json();
    let [holds, fails] = json["expectations"].as_array().expect("an array").as_slice() else {
        panic!("{json}")
    };
    assert_eq!((&holds["status"], &fails["status"]), (&"passes".into(), &"fails".into()));
    assert_eq!((&fails["op"], &fails["over"]), (&">=".into(), &"mean".into()));
    assert_eq!(fails["expected"], serde_json::json!([10e6]));
    assert_eq!(holds["expected"], serde_json::json!([0.1, 10.0]));
    assert_eq!(fails["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(fails["failing_seeds"], serde_json::json!([1, 2, 3]));
    // The mean is that of the aggregate.
    let mean = json["aggregate"][0]["metrics"]["goodput_bps"]["mean"].as_f64();
    assert_eq!(fails["value"].as_f64(), mean);
}

#[test]
fn a_scenario_without_expectations_has_an_empty_array() {
    let done = run(&[], &["--json"]).ok();
    assert_eq!(done.json()["expectations"], serde_json::json!([]));
    assert!(!run(&[], &[]).ok().stdout.contains("expectation"));
}

#[test]
fn each_variant_and_each_protocol_is_checked() {
    let one = "metric = \"afct_s\"\nop = \"<\"\nvalue = \"500ms\"";
    let args = ["--protocol", "newreno,cubic", "--jobs", "2"];
    let done = run(&[one], &args).ok();
    assert_eq!(lines(&done).len(), 3, "{}", done.stdout);
    // The same with a slower link: 100 kB take 0.84 s there.
    let slow = ["--set", "links.0.rate=1Mbit/s"];
    let done = run(&[one], &slow);
    assert_eq!(done.code, 1, "{}", done.stdout);
    let done = run(&[one], &[&slow[..], &["--set", "expect.0.value=2s"]].concat()).ok();
    assert!(lines(&done)[1].starts_with("  pass   newreno: afct_s < 2 s: "), "{}", done.stdout);
}

#[test]
fn a_protocol_that_is_not_run_is_not_checked() {
    let own = "metric = \"afct_s\"\nop = \"<\"\nvalue = 0\nprotocol = \"newreno\"";
    let done = run(&[own], &["--protocol", "cubic"]).ok();
    let expected = "  -      newreno: afct_s < 0 ms: not checked, there are no runs under newreno";
    assert_eq!(lines(&done), ["expectations: 1 not checked", expected]);
    let any = "metric = \"afct_s\"\nop = \">\"\nvalue = 0";
    let done = run(&[own, any], &["--protocol", "cubic"]).ok();
    assert_eq!(lines(&done)[0], "expectations: 1 of 1 pass, 1 not checked");
}

#[test]
fn a_metric_without_a_value_fails_in_words() {
    // 100 kB do not complete in 0.05 s.
    let done = run(&["metric = \"afct_s\"\nop = \"<\"\nvalue = 1"], &["--set", "until_s=0.05"]);
    assert_eq!(done.code, 1);
    assert_eq!(lines(&done)[1], "  FAIL   newreno: afct_s < 1 s: no run has a value");
}

#[test]
fn bad_input_is_2_and_nothing_runs() {
    let wrong = "metric = \"goodputs\"\nop = \"<\"\nvalue = 1";
    let done = run(&[wrong], &[]);
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    let expected = "error: small.toml:22:10: expect[0].metric: there is no metric `goodputs`\n  \
                    22 | metric = \"goodputs\"\n     |          ^^^^^^^^^^\n\
                    hint: did you mean `goodput_bps`?\n";
    assert_eq!(done.stderr, expected);
    for (file, told) in [
        ("nowhere/junit.xml", "cannot write `nowhere/junit.xml`: its folder is not there"),
        (".", "cannot write `.`: expected a file, found a folder"),
        ("small.toml", "`small.toml` is the scenario"),
    ] {
        let done = run(&[HOLDS], &["--junit", file, "--force"]);
        let told = format!("error: --junit: {told}\n");
        assert_eq!((done.code, done.stderr, done.stdout.as_str()), (2, told, ""));
    }
}

#[test]
fn results_that_are_kept_can_be_run_again() {
    let own = "metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nprotocol = \"newreno\"\nname = \"soon\"";
    let desk = desk(&[own, HOLDS]);
    desk.forebay(&["run", "small.toml", "--out", "a"]).ok();
    let again = desk.forebay(&["run", "a/scenario.toml", "--json"]).ok().json();
    assert_eq!(again["expectations"].as_array().map(Vec::len), Some(2));
    // Under another protocol one of them cannot be checked, and the file has the other.
    desk.forebay(&["run", "small.toml", "--out", "b", "--protocol", "cubic"]).ok();
    let again = desk.forebay(&["run", "b/scenario.toml", "--json"]).ok().json();
    assert_eq!(again["expectations"].as_array().map(Vec::len), Some(1));
}

#[test]
fn explain_and_the_schema_show_them() {
    let text = desk(&[FAILS]).forebay(&["explain", "small.toml"]).ok().stdout;
    assert!(text.contains("Expects    goodput_bps >= 10 Mbit/s\n"), "{text}");
    let schema = Desk::new().forebay(&["schema"]).ok().json();
    let keys = &schema["properties"]["expect"]["items"];
    assert_eq!(keys["required"], serde_json::json!(["metric", "op", "value"]));
    let ops = serde_json::json!(["<", "<=", ">", ">=", "==", "within"]);
    assert_eq!(keys["properties"]["op"]["enum"], ops);
}

#[test]
fn junit_is_xml_with_a_case_for_each() {
    let named = format!("{FAILS}\nname = \"a < b & \\\"c\\\"\"");
    let other = "metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nprotocol = \"newreno\"";
    let desk = desk(&[HOLDS, &named, other]);
    let args = ["run", "small.toml", "--junit", "j.xml", "--protocol", "cubic", "--seeds", "2"];
    assert_eq!(desk.forebay(&args).code, 1);
    assert_eq!(desk.names(), ["j.xml", "small.toml"], "nothing is left beside it");
    let text = fs::read_to_string(desk.path("j.xml")).expect("a file");
    let document = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let root = document.root_element();
    let suite = root.children().find(|node| node.is_element()).expect("a suite");
    for node in [root, suite] {
        let counts = ["tests", "failures", "errors", "skipped"].map(|key| node.attribute(key));
        assert_eq!(counts, [Some("4"), Some("1"), Some("0"), Some("1")], "{text}");
    }
    assert_eq!((root.tag_name().name(), suite.tag_name().name()), ("testsuites", "testsuite"));
    assert_eq!(suite.attribute("name"), Some("small.toml"));
    let cases: Vec<_> = suite.children().filter(roxmltree::Node::is_element).collect();
    let names: Vec<_> = cases.iter().map(|case| case.attribute("name").unwrap()).collect();
    let expected = [
        "runs",
        "afct_s within 100 ms and 10 s",
        "a < b & \"c\" (goodput_bps >= 10 Mbit/s)",
        "afct_s < 1 s",
    ];
    assert_eq!(names, expected);
    let classes: Vec<_> = cases.iter().map(|case| case.attribute("classname").unwrap()).collect();
    let (cubic, newreno) = ("small.toml.cubic", "small.toml.newreno");
    assert_eq!(classes, [cubic, cubic, cubic, newreno]);
    let inner = |i: usize| cases[i].first_element_child();
    assert!(inner(0).is_none() && inner(1).is_none());
    let failure = inner(2).expect("a failure");
    assert_eq!(failure.tag_name().name(), "failure");
    let message = failure.attribute("message").expect("a message");
    let start = "cubic: a < b & \"c\" (goodput_bps >= 10 Mbit/s): ";
    assert!(message.starts_with(start) && message.contains(" Mbit/s, mean over 2 seeds"));
    assert_eq!(inner(3).map(|node| node.tag_name().name()), Some("skipped"));
}

#[test]
fn junit_of_a_run_that_holds_replaces_the_file_of_one_that_did_not() {
    let desk = desk(&[HOLDS]);
    let args = ["run", "small.toml", "--junit", "j.xml", "--json"];
    let failing = [&args[..], &["--set", "flows.0.bytes=1"]].concat();
    assert_eq!(desk.forebay(&failing).code, 1);
    desk.forebay(&args).ok();
    let text = fs::read_to_string(desk.path("j.xml")).expect("a file");
    assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\""), "{text}");
}

#[test]
fn junit_leaves_files_of_others_alone() {
    let desk = desk(&[HOLDS]);
    let others = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pytest\"/>\n";
    desk.file("j.xml", others);
    let args = ["run", "small.toml", "--junit", "j.xml", "--json"];
    let done = desk.forebay(&args);
    let told = "error: --junit: cannot write `j.xml`: the file is there already, and Forebay did \
                not write it\nhint: another name, or --force to replace it\n";
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (2, "", told));
    assert_eq!(fs::read_to_string(desk.path("j.xml")).expect("a file"), others);
    desk.forebay(&[&args[..], &["--force"]].concat()).ok();
    let text = fs::read_to_string(desk.path("j.xml")).expect("a file");
    assert!(text.contains("<testsuites name=\"forebay\" tests=\"2\""), "{text}");
}

#[test]
fn the_closed_forms_of_the_built_in_scenarios_hold() {
    for name in ["checks/full-link", "checks/random-loss", "checks/floor"] {
        let done = Desk::new().forebay(&["run", name, "--json", "--seeds", "5"]).ok();
        let json = done.json();
        let all = json["expectations"].as_array().expect("an array");
        assert!(!all.is_empty() && all.iter().all(|of| of["status"] == "passes"), "{all:?}");
    }
    // A buffer of an eighth of a BDP does not keep the link busy.
    let small = ["run", "checks/full-link", "--set", "links.left-right.queue.limit=6kB"];
    let done = Desk::new().forebay(&small);
    assert_eq!((done.code, done.stderr.as_str()), (1, "failed: 2 of 3 expectations\n"));
}

/// The test cases of draft-ietf-ccwg-bbr. What senders go through is tested in forebay-testkit.
#[test]
fn what_the_scenarios_of_bbr_expect_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../forebay-scenario/scenarios/bbr");
    let files = fs::read_dir(folder).expect("the folder of the scenarios");
    let names: Vec<_> = files.map(|file| file.expect("an entry").path()).collect();
    assert_eq!(names.len(), 23);
    for name in names {
        let stem = name.file_stem().expect("a name").to_str().expect("plain letters");
        let name = format!("bbr/{stem}");
        let done = Desk::new().forebay(&["run", &name, "--json", "--seeds", "3"]).ok();
        let json = done.json();
        let all = json["expectations"].as_array().expect("an array");
        assert!(
            !all.is_empty() && all.iter().all(|of| of["status"] == "passes"),
            "{name}: {all:?}"
        );
    }
}
