//! Charts with a row for each link, flow or protocol. The page has them as HTML, which needs no
//! script, and their numbers as data, from which the script saves them.

mod crowds;

use super::axis::{Axis, round_above};
use super::escape::html;
use super::figures::{four_digits, intervals, prefix, second_prefix};
use super::look::{Looks, Protocol};
use super::marker::picture;
use super::results::{Aggregate, Results, Run};
use forebay_metrics::statistics::Interval;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Most links whose utilisation is shown.
const LINKS: usize = 24;
/// A link that never is busy for more than this share of time is not shown.
const BUSY: f64 = 0.005;
/// Most flows with a row of their own.
const FLOWS: usize = 20;
/// An axis is logarithmic if its highest value is more than this many times its lowest.
const WIDE: f64 = 30.0;
/// What is shown of a delay: name in the legend, and in the keys of `summary.json`.
const STATISTICS: [(&str, &str); 4] =
    [("mean", "mean"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99")];

/// How a value is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mark {
    /// From 0 to the value.
    Bar,
    /// The marker of the series, or else of the row.
    Point,
    /// A short vertical line. Where those of a row are of the row itself, a line joins them.
    Tick,
}

/// A column of numbers.
#[derive(Clone, Debug, Serialize)]
struct Series {
    label: String,
    mark: Mark,
    /// None: each row has its own.
    #[serde(flatten)]
    look: Option<Look>,
}

#[derive(Clone, Debug, Serialize)]
struct Look {
    colour: String,
    marker: &'static str,
}

/// A row, with a value for each series.
#[derive(Clone, Debug, Serialize)]
struct Row {
    label: String,
    /// More words, in a softer colour.
    more: String,
    #[serde(flatten)]
    look: Option<Look>,
    values: Vec<Option<f64>>,
    /// The values with their confidence intervals, where they have one.
    #[serde(skip)]
    intervals: Vec<Option<Interval>>,
}

/// A horizontal axis of seconds or of percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Scale {
    /// The prefix of the unit, and what it stands for.
    prefix: &'static str,
    scale: f64,
    /// Its ends in the unit without prefix; it begins at 0 if it is not logarithmic.
    #[serde(flatten)]
    axis: Axis,
}

/// A chart.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Chart {
    id: &'static str,
    /// Name of the section.
    title: String,
    /// What a row is: the heading of the first column of the CSV.
    row: &'static str,
    /// Quantity on the horizontal axis, and in which unit: "s" or "%".
    quantity: &'static str,
    unit: &'static str,
    #[serde(flatten)]
    axis: Scale,
    series: Vec<Series>,
    rows: Vec<Row>,
    #[serde(skip)]
    about: String,
}

/// The charts that there are numbers for.
pub(super) fn charts(results: &Results, protocols: &[Protocol], looks: &Looks) -> Vec<Chart> {
    let delays = [
        Delay {
            id: "one-way-delay",
            title: "One-way delay of packets with payload",
            quantity: "one-way delay",
            metric: "one_way_delay",
        },
        Delay {
            id: "rtt",
            title: "Round-trip time, the senders' samples",
            quantity: "round-trip time",
            metric: "rtt",
        },
    ];
    let delays = delays.iter().filter_map(|of| delay(results, protocols, looks, of));
    let mut delays: Vec<Chart> = delays.collect();
    share_unit(&mut delays);
    let all = [
        completion(results, protocols),
        crowds::by_size(results, protocols),
        crowds::links(results, protocols),
        utilisation(results, protocols),
    ];
    all.into_iter().flatten().chain(delays).collect()
}

/// Charts next to each other have one unit, that of the geometric mean of their values:
/// as in the table (see [`forebay_metrics::typical_sizes`]).
fn share_unit(charts: &mut [Chart]) {
    let values = charts.iter().flat_map(|chart| &chart.rows).flat_map(|row| &row.values);
    let logs = values.flatten().filter(|value| **value > 0.0).map(|value| value.ln());
    let Some(typical) = mean(logs) else { return };
    let (prefix, scale) = second_prefix(typical.exp());
    for axis in charts.iter_mut().map(|chart| &mut chart.axis) {
        *axis = Scale { prefix, scale, ..*axis };
    }
}

