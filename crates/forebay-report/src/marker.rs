//! The shapes of markers, once for all that draws them: the page's own pictures, its script, and
//! the files that the script saves.

use super::escape::html;
use serde::Serialize;
use std::fmt::Write;

/// A marker: strokes in units of its radius, x to the right and y down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Marker {
    pub name: &'static str,
    /// False: its only stroke is filled. True: strokes are drawn.
    open: bool,
    strokes: &'static [&'static [(f32, f32)]],
}

const fn filled(name: &'static str, strokes: &'static [&'static [(f32, f32)]]) -> Marker {
    Marker { name, open: false, strokes }
}
const fn open(name: &'static str, strokes: &'static [&'static [(f32, f32)]]) -> Marker {
    Marker { name, open: true, strokes }
}

/// 16 corners, at a radius of 1.
const CIRCLE: &[(f32, f32)] = &[
    (1.0, 0.0),
    (0.92, 0.38),
    (0.71, 0.71),
    (0.38, 0.92),
    (0.0, 1.0),
    (-0.38, 0.92),
    (-0.71, 0.71),
    (-0.92, 0.38),
    (-1.0, 0.0),
    (-0.92, -0.38),
    (-0.71, -0.71),
    (-0.38, -0.92),
    (0.0, -1.0),
    (0.38, -0.92),
    (0.71, -0.71),
    (0.92, -0.38),
    (1.0, 0.0),
];
const SQUARE: &[(f32, f32)] =
    &[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85), (-0.85, -0.85)];
const UP: &[(f32, f32)] = &[(0.0, -1.1), (1.0, 0.8), (-1.0, 0.8), (0.0, -1.1)];
const DOWN: &[(f32, f32)] = &[(0.0, 1.1), (1.0, -0.8), (-1.0, -0.8), (0.0, 1.1)];
const DIAMOND: &[(f32, f32)] = &[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0), (0.0, -1.2)];
const PENTAGON: &[(f32, f32)] =
    &[(0.0, -1.1), (1.1, -0.25), (0.65, 1.0), (-0.65, 1.0), (-1.1, -0.25), (0.0, -1.1)];
const HOURGLASS: &[(f32, f32)] =
    &[(-0.9, -1.0), (0.9, -1.0), (-0.9, 1.0), (0.9, 1.0), (-0.9, -1.0)];
const BOW: &[(f32, f32)] = &[(-1.0, -0.9), (-1.0, 0.9), (1.0, -0.9), (1.0, 0.9), (-1.0, -0.9)];
const ACROSS: [&[(f32, f32)]; 2] = [&[(-1.1, 0.0), (1.1, 0.0)], &[(0.0, -1.1), (0.0, 1.1)]];
const DIAGONAL: [&[(f32, f32)]; 2] = [&[(-0.9, -0.9), (0.9, 0.9)], &[(-0.9, 0.9), (0.9, -0.9)]];

/// All of them. No two are alike.
pub(super) const MARKERS: [Marker; 16] = [
    filled("circle", &[CIRCLE]),
    filled("square", &[SQUARE]),
    filled("triangle", &[UP]),
    filled("diamond", &[DIAMOND]),
    open("cross", &DIAGONAL),
    open("plus", &ACROSS),
    open("star", &[ACROSS[0], ACROSS[1], DIAGONAL[0], DIAGONAL[1]]),
    filled("pentagon", &[PENTAGON]),
    open("ring", &[CIRCLE]),
    open("box", &[SQUARE]),
    open("open-triangle", &[UP]),
    open("open-diamond", &[DIAMOND]),
    filled("down", &[DOWN]),
    open("open-down", &[DOWN]),
    filled("hourglass", &[HOURGLASS]),
    filled("bow", &[BOW]),
];

/// A marker in a colour, as a picture as high as the text.
pub(super) fn picture(colour: &str, name: &str) -> String {
    format!(
        "<svg class=marker viewBox='-6 -6 12 12' style='--c:{}' aria-hidden=true>{}</svg>",
        html(colour),
        shape(name)
    )
}

/// A marker around the origin, with a radius of 4.5, as what a picture holds.
pub(super) fn shape(name: &str) -> String {
    const RADIUS: f32 = 4.5;
    let marker = MARKERS.iter().find(|marker| marker.name == name).unwrap_or(&MARKERS[0]);
    let mut path = String::new();
    for stroke in marker.strokes {
        for (place, (x, y)) in stroke.iter().enumerate() {
            let letter = if place == 0 { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(path, "{letter}{:.1} {:.1}", x * RADIUS, y * RADIUS);
        }
    }
    let class = if marker.open { " class=open" } else { "" };
    match (marker.strokes[0] == CIRCLE, marker.open) {
        (true, false) => "<circle r='4.5'/>".to_string(),
        (true, true) => "<circle class=open r='4.5'/>".to_string(),
        _ => format!("<path{class} d='{path}'/>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_differ_and_fit_their_picture() {
        for (place, marker) in MARKERS.iter().enumerate() {
            for other in &MARKERS[..place] {
                assert_ne!(marker.name, other.name);
                assert_ne!((marker.open, marker.strokes), (other.open, other.strokes));
            }
            let points = marker.strokes.iter().copied().flatten();
            let reach = points.map(|(x, y)| x.abs().max(y.abs())).fold(0.0, f32::max);
            assert!((0.8..=1.25).contains(&reach), "{}: {reach}", marker.name);
            assert!(marker.open || marker.strokes.len() == 1, "{} is filled", marker.name);
        }
    }
}
