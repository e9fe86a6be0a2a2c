//! INRPP end points (doi:10.1109/TNET.2021.3128384, section III-C): Rene, Ascigil, Psaras and
//! Pavlou, IEEE/ACM Transactions on Networking 2021.
//!
//! The sender has no window: the caches of the routers hold what the path cannot take, and when
//! they fill, routers write on ACKs what they ask for. The receiver puts that option on every ACK,
//! empty; the sender returns the nonce in it on all data, so that routers know the packets meant.
//!
//! 1. Open loop: no limit. The turns that a host gives its flows share its link between them
//!    (processor sharing).
//! 2. Closed loop: `credits = min(credits + 1, 2)` for each segment that an ACK says has arrived,
//!    by its number or by SACK, and `credits -= 1` for each packet sent: new data, retransmission
//!    or FIN. What an ACK tells of in parts is added up; one that tells of nothing new is no
//!    credit. With nothing in flight no ACK would come: then it is one credit at least.
//! 3. Each ACK decides. Slow-down closes the loop; pause as well, and is worth no packet, unless
//!    nothing else is in flight. Cancel, or nothing, ends the closed loop in a ramp, never at full
//!    rate: who asked has room for little more than what he had. An ACK without the option repeats
//!    the last word.
//! 4. Echo: the nonce of the last ACK; none if that ACK said cancel.
//! 5. Ramp: `cwnd += min(delivered, 2)` segments for each ACK up to 4, which doubles it in a round
//!    trip, and a quarter of that from there on, until a router asks, or the window is no limit any
//!    more. `cwnd -= lost`, at least 1: what is lost was in no cache, though it counted as in
//!    flight. It begins with
//!    `cwnd = max(in flight, allowance, 1)` segments. An ACK with an allowance begins it in the
//!    open loop too, the SYN-ACK for instance: a congested router has room for so many packets of
//!    the flow. Timeout: the first segment that is not SACKed is sent again, with credits or
//!    without. A flow that no router ever slowed down or gave an allowance stays in the open loop;
//!    another begins the ramp with 1 segment.
//! 6. Holes: [`LossPolicy::Patient`]. No loss changes what may be sent: caches were there to
//!    prevent congestive ones.
//! 7. No INRPP router on the path, by the count in the option: nobody would hold the excess, and
//!    the flow is one of CUBIC in all respects but the echo and an ACK for every packet. The count
//!    of the SYN-ACK (of the first ACK, for a server) decides; later on 8 ACK packets in a row that
//!    say otherwise do, either way, as routes may change.
//! 8. A bottleneck between routers that speak no INRPP: they are counted, and nobody holds. A cache
//!    that drops has asked before; where of the last 256 to 1 024 packets more than one in eight
//!    was lost, and nobody had asked since those had been sent, the flow is one of CUBIC as well,
//!    until a router asks it. It begins with what was delivered in the last round trip as its
//!    window: with the initial one the repair of so many losses, for which no window grows, would
//!    take for ever.
//! 9. While ACKs bring a nonce the retransmission timeout is `held_rto_s` or more, less a quarter
//!    for each RTT sample since the first nonce: the round trips so far, that of the SYN above all,
//!    say nothing of those through a full cache.
//! 10. A flow in the open loop that was never asked does not wait for losses: as soon as more than
//!     one in eight of 64 packets or more, from the last time that nothing was missing to the
//!     newest that has arrived, is missing, it has no more in flight than then. A detour brings
//!     what is late within 300 ms; if it does not, the flow is one of CUBIC, as in 8.
//!
//! 11. With `notify_on_data` the requests come by way of the receiver, whatever way its ACKs take:
//!     data carry an empty notice instead of the echo, the routers that they pass overwrite it, and
//!     what the receiver returns is heard as what stands on an ACK otherwise. No router holds the
//!     flow: the sender alone paces it.
//!
//! Windows in bytes, credits in packets. What the receiver offers still binds: its buffer, and that
//! of the sender, must hold the flow; and the first flight has 65 535 bytes at most, as the window
//! of a SYN-ACK is not scaled (RFC 7323 section 2.2).
//!
//! Differs from the paper in: 7 to 11; pause and allowances; the closed loop ends in the ramp, and
//! a timeout leads to it, and not to full rate, which would meet a cache that is most likely full;
//! routers are counted. From the authors' code (ns-3, 2018), which retransmits nothing and ignores
//! the receiver's window: 5, 6; credits are packets, and no more than two are kept, so that a pause
//! is not followed by a burst; a host with several flows shares its link between them.

use crate::ParamError;
use crate::controller::{
    Ack, AckPolicy, Congestion, Controller, Init, Limits, Loss, LossPolicy, NextPacket, Recovered,
    RecoveryOwner, RttView, Sent, Sibling, Stamp, Tag, Timeout,
};
use crate::cubic::{self, Cubic};
use crate::feedback::{AckDemand, DatagramView, Feedback};
use crate::require::require;
use alloc::boxed::Box;
use forebay_base::{MAX_OPTION_BYTES, OptionList, Span, Time};
use forebay_signal::inrpp::{
    Ask, BACK_PRESSURE_BYTES, BackPressure, ECHO_BYTES, Echo, Nonce, Notice, Returned,
};
use serde::{Deserialize, Serialize};

/// Segments that one ACK adds at most in the ramp (RFC 3465 section 2.2: L = 2).
const RAMP_SEGMENTS_PER_ACK: u64 = 2;
/// Up to so many segments the ramp doubles in a round trip.
const RAMP_SMALL_SEGMENTS: u64 = 4;
/// From there on it grows by one segment for so many that arrive. A cache that holds a round trip
/// or less of its link is over S_high before its request has come: doubled, all windows together
/// have one cache too much then.
const RAMP_PART: u64 = 4;

