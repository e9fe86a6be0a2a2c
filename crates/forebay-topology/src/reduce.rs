//! Parts of a map.

use crate::graph;
use crate::map::{Map, MapLink, Role};

/// Rules by which routers and links of a map are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Nothing is left out.
    #[default]
    None,
    /// Of a Rocketfuel map, the backbone: routers with 0 hops to it (`r0`), and the links between
    /// them. Other maps stay as they are.
    Backbone,
    /// Routers get roles by their degree, as in ndnSIM: edge, gateway, backbone. Links that fit no
    /// role are left out, and all but the largest component.
    Roles,
}

/// Routers with at most so many neighbours are at the edge.
const EDGE_DEGREE: usize = 2;

impl Map {
    /// The map after a reduction.
    #[must_use]
    pub fn reduced(self, how: Reduction) -> Map {
        match how {
            Reduction::None => self,
            Reduction::Backbone => self.backbone(),
            Reduction::Roles => self.with_roles(),
        }
    }

    fn backbone(mut self) -> Map {
        if self.nodes.iter().all(|node| node.backbone_hops.is_none()) {
            let text = "`reduce = \"backbone\"` leaves out nothing: only Rocketfuel maps say what \
                        their backbone is";
            self.notes.push(text.to_string());
        }
        let kept: Vec<bool> =
            self.nodes.iter().map(|node| node.backbone_hops.is_none_or(|hops| hops == 0)).collect();
        self.part(&kept, |_| true)
    }

    /// The largest component, the first of several; a note says what is left out.
    #[must_use]
    pub fn largest_component(self) -> Map {
        let (of, sizes) = graph::components(&self.neighbours());
        if sizes.len() < 2 {
            return self;
        }
        let largest = (0..sizes.len()).max_by_key(|&i| (sizes[i], std::cmp::Reverse(i)));
        let kept: Vec<bool> = of.iter().map(|&component| Some(component) == largest).collect();
        let mut map = self.part(&kept, |_| true);
        let (out, all) = (self.nodes.len() - map.nodes.len(), self.nodes.len());
        let others = sizes.len() - 1;
        let text = format!(
            "{out} of {all} routers are left out: they are in {others} other component{}",
            if others > 1 { "s" } else { "" }
        );
        map.notes.push(text);
        map
    }

    /// The number of components.
    pub fn components(&self) -> usize {
        graph::components(&self.neighbours()).1.len()
    }

    /// Roles as ndnSIM's reader of Rocketfuel maps gives them (`AssignClients`, `AssignGw`). For
    /// degrees 1 and 2 in turn, each router of that degree is an edge, and its neighbours without
    /// a role are gateways; if such a neighbour is of that degree or less, its own neighbours
    /// without a role are backbone. What is left is backbone. The result depends on the order:
    /// routers in that of the file, neighbours the other way round.
    fn with_roles(self) -> Map {
        let mut map = self.without_loops();
        let mut neighbours = map.neighbours();
        for list in &mut neighbours {
            list.sort_unstable_by(|a, b| b.cmp(a));
            list.dedup();
        }
        for degree in 1..=EDGE_DEGREE {
            for node in 0..map.nodes.len() {
                if neighbours[node].len() == degree {
                    map.nodes[node].role = Some(Role::Edge);
                    map.give_roles_around(node, degree, &neighbours);
                }
            }
        }
        for node in &mut map.nodes {
            node.role.get_or_insert(Role::Backbone);
        }
        let role = |index: usize| map.nodes[index].role;
        let fits = |link: &MapLink| {
            let [a, b] = link.ends.map(role);
            let edges = [a, b].into_iter().filter(|&end| end == Some(Role::Edge)).count();
            edges == 0 || edges == 1 && [a, b].contains(&Some(Role::Gateway))
        };
        map.part(&vec![true; map.nodes.len()], fits).largest_component()
    }

