//! The protocols of a scenario: algorithms, and variants that it declares.

use crate::Scenario;
use crate::format::fault::{Fault, Problem};
use crate::format::fields::Spanned;
use crate::format::names::{Name, is_name};
use crate::keys::file::File;
use crate::registry::Registry;
use crate::registry::algorithms::AlgorithmSpec;
use crate::registry::protocol::NetworkRequirements;

/// A protocol whose parameters a scenario gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolSpec {
    /// Its name: that of its algorithm, or of a variant (`[protocol.NAME] of = "ALGORITHM"`).
    pub name: Name,
    /// What text calls it, if the scenario says so.
    pub title: Option<String>,
    /// Its algorithm, with all parameters.
    pub algorithm: AlgorithmSpec,
}

/// The names of protocols that a scenario may use: algorithms, and the variants that it declares.
pub(crate) struct Names(pub Vec<Name>);

impl Names {
    /// Those of a file. A variant that has mistakes of its own has a name all the same.
    pub fn of(registry: &Registry, file: &File) -> Names {
        let tables = file.protocol.iter().flat_map(|at| &at.value.0);
        let variants = tables.filter(|table| table.of.is_some() && is_name(&table.name.value));
        Names::with(registry, variants.map(|table| Name::from(table.name.value.as_str())))
    }

    /// All algorithms, and these variants.
    pub fn with(registry: &Registry, variants: impl Iterator<Item = Name>) -> Names {
        let all = registry.algorithms();
        let mut names: Vec<_> = all.iter().map(|algorithm| Name::from(algorithm.name())).collect();
        for variant in variants {
            if !names.contains(&variant) {
                names.push(variant);
            }
        }
        Names(names)
    }

    /// The protocol of that name.
    pub fn lookup(&self, name: &Spanned<String>) -> Result<Name, Fault> {
        let found = self.find(&name.value);
        found.map_err(|fault| Fault { loc: Some(name.loc), key: name.key.clone(), ..fault })
    }

    /// The same for a name that stands in no file.
    pub fn find(&self, name: &str) -> Result<Name, Fault> {
        self.0.iter().find(|known| **known == *name).cloned().ok_or_else(|| {
            let problem = Problem::UnknownName { kind: "protocol", name: name.to_string() };
            suggest(Fault::nowhere(problem), name, self.0.iter().map(Name::as_str))
        })
    }
}

/// Suggest the protocol that is meant: of MPTCP by its coupled increase, else the nearest.
pub(crate) fn suggest<'a>(fault: Fault, name: &str, names: impl Iterator<Item = &'a str>) -> Fault {
    let lower = name.to_lowercase();
    match lower.rsplit(['-', '_', '/', ':', ' ']).next() {
        Some("lia") => fault.hint("did you mean `mptcp`?"),
        Some("olia") => fault.hint("did you mean `mptcp-olia`?"),
        _ => fault.suggest(name, names),
    }
}

impl Scenario {
    /// The names of protocols that it can run: all algorithms, then its variants.
    pub fn protocol_names(&self) -> Vec<Name> {
        self.names().0
    }

    pub(crate) fn names(&self) -> Names {
        Names::with(&self.registry, self.specs.iter().map(|spec| spec.name.clone()))
    }

    /// The algorithm of the protocol of that name, with the parameters that the scenario gives it;
    /// None if there is no such protocol.
    pub fn spec(&self, protocol: &str) -> Option<AlgorithmSpec> {
        let given = self.specs.iter().find(|spec| spec.name == protocol);
        let given = given.map(|spec| spec.algorithm.clone());
        let spec = given
            .or_else(|| self.registry.algorithm(protocol).map(|algorithm| algorithm.spec()))?;
        Some(if self.has_link_keys() { spec.guarded() } else { spec })
    }

    /// What text and figures call a protocol: for a variant without a title its name.
    pub fn title(&self, protocol: &str) -> String {
        let given = self.specs.iter().find(|spec| spec.name == protocol);
        let title = given.and_then(|spec| spec.title.clone());
        let known = || Some(self.registry.algorithm(protocol)?.title().to_string());
        title.or_else(known).unwrap_or_else(|| protocol.to_string())
    }

    /// Network requirements of a protocol: those of its algorithm.
    pub fn bundle(&self, protocol: &str) -> NetworkRequirements {
        let given = self.specs.iter().find(|spec| spec.name == protocol);
        let algorithm = given.map_or(protocol, |spec| spec.algorithm.name());
        self.registry
            .algorithm(algorithm)
            .map_or_else(NetworkRequirements::default, |of| of.bundle())
    }
}
