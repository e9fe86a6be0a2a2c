//! Sprout: Winstein, Sivaraman and Balakrishnan, "Stochastic Forecasts Achieve High Throughput and
//! Low Delay over Cellular Networks", NSDI 2013 (doi:10.5555/2482626.2482670), and the authors'
//! code (github.com/keithw/sprout, 2013).
//!
//! The receiver infers the rate of the path from arrivals in ticks of 20 ms, and reports to the
//! sender how many packets it will deliver in each of the next 8 ticks with 95 % probability. The
//! sender sends what leaves the queue within 100 ms. Losses and delays play no part. F(h) is the
//! forecast for h ticks in packets, Q the sender's estimate of bytes on their way, P the payload
//! of a packet of 1500 bytes without its headers:
//!
//! 1. the receiver's belief is a probability for each of 257 rates from 0 to 1000 packets/s. In a
//!    tick each rate does Brownian motion of 200 packets/s per root second, an outage ends at a
//!    rate of 1/s, and k packets came with a likelihood `Poisson(k; rate x tick)`
//!    (`sprout/belief.rs`; section 3). A tick without a packet is not evidence while the
//!    sender has nothing to send, which it announces on its last packet;
//! 2. `F(h)` is the 5 % quantile of the packets of h ticks (`sprout/forecast.rs`);
//! 3. on a new forecast Q is what is in flight. What is sent adds to Q; when the n-th tick since is
//!    over, `Q = max(0, Q - P (F(n) - F(n - 1)))`;
//! 4. after n ticks the sender may send `P (F(n + 6) - F(n + 1)) - Q`, ticks above 8 as 8:
//!    early transit of 5 ticks, counted as the authors' code does;
//! 5. if this is nothing for 50 ms, one packet of 100 bytes leaves: without any the receiver would
//!    not learn that an outage is over;
//! 6. Sprout-EWMA (`model = "ewma"`): `F(h) = h e`, e the mean of the packets of a tick, with a
//!    gain of 1/8.
//!
//! Differs from the paper in: TCP carries it, with forecasts in options of ACKs, and
//! retransmits losses. In flight is what TCP knows to be neither acknowledged nor lost, where
//! the authors' receiver reports bytes received or lost. Belief and forecasts are the authors'
//! code's: at most 29 packets per tick, ticks independent in the forecast, and a transition out of
//! an outage whose probabilities do not sum to 1, so that the belief in one fades faster than
//! intended. Their sender takes all of `F(n)` off Q each tick (`drain = "cumulative"`). Where the
//! data end, the last packet announces it, and silence is not an outage. Without a forecast, from a
//! peer that does not know Sprout, the window is the initial window.

mod belief;
mod forecast;
mod params;
mod receiver;

pub use params::{Drain, Model, Params, Reach};
pub use receiver::SproutReceiver;

use crate::controller::{
    Ack, Congestion, Controller, HeaderEdits, Init, Limits, LossPolicy, NextPacket, RecoveryOwner,
    RttView, Sent, SeriesSample, Tag, Timeout, Traits,
};
use alloc::boxed::Box;
use forebay_base::{OptionList, Span, Time};
use forebay_signal::sprout::{Forecast, TICK, TICKS, WAIT_BYTES, Wait};
use receiver::PACKET_BYTES;

/// Rule 5. No packet that the window cuts short is shorter, either.
const HEARTBEAT: Span = Span::from_millis(50);
const MIN_BYTES: u16 = 100;
/// Headers of a packet: IPv4, TCP, timestamps and the option on data.
const HEADER_BYTES: u64 = 56;
/// A forecast counts as new after this long, whatever its number.
const STALE: Span = Span::from_secs(1);

/// The sender of one path.
#[derive(Clone, Debug)]
pub struct Sprout {
    state: Box<State>,
}

