//! Plots over all runs: the spread of completion times, and of how much longer than in the
//! reference they are.

use super::results::{Results, Run};
use forebay_metrics::statistics::quantile;

/// Most steps of a distribution; beyond them its quantiles in steps of 1/500 are drawn.
const STEPS: usize = 500;

/// A plot with a line per protocol that is not over time.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub id: String,
    pub title: String,
    pub about: String,
    /// Unit of x: "s", or empty for a ratio.
    pub x: &'static str,
    /// Subject of shares: "flows" or "packets".
    pub of: &'static str,
    /// True if the share holds from point to point, else straight lines join them.
    pub stepped: bool,
    /// Number of the protocol, and points.
    pub lines: Vec<(usize, Vec<(f64, f64)>)>,
}

/// The plots that there are data for.
pub(super) fn curves(results: &Results) -> Vec<Curve> {
    let times = |run: &Run| -> Vec<f64> { run.per_flow.iter().filter_map(|f| f.fct_s).collect() };
    let ratios = |run: &Run| -> Vec<f64> {
        let both = run.against_reference().filter(|(_, _, reference_s)| *reference_s > 0.0);
        both.map(|(_, fct_s, reference_s)| fct_s / reference_s).collect()
    };
    let fct = curve(results, "fct", "Flow completion time (FCT)", "s", times);
    let slowdown = curve(results, "slowdown", "FCT / reference", "", ratios);
    fct.into_iter().chain(slowdown).collect()
}

fn curve(
    results: &Results,
    id: &str,
    title: &str,
    x: &'static str,
    values: impl Fn(&Run) -> Vec<f64>,
) -> Option<Curve> {
    let mut most = 0;
    let of = |(number, protocol): (usize, &super::results::Aggregate)| {
        let mut all: Vec<f64> = results.runs_of(&protocol.protocol).flat_map(&values).collect();
        all.sort_by(f64::total_cmp);
        most = most.max(all.len());
        (all.len() > 1).then(|| (number, distribution(&all)))
    };
    let lines: Vec<_> = results.aggregate.iter().enumerate().filter_map(of).collect();
    let downsampled =
        if most > STEPS { " Drawn from its quantiles in steps of 1/500." } else { "" };
    let about =
        format!("Share of the completed flows of all seeds with FCT at most x (CDF).{downsampled}");
    let (id, title) = (id.to_string(), title.to_string());
    (!lines.is_empty()).then_some(Curve { id, title, about, x, of: "flows", stepped: true, lines })
}

/// The empirical distribution of values in ascending order: at each value the share of values up to
/// it.
fn distribution(sorted: &[f64]) -> Vec<(f64, f64)> {
    let all: Vec<(f64, f64)> = match sorted.len() {
        n if n <= STEPS => {
            sorted.iter().zip(1..).map(|(&x, i)| (x, f64::from(i) / n as f64)).collect()
        }
        _ => {
            let shares = (0..=STEPS).map(|i| i as f64 / STEPS as f64);
            shares.filter_map(|share| Some((quantile(sorted, share)?, share))).collect()
        }
    };
    // Of equal values the last has the share of all of them.
    let equal = all.chunk_by(|a, b| a.0 == b.0);
    equal.filter_map(|values| values.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_by_hand() {
        assert_eq!(distribution(&[1.0, 2.0, 2.0, 4.0]), [(1.0, 0.25), (2.0, 0.75), (4.0, 1.0)]);
        let many: Vec<f64> = (0..=10_000).map(f64::from).collect();
        let quantiles = distribution(&many);
        assert_eq!(quantiles.len(), STEPS + 1);
        assert_eq!(
            (quantiles[0], quantiles[250], quantiles[500]),
            ((0.0, 0.0), (5000.0, 0.5), (10_000.0, 1.0))
        );
    }
}
