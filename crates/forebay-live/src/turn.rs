//! The turns of the machines at one place: take what has arrived, let what is due happen, send
//! what leaves.
//!
//! Time passes for machines as it does in a simulation: an event happens at its nominal time, an
//! input at the time at which it arrived, however late the turn is. Only packets that leave are
//! late. A turn at time T goes as far as the bound B: T, or the time up to which all inputs are
//! known, if a wire had more packets than a turn takes.

use crate::wire::{Backlog, Counters, Packets, Wire};
use forebay_base::{Histogram, LinkId, Span, Time};
use forebay_sim::{Exit, Site};

/// Packets from one wire in a turn.
const MAX_RECEIVED: usize = 256;
/// Machines may be this far behind the clock; longer only while they catch up.
pub(crate) const MAX_LAG: Span = Span::from_millis(250);
/// Something that happens so much later than it was due is behind.
pub const BEHIND: Span = Span::from_millis(5);
/// An input that is executed so much later than it arrived is held back.
const HELD_BACK: Span = Span::from_millis(1);

/// A wire and the two directions of the link that it stands for.
pub struct Port<W> {
    /// Packets come and go here.
    pub wire: W,
    /// The link over which they come.
    pub incoming: LinkId,
    /// The link over which they leave.
    pub outgoing: LinkId,
    leaving: Packets,
    /// When packets of `leaving` should have left.
    nominal: Vec<Time>,
    /// How late packets left.
    late: Histogram,
    inputs: u64,
    held_back: u64,
    /// What the machines know of the carrier of the wire.
    carrier: bool,
}

impl<W: Wire> Port<W> {
    /// A port before the start.
    pub fn new(wire: W, incoming: LinkId, outgoing: LinkId) -> Port<W> {
        Port {
            wire,
            incoming,
            outgoing,
            leaving: Packets::default(),
            nominal: Vec::new(),
            late: Histogram::default(),
            inputs: 0,
            held_back: 0,
            carrier: true,
        }
    }
    /// What became of its packets so far.
    pub fn report(&mut self) -> PortReport {
        PortReport {
            incoming: self.incoming,
            outgoing: self.outgoing,
            late: self.late.clone(),
            inputs: self.inputs,
            held_back: self.held_back,
            counters: self.wire.counters(),
        }
    }

    /// Send what is to leave.
    fn flush(&mut self, clock: &mut impl FnMut() -> Time) {
        if self.leaving.is_empty() {
            return;
        }
        self.wire.send(&self.leaving);
        let sent_at = clock();
        self.late.record_all(self.nominal.drain(..).map(|nominal| sent_at.since(nominal)));
        self.leaving.clear();
    }
}

/// What became of the packets of a port.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// The link over which packets came.
    pub incoming: LinkId,
    /// The link over which they left.
    pub outgoing: LinkId,
    /// How late they left: from their nominal time to after they were written.
    pub late: Histogram,
    /// Packets that were inputs.
    pub inputs: u64,
    /// Those of them that were executed over 1 ms later than they arrived.
    pub held_back: u64,
    /// What the wire counted.
    pub counters: Counters,
}

/// The machines fall behind the clock and do not catch up.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "this machine is {percent:.0} % too slow for this scenario: lower its rates, or run fewer \
     nodes or other programs beside it"
)]
pub struct TooSlow {
    /// By how much the time that passed exceeds the time that was worked off.
    pub percent: f64,
}

/// What takes note of inputs as they are executed.
pub trait Record {
    /// A packet: when it is executed, where it comes from, and its bytes.
    fn input(&mut self, at: Time, link: LinkId, packet: &[u8]);
    /// The carrier of the wire that `link` leaves over was lost, or is back (`up`), which is
    /// executed at `at`.
    fn carrier(&mut self, at: Time, link: LinkId, up: bool);
    /// Everything up to and including `at` has been executed, and all inputs until then are noted.
    fn reached(&mut self, _at: Time) {}
}

/// Nothing is recorded.
impl Record for () {
    fn input(&mut self, _at: Time, _link: LinkId, _packet: &[u8]) {}
    fn carrier(&mut self, _at: Time, _link: LinkId, _up: bool) {}
}

