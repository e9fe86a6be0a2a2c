//! What the applications of flows do, and which flow follows which.

use crate::Flow;
use crate::format::csv::{self, Row};
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, all, both};
use crate::format::fields::{Field, Spanned, shown};
use crate::format::units::Bytes;
use crate::keys::file::{File, FlowGroup};
use crate::keys::life::{Before, LawOf, Rounds, WriteTable};
use crate::resolve::topology::Topology;
use forebay_base::{FlowId, Span, Time};
use forebay_net::{After, AppSchedule, TimeDistribution, Writing, in_a_circle};
use std::collections::BTreeMap;
use std::ops::Range;

/// The life of the first flow of a group, whom it follows left out; None if it has none.
pub(crate) fn of_group(
    flow: &FlowGroup,
    mss_bytes: u64,
    jitter: Span,
) -> Result<Option<AppSchedule>, Fault> {
    let write = flow.write.as_ref().map(|at| writing(at, mss_bytes)).transpose();
    let stop = match flow.after {
        None => start(flow).and_then(|(start, _)| check_stop(flow.stop.as_ref(), start, jitter)),
        Some(_) => check_after(flow),
    };
    let think = match (&flow.think, &flow.after, &flow.rounds) {
        (Some(think), None, None) => {
            let text = "`think` without `after` or `rounds`: nothing ends before this flow";
            Err(think.fault(Problem::Conflict(text.into())))
        }
        _ => Ok(()),
    };
    let (write, _) = both(write, both(stop, think))?;
    let stop = flow.stop.as_ref().map(|at| Time::ZERO + at.value);
    let spare = flow.spare.as_ref().is_some_and(|at| at.value);
    let life = AppSchedule { after: None, stop, write, answer_bytes: 0, listen: None, spare };
    Ok((life != AppSchedule::default()).then_some(life))
}

/// The earliest start of the first flow of a group, and the distribution of the time after that.
pub(crate) fn start(flow: &FlowGroup) -> Result<(Span, Option<TimeDistribution>), Fault> {
    match &flow.start {
        None => Ok((Span::ZERO, None)),
        Some(Spanned { value: LawOf(TimeDistribution::Constant(start)), .. }) => Ok((*start, None)),
        Some(at) => {
            let stop = flow.stop.as_ref().map(|_| "`stop`: it may come before the start");
            let every = flow.every.as_ref().map(|_| "`every`: it is drawn for each flow");
            match stop.or(every) {
                None => Ok((Span::ZERO, Some(at.value.0))),
                Some(other) => {
                    let text = format!("a start that is drawn, and {other}");
                    Err(at.fault(Problem::Conflict(text)))
                }
            }
        }
    }
}

/// A flow that follows another has no start of its own, and is another.
fn check_after(flow: &FlowGroup) -> Result<(), Fault> {
    let start = flow.start.as_ref().map(Spanned::place);
    let given = [("start", start), ("every", flow.every.as_ref().map(Spanned::place))];
    let alone = given.map(|(key, given)| match given {
        Some(at) => {
            let text = format!("`{key}` of a flow that starts when another has ended (`after`)");
            Err(at.fault(Problem::Conflict(text)).hint("`think` is the time between"))
        }
        None => Ok(()),
    });
    let itself = match (&flow.after, &flow.name) {
        (Some(after), Some(name)) => match &after.value {
            Before::Named(other) if *other == name.value => Err(after.fault(follows_itself())),
            _ => Ok(()),
        },
        _ => Ok(()),
    };
    both(all(alone), itself).map(drop)
}

fn follows_itself() -> Problem {
    Problem::Conflict("a flow cannot start after itself".into())
}

