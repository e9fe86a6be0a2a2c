//! The application of a client that writes over time, or stops.

use crate::life::{TimeDistribution, Writing};
use crate::spec::FlowSpec;
use forebay_base::{Rng, Serializer, Span, Time};
use forebay_transport::Connection;

/// Its next action.
enum Act {
    Stop,
    Turn,
    Write,
}

/// See the module. Its times depend on its flow and its random stream only.
pub(crate) struct App {
    /// When it writes no more.
    stop: Time,
    /// Bytes that it has not written yet; None: without end.
    left: Option<u64>,
    /// Bytes that it writes in total; [`u64::MAX`]: without end.
    total: u64,
    pen: WritePattern,
    /// Periods in which it writes, and pauses.
    periods: Option<[TimeDistribution; 2]>,
    rng: Rng,
    on: bool,
    /// When this period ends.
    turns_at: Time,
    closed: bool,
}

/// How it writes in a period in which it writes.
enum WritePattern {
    /// As fast as the transport sends.
    Greedy,
    /// One chunk each time that the rate allows one.
    Paced {
        clock: Serializer,
        chunk_bytes: u32,
        /// In a period in which it writes: when it writes the next chunk.
        writes_at: Time,
        /// In a pause: the rest of the time to the next chunk.
        rest: Span,
    },
}

impl App {
    /// The application of a flow, which draws from `rng`. None if it writes everything at once.
    pub fn of(spec: &FlowSpec, rng: Rng, now: Time) -> Option<App> {
        let life = spec.life.as_deref()?;
        if life.stop.is_none() && life.write.is_none() {
            return None;
        }
        let pen = match life.write {
            Some(Writing { rate: Some(rate), chunk_bytes, .. }) => {
                let clock = Serializer::new(rate);
                WritePattern::Paced { clock, chunk_bytes, writes_at: now, rest: Span::ZERO }
            }
            _ => WritePattern::Greedy,
        };
        Some(App {
            stop: life.stop.unwrap_or(Time::MAX),
            left: spec.bytes,
            total: spec.bytes.unwrap_or(u64::MAX),
            pen,
            periods: life.write.and_then(|write| write.periods),
            rng,
            on: true,
            turns_at: Time::MAX,
            closed: false,
        })
    }

    /// The connection is about to open. It was made with all bytes that the flow sends.
    pub fn begin(&mut self, now: Time, connection: &mut Connection) {
        if self.periods.is_some() || matches!(self.pen, WritePattern::Paced { .. }) {
            connection.hold(now);
            self.start_period(now, connection);
        }
        self.act(now, connection);
    }

    /// When [`App::act`] is due; [`Time::MAX`]: never.
    pub fn next(&self) -> Time {
        if self.closed {
            return Time::MAX;
        }
        let writes_at = match self.pen {
            WritePattern::Paced { writes_at, .. } if self.on => writes_at,
            _ => Time::MAX,
        };
        self.stop.min(self.turns_at).min(writes_at)
    }

    /// Do all that is due: true if anything was. Periods and chunks take time, so the loop ends.
    pub fn act(&mut self, now: Time, connection: &mut Connection) -> bool {
        let mut acted = false;
        loop {
            let at = self.next();
            if at > now || at == Time::MAX {
                return acted;
            }
            acted = true;
            // A period does not include its end.
            let act = match at {
                _ if at == self.stop => Act::Stop,
                _ if at == self.turns_at => Act::Turn,
                _ => Act::Write,
            };
            match act {
                Act::Stop => self.stop(now, connection),
                Act::Turn => self.turn(at, now, connection),
                Act::Write => self.write_chunk(at, now, connection),
            }
        }
    }

    fn stop(&mut self, now: Time, connection: &mut Connection) {
        if let WritePattern::Greedy = self.pen {
            connection.hold(now);
        }
        connection.close(now);
        self.closed = true;
    }

    /// A period begins at `at` in which it writes.
    fn start_period(&mut self, now: Time, connection: &mut Connection) {
        self.on = true;
        self.turns_at = self.end_of_period(now);
        match &mut self.pen {
            WritePattern::Greedy => {
                connection.write(now, self.left.unwrap_or(u64::MAX));
                if self.left.is_some() {
                    connection.close(now); // unless the period ends before all has been sent
                }
            }
            WritePattern::Paced { writes_at, rest, .. } => *writes_at = now + *rest,
        }
    }

    fn end_of_period(&mut self, at: Time) -> Time {
        let Some(periods) = &self.periods else { return Time::MAX };
        let law = periods[usize::from(!self.on)];
        at + law.draw(&mut self.rng).max(Writing::SHORTEST)
    }

    fn turn(&mut self, at: Time, now: Time, connection: &mut Connection) {
        if !self.on {
            return self.start_period(at, connection);
        }
        self.on = false;
        self.turns_at = self.end_of_period(at);
        match &mut self.pen {
            WritePattern::Paced { writes_at, rest, .. } => *rest = writes_at.since(at),
            WritePattern::Greedy => {
                let written = connection.hold(now);
                if self.left.is_some() {
                    self.left = Some(self.total.saturating_sub(written));
                }
                if self.left == Some(0) {
                    connection.close(now);
                    self.closed = true;
                }
            }
        }
    }

    fn write_chunk(&mut self, at: Time, now: Time, connection: &mut Connection) {
        let WritePattern::Paced { clock, chunk_bytes, writes_at, .. } = &mut self.pen else {
            return;
        };
        let chunk = u64::from(*chunk_bytes).min(self.left.unwrap_or(u64::MAX));
        connection.write(now, chunk);
        *writes_at = at + clock.serialize(*chunk_bytes);
        self.left = self.left.map(|left| left - chunk);
        if self.left == Some(0) {
            connection.close(now);
            self.closed = true;
        }
    }
}
