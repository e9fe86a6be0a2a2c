//! topohub's JSON (Jurkiewicz, "TopoHub: A repository of reference Gabriel graph and real-world
//! topologies for networking research", SoftwareX 24, 2023): the node-link form of networkx.
//!
//! A node has an `id` (a number or a text), may have a `name`, and `pos`, longitude and latitude; a
//! link `source`, `target` and `dist` in km. `graph.demands` is a table of tables: from which id to
//! which, and how much.

use super::ReadOptions;
use super::geography::{add_lengths, is_on_earth};
use super::text::{MapError, fault};
use crate::map::{Map, MapDemand, MapLink, MapNode};
use crate::names::Names;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    graph: Graph,
    nodes: Vec<Node>,
    #[serde(alias = "edges")]
    links: Vec<Link>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Graph {
    name: String,
    demands: BTreeMap<String, BTreeMap<String, f64>>,
}

#[derive(Deserialize)]
struct Node {
    id: Id,
    #[serde(default)]
    name: String,
    pos: Option<[f64; 2]>,
}

#[derive(Deserialize)]
struct Link {
    source: Id,
    target: Id,
    dist: Option<f64>,
    weight: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(i64),
    Text(String),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(number) => number.fmt(f),
            Id::Text(text) => text.fmt(f),
        }
    }
}

/// The largest coordinate of a place in a plane.
const MAX_COORDINATE: f64 = 1e6;

pub(super) fn read(text: &str, options: &ReadOptions) -> Result<Map, MapError> {
    let file: File =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
            let line = error.line().saturating_sub(1);
            let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
            let at = (start + error.column().saturating_sub(1)).min(text.len());
            let message = error.to_string();
            let message =
                message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
            fault(at..at, format!("not a graph in topohub's JSON: {message}"))
                .hint("expected { nodes: [{ id, pos }], links: [{ source, target, dist }] }")
        })?;
    let mut map = Map { name: file.graph.name, ..Map::default() };
    let (mut ids, mut names) = (BTreeMap::new(), Names::default());
    for node in file.nodes {
        let id = node.id.to_string();
        let name = names.unique(&node.name, &id);
        if let Some([x, y]) = node.pos.filter(|at| at.iter().any(|x| x.abs() > MAX_COORDINATE)) {
            let problem = format!(
                "the node `{id}` is at [{x:?}, {y:?}]: expected longitude and latitude in degrees, \
                 or a place in a plane, from -1e6 to 1e6"
            );
            return Err(about(text, &id, problem));
        }
        map.nodes.push(MapNode { name, at: node.pos, ..MapNode::default() });
        if ids.insert(id.clone(), map.nodes.len() - 1).is_some() {
            return Err(about(text, &id, format!("two nodes have the id `{id}`")));
        }
    }
    let find = |id: &str| {
        let found = ids.get(id).copied();
        found.ok_or_else(|| about(text, id, format!("there is no node with the id `{id}`")))
    };
    for link in file.links {
        let [a, b] = [link.source.to_string(), link.target.to_string()];
        let ends = [find(&a)?, find(&b)?];
        let weight = link.weight.map(|weight| {
            let whole = (1.0..=65_535.0).contains(&weight) && weight.fract() == 0.0;
            let expected = format!(
                "the link from `{a}` to `{b}` has the weight {weight}: expected \
                                    a whole number, 1 to 65535"
            );
            if whole { Ok(weight as u32) } else { Err(about(text, &a, expected)) }
        });
        if let Some(km) = link.dist.filter(|&km| km < 0.0) {
            let problem =
                format!("the link from `{a}` to `{b}` is {km} km long: expected 0 or more");
            return Err(about(text, &a, problem));
        }
        let length_m = link.dist.map(|km| km * 1e3);
        map.links.push(MapLink { ends, length_m, weight: weight.transpose()?, rate_bps: None });
    }
    let unit = options.unit(None);
    for (from, row) in &file.graph.demands {
        for (to, &value) in row {
            let (from, to) = (find(from)?, find(to)?);
            if value < 0.0 {
                let text_of = format!("a demand of {value}: expected 0 or more");
                return Err(about(text, &map.nodes[to].name, text_of));
            }
            if from != to && value > 0.0 {
                map.demands.push(MapDemand { from, to, bps: value * unit });
            }
        }
    }
    let mut placed = map.nodes.iter().filter_map(|node| node.at).peekable();
    map.geographic = placed.peek().is_some() && placed.all(is_on_earth);
    add_lengths(&mut map);
    Ok(map)
}

