//! How listeners share a port with others: see [`Beside`](super::Beside).
//!
//! With two queues, N flows that were [counted](super::census), N_l of listeners at least 1:
//!
//! 1. `w = N_l / (N_l + N_o)` is the share of listeners;
//! 2. `C_l = max(w C, C - s)` is the C of their loop, s what the link carries of others, on average
//!    over d;
//! 3. listeners may fill `max(w, y) Q` of the limit and others `(1 - min(w, y)) Q`, y the share of C
//!    that the link carries of listeners, on average over a second; both at least ten packets, or
//!    Q. So a queue that is served with its share takes no longer to drain than one that all wait
//!    in. A limit in packets stands for full ones, so that acknowledgments do not fill it;
//! 4. others may be `2 w (1 - w) C d` ahead: the rate of few flows of TCP swings around their
//!    share, and what they leave at its low is theirs at its high. Listeners wait at most d / 2 for
//!    that.

use super::census::{ActiveFlows, Census};
use crate::lanes::{Carried, Division};
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
        average(&mut self.others_bps, others_bytes, rtt.as_secs_f64());
        self.looked_at = now;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    pub(super) census: Census,
    carried: CarriedRates,
    pub(super) division: Division,
}

impl Sharing {
    pub(super) fn new(limit: Limit, overhead_bytes: u16) -> Sharing {
        let (listeners_bytes, others_bytes) = (limit.full_bytes(), limit.full_bytes());
        let division = Division {
            listeners: 0,
            others: 0,
            listeners_bytes,
            others_bytes,
            others_ahead_bytes: 0,
            limit,
            overhead_bytes,
        };
        Sharing { census: Census::new(), carried: CarriedRates::default(), division }
    }
    /// C_l, and how the queues divide the port from now on.
    pub(super) fn available_bps(
        &mut self,
        now: Time,
        carried: Carried,
        rtt: Span,
        capacity_bps: f64,
    ) -> f64 {
        self.carried.learn(now, carried, rtt);
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
