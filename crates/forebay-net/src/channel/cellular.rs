//! Generators of cellular channels: delivery traces from a model of a radio link, or from Sprout's
//! process. One seed gives one trace, the same on every machine.
//!
//! The radio link, in steps of a millisecond (a TTI):
//!
//! 1. fast fading: |h|^2 is the mean over two branches of a Rician channel of factor K, each a sum
//!    of 16 sinusoids of random angles (Jakes 1974) at the Doppler frequency v f / c, f = 2.1 GHz;
//! 2. shadowing: a Gaussian in dB of `shadow_db`, correlated over `shadow_s` (Gudmundson 1991,
//!    doi:10.1049/el:19911328);
//! 3. path loss: a sinusoid of `path_db` and period `path_s`, as cells are passed;
//! 4. SNR = `snr_db` + 1 + 2 + 3 in dB gives a CQI, 0 to 15, with a threshold each 1.9 dB from -6.7
//!    dB on, every 5 ms, used 6 ms late; its spectral efficiency is that of 3GPP TS 36.213 table
//!    7.2.3-1;
//! 5. another user, on and off for exponential times, leaves the share 1 / (1 + weight);
//! 6. outages: Poisson, of power-law length (exponent 1), leave nothing;
//! 7. r(t) is share x efficiency;
//! 8. bursts: gaps exp(mu + sigma z') ms, of r x mean gap x exp(s z - s^2 / 2) bytes; z' has the
//!    correlation 0.25 with z of the burst before. A TTI carries `tti_bytes` at most, the rest
//!    follows in the next. What is short of an opportunity of 1500 bytes is carried. All bursts
//!    are scaled to the mean rate over the whole trace;
//! 9. stalls: a gap is one with a chance in proportion to r^-1.5, since a weak signal brings
//!    retransmissions, for which delivery in order waits. They are longer than 20 ms, with a
//!    power-law tail. Winstein et al. (NSDI 2013, figure 2) found such a tail on LTE, of the
//!    exponent 2.27.
//!
//! Sprout's process (Winstein, Sivaraman, Balakrishnan, NSDI 2013, section 3.1): Poisson arrivals
//! at a rate that is a Brownian motion of 200 packets/s per root second between 0 and 1000; at 0 it
//! stays until an exponential time of 1 s is over.
//!
//! Differs from 3GPP channel models in: a single tap, whose branches stand for the averaging over
//! frequency. The parameters are fitted to measured traces in their coefficients of variation,
//! autocorrelation and bursts (docs/how-to/channels.md).

use super::fading::{Branch, Draws, power_of};
use super::trace::{DeliveryTrace, DeliveryTraceBuilder, TraceError};
use super::wifi::{Phy, Wifi};
use alloc::vec;
use alloc::vec::Vec;
use core::f64::consts::PI;
use forebay_base::Span;

/// A set of parameters of the radio link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioLink {
    /// Mean rate in Mbit/s of 1500-byte packets.
    pub rate_mbps: f64,
    /// Speed in m/s, for the Doppler frequency.
    pub speed_mps: f64,
    /// Rician factor K: power of the direct path over that of all others.
    pub rician_k: f64,
    /// Mean SNR in dB.
    pub snr_db: f64,
    /// Standard deviation of shadowing in dB.
    pub shadow_db: f64,
    /// Time constant of shadowing in s.
    pub shadow_s: f64,
    /// Mean and standard deviation of the logarithm of gaps between bursts, in ms.
    pub gap_log: (f64, f64),
    /// Standard deviation of the logarithm of bursts.
    pub burst_log_sd: f64,
    /// Amplitude of the path loss in dB, and its period in s.
    pub path: (f64, f64),
    /// Weight of the other user, and its mean times on and off in s; weight 0: no other user.
    pub other: (f64, f64, f64),
    /// Outages a minute, and the least length in ms; the share above x is least / x, up to 100
    /// times the least.
    pub outage: (f64, f64),
    /// Stalls a minute that exceed 20 ms, and the exponent e of their tail: the share above x ms is
    /// (20 / x)^e, up to 2 s.
    pub stall: (f64, f64),
    /// Most bytes in a TTI.
    pub tti_bytes: f64,
}

