//! `forebay reproduce matrix`: all controllers on named paths.

use crate::sweep::without_times;
use crate::{Desk, Done};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// One path, which costs least.
const TINY: [&str; 7] = ["reproduce", "matrix", "--quick", "--point", "thin-2bdp", "--jobs", "2"];

fn matrix(desk: &Desk, more: &[&str]) -> Done {
    desk.forebay(&[&TINY, more].concat())
}

#[test]
fn every_controller_runs_alone_twice_and_beside_cubic() {
    let desk = Desk::new();
    let json = matrix(&desk, &["--out", "one", "--json"]).ok().json();
    let rows = json["rows"].as_array().expect("rows");
    let of = |column: &str| rows.iter().map(|row| row[column].as_str().unwrap()).collect();
    let protocols: BTreeSet<&str> = of("run_protocol");
    let points: BTreeSet<&str> = of("point_name");
    let expected = ["thin-2bdp, alone", "thin-2bdp, beside-cubic", "thin-2bdp, twice"];
    assert_eq!(points.into_iter().collect::<Vec<_>>(), expected);
    // All that `list` has, and the papers' rules where the defaults are others.
    let listed = desk.forebay(&["list", "protocols", "--json"]).ok().json();
    let listed = listed["protocols"].as_array().unwrap().iter().map(|p| p["name"].as_str());
    let all: BTreeSet<&str> = listed.flatten().chain(["verus-paper", "kickass-paper"]).collect();
    assert_eq!(protocols, all);
    assert_eq!(rows.len(), 3 * 2 * all.len());
    for row in rows {
        assert!(row["error"].is_null(), "{row}");
        let share = |column: &str| row[column].as_f64().unwrap();
        let used = share("utilisation");
        assert!((0.0..=1.0).contains(&used) && share("first_class_delay_p95_ms") > 40.0, "{row}");
        let company = row["point_name"].as_str().unwrap();
        let own = share("first_class_goodput_share");
        assert_eq!(company.ends_with("cubic"), own < 1.0, "{row}");
    }
    // Beside CUBIC CUBIC is there twice: the same packets.
    let hashes = |company: &str| -> Vec<&Value> {
        let is_its = |row: &&Value| {
            row["run_protocol"] == "cubic" && row["point_name"] == format!("thin-2bdp, {company}")
        };
        rows.iter().filter(is_its).map(|row| &row["trace_hash"]).collect()
    };
    assert_eq!((hashes("twice").len(), hashes("twice")), (2, hashes("beside-cubic")));
    // Once more, as two shards.
    for shard in ["1/2", "2/2"] {
        matrix(&desk, &["--shard", shard, "--out", &shard.replace('/', "-")]).ok();
    }
    desk.forebay(&["merge", "1-2", "2-2", "--out", "merged"]).ok();
    assert_eq!(without_times(&desk.path("merged")), without_times(&desk.path("one")));
    let page = |folder: &str| fs::read_to_string(desk.path(&format!("{folder}/report.html")));
    let page = [page("one").unwrap(), page("merged").unwrap()];
    assert_eq!(page[0], page[1]);
    let row = page[0].lines().find(|line| line.contains("<th scope=row>beside-cubic</th>"));
    let row = row.expect("the table has a row of each company");
    assert!(row.contains("<th scope=row>thin-2bdp</th>"), "{row}");
    assert!(page[0].contains("data-baseline='CUBIC'"));
    // One scale for paths of 1 Mbit/s and 1 Gbit/s shows neither: counts and the table, no plots.
    let place = |of: &str| page[0].find(of);
    assert!(place("id=findings").unwrap() < place("id=table").unwrap());
    assert_eq!(place("<svg class=plot"), None);
    // The counts are those of the rows.
    let text = matrix(&desk, &["--resume", "--findings", "--out", "one"]).ok().stdout;
    let mean = |protocol: &str, point: &str, column: &str| {
        let of = rows.iter().filter(|row| {
            row["run_protocol"] == protocol && row["point_name"] == format!("thin-2bdp, {point}")
        });
        let values: Vec<f64> = of.map(|row| row[column].as_f64().unwrap()).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    for protocol in all {
        let line = text.lines().find(|line| line.starts_with(&format!("| {protocol} |")));
        let cells: Vec<&str> = line.expect("a row").split('|').map(str::trim).collect();
        let is = |place: usize, what: bool| {
            assert_eq!(cells[place], usize::from(what).to_string(), "{protocol}: {cells:?}");
        };
        let relative = |column| mean(protocol, "alone", column) / mean("cubic", "alone", column);
        let goodput = relative("goodput_bps");
        let delay = relative("first_class_delay_p95_ms");
        is(2, goodput < 0.9);
        is(4, delay > 2.0);
        is(5, delay < 0.5);
        is(6, mean(protocol, "alone", "first_class_retransmit_share") > 0.05);
        assert!(cells[3].ends_with(" (thin-2bdp)"), "{cells:?}");
        let number = |place: usize| cells[place].split(' ').next().unwrap().parse::<f64>().unwrap();
        assert!((number(3) - 100.0 * goodput).abs() < 0.1, "{protocol}: {cells:?}");
        let share = 100.0 * mean(protocol, "beside-cubic", "first_class_goodput_share");
        for place in [7, 8, 9] {
            assert!((number(place) - share).abs() < 0.1, "{protocol}: {cells:?}");
        }
    }
}

#[test]
fn its_tables_are_markdown() {
    let desk = Desk::new();
    let text = matrix(&desk, &["--point", "alone", "--markdown", "--out", "m"]).ok().stdout;
    let tables = text.lines().filter(|line| line.starts_with("## ")).collect::<Vec<_>>();
    assert_eq!(tables, ["## thin-2bdp, alone"]);
    let cubic = text.lines().find(|line| line.starts_with("| cubic |")).expect("a row");
    let vegas = text.lines().find(|line| line.starts_with("| vegas |")).expect("a row");
    // The baseline has no difference from itself.
    assert!(!cubic.contains("<br>") && vegas.contains("<br>"), "{cubic}\n{vegas}");
}

#[test]
fn wrong_requests_are_told() {
    let desk = Desk::new();
    let refused = |args: &[&str], words: &str| {
        let done = desk.forebay(args);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
        assert!(!desk.path("matrix").exists());
    };
    let matrix = ["reproduce", "matrix"];
    let path = [&matrix[..], &["--point", "wired-1bpd"]].concat();
    refused(&path, "there is no point `wired-1bpd`");
    refused(&path, "did you mean `wired-1bdp`?");
    let shard = [&matrix[..], &["--shard", "3/2", "--out", "x"]].concat();
    refused(&shard, "`3/2` is no shard: expected I/N with I from 1 to N");
    refused(
        &[&matrix[..], &["--point", "dc"]].concat(),
        "one of: dc-0.5bdp, dc-1bdp, dc-8bdp, dc-fq",
    );
    refused(&[&matrix[..], &["--verbose"]].concat(), "--verbose: is not for `matrix`");
    refused(&["reproduce", "inrpp/fig1", "--point", "a"], "--point: is for `matrix` alone");
    refused(&["reproduce", "matrx"], "there is no experiment `matrx`");
}
