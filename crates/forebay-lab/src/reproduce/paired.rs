//! Flows of two runs with the same seed, compared flow by flow.

use super::measure::{Measure, PairedOf};
use forebay_run::FlowResult;
use forebay_scenario::statistics::mean;

/// What is kept of a flow.
#[derive(Clone, Debug)]
pub(super) struct PairedFlow {
    class: String,
    bytes: u64,
    fct_s: Option<f64>,
}

impl PairedFlow {
    pub fn of(flow: &FlowResult) -> PairedFlow {
        let bytes = flow.bytes.unwrap_or(u64::MAX);
        PairedFlow { class: flow.class.clone(), bytes, fct_s: flow.fct_s }
    }
}

/// The value of a measure of this kind: of a run, and of that with which it is compared. None if no
/// flow of the class completed in both.
pub(super) fn paired(measure: &Measure, one: &[PairedFlow], other: &[PairedFlow]) -> Option<f64> {
    let Measure::Paired { class, of, over_bytes, up_to_bytes, take, .. } = measure else {
        return None;
    };
    let most_bytes = up_to_bytes.unwrap_or(u64::MAX);
    let of_class = |flow: &PairedFlow| {
        class.as_ref().is_none_or(|class| {
            let behind = flow.class.strip_prefix(class.as_str());
            behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    let pairs = one.iter().zip(other);
    let of_size = |flow: &PairedFlow| flow.bytes > *over_bytes && flow.bytes <= most_bytes;
    let pairs = pairs.filter(|(one, _)| of_class(one) && of_size(one));
    let value = |flow: &PairedFlow| {
        Some(match of {
            PairedOf::Fct => flow.fct_s?,
            PairedOf::Throughput => flow.bytes as f64 * 8.0 / flow.fct_s?,
        })
    };
    let (ones, others): (Vec<f64>, Vec<f64>) =
        pairs.filter_map(|(one, other)| Some((value(one)?, value(other)?))).unzip();
    take.of(mean(&ones)?, mean(&others)?)
}

#[cfg(test)]
mod tests {
    use super::super::measure::Compare;
    use super::*;

    fn flows(of: &[(&str, u64, Option<f64>)]) -> Vec<PairedFlow> {
        let flow = |&(class, bytes, fct_s): &(&str, u64, Option<f64>)| PairedFlow {
            class: class.to_string(),
            bytes,
            fct_s,
        };
        of.iter().map(flow).collect()
    }

    /// By hand: of 0.5 and 1.0 s against 0.4 and 0.8 s the difference is 0.15 s, the ratio 1.25.
    /// What did not complete in both, what is short and what is of another class does not count.
    #[test]
    fn differences_and_ratios_by_hand() {
        let one = flows(&[
            ("tcp", 20, Some(0.5)),
            ("tcp-over-10", 30, Some(1.0)),
            ("tcpx", 30, Some(9.0)),
            ("tcp", 10, Some(7.0)),
            ("tcp", 50, None),
            ("tcp", 50, Some(3.0)),
            ("tcp", 51, Some(3.0)),
        ]);
        let other = flows(&[
            ("cubic", 20, Some(0.4)),
            ("cubic", 30, Some(0.8)),
            ("cubic", 30, Some(1.0)),
            ("cubic", 10, Some(1.0)),
            ("cubic", 50, Some(1.0)),
            ("cubic", 50, None),
            ("cubic", 51, Some(1.0)),
        ]);
        let of_flows = |of, take, class: Option<&str>| {
            let class = class.map(str::to_string);
            let with = "x".to_string();
            let up_to_bytes = Some(50);
            let measure = Measure::Paired { with, class, of, over_bytes: 10, up_to_bytes, take };
            paired(&measure, &one, &other)
        };
        let of = |take, class| of_flows(PairedOf::Fct, take, class);
        let close = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?} is not {expected}");
        };
        close(of(Compare::Difference, Some("tcp")), 0.15);
        close(of(Compare::Ratio, Some("tcp")), 1.25);
        close(of(Compare::Ratio, None), 10.5 / 2.2);
        close(of(Compare::Inverse, None), 2.2 / 10.5);
        assert_eq!(of(Compare::Ratio, Some("bulk")), None);
        // 40 and 30 B/s against 50 and 37.5.
        close(of_flows(PairedOf::Throughput, Compare::Ratio, Some("tcp")), 0.8);
    }
}
