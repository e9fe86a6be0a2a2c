//! The mean round-trip time d of a port's flows, from indicators and handshakes.

use super::cut;
use forebay_base::{Arena, IpVersion, Kind, Packet, Span};
use forebay_signal::kickass::Indicator;
use serde::{Deserialize, Serialize};

/// Weight of a new sample in d.
const GAIN: f64 = 0.02;
/// d lies within, in seconds.
const RANGE_S: (f64, f64) = (0.001, 4.0);
/// Number of indicator values.
const BINS: usize = Indicator::LAST.index() + 1;

/// How d follows from indicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RttAverage {
    /// `d <- d + 0.02 (s - d)`, s the middle of an indicator's range: the paper's moving average.
    Moving,
    /// The median of a histogram in which a sample loses 2 % of its weight with each further one.
    Median,
    /// The mean of what that histogram holds between its quartiles.
    Trimmed,
}

/// The round-trip time that `packet` indicates: all that have DF and the right length, or only
/// those that carry the tag. With IPv6 the tag is in a Fragment header.
///
/// Hosts tag with the addresses as machines have them, which stand for those on the wire one by
/// one.
pub(super) fn indicator(packet: &Packet, tagged: bool, arena: &Arena) -> Option<Indicator> {
    let indicator = Indicator::of_wire_len(packet.wire_len())?;
    if packet.kind() == Kind::Fragment {
        return None;
    }
    let tag = indicator.tag(packet.src().0, packet.dst().0);
    let is_one = match packet.version() {
        IpVersion::V4 if !packet.dont_fragment() => false,
        _ if !tagged => true,
        IpVersion::V4 => cut::ip_id(packet, arena) == u32::from(tag),
        IpVersion::V6 => {
            !packet.dont_fragment() && cut::ip_id(packet, arena) == Indicator::tag_v6(tag)
        }
    };
    is_one.then_some(indicator)
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    average: RttAverage,
    mean_s: f64,
    weights: [f64; BINS],
    /// The first sample shall replace what d began with.
    is_guess: bool,
}

impl RoundTrip {
    /// Before the first sample; the histogram has a sample of it, which is the guess that the first
    /// one replaces, or one among others.
    pub(super) fn new(average: RttAverage, initial: Span, is_guess: bool) -> RoundTrip {
        let mut weights = [0.0; BINS];
        weights[Indicator::of_rtt(initial).index()] = 1.0;
        let mean_s = initial.as_secs_f64();
        RoundTrip { average, mean_s, weights, is_guess }
    }
    /// d, in seconds.
    pub(super) fn mean_s(&self) -> f64 {
        self.mean_s
    }
    /// An indicator came.
    pub(super) fn learn(&mut self, indicator: Indicator) {
        self.average([(indicator, 1.0), (indicator, 0.0)]);
    }
    /// A handshake was timed.
    pub(super) fn learn_exactly(&mut self, rtt: Span) {
        self.average(Indicator::around(rtt));
    }
    fn average(&mut self, parts: [(Indicator, f64); 2]) {
        let sample_s = parts.map(|(indicator, share)| share * midpoint_s(indicator)).iter().sum();
        let keeps = 1.0 - if core::mem::take(&mut self.is_guess) { 1.0 } else { GAIN };
        self.weights.iter_mut().for_each(|weight| *weight *= keeps);
        for (indicator, share) in parts {
            self.weights[indicator.index()] += share;
        }
        let mean_s = match self.average {
            _ if keeps == 0.0 => sample_s,
            RttAverage::Moving => self.mean_s + GAIN * (sample_s - self.mean_s),
            RttAverage::Median => self.middle(0.5),
            RttAverage::Trimmed => self.middle(0.25),
        };
        self.mean_s = mean_s.clamp(RANGE_S.0, RANGE_S.1);
    }
    /// The mean of the histogram where the share `trim` is cut off on both sides.
    fn middle(&self, trim: f64) -> f64 {
        let total: f64 = self.weights.iter().sum();
        if trim >= 0.5 {
            let mut below = 0.0;
            let at = self.weights.iter().position(|weight| {
                below += weight;
                below >= total / 2.0
            });
            return nth_midpoint_s(at.unwrap_or(BINS - 1));
        }
        let (low, high) = (trim * total, (1.0 - trim) * total);
        let (mut below, mut sum_s) = (0.0, 0.0);
        for (k, weight) in self.weights.iter().enumerate() {
            let inside = (below + weight).min(high) - f64::max(below, low);
            sum_s += inside.max(0.0) * nth_midpoint_s(k);
            below += weight;
        }
        sum_s / (high - low)
    }
}

