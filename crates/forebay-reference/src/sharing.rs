//! Processor sharing over time: flows come, are served at max-min fair rates, and leave.
//!
//! Between two events (a flow comes or leaves, a link changes) rates are constant, so that the next
//! departure is known exactly. Flows that share a route have the same rate: each route has one
//! clock of bytes served, and a flow leaves when it has advanced by what the flow needs.

use super::load::{Demand, Detour, Use};
use super::max_min::PROGRAM_STEPS;
use super::split::{SplitDemand, split};
use super::two_way::TwoWay;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A flow of fluid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluidFlow {
    /// When it comes, in seconds; infinite: set by [`Fluid::serve_after`].
    pub from_s: f64,
    /// When it leaves, whatever it has been served, in seconds; infinite: never.
    pub until_s: f64,
    /// Bytes to serve; None: without end.
    pub bytes: Option<f64>,
    /// Its route: an index into [`Fluid::routes`].
    pub route: u32,
}

impl FluidFlow {
    /// True if it leaves.
    fn ends(&self) -> bool {
        self.bytes.is_some() || self.until_s.is_finite()
    }
}

/// A link changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When, in seconds.
    pub at_s: f64,
    /// The link.
    pub link: u32,
    /// Its capacity from then on, in bytes per second; 0 while it is down.
    pub capacity: f64,
}

/// A network of fluid with its flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fluid {
    /// Capacity of each link at the start, in bytes per second.
    pub capacity: Vec<f64>,
    /// Detours.
    pub detours: Vec<Detour>,
    /// Routes through the network: how a flow on it loads the links.
    pub routes: Vec<Vec<Use>>,
    /// Of routes over several paths those after the first, by index into `routes`. Not beside
    /// detours.
    pub others: BTreeMap<u32, Vec<Vec<Use>>>,
    /// The flows.
    pub flows: Vec<FluidFlow>,
    /// Changes, in order of time.
    pub changes: Vec<Change>,
}

/// What is looked at, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Horizon {
    /// From here on what is served counts for goodput, in seconds.
    pub from_s: f64,
    /// The end, in seconds; infinite: when nothing more happens.
    pub until_s: f64,
}

/// How the flows fared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Served {
    /// When each flow had been served, or left; None if it had not at the end.
    pub done_s: Vec<Option<f64>>,
    /// Bytes of each flow served before [`Horizon::from_s`].
    pub before: Vec<f64>,
    /// Bytes of each flow served at the end.
    pub bytes: Vec<f64>,
    /// When it ended, in seconds.
    pub end_s: f64,
    /// False if the solver failed at times: then some rates were lower than they could be.
    pub exact: bool,
    /// True if ACKs at times took more of a full link than the data of others there: then flows had
    /// less than the links of their data allow.
    pub crowded: bool,
    /// True if ACKs met data at times while a flow had several paths: there ACKs limited their
    /// flows as data does.
    pub met: bool,
}

/// How far a reference is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The share of the flows that has been served, 0.0 to 1.0.
    pub share: f64,
    /// What it has cost: see [`MaxMin::work`](super::MaxMin::work).
    pub work: u64,
}

/// Served bytes closer than this, relative, are the same.
const SAME_BYTES: f64 = 1e-12;
/// Events between two looks at the outside world.
const LOOK_EVERY: u64 = 64;

/// A flow in service, by the bytes at which it leaves; those bytes are positive, so that their bits
/// sort.
type Leaving = BinaryHeap<Reverse<(u64, u32)>>;

/// Flows by a time in seconds that is not negative, so that its bits sort.
type Timed = BinaryHeap<Reverse<(u64, u32)>>;

/// The time of the first.
fn first_s(timed: &Timed) -> f64 {
    timed.peek().map_or(f64::INFINITY, |&Reverse((bits, _))| f64::from_bits(bits))
}
/// The next one at or before `now_s`.
fn next_by(timed: &mut Timed, now_s: f64) -> Option<u32> {
    (first_s(timed) <= now_s).then(|| timed.pop())?.map(|Reverse((_, flow))| flow)
}
/// Which flows come because a flow has left at a time, and when, in seconds.
type DependentFlows<'a> = dyn Fn(u32, f64) -> Vec<(u32, f64)> + 'a;

