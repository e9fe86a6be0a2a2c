//! Distributions of the sizes of flows, and classes by size.

use crate::format::names::Name;
use forebay_base::Rng;

/// A distribution of flow sizes. Each flow draws its own, the same under every protocol of a seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeDistribution {
    /// Its form, in units.
    pub form: SizeForm,
    /// The largest size in units: what would be larger has this size.
    pub most: u64,
    /// Bytes of a unit: 1, or the payload of a full-sized packet.
    pub unit_bytes: u64,
}

/// The form of a distribution of sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeForm {
    /// Pareto, type I: P(X > x) = (least / x)^shape for x of at least `least`. The mean is
    /// least shape / (shape - 1) for shapes above 1.
    Pareto {
        /// Its shape, above 0.
        shape: f64,
        /// The least size, above 0.
        least: f64,
    },
    /// Pareto, type II (Lomax): P(X > x) = (1 + x / s)^-shape with s = mean (shape - 1).
    Lomax {
        /// Its shape, above 1.
        shape: f64,
        /// Its mean, above 0.
        mean: f64,
    },
    /// Exponential with this mean, above 0.
    Exponential(f64),
}

impl SizeDistribution {
    /// One draw, in bytes: the nearest whole number of units, 1 to the largest.
    pub fn draw_bytes(&self, rng: &mut Rng) -> u64 {
        let rest = 1.0 - rng.unit(); // above 0, at most 1
        let units = match self.form {
            SizeForm::Pareto { shape, least } => least * libm::pow(rest, -1.0 / shape),
            SizeForm::Lomax { shape, mean } => {
                mean * (shape - 1.0) * (libm::pow(rest, -1.0 / shape) - 1.0)
            }
            SizeForm::Exponential(mean) => -mean * libm::log(rest),
        };
        // What is too large for a u64 becomes the largest of them.
        (units.round() as u64).clamp(1, self.most) * self.unit_bytes
    }
    /// The largest size, in bytes.
    pub fn most_bytes(&self) -> u64 {
        self.most * self.unit_bytes
    }
}

/// Classes by size: with n bounds n + 1 of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeClasses {
    /// The largest size of each class but the last, in full-sized packets, ascending.
    pub bounds_packets: Vec<u32>,
    /// Payload of a full-sized packet.
    pub packet_bytes: u64,
    /// Name of each class.
    pub names: Vec<Name>,
}

impl SizeClasses {
    /// The class of a flow of this many bytes.
    pub fn of(&self, bytes: u64) -> &Name {
        let within = |&bound: &u32| u64::from(bound) * self.packet_bytes < bytes;
        &self.names[self.bounds_packets.partition_point(within)]
    }
    /// Name of the class between two bounds, after the name of the flow's own class if it
    /// has one: "tcp-11-100", "over-100".
    pub(crate) fn name(class: Option<&str>, above: u32, most: Option<u32>) -> String {
        let range = match most {
            Some(most) => format!("{}-{most}", above + 1),
            None => format!("over-{above}"),
        };
        class.map_or_else(|| range.clone(), |class| format!("{class}-{range}"))
    }
}
