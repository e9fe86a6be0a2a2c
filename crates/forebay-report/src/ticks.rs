//! Round values at the axes of what the page draws without its script.

/// Round values of a logarithmic axis between two values, so many at most.
pub(super) fn log_steps(from: f64, to: f64, most: usize) -> Vec<f64> {
    let decades = from.log10().floor() as i32..=to.log10().floor() as i32;
    let of = |parts: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|power| {
            parts.iter().map(move |part| decimal(*part, power)).collect::<Vec<_>>()
        });
        all.filter(|tick| (from..=to).contains(tick)).collect()
    };
    let finest = [&[1.0, 2.0, 3.0, 5.0, 7.0][..], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    let found = finest.into_iter().map(of).find(|ticks| ticks.len() <= most);
    found.unwrap_or_else(|| of(&[1.0]))
}

/// `part` times a power of ten, as the number that people would write.
fn decimal(part: f64, power: i32) -> f64 {
    if power < 0 { part / 10f64.powi(-power) } else { part * 10f64.powi(power) }
}

/// Multiples of 1, 2 or 5 times a power of ten between two values, so many at most.
pub(super) fn steps(from: f64, to: f64, most: usize) -> Vec<f64> {
    let raw = (to - from) / most as f64;
    let decade = 10f64.powi(raw.log10().floor() as i32);
    let sizes = [1.0, 2.0, 5.0, 10.0].map(|part| part * decade);
    let size = sizes.into_iter().find(|size| *size >= raw * (1.0 - 1e-9)).unwrap_or(10.0 * decade);
    let first = (from / size - 1e-9).ceil() as i64;
    let ticks = (first..).map(|number| number as f64 * size);
    // What is a whole number of steps has rounding errors behind its last digit.
    let round = |tick: f64| (tick / size).round() * size;
    ticks.map(round).take_while(|tick| *tick <= to * (1.0 + 1e-9)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_few_round_values() {
        assert_eq!(steps(0.0, 21.3, 5), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(steps(41.2, 58.0, 5), [45.0, 50.0, 55.0]);
        assert_eq!(log_steps(0.0385, 6.5, 6), [0.1, 0.3, 1.0, 3.0]);
    }
}
