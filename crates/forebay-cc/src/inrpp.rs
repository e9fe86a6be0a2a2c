//! INRPP end points (doi:10.1109/TNET.2021.3128384, section III-C): Rene, Ascigil, Psaras and
//! Pavlou, IEEE/ACM Transactions on Networking 2021.
//!
//! The sender has no window: the caches of the routers hold what the path cannot take, and when
//! they fill, routers write on ACKs what they ask for. The receiver puts that option on every ACK,
//! empty; the sender returns the nonce in it on all data, so that routers know the packets meant.
//!
//! 1. Open loop: no limit. The turns that a host gives its flows share its link between them
//!    (processor sharing).
//! 2. Closed loop: `credits = min(credits + 1, 2)` for each ACK packet, duplicates too, and
//!    `credits -= 1` for each packet sent: new data, retransmission or FIN.
//! 3. Each ACK decides: slow-down closes the loop; cancel, or nothing, opens it. An ACK without
//!    the option repeats the last word.
//! 4. Echo: the nonce of the last ACK; none if that ACK said cancel.
//! 5. Timeout: the first segment that is not SACKed is sent again, with credits or without. A flow
//!    that was never slowed down stays in the open loop; another ramps: `cwnd = 1` segment,
//!    `cwnd += min(delivered, 2)` segments for each ACK, which doubles it in a round trip, until a
//!    router asks for something (slow-down or cancel), or the window is no limit any more.
//! 6. Holes: [`LossPolicy::Patient`]. No loss changes what may be sent: caches were there to
//!    prevent congestive ones.
//! 7. No INRPP router on the path, by the count in the option: nobody would hold the excess, and
//!    the flow is one of CUBIC in all respects but the echo and an ACK for every packet. The count
//!    of the SYN-ACK (of the first ACK, for a server) decides; later on 8 ACK packets in a row that
//!    say otherwise do, either way, as routes may change.
//!
//! Windows in bytes, credits in packets.
//!
//! Differs from the paper in: 7; a timeout leads to the ramp and not to full rate, which would meet
//! a cache that is most likely full; routers are counted. From the authors' code (ns-3, 2018),
//! which retransmits nothing: 5, 6; credits are packets, and no more than two are kept, so that a
//! pause is not followed by a burst; a host with several flows shares its link between them.

use crate::controller::{
    Ack, AckPolicy, Congestion, Controller, Init, Limits, Loss, LossPolicy, NextPacket,
    Observation, Recovered, RecoveryOwner, RttView, Sent, Sibling, Stamp, Tag, Timeout,
};
use crate::cubic::{self, Cubic};
use crate::feedback::{AckDemand, DatagramView, Feedback};
use crate::table::{ParamError, require};
use alloc::boxed::Box;
use forebay_base::signal::inrpp::{
    Ask, BACK_PRESSURE_BYTES, BackPressure, ECHO_BYTES, Echo, Nonce,
};
use forebay_base::{MAX_OPTION_BYTES, OptionList, Time};
use serde::{Deserialize, Serialize};

/// Segments that one ACK adds at most in the ramp (RFC 3465 section 2.2: L = 2).
const RAMP_SEGMENTS_PER_ACK: u64 = 2;

/// Parameters of INRPP end points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Most credits that are kept in the closed loop, in packets, at least 1. The paper has a
    /// packet for an ACK and says nothing of credits that find no packet; 2 lets one wait.
    pub max_credits: u32,
    /// ACK packets in a row whose count of routers contradicts what the flow does, before it
    /// changes between INRPP and TCP; at least 1. Not in the paper; 8 are more than what a change
    /// of routes puts out of order.
    pub switch_acks: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { max_credits: 2, switch_acks: 8 }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require(self.max_credits >= 1, "max_credits", "1 or more")?;
        require(self.switch_acks >= 1, "switch_acks", "1 or more")
    }
}

/// What limits a flow whose path has INRPP routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loop {
    Open,
    Closed {
        credits: u32,
    },
    /// After a timeout.
    Ramp {
        cwnd_bytes: u64,
    },
}

/// What the flow is where no router speaks INRPP. On the heap: most flows never need it.
struct Tcp {
    init: Init,
    cubic: Cubic,
}

