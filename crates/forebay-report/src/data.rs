//! The numbers inside the page, as compact JSON for its script.
//!
//! Samples are whole numbers, each the difference to the one before: times in ticks, values in
//! steps. A tick is the largest number of microseconds that all times of the line are multiples of.

use super::charts::Chart;
use super::curves::Curve;
use super::downsample::Trace;
use super::look::{DASHES, Protocol};
use super::marker::{MARKERS, Marker};
use super::panel::{Area, Curves, Line, Panel};
use super::panels::GROUPS;
use super::scatter::Scatter;
use serde::Serialize;

/// Everything that the script draws.
#[derive(Serialize)]
pub(super) struct Data {
    scenario: String,
    pub protocols: Vec<Protocol>,
    groups: Vec<Group>,
    runs: Vec<Run>,
    curves: Vec<CurveData>,
    charts: Vec<Chart>,
    scatters: Vec<Scatter>,
    markers: &'static [Marker],
    dashes: &'static [&'static [u8]],
}

#[derive(Serialize)]
struct Group {
    id: &'static str,
    title: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct Run {
    protocol: usize,
    /// A seed may use all 64 bits, which a number of JavaScript does not hold.
    seed: String,
    end_s: f64,
    panels: Vec<PanelData>,
}

#[derive(Serialize)]
struct PanelData {
    group: &'static str,
    id: String,
    title: String,
    quantity: String,
    unit: String,
    looks: usize,
    whole: bool,
    lines: Vec<LineData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<Samples>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<(String, Vec<(f64, f64)>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    area: Option<LineData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    curves: Option<CurvesData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<String>,
}

#[derive(Serialize)]
struct CurvesData {
    /// Quantity on the horizontal axis, and in which unit.
    quantity: &'static str,
    unit: String,
    lines: Vec<XyLine>,
}

#[derive(Serialize)]
struct XyLine {
    label: String,
    x: Vec<f64>,
    y: Vec<f64>,
}

#[derive(Serialize)]
struct LineData {
    label: String,
    look: Option<usize>,
    #[serde(flatten)]
    samples: Samples,
}

#[derive(Debug, PartialEq, Serialize)]
struct Samples {
    tick_us: i64,
    t: Vec<i64>,
    step: f64,
    v: Vec<i64>,
}

#[derive(Serialize)]
struct CurveData {
    id: String,
    title: String,
    about: String,
    x: &'static str,
    of: &'static str,
    stepped: bool,
    lines: Vec<CurveLine>,
}

#[derive(Serialize)]
struct CurveLine {
    protocol: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// The plots over time of one run.
#[derive(Clone, Debug)]
pub(super) struct RunPanels {
    pub protocol: usize,
    pub seed: u64,
    pub end_s: f64,
    pub panels: Vec<Panel>,
}

/// The plots over all runs.
pub(super) struct OverAll {
    pub curves: Vec<Curve>,
    pub charts: Vec<Chart>,
    pub scatters: Vec<Scatter>,
}

impl Data {
    pub fn new(
        scenario: &str,
        protocols: &[Protocol],
        runs: &[RunPanels],
        over_all: &OverAll,
    ) -> Data {
        let groups = GROUPS.iter().map(|&(id, title, about)| Group { id, title, about }).collect();
        Data {
            scenario: scenario.to_string(),
            protocols: protocols.to_vec(),
            groups,
            runs: runs.iter().map(run).collect(),
            curves: over_all.curves.iter().map(curve).collect(),
            charts: over_all.charts.clone(),
            scatters: over_all.scatters.clone(),
            markers: &MARKERS,
            dashes: &DASHES,
        }
    }
}

fn run(run: &RunPanels) -> Run {
    let RunPanels { protocol, seed, end_s, panels } = run;
    let panels = panels.iter().map(panel).collect();
    Run { protocol: *protocol, seed: seed.to_string(), end_s: *end_s, panels }
}

fn panel(panel: &Panel) -> PanelData {
    PanelData {
        group: panel.group,
        id: panel.id.clone(),
        title: panel.title.clone(),
        quantity: panel.quantity.clone().into_owned(),
        unit: panel.unit.clone().into_owned(),
        looks: panel.looks,
        whole: panel.whole,
        lines: panel.lines.iter().map(line).collect(),
        states: panel.states.as_ref().map(|states| samples(states, 1.0)),
        marks: panel.marks.iter().map(|m| (m.name.clone(), m.steps.clone())).collect(),
        area: panel.area.as_ref().map(area),
        curves: panel.curves.as_ref().map(curves),
        omitted: panel.omitted.clone(),
    }
}

fn area(area: &Area) -> LineData {
    let samples = samples(&area.trace, area.step);
    LineData { label: area.label.clone(), look: None, samples }
}

fn curves(curves: &Curves) -> CurvesData {
    let line = |(label, points): &(String, Vec<(f64, f64)>)| {
        let (x, y) = points.iter().map(|&(x, y)| (six_digits(x), six_digits(y))).unzip();
        XyLine { label: label.clone(), x, y }
    };
    let (quantity, unit) = (curves.x.0, curves.x.1.clone());
    CurvesData { quantity, unit, lines: curves.lines.iter().map(line).collect() }
}

fn line(line: &Line) -> LineData {
    let samples = samples(&line.trace, line.step);
    LineData { label: line.label.clone(), look: line.look, samples }
}

fn samples(trace: &Trace, step: f64) -> Samples {
    let times: Vec<i64> = trace.samples().iter().map(|&(t_ns, _)| (t_ns + 500) / 1000).collect();
    let tick_us = times.iter().fold(0, |tick, &t| gcd(tick, t)).max(1);
    let values = trace.samples().iter().map(|&(_, value)| (value / step).round() as i64);
    Samples {
        tick_us,
        t: differences(times.iter().map(|t| t / tick_us)),
        step,
        v: differences(values),
    }
}

fn differences(numbers: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut before = 0;
    numbers.map(|number| number - std::mem::replace(&mut before, number)).collect()
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn curve(curve: &Curve) -> CurveData {
    let line = |line: &(usize, Vec<(f64, f64)>)| {
        let (x, y) = line.1.iter().map(|&(x, y)| (six_digits(x), six_digits(y))).unzip();
        CurveLine { protocol: line.0, x, y }
    };
    CurveData {
        id: curve.id.clone(),
        title: curve.title.clone(),
        about: curve.about.clone(),
        x: curve.x,
        of: curve.of,
        stepped: curve.stepped,
        lines: curve.lines.iter().map(line).collect(),
    }
}

/// More than a plot shows.
fn six_digits(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_back_from_differences() {
        let mut trace = Trace::new(10_000_000_000);
        for (t_ns, value) in
            [(1_000_000_000, 1448.0), (1_010_000_000, 2896.4), (1_030_000_000, 0.0)]
        {
            trace.push(t_ns, value);
        }
        let found = samples(&trace, 1.0);
        let expected =
            Samples { tick_us: 10_000, t: vec![100, 1, 2], step: 1.0, v: vec![1448, 1448, -2896] };
        assert_eq!(found, expected);
    }

    #[test]
    fn six_digits_stay() {
        assert_eq!(six_digits(12.345_678_9), 12.3457);
        assert_eq!(six_digits(0.000_123_456_789), 0.000_123_457);
        assert_eq!(six_digits(123_456_789.0), 123_457_000.0);
    }
}
