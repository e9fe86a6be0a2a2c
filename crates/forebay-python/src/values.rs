//! Values of Python as values of a scenario.

use crate::errors::not_a_scenario;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString, PyTuple};
use toml::{Table, Value};

/// What messages call a scenario that is a dict.
pub(crate) const DICT: &str = "<dict>";

/// Lists and dicts in each other, above a value: no scenario has a tenth of them. Python lets a
/// list hold itself.
const MAX_DEPTH: usize = 64;

/// How many of them there are above the value of this key.
fn depth_of(key: &str) -> usize {
    key.matches(['.', '[']).count()
}

/// A dict as the text of a scenario.
pub(crate) fn scenario_text(dict: &Bound<'_, PyDict>) -> PyResult<String> {
    let table = table(dict, DICT, "")?;
    let text = toml::to_string(&table);
    Ok(text.expect("a table of TOML values can be written"))
}

/// Changes of a scenario as `key=value`, each value with its type.
pub(crate) fn assignments(set: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let assignment = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        let value = toml_value(&value, "set", &key)?;
        Ok(format!("{key}={value}"))
    };
    set.iter().map(assignment).collect()
}

fn table(dict: &Bound<'_, PyDict>, file: &str, above: &str) -> PyResult<Table> {
    let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let Ok(name) = key.extract::<String>() else {
            let problem = format!("expected keys that are strings, found {}", key.repr()?);
            return Err(not_a_scenario(dict.py(), file, above, &problem));
        };
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        Ok((name, toml_value(&value, file, &path)?))
    };
    dict.iter().map(entry).collect()
}

/// A value; `file` and `key` say where it stands.
pub(crate) fn toml_value(value: &Bound<'_, PyAny>, file: &str, key: &str) -> PyResult<Value> {
    let refused = |found: &str| {
        let expected = "expected a string, a number, a boolean, a list or a dict";
        not_a_scenario(value.py(), file, key, &format!("{expected}, found {found}"))
    };
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_string()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Value::Float(number.value()));
    }
    let is_list = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    if (is_list || value.is_instance_of::<PyDict>()) && depth_of(key) > MAX_DEPTH {
        let problem = format!(
            "expected at most {MAX_DEPTH} lists and dicts in each other: does one hold itself?"
        );
        return Err(not_a_scenario(value.py(), file, key, &problem));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return table(dict, file, key).map(Value::Table);
    }
    if is_list {
        let element = |(i, element): (usize, PyResult<Bound<'_, PyAny>>)| {
            toml_value(&element?, file, &format!("{key}[{i}]"))
        };
        let elements: PyResult<Vec<Value>> = value.try_iter()?.enumerate().map(element).collect();
        return elements.map(Value::Array);
    }
    // Integers, those of numpy too: they are what can be an index.
    if value.hasattr("__index__")? {
        return match value.extract::<i64>() {
            Ok(number) => Ok(Value::Integer(number)),
            Err(_) => Err(refused(&format!("an integer beyond 64 bits ({})", value.str()?))),
        };
    }
    let name = value.get_type().name()?.to_string();
    Err(refused(&name))
}
