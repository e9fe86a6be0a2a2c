//! Whether what a page draws can be read: looks of its own for each protocol, bars as long as their
//! values, axes that one spike does not rule, plots that lines do not fill.

use crate::dom::{Dom, attribute_of, number_of, open, open_in_frame};
use crate::synthetic::{self, Rows};
use forebay_lab::report::write_report;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// 14 protocols: all of the first release and a variant.
const FOURTEEN: [&str; 14] = [
    "newreno", "cubic", "inrpp", "rcp", "bbr", "bbr1", "vegas", "copa", "pcc", "ledbat", "kickass",
    "verus", "sprout", "verus-r6",
];

/// A page of these protocols with one flow each. `change` changes what the summary has of each, by
/// its number; `queue` is what waits at the only port, by number and millisecond.
fn page_of(
    folder: &Path,
    protocols: &[&str],
    change: impl Fn(usize, &mut Value),
    queue: Option<fn(usize, i64) -> f64>,
) -> PathBuf {
    let one = |mean: f64| json!({"mean": mean, "ci95": null, "n": 1});
    let aggregate = |(number, name): (usize, &&str)| {
        let mut of = json!({
            "protocol": name, "seeds": [1], "flows": 1, "completed": 0, "drops": {},
            "metrics": {"goodput_bps": one(8e6)}, "utilisation": {}, "reference": {},
        });
        change(number, &mut of);
        of
    };
    let run = |name: &&str| {
        let flow = json!({"id": 1, "src": "s", "dst": "d", "protocol": name, "bytes": null,
                          "fct_s": null});
        json!({"protocol": name, "seed": 1, "ended_s": 10.0, "per_flow": [flow],
               "reference": {"kind": "none"}})
    };
    let summary = json!({
        "forebay": "0.0.0-test", "scenario": "inrpp/dumbbell", "missing": [], "notes": [],
        "runs": protocols.iter().map(run).collect::<Vec<_>>(),
        "aggregate": protocols.iter().enumerate().map(aggregate).collect::<Vec<_>>(),
    });
    std::fs::write(folder.join("summary.json"), summary.to_string()).unwrap();
    std::fs::write(folder.join("scenario.toml"), "description = \"\"\n").unwrap();
    let rows = |number: usize| {
        let mut rows = Rows::default();
        let times = (0..10_000i64).step_by(20);
        let samples = queue.into_iter().flat_map(|queue| times.clone().map(move |t| (t, queue)));
        samples.for_each(|(t, queue)| rows.push(t, "port/0-2", "queue_bytes", queue(number, t)));
        rows
    };
    let runs: Vec<_> = protocols.iter().enumerate().map(|(i, name)| (*name, rows(i))).collect();
    synthetic::write_series(&folder.join("series.parquet"), &runs);
    write_report(folder).unwrap()
}

fn without_errors(dom: &Dom) {
    let (errors, error) = (dom.root("data-errors"), dom.root("data-error"));
    assert_eq!((errors, error, dom.root("data-ready")), (Some("0"), None, Some("1")));
}

/// The pictures of markers in a text, as colour and shape.
fn markers(text: &str) -> BTreeSet<(String, String)> {
    let pictures =
        text.split("<svg class=\"marker\"").chain(text.split("<svg class=marker")).skip(1);
    let of = |picture: &str| {
        let (_, colour) = picture.split_once("--c:")?;
        let colour = colour.trim_start().get(..7)?.to_string();
        Some((colour, picture.split_once("</svg>")?.0.split_once('>')?.1.to_string()))
    };
    pictures.filter_map(of).collect()
}

