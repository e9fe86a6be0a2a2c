use super::*;
use crate::droptail::DropTail;
use crate::{AnyDiscipline, AnyScheme, Limit, Pipeline};
use alloc::vec::Vec;
use forebay_base::{
    Addr, DropLog, Endpoint, IpVersion, OptionList, Params, Rng, Span, Stream, TcpFields, TcpFlags,
};

const C: Rate = Rate::mbps(100);
const MS: Span = Span::from_millis(1);

fn rng(entity: u64) -> Rng {
    Rng::new(1, Stream::Test, entity)
}

/// Intervals of 10 ms and d = 10 ms: `T / d` is 1.
fn quick(alpha: f64, beta: f64) -> RcpPortParams {
    let initial_rtt = Span::from_millis(10);
    RcpPortParams { alpha, beta, initial_rtt, ..RcpPortParams::published() }
}

fn bytes_of(bytes: u64) -> Backlog {
    Backlog { bytes, packets: 0 }
}

/// The rate that a port publishes.
fn published(port: &Pipeline, now: Time) -> Option<Rate> {
    let mut seen = None;
    port.publish(now, &mut |name, value| {
        assert_eq!(name, RATE_METRIC);
        seen = Rate::new(value as u64);
    });
    seen
}

/// A meter with what it needs to be called.
struct Port {
    meter: RcpPort,
    arena: Arena,
    backlog_bytes: u64,
}

impl Port {
    fn new(rate: Rate, params: RcpPortParams) -> Port {
        let meter = RcpPort::new(rate, 0, params, rng(0));
        Port { meter, arena: Arena::default(), backlog_bytes: 0 }
    }
    fn arrive(&mut self, now: Time, bytes: u16, rtt: Option<Span>) {
        let mut packet = packet(bytes, rtt, &mut self.arena);
        let (mut drops, mut split) = (DropLog::default(), 0);
        let mut cx =
            PortContext { now, arena: &mut self.arena, drops: &mut drops, split: &mut split };
        self.meter.on_arrival(&mut packet, bytes_of(self.backlog_bytes), &mut cx);
        self.arena.free(packet);
    }
    /// `packets` of `bytes` each within the present interval, none of which reaches into the next.
    fn fill(&mut self, packets: u64, bytes: u16) {
        let (began, ends) = (self.meter.control.began, self.meter.control.ends);
        let step = ends.since(began).saturating_sub(C.span_of(bytes as u64) + MS / 100) / packets;
        (0..packets).for_each(|i| self.arrive(began + step * i, bytes, None));
        assert_eq!(self.meter.control.spill_bytes, 0.0);
    }
    fn end_interval(&mut self) {
        let ends = self.meter.control.ends;
        self.meter.on_timeout(ends, bytes_of(self.backlog_bytes));
    }
    fn rate_bps(&self) -> f64 {
        self.meter.control.rate_bps
    }
}

/// A packet of `bytes` with a request if there is an RTT to put into it.
fn packet(bytes: u16, rtt: Option<Span>, arena: &mut Arena) -> Packet {
    let end = |id| Endpoint { addr: Addr(id), port: 5000 };
    let header = if rtt.is_some() { 52 } else { 40 };
    let fields = TcpFields { flags: TcpFlags::ACK, ..TcpFields::default() };
    let mut packet = Packet::tcp(IpVersion::V4, end(1), end(2), fields, bytes - header);
    if rtt.is_some() {
        let mut options = OptionList::EMPTY;
        Request { rate: None, rtt }.push(&mut options).unwrap();
        packet.set_tcp_options(options, arena).unwrap();
    }
    assert_eq!(packet.wire_len(), bytes);
    packet
}

#[track_caller]
fn close_to(got: f64, expected: f64, share: f64) {
    assert!((got - expected).abs() <= share * expected.abs(), "{got}, not {expected}");
}