/// The machines at one place, and the wires of their links.
pub struct Turns<W, R = ()> {
    site: Site,
    ports: Vec<Port<W>>,
    /// By link: the port over which its packets leave.
    port_of: Vec<usize>,
    record: R,
    lag: Lag,
    behind: Behind,
    bound: Time,
}

/// What a turn leaves to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Something may be done now.
    Now,
    /// Nothing before this time, unless a packet arrives.
    At(Time),
    /// Nothing at all: the end was reached.
    End,
}

impl<W: Wire, R: Record> Turns<W, R> {
    /// Turns of `site`, whose links to and from elsewhere are those of `ports`.
    pub fn new(site: Site, ports: Vec<Port<W>>, record: R) -> Turns<W, R> {
        let links = ports.iter().map(|port| port.outgoing.index() + 1).max().unwrap_or(0);
        let mut port_of = vec![usize::MAX; links];
        for (place, port) in ports.iter().enumerate() {
            port_of[port.outgoing.index()] = place;
        }
        let (lag, behind) = (Lag::default(), Behind::default());
        Turns { site, ports, port_of, record, lag, behind, bound: Time::ZERO }
    }
    /// The machines.
    pub fn site(&self) -> &Site {
        &self.site
    }
    /// All that is due up to this time has happened.
    pub fn bound(&self) -> Time {
        self.bound
    }
    /// For how long so far something that was due, an event or a packet that had arrived, waited
    /// for over [`BEHIND`]. Times in which nothing was due do not count.
    pub fn behind(&self) -> Span {
        self.behind.span
    }
    /// What takes note of inputs.
    pub fn record(&mut self) -> &mut R {
        &mut self.record
    }
    /// The wires.
    pub fn ports(&mut self) -> &mut [Port<W>] {
        &mut self.ports
    }
    /// The machines, reports of the ports, and the record.
    pub fn into_parts(mut self) -> (Site, Vec<PortReport>, R) {
        let reports = self.ports.iter_mut().map(Port::report).collect();
        (self.site, reports, self.record)
    }

    /// One turn. The clock is read, and then the end of the run, which may change: no turn goes
    /// beyond an end that was set before the turn began. Err if the machines fall behind.
    pub fn turn(
        &mut self,
        mut clock: impl FnMut() -> Time,
        end: impl FnOnce() -> Time,
    ) -> Result<Next, TooSlow> {
        // Before packets are taken: all that arrived earlier are among them.
        let now = clock();
        let end = end();
        let mut bound = now.min(end);
        let mut is_behind = false;
        let mut due = self.site.next().unwrap_or(Time::MAX);
        let has_real_wires = self.site.has_real_wires();
        for port in &mut self.ports {
            if has_real_wires {
                port.look_at_carrier(now, &mut self.site, &mut self.record);
            }
            if let Backlog::Since(last) = port.receive(&mut self.site, &mut self.record, &mut due) {
                // More may have arrived at that very time.
                let known = last.as_nanos().saturating_sub(1);
                (bound, is_behind) = (bound.min(Time::from_nanos(known)), true);
            }
        }
        self.behind.turn(due, now.min(end));
        self.site.run_until(bound);
        self.bound = self.bound.max(bound);
        self.record.reached(self.bound);
        let (ports, port_of) = (&mut self.ports, &self.port_of);
        self.site.exits(|Exit { link, at, bytes, .. }| {
            let port = &mut ports[port_of[link.index()]];
            port.leaving.push(bytes);
            port.nominal.push(at);
        });
        self.ports.iter_mut().for_each(|port| port.flush(&mut clock));
        if bound == end {
            return Ok(Next::End);
        }
        self.lag.check(clock(), bound)?;
        Ok(match self.site.next() {
            _ if is_behind => Next::Now,
            Some(at) => Next::At(at.min(end)),
            None => Next::At(end),
        })
    }
}

