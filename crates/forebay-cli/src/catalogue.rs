//! Everything that has a name: for `list`, for `explain`, and for suggestions.

use forebay_lab::report::METRICS;
use forebay_lab::scenario::registry::{self, Disciplines, Line, Routers, Schemes};
use forebay_lab::scenario::{BUILTINS, Registry};
use forebay_transport::PRESETS;
use std::borrow::Cow;

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
    pub name: Cow<'static, str>,
    pub summary: Cow<'static, str>,
}

/// All names, by kind and then as their tables have them.
pub fn all(registry: &Registry) -> Vec<Entry> {
    let fixed = |kind, name: &'static str, summary: &'static str| Entry {
        kind,
        name: name.into(),
        summary: summary.trim_end_matches('.').into(),
    };
    let algorithms = registry.algorithms();
    let mut all: Vec<Entry> =
        algorithms.iter().map(|p| entry(Kind::Protocol, p.name(), p.summary())).collect();
    all.extend(machines::<Disciplines>(registry, Kind::Discipline));
    all.extend(machines::<Schemes>(registry, Kind::Port));
    all.extend(machines::<Routers>(registry, Kind::Router));
    all.extend(PRESETS.iter().map(|p| fixed(Kind::Preset, p.name, p.summary)));
    all.extend(BUILTINS.iter().map(|s| fixed(Kind::Scenario, s.name, s.description())));
    all.extend(METRICS.iter().map(|m| fixed(Kind::Metric, m.name, m.meaning)));
    all
}

fn entry(kind: Kind, name: &str, summary: &str) -> Entry {
    let summary = summary.trim_end_matches('.').to_string();
    Entry { kind, name: name.to_string().into(), summary: summary.into() }
}

fn machines<K: registry::Kind>(of: &Registry, kind: Kind) -> impl Iterator<Item = Entry> {
    of.lines::<K>()
        .iter()
        .map(move |line: &std::sync::Arc<Line<K>>| entry(kind, &line.name, &line.summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_stands_for_one_thing_of_its_kind_and_has_a_line_about_it() {
        let mut names = BTreeSet::new();
        let all = all(&Registry::default());
        for entry in &all {
            // A protocol may have the name of what it needs in the network.
            let place = match entry.kind {
                Kind::Port | Kind::Router => entry.kind.name(),
                _ => "",
            };
            assert!(names.insert((place, &entry.name)), "`{}` has two meanings", entry.name);
            assert!(!entry.summary.is_empty(), "nothing is said about `{}`", entry.name);
        }
        assert!(Kind::ALL.iter().all(|&kind| all.iter().any(|entry| entry.kind == kind)));
    }
}
