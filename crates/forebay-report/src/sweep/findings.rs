//! What a reader wants to know of many paths, each with a flow alone and with one beside the
//! baseline: on how many of them a protocol is far from the baseline, how far at most, and what it
//! has beside it.

use super::read::{Measured, Sweep};
use super::scale::KeyScale;
use super::table::quantities;
use crate::error::ReportError;
use crate::escape::html;
use crate::figures::{four_digits, ranges};
use crate::look::Protocol;
use std::fmt::Write;
use std::path::Path;

/// The step of an axis at which a flow is alone.
const ALONE: &str = "alone";
/// Goodput below this share of the baseline's is a loss.
const LOSS: f64 = 0.9;
/// Delay over this many times the baseline's is long, under its inverse short.
const LONG: f64 = 2.0;
/// A share of packets over this that are sent again is much.
const MUCH: f64 = 0.05;

/// Heads of the columns after that of the protocol.
const HEADS: [&str; 8] = [
    "goodput below 90 %, paths",
    "least goodput, %",
    "delay over twice, paths",
    "delay under half, paths",
    "over 5 % sent again, paths",
    "least share beside, %",
    "median, %",
    "most, %",
];

/// A row for each protocol.
pub(super) struct Findings {
    baseline: String,
    /// Paths on which a flow is alone.
    paths: usize,
    /// By protocol.
    rows: Vec<[String; HEADS.len()]>,
}

/// The table of the sweep in `folder` as Markdown. Errors if it cannot be read, or has no flows
/// alone and beside its baseline.
pub fn sweep_findings(folder: &Path) -> Result<String, ReportError> {
    let sweep = Sweep::read(folder, &quantities())?;
    let findings = Findings::of(&sweep, &sweep.measured).ok_or_else(|| {
        let why = format!("has no points `{ALONE}` and beside its baseline");
        ReportError::NotResults { path: folder.to_path_buf(), why }
    })?;
    Ok(findings.markdown(&sweep))
}

impl Findings {
    /// `measured`: of the quantities of the table. None if a sweep has no flows alone, or none
    /// beside the baseline.
    pub fn of(sweep: &Sweep, measured: &[Measured]) -> Option<Findings> {
        let baseline = sweep.record.baseline.clone()?;
        let protocols = &sweep.record.protocols;
        let place = protocols.iter().position(|name| *name == baseline)?;
        let beside = format!("beside-{baseline}");
        let company = sweep.record.axes.iter().position(|axis| {
            [ALONE, &beside].iter().all(|step| axis.names.iter().any(|name| name == step))
        })?;
        let points = |step: &str| -> Vec<(usize, String)> {
            let names = &sweep.record.axes[company].names;
            let has = |point: &usize| names[sweep.steps(*point)[company]] == step;
            let all = (0..sweep.points.len()).filter(has);
            all.map(|point| (point, path(sweep, company, point))).collect()
        };
        let (alone, beside) = (points(ALONE), points(&beside));
        let of = |column: &str| {
            let of = quantities().iter().position(|of| of.columns.contains(&column));
            &measured[of.expect("a column of the table")]
        };
        let goodput = of("goodput_bps");
        let delay = of("first_class_delay_p95_ms");
        let again = of("first_class_retransmit_share");
        let share = of("first_class_goodput_share");
        let row = |protocol: usize| {
            let ratio = |of: &Measured| relative(of, &alone, protocol, place);
            let (goodput, delay) = (ratio(goodput), ratio(delay));
            let beside = sorted(values(share, &beside, protocol));
            let again = values(again, &alone, protocol);
            [
                count(&goodput, |ratio| ratio < LOSS),
                named_percent(sorted(goodput.clone()).first()),
                count(&delay, |ratio| ratio > LONG),
                count(&delay, |ratio| ratio < 1.0 / LONG),
                count(&again, |share| share > MUCH),
                named_percent(beside.first()),
                percent(median(&beside)),
                percent(beside.last().map(|(_, share)| *share)),
            ]
        };
        let rows = (0..protocols.len()).map(row).collect();
        Some(Findings { baseline, paths: alone.len(), rows })
    }

