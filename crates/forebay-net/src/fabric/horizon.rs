//! The horizon: how far early transit may go. It is the earliest of the next sample, the earliest
//! possible end of the run, and now + 1 s.

use super::{Driver, Fabric};
use crate::early_transit::Guard;
use alloc::vec::Vec;
use forebay_base::{FlowId, Span, Time};
use forebay_transport::{Connection, LINGER, Role};

/// A horizon nearer than this is not worth a scan of the rings.
const LEAST: Span = Span::from_millis(2);
/// No horizon is further away. Early transit up to it may happen in one call, in which the run
/// cannot end; and deadlines that hosts meet on the way stay in the agenda until their time.
const MOST: Span = Span::from_secs(1);

/// From the end of a connection to when it is given back, at the next end of another. Its state
/// does not matter any more then, neither to a host whose clock is behind that of the other.
pub fn given_back_after() -> Span {
    LINGER + MOST
}

/// See the module.
pub struct Horizon {
    /// Early transit is possible in this partition.
    useful: bool,
    /// The latest known start of a flow: before it not all flows can have ended.
    last_start: Time,
    /// The next sample.
    look: Time,
    /// When to compute the next horizon.
    review_at: Time,
    /// Unfinished flows that begin here, those with most to send last.
    unfinished_flows: Vec<FlowId>,
}

impl Horizon {
    /// For the part of a run that `fabric` holds.
    pub fn new<D: Driver>(fabric: &Fabric<D>, last_start: Time) -> Horizon {
        let flows = fabric.workload().flows();
        let here = |flow: &FlowId| fabric.is_here(flows[flow.index()].src);
        let (useful, mut unfinished_flows) = (fabric.looks_ahead(), Vec::new());
        if useful {
            unfinished_flows.extend((0..flows.len() as u32).map(FlowId).filter(here));
            // Flows that follow others come last: they end after those.
            unfinished_flows.sort_by_key(|flow| {
                let flow = &flows[flow.index()];
                (flow.after().is_some(), flow.bytes.unwrap_or(u64::MAX))
            });
        }
        Horizon { useful, last_start, look: Time::ZERO, review_at: Time::MAX, unfinished_flows }
    }
    /// Nothing is sampled before `look`.
    pub fn sample_not_before(&mut self, look: Time) {
        if self.look < look && self.useful {
            (self.look, self.review_at) = (look, Time::ZERO);
        }
    }
    /// When [`Horizon::review`] is due.
    #[inline]
    pub fn review_at(&self) -> Time {
        self.review_at
    }
    /// Give `fabric` a new horizon, if there is one.
    #[cold]
    pub fn review<D: Driver>(&mut self, fabric: &mut Fabric<D>, now: Time) {
        let guards = fabric.driver.guards();
        let most = if guards.has(Guard::OneSecond) { now + MOST } else { Time::MAX };
        let look = if guards.has(Guard::NextLook) { self.look } else { Time::MAX };
        let wanted = look.min(most);
        let mut horizon = wanted.min(self.last_start);
        if horizon < wanted && !guards.has(Guard::EndOfRun) {
            horizon = wanted;
        } else if horizon < wanted {
            horizon = wanted.min(self.lasts_until(fabric, now)).max(horizon);
        }
        let ahead = horizon.since(now);
        self.review_at = if horizon == self.look { Time::MAX } else { now + ahead.max(LEAST) / 2 };
        if ahead >= LEAST {
            fabric.extend_horizon(horizon);
        }
    }
    /// A time before which the flows that begin here cannot all have ended.
    fn lasts_until<D: Driver>(&mut self, fabric: &Fabric<D>, now: Time) -> Time {
        while let Some(&flow) = self.unfinished_flows.last() {
            let until = flow_lasts_until(fabric, flow, now);
            if until > now + LEAST {
                return until;
            }
            self.unfinished_flows.pop();
        }
        now
    }
}

/// Limit for a chain of flows that follow each other.
const MAX_WAITING: usize = 8;

/// Lower bound on the end of `flow`.
fn flow_lasts_until<D: Driver>(fabric: &Fabric<D>, mut flow: FlowId, now: Time) -> Time {
    let (workload, mut thinks) = (fabric.workload(), Span::ZERO);
    for _ in 0..MAX_WAITING {
        if let Some(connection) = fabric.connection(flow, Role::Client) {
            let until = |open| connection_lasts_until(fabric, flow, open, now);
            return connection.open().map_or(now, until) + thinks;
        }
        if let Some(start) = fabric.opens_at(flow) {
            return start.max(now) + thinks;
        }
        let spec = &workload.flows()[flow.index()];
        let Some(after) = spec.after().filter(|_| !fabric.is_skipped(flow)) else { return now };
        if spec.stop().is_none() || !fabric.driver.guards().has(Guard::Skipped) {
            // A flow with a stop may never start, which is known when the other ends.
            thinks += workload.think(flow);
        }
        flow = after.flow;
    }
    now + thinks
}

/// Lower bound on the flow's end: unsent bytes at first-link rate or its stop, or the earliest
/// possible abort by RTO.
fn connection_lasts_until<D: Driver>(
    fabric: &Fabric<D>,
    flow: FlowId,
    connection: &Connection,
    now: Time,
) -> Time {
    if connection.is_ended() {
        return now;
    }
    let guards = fabric.driver.guards();
    let spec = &fabric.workload().flows()[flow.index()];
    let first = fabric.link(fabric.first_link(flow));
    let sent_bytes = connection.progress().sent_bytes;
    let sends = match spec.bytes {
        // Its rate may change.
        _ if !first.is_fifo() && guards.has(Guard::ConstantRate) => Span::ZERO,
        None => Span::MAX,
        // Others may carry all of it.
        Some(_) if connection.paths() > 1 && guards.has(Guard::OnePath) => Span::ZERO,
        Some(bytes) => first.rate(now).span_of(bytes.saturating_sub(sent_bytes)),
    };
    let stop = spec.stop().filter(|_| guards.has(Guard::Stop));
    let writes_until = (now + sends).min(stop.map_or(Time::MAX, |stop| stop.max(now)));
    if guards.has(Guard::GivesUp) {
        writes_until.min(connection.gives_up_after(now))
    } else {
        writes_until
    }
}
