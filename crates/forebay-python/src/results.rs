//! Results of runs as tables.

use crate::errors::Failure;
use crate::table::{Columns, Table};
use forebay_lab::report::{Means, RunValues};
use forebay_lab::{Aggregate, FLOW_COLUMNS, FlowResult, RunResult};
use forebay_metrics::FlowValue;
use forebay_metrics::statistics::Interval;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// The scalar numbers of a run, by the name of their column: the metrics, `drops_REASON`, and
/// `reference_NAME`.
fn numbers<Value: Copy>(means: &Means<&'static str, Value>) -> BTreeMap<String, Value> {
    let metrics = means.metrics.iter().map(|(name, value)| (name.to_string(), *value));
    let drops = means.drops.iter().map(|(name, value)| (format!("drops_{name}"), *value));
    let reference =
        means.reference.iter().map(|(name, value)| (format!("reference_{name}"), *value));
    metrics.chain(drops).chain(reference).collect()
}

/// A row for each run.
pub(crate) fn runs(runs: &[RunResult]) -> Table {
    let of_run = |run: &RunResult| {
        let drops = run.drops.iter().map(|(&reason, &count)| (reason, count));
        numbers(&RunValues::of_run(&run.metrics, drops, run.reference.numbers()))
    };
    let rows: Vec<BTreeMap<String, f64>> = runs.iter().map(of_run).collect();
    let mut names: Vec<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    let columns = Columns::default()
        .texts("protocol", runs.iter().map(|run| &run.protocol))
        .texts("label", runs.iter().map(|run| &run.label))
        .counts("seed", runs.iter().map(|run| run.seed))
        .texts("trace_hash", runs.iter().map(|run| &run.trace_hash))
        .counts("events", runs.iter().map(|run| run.events))
        .counts("packet_hops", runs.iter().map(|run| run.packet_hops))
        .reals("wall_s", runs.iter().map(|run| Some(run.wall_s)))
        .reals("cpu_s", runs.iter().map(|run| Some(run.cpu_s)))
        .reals("ended_s", runs.iter().map(|run| Some(run.ended_s)))
        .counts("flows", runs.iter().map(|run| run.flows as u64))
        .counts("completed", runs.iter().map(|run| run.completed as u64));
    let with_numbers = names.into_iter().fold(columns, |columns, name| {
        columns.reals(name, rows.iter().map(|row| row.get(name).copied()))
    });
    with_numbers.table()
}

/// A row for each number of each protocol: its mean over the seeds.
pub(crate) fn means(aggregates: &[Aggregate]) -> Table {
    let of = |aggregate: &Aggregate| {
        let (protocol, label) = (aggregate.protocol.clone(), aggregate.label.clone());
        numbers(&aggregate.means)
            .into_iter()
            .map(move |(name, value)| (protocol.clone(), label.clone(), name, value))
            .collect::<Vec<_>>()
    };
    let rows: Vec<(String, String, String, Interval)> = aggregates.iter().flat_map(of).collect();
    let end = |i: usize| rows.iter().map(move |row| row.3.ci95.map(|ends| ends[i]));
    Columns::default()
        .texts("protocol", rows.iter().map(|row| &row.0))
        .texts("label", rows.iter().map(|row| &row.1))
        .texts("metric", rows.iter().map(|row| &row.2))
        .reals("mean", rows.iter().map(|row| Some(row.3.mean)))
        .reals("ci95_low", end(0))
        .reals("ci95_high", end(1))
        .counts("n", rows.iter().map(|row| row.3.n as u64))
        .table()
}

/// A row for each flow of each run: the columns of `flows.parquet`.
pub(crate) fn flows(runs: &[RunResult]) -> Table {
    let all = || runs.iter().flat_map(|run| run.per_flow.iter().map(move |flow| (run, flow)));
    let columns = Columns::default()
        .words("run_protocol", all().map(|(run, _)| &run.protocol))
        .counts("seed", all().map(|(run, _)| run.seed));
    let flows = || all().map(|(_, flow)| flow);
    let with_all = FLOW_COLUMNS
        .iter()
        .fold(columns, |columns, column| of_flow(columns, column.name, column.value, flows()));
    with_all.table()
}

