//! What a person sees: colour, units, tables, progress.

mod paint;
mod progress;
mod table;
mod units;
mod wrap;

pub use paint::Paint;
pub use progress::Progress;
pub use table::Table;
pub use units::{Estimate, Unit, count, differences, exact, row, row_of_group, trimmed};
pub use wrap::wrap;
