//! Slow start and its early end: standard (RFC 5681), HyStart++ (RFC 9406, doi:10.17487/RFC9406),
//! and the classic HyStart of Ha and Rhee (doi:10.1016/j.comnet.2011.01.014) as Linux runs it. A
//! part that any window controller can hold.
//!
//! N: bytes that an ACK newly acknowledges; min(r): smallest RTT sample of round r; a round ends
//! when SND.NXT of its start is acknowledged. HyStart++ (RFC 9406 section 4.2, constants of section
//! 4.3):
//!
//! 1. slow start: `cwnd += min(N, L SMSS)` with L = 8, no limit if paced;
//! 2. after 8 samples in the round, with `thresh = max(4 ms, min(min(r-1) / 8, 16 ms))`:
//!    if `min(r) >= min(r-1) + thresh`, Conservative Slow Start (CSS) begins with
//!    `baseline = min(r)`;
//! 3. CSS: `cwnd += min(N, L SMSS) / 4`;
//! 4. CSS, after 8 samples: `min(r) < baseline` was a false alarm: back to 1;
//! 5. after 5 rounds of CSS, the first perhaps a partial one, `ssthresh = cwnd`.
//!
//! Classic HyStart from 16 segments on, dmin the connection's smallest RTT, either condition sets
//! `ssthresh = cwnd`:
//!
//! 6. train: ACKs at most 2 ms apart since the round began, for more than `(dmin + 1 ms) / 2`, or
//!    `dmin + 1 ms` if paced;
//! 7. delay: after 8 samples in the round, `min(r) > dmin + clamp(dmin / 8, 4 ms, 16 ms)`.
//!
//! Differs from the RFC / Linux in: Linux's cushion of 1 ms in 6 shrinks with the time that four
//! offloaded bursts take, which matters above 1 Gbit/s, and is constant here. As in Linux, classic
//! HyStart searches until it has found an end, and anew after a timeout; HyStart++ only in the
//! first slow start, as RFC 9406 section 4.3 recommends.

use crate::controller::Ack;
use forebay_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Samples that a round needs before its minimum is trusted (RFC 9406 N_RTT_SAMPLE; Linux
/// HYSTART_MIN_SAMPLES).
const MIN_SAMPLES: u32 = 8;
/// RFC 9406 MIN_RTT_THRESH and MAX_RTT_THRESH; Linux HYSTART_DELAY_MIN and _MAX.
const THRESH: (Span, Span) = (Span::from_millis(4), Span::from_millis(16));
/// RFC 9406 MIN_RTT_DIVISOR; Linux shifts by 3.
const RTT_DIVISOR: u64 = 8;
/// RFC 9406 CSS_GROWTH_DIVISOR.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// RFC 9406 CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;
/// RFC 9406 L where packets are not paced, in segments.
const UNPACED_L: u64 = 8;
/// Linux hystart_low_window, in segments.
const LOW_WINDOW: u64 = 16;
/// Linux hystart_ack_delta_us.
const TRAIN_GAP: Span = Span::from_millis(2);
/// Linux hystart_ack_delay: what bursts may add.
const TRAIN_CUSHION: Span = Span::from_millis(1);

/// How the first slow start ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SlowStartKind {
    /// With the first loss or mark, or at the initial ssthresh (RFC 5681).
    #[serde(rename = "standard")]
    Standard,
    /// When the RTT grows from one round to the next, after a trial (RFC 9406).
    #[default]
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
    /// When the RTT or the length of ACK trains grows, at once (Linux).
    #[serde(rename = "hystart")]
    Hystart,
}

/// What one ACK does in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes to add to cwnd, if the window was the limit.
    pub growth_bytes: u64,
    /// Slow start ends with this ACK: `ssthresh = cwnd`, after the growth.
    pub exit: bool,
}

