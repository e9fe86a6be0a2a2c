//! The thresholds of an interface, and for how many packets of a flow it has room.

use super::Interface;
use crate::inrpp::settings::Crowd;
use forebay_base::{Rate, Time};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, FIRST_FLIGHT_BYTES, MAX_ALLOWANCE};

/// A flow that has less than this part of its share is not slowed down.
const RAMP_SHARE: u64 = 4;

impl<T> Interface<T> {
    /// What may wait here in state P.
    #[inline]
    pub(super) fn push_bytes(&self) -> u64 {
        self.push_bytes.min(self.low_bytes() / 2)
    }
    /// By how much S_high is lower now than with all flows.
    #[inline]
    fn absent_bytes(&self) -> u64 {
        let Crowd { flows, flow_bytes } = self.crowd;
        flows.saturating_sub(self.cache.pooled_flows()) * flow_bytes
    }
    /// S_high, for the flows that have packets here.
    #[inline]
    pub(super) fn high_bytes(&self) -> u64 {
        self.limits.high_bytes - self.absent_bytes()
    }
    /// S_low, the same way.
    #[inline]
    pub(super) fn low_bytes(&self) -> u64 {
        self.limits.low_bytes - self.absent_bytes() / 2
    }
    /// A SYN-ACK came with `came` and continues with `written`, over a link of `rate`. Where no
    /// other interface asks anything of its flow, it says for how many packets of it all have room
    /// at once: here half of what is missing to S_high, where others have not been told of it just
    /// before; up to a first flight, to S_high of all flows, so that a new one is short of nothing
    /// because those before it have filled their part. What they were told leaves at the rate of
    /// the link. A router further on that says nothing knows of one that does not speak INRPP,
    /// whose room nobody knows.
    pub fn offer(
        &mut self,
        now: Time,
        rate: Rate,
        came: BackPressure,
        written: BackPressure,
    ) -> BackPressure {
        let unknown = came.routers > 0 && came.allowance == 0 && came.nonce.is_none();
        let held_elsewhere = written.nonce.is_some() && written.nonce != self.nonce;
        if unknown || held_elsewhere || written.ask != BackPressureSignal::Nothing {
            return written;
        }
        let (offered_bytes, last) = self.offered;
        let offered_bytes = offered_bytes.saturating_sub(rate.bytes_in(now.since(last)));
        let taken_bytes = offered_bytes.max(self.cache.bytes());
        let present_bytes = self.high_bytes().saturating_sub(taken_bytes) / 2;
        let planned_bytes = self.limits.high_bytes.saturating_sub(taken_bytes) / 2;
        let room_bytes = present_bytes.max(planned_bytes.min(FIRST_FLIGHT_BYTES));
        let room = room_bytes / self.packet_bytes();
        let room = room.clamp(1, u64::from(MAX_ALLOWANCE)) as u16;
        let room = room.max(written.allowance);
        let further = Some(came.allowance).filter(|&further| further > 0 && came.nonce.is_none());
        let allowance = further.map_or(room, |further| further.min(room));
        self.offered = (offered_bytes + u64::from(allowance) * self.packet_bytes(), now);
        BackPressure { allowance, ..written }
    }
    /// The share in `bytes` here of each flow, one of which has `own` bytes here.
    fn share_of(&self, own: u64, bytes: u64) -> u64 {
        bytes / (self.cache.pooled_flows() + u64::from(own == 0))
    }
    /// Packets of a flow with `own` bytes here for which there is room: up to its share in a
    /// quarter of S_high, and in what is left of the cache. 0 where it has that.
    ///
    /// One that has nothing here may have less than its share of the link, or need no more: it is
    /// allowed a packet as long as the cache has room for one, or the link nothing to send. What
    /// fills the cache may be held for an interface downstream, and must not delay flows that are
    /// not.
    pub(super) fn room_for(&mut self, own: u64) -> u16 {
        let packet = self.packet_bytes();
        let left = self.limits.total_bytes.saturating_sub(self.cache.bytes());
        let share = self.share_of(own, left.min(self.high_bytes() / RAMP_SHARE));
        let least = u64::from(own == 0 && self.has_room_for_one());
        let packets = (share.saturating_sub(own) / packet).max(least);
        packets.min(u64::from(MAX_ALLOWANCE)) as u16
    }
    /// There is room for a packet of a flow that has nothing here.
    ///
    /// What another has above its share in S_high is no reason to allow that one nothing: it is
    /// told to pause, and a full cache drops its packets first. Of one flow: those that all do as
    /// they are told have about the same.
    fn has_room_for_one(&mut self) -> bool {
        let (bytes, high_bytes) = (self.cache.bytes(), self.high_bytes());
        self.leaves_room_for_one(bytes)
            || bytes > high_bytes && {
                let share = self.share_of(0, high_bytes);
                let above = self.cache.longest_pooled_bytes().saturating_sub(share);
                self.leaves_room_for_one(bytes - above)
            }
    }
    /// So many bytes leave room for a packet of a flow that has nothing here.
    fn leaves_room_for_one(&self, bytes: u64) -> bool {
        let crowded = bytes >= self.crowded_bytes() && self.cache.has_eligible();
        !crowded && self.limits.total_bytes.saturating_sub(bytes) >= self.packet_bytes()
    }
    /// Where the cache holds more, a flow with nothing in it is allowed nothing. That is above
    /// S_high, where others pause: below it none would, and the last flow would get the remainder.
    fn crowded_bytes(&self) -> u64 {
        let (high_bytes, total_bytes) = (self.high_bytes(), self.limits.total_bytes);
        let each = self.cache.pooled_flows() * self.packet_bytes();
        high_bytes + each.min(total_bytes.saturating_sub(high_bytes) / RAMP_SHARE)
    }
    /// Request to a flow that has no room: above S_high those that have more than their share
    /// wait, until it is reached.
    pub(super) fn ask_of(&self, own: u64) -> BackPressureSignal {
        let high = self.high_bytes();
        let over = self.cache.bytes() > high && own > self.share_of(own, high);
        if over { BackPressureSignal::Pause } else { BackPressureSignal::SlowDown }
    }
}
