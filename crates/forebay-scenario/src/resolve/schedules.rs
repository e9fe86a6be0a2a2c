//! The steps of schedules as events of the network.

use crate::LinkDirection;
use crate::format::csv::{self};
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, both};
use crate::format::fields::Spanned;
use crate::format::source::Sources;
use crate::keys::links::check_delay;
use crate::keys::schedules::{ScheduleFile, ScheduleKey, StepEntry};
use crate::resolve::topology::Topology;
use forebay_base::{LinkId, Rate, Span, Time};
use forebay_net::{EventSpec, NetEvent};
use std::collections::BTreeMap;

/// A step with everything read. None: as it was.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: Time,
    rate: Option<Rate>,
    delay: Option<Span>,
    loss: Option<f64>,
}

/// The schedules of all links as events, in the order of links.
pub(crate) fn expand(
    topology: &Topology,
    sources: &mut Sources,
    faults: &mut Faults,
) -> Vec<EventSpec> {
    let mut events = Vec::new();
    // A group of links and both directions of one share a schedule, which is read once.
    let mut known: BTreeMap<(u32, u32), Option<Vec<Step>>> = BTreeMap::new();
    for (index, origins) in topology.origins.iter().enumerate() {
        for (side, origin) in origins.iter().enumerate() {
            let Some(schedule) = &origin.schedule else { continue };
            let place = (schedule.loc.source, schedule.loc.start);
            let steps = known.entry(place).or_insert_with(|| faults.keep(steps(schedule, sources)));
            let Some(steps) = steps else { continue };
            let link = &topology.links[index];
            let direction = if side == 0 { &link.forward } else { &link.reverse };
            if faults.keep(check(schedule, steps, direction)).is_none() {
                continue;
            }
            let id = LinkId((2 * index + side) as u32);
            events.extend(steps.iter().flat_map(|step| step.events(id)));
        }
    }
    events
}

impl Step {
    fn events(&self, link: LinkId) -> impl Iterator<Item = EventSpec> + use<> {
        let at = self.at;
        let rate = self.rate.map(|rate| NetEvent::Rate(link, rate));
        let delay = self.delay.map(|delay| NetEvent::Delay(link, delay));
        let loss = self.loss.map(|loss| NetEvent::Loss(link, loss));
        [rate, delay, loss].into_iter().flatten().map(move |event| EventSpec { at, event })
    }
}

/// Errors if it sets what the link does not take.
fn check(
    schedule: &Spanned<ScheduleKey>,
    steps: &[Step],
    link: &LinkDirection,
) -> Result<(), Fault> {
    let conflict = |text: &str| Err(schedule.fault(Problem::Conflict(text.into())));
    if !link.takes_rate() && steps.iter().any(|step| step.rate.is_some()) {
        return conflict("it sets the rate of a link that follows a trace");
    }
    if !link.takes_loss() && steps.iter().any(|step| step.loss.is_some()) {
        return conflict("it sets the loss probability of a link with a table of losses");
    }
    Ok(())
}

fn steps(schedule: &Spanned<ScheduleKey>, sources: &mut Sources) -> Result<Vec<Step>, Fault> {
    match &schedule.value {
        ScheduleKey::Steps(entries) => entries.iter().map(step).collect(),
        ScheduleKey::File(ScheduleFile { file, extra_columns }) => {
            let extra = extra_columns.as_ref();
            let csv = csv::open(sources, file, csv::SCHEDULE_COLUMNS, extra)?;
            csv.need(&[0])?;
            csv.rows(sources).map(|row| step_of(&row?)).collect()
        }
    }
}

fn step(entry: &Spanned<StepEntry>) -> Result<Step, Fault> {
    let StepEntry { at, rate, delay, loss } = &entry.value;
    if rate.is_none() && delay.is_none() && loss.is_none() {
        let meaning = "what changes: rate, delay or loss".to_string();
        return Err(entry.fault(Problem::MissingKey { key: "rate".into(), meaning }));
    }
    delay.iter().try_for_each(check_delay)?;
    Ok(Step {
        at: Time::ZERO + at.value,
        rate: rate.as_ref().map(|at| at.value),
        delay: delay.as_ref().map(|at| at.value),
        loss: loss.as_ref().map(|at| at.value.0),
    })
}

/// A step of a CSV file: an empty cell changes nothing.
fn step_of(row: &csv::Row<'_>) -> Result<Step, Fault> {
    let rate = row.has(1).then(|| row.rate(1)).transpose();
    let delay = row.has(2).then(|| row.delay(2)).transpose();
    let loss = row.has(3).then(|| row.probability(3)).transpose();
    let ((at, rate), (delay, loss)) = both(both(row.seconds(0), rate), both(delay, loss))?;
    Ok(Step { at: Time::ZERO + at, rate, delay, loss })
}