/// Slow start of one path.
#[derive(Clone, Debug)]
pub struct SlowStart {
    kind: SlowStartKind,
    paced: bool,
    mss_bytes: u64,
    /// Most bytes that one ACK may add: L SMSS.
    cap_bytes: u64,
    /// Stream offset that ends the round; None before the first ACK.
    window_end: Option<u64>,
    round_start: Time,
    last_train_ack: Time,
    samples: u32,
    /// Smallest samples of this round and of the one before.
    round_min: Option<Span>,
    last_round_min: Option<Span>,
    css: Option<Conservative>,
    /// Classic HyStart has found an end.
    found: bool,
}

/// Conservative Slow Start.
#[derive(Clone, Debug)]
struct Conservative {
    baseline: Span,
    rounds: u32,
}

impl SlowStart {
    /// The slow start of a new path. `abc_l`: segments that one ACK may add in standard slow start,
    /// at least 1.
    pub fn new(kind: SlowStartKind, abc_l: u32, mss_bytes: u32, paced: bool) -> SlowStart {
        let mss = u64::from(mss_bytes);
        let cap_bytes = match kind {
            SlowStartKind::Standard => mss * u64::from(abc_l),
            SlowStartKind::HystartPlusPlus if !paced => mss * UNPACED_L,
            SlowStartKind::HystartPlusPlus | SlowStartKind::Hystart => u64::MAX,
        };
        SlowStart {
            kind,
            paced,
            mss_bytes: mss,
            cap_bytes,
            window_end: None,
            round_start: Time::ZERO,
            last_train_ack: Time::ZERO,
            samples: 0,
            round_min: None,
            last_round_min: None,
            css: None,
            found: false,
        }
    }

    /// A loss or a mark ended slow start, or it ended by itself: later ones are standard. Classic
    /// HyStart searches on, unless it has found an end (Linux, `found` of hystart_update).
    pub fn after_congestion(&mut self, abc_l: u32) {
        if self.kind != SlowStartKind::Hystart {
            self.become_standard(abc_l);
        }
    }

    /// A timeout begins a new slow start: a standard one. Classic HyStart searches anew (Linux,
    /// cubictcp_state).
    pub fn after_timeout(&mut self, abc_l: u32) {
        if self.kind == SlowStartKind::Hystart {
            (self.found, self.window_end) = (false, None);
        } else {
            self.become_standard(abc_l);
        }
    }

    fn become_standard(&mut self, abc_l: u32) {
        let mss_bytes = u32::try_from(self.mss_bytes).expect("came from u32");
        *self = SlowStart::new(SlowStartKind::Standard, abc_l, mss_bytes, self.paced);
    }

    /// An ACK came while `cwnd < ssthresh`.
    pub fn on_ack(&mut self, now: Time, ack: &Ack<'_>, cwnd_bytes: u64) -> Step {
        let step_bytes = ack.acked_bytes.min(self.cap_bytes);
        match self.kind {
            SlowStartKind::Standard => Step { growth_bytes: step_bytes, exit: false },
            SlowStartKind::HystartPlusPlus => self.on_ack_plus_plus(ack, step_bytes),
            SlowStartKind::Hystart => {
                let exit = !self.found && self.on_ack_classic(now, ack, cwnd_bytes);
                self.found |= exit;
                // Linux ends slow start before it grows: the rest of the ACK belongs to congestion
                // avoidance.
                Step { growth_bytes: if exit { 0 } else { step_bytes }, exit }
            }
        }
    }

