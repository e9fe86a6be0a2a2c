//! AIMD from outside: `cargo run --release --example aimd -- run dumbbell --protocol aimd,cubic`
use forebay_base::Time;
use forebay_cc::{
    Ack, Congestion, Controller, Init, Limits, ParamError, SeriesSample, Timeout, require,
};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    add_segments: f64,
    keep: f64,
}
impl Default for Params {
    fn default() -> Params {
        Params { add_segments: 1.0, keep: 0.5 }
    }
}
fn check(params: &Params) -> Result<(), ParamError> {
    require(params.keep > 0.0 && params.keep < 1.0, "keep", "above 0, below 1")
}
struct Aimd {
    cwnd: f64,
    ssthresh: f64,
    mss: f64,
    add: f64,
    keep: f64,
}

impl Controller for Aimd {
    fn limits(&self) -> Limits {
        Limits::window(self.cwnd as u64)
    }
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        let a = if self.cwnd < self.ssthresh { 1.0 } else { self.add / self.cwnd };
        self.cwnd += if ack.in_recovery { 0.0 } else { a * ack.acked_bytes as f64 };
    }
    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {
        self.cwnd = (self.cwnd * self.keep).max(2.0 * self.mss);
        self.ssthresh = self.cwnd;
    }
    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {
        (self.ssthresh, self.cwnd) = ((self.cwnd * self.keep).max(2.0 * self.mss), self.mss);
    }
    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let value = self.add * self.mss / self.cwnd.max(1.0);
        visit(SeriesSample { name: "added_per_packet", unit: "B", value });
    }
}

fn main() -> ExitCode {
    let aimd = forebay_cli::Registration::new("aimd", |params: &Params, init: Init| {
        let mss = f64::from(init.mss_bytes);
        let (cwnd, add) = (init.initial_window_bytes as f64, params.add_segments * mss);
        Aimd { cwnd, ssthresh: f64::INFINITY, mss, add, keep: params.keep }
    });
    let aimd = aimd.title("AIMD").summary("Adds segments, keeps a share.").check(check);
    forebay_cli::main_with(|registry| registry.register(aimd))
}
