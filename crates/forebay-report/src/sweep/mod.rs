//! `report.html` of a sweep: metrics over the keys that are swept. Sorting needs a script, the rest
//! of it none.
//!
//! `read` gathers the rows of the table by point and protocol, `scale` says where a value of a key
//! or of a metric is, `lines` draws a metric over one key, `heat` over two, `table` has them all to
//! sort and filter, `findings` counts paths, `points` lists the points with the command that makes
//! the report of each.

mod findings;
mod heat;
mod lines;
mod markdown;
mod points;
mod read;
pub(super) mod rows;
mod scale;
mod table;

use crate::error::ReportError;
use crate::escape::html;
use crate::figures::ranges;
use crate::look::{Looks, Protocol};
use crate::{METRICS, MetricDoc, REPORT_NAME, Unit, put};
use findings::Findings;
pub use findings::sweep_findings;
use forebay_metrics::statistics::Range;
pub use markdown::sweep_markdown;
use read::{Measured, Sweep};
use std::path::{Path, PathBuf};

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/sweep.js");
const SWEEP_STYLE: &str = include_str!("../../assets/sweep.css");
/// Nothing is fetched, whatever stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The metrics that the page draws; the table has all.
const DRAWN: [&str; 7] = [
    "goodput_bps",
    "afct_s",
    "queue_delay_p95_ms",
    "one_way_delay_p95_ms",
    "jain_goodput",
    "utilisation",
    "retransmits",
];

/// A number of each run, as it is shown.
pub(super) struct Quantity {
    pub label: &'static str,
    pub meaning: &'static str,
    pub unit: Unit,
    /// What is shown: the number in the table times this, in `unit`.
    pub scale: f64,
    /// The values that it can have.
    pub range: Range,
    /// The columns of the table that have it: of a run the first that has a value.
    pub columns: Vec<&'static str>,
}

/// Those of [`DRAWN`].
fn drawn() -> Vec<Quantity> {
    let of = |name: &'static str| match METRICS.iter().find(|m| m.name == name && m.in_table) {
        Some(metric) => Quantity::of(metric, metric.meaning),
        None => Quantity {
            label: "utilisation",
            meaning: "busy share of the busiest link between routers, in one direction",
            unit: Unit::Share,
            scale: 1.0,
            range: Range::Within(0.0, 1.0),
            columns: vec![name],
        },
    };
    DRAWN.into_iter().map(of).collect()
}

impl Quantity {
    fn of(metric: &'static MetricDoc, meaning: &'static str) -> Quantity {
        let MetricDoc { name, label, shown, scale, .. } = *metric;
        let range = metric.range();
        Quantity { label, meaning, unit: shown, scale, range, columns: vec![name] }
    }
}

/// Make `report.html` in `folder`, which holds the table of a sweep, and give its path. One that is
/// there is replaced. Errors as [`write_report`](crate::write_report).
pub fn write_sweep_report(folder: &Path) -> Result<PathBuf, ReportError> {
    let path = folder.join(REPORT_NAME);
    let (drawn, listed) = (drawn(), table::quantities());
    let quantities: Vec<Quantity> = drawn.into_iter().chain(listed).collect();
    put(&path, page(&Sweep::read(folder, &quantities)?, &quantities))?;
    Ok(path)
}

