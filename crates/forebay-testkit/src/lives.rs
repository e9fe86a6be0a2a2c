//! Random lives for the flows of a network: some stop, some write over time, some follow others.

use crate::random::log_uniform;
use forebay_base::{FlowId, Rate, Rng, Span, Stream, Time};
use forebay_net::{After, AppSchedule, FlowSpec, NetSpec, TimeDistribution, Writing};
use forebay_sim::FlowOutcome;

/// Give about half of the flows of `spec` a life, and some of them followers. Every flow still ends
/// if each had an end before.
pub fn give(spec: &mut NetSpec, seed: u64) {
    let mut rng = Rng::new(seed, Stream::Test, 12);
    let rng = &mut rng;
    for flow in &mut spec.flows {
        if flow.paths.len() < 2 && rng.chance(0.5) {
            let life = random_life(rng, flow.start);
            if life.stop.is_some() && rng.chance(0.3) {
                flow.bytes = None;
            }
            flow.life = Some(Box::new(life));
        }
    }
    for _ in 0..rng.below(6) {
        let number = rng.below(spec.flows.len() as u64) as u32;
        let before = spec.flows[number as usize].clone();
        if before.bytes.is_none() && before.stop().is_none() {
            continue;
        }
        let mut life = AppSchedule::default();
        if before.paths.len() < 2 && rng.chance(0.4) {
            let about = Time::from_millis(rng.below(4_000));
            life = random_life(rng, about);
        }
        life.after = Some(After { flow: FlowId(number), think: random_law(rng) });
        // The one that it follows may end with its stop.
        let bytes = Some(before.bytes.unwrap_or(10_000).min(100_000) / (1 + rng.below(3)));
        spec.flows.push(FlowSpec { bytes, life: Some(Box::new(life)), ..before });
    }
}

fn random_life(rng: &mut Rng, start: Time) -> AppSchedule {
    let stop = rng.chance(0.4).then(|| start + random_span(rng, 3e9));
    let write = rng.chance(0.7).then(|| Writing {
        rate: None,
        chunk_bytes: 1 + rng.below(3_000) as u32,
        // Slow ones would take hours.
        periods: Some([between(rng, Span::from_millis(5)), random_law(rng)]),
    });
    let write = write.map(|write| match rng.below(3) {
        0 => write,
        n => Writing {
            rate: Some(Rate::clamped(log_uniform(rng, 1e6, 2e7) as u64)),
            periods: write.periods.filter(|_| n == 1),
            ..write
        },
    });
    AppSchedule { stop, write, ..AppSchedule::default() }
}

fn random_span(rng: &mut Rng, most_ns: f64) -> Span {
    Span::from_nanos(log_uniform(rng, most_ns / 1e4, most_ns) as u64)
}

/// Some are round, so that much happens at one instant; and some think for no time.
fn random_law(rng: &mut Rng) -> TimeDistribution {
    match rng.below(5) {
        0 => TimeDistribution::Constant(Span::from_millis(rng.below(20))),
        1 => TimeDistribution::Constant(random_span(rng, 1e9)),
        2 => TimeDistribution::Exponential(random_span(rng, 3e8)),
        _ => {
            let least = random_span(rng, 1e8);
            TimeDistribution::Uniform(least, least + random_span(rng, 3e8))
        }
    }
}

fn between(rng: &mut Rng, least: Span) -> TimeDistribution {
    TimeDistribution::Uniform(least, least + random_span(rng, 1e9))
}

/// It has delivered all that its application wrote: all there was, unless it stopped, or never
/// started.
pub fn has_delivered(flow: &FlowSpec, outcome: &FlowOutcome) -> bool {
    let received = Some(outcome.received_bytes);
    match flow.stop() {
        _ if outcome.skipped => received == Some(0),
        None => outcome.completed_at.is_some() && received == flow.bytes,
        Some(_) => outcome.completed_at.is_some() && received <= flow.bytes.or(Some(u64::MAX)),
    }
}
