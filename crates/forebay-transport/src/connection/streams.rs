//! One stream over several paths (RFC 8684): which path carries which bytes, and what was received.
//!
//! Each segment maps its bytes to the stream. The end of the stream takes one offset (DATA_FIN): it
//! is on the last bytes, or on an ACK if they have left or carry the keys, again and again until it
//! is acknowledged. The stream ends when both ends know that it was delivered; the paths end with
//! it, without a FIN of their own.

mod windows;

use super::Role;
use super::paths::Paths;
use super::subflows::Subflows;
use crate::api::Counters;
use crate::config::TcpConfig;
use crate::mptcp::Signal;
use crate::path::{BufferLimit, Received, Sharing, State};
use crate::ranges::{Range, RangeSet};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_base::{Span, Time, widen};
use forebay_cc::Sibling;

/// Bytes that a path timed out on.
#[derive(Clone, Copy, Debug)]
struct Reinjection {
    range: Range,
    /// Paths that have carried them, one bit each.
    carried: u64,
}

#[derive(Debug)]
pub(super) struct Streams {
    role: Role,
    pub(super) subflows: Subflows,
    /// Numbers of the first byte in each direction: of this end, of the peer.
    numbers: [u32; 2],
    /// What the application has written; `u64::MAX` for a stream without end.
    end: u64,
    /// It writes no more.
    closed: bool,
    /// It closed when all that it has written had been assigned: nothing carries the DATA_FIN.
    closed_late: bool,
    mss_bytes: u64,
    /// Next offset to be assigned to a path for the first time, and the first one not acknowledged.
    nxt: u64,
    una: u64,
    /// Right edge of the peer's window.
    edge: u64,
    reinjections: VecDeque<Reinjection>,
    /// Next offset expected, and what lies beyond it.
    expected: u64,
    held: RangeSet,
    /// Offset of the peer's DATA_FIN.
    fin_at: Option<u64>,
    /// When an ACK is to carry the DATA_FIN; [`Time::MAX`]: it is on data, or acknowledged.
    fin_due: Time,
    fin_repeats: u32,
    /// What more than one path carries, or has carried.
    resent: RangeSet,
    /// When a path that holds up the window may be slowed down again.
    next_penalty: Time,
    /// Which buffers alone hold new data back.
    limit: BufferLimit,
    pub(super) siblings: Vec<Sibling>,
}

