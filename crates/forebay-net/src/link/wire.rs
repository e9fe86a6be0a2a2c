//! What a link does to packets, as a spec.

use super::{Impairment, Lateness, LossModel, MiddleboxSpec};
use alloc::boxed::Box;
use forebay_base::{Rng, Span};

/// The wire of one direction of a link: what happens to packets once they are transmitted, and what
/// they may be.
#[derive(Clone, Debug, PartialEq)]
pub struct WireSpec {
    /// Propagation delay.
    pub delay: Span,
    /// Extra delay of each packet, uniform in `0..=jitter`: reorders.
    pub jitter: Span,
    /// If the delay falls, packets may overtake others. If false, a packet never arrives before one
    /// that left before it (but jitter always reorders).
    pub reorder: bool,
    /// Probability that a packet is lost on the wire, in `0.0..=1.0`.
    pub loss: f64,
    /// Losses that are not independent of each other, in place of `loss`.
    pub loss_model: Option<LossModel>,
    /// By how much packets leave too late, beside their delay; None: not at all.
    pub late: Option<Lateness>,
    /// What stands between its transmitter and its wire; None: nothing.
    pub middlebox: Option<MiddleboxSpec>,
    /// Longest IP packet, in bytes.
    pub mtu_bytes: u16,
    /// Bytes that each packet costs beside its own (PPP 2, Ethernet 38).
    pub overhead_bytes: u16,
}

/// No delay, nothing lost or changed, 1500 bytes, no overhead.
impl Default for WireSpec {
    fn default() -> WireSpec {
        WireSpec {
            delay: Span::ZERO,
            jitter: Span::ZERO,
            reorder: false,
            loss: 0.0,
            loss_model: None,
            late: None,
            middlebox: None,
            mtu_bytes: 1500,
            overhead_bytes: 0,
        }
    }
}

impl WireSpec {
    /// True if a packet may be lost.
    pub fn loses(&self) -> bool {
        self.loss > 0.0 || self.loss_model.is_some()
    }
    /// True if every packet that is not lost takes `delay` and no more.
    pub fn is_even(&self) -> bool {
        self.jitter.is_zero() && self.late.is_none()
    }
    /// True if the seed makes a difference.
    pub fn is_random(&self) -> bool {
        self.loss > 0.0
            || matches!(self.loss_model, Some(LossModel::GilbertElliott { .. }))
            || !self.jitter.is_zero()
            || self.late.as_ref().is_some_and(Lateness::is_random)
    }
    /// Its losses and delays, drawn from `rng`, and how late packets leave from `late_rng`.
    pub(crate) fn impairment(&self, rng: Rng, late_rng: Rng) -> Impairment {
        let mut impairment = Impairment::new(self.loss, self.jitter, rng);
        impairment.reorder = self.reorder;
        impairment.late = self.late.clone().map(|late| Box::new((late, late_rng)));
        match &self.loss_model {
            None => impairment,
            Some(model) => impairment.with_model(model),
        }
    }
}
