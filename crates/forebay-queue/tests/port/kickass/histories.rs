//! Fallback under random histories: flows of Kick-Ass among flows of TCP that come and
//! go. When the others have left, signals must come back, however the queue stood until then.
//!
//! The trap: flows of Kick-Ass in TCP mode, alone, keep more than half of a drop-tail queue filled
//! if they lose one by one, so that the paper's rule never lets signals return.

use super::{init, segment};
use crate::bench::Bench;
use forebay_base::{Rate, Rng, Span, Stream, Time};
use forebay_queue::kickass::{Fallback, MODE_METRIC, RATE_METRIC, Rounding};
use forebay_queue::{Backlog, KickAssPort, KickAssPortParams, Limit, PortScheme};
use forebay_signal::kickass::Indicator;

const STEP: Span = Span::from_millis(5);
/// The others come and go until here, then none is left.
const ALONE_S: u64 = 30;
const END_S: u64 = 45;

/// Whose rate a flow follows.
#[derive(Clone, Copy, PartialEq)]
enum Follows {
    Window,
    /// Its window after a loss, until that gives what the last code said.
    WindowAfterLoss,
    Code,
}

/// A flow as a rate: additive increase by a packet a round trip, halved at most once a round trip.
struct Flow {
    kickass: bool,
    follows: Follows,
    window: f64,
    rate_bps: f64,
    halved: Time,
    due: f64,
    indicated: Time,
    number: u16,
}

/// One history: a port, flows, a queue.
struct History {
    rng: Rng,
    port: KickAssPort,
    bench: Bench,
    capacity: Rate,
    base_rtt: Span,
    limit: u64,
    flows: Vec<Flow>,
    others: usize,
    others_stay: Time,
    queue: f64,
    /// Mode and rate of the port in each step.
    said: Vec<(bool, f64)>,
    now: Time,
}

