//! A generator of 802.11 channels: what one access point with a full queue delivers to a station.
//!
//! Of each access to the medium (IEEE Std 802.11-2020; times in µs):
//!
//! 1. contention (clause 10.23, EDCA of best effort): AIFS = SIFS + 3 slots, then a back-off of 0
//!    to CW slots; CW is 15, doubles to 1023 at most when there is no block ACK, and is 15 again
//!    after one. Other stations, on and off for exponential times, contend in the same way; who
//!    draws the same slot collides;
//! 2. an A-MPDU of as many packets as fit into 64 (the window of a block ACK), into `most_bytes`
//!    and into `most_us`: preamble, then whole symbols of 4 µs. A packet of 1500 bytes takes 1544:
//!    delimiter 4, MAC header 26, LLC 8, FCS 4, padding 2;
//! 3. each packet in it fails by itself, 10 % at the SNR of the standard's receiver sensitivity
//!    (table 21-25: noise figure 10 dB, losses 5 dB), a tenth of that for each dB more;
//! 4. SIFS and a block ACK of 32 bytes at 24 Mbit/s (32 µs), lost with a probability of its own.
//!    What it does not confirm is sent again, first of all, until it arrives; the receiver releases
//!    packets in order, all that are due at one instant;
//! 5. the rate is chosen each 100 ms, as that of the highest expected throughput at the SNR of
//!    then; the SNR is a mean, shadowing and Rician fading at 5.2 GHz, as in `cellular`.
//!
//! Alone and without loss, n packets of 1500 bytes take AIFS + 7.5 slots + A-MPDU + SIFS + 32 µs.
//!
//! Differs from 802.11 in: no limit of retries, no RTS, no hidden stations, no lower rate for what
//! is sent again; an aggregate of which nothing arrives is answered, too. Times are rounded up to a
//! millisecond. The access point is taken to have packets for whole aggregates.

use super::cellular::{Branch, Draws, power_of};
use alloc::vec;
use alloc::vec::Vec;

/// Parameters of the channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wifi {
    /// Mean rate of its traces in Mbit/s of 1500-byte packets; it follows from the others.
    pub rate_mbps: f64,
    /// The physical layer.
    pub phy: Phy,
    /// Spatial streams.
    pub streams: u32,
    /// Most bytes of an A-MPDU.
    pub most_bytes: u32,
    /// Longest A-MPDU in µs.
    pub most_us: u32,
    /// Mean SNR in dB.
    pub snr_db: f64,
    /// Standard deviation of shadowing in dB, and its time constant in s.
    pub shadow: (f64, f64),
    /// Speed in m/s.
    pub speed_mps: f64,
    /// Rician factor.
    pub rician_k: f64,
    /// Probability that a block ACK is lost.
    pub block_ack_loss: f64,
    /// Other stations.
    pub others: u32,
    /// Mean times in s for which another station sends all it can, and nothing.
    pub on_off_s: (f64, f64),
    /// µs that another station's exchange takes after contention.
    pub other_us: u32,
}

/// A physical layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phy {
    /// 802.11n (HT), 20 MHz: 6.5 to 65 Mbit/s a stream.
    Ht20,
    /// 802.11ac (VHT), 80 MHz: 29.3 to 390 Mbit/s a stream.
    Vht80,
}

impl Phy {
    /// Data bits of a symbol and stream by MCS, guard interval 800 ns (tables 19-27 and 21-61).
    fn symbol_bits(self) -> &'static [u32] {
        match self {
            Phy::Ht20 => &[26, 52, 78, 104, 156, 208, 234, 260],
            Phy::Vht80 => &[117, 234, 351, 468, 702, 936, 1053, 1170, 1404, 1560],
        }
    }
    /// Legacy preamble and signal 20 µs; signal A 8; STF 4; an LTF of 4 for each stream; of VHT
    /// signal B 4.
    fn preamble_us(self, streams: u32) -> u32 {
        match self {
            Phy::Ht20 => 32 + 4 * streams,
            Phy::Vht80 => 36 + 4 * streams,
        }
    }
}

