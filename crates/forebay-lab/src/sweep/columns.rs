//! The columns of the table of a sweep.

use forebay_report::schema::{PARQUET, SWEEP_TABLE, SWEPT_KEY};
use forebay_scenario::{SweptKey, SweptKind};

/// The columns of the table of a sweep of these keys: name and type (see
/// [`FieldDoc`](forebay_report::schema::FieldDoc)).
pub fn columns(keys: &[SweptKey]) -> Vec<(String, &'static str)> {
    let table = PARQUET.iter().find(|file| file.name == SWEEP_TABLE);
    let fixed = table.expect("the table is described").columns();
    let of_key = |key: &SweptKey| {
        let kind = match key.kind {
            SweptKind::Integer => "int64 or null",
            SweptKind::Real => "double or null",
            SweptKind::Boolean => "boolean or null",
            SweptKind::Text => "string or null",
        };
        (key.key.clone(), kind)
    };
    let all = fixed.iter().flat_map(|column| match column.name {
        SWEPT_KEY => keys.iter().map(of_key).collect(),
        name => vec![(name.to_string(), column.kind)],
    });
    all.collect()
}

/// The places of columns that every such table has. Panics if one is not among them.
pub(super) fn places<const N: usize>(keys: &[SweptKey], names: [&str; N]) -> [usize; N] {
    let columns = columns(keys);
    names.map(|name| {
        let place = columns.iter().position(|(known, _)| known == name);
        place.expect("a column of every sweep")
    })
}
