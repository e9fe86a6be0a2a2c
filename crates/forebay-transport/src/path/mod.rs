//! One path of a connection: its own sequence space, controller, RTT, scoreboard, timers and pacer.
//!
//! [`Path`] owns the parts and routes inputs to them: [`Handshake`], [`Sender`], [`LossRecovery`],
//! [`Receiver`] and [`FastPathState`]. Each part has private fields and keeps its own invariants. A
//! function that needs two parts borrows those two.
//!
//! Sequence offsets are u64: 0 is the SYN, 1 the first byte, and a FIN takes one too.

mod fast_path;
mod handshake;
mod input;
mod last_ack;
pub(crate) mod loss;
pub(crate) mod mapping;
mod reassembly;
mod receiver;
pub(crate) mod recovery;
mod samples;
mod scoreboard;
mod send;
mod sender;

use crate::api::{Counters, PathSetup, PathView, Role, RttSummary};
use crate::config::TcpConfig;
use crate::mptcp::{MOST_SIGNAL_BYTES, SIGNAL_BYTES};
use crate::ranges::{Range, RangeSet};
use fast_path::FastPathState;
use forebay_base::{Histogram, IpVersion, OptionList, Packet, PortId, Span, TcpFlags, Time};
use forebay_cc::{Congestion, CongestionCause, Controller, PieceView, SeriesSample, Sibling};
use handshake::Handshake;
use mapping::Mapping;
use receiver::Receiver;
use recovery::LossRecovery;
use scoreboard::{LOST, REPEATED, SACKED, Segment};
use sender::Sender;

pub(crate) use input::{Incoming, Received, options_of};
pub(crate) use last_ack::LastAck;
pub(crate) use sender::BufferLimit;

/// The most that may be sent and not acknowledged: half of what `widen` can distinguish.
const MAX_OUTSTANDING_BYTES: u64 = 1 << 30;

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    /// Too many timeouts in a row, or reset.
    Dead,
}

/// Resources of the connection that a path uses.
pub(crate) struct Cx<'a> {
    pub now: Time,
    pub config: &'a TcpConfig,
    pub counters: &'a mut Counters,
    /// Where the stream is shared with other paths, or may be.
    pub sharing: Option<Sharing<'a>>,
}

/// Which data that come late another path is to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    /// All of them.
    Any,
    /// Those that the path has lost, and has not been told of since.
    Lost,
}

/// What a path needs to know of a stream that it does not carry alone.
pub(crate) struct Sharing<'a> {
    /// Numbers of the first byte of this end's stream, and of the peer's.
    pub numbers: [u32; 2],
    /// The next data offset expected.
    pub data_ack: u64,
    /// The end of this side's stream, if it may be signalled.
    pub data_end: Option<u64>,
    /// ACKs signal it, too.
    pub ends_alone: bool,
    /// What SYN, SYN-ACK or ACK carries while subflows come together.
    pub opening: Option<&'a OptionList>,
}

impl<'a> Cx<'a> {
    /// For a path that carries the whole stream.
    pub(crate) fn of_only(now: Time, config: &'a TcpConfig, counters: &'a mut Counters) -> Cx<'a> {
        Cx { now, config, counters, sharing: None }
    }
}

/// Which path of which end of a connection it is.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    pub role: Role,
    pub version: IpVersion,
    /// Number of the path in its connection.
    pub index: u8,
}

pub(crate) struct Path {
    sender: Sender,
    recovery: LossRecovery,
    receiver: Receiver,
    handshake: Handshake,
    fast: FastPathState,
    /// Not later than any deadline of the parts.
    deadline: Time,
}

impl Path {
    /// `many`: its stream has several paths.
    pub(crate) fn new(
        setup: PathSetup,
        identity: Identity,
        config: &TcpConfig,
        send_bytes: Option<u64>,
        many: bool,
    ) -> Path {
        let send_end = if many { 1 } else { stream_end(send_bytes) };
        let fin_allowed =
            !many && send_bytes.is_some_and(|n| n > 0 || identity.role == Role::Client);
        Path {
            handshake: Handshake::new(&setup, identity, config),
            fast: FastPathState::new(&setup, identity.version, config),
            recovery: LossRecovery::new(&setup.controller, config),
            receiver: Receiver::new(&setup.controller, setup.feedback, config),
            sender: Sender::new(setup.controller, config, send_end, fin_allowed, many),
            deadline: Time::MAX,
        }
    }