/// The whole page.
fn page(sweep: &Sweep, quantities: &[Quantity]) -> String {
    let (drawn, listed) = quantities.split_at(DRAWN.len());
    let looks = Looks::new(sweep.record.protocols.iter().map(String::as_str), std::iter::empty());
    let protocols: Vec<Protocol> =
        sweep.record.protocols.iter().map(|name| looks.of(name, "")).collect();
    let measured = sweep.measured.iter().filter(|_| can_be_drawn(sweep));
    let sections: String = drawn
        .iter()
        .zip(measured)
        .map(|(quantity, measured)| section(sweep, &protocols, quantity, measured))
        .collect();
    let one = if sweep.record.axes.len() == 1 { " one" } else { "" };
    let none = "<p>No run has a result, so there is nothing to draw.</p>";
    let nothing = sweep.measured.iter().all(Measured::is_empty);
    let sections = if nothing { none.to_string() } else { sections };
    let plots = format!("<div class='metrics{one}'>{sections}</div>\n");
    let (title, version) = (html(&sweep.record.scenario), env!("CARGO_PKG_VERSION"));
    let (policy, header) = (html(POLICY), header(sweep));
    let (notes, points) = (notes(sweep), points::section(sweep));
    let listed_values = &sweep.measured[drawn.len()..];
    let findings = Findings::of(sweep, listed_values);
    let findings = findings.map_or(String::new(), |of| of.section(&protocols));
    let table = table::section(sweep, &protocols, listed, listed_values);
    // Names have no order that a plot could show: the figures come first.
    let content = if along_numbers(sweep) { plots + &table } else { findings + &table + &plots };
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta http-equiv=Content-Security-Policy content=\"{policy}\">\
         <meta name=viewport content='width=device-width,initial-scale=1'>\
         <meta name=generator content='Forebay {version}'>\n<title>{title}</title>\n\
         <style>{STYLE}\n{SWEEP_STYLE}</style></head>\n<body class=sweep>\n\
         <header><h1>{title}</h1>{header}</header>\n<main>\n{notes}{legend}\n\
         {content}{points}\n\
         </main>\n<script>{SCRIPT}</script>\n</body></html>\n",
        legend = legend(&protocols),
    )
}

fn header(sweep: &Sweep) -> String {
    let record = &sweep.record;
    let axes = (0..record.axes.len()).map(|axis| html(&sweep.axis_title(axis)));
    let keys: Vec<String> = axes.map(|title| format!("<code>{title}</code>")).collect();
    let (seeds, version) = (ranges(&record.seeds), html(&record.forebay));
    let word = if record.seeds.len() == 1 { "seed" } else { "seeds" };
    let mean = if record.seeds.len() == 1 {
        ""
    } else {
        " Values are means with 95 % confidence intervals over the seeds."
    };
    let shard = record.shard.as_ref().map_or(String::new(), |shard| {
        format!(" This is the shard {}: other runs are elsewhere.", html(shard))
    });
    format!(
        "<p class=meta>Forebay {version}: {} points of {}. Every point has the same {word} \
         {seeds}, so that what is random is the same at all of them.{mean}{shard}</p>",
        record.points,
        keys.join(", "),
    )
}

fn notes(sweep: &Sweep) -> String {
    let record = &sweep.record;
    let failed = (record.failed > 0).then(|| {
        format!(
            "{} of {} runs failed and are missing in the plots (the column error of sweep.parquet \
             says which): {}",
            record.failed,
            record.rows,
            sweep.reasons.join("; ")
        )
    });
    let all = failed.iter().chain(&record.notes).chain(&sweep.left_out);
    let items: String = all.map(|note| format!("<li>{}</li>", html(note))).collect();
    if items.is_empty() { items } else { format!("<ul class='notes about'>{items}</ul>") }
}

fn legend(protocols: &[Protocol]) -> String {
    let of = |look: &Protocol| format!("<span>{}{}</span>", look.picture(), html(&look.title));
    format!("<p class=key>{}</p>", protocols.iter().map(of).collect::<String>())
}

/// True if a key with numbers is swept.
fn along_numbers(sweep: &Sweep) -> bool {
    scale::KeyScale::of(sweep, lines::along(sweep)).is_number
}

/// True unless the only axis to draw along has too many names to read, or points with names of
/// their own, which differ in several keys: one scale for all of them shows none of them.
fn can_be_drawn(sweep: &Sweep) -> bool {
    let along = lines::along(sweep);
    let keys = scale::KeyScale::of(sweep, along);
    let named = !sweep.record.axes.get(along).is_none_or(|axis| axis.names.is_empty());
    keys.is_number || (!named && keys.labels.len() <= scale::MAX_NAMES)
}

/// A metric; empty if no run has it.
fn section(
    sweep: &Sweep,
    protocols: &[Protocol],
    quantity: &Quantity,
    measured: &Measured,
) -> String {
    if measured.is_empty() {
        return String::new();
    }
    // Some are about the metric before them in the table.
    let meaning = Some(quantity.meaning).filter(|text| !text.contains("those"));
    let (label, meaning) = (html(quantity.label), html(meaning.unwrap_or_default()));
    let plots = lines::plots(sweep, protocols, quantity, measured);
    let heat = heat::maps(sweep, protocols, quantity, measured);
    format!("<section><h2>{label}</h2><p class=about>{meaning}</p>{plots}{heat}</section>\n")
}
