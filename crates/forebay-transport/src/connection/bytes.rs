//! Which bytes of the streams a segment carries.
//!
//! A connection counts bytes and holds none. A caller that has real ones keeps them, by offsets in
//! 64 bits from the start of each stream:
//!
//! * When it writes out a segment: [`Connection::outgoing_bytes`] says which bytes go into it.
//!   Those below [`Progress::acked_bytes`](crate::Progress) are not needed any more.
//! * When a segment comes: [`Connection::incoming_bytes`] says where its bytes belong. Those below
//!   [`Progress::received_bytes`](crate::Progress) are in order, and may be read.

use super::Connection;
use crate::mptcp::Signal;
use crate::path::options_of;
use core::ops::Range;
use forebay_base::{Arena, Packet, widen};

impl Connection {
    /// The bytes of this end's stream in a segment that `path` made; empty if it has no payload.
    /// The segment may have waited since, but none of its bytes may be 2^31 or more bytes old.
    pub fn outgoing_bytes(&self, path: usize, packet: &Packet, arena: &Arena) -> Range<u64> {
        let at = match &self.streams {
            Some(streams) => mapped(packet, arena, streams.numbers()[0], streams.sent().0),
            None => {
                let path = &self.paths[path];
                let tcp = packet.tcp_fields();
                tcp.and_then(|tcp| path.own_byte(tcp.seq, tcp.flags, path.sent_bytes()))
            }
        };
        let len = u64::from(packet.payload_len());
        at.filter(|_| len > 0).map_or(0..0, |at| at..at + len)
    }

    /// The bytes of the peer's stream in a segment that came for `path`, and their place in the
    /// payload: what is not received yet and fits into the receive buffer. None if that is nothing.
    ///
    /// Ask before [`Connection::on_packet`] takes the segment. Bytes of a segment that it does not
    /// take are overwritten when they come again.
    pub fn incoming_bytes(
        &self,
        path: usize,
        packet: &Packet,
        arena: &Arena,
    ) -> Option<(Range<u64>, Range<usize>)> {
        let received = self.progress().received_bytes;
        let tcp = packet.tcp_fields()?;
        let at = match &self.streams {
            Some(streams) => mapped(packet, arena, streams.numbers()[1], received)?,
            None => self.paths[path].peer_byte(tcp.seq, tcp.flags, received)?,
        };
        let end = at + u64::from(packet.payload_len());
        let most = received.saturating_add(self.config.receive_buffer_bytes);
        let bytes = at.max(received)..end.min(most);
        let place = |offset: u64| (offset - at) as usize;
        (!bytes.is_empty()).then(|| (bytes.clone(), place(bytes.start)..place(bytes.end)))
    }
}

/// Where the bytes of a segment of one of several paths belong in the stream.
fn mapped(packet: &Packet, arena: &Arena, first: u32, near: u64) -> Option<u64> {
    let signal = Signal::read(options_of(packet, arena), first)?;
    let (dsn, ..) = signal.mapping.filter(|_| signal.maps(packet.payload_len().into()))?;
    widen(dsn, first, near)
}
