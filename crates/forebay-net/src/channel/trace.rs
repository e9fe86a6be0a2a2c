//! Traces of delivery opportunities, and the transmitter that follows one as mahimahi's does.

use super::Channel;
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{Rate, Span, Time};

/// Why a trace was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// No opportunity at all.
    Empty,
    /// The time of opportunity `index` is before that of its predecessor.
    NotInOrder {
        /// Its index, from 0.
        index: usize,
    },
    /// All opportunities are at time zero: the trace has no length to repeat.
    NoLength,
    /// More opportunities than 2^32 - 1, or more than 2^26 different times.
    TooLong,
}

/// Most different times in a trace: 18 hours of milliseconds, 768 MiB.
const MAX_TIMES: usize = 1 << 26;

/// Times at which `bytes_per_opportunity` can be delivered. The trace repeats without end; its last
/// time is its length (format of mahimahi's mm-link).
///
/// In memory it takes 12 bytes for each different time, however many opportunities come at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// Different times since the start, rising.
    times: Vec<Span>,
    /// For each of them the number of opportunities until then, its own included.
    counts: Vec<u32>,
    bytes_per_opportunity: u32,
}

/// A [`DeliveryTrace`] in the making, opportunity by opportunity.
#[derive(Clone, Debug, Default)]
pub struct DeliveryTraceBuilder {
    times: Vec<Span>,
    counts: Vec<u32>,
    count: u32,
}

impl DeliveryTraceBuilder {
    /// The next opportunity, `at` after the start of the trace.
    pub fn push(&mut self, at: Span) -> Result<(), TraceError> {
        let count = self.count.checked_add(1).ok_or(TraceError::TooLong)?;
        match self.times.last().copied() {
            Some(last) if at < last => {
                return Err(TraceError::NotInOrder { index: self.count as usize });
            }
            Some(last) if at == last => self.counts.pop(),
            _ if self.times.len() == MAX_TIMES => return Err(TraceError::TooLong),
            _ => {
                self.times.push(at);
                None
            }
        };
        self.counts.push(count);
        self.count = count;
        Ok(())
    }
    /// The time of the last opportunity so far.
    pub fn last(&self) -> Option<Span> {
        self.times.last().copied()
    }
    /// The trace. Panics if an opportunity has no bytes.
    pub fn finish(self, bytes_per_opportunity: u32) -> Result<DeliveryTrace, TraceError> {
        assert!(bytes_per_opportunity > 0);
        match self.last() {
            None => Err(TraceError::Empty),
            Some(last) if last.is_zero() => Err(TraceError::NoLength),
            Some(_) => {
                Ok(DeliveryTrace { times: self.times, counts: self.counts, bytes_per_opportunity })
            }
        }
    }
}

/// A place in a trace that repeats.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    round: u64,
    /// Index of a different time.
    place: usize,
    /// Opportunities at that time that are gone.
    used: u32,
}