const SLOT_US: u32 = 9;
const SIFS_US: u32 = 16;
const AIFS_US: u32 = SIFS_US + 3 * SLOT_US;
const BLOCK_ACK_US: u32 = 32;
const CW_MIN: u32 = 15;
const CW_MAX: u32 = 1023;
const SYMBOL_US: u32 = 4;
/// Bytes of a packet within an A-MPDU.
const SUBFRAME_BYTES: u32 = 1544;
/// Packets that a block ACK can confirm.
const WINDOW: u32 = 64;
/// SNR in dB at which a tenth of packets fails, by MCS: the sensitivity of table 21-25 over noise
/// of -101 dBm in 20 MHz, noise figure and losses.
const SNR_DB: [f64; 10] = [4.0, 7.0, 9.0, 12.0, 16.0, 20.0, 21.0, 22.0, 27.0, 29.0];
/// Interval at which the rate is chosen, as Minstrel of Linux does.
const CHOICE_US: u64 = 100_000;
/// f / c at 5.2 GHz, in 1/m.
const PER_METRE: f64 = 5.2e9 / 299_792_458.0;
const BRANCHES: usize = 2;

/// Probability that a packet fails.
fn failure(mcs: usize, snr_db: f64) -> f64 {
    1.0 / (1.0 + 9.0 * libm::exp10(snr_db - SNR_DB[mcs]))
}

/// The back-off of a station.
#[derive(Clone, Copy)]
struct Backoff {
    window: u32,
    slots: u32,
}

impl Backoff {
    fn new(draws: &mut Draws) -> Backoff {
        let mut backoff = Backoff { window: CW_MIN, slots: 0 };
        backoff.draw(draws);
        backoff
    }
    fn draw(&mut self, draws: &mut Draws) {
        self.slots = draws.below(u64::from(self.window) + 1) as u32;
    }
    /// It sent, and was answered or not.
    fn sent(&mut self, answered: bool, draws: &mut Draws) {
        self.window = if answered { CW_MIN } else { (2 * self.window + 1).min(CW_MAX) };
        self.draw(draws);
    }
}

/// Another station: its back-off, whether it sends, and when that changes.
struct Other {
    backoff: Backoff,
    on: bool,
    until_us: f64,
}

/// The packets of a block-ACK window, from the first that is not confirmed on.
#[derive(Default)]
struct Window {
    received: u64,
    confirmed: u64,
    /// Of the first ones, how many the receiver has released.
    released: u32,
}

impl Window {
    /// Send `most` packets that are not confirmed; each fails with `failure`.
    fn send(&mut self, most: u32, failure: f64, draws: &mut Draws) {
        let open = (0..WINDOW).filter(|at| self.confirmed & (1 << at) == 0).take(most as usize);
        self.received |= open.filter(|_| draws.unit() > failure).fold(0, |all, at| all | 1 << at);
    }
    /// Packets that the receiver can release now.
    fn release(&mut self) -> u32 {
        let in_order = self.received.trailing_ones();
        in_order - core::mem::replace(&mut self.released, in_order)
    }
    /// A block ACK arrives.
    fn confirm(&mut self) {
        let done = self.received.trailing_ones();
        self.received = self.received.checked_shr(done).unwrap_or(0);
        self.confirmed = self.received;
        self.released = 0;
    }
}

/// The signal over time.
struct Signal {
    branches: [Branch; BRANCHES],
    draws: Draws,
    shadow_db: f64,
    /// When `shadow_db` was drawn.
    at_us: u64,
}

/// How the access point sends now.
#[derive(Clone, Copy)]
struct Choice {
    mcs: usize,
    /// Packets of an A-MPDU, and how long it takes.
    packets: u32,
    us: u32,
}

