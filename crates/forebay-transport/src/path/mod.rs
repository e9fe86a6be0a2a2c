//! One path of a connection: its own sequence space, controller, RTT, scoreboard, timers and pacer.
//!
//! Sequence offsets are u64: 0 is the SYN, 1 the first byte, and a FIN takes one too.

mod acks;
mod congestion;
mod emit;
mod fast_path;
mod fast_path_sack;
mod handshake;
mod input;
pub(crate) mod loss;
pub(crate) mod mapping;
mod pacer;
mod rate;
pub(crate) mod recovery;
mod ring;
mod rtt;
mod scoreboard;
mod send;
mod spurious;
mod timers;
mod write;

use crate::config::{Pacing, TcpConfig};
use crate::connection::{Counters, PathSetup, PathView, Role, RttSummary};
use crate::recv::{AckSchedule, Reassembly};
use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{Endpoint, Histogram, IpVersion, OptionList, PortId, Rate, Span, Time};
use forebay_cc::{
    AnyController, AnyFeedback, Controller, Limits, LossPolicy, Observation, RecoveryOwner, Sibling,
};
use loss::Detector;
use mapping::Mappings;
use pacer::Pacer;
use rate::RateSampler;
use recovery::{Episode, Rule};
use rtt::{RtoBounds, RttEstimator};
use scoreboard::Scoreboard;
use spurious::SpuriousCheck;
use timers::Timers;

pub(crate) use input::{Incoming, Received, options_of};

/// The most that may be sent and not acknowledged: half of what `widen` can tell apart.
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

/// What was negotiated.
#[derive(Clone, Copy, Debug, Default)]
struct Negotiated {
    sack: bool,
    timestamps: bool,
    ecn: bool,
    /// Shift of the windows that the peer announces.
    peer_shift: u8,
    /// Shift of the windows that this end announces.
    own_shift: u8,
    /// Both sides scale their windows.
    scaled: bool,
}

/// Who talks to whom on a path.
struct Identity {
    role: Role,
    version: IpVersion,
    local: Endpoint,
    remote: Endpoint,
    isn: u32,
    peer_isn: u32,
    /// Number of the path in its connection.
    index: u8,
}

impl Identity {
    fn new(setup: &PathSetup, role: Role, version: IpVersion, index: u8) -> Identity {
        let (local, remote, isn) = (setup.local, setup.remote, setup.isn);
        Identity { role, version, local, remote, isn, peer_isn: 0, index }
    }
}

/// What a controller says of itself: `owner` may change, see [`Path::adopt_policy`].
struct ControllerTraits {
    wants_packets: bool,
    stamps: bool,
    owner: RecoveryOwner,
}

impl ControllerTraits {
    fn by(controller: &AnyController) -> ControllerTraits {
        ControllerTraits {
            wants_packets: controller.wants_packets(),
            stamps: controller.stamps(),
            owner: controller.recovery_owner(),
        }
    }
}

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

/// A tail loss probe whose outcome is open (RFC 8985 section 7.4).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// SND.NXT when it was sent.
    end: u64,
    repeats_data: bool,
}

/// Which fast paths are open, and up to where.
struct FastPathState {
    /// Only new data and ACKs in order can be due: see [`Path::may_take_fast_path`].
    fast_path: bool,
    /// The fast path is open, and an ACK in order cannot reveal a loss.
    ack_cannot_lose: bool,
    /// Only data out of order keeps the fast path closed, and nothing is outstanding: see [`Path::only_receives`].
    rx_out_of_order: bool,
    /// What was sent has holes, and nothing else is open but their repair: see [`Path::in_sack_recovery`].
    sack_recovery: bool,
    /// Its packets carry nothing but timestamps, and leave as the window allows: see [`Path::is_header_only`].
    header_only: bool,
    /// Segments of new data that end here or before need nothing but room in the window; 0 unless the path is plain.
    send_limit: u64,
    /// The congestion window, where `reach` is not 0.
    cwnd: u64,
    /// Bytes that may be sent and not acknowledged, whatever the peer offers.
    send_buffer: u64,
    /// The configuration allows fast paths.
    allowed: bool,
}

impl FastPathState {
    fn of(setup: &PathSetup, version: IpVersion, config: &TcpConfig) -> FastPathState {
        FastPathState {
            fast_path: false,
            ack_cannot_lose: false,
            rx_out_of_order: false,
            sack_recovery: false,
            header_only: config.fast_path && Path::is_header_only(setup, version, config),
            send_limit: 0,
            cwnd: 0,
            send_buffer: config.send_buffer_bytes.min(MAX_OUTSTANDING_BYTES),
            allowed: config.fast_path,
        }
    }
}