#[test]
fn fourteen_protocols_look_different_in_the_table_in_the_plots_and_in_what_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let share = |number: usize, of: &mut Value| {
        of["utilisation"] = json!({"0-2": {"mean": 0.5 + 0.03 * number as f64, "ci95": null}});
    };
    let wave = |number: usize, t: i64| 1e4 * (number as f64 + 2.0 + (t as f64 / 400.0).sin());
    let page = page_of(folder.path(), &FOURTEEN, share, Some(wave));
    let text = std::fs::read_to_string(&page).unwrap();
    let heads = text.split("<thead>").skip(1).map(|head| head.split_once("</thead>").unwrap().0);
    let looks: Vec<_> = heads.flat_map(markers).collect();
    assert_eq!(looks.len(), 14);
    let colours: BTreeSet<_> = looks.iter().map(|(colour, _)| colour).collect();
    let shapes: BTreeSet<_> = looks.iter().map(|(_, shape)| shape).collect();
    assert_eq!((colours.len(), shapes.len()), (14, 14));
    // Tables of 8 columns at most, so that a sheet of paper has all of them.
    assert_eq!(
        (text.matches("<table style=--n:7>").count(), text.matches("<table").count()),
        (2, 2)
    );
    let script = "
        HTMLAnchorElement.prototype.click = () => {};
        const real = URL.createObjectURL;
        URL.createObjectURL = (blob) => {
            blob.text().then((text) => {
                const kept = document.createElement('pre');
                kept.textContent = text;
                document.body.append(kept);
            });
            return real.call(URL, blob);
        };
        const of = (what) => `[data-${what}] [data-save=svg]`;
        document.querySelector('[data-apart=queue]').click();
        setTimeout(() => ['plot=queue', 'chart=utilisation'].forEach((what) =>
            document.querySelector(of(what)).click()), 300);
        const colours = [...document.querySelectorAll('.choice svg.marker')];
        document.documentElement.dataset.colours =
            colours.map((svg) => svg.style.getPropertyValue('--c')).join(' ');";
    let Some(dom) = open(&page, script) else { return };
    without_errors(&dom);
    let saved: Vec<&str> = dom.text().split("<pre>").skip(1).collect();
    assert_eq!(saved.len(), 2);
    let choice = dom.root("data-colours").unwrap();
    for colour in colours {
        assert!(saved.iter().all(|svg| svg.contains(colour.as_str())), "{colour}");
        assert!(choice.contains(colour.as_str()), "{colour}: {choice}");
    }
    assert_eq!(number_of(dom.plots()["queue"], "data-lines"), 14.0);
}

/// Two classes under two protocols: four pairs of colour and marker, and none of them is that of a
/// protocol.
#[test]
fn classes_and_protocols_never_look_alike() {
    let folder = tempfile::tempdir().unwrap();
    let one = |mean: f64| json!({"mean": mean, "ci95": null});
    let classes = |_: usize, of: &mut Value| {
        let class = json!({"one_way_delay_mean_ms": one(20.0), "one_way_delay_p95_ms": one(30.0)});
        of["by_class"] = json!({"first": class, "later": class});
    };
    let page = page_of(folder.path(), &["kickass", "rcp"], classes, None);
    let text = std::fs::read_to_string(page).unwrap();
    let (_, chart) = text.split_once("data-chart=one-way-delay").unwrap();
    let rows = chart.split_once("</section>").unwrap().0;
    let heads =
        rows.split("<div class=dots>").skip(1).map(|row| row.split_once("</span>").unwrap().0);
    let classes: BTreeSet<_> = heads.flat_map(markers).collect();
    assert_eq!(classes.len(), 4);
    let head = text.split_once("<thead>").unwrap().1.split_once("</thead>").unwrap().0;
    let protocols = markers(head);
    assert!(protocols.len() == 2 && protocols.is_disjoint(&classes), "{protocols:?}, {classes:?}");
}

#[test]
fn bars_are_as_long_as_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let shares = [0.8931, 0.9084, 0.9967, 1.0];
    let share = |number: usize, of: &mut Value| {
        of["utilisation"] = json!({"0-2": {"mean": shares[number], "ci95": null}});
    };
    let page = page_of(folder.path(), &["newreno", "cubic", "rcp", "copa"], share, None);
    let script = "
        const bars = [...inner.querySelectorAll('#utilisation .bar i')];
        document.documentElement.dataset.widths =
            bars.map((bar) => bar.getBoundingClientRect().width).join(' ');
        const page = inner.documentElement;
        document.documentElement.dataset.over = page.scrollWidth - page.clientWidth;";
    for width in [400, 900, 1400] {
        let Some(dom) = open_in_frame(&page, width, script) else { return };
        let widths = dom.root("data-widths").unwrap();
        let widths: Vec<f64> = widths.split(' ').map(|width| width.parse().unwrap()).collect();
        assert_eq!((widths.len(), dom.root("data-over")), (4, Some("0")));
        for (found, share) in widths.iter().zip(shares) {
            assert!((found - share * widths[3]).abs() < 0.1, "{share} of {widths:?}");
        }
        assert!(widths[3] > 100.0, "{widths:?}");
    }
}

