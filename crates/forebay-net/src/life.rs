//! When the application of a flow starts, writes and stops, if it does not write all it has at the
//! start.

use crate::spec::{FlowSpec, SpecError};
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{FlowId, Rate, Rng, Span, Time};

impl FlowSpec {
    /// True if only the end of the run ends it.
    pub fn is_endless(&self) -> bool {
        self.bytes.is_none() && self.stop().is_none()
    }
    /// When it starts, if that is known before the run: not of a flow that follows another.
    pub fn known_start(&self) -> Option<Time> {
        self.after().is_none().then_some(self.start)
    }
    /// The flow that it follows.
    pub fn after(&self) -> Option<After> {
        self.life.as_ref()?.after
    }
    /// When its application writes no more.
    pub fn stop(&self) -> Option<Time> {
        self.life.as_ref()?.stop
    }
    /// How its application writes; None: all it has at once.
    pub fn write(&self) -> Option<Writing> {
        self.life.as_ref()?.write
    }
}

/// What the application of a flow does beside writing [`FlowSpec::bytes`] at [`FlowSpec::start`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// It opens its connection when another flow has ended.
    pub after: Option<After>,
    /// When it stops writing. Bytes written by then are delivered, and FIN follows. An application
    /// without a rate has written what has been sent. A flow that follows another does not start at
    /// all if it would start at its stop or later.
    pub stop: Option<Time>,
    /// How it writes; None: all it has at once.
    pub write: Option<Writing>,
}

/// A flow that follows another of the same client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// The other flow. It ends when both ends of its connection are closed and its client knows it,
    /// or when its client gives up.
    pub flow: FlowId,
    /// From then until the SYN is sent; drawn once, for each flow from its own random stream.
    pub think: Law,
}

/// An application that writes over time. Its clock starts with the SYN, in a period in which it
/// writes. It does not wait for the transport: bytes that cannot be sent wait at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// Writing rate: one chunk at the start of a period, and one more each time that the rate
    /// allows one. None: as fast as the transport sends.
    pub rate: Option<Rate>,
    /// Bytes written at once under a rate: 1 to 2^24 - 1.
    pub chunk_bytes: u32,
    /// How long it writes and how long it does not, in turn; each period is drawn anew, and lasts
    /// at least [`Writing::SHORTEST`]. None: it always writes.
    pub periods: Option<[Law; 2]>,
}

impl Writing {
    /// No period is shorter.
    pub const SHORTEST: Span = Span::from_micros(1);
}

/// A span of time, or its distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Always this.
    Constant(Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Uniform between these two, both included. The first is not longer than the second.
    Uniform(Span, Span),
}

impl Law {
    /// One draw.
    pub fn draw(&self, rng: &mut Rng) -> Span {
        match *self {
            Law::Constant(span) => span,
            Law::Exponential(mean) => {
                Span::from_secs_f64(mean.as_secs_f64() * -libm::log(1.0 - rng.unit()))
            }
            Law::Uniform(least, most) => {
                let width = most.saturating_sub(least).as_nanos();
                least + Span::from_nanos(rng.below(width.saturating_add(1).max(1)))
            }
        }
    }
    /// The mean.
    pub fn mean(&self) -> Span {
        match *self {
            Law::Constant(mean) | Law::Exponential(mean) => mean,
            Law::Uniform(least, most) => (least + most) / 2,
        }
    }
    /// True if each draw is the same.
    pub fn is_constant(&self) -> bool {
        match *self {
            Law::Constant(_) => true,
            Law::Exponential(mean) => mean.is_zero(),
            Law::Uniform(least, most) => least == most,
        }
    }
}

/// The most that [`Writing::chunk_bytes`] may be.
const MOST_CHUNK_BYTES: u32 = (1 << 24) - 1;

