//! INRPP end points (doi:10.1109/TNET.2021.3128384, section III-C): Rene, Ascigil, Psaras and
//! Pavlou, IEEE/ACM Transactions on Networking 2021.
//!
//! The sender has no window: the caches of the routers hold what the path cannot take, and when
//! they fill, routers write back-pressure signals on ACKs. The receiver puts that option on every
//! ACK, empty; the sender echoes its nonce on all data, so that routers know the packets meant.
//!
//! 1. Open loop: no limit but the first flight and sixteen times what has arrived in a round trip;
//!    after a loss without a request, the initial window and once that: whether the path holds is
//!    not known before. The turns that a host gives its flows share its link between them
//!    (processor sharing).
//! 2. Closed loop: `credits = min(credits + 1, 2)` for each segment that an ACK says has arrived,
//!    by its number or by SACK, or for all of up to 64 that one ACK reports, and `credits -= 1` for
//!    each packet sent: new data, retransmission or FIN. Partial segments add up; an ACK that
//!    acknowledges nothing new earns no credit. With nothing in flight no ACK would come: then it
//!    is one credit at least.
//! 3. Each ACK decides. Slow-down closes the loop; pause as well, and is worth no packet, unless
//!    nothing else is in flight. Cancel, or nothing, ends the closed loop in a ramp, never at full
//!    rate: the router that asked has room for little more than before. An ACK without the option
//!    resends the last signal.
//! 4. Echo: the nonce of the last ACK; none if that ACK said cancel.
//! 5. Ramp: `cwnd += min(delivered, 2)` segments for each ACK up to 4, which doubles it in a round
//!    trip, `min(delivered, 8) / 4` from there on, until a router asks or the window no longer
//!    limits. `cwnd -= lost`, at least 1: losses were in no cache, though they counted as in
//!    flight. It begins with `cwnd = max(in flight, allowance, 1)` segments. An ACK with an
//!    allowance begins it in the open loop too, the SYN-ACK for instance: a congested router has
//!    room for that many packets of the flow. Timeout: the first segment that is not SACKed is
//!    retransmitted, with credits or without. A flow that no router ever slowed down or gave an
//!    allowance stays in the open loop; another begins the ramp with 1 segment.
//! 6. Holes: [`LossPolicy::HoldTolerant`]. Losses change what may be sent as 1 and 5 say: caches
//!    were there to prevent congestive ones. Without SACK duplicate ACKs earn nothing, and the
//!    repair of a loss needs no credit. Routers say whether they know a detour; where none does, a
//!    hole is a loss after a quarter of an RTT.
//! 7. No INRPP router on the path, by the count in the option: none would hold the excess, and the
//!    flow is one of CUBIC in all respects. Its data carry the empty echo of delayed ACKs, so
//!    that its receiver acknowledges as the configuration says, and not every packet. The count
//!    of the SYN-ACK (of the first ACK, for a server) decides; later on 8 ACK packets in a row that
//!    say otherwise do, either way, as routes may change.
//! 8. A bottleneck without INRPP between INRPP routers: they are counted, but none holds. A cache
//!    that drops has asked before; where of the last 256 to 1 024 packets more than one in eight
//!    was lost, and no router had asked since those had been sent, the flow is one of CUBIC too,
//!    until a router asks it. The longest run of packets lost one after the other does not count:
//!    a router that restarts loses what it holds of a flow, once. Of a flow that no router has
//!    asked 32 packets are enough, and runs count: what a drop-tail queue drops of a flow that
//!    sends at the rate of its interface is a run. It begins with what was
//!    delivered in the last round trip as its window: from the initial one, repairing that many
//!    losses, for which no window grows, would take for ever.
//! 9. While ACKs bring a nonce the retransmission timeout is `held_rto_s` or more, or what the
//!    deepest cache holds where that is known to be less and no detour was used, less a quarter for
//!    each RTT sample since the first nonce: the round trips so far, that of the SYN above all, say
//!    nothing of those through a full cache.
//! 10. A flow in the open loop that was never asked does not wait for losses: as soon as more than
//!     one in eight of 64 packets or more, from the last time that nothing was missing to the
//!     newest that has arrived, is missing, it has no more in flight than then. A detour brings
//!     what is late within 300 ms: all that is acknowledged then, whatever is late by then. If it
//!     does not, the flow is one of CUBIC, as in 8.
//!
//! 11. With `notify_on_data` requests travel through the receiver, whatever path its ACKs take:
//!     data carry an empty notice instead of the echo, the routers that they pass overwrite it, and
//!     the sender handles what the receiver returns like back-pressure on an ACK. No router holds
//!     the flow: the sender alone paces it.
//! 12. A SYN and the SYN-ACK carry a digest of the routers and ports that they pass, instead of the
//!     echo. Where it tells the client that they differ, its data carry notices, as in 11. The
//!     server learns nothing of that: data of its own carry the echo. Nor is a change of routes
//!     noticed later on.
//!
//! 13. The window of a SYN-ACK is not scaled (RFC 7323 section 2.2), and a round trip is long
//!     where it would be filled by more than 65 535 bytes. So the receiver sends an ACK with the
//!     scaled window right after the SYN-ACK, and routers write on a SYN-ACK on which nobody asks
//!     anything for how many packets of the flow they have room. The first flight has that
//!     many, and 65 535 bytes in any case.
//!
//! 14. Where a router says that the path has one without INRPP next to it, a flow that no router
//!     has asked is one of CUBIC, with the same echo: a short queue there drops what a first
//!     flight would fill. Its first loss makes that final for as long as the router says so,
//!     whoever asks: routers before the plain one hold what they cannot send, but what that drops
//!     may be a packet of TCP that joined there. One that they hold, and that has eight packets in
//!     flight or more, is acknowledged as TCP is: the plain one may send ACKs over a narrow link,
//!     and does not thin them.
//!
//! Windows in bytes, credits in packets. What the receiver offers still binds: its buffer, and that
//! of the sender, must hold the flow.
//!
//! Differs from the paper in: 7 to 14; pause and allowances; the closed loop ends in the ramp, and
//! a timeout leads to it, and not to full rate, which would meet a cache that is most likely full;
//! routers are counted. From the authors' code (ns-3, 2018), which retransmits nothing and ignores
//! the receiver's window: 5, 6; credits are packets, and no more than two are kept, so that a pause
//! is not followed by a burst; a host with several flows shares its link between them.