    /// The packet came from the peer of this path.
    #[inline]
    pub(crate) fn is_from_peer(&self, packet: &Packet) -> bool {
        self.handshake.is_from_peer(packet)
    }
    /// The host port that it leaves through.
    pub(crate) fn port(&self) -> PortId {
        self.handshake.port()
    }
    pub(crate) fn state(&self) -> State {
        self.handshake.state()
    }
    /// Payload bytes that were sent at least once.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sender.sent_bytes()
    }
    /// Payload bytes acknowledged in order.
    pub(crate) fn acked_bytes(&self) -> u64 {
        self.sender.acked_bytes()
    }
    /// The payload byte of this end with which a segment begins, near `about`.
    pub(crate) fn own_byte(&self, seq: u32, flags: TcpFlags, about: u64) -> Option<u64> {
        byte_of(self.handshake.own_offset(seq, about + 1)?, flags)
    }
    /// The payload byte of the peer with which a segment begins, near `about`.
    pub(crate) fn peer_byte(&self, seq: u32, flags: TcpFlags, about: u64) -> Option<u64> {
        byte_of(self.handshake.peer_offset(seq, about + 1)?, flags)
    }
    /// Payload bytes received in order.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }
    /// Payload bytes received in order or beyond a hole.
    pub(crate) fn arrived_bytes(&self) -> u64 {
        self.receiver.arrived_bytes()
    }
    /// The peer's FIN is in order.
    pub(crate) fn stream_complete(&self) -> bool {
        self.receiver.is_complete()
    }
    /// Nothing leaves any more: the peer reset the path.
    pub(crate) fn kill(&mut self) {
        self.handshake.kill();
        self.refresh();
    }
    /// Nothing leaves any more but a reset: the peer's segment is not for this connection.
    pub(crate) fn reset(&mut self) {
        self.handshake.refuse();
        self.refresh();
    }
    /// The connection has ended: give memory back.
    pub(crate) fn give_back(&mut self) {
        self.sender.give_back();
    }
    /// Send an ACK as soon as possible.
    pub(crate) fn demand_ack(&mut self) {
        self.receiver.demand_ack();
        self.refresh();
    }
    /// The retransmission timeout in force.
    pub(crate) fn rto(&self) -> Span {
        self.recovery.rtt().rto()
    }
    /// Before the handshake is over: the path has the stream for itself. The host knows of other
    /// paths, so its packets leave by the general way.
    pub(crate) fn take_stream(&mut self, send_bytes: Option<u64>, closed: bool) {
        self.sender.take_stream(stream_end(send_bytes), closed);
        self.fast.close();
        self.refresh();
    }
    /// This side's FIN was sent and acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.sender.is_fin_acked()
    }
    /// Data waits for the congestion window.
    #[inline]
    pub(crate) fn note_window_full(&mut self) {
        self.sender.note_window_full();
    }
    /// Add the time for which buffers hold new data back at `now`.
    pub(crate) fn add_buffer_limit(&self, now: Time, counters: &mut Counters) {
        self.sender.add_buffer_limit(now, counters);
    }

    // The feedback half.

    /// [`Path::on_piece`] is to be called for each IP packet.
    pub(crate) fn wants_pieces(&self) -> bool {
        self.receiver.wants_pieces()
    }
    /// The controller has a receiver half.
    pub(crate) fn has_feedback(&self) -> bool {
        self.receiver.has_feedback()
    }
    /// An IP packet came, whole or a fragment, before reassembly.
    pub(crate) fn on_piece(&mut self, now: Time, piece: &PieceView) {
        self.receiver.on_piece(now, piece);
        self.refresh();
    }

    // An application that writes over time.

    /// `bytes` more may be sent, after what was written before. False, and nothing has changed, if
    /// the stream was closed.
    pub(crate) fn write(&mut self, bytes: u64) -> bool {
        if self.sender.is_fin_allowed() {
            return false;
        }
        if self.handshake.is_established() {
            let cwnd = self.recovery.cwnd(&self.sender.limits());
            self.sender.note_app_limited(cwnd);
        }
        self.sender.write(bytes);
        self.refresh();
        true
    }
    /// Unsent data is withdrawn, and the stream goes on; unless FIN was sent. Bytes
    /// written.
    pub(crate) fn hold(&mut self) -> u64 {
        if self.sender.hold() {
            self.refresh();
        }
        self.sender.send_end() - 1
    }
    /// FIN follows what was written. A stream without end ends with what was sent.
    pub(crate) fn close(&mut self) {
        if self.sender.send_end() == u64::MAX {
            self.hold();
        }
        self.sender.allow_fin();
        self.refresh();
    }

    // One of several paths.

    /// True if new data may be assigned to it.
    pub(crate) fn is_usable(&self) -> bool {
        self.handshake.is_established() && self.recovery.is_responsive()
    }
    /// Smoothed RTT in ns, the largest value if there is none: what the scheduler compares.
    pub(crate) fn rank(&self) -> u64 {
        self.recovery.rtt().srtt().map_or(u64::MAX, |s| s.as_nanos())
    }
    /// Window that the peer announced last.
    pub(crate) fn peer_window(&self) -> u64 {
        self.sender.peer_window()
    }
    /// Largest piece of data to assign at once: the payload of the next packet.
    pub(crate) fn chunk(&self) -> u64 {
        let keyed = self.handshake.carries_keys(self.sender.send_end());
        self.sender.mss() - if keyed { u64::from(MOST_SIGNAL_BYTES - SIGNAL_BYTES) } else { 0 }
    }
    /// May the scheduler assign `len` more bytes to it? Its window bounds what waits; pacing leaves
    /// one piece.
    pub(crate) fn has_room(&self, config: &TcpConfig, len: u64) -> bool {
        let Path { sender, recovery, .. } = self;
        if !self.is_usable() {
            return false;
        }
        let waiting = sender.send_end() - sender.nxt();
        let limits = sender.limits();
        let paced = recovery.pacing_rate(sender, &limits, config).is_some();
        if waiting > 0 && (paced || limits.credits.is_some()) {
            return false;
        }
        let flight = sender.in_flight() + waiting;
        flight == 0 || flight + len <= recovery.window_in_force(sender)
    }
    /// `len` bytes from data offset `data` on are to leave on this path, after what was assigned
    /// before.
    pub(crate) fn assign(&mut self, data: u64, len: u64) {
        self.sender.assign(data, len);
    }
    /// More data waits than its congestion window lets it be assigned.
    pub(crate) fn note_assigned_full(&mut self) {
        self.sender.note_assigned_full();
    }
    /// Data assigned and not acknowledged.
    pub(crate) fn unacked_runs(&self) -> impl Iterator<Item = Mapping> + '_ {
        let una = self.sender.una();
        self.sender.mappings().into_iter().flat_map(move |mappings| mappings.from(una))
    }
    /// Bytes assigned and not delivered.
    pub(crate) fn pending(&self) -> u64 {
        self.sender.in_flight() + self.sender.send_end() - self.sender.nxt()
    }
    /// RTT to expect of the next packet, in ns: the smallest one if nothing is in flight, because
    /// there is no newer sample than that of a queue that is gone. 0 before the first data, because
    /// the sample of a handshake may include the timeout of a SYN-ACK.
    pub(crate) fn next_rtt(&self) -> u64 {
        match self.pending() {
            0 if self.sender.sent_bytes() == 0 => 0,
            0 => self.rank().min(self.recovery.rtt().min().as_nanos()),
            _ => self.rank(),
        }
    }
    /// It repairs losses.
    pub(crate) fn is_in_recovery(&self) -> bool {
        self.recovery.is_in_recovery()
    }
    /// The first data from offset `from` on that is not in `known`, that it has not delivered, and
    /// that another path would deliver earlier: its ACK is due only after `rtt_ns`, the RTT of that
    /// path, or is overdue by more than that. Of these, those that are asked for.
    pub(crate) fn first_late(
        &self,
        now: Time,
        from: u64,
        rtt_ns: u64,
        known: &RangeSet,
        which: Late,
    ) -> Option<Range> {
        let (mappings, board) = (self.sender.mappings()?, self.sender.board());
        let segments = (0..board.len()).map(|index| board.get(index));
        let wanted = |segment: &Segment| match which {
            Late::Any => true,
            Late::Lost => segment.is(LOST) || segment.is(REPEATED),
        };
        let missing = segments.filter(|s| s.len > 0 && !s.is(SACKED) && wanted(s));
        let sent = missing.map(|segment| {
            let age = if segment.is(LOST) { Span::ZERO } else { now.since(segment.sent_at) };
            (segment.start, u64::from(segment.len), age)
        });
        let late = |age: Span| age.as_nanos().abs_diff(self.rank()) > rtt_ns;
        let new = |path: u64, len: u64| {
            let (data, run) = mappings.locate(path)?;
            let (start, end) = (data.max(from), data + len.min(run));
            let start = known.containing(start).map_or(start, |range| range.end);
            (start < end).then_some(Range { start, end })
        };
        let found = sent.filter(|&(.., age)| late(age)).find_map(|(path, len, _)| new(path, len));
        let unsent = || {
            let mut runs = mappings.from(self.sender.nxt()).filter(|_| late(Span::ZERO));
            runs.find_map(|run| new(run.path, run.len))
        };
        found.or_else(|| (which == Late::Any).then(unsent).flatten())
    }
    /// It has assigned, and not seen acknowledged, the byte at data offset `data`.
    pub(crate) fn carries(&self, data: u64) -> bool {
        self.unacked_runs().any(|run| (run.data..run.data + run.len).contains(&data))
    }
    /// Congestion window in bytes.
    pub(crate) fn cwnd(&self) -> u64 {
        self.recovery.cwnd(&self.sender.limits())
    }
    /// Less may be in flight: what it carries holds up the others. Not while it repairs losses.
    pub(crate) fn penalise(&mut self, now: Time) {
        if self.recovery.is_in_recovery() {
            return;
        }
        let flight_size_bytes = self.sender.in_flight();
        let cause = CongestionCause::Loss;
        self.sender
            .on_congestion(now, &Congestion { cause, flight_size_bytes, cwnd_limited: true });
        self.refresh();
    }
    /// Show the controller its siblings, of which it is number `index`.
    pub(crate) fn couple(&mut self, siblings: &[Sibling], index: usize) {
        self.sender.couple(siblings, index);
    }
    /// What the controllers of other paths see of it.
    pub(crate) fn sibling(&self) -> Sibling {
        let Path { sender, recovery, .. } = self;
        Sibling {
            cwnd_bytes: recovery.cwnd(&sender.limits()),
            srtt: recovery.rtt().srtt(),
            since_loss_bytes: recovery.since_loss(sender),
            usable: self.is_usable(),
        }
    }

    // What reports see.

    pub(crate) fn view(&self, config: &TcpConfig) -> PathView {
        let Path { sender, recovery, .. } = self;
        let controller = sender.controller();
        PathView {
            cwnd_bytes: recovery.window_in_force(sender),
            ssthresh_bytes: controller.ssthresh_bytes(),
            phase: controller.phase(),
            srtt: recovery.rtt().srtt(),
            in_flight_bytes: sender.in_flight(),
            pacing_rate: recovery.pacing_rate(sender, &sender.limits(), config),
            delivered_bytes: sender.rate().delivered(),
            lost_bytes: sender.rate().lost(),
        }
    }
    pub(crate) fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        self.sender.controller().observe(visit);
    }
    pub(crate) fn round_trips(&self) -> &Histogram {
        self.recovery.histogram()
    }
    pub(crate) fn rtt_summary(&self) -> RttSummary {
        let milliseconds = |span: Option<Span>| span.map_or(0.0, |s| s.as_secs_f64() * 1e3);
        let histogram = self.recovery.histogram();
        RttSummary {
            samples: histogram.count(),
            mean_ms: milliseconds(histogram.mean()),
            p95_ms: milliseconds(histogram.quantile(0.95)),
        }
    }
}