fn of_flow<'a>(
    columns: Columns,
    name: &str,
    of: FlowValue,
    flows: impl Iterator<Item = &'a FlowResult>,
) -> Columns {
    match of {
        FlowValue::Id(id) => columns.counts(name, flows.map(|flow| id(flow).into())),
        FlowValue::Text(text) => columns.words(name, flows.map(text)),
        FlowValue::Count(count) => columns.counts(name, flows.map(count)),
        FlowValue::SomeCount(count) => columns.some_counts(name, flows.map(count)),
        FlowValue::Real(real) => columns.reals(name, flows.map(real)),
    }
}

/// A row for each bucket of the one-way delays of each class of each run: the columns of
/// `delays.parquet`.
pub(crate) fn delays(runs: &[RunResult]) -> Table {
    let of_run = |run: &'_ RunResult| {
        let classes = run.one_way.iter();
        let of_class = classes.flat_map(|(class, delays)| {
            delays.buckets().map(move |(from, to, packets)| (class.clone(), from, to, packets))
        });
        let rows = of_class.map(|row| (run.protocol.clone(), run.seed, row));
        rows.collect::<Vec<_>>()
    };
    let rows: Vec<_> = runs.iter().flat_map(of_run).collect();
    let ms = |span: forebay_base::Span| Some(span.as_nanos() as f64 / 1e6);
    Columns::default()
        .words("run_protocol", rows.iter().map(|row| &row.0))
        .counts("seed", rows.iter().map(|row| row.1))
        .words("class", rows.iter().map(|row| &row.2.0))
        .reals("from_ms", rows.iter().map(|row| ms(row.2.1)))
        .reals("to_ms", rows.iter().map(|row| ms(row.2.2)))
        .counts("packets", rows.iter().map(|row| row.2.3))
        .table()
}

/// The series of a folder of results: the columns of `series.parquet`.
pub(crate) fn series(folder: &Path) -> Result<Table, Failure> {
    let path = folder.join("series.parquet");
    let unread = |why: String| Failure::Results(format!("cannot read `{}`: {why}", path.display()));
    let file = File::open(&path).map_err(|error| unread(error.to_string()))?;
    read_series(file).map_err(|error| unread(error.to_string()))
}

/// Columns that hold words.
const WORDS: [&str; 4] = ["run_protocol", "entity", "metric", "unit"];

fn read_series(file: File) -> Result<Table, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let place = |name: &str| {
        let schema = reader.metadata().file_metadata().schema_descr();
        let found = schema.columns().iter().position(|column| column.name() == name);
        found.ok_or_else(|| ParquetError::General(format!("the column {name} is missing")))
    };
    let mut words: [Vec<ByteArray>; 4] = Default::default();
    let (mut seeds, mut times_ns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        for (name, column) in WORDS.iter().zip(&mut words) {
            append::<ByteArrayType>(&*group, place(name)?, column)?;
        }
        append::<Int64Type>(&*group, place("seed")?, &mut seeds)?;
        append::<Int64Type>(&*group, place("t_ns")?, &mut times_ns)?;
        append::<DoubleType>(&*group, place("value")?, &mut values)?;
    }
    let texts: Result<Vec<Vec<&str>>, ParquetError> =
        words.iter().map(|column| column.iter().map(ByteArray::as_utf8).collect()).collect();
    let texts = texts?;
    let [protocol, entity, metric, unit] = [0, 1, 2, 3].map(|i| texts[i].iter().copied());
    let table = Columns::default()
        .words("run_protocol", protocol)
        // The same bits as when it was written.
        .counts("seed", seeds.iter().map(|seed: &i64| *seed as u64))
        .integers("t_ns", times_ns)
        .words("entity", entity)
        .words("metric", metric)
        .reals("value", values.into_iter().map(Some))
        .words("unit", unit);
    Ok(table.table())
}

/// Append all values of a column of a row group, none of which is missing.
fn append<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let rows = group.metadata().num_rows() as usize;
    let end = values.len() + rows;
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(column)?);
    while values.len() < end {
        let (read, _, _) = reader.read_records(end - values.len(), None, None, values)?;
        if read == 0 {
            let message = format!("column {column} ends before its {rows} rows");
            return Err(ParquetError::General(message));
        }
    }
    Ok(())
}