mod fate;
mod receiver;

use fate::Fate;
pub use receiver::InrppReceiver;

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, Controller, HeaderEdits, Init, Limits, Loss, LossPolicy, NextPacket,
    Recovered, RecoveryOwner, RttView, Sent, Sibling, Tag, Timeout, Traits,
};
use crate::cubic::{self, Cubic};
use alloc::boxed::Box;
use forebay_base::require;
use forebay_base::{OptionList, Span, Time};
use forebay_signal::inrpp::guard::GUARDED_BYTES;
use forebay_signal::inrpp::{
    BACK_PRESSURE_BYTES, BackPressure, BackPressureSignal, ECHO_BYTES, Echo, FIRST_FLIGHT_BYTES,
    Nonce, Notice, PathDigest, Returned,
};
use serde::{Deserialize, Serialize};

/// Credits that one ACK is worth at most.
const MOST_CREDITS: u64 = 64;
/// Segments that one ACK adds at most in the ramp (RFC 3465 section 2.2: L = 2).
const RAMP_SEGMENTS_PER_ACK: u64 = 2;
/// Segments up to which the ramp doubles in a round trip.
const RAMP_SMALL_SEGMENTS: u64 = 4;
/// From there on, arrivals per segment of growth. A cache that holds a round trip or less of its
/// link exceeds S_high before its request arrives: doubled windows would exceed it by a whole
/// cache.
const RAMP_PART: u64 = 4;

/// From so many segments in flight on a second one follows before the receiver's timer.
const DELAYING_SEGMENTS: u64 = 8;

/// The open loop has in flight no more than so many times what arrived in a round trip.
const OPEN_ROUNDS: u64 = 16;