#[derive(Clone, Debug)]
struct State {
    mss_bytes: u64,
    initial_window_bytes: u64,
    /// P in payload bytes.
    packet_bytes: u64,
    early_transit: usize,
    drain: Drain,
    forecast: Option<Forecast>,
    /// When it came, and ticks that are over since.
    came: Time,
    ticks: usize,
    /// Q.
    queue_bytes: u64,
    in_flight_bytes: u64,
    /// What may leave in payload of full packets, and how many packets this is.
    room_bytes: u64,
    credits: u64,
    /// The one that may leave is that of rule 5.
    heartbeat: bool,
    last_sent: Time,
}

impl Sprout {
    /// A sender that has no forecast.
    pub fn new(params: &Params, init: Init) -> Sprout {
        let mss_bytes = u64::from(init.mss_bytes);
        let packet_bytes = u64::from(PACKET_BYTES) * mss_bytes / (mss_bytes + HEADER_BYTES);
        Sprout {
            state: Box::new(State {
                mss_bytes,
                initial_window_bytes: init.initial_window_bytes.max(mss_bytes),
                packet_bytes,
                early_transit: params.early_transit_ticks.into(),
                drain: params.drain,
                forecast: None,
                came: Time::ZERO,
                ticks: 0,
                queue_bytes: 0,
                in_flight_bytes: 0,
                room_bytes: 0,
                credits: 0,
                heartbeat: false,
                last_sent: Time::ZERO,
            }),
        }
    }
}

impl State {
    /// Rule 3.
    fn on_forecast(&mut self, now: Time, forecast: Forecast) {
        let stale = now.since(self.came) > STALE;
        if self.forecast.is_none_or(|last| stale || forecast.is_newer_than(&last)) {
            self.forecast = Some(forecast);
            (self.came, self.ticks) = (now, 0);
            self.queue_bytes = self.in_flight_bytes;
            self.allow();
        }
    }

    /// Rule 4, in bytes, the queue not taken off.
    fn allowance_bytes(&self) -> u64 {
        let Some(forecast) = &self.forecast else { return 0 };
        let from = self.ticks + 1;
        let to = (from + self.early_transit).min(TICKS);
        let packets = forecast.within(to) - forecast.within(from);
        u64::from(packets) * self.packet_bytes
    }
    fn allow(&mut self) {
        self.set_room(self.allowance_bytes().saturating_sub(self.queue_bytes));
        self.heartbeat = false;
    }
    fn set_room(&mut self, bytes: u64) {
        let rest = bytes % self.mss_bytes + HEADER_BYTES;
        self.room_bytes = bytes;
        self.credits = bytes / self.mss_bytes + u64::from(rest >= MIN_BYTES.into());
    }
    /// Room that a packet takes: headers count, so that one that is short takes more than
    /// its payload.
    fn charge_bytes(&self, payload_bytes: u32) -> u64 {
        let wire_bytes = u64::from(payload_bytes) + HEADER_BYTES;
        wire_bytes * self.mss_bytes / (self.mss_bytes + HEADER_BYTES)
    }
    /// The longest that the next packet may be on the wire.
    fn longest(&self) -> Option<u16> {
        if self.heartbeat {
            return Some(MIN_BYTES);
        }
        if self.forecast.is_none() || self.room_bytes >= self.mss_bytes {
            return None;
        }
        let rest = (self.room_bytes + HEADER_BYTES).min(u16::MAX.into()) as u16;
        Some(rest.max(MIN_BYTES))
    }

    /// The end of the tick that runs; None after the last but one, from which on nothing changes.
    fn tick_end(&self) -> Option<Time> {
        let counts = self.forecast.is_some() && self.ticks + 1 < TICKS;
        counts.then(|| self.came + TICK * (self.ticks as u64 + 1))
    }
    fn heartbeat_at(&self) -> Option<Time> {
        let closed = self.forecast.is_some() && self.credits == 0;
        closed.then(|| self.last_sent + HEARTBEAT)
    }
    fn on_tick(&mut self) {
        let Some(forecast) = &self.forecast else { return };
        let packets = match self.drain {
            Drain::Increments => forecast.packets[self.ticks].into(),
            Drain::Cumulative => forecast.within(self.ticks + 1),
        };
        let bytes = u64::from(packets) * self.packet_bytes;
        self.queue_bytes = self.queue_bytes.saturating_sub(bytes);
        self.ticks += 1;
        self.allow();
    }
    fn on_timer(&mut self, now: Time) {
        while self.tick_end().is_some_and(|at| at <= now) {
            self.on_tick();
        }
        if self.heartbeat_at().is_some_and(|at| at <= now) {
            (self.credits, self.heartbeat) = (1, true);
        }
    }

