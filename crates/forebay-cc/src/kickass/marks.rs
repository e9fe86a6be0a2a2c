//! What is written on packets: which may be cut, and which say the round-trip time.

use forebay_base::{Rng, Span, Time};
use forebay_signal::kickass::Indicator;

/// On which packets DF is clear.
#[derive(Clone, Debug)]
pub(super) struct Clearing {
    /// 0: on all.
    per_rtt: u32,
    next_at: Time,
    /// Packets since the last one.
    packets: u32,
    /// One of the first flight was spared.
    spared: bool,
}

impl Clearing {
    pub fn new(per_rtt: u32) -> Clearing {
        Clearing { per_rtt, next_at: Time::ZERO, packets: 0, spared: false }
    }
    /// Time between two of them.
    pub fn gap(&self, rtt: Span) -> Span {
        if self.per_rtt == 0 { Span::ZERO } else { rtt / self.per_rtt as u64 }
    }
    /// True once.
    pub fn spares_one(&mut self) -> bool {
        !core::mem::replace(&mut self.spared, true)
    }
    /// True if the packet that leaves now may be cut. `most`: no more than this many in a round
    /// trip; `spacing`: one of so many packets.
    pub fn takes(&mut self, now: Time, rtt: Span, most: Option<u32>, spacing: u32) -> bool {
        self.packets = self.packets.saturating_add(1);
        let gap = most.map_or(Span::ZERO, |most| rtt / most as u64).max(self.gap(rtt));
        if now < self.next_at || self.packets < spacing {
            return false;
        }
        // Evenly: a late one does not delay the next. After a pause none is saved up.
        let due = if self.next_at + gap < now { now } else { self.next_at };
        (self.next_at, self.packets) = (due + gap, 0);
        true
    }
}

/// Packets cut short that say the RTT.
#[derive(Clone, Debug)]
pub(super) struct Indicators {
    last_at: Option<Time>,
    /// Full-sized packets since the last one.
    packets: u32,
    rng: Rng,
}

/// Shortest time between two indicators (section II-B2).
const INTERVAL: Span = Span::from_millis(100);
/// The same in TCP mode, with thinning. A packet cut short leaves a part of the window, and two
/// packets leave together where such parts make a segment. At a full queue one of them is lost:
/// flows that indicate every 100 ms lose 1.4 times as often as those that do not.
const TCP_INTERVAL: Span = Span::from_secs(1);
/// Data packets between two indicators at least: at 120 kbit/s, one each 100 ms, every packet would
/// be an indicator and none could be cut.
const PACKETS: u32 = 8;

impl Indicators {
    pub fn new(rng: Rng) -> Indicators {
        Indicators { last_at: None, packets: PACKETS, rng }
    }
    /// A full-sized packet leaves now; the indicator that it is to be. `rare`: in TCP mode, with
    /// thinning.
    pub fn next(&mut self, now: Time, srtt: Span, dither: bool, rare: bool) -> Option<Indicator> {
        let interval = if rare { TCP_INTERVAL } else { INTERVAL };
        let soon = self.last_at.is_some_and(|last| now.since(last) < interval);
        if self.packets < PACKETS || soon {
            self.packets = self.packets.saturating_add(1);
            return None;
        }
        (self.packets, self.last_at) = (1, Some(now));
        Some(if dither {
            Indicator::dithered(srtt, self.rng.unit())
        } else {
            Indicator::of_rtt(srtt)
        })
    }
}
