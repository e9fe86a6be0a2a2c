//! What the page says without a script: the table, the utilisation of links, the completion time of each flow.

use super::data::Protocol;
use super::escape::html;
use super::figures::{figure, four_digits, prefix, second_prefix};
use super::results::{Aggregate, Estimate, Results, Run};
use crate::metrics::{CLASS_ROWS, METRICS, Unit, labels};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Most links whose utilisation is shown.
const LINKS: usize = 24;
/// A link that never is busy for more than this share of time is not shown.
const BUSY: f64 = 0.005;
/// Most flows with a row of their own.
const FLOWS: usize = 20;

/// The metric that has a row only where there are any.
const CE_MARKS: &str = "ce_marks";

/// A column per protocol, a row per metric that any protocol has.
pub(super) fn metrics(results: &Results, protocols: &[Protocol]) -> String {
    let mut rows = String::new();
    for metric in METRICS.iter().filter(|metric| metric.in_table) {
        let some = |a: &Aggregate| a.metrics.get(metric.name).is_some_and(|e| e.mean > 0.0);
        if metric.name == CE_MARKS && !results.aggregate.iter().any(some) {
            continue;
        }
        let cell = |a: &Aggregate| a.metrics.get(metric.name).map(|e| times(*e, metric.scale));
        let cells = results.aggregate.iter().map(cell).collect();
        row(&mut rows, metric.label, metric.shown, cells);
        if metric.name == "afct_s" {
            let reference = |name: &str| -> Vec<Option<Estimate>> {
                results.aggregate.iter().map(|a| a.reference.get(name).copied()).collect()
            };
            row(&mut rows, labels::REFERENCE_AFCT, Unit::Seconds, reference("afct_s"));
            row(&mut rows, labels::AFCT_RATIO, Unit::Plain, reference("afct_ratio"));
        }
    }
    class_rows(&mut rows, results);
    let reasons: BTreeSet<&String> =
        results.aggregate.iter().flat_map(|a| a.drops.keys()).collect();
    for reason in reasons {
        let drops = results.aggregate.iter().map(|a| a.drops.get(reason).copied()).collect();
        row(&mut rows, &html(&labels::drops(reason)), Unit::Count, drops);
    }
    let busiest = results.aggregate.iter().map(|a| {
        let most = a.utilisation.values().max_by(|a, b| a.mean.total_cmp(&b.mean));
        most.copied()
    });
    row(&mut rows, &labels::busiest_link(None), Unit::Share, busiest.collect());
    // Flows that did not start are said apart.
    let completed = results
        .aggregate
        .iter()
        .map(|a| format!("{} of {}", a.completed, a.flows.saturating_sub(a.skipped)));
    push_row(&mut rows, labels::COMPLETED, "", completed);
    let heads =
        protocols.iter().map(|p| format!("<th scope=col>{}{}</th>", marker(p), html(&p.title)));
    let (heads, columns): (String, usize) = (heads.collect(), protocols.len());
    format!(
        "<div class=wide><table style=--n:{columns}><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// The delays of each class of flows, where a run has several.
fn class_rows(rows: &mut String, results: &Results) {
    if results.aggregate.iter().all(|a| a.by_class.len() < 2) {
        return;
    }
    let classes: BTreeSet<&String> =
        results.aggregate.iter().flat_map(|a| a.by_class.keys()).collect();
    for class in classes {
        for metric in METRICS.iter().filter(|metric| CLASS_ROWS.contains(&metric.name)) {
            let cell = |a: &Aggregate| {
                a.by_class.get(class)?.get(metric.name).map(|e| times(*e, metric.scale))
            };
            let label = labels::of_class(metric.label, &html(class));
            let cells = results.aggregate.iter().map(cell).collect();
            row(rows, &label, metric.shown, cells);
        }
    }
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
        Unit::BitsPerSecond => (prefix(highest), "bit/s"),
        Unit::Bytes => (prefix(highest), "B"),
        Unit::Share => (("", 0.01), "%"),
        Unit::Plain | Unit::Count => (("", 1.0), ""),
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
    // Runs of several folders may have other flows.
    let same = |run: &Run| {
        run.per_flow.len() == first.per_flow.len()
            && run.per_flow.iter().zip(&first.per_flow).all(|(own, first)| own.is_like(first))
    };
    if !results.runs.iter().all(same) {
        return String::new();
    }
    let mut rows = Vec::new();
    let mut highest = 0f64;
    for (place, flow) in first.per_flow.iter().enumerate() {
        let mut points = Vec::new();
        for (aggregate, protocol) in results.aggregate.iter().zip(protocols) {
            let runs = results.runs_of(&aggregate.protocol);
            let own = mean(runs.clone().filter_map(|run| run.per_flow.get(place)?.fct_s));
            let reference =
                mean(runs.filter_map(|run| *run.reference.per_flow_fct_s.as_ref()?.get(place)?));
            highest = highest.max(own.unwrap_or(0.0)).max(reference.unwrap_or(0.0));
            points.push((protocol, own, reference));
        }
        rows.push((flow, points));
    }
    if highest == 0.0 {
        return String::new();
    }
    let end_s = nice_above(highest);
    let referred = rows.iter().flat_map(|(_, points)| points).any(|(_, _, of)| of.is_some());
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
    if referred {
        body.push_str(
            "<p class=about>Bars: what the reference, a fluid max-min network, would need.</p>",
        );
    }
    section("completion", "Completion time of each flow, s, mean over seeds", &body)
}

fn dot((protocol, own, reference): (&Protocol, Option<f64>, Option<f64>), end_s: f64) -> String {
    let (colour, title) = (html(&protocol.colour), html(&protocol.title));
    let left = |seconds: f64| format!("left:{:.3}%", 100.0 * seconds / end_s);
    let reference = reference.map(|seconds| {
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
    reference.into_iter().chain(own).collect()
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
