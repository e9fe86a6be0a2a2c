//! A run: how it is built, advanced and read.

mod build;
mod recorded;

pub use recorded::{RecordedSite, Recording};

use self::build::Build;
use self::recorded::Recorded;
use crate::division::Division;
use crate::driver::SimDriver;
use crate::foreign::ForeignEnd;
use crate::injection::Injection;
use crate::observe::Observer;
use crate::outcome::{FlowOutcome, LinkOutcome, completed_at};
use crate::partition::Partition;
use crate::partitioning::FewerThreads;
use crate::trace::TraceSum;
use crate::trial::{Trial, Verdict};
use crate::windows::{CpuClock, Effort, Rules, WallClock};
use forebay_base::{DropLog, FlowId, Histogram, LinkId, NodeId, PortId, Span, Time};
use forebay_net::{Conservation, Fabric, FlowSpec, LinkEarlyTransit, NetSpec, SpecError, Workload};
use forebay_router::Forwarding;
use forebay_transport::{ConnectionView, Role};
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

/// How to run, as opposed to what.
#[derive(Default)]
pub struct Options {
    /// Emit every packet to bytes and parse it back on every link. The trace hash stays the same.
    pub bytes: bool,
    /// Use the simple event heap, and do nothing before its time. The trace hash stays the same.
    pub binary_heap: bool,
    /// Make no trace hash. It is then that of a run without arrivals.
    pub without_hash: bool,
    /// Build every link the general way, two events per packet. The trace hash stays the same.
    pub all_queued: bool,
    /// Take the general path everywhere, to check the fast paths: all of the above but `bytes`, and
    /// connections without their fast path. The trace hash stays the same.
    pub general: bool,
    /// The observer, which receives every packet event. A run with an observer uses one thread.
    pub observer: Option<Box<dyn Observer>>,
    /// Packets from outside, in order of time.
    pub injections: Vec<Injection>,
    /// Maximum number of threads; 0 and 1: the caller's only. Fewer are used if the network cannot
    /// be divided among that many, or if a trial by [`Options::wall_clock`] shows that they are not
    /// faster. No other result of the run depends on it.
    pub threads: usize,
    /// Do again what a run over real wires did. Nothing else here but the observer is then used.
    pub recording: Option<Recording>,
    /// Measures [`Simulation::effort`].
    pub cpu_clock: Option<CpuClock>,
    /// Both clocks tell whether several threads are faster than one; if not, one goes on. Without
    /// one of them, and with [`Options::clocks_windows`], the run uses `threads` whatever they
    /// cost.
    pub wall_clock: Option<WallClock>,
    /// Measure each window with the CPU clock, for work and critical path. That is a system call or
    /// two for each window and partition: where windows are short, a large part of the run.
    pub clocks_windows: bool,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Events are pending.
    Running,
    /// Every flow has an end, and has ended at both hosts; and the run is over.
    FlowsEnded,
    /// Nothing will ever happen again.
    Quiet,
}

/// Packets are not conserved: the results mean nothing. Some machine has lost a packet or made one
/// that it did not count: a discipline, a scheme or a router from outside, or this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConservationError {
    /// Time of the run when it was noticed.
    pub at: Time,
    /// The counts.
    pub conservation: Conservation,
}

impl fmt::Display for ConservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConservationError { at, conservation } = self;
        write!(f, "packets are not conserved at {at}: {conservation:?}")
    }
}

impl std::error::Error for ConservationError {}

/// Conservation is checked when a run is over, and each time that it has handled this many events
/// for each node and link: the cost is negligible.
const EVENTS_BETWEEN_BALANCES: u64 = 16;

/// The bounds of the grid on which runs end.
const FINEST_GRID: Span = Span::from_micros(100);
const COARSEST_GRID: Span = Span::from_millis(10);

/// One simulation.
///
/// A run in which every flow ends itself ends at the first multiple of a step at or after the end
/// of the last flow, with all events of that instant. The step is the longest delay of a link at
/// the start, at least 100 us and at most 10 ms: it depends on the network only. So several
/// threads, none of which knows at once what the others do, end a run where one thread ends it.
pub struct Simulation {
    now: Time,
    /// What runs.
    active: Division,
    /// Whether several threads are faster is not known so far.
    trial: Option<Box<Trial>>,
    /// See [`Simulation::sample_not_before`].
    look: Time,
    /// Drops of all parts.
    drops: DropLog,
    effort: Effort,
    divided_for: usize,
    fewer: Option<FewerThreads>,
    /// The number of events at the next check of conservation, and the events between two checks.
    balance_at: u64,
    balance_every: u64,
    /// For a run that does again what another did over real wires.
    recorded: Option<Box<Recorded>>,
    /// Ends of flows at hosts with another stack, in such a run.
    foreign: Vec<ForeignEnd>,
}