    /// Roles of the neighbours of an edge router, depth first.
    fn give_roles_around(&mut self, edge: usize, degree: usize, neighbours: &[Vec<usize>]) {
        let mut stack = vec![(edge, Role::Gateway, 0)];
        while let Some((node, role, next)) = stack.pop() {
            let Some(&other) = neighbours[node].get(next) else { continue };
            stack.push((node, role, next + 1));
            if self.nodes[other].role.is_some() {
                continue;
            }
            self.nodes[other].role = Some(role);
            if neighbours[other].len() <= degree {
                stack.push((other, Role::Backbone, 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::MapNode;
    use crate::{ReadOptions, read};
    use std::collections::BTreeSet;
    use std::fs;

    fn map(nodes: usize, links: &[(usize, usize)]) -> Map {
        let name = |i: usize| MapNode { name: i.to_string(), ..MapNode::default() };
        let links = links.iter().map(|&(a, b)| MapLink::between(a, b)).collect();
        Map { nodes: (0..nodes).map(name).collect(), links, ..Map::default() }
    }

    #[test]
    fn of_several_components_the_largest_stays() {
        let map = map(6, &[(0, 1), (2, 3), (3, 4)]);
        assert_eq!(map.components(), 3);
        let map = map.largest_component();
        assert_eq!((map.nodes.len(), map.links.len(), map.components()), (3, 2, 1));
        assert_eq!(map.nodes[0].name, "2");
        assert_eq!(map.notes, ["3 of 6 routers are left out: they are in 2 other components"]);
    }

    /// A square of four routers with a router at each corner: the corners are gateways.
    #[test]
    fn roles_follow_degrees() {
        let links = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7), (0, 2)];
        let square = map(8, &links).reduced(Reduction::Roles);
        let roles: Vec<_> = square.nodes.iter().filter_map(|node| node.role).collect();
        assert_eq!(roles, [[Role::Gateway; 4], [Role::Edge; 4]].concat());
        assert_eq!(square.links.len(), 9);
        assert_eq!(square.edges(), [4, 5, 6, 7]);
        // A chain is all edges: no link between two of them stays.
        let chain = map(4, &[(0, 1), (1, 2), (2, 3)]).reduced(Reduction::Roles);
        assert!(chain.links.len() < 3, "{chain:?}");
    }

    /// The network of section IV-D of the INRPP paper (doi:10.1109/TNET.2021.3128384): 440 routers,
    /// 681 links; 267 edge, 126 gateway and 47 backbone routers.
    #[test]
    fn tiscali_as_simulated_in_the_inrpp_paper() {
        let files = ["3257.pop.cch", "tiscali440.edges.csv", "tiscali440.nodes.csv"];
        let Some(folder) = forebay_prerequisites::rocketfuel(&files) else { return };
        let text = |file: &str| fs::read_to_string(folder.join(file)).expect("it is promised");
        let map = read(&text("3257.pop.cch"), &ReadOptions::default()).expect("a map");
        assert_eq!((map.nodes.len(), map.links.len(), map.components()), (506, 750, 1));
        let map = map.reduced(Reduction::Roles);
        let count = |role| map.nodes.iter().filter(|node| node.role == Some(role)).count();
        let roles = [Role::Edge, Role::Gateway, Role::Backbone].map(count);
        assert_eq!((map.nodes.len(), map.links.len(), roles), (440, 681, [267, 126, 47]));

        let name = |index: usize| map.nodes[index].name.clone();
        let ordered = |[a, b]: [String; 2]| if a < b { (a, b) } else { (b, a) };
        let found: BTreeSet<_> =
            map.links.iter().map(|link| ordered(link.ends.map(name))).collect();
        let cells = |line: &str| line.split(',').map(str::to_string).collect::<Vec<_>>();
        let edges = text("tiscali440.edges.csv");
        let rows = edges.lines().skip(1).map(cells);
        let expected = rows.map(|row| ordered([row[0].clone(), row[1].clone()]));
        assert_eq!(found, expected.collect());
        let nodes = text("tiscali440.nodes.csv");
        let rows = nodes.lines().skip(1).map(cells).map(|row| (row[0].clone(), row[1].clone()));
        let roles = map
            .nodes
            .iter()
            .map(|node| (node.name.clone(), node.role.expect("each has one").name().to_string()));
        assert_eq!(roles.collect::<BTreeSet<_>>(), rows.collect());
    }
}
