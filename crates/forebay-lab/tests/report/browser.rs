//! No plot is empty, no script fails, zooms and toggles reach every plot.

use crate::dom::{Dom, number_of, open};
use crate::{run, synthetic};
use forebay_lab::write_report;
use std::path::Path;

/// The plots of the page, none of which may be empty.
fn check(dom: &Dom, expected: &[&str]) {
    let (errors, error) = (dom.root("data-errors"), dom.root("data-error"));
    assert_eq!((errors, error, dom.root("data-ready")), (Some("0"), None, Some("1")));
    let plots = dom.plots();
    let names: Vec<&str> = plots.keys().copied().collect();
    assert_eq!(names, expected);
    for tag in plots.values() {
        let (points, lines) = (number_of(tag, "data-points"), number_of(tag, "data-lines"));
        assert!(points > 1.0 && lines > 0.0, "an empty plot: {tag}");
    }
}

fn synthetic_page(folder: &Path) -> std::path::PathBuf {
    synthetic::write(folder, "inrpp/dumbbell", "three flows", &["a note"]);
    write_report(folder).unwrap()
}

#[test]
fn a_run_of_tcp_has_all_its_plots() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("results");
    run("dumbbell", &[], (&["newreno", "cubic"], &[1, 2]), &folder);
    let Some(dom) = open(&folder.join("report.html"), "") else { return };
    let mut plots = dom.plots();
    // Whether senders and receivers are sampled too decides about these.
    plots.retain(|name, _| !name.starts_with("sequence-") && *name != "pacing");
    let names: Vec<&str> = plots.into_keys().collect();
    let expected = ["cwnd", "fct", "goodput-cubic", "goodput-newreno", "queue", "slowdown", "srtt"];
    assert_eq!(names, expected);
    let all: Vec<&str> = dom.plots().into_keys().collect();
    check(&dom, &all);
}

#[test]
fn a_run_of_inrpp_has_its_caches() {
    let folder = tempfile::tempdir().unwrap();
    let Some(dom) = open(&synthetic_page(folder.path()), "") else { return };
    check(
        &dom,
        &[
            "cache-0-2",
            "cache-4-0",
            "cwnd",
            "fct",
            "goodput-inrpp",
            "goodput-rcp",
            "pacing",
            "queue",
            "rates-0-2",
            "rates-4-0",
            "sequence-1",
            "sequence-2",
            "sequence-3",
            "share-0-2",
            "share-4-0",
            "slowdown",
            "srtt",
        ],
    );
}

#[test]
fn another_protocol_has_its_own_plots() {
    let folder = tempfile::tempdir().unwrap();
    let script = "document.querySelector('[data-protocol=rcp]').click();";
    let Some(dom) = open(&synthetic_page(folder.path()), script) else { return };
    check(
        &dom,
        &[
            "fct",
            "goodput-inrpp",
            "goodput-rcp",
            "pacing",
            "queue",
            "rcp",
            "sequence-1",
            "sequence-2",
            "sequence-3",
            "slowdown",
            "srtt",
        ],
    );
}

/// Drag from a quarter to a half of the plot `cwnd`.
const DRAG: &str = "
    const over = document.querySelector('[data-plot=cwnd] .u-over');
    const place = over.getBoundingClientRect();
    const mouse = (type, share, to) => to.dispatchEvent(new MouseEvent(type, {
        bubbles: true, view: window, button: 0, movementX: 9, clientX: place.left + share * place.width, clientY: place.top + place.height / 2,
    }));
    mouse('mousemove', 0.25, over); mouse('mousedown', 0.25, over);
    mouse('mousemove', 0.5, over); mouse('mouseup', 0.5, over);";

#[test]
fn a_zoom_of_one_plot_is_a_zoom_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let page = synthetic_page(folder.path());
    let Some(whole) = open(&page, "") else { return };
    let script = format!("setTimeout(() => {{ {DRAG} }}, 200);");
    let zoomed = open(&page, &script).unwrap();
    assert_eq!(zoomed.root("data-errors"), Some("0"));
    // The run ends at 14 s: a pixel is less than 0.1 s.
    let close = |a: f64, b: f64| assert!((a - b).abs() < 0.1, "{a} is not {b}");
    let mut shown = 0;
    for (name, tag) in zoomed.plots() {
        if ["fct", "slowdown"].contains(&name) {
            continue;
        }
        close(number_of(tag, "data-from"), 3.5);
        close(number_of(tag, "data-to"), 7.0);
        let before = number_of(whole.plots()[name], "data-points");
        let after = number_of(tag, "data-points");
        assert!(after > 1.0 && after < before, "{name}: {after} of {before}");
        shown += 1;
    }
    assert_eq!(shown, 15);
    let reset = "setTimeout(() => document.getElementById('reset').click(), 600);";
    let back = open(&page, &format!("{script}{reset}")).unwrap();
    assert_eq!((back.root("data-from"), back.root("data-to")), (Some(""), Some("")));
}

#[test]
fn a_line_that_is_hidden_in_one_plot_is_hidden_in_all() {
    let folder = tempfile::tempdir().unwrap();
    let page = synthetic_page(folder.path());
    let script = "setTimeout(() => {
        const rows = [...document.querySelectorAll('[data-plot=cwnd] .u-legend .u-series')];
        rows.find(row => row.textContent.includes('flow 2')).querySelector('th').click();
    }, 200);";
    let Some(dom) = open(&page, script) else { return };
    assert_eq!(dom.root("data-errors"), Some("0"));
    let plots = dom.plots();
    let lines = |name: &str| number_of(plots[name], "data-lines");
    assert_eq!(["cwnd", "srtt", "pacing", "share-0-2"].map(lines), [2.0; 4]);
    assert_eq!((lines("goodput-inrpp"), lines("goodput-rcp")), (3.0, 3.0));
    // No line of that name: sender, two interfaces, receiver.
    assert_eq!(lines("sequence-2"), 4.0);
}

#[test]
fn what_a_user_writes_is_shown_and_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let evil = "</script><script>document.documentElement.dataset.evil='1'</script><img src=x onerror=\"document.documentElement.dataset.evil='2'\">";
    synthetic::write(folder.path(), evil, evil, &[evil]);
    let page = write_report(folder.path()).unwrap();
    let Some(dom) = open(&page, "") else { return };
    assert_eq!((dom.root("data-evil"), dom.root("data-errors")), (None, Some("0")));
    assert!(!dom.text().contains("<img"));
    assert_eq!(dom.text().matches("&lt;img src=x").count(), 4, "title, heading, description, note");
}
