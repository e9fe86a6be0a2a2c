//! What the page says without a script: the table, the utilisation of links, the completion time of each flow.

use super::data::Protocol;
use super::escape::html;
use super::figures::{figure, four_digits, prefix, second_prefix};
use super::results::{Aggregate, Estimate, Results};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Most links whose utilisation is shown.
const LINKS: usize = 24;
/// A link that never is busy for more than this share of time is not shown.
const BUSY: f64 = 0.005;
/// Most flows with a row of their own.
const FLOWS: usize = 20;

/// A unit, by what its prefixes mean.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Seconds,
    Si(&'static str),
    Plain,
}

/// The metric that has a row only where there are any.
const CE_MARKS: &str = "ce_marks";

/// Metric in results, words, unit, and what makes it the basic unit.
const ROWS: [(&str, &str, Unit, f64); 12] = [
    ("afct_s", "mean completion time (AFCT)", Unit::Seconds, 1.0),
    ("fct_p50_s", "completion time, median", Unit::Seconds, 1.0),
    ("fct_p99_s", "completion time, 99th percentile", Unit::Seconds, 1.0),
    ("all_done_s", "all done after", Unit::Seconds, 1.0),
    ("goodput_bps", "goodput", Unit::Si("bit/s"), 1.0),
    ("delivered_bytes", "delivered", Unit::Si("B"), 1.0),
    ("jain_goodput", "Jain's index of goodputs", Unit::Plain, 1.0),
    ("queue_delay_mean_ms", "queue delay, mean", Unit::Seconds, 1e-3),
    ("queue_delay_p95_ms", "queue delay, 95th percentile", Unit::Seconds, 1e-3),
    ("retransmits", "packets sent again", Unit::Plain, 1.0),
    ("timeouts", "timeouts", Unit::Plain, 1.0),
    (CE_MARKS, "packets marked with CE", Unit::Plain, 1.0),
];

