//! Links without delay: what has been transmitted arrives at that time.
//!
//! An arrival comes before what transmitters do at its time. If it is on the wire already, that
//! follows from the order of events; if not, because its loss is drawn when it leaves, or because
//! every link is built the general way, it would come after transmitters that have acted.

use super::QueuedLink;
use forebay_base::Time;
use forebay_queue::PortContext;

impl QueuedLink {
    /// When the next packet arrives. `first` is the arrival of the first on the wire.
    #[inline(never)] // most links have a delay
    pub(super) fn arrival_without_delay(&self, first: Option<Time>) -> Option<Time> {
        self.served_arrival().into_iter().chain(first).min()
    }
    /// When the packet in transmission arrives, if it is not on the wire and there is no delay.
    fn served_arrival(&self) -> Option<Time> {
        let end = self.transmitting.as_ref().filter(|_| self.delay.is_zero()).map(|t| t.end);
        end.filter(|_| self.in_service.is_some())
    }
    /// True if [`QueuedLink::put_served_on_wire`] has something to do.
    #[inline]
    pub(crate) fn serves_arrival(&self, now: Time) -> bool {
        !self.steady && self.delay.is_zero() && self.served_arrival().is_some_and(|at| at <= now)
    }
    /// Put on the wire what arrives with the end of its transmission. The transmitter goes on when
    /// it is its turn.
    #[inline(never)] // most links have a delay
    pub(crate) fn put_served_on_wire(&mut self, cx: &mut PortContext<'_>) {
        let Some(at) = self.served_arrival().filter(|&at| at <= cx.now) else { return };
        if let Some(packet) = self.in_service.take() {
            self.put_on_wire(packet, at, cx);
        }
    }
}
