//! No plot is empty, no script fails, zooms and toggles reach every plot.

use crate::dom::{Dom, attribute_of, number_of, open, open_in_frame};
use crate::{run, synthetic};
use forebay_lab::report::{write_comparison, write_report};
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
    run("dumbbell", &[], &["newreno", "cubic"], &[1, 2], &folder);
    let Some(dom) = open(&folder.join("report.html"), "") else { return };
    let mut plots = dom.plots();
    // Whether senders and receivers are sampled too decides about these.
    plots.retain(|name, _| !name.starts_with("sequence-") && !name.starts_with("pacing"));
    let names: Vec<&str> = plots.keys().copied().collect();
    let expected = [
        "arrived-all",
        "arrived-cubic",
        "arrived-newreno",
        "cwnd-cubic",
        "cwnd-newreno",
        "delay-mean",
        "delay-p50",
        "delay-p95",
        "delays",
        "fct",
        "goodput-all",
        "goodput-cubic",
        "goodput-newreno",
        "queue",
        "slowdown",
        "srtt-cubic",
        "srtt-newreno",
        "wire",
    ];
    assert_eq!(names, expected);
    let all: Vec<&str> = dom.plots().into_keys().collect();
    check(&dom, &all);
    for name in ["wire", "arrived-all", "arrived-cubic", "goodput-all", "goodput-newreno"] {
        assert_eq!(attribute_of(plots[name], "data-marks"), Some("capacity of 0-2"), "{name}");
    }
    assert_eq!(attribute_of(plots["queue"], "data-marks"), Some("limit of 0-2"));
    // One line for each protocol, on the same axes.
    let lines = |name: &str| number_of(plots[name], "data-lines");
    assert_eq!(["wire", "goodput-all", "queue", "cwnd-cubic"].map(lines), [2.0, 2.0, 2.0, 3.0]);
    assert_eq!(["delay-mean", "delay-p50", "delay-p95", "delays"].map(lines), [2.0; 4]);
}

#[test]
fn signals_of_kick_ass_have_plots_of_ports_and_of_flows() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("results");
    run("dumbbell", &["until_s=5"], &["kickass", "rcp"], &[1], &folder);
    let Some(dom) = open(&folder.join("report.html"), "") else { return };
    assert_eq!((dom.root("data-errors"), dom.root("data-ready")), (Some("0"), Some("1")));
    let plots = dom.plots();
    for name in ["kickass", "kickass-code", "kickass-mode", "kickass-pieces"] {
        let tag = plots.get(name).unwrap_or_else(|| panic!("no plot {name}"));
        let (points, lines) = (number_of(tag, "data-points"), number_of(tag, "data-lines"));
        assert!(points > 1.0 && lines == 1.0, "{tag}");
    }
    assert_eq!(attribute_of(plots["kickass"], "data-marks"), Some("capacity of 0-2"));
    for name in ["cc-code-", "cc-code_rate-", "cc-mode-", "cc-rate-"] {
        assert!(plots.keys().any(|plot| plot.starts_with(name)), "no plot of {name}");
    }
}

#[test]
fn protocols_stand_beside_each_other_and_can_be_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let page = synthetic_page(folder.path());
    let both = [
        "arrived-all",
        "arrived-inrpp",
        "arrived-rcp",
        "cache-0-2",
        "cache-4-0",
        "cwnd-inrpp",
        "fct",
        "goodput-all",
        "goodput-inrpp",
        "goodput-rcp",
        "pacing-inrpp",
        "pacing-rcp",
        "queue",
        "rates-0-2-inrpp",
        "rates-4-0-inrpp",
        "rcp",
        "sequence-1-inrpp",
        "sequence-1-rcp",
        "sequence-2-inrpp",
        "sequence-2-rcp",
        "sequence-3-inrpp",
        "sequence-3-rcp",
        "share-0-2-inrpp",
        "share-4-0-inrpp",
        "slowdown",
        "srtt-inrpp",
        "srtt-rcp",
        "wire",
    ];
    // A cache has states after it, which are of one protocol.
    let both = both.map(|name| match name {
        "cache-0-2" => "cache-0-2-inrpp",
        "cache-4-0" => "cache-4-0-inrpp",
        name => name,
    });
    let Some(dom) = open(&page, "") else { return };
    check(&dom, &both);
    let script = "document.querySelector('[data-protocol=\"0\"]').click();";
    let dom = open(&page, script).unwrap();
    let rest =
        both.into_iter().filter(|name| !name.contains("inrpp") && !name.starts_with("cache"));
    check(&dom, &rest.collect::<Vec<_>>());
    assert_eq!(number_of(dom.plots()["wire"], "data-lines"), 1.0);
}

