//! What a person or a program reads of the rows of a sweep.

use super::{places, seeds, shown};
use crate::failure::Failure;
use crate::terminal::{Estimate, Paint, Table, exact, row};
use forebay_lab::Manifest;
use forebay_lab::report::{Cell, METRICS, MetricDoc, ReportError, SweepRows, Unit};
use forebay_lab::scenario::statistics::interval_within;
use serde_json::{Map, Value as Json, json};
use std::io::{self, Write};

/// Most points that are listed on a terminal.
const MAX_POINTS: usize = 40;
/// The metrics of the terminal: the table has all.
const SHOWN: [&str; 3] = ["goodput_bps", "afct_s", "queue_delay_p95_ms"];

/// A point of the list.
struct ShownPoint {
    number: i64,
    name: Option<String>,
    /// Its keys and their values.
    values_text: String,
    /// By metric of [`SHOWN`] and protocol: the values of its seeds.
    values: Vec<Vec<Vec<f64>>>,
}

/// What is shown of all rows.
pub struct Shown {
    points: Vec<ShownPoint>,
    more_points: u64,
    rows: u64,
    failed: u64,
    first_error: Option<String>,
}

impl Shown {
    /// Read all rows.
    pub fn of(manifest: &Manifest, rows: SweepRows) -> Result<Shown, ReportError> {
        let [protocol, seed, error] = places(manifest, ["run_protocol", "seed", "error"]);
        let metrics = places(manifest, SHOWN);
        let mut all =
            Shown { points: Vec::new(), more_points: 0, rows: 0, failed: 0, first_error: None };
        let mut last = None;
        for cells in rows {
            let cells = cells?;
            all.rows += 1;
            let Cell::Integer(number) = cells[0] else { continue };
            if let Cell::Text(why) = &cells[error] {
                all.failed += 1;
                all.first_error.get_or_insert_with(|| {
                    let (protocol, seed) = (shown(&cells[protocol]), shown(&cells[seed]));
                    format!("point {number} under {protocol} with seed {seed}: {why}")
                });
            }
            if last != Some(number) {
                last = Some(number);
                if all.points.len() < MAX_POINTS {
                    let values = vec![vec![Vec::new(); manifest.protocols.len()]; SHOWN.len()];
                    let name = cells[1].text().map(str::to_string);
                    let values_text = values_text(manifest, &cells);
                    all.points.push(ShownPoint { number, name, values_text, values });
                } else {
                    all.more_points += 1;
                }
            }
            let point = all.points.last_mut().filter(|point| point.number == number);
            let of = cells[protocol].text();
            let place = manifest.protocols.iter().position(|name| Some(name.as_str()) == of);
            if let (Some(point), Some(place)) = (point, place) {
                for (metric, column) in metrics.iter().enumerate() {
                    point.values[metric][place].extend(cells[*column].number());
                }
            }
        }
        Ok(all)
    }

    /// A table for each metric that has values: points by protocols.
    pub fn text(&self, manifest: &Manifest, paint: Paint) -> String {
        let mut text = format!(
            "{}: {} points, seeds {}, {} rows\n",
            manifest.scenario,
            manifest.points,
            seeds(manifest),
            self.rows
        );
        for (place, name) in SHOWN.iter().enumerate() {
            let metric = METRICS.iter().find(|metric| metric.name == *name);
            text.push_str(
                &metric
                    .map_or(String::new(), |metric| self.of_metric(place, metric, manifest, paint)),
            );
        }
        if self.more_points > 0 {
            text.push_str(&format!("and {} more points\n", self.more_points));
        }
        text
    }

