//! What tables and figures call a protocol: its name, and what of it is not as its paper has it.

use crate::Scenario;
use crate::registry::algorithms::AlgorithmSpec;
use forebay_cc::Spec;
use forebay_transport::PRESETS;
use toml::Value;

/// Most parameters that a label names.
const MAX_PARAMS: usize = 3;

impl Scenario {
    /// What tables and figures call a protocol: the title that the scenario gives it, else the name
    /// of its algorithm with the parameters that differ from those of the algorithm's paper, such
    /// as "Verus, recommended, R = 2"; of a variant "fast (Verus, R = 2)".
    pub fn label(&self, protocol: &str) -> String {
        let given = self.specs.iter().find(|spec| spec.name == protocol);
        if given.is_some_and(|spec| spec.title.is_some()) {
            return self.title(protocol);
        }
        let Some(spec) = self.spec(protocol) else { return protocol.to_string() };
        let mut parts = differences(&spec);
        if self.registry.algorithm(protocol).is_some() {
            parts.insert(0, self.title(protocol));
            return parts.join(", ");
        }
        // The name of a variant is its author's; most begin with that of the algorithm.
        if !protocol.starts_with(spec.name()) {
            parts.insert(0, self.title(spec.name()));
        }
        if parts.is_empty() {
            protocol.to_string()
        } else {
            format!("{protocol} ({})", parts.join(", "))
        }
    }
}

/// What differs from the paper: a preset of the transport that gives all of it, or parameters.
fn differences(spec: &AlgorithmSpec) -> Vec<String> {
    if let AlgorithmSpec::Table(of) = spec
        && *of != of.of_paper()
        && let Some(preset) = PRESETS.iter().find(|preset| preset.controllers.contains(of))
    {
        return vec![preset.name.to_string()];
    }
    let (own, paper) = (shown_params(spec), spec.paper_params());
    let differs = own.iter().filter(|(key, value)| paper.get(*key) != Some(value));
    let mut parts: Vec<(usize, String)> = differs.map(|(key, value)| part(key, value)).collect();
    parts.sort_by_key(|(rank, _)| *rank);
    let more = parts.len().saturating_sub(MAX_PARAMS);
    let mut parts: Vec<String> = parts.into_iter().map(|(_, text)| text).take(MAX_PARAMS).collect();
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts
}

/// The parameters that are given, and R of Verus: its paper has three values of it.
fn shown_params(spec: &AlgorithmSpec) -> toml::Table {
    let mut params = spec.params();
    if let AlgorithmSpec::Table(Spec::Verus(verus)) = spec {
        params.insert("r".into(), verus.r().into());
    }
    params
}

/// A parameter in words, and its rank in the label: the preset first, then symbols of the paper.
fn part(key: &str, value: &Value) -> (usize, String) {
    let shown = match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    };
    match key {
        "preset" => (0, shown),
        _ if key.len() == 1 => (1, format!("{} = {shown}", key.to_uppercase())),
        _ => (2, format!("{key} = {shown}")),
    }
}

#[cfg(test)]
mod tests {
    use crate::{LoadOptions, Scenario};

    fn labels(set: &[&str], protocols: &[&str]) -> Vec<String> {
        let set = set.iter().map(ToString::to_string).collect();
        let options = LoadOptions { set, ..LoadOptions::default() };
        let scenario = Scenario::load("dumbbell", &options).unwrap();
        protocols.iter().map(|protocol| scenario.label(protocol)).collect()
    }

    /// Presets of Verus, and R of each, as docs/papers/verus.md has them.
    #[test]
    fn labels_name_what_differs_from_the_paper() {
        let label = |set: &str, protocol: &str| {
            let set = if set.is_empty() { vec![] } else { vec![set] };
            labels(&set, &[protocol]).remove(0)
        };
        assert_eq!(label("", "verus"), "Verus, recommended, R = 2");
        assert_eq!(label("protocol.verus.r=6", "verus"), "Verus, recommended, R = 6");
        assert_eq!(label("protocol.verus.preset=paper", "verus"), "Verus, R = 2");
        assert_eq!(label("protocol.verus.preset=authors", "verus"), "Verus, authors, R = 6");
        assert_eq!(label("", "kickass"), "Kick-Ass, recommended");
        assert_eq!(label("protocol.kickass.preset=paper", "kickass"), "Kick-Ass");
        assert_eq!(label("protocol.copa.delta=0.1", "copa"), "Copa, delta = 0.1");
        assert_eq!(label("protocol.inrpp.max_credits=1", "inrpp"), "INRPP, max_credits = 1");
        for (protocol, title) in [("cubic", "CUBIC"), ("inrpp", "INRPP"), ("copa", "Copa")] {
            assert_eq!(label("", protocol), title);
        }
        assert_eq!(label("tcp.preset=linux-6.18", "cubic"), "CUBIC, linux-6.18");
    }

    #[test]
    fn variants_keep_their_names_and_titles_stand_alone() {
        let set = [
            "protocol.verus-r4={ of = \"verus\", r = 4 }",
            "protocol.paper={ of = \"verus\", preset = \"paper\", epoch_ms = 2, m = 0.5, \
             alpha = 0.3, pacing = true }",
        ];
        let found = labels(&set, &["verus-r4", "paper"]);
        let expected = [
            "verus-r4 (recommended, R = 4)",
            "paper (Verus, M = 0.5, R = 2, alpha = 0.3, and 2 more)",
        ];
        assert_eq!(found, expected);
        let titled = ["protocol.x={ of = \"verus\", title = \"Mine\" }"];
        assert_eq!(labels(&titled, &["x"]), ["Mine"]);
    }
}