/// Presses the three buttons of a plot and keeps what they save, as text: of a picture its size and
/// its first letters.
const SAVE: &str = "
    // No real download: a browser without a window may wait for it for ever.
    HTMLAnchorElement.prototype.click = function () {
        const root = document.documentElement;
        root.dataset.files = `${root.dataset.files ?? ''}${this.download} `;
    };
    const real = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
        blob.text().then((text) => {
            const kept = document.createElement('pre');
            kept.id = 'saved-' + blob.type.replace(/[^a-z]/g, '-');
            const picture = `${blob.size} ${text.slice(1, 4)}`;
            kept.textContent = blob.type === 'image/png' ? picture : text;
            document.body.append(kept);
        });
        return real.call(URL, blob);
    };
    const all = '[data-WHAT] [data-save]';
    setTimeout(() => document.querySelectorAll(all).forEach((button) => button.click()), 300);";

/// What the three buttons save of a plot or chart, in the order SVG, PNG, CSV.
fn saved(page: &Path, what: &str) -> Option<[String; 3]> {
    let dom = open(page, &SAVE.replace("WHAT", what))?;
    assert_eq!(dom.root("data-errors"), Some("0"));
    let name = what.split('"').nth(1).expect("a name");
    let files = dom.root("data-files").expect("names of files");
    for kind in ["svg", "png", "csv"] {
        assert!(files.contains(&format!("inrpp-dumbbell-{name}.{kind} ")), "{files}");
    }
    let saved = |kind: &str| {
        let (_, after) = dom.text().split_once(&format!("<pre id=\"saved-{kind}\">")).expect(kind);
        let text = after.split_once("</pre>").unwrap().0;
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    };
    Some(["image-svg-xml", "image-png", "text-csv"].map(saved))
}

/// A picture of at least this many bytes.
fn is_png(saved: &str, least: usize) {
    let (bytes, letters) = saved.split_once(' ').unwrap();
    assert!(letters == "PNG" && bytes.parse::<usize>().unwrap() > least, "{saved}");
}

#[test]
fn a_plot_is_saved_with_title_axes_legend_and_samples() {
    let folder = tempfile::tempdir().unwrap();
    let page = synthetic_page(folder.path());
    let found = saved(&page, "plot=\"goodput-all\"");
    let Some([svg, png, csv]) = found else { return };
    for words in [
        ">inrpp/dumbbell: in order at the receiver",
        ">time (s)<",
        ">goodput (Mbit/s)<",
        ">INRPP<",
        ">RCP<",
        "capacity of 0-2: 10 Mbit/s",
        "fill=\"#ffffff\"",
    ] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    // The capacity is a line, from one point to another.
    let dashed = svg.split("<path ").find(|path| path.contains("stroke-dasharray=\"6 4\""));
    assert!(
        dashed.is_some_and(|path| path.split_once("stroke=").unwrap().0.contains('L')),
        "{svg}"
    );
    // Two lines of samples, the frame, grids, thresholds.
    let longest = svg.split(" d=\"").map(str::len).max();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>") && longest > Some(1000));
    is_png(&png, 20_000);
    let mut lines = csv.lines();
    let head = "time (s),INRPP (bit/s),RCP (bit/s),capacity of 0-2 (bit/s)";
    assert!(lines.next().is_some_and(|line| line.starts_with(head)), "{csv}");
    // Windows of 100 ms from 1 s on, of 26 s: about 250 samples, and each number is one.
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!((200..300).contains(&rows.len()), "{}", rows.len());
    let at = rows.iter().find(|row| row[0] == "5.05").expect("a window");
    let inrpp: f64 = at[1].parse().unwrap();
    assert!((inrpp - 20e6).abs() < 0.01 * 20e6, "{at:?}");
}