    fn about(&self) -> String {
        let (of, paths) = (&self.baseline, self.paths);
        format!(
            "A flow alone on {paths} paths against {of} on the same: paths with goodput below\n\
             90 % of that of {of}, and the least; with a delay (p95) over twice that of {of},\n\
             and under half; with over 5 % of packets sent again. Then the share of goodput\n\
             beside {of}, of which 50 % is equal. Means over the seeds."
        )
    }

    fn markdown(&self, sweep: &Sweep) -> String {
        let record = &sweep.record;
        let lines = "---:|".repeat(HEADS.len());
        let mut text = format!(
            "Forebay {}, seeds {}.\n{}\n\n| protocol | {} |\n|:---|{lines}\n",
            record.forebay,
            ranges(&record.seeds),
            self.about(),
            HEADS.join(" | "),
        );
        for (protocol, cells) in record.protocols.iter().zip(&self.rows) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {} | {} |", html(protocol), cells.join(" | "));
        }
        text
    }

    /// The section of the page.
    pub fn section(&self, protocols: &[Protocol]) -> String {
        let heads: String =
            HEADS.iter().map(|head| format!("<th scope=col>{}</th>", html(head))).collect();
        let mut body = String::new();
        for (look, cells) in protocols.iter().zip(&self.rows) {
            let cells: String =
                cells.iter().map(|cell| format!("<td>{}</td>", html(cell))).collect();
            let (picture, title) = (look.picture(), html(&look.title));
            let _ = writeln!(body, "<tr><th scope=row>{picture}{title}</th>{cells}</tr>");
        }
        format!(
            "<section id=findings><h2>Findings</h2><p class=about>{}</p><div class=wide><table>\
             <thead><tr><th scope=col class=name>protocol</th>{heads}</tr></thead><tbody>{body}\
             </tbody></table></div></section>\n",
            html(&self.about()),
        )
    }
}

/// What a point is called without its company.
fn path(sweep: &Sweep, company: usize, point: usize) -> String {
    let steps = sweep.steps(point);
    let others = (0..steps.len()).filter(|axis| *axis != company);
    let names = others.map(|axis| KeyScale::of(sweep, axis).labels[steps[axis]].clone());
    names.collect::<Vec<_>>().join(", ")
}

/// Paths with their values, of those that have one.
type Values = Vec<(String, f64)>;

fn values(of: &Measured, points: &[(usize, String)], protocol: usize) -> Values {
    let value = |(point, name): &(usize, String)| {
        of.at(*point, protocol).map(|value| (name.clone(), value.mean))
    };
    points.iter().filter_map(value).collect()
}

/// What a protocol has over what the baseline has, where both have something.
fn relative(of: &Measured, points: &[(usize, String)], protocol: usize, baseline: usize) -> Values {
    let ratio = |(point, name): &(usize, String)| {
        let of = [protocol, baseline].map(|which| of.at(*point, which));
        let [Some(own), Some(other)] = of else { return None };
        (other.mean > 0.0).then(|| (name.clone(), own.mean / other.mean))
    };
    points.iter().filter_map(ratio).collect()
}

fn sorted(mut values: Values) -> Values {
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    values
}

/// Of values in order; of an even number the mean of the two in the middle.
fn median(sorted: &Values) -> Option<f64> {
    let middle = [sorted.len().checked_sub(1)? / 2, sorted.len() / 2];
    let [low, high] = middle.map(|place| sorted[place].1);
    Some((low + high) / 2.0)
}

/// How many there are; "-" without any value.
fn count(values: &Values, is: impl Fn(f64) -> bool) -> String {
    if values.is_empty() {
        return "-".to_string();
    }
    values.iter().filter(|(_, value)| is(*value)).count().to_string()
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_string(), |share| four_digits(100.0 * share))
}

fn named_percent(of: Option<&(String, f64)>) -> String {
    of.map_or("-".to_string(), |(name, share)| format!("{} ({name})", percent(Some(*share))))
}
