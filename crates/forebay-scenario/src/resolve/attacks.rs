//! Attacks, with the hosts, links and flows that they name.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, both};
use crate::format::fields::{Spanned, value_or};
use crate::keys::attacks::{AttackEntry, AttackName};
use crate::keys::file::File;
use crate::model::attacks::{Attack, AttackKind};
use crate::resolve::topology::Topology;
use crate::{Flow, Scenario};
use forebay_base::{FlowId, IpVersion, LinkId, NodeId, Span, Time};
use forebay_cc::inrpp::Misbehaviour;
use forebay_net::{Knowledge, Look, SpoofedPacket};
use forebay_signal::inrpp::guard::Carrier;
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, MAX_ALLOWANCE, Nonce};

/// Most packets that all attacks of a scenario forge: each is an event.
const MAX_PACKETS: u64 = 1_000_000;
/// Most parts of an ACK.
const MAX_PARTS: u8 = 64;
const PARTS: u8 = 8;

/// All attacks of a file. Notices have room for a code if `guarded`.
pub(crate) fn expand(
    file: &File,
    topology: &Topology,
    flows: &[Flow],
    guarded: bool,
    faults: &mut Faults,
) -> Vec<Attack> {
    let (mut attacks, mut packets) = (Vec::new(), 0);
    for entry in file.attacks.iter().flat_map(|at| &at.value) {
        let six = file.ip_version.as_ref().is_some_and(|at| at.value == IpVersion::V6);
        let version = if six { IpVersion::V6 } else { IpVersion::V4 };
        let resolver = Resolver { entry, version, guarded };
        attacks.extend(faults.keep(resolver.attack(topology, flows, &mut packets)));
    }
    attacks
}

struct Resolver<'a> {
    entry: &'a Spanned<AttackEntry>,
    version: IpVersion,
    guarded: bool,
}