impl Look {
    fn of(protocol: &Protocol) -> Look {
        Look { colour: protocol.colour.clone(), marker: protocol.marker }
    }
}

impl Series {
    fn of(protocol: &Protocol, mark: Mark) -> Series {
        Series { label: protocol.title.clone(), mark, look: Some(Look::of(protocol)) }
    }
}

/// Bars of the share of time that links were busy; the busiest first. None without links between
/// routers.
fn utilisation(results: &Results, protocols: &[Protocol]) -> Option<Chart> {
    let mut links: BTreeMap<&String, f64> = BTreeMap::new();
    for (link, share) in results.aggregate.iter().flat_map(|a| &a.means.utilisation) {
        let most = links.entry(link).or_default();
        *most = most.max(share.mean);
    }
    let all = links.len();
    let mut links: Vec<(&String, f64)> =
        links.into_iter().filter(|(_, most)| *most > BUSY).collect();
    links.sort_by(|a, b| b.1.total_cmp(&a.1));
    links.truncate(LINKS);
    let of = |(link, _): &(&String, f64)| {
        let shares = || results.aggregate.iter().map(|a| a.means.utilisation.get(*link));
        Row {
            label: link.to_string(),
            more: String::new(),
            look: None,
            values: shares().map(|share| Some(share?.mean * 100.0)).collect(),
            intervals: shares().map(|share| Some(share?.times(100.0))).collect(),
        }
    };
    let rows: Vec<Row> = links.iter().map(of).collect();
    (!rows.is_empty()).then(|| Chart {
        id: "utilisation",
        title: "Utilisation of links between routers".into(),
        row: "link",
        quantity: "utilisation",
        unit: "%",
        axis: Scale { prefix: "", scale: 1.0, axis: Axis::from_zero(100.0) },
        series: protocols.iter().map(|protocol| Series::of(protocol, Mark::Bar)).collect(),
        about: left_out(rows.len(), all),
        rows,
    })
}

/// Which links have no bars.
fn left_out(shown: usize, all: usize) -> String {
    match (shown, all - shown) {
        (_, 0) => String::new(),
        (1, 1) => "The busiest link; the other one is in summary.json.".into(),
        (1, more) => format!("The busiest link; the {more} others are in summary.json."),
        (shown, 1) => format!("The {shown} busiest links; 1 other is in summary.json."),
        (shown, more) => {
            format!("The {shown} busiest links; the {more} others are in summary.json.")
        }
    }
}

/// The completion time of each flow under each protocol, as points on one axis; with them those of
/// the reference.
fn completion(results: &Results, protocols: &[Protocol]) -> Option<Chart> {
    let first = results.runs.first().filter(|run| run.per_flow.len() <= FLOWS)?;
    // Runs of several folders may have other flows.
    let same = |run: &Run| {
        run.per_flow.len() == first.per_flow.len()
            && run.per_flow.iter().zip(&first.per_flow).all(|(own, first)| own.is_like(first))
    };
    if !results.runs.iter().all(same) {
        return None;
    }
    let row = |(place, flow): (usize, &super::results::Flow)| {
        let size = flow.bytes.map_or(String::from("endless"), |bytes| {
            let (letter, scale) = prefix(bytes as f64);
            format!("{} {letter}B", four_digits(bytes as f64 / scale))
        });
        let own = |a: &Aggregate| {
            let runs = results.runs_of(&a.protocol);
            mean(runs.filter_map(|run| run.per_flow.get(place)?.fct_s))
        };
        let reference = |a: &Aggregate| {
            let runs = results.runs_of(&a.protocol);
            mean(runs.filter_map(|run| *run.reference.per_flow_fct_s.as_ref()?.get(place)?))
        };
        let ticks = results.aggregate.iter().map(reference);
        Row {
            label: flow.id.to_string(),
            more: format!("{} → {}, {size}", flow.src, flow.dst),
            look: None,
            values: ticks.chain(results.aggregate.iter().map(own)).collect(),
            intervals: Vec::new(),
        }
    };
    let mut rows: Vec<Row> = first.per_flow.iter().enumerate().map(row).collect();
    let mut series = beside_reference(protocols);
    without_empty(&mut series, &mut rows);
    let about = if series.iter().any(|series| series.mark == Mark::Tick) {
        "Vertical lines: what the reference, a fluid max-min network, would need."
    } else {
        ""
    };
    let axis = Scale::of(&rows)?;
    Some(Chart {
        id: "completion",
        title: "Completion time of each flow, mean over seeds".into(),
        row: "flow",
        quantity: "completion time",
        unit: "s",
        axis,
        series,
        rows,
        about: about.into(),
    })
}

