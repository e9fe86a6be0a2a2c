//! CoDel: drops at the head while packets have waited too long for a whole interval.
//!
//! Nichols, Jacobson, McGregor and Iyengar, "Controlled Delay Active Queue Management": RFC 8289
//! section 5 (doi:10.17487/RFC8289). T is `target_ms`, I is `interval_ms`, B the backlog in bytes
//! after the packet that leaves, and its sojourn is the time that it waited. When a packet leaves:
//!
//! 1. the queue is below target if sojourn < T, or if B is at most one MTU, or if it is empty;
//! 2. a drop is allowed when the queue has not been below target for I;
//! 3. the first allowed drop enters the dropping state: the packet is dropped, the next one leaves,
//!    and `drop_next = now + I / sqrt(count)`;
//! 4. in the dropping state, while now >= `drop_next` and a drop is allowed: the packet is dropped,
//!    `count += 1`, and `drop_next += I / sqrt(count)`;
//! 5. a packet for which no drop is allowed ends the dropping state;
//! 6. on entry `count` is 1; or the drops of the last dropping state, `count - lastcount`, if these
//!    are more than 1 and now - `drop_next` < 16 I;
//! 7. with `ce_threshold_ms`: a packet that leaves is marked if it has waited for longer and is
//!    ECN-capable, whatever rules 1 to 6 say (Linux, codel_impl.h). Against DCTCP this is the K of
//!    RFC 8257 section 3.1, as a time.
//!
//! So under a standing queue drop n + 1 comes I / sqrt(n) after drop n.
//!
//! Differs from the RFC in: with `ecn` an ECN-capable packet is marked and leaves, where another
//! one is dropped (one mark a departure, as in Linux); the length of the longest packet is the MTU
//! of the link, not what has been seen. Differs from Linux and ns-3 in: the square root is exact,
//! theirs is one Newton step in 16 bits, which is 0.5 where 1/sqrt(2) is meant; `count` rises after
//! a drop, theirs before the test that ends the dropping state.

use crate::discipline::{Discipline, Overflow};
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::port::{PortContext, PortInit};
use forebay_base::{DropReason, Packet, ParamError, Span, Time, require};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Parameters of CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// T: acceptable standing sojourn time in ms, above 0 and at most 10 000. RFC 8289 section 4.3:
    /// 5, or 5 to 10 % of the interval; not below the time of one packet on the link.
    pub target_ms: f64,
    /// I: how long the queue must have been above target before a drop, in ms, above the target and
    /// at most 60 000. RFC 8289 section 4.3: 100, about the longest usual round-trip time.
    pub interval_ms: f64,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Sojourn time above which each ECN-capable packet is marked (rule 7), in ms, at most 10 000;
    /// 0: none. Linux: `ce_threshold`, none by default.
    pub ce_threshold_ms: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { target_ms: 5.0, interval_ms: 100.0, ecn: true, ce_threshold_ms: 0.0 }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        check_times(self.target_ms, self.interval_ms, self.ce_threshold_ms)
    }
}

/// Errors if T, I or the threshold of rule 7 is outside its range.
pub(crate) fn check_times(
    target_ms: f64,
    interval_ms: f64,
    ce_threshold_ms: f64,
) -> Result<(), ParamError> {
    let ce_threshold = (0.0..=10_000.0).contains(&ce_threshold_ms);
    require(ce_threshold, "ce_threshold_ms", "0 to 10000; 0: no threshold")?;
    let target = target_ms > 0.0 && target_ms <= 10_000.0;
    require(target, "target_ms", "above 0, at most 10000")?;
    let interval = interval_ms > target_ms && interval_ms <= 60_000.0;
    require(interval, "interval_ms", "above target_ms, at most 60000")
}

/// Parameters of the control law.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    target: Span,
    interval: Span,
    /// Rule 1: a backlog that does not count as a queue.
    mtu_bytes: u64,
    ecn: bool,
    /// Rule 7; [`Span::MAX`]: none.
    ce_threshold: Span,
}

impl Setting {
    pub(crate) fn new(params: &Params, mtu_bytes: u16) -> Setting {
        let span = |ms: f64| Span::from_secs_f64(ms * 1e-3);
        let given = params.ce_threshold_ms > 0.0;
        Setting {
            target: span(params.target_ms),
            interval: span(params.interval_ms),
            mtu_bytes: mtu_bytes.into(),
            ecn: params.ecn,
            ce_threshold: if given { span(params.ce_threshold_ms) } else { Span::MAX },
        }
    }
    /// I / sqrt(count).
    fn step(&self, count: u32) -> Span {
        // sqrt and division are exact to half a unit in the last place on every machine.
        let ns = self.interval.as_nanos() as f64 / libm::sqrt(f64::from(count));
        Span::from_nanos(ns as u64)
    }
}

/// The source of packets.
pub(crate) trait Source {
    /// The first packet.
    fn pop(&mut self) -> Option<Packet>;
    /// Bytes after it.
    fn bytes(&self) -> u64;
}

impl Source for Fifo {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        Fifo::pop(self)
    }
    #[inline]
    fn bytes(&self) -> u64 {
        Fifo::bytes(self)
    }
}