/// A problem with what an id names: it is placed where the id stands first in the text, if it does.
fn about(text: &str, id: &str, problem: String) -> MapError {
    let quoted = format!("\"{id}\"");
    let as_text = text.find(&quoted).map(|at| at..at + quoted.len());
    let whole = |at: &usize| {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '.');
        let (before, after) = (&text[..*at], &text[at + id.len()..]);
        !digit(before.chars().next_back()) && !digit(after.chars().next())
    };
    let mut places = text.match_indices(id).map(|(at, _)| at);
    let range = as_text.or_else(|| places.find(whole).map(|at| at..at + id.len()));
    fault(range.unwrap_or(0..0), problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{"directed": false, "multigraph": false,
"graph": {"name": "mini", "demands": {"0": {"1": 3580.00, "2": 0.0}, "2": {"0": 1.5}},
"stats": {"nodes": 3}},
"nodes": [{"pos": [-84.38, 33.75], "id": 0, "name": "Atlanta"}, {"pos": [-85.5, 34.5], "id": 1},
{"id": 2}],
"links": [{"dist": 132.40, "ecmp_fwd": {"uni": 58.67}, "source": 0, "target": 1},
{"source": 1, "target": 2}]}"#;

    #[test]
    fn nodes_links_and_demands() {
        let map = read(SMALL, &ReadOptions::default()).expect("a map");
        let names: Vec<_> = map.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!((map.name.as_str(), names), ("mini", vec!["Atlanta", "1", "2"]));
        assert_eq!((map.nodes[0].at, map.geographic), (Some([-84.38, 33.75]), true));
        let lengths: Vec<_> = map.links.iter().map(|link| link.length_m).collect();
        assert_eq!(lengths, [Some(132_400.0), None]);
        let demands: Vec<_> = map.demands.iter().map(|d| (d.from, d.to, d.bps)).collect();
        assert_eq!(demands, [(0, 1, 3.58e9), (2, 0, 1.5e6)]);
        // Newer versions of networkx say edges, and ids may be texts.
        let text = SMALL.replace("\"links\"", "\"edges\"").replace("\"id\": 2", "\"id\": \"2\"");
        let text = text.replace("\"target\": 2", "\"target\": \"2\"");
        assert_eq!(read(&text, &ReadOptions::default()), Ok(map));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = [
            ("\"target\": 2", "\"target\": 77", 7, "id `77`"),
            ("\"id\": 2", "\"id\": 1", 2, "two nodes"),
            ("\"id\": 2", "\"nr\": 2", 5, "missing field `id`"),
            ("132.40", "\"far\"", 6, "invalid type"),
            ("\"links\"", "\"lines\"", 7, "missing field `links`"),
            ("[-84.38, 33.75]", "[-84.38", 4, "expected"),
            ("\"2\": {\"0\": 1.5", "\"8\": {\"0\": 1.5", 2, "id `8`"),
            ("\"source\": 1, ", "\"weight\": 0, \"source\": 1, ", 2, "1 to 65535"),
            ("132.40", "-1", 2, "-1 km long: expected 0 or more"),
            ("[-85.5, 34.5]", "[900, 1e30]", 2, "is at [900.0, 1e30]"),
        ];
        for (old, new, line, expected) in wrong {
            assert!(SMALL.contains(old), "{old}");
            let text = SMALL.replacen(old, new, 1);
            let error = read(&text, &ReadOptions::default()).expect_err(new);
            assert!(error.problem.contains(expected), "{new}: {error}");
            let found = text[..error.range.start].matches('\n').count() + 1;
            assert_eq!(found, line, "{new}: {error}");
        }
    }
}
