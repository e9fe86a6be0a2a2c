//! What this machine allows.

use crate::clock::Clock;
use crate::lab::{Cable, CableEnd, Lab, LabError, Occupant};
use crate::scheduling::{Priority, hurry, timer_lateness};
use crate::wire::{PacketWire, PacketWireError, Packets, Wire};
use forebay_base::{Histogram, Span, Time};
use std::fmt;
use std::fs;
use std::thread;

/// One thing that a live run needs or uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// What it is.
    pub name: &'static str,
    /// Whether it is there; if not, why, and how to grant it.
    pub state: Result<(), String>,
    /// True if no run is possible without it.
    pub needed: bool,
}

/// What [`check`] finds.
#[derive(Clone, Debug)]
pub struct Check {
    /// Rights, in the order in which they build on each other: after one that is needed and
    /// missing, the rest is unknown and left out.
    pub rights: Vec<Right>,
    /// Cores that this process may use.
    pub cores: usize,
    /// How late threads wake from timers of 1 ms, as nodes are scheduled here.
    pub lateness: Histogram,
}

impl Check {
    /// The same where even [`isolate`](crate::isolate()) fails.
    pub fn refused(error: &crate::IsolateError) -> Check {
        let namespaces = Right { name: NAMESPACES, state: Err(error.to_string()), needed: true };
        Check::with(vec![namespaces])
    }
    fn with(rights: Vec<Right>) -> Check {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let lateness = thread::spawn(|| {
            hurry();
            timer_lateness(Span::from_millis(1), 1000)
        });
        Check { rights, cores, lateness: lateness.join().expect("it only sleeps") }
    }
    /// True if runs are possible.
    pub fn is_able(&self) -> bool {
        self.rights.iter().all(|right| right.state.is_ok() || !right.needed)
    }
}

const NAMESPACES: &str = "namespaces of users, processes and network";
const VETH: &str = "a network of namespaces and veth pairs";
const RING: &str = "packet sockets with receive rings";
const STAMPS: &str = "timestamps of arriving packets";
const FIFO: &str = "SCHED_FIFO";

/// Find out what this machine allows; takes a second. To be called inside
/// [`isolate`](crate::isolate()).
pub fn check() -> Check {
    let mut rights = vec![Right { name: NAMESPACES, state: Ok(()), needed: true }];
    let mut found = |name, state: Result<(), String>| {
        let is_there = state.is_ok();
        rights.push(Right { name, state, needed: true });
        is_there
    };
    let lab = two_nodes();
    if found(VETH, lab.as_ref().map(drop).map_err(LabError::to_string))
        && let Ok(lab) = lab
    {
        let wires = open(&lab);
        if found(RING, wires.as_ref().map(drop).map_err(PacketWireError::to_string))
            && let Ok(wires) = wires
        {
            found(STAMPS, stamped(wires));
        }
    }
    rights.push(Right { name: FIFO, state: fifo(), needed: false });
    Check::with(rights)
}

fn two_nodes() -> Result<Lab, LabError> {
    let end = |node| CableEnd { node, interface: "check".to_string() };
    let cable = Cable { mtu_bytes: 1500, ends: [end(0), end(1)] };
    Lab::build(vec![Occupant::Forebay; 2], vec![cable])
}

fn open(lab: &Lab) -> Result<[PacketWire; 2], PacketWireError> {
    let wire = |end| {
        let open = || PacketWire::open("check", lab.far_mac(0, end), 1500, 64);
        lab.inside(end, open).expect("the namespace was entered before")
    };
    Ok([wire(0)?, wire(1)?])
}

/// Whether a packet arrives, stamped between its sending and now.
fn stamped(wires: [PacketWire; 2]) -> Result<(), String> {
    let clock = Clock::starting_in(Span::ZERO);
    // The shortest IPv4 header there is, of the experimental protocol 253 (RFC 3692).
    let packet = [0x45, 0, 0, 20, 0, 0, 0, 0, 1, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let [mut near, mut far] = wires;
    far.begin(clock);
    let mut packets = Packets::default();
    packets.push(&packet);
    let before = clock.now();
    near.send(&packets);
    let mut arrived: Option<Time> = None;
    while arrived.is_none() && clock.now().since(before) < Span::from_secs(1) {
        far.receive(1, |at, _| arrived = Some(at));
    }
    // Two clocks are read together to within this.
    let earliest = before.as_nanos().saturating_sub(Span::from_millis(1).as_nanos());
    match arrived {
        Some(at) if at.as_nanos() >= earliest => Ok(()),
        Some(at) => Err(format!("a packet sent at {before:?} arrived at {at:?}")),
        None => Err("no packet arrived within a second".to_string()),
    }
}

fn fifo() -> Result<(), String> {
    match thread::spawn(hurry).join() {
        Ok(Priority::Fifo) => Ok(()),
        _ => Err("refused; packets leave later on a busy machine. Run as root, or add the line \
                  `USER - rtprio 10` to /etc/security/limits.conf and log in again"
            .to_string()),
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for right in &self.rights {
            match &right.state {
                Ok(()) => writeln!(f, "yes  {}", right.name)?,
                Err(why) => writeln!(f, "no   {}: {why}", right.name)?,
            }
        }
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default();
        writeln!(f, "     {} cores, load {load}", self.cores)?;
        let quantile = |q| self.lateness.quantile(q).unwrap_or_default().as_nanos() / 1000;
        let (median, p99) = (quantile(0.5), quantile(0.99));
        writeln!(f, "     timers of 1 ms are {median} us late (median), {p99} us (p99)")
    }
}
