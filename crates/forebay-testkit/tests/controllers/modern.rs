//! One CUBIC flow with the preset `modern` on a bottleneck of 10 Mbit/s: no timeout of data, and
//! nearly all that headers leave, in order.

use forebay_base::{FlowId, LinkId, Rate, Span, Time};
use forebay_cc::Spec;
use forebay_sim::{Options, Simulation};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, Role, TcpConfig};

const RATE_MBPS: u64 = 10;
/// Of a packet of 1500 bytes.
const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;
/// What the flow must get of what headers leave.
const LEAST: f64 = 0.92;
/// Round trip in ms and buffer in percent of a BDP at which 100 round trips end while holes are
/// open: their repair, which begins at 95 s, takes one round trip of the full queue, 5 s.
const HOLES_AT_THE_END: (u64, u64) = (1000, 400);

struct Run {
    sim: Simulation,
    bottleneck: LinkId,
}

impl Run {
    /// The preset, and buffers that are never the limit.
    fn new(rtt: Span, buffer_percent: u64) -> Run {
        let mut world = World::new();
        let (a, r, b) = (world.host("a"), world.router("r"), world.host("b"));
        let bdp_bytes = RATE_MBPS * 1_000_000 / 8 * rtt.as_millis() / 1000;
        world.join(a, r, link(Rate::mbps(100_000), Span::ZERO, 1 << 30));
        let bottleneck = link(Rate::mbps(RATE_MBPS), rtt / 2, bdp_bytes * buffer_percent / 100);
        let bottleneck = world.join(r, b, bottleneck);
        let config = TcpConfig {
            send_buffer_bytes: 64 << 20,
            receive_buffer_bytes: 64 << 20,
            ..PRESETS[0].config
        };
        let cubic = Spec::by_name("cubic").expect("in the table");
        let transport = world.transport("cubic", config, move |init| cubic.build(init));
        world.flow((a, b), Time::ZERO, None, transport);
        let sim = Simulation::new(&world.spec, 1, Options::default()).expect("a sound network");
        Run { sim, bottleneck }
    }

    fn until(&mut self, end: Time) {
        self.sim.run_until(end).expect("every packet is accounted for");
    }

    /// Payload in order, of what headers leave of the bottleneck until `end`.
    fn in_order(&self, end: Time) -> f64 {
        self.share(self.sim.flow(FlowId(0)).received_bytes as f64 / PAYLOAD_SHARE, end)
    }

    /// The same of payload that has left the bottleneck, beyond holes too, each byte once.
    fn arrived(&self, end: Time) -> f64 {
        let server = self.sim.connection(FlowId(0), Role::Server).expect("it was opened");
        let link = self.sim.link(self.bottleneck);
        // The link counts what it knows to leave, so what waits is taken off.
        let left = link.stats().bytes - link.queue_bytes();
        self.share((left - 1500 * server.counters().duplicates_received) as f64, end)
    }

    fn share(&self, wire_bytes: f64, end: Time) -> f64 {
        wire_bytes / (RATE_MBPS as f64 * 1e6 / 8.0 * end.since(Time::ZERO).as_secs_f64())
    }
}

/// 92 % of what headers leave, the handshake and slow start included, no timeout. The window is
/// lost in slow start with thousands of segments at once where the buffer is large; their repair
/// takes a round trip of the full queue, which is longer than the RTO of RFC 6298 would be if the
/// timer were not restarted with the repair of the first hole. An RTT of 1 s is longer than the
/// 1 s that RFC 6298 (2.1) gives a SYN: that one, and no other packet, is retransmitted needlessly.
#[test]
fn cubic_fills_the_path_from_20_ms_to_1_s_without_a_timeout() {
    for rtt_ms in [20, 50, 100, 200, 300, 600, 1000] {
        for buffer_percent in [50, 100, 200, 400] {
            let what = format!("{rtt_ms} ms, {buffer_percent} %");
            let rtt = Span::from_millis(rtt_ms);
            let mut run = Run::new(rtt, buffer_percent);
            let end = Time::ZERO + rtt * 100;
            run.until(end);
            let sender = run.sim.flow(FlowId(0)).sender;
            assert_eq!(sender.timeouts, u64::from(rtt_ms == 1000), "{what}");
            let share = run.in_order(end);
            if (rtt_ms, buffer_percent) != HOLES_AT_THE_END {
                assert!((LEAST..=1.0).contains(&share), "{what}: {share}");
                continue;
            }
            assert!(share < LEAST, "{what}: {share} needs no rule of its own");
            assert!((LEAST..=1.0).contains(&run.arrived(end)), "{what}: {}", run.arrived(end));
            // The holes are closed once the repair has passed the queue.
            let end = end + rtt * (1 + buffer_percent / 100);
            run.until(end);
            let share = run.in_order(end);
            assert!((LEAST..=1.0).contains(&share), "{what}: {share} at {end:?}");
        }
    }
}
