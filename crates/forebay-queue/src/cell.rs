//! A cell: a queue for each user of one radio channel, and a scheduler that chooses whose turn it
//! is at each delivery opportunity.
//!
//! Proportional fairness: Jalali, Padovani, Pankaj, "Data throughput of CDMA-HDR", VTC 2000
//! (doi:10.1109/VETECS.2000.851593). r_i is the rate at which user i would be served now, T_i the
//! average of what it had, over `average_ms` = tc:
//!
//! 1. the user with the largest r_i / T_i among those with packets is served; of equals the one
//!    that was served least recently;
//! 2. dT_i/dt = (s_i - T_i) / tc, where s_i is the rate at which it is served: between two packets
//!    T_i falls by exp(-t / tc), and b bytes raise it by b / tc.
//!
//! "rr" serves users with packets in turn, a packet each.
//!
//! Each user has the whole limit of the port for its own queue, so that one with a long queue takes
//! no room from another. A user is an address: of the destination, or of the source.
//!
//! Differs from the paper in: time is continuous, not in slots; a turn is a packet, so small
//! packets that share an opportunity may be of two users. In a scenario all users have one channel,
//! so r_i is the same for all: rules 1 and 2 would distinguish users of different rates, but
//! nothing gives the discipline these rates yet.

use crate::discipline::{Discipline, Overflow};
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::port::{PortContext, PortInit};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Addr, DropReason, Packet, ParamError, Span, Time, require};
use serde::{Deserialize, Serialize};

/// Queues of one cell. Users beyond share the last one.
const MAX_USERS: usize = 4096;
/// Time constants after which all averages are scaled down.
const RESCALE: f64 = 64.0;

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerKind {
    /// Proportional fairness.
    Pf,
    /// Round robin.
    Rr,
}

/// What identifies a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UserBy {
    /// The address of the destination, for the downlink.
    Destination,
    /// The address of the source, for the uplink.
    Source,
}

/// Parameters of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Whose turn it is: "pf", proportional fairness (rules 1 and 2), or "rr", round robin.
    pub scheduler: SchedulerKind,
    /// tc in ms, 1 to 1 000 000. Jalali et al. 2000: 1000 slots of 1.67 ms.
    pub average_ms: f64,
    /// What identifies a user: "destination" or "source".
    pub user: UserBy,
}

impl Default for Params {
    fn default() -> Params {
        let (scheduler, user) = (SchedulerKind::Pf, UserBy::Destination);
        Params { scheduler, average_ms: 1_670.0, user }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let average = (1.0..=1_000_000.0).contains(&self.average_ms);
        require(average, "average_ms", "1 to 1000000")
    }
}

/// Proportional fairness by itself: averages of users, which have numbers from 0 on.
///
/// All averages fall by one factor, so each is kept as it would be had it never fallen, T_i exp(t /
/// tc), and compared like that.
#[derive(Clone, Debug)]
pub struct ProportionalFair {
    average_ns: f64,
    /// Scale of the averages.
    since: Time,
    scaled: Vec<f64>,
    /// When each was served last, by the count of services.
    served: Vec<u64>,
    services: u64,
}