/// The references of the protocols, as ticks, and then the protocols, as points.
fn beside_reference(protocols: &[Protocol]) -> Vec<Series> {
    let referred = protocols.iter().map(|protocol| {
        let label = format!("reference of {}", protocol.title);
        Series { label, ..Series::of(protocol, Mark::Tick) }
    });
    referred.chain(protocols.iter().map(|protocol| Series::of(protocol, Mark::Point))).collect()
}

/// Series without a value in any row go.
fn without_empty(series: &mut Vec<Series>, rows: &mut [Row]) {
    let has = |place: usize| rows.iter().any(|row| row.values[place].is_some());
    let kept: Vec<bool> = (0..series.len()).map(has).collect();
    let mut of_series = kept.iter();
    series.retain(|_| of_series.next() == Some(&true));
    for row in rows {
        let mut of_values = kept.iter();
        row.values.retain(|_| of_values.next() == Some(&true));
    }
}

/// A delay that has a chart.
struct Delay {
    id: &'static str,
    title: &'static str,
    quantity: &'static str,
    /// The metrics' names, up to the statistic.
    metric: &'static str,
}

/// Mean and percentiles of a delay: a row for each protocol; where a run has several classes of
/// flows, a row for each of them.
fn delay(results: &Results, protocols: &[Protocol], looks: &Looks, of: &Delay) -> Option<Chart> {
    let Delay { id, title, quantity, metric } = *of;
    let mut rows = Vec::new();
    let values = |of: &BTreeMap<String, Interval>| -> Vec<Option<f64>> {
        let value = |name: &str| Some(of.get(&format!("{metric}_{name}_ms"))?.mean * 1e-3);
        STATISTICS.iter().map(|(_, name)| value(name)).collect()
    };
    let mixed = results.aggregate.iter().any(|a| a.means.by_class.len() > 1);
    for (aggregate, protocol) in results.aggregate.iter().zip(protocols) {
        let mut push = |label: String, more: String, look: Look, values: Vec<Option<f64>>| {
            if values.iter().any(Option::is_some) {
                rows.push(Row { label, more, look: Some(look), values, intervals: Vec::new() });
            }
        };
        if !mixed || aggregate.means.by_class.is_empty() {
            let all = values(&aggregate.means.metrics);
            push(protocol.title.clone(), String::new(), Look::of(protocol), all);
            continue;
        }
        for (class, metrics) in &aggregate.means.by_class {
            let several = protocols.len() > 1;
            let class = looks.of_class(protocol, class, results.title_of(class), several);
            let of_run = if several { format!("run of {}", protocol.title) } else { String::new() };
            push(class.title.clone(), of_run, Look::of(&class), values(metrics));
        }
    }
    let axis = Scale::of(&rows)?;
    let mark = |name: &str| if name == "mean" { Mark::Point } else { Mark::Tick };
    let series = |(label, name): &(&str, &str)| Series {
        label: label.to_string(),
        mark: mark(name),
        look: None,
    };
    Some(Chart {
        id,
        title: title.into(),
        row: "flows",
        quantity,
        unit: "s",
        axis,
        series: STATISTICS.iter().map(series).collect(),
        rows,
        about: "Marker: mean. Vertical lines: p50, p95 and p99. Means over seeds.".into(),
    })
}

