//! Which keys a protocol ignores: its results are the same at all their values.

use super::Manifest;
use super::columns::places;
use forebay_report::Cell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most results that are remembered to compare others with.
const MAX_KNOWN: usize = 1_000_000;

/// Notes on the rows of a sweep, with the numbers of their runs: a note for each key that a
/// protocol ignores.
pub fn ignored_keys<'a>(
    manifest: &Manifest,
    rows: impl Iterator<Item = (u64, &'a [Cell])>,
) -> Vec<String> {
    let mut ignored = Ignored::new(manifest);
    for (number, cells) in rows {
        ignored.see(number, cells);
    }
    ignored.notes()
}

/// Compares the results of a protocol and a seed that differ in one axis alone.
pub(super) struct Ignored {
    manifest: Manifest,
    /// The column of errors; what follows it is the result.
    error_column: usize,
    /// Columns that say how long it took.
    times: [usize; 2],
    /// By axis and protocol.
    found: Vec<Vec<Compared>>,
    /// By axis, and the number that a run would have at the first value of that axis: its result.
    known: BTreeMap<(usize, u64), u64>,
}

#[derive(Clone, Copy, Default)]
struct Compared {
    same: bool,
    differ: bool,
}

impl Ignored {
    pub fn new(manifest: &Manifest) -> Ignored {
        let [error_column, wall, cpu] = places(&manifest.keys, ["error", "wall_s", "cpu_s"]);
        let times = [wall, cpu];
        let protocols = manifest.protocols.len();
        let found = vec![vec![Compared::default(); protocols]; manifest.axes.len()];
        let known = BTreeMap::new();
        Ignored { manifest: manifest.clone(), error_column, times, found, known }
    }

    /// The row of a run.
    pub fn see(&mut self, number: u64, cells: &[Cell]) {
        if cells[self.error_column] != Cell::Null {
            return;
        }
        let protocols = self.manifest.protocols.len() as u64;
        let of_point = protocols * self.manifest.seeds.len() as u64;
        let protocol = (number % protocols) as usize;
        let mut result = None;
        let mut stride = of_point;
        for axis in (0..self.manifest.axes.len()).rev() {
            let steps = self.manifest.axes[axis].steps;
            let step = number / stride % steps;
            let first = number - step * stride;
            stride *= steps;
            if self.found[axis][protocol].differ || steps < 2 || self.known.len() > MAX_KNOWN {
                continue;
            }
            let own = *result.get_or_insert_with(|| self.digest(cells));
            match self.known.get(&(axis, first)) {
                None => {
                    self.known.insert((axis, first), own);
                }
                Some(other) if *other == own => self.found[axis][protocol].same = true,
                Some(_) => self.found[axis][protocol].differ = true,
            }
        }
    }

    fn digest(&self, cells: &[Cell]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (place, cell) in cells.iter().enumerate().skip(self.error_column + 1) {
            match cell {
                _ if self.times.contains(&place) => {}
                Cell::Null => 0.hash(&mut hasher),
                Cell::Boolean(value) => value.hash(&mut hasher),
                Cell::Integer(value) => value.hash(&mut hasher),
                Cell::Real(value) => value.to_bits().hash(&mut hasher),
                Cell::Text(text) => text.hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// One for each key that a protocol ignores.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (axis, protocols) in self.manifest.axes.iter().zip(&self.found) {
            let keys = axis.keys.iter().map(|&key| self.manifest.keys[key].key.as_str());
            let keys = keys.collect::<Vec<_>>().join(", ");
            for (protocol, found) in self.manifest.protocols.iter().zip(protocols) {
                if found.same && !found.differ {
                    notes.push(format!(
                        "{protocol} ignores {keys}: its results are the same at every value"
                    ));
                }
            }
        }
        notes
    }
}
