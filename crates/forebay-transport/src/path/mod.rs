//! One path of a connection: its own sequence space, controller, RTT, scoreboard, timers and pacer.
//!
//! [`Path`] owns the parts and routes inputs to them: [`Handshake`], [`Sender`], [`LossRecovery`],
//! [`Receiver`] and [`FastPathState`]. Each part has private fields and keeps its own invariants. A
//! function that needs two parts borrows those two.
//!
//! Sequence offsets are u64: 0 is the SYN, 1 the first byte, and a FIN takes one too.

mod acks;
mod emit;
mod fast_path;
mod fast_path_sack;
mod handshake;
mod input;
pub(crate) mod loss;
pub(crate) mod mapping;
mod pacer;
mod rate;
mod receiver;
pub(crate) mod recovery;
mod ring;
mod rtt;
mod scoreboard;
mod send;
mod sender;
mod timers;

use crate::config::TcpConfig;
use crate::surface::{Counters, PathSetup, PathView, Role, RttSummary};
use fast_path::FastPathState;
use forebay_base::{Histogram, IpVersion, PortId, Span, TcpFlags, Time};
use forebay_cc::{Controller, Observed, PieceView, Sibling};
use handshake::Handshake;
use mapping::Mapping;
use receiver::Receiver;
use recovery::LossRecovery;
use send::Choice;
use sender::Sender;

pub(crate) use handshake::State;
pub(crate) use input::{Incoming, Received, options_of};

/// The most that may be sent and not acknowledged: half of what `widen` can tell apart.
const MAX_OUTSTANDING_BYTES: u64 = 1 << 30;

/// What a path needs of its connection while it works.
pub(crate) struct Cx<'a> {
    pub now: Time,
    pub config: &'a TcpConfig,
    pub counters: &'a mut Counters,
    /// With several paths: the next data offset expected, and the end of this side's stream.
    pub data_ack: Option<u64>,
    pub data_end: Option<u64>,
}

impl<'a> Cx<'a> {
    /// For a path that carries the whole stream.
    pub(crate) fn of_only(now: Time, config: &'a TcpConfig, counters: &'a mut Counters) -> Cx<'a> {
        Cx { now, config, counters, data_ack: None, data_end: None }
    }
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
        (role, version, index): (Role, IpVersion, u8),
        config: &TcpConfig,
        (send_bytes, many): (Option<u64>, bool),
    ) -> Path {
        let send_end = if many { 1 } else { send_bytes.map_or(u64::MAX, |n| n.saturating_add(1)) };
        let fin_allowed = !many && send_bytes.is_some_and(|n| n > 0 || role == Role::Client);
        Path {
            handshake: Handshake::new(&setup, (role, version, index), config),
            fast: FastPathState::new(&setup, version, config),
            recovery: LossRecovery::new(&setup.controller, config),
            receiver: Receiver::new(&setup.controller, setup.feedback, config),
            sender: Sender::new(setup.controller, config, (send_end, fin_allowed, many)),
            deadline: Time::MAX,
        }
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
    /// This side's FIN was sent and acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.sender.is_fin_acked()
    }
    /// The stream of this side may end now, if it has not yet.
    pub(crate) fn allow_fin(&mut self) {
        self.sender.allow_fin();
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
    /// An IP packet came, whole or a piece, before reassembly.
    pub(crate) fn on_piece(&mut self, now: Time, piece: &PieceView) {
        self.receiver.on_piece(now, piece);
        self.refresh();
    }

    // An application that writes over time.

    /// `bytes` more may be sent, behind what was written before. False, and nothing has changed, if
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
    /// What was not sent is not written, and the stream goes on; unless FIN was sent. Bytes
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
    /// Largest piece of data to assign at once.
    pub(crate) fn chunk(&self) -> u64 {
        self.sender.mss()
    }
    /// May the scheduler assign `len` more bytes to it? Its window bounds what waits; where that
    /// says nothing, a packet or two do.
    pub(crate) fn has_room(&self, now: Time, config: &TcpConfig, len: u64) -> bool {
        let Path { sender, recovery, .. } = self;
        if !self.is_usable() {
            return false;
        }
        let waiting = sender.send_end() - sender.nxt();
        let limits = sender.limits();
        let paced = sender.pacing_rate(recovery, &limits, config).is_some();
        let flow = paced || limits.credits.is_some();
        if flow && (waiting > 0 || !sender.pacer_allows(now)) {
            return false;
        }
        let flight = sender.in_flight() + waiting;
        flight == 0 || flight + len <= recovery.window_in_force(sender)
    }
    /// `len` bytes from data offset `data` on are to leave on this path, behind what was assigned
    /// before.
    pub(crate) fn assign(&mut self, data: u64, len: u64) {
        self.sender.assign(data, len);
    }
    /// What was assigned and is not acknowledged.
    pub(crate) fn unacked_runs(&self) -> impl Iterator<Item = Mapping> + '_ {
        let una = self.sender.una();
        self.sender.mappings().into_iter().flat_map(move |mappings| mappings.from(una))
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
            pacing_rate: sender.pacing_rate(recovery, &sender.limits(), config),
            delivered_bytes: sender.rate().delivered(),
            lost_bytes: sender.rate().lost(),
        }
    }
    pub(crate) fn observe(&self, visit: &mut dyn FnMut(Observed)) {
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
        assert!(bytes <= 1104, "{bytes}");
    }
}