impl<W: Wire> Port<W> {
    /// Tell the machines, which are on real wires, if the carrier was lost or is back: it was
    /// noticed at `now`.
    fn look_at_carrier(&mut self, now: Time, site: &mut Site, record: &mut impl Record) {
        let (up, link) = (self.wire.carrier(), self.outgoing);
        if up == self.carrier {
            return;
        }
        self.carrier = up;
        let executed = site.push_carrier(now, link, up).expect("the wire's link leaves from here");
        record.carrier(executed, link, up);
    }
    /// Hand what has arrived to the machines. `due` is no later afterwards than the first of it.
    fn receive(&mut self, site: &mut Site, record: &mut impl Record, due: &mut Time) -> Backlog {
        let (link, inputs, held_back) = (self.incoming, &mut self.inputs, &mut self.held_back);
        self.wire.receive(MAX_RECEIVED, |at, packet| {
            let executed = site.push(at, link, packet).expect("the wire's link ends here");
            record.input(executed, link, packet);
            *inputs += 1;
            *due = at.min(*due);
            *held_back += u64::from(executed.since(at) > HELD_BACK);
        })
    }
}

/// For how long machines were late.
#[derive(Clone, Copy, Debug, Default)]
struct Behind {
    span: Span,
    /// When the last turn was.
    turned_at: Time,
}

impl Behind {
    /// In a turn at `now` the first thing to be done was due at `due`.
    fn turn(&mut self, due: Time, now: Time) {
        if now.since(due) > BEHIND {
            // While machines catch up, turns follow one another with more that was due before.
            self.span += now.since(due.max(self.turned_at));
        }
        self.turned_at = now;
    }
}

/// How far machines are behind the clock. A machine that was stopped for a while catches up; one
/// that is too slow does not.
#[derive(Clone, Copy, Debug, Default)]
struct Lag {
    /// Clock and bound, when the lag was last too long.
    too_long: Option<(Time, Time)>,
}

impl Lag {
    /// At `now` all has happened up to `bound`.
    fn check(&mut self, now: Time, bound: Time) -> Result<(), TooSlow> {
        if now.since(bound) <= MAX_LAG {
            self.too_long = None;
            return Ok(());
        }
        let (since, bound_then) = *self.too_long.get_or_insert((now, bound));
        let (passed, done) = (now.since(since), bound.since(bound_then));
        if passed < MAX_LAG {
            return Ok(());
        }
        if done < passed {
            let percent = (passed.as_secs_f64() / done.as_secs_f64().max(1e-9) - 1.0) * 100.0;
            return Err(TooSlow { percent });
        }
        self.too_long = Some((now, bound));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// Two stops of 400 ms, of which nothing was due in the second, and jitter of 2 ms.
    #[test]
    fn time_that_machines_are_late_is_counted_once() {
        let mut behind = Behind::default();
        for at in (0..1_000).step_by(10) {
            behind.turn(ms(at), ms(at + 2));
        }
        assert_eq!(behind.span, Span::ZERO);
        // It catches up in four turns of 10 ms.
        for (due, now) in [(1_010, 1_410), (1_110, 1_420), (1_300, 1_430), (1_437, 1_440)] {
            behind.turn(ms(due), ms(now));
        }
        assert_eq!(behind.span, Span::from_millis(420));
        behind.turn(ms(1_840), ms(1_840));
        behind.turn(Time::MAX, ms(1_850));
        assert_eq!(behind.span, Span::from_millis(420));
    }

    #[test]
    fn a_stop_is_caught_up_with_and_a_slow_machine_is_not() {
        // Stopped for 400 ms and for 5 s: twice as fast as time afterwards.
        for stop in [400, 5_000] {
            let mut lag = Lag::default();
            for step in 0..stop {
                let (now, bound) = (ms(stop + step), ms(2 * step));
                assert_eq!(lag.check(now, bound), Ok(()), "{stop} {step}");
            }
        }
        // A quarter more time passes than is worked off.
        let mut lag = Lag::default();
        let mut found = (1..10_000).find_map(|step| {
            lag.check(ms(5 * step), ms(4 * step)).err().map(|slow| (step, slow.percent))
        });
        let (step, percent) = found.take().expect("it is too slow");
        assert!((24.0..=26.0).contains(&percent), "{percent}");
        // 250 ms behind after 1.25 s, and no better 250 ms later.
        assert!((250..=310).contains(&step), "{step}");
        let text = TooSlow { percent }.to_string();
        assert!(text.starts_with("this machine is 25 % too slow for this scenario"), "{text}");
    }
}
