//! CUBIC's congestion avoidance as Linux counts it (net/ipv4/tcp_cubic.c, `bictcp_update`;
//! net/ipv4/tcp_cong.c, `tcp_cong_avoid_ai`): in whole segments and in ticks of the kernel's clock.
//! Differences from the equations of `cubic`:
//!
//! 1. the window grows by one segment for each `cnt` segments acknowledged, `cnt = cwnd / (target -
//!    cwnd)`;
//! 2. `target` is W_cubic one smallest RTT ahead, cut to a whole number of segments on its way to
//!    W_max;
//! 3. `cnt` is computed once a tick, and while the window stands still only every 1/32 s;
//! 4. before the first loss, and after a timeout, `cnt` is 20 or less: 5 % a round trip;
//! 5. W_est grows by one segment for each `15/8 cwnd` acknowledged, always, and `cnt` is `cwnd /
//!    (W_est - cwnd)` or less;
//! 6. `cnt` is 2 or more: at most half a window in a round trip.

use forebay_base::{Span, Time};

/// One tick: CONFIG_HZ 250, as distributions build it.
const TICK: Span = Span::from_millis(4);
/// A window that stands still is looked at again after more than this many ticks: HZ / 32.
const PATIENCE_TICKS: u64 = 7;
/// Segments per growth by one that count as much before the first loss.
const FIRST_COUNT: u32 = 20;

fn ticks(now: Time) -> u64 {
    now.as_nanos() / TICK.as_nanos()
}

/// The curve of one epoch.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start_tick: u64,
    k_s: f64,
    origin: u32,
    /// W_est, and what is acknowledged towards its next segment.
    w_est: u32,
    acked: u32,
}

/// State of Linux's congestion avoidance. All windows in segments.
#[derive(Clone, Debug)]
pub(crate) struct LinuxCubic {
    /// C in segments / s^3, and beta.
    c: f64,
    beta: f64,
    /// Segments acknowledged towards the next one of the window (snd_cwnd_cnt).
    credit: u32,
    /// Segments that one costs.
    cnt: u32,
    /// W_max; 0 before the first loss and after a timeout.
    w_max: u32,
    last_cwnd: u32,
    last_tick: u64,
    epoch: Option<Epoch>,
}

impl LinuxCubic {
    pub(crate) fn new(c: f64, beta: f64) -> LinuxCubic {
        let (w_max, last_cwnd, last_tick, epoch) = (0, 0, 0, None);
        LinuxCubic { c, beta, credit: 0, cnt: 0, w_max, last_cwnd, last_tick, epoch }
    }

