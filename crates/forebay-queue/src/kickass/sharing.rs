//! How listeners share a port with others: see [`Beside`].
//!
//! With two queues, N flows that were [counted](super::census), N_l of listeners at least 1:
//!
//! 1. `w = N_l / (N_l + N_o)` is the share of listeners;
//! 2. `C_l = max(w C, C - s)` is the C of their loop, s what the link carries of others, on average
//!    over d where it grows, and over a second where it falls: they soon take again what they leave
//!    for less;
//! 3. listeners may fill `max(w, y) Q` of the limit and others `(1 - min(w, y)) Q`, y the share of
//!    C that the link carries of listeners, on average over a second; both at least ten packets, or
//!    Q. So a queue that is served with its share takes no longer to drain than one that all wait
//!    in, and both together hold at most 2 Q. A limit in packets stands for full ones, so that
//!    acknowledgments do not fill it;
//! 4. others may be `2 w (1 - w) C d` ahead: the rate of few flows of TCP swings around their
//!    share, and what they leave at its low is theirs at its high. Listeners wait at most d / 2 for
//!    that.

use super::Beside;
use super::census::{ActiveFlows, Census};
use crate::lanes::{Carried, Division, Lane};
use crate::limit::Limit;
use forebay_base::{Span, Time};

/// Equation 3: ten packets.
const LEAST_BYTES: u64 = 15_000;
/// Equation 3: what others have in the buffer stays when a burst of short flows comes.
const BUFFER_TIME_S: f64 = 1.0;
/// Equation 4.
const AHEAD: f64 = 2.0;

/// What the link carries, on average.
#[derive(Clone, Copy, Debug, Default)]
struct CarriedRates {
    listeners_bps: f64,
    others_bps: f64,
    before: Carried,
    looked_at: Time,
}

