//! Links without delay: what has been transmitted arrives at that time.
//!
//! An arrival comes before what transmitters do at its time. If it is on the wire already, that
//! follows from the order of events; if not, because its loss is drawn when it leaves, or because
//! every link is built the general way, it would come after transmitters that have acted. Such a
//! link is `instant`: the end of a transmission is an arrival there.

use super::QueuedLink;
use forebay_base::Time;
use forebay_queue::PortContext;

impl QueuedLink {
    /// True if the packet in transmission may arrive before the first on the wire.
    #[inline(always)] // once for each packet
    pub(crate) fn is_instant(&self) -> bool {
        self.instant
    }
    /// When the next packet arrives. `first` is the arrival of the first on the wire.
    #[inline(never)] // most links have a delay
    pub(super) fn instant_arrival(&self, first: Option<Time>) -> Option<Time> {
        let served = self.transmitting.as_ref().filter(|_| self.in_service.is_some());
        served.map(|t| t.end).into_iter().chain(first).min()
    }
    /// On an instant link: put on the wire what arrives with the end of its transmission. The
    /// transmitter goes on when it is its turn.
    #[inline(never)]
    pub(crate) fn put_served_on_wire(&mut self, cx: &mut PortContext<'_>) {
        if let Some(done) = self.transmitting.filter(|t| t.end <= cx.now)
            && let Some(packet) = self.in_service.take()
        {
            self.put_on_wire(packet, done.end, cx);
        }
    }
}