#[test]
fn legends_have_no_placeholders_and_values_while_the_cursor_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let wave = |number: usize, t: i64| 1e4 * (number as f64 + 2.0 + (t as f64 / 400.0).sin());
    let page = page_of(folder.path(), &["newreno", "cubic"], |_, _| {}, Some(wave));
    let script = "
        const root = document.documentElement.dataset;
        const seen = () => [...document.querySelectorAll('.u-legend tr')]
            .filter((row) => getComputedStyle(row).display !== 'none')
            .map((row) => row.textContent).join('|');
        root.idle = seen();
        const colons = [...document.querySelectorAll('.u-legend th')]
            .map((th) => getComputedStyle(th, '::after').content);
        root.colons = colons.filter((content) => content.includes(':')).length;
        const over = document.querySelector('.u-over'), place = over.getBoundingClientRect();
        over.dispatchEvent(new MouseEvent('mousemove', {
            bubbles: true, view: window, movementX: 9,
            clientX: place.left + place.width / 2, clientY: place.top + 5,
        }));
        setTimeout(() => { root.live = seen(); }, 300);";
    let Some(dom) = open(&page, script) else { return };
    without_errors(&dom);
    assert_eq!(
        (dom.root("data-idle"), dom.root("data-colons")),
        (Some("NewReno|CUBIC"), Some("0"))
    );
    let live = dom.root("data-live").unwrap();
    assert!(live.starts_with("t5.") && live.contains(" s|NewReno"), "{live}");
}

/// What looks like noise: between 0 and 1, the same in every run of the test.
fn noise(number: usize, t: i64) -> f64 {
    let hash = (t as u64 + 7919 * number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> 40) as f64 / (1u64 << 24) as f64
}

const SIX: [&str; 6] = ["newreno", "cubic", "rcp", "copa", "vegas", "bbr"];

#[test]
fn lines_that_cover_each_other_have_a_small_plot_each() {
    let folder = tempfile::tempdir().unwrap();
    let page = page_of(folder.path(), &SIX, |_, _| {}, Some(|n, t| 1e5 * noise(n, t)));
    let Some(dom) = open(&page, "") else { return };
    without_errors(&dom);
    let plots = dom.plots();
    let names: Vec<&str> = plots.keys().copied().collect();
    let mut own = SIX.map(|name| format!("queue-{name}"));
    own.sort();
    assert_eq!(names, own);
    assert!(dom.text().contains("data-multiples=\"queue\""));
    assert!(dom.text().contains("smoothed: mean over 0.2 s"), "the means are named");
    // The samples and their mean, and the same axis in all.
    let tops: BTreeSet<_> = plots.values().map(|tag| attribute_of(tag, "data-top")).collect();
    assert_eq!(tops.len(), 1);
    assert!(plots.values().all(|tag| number_of(tag, "data-lines") == 2.0));
    let click = |of: &str| format!("document.querySelector('{of}').click();");
    let dom = open(&page, &click("[data-apart=queue]")).unwrap();
    without_errors(&dom);
    assert_eq!(dom.plots().into_keys().collect::<Vec<_>>(), ["queue"]);
    assert_eq!(number_of(dom.plots()["queue"], "data-lines"), 6.0);
    let raw = number_of(dom.plots()["queue"], "data-points");
    let both = click("[data-apart=queue]") + &click("[data-smooth=queue]");
    let dom = open(&page, &both).unwrap();
    without_errors(&dom);
    assert!(number_of(dom.plots()["queue"], "data-points") < raw / 2.0);
}

#[test]
fn three_lines_that_cover_each_other_are_enough_and_two_are_not() {
    let folder = tempfile::tempdir().unwrap();
    for (lines, plots) in [(3, 3), (2, 1)] {
        let page = page_of(folder.path(), &SIX[..lines], |_, _| {}, Some(|n, t| 1e5 * noise(n, t)));
        let Some(dom) = open(&page, "") else { return };
        without_errors(&dom);
        assert_eq!(dom.plots().len(), plots, "{lines} lines");
    }
}

