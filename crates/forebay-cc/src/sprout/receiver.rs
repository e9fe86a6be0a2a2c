//! The receiver half: counts arrivals in ticks of 20 ms, and forecasts the next ones.

use super::belief::Belief;
use super::forecast::Tables;
use super::params::{Model, Params};
use crate::feedback::{AckDemand, DatagramView, Feedback, PieceView};
use alloc::boxed::Box;
use alloc::sync::Arc;
use forebay_base::{MAX_OPTION_BYTES, OptionList, Span, Time, kind};
use forebay_signal::sprout::{FORECAST_BYTES, Forecast, TICK, TICKS, Wait};

/// Bytes of a packet, IP header included.
pub(super) const PACKET_BYTES: u32 = 1500;
/// Without `sendonly` an ACK leaves after this time without one (authors' code).
const HEARTBEAT: Span = Span::from_millis(50);
/// No report leaves after this time without a packet: the sender's forecast is used up.
const QUIET: Span = Span::from_secs(1);
/// Ticks that are made up for after a silence: what is believed does not change any more.
const MAX_TICKS: u64 = 250;
/// Gain of Sprout-EWMA.
const GAIN: f64 = 0.125;

/// The receiver of one path.
#[derive(Clone, Debug)]
pub struct SproutReceiver {
    /// On the heap: receivers of other schemes are small.
    state: Box<State>,
}

#[derive(Clone, Debug)]
struct State {
    view: View,
    sendonly: bool,
    /// When the tick began that runs; None before the first packet.
    tick: Option<Time>,
    /// Wire bytes in it.
    bytes: u64,
    /// Until then silence is the sender's.
    waits_until: Time,
    /// The last packet said that nothing follows.
    ended: bool,
    last_arrival: Time,
    last_told: Time,
    /// Of the current tick, and of the one last reported.
    number: u8,
    told: Option<u8>,
}

/// What is known of the path.
#[derive(Clone, Debug)]
enum View {
    Bayes {
        tables: Arc<Tables>,
        belief: Belief,
        /// The belief, as the tables take it.
        shares: Box<[f32]>,
    },
    /// Packets per tick.
    Ewma(f64),
}

impl View {
    fn new(params: &Params) -> View {
        match params.model {
            Model::Ewma => View::Ewma(0.0),
            Model::Bayes => {
                let tables = Tables::new(params);
                let (belief, shares) = (Belief::new(&tables.grid), tables.room());
                View::Bayes { tables: Arc::new(tables), belief, shares }
            }
        }
    }
    /// A tick is over. `packets`: None if the sender had nothing to send.
    fn tick(&mut self, packets: Option<u32>) {
        match self {
            View::Bayes { tables, belief, .. } => belief.tick(&tables.grid, packets),
            View::Ewma(mean) => {
                if let Some(packets) = packets {
                    *mean += GAIN * (f64::from(packets) - *mean);
                }
            }
        }
    }
    /// Packets within 1 to 8 ticks.
    fn forecast(&mut self) -> [u32; TICKS] {
        match self {
            View::Bayes { tables, belief, shares } => {
                for (share, p) in shares.iter_mut().zip(belief.shares()) {
                    *share = *p as f32;
                }
                tables.forecast(shares)
            }
            View::Ewma(mean) => core::array::from_fn(|h| (*mean * (h + 1) as f64) as u32),
        }
    }
}

impl SproutReceiver {
    /// A receiver that has seen nothing. Its clones share what depends on the parameters alone.
    pub fn new(params: &Params) -> SproutReceiver {
        SproutReceiver {
            state: Box::new(State {
                view: View::new(params),
                sendonly: params.sendonly,
                tick: None,
                bytes: 0,
                waits_until: Time::ZERO,
                ended: false,
                last_arrival: Time::ZERO,
                last_told: Time::ZERO,
                number: 0,
                told: None,
            }),
        }
    }
}

impl State {
    /// Ticks that are over by now.
    fn advance(&mut self, now: Time) {
        let Some(mut tick) = self.tick else { return };
        let over = now.since(tick).as_nanos() / TICK.as_nanos();
        if over > MAX_TICKS {
            tick += TICK * (over - MAX_TICKS);
        }
        for _ in 0..over.min(MAX_TICKS) {
            // Rounded, and one packet if it is less than half of one.
            let packets = (self.bytes + u64::from(PACKET_BYTES) / 2) / u64::from(PACKET_BYTES);
            let packets = packets.clamp(u64::from(self.bytes > 0), u32::MAX.into()) as u32;
            let seen = self.bytes > 0 || tick >= self.waits_until && !self.ended;
            self.view.tick(seen.then_some(packets));
            self.bytes = 0;
            tick += TICK;
        }
        self.number = self.number.wrapping_add(over as u8);
        self.tick = Some(tick);
    }

    fn on_data(&mut self, now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        // Its first packet may come at the very time that a tick ends.
        let due = self.next_timeout().is_some_and(|at| at <= now);
        let begin = *self.tick.get_or_insert(now);
        self.advance(now);
        self.bytes += u64::from(datagram.wire_len);
        self.last_arrival = now;
        let wait = datagram.options.and_then(Wait::find).unwrap_or_default();
        self.ended = wait == Wait::LONGEST;
        if !self.ended {
            let from = self.tick.unwrap_or(begin);
            self.waits_until = self.waits_until.max(from + wait.0);
        }
        if self.sendonly && !due { AckDemand::Policy } else { self.demand() }
    }

    /// An ACK at once if there is a forecast that was not reported.
    fn demand(&self) -> AckDemand {
        if self.told == Some(self.number) { AckDemand::Policy } else { AckDemand::Now }
    }

    fn next_timeout(&self) -> Option<Time> {
        let tick = self.tick?;
        let at =
            if self.sendonly { tick + TICK } else { (self.last_told + HEARTBEAT).max(tick + TICK) };
        (at <= self.last_arrival + QUIET).then_some(at)
    }

    fn push(&mut self, now: Time, options: &mut OptionList) {
        let within = self.view.forecast();
        let mut before = 0;
        let packets = within.map(|packets| {
            let more = packets.saturating_sub(before).min(u8::MAX.into());
            before += more;
            more as u8
        });
        let forecast = Forecast { number: self.number, packets };
        forecast.push(options).expect("the room was looked at");
        (self.told, self.last_told) = (Some(self.number), now);
    }
}

impl Feedback for SproutReceiver {
    fn wants_pieces(&self) -> bool {
        false
    }
    fn on_piece(&mut self, _now: Time, _piece: &PieceView) {}

    fn on_datagram(&mut self, now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        match datagram.payload_bytes {
            0 => AckDemand::Policy,
            _ => self.state.on_data(now, datagram),
        }
    }

    fn clocks_acks(&self) -> bool {
        self.state.sendonly
    }

    /// The SYN-ACK has what is thought of a path of which nothing is known.
    fn fill(&mut self, now: Time, options: &mut OptionList) {
        let state = &mut self.state;
        state.advance(now);
        let first = options.find(kind::MSS).is_some();
        let news = state.tick.is_some() && state.told != Some(state.number);
        let room = options.len() + usize::from(FORECAST_BYTES) <= MAX_OPTION_BYTES;
        if room && (first || news) {
            state.push(now, options);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.state.next_timeout()
    }
    fn on_timer(&mut self, now: Time) -> AckDemand {
        let state = &mut self.state;
        if state.next_timeout().is_none_or(|at| at > now) {
            return AckDemand::Policy;
        }
        state.advance(now);
        state.demand()
    }
}
