//! Plots of delivery traces, as SVG: the rate over time, and how rates, bursts and gaps are
//! distributed.

use crate::xml::escaped;
use forebay_lab::report::{Axis, SVG_HEAD, round_above};
use forebay_lab::scenario::trace_statistics::{bins, samples};
use forebay_lab::scenario::traces::DeliveryTrace;
use std::fmt::Write;

/// Of Okabe and Ito: distinct also under colour blindness.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const WIDTH: f64 = 1_000.0;
const MARGIN: f64 = 62.0;
/// Most points of a line.
const POINTS: usize = 1_500;

/// A plot within the page: where, its axes and its lines.
struct Panel {
    /// Left, top, width and height of what the axes enclose.
    place: (f64, f64, f64, f64),
    title: String,
    axes: (String, String),
    lines: Vec<Vec<(f64, f64)>>,
    /// The horizontal axis is logarithmic.
    log: bool,
}

/// The plots of traces with their names.
pub(super) fn svg(traces: &[(&str, &DeliveryTrace)]) -> String {
    let mut text = format!(
        "{SVG_HEAD} viewBox=\"0 0 {WIDTH} 640\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (i, (name, _)) in traces.iter().enumerate() {
        let (x, colour) = (MARGIN + 180.0 * i as f64, COLOURS[i % COLOURS.len()]);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "<path d=\"M{x} 20h22\" stroke=\"{colour}\" stroke-width=\"3\"/>\
             <text x=\"{}\" y=\"24\">{}</text>",
            x + 28.0,
            escaped(&short(name))
        );
    }
    panels(traces).iter().for_each(|panel| panel.draw(&mut text));
    text.push_str("</svg>\n");
    text
}

fn panels(traces: &[(&str, &DeliveryTrace)]) -> Vec<Panel> {
    let each = |line: &dyn Fn(&DeliveryTrace) -> Vec<(f64, f64)>| {
        traces.iter().map(|(_, trace)| line(trace)).collect()
    };
    let third = (WIDTH - 20.0) / 3.0;
    let place = |n: f64| (MARGIN + n * third, 400.0, third - MARGIN - 10.0, 180.0);
    let shares = "share of samples below".to_string();
    let below = |n, title: &str, axis: &str, log, lines| Panel {
        place: place(n),
        title: title.into(),
        axes: (axis.into(), shares.clone()),
        lines,
        log,
    };
    vec![
        Panel {
            place: (MARGIN, 60.0, WIDTH - MARGIN - 20.0, 260.0),
            title: "Rate over 1 s".into(),
            axes: ("time [s]".into(), "Mbit/s".into()),
            lines: each(&rate_over_time),
            log: false,
        },
        below(
            0.0,
            "Rate over 100 ms",
            "Mbit/s",
            false,
            each(&|trace| {
                distribution(bins(trace, 100).into_iter().map(|count| count * 0.12).collect())
            }),
        ),
        below(1.0, "Packets in a burst", "packets", true, each(&|t| distribution(samples(t).0))),
        below(2.0, "From burst to burst", "ms", true, each(&|t| distribution(samples(t).1))),
    ]
}

fn rate_over_time(trace: &DeliveryTrace) -> Vec<(f64, f64)> {
    let rates = bins(trace, 1_000);
    let line = rates.iter().enumerate().map(|(s, count)| (s as f64 + 0.5, count * 0.012));
    line.step_by(rates.len().div_ceil(POINTS).max(1)).collect()
}

/// Values against the share of those not above.
fn distribution(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let n = values.len().max(1);
    let step = n.div_ceil(POINTS / 5).max(1);
    let line = values.iter().enumerate().map(|(i, &x)| (x, (i + 1) as f64 / n as f64));
    let mut line: Vec<(f64, f64)> = line.step_by(step).collect();
    line.extend(values.last().map(|&x| (x, 1.0)));
    line
}

impl Panel {
    fn draw(&self, text: &mut String) {
        let (left, top, width, height) = self.place;
        let points = || self.lines.iter().flatten();
        let most_x = points().fold(1e-9, |most: f64, p| most.max(p.0));
        let x_axis = if self.log {
            Axis { from: 1.0, to: round_above(most_x.max(2.0)), log: true }
        } else {
            Axis::from_zero(most_x)
        };
        let y_axis = Axis::from_zero(round_above(points().fold(1e-9, |most, p| most.max(p.1))));
        let at = |(x, y): (f64, f64)| {
            let along = x_axis.share(x.max(x_axis.from));
            (left + width * along, top + height * (1.0 - y_axis.share(y)))
        };
        let _ = writeln!(
            text,
            "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{}</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text>\
             <text transform=\"translate({} {})rotate(-90)\" text-anchor=\"middle\" \
             fill=\"#555\">{}</text>",
            top - 10.0,
            self.title,
            left + width / 2.0,
            top + height + 38.0,
            self.axes.0,
            left - 44.0,
            top + height / 2.0,
            self.axes.1
        );
        for y in y_axis.quarters(1.0) {
            let (_, down) = at((x_axis.from, y));
            let _ = writeln!(
                text,
                "<path d=\"M{left} {down:.1}h{width}\" stroke=\"#ddd\"/><text x=\"{}\" \
                 y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
                left - 6.0,
                down + 4.0,
                super::three(y)
            );
        }
        for x in x_axis.ticks(1.0) {
            let (right, _) = at((x, 0.0));
            let _ = writeln!(
                text,
                "<path d=\"M{right:.1} {}v5\" stroke=\"#555\"/><text x=\"{right:.1}\" y=\"{}\" \
                 text-anchor=\"middle\" fill=\"#555\">{}</text>",
                top + height,
                top + height + 19.0,
                super::three(x)
            );
        }
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let points: Vec<String> =
                line.iter().map(|&p| at(p)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" \
                 stroke-width=\"1.5\" stroke-linejoin=\"round\"/>",
                points.join(" ")
            );
        }
    }
}

/// The last part of a path, of a length that the legend has room for.
pub(super) fn short(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    last.chars().take(20).collect()
}