#[test]
fn one_step_by_hand() {
    // 10 ms at 100 Mbit/s are 125 000 bytes: 110 packets of 1250 are 1.1 C.
    let cases = [
        (0.1, 1.0, 1.0, 110, 0, 1.0 - 0.1 * 0.1),
        (0.4, 0.4, 1.0, 110, 0, 1.0 - 0.4 * 0.1),
        (0.4, 0.4, 1.0, 50, 0, 1.0 + 0.4 * 0.5),
        // 12 500 bytes in 10 ms are a tenth of C.
        (0.1, 1.0, 1.0, 100, 12_500, 1.0 - 1.0 * 0.1),
        // gamma C = 80 Mbit/s: half of it is spare, and the tenth of C is an eighth of it.
        (0.4, 0.4, 0.8, 40, 12_500, 1.0 + 0.4 * 0.5 - 0.4 * 0.125),
    ];
    for (alpha, beta, gamma, packets, backlog_bytes, factor) in cases {
        let mut port = Port::new(C, RcpPortParams { gamma, ..quick(alpha, beta) });
        port.end_interval();
        let before = port.rate_bps();
        port.fill(packets, 1250);
        port.backlog_bytes = backlog_bytes;
        port.end_interval();
        close_to(port.rate_bps(), before * factor, 1e-12);
    }
}

#[test]
fn the_rate_starts_at_a_twentieth_and_stays_within_its_bounds() {
    let mut port = Port::new(C, quick(0.4, 0.4));
    assert_eq!(port.meter.control.rate_at(Time::ZERO), Rate::mbps(5));
    // A queue of 10 s: the factor of equation 1 is far below 0. The least is 80 bit in 10 ms.
    port.backlog_bytes = 125_000_000;
    port.end_interval();
    assert_eq!(port.rate_bps(), 8_000.0);
    assert_eq!(port.meter.control.rate_at(port.meter.control.began), Rate::clamped(8_000));
    port.backlog_bytes = 0;
    (0..100).for_each(|_| port.end_interval());
    assert_eq!(port.rate_bps(), 1e8);
    port.meter.set_rate(port.meter.control.began, Rate::mbps(30));
    assert_eq!(port.rate_bps(), 3e7, "no flow is granted more than the link has");
    // 80 bit in 10 ms are more than a link of 1 kbit/s has.
    assert_eq!(Port::new(Rate::MIN, quick(0.4, 0.4)).rate_bps(), 1_000.0);
}

#[test]
fn a_packet_counts_where_the_link_could_carry_it() {
    let mut port = Port::new(C, quick(0.4, 0.4));
    // 1250 bytes take 100 us; 40 us are left.
    let late = Time::from_nanos(port.meter.control.ends.as_nanos() - 40_000);
    port.arrive(late, 1250, None);
    close_to(port.meter.control.arrived_bytes, 500.0, 1e-9);
    close_to(port.meter.control.spill_bytes, 750.0, 1e-9);
    port.end_interval();
    close_to(port.meter.control.arrived_bytes, 750.0, 1e-9);
    assert_eq!(port.meter.control.spill_bytes, 0.0);
    assert!(port.meter.next_timeout().is_some(), "something arrived: the clock runs");
}

#[test]
fn bytes_of_the_link_count() {
    let mut port = Port::new(C, quick(0.4, 0.4));
    port.meter.control.overhead_bytes = 38;
    port.arrive(Time::ZERO, 1500, None);
    assert_eq!(port.meter.control.arrived_bytes, 1538.0);
}

#[test]
fn the_mean_round_trip_by_hand() {
    let rtt = |ms| Some(Span::from_millis(ms));
    let start = || {
        let mut port = Port::new(C, RcpPortParams::published());
        port.end_interval();
        assert_eq!(port.meter.control.ends.since(port.meter.control.began), MS * 10);
        (port.meter.control.began, port)
    };
    // Up at T / d = 1 / 20: 300 ms add 5 ms to 200.
    let (now, mut port) = start();
    port.arrive(now, 1500, rtt(300));
    port.end_interval();
    close_to(port.meter.control.rtt_s, 0.205, 1e-12);
    // Down at (R / C) (s / d) / 20, with R / C = 0.05 and a little: 100 ms take 100 ms x 0.05025 /
    // 40.
    let (now, mut port) = start();
    let share = port.rate_bps() / 1e8;
    port.arrive(now, 1500, rtt(100));
    port.end_interval();
    close_to(port.meter.control.rtt_s, 0.2 - 0.1 * share * 0.5 * 0.05, 1e-12);
    // By bytes: 1500 with 100 ms and 500 with 900 ms are 300 ms. What carries none does not count.
    let (now, mut port) = start();
    port.arrive(now, 1500, rtt(100));
    port.arrive(now, 500, rtt(900));
    port.arrive(now, 1000, None);
    port.end_interval();
    close_to(port.meter.control.rtt_s, 0.205, 1e-12);
    port.arrive(port.meter.control.began, 1500, None);
    port.end_interval();
    close_to(port.meter.control.rtt_s, 0.205, 1e-12);
}

