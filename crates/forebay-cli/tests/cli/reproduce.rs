//! `forebay reproduce`: rows for everything that a paper shows, and the heart of it reproduced;
//! experiments of files.

use crate::Desk;
use serde_json::Value;

/// The row of a quantity in a set-up.
fn row<'a>(rows: &'a [Value], setup: &str, protocol: &str, quantity: &str) -> &'a Value {
    let mut mine = rows.iter().filter(|row| {
        row["setup"] == setup && row["protocol"] == protocol && row["quantity"] == quantity
    });
    mine.next().unwrap_or_else(|| panic!("no row {setup}, {protocol}, {quantity}"))
}

#[test]
fn the_dumbbell_of_inrpp_is_reproduced() {
    let done = Desk::new().forebay(&["reproduce", "inrpp/dumbbell", "--quick", "--json"]).ok();
    let json = done.json();
    let rows = json["rows"].as_array().unwrap();
    for row in rows {
        for key in ["paper", "experiment", "quantity", "protocol", "unit", "verdict", "why"] {
            assert!(row[key].is_string(), "{key}: {row}");
        }
        assert!(row["seeds"].is_u64() && row.get("published").is_some(), "{row}");
        // How far it is off, and after that the reason.
        let differs = row["verdict"] == "differs" || row["verdict"] == "better";
        let reason = row["why"].as_str().unwrap().split_once(". ").map_or("", |(_, reason)| reason);
        assert!(!differs || reason.len() > 20, "no reason: {row}");
        // No baseline is better than what was published: it is another one then.
        assert!(row["protocol"] == "inrpp" || row["verdict"] != "better", "{row}");
        assert_eq!(row["published"].is_null(), row["verdict"] == "not-stated", "{row}");
    }
    for item in ["Table V", "Fig. 9", "Fig. 10", "Fig. 11", "Fig. 12"] {
        assert!(rows.iter().any(|row| row["source"].as_str().unwrap().contains(item)), "{item}");
    }
    heart(rows);
    // The paper's own numbers for the two it compares itself with, in its setting and in a fair
    // one.
    for setup in ["paper", "fair"] {
        assert_eq!(row(rows, setup, "rcp", "afct")["published"], 25.96);
        assert_eq!(row(rows, setup, "newreno", "afct")["published"], 23.31);
    }
    assert_eq!(row(rows, "fair", "cubic", "afct")["verdict"], "not-stated");
    // What the paper says of it cannot be.
    assert_eq!(row(rows, "figures", "inrpp", "flow_2_completes")["verdict"], "differs");
}

/// What must be as in the paper.
fn heart(rows: &[Value]) {
    for setup in ["figures", "text"] {
        for quantity in [
            "afct",
            "afct_ratio_to_reference",
            "jain_whole_flow",
            "cache_drops",
            "retransmits",
            "wire_rate, one flow: flow 1",
            "wire_rate, two flows: flow 2",
            "wire_rate, three flows: flow 3",
            "output_of_node_0, mean",
        ] {
            let row = row(rows, setup, "inrpp", quantity);
            assert_eq!(row["verdict"], "reproduced", "{row}");
            let [low, high] = [&row["ci95"][0], &row["ci95"][1]].map(|end| end.as_f64().unwrap());
            let mean = row["measured"].as_f64().unwrap();
            assert!(low <= mean && mean <= high, "{row}");
        }
    }
    for quantity in
        ["back_pressure_begins_node_0", "back_pressure_begins_node_4", "sender_done: flow 1"]
    {
        let row = row(rows, "figures", "inrpp", quantity);
        assert_eq!(row["verdict"], "reproduced", "{row}");
    }
    for setup in ["rtt-both", "rtt-sender"] {
        assert_eq!(row(rows, setup, "inrpp", "jain_whole_flow")["verdict"], "reproduced");
    }
}

#[test]
fn an_experiment_that_is_not_there_is_an_input_error() {
    for name in ["inrpp/dumbel", "linx", "linux/one-flo"] {
        let done = Desk::new().forebay(&["reproduce", name]);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""));
        assert!(
            done.stderr.contains(&format!("there is no experiment `{name}`")),
            "{}",
            done.stderr
        );
        for known in ["inrpp/caches, inrpp/dumbbell", "linux, linux/one-flow"] {
            assert!(done.stderr.contains(known), "{}", done.stderr);
        }
    }
}

#[test]
fn experiments_are_listed() {
    let list = Desk::new().forebay(&["list"]).ok().stdout;
    let heading = "Experiments (reproduce NAME)";
    let experiments = list.split(heading).nth(1).expect("experiments have a section");
    for name in ["inrpp/dumbbell", "linux/one-flow"] {
        assert!(experiments.contains(name), "{experiments}");
    }
}

/// The lines are counted below. 100 kB at 10 Mbit/s: nothing is dropped, no timer fires.
const EXPERIMENT: &str = r#"title = "t"
source = "s"
label = "kernel"
seeds = 2
quick_seeds = 1
[[setups]]
name = "a"
scenario = "small.toml"
protocols = ["newreno"]
[[quantities]]
quantity = "drops"
unit = ""
tolerance = "factor 1.5"
measure = { drops = "full" }
[[quantities]]
quantity = "timeouts"
unit = ""
tolerance = 0
measure = { metric = "timeouts" }
[[cases]]
setup = "a"
protocol = "newreno"
published = { drops = [14, 15, 52], timeouts = 0 }
"#;

fn desk_with(experiment: &str) -> Desk {
    let desk = Desk::new();
    desk.file("small.toml", crate::SMALL).file("mine.toml", experiment);
    desk
}

