//! The fluid reference against closed forms, and against a linear program that is written another
//! way.

mod detours;
mod oracle;
mod random;
mod scenarios;
mod several_paths;
mod share;
mod shares_by_hand;

/// Equal up to `by`, relative to the larger.
pub fn close(a: f64, b: f64, by: f64) {
    assert!((a - b).abs() <= by * a.abs().max(b.abs()), "{a} is not {b}");
}
