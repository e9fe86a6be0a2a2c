//! When the flows of a group arrive, and between which hosts.

use crate::Channel;
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{all, both};
use crate::format::fields::{Spanned, value_or};
use crate::format::units::Number;
use crate::keys::arrivals::{ArrivalsTable, Pairs, Process};
use crate::keys::file::FlowGroup;
use crate::model::arrivals::Arrival;
use crate::resolve::sizes::Size;
use crate::resolve::topology::Topology;
use forebay_base::{NodeId, Rate, Rng, Span, Stream, Time};
use std::collections::BTreeMap;

/// Streams of groups that state none begin here, so that stated ones are seldom theirs.
const FIRST_STREAM: u32 = 1 << 16;
/// Highest load: what would wait is a thousand times what a link carries.
const MAX_LOAD: f64 = 1e3;
/// Most arrivals in a second: one in each tick of the clock.
const MAX_PER_S: f64 = 1e9;
/// Most flows in progress on average when a process begins in its steady state.
const MAX_IN_PROGRESS: f64 = 1e6;

/// Processes of all groups: their streams, and the loads of links.
#[derive(Default)]
pub(crate) struct Processes {
    streams: u32,
    loads: BTreeMap<String, f64>,
}

/// The process of a group, or of each router that its senders are at.
pub(crate) struct GroupArrivals {
    arrival: Arrival,
    per_router: bool,
    /// By router the place of its process and the number of flows that it has so far.
    places: BTreeMap<Option<NodeId>, (u32, u32)>,
}

/// What a load is made of besides the keys.
pub(crate) struct Offered {
    pub size: Size,
    /// Payload of a full-sized packet, and headers of IP and TCP without options.
    pub mss_bytes: u64,
    pub header_bytes: u64,
    /// When the run ends.
    pub until: Option<Span>,
}

impl Processes {
    /// The process of a group, if it has one.
    pub fn of_group(
        &mut self,
        flow: &FlowGroup,
        offered: &Offered,
        topology: &Topology,
    ) -> Result<Option<GroupArrivals>, Fault> {
        let Some(at) = &flow.arrivals else { return Ok(None) };
        let table = &at.value;
        let (per_s, (until, ())) = both(
            self.per_s(at, offered, topology),
            both(until(table, flow, offered.until), goes_with(flow)),
        )?;
        let number = value_or(&table.number, 0);
        let in_progress = in_progress(at, flow, offered, per_s)?;
        let stream = match &table.stream {
            Some(at) => at.value,
            None => FIRST_STREAM + self.streams,
        };
        let arrival = Arrival { per_s, stream, number, in_progress, until };
        let per_router = value_or(&table.per_router, false);
        Ok(Some(GroupArrivals { arrival, per_router, places: BTreeMap::new() }))
    }

    /// All flows of a group have their arrivals.
    pub fn end(&mut self, of: Option<GroupArrivals>) {
        self.streams += of.map_or(0, |of| of.places.len() as u32);
    }

    /// Notes on links that are offered more than they carry.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.loads.iter().filter(|&(_, &load)| load > 1.0).map(|(link, load)| {
            format!(
                "links.{link}: arrivals of flows offer {load:.3} of its rate, more than it \
                 carries: what waits grows for as long as flows arrive"
            )
        })
    }

    /// Mean number of arrivals in a second: lambda = load C / (8 E[S] (1 + h)), with headers of h
    /// bytes for each byte of payload.
    fn per_s(
        &mut self,
        at: &Spanned<ArrivalsTable>,
        offered: &Offered,
        topology: &Topology,
    ) -> Result<f64, Fault> {
        let table = &at.value;
        let alone = |other: Option<Spanned<()>>| match other {
            Some(other) => {
                Err(other.fault(Problem::Conflict("it goes with `load`, not with `per_s`".into())))
            }
            None => Ok(()),
        };
        let capacity =
            [table.link.as_ref().map(Spanned::place), table.of.as_ref().map(Spanned::place)];
        match (&table.load, &table.per_s) {
            (None, Some(per_s)) => {
                let (per_s, _) = both(at_most(per_s, MAX_PER_S), all(capacity.map(alone)))?;
                Ok(per_s)
            }
            (Some(load), None) => {
                let capacity = capacity_of(at, topology);
                let (load, (link, rate)) = both(at_most(load, MAX_LOAD), capacity)?;
                let Some(bytes) = offered.size.mean_bytes() else {
                    let text = "the load of a flow that sends without end".to_string();
                    return Err(at.fault(Problem::Conflict(text)).hint("give `per_s`"));
                };
                *self.loads.entry(link).or_default() += load;
                let headers = offered.header_bytes as f64 / offered.mss_bytes as f64;
                Ok(load * rate.bps() as f64 / (8.0 * bytes * (1.0 + headers)))
            }
            _ => Err(at.fault(Problem::Conflict("one of `load` and `per_s`".into()))),
        }
    }
}