/// Packets, lost or delivered, before their losses say anything: rule 8.
const JUDGED_PACKETS: u64 = 256;
/// Of as many, half of what was counted is forgotten.
const REMEMBERED_PACKETS: u64 = 1024;
/// Packets up to the newest that has arrived, before those that are missing say anything: rule 10.
const SEEN_PACKETS: u64 = 64;
/// A detour brings packets late by less than that.
const LATENESS: Span = Span::from_millis(300);
/// A path on which more than one packet in so many is lost unasked does not hold its excess. Radio
/// links lose less.
const LOSS_SHARE: u64 = 8;

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
    /// turn in a full cache, behind a packet of each other flow, waits for no longer than the cache
    /// is deep: 10 s by default.
    pub held_rto_s: u32,
    /// True if routers write their requests on data, which the receiver returns on its ACKs: for
    /// paths whose ACKs come back by another way. Takes 10 bytes of a data packet instead of 8.
    /// Routers then hold nothing of the flow for those downstream. Not in the paper.
    pub notify_on_data: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { max_credits: 2, switch_acks: 8, held_rto_s: 10, notify_on_data: false }
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

/// What limits a flow whose path has INRPP routers.
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

/// What the flow is where no router holds for it, and what that is seen by. On the heap: most flows
/// never need it.
struct Tcp {
    init: Init,
    cubic: Cubic,
    fate: Fate,
}

impl Tcp {
    fn new(init: Init) -> Tcp {
        let cubic = Cubic::new(&cubic::Params::default(), init.clone());
        Tcp { cubic, init, fate: Fate::default() }
    }
    /// What CUBIC knew is of another path.
    fn restart(&mut self) {
        self.cubic = Cubic::new(&cubic::Params::default(), self.init.clone());
    }
}

/// What became of packets while routers were counted: rule 8.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    delivered_bytes: u64,
    /// Lost, though nobody had asked since they were sent.
    lost_bytes: u64,
    /// When an ACK brought a nonce last.
    asked_at: Option<Time>,
    /// When the current round trip began, and what was delivered in it and in the one before.
    round: (Time, u64),
    round_bytes: u64,
    /// Rule 10. All that was sent, and up to which the newest that has arrived goes.
    sent_bytes: u64,
    newest_bytes: u64,
    /// The same, and what had arrived, when nothing was missing last.
    whole: (u64, u64),
    /// Since when too much is missing, and what was in flight then.
    missing: Option<(Time, u64)>,
}

impl Fate {
    fn on_delivered(&mut self, now: Time, rtt: &RttView, bytes: u64) {
        self.delivered_bytes += bytes;
        self.round.1 += bytes;
        if rtt.srtt.is_some_and(|srtt| now.since(self.round.0) >= srtt) {
            self.round_bytes = self.round.1;
            self.round = (now, 0);
        }
    }
    /// An ACK of a flow that nobody has ever asked. True if too much has been missing for too long.
    fn misses(&mut self, now: Time, ack: &Ack<'_>, mss_bytes: u64) -> bool {
        let newest = ack.newest.map_or(0, |(Tag(sent_bytes), _)| sent_bytes);
        self.newest_bytes = self.newest_bytes.max(newest);
        if ack.snd_nxt <= ack.snd_una + ack.in_flight_bytes {
            self.whole = (self.newest_bytes, ack.total_delivered_bytes);
        }
        let seen = self.newest_bytes - self.whole.0;
        let missing = seen.saturating_sub(ack.total_delivered_bytes - self.whole.1);
        if seen < SEEN_PACKETS * mss_bytes || missing * LOSS_SHARE <= seen {
            self.missing = None;
            return false;
        }
        let (since, _) = *self.missing.get_or_insert((now, ack.in_flight_bytes));
        since + LATENESS <= now
    }
    /// Remember less where much is known, so that what it says is news.
    fn age(&mut self, mss_bytes: u64) {
        if self.delivered_bytes + self.lost_bytes > REMEMBERED_PACKETS * mss_bytes {
            self.delivered_bytes /= 2;
            self.lost_bytes /= 2;
        }
    }
    fn is_unheld(&self, mss_bytes: u64) -> bool {
        let all = self.delivered_bytes + self.lost_bytes;
        all >= JUDGED_PACKETS * mss_bytes && self.lost_bytes > all / LOSS_SHARE
    }
}

/// The sender of one path.
pub struct Inrpp {
    params: Params,
    mss_bytes: u64,
    /// INRPP routers are on the path, and hold what it cannot take.
    pooled: bool,
    /// They are on the path, and do not.
    unheld: bool,
    /// The option was seen: what it counts no longer decides at once.
    heard: bool,
    /// ACKs in a row that contradict `pooled`.
    contrary: u32,
    /// It was asked to slow down, or told how little room there is, ever.
    slowed: bool,
    flow: Loop,
    /// What the last timeout took away.
    before_timeout: Option<Loop>,
    nonce: Option<Nonce>,
    /// The least timeout while ACKs bring a nonce; None before the first: rule 9.
    held_rto: Option<Span>,
    /// The echo of `nonce`, or an empty notice, ready to be stamped.
    stamp: OptionList,
    tcp: Box<Tcp>,
}

fn echo_of(nonce: Option<Nonce>) -> OptionList {
    let mut options = OptionList::EMPTY;
    Echo(nonce).push(&mut options).expect("8 bytes fit into 40");
    options
}