/// The controller's own policy, or the configured one.
fn ack_schedule(controller: &AnyController, config: &TcpConfig) -> AckSchedule {
    match controller.ack_policy() {
        Some(policy) => AckSchedule::new(policy),
        None if config.quick_while_growing => AckSchedule::new(config.ack_policy)
            .quick_while_growing(config.receive_buffer_bytes, config.mss_bytes.into()),
        None => AckSchedule::new(config.ack_policy),
    }
}

/// What keeps new data from leaving while the congestion window has room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BufferLimit {
    /// The peer's window.
    peer_window: bool,
    /// The send buffer.
    send_buffer: bool,
}

pub(crate) struct Path {
    // What every ACK and every packet touches.
    pub(crate) board: Scoreboard,
    next_number: u64,
    rtt: RttEstimator,
    rate: RateSampler,
    timers: Timers,
    /// Right edge of the peer's window, as an offset.
    peer_edge: u64,
    /// Sequence number of the segment that set it (SND.WL1).
    window_seq: u64,
    last_window: u16,
    dupacks: u32,
    /// The window was full when SND.NXT stood here: ACKs below it end a flight that the window limited.
    window_full_at: u64,
    /// Which buffers alone hold new data back.
    buffer_limit: BufferLimit,
    /// End of what may be sent: of the stream, or of what the scheduler has assigned.
    send_end: u64,
    fin_allowed: bool,
    negotiated: Negotiated,
    state: State,
    fast: FastPathState,
    /// The feedback half has nothing to say, ever.
    no_feedback: bool,
    traits: ControllerTraits,
    mss: u16,
    /// What the peer takes in one segment beside its options, and beside ours.
    segment_limit: u16,
    /// Payload that the last packet had room for: less than `mss` where its stamp took some.
    payload_limit: u16,
    recv: Reassembly,
    acks: AckSchedule,
    ts_recent: u32,
    recv_window: u64,
    /// The same as a header has it.
    announced: u16,
    last_ack_sent: u64,
    /// Received CE and not CWR yet.
    echo_congestion: bool,
    pub(crate) controller: AnyController,
    pub(crate) feedback: AnyFeedback,
    // Loss and its repair.
    detector: Detector,
    episode: Option<Box<Episode>>,
    /// SND.NXT at the last recovery or timeout; 0 before the first.
    recovery_point: u64,
    /// Highest lost offset that no congestion event has answered.
    unanswered_loss: Option<u64>,
    /// Transmissions from this number on were sent after the last congestion event.
    reduced_at_number: u64,
    /// SND.NXT at the last response to ECE.
    ecn_point: u64,
    send_cwr: bool,
    /// Bytes sent by limited transmit: not part of FlightSize.
    limited_bytes: u64,
    force_retransmit: bool,
    spurious: SpuriousCheck,
    probe: Option<Probe>,
    probe_due: bool,
    /// An RTT sample was taken since the last probe.
    sampled_since_probe: bool,
    window_probe_due: bool,
    /// Where the byte of the last window probe ends; the scoreboard does not know of it.
    window_probe_end: u64,
    /// Timeouts in a row.
    retries: u32,
    /// Bound on the window after a lost SYN (RFC 5681 section 3.1: one segment, then slow start).
    syn_loss_window: u64,
    pacer: Pacer,
    /// Bytes delivered at the last congestion event, and between the last two.
    delivered_at_loss: u64,
    delivered_between: u64,
    /// Indices of segments that a SACK block is news for, while it is processed.
    scratch: Vec<usize>,
    // Identity and rarely used parts.
    ids: Identity,
    pub(crate) port: PortId,
    syn_due: bool,
    handshake_ack: bool,
    fin_received_at: Option<u64>,
    peer_syn: Option<Box<OptionList>>,
    histogram: Histogram,
    /// Which data offsets its bytes are; None where they are the same.
    pub(crate) mappings: Option<Box<Mappings>>,
}

