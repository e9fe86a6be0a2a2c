//! Duels: long flows over one bottleneck, measured after a warm-up, beside the closed forms of the sawtooth.

use crate::world::dumbbell;
use forebay_base::{FlowId, LinkId, Rate, Span, Time};
use forebay_cc::Spec;
use forebay_sim::{Options, Simulation, Status};
use forebay_transport::{Role, TcpConfig};

/// A duel, filled in like a form.
#[derive(Clone)]
pub struct Duel {
    /// The algorithm of each flow.
    pub flows: Vec<Spec>,
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Round-trip time without queue.
    pub rtt: Span,
    /// Buffer of the bottleneck, in bandwidth-delay products.
    pub buffer_bdp: f64,
    /// Both ends.
    pub config: TcpConfig,
    /// Not measured.
    pub warm_up: Span,
    /// Measured.
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
    /// Packets retransmitted, and timeouts, of all flows over the whole run.
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

const STEP: Span = Span::from_millis(10);

impl Duel {
    /// Bandwidth-delay product in full-sized packets.
    pub fn bdp_packets(&self) -> f64 {
        self.rate.bytes_in(self.rtt) as f64 / (self.config.mss_bytes as f64 + 52.0)
    }
    /// Run it.
    pub fn run(&self) -> Outcome {
        let queue_bytes = (self.buffer_bdp * self.rate.bytes_in(self.rtt) as f64) as u64;
        let (mut world, hosts, bottleneck) =
            dumbbell(self.flows.len(), self.rate, self.rtt, queue_bytes);
        let mut rng = forebay_base::Rng::new(self.seed, forebay_base::Stream::StartJitter, 0);
        for (spec, &pair) in self.flows.iter().zip(&hosts) {
            let made = spec.clone();
            let index = world.transport(spec.name(), self.config, move |init| made.build(init));
            world.flow(pair, Time::from_nanos(rng.below(1_000_000_000)), None, index);
        }
        let spec = &world.spec;
        let sim = Simulation::new(spec, self.seed, Options::default()).expect("a sound network");
        self.measure(sim, bottleneck)
    }

    fn measure(&self, mut sim: Simulation, bottleneck: LinkId) -> Outcome {
        let start = Time::ZERO + self.warm_up;
        let end = start + self.measured;
        assert_eq!(sim.run_until(start), Status::Running);
        let received = |sim: &Simulation| -> Vec<u64> {
            let flows = 0..self.flows.len() as u32;
            flows.map(|f| sim.flow(FlowId(f)).received_bytes).collect()
        };
        let before = received(&sim);
        let link = sim.link(bottleneck);
        let (busy, waited, packets) = (link.busy(), link.stats().wait, link.stats().packets);
        let mut outcome = Outcome::default();
        let recoveries = |sim: &Simulation| {
            sim.connection(FlowId(0), Role::Client).map_or(0, |c| c.counters().recoveries)
        };
        let mut seen = recoveries(&sim);
        while sim.now() < end {
            sim.run_until((sim.now() + STEP).min(end));
            let now_seen = recoveries(&sim);
            if now_seen > seen {
                outcome.congestion_at.push(sim.now());
                seen = now_seen;
            }
        }
        let seconds = self.measured.as_secs_f64();
        let link = sim.link(bottleneck);
        outcome.utilisation = link.busy().saturating_sub(busy).as_secs_f64() / seconds;
        let waits = link.stats().packets - packets;
        outcome.wait = link.stats().wait.saturating_sub(waited) / waits.max(1);
        let rates = received(&sim).into_iter().zip(before).map(|(b, a)| (b - a) as f64 * 8.0);
        outcome.goodput_bps = rates.map(|bits| bits / seconds).collect();
        for f in 0..self.flows.len() as u32 {
            let sender = sim.flow(FlowId(f)).sender;
            outcome.retransmits += sender.retransmits;
            outcome.timeouts += sender.timeouts;
        }
        assert!(sim.conservation().holds(), "{:?}", sim.conservation());
        outcome
    }
}

/// Utilisation of one flow with linear growth and decrease to `b` of the window, over a buffer of `x` BDP:
/// `((1 - b^2) / 2) (1 + x)^2 / ((1 - b (1 + x)) + ((1 + x)^2 - 1) / 2)` below `x = (1 - b) / b`, full from there on.
/// With `b = 1/2` it is `0.75 (1 + x)^2 / (1 + x + x^2)`.
pub fn sawtooth_utilisation(b: f64, x: f64) -> f64 {
    if x >= (1.0 - b) / b {
        return 1.0;
    }
    let top = 1.0 + x;
    ((1.0 - b * b) / 2.0) * top * top / ((1.0 - b * top) + (top * top - 1.0) / 2.0)
}

/// Utilisation of one CUBIC flow on its cubic curve over a buffer of `x` BDP: the window returns to its maximum
/// after K seconds whatever the buffer; below one BDP it sends a window each RTT, above it the link is full.
///
/// With `u = t / K`, the window is `W (1 - (1 - beta) (1 - u)^3)`, and `W = 1 + x` in BDP.
pub fn cubic_utilisation(beta: f64, x: f64) -> f64 {
    let window = |u: f64| (1.0 + x) * (1.0 - (1.0 - beta) * (1.0 - u).powi(3));
    let steps = 10_000;
    let mid = |i: i32| (i as f64 + 0.5) / steps as f64;
    (0..steps).map(|i| window(mid(i)).min(1.0)).sum::<f64>() / steps as f64
}

/// Time between losses of one CUBIC flow whose window peaks at `w_max` packets: `K = cbrt(w_max (1 - beta) / C)` (RFC 9438 eq. 2).
pub fn cubic_period_s(beta: f64, c: f64, w_max: f64) -> f64 {
    (w_max * (1.0 - beta) / c).cbrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_have_their_known_values() {
        for (x, u) in [(0.0, 0.75), (0.1, 0.8176), (0.25, 0.8929), (0.5, 0.9643), (0.75, 0.9932)] {
            assert!((sawtooth_utilisation(0.5, x) - u).abs() < 1e-4, "{x}");
        }
        for (x, u) in [(0.0, 0.925), (0.1, 0.967), (0.2, 0.987), (0.4286, 1.0)] {
            assert!(
                (cubic_utilisation(0.7, x) - u).abs() < 1e-3,
                "{x} {}",
                cubic_utilisation(0.7, x)
            );
        }
        assert!((cubic_period_s(0.7, 0.4, 100.0) - 4.2172).abs() < 1e-4);
    }
}
