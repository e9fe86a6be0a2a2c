//! A queue discipline, a port scheme, a kind of router: what it does, and its parameters as a
//! scenario sets them.

use super::params::{paragraphs, parameters};
use crate::terminal::{Paint, wrap};
use forebay_lab::scenario::registry::{Kind, Line};
use std::fmt::Write;

/// The explanation of a line. `what` says what it is, `key` where a link or a scenario names it.
pub fn text<K: Kind>(line: &Line<K>, what: &str, key: &str, paint: Paint) -> String {
    let name = &line.name;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let reference = match line.reference.as_str() {
        "" => String::new(),
        reference => format!(" ({reference})"),
    };
    let _ = writeln!(text, "{} - {what}{reference}\n", paint.bold(&line.title));
    text.push_str(&wrap(&line.summary, 0));
    if !line.about.is_empty() {
        let _ = writeln!(text, "\n{}", paint.bold("What is implemented"));
    }
    for paragraph in paragraphs(line.about.iter().map(String::as_str)) {
        text.push_str(&wrap(&paragraph, 2));
    }
    match parameters(line.schema(), line.schema(), paint) {
        Some(shown) => {
            let place = format!("(next to {key} in a scenario)");
            let _ = writeln!(text, "\n{} {place}", paint.bold("Parameters"));
            text.push_str(&shown);
        }
        None if key.starts_with("queue") => {
            text.push_str("\nIt has no parameters besides the limit.\n");
        }
        None => text.push_str("\nIt has no parameters.\n"),
    }
    let key = match key.split_once('.') {
        Some((top @ ("queue" | "port"), rest)) => format!("link_defaults.{top}.{rest}"),
        _ => key.to_string(),
    };
    let _ = writeln!(text, "\nTry: forebay run dumbbell --set {key}={name}");
    text
}