/// Parameters of INRPP end points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Most credits that are kept in the closed loop, in packets, at least 1. The paper has a
    /// packet for an ACK and says nothing of credits that find no packet; 2 lets one wait, for
    /// instance after a lost ACK.
    pub max_credits: u32,
    /// ACK packets in a row whose count of routers contradicts what the flow does, before it
    /// changes between INRPP and TCP; at least 1. Not in the paper; 8 are more than what a change
    /// of routes puts out of order.
    pub switch_acks: u32,
    /// Retransmission timeout, in seconds, of a flow whose ACKs bring a nonce, until a packet is
    /// acknowledged that left after the first of them; 1 to 60. Not in the paper. What waits its
    /// turn in a full cache, after a packet of each other flow, waits for no longer than the cache
    /// is deep: 10 s by default, and less where the margin rule makes all caches less deep.
    pub held_rto_s: u32,
    /// True if routers write their requests on data, which the receiver returns on its ACKs: for
    /// paths whose ACKs return on another path. Without this flows do so whose SYN-ACK came over
    /// other INRPP routers or links than the SYN. Takes 10 bytes of a data packet instead of 8.
    /// Routers then hold nothing of the flow for those downstream. Not in the paper.
    pub notify_on_data: bool,
    /// The depth of the deepest cache at which it asks, where that is known. Not a key of
    /// scenarios: the margin rule says it.
    #[serde(skip)]
    pub cache_depth: Option<Span>,
    /// Back-pressure and notices have room for the code of a router. Not a key of scenarios: so
    /// where links have keys.
    #[serde(skip)]
    pub guarded: bool,
    /// What its end points do that they should not. Not a key of scenarios: attacks set it.
    #[serde(skip)]
    pub misbehaves: Misbehaviour,
}

/// What end points do to be faster than others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Nothing.
    #[default]
    None,
    /// The sender takes no notice of requests: it sends at the rate of its interface for ever.
    GreedySender,
    /// The receiver acknowledges each packet in so many parts.
    SplitAcks(u8),
    /// The receiver puts this on its ACKs.
    ForgingReceiver(BackPressure),
}

impl Default for Params {
    fn default() -> Params {
        Params {
            max_credits: 2,
            switch_acks: 8,
            held_rto_s: 10,
            notify_on_data: false,
            cache_depth: None,
            guarded: false,
            misbehaves: Misbehaviour::None,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require(self.max_credits >= 1, "max_credits", "1 or more")?;
        require(self.switch_acks >= 1, "switch_acks", "1 or more")?;
        require((1..=60).contains(&self.held_rto_s), "held_rto_s", "1 to 60")
    }
}

/// The limit of a flow whose path has INRPP routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loop {
    Open,
    Closed {
        credits: u32,
        /// Delivered, and less than a segment.
        owed_bytes: u64,
    },
    /// After the closed loop, or a timeout.
    Ramp {
        cwnd_bytes: u64,
    },
}

/// Mode of the flow where no router holds for it, and the evidence for it. On the heap, with what
/// else is seldom needed.
struct Tcp {
    params: Params,
    init: Init,
    cubic: Cubic,
    fate: Fate,
    /// What the last timeout took away.
    before_timeout: Option<Loop>,
    /// What may be in flight before anything has arrived: rule 13.
    first_flight_bytes: u64,
    /// A router of the path has said that it knows a detour: packets may come late.
    detours: bool,
    /// One has a router without INRPP next to it on the path: rule 14.
    foreign: bool,
    /// A duplicate ACK has reported what arrived.
    sacks: bool,
}

impl Tcp {
    fn new(params: &Params, init: Init) -> Tcp {
        let cubic = Cubic::new(&cubic::Params::default(), init.clone());
        Tcp {
            params: params.clone(),
            cubic,
            init,
            fate: Fate::default(),
            before_timeout: None,
            first_flight_bytes: FIRST_FLIGHT_BYTES,
            detours: false,
            foreign: false,
            sacks: false,
        }
    }
    /// What CUBIC knew is of another path.
    fn restart(&mut self) {
        self.cubic = Cubic::new(&cubic::Params::default(), self.init.clone());
    }
}

/// The sender of one path.
pub struct Inrpp {
    mss_bytes: u64,
    /// INRPP routers are on the path, and hold what it cannot take.
    pooled: bool,
    /// They are on the path, and do not.
    unheld: bool,
    /// False if the flow sends as TCP does: rules 7, 8 and 14.
    held: bool,
    /// The option was seen: what it counts no longer decides at once.
    heard: bool,
    /// ACKs in a row that contradict `pooled`.
    contrary: u32,
    /// A router has asked it to slow down, or given it an allowance, ever.
    slowed: bool,
    flow: Loop,
    nonce: Option<Nonce>,
    /// Not every packet needs an ACK: rule 14.
    delays: bool,
    /// The least timeout while ACKs bring a nonce; None before the first: rule 9.
    held_rto: Option<Span>,
    /// It has sent a SYN: it is the client.
    opens: bool,
    /// Data carry notices: rules 11 and 12.
    notifies: bool,
    /// The echo of `nonce`, or an empty notice, ready to be written.
    option: OptionList,
    tcp: Box<Tcp>,
}

