//! Impairments of a link: loss and jitter, drawn from the link's own random stream.

use forebay_base::{Rng, Span};

/// What happens to a packet between departure and arrival.
pub(crate) enum Propagation {
    /// It arrives, this much later than the delay of the link.
    Arrives(Span),
    /// It is lost.
    Lost,
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
    rng: Rng,
}

impl Impairment {
    /// Impairments that draw from `rng`. Only jitter reorders.
    pub fn new(loss: f64, jitter: Span, rng: Rng) -> Impairment {
        Impairment { loss, jitter, reorder: false, rng }
    }
    /// True if packets may overtake each other.
    #[inline]
    pub(crate) fn reorders(&self) -> bool {
        self.reorder || !self.jitter.is_zero()
    }
    /// Draw for the next packet: one number for loss if there is loss, one for jitter if there is
    /// jitter.
    pub(crate) fn draw(&mut self) -> Propagation {
        if self.loss > 0.0 && self.rng.chance(self.loss) {
            return Propagation::Lost;
        }
        if self.jitter.is_zero() {
            return Propagation::Arrives(Span::ZERO);
        }
        Propagation::Arrives(Span::from_nanos(self.rng.below(self.jitter.as_nanos() + 1)))
    }
}