impl History {
    fn new(fallback: Fallback, seed: u64) -> History {
        let mut rng = Rng::new(seed, Stream::Test, 3);
        let between = |low: u64, high: u64, rng: &mut Rng| low + rng.below(high - low + 1);
        let capacity = Rate::clamped(between(4_000_000, 20_000_000, &mut rng));
        let base_rtt = Span::from_millis(between(20, 150, &mut rng));
        let bdp = capacity.bytes_in(base_rtt) / 1500;
        let limit = (bdp * between(40, 150, &mut rng) / 100).max(30);
        let (own, others) = (between(1, 24, &mut rng), between(0, 24, &mut rng));
        let flow = |i: u64| Flow {
            kickass: i < own,
            follows: Follows::Window,
            window: 2.0,
            rate_bps: 0.0,
            halved: Time::ZERO,
            due: 0.0,
            indicated: Time::ZERO,
            number: 0,
        };
        let params = KickAssPortParams {
            fallback,
            rounding: Rounding::Dither,
            ..KickAssPortParams::paper()
        };
        History {
            port: KickAssPort::new(params, init(capacity, Limit::Packets(limit), seed)),
            bench: Bench::default(),
            capacity,
            base_rtt,
            limit,
            flows: (0..own + others).map(flow).collect(),
            others: 0,
            others_stay: Time::ZERO,
            queue: 0.0,
            said: Vec::new(),
            now: Time::ZERO,
            rng,
        }
    }
    fn rtt(&self) -> Span {
        let waits_s = self.queue * 1520.0 * 8.0 / self.capacity.bps() as f64;
        self.base_rtt + Span::from_secs_f64(waits_s)
    }
    /// Flows that run: all of Kick-Ass, and some of the others.
    fn runs(&self, flow: usize) -> bool {
        let own = self.flows.iter().filter(|flow| flow.kickass).count();
        flow < own + self.others
    }
    fn step(&mut self) {
        if self.now >= self.others_stay {
            let own = self.flows.iter().filter(|flow| flow.kickass).count();
            let all = (self.flows.len() - own) as u64;
            self.others = self.rng.below(all + 1) as usize;
            self.others_stay = self.now + Span::from_millis(500 + self.rng.below(10_000));
        }
        if self.now >= Time::from_secs(ALONE_S) {
            self.others = 0;
        }
        let (rtt, first) = (self.rtt(), self.rng.below(self.flows.len() as u64) as usize);
        for i in 0..self.flows.len() {
            let flow = (first + i) % self.flows.len();
            if self.runs(flow) {
                self.run_flow(flow, rtt);
            } else {
                let flow = &mut self.flows[flow];
                (flow.window, flow.due) = (2.0, 0.0);
            }
        }
        self.now += STEP;
        let wire = if self.signals() { 1520.0 } else { 1500.0 };
        let sent = self.capacity.bps() as f64 / 8.0 * STEP.as_secs_f64() / wire;
        self.queue = (self.queue - sent).max(0.0);
        self.port.on_timeout(self.now, backlog(self.queue));
        let said = (self.signals(), published(&self.port, self.now, RATE_METRIC));
        self.said.push(said);
    }
    fn signals(&self) -> bool {
        published(&self.port, self.now, MODE_METRIC) == 0.0
    }
    fn run_flow(&mut self, at: usize, rtt: Span) {
        let steps = (rtt.as_nanos() / STEP.as_nanos()) as usize;
        let said = self.said.len().checked_sub(steps + 1).map(|back| self.said[back]);
        let flow = &mut self.flows[at];
        if flow.kickass {
            let (signals, rate_bps) = said.unwrap_or((false, 0.0));
            let window_bps = flow.window * 12_000.0 / rtt.as_secs_f64();
            flow.follows = match (flow.follows, signals) {
                (_, false) => Follows::Window,
                (Follows::WindowAfterLoss, true) if window_bps < rate_bps => {
                    Follows::WindowAfterLoss
                }
                (_, true) => Follows::Code,
            };
            if flow.follows == Follows::Code {
                flow.rate_bps = rate_bps;
                flow.window = (rate_bps / 12_000.0 * rtt.as_secs_f64()).max(1.0);
            }
        }
        if flow.follows != Follows::Code {
            flow.window += STEP.as_secs_f64() / rtt.as_secs_f64();
            flow.rate_bps = flow.window * 12_000.0 / rtt.as_secs_f64();
        }
        flow.due += flow.rate_bps / 12_000.0 * STEP.as_secs_f64();
        while self.flows[at].due >= 1.0 {
            self.flows[at].due -= 1.0;
            self.send(at, rtt);
        }
    }
    fn send(&mut self, at: usize, rtt: Span) {
        let (now, flow) = (self.now, &mut self.flows[at]);
        flow.number = flow.number.wrapping_add(1);
        let indicates = flow.kickass && now.since(flow.indicated) >= Span::from_millis(100);
        let bytes = if indicates { Indicator::of_rtt(rtt).wire_len() } else { 1500 };
        let mut packet = segment(at as u32, flow.number, bytes, &mut self.bench.arena);
        if indicates {
            flow.indicated = now;
        }
        packet.set_dont_fragment(indicates || !flow.kickass);
        self.port.on_arrival(&mut packet, backlog(self.queue), &mut self.bench.at(now));
        self.bench.arena.free(packet);
        if self.queue + 1.0 <= self.limit as f64 {
            self.queue += f64::from(bytes) / 1500.0;
        } else if now.since(flow.halved) >= rtt {
            flow.halved = now;
            flow.window = (flow.window / 2.0).max(1.0);
            if flow.follows == Follows::Code {
                flow.follows = Follows::WindowAfterLoss;
            }
        }
    }
    /// When signals came back for good, in seconds after the others had left, and the share of the
    /// last 10 s in which there were signals.
    fn live(&mut self) -> (f64, f64) {
        while self.now < Time::from_secs(ALONE_S) {
            self.step();
        }
        let (mut back_s, mut last) = (0.0, 0.0);
        while self.now < Time::from_secs(END_S) {
            self.step();
            let since_s = self.now.since(Time::from_secs(ALONE_S)).as_secs_f64();
            if !self.signals() {
                back_s = since_s;
            } else if since_s > (END_S - ALONE_S) as f64 - 10.0 {
                last += STEP.as_secs_f64() / 10.0;
            }
        }
        (back_s, last)
    }
}

fn backlog(packets: f64) -> Backlog {
    Backlog { bytes: (packets * 1500.0) as u64, packets: packets as u64 }
}

fn published(port: &KickAssPort, now: Time, name: &str) -> f64 {
    let mut found = f64::NAN;
    port.publish(now, &mut |metric, value| {
        if metric == name {
            found = value;
        }
    });
    found
}

/// That the others have left shows after 2 or 3 d. A trial that ends before fails; the next one
/// comes 2 d later. Where some flows cannot follow it yet, for they have just lost, it fails, and
/// the next one comes 2 d later. What indicators say of d is up to 1.5 times what it is. Issue 13
/// asks for 2.5 s.
#[test]
fn the_trap_does_not_close_in_a_thousand_histories() {
    let mut returns: Vec<f64> = Vec::new();
    for seed in 0..1000 {
        let mut history = History::new(Fallback::Hardened, seed);
        let (back_s, share) = history.live();
        assert!(back_s <= 2.5, "history {seed}: {back_s} s");
        assert!(share > 0.999, "history {seed}: signals in {share} of the last 10 s");
        returns.push(back_s);
    }
    returns.sort_by(f64::total_cmp);
    println!("returns: median {}, p99 {}, latest {}", returns[500], returns[990], returns[999]);
}

/// Of these histories the paper's rule does not come out of some: the test above can fail.
#[test]
fn the_paper_rule_is_trapped_in_some_of_them() {
    let trapped = (0..100).filter(|&seed| History::new(Fallback::Paper, seed).live().1 < 0.5);
    let trapped: Vec<u64> = trapped.collect();
    println!("trapped in {} of 100: {trapped:?}", trapped.len());
    assert!(!trapped.is_empty());
}