#[test]
fn the_chart_of_completion_times_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let page = synthetic_page(folder.path());
    let found = saved(&page, "chart=\"completion\"");
    let Some([svg, png, csv]) = found else { return };
    for words in [
        ">inrpp/dumbbell: Completion time of each flow",
        ">completion time (s)<",
        ">1 s1 → d1, 10 MB<",
        ">INRPP<",
        ">RCP<",
        ">reference<",
    ] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    is_png(&png, 10_000);
    let expected = "flow,of,reference of INRPP (s),reference of RCP (s),INRPP (s),RCP (s)\n\
                    1,\"s1 → d1, 10 MB\",9.5,21.5,9.6,22\n\
                    2,\"s2 → d2, 10 MB\",10.5,22.5,10.6,23.1\n\
                    3,\"s3 → d3, 10 MB\",10,22,10.1,22.4\n";
    assert_eq!(csv, expected);
}

#[test]
fn delays_and_utilisation_have_charts() {
    let folder = tempfile::tempdir().unwrap();
    let page = mixed_page(folder.path(), &["newreno", "cubic"]);
    // Of a run of several classes each class: NewReno and CUBIC, then CUBIC alone.
    let Some([svg, png, csv]) = saved(&page, "chart=\"one-way-delay\"") else { return };
    is_png(&png, 10_000);
    assert!(svg.contains(">one-way delay (ms)<") && svg.contains(">p50, p95, p99<"), "{svg}");
    let expected = "flows,of,mean (s),p50 (s),p95 (s),p99 (s)\n\
                    CUBIC,run of NewReno,0.03,0.02,0.05,0.07\n\
                    NewReno,run of NewReno,0.02,0.01,0.04,0.06\n\
                    CUBIC,run of CUBIC,0.03,0.02,0.05,0.07\n";
    assert_eq!(csv, expected);
    let [svg, png, csv] = saved(&page, "chart=\"utilisation\"").unwrap();
    is_png(&png, 10_000);
    assert!(svg.contains(">utilisation (%)<") && svg.contains(">0-2<"), "{svg}");
    assert_eq!(csv, "link,NewReno (%),CUBIC (%)\n0-2,75,75\n");
}

/// Results with delays by class and no series: each protocol with flows of CUBIC and of its own.
fn mixed_page(folder: &Path, protocols: &[&str]) -> std::path::PathBuf {
    synthetic::write(folder, "inrpp/dumbbell", "", &[]);
    let path = folder.join("summary.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let one = |value: f64| serde_json::json!({"mean": value, "ci95": null});
    let class = |least: f64| {
        serde_json::json!({
            "one_way_delay_mean_ms": one(least + 10.0), "one_way_delay_p50_ms": one(least),
            "one_way_delay_p95_ms": one(least + 30.0), "one_way_delay_p99_ms": one(least + 50.0),
        })
    };
    let of = |part: &str, protocol: &str| {
        let mut of = summary[part][0].clone();
        of["protocol"] = protocol.into();
        of["utilisation"] = serde_json::json!({"0-2": one(0.75)});
        of["by_class"] = serde_json::json!({"cubic": class(20.0)});
        of["by_class"][protocol] = class(if protocol == "cubic" { 20.0 } else { 10.0 });
        of
    };
    let all = |part: &str| protocols.iter().map(|p| of(part, p)).collect::<serde_json::Value>();
    let (runs, aggregate) = (all("runs"), all("aggregate"));
    (summary["runs"], summary["aggregate"]) = (runs, aggregate);
    std::fs::write(&path, summary.to_string()).unwrap();
    write_report(folder).unwrap()
}

#[test]
fn four_protocols_fit_on_a_telephone_and_more_are_scrolled() {
    let folder = tempfile::tempdir().unwrap();
    let script = "
        const root = document.documentElement.dataset, page = inner.documentElement;
        const box = inner.querySelector('.wide'), end = box.getBoundingClientRect().right;
        const cells = [...inner.querySelectorAll('#results tbody tr:first-child td')];
        root.over = page.scrollWidth - page.clientWidth;
        root.inside = cells.filter((cell) => cell.getBoundingClientRect().right <= end + 1).length;
        root.scrolls = box.scrollWidth - box.clientWidth;
        box.scrollLeft = 1000;
        const last = cells[cells.length - 1].getBoundingClientRect().right;
        root.last = last <= end + 1;
        root.label = inner.querySelector('#results tbody th').getBoundingClientRect().left >= 0;";
    let of = |protocols: &[&str]| {
        let page = mixed_page(folder.path(), protocols);
        let dom = open_in_frame(&page, 400, script)?;
        let keys = ["over", "inside", "last", "label"];
        Some(keys.map(|key| dom.root(&format!("data-{key}")).expect("it ran").to_string()))
    };
    let four = ["newreno", "cubic", "bbr", "rcp"];
    let Some(four) = of(&four) else { return };
    assert_eq!(four, ["0", "4", "true", "true"]);
    let seven = ["newreno", "cubic", "bbr", "rcp", "inrpp", "vegas", "dctcp"];
    let seven = of(&seven).unwrap();
    assert_eq!((&seven[0], &seven[2], &seven[3]), (&"0".into(), &"true".into(), &"true".into()));
}

#[test]
fn many_flows_have_few_entries_and_a_total_of_its_own() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("many");
    let many = "flows=[{ src = \"s1\", dst = \"d1\", count = 25, endless = true }]";
    run("dumbbell", &[many, "links.1.rate=100Mbit/s", "until_s=3"], &["newreno"], &[1], &folder);
    let Some(dom) = open(&folder.join("report.html"), "") else { return };
    let plots = dom.plots();
    let lines = |name: &str| number_of(plots[name], "data-lines");
    assert_eq!((lines("goodput-newreno"), lines("goodput-all")), (20.0, 1.0));
    // The axis is that of the flows: their capacity would flatten them.
    assert_eq!(attribute_of(plots["goodput-newreno"], "data-marks"), Some(""));
    let (_, figure) = dom.text().split_once("data-plot=\"goodput-newreno\"").unwrap();
    let figure = figure.split_once("</figure>").unwrap().0;
    let entries = figure.split("<tr class=\"u-series").skip(1);
    let shown = entries.filter(|entry| !entry.split_once('"').unwrap().0.contains("rest"));
    let flows = shown.filter(|entry| entry.contains(">flow ")).count();
    assert_eq!((flows, figure.matches("and 12 more").count()), (8, 1));
    assert!(figure.contains(" Mbit/s (above the axis)"));
}

