//! The delay profile that a controller publishes: the delay that it expects under each window, at
//! several times of a run.
//!
//! In `series.parquet` a profile is `profile_top`, a window, and `profile_01` to `profile_NN`, the
//! delays under 1/NN, 2/NN, ... of that window.

use super::downsample::Trace;
use super::gather::{Entity, Metric};
use super::panels::{Curves, Panel, Plot, Sorter};

/// Most flows whose profiles are shown.
const FLOWS: usize = 4;
/// Times at which a profile is drawn, at most.
const TIMES: usize = 6;
const TOP: &str = "profile_top";

/// True of the name of a series that is part of a profile.
pub(super) fn is_profile(name: &str) -> bool {
    number(name).is_some() || name == TOP
}

fn number(name: &str) -> Option<usize> {
    name.strip_prefix("profile_")?.parse().ok()
}

/// The profiles of the first flows that publish one.
pub(super) fn profiles(run: &Sorter<'_>, plot: &Plot) -> Vec<Panel> {
    let panels = run.flows.iter().filter_map(|&flow| of_flow(run, plot, flow));
    let mut panels: Vec<Panel> = panels.take(FLOWS + 1).collect();
    if panels.len() > FLOWS {
        panels.truncate(FLOWS);
        for panel in &mut panels {
            panel.omitted = Some(format!("the profiles of {FLOWS} flows"));
        }
    }
    panels
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
