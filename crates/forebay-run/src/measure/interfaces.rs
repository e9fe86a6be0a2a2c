//! What became of the interfaces of INRPP routers.

use super::clock_seconds;
use forebay_base::LinkId;
use forebay_router::inrpp::{CacheLimits, Inrpp, InterfaceView, State};
use forebay_scenario::LinkNames;
use forebay_sim::Simulation;
use serde::Serialize;
use std::collections::BTreeMap;

/// An interface of an INRPP router that has been in another state than P, or has ignored notices.
/// States are "P", "S&D",
/// "B" and "DB".
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceResult {
    /// The directed link that it feeds.
    pub port: String,
    /// When it first came into each state, in seconds; a state in which it never was is absent.
    pub first_entered_s: BTreeMap<&'static str, f64>,
    /// How often it came into each state.
    pub entries: BTreeMap<&'static str, u32>,
    /// Most bytes that its cache held.
    pub highest_cache_bytes: u64,
    /// S_low, S_high and S_total of its cache, in bytes.
    pub cache_limits_bytes: [u64; 3],
    /// Packets that its cache had no room for.
    pub cache_drops: u64,
    /// Bytes on the wire that were to leave through it.
    pub offered_bytes: u64,
    /// Of those the bytes that left on its detours.
    pub detoured_bytes: u64,
    /// Notices that came over the link from its other end and were ignored: where links have keys.
    pub ignored_notices: u64,
}

/// The interface of an INRPP router that feeds a link; None if another kind of node does.
pub fn interface(simulation: &Simulation, link: LinkId) -> Option<InterfaceView<'_>> {
    simulation.router::<Inrpp>(link).map(|(router, port)| router.view(port))
}

/// True once an interface has been in another state than P.
pub fn has_left_push(view: &InterfaceView<'_>) -> bool {
    State::ALL[1..].iter().any(|&state| view.entries()[state as usize] > 0)
}

/// The interfaces in order of their links.
pub(crate) fn interfaces_of(simulation: &Simulation, names: &LinkNames) -> Vec<InterfaceResult> {
    let ids = (0u32..).map(LinkId).zip(names.iter());
    let seen = ids.filter_map(|(id, name)| {
        let shown = |view: &InterfaceView<'_>| has_left_push(view) || view.ignored_notices() > 0;
        let view = interface(simulation, id).filter(shown)?;
        let CacheLimits { low_bytes, high_bytes, total_bytes } = view.limits();
        let states = || State::ALL.iter().map(|state| state.name());
        let first = states().zip(view.first_entered());
        let first = first.filter_map(|(state, at)| Some((state, clock_seconds(at?))));
        let entries = states().zip(view.entries()).filter(|(_, entries)| *entries > 0);
        Some(InterfaceResult {
            port: name.to_string(),
            first_entered_s: first.collect(),
            entries: entries.collect(),
            highest_cache_bytes: view.highest_bytes(),
            cache_limits_bytes: [low_bytes, high_bytes, total_bytes],
            cache_drops: view.dropped_packets(),
            offered_bytes: view.offered_bytes(),
            detoured_bytes: view.detoured_bytes(),
            ignored_notices: view.ignored_notices(),
        })
    });
    seen.collect()
}
