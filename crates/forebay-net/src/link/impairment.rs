//! Impairments of a link: loss and jitter, drawn from the link's own random stream.

use super::Lateness;
use alloc::boxed::Box;
use alloc::sync::Arc;
use forebay_base::{Rng, Span};

/// What happens to a packet between departure and arrival.
pub(crate) enum Propagation {
    /// It arrives, this much later than the delay of the link.
    Arrives(Span),
    /// It is lost.
    Lost,
}

/// Losses that depend on those before, or on nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum LossModel {
    /// Gilbert's and Elliott's channel of two states (Gilbert 1960,
    /// doi:10.1002/j.1538-7305.1960.tb03959.x; Elliott 1963): a packet is lost with the probability
    /// of the state, then the state may change. With p = `enter` and r = `leave` the share p / (p +
    /// r) of packets meets the bad state, for 1 / r packets in a row on average. The first packet
    /// meets it with that probability.
    GilbertElliott {
        /// p: probability of a change from good to bad after a packet.
        enter: f64,
        /// r: probability of a change from bad to good after a packet, above 0.
        leave: f64,
        /// Probability of a loss in the good state.
        good: f64,
        /// Probability of a loss in the bad state.
        bad: f64,
    },
    /// The packets of these numbers, rising. The first that the link transmits is number 1.
    List(Arc<[u64]>),
}

/// Where a [`LossModel`] is.
#[derive(Clone, Debug)]
enum LossState {
    /// By the probability alone.
    Independent,
    /// The parameters, and whether the state is bad; None before the first packet.
    TwoStates { enter: f64, leave: f64, good: f64, bad: f64, is_bad: Option<bool> },
    /// Packets so far, and the place in the list of the next that is lost.
    List { packets: u64, next: usize, numbers: Arc<[u64]> },
}

/// Random impairments of a link.
#[derive(Clone, Debug)]
pub struct Impairment {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Extra delay, uniform in `0..=jitter`.
    pub jitter: Span,
    /// A packet may overtake others if the delay falls, also without jitter.
    pub reorder: bool,
    /// By how much packets leave too late, with the random numbers for it.
    pub(crate) late: Option<Box<(Lateness, Rng)>>,
    rng: Rng,
    state: LossState,
}

