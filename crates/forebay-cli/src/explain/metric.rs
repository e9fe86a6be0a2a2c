//! A metric: what is measured, in which unit, and where it stands.

use crate::terminal::{Paint, wrap};
use forebay_lab::report::METRICS;

/// The explanation of the metric `name`, which is in the table.
pub fn text(name: &str, paint: Paint) -> String {
    let found = METRICS.iter().find(|metric| metric.name == name);
    let metric = found.expect("the catalogue is made from the table");
    let unit = match metric.unit {
        "" => String::new(),
        unit => format!(", in {unit}"),
    };
    let head = format!("{} - metric{unit}\n\n", paint.bold(name));
    let place =
        format!("In JSON: .runs[].metrics.{name}, and as a mean over seeds in .aggregate[].");
    let more = match metric.more {
        "" => String::new(),
        more => wrap(more, 0) + "\n",
    };
    head + &wrap(metric.meaning, 0) + "\n" + &more + &wrap(&place, 0)
}
