//! A run: how it is built, advanced and read.

mod recorded;

pub use recorded::{RecordedSite, Recording};

use self::recorded::Recorded;
use crate::driver::SimDriver;
use crate::event_queue::EventQueue;
use crate::foreign::ForeignEnd;
use crate::injection::{Entrant, Injection};
use crate::observe::Observer;
use crate::outcome::{FlowOutcome, LinkOutcome, completed_at};
use crate::partition::Partition;
use crate::partitioning::{FewerThreads, Partitioning, divide};
use crate::serial_fallback::SerialFallback;
use crate::spec_parts::events_of_parts;
use crate::trace::TraceSum;
use crate::windows::{CpuClock, Effort, Rules, WindowSync};
use forebay_base::{DropLog, FlowId, Histogram, LinkId, NodeId, PortId, Span, Time};
use forebay_net::{
    Conservation, Fabric, FlowSpec, Horizon, Knowledge, LinkEarlyTransit, NetSpec, Network,
    SpecError, Workload,
};
use forebay_router::Forwarding;
use forebay_transport::{Connection, Role};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

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
    /// be divided among that many. No other result of the run depends on it.
    pub threads: usize,
    /// Do again what a run over real wires did. Nothing else here but the observer is then used.
    pub recording: Option<Recording>,
    /// Measures [`Simulation::effort`].
    pub cpu_clock: Option<CpuClock>,
    /// Measure each window with it, for work and critical path. That is a system call or two for
    /// each window and partition: where windows are short, a large part of the run.
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
    parts: Vec<Partition>,
    /// The part of each node.
    owner: Vec<u16>,
    rules: Rules,
    /// When the run ends, once that is known.
    end: Option<Time>,
    /// See [`Simulation::sample_not_before`].
    look: Time,
    /// Drops of all parts.
    drops: DropLog,
    meeting: WindowSync,
    /// The same of one thread, for windows that hold little.
    alone: WindowSync,
    thin: SerialFallback,
    effort: Effort,
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
    pub fn new(spec: &NetSpec, seed: u64, options: Options) -> Result<Simulation, SpecError> {
        if let Some(recording) = options.recording {
            return Simulation::of_recording(spec, seed, recording, options.observer);
        }
        let general = options.general.then(|| without_fast_path(spec));
        let spec = general.as_ref().unwrap_or(spec);
        let all_queued = options.all_queued || options.general;
        let binary_heap = options.binary_heap || options.general;
        let network = Network::build(spec, seed, all_queued)?;
        check_injections(&options.injections, &network)?;
        let threads = options.threads.max(1);
        let division = match &options.observer {
            None if threads > 1 && spec.forgeries().any(|f| f.knows == Knowledge::Sequence) => {
                Partitioning::whole(spec, Some(FewerThreads::Forged))
            }
            Some(_) if threads > 1 => Partitioning::whole(spec, Some(FewerThreads::Observed)),
            _ => divide(spec, &network, threads),
        };
        let Partitioning { owner, parts, threads, lookahead, fewer } = division;
        let senders = senders(spec, &owner, parts);
        let mut observer = options.observer;
        // The simple engine is the reference for early transit. Packets from outside and forged
        // ones may come from anywhere.
        let only_own = options.injections.is_empty() && spec.forgeries().next().is_none();
        let looks_ahead = !binary_heap && !options.bytes && only_own;
        let mut driver = || {
            let agenda = if binary_heap { EventQueue::binary() } else { EventQueue::calendar() };
            SimDriver::new(agenda, !options.without_hash, observer.take(), looks_ahead)
        };
        let fabrics = if parts == 1 {
            vec![Fabric::whole(network, spec, driver())]
        } else {
            let networks = network.split(spec, &owner, parts);
            Fabric::of_partitions(networks, spec, &owner, driver)
        };
        let mut events = events_of_parts(spec, &owner, parts);
        let mut injections = injections_of_parts(options.injections, &owner, parts);
        let clocks_windows = options.clocks_windows;
        let rules = Rules { lookahead, clocks_windows, ..rules_of(spec, options.cpu_clock) };
        let start = |(here, mut fabric): (usize, Fabric<SimDriver>)| {
            fabric.start();
            let (events, injections) =
                (std::mem::take(&mut events[here]), std::mem::take(&mut injections[here]));
            let horizon = Horizon::new(&fabric, rules.last_start);
            Partition::new(fabric, events, injections, options.bytes, horizon)
        };
        let parts: Vec<Partition> = fabrics.into_iter().enumerate().map(start).collect();
        let whole = Simulation::of_parts(spec, parts, owner, rules);
        Ok(Simulation {
            alone: WindowSync::new(1, senders.clone()),
            meeting: WindowSync::new(threads, senders),
            fewer,
            ..whole
        })
    }

    /// At the start, in one thread, with no window between parts.
    fn of_parts(
        spec: &NetSpec,
        parts: Vec<Partition>,
        owner: Vec<u16>,
        rules: Rules,
    ) -> Simulation {
        Simulation {
            now: Time::ZERO,
            parts,
            owner,
            rules,
            end: None,
            look: Time::ZERO,
            drops: DropLog::default(),
            meeting: WindowSync::new(1, Vec::new()),
            alone: WindowSync::new(1, Vec::new()),
            thin: SerialFallback::default(),
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
        self.parts.iter_mut().for_each(|part| part.site.sample_not_before(look));
        match (self.parts.as_mut_slice(), &mut self.recorded) {
            (parts, Some(recorded)) => {
                self.end = recorded.run(parts, &self.rules, self.end, limit);
            }
            ([part], None) => self.end = run_alone(part, &self.rules, self.end, limit),
            (parts, None) => {
                let (rules, effort) = (&self.rules, &mut self.effort);
                let events = parts.iter().map(|part| part.site.events()).sum();
                let thin = self.thin.is_alone(effort.windows, events, self.meeting.threads());
                let meeting = if thin { &self.alone } else { &self.meeting };
                self.end = meeting.run(parts, rules, limit, effort);
            }
        }
        if self.parts.len() > 1 {
            self.drops = DropLog::default();
            self.parts.iter().for_each(|part| self.drops.add(part.site.fabric.drops()));
        }
        self.now = self.now.max(self.end.map_or(limit, |end| end.min(limit)));
        match self.end {
            Some(end) if end <= self.now => Status::FlowsEnded,
            Some(_) => Status::Running,
            // What wires will bring is not known to the places.
            None if self.recorded.is_some() => Status::Running,
            None if self.parts.iter().all(|part| part.site.is_quiet(self.now)) => Status::Quiet,
            None => Status::Running,
        }
    }

    /// Nothing will be sampled before `look`, even if calls run for shorter stretches: until then
    /// results may be ahead of the clock.
    pub fn sample_not_before(&mut self, look: Time) {
        self.look = look;
    }

    fn fabric_of(&self, node: NodeId) -> &Fabric<SimDriver> {
        &self.parts[self.owner[node.index()] as usize].site.fabric
    }
    /// The part in which a link begins, and the one in which it ends.
    fn fabrics_of(&self, link: LinkId) -> (&Fabric<SimDriver>, &Fabric<SimDriver>) {
        let (from, to) = self.parts[0].site.fabric.link_nodes(link);
        (self.fabric_of(from), self.fabric_of(to))
    }

    /// Now.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Events handled.
    pub fn events(&self) -> u64 {
        self.parts.iter().map(|part| part.site.events()).sum()
    }
    /// Events that early transit has handled.
    pub fn early_transit_events(&self) -> u64 {
        self.parts.iter().map(|part| part.site.fabric.early_transit_done().0).sum()
    }
    /// Packets fully serialised on a link, each link counted.
    pub fn packet_hops(&self) -> u64 {
        let of_part = |part: &Partition| -> u64 {
            part.site.fabric.links().map(|link| link.serialized_packets(self.now)).sum()
        };
        self.parts.iter().map(of_part).sum()
    }
    /// The trace hash so far.
    pub fn trace_hash(&self) -> u64 {
        let mut all = TraceSum::default();
        self.parts.iter().for_each(|part| all.add(part.site.fabric.driver.trace()));
        all.finish()
    }
    /// Drops so far.
    pub fn drops(&self) -> &DropLog {
        match self.parts.as_slice() {
            [part] => part.site.fabric.drops(),
            _ => &self.drops,
        }
    }
    /// The workload.
    pub fn workload(&self) -> &Workload {
        self.parts[0].site.fabric.workload()
    }
    /// The connection at an end of a flow, once it exists.
    pub fn connection(&self, flow: FlowId, role: Role) -> Option<&Connection> {
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
        self.parts.iter().for_each(|part| all.add(part.site.fabric.one_way(transport)));
        all
    }
    /// Round-trip times that senders saw so far, for flows with this transport, on all their paths.
    pub fn round_trips(&self, transport: usize) -> Histogram {
        let mut all = Histogram::default();
        let flows = (0..).zip(self.workload().flows());
        for (id, _) in flows.filter(|(_, flow)| flow.transport == transport) {
            let Some(sender) = self.connection(FlowId(id), Role::Client) else { continue };
            (0..sender.paths()).for_each(|path| all.add(sender.round_trips(path)));
        }
        all
    }
    /// The result of a link so far.
    pub fn link(&self, link: LinkId) -> LinkOutcome<'_> {
        LinkOutcome { link: self.fabrics_of(link).0.link(link), now: self.now }
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
        let parts = self.parts.iter().map(|part| part.site.fabric.conservation());
        parts.reduce(Conservation::with).expect("a run has a part")
    }
    /// Threads that the run uses, where there is enough to do for them.
    pub fn threads(&self) -> usize {
        self.meeting.threads()
    }
    /// Why it uses fewer threads than allowed, if it does.
    pub fn fewer_threads(&self) -> Option<FewerThreads> {
        let thin = Some(self.thin.percent()).filter(|&percent| percent >= 50);
        self.fewer.or(thin.map(FewerThreads::SerialFallback))
    }
    /// The cost of several threads.
    pub fn effort(&self) -> Effort {
        self.effort
    }
}

