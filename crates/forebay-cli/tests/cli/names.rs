//! `list`, `explain`, `schema` and the help: everything with a name says what it is.

use crate::Desk;
use serde_json::Value;
use std::sync::LazyLock;

/// The indented names of `forebay list`.
fn listed() -> Vec<String> {
    let text = Desk::new().forebay(&["list"]).ok().stdout;
    let named = text.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    named.filter_map(|l| l.split_whitespace().next().map(str::to_string)).collect()
}

/// Each name of the list with its explanation: some two hundred processes, once for all tests.
static EXPLAINED: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let desk = Desk::new();
    let explained = |name: String| (name.clone(), desk.forebay(&["explain", &name]).ok().stdout);
    listed().into_iter().map(explained).collect()
});

#[test]
fn every_name_of_the_list_is_explained() {
    for wanted in
        ["newreno", "cubic", "droptail", "modern", "dumbbell", "inrpp/dumbbell", "s1", "afct_s"]
    {
        assert!(EXPLAINED.iter().any(|(name, _)| name == wanted), "{wanted} is not listed");
    }
    for (name, text) in EXPLAINED.iter() {
        assert!(text.starts_with(name) || text.lines().count() > 2, "{name}: {text}");
    }
}

#[test]
fn an_algorithm_is_explained_with_its_parameters() {
    let text = Desk::new().forebay(&["explain", "cubic"]).ok().stdout;
    for word in ["RFC 9438", "beta = 0.7", "fast_convergence = true", "\"hystart++\""] {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
}

#[test]
fn a_protocol_says_what_it_needs_in_the_network() {
    let words = |name: &str| {
        let text = Desk::new().forebay(&["explain", name]).ok().stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let inrpp = words("inrpp");
    for word in [
        "Routers of the kind `inrpp`",
        "8 bytes longer",
        "An ACK for each packet",
        "hold the largest flow",
    ] {
        assert!(inrpp.contains(word), "no `{word}` in:\n{inrpp}");
    }
    assert!(words("rcp").contains("The scheme `rcp` at the ports of routers"));
    assert!(!words("cubic").contains("Network requirements"));
}

#[test]
fn a_scenario_is_explained_with_what_differs_in_one_protocol() {
    let text = Desk::new().forebay(&["explain", "inrpp/dumbbell"]).ok().stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in [
        "of inrpp: mss_bytes = 1446, receive_buffer_bytes = ",
        "of rcp: mss_bytes = 1434, timestamps = true",
    ] {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
}

#[test]
fn a_scenario_of_a_group_has_the_nearest_suggested() {
    let refused = Desk::new().forebay(&["run", "inrpp/dumbell"]);
    assert!(refused.stderr.contains("there is no scenario `inrpp/dumbell`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("did you mean `inrpp/dumbbell`?"), "{}", refused.stderr);
}

#[test]
fn a_preset_is_explained_with_every_value() {
    let text = Desk::new().forebay(&["explain", "modern"]).ok().stdout;
    for word in
        ["mss_bytes = 1448", "min_rto = \"1000ms\"", "loss_policy = \"rack-tlp\"", "ecn = false"]
    {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
}

#[test]
fn a_metric_is_explained_with_its_formula_flows_and_window() {
    let words = |name: &str| {
        let text = Desk::new().forebay(&["explain", name]).ok().stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let jain = words("jain_goodput");
    for word in ["(Σx)² / (n Σx²)", "every flow that sent its SYN", "window_s"] {
        assert!(jain.contains(word), "no `{word}` in:\n{jain}");
    }
    let delay = words("queue_delay_mean_ms");
    for word in ["when the transmission starts", "over their number", "window_s", "dropped"] {
        assert!(delay.contains(word), "no `{word}` in:\n{delay}");
    }
}

#[test]
fn what_tables_and_json_show_is_explained_under_its_name_there() {
    for (name, word) in [
        ("completed", "last byte"),
        ("drops", "dropped"),
        ("drops (queue full)", "dropped"),
        ("drops (AQM)", "dropped"),
        ("lost_packets", "declared lost"),
        ("trace_hash", "64 bits"),
        ("trace hash (first seed)", "64 bits"),
        ("utilisation, busiest link", "busy share"),
        ("utilisation, busiest link (0-2)", "busy share"),
        ("Jain's index", "(Σx)²"),
        ("goodput (all flows)", "in order at all receivers"),
        ("AFCT (fluid reference)", "without slow start"),
        ("AFCT / reference", "fluid model"),
    ] {
        let text = Desk::new().forebay(&["explain", name]).ok().stdout;
        assert!(text.contains(word), "{name}: no `{word}` in:\n{text}");
    }
}

#[test]
fn a_scenario_is_explained_with_its_network() {
    let text = Desk::new().forebay(&["explain", "dumbbell"]).ok().stdout;
    for word in ["6 hosts, 5 routers", "0-2", "10 Mbit/s", "62500 bytes", "1: s1 to d1", "10000000"]
    {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
}

#[test]
fn an_unknown_name_gets_the_nearest() {
    let done = Desk::new().forebay(&["explain", "newrino"]);
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    assert!(done.stderr.contains("did you mean the protocol `newreno`?"), "{}", done.stderr);
}

/// What `explain` says to try of a protocol is accepted: a parameter without a value is not set.
#[test]
fn what_is_said_to_try_runs() {
    let desk = Desk::new();
    for entry in forebay_cc::TABLE {
        let text = desk.forebay(&["explain", entry.name]).ok().stdout;
        let line =
            text.lines().find_map(|line| line.strip_prefix("Try: forebay ")).expect("a line");
        assert!(!text.contains("= null"), "{text}");
        let args: Vec<&str> = line.split(' ').chain(["--set", "until_s=0.01"]).collect();
        desk.forebay(&args).ok();
    }
}

#[test]
fn everything_fits_80_columns() {
    let list = Desk::new().forebay(&["list"]).ok().stdout;
    // A template shows its own text, whatever its width.
    let complete =
        |(name, _): &&(String, String)| !["inrpp/tiscali", "s3"].contains(&name.as_str());
    let explained = EXPLAINED.iter().filter(complete).map(|(name, text)| (name.as_str(), text));
    for (what, text) in explained.chain([("list", &list)]) {
        for line in text.lines().filter(|line| !line.starts_with("Try:")) {
            assert!(line.chars().count() <= 80, "{what}: {line}");
        }
    }
}

#[test]
fn the_schema_is_one_json_object_that_knows_the_keys() {
    let schema = Desk::new().forebay(&["schema"]).ok().json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    for key in ["links", "hosts", "flows", "tcp", "protocols"] {
        assert!(schema["properties"][key]["description"].is_string(), "{key}");
    }
    assert!(matches!(&schema["properties"]["protocol"]["properties"]["cubic"], Value::Object(_)));
}

#[test]
fn help_goes_to_standard_output_and_has_examples() {
    let desk = Desk::new();
    for args in [&["--help"][..], &["run", "--help"], &["bench", "--help"], &["explain", "--help"]]
    {
        let done = desk.forebay(args).ok();
        assert!(done.stdout.contains("Examples:") && done.stderr.is_empty(), "{args:?}");
    }
    let version = desk.forebay(&["--version"]).ok().stdout;
    assert_eq!(version, format!("forebay {}\n", env!("CARGO_PKG_VERSION")));
    // The examples of a help text are not wrapped by a narrow terminal.
    for args in [&["--help"][..], &["run", "--help"], &["bench", "--help"], &["explain", "--help"]]
    {
        let text = desk.forebay(args).ok().stdout;
        let examples = text.lines().skip_while(|line| !line.starts_with("Examples:"));
        for line in examples {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// Figures of another machine stand next to ours with the machine, and no ratio is made of them.
#[test]
fn a_benchmark_says_on_which_machine_others_were_measured() {
    let desk = Desk::new();
    let text = desk.forebay(&["bench", "--only", "s1"]).ok().stdout;
    assert!(
        text.contains("ns-3*") && text.contains("* measured on a shared 4 vCPU AMD EPYC"),
        "{text}"
    );
    assert!(!text.contains("faster") && !text.contains("slower"), "{text}");
    let json = desk.forebay(&["bench", "--only", "s1", "--json"]).ok().json();
    for peer in json["peers"].as_array().expect("figures of others") {
        let machine = peer["machine"].as_str().expect("each has one");
        let second = ["s4", "s5"].contains(&peer["name"].as_str().expect("a name"));
        let expected = if second { "2 vCPU Intel Xeon" } else { "4 vCPU AMD EPYC" };
        assert!(machine.contains(expected), "{peer}");
    }
}

#[test]
fn a_benchmark_that_does_not_fit_into_memory_is_refused() {
    let refused = Desk::new().forebay(&["bench", "--only", "scale-4", "--memory", "10MiB"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("and 10 MiB are available"), "{}", refused.stderr);
}

#[test]
fn a_benchmark_without_its_files_says_what_is_missing() {
    let desk = Desk::new();
    let done = desk.forebay(&["bench", "--only", "s3"]).ok();
    assert!(done.stdout.starts_with("note: s3 was not run"), "{}", done.stdout);
    let json = desk.forebay(&["bench", "--only", "s3", "--json"]).ok().json();
    assert_eq!(
        (json["rows"].as_array().map(Vec::len), &json["skipped"][0]["name"]),
        (Some(0), &"s3".into())
    );
    let wrong = desk.forebay(&["bench", "--only", "s3", "--data", "nowhere"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (2, ""));
    assert!(wrong.stderr.contains("nowhere/s3_links.csv"), "{}", wrong.stderr);
    assert_eq!(desk.forebay(&["bench", "--only", "s6"]).code, 2);
}

/// Of another machine with a warning; what is no report is refused with its name.
#[test]
fn a_benchmark_is_shown_beside_an_earlier_one() {
    let desk = Desk::new();
    let mut earlier = desk.forebay(&["bench", "--only", "s1", "--json"]).ok().json();
    desk.file("before.json", earlier.to_string());
    let beside = |desk: &Desk| desk.forebay(&["bench", "--only", "s1", "--compare", "before.json"]);
    let text = beside(&desk).ok().stdout;
    let row = text.lines().rfind(|line| line.trim_start().starts_with("s1 ")).expect("a row");
    assert!(row.ends_with("same") && !text.contains("note:"), "{text}");
    earlier["machine"] = "64 x something else".into();
    desk.file("before.json", earlier.to_string());
    assert!(beside(&desk).ok().stdout.contains("64 x something else"), "no warning");
    for wrong in ["no JSON", "{}", r#"{"machine": "1 x a", "rows": [{"name": "s1"}]}"#] {
        desk.file("before.json", wrong);
        let refused = beside(&desk);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{wrong}");
        assert!(refused.stderr.contains("before.json"), "{}", refused.stderr);
    }
}

#[test]
fn names_are_listed_by_kind_and_as_json() {
    let desk = Desk::new();
    let all = desk.forebay(&["list", "--json"]).ok().json();
    let kinds = [
        "disciplines",
        "experiments",
        "metrics",
        "ports",
        "presets",
        "protocols",
        "routers",
        "scenarios",
    ];
    let mut found: Vec<&String> = all.as_object().expect("an object").keys().collect();
    found.sort();
    assert_eq!(found, kinds);
    for kind in kinds {
        let one = desk.forebay(&["list", kind, "--json"]).ok().json();
        assert_eq!(one, serde_json::json!({ kind: all[kind] }));
        let text = desk.forebay(&["list", kind]).ok().stdout;
        for entry in all[kind].as_array().expect("a list") {
            let name = entry["name"].as_str().expect("a name");
            assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
            assert!(!entry["summary"].as_str().expect("a line").is_empty(), "{name}");
        }
    }
    let wrong = desk.forebay(&["list", "scenaros"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (2, ""));
    for told in ["a similar value exists: 'scenarios'", "possible values: protocols, disciplines"] {
        assert!(wrong.stderr.contains(told), "{}", wrong.stderr);
    }
}
