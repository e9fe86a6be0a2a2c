//! How listeners share a port with others: see [`Beside`](super::Beside).

use super::census::{ActiveFlows, Census};
use crate::lanes::{Carried, Division};
use crate::limit::Limit;
use forebay_base::{Span, Time};

/// What each queue may fill at least.
const LEAST_PACKETS: u64 = 10;
/// The buffer follows the load of listeners over this time: what others have in it when a burst of
/// short flows comes stays.
const BUFFER_TIME_S: f64 = 1.0;

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
    /// Of the port.
    limit: Limit,
    pub(super) division: Division,
}

impl Sharing {
    pub(super) fn new(limit: Limit, overhead_bytes: u16) -> Sharing {
        let (listeners_limit, others_limit) = (limit, limit);
        let division =
            Division { listeners: 0, others: 0, listeners_limit, others_limit, overhead_bytes };
        Sharing { census: Census::new(), carried: CarriedRates::default(), limit, division }
    }
    /// What of the link listeners may have.
    pub(super) fn available_bps(
        &mut self,
        now: Time,
        carried: Carried,
        rtt: Span,
        capacity_bps: f64,
    ) -> f64 {
        self.carried.learn(now, carried, rtt);
        let CarriedRates { listeners_bps, others_bps, .. } = self.carried;
        let flows = self.census.active();
        let ActiveFlows { listeners, others } = flows;
        let [own, other] = [listeners, others].map(f64::from);
        let part = |share: f64| self.limit.part(share, LEAST_PACKETS);
        self.division.listeners = listeners;
        self.division.others = others;
        self.division.listeners_limit =
            if others == 0 { self.limit } else { part(own.max(1.0) / (own + other)) };
        self.division.others_limit = if listeners == 0 {
            self.limit
        } else {
            part(f64::max(other / (own + other), 1.0 - listeners_bps / capacity_bps))
        };
        let even_bps = capacity_bps * own.max(1.0) / (own.max(1.0) + other);
        even_bps.max(capacity_bps - others_bps)
    }
}
