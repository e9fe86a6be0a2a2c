//! The algorithms that a scenario names, with the parameters that it gives them.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, note};
use crate::format::fields::Spanned;
use crate::format::names::{Name, is_name};
use crate::format::source::{Loc, Sources};
use crate::keys::file::{File, ProtocolTable};
use crate::keys::named::Param;
use crate::model::protocols::{Names, ProtocolSpec, suggest};
use crate::registry::Registry;
use crate::registry::algorithms::{Algorithm, AlgorithmSpec};
use crate::resolve::tcp;
use forebay_cc::Spec;

/// The protocols to compare: those named, or the default.
pub(crate) fn compared(
    names: Option<&Spanned<Vec<Spanned<String>>>>,
    known: &Names,
    faults: &mut Faults,
) -> Vec<Name> {
    let default = vec![Name::from(Spec::default().name())];
    let Some(names) = names else { return default };
    let mut found = Vec::new();
    for name in &names.value {
        let Some(known) = faults.keep(known.lookup(name)) else { continue };
        if found.contains(&known) {
            let name = known.to_string();
            faults.add(names.fault(Problem::Duplicate { kind: "protocol", name }));
        } else {
            found.push(known)
        }
    }
    if found.is_empty() && !faults.touch("protocols") {
        faults.add(names.fault(Problem::Conflict("expected at least one protocol".into())));
    }
    if found.is_empty() { default } else { found }
}

/// The protocols that a caller asks for, with their places in what messages call `--protocol`.
pub(crate) fn asked(names: &[String], sources: &mut Sources) -> Spanned<Vec<Spanned<String>>> {
    let text = names.join(",");
    let source = sources.add("--protocol", &text);
    let (mut start, mut found) = (0, Vec::new());
    for (i, name) in names.iter().enumerate() {
        let end = start + name.len();
        let loc = Loc { source, start: start as u32, end: end as u32 };
        found.push(Spanned { value: name.clone(), loc, key: format!("protocols[{i}]") });
        start = end + 1;
    }
    let loc = Loc { source, start: 0, end: text.len() as u32 };
    Spanned { value: found, loc, key: "protocols".into() }
}

/// The protocols with other parameters than the defaults, and the variants, by name: those of the
/// preset, and what the scenario gives.
pub(crate) fn specs(registry: &Registry, file: &File, faults: &mut Faults) -> Vec<ProtocolSpec> {
    let given = || file.protocol.iter().flat_map(|at| &at.value.0);
    let read = |table: &ProtocolTable| {
        let (name, algorithm) = named(registry, table, file)?;
        let algorithm = spec(table, &algorithm, preset_spec(file, &name, algorithm.name()))?;
        let title = table.title.as_ref().map(|at| at.value.clone());
        Ok(ProtocolSpec { name, title, algorithm })
    };
    let mut specs: Vec<_> = given().filter_map(|table| faults.keep(read(table))).collect();
    for entry in registry.algorithms() {
        let name = entry.name();
        if given().all(|table| table.name.value != name) {
            let preset = preset_spec(file, name, name);
            specs.extend(preset.map(|algorithm| ProtocolSpec {
                name: name.into(),
                title: None,
                algorithm,
            }));
        }
    }
    // A variant with mistakes is refused; until then another algorithm stands for it.
    for name in Names::of(registry, file).0 {
        if registry.algorithm(&name).is_none() && specs.iter().all(|spec| spec.name != name) {
            let algorithm = AlgorithmSpec::Table(Spec::default());
            specs.push(ProtocolSpec { name, title: None, algorithm });
        }
    }
    specs.sort_by(|a, b| a.name.cmp(&b.name));
    specs
}

/// The name and the algorithm of a table: an algorithm's own, or a variant's.
fn named(
    registry: &Registry,
    table: &ProtocolTable,
    file: &File,
) -> Result<(Name, Algorithm), Fault> {
    let name = &table.name;
    let standing = registry.algorithm(&name.value);
    let Some(of) = &table.of else {
        let known = Names::with(registry, std::iter::empty()).lookup(name)?;
        let algorithm = standing.expect("without variants all are algorithms");
        return Ok((known, algorithm));
    };
    if of.value == name.value && standing.is_none() {
        let text = format!("`{}` is a variant of itself: `of` names an algorithm", of.value);
        return Err(of.fault(Problem::Conflict(text)));
    }
    if standing.is_some() {
        let text = format!("`{}` is an algorithm: a variant needs a name of its own", name.value);
        return Err(name.fault(Problem::Conflict(text)));
    }
    if !is_name(&name.value) {
        let expected = "1 to 40 lower-case letters, digits and `-`".to_string();
        return Err(name.fault(Problem::OutOfRange { found: name.value.clone(), expected }));
    }
    if let Some(algorithm) = registry.algorithm(&of.value) {
        return Ok((name.value.as_str().into(), algorithm));
    }
    let mut tables = file.protocol.iter().flat_map(|at| &at.value.0);
    if let Some(other) = tables.find(|other| other.name.value == of.value && other.of.is_some()) {
        let end = other.of.as_ref().map_or("", |at| at.value.as_str());
        let text = format!("`{}` is a variant itself: `of` names an algorithm", of.value);
        return Err(of.fault(Problem::Conflict(text)).hint(format!("of = \"{end}\"")));
    }
    let problem = Problem::UnknownName { kind: "algorithm", name: of.value.clone() };
    let all = registry.algorithms();
    Err(suggest(of.fault(problem), &of.value, all.iter().map(Algorithm::name)))
}

/// The parameters that the preset of a protocol gives its algorithm: that of `[tcp_of.NAME]` if
/// there is one, else that of `[tcp]`. A preset that is not there is reported where the transport
/// is read.
fn preset_spec(file: &File, name: &str, algorithm: &str) -> Option<AlgorithmSpec> {
    let tables = file.tcp_of.iter().flat_map(|at| &at.value.0);
    let own = tables.filter(|(protocol, _)| protocol.value == name).map(|(_, table)| table);
    let common = file.tcp.iter().map(|at| &at.value);
    let preset = own.chain(common).find_map(|table| tcp::preset(table).ok().flatten())?;
    let spec = preset.controllers.iter().find(|spec| spec.name() == algorithm);
    spec.cloned().map(AlgorithmSpec::Table)
}

fn spec(
    table: &ProtocolTable,
    algorithm: &Algorithm,
    preset: Option<AlgorithmSpec>,
) -> Result<AlgorithmSpec, Fault> {
    let default = preset.unwrap_or_else(|| algorithm.spec());
    let mut params = default.params();
    let mut spec = default;
    let mut wrong = None;
    for Param { key, key_loc, value } in &table.params {
        let before = params.insert(key.clone(), value.value.clone());
        let read = algorithm.with(&params).map_err(|error| {
            let schema = algorithm.schema();
            let known = schema.keys();
            if known.contains(&key.as_str()) {
                return schema.fault(key, value, error);
            }
            let fault =
                Fault::at(*key_loc, table.name.key.clone(), Problem::UnknownKey(key.clone()));
            fault.suggest(key, known)
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
