//! A connection that is over: what is left of it for reports, and for segments that come late.

use super::Connection;
use crate::api::{Counters, EndCause, PathView, Progress, RttSummary};
use crate::path::{Incoming, LastAck};
use core::ops::Range;
use forebay_base::{Arena, Packet, PortId, Span, Time};

/// For how long a connection that has ended is kept whole. By then the peer has heard of the end,
/// but for a loss; segments that come later find a [`ClosedConnection`].
pub const LINGER: Span = Span::from_millis(200);

/// What is left of a [`Connection`] 200 ms after its end, in a quarter of the memory.
///
/// The results stay what they were. Segments that come late have the answers that the connection
/// would give: the last ACK, which the peer may have missed. That an ACK reports congestion has no
/// effect any more. There is no timer of 2 MSL (RFC 9293 section 3.6.1): the state stays.
pub struct ClosedConnection {
    moments: Moments,
    sent_bytes: u64,
    acked_bytes: u64,
    received_bytes: u64,
    counters: Counters,
    rtt: RttSummary,
    view: PathView,
    port: PortId,
    last_ack: LastAck,
}

/// The times of [`Progress`]; [`Time::MAX`]: it has not happened.
struct Moments {
    opened_at: Time,
    established_at: Time,
    last_byte_at: Time,
    ended_at: Time,
    cause: EndCause,
    stream_complete: bool,
}

impl Connection {
    /// True of one over several paths, with bytes beyond a hole, or whose controller has a receiver
    /// half, which may add to each ACK: nothing closes it after its end.
    pub fn stays_whole(&self) -> bool {
        self.multipath
            || self.paths.first.has_feedback()
            || self.arrived_bytes() != self.progress().received_bytes
    }
    /// What is left of it at `now`; None as long as it is needed: [`LINGER`] after its end, while
    /// something is to be sent now or later, and always of one that [stays
    /// whole](Connection::stays_whole).
    pub fn closed(&self, now: Time) -> Option<ClosedConnection> {
        let (cause, ended_at) = self.progress.ended?;
        let acts = self.next_timeout().is_some() || !self.has_nothing_to_send(0);
        let acts = acts && cause == EndCause::Finished;
        if self.stays_whole() || acts || now < ended_at + LINGER {
            return None;
        }
        let mut counters = self.counters;
        [counters.held_by_peer, counters.held_by_buffer] = self.held_back(now);
        let of = self.progress();
        let [opened_at, established_at, last_byte_at] =
            [of.opened_at, of.established_at, of.last_byte_at].map(|at| at.unwrap_or(Time::MAX));
        let stream_complete = of.stream_complete;
        Some(ClosedConnection {
            moments: Moments {
                opened_at,
                established_at,
                last_byte_at,
                ended_at,
                cause,
                stream_complete,
            },
            sent_bytes: of.sent_bytes,
            acked_bytes: of.acked_bytes,
            received_bytes: of.received_bytes,
            counters,
            rtt: self.rtt_summary(0),
            view: self.view(0),
            port: self.path_port(0),
            last_ack: self.paths.first.last_ack(&self.config),
        })
    }
}

impl ClosedConnection {
    fn progress(&self) -> Progress {
        let of = &self.moments;
        let [opened_at, established_at, last_byte_at] =
            [of.opened_at, of.established_at, of.last_byte_at]
                .map(|at| (at != Time::MAX).then_some(at));
        Progress {
            opened_at,
            established_at,
            received_bytes: self.received_bytes,
            last_byte_at,
            stream_complete: of.stream_complete,
            sent_bytes: self.sent_bytes,
            acked_bytes: self.acked_bytes,
            ended: Some((of.cause, of.ended_at)),
        }
    }
    /// As [`Connection::is_from_peer`].
    pub fn is_from_peer(&self, packet: &Packet) -> bool {
        self.last_ack.is_from_peer(packet)
    }
    /// As [`Connection::outgoing_bytes`]: a segment of it may still wait somewhere.
    fn outgoing_bytes(&self, packet: &Packet) -> Range<u64> {
        let len = u64::from(packet.payload_len());
        let about = self.sent_bytes + 1;
        let at = packet.tcp_fields().and_then(|tcp| self.last_ack.own_offset(tcp.seq, about));
        let at = at.filter(|_| len > 0).and_then(|at| at.checked_sub(1));
        at.map_or(0..0, |at| at..at + len)
    }
    /// A TCP segment came. What it carries was there before.
    pub fn on_packet(&mut self, now: Time, packet: &Packet, arena: &Arena) {
        let finished = self.moments.cause == EndCause::Finished;
        if let Some(segment) = Incoming::read(packet, 1, arena).filter(|_| finished) {
            self.last_ack.on_segment(now, &segment, &mut self.counters);
        }
    }
    /// The last ACK again, if it is due.
    pub fn poll_transmit(&mut self, now: Time, arena: &mut Arena) -> Option<Packet> {
        if self.has_nothing_to_send() {
            return None;
        }
        self.counters.acks += 1;
        Some(self.last_ack.packet(now, arena))
    }
    /// [`ClosedConnection::poll_transmit`] returns None.
    pub fn has_nothing_to_send(&self) -> bool {
        !self.last_ack.is_due()
    }
}

