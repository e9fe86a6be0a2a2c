//! What stands in the page before any script runs.

use crate::{run, synthetic};
use forebay_lab::report::{ReportError, write_comparison, write_report};
use std::fs;

fn data_of(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("<script id=data type=application/json>").expect("data");
    serde_json::from_str(after.split_once("</script>").expect("an end").0).expect("JSON")
}

#[test]
fn the_table_compares_protocols_and_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    synthetic::write(folder.path(), "inrpp/dumbbell", "three flows", &["flows were few"]);
    let page = fs::read_to_string(write_report(folder.path()).unwrap()).unwrap();
    // (9.6 + 10.6 + 10.1) / 3 = 10.1; by 10: 1.01. (22 + 23.1 + 22.4) / 3 = 22.5; by 22: 1.0227.
    assert!(page.contains("<th scope=row>AFCT, s</th><td>10.10</td><td>22.50</td>"));
    assert!(page.contains("AFCT / reference</th><td>1.010</td><td>1.023</td>"));
    assert!(page.contains("<td>3 of 3</td><td>3 of 3</td>"));
    assert!(page.contains("forebay run scenario.toml --protocol inrpp,rcp --seeds 1..1"));
    assert!(page.contains("<li>flows were few</li>"));
}

#[test]
fn the_numbers_in_the_page_are_those_of_the_series() {
    let folder = tempfile::tempdir().unwrap();
    synthetic::write(folder.path(), "x", "", &[]);
    let page = fs::read_to_string(write_report(folder.path()).unwrap()).unwrap();
    let data = data_of(&page);
    let panel = |run: usize, id: &str| {
        let panels = data["runs"][run]["panels"].as_array().unwrap();
        panels.iter().find(|panel| panel["id"] == id).unwrap_or_else(|| panic!("{id}")).clone()
    };
    let numbers = |line: &serde_json::Value, key: &str| -> Vec<f64> {
        let mut sum = 0.0;
        let differences = line[key].as_array().unwrap().iter();
        differences
            .map(|d| {
                sum += d.as_f64().unwrap();
                sum
            })
            .collect()
    };
    // The second cache fills from when the first is full, at 4 s or so: high is 10 MB, 20 of 120
    // Mbit/s leave.
    let cache = panel(0, "cache-0-2");
    let values = numbers(&cache["lines"][0], "v");
    let step = cache["lines"][0]["step"].as_f64().unwrap();
    let highest = values.iter().fold(0.0f64, |a, &b| a.max(b)) * step;
    assert!((10e6..10.3e6).contains(&highest), "{highest}");
    assert_eq!(
        cache["marks"],
        serde_json::json!([
            ["low", [[0.0, 5e6]]],
            ["high", [[0.0, 10e6]]],
            ["total", [[0.0, 12.5e6]]]
        ])
    );
    let states = numbers(&cache["states"], "v");
    assert_eq!(states.iter().fold(0.0f64, |a, &b| a.max(b)), 2.0);
    // Goodput of all flows together is 20 Mbit/s while anything waits: from 1 s on. Flow 1 alone
    // has all of it until 2 s.
    for (id, label, at_s, bps) in [
        ("goodput-all", "all flows", 5.05, 20e6),
        ("goodput", "flow 1", 1.55, 20e6),
        ("goodput", "flow 1", 2.55, 10e6),
        ("arrived", "flow 1", 2.55, 10e6),
        // Half of 20 Mbit/s by this link, with headers.
        ("wire", "link 0-2", 5.05, 10e6 * 1500.0 / 1448.0),
    ] {
        let plot = panel(0, id);
        let lines = plot["lines"].as_array().unwrap();
        let line = lines.iter().find(|line| line["label"] == label).unwrap();
        let tick_s = line["tick_us"].as_f64().unwrap() / 1e6;
        let times = numbers(line, "t");
        let (rates, step) = (numbers(line, "v"), line["step"].as_f64().unwrap());
        let after = times.iter().position(|t| t * tick_s >= at_s - 1e-9).unwrap();
        let rate = rates[after] * step;
        assert!((rate - bps).abs() < 0.01 * bps, "{label} at {at_s} s: {rate}");
    }
    let labels: Vec<_> = panel(0, "sequence-1")["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["label"].clone())
        .collect();
    assert_eq!(labels, ["sent", "left 4-0", "left 0-2", "received"]);
}

#[test]
fn the_same_results_give_the_same_bytes() {
    let top = tempfile::tempdir().unwrap();
    let (a, b) = (top.path().join("a"), top.path().join("b"));
    for folder in [&a, &b] {
        run("dumbbell", &["until_s=2"], &["newreno"], &[1, 2], folder);
    }
    let page = |folder: &std::path::Path| fs::read(folder.join("report.html")).unwrap();
    let first = page(&a);
    assert_eq!(first, page(&b));
    write_report(&a).unwrap();
    assert_eq!(page(&a), first);
    let mut names: Vec<_> = fs::read_dir(&a).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    let expected =
        ["delays.parquet", "flows.parquet", "report.html", "scenario.toml", "series.parquet"];
    assert_eq!(names[..5], expected);
    assert_eq!(names[5..], ["summary.json"]);
}

#[test]
fn a_big_run_is_downsampled_and_says_so() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("big");
    let many = "flows=[{ src = \"s1\", dst = \"d1\", count = 60, endless = true }]";
    let seeds: Vec<u64> = (1..=8).collect();
    run("dumbbell", &[many, "until_s=40"], &["newreno", "cubic"], &seeds, &folder);
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    for words in [
        "lines over time are downsampled",
        "The 20 flows with the most bytes (of equals the first) of 60",
        "first 6 of 8 seeds",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let data = data_of(&page);
    assert_eq!(data["runs"].as_array().map(Vec::len), Some(12));
}

#[test]
fn the_page_asks_nothing_of_a_network() {
    let folder = tempfile::tempdir().unwrap();
    synthetic::write(folder.path(), "x", "", &[]);
    let page = fs::read_to_string(write_report(folder.path()).unwrap()).unwrap();
    assert!(page.contains("Content-Security-Policy content=\"default-src &#39;none&#39;;"));
    for fetched in [" src=", "href=", "url(", "import ", "fetch("] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    assert!(page.contains("The MIT License"), "the licence of uPlot goes with it");
}

#[test]
fn folders_that_hold_no_results_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = write_report(folder.path()).unwrap_err();
    let ReportError::Io { what: "read", path, .. } = &error else { panic!("{error}") };
    assert!(path.ends_with("summary.json"), "{}", path.display());
    synthetic::write(folder.path(), "x", "", &[]);
    fs::write(folder.path().join("series.parquet"), "no table").unwrap();
    assert!(matches!(write_report(folder.path()), Err(ReportError::Parquet { .. })));
    fs::write(folder.path().join("summary.json"), "{\"forebay\": 1}").unwrap();
    assert!(matches!(write_report(folder.path()), Err(ReportError::NotResults { .. })));
    assert!(!folder.path().join("report.html").exists());
}