fn echo_of(nonce: Option<Nonce>) -> OptionList {
    let mut options = OptionList::EMPTY;
    Echo(nonce).push(&mut options).expect("8 bytes fit into 40");
    options
}

/// The same, and not every packet needs an ACK.
fn delayed_echo_of(nonce: Option<Nonce>) -> OptionList {
    let mut options = OptionList::EMPTY;
    Echo(nonce).push_delayed(&mut options).expect("8 bytes fit into 40");
    options
}

fn empty_notice(params: &Params) -> OptionList {
    let (mut options, notice) = (OptionList::EMPTY, Notice::default());
    let pushed =
        if params.guarded { notice.push_guarded(&mut options) } else { notice.push(&mut options) };
    pushed.expect("17 bytes fit into 40");
    options
}

impl Inrpp {
    /// A sender that has heard of no router yet. The parameters must have passed
    /// [`Params::check`].
    pub fn new(params: &Params, init: Init) -> Inrpp {
        Inrpp {
            mss_bytes: u64::from(init.mss_bytes),
            pooled: false,
            held: false,
            unheld: false,
            heard: false,
            contrary: 0,
            slowed: false,
            flow: Loop::Open,
            nonce: None,
            delays: false,
            held_rto: None,
            opens: false,
            notifies: params.notify_on_data,
            option: if params.notify_on_data { empty_notice(params) } else { echo_of(None) },
            tcp: Box::new(Tcp::new(params, init)),
        }
    }

    /// What an ACK brings, by the way that the flow uses: rule 11.
    #[inline]
    fn signal(&self, options: &OptionList) -> Option<BackPressure> {
        let signal = if self.notifies {
            Returned::find(options).map(|Returned(signal)| signal)
        } else {
            BackPressure::find(options)
        };
        if self.is_greedy() {
            return signal.map(|_| BackPressure { routers: 1, ..BackPressure::default() });
        }
        signal
    }
    /// What data carry from now on, unless that is notices.
    fn renew_echo(&mut self) {
        if !self.notifies {
            self.option = match (self.held, self.delays) {
                (true, false) => echo_of(self.nonce),
                (true, true) => delayed_echo_of(self.nonce),
                (false, _) => delayed_echo_of(None),
            };
        }
    }
    /// What decides whether the flow is held has changed.
    fn settle(&mut self) {
        self.held = self.pooled && (self.slowed || !self.tcp.foreign);
        self.renew_echo();
    }
    fn is_greedy(&self) -> bool {
        self.tcp.params.misbehaves == Misbehaviour::GreedySender
    }

    /// Rule 12: what a SYN carries. The receiver half puts the digest on the SYN-ACK.
    fn on_syn(&mut self, next: &NextPacket) -> Option<OptionList> {
        if next.reply {
            return None;
        }
        self.opens = true;
        let mut options = OptionList::EMPTY;
        PathDigest::default().push(&mut options).expect("8 bytes fit into 40");
        Some(options)
    }

    /// Rule 13: a SYN-ACK came with this.
    fn on_syn_ack(&mut self, signal: BackPressure) -> BackPressure {
        let asks = signal.nonce.is_some() || signal.ask != BackPressureSignal::Nothing;
        if asks {
            return signal;
        }
        let offered_bytes = u64::from(signal.allowance) * self.mss_bytes;
        self.tcp.first_flight_bytes = offered_bytes.max(FIRST_FLIGHT_BYTES);
        BackPressure { allowance: 0, ..signal }
    }

