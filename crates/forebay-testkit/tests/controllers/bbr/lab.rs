//! A scenario is run, and the first flow is looked at every millisecond.

use forebay_base::{FlowId, Span};
use forebay_scenario::{LoadOptions, Scenario};
use forebay_sim::{Options, Simulation};
use forebay_transport::Role;

/// What the sender of the first flow shows at a time. Volumes are in segments, and 0 where there is
/// no bound.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub at_s: f64,
    pub phase: &'static str,
    pub cwnd: f64,
    pub in_flight: f64,
    pub pacing_bps: f64,
    pub bw: f64,
    pub min_rtt_s: f64,
    pub longterm: f64,
    pub shortterm: f64,
    pub extra_acked: f64,
    pub srtt_s: f64,
    pub delivered: u64,
    pub lost: u64,
}

pub struct Trace {
    pub samples: Vec<Sample>,
}

const STEP: Span = Span::from_millis(1);

impl Trace {
    /// Of the built-in scenario of that name.
    pub fn of(name: &str) -> Trace {
        let scenario = Scenario::load(name, &LoadOptions::default()).expect("a sound scenario");
        let spec = scenario.build("bbr", 1).expect("it builds");
        let end = scenario.until.expect("it says how long it runs");
        let mut sim = Simulation::new(&spec, 1, Options::default()).expect("a sound network");
        let mut samples = Vec::new();
        while sim.now() < end {
            let next = sim.now() + STEP;
            sim.run_until(next).expect("every packet is accounted for");
            if let Some(sample) = look(&sim) {
                samples.push(sample);
            }
        }
        Trace { samples }
    }
}

impl Trace {
    /// The phases in order.
    pub fn phases(&self) -> Vec<&'static str> {
        let mut phases: Vec<_> = self.samples.iter().map(|s| s.phase).collect();
        phases.dedup();
        phases
    }
    /// The first sample of which `holds` is true.
    pub fn find(&self, holds: impl Fn(&Sample) -> bool) -> &Sample {
        self.samples.iter().find(|s| holds(s)).expect("it happens")
    }
    /// The first sample of a phase.
    pub fn first(&self, phase: &str) -> &Sample {
        self.find(|s| s.phase == phase)
    }
    /// The first sample after the first visit of a phase.
    pub fn after(&self, phase: &str) -> &Sample {
        let start = self.first(phase).at_s;
        self.find(|s| s.at_s > start && s.phase != phase)
    }
    /// The sample of a time.
    pub fn at(&self, at_s: f64) -> &Sample {
        self.find(|s| s.at_s >= at_s - 1e-9)
    }
    /// Each time in a phase.
    pub fn visits(&self, phase: &str) -> Vec<&[Sample]> {
        let runs = self.samples.chunk_by(|a, b| a.phase == b.phase);
        runs.filter(|run| run[0].phase == phase).collect()
    }
    /// The phase is always followed by that one.
    pub fn follows(&self, phase: &str, next: &str) -> bool {
        let phases = self.phases();
        phases.windows(2).all(|pair| pair[0] != phase || pair[1] == next)
    }
    /// It holds for all samples between two times.
    pub fn all(&self, from_s: f64, to_s: f64, holds: impl Fn(&Sample) -> bool) -> bool {
        self.samples.iter().filter(|s| (from_s..to_s).contains(&s.at_s)).all(holds)
    }
}

fn look(sim: &Simulation) -> Option<Sample> {
    let connection = sim.connection(FlowId(0), Role::Client)?.open()?;
    let view = connection.view(0);
    let mut sample = Sample {
        at_s: sim.now().as_secs_f64(),
        phase: view.phase,
        cwnd: view.cwnd_bytes as f64 / 1448.0,
        in_flight: view.in_flight_bytes as f64 / 1448.0,
        pacing_bps: view.pacing_rate.map_or(0.0, |rate| rate.bps() as f64),
        srtt_s: view.srtt.map_or(0.0, |srtt| srtt.as_secs_f64()),
        delivered: view.delivered_bytes,
        lost: view.lost_bytes,
        ..Sample::default()
    };
    connection.observe(0, &mut |seen| match seen.name {
        "bw" => sample.bw = seen.value,
        "min_rtt" => sample.min_rtt_s = seen.value,
        "inflight_longterm" => sample.longterm = seen.value / 1448.0,
        "inflight_shortterm" => sample.shortterm = seen.value / 1448.0,
        "extra_acked" => sample.extra_acked = seen.value / 1448.0,
        _ => {}
    });
    Some(sample)
}
