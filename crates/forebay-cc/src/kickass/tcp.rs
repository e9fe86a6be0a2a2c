//! The TCP inside: what the flow is in TCP mode.

use super::params::TcpKind;
use crate::controller::{
    Ack, Congestion, Controller, Init, Limits, Recovered, RttView, Sent, SeriesSample, Tag, Timeout,
};
use crate::cubic::{self, Cubic};
use crate::newreno::{self, NewReno};
use forebay_base::{OptionList, Time};

#[derive(Clone, Debug)]
pub(super) enum Tcp {
    NewReno(NewReno),
    Cubic(Cubic),
}

macro_rules! each {
    ($any:expr, $tcp:ident => $call:expr) => {
        match $any {
            Tcp::NewReno($tcp) => $call,
            Tcp::Cubic($tcp) => $call,
        }
    };
}

impl Tcp {
    /// At the start of a connection.
    pub fn new(kind: TcpKind, init: &Init) -> Tcp {
        match kind {
            TcpKind::NewReno => {
                Tcp::NewReno(NewReno::new(&newreno::Params::default(), init.clone()))
            }
            TcpKind::Cubic => Tcp::Cubic(Cubic::new(&cubic::Params::default(), init.clone())),
        }
    }
    /// With this window and threshold, in bytes.
    pub fn with(kind: TcpKind, init: &Init, cwnd_bytes: u64, ssthresh_bytes: u64) -> Tcp {
        let (initial_window_bytes, initial_ssthresh_bytes) = (cwnd_bytes, ssthresh_bytes);
        let init = Init { initial_window_bytes, initial_ssthresh_bytes, ..init.clone() };
        Tcp::new(kind, &init)
    }

    pub fn limits(&self) -> Limits {
        each!(self, tcp => tcp.limits())
    }
    pub fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        each!(self, tcp => tcp.on_established(now, rtt, options))
    }
    pub fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        each!(self, tcp => tcp.on_sent(now, sent))
    }
    pub fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        each!(self, tcp => tcp.on_ack(now, ack))
    }
    pub fn on_congestion(&mut self, now: Time, event: &Congestion) {
        each!(self, tcp => tcp.on_congestion(now, event))
    }
    pub fn on_recovered(&mut self, now: Time, end: &Recovered) {
        each!(self, tcp => tcp.on_recovered(now, end))
    }
    pub fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        each!(self, tcp => tcp.on_rto(now, timeout))
    }
    pub fn on_spurious(&mut self, now: Time) {
        each!(self, tcp => tcp.on_spurious(now))
    }
    pub fn ssthresh_bytes(&self) -> Option<u64> {
        each!(self, tcp => tcp.ssthresh_bytes())
    }
    pub fn phase(&self) -> &'static str {
        each!(self, tcp => tcp.phase())
    }
    pub fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        each!(self, tcp => tcp.observe(visit))
    }
}
