//! The controller of a learner: it does what it was told at each end of an interval, and counts
//! what happens in between.

use forebay_base::{OptionList, Rate, Span, Time};
use forebay_cc::{
    Ack, Congestion, Controller, Init, Limits, Loss, RecoveryOwner, RttView, Sent, Tag, Timeout,
    Traits,
};
use std::sync::{Arc, Mutex, MutexGuard};

/// Actions are taken this long after the end of an interval, and so in the next one.
const AFTER_INTERVAL: Span = Span::from_nanos(1);

/// What a learner decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// The window, in segments.
    Window(f64),
    /// The pacing rate, in bit/s; the window does not limit.
    Rate(f64),
    /// The window, times this.
    Multiplier(f64),
}

/// What is seen of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub delivered_bytes: u64,
    pub sent_bytes: u64,
    pub sent_packets: u64,
    pub lost_packets: u64,
    pub acks: u64,
    pub rtt_samples: u64,
    pub rtt_sum: Span,
    pub timeouts: u64,
}

/// What both sides know: the environment and the controller in its simulation.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The action to take next.
    pub action: Option<Action>,
    /// Since the last interval ended.
    pub counts: Counts,
    /// A controller has this state. Both ends of a connection have one, and the first is that of
    /// the end that opens and sends.
    pub taken: bool,
    pub established: bool,
    pub cwnd_bytes: u64,
    pub pacing_rate: Option<Rate>,
    pub mss_bytes: u64,
    pub in_flight_bytes: u64,
    pub srtt: Option<Span>,
    pub min_rtt: Option<Span>,
}

/// A state that two sides hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics while it holds this lock")
    }
}

/// One path of the flow that learns, at either end. That of the end that receives does nothing.
pub(super) struct LearnerController {
    shared: Option<Shared>,
    limits: Limits,
    mss_bytes: u64,
    interval: Span,
    act_at: Option<Time>,
}

impl LearnerController {
    pub fn new(init: &Init, interval: Span, shared: Shared) -> LearnerController {
        let mss_bytes = u64::from(init.mss_bytes);
        let limits = Limits::window(init.initial_window_bytes.max(mss_bytes));
        let mut state = shared.lock();
        let first = !state.taken;
        if first {
            let cwnd_bytes = limits.cwnd_bytes;
            *state = State { taken: true, cwnd_bytes, mss_bytes, ..State::default() };
        }
        drop(state);
        let shared = first.then_some(shared);
        LearnerController { shared, limits, mss_bytes, interval, act_at: None }
    }

    fn bounded(&self, cwnd_bytes: f64) -> u64 {
        (cwnd_bytes as u64).clamp(self.mss_bytes, Limits::MAX_CWND_BYTES)
    }

    fn act(&mut self) {
        let Some(shared) = self.shared.clone() else { return };
        let mut state = shared.lock();
        let cwnd_bytes = self.limits.cwnd_bytes;
        match state.action.take() {
            Some(Action::Window(segments)) => {
                self.limits = Limits::window(self.bounded(segments * self.mss_bytes as f64));
            }
            Some(Action::Multiplier(times)) => {
                self.limits = Limits::window(self.bounded(cwnd_bytes as f64 * times));
            }
            Some(Action::Rate(bps)) => {
                self.limits = Limits::window(Limits::MAX_CWND_BYTES);
                self.limits.pacing_rate = Some(Rate::clamped(bps as u64));
            }
            None => {}
        }
        state.cwnd_bytes = self.limits.cwnd_bytes;
        state.pacing_rate = self.limits.pacing_rate;
    }

    /// The first time to act after `now`: intervals are counted from the start of the run.
    fn next_after(&self, now: Time) -> Time {
        let interval_ns = self.interval.as_nanos();
        let ended = now.as_nanos().saturating_sub(AFTER_INTERVAL.as_nanos()) / interval_ns;
        Time::from_nanos((ended + 1).saturating_mul(interval_ns)) + AFTER_INTERVAL
    }
}

impl Controller for LearnerController {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn traits(&self) -> Traits {
        Traits { wants_rate: false, edits_headers: false, ..Traits::default() }
    }

    /// What the learner decides holds in recovery, too.
    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, _options: Option<&OptionList>) {
        let Some(shared) = &self.shared else { return };
        let mut state = shared.lock();
        state.established = true;
        state.srtt = rtt.srtt;
        drop(state);
        self.act_at = Some(self.next_after(now));
    }

    fn on_sent(&mut self, _now: Time, sent: &Sent) -> Tag {
        if let Some(shared) = &self.shared {
            let mut state = shared.lock();
            state.counts.sent_bytes += u64::from(sent.bytes);
            state.counts.sent_packets += 1;
            state.in_flight_bytes = sent.in_flight_bytes;
        }
        Tag(0)
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        let Some(shared) = &self.shared else { return };
        let mut state = shared.lock();
        state.in_flight_bytes = ack.in_flight_bytes;
        state.srtt = ack.rtt.srtt;
        state.min_rtt = Some(ack.rtt.min).filter(|min| *min < Span::MAX);
        let counts = &mut state.counts;
        counts.delivered_bytes += ack.delivered_bytes;
        counts.acks += 1;
        if let Some(rtt) = ack.rtt_sample {
            counts.rtt_samples += 1;
            counts.rtt_sum = counts.rtt_sum + rtt;
        }
    }

    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        let Some(shared) = &self.shared else { return };
        let mut state = shared.lock();
        state.counts.lost_packets += 1;
        state.in_flight_bytes = loss.in_flight_bytes;
    }

    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {}

    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {
        if let Some(shared) = &self.shared {
            shared.lock().counts.timeouts += 1;
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.act_at
    }

    fn on_timer(&mut self, now: Time) {
        if self.act_at.is_some_and(|at| at <= now) {
            self.act();
            self.act_at = Some(self.next_after(now));
        }
    }
}