impl GroupArrivals {
    /// The arrival of the next flow of the group, which `src` sends.
    pub fn next(&mut self, src: NodeId, topology: &Topology) -> Arrival {
        let router = topology.ports(src).first().map(|&link| topology.other_end(link));
        let place = self.places.len() as u32;
        let key = router.filter(|_| self.per_router);
        let (place, number) = self.places.entry(key).or_insert((place, 0));
        let before = *number;
        *number += 1;
        let Arrival { stream, number, .. } = self.arrival;
        Arrival { stream: stream.wrapping_add(*place), number: number + before, ..self.arrival }
    }
}

/// The capacity that a load is a share of, and the link that has it.
fn capacity_of(at: &Spanned<ArrivalsTable>, topology: &Topology) -> Result<(String, Rate), Fault> {
    match (&at.value.link, &at.value.of) {
        (Some(name), None) => {
            let link = &topology.links[topology.link(name)?];
            match link.forward.channel {
                Channel::Constant | Channel::Bucket { .. } => {
                    Ok((name.value.clone(), link.forward.rate))
                }
                _ => {
                    let text =
                        format!("`{}` has no rate of its own: it follows a trace", name.value);
                    Err(name.fault(Problem::Conflict(text)).hint("give `of`, a rate"))
                }
            }
        }
        (None, Some(rate)) => Ok((String::new(), rate.value)),
        (None, None) => {
            let meaning = "the link whose rate `load` is a share of; or `of`, a rate".to_string();
            Err(at.fault(Problem::MissingKey { key: "link".into(), meaning }))
        }
        (Some(_), Some(of)) => Err(of.fault(Problem::Conflict("one of `link` and `of`".into()))),
    }
}

fn positive(at: &Spanned<Number>) -> Result<f64, Fault> {
    if at.value.0 > 0.0 { Ok(at.value.0) } else { Err(at.out_of_range("more than 0")) }
}

/// The same, where times between arrivals have a length.
fn at_most(at: &Spanned<Number>, most: f64) -> Result<f64, Fault> {
    let value = positive(at)?;
    if value <= most { Ok(value) } else { Err(at.out_of_range(format!("at most {most}"))) }
}

/// When flows no longer arrive.
fn until(
    table: &ArrivalsTable,
    flow: &FlowGroup,
    run: Option<Span>,
) -> Result<Option<Time>, Fault> {
    let Some(at) = &table.until else { return Ok(None) };
    let start = crate::resolve::life::start(flow).map_or(Span::ZERO, |(start, _)| start);
    if run.is_none() {
        let meaning = "arrivals that end at a time need an end of the run".to_string();
        return Err(at.fault(Problem::MissingKey { key: "until_s".into(), meaning }));
    }
    if at.value <= start {
        return Err(at.out_of_range("a time after `start`"));
    }
    Ok(Some(Time::ZERO + at.value))
}

/// Refuse what says when flows start in another way.
fn goes_with(flow: &FlowGroup) -> Result<(), Fault> {
    let others = [
        ("every", flow.every.as_ref().map(Spanned::place)),
        ("after", flow.after.as_ref().map(Spanned::place)),
        ("rounds", flow.rounds.as_ref().map(Spanned::place)),
        ("stop", flow.stop.as_ref().map(Spanned::place)),
    ];
    let drawn = flow.start.as_ref().filter(|at| !at.value.0.is_constant()).map(Spanned::place);
    let refuse = |(key, at): (&str, Option<Spanned<()>>)| match at {
        Some(at) => {
            let text = format!("`{key}` of flows that arrive by a process (`arrivals`)");
            Err(at.fault(Problem::Conflict(text)))
        }
        None => Ok(()),
    };
    all(others.into_iter().chain([("start", drawn)]).map(refuse)).map(drop)
}