/// How a channel is generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChannelModel {
    /// The radio link.
    Radio(RadioLink),
    /// 802.11.
    Wifi(Wifi),
    /// Sprout's process: the rate at the start in packets/s; its motion, in packets/s per root
    /// second; the highest rate.
    Sprout {
        /// Rate at the start, packets/s.
        start_pps: f64,
        /// Standard deviation of its change in a second.
        sigma_pps: f64,
        /// Highest rate.
        most_pps: f64,
    },
}

/// A channel model by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelProfile {
    /// Name in scenario files.
    pub name: &'static str,
    /// What it stands for, in one line.
    pub summary: &'static str,
    /// The model with its parameters.
    pub model: ChannelModel,
}

/// Bytes of an opportunity as the model counts them: an IP packet.
const PACKET_BYTES: f64 = 1500.0;
const BRANCHES: usize = 2;
/// f / c at 2.1 GHz, in 1/m.
const PER_METRE: f64 = 2.1e9 / 299_792_458.0;
/// Interval of CQI reports in ms, and the delay before they are used.
const REPORT_MS: usize = 5;
const REPORT_LATE_MS: usize = 6;
/// Correlation of a gap with the burst before it.
const GAP_CORRELATION: f64 = 0.25;
/// Exponent of the tail of outages.
const OUTAGE_EXPONENT: f64 = 1.0;
/// Least length of a stall in ms.
const STALL_MS: f64 = 20.0;
/// bit/s/Hz by CQI: 3GPP TS 36.213 table 7.2.3-1.
const EFFICIENCY: [f64; 16] = [
    0.0, 0.1523, 0.2344, 0.377, 0.6016, 0.877, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223,
    3.9023, 4.5234, 5.1152, 5.5547,
];

macro_rules! profiles {
    ($($name:literal $summary:literal: $rate:literal, $v:literal, $k:literal, $snr:literal,
       $sh:literal, $tau:literal, $gap:expr, $bsg:literal, $path:expr, $other:expr, $out:expr,
       $stall:expr, $tbs:literal;)*) => {
        &[$(ChannelProfile {
            name: $name,
            summary: $summary,
            model: ChannelModel::Radio(RadioLink {
                rate_mbps: $rate, speed_mps: $v, rician_k: $k, snr_db: $snr, shadow_db: $sh,
                shadow_s: $tau, gap_log: $gap, burst_log_sd: $bsg, path: $path, other: $other,
                outage: $out, stall: $stall, tti_bytes: $tbs,
            }),
        },)*
        ChannelProfile {
            name: "wifi",
            summary: "802.11n indoors: aggregates, contention, other stations, 48 Mbit/s",
            model: ChannelModel::Wifi(Wifi {
                rate_mbps: 48.0, phy: Phy::Ht20, streams: 2, most_bytes: 65_535, most_us: 4_000,
                snr_db: 21.0, shadow: (3.0, 5.0), speed_mps: 0.5, rician_k: 3.0,
                block_ack_loss: 0.01, others: 3, on_off_s: (2.0, 4.0), other_us: 2_000,
            }),
        },
        ChannelProfile {
            name: "wifi-ac",
            summary: "802.11ac indoors, 80 MHz: shorter exchanges, other stations, 270 Mbit/s",
            model: ChannelModel::Wifi(Wifi {
                rate_mbps: 270.0, phy: Phy::Vht80, streams: 2, most_bytes: 1_048_575,
                most_us: 4_000, snr_db: 28.0, shadow: (3.0, 5.0), speed_mps: 0.5, rician_k: 3.0,
                block_ack_loss: 0.01, others: 4, on_off_s: (1.0, 4.0), other_us: 1_000,
            }),
        },
        ChannelProfile {
            name: "sprout",
            summary: "Sprout's process: Poisson at a rate in Brownian motion, up to 12 Mbit/s",
            model: ChannelModel::Sprout { start_pps: 500.0, sigma_pps: 200.0, most_pps: 1_000.0 },
        }]
    };
}

