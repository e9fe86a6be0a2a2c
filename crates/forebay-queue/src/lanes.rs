//! The queues of a port: its discipline, and beside it a queue for the flows that listen to its
//! scheme, if that asks for one.
//!
//! Listeners wait first in, first out, and nothing marks or drops them but their limit; the others
//! are the discipline's. Each queue has the share of the link that its flows are of all:
//!
//! 1. `w_l = N_l / (N_l + N_o)`, `w_o = N_o / (N_l + N_o)`, N the flows that were active lately;
//! 2. a balance says who is next: listeners where it is 0 or more. A packet of b bytes on the link
//!    takes `b N_o` from it if it is of listeners, and adds `b N_l` if not. It stays within `[-B
//!    N_o, B N_l]`, B the bytes of a full packet: who was away returns at most one packet ahead.
//!    Where one queue has nothing to give, the other one is served;
//! 3. a packet of at most 128 bytes, as acknowledgments are, is not charged while such packets are
//!    less than an eighth of what is: a flow that only acknowledges is not counted in N, and its
//!    packets shall not wait for it;
//! 4. of the limit Q listeners have `w_l Q` and the others `w_o Q`, both at least 10 packets or Q;
//!    all of it where no flow of the other queue was active lately. So the share of a queue takes
//!    no longer than Q to drain. Both together hold at most 2 Q: what waits when shares change
//!    stays.

use crate::discipline::{Discipline, Overflow};
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::port::PortContext;
use crate::scheme::Backlog;
use crate::table::AnyDiscipline;
use alloc::boxed::Box;
use forebay_base::{DropReason, Packet};

/// Bytes of listeners that wait.
pub const LISTENERS_METRIC: &str = "listeners_queue_bytes";

/// Which queue of a port a packet waits in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// The discipline.
    #[default]
    Others,
    /// The one beside it.
    Listeners,
}

/// Flows that were active lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActiveFlows {
    /// That listen.
    pub listeners: u32,
    /// That do not.
    pub others: u32,
}

impl ActiveFlows {
    /// Equation 4: what of `limit` listeners have, and the others.
    pub fn limits(self, limit: Limit) -> (Limit, Limit) {
        let part = |own: u32, other: u32| match other {
            0 => limit,
            _ => limit.part(own.into(), u64::from(own) + u64::from(other), LEAST_PACKETS),
        };
        (part(self.listeners, self.others), part(self.others, self.listeners))
    }
}

/// Equation 4.
const LEAST_PACKETS: u64 = 10;
/// Equation 3.
const SMALL_BYTES: u64 = 128;
const FREE_SHARE: u64 = 8;
/// B: a full packet and the framing of most links.
const PACKET_BYTES: u64 = 1500 + 38;

/// A queue for listeners that a scheme asks for.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// Of the port: it is shared.
    pub limit: Limit,
    /// What a packet takes of the link besides its bytes.
    pub overhead_bytes: u16,
}

/// See the module.
pub(crate) struct Queues {
    discipline: AnyDiscipline,
    listeners: Option<Box<Listeners>>,
}

struct Listeners {
    fifo: Fifo,
    terms: Beside,
    flows: ActiveFlows,
    limit: Limit,
    others_limit: Limit,
    /// Equation 2.
    balance: i64,
    /// What small packets may take before they are charged.
    free_bytes: u64,
    /// Bytes of others that the link has carried.
    others_sent_bytes: u64,
}

