//! Links against closed forms, and the one-event link against the two-event link.

use forebay_base::{
    Addr, Arena, DropLog, DropReason, Endpoint, IpVersion, Packet, Rate, Rng, Span, Stream,
    TcpFields, Time,
};
use forebay_net::{
    AnyChannel, AnyLink, ConstantRate, DeliveryTrace, FifoLink, Impairment, Outage, QueuedLink,
    TraceChannel,
};
use forebay_queue::{AnyDiscipline, Discipline, DropTail, Limit, Overflow, Pipeline, PortContext};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Drives one link alone: packets come in, the link's own deadlines are met, arrivals are written
/// down.
struct Bench {
    link: AnyLink,
    arena: Arena,
    drops: DropLog,
    split: u64,
    arrivals: Vec<(u64, u32)>,
    refused: Vec<u32>,
}

impl Bench {
    fn new(link: AnyLink) -> Bench {
        let (arena, drops) = (Arena::default(), DropLog::default());
        Bench { link, arena, drops, split: 0, arrivals: Vec::new(), refused: Vec::new() }
    }
    fn call<R>(&mut self, now: Time, f: impl FnOnce(&mut AnyLink, &mut PortContext<'_>) -> R) -> R {
        let mut cx = PortContext {
            now,
            arena: &mut self.arena,
            drops: &mut self.drops,
            split: &mut self.split,
        };
        f(&mut self.link, &mut cx)
    }
    fn run_to(&mut self, now: Time) {
        loop {
            let due = [self.link.next_transmitter(), self.link.next_arrival()];
            let Some(at) = due.into_iter().flatten().min().filter(|&t| t < now) else { return };
            self.call(at, |link, cx| link.on_transmitter(cx));
            while let Some(packet) = self.link.take_arrival(at) {
                assert_eq!(packet.hop_time(), at);
                self.arrivals.push((at.as_nanos(), packet.tcp_fields().unwrap().seq));
            }
        }
    }
    fn offer(&mut self, now: Time, number: u32, wire_len: u16) {
        self.run_to(now);
        self.put(now, number, wire_len);
    }
    fn put(&mut self, now: Time, number: u32, wire_len: u16) {
        let end = |a| Endpoint { addr: Addr(a), port: 1 };
        let fields = TcpFields { seq: number, ..TcpFields::default() };
        let packet = Packet::tcp(IpVersion::V4, end(0), end(1), fields, wire_len - 40);
        if let Err(Overflow(_)) = self.call(now, |link, cx| link.offer(packet, cx)) {
            self.refused.push(number);
        }
    }
}

const DELAY: Span = Span::from_millis(3);

fn fifo(rate: Rate, limit: Limit) -> AnyLink {
    AnyLink::Fifo(FifoLink::new(rate, DELAY, limit, 0))
}

fn queued(rate: Rate, limit: Limit, steady: bool) -> AnyLink {
    let pipeline = Pipeline::plain(DropTail::with_limit(limit).into());
    let impairment = Impairment::new(0.0, Span::ZERO, Rng::new(1, Stream::Link, 0));
    let channel = AnyChannel::Constant(ConstantRate::new(rate));
    AnyLink::Queued(Box::new(QueuedLink::new(pipeline, channel, DELAY, 0, impairment, steady)))
}

/// Arrivals on a grid of whole packet times, so that they fall on departures, and between them.
#[test]
fn one_event_and_two_event_links_are_the_same_link() {
    let rate = Rate::mbps(12); // 1500 bytes: exactly 1 ms
    for (seed, steady) in (0..60).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut rng = Rng::new(seed, Stream::Test, 0);
        let limit = match rng.below(4) {
            0 => Limit::Packets(rng.below(6)),
            1 => Limit::Bytes(rng.below(200)),
            _ => Limit::Bytes(rng.below(9000)),
        };
        let (mut a, mut b) =
            (Bench::new(fifo(rate, limit)), Bench::new(queued(rate, limit, steady)));
        let grid = [1_000_000, 250_000, 1][rng.below(3) as usize];
        let mut now = 0;
        for number in 0..2000 {
            now += rng.below(2_400_000 / grid + 1) * grid;
            let len = if rng.chance(0.5) { 1500 } else { 40 + rng.below(1460) as u16 };
            let at = Time::from_nanos(now);
            a.offer(at, number, len);
            b.offer(at, number, len);
            assert_eq!(a.refused, b.refused, "seed {seed}");
            assert_eq!(a.link.waiting_bytes(at), b.link.waiting_bytes(at), "seed {seed} at {at}");
            assert_eq!(a.link.waiting_packets(at), b.link.waiting_packets(at), "seed {seed}");
            assert_eq!(a.link.serialized_packets(at), b.link.serialized_packets(at));
            assert_eq!(a.link.has_room(900, at), b.link.has_room(900, at));
            assert_eq!(a.link.is_idle(at), b.link.is_idle(at));
            assert_eq!(a.link.busy(at), b.link.busy(at));
            assert_eq!(a.link.stats(at).waits, b.link.stats(at).waits, "seed {seed} at {at}");
        }
        a.run_to(Time::MAX);
        b.run_to(Time::MAX);
        assert_eq!(a.arrivals, b.arrivals, "seed {seed}");
        assert_eq!(a.arrivals.len() + a.refused.len(), 2000);
        assert_eq!(a.link.stats(Time::MAX), b.link.stats(Time::MAX));
    }
}