impl Resolver<'_> {
    fn attack(
        &self,
        topology: &Topology,
        flows: &[Flow],
        packets: &mut u64,
    ) -> Result<Attack, Fault> {
        let AttackEntry { from, flow, .. } = &self.entry.value;
        let name = self.name();
        if name == AttackName::Fragments && self.version == IpVersion::V6 {
            let text = "attacks forge IPv4 fragments, and `ip_version` is 6";
            return Err(self.entry.fault(Problem::Conflict(text.into())));
        }
        self.check_keys(name)?;
        let node = topology.named(&from.value, |problem| from.fault(problem));
        let (from, flow) = both(node, flow_of(flow, flows))?;
        let what = match self.misbehaviour(name)? {
            Some(misbehaviour) => {
                self.check_end(from, &flows[flow.index()], misbehaviour, topology)?;
                AttackKind::Misbehave(misbehaviour)
            }
            None if name == AttackName::Replay => self.replay(from, topology, packets)?,
            None => self.forge(name, packets)?,
        };
        Ok(Attack { from, flow, what })
    }
    fn name(&self) -> AttackName {
        value_or(&self.entry.value.kind, AttackName::Fragments)
    }

    /// Every key that is given is one of this kind of attack.
    fn check_keys(&self, name: AttackName) -> Result<(), Fault> {
        use AttackName::{Acks, ForgingReceiver, Fragments, Notices, Replay, SplitAcks};
        let AttackEntry {
            start,
            every,
            count,
            lead_bytes,
            knows,
            ask,
            parts,
            link,
            age,
            from: _,
            flow: _,
            kind: _,
        } = &self.entry.value;
        let forges = matches!(name, Fragments | Acks | Notices);
        let (replays, sends) = (name == Replay, forges || name == Replay);
        let asks = matches!(name, Acks | Notices | ForgingReceiver | Replay);
        let place = |at: &Option<Spanned<Span>>| at.as_ref().map(Spanned::place);
        let given = [
            (sends, place(start)),
            (sends, place(every)),
            (sends, count.as_ref().map(Spanned::place)),
            (forges, knows.as_ref().map(Spanned::place)),
            (name == Fragments, lead_bytes.as_ref().map(Spanned::place)),
            (asks, ask.as_ref().map(Spanned::place)),
            (name == SplitAcks, parts.as_ref().map(Spanned::place)),
            (replays, link.as_ref().map(Spanned::place)),
            (replays, place(age)),
        ];
        let odd = given.into_iter().find_map(|(fits, place)| place.filter(|_| !fits));
        odd.map_or(Ok(()), |place| {
            let kind = crate::format::fields::shown(&name);
            let text = format!("an attack of the kind \"{kind}\" has no such key");
            Err(place.fault(Problem::Conflict(text)))
        })
    }

    /// What an end of the flow does, if the attack is that.
    fn misbehaviour(&self, name: AttackName) -> Result<Option<Misbehaviour>, Fault> {
        let AttackEntry { ask, parts, .. } = &self.entry.value;
        Ok(Some(match name {
            AttackName::Fragments | AttackName::Acks | AttackName::Notices | AttackName::Replay => {
                return Ok(None);
            }
            AttackName::GreedySender => Misbehaviour::GreedySender,
            AttackName::SplitAcks => match parts {
                Some(at) if !(2..=MAX_PARTS).contains(&at.value) => {
                    return Err(at.out_of_range(format!("2 to {MAX_PARTS}")));
                }
                _ => Misbehaviour::SplitAcks(value_or(parts, PARTS)),
            },
            AttackName::ForgingReceiver => {
                let ask = value_or(ask, BackPressureSignal::Cancel);
                let free = matches!(ask, BackPressureSignal::Cancel | BackPressureSignal::Nothing);
                let allowance = if free { MAX_ALLOWANCE } else { 0 };
                let nonce = Nonce::new(u32::MAX);
                let signal = BackPressure {
                    ask,
                    nonce,
                    allowance,
                    routers: u8::MAX,
                    ..BackPressure::default()
                };
                Misbehaviour::ForgingReceiver(signal)
            }
        }))
    }

    /// An end breaks rules at its own host.
    fn check_end(
        &self,
        from: NodeId,
        flow: &Flow,
        misbehaviour: Misbehaviour,
        topology: &Topology,
    ) -> Result<(), Fault> {
        let (end, word) = match misbehaviour {
            Misbehaviour::GreedySender => (flow.src, "sender"),
            _ => (flow.dst, "receiver"),
        };
        if from == end {
            return Ok(());
        }
        let name = &topology.nodes[end.index()].name;
        let text = format!("the {word} of this flow is `{name}`");
        Err(self.entry.value.from.fault(Problem::Conflict(text)))
    }

    /// When the first packet is sent, the time between two, and how many there are.
    fn times(&self, packets: &mut u64) -> Result<(Time, Span, u32), Fault> {
        let AttackEntry { start, every, count, .. } = &self.entry.value;
        let number = value_or(count, 1);
        *packets += u64::from(number);
        if let Some(at) = count.as_ref().filter(|_| *packets > MAX_PACKETS) {
            let (found, expected) =
                (packets.to_string(), format!("at most {MAX_PACKETS} packets in all attacks"));
            return Err(at.fault(Problem::OutOfRange { found, expected }));
        }
        let start = Time::ZERO + value_or(start, Span::ZERO);
        Ok((start, value_or(every, Span::from_millis(10)), number))
    }

    fn replay(
        &self,
        from: NodeId,
        topology: &Topology,
        packets: &mut u64,
    ) -> Result<AttackKind, Fault> {
        let AttackEntry { from: at, link, ask, age, .. } = &self.entry.value;
        let Some(name) = link else {
            let meaning = "the link on which packets are recorded and replayed".to_string();
            return Err(self.entry.fault(Problem::MissingKey { key: "link".into(), meaning }));
        };
        let index = topology.link(name)?;
        let directions = [0, 1].map(|side| LinkId((2 * index + side) as u32));
        let leaves = directions.into_iter().find(|&id| topology.port(from, id).is_some());
        let link = leaves.ok_or_else(|| {
            let text = format!("`{}` is not at the link `{}`", at.value, name.value);
            at.fault(Problem::Conflict(text))
        })?;
        let (start, every, count) = self.times(packets)?;
        let (ask, age) = (value_or(ask, BackPressureSignal::SlowDown), value_or(age, Span::ZERO));
        Ok(AttackKind::Replay { start, every, count, link, ask, age })
    }

    fn forge(&self, name: AttackName, packets: &mut u64) -> Result<AttackKind, Fault> {
        let AttackEntry { lead_bytes, knows, ask, .. } = &self.entry.value;
        let (start, every, count) = self.times(packets)?;
        let ask = value_or(ask, BackPressureSignal::SlowDown);
        // As if it had passed a few routers.
        let signal = BackPressure { ask, routers: 2, ..BackPressure::default() };
        let notice = |carrier| Look::Notice { carrier, signal, guarded: self.guarded };
        let look = match name {
            AttackName::Acks => notice(Carrier::Ack),
            AttackName::Notices => notice(Carrier::Data),
            _ => {
                let least = Ok(SpoofedPacket::MIN_LEAD_BYTES);
                Look::Fragment { lead_bytes: lead_bytes.as_ref().map_or(least, lead_of)? }
            }
        };
        Ok(AttackKind::Forge {
            start,
            every,
            count,
            look,
            knows: value_or(knows, Knowledge::Receiver),
        })
    }
}