impl Queues {
    pub(crate) fn new(discipline: AnyDiscipline, beside: Option<Beside>) -> Queues {
        let of = |terms: Beside| Box::new(Listeners::new(terms));
        Queues { discipline, listeners: beside.map(of) }
    }
    #[inline]
    pub(crate) fn discipline(&self) -> &AnyDiscipline {
        &self.discipline
    }
    #[inline]
    pub(crate) fn discipline_mut(&mut self) -> &mut AnyDiscipline {
        &mut self.discipline
    }
    /// True if there are two.
    #[inline]
    pub(crate) fn are_two(&self) -> bool {
        self.listeners.is_some()
    }
    /// What a scheme sees: the queue of those that listen to it, if they have one.
    #[inline]
    pub(crate) fn of_scheme(&self) -> Backlog {
        match &self.listeners {
            None => Backlog {
                bytes: self.discipline.backlog_bytes(),
                packets: self.discipline.backlog_packets(),
                others_sent_bytes: 0,
            },
            Some(own) => Backlog {
                bytes: own.fifo.bytes(),
                packets: own.fifo.packets(),
                others_sent_bytes: own.others_sent_bytes,
            },
        }
    }
    #[inline]
    pub(crate) fn backlog_bytes(&self) -> u64 {
        let own = self.listeners.as_ref().map_or(0, |own| own.fifo.bytes());
        self.discipline.backlog_bytes() + own
    }
    #[inline]
    pub(crate) fn backlog_packets(&self) -> u64 {
        let own = self.listeners.as_ref().map_or(0, |own| own.fifo.packets());
        self.discipline.backlog_packets() + own
    }
    /// True if a packet of this length would be taken now without a drop, whoever it is of.
    pub(crate) fn has_room(&self, wire_len: u16) -> bool {
        let admits =
            |own: &Listeners| own.admits(wire_len) && own.admits_other(wire_len, &self.discipline);
        self.discipline.has_room(wire_len) && self.listeners.as_ref().is_none_or(|own| admits(own))
    }
    /// Take a packet, where flows are now shared so, or give it back.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        packet: Packet,
        lane: Lane,
        cx: &mut PortContext<'_>,
    ) -> Result<(), Overflow> {
        let Some(own) = &mut self.listeners else { return self.discipline.enqueue(packet, cx) };
        let len = packet.wire_len();
        match lane {
            Lane::Listeners if own.admits(len) => {
                own.fifo.push(packet);
                Ok(())
            }
            Lane::Others if own.admits_other(len, &self.discipline) => {
                self.discipline.enqueue(packet, cx)
            }
            _ => Err(Overflow(packet)),
        }
    }
    #[inline]
    pub(crate) fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        match &mut self.listeners {
            None => self.discipline.dequeue(cx),
            Some(own) => own.dequeue(&mut self.discipline, cx),
        }
    }
    /// A packet leaves that did not wait.
    #[inline]
    pub(crate) fn pass(&mut self, wire_len: u16, lane: Lane) {
        if let Some(own) = &mut self.listeners {
            own.charge(wire_len, lane);
        }
    }
    #[inline]
    pub(crate) fn set_flows(&mut self, flows: ActiveFlows) {
        if let Some(own) = &mut self.listeners
            && own.flows != flows
        {
            own.set_flows(flows);
        }
    }
    pub(crate) fn publish(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(own) = &self.listeners {
            see(LISTENERS_METRIC, own.fifo.bytes() as f64);
        }
    }
    pub(crate) fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        if let Some(own) = &mut self.listeners {
            own.fifo.clear(reason, cx);
        }
        self.discipline.clear(reason, cx);
    }
}

impl Listeners {
    fn new(terms: Beside) -> Listeners {
        let Beside { limit, .. } = terms;
        Listeners {
            fifo: Fifo::default(),
            terms,
            flows: ActiveFlows::default(),
            limit,
            others_limit: limit,
            balance: 0,
            free_bytes: 0,
            others_sent_bytes: 0,
        }
    }
    #[inline(never)] // once for many packets
    fn set_flows(&mut self, flows: ActiveFlows) {
        self.flows = flows;
        (self.limit, self.others_limit) = flows.limits(self.terms.limit);
        self.bound_balance();
    }
    #[inline]
    fn admits(&self, wire_len: u16) -> bool {
        self.limit.admits(wire_len, self.fifo.packets(), self.fifo.bytes())
    }
    #[inline]
    fn admits_other(&self, wire_len: u16, discipline: &AnyDiscipline) -> bool {
        let (packets, bytes) = (discipline.backlog_packets(), discipline.backlog_bytes());
        self.others_limit.admits(wire_len, packets, bytes)
    }
    #[inline]
    fn dequeue(
        &mut self,
        discipline: &mut AnyDiscipline,
        cx: &mut PortContext<'_>,
    ) -> Option<Packet> {
        let is_turn = self.balance >= 0 && self.fifo.packets() > 0;
        if !is_turn && let Some(packet) = discipline.dequeue(cx) {
            self.charge(packet.wire_len(), Lane::Others);
            return Some(packet);
        }
        let packet = self.fifo.pop()?;
        self.charge(packet.wire_len(), Lane::Listeners);
        Some(packet)
    }
    /// Equations 2 and 3.
    #[inline]
    fn charge(&mut self, wire_len: u16, lane: Lane) {
        let bytes = u64::from(wire_len) + u64::from(self.terms.overhead_bytes);
        if lane == Lane::Others {
            self.others_sent_bytes += bytes;
        }
        if bytes <= SMALL_BYTES && bytes <= self.free_bytes {
            self.free_bytes -= bytes;
            return;
        }
        self.free_bytes = (self.free_bytes + bytes / FREE_SHARE).min(PACKET_BYTES);
        self.balance += match lane {
            Lane::Listeners => -(bytes as i64 * i64::from(self.flows.others.max(1))),
            Lane::Others => bytes as i64 * i64::from(self.flows.listeners.max(1)),
        };
        self.bound_balance();
    }
    #[inline]
    fn bound_balance(&mut self) {
        let ActiveFlows { listeners, others } = self.flows;
        let of = |flows: u32| PACKET_BYTES as i64 * i64::from(flows.max(1));
        self.balance = self.balance.clamp(-of(others), of(listeners));
    }
}