#[test]
fn two_folders_are_drawn_on_the_same_axes() {
    let top = tempfile::tempdir().unwrap();
    let (a, b) = (top.path().join("a"), top.path().join("b"));
    run("dumbbell", &["until_s=3"], &["newreno"], &[1], &a);
    run("dumbbell", &["until_s=3", "links.1.rate=5Mbit/s"], &["newreno"], &[7], &b);
    let page = top.path().join("compare.html");
    write_comparison(&[a, b], &page).unwrap();
    let Some(dom) = open(&page, "") else { return };
    assert_eq!(dom.root("data-errors"), Some("0"));
    let plots = dom.plots();
    assert_eq!(number_of(plots["goodput-all"], "data-lines"), 2.0);
    assert!(plots.contains_key("cwnd-a: newreno") && plots.contains_key("cwnd-b: newreno"));
    let marks = attribute_of(plots["wire"], "data-marks");
    assert_eq!(marks, Some("capacity of 0-2; capacity of 0-2"));
}

/// Drag from a quarter to a half of the plot `cwnd`.
const DRAG: &str = "
    const over = document.querySelector('[data-plot=cwnd-inrpp] .u-over');
    const place = over.getBoundingClientRect();
    const mouse = (type, share, to) => to.dispatchEvent(new MouseEvent(type, {
        bubbles: true, view: window, button: 0, movementX: 9,
        clientX: place.left + share * place.width, clientY: place.top + place.height / 2,
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
    // The longer run ends at 26 s: a pixel is less than 0.1 s.
    let close = |a: f64, b: f64| assert!((a - b).abs() < 0.1, "{a} is not {b}");
    let mut shown = 0;
    for (name, tag) in zoomed.plots() {
        if ["fct", "slowdown"].contains(&name) {
            continue;
        }
        close(number_of(tag, "data-from"), 6.5);
        close(number_of(tag, "data-to"), 13.0);
        let before = number_of(whole.plots()[name], "data-points");
        let after = number_of(tag, "data-points");
        assert!(after > 1.0 && after < before, "{name}: {after} of {before}");
        shown += 1;
    }
    assert_eq!(shown, 26);
    let reset = "setTimeout(() => document.getElementById('reset').click(), 600);";
    let back = open(&page, &format!("{script}{reset}")).unwrap();
    assert_eq!((back.root("data-from"), back.root("data-to")), (Some(""), Some("")));
}

#[test]
fn a_line_that_is_hidden_in_one_plot_is_hidden_in_all() {
    let folder = tempfile::tempdir().unwrap();
    let page = synthetic_page(folder.path());
    let script = "setTimeout(() => {
        const rows = [...document.querySelectorAll('[data-plot=cwnd-inrpp] .u-legend .u-series')];
        rows.find(row => row.textContent.includes('flow 2')).querySelector('th').click();
    }, 200);";
    let Some(dom) = open(&page, script) else { return };
    assert_eq!(dom.root("data-errors"), Some("0"));
    let plots = dom.plots();
    let lines = |name: &str| number_of(plots[name], "data-lines");
    let two = ["cwnd-inrpp", "srtt-rcp", "pacing-rcp", "share-0-2-inrpp", "goodput-rcp"];
    assert_eq!(two.map(lines), [2.0; 5]);
    // No line of that name: sender, two interfaces, receiver.
    assert_eq!(lines("sequence-2-inrpp"), 4.0);
}

