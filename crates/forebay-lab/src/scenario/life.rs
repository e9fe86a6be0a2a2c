//! What the application of a flow does: the keys `stop`, `write`, `after`, `think` and `rounds` of
//! flows.

use super::Flow;
use super::error::{Fault, Problem};
use super::fields::{At, Field, Fields, Section, property, read_section, section_schema, sections};
use super::file::FlowGroup;
use super::item::{Item, Value};
use super::text::shown;
use super::topology::Topology;
use super::units::Bytes;
use forebay_base::{FlowId, Rate, Span, Time};
use forebay_net::{After, Law, Life, Writing, in_a_circle};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ops::Range;

sections! {
    /// A law by which times are drawn: one of the two.
    pub struct LawTable {
        required {}
        optional {
            /// Exponential with this mean, with unit.
            exponential: Span,
            /// Uniform between these two times, with unit.
            uniform: Vec<Span>,
        }
    }
    /// How an application writes over time: at a rate, in periods, or both.
    pub struct WriteTable {
        required {}
        optional {
            /// Rate at which it writes payload, with unit; without it, as fast as the transport
            /// sends.
            rate: Rate,
            /// Bytes that it writes at once under a rate: a number, or a string with unit; default
            /// a full-sized packet.
            chunk_bytes: Bytes,
            /// How long it writes, with unit or as a law; it begins with that.
            on: LawOf,
            /// How long it then writes nothing, with unit or as a law.
            off: LawOf,
        }
    }
}

/// A time, or a law for one.
#[derive(Clone, Copy, Debug)]
pub(super) struct LawOf(pub Law);

impl Field for LawOf {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Table(_) = &item.value else {
            let expected =
                "a time such as \"100ms\", or a table such as { exponential = \"100ms\" }";
            return match item.value {
                Value::String(_) => Span::read(item, key).map(|span| LawOf(Law::Constant(span))),
                _ => Err(item.expected(key, expected)),
            };
        };
        let LawTable { exponential, uniform } = LawTable::read(item, key)?;
        let at = At { value: (), loc: item.loc, key: key.to_string() };
        match (exponential, uniform) {
            (Some(mean), None) => Ok(LawOf(Law::Exponential(mean.value))),
            (None, Some(at)) => match at.value[..] {
                [least, most] if least <= most => Ok(LawOf(Law::Uniform(least, most))),
                _ => {
                    let expected = "two times, the shorter first".to_string();
                    let found = at.value.write().to_string();
                    Err(at.fault(Problem::OutOfRange { found, expected }))
                }
            },
            _ => Err(at.fault(Problem::Conflict("one of `exponential` and `uniform`".into()))),
        }
    }
    fn write(&self) -> toml::Value {
        let table = |key: &str, value: toml::Value| {
            toml::Value::Table([(key.to_string(), value)].into_iter().collect())
        };
        match self.0 {
            Law::Constant(span) => span.write(),
            Law::Exponential(mean) => table("exponential", mean.write()),
            Law::Uniform(least, most) => table("uniform", vec![least, most].write()),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [Span::schema(), LawTable::schema()] })
    }
}

/// The flow or the group that a flow follows.
#[derive(Clone, Debug)]
pub(super) enum Before {
    /// By its name.
    Named(String),
    /// The flow of this number in results, from 1 on.
    Number(u32),
}

impl Field for Before {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(name) => Ok(Before::Named(name.clone())),
            Value::Integer(_) => u32::read(item, key).map(Before::Number),
            _ => Err(item.expected(key, "the name of a flow, or its number")),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            Before::Named(name) => toml::Value::String(name.clone()),
            Before::Number(number) => toml::Value::Integer((*number).into()),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 1 }] })
    }
}

/// The life of the first flow of a group, whom it follows left out; None if it has none.
pub(super) fn of_group(group: &At<FlowGroup>, mss_bytes: u64) -> Result<Option<Life>, Fault> {
    let flow = &group.value;
    if let Some(after) = &flow.after {
        for (key, given) in [("start", &flow.start), ("every", &flow.every)] {
            if let Some(at) = given {
                let text =
                    format!("`{key}` of a flow that starts when another has ended (`after`)");
                return Err(at.fault(Problem::Conflict(text)).hint("`think` is the time between"));
            }
        }
        if let (Before::Named(other), Some(name)) = (&after.value, &flow.name)
            && *other == name.value
        {
            return Err(after.fault(follows_itself()));
        }
    }
    if let (Some(think), None, None) = (&flow.think, &flow.after, &flow.rounds) {
        let text = "`think` without `after` or `rounds`: nothing ends before this flow".to_string();
        return Err(think.fault(Problem::Conflict(text)));
    }
    let stop = flow.stop.as_ref().map(|at| Time::ZERO + at.value);
    let write = flow.write.as_ref().map(|at| writing(at, mss_bytes)).transpose()?;
    let life = Life { after: None, stop, write };
    Ok((life != Life::default()).then_some(life))
}