impl DeliveryTrace {
    /// A trace from times since its start.
    pub fn new(
        opportunities: impl IntoIterator<Item = Span>,
        bytes_per_opportunity: u32,
    ) -> Result<Self, TraceError> {
        let mut builder = DeliveryTraceBuilder::default();
        opportunities.into_iter().try_for_each(|at| builder.push(at))?;
        builder.finish(bytes_per_opportunity)
    }
    /// The length after which it repeats.
    pub fn period(&self) -> Span {
        self.times[self.times.len() - 1]
    }
    /// Opportunities in a period.
    pub fn opportunities(&self) -> u64 {
        u64::from(self.counts[self.counts.len() - 1])
    }
    /// Bytes that one opportunity delivers.
    pub fn bytes_per_opportunity(&self) -> u32 {
        self.bytes_per_opportunity
    }
    /// The different times since the start, each with the number of its opportunities.
    pub fn times(&self) -> impl Iterator<Item = (Span, u32)> + '_ {
        (0..self.times.len()).map(|place| (self.times[place], self.count(place)))
    }
    /// Bytes of memory that its times take.
    pub fn memory_bytes(&self) -> u64 {
        self.times.len() as u64 * 12
    }
    /// Mean rate over the period.
    pub fn mean_rate(&self) -> Rate {
        let bits = u128::from(self.opportunities()) * u128::from(self.bytes_per_opportunity) * 8;
        let bps = bits * 1_000_000_000 / u128::from(self.period().as_nanos());
        Rate::clamped(u64::try_from(bps).unwrap_or(u64::MAX))
    }
    /// Opportunities from the start of the trace until `at`, both included, in all its rounds.
    pub fn opportunities_until(&self, at: Span) -> u64 {
        let period = self.period().as_nanos();
        let (round, into) = (at.as_nanos() / period, Span::from_nanos(at.as_nanos() % period));
        let places = self.times.partition_point(|&time| time <= into);
        let of_round = places.checked_sub(1).map_or(0, |last| self.counts[last]);
        round * self.opportunities() + u64::from(of_round)
    }
    /// Opportunities at one of the different times.
    fn count(&self, place: usize) -> u32 {
        let before = place.checked_sub(1).map_or(0, |before| self.counts[before]);
        self.counts[place] - before
    }
    /// When the opportunities at a place come, since the start of the trace.
    fn at(&self, cursor: Cursor) -> Span {
        self.period() * cursor.round + self.times[cursor.place]
    }
    /// The place after `cursor`.
    fn next_place(&self, cursor: Cursor) -> Cursor {
        if cursor.place + 1 == self.times.len() {
            Cursor { round: cursor.round + 1, place: 0, used: 0 }
        } else {
            Cursor { place: cursor.place + 1, used: 0, ..cursor }
        }
    }
    /// The first place at `from` or later.
    fn first_from(&self, from: Span) -> Cursor {
        let period = self.period().as_nanos();
        // At a multiple of the period the last opportunities of the round before are due as well.
        let round = (from.as_nanos() / period).saturating_sub(1);
        let into = Span::from_nanos(from.as_nanos() - round * period);
        let place = self.times.partition_point(|&at| at < into);
        if place < self.times.len() {
            return Cursor { round, place, used: 0 };
        }
        let into = into.saturating_sub(self.period());
        let place = self.times.partition_point(|&at| at < into);
        debug_assert!(place < self.times.len(), "the remainder is less than the period");
        Cursor { round: round + 1, place, used: 0 }
    }
}

/// A transmitter that follows a [`DeliveryTrace`], as mahimahi's mm-link does (Netravali et al.,
/// USENIX ATC 2015; `LinkQueue::rationalize`). Packets that were there before an opportunity are
/// taken from the queue when it comes, in the order of the queue, as far as its bytes go. Bytes
/// left over serve the next packet, which gets its other bytes from later opportunities. An
/// opportunity at which nothing waits is lost, and so are bytes left over when nothing waits. A
/// packet that comes at the very time of an opportunity is too late for it.
#[derive(Clone, Debug)]
pub struct TraceChannel {
    trace: Arc<DeliveryTrace>,
    /// Where in the trace the run begins.
    offset: Span,
    /// The next opportunity not used yet.
    next: Cursor,
    /// Bytes left of an opportunity, and when that was.
    left: (u32, Time),
}

impl TraceChannel {
    /// A channel that is `offset` after the start of its trace at time zero.
    pub fn new(trace: Arc<DeliveryTrace>, offset: Span) -> Self {
        let next = trace.first_from(offset);
        TraceChannel { trace, offset, next, left: (0, Time::ZERO) }
    }
    fn time(&self, cursor: Cursor) -> Time {
        Time::ZERO + self.trace.at(cursor).saturating_sub(self.offset)
    }
    /// The first opportunity at `now` or later that is not used.
    fn first_unused(&self, now: Time) -> Cursor {
        if self.time(self.next) >= now {
            self.next
        } else {
            self.trace.first_from(self.offset + now.since(Time::ZERO))
        }
    }
    /// Use one opportunity.
    fn step(&mut self) {
        self.next.used += 1;
        if self.next.used == self.trace.count(self.next.place) {
            self.next = self.trace.next_place(self.next);
        }
    }
}