impl Streams {
    pub(super) fn new(subflows: Subflows, role: Role, send: Option<u64>, mss: u16) -> Streams {
        Streams {
            role,
            numbers: subflows.first_numbers(),
            subflows,
            end: send.unwrap_or(u64::MAX),
            closed: send.is_some(),
            closed_late: false,
            mss_bytes: mss.into(),
            nxt: 0,
            una: 0,
            edge: 0,
            reinjections: VecDeque::new(),
            expected: 0,
            held: RangeSet::default(),
            fin_at: None,
            fin_due: Time::MAX,
            fin_repeats: 0,
            resent: RangeSet::default(),
            next_penalty: Time::ZERO,
            limit: BufferLimit::default(),
            siblings: Vec::new(),
        }
    }
    /// The keys are known, or one of them.
    pub(super) fn renew_numbers(&mut self) {
        self.numbers = self.subflows.first_numbers();
    }
    /// Numbers of the first byte of this end, and of the peer.
    pub(super) fn numbers(&self) -> [u32; 2] {
        self.numbers
    }
    /// What a path needs to know of the stream.
    pub(super) fn sharing(&self, path: usize) -> Sharing<'_> {
        Sharing {
            numbers: self.numbers,
            data_ack: self.expected,
            data_end: self.data_end(),
            ends_alone: self.ends_alone(),
            opening: self.subflows.opening(path),
        }
    }
    /// The end of this side's stream, where it may be signalled.
    fn data_end(&self) -> Option<u64> {
        let silent = self.end == 0 && self.role == Role::Server;
        (self.closed && (!silent || self.received().1)).then_some(self.end)
    }
    /// The DATA_FIN is to be sent on an ACK.
    fn ends_alone(&self) -> bool {
        // The first segment of a client carries the keys in place of a signal.
        let keyed = self.role == Role::Client && self.end <= self.mss_bytes;
        self.data_end().is_some()
            && self.nxt == self.end
            && self.una <= self.end
            && (self.closed_late || keyed || self.una == self.end)
    }
    /// Bytes received in order, and whether those are all.
    pub(super) fn received(&self) -> (u64, bool) {
        let received = self.fin_at.map_or(self.expected, |fin| self.expected.min(fin));
        (received, self.fin_at.is_some_and(|fin| self.expected > fin))
    }
    /// Bytes sent at least once, and those of them that are acknowledged.
    pub(super) fn sent(&self) -> (u64, u64) {
        (self.nxt, self.una.min(self.end))
    }
    /// What the application has written, None if it goes on without end; and whether it has closed.
    pub(super) fn written(&self) -> (Option<u64>, bool) {
        ((self.end != u64::MAX).then_some(self.end), self.closed)
    }
    /// Both directions are complete, and both ends know it.
    pub(super) fn is_finished(&self) -> bool {
        self.closed && self.una > self.end && self.received().1
    }

    /// The application has `bytes` more to send. False, and nothing has changed, if it has closed.
    pub(super) fn write(&mut self, bytes: u64) -> bool {
        if !self.closed {
            self.end = self.end.saturating_add(bytes);
        }
        !self.closed
    }
    /// What is not assigned to a path is withdrawn, and the stream goes on, unless its end may have
    /// left. Bytes written.
    pub(super) fn hold(&mut self) -> u64 {
        let may_have_left = self.nxt == self.end && (self.end > 0 || self.fin_repeats > 0);
        if !self.closed || !may_have_left {
            (self.end, self.closed) = (self.nxt, false);
        }
        self.end
    }
    /// The application writes no more.
    pub(super) fn close(&mut self) {
        if self.end == u64::MAX {
            self.end = self.nxt;
        }
        self.closed_late |= !self.closed && self.nxt == self.end;
        self.closed = true;
    }

    /// A segment came whose signal [maps](Signal::maps) its payload. Returns true if it brought the
    /// next bytes of the stream.
    pub(super) fn take(&mut self, signal: Signal, received: Received) -> bool {
        let ack = signal.ack.and_then(|a| widen(a, self.numbers[0], self.una));
        if let Some(ack) = ack.filter(|&a| a > self.una && a <= self.nxt + 1) {
            self.una = ack;
            self.resent.trim_below(ack);
        }
        let alone = signal.ends_alone();
        let mapping = signal.mapping.filter(|&(.., length)| length > 0);
        let mapping = mapping.filter(|_| received.accepted || alone);
        let Some((dsn, _, length)) = mapping else { return false };
        let Some(start) = widen(dsn, self.numbers[1], self.expected) else { return false };
        let end = start + length as u64;
        if signal.fin {
            self.fin_at.get_or_insert(end - 1); // later signals do not move it
        }
        if end <= self.expected {
            return false;
        }
        let before = self.expected;
        self.held.insert(start.max(self.expected), end, |_, _| ());
        if let Some(first) = self.held.first().filter(|r| r.start <= self.expected) {
            self.expected = first.end;
            self.held.trim_below(first.end);
        }
        self.fin_at.map_or(self.expected, |fin| self.expected.min(fin)) > before
    }

    /// When [`Streams::take_due_fin`] or an ACK that is repeated is due.
    pub(super) fn deadline(&self) -> Time {
        self.fin_due.min(self.subflows.deadline())
    }
    /// How many ACKs have carried the DATA_FIN.
    pub(super) fn fin_repeats(&self) -> usize {
        self.fin_repeats as usize
    }
    /// An ACK is to carry the DATA_FIN now; the next one after `rto`.
    pub(super) fn take_due_fin(&mut self, now: Time, rto: Span) -> bool {
        let due = self.fin_due <= now;
        if due {
            self.fin_due = now + rto * (1 << self.fin_repeats.min(6));
            self.fin_repeats += 1;
        }
        due
    }
    /// ACKs carried the keys in place of the DATA_FIN until now.
    pub(super) fn renew_fin(&mut self, now: Time) {
        self.fin_due = self.fin_due.min(now);
        if !self.ends_alone() {
            self.fin_due = Time::MAX;
        }
    }
    /// An ACK that carries the DATA_FIN left.
    pub(super) fn on_fin_sent(&mut self, now: Time, rto: Span) {
        if self.fin_due <= now {
            self.take_due_fin(now, rto);
        }
    }

    /// Path `index` timed out or is gone: the other paths carry what it has not delivered and none
    /// of them carries, before new data.
    pub(super) fn reinject(&mut self, index: usize, paths: &Paths) {
        let mut known = RangeSet::default();
        let mut add = |start: u64, end: u64| {
            if start < end {
                known.insert(start, end, |_, _| ());
            }
        };
        for entry in &mut self.reinjections {
            entry.carried |= 1 << index;
            add(entry.range.start, entry.range.end);
        }
        let others = paths.iter().enumerate().filter(|&(other, _)| other != index);
        for (_, path) in others.filter(|(_, path)| path.is_usable()) {
            path.unacked_runs().for_each(|run| add(run.data, run.data + run.len));
        }
        let queue = &mut self.reinjections;
        for run in paths[index].unacked_runs() {
            let (start, end) = (run.data.max(self.una), run.data + run.len);
            if start < end {
                known.insert(start, end, |range, _| {
                    queue.push_back(Reinjection { range, carried: 1 << index });
                });
            }
        }
        queue.make_contiguous().sort_unstable_by_key(|entry| entry.range.start);
    }

    /// Assign data to paths: what is to be reinjected first; to the path with the lowest RTT that
    /// has room.
    pub(super) fn schedule(
        &mut self,
        now: Time,
        paths: &mut Paths,
        config: &TcpConfig,
        counters: &mut Counters,
    ) {
        for (index, path) in paths.iter().enumerate() {
            if path.is_usable() && self.subflows.is_open(index) {
                self.edge = self.edge.max(self.una + path.peer_window());
            }
        }
        while self.reinject_one(paths, config) {}
        if config.opportunistic_retransmission && self.una < self.nxt {
            self.rescue(now, paths, config);
        }
        let limit = self.assign_new(paths, config);
        self.limit.change(limit, now, counters);
        let idle = limit.is_any() || self.nxt == self.end;
        if config.opportunistic_retransmission && idle && self.una < self.nxt {
            self.unblock(now, paths, config);
        }
        let opened = paths.iter().any(|path| path.state() == State::Established);
        let alone = opened && self.ends_alone();
        if alone && self.fin_due == Time::MAX {
            self.fin_due = now;
        } else if !alone {
            self.fin_due = Time::MAX;
        }
    }

    /// Move a piece of the reinjection queue to a path. False if nothing can be moved. An entry
    /// that no open path may carry does not hold up those after it.
    fn reinject_one(&mut self, paths: &mut Paths, config: &TcpConfig) -> bool {
        let una = self.una;
        self.reinjections.retain_mut(|r| {
            r.range.start = r.range.start.max(una);
            r.range.start < r.range.end
        });
        let everyone = (1u64 << paths.len()) - 1;
        for index in 0..self.reinjections.len() {
            let Reinjection { range, carried } = self.reinjections[index];
            let carried = if carried == everyone { 0 } else { carried };
            let wanted = range.len().min(self.mss_bytes);
            if let Some(path) = self.best(paths, config, wanted, carried) {
                let len = wanted.min(paths[path].chunk());
                paths[path].assign(range.start, len);
                self.resent.insert(range.start, range.start + len, |_, _| ());
                self.reinjections[index].range.start += len;
                return true;
            }
        }
        false
    }

    /// The path with the lowest smoothed RTT among those that may take `len` bytes and are not in
    /// `excluded`.
    fn best(&self, paths: &Paths, config: &TcpConfig, len: u64, excluded: u64) -> Option<usize> {
        let candidates = paths.iter().enumerate();
        let open = candidates.filter(|(i, p)| {
            excluded >> i & 1 == 0 && self.subflows.is_open(*i) && p.has_room(config, len)
        });
        open.min_by_key(|(i, p)| (p.rank(), *i)).map(|(i, _)| i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Rng, Stream};

    const MSS: u16 = 1000;

    fn streams(role: Role, bytes: u64) -> Streams {
        let mut streams =
            Streams::new(Subflows::new(role, 7, [1].into_iter()), role, Some(bytes), MSS);
        streams.numbers = [u32::MAX - 5_000, 123];
        streams
    }
    fn mapping(first: u32, range: Range, total: u64) -> Signal {
        let fin = range.end == total;
        let length = range.len() as u16 + u16::from(fin);
        let number = first.wrapping_add(range.start as u32);
        Signal { ack: None, mapping: Some((number, 1, length)), fin }
    }

    /// Any interleaving of segments, some of them twice and cut anew, yields the stream once. The
    /// model is a set of bytes.
    #[test]
    fn any_interleaving_yields_the_stream_once() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed, Stream::Test, 5);
            let total = 1 + rng.below(40_000);
            let mut receiver = streams(Role::Server, 0);
            receiver.numbers = [0, u32::MAX - 9_000];
            let mut parts = Vec::new();
            for _ in 0..3 {
                let mut start = 0;
                while start < total {
                    let end = (start + 1 + rng.below(1000)).min(total);
                    parts.push(Range { start, end });
                    start = end;
                }
            }
            for index in (1..parts.len()).rev() {
                parts.swap(index, rng.below(index as u64 + 1) as usize);
            }
            let mut model = alloc::vec![false; total as usize];
            let received = Received { accepted: true, ..Received::default() };
            for part in parts {
                let before = receiver.received().0;
                let news = receiver.take(mapping(u32::MAX - 9_000, part, total), received);
                model[part.start as usize..part.end as usize].fill(true);
                let expected = model.iter().take_while(|&&held| held).count() as u64;
                assert_eq!(receiver.received().0, expected, "seed {seed}");
                assert_eq!(news, expected > before, "seed {seed}");
            }
            assert_eq!(receiver.received(), (total, true), "seed {seed}");
        }
    }

    /// What is acknowledged at the level of the stream is free, and nothing else; an
    /// acknowledgment of what was not sent is none.
    #[test]
    fn only_data_acknowledgments_free_what_was_sent() {
        let mut sender = streams(Role::Client, 10_000);
        sender.nxt = 4_000;
        let received = Received { accepted: true, in_order_bytes: 100, ..Received::default() };
        let first = sender.numbers[0];
        let ack = |at: u32| Signal { ack: Some(first.wrapping_add(at)), ..Signal::default() };
        for (at, una) in [(0, 0), (3_000, 3_000), (1_000, 3_000), (9_000, 3_000), (4_000, 4_000)] {
            sender.take(ack(at), received);
            assert_eq!(sender.sent(), (4_000, una));
        }
        sender.take(Signal::default(), received);
        assert_eq!(sender.sent().1, 4_000, "an ACK of the path alone frees nothing");
    }
}
