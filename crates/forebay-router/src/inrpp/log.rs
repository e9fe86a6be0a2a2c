//! What an interface shows of itself; for series and reports, never fed back.

use super::interface::Interface;
use super::key::FlowKey;
use super::settings::CacheLimits;
use super::state::State;
use alloc::collections::BTreeMap;
use forebay_base::{Packet, Time};

/// Service that a flow has had at an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowTotals {
    /// Bytes on the wire that wait in the cache.
    pub cached_bytes: u64,
    /// Payload that has left, over the link or on a detour.
    pub passed_bytes: u64,
}

/// Counters kept outside the machine.
#[derive(Clone, Debug, Default)]
#[repr(C)] // what every packet touches comes last: see `Port`
pub(super) struct Log {
    /// Payload per flow that has left; only where it is asked for.
    pub passed: BTreeMap<FlowKey, u64>,
    pub state_since: Time,
    /// Of those that it has come into.
    first_entered: [Time; 4],
    pub entries: [u32; 4],
    pub detoured_bytes: u64,
    pub dropped_packets: u64,
    pub ignored_notices: u64,
    pub highest_bytes: u64,
    pub offered_bytes: u64,
    pub sent_bytes: u64,
    last: Option<State>,
}

impl Log {
    /// The state at the last look; P before the first.
    pub fn state(&self) -> State {
        self.last.unwrap_or(State::Push)
    }
    /// A packet of `flow`, of `wire` bytes with `payload` bytes of payload, has left, over the link
    /// or on a detour.
    pub fn left(&mut self, flow: FlowKey, wire: u16, payload: u16, by_flow: bool) {
        self.sent_bytes += wire as u64;
        if by_flow && payload > 0 {
            *self.passed.entry(flow).or_default() += payload as u64;
        }
    }
    /// Look at the interface after something happened to it.
    #[inline]
    pub fn look<T>(&mut self, now: Time, interface: &Interface<T>) {
        self.highest_bytes = self.highest_bytes.max(interface.cache_bytes());
        let state = interface.state();
        if self.last != Some(state) {
            self.last = Some(state);
            self.state_since = now;
            let entries = &mut self.entries[state as usize];
            if *entries == 0 {
                self.first_entered[state as usize] = now;
            }
            *entries += 1;
        }
    }
}

/// An interface, to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct InterfaceView<'a> {
    pub(super) interface: &'a Interface<Packet>,
    pub(super) log: &'a Log,
}

impl<'a> InterfaceView<'a> {
    /// The state.
    pub fn state(&self) -> State {
        self.interface.state()
    }
    /// Since when it is in that state.
    pub fn state_since(&self) -> Time {
        self.log.state_since
    }
    /// When it came into each state first, in order of [`State::ALL`].
    pub fn first_entered(&self) -> [Option<Time>; 4] {
        let Log { first_entered, entries, .. } = self.log;
        core::array::from_fn(|i| (entries[i] > 0).then_some(first_entered[i]))
    }
    /// How often it came into each state. States that were passed through within one instant are
    /// not counted.
    pub fn entries(&self) -> [u32; 4] {
        self.log.entries
    }
    /// Bytes of INRPP data in the cache.
    pub fn cache_bytes(&self) -> u64 {
        self.interface.cache_bytes()
    }
    /// The most that it has been.
    pub fn highest_bytes(&self) -> u64 {
        self.log.highest_bytes
    }
    /// The sizes of the cache.
    pub fn limits(&self) -> CacheLimits {
        self.interface.limits()
    }
    /// Congested interfaces downstream that it holds packets for.
    pub fn nonces(&self) -> usize {
        self.interface.nonces()
    }
    /// Bytes on the wire of all packets that were to leave through it.
    pub fn offered_bytes(&self) -> u64 {
        self.log.offered_bytes
    }
    /// Of those the bytes that have left, over its link or on its detours.
    pub fn sent_bytes(&self) -> u64 {
        self.log.sent_bytes
    }
    /// Of those the bytes that have left on its detours.
    pub fn detoured_bytes(&self) -> u64 {
        self.log.detoured_bytes
    }
    /// Packets that the cache had no room for.
    pub fn dropped_packets(&self) -> u64 {
        self.log.dropped_packets
    }
    /// Notices that came in over its link and were not believed.
    pub fn ignored_notices(&self) -> u64 {
        self.log.ignored_notices
    }
    /// Per flow what waits in the cache and, where [`super::Settings::flow_totals`] is set, what
    /// has left.
    pub fn flows(&self) -> BTreeMap<FlowKey, FlowTotals> {
        let passed = self
            .log
            .passed
            .iter()
            .map(|(&key, &passed_bytes)| (key, FlowTotals { cached_bytes: 0, passed_bytes }));
        let mut flows: BTreeMap<FlowKey, FlowTotals> = passed.collect();
        for (key, cached_bytes) in self.interface.flows() {
            flows.entry(key).or_default().cached_bytes = cached_bytes;
        }
        flows
    }
}
