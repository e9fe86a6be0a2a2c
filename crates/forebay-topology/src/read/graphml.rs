//! GraphML as the Internet Topology Zoo writes it (Knight et al., "The Internet Topology Zoo", IEEE
//! JSAC 29(9), 2011).
//!
//! Values are in `<data key="dN">`, whose key names them: of a node `label`, `Longitude`,
//! `Latitude`; of an edge `LinkSpeedRaw` (bit/s) and `weight`. Labels may be missing or the same,
//! and several edges may join two nodes. Of a directed graph, an edge and one the other way round
//! are one link.

use super::geography::{add_lengths, is_on_earth};
use super::text::{MapError, fault, number, shown};
use super::xml::{attribute, child, children, text_of};
use crate::map::{Map, MapLink, MapNode};
use crate::names::Names;
use roxmltree::Node;
use std::collections::BTreeMap;

/// The values of an element, by the names of their keys.
type Values<'a> = BTreeMap<&'a str, Node<'a, 'a>>;

pub(super) fn read(root: Node<'_, '_>) -> Result<Map, MapError> {
    let graph = child(root, "graph")
        .ok_or_else(|| fault(root.range(), "<graphml> without <graph>: expected a graph"))?;
    let keys = keys(root)?;
    let name = values(graph, &keys)?.get("Network").map_or("", |at| text_of(*at));
    let mut map = Map { name: name.to_string(), geographic: true, ..Map::default() };
    let (mut ids, mut names) = (BTreeMap::new(), Names::default());
    for element in children(graph, "node") {
        let id = attribute(element, "id")?;
        if ids.insert(id, map.nodes.len()).is_some() {
            let text = format!("a second node with the id `{}`", shown(id));
            return Err(fault(element.range(), text));
        }
        map.nodes.push(node(element, &keys, &mut names)?);
    }
    let directed = graph.attribute("edgedefault") == Some("directed");
    let mut one_way: BTreeMap<[usize; 2], usize> = BTreeMap::new();
    for element in children(graph, "edge") {
        let link = edge(element, &keys, &ids)?;
        let directed = element.attribute("directed").map_or(directed, |value| value == "true");
        let [a, b] = link.ends;
        let opposite = one_way.get_mut(&[b, a]).filter(|number| **number > 0);
        match opposite.filter(|_| directed && a != b) {
            Some(number) => *number -= 1,
            None => {
                *one_way.entry([a, b]).or_default() += usize::from(directed);
                map.links.push(link);
            }
        }
    }
    if children(graph, "hyperedge").next().is_some() {
        map.notes.push("hyperedges are left out: a link has two ends".to_string());
    }
    add_lengths(&mut map);
    Ok(map)
}

/// What the keys of values are called.
fn keys<'a>(root: Node<'a, 'a>) -> Result<BTreeMap<&'a str, &'a str>, MapError> {
    let declared = children(root, "key").map(|key| {
        let id = attribute(key, "id")?;
        Ok((id, key.attribute("attr.name").unwrap_or(id)))
    });
    declared.collect()
}

fn values<'a>(
    element: Node<'a, 'a>,
    keys: &BTreeMap<&'a str, &'a str>,
) -> Result<Values<'a>, MapError> {
    let given = children(element, "data").map(|data| {
        let key = attribute(data, "key")?;
        let name = keys.get(key).copied().ok_or_else(|| {
            fault(data.range(), format!("the key `{}` is not declared with <key>", shown(key)))
        })?;
        Ok((name, data))
    });
    given.collect()
}

fn node<'a>(
    element: Node<'a, 'a>,
    keys: &BTreeMap<&'a str, &'a str>,
    names: &mut Names,
) -> Result<MapNode, MapError> {
    let values = values(element, keys)?;
    let id = attribute(element, "id")?;
    let label = values.get("label").map_or("", |at| text_of(*at));
    let degrees = |name: &str| values.get(name).map(|at| value(*at, name)).transpose();
    let (lon, lat) = (degrees("Longitude")?, degrees("Latitude")?);
    let at = lon.zip(lat).map(|(lon, lat)| [lon, lat]);
    if let Some([lon, lat]) = at.filter(|at| !is_on_earth(*at)) {
        let text = format!("longitude {lon}, latitude {lat}: expected degrees");
        return Err(fault(element.range(), text));
    }
    let place = values.get("Country").map_or("", |at| text_of(*at)).to_string();
    Ok(MapNode { name: names.unique(label, id), place, at, ..MapNode::default() })
}

/// The number in a value.
fn value(data: Node<'_, '_>, name: &str) -> Result<f64, MapError> {
    let text = text_of(data);
    number(text).ok_or_else(|| {
        fault(data.range(), format!("expected a number for {name}, found `{}`", shown(text)))
    })
}

