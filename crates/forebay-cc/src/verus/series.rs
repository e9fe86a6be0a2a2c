//! What a report shows of a sender over time.

use super::State;
use crate::controller::SeriesSample;

/// The profile as series: with `profile_top` the largest window that it has seen, series k of 16 is
/// the delay under a window of `profile_top` k / 16.
const PROFILE: [&str; 16] = [
    "profile_01",
    "profile_02",
    "profile_03",
    "profile_04",
    "profile_05",
    "profile_06",
    "profile_07",
    "profile_08",
    "profile_09",
    "profile_10",
    "profile_11",
    "profile_12",
    "profile_13",
    "profile_14",
    "profile_15",
    "profile_16",
];

impl State {
    pub(super) fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let mut show = |name, unit, value| visit(SeriesSample { name, unit, value });
        show("window", "packets", self.window);
        if self.slow_start.is_none() {
            show("set_point", "s", self.d_est_ms / 1e3);
        }
        if self.d_min_ms.is_finite() {
            show("d_min", "s", self.d_min_ms / 1e3);
        }
        if let Some(d_max_ms) = self.d_max_ms {
            show("d_max", "s", d_max_ms / 1e3);
        }
        if self.profile.is_fitted() {
            let top = self.profile.top() as f64;
            show("profile_top", "packets", top);
            for (at, name) in PROFILE.into_iter().enumerate() {
                let share = (at + 1) as f64 / PROFILE.len() as f64;
                show(name, "s", self.profile.delay_ms(share * top) / 1e3);
            }
        }
    }
}