/// A flow must stop after its start, if that is known but for its `jitter`.
pub(crate) fn check_stop(
    stop: Option<&Spanned<Span>>,
    start: Span,
    jitter: Span,
) -> Result<(), Fault> {
    let Some(at) = stop else { return Ok(()) };
    match not_after_start(at.value, start, jitter) {
        None => Ok(()),
        Some(expected) => Err(at.fault(Problem::OutOfRange { found: shown(&at.value), expected })),
    }
}
/// What is expected of a `stop` that is not surely after the start.
fn not_after_start(stop: Span, start: Span, jitter: Span) -> Option<String> {
    if stop > start + jitter {
        return None;
    }
    let at = shown(&start);
    Some(if stop <= start {
        format!("a time after the flow starts ({at})")
    } else {
        let by = shown(&jitter);
        format!("a time after the flow starts ({at}, or up to {by} later by start_jitter)")
    })
}

/// By how much flows may start later than they should.
pub(crate) fn start_jitter(file: &File) -> Span {
    /// Flows of one start do not march in step.
    const DEFAULT: Span = Span::from_millis(1);
    file.start_jitter.as_ref().map_or(DEFAULT, |at| at.value)
}

fn writing(at: &Spanned<WriteTable>, mss_bytes: u64) -> Result<Writing, Fault> {
    let WriteTable { rate, chunk_bytes, on, off } = &at.value;
    let missing = |key: &'static str, meaning: &str| {
        Err(at.fault(Problem::MissingKey { key: key.into(), meaning: meaning.to_string() }))
    };
    let periods = match (on, off) {
        (Some(on), Some(off)) => Some(both(period(on), period(off))?.into()),
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
fn period(at: &Spanned<LawOf>) -> Result<TimeDistribution, Fault> {
    if at.value.0.mean() >= Writing::SHORTEST {
        return Ok(at.value.0);
    }
    let expected = format!("{} or more", shown(&Writing::SHORTEST));
    Err(at.fault(Problem::OutOfRange { found: at.value.write().to_string(), expected }))
}

/// Rounds of each flow of a group, in a run that ends at `until`.
pub(crate) fn rounds(group: &FlowGroup, until: Option<Span>) -> Result<usize, Fault> {
    let Some(at) = &group.rounds else { return Ok(1) };
    let end = match at.value {
        Rounds::Number(0) => {
            let (found, expected) = ("0".to_string(), "1 or more".to_string());
            return Err(at.fault(Problem::OutOfRange { found, expected }));
        }
        Rounds::Number(rounds) => return Ok(rounds as usize),
        Rounds::UntilEnd => {
            [until, group.stop.as_ref().map(|at| at.value)].into_iter().flatten().min()
        }
    };
    let missing = |key: &'static str, meaning: &str| {
        Err(at.fault(Problem::MissingKey { key: key.into(), meaning: meaning.to_string() }))
    };
    let Some(end) = end else {
        return missing("until_s", "rounds until the end need an end of the run; or `stop`");
    };
    let Some(law) = &group.think else {
        return missing("think", "the time between rounds, which bounds their number");
    };
    match law.value.0.mean() {
        mean if mean < Writing::SHORTEST => {
            let expected = format!("{} or more", shown(&Writing::SHORTEST));
            Err(law.fault(Problem::OutOfRange { found: law.value.write().to_string(), expected }))
        }
        mean => Ok(most_rounds(end.as_secs_f64() / mean.as_secs_f64())),
    }
}