fn follows_itself() -> Problem {
    Problem::Conflict("a flow cannot start after itself".into())
}

/// A flow must stop behind its start, if that is known.
pub(super) fn check_stop(stop: Option<&At<Span>>, start: Span) -> Result<(), Fault> {
    let Some(at) = stop.filter(|at| at.value <= start) else { return Ok(()) };
    let expected = format!("a time behind the start of the flow ({})", shown(&start));
    Err(at.fault(Problem::OutOfRange { found: shown(&at.value), expected }))
}

fn writing(at: &At<WriteTable>, mss_bytes: u64) -> Result<Writing, Fault> {
    let WriteTable { rate, chunk_bytes, on, off } = &at.value;
    let missing = |key, meaning: &str| {
        Err(at.fault(Problem::MissingKey { key, meaning: meaning.to_string() }))
    };
    let periods = match (on, off) {
        (Some(on), Some(off)) => Some([period(on)?, period(off)?]),
        (Some(_), None) => {
            return missing("off", "how long it writes nothing between the periods of `on`");
        }
        (None, Some(_)) => return missing("on", "how long it writes between the periods of `off`"),
        (None, None) => None,
    };
    if rate.is_none() && periods.is_none() {
        return missing("rate", "the rate at which it writes; or `on` and `off`");
    }
    let chunk_bytes = match (chunk_bytes, rate) {
        (Some(at), None) => {
            let text = "`chunk_bytes` without `rate`: nothing is written in chunks".to_string();
            return Err(at.fault(Problem::Conflict(text)));
        }
        (Some(at), Some(_)) => match u32::try_from(at.value.0) {
            Ok(bytes) if (1..1 << 24).contains(&bytes) => bytes,
            _ => {
                let (found, expected) = (at.value.0.to_string(), "1 to 16777215 bytes".to_string());
                return Err(at.fault(Problem::OutOfRange { found, expected }));
            }
        },
        (None, _) => mss_bytes as u32,
    };
    Ok(Writing { rate: rate.as_ref().map(|at| at.value), chunk_bytes, periods })
}

/// A time to write, or not to, that is not nothing.
fn period(at: &At<LawOf>) -> Result<Law, Fault> {
    if at.value.0.mean() >= Writing::SHORTEST {
        return Ok(at.value.0);
    }
    let expected = format!("{} or more", shown(&Writing::SHORTEST));
    Err(at.fault(Problem::OutOfRange { found: at.value.write().to_string(), expected }))
}

/// Rounds of each flow of a group.
pub(super) fn rounds(group: &FlowGroup) -> Result<usize, Fault> {
    match &group.rounds {
        Some(at) if at.value == 0 => {
            let (found, expected) = ("0".to_string(), "1 or more".to_string());
            Err(at.fault(Problem::OutOfRange { found, expected }))
        }
        Some(at) => Ok(at.value as usize),
        None => Ok(1),
    }
}

/// The flows of a group: one user after the other, each with all of its rounds.
#[derive(Clone)]
struct Group {
    flows: Range<usize>,
    rounds: usize,
}

impl Group {
    fn users(&self) -> usize {
        self.flows.len() / self.rounds
    }
    fn first(&self, user: usize) -> usize {
        self.flows.start + user * self.rounds
    }
}

/// Who follows whom by name: known when all groups are.
#[derive(Default)]
pub(super) struct Waiting<'a> {
    named: BTreeMap<&'a str, Group>,
    waiting: Vec<(Group, &'a At<Before>, Law)>,
}

impl<'a> Waiting<'a> {
    /// A group has become these flows.
    pub fn note(
        &mut self,
        group: &'a FlowGroup,
        flows: Range<usize>,
        rounds: usize,
    ) -> Result<(), Fault> {
        let of_group = Group { flows, rounds };
        if let Some(after) = &group.after {
            self.waiting.push((of_group.clone(), after, think(group)));
        }
        let Some(name) = &group.name else { return Ok(()) };
        match self.named.insert(&name.value, of_group) {
            None => Ok(()),
            Some(_) => {
                let name_of = name.value.clone();
                Err(name.fault(Problem::Duplicate { kind: "flow", name: name_of }))
            }
        }
    }