/// The flows on one route.
#[derive(Debug, Default)]
struct RouteFlows {
    /// Bytes that each flow here has been served since the route was last empty.
    served: f64,
    /// Bytes per second of each.
    rate: f64,
    sized: Leaving,
    endless: Vec<u32>,
}

impl RouteFlows {
    fn flows(&self) -> usize {
        self.sized.len() + self.endless.len()
    }
    /// Seconds until the next flow leaves.
    fn leaves_in(&self) -> f64 {
        let Some(&Reverse((bits, _))) = self.sized.peek() else { return f64::INFINITY };
        let left = (f64::from_bits(bits) - self.served).max(0.0);
        if left == 0.0 { 0.0 } else { left / self.rate }
    }
    /// The next flow that has been served.
    fn leave(&mut self) -> Option<u32> {
        let &Reverse((bits, flow)) = self.sized.peek()?;
        let tag = f64::from_bits(bits);
        if tag - self.served > tag * SAME_BYTES {
            return None;
        }
        self.sized.pop();
        Some(flow)
    }
}

struct Clock<'a> {
    fluid: &'a Fluid,
    solver: TwoWay,
    capacity: Vec<f64>,
    routes: Vec<RouteFlows>,
    /// The routes that have flows, in order of their numbers.
    busy: Vec<u32>,
    /// What its route had served when a flow came; None before that and after it left.
    entry: Vec<Option<f64>>,
    now_s: f64,
    served: Served,
    /// Those that will leave at a time of their own.
    stopping: Timed,
    /// Those that have left and have no successor yet.
    left: Vec<u32>,
    /// Rates over several paths could not be solved at times.
    failed: bool,
    /// Work on those.
    split_work: u64,
}

impl Fluid {
    /// Serve the flows. `look` receives now and then how far that is, and says whether to go on;
    /// None if it did not want to.
    pub fn serve(&self, horizon: Horizon, look: &mut dyn FnMut(Look) -> bool) -> Option<Served> {
        self.serve_after(horizon, look, &|_, _| Vec::new())
    }
    /// The same with flows that come when others have left: `followers` says which come because a
    /// flow has left at a time, and when.
    pub fn serve_after(
        &self,
        horizon: Horizon,
        look: &mut dyn FnMut(Look) -> bool,
        followers: &DependentFlows<'_>,
    ) -> Option<Served> {
        self.without_idle_links().serve_lean(horizon, look, followers)
    }

    /// The same network without the links that never limit anyone: of those that one route has for
    /// itself, all but the narrowest.
    fn without_idle_links(&self) -> Fluid {
        let mut routes = vec![0u32; self.capacity.len()];
        self.routes.iter().flatten().for_each(|used| routes[used.link as usize] += 1);
        // What one path does not need another may.
        let shared = self.others.iter().flat_map(|(&id, others)| {
            others.iter().flatten().chain(&self.routes[id as usize]).map(|used| used.link)
        });
        let legs = self.detours.iter().flat_map(|d| [d.link, d.legs[0], d.legs[1]]);
        legs.chain(self.changes.iter().map(|change| change.link))
            .chain(shared)
            .for_each(|link| routes[link as usize] = u32::MAX);
        let own = |used: &Use| routes[used.link as usize] == 1;
        let level = |used: &Use| self.capacity[used.link as usize] / used.weight;
        let lean = |uses: &Vec<Use>| {
            let own_levels = uses.iter().filter(|used| own(used)).map(level);
            let narrowest = own_levels.fold(f64::INFINITY, f64::min);
            uses.iter().filter(|used| !own(used) || level(used) <= narrowest).copied().collect()
        };
        Fluid { routes: self.routes.iter().map(lean).collect(), ..self.clone() }
    }

