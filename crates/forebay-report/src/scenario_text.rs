//! What a drawing reads of the text of a scenario.

use forebay_base::Rate;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The text of a scenario whose groups are expanded.
#[derive(Deserialize)]
pub(super) struct ScenarioFile {
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub protocols: Vec<String>,
    /// Variants of protocols.
    #[serde(default)]
    pub protocol: BTreeMap<String, toml::Table>,
    #[serde(default)]
    pub routes: RoutesText,
    #[serde(default)]
    pub routers: Vec<NodeText>,
    #[serde(default)]
    pub hosts: Vec<NodeText>,
    #[serde(default)]
    pub links: Vec<LinkText>,
    #[serde(default)]
    pub flows: Vec<FlowText>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RoutesText {
    pub trees: u8,
    pub equal_costs: String,
}

#[derive(Deserialize)]
pub(super) struct FlowText {
    pub src: String,
    pub dst: String,
    pub protocol: Option<String>,
    /// The links of both hosts.
    pub paths: Option<Vec<[String; 2]>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum NodeText {
    Name(String),
    Table { name: String, at: Option<[f64; 2]>, role: Option<String> },
}

impl NodeText {
    pub fn name(&self) -> &str {
        let (NodeText::Name(name) | NodeText::Table { name, .. }) = self;
        name
    }
}

#[derive(Deserialize)]
pub(super) struct LinkText {
    pub a: String,
    pub b: String,
    name: Option<String>,
    pub rate: Option<Rate>,
    pub reverse: Option<ReverseText>,
    pub weight: Option<u32>,
}

impl LinkText {
    /// Its own name.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("{}-{}", self.a, self.b))
    }
}

#[derive(Deserialize)]
pub(super) struct ReverseText {
    pub rate: Option<Rate>,
}