impl ProportionalFair {
    /// No user. `average` is tc.
    pub fn new(average: Span) -> ProportionalFair {
        let average_ns = average.as_nanos().max(1) as f64;
        let (scaled, served) = (Vec::new(), Vec::new());
        ProportionalFair { average_ns, since: Time::ZERO, scaled, served, services: 0 }
    }
    /// Adds a user that has not been served.
    pub fn add(&mut self) {
        self.scaled.push(0.0);
        self.served.push(0);
    }
    /// The user with the largest r / T (rule 1) among `(user, r)`.
    pub fn choose(&self, rates: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
        let better = |(user, rate): (usize, f64), best: (usize, f64)| {
            // r / T > r' / T', without a division by a T of nothing.
            let (mine, its) = (rate * self.scaled[best.0], best.1 * self.scaled[user]);
            mine > its || mine == its && self.served[user] < self.served[best.0]
        };
        rates.reduce(|best, next| if better(next, best) { next } else { best }).map(|best| best.0)
    }
    /// A user had `bytes` at `now` (rule 2).
    pub fn serve(&mut self, now: Time, user: usize, bytes: u64) {
        let mut age = now.since(self.since).as_nanos() as f64 / self.average_ns;
        if age > RESCALE {
            let factor = libm::exp(-age);
            self.scaled.iter_mut().for_each(|average| *average *= factor);
            (self.since, age) = (now, 0.0);
        }
        self.scaled[user] += bytes as f64 * libm::exp(age);
        self.services += 1;
        self.served[user] = self.services;
    }
    /// T of a user at `now`, in bytes/s.
    pub fn average(&self, now: Time, user: usize) -> f64 {
        let age = now.since(self.since).as_nanos() as f64 / self.average_ns;
        self.scaled[user] * libm::exp(-age) / (self.average_ns * 1e-9)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Cell {
    limit: Limit,
    by: UserBy,
    users: BTreeMap<Addr, usize>,
    queues: Vec<Fifo>,
    scheduler: SchedulerKind,
    fairness: ProportionalFair,
    /// Round robin: the user whose turn it is.
    turn: usize,
    packets: u64,
    bytes: u64,
}

impl Cell {
    /// A cell without users.
    pub fn new(params: &Params, init: PortInit) -> Cell {
        let average = Span::from_nanos((params.average_ms * 1e6) as u64);
        Cell {
            limit: init.limit,
            by: params.user,
            users: BTreeMap::new(),
            queues: Vec::new(),
            scheduler: params.scheduler,
            fairness: ProportionalFair::new(average),
            turn: 0,
            packets: 0,
            bytes: 0,
        }
    }
    /// The queue of the user of a packet.
    fn user(&mut self, packet: &Packet) -> usize {
        let address = match self.by {
            UserBy::Destination => packet.dst(),
            UserBy::Source => packet.src(),
        };
        let known = self.queues.len();
        let user = *self.users.entry(address).or_insert(known.min(MAX_USERS - 1));
        if user == known {
            self.queues.push(Fifo::default());
            self.fairness.add();
        }
        user
    }
    /// The user to serve next; None if all queues are empty.
    fn next(&self) -> Option<usize> {
        let waits = |&user: &usize| self.queues[user].packets() > 0;
        let mut waiting = (0..self.queues.len()).filter(waits);
        match self.scheduler {
            SchedulerKind::Pf => self.fairness.choose(waiting.map(|user| (user, 1.0))),
            SchedulerKind::Rr => {
                let behind = (self.turn..self.queues.len()).find(waits);
                behind.or_else(|| waiting.next())
            }
        }
    }
}

impl Discipline for Cell {
    fn enqueue(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        let (user, wire_len) = (self.user(&packet), packet.wire_len());
        let queue = &mut self.queues[user];
        if self.limit.admits(wire_len, queue.packets(), queue.bytes()) {
            queue.push(packet);
            self.packets += 1;
            self.bytes += u64::from(wire_len);
        } else {
            // Not given back: there is room for packets of other users.
            cx.drop_packet(packet, DropReason::Full);
        }
        Ok(())
    }
    /// True: the packet's user is not known here. `enqueue` drops it if that user's queue is
    /// full.
    fn has_room(&self, wire_len: u16) -> bool {
        self.limit.admits(wire_len, 0, 0)
    }
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        let user = self.next()?;
        let packet = self.queues[user].pop()?;
        let bytes = u64::from(packet.wire_len());
        self.fairness.serve(cx.now, user, bytes);
        self.turn = user + 1;
        self.packets -= 1;
        self.bytes -= bytes;
        Some(packet)
    }
    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
    fn backlog_packets(&self) -> u64 {
        self.packets
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.queues.iter_mut().for_each(|queue| queue.clear(reason, cx));
        (self.packets, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Arena, DropLog, Endpoint, IpVersion, Rate, Rng, Stream, TcpFields};

    const SLOT: Span = Span::from_millis(1);
    const TC: Span = Span::from_millis(200);

    /// Two users who always have packets, at 12 and 3 Mbit/s: by proportional fairness each has
    /// half the slots, so half its rate (the sum of logarithms of shares is largest there), and the
    /// averages are those rates.
    #[test]
    fn two_rates_have_half_the_time_each() {
        let mut law = ProportionalFair::new(TC);
        (0..2).for_each(|_| law.add());
        let rates = [1_500.0, 375.0]; // bytes a slot
        let (mut slots, mut now) = ([0u64; 2], Time::ZERO);
        for slot in 0..20_000 {
            now += SLOT;
            let user = law.choose(rates.into_iter().enumerate()).expect("both wait");
            law.serve(now, user, rates[user] as u64);
            slots[user] += u64::from(slot >= 10_000);
        }
        assert_eq!(slots, [5_000, 5_000]);
        for (user, rate) in rates.into_iter().enumerate() {
            let (average, expected) = (law.average(now, user), rate * 1_000.0 / 2.0);
            // The ripple of a slot is slot / tc = 0.5 %.
            assert!((average / expected - 1.0).abs() < 0.006, "{average}, not {expected}");
        }
    }

    /// T rises to R (1 - exp(-t / tc)). A user who comes when another has had all, at T = R, has
    /// all until both have R / 2, after tc ln 2: its T rises as that of the other falls.
    #[test]
    fn who_comes_late_has_all_for_tc_ln_2() {
        let mut law = ProportionalFair::new(TC);
        (0..2).for_each(|_| law.add());
        let mut now = Time::ZERO;
        let r = 1_500_000.0;
        for slot in 1..=4_000 {
            now += SLOT;
            law.serve(now, 0, 1_500);
            let expected = r * (1.0 - libm::exp(-f64::from(slot) / 200.0));
            assert!((law.average(now, 0) - expected).abs() < 0.006 * r, "slot {slot}");
        }
        let mut alone = 0;
        loop {
            now += SLOT;
            let user = law.choose([(0, 1.0), (1, 1.0)].into_iter()).expect("both wait");
            if user == 0 {
                break;
            }
            alone += 1;
            law.serve(now, 1, 1_500);
        }
        // 200 ln 2 = 138.6 slots; the step of a slot makes it the one before or after.
        assert!((137..=140).contains(&alone), "{alone}");
    }

    fn packet(to: u32, wire_len: u16) -> Packet {
        let end = |id| Endpoint { addr: Addr(id), port: 7 };
        Packet::tcp(IpVersion::V4, end(99), end(to), TcpFields::default(), wire_len - 40)
    }

    /// With one channel each of n users who always have packets has 1 / n, under both schedulers;
    /// with packets of different lengths, of bytes under pf, and of packets under rr.
    #[test]
    fn equal_users_have_equal_shares() {
        for (scheduler, n) in
            [SchedulerKind::Pf, SchedulerKind::Rr].into_iter().flat_map(|s| [(s, 2), (s, 5)])
        {
            let params = Params { scheduler, ..Params::default() };
            let init = PortInit {
                limit: Limit::Packets(4),
                rate: Rate::mbps(12),
                mtu_bytes: 1500,
                overhead_bytes: 0,
                rng: Rng::new(1, Stream::Test, 0),
            };
            let mut cell = Cell::new(&params, init);
            let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
            let length = |to: u32| if to == 0 { 500 } else { 1500 };
            let (mut packets, mut bytes) = ([0u64; 5], [0u64; 5]);
            let mut now = Time::ZERO;
            for _ in 0..30_000 {
                now += SLOT;
                let mut cx =
                    PortContext { now, arena: &mut arena, drops: &mut drops, split: &mut split };
                for to in 0..n {
                    while cell.queues.len() <= to as usize || cell.queues[to as usize].packets() < 4
                    {
                        assert!(cell.enqueue(packet(to, length(to)), &mut cx).is_ok());
                    }
                }
                let out = cell.dequeue(&mut cx).expect("all wait");
                packets[out.dst().0 as usize] += 1;
                bytes[out.dst().0 as usize] += u64::from(out.wire_len());
                cx.drop_packet(out, DropReason::LinkDown);
            }
            let had = if scheduler == SchedulerKind::Pf { bytes } else { packets };
            let mean = had.iter().sum::<u64>() as f64 / f64::from(n);
            for share in &had[..n as usize] {
                assert!((*share as f64 / mean - 1.0).abs() < 0.002, "{scheduler:?} {n}: {had:?}");
            }
            // A full queue drops, and takes nothing from the others.
            let mut cx =
                PortContext { now, arena: &mut arena, drops: &mut drops, split: &mut split };
            let held = cell.backlog_packets();
            assert!(cell.enqueue(packet(0, 500), &mut cx).is_ok());
            assert!(cell.enqueue(packet(0, 500), &mut cx).is_ok());
            assert_eq!(cell.queues[0].packets(), 4);
            assert!(cell.enqueue(packet(77, 500), &mut cx).is_ok());
            assert!(cell.backlog_packets() <= held + 2);
        }
    }
}