/// The transmitter is looked after only when a packet comes, on a link that is busy for
/// milliseconds between.
#[test]
fn a_driver_that_is_late_changes_nothing_but_when_it_learns_of_it() {
    let mut in_time = Bench::new(queued(Rate::mbps(12), Limit::Bytes(9000), false));
    let mut late = Bench::new(queued(Rate::mbps(12), Limit::Bytes(9000), false));
    let mut rng = Rng::new(5, Stream::Test, 0);
    let mut now = Time::ZERO;
    for number in 0..2000 {
        if rng.chance(0.2) {
            now += Span::from_micros(rng.below(12_000));
        }
        let len = 40 + rng.below(1460) as u16;
        in_time.offer(now, number, len);
        late.put(now, number, len);
    }
    let end = now + Span::from_secs(1);
    in_time.run_to(end);
    late.call(end, |link, cx| link.on_transmitter(cx));
    while let Some(packet) = late.link.take_arrival(end) {
        let arrival = (packet.hop_time().as_nanos(), packet.tcp_fields().unwrap().seq);
        late.arrivals.push(arrival);
    }
    assert_eq!(late.arrivals, in_time.arrivals);
    assert_eq!(late.refused, in_time.refused);
    assert!(!late.refused.is_empty());
    assert_eq!(late.link.stats(Time::MAX), in_time.link.stats(Time::MAX));
}

/// M/D/1: mean wait = rho s / (2 (1 - rho)).
#[test]
fn poisson_arrivals_wait_as_long_as_m_d_1_says() {
    let service_ms = 1.2; // 1500 bytes at 10 Mbit/s
    for (rho, expected_ms) in [(0.5, 0.6), (0.8, 2.4), (0.9, 5.4)] {
        let mut bench = Bench::new(fifo(Rate::mbps(10), Limit::Bytes(u64::MAX)));
        let mut rng = Rng::new(3, Stream::Test, 0);
        let mut now_ns = 0.0;
        let packets = 1_000_000;
        for number in 0..packets {
            now_ns += -(1.0 - rng.unit()).ln() * service_ms * 1e6 / rho;
            bench.offer(Time::from_nanos(now_ns as u64), number, 1500);
        }
        let mean_ms = bench.link.stats(Time::MAX).waits.mean().unwrap().as_secs_f64() * 1e3;
        assert!((mean_ms / expected_ms - 1.0).abs() < 0.04, "rho {rho}: {mean_ms} {expected_ms}");
    }
}

