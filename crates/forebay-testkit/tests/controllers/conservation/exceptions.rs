//! What a paper's own rules make impossible.

use super::Demand;
use super::points::Point;

/// Where a demand need not be met, and why.
pub struct Exception {
    pub protocols: &'static [&'static str],
    pub demands: &'static [Demand],
    pub at: fn(&Point) -> bool,
    /// The rule, and where it stands.
    pub reason: &'static str,
}

/// Rules of papers and drafts. A default of this project has none.
pub const EXCEPTIONS: &[Exception] = &[];
