//! A metric over one key: a line for each protocol, and of further keys a plot for each value.

use super::Quantity;
use super::read::{Measured, Sweep};
use super::scale::{KeyScale, ValueScale};
use crate::escape::html;
use crate::look::{DASHES, Protocol};
use crate::marker::shape;
use std::fmt::Write;

/// Most plots of a metric.
const MAX_PLOTS: usize = 12;
/// Up to this many steps, each has a marker and a bar for its interval; more have a band.
const MAX_MARKED: usize = 60;
/// The plot in its picture: from the left, from the top, width, height.
const AREA: [f64; 4] = [52.0, 24.0, 396.0, 196.0];
const SIZE: [f64; 2] = [460.0, 266.0];

/// The axis of the sweep along which lines go: of those with numbers the one with most steps.
pub(super) fn along(sweep: &Sweep) -> usize {
    let axes = sweep.record.axes.iter().enumerate();
    let rank = |(place, axis): &(usize, &super::read::Axis)| {
        let is_number = KeyScale::of(sweep, *place).is_number;
        (is_number, axis.steps, usize::MAX - place)
    };
    axes.max_by_key(rank).map_or(0, |(place, _)| place)
}

/// The plots of a metric.
pub(super) fn plots(
    sweep: &Sweep,
    protocols: &[Protocol],
    quantity: &Quantity,
    measured: &Measured,
) -> String {
    let axis = along(sweep);
    let keys = KeyScale::of(sweep, axis);
    let values = ValueScale::of(quantity.unit, measured.most());
    let others: Vec<usize> = (0..sweep.record.axes.len()).filter(|other| *other != axis).collect();
    let count: usize =
        others.iter().map(|&other| sweep.record.axes[other].steps as usize).product();
    // Evenly over all values, both ends among them.
    let shown: Vec<usize> = if count <= MAX_PLOTS {
        (0..count).collect()
    } else {
        (0..MAX_PLOTS).map(|i| i * (count - 1) / (MAX_PLOTS - 1)).collect()
    };
    let mut all = String::new();
    for number in shown {
        let (steps, title) = panel(sweep, &others, number);
        let points = (0..sweep.record.axes[axis].steps as usize).map(|step| {
            let mut steps = steps.clone();
            steps[axis] = step;
            sweep.point(&steps)
        });
        let plot = Plot { keys: &keys, values: &values, points: points.collect() };
        let caption = if title.is_empty() {
            String::new()
        } else {
            format!("<figcaption>{}</figcaption>", html(&title))
        };
        let _ = write!(all, "<figure>{caption}{}</figure>", plot.svg(protocols, measured));
    }
    let more = if count > MAX_PLOTS {
        format!("<p class=about>{MAX_PLOTS} of {count} plots: sweep.parquet has all values.</p>")
    } else {
        String::new()
    };
    format!("<div class='lines'>{all}</div>{more}")
}

/// The steps of the other axes in a plot of this number, and what they are called.
fn panel(sweep: &Sweep, others: &[usize], number: usize) -> (Vec<usize>, String) {
    let (mut steps, mut rest) = (vec![0; sweep.record.axes.len()], number);
    let mut title = Vec::new();
    for &axis in others.iter().rev() {
        let count = sweep.record.axes[axis].steps as usize;
        steps[axis] = rest % count;
        let keys = KeyScale::of(sweep, axis);
        title.push(format!("{} = {}", sweep.axis_title(axis), keys.labels[rest % count]));
        rest /= count;
    }
    title.reverse();
    (steps, title.join("; "))
}

struct Plot<'a> {
    keys: &'a KeyScale,
    values: &'a ValueScale,
    /// By step: the number of the point.
    points: Vec<Option<usize>>,
}