#[test]
fn intervals_follow_the_round_trip_and_hold_a_packet() {
    let interval = |rate, rtt| {
        let params = RcpPortParams { initial_rtt: rtt, ..RcpPortParams::published() };
        Port::new(rate, params).meter.control.interval()
    };
    assert_eq!(interval(C, MS * 200), MS * 10);
    assert_eq!(interval(C, MS * 3), MS * 3);
    // 1500 bytes take 12 ms at 1 Mbit/s.
    assert_eq!(interval(Rate::mbps(1), MS * 200), MS * 12);
}

#[test]
fn the_first_interval_is_normal() {
    let first = |entity| {
        let meter = RcpPort::new(C, 0, RcpPortParams::published(), rng(entity));
        meter.control.ends.as_secs_f64() * 1e3
    };
    let draws: Vec<f64> = (0..10_000).map(first).collect();
    let mean = draws.iter().sum::<f64>() / 1e4;
    let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e4;
    // N(10 ms, 2 ms): 4 standard errors of mean and variance.
    assert!((mean - 10.0).abs() < 4.0 * 0.02 && (variance - 4.0).abs() < 4.0 * 0.057);
    assert!(draws.iter().all(|&x| (2.0..=18.0).contains(&x)));
    let beyond = draws.iter().filter(|&x| (x - 10.0).abs() > 2.0).count();
    assert!(beyond.abs_diff(3173) < 4 * 47, "{beyond} beyond one standard deviation");
}

/// Time between two looks at the loop.
const STEP: Span = Span::from_micros(100);

/// Flows at the rate of the port, `delay` ago, all packets of 1500 bytes evenly spaced; what
/// exceeds the link queues.
struct Loop {
    port: Port,
    rate: Rate,
    flows: f64,
    rtt: Span,
    delay: Span,
    now: Time,
    /// The rate of the port after each step.
    granted: Vec<f64>,
    due_bytes: f64,
    queue_bytes: f64,
}

impl Loop {
    fn new(rate: Rate, params: RcpPortParams, flows: f64, delay: Span) -> Loop {
        let port = Port::new(rate, params);
        let granted = alloc::vec![port.rate_bps()];
        let (rtt, now) = (params.initial_rtt, Time::ZERO);
        Loop { port, rate, flows, rtt, delay, now, granted, due_bytes: 0.0, queue_bytes: 0.0 }
    }
    /// Rate granted to the flows one delay ago, in bit/s.
    fn granted_bps(&self) -> f64 {
        let steps = (self.delay.as_nanos() / STEP.as_nanos()) as usize;
        self.granted[(self.granted.len() - 1).saturating_sub(steps)]
    }
    /// 100 us pass.
    fn step(&mut self) {
        let step_s = STEP.as_secs_f64();
        self.due_bytes += self.flows * self.granted_bps() / 8.0 * step_s;
        while self.due_bytes >= 1500.0 {
            self.due_bytes -= 1500.0;
            self.queue_bytes += 1500.0;
            self.port.arrive(self.now, 1500, Some(self.rtt));
        }
        self.now += STEP;
        self.queue_bytes = (self.queue_bytes - self.rate.bps() as f64 / 8.0 * step_s).max(0.0);
        self.port.meter.on_timeout(self.now, bytes_of(self.queue_bytes as u64));
        self.granted.push(self.port.rate_bps());
    }
    fn run_until(&mut self, end: Time) {
        while self.now < end {
            self.step();
        }
    }
    /// Mean and swing of the queue from now to `end`, in bytes.
    fn queue_until(&mut self, end: Time) -> (f64, f64) {
        let (mut sum, mut count, mut least, mut most) = (0.0, 0.0, f64::MAX, 0.0f64);
        while self.now < end {
            self.step();
            (sum, count) = (sum + self.queue_bytes, count + 1.0);
            (least, most) = (least.min(self.queue_bytes), most.max(self.queue_bytes));
        }
        (sum / count, most - least)
    }
}

