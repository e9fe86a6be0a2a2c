//! How long Linux's receiver opens its window, and so acknowledges each packet: `tcp_grow_window`,
//! which asks for a quick ACK with every packet that widens the window, and `tcp_rcv_space_adjust`
//! with `tcp_rcvbuf_grow`, which say how wide it may be, from the end of the handshake on
//! (`tcp_init_buffer_space`).
//!
//! The window that is offered does not follow it: that is the whole receive buffer from the start.

use forebay_base::{Span, Time};

/// Window of a connection at its start: what `tcp_rmem[1]` (128 KiB) holds where half of it is
/// overhead.
const FIRST_CLAMP_BYTES: u64 = 65_536;
/// The same once a full-sized packet has shown how much of its memory is payload
/// (`tcp_measure_rcv_mss`): five eighths.
const MEASURED_CLAMP_BYTES: u64 = 81_920;
/// Segments of the first round that a larger one is compared with (TCP_INIT_CWND).
const FIRST_ROUND_SEGMENTS: u64 = 10;
/// Round trips below this grow the buffer less (`tcp_rcvbuf_low_rtt`).
const LOW_RTT: Span = Span::from_millis(1);
/// Smaller packets do not open the window (`tcp_event_data_recv`).
const LEAST_PACKET_BYTES: u64 = 128;

/// Data that came in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrderData {
    pub bytes: u64,
    /// RCV.NXT behind them.
    pub nxt: u64,
    /// Timestamp echo in ms of this end's clock.
    pub echo_ms: Option<u32>,
}

/// The window as Linux would have it.
#[derive(Debug)]
pub(super) struct WindowGrowth {
    /// rcv_ssthresh: how far it is open.
    open_bytes: u64,
    /// window_clamp: how far it may be.
    clamp_bytes: u64,
    /// What the receive buffer holds.
    most_bytes: u64,
    mss: u64,
    /// Smoothed RTT as the receiver sees it: falls at once, rises by an eighth
    /// (`tcp_rcv_rtt_update`).
    rtt: Option<Span>,
    last_echo_ms: Option<u32>,
    /// Most that came in one round trip.
    round_bytes: u64,
    round_began: Time,
    round_from: u64,
}

impl WindowGrowth {
    pub(super) fn new(most_bytes: u64, mss: u64) -> WindowGrowth {
        WindowGrowth {
            open_bytes: FIRST_CLAMP_BYTES,
            clamp_bytes: MEASURED_CLAMP_BYTES,
            most_bytes,
            mss,
            rtt: None,
            last_echo_ms: None,
            round_bytes: FIRST_ROUND_SEGMENTS * mss,
            round_began: Time::ZERO,
            round_from: 1,
        }
    }

    /// The handshake has ended: the first round trip begins (`tcp_init_buffer_space`).
    pub(super) fn begin(&mut self, now: Time) {
        self.round_began = now;
    }

    /// True if the window opens with this packet.
    pub(super) fn on_data(&mut self, now: Time, data: InOrderData) -> bool {
        let room = self.clamp_bytes.min(self.most_bytes).saturating_sub(self.open_bytes);
        let opens = room > 0 && data.bytes >= LEAST_PACKET_BYTES;
        if opens {
            self.open_bytes += room.min(2 * self.mss.max(data.bytes));
        }
        self.measure(now, data.echo_ms);
        self.end_round(now, data.nxt);
        opens
    }

    /// A packet that answers an ACK not looked at yet (`tcp_rcv_rtt_measure_ts`).
    fn measure(&mut self, now: Time, echo_ms: Option<u32>) {
        if echo_ms.is_none() || echo_ms == self.last_echo_ms {
            return;
        }
        self.last_echo_ms = echo_ms;
        let Some(echo_ms) = echo_ms else { return };
        let sample = Span::from_millis((now.as_millis() as u32).wrapping_sub(echo_ms).into());
        if sample.is_zero() {
            return;
        }
        self.rtt = Some(match self.rtt {
            Some(rtt) if sample >= rtt => rtt.mul_div(7, 8) + sample / 8,
            _ => sample,
        });
    }

    /// Once a round trip: more data than ever before in one lets the window open further.
    fn end_round(&mut self, now: Time, nxt: u64) {
        let Some(rtt) = self.rtt else { return };
        if now.since(self.round_began) < rtt {
            return;
        }
        let (data, before) = (nxt - self.round_from, self.round_bytes);
        (self.round_began, self.round_from) = (now, nxt);
        if data <= before {
            return;
        }
        self.round_bytes = data;
        // The measure is one round trip late: twice that, and in slow start as much more as it
        // grew.
        let window = 2 * data;
        let more = if rtt < LOW_RTT {
            window * rtt.as_nanos() / LOW_RTT.as_nanos()
        } else {
            2 * window * (data - before) / before.max(1)
        };
        self.clamp_bytes = self.clamp_bytes.max(window + more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Rounds of `segments` at 100 ms: how many packets of each open the window.
    fn opening(rounds: &[u64]) -> [u64; 8] {
        let mut growth = WindowGrowth::new(32 << 20, MSS);
        growth.begin(Time::from_millis(100));
        let (mut nxt, mut opened) = (1, [0; 8]);
        for (round, &segments) in rounds.iter().enumerate() {
            let now = Time::from_millis(100 * (round as u64 + 1));
            for _ in 0..segments {
                nxt += MSS;
                let data = InOrderData { bytes: MSS, nxt, echo_ms: Some(100 * round as u32) };
                opened[round] += u64::from(growth.on_data(now, data));
            }
        }
        opened
    }

    /// By hand from tcp_grow_window and tcp_rcvbuf_grow, in steps of two segments: 16384 bytes are
    /// 6 steps. A round is judged with the first packet of the next, which counts: the first round,
    /// from the handshake on, has 11 segments and not 10. 20 then are 9/11 more: the clamp is 40 +
    /// 2 x 40 x 9/11 segments, 152698 bytes, 25 steps beyond 81920. 40 are twice as many: 6 x 40
    /// segments, 347520 bytes, 68 steps further. 80: 120 steps further.
    #[test]
    fn slow_start_opens_the_window_with_most_packets() {
        assert_eq!(opening(&[10, 20, 40, 80, 160])[..5], [6, 0, 25, 68, 120]);
    }

    /// Once rounds have the same size nothing opens it further: 68 steps after the first packet of
    /// the second round of 40, and no more.
    #[test]
    fn a_steady_flow_opens_it_no_further() {
        assert_eq!(opening(&[10, 20, 40, 40, 40, 40, 40, 40]), [6, 0, 25, 39, 29, 0, 0, 0]);
    }
}
