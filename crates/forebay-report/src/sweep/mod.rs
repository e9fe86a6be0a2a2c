//! `report.html` of a sweep: metrics over the keys that are swept. It needs no script.
//!
//! `read` gathers the rows of the table by point and protocol, `scale` says where a value of a key
//! or of a metric is, `lines` draws a metric over one key, `heat` over two, `points` lists the
//! points with the command that makes the report of each.

mod heat;
mod lines;
mod points;
mod read;
pub(super) mod rows;
mod scale;

use crate::error::ReportError;
use crate::escape::html;
use crate::figures::ranges;
use crate::look::{Looks, Protocol};
use crate::{METRICS, MetricDoc, REPORT_NAME, Unit, put};
use read::{Measured, Sweep};
use std::path::{Path, PathBuf};

const STYLE: &str = include_str!("../../assets/report.css");
const SWEEP_STYLE: &str = include_str!("../../assets/sweep.css");
/// Nothing is fetched, whatever stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

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

/// A metric as it is drawn.
pub(super) struct Quantity {
    pub label: &'static str,
    pub meaning: &'static str,
    pub unit: Unit,
    /// What is drawn: the number in the table times this, in `unit`.
    pub scale: f64,
    /// The column of the table.
    pub column: &'static str,
}

/// Those of [`DRAWN`].
fn quantities() -> Vec<Quantity> {
    let of = |name: &'static str| match METRICS.iter().find(|m| m.name == name && m.in_table) {
        Some(MetricDoc { label, meaning, shown, scale, .. }) => {
            Quantity { label, meaning, unit: *shown, scale: *scale, column: name }
        }
        None => Quantity {
            label: "utilisation",
            meaning: "busy share of the busiest link between routers, in one direction",
            unit: Unit::Share,
            scale: 1.0,
            column: name,
        },
    };
    DRAWN.into_iter().map(of).collect()
}

/// Make `report.html` in `folder`, which holds the table of a sweep, and give its path. One that is
/// there is replaced. Errors as [`write_report`](crate::write_report).
pub fn write_sweep_report(folder: &Path) -> Result<PathBuf, ReportError> {
    let path = folder.join(REPORT_NAME);
    put(&path, page(&Sweep::read(folder, &quantities())?))?;
    Ok(path)
}

/// The whole page.
fn page(sweep: &Sweep) -> String {
    let looks = Looks::new(sweep.record.protocols.iter().map(String::as_str), std::iter::empty());
    let protocols: Vec<Protocol> =
        sweep.record.protocols.iter().map(|name| looks.of(name, "")).collect();
    let quantities = quantities();
    let sections: String = quantities
        .iter()
        .zip(&sweep.measured)
        .map(|(quantity, measured)| section(sweep, &protocols, quantity, measured))
        .collect();
    let one = if sweep.record.axes.len() == 1 { " one" } else { "" };
    let none = "<p>No run has a result, so there is nothing to draw.</p>";
    let sections = if sections.is_empty() { none.to_string() } else { sections };
    let (title, version) = (html(&sweep.record.scenario), env!("CARGO_PKG_VERSION"));
    let (policy, header) = (html(POLICY), header(sweep));
    let (notes, points) = (notes(sweep), points::section(sweep));
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta http-equiv=Content-Security-Policy content=\"{policy}\">\
         <meta name=viewport content='width=device-width,initial-scale=1'>\
         <meta name=generator content='Forebay {version}'>\n<title>{title}</title>\n\
         <style>{STYLE}\n{SWEEP_STYLE}</style></head>\n<body class=sweep>\n\
         <header><h1>{title}</h1>{header}</header>\n<main>\n{notes}{legend}\n\
         <div class='metrics{one}'>{sections}</div>\n{points}\n\
         </main>\n</body></html>\n",
        legend = legend(&protocols),
    )
}

fn header(sweep: &Sweep) -> String {
    let record = &sweep.record;
    let keys: Vec<String> =
        record.keys.iter().map(|key| format!("<code>{}</code>", html(&key.key))).collect();
    let (seeds, version) = (ranges(&record.seeds), html(&record.forebay));
    let word = if record.seeds.len() == 1 { "seed" } else { "seeds" };
    let mean = if record.seeds.len() == 1 {
        ""
    } else {
        " Lines are means with 95 % confidence intervals over the seeds."
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
            "{} of {} runs failed and are missing in the plots: the column error of sweep.parquet \
             says why.",
            record.failed, record.rows
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
