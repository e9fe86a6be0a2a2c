//! RED: marks or drops arrivals with a probability that grows with the average queue.
//!
//! Floyd and Jacobson, "Random early detection gateways for congestion avoidance", 1993
//! (doi:10.1109/90.251892); the gentle variant and Adaptive RED by Floyd, Gummadi and Shenker,
//! "Adaptive RED: an algorithm for increasing the robustness of RED's active queue management",
//! 2001; marks by RFC 3168 section 7. The queue q and the thresholds `min` and `max` are in
//! packets, in byte mode in packets of `packet_bytes`. w is `weight`. On each arrival:
//!
//! 1. `avg = (1 - w) avg + w q`;
//! 2. or, if the queue is empty and m packet times have passed since its last packet had left,
//!    `avg = (1 - w)^m avg`, with m at least 1;
//! 3. `p_b = 0` where avg < min; `max_p (avg - min) / (max - min)` up to max; from there, if
//!    gentle, `max_p + (1 - max_p) (avg - max) / max` up to 2 max; above that every packet is
//!    dropped;
//! 4. `p_a = p_b / (1 - count p_b)`, where count is the number of packets since the last mark or
//!    drop, or since avg was below min: so the gap between two is uniform on 1 .. 1/p_b. In byte
//!    mode a packet of L bytes counts as L / `packet_bytes`, and p_a is multiplied by it;
//! 5. with probability p_a the packet is marked, or dropped if it is not ECN-capable.
//!
//! Adaptive RED changes max_p every 0.5 s, so that avg stays in the middle of min .. max, with
//! D = max - min:
//!
//! 6. `max_p += min(0.01, max_p / 4)` if avg > min + 0.6 D, up to 0.5;
//! 7. `max_p = 0.9 max_p` if avg < min + 0.4 D, down to 0.01;
//! 8. what is 0 is set from the rate C in packets/s: `w = 1 - exp(-1 / C)`,
//!    `min = max(5, target C / 2)`, `max = 3 min`.
//!
//! Differs from the papers in: rules 6 and 7 are computed at the first arrival that is 0.5 s or
//! more after the last time. Differs from ns-2 and ns-3 in: count begins at 0, as in section 7 of
//! the paper, there at 1; rule 2 is that of the paper, there m + 1 samples; nothing is passed
//! because the queue is short; `wait`, which is on there, is off.

use crate::discipline::{Discipline, Overflow};
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::port::{PortContext, PortInit};
use forebay_base::{DropReason, Packet, ParamError, Rate, Rng, Span, Time, require};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// min: average queue in packets below which nothing is marked, 0 to 1 000 000. Floyd and
    /// Jacobson: 5. 0, together with `max_packets` = 0: set from the rate of the link (rule 8).
    pub min_packets: f64,
    /// max: average queue in packets at which `max_p` is reached, above `min_packets`. Floyd and
    /// Jacobson: 15, three times min.
    pub max_packets: f64,
    /// max_p: the probability at max, above 0 and at most 1. Floyd and Jacobson: 0.02.
    pub max_p: f64,
    /// w: the weight of one sample of the queue, 0 to 1. Floyd and Jacobson: 0.002. 0: set from the
    /// rate of the link (rule 8).
    pub weight: f64,
    /// From max to 2 max the probability rises from max_p to 1, instead of a step to 1.
    pub gentle: bool,
    /// Count bytes instead of packets, so that long packets are marked more often.
    pub byte_mode: bool,
    /// Length of a typical packet in bytes, 40 to 65535: for m of rule 2, C of rule 8 and byte
    /// mode.
    pub packet_bytes: u16,
    /// Adaptive RED: max_p follows the average queue (rules 6 and 7).
    pub adaptive: bool,
    /// Queueing delay from which thresholds of 0 are set, in ms, above 0 and at most 10 000.
    /// Adaptive RED: 5.
    pub target_ms: f64,
    /// As `wait_` of ns-2: no mark for 1/p_b packets after one, then with p_b / (2 - count p_b).
    pub wait: bool,
    /// Mark ECN-capable packets instead of dropping them, but for those above rule 3 (RFC 3168
    /// section 7).
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            min_packets: 5.0,
            max_packets: 15.0,
            max_p: 0.02,
            weight: 0.002,
            gentle: true,
            byte_mode: false,
            packet_bytes: 1500,
            adaptive: false,
            target_ms: 5.0,
            wait: false,
            ecn: true,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range, or if the thresholds are out of order.
    pub fn check(&self) -> Result<(), ParamError> {
        require((0.0..=1e6).contains(&self.min_packets), "min_packets", "0 to 1000000")?;
        let from_rate = self.min_packets == 0.0 && self.max_packets == 0.0;
        let in_order = self.max_packets > self.min_packets && self.max_packets <= 1e7;
        let allowed = "above min_packets, at most 10000000; or both 0: set from the rate";
        require(from_rate || in_order, "max_packets", allowed)?;
        let max_p = self.max_p > 0.0 && self.max_p <= 1.0;
        require(max_p, "max_p", "a probability: above 0, at most 1")?;
        require((0.0..=1.0).contains(&self.weight), "weight", "0 to 1; 0: set from the rate")?;
        require(self.packet_bytes >= 40, "packet_bytes", "40 to 65535")?;
        let target = self.target_ms > 0.0 && self.target_ms <= 10_000.0;
        require(target, "target_ms", "above 0, at most 10000")
    }
}

