//! A connection: one data stream over a list of paths.

mod bytes;
mod closed;
mod paths;
mod streams;
mod subflows;
mod write;
pub use closed::{ClosedConnection, ConnectionView, LINGER};

use crate::api::{Counters, EndCause, PathSetup, PathView, Progress, Role, RttSummary, Setup};

use crate::config::TcpConfig;
use crate::mptcp::Signal;
use crate::path::{Cx, Identity, Incoming, Path, Received, State, options_of};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{Arena, DropReason, Histogram, OptionList, Packet, PortId, Span, Time};
use forebay_cc::{Controller, PieceView, SeriesSample, Sibling};
use paths::Paths;
use streams::Streams;
use subflows::{Seen, Subflows, Verdict};

/// One end of a connection.
///
/// Four verbs drive it:
///
/// 1. [`Connection::on_packet`] takes a packet that came;
/// 2. [`Connection::poll_transmit`] gives the packets to send, until it returns None;
/// 3. [`Connection::next_timeout`] says when 4 is due;
/// 4. [`Connection::on_timeout`] runs the timers. Early calls do nothing, late calls are legal.
///
/// Call 2 after 1, after 4 and after [`Connection::open`], `write`, `hold` and `close`. Every call
/// that takes `&mut self` may change the answer of 3, and may make any path ready to send.
///
/// [`Connection::poll_fast`] and [`Connection::poll_general`] are the two halves of 2.
/// [`Connection::has_nothing_to_send`] and [`Connection::awaits_window`] say when 2 may be left
/// out.
///
/// Retransmissions that were not needed are recognised by timestamps (Eifel, RFC 3522; timeouts and
/// recoveries), and without them, with SACK, by F-RTO (RFC 5682; timeouts). Not done: simultaneous
/// open, urgent data, Nagle's algorithm (as with `TCP_NODELAY`).
pub struct Connection {
    progress: Times,
    counters: Counters,
    config: Arc<TcpConfig>,
    /// A stream of MPTCP; None where path and stream offsets are the same.
    streams: Option<Box<Streams>>,
    /// It was made for MPTCP, which it may have given up.
    multipath: bool,
    role: Role,
    /// The earliest deadline of all paths, unless `single`.
    next: Time,
    /// One path carries the whole stream, and it has not ended: its deadline is that of the
    /// connection.
    single: bool,
    /// A path asks for [`Connection::on_piece`].
    wants_pieces: bool,
    paths: Paths,
}

/// The moments of [`Progress`].
#[derive(Debug, Default)]
struct Times {
    opened_at: Option<Time>,
    established_at: Option<Time>,
    last_byte_at: Option<Time>,
    ended: Option<(EndCause, Time)>,
}

impl Connection {
    /// A connection that has not been opened. Panics if there is no path.
    pub fn new(setup: Setup) -> Connection {
        let asks = |path: &PathSetup| path.controller.traits().multipath;
        let many = setup.paths.len() > 1 || setup.paths.iter().any(asks);
        let (config, send_bytes) = (&setup.config, setup.send_bytes);
        let streams = many.then(|| {
            let nonces = setup.paths.iter().map(|path| path.nonce);
            let subflows = Subflows::new(setup.role, setup.key, nonces);
            Box::new(Streams::new(subflows, setup.role, send_bytes, config.mss_bytes))
        });
        let paths = setup.paths.into_iter().enumerate().map(|(index, path)| {
            let identity =
                Identity { role: setup.role, version: setup.version, index: index as u8 };
            Path::new(path, identity, config, send_bytes, many)
        });
        let paths = Paths::new(paths);
        let wants_pieces = paths.iter().any(Path::wants_pieces);
        Connection {
            paths,
            config: setup.config,
            counters: Counters::default(),
            progress: Times::default(),
            streams,
            multipath: many,
            role: setup.role,
            single: !many,
            next: Time::MAX,
            wants_pieces,
        }
    }

