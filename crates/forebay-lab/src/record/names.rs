//! Names of nodes and links in a record, and what they stand for.

use super::Header;
use forebay_base::{LinkId, NodeId};
use forebay_net::Place;
use forebay_scenario::{LinkNames, Scenario};

/// The names of a scenario.
#[derive(Debug)]
pub(super) struct Names {
    nodes: Vec<String>,
    links: Vec<String>,
    /// Where each directed link begins and ends.
    ends: Vec<[NodeId; 2]>,
}

impl Names {
    pub fn new(scenario: &Scenario) -> Names {
        let ends = scenario.links.iter().flat_map(|link| [[link.a, link.b], [link.b, link.a]]);
        Names {
            nodes: scenario.nodes.iter().map(|node| node.name.to_string()).collect(),
            links: LinkNames::new(scenario).iter().map(str::to_string).collect(),
            ends: ends.collect(),
        }
    }
    /// Directed links.
    pub fn links(&self) -> &[String] {
        &self.links
    }
    pub fn node(&self, node: NodeId) -> &str {
        &self.nodes[node.index()]
    }
    /// Where a link begins.
    pub fn from(&self, link: LinkId) -> NodeId {
        self.ends[link.index()][0]
    }
    /// What a header says is there.
    pub fn place(&self, header: &Header) -> Result<Place, String> {
        let nodes = header.nodes.iter().map(|name| {
            let node = self.nodes.iter().position(|other| other == name);
            node.map(|id| NodeId(id as u32)).ok_or(format!("no node of the scenario is `{name}`"))
        });
        let offered = header.offered.iter().map(|name| self.link(name));
        Ok(Place {
            nodes: nodes.collect::<Result<_, _>>()?,
            offered: offered.collect::<Result<_, _>>()?,
        })
    }
    fn link(&self, name: &str) -> Result<LinkId, String> {
        let link = self.links.iter().position(|other| other == name);
        link.map(|id| LinkId(id as u32)).ok_or(format!("no link of the scenario is `{name}`"))
    }
    /// The link with this name. Errors if nothing comes over it to `place` from elsewhere.
    pub fn entry(&self, name: &str, place: &Place) -> Result<LinkId, String> {
        let link = self.link(name)?;
        if self.enters(link, place) { Ok(link) } else { Err(format!("`{name}` does not end here")) }
    }
    /// The link with this name. Errors if nothing leaves over it from `place` to elsewhere.
    pub fn exit(&self, name: &str, place: &Place) -> Result<LinkId, String> {
        let link = self.link(name)?;
        if self.enters(link.opposite(), place) {
            Ok(link)
        } else {
            Err(format!("`{name}` does not lead from here to elsewhere"))
        }
    }
    /// The links over which packets come to `place` from elsewhere.
    pub fn entries(&self, place: &Place) -> impl Iterator<Item = LinkId> {
        let links = (0..self.links.len() as u32).map(LinkId);
        links.filter(|link| self.enters(*link, place))
    }
    fn enters(&self, link: LinkId, place: &Place) -> bool {
        let [from, to] = self.ends[link.index()].map(|node| place.nodes.contains(&node));
        to && !from
    }
    /// The name of the capture of a place: that of its first node, in letters that any system
    /// takes, and with the number of the node where another node would have the same file.
    pub fn file(&self, place: &Place) -> String {
        let Some(&first) = place.nodes.first() else { return "nothing.pcapng".to_string() };
        let plain = plain(self.node(first));
        let same = self.nodes.iter().filter(|name| alike(name) == plain.to_lowercase()).count();
        match same {
            1 => format!("{plain}.pcapng"),
            _ => format!("{plain}~{}.pcapng", first.0),
        }
    }
}

fn plain(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

/// Some file systems take A for a.
fn alike(name: &str) -> String {
    plain(name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_nodes_have_the_same_file() {
        let nodes = ["a b", "a_b", "A_B", "c"].map(String::from).to_vec();
        let names = Names { nodes, links: Vec::new(), ends: Vec::new() };
        let files = [0, 1, 2, 3]
            .map(|node| names.file(&Place { nodes: vec![NodeId(node)], ..Place::default() }));
        assert_eq!(files, ["a_b~0.pcapng", "a_b~1.pcapng", "A_B~2.pcapng", "c.pcapng"]);
    }
}