    fn serve_lean(
        &self,
        horizon: Horizon,
        look: &mut dyn FnMut(Look) -> bool,
        followers: &DependentFlows<'_>,
    ) -> Option<Served> {
        let known = (0..).zip(&self.flows).filter(|(_, flow)| flow.from_s.is_finite());
        let mut coming: Timed =
            known.map(|(id, flow)| Reverse((flow.from_s.to_bits(), id))).collect();
        let mut changes = self.changes.iter().peekable();
        let mut clock = Clock::new(self);
        let mut marked = false;
        for event in 0u64.. {
            if event.is_multiple_of(LOOK_EVERY) && !look(clock.look()) {
                return None;
            }
            let came = first_s(&coming).min(first_s(&clock.stopping));
            let changed = changes.peek().map_or(f64::INFINITY, |c| c.at_s);
            let (route, left) = clock.next_departure();
            let next_s = came.min(changed).min(left);
            if !marked && horizon.from_s <= next_s.min(horizon.until_s) {
                clock.advance(horizon.from_s.max(clock.now_s).min(horizon.until_s), None);
                clock.mark();
                marked = true;
                continue;
            }
            if next_s >= horizon.until_s || next_s == f64::INFINITY {
                let end_s = if horizon.until_s.is_finite() { horizon.until_s } else { clock.now_s };
                clock.advance(end_s.max(clock.now_s), None);
                break;
            }
            clock.advance(next_s, (left == next_s).then_some(route));
            while let Some(flow) = next_by(&mut clock.stopping, next_s) {
                clock.stop(flow);
            }
            while let Some(flow) = next_by(&mut coming, next_s) {
                clock.come(flow);
            }
            for flow in std::mem::take(&mut clock.left) {
                let left_s = clock.served.done_s[flow as usize].unwrap_or(next_s);
                let next = followers(flow, left_s).into_iter();
                coming.extend(next.map(|(next, at_s)| Reverse((at_s.max(next_s).to_bits(), next))));
            }
            while let Some(change) = changes.next_if(|c| c.at_s <= next_s) {
                clock.capacity[change.link as usize] = change.capacity;
            }
            clock.share_out();
        }
        Some(clock.finish())
    }

    fn flow(&self, id: u32) -> &FluidFlow {
        &self.flows[id as usize]
    }
}

