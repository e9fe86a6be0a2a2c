//! Attacks, with the hosts and flows that they name.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, both};
use crate::format::fields::{Spanned, value_or};
use crate::keys::attacks::AttackEntry;
use crate::keys::file::File;
use crate::model::attacks::Attack;
use crate::resolve::topology::Topology;
use crate::{Flow, Scenario};
use forebay_base::{FlowId, IpVersion, Span, Time};
use forebay_net::{Knowledge, SpoofedFragment};

/// Most packets that all attacks of a scenario forge: each is an event.
const MAX_PACKETS: u64 = 1_000_000;

/// All attacks of a file.
pub(crate) fn expand(
    file: &File,
    topology: &Topology,
    flows: &[Flow],
    faults: &mut Faults,
) -> Vec<Attack> {
    let (mut attacks, mut packets) = (Vec::new(), 0);
    for entry in file.attacks.iter().flat_map(|at| &at.value) {
        let one = one(entry, topology, flows, file, &mut packets);
        attacks.extend(faults.keep(one));
    }
    attacks
}

fn one(
    entry: &Spanned<AttackEntry>,
    topology: &Topology,
    flows: &[Flow],
    file: &File,
    packets: &mut u64,
) -> Result<Attack, Fault> {
    let AttackEntry { from, flow, start, every, count, lead_bytes, knows } = &entry.value;
    if file.ip_version.as_ref().is_some_and(|at| at.value == IpVersion::V6) {
        let text = "attacks forge IPv4 fragments, and `ip_version` is 6";
        return Err(entry.fault(Problem::Conflict(text.into())));
    }
    let node = topology.named(&from.value, |problem| from.fault(problem));
    let (from, flow) = both(node, flow_of(flow, flows))?;
    let number = value_or(count, 1);
    *packets += u64::from(number);
    if let Some(at) = count.as_ref().filter(|_| *packets > MAX_PACKETS) {
        let (found, expected) =
            (packets.to_string(), format!("at most {MAX_PACKETS} packets in all attacks"));
        return Err(at.fault(Problem::OutOfRange { found, expected }));
    }
    let lead = lead_bytes.as_ref().map_or(Ok(SpoofedFragment::MIN_LEAD_BYTES), lead_of)?;
    Ok(Attack {
        from,
        flow,
        start: Time::ZERO + value_or(start, Span::ZERO),
        every: value_or(every, Span::from_millis(10)),
        count: number,
        lead_bytes: lead,
        knows: value_or(knows, Knowledge::Receiver),
    })
}

fn flow_of(at: &Spanned<u32>, flows: &[Flow]) -> Result<FlowId, Fault> {
    let index = at.value.checked_sub(1).filter(|&index| (index as usize) < flows.len());
    index.map(FlowId).ok_or_else(|| {
        let expected = format!("the number of a flow, 1 to {}", flows.len());
        at.out_of_range(expected)
    })
}

fn lead_of(at: &Spanned<u16>) -> Result<u16, Fault> {
    let (least, most) = (SpoofedFragment::MIN_LEAD_BYTES, SpoofedFragment::MAX_LEAD_BYTES);
    if (least..=most).contains(&at.value) && at.value.is_multiple_of(8) {
        return Ok(at.value);
    }
    let expected = format!("a multiple of 8 from {least} to {most}");
    Err(at.out_of_range(expected))
}

/// The keys that say an attack.
pub(crate) fn describe(attack: &Attack, scenario: &Scenario) -> AttackEntry {
    AttackEntry {
        from: Spanned::new(scenario.nodes[attack.from.index()].name.clone()),
        flow: Spanned::new(attack.flow.0 + 1),
        start: Spanned::some(attack.start.since(Time::ZERO)),
        every: Spanned::some(attack.every),
        count: Spanned::some(attack.count),
        lead_bytes: Spanned::some(attack.lead_bytes),
        knows: Spanned::some(attack.knows),
    }
}
