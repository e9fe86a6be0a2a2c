//! Tables of results, handed to other libraries without a copy.

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::sync::Arc;

/// Rows that `_repr_html_` shows.
const SHOWN_ROWS: usize = 20;

/// Columns in the making.
#[derive(Default)]
pub(crate) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn push(mut self, name: &str, array: ArrayRef) -> Columns {
        self.fields.push(Field::new(name, array.data_type().clone(), true));
        self.arrays.push(array);
        self
    }
    pub fn texts<S: AsRef<str>>(self, name: &str, values: impl Iterator<Item = S>) -> Columns {
        self.push(name, Arc::new(StringArray::from_iter_values(values)))
    }
    /// Texts of which many are alike.
    pub fn words<S: AsRef<str>>(self, name: &str, values: impl Iterator<Item = S>) -> Columns {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        values.for_each(|word| builder.append_value(word));
        self.push(name, Arc::new(builder.finish()))
    }
    /// In the type that the files have: the bits of a number, as those of a seed may be all 64.
    pub fn counts(self, name: &str, values: impl Iterator<Item = u64>) -> Columns {
        self.some_counts(name, values.map(Some))
    }
    pub fn some_counts(self, name: &str, values: impl Iterator<Item = Option<u64>>) -> Columns {
        self.some_integers(name, values.map(|value| value.map(u64::cast_signed)))
    }
    pub fn some_texts<'a>(
        self,
        name: &str,
        values: impl Iterator<Item = Option<&'a str>>,
    ) -> Columns {
        self.push(name, Arc::new(values.collect::<StringArray>()))
    }
    pub fn some_flags(self, name: &str, values: impl Iterator<Item = Option<bool>>) -> Columns {
        self.push(name, Arc::new(values.collect::<BooleanArray>()))
    }
    pub fn some_integers(self, name: &str, values: impl Iterator<Item = Option<i64>>) -> Columns {
        self.push(name, Arc::new(values.collect::<Int64Array>()))
    }
    pub fn integers(self, name: &str, values: Vec<i64>) -> Columns {
        self.push(name, Arc::new(Int64Array::from(values)))
    }
    pub fn reals(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Columns {
        self.push(name, Arc::new(values.collect::<Float64Array>()))
    }
    /// The whole table. All columns have as many rows.
    pub fn table(self) -> Table {
        let schema = Arc::new(Schema::new(self.fields));
        let batch = RecordBatch::try_new(schema, self.arrays);
        Table { batch: batch.expect("columns have one length and the types of their fields") }
    }
}

/// A table. It is an Arrow table for every library that knows the PyCapsule interface.
#[pyclass(frozen, module = "forebay")]
pub(crate) struct Table {
    batch: RecordBatch,
}

fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    pub fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish, which the interface allows to leave: the consumer casts.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(refused)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.batch.num_columns()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        match self.batch.column_by_name(name) {
            Some(column) => values(py, column, column.len()),
            None => Err(PyKeyError::new_err(name.to_string())),
        }
    }

    /// All columns, as lists by name.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (field, column) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            all.set_item(field.name(), values(py, column, column.len())?)?;
        }
        Ok(all)
    }

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!("<forebay.Table of {} rows: {names}>", self.batch.num_rows())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let shown = self.batch.num_rows().min(SHOWN_ROWS);
        let cells = |texts: Vec<String>, tag: &str| -> String {
            let cells = texts.iter().map(|text| format!("<{tag}>{}</{tag}>", html(text)));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let columns: PyResult<Vec<Vec<String>>> =
            self.batch.columns().iter().map(|column| texts(py, column, shown)).collect();
        let columns = columns?;
        let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        let rows: String = (0..shown).map(|at| cells(row(at), "td")).collect();
        let left = self.batch.num_rows() - shown;
        let more = if left > 0 { format!("<p>and {left} more rows</p>") } else { String::new() };
        Ok(format!("<table>{}{rows}</table>{more}", cells(self.column_names(), "th")))
    }
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The first values of a column, as objects.
fn values<'py>(py: Python<'py>, column: &ArrayRef, rows: usize) -> PyResult<Bound<'py, PyList>> {
    let any = column.as_any();
    let is_there = |row: usize| column.is_valid(row);
    if let Some(of) = any.downcast_ref::<StringArray>() {
        return PyList::new(py, (0..rows).map(|row| is_there(row).then(|| of.value(row))));
    }
    if let Some(of) = any.downcast_ref::<DictionaryArray<Int32Type>>() {
        let words = of.downcast_dict::<StringArray>().expect("words are texts");
        let words: Vec<Option<&str>> = words.into_iter().take(rows).collect();
        return PyList::new(py, words);
    }
    if let Some(of) = any.downcast_ref::<BooleanArray>() {
        return PyList::new(py, (0..rows).map(|row| is_there(row).then(|| of.value(row))));
    }
    if let Some(of) = any.downcast_ref::<Int64Array>() {
        return PyList::new(py, (0..rows).map(|row| is_there(row).then(|| of.value(row))));
    }
    let of = any.downcast_ref::<Float64Array>().expect("a type that `Columns` makes");
    PyList::new(py, (0..rows).map(|row| is_there(row).then(|| of.value(row))))
}

/// The same as texts.
fn texts(py: Python<'_>, column: &ArrayRef, rows: usize) -> PyResult<Vec<String>> {
    let values = values(py, column, rows)?;
    values.iter().map(|value| Ok(value.str()?.to_string())).collect()
}
