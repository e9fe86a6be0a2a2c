//! Rows of `series.parquet` and `delays.parquet`, in the order of the file.

use super::error::ReportError;
use super::open::open_table;
use super::texts::{Texts, column};
use parquet::data_type::{ByteArrayType, DoubleType, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use std::fs::File;
use std::path::Path;

/// The columns that a report needs.
const COLUMNS: [&str; 6] = ["run_protocol", "seed", "t_ns", "entity", "metric", "value"];

/// One sample of one metric; the texts are UTF-8.
pub struct SeriesRow<'a> {
    /// Protocol of the run.
    pub protocol: &'a [u8],
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time in ns.
    pub t_ns: i64,
    /// What the value belongs to.
    pub entity: &'a [u8],
    /// Name of the series.
    pub metric: &'a [u8],
    /// The value.
    pub value: f64,
    /// Its unit. Empty in results of versions that wrote none.
    pub unit: &'a [u8],
    /// Rows of the file have the same number here if and only if they have the same entity.
    pub(super) entity_number: u32,
    /// The same of metric and unit together.
    pub(super) series_number: u32,
}

/// What has been read of a file.
#[derive(Default)]
struct Known {
    texts: Texts,
    /// By number of the metric: numbers of its units, with a number of both.
    series: Vec<Vec<(u32, u32)>>,
    series_count: u32,
}

impl Known {
    fn series_number(&mut self, metric: u32, unit: u32) -> u32 {
        let place = metric as usize;
        if place >= self.series.len() {
            self.series.resize(place + 1, Vec::new());
        }
        let units = &mut self.series[place];
        if let Some((_, number)) = units.iter().find(|(known, _)| *known == unit) {
            return *number;
        }
        units.push((unit, self.series_count));
        self.series_count += 1;
        self.series_count - 1
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
    let (protocols, seeds) = match only {
        Some(_) => (Vec::new(), Vec::new()),
        None => (known.texts.column(group, protocol)?, column::<Int64Type>(group, seed)?),
    };
    let t_ns = column::<Int64Type>(group, t_ns)?;
    let entity = known.texts.column(group, entity)?;
    let metric = known.texts.column(group, metric)?;
    let value = column::<DoubleType>(group, value)?;
    let unit = match unit {
        Some(unit) => known.texts.column(group, unit)?,
        None => vec![known.texts.number(b""); value.len()],
    };
    for i in 0..value.len() {
        let series_number = known.series_number(metric[i], unit[i]);
        let texts = &known.texts;
        let (protocol, seed) = match &only {
            Some((protocol, seed)) => (protocol.as_slice(), *seed),
            None => (texts.of(protocols[i]), seeds[i] as u64),
        };
        each(&SeriesRow {
            protocol,
            seed,
            t_ns: t_ns[i],
            entity: texts.of(entity[i]),
            metric: texts.of(metric[i]),
            value: value[i],
            unit: texts.of(unit[i]),
            entity_number: entity[i],
            series_number,
        });
    }
    Ok(())
}
