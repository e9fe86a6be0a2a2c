//! PIE: a controller of the queueing delay sets the probability with which arrivals are dropped.
//!
//! Pan, Natarajan, Baker and White, "Proportional Integral Controller Enhanced (PIE)": RFC 8033
//! sections 4 and 5, appendix B (doi:10.17487/RFC8033). delay is the queueing delay now, old that
//! one update ago, both in seconds; ref is `target_ms`. Every `update_ms`:
//!
//! 1. `dp = alpha (delay - ref) + beta (delay - old)`, divided by 2048, 512, 128, 32, 8 or 2 while
//!    p is below 1e-6, 1e-5, 1e-4, 1e-3, 0.01 or 0.1 (section 4.2);
//! 2. dp is at most 0.02 where p >= 0.1 (section 5.5); `p += dp`;
//! 3. `p = 0.98 p` where delay and old are 0; p stays in 0 .. 1;
//! 4. the burst allowance falls by the time of an update; it is `burst_ms` where p = 0 and delay
//!    and old are below ref / 2 (section 4.4).
//!
//! An arrival is dropped with probability p, but not:
//!
//! 5. while the burst allowance is above 0, or where old < ref / 2 and p < 0.2, or where at most
//!    two MTU wait (section 4.1);
//! 6. by de-randomisation, until the sum of p since the last drop is 0.85; at 8.5 it is dropped in
//!    any case (section 5.4).
//! 7. It is marked instead if it is ECN-capable and p is below `ecn_threshold` (section 5.1).
//!
//! Differs from the RFC in: the delay is the wait of the last packet that left, 0 if nothing waits,
//! which section 5.2 allows instead of its estimate from the rate; PIE is always on, there a queue
//! must have been a third full; the MTU of the link is the mean packet size; packets of all lengths
//! have one probability. p below 1e-9 over an empty queue is 0, so that an idle network comes to
//! rest.

use crate::discipline::{Discipline, Overflow};
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::port::{PortContext, PortInit};
use forebay_base::{DropReason, Packet, ParamError, Rng, Span, Time, require};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Parameters of PIE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// ref: the target queueing delay in ms, above 0 and at most 10 000. RFC 8033
    /// section 4.2: 15.
    pub target_ms: f64,
    /// Time between two updates in ms, 0.1 to 10 000. RFC 8033 section 4.2: 15.
    pub update_ms: f64,
    /// Weight of the distance from ref, in 1/s, above 0 and at most 1000. RFC 8033 section 4.2:
    /// 0.125.
    pub alpha: f64,
    /// Weight of the change of the delay, in 1/s, 0 to 1000. RFC 8033 section 4.2: 1.25.
    pub beta: f64,
    /// How long a burst is let through after a time without congestion, in ms, 0 to 10 000. RFC
    /// 8033 section 4.4: 150.
    pub burst_ms: f64,
    /// Space out the drops (rule 6).
    pub derandomize: bool,
    /// Mark ECN-capable packets while p is below `ecn_threshold`.
    pub ecn: bool,
    /// The probability at and above which ECN-capable packets are dropped as well, 0 to 1. RFC 8033
    /// section 5.1: 0.1.
    pub ecn_threshold: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target_ms: 15.0,
            update_ms: 15.0,
            alpha: 0.125,
            beta: 1.25,
            burst_ms: 150.0,
            derandomize: true,
            ecn: true,
            ecn_threshold: 0.1,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let ms = "above 0, at most 10000";
        require(self.target_ms > 0.0 && self.target_ms <= 10_000.0, "target_ms", ms)?;
        require((0.1..=10_000.0).contains(&self.update_ms), "update_ms", "0.1 to 10000")?;
        let alpha = self.alpha > 0.0 && self.alpha <= 1000.0;
        require(alpha, "alpha", "above 0, at most 1000")?;
        require((0.0..=1000.0).contains(&self.beta), "beta", "0 to 1000")?;
        require((0.0..=10_000.0).contains(&self.burst_ms), "burst_ms", "0 to 10000")?;
        let is_probability = (0.0..=1.0).contains(&self.ecn_threshold);
        require(is_probability, "ecn_threshold", "a probability: 0 to 1")
    }
}

/// Rule 1: what dp is divided by while p is below the first number.
const SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (0.01, 8.0), (0.1, 2.0)];

/// The probability and what it follows from: the rules, without packets.
#[derive(Clone, Debug)]
struct DropProbability {
    /// In seconds.
    reference: f64,
    alpha: f64,
    beta: f64,
    burst: Span,
    update: Span,
    derandomize: bool,
    p: f64,
    /// The delay at the last update, in seconds.
    old: f64,
    burst_left: Span,
    /// Sum of p since the last drop.
    sum: f64,
}

