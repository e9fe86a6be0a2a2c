//! A metric over two keys: for each protocol a field of colours.

use super::Quantity;
use super::read::{Measured, Sweep};
use super::scale::{KeyScale, ValueScale};
use crate::escape::html;
use crate::look::Protocol;
use std::fmt::Write;

/// Most cells of a field, and of one whose cells have their value written in them.
const MAX_CELLS: usize = 4_000;
const MAX_WRITTEN: usize = 150;
/// Height of a row, in the units of the picture.
const ROW: f64 = 26.0;
const AREA: [f64; 3] = [96.0, 8.0, 352.0];
const WIDTH: f64 = 460.0;

/// Least to most: the map "cividis" of Nuñez, Anderton and Renslow (2018,
/// doi:10.1371/journal.pone.0199239), whose colours are in order of brightness for everyone, at
/// equal steps.
const COLOURS: [[f64; 3]; 6] = [
    [0.0, 32.0, 77.0],
    [60.0, 77.0, 110.0],
    [105.0, 106.0, 117.0],
    [151.0, 143.0, 120.0],
    [204.0, 186.0, 98.0],
    [255.0, 234.0, 70.0],
];

/// The fields of a metric; empty unless two keys, or groups of keys, are swept.
pub(super) fn maps(
    sweep: &Sweep,
    protocols: &[Protocol],
    quantity: &Quantity,
    measured: &Measured,
) -> String {
    let [a, b] = sweep.record.axes.as_slice() else { return String::new() };
    let (rows, columns) = (a.steps as usize, b.steps as usize);
    if rows < 2 || columns < 2 || rows * columns > MAX_CELLS {
        return String::new();
    }
    let axes = [KeyScale::of(sweep, 0), KeyScale::of(sweep, 1)];
    let values = ValueScale::of(quantity.unit, measured.most());
    let means = || measured.all().map(|of| of.mean);
    let range = [means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max)];
    let field = Field { sweep, axes: &axes, values: &values, range, rows, columns };
    let mut all = String::new();
    for (number, look) in protocols.iter().enumerate() {
        let _ = write!(
            all,
            "<figure><figcaption><span>{}{}</span></figcaption>{}</figure>",
            look.picture(),
            html(&look.title),
            field.svg(number, measured)
        );
    }
    let bar = field.colour_bar();
    format!(
        "<details><summary>Both keys at once</summary>{bar}<div class=lines>{all}</div></details>"
    )
}

struct Field<'a> {
    sweep: &'a Sweep,
    axes: &'a [KeyScale; 2],
    values: &'a ValueScale,
    range: [f64; 2],
    rows: usize,
    columns: usize,
}