    /// What the departing packet announces about those after it.
    fn wait(&self, next: &NextPacket) -> Wait {
        let whole = u64::from(next.payload_bytes) >= self.mss_bytes;
        match self.forecast {
            Some(_) if !whole && !next.retransmission && !self.heartbeat => Wait::LONGEST,
            Some(_) if self.credits > 1 => Wait::default(),
            _ => Wait(HEARTBEAT),
        }
    }
}

impl Controller for Sprout {
    fn limits(&self) -> Limits {
        let state = &self.state;
        match state.forecast {
            None => Limits::window(state.initial_window_bytes.min(Limits::MAX_CWND_BYTES)),
            Some(_) => {
                Limits { credits: Some(state.credits), ..Limits::window(Limits::MAX_CWND_BYTES) }
            }
        }
    }
    fn traits(&self) -> Traits {
        Traits { wants_rate: false, option_bytes: WAIT_BYTES, ..Traits::default() }
    }

    fn on_established(&mut self, now: Time, _rtt: &RttView, options: Option<&OptionList>) {
        if let Some(forecast) = options.and_then(Forecast::find) {
            self.state.on_forecast(now, forecast);
        }
    }

    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        let state = &mut self.state;
        if sent.bytes > 0 {
            state.in_flight_bytes = sent.in_flight_bytes;
            let charge_bytes = state.charge_bytes(sent.bytes);
            state.queue_bytes += charge_bytes;
            state.set_room(state.room_bytes.saturating_sub(charge_bytes));
            state.last_sent = now;
            state.heartbeat = false;
        }
        Tag(0)
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        self.state.in_flight_bytes = ack.in_flight_bytes;
        if let Some(forecast) = ack.options.and_then(Forecast::find) {
            self.state.on_forecast(now, forecast);
        }
    }

    /// Congestion is what the forecast says.
    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {}
    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {}

    fn loss_policy(&self) -> Option<LossPolicy> {
        Some(LossPolicy::RackTlp)
    }
    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }

    fn edit_header(&mut self, _now: Time, next: &NextPacket) -> HeaderEdits {
        if next.syn || next.payload_bytes == 0 {
            return HeaderEdits::default();
        }
        let mut options = OptionList::EMPTY;
        self.state.wait(next).push(&mut options).expect("6 bytes fit into 40");
        let max_wire_len = self.state.longest();
        HeaderEdits { options: Some(options), max_wire_len, ..HeaderEdits::default() }
    }

    fn next_timeout(&self) -> Option<Time> {
        let (tick, heartbeat) = (self.state.tick_end(), self.state.heartbeat_at());
        tick.into_iter().chain(heartbeat).min()
    }
    fn on_timer(&mut self, now: Time) {
        self.state.on_timer(now);
    }

    fn phase(&self) -> &'static str {
        match &*self.state {
            State { forecast: None, .. } => "blind",
            State { heartbeat: true, .. } => "heartbeat",
            State { credits: 0, .. } => "wait",
            _ => "send",
        }
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let state = &self.state;
        let mut show = |name, unit, value| visit(SeriesSample { name, unit, value });
        show("sprout_queue_bytes", "B", state.queue_bytes as f64);
        if let Some(forecast) = &state.forecast {
            let seconds = TICK.as_secs_f64() * TICKS as f64;
            let bits = f64::from(forecast.within(TICKS)) * f64::from(PACKET_BYTES) * 8.0;
            show("sprout_forecast_bps", "bit/s", bits / seconds);
            show("sprout_allowance_bytes", "B", state.allowance_bytes() as f64);
        }
    }
}

#[cfg(test)]
mod tests;
