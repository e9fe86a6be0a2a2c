//! Throughput over delay: a point for each flow and seed, and of each protocol its mean and the
//! ellipse of one standard deviation. The page has it as HTML, which needs no script.

use super::axis::Axis;
use super::charts;
use super::escape::html;
use super::figures::{four_digits, prefix, second_prefix};
use super::look::{Looks, Protocol};
use super::results::{Delays, Results, Run};
use serde::Serialize;
use std::f64::consts::TAU;
use std::fmt::Write;

/// Most points of a plot: of more, every second, third, ... run is left out.
const POINTS: usize = 2_000;
/// The axis of delays around the points is logarithmic if the highest is more than this many times
/// the lowest.
const WIDE: f64 = 4.0;
/// Corners of an ellipse.
const CORNERS: usize = 48;

/// A flow, or all of a run together: its delay in s, its throughput in bit/s, and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Point {
    delay_s: f64,
    bps: f64,
    /// None: all flows of the run.
    flow: Option<u32>,
    seed: String,
}

/// The points of a protocol, or of a class of its flows.
#[derive(Clone, Debug, Serialize)]
struct Group {
    label: String,
    colour: String,
    marker: &'static str,
    points: Vec<Point>,
    /// Of the two axes, as [`Scatter`] has them.
    summaries: [Summary; 2],
}

