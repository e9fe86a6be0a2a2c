//! How long packets took: one way, and there and back.

use super::seconds::milliseconds;
use forebay_base::Histogram;
use forebay_metrics::{FlowMetrics, MAX_FLOWS_BY_PORT};
use forebay_net::NetSpec;
use forebay_sim::Simulation;
use std::collections::BTreeMap;
use std::mem::swap;

/// Delays are counted by transport: give each flow its own, where there are few.
pub(crate) fn split_transports(spec: &mut NetSpec) {
    if spec.flows.len() > MAX_FLOWS_BY_PORT {
        return;
    }
    for place in 1..spec.flows.len() {
        let (before, rest) = spec.flows.split_at_mut(place);
        let own = &mut rest[0].transport;
        if before.iter().any(|flow| flow.transport == *own) {
            spec.transports.push(spec.transports[*own].clone());
            *own = spec.transports.len() - 1;
        }
    }
}

/// The one-way delays of the classes of flows, from sample to sample.
pub struct DelaySamples {
    classes: BTreeMap<String, Sampled>,
}

/// Of one class.
#[derive(Default)]
struct Sampled {
    transports: Vec<usize>,
    /// Counted up to the latest sample.
    before: Histogram,
    /// Kept for its memory.
    now: Histogram,
}

impl DelaySamples {
    /// None yet.
    pub fn new(spec: &NetSpec) -> DelaySamples {
        let mut classes: BTreeMap<String, Sampled> = BTreeMap::new();
        for (number, transport) in spec.transports.iter().enumerate() {
            if spec.flows.iter().any(|flow| flow.transport == number) {
                let class = classes.entry(transport.class.clone()).or_default();
                class.transports.push(number);
            }
        }
        DelaySamples { classes }
    }

    /// Call `each` with the delays of each class of which a packet arrived since the call before.
    pub fn sample(&mut self, simulation: &Simulation, mut each: impl FnMut(&str, &Histogram)) {
        for (name, Sampled { transports, before, now }) in &mut self.classes {
            let parts = || transports.iter().flat_map(|&of| simulation.one_way_parts(of));
            let count: u64 = parts().map(Histogram::count).sum();
            if count > before.count() {
                now.clear();
                parts().for_each(|part| now.add(part));
                each(name, &now.since(before));
                swap(before, now);
            }
        }
    }
}

/// One-way delays, and round-trip times.
#[derive(Clone, Default)]
struct Counted {
    one_way: Histogram,
    round_trips: Histogram,
}

/// What was counted of each class up to some time, and of each transport.
pub(super) struct DelayMark {
    classes: BTreeMap<String, Counted>,
    /// By transport, where each has one flow.
    flows: BTreeMap<usize, Counted>,
}

impl DelayMark {
    pub fn of(simulation: &Simulation, spec: &NetSpec) -> DelayMark {
        let mut classes: BTreeMap<String, Counted> = BTreeMap::new();
        let mut flows = BTreeMap::new();
        for (number, transport) in spec.transports.iter().enumerate() {
            let mut of = spec.flows.iter().filter(|flow| flow.transport == number);
            if of.next().is_none() {
                continue;
            }
            let own = Counted {
                one_way: simulation.one_way(number),
                round_trips: simulation.round_trips(number),
            };
            let counted = classes.entry(transport.class.clone()).or_default();
            counted.one_way.add(&own.one_way);
            counted.round_trips.add(&own.round_trips);
            if of.next().is_none() {
                flows.insert(number, own);
            }
        }
        DelayMark { classes, flows }
    }

    /// The delays from `earlier` to this: of all flows together, and by class.
    pub fn since(&self, earlier: &DelayMark) -> (FlowMetrics, BTreeMap<String, FlowMetrics>) {
        let mut all = Counted::default();
        let mut by_class = BTreeMap::new();
        for (name, counted) in &self.classes {
            let window = counted.since(earlier.classes.get(name));
            all.one_way.add(&window.one_way);
            all.round_trips.add(&window.round_trips);
            by_class.insert(name.clone(), window.delays());
        }
        (all.delays(), by_class)
    }

    /// The one-way delays from `earlier` to this, by class; classes without a packet left out.
    pub fn one_way_since(&self, earlier: &DelayMark) -> BTreeMap<String, Histogram> {
        let of = |(name, counted): (&String, &Counted)| {
            let one_way = counted.since(earlier.classes.get(name)).one_way;
            (one_way.count() > 0).then(|| (name.clone(), one_way))
        };
        self.classes.iter().filter_map(of).collect()
    }

    /// The delays from `earlier` to this of the only flow of a transport; None if it has several.
    pub fn of_flow(&self, earlier: &DelayMark, transport: usize) -> Option<FlowMetrics> {
        let counted = self.flows.get(&transport)?;
        Some(counted.since(earlier.flows.get(&transport)).delays())
    }
}

impl Counted {
    /// What was counted since `earlier`.
    fn since(&self, earlier: Option<&Counted>) -> Counted {
        let nothing = Counted::default();
        let before = earlier.unwrap_or(&nothing);
        Counted {
            one_way: self.one_way.since(&before.one_way),
            round_trips: self.round_trips.since(&before.round_trips),
        }
    }

    fn delays(&self) -> FlowMetrics {
        let of = |h: &Histogram, q| h.quantile(q).map(milliseconds);
        let (one_way, rtt) = (&self.one_way, &self.round_trips);
        FlowMetrics {
            one_way_delay_mean_ms: one_way.mean().map(milliseconds),
            one_way_delay_p50_ms: of(one_way, 0.5),
            one_way_delay_p95_ms: of(one_way, 0.95),
            one_way_delay_p99_ms: of(one_way, 0.99),
            rtt_mean_ms: rtt.mean().map(milliseconds),
            rtt_p50_ms: of(rtt, 0.5),
            rtt_p95_ms: of(rtt, 0.95),
            rtt_p99_ms: of(rtt, 0.99),
            ..FlowMetrics::default()
        }
    }
}
