//! What hosts and routers answer to packets that they cannot pass on or take, in networks that
//! stand on real wires ([`Fabric::answer_strangers`]): ICMP messages and resets, at most so many a
//! second from each node. Simulated networks have no strangers, and nobody answers.

use super::{Driver, Fabric, PacketEvent};
use crate::node::Node;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Addr, DropReason, IpVersion, Kind, NodeId, Packet, PortId, Span, Time};
use forebay_wire::{Trouble, echo_reply, emit, icmp_error, parse, protocol_of, reset};

/// Answers of one node in a second, at most.
pub const MAX_ANSWERS_PER_S: u64 = 100;
/// A bucket that refills at half of that, and holds the other half: no second has more.
const BUCKET: u64 = MAX_ANSWERS_PER_S / 2;
const REFILL: Span = Span::from_nanos(1_000_000_000 / (MAX_ANSWERS_PER_S - BUCKET));

/// How many packets were answered, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerCounts {
    /// ICMP errors.
    pub errors: u64,
    /// Echo replies.
    pub echoes: u64,
    /// Resets.
    pub resets: u64,
    /// Answers that were not sent, for there had been too many.
    pub withheld: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Answers {
    count: AnswerCounts,
    /// By node that has answered.
    limits: BTreeMap<NodeId, Bucket>,
    /// Made, and not sent yet.
    made: Vec<(NodeId, Packet)>,
    /// The packet that is answered, for its memory.
    invoking: Vec<u8>,
}

/// When the bucket will be full again.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    full_at: Time,
}

impl Bucket {
    /// True if an answer may be sent now. It then is.
    fn take(&mut self, now: Time) -> bool {
        let full_at = self.full_at.max(now) + REFILL;
        let has = full_at.since(now) <= REFILL * BUCKET;
        if has {
            self.full_at = full_at;
        }
        has
    }
}

/// What is to be answered.
#[derive(Clone, Copy)]
enum Answer {
    Error(Trouble),
    Echo,
    Reset,
}

impl<D: Driver> Fabric<D> {
    /// From now on nodes answer what they cannot pass on or take.
    pub fn answer_strangers(&mut self) {
        self.answers = Some(Default::default());
    }
    /// How many packets were answered so far.
    pub fn answers(&self) -> AnswerCounts {
        self.answers.as_ref().map(|answers| answers.count).unwrap_or_default()
    }

    /// A packet ends at `node`, for this reason.
    #[cold]
    pub(super) fn answer_dropped(&mut self, node: NodeId, packet: &Packet, reason: DropReason) {
        let trouble = match reason {
            DropReason::Ttl => Trouble::TimeExceeded,
            // To the address from which this router answers: it is as a host there.
            DropReason::NoRoute if packet.dst() == router_address(packet.version(), node) => {
                return self.answer_stray(node, packet);
            }
            DropReason::NoRoute => Trouble::NoRoute,
            _ => return,
        };
        self.answer(node, packet, Answer::Error(trouble));
    }
    /// A packet is too big for a link of `node`.
    #[cold]
    pub(super) fn answer_too_big(&mut self, node: NodeId, packet: &Packet, mtu_bytes: u16) {
        self.answer(node, packet, Answer::Error(Trouble::TooBig { mtu_bytes }));
    }
    /// A packet has come to the host `node` that is not a whole segment for a socket there.
    #[cold]
    pub(super) fn answer_stray(&mut self, node: NodeId, packet: &Packet) {
        const ICMP: [u8; 2] = [1, 58];
        const WITH_PORTS: [u8; 4] = [17, 33, 132, 136]; // UDP, DCCP, SCTP, UDP-Lite
        const TCP: u8 = 6;
        match packet.kind() {
            Kind::Tcp => return self.answer(node, packet, Answer::Reset),
            Kind::Opaque => {}
            Kind::Fragment => return,
        }
        let body = packet.cold_part(&self.arena).and_then(|cold| cold.body.as_deref());
        let Some(protocol) = body.and_then(protocol_of) else { return };
        let answer = match protocol {
            TCP => return, // a wrong checksum: its ports may be wrong as well
            _ if ICMP.contains(&protocol) => Answer::Echo,
            _ if WITH_PORTS.contains(&protocol) => Answer::Error(Trouble::NoPort),
            _ => Answer::Error(Trouble::NoProtocol),
        };
        self.answer(node, packet, answer);
    }

