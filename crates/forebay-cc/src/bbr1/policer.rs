//! The long-term rate of a path behind a token bucket policer (equation 8).

use forebay_base::Time;

/// Least and most rounds of an interval.
const INTERVAL_ROUNDS: u32 = 4;
const MAX_INTERVAL_ROUNDS: u32 = 4 * INTERVAL_ROUNDS;
/// Rounds for which the rate is used.
const USE_ROUNDS: u32 = 48;
/// Loss that a policer is known by, in 256ths of what is delivered.
const LOSS_256: u64 = 50;
/// Rates of two intervals are equal within an eighth, or this many bit/s.
const DIFFERENCE_BPS: u64 = 4_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    used: bool,
    /// In bit/s; 0: none.
    rate: u64,
    rounds: u32,
    /// When the interval began, with bytes delivered and lost.
    since: Time,
    delivered: u64,
    lost: u64,
}

/// State to detect a policer.
pub(super) struct PolicerAck {
    /// Bytes delivered and lost in total.
    pub delivered: u64,
    pub lost: u64,
    pub round_start: bool,
    /// It brings losses.
    pub losses: bool,
    /// The application limits the sender.
    pub limited: bool,
    /// In ProbeBW.
    pub probing: bool,
}

impl Policer {
    /// The rate that the policer lets pass in bit/s, if one was found.
    pub(super) fn rate(&self) -> Option<u64> {
        self.used.then_some(self.rate)
    }
    pub(super) fn reset(&mut self) {
        *self = Policer::default();
    }
    fn begin(&mut self, now: Time, delivered: u64, lost: u64) {
        (self.since, self.delivered, self.lost, self.rounds) = (now, delivered, lost, 0);
    }

    /// True if the rate has been used long enough: ProbeBW begins anew.
    pub(super) fn on_ack(&mut self, now: Time, ack: &PolicerAck) -> bool {
        let PolicerAck { delivered, lost, round_start, losses, limited, probing } = *ack;
        if self.used {
            self.rounds += u32::from(probing && round_start);
            let over = self.rounds >= USE_ROUNDS;
            if over {
                self.reset();
            }
            return over;
        }
        if !self.sampling {
            if losses {
                self.begin(now, delivered, lost);
                self.sampling = true;
            }
            return false;
        }
        self.rounds += u32::from(round_start);
        if limited || self.rounds > MAX_INTERVAL_ROUNDS {
            self.reset();
        } else if self.rounds >= INTERVAL_ROUNDS && losses {
            self.end_interval(now, delivered, lost);
        }
        false
    }

    /// Losses end the interval, if they are many.
    fn end_interval(&mut self, now: Time, total_delivered: u64, total_lost: u64) {
        let (delivered, lost) = (total_delivered - self.delivered, total_lost - self.lost);
        let elapsed = now.since(self.since).as_nanos() as u128;
        if delivered == 0 || lost * 256 < LOSS_256 * delivered || elapsed < 1_000_000 {
            return;
        }
        let rate = u64::try_from(delivered as u128 * 8_000_000_000 / elapsed).unwrap_or(u64::MAX);
        let difference = rate.abs_diff(self.rate);
        if self.rate > 0 && (difference <= self.rate / 8 || difference <= DIFFERENCE_BPS) {
            (self.rate, self.used, self.rounds) = (self.rate.midpoint(rate), true, 0);
            return;
        }
        self.rate = rate;
        self.begin(now, total_delivered, total_lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::Span;

    /// A round of `lost` and `delivered` bytes, 100 ms long, with losses at its end.
    fn round(p: &mut Policer, at: &mut (Time, u64, u64), delivered: u64, lost: u64) -> bool {
        at.0 += Span::from_millis(100);
        (at.1, at.2) = (at.1 + delivered, at.2 + lost);
        let ack = PolicerAck {
            delivered: at.1,
            lost: at.2,
            round_start: true,
            losses: lost > 0,
            limited: false,
            probing: true,
        };
        p.on_ack(at.0, &ack)
    }

    #[test]
    fn two_equal_intervals_with_a_fifth_lost_are_a_policer() {
        let (mut p, mut at) = (Policer::default(), (Time::from_secs(1), 0, 0));
        // 100 kB in 100 ms are 8 Mbit/s; 25 % lost. One loss to begin, four rounds each.
        for done in 0..=8 {
            assert_eq!(p.rate(), None, "{done} rounds");
            round(&mut p, &mut at, 100_000, 25_000);
        }
        assert_eq!(p.rate(), Some(8_000_000));
        // Used for 48 rounds.
        for _ in 0..47 {
            assert!(!round(&mut p, &mut at, 100_000, 0));
        }
        assert!(round(&mut p, &mut at, 100_000, 0));
        assert_eq!(p.rate(), None);
    }

    #[test]
    fn a_little_loss_or_unequal_rates_are_none() {
        let (mut p, mut at) = (Policer::default(), (Time::from_secs(1), 0, 0));
        for _ in 0..100 {
            round(&mut p, &mut at, 100_000, 19_000); // 50/256 are 19.5 %
            assert_eq!(p.rate(), None);
        }
        let (mut p, mut at) = (Policer::default(), (Time::from_secs(1), 0, 0));
        for interval in 0..20 {
            for _ in 0..4 {
                round(&mut p, &mut at, 100_000 << (interval % 2), 60_000);
                assert_eq!(p.rate(), None);
            }
        }
    }
}
