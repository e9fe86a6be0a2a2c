//! A queue discipline.

use crate::catalogue::DISCIPLINES;
use crate::screen::Paint;

/// The explanation of the discipline `name`, which is in the table.
pub fn text(name: &str, paint: Paint) -> String {
    let found = DISCIPLINES.iter().find(|discipline| discipline.name == name);
    let discipline = found.expect("the catalogue is made from the table");
    let head = format!("{} - queue discipline\n\n", paint.bold(discipline.title));
    head + discipline.text
}