impl Path {
    pub(crate) fn new(
        setup: PathSetup,
        (role, version, index): (Role, IpVersion, u8),
        config: &TcpConfig,
        (send_bytes, many): (Option<u64>, bool),
    ) -> Path {
        let ids = Identity::new(&setup, role, version, index);
        let send_end = if many { 1 } else { send_bytes.map_or(u64::MAX, |n| n.saturating_add(1)) };
        Path {
            board: Scoreboard::default(),
            next_number: 0,
            rtt: RttEstimator::new(config.initial_rto, RtoBounds::of(config)),
            rate: RateSampler::new(setup.controller.wants_rate()),
            timers: Timers::default(),
            peer_edge: 0,
            window_seq: 0,
            last_window: 0,
            dupacks: 0,
            window_full_at: 0,
            buffer_limit: BufferLimit::default(),
            send_end,
            fin_allowed: !many && send_bytes.is_some_and(|n| n > 0 || role == Role::Client),
            negotiated: Negotiated::default(),
            state: if role == Role::Server { State::Listen } else { State::Closed },
            fast: FastPathState::of(&setup, version, config),
            no_feedback: matches!(setup.feedback, AnyFeedback::None),
            traits: ControllerTraits::by(&setup.controller),
            mss: config.mss_bytes,
            segment_limit: config.mss_bytes,
            payload_limit: config.mss_bytes,
            recv: Reassembly::new(config.receive_buffer_bytes, config.mss_bytes),
            acks: ack_schedule(&setup.controller, config),
            ts_recent: 0,
            recv_window: 0,
            announced: 0,
            last_ack_sent: 0,
            echo_congestion: false,
            detector: Detector::new(LossPolicy::TimeoutOnly, false),
            episode: None,
            recovery_point: 0,
            unanswered_loss: None,
            reduced_at_number: 0,
            ecn_point: 0,
            send_cwr: false,
            limited_bytes: 0,
            force_retransmit: false,
            spurious: SpuriousCheck::default(),
            probe: None,
            probe_due: false,
            sampled_since_probe: false,
            window_probe_due: false,
            window_probe_end: 0,
            retries: 0,
            syn_loss_window: u64::MAX,
            pacer: Pacer::default(),
            delivered_at_loss: 0,
            delivered_between: 0,
            scratch: Vec::new(),
            ids,
            port: setup.port,
            syn_due: false,
            handshake_ack: false,
            fin_received_at: None,
            peer_syn: None,
            histogram: Histogram::default(),
            mappings: many.then(Box::default),
            controller: setup.controller,
            feedback: setup.feedback,
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }
    /// Payload bytes that were sent at least once.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.board.nxt().saturating_sub(1).min(self.send_end - 1)
    }
    /// Payload bytes acknowledged in order.
    pub(crate) fn acked_bytes(&self) -> u64 {
        self.board.una().saturating_sub(1).min(self.send_end - 1)
    }
    /// Payload bytes received in order.
    pub(crate) fn received_bytes(&self) -> u64 {
        let nxt = self.fin_received_at.map_or(self.recv.nxt(), |fin| self.recv.nxt().min(fin));
        nxt.saturating_sub(1)
    }
    /// The same, and those beyond a hole.
    pub(crate) fn arrived_bytes(&self) -> u64 {
        self.received_bytes() + self.recv.held_bytes(self.fin_received_at)
    }
    /// The peer's FIN is in order.
    pub(crate) fn stream_complete(&self) -> bool {
        self.fin_received_at.is_some_and(|fin| self.recv.nxt() > fin)
    }
    /// Nothing leaves any more: the peer reset the path.
    pub(crate) fn kill(&mut self) {
        self.state = State::Dead;
        self.refresh();
    }
    /// This side's FIN was sent and acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin_allowed && self.board.una() > self.send_end
    }
    /// The stream of this side may end now, if it has not yet.
    pub(crate) fn allow_fin(&mut self) {
        self.fin_allowed = true;
    }
    fn fin_sent(&self) -> bool {
        self.board.nxt() > self.send_end
    }
    /// Payload bytes sent and not acknowledged in order.
    fn outstanding(&self) -> u64 {
        let una = self.board.una().max(1);
        (self.board.nxt().max(1) - una).saturating_sub(u64::from(self.fin_sent()))
    }
    /// FlightSize (RFC 5681), limited transmit left out.
    fn flight_size(&self) -> u64 {
        self.outstanding().saturating_sub(self.limited_bytes)
    }
    fn mss(&self) -> u64 {
        self.mss as u64
    }
    /// The window of the controller, bounded after a lost SYN.
    fn cwnd(&self, limits: &Limits) -> u64 {
        limits.cwnd_bytes.min(self.syn_loss_window)
    }
    fn in_timeout_recovery(&self) -> bool {
        self.episode.is_none() && self.board.una() < self.recovery_point
    }
    /// True if new data may be assigned to it.
    pub(crate) fn is_usable(&self) -> bool {
        self.state == State::Established && self.retries == 0
    }
    /// Smoothed RTT in ns, the largest value if there is none: what the scheduler compares.
    pub(crate) fn rank(&self) -> u64 {
        self.rtt.srtt().map_or(u64::MAX, |s| s.as_nanos())
    }

    /// Window that the peer announced last.
    pub(crate) fn peer_window(&self) -> u64 {
        (self.last_window as u64) << self.negotiated.peer_shift
    }
    /// Largest piece of data to assign at once.
    pub(crate) fn chunk(&self) -> u64 {
        self.mss()
    }
    /// May the scheduler assign `len` more bytes to it? Its window bounds what waits; where that says nothing, a packet or two do.
    pub(crate) fn has_room(&self, now: Time, config: &TcpConfig, len: u64) -> bool {
        if !self.is_usable() {
            return false;
        }
        let waiting = self.send_end - self.board.nxt();
        let limits = self.controller.limits();
        let flow = self.pacing_rate(&limits, config).is_some() || limits.credits.is_some();
        if flow && (waiting > 0 || !self.pacer.ready(now)) {
            return false;
        }
        let flight = self.board.in_flight() + waiting;
        flight == 0 || flight + len <= self.window_in_force()
    }
    /// Where the bytes assigned next will lie.
    pub(crate) fn assigned_end(&self) -> u64 {
        self.send_end
    }
    /// `len` more bytes are assigned.
    pub(crate) fn extend(&mut self, len: u64) {
        self.send_end += len;
    }

    /// The rate at which packets leave, if they are paced.
    #[inline]
    fn pacing_rate(&self, limits: &Limits, config: &TcpConfig) -> Option<Rate> {
        match config.pacing {
            Pacing::Windowed { slow_start_percent, avoidance_percent }
                if limits.pacing_rate.is_none() =>
            {
                self.windowed_rate(limits, (slow_start_percent, avoidance_percent))
            }
            _ => limits.pacing_rate,
        }
    }
    fn windowed_rate(&self, limits: &Limits, percents: (u32, u32)) -> Option<Rate> {
        let (slow_start_percent, avoidance_percent) = percents;
        let srtt = self.rtt.srtt().filter(|s| !s.is_zero())?;
        let cwnd = self.cwnd(limits);
        if cwnd >= Limits::MAX_CWND_BYTES {
            return None; // no window
        }
        let ssthresh = self.controller.observe().ssthresh_bytes.unwrap_or(u64::MAX);
        let percent = if cwnd < ssthresh / 2 { slow_start_percent } else { avoidance_percent };
        let bits_per_s = cwnd as u128 * 8 * percent as u128 * 10_000_000 / srtt.as_nanos() as u128;
        Some(Rate::clamped(u64::try_from(bits_per_s).unwrap_or(u64::MAX)))
    }

    /// The window in force: in recovery, what recovery allows.
    fn window_in_force(&self) -> u64 {
        let cwnd = self.cwnd(&self.controller.limits());
        match self.episode.as_ref().map(|e| &e.rule) {
            Some(Rule::Prr(prr)) => prr.window(self.board.in_flight()),
            Some(Rule::NewReno(newreno)) => newreno.window,
            Some(Rule::Pipe(_) | Rule::Controller) | None => cwnd,
        }
    }

    pub(crate) fn view(&self, config: &TcpConfig) -> PathView {
        let Observation { ssthresh_bytes, phase } = self.controller.observe();
        PathView {
            cwnd_bytes: self.window_in_force(),
            ssthresh_bytes,
            phase,
            srtt: self.rtt.srtt(),
            in_flight_bytes: self.board.in_flight(),
            pacing_rate: self.pacing_rate(&self.controller.limits(), config),
            delivered_bytes: self.rate.delivered(),
            lost_bytes: self.rate.lost(),
        }
    }
    pub(crate) fn round_trips(&self) -> &Histogram {
        &self.histogram
    }
    pub(crate) fn rtt_summary(&self) -> RttSummary {
        let milliseconds = |span: Option<Span>| span.map_or(0.0, |s| s.as_secs_f64() * 1e3);
        RttSummary {
            samples: self.histogram.count(),
            mean_ms: milliseconds(self.histogram.mean()),
            p95_ms: milliseconds(self.histogram.quantile(0.95)),
        }
    }
    pub(crate) fn sibling(&self) -> Sibling {
        Sibling {
            cwnd_bytes: self.cwnd(&self.controller.limits()),
            srtt: self.rtt.srtt(),
            since_loss_bytes: (
                self.rate.delivered() - self.delivered_at_loss,
                self.delivered_between,
            ),
            usable: self.is_usable(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred thousand connections must fit: the idle path is bounded, what only recovery needs lives on the heap.
    #[test]
    fn an_idle_path_is_small() {
        let bytes = size_of::<Path>();
        assert!(bytes <= 1104, "{bytes}");
    }
}
