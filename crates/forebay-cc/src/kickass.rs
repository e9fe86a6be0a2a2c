//! Kick-Ass end points: Flores, Wenzel and Kuzmanovic, "Enabling Router-Assisted Congestion Control
//! on the Internet", ICNP 2016 (doi:10.1109/ICNP.2016.7784442).
//!
//! Routers cut packets that may be cut; the length of the first fragment is a code for the rate
//! that they allow (`forebay-signal`). The receiver reads it, and reports it on its ACKs. The
//! sender is in one of two modes. R is the rate of the last report, in bit/s of IP packets, as the
//! guards let it through; SMSS the segment; times are round trips of the sender:
//!
//! 1. a SYN offers, a SYN-ACK takes. Without both: plain TCP, and DF as the connection has it. A
//!    retransmitted SYN offers nothing from some number on: some middleboxes drop options that they
//!    do not know;
//! 2. TCP mode, from the start: NewReno (or CUBIC). DF is clear on full-sized packets (section
//!    II-B). The first code leads to KA mode: one round trip after the first data;
//! 3. KA mode: `pacing_rate = R`, and as a backstop
//!    `cwnd = max(4, ceil(1.25 R srtt / P) + 2) SMSS`, P the length of a full-sized packet; with
//!    `loss_share`, `min(srtt, 2 least)` in place of `srtt`: the least round trip, which rises in
//!    KA mode by at most a sixteenth per round trip;
//! 4. silence: no code for more than a round trip, 50 ms and 4 packets, though at least 4 packets
//!    that might have been cut were acknowledged: TCP mode with `cwnd = ssthresh = R srtt`, until a
//!    code comes (section II-C2);
//! 5. loss, a timeout or an ECN echo: TCP mode, with the back-off of TCP. A code brings KA mode
//!    back only when TCP has come as far: `cwnd / srtt >= R` (section II-C3). Silence after that is
//!    as in 4;
//! 6. the lowest code, where both ends take it so: TCP mode as in 4, at once;
//! 7. once a code was seen, a full-sized packet is cut short and DF set every max(100 ms, 8
//!    packets): 600 to 611 bytes signal the RTT to routers (section II-B2);
//! 8. after a pause longer than max(1 s, 3 srtt), a flow begins anew.
//!
//! Rule 9, with `keep_window`: a router on trial signals a rate below that of TCP mode, and falls
//! back again. After a stay in KA mode of at most max(2 s, 16 srtt) the window W that TCP mode had
//! before it stands: in 4 `ssthresh = max(R srtt, W)`, to which slow start leads, and in 5 the
//! back-off is from W where less was in flight.
//!
//! After a deep fall of R the window of 3 lets nothing leave until most of what was sent before has
//! arrived.
//!
//! Rule 10, with `loss_share`: while codes come, losses leave KA mode as it is, up to that share,
//! ten packets at once. What is more refutes R: neither a pause nor a spurious loss brings it back.
//! Where a queue stands, however short, nothing is added, and a loss counts 2.5 times: the losses
//! are of a bottleneck that does not signal. R that was refuted is left alone in silence. After
//! recovery slow start leads TCP mode towards R, until a loss, silence or a queue that stands for a
//! round trip; after each such failure it waits, 10 s at first, then twice as long.
//!
//! Thinning: DF may be clear on a few packets of a round trip only, evenly spaced, and on all of
//! the first flight but one; on 2 in TCP mode once a code was seen, and on one of 8 packets, where
//! indicators are a second apart. What is sent again may not be cut. It saves fragments: a cut
//! costs 20 bytes, 58 on Ethernet, and a packet in two fragments is lost twice as often.
//!
//! Guards against codes that no router meant: each is a parameter.
//!
//! With IPv6, which has no DF, a Fragment header in the packet marks that it may be cut (an atomic
//! fragment, RFC 6946), and its absence that it may not: 8 bytes less of payload where DF would
//! be clear, and on indicators, whose tag is its identification. Retransmissions carry none.
//!
//! Differs from the paper in: reports are an option of pure ACKs, since a payload would become part
//! of the stream; 4 has a least number of packets and of milliseconds, so that flows that send
//! little stay in KA mode; a loss that turns out to be none is as silence; the lowest code is a
//! rate for routers that know no order. A rate in 5 counts IP packets as R does.
//!
//! It hurts where the network drops fragments (lost packets, then TCP), where ports after the
//! bottleneck signal and know no order, where many flows start within a round trip, and where hosts
//! lie. `forebay reproduce kickass/limits` and `kickass/web` compare the default with TCP by AQM,
//! buffer, loss, RTT, rate, MTU and number of flows, with long flows and with web pages.