/// Mean number of flows in progress in the steady state: lambda D, where a flow takes its size by
/// the rate at which its application writes. None for a process that begins with nothing.
fn in_progress(
    at: &Spanned<ArrivalsTable>,
    flow: &FlowGroup,
    offered: &Offered,
    per_s: f64,
) -> Result<Option<f64>, Fault> {
    if value_or(&at.value.process, Process::Poisson) == Process::Poisson {
        return Ok(None);
    }
    let write = flow.write.as_ref().and_then(|write| write.value.rate.as_ref());
    let periods = flow.write.as_ref().and_then(|write| write.value.on.as_ref());
    let (Some(rate), None, Some(bytes)) = (write, periods, offered.size.mean_bytes()) else {
        let meaning = "the rate of a burst, without periods, of flows that have a size".to_string();
        return Err(at.fault(Problem::MissingKey { key: "write.rate".into(), meaning }));
    };
    let mean = per_s * bytes * 8.0 / rate.value.bps() as f64;
    if mean <= MAX_IN_PROGRESS {
        return Ok(Some(mean));
    }
    let text = format!("{mean:.0} bursts at once: expected at most {MAX_IN_PROGRESS}");
    Err(at.fault(Problem::Conflict(text)).hint("raise `write.rate`, or lower the load"))
}

/// Numbers of the sender and the receiver of each flow of a group, and the hosts that they name.
pub(crate) fn pairs(
    flow: &FlowGroup,
    numbers: &[Option<u32>],
    group: u64,
    topology: &Topology,
) -> Result<Vec<[Option<u32>; 2]>, Fault> {
    let mut rng = Rng::new(value_or(&flow.pairing, 1).into(), Stream::Pairs, group);
    match value_or(&flow.pairs, Pairs::Numbered) {
        Pairs::Numbered => Ok(numbers.iter().map(|&n| [n, n]).collect()),
        Pairs::Permuted => {
            let mut order = numbers.to_vec();
            // Of one group of hosts a single cycle (Sattolo 1986), so that no host has itself.
            let stays = u64::from(flow.src.value != flow.dst.value);
            for last in (1..order.len()).rev() {
                order.swap(last, rng.below(last as u64 + stays) as usize);
            }
            Ok(numbers.iter().copied().zip(order).map(|(a, b)| [a, b]).collect())
        }
        Pairs::Random => {
            let matching = |pattern: &Spanned<String>| {
                let found = matching(&pattern.value, topology);
                let text = "pairs = \"random\": no host has a name of this form".to_string();
                let follows = topology.lost.any_of_network();
                let none = || pattern.fault(Problem::Conflict(text)).following(follows);
                if found.is_empty() { Err(none()) } else { Ok(found) }
            };
            let (src, dst) = both(matching(&flow.src), matching(&flow.dst))?;
            if src.len() == 1 && dst.len() == 1 && src == dst && flow.src.value == flow.dst.value {
                let text = "pairs = \"random\" of one host".to_string();
                return Err(flow.dst.fault(Problem::Conflict(text)));
            }
            let same = flow.src.value == flow.dst.value;
            let mut draw = |of: &[Option<u32>]| of[rng.below(of.len() as u64) as usize];
            let pair = |_: &Option<u32>| {
                let from = draw(&src);
                // Of one group of hosts, any but the sender; there are two at least.
                let to = std::iter::repeat_with(|| draw(&dst)).find(|&to| !same || to != from);
                [from, to.expect("an endless row of draws")]
            };
            Ok(numbers.iter().map(pair).collect())
        }
    }
}

/// Numbers of the hosts whose names have this form; of a name without "{}", that host.
fn matching(pattern: &str, topology: &Topology) -> Vec<Option<u32>> {
    let hosts = || topology.nodes.iter().filter(|node| node.is_host).map(|node| &node.name);
    let Some((before, after)) = pattern.split_once("{}") else {
        return hosts().filter(|&name| name == pattern).map(|_| None).collect();
    };
    let number = |name: &String| {
        let number = name.strip_prefix(before)?.strip_suffix(after)?;
        let read = number.parse::<u32>().ok()?;
        (read.to_string() == number).then_some(Some(read))
    };
    hosts().filter_map(number).collect()
}

/// The keys of a flow with this place in a process.
pub(crate) fn describe(arrival: &Arrival) -> ArrivalsTable {
    let process = if arrival.in_progress.is_some() { Process::Ppbp } else { Process::Poisson };
    ArrivalsTable {
        process: Spanned::some(process),
        per_s: Spanned::some(Number(arrival.per_s)),
        until: arrival.until.map(|at| Spanned::new(at.since(Time::ZERO))),
        stream: Spanned::some(arrival.stream),
        number: Spanned::some(arrival.number),
        ..ArrivalsTable::default()
    }
}