impl Wifi {
    /// Opportunities in each millisecond.
    pub(super) fn generate(&self, seed: u64, length_ms: usize, scale: f64) -> Vec<u32> {
        let [mut contention, mut errors] = [1, 2].map(|purpose| Draws::new(seed, purpose));
        let mut signal = self.signal(seed);
        let mut others = self.others(seed);
        let mut own = Backoff::new(&mut contention);
        let mut window = Window::default();
        let (mut counts, mut owed) = (vec![0; length_ms], 0.0);
        let (mut now_us, mut choose_us, mut choice) = (0, 0, self.choice(0));
        let end_us = length_ms as u64 * 1_000;
        while now_us < end_us {
            let snr_db = self.snr_db(&mut signal, now_us);
            if now_us >= choose_us {
                choice = self.best(snr_db);
                choose_us = now_us + CHOICE_US;
            }
            let busy_us = choice.us + SIFS_US + BLOCK_ACK_US;
            let (wins, took_us) =
                self.contend(&mut own, &mut others, now_us, busy_us, &mut contention);
            now_us += u64::from(took_us);
            if !wins {
                continue;
            }
            window.send(choice.packets, failure(choice.mcs, snr_db), &mut errors);
            owed += scale * f64::from(window.release());
            let heard = errors.unit() > self.block_ack_loss;
            own.sent(heard, &mut contention);
            if heard {
                window.confirm();
            }
            if let Some(count) = counts.get_mut((now_us as usize).div_ceil(1_000) - 1) {
                *count += owed as u32;
                owed -= libm::floor(owed);
            }
        }
        counts
    }

    /// Contend for the medium until somebody has sent: true if that was the access point alone,
    /// and how long it took, with its own exchange of `busy_us`.
    fn contend(
        &self,
        own: &mut Backoff,
        others: &mut [Other],
        now_us: u64,
        busy_us: u32,
        draws: &mut Draws,
    ) -> (bool, u32) {
        for other in others.iter_mut() {
            other.pass(now_us as f64, self.on_off_s, draws);
        }
        let mut active: Vec<&mut Backoff> =
            others.iter_mut().filter(|other| other.on).map(|other| &mut other.backoff).collect();
        let slots = active.iter().map(|other| other.slots).fold(own.slots, u32::min);
        own.slots -= slots;
        let mut senders = u32::from(own.slots == 0);
        for other in &mut active {
            other.slots -= slots;
            senders += u32::from(other.slots == 0);
        }
        for other in active.iter_mut().filter(|other| other.slots == 0) {
            other.sent(senders == 1, draws);
        }
        let mine = own.slots == 0;
        if mine && senders > 1 {
            own.sent(false, draws);
        }
        let longest_us = match (mine, senders) {
            (true, 1) => busy_us,
            (true, _) => busy_us.max(self.other_us),
            (false, _) => self.other_us,
        };
        (mine && senders == 1, AIFS_US + slots * SLOT_US + longest_us)
    }

    fn others(&self, seed: u64) -> Vec<Other> {
        let mut draws = Draws::new(seed, 3);
        let (on_s, off_s) = self.on_off_s;
        let mut other = |_| Other {
            backoff: Backoff::new(&mut draws),
            on: draws.unit() > on_s / (on_s + off_s),
            until_us: 0.0,
        };
        (0..self.others).map(&mut other).collect()
    }

    fn signal(&self, seed: u64) -> Signal {
        let mut draws = Draws::new(seed, 4);
        let doppler_hz = self.speed_mps * PER_METRE;
        let branches = core::array::from_fn(|_| Branch::new(&mut draws, doppler_hz, self.rician_k));
        let shadow_db = self.shadow.0 * draws.normal();
        Signal { branches, draws, shadow_db, at_us: 0 }
    }
    fn snr_db(&self, signal: &mut Signal, now_us: u64) -> f64 {
        let (sigma_db, over_s) = self.shadow;
        let keep = libm::exp(-((now_us - signal.at_us) as f64) * 1e-6 / over_s);
        signal.shadow_db = keep * signal.shadow_db
            + sigma_db * libm::sqrt(1.0 - keep * keep) * signal.draws.normal();
        signal.at_us = now_us;
        let fading_db = 10.0 * libm::log10(power_of(&signal.branches, now_us as f64 * 1e-6));
        self.snr_db + signal.shadow_db + fading_db
    }

