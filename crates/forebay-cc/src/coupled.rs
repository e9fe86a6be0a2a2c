//! What LIA and OLIA share: NewReno, of which each byte acknowledged in congestion avoidance counts
//! more or less, as the windows of the connection's other paths say.

use crate::controller::{
    Ack, Congestion, Controller, Init, Limits, Recovered, RttView, Sent, SeriesSample, Sibling,
    Tag, Timeout, Traits,
};
use crate::newreno::{NewReno, Params};
use core::marker::PhantomData;
use forebay_base::{OptionList, Time};

/// A path as a rule of coupling sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subflow {
    /// w: its window in bytes.
    pub window: f64,
    /// Its smoothed RTT in seconds, above 0.
    pub rtt: f64,
    /// l: bytes since its last loss or between its last two, whichever is more.
    pub between_losses: f64,
    /// It is the path that is asked for.
    pub own: bool,
}

impl Subflow {
    /// x: its rate, in bytes per second.
    pub(crate) fn rate(&self) -> f64 {
        self.window / self.rtt
    }

    /// None if it says nothing: not open, failed, or without an RTT.
    fn of(sibling: &Sibling, own: bool) -> Option<Subflow> {
        let rtt = sibling.srtt.filter(|rtt| !rtt.is_zero())?;
        (own || sibling.usable).then(|| Subflow {
            window: sibling.cwnd_bytes as f64,
            rtt: rtt.as_secs_f64(),
            between_losses: sibling.since_loss_bytes.0.max(sibling.since_loss_bytes.1) as f64,
            own,
        })
    }
}

/// How one path grows beside others.
pub(crate) trait Rule: Send {
    /// Its increase per byte acknowledged, in those of NewReno: 1 is a segment per window.
    /// Negative: the window shrinks. Of two subflows at least.
    fn increase(own: &Subflow, all: impl Iterator<Item = Subflow> + Clone) -> f64;
}

/// The window of one path of several.
#[derive(Clone, Debug)]
pub struct Coupled<R> {
    reno: NewReno,
    /// [`Rule::increase`]; 1 as long as the path is alone.
    increase: f64,
    rule: PhantomData<R>,
}

impl<R> Coupled<R> {
    /// A window at its start.
    pub fn new(params: &Params, init: Init) -> Coupled<R> {
        Coupled { reno: NewReno::new(params, init), increase: 1.0, rule: PhantomData }
    }
}

impl<R: Rule> Controller for Coupled<R> {
    fn limits(&self) -> Limits {
        self.reno.limits()
    }
    fn traits(&self) -> Traits {
        Traits { multipath: true, ..self.reno.traits() }
    }
    fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        self.reno.on_established(now, rtt, options);
    }
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        self.reno.on_sent(now, sent)
    }

    fn couple(&mut self, siblings: &[Sibling], me: usize) {
        let subflow = |(index, sibling): (usize, &Sibling)| Subflow::of(sibling, index == me);
        let all = siblings.iter().enumerate().filter_map(subflow);
        let own = all.clone().find(|subflow| subflow.own);
        self.increase = match own {
            Some(own) if all.clone().nth(1).is_some() => R::increase(&own, all),
            _ => 1.0,
        };
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let counted = if self.reno.in_slow_start() {
            ack.acked_bytes
        } else {
            let counted = ack.acked_bytes as f64 * self.increase;
            if counted < 0.0 && NewReno::may_grow(ack) {
                self.reno.shrink(-counted as u64);
            }
            counted.max(0.0) as u64
        };
        self.reno.on_ack(now, &Ack { acked_bytes: counted, ..*ack });
    }

    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        self.reno.on_congestion(now, event);
    }
    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        self.reno.on_recovered(now, end);
    }
    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        self.reno.on_rto(now, timeout);
    }
    fn on_spurious(&mut self, now: Time) {
        self.reno.on_spurious(now);
    }
    fn ssthresh_bytes(&self) -> Option<u64> {
        self.reno.ssthresh_bytes()
    }
    fn phase(&self) -> &'static str {
        self.reno.phase()
    }
    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        visit(SeriesSample { name: "increase", unit: "", value: self.increase });
    }
}

