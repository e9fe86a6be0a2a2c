//! Proportional rate reduction (RFC 9937 section 6).

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