    /// What [`Connection::on_timeout`] does for the deadline when it is called early.
    #[cfg(test)]
    pub(crate) fn find_deadline(&mut self) {
        self.paths.iter_mut().for_each(Path::refresh);
        self.refresh();
    }
    /// Client: begin the handshake. Server: nothing.
    pub fn open(&mut self, now: Time) {
        self.with_path(now, 0, |path, cx| path.open(cx));
        if self.paths.first.state() == State::SynSent {
            self.progress.opened_at.get_or_insert(now);
        }
    }
    /// True if [`Connection::on_piece`] is to be called for each IP packet.
    #[inline]
    pub fn wants_pieces(&self) -> bool {
        self.wants_pieces
    }
    /// An IP packet for path `path` came, whole or a fragment, before reassembly.
    pub fn on_piece(&mut self, now: Time, path: usize, piece: &PieceView) {
        self.paths[path].on_piece(now, piece);
        self.refresh();
    }

    /// True if a segment for path `path` came from the peer of the path: the other two of the four
    /// that name a connection (RFC 9293 section 3.3.1).
    #[inline]
    pub fn is_from_peer(&self, path: usize, packet: &Packet) -> bool {
        self.paths[path].is_from_peer(packet)
    }

    /// A TCP segment for path `path` came. The caller keeps the packet and ends it: as delivered,
    /// or as dropped for the reason given, if nothing of it was taken.
    #[inline(always)]
    pub fn on_packet(
        &mut self,
        now: Time,
        path: usize,
        packet: &Packet,
        arena: &Arena,
    ) -> Option<DropReason> {
        if !self.paths.first.expects(packet) {
            return self.on_out_of_order(now, path, packet, arena);
        }
        // Only the path of a connection that has no other expects a segment. Such a segment ends
        // neither the stream nor the connection.
        debug_assert!(self.streams.is_none() && path == 0);
        if packet.payload_len() == 0 {
            if !self.paths.first.on_next_ack(now, &self.config, packet, arena) {
                return self.on_general(now, path, packet, 1, arena);
            }
        } else if self.paths.first.on_next_data(now, packet, arena) {
            self.progress.last_byte_at = Some(now);
        } else {
            return self.on_general(now, path, packet, 1, arena);
        }
        None
    }

    /// [`Connection::on_packet`] with a datagram that came in `pieces`, more than one: it was put
    /// together again.
    pub fn on_reassembled(
        &mut self,
        now: Time,
        path: usize,
        packet: &Packet,
        pieces: u16,
        arena: &Arena,
    ) -> Option<DropReason> {
        self.on_general(now, path, packet, pieces, arena)
    }

    /// [`Connection::on_packet`] where the fast path is closed: while a hole is open or repaired.
    #[inline(never)]
    fn on_out_of_order(
        &mut self,
        now: Time,
        path: usize,
        packet: &Packet,
        arena: &Arena,
    ) -> Option<DropReason> {
        let first = &mut self.paths.first;
        let mut cx = Cx::of_only(now, &self.config, &mut self.counters);
        if !first.on_next_out_of_order(packet) && !first.on_next_sack(&mut cx, packet, arena) {
            return self.on_general(now, path, packet, 1, arena);
        }
        None
    }
    #[inline(never)]
    fn on_general(
        &mut self,
        now: Time,
        path: usize,
        packet: &Packet,
        pieces: u16,
        arena: &Arena,
    ) -> Option<DropReason> {
        let segment = Incoming::read(packet, pieces, arena)?;
        if matches!(self.progress.ended, Some((EndCause::Reset | EndCause::TimedOut, _))) {
            return None;
        }
        let options = options_of(packet, arena);
        let mut signal = None;
        if self.streams.is_some() {
            match self.on_shared(now, path, &segment, options) {
                Ok(found) => signal = found,
                Err(reason) => return Some(reason),
            }
        }
        let before = self.paths[path].state();
        let received = self.with_path(now, path, |p, cx| p.on_segment(cx, &segment, options));
        if before != State::Established {
            self.note_opening(now, path);
        }
        self.take(now, path, &segment, signal, received);
        self.refresh();
        received.refused.then_some(DropReason::TooManyRanges)
    }