impl<'a> Clock<'a> {
    fn new(fluid: &'a Fluid) -> Clock<'a> {
        let flows = fluid.flows.len();
        Clock {
            fluid,
            solver: TwoWay::new(fluid.capacity.len(), &fluid.detours, &fluid.routes),
            capacity: fluid.capacity.clone(),
            routes: fluid.routes.iter().map(|_| RouteFlows::default()).collect(),
            busy: Vec::new(),
            entry: vec![None; flows],
            now_s: 0.0,
            served: Served {
                done_s: vec![None; flows],
                before: vec![0.0; flows],
                bytes: vec![0.0; flows],
                ..Served::default()
            },
            stopping: Timed::default(),
            left: Vec::new(),
            failed: false,
            split_work: 0,
        }
    }

    fn look(&self) -> Look {
        let sized = self.fluid.flows.iter().filter(|flow| flow.ends()).count();
        let done = self.served.done_s.iter().flatten().count();
        let work = self.solver.work() + self.split_work;
        Look { share: done as f64 / sized.max(1) as f64, work }
    }

    /// The route on which a flow leaves next, and when.
    fn next_departure(&self) -> (u32, f64) {
        let due = self.busy.iter().map(|&route| (route, self.routes[route as usize].leaves_in()));
        let next = due.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::INFINITY));
        (next.0, self.now_s + next.1)
    }

    /// Serve until `to_s`. What has been served then leaves; on `route` that is its next flow,
    /// whatever rounding says.
    fn advance(&mut self, to_s: f64, route: Option<u32>) {
        let span_s = to_s - self.now_s;
        self.now_s = to_s;
        for &id in &self.busy {
            let route = &mut self.routes[id as usize];
            route.served += route.rate * span_s;
        }
        if let Some(route) = route {
            let route = &mut self.routes[route as usize];
            let &Reverse((bits, _)) = route.sized.peek().expect("a flow leaves");
            route.served = route.served.max(f64::from_bits(bits));
        }
        let mut emptied = false;
        for &id in &self.busy {
            let route = &mut self.routes[id as usize];
            while let Some(flow) = route.leave() {
                self.served.done_s[flow as usize] = Some(to_s);
                self.served.bytes[flow as usize] =
                    self.fluid.flow(flow).bytes.expect("an endless flow does not leave");
                self.entry[flow as usize] = None;
                self.left.push(flow);
            }
            if route.flows() == 0 {
                *route = RouteFlows::default();
                emptied = true;
            }
        }
        if emptied {
            self.busy.retain(|&id| self.routes[id as usize].flows() > 0);
        }
    }

    fn come(&mut self, flow: u32) {
        let &FluidFlow { bytes, route: id, until_s, .. } = self.fluid.flow(flow);
        let bytes = if until_s <= self.now_s { Some(0.0) } else { bytes };
        let route = &mut self.routes[id as usize];
        match bytes {
            Some(bytes) if bytes <= 0.0 => {
                self.served.done_s[flow as usize] = Some(self.now_s);
                self.left.push(flow);
                return;
            }
            Some(bytes) => route.sized.push(Reverse(((route.served + bytes).to_bits(), flow))),
            None => route.endless.push(flow),
        }
        self.entry[flow as usize] = Some(route.served);
        if until_s.is_finite() {
            self.stopping.push(Reverse((until_s.to_bits(), flow)));
        }
        if let Err(place) = self.busy.binary_search(&id) {
            self.busy.insert(place, id);
        }
    }

    /// A flow leaves, unless it has before.
    fn stop(&mut self, flow: u32) {
        let Some(entry) = self.entry[flow as usize].take() else { return };
        let id = self.fluid.flow(flow).route;
        let route = &mut self.routes[id as usize];
        self.served.bytes[flow as usize] = route.served - entry;
        self.served.done_s[flow as usize] = Some(self.now_s);
        self.left.push(flow);
        route.sized.retain(|&Reverse((_, other))| other != flow);
        route.endless.retain(|&other| other != flow);
        if route.flows() == 0 {
            *route = RouteFlows::default();
            self.busy.retain(|&busy| busy != id);
        }
    }

    /// New rates.
    fn share_out(&mut self) {
        if self.busy.iter().any(|id| self.fluid.others.contains_key(id)) {
            return self.split_out();
        }
        let demands: Vec<Demand<'_>> = self
            .busy
            .iter()
            .map(|&id| Demand {
                uses: &self.fluid.routes[id as usize],
                flows: self.routes[id as usize].flows() as f64,
            })
            .collect();
        let rates = self.solver.rates(&self.capacity, &demands);
        for (&id, &rate) in self.busy.iter().zip(rates) {
            self.routes[id as usize].rate = rate;
        }
    }

    /// New rates where a flow has several paths.
    fn split_out(&mut self) {
        let demand = |&id: &u32| {
            let others = self.fluid.others.get(&id).into_iter().flatten();
            let paths = std::iter::once(&self.fluid.routes[id as usize]).chain(others);
            let flows = self.routes[id as usize].flows() as f64;
            SplitDemand { paths: paths.map(Vec::as_slice).collect(), flows }
        };
        let demands: Vec<SplitDemand<'_>> = self.busy.iter().map(demand).collect();
        let used = demands.iter().flat_map(|demand| &demand.paths).map(|path| path.len());
        self.split_work += PROGRAM_STEPS * used.sum::<usize>() as u64;
        let found = split(&self.capacity, &demands);
        for (&id, &rate) in self.busy.iter().zip(&found.rates) {
            self.routes[id as usize].rate = rate;
        }
        self.served.met |= found.met;
        self.failed |= found.degraded;
    }

    fn served_now(&self, flow: usize) -> f64 {
        match self.entry[flow] {
            Some(entry) => self.routes[self.fluid.flows[flow].route as usize].served - entry,
            None => self.served.bytes[flow],
        }
    }

    fn mark(&mut self) {
        self.served.before = (0..self.entry.len()).map(|flow| self.served_now(flow)).collect();
    }

    fn finish(mut self) -> Served {
        self.served.bytes = (0..self.entry.len()).map(|flow| self.served_now(flow)).collect();
        self.served.end_s = self.now_s;
        self.served.exact = !self.solver.degraded() && !self.failed;
        self.served.crowded = self.solver.crowded();
        self.served
    }
}