impl Channel for TraceChannel {
    fn next_opportunity(&self, now: Time) -> Time {
        if self.left.0 > 0 && self.left.1 == now { now } else { self.time(self.first_unused(now)) }
    }
    fn starts_at_once(&self) -> bool {
        false
    }
    fn on_idle(&mut self, now: Time) {
        self.left.0 = 0;
        self.next = self.first_unused(now);
        // The first of a round may come together with the last of the round before.
        while self.time(self.next) == now {
            self.next = self.trace.next_place(self.next);
        }
    }
    fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        if self.left.1 != now {
            self.left = (0, now);
            self.next = self.first_unused(now);
        }
        while self.left.0 < bytes {
            self.left.1 = self.time(self.next);
            self.left.0 += self.trace.bytes_per_opportunity;
            self.step();
        }
        self.left.0 -= bytes;
        self.left.1
    }
    fn rate(&self, _: Time) -> Rate {
        self.trace.mean_rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(ms: &[u64]) -> TraceChannel {
        traced(ms, 0)
    }
    fn traced(ms: &[u64], offset_ms: u64) -> TraceChannel {
        let trace = DeliveryTrace::new(ms.iter().map(|&m| Span::from_millis(m)), 1500).unwrap();
        TraceChannel::new(Arc::new(trace), Span::from_millis(offset_ms))
    }
    /// When packets of an opportunity each leave that all wait from the start.
    fn ends(mut channel: TraceChannel, packets: usize) -> Vec<u64> {
        let mut now = channel.next_opportunity(Time::ZERO);
        let mut one = || {
            now = channel.next_opportunity(now);
            now = channel.transmit(now, 1500);
            now.as_nanos() / 1_000_000
        };
        (0..packets).map(|_| one()).collect()
    }

    #[test]
    fn a_trace_delivers_at_its_opportunities_and_repeats() {
        assert_eq!(ends(trace(&[1, 1, 4, 10]), 6), [1, 1, 4, 10, 11, 11]);
        assert_eq!(ends(trace(&[0, 3, 3]), 9), [0, 3, 3, 3, 6, 6, 6, 9, 9]);
        assert_eq!(ends(trace(&[1, 1, 1, 1, 1, 4]), 11), [1, 1, 1, 1, 1, 4, 5, 5, 5, 5, 5]);
    }

    #[test]
    fn an_offset_begins_within_the_trace() {
        assert_eq!(ends(traced(&[1, 1, 4, 10], 4), 5), [0, 6, 7, 7, 10]);
        assert_eq!(ends(traced(&[1, 1, 4, 10], 5), 4), [5, 6, 6, 9]);
        // Whole periods make no difference, but for what the round before leaves at time zero.
        assert_eq!(ends(traced(&[1, 1, 4, 10], 25), 4), [5, 6, 6, 9]);
        assert_eq!(ends(traced(&[1, 1, 4, 10], 10), 4), [0, 1, 1, 4]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_idle_ones_are_lost() {
        let ms = Time::from_millis;
        let mut channel = trace(&[1, 2, 3, 10]);
        let mut next = |now: Time, bytes: u32, idle: bool| {
            if idle {
                channel.on_idle(now);
            }
            let open = channel.next_opportunity(now);
            channel.transmit(open, bytes)
        };
        assert_eq!((next(Time::ZERO, 500, true), next(ms(1), 500, false)), (ms(1), ms(1)));
        // Idle until 5 ms: what was left at 1 ms and the opportunities at 2 and 3 are gone.
        assert_eq!(next(ms(5), 1500, true), ms(10));
        // A packet longer than an opportunity takes two. What comes at 13 ms comes too late for it.
        assert_eq!(next(ms(20), 3000, true), ms(22));
        assert_eq!(next(ms(23), 100, true), ms(30));
        // What waits when another has left has what that left, and the rest later.
        assert_eq!(next(ms(30), 1500, false), ms(31));
    }

    /// Opportunities at 1, 1, 4, 10 ms; then at 11, 11, 14, 20. Where a trace has one at 0, it
    /// comes together with the last of the round before.
    #[test]
    fn opportunities_until_a_time_by_hand() {
        let until = |of: &TraceChannel, ms| of.trace.opportunities_until(Span::from_millis(ms));
        let channel = trace(&[1, 1, 4, 10]);
        let counts = [0, 1, 3, 4, 9, 10, 11, 20, 41].map(|ms| until(&channel, ms));
        assert_eq!(counts, [0, 2, 2, 3, 3, 4, 6, 8, 18]);
        let channel = trace(&[0, 3, 3]);
        assert_eq!([0, 2, 3, 5, 6].map(|ms| until(&channel, ms)), [1, 1, 4, 4, 7]);
    }

    #[test]
    fn bad_traces_are_refused() {
        let new = |ms: &[u64]| DeliveryTrace::new(ms.iter().map(|&m| Span::from_millis(m)), 1500);
        assert_eq!(new(&[]), Err(TraceError::Empty));
        assert_eq!(new(&[3, 2]), Err(TraceError::NotInOrder { index: 1 }));
        assert_eq!(new(&[0, 0]), Err(TraceError::NoLength));
    }

    #[test]
    fn equal_times_take_no_room() {
        let trace =
            DeliveryTrace::new((0..9_000).map(|n| Span::from_millis(n / 3_000)), 1).unwrap();
        assert_eq!((trace.opportunities(), trace.memory_bytes()), (9_000, 36));
        assert!(trace.times().eq((0..3).map(|ms| (Span::from_millis(ms), 3_000))));
    }
}