/// The highest value of any line of a panel.
fn highest(panel: &serde_json::Value) -> f64 {
    let of = |line: &serde_json::Value| {
        let (mut sum, mut most) = (0.0, 0f64);
        for step in line["v"].as_array().unwrap() {
            sum += step.as_f64().unwrap();
            most = most.max(sum);
        }
        most * line["step"].as_f64().unwrap()
    };
    panel["lines"].as_array().unwrap().iter().map(of).fold(0.0, f64::max)
}

fn panel_of<'a>(data: &'a serde_json::Value, run: usize, id: &str) -> &'a serde_json::Value {
    let panels = data["runs"][run]["panels"].as_array().unwrap();
    panels.iter().find(|panel| panel["id"] == id).unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn throughput_on_the_wire_fills_the_link_and_no_more() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("results");
    run("dumbbell", &[], &["newreno", "cubic"], &[1], &folder);
    let data = data_of(&fs::read_to_string(folder.join("report.html")).unwrap());
    for run in 0..2 {
        // The bottleneck is 10 Mbit/s, and always busy: that is what is on the wire. A window
        // counts whole bytes.
        let wire = highest(panel_of(&data, run, "wire"));
        assert!((9.999e6..10.001e6).contains(&wire), "{wire}");
        // Of 1500 bytes 1448 are payload. Packets arrive whole: one more in a window of 100 ms.
        let arrived = highest(panel_of(&data, run, "arrived-all"));
        let payload = 10e6 * 1448.0 / 1500.0;
        assert!((0.98 * payload..payload + 14_480.0 * 8.0).contains(&arrived), "{arrived}");
        // What is in order comes at once after a hole.
        assert!(highest(panel_of(&data, run, "goodput-all")) > 11e6);
        let capacity = serde_json::json!([["capacity of 0-2", [[0.0, 10e6]]]]);
        assert_eq!(panel_of(&data, run, "wire")["marks"], capacity);
        // 50 ms at 10 Mbit/s.
        let limit = serde_json::json!([["limit of 0-2", [[0.0, 62_500.0]]]]);
        assert_eq!(panel_of(&data, run, "queue")["marks"], limit);
    }
}

#[test]
fn a_capacity_that_changes_is_a_step() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("results");
    run("link-flap", &["sample_s=0.1"], &["newreno"], &[1], &folder);
    let data = data_of(&fs::read_to_string(folder.join("report.html")).unwrap());
    let marks = &panel_of(&data, 0, "wire")["marks"];
    // The event is at 12 s; the sample at that time or the next one sees it.
    assert_eq!(
        (&marks[0][0], &marks[0][1][0]),
        (&"capacity of middle".into(), &[0.0, 10e6].into())
    );
    let step = marks[0][1][1].as_array().unwrap();
    assert!((12.0..12.11).contains(&step[0].as_f64().unwrap()) && step[1] == 5e6, "{step:?}");
}

