//! The model of the path: rounds, bandwidth, round-trip time, aggregation.

use super::filters::{Rounds, WindowedMax, bandwidth, bytes_in, scaled};
use super::{AckSample, Delivery, Machine, MinRttFilters, State};
use crate::controller::RateSample;
use forebay_base::{Span, Time};

/// Cycles of ProbeBW over which max_bw is the maximum (MaxBwFilterLen).
const MAX_BW_CYCLES: usize = 2;
/// Rounds over which extra_acked is the maximum (ExtraAckedFilterLen); before the pipe was full, 1.
const EXTRA_ACKED_ROUNDS: usize = 10;

/// Bandwidth and round-trip time.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) rounds: Rounds,
    max_bw: WindowedMax<MAX_BW_CYCLES>,
    /// The rate in force, in bit/s: max_bw, bounded by the short-term model.
    bw: u64,
    /// Over `min_rtt_filter_s`: sets the BDP.
    min_rtt: MinRtt,
    /// Over `probe_rtt_interval_s`: schedules ProbeRTT (probe_rtt_min_delay).
    probe_rtt_min: MinRtt,
    /// ProbeRTT is due (probe_rtt_expired).
    pub(super) probe_rtt_due: bool,
}

/// The smallest round-trip time, and when it was measured.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    /// None before the first sample.
    rtt: Option<Span>,
    stamp: Time,
}

impl MinRtt {
    const NONE: MinRtt = MinRtt { rtt: None, stamp: Time::ZERO };

    /// It is older than the window of its filter.
    fn is_older_than(&self, now: Time, window: Span) -> bool {
        now > self.stamp + window
    }
    fn is_above(&self, rtt: Span) -> bool {
        self.rtt.is_none_or(|min| rtt < min)
    }
    /// An ACK with or without a sample. True if the estimate had expired: then any sample is new.
    fn update(&mut self, now: Time, rtt: Option<Span>, window: Span) -> bool {
        let expired = self.is_older_than(now, window);
        if let Some(rtt) = rtt.filter(|&rtt| expired || self.is_above(rtt)) {
            *self = MinRtt { rtt: Some(rtt), stamp: now };
        }
        expired
    }
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            rounds: Rounds::default(),
            max_bw: WindowedMax::new(),
            bw: 0,
            min_rtt: MinRtt::NONE,
            probe_rtt_min: MinRtt::NONE,
            probe_rtt_due: false,
        }
    }
    /// In bit/s.
    pub(super) fn max_bw(&self) -> u64 {
        self.max_bw.max()
    }
    /// In bit/s.
    pub(super) fn bw(&self) -> u64 {
        self.bw
    }
    pub(super) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.rtt
    }
    /// The handshake's sample.
    pub(super) fn begin_min_rtt(&mut self, now: Time, rtt: Span) {
        self.min_rtt = MinRtt { rtt: Some(rtt), stamp: now };
        self.probe_rtt_min = self.min_rtt;
    }
    /// The next ProbeRTT is an interval away.
    pub(super) fn put_off_probe_rtt(&mut self, now: Time, filters: MinRttFilters) {
        match filters {
            MinRttFilters::Two => self.probe_rtt_min.stamp = now,
            MinRttFilters::One => self.min_rtt.stamp = now,
        }
    }
    /// Equation 2: bytes that `bw` bit/s keep in flight. None before the first RTT.
    pub(super) fn volume(&self, bw: u64) -> Option<u64> {
        self.min_rtt().map(|rtt| bytes_in(bw, rtt))
    }
    /// A cycle of ProbeBW is over.
    pub(super) fn advance_max_bw(&mut self) {
        self.max_bw.advance();
    }
}

/// "BBR.extra_acked".
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    since: Time,
    delivered: u64,
    extra: WindowedMax<EXTRA_ACKED_ROUNDS>,
}