#[test]
fn without_delay_the_rate_is_a_logistic_curve() {
    // x' = x (1 - x) alpha / d takes ln(361) d / alpha = 5.889 d / alpha from 0.05 to 0.95.
    for (params, round_trips) in
        [(RcpPortParams::default_ns2(), 14.72), (RcpPortParams::published(), 58.89)]
    {
        let mut flow = Loop::new(Rate::mbps(1000), params, 1.0, Span::ZERO);
        while flow.port.rate_bps() < 0.95e9 {
            flow.step();
        }
        close_to(flow.now.as_secs_f64() / 0.2, round_trips, 0.01);
    }
}

#[test]
fn long_flows_get_equal_shares() {
    for (gamma, flows) in [(1.0, 4.0), (0.9, 4.0), (0.95, 25.0)] {
        let params = RcpPortParams { gamma, ..RcpPortParams::stable() };
        let mut many = Loop::new(C, params, flows, MS * 200);
        many.run_until(Time::from_secs(30));
        close_to(many.port.rate_bps(), gamma * 1e8 / flows, 0.01);
        if gamma < 1.0 {
            let (mean, _) = many.queue_until(Time::from_secs(31));
            assert!(mean < 3000.0, "{mean} bytes wait where a share of the link is spare");
        }
    }
}

#[test]
fn with_gamma_above_one_a_queue_stands_where_the_equation_says() {
    // q = alpha (gamma - 1) C d / beta: 0.4 x 0.05 / 0.08 of 100 Mbit/s in 200 ms.
    let params = RcpPortParams { gamma: 1.05, ..RcpPortParams::stable() };
    let mut flows = Loop::new(C, params, 2.0, MS * 200);
    flows.run_until(Time::from_secs(60));
    let (mean, swing) = flows.queue_until(Time::from_secs(70));
    close_to(mean, 0.25 * 2.5e6, 0.02);
    assert!(swing < 0.05 * mean, "{swing} of {mean}");
    close_to(flows.port.rate_bps(), 5e7, 0.01);
}

/// Phase margins of -0.09 and -0.90: a queue that should stand goes up and down for ever.
#[test]
fn other_gains_cannot_hold_a_queue() {
    for params in [RcpPortParams::default_ns2(), RcpPortParams::published()] {
        let stands = params.alpha * 0.05 / params.beta * 2.5e6;
        let mut flows = Loop::new(C, RcpPortParams { gamma: 1.05, ..params }, 2.0, MS * 200);
        flows.run_until(Time::from_secs(200));
        let (_, swing) = flows.queue_until(Time::from_secs(220));
        assert!(swing > stands, "{params:?}: {swing} around {stands}");
    }
}

#[test]
fn silence_costs_no_timer_and_changes_nothing() {
    let params = RcpPortParams::default_ns2();
    let (mut polled, mut idle) = (Port::new(C, params), Port::new(C, params));
    assert_eq!(idle.meter.next_timeout(), None, "nothing has come yet");
    let mut timers = 0;
    for ms in 0..20_000 {
        let now = Time::from_millis(ms);
        while let Some(at) = idle.meter.next_timeout().filter(|&at| at <= now) {
            idle.meter.on_timeout(at, bytes_of(0));
            timers += 1;
        }
        if matches!(ms, 100..150 | 3_300..3_301 | 15_000..15_040) {
            // 1500 bytes in a millisecond are 12 Mbit/s.
            [&mut polled, &mut idle].into_iter().for_each(|p| p.arrive(now, 1500, Some(MS * 180)));
        }
        polled.meter.on_timeout(now, bytes_of(0));
        assert_eq!(
            polled.meter.control.rate_at(now),
            idle.meter.control.rate_at(now),
            "at {ms} ms"
        );
    }
    // 91 ms of arrivals in intervals of 10 ms, and one silent interval after each of the three
    // bursts.
    assert!((10..=16).contains(&timers), "{timers} timers");
    assert_eq!(idle.meter.next_timeout(), None);
}

