//! A window that losses bound, where the buffer is shallower than the queue that is sought.
//!
//! With a buffer below `(R - 1) D_min` delays never reach `R D_min`, and a full buffer has the same
//! delay under each window: nothing of rules 1 to 8 ends the growth of W.
//!
//! 1. a round lasts until a packet is acknowledged that was sent after its begin. It is *lossy* if
//!    of the n packets whose fate became known in it more are lost than chance takes at 2 %, the
//!    limit of BBR (draft-ietf-ccwg-bbr): `2 % n + k sqrt(2 % n)`, k = 3 and with a bound 2; while
//!    no delay of it was above `R D_min`;
//! 2. with a lossy round W is at most a window of CUBIC (RFC 9438), which begins at what was
//!    delivered in that round, and takes each lossy round for congestion. Packets sent before the
//!    last lossy round ended do not count as lost again;
//! 3. once W was below that window for 2 s the bound ends.

use crate::controller::{Ack, Congestion, CongestionCause, Controller, Init};
use crate::cubic::{self, Cubic};
use forebay_base::{Span, Time};

/// Rule 1.
const LOSSY: f64 = 0.02;
const SURE: f64 = 3.0;
const SURE_AGAIN: f64 = 2.0;
/// Rule 3.
const FREE: Span = Span::from_secs(2);
/// A window that one round of the path has delivered is no smaller than this, in packets.
const MIN_WINDOW: f64 = 4.0;

/// CUBIC in congestion avoidance, with a window of `packets`.
pub(super) fn cubic_from(init: &Init, packets: f64) -> Cubic {
    let bytes = (packets * f64::from(init.mss_bytes)) as u64;
    let init = Init { initial_window_bytes: bytes, initial_ssthresh_bytes: bytes, ..init.clone() };
    Cubic::new(&cubic::Params::default(), init)
}

/// Counts of the round, and the bound.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    init: Init,
    began: Time,
    /// Packets that left before this do not count as lost.
    counts_from: Time,
    delivered: u32,
    lost: u32,
    most_ms: f64,
    cubic: Option<Cubic>,
    /// Since when W is below it.
    free_since: Option<Time>,
}

impl Bound {
    pub(super) fn new(init: Init) -> Bound {
        Bound {
            init,
            began: Time::ZERO,
            counts_from: Time::ZERO,
            delivered: 0,
            lost: 0,
            most_ms: 0.0,
            cubic: None,
            free_since: None,
        }
    }

    /// The most that W may be, in packets.
    pub(super) fn window(&self) -> Option<f64> {
        let bytes = self.cubic.as_ref()?.limits().cwnd_bytes;
        Some(bytes as f64 / f64::from(self.init.mss_bytes))
    }

    pub(super) fn on_loss(&mut self, sent_at: Time) {
        if sent_at >= self.counts_from {
            self.lost += 1;
        }
    }

    /// Rule 1; `ceiling_ms` is `R D_min`.
    pub(super) fn on_delivered(
        &mut self,
        now: Time,
        sent_at: Time,
        delay_ms: f64,
        ceiling_ms: f64,
    ) {
        self.delivered += 1;
        self.most_ms = self.most_ms.max(delay_ms);
        if sent_at < self.began {
            return;
        }
        let (delivered, lost) = (f64::from(self.delivered), f64::from(self.lost));
        let expected = LOSSY * (delivered + lost);
        let sure = if self.cubic.is_some() { SURE_AGAIN } else { SURE };
        if lost > expected + sure * libm::sqrt(expected) && self.most_ms <= ceiling_ms {
            self.on_lossy_round(now, delivered.max(MIN_WINDOW));
        }
        (self.began, self.delivered, self.lost, self.most_ms) = (now, 0, 0, 0.0);
    }

    /// Rule 2.
    fn on_lossy_round(&mut self, now: Time, delivered: f64) {
        self.counts_from = now;
        self.free_since = None;
        let cubic = self.cubic.get_or_insert_with(|| cubic_from(&self.init, delivered));
        let flight_size_bytes = cubic.limits().cwnd_bytes;
        let cause = CongestionCause::Loss;
        let event = Congestion { cause, flight_size_bytes, cwnd_limited: true };
        cubic.on_congestion(now, &event);
    }

    /// The bound grows with what arrives, repairs or not, as long as `w` is at it.
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack<'_>, w: f64) {
        let Some(most) = self.window() else { return };
        if let Some(cubic) = &mut self.cubic {
            let (cwnd_limited, acked_bytes) = (w >= most - 1.0, ack.delivered_bytes);
            let ack = Ack { cwnd_limited, acked_bytes, in_recovery: false, ..*ack };
            cubic.on_ack(now, &ack);
        }
    }

    /// Rule 3: the delays ask for a window of `w`. The most that W may be.
    pub(super) fn on_epoch(&mut self, now: Time, w: f64) -> Option<f64> {
        let most = self.window()?;
        if w >= most {
            self.free_since = None;
            return Some(most);
        }
        let since = *self.free_since.get_or_insert(now);
        if now.since(since) > FREE {
            self.cubic = None;
        }
        None
    }
}
