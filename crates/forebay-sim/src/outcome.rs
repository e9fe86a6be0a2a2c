//! Results of a simulation.

use forebay_base::{Rate, Span, Time};
use forebay_net::{AnyLink, LinkStats, MiddleboxCounts};
use forebay_transport::{ConnectionView, Counters, EndCause, RttSummary};

/// The result of a flow so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowOutcome {
    /// When the SYN was sent.
    pub opened_at: Option<Time>,
    /// When the client's handshake was over.
    pub established_at: Option<Time>,
    /// When the last byte was in order at the receiver; for a flow of no bytes, when the handshake
    /// ended there. None while bytes are missing, and for endless flows.
    pub completed_at: Option<Time>,
    /// Bytes in order at the receiver.
    pub received_bytes: u64,
    /// The sender's counts.
    pub sender: Counters,
    /// Packets that came to the receiver with CE, while ECN was in use.
    pub ce_received: u64,
    /// Packets that came to the receiver with payload that it had already. No link duplicates
    /// packets: each of them was sent again without need.
    pub needless_retransmits: u64,
    /// For how long the receive window, and the send buffer, held back new data that the congestion
    /// window had room for.
    pub held_back: [Span; 2],
    /// Round-trip times that the sender saw on its first path.
    pub rtt: RttSummary,
    /// It never starts: it follows another flow, and its start would be at or after its stop; or it
    /// is a spare one that has not started so far.
    pub skipped: bool,
    /// Why and when the sender's end ended.
    pub ended: Option<(EndCause, Time)>,
}

impl FlowOutcome {
    /// Of a flow with these connections, at `now`.
    pub(crate) fn new(
        now: Time,
        skipped: bool,
        client: Option<ConnectionView<'_>>,
        server: Option<ConnectionView<'_>>,
    ) -> FlowOutcome {
        let mut outcome = FlowOutcome { skipped, ..FlowOutcome::default() };
        if let Some(client) = client {
            let progress = client.progress();
            outcome.opened_at = progress.opened_at;
            outcome.established_at = progress.established_at;
            outcome.ended = progress.ended;
            outcome.sender = client.counters();
            outcome.held_back = client.held_back(now);
            outcome.rtt = client.rtt_summary(0);
        }
        if let Some(server) = server {
            let progress = server.progress();
            outcome.received_bytes = progress.received_bytes;
            let received = server.counters();
            outcome.ce_received = received.ce_received;
            outcome.needless_retransmits = received.duplicates_received;
            outcome.completed_at = completed_at(server);
        }
        outcome
    }
}

/// When all of a flow was at its receiver.
pub(crate) fn completed_at(server: ConnectionView<'_>) -> Option<Time> {
    let progress = server.progress();
    progress.last_byte_at.or(progress.established_at).filter(|_| progress.stream_complete)
}

/// The result of a link so far.
#[derive(Clone, Copy)]
pub struct LinkOutcome<'a> {
    pub(crate) link: &'a AnyLink,
    pub(crate) now: Time,
}

impl LinkOutcome<'_> {
    /// Counts.
    pub fn stats(&self) -> LinkStats {
        self.link.stats(self.now)
    }
    /// What the middlebox on it did.
    pub fn middlebox(&self) -> MiddleboxCounts {
        self.link.middlebox()
    }
    /// Time spent transmitting.
    pub fn busy(&self) -> Span {
        self.link.busy(self.now)
    }
    /// Bytes transmitted, per-packet overhead included. The packet in transmission counts by the
    /// share of its time that has passed.
    pub fn transmitted_bytes(&self) -> u64 {
        self.link.transmitted_bytes(self.now)
    }
    /// Packets whose transmission has ended.
    pub fn serialized_packets(&self) -> u64 {
        self.link.serialized_packets(self.now)
    }
    /// Bytes that wait.
    pub fn queue_bytes(&self) -> u64 {
        self.link.waiting_bytes(self.now)
    }
    /// The rate now.
    pub fn rate(&self) -> Rate {
        self.link.rate(self.now)
    }
    /// What the scheme of its port publishes now, each number under a name that ends in its unit.
    pub fn publish(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.link.publish(self.now, see);
    }
}