    /// The next packet to send on `path`, if there is one now. Pacing and windows are respected.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, path: usize, arena: &mut Arena) -> Option<Packet> {
        match self.poll_fast(now) {
            None => self.poll_general(now, path, arena),
            packet => packet,
        }
    }
    /// The next packet, if it has only a TCP header with timestamps, and DF is set: most packets.
    /// None: [`Connection::poll_general`] may have one.
    #[inline(always)]
    pub fn poll_fast(&mut self, now: Time) -> Option<Packet> {
        if self.paths.first.has_fast_segment(now) {
            return Some(self.paths.first.send_fast_segment(now, &mut self.counters));
        }
        let acks = self.paths.first.owes_fast_ack();
        acks.then(|| self.paths.first.send_fast_ack(now, &mut self.counters))
    }
    /// The next packet, where [`Connection::poll_fast`] has none.
    #[inline(never)]
    pub fn poll_general(&mut self, now: Time, path: usize, arena: &mut Arena) -> Option<Packet> {
        if self.multipath {
            return self.poll_shared(now, path, arena);
        }
        if self.paths.first.owes_sack_update() {
            return Some(self.paths.first.send_sack_update(now, &mut self.counters, arena));
        }
        let mut cx = Cx::of_only(now, &self.config, &mut self.counters);
        let packet = self.paths.first.poll(&mut cx, arena);
        self.refresh();
        packet
    }

    /// True if [`Connection::poll_transmit`] will return None and change nothing, however late it
    /// is called, if nothing else happens before: the call may be left out.
    #[inline(always)]
    pub fn has_nothing_to_send(&self, path: usize) -> bool {
        debug_assert!(path < self.paths());
        self.paths.first.has_nothing_to_send()
    }
    /// True if [`Connection::poll_transmit`] will return None, and all that it does is
    /// [`Connection::note_window_full`].
    #[inline]
    pub fn awaits_window(&self, now: Time, path: usize) -> bool {
        debug_assert!(path < self.paths());
        self.paths.first.awaits_window(now, &self.config)
    }
    /// What [`Connection::poll_transmit`] does where [`Connection::awaits_window`] is true.
    #[inline]
    pub fn note_window_full(&mut self, path: usize) {
        self.paths[path].note_window_full();
    }

    /// [`Connection::poll_general`] where the path is one of several, or was to be one.
    #[inline(never)]
    fn poll_shared(&mut self, now: Time, path: usize, arena: &mut Arena) -> Option<Packet> {
        if self.paths[path].state() == State::Dead {
            return self.paths[path].poll_reset(now);
        }
        let quiet = self.sends_only_acks(path);
        self.schedule(now);
        let sharing = self.streams.as_ref().map(|streams| streams.sharing(path));
        let ends = sharing.is_some_and(|sharing| sharing.ends_alone && sharing.opening.is_none());
        let packet = self.with_path(now, path, |p, cx| {
            if quiet { p.poll_ack(cx, arena) } else { p.poll(cx, arena) }
        });
        let ends = ends && packet.as_ref().is_some_and(|packet| packet.payload_len() == 0);
        if let Some(streams) = self.streams.as_mut().filter(|_| ends) {
            streams.on_fin_sent(now, self.paths[path].rto());
        }
        self.refresh();
        packet
    }

    /// When [`Connection::on_timeout`] is due. This may be earlier than the first timer: that call
    /// then finds the true deadline.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let next = self.deadline();
        (next != Time::MAX).then_some(next)
    }
    #[inline]
    fn deadline(&self) -> Time {
        if self.single { self.paths.first.next_timeout() } else { self.next }
    }

    /// A lower bound on the time at which it gives up: it can do so only at a retransmission
    /// timeout, the one that is armed or a later one.
    pub fn gives_up_after(&self, now: Time) -> Time {
        let TcpConfig { min_rto, initial_rto, max_rto, .. } = *self.config;
        let soonest = now + min_rto.min(initial_rto).min(max_rto);
        self.paths.iter().map(Path::times_out).min().map_or(soonest, |at| at.min(soonest))
    }

    /// The time asked for has come. False: no timer has expired, and nothing is new to send. How
    /// often that happens depends on how the deadline is kept: nothing else may depend on such a
    /// call.
    pub fn on_timeout(&mut self, now: Time) -> bool {
        if self.deadline() > now {
            return false;
        }
        let expired = match self.progress.ended {
            None => {
                self.paths.iter().any(|path| path.first_timer() <= now) || self.is_repeat_due(now)
            }
            Some(_) => self.earliest() <= now,
        };
        for path in 0..self.paths.len() {
            if self.paths[path].next_timeout() <= now && !self.sends_only_acks(path) {
                self.couple(path);
                let timeouts = self.counters.timeouts;
                self.with_path(now, path, |p, cx| p.on_timeout(cx));
                if self.counters.timeouts > timeouts {
                    self.reinject(path);
                    self.try_next(now, path);
                }
            }
        }
        self.repeat(now);
        // A path that was never opened does not keep the connection.
        let gone = |p: &Path| matches!(p.state(), State::Dead | State::Listen | State::Closed);
        let died = self.paths.iter().any(|p| p.state() == State::Dead);
        if died && self.paths.iter().all(gone) {
            self.end(EndCause::TimedOut, now);
        }
        self.schedule(now);
        self.refresh();
        expired
    }

    /// Number of paths.
    #[inline]
    pub fn paths(&self) -> usize {
        self.paths.len()
    }
    /// The host port that `path` leaves through.
    pub fn path_port(&self, path: usize) -> PortId {
        self.paths[path].port()
    }
    /// One path carries the whole stream, and it has not ended.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.single
    }
    /// True once it has ended, for whatever reason.
    #[inline]
    pub fn is_ended(&self) -> bool {
        self.progress.ended.is_some()
    }
    /// How far it is.
    pub fn progress(&self) -> Progress {
        let first = &self.paths.first;
        let (received_bytes, stream_complete) = match &self.streams {
            None => (first.received_bytes(), first.stream_complete()),
            Some(streams) => streams.received(),
        };
        let (sent_bytes, acked_bytes) = match &self.streams {
            None => (first.sent_bytes(), first.acked_bytes()),
            Some(streams) => streams.sent(),
        };
        let times = &self.progress;
        Progress {
            opened_at: times.opened_at,
            established_at: times.established_at,
            received_bytes,
            last_byte_at: times.last_byte_at,
            stream_complete,
            sent_bytes,
            acked_bytes,
            ended: times.ended,
        }
    }
    /// Payload bytes that have arrived on any path, those beyond a hole included; a byte that comes
    /// twice on a path counts once.
    pub fn arrived_bytes(&self) -> u64 {
        self.paths.iter().map(Path::arrived_bytes).sum()
    }
    /// Events counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// For how long the peer's window, and the send buffer, have held back new data that the
    /// congestion window had room for.
    pub fn held_back(&self, now: Time) -> [Span; 2] {
        let (mut counters, end) = (self.counters, self.progress.ended.map_or(now, |(_, at)| at));
        self.paths.iter().for_each(|path| path.add_buffer_limit(end, &mut counters));
        if let Some(streams) = &self.streams {
            streams.add_buffer_limit(end, &mut counters);
        }
        [counters.held_by_peer, counters.held_by_buffer]
    }
    /// The state of `path` for series and reports.
    pub fn view(&self, path: usize) -> PathView {
        self.paths[path].view(&self.config)
    }
    /// Show `visit` the series that the controller of `path` publishes.
    pub fn observe(&self, path: usize, visit: &mut dyn FnMut(SeriesSample)) {
        self.paths[path].observe(visit);
    }
    /// RTT samples of `path`.
    pub fn round_trips(&self, path: usize) -> &Histogram {
        self.paths[path].round_trips()
    }
    /// A summary of the RTT samples of `path`.
    pub fn rtt_summary(&self, path: usize) -> RttSummary {
        self.paths[path].rtt_summary()
    }

    /// Run `f` on a path with what it needs of the connection.
    #[inline]
    fn with_path<R>(
        &mut self,
        now: Time,
        path: usize,
        f: impl FnOnce(&mut Path, &mut Cx<'_>) -> R,
    ) -> R {
        let sharing = self.streams.as_ref().map(|streams| streams.sharing(path));
        let counters = &mut self.counters;
        let mut cx = Cx { now, config: &self.config, counters, sharing };
        f(&mut self.paths[path], &mut cx)
    }
    #[inline]
    fn refresh(&mut self) {
        self.single = self.streams.is_none() && self.progress.ended.is_none();
        if !self.single {
            self.next = self.earliest().min(self.next_repeat());
        }
    }
    /// The deadline of a connection that has ended or has several paths.
    #[inline(never)]
    fn earliest(&self) -> Time {
        let earliest = |skip: &dyn Fn(usize) -> bool| {
            let paths = self.paths.iter().enumerate().filter(|(index, _)| !skip(*index));
            paths.map(|(_, path)| path.next_timeout()).min().unwrap_or(Time::MAX)
        };
        match self.progress.ended {
            None => earliest(&|_| false),
            // The clocks of controller and feedback end with the connection.
            Some((EndCause::Finished, _)) if self.streams.is_none() => {
                self.paths.first.own_timeout()
            }
            Some((EndCause::Finished, _)) => earliest(&|index| self.sends_only_acks(index)),
            Some(_) => Time::MAX,
        }
    }
    /// The stream over several paths is complete, so that the bytes of a path that has failed are
    /// not needed. A path that is being opened goes on: the peer may need it to learn of the end.
    fn sends_only_acks(&self, path: usize) -> bool {
        self.streams.as_ref().is_some_and(|s| s.is_finished())
            && self.paths[path].state() == State::Established
    }

    fn note_opening(&mut self, now: Time, path: usize) {
        match self.paths[path].state() {
            State::SynReceived => {
                self.progress.opened_at.get_or_insert(now);
            }
            State::Established => {
                self.progress.established_at.get_or_insert(now);
                if let Some(streams) = &mut self.streams {
                    streams.subflows.on_established(path, now, self.paths[path].rto());
                }
            }
            _ => {}
        }
    }

    /// What a segment means for the stream.
    #[inline]
    fn take(
        &mut self,
        now: Time,
        path: usize,
        segment: &Incoming,
        signal: Option<Signal>,
        received: Received,
    ) {
        if received.reset {
            self.paths[path].kill();
            self.reinject(path);
            if self.paths.iter().all(|p| p.state() == State::Dead) {
                self.end(EndCause::Reset, now);
            }
            self.schedule(now);
            return;
        }
        if let Some(streams) = &mut self.streams {
            if signal.is_some_and(|signal| streams.take(signal, received)) {
                self.progress.last_byte_at = Some(now);
            }
            if signal.is_some_and(|signal| signal.ends_alone()) {
                self.paths[path].demand_ack();
            }
            if streams.is_finished() {
                self.end(EndCause::Finished, now);
            }
            self.schedule(now);
            return;
        }
        let only = &self.paths[path];
        if received.in_order_bytes > 0 {
            // A FIN alone brings no byte.
            let fin_alone = received.in_order_bytes == 1 && segment.payload == 0;
            if !fin_alone {
                self.progress.last_byte_at = Some(now);
            }
        }
        if only.fin_acked() && only.stream_complete() {
            self.end(EndCause::Finished, now);
        }
    }
    fn end(&mut self, cause: EndCause, now: Time) {
        if self.progress.ended.is_none() {
            self.progress.ended = Some((cause, now));
            self.paths.iter_mut().for_each(Path::give_back);
        }
    }

    /// Show the controller of `path` its siblings, before it sees what comes.
    #[inline]
    fn couple(&mut self, path: usize) {
        let Some(streams) = &mut self.streams else { return };
        let siblings: &mut Vec<Sibling> = &mut streams.siblings;
        siblings.clear();
        siblings.extend(self.paths.iter().map(Path::sibling));
        self.paths[path].couple(siblings, path);
    }
    /// Give data to paths with room.
    #[inline]
    fn schedule(&mut self, now: Time) {
        if let Some(streams) = &mut self.streams {
            streams.schedule(now, &mut self.paths, &self.config, &mut self.counters);
        }
    }
    /// A path timed out: others carry what it has not delivered.
    fn reinject(&mut self, path: usize) {
        if let Some(streams) = &mut self.streams {
            streams.reinject(path, &self.paths);
        }
    }
}

