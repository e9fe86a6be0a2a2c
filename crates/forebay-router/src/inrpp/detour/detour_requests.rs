//! Routers that want to send on a detour over an interface of this one: the answering side.

use super::control::Probe;
use super::meter::LoadMeter;
use super::pair::{FRESH_INTERVALS, MAX_INTERVAL};
use alloc::collections::BTreeMap;
use forebay_base::{PortId, Span, Time};
use forebay_signal::inrpp::RouterId;

/// Contenders for one interface that are counted. More are answered all the same.
const MAX_CONTENDERS: usize = 4096;

/// The last probe of one contender.
#[derive(Clone, Copy, Debug)]
pub(super) struct DetourRequest {
    pub target: RouterId,
    pub sent: Time,
    /// Nothing else limits it.
    pub shares: bool,
    expires: Time,
}

/// Contenders by interface, port to the asker, and primary interface of the asker.
type Contender = (PortId, PortId, PortId);

/// Probes that came, and the traffic that came with them.
#[derive(Clone, Debug)]
pub(super) struct DetourRequests {
    probe_interval: Span,
    requests: BTreeMap<Contender, DetourRequest>,
    /// By interface and port to the asker: what is relayed.
    relayed: BTreeMap<(PortId, PortId), LoadMeter>,
    fresh: LoadMeter,
}

fn all_over(interface: PortId) -> core::ops::RangeInclusive<Contender> {
    (interface, PortId(0), PortId(0))..=(interface, PortId(u16::MAX), PortId(u16::MAX))
}

impl DetourRequests {
    pub fn new(probe_interval: Span, fresh: LoadMeter) -> DetourRequests {
        DetourRequests {
            probe_interval,
            requests: BTreeMap::new(),
            relayed: BTreeMap::new(),
            fresh,
        }
    }

    /// The interval of the asker, within what is sensible.
    pub fn interval_of(&self, probe: &Probe) -> Span {
        probe.interval.clamp(self.probe_interval, MAX_INTERVAL.max(self.probe_interval))
    }

    /// A contender for `interface`, attached to `port`, asks.
    pub fn remember(&mut self, now: Time, interface: PortId, port: PortId, probe: &Probe) {
        self.forget_old(now, interface);
        let key = (interface, port, probe.primary);
        if !self.requests.contains_key(&key) && self.contenders(now, interface) >= MAX_CONTENDERS {
            return;
        }
        let expires = now + self.interval_of(probe) * FRESH_INTERVALS;
        let (target, sent, shares) = (probe.target, probe.sent, !probe.limited);
        self.requests.insert(key, DetourRequest { target, sent, shares, expires });
        self.relayed.entry((interface, port)).or_insert_with(|| self.fresh.clone());
    }

    /// A contender for `interface` gives up.
    pub fn forget(&mut self, interface: PortId, port: PortId, primary: PortId) {
        self.requests.remove(&(interface, port, primary));
    }

    fn forget_old(&mut self, now: Time, interface: PortId) {
        let old = |(_, ask): &(&Contender, &DetourRequest)| ask.expires < now;
        while let Some((&key, _)) = self.requests.range(all_over(interface)).find(old) {
            self.requests.remove(&key);
        }
    }

    /// Contenders for `interface` that have asked within three of their intervals.
    pub fn of(
        &self,
        now: Time,
        interface: PortId,
    ) -> impl Iterator<Item = (PortId, PortId, DetourRequest)> {
        let requests = self.requests.range(all_over(interface));
        requests.filter(move |(_, ask)| now <= ask.expires).map(|(key, ask)| (key.1, key.2, *ask))
    }

    pub fn contenders(&self, now: Time, interface: PortId) -> usize {
        self.of(now, interface).count()
    }

    /// A packet on a detour came by `port` and is put on `interface`.
    pub fn relay(&mut self, now: Time, port: PortId, interface: PortId, bytes: u16) {
        if let Some(meter) = self.relayed.get_mut(&(interface, port)) {
            meter.add(now, bytes);
        }
    }

    /// Load on `interface` from the router at `port` over some intervals, in bytes per second.
    pub fn relayed(&mut self, now: Time, port: PortId, interface: PortId) -> f64 {
        self.relayed.get_mut(&(interface, port)).map_or(0.0, |meter| meter.slow_load(now))
    }

    /// Contenders for `interface` that nothing else limits, and what they have on it in bytes per
    /// second. If several of one router do not agree whether they are limited, all that it relays
    /// counts.
    pub fn sharing(&mut self, now: Time, interface: PortId) -> (usize, f64) {
        let (mut count, mut load, mut last) = (0, 0.0, None);
        let DetourRequests { requests, relayed, .. } = self;
        for ((_, port, _), ask) in requests.range(all_over(interface)) {
            if now > ask.expires || !ask.shares {
                continue;
            }
            count += 1;
            if last != Some(*port) {
                last = Some(*port);
                load += relayed.get_mut(&(interface, *port)).map_or(0.0, |meter| meter.load(now));
            }
        }
        (count, load)
    }
}
