//! Inputs for the unit tests: an ACK to edit, and a path of fixed RTT that is always full.

use crate::controller::{
    Ack, Congestion, CongestionCause, Controller, Init, NextPacket, RttView, Sent,
};
use crate::feedback::DatagramView;
use forebay_base::{Addr, Ecn, IpVersion, OptionList, Rng, Span, Stream, Time};

/// Segment of the tests: divisible by 4, so that CSS loses no fraction.
pub(crate) const MSS: u64 = 1460;

pub(crate) const fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

pub(crate) fn init(segments: u64) -> Init {
    Init {
        mss_bytes: MSS as u32,
        initial_window_bytes: segments * MSS,
        initial_ssthresh_bytes: u64::MAX,
        paced: false,
        rng: Rng::new(1, Stream::Controller, 0),
    }
}

/// An ACK of `bytes` new bytes in a flight that the window limited, RTT 100 ms.
pub(crate) fn ack(bytes: u64) -> Ack<'static> {
    let rtt = ms(100);
    Ack {
        acked_bytes: bytes,
        delivered_bytes: bytes,
        total_delivered_bytes: bytes,
        duplicate: false,
        rtt_sample: Some(rtt),
        newest: None,
        rtt: RttView { srtt: Some(rtt), rttvar: Span::ZERO, min: rtt, latest: Some(rtt) },
        prior_in_flight_bytes: bytes,
        in_flight_bytes: 0,
        snd_una: bytes,
        snd_nxt: bytes,
        cwnd_limited: true,
        in_recovery: false,
        ecn_echo: false,
        rate: None,
        options: None,
    }
}

pub(crate) fn congestion(cause: CongestionCause, flight_segments: f64) -> Congestion {
    let flight_size_bytes = (flight_segments * MSS as f64) as u64;
    Congestion { cause, flight_size_bytes, cwnd_limited: true }
}

pub(crate) fn sent(after_idle: bool) -> Sent {
    let bytes = MSS as u32;
    Sent {
        number: 0,
        bytes,
        in_flight_bytes: MSS,
        retransmission: false,
        after_idle,
        app_limited: false,
    }
}

/// A full segment of new data, about to leave.
pub(crate) fn next_packet() -> NextPacket {
    NextPacket {
        number: 1,
        syn: false,
        reply: false,
        retransmission: false,
        payload_bytes: MSS as u32,
        version: IpVersion::V4,
        src: Addr(1),
        dst: Addr(2),
    }
}

/// A datagram without payload that came whole.
pub(crate) fn datagram(options: Option<&OptionList>) -> DatagramView<'_> {
    DatagramView {
        payload_bytes: 0,
        wire_len: 40,
        pieces: 1,
        dont_fragment: true,
        ip_id: 0,
        ecn: Ecn::NotEct,
        options,
        in_order: false,
    }
}

/// A path of fixed RTT, always full: a window of W segments gets an ACK every RTT / W, and recovery
/// takes no time.
pub(crate) struct Pipe<C> {
    pub(crate) controller: C,
    pub(crate) now: Time,
    pub(crate) rtt: Span,
    pub(crate) acked: u64,
}

impl<C: Controller> Pipe<C> {
    pub(crate) fn new(controller: C, rtt: Span) -> Pipe<C> {
        Pipe { controller, now: Time::from_secs(1), rtt, acked: 0 }
    }
    /// The window in segments.
    pub(crate) fn window(&self) -> f64 {
        self.controller.limits().cwnd_bytes as f64 / MSS as f64
    }
    /// The next segment is acknowledged.
    pub(crate) fn ack(&mut self) {
        self.now += Span::from_secs_f64(self.rtt.as_secs_f64() / self.window());
        self.acked += 1;
        let mut ack = ack(MSS);
        let rtt = Some(self.rtt);
        ack.rtt = RttView { srtt: rtt, rttvar: Span::ZERO, min: self.rtt, latest: rtt };
        ack.rtt_sample = Some(self.rtt);
        ack.snd_una = self.acked * MSS;
        ack.snd_nxt = ack.snd_una + self.controller.limits().cwnd_bytes;
        self.controller.on_ack(self.now, &ack);
    }
    /// The flight, as large as the window, meets congestion.
    pub(crate) fn lose(&mut self) {
        let event = congestion(CongestionCause::Loss, self.window());
        self.controller.on_congestion(self.now, &event);
    }
    /// Mean window over time, in segments, where every `interval`-th segment is lost: after 20
    /// cycles, over 20 more.
    pub(crate) fn mean_window_at_loss_interval(&mut self, interval: u64) -> f64 {
        let mut start = (self.now, self.acked);
        for cycle in 0..40 {
            if cycle == 20 {
                start = (self.now, self.acked);
            }
            (0..interval).for_each(|_| self.ack());
            self.lose();
        }
        let round_trips = self.now.since(start.0).as_secs_f64() / self.rtt.as_secs_f64();
        (self.acked - start.1) as f64 / round_trips
    }
}