#[test]
fn several_folders_are_one_page() {
    let top = tempfile::tempdir().unwrap();
    let (a, b, c) = (top.path().join("a"), top.path().join("b"), top.path().join("c"));
    run("dumbbell", &["until_s=3"], &["newreno"], &[1], &a);
    run("dumbbell", &["until_s=2"], &["newreno", "cubic"], &[1], &b);
    run("lossy", &["until_s=2"], &["cubic"], &[4], &c);
    let path = top.path().join("page.html");
    write_comparison(&[a.clone(), b.clone(), c.clone()], &path).unwrap();
    let page = fs::read_to_string(&path).unwrap();
    let data = data_of(&page);
    let titles = data["protocols"].as_array().unwrap().iter().map(|p| p["title"].clone());
    let titles: Vec<_> = titles.collect();
    assert_eq!(titles, ["a: NewReno", "b: NewReno", "b: CUBIC", "c: CUBIC"]);
    let runs: Vec<_> = data["runs"].as_array().unwrap().iter().collect();
    assert_eq!(runs.iter().map(|r| r["protocol"].clone()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(runs.iter().all(|run| run["panels"].as_array().is_some_and(|p| !p.is_empty())));
    assert!(page.contains("The scenario of b differs from that of a (in brackets): until_s = 2"));
    assert!(page.contains("c and a hold different scenarios (lossy, dumbbell)"));
    // It may be written again, and what is no page stays.
    write_comparison(&[a.clone(), b.clone(), c], &path).unwrap();
    let own = top.path().join("own.html");
    fs::write(&own, "mine").unwrap();
    let told = write_comparison(&[a.clone(), b.clone()], &own);
    assert!(matches!(told, Err(ReportError::Foreign { .. })) && fs::read(&own).unwrap() == b"mine");
    let told = write_comparison(&[a.clone(), b], &a.join("page.html"));
    assert!(matches!(told, Err(ReportError::Inside { .. })));
    let told = write_comparison(&[a.clone(), top.path().join("./a")], &path);
    assert!(matches!(told, Err(ReportError::SameFolder { .. })));
    let told = write_comparison(&[], &path);
    assert!(matches!(told, Err(ReportError::NoFolder)));
}

/// Each of many folders has its name, its row in the table and the settings that it differs in.
#[test]
fn many_folders_have_a_row_each() {
    let top = tempfile::tempdir().unwrap();
    let folder = |n: u32| {
        let path = top.path().join(format!("limit-{n}"));
        let queue = format!("link_defaults.queue={n}0ms");
        run("dumbbell", &[queue.as_str(), "until_s=1"], &["cubic"], &[1], &path);
        path
    };
    let folders: Vec<_> = (1..=18).map(folder).collect();
    let path = top.path().join("all.html");
    write_comparison(&folders, &path).unwrap();
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("<h1>18 folders: limit-1 to limit-18</h1>"), "the title");
    let data = data_of(&page);
    let titles: Vec<&str> =
        data["protocols"].as_array().unwrap().iter().filter_map(|p| p["title"].as_str()).collect();
    assert_eq!(titles.len(), 18);
    assert_eq!((titles[0], titles[17]), ("limit-1: CUBIC", "limit-18: CUBIC"));
    // Settings that differ, and no others: the links of the dumbbell take their queue from there.
    assert!(page.contains("queue") && !page.contains("<code>until_s</code>"));
    for words in ["first 12 of 18 folders", "<th scope=row>limit-18</th>"] {
        assert!(page.contains(words), "{words}");
    }
    // A row for each protocol, since 18 columns would not fit.
    let rows = page.matches("limit-9: CUBIC</th><td>").count();
    assert!(rows >= 1, "no row of limit-9");
}

/// Times in s and values of a line in the page.
fn samples(line: &serde_json::Value) -> Vec<(f64, f64)> {
    let sums = |key: &str, by: f64| -> Vec<f64> {
        let mut sum = 0.0;
        let numbers = line[key].as_array().unwrap().iter().map(|n| n.as_f64().unwrap());
        numbers
            .map(|n| {
                sum += n;
                sum * by
            })
            .collect()
    };
    let (tick, step) = (line["tick_us"].as_f64().unwrap() * 1e-6, line["step"].as_f64().unwrap());
    sums("t", tick).into_iter().zip(sums("v", step)).collect()
}

/// Of a link with a trace the page has what its opportunities carry, window by window: nothing on
/// the wire exceeds it, and over the run it is the mean rate of the trace.
#[test]
fn the_capacity_of_a_trace_is_behind_what_the_link_carried() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("results");
    let set = ["until_s=6", "measure_from_s=0", "sample_s=0.01"];
    run("cell/city-driving", &set, &["cubic"], &[1], &folder);
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    let data = data_of(&page);
    let wire = panel_of(&data, 0, "wire");
    assert_eq!(wire["area"]["label"], "capacity of bs-phone");
    assert_eq!(wire["marks"], serde_json::Value::Null, "a mean rate is no threshold");
    for id in ["arrived-all", "goodput-all"] {
        assert_eq!(panel_of(&data, 0, id)["area"]["label"], "capacity of bs-phone", "{id}");
    }
    let (area, carried) = (samples(&wire["area"]), samples(&wire["lines"][0]));
    assert!(area.len() > 50 && carried.len() > 50, "{} {}", area.len(), carried.len());
    // A window may begin in the middle of a packet.
    let packet_bps = 2.0 * 1504.0 * 8.0 / 0.1;
    for (at_s, bps) in &carried {
        let same = area.iter().find(|(other, _)| (other - at_s).abs() < 1e-6);
        let (_, most) = same.unwrap_or_else(|| panic!("no capacity at {at_s}"));
        assert!(*bps <= most + packet_bps, "{bps} of {most} at {at_s}");
    }
    let mean = |line: &[(f64, f64)]| line.iter().map(|s| s.1).sum::<f64>() / line.len() as f64;
    assert!(mean(&carried) > 0.5 * mean(&area), "{} of {}", mean(&carried), mean(&area));
    assert!((5e6..40e6).contains(&mean(&area)), "{}", mean(&area));
    // The table has the share of it.
    assert!(page.contains("trace utilisation (bs-phone), %</th>"));
    assert!(page.contains("Jain's index in 1 s bins") || !page.contains("flow 2"));
}

