//! What sender and receiver follow.

use crate::ParamError;
use forebay_base::require;
use serde::{Deserialize, Serialize};

/// How far the belief reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// The authors' 1000 packets/s, 12 Mbit/s of packets of 1500 bytes.
    #[default]
    Stock,
    /// 2000 packets/s.
    Wider,
}

/// How the receiver forecasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Bayesian inference (section 3).
    #[default]
    Bayes,
    /// The mean of what came, with a gain of 1/8 per tick (Sprout-EWMA).
    Ewma,
}

/// How much the sender subtracts from its estimate of the queue when a tick is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Drain {
    /// The packets of that tick.
    #[default]
    Increments,
    /// All packets from the first tick on, each time: what the authors' code does.
    Cumulative,
}

/// Parameters of Sprout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Highest rate of the belief: `stock`, 1000 packets of 1500 bytes a second, or `wider`, 2000.
    pub limits: Reach,
    /// The same as a number, 100 to 4000.
    pub max_packets_per_s: Option<f64>,
    /// True: an ACK per tick of 20 ms, and nothing between (the authors' branch `sendonly`). False:
    /// forecasts ride on TCP's ACKs, and one leaves if there was none for 50 ms.
    pub sendonly: bool,
    /// `bayes` or `ewma`.
    pub model: Model,
    /// Standard deviation of the rate after a second, in packets/s, 0 to 2000. Paper: 200.
    pub sigma: f64,
    /// Rate at which an outage ends, per second, 0 to 50. Paper: 1.
    pub outage_escape_per_s: f64,
    /// Probability that the path delivers less than the forecast, above 0 and at most 0.5. Paper:
    /// 0.05.
    pub quantile: f64,
    /// Ticks within which what is sent shall leave the queue, 1 to 7. Paper: 5.
    pub early_transit_ticks: u8,
    /// `increments` or `cumulative`.
    pub drain: Drain,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            limits: Reach::Stock,
            max_packets_per_s: None,
            sendonly: true,
            model: Model::Bayes,
            sigma: 200.0,
            outage_escape_per_s: 1.0,
            quantile: 0.05,
            early_transit_ticks: 5,
            drain: Drain::Increments,
        }
    }
}

impl Params {
    /// Highest rate of the belief, in packets/s.
    pub(super) fn reach(&self) -> f64 {
        self.max_packets_per_s.unwrap_or(match self.limits {
            Reach::Stock => 1000.0,
            Reach::Wider => 2000.0,
        })
    }

    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let most = self.max_packets_per_s.is_none_or(|most| (100.0..=4000.0).contains(&most));
        require(most, "max_packets_per_s", "100 to 4000")?;
        require((0.0..=2000.0).contains(&self.sigma), "sigma", "0 to 2000")?;
        let escape = (0.0..=50.0).contains(&self.outage_escape_per_s);
        require(escape, "outage_escape_per_s", "0 to 50")?;
        let quantile = self.quantile > 0.0 && self.quantile <= 0.5;
        require(quantile, "quantile", "above 0, at most 0.5")?;
        require((1..=7).contains(&self.early_transit_ticks), "early_transit_ticks", "1 to 7")
    }
}