/// When an ACK is sent again that no path can carry now.
const MIN_REPEAT: Span = Span::from_secs(1);

/// Streams of MPTCP.
impl Connection {
    /// A segment came, before its path takes it: what it says of the stream, or why it is dropped.
    #[inline(never)]
    fn on_shared(
        &mut self,
        now: Time,
        path: usize,
        segment: &Incoming,
        options: Option<&OptionList>,
    ) -> Result<Option<Signal>, DropReason> {
        let Some(streams) = &mut self.streams else { return Ok(None) };
        let (state, flags) = (self.paths[path].state(), segment.flags);
        let is_empty = segment.payload == 0;
        let seen = Seen { path, state, flags, is_empty, options };
        let verdict = streams.subflows.on_segment(seen);
        if state != State::Established {
            streams.renew_numbers();
        }
        match verdict {
            Verdict::Take => {}
            Verdict::Answer => self.paths[path].demand_ack(),
            Verdict::OpenOthers => self.open_others(now),
            Verdict::Ignore => return Err(DropReason::NoSocket),
            Verdict::Refuse => {
                if state != State::Listen {
                    self.paths[path].reset();
                }
                return Err(DropReason::NoSocket);
            }
            Verdict::FallBack => {
                self.fall_back();
                return Ok(None);
            }
        }
        self.couple(path);
        let first = self.streams.as_ref().map_or(0, |streams| streams.numbers()[1]);
        let signal = Signal::read(options, first);
        match signal.filter(|signal| !signal.maps(segment.payload)) {
            Some(_) => Err(DropReason::BadMapping),
            None => Ok(signal),
        }
    }