/// The profiles: seven that stand for the scenarios of the Verus paper (Zaki et al., SIGCOMM 2015),
/// two harder ones, two of 802.11, and Sprout's process.
pub const CHANNEL_PROFILES: &[ChannelProfile] = profiles! {
    "campus-stationary" "3G on a campus, at rest":
        17.5, 0.3, 8.0, 17.0, 1.2, 20.0, (1.30, 0.50), 0.80, (0.0, 60.0), (0.08, 10.0, 20.0),
        (1.5, 100.0), (10.0, 3.0), 9000.0;
    "campus-pedestrian" "3G on a campus, walking":
        17.2, 1.2, 4.0, 16.0, 2.1, 5.0, (1.15, 0.55), 0.85, (0.0, 60.0), (0.15, 4.0, 8.0),
        (0.0, 100.0), (28.0, 4.0), 9000.0;
    "city-stationary" "3G in a city, at rest, other users":
        12.0, 0.3, 4.0, 13.0, 1.8, 15.0, (1.35, 0.55), 0.85, (0.0, 60.0), (0.5, 10.0, 20.0),
        (0.0, 100.0), (15.0, 2.3), 9000.0;
    "city-driving" "3G in a car in a city":
        19.0, 9.0, 6.0, 14.0, 2.6, 1.7, (0.95, 0.60), 0.55, (1.0, 60.0), (0.1, 10.0, 20.0),
        (0.4, 100.0), (3.0, 2.0), 9000.0;
    "highway-driving" "3G in a car on a highway":
        15.0, 28.0, 2.0, 11.0, 2.6, 7.0, (1.10, 0.70), 0.80, (4.2, 200.0), (0.0, 10.0, 20.0),
        (0.0, 100.0), (185.0, 3.0), 7500.0;
    "shopping-mall" "indoors, many users":
        7.0, 0.8, 0.0, 8.0, 3.0, 10.0, (1.55, 0.70), 0.95, (0.0, 60.0), (0.8, 8.0, 8.0),
        (1.0, 100.0), (90.0, 1.9), 9000.0;
    "city-waterfront" "open area, slow fading":
        10.0, 1.2, 5.0, 12.0, 2.5, 15.0, (1.45, 0.60), 0.90, (1.5, 120.0), (0.4, 30.0, 30.0),
        (3.4, 100.0), (120.0, 2.8), 9000.0;
    "lte-hard" "LTE in a car, with outages":
        16.0, 15.0, 0.0, 9.0, 4.8, 1.7, (1.20, 0.65), 0.70, (2.0, 30.0), (0.0, 10.0, 20.0),
        (5.0, 100.0), (600.0, 2.3), 9000.0;
    "umts-hard" "UMTS in a car, with long outages":
        2.0, 12.0, 0.0, 5.0, 5.0, 10.0, (2.15, 0.40), 0.30, (2.0, 60.0), (0.0, 10.0, 20.0),
        (14.0, 100.0), (100.0, 2.5), 3000.0;
};

impl ChannelProfile {
    /// The profile of that name.
    pub fn find(name: &str) -> Option<&'static ChannelProfile> {
        CHANNEL_PROFILES.iter().find(|profile| profile.name == name)
    }
    /// Mean rate in Mbit/s of 1500-byte packets; of Sprout's process the rate at the start.
    pub fn rate_mbps(&self) -> f64 {
        match self.model {
            ChannelModel::Radio(radio) => radio.rate_mbps,
            ChannelModel::Wifi(wifi) => wifi.rate_mbps,
            ChannelModel::Sprout { start_pps, .. } => start_pps * PACKET_BYTES * 8e-6,
        }
    }
    /// The trace of a seed, `seconds` long, with `scale` times the rate. Its opportunities have
    /// `bytes_per_opportunity`, which carry a packet of 1500 bytes.
    ///
    /// Errors if nothing can be delivered in that time.
    pub fn generate(
        &self,
        seed: u64,
        seconds: u32,
        scale: f64,
        bytes_per_opportunity: u32,
    ) -> Result<DeliveryTrace, TraceError> {
        let length_ms = seconds as usize * 1_000;
        let counts = match self.model {
            ChannelModel::Radio(radio) => radio.generate(seed, length_ms, scale),
            ChannelModel::Wifi(wifi) => wifi.generate(seed, length_ms, scale),
            ChannelModel::Sprout { start_pps, sigma_pps, most_pps } => {
                sprout(seed, length_ms, scale, start_pps, sigma_pps, most_pps)
            }
        };
        let mut builder = DeliveryTraceBuilder::default();
        for (ms, &count) in (1..).zip(&counts) {
            // The last opportunity is the length: there is one at the end in every trace.
            let count = if ms == length_ms as u64 { count.max(1) } else { count };
            for _ in 0..count {
                builder.push(Span::from_millis(ms))?;
            }
        }
        builder.finish(bytes_per_opportunity)
    }
}