    fn answer(&mut self, node: NodeId, packet: &Packet, answer: Answer) {
        let Some(answers) = &mut self.answers else { return };
        let router = match &self.nodes[node.index()] {
            Node::Host(_) => None,
            Node::Router(_) => Some(router_address(packet.version(), node)),
            Node::Elsewhere => return,
        };
        let (plan, arena) = (&self.plan, &mut self.arena);
        answers.invoking.clear();
        if emit(packet, arena, plan, &mut answers.invoking).is_err() {
            return;
        }
        let bytes = match answer {
            Answer::Reset => None,
            Answer::Echo => echo_reply(&answers.invoking),
            Answer::Error(trouble) => icmp_error(trouble, &answers.invoking, router, plan),
        };
        let made = match answer {
            Answer::Reset => reset(packet),
            _ => bytes.and_then(|bytes| parse(&bytes, plan, arena).ok()),
        };
        let Some(made) = made else { return };
        if !answers.limits.entry(node).or_default().take(self.now) {
            answers.count.withheld += 1;
            return arena.free(made);
        }
        match answer {
            Answer::Reset => answers.count.resets += 1,
            Answer::Echo => answers.count.echoes += 1,
            Answer::Error(_) => answers.count.errors += 1,
        }
        answers.made.push((node, made));
    }

    /// Send what was made since the last call: after every verb, where nodes answer.
    pub fn send_answers(&mut self) {
        while let Some((node, packet)) = self.answers.as_mut().and_then(|a| a.made.pop()) {
            let port = match &self.nodes[node.index()] {
                Node::Host(_) => self.addresses[node.index()]
                    .iter()
                    .rposition(|first| *first <= packet.src())
                    .map(|interface| PortId(interface as u16)),
                _ => self.routes.port(node, &packet),
            };
            self.count.sent += 1;
            self.observe(PacketEvent::Sent(node), &packet);
            match port {
                Some(port) => self.send_any(node, self.ports.link(node, port), packet),
                None => self.drops.record(packet, DropReason::NoRoute, &mut self.arena),
            }
        }
    }
}

/// Routers have no interface that anybody sends to: each answers from an address of its own at the
/// upper end of the plan, where no host is.
fn router_address(version: IpVersion, node: NodeId) -> Addr {
    let above = match version {
        IpVersion::V4 => (1 << 24) - 1,
        IpVersion::V6 => u32::MAX,
    };
    Addr(above - 1 - node.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_has_more_than_a_hundred() {
        let mut bucket = Bucket::default();
        let mut sent = Vec::new();
        // 3 s of a flood, a pause, and another second.
        for us in (0..3_000_000).step_by(100).chain((9_000_000..10_000_000).step_by(100)) {
            let now = Time::from_nanos(us * 1_000);
            if bucket.take(now) {
                sent.push(now);
            }
        }
        let in_second = |from: Time| {
            sent.iter().filter(|&&at| at >= from && at < from + Span::from_secs(1)).count()
        };
        let most = sent.iter().map(|&from| in_second(from)).max();
        assert!(most <= Some(100) && most >= Some(98), "{most:?}");
        assert_eq!(in_second(Time::from_secs(2)), 50, "in the long run");
        assert!(in_second(Time::from_secs(9)) >= 98, "after a pause");
    }

    #[test]
    fn routers_have_addresses_that_no_host_has() {
        assert_eq!(router_address(IpVersion::V4, NodeId(0)), Addr(0x00ff_fffe));
        assert_eq!(router_address(IpVersion::V6, NodeId(2)), Addr(u32::MAX - 3));
    }
}