/// Inputs of the unit tests of rules.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testbed::{MSS, ack, init};
    use forebay_base::Span;

    const NOW: Time = Time::from_secs(1);

    /// Windows in segments and RTTs in seconds; all lost as rarely.
    pub(crate) fn siblings(paths: &[(f64, f64)]) -> alloc::vec::Vec<Sibling> {
        let sibling = |&(window, rtt): &(f64, f64)| Sibling {
            cwnd_bytes: (window * MSS as f64) as u64,
            srtt: Some(Span::from_secs_f64(rtt)),
            since_loss_bytes: (1_000_000, 500_000),
            usable: true,
        };
        paths.iter().map(sibling).collect()
    }

    /// Segments that path `me` gains with an ACK of one.
    pub(crate) fn gain<R: Rule>(siblings: &[Sibling], me: usize) -> f64 {
        let mut path = Coupled::<R>::new(&Params::default(), init(10));
        path.couple(siblings, me);
        path.increase * MSS as f64 / siblings[me].cwnd_bytes as f64
    }

    /// The columns of the table in the sheet: what each of two paths gains.
    pub(crate) fn assert_gains<R: Rule>(paths: [(f64, f64); 2], expected: [f64; 2]) {
        let siblings = siblings(&paths);
        for (me, expected) in expected.into_iter().enumerate() {
            let gain = gain::<R>(&siblings, me);
            // Four digits are given.
            assert!((gain - expected).abs() <= 1e-3 * expected.abs(), "{paths:?} {me}: {gain}");
        }
    }

    /// A path that is alone is NewReno, ACK by ACK.
    pub(crate) fn assert_alone_is_newreno<R: Rule>() {
        let init = || Init { initial_ssthresh_bytes: 12 * MSS, ..init(10) };
        let mut path = Coupled::<R>::new(&Params::default(), init());
        let mut reno = NewReno::new(&Params::default(), init());
        let mut dead = siblings(&[(10.0, 0.1), (10.0, 0.1)]);
        dead[1].usable = false;
        for step in 0..2000 {
            path.couple(&dead, 0);
            let ack = ack(1 + step * 37 % (2 * MSS));
            path.on_ack(NOW, &ack);
            reno.on_ack(NOW, &ack);
            assert_eq!(path.limits(), reno.limits(), "step {step}");
        }
        assert!(reno.limits().cwnd_bytes > 30 * MSS);
    }

    /// A negative increase takes a segment for each window of ACKs, and stops at one segment.
    #[test]
    fn a_window_shrinks_by_whole_segments() {
        struct Down;
        impl Rule for Down {
            fn increase(_: &Subflow, _: impl Iterator<Item = Subflow> + Clone) -> f64 {
                -0.5
            }
        }
        let start = Init { initial_ssthresh_bytes: MSS, ..init(8) };
        let mut path = Coupled::<Down>::new(&Params::default(), start);
        path.couple(&siblings(&[(8.0, 0.1), (8.0, 0.1)]), 0);
        let mut last = 0;
        let mut acks = |path: &mut Coupled<Down>, segments: u64| {
            while path.limits().cwnd_bytes > segments * MSS {
                path.on_ack(NOW, &ack(MSS));
                last += 1;
            }
            last
        };
        // The first segment is borrowed at once; 7 segments take 14 ACKs of half a segment each.
        assert_eq!(acks(&mut path, 7), 1);
        assert_eq!(acks(&mut path, 6), 1 + 14);
        assert_eq!(acks(&mut path, 5), 1 + 14 + 12);
        acks(&mut path, 1);
        (0..100).for_each(|_| path.on_ack(NOW, &ack(MSS)));
        assert_eq!(path.limits().cwnd_bytes, MSS);
    }
}