mod guards;
mod marks;
mod params;
mod receiver;
mod tcp;
#[cfg(test)]
mod tests;

pub use params::{Params, Preset, RateSelection, TcpKind};
pub use receiver::KickAssReceiver;

use crate::controller::{
    Ack, Congestion, CongestionCause, Controller, HeaderEdits, Init, Limits, Loss, NextPacket,
    Recovered, RttView, Sent, SeriesSample, Tag, Timeout, Traits,
};
use alloc::boxed::Box;
use forebay_base::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, IpVersion, OptionList, Rate, Span, Time};
use forebay_signal::kickass::{Code, Indicator, Offer, Report};
use guards::{Agreement, Attempt, FragmentableLossGuard, LossCredit};
use marks::{Clearing, Indicators};
use params::Settings;
use tcp::Tcp;

/// Bytes of a TCP header without options.
const TCP_HEADER_BYTES: u64 = 20;
/// Round trip before the first sample.
const FIRST_RTT: Span = Span::from_millis(100);
/// Rule 4.
const SILENT_PACKETS: u64 = 4;
const SILENT_TIME: Span = Span::from_millis(50);
/// Packets of a round trip on which DF is clear in TCP mode, with thinning, once a code was seen.
const CLEAR_IN_TCP: u32 = 2;
/// The same while packets that may be cut do not arrive.
const CLEAR_IF_WARY: u32 = 1;
/// In TCP mode one of so many packets may be cut at the most: a small window would lose more often.
const PACKETS_PER_CLEAR_IN_TCP: u32 = 8;
/// Rule 8.
const STALE_TIME: Span = Span::from_secs(1);
const STALE_RTTS: u64 = 3;
/// Share by which the window exceeds what R needs, and segments on top (rule 3).
const WINDOW_SHARE: f64 = 1.25;
const WINDOW_SEGMENTS: u64 = 2;
const MIN_WINDOW_SEGMENTS: u64 = 4;
/// Rule 9: a stay in KA mode of at most this much was a trial.
const TRIAL_TIME: Span = Span::from_secs(2);
const TRIAL_RTTS: u64 = 16;

/// Why a flow is in TCP mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// No code came so far.
    None,
    /// Codes stay away, or say so.
    Signal,
    /// A loss.
    Loss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Tcp(Reason),
    Ka,
}

impl Mode {
    const NUMBERS: &'static str = "0 TCP, 1 TCP after silence, 2 TCP after loss, 3 KA";

    fn number(self) -> u8 {
        match self {
            Mode::Tcp(reason) => reason as u8,
            Mode::Ka => 3,
        }
    }
}

impl Settings {
    fn offer(&self) -> Offer {
        Offer {
            dither: self.take == RateSelection::Mean,
            explicit_tcp: self.explicit_tcp,
            thinning: self.clear_per_rtt > 0,
        }
    }
}

/// The sender of one path.
#[derive(Clone, Debug)]
pub struct KickAss {
    mode: Mode,
    tcp: Box<Tcp>,
    /// Window and rate of KA mode.
    limits: Limits,
    /// R; None: no report yet, or the last is too old.
    rate: Option<Rate>,
    srtt: Option<Span>,
    /// When the last code came, or the mode was left.
    heard_at: Time,
    /// A code came since the loss that led to TCP mode.
    heard: bool,
    /// Packets that may be cut: sent so far, up to the newest that arrived, and that at `heard_at`.
    clear_sent: u64,
    clear_arrived: u64,
    clear_heard: u64,
    /// Both ends speak Kick-Ass.
    agreed: bool,
    /// Both take the lowest code for "use TCP".
    explicit: bool,
    /// The packet that leaves next may be cut.
    next_is_clear: bool,
    cold: Box<Cold>,
}

