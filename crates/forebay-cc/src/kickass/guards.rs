//! Which codes a sender accepts, and for how much.

use crate::controller::Ack;
use crate::extreme::{End, WindowedMinMax};
use forebay_base::{Rate, Span, Time};

/// Rates that lie closer than one code and a half are of one code or of two neighbours:
/// `exp(1.5 x 8 / 128)`.
const NEIGHBOUR: f64 = 1.098_285;

/// Two codes for a large step.
#[derive(Clone, Debug, Default)]
pub(super) struct Agreement {
    before: Option<Rate>,
    halved_at: Option<Time>,
}

impl Agreement {
    /// The rate to apply for a reported one while `current` is in force.
    pub fn admit(&mut self, now: Time, told: Rate, current: Option<Rate>, rtt: Span) -> Rate {
        let before = self.before.replace(told);
        let (Some(current), Some(before)) = (current, before) else { return told };
        if told.bps() as f64 > current.bps() as f64 * NEIGHBOUR {
            return told.min(before).max(current);
        }
        let half = Rate::clamped(current.bps() / 2);
        if told >= half {
            return told;
        }
        if before < half {
            return told.max(before);
        }
        if self.halved_at.is_some_and(|at| now.since(at) < rtt) {
            return current;
        }
        self.halved_at = Some(now);
        half
    }
    /// What comes next follows nothing.
    pub fn forget(&mut self) {
        *self = Agreement::default();
    }
}

/// Losses that do not count as congestion. A router that signals empties its queue again and again:
/// what is lost where codes come and no queue stands was lost by chance, unless it is much. Then
/// the bottleneck is another router, which signals nothing, or the code is no router's. Each packet
/// that arrives adds the share that may be lost, unless a queue stands, and each lost one takes a
/// packet.
#[derive(Clone, Debug)]
pub(super) struct LossCredit {
    /// Packets that may yet be lost.
    packets: f64,
    /// R was refuted: more was lost.
    pub refuted: bool,
    /// A loss ended KA mode: the next stay has less credit.
    left: bool,
    /// Least round trip of data, of all and of a window, and what a queue that stands adds to it.
    least: Span,
    recent: WindowedMinMax,
    /// The least one, which follows a path that becomes longer, and when it last did.
    base: Span,
    followed_at: Time,
    stands: Span,
    /// When KA mode began.
    since: Time,
    /// Slow start leads to R from then on, does so now, or led to this stay in KA mode; and how
    /// long it waits after a failure.
    next_at: Time,
    tries: bool,
    tried: bool,
    pause: Span,
}

/// What becomes of slow start towards R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Begins,
    Ends,
}

/// Most packets that are lost at once by chance, and that many more lose the gain. At a loss of 1 %
/// and a share of 2 % the credit is used up once in 300 000 losses.
const MOST_CREDIT_PACKETS: f64 = 10.0;
/// What a loss takes where a queue stands: there it is congestion, unless flows that begin or end
/// made the queue, which lasts some round trips.
const STANDING_PACKETS: f64 = 2.5;
/// Round trips and packets of the window at least. Rates between two codes are drawn: a queue that
/// does not stand grows by 3 % of a round trip until the next one.
const WINDOW_RTTS: u64 = 4;
const WINDOW_PACKETS: u64 = 32;
/// Slow start leads towards R at once after a loss ended KA mode. Where that fails, or the KA mode
/// to which it leads is shorter than that, it waits for this long, then for twice as long.
const FIRST_PAUSE: Span = Span::from_secs(10);
/// In each round trip the least one follows a longer path by this share: windows of all flows that
/// opened at once would overflow the port.
const BASE_STEP: u64 = 16;
/// Times the least round trip that the window of rule 3 reaches.
const MOST_BASES: u64 = 2;
/// Share of the round trip that is no queue.
const EVEN_SHARE: u64 = 64;