/// Time between two changes of max_p.
const ADAPT_EVERY: Span = Span::from_millis(500);

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It is queued.
    Pass,
    /// It is marked, or dropped.
    Tell,
    /// It is dropped.
    Drop,
}

/// The average and what follows from it: the rules, without packets.
#[derive(Clone, Debug)]
struct AverageQueue {
    min: f64,
    max: f64,
    weight: f64,
    max_p: f64,
    gentle: bool,
    wait: bool,
    avg: f64,
    /// Packets since the last mark or drop, or since avg was below min.
    count: f64,
}

impl AverageQueue {
    fn new(params: &Params) -> AverageQueue {
        let Params { min_packets: min, max_packets: max, weight, max_p, .. } = *params;
        let Params { gentle, wait, .. } = *params;
        AverageQueue { min, max, weight, max_p, gentle, wait, avg: 0.0, count: 0.0 }
    }
    /// Rule 8: `rate` is C.
    fn set_rate(&mut self, params: &Params, rate: f64) {
        if params.weight == 0.0 {
            self.weight = -libm::expm1(-1.0 / rate);
        }
        if params.max_packets == 0.0 {
            self.min = (params.target_ms * 1e-3 * rate / 2.0).max(5.0);
            self.max = 3.0 * self.min;
        }
    }
    /// Rule 1.
    #[inline]
    fn sample(&mut self, queue: f64) {
        self.avg += self.weight * (queue - self.avg);
    }
    /// Rule 2.
    fn idle(&mut self, packet_times: f64) {
        self.avg *= libm::pow(1.0 - self.weight, packet_times.max(1.0));
    }
    /// Rules 6 and 7.
    fn adapt(&mut self) {
        let d = self.max - self.min;
        if self.avg > self.min + 0.6 * d {
            self.max_p = (self.max_p + (self.max_p / 4.0).min(0.01)).min(0.5);
        } else if self.avg < self.min + 0.4 * d {
            self.max_p = (0.9 * self.max_p).max(0.01);
        }
    }
    /// Rule 3: p_b; none where every packet is dropped.
    #[inline]
    fn base_probability(&self) -> Option<f64> {
        let AverageQueue { min, max, max_p, avg, .. } = *self;
        if avg < max {
            Some(max_p * ((avg - min) / (max - min)).max(0.0))
        } else if self.gentle && avg < 2.0 * max {
            Some(max_p + (1.0 - max_p) * (avg - max) / max)
        } else {
            None
        }
    }
    /// Rules 3 to 5 for a packet that counts as `share` packets; `draw` gives a number in [0, 1).
    #[inline]
    fn judge(&mut self, share: f64, draw: impl FnOnce() -> f64) -> Verdict {
        if self.avg < self.min {
            self.count = 0.0;
            return Verdict::Pass;
        }
        let Some(p_b) = self.base_probability() else {
            self.count = 0.0;
            return Verdict::Drop;
        };
        if draw() < self.probability(p_b) * share {
            self.count = 0.0;
            return Verdict::Tell;
        }
        self.count += share;
        Verdict::Pass
    }
    /// Rule 4.
    #[inline]
    fn probability(&self, p_b: f64) -> f64 {
        let spent = self.count * p_b;
        match self.wait {
            true if spent < 1.0 => 0.0,
            true if spent < 2.0 => p_b / (2.0 - spent),
            false if spent < 1.0 => p_b / (1.0 - spent),
            _ => 1.0,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Red {
    fifo: Fifo,
    limit: Limit,
    law: AverageQueue,
    params: Params,
    rng: Rng,
    rate: Rate,
    /// Framing overhead of the link per packet.
    overhead_bytes: u16,
    /// When the last packet had left, while the queue is empty.
    idle_since: Time,
    /// When max_p may change next.
    adapt_at: Time,
}

impl Red {
    /// An empty queue of a port.
    pub fn new(params: &Params, init: PortInit) -> Red {
        let mut red = Red {
            fifo: Fifo::default(),
            limit: init.limit,
            law: AverageQueue::new(params),
            params: params.clone(),
            rng: init.rng,
            rate: init.rate,
            overhead_bytes: init.overhead_bytes,
            idle_since: Time::ZERO,
            adapt_at: Time::ZERO + ADAPT_EVERY,
        };
        red.set_rate(Time::ZERO, init.rate);
        red
    }
    /// Time of a usual packet, above 0.
    fn packet_time(&self) -> Span {
        let bytes = u64::from(self.params.packet_bytes) + u64::from(self.overhead_bytes);
        self.rate.span_of(bytes).max(Span::from_nanos(1))
    }
    /// q, in packets.
    #[inline]
    fn queue(&self) -> f64 {
        if self.params.byte_mode {
            self.fifo.bytes() as f64 / f64::from(self.params.packet_bytes)
        } else {
            self.fifo.packets() as f64
        }
    }
    /// Rules 1 and 2, and 6 and 7 where it is time.
    #[inline]
    fn average(&mut self, now: Time) {
        if self.fifo.packets() > 0 {
            self.law.sample(self.queue());
        } else {
            let idle = now.since(self.idle_since).as_secs_f64();
            self.law.idle(idle / self.packet_time().as_secs_f64());
        }
        if self.params.adaptive && now >= self.adapt_at {
            self.adapt_at = now + ADAPT_EVERY;
            self.law.adapt();
        }
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        self.average(cx.now);
        if !self.has_room(packet.wire_len()) {
            self.law.count = 0.0;
            return Err(Overflow(packet));
        }
        let share = if self.params.byte_mode {
            f64::from(packet.wire_len()) / f64::from(self.params.packet_bytes)
        } else {
            1.0
        };
        let verdict = self.law.judge(share, || self.rng.unit());
        let tells = verdict == Verdict::Tell && !(self.params.ecn && cx.mark(&mut packet));
        if tells || verdict == Verdict::Drop {
            cx.drop_packet(packet, DropReason::Early);
        } else {
            self.fifo.push(packet);
        }
        Ok(())
    }
    #[inline]
    fn has_room(&self, wire_len: u16) -> bool {
        self.limit.admits(wire_len, self.fifo.packets(), self.fifo.bytes())
    }
    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        let packet = self.fifo.pop()?;
        if self.fifo.packets() == 0 {
            let bytes = u64::from(packet.wire_len()) + u64::from(self.overhead_bytes);
            self.idle_since = cx.now + self.rate.span_of(bytes);
        }
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
    fn set_rate(&mut self, _: Time, rate: Rate) {
        self.rate = rate;
        self.law.set_rate(&self.params, 1.0 / self.packet_time().as_secs_f64());
    }
    fn publish(&self, _: Time, see: &mut dyn FnMut(&'static str, f64)) {
        see("red_average_packets", self.law.avg);
        see("red_max_p", self.law.max_p);
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        if self.fifo.packets() > 0 {
            self.idle_since = cx.now;
        }
        self.fifo.clear(reason, cx);
    }
}