impl CarriedRates {
    fn learn(&mut self, now: Time, carried: Carried, rtt: Span) {
        let time_s = now.since(self.looked_at).as_secs_f64();
        if time_s == 0.0 {
            return;
        }
        let average = |bps: &mut f64, bytes: u64, over_s: f64| {
            let now_bps = 8.0 * bytes as f64 / time_s;
            *bps += (1.0 - libm::exp(-time_s / over_s)) * (now_bps - *bps);
        };
        let before = core::mem::replace(&mut self.before, carried);
        let listeners_bytes = carried.listeners_bytes - before.listeners_bytes;
        average(&mut self.listeners_bps, listeners_bytes, BUFFER_TIME_S);
        let others_bytes = carried.others_bytes - before.others_bytes;
        let grows = 8.0 * others_bytes as f64 / time_s > self.others_bps;
        let rtt_s = rtt.as_secs_f64();
        // Equation 2.
        let over_s = if grows { rtt_s } else { rtt_s.max(BUFFER_TIME_S) };
        average(&mut self.others_bps, others_bytes, over_s);
        self.looked_at = now;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    pub(super) census: Census,
    pub(super) two_queues: bool,
    carried: CarriedRates,
    pub(super) division: Division,
}

impl Sharing {
    pub(super) fn new(beside: Beside, limit: Limit, overhead_bytes: u16) -> Sharing {
        let (listeners_bytes, others_bytes) = (limit.full_bytes(), limit.full_bytes());
        let division = Division {
            lane: Lane::Others,
            joined: false,
            listeners: 0,
            others: 0,
            listeners_bytes,
            others_bytes,
            others_ahead_bytes: 0,
            limit,
            overhead_bytes,
            carried: Carried::default(),
        };
        Sharing {
            census: Census::new(),
            two_queues: beside == Beside::TwoQueues,
            carried: CarriedRates::default(),
            division,
        }
    }
    /// C_l, and how the queues divide the port from now on.
    pub(super) fn available_bps(&mut self, now: Time, rtt: Span, capacity_bps: f64) -> f64 {
        self.carried.learn(now, self.division.carried, rtt);
        let ActiveFlows { listeners, others } = self.census.active();
        (self.division.listeners, self.division.others) = (listeners, others);
        let (own, other) = (f64::from(listeners.max(1)), f64::from(others));
        let CarriedRates { listeners_bps, others_bps, .. } = self.carried;
        let (share, load) = (own / (own + other), listeners_bps / capacity_bps);
        let all_bytes = self.division.limit.full_bytes();
        let part_bytes = |share: f64| {
            let least_bytes = all_bytes.min(LEAST_BYTES);
            ((share * all_bytes as f64) as u64).clamp(least_bytes, all_bytes)
        };
        self.division.listeners_bytes = part_bytes(f64::max(share, load));
        self.division.others_bytes = part_bytes(1.0 - f64::min(share, load));
        let ahead_bits = AHEAD * share * (1.0 - share) * capacity_bps * rtt.as_secs_f64();
        self.division.others_ahead_bytes = (ahead_bits / 8.0) as u64;
        f64::max(share * capacity_bps, capacity_bps - others_bps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Addr, Arena, Endpoint, IpVersion, Packet, TcpFields};

    const C_BPS: f64 = 100e6;
    const D: Span = Span::from_millis(40);

    /// A port of 400 packets after 10 s in which the link carried these shares, and so many flows
    /// of each kind sent: C_l, and how it is divided.
    fn port(flows: (u32, u32), shares: (f64, f64)) -> (f64, Division) {
        let mut sharing = Sharing::new(Beside::TwoQueues, Limit::Packets(400), 0);
        let arena = Arena::default();
        let end = |addr| Endpoint { addr: Addr(addr), port: 7 };
        let mut available_bps = 0.0;
        for k in 1..1000 {
            let now = Time::from_millis(10 * k);
            for flow in 0..flows.0 + flows.1 {
                let ends = (end(flow), end(9999));
                let packet = Packet::tcp(IpVersion::V4, ends.0, ends.1, TcpFields::default(), 99);
                sharing.census.see(&packet, flow < flows.0, &arena);
            }
            let bytes = |share: f64| (share * C_BPS / 8.0 * 0.01) as u64;
            sharing.division.carried.listeners_bytes += bytes(shares.0);
            sharing.division.carried.others_bytes += bytes(shares.1);
            sharing.census.on_interval(now, D, 10e6);
            available_bps = sharing.available_bps(now, D, C_BPS);
        }
        (available_bps / C_BPS, sharing.division)
    }

    /// Equations 1 to 4 by hand. 400 packets are 600 kB, and C d is 500 kB.
    #[test]
    fn shares_by_hand() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 2e-3, "{found}");
        // Others take less than their three quarters, and listeners use all that is left.
        let (available, division) = port((1, 3), (0.4, 0.6));
        near(available, 0.4);
        assert_eq!((division.listeners, division.others), (1, 3));
        near(division.listeners_bytes as f64 / 600e3, 0.4);
        near(division.others_bytes as f64 / 600e3, 0.75);
        near(division.others_ahead_bytes as f64 / 500e3, 2.0 * 0.25 * 0.75);
        // They take more, for listeners have little to send.
        let (available, division) = port((3, 1), (0.1, 0.9));
        near(available, 0.75);
        near(division.listeners_bytes as f64 / 600e3, 0.75);
        near(division.others_bytes as f64 / 600e3, 0.9);
        // Nobody listens: who comes has the share of one more flow, the others the buffer.
        let (available, division) = port((0, 4), (0.0, 1.0));
        near(available, 0.2);
        assert_eq!(division.others_bytes, 600_000);
        near(division.listeners_bytes as f64 / 600e3, 0.2);
        // All listen.
        let (available, division) = port((4, 0), (1.0, 0.0));
        near(available, 1.0);
        assert_eq!((division.listeners_bytes, division.others_ahead_bytes), (600_000, 0));
        assert_eq!(division.others_bytes, LEAST_BYTES, "ten packets for who comes");
    }

    /// A count that overflows leaves the few their ten packets, and a share above 0.
    #[test]
    fn shares_stay_within_their_bounds_whatever_the_counts() {
        for (listeners, others) in [(40_000, 1), (1, 40_000), (1, 1), (0, 0)] {
            let mut sharing = Sharing::new(Beside::TwoQueues, Limit::Bytes(9_000), 38);
            sharing.census.assume(listeners, others);
            let available_bps = sharing.available_bps(Time::from_millis(1), D, C_BPS);
            assert!(available_bps > 0.0 && available_bps <= C_BPS, "{available_bps}");
            let Division { listeners_bytes, others_bytes, .. } = sharing.division;
            assert_eq!((listeners_bytes, others_bytes), (9_000, 9_000), "less than ten packets");
        }
    }
}