/// Constant overload a > 1: what does not fit is lost, 1 - 1/a of it once the buffer is full.
#[test]
fn constant_overload_loses_its_excess_after_the_buffer_is_full() {
    let limit = 100;
    let mut bench = Bench::new(fifo(Rate::mbps(12), Limit::Packets(limit)));
    // a = 1.25: one packet each 0.8 ms, served in 1 ms.
    (0..10_000u32).for_each(|n| bench.offer(Time::from_nanos(n as u64 * 800_000), n, 1500));
    // The buffer fills at 0.25 packets a service time: after about 100 / (1 - 0.8) = 500 arrivals.
    let first = bench.refused[0] as f64;
    assert!((first - 505.0).abs() < 5.0, "first loss at packet {first}");
    let lost = bench.refused.len() as f64 / (10_000.0 - first);
    assert!((lost - 0.2).abs() < 0.001, "{lost}");
}

/// By hand, also where a packet is on the wire from its start on.
#[test]
fn a_failed_link_loses_what_is_on_it_and_keeps_what_waits() {
    for steady in [false, true] {
        let mut bench = Bench::new(queued(Rate::mbps(12), Limit::Packets(10), steady));
        let ms = Time::from_millis;
        (0..5).for_each(|n| bench.offer(ms(0), n, 1500));
        bench.run_to(ms(2)); // 0 has left, 1 is in transmission until 2 ms, 2 to 4 wait
        let cut = ms(2) - Span::from_nanos(1);
        bench.call(cut, |link, cx| fail(link, Outage::Event, cx));
        assert_eq!(bench.drops.total(), 2);
        assert_eq!(bench.link.waiting_packets(ms(2)), 3);
        let stats = bench.link.stats(cut);
        assert_eq!((stats.packets, stats.bytes, stats.lost), (1, 1500, 2), "steady: {steady}");
        assert_eq!((stats.busy, bench.link.busy(cut)), (cut.since(ms(0)), cut.since(ms(0))));
        bench.offer(ms(4), 5, 1500);
        bench.call(ms(10), |link, cx| heal(link, Outage::Event, cx));
        bench.run_to(Time::MAX);
        let numbers: Vec<u32> = bench.arrivals.iter().map(|a| a.1).collect();
        assert_eq!(numbers, [2, 3, 4, 5]);
        assert_eq!(bench.arrivals[0].0, (ms(11) + DELAY).as_nanos());
    }
}

/// An idle link that is steady takes a packet without looking further, but not while it is down.
#[test]
fn what_comes_to_a_failed_link_waits() {
    for steady in [false, true] {
        let mut bench = Bench::new(queued(Rate::mbps(12), Limit::Packets(10), steady));
        let ms = Time::from_millis;
        bench.offer(ms(0), 0, 1500);
        bench.run_to(ms(5));
        bench.call(ms(5), |link, cx| fail(link, Outage::Carrier, cx));
        bench.offer(ms(6), 1, 1500);
        bench.call(ms(7), |link, cx| heal(link, Outage::Carrier, cx));
        bench.offer(ms(9), 2, 1500);
        bench.run_to(Time::MAX);
        let at = |at: u64, number| ((ms(at) + DELAY).as_nanos(), number);
        assert_eq!(bench.arrivals, [at(1, 0), at(8, 1), at(10, 2)], "steady: {steady}");
        assert_eq!(bench.link.stats(Time::MAX).packets, 3);
    }
}