fn empty_notice() -> OptionList {
    let mut options = OptionList::EMPTY;
    Notice::default().push(&mut options).expect("10 bytes fit into 40");
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
            unheld: false,
            heard: false,
            contrary: 0,
            slowed: false,
            flow: Loop::Open,
            before_timeout: None,
            nonce: None,
            held_rto: None,
            stamp: if params.notify_on_data { empty_notice() } else { echo_of(None) },
            tcp: Box::new(Tcp::new(init)),
        }
    }

    /// What an ACK brings, by the way that the flow uses: rule 11.
    #[inline]
    fn signal(&self, options: &OptionList) -> Option<BackPressure> {
        match self.params.notify_on_data {
            true => Returned::find(options).map(|Returned(signal)| signal),
            false => BackPressure::find(options),
        }
    }

    /// Rules 3, 4 and 7, with so much in flight before the ACK.
    fn hear(&mut self, now: Time, signal: BackPressure, in_flight_bytes: u64) {
        if self.unheld && (signal.ask == Ask::SlowDown || signal.ask == Ask::Pause) {
            self.come_back();
        }
        self.count_routers(signal.routers);
        if signal.nonce.is_some() {
            self.tcp.fate.asked_at = Some(now);
        }
        let nonce = signal.nonce.filter(|_| signal.ask != Ask::Cancel);
        if nonce != self.nonce {
            self.nonce = nonce;
            if !self.params.notify_on_data {
                self.stamp = echo_of(nonce);
            }
        }
        if nonce.is_some() {
            self.held_rto.get_or_insert(Span::from_secs(self.params.held_rto_s.into()));
        }
        if signal.ask != Ask::Nothing {
            self.before_timeout = None;
        }
        let allowed_bytes = u64::from(signal.allowance) * self.mss_bytes;
        let from_bytes = in_flight_bytes.max(allowed_bytes).max(self.mss_bytes);
        self.flow = match (self.flow, signal.ask) {
            (closed @ Loop::Closed { .. }, Ask::SlowDown | Ask::Pause) => closed,
            (_, Ask::SlowDown | Ask::Pause) => Loop::Closed { credits: 0, owed_bytes: 0 },
            (Loop::Ramp { cwnd_bytes }, _) => {
                Loop::Ramp { cwnd_bytes: cwnd_bytes.max(allowed_bytes) }
            }
            (Loop::Open, _) if signal.allowance == 0 => Loop::Open,
            (Loop::Open | Loop::Closed { .. }, _) => Loop::Ramp { cwnd_bytes: from_bytes },
        };
        let asked = matches!(signal.ask, Ask::SlowDown | Ask::Pause);
        self.slowed |= asked || signal.allowance > 0;
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
        if first || self.contrary >= self.params.switch_acks {
            self.pooled = pooled;
            self.contrary = 0;
            if !pooled {
                self.tcp.restart();
            }
        }
    }

    /// Rule 8.
    fn note_loss(&mut self, loss: &Loss) {
        if let Loop::Ramp { cwnd_bytes } = &mut self.flow {
            let left = cwnd_bytes.saturating_sub(u64::from(loss.bytes));
            *cwnd_bytes = left.max(self.mss_bytes);
        }
        let fate = &mut self.tcp.fate;
        if fate.asked_at.is_some_and(|asked_at| asked_at >= loss.sent_at) {
            return;
        }
        fate.lost_bytes += u64::from(loss.bytes);
        match fate.is_unheld(self.mss_bytes) {
            true => self.fall_back(),
            false => fate.age(self.mss_bytes),
        }
    }
    /// Nobody holds what is too much: the flow is one of CUBIC.
    fn fall_back(&mut self) {
        (self.pooled, self.unheld) = (false, true);
        let Tcp { init, fate, .. } = &mut *self.tcp;
        init.initial_window_bytes = init.initial_window_bytes.max(fate.round_bytes);
        *fate = Fate::default();
        self.tcp.restart();
    }
    /// Somebody does, after all: he asks.
    fn come_back(&mut self) {
        (self.pooled, self.unheld, self.contrary) = (true, false, 0);
    }

    /// An ACK came that delivered so many bytes, and left so many in flight: rules 2, 3 and 5.
    fn take_ack(&mut self, delivered_bytes: u64, in_flight_bytes: u64, paused: bool) {
        match &mut self.flow {
            Loop::Open => {}
            Loop::Closed { credits, owed_bytes } => {
                if !paused {
                    *owed_bytes += delivered_bytes;
                    let segments =
                        (*owed_bytes / self.mss_bytes).min(self.params.max_credits.into());
                    *owed_bytes %= self.mss_bytes;
                    *credits = (*credits + segments as u32).min(self.params.max_credits);
                }
                if in_flight_bytes == 0 {
                    *credits = (*credits).max(1);
                }
            }
            Loop::Ramp { cwnd_bytes } => {
                let small = *cwnd_bytes < RAMP_SMALL_SEGMENTS * self.mss_bytes;
                let part = if small { 1 } else { RAMP_PART };
                *cwnd_bytes += delivered_bytes.min(RAMP_SEGMENTS_PER_ACK * self.mss_bytes) / part;
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
            Loop::Open => {
                let wary = self.tcp.fate.missing.map(|(_, in_flight_bytes)| in_flight_bytes);
                Limits::window(wary.unwrap_or(Limits::MAX_CWND_BYTES))
            }
            Loop::Closed { credits, .. } => Limits {
                credits: Some(u64::from(credits)),
                ..Limits::window(Limits::MAX_CWND_BYTES)
            },
            Loop::Ramp { cwnd_bytes } => Limits::window(cwnd_bytes),
        }
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        if let Some(signal) = options.and_then(|options| self.signal(options)) {
            self.hear(now, signal, 0);
            self.take_ack(0, 0, false);
        }
        self.tcp.cubic.on_established(now, rtt, options);
    }

    #[inline]
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        if !self.pooled {
            return self.tcp.cubic.on_sent(now, sent);
        }
        if let Loop::Closed { credits, .. } = &mut self.flow {
            // The retransmission of a timeout leaves without one.
            *credits = credits.saturating_sub(1);
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
        if self.pooled {
            self.tcp.fate.on_delivered(now, &ack.rtt, ack.delivered_bytes);
            self.tcp.fate.age(self.mss_bytes);
            if self.slowed {
                self.tcp.fate.missing = None;
            } else if self.tcp.fate.misses(now, ack, self.mss_bytes) {
                self.fall_back();
            }
        }
        // Data of the other direction repeats an ACK number; it is no ACK packet.
        if signal.is_some() || ack.acked_bytes > 0 || ack.duplicate {
            let paused = signal.is_some_and(|signal| signal.ask == Ask::Pause);
            self.take_ack(ack.delivered_bytes, ack.in_flight_bytes, paused);
        }
        if !self.pooled {
            self.tcp.cubic.on_ack(now, ack);
        }
    }

    fn wants_rate(&self) -> bool {
        false
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        match self.pooled {
            true => self.note_loss(loss),
            false => self.tcp.cubic.on_loss(now, loss),
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

    fn rto_floor(&self) -> Span {
        self.held_rto.filter(|_| self.pooled && self.nonce.is_some()).unwrap_or(Span::ZERO)
    }

    fn ack_policy(&self) -> Option<AckPolicy> {
        Some(AckPolicy::EveryPacket)
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        if self.pooled { RecoveryOwner::Controller } else { self.tcp.cubic.recovery_owner() }
    }

    fn option_bytes(&self) -> u16 {
        if self.params.notify_on_data { BACK_PRESSURE_BYTES } else { ECHO_BYTES }
    }

    #[inline]
    fn stamp(&mut self, _now: Time, _next: &NextPacket) -> Stamp {
        Stamp { options: Some(self.stamp), ..Stamp::default() }
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

    fn ssthresh_bytes(&self) -> Option<u64> {
        if self.pooled { None } else { self.tcp.cubic.ssthresh_bytes() }
    }

    fn phase(&self) -> &'static str {
        if !self.pooled {
            return self.tcp.cubic.phase();
        }
        match self.flow {
            Loop::Open => "open",
            Loop::Closed { .. } => "closed",
            Loop::Ramp { .. } => "ramp",
        }
    }
}

/// The receiver of one path: an empty back-pressure option on every ACK of a sender that speaks
/// INRPP, for routers to overwrite. Beside timestamps (10 bytes of 40) and this (10) an ACK has
/// room for two SACK blocks (18); a SYN-ACK holds 9 of its own, 8 of echo and both of these: 37. A
/// sender whose data carry notices has the last of them on each ACK instead: as long, and 39 with a
/// notice in place of the echo.
#[derive(Clone, Debug)]
pub struct InrppReceiver {
    /// A packet of the peer carried the echo option.
    peer_speaks: bool,
    /// What the last notice of the peer says; None: its data carry none.
    noticed: Option<BackPressure>,
}

impl InrppReceiver {
    /// A receiver that has seen no packet yet.
    pub fn new(_params: &Params) -> InrppReceiver {
        InrppReceiver { peer_speaks: false, noticed: None }
    }
}

impl Feedback for InrppReceiver {
    fn wants_pieces(&self) -> bool {
        false
    }
    fn on_datagram(&mut self, _now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        let Some(options) = datagram.options else { return AckDemand::Policy };
        if self.noticed.is_some() || !self.peer_speaks {
            // Pure ACKs carry none: the last word stands.
            self.noticed = Notice::find(options).map(|Notice(last)| last).or(self.noticed);
            self.peer_speaks |= self.noticed.is_some() || Echo::find(options).is_some();
        }
        AckDemand::Policy
    }

    /// A cache keeps what a flow sends in order, but for what is sent again: no duplicate waits
    /// there until sequence numbers come round.
    fn wants_paws(&self) -> bool {
        !self.peer_speaks
    }

    fn fill(&mut self, _now: Time, options: &mut OptionList) {
        // Where other options leave no room the ACK goes without: the sender keeps to the last
        // word.
        let length = options.len() + usize::from(BACK_PRESSURE_BYTES);
        if self.peer_speaks && length <= MAX_OPTION_BYTES {
            let pushed = match self.noticed {
                Some(last) => Returned(last).push(options),
                None => BackPressure::default().push(options),
            };
            pushed.expect("the room was computed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::{CongestionCause, Controller};
    use crate::testbed::{MSS, ack, congestion, init, next_packet, sent};
    use alloc::vec::Vec;
    use forebay_base::kind;

    const NOW: Time = Time::from_secs(1);

    fn signal(ask: Ask, routers: u8, nonce: u32) -> BackPressure {
        BackPressure { ask, routers, nonce: Nonce::new(nonce), ..BackPressure::default() }
    }
    fn allowing(ask: Ask, allowance: u8) -> BackPressure {
        BackPressure { allowance, ..signal(ask, 3, 7) }
    }
    fn carried(signal: BackPressure) -> OptionList {
        let mut options = OptionList::EMPTY;
        signal.push(&mut options).unwrap();
        options
    }
    /// A sender past a handshake in which the SYN-ACK carried `signal`.
    fn established(signal: BackPressure) -> Inrpp {
        let mut inrpp = Inrpp::new(&Params::default(), init(10));
        inrpp.on_established(NOW, &ack(0).rtt, Some(&carried(signal)));
        inrpp
    }
    fn open() -> Inrpp {
        established(signal(Ask::Nothing, 3, 0))
    }
    /// An ACK of one segment.
    fn hear(inrpp: &mut Inrpp, signal: BackPressure) {
        let options = carried(signal);
        inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(MSS) });
    }
    fn send(inrpp: &mut Inrpp) {
        inrpp.on_sent(NOW, &sent(false));
    }
    fn expire(inrpp: &mut Inrpp, first: bool) {
        inrpp.on_rto(NOW, &Timeout { flight_size_bytes: 10 * MSS, first });
    }
    fn echo(inrpp: &mut Inrpp) -> Option<u32> {
        let next = next_packet();
        let options = inrpp.stamp(NOW, &next).options.unwrap();
        assert_eq!(options.len(), usize::from(inrpp.option_bytes()));
        Echo::find(&options).unwrap().0.map(Nonce::get)
    }
    fn phase(inrpp: &Inrpp) -> &'static str {
        inrpp.phase()
    }

    #[test]
    fn each_ack_opens_or_closes_the_loop() {
        use Ask::{Cancel, Nothing, Pause, SlowDown};
        let mut inrpp = open();
        let limitless = Limits::window(1 << 30);
        assert_eq!(inrpp.limits(), limitless);
        // (what the ACK says, its nonce; phase and echo then): the rules of the head comment.
        let script = [
            (Nothing, 0, "open", None),
            (Nothing, 7, "open", Some(7)), // a router holds: only the name passes on
            (SlowDown, 7, "closed", Some(7)),
            (SlowDown, 9, "closed", Some(9)),
            (Nothing, 9, "ramp", Some(9)), // at full rate it would fill what has just been drained
            (SlowDown, 9, "closed", Some(9)),
            (Cancel, 9, "ramp", None),
            (Nothing, 0, "ramp", None),
            (Pause, 9, "closed", Some(9)),
        ];
        for (step, (ask, nonce, loop_then, echo_then)) in script.into_iter().enumerate() {
            hear(&mut inrpp, signal(ask, 3, nonce));
            assert_eq!((phase(&inrpp), echo(&mut inrpp)), (loop_then, echo_then), "step {step}");
            assert_eq!(inrpp.limits().credits.is_some(), loop_then == "closed");
            assert_eq!(inrpp.limits().cwnd_bytes == 1 << 30, loop_then != "ramp");
        }
    }

    #[test]
    fn a_pause_is_worth_no_packet_unless_nothing_else_is_in_flight() {
        let mut inrpp = open();
        let options = carried(signal(Ask::Pause, 3, 7));
        let one = |in_flight_bytes| Ack { options: Some(&options), in_flight_bytes, ..ack(MSS) };
        for _ in 0..3 {
            inrpp.on_ack(NOW, &one(5 * MSS));
            assert_eq!(inrpp.limits().credits, Some(0));
        }
        inrpp.on_ack(NOW, &one(0));
        assert_eq!(inrpp.limits().credits, Some(1), "or no ACK would ever come again");
        let idle = established(signal(Ask::Pause, 3, 7));
        assert_eq!(idle.limits().credits, Some(1), "the same after the handshake");
    }

    /// The window that the ramp begins with is what is in flight, or what a router has room for.
    #[test]
    fn an_allowance_begins_a_ramp_where_it_is_more_than_what_is_in_flight() {
        // In quarters of a segment: what an ACK of one adds.
        let window = |inrpp: &Inrpp| inrpp.limits().cwnd_bytes / (MSS / 4);
        assert_eq!(window(&established(allowing(Ask::Nothing, 5))), 4 * 5);
        assert_eq!(window(&established(allowing(Ask::Nothing, 63))), 4 * 63);
        for (in_flight, allowance, expected) in [(0, 9, 9), (20, 9, 20), (20, 0, 20), (0, 0, 1)] {
            let mut inrpp = open();
            hear(&mut inrpp, signal(Ask::SlowDown, 3, 7));
            let options = carried(allowing(Ask::Cancel, allowance));
            let prior_in_flight_bytes = in_flight * MSS;
            inrpp.on_ack(NOW, &Ack { options: Some(&options), prior_in_flight_bytes, ..ack(MSS) });
            let more = if expected < RAMP_SMALL_SEGMENTS { 4 } else { 1 };
            assert_eq!(window(&inrpp), 4 * expected + more, "for what was delivered");
        }
        // It begins a ramp in the open loop, raises one that lasts, and never lowers it.
        let mut inrpp = open();
        for (allowance, expected) in [(4, 17), (0, 18), (20, 81), (3, 82)] {
            hear(&mut inrpp, allowing(Ask::Nothing, allowance));
            assert_eq!((phase(&inrpp), window(&inrpp)), ("ramp", expected), "{allowance}");
        }
    }

    #[test]
    fn one_packet_for_each_that_has_arrived_and_no_more_than_two_kept() {
        let mut inrpp = open();
        let slow = signal(Ask::SlowDown, 3, 7);
        let credits = |inrpp: &Inrpp| inrpp.limits().credits.unwrap();
        hear(&mut inrpp, slow);
        assert_eq!(credits(&inrpp), 1, "the ACK that closes the loop is worth a packet");
        send(&mut inrpp);
        assert_eq!(credits(&inrpp), 0);
        // A duplicate with SACK, the option repeating the last word; then without it.
        let options = carried(slow);
        let sacked = Ack { duplicate: true, acked_bytes: 0, in_flight_bytes: MSS, ..ack(MSS) };
        inrpp.on_ack(NOW, &Ack { options: Some(&options), ..sacked });
        assert_eq!(credits(&inrpp), 1);
        inrpp.on_ack(NOW, &sacked);
        assert_eq!(credits(&inrpp), 2);
        hear(&mut inrpp, slow);
        assert_eq!(credits(&inrpp), 2, "two at most");
        // Retransmissions pay as well; that of a timeout may leave without.
        for left in [1, 0, 0] {
            inrpp.on_sent(NOW, &Sent { retransmission: true, ..sent(false) });
            assert_eq!(credits(&inrpp), left);
        }
        // Duplicates that tell nothing, and a segment in 100 pieces.
        let nothing = Ack { duplicate: true, in_flight_bytes: MSS, ..ack(0) };
        (0..1_000).for_each(|_| inrpp.on_ack(NOW, &Ack { options: Some(&options), ..nothing }));
        assert_eq!(credits(&inrpp), 0);
        let piece = Ack { in_flight_bytes: MSS, ..ack(MSS / 100) };
        (0..99).for_each(|_| inrpp.on_ack(NOW, &Ack { options: Some(&options), ..piece }));
        assert_eq!(credits(&inrpp), 0);
        inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(MSS) });
        assert_eq!(credits(&inrpp), 1, "and one for that which comes whole");
        send(&mut inrpp);
        inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(1) });
        assert_eq!(credits(&inrpp), 1, "nothing is in flight: no ACK would come any more");
    }

    #[test]
    fn a_syn_ack_may_slow_down_and_brings_the_first_credit() {
        let mut inrpp = established(signal(Ask::SlowDown, 1, 5));
        assert_eq!(inrpp.limits().credits, Some(1), "else nothing would ever leave");
        assert_eq!(echo(&mut inrpp), Some(5));
    }

    #[test]
    fn a_timeout_of_a_flow_never_slowed_down_changes_nothing() {
        let mut inrpp = open();
        expire(&mut inrpp, true);
        assert_eq!(inrpp.limits(), Limits::window(1 << 30));
    }

    #[test]
    fn a_flow_once_slowed_down_ramps_after_a_timeout() {
        let mut allowed = open();
        hear(&mut allowed, allowing(Ask::Nothing, 40));
        expire(&mut allowed, true);
        assert_eq!(allowed.limits(), Limits::window(MSS), "what had little room, as well");
        let mut inrpp = open();
        hear(&mut inrpp, signal(Ask::SlowDown, 3, 7));
        hear(&mut inrpp, signal(Ask::Nothing, 3, 7));
        expire(&mut inrpp, true);
        // Doubled by the ACKs of each round up to 4 segments; "nothing" is no request.
        for window in [1, 2, 4, 5] {
            assert_eq!(inrpp.limits(), Limits::window(window * MSS), "{window}");
            (0..window).for_each(|_| hear(&mut inrpp, signal(Ask::Nothing, 3, 7)));
        }
        // 6.25 segments; one ACK for a hundred adds a quarter of two.
        inrpp.on_ack(NOW, &ack(100 * MSS));
        assert_eq!(inrpp.limits().cwnd_bytes, 27 * MSS / 4);
        expire(&mut inrpp, false);
        assert_eq!(inrpp.limits().cwnd_bytes, MSS);
        let mut cancelled = established(signal(Ask::SlowDown, 1, 5));
        expire(&mut cancelled, true);
        assert_eq!((phase(&cancelled), cancelled.limits().credits), ("ramp", None));
        hear(&mut cancelled, signal(Ask::Cancel, 3, 5));
        assert_eq!((phase(&cancelled), cancelled.limits().cwnd_bytes), ("ramp", 2 * MSS));
        hear(&mut inrpp, signal(Ask::SlowDown, 3, 7));
        assert_eq!(inrpp.limits().credits, Some(1));
    }

    #[test]
    fn a_spurious_timeout_gives_the_loop_back_unless_a_router_has_spoken_since() {
        let closed = || {
            let mut inrpp = open();
            (0..2).for_each(|_| hear(&mut inrpp, signal(Ask::SlowDown, 3, 7)));
            inrpp
        };
        let mut inrpp = closed();
        expire(&mut inrpp, true);
        expire(&mut inrpp, false);
        inrpp.on_spurious(NOW);
        assert_eq!(inrpp.limits().credits, Some(2));
        let mut inrpp = closed();
        expire(&mut inrpp, true);
        hear(&mut inrpp, signal(Ask::Cancel, 3, 7));
        inrpp.on_spurious(NOW);
        assert_eq!(phase(&inrpp), "ramp");
    }

    #[test]
    fn the_ramp_ends_where_the_window_limits_nothing() {
        let mut inrpp = open();
        hear(&mut inrpp, signal(Ask::SlowDown, 3, 7));
        expire(&mut inrpp, true);
        // 1, 3, 5 segments, then half of one for each ACK.
        let acks = 2 + ((1 << 30) - 5 * MSS).div_ceil(MSS / 2);
        (1..acks).for_each(|_| inrpp.on_ack(NOW, &ack(2 * MSS)));
        assert_eq!(phase(&inrpp), "ramp");
        inrpp.on_ack(NOW, &ack(2 * MSS));
        assert_eq!((phase(&inrpp), inrpp.limits()), ("open", Limits::window(1 << 30)));
    }

    /// It counted as in flight, and was in no cache: to send it again there must be room first.
    #[test]
    fn what_is_lost_leaves_the_window_of_a_ramp() {
        let mut inrpp = open();
        hear(&mut inrpp, allowing(Ask::Nothing, 40));
        let before = inrpp.limits().cwnd_bytes;
        let bytes = MSS as u32;
        let loss = Loss { tag: Tag(0), number: 0, bytes, sent_at: NOW, in_flight_bytes: 0 };
        (0..10).for_each(|_| inrpp.on_loss(NOW, &loss));
        assert_eq!(before - inrpp.limits().cwnd_bytes, 10 * MSS);
        (0..40).for_each(|_| inrpp.on_loss(NOW, &loss));
        assert_eq!(inrpp.limits().cwnd_bytes, MSS, "one segment at least");
    }

    #[test]
    fn losses_change_nothing_where_routers_hold() {
        let mut inrpp = open();
        inrpp.on_congestion(NOW, &congestion(CongestionCause::Loss, 10.0));
        assert_eq!(inrpp.limits(), Limits::window(1 << 30));
        assert_eq!(inrpp.recovery_owner(), RecoveryOwner::Controller);
        assert_eq!(inrpp.loss_policy(), Some(LossPolicy::Patient));
        assert_eq!(inrpp.ack_policy(), Some(AckPolicy::EveryPacket));
    }

    #[test]
    fn without_routers_it_is_cubic() {
        let none = signal(Ask::Nothing, 0, 0);
        let mut unheard = Inrpp::new(&Params::default(), init(10));
        unheard.on_established(NOW, &ack(0).rtt, None);
        for mut inrpp in [established(none), unheard] {
            let mut cubic = Cubic::new(&cubic::Params::default(), init(10));
            let mut seen = Vec::new();
            for step in 0..400 {
                for c in [&mut inrpp as &mut dyn Controller, &mut cubic] {
                    c.on_sent(NOW, &sent(false));
                    c.on_ack(NOW, &ack(MSS));
                    match step % 150 {
                        50 => c.on_congestion(NOW, &congestion(CongestionCause::Loss, 20.0)),
                        60 => c.on_recovered(NOW, &Recovered { cwnd_cap_bytes: Some(9 * MSS) }),
                        100 => c.on_rto(NOW, &Timeout { flight_size_bytes: 7 * MSS, first: true }),
                        105 => c.on_spurious(NOW),
                        _ => {}
                    }
                }
                assert_eq!(inrpp.limits(), cubic.limits(), "step {step}");
                assert_eq!(
                    (inrpp.ssthresh_bytes(), inrpp.phase()),
                    (cubic.ssthresh_bytes(), cubic.phase()),
                    "step {step}"
                );
                seen.push(cubic.limits().cwnd_bytes);
            }
            assert!(seen.contains(&MSS) && seen.iter().any(|&w| w > 20 * MSS), "it was exercised");
            assert_eq!(inrpp.loss_policy(), None);
            assert_eq!(inrpp.recovery_owner(), RecoveryOwner::Transport);
            assert_eq!(echo(&mut inrpp), None, "it still says that it speaks INRPP");
        }
    }

    #[test]
    fn eight_acks_in_a_row_change_sides() {
        let (held, alone) = (signal(Ask::Nothing, 2, 0), signal(Ask::Nothing, 0, 0));
        let pooled = |inrpp: &Inrpp| inrpp.loss_policy() == Some(LossPolicy::Patient);
        let mut inrpp = open();
        for _ in 0..7 {
            hear(&mut inrpp, alone);
        }
        hear(&mut inrpp, held);
        for _ in 0..7 {
            hear(&mut inrpp, alone);
            inrpp.on_ack(NOW, &ack(MSS)); // says nothing of routers
        }
        assert!(pooled(&inrpp), "seven, twice");
        hear(&mut inrpp, alone);
        assert!(!pooled(&inrpp));
        let start = Cubic::new(&cubic::Params::default(), init(10)).limits().cwnd_bytes;
        assert_eq!(inrpp.limits().cwnd_bytes, start + MSS, "a new CUBIC, one ACK old");
        for at in 1..=8 {
            assert!(!pooled(&inrpp), "{at}");
            hear(&mut inrpp, held);
        }
        assert!(pooled(&inrpp));
        assert_eq!(inrpp.limits(), Limits::window(1 << 30));
    }

    fn lose(inrpp: &mut Inrpp, sent_at: Time) {
        let bytes = MSS as u32;
        inrpp.on_loss(NOW, &Loss { tag: Tag(0), number: 0, bytes, sent_at, in_flight_bytes: 0 });
    }

    #[test]
    fn a_path_that_loses_much_unasked_is_one_of_tcp_though_routers_are_counted() {
        let pooled = |inrpp: &Inrpp| inrpp.loss_policy() == Some(LossPolicy::Patient);
        let (nothing, before) = (signal(Ask::Nothing, 3, 0), Time::from_millis(900));
        let mut inrpp = open();
        (0..255).for_each(|_| lose(&mut inrpp, before));
        assert!(pooled(&inrpp), "255 packets say nothing");
        lose(&mut inrpp, before);
        assert!(!pooled(&inrpp), "256 do");
        assert_eq!(inrpp.limits(), Cubic::new(&cubic::Params::default(), init(10)).limits());
        (0..100).for_each(|_| hear(&mut inrpp, nothing));
        assert!(!pooled(&inrpp), "for good, unless somebody asks");
        hear(&mut inrpp, signal(Ask::SlowDown, 3, 7));
        assert!(pooled(&inrpp) && inrpp.limits().credits == Some(1));

        // One in nine, for long. One in four is too much.
        let mut inrpp = open();
        for _ in 0..1_000 {
            (0..8).for_each(|_| hear(&mut inrpp, nothing));
            lose(&mut inrpp, before);
            assert!(pooled(&inrpp));
        }
        for _ in 0..400 {
            (0..3).for_each(|_| hear(&mut inrpp, nothing));
            lose(&mut inrpp, before);
        }
        assert!(!pooled(&inrpp));

        // Who has asked since the packet was sent may have dropped it for want of room: others pay
        // for him.
        let mut inrpp = open();
        hear(&mut inrpp, signal(Ask::SlowDown, 3, 7));
        (0..1_000).for_each(|_| lose(&mut inrpp, before));
        assert!(pooled(&inrpp));
        (0..256).for_each(|_| lose(&mut inrpp, NOW + Span::from_millis(1)));
        assert!(!pooled(&inrpp), "he had been silent when these were sent");
    }

    /// Packets leave in the open loop, and of each `one_of` one never arrives; an ACK each 10 ms.
    /// When the window is what is in flight, and when the flow is one of CUBIC, in ACKs.
    fn missing(inrpp: &mut Inrpp, one_of: u64, acks: u64) -> (Option<u64>, Option<u64>) {
        let tags: Vec<Tag> = (0..acks * 2).map(|_| inrpp.on_sent(NOW, &sent(false))).collect();
        let options = carried(signal(Ask::Nothing, 3, 0));
        let (mut arrived, mut wary, mut tcp) = (0, None, None);
        for n in (0..acks).filter(|n| n % one_of != one_of - 1) {
            let in_flight_bytes = (tags.len() as u64 - arrived) * MSS;
            arrived += 1;
            let known = Ack {
                newest: Some((tags[n as usize], n)),
                total_delivered_bytes: arrived * MSS,
                in_flight_bytes,
                snd_una: 0,
                snd_nxt: tags.len() as u64 * MSS,
                options: Some(&options),
                duplicate: true,
                ..ack(MSS)
            };
            inrpp.on_ack(NOW + Span::from_millis(10 * n), &known);
            let pooled = inrpp.loss_policy() == Some(LossPolicy::Patient);
            if pooled && inrpp.limits() == Limits::window(in_flight_bytes) {
                wary.get_or_insert(n);
            }
            if !pooled {
                tcp.get_or_insert(n);
            }
        }
        (wary, tcp)
    }

    #[test]
    fn a_flow_that_nobody_ever_asked_sees_by_what_is_missing_that_nobody_holds() {
        // One of four: the 64th is missing itself, so the 65th tells; 300 ms later it is sure.
        assert_eq!(missing(&mut open(), 4, 200), (Some(64), Some(94)));
        assert_eq!(missing(&mut open(), 9, 400), (None, None), "a lossy link");
        let mut asked = open();
        hear(&mut asked, signal(Ask::SlowDown, 3, 7));
        hear(&mut asked, signal(Ask::Cancel, 3, 7));
        assert_eq!(missing(&mut asked, 4, 200), (None, None), "he holds");
        // Where nothing is missing any more, it was a detour.
        let mut inrpp = open();
        assert_eq!(missing(&mut inrpp, 4, 80), (Some(64), None));
        let all = Ack { snd_una: 160 * MSS, snd_nxt: 160 * MSS, ..ack(MSS) };
        inrpp.on_ack(NOW, &Ack { total_delivered_bytes: 160 * MSS, ..all });
        assert_eq!(inrpp.limits(), Limits::window(1 << 30));
    }

    #[test]
    fn the_timeout_is_long_until_round_trips_under_a_request_are_known() {
        assert_eq!(open().rto_floor(), Span::ZERO);
        let mut inrpp = established(signal(Ask::Pause, 3, 7));
        // 10 s, and a quarter less for each ACK with a sample, whoever asks.
        for (nonce, seconds) in [(7, 7.5), (7, 5.625), (9, 4.21875)] {
            hear(&mut inrpp, signal(Ask::SlowDown, 3, nonce));
            assert_eq!(inrpp.rto_floor(), Span::from_secs_f64(seconds));
        }
        hear(&mut inrpp, signal(Ask::Cancel, 3, 9));
        assert_eq!(inrpp.rto_floor(), Span::ZERO);
        hear(&mut inrpp, signal(Ask::SlowDown, 3, 5));
        assert!(inrpp.rto_floor() < Span::from_secs(3), "it does not begin anew");
        for held_rto_s in [0, 61] {
            let error = Params { held_rto_s, ..Params::default() }.check().unwrap_err();
            assert_eq!((error.param, error.allowed), ("held_rto_s", "1 to 60"));
        }
    }

    #[test]
    fn the_first_count_decides_at_once() {
        let mut server = Inrpp::new(&Params::default(), init(10));
        server.on_established(NOW, &ack(0).rtt, None);
        hear(&mut server, signal(Ask::Nothing, 1, 0));
        assert_eq!(phase(&server), "open");
    }

    fn datagram(options: Option<&OptionList>) -> DatagramView<'_> {
        let ecn = forebay_base::Ecn::NotEct;
        DatagramView {
            payload_bytes: 0,
            wire_len: 40,
            pieces: 1,
            dont_fragment: true,
            ip_id: 0,
            ecn,
            options,
            in_order: false,
        }
    }

    #[test]
    fn a_receiver_leaves_room_for_routers_once_the_peer_speaks_inrpp() {
        let mut receiver = InrppReceiver::new(&Params::default());
        let mut options = OptionList::EMPTY;
        assert_eq!(receiver.on_datagram(NOW, &datagram(None)), AckDemand::Policy);
        receiver.fill(NOW, &mut options);
        assert!(options.is_empty(), "a peer that speaks plain TCP gets plain ACKs");
        assert!(receiver.wants_paws());
        receiver.on_datagram(NOW, &datagram(Some(&echo_of(None))));
        assert!(!receiver.wants_paws());
        receiver.on_datagram(NOW, &datagram(None));
        receiver.fill(NOW, &mut options);
        assert_eq!(BackPressure::find(&options), Some(BackPressure::default()));
        let mut full = OptionList::EMPTY;
        full.push(kind::SACK, &[0; 29]).unwrap();
        receiver.fill(NOW, &mut full);
        assert_eq!(full.len(), 31, "31 + 10 do not fit into 40");
    }

    /// Rule 11.
    #[test]
    fn with_notices_the_loop_is_closed_by_what_the_receiver_returns() {
        let params = Params { notify_on_data: true, ..Params::default() };
        let mut inrpp = Inrpp::new(&params, init(10));
        let mut receiver = InrppReceiver::new(&Params::default());
        let next = NextPacket { syn: true, ..next_packet() };
        let stamp = inrpp.stamp(NOW, &next).options.unwrap();
        assert_eq!(Notice::find(&stamp), Some(Notice::default()));
        assert_eq!(stamp.len(), usize::from(inrpp.option_bytes()));
        // The routers that the data pass write, the receiver returns the last word on all its ACKs.
        let mut returned = |on_data: Option<BackPressure>| {
            let mut data = stamp;
            let written = on_data.is_some_and(|signal| Notice(signal).overwrite(&mut data));
            receiver.on_datagram(NOW, &datagram(Some(&data).filter(|_| written)));
            let mut ack = OptionList::EMPTY;
            receiver.fill(NOW, &mut ack);
            assert_eq!(BackPressure::find(&ack), None, "routers that ACKs pass have no part in it");
            ack
        };
        let syn_ack = returned(Some(signal(Ask::Nothing, 2, 0)));
        inrpp.on_established(NOW, &ack(0).rtt, Some(&syn_ack));
        assert_eq!((phase(&inrpp), inrpp.loss_policy()), ("open", Some(LossPolicy::Patient)));
        for (on_data, phase_then) in [
            (Some(signal(Ask::SlowDown, 2, 7)), "closed"),
            (None, "closed"),
            (Some(signal(Ask::Pause, 2, 7)), "closed"),
            (Some(allowing(Ask::Cancel, 5)), "ramp"),
        ] {
            let options = returned(on_data);
            inrpp.on_ack(NOW, &Ack { options: Some(&options), ..ack(MSS) });
            assert_eq!(phase(&inrpp), phase_then, "{on_data:?}");
            let stamp = inrpp.stamp(NOW, &next).options.unwrap();
            assert_eq!(Notice::find(&stamp), Some(Notice::default()), "always empty");
        }
        // What a router writes on ACKs is about data of another way.
        hear(&mut inrpp, signal(Ask::SlowDown, 3, 9));
        assert_eq!(phase(&inrpp), "ramp");
    }
}
