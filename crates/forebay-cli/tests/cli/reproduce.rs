//! `forebay reproduce`: rows for everything that the paper shows, and the heart of it reproduced.

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
        let differs = row["verdict"] == "differs" || row["verdict"] == "better";
        assert!(!differs || row["why"].as_str().unwrap().len() > 20, "no reason: {row}");
        assert_eq!(row["published"].is_null(), row["verdict"] == "not-stated", "{row}");
    }
    for item in ["Table V", "Fig. 9", "Fig. 10", "Fig. 11", "Fig. 12"] {
        assert!(rows.iter().any(|row| row["source"].as_str().unwrap().contains(item)), "{item}");
    }
    heart(rows);
    // The paper's own numbers for the two it compares itself with, in its setting and in a fair one.
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
fn a_paper_that_is_not_there_is_an_input_error() {
    let done = Desk::new().forebay(&["reproduce", "inrpp/dumbel"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("there is no paper `inrpp/dumbel`"), "{}", done.stderr);
    assert!(done.stderr.contains("inrpp/dumbbell"), "{}", done.stderr);
}

#[test]
fn papers_are_listed() {
    let list = Desk::new().forebay(&["list"]).ok().stdout;
    let papers = list.split("Papers (reproduce NAME)").nth(1).expect("papers have a section");
    assert!(papers.contains("inrpp/dumbbell"), "{papers}");
}
