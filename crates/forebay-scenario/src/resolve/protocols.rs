//! The algorithms that a scenario names, with the parameters that it gives them.

use crate::Scenario;
use crate::format::error::{Fault, Problem};
use crate::format::faults::{Faults, note};
use crate::format::fields::At;
use crate::format::names::{is_name, kept};
use crate::keys::file::{File, Param, ProtocolTable};
use crate::registry::algorithms::{Algorithm, AlgorithmSpec};
use crate::registry::protocol::Bundle;
use crate::resolve::tcp;
use forebay_cc::Spec;

/// A protocol whose parameters a scenario gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolSpec {
    /// Its name: that of its algorithm, or of a variant (`[protocol.NAME] of = "ALGORITHM"`).
    pub name: &'static str,
    /// What text calls it, if the scenario says so.
    pub title: Option<String>,
    /// Its algorithm, with all parameters.
    pub algorithm: AlgorithmSpec,
}

/// The names of protocols that a scenario may use: algorithms, and the variants that it declares.
pub(crate) struct Names(Vec<&'static str>);

impl Names {
    /// Those of a file. A variant that has mistakes of its own has a name all the same.
    pub fn of(file: &File) -> Names {
        let tables = file.protocol.iter().flat_map(|at| &at.value.0);
        let variants = tables.filter(|table| table.of.is_some() && is_name(&table.name.value));
        Names::with(variants.map(|table| kept(&table.name.value)))
    }

    fn with(variants: impl Iterator<Item = &'static str>) -> Names {
        let mut names: Vec<_> = Algorithm::all().into_iter().map(Algorithm::name).collect();
        for variant in variants {
            if !names.contains(&variant) {
                names.push(variant);
            }
        }
        Names(names)
    }

    /// The protocol of that name.
    pub fn lookup(&self, name: &At<String>) -> Result<&'static str, Fault> {
        let found = self.find(&name.value);
        found.map_err(|fault| Fault { loc: Some(name.loc), key: name.key.clone(), ..fault })
    }

    /// The same for a name that stands in no file.
    pub fn find(&self, name: &str) -> Result<&'static str, Fault> {
        self.0.iter().copied().find(|&known| known == name).ok_or_else(|| {
            let problem = Problem::UnknownName { kind: "protocol", name: name.to_string() };
            Fault::nowhere(problem).suggest(name, self.0.iter().copied())
        })
    }
}

impl Scenario {
    /// The names of protocols that it can run: all algorithms, then its variants.
    pub fn protocol_names(&self) -> Vec<&'static str> {
        self.names().0
    }

    pub(crate) fn names(&self) -> Names {
        Names::with(self.specs.iter().map(|spec| spec.name))
    }

    /// The algorithm of the protocol of that name, with the parameters that the scenario gives it;
    /// None if there is no such protocol.
    pub fn spec(&self, protocol: &str) -> Option<AlgorithmSpec> {
        let given = self.specs.iter().find(|spec| spec.name == protocol);
        let given = given.map(|spec| spec.algorithm.clone());
        given.or_else(|| Algorithm::by_name(protocol).map(Algorithm::spec))
    }

    /// What text and figures call a protocol: for a variant without a title its name.
    pub fn title(&self, protocol: &str) -> String {
        let given = self.specs.iter().find(|spec| spec.name == protocol);
        let title = given.and_then(|spec| spec.title.clone());
        let known = || {
            Algorithm::by_name(protocol).map_or(protocol, |algorithm| algorithm.title()).to_string()
        };
        title.unwrap_or_else(known)
    }

    /// What a protocol needs in the network: as its algorithm does.
    pub fn bundle(&self, protocol: &'static str) -> Bundle {
        let given = self.specs.iter().find(|spec| spec.name == protocol);
        let algorithm = given.map_or(protocol, |spec| spec.algorithm.name());
        Algorithm::by_name(algorithm).map_or_else(Bundle::default, Algorithm::bundle)
    }
}

/// The protocols to compare: those named, or the default.
pub(crate) fn compared(
    names: Option<&At<Vec<At<String>>>>,
    known: &Names,
    faults: &mut Faults,
) -> Vec<&'static str> {
    let default = vec![Spec::default().name()];
    let Some(names) = names else { return default };
    let mut found = Vec::new();
    for name in &names.value {
        let Some(known) = faults.keep(known.lookup(name)) else { continue };
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

/// The protocols with other parameters than the defaults, and the variants, by name: those of the
/// preset, and what the scenario gives.
pub(crate) fn specs(file: &File, faults: &mut Faults) -> Vec<ProtocolSpec> {
    let given = || file.protocol.iter().flat_map(|at| &at.value.0);
    let read = |table: &ProtocolTable| {
        let (name, algorithm) = named(table, file)?;
        let algorithm = spec(table, algorithm, preset_spec(file, name, algorithm.name()))?;
        let title = table.title.as_ref().map(|at| at.value.clone());
        Ok(ProtocolSpec { name, title, algorithm })
    };
    let mut specs: Vec<_> = given().filter_map(|table| faults.keep(read(table))).collect();
    for entry in Algorithm::all() {
        let name = entry.name();
        if given().all(|table| table.name.value != name) {
            let preset = preset_spec(file, name, name);
            specs.extend(preset.map(|algorithm| ProtocolSpec { name, title: None, algorithm }));
        }
    }
    // A variant with mistakes is refused; until then another algorithm stands for it.
    for name in Names::of(file).0 {
        if Algorithm::by_name(name).is_none() && specs.iter().all(|spec| spec.name != name) {
            let algorithm = AlgorithmSpec::Table(Spec::default());
            specs.push(ProtocolSpec { name, title: None, algorithm });
        }
    }
    specs.sort_by_key(|spec| spec.name);
    specs
}

/// The name and the algorithm of a table: an algorithm's own, or a variant's.
fn named(table: &ProtocolTable, file: &File) -> Result<(&'static str, Algorithm), Fault> {
    let name = &table.name;
    let standing = Algorithm::by_name(&name.value);
    let Some(of) = &table.of else {
        let known = Names::with(std::iter::empty()).lookup(name)?;
        let algorithm = Algorithm::by_name(known).expect("without variants all are algorithms");
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
    if let Some(algorithm) = Algorithm::by_name(&of.value) {
        return Ok((kept(&name.value), algorithm));
    }
    let mut tables = file.protocol.iter().flat_map(|at| &at.value.0);
    if let Some(other) = tables.find(|other| other.name.value == of.value && other.of.is_some()) {
        let end = other.of.as_ref().map_or("", |at| at.value.as_str());
        let text = format!("`{}` is a variant itself: `of` names an algorithm", of.value);
        return Err(of.fault(Problem::Conflict(text)).hint(format!("of = \"{end}\"")));
    }
    let problem = Problem::UnknownName { kind: "algorithm", name: of.value.clone() };
    Err(of.fault(problem).suggest(&of.value, Algorithm::all().into_iter().map(Algorithm::name)))
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
    algorithm: Algorithm,
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
