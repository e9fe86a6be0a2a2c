//! Everything that has a name: for `list`, for `explain`, and for suggestions.

use forebay_lab::report::METRICS;
use forebay_lab::scenario::registry::{Disciplines, Routers, Schemes, lines};
use forebay_lab::scenario::{Algorithm, BUILTINS};
use forebay_transport::PRESETS;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Protocol,
    Discipline,
    Port,
    Router,
    Preset,
    Scenario,
    Metric,
}

impl Kind {
    /// In the order of `forebay list`.
    pub const ALL: [Kind; 7] = [
        Kind::Protocol,
        Kind::Discipline,
        Kind::Port,
        Kind::Router,
        Kind::Preset,
        Kind::Scenario,
        Kind::Metric,
    ];

    /// After `forebay list`, and in its JSON.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Protocol => "protocols",
            Kind::Discipline => "disciplines",
            Kind::Port => "ports",
            Kind::Router => "routers",
            Kind::Preset => "presets",
            Kind::Scenario => "scenarios",
            Kind::Metric => "metrics",
        }
    }
    /// In a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Protocol => "protocol",
            Kind::Discipline => "discipline",
            Kind::Port => "port scheme",
            Kind::Router => "kind of router",
            Kind::Preset => "preset",
            Kind::Scenario => "scenario",
            Kind::Metric => "metric",
        }
    }
    /// As a heading.
    pub fn heading(self) -> &'static str {
        match self {
            Kind::Protocol => "Protocols (--protocol)",
            Kind::Discipline => "Queue disciplines (queue.discipline)",
            Kind::Port => "Port schemes (port)",
            Kind::Router => "Routers (router)",
            Kind::Preset => "TCP presets (tcp.preset)",
            Kind::Scenario => "Scenarios (run NAME)",
            Kind::Metric => "Metrics (in tables and JSON)",
        }
    }
}

/// What experiments are called after `forebay list`, and in its JSON.
pub const EXPERIMENTS_KIND: &str = "experiments";

/// What `forebay list` can be asked for.
pub fn listed() -> Vec<&'static str> {
    Kind::ALL.map(Kind::plural).into_iter().chain([EXPERIMENTS_KIND]).collect()
}

/// A name with one line about it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub kind: Kind,
    pub name: &'static str,
    pub summary: &'static str,
}

/// All names, by kind and then as their tables have them.
pub fn all() -> Vec<Entry> {
    let entry = |kind, name, summary: &'static str| Entry {
        kind,
        name,
        summary: summary.trim_end_matches('.'),
    };
    let algorithms = Algorithm::all().into_iter();
    let protocols = algorithms.map(|p| entry(Kind::Protocol, p.name(), p.summary()));
    let disciplines =
        lines::<Disciplines>().into_iter().map(|d| entry(Kind::Discipline, d.name, d.summary));
    let ports = lines::<Schemes>().into_iter().map(|s| entry(Kind::Port, s.name, s.summary));
    let routers = lines::<Routers>().into_iter().map(|r| entry(Kind::Router, r.name, r.summary));
    let machines = disciplines.chain(ports).chain(routers);
    let presets = PRESETS.iter().map(|p| entry(Kind::Preset, p.name, p.summary));
    let scenarios = BUILTINS.iter().map(|s| entry(Kind::Scenario, s.name, s.description()));
    let metrics = METRICS.iter().map(|m| entry(Kind::Metric, m.name, m.meaning));
    protocols.chain(machines).chain(presets).chain(scenarios).chain(metrics).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_stands_for_one_thing_of_its_kind_and_has_a_line_about_it() {
        let mut names = BTreeSet::new();
        for entry in all() {
            // A protocol may have the name of what it needs in the network.
            let place = match entry.kind {
                Kind::Port | Kind::Router => entry.kind.name(),
                _ => "",
            };
            assert!(names.insert((place, entry.name)), "`{}` has two meanings", entry.name);
            assert!(!entry.summary.is_empty(), "nothing is said about `{}`", entry.name);
        }
        assert!(Kind::ALL.iter().all(|&kind| all().iter().any(|entry| entry.kind == kind)));
    }
}