    /// Of the highest expected throughput.
    fn best(&self, snr_db: f64) -> Choice {
        let expected = |choice: &Choice| {
            let arrive = f64::from(choice.packets) * (1.0 - failure(choice.mcs, snr_db));
            arrive / f64::from(choice.us + AIFS_US + SIFS_US + BLOCK_ACK_US)
        };
        let choices = (0..self.phy.symbol_bits().len()).map(|mcs| self.choice(mcs));
        let better = |a: Choice, b: Choice| if expected(&b) > expected(&a) { b } else { a };
        choices.fold(self.choice(0), better)
    }
    /// As many packets as the limits allow; at least one.
    fn choice(&self, mcs: usize) -> Choice {
        let us = |packets| self.aggregate_us(mcs, packets);
        let fits = |&packets: &u32| {
            packets * SUBFRAME_BYTES <= self.most_bytes && us(packets) <= self.most_us
        };
        let packets = (1..=WINDOW).rev().find(fits).unwrap_or(1);
        Choice { mcs, packets, us: us(packets) }
    }
    /// Service and tail bits are 22.
    fn aggregate_us(&self, mcs: usize, packets: u32) -> u32 {
        let bits = 22 + 8 * packets * SUBFRAME_BYTES;
        let symbols = bits.div_ceil(self.streams * self.phy.symbol_bits()[mcs]);
        self.phy.preamble_us(self.streams) + SYMBOL_US * symbols
    }
}

