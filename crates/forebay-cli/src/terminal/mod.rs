//! What a person sees: colour, units, tables, progress.

mod paint;
mod progress;
mod table;
mod units;

pub use paint::Paint;
pub use progress::Progress;
pub use table::{Table, wrap};
pub use units::{Estimate, Unit, count, differences, exact, row, row_of_group, trimmed};
