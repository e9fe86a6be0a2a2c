//! Rows of `series.parquet` and `delays.parquet`, in the order of the file.

use super::error::ReportError;
use super::open::open_table;
use super::texts::{Numbered, TextColumn, Texts, column};
use parquet::data_type::{ByteArrayType, DoubleType, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use std::fs::File;
use std::path::Path;

/// The columns that a report needs.
const COLUMNS: [&str; 6] = ["run_protocol", "seed", "t_ns", "entity", "metric", "value"];

/// One sample of one metric.
#[derive(Clone, Copy)]
pub struct SeriesRow<'a> {
    /// Simulated time in ns.
    pub t_ns: i64,
    /// The value.
    pub value: f64,
    known: &'a Known,
    run: u32,
    entity: u32,
    series: u32,
}

impl<'a> SeriesRow<'a> {
    /// Protocol of the run, in UTF-8 as all texts.
    pub fn protocol(&self) -> &'a [u8] {
        self.known.texts.of(self.known.runs.of(self.run).0)
    }
    /// Seed of the run.
    pub fn seed(&self) -> u64 {
        self.known.runs.of(self.run).1
    }
    /// What the value belongs to.
    pub fn entity(&self) -> &'a [u8] {
        self.known.texts.of(self.entity)
    }
    /// Name of the series.
    pub fn metric(&self) -> &'a [u8] {
        self.known.texts.of(self.known.series.of(self.series).0)
    }
    /// Unit of the value. Empty in results of versions that wrote none.
    pub fn unit(&self) -> &'a [u8] {
        self.known.texts.of(self.known.series.of(self.series).1)
    }
    /// Rows of the file have the same number here if and only if they are of the same run.
    pub(super) fn run_number(&self) -> u32 {
        self.run
    }
    /// The same of the entity.
    pub(super) fn entity_number(&self) -> u32 {
        self.entity
    }
    /// The same of metric and unit together.
    pub(super) fn series_number(&self) -> u32 {
        self.series
    }
}

/// What has been read of a file.
#[derive(Default)]
pub(super) struct Known {
    texts: Texts,
    /// Numbers of metric and unit.
    series: Numbered<(u32, u32)>,
    /// Number of the protocol, and seed.
    runs: Numbered<(u32, u64)>,
}

impl Known {
    /// Of each row the number of its series.
    fn series(&mut self, metric: TextColumn, unit: &TextColumn) -> Vec<u32> {
        let mut of = metric.rows;
        // Of each metric the unit of its latest row, and the number of both.
        let mut latest = vec![(u32::MAX, 0); metric.entries.len()];
        for (row, &unit_entry) in of.iter_mut().zip(&unit.rows) {
            let latest = &mut latest[*row as usize];
            if latest.0 != unit_entry {
                let metric = metric.entries[*row as usize];
                let series = (metric, unit.entries[unit_entry as usize]);
                *latest = (unit_entry, self.series.number(&series));
            }
            *row = latest.1;
        }
        of
    }

    /// A row of the first run.
    #[cfg(test)]
    pub fn row(&mut self, t_ns: i64, entity: &str, metric: &str, value: f64) -> SeriesRow<'_> {
        let [of, metric, unit] =
            [entity, metric, ""].map(|text| self.texts.number(text.as_bytes()));
        let series = self.series.number(&(metric, unit));
        SeriesRow { t_ns, value, known: self, run: 0, entity: of, series }
    }
}

/// Call `each` with the rows of the `series.parquet` at `path`, in the order of the file. Rows of
/// seeds that are not `wanted` are passed over unread where a part of the file holds one run
/// alone, and come too where it does not.
/// Errors if it cannot be read or is not such a file.
pub fn read_series(
    path: &Path,
    wanted: impl Fn(u64) -> bool,
    mut each: impl FnMut(&SeriesRow<'_>),
) -> Result<(), ReportError> {
    let reader = open_table(path)?;
    let wrong = ReportError::parquet(path);
    let columns = places(&reader).ok_or_else(|| ReportError::NotResults {
        path: path.to_path_buf(),
        why: format!("does not have the columns {}", COLUMNS.join(", ")),
    })?;
    let unit = place(&reader, "unit");
    let mut known = Known::default();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(&wrong)?;
        let only = only_run(&*group, columns);
        if only.as_ref().is_none_or(|(_, seed)| wanted(*seed)) {
            read_group(&*group, columns, unit, only, &mut known, &mut each).map_err(&wrong)?;
        }
    }
    Ok(())
}

/// A bucket of a histogram: its ends in s, and packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bucket {
    pub from_s: f64,
    pub to_s: f64,
    pub packets: f64,
}

