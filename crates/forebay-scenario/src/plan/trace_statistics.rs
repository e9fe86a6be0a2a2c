//! Statistics of a delivery trace: rates, their variation and memory, bursts, silences. All of it
//! is over one period of the trace, in bins of a millisecond.

use crate::format::traces::OPPORTUNITY_BYTES;
use forebay_metrics::statistics::{mean, quantile};
use forebay_net::DeliveryTrace;
use serde::Serialize;

/// Bytes of IP that an opportunity carries: rates are those of full-sized packets.
const PACKET_BYTES: f64 = 1500.0;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceStatistics {
    /// Length in s.
    pub seconds: f64,
    /// Opportunities.
    pub opportunities: u64,
    /// Mean rate in Mbit/s of 1500-byte packets.
    pub mean_mbps: f64,
    /// Coefficients of variation of the rate over 20 ms, 100 ms and 1 s.
    pub cv_20ms: f64,
    /// The same over 100 ms.
    pub cv_100ms: f64,
    /// The same over 1 s.
    pub cv_1s: f64,
    /// Autocorrelation of the rate over 100 ms at a distance of 100 ms.
    pub autocorrelation_100ms: f64,
    /// The same at a distance of 1 s.
    pub autocorrelation_1s: f64,
    /// The same at a distance of 10 s.
    pub autocorrelation_10s: f64,
    /// 5 %, 50 % and 95 % quantiles of the rate over 1 s, in Mbit/s; of a shorter trace its mean.
    pub quantiles_1s_mbps: [f64; 3],
    /// Share of windows of 20 ms without an opportunity.
    pub empty_20ms: f64,
    /// Opportunities in a burst (milliseconds in a row that have some): mean,
    /// median, 95 % quantile.
    pub burst: [f64; 3],
    /// From the start of a burst to that of the next, in ms: mean, median, 95 % quantile.
    pub gap_ms: [f64; 3],
    /// Silences of more than 20 ms, a minute.
    pub silences_20ms_per_minute: f64,
    /// The same of more than 50 ms.
    pub silences_50ms_per_minute: f64,
    /// The same of more than 100 ms.
    pub silences_100ms_per_minute: f64,
    /// The same of more than 200 ms.
    pub silences_per_minute: f64,
    /// The same of more than 1 s.
    pub silences_1s_per_minute: f64,
}

impl TraceStatistics {
    /// Of one period of a trace.
    pub fn of(trace: &DeliveryTrace) -> TraceStatistics {
        let seconds = trace.period().as_secs_f64();
        let mbps = |bin_s: f64| move |count: f64| count * PACKET_BYTES * 8e-6 / bin_s;
        let (tens, hundreds, whole) = (bins(trace, 20), bins(trace, 100), bins(trace, 1_000));
        let seconds_mbps: Vec<f64> = whole.iter().copied().map(mbps(seconds.min(1.0))).collect();
        let Bursts { sizes, gaps_ms, silences_ms } = Bursts::of(trace);
        let silences = |above_ms| {
            let longer = silences_ms.iter().filter(|&&ms| ms > above_ms).count();
            longer as f64 / (seconds / 60.0)
        };
        let empty = tens.iter().filter(|&&count| count == 0.0).count();
        TraceStatistics {
            seconds,
            opportunities: trace.opportunities(),
            mean_mbps: mbps(seconds)(trace.opportunities() as f64),
            cv_20ms: variation(&tens),
            cv_100ms: variation(&hundreds),
            cv_1s: variation(&whole),
            autocorrelation_100ms: autocorrelation(&hundreds, 1),
            autocorrelation_1s: autocorrelation(&hundreds, 10),
            autocorrelation_10s: autocorrelation(&hundreds, 100),
            quantiles_1s_mbps: [0.05, 0.5, 0.95].map(|p| quantile_of(&seconds_mbps, p)),
            empty_20ms: empty as f64 / tens.len().max(1) as f64,
            burst: [mean_of(&sizes), quantile_of(&sizes, 0.5), quantile_of(&sizes, 0.95)],
            gap_ms: [mean_of(&gaps_ms), quantile_of(&gaps_ms, 0.5), quantile_of(&gaps_ms, 0.95)],
            silences_20ms_per_minute: silences(20),
            silences_50ms_per_minute: silences(50),
            silences_100ms_per_minute: silences(100),
            silences_per_minute: silences(200),
            silences_1s_per_minute: silences(1_000),
        }
    }
}

/// Opportunities in each whole bin of `bin_ms`; at least one bin.
pub fn bins(trace: &DeliveryTrace, bin_ms: u64) -> Vec<f64> {
    let length_ms = trace.period().as_nanos() / 1_000_000;
    let mut bins = vec![0.0; (length_ms / bin_ms).max(1) as usize];
    for (at, count) in trace.times() {
        // The opportunity at the end of the period belongs to its last millisecond.
        let ms = (at.as_nanos() / 1_000_000).saturating_sub(1);
        if let Some(bin) = bins.get_mut((ms / bin_ms) as usize) {
            *bin += f64::from(count);
        }
    }
    bins
}

/// The rate that `trace` exceeds in one of twenty bins of 20 ms, in bit/s of [`OPPORTUNITY_BYTES`].
pub fn busy_bps(trace: &DeliveryTrace) -> u64 {
    const BIN_MS: u64 = 20;
    let mut counts = bins(trace, BIN_MS);
    counts.sort_by(f64::total_cmp);
    let count = quantile(&counts, 0.95).expect("there is one bin at least");
    (count * f64::from(OPPORTUNITY_BYTES) * 8.0 * 1_000.0 / BIN_MS as f64) as u64
}

