//! What leaves next: an ACK, a retransmission, new data or a probe.

use super::sender::Sender;
use super::{Cx, Path, State};
use forebay_base::{Arena, Packet};
use forebay_cc::Limits;

/// What to send.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    Syn,
    /// The segment at this index of the scoreboard, again.
    Repeat(usize),
    /// New data of this length; none of it and a FIN: a FIN alone.
    New {
        len: u64,
        fin: bool,
    },
}

impl Path {
    /// False if [`Path::poll`] would find nothing to do at all: most calls of a driver that polls
    /// until None.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.receiver.is_ack_due() || self.sender.is_window_probe_due() || !self.has_nothing()
    }

    /// The next packet, if one may leave now.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        if self.fast.is_open() { self.poll_fast(cx, arena) } else { self.poll_general(cx, arena) }
    }

    /// The general path of [`Path::poll`].
    #[inline(never)]
    pub(super) fn poll_general(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        let dead = self.handshake.state() == State::Dead;
        if dead || (!self.sender.is_shared() && !self.has_work()) {
            return None;
        }
        let due = self.receiver.is_ack_due();
        // An ACK rides on data unless it has options of its own to carry, or ends the handshake.
        let alone = due
            && (self.handshake.is_ack_due()
                || self.receiver.has_feedback()
                || !self.receiver.has_no_sack_blocks());
        let packet = if alone {
            Some(self.make_ack(cx, arena))
        } else {
            match self.poll_data(cx, arena) {
                Some(packet) => Some(packet),
                None if due && self.handshake.is_established() => Some(self.make_ack(cx, arena)),
                None => None,
            }
        };
        self.after_poll(packet.is_some());
        packet
    }

    /// The stream is over for both ends: nothing leaves but ACKs that are asked for.
    pub(crate) fn poll_ack(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        self.receiver.is_ack_due().then(|| self.make_ack(cx, arena))
    }

    #[inline]
    fn poll_data(&mut self, cx: &mut Cx<'_>, arena: &mut Arena) -> Option<Packet> {
        self.sender.clear_pace();
        if self.sender.is_window_probe_due() {
            return Some(self.make_window_probe(cx));
        }
        if self.has_nothing() {
            if self.sender.is_shared() {
                self.sender.set_app_limited();
            }
            return None;
        }
        let limits = self.sender.limits();
        if self.handshake.is_established() {
            // A handshake does not ask the controller.
            if limits.credits == Some(0) && !self.recovery.overrides_limits(&self.sender) {
                return None;
            }
            if !self.sender.pacer_allows(cx.now) {
                self.sender.wait_for_pacer();
                return None;
            }
        }
        let choice = self.choose(cx, &limits)?;
        let pacing = self.recovery.pacing_rate(&self.sender, &limits, cx.config);
        let packet = self.transmit(cx, arena, choice);
        if let Some(rate) = pacing {
            self.sender.on_paced(cx.now, (packet.payload_len(), packet.wire_len()), rate);
        }
        Some(packet)
    }

    /// The common case of a receiver: nothing to send at all.
    #[inline]
    fn has_nothing(&self) -> bool {
        let Path { sender, recovery, handshake, .. } = self;
        let idle = !sender.has_unsent()
            && sender.board().lost_segments() == 0
            && !recovery.is_probe_due()
            && !handshake.is_syn_due();
        idle && !recovery.may_rescue()
    }

    fn choose(&mut self, cx: &mut Cx<'_>, limits: &Limits) -> Option<Choice> {
        let Path { sender, recovery, handshake, .. } = self;
        if !handshake.is_established() {
            if handshake.is_syn_due() {
                return Some(Choice::Syn);
            }
            return sender.next_lost().map(Choice::Repeat);
        }
        if recovery.take_probe_due() {
            return recovery.choose_probe(cx.now, sender, cx.counters);
        }
        if !recovery.wants_new_data()
            && let Some(at) = sender.next_lost()
        {
            let len = sender.board().get(at).len.min(sender.payload_limit()) as u64;
            let room = || recovery.window_room(sender, limits, cx.config);
            if recovery.forces_retransmit() || room() >= len {
                return Some(Choice::Repeat(at));
            }
            sender.end_buffer_limit(cx.now, cx.counters);
            sender.note_window_full();
            return None;
        }
        self.choose_new(cx, limits)
            .or_else(|| self.recovery.choose_pipe(&self.sender, (limits, cx.config)))
    }

    /// New data that windows allow.
    fn choose_new(&mut self, cx: &mut Cx<'_>, limits: &Limits) -> Option<Choice> {
        let Path { sender, recovery, .. } = self;
        let Some((len, fin)) = sender.next_new(cx.now, recovery.rtt().rto()) else {
            let (nxt, end) = (sender.nxt(), sender.send_end());
            if nxt == end {
                sender.set_app_limited();
            } else if nxt < end {
                let room = |sender: &Sender| recovery.window_room(sender, limits, cx.config);
                sender.begin_buffer_limit(cx.now, cx.counters, room);
            }
            return None;
        };
        let room = recovery.window_room(sender, limits, cx.config);
        let full = sender.payload_limit() as u64;
        if room < len.min(full) && !recovery.wants_new_data() {
            sender.end_buffer_limit(cx.now, cx.counters);
            sender.note_window_full();
            return None;
        }
        let len_now = len.min(room.max(full));
        Some(Choice::New { len: len_now, fin: fin && len_now == len })
    }
}