/// The columns of `delays.parquet` that a report needs.
const BUCKET_COLUMNS: [&str; 5] = ["run_protocol", "class", "from_ms", "to_ms", "packets"];

/// Call `each` with every bucket of `delays.parquet`, with the names of its protocol and its class.
pub(super) fn delay_buckets(
    path: &Path,
    mut each: impl FnMut(&[u8], &[u8], Bucket),
) -> Result<(), ReportError> {
    let reader = open_table(path)?;
    let wrong = ReportError::parquet(path);
    let places: Option<Vec<usize>> =
        BUCKET_COLUMNS.map(|name| place(&reader, name)).into_iter().collect();
    let [protocol, class, from, to, packets] = places.as_deref().unwrap_or_default() else {
        return Err(ReportError::NotResults {
            path: path.to_path_buf(),
            why: format!("does not have the columns {}", BUCKET_COLUMNS.join(", ")),
        });
    };
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(&wrong)?;
        let names = |place| column::<ByteArrayType>(&*group, place).map_err(&wrong);
        let ends_ms = |place| column::<DoubleType>(&*group, place).map_err(&wrong);
        let (protocols, classes) = (names(*protocol)?, names(*class)?);
        let (from_ms, to_ms) = (ends_ms(*from)?, ends_ms(*to)?);
        let packets = column::<Int64Type>(&*group, *packets).map_err(&wrong)?;
        for i in 0..packets.len() {
            let [from_s, to_s] = [from_ms[i], to_ms[i]].map(|ms| ms / 1e3);
            let bucket = Bucket { from_s, to_s, packets: packets[i] as f64 };
            each(protocols[i].data(), classes[i].data(), bucket);
        }
    }
    Ok(())
}

fn place(reader: &SerializedFileReader<File>, name: &str) -> Option<usize> {
    let schema = reader.metadata().file_metadata().schema_descr();
    schema.columns().iter().position(|column| column.name() == name)
}

fn places(reader: &SerializedFileReader<File>) -> Option<[usize; 6]> {
    let places: Option<Vec<usize>> = COLUMNS.iter().map(|name| place(reader, name)).collect();
    places?.try_into().ok()
}

/// Protocol and seed of the run whose rows are all that a row group has, if its statistics say so.
fn only_run(group: &dyn RowGroupReader, columns: [usize; 6]) -> Option<(Vec<u8>, u64)> {
    let [protocol, seed, ..] = columns;
    let Statistics::ByteArray(protocols) = group.metadata().column(protocol).statistics()? else {
        return None;
    };
    let Statistics::Int64(seeds) = group.metadata().column(seed).statistics()? else { return None };
    let exact = protocols.min_is_exact() && protocols.max_is_exact();
    let (first, last) = (protocols.min_opt()?, protocols.max_opt()?);
    let one = exact && first == last && seeds.min_opt()? == seeds.max_opt()?;
    // The same bits as when it was written.
    one.then_some((first.data().to_vec(), *seeds.min_opt()? as u64))
}

/// `only`: the run of all rows, if they are of one.
fn read_group(
    group: &dyn RowGroupReader,
    columns: [usize; 6],
    unit: Option<usize>,
    only: Option<(Vec<u8>, u64)>,
    known: &mut Known,
    each: &mut impl FnMut(&SeriesRow<'_>),
) -> parquet::errors::Result<()> {
    let [protocol, seed, t_ns, entity, metric, value] = columns;
    let rows = group.metadata().num_rows() as usize;
    let runs = match only {
        Some((protocol, seed)) => {
            let run = (known.texts.number(protocol.as_slice()), seed);
            vec![known.runs.number(&run); rows]
        }
        None => {
            let protocol = known.texts.column(group, protocol)?;
            let seeds = column::<Int64Type>(group, seed)?;
            let run = |(&entry, &seed)| (protocol.entries[entry as usize], seed as u64);
            let runs = protocol.rows.iter().zip(&seeds).map(run);
            runs.map(|run| known.runs.number(&run)).collect()
        }
    };
    let t_ns = column::<Int64Type>(group, t_ns)?;
    let value = column::<DoubleType>(group, value)?;
    let entity = known.texts.column(group, entity)?;
    let metric = known.texts.column(group, metric)?;
    let unit = match unit {
        Some(unit) => known.texts.column(group, unit)?,
        None => {
            TextColumn { entries: vec![known.texts.number(b"".as_slice())], rows: vec![0; rows] }
        }
    };
    let series = known.series(metric, &unit);
    let rows = t_ns.iter().zip(&value).zip(&runs).zip(&entity.rows).zip(&series);
    for ((((&t_ns, &value), &run), &of), &series) in rows {
        let entity = entity.entries[of as usize];
        each(&SeriesRow { t_ns, value, known, run, entity, series });
    }
    Ok(())
}