#[test]
fn the_page_says_which_expectations_hold() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("results");
    let expect = "expect=[\
        { protocol = \"newreno\", metric = \"goodput_bps\", op = \">\", value = \"1Gbit/s\", \
          name = \"much <b>\" }, \
        { protocol = \"newreno\", metric = \"drops\", op = \">=\", value = 0, over = \"max\" }, \
        { protocol = \"newreno\", metric = \"utilisation\", op = \"within\", \
          value = [0.5, 1.0], link = \"0-2\", \
          over = { share = 0.5 } }]";
    run("dumbbell", &[expect], &["newreno"], &[1, 2], &folder);
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    let (_, section) = page.split_once("<section id=expectations").expect("a section");
    let section = section.split_once("</section>").unwrap().0;
    assert!(section.contains("<h2>Expectations: 2 of 3 pass</h2>"), "{section}");
    let row = "<tr class=fails><th scope=row>NewReno</th><td><b>much &lt;b&gt;</b> \
               goodput_bps &gt; 1 Gbit/s</td><td><b>✗ fails</b>: ";
    assert!(section.contains(row), "{section}");
    assert!(section.contains("Mbit/s, mean over 2 seeds; not met with seeds 1..2"), "{section}");
    assert!(section.contains("utilisation of 0-2 within 50 % and 100 %, with 50 % of seeds"));
    assert!(section.contains("<b>✓ passes</b>: with 2 of 2 seeds"), "{section}");
    assert!(section.contains("drops &gt;= 0, largest over seeds"), "{section}");
}

/// The profile that a controller publishes is curves over the window, and not a plot for each of
/// its points.
#[test]
fn a_delay_profile_is_drawn_over_the_window() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("results");
    run("dumbbell", &["until_s=10"], &["verus"], &[1], &folder);
    let data = data_of(&fs::read_to_string(folder.join("report.html")).unwrap());
    let curves = &panel_of(&data, 0, "cc-profile-1")["curves"];
    assert_eq!((&curves["quantity"], &curves["unit"]), (&"window".into(), &"packets".into()));
    let lines = curves["lines"].as_array().unwrap();
    assert!(lines.len() >= 4, "{}", lines.len());
    let numbers = |line: &serde_json::Value, key: &str| -> Vec<f64> {
        line[key].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    for line in lines {
        assert!(line["label"].as_str().unwrap().starts_with("at "), "{line}");
        let (x, y) = (numbers(line, "x"), numbers(line, "y"));
        assert!(x.len() == 16 && x.is_sorted() && y.is_sorted(), "{line}");
    }
    let together = panel_of(&data, 0, "cc-set-point-1");
    let labels: Vec<&str> = together["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["set point", "d max", "d min"]);
    let panels = data["runs"][0]["panels"].as_array().unwrap();
    let ids: Vec<&str> = panels.iter().map(|panel| panel["id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| !id.contains("profile_") && !id.contains("d_max")), "{ids:?}");
}