#[test]
fn jitter_reorders_and_loss_is_as_frequent_as_asked() {
    let pipeline = Pipeline::plain(DropTail::with_limit(Limit::Packets(u64::MAX)).into());
    let impairment = Impairment::new(0.1, Span::from_millis(5), Rng::new(1, Stream::Link, 0));
    let channel = AnyChannel::Constant(ConstantRate::new(Rate::mbps(12)));
    let link = QueuedLink::new(pipeline, channel, DELAY, 0, impairment, false);
    let mut bench = Bench::new(AnyLink::Queued(Box::new(link)));
    (0..20_000).for_each(|n| bench.offer(Time::ZERO, n, 1500));
    bench.run_to(Time::MAX);
    let lost = bench.link.stats(Time::MAX).lost as f64;
    assert!((lost - 2000.0).abs() < 4.0 * (20_000.0f64 * 0.09).sqrt(), "{lost}");
    assert!(bench.arrivals.windows(2).all(|w| w[0].0 <= w[1].0));
    assert!(bench.arrivals.windows(2).any(|w| w[0].1 > w[1].1), "nothing overtook");
}

/// A discipline from outside: first in, first out; writes down how long each packet was in it.
struct Sojourns {
    packets: VecDeque<Packet>,
    seen: Arc<Mutex<Vec<Span>>>,
}

impl Discipline for Sojourns {
    fn enqueue(&mut self, packet: Packet, _: &mut PortContext<'_>) -> Result<(), Overflow> {
        self.packets.push_back(packet);
        Ok(())
    }
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.seen.lock().unwrap().push(cx.now.since(packet.hop_time()));
        Some(packet)
    }
    fn has_room(&self, _: u16) -> bool {
        true
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.packets.drain(..).for_each(|packet| cx.drop_packet(packet, reason));
    }
    fn backlog_packets(&self) -> u64 {
        self.packets.len() as u64
    }
    fn backlog_bytes(&self) -> u64 {
        self.packets.iter().map(|packet| u64::from(packet.wire_len())).sum()
    }
}

/// Five packets of 1500 bytes at 12 Mbit/s come at 0: by hand the k-th leaves the queue at k ms and
/// is transmitted until k + 1 ms. So it does where the driver wakes once, at 20 ms.
#[test]
fn a_discipline_sees_when_transmissions_start_however_late_the_driver_wakes() {
    for steady in [true, false] {
        let seen = Arc::default();
        let fifo = Sojourns { packets: VecDeque::new(), seen: Arc::clone(&seen) };
        let discipline = AnyDiscipline::Custom(Box::new(fifo));
        let pipeline = Pipeline::plain(discipline);
        let impairment = Impairment::new(0.0, Span::ZERO, Rng::new(1, Stream::Link, 0));
        let channel = AnyChannel::Constant(ConstantRate::new(Rate::mbps(12)));
        let link = QueuedLink::new(pipeline, channel, DELAY, 0, impairment, steady);
        let mut bench = Bench::new(AnyLink::Queued(Box::new(link)));
        (0..5).for_each(|n| bench.put(Time::ZERO, n, 1500));
        let late = Time::from_millis(20);
        bench.call(late, |link, cx| {
            link.on_transmitter(cx);
            assert_eq!(cx.now, late);
        });
        let after = |ms: &[u64]| ms.iter().map(|&ms| Span::from_millis(ms)).collect::<Vec<_>>();
        assert_eq!(*seen.lock().unwrap(), after(&[0, 1, 2, 3, 4]), "steady: {steady}");
        while let Some(packet) = bench.link.take_arrival(late) {
            bench.arrivals.push((packet.hop_time().as_nanos(), packet.tcp_fields().unwrap().seq));
        }
        let ms = |k: u64| Time::from_millis(k + 1) + DELAY;
        let expected: Vec<_> = (0..5).map(|k| (ms(k).as_nanos(), k as u32)).collect();
        assert_eq!(bench.arrivals, expected);
    }
}

