//! Window inflation and deflation (RFC 6582 section 3.2).

/// The inflated window.
#[derive(Debug)]
pub(crate) struct NewReno {
    /// Bytes that may be sent and not acknowledged.
    pub window: u64,
}

impl NewReno {
    /// Three segments have left the network (step 2).
    pub(crate) fn new(ssthresh: u64, mss: u64) -> NewReno {
        NewReno { window: ssthresh.saturating_add(3 * mss) }
    }
    /// One more has (RFC 5681 section 3.2 step 4).
    pub(crate) fn on_duplicate(&mut self, mss: u64) {
        self.window = self.window.saturating_add(mss);
    }
    /// Deflate by what was acknowledged, less the segment that is sent again for it (step 3,
    /// partial ACK).
    pub(crate) fn on_partial_ack(&mut self, acked: u64, mss: u64) {
        self.window = self.window.saturating_sub(acked);
        if acked >= mss {
            self.window += mss;
        }
    }
}