impl Impairment {
    /// Impairments that draw from `rng`. Only jitter reorders.
    pub fn new(loss: f64, jitter: Span, rng: Rng) -> Impairment {
        let (reorder, late, state) = (false, None, LossState::Independent);
        Impairment { loss, jitter, reorder, late, rng, state }
    }
    /// The same with a model in place of independent losses.
    #[must_use]
    pub fn with_model(self, model: &LossModel) -> Impairment {
        let state = match model {
            &LossModel::GilbertElliott { enter, leave, good, bad } => {
                LossState::TwoStates { enter, leave, good, bad, is_bad: None }
            }
            LossModel::List(numbers) => {
                LossState::List { packets: 0, next: 0, numbers: Arc::clone(numbers) }
            }
        };
        Impairment { state, ..self }
    }
    /// True if nothing is lost.
    pub(crate) fn is_lossless(&self) -> bool {
        self.loss == 0.0 && matches!(self.state, LossState::Independent)
    }
    /// True if packets may overtake each other.
    #[inline]
    pub(crate) fn reorders(&self) -> bool {
        self.reorder || !self.jitter.is_zero()
    }
    /// True if every packet takes the delay of the link and no more.
    #[inline]
    pub(crate) fn is_even(&self) -> bool {
        !self.reorders() && self.late.is_none()
    }
    /// Draw for the next packet: one number for loss if there is loss, one for jitter if there is
    /// jitter.
    pub(crate) fn draw(&mut self) -> Propagation {
        let lost = match self.state {
            LossState::Independent => self.loss > 0.0 && self.rng.chance(self.loss),
            _ => self.draw_model(),
        };
        if lost {
            return Propagation::Lost;
        }
        if self.jitter.is_zero() {
            return Propagation::Arrives(Span::ZERO);
        }
        Propagation::Arrives(Span::from_nanos(self.rng.below(self.jitter.as_nanos() + 1)))
    }
    /// By how much the next packet is late.
    #[inline(never)]
    pub(crate) fn draw_late(&mut self) -> Span {
        self.late.as_mut().map_or(Span::ZERO, |of| of.0.draw(&mut of.1))
    }
    /// True if the model loses the next packet.
    #[inline(never)]
    fn draw_model(&mut self) -> bool {
        let rng = &mut self.rng;
        match &mut self.state {
            LossState::Independent => false,
            LossState::TwoStates { enter, leave, good, bad, is_bad } => {
                let now_bad = is_bad.unwrap_or_else(|| rng.chance(*enter / (*enter + *leave)));
                let lost = rng.chance(if now_bad { *bad } else { *good });
                let changes = rng.chance(if now_bad { *leave } else { *enter });
                *is_bad = Some(now_bad != changes);
                lost
            }
            LossState::List { packets, next, numbers } => {
                *packets += 1;
                let lost = numbers.get(*next) == Some(packets);
                *next += usize::from(lost);
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::Stream;

    fn losses(model: &LossModel, packets: usize, seed: u64) -> Vec<bool> {
        let rng = Rng::new(seed, Stream::Test, 5);
        let mut impairment = Impairment::new(0.0, Span::ZERO, rng).with_model(model);
        (0..packets).map(|_| matches!(impairment.draw(), Propagation::Lost)).collect()
    }

    /// Share of losses p / (p + r), bursts of 1 / r packets, gaps of 1 / p: each within five
    /// standard deviations of its mean. The share of a chain of two states whose correlation falls
    /// by l = 1 - p - r a step has the variance s (1 - s) (1 + l) / (1 - l) / n; lengths are
    /// geometric.
    #[test]
    fn gilbert_losses_come_in_bursts_of_known_length() {
        const N: usize = 400_000;
        for (seed, p, r) in [(1, 0.01, 0.25), (2, 0.001, 0.5), (3, 0.3, 0.1), (4, 0.05, 1.0)] {
            let model = LossModel::GilbertElliott { enter: p, leave: r, good: 0.0, bad: 1.0 };
            let lost = losses(&model, N, seed);
            let share = lost.iter().filter(|&&lost| lost).count() as f64 / N as f64;
            let (expected, l): (f64, f64) = (p / (p + r), 1.0 - p - r);
            let sd = libm::sqrt(expected * (1.0 - expected) * (1.0 + l) / (1.0 - l) / N as f64);
            assert!((share - expected).abs() < 5.0 * sd, "{p} {r}: {share}, not {expected}");
            for (kind, end) in [(true, r), (false, p)] {
                let mut runs: Vec<f64> = Vec::new();
                let inner = lost.chunk_by(|a, b| a == b).skip(1);
                runs.extend(inner.filter(|run| run[0] == kind).map(|run| run.len() as f64));
                let mean = runs.iter().sum::<f64>() / runs.len() as f64;
                let sd = libm::sqrt((1.0 - end) / (end * end) / runs.len() as f64);
                // The last run may be cut.
                let slack = 5.0 * sd + 1.0 / (end * runs.len() as f64);
                assert!((mean - 1.0 / end).abs() < slack, "{p} {r} {kind}: {mean}");
            }
        }
    }

    /// With losses in both states: s = (r good + p bad) / (p + r).
    #[test]
    fn elliott_loses_in_both_states() {
        let model = LossModel::GilbertElliott { enter: 0.02, leave: 0.08, good: 0.01, bad: 0.5 };
        let share = losses(&model, 400_000, 9).iter().filter(|&&lost| lost).count() as f64 / 4e5;
        // Of the bad state: 0.2, five standard deviations of which times 0.49 are 0.0068; the draws
        // within a state add 0.0026.
        assert!((share - 0.108).abs() < 0.0094, "{share}");
    }

    #[test]
    fn a_list_loses_its_packets_and_no_other() {
        let model = LossModel::List(Arc::from([1, 4, 5, 9]));
        let lost: Vec<usize> =
            (1..).zip(losses(&model, 12, 1)).filter(|l| l.1).map(|l| l.0).collect();
        assert_eq!(lost, [1, 4, 5, 9]);
    }
}