/// The state of the control law over one queue: rules 1 to 6.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    /// When a drop is allowed if the queue stays above target; [`Time::ZERO`] while it is below.
    allowed_at: Time,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Control {
    /// The next packet to leave. Those before it are dropped.
    #[inline]
    pub(crate) fn dequeue(
        &mut self,
        setting: &Setting,
        queue: &mut impl Source,
        cx: &mut PortContext<'_>,
    ) -> Option<Packet> {
        let mut packet = self.choose(setting, queue, cx)?;
        if cx.now.since(packet.hop_time()) > setting.ce_threshold {
            cx.mark(&mut packet); // rule 7; others leave as they are
        }
        Some(packet)
    }

    /// Rules 1 to 6.
    #[inline]
    fn choose(
        &mut self,
        setting: &Setting,
        queue: &mut impl Source,
        cx: &mut PortContext<'_>,
    ) -> Option<Packet> {
        let packet = queue.pop();
        let allowed = self.allows(setting, packet.as_ref(), queue.bytes(), cx.now);
        if !allowed {
            self.dropping = false; // rule 5
            return packet;
        }
        self.act(setting, packet?, queue, cx)
    }

    /// Rules 1 and 2: may `packet`, with `backlog_bytes` after it, be dropped?
    #[inline]
    fn allows(
        &mut self,
        setting: &Setting,
        packet: Option<&Packet>,
        backlog_bytes: u64,
        now: Time,
    ) -> bool {
        let waited = |packet: &Packet| now.since(packet.hop_time());
        let above = packet.is_some_and(|packet| waited(packet) >= setting.target);
        if !above || backlog_bytes <= setting.mtu_bytes {
            self.allowed_at = Time::ZERO;
            return false;
        }
        if self.allowed_at == Time::ZERO {
            self.allowed_at = now + setting.interval;
            return false;
        }
        now >= self.allowed_at
    }

    /// Rules 3, 4 and 6, where a drop of `packet` is allowed.
    #[inline(never)]
    fn act(
        &mut self,
        setting: &Setting,
        packet: Packet,
        queue: &mut impl Source,
        cx: &mut PortContext<'_>,
    ) -> Option<Packet> {
        if !self.dropping {
            return self.enter(setting, packet, queue, cx);
        }
        let mut next = Some(packet);
        while self.dropping && cx.now >= self.drop_next {
            let mut packet = next?;
            self.count = self.count.saturating_add(1);
            if setting.ecn && cx.mark(&mut packet) {
                self.drop_next += setting.step(self.count);
                return Some(packet);
            }
            cx.drop_packet(packet, DropReason::Early);
            next = queue.pop();
            self.dropping = self.allows(setting, next.as_ref(), queue.bytes(), cx.now);
            if self.dropping {
                self.drop_next += setting.step(self.count);
            }
        }
        next
    }

    /// Rules 3 and 6.
    fn enter(
        &mut self,
        setting: &Setting,
        mut packet: Packet,
        queue: &mut impl Source,
        cx: &mut PortContext<'_>,
    ) -> Option<Packet> {
        let leaves = if setting.ecn && cx.mark(&mut packet) {
            Some(packet)
        } else {
            cx.drop_packet(packet, DropReason::Early);
            let next = queue.pop();
            // The result does not matter: the state is entered in any case.
            self.allows(setting, next.as_ref(), queue.bytes(), cx.now);
            next
        };
        let drops = self.count - self.last_count;
        let recent = cx.now.since(self.drop_next) < setting.interval * 16;
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = cx.now + setting.step(self.count);
        self.dropping = true;
        leaves
    }

    /// Rules 1 and 5 of a queue that is empty.
    #[inline]
    pub(crate) fn on_empty(&mut self) {
        self.allowed_at = Time::ZERO;
        self.dropping = false;
    }
    /// True in the dropping state.
    pub(crate) fn is_dropping(&self) -> bool {
        self.dropping
    }
    /// The count of rules 3, 4 and 6.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

/// See the module.
#[derive(Debug)]
pub struct Codel {
    fifo: Fifo,
    limit: Limit,
    setting: Setting,
    control: Control,
}

impl Codel {
    /// An empty queue of a port.
    pub fn new(params: &Params, init: PortInit) -> Codel {
        let setting = Setting::new(params, init.mtu_bytes);
        let (fifo, control) = (Fifo::default(), Control::default());
        Codel { fifo, limit: init.limit, setting, control }
    }
}

impl Discipline for Codel {
    #[inline]
    fn enqueue(&mut self, packet: Packet, _: &mut PortContext<'_>) -> Result<(), Overflow> {
        if !self.has_room(packet.wire_len()) {
            return Err(Overflow(packet));
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
        self.control.dequeue(&self.setting, &mut self.fifo, cx)
    }
    /// What has not waited is below target, and so is the queue once its last packet has left.
    fn passes_at_once(&self) -> bool {
        true
    }
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    #[inline]
    fn backlog_packets(&self) -> u64 {
        self.fifo.packets()
    }
    fn publish(&self, _: Time, see: &mut dyn FnMut(&'static str, f64)) {
        see("codel_count", f64::from(self.control.count()));
        see("codel_dropping", f64::from(u8::from(self.control.is_dropping())));
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.fifo.clear(reason, cx);
        self.control.on_empty();
    }
}
