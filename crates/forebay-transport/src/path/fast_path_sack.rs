//! The fast paths while one lost segment is missing. The receiver gets more data behind what it
//! holds and answers each segment at once; the sender gets the SACKs, and learns of nothing else.
//!
//! As in `fast_path`, this is what the general path would do. The receiver sends the SACK option of
//! its last ACK again, with another end of the first block. The sender extends the highest range on
//! its scoreboard.

use super::emit::attach;
use super::handshake::Handshake;
use super::input::options_of;
use super::sender::Sender;
use super::{Cx, Path};
use crate::surface::Counters;
use forebay_base::{Arena, OptionList, Packet, TcpFlags, Time};

impl Path {
    /// Process a segment that continues the highest of the ranges that are held, if that is all
    /// that it does. False, and nothing has changed, if it is something else.
    #[inline(never)]
    pub(crate) fn on_next_out_of_order(&mut self, packet: &Packet) -> bool {
        let Path { fast, handshake, sender, receiver, .. } = self;
        if !fast.is_rx_out_of_order() {
            return false;
        }
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (una, nxt, payload) = (sender.una(), receiver.nxt(), packet.payload_len() as u64);
        let usual = tcp.flags == TcpFlags::ACK && payload > 0;
        if !usual || tcp.ack != handshake.own_seq(una) {
            return false;
        }
        let start = nxt + tcp.seq.wrapping_sub(handshake.peer_seq(nxt)) as u64;
        let end = start + payload;
        // Behind what was acknowledged last, a timestamp is not kept: PAWS is all there is to it.
        if end > nxt + receiver.window()
            || start <= receiver.last_ack_sent()
            || !receiver.accept_timestamp(handshake.timestamps_of(tcp.timestamps), (start, payload))
            || !receiver.extend_reported(start, end)
        {
            return false;
        }
        sender.note_window(tcp.window, start, una);
        true
    }

    /// True if [`Path::poll`] would give what [`Path::send_sack_update`] makes.
    #[inline]
    pub(crate) fn owes_sack_update(&self) -> bool {
        self.fast.is_rx_out_of_order() && self.receiver.owes_sack_update()
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
        let options = self.receiver.sack_update(self.handshake.peer_isn());
        let mut packet = self.fast_packet(now, self.sender.nxt(), 0);
        attach(&mut packet, &options, arena);
        packet
    }

    /// Process an ACK whose first SACK block extends the highest range that was reported, if that
    /// is all that it does. False, and nothing has changed, if it is something else.
    #[inline]
    pub(crate) fn on_next_sack(&mut self, cx: &mut Cx<'_>, packet: &Packet, arena: &Arena) -> bool {
        let Path { fast, handshake, sender, receiver, .. } = self;
        if !fast.is_sack_recovery() {
            return false;
        }
        let Some(tcp) = packet.tcp_fields() else { return false };
        let (una, start) = (sender.una(), receiver.nxt());
        let usual = tcp.flags == TcpFlags::ACK && packet.payload_len() == 0;
        if !usual || tcp.ack != handshake.own_seq(una) || tcp.seq != handshake.peer_seq(start) {
            return false;
        }
        let Some(options) = options_of(packet, arena) else { return false };
        let Some(block) = growing_block(handshake, sender, options) else { return false };
        let timestamps = handshake.timestamps_of(tcp.timestamps);
        if !receiver.accept_next_timestamp(timestamps) {
            return false;
        }
        sender.note_window(tcp.window, start, una);
        let summary = sender.empty_summary(una, timestamps.map(|(_, echo)| echo));
        if self.process_sack(cx, (summary, block), options) {
            self.refresh();
        } else {
            self.lower_deadline(); // the holes are there still, and what is open remains so
        }
        true
    }
}

/// The first of these SACK blocks, if it goes beyond the highest range reported and the others are
/// known.
#[inline]
fn growing_block(
    handshake: &Handshake,
    sender: &Sender,
    options: &OptionList,
) -> Option<(u64, u64)> {
    let (una, sacked) = (sender.una(), sender.board().sacked());
    let below = handshake.own_seq(una);
    // What lies below SND.UNA comes out as far above what was sent.
    let offset = |seq: u32| una + seq.wrapping_sub(below) as u64;
    let mut blocks = options.sack_blocks().map(|b| (offset(b.start), offset(b.end)));
    let (start, end) = blocks.next()?;
    let top = sacked.last()?;
    let grows = top.start <= start && start <= top.end && top.end < end;
    let known = grows && end <= sender.nxt() && blocks.all(|(s, e)| s < e && sacked.covers(s, e));
    known.then_some((start, end))
}
