//! Flows that follow others: what may not be asked of them, and who follows whom.

use crate::life::{After, Writing};
use crate::spec::{FlowSpec, SpecError};
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::FlowId;

/// The most that [`Writing::chunk_bytes`] may be.
const MAX_CHUNK_BYTES: u32 = (1 << 24) - 1;

/// Check the [`AppSchedule`] of each flow.
pub(crate) fn check(flows: &[FlowSpec]) -> Result<(), SpecError> {
    for (flow, spec) in (0..).map(FlowId).zip(flows) {
        if let Some(why) = fault_of(flows, flow, spec) {
            return Err(SpecError::AppSchedule { flow, why });
        }
    }
    let before = |flow: usize| flows[flow].after().map(|after| after.flow.index());
    match in_a_circle(flows.len(), before) {
        Some(flow) => {
            let flow = FlowId(flow as u32);
            Err(SpecError::AppSchedule { flow, why: "it waits for its own end" })
        }
        None => Ok(()),
    }
}

fn fault_of(flows: &[FlowSpec], flow: FlowId, spec: &FlowSpec) -> Option<&'static str> {
    let life = spec.life.as_deref()?;
    if let Some(After { flow: other, .. }) = life.after {
        let Some(before) = flows.get(other.index()) else {
            return Some("the flow that it follows is not there");
        };
        if other == flow {
            return Some("it follows itself");
        }
        if before.src != spec.src {
            return Some("the flow that it follows has another client");
        }
        if before.is_endless() {
            return Some("the flow that it follows never ends");
        }
    }
    if life.after.is_none() && life.stop.is_some_and(|stop| stop < spec.start) {
        return Some("it stops before it starts");
    }
    let Writing { rate, chunk_bytes, periods } = life.write?;
    if rate.is_some() && !(1..=MAX_CHUNK_BYTES).contains(&chunk_bytes) {
        return Some("a chunk has 1 to 2^24 - 1 bytes");
    }
    (rate.is_none() && periods.is_none()).then_some("it writes over time, and neither says how")
}

/// The first of `flows` flows that waits for its own end, if there is one. `before` gives the
/// predecessor of each.
pub fn in_a_circle(flows: usize, before: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    // By flow: the first walk that came to it, counted from 1; 0: none.
    let mut seen = vec![0u32; flows];
    for (first, walk) in (0..flows).zip(1..) {
        let mut at = first;
        while seen[at] == 0 {
            seen[at] = walk;
            let Some(next) = before(at) else { break };
            if seen[next] == walk {
                return Some(next);
            }
            at = next;
        }
    }
    None
}

/// Successors of flows: where those of each flow begin, and all successors, flow by flow.
#[derive(Default)]
pub(crate) struct DependentFlows {
    /// Empty where no flow follows another.
    first: Vec<u32>,
    all: Vec<FlowId>,
}

impl DependentFlows {
    pub fn of(flows: &[FlowSpec]) -> DependentFlows {
        if flows.iter().all(|flow| flow.after().is_none()) {
            return DependentFlows::default();
        }
        let mut first = vec![0; flows.len() + 1];
        let followed = || flows.iter().filter_map(FlowSpec::after).map(|after| after.flow.index());
        followed().for_each(|flow| first[flow + 1] += 1);
        for flow in 0..flows.len() {
            first[flow + 1] += first[flow];
        }
        let mut all: Vec<FlowId> = (0..flows.len() as u32).map(FlowId).collect();
        all.retain(|flow| flows[flow.index()].after().is_some());
        all.sort_by_key(|flow| flows[flow.index()].after().map(|after| after.flow.0));
        DependentFlows { first, all }
    }
    /// The flows that follow `flow`, by number.
    pub fn of_flow(&self, flow: FlowId) -> &[FlowId] {
        match self.first.get(flow.index()..=flow.index() + 1) {
            Some(&[from, to]) => &self.all[from as usize..to as usize],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life::{AppSchedule, TimeDistribution};
    use alloc::boxed::Box;
    use forebay_base::{NodeId, Span, Time};

    fn flow(bytes: Option<u64>, life: AppSchedule) -> FlowSpec {
        FlowSpec {
            src: NodeId(0),
            dst: NodeId(1),
            start: Time::from_secs(1),
            bytes,
            life: Some(Box::new(life)),
            transport: 0,
            paths: Vec::new(),
        }
    }
    fn after(flow: u32) -> AppSchedule {
        let think = TimeDistribution::Constant(Span::ZERO);
        AppSchedule { after: Some(After { flow: FlowId(flow), think }), ..AppSchedule::default() }
    }
    fn fault(flows: &[FlowSpec]) -> Option<(u32, &'static str)> {
        match check(flows) {
            Err(SpecError::AppSchedule { flow, why }) => Some((flow.0, why)),
            _ => None,
        }
    }

    #[test]
    fn lives_that_cannot_be_led() {
        let sized = || flow(Some(1), AppSchedule::default());
        let stop = |s| AppSchedule { stop: Some(Time::from_secs(s)), ..AppSchedule::default() };
        assert_eq!(fault(&[sized(), flow(Some(1), after(0))]), None);
        let itself = fault(&[sized(), flow(Some(1), after(1))]);
        assert_eq!(itself, Some((1, "it follows itself")));
        let gone = fault(&[flow(Some(1), after(1))]);
        assert_eq!(gone, Some((0, "the flow that it follows is not there")));
        let circle = [1, 2, 0].map(|f| flow(Some(1), after(f)));
        assert_eq!(fault(&circle), Some((0, "it waits for its own end")));
        let never = fault(&[flow(None, AppSchedule::default()), flow(Some(1), after(0))]);
        assert_eq!(never, Some((1, "the flow that it follows never ends")));
        assert_eq!(fault(&[flow(None, stop(1)), flow(Some(1), after(0))]), None);
        assert_eq!(fault(&[flow(None, stop(0))]), Some((0, "it stops before it starts")));
        let elsewhere = FlowSpec { src: NodeId(1), dst: NodeId(0), ..flow(Some(1), after(0)) };
        let why = "the flow that it follows has another client";
        assert_eq!(fault(&[sized(), elsewhere]), Some((1, why)));
    }

    #[test]
    fn followers_by_hand() {
        let flows = [0, 0, 0, 1].map(|f| flow(Some(1), after(f)));
        let flows: Vec<FlowSpec> =
            [flow(Some(1), AppSchedule::default())].into_iter().chain(flows).collect();
        let followers = DependentFlows::of(&flows);
        let of =
            |flow: u32| followers.of_flow(FlowId(flow)).iter().map(|f| f.0).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2), of(4)], [vec![1, 2, 3], vec![4], vec![], vec![]]);
        assert!(DependentFlows::of(&flows[..1]).of_flow(FlowId(0)).is_empty());
    }
}
