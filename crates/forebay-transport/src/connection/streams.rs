//! One stream over several paths (after RFC 8684): which path carries which bytes, and what was
//! received.
//!
//! Each segment maps its bytes to the stream; the end of the stream takes one offset (DATA_FIN).
//! Paths are opened together and are not closed one by one: the stream ends when both ends know
//! that it was delivered.

use super::Role;
use super::paths::Paths;
use crate::config::TcpConfig;
use crate::options::mptcp;
use crate::path::{Path, Received};
use crate::ranges::{Range, RangeSet};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_base::{Time, widen};
use forebay_cc::Sibling;

/// Bytes that a path timed out on.
#[derive(Clone, Copy, Debug)]
struct Reinjection {
    range: Range,
    /// Paths that have carried them, one bit each.
    carried: u64,
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    role: Option<Role>,
    total: Option<u64>,
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
    pub(super) siblings: Vec<Sibling>,
}

impl Streams {
    pub(super) fn new(role: Role, total: Option<u64>) -> Streams {
        Streams { role: Some(role), total, ..Streams::default() }
    }
    /// The next data offset expected, and the end of this side's stream where it may be signalled.
    pub(super) fn signals(&self) -> (Option<u64>, Option<u64>) {
        let complete = self.received().1;
        let end = self.total.filter(|&n| n > 0 || self.role == Some(Role::Client) || complete);
        (Some(self.expected), end)
    }
    /// Bytes received in order, and whether those are all.
    pub(super) fn received(&self) -> (u64, bool) {
        let received = self.fin_at.map_or(self.expected, |fin| self.expected.min(fin));
        (received, self.fin_at.is_some_and(|fin| self.expected > fin))
    }
    /// Bytes sent at least once, and those of them that are acknowledged.
    pub(super) fn sent(&self) -> (u64, u64) {
        let most = self.total.unwrap_or(u64::MAX);
        (self.nxt.min(most), self.una.min(most))
    }
    /// Both directions are complete, and both ends know it.
    pub(super) fn is_finished(&self) -> bool {
        self.total.is_some_and(|total| self.una > total) && self.received().1
    }
    /// The end of a stream without bytes rides on the FIN of a path.
    fn ends_empty(&self) -> bool {
        self.total == Some(0) && self.signals().1.is_some() && self.una == 0
    }

    /// A segment came whose signal [maps](mptcp::Signal::maps) its payload. Returns true if it
    /// brought the next bytes of the stream.
    pub(super) fn take(&mut self, signal: mptcp::Signal, received: Received) -> bool {
        let ack = signal.ack.and_then(|a| widen(a, mptcp::DATA_ISN, self.una));
        if let Some(ack) = ack.filter(|&a| a > self.una && a <= self.nxt + 1) {
            self.una = ack;
        }
        let mapping = signal.mapping.filter(|&(.., length)| received.accepted && length > 0);
        let Some((dsn, _, length)) = mapping else { return false };
        let Some(start) = widen(dsn, mptcp::DATA_ISN, self.expected) else { return false };
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

    /// Path `index` timed out: the other paths carry what it has not delivered, before new data.
    pub(super) fn reinject(&mut self, index: usize, path: &Path) {
        for run in path.unacked_runs() {
            let range = Range { start: run.data.max(self.una), end: run.data + run.len };
            let known = self.reinjections.iter_mut().find(|r| r.range == range);
            if let Some(known) = known {
                known.carried |= 1 << index;
            } else if range.start < range.end {
                self.reinjections.push_back(Reinjection { range, carried: 1 << index });
            }
        }
    }

    /// Assign data to paths: what is to be reinjected first; to the path with the lowest RTT that
    /// has room.
    pub(super) fn schedule(&mut self, now: Time, paths: &mut Paths, config: &TcpConfig) {
        for path in paths.iter() {
            if path.is_usable() {
                self.edge = self.edge.max(self.una + path.peer_window());
            }
        }
        if self.ends_empty() {
            paths.iter_mut().filter(|p| p.is_usable()).for_each(Path::allow_fin);
        }
        while self.reinject_one(now, paths, config) {}
        while let Some(len) = self.next_len(config) {
            let Some(path) = best(now, paths, config, len, 0) else { return };
            let len = len.min(path.chunk());
            path.assign(self.nxt, len);
            self.nxt += len;
        }
    }

    /// Move a piece of the reinjection queue to a path. False if nothing can be moved. An entry
    /// that no open path may carry does not hold up those after it.
    fn reinject_one(&mut self, now: Time, paths: &mut Paths, config: &TcpConfig) -> bool {
        let una = self.una;
        self.reinjections.retain_mut(|r| {
            r.range.start = r.range.start.max(una);
            r.range.start < r.range.end
        });
        let everyone = (1u64 << paths.len()) - 1;
        for entry in &mut self.reinjections {
            let carried = if entry.carried == everyone { 0 } else { entry.carried };
            let wanted = entry.range.len().min(config.mss_bytes as u64);
            if let Some(path) = best(now, paths, config, wanted, carried) {
                let len = wanted.min(path.chunk());
                path.assign(entry.range.start, len);
                entry.range.start += len;
                return true;
            }
        }
        false
    }

    /// Length of the next piece of new data that the windows of the stream allow.
    fn next_len(&self, config: &TcpConfig) -> Option<u64> {
        let end = self.total.unwrap_or(u64::MAX);
        let room = self.edge.min(self.una + config.send_buffer_bytes).saturating_sub(self.nxt);
        let len = (end - self.nxt).min(config.mss_bytes as u64);
        (len > 0 && len <= room).then_some(len)
    }
}

/// The path with the lowest smoothed RTT among those that may take `len` bytes and are not in
/// `excluded`.
fn best<'a>(
    now: Time,
    paths: &'a mut Paths,
    config: &TcpConfig,
    len: u64,
    excluded: u64,
) -> Option<&'a mut Path> {
    let candidates = paths.iter_mut().enumerate();
    let open = candidates.filter(|(i, p)| excluded >> i & 1 == 0 && p.has_room(now, config, len));
    open.min_by_key(|(i, p)| (p.rank(), *i)).map(|(_, p)| p)
}