/// What most packets do not touch.
#[derive(Clone, Debug)]
struct Cold {
    settings: Settings,
    init: Init,
    /// 40 with IPv6, once a packet has left.
    ip_header_bytes: u16,
    /// The last code.
    code: Option<Code>,
    /// SYNs that offered.
    offers: u32,
    clearing: Clearing,
    indicators: Indicators,
    agreement: Agreement,
    df: FragmentableLossGuard,
    losses: LossCredit,
    /// Rule 9: when KA mode began, and W in bytes.
    before: Option<(Time, u64)>,
}

impl KickAss {
    /// A sender at its start. The parameters must have passed [`Params::check`].
    pub fn new(params: &Params, init: Init) -> KickAss {
        let settings = params.settings();
        let tcp = Tcp::new(settings.tcp, &init);
        KickAss {
            mode: Mode::Tcp(Reason::None),
            limits: tcp.limits(),
            tcp: Box::new(tcp),
            rate: None,
            srtt: None,
            heard_at: Time::ZERO,
            heard: false,
            clear_sent: 0,
            clear_arrived: 0,
            clear_heard: 0,
            agreed: false,
            explicit: false,
            next_is_clear: false,
            cold: Box::new(Cold {
                settings,
                ip_header_bytes: IPV4_HEADER_BYTES,
                code: None,
                offers: 0,
                clearing: Clearing::new(settings.clear_per_rtt),
                indicators: Indicators::new(init.rng.clone()),
                agreement: Agreement::default(),
                df: FragmentableLossGuard::default(),
                losses: LossCredit::new(),
                before: None,
                init,
            }),
        }
    }

    fn mss_bytes(&self) -> u64 {
        self.cold.init.mss_bytes.into()
    }

    fn rtt(&self) -> Span {
        self.srtt.unwrap_or(FIRST_RTT)
    }
    /// P: length of a full-sized packet.
    fn packet_bytes(&self) -> u64 {
        self.mss_bytes() + TCP_HEADER_BYTES + u64::from(self.cold.ip_header_bytes)
    }
    /// Payload of what a round trip holds at `rate`.
    fn bdp_bytes(&self, rate: Rate) -> f64 {
        let packets = rate.bytes_in(self.rtt()) as f64 / self.packet_bytes() as f64;
        packets * self.mss_bytes() as f64
    }
    /// What the window of TCP mode is as a rate of IP packets, in bit/s.
    fn tcp_bps(&self) -> u64 {
        let packets = self.tcp.limits().cwnd_bytes as f64 / self.mss_bytes() as f64;
        let bits = 8.0 * packets * self.packet_bytes() as f64;
        (bits / self.rtt().as_secs_f64()) as u64
    }
    /// Rule 3.
    fn set_limits(&mut self) {
        let Some(rate) = self.rate else { return };
        let Cold { settings, losses, .. } = &*self.cold;
        let rtt = self.rtt();
        let rtt = if settings.loss_share > 0.0 { losses.without_queue(rtt) } else { rtt };
        let packets = rate.bytes_in(rtt) as f64 / self.packet_bytes() as f64;
        let segments = libm::ceil(WINDOW_SHARE * packets);
        let segments = (segments as u64 + WINDOW_SEGMENTS).max(MIN_WINDOW_SEGMENTS);
        let cwnd_bytes = (segments * self.mss_bytes()).min(Limits::MAX_CWND_BYTES);
        self.limits = Limits { pacing_rate: Some(rate), ..Limits::window(cwnd_bytes) };
    }

