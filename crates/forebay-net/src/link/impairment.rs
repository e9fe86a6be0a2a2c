//! What a wire does to packets: loss and jitter, drawn from the link's own random stream.

use forebay_base::{Rng, Span};

/// What becomes of one packet.
pub(crate) enum Propagation {
    /// It arrives, so much later than the delay of the wire.
    Arrives(Span),
    /// It is lost.
    Lost,
}

/// Random impairments of a wire.
#[derive(Clone, Debug)]
pub struct Impairment {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Extra delay, uniform in `0..=jitter`.
    pub jitter: Span,
    /// Packets overtake others where the delay falls, without jitter too.
    pub reorder: bool,
    rng: Rng,
}

impl Impairment {
    /// Impairments with the link's random stream, without reordering beside that of jitter.
    pub fn new(loss: f64, jitter: Span, rng: Rng) -> Impairment {
        Impairment { loss, jitter, reorder: false, rng }
    }
    /// True if packets may overtake each other.
    #[inline]
    pub(crate) fn reorders(&self) -> bool {
        self.reorder || !self.jitter.is_zero()
    }
    /// Draw for the next packet: one number for loss if there is any, one for jitter if there is any.
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
