//! Duels: long flows over one bottleneck, measured after a warm-up, compared with the closed forms
//! of [`sawtooth`].

pub mod sawtooth;

use crate::world::dumbbell;
use forebay_base::{FlowId, Histogram, LinkId, Rate, Rng, Span, Stream, Time};
use forebay_cc::{AckPolicy, Spec};
use forebay_sim::{Options, Simulation, Status};
use forebay_transport::{Role, TcpConfig};
use sawtooth::Pipe;

/// Bytes of a full-sized packet on the wire: MSS and 52 bytes of headers, timestamps included.
const PACKET_BYTES: u64 = 1500;
const HEADER_BYTES: u64 = 52;
/// How often the sender is asked whether it has lost: the resolution of [`Outcome::congestion_at`].
const STEP: Span = Span::from_millis(2);

/// A duel, filled in like a form.
#[derive(Clone)]
pub struct Duel {
    /// The algorithm of each flow.
    pub flows: Vec<Spec>,
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Round-trip time without queue and without transmission times.
    pub rtt: Span,
    /// Buffer of the bottleneck, in bandwidth-delay products.
    pub buffer_bdp: f64,
    /// Both ends, with an MSS of 1448 bytes and timestamps.
    pub config: TcpConfig,
    /// Not measured.
    pub warm_up: Span,
    /// Measured. Of a flow alone: the whole cycles in this time, from its first loss to its last.
    pub measured: Span,
    /// Of ISNs, and of the starts of the flows within the first second.
    pub seed: u64,
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Share of the measured time in which the bottleneck transmitted.
    pub utilisation: f64,
    /// In-order bytes at the receiver per second, in bit/s, flow by flow.
    pub goodput_bps: Vec<f64>,
    /// When the first flow entered recovery, within the measured time.
    pub congestion_at: Vec<Time>,
    /// Mean time that a packet waited at the bottleneck.
    pub wait: Span,
    /// What a twentieth of the packets waited for at most, and at least.
    pub wait_range: (Span, Span),
    /// Retransmissions of all flows per packet that arrived, within the measured time.
    pub loss: f64,
    /// Packets retransmitted by all flows over the whole run.
    pub retransmits: u64,
    /// Retransmission timeouts of all flows over the whole run.
    pub timeouts: u64,
}

impl Outcome {
    /// Share of the first flow in the goodput of all.
    pub fn share(&self) -> f64 {
        self.goodput_bps[0] / self.goodput_bps.iter().sum::<f64>()
    }
    /// Mean time between congestion events of the first flow, in seconds; None with fewer than two.
    pub fn period_s(&self) -> Option<f64> {
        let (first, last) = (self.congestion_at.first()?, self.congestion_at.last()?);
        let gaps = self.congestion_at.len() - 1;
        (gaps > 0).then(|| last.since(*first).as_secs_f64() / gaps as f64)
    }
}

/// What has happened up to a time.
struct Reading {
    at: Time,
    busy: Span,
    waits: Histogram,
    received_bytes: Vec<u64>,
    retransmits: u64,
}

impl Duel {
    /// The bottleneck as the closed forms want it. A packet is transmitted once at the rate of the
    /// bottleneck and twice at ten times that, and with delayed ACKs every second one waits for the
    /// next: half a packet time on average. The buffer holds whole packets.
    pub fn pipe(&self) -> Pipe {
        let packets_per_s = self.rate.bps() as f64 / (8 * PACKET_BYTES) as f64;
        let ack_wait = match self.config.ack_policy {
            AckPolicy::Delayed { packets, .. } => f64::from(packets - 1) / 2.0,
            AckPolicy::EveryPacket => 0.0,
        };
        Pipe {
            packets_per_s,
            rtt_s: self.rtt.as_secs_f64() + (1.2 + ack_wait) / packets_per_s,
            buffer: (self.buffer_bytes() / PACKET_BYTES) as f64,
        }
    }
    fn buffer_bytes(&self) -> u64 {
        (self.buffer_bdp * self.rate.bytes_in(self.rtt) as f64) as u64
    }

    /// Run it. A flow alone is measured over whole cycles.
    pub fn run(&self) -> Outcome {
        self.outcome(self.flows.len() == 1)
    }
    /// Run it, and measure all of the measured time: for flows without cycles of losses.
    pub fn run_through(&self) -> Outcome {
        self.outcome(false)
    }