#[test]
fn a_silent_port_rises_by_the_same_factor_in_each_interval() {
    let port = Port::new(C, RcpPortParams::published());
    let first_s = port.meter.control.ends.as_secs_f64();
    for n in [0, 1, 10, 400] {
        // In the middle of interval n: R0 (1 + alpha T0 / d) (1 + alpha T / d)^n, with T / d = 1 /
        // 20.
        let now = port.meter.control.ends + MS * 10 * n + MS * 5;
        let expected = 5e6 * (1.0 + 0.1 * first_s / 0.2) * libm::pow(1.005, n as f64);
        close_to(port.meter.control.rate_at(now).bps() as f64, expected, 1e-6);
    }
    let year = Time::from_secs(31_536_000);
    assert_eq!(port.meter.control.rate_at(year), C);
}

fn pipeline(overhead_bytes: u16) -> Pipeline {
    let queue = AnyDiscipline::DropTail(DropTail::with_limit(Limit::Bytes(u64::MAX)));
    let port = RcpPort::new(C, overhead_bytes, RcpPortParams::published(), rng(0));
    Pipeline::new(AnyScheme::Rcp(port), queue)
}

#[test]
fn what_leaves_is_stamped_with_the_rate_of_then() {
    let mut port = pipeline(2);
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let plain = packet(1500, None, &mut arena);
    let plain_digest = plain.digest(&arena);
    let low = Rate::clamped(5_000);
    let mut asks_less = packet(1500, Some(MS), &mut arena);
    Request::lower(&mut asks_less.cold_mut(&mut arena).tcp_options, low);
    let asks = packet(1500, Some(MS), &mut arena);
    let now = Time::ZERO;
    let mut cx = PortContext { now, arena: &mut arena, drops: &mut drops, split: &mut split };
    for packet in [plain, asks_less, asks] {
        port.enqueue(packet, &mut cx).unwrap();
    }
    assert_eq!(port.dequeue(&mut cx).unwrap().digest(cx.arena), plain_digest, "untouched");
    let rate = |packet: Packet, arena: &Arena| {
        Request::find(&packet.cold_part(arena).unwrap().tcp_options).unwrap().rate
    };
    let second = port.dequeue(&mut cx).unwrap();
    assert_eq!(rate(second, cx.arena), Some(low));
    // The rate has changed while the third waited.
    cx.now = Time::from_millis(60);
    port.on_timeout(&mut cx);
    let granted = published(&port, cx.now).unwrap();
    assert!(granted > Rate::mbps(5) && granted < Rate::mbps(6), "{granted:?}");
    let third = port.dequeue(&mut cx).unwrap();
    assert_eq!(rate(third, cx.arena), Some(granted));
}

#[test]
fn a_link_that_slows_down_is_known_at_once() {
    let mut port = pipeline(0);
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let later = Time::from_secs(100);
    let mut cx =
        PortContext { now: later, arena: &mut arena, drops: &mut drops, split: &mut split };
    assert_eq!(published(&port, later), Some(C));
    port.set_rate(Rate::mbps(7), &mut cx);
    assert_eq!(published(&port, later), Some(Rate::mbps(7)));
    // Caught up to 100 s with the old rate, and not again with the new one.
    port.set_rate(C, &mut cx);
    assert_eq!(published(&port, later), Some(Rate::mbps(7)));
}

#[test]
fn parameters_have_ranges() {
    let good = RcpPortParams::stable();
    for params in [good, RcpPortParams::published(), RcpPortParams::default_ns2()] {
        assert_eq!(params.check(), Ok(()));
    }
    let name = |params: RcpPortParams| params.check().map_err(|error| error.param);
    assert_eq!(name(RcpPortParams { alpha: 0.0, ..good }), Err("alpha"));
    assert_eq!(name(RcpPortParams { alpha: f64::NAN, ..good }), Err("alpha"));
    assert_eq!(name(RcpPortParams { beta: -0.1, ..good }), Err("beta"));
    assert_eq!(name(RcpPortParams { gamma: 0.0, ..good }), Err("gamma"));
    assert_eq!(name(RcpPortParams { initial_rtt: Span::ZERO, ..good }), Err("initial_rtt"));
    assert_eq!(name(RcpPortParams { max_interval: Span::ZERO, ..good }), Err("max_interval"));
    assert_eq!(name(RcpPortParams { initial_share: 1.1, ..good }), Err("initial_share"));
}
