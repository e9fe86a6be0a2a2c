//! Who listens at a port: the flows that let routers cut, and how many there are of them and of
//! others.
//!
//! Hosts that thin clear DF in a few packets of a round trip, so a flow listens for a while after
//! one of them: between one and two terms, a term of at least a second and four round-trip times.
//! Members are kept as bits (Bloom 1970, doi:10.1145/362686.362692): a flow that is none passes for
//! one with a chance of at most 1 in 16, which only some 4 000 listeners reach within a term, for
//! it ends early where an eighth of the bits is set.
//!
//! Both kinds are counted (linear counting) over the larger of two round-trip times, eight packet
//! times of a flow at R and 100 ms. Of the last full time and the one that runs, the one with more
//! flows counts, so that those that come are seen at once.

use super::flows::{self, FlowCount};
use crate::lanes::Lane;
use forebay_base::{Arena, Kind, Packet, Span, Time};
use forebay_signal::kickass::{Offer, Report};

/// Flows that were active lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ActiveFlows {
    /// That let routers cut.
    pub(super) listeners: u32,
    pub(super) others: u32,
}

const TERM: Span = Span::from_secs(1);
const TERM_RTTS: u64 = 4;
const COUNT_TIME: Span = Span::from_millis(100);
const COUNT_RTTS: u64 = 2;
const COUNT_PACKETS: f64 = 8.0;
const PACKET_BITS: f64 = 12e3;

const WORDS: usize = 1024;
const BITS: usize = 64 * WORDS;

/// The flows that let something be cut since `began`.
#[derive(Clone, Debug)]
struct Members {
    set: [u64; WORDS],
    bits: usize,
}

impl Members {
    const NOBODY: Members = Members { set: [0; WORDS], bits: 0 };

    #[inline]
    fn has(&self, key: u64) -> bool {
        places(key).into_iter().all(|(word, bit)| self.set[word] & bit != 0)
    }
    #[inline]
    fn add(&mut self, key: u64) {
        for (word, bit) in places(key) {
            self.bits += usize::from(self.set[word] & bit == 0);
            self.set[word] |= bit;
        }
    }
}

/// Two places of independent bits of the key.
#[inline]
fn places(key: u64) -> [(usize, u64); 2] {
    [key >> 16, key >> 32].map(|half| ((half as usize >> 6) % WORDS, 1 << (half & 63)))
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Census {
    /// Of the term that runs, and of the one before.
    members: [Members; 2],
    began: Time,
    listeners: FlowCount,
    others: FlowCount,
    active: ActiveFlows,
}

impl Census {
    pub(super) fn new() -> Census {
        Census {
            members: [Members::NOBODY; 2],
            began: Time::ZERO,
            listeners: FlowCount::new(),
            others: FlowCount::new(),
            active: ActiveFlows::default(),
        }
    }
    /// A packet came, which may be cut if its sender `lets_cut` it: where it waits.
    #[inline]
    pub(super) fn see(&mut self, packet: &Packet, lets_cut: bool, arena: &Arena) -> Lane {
        let Some(key) = flows::key(packet, arena) else { return lane_without_key(packet, arena) };
        if lets_cut {
            self.members[0].add(key);
        } else if !self.members[0].has(key) && !self.members[1].has(key) {
            self.others.see(key);
            return Lane::Others;
        }
        self.listeners.see(key);
        Lane::Listeners
    }
    /// An interval is over; d and R are these now.
    pub(super) fn on_interval(&mut self, now: Time, rtt: Span, rate_bps: f64) {
        let packets = Span::from_secs_f64(COUNT_PACKETS * PACKET_BITS / rate_bps);
        let time = (rtt * COUNT_RTTS).max(COUNT_TIME).max(packets.min(TERM));
        let count = |flows: &mut FlowCount| {
            flows.roll(now, time);
            libm::round(flows.lately()) as u32
        };
        self.active =
            ActiveFlows { listeners: count(&mut self.listeners), others: count(&mut self.others) };
        let term = TERM.max(rtt * TERM_RTTS);
        let lasted = now.since(self.began);
        if lasted >= term || self.members[0].bits > BITS / 8 {
            let last = core::mem::replace(&mut self.members[0], Members::NOBODY);
            self.members[1] = if lasted < term * 2 { last } else { Members::NOBODY };
            self.began = now;
        }
    }
    /// Active flows of the last full time.
    pub(super) fn counted(&self) -> ActiveFlows {
        let of = |flows: &FlowCount| libm::round(flows.last_window()) as u32;
        ActiveFlows { listeners: of(&self.listeners), others: of(&self.others) }
    }
    #[inline]
    pub(super) fn active(&self) -> ActiveFlows {
        self.active
    }
}

/// Pieces that show no ports follow what was cut. A packet without payload goes with listeners if
/// it offers or reports.
#[inline(never)]
fn lane_without_key(packet: &Packet, arena: &Arena) -> Lane {
    let speaks = || {
        let options = &packet.cold_part(arena)?.tcp_options;
        Some(Offer::find(options).is_some() || Report::find(options).is_some())
    };
    match packet.kind() {
        Kind::Fragment => Lane::Listeners,
        Kind::Tcp | Kind::Opaque if speaks() == Some(true) => Lane::Listeners,
        Kind::Tcp | Kind::Opaque => Lane::Others,
    }
}