    /// Silence counts from here on.
    fn count_from(&mut self, now: Time) {
        (self.heard_at, self.clear_heard) = (now, self.clear_arrived);
    }
    /// Rule 4: codes stay away.
    fn is_silent(&self, now: Time) -> bool {
        let packets = self.clear_arrived - self.clear_heard;
        if packets < SILENT_PACKETS {
            return false;
        }
        let rtt = self.rtt();
        let gap = self.rate.map_or(Span::ZERO, |rate| rate.span_of(self.packet_bytes()));
        let gap = gap.max(self.cold.clearing.gap(rtt));
        let rtts = rtt.as_secs_f64() * self.cold.settings.silence_rtts;
        let least = Span::from_secs_f64(rtts).max(gap * SILENT_PACKETS).max(SILENT_TIME);
        now.since(self.heard_at) > least
    }

    fn enter_ka(&mut self, now: Time) {
        if self.mode != Mode::Ka && self.cold.settings.keep_window {
            self.cold.before = Some((now, self.tcp.limits().cwnd_bytes));
        }
        if self.mode != Mode::Ka {
            self.cold.losses.on_entry(now);
        }
        self.mode = Mode::Ka;
        self.set_limits();
    }
    /// Rule 9: W where KA mode was a trial, in bytes; 0: it was not.
    fn window_before(&mut self, now: Time) -> u64 {
        let trial = TRIAL_TIME.max(self.rtt() * TRIAL_RTTS);
        let before = self.cold.before.take().filter(|&(at, _)| now.since(at) <= trial);
        before.map_or(0, |(_, cwnd_bytes)| cwnd_bytes)
    }
    /// Rule 4: to TCP mode without a loss.
    fn leave_silently(&mut self, now: Time) {
        let least = 2 * self.mss_bytes();
        if let (Mode::Ka, Some(rate)) = (self.mode, self.rate) {
            let cwnd = (self.bdp_bytes(rate) as u64).clamp(least, Limits::MAX_CWND_BYTES);
            let ssthresh = self.window_before(now).max(cwnd);
            *self.tcp = Tcp::with(self.cold.settings.tcp, &self.cold.init, cwnd, ssthresh);
        }
        if self.cold.losses.fails(now) {
            self.set_ssthresh(self.tcp.limits().cwnd_bytes);
        }
        let refuted = self.mode == Mode::Tcp(Reason::Loss) && self.cold.losses.refuted;
        if self.mode != Mode::Tcp(Reason::None) && !refuted {
            self.mode = Mode::Tcp(Reason::Signal);
        }
        self.cold.agreement.forget();
    }
    /// Rule 5: a loss in KA mode. What the flow had in flight, or W, is the window that TCP backs
    /// off from: that window.
    fn leave_on_loss(&mut self, now: Time, flight_bytes: u64) -> u64 {
        let most = self.limits.cwnd_bytes;
        let cwnd = flight_bytes.clamp(self.mss_bytes(), most).max(self.window_before(now));
        let ssthresh = (cwnd / 2).max(2 * self.mss_bytes());
        *self.tcp = Tcp::with(self.cold.settings.tcp, &self.cold.init, cwnd, ssthresh);
        self.mode = Mode::Tcp(Reason::Loss);
        let Cold { settings, losses, .. } = &mut *self.cold;
        if settings.loss_share > 0.0 {
            losses.on_leave(now);
        }
        self.heard = false;
        self.cold.agreement.forget();
        cwnd
    }
    /// Rule 8.
    fn begin_anew(&mut self) {
        if self.mode == Mode::Ka {
            *self.tcp = Tcp::new(self.cold.settings.tcp, &self.cold.init);
        }
        self.mode = Mode::Tcp(if self.cold.losses.refuted { Reason::Loss } else { Reason::None });
        (self.rate, self.cold.before) = (None, None);
        self.cold.agreement.forget();
    }

