//! Flows at a port: how many there are, and when each was last seen. Both have a bound.

use alloc::boxed::Box;
use forebay_base::{Arena, Kind, Packet, Span, Time, mix64};

/// Of addresses, protocol and ports; None: pure acknowledgments, and fragments that show no ports.
pub(super) fn key(packet: &Packet, arena: &Arena) -> Option<u64> {
    match packet.kind() {
        Kind::Tcp if packet.payload_len() == 0 => None,
        Kind::Fragment if packet.ports().is_none() => None,
        _ => Some(key_of_ends(packet, arena)),
    }
}

/// The same of any packet.
pub(super) fn key_of_ends(packet: &Packet, arena: &Arena) -> u64 {
    let addresses = (packet.src().0 as u64) << 32 | packet.dst().0 as u64;
    let ports = packet.ports().map_or(0, |(src, dst)| (src as u64) << 24 | (dst as u64) << 8);
    mix64(mix64(addresses) ^ ports ^ packet.protocol(arena) as u64)
}

const WORDS: usize = 64;
const BITS: u64 = 64 * WORDS as u64;

fn place(key: u64) -> (usize, u64) {
    ((key >> 6) as usize % WORDS, 1 << (key & 63))
}

/// How many flows sent something in a time (linear counting, Whang et al. 1990): up to about
/// 30 000, with an error of a few percent.
#[derive(Clone, Debug)]
pub(super) struct FlowCount {
    seen: [u64; WORDS],
    clear_bits: u64,
    began: Time,
    /// The last one that was asked for.
    window: Span,
    /// Flows in the last full time.
    flows: f64,
}

impl FlowCount {
    pub(super) const fn new() -> FlowCount {
        FlowCount {
            seen: [0; WORDS],
            clear_bits: BITS,
            began: Time::ZERO,
            window: Span::ZERO,
            flows: 0.0,
        }
    }
    /// A packet of this flow came.
    #[inline]
    pub(super) fn see(&mut self, key: u64) {
        let (word, bit) = place(key);
        let seen = &mut self.seen[word];
        self.clear_bits -= u64::from(*seen & bit == 0);
        *seen |= bit;
    }
    /// Begin anew where `window` is over: true.
    pub(super) fn roll(&mut self, now: Time, window: Span) -> bool {
        // It may shrink while it runs.
        let before = core::mem::replace(&mut self.window, window);
        if now.since(self.began) < window {
            return false;
        }
        // Where nothing came for a time there was nothing to call.
        let is_old = now.since(self.began) >= window.max(before) * 2;
        self.flows = if is_old { 0.0 } else { self.so_far() };
        (self.seen, self.clear_bits, self.began) = ([0; WORDS], BITS, now);
        true
    }
    /// Flows in the last window that was full, at least 1.
    pub(super) fn flows(&self) -> f64 {
        self.flows.max(1.0)
    }
    /// The same, and 0 if there were none.
    pub(super) fn last_window(&self) -> f64 {
        self.flows
    }
    /// Flows in that window, or in the one that runs if they are more.
    pub(super) fn lately(&self) -> f64 {
        self.flows.max(self.so_far())
    }
    fn so_far(&self) -> f64 {
        let clear = self.clear_bits.max(1) as f64 / BITS as f64;
        -(BITS as f64) * libm::log(clear)
    }
}

/// How much of what arrives is of flows that listen: of those that let routers cut something in the
/// window before.
#[derive(Clone, Debug)]
pub(super) struct CooperatingShare {
    cut: [u64; WORDS],
    before: [u64; WORDS],
    bytes: u64,
    of_listeners: u64,
    /// In the last full window; 1: all.
    share: f64,
}

