//! What a sender follows: parameters, and the presets that they begin from.

use crate::{LossPolicy, ParamError};
use forebay_base::Span;
use forebay_base::require;
use serde::{Deserialize, Serialize};

/// Where the rules begin from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The paper, and where it is silent the authors' code.
    Paper,
    /// The authors' code of 2017.
    Authors,
    /// With the changes that measurements ask for.
    #[default]
    Recommended,
}

/// How slow start ends before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SlowStartEnd {
    /// A delay above `15 D_min` (section 4.4), or above 500 ms (authors' code).
    Late,
    /// When the smallest delay grows from one round trip to the next (HyStart++, RFC 9406).
    Early,
}

/// Parameters of Verus. What is not given is that of the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// `paper`, `authors` (their code) or `recommended` (default).
    pub preset: Preset,
    /// R of equation 4, 1 to 100: delays up to R D_min are the target. Section 5: 2, 4 or 6;
    /// default 2, of `authors` 6.
    pub r: Option<f64>,
    /// Length of an epoch in ms, 1 to 1000. Section 5.3: 5.
    pub epoch_ms: Option<f64>,
    /// Time between two fits of the profile in ms, an epoch or more. Section 5.3: 1000.
    pub update_ms: Option<f64>,
    /// False: the first profile stays (figure 15).
    pub update: Option<bool>,
    /// Weight of the old value in equation 2, 0 to below 1. Authors' code: 0.2.
    pub alpha: Option<f64>,
    /// How far the set point falls in an epoch in ms, above 0 and at most 100. Section 5.3: 1 to 2;
    /// authors' code 1.
    pub delta_down_ms: Option<f64>,
    /// How far it rises, delta_down_ms to 100. Section 5.3: 1 to 2; authors' code 2.
    pub delta_up_ms: Option<f64>,
    /// Share of the window that a loss leaves, above 0 and below 1 (M of equation 6). Authors'
    /// code: 0.7.
    pub m: Option<f64>,
    /// Largest window of the profile in packets, 1 to 1 000 000. Authors' code: 40 000.
    pub profile_cap: Option<u32>,
    /// Share of the delays of an epoch that are at most its delay, above 0; 1: the largest, as in
    /// equation 2.
    pub quantile: Option<f64>,
    /// Windows that were not used for a second get the delay that the rate of the last second gives
    /// them, and the profile is fitted each round trip while the set point is at its top.
    /// `recommended`: true.
    pub follow_rate: Option<bool>,
    /// Packets of an epoch leave spread over it, not at once. `recommended`: true.
    pub pacing: Option<bool>,
    /// Windows are not cut to whole packets, and what is left of a packet counts in the next epoch.
    /// `recommended`: true.
    pub fractional: Option<bool>,
    /// D_min is measured anew with two packets in flight: where delays stay above it for 10 s, and
    /// at once where they jump beyond R D_min. `recommended`: true.
    pub refresh: Option<bool>,
    /// Where clearly more than 2 % of a round trip is lost at delays below R D_min, the window is
    /// at most CUBIC's: the buffer is shallow. `recommended`: true.
    pub loss_bound: Option<bool>,
    /// Target queueing delay in place of `(R - 1) D_min`, per unit of R - 1, in ms, 0 to
    /// 1000; 0: none.
    pub queue_ms: Option<f64>,
    /// `late` (paper) or `early` (`recommended`).
    pub slow_start: Option<SlowStartEnd>,
}

/// [`Params`] with every choice made. Times in ms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    pub r: f64,
    pub epoch: Span,
    pub update: Option<Span>,
    pub alpha: f64,
    pub down_ms: f64,
    pub up_ms: f64,
    pub m: f64,
    pub profile_cap: u32,
    pub quantile: f64,
    pub follow_rate: bool,
    pub pacing: bool,
    pub fractional: bool,
    pub refresh: bool,
    pub loss_bound: bool,
    pub queue_ms: f64,
    pub slow_start: SlowStartEnd,
    /// Rule 7.
    pub losses: LossPolicy,
    /// D_min rises by 10 ms where the set point has come down to it, and a loss in slow start
    /// forgets what large windows did (authors' code).
    pub authors: bool,
}

