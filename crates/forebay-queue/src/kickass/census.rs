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
    /// So many flows are active.
    #[cfg(test)]
    pub(super) fn assume(&mut self, listeners: u32, others: u32) {
        self.active = ActiveFlows { listeners, others };
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

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Addr, Endpoint, IpVersion, OptionList, TcpFields, TcpFlags};

    /// A full segment of this flow.
    fn data(flow: u32) -> Packet {
        segment(flow, 1448, TcpFlags::ACK)
    }
    fn segment(flow: u32, payload: u16, flags: TcpFlags) -> Packet {
        let end = |addr| Endpoint { addr: Addr(addr), port: 7 };
        let fields = TcpFields { flags, ..TcpFields::default() };
        Packet::tcp(IpVersion::V4, end(flow), end(0), fields, payload)
    }
    /// Packets of a flow come each 5 ms, and the intervals end; the first may be cut. When the last
    /// one was taken for one of a listener, in ms.
    fn listens_until_ms(rtt: Span, from_ms: u64) -> u64 {
        let (mut census, arena) = (Census::new(), Arena::default());
        let lane = |ms: u64| {
            census.on_interval(Time::from_millis(ms), rtt, 10e6);
            census.see(&data(1), ms == from_ms, &arena)
        };
        let ms: alloc::vec::Vec<u64> = (0..4000)
            .map(|k| 5 * k)
            .zip((0..4000).map(|k| 5 * k).map(lane))
            .filter(|(_, lane)| *lane == Lane::Listeners)
            .map(|(ms, _)| ms)
            .collect();
        assert_eq!(ms[0], from_ms, "it begins with the packet that may be cut");
        assert!(ms.windows(2).all(|two| two[1] == two[0] + 5), "without a gap");
        ms[ms.len() - 1] - from_ms
    }

    #[test]
    fn a_flow_listens_for_one_to_two_terms_after_a_packet_that_may_be_cut() {
        for from_ms in [1000, 1300, 1700, 1995] {
            let ms = listens_until_ms(Span::from_millis(10), from_ms);
            assert!((1000..=2000).contains(&ms), "{ms} from {from_ms}");
            let ms = listens_until_ms(Span::from_millis(800), from_ms);
            assert!((3200..=6400).contains(&ms), "{ms} from {from_ms}");
        }
    }

    /// A term ends where an eighth of the bits is set: two terms set a quarter, and a flow that is
    /// none of them finds both its bits with a chance of 1 in 16.
    #[test]
    fn few_of_the_others_pass_for_listeners_however_many_those_are() {
        let (mut census, arena) = (Census::new(), Arena::default());
        for (listeners, most) in [(500, 0.001), (100_000, 0.0625)] {
            for flow in 0..listeners {
                census.see(&data(flow), true, &arena);
                if flow % 100 == 0 {
                    census.on_interval(Time::from_millis(1), Span::from_millis(10), 1e9);
                }
            }
            let wrong = (1..=10_000)
                .filter(|flow| {
                    census.see(&data(1_000_000 + flow), false, &arena) == Lane::Listeners
                })
                .count();
            assert!(wrong as f64 / 1e4 <= most, "{wrong} of 10 000 beside {listeners}");
        }
    }

    #[test]
    fn both_kinds_are_counted_at_once_and_forgotten_after_two_times() {
        let (mut census, arena) = (Census::new(), Arena::default());
        let rtt = Span::from_millis(20);
        for ms in 0..1000 {
            census.on_interval(Time::from_millis(ms), rtt, 100e6);
            (0..5).for_each(|flow| _ = census.see(&data(flow), true, &arena));
            (500..1000).for_each(|flow| _ = census.see(&data(flow), false, &arena));
            let ActiveFlows { listeners, others } = census.active();
            assert!(ms == 0 || listeners == 5, "{listeners} at {ms} ms");
            assert!(ms == 0 || (480..=520).contains(&others), "{others} at {ms} ms");
        }
        for ms in 1000..1300 {
            census.on_interval(Time::from_millis(ms), rtt, 100e6);
            census.see(&data(1), false, &arena);
        }
        assert_eq!(census.active(), ActiveFlows { listeners: 1, others: 0 });
        census.on_interval(Time::from_secs(9), rtt, 100e6);
        assert_eq!(census.active(), ActiveFlows::default(), "silence since");
    }

    /// More flows than can be told apart are counted as about 34 000.
    #[test]
    fn a_count_that_overflows_stays_finite() {
        let (mut census, arena) = (Census::new(), Arena::default());
        (0..300_000).for_each(|flow| _ = census.see(&data(flow), false, &arena));
        census.on_interval(Time::from_millis(1), Span::from_millis(10), 1e9);
        assert!((30_000..35_000).contains(&census.active().others), "{:?}", census.active());
    }

    #[test]
    fn what_has_no_data_goes_with_listeners_if_it_offers_or_reports() {
        let mut arena = Arena::default();
        let mut census = Census::new();
        let mut lane = |flags, fill: fn(&mut OptionList), arena: &mut Arena| {
            let mut options = OptionList::EMPTY;
            fill(&mut options);
            let mut packet = segment(1, 0, flags);
            packet.set_tcp_options(options, arena).expect("there is room");
            let lane = census.see(&packet, false, arena);
            arena.free(packet);
            lane
        };
        let offer = |options: &mut OptionList| {
            let offer = Offer { dither: false, explicit_tcp: true, thinning: true };
            offer.push(options).expect("there is room");
        };
        let report = |options: &mut OptionList| {
            let silent = Report { least: None, last: None, signalled: 0, silent: 1, rate: None };
            silent.push(options).expect("there is room");
        };
        let (syn, ack) = (TcpFlags::SYN, TcpFlags::ACK);
        assert_eq!(lane(syn, offer, &mut arena), Lane::Listeners);
        assert_eq!(lane(ack, report, &mut arena), Lane::Listeners);
        assert_eq!(lane(syn, |_| {}, &mut arena), Lane::Others);
        assert_eq!(lane(ack, |_| {}, &mut arena), Lane::Others);
    }
}
