//! The usual case while a lost segment is waited for: more data comes behind what the receiver holds, each is answered at once,
//! and the sender learns of nothing else.
//!
//! What happens here is what the general path would do, as in `fast_path`: the SACK option of the last ACK is sent again with another
//! end of its first block, and the highest range on the scoreboard grows.

use super::emit::attach;
use super::input::options_of;
use super::{Cx, Path, SpuriousCheck, State};
use crate::connection::Counters;
use forebay_base::{Arena, OptionList, Packet, TcpFlags, Time, narrow};

impl Path {
    /// True if this path, which has something to report but [`Path::sender_is_regular`], only receives.
    pub(super) fn only_receives(&self) -> bool {
        self.fast.header_only
            && self.negotiated.sack
            && self.board.is_empty()
            && self.fin_received_at.is_none()
    }

    /// Process a segment that continues the highest of the ranges that are held, if that is all that it does. False, and nothing
    /// has changed, if it is something else.
    #[inline(never)]
    pub(crate) fn on_next_out_of_order(&mut self, packet: &Packet) -> bool {
        if !self.fast.rx_out_of_order {
            return false;
        }
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (una, nxt, payload) = (self.board.una(), self.recv.nxt(), packet.payload_len() as u64);
        let usual = tcp.flags == TcpFlags::ACK && payload > 0;
        if !usual || tcp.ack != narrow(una, self.ids.isn) {
            return false;
        }
        let start = nxt + tcp.seq.wrapping_sub(narrow(nxt, self.ids.peer_isn)) as u64;
        let end = start + payload;
        // Behind what was acknowledged last, a timestamp is not kept: PAWS is all there is to it.
        if end > nxt + self.recv_window
            || start <= self.last_ack_sent
            || !self.accept_timestamp(tcp.timestamps, start)
            || !self.recv.grow(start, end)
        {
            return false;
        }
        debug_assert!(self.sender_is_regular() && self.only_receives());
        self.note_window(tcp.window, start, una);
        self.acks.demand();
        true
    }

    /// True if [`Path::poll`] would give what [`Path::send_sack_update`] makes.
    #[inline]
    pub(crate) fn owes_sack_update(&self) -> bool {
        self.fast.rx_out_of_order && self.acks.is_due() && self.recv.has_grown()
    }
    /// The ACK that reports what [`Path::on_next_out_of_order`] took.
    #[inline(never)]
    pub(crate) fn send_sack_update(
        &mut self,
        now: Time,
        counters: &mut Counters,
        arena: &mut Arena,
    ) -> Packet {
        counters.acks += 1;
        self.note_ack();
        let options = self.recv.report_growth(self.ids.peer_isn);
        let mut packet = self.fast_packet(now, self.board.nxt(), 0);
        attach(&mut packet, &options, arena);
        packet
    }

    /// True if an ACK that reports more, and acknowledges nothing, can be no news but for detector, controller and recovery.
    pub(super) fn in_sack_recovery(&self) -> bool {
        self.fast.header_only
            && !self.board.sacked().is_empty()
            && self.state == State::Established
            && self.mappings.is_none()
            && self.negotiated.sack
            && !self.negotiated.ecn
            && self.probe.is_none()
            && self.timers.persist == Time::MAX
            && matches!(self.spurious, SpuriousCheck::None | SpuriousCheck::Echo(_))
    }

    /// Process an ACK whose first SACK block adds to the highest range that was reported, if that is all that it does. False, and
    /// nothing has changed, if it is something else.
    #[inline]
    pub(crate) fn on_next_sack(&mut self, cx: &mut Cx<'_>, packet: &Packet, arena: &Arena) -> bool {
        if !self.fast.sack_recovery {
            return false;
        }
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (una, start) = (self.board.una(), self.recv.nxt());
        let usual = tcp.flags == TcpFlags::ACK && packet.payload_len() == 0;
        if !usual
            || tcp.ack != narrow(una, self.ids.isn)
            || tcp.seq != narrow(start, self.ids.peer_isn)
        {
            return false;
        }
        let Some(options) = options_of(packet, arena) else { return false };
        let Some(block) = self.growing_block(options) else { return false };
        if !self.accept_timestamp(tcp.timestamps, start) {
            return false;
        }
        let mut summary = self.empty_summary(una, tcp.timestamps);
        let grown = self.take_highest(cx, block, &mut summary);
        debug_assert!(grown && self.in_sack_recovery());
        self.note_window(tcp.window, start, una);
        summary.duplicate = summary.sacked > 0;
        self.dupacks += u32::from(summary.duplicate);
        let sample = self.rtt_of(cx, &summary);
        if let Some(r) = sample {
            self.take_sample(r);
            self.raise_patient_rto();
        }
        let found = self.find_losses(cx, &summary, false);
        self.notify_controller(cx, &summary, sample, Some(options));
        self.advance_recovery(&summary, found);
        self.rearm_after_ack(cx, &summary);
        if found || self.timers.loss != Time::MAX {
            self.refresh();
        } else {
            self.lower_deadline(); // the holes are there still: it remains what it was
        }
        true
    }
    /// The first block of these SACK blocks, if it goes beyond the highest range reported and the others are known.
    #[inline]
    fn growing_block(&self, options: &OptionList) -> Option<(u64, u64)> {
        let (una, sacked) = (self.board.una(), self.board.sacked());
        let below = narrow(una, self.ids.isn);
        // What lies below SND.UNA comes out as far above what was sent.
        let offset = |seq: u32| una + seq.wrapping_sub(below) as u64;
        let mut blocks = options.sack_blocks().map(|b| (offset(b.start), offset(b.end)));
        let (start, end) = blocks.next()?;
        let top = sacked.last()?;
        let grows = top.start <= start && start <= top.end && top.end < end;
        let known =
            grows && end <= self.board.nxt() && blocks.all(|(s, e)| s < e && sacked.covers(s, e));
        known.then_some((start, end))
    }
}