impl Plot<'_> {
    fn x(&self, share: f64) -> f64 {
        AREA[0] + AREA[2] * share
    }
    fn y(&self, share: f64) -> f64 {
        AREA[1] + AREA[3] * (1.0 - share.clamp(0.0, 1.0))
    }

    fn svg(&self, protocols: &[Protocol], measured: &Measured) -> String {
        let mut svg = format!("<svg class=plot viewBox='0 0 {} {}' role=img>", SIZE[0], SIZE[1]);
        self.axes(&mut svg);
        for (number, look) in protocols.iter().enumerate() {
            self.protocol(number, look, measured, &mut svg);
        }
        svg.push_str("</svg>");
        svg
    }

    fn axes(&self, svg: &mut String) {
        let (left, right) = (self.x(0.0), self.x(1.0));
        let (top, bottom) = (self.y(1.0), self.y(0.0));
        // Writing to a string cannot fail.
        for (share, text) in self.values.ticks() {
            let y = self.y(share);
            let _ = write!(
                svg,
                "<path class=grid d='M{left:.1} {y:.1}H{right:.1}'/>\
                 <text class=y x='{:.1}' y='{y:.1}'>{}</text>",
                left - 6.0,
                html(&text)
            );
        }
        for (share, text) in &self.keys.ticks {
            let x = self.x(*share);
            let _ = write!(
                svg,
                "<path class=tick d='M{x:.1} {bottom:.1}v4'/>\
                 <text class=x x='{x:.1}' y='{:.1}'>{}</text>",
                bottom + 16.0,
                html(text)
            );
        }
        let _ = write!(
            svg,
            "<path class=frame d='M{left:.1} {top:.1}V{bottom:.1}H{right:.1}'/>\
             <text class=title x='{:.1}' y='{:.1}'>{}</text>\
             <text class=unit x='{:.1}' y='{:.1}'>{}</text>",
            (left + right) / 2.0,
            SIZE[1] - 8.0,
            html(&self.keys.title),
            left - 4.0,
            top - 10.0,
            html(&self.values.unit)
        );
    }

    fn protocol(&self, number: usize, look: &Protocol, measured: &Measured, svg: &mut String) {
        let mut found: Vec<(usize, usize, _)> = Vec::new();
        for (step, point) in self.points.iter().enumerate() {
            let Some(point) = *point else { continue };
            found.extend(measured.at(point, number).map(|of| (step, point, of)));
        }
        let _ = write!(svg, "<g style='--c:{}'>", html(&look.colour));
        let marked = self.points.len() <= MAX_MARKED;
        let ends = |of: &forebay_metrics::statistics::Interval| of.ci95.unwrap_or([of.mean; 2]);
        let place = |step: usize, value: f64| {
            (self.x(self.keys.places[step]), self.y(self.values.share(value)))
        };
        if !marked && found.iter().any(|(_, _, of)| of.ci95.is_some()) {
            let high = found.iter().map(|(step, _, of)| place(*step, ends(of)[1]));
            let low = found.iter().rev().map(|(step, _, of)| place(*step, ends(of)[0]));
            let _ = write!(svg, "<path class=band d='{}Z'/>", path(high.chain(low)));
        }
        // A step without a value is a gap.
        let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut last = None;
        for (step, _, of) in &found {
            if last.is_none_or(|last| last + 1 != *step) || !self.keys.is_number {
                parts.push(Vec::new());
            }
            last = Some(*step);
            if let Some(part) = parts.last_mut() {
                part.push(place(*step, of.mean));
            }
        }
        let dashes: Vec<String> =
            DASHES[look.dash % DASHES.len()].iter().map(u8::to_string).collect();
        for part in parts.iter().filter(|part| part.len() > 1) {
            let _ = write!(
                svg,
                "<path class=line stroke-dasharray='{}' d='{}'/>",
                dashes.join(" "),
                path(part.iter().copied())
            );
        }
        for (step, point, of) in found.iter().filter(|_| marked) {
            let (x, y) = place(*step, of.mean);
            let [low, high] = ends(of).map(|end| place(*step, end).1);
            let title = format!(
                "{}, {}: {}{}",
                look.title,
                self.keys.labels[*step],
                self.values.words(of.mean),
                of.ci95.map_or(String::new(), |[low, high]| {
                    format!(" [{}, {}]", self.values.words(low), self.values.words(high))
                })
            );
            let bar = if of.ci95.is_some() && (low - high).abs() > 0.5 {
                format!("<path class=bar d='M{x:.1} {low:.1}V{high:.1}'/>")
            } else {
                String::new()
            };
            let _ = write!(
                svg,
                "{bar}<a href='#point-{point}'><title>{}</title><g class=marker \
                 transform='translate({x:.1} {y:.1}) scale(.8)'>{}</g></a>",
                html(&title),
                shape(look.marker)
            );
        }
        svg.push_str("</g>");
    }
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (place, (x, y)) in points.enumerate() {
        let letter = if place == 0 { 'M' } else { 'L' };
        let _ = write!(text, "{letter}{x:.1} {y:.1}");
    }
    text
}