/// Check the [`Life`] of each flow.
pub(crate) fn check(flows: &[FlowSpec]) -> Result<(), SpecError> {
    for (flow, spec) in (0..).map(FlowId).zip(flows) {
        if let Some(why) = fault_of(flows, flow, spec) {
            return Err(SpecError::Life { flow, why });
        }
    }
    let before = |flow: usize| flows[flow].after().map(|after| after.flow.index());
    match in_a_circle(flows.len(), before) {
        Some(flow) => {
            let flow = FlowId(flow as u32);
            Err(SpecError::Life { flow, why: "it waits for its own end" })
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
    if spec.paths.len() > 1 && (life.stop.is_some() || life.write.is_some()) {
        return Some("a flow over several paths writes all it has at once");
    }
    let Writing { rate, chunk_bytes, periods } = life.write?;
    if rate.is_some() && !(1..=MOST_CHUNK_BYTES).contains(&chunk_bytes) {
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
pub(crate) struct Followers {
    /// Empty where no flow follows another.
    first: Vec<u32>,
    all: Vec<FlowId>,
}

impl Followers {
    pub fn of(flows: &[FlowSpec]) -> Followers {
        if flows.iter().all(|flow| flow.after().is_none()) {
            return Followers::default();
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
        Followers { first, all }
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
    use alloc::boxed::Box;
    use forebay_base::{NodeId, Stream};

    fn flow(bytes: Option<u64>, life: Life) -> FlowSpec {
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
    fn after(flow: u32) -> Life {
        let think = Law::Constant(Span::ZERO);
        Life { after: Some(After { flow: FlowId(flow), think }), ..Life::default() }
    }
    fn fault(flows: &[FlowSpec]) -> Option<(u32, &'static str)> {
        match check(flows) {
            Err(SpecError::Life { flow, why }) => Some((flow.0, why)),
            _ => None,
        }
    }

    #[test]
    fn lives_that_cannot_be_led() {
        let sized = || flow(Some(1), Life::default());
        let stop = |s| Life { stop: Some(Time::from_secs(s)), ..Life::default() };
        assert_eq!(fault(&[sized(), flow(Some(1), after(0))]), None);
        let itself = fault(&[sized(), flow(Some(1), after(1))]);
        assert_eq!(itself, Some((1, "it follows itself")));
        let gone = fault(&[flow(Some(1), after(1))]);
        assert_eq!(gone, Some((0, "the flow that it follows is not there")));
        let circle = [1, 2, 0].map(|f| flow(Some(1), after(f)));
        assert_eq!(fault(&circle), Some((0, "it waits for its own end")));
        let never = fault(&[flow(None, Life::default()), flow(Some(1), after(0))]);
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
            [flow(Some(1), Life::default())].into_iter().chain(flows).collect();
        let followers = Followers::of(&flows);
        let of =
            |flow: u32| followers.of_flow(FlowId(flow)).iter().map(|f| f.0).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2), of(4)], [vec![1, 2, 3], vec![4], vec![], vec![]]);
        assert!(Followers::of(&flows[..1]).of_flow(FlowId(0)).is_empty());
    }

    #[test]
    fn laws_have_their_means() {
        let mut rng = Rng::new(1, Stream::Test, 0);
        let ms = Span::from_millis;
        assert_eq!(Law::Constant(ms(7)).draw(&mut rng), ms(7));
        for law in [Law::Exponential(ms(100)), Law::Uniform(ms(50), ms(150))] {
            let draws: Vec<f64> = (0..20_000).map(|_| law.draw(&mut rng).as_secs_f64()).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let (least, most) = draws.iter().fold((1.0, 0.0), |(a, b), &x| (x.min(a), x.max(b)));
            // The standard error of 20000 draws of an exponential is 0.7 %.
            assert!((mean - 0.1).abs() < 0.003, "{law:?}: {mean}");
            match law {
                // The largest of n draws is about 0.1 ln n = 1 s.
                Law::Exponential(_) => assert!(least < 1e-4 && most > 0.6, "{least} {most}"),
                _ => assert!((0.05..=0.0501).contains(&least) && most <= 0.15, "{least} {most}"),
            }
        }
    }
}