impl Other {
    /// Go on and off until `now_us`.
    fn pass(&mut self, now_us: f64, on_off_s: (f64, f64), draws: &mut Draws) {
        while self.until_us <= now_us {
            self.on = !self.on;
            let mean_s = if self.on { on_off_s.0 } else { on_off_s.1 };
            self.until_us += draws.exponential(mean_s * 1e6);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{CHANNEL_PROFILES, ChannelModel};

    /// Without fading, loss and other stations.
    const CLEAN: Wifi = Wifi {
        rate_mbps: 120.0,
        phy: Phy::Ht20,
        streams: 2,
        most_bytes: 65_535,
        most_us: 5_484,
        snr_db: 60.0,
        shadow: (0.0, 1.0),
        speed_mps: 0.0,
        rician_k: 1e9,
        block_ack_loss: 0.0,
        others: 0,
        on_off_s: (1e9, 1e-9),
        other_us: 0,
    };
    const SECONDS: usize = 200;

    fn mbps(wifi: &Wifi) -> f64 {
        let counts = wifi.generate(1, SECONDS * 1_000, 1.0);
        counts.iter().sum::<u32>() as f64 * 0.012 / SECONDS as f64
    }

    /// n packets in AIFS + 7.5 slots + A-MPDU + SIFS + block ACK. By hand: 42 packets of 1544 bytes
    /// in 65 535, 518 806 bits, are 998 symbols of 520: 4032 µs with the preamble. 64 in VHT80, MCS
    /// 9: 790 550 bits in 254 symbols of 3120, 1060 µs. At 1 ms, 10 packets in 238 symbols: 992 µs.
    #[test]
    fn saturation_throughput_is_that_of_the_closed_form() {
        let vht = Wifi { phy: Phy::Vht80, most_bytes: 1_048_575, ..CLEAN };
        for (wifi, packets, aggregate_us) in [
            (CLEAN, 42.0, 4_032.0),
            (vht, 64.0, 1_060.0),
            (Wifi { most_us: 1_000, ..CLEAN }, 10.0, 992.0),
        ] {
            let expected = packets * 12_000.0 / (43.0 + 7.5 * 9.0 + aggregate_us + 16.0 + 32.0);
            let found = mbps(&wifi);
            assert!((found / expected - 1.0).abs() < 0.004, "{found}, not {expected}");
        }
    }

    /// Bianchi (JSAC 2000, doi:10.1109/49.840210): n stations in saturation, of windows of 16 to
    /// 1024, send with the probability tau in a slot and collide with p.
    #[test]
    fn stations_share_the_medium_as_bianchi_says() {
        for n in [2, 5, 10] {
            let exchange_us = 4_032 + SIFS_US + BLOCK_ACK_US;
            let wifi = Wifi { others: n - 1, other_us: exchange_us, ..CLEAN };
            let (w, stages, n) = (16.0, 6, f64::from(n));
            let tau_of = |p: f64| {
                let backoff = w * (1.0 - libm::pow(2.0 * p, stages.into())) * p;
                2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + backoff)
            };
            let (mut low, mut high) = (0.0, 0.49);
            for _ in 0..60 {
                let p = (low + high) / 2.0;
                let follows = 1.0 - libm::pow(1.0 - tau_of(p), n - 1.0);
                if follows > p { low = p } else { high = p }
            }
            let tau = tau_of(low);
            let idle = libm::pow(1.0 - tau, n);
            let one = n * tau * libm::pow(1.0 - tau, n - 1.0);
            let busy_us = f64::from(exchange_us + AIFS_US);
            let slot_us = idle * f64::from(SLOT_US) + (1.0 - idle) * busy_us;
            let expected = one / n * 42.0 * 12_000.0 / slot_us;
            let found = mbps(&wifi);
            assert!((found / expected - 1.0).abs() < 0.04, "{n}: {found}, not {expected}");
        }
    }

    /// Eight seeds of 200 s; a seed differs by 7 %.
    #[test]
    fn the_mean_rate_is_that_of_the_profile() {
        for profile in CHANNEL_PROFILES {
            let ChannelModel::Wifi(wifi) = profile.model else { continue };
            let sum = (1..=8).map(|seed| {
                let counts = wifi.generate(seed, SECONDS * 1_000, 0.5);
                counts.iter().sum::<u32>() as f64 * 0.012 / SECONDS as f64
            });
            let ratio = sum.sum::<f64>() / 8.0 / (0.5 * wifi.rate_mbps);
            assert!((ratio - 1.0).abs() < 0.06, "{}: {ratio}", profile.name);
        }
    }

    /// By hand: of three packets the second fails; then the block ACK is lost; then all is well.
    #[test]
    fn the_receiver_releases_in_order_and_what_is_not_confirmed_is_sent_again() {
        let mut window = Window { received: 0b101, ..Window::default() };
        assert_eq!(window.release(), 1);
        window.confirm();
        assert_eq!((window.received, window.confirmed, window.released), (0b10, 0b10, 0));
        // Packets 2 and 4 are sent: 3 is confirmed. Both arrive, but the block ACK does not.
        window.send(2, 0.0, &mut Draws::new(1, 1));
        assert_eq!((window.received, window.release(), window.confirmed), (0b111, 3, 0b10));
        // The same two again: nothing new.
        window.send(2, 0.0, &mut Draws::new(1, 1));
        assert_eq!(window.release(), 0);
        window.confirm();
        assert_eq!((window.received, window.confirmed), (0, 0));
        // A whole window.
        window.send(WINDOW, 0.0, &mut Draws::new(1, 1));
        assert_eq!(window.release(), 64);
        window.confirm();
        assert_eq!(window.received, 0);
    }

    /// A share e of packets fails, so that 1 - e of those sent arrive; aggregates of ten packets are
    /// too short for the window to matter. A lost block ACK costs an exchange.
    #[test]
    fn failures_and_lost_block_acks_cost_their_share() {
        // 1 dB above the sensitivity of MCS 7, 1.1 % fails.
        let short = Wifi { most_us: 1_000, ..CLEAN };
        let at = |snr_db| mbps(&Wifi { snr_db, ..short });
        let (clean, failing) = (at(60.0), at(23.0));
        let share = failing / clean;
        assert!((share - (1.0 - failure(7, 23.0))).abs() < 0.003, "{share}");
        let deaf = mbps(&Wifi { block_ack_loss: 0.2, ..short }) / clean;
        assert!((0.77..0.80).contains(&deaf), "{deaf}");
        // Rates fall with the SNR, in steps of the table.
        assert!(at(10.0) < 0.4 * clean && at(2.0) < 0.1 * clean);
    }
}
