//! What can be read off a run, to compare runs that must not differ.

use forebay_base::{DropReason, FlowId, LinkId, Time};
use forebay_net::NetSpec;
use forebay_sim::{Conservation, FlowOutcome, Simulation, Status};
use forebay_transport::{PathView, Progress, Role};

/// All that can be read off a run, and is not how it was run.
#[derive(Debug, PartialEq)]
pub struct Reading {
    /// The trace hash so far.
    pub trace_hash: u64,
    /// How the last stretch ended.
    pub status: Status,
    /// The time.
    pub now: Time,
    /// Events handled.
    pub events: u64,
    /// Packets serialised.
    pub packet_hops: u64,
    /// Packets sent, split, delivered, dropped and held.
    pub conservation: (u64, u64, u64, u64, u64),
    /// Drops, by reason.
    pub drops: Vec<u64>,
    /// Flows.
    pub flows: Vec<FlowOutcome>,
    /// How far both ends of each flow are, and what their paths show: what series are made of.
    pub ends: Vec<(Option<Progress>, Vec<PathView>)>,
    /// Counts of the links.
    pub links: Vec<String>,
}

/// Read a run of `spec` whose last stretch ended with `status`. Panics if packets were lost to the
/// books.
pub fn read(sim: &Simulation, status: Status, spec: &NetSpec) -> Reading {
    let Conservation { sent, split, delivered, dropped, held, .. } = sim.conservation();
    assert!(sim.conservation().holds(), "{:?}", sim.conservation());
    let link = |id| {
        let link = sim.link(LinkId(id));
        format!("{:?} {:?} {} {:?}", link.stats(), link.busy(), link.queue_bytes(), link.rate())
    };
    let end = |id, role| {
        let connection = sim.connection(FlowId(id), role);
        let views = connection.map(|c| (0..c.paths()).map(|path| c.view(path)).collect());
        (connection.map(|c| c.progress()), views.unwrap_or_default())
    };
    let flows = 0..spec.flows.len() as u32;
    let ends = flows.flat_map(|id| [end(id, Role::Client), end(id, Role::Server)]);
    Reading {
        trace_hash: sim.trace_hash(),
        status,
        now: sim.now(),
        events: sim.events(),
        packet_hops: sim.packet_hops(),
        conservation: (sent, split, delivered, dropped, held),
        drops: DropReason::ALL.iter().map(|&reason| sim.drops().count(reason)).collect(),
        flows: (0..spec.flows.len()).map(|i| sim.flow(FlowId(i as u32))).collect(),
        ends: ends.collect(),
        links: (0..spec.links.len()).map(|i| link(i as u32)).collect(),
    }
}

/// Panics at the first reading that differs, and reports it in a line or two.
pub fn assert_same(together: &[Reading], alone: &[Reading], context: &str) {
    for (together, alone) in together.iter().zip(alone) {
        let links = together.links.iter().zip(&alone.links).enumerate();
        let link = links.into_iter().find(|(_, (a, b))| a != b);
        let flows = together.flows.iter().zip(&alone.flows).enumerate();
        let flow = flows.into_iter().find(|(_, (a, b))| a != b);
        let brief = |r: &Reading| {
            let ends = (r.status, r.now, r.events, r.packet_hops);
            (r.trace_hash, ends, r.conservation, r.drops.clone())
        };
        assert_eq!(brief(together), brief(alone), "{context}: {flow:?} {link:?}");
        let ends = together.ends.iter().zip(&alone.ends).enumerate();
        let end = ends.into_iter().find(|(_, (a, b))| a != b);
        assert!(together == alone, "{context}: {flow:?} {end:?} {link:?}");
    }
}
