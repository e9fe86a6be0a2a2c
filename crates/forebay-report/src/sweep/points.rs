//! The points of a sweep, each with the command that makes its own report.

use super::read::Sweep;
use super::rows::Cell;
use super::scale::key_value;
use crate::escape::{html, shell};
use crate::figures::ranges;
use std::fmt::Write;

/// Most points that are listed.
const MAX_LISTED: usize = 1_000;

/// The list.
pub(super) fn section(sweep: &Sweep) -> String {
    let record = &sweep.record;
    let mut heads = String::from("<th>point</th>");
    for key in &record.keys {
        let _ = write!(heads, "<th>{}</th>", html(&key.key));
    }
    let mut rows = String::new();
    for (number, point) in sweep.points.iter().enumerate().take(MAX_LISTED) {
        // A shard does not have all.
        if point.values.is_empty() {
            continue;
        }
        let name = point.name.clone().unwrap_or_else(|| number.to_string());
        let _ = write!(rows, "<tr id=point-{number}><th>{}</th>", html(&name));
        for (key, value) in record.keys.iter().zip(&point.values) {
            let text = value.as_ref().map_or("-".to_string(), |cell| key_value(key, cell));
            let _ = write!(rows, "<td>{}</td>", html(&text));
        }
        let failed = if point.failed { " <em>failed</em>" } else { "" };
        let _ =
            write!(rows, "<td><code>{}</code>{failed}</td></tr>", html(&command(sweep, number)));
    }
    let more = match sweep.points.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!("<p class=about>and {more} more in sweep.parquet</p>"),
    };
    format!(
        "<section id=points><h2>Points</h2><p class=about>The command makes the report of a point, \
         with its flows and series: a sweep keeps none of them.</p><div class=wide><table><thead>\
         <tr>{heads}<th>its own report</th></tr></thead><tbody>{rows}</tbody></table></div>{more}\
         </section>"
    )
}

/// The command that runs a point alone, also of a scenario that is a sweep itself.
fn command(sweep: &Sweep, number: usize) -> String {
    let record = &sweep.record;
    let mut text = format!("forebay run {} --set 'sweep=[]'", shell(&record.scenario));
    for set in &record.set {
        let _ = write!(text, " --set {}", shell(set));
    }
    for (key, value) in record.keys.iter().zip(&sweep.points[number].values) {
        let Some(cell) = value else { continue };
        let value = match cell {
            Cell::Real(value) if key.unit == "packets" || key.unit == "BDP" => {
                format!("{value}{}", key.unit)
            }
            Cell::Real(value) if key.unit == "s" => format!("{}ns", (value * 1e9).round()),
            Cell::Real(value) => format!("{value}{}", key.unit),
            Cell::Text(text) => text.clone(),
            other => key_value(key, other),
        };
        let _ = write!(text, " --set {}", shell(&format!("{}={value}", key.key)));
    }
    let seeds = match ranges(&record.seeds) {
        seeds if seeds.contains([',', '.']) => seeds.replace(' ', ""),
        seed => format!("{seed}..{seed}"),
    };
    let protocols = shell(&record.protocols.join(","));
    let _ = write!(text, " --protocol {protocols} --seeds {seeds} --out point-{number}");
    text
}
