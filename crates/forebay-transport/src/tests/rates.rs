//! Delivery rate samples.

use crate::TcpConfig;
use crate::testing::{Delivery, Plan, config};
use alloc::boxed::Box;
use forebay_base::{Span, Time};
use forebay_cc::{
    Ack, AckPolicy, AnyController, AnyFeedback, Congestion, Controller, Init, Limits, Timeout,
    Traits,
};

const SEGMENTS: u64 = 10;

/// A window of ten segments, and one or two more where the last sample says so: two ways of
/// sampling that differ do not send the same packets.
pub(super) struct SampleDriven {
    mss: u64,
    more: u64,
    /// A round trip takes 100 ms, and nothing is lost: what the samples have to be is known.
    clear: bool,
}

impl SampleDriven {
    pub(super) fn boxed(init: Init) -> AnyController {
        SampleDriven::with(init, false)
    }
    fn clear(init: Init) -> AnyController {
        SampleDriven::with(init, true)
    }
    fn with(init: Init, clear: bool) -> AnyController {
        let mss = init.mss_bytes.into();
        AnyController::Custom(Box::new(SampleDriven { mss, more: 0, clear }))
    }
}

impl Controller for SampleDriven {
    fn limits(&self) -> Limits {
        Limits::window((SEGMENTS + self.more) * self.mss)
    }
    fn on_ack(&mut self, _: Time, ack: &Ack<'_>) {
        let Some(sample) = ack.rate else {
            assert!(!self.clear || ack.delivered_bytes == 0);
            return;
        };
        if self.clear {
            // The first flight found nothing delivered; each later packet left when the one ten
            // before it was acknowledged.
            let delivered = ack.snd_una.min(SEGMENTS * self.mss);
            assert_eq!(
                (sample.delivered_bytes, sample.interval),
                (delivered, Span::from_millis(100))
            );
            assert_eq!(sample.prior_delivered_bytes, ack.snd_una - delivered);
            let sent_before = ack.snd_una.div_ceil(self.mss).min(SEGMENTS);
            assert_eq!(sample.tx_in_flight_bytes, sent_before * self.mss);
            assert_eq!((sample.lost_bytes, sample.app_limited), (0, false));
            return;
        }
        let seen = sample.delivered_bytes
            ^ sample.interval.as_nanos()
            ^ sample.prior_delivered_bytes
            ^ sample.tx_in_flight_bytes
            ^ sample.lost_bytes;
        self.more = seen % 3;
    }
    fn on_congestion(&mut self, _: Time, _: &Congestion) {}
    fn on_rto(&mut self, _: Time, _: &Timeout) {}
    fn traits(&self) -> Traits {
        Traits { edits_headers: false, ..Traits::default() }
    }
}

#[test]
fn a_full_window_is_delivered_every_round_trip() {
    let config = TcpConfig { ack_policy: AckPolicy::EveryPacket, ..config() };
    let plan = Plan {
        client_bytes: None,
        controller: SampleDriven::clear,
        feedback: || AnyFeedback::None,
        ..Plan::new(config, 0)
    };
    let mut pair = plan.start(|_| Delivery::Deliver);
    pair.run_ms(2_050);
    // Established after 100 ms: ten segments then, and after each round trip.
    assert_eq!(pair.counters().data_packets, 20 * SEGMENTS);
}