/// Run all events up to and including `limit`, or to the end of the run. Gives that end if it is
/// known.
fn run_alone(part: &mut Partition, rules: &Rules, end: Option<Time>, limit: Time) -> Option<Time> {
    let (all, open) = part.site.fabric.ends();
    if all > 0 && open > 0 {
        part.site.run(limit, true);
    }
    // There may be more events at the instant at which the last flow ended.
    let ended = all > 0 && part.site.fabric.ends().1 == 0;
    let end = end.or_else(|| ended.then(|| rules.round_up(part.site.fabric.last_ended())));
    if end.is_some() || all == 0 {
        part.site.run(end.map_or(limit, |end| end.min(limit)), false);
    }
    end
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
    Rules { lookahead, grid: grid(spec), last_start, clock, clocks_windows: false }
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

/// By part: the others that have links to it.
fn senders(spec: &NetSpec, owner: &[u16], parts: u16) -> Vec<Vec<usize>> {
    let mut senders = vec![BTreeSet::new(); parts as usize];
    for link in &spec.links {
        let [from, to] = [link.from, link.to].map(|node| owner[node.index()] as usize);
        if from != to {
            senders[to].insert(from);
        }
    }
    senders.into_iter().map(|from| from.into_iter().collect()).collect()
}

/// Packets from outside come to ports that are there.
fn check_injections(all: &[Injection], network: &Network) -> Result<(), SpecError> {
    let is_there = |injection: &Injection| {
        injection.node.index() < network.nodes.len()
            && injection.port.index() < network.ports.links_of(injection.node).len()
    };
    match all.iter().position(|injection| !is_there(injection)) {
        Some(index) => {
            let why = "it comes to a port that is not there";
            Err(SpecError::Unsound { part: "injection", index, why })
        }
        None => Ok(()),
    }
}

/// The packets from outside that each partition gets.
fn injections_of_parts(all: Vec<Injection>, owner: &[u16], parts: u16) -> Vec<VecDeque<Entrant>> {
    let mut of_parts: Vec<VecDeque<Entrant>> = (0..parts).map(|_| VecDeque::new()).collect();
    for injection in all {
        of_parts[owner[injection.node.index()] as usize].push_back(injection.into());
    }
    of_parts
}