#[test]
fn an_experiment_of_a_file_is_compared() {
    let desk = desk_with(EXPERIMENT);
    let json = desk.forebay(&["reproduce", "mine.toml", "--json"]).ok().json();
    let rows = json["rows"].as_array().unwrap();
    let [drops, timeouts] = &rows[..] else { panic!("{json}") };
    assert_eq!((&drops["published"], &drops["measured"]), (&15.0.into(), &0.0.into()));
    assert_eq!(drops["published_range"], serde_json::json!([14.0, 52.0]));
    assert_eq!((&drops["verdict"], &drops["seeds"]), (&"differs".into(), &2.into()));
    assert_eq!((&timeouts["verdict"], &timeouts["why"]), (&"reproduced".into(), &"equal".into()));
    let text = desk.forebay(&["reproduce", "mine.toml", "--quick", "--verbose"]).ok().stdout;
    for words in
        ["15         14 to 52", "drops     a factor of 1.5  0 of 1", "2 rows: 1 reproduced"]
    {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
    let table = desk.forebay(&["reproduce", "mine.toml", "--quick", "--markdown"]).ok().stdout;
    assert!(table.contains("| a | newreno | 15 (14 to 52)<br>**0** | 0<br>0 |"), "{table}");
    let both = desk.forebay(&["reproduce", "mine.toml", "--json", "--markdown"]);
    assert_eq!(both.code, 2, "{}", both.stderr);
}

#[test]
fn a_wrong_experiment_says_file_line_key_and_what_was_expected() {
    for (from, to, words) in [
        ("\nlabel", "\nlable", "mine.toml:3:1: unknown field `lable`, expected one of `title`"),
        (
            "\"factor 1.5\"",
            "\"factor 0.5\"",
            "mine.toml:13:13: invalid value: string \"factor 0.5\"",
        ),
        ("\"factor 1.5\"", "\"15\"", "expected a share such as \"2%\", a factor such as"),
        ("tolerance = 0", "tolerance = \"2%\"", "mine.toml:23:48: a share of 0 is 0"),
        ("[14, 15, 52]", "[15, 14, 52]", "mine.toml:23:23: invalid value: sequence, expected"),
        ("drops = [", "drop = [", "mine.toml:23:15: there is no quantity `drop`; one of: drops"),
        (", timeouts = 0 }", " }", "mine.toml:21:9: this case has no value for the quantity `t"),
        ("\"timeouts\" }", "\"timeout\" }", "mine.toml:19:11: there is no metric `timeout`"),
        ("small.toml", "smal.toml", "mine.toml:8:12: "),
    ] {
        let wrong = EXPERIMENT.replacen(from, to, 1);
        assert_ne!(wrong, EXPERIMENT, "{from}");
        let done = desk_with(&wrong).forebay(&["reproduce", "mine.toml"]);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{to}: {}", done.stderr);
        assert!(done.stderr.contains(words), "{to}: {}", done.stderr);
    }
    let missing = Desk::new().forebay(&["reproduce", "mine.toml"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("cannot read `mine.toml`: "), "{}", missing.stderr);
}

/// Rows by verdict, those that differ by name, and means of what has not been published.
#[test]
fn without_verbose_there_is_a_summary() {
    let desk = desk_with(EXPERIMENT);
    let text = desk.forebay(&["reproduce", "mine.toml", "--quick"]).ok().stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "reproduced differs a 1 1",
        "differs kernel ours a, newreno: drops 15 0",
        "drops a factor of 1.5 0 of 1",
        "2 rows: 1 reproduced, 1 differs",
        "--verbose prints each row",
    ] {
        assert!(words.contains(part), "no `{part}` in:\n{text}");
    }
    let both = desk.forebay(&["reproduce", "mine.toml", "--json", "--verbose"]);
    assert_eq!(both.code, 2, "{}", both.stderr);
}

#[test]
fn a_folder_keeps_rows_tables_and_runs() {
    let desk = desk_with(EXPERIMENT);
    let args = ["reproduce", "mine.toml", "--out", "kept"];
    let done = desk.forebay(&args).ok();
    assert!(done.stdout.ends_with("\nResults: kept/comparison.md\n"), "{}", done.stdout);
    let read = |name: &str| std::fs::read_to_string(desk.path("kept").join(name));
    let rows: Value = serde_json::from_str(&read("rows.json").expect("rows")).expect("JSON");
    let printed = desk.forebay(&["reproduce", "mine.toml", "--json"]).ok().json();
    assert_eq!(rows, printed);
    let tables = read("comparison.md").expect("tables");
    // The page of the one set-up, where the link leads.
    let (_, link) = tables.split_once("- [a](").expect("a link");
    let page = read(link.split_once(')').expect("an end").0).expect("a page");
    assert!(page.contains("NewReno") && page.contains("<h1>"));
    let folder = link.rsplit_once("/report.html").expect("the page of a folder").0;
    let summary: Value =
        serde_json::from_str(&read(&format!("{folder}/summary.json")).expect("a summary")).unwrap();
    let seeds: Vec<u64> =
        summary["runs"].as_array().unwrap().iter().filter_map(|r| r["seed"].as_u64()).collect();
    assert_eq!(seeds, [1, 2]);
    assert_eq!(desk.names(), ["kept", "mine.toml", "small.toml"], "nothing is left beside it");
    // It stays as it is.
    let again = desk.forebay(&args);
    assert_eq!((again.code, again.stdout.as_str()), (2, ""));
    assert!(again.stderr.contains("--out: `kept` exists and holds"), "{}", again.stderr);
    desk.file("taken", "");
    let file = desk.forebay(&["reproduce", "mine.toml", "--out", "taken"]);
    assert!(file.code == 2 && file.stderr.contains("is not a folder"), "{}", file.stderr);
}