/// One packet a ms; the delay is 3 ms, and 1 ms from 2.5 ms on. By hand: the packets of 1, 2 and 3
/// ms arrive at 4, 5 and 4 ms on a link that reorders; else the third waits for the second, and the
/// fourth, which comes at 5 ms by itself, overtakes no packet.
#[test]
fn a_delay_that_falls_reorders_only_where_the_link_is_told_to() {
    let arrivals = |reorder: bool, jitter: Span| {
        let discipline = AnyDiscipline::DropTail(DropTail::with_limit(Limit::Packets(u64::MAX)));
        let pipeline = Pipeline::plain(discipline);
        let mut impairment = Impairment::new(0.0, jitter, Rng::new(1, Stream::Link, 0));
        impairment.reorder = reorder;
        let channel = AnyChannel::Constant(ConstantRate::new(Rate::mbps(12)));
        let link = QueuedLink::new(pipeline, channel, DELAY, 0, impairment, false);
        let mut bench = Bench::new(AnyLink::Queued(Box::new(link)));
        (1..=4).for_each(|n| bench.put(Time::ZERO, n, 1500));
        bench.run_to(Time::from_nanos(2_500_000));
        bench.link.as_queued().unwrap().set_delay(Span::from_millis(1));
        bench.run_to(Time::MAX);
        bench.arrivals
    };
    let ms = |k: u64| Time::from_millis(k).as_nanos();
    let kept = [(ms(4), 1), (ms(5), 2), (ms(5), 3), (ms(5), 4)];
    assert_eq!(arrivals(false, Span::ZERO), kept);
    let overtaken = [(ms(4), 1), (ms(4), 3), (ms(5), 2), (ms(5), 4)];
    assert_eq!(arrivals(true, Span::ZERO), overtaken);
    // Jitter reorders by contract: here by at most 1 ns, but the fall is seen all the same.
    let order: Vec<u32> = arrivals(false, Span::from_nanos(1)).iter().map(|a| a.1).collect();
    let place = |number| order.iter().position(|&n| n == number);
    assert!(place(3) < place(2), "{order:?}");
}

/// An event and a lost carrier at once: the link works again when both are over.
#[test]
fn a_link_is_up_when_no_reason_is_left() {
    use Outage::{Carrier, Event};
    for [first, second] in [[Event, Carrier], [Carrier, Event]] {
        let mut bench = Bench::new(queued(Rate::mbps(12), Limit::Packets(9), false));
        let ms = Time::from_millis;
        bench.call(ms(1), |link, cx| fail(link, first, cx));
        bench.call(ms(2), |link, cx| fail(link, second, cx));
        bench.offer(ms(3), 1, 1500);
        bench.call(ms(4), |link, cx| heal(link, first, cx));
        assert!(!bench.link.is_up());
        bench.run_to(ms(6));
        assert!(bench.arrivals.is_empty());
        bench.call(ms(6), |link, cx| heal(link, second, cx));
        bench.run_to(Time::MAX);
        assert_eq!(bench.arrivals, [((ms(7) + DELAY).as_nanos(), 1)]);
    }
}

fn fail(link: &mut AnyLink, why: Outage, cx: &mut PortContext<'_>) {
    link.as_queued().expect("it may fail").link_down(why, cx);
}

fn heal(link: &mut AnyLink, why: Outage, cx: &mut PortContext<'_>) {
    link.as_queued().expect("it may fail").link_up(why, cx);
}

/// What failed with the link holds no packet up: the delay falls while it is down.
#[test]
fn nobody_waits_for_packets_that_a_failure_took() {
    let mut bench = Bench::new(queued(Rate::mbps(12), Limit::Packets(9), false));
    let ms = Time::from_millis;
    bench.offer(ms(0), 1, 1500);
    bench.run_to(ms(2)); // on the wire until 4 ms
    bench.call(ms(2), |link, cx| fail(link, Outage::Event, cx));
    bench.link.as_queued().unwrap().set_delay(Span::ZERO);
    bench.call(ms(2), |link, cx| heal(link, Outage::Event, cx));
    bench.offer(ms(2), 2, 1500);
    bench.run_to(Time::MAX);
    assert_eq!(bench.arrivals, [(ms(3).as_nanos(), 2)]);
}