/// Opportunities in each burst, and ms from the start of each to that of the next.
pub fn samples(trace: &DeliveryTrace) -> (Vec<f64>, Vec<f64>) {
    let Bursts { sizes, gaps_ms, .. } = Bursts::of(trace);
    (sizes, gaps_ms)
}

struct Bursts {
    sizes: Vec<f64>,
    gaps_ms: Vec<f64>,
    /// From one opportunity to the next, where that is more than a millisecond.
    silences_ms: Vec<u64>,
}

impl Bursts {
    fn of(trace: &DeliveryTrace) -> Bursts {
        let mut all = Bursts { sizes: Vec::new(), gaps_ms: Vec::new(), silences_ms: Vec::new() };
        let (mut start, mut last) = (0u64, None::<u64>);
        for (at, count) in trace.times() {
            let ms = at.as_nanos() / 1_000_000;
            all.silences_ms.extend(last.map(|last| ms - last).filter(|&ms| ms > 1));
            match (all.sizes.last_mut(), last) {
                (Some(size), Some(last)) if ms - last <= 1 => *size += f64::from(count),
                (before, _) => {
                    if before.is_some() {
                        all.gaps_ms.push((ms - start) as f64);
                    }
                    all.sizes.push(f64::from(count));
                    start = ms;
                }
            }
            last = Some(ms);
        }
        all
    }
}

/// 0 of nothing.
fn mean_of(values: &[f64]) -> f64 {
    mean(values).unwrap_or(0.0)
}

/// Of values in any order; 0 of nothing.
fn quantile_of(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, p).unwrap_or(0.0)
}

/// Standard deviation over mean; 0 of nothing.
fn variation(values: &[f64]) -> f64 {
    let mean = mean_of(values);
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    if mean > 0.0 { (squares / values.len() as f64).sqrt() / mean } else { 0.0 }
}

/// At a distance of `lag` bins; 0 where nothing varies, or too few are there.
fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean = mean_of(values);
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let later = values.iter().skip(lag);
    let products: f64 = values.iter().zip(later).map(|(a, b)| (a - mean) * (b - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::Span;

    fn trace(ms: impl IntoIterator<Item = u64>) -> DeliveryTrace {
        DeliveryTrace::new(ms.into_iter().map(Span::from_millis), 1504).expect("a good trace")
    }

    /// 12 Mbit/s without a pause: nothing varies, and all is one burst.
    #[test]
    fn a_constant_rate() {
        let found = TraceStatistics::of(&trace(1..=10_000));
        assert_eq!((found.seconds, found.mean_mbps, found.cv_20ms), (10.0, 12.0, 0.0));
        assert_eq!((found.quantiles_1s_mbps, found.burst[0]), ([12.0; 3], 10_000.0));
        assert_eq!((found.autocorrelation_100ms, found.silences_per_minute), (0.0, 0.0));
    }

    /// A period of 250 ms has one window, which is as long as it is.
    #[test]
    fn a_trace_shorter_than_a_second_has_its_mean_rate() {
        let found = TraceStatistics::of(&trace(1..=250));
        assert_eq!((found.mean_mbps, found.quantiles_1s_mbps), (12.0, [12.0; 3]));
    }

    /// Silences of 21, 51, 101, 201 and 1001 ms; those of just 20 and 1000 ms are not longer.
    #[test]
    fn silences_by_hand() {
        let lengths = [20, 21, 51, 101, 201, 1_000, 1_001, 57_605];
        let ends = lengths.iter().scan(0, |at, length| {
            *at += length;
            Some(*at)
        });
        let found = TraceStatistics::of(&trace([0].into_iter().chain(ends)));
        assert!((found.seconds - 60.0).abs() < 1e-9, "{}", found.seconds);
        for (above, expected) in [
            (found.silences_20ms_per_minute, 7.0),
            (found.silences_50ms_per_minute, 6.0),
            (found.silences_100ms_per_minute, 5.0),
            (found.silences_per_minute, 4.0),
            (found.silences_1s_per_minute, 2.0),
        ] {
            assert!((above - expected).abs() < 1e-9, "{above} for {expected}");
        }
    }

    /// Four opportunities each 10 ms in every other second of ten: rates 4.8 and 0 Mbit/s, so CV 1
    /// over 1 s and 100 ms; half the windows are empty; five silences in 10 s. Of 100 bins of 100
    /// ms, products of neighbours are 1 but for the 9 at which a second ends: (90 - 9) / 100; at a
    /// distance of a second all 90 are -1.
    #[test]
    fn on_and_off() {
        let on = (0..5u64).flat_map(|s| (0..100).map(move |n| 2_000 * s + 10 * n + 1));
        let found = TraceStatistics::of(&trace(on.flat_map(|ms| [ms; 4]).chain([10_000])));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.02, "{a}, not {b}");
        near(found.cv_1s, 1.0);
        near(found.cv_100ms, 1.0);
        near(found.autocorrelation_1s, -0.9);
        near(found.autocorrelation_100ms, 0.81);
        near(found.empty_20ms, 0.5);
        assert_eq!((found.burst, found.gap_ms[1]), ([found.burst[0], 4.0, 4.0], 10.0));
        assert_eq!((found.silences_per_minute, found.silences_20ms_per_minute), (30.0, 30.0));
    }
}