/// A connection to look at: open, or over.
#[derive(Clone, Copy)]
pub enum ConnectionView<'a> {
    /// It is there as a whole.
    Open(&'a Connection),
    /// It was given back after its end.
    Closed(&'a ClosedConnection),
}

impl<'a> ConnectionView<'a> {
    /// The connection, as long as it is there as a whole.
    pub fn open(self) -> Option<&'a Connection> {
        match self {
            ConnectionView::Open(open) => Some(open),
            ConnectionView::Closed(_) => None,
        }
    }
    /// As [`Connection::is_ended`].
    pub fn is_ended(self) -> bool {
        self.open().is_none_or(Connection::is_ended)
    }
    /// As [`Connection::progress`].
    pub fn progress(self) -> Progress {
        match self {
            ConnectionView::Open(open) => open.progress(),
            ConnectionView::Closed(closed) => closed.progress(),
        }
    }
    /// As [`Connection::counters`].
    pub fn counters(self) -> Counters {
        match self {
            ConnectionView::Open(open) => open.counters(),
            ConnectionView::Closed(closed) => closed.counters,
        }
    }
    /// As [`Connection::outgoing_bytes`].
    pub fn outgoing_bytes(self, path: usize, packet: &Packet, arena: &Arena) -> Range<u64> {
        match self {
            ConnectionView::Open(open) => open.outgoing_bytes(path, packet, arena),
            ConnectionView::Closed(closed) => closed.outgoing_bytes(packet),
        }
    }
    /// As [`Connection::incoming_bytes`]: of one that is over, nothing.
    pub fn incoming_bytes(
        self,
        path: usize,
        packet: &Packet,
        arena: &Arena,
    ) -> Option<(Range<u64>, Range<usize>)> {
        self.open()?.incoming_bytes(path, packet, arena)
    }
    /// As [`Connection::arrived_bytes`].
    pub fn arrived_bytes(self) -> u64 {
        match self {
            ConnectionView::Open(open) => open.arrived_bytes(),
            ConnectionView::Closed(closed) => closed.received_bytes,
        }
    }
    /// As [`Connection::held_back`].
    pub fn held_back(self, now: Time) -> [Span; 2] {
        match self {
            ConnectionView::Open(open) => open.held_back(now),
            ConnectionView::Closed(ClosedConnection { counters, .. }) => {
                [counters.held_by_peer, counters.held_by_buffer]
            }
        }
    }
    /// As [`Connection::paths`].
    pub fn paths(self) -> usize {
        self.open().map_or(1, Connection::paths)
    }
    /// As [`Connection::path_port`].
    pub fn path_port(self, path: usize) -> PortId {
        match self {
            ConnectionView::Open(open) => open.path_port(path),
            ConnectionView::Closed(closed) => closed.port,
        }
    }
    /// As [`Connection::view`].
    pub fn view(self, path: usize) -> PathView {
        match self {
            ConnectionView::Open(open) => open.view(path),
            ConnectionView::Closed(closed) => closed.view,
        }
    }
    /// As [`Connection::rtt_summary`].
    pub fn rtt_summary(self, path: usize) -> RttSummary {
        match self {
            ConnectionView::Open(open) => open.rtt_summary(path),
            ConnectionView::Closed(closed) => closed.rtt,
        }
    }
}