impl Tcp {
    fn new(init: Init) -> Tcp {
        Tcp { cubic: Cubic::new(&cubic::Params::default(), init.clone()), init }
    }
    /// What CUBIC knew is of another path.
    fn restart(&mut self) {
        self.cubic = Cubic::new(&cubic::Params::default(), self.init.clone());
    }
}

/// The sender of one path.
pub struct Inrpp {
    params: Params,
    mss_bytes: u64,
    /// INRPP routers are on the path.
    pooled: bool,
    /// The option was seen: what it counts no longer decides at once.
    heard: bool,
    /// ACKs in a row that contradict `pooled`.
    contrary: u32,
    /// It was asked to slow down, ever.
    slowed: bool,
    flow: Loop,
    /// What the last timeout took away.
    before_timeout: Option<Loop>,
    nonce: Option<Nonce>,
    /// The echo of `nonce`, ready to be stamped.
    echo: OptionList,
    tcp: Box<Tcp>,
}

fn echo_of(nonce: Option<Nonce>) -> OptionList {
    let mut options = OptionList::EMPTY;
    Echo(nonce).push(&mut options).expect("8 bytes fit into 40");
    options
}

impl Inrpp {
    /// A sender that has heard of no router yet. The parameters must have passed
    /// [`Params::check`].
    pub fn new(params: &Params, init: Init) -> Inrpp {
        Inrpp {
            params: params.clone(),
            mss_bytes: u64::from(init.mss_bytes),
            pooled: false,
            heard: false,
            contrary: 0,
            slowed: false,
            flow: Loop::Open,
            before_timeout: None,
            nonce: None,
            echo: echo_of(None),
            tcp: Box::new(Tcp::new(init)),
        }
    }

    /// Rules 3, 4 and 7.
    fn hear(&mut self, signal: BackPressure) {
        self.count_routers(signal.routers);
        let nonce = signal.nonce.filter(|_| signal.ask != Ask::Cancel);
        if nonce != self.nonce {
            self.nonce = nonce;
            self.echo = echo_of(nonce);
        }
        if signal.ask != Ask::Nothing {
            self.before_timeout = None;
        }
        self.flow = match (self.flow, signal.ask) {
            (closed @ Loop::Closed { .. }, Ask::SlowDown) => closed,
            (_, Ask::SlowDown) => Loop::Closed { credits: 0 },
            (ramp @ Loop::Ramp { .. }, Ask::Nothing) => ramp,
            (_, Ask::Nothing | Ask::Cancel) => Loop::Open,
        };
        self.slowed |= signal.ask == Ask::SlowDown;
    }

    /// Rule 7.
    fn count_routers(&mut self, routers: u8) {
        let first = !core::mem::replace(&mut self.heard, true);
        let pooled = routers > 0;
        if pooled == self.pooled {
            self.contrary = 0;
            return;
        }
        self.contrary += 1;
        if first || self.contrary >= self.params.switch_acks {
            self.pooled = pooled;
            self.contrary = 0;
            if !pooled {
                self.tcp.restart();
            }
        }
    }

    /// An ACK packet came that delivered so many bytes: rules 2 and 5.
    fn take_ack(&mut self, delivered_bytes: u64) {
        match &mut self.flow {
            Loop::Open => {}
            Loop::Closed { credits } => *credits = (*credits + 1).min(self.params.max_credits),
            Loop::Ramp { cwnd_bytes } => {
                *cwnd_bytes += delivered_bytes.min(RAMP_SEGMENTS_PER_ACK * self.mss_bytes);
                if *cwnd_bytes >= Limits::MAX_CWND_BYTES {
                    self.flow = Loop::Open;
                }
            }
        }
    }
}

impl Controller for Inrpp {
    #[inline]
    fn limits(&self) -> Limits {
        if !self.pooled {
            return self.tcp.cubic.limits();
        }
        match self.flow {
            Loop::Open => Limits::window(Limits::MAX_CWND_BYTES),
            Loop::Closed { credits } => Limits {
                credits: Some(u64::from(credits)),
                ..Limits::window(Limits::MAX_CWND_BYTES)
            },
            Loop::Ramp { cwnd_bytes } => Limits::window(cwnd_bytes),
        }
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        if let Some(signal) = options.and_then(BackPressure::find) {
            self.hear(signal);
            self.take_ack(0);
        }
        self.tcp.cubic.on_established(now, rtt, options);
    }