/// Opportunities of 1504 bytes at 10, 20, 20 and 40 ms, then none before 1 s.
fn traced(limit: Limit, seen: Option<Arc<Mutex<Vec<Span>>>>) -> Bench {
    let times = [10, 20, 20, 40, 1000].map(Span::from_millis);
    let trace = DeliveryTrace::new(times, 1504).expect("in order");
    let discipline = match seen {
        Some(seen) => AnyDiscipline::Custom(Box::new(Sojourns { packets: VecDeque::new(), seen })),
        None => DropTail::with_limit(limit).into(),
    };
    let impairment = Impairment::new(0.0, Span::ZERO, Rng::new(1, Stream::Link, 0));
    let channel = AnyChannel::Trace(TraceChannel::new(Arc::new(trace), Span::ZERO));
    let pipeline = Pipeline::plain(discipline);
    let link = QueuedLink::new(pipeline, channel, DELAY, 0, impairment, false);
    Bench::new(AnyLink::Queued(Box::new(link)))
}

/// mahimahi's LinkQueue (link_queue.cc, `rationalize`), by hand: packets of 1504 bytes that come at
/// 0 are taken from the queue at 10, 20, 20 and 40 ms, and not when the one before has left. A
/// driver that wakes once, at 50 ms, changes nothing.
#[test]
fn a_trace_takes_packets_from_the_queue_at_its_opportunities() {
    for late in [false, true] {
        let seen = Arc::default();
        let mut bench = traced(Limit::Packets(9), Some(Arc::clone(&seen)));
        (0..4).for_each(|n| bench.put(Time::ZERO, n, 1504));
        assert_eq!(bench.link.waiting_packets(Time::ZERO), 4, "none is in transmission");
        assert_eq!(bench.link.next_start(), Some(Time::from_millis(10)));
        if late {
            bench.call(Time::from_millis(50), |link, cx| link.on_transmitter(cx));
        }
        bench.run_to(Time::MAX);
        let waited: Vec<u64> =
            seen.lock().unwrap().iter().map(|s| s.as_nanos() / 1_000_000).collect();
        assert_eq!(waited, [10, 20, 20, 40], "late: {late}");
        // The transmitter had something to send from 0 to 40 ms.
        assert_eq!(bench.link.busy(Time::MAX).as_nanos() / 1_000_000, 40);
    }
}

/// Something waits from 4 ms on, for opportunities at 10, 20, 20 and 40 ms: at `t` the link has
/// been busy for `t` - 4 ms, so that no window is shorter than what was busy in it.
#[test]
fn the_wait_for_an_opportunity_counts_as_it_passes() {
    let mut bench = traced(Limit::Packets(9), None);
    (0..4).for_each(|n| bench.put(Time::from_millis(4), n, 1504));
    for at_ms in 4..=40 {
        let at = Time::from_millis(at_ms);
        bench.run_to(at);
        assert_eq!(bench.link.busy(at), Span::from_millis(at_ms - 4), "at {at_ms} ms");
    }
}

/// The same code by hand: of 1504 bytes 500 + 500 go to two packets and 504 to a third of 1000,
/// which has the rest at 20 ms and leaves then. What is left of that, 1008 bytes, and the next
/// opportunity at 20 ms are lost where nothing waits; a packet that comes at 30 ms is taken at 40
/// ms.
#[test]
fn what_an_opportunity_leaves_goes_to_the_next_packet_and_is_lost_when_there_is_none() {
    let mut bench = traced(Limit::Packets(9), None);
    [500, 500, 1000].iter().zip(0..).for_each(|(&len, n)| bench.put(Time::ZERO, n, len));
    bench.offer(Time::from_millis(30), 3, 1504);
    bench.run_to(Time::MAX);
    let ms: Vec<(u64, u32)> =
        bench.arrivals.iter().map(|&(at, n)| ((at - DELAY.as_nanos()) / 1_000_000, n)).collect();
    assert_eq!(ms, [(10, 0), (10, 1), (20, 2), (40, 3)]);
}