impl LossCredit {
    pub fn new() -> LossCredit {
        LossCredit {
            packets: MOST_CREDIT_PACKETS,
            refuted: false,
            left: false,
            least: Span::MAX,
            recent: WindowedMinMax::new(End::Smallest),
            base: Span::MAX,
            followed_at: Time::ZERO,
            stands: Span::ZERO,
            since: Time::ZERO,
            next_at: Time::ZERO,
            tries: false,
            tried: false,
            pause: FIRST_PAUSE,
        }
    }
    /// An ACK: for what it delivers `packets` more may be lost. `gap`: time between packets.
    /// `obeys`: in KA mode.
    pub fn on_ack(&mut self, now: Time, ack: &Ack<'_>, packets: f64, gap: Span, obeys: bool) {
        if self.stands.is_zero() {
            self.packets = (self.packets + packets).min(MOST_CREDIT_PACKETS);
        }
        if let (Some(sample), Some(srtt)) = (ack.rtt_sample, ack.rtt.srtt) {
            self.least = self.least.min(sample);
            // That of the handshake, at first.
            let first = if self.base == Span::MAX { ack.rtt.min } else { self.base };
            self.base = first.min(sample);
            let rtts = if self.tries { 1 } else { WINDOW_RTTS };
            let window = (srtt * rtts).max(gap * WINDOW_PACKETS);
            let even = self.least + srtt / EVEN_SHARE + gap;
            let recent = self.recent.add(now, sample, window);
            self.stands = recent.saturating_sub(even);
            if obeys && now.since(self.followed_at) >= srtt {
                // A queue that is not the port's would end KA mode by losses.
                self.base = self.base.max(recent.min(self.base + self.base / BASE_STEP));
                self.followed_at = now;
            }
        }
    }
    /// `rtt` without most of the queue in it.
    pub fn without_queue(&self, rtt: Span) -> Span {
        if self.base == Span::MAX { rtt } else { rtt.min(self.base * MOST_BASES) }
    }
    pub fn on_lost(&mut self) {
        self.packets -= if self.stands.is_zero() { 1.0 } else { STANDING_PACKETS };
    }
    pub fn is_used_up(&self) -> bool {
        self.packets < 0.0
    }
    /// KA mode begins.
    pub fn on_entry(&mut self, now: Time) {
        if self.left {
            self.packets = self.packets.min(STANDING_PACKETS - 1.0);
        }
        self.tried = core::mem::take(&mut self.tries);
        (self.refuted, self.left, self.since) = (false, false, now);
    }
    /// A loss ends it.
    pub fn on_leave(&mut self, now: Time) {
        self.left = true;
        self.refuted = self.is_used_up();
        // TCP answers for what was lost.
        self.packets = self.packets.max(0.0);
        if now.since(self.since) >= self.pause {
            (self.next_at, self.pause) = (now, FIRST_PAUSE);
        } else if self.tried {
            self.wait(now);
        }
    }
    fn wait(&mut self, now: Time) {
        (self.next_at, self.pause) = (now + self.pause, self.pause * 2);
    }
    /// In TCP mode after a loss, out of recovery: what slow start towards R does now, if it
    /// changes.
    pub fn step(&mut self, now: Time) -> Option<Attempt> {
        if !self.stands.is_zero() {
            return self.fails(now).then_some(Attempt::Ends);
        }
        let begins = !self.tries && now >= self.next_at;
        self.tries |= begins;
        begins.then_some(Attempt::Begins)
    }
    /// Slow start towards R found a loss, a queue or silence. False: there was none.
    pub fn fails(&mut self, now: Time) -> bool {
        let tried = core::mem::take(&mut self.tries);
        if tried {
            self.wait(now);
        }
        tried
    }
}

/// Packets that may be cut, and whether the network passes them. That those are lost and others
/// arrive is also what congestion looks like if few may be cut. So the share `p` of the others that
/// were lost meanwhile must make it unlikely: of `n` events all take one that may be cut with
/// `p^n`. Events, not packets: a full queue drops whole bursts.
#[derive(Clone, Debug, Default)]
pub(super) struct FragmentableLossGuard {
    /// Events with such packets among what was lost, since one arrived.
    events: u32,
    /// One was lost since the last event, and one of the others.
    fresh: bool,
    fresh_other: bool,
    /// Packets with DF that were lost, and that arrived, since then.
    others_lost: u32,
    others_arrived: u32,
    /// The network passes the others, and not these: until when that is believed, and for how long
    /// it was.
    blocked: Option<(Time, Span)>,
}

/// Events after which the network may be taken for one that loses what may be cut.
const LOST_EVENTS: u32 = 3;
/// The network is blamed where chance alone would be less likely than this.
const UNLIKELY: f64 = 1e-6;
/// For how long DF stays set at first. After that one packet of a round trip may be cut until one
/// arrives, or one is lost: then DF stays set for twice as long.
const BLOCKED_TIME: Span = Span::from_secs(10);