fn midpoint_s(indicator: Indicator) -> f64 {
    indicator.midpoint().as_secs_f64()
}
fn nth_midpoint_s(k: usize) -> f64 {
    Indicator::of_wire_len(Indicator::FIRST_BYTES + k as u16).map_or(RANGE_S.1, midpoint_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ms: u64) -> Indicator {
        Indicator::of_rtt(Span::from_millis(ms))
    }
    fn after(average: RttAverage, samples: &[(u32, u64)]) -> f64 {
        let mut rtt = RoundTrip::new(average, Span::from_millis(100), false);
        for &(times, ms) in samples {
            (0..times).for_each(|_| rtt.learn(of(ms)));
        }
        libm::round(rtt.mean_s() * 1e9) / 1e6
    }

    #[test]
    fn a_moving_average_by_hand() {
        // 100 ms, then 95.5 once: 100 - 0.02 x 4.5.
        assert!((after(RttAverage::Moving, &[(1, 100)]) - 99.91).abs() < 1e-9);
        // 0.98^1000 of the start is left.
        assert!((after(RttAverage::Moving, &[(1000, 10)]) - 11.5).abs() < 1e-3);
        // A tenth of 3071.5 ms among 11.5 ms: a mean of 317.5 on the average of many.
        let mixed: [(u32, u64); 400] =
            core::array::from_fn(|i| if i % 2 == 0 { (9, 10) } else { (1, 9999) });
        assert!(after(RttAverage::Moving, &mixed) > 250.0);
        // What is robust stays with the many.
        assert_eq!(after(RttAverage::Median, &mixed), 11.5);
        assert!((after(RttAverage::Trimmed, &mixed) - 11.5).abs() < 1e-9);
    }

    #[test]
    fn the_middle_of_a_histogram_by_hand() {
        assert_eq!(after(RttAverage::Median, &[]), 100.0, "nothing came yet");
        assert_eq!(after(RttAverage::Median, &[(1, 2)]), 2.5, "the start has 0.98 of its weight");
        // As many of 2.5 as of 5.5 ms: between the quartiles half of each.
        let alternate: [(u32, u64); 4000] =
            core::array::from_fn(|i| (1, if i % 2 == 0 { 2 } else { 4 }));
        let mean = after(RttAverage::Trimmed, &alternate);
        assert!((mean - 4.0).abs() < 0.05, "{mean}");
    }

    /// 800 ms lie between the middles 767.5 and 1535.5 ms.
    #[test]
    fn a_handshake_replaces_the_guess_and_is_one_sample_of_many_then() {
        let mut rtt = RoundTrip::new(RttAverage::Trimmed, Span::from_millis(100), true);
        rtt.learn_exactly(Span::from_millis(800));
        assert!((rtt.mean_s() - 0.8).abs() < 1e-9, "{}", rtt.mean_s());
        (0..200).for_each(|_| rtt.learn(of(2)));
        assert!((rtt.mean_s() - 0.0025).abs() < 1e-9, "{}", rtt.mean_s());
        // One in four that is false stays outside the quartiles.
        for _ in 0..100 {
            (0..4).for_each(|_| rtt.learn(of(2)));
            rtt.learn_exactly(Span::from_secs(4));
        }
        assert!((rtt.mean_s() - 0.0025).abs() < 1e-9, "{}", rtt.mean_s());
    }

    #[test]
    fn the_mean_has_a_range() {
        assert_eq!(after(RttAverage::Median, &[(9, 0)]), 1.0);
        assert_eq!(after(RttAverage::Median, &[(9, 9999)]), 3071.5);
    }
}
