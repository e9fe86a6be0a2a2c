//! An episode of recovery, and the rule that limits what is sent in it: proportional rate reduction
//! (RFC 9937 section 6), the pipe of RFC 6675, or the inflated window of RFC 6582.

/// The rule in force.
#[derive(Debug)]
pub(crate) enum Rule {
    Prr(Prr),
    Pipe(Pipe),
    NewReno(NewReno),
    /// The controller's own limits.
    Controller,
}

/// From the detection of a loss until everything that had been sent by then is acknowledged.
#[derive(Debug)]
pub(crate) struct Episode {
    /// SND.NXT at entry: RecoveryPoint, `recover`.
    pub point: u64,
    pub rule: Rule,
    /// A partial ACK came (RFC 6582: only the first one restarts the timer).
    pub partial_seen: bool,
    /// The ACK that began it has been counted.
    pub entered: bool,
}

/// Sends in proportion to what arrives, so that the window reaches ssthresh when recovery ends.
#[derive(Debug)]
pub(crate) struct Prr {
    /// Target: the window that the controller set on congestion.
    pub ssthresh: u64,
    delivered: u64,
    out: u64,
    recover_fs: u64,
    /// cwnd of RFC 9937: bytes in flight at the last ACK that delivered something, and SndCnt. What
    /// is found lost later leaves this window as it is, and room in it.
    window: u64,
    /// SndCnt comes from the proportion: RFC 9937 rounds it up to whole segments.
    round_up: bool,
}

impl Prr {
    /// `recover_fs`: bytes sent and not acknowledged before the ACK that begins recovery, less
    /// those SACKed before it.
    pub(crate) fn new(ssthresh: u64, recover_fs: u64) -> Prr {
        let recover_fs = recover_fs.max(1);
        Prr { ssthresh, delivered: 0, out: 0, recover_fs, window: 0, round_up: false }
    }

    /// An ACK in recovery, the first one too, the last one not. `delivered` is DeliveredData,
    /// `safe` is SafeACK.
    pub(crate) fn on_ack(&mut self, delivered: u64, in_flight: u64, safe: bool, mss: u64) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        self.round_up = in_flight > self.ssthresh;
        let mut send_count = if self.round_up {
            let share = self.delivered as u128 * self.ssthresh as u128;
            let due = share.div_ceil(self.recover_fs as u128);
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let growth = if safe { mss } else { 0 };
            let sent_less = self.delivered.saturating_sub(self.out).max(delivered) + growth;
            sent_less.min(self.ssthresh - in_flight)
        };
        if self.out == 0 && send_count == 0 {
            send_count = mss;
        }
        self.window = in_flight + send_count;
    }
    /// A timer found losses. Before an ACK has set the window, the first retransmission may leave;
    /// after it the window stays, as in Linux (tcp_rack_reo_timeout), and one segment is the least.
    pub(crate) fn on_loss_timer(&mut self, in_flight: u64, mss: u64) {
        let least = if self.delivered == 0 && self.out == 0 { in_flight + mss } else { mss };
        self.window = self.window.max(least);
    }
    /// Bytes that may leave.
    pub(crate) fn room(&self, in_flight: u64) -> u64 {
        let room = self.window.saturating_sub(in_flight);
        if self.round_up && room > 0 { u64::MAX } else { room }
    }
    pub(crate) fn on_sent(&mut self, len: u64) {
        self.out += len;
    }
    /// The window in force.
    pub(crate) fn window(&self, in_flight: u64) -> u64 {
        self.window.max(in_flight)
    }
}

/// State of NextSeg rules 3 and 4 (RFC 6675 section 4).
#[derive(Debug)]
pub(crate) struct Pipe {
    /// RescueRxt: rule 4 applies once SND.UNA is beyond it; u64::MAX: it was used.
    pub rescue: u64,
    /// HighRxt: end of the highest segment retransmitted in this recovery.
    pub high_rxt: u64,
    /// The next repetition is the one of rule 4, which leaves HighRxt alone.
    pub rescuing: bool,
}

impl Pipe {
    /// `first_end`: end of the segment that recovery begins with.
    pub(crate) fn new(first_end: u64) -> Pipe {
        Pipe { rescue: first_end, high_rxt: first_end, rescuing: false }
    }
    /// A segment that ends at `end` was retransmitted.
    pub(crate) fn on_repeat(&mut self, end: u64) {
        if !core::mem::take(&mut self.rescuing) {
            self.high_rxt = self.high_rxt.max(end);
        }
    }
}

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
    /// Deflate by what was acknowledged, less the segment that is retransmitted for it (step 3,
    /// partial ACK).
    pub(crate) fn on_partial_ack(&mut self, acked: u64, mss: u64) {
        self.window = self.window.saturating_sub(acked);
        if acked >= mss {
            self.window += mss;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// One window in segments of 1 byte, the first `lost` of `window` missing, SACKs one by one
    /// from the third on; each retransmission is lost to view until the end. Returns what is sent
    /// on each ACK from the third on.
    fn run(window: u64, lost: u64, ssthresh: u64) -> Vec<u64> {
        let arrivals = window - lost;
        let mut prr = Prr::new(ssthresh, window - 2);
        // IsLost marks a hole once three segments above it are reported; all holes lie below all
        // arrivals.
        let (mut in_flight, mut to_repeat) = (window - 3 - lost, lost);
        let mut sent = Vec::new();
        for ack in 3..=arrivals {
            if ack > 3 {
                in_flight -= 1;
            }
            prr.on_ack(1, in_flight, false, 1);
            let mut count = 0;
            while prr.room(in_flight) >= 1 {
                prr.on_sent(1);
                to_repeat = to_repeat.saturating_sub(1);
                in_flight += 1;
                count += 1;
            }
            sent.push(count);
        }
        assert_eq!(to_repeat, 0);
        sent
    }

    #[test]
    fn ten_in_flight_one_lost_half_the_window() {
        assert_eq!(run(10, 1, 5), [1, 1, 0, 0, 1, 1, 1]);
    }
    #[test]
    fn ten_in_flight_one_lost_seven_tenths() {
        assert_eq!(run(10, 1, 7), [1; 7]);
    }
    #[test]
    fn twenty_in_flight_one_lost() {
        let on: Vec<u64> = [3, 4, 6, 8, 10, 12, 13, 15, 18, 19].to_vec();
        let expected: Vec<u64> = (3..=19).map(|ack| on.contains(&ack) as u64).collect();
        assert_eq!(run(20, 1, 10), expected);
    }
    #[test]
    fn twenty_in_flight_five_lost() {
        let on = [3, 4, 6, 9, 10, 11, 12, 13, 14, 15];
        let expected: Vec<u64> = (3..=15).map(|ack| on.contains(&ack) as u64).collect();
        assert_eq!(run(20, 5, 10), expected);
    }
}