#[test]
fn what_a_user_writes_is_shown_and_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let evil = "</script><script>document.documentElement.dataset.evil='1'</script><img src=x \
                onerror=\"document.documentElement.dataset.evil='2'\">";
    synthetic::write(folder.path(), evil, evil, &[evil]);
    let page = write_report(folder.path()).unwrap();
    let Some(dom) = open(&page, "") else { return };
    assert_eq!((dom.root("data-evil"), dom.root("data-errors")), (None, Some("0")));
    assert!(!dom.text().contains("<img"));
    assert_eq!(dom.text().matches("&lt;img src=x").count(), 4, "title, heading, description, note");
}

/// Results of this many flows and seeds under these protocols: flow f under the protocol of number
/// p with seed s has 1 + p + f / 10 + s / 5 Mbit/s, and a delay of 40 (p + 1) + 3 f + s ms.
fn scattered_page(folder: &Path, protocols: &[&str], flows: u64, seeds: u64) -> std::path::PathBuf {
    synthetic::write(folder, "inrpp/dumbbell", "", &[]);
    let path = folder.join("summary.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let flow = |p: usize, id: u64, seed: u64| {
        let delay_ms = (40 * (p as u64 + 1) + 3 * id + seed) as f64;
        let bps = 1_000_000 * (p as u64 + 1) + 100_000 * id + 200_000 * seed;
        serde_json::json!({
            "id": id, "src": "s", "dst": "d", "bytes": null, "fct_s": null,
            "class": protocols[p], "goodput_bps": bps,
            "one_way_delay_mean_ms": delay_ms / 2.0, "one_way_delay_p95_ms": delay_ms,
        })
    };
    let mut runs = Vec::new();
    for (p, protocol) in protocols.iter().enumerate() {
        for seed in 1..=seeds {
            let mut run = summary["runs"][0].clone();
            run["protocol"] = (*protocol).into();
            run["seed"] = seed.into();
            run["per_flow"] = (1..=flows).map(|id| flow(p, id, seed)).collect();
            run["reference"] = serde_json::json!({"kind": "none"});
            runs.push(run);
        }
    }
    let of = |protocol: &&str| {
        let mut of = summary["aggregate"][0].clone();
        of["protocol"] = (*protocol).into();
        of["seeds"] = (1..=seeds).collect();
        of
    };
    let aggregate = protocols.iter().map(of).collect();
    (summary["runs"], summary["aggregate"]) = (runs.into(), aggregate);
    std::fs::write(&path, summary.to_string()).unwrap();
    write_report(folder).unwrap()
}