impl RadioLink {
    /// Opportunities in each millisecond.
    fn generate(&self, seed: u64, length_ms: usize, scale: f64) -> Vec<u32> {
        let mut rates = self.efficiencies(seed, length_ms);
        self.share(seed, &mut rates);
        let mut bursts = self.bursts(seed, &rates);
        let sum: f64 = bursts.iter().map(|burst| burst.bytes).sum();
        let wanted_bytes = self.rate_mbps * scale * 125.0 * length_ms as f64;
        if sum > 0.0 {
            bursts.iter_mut().for_each(|burst| burst.bytes *= wanted_bytes / sum);
        }
        self.opportunities(&bursts, length_ms)
    }

    /// Steps 1 to 4: spectral efficiency in each millisecond.
    fn efficiencies(&self, seed: u64, length_ms: usize) -> Vec<f32> {
        let (mut fast, mut slow) = (Draws::new(seed, 1), Draws::new(seed, 2));
        let doppler_hz = self.speed_mps * PER_METRE;
        let branches: [Branch; BRANCHES] =
            core::array::from_fn(|_| Branch::new(&mut fast, doppler_hz, self.rician_k));
        let keep = libm::exp(-(REPORT_MS as f64) * 1e-3 / self.shadow_s);
        let step_db = self.shadow_db * libm::sqrt(1.0 - keep * keep);
        let mut shadow_db = self.shadow_db * slow.normal();
        let path_phase = 2.0 * PI * slow.unit();
        let mut efficiencies = vec![0.0; length_ms];
        // The first reports are of the time before the start.
        for report in 0..(length_ms + REPORT_LATE_MS) / REPORT_MS + 1 {
            let at_s = (report * REPORT_MS) as f64 * 1e-3;
            let fading_db = 10.0 * libm::log10(power_of(&branches, at_s));
            let path_db = self.path.0 * libm::sin(2.0 * PI * at_s / self.path.1 + path_phase);
            let snr_db = self.snr_db + shadow_db + path_db + fading_db;
            let cqi = (libm::floor((snr_db + 6.7) / 1.9) + 1.0).clamp(0.0, 15.0) as usize;
            // It holds until the next one is used. The first one also before it.
            let used = (report * REPORT_MS + REPORT_LATE_MS).min(length_ms);
            let from = if report == 0 { 0 } else { used };
            let until = (used + REPORT_MS).min(length_ms);
            efficiencies[from..until].fill(EFFICIENCY[cqi] as f32);
            shadow_db = keep * shadow_db + step_db * slow.normal();
        }
        efficiencies
    }

    /// Steps 5 and 6: what the other user and outages leave.
    fn share(&self, seed: u64, rates: &mut [f32]) {
        let length_ms = rates.len() as f64;
        let (weight, on_s, off_s) = self.other;
        if weight > 0.0 {
            let mut draws = Draws::new(seed, 3);
            let mut on = draws.unit() < on_s / (on_s + off_s);
            let mut at_ms = 0.0;
            while at_ms < length_ms {
                let end = at_ms + draws.exponential(if on { on_s } else { off_s }) * 1e3;
                if on {
                    let share = (1.0 / (1.0 + weight)) as f32;
                    rates[at_ms as usize..end.min(length_ms) as usize]
                        .iter_mut()
                        .for_each(|rate| *rate *= share);
                }
                (at_ms, on) = (end, !on);
            }
        }
        let (per_minute, least_ms) = self.outage;
        if per_minute > 0.0 {
            let mut draws = Draws::new(seed, 4);
            let mut at_ms = draws.exponential(60_000.0 / per_minute);
            while at_ms < length_ms {
                let long_ms = draws.power_law(least_ms, OUTAGE_EXPONENT);
                let end = (at_ms + long_ms).min(length_ms) as usize;
                rates[at_ms as usize..end].fill(0.0);
                at_ms += draws.exponential(60_000.0 / per_minute);
            }
        }
    }

