//! The pipe of RFC 6675: the window is cut at once, and `in_flight` is the pipe.

/// State of NextSeg rules 3 and 4 (RFC 6675 section 4).
#[derive(Debug)]
pub(crate) struct Pipe {
    /// RescueRxt: rule 4 applies once SND.UNA is beyond it; u64::MAX: it was used.
    pub rescue: u64,
    /// HighRxt: end of the highest segment sent again in this recovery.
    pub high_rxt: u64,
    /// The next repetition is the one of rule 4, which leaves HighRxt alone.
    pub rescuing: bool,
}

impl Pipe {
    /// `first_end`: end of the segment that recovery begins with.
    pub(crate) fn new(first_end: u64) -> Pipe {
        Pipe { rescue: first_end, high_rxt: first_end, rescuing: false }
    }
    /// A segment that ends at `end` was sent again.
    pub(crate) fn on_repeat(&mut self, end: u64) {
        if !core::mem::take(&mut self.rescuing) {
            self.high_rxt = self.high_rxt.max(end);
        }
    }
}