/// More rounds than a user can have with this mean think time who does nothing else: of an
/// exponential distribution, a Poisson number, that is more with a probability below 1e-12.
fn most_rounds(thoughts: f64) -> usize {
    (thoughts + 8.0 * thoughts.sqrt() + 32.0).ceil() as usize
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
pub(crate) struct Waiting<'a> {
    /// None: a group with a mistake in it, whose flows are not there.
    named: BTreeMap<&'a str, Option<Group>>,
    waiting: Vec<(Group, &'a Spanned<Before>, TimeDistribution)>,
    /// The flows of a group are missing: numbers say nothing.
    lost: bool,
    /// So are groups with their names.
    names_lost: bool,
}

impl<'a> Waiting<'a> {
    /// A group has become the flows from the first number to before the second, with this many
    /// rounds each; or there is a mistake in it.
    pub fn note(
        &mut self,
        group: &'a FlowGroup,
        added: Option<(usize, usize, usize)>,
    ) -> Result<(), Fault> {
        let of_group = added.map(|(first, end, rounds)| Group { flows: first..end, rounds });
        self.lost |= of_group.is_none();
        if let (Some(after), Some(of_group)) = (&group.after, &of_group) {
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
    pub fn resolve(mut self, flows: &mut [Flow], topology: &Topology, faults: &mut Faults) {
        self.names_lost = topology.lost.has_key("flows");
        self.lost |= self.names_lost;
        for wait in &self.waiting {
            faults.keep(self.follow_all(wait, flows, topology));
        }
        let circle = in_a_circle(flows.len(), |flow| before_of(&flows[flow]));
        let Some(flow) = circle else { return };
        let of = |(group, ..): &&(Group, &Spanned<Before>, TimeDistribution)| {
            group.flows.contains(&flow)
        };
        let (_, at, _) =
            self.waiting.iter().find(of).expect("only those that wait are in a circle");
        let text = "circular `after`: none of these flows can start".to_string();
        faults.add(at.fault(Problem::Conflict(text)));
    }

    fn follow_all(
        &self,
        follower: &(Group, &Spanned<Before>, TimeDistribution),
        flows: &mut [Flow],
        topology: &Topology,
    ) -> Result<(), Fault> {
        let (group, at, think) = follower;
        for user in 0..group.users() {
            let Some(before) = self.before(flows.len(), group, user, at)? else { return Ok(()) };
            let flow = group.first(user);
            if flow == before {
                return Err(at.fault(follows_itself()));
            }
            check(&flows[flow], &flows[before], topology, |problem| at.fault(problem))?;
            follow(&mut flows[flow], before, *think);
        }
        Ok(())
    }

    /// The flow that user number `user` of a group follows; None if a mistake elsewhere took it.
    fn before(
        &self,
        flows: usize,
        group: &Group,
        user: usize,
        at: &Spanned<Before>,
    ) -> Result<Option<usize>, Fault> {
        let name = match &at.value {
            Before::Number(_) if self.lost => return Ok(None),
            Before::Number(number) => {
                let place = (*number as usize).checked_sub(1).filter(|&flow| flow < flows);
                return place.map(Some).ok_or_else(|| {
                    let expected = format!("the number of a flow, 1 to {flows}");
                    at.fault(Problem::OutOfRange { found: number.to_string(), expected })
                });
            }
            Before::Named(name) => name,
        };
        let Some(other) = self.named.get(name.as_str()) else {
            let problem = Problem::UnknownName { kind: "flow", name: name.clone() };
            let fault = at.fault(problem).suggest(name, self.named.keys().copied());
            return Err(fault.following(self.names_lost));
        };
        let Some(other) = other else { return Ok(None) };
        match (other.users(), group.users()) {
            (1, _) => Ok(Some(other.flows.end - 1)),
            (a, b) if a == b => Ok(Some(other.first(user) + other.rounds - 1)),
            (a, b) => {
                let text = format!(
                    "`{name}` has {a} flows and this group {b}: expected 1 flow or {b}, one each"
                );
                Err(at.fault(Problem::Conflict(text)))
            }
        }
    }
}

fn before_of(flow: &Flow) -> Option<usize> {
    Some(flow.life.as_ref()?.after?.flow.index())
}

/// Think time of a user between two flows: 0 unless given.
pub(crate) fn think(group: &FlowGroup) -> TimeDistribution {
    group.think.as_ref().map_or(TimeDistribution::Constant(Span::ZERO), |at| at.value.0)
}

/// Let a flow start when another has ended.
pub(crate) fn follow(flow: &mut Flow, before: usize, think: TimeDistribution) {
    let after = Some(After { flow: FlowId(before as u32), think });
    flow.life.get_or_insert_default().after = after;
}

/// Whether `flow` can start when `before` has ended.
pub(crate) fn check(
    flow: &Flow,
    before: &Flow,
    topology: &Topology,
    fault: impl Fn(Problem) -> Fault,
) -> Result<(), Fault> {
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

/// An earlier row that the flow of a row follows, and how long after the end of that one.
type AfterRow = Option<(usize, Span)>;

/// When the flow of a row of a CSV file starts, what its application does, and whom it follows.
/// `before`: rows before it.
pub(crate) fn of_row(
    row: &Row<'_>,
    before: usize,
    mss_bytes: u64,
    jitter: Span,
) -> Result<(Span, Option<AppSchedule>, AfterRow), Fault> {
    let stop = row.has(csv::STOP).then(|| row.seconds(csv::STOP)).transpose();
    let rate = row.has(csv::RATE).then(|| row.rate(csv::RATE)).transpose();
    let ((start, after), (stop, rate)) = both(start_of_row(row, before), both(stop, rate))?;
    if let (None, Some(stop)) = (after, stop)
        && let Some(expected) = not_after_start(stop, start, jitter)
    {
        return Err(row.wrong(csv::STOP, &expected));
    }
    let chunk_bytes = mss_bytes as u32;
    let write = rate.map(|rate| Writing { rate: Some(rate), chunk_bytes, periods: None });
    let stop = stop.map(|stop| Time::ZERO + stop);
    let life =
        AppSchedule { after: None, stop, write, answer_bytes: 0, listen: None, spare: false };
    Ok((start, (life != AppSchedule::default()).then_some(life), after))
}

/// When a flow starts, zero if it follows another, and that other.
fn start_of_row(row: &Row<'_>, before: usize) -> Result<(Span, AfterRow), Fault> {
    if !row.has(csv::AFTER) {
        let think = if row.has(csv::THINK) {
            let text = "`think_s` without `after`".to_string();
            Err(row.fault(csv::THINK, Problem::Conflict(text)))
        } else {
            Ok(())
        };
        let (start, ()) = both(row.seconds(csv::START), think)?;
        return Ok((start, None));
    }
    let alone = if row.has(csv::START) {
        let text = "`start_s` of a flow that starts when another has ended (`after`)";
        let fault = row.fault(csv::START, Problem::Conflict(text.into()));
        Err(fault.hint("leave the cell empty"))
    } else {
        Ok(())
    };
    let think = if row.has(csv::THINK) { row.seconds(csv::THINK) } else { Ok(Span::ZERO) };
    let (after, ()) = both(both(row.earlier_row(csv::AFTER, before), think), alone)?;
    Ok((Span::ZERO, Some(after)))
}

/// The keys of a flow whose life this is.
pub(crate) fn describe(life: &AppSchedule, group: &mut FlowGroup) {
    if let Some(After { flow, think }) = life.after {
        group.start = None;
        group.after = Some(Spanned::new(Before::Number(flow.0 + 1)));
        group.think = Some(Spanned::new(LawOf(think)));
    }
    group.spare = life.spare.then(|| Spanned::new(true));
    group.stop = life.stop.map(|stop| Spanned::new(stop.since(Time::ZERO)));
    group.write = life.write.map(|Writing { rate, chunk_bytes, periods }| {
        let [on, off] = periods.map_or([None; 2], |both| both.map(Some));
        let of = |law: Option<TimeDistribution>| law.map(|law| Spanned::new(LawOf(law)));
        Spanned::new(WriteTable {
            rate: rate.map(Spanned::new),
            chunk_bytes: rate.map(|_| Spanned::new(Bytes(chunk_bytes.into()))),
            on: of(on),
            off: of(off),
        })
    });
}
