//! An acknowledgment came: what it says has arrived, and what follows from that.

use super::input::Incoming;
use super::rate::Flight;
use super::scoreboard::Segment;
use super::{Cx, Path};
use forebay_base::{OptionList, Span, TcpFlags, Time};

/// What one ACK says.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSummary {
    pub una: u64,
    pub prior_una: u64,
    pub prior_in_flight: u64,
    /// Payload bytes newly acknowledged in order, SACKed earlier or not.
    pub acked: u64,
    /// Payload bytes newly known to have arrived.
    pub delivered: u64,
    /// Those of them that are SACKed.
    pub sacked: u64,
    /// The transmission with the highest number among them.
    pub newest: Option<Segment>,
    /// What the rate sampler noted on it.
    pub newest_flight: Option<Flight>,
    /// A segment that was sent more than once is among what is acknowledged in order.
    pub repeats_acked: bool,
    /// Lowest end of what has arrived and was sent once only.
    pub lowest_original: Option<u64>,
    /// When the first of it was sent.
    pub first_original_sent: Option<Time>,
    pub dsack: Option<(u64, u64)>,
    pub duplicate: bool,
    /// Timestamp echo in ms of this end's clock.
    pub echo_ms: Option<u32>,
    pub ece: bool,
}

impl AckSummary {
    pub(super) fn advanced(&self) -> bool {
        self.una > self.prior_una
    }
    /// The echo is not older than the latest transmission of `s`.
    pub(super) fn echoes(&self, s: &Segment) -> bool {
        let sent_ms = s.sent_at.as_millis() as u32;
        self.echo_ms.is_some_and(|echo| echo.wrapping_sub(sent_ms) as i32 >= 0)
    }
}

impl Path {
    /// Process the acknowledgment of a segment that starts at `seq`.
    #[inline]
    pub(super) fn on_acknowledgment(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        seq: u64,
        options: Option<&OptionList>,
    ) {
        let Path { handshake, sender, recovery, receiver, .. } = self;
        let (prior_una, agreed) = (sender.una(), handshake.negotiated());
        let Some(ack) = handshake.own_offset(segment.ack, prior_una) else { return };
        if ack > sender.nxt() {
            if ack > sender.window_probe_end() {
                receiver.demand_ack(); // of something that was never sent
                return;
            }
            sender.skip_to(ack);
        }
        if ack < prior_una {
            return; // overtaken by a later one
        }
        let ece = agreed.ecn.is_some() && segment.is(TcpFlags::ECE);
        if ack == prior_una && segment.payload > 0 && sender.board().is_empty() && !ece {
            // Data for an end that has nothing outstanding: its ACK field says nothing new.
            self.update_window(cx.now, segment, seq, ack);
            return;
        }
        let echo_ms = handshake.timestamps_of(segment.timestamps).map(|(_, echo)| echo);
        let mut summary = AckSummary { ece, ..sender.empty_summary(ack, echo_ms) };
        if ack > prior_una {
            sender.take_cumulative(cx.now, &mut recovery.arrivals(), &mut summary);
            recovery.on_cumulative();
        }
        if let Some(options) = options.filter(|_| agreed.sack) {
            let offset = |seq| handshake.own_offset(seq, ack);
            let arrivals = &mut recovery.arrivals();
            sender.take_sacks(cx.now, arrivals, (options, offset), &mut summary);
        }
        let same_window = segment.window == sender.last_window();
        self.update_window(cx.now, segment, seq, ack);
        summary.duplicate = if agreed.sack {
            summary.sacked > 0 // RFC 6675 section 2
        } else {
            !summary.advanced() && same_window && self.is_bare_duplicate(segment)
        };
        if summary.duplicate {
            self.recovery.on_duplicate();
        }
        self.process(cx, &summary, options);
    }
    /// RFC 5681 section 2, but for the window.
    fn is_bare_duplicate(&self, segment: &Incoming) -> bool {
        !self.sender.board().is_empty()
            && segment.payload == 0
            && !segment.is(TcpFlags(TcpFlags::SYN.0 | TcpFlags::FIN.0))
    }

    fn update_window(&mut self, now: Time, segment: &Incoming, seq: u64, ack: u64) {
        if self.sender.reopen(segment.window, seq, ack) {
            self.recovery.on_window_open(now, &self.sender);
        }
    }

    /// What follows from an ACK, in the order that [`Controller`](forebay_cc::Controller)
    /// prescribes.
    fn process(&mut self, cx: &mut Cx<'_>, summary: &AckSummary, options: Option<&OptionList>) {
        let Path { sender, recovery, receiver, .. } = self;
        let sample = recovery.sample(cx.now, sender, summary);
        if summary.advanced() {
            recovery.on_advance(sender, summary);
        }
        let undone = recovery.check_spurious(cx.now, sender, summary);
        let ends = recovery.is_ended_by(summary);
        let found = recovery.find_losses(sender, cx, summary, ends);
        recovery.check_probe(sender, cx, summary, ends);
        if summary.ece {
            recovery.on_ecn_echo(sender, cx);
        }
        sender.notify_controller(cx.now, summary, sample, recovery.standing(), options);
        if sender.stamps() && options.is_some() {
            recovery.adopt_policy(sender, cx.config);
        }
        if ends {
            recovery.leave_recovery(cx.now, sender);
        } else {
            recovery.advance_recovery(sender, summary, found);
        }
        if !undone {
            recovery.pass_recovery_point(summary);
        }
        recovery.rearm_after_ack(cx.now, sender, receiver, summary);
        debug_assert!(sender.board().len() > 64 || sender.board().is_consistent());
    }

    /// Process an ACK whose first SACK block, `block`, extends the highest range that was reported,
    /// and that says nothing else. True if losses were found or are waited for.
    pub(super) fn process_sack(
        &mut self,
        cx: &mut Cx<'_>,
        (mut summary, block): (AckSummary, (u64, u64)),
        options: &OptionList,
    ) -> bool {
        let Path { sender, recovery, receiver, .. } = self;
        let grown = sender.take_highest(cx.now, &mut recovery.arrivals(), block, &mut summary);
        debug_assert!(grown);
        summary.duplicate = summary.sacked > 0;
        if summary.duplicate {
            recovery.on_duplicate();
        }
        let sample: Option<Span> = recovery.sample(cx.now, sender, &summary);
        let found = recovery.find_losses(sender, cx, &summary, false);
        sender.notify_controller(cx.now, &summary, sample, recovery.standing(), Some(options));
        recovery.advance_recovery(sender, &summary, found);
        recovery.rearm_after_ack(cx.now, sender, receiver, &summary);
        found || recovery.loss_deadline() != Time::MAX
    }
}