    /// Steps 8 and 9: the bursts, before they are scaled.
    fn bursts(&self, seed: u64, rates: &[f32]) -> Vec<Burst> {
        let (mut draws, mut stalls) = (Draws::new(seed, 5), Draws::new(seed, 6));
        let (mu, sigma) = self.gap_log;
        let mean_gap_ms = libm::exp(mu + sigma * sigma / 2.0);
        let own = libm::sqrt(1.0 - GAP_CORRELATION * GAP_CORRELATION);
        let weakness = Weakness::of(rates);
        let stalls_per_burst = self.stall.0 * mean_gap_ms / 60_000.0;
        let (mut bursts, mut at_ms) = (Vec::new(), 0);
        while let Some(&rate) = rates.get(at_ms) {
            let (z, spread) = (draws.normal(), self.burst_log_sd);
            let bytes = f64::from(rate) * libm::exp(spread * z - spread * spread / 2.0);
            bursts.push(Burst { at_ms, bytes });
            let gap_ms = if stalls.unit() < stalls_per_burst * weakness.relative(rate) {
                1.0 + stalls.power_law(STALL_MS, self.stall.1)
            } else {
                libm::exp(mu + sigma * (GAP_CORRELATION * z + own * draws.normal()))
            };
            at_ms += libm::round(gap_ms).max(1.0) as usize;
        }
        bursts
    }

    /// The bursts in TTIs: opportunities in each millisecond.
    fn opportunities(&self, bursts: &[Burst], length_ms: usize) -> Vec<u32> {
        let most = (self.tti_bytes / PACKET_BYTES) as u32;
        let mut bursts = bursts.iter().peekable();
        let mut due_bytes = 0.0;
        let tti = |ms| {
            due_bytes += bursts.next_if(|burst| burst.at_ms == ms).map_or(0.0, |burst| burst.bytes);
            let count = ((due_bytes / PACKET_BYTES) as u32).min(most);
            due_bytes -= f64::from(count) * PACKET_BYTES;
            count
        };
        (0..length_ms).map(tti).collect()
    }
}

/// What is scheduled at a time.
struct Burst {
    at_ms: usize,
    bytes: f64,
}

/// How much more often stalls are at a rate than on average.
struct Weakness {
    /// Mean rate, and the mean of rate^-1.5 in units of it.
    means: (f64, f64),
}

impl Weakness {
    /// Of all rates of a trace.
    fn of(rates: &[f32]) -> Weakness {
        let mean = |of: &dyn Fn(f32) -> f64| {
            rates.iter().map(|&rate| of(rate)).sum::<f64>() / rates.len().max(1) as f64
        };
        let rate = mean(&|rate| f64::from(rate));
        Weakness { means: (rate, mean(&|at| Weakness::power(f64::from(at) / rate))) }
    }
    /// x^-1.5, bounded; 0 where nothing is delivered in any case.
    fn power(x: f64) -> f64 {
        let x = if x > 0.0 { x.max(0.1) } else { return 0.0 };
        1.0 / (x * libm::sqrt(x))
    }
    /// On average 1.
    fn relative(&self, rate: f32) -> f64 {
        Weakness::power(f64::from(rate) / self.means.0) / self.means.1
    }
}