    /// Name of the phase: "css" or "slow-start".
    pub fn phase(&self) -> &'static str {
        if self.css.is_some() { "css" } else { "slow-start" }
    }

    fn sample(&mut self, rtt: Span) {
        self.samples = self.samples.saturating_add(1);
        self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
    }

    fn start_round(&mut self, now: Time, snd_nxt: u64) {
        self.window_end = Some(snd_nxt);
        self.round_start = now;
        self.last_train_ack = now;
        self.last_round_min = self.round_min.take();
        self.samples = 0;
    }

    /// Equations 1 to 5.
    fn on_ack_plus_plus(&mut self, ack: &Ack<'_>, step_bytes: u64) -> Step {
        let in_css = self.css.is_some();
        let growth_bytes = if in_css { step_bytes / CSS_GROWTH_DIVISOR } else { step_bytes };
        let window_end = *self.window_end.get_or_insert(ack.snd_nxt);
        if let Some(rtt) = ack.rtt_sample {
            self.sample(rtt);
        }
        if self.samples >= MIN_SAMPLES {
            self.judge_round();
        }
        let mut exit = false;
        if ack.snd_una >= window_end {
            self.start_round(Time::ZERO, ack.snd_nxt);
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                exit = css.rounds >= CSS_ROUNDS;
            }
        }
        Step { growth_bytes, exit }
    }

    /// Equations 2 and 4: into CSS and out of it again.
    fn judge_round(&mut self) {
        let Some(round_min) = self.round_min else { return };
        match (&self.css, self.last_round_min) {
            (Some(css), _) if round_min < css.baseline => self.css = None,
            (None, Some(last)) if round_min >= last + thresh(last) => {
                self.css = Some(Conservative { baseline: round_min, rounds: 0 });
            }
            _ => {}
        }
    }

    /// Equations 6 and 7: true if slow start is to end.
    fn on_ack_classic(&mut self, now: Time, ack: &Ack<'_>, cwnd_bytes: u64) -> bool {
        let Some(rtt) = ack.rtt_sample else { return false };
        if self.window_end.is_none_or(|end| ack.snd_una > end) {
            self.start_round(now, ack.snd_nxt);
        }
        if cwnd_bytes < LOW_WINDOW * self.mss_bytes {
            return false;
        }
        let least = ack.rtt.min.min(rtt);
        let mut train_is_long = false;
        if now.since(self.last_train_ack) <= TRAIN_GAP {
            self.last_train_ack = now;
            let whole = least + TRAIN_CUSHION;
            let limit = if self.paced { whole } else { whole / 2 };
            train_is_long = now.since(self.round_start) > limit;
        }
        // Linux looks at the minimum from the ninth sample on, the eight before only fill it.
        let full = self.samples >= MIN_SAMPLES;
        self.sample(rtt);
        let delay_grew = full && self.round_min.is_some_and(|min| min > least + thresh(least));
        train_is_long || delay_grew
    }
}