    /// The packets that this ACK reports.
    fn note_arrival(&mut self, now: Time, ack: &Ack<'_>) {
        if let Some((tag, _)) = ack.newest {
            let (count, clear) = (tag.0 >> 1, tag.0 & 1 != 0);
            self.clear_arrived = self.clear_arrived.max(count);
            let blamed = self.cold.df.on_delivered(now, clear);
            if blamed && self.cold.settings.watch_df && self.mode != Mode::Ka {
                // None of what was lost was congestion.
                self.set_ssthresh(u64::MAX);
            }
        }
    }
    /// The report of an ACK, if it brings a code.
    fn report(&self, ack: &Ack<'_>) -> Option<(Code, Rate)> {
        let options = ack.options.filter(|_| self.agreed)?;
        let report = Report::find(options).filter(|report| report.signalled > 0)?;
        let last = report.last?;
        let rate = match self.cold.settings.take {
            RateSelection::Last => Some(last.rate()),
            RateSelection::Min => report.least.map(Code::rate),
            RateSelection::Mean => report.rate,
        };
        Some((last, rate.unwrap_or(last.rate())))
    }
    /// A code came.
    fn on_code(&mut self, now: Time, code: Code, told: Rate) {
        let (rtt, mode) = (self.rtt(), self.mode);
        self.cold.code = Some(code);
        self.count_from(now);
        self.heard = true;
        if self.explicit && code == Code::MIN {
            // A router that signals is in charge.
            self.cold.losses.refuted = false;
            return self.leave_silently(now);
        }
        let Cold { settings, agreement, .. } = &mut *self.cold;
        let current = self.rate.filter(|_| mode == Mode::Ka);
        let rate = if settings.agree { agreement.admit(now, told, current, rtt) } else { told };
        self.rate = Some(rate.min(settings.interface));
        if mode != Mode::Tcp(Reason::Loss) {
            self.enter_ka(now);
        }
    }
    /// Rule 5: losses that are no congestion, while the credit lasts.
    fn is_chance(&self, now: Time) -> bool {
        let Cold { settings, losses, .. } = &*self.cold;
        settings.loss_share > 0.0 && !losses.is_used_up() && !self.is_silent(now)
    }
    /// The credit for losses is used up in KA mode: R is refuted.
    fn refutes(&mut self, now: Time, ack: &Ack<'_>) -> bool {
        let Cold { settings, losses, .. } = &*self.cold;
        if settings.loss_share == 0.0 || !losses.is_used_up() {
            return false;
        }
        let flight_size_bytes = self.leave_on_loss(now, ack.in_flight_bytes);
        self.count_from(now);
        let cause = CongestionCause::Loss;
        self.tcp.on_congestion(now, &Congestion { cause, flight_size_bytes, cwnd_limited: true });
        true
    }
    /// After a loss, the recovery from it, and a code: R may be returned to.
    fn may_return(&self, ack: &Ack<'_>) -> bool {
        self.mode == Mode::Tcp(Reason::Loss) && self.heard && !ack.in_recovery
    }
    /// Rule 5, the return path.
    fn has_caught_up(&self, ack: &Ack<'_>) -> bool {
        self.may_return(ack) && self.rate.is_some_and(|rate| self.tcp_bps() >= rate.bps())
    }
    /// Rule 10: slow start leads towards R again.
    fn hasten(&mut self, now: Time, ack: &Ack<'_>) {
        if !self.may_return(ack) || self.cold.settings.loss_share == 0.0 {
            return;
        }
        match self.cold.losses.step(now) {
            Some(Attempt::Begins) => self.set_ssthresh(u64::MAX),
            Some(Attempt::Ends) => self.set_ssthresh(self.tcp.limits().cwnd_bytes),
            None => {}
        }
    }
    /// TCP mode goes on with its window, and in slow start up to this threshold.
    fn set_ssthresh(&mut self, ssthresh_bytes: u64) {
        let cwnd_bytes = self.tcp.limits().cwnd_bytes;
        let Cold { settings, init, .. } = &*self.cold;
        *self.tcp = Tcp::with(settings.tcp, init, cwnd_bytes, ssthresh_bytes);
    }

