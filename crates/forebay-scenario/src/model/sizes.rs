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
    /// The mean, in bytes: of a size X up to `most`, the integral of P(X > x) from 0 to there.
    /// Rounding is left out; it moves the mean of sizes of many units by little.
    pub fn mean_bytes(&self) -> f64 {
        self.form.exceeded_up_to(self.most as f64) * self.unit_bytes as f64
    }
    /// What is left of a size that was met at a random moment, in bytes: drawn with the density
    /// P(X > x) / mean, the equilibrium distribution of renewal theory.
    pub fn draw_rest_bytes(&self, rng: &mut Rng) -> u64 {
        let area = rng.unit() * self.form.exceeded_up_to(self.most as f64);
        let rest = self.form.where_exceeded(area).clamp(0.0, self.most as f64);
        ((rest * self.unit_bytes as f64).ceil() as u64).clamp(1, self.most_bytes())
    }
    /// The largest size, in bytes.
    pub fn most_bytes(&self) -> u64 {
        self.most * self.unit_bytes
    }
}

impl SizeForm {
    /// The integral of P(X > u) over u from 0 to `x`, which is at least the least size.
    fn exceeded_up_to(&self, x: f64) -> f64 {
        match *self {
            SizeForm::Pareto { shape, least } => least + power_area(shape, least, x / least),
            SizeForm::Lomax { shape, mean } => {
                let scale = mean * (shape - 1.0);
                power_area(shape, scale, 1.0 + x / scale)
            }
            SizeForm::Exponential(mean) => -mean * libm::expm1(-x / mean),
        }
    }
    /// The inverse.
    fn where_exceeded(&self, area: f64) -> f64 {
        match *self {
            SizeForm::Pareto { least, .. } if area <= least => area,
            SizeForm::Pareto { shape, least } => least * power_end(shape, (area - least) / least),
            SizeForm::Lomax { shape, mean } => {
                let scale = mean * (shape - 1.0);
                scale * (power_end(shape, area / scale) - 1.0)
            }
            SizeForm::Exponential(mean) => -mean * libm::log1p(-area / mean),
        }
    }
}

/// The integral of (scale / u)^shape over u from `scale` to `end` times that.
fn power_area(shape: f64, scale: f64, end: f64) -> f64 {
    match shape - 1.0 {
        0.0 => scale * libm::log(end),
        over => scale * (1.0 - libm::pow(end, -over)) / over,
    }
}

/// The end up to which that integral is `area` times the scale.
fn power_end(shape: f64, area: f64) -> f64 {
    match shape - 1.0 {
        0.0 => libm::exp(area),
        over => libm::pow(1.0 - area * over, -1.0 / over),
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