/// RTT growth that counts: an eighth of `base`, within 4 to 16 ms.
fn thresh(base: Span) -> Span {
    (base / RTT_DIVISOR).clamp(THRESH.0, THRESH.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{MSS, ack, ms};

    /// A sender that is never short of data, and its ACKs of one segment each.
    struct Rounds {
        machine: SlowStart,
        cwnd_bytes: u64,
        una: u64,
        nxt: u64,
        /// SND.NXT when the round began.
        round_end: u64,
        exit: bool,
    }

    impl Rounds {
        fn new(kind: SlowStartKind, segments: u64, paced: bool) -> Rounds {
            let machine = SlowStart::new(kind, 1, MSS as u32, paced);
            let window = segments * MSS;
            Rounds {
                machine,
                cwnd_bytes: window,
                una: 0,
                nxt: window,
                round_end: window,
                exit: false,
            }
        }
        fn one(&mut self, bytes: u64, rtt: Option<Span>) {
            self.una += bytes;
            let mut ack = ack(bytes);
            (ack.snd_una, ack.snd_nxt, ack.rtt_sample) = (self.una, self.nxt, rtt);
            let step = self.machine.on_ack(Time::ZERO, &ack, self.cwnd_bytes);
            self.cwnd_bytes += step.growth_bytes;
            self.nxt = self.una + self.cwnd_bytes;
            self.exit |= step.exit;
        }
        /// Acknowledge everything that was out when the round began. What the last of these ACKs
        /// releases is sent after the next round has begun, so a round has one window less one
        /// ACK's worth of segments.
        fn round(&mut self, rtt: Span) {
            let end = self.round_end;
            while self.una < end {
                self.round_end = self.nxt;
                self.one(MSS.min(end - self.una), Some(rtt));
            }
        }
    }

    #[test]
    fn css_begins_at_the_threshold_of_the_rfc_and_not_a_nanosecond_before() {
        for (last_ms, enter_us) in [(20, 24_000), (100, 112_500), (200, 216_000)] {
            let enter = Span::from_micros(enter_us);
            for (rtt, expected) in
                [(enter, "css"), (enter.saturating_sub(Span::from_nanos(1)), "slow-start")]
            {
                let mut rounds = Rounds::new(SlowStartKind::HystartPlusPlus, 10, false);
                rounds.round(ms(last_ms));
                (0..7).for_each(|_| rounds.one(MSS, Some(rtt)));
                assert_eq!(rounds.machine.phase(), "slow-start", "seven samples are too few");
                rounds.one(MSS, Some(rtt));
                assert_eq!(rounds.machine.phase(), expected, "{last_ms} ms then {rtt}");
            }
        }
    }

    #[test]
    fn css_grows_by_a_quarter_per_round_and_ends_after_five() {
        // Hundredfold, so that the segment or two that a round lacks do not show.
        let mut rounds = Rounds::new(SlowStartKind::HystartPlusPlus, 5_000, false);
        rounds.round(ms(100));
        assert_eq!(rounds.cwnd_bytes, 10_000 * MSS);
        // Samples without bytes: CSS begins with the round, so that five whole rounds follow.
        (0..8).for_each(|_| rounds.one(0, Some(ms(150))));
        assert_eq!(rounds.machine.phase(), "css");
        for (round, expected) in [125.0, 156.25, 195.3, 244.1, 305.2].into_iter().enumerate() {
            assert!(!rounds.exit, "before round {round}");
            rounds.round(ms(150));
            let hundreds = rounds.cwnd_bytes as f64 / (100 * MSS) as f64;
            assert!((hundreds - expected).abs() < 0.1, "round {round}: {hundreds}");
        }
        assert!(rounds.exit);
    }

    /// RFC 9406 section 4.2: "If the transition into CSS happens in the middle of a round, that
    /// partial round counts towards the limit." (quiche counts from the next round on.)
    #[test]
    fn a_partial_round_counts_as_one_of_five() {
        let mut rounds = Rounds::new(SlowStartKind::HystartPlusPlus, 50, false);
        rounds.round(ms(100));
        rounds.round(ms(150));
        assert_eq!(rounds.machine.phase(), "css");
        // 98 ACKs, 8 of them at slow start's pace, 90 at that of CSS: 100 + 8 + 90 / 4 segments.
        assert_eq!(rounds.cwnd_bytes, 130 * MSS + MSS / 2);
        (0..3).for_each(|_| rounds.round(ms(150)));
        assert!(!rounds.exit);
        rounds.round(ms(150));
        assert!(rounds.exit);
    }

    #[test]
    fn a_false_alarm_resumes_slow_start() {
        let mut rounds = Rounds::new(SlowStartKind::HystartPlusPlus, 50, false);
        rounds.round(ms(100));
        rounds.round(ms(150));
        assert_eq!(rounds.machine.phase(), "css");
        (0..7).for_each(|_| rounds.one(MSS, Some(ms(149))));
        assert_eq!(rounds.machine.phase(), "css", "seven samples are too few");
        rounds.one(MSS, Some(ms(149)));
        assert_eq!(rounds.machine.phase(), "slow-start");
        let before = rounds.cwnd_bytes;
        rounds.one(MSS, Some(ms(149)));
        assert_eq!(rounds.cwnd_bytes - before, MSS);
    }

    #[test]
    fn one_ack_adds_at_most_eight_segments_unless_paced() {
        for (paced, added) in [(false, 8), (true, 20)] {
            let mut rounds = Rounds::new(SlowStartKind::HystartPlusPlus, 50, paced);
            rounds.one(20 * MSS, None);
            assert_eq!(rounds.cwnd_bytes, (50 + added) * MSS);
        }
        let mut rounds = Rounds::new(SlowStartKind::Standard, 50, false);
        rounds.one(20 * MSS, None);
        assert_eq!(rounds.cwnd_bytes, 51 * MSS);
    }

    /// A window of `segments`, acknowledged one by one, `gap` apart.
    struct Train {
        segments: u64,
        gap: Span,
        min: Span,
        rtt: Span,
        paced: bool,
        /// SND.NXT at every ACK, in segments.
        nxt: u64,
    }

    impl Train {
        const PLAIN: Train = Train {
            segments: 100,
            gap: ms(1),
            min: ms(100),
            rtt: ms(100),
            paced: false,
            nxt: 2000,
        };

        /// The time from the first ACK to the one that ends slow start.
        fn end(&self) -> Option<Span> {
            let mut machine = SlowStart::new(SlowStartKind::Hystart, 1, MSS as u32, self.paced);
            let start = Time::from_secs(1);
            let mut now = start;
            for number in 1..=1000u64 {
                let mut ack = ack(MSS);
                (ack.snd_una, ack.snd_nxt) = (number * MSS, self.nxt * MSS);
                (ack.rtt_sample, ack.rtt.min) = (Some(self.rtt), self.min);
                let step = machine.on_ack(now, &ack, self.segments * MSS);
                assert_eq!(step.growth_bytes, if step.exit { 0 } else { MSS });
                if step.exit {
                    return Some(now.since(start));
                }
                now += self.gap;
            }
            None
        }
    }

    #[test]
    fn classic_hystart_ends_with_a_train_of_half_the_rtt() {
        // dmin 100 ms: (100 + 1) / 2 = 50.5 ms; the first ACK after that, on a grid of 1 ms, comes
        // at 51 ms.
        assert_eq!(Train::PLAIN.end(), Some(ms(51)));
        assert_eq!(Train { paced: true, ..Train::PLAIN }.end(), Some(ms(102)));
        assert_eq!(Train { segments: 15, ..Train::PLAIN }.end(), None, "below 16 it rests");
        assert_eq!(Train { gap: ms(3), ..Train::PLAIN }.end(), None, "3 ms apart is no train");
    }

    #[test]
    fn a_round_of_classic_hystart_ends_beyond_the_old_snd_nxt() {
        // Offset 20 is acknowledged at 38 ms and still old; 21, at 40 ms, begins a round: 40 + 50.5
        // ms, on a grid of 2 ms.
        assert_eq!(Train { gap: ms(2), nxt: 20, ..Train::PLAIN }.end(), None, "each ACK a round");
        let mut machine = SlowStart::new(SlowStartKind::Hystart, 1, MSS as u32, false);
        let ends = (1..=100u64).find(|&number| {
            let mut ack = ack(MSS);
            (ack.snd_una, ack.snd_nxt) = (number * MSS, if number == 1 { 20 } else { 2000 } * MSS);
            machine.on_ack(Time::from_millis(2 * number), &ack, 100 * MSS).exit
        });
        assert_eq!(ends.map(|number| 2 * (number - 1)), Some(92));
    }

    #[test]
    fn classic_hystart_ends_with_the_ninth_sample_above_the_threshold() {
        // ACKs 3 ms apart are no train; the ninth comes 24 ms after the first.
        for (min_ms, most_us) in [(20, 24_000), (100, 112_500), (200, 216_000)] {
            let most = Span::from_micros(most_us);
            let train = Train { gap: ms(3), min: ms(min_ms), rtt: most, ..Train::PLAIN };
            assert_eq!(train.end(), None);
            let above = Train { rtt: most + Span::from_nanos(1), ..train };
            assert_eq!(above.end(), Some(ms(24)));
        }
    }
}
