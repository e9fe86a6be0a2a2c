//! Whose packet events are written.

use forebay_base::{FlowId, NodeId};
use forebay_scenario::Scenario;

/// Whose packet events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// Packets of this flow, everywhere.
    Flow(FlowId),
    /// What happens at this node: packets that it makes, gets, queues, holds and drops.
    Node(NodeId),
}

/// The text names neither a flow nor a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no flow or node `{name}`: expected a flow from 1 to {flows}, or a node{hint}")]
pub struct EventFilterError {
    /// The text.
    pub name: String,
    /// Number of flows.
    pub flows: usize,
    /// The node that may have been meant, as the end of a sentence; may be empty.
    pub hint: String,
}

impl EventFilter {
    /// From the command line: `3` or `flow:3` (flows count from 1), `r0` or `node:r0`. A bare
    /// number is a flow if there is one of that number, else a node of that name.
    pub fn parse(text: &str, scenario: &Scenario) -> Result<EventFilter, EventFilterError> {
        let flow = |number: &str| {
            let number: u32 = number.parse().ok()?;
            let known = number >= 1 && number as usize <= scenario.flows.len();
            known.then(|| EventFilter::Flow(FlowId(number - 1)))
        };
        let node = |name: &str| {
            let index = scenario.nodes.iter().position(|node| node.name == name)?;
            Some(EventFilter::Node(NodeId(index as u32)))
        };
        let found = match text.split_once(':') {
            Some(("flow", number)) => flow(number),
            Some(("node", name)) => node(name),
            _ => flow(text).or_else(|| node(text)),
        };
        found.ok_or_else(|| EventFilterError {
            name: text.to_string(),
            flows: scenario.flows.len(),
            hint: nearest_node(text, scenario),
        })
    }
}

fn nearest_node(text: &str, scenario: &Scenario) -> String {
    let name = text.strip_prefix("node:").unwrap_or(text);
    let likeness = |node: &str| strsim::jaro_winkler(name, node);
    let names = scenario.nodes.iter().map(|node| node.name.as_str());
    let near = names.rev().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    near.map_or_else(String::new, |name| format!(" such as `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_scenario::LoadOptions;

    #[test]
    fn numbers_are_flows_first_and_names_are_nodes() {
        let scenario = Scenario::load("s1", &LoadOptions::default()).unwrap();
        let parse = |text: &str| EventFilter::parse(text, &scenario);
        let named = |name: &str| {
            let index = scenario.nodes.iter().position(|node| node.name == name).unwrap();
            Ok(EventFilter::Node(NodeId(index as u32)))
        };
        // Routers of s1 are called 0 to 4; it has three flows.
        assert_eq!(parse("1"), Ok(EventFilter::Flow(FlowId(0))));
        assert_eq!(parse("flow:3"), Ok(EventFilter::Flow(FlowId(2))));
        assert_eq!(parse("0"), named("0"));
        assert_eq!(parse("4"), named("4"));
        assert_eq!(parse("node:1"), named("1"));
        assert_eq!(parse("s2"), named("s2"));
        let error = parse("s9").unwrap_err().to_string();
        let expected =
            "there is no flow or node `s9`: expected a flow from 1 to 3, or a node such as `s";
        assert!(error.starts_with(expected), "{error}");
        assert!(parse("flow:0").is_err() && parse("flow:4").is_err() && parse("node:9").is_err());
    }
}
