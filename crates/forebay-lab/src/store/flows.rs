//! `flows.parquet`: one row per flow of each run.

use super::table::{Column, TableFile, count};
use crate::error::StoreError;
use forebay_metrics::{FLOW_COLUMNS, FlowResult, FlowValue};
use forebay_run::RunResult;
use std::path::PathBuf;

/// Rows in a row group: few enough that a reader can skip, and enough that its dictionaries pay.
const GROUP_ROWS: usize = 1 << 16;

/// A flow and the run that it was in.
type RunFlow<'a> = (&'a RunResult, &'a FlowResult);

/// Write the flows of all runs.
pub(super) fn write(path: PathBuf, runs: &[RunResult]) -> Result<(), StoreError> {
    let flows = runs.iter().flat_map(|run| run.per_flow.iter().map(move |flow| (run, flow)));
    let flows: Vec<RunFlow<'_>> = flows.collect();
    let mut table = TableFile::create(path, &columns(&[]))?;
    for group in flows.chunks(GROUP_ROWS) {
        let values: Vec<Column> = columns(group).into_iter().map(|(_, column)| column).collect();
        table.append(&values)?;
    }
    table.close()
}

pub(super) fn columns(flows: &[RunFlow<'_>]) -> Vec<(&'static str, Column)> {
    let of_run = [
        ("run_protocol", Column::texts(flows.iter().map(|(run, _)| &run.protocol))),
        // A seed may use all 64 bits; as a signed number it has the same ones.
        ("seed", Column::Integers(flows.iter().map(|(run, _)| run.seed as i64).collect())),
    ];
    let of_flow = FLOW_COLUMNS.iter().map(|column| (column.name, values(column.value, flows)));
    of_run.into_iter().chain(of_flow).collect()
}

fn values(of: FlowValue, flows: &[RunFlow<'_>]) -> Column {
    let flows = flows.iter().map(|(_, flow)| *flow);
    match of {
        FlowValue::Id(id) => Column::counts(flows.map(|flow| id(flow).into())),
        FlowValue::Text(text) => Column::texts(flows.map(text)),
        FlowValue::Count(number) => Column::counts(flows.map(number)),
        FlowValue::SomeCount(number) => {
            Column::SomeIntegers(flows.map(|flow| number(flow).map(count)).collect())
        }
        FlowValue::Real(real) => Column::SomeReals(flows.map(real).collect()),
    }
}
