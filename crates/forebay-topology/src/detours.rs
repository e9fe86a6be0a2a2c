//! Detours: the one-hop alternatives of the links of a map, as in Table I of the INRPP paper
//! (doi:10.1109/TNET.2021.3128384).

use crate::map::Map;
use crate::reduce::Reduction;
use std::collections::BTreeSet;

/// Which routers and links of a map count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convention {
    /// All routers. A link that joins a router with itself does not count, several between two
    /// routers count once.
    #[default]
    Simple,
    /// As in Table I: of a Rocketfuel map the backbone (`r0`) with the links in it. A link that
    /// joins a router with itself counts, and makes the router its own neighbour.
    Table1,
}

/// How many links have detours. A detour of a link is a third router to which both its ends have a
/// link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detours {
    /// Links that count.
    pub links: usize,
    /// Of these, links with 1, 2, 3, 4, and 5 or more detours.
    pub with: [usize; 5],
    /// Most detours of a link.
    pub most: usize,
}

impl Detours {
    /// Those of a map.
    pub fn of(map: &Map, convention: Convention) -> Detours {
        let map = match convention {
            Convention::Simple => map.clone().without_loops(),
            Convention::Table1 => map.clone().reduced(Reduction::Backbone),
        };
        let neighbours: Vec<BTreeSet<usize>> =
            map.neighbours().into_iter().map(BTreeSet::from_iter).collect();
        let pairs: BTreeSet<[usize; 2]> = map.links.iter().map(|link| link.pair()).collect();
        let mut detours = Detours { links: pairs.len(), with: [0; 5], most: 0 };
        for [a, b] in pairs {
            let number = neighbours[a].intersection(&neighbours[b]).count();
            if number > 0 {
                detours.with[number.min(5) - 1] += 1;
            }
            detours.most = detours.most.max(number);
        }
        detours
    }

    /// Links that have a detour.
    pub fn detoured(&self) -> usize {
        self.with.iter().sum()
    }
    /// The share of links that have a detour, in percent; 0 without links.
    pub fn share_percent(&self) -> f64 {
        percent(self.detoured(), self.links)
    }
    /// Of the links with a detour, the shares with 1, 2, 3, 4, and 5 or more, in percent.
    pub fn shares_percent(&self) -> [f64; 5] {
        self.with.map(|links| percent(links, self.detoured()))
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{MapLink, MapNode};
    use crate::{ReadOptions, read};

    fn map(nodes: usize, links: &[(usize, usize)]) -> Map {
        Map {
            nodes: vec![MapNode::default(); nodes],
            links: links.iter().map(|&(a, b)| MapLink::between(a, b)).collect(),
            ..Map::default()
        }
    }

    /// In a complete graph of n routers each link has n - 2 detours, in a ring of more than three
    /// none has.
    #[test]
    fn complete_graphs_and_rings() {
        let pairs: Vec<_> = (0..6).flat_map(|a| (a + 1..6).map(move |b| (a, b))).collect();
        let complete = Detours::of(&map(6, &pairs), Convention::Simple);
        assert_eq!((complete.links, complete.with, complete.most), (15, [0, 0, 0, 15, 0], 4));
        assert_eq!(complete.share_percent(), 100.0);
        let ring = Detours::of(&map(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]), Convention::Simple);
        assert_eq!((ring.detoured(), ring.most, ring.share_percent()), (0, 0, 0.0));
        assert_eq!(ring.shares_percent(), [0.0; 5]);
    }

    /// The conventions differ by a router that is its own neighbour, and agree on several links
    /// between two routers.
    #[test]
    fn a_loop_counts_in_table_1_alone() {
        let map = map(2, &[(0, 1), (1, 0), (0, 0)]);
        let simple = Detours::of(&map, Convention::Simple);
        assert_eq!((simple.links, simple.detoured()), (1, 0));
        // Both links have router 0 as a detour; the loop has router 1, too.
        let table = Detours::of(&map, Convention::Table1);
        assert_eq!((table.links, table.with, table.most), (2, [1, 1, 0, 0, 0], 2));
    }

    /// Table I: share of links with a detour, of these the shares with 1, 2, 3, 4, 5 and more, and
    /// most detours of a link. Printed values are cut off or rounded: 0.02 is allowed.
    #[test]
    fn table_1_of_the_inrpp_paper() {
        let published = [
            ("3257.pop.cch", 24.44, [60.60, 19.19, 12.12, 5.05, 3.03], 8),
            ("4755.pop.cch", 25.00, [100.0, 0.0, 0.0, 0.0, 0.0], 1),
            ("3356.pop.cch", 92.30, [13.40, 14.10, 12.42, 13.02, 47.06], 95),
        ];
        let files = published.map(|(file, ..)| file);
        let Some(folder) = forebay_prerequisites::rocketfuel(&files) else { return };
        for (file, share, shares, most) in published {
            let text = std::fs::read_to_string(folder.join(file)).expect("it is promised");
            let map = read(&text, &ReadOptions::default()).expect("a map");
            let found = Detours::of(&map, Convention::Table1);
            let pairs = std::iter::zip(found.shares_percent(), shares);
            for (found, printed) in pairs.chain([(found.share_percent(), share)]) {
                assert!((found - printed).abs() <= 0.02, "{file}: {found} against {printed}");
            }
            assert_eq!(found.most, most, "{file}");
        }
    }
}
