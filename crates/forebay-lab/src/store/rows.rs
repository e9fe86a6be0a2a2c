//! Rows of series in memory: names stand once, and each row has their numbers.

use super::coded::{Coded, Entries};
use super::table::{Column, count};
use forebay_base::Time;
use forebay_report::{PUBLISHED, Series};
use parquet::data_type::ByteArray;
use std::mem::take;

/// What rows are of. Its name has a number in each group of rows that it has rows in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Entity {
    /// The latest group that it has rows in, from 1; 0 before there is one.
    group: u32,
    number: u32,
}

impl Entity {
    pub fn has_rows(self) -> bool {
        self.group > 0
    }
}

/// A group of rows, all of one run.
pub(super) struct Rows {
    /// From 1.
    group: u32,
    /// Each time, and how many rows are of earlier ones.
    times_ns: Vec<(i64, usize)>,
    /// Names of entities.
    names: Vec<ByteArray>,
    /// Numbers of `names`.
    entities: Vec<u32>,
    /// Numbers of [`Names::all`].
    series: Vec<u32>,
    values: Vec<f64>,
}

impl Rows {
    pub fn new() -> Rows {
        Rows {
            group: 1,
            times_ns: Vec::new(),
            names: Vec::new(),
            entities: Vec::new(),
            series: Vec::new(),
            values: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The rows that follow are of this time.
    pub fn begin(&mut self, at: Time) {
        self.times_ns.push((count(at.as_nanos()), self.values.len()));
    }

    /// The rows that follow may be of this entity.
    pub fn enter(&mut self, entity: &mut Entity, name: impl FnOnce() -> String) -> u32 {
        if entity.group != self.group {
            *entity = Entity { group: self.group, number: self.names.len() as u32 };
            self.names.push(ByteArray::from(name().into_bytes()));
        }
        entity.number
    }

    pub fn push(&mut self, entity: u32, series: Series, value: f64) {
        self.push_numbered(entity, series as u32, value);
    }

    /// Of a series by its number in [`Names`].
    pub fn push_numbered(&mut self, entity: u32, series: u32, value: f64) {
        self.entities.push(entity);
        self.series.push(series);
        self.values.push(value);
    }

    /// The rows as columns; the next group begins.
    pub fn columns(
        &mut self,
        protocol: &ByteArray,
        seed: i64,
        names: &Names,
    ) -> [(&'static str, Column); 7] {
        self.group += 1;
        let rows = self.values.len();
        let times = self.times();
        let (series, entities) = (take(&mut self.series), take(&mut self.entities));
        let [metrics, units] = [0, 1].map(|part| names.coded(&series, part));
        let entities = Coded::of_rows(Entries::Text(take(&mut self.names)), &entities);
        [
            ("run_protocol", constant(Entries::Text(vec![protocol.clone()]), rows)),
            ("seed", constant(Entries::Integers(vec![seed]), rows)),
            ("t_ns", Column::Coded(times)),
            ("entity", Column::Coded(entities)),
            ("metric", metrics),
            ("value", Column::Reals(take(&mut self.values))),
            ("unit", units),
        ]
    }

    fn times(&mut self) -> Coded {
        let begins = take(&mut self.times_ns);
        let ends = begins.iter().skip(1).map(|&(_, end)| end).chain([self.values.len()]);
        let with_rows = begins.iter().zip(ends).map(|(&(t_ns, begin), end)| (t_ns, end - begin));
        let (times_ns, rows): (Vec<i64>, Vec<usize>) =
            with_rows.filter(|&(_, rows)| rows > 0).unzip();
        Coded::of_runs(Entries::Integers(times_ns), (0..).zip(rows))
    }
}

fn constant(entry: Entries, rows: usize) -> Column {
    Column::Coded(Coded::of_runs(entry, (rows > 0).then_some((0, rows))))
}

/// Names and units of series, by number: first those of [`Series::ALL`], then published ones in the
/// order in which they came.
pub(super) struct Names {
    all: Vec<[ByteArray; 2]>,
    /// The published ones: prefix, name and unit.
    published: Vec<[&'static str; 3]>,
}

impl Names {
    pub fn new() -> Names {
        let names = |series: &Series| [series.name(), series.unit()].map(ByteArray::from);
        Names { all: Series::ALL.iter().map(names).collect(), published: Vec::new() }
    }

    /// The number of the series that a controller publishes.
    pub fn of_controller(&mut self, name: &'static str, unit: &'static str) -> u32 {
        self.published(PUBLISHED, name, unit)
    }

    /// The number of the series that a scheme or a discipline publishes: in the table, or outside.
    pub fn of_scheme(&mut self, name: &'static str) -> u32 {
        let known = Series::by_name(name.as_bytes());
        known.map_or_else(|| self.published("", name, ""), |series| series as u32)
    }

    fn published(&mut self, prefix: &'static str, name: &'static str, unit: &'static str) -> u32 {
        let place = self.published.iter().position(|&known| known == [prefix, name, unit]);
        let place = place.unwrap_or_else(|| {
            let full = ByteArray::from(format!("{prefix}{name}").as_str());
            self.all.push([full, ByteArray::from(unit)]);
            self.published.push([prefix, name, unit]);
            self.published.len() - 1
        });
        (Series::ALL.len() + place) as u32
    }

    /// A column of the names of these series, or of their units (part 1).
    fn coded(&self, series: &[u32], part: usize) -> Column {
        let mut entries: Vec<ByteArray> = Vec::new();
        let mut numbers = vec![None; self.all.len()];
        let mut number_of = |series: u32| {
            *numbers[series as usize].get_or_insert_with(|| {
                let text = &self.all[series as usize][part];
                let known = entries.iter().position(|entry| entry == text);
                known.unwrap_or_else(|| {
                    entries.push(text.clone());
                    entries.len() - 1
                }) as u32
            })
        };
        let numbers: Vec<u32> = series.iter().map(|&series| number_of(series)).collect();
        Column::Coded(Coded::of_rows(Entries::Text(entries), &numbers))
    }
}
