//! A thread that runs the machines of a node until the run ends.

use crate::clock::Clock;
use crate::isolate::seal;
use crate::netlink::LinkChanges;
use crate::scheduling::{Priority, hurry, readable, wait};
use crate::turn::{Next, Port, PortReport, Record, TooSlow, Turns};
use crate::wire::{PacketWire, Wire};
use forebay_base::{NodeId, Span, Time};
use forebay_sim::Site;
use nix::poll::{PollFd, PollFlags};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};

/// No thread sleeps longer: then it looks whether the run is to be stopped.
const MAX_SLEEP: Span = Span::from_millis(20);
/// A run goes on so long after it is known that it ends: no node has gone beyond the end then.
const NOTICE: Span = Span::from_millis(50);

/// What the nodes of a run share: when it ends.
pub(crate) struct End<'a> {
    end_ns: AtomicU64,
    /// Ends of flows that have not ended, at all nodes.
    open: AtomicIsize,
    /// True if the run ends with the last flow.
    with_flows: bool,
    /// Set from outside to end the run early.
    stop: &'a AtomicBool,
}

impl<'a> End<'a> {
    /// At `end`, or earlier.
    pub(crate) fn new(end: Time, with_flows: bool, stop: &'a AtomicBool) -> End<'a> {
        let (end_ns, open) = (AtomicU64::new(end.as_nanos()), AtomicIsize::new(0));
        End { end_ns, open, with_flows, stop }
    }
    pub(crate) fn at(&self) -> Time {
        Time::from_nanos(self.end_ns.load(Ordering::SeqCst))
    }
    /// The run ends soon after `now`.
    fn soon(&self, now: Time) {
        self.end_ns.fetch_min((now + NOTICE).as_nanos(), Ordering::SeqCst);
    }
    /// Before the start: so many ends of flows of a node are open.
    pub(crate) fn add_open(&self, open: isize) {
        self.open.fetch_add(open, Ordering::SeqCst);
    }
    /// So many have ended.
    pub(crate) fn closed(&self, closed: isize, now: Time) {
        let before = self.open.fetch_sub(closed, Ordering::SeqCst);
        if self.with_flows && before <= closed {
            self.soon(now);
        }
    }
}

/// A node before it starts.
pub(crate) struct Node<R> {
    pub(crate) id: NodeId,
    pub(crate) site: Site,
    pub(crate) ports: Vec<Port<PacketWire>>,
    /// Of the namespace of the node.
    pub(crate) changes: LinkChanges,
    pub(crate) record: R,
}

/// What a node did.
pub struct NodeReport<R> {
    /// The node.
    pub id: NodeId,
    /// Its machines, at the end.
    pub site: Site,
    /// Its wires.
    pub ports: Vec<PortReport>,
    /// How its thread was scheduled.
    pub priority: Priority,
    /// The record.
    pub record: R,
    /// Up to when everything was executed: the end of the run, unless it failed.
    pub ended_at: Time,
    /// For how long it was late: [`Turns::behind`].
    pub behind: Span,
    /// Why it ended too early, if it did.
    pub failed: Option<TooSlow>,
}

impl<R: Record> Node<R> {
    /// Run in this thread. `ready` gives the clock shortly before the start; None if there is none.
    pub(crate) fn run(
        self,
        end: &End<'_>,
        ready: impl FnOnce() -> Option<Clock>,
    ) -> Option<NodeReport<R>> {
        let priority = hurry();
        // The sockets are open. Without rights, hostile packets can at most disturb this run.
        let sealed = seal();
        debug_assert!(sealed.is_ok(), "{sealed:?}");
        let Node { id, site, ports, changes, record } = self;
        let mut turns = Turns::new(site, ports, record);
        let clock = ready()?;
        turns.ports().iter_mut().for_each(|port| port.wire.begin(clock));
        let failed = run(&mut turns, &changes, clock, end).err();
        if failed.is_some() {
            end.soon(clock.now());
        }
        let (ended_at, behind) = (turns.bound(), turns.behind());
        let (site, ports, record) = turns.into_parts();
        Some(NodeReport { id, site, ports, priority, record, ended_at, behind, failed })
    }
}

fn run<R: Record>(
    turns: &mut Turns<PacketWire, R>,
    changes: &LinkChanges,
    clock: Clock,
    end: &End<'_>,
) -> Result<(), TooSlow> {
    while clock.now() == Time::ZERO {
        sleep(turns, changes, clock, Time::ZERO);
    }
    let mut open = turns.site().ends().1;
    let mut look_at = Time::ZERO;
    loop {
        let next = turns.turn(|| clock.now(), || end.at())?;
        let now = clock.now();
        // A thread that never sleeps must notice as well.
        if now >= look_at {
            look_at = now + MAX_SLEEP;
            if changes.take() {
                refresh(turns);
            }
        }
        let still_open = turns.site().ends().1;
        if still_open != open {
            end.closed(open - still_open, now);
            open = still_open;
        }
        if end.stop.load(Ordering::Relaxed) {
            end.soon(now);
        }
        match next {
            Next::Now => {}
            Next::At(at) if at <= now => {}
            Next::At(at) => sleep(turns, changes, clock, at.min(now + MAX_SLEEP)),
            Next::End => return Ok(()),
        }
    }
}

/// Sleep until `until`, a packet, or a change of an interface, which is looked into.
fn sleep<R: Record>(
    turns: &mut Turns<PacketWire, R>,
    changes: &LinkChanges,
    clock: Clock,
    until: Time,
) {
    let ports = turns.ports();
    let mut files = vec![readable(changes.as_fd())];
    files.extend(ports.iter().filter_map(|port| port.wire.fd()).map(readable));
    let ready = wait(clock, until, &mut files);
    if !matches!(ready, Ok(true)) {
        return;
    }
    let wrong = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
    let is_wrong = |file: &PollFd<'_>| file.revents().is_some_and(|r| r.intersects(wrong));
    let disturbed = files.iter().any(is_wrong) || files[0].any().unwrap_or(true);
    drop(files);
    if disturbed {
        changes.take();
        refresh(turns);
    }
}

fn refresh<R: Record>(turns: &mut Turns<PacketWire, R>) {
    turns.ports().iter_mut().for_each(|port| port.wire.refresh());
}