#[test]
fn lines_apart_from_each_other_stay_together() {
    let folder = tempfile::tempdir().unwrap();
    let far = |number: usize, t: i64| 1e5 * (number as f64 + 0.5 * noise(number, t));
    let page = page_of(folder.path(), &SIX, |_, _| {}, Some(far));
    let Some(dom) = open(&page, "") else { return };
    without_errors(&dom);
    assert_eq!(dom.plots().into_keys().collect::<Vec<_>>(), ["queue"]);
    let dom = open(&page, "document.querySelector('[data-apart=queue]').click();").unwrap();
    assert_eq!(dom.plots().len(), 6);
}

/// A queue of 40 to 60 kB, and 5 MB at one moment: the axis is that of the rest, and the peak is
/// written where it was. A zoom to it shows it.
#[test]
fn one_spike_does_not_rule_an_axis() {
    let folder = tempfile::tempdir().unwrap();
    let spiked = |number: usize, t: i64| match (number, t) {
        (1, 5000) => 5e6,
        _ => 4e4 + 2e4 * noise(number, t),
    };
    let page = page_of(folder.path(), &["newreno", "cubic"], |_, _| {}, Some(spiked));
    let Some(dom) = open(&page, "") else { return };
    without_errors(&dom);
    let plots = dom.plots();
    let tag = plots["queue"];
    let top = number_of(tag, "data-top");
    assert!((60.0..90.0).contains(&top), "{top} kB");
    assert_eq!(attribute_of(tag, "data-clipped"), Some("▲ 5000"));
    let zoom = "
        const over = document.querySelector('.u-over'), place = over.getBoundingClientRect();
        const mouse = (type, share) => over.dispatchEvent(new MouseEvent(type, {
            bubbles: true, view: window, button: 0, movementX: 9,
            clientX: place.left + share * place.width, clientY: place.top + place.height / 2,
        }));
        mouse('mousemove', 0.4); mouse('mousedown', 0.4);
        mouse('mousemove', 0.6); mouse('mouseup', 0.6);";
    let dom = open(&page, zoom).unwrap();
    let plots = dom.plots();
    let tag = plots["queue"];
    assert!(number_of(tag, "data-top") > 5000.0, "{tag}");
    assert_eq!(attribute_of(tag, "data-clipped"), Some(""));
}

#[test]
fn forty_variants_have_plots_of_their_own_and_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..40).map(|i| format!("v{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let level = |number: usize, t: i64| 1e4 * (number as f64 + (t as f64 / 400.0).sin().abs());
    let page = page_of(folder.path(), &names, |_, _| {}, Some(level));
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("<li>40 protocols share 16 colours: markers and dashes differ"));
    // More than sixteen have a row each.
    let heads = text.split("<th scope=row>").skip(1).map(|row| row.split_once("</th>").unwrap().0);
    assert_eq!(heads.flat_map(markers).collect::<BTreeSet<_>>().len(), 40);
    let Some(dom) = open(&page, "") else { return };
    without_errors(&dom);
    assert_eq!(dom.plots().len(), 40);
}

/// Delays of 0.5 ms and of seconds in one group: all in one unit.
#[test]
fn rows_of_a_group_have_one_unit() {
    let folder = tempfile::tempdir().unwrap();
    let delays = |_: usize, of: &mut Value| {
        let values = [("mean", 90.0), ("p50", 0.5), ("p95", 200.0), ("p99", 1400.0)];
        for (name, ms) in values {
            let value = json!({"mean": ms, "ci95": null});
            of["metrics"][format!("one_way_delay_{name}_ms")] = value.clone();
            of["metrics"][format!("rtt_{name}_ms")] = value;
        }
    };
    let page = page_of(folder.path(), &["newreno"], delays, None);
    let text = std::fs::read_to_string(page).unwrap();
    for row in ["mean, ms</th><td>90", "p50, ms</th><td>0.5000", "p99, ms</th><td>1400"] {
        for of in ["one-way delay", "RTT"] {
            assert!(text.contains(&format!("<th scope=row>{of} {row}")), "{of} {row}");
        }
    }
}