    /// Client: the SYN of `path` timed out. Another path may be there.
    fn try_next(&mut self, now: Time, path: usize) {
        if self.paths[path].state() == State::SynSent
            && let Some(streams) = &mut self.streams
            && let Some(next) = streams.subflows.on_silence(path)
        {
            self.paths[next].carry_keys();
            self.with_path(now, next, |p, cx| p.open(cx));
        }
    }

    /// Client: the paths that join.
    fn open_others(&mut self, now: Time) {
        if let Some(streams) = &mut self.streams {
            streams.subflows.join();
            streams.renew_fin(now);
        }
        (0..self.paths.len()).for_each(|path| self.with_path(now, path, |p, cx| p.open(cx)));
    }

    /// Only the first path is there, and it carries the stream (RFC 8684 section 3.7).
    fn fall_back(&mut self) {
        let Some(streams) = self.streams.take() else { return };
        let (bytes, closed) = streams.written();
        let fin = closed && (bytes != Some(0) || self.role == Role::Client);
        self.paths.first.take_stream(bytes, fin);
        self.paths.iter_mut().skip(1).for_each(Path::kill);
    }

    /// When an ACK is to be sent again for what it says of the stream.
    fn next_repeat(&self) -> Time {
        let streams = self.streams.as_ref().filter(|_| self.progress.ended.is_none());
        streams.map_or(Time::MAX, |streams| streams.deadline())
    }
    fn is_repeat_due(&self, now: Time) -> bool {
        self.next_repeat() <= now
    }
    /// Send ACKs again that are due.
    fn repeat(&mut self, now: Time) {
        if !self.is_repeat_due(now) {
            return;
        }
        let Some(streams) = &mut self.streams else { return };
        let open = self.paths.iter().enumerate().filter(|(_, p)| p.state() == State::Established);
        let mut open: Vec<(usize, &Path)> = open.collect();
        open.sort_by_key(|(index, p)| (!p.is_usable(), p.rank(), *index));
        // An end that has sent no data does not know which paths are dead: each has its turn.
        let turn = streams.fin_repeats() % open.len().max(1);
        let (best, rto) = open.get(turn).map_or((0, MIN_REPEAT), |(index, p)| (*index, p.rto()));
        if streams.take_due_fin(now, rto) {
            self.paths[best].demand_ack();
        }
        while let Some((path, lost)) = streams.subflows.take_repeat(now, rto) {
            if lost {
                self.paths[path].kill();
            } else {
                self.paths[path].demand_ack();
            }
        }
    }
}
