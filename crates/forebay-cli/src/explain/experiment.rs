//! An experiment of `forebay reproduce`: where it is from, its set-ups, and how it is run.

use crate::terminal::{Paint, wrap};
use forebay_lab::reproduce::{EXPERIMENTS, ExperimentHead};
use std::fmt::Write;

/// The explanation of the experiment `name`; None if there is none.
pub fn text(name: &str, paint: Paint) -> Option<String> {
    let experiment = EXPERIMENTS.iter().find(|experiment| experiment.name == name)?;
    let ExperimentHead { title, source, setups, .. } = experiment.head();
    let mut text = format!("{} - experiment\n\n", paint.bold(name));
    text.push_str(&wrap(&title, 0));
    text.push_str(&wrap(&format!("Source: {source}"), 0));
    text.push('\n');
    for setup in setups {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}", paint.bold(&setup.name));
        if !setup.what.is_empty() {
            text.push_str(&wrap(&setup.what, 6));
        }
        text.push_str(&wrap(&format!("scenario {}", setup.scenario), 6));
    }
    let _ = writeln!(text, "\nTry: forebay reproduce {name} --quick");
    Some(text)
}