/// Sprout's process in each millisecond; its rate may move between 0 and the highest.
fn sprout(seed: u64, length_ms: usize, scale: f64, start: f64, sigma: f64, most: f64) -> Vec<u32> {
    let (mut motion, mut arrivals) = (Draws::new(seed, 1), Draws::new(seed, 2));
    let step = sigma * libm::sqrt(1e-3);
    let mut rate = start;
    let mut stuck_ms = 0.0;
    let tti = |_| {
        if stuck_ms >= 1.0 {
            stuck_ms -= 1.0;
            return 0;
        }
        rate += step * motion.normal();
        if rate <= 0.0 && sigma > 0.0 {
            stuck_ms = motion.exponential(1_000.0);
            rate = 0.0;
        }
        rate = if rate > most { 2.0 * most - rate } else { rate };
        arrivals.poisson(rate * scale * 1e-3)
    };
    (0..length_ms).map(tti).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_trace() {
        for profile in CHANNEL_PROFILES {
            let of = |seed| profile.generate(seed, 20, 1.0, 1504).expect("a trace");
            assert!(of(1) == of(1) && of(1) != of(2), "{}", profile.name);
            assert_eq!(of(1).period(), Span::from_secs(20));
        }
    }

    /// All bursts are scaled to the mean rate; what remains is what the last ones leave behind.
    #[test]
    fn the_mean_rate_is_that_of_the_profile() {
        let radio = |profile: &&ChannelProfile| matches!(profile.model, ChannelModel::Radio(_));
        for profile in CHANNEL_PROFILES.iter().filter(radio) {
            for scale in [1.0, 0.25] {
                let trace = profile.generate(3, 300, scale, 1504).expect("a trace");
                let mbps = trace.opportunities() as f64 * 0.012 / 300.0;
                let ratio = mbps / (profile.rate_mbps() * scale);
                assert!((ratio - 1.0).abs() < 0.002, "{} {scale}: {ratio}", profile.name);
            }
        }
    }

    /// At a constant rate stalls are Poisson with a power-law tail: the number above 20 ms, and the
    /// share of those above 40 ms, which is 1/8; 40 ms are 39.5 and more.
    #[test]
    fn stalls_are_as_many_and_as_long_as_their_law_says() {
        let steady = RadioLink {
            rate_mbps: 12.0,
            speed_mps: 0.0,
            rician_k: 1e9,
            snr_db: 20.0,
            shadow_db: 0.0,
            shadow_s: 1.0,
            gap_log: (libm::log(3.0), 0.0),
            burst_log_sd: 0.1,
            path: (0.0, 60.0),
            other: (0.0, 1.0, 1.0),
            outage: (0.0, 100.0),
            stall: (120.0, 3.0),
            tti_bytes: 9_000.0,
        };
        let counts = steady.generate(5, 3_600_000, 1.0);
        let silences = counts.split(|&count| count > 0).map(<[u32]>::len);
        let above = |ms| silences.clone().filter(|&empty| empty >= ms).count() as f64;
        // 120 a minute, less because a stall takes the time of ten bursts of 3 ms: 31 ms each.
        let expected = 7_200.0 / (1.0 + 120.0 * (31.0 - 3.0) / 60_000.0);
        let (stalls, long) = (above(20), above(40));
        assert!((stalls / expected - 1.0).abs() < 4.0 / libm::sqrt(expected), "{stalls}");
        let share = long / stalls;
        assert!((share - 0.13).abs() < 4.0 * libm::sqrt(0.13 * 0.87 / stalls), "{share}");
    }

    /// More than x times the least with the chance 1 / x, cut off at 100 times: P(> 10) is
    /// (0.1 - 0.01) / 0.99.
    #[test]
    fn outages_have_a_power_law() {
        let mut draws = Draws::new(3, 1);
        let lengths: Vec<f64> = (0..50_000).map(|_| draws.power_law(100.0, 1.0)).collect();
        assert!(lengths.iter().all(|&ms| (100.0..=10_000.001).contains(&ms)));
        let share = lengths.iter().filter(|&&ms| ms > 1_000.0).count() as f64 / 50_000.0;
        assert!((share - 0.0909).abs() < 0.005, "{share}");
    }

    /// Without motion Sprout's process is Poisson: index of dispersion 1, here of 20 ms, 15 000 of
    /// which have a standard deviation of sqrt(2 / 15 000) = 1.2 %.
    #[test]
    fn sprouts_process_at_rest_is_poisson() {
        let counts = sprout(5, 300_000, 1.0, 1_400.0, 0.0, 2_000.0);
        let bins: Vec<f64> =
            counts.chunks(20).map(|bin| f64::from(bin.iter().sum::<u32>())).collect();
        let mean = bins.iter().sum::<f64>() / bins.len() as f64;
        let variance =
            bins.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / bins.len() as f64;
        assert!((mean - 28.0).abs() < 5.0 * libm::sqrt(28.0 / 15_000.0), "{mean}");
        assert!((variance / mean - 1.0).abs() < 0.06, "{}", variance / mean);
    }

    /// |h|^2 of a Rician branch has the mean 1 and the variance (1 + 2 K) / (1 + K)^2, over random
    /// angles; a sum of 16 sinusoids has 1/16 less of the scattered part squared.
    #[test]
    fn fading_has_the_moments_of_rice() {
        for k in [0.0, 2.0, 8.0] {
            let mut draws = Draws::new(7, 9);
            let powers = (0..20_000).map(|_| Branch::new(&mut draws, 60.0, k).power(1.7));
            let powers: Vec<f64> = powers.collect();
            let mean = powers.iter().sum::<f64>() / 20_000.0;
            let variance = powers.iter().map(|p| (p - mean) * (p - mean)).sum::<f64>() / 20_000.0;
            let expected = (1.0 - 1.0 / 16.0 + 2.0 * k) / ((1.0 + k) * (1.0 + k));
            assert!((mean - 1.0).abs() < 0.04, "{k}: {mean}");
            assert!((variance / expected - 1.0).abs() < 0.09, "{k}: {variance}, not {expected}");
        }
    }
}