/// The deadlines of a path, and what happens when they come. Each part keeps its own; the path
/// keeps the earliest.
impl Path {
    /// When [`Path::on_timeout`] is due.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Time {
        self.deadline
    }
    /// When the retransmission timer expires, [`Time::MAX`] if it is not armed.
    pub(crate) fn times_out(&self) -> Time {
        self.recovery.rto_deadline()
    }
    /// When [`Path::on_timeout`] is due, without the clocks of controller and feedback, which may
    /// tick for ever.
    #[inline]
    pub(crate) fn own_timeout(&self) -> Time {
        // A reset leaves timers as they are: an ACK may have been due.
        if self.handshake.state() == State::Dead { Time::MAX } else { self.own_timer() }
    }
    #[inline]
    fn own_timer(&self) -> Time {
        let Path { sender, recovery, receiver, .. } = self;
        let repair = recovery.rto_or_probe_deadline().min(recovery.loss_deadline());
        repair
            .min(sender.persist_deadline())
            .min(sender.pace_deadline())
            .min(receiver.ack_deadline())
    }

    /// When the first timer expires: [`Path::next_timeout`] may be earlier.
    #[inline]
    pub(crate) fn first_timer(&self) -> Time {
        if self.handshake.state() == State::Dead {
            return Time::MAX;
        }
        let own = self.own_timer().min(self.receiver.feedback_deadline());
        self.sender.controller_deadline().map_or(own, |at| own.min(at))
    }

    /// Bring what is cached up to date: at the end of everything that takes `&mut self`.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        self.refresh_fast_path();
        self.deadline = self.first_timer();
    }
    /// What [`Path::refresh`] does for the deadline, where the fast path was open and is. A
    /// deadline that moves on leaves the earliest where it is: it may come early, and then
    /// [`Path::refresh`] finds the next one. It may never be late.
    #[inline]
    pub(super) fn lower_deadline(&mut self) {
        let Path { sender, recovery, receiver, fast, .. } = self;
        // Nothing waits for a loss or for the peer's window.
        let mut next = self.deadline.min(recovery.rto_or_probe_deadline());
        if let Some(at) = sender.controller_deadline() {
            next = next.min(at);
        }
        if !fast.is_header_only() {
            next = next.min(sender.pace_deadline()).min(receiver.feedback_deadline());
        }
        self.deadline = next;
    }
    /// The same for an ACK that waits.
    #[inline]
    pub(super) fn lower_ack_deadline(&mut self) {
        self.deadline = self.deadline.min(self.receiver.ack_deadline());
    }
    /// [`Path::poll`] has found a packet, or none. Where none leaves during SACK recovery, only the
    /// clock of the pacer may have changed.
    #[inline]
    pub(super) fn after_poll(&mut self, found: bool) {
        let paced = self.sender.pace_deadline() != Time::MAX;
        if found || paced || !self.fast.is_sack_recovery() {
            self.refresh();
        }
    }

    /// A deadline came, or not yet: each timer looks for itself.
    pub(crate) fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.deadline > cx.now {
            return;
        }
        let Path { handshake, sender, recovery, receiver, .. } = self;
        let now = cx.now;
        if sender.pace_deadline() <= now {
            sender.clear_pace(); // poll finds the packet
        }
        receiver.on_ack_timer(now);
        sender.on_controller_timer(now);
        receiver.on_feedback_timer(now);
        recovery.on_loss_timer(sender, cx);
        recovery.on_probe_timer(now, sender);
        if sender.persist_deadline() <= now {
            let rto = recovery.on_persist_timer();
            sender.on_persist_timer(now, rto);
        }
        if recovery.rto_deadline() <= now
            && !recovery.on_rto(sender, cx, handshake.is_established())
        {
            handshake.kill();
        }
        self.refresh();
    }
}

/// The offset of the FIN of a stream of `bytes`, SYN and all.
fn stream_end(bytes: Option<u64>) -> u64 {
    bytes.map_or(u64::MAX, |bytes| bytes.saturating_add(1))
}

/// The payload byte with which a segment at this offset of a path begins: SYN takes offset 0.
fn byte_of(offset: u64, flags: TcpFlags) -> Option<u64> {
    offset.checked_sub(u64::from(!flags.has(TcpFlags::SYN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred thousand connections must fit: the idle path is bounded, what only recovery needs
    /// lives on the heap.
    #[test]
    fn an_idle_path_is_small() {
        let bytes = size_of::<Path>();
        // 16 of them tell how ACKs are split, and what a path of INRPP has shown.
        assert!(bytes <= 1120, "{bytes}");
    }
}
