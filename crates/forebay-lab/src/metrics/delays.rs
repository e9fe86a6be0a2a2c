//! How long packets took: one way, and there and back.

use super::measure::milliseconds;
use forebay_base::Histogram;
use forebay_net::NetSpec;
use forebay_report::FlowMetrics;
use forebay_sim::Simulation;
use std::collections::BTreeMap;

/// One-way delays, and round-trip times.
#[derive(Clone, Default)]
struct Counted {
    one_way: Histogram,
    round_trips: Histogram,
}

/// What was counted of each class up to some time.
pub(super) struct DelayMark(BTreeMap<String, Counted>);

impl DelayMark {
    pub fn of(simulation: &Simulation, spec: &NetSpec) -> DelayMark {
        let mut classes: BTreeMap<String, Counted> = BTreeMap::new();
        for (number, transport) in spec.transports.iter().enumerate() {
            if spec.flows.iter().all(|flow| flow.transport != number) {
                continue;
            }
            let counted = classes.entry(transport.class.clone()).or_default();
            counted.one_way.add(&simulation.one_way(number));
            counted.round_trips.add(&simulation.round_trips(number));
        }
        DelayMark(classes)
    }

    /// The delays from `earlier` to this: of all flows together, and by class.
    pub fn since(&self, earlier: &DelayMark) -> (FlowMetrics, BTreeMap<String, FlowMetrics>) {
        let mut all = Counted::default();
        let mut by_class = BTreeMap::new();
        for (name, counted) in &self.0 {
            let before = earlier.0.get(name).cloned();
            let before = before.unwrap_or_default();
            let window = Counted {
                one_way: counted.one_way.since(&before.one_way),
                round_trips: counted.round_trips.since(&before.round_trips),
            };
            all.one_way.add(&window.one_way);
            all.round_trips.add(&window.round_trips);
            by_class.insert(name.clone(), window.delays());
        }
        (all.delays(), by_class)
    }
}

impl Counted {
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