/// Looks at the scatter in the frame: is the page wider than the screen, do values at an axis
/// overlap, is every marker in its field.
const LOOK: &str = "
    const root = document.documentElement.dataset, page = inner.documentElement;
    root.over = page.scrollWidth - page.clientWidth;
    const boxes = (of) => [...inner.querySelectorAll(of)].map((e) => e.getBoundingClientRect());
    const beside = (a, b) => a.right + 2 <= b.left || a.bottom <= b.top;
    const clear = (a, b) => beside(a, b) || beside(b, a);
    let overlaps = 0, outside = 0, ticks = 0;
    for (const id of ['scatter-p95', 'scatter-mean']) {
        const labels = boxes(`[data-scatter=${id}] u`).filter((label) => label.width > 0);
        ticks += labels.length;
        for (const [i, a] of labels.entries()) {
            overlaps += labels.slice(i + 1).filter((b) => !clear(a, b)).length;
        }
        const [field] = boxes(`[data-scatter=${id}] .field`);
        for (const i of boxes(`[data-scatter=${id}] .field > i`)) {
            const [x, y] = [(i.left + i.right) / 2, (i.top + i.bottom) / 2];
            if (x < field.left || x > field.right || y < field.top || y > field.bottom) outside++;
        }
    }
    Object.assign(root, { overlaps, outside, ticks });
    const first = () => boxes('[data-scatter=scatter-p95] .field > i')[0].left;
    const before = first();
    inner.querySelector('.flip input').click();
    root.flips = Math.abs(first() - before) > 5;
    // From left to right now: the first value is 0, at the left end, and a zoom begins elsewhere.
    const zero = () => {
        const [label] = [...inner.querySelectorAll('[data-scatter=scatter-p95] u.x')]
            .filter((u) => u.textContent === '0' && u.getClientRects().length);
        const [field] = boxes('[data-scatter=scatter-p95] .field');
        const place = label?.getBoundingClientRect();
        return label && Math.abs((place.left + place.right) / 2 - field.left) < 2;
    };
    const from = first();
    root.zero = zero() === true;
    inner.querySelector('.zoom input').click();
    root.zooms = zero() === undefined && Math.abs(first() - from) > 5;";

#[test]
fn throughput_over_delay_fits_on_a_telephone_with_one_to_nine_flows() {
    let folder = tempfile::tempdir().unwrap();
    let eight = ["newreno", "cubic", "vegas", "bbr", "copa", "pcc", "rcp", "inrpp"];
    for (protocols, flows, seeds) in [(1, 1, 2), (2, 3, 3), (8, 1, 10), (8, 9, 3)] {
        let page = scattered_page(folder.path(), &eight[..protocols], flows, seeds);
        let Some(dom) = open_in_frame(&page, 400, LOOK) else { return };
        let of = |key: &str| dom.root(&format!("data-{key}")).expect("it ran").to_string();
        let found = ["over", "overlaps", "outside", "flips", "zero", "zooms"].map(of);
        let expected = ["0", "0", "0", "true", "true", "true"];
        assert_eq!(found, expected, "{protocols} protocols, {flows} flows");
        assert!(of("ticks").parse::<u32>().unwrap() >= 8, "{}", of("ticks"));
        let text = std::fs::read_to_string(&page).unwrap();
        let points = protocols as u64 * flows * seeds;
        assert_eq!(text.matches(&format!(" data-marks={points}>")).count(), 2);
        // A mean and an ellipse each.
        assert_eq!(text.matches("<i class=centre").count(), 2 * protocols);
    }
    // A point alone has nothing to compare with.
    let page = scattered_page(folder.path(), &eight[..1], 1, 1);
    assert!(!std::fs::read_to_string(page).unwrap().contains("class=scatter"));
}

#[test]
fn throughput_over_delay_is_saved_with_its_points() {
    let folder = tempfile::tempdir().unwrap();
    let page = scattered_page(folder.path(), &["cubic", "copa"], 2, 2);
    let Some([svg, png, csv]) = saved(&page, "scatter=\"scatter-p95\"") else { return };
    is_png(&png, 10_000);
    for text in ["95 % one-way delay (ms)", "throughput (Mbit/s)", "CUBIC", "Copa"] {
        assert!(svg.contains(&format!(">{text}<")), "{text}: {svg}");
    }
    let expected = "of,flow,seed,95 % one-way delay (s),throughput (bit/s)\n\
                    CUBIC,1,1,0.044,1300000\nCUBIC,2,1,0.047,1400000\n\
                    CUBIC,1,2,0.045,1500000\nCUBIC,2,2,0.048,1600000\n\
                    Copa,1,1,0.084,2300000\nCopa,2,1,0.087,2400000\n\
                    Copa,1,2,0.085,2500000\nCopa,2,2,0.088,2600000\n";
    assert_eq!(csv, expected);
}
