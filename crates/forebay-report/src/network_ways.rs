//! The ways of flows over several paths: which links each subflow takes.

use super::scenario_text::ScenarioFile;
use forebay_scenario::{Registry, Ways};
use std::collections::BTreeMap;

/// Most flows whose ways are drawn.
pub(super) const MAX_FLOWS: usize = 4;

/// The way of one path of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlowWay {
    /// Of the flow, from 1.
    pub flow: usize,
    /// Of the path, from 1.
    pub path: usize,
    /// Its own protocol; None: it is compared under several.
    pub protocol: Option<String>,
    /// Names of the sender and the receiver.
    pub ends: [String; 2],
    /// The directed links, in order: link `k` of the text is `2 k` in one direction, `2 k + 1` in
    /// the other.
    pub links: Vec<usize>,
}

/// The ways of a scenario, and who uses more than the first of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowWays {
    pub ways: Vec<FlowWay>,
    /// Flows over several paths, with those whose ways are not among them.
    pub flows: usize,
    /// The protocols that the scenario compares.
    compared: Vec<String>,
    /// What protocols of the scenario are of, where they are variants.
    variants: BTreeMap<String, String>,
}

impl FlowWays {
    /// Of the flows of a text whose groups are expanded. None are known where routes have several
    /// trees: which one a subflow takes follows from its ports.
    pub fn of_file(file: &ScenarioFile) -> FlowWays {
        let several =
            |paths: &Option<Vec<[String; 2]>>| paths.as_ref().is_some_and(|p| p.len() > 1);
        let flows: Vec<_> =
            file.flows.iter().enumerate().filter(|(_, flow)| several(&flow.paths)).collect();
        if flows.is_empty() || file.routes.trees > 1 {
            return FlowWays::default();
        }
        let names: Vec<&str> =
            file.routers.iter().chain(&file.hosts).map(|node| node.name()).collect();
        let nodes: BTreeMap<&str, usize> =
            names.iter().enumerate().map(|(number, name)| (*name, number)).collect();
        let ends = |a: &str, b: &str| Some([*nodes.get(a)?, *nodes.get(b)?]);
        let links =
            file.links.iter().map(|link| Some((ends(&link.a, &link.b)?, link.weight.unwrap_or(1))));
        let Some(links) = links.collect::<Option<Vec<_>>>() else { return FlowWays::default() };
        let by_name: BTreeMap<String, usize> =
            file.links.iter().enumerate().map(|(number, link)| (link.name(), number)).collect();
        let routers = (0..names.len()).map(|node| node < file.routers.len());
        let mut routes = Ways::new(file.routes.equal_costs != "independent", routers, links);
        let mut ways = Vec::new();
        for &(number, flow) in flows.iter().take(MAX_FLOWS) {
            let paths = flow.paths.iter().flatten().enumerate();
            ways.extend(paths.filter_map(|(path, links)| {
                let [src, dst] = ends(&flow.src, &flow.dst)?;
                let [first, last] = links.each_ref().map(|name| by_name.get(name).copied());
                Some(FlowWay {
                    flow: number + 1,
                    path: path + 1,
                    protocol: flow.protocol.clone(),
                    ends: [flow.src.clone(), flow.dst.clone()],
                    links: routes.between([(src, first?), (dst, last?)])?,
                })
            }));
        }
        let of = |(name, table): (&String, &toml::Table)| {
            Some((name.clone(), table.get("of")?.as_str()?.to_string()))
        };
        let variants = file.protocol.iter().filter_map(of).collect();
        FlowWays { ways, flows: flows.len(), compared: file.protocols.clone(), variants }
    }

    /// Those that flows use under any protocol that the scenario compares.
    pub fn used(&self) -> FlowWays {
        self.used_under(&self.compared.iter().map(String::as_str).collect::<Vec<_>>())
    }
    /// Those that flows use under any of `protocols`: without MPTCP, the first of each flow.
    pub fn used_under(&self, protocols: &[&str]) -> FlowWays {
        let registry = Registry::default();
        let multipath = |name: &str| {
            let of = self.variants.get(name).map_or(name, String::as_str);
            registry.algorithm(of).is_some_and(|of| of.is_multipath())
        };
        let compared = protocols.iter().any(|name| multipath(name));
        let used =
            |way: &&FlowWay| way.path == 1 || way.protocol.as_deref().map_or(compared, multipath);
        FlowWays { ways: self.ways.iter().filter(used).cloned().collect(), ..self.clone() }
    }
}