    fn of_metric(
        &self,
        place: usize,
        metric: &MetricDoc,
        manifest: &Manifest,
        paint: Paint,
    ) -> String {
        let estimate = |values: &Vec<f64>| {
            let of = interval_within(values, metric.range())?;
            Some(Estimate::from(of.times(metric.scale)))
        };
        let points = self.points.iter().flat_map(|point| &point.values[place]);
        let estimates: Vec<Option<Estimate>> = points.map(estimate).collect();
        if estimates.iter().all(Option::is_none) {
            return String::new();
        }
        let (unit, cells) = row(metric.shown, &estimates);
        let comma = if unit.is_empty() { "" } else { ", " };
        let heading = paint.bold(format!("{}{comma}{unit}", metric.label));
        let mut table = Table::new(manifest.protocols.clone());
        let rows = cells.chunks(manifest.protocols.len());
        for (point, cells) in self.points.iter().zip(rows) {
            table.push(self.label(point), cells.to_vec());
        }
        format!("\n{heading}\n{}", table.render(paint))
    }

    /// The name of a point or its values; both where points of a grid share the name.
    fn label(&self, point: &ShownPoint) -> String {
        let ShownPoint { name, values_text, .. } = point;
        let named = |other: &&ShownPoint| other.name == *name;
        match name {
            Some(name) if self.points.iter().filter(named).count() == 1 => name.clone(),
            Some(name) => format!("{name}, {values_text}"),
            None => values_text.clone(),
        }
    }

    /// What is to be said of runs that failed.
    pub fn failed(&self) -> Option<String> {
        failure(self.failed, self.rows, self.first_error.as_deref())
    }
}

fn failure(failed: u64, rows: u64, first: Option<&str>) -> Option<String> {
    first.map(|first| format!("{failed} of {rows} runs failed, the first: {first}"))
}

/// The values of the keys of a point.
fn values_text(manifest: &Manifest, cells: &[Cell]) -> String {
    let keys = manifest.keys.iter().zip(&cells[4..]);
    let values = keys.filter(|(_, cell)| **cell != Cell::Null).map(|(key, cell)| {
        let unit = match key.unit.as_str() {
            "s" => Some(Unit::Seconds),
            "bit/s" => Some(Unit::BitsPerSecond),
            "B" => Some(Unit::Bytes),
            _ => None,
        };
        let value = match (unit, cell) {
            (Some(unit), Cell::Real(value)) => exact(unit, *value),
            (None, Cell::Real(_)) if !key.unit.is_empty() => {
                format!("{} {}", shown(cell), key.unit)
            }
            _ => shown(cell),
        };
        format!("{} = {value}", key.key)
    });
    values.collect::<Vec<_>>().join(", ")
}

/// One JSON object: what was run, and an object for each row. Gives what is to be said of rows that
/// failed.
pub fn json(
    manifest: &Manifest,
    columns: &[(String, &'static str)],
    notes: &[String],
    rows: SweepRows,
    out: &mut impl Write,
) -> Result<Option<String>, Failure> {
    let (mut number, mut failed, mut first) = (0u64, 0u64, None);
    let sweep = serde_json::to_string(manifest).map_err(io::Error::from)?;
    let notes = serde_json::to_string(notes).map_err(io::Error::from)?;
    write!(out, "{{\"sweep\":{sweep},\"notes\":{notes},\"rows\":[")?;
    for cells in rows {
        let cells = cells.map_err(Failure::run)?;
        let comma = if number > 0 { "," } else { "" };
        let object: Map<String, Json> = columns
            .iter()
            .zip(&cells)
            .map(|((name, _), cell)| (name.clone(), value(cell)))
            .collect();
        if let Some(why) = object.get("error").and_then(Json::as_str) {
            failed += 1;
            first.get_or_insert_with(|| format!("point {}: {why}", object["point"]));
        }
        number += 1;
        write!(out, "{comma}\n{}", Json::Object(object))?;
    }
    writeln!(out, "]}}")?;
    Ok(failure(failed, number, first.as_deref()))
}

fn value(cell: &Cell) -> Json {
    match cell {
        Cell::Null => Json::Null,
        Cell::Boolean(value) => json!(value),
        Cell::Integer(value) => json!(value),
        Cell::Real(value) => json!(value),
        Cell::Text(text) => json!(text),
    }
}