impl Scale {
    /// A scale of seconds that holds all values; logarithmic where the highest is more than
    /// [`WIDE`] times the lowest. None if all are 0.
    fn of(rows: &[Row]) -> Option<Scale> {
        Scale::of_values(rows, WIDE)
    }
    /// The same; logarithmic unless a value is 0.
    fn logarithmic(rows: &[Row]) -> Option<Scale> {
        Scale::of_values(rows, 0.0)
    }
    fn of_values(rows: &[Row], wide: f64) -> Option<Scale> {
        let values = || rows.iter().flat_map(|row| &row.values).flatten().copied();
        let highest = values().max_by(f64::total_cmp).filter(|highest| *highest > 0.0)?;
        let lowest = values().min_by(f64::total_cmp)?;
        let (prefix, scale) = second_prefix(highest);
        let axis = if lowest > 0.0 && highest / lowest > wide {
            Axis { from: lowest / 1.3, to: highest * 1.3, log: true }
        } else {
            Axis::from_zero(round_above(highest / scale) * scale)
        };
        Some(Scale { prefix, scale, axis })
    }
    /// Where a value is, in percent of the length.
    fn percent(&self, value: f64) -> f64 {
        self.axis.percent(value)
    }
    /// Round values on it, in `scale`.
    fn ticks(&self) -> Vec<f64> {
        if self.axis.log {
            self.axis.ticks(self.scale)
        } else {
            self.axis.quarters(self.scale).to_vec()
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    forebay_metrics::statistics::mean(&values.collect::<Vec<f64>>())
}

impl Chart {
    /// The chart as a section of the page.
    pub fn html(&self) -> String {
        let Chart { id, title, axis: Scale { prefix, .. }, unit, about, .. } = self;
        let bars = self.series.iter().all(|series| series.mark == Mark::Bar);
        let rows: String = if bars {
            self.rows.iter().map(|row| self.bars(row)).collect()
        } else {
            self.rows.iter().map(|row| self.points(row)).chain([self.ticks()]).collect()
        };
        let about = match about.as_str() {
            "" => String::new(),
            about => format!("<p class=about>{about}</p>"),
        };
        let (title, key) = (html(title), self.key());
        format!(
            "<section id={id} data-chart={id}>\
             <h2>{title}, {prefix}{unit}</h2>{key}{rows}{about}</section>"
        )
    }
    /// Which colour is which series, if they are not those of the rows.
    fn key(&self) -> String {
        let mut seen = BTreeSet::new();
        let shown = self.series.iter().filter(|series| series.mark != Mark::Tick);
        let of = shown.filter_map(|series| {
            let look = series.look.as_ref().filter(|_| seen.insert(&series.label))?;
            Some(format!(
                "<span>{}{}</span>",
                picture(&look.colour, look.marker),
                html(&series.label)
            ))
        });
        let of: String = of.collect();
        if of.is_empty() { of } else { format!("<p class=key>{of}</p>") }
    }
    fn bars(&self, row: &Row) -> String {
        let mut bars = String::new();
        for (place, series) in self.series.iter().enumerate() {
            let (Some(percent), Some(look)) = (row.values[place], &series.look) else { continue };
            let (colour, title) = (html(&look.colour), html(&series.label));
            let marker = picture(&look.colour, look.marker);
            let text = intervals(&row.intervals[place..=place], 1.0, false).concat();
            // Writing to a string cannot fail.
            let _ = write!(
                bars,
                "<div class=bar title='{title}: {text} %'>{marker}<span>\
                 <i style='width:{percent:.2}%;--c:{colour}'></i><b>{percent:.1}</b></span></div>"
            );
        }
        format!("<div class=link>{}<div>{bars}</div></div>", row.head())
    }
    fn points(&self, row: &Row) -> String {
        let left = |value: f64| format!("left:{:.3}%", self.axis.percent(value));
        let mut marks = String::new();
        if let Some((from, to, look)) = self.joined(row) {
            let (colour, width) =
                (html(&look.colour), self.axis.percent(to) - self.axis.percent(from));
            let _ = write!(marks, "<b style='{};width:{width:.3}%;--c:{colour}'></b>", left(from));
        }
        // Markers over lines.
        let order = [Mark::Tick, Mark::Point];
        let series = || self.series.iter().enumerate();
        for (place, series) in order.iter().flat_map(|m| series().filter(move |s| s.1.mark == *m)) {
            let Some(value) = row.values[place] else { continue };
            let Some(look) = series.look.as_ref().or(row.look.as_ref()) else { continue };
            let text = format!(
                "{} {}{}",
                four_digits(value / self.axis.scale),
                self.axis.prefix,
                self.unit
            );
            let (title, colour) = (html(&format!("{}: {text}", series.label)), html(&look.colour));
            let _ = match series.mark {
                Mark::Tick => {
                    write!(marks, "<s style='{};--c:{colour}' title='{title}'></s>", left(value))
                }
                _ => {
                    let marker = picture(&look.colour, look.marker);
                    write!(marks, "<i style='{}' title='{title}'>{marker}</i>", left(value))
                }
            };
        }
        format!("<div class=dots>{}<div class=axis>{marks}</div></div>", row.head())
    }
    /// The least and the highest of the ticks of a row that has a look of its own.
    fn joined<'a>(&self, row: &'a Row) -> Option<(f64, f64, &'a Look)> {
        let look = row.look.as_ref()?;
        let ticks = self.series.iter().zip(&row.values);
        let ticks = ticks.filter(|(series, _)| series.mark == Mark::Tick);
        let mut values: Vec<f64> = ticks.filter_map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        Some((*values.first()?, *values.last()?, look))
    }
    fn ticks(&self) -> String {
        let ticks = self.axis.ticks().into_iter().map(|value| {
            let (at, text) = (self.axis.percent(value * self.axis.scale), tick(value));
            format!("<u style='left:{at:.3}%'>{text}</u>")
        });
        let ticks: String = ticks.collect();
        format!("<div class='dots ticks'><span></span><div class=axis>{ticks}</div></div>")
    }
}

/// A tick of an axis has as many digits as it needs.
pub(super) fn tick(value: f64) -> String {
    let text = four_digits(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

impl Row {
    fn head(&self) -> String {
        let marker =
            self.look.as_ref().map_or(String::new(), |look| picture(&look.colour, look.marker));
        let (label, more) = (html(&self.label), html(&self.more));
        let more = if more.is_empty() { more } else { format!(" <em>{more}</em>") };
        format!("<span title='{label}{}'>{marker}{label}{more}</span>", html(&self.title_more()))
    }
    fn title_more(&self) -> String {
        if self.more.is_empty() { String::new() } else { format!(" {}", self.more) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_are_left_out_are_counted_in_plain_words() {
        assert_eq!(left_out(3, 3), "");
        assert_eq!(left_out(1, 2), "The busiest link; the other one is in summary.json.");
        assert_eq!(left_out(1, 4), "The busiest link; the 3 others are in summary.json.");
        assert_eq!(left_out(2, 3), "The 2 busiest links; 1 other is in summary.json.");
        assert_eq!(left_out(24, 90), "The 24 busiest links; the 66 others are in summary.json.");
    }

    #[test]
    fn the_end_of_an_axis_is_a_round_number() {
        let row = |value| Row {
            label: String::new(),
            more: String::new(),
            look: None,
            values: vec![None, Some(value)],
            intervals: Vec::new(),
        };
        let scale = Scale::of(&[row(0.0213), row(0.004)]).unwrap();
        assert_eq!((scale.prefix, scale.scale, scale.axis.log), ("m", 1e-3, false));
        assert!((scale.axis.to - 0.024).abs() < 1e-12, "{scale:?}");
        assert_eq!(Scale::of(&[row(0.0)]), None);
        // 50 ms and 5 s: 1.3 below, 1.3 above, and the middle of the two in the middle.
        let scale = Scale::of(&[row(0.05), row(5.0)]).unwrap();
        assert!(scale.axis.log && (scale.percent(0.5) - 50.0).abs() < 1e-9, "{scale:?}");
        assert_eq!(scale.ticks(), [0.1, 0.3, 1.0, 3.0]);
        assert_eq!([0.1, 1.0, 2.5, 100.0, 0.0].map(tick), ["0.1", "1", "2.5", "100", "0"]);
    }
}
