//! AIMD(a, b): add `a` segments a round trip, keep the share `b` on congestion.
//!
//! Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in
//! computer networks", 1989 (doi:10.1016/0169-7552(89)90019-6). W is the window in bytes, SMSS the
//! segment:
//!
//! 1. increase: `W += a SMSS` each time that W bytes are acknowledged, that is once a round trip;
//! 2. decrease: `W = max(b W, 2 SMSS)` on congestion.
//!
//! Differs from the paper in: slow start (RFC 5681 eq. 2) leads to the first congestion; a timeout
//! falls back to one segment; the paper's users know of congestion from one bit, here a loss or an
//! ECN echo is that bit.

use forebay_base::Time;
use forebay_cc::{
    Ack, Congestion, Controller, Init, Limits, ParamError, Recovered, Timeout, Traits, require,
};
use serde::{Deserialize, Serialize};

/// Parameters of AIMD(a, b).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// `a`: segments added in a round trip, above 0 and at most 64. TCP: 1.
    pub add_segments: f64,
    /// `b`: share of the window that is left after congestion, above 0 and below 1. TCP: 0.5.
    pub keep: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { add_segments: 1.0, keep: 0.5 }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let add = self.add_segments > 0.0 && self.add_segments <= 64.0;
        require(add, "add_segments", "above 0, at most 64")?;
        require(self.keep > 0.0 && self.keep < 1.0, "keep", "above 0, below 1")
    }
}

/// The window of one path.
#[derive(Clone, Debug)]
pub struct Aimd {
    cwnd_bytes: u64,
    ssthresh_bytes: u64,
    /// Bytes acknowledged towards the next increase.
    acked_bytes: u64,
    mss_bytes: u64,
    add_bytes: u64,
    keep: f64,
}

impl Aimd {
    /// A window at its start.
    pub fn new(params: &Params, init: Init) -> Aimd {
        let mss_bytes = u64::from(init.mss_bytes);
        Aimd {
            cwnd_bytes: init.initial_window_bytes.max(mss_bytes),
            ssthresh_bytes: init.initial_ssthresh_bytes,
            acked_bytes: 0,
            mss_bytes,
            add_bytes: (params.add_segments * mss_bytes as f64) as u64,
            keep: params.keep,
        }
    }

    /// Equation 2.
    fn decreased(&self) -> u64 {
        ((self.keep * self.cwnd_bytes as f64) as u64).max(2 * self.mss_bytes)
    }
}

impl Controller for Aimd {
    fn limits(&self) -> Limits {
        Limits::window(self.cwnd_bytes)
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        if !ack.cwnd_limited || ack.in_recovery || ack.ecn_echo {
            return;
        }
        if self.cwnd_bytes < self.ssthresh_bytes {
            self.cwnd_bytes += ack.acked_bytes.min(self.mss_bytes);
        } else {
            self.acked_bytes += ack.acked_bytes;
            if self.acked_bytes >= self.cwnd_bytes {
                self.acked_bytes -= self.cwnd_bytes;
                self.cwnd_bytes += self.add_bytes; // equation 1
            }
        }
        self.cwnd_bytes = self.cwnd_bytes.min(Limits::MAX_CWND_BYTES);
    }

    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {
        // A window below two segments, after a timeout, is not raised.
        self.ssthresh_bytes = self.decreased();
        self.cwnd_bytes = self.cwnd_bytes.min(self.ssthresh_bytes);
        self.acked_bytes = 0;
    }

    fn on_recovered(&mut self, _now: Time, end: &Recovered) {
        if let Some(cap_bytes) = end.cwnd_cap_bytes {
            self.cwnd_bytes = self.cwnd_bytes.min(cap_bytes).max(self.mss_bytes);
        }
    }

    fn on_rto(&mut self, _now: Time, timeout: &Timeout) {
        if timeout.first {
            self.ssthresh_bytes = self.decreased();
        }
        self.cwnd_bytes = self.mss_bytes;
        self.acked_bytes = 0;
    }

    fn traits(&self) -> Traits {
        Traits {
            wants_rate: false,            // no delivery rate samples
            edits_headers: false,         // no options on packets
            limits_change_on_send: false, // on_sent changes nothing
            ..Traits::default()
        }
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        (self.ssthresh_bytes != u64::MAX).then_some(self.ssthresh_bytes)
    }

    fn phase(&self) -> &'static str {
        if self.cwnd_bytes < self.ssthresh_bytes { "slow-start" } else { "additive" }
    }
}