impl Field<'_> {
    /// From 0 to 1 between the least and the largest mean of all protocols.
    fn share(&self, value: f64) -> f64 {
        let [low, high] = self.range;
        if high > low { (value - low) / (high - low) } else { 0.5 }
    }

    fn svg(&self, protocol: usize, measured: &Measured) -> String {
        let row_height = (ROW * 12.0 / self.rows as f64).min(ROW);
        let height = row_height * self.rows as f64;
        let cell_width = AREA[2] / self.columns as f64;
        let bottom = AREA[1] + height;
        let mut svg = format!("<svg class=plot viewBox='0 0 {WIDTH} {}' role=img>", bottom + 44.0);
        for row in 0..self.rows {
            for column in 0..self.columns {
                let Some(point) = self.sweep.point(&[row, column]) else { continue };
                let [x, y] = [
                    AREA[0] + cell_width * column as f64,
                    // The first value of the first key is at the bottom.
                    bottom - row_height * (row + 1) as f64,
                ];
                let size = [x, y, cell_width, row_height];
                self.cell(point, measured.at(point, protocol).map(|of| of.mean), size, &mut svg);
            }
        }
        self.names(bottom, row_height, cell_width, &mut svg);
        svg.push_str("</svg>");
        svg
    }

    fn cell(&self, point: usize, mean: Option<f64>, size: [f64; 4], svg: &mut String) {
        let [x, y, width, height] = size;
        let steps = self.sweep.steps(point);
        let place = [0, 1].map(|axis| self.axes[axis].labels[steps[axis]].as_str()).join(", ");
        let Some(mean) = mean else {
            let title = html(&format!("{place}: no result"));
            let _ = write!(
                svg,
                "<rect class=none x='{x:.1}' y='{y:.1}' width='{width:.1}' height='{height:.1}'>\
                 <title>{title}</title></rect>"
            );
            return;
        };
        let (share, title) = (self.share(mean), format!("{place}: {}", self.values.words(mean)));
        let text = if self.rows * self.columns <= MAX_WRITTEN && width > 26.0 && height > 11.0 {
            let ink = if share > 0.55 { "#000" } else { "#fff" };
            format!(
                "<text class=cell x='{:.1}' y='{:.1}' style='--on:{ink}'>{}</text>",
                x + width / 2.0,
                y + height / 2.0,
                self.values.short(mean)
            )
        } else {
            String::new()
        };
        let _ = write!(
            svg,
            "<a href='#point-{point}'><title>{}</title><rect x='{x:.1}' y='{y:.1}' \
             width='{width:.1}' height='{height:.1}' fill='{}'/>{text}</a>",
            html(&title),
            colour(share)
        );
    }

    fn names(&self, bottom: f64, row_height: f64, cell_width: f64, svg: &mut String) {
        let every = (14.0 / row_height).ceil().max(1.0) as usize;
        for row in (0..self.rows).step_by(every) {
            let y = bottom - row_height * (row as f64 + 0.5);
            let name = html(&self.axes[0].labels[row]);
            let _ = write!(svg, "<text class=y x='{:.1}' y='{y:.1}'>{name}</text>", AREA[0] - 6.0);
        }
        let widest = self.axes[1].labels.iter().map(|label| label.chars().count()).max();
        let every = (7.0 * widest.unwrap_or(1) as f64 / cell_width).ceil().max(1.0) as usize;
        for column in (0..self.columns).step_by(every) {
            let x = AREA[0] + cell_width * (column as f64 + 0.5);
            let name = html(&self.axes[1].labels[column]);
            let _ = write!(svg, "<text class=x x='{x:.1}' y='{:.1}'>{name}</text>", bottom + 16.0);
        }
        let keys = self.sweep.record.axes.iter().map(|axis| {
            let names = axis.keys.iter().map(|key| self.sweep.record.keys[*key].key.as_str());
            names.collect::<Vec<_>>().join(", ")
        });
        let title = html(&keys.collect::<Vec<_>>().join(" (up), "));
        let _ = write!(
            svg,
            "<text class=title x='{:.1}' y='{:.1}'>{title} (right)</text>",
            AREA[0] + AREA[2] / 2.0,
            bottom + 36.0
        );
    }

    fn colour_bar(&self) -> String {
        let colours: Vec<String> = (0..=5).map(|i| colour(f64::from(i) / 5.0)).collect();
        let [low, high] = self.range.map(|value| html(&self.values.words(value)));
        format!(
            "<p class=key>{low} <i class=colours style='background:linear-gradient(90deg,{})'></i> \
             {high}</p>",
            colours.join(",")
        )
    }
}

fn colour(share: f64) -> String {
    let at = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let below = (at.floor() as usize).min(COLOURS.len() - 2);
    let rest = at - below as f64;
    let part = |i: usize| {
        (COLOURS[below][i] + (COLOURS[below + 1][i] - COLOURS[below][i]) * rest).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(0), part(1), part(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_grow_brighter() {
        let brightness = |share: f64| {
            let text = colour(share);
            let part = |at: usize| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap());
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let all: Vec<f64> = (0..=100).map(|i| brightness(f64::from(i) / 100.0)).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((colour(0.0).as_str(), colour(2.0).as_str()), ("#00204d", "#ffea46"));
    }
}
