//! Throughput over delay: a point for each flow and seed, and of each protocol its mean and the
//! ellipse of one standard deviation. The page has it as HTML, which needs no script.

use super::charts::{self, marker};
use super::data::Protocol;
use super::escape::html;
use super::figures::{four_digits, prefix, second_prefix};
use super::look::Looks;
use super::results::{Delays, Results, Run};
use serde::Serialize;
use std::f64::consts::TAU;
use std::fmt::Write;

/// Most points of a plot: of more, every second, third, ... run is left out.
const POINTS: usize = 2_000;
/// The axis of delays is logarithmic if the highest is more than this many times the lowest.
const WIDE: f64 = 4.0;
/// Most values at the axis of delays, and corners of an ellipse.
const TICKS: usize = 6;
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
    /// What the horizontal axis shows.
    quantity: &'static str,
    /// The ends of the axis of delays in s, and whether it is logarithmic.
    from_s: f64,
    to_s: f64,
    log: bool,
    /// The end of the axis of throughputs, in bit/s.
    end_bps: f64,
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

/// The plots that there are numbers for: a point alone is beside nothing.
pub(super) fn scatters(results: &Results, protocols: &[Protocol]) -> Vec<Scatter> {
    let of = |statistic: &Statistic| scatter(results, protocols, statistic);
    STATISTICS.iter().filter_map(of).collect()
}