impl Simulation {
    /// Build a run. Nothing has happened yet.
    pub fn new(spec: &NetSpec, seed: u64, mut options: Options) -> Result<Simulation, SpecError> {
        if let Some(recording) = options.recording.take() {
            return Simulation::of_recording(spec, seed, recording, options.observer);
        }
        let general = options.general.then(|| without_fast_path(spec));
        let spec = general.as_ref().unwrap_or(spec);
        let threads = options.threads.max(1);
        let observer = options.observer.take();
        let build = Build::new(spec, seed, &options);
        let is_clocked = options.wall_clock.is_some() && options.cpu_clock.is_some();
        let is_tried = is_clocked && !options.clocks_windows;
        if threads == 1 || observer.is_some() || !is_tried {
            let (active, fewer) = build.divided(threads, observer)?;
            return Ok(Simulation { fewer, ..Simulation::of_division(spec, active) });
        }
        // Both are built at a time.
        let (whole, divided) = thread::scope(|scope| {
            let divided = scope.spawn(|| build.divided(threads, None));
            (build.divided(1, None), divided.join())
        });
        let (active, _) = whole?;
        let (partitions, fewer) = divided.unwrap_or_else(|panic| resume_unwind(panic))?;
        let divided_for = partitions.threads();
        let trial = (divided_for > 1).then(|| Trial::of(partitions));
        Ok(Simulation { fewer, trial, divided_for, ..Simulation::of_division(spec, active) })
    }

    /// At the start.
    fn of_division(spec: &NetSpec, active: Division) -> Simulation {
        Simulation {
            now: Time::ZERO,
            divided_for: active.threads(),
            active,
            trial: None,
            look: Time::ZERO,
            drops: DropLog::default(),
            effort: Effort::default(),
            fewer: None,
            balance_at: 0,
            balance_every: balance_every(spec),
            recorded: None,
            foreign: Vec::new(),
        }
    }

    /// Run all events up to and including `limit`, or to the end of the run, if every flow ends
    /// before.
    ///
    /// Err if packets are not conserved ([`Simulation::conservation`]). This is checked in the
    /// first call, in each call in which the run is over, and now and then in others.
    pub fn run_until(&mut self, limit: Time) -> Result<Status, ConservationError> {
        let status = self.advance(limit);
        let events = self.events();
        if status == Status::Running && events < self.balance_at {
            return Ok(status);
        }
        self.balance_at = events + self.balance_every;
        match self.conservation() {
            conservation if conservation.holds() => Ok(status),
            conservation => Err(ConservationError { at: self.now, conservation }),
        }
    }

    fn advance(&mut self, limit: Time) -> Status {
        let look = self.look.max(limit);
        let (active, effort) = (&mut self.active, &mut self.effort);
        if let Some(recorded) = &mut self.recorded {
            active.sample_not_before(look);
            active.end = recorded.run(&mut active.parts, &active.rules, active.end, limit);
        } else if let Some(trial) = self.trial.take() {
            match trial.run(active, limit, look, effort) {
                Verdict::Open(trial) => self.trial = Some(trial),
                Verdict::Threads => {}
                Verdict::One(why) => self.fewer = Some(why),
            }
        } else {
            active.sample_not_before(look);
            active.run(limit, effort);
        }
        self.now = self.now.max(self.active.end.map_or(limit, |end| end.min(limit)));
        for part in &mut self.active.parts {
            part.site.fabric.catch_up_all(self.now);
        }
        let parts = &self.active.parts;
        if parts.len() > 1 {
            self.drops = DropLog::default();
            parts.iter().for_each(|part| self.drops.add(part.site.fabric.drops()));
        }
        match self.active.end {
            Some(end) if end <= self.now => Status::FlowsEnded,
            Some(_) => Status::Running,
            // What wires will bring is not known to the places.
            None if self.recorded.is_some() => Status::Running,
            None if parts.iter().all(|part| part.site.is_quiet(self.now)) => Status::Quiet,
            None => Status::Running,
        }
    }

    /// While the trial of several threads lasts, the run that waits goes on in place of the other
    /// one. Partitions that wait go to `raced_to` before, at the latest to now. Gives whether a
    /// trial lasts.
    ///
    /// In a trial clocks decide when this happens; with this, a test decides.
    #[doc(hidden)]
    pub fn take_over(&mut self, raced_to: Time) -> bool {
        let (look, raced_to) = (self.look.max(self.now), raced_to.min(self.now));
        if let Some(trial) = &mut self.trial {
            trial.take_over(&mut self.active, raced_to, look);
        }
        self.trial.is_some()
    }

