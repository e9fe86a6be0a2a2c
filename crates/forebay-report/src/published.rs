//! Plots of what controllers publish: one for each series, but those that belong together.
//!
//! A delay profile is the delay that a controller expects under each window; it is drawn at several
//! times of a run. In `series.parquet` it is `profile_top`, a window, and `profile_01` to
//! `profile_NN`, the delays under 1/NN, 2/NN, ... of that window.

use super::downsample::Trace;
use super::gather::{Entity, Metric};
use super::panel::{Curves, Panel, Plot, Sorter};
use std::collections::BTreeMap;

/// Most flows whose profiles and set points are shown.
const FLOWS: usize = 4;
/// Times at which a profile is drawn, at most.
const TIMES: usize = 6;
const TOP: &str = "profile_top";

/// A plot for each series that controllers publish; but those of [`together`] and of
/// [`profiles`].
pub(super) fn published(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let mut series: BTreeMap<(&String, &String), Vec<(&Entity, &Trace)>> = BTreeMap::new();
    for ((entity, metric), trace) in &run.lines.levels {
        if let Metric::Published { name, unit } = metric
            && !TOGETHER.contains(&name.as_str())
            && !is_profile(name)
        {
            series.entry((name, unit)).or_default().push((entity, trace));
        }
    }
    let mut panels = together(run, plot);
    panels.extend(profiles(run, plot));
    for ((name, unit), lines) in series {
        // The same name in two units is two plots.
        let mut panel = Panel::new(plot, format!("{}-{name}-{unit}", plot.id), name.clone());
        (panel.quantity, panel.unit) = (name.clone().into(), unit.clone().into());
        run.add_flows(&mut panel, lines.into_iter());
        panels.push(panel);
    }
    panels
}

/// Series that mean something together: what a delay is steered to, and between what.
const TOGETHER: [&str; 3] = ["set_point", "d_max", "d_min"];

/// For each flow that publishes a set point a plot of it and of the delays that it follows.
fn together(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let of_flow = |flow: u32| {
        let own = run.lines.levels.iter().filter(|((of, _), _)| *of == Entity::Flow(flow, 1));
        let named = |name: &'static str| {
            own.clone().find_map(|((_, metric), trace)| match metric {
                Metric::Published { name: own, unit } if own == name => Some((name, unit, trace)),
                _ => None,
            })
        };
        let found: Vec<_> = TOGETHER.into_iter().filter_map(named).collect();
        let [(_, unit, _), ..] = found.as_slice() else { return None };
        let title = format!("flow {flow}: set point, and the delays that it follows");
        let mut panel = Panel::new(plot, format!("{}-set-point-{flow}", plot.id), title);
        (panel.quantity, panel.unit) = ("delay".into(), unit.to_string().into());
        for (look, (name, _, trace)) in found.iter().enumerate() {
            panel.push(name.replace('_', " "), look, trace);
        }
        Some(panel)
    };
    few(run.flows.iter().filter_map(|&flow| of_flow(flow)))
}

/// The plots of the first flows; where there are more, they say so.
fn few(of_flows: impl Iterator<Item = Panel>) -> Vec<Panel> {
    let mut panels: Vec<Panel> = of_flows.take(FLOWS + 1).collect();
    if panels.len() > FLOWS {
        panels.truncate(FLOWS);
        let text = format!(
            "set points and delay profiles of the first {FLOWS} flows; others are in series.parquet"
        );
        panels.iter_mut().for_each(|panel| panel.omitted = Some(text.clone()));
    }
    panels
}

/// True of the name of a series that is part of a profile.
fn is_profile(name: &str) -> bool {
    number(name).is_some() || name == TOP
}

fn number(name: &str) -> Option<usize> {
    name.strip_prefix("profile_")?.parse().ok()
}

/// The profiles of the first flows that publish one.
fn profiles(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    few(run.flows.iter().filter_map(|&flow| of_flow(run, plot, flow)))
}

fn of_flow(run: &Sorter<'_>, plot: &Plot, flow: u32) -> Option<Panel> {
    let mut top: Option<(&str, &Trace)> = None;
    let mut delays: Vec<(usize, &str, &Trace)> = Vec::new();
    for ((entity, metric), trace) in &run.lines.levels {
        let Metric::Published { name, unit } = metric else { continue };
        if *entity != Entity::Flow(flow, 1) {
            continue;
        }
        match number(name) {
            Some(number) => delays.push((number, unit, trace)),
            None if name == TOP => top = Some((unit, trace)),
            None => {}
        }
    }
    delays.sort_by_key(|(number, ..)| *number);
    let (x_unit, top) = top?;
    let parts = delays.last()?.0;
    let unit = delays[0].1.to_string();
    let ends = [top.samples().first()?.0, top.samples().last()?.0];
    let curve = |at_ns: i64| {
        let top = value(top, at_ns)?;
        let point = |(number, _, trace): &(usize, &str, &Trace)| {
            Some((top * *number as f64 / parts as f64, value(trace, at_ns)?))
        };
        Some((seconds(at_ns), delays.iter().map(point).collect::<Option<Vec<_>>>()?))
    };
    let lines: Vec<_> = times(ends).into_iter().filter_map(curve).collect();
    let title = format!("flow {flow}: delay profile at several times");
    let panel = Panel::new(plot, format!("{}-profile-{flow}", plot.id), title);
    let curves = Some(Curves { x: ("window", x_unit.to_string()), lines });
    Some(Panel { quantity: "delay".into(), unit: unit.into(), curves, ..panel })
}

/// Times from the first to the last of two, at equal distances.
fn times([from, to]: [i64; 2]) -> Vec<i64> {
    let steps = TIMES as i64 - 1;
    let mut times: Vec<i64> = (0..=steps).map(|i| from + (to - from) * i / steps).collect();
    times.dedup();
    times
}

fn seconds(at_ns: i64) -> String {
    let at_s = at_ns as f64 / 1e9;
    if at_s < 10.0 { format!("at {at_s:.1} s") } else { format!("at {at_s:.0} s") }
}

/// The latest value at a time.
fn value(trace: &Trace, at_ns: i64) -> Option<f64> {
    let samples = trace.samples();
    let next = samples.partition_point(|&(t_ns, _)| t_ns <= at_ns);
    next.checked_sub(1).map(|place| samples[place].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_profiles_and_times() {
        assert!(is_profile("profile_01") && is_profile("profile_16") && is_profile(TOP));
        assert!(!is_profile("profile_x") && !is_profile("set_point"));
        assert_eq!(times([1_000, 2_000]), [1_000, 1_200, 1_400, 1_600, 1_800, 2_000]);
        assert_eq!(times([5, 5]), [5]);
        assert_eq!(
            (seconds(1_250_000_000), seconds(12_600_000_000)),
            ("at 1.2 s".into(), "at 13 s".into())
        );
    }

    #[test]
    fn a_value_holds_until_the_next() {
        let mut trace = Trace::new(100);
        trace.push(10, 1.0);
        trace.push(20, 2.0);
        assert_eq!(
            [5, 10, 19, 20, 99].map(|at| value(&trace, at)),
            [None, Some(1.0), Some(1.0), Some(2.0), Some(2.0)]
        );
    }
}