    /// The run before it begins, and its bottleneck.
    pub fn simulation(&self, options: Options) -> (Simulation, LinkId) {
        assert_eq!(u64::from(self.config.mss_bytes) + HEADER_BYTES, PACKET_BYTES);
        let (mut world, hosts, bottleneck) =
            dumbbell(self.flows.len(), self.rate, self.rtt, self.buffer_bytes());
        let mut rng = Rng::new(self.seed, Stream::StartJitter, 0);
        for (spec, &pair) in self.flows.iter().zip(&hosts) {
            let made = spec.clone();
            let index = world.transport(spec.name(), self.config, move |init| made.build(init));
            world.flow(pair, Time::from_nanos(rng.below(1_000_000_000)), None, index);
        }
        let sim = Simulation::new(&world.spec, self.seed, options);
        (sim.expect("a sound network"), bottleneck)
    }

    fn outcome(&self, whole_cycles: bool) -> Outcome {
        let (sim, bottleneck) = self.simulation(Options::default());
        self.measure(sim, bottleneck, whole_cycles)
    }

    fn measure(&self, mut sim: Simulation, bottleneck: LinkId, whole_cycles: bool) -> Outcome {
        let start = Time::ZERO + self.warm_up;
        let end = start + self.measured;
        assert_eq!(sim.run_until(start).unwrap(), Status::Running);
        let mut before = self.read(&sim, bottleneck);
        let mut at_last_loss = None;
        let mut congestion_at = Vec::new();
        let mut seen = recoveries(&sim);
        while sim.now() < end {
            sim.run_until((sim.now() + STEP).min(end)).unwrap();
            let now_seen = recoveries(&sim);
            if now_seen > seen {
                seen = now_seen;
                congestion_at.push(sim.now());
                let reading = self.read(&sim, bottleneck);
                if whole_cycles && congestion_at.len() == 1 {
                    before = reading;
                } else {
                    at_last_loss = Some(reading);
                }
            }
        }
        assert!(sim.conservation().holds(), "{:?}", sim.conservation());
        let at_end_of_cycle = at_last_loss.filter(|_| whole_cycles);
        let after = at_end_of_cycle.unwrap_or_else(|| self.read(&sim, bottleneck));
        let senders = (0..self.flows.len() as u32).map(|f| sim.flow(FlowId(f)).sender);
        let (retransmits, timeouts) =
            senders.fold((0, 0), |(r, t), s| (r + s.retransmits, t + s.timeouts));
        Outcome { congestion_at, retransmits, timeouts, ..between(&before, &after) }
    }

    fn read(&self, sim: &Simulation, bottleneck: LinkId) -> Reading {
        let link = sim.link(bottleneck);
        let flows = 0..self.flows.len() as u32;
        let retransmits = flows.clone().map(|f| sim.flow(FlowId(f)).sender.retransmits).sum();
        Reading {
            retransmits,
            at: sim.now(),
            busy: link.busy(),
            waits: link.stats().waits,
            received_bytes: flows.map(|f| sim.flow(FlowId(f)).received_bytes).collect(),
        }
    }
}

fn recoveries(sim: &Simulation) -> u64 {
    sim.connection(FlowId(0), Role::Client).map_or(0, |c| c.counters().recoveries)
}

fn between(before: &Reading, after: &Reading) -> Outcome {
    let seconds = after.at.since(before.at).as_secs_f64();
    let bytes = after.received_bytes.iter().zip(&before.received_bytes).map(|(a, b)| a - b);
    let arrived = bytes.clone().sum::<u64>() as f64 / (PACKET_BYTES - HEADER_BYTES) as f64;
    let waits = after.waits.since(&before.waits);
    let quantile = |q| waits.quantile(q).unwrap_or(Span::ZERO);
    Outcome {
        utilisation: after.busy.saturating_sub(before.busy).as_secs_f64() / seconds,
        goodput_bps: bytes.map(|bytes| bytes as f64 * 8.0 / seconds).collect(),
        wait: waits.mean().unwrap_or(Span::ZERO),
        wait_range: (quantile(0.05), quantile(0.95)),
        loss: (after.retransmits - before.retransmits) as f64 / arrived,
        ..Outcome::default()
    }
}