/// A column per protocol, a row per metric that any protocol has.
pub(super) fn metrics(results: &Results, protocols: &[Protocol]) -> String {
    let mut rows = String::new();
    for (metric, words, unit, scale) in ROWS {
        let marks = |a: &Aggregate| a.metrics.get(metric).is_some_and(|e| e.mean > 0.0);
        if metric == CE_MARKS && !results.aggregate.iter().any(marks) {
            continue;
        }
        let cell = |a: &Aggregate| a.metrics.get(metric).map(|e| times(*e, scale));
        row(&mut rows, words, unit, results.aggregate.iter().map(cell).collect());
        if metric == "afct_s" {
            let ideal = |name: &str| -> Vec<Option<Estimate>> {
                results.aggregate.iter().map(|a| a.reference.get(name).copied()).collect()
            };
            row(&mut rows, "AFCT of the reference", Unit::Seconds, ideal("afct_s"));
            row(&mut rows, "AFCT by that of the reference", Unit::Plain, ideal("afct_ratio"));
        }
    }
    let reasons: BTreeSet<&String> =
        results.aggregate.iter().flat_map(|a| a.drops.keys()).collect();
    for reason in reasons {
        let drops = results.aggregate.iter().map(|a| a.drops.get(reason).copied()).collect();
        row(&mut rows, &format!("drops: {}", html(reason)), Unit::Plain, drops);
    }
    let busiest = results.aggregate.iter().map(|a| {
        let most = a.utilisation.values().max_by(|a, b| a.mean.total_cmp(&b.mean));
        most.map(|share| times(*share, 100.0))
    });
    row(&mut rows, "utilisation of the busiest link, %", Unit::Plain, busiest.collect());
    let completed = results.aggregate.iter().map(|a| format!("{} of {}", a.completed, a.flows));
    push_row(&mut rows, "flows completed", "", completed);
    let heads =
        protocols.iter().map(|p| format!("<th scope=col>{}{}</th>", marker(p), html(&p.title)));
    let heads: String = heads.collect();
    format!(
        "<div class=wide><table><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

fn times(of: Estimate, scale: f64) -> Estimate {
    Estimate { mean: of.mean * scale, ci95: of.ci95.map(|ends| ends.map(|end| end * scale)) }
}

fn row(rows: &mut String, words: &str, unit: Unit, values: Vec<Option<Estimate>>) {
    let Some(highest) = values.iter().flatten().map(|e| e.mean).max_by(f64::total_cmp) else {
        return;
    };
    let ((letter, scale), name) = match unit {
        Unit::Seconds => (second_prefix(highest), "s"),
        Unit::Si(name) => (prefix(highest), name),
        Unit::Plain => (("", 1.0), ""),
    };
    let cells = values.iter().map(|value| match value {
        Some(e) => figure(e.mean / scale, e.half().map(|half| half / scale)),
        None => "–".to_string(),
    });
    push_row(rows, words, &format!("{letter}{name}"), cells);
}

fn push_row(rows: &mut String, words: &str, unit: &str, cells: impl Iterator<Item = String>) {
    let comma = if unit.is_empty() { "" } else { ", " };
    let cells: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
    // Writing to a string cannot fail.
    let _ = write!(rows, "<tr><th scope=row>{words}{comma}{unit}</th>{cells}</tr>");
}

/// The marker of a protocol, as a picture as high as the text.
pub(super) fn marker(protocol: &Protocol) -> String {
    let shape = match protocol.marker {
        "square" => "<rect x='-4' y='-4' width='8' height='8'/>",
        "triangle" => "<path d='M0-5 5 4-5 4Z'/>",
        "diamond" => "<path d='M0-5.5 5.5 0 0 5.5-5.5 0Z'/>",
        "cross" => "<path class=open d='M-4-4 4 4M-4 4 4-4'/>",
        "plus" => "<path class=open d='M-5 0H5M0-5V5'/>",
        "star" => "<path class=open d='M-5 0H5M0-5V5M-3.5-3.5 3.5 3.5M-3.5 3.5 3.5-3.5'/>",
        "pentagon" => "<path d='M0-5 5-1.2 3 4.5H-3L-5-1.2Z'/>",
        _ => "<circle r='4.5'/>",
    };
    let colour = html(&protocol.colour);
    format!(
        "<svg class=marker viewBox='-6 -6 12 12' style='--c:{colour}' aria-hidden=true>{shape}</svg>"
    )
}

/// Bars of the share of time that links were busy; the busiest first. Empty without links between routers.
pub(super) fn utilisation(results: &Results, protocols: &[Protocol]) -> String {
    let mut links: BTreeMap<&String, f64> = BTreeMap::new();
    for (link, share) in results.aggregate.iter().flat_map(|a| &a.utilisation) {
        let most = links.entry(link).or_default();
        *most = most.max(share.mean);
    }
    let all = links.len();
    let mut links: Vec<(&String, f64)> =
        links.into_iter().filter(|(_, most)| *most > BUSY).collect();
    links.sort_by(|a, b| b.1.total_cmp(&a.1));
    links.truncate(LINKS);
    let shown = links.len();
    let mut rows = String::new();
    for (link, _) in &links {
        let mut bars = String::new();
        for (aggregate, protocol) in results.aggregate.iter().zip(protocols) {
            let Some(share) = aggregate.utilisation.get(*link) else { continue };
            let percent = share.mean * 100.0;
            let (colour, title) = (html(&protocol.colour), html(&protocol.title));
            let text = figure(percent, share.half().map(|half| half * 100.0));
            let _ = write!(
                bars,
                "<div class=bar title='{title}: {text} %'><i style='width:{percent:.2}%;--c:{colour}'></i><b>{percent:.1}</b></div>"
            );
        }
        let _ = write!(rows, "<div class=link><span>{}</span><div>{bars}</div></div>", html(link));
    }
    if rows.is_empty() {
        return rows;
    }
    let omitted = match all - shown {
        0 => String::new(),
        more => format!("<p class=about>The {shown} busiest; {more} more are in summary.json.</p>"),
    };
    section(
        "utilisation",
        "Utilisation of links between routers, %",
        &format!("{}{rows}{omitted}", key(protocols)),
    )
}

/// Which colour is which protocol.
fn key(protocols: &[Protocol]) -> String {
    let of = |p: &Protocol| format!("<span>{}{}</span>", marker(p), html(&p.title));
    format!("<p class=key>{}</p>", protocols.iter().map(of).collect::<String>())
}

/// The completion time of each flow under each protocol, as points on one axis; with them those of the reference.
pub(super) fn completion(results: &Results, protocols: &[Protocol]) -> String {
    let Some(first) = results.runs.first().filter(|run| run.per_flow.len() <= FLOWS) else {
        return String::new();
    };
    let mut rows = Vec::new();
    let mut highest = 0f64;
    for (place, flow) in first.per_flow.iter().enumerate() {
        let mut points = Vec::new();
        for (aggregate, protocol) in results.aggregate.iter().zip(protocols) {
            let runs = results.runs_of(&aggregate.protocol);
            let own = mean(runs.clone().filter_map(|run| run.per_flow.get(place)?.fct_s));
            let ideal =
                mean(runs.filter_map(|run| *run.reference.per_flow_fct_s.as_ref()?.get(place)?));
            highest = highest.max(own.unwrap_or(0.0)).max(ideal.unwrap_or(0.0));
            points.push((protocol, own, ideal));
        }
        rows.push((flow, points));
    }
    if highest == 0.0 {
        return String::new();
    }
    let end_s = nice_above(highest);
    let any_ideal = rows.iter().flat_map(|(_, points)| points).any(|(_, _, ideal)| ideal.is_some());
    let mut body = key(protocols);
    for (flow, points) in rows {
        let size = flow.bytes.map_or(String::from("endless"), |bytes| {
            let (letter, scale) = prefix(bytes as f64);
            format!("{} {letter}B", four_digits(bytes as f64 / scale))
        });
        let (id, src, dst) = (flow.id, html(&flow.src), html(&flow.dst));
        let dots: String = points.into_iter().map(|point| dot(point, end_s)).collect();
        let _ = write!(
            body,
            "<div class=dots><span>{id} <em>{src} → {dst}, {size}</em></span><div class=axis>{dots}</div></div>"
        );
    }
    let ticks = (0..=4).map(|i| {
        let at = f64::from(i) * 25.0;
        format!("<u style='left:{at}%'>{}</u>", four_digits(end_s * at / 100.0))
    });
    let ticks: String = ticks.collect();
    let _ =
        write!(body, "<div class='dots ticks'><span></span><div class=axis>{ticks}</div></div>");
    if any_ideal {
        body.push_str(
            "<p class=about>Bars: what the reference, a fluid max-min network, would need.</p>",
        );
    }
    section("completion", "Completion time of each flow, s, mean over seeds", &body)
}

fn dot((protocol, own, ideal): (&Protocol, Option<f64>, Option<f64>), end_s: f64) -> String {
    let (colour, title) = (html(&protocol.colour), html(&protocol.title));
    let left = |seconds: f64| format!("left:{:.3}%", 100.0 * seconds / end_s);
    let ideal = ideal.map(|seconds| {
        let text = four_digits(seconds);
        format!(
            "<s style='{};--c:{colour}' title='reference of {title}: {text} s'></s>",
            left(seconds)
        )
    });
    let own = own.map(|seconds| {
        let text = four_digits(seconds);
        format!("<i style='{}' title='{title}: {text} s'>{}</i>", left(seconds), marker(protocol))
    });
    ideal.into_iter().chain(own).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    crate::statistics::mean(&values.collect::<Vec<f64>>())
}

/// The least of 1, 2, 4 and 8 times a power of ten that is not below `value`: a quarter of it has few digits.
fn nice_above(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    let found = steps.iter().map(|step| step * decade).find(|nice| *nice >= value);
    found.unwrap_or(10.0 * decade)
}

fn section(id: &str, title: &str, body: &str) -> String {
    format!("<section id={id}><h2>{title}</h2>{body}</section>")
}