fn scatter(results: &Results, protocols: &[Protocol], of: &Statistic) -> Option<Scatter> {
    let (id, title, quantity, delay) = *of;
    let mut found: Vec<(Protocol, Vec<Point>)> = Vec::new();
    let points: usize = results.runs.iter().map(|run| run.per_flow.len().max(1)).sum();
    let every = points.div_ceil(POINTS).max(1);
    for (aggregate, protocol) in results.aggregate.iter().zip(protocols) {
        let runs = results.runs_of(&aggregate.protocol).step_by(every);
        for (class, points) in by_class(runs, delay) {
            let look = look(results, protocol, &class, protocols.len() > 1);
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
    let groups: Vec<(Protocol, Group)> = found.into_iter().map(|f| group(f, log)).collect();
    // Ellipses are within the axes, too.
    let corners = || groups.iter().flat_map(|(_, group)| &group.ellipse);
    let delays = || {
        let of_points = groups.iter().flat_map(|(_, group)| &group.points);
        of_points.map(|point| point.delay_s).chain(corners().map(|corner| corner.0))
    };
    let rates = || {
        let of_points = groups.iter().flat_map(|(_, group)| &group.points);
        of_points.map(|point| point.bps).chain(corners().map(|corner| corner.1))
    };
    let (least_s, most_s) = (delays().min_by(f64::total_cmp)?, delays().max_by(f64::total_cmp)?);
    let (from_s, to_s) = match log {
        true => (least_s / 1.15, most_s * 1.15),
        false => {
            let margin_s = ((most_s - least_s) * 0.08).max(most_s * 0.02).max(1e-6);
            ((least_s - margin_s).max(0.0), most_s + margin_s)
        }
    };
    let most_bps = rates().max_by(f64::total_cmp).filter(|bps| *bps > 0.0)?;
    let (looks, groups) = groups.into_iter().unzip();
    let end_bps = most_bps * 1.05;
    Some(Scatter { id, title, quantity, from_s, to_s, log, end_bps, groups, looks })
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
fn look(results: &Results, protocol: &Protocol, class: &str, several: bool) -> Protocol {
    if class.is_empty() {
        return protocol.clone();
    }
    let names = results.aggregate.iter().map(|a| a.name.as_str());
    let classes =
        results.aggregate.iter().flat_map(|a| a.means.by_class.keys().map(String::as_str));
    let known = results.aggregate.iter().find(|a| a.name == class);
    let look = Looks::new(names.chain(classes)).of(class, known.map_or("", |a| a.title.as_str()));
    match several {
        // The colour says which run, the marker which class.
        true => {
            let title = format!("{} (run of {})", look.title, protocol.title);
            Protocol { title, colour: protocol.colour.clone(), ..look }
        }
        false => look,
    }
}

fn group((look, points): (Protocol, Vec<Point>), log: bool) -> (Protocol, Group) {
    let on_axis = |delay_s: f64| if log { delay_s.ln() } else { delay_s };
    let off_axis = |x: f64| if log { x.exp() } else { x.max(0.0) };
    let pairs: Vec<(f64, f64)> = points.iter().map(|p| (on_axis(p.delay_s), p.bps)).collect();
    let (centre, corners) = ellipse(&pairs);
    let (label, colour, marker) = (look.title.clone(), look.colour.clone(), look.marker);
    let ellipse = corners.into_iter().map(|(x, bps)| (off_axis(x), bps.max(0.0))).collect();
    let centre = (off_axis(centre.0), centre.1);
    (look, Group { label, colour, marker, points, centre, ellipse })
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

impl Scatter {
    /// Where a delay is, in percent of the width.
    fn x(&self, delay_s: f64) -> f64 {
        100.0
            * match self.log {
                true => (delay_s / self.from_s).ln() / (self.to_s / self.from_s).ln(),
                false => (delay_s - self.from_s) / (self.to_s - self.from_s),
            }
    }

    /// Where a throughput is, in percent of the height.
    fn y(&self, bps: f64) -> f64 {
        100.0 * bps / self.end_bps
    }

    fn html(&self) -> String {
        let (letter_s, scale_s) = second_prefix(self.to_s);
        let (letter, scale) = prefix(self.end_bps);
        let mut field = String::new();
        for tick in self.ticks(scale_s) {
            let at = self.x(tick * scale_s);
            // Writing to a string cannot fail.
            let _ = write!(field, "<u class=x style='--x:{at:.2}'>{}</u>", charts::tick(tick));
        }
        for tick in steps(0.0, self.end_bps / scale, 5) {
            let at = self.y(tick * scale);
            let _ = write!(field, "<u class=y style='--y:{at:.2}'>{}</u>", charts::tick(tick));
        }
        let mut curves = String::new();
        for group in &self.groups {
            let mut path = String::new();
            for (place, &(delay_s, bps)) in group.ellipse.iter().enumerate() {
                let letter = if place == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{letter}{:.2} {:.2}", self.x(delay_s), 100.0 - self.y(bps));
            }
            let _ = write!(curves, "<path style='--c:{}' d='{path}'/>", html(&group.colour));
        }
        let mut points = 0;
        for (group, look) in self.groups.iter().zip(&self.looks) {
            let picture = marker(look);
            for Point { delay_s, bps, flow, seed } in &group.points {
                points += 1;
                let whose = flow.map_or("all flows".to_string(), |flow| format!("flow {flow}"));
                let values = format!(
                    "{} {letter_s}s, {} {letter}bit/s",
                    four_digits(delay_s / scale_s),
                    four_digits(bps / scale)
                );
                let title = html(&format!("{}, {whose}, seed {seed}: {values}", group.label));
                let (x, y) = (self.x(*delay_s), self.y(*bps));
                let _ =
                    write!(field, "<i style='--x:{x:.2};--y:{y:.2}' title='{title}'>{picture}</i>");
            }
        }
        for (group, look) in self.groups.iter().zip(&self.looks) {
            let (x, y) = (self.x(group.centre.0), self.y(group.centre.1));
            if group.points.len() > 1 {
                let (picture, title) = (marker(look), html(&group.label));
                let _ = write!(
                    field,
                    "<i class=centre style='--x:{x:.2};--y:{y:.2}' title='{title}, mean'>\
                     {picture}</i>"
                );
            }
        }
        let Scatter { id, quantity, title, .. } = self;
        format!(
            "<figure class=scatter data-scatter={id} data-marks={points}>\
             <figcaption><span>throughput over {title}\
             <span class=unit>{letter}bit/s</span></span></figcaption>\
             <div class=field><svg viewBox='0 0 100 100' preserveAspectRatio=none aria-hidden=true>\
             {curves}</svg>{field}</div><p class=x-axis>{quantity}, {letter_s}s</p></figure>"
        )
    }

    /// Round values at the axis of delays, in `scale` seconds.
    fn ticks(&self, scale: f64) -> Vec<f64> {
        let (from, to) = (self.from_s / scale, self.to_s / scale);
        if !self.log {
            return steps(from, to, TICKS - 1);
        }
        let decades = from.log10().floor() as i32..=to.log10().floor() as i32;
        let of = |parts: &[f64]| -> Vec<f64> {
            let all = decades.clone().flat_map(|power| {
                parts.iter().map(move |part| decimal(*part, power)).collect::<Vec<_>>()
            });
            all.filter(|tick| (from..=to).contains(tick)).collect()
        };
        let finest = [&[1.0, 2.0, 3.0, 5.0, 7.0][..], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let found = finest.into_iter().map(of).find(|ticks| ticks.len() <= TICKS);
        found.unwrap_or_else(|| of(&[1.0]))
    }
}

/// `part` times a power of ten, as the number that people would write.
fn decimal(part: f64, power: i32) -> f64 {
    if power < 0 { part / 10f64.powi(-power) } else { part * 10f64.powi(power) }
}

/// Multiples of 1, 2 or 5 times a power of ten between two values, so many at most.
fn steps(from: f64, to: f64, most: usize) -> Vec<f64> {
    let raw = (to - from) / most as f64;
    let decade = 10f64.powi(raw.log10().floor() as i32);
    let sizes = [1.0, 2.0, 5.0, 10.0].map(|part| part * decade);
    let size = sizes.into_iter().find(|size| *size >= raw * (1.0 - 1e-9)).unwrap_or(10.0 * decade);
    let first = (from / size - 1e-9).ceil() as i64;
    let ticks = (first..).map(|number| number as f64 * size);
    // What is a whole number of steps has rounding errors behind its last digit.
    let round = |tick: f64| (tick / size).round() * size;
    ticks.map(round).take_while(|tick| *tick <= to * (1.0 + 1e-9)).collect()
}

/// The section of the page; empty without plots.
pub(super) fn section(scatters: &[Scatter]) -> String {
    let [first, ..] = scatters else { return String::new() };
    let key: String = first
        .groups
        .iter()
        .zip(&first.looks)
        .map(|(group, look)| format!("<span>{}{}</span>", marker(look), html(&group.label)))
        .collect();
    let of_flows = first.groups.iter().any(|g| g.points.iter().any(|p| p.flow.is_some()));
    let what = if of_flows { "flow and seed" } else { "seed, all flows together" };
    let plots: String = scatters.iter().map(Scatter::html).collect();
    format!(
        "<section id=scatter><h2>Throughput and delay</h2>\
         <p class=about>A small marker for each {what}: goodput in the window, and one-way delay \
         of its packets. Large markers: means. Curves: one standard deviation.</p>\
         <p class=key>{key}<label class=flip><input type=checkbox checked> delay from right to \
         left: up and right is better</label></p><div class=pair>{plots}</div></section>"
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

    #[test]
    fn axes_have_few_round_values() {
        assert_eq!(steps(0.0, 21.3, 5), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(steps(41.2, 58.0, 5), [45.0, 50.0, 55.0]);
        let axis = |from_s, to_s| Scatter {
            id: "x",
            title: "",
            quantity: "",
            from_s,
            to_s,
            log: true,
            end_bps: 1.0,
            groups: Vec::new(),
            looks: Vec::new(),
        };
        assert_eq!(axis(0.041, 0.480).ticks(1e-3), [50.0, 70.0, 100.0, 200.0, 300.0]);
        assert_eq!(axis(0.02, 3.0).ticks(1.0), [0.03, 0.1, 0.3, 1.0, 3.0]);
        close(axis(0.01, 1.0).x(0.1), 50.0);
    }
}