    /// `acked` segments of a window of `cwnd` that limited sending: the window after them.
    pub(crate) fn on_ack(&mut self, now: Time, cwnd: u32, acked: u32, min_rtt: Span) -> u32 {
        self.count(now, cwnd, acked, min_rtt);
        let (mut cwnd, cnt) = (cwnd, self.cnt);
        if self.credit >= cnt {
            // Collected where a segment cost more: it counts once.
            self.credit = 0;
            cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= cnt {
            cwnd += self.credit / cnt;
            self.credit %= cnt;
        }
        cwnd
    }

    /// Rules 1 to 6: what a segment costs.
    fn count(&mut self, now: Time, cwnd: u32, acked: u32, min_rtt: Span) {
        let tick = ticks(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
        if self.last_cwnd == cwnd && tick - self.last_tick <= PATIENCE_TICKS && self.cnt > 0 {
            return;
        }
        if self.epoch.is_none() || tick != self.last_tick {
            (self.last_cwnd, self.last_tick) = (cwnd, tick);
            self.cnt = self.cubic_count(tick, cwnd, acked, min_rtt);
        }
        let Some(epoch) = &mut self.epoch else { return };
        // 15/8 at Linux's beta of 717/1024: the kernel has it in whole eighths.
        let eighths = libm::floor(8.0 * (1.0 + self.beta) / (3.0 * (1.0 - self.beta))) as u64;
        let share = (u64::from(cwnd) * eighths / 8).max(1) as u32;
        while epoch.acked > share {
            epoch.acked -= share;
            epoch.w_est += 1;
        }
        if epoch.w_est > cwnd {
            self.cnt = self.cnt.min(cwnd / (epoch.w_est - cwnd));
        }
        self.cnt = self.cnt.max(2);
    }

    /// Rules 1, 2 and 4.
    fn cubic_count(&mut self, tick: u64, cwnd: u32, acked: u32, min_rtt: Span) -> u32 {
        let (c, w_max) = (self.c, self.w_max);
        let epoch = *self.epoch.get_or_insert_with(|| Epoch {
            start_tick: tick,
            k_s: libm::cbrt(f64::from(w_max.saturating_sub(cwnd)) / c),
            origin: w_max.max(cwnd),
            w_est: cwnd,
            acked,
        });
        let ahead = min_rtt.as_nanos().div_ceil(TICK.as_nanos());
        let t_s = (TICK * ((tick + ahead).saturating_sub(epoch.start_tick))).as_secs_f64();
        let dt = t_s - epoch.k_s;
        let away = (c * dt * dt * dt).abs() as u32;
        let target = if dt < 0.0 { epoch.origin.saturating_sub(away) } else { epoch.origin + away };
        let cnt = match target.checked_sub(cwnd) {
            Some(short @ 1..) => cwnd / short,
            _ => cwnd.saturating_mul(100),
        };
        if w_max == 0 { cnt.min(FIRST_COUNT) } else { cnt }
    }

    /// The application left the path idle for this long (`cubictcp_cwnd_event`): it does not count.
    pub(crate) fn on_idle(&mut self, idle: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start_tick += idle.as_nanos() / TICK.as_nanos();
        }
    }

    /// A loss or a mark met a window of `cwnd` (`cubictcp_recalc_ssthresh`): ssthresh.
    pub(crate) fn on_congestion(&mut self, cwnd: u32, fast_convergence: bool) -> u32 {
        self.epoch = None;
        self.credit = 0;
        let give_way = fast_convergence && cwnd < self.w_max;
        let cwnd_s = f64::from(cwnd);
        self.w_max = if give_way { (cwnd_s * (1.0 + self.beta) / 2.0) as u32 } else { cwnd };
        ((cwnd_s * self.beta) as u32).max(2)
    }

    /// The timer expired (`bictcp_reset`).
    pub(crate) fn on_rto(&mut self) {
        *self = LinuxCubic::new(self.c, self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: f64 = 410.0 / 1024.0;
    const BETA: f64 = 717.0 / 1024.0;
    const RTT: Span = Span::from_millis(100);

    /// Round trips of 100 ms, every second segment acknowledged, until the window is `until`: how
    /// long it takes, in ms.
    fn time_to(ticks: &mut LinuxCubic, mut cwnd: u32, until: u32) -> u64 {
        let mut now = Time::from_secs(10);
        while cwnd < until {
            now += Span::from_nanos(2 * RTT.as_nanos() / u64::from(cwnd));
            cwnd = ticks.on_ack(now, cwnd, 2, RTT);
        }
        now.since(Time::from_secs(10)).as_millis()
    }

    #[test]
    fn before_the_first_loss_the_window_grows_by_5_percent_a_round_trip() {
        // ln 2 / ln 1.05 = 14.2 round trips of growth by compound interest; by whole segments of 20
        // acknowledged the same.
        let ms = time_to(&mut LinuxCubic::new(C, BETA), 200, 400);
        assert!((1_350..=1_470).contains(&ms), "{ms}");
    }

    #[test]
    fn the_way_back_to_the_last_maximum_takes_k() {
        // cbrt(300 / C) = 9.08 s; one smallest RTT ahead, and the last segments of the plateau
        // count from half a segment on.
        let mut ticks = LinuxCubic::new(C, BETA);
        assert_eq!(ticks.on_congestion(1_000, true), 700);
        let ms = time_to(&mut ticks, 700, 999);
        assert!((7_000..=9_100).contains(&ms), "{ms}");
    }

    #[test]
    fn a_loss_below_the_last_maximum_aims_lower() {
        let mut ticks = LinuxCubic::new(C, BETA);
        assert_eq!(ticks.on_congestion(1_000, true), 700);
        assert_eq!(ticks.on_congestion(800, true), 560);
        // 800 x (1024 + 717) / 2048
        assert_eq!(ticks.w_max, 680);
        assert_eq!(ticks.on_congestion(2, true), 2, "two segments at least");
    }
}
