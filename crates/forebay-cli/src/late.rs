//! `--late`: packets leave for links as late as they do at a busy machine.

use crate::failure::Failure;
use forebay_base::Span;
use forebay_base::units::{Quantity, TIMES};
use forebay_lab::directed_links;
use forebay_lab::scenario::Scenario;
use forebay_net::{Buckets, Lateness};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Longer lateness is an outage.
const MOST: Span = Span::from_secs(1000);
const EXPECTED: &str = "expected a time such as 50us, exp:TIME with the mean of an exponential \
                        distribution, or a JSON file of `forebay live`";

/// One `--late`: which links, and by how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Late {
    /// Directed links by name, separated by commas; None: all.
    links: Option<String>,
    how: How,
}

#[derive(Clone, Debug, PartialEq)]
enum How {
    Known(Lateness),
    /// Results of live runs.
    File(PathBuf),
}

impl FromStr for Late {
    type Err = String;
    fn from_str(text: &str) -> Result<Late, String> {
        let (links, how) = match text.split_once('=') {
            Some((links, how)) => (Some(links.to_string()), how),
            None => (None, text),
        };
        let how = match how.strip_prefix("exp:") {
            Some(mean) => How::Known(Lateness::Exponential(time(mean)?)),
            None if how.ends_with(".json") => How::File(PathBuf::from(how)),
            None => How::Known(Lateness::Constant(time(how)?)),
        };
        Ok(Late { links, how })
    }
}

fn time(text: &str) -> Result<Span, String> {
    let read = Quantity::read(text).ok();
    let ns = read.and_then(|read| Some(read.scaled(TIMES.factor(read.unit)?)));
    let span = ns.and_then(|ns| u64::try_from(ns).ok()).map(Span::from_nanos);
    span.filter(|&span| span <= MOST).ok_or_else(|| EXPECTED.to_string())
}

/// Make links of a scenario late. Of two that are about one link the later holds.
pub fn apply(all: &[Late], scenario: &mut Scenario) -> Result<(), Failure> {
    let at = |what: &dyn std::fmt::Display| Failure::input(format!("--late: {what}"));
    for late in all {
        let how = match &late.how {
            How::Known(how) => how.clone(),
            How::File(path) => recorded(path).map_err(|why| at(&why))?,
        };
        let links = late.links.as_ref().map(|names| directed_links(names, scenario));
        let links = links.transpose().map_err(|error| at(&error))?;
        let numbered = scenario.links.iter_mut().enumerate();
        let directions = numbered.flat_map(|(number, link)| {
            [(2 * number, &mut link.forward), (2 * number + 1, &mut link.reverse)]
        });
        for (number, direction) in directions {
            if links.as_ref().is_none_or(|links| links.iter().any(|of| of.index() == number)) {
                direction.wire.late = Some(how.clone());
            }
        }
    }
    Ok(())
}

/// What is read of results; the rest is not looked at.
#[derive(Deserialize)]
struct Results {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    wire: Option<Wire>,
}

#[derive(Deserialize)]
struct Wire {
    late_us: Vec<(f64, f64, u64)>,
}

/// The lateness of all live runs in a file of results.
fn recorded(path: &Path) -> Result<Lateness, String> {
    let shown = path.display();
    let text = std::fs::read(path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    let results: Results =
        serde_json::from_slice(&text).map_err(|error| format!("`{shown}`: {error}"))?;
    let buckets = results.runs.into_iter().filter_map(|run| run.wire).flat_map(|wire| wire.late_us);
    let span = |us: f64| Span::from_nanos((us * 1e3).round() as u64).min(MOST);
    let buckets = Buckets::new(buckets.map(|(from, to, packets)| (span(from), span(to), packets)));
    let none = || {
        format!(
            "`{shown}` has no lateness of live runs\n\
             hint: `forebay live SCENARIO --json > FILE` writes one"
        )
    };
    buckets.map(Lateness::Recorded).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_a_time_a_mean_or_a_file() {
        let read = |text: &str| text.parse::<Late>();
        let late = |links: Option<&str>, how| Ok(Late { links: links.map(String::from), how });
        let constant = How::Known(Lateness::Constant(Span::from_micros(50)));
        assert_eq!(read("50us"), late(None, constant.clone()));
        assert_eq!(read("a-b,b-a=0.05ms"), late(Some("a-b,b-a"), constant));
        let exponential = How::Known(Lateness::Exponential(Span::from_micros(40)));
        assert_eq!(read("exp:40us"), late(None, exponential));
        assert_eq!(read("live.json"), late(None, How::File("live.json".into())));
        for wrong in ["", "50", "exp:", "exp:x", "-1us", "2000s", "a-b=", "uniform:3us"] {
            assert_eq!(read(wrong), Err(EXPECTED.to_string()), "{wrong}");
        }
    }
}