impl Aggregation {
    pub(super) fn new() -> Aggregation {
        Aggregation { since: Time::ZERO, delivered: 0, extra: WindowedMax::new() }
    }
    /// Delivered bytes are counted from `now` on.
    pub(super) fn restart(&mut self, now: Time) {
        self.since = now;
    }
}

impl Machine {
    /// What a rate sample says.
    pub(super) fn delivery(&self, sample: &RateSample) -> Delivery {
        Delivery {
            bw: bandwidth(sample),
            delivered: sample.delivered_bytes,
            prior_delivered: sample.prior_delivered_bytes,
            tx_in_flight: sample.tx_in_flight_bytes,
            lost: sample.lost_bytes,
            app_limited: sample.app_limited
                || self.probe_rtt.held_back.holds(sample.prior_delivered_bytes),
        }
    }

    /// "Updating the BBR.max_bw Max Filter": equation 1.
    pub(super) fn update_max_bw(&mut self, news: &AckSample) {
        let Some(sample) = &news.delivery else { return self.model.rounds.no_sample() };
        let model = &mut self.model;
        model.rounds.on_sample(sample.prior_delivered, self.delivered);
        if model.rounds.start {
            self.cycle.rounds_since_probe += 1;
        }
        if sample.bw >= model.max_bw() || !sample.app_limited {
            model.max_bw.add(sample.bw);
        }
    }

    /// Equations 1 and 10.
    pub(super) fn update_min_rtt(&mut self, news: &AckSample) {
        let filter = Span::from_secs_f64(self.params.min_rtt_filter_s);
        match self.params.min_rtt_filters {
            MinRttFilters::Two => self.update_two_filters(news, filter),
            MinRttFilters::One => self.update_one_filter(news, filter),
        }
    }
    fn update_two_filters(&mut self, news: &AckSample, filter: Span) {
        let interval = Span::from_secs_f64(self.params.probe_rtt_interval_s);
        let model = &mut self.model;
        model.probe_rtt_due = model.probe_rtt_min.update(news.now, news.rtt, interval);
        let expired = model.min_rtt.is_older_than(news.now, filter);
        let least = model.probe_rtt_min.rtt;
        if least.is_some_and(|rtt| expired || model.min_rtt.is_above(rtt)) {
            model.min_rtt = model.probe_rtt_min;
        }
    }
    /// ProbeRTT takes its window from the estimate that is about to be replaced.
    fn update_one_filter(&mut self, news: &AckSample, filter: Span) {
        if self.model.min_rtt.is_older_than(news.now, filter) && self.state != State::ProbeRtt {
            self.save_probe_rtt_cwnd();
        }
        let model = &mut self.model;
        model.probe_rtt_due = model.min_rtt.update(news.now, news.rtt, filter);
    }

    /// Equation 2.
    pub(super) fn bound_bw(&mut self) {
        self.model.bw = self.model.max_bw().min(self.signals.bw_shortterm);
    }
    /// Equation 2: `gain` bandwidth-delay products.
    pub(super) fn bdp_multiple(&self, gain: f64) -> u64 {
        match self.model.volume(self.model.bw) {
            Some(bdp) => scaled(gain, bdp),
            None => self.initial_window,
        }
    }
    /// What is to be in flight: the BDP, unless congestion has cut cwnd.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp_multiple(1.0).min(self.cwnd)
    }

    /// "BBR.extra_acked": bytes delivered beyond what bw explains.
    pub(super) fn update_aggregation(&mut self, news: &AckSample) {
        let a = &mut self.aggregation;
        let mut expected = bytes_in(self.model.bw, news.now.since(a.since));
        if a.delivered <= expected {
            (a.delivered, a.since, expected) = (0, news.now, 0);
        }
        a.delivered += news.newly_acked;
        let extra = (a.delivered - expected).min(self.cwnd);
        a.extra.advance_to(self.model.rounds.count);
        a.extra.add(extra);
    }
    /// In bytes.
    pub(super) fn extra_acked(&self) -> u64 {
        let extra = &self.aggregation.extra;
        if self.full_pipe.reached { extra.max() } else { extra.latest() }
    }
}
