//! How the rows of a quantity agree, all cases together.

use forebay_lab::reproduce::{ComparedRow, QuantityHead, Verdict};

/// Of one quantity, over all cases.
pub struct Agreement {
    /// Cases within the tolerance.
    pub within: usize,
    /// Cases.
    pub cases: usize,
    /// Ours by the published value: least, geometric mean and most, of the cases where both are
    /// above 0.
    pub ratios: Option<[f64; 3]>,
}

impl Agreement {
    /// That of the rows of the quantity.
    pub fn of(quantity: &QuantityHead, rows: &[&ComparedRow]) -> Agreement {
        let mine = || rows.iter().filter(|row| row.quantity == quantity.quantity);
        let ratio = |row: &&ComparedRow| match (row.measured, row.published) {
            (Some(ours), Some(published)) if ours > 0.0 && published > 0.0 => {
                Some(ours / published)
            }
            _ => None,
        };
        let ratios: Vec<f64> = mine().filter_map(ratio).collect();
        Agreement {
            within: mine().filter(|row| row.verdict == Verdict::Reproduced).count(),
            cases: mine().count(),
            ratios: spread(&ratios),
        }
    }

    /// The ratios in words.
    pub fn ratios_in_words(&self) -> String {
        self.ratios.map_or_else(
            || "-".to_string(),
            |[least, middle, most]| format!("{least:.2} to {most:.2}, {middle:.2}"),
        )
    }
}

/// Least, geometric mean, most.
fn spread(ratios: &[f64]) -> Option<[f64; 3]> {
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    Some([least, (logs / ratios.len() as f64).exp(), most])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_ratios_is_geometric() {
        let [least, middle, most] = spread(&[0.5, 2.0]).unwrap();
        assert_eq!((least, most), (0.5, 2.0));
        assert!((middle - 1.0).abs() < 1e-12, "{middle}");
        assert_eq!(spread(&[]), None);
    }
}