    /// What is written on a full-sized packet of data.
    fn stamp_data(&mut self, now: Time, next: &NextPacket) -> HeaderEdits {
        let rtt = self.rtt();
        let cold = &mut *self.cold;
        let thins = cold.settings.clear_per_rtt > 0;
        let rare = thins && self.mode != Mode::Ka;
        if cold.code.is_some()
            && !next.retransmission
            && let Some(srtt) = self.srtt
            && let Some(indicator) =
                cold.indicators.next(now, srtt, cold.settings.dither_indicators, rare)
        {
            let (src, dst) = (next.src.0, next.dst.0);
            let tag = indicator.tag(src, dst);
            let ip_id = match next.version {
                IpVersion::V4 => tag.into(),
                IpVersion::V6 => Indicator::tag_v6(tag),
            };
            let ip_id = cold.settings.tag_indicators.then_some(ip_id);
            let max_wire_len = Some(indicator.wire_len());
            return HeaderEdits { dont_fragment: Some(true), max_wire_len, ip_id, options: None };
        }
        let watched = cold.settings.watch_df;
        let wary = watched && cold.df.is_wary();
        if watched && cold.df.is_blocked(now) || wary && next.retransmission {
            return HeaderEdits::default();
        }
        // It was sent without, and would be 8 bytes too long. And what is lost again costs a
        // timeout.
        if (next.version == IpVersion::V6 || thins) && next.retransmission {
            return HeaderEdits::default();
        }
        let most = match self.mode {
            _ if wary => Some(CLEAR_IF_WARY),
            Mode::Tcp(_) if thins && cold.code.is_some() => Some(CLEAR_IN_TCP),
            _ => None,
        };
        let first_flight = self.clear_arrived == 0 && !wary;
        let sent = self.clear_sent;
        let clear = if first_flight {
            // One shows that packets of this length pass whole (`doubt_mtu`).
            !(thins && sent == 1 && cold.clearing.spares_one())
        } else {
            let spacing = if rare && cold.code.is_some() { PACKETS_PER_CLEAR_IN_TCP } else { 1 };
            cold.clearing.takes(now, rtt, most, spacing)
        };
        if !clear {
            return HeaderEdits::default();
        }
        self.next_is_clear = true;
        HeaderEdits { dont_fragment: Some(false), ..HeaderEdits::default() }
    }
}