/// What is drawn of the points together.
#[derive(Clone, Debug, Serialize)]
struct Summary {
    /// The mean of both; of delays on a logarithmic axis the geometric one.
    centre: (f64, f64),
    /// A closed curve around it; empty of one point.
    ellipse: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Scatter {
    id: &'static str,
    title: &'static str,
    /// Quantity on the horizontal axis.
    quantity: &'static str,
    /// The axis of delays in s from 0, and the one that reaches around the points alone: a reader
    /// chooses.
    axes: [Axis; 2],
    /// The prefix of the seconds on both, and what it stands for: that of all plots.
    unit_s: (&'static str, f64),
    /// The axis of throughputs, in bit/s.
    rates: Axis,
    groups: Vec<Group>,
    #[serde(skip)]
    looks: Vec<Protocol>,
}

/// What is shown of delays: id, title of the plot, quantity, and where it is.
type Statistic = (&'static str, &'static str, &'static str, fn(&Delays) -> Option<f64>);

const STATISTICS: [Statistic; 2] = [
    ("scatter-p95", "95 % delay", "95 % one-way delay", |of| of.one_way_delay_p95_ms),
    ("scatter-mean", "mean delay", "mean one-way delay", |of| of.one_way_delay_mean_ms),
];

/// The plots that there are numbers for: a point alone has nothing to compare with.
pub(super) fn scatters(results: &Results, protocols: &[Protocol], looks: &Looks) -> Vec<Scatter> {
    let of = |statistic: &Statistic| scatter(results, protocols, looks, statistic);
    let mut scatters: Vec<Scatter> = STATISTICS.iter().filter_map(of).collect();
    let ends = scatters.iter().map(|scatter| scatter.axes[0].to);
    let unit_s = second_prefix(ends.fold(0.0, f64::max));
    scatters.iter_mut().for_each(|scatter| scatter.unit_s = unit_s);
    scatters
}

fn scatter(
    results: &Results,
    protocols: &[Protocol],
    looks: &Looks,
    of: &Statistic,
) -> Option<Scatter> {
    let (id, title, quantity, delay) = *of;
    let mut found: Vec<(Protocol, Vec<Point>)> = Vec::new();
    let points: usize = results.runs.iter().map(|run| run.per_flow.len().max(1)).sum();
    let every = points.div_ceil(POINTS).max(1);
    for (aggregate, protocol) in results.aggregate.iter().zip(protocols) {
        let runs = results.runs_of(&aggregate.protocol).step_by(every);
        for (class, points) in by_class(runs, delay) {
            let several = protocols.len() > 1;
            let look = look(results, looks, protocol, &class, several);
            found.push((look, points));
        }
    }
    let all = || found.iter().flat_map(|(_, points)| points);
    if all().count() < 2 {
        return None;
    }
    let highest_s = all().map(|point| point.delay_s).max_by(f64::total_cmp)?;
    let lowest_s = all().map(|point| point.delay_s).min_by(f64::total_cmp)?;
    let log = lowest_s > 0.0 && highest_s / lowest_s > WIDE;
    let (looks, groups): (Vec<_>, Vec<_>) =
        found.into_iter().map(|(look, points)| group(look, points, log)).unzip();
    let axes = [whole_axis(&groups)?, axis_around(&groups, log)?];
    let corners = groups.iter().flat_map(|group| &group.summaries).flat_map(|s| &s.ellipse);
    let bps = groups.iter().flat_map(|group| &group.points).map(|point| point.bps);
    let bps = bps.chain(corners.map(|corner| corner.1));
    let most_bps = bps.max_by(f64::total_cmp).filter(|bps| *bps > 0.0)?;
    let rates = Axis::from_zero(most_bps * 1.05);
    let unit_s = second_prefix(axes[0].to);
    Some(Scatter { id, title, quantity, axes, unit_s, rates, groups, looks })
}

/// The delays of points and of the ellipses on one of the two axes: these are within it, too.
fn delays(groups: &[Group], axis: usize) -> impl Iterator<Item = f64> + Clone {
    let points = groups.iter().flat_map(|group| &group.points).map(|point| point.delay_s);
    let corners = groups.iter().flat_map(move |group| &group.summaries[axis].ellipse);
    points.chain(corners.map(|corner| corner.0))
}

/// From 0.
fn whole_axis(groups: &[Group]) -> Option<Axis> {
    let most_s = delays(groups, 0).max_by(f64::total_cmp)?;
    Some(Axis::from_zero(most_s.max(1e-6) * 1.05))
}

fn axis_around(groups: &[Group], log: bool) -> Option<Axis> {
    let delays = delays(groups, 1);
    let (least_s, most_s) =
        (delays.clone().min_by(f64::total_cmp)?, delays.max_by(f64::total_cmp)?);
    if log {
        return Some(Axis { from: least_s / 1.15, to: most_s * 1.15, log });
    }
    let margin_s = ((most_s - least_s) * 0.08).max(most_s * 0.02).max(1e-6);
    Some(Axis { from: (least_s - margin_s).max(0.0), to: most_s + margin_s, log })
}

/// The points of runs, by class of flows where they have several, else under no name.
fn by_class<'a>(
    runs: impl Iterator<Item = &'a Run>,
    delay: fn(&Delays) -> Option<f64>,
) -> Vec<(String, Vec<Point>)> {
    let mut found: Vec<(String, Vec<Point>)> = Vec::new();
    let mut push = |class: &str, of: &Delays, (flow, seed): (Option<u32>, u64)| {
        let (Some(delay_ms), Some(bps)) = (delay(of), of.goodput_bps) else { return };
        let point = Point { delay_s: delay_ms * 1e-3, bps, flow, seed: seed.to_string() };
        match found.iter_mut().find(|(known, _)| known == class) {
            Some((_, points)) => points.push(point),
            None => found.push((class.to_string(), vec![point])),
        }
    };
    for run in runs {
        // Runs of many flows have no delays of each.
        if run.per_flow.iter().all(|flow| delay(&flow.delays).is_none()) {
            push("", &run.delays(), (None, run.seed));
        }
        for flow in &run.per_flow {
            push(&flow.class, &flow.delays, (Some(flow.id), run.seed));
        }
    }
    if let [(class, _)] = found.as_mut_slice() {
        class.clear();
    }
    found
}

/// The look of a class of flows; of the only one that of its protocol.
fn look(
    results: &Results,
    looks: &Looks,
    protocol: &Protocol,
    class: &str,
    several: bool,
) -> Protocol {
    if class.is_empty() {
        return protocol.clone();
    }
    let look = looks.of_class(protocol, class, results.title_of(class), several);
    if several {
        Protocol { title: format!("{} (run of {})", look.title, protocol.title), ..look }
    } else {
        look
    }
}

fn group(look: Protocol, points: Vec<Point>, log: bool) -> (Protocol, Group) {
    let summaries = [summary(&points, false), summary(&points, log)];
    let (label, colour, marker) = (look.title.clone(), look.colour.clone(), look.marker);
    (look, Group { label, colour, marker, points, summaries })
}

fn summary(points: &[Point], log: bool) -> Summary {
    let on_axis = |delay_s: f64| if log { delay_s.ln() } else { delay_s };
    let off_axis = |x: f64| if log { x.exp() } else { x.max(0.0) };
    let pairs: Vec<(f64, f64)> = points.iter().map(|p| (on_axis(p.delay_s), p.bps)).collect();
    let (centre, corners) = ellipse(&pairs);
    let ellipse = corners.into_iter().map(|(x, bps)| (off_axis(x), bps.max(0.0))).collect();
    Summary { centre: (off_axis(centre.0), centre.1), ellipse }
}

/// The mean of pairs, and the curve around it at a distance of one standard deviation in each
/// direction: what Cholesky's factor of the covariance (divisor n - 1) makes of the unit circle.
/// No curve of fewer than two pairs.
fn ellipse(pairs: &[(f64, f64)]) -> ((f64, f64), Vec<(f64, f64)>) {
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    if pairs.len() < 2 {
        return ((x, y), Vec::new());
    }
    let product = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / (n - 1.0);
    let xx = product(&|pair| (pair.0 - x) * (pair.0 - x));
    let xy = product(&|pair| (pair.0 - x) * (pair.1 - y));
    let yy = product(&|pair| (pair.1 - y) * (pair.1 - y));
    let a = xx.sqrt();
    let b = if a > 0.0 { xy / a } else { 0.0 };
    let c = (yy - b * b).max(0.0).sqrt();
    let corner = |place: usize| {
        let (sin, cos) = (TAU * place as f64 / CORNERS as f64).sin_cos();
        (x + a * cos, y + b * cos + c * sin)
    };
    ((x, y), (0..=CORNERS).map(corner).collect())
}

/// What there is of one axis alone; the page shows that of the axis that its reader chose.
const OF_AXIS: [&str; 2] = ["whole", "near"];

impl Scatter {
    /// Where a delay is on both axes, and a throughput, in percent, as CSS.
    fn place(&self, delays_s: [f64; 2], bps: f64) -> String {
        let x = [0, 1].map(|axis| self.axes[axis].percent(delays_s[axis]));
        format!("--w:{:.2};--n:{:.2};--y:{:.2}", x[0], x[1], self.rates.percent(bps))
    }

    /// The ticks of both axes.
    fn ticks(&self) -> String {
        let mut ticks = String::new();
        let (_, scale_s) = self.unit_s;
        for (axis, class) in self.axes.iter().zip(OF_AXIS) {
            for tick in axis.ticks(scale_s) {
                let (at, text) = (axis.percent(tick * scale_s), charts::tick(tick));
                // Writing to a string cannot fail.
                let _ = write!(
                    ticks,
                    "<u class='x {class}' style='--w:{at:.2};--n:{at:.2}'>{text}</u>"
                );
            }
        }
        let (_, scale) = prefix(self.rates.to);
        for tick in self.rates.ticks(scale) {
            let (at, text) = (self.rates.percent(tick * scale), charts::tick(tick));
            let _ = write!(ticks, "<u class=y style='--y:{at:.2}'>{text}</u>");
        }
        ticks
    }

    /// The ellipses on one of the two axes.
    fn curves(&self, axis: usize) -> String {
        let mut curves = String::new();
        for group in &self.groups {
            let mut path = String::new();
            for (place, &(delay_s, bps)) in group.summaries[axis].ellipse.iter().enumerate() {
                let letter = if place == 0 { 'M' } else { 'L' };
                let (x, y) = (self.axes[axis].percent(delay_s), 100.0 - self.rates.percent(bps));
                // Writing to a string cannot fail.
                let _ = write!(path, "{letter}{x:.2} {y:.2}");
            }
            let _ = write!(curves, "<path style='--c:{}' d='{path}'/>", html(&group.colour));
        }
        format!(
            "<svg class={} viewBox='0 0 100 100' preserveAspectRatio=none aria-hidden=true>\
             {curves}</svg>",
            OF_AXIS[axis]
        )
    }

    fn html(&self) -> String {
        let (letter_s, scale_s) = self.unit_s;
        let (letter, scale) = prefix(self.rates.to);
        let mut field = self.ticks();
        let mut points = 0;
        for (group, look) in self.groups.iter().zip(&self.looks) {
            let picture = look.picture();
            for Point { delay_s, bps, flow, seed } in &group.points {
                points += 1;
                let whose = flow.map_or("all flows".to_string(), |flow| format!("flow {flow}"));
                let values = format!(
                    "{} {letter_s}s, {} {letter}bit/s",
                    four_digits(delay_s / scale_s),
                    four_digits(bps / scale)
                );
                let title = html(&format!("{}, {whose}, seed {seed}: {values}", group.label));
                let place = self.place([*delay_s; 2], *bps);
                // Writing to a string cannot fail.
                let class = if group.points.len() == 1 { "class=alone " } else { "" };
                let _ = write!(field, "<i {class}style='{place}' title='{title}'>{picture}</i>");
            }
        }
        for (group, look) in self.groups.iter().zip(&self.looks) {
            let [whole, near] = &group.summaries;
            if group.points.len() > 1 {
                let (picture, title) = (look.picture(), html(&group.label));
                let place = self.place([whole.centre.0, near.centre.0], whole.centre.1);
                let _ = write!(
                    field,
                    "<i class=centre style='{place}' title='{title}, mean'>{picture}</i>"
                );
            }
        }
        let curves = self.curves(0) + &self.curves(1);
        let Scatter { id, quantity, title, .. } = self;
        format!(
            "<figure class=scatter data-scatter={id} data-marks={points}>\
             <figcaption><span>throughput over {title}\
             <span class=unit>{letter}bit/s</span></span></figcaption>\
             <div class=field>{curves}{field}</div>\
             <p class=x-axis>{quantity}, {letter_s}s</p></figure>"
        )
    }
}

/// The section of the page; empty without plots.
pub(super) fn section(scatters: &[Scatter]) -> String {
    let [first, ..] = scatters else { return String::new() };
    let key: String = first
        .groups
        .iter()
        .zip(&first.looks)
        .map(|(group, look)| format!("<span>{}{}</span>", look.picture(), html(&group.label)))
        .collect();
    let of_flows = first.groups.iter().any(|g| g.points.iter().any(|p| p.flow.is_some()));
    let what = if of_flows { "flow and seed" } else { "seed, all flows together" };
    let plots: String = scatters.iter().map(Scatter::html).collect();
    format!(
        "<section id=scatter><h2>Throughput and delay</h2>\
         <p class=about>A small marker for each {what}: goodput in the window, and one-way delay \
         of its packets. Large markers: means. Curves: one standard deviation.</p>\
         <p class=key>{key}<label class=flip><input type=checkbox checked> delay from right to \
         left: up and right is better</label> <label class=zoom><input type=checkbox> zoom to the \
         points</label></p><div class=pair>{plots}</div></section>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    /// (1, 1), (3, 1), (2, 4) and (2, 2): means 2 and 2; variances 2/3 and 2, covariance 0. So the
    /// curve reaches 2 ± √(2/3) and 2 ± √2.
    #[test]
    fn an_ellipse_without_covariance_has_its_axes_upright() {
        let (centre, corners) = ellipse(&[(1.0, 1.0), (3.0, 1.0), (2.0, 4.0), (2.0, 2.0)]);
        assert_eq!(centre, (2.0, 2.0));
        let most = |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::MIN, f64::max);
        close(most(|c| c.0), 2.0 + (2f64 / 3.0).sqrt());
        close(most(|c| c.1), 2.0 + 2f64.sqrt());
        assert_eq!(ellipse(&[(1.0, 7.0)]), ((1.0, 7.0), Vec::new()));
    }

    /// Points on a line: the ellipse is a part of that line, however long.
    #[test]
    fn of_points_on_a_line_the_ellipse_is_on_it() {
        let (_, corners) = ellipse(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]);
        corners.iter().for_each(|&(x, y)| close(y, 2.0 * x + 1.0));
        let (_, upright) = ellipse(&[(1.0, 3.0), (1.0, 5.0)]);
        assert!(upright.iter().all(|&(x, y)| x == 1.0 && (y - 4.0).abs() <= 2f64.sqrt() + 1e-9));
    }

    /// Delays of 40 and 42 ms: from 0 they are close together; zoomed they are not.
    #[test]
    fn an_axis_of_delays_begins_at_zero_unless_it_is_zoomed() {
        let point = |delay_s| Point { delay_s, bps: 1e6, flow: None, seed: "1".into() };
        let summaries = [false, false].map(|log| summary(&[point(0.040), point(0.042)], log));
        let (label, colour) = (String::new(), String::new());
        let points = vec![point(0.040), point(0.042)];
        let groups = [Group { label, colour, marker: "circle", points, summaries }];
        let whole = whole_axis(&groups).unwrap();
        close(whole.percent(0.0), 0.0);
        assert!(whole.percent(0.042) > 90.0 && whole.percent(0.040) > 85.0, "{whole:?}");
        let near = axis_around(&groups, false).unwrap();
        assert!(near.percent(0.040) < 30.0 && near.percent(0.042) > 70.0, "{near:?}");
    }
}