    #[inline]
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        if !self.pooled {
            return self.tcp.cubic.on_sent(now, sent);
        }
        if let Loop::Closed { credits } = &mut self.flow {
            // The retransmission of a timeout leaves without one.
            *credits = credits.saturating_sub(1);
        }
        Tag(0)
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let signal = ack.options.and_then(BackPressure::find);
        if let Some(signal) = signal {
            self.hear(signal);
        }
        // Data of the other direction repeats an ACK number; it is no ACK packet.
        if signal.is_some() || ack.acked_bytes > 0 || ack.duplicate {
            self.take_ack(ack.delivered_bytes);
        }
        if !self.pooled {
            self.tcp.cubic.on_ack(now, ack);
        }
    }

    fn wants_rate(&self) -> bool {
        false
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        if !self.pooled {
            self.tcp.cubic.on_loss(now, loss);
        }
    }

    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        if !self.pooled {
            self.tcp.cubic.on_congestion(now, event);
        }
    }

    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        if !self.pooled {
            self.tcp.cubic.on_recovered(now, end);
        }
    }

    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        if !self.pooled {
            return self.tcp.cubic.on_rto(now, timeout);
        }
        if self.slowed {
            if timeout.first {
                self.before_timeout = Some(self.flow);
            }
            self.flow = Loop::Ramp { cwnd_bytes: self.mss_bytes };
        }
    }

    fn on_spurious(&mut self, now: Time) {
        if !self.pooled {
            return self.tcp.cubic.on_spurious(now);
        }
        if let Some(flow) = self.before_timeout.take() {
            self.flow = flow;
        }
    }

    fn loss_policy(&self) -> Option<LossPolicy> {
        if self.pooled { Some(LossPolicy::Patient) } else { self.tcp.cubic.loss_policy() }
    }

    fn ack_policy(&self) -> Option<AckPolicy> {
        Some(AckPolicy::EveryPacket)
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        if self.pooled { RecoveryOwner::Controller } else { self.tcp.cubic.recovery_owner() }
    }

    fn option_bytes(&self) -> u16 {
        ECHO_BYTES
    }

    #[inline]
    fn stamp(&mut self, _now: Time, _next: &NextPacket) -> Stamp {
        Stamp { options: Some(self.echo), ..Stamp::default() }
    }

    fn next_timeout(&self) -> Option<Time> {
        if self.pooled { None } else { self.tcp.cubic.next_timeout() }
    }

    fn on_timer(&mut self, now: Time) {
        if !self.pooled {
            self.tcp.cubic.on_timer(now);
        }
    }

    fn couple(&mut self, siblings: &[Sibling], me: usize) {
        if !self.pooled {
            self.tcp.cubic.couple(siblings, me);
        }
    }

    fn observe(&self) -> Observation {
        if !self.pooled {
            return self.tcp.cubic.observe();
        }
        let phase = match self.flow {
            Loop::Open => "open",
            Loop::Closed { .. } => "closed",
            Loop::Ramp { .. } => "ramp",
        };
        Observation { ssthresh_bytes: None, phase }
    }
}

/// The receiver of one path: an empty back-pressure option on every ACK of a sender that speaks
/// INRPP, for routers to overwrite. Beside timestamps (10 bytes of 40) and this (10) an ACK has room
/// for two SACK blocks (18); a SYN-ACK holds 9 of its own, 8 of echo and both of these: 37.
pub struct InrppReceiver {
    /// A packet of the peer carried the echo option.
    peer_speaks: bool,
}

impl InrppReceiver {
    /// A receiver that has seen no packet yet.
    pub fn new(_params: &Params) -> InrppReceiver {
        InrppReceiver { peer_speaks: false }
    }
}

impl Feedback for InrppReceiver {
    fn on_datagram(&mut self, _now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        if !self.peer_speaks {
            self.peer_speaks = datagram.options.and_then(Echo::find).is_some();
        }
        AckDemand::Policy
    }

    fn fill(&mut self, _now: Time, options: &mut OptionList) {
        // Where other options leave no room the ACK goes without: the sender keeps to the last word.
        if self.peer_speaks && options.len() + usize::from(BACK_PRESSURE_BYTES) <= MAX_OPTION_BYTES
        {
            BackPressure::default().push(options).expect("the room was computed");
        }
    }
}
