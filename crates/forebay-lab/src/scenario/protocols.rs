//! The algorithms that a scenario names, with the parameters that it gives them.

use super::error::{Fault, Problem};
use super::faults::{Faults, note};
use super::fields::At;
use super::file::{File, Param, ProtocolTable};
use super::tcp;
use forebay_cc::{Spec, TABLE};

/// The algorithm of that name, as the table of algorithms spells it.
pub(super) fn lookup(name: &At<String>) -> Result<&'static str, Fault> {
    find(&name.value).map_err(|fault| Fault { loc: Some(name.loc), key: name.key.clone(), ..fault })
}

/// The same for a name that stands in no file.
pub(super) fn find(name: &str) -> Result<&'static str, Fault> {
    TABLE.iter().map(|entry| entry.name).find(|&n| n == name).ok_or_else(|| {
        let problem = Problem::UnknownName { kind: "protocol", name: name.to_string() };
        Fault::nowhere(problem).suggest(name, TABLE.iter().map(|entry| entry.name))
    })
}

/// The protocols to compare: those named, or the default.
pub(super) fn compared(
    names: Option<&At<Vec<At<String>>>>,
    faults: &mut Faults,
) -> Vec<&'static str> {
    let default = vec![Spec::default().name()];
    let Some(names) = names else { return default };
    let mut found = Vec::new();
    for name in &names.value {
        let Some(known) = faults.keep(lookup(name)) else { continue };
        match found.contains(&known) {
            true => {
                let name = known.to_string();
                faults.add(names.fault(Problem::Duplicate { kind: "protocol", name }));
            }
            false => found.push(known),
        }
    }
    if found.is_empty() && !faults.touch("protocols") {
        faults.add(names.fault(Problem::Conflict("expected at least one protocol".into())));
    }
    if found.is_empty() { default } else { found }
}

/// The algorithms with other parameters than their defaults, by name: those of the preset, and what
/// the scenario gives.
pub(super) fn specs(file: &File, faults: &mut Faults) -> Vec<Spec> {
    let given = file.protocol.iter().flat_map(|at| &at.value.0);
    let read = |table: &ProtocolTable| {
        let name = lookup(&table.name)?;
        spec(table, name, preset_spec(file, name))
    };
    let mut specs: Vec<Spec> = given.filter_map(|table| faults.keep(read(table))).collect();
    for entry in TABLE {
        if specs.iter().all(|spec| spec.name() != entry.name) {
            specs.extend(preset_spec(file, entry.name));
        }
    }
    specs.sort_by_key(Spec::name);
    specs
}

/// The parameters that the preset of a protocol gives it: that of `[tcp_of.NAME]` if there is one,
/// else that of `[tcp]`. A preset that is not there is reported where the transport is read.
fn preset_spec(file: &File, name: &str) -> Option<Spec> {
    let tables = file.tcp_of.iter().flat_map(|at| &at.value.0);
    let own = tables.filter(|(protocol, _)| protocol.value == name).map(|(_, table)| table);
    let common = file.tcp.iter().map(|at| &at.value);
    let preset = own.chain(common).find_map(|table| tcp::preset(table).ok().flatten())?;
    preset.controllers.iter().find(|spec| spec.name() == name).cloned()
}

fn spec(table: &ProtocolTable, name: &'static str, preset: Option<Spec>) -> Result<Spec, Fault> {
    let default = Spec::by_name(name).expect("the name is in the table");
    let default = preset.unwrap_or(default);
    let mut params = params_of(&default);
    let known: Vec<String> = params.keys().cloned().collect();
    let mut spec = default;
    let mut wrong = None;
    for Param { key, key_loc, value } in &table.params {
        let before = params.insert(key.clone(), value.value.clone());
        let read = with_params(name, &params).map_err(|error| {
            if known.contains(key) {
                // The first line says what is wrong; those behind it show a text that is not the user's.
                let why = error.message().lines().next().unwrap_or_default().to_string();
                return value.fault(Problem::Conflict(why));
            }
            let fault =
                Fault::at(*key_loc, table.name.key.clone(), Problem::UnknownKey(key.clone()));
            fault.suggest(key, known.iter().map(String::as_str))
        });
        match read {
            Ok(read) => spec = read,
            Err(fault) => {
                note(&mut wrong, fault);
                match before {
                    Some(before) => params.insert(key.clone(), before),
                    None => params.remove(key),
                };
            }
        }
    }
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    spec.check().map_err(|error| {
        let given = table.params.iter().find(|param| param.key == error.param);
        let expected = error.allowed.to_string();
        match given {
            Some(Param { value, .. }) => {
                value.fault(Problem::OutOfRange { found: value.value.to_string(), expected })
            }
            None => {
                let text = format!("`{}` must be {expected}", error.param);
                table.name.fault(Problem::Conflict(text))
            }
        }
    })?;
    Ok(spec)
}

/// All parameters of an algorithm.
pub(super) fn params_of(spec: &Spec) -> toml::Table {
    let value = toml::Value::try_from(spec).expect("parameters are plain values");
    match value.get(spec.name()) {
        Some(toml::Value::Table(params)) => params.clone(),
        _ => toml::Table::new(),
    }
}

fn with_params(name: &str, params: &toml::Table) -> Result<Spec, toml::de::Error> {
    let mut tagged = toml::Table::new();
    tagged.insert(name.to_string(), toml::Value::Table(params.clone()));
    toml::Value::Table(tagged).try_into()
}
