//! `--junit FILE`: whether runs and expectations succeeded, as the XML that CI systems show.
//!
//! The elements are those of Jenkins' schema that others read too: `testsuites`, `testsuite`,
//! `testcase`, and in it `failure`, `error` or `skipped`. A suite is a scenario; a case is an
//! expectation under a protocol, and for each protocol that its runs came to their end.

use crate::expect;
use crate::output::Target;
use crate::xml::escaped;
use forebay_lab::scenario::Name;
use forebay_lab::{ExpectationResult, RunError, RunKey, Status, Summary};
use std::fmt::Write;
use std::path::Path;

/// How each file begins.
const HEAD: &str =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"forebay\" tests=";

/// The file that `--junit` names.
pub fn target(path: &Path, force: bool) -> Target<'_> {
    Target { path, option: "--junit", head: HEAD, force }
}

/// What a case came to.
enum Verdict {
    Passed,
    Failed(String),
    Error(String),
    Skipped(String),
}

struct Case {
    protocol: String,
    name: String,
    /// Wall-clock time of the runs, in seconds.
    time_s: f64,
    verdict: Verdict,
}

/// The file of the results of a scenario under `protocols`. Writing to the string cannot fail.
pub fn text(summary: &Summary, protocols: &[Name], error: Option<&(RunKey, RunError)>) -> String {
    let of_runs = protocols.iter().map(|protocol| runs(summary, protocol, error));
    let cases: Vec<Case> = of_runs.chain(summary.expectations.iter().map(case)).collect();
    let count = |is: fn(&Verdict) -> bool| cases.iter().filter(|case| is(&case.verdict)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        cases.len(),
        count(|verdict| matches!(verdict, Verdict::Failed(_))),
        count(|verdict| matches!(verdict, Verdict::Error(_))),
        count(|verdict| matches!(verdict, Verdict::Skipped(_))),
        cases.iter().map(|case| case.time_s).sum::<f64>(),
    );
    let suite = escaped(&summary.scenario);
    let mut text = HEAD.to_string();
    let _ = writeln!(text, "{}>", counts.trim_start_matches("tests="));
    let _ = writeln!(text, "  <testsuite name=\"{suite}\" {counts}>");
    for Case { protocol, name, time_s, verdict } in &cases {
        let (class, name) = (escaped(protocol), escaped(name));
        let _ = write!(
            text,
            "    <testcase classname=\"{suite}.{class}\" name=\"{name}\" time=\"{time_s:.3}\""
        );
        let inner = match verdict {
            Verdict::Passed => {
                text.push_str("/>\n");
                continue;
            }
            Verdict::Failed(why) => {
                format!("failure type=\"expectation\" message=\"{}\"", escaped(why))
            }
            Verdict::Error(why) => format!("error type=\"run\" message=\"{}\"", escaped(why)),
            Verdict::Skipped(why) => format!("skipped message=\"{}\"", escaped(why)),
        };
        let _ = writeln!(text, ">\n      <{inner}/>\n    </testcase>");
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// That the runs under a protocol came to their end.
fn runs(summary: &Summary, protocol: &str, error: Option<&(RunKey, RunError)>) -> Case {
    let mine = summary.runs.iter().filter(|run| run.protocol == protocol);
    let missing = summary.missing.iter().filter(|run| run.protocol == protocol).count();
    let verdict = match error.filter(|(key, _)| key.protocol == protocol) {
        Some((key, error)) => Verdict::Error(format!("seed {}: {error}", key.seed)),
        None if missing > 0 => Verdict::Skipped(format!("{missing} runs are missing")),
        None => Verdict::Passed,
    };
    let time_s = mine.map(|run| run.wall_s).sum();
    Case { protocol: protocol.to_string(), name: "runs".to_string(), time_s, verdict }
}

fn case(of: &ExpectationResult) -> Case {
    let outcome = || expect::outcome(of);
    let verdict = match of.status {
        Status::Passes => Verdict::Passed,
        Status::Fails => Verdict::Failed(outcome()),
        Status::Unchecked => Verdict::Skipped(outcome()),
    };
    Case { protocol: of.protocol.clone(), name: expect::title(of), time_s: 0.0, verdict }
}