fn flow_of(at: &Spanned<u32>, flows: &[Flow]) -> Result<FlowId, Fault> {
    let index = at.value.checked_sub(1).filter(|&index| (index as usize) < flows.len());
    index.map(FlowId).ok_or_else(|| {
        let expected = format!("the number of a flow, 1 to {}", flows.len());
        at.out_of_range(expected)
    })
}

fn lead_of(at: &Spanned<u16>) -> Result<u16, Fault> {
    let (least, most) = (SpoofedPacket::MIN_LEAD_BYTES, SpoofedPacket::MAX_LEAD_BYTES);
    if (least..=most).contains(&at.value) && at.value.is_multiple_of(8) {
        return Ok(at.value);
    }
    let expected = format!("a multiple of 8 from {least} to {most}");
    Err(at.out_of_range(expected))
}

/// The keys that say an attack.
pub(crate) fn describe(attack: &Attack, scenario: &Scenario) -> AttackEntry {
    let entry = AttackEntry {
        from: Spanned::new(scenario.nodes[attack.from.index()].name.clone()),
        flow: Spanned::new(attack.flow.0 + 1),
        ..AttackEntry::default()
    };
    let kind = Spanned::some;
    match attack.what {
        AttackKind::Forge { start, every, count, look, knows } => {
            let entry = AttackEntry {
                start: Spanned::some(start.since(Time::ZERO)),
                every: Spanned::some(every),
                count: Spanned::some(count),
                knows: Spanned::some(knows),
                ..entry
            };
            match look {
                Look::Fragment { lead_bytes } => AttackEntry {
                    kind: kind(AttackName::Fragments),
                    lead_bytes: Spanned::some(lead_bytes),
                    ..entry
                },
                Look::Notice { carrier, signal, .. } => AttackEntry {
                    kind: kind(match carrier {
                        Carrier::Ack => AttackName::Acks,
                        Carrier::Data => AttackName::Notices,
                    }),
                    ask: Spanned::some(signal.ask),
                    ..entry
                },
            }
        }
        AttackKind::Replay { start, every, count, link, ask, age } => AttackEntry {
            kind: kind(AttackName::Replay),
            start: Spanned::some(start.since(Time::ZERO)),
            every: Spanned::some(every),
            count: Spanned::some(count),
            link: Spanned::some(scenario.links[link.index() / 2].name.clone()),
            ask: Spanned::some(ask),
            age: Spanned::some(age),
            ..entry
        },
        AttackKind::Misbehave(Misbehaviour::None) => unreachable!("no attack"),
        AttackKind::Misbehave(Misbehaviour::GreedySender) => {
            AttackEntry { kind: kind(AttackName::GreedySender), ..entry }
        }
        AttackKind::Misbehave(Misbehaviour::SplitAcks(parts)) => {
            AttackEntry { kind: kind(AttackName::SplitAcks), parts: Spanned::some(parts), ..entry }
        }
        AttackKind::Misbehave(Misbehaviour::ForgingReceiver(signal)) => AttackEntry {
            kind: kind(AttackName::ForgingReceiver),
            ask: Spanned::some(signal.ask),
            ..entry
        },
    }
}
