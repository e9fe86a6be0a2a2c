//! The delay profile that a controller publishes, against the rate of the link: does a window cost
//! more delay where the link is slower?

use forebay_base::FlowId;
use forebay_sim::Simulation;
use forebay_transport::Role;

/// Points of a profile under shares of its largest window, in order; `profile_NN` of the series.
const PREFIX: &str = "profile_";
/// The largest window, in packets.
const TOP: &str = "profile_top";

/// The delay in seconds under a window of `packets` that the first path of the first flow
/// publishes; None before there is a profile.
pub(super) fn delay_s(simulation: &Simulation, packets: f64) -> Option<f64> {
    let sender = simulation.connection(FlowId(0), Role::Client)?.open()?;
    let (mut top, mut delays_s) = (None, Vec::new());
    sender.observe(0, &mut |seen| match seen.name {
        TOP => top = Some(seen.value),
        name if name.starts_with(PREFIX) => delays_s.push(seen.value),
        _ => {}
    });
    delay_under(&delays_s, top?, packets)
}

/// Between two points, and beyond them, on the line through the two nearest.
fn delay_under(delays_s: &[f64], top: f64, packets: f64) -> Option<f64> {
    if delays_s.len() < 2 || top <= 0.0 {
        return None;
    }
    let place = packets / top * delays_s.len() as f64 - 1.0;
    let left = (place.floor().max(0.0) as usize).min(delays_s.len() - 2);
    let [one, two] = [delays_s[left], delays_s[left + 1]];
    Some(one + (two - one) * (place - left as f64))
}

/// Spearman's rank correlation, -1 to 1; ties have the mean of their ranks. None of less than three
/// pairs, or if one side is constant.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let one = ranks(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let other = ranks(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    // The mean of ranks from 1 on, with ties or without.
    let mean = (pairs.len() + 1) as f64 / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let scale = (product(&one, &one) * product(&other, &other)).sqrt();
    (scale > 0.0).then(|| product(&one, &other) / scale)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
        tied.iter().for_each(|&at| ranks[at] = rank);
        before += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points at 25, 50, 75 and 100 packets.
    #[test]
    fn a_profile_is_a_line_between_points_and_beyond_them() {
        let points = [0.05, 0.06, 0.08, 0.12];
        for (packets, expected_s) in
            [(25.0, 0.05), (60.0, 0.068), (100.0, 0.12), (120.0, 0.152), (10.0, 0.044)]
        {
            let found_s = delay_under(&points, 100.0, packets).unwrap();
            assert!((found_s - expected_s).abs() < 1e-12, "{packets}: {found_s}");
        }
        assert_eq!(delay_under(&points[..1], 100.0, 50.0), None);
        assert_eq!(delay_under(&points, 0.0, 50.0), None);
    }

    /// By hand: ranks 1, 2.5, 2.5, 4 and 4, 3, 1.5, 1.5 have a sum of products of -3.75, and each
    /// of squares of 4.5.
    #[test]
    fn rank_correlations_by_hand() {
        let close = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?} is not {expected}");
        };
        close(rank_correlation(&[(1.0, 9.0), (2.0, 4.0), (5.0, 1.0)]), -1.0);
        close(rank_correlation(&[(1.0, 1.0), (2.0, 10.0), (3.0, 100.0)]), 1.0);
        close(rank_correlation(&[(1.0, 8.0), (2.0, 7.0), (2.0, 3.0), (9.0, 3.0)]), -3.75 / 4.5);
        assert_eq!(rank_correlation(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(rank_correlation(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }
}