fn ms(span_ms: f64) -> Span {
    Span::from_secs_f64(span_ms / 1e3)
}

impl Params {
    /// Those of the paper, which has three values of R and no default.
    pub fn paper() -> Params {
        Params { preset: Preset::Paper, ..Params::default() }
    }
    /// R of equation 4: as given, or the preset's.
    pub fn r(&self) -> f64 {
        self.r.unwrap_or(if self.preset == Preset::Authors { 6.0 } else { 2.0 })
    }
    pub(super) fn rules(&self) -> Rules {
        let own = self.preset == Preset::Recommended;
        let authors = self.preset == Preset::Authors;
        let update = self.update.unwrap_or(true);
        Rules {
            r: self.r(),
            epoch: ms(self.epoch()),
            update: update.then(|| ms(self.update_interval())),
            alpha: self.alpha.unwrap_or(0.2),
            down_ms: self.down(),
            up_ms: self.delta_up_ms.unwrap_or(2.0),
            m: self.m.unwrap_or(0.7),
            profile_cap: self.profile_cap.unwrap_or(40_000),
            quantile: self.quantile.unwrap_or(1.0),
            follow_rate: self.follow_rate.unwrap_or(own),
            pacing: self.pacing.unwrap_or(own),
            fractional: self.fractional.unwrap_or(own),
            refresh: self.refresh.unwrap_or(own),
            loss_bound: self.loss_bound.unwrap_or(own),
            queue_ms: self.queue_ms.unwrap_or(0.0),
            slow_start: self.slow_start.unwrap_or(if own {
                SlowStartEnd::Early
            } else {
                SlowStartEnd::Late
            }),
            losses: match self.preset {
                Preset::Paper => LossPolicy::GapTimer { num: 3, den: 1 },
                Preset::Authors => LossPolicy::FixedGapTimer(Span::from_millis(150)),
                Preset::Recommended => LossPolicy::GapTimer { num: 1, den: 4 },
            },
            authors,
        }
    }

    fn epoch(&self) -> f64 {
        self.epoch_ms.unwrap_or(5.0)
    }
    fn update_interval(&self) -> f64 {
        self.update_ms.unwrap_or(1000.0)
    }
    fn down(&self) -> f64 {
        self.delta_down_ms.unwrap_or(1.0)
    }

    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let rules = [
            (self.r, 1.0..=100.0, "r", "1 to 100"),
            (self.epoch_ms, 1.0..=1000.0, "epoch_ms", "1 to 1000"),
            (self.quantile, f64::MIN_POSITIVE..=1.0, "quantile", "above 0, at most 1"),
            (
                self.delta_down_ms,
                f64::MIN_POSITIVE..=100.0,
                "delta_down_ms",
                "above 0, at most 100",
            ),
            (self.queue_ms, 0.0..=1000.0, "queue_ms", "0 to 1000"),
        ];
        for (value, range, name, words) in rules {
            require(value.is_none_or(|value| range.contains(&value)), name, words)?;
        }
        let share = |value: Option<f64>, least: bool| {
            value.is_none_or(|value| value < 1.0 && (value > 0.0 || least && value == 0.0))
        };
        require(share(self.alpha, true), "alpha", "0 or more, below 1")?;
        require(share(self.m, false), "m", "above 0, below 1")?;
        let up = self.delta_up_ms.unwrap_or(2.0_f64.max(self.down()));
        let allowed = "delta_down_ms to 100";
        require(up >= self.down() && up <= 100.0, "delta_up_ms", allowed)?;
        let update = self.update_interval();
        let allowed = "epoch_ms to 1000000";
        require(update >= self.epoch() && update <= 1e6, "update_ms", allowed)?;
        let cap = self.profile_cap.is_none_or(|cap| (1..=1_000_000).contains(&cap));
        require(cap, "profile_cap", "1 to 1000000")
    }
}
