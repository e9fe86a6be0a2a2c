//! The windows of a stream, and paths that are too slow for them.
//!
//! Data that a slow path carries keeps what comes after it in the receive window and in the send
//! buffer. So that a stream over several paths is not slower than over the best of them:
//!
//! - a slow path gets data only if the windows have room for what the faster paths send in the
//!   meantime (Ferlin et al., "BLEST", IFIP Networking 2016), and if these do not send all that is
//!   left in the meantime (Lim et al., "ECF", CoNEXT 2017);
//! - data that another path would deliver earlier goes there too, once, when nothing new may be
//!   sent or is left (opportunistic retransmission), and the slow path slows down (penalisation,
//!   Raiciu et al., "How hard can it be?", NSDI 2012);
//! - what a slow path has lost goes to a faster one at once, too, if the windows have no room for
//!   what the faster ones send before it is repaired.

use super::super::paths::Paths;
use super::Streams;
use crate::api::Counters;
use crate::config::TcpConfig;
use crate::path::{BufferLimit, Late, Path};
use forebay_base::{Span, Time};

/// More than any window, so that sums of it do not overflow.
const MOST_BYTES: u128 = 1 << 40;

impl Streams {
    /// Assign new data until it is used up, or windows are full. Returns what holds the rest back
    /// although a congestion window has room.
    pub(super) fn assign_new(&mut self, paths: &mut Paths, config: &TcpConfig) -> BufferLimit {
        while self.nxt < self.end {
            let len = (self.end - self.nxt).min(self.mss_bytes);
            let full = self.limit_of(self.nxt - self.una + len, config);
            let best = self.best(paths, config, len, 0);
            let Some(index) = best else {
                if !full.is_any() {
                    paths.iter_mut().for_each(Path::note_assigned_full);
                }
                return BufferLimit::default();
            };
            if full.is_any() {
                return full;
            }
            let meanwhile = self.sent_meanwhile(paths, index, config);
            let too_slow = self.limit_of(paths[index].pending() + len + meanwhile, config);
            let is_last = meanwhile >= self.end - self.nxt;
            if meanwhile > 0 && (is_last || too_slow.is_any()) {
                let others = paths.iter_mut().filter(|path| !path.has_room(config, len));
                others.for_each(Path::note_assigned_full);
                return if is_last { BufferLimit::default() } else { too_slow };
            }
            let path = &mut paths[index];
            let len = len.min(path.chunk());
            path.assign(self.nxt, len);
            self.nxt += len;
        }
        BufferLimit::default()
    }

    /// Which windows have no room for `bytes` after what is acknowledged.
    fn limit_of(&self, bytes: u64, config: &TcpConfig) -> BufferLimit {
        BufferLimit {
            peer_window: self.una + bytes > self.edge,
            send_buffer: bytes > config.send_buffer_bytes,
        }
    }

    /// Bytes that paths faster than path `index` send in a round trip of that path. 0 if there are
    /// none, or it does not matter.
    fn sent_meanwhile(&self, paths: &Paths, index: usize, config: &TcpConfig) -> u64 {
        let slow = &paths[index];
        let (rank, rtt_ns) = (slow.rank(), u128::from(slow.next_rtt()));
        if !config.opportunistic_retransmission || rank == u64::MAX {
            return 0;
        }
        let faster = paths.iter().enumerate().filter(|(other, path)| {
            self.subflows.is_open(*other) && path.is_usable() && path.rank() < rank
        });
        let bytes = faster
            .map(|(_, path)| u128::from(path.cwnd()) * rtt_ns / u128::from(path.rank().max(1)));
        bytes.sum::<u128>().min(MOST_BYTES) as u64
    }

    /// A slow path repairs losses, and before that is done the windows would be full: a faster one
    /// with room carries what was lost.
    pub(super) fn rescue(&mut self, now: Time, paths: &mut Paths, config: &TcpConfig) {
        let outstanding = self.nxt - self.una;
        let repairs = |index: &usize| paths[*index].is_usable() && paths[*index].is_in_recovery();
        let fills = |index: usize| {
            let meanwhile = self.sent_meanwhile(paths, index, config);
            meanwhile > 0 && self.limit_of(outstanding + meanwhile, config).is_any()
        };
        if (0..paths.len()).filter(repairs).any(fills) {
            self.resend(now, paths, config, Late::Lost);
        }
    }

    /// Nothing new may leave or is left, and a path has room: it carries what others deliver late.
    pub(super) fn unblock(&mut self, now: Time, paths: &mut Paths, config: &TcpConfig) {
        let full = self.limit_of(self.nxt - self.una + self.mss_bytes, config);
        if self.nxt < self.end && full.is_any() {
            self.penalise(now, paths, config);
        }
        self.resend(now, paths, config, Late::Any);
    }

    /// Paths with room carry what others deliver later than they would, each byte once.
    fn resend(&mut self, now: Time, paths: &mut Paths, config: &TcpConfig, which: Late) {
        while let Some(fast) = self.best(paths, config, self.mss_bytes, 0) {
            let rtt_ns = paths[fast].rank();
            let others = paths.iter().enumerate().filter(|&(other, _)| other != fast);
            let usable = others.map(|(_, path)| path).filter(|path| path.is_usable());
            let late =
                usable.filter_map(|p| p.first_late(now, self.una, rtt_ns, &self.resent, which));
            let Some(range) = late.min_by_key(|range| range.start) else { return };
            let len = range.len().min(paths[fast].chunk());
            paths[fast].assign(range.start, len);
            self.resent.insert(range.start, range.start + len, |_, _| ());
        }
    }

    /// The path that carries the first byte that is not acknowledged slows down, once in a round
    /// trip of its own, if the fastest one with room has a shorter RTT and carries more.
    fn penalise(&mut self, now: Time, paths: &mut Paths, config: &TcpConfig) {
        if now < self.next_penalty {
            return;
        }
        let Some(fast) = self.best(paths, config, self.mss_bytes, 0) else { return };
        if paths[fast].carries(self.una) {
            return;
        }
        let (una, fast_rtt) = (self.una, paths[fast].rank());
        let fast_cwnd = u128::from(paths[fast].cwnd());
        let carries_less = |path: &Path| {
            u128::from(path.cwnd()) * u128::from(fast_rtt) < fast_cwnd * u128::from(path.rank())
        };
        let slow = |path: &Path| path.is_usable() && path.rank() > fast_rtt && carries_less(path);
        let mut slower = paths.iter_mut().filter(|path| slow(path));
        if let Some(slow) = slower.find(|path| path.carries(una)) {
            self.next_penalty = now + Span::from_nanos(slow.rank());
            slow.penalise(now);
        }
    }

    /// Add the time for which buffers hold new data back at `now`.
    pub(in crate::connection) fn add_buffer_limit(&self, now: Time, counters: &mut Counters) {
        self.limit.end(now, counters);
    }
}
