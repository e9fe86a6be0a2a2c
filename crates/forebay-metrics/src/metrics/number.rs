//! Properties of a metric that follow from its type.

use std::collections::BTreeMap;

/// A value that may be one number, or one for each directed link.
pub(super) trait Number {
    /// None if it is not one number, or has no value.
    fn number(&self) -> Option<f64> {
        None
    }
    /// None if links do not have it, or if it has no value there.
    fn of_link(&self, _: &str) -> Option<f64> {
        None
    }
}

impl Number for Option<f64> {
    fn number(&self) -> Option<f64> {
        *self
    }
}

impl Number for u64 {
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Number for usize {}
impl Number for [f64; 2] {}
impl Number for Option<String> {}

impl Number for BTreeMap<String, f64> {
    fn of_link(&self, link: &str) -> Option<f64> {
        self.get(link).copied()
    }
}

/// Counts: a link that is not listed has none.
impl Number for BTreeMap<String, u64> {
    fn of_link(&self, link: &str) -> Option<f64> {
        Some(self.get(link).copied().unwrap_or(0) as f64)
    }
}