impl DropProbability {
    fn new(params: &Params) -> DropProbability {
        let span = |ms: f64| Span::from_secs_f64(ms * 1e-3);
        DropProbability {
            reference: params.target_ms * 1e-3,
            alpha: params.alpha,
            beta: params.beta,
            burst: span(params.burst_ms),
            update: span(params.update_ms),
            derandomize: params.derandomize,
            p: 0.0,
            old: 0.0,
            burst_left: span(params.burst_ms),
            sum: 0.0,
        }
    }
    /// Rules 1 to 4: the delay is `delay` seconds.
    fn update(&mut self, delay: f64) {
        let mut dp = self.alpha * (delay - self.reference) + self.beta * (delay - self.old);
        if let Some((_, scale)) = SCALES.iter().find(|(below, _)| self.p < *below) {
            dp /= scale;
        } else {
            dp = dp.min(0.02);
        }
        self.p += dp;
        if delay == 0.0 && self.old == 0.0 {
            self.p *= 0.98;
            if self.p < 1e-9 {
                self.p = 0.0;
            }
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.burst_left = self.burst_left.saturating_sub(self.update);
        let low = self.reference / 2.0;
        if self.p == 0.0 && delay < low && self.old < low {
            self.burst_left = self.burst;
        }
        self.old = delay;
    }
    /// Rules 5 and 6: may this arrival pass? `short` if at most two MTU wait; `draw` gives a number
    /// in [0, 1).
    #[inline]
    fn passes(&mut self, short: bool, draw: impl FnOnce() -> f64) -> bool {
        let calm = self.old < self.reference / 2.0 && self.p < 0.2;
        if self.burst_left > Span::ZERO || calm || short {
            return true;
        }
        if self.derandomize {
            self.sum = if self.p == 0.0 { 0.0 } else { self.sum + self.p };
            if self.sum < 0.85 {
                return true;
            }
        }
        let drops = (self.derandomize && self.sum >= 8.5) || draw() < self.p;
        if drops {
            self.sum = 0.0;
        }
        !drops
    }
    /// True if no update changes anything while nothing arrives.
    fn rests(&self) -> bool {
        self.p == 0.0 && self.old == 0.0
    }
}

/// See the module.
#[derive(Debug)]
pub struct Pie {
    fifo: Fifo,
    limit: Limit,
    law: DropProbability,
    rng: Rng,
    ecn: bool,
    ecn_threshold: f64,
    /// Two MTU (rule 5).
    short_bytes: u64,
    /// How long the last packet that left had waited.
    waited: Span,
    update_at: Option<Time>,
}

impl Pie {
    /// An empty queue of a port.
    pub fn new(params: &Params, init: PortInit) -> Pie {
        Pie {
            fifo: Fifo::default(),
            limit: init.limit,
            law: DropProbability::new(params),
            rng: init.rng,
            ecn: params.ecn,
            ecn_threshold: params.ecn_threshold,
            short_bytes: 2 * u64::from(init.mtu_bytes),
            waited: Span::ZERO,
            update_at: None,
        }
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        if !self.has_room(packet.wire_len()) {
            self.law.sum = 0.0;
            return Err(Overflow(packet));
        }
        if self.update_at.is_none() {
            self.update_at = Some(cx.now + self.law.update);
        }
        let short = self.fifo.bytes() <= self.short_bytes;
        if !self.law.passes(short, || self.rng.unit()) {
            let marks = self.ecn && self.law.p < self.ecn_threshold;
            if !(marks && cx.mark(&mut packet)) {
                cx.drop_packet(packet, DropReason::Early);
                return Ok(());
            }
        }
        self.fifo.push(packet);
        Ok(())
    }
    #[inline]
    fn has_room(&self, wire_len: u16) -> bool {
        self.limit.admits(wire_len, self.fifo.packets(), self.fifo.bytes())
    }
    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        let packet = self.fifo.pop()?;
        self.waited = cx.now.since(packet.hop_time());
        Some(packet)
    }
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    #[inline]
    fn backlog_packets(&self) -> u64 {
        self.fifo.packets()
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.update_at
    }
    fn on_timeout(&mut self, cx: &mut PortContext<'_>) {
        let Some(at) = self.update_at.filter(|&at| at <= cx.now) else { return };
        let empty = self.fifo.packets() == 0;
        self.law.update(if empty { 0.0 } else { self.waited.as_secs_f64() });
        self.update_at = (!empty || !self.law.rests()).then_some(at + self.law.update);
    }
    fn publish(&self, _: Time, see: &mut dyn FnMut(&'static str, f64)) {
        see("pie_probability", self.law.p);
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.fifo.clear(reason, cx);
    }
}