impl FragmentableLossGuard {
    /// A packet was lost. Where those with DF are lost, too, it may be congestion, of which packets
    /// that may be cut have their share.
    pub fn on_lost(&mut self, now: Time, clear: bool) {
        if !clear {
            self.others_lost += 1;
            self.fresh_other = true;
            return;
        }
        self.fresh = true;
        if let Some((_, time)) = self.blocked.filter(|&(until, _)| until <= now) {
            self.blocked = Some((now + time * 2, time * 2));
        }
    }
    /// A loss, once for a window of data, or a timeout. True if nothing was lost but what asks
    /// whether such packets arrive: that is the network's answer, and no congestion.
    pub fn on_event(&mut self) -> bool {
        let clear = core::mem::take(&mut self.fresh);
        let other = core::mem::take(&mut self.fresh_other);
        let is_answer = self.is_wary() && clear && !other;
        self.events += u32::from(clear);
        is_answer
    }
    /// A packet arrived. True if from now on the network is blamed for all that was lost.
    pub fn on_delivered(&mut self, now: Time, clear: bool) -> bool {
        if clear {
            *self = FragmentableLossGuard::default();
            return false;
        }
        self.others_arrived += 1;
        let doubtful = self.blocked.is_none() && self.events >= LOST_EVENTS;
        if !doubtful || self.chance() >= UNLIKELY {
            return false;
        }
        self.blocked = Some((now + BLOCKED_TIME, BLOCKED_TIME));
        self.others_lost == 0
    }
    /// How likely congestion loses what was lost, by the rule of succession for `p`.
    fn chance(&self) -> f64 {
        let lost = f64::from(self.others_lost + 1);
        let all = f64::from(self.others_lost + self.others_arrived + 2);
        libm::pow(lost / all, self.events.into())
    }
    /// DF is set on all.
    pub fn is_blocked(&self, now: Time) -> bool {
        self.blocked.is_some_and(|(until, _)| now < until)
    }
    /// Packets that may be cut were lost, and none has arrived since: send few of them.
    pub fn is_wary(&self) -> bool {
        self.events > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }
    /// Three events take a packet that may be cut, the first one ten; others arrive and are lost.
    fn watch(lost: u32, arrived: u32) -> FragmentableLossGuard {
        let mut watch = FragmentableLossGuard::default();
        for clear in [10, 1, 1] {
            (0..clear).for_each(|_| watch.on_lost(ms(0), true));
            _ = watch.on_event();
        }
        (0..lost).for_each(|_| watch.on_lost(ms(0), false));
        (0..arrived).for_each(|_| _ = watch.on_delivered(ms(0), false));
        watch
    }

    /// By hand: `((lost + 1) / (lost + arrived + 2))^3` against 1e-6.
    #[test]
    fn a_network_is_blamed_for_what_chance_does_not_explain() {
        let blamed = |watch: FragmentableLossGuard| watch.is_blocked(ms(0));
        assert!(!blamed(watch(0, 97)), "99^-3 = 1.03e-6");
        assert!(blamed(watch(0, 99)), "101^-3 = 0.97e-6");
        // Congestion loses one of ten.
        assert!(!blamed(watch(11, 99)), "0.11^3");
        let mut arrives = watch(0, 50);
        arrives.on_delivered(ms(0), true);
        (0..1000).for_each(|_| _ = arrives.on_delivered(ms(0), false));
        assert!(!arrives.is_wary() && !blamed(arrives));
    }

    /// One packet asks after 10 s; where that is lost, the next one asks 20 s later, then 40 s. One
    /// that arrives ends it.
    #[test]
    fn the_verdict_expires() {
        let mut watch = watch(0, 99);
        for asks in [10_000, 30_000, 70_000] {
            assert!(watch.is_blocked(ms(asks - 1)));
            assert!(watch.is_wary() && !watch.is_blocked(ms(asks)));
            watch.on_lost(ms(asks), true);
            watch.on_lost(ms(asks), true);
            assert!(watch.on_event(), "no congestion");
            (0..1000).for_each(|_| _ = watch.on_delivered(ms(asks), false));
        }
        assert!(watch.is_blocked(ms(149_999)));
        watch.on_delivered(ms(150_000), true);
        assert!(!watch.is_wary() && !watch.is_blocked(ms(150_000)));
    }
}
