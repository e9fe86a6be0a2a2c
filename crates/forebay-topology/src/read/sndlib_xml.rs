//! SNDlib's XML format: `<networkStructure>` with `<nodes>` and `<links>`, `<demands>`, and
//! `<meta>` with the `<unit>`.

use super::ReadOptions;
use super::sndlib::{UNITS, finish, unit_bps};
use super::text::{MapError, fault, shown};
use super::xml::{attribute, child, children, needed, number_of, text_of};
use crate::map::{Map, MapDemand, MapLink, MapNode};
use crate::names::Names;
use roxmltree::Node;
use std::collections::BTreeMap;

pub(super) fn read(root: Node<'_, '_>, options: &ReadOptions) -> Result<Map, MapError> {
    let stated = child(root, "meta").and_then(|meta| child(meta, "unit"));
    let stated = stated.map(|unit| {
        let name = text_of(unit);
        unit_bps(name).ok_or_else(|| {
            fault(unit.range(), format!("expected {UNITS}, found `{}`", shown(name)))
        })
    });
    let unit = options.unit(stated.transpose()?);
    let structure = needed(root, "networkStructure")?;
    let (mut map, mut ids, mut names) = (Map::default(), BTreeMap::new(), Names::default());
    for element in children(needed(structure, "nodes")?, "node") {
        let id = attribute(element, "id")?;
        if ids.insert(id, map.nodes.len()).is_some() {
            return Err(fault(element.range(), format!("a second node `{}`", shown(id))));
        }
        let at = child(element, "coordinates").map(|at| {
            let number = |name| needed(at, name).and_then(number_of);
            Ok::<_, MapError>([number("x")?, number("y")?])
        });
        let (at, name) = (at.transpose()?, names.unique(id, ""));
        map.nodes.push(MapNode { name, at, ..MapNode::default() });
    }
    for element in children(needed(structure, "links")?, "link") {
        let ends = ends(element, &ids)?;
        let installed = child(element, "preInstalledModule");
        let capacity =
            installed.map(|module| number_of(needed(module, "capacity")?)).transpose()?;
        let rate_bps = capacity.filter(|&c| c > 0.0).map(|capacity| (capacity * unit) as u64);
        map.links.push(MapLink { ends, rate_bps, ..MapLink::default() });
    }
    for element in child(root, "demands").into_iter().flat_map(|all| children(all, "demand")) {
        let [from, to] = ends(element, &ids)?;
        let value = needed(element, "demandValue")?;
        let bps = number_of(value)? * unit;
        if bps < 0.0 {
            return Err(fault(value.range(), "a demand below 0: expected 0 or more"));
        }
        if from != to && bps > 0.0 {
            map.demands.push(MapDemand { from, to, bps });
        }
    }
    finish(&mut map);
    Ok(map)
}

fn ends(element: Node<'_, '_>, ids: &BTreeMap<&str, usize>) -> Result<[usize; 2], MapError> {
    let end = |name| {
        let at = needed(element, name)?;
        let id = text_of(at);
        let node = ids.get(id).copied();
        node.ok_or_else(|| fault(at.range(), format!("there is no node `{}`", shown(id))))
    };
    Ok([end("source")?, end("target")?])
}

#[cfg(test)]
mod tests {
    use crate::map::MapDemand;
    use crate::{ReadOptions, read};

    const SMALL: &str = r#"<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta><granularity>5min</granularity><unit>MBITPERSEC</unit></meta>
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="A"><coordinates><x>10.0</x><y>50.0</y></coordinates></node>
   <node id="B"><coordinates><x>11.0</x><y>50.0</y></coordinates></node>
  </nodes>
  <links>
   <link id="L1"><source>A</source><target>B</target>
    <preInstalledModule><capacity>155.0</capacity><cost>0.0</cost></preInstalledModule>
    <additionalModules><addModule><capacity>622.0</capacity><cost>1</cost></addModule>
    </additionalModules></link>
  </links>
 </networkStructure>
 <demands>
  <demand id="D1"><source>A</source><target>B</target><demandValue>3.5</demandValue></demand>
  <demand id="D2"><source>B</source><target>B</target><demandValue>1</demandValue></demand>
 </demands>
</network>"#;

    #[test]
    fn nodes_links_and_demands() {
        let map = read(SMALL, &ReadOptions::default()).expect("a map");
        assert_eq!(map.nodes[1].at, Some([11.0, 50.0]));
        assert_eq!(map.links[0].rate_bps, Some(155_000_000));
        assert_eq!(map.demands, [MapDemand { from: 0, to: 1, bps: 3_500_000.0 }]);
        // At 50 degrees north a degree of longitude has 71.5 km.
        let length = map.links[0].length_m.expect("both ends have a position");
        assert!((length / 71_474.0 - 1.0).abs() < 0.001, "{length}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = [
            ("<source>A</source><target>B</target>\n", "<source>X</source>\n", 10, "node `X`"),
            ("<y>50.0</y>", "", 6, "<y>"),
            ("<capacity>155.0", "<capacity>fast", 11, "found `fast`"),
            ("<demandValue>3.5", "<demandValue>-3.5", 17, "0 or more"),
            ("MBITPERSEC", "PACKETS", 3, "BITPERSEC"),
            ("id=\"B\"", "id=\"A\"", 7, "a second node"),
        ];
        for (old, new, line, expected) in wrong {
            assert!(SMALL.contains(old), "{old}");
            let text = SMALL.replacen(old, new, 1);
            let error = read(&text, &ReadOptions::default()).expect_err(new);
            assert!(error.problem.contains(expected), "{new}: {error}");
            assert_eq!(text[..error.range.start].matches('\n').count() + 1, line, "{new}");
        }
    }
}