    /// Rules 3, 4 and 7; `in_flight_bytes` is from before the ACK.
    fn hear(&mut self, now: Time, signal: BackPressure, in_flight_bytes: u64) {
        let turned = self.tcp.foreign != signal.foreign;
        self.tcp.foreign = signal.foreign;
        if self.unheld
            && !signal.foreign
            && (signal.ask == BackPressureSignal::SlowDown
                || signal.ask == BackPressureSignal::Pause)
        {
            self.come_back();
        }
        self.count_routers(signal.routers);
        if signal.detours && !self.tcp.detours {
            // What is sent round comes later than caches hold it.
            (self.tcp.detours, self.held_rto) = (true, None);
        }
        if signal.nonce.is_some() {
            self.tcp.fate.asked_at = Some(now);
        }
        let nonce = signal.nonce.filter(|_| signal.ask != BackPressureSignal::Cancel);
        if nonce != self.nonce {
            self.nonce = nonce;
            self.renew_echo();
        }
        if nonce.is_some() {
            let most = Span::from_secs(self.tcp.params.held_rto_s.into());
            let known = self.tcp.params.cache_depth.filter(|_| !self.tcp.detours);
            let held_rto = known.unwrap_or(most).min(most);
            self.held_rto.get_or_insert(held_rto);
        }
        if signal.ask != BackPressureSignal::Nothing {
            self.tcp.before_timeout = None;
        }
        let allowed_bytes = u64::from(signal.allowance) * self.mss_bytes;
        let from_bytes = in_flight_bytes.max(allowed_bytes).max(self.mss_bytes);
        self.flow = match (self.flow, signal.ask) {
            (
                closed @ Loop::Closed { .. },
                BackPressureSignal::SlowDown | BackPressureSignal::Pause,
            ) => closed,
            (_, BackPressureSignal::SlowDown | BackPressureSignal::Pause) => {
                Loop::Closed { credits: 0, owed_bytes: 0 }
            }
            (Loop::Ramp { cwnd_bytes }, _) => {
                Loop::Ramp { cwnd_bytes: cwnd_bytes.max(allowed_bytes) }
            }
            (Loop::Open, _) if signal.allowance == 0 => Loop::Open,
            (Loop::Open | Loop::Closed { .. }, _) => Loop::Ramp { cwnd_bytes: from_bytes },
        };
        let asked = matches!(signal.ask, BackPressureSignal::SlowDown | BackPressureSignal::Pause);
        let slows = asked || signal.allowance > 0;
        if turned || slows && !self.slowed {
            self.turn(slows);
        }
    }
    /// Rule 14: which packets need an ACK. The path has a router without INRPP, or had one.
    #[cold]
    fn settle_acks(&mut self, in_flight_bytes: u64) {
        let delays = self.tcp.foreign && in_flight_bytes >= DELAYING_SEGMENTS * self.mss_bytes;
        if delays != self.delays {
            self.delays = delays;
            self.renew_echo();
        }
    }
    /// The path has a router without INRPP, or has none any more; or one slows it down.
    #[cold]
    fn turn(&mut self, slows: bool) {
        let was_held = self.held;
        self.slowed |= slows;
        self.settle();
        if was_held && !self.held {
            self.leave_to_cubic();
        }
    }

    /// Rule 7.
    fn count_routers(&mut self, routers: u8) {
        let first = !core::mem::replace(&mut self.heard, true);
        let pooled = routers > 0 && !self.unheld;
        if pooled == self.pooled {
            self.contrary = 0;
            return;
        }
        self.contrary += 1;
        if first || self.contrary >= self.tcp.params.switch_acks {
            self.pooled = pooled;
            self.contrary = 0;
            self.settle();
            if !pooled {
                self.tcp.restart();
            }
        }
    }

    /// Rules 8 and 14.
    fn note_loss(&mut self, loss: &Loss) {
        match &mut self.flow {
            Loop::Open => {}
            // Duplicates have earned none.
            Loop::Closed { credits, .. } if !self.tcp.sacks => *credits = (*credits).max(1),
            Loop::Closed { .. } => {}
            Loop::Ramp { cwnd_bytes } => {
                let left = cwnd_bytes.saturating_sub(u64::from(loss.bytes));
                *cwnd_bytes = left.max(self.mss_bytes);
            }
        }
        if self.tcp.foreign {
            return self.fall_back();
        }
        let fate = &mut self.tcp.fate;
        if fate.asked_at.is_some_and(|asked_at| asked_at >= loss.sent_at) {
            return;
        }
        fate.on_lost(loss);
        if fate.is_unheld(self.mss_bytes) { self.fall_back() } else { fate.age(self.mss_bytes) }
    }
    /// Rule 1: what may be in flight in the open loop.
    #[inline]
    fn open_bytes(&self) -> u64 {
        let Tcp { init, fate, first_flight_bytes, .. } = &*self.tcp;
        let round_bytes = fate.arrived_bytes();
        let bytes = match fate.lost_bytes {
            0 => first_flight_bytes.saturating_add(round_bytes.saturating_mul(OPEN_ROUNDS)),
            _ => init.initial_window_bytes.saturating_add(round_bytes),
        };
        bytes.min(Limits::MAX_CWND_BYTES)
    }
    /// No router holds the excess: the flow is one of CUBIC.
    fn fall_back(&mut self) {
        if self.is_greedy() {
            return;
        }
        (self.pooled, self.unheld) = (false, true);
        self.settle();
        self.leave_to_cubic();
    }
    /// CUBIC begins with what was delivered in the last round trip.
    fn leave_to_cubic(&mut self) {
        let Tcp { init, fate, .. } = &mut *self.tcp;
        init.initial_window_bytes = init.initial_window_bytes.max(fate.arrived_bytes());
        *fate = Fate::default();
        self.tcp.restart();
    }
    /// A flow that sends as TCP does has lost a packet: rule 14.
    fn note_tcp_loss(&mut self) {
        debug_assert!(!self.held, "its losses are CUBIC's");
        if self.tcp.foreign && !self.is_greedy() {
            (self.pooled, self.unheld) = (false, true);
        }
    }
    /// A router does hold the excess: it has asked.
    fn come_back(&mut self) {
        (self.pooled, self.unheld, self.contrary) = (true, false, 0);
        self.settle();
    }