    /// Let each follow the one that it names.
    pub fn resolve(self, flows: &mut [Flow], topology: &Topology) -> Result<(), Fault> {
        for (group, at, think) in &self.waiting {
            for user in 0..group.users() {
                let before = self.before(flows.len(), (group, user), at)?;
                let flow = group.first(user);
                check(flows, (flow, before), topology, |problem| at.fault(problem))?;
                follow(&mut flows[flow], before, *think);
            }
        }
        let circle = in_a_circle(flows.len(), |flow| before_of(&flows[flow]));
        let Some(flow) = circle else { return Ok(()) };
        let of = |(group, ..): &&(Group, &At<Before>, Law)| group.flows.contains(&flow);
        let (_, at, _) =
            self.waiting.iter().find(of).expect("only those that wait are in a circle");
        let text = "these flows wait for each other, and none ever starts".to_string();
        Err(at.fault(Problem::Conflict(text)))
    }

    /// The flow that user number `user` of a group follows.
    fn before(
        &self,
        flows: usize,
        (group, user): (&Group, usize),
        at: &At<Before>,
    ) -> Result<usize, Fault> {
        let name = match &at.value {
            Before::Number(number) => {
                let place = (*number as usize).checked_sub(1).filter(|&flow| flow < flows);
                return place.ok_or_else(|| {
                    let expected = format!("the number of a flow, 1 to {flows}");
                    at.fault(Problem::OutOfRange { found: number.to_string(), expected })
                });
            }
            Before::Named(name) => name,
        };
        let Some(other) = self.named.get(name.as_str()) else {
            let problem = Problem::UnknownName { kind: "flow", name: name.clone() };
            return Err(at.fault(problem).suggest(name, self.named.keys().copied()));
        };
        match (other.users(), group.users()) {
            (1, _) => Ok(other.flows.end - 1),
            (a, b) if a == b => Ok(other.first(user) + other.rounds - 1),
            (a, b) => {
                let text = format!(
                    "`{name}` has {a} flows and this group {b}: neither one for all nor one each"
                );
                Err(at.fault(Problem::Conflict(text)))
            }
        }
    }
}

fn before_of(flow: &Flow) -> Option<usize> {
    Some(flow.life.as_ref()?.after?.flow.index())
}

/// What a user thinks between two flows: no time, unless it is said.
pub(super) fn think(group: &FlowGroup) -> Law {
    group.think.as_ref().map_or(Law::Constant(Span::ZERO), |at| at.value.0)
}

/// Let a flow start when another has ended.
pub(super) fn follow(flow: &mut Flow, before: usize, think: Law) {
    let after = Some(After { flow: FlowId(before as u32), think });
    flow.life.get_or_insert_default().after = after;
}

/// Whether `flow` can start when `before` has ended.
pub(super) fn check(
    flows: &[Flow],
    (flow, before): (usize, usize),
    topology: &Topology,
    fault: impl Fn(Problem) -> Fault,
) -> Result<(), Fault> {
    if flow == before {
        return Err(fault(follows_itself()));
    }
    let (flow, before) = (&flows[flow], &flows[before]);
    let name = |node: forebay_base::NodeId| &topology.nodes[node.index()].name;
    if flow.src != before.src {
        let (own, other) = (name(flow.src), name(before.src));
        let text = format!(
            "this flow starts at `{own}`, the one before it at `{other}`: a host knows only of its \
             own"
        );
        return Err(fault(Problem::Conflict(text)));
    }
    if before.is_endless() {
        let text = "the flow before it never ends".to_string();
        return Err(
            fault(Problem::Conflict(text)).hint("give that one `stop`, `bytes` or `packets`")
        );
    }
    Ok(())
}

/// The keys of a flow whose life this is.
pub(super) fn describe(life: &Life, group: &mut FlowGroup) {
    if let Some(After { flow, think }) = life.after {
        group.start = None;
        group.after = Some(At::new(Before::Number(flow.0 + 1)));
        group.think = Some(At::new(LawOf(think)));
    }
    group.stop = life.stop.map(|stop| At::new(stop.since(Time::ZERO)));
    group.write = life.write.map(|Writing { rate, chunk_bytes, periods }| {
        let [on, off] = periods.map_or([None; 2], |both| both.map(Some));
        let of = |law: Option<Law>| law.map(|law| At::new(LawOf(law)));
        At::new(WriteTable {
            rate: rate.map(At::new),
            chunk_bytes: rate.map(|_| At::new(Bytes(chunk_bytes.into()))),
            on: of(on),
            off: of(off),
        })
    });
}
