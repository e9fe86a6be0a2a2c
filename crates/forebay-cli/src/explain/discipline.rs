//! A queue discipline: what it does, and its parameters as a scenario sets them.

use super::params::{paragraphs, parameters};
use crate::terminal::{Paint, wrap};
use forebay_lab::scenario::disciplines;
use std::fmt::Write;

/// The explanation of the discipline `name`, which is in the table.
pub fn text(name: &str, paint: Paint) -> String {
    let line = disciplines::lines().into_iter().find(|line| line.name == name);
    let line = line.expect("the catalogue is made from the table");
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{} - queue discipline ({})\n", paint.bold(line.title), line.reference);
    text.push_str(&wrap(line.summary, 0));
    let _ = writeln!(text, "\n{}", paint.bold("What is implemented"));
    for paragraph in paragraphs(line.about.iter().copied()) {
        text.push_str(&wrap(&paragraph, 2));
    }
    match parameters(&line.schema, &line.schema, paint) {
        Some(shown) => {
            let place = "(beside queue.discipline in a scenario)";
            let _ = writeln!(text, "\n{} {place}", paint.bold("Parameters"));
            text.push_str(&shown);
        }
        None => text.push_str("\nIt has no parameters beside the limit.\n"),
    }
    let key = "link_defaults.queue.discipline";
    let _ = writeln!(text, "\nTry: forebay run dumbbell --set {key}={name}");
    text
}