/// A packet that waits for an opportunity is in the queue: it counts for the limit.
#[test]
fn the_limit_counts_what_waits_for_an_opportunity() {
    let mut bench = traced(Limit::Packets(1), None);
    (0..2).for_each(|n| bench.put(Time::ZERO, n, 1504));
    bench.offer(Time::from_millis(10), 2, 1504);
    assert_eq!(bench.refused, [1]);
    bench.run_to(Time::MAX);
    assert_eq!(bench.arrivals.iter().map(|a| a.1).collect::<Vec<_>>(), [0, 2]);
}

/// 1 Mbit/s is 125 bytes a millisecond: two packets of 1250 bytes take 10 ms each.
#[test]
fn what_is_on_the_wire_grows_with_time_and_not_by_packets() {
    let (rate, limit) = (Rate::mbps(1), Limit::Packets(10));
    let ms = Time::from_millis;
    for link in [fifo(rate, limit), queued(rate, limit, false), queued(rate, limit, true)] {
        let mut bench = Bench::new(link);
        bench.offer(ms(1), 1, 1250);
        bench.offer(ms(1), 2, 1250);
        let by = |bench: &mut Bench, at: u64| {
            bench.run_to(ms(at));
            bench.link.transmitted_bytes(ms(at))
        };
        let found = [1, 5, 11, 13, 21, 30].map(|at| by(&mut bench, at));
        // At 11 ms the driver does not know yet that the first has ended.
        assert_eq!(found, [0, 500, 1250, 1500, 2500, 2500]);
    }
}

/// A link of one event without a buffer takes a packet from the very nanosecond on at which its
/// last transmission ends.
#[test]
fn a_link_is_free_at_the_nanosecond_at_which_a_transmission_ends() {
    let at = Time::from_nanos;
    let mut bench = Bench::new(fifo(Rate::mbps(12), Limit::Packets(0)));
    bench.offer(at(0), 0, 1500); // exactly 1 ms
    assert!(!bench.link.has_room(1500, at(999_999)) && !bench.link.is_idle(at(999_999)));
    bench.offer(at(999_999), 1, 1500);
    assert!(bench.link.has_room(1500, at(1_000_000)) && bench.link.is_idle(at(1_000_000)));
    bench.offer(at(1_000_000), 2, 1500);
    assert_eq!(bench.refused, [1]);
    bench.run_to(Time::MAX);
    assert_eq!(bench.arrivals, [(4_000_000, 0), (5_000_000, 2)]);
}

/// Overhead is serialised with each packet and counted, and takes no room in the queue: 1462 bytes
/// and 38 of Ethernet take 1 ms at 12 Mbit/s.
#[test]
fn overhead_of_a_link_takes_time_and_no_room() {
    let rate = Rate::mbps(12);
    let limit = Limit::Bytes(2 * 1462);
    let links: [fn(Rate, Limit) -> AnyLink; 2] = [
        |rate, limit| AnyLink::Fifo(FifoLink::new(rate, DELAY, limit, 38)),
        |rate, limit| {
            let pipeline = Pipeline::plain(DropTail::with_limit(limit).into());
            let impairment = Impairment::new(0.0, Span::ZERO, Rng::new(1, Stream::Link, 0));
            let channel = AnyChannel::Constant(ConstantRate::new(rate));
            let link = QueuedLink::new(pipeline, channel, DELAY, 38, impairment, false);
            AnyLink::Queued(Box::new(link))
        },
    ];
    for link in links {
        let mut bench = Bench::new(link(rate, limit));
        (0..4).for_each(|number| bench.put(Time::ZERO, number, 1462));
        assert_eq!(bench.refused, [3], "one in transmission, two wait");
        bench.run_to(Time::MAX);
        assert_eq!(bench.arrivals, [(4_000_000, 0), (5_000_000, 1), (6_000_000, 2)]);
        let stats = bench.link.stats(Time::from_secs(1));
        assert_eq!((stats.packets, stats.bytes, stats.busy), (3, 4500, Span::from_millis(3)));
    }
}
