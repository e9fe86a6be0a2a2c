//! Ends of transmissions that are no events.

use super::QueuedLink;
use forebay_base::Time;

impl QueuedLink {
    /// From now on the end of a transmission needs no event: the next packet starts, as of that
    /// time, when another comes, when one arrives at the far end, or when
    /// [`QueuedLink::on_transmitter`] is called. For links to which no event happens, and which
    /// feed no one who waits for room. Where a link draws, loses or waits for opportunities nothing
    /// changes, nor where a discipline may hold back what waits: its timers follow from when it was
    /// asked.
    pub(crate) fn defer(&mut self) {
        self.deferred = self.even && self.prompt && self.always_open && self.starts_at_once;
    }
    /// True if a packet should have started by now.
    #[inline]
    pub(crate) fn is_behind(&self, now: Time) -> bool {
        self.end_matters && self.transmitting.as_ref().is_some_and(|t| t.end <= now)
    }
    /// The end of the transmission would be an event.
    pub(crate) fn is_deferred_now(&self) -> bool {
        self.end_matters
    }
    /// True once after packets have begun to wait so, until
    /// [`QueuedLink::take_deferred_ends`] is called.
    #[inline]
    pub(crate) fn is_newly_deferred(&mut self) -> bool {
        if !self.deferred || self.end_matters || !self.waits() {
            return false;
        }
        self.end_matters = true;
        !core::mem::replace(&mut self.listed, true)
    }
    /// Ends of transmissions that would have been events, since the last call.
    pub(crate) fn take_deferred_ends(&mut self) -> u64 {
        self.listed = self.end_matters;
        core::mem::take(&mut self.deferred_ends)
    }
    /// A transmission ended at `at`, which would have been an event.
    #[inline(never)] // most links have no use for it
    pub(super) fn count_deferred_end(&mut self, at: Time) {
        // A timer at that time is an event already.
        self.deferred_ends += u64::from(at != self.timed_out_at);
        self.end_matters = self.waits();
    }
}