    /// An ACK delivered `delivered_bytes` and left `in_flight_bytes` in flight: rules 2, 3 and 5.
    fn take_ack(&mut self, delivered_bytes: u64, in_flight_bytes: u64, paused: bool) {
        match &mut self.flow {
            Loop::Open => {}
            Loop::Closed { credits, owed_bytes } => {
                if !paused {
                    *owed_bytes += delivered_bytes;
                    let segments = (*owed_bytes / self.mss_bytes).min(MOST_CREDITS) as u32;
                    *owed_bytes %= self.mss_bytes;
                    let most = self.tcp.params.max_credits.max(segments);
                    *credits = (*credits + segments).min(most).max(*credits);
                }
                if in_flight_bytes == 0 {
                    *credits = (*credits).max(1);
                }
            }
            Loop::Ramp { cwnd_bytes } => {
                let small = *cwnd_bytes < RAMP_SMALL_SEGMENTS * self.mss_bytes;
                let part = if small { 1 } else { RAMP_PART };
                let most = RAMP_SEGMENTS_PER_ACK * part * self.mss_bytes;
                *cwnd_bytes += delivered_bytes.min(most) / part;
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
        if !self.held {
            return self.tcp.cubic.limits();
        }
        match self.flow {
            Loop::Open => {
                let wary = self.tcp.fate.missing.map(|missing| missing.in_flight_bytes);
                Limits::window(wary.unwrap_or(u64::MAX).min(self.open_bytes()))
            }
            Loop::Closed { credits, .. } => Limits {
                credits: Some(u64::from(credits)),
                ..Limits::window(Limits::MAX_CWND_BYTES)
            },
            Loop::Ramp { cwnd_bytes } => Limits::window(cwnd_bytes),
        }
    }
    fn traits(&self) -> Traits {
        let notice_bytes =
            if self.tcp.params.guarded { GUARDED_BYTES } else { BACK_PRESSURE_BYTES };
        let option_bytes = if self.notifies { notice_bytes } else { ECHO_BYTES };
        Traits { wants_rate: false, option_bytes, ..Traits::default() }
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        // The one that a server finds is that of the SYN alone.
        let answered = options.filter(|_| self.opens).and_then(PathDigest::find);
        if answered.is_some_and(|digest| digest != PathDigest::default()) {
            (self.notifies, self.option) = (true, empty_notice(&self.tcp.params));
        }
        if let Some(signal) = options.and_then(|options| self.signal(options)) {
            let signal = if self.opens { self.on_syn_ack(signal) } else { signal };
            self.hear(now, signal, 0);
            self.take_ack(0, 0, false);
        }
        self.renew_echo();
        self.tcp.cubic.on_established(now, rtt, options);
    }

    #[inline]
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        if !self.held {
            return self.tcp.cubic.on_sent(now, sent);
        }
        if let Loop::Closed { credits, .. } = &mut self.flow {
            // The retransmission of a timeout leaves without one.
            *credits = credits.saturating_sub(1);
        }
        // Caches serve a repair first: it says nothing of what was sent before it.
        if sent.retransmission {
            return Tag(0);
        }
        let fate = &mut self.tcp.fate;
        fate.sent_bytes += u64::from(sent.bytes);
        Tag(fate.sent_bytes)
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let signal = ack.options.and_then(|options| self.signal(options));
        if let Some(signal) = signal {
            self.hear(now, signal, ack.prior_in_flight_bytes);
        }
        if let (Some(rto), Some(_)) = (&mut self.held_rto, ack.rtt_sample) {
            *rto = rto.mul_div(3, 4); // rule 9
        }
        self.tcp.sacks |= ack.duplicate && ack.delivered_bytes > 0;
        if self.pooled {
            self.tcp.fate.on_delivered(now, &ack.rtt, ack.delivered_bytes);
            self.tcp.fate.age(self.mss_bytes);
            if self.slowed {
                self.tcp.fate.missing = None;
                if self.tcp.foreign || self.delays {
                    self.settle_acks(ack.prior_in_flight_bytes);
                }
            } else if self.held && self.tcp.fate.misses(now, ack, self.mss_bytes) {
                self.fall_back();
            }
        }
        // Data of the other direction repeats an ACK number; it is not an ACK packet.
        if signal.is_some() || ack.acked_bytes > 0 || ack.duplicate {
            let paused = signal.is_some_and(|signal| signal.ask == BackPressureSignal::Pause);
            self.take_ack(ack.delivered_bytes, ack.in_flight_bytes, paused);
        }
        if !self.held {
            self.tcp.cubic.on_ack(now, ack);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        if self.held {
            return self.note_loss(loss);
        }
        self.note_tcp_loss();
        self.tcp.cubic.on_loss(now, loss);
    }

    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        if !self.held {
            self.tcp.cubic.on_congestion(now, event);
        }
    }

    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        if !self.held {
            self.tcp.cubic.on_recovered(now, end);
        }
    }

    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        if self.held && self.tcp.foreign {
            self.fall_back(); // a loss, most likely
        }
        if !self.held {
            self.note_tcp_loss();
            return self.tcp.cubic.on_rto(now, timeout);
        }
        if self.slowed {
            if timeout.first {
                self.tcp.before_timeout = Some(self.flow);
            }
            self.flow = Loop::Ramp { cwnd_bytes: self.mss_bytes };
        }
    }

    fn on_spurious(&mut self, now: Time) {
        if !self.held {
            return self.tcp.cubic.on_spurious(now);
        }
        if let Some(flow) = self.tcp.before_timeout.take() {
            self.flow = flow;
        }
    }

    fn loss_policy(&self) -> Option<LossPolicy> {
        if self.held { Some(LossPolicy::HoldTolerant) } else { self.tcp.cubic.loss_policy() }
    }

    fn rto_floor(&self) -> Span {
        let holds = self.pooled && self.nonce.is_some() && !self.tcp.foreign;
        self.held_rto.filter(|_| holds).unwrap_or(Span::ZERO)
    }

    fn path_keeps_order(&self) -> bool {
        self.heard && !self.tcp.detours
    }

    fn longest_hold(&self) -> Span {
        self.tcp.params.cache_depth.unwrap_or(Span::MAX)
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        if self.held { RecoveryOwner::Controller } else { self.tcp.cubic.recovery_owner() }
    }

    #[inline]
    fn edit_header(&mut self, _now: Time, next: &NextPacket) -> HeaderEdits {
        let options =
            if next.syn && !self.notifies { self.on_syn(next) } else { Some(self.option) };
        HeaderEdits { options, ..HeaderEdits::default() }
    }

    fn next_timeout(&self) -> Option<Time> {
        if self.held { None } else { self.tcp.cubic.next_timeout() }
    }

    fn on_timer(&mut self, now: Time) {
        if !self.held {
            self.tcp.cubic.on_timer(now);
        }
    }

    fn couple(&mut self, siblings: &[Sibling], me: usize) {
        if !self.held {
            self.tcp.cubic.couple(siblings, me);
        }
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        if self.held { None } else { self.tcp.cubic.ssthresh_bytes() }
    }

    fn phase(&self) -> &'static str {
        if !self.held {
            return self.tcp.cubic.phase();
        }
        match self.flow {
            Loop::Open => "open",
            Loop::Closed { .. } => "closed",
            Loop::Ramp { .. } => "ramp",
        }
    }
}

#[cfg(test)]
mod tests;