    /// Nothing will be sampled before `look`, even if calls run for shorter stretches: until then
    /// results may be ahead of the clock.
    pub fn sample_not_before(&mut self, look: Time) {
        self.look = look;
    }

    fn fabric_of(&self, node: NodeId) -> &Fabric<SimDriver> {
        &self.active.parts[self.active.owner[node.index()] as usize].site.fabric
    }
    /// The part in which a link begins, and the one in which it ends.
    fn fabrics_of(&self, link: LinkId) -> (&Fabric<SimDriver>, &Fabric<SimDriver>) {
        let (from, to) = self.active.parts[0].site.fabric.link_nodes(link);
        (self.fabric_of(from), self.fabric_of(to))
    }

    /// Now.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Events handled.
    pub fn events(&self) -> u64 {
        self.active.events()
    }
    /// Events that early transit has handled.
    pub fn early_transit_events(&self) -> u64 {
        self.active.parts.iter().map(|part| part.site.fabric.early_transit_done().0).sum()
    }
    /// Packets fully serialised on a link, each link counted.
    pub fn packet_hops(&self) -> u64 {
        let of_part = |part: &Partition| -> u64 {
            part.site.fabric.links().map(|link| link.serialized_packets(self.now)).sum()
        };
        self.active.parts.iter().map(of_part).sum()
    }
    /// The trace hash so far.
    pub fn trace_hash(&self) -> u64 {
        let mut all = TraceSum::default();
        self.active.parts.iter().for_each(|part| all.add(part.site.fabric.driver.trace()));
        all.finish()
    }
    /// Drops so far.
    pub fn drops(&self) -> &DropLog {
        match self.active.parts.as_slice() {
            [part] => part.site.fabric.drops(),
            _ => &self.drops,
        }
    }
    /// The workload.
    pub fn workload(&self) -> &Workload {
        self.active.parts[0].site.fabric.workload()
    }
    /// The connection at an end of a flow, once it exists.
    pub fn connection(&self, flow: FlowId, role: Role) -> Option<ConnectionView<'_>> {
        let spec = &self.workload().flows()[flow.index()];
        let node = if role == Role::Client { spec.src } else { spec.dst };
        self.fabric_of(node).connection(flow, role)
    }
    /// The result of a flow so far.
    pub fn flow(&self, flow: FlowId) -> FlowOutcome {
        let spec = &self.workload().flows()[flow.index()];
        let skipped = self.fabric_of(spec.src).is_skipped(flow);
        let connection = |role| self.connection(flow, role);
        let (client, server) = (connection(Role::Client), connection(Role::Server));
        let skipped = skipped || spec.is_spare() && client.is_none();
        let mut outcome = FlowOutcome::new(self.now, skipped, client, server);
        let ends = [Role::Client, Role::Server].map(|role| self.foreign(flow, role));
        ends.into_iter().flatten().for_each(|end| end.amend(&mut outcome, self.now));
        outcome
    }
    /// An end of a flow at a host with another stack, in a run over real wires.
    pub fn foreign(&self, flow: FlowId, role: Role) -> Option<&ForeignEnd> {
        self.foreign.iter().find(|end| (end.flow, end.role) == (flow, role))
    }
    /// Bytes of a flow in order at its receiver so far.
    pub fn received_bytes(&self, flow: FlowId) -> u64 {
        match self.connection(flow, Role::Server) {
            Some(server) => server.progress().received_bytes,
            None => self.foreign_bytes(flow),
        }
    }
    /// Payload of a flow that has arrived at its receiver so far, in order or beyond a hole.
    pub fn arrived_bytes(&self, flow: FlowId) -> u64 {
        match self.connection(flow, Role::Server) {
            Some(server) => server.arrived_bytes(),
            None => self.foreign_bytes(flow),
        }
    }
    fn foreign_bytes(&self, flow: FlowId) -> u64 {
        self.foreign(flow, Role::Server).map_or(0, |end| end.stream_bytes(self.now))
    }
    /// When a flow was opened, and when its sender ended, so far.
    pub fn sender_life(&self, flow: FlowId) -> [Option<Time>; 2] {
        if let Some(client) = self.connection(flow, Role::Client) {
            let progress = client.progress();
            return [progress.opened_at, progress.ended.map(|(_, at)| at)];
        }
        let sender = self.foreign(flow, Role::Client);
        sender.map_or([None; 2], |end| {
            [end.opened_by(self.now), end.ended_by(self.now).map(|(_, at)| at)]
        })
    }
    /// When all of a flow was at its receiver: [`FlowOutcome::completed_at`] alone.
    pub fn completed_at(&self, flow: FlowId) -> Option<Time> {
        match self.connection(flow, Role::Server) {
            Some(server) => completed_at(server),
            None => self.foreign(flow, Role::Server)?.completed_by(self.now),
        }
    }
    /// One-way delays of data packets so far, for flows with this transport: from when a socket
    /// makes a packet to when the other takes it. Each transmission counts.
    pub fn one_way(&self, transport: usize) -> Histogram {
        let mut all = Histogram::default();
        self.one_way_parts(transport).for_each(|part| all.add(part));
        all
    }
    /// Histograms that together are [`Simulation::one_way`].
    pub fn one_way_parts(&self, transport: usize) -> impl Iterator<Item = &Histogram> {
        self.active.parts.iter().map(move |part| part.site.fabric.one_way(transport))
    }
    /// Round-trip times that senders saw so far, for flows with this transport, on all their paths.
    pub fn round_trips(&self, transport: usize) -> Histogram {
        let mut all = Histogram::default();
        let fabrics = self.active.parts.iter().map(|part| &part.site.fabric);
        fabrics.for_each(|fabric| all.add(fabric.closed_round_trips(transport)));
        let flows = (0..).zip(self.workload().flows());
        for (id, _) in flows.filter(|(_, flow)| flow.transport == transport) {
            let sender = self.connection(FlowId(id), Role::Client).and_then(ConnectionView::open);
            let Some(sender) = sender else { continue };
            (0..sender.paths()).for_each(|path| all.add(sender.round_trips(path)));
        }
        all
    }
    /// The result of a link so far.
    pub fn link(&self, link: LinkId) -> LinkOutcome<'_> {
        let (from, _) = self.active.parts[0].site.fabric.link_nodes(link);
        LinkOutcome { link: self.fabric_of(from).link(link), now: self.now }
    }
    /// The early transit that a link is eligible for in this run, or why not.
    pub fn early_transit(&self, link: LinkId) -> LinkEarlyTransit {
        self.fabrics_of(link).0.early_transit(link)
    }
    /// The forwarding of the router where a link begins, and its port there. None if it is not a
    /// `T`.
    pub fn router<T: Forwarding>(&self, link: LinkId) -> Option<(&T, PortId)> {
        let fabric = self.fabrics_of(link).0;
        let (node, _) = fabric.link_nodes(link);
        Some((fabric.forwarding(node)?.get()?, fabric.port_of(link)))
    }
    /// What became of every packet so far.
    pub fn conservation(&self) -> Conservation {
        let parts = self.active.parts.iter().map(|part| part.site.fabric.conservation());
        parts.reduce(Conservation::with).expect("a run has a part")
    }
    /// Threads that the run uses, where there is enough to do for them.
    pub fn threads(&self) -> usize {
        self.active.threads()
    }
    /// Threads that the network was divided for, whether they are used or not.
    pub fn divided_for(&self) -> usize {
        self.divided_for
    }
    /// Why it uses fewer threads than allowed, if it does.
    pub fn fewer_threads(&self) -> Option<FewerThreads> {
        let short = self.trial.is_some() && self.threads() == 1;
        let percent = self.active.fallback.percent();
        let fallback = (percent >= 50).then_some(FewerThreads::SerialFallback(percent));
        self.fewer.or(short.then_some(FewerThreads::Idle)).or(fallback)
    }
    /// The cost of several threads.
    pub fn effort(&self) -> Effort {
        self.effort
    }
}

/// The same network, with every connection on the general path.
fn without_fast_path(spec: &NetSpec) -> NetSpec {
    let mut spec = spec.clone();
    for transport in &mut spec.transports {
        Arc::make_mut(&mut transport.config).fast_path = false;
    }
    spec
}

/// How a run ends, with nothing between partitions.
fn rules_of(spec: &NetSpec, clock: Option<CpuClock>) -> Rules {
    let last_start = spec.flows.iter().filter_map(FlowSpec::known_start).max();
    let (lookahead, last_start) = (Span::ZERO, last_start.unwrap_or(Time::MAX));
    Rules {
        lookahead,
        grid: grid(spec),
        last_start,
        clock,
        wall_clock: None,
        clocks_windows: false,
    }
}

/// Events between two checks of conservation.
fn balance_every(spec: &NetSpec) -> u64 {
    (spec.nodes.len() + spec.links.len()) as u64 * EVENTS_BETWEEN_BALANCES
}

/// The step of the grid on which a run ends.
fn grid(spec: &NetSpec) -> Span {
    let longest = spec.links.iter().map(|link| link.wire.delay).max();
    longest.unwrap_or(FINEST_GRID).clamp(FINEST_GRID, COARSEST_GRID)
}