fn edge<'a>(
    element: Node<'a, 'a>,
    keys: &BTreeMap<&'a str, &'a str>,
    ids: &BTreeMap<&str, usize>,
) -> Result<MapLink, MapError> {
    let end = |name: &str| {
        let id = attribute(element, name)?;
        let node = ids.get(id).copied();
        node.ok_or_else(|| fault(element.range(), format!("there is no node `{}`", shown(id))))
    };
    let ends = [end("source")?, end("target")?];
    let values = values(element, keys)?;
    let rate = values.get("LinkSpeedRaw").map(|at| value(*at, "LinkSpeedRaw")).transpose()?;
    let weight = match values.get("weight") {
        None => None,
        Some(&data) => {
            let given = value(data, "weight")?;
            let whole = (1.0..=65_535.0).contains(&given) && given.fract() == 0.0;
            let expected = format!("a weight of {given}: expected a whole number, 1 to 65535");
            Some(if whole { given as u32 } else { return Err(fault(data.range(), expected)) })
        }
    };
    if let (Some(bps), Some(data)) = (rate.filter(|&bps| bps < 0.0), values.get("LinkSpeedRaw")) {
        let text = format!("LinkSpeedRaw of {bps}: expected bit/s, 0 where it is not known");
        return Err(fault(data.range(), text));
    }
    // The Zoo has 0 where it does not know.
    let rate_bps = rate.filter(|&bps| bps >= 1.0).map(|bps| bps as u64);
    Ok(MapLink { ends, rate_bps, weight, length_m: None })
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    fn graph(default: &str, body: &str) -> String {
        format!(
            r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" attr.type="string" for="node" id="d1" />
<key attr.name="Longitude" attr.type="double" for="node" id="d2" />
<key attr.name="Latitude" attr.type="double" for="node" id="d3" />
<key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d4" />
<key attr.name="Network" attr.type="string" for="graph" id="d5" />
<key id="weight" for="edge" attr.name="weight" attr.type="int" />
<graph edgedefault="{default}"><data key="d5">Mini</data>
{body}
</graph></graphml>"#
        )
    }

    const NODES: &str = r#"<node id="0"><data key="d1">New York</data>
<data key="d2">-74.0</data><data key="d3">40.7</data></node>
<node id="1"><data key="d1">New York</data></node>
<node id="2"/>
<node id="3"><data key="d2">-87.6</data><data key="d3">41.9</data></node>"#;

    #[test]
    fn names_positions_rates_and_equal_edges() {
        let edges = r#"<edge source="0" target="3"><data key="d4">2500000000.0</data></edge>
<edge source="0" target="3"/><edge source="1" target="2"><data key="d4">0</data></edge>
<edge source="2" target="1"><data key="weight">7</data></edge>"#;
        let map = read(&graph("undirected", &format!("{NODES}{edges}")), &ReadOptions::default());
        let map = map.expect("a map");
        let names: Vec<_> = map.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["New_York", "New_York#2", "2", "3"]);
        assert_eq!((map.name.as_str(), map.geographic), ("Mini", true));
        assert_eq!(map.nodes[0].at, Some([-74.0, 40.7]));
        let ends: Vec<_> = map.links.iter().map(|link| link.ends).collect();
        assert_eq!(ends, [[0, 3], [0, 3], [1, 2], [2, 1]]);
        let rates: Vec<_> = map.links.iter().map(|link| link.rate_bps).collect();
        assert_eq!(rates, [Some(2_500_000_000), None, None, None]);
        assert_eq!(map.links[3].weight, Some(7));
        // New York to Chicago is 1 145 km.
        let length = map.links[0].length_m.expect("both ends have a position");
        assert!((length / 1_145_000.0 - 1.0).abs() < 0.01, "{length}");
        assert_eq!(map.links[2].length_m, None);
    }

    /// Of a directed graph two opposite edges are a link, and two the same way two.
    #[test]
    fn directed_edges_make_pairs() {
        let edges = r#"<edge source="0" target="1"/><edge source="1" target="0"/>
<edge source="0" target="2"/><edge source="0" target="2"/><edge source="2" target="0"/>"#;
        let map = read(&graph("directed", &format!("{NODES}{edges}")), &ReadOptions::default());
        let ends: Vec<_> = map.expect("a map").links.iter().map(|link| link.ends).collect();
        assert_eq!(ends, [[0, 1], [0, 2], [0, 2]]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let wrong = [
            (r#"<edge source="0" target="9"/>"#, "there is no node `9`"),
            (r#"<edge source="0"/>"#, "`target`"),
            (r#"<node id="0"/>"#, "a second node"),
            (r#"<node/>"#, "`id`"),
            (r#"<edge source="0" target="1"><data key="d4">fast</data></edge>"#, "`fast`"),
            (
                r#"<edge source="0" target="1"><data key="d4">-1</data></edge>"#,
                "LinkSpeedRaw of -1",
            ),
            (r#"<edge source="0" target="1"><data key="weight">0</data></edge>"#, "1 to 65535"),
            (r#"<edge source="0" target="1"><data key="x">1</data></edge>"#, "not declared"),
            (r#"<node id="9"><data key="d2">200</data><data key="d3">1</data></node>"#, "degrees"),
            (r#"<edge source="0" target="1">"#, "not valid XML"),
        ];
        for (body, expected) in wrong {
            let text = graph("undirected", &format!("{NODES}\n{body}"));
            let error = read(&text, &ReadOptions::default()).expect_err(body);
            assert!(error.problem.contains(expected), "{body}: {error}");
            let line = text[..error.range.start].matches('\n').count();
            let expected = text[..text.find(body).expect("it is there")].matches('\n').count();
            assert!((expected..=expected + 1).contains(&line), "{body}: line {line}");
        }
    }
}