impl CooperatingShare {
    pub(super) const fn new() -> CooperatingShare {
        let none = [0; WORDS];
        CooperatingShare { cut: none, before: none, bytes: 0, of_listeners: 0, share: 0.0 }
    }
    /// A packet of this flow came.
    #[inline]
    pub(super) fn see(&mut self, key: u64, bytes: u16, may_be_cut: bool) {
        let (word, bit) = place(key);
        self.cut[word] |= if may_be_cut { bit } else { 0 };
        self.bytes += u64::from(bytes);
        self.of_listeners += if self.before[word] & bit != 0 { u64::from(bytes) } else { 0 };
    }
    /// The window is over.
    pub(super) fn roll(&mut self) {
        self.share = self.of_listeners as f64 / self.bytes.max(1) as f64;
        (self.before, self.cut) = (self.cut, [0; WORDS]);
        (self.bytes, self.of_listeners) = (0, 0);
    }
    pub(super) fn share(&self) -> f64 {
        self.share
    }
}

/// When which flow was last chosen. Of two flows that share a place the last one has it, and the
/// other is chosen anew.
#[derive(Clone, Debug)]
pub(super) struct Recent(Box<[(u64, Time)]>);

impl Default for Recent {
    fn default() -> Recent {
        Recent(Box::new([(0, Time::ZERO); Recent::PLACES]))
    }
}

impl Recent {
    const PLACES: usize = 1024;

    /// True, and the flow is chosen, unless it was within the last `gap`.
    pub(super) fn is_due(&mut self, key: u64, now: Time, gap: Span) -> bool {
        let place = &mut self.0[(key % Recent::PLACES as u64) as usize];
        let due = place.0 != key || now.since(place.1) >= gap;
        if due {
            *place = (key, now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_counted_within_three_standard_errors() {
        // Whang et al., equation 5: the error is sqrt(m (e^t - t - 1)) / n, t = n / m: 1.4 % for 64
        // of 4096 at the most, and 1.7 % for 4096.
        for (flows, error) in [(1_u64, 0.05), (64, 0.05), (128, 0.05), (4096, 0.05)] {
            let mut count = FlowCount::new();
            (0..3 * flows).for_each(|i| count.see(mix64(i % flows + 77)));
            count.roll(Time::from_millis(99), Span::from_millis(100));
            assert_eq!(count.flows(), 1.0, "the time is not over");
            count.roll(Time::from_millis(100), Span::from_millis(100));
            let found = count.flows() / flows as f64;
            assert!((found - 1.0).abs() < error, "{flows}: {found}");
            count.roll(Time::from_millis(200), Span::from_millis(100));
            assert_eq!(count.flows(), 1.0, "nobody came since");
        }
    }

    #[test]
    fn a_window_that_shrinks_while_it_runs_counts_and_silence_does_not() {
        for (asked_ms, expected) in [(Some(99), 3.0), (None, 0.0)] {
            let mut count = FlowCount::new();
            (0..3).for_each(|i| count.see(mix64(i)));
            if let Some(ms) = asked_ms {
                assert!(!count.roll(Time::from_millis(ms), Span::from_millis(100)));
            }
            assert!(count.roll(Time::from_millis(101), Span::from_millis(10)));
            assert!((count.last_window() - expected).abs() < 0.01, "{asked_ms:?}");
        }
    }

    #[test]
    fn what_flows_send_that_were_cut_before_is_of_listeners() {
        let mut listeners = CooperatingShare::new();
        for (round, expected) in [0.0, 0.75, 0.75].into_iter().enumerate() {
            listeners.see(mix64(1), 1500, true);
            listeners.see(mix64(1), 3000, false);
            listeners.see(mix64(2), 1500, false);
            listeners.roll();
            assert_eq!(listeners.share(), expected, "{round}");
        }
        listeners.roll();
        assert_eq!(listeners.share(), 0.0, "silence");
    }

    #[test]
    fn a_flow_is_due_once_per_gap_and_again_where_another_took_its_place() {
        let (mut recent, ms) = (Recent::default(), Time::from_millis);
        let gap = Span::from_millis(10);
        assert!(recent.is_due(5, ms(0), gap) && recent.is_due(6, ms(0), gap));
        assert!(!recent.is_due(5, ms(9), gap) && recent.is_due(5, ms(10), gap));
        assert!(recent.is_due(5 + Recent::PLACES as u64, ms(11), gap));
        assert!(recent.is_due(5, ms(11), gap));
    }
}
