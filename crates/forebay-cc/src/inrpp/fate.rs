//! What becomes of the packets of a flow: whether anybody on the path holds what it cannot take.

use crate::controller::{Ack, Loss, RttView, Tag};
use forebay_base::{Span, Time};

/// Packets, lost or delivered, before their losses say anything: rule 8.
const JUDGED_PACKETS: u64 = 256;
/// The same of a flow that no router has asked.
const UNASKED_PACKETS: u64 = 32;
/// Of as many, half of what was counted is forgotten.
const REMEMBERED_PACKETS: u64 = 1024;
/// Packets up to the newest that has arrived, before those that are missing say anything: rule 10.
const SEEN_PACKETS: u64 = 64;
/// A detour brings packets late by less than that.
const LATENESS: Span = Span::from_millis(300);
/// A path that loses more than one packet in this many without a request does not hold its excess.
/// Radio links lose less.
const LOSS_SHARE: u64 = 8;

/// The fate of packets while routers were counted: rule 8.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fate {
    pub(super) delivered_bytes: u64,
    /// Lost, though no router had asked since they were sent.
    pub(super) lost_bytes: u64,
    /// Of those the longest run that was sent one after the other.
    pub(super) longest_run_bytes: u64,
    /// The last run: the transmission number after it, and its bytes.
    pub(super) run: (u64, u64),
    /// When an ACK brought a nonce last.
    pub(super) asked_at: Option<Time>,
    /// When the current round trip began, and what was delivered in it and in the one before.
    pub(super) round: (Time, u64),
    pub(super) round_bytes: u64,
    /// Rule 10. All that was sent, and up to which the newest that has arrived goes.
    pub(super) sent_bytes: u64,
    pub(super) newest_bytes: u64,
    /// The same, and what had arrived, when nothing was missing last.
    pub(super) whole: (u64, u64),
    pub(super) missing: Option<Missing>,
}

/// Too much has not arrived: rule 10.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    /// Since when.
    pub(super) since: Time,
    /// What was in flight then.
    pub(super) in_flight_bytes: u64,
    /// Stream offset of the newest that had arrived then.
    pub(super) below: u64,
}

impl Fate {
    pub(super) fn on_delivered(&mut self, now: Time, rtt: &RttView, bytes: u64) {
        self.delivered_bytes += bytes;
        self.round.1 += bytes;
        if rtt.srtt.is_some_and(|srtt| now.since(self.round.0) >= srtt) {
            self.round_bytes = self.round.1;
            self.round = (now, 0);
        }
    }
    /// What arrives in a round trip.
    pub(super) fn arrived_bytes(&self) -> u64 {
        self.round_bytes.max(self.round.1)
    }
    /// An ACK of a flow that no router has asked. True if too much has been missing for too long.
    pub(super) fn misses(&mut self, now: Time, ack: &Ack<'_>, mss_bytes: u64) -> bool {
        let newest = ack.newest.map_or(0, |(Tag(sent_bytes), _)| sent_bytes);
        self.newest_bytes = self.newest_bytes.max(newest);
        if ack.snd_nxt <= ack.snd_una + ack.in_flight_bytes {
            self.whole = (self.newest_bytes, ack.total_delivered_bytes);
        }
        let seen = self.newest_bytes - self.whole.0;
        let missing = seen.saturating_sub(ack.total_delivered_bytes - self.whole.1);
        if seen < SEEN_PACKETS * mss_bytes || missing * LOSS_SHARE <= seen {
            self.missing = None;
            return false;
        }
        // On a detour other packets are late now than those that were then.
        let below = ack.snd_nxt.saturating_sub(self.sent_bytes - self.newest_bytes);
        let of_now = Missing { since: now, in_flight_bytes: ack.in_flight_bytes, below };
        let same = self.missing.filter(|missing| ack.snd_una < missing.below);
        self.missing = Some(same.unwrap_or(of_now));
        same.is_some_and(|missing| missing.since + LATENESS <= now)
    }
    /// Remember less where much is known, so that what it says is news.
    pub(super) fn age(&mut self, mss_bytes: u64) {
        if self.delivered_bytes + self.lost_bytes > REMEMBERED_PACKETS * mss_bytes {
            self.delivered_bytes /= 2;
            self.lost_bytes /= 2;
            self.longest_run_bytes /= 2;
        }
    }
    pub(super) fn on_lost(&mut self, loss: &Loss) {
        let bytes = u64::from(loss.bytes);
        let (next, run_bytes) = self.run;
        let run_bytes = if loss.number == next { run_bytes + bytes } else { bytes };
        self.run = (loss.number + 1, run_bytes);
        self.longest_run_bytes = self.longest_run_bytes.max(run_bytes);
        self.lost_bytes += bytes;
    }
    /// Without the longest run, which is what a router lost that restarted, or a link that failed.
    /// Where no router has asked there may be none that holds, and a queue loses runs as well.
    pub(super) fn is_unheld(&self, mss_bytes: u64) -> bool {
        let all = self.delivered_bytes + self.lost_bytes;
        let (judged_packets, spared_bytes) = match self.asked_at {
            Some(_) => (JUDGED_PACKETS, self.longest_run_bytes),
            None => (UNASKED_PACKETS, 0),
        };
        let lost_bytes = self.lost_bytes.saturating_sub(spared_bytes);
        all >= judged_packets * mss_bytes && lost_bytes > all / LOSS_SHARE
    }
}