impl Controller for KickAss {
    fn limits(&self) -> Limits {
        match self.mode {
            Mode::Ka => self.limits,
            Mode::Tcp(_) => self.tcp.limits(),
        }
    }
    fn traits(&self) -> Traits {
        Traits { wants_rate: false, ..Traits::default() }
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        self.srtt = rtt.srtt;
        let peer = options.and_then(Offer::find);
        self.agreed = peer.is_some();
        self.explicit =
            self.cold.settings.explicit_tcp && peer.is_some_and(|offer| offer.explicit_tcp);
        self.tcp.on_established(now, rtt, options);
    }

    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        let clear = core::mem::take(&mut self.next_is_clear);
        self.clear_sent += u64::from(clear);
        let tag = Tag(self.clear_sent << 1 | u64::from(clear));
        if self.mode != Mode::Ka {
            self.tcp.on_sent(now, sent);
        }
        let stale = STALE_TIME.max(self.rtt() * STALE_RTTS);
        // A timeout is no pause.
        let pause =
            sent.after_idle && !(sent.retransmission && self.cold.settings.loss_share > 0.0);
        if pause && self.rate.is_some() && now.since(self.heard_at) > stale {
            self.begin_anew();
        }
        tag
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        self.srtt = ack.rtt.srtt;
        if self.agreed {
            let gap = self.rate.map_or(Span::ZERO, |rate| rate.span_of(self.packet_bytes()));
            let delivered = ack.delivered_bytes as f64 / self.mss_bytes() as f64;
            let packets = self.cold.settings.loss_share * delivered;
            self.cold.losses.on_ack(now, ack, packets, gap, self.mode == Mode::Ka);
        }
        self.note_arrival(now, ack);
        let told = self.report(ack);
        if told.is_some() {
            _ = self.cold.df.on_delivered(now, true);
        }
        let waits = matches!(self.mode, Mode::Ka | Mode::Tcp(Reason::Loss));
        if let Some((code, rate)) = told {
            self.on_code(now, code, rate);
        } else if waits && self.is_silent(now) {
            self.leave_silently(now);
            self.count_from(now);
        }
        if self.mode == Mode::Ka && !self.refutes(now, ack) {
            return self.set_limits();
        }
        self.tcp.on_ack(now, ack);
        if self.has_caught_up(ack) {
            self.enter_ka(now);
        } else {
            self.hasten(now, ack);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        self.cold.df.on_lost(now, loss.tag.0 & 1 != 0);
        if self.mode == Mode::Ka {
            self.cold.losses.on_lost();
        }
    }

    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        let is_answer = self.cold.df.on_event() && self.cold.settings.watch_df;
        if is_answer && event.cause == CongestionCause::Loss {
            return;
        }
        let mut event = *event;
        if self.mode == Mode::Ka {
            if event.cause != CongestionCause::Ecn && self.is_chance(now) {
                return;
            }
            let window = self.leave_on_loss(now, event.flight_size_bytes);
            event.flight_size_bytes = event.flight_size_bytes.max(window);
            self.count_from(now);
        } else {
            _ = self.cold.losses.fails(now);
        }
        self.tcp.on_congestion(now, &event);
    }

    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        if self.mode != Mode::Ka {
            self.tcp.on_recovered(now, end);
        }
    }

    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        _ = self.cold.df.on_event();
        let mut timeout = *timeout;
        if self.mode == Mode::Ka {
            let window = self.leave_on_loss(now, timeout.flight_size_bytes);
            timeout.flight_size_bytes = timeout.flight_size_bytes.max(window);
            self.count_from(now);
        } else {
            _ = self.cold.losses.fails(now);
        }
        self.tcp.on_rto(now, &timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        if self.mode != Mode::Ka {
            self.tcp.on_spurious(now);
        }
        if self.mode == Mode::Tcp(Reason::Loss) && !self.cold.losses.refuted {
            self.mode = Mode::Tcp(Reason::Signal);
        }
    }

    /// Rules 1, 2 and 7.
    fn edit_header(&mut self, now: Time, next: &NextPacket) -> HeaderEdits {
        self.next_is_clear = false;
        if next.syn {
            if next.version == IpVersion::V6 {
                self.cold.ip_header_bytes = IPV6_HEADER_BYTES;
            }
            if next.reply || self.cold.offers >= self.cold.settings.offers {
                return HeaderEdits::default();
            }
            self.cold.offers += 1;
            let mut options = OptionList::EMPTY;
            self.cold.settings.offer().push(&mut options).expect("6 bytes fit into 40");
            return HeaderEdits { options: Some(options), ..HeaderEdits::default() };
        }
        if !self.agreed || u64::from(next.payload_bytes) < self.mss_bytes() {
            return HeaderEdits::default();
        }
        self.stamp_data(now, next)
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        match (self.mode, self.rate) {
            (Mode::Ka, Some(rate)) => Some(self.bdp_bytes(rate) as u64),
            _ => self.tcp.ssthresh_bytes(),
        }
    }

    fn phase(&self) -> &'static str {
        if self.mode == Mode::Ka { "ka" } else { self.tcp.phase() }
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let mut show = |name, unit, value| visit(SeriesSample { name, unit, value });
        show("mode", Mode::NUMBERS, self.mode.number().into());
        if let Some(code) = self.cold.code {
            show("code", "", code.byte().into());
            show("code_rate", "bit/s", code.rate().bps() as f64);
        }
        if let Some(rate) = self.rate {
            show("rate", "bit/s", rate.bps() as f64);
        }
        self.tcp.observe(visit);
    }
}
