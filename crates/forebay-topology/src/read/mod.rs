//! Map files.

mod geography;
mod graphml;
mod rocketfuel;
mod sndlib;
mod sndlib_xml;
mod text;
mod topohub;
mod xml;

pub use text::MapError;

use crate::map::{MAX_LINKS, MAX_NODES, Map};
use text::{fault, shown};

/// How a map file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// What one unit of capacity and demand is, in bit/s, in the formats that state none. None:
    /// what the file says, else 1 Mbit/s.
    pub unit_bps: Option<u64>,
}

/// Unit of capacities and demands where nobody states one, in bit/s: as SNDlib describes most of
/// its networks.
const UNIT_BPS: u64 = 1_000_000;

impl ReadOptions {
    /// A note where a unit was given and the format has rates in bit/s, or none.
    fn unused_unit(&self) -> Option<String> {
        let text = "`unit` has no effect: only SNDlib and topohub files have capacities in units";
        self.unit_bps.map(|_| text.to_string())
    }
    /// The unit of a file that states this one.
    fn unit(&self, stated: Option<u64>) -> f64 {
        self.unit_bps.or(stated).unwrap_or(UNIT_BPS) as f64
    }
}

/// The map in the text of a file: Rocketfuel's `.cch`, GraphML, SNDlib in its native format or XML,
/// or topohub's JSON, which one its beginning says.
///
/// # Errors
///
/// If the text is of none of these formats, or not as the format asks; the error names the place
/// and what was expected.
pub fn read(text: &str, options: &ReadOptions) -> Result<Map, MapError> {
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    let map = match begin.chars().next() {
        None => Err(fault(0..0, "the file is empty: expected a map of a network")),
        Some('<') => in_xml(text, options),
        Some('{') => topohub::read(text, options),
        Some('?') => sndlib::read(text, options),
        Some('#' | '-' | '0'..='9') => rocketfuel::read(text).map(|map| without_unit(map, options)),
        Some(_) => {
            let at = text.len() - begin.len();
            let word = begin.split_whitespace().next().unwrap_or_default();
            let error = fault(at..at + word.len(), "not a known format of maps");
            let hint = "Rocketfuel (.cch), GraphML, SNDlib (native or XML) and topohub's JSON are \
                        read; networkx writes GML as GraphML with write_graphml";
            Err(error.hint(hint))
        }
    }?;
    if map.nodes.is_empty() {
        return Err(fault(0..0, "the map has no nodes"));
    }
    if map.nodes.len() > MAX_NODES || map.links.len() > MAX_LINKS {
        let (nodes, links) = (map.nodes.len(), map.links.len());
        let most = format!("at most {MAX_NODES} nodes and {MAX_LINKS} links are read");
        return Err(fault(0..0, format!("the map has {nodes} nodes and {links} links: {most}")));
    }
    Ok(map)
}

/// The map of a format without units.
fn without_unit(mut map: Map, options: &ReadOptions) -> Map {
    map.notes.extend(options.unused_unit());
    map
}

fn in_xml(text: &str, options: &ReadOptions) -> Result<Map, MapError> {
    let document = xml::parse(text)?;
    let root = document.root_element();
    match root.tag_name().name() {
        "graphml" => graphml::read(root).map(|map| without_unit(map, options)),
        "network" => sndlib_xml::read(root, options),
        other => {
            let other = shown(other);
            let problem = format!("expected <graphml> or SNDlib's <network>, found <{other}>");
            Err(fault(root.range(), problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reduction;

    #[test]
    fn keys_that_a_map_does_not_use_are_noted() {
        let text = r#"<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/>
            <edge source="a" target="b"/></graph></graphml>"#;
        let notes = |unit_bps, how| {
            let map = read(text, &ReadOptions { unit_bps }).expect("a map");
            map.reduced(how).notes
        };
        assert_eq!(notes(None, Reduction::None), [""; 0]);
        let [unit] = &notes(Some(1_000_000), Reduction::None)[..] else { panic!("one note") };
        assert!(unit.starts_with("`unit` has no effect"), "{unit}");
        let [backbone] = &notes(None, Reduction::Backbone)[..] else { panic!("one note") };
        assert!(backbone.contains("leaves out nothing"), "{backbone}");
    }

    #[test]
    fn what_is_no_map_is_said_to_be_none() {
        let error = |text: &str| read(text, &ReadOptions::default()).expect_err(text);
        assert!(error("").to_string().contains("empty"));
        assert!(error(" \n").to_string().contains("empty"));
        let gml = error("graph [\n  node [\n");
        assert_eq!((gml.range.clone(), gml.hint.is_some()), (0..5, true));
        assert!(error("# only a comment\n").to_string().contains("no nodes"));
        assert!(error("{}").to_string().contains("nodes"));
        assert!(error("<html></html>").to_string().contains("graphml"));
    }
}
