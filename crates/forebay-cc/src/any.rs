//! Enum inside, trait object at the door: the calls go straight to the variants that `table.rs`
//! declares.
//!
//! A default method that is not forwarded here compiles and silently does nothing, so every method
//! of both traits is written out, and `tests/conformance.rs` compares each variant with the same
//! machine behind `Custom`.

use crate::controller::{
    Ack, AckPolicy, Congestion, Controller, Delivered, Limits, Loss, LossPolicy, NextPacket,
    Observed, Recovered, RecoveryOwner, RttView, Sent, Sibling, Stamp, Tag, Timeout, Traits,
};
use crate::feedback::{AckDemand, DatagramView, Feedback, PieceView};
use crate::table::{AnyController, AnyFeedback};
use forebay_base::{OptionList, Span, Time};

impl Controller for AnyController {
    #[inline]
    fn limits(&self) -> Limits {
        each_controller!(self, c => c.limits())
    }
    fn traits(&self) -> Traits {
        each_controller!(self, c => c.traits())
    }
    fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        each_controller!(self, c => c.on_established(now, rtt, options))
    }
    #[inline]
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        each_controller!(self, c => c.on_sent(now, sent))
    }
    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        each_controller!(self, c => c.on_ack(now, ack))
    }
    #[inline]
    fn on_delivered(&mut self, now: Time, packet: &Delivered) {
        each_controller!(self, c => c.on_delivered(now, packet))
    }
    fn on_loss(&mut self, now: Time, loss: &Loss) {
        each_controller!(self, c => c.on_loss(now, loss))
    }
    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        each_controller!(self, c => c.on_congestion(now, event))
    }
    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        each_controller!(self, c => c.on_recovered(now, end))
    }
    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        each_controller!(self, c => c.on_rto(now, timeout))
    }
    fn on_spurious(&mut self, now: Time) {
        each_controller!(self, c => c.on_spurious(now))
    }
    fn loss_policy(&self) -> Option<LossPolicy> {
        each_controller!(self, c => c.loss_policy())
    }
    fn rto_floor(&self) -> Span {
        each_controller!(self, c => c.rto_floor())
    }
    fn ack_policy(&self) -> Option<AckPolicy> {
        each_controller!(self, c => c.ack_policy())
    }
    #[inline]
    fn recovery_owner(&self) -> RecoveryOwner {
        each_controller!(self, c => c.recovery_owner())
    }
    #[inline]
    fn stamp(&mut self, now: Time, next: &NextPacket) -> Stamp {
        each_controller!(self, c => c.stamp(now, next))
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each_controller!(self, c => c.next_timeout())
    }
    fn on_timer(&mut self, now: Time) {
        each_controller!(self, c => c.on_timer(now))
    }
    fn couple(&mut self, siblings: &[Sibling], me: usize) {
        each_controller!(self, c => c.couple(siblings, me))
    }
    #[inline]
    fn ssthresh_bytes(&self) -> Option<u64> {
        each_controller!(self, c => c.ssthresh_bytes())
    }
    fn phase(&self) -> &'static str {
        each_controller!(self, c => c.phase())
    }
    fn observe(&self, visit: &mut dyn FnMut(Observed)) {
        each_controller!(self, c => c.observe(visit))
    }
}

impl Feedback for AnyFeedback {
    #[inline]
    fn wants_pieces(&self) -> bool {
        each_feedback!(self, f => f.wants_pieces(), none => false)
    }
    #[inline]
    fn on_piece(&mut self, now: Time, piece: &PieceView) {
        each_feedback!(self, f => f.on_piece(now, piece), none => ())
    }
    #[inline]
    fn on_datagram(&mut self, now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        each_feedback!(self, f => f.on_datagram(now, datagram), none => AckDemand::Policy)
    }
    #[inline]
    fn clocks_acks(&self) -> bool {
        each_feedback!(self, f => f.clocks_acks(), none => false)
    }
    fn wants_paws(&self) -> bool {
        each_feedback!(self, f => f.wants_paws(), none => true)
    }
    #[inline]
    fn fill(&mut self, now: Time, options: &mut OptionList) {
        each_feedback!(self, f => f.fill(now, options), none => ())
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each_feedback!(self, f => f.next_timeout(), none => None)
    }
    fn on_timer(&mut self, now: Time) -> AckDemand {
        each_feedback!(self, f => f.on_timer(now), none => AckDemand::Policy)
    }
}
