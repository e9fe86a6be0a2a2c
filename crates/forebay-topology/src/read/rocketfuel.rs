//! Rocketfuel's maps of ISPs, `*.cch` (Spring, Mahajan and Wetherall, "Measuring ISP Topologies
//! with Rocketfuel", SIGCOMM 2002).
//!
//! A line per router:
//! `uid @location [+] [bb] (neighbours) [&externals] -> <uid> … {-uid} … =name[!] rN`,
//! and per address outside the ISP: `-uid =address rN`. `rN` is the distance from the backbone. A
//! location may be `?` or `T` (unknown), a name `(null)`; a router may be its own neighbour.

use super::text::{MapError, Word, fault, words};
use crate::map::{Map, MapLink, MapNode};
use std::collections::{BTreeMap, BTreeSet};

const FORM: &str = "uid @location [+] [bb] (neighbours) [&externals] -> <uid> ... =name rN";

/// A router's line.
struct Line<'a> {
    uid: u32,
    place: &'a str,
    hops: u32,
    neighbours: Vec<u32>,
}

pub(super) fn read(text: &str) -> Result<Map, MapError> {
    let mut lines = Vec::new();
    let mut known = BTreeMap::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut words = words(line, start).peekable();
        start += line.len();
        let Some(first) = words.next() else { continue };
        if first.text.trim_start_matches('\u{feff}').starts_with('#') {
            continue;
        }
        if first.text.starts_with('-') {
            uid(&first, first.text.strip_prefix('-'))?;
            continue;
        }
        let uid = uid(&first, Some(first.text))?;
        if known.insert(uid, lines.len()).is_some() {
            return Err(fault(first.range(), format!("the router {uid} has two lines")));
        }
        let end = start - (line.len() - line.trim_end().len());
        lines.push(router(uid, words.collect(), end)?);
    }
    Ok(map(&lines, &known))
}

fn uid(word: &Word<'_>, digits: Option<&str>) -> Result<u32, MapError> {
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| word.wrong("the number of a router").hint(FORM))
}

/// The rest of a router's line, which ends at `end`.
fn router<'a>(uid: u32, words: Vec<Word<'a>>, end: usize) -> Result<Line<'a>, MapError> {
    let arrow = words.iter().position(|word| word.text == "->");
    let name = words.iter().position(|word| word.text.starts_with('='));
    let cut_off = |what: &str| {
        fault(end..end, format!("the line of router {uid} ends without {what}")).hint(FORM)
    };
    let arrow = arrow.ok_or_else(|| cut_off("`->` and its neighbours"))?;
    let name = name.filter(|&name| name > arrow).ok_or_else(|| cut_off("`=name`"))?;
    let hops = words[name + 1..].last().ok_or_else(|| cut_off("`rN`"))?;
    let distance = hops.text.strip_prefix('r').and_then(|digits| digits.parse().ok());
    let distance = distance.ok_or_else(|| hops.wrong("r and the distance from the backbone"))?;
    let (place, declared) = head(&words[..arrow])?;
    let neighbours = neighbours(&words[arrow + 1..name])?;
    if let Some((word, number)) = declared
        && number != neighbours.len()
    {
        let text = format!("{number} neighbours are announced, {} follow", neighbours.len());
        return Err(fault(word.range(), text));
    }
    Ok(Line { uid, place, hops: distance, neighbours })
}

/// The location, and how many neighbours are announced.
type Head<'a> = (&'a str, Option<(Word<'a>, usize)>);

fn head<'a>(words: &[Word<'a>]) -> Result<Head<'a>, MapError> {
    let (mut place, mut number) = ("", None);
    for word in words {
        let inside = word.text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        if let Some(location) = word.text.strip_prefix('@') {
            place = location;
        } else if let Some(digits) = inside {
            let announced = digits.parse().map_err(|_| word.wrong("a number of neighbours"))?;
            number = Some((*word, announced));
        } else if !matches!(word.text, "+" | "bb") && !word.text.starts_with('&') {
            return Err(word.wrong("@location, +, bb, (neighbours), &externals or ->").hint(FORM));
        }
    }
    Ok((if matches!(place, "?" | "T") { "" } else { place }, number))
}

fn neighbours(words: &[Word<'_>]) -> Result<Vec<u32>, MapError> {
    let mut found = Vec::new();
    for word in words {
        let external = word.text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let internal = word.text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        match (internal.map(str::parse), external) {
            (Some(Ok(uid)), _) => found.push(uid),
            (None, Some(_)) => {}
            _ => return Err(word.wrong("<uid> of a neighbour, {-uid} or =name").hint(FORM)),
        }
    }
    Ok(found)
}

fn map(lines: &[Line<'_>], known: &BTreeMap<u32, usize>) -> Map {
    let mut map = Map::default();
    let (mut joined, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for (from, line) in lines.iter().enumerate() {
        map.nodes.push(MapNode {
            name: line.uid.to_string(),
            place: line.place.replace('+', " "),
            backbone_hops: Some(line.hops),
            ..MapNode::default()
        });
        for uid in &line.neighbours {
            let Some(&to) = known.get(uid) else {
                unknown.insert(uid);
                continue;
            };
            if joined.insert([from.min(to), from.max(to)]) {
                map.links.push(MapLink::between(from, to));
            }
        }
    }
    if !unknown.is_empty() {
        let number = unknown.len();
        map.notes.push(format!("neighbours without a line of their own are left out: {number}"));
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "#a comment\n\
        0 @New+York,+NY + bb\t(3) &2 -> <1> <2> <0> {-1} {-2} \t=core1! r0\n\
        1 @? (1) -> <0> \t=(null) r1\r\n\n\
        2 @T\t(2) -> <0> <9> =10.0.0.1 r2\n\
        -1 =193.158.121.126 r2\n";

    #[test]
    fn routers_with_all_that_a_line_may_hold() {
        let map = read(SMALL).expect("a map");
        let names: Vec<_> = map.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["0", "1", "2"]);
        let places: Vec<_> = map.nodes.iter().map(|node| node.place.as_str()).collect();
        assert_eq!(places, ["New York, NY", "", ""]);
        let hops: Vec<_> = map.nodes.iter().map(|node| node.backbone_hops).collect();
        assert_eq!(hops, [Some(0), Some(1), Some(2)]);
        let links: Vec<_> = map.links.iter().map(|link| link.ends).collect();
        assert_eq!(links, [[0, 1], [0, 2], [0, 0]]);
        assert_eq!(map.notes, ["neighbours without a line of their own are left out: 1"]);
    }

    #[test]
    fn a_broken_line_is_named() {
        let good = "0 @T (1) -> <1> =a r0\n";
        let broken = [
            ("x @T (1) -> <0> =b r0", "x", "the number of a router"),
            ("0 @T (1) -> <0> =b r0", "0", "two lines"),
            ("1 T (1) -> <0> =b r0", "T", "@location"),
            ("1 @T (one) -> <0> =b r0", "(one)", "a number of neighbours"),
            ("1 @T (2) -> <0> =b r0", "(2)", "2 neighbours are announced, 1 follow"),
            ("1 @T (1) -> <zero> =b r0", "<zero>", "<uid>"),
            ("1 @T (1) <0> =b r0", "", "without `->`"),
            ("1 @T (1) -> <0> r0", "", "without `=name`"),
            ("1 @T (1) -> <0> =b", "", "without `rN`"),
            ("1 @T (1) -> <0> =b r", "r", "distance"),
            ("--1 =b r0", "--1", "the number of a router"),
        ];
        for (line, place, expected) in broken {
            let text = format!("{good}{line}\n{}", good.replace('0', "7"));
            let error = read(&text).expect_err(line);
            assert_eq!(&text[error.range.clone()], place, "{line}");
            assert!(error.range.start >= good.len(), "{line}");
            assert!(error.range.end <= good.len() + line.len(), "{line}");
            assert!(error.problem.contains(expected), "{line}: {error}");
        }
    }

    /// Routers of the three maps, and links between two routers.
    #[test]
    fn measured_maps_have_the_published_sizes() {
        let maps = [("3257", 506, 750), ("3356", 1786, 6917), ("4755", 291, 334)];
        let files = maps.map(|(isp, ..)| format!("{isp}.pop.cch"));
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let Some(folder) = forebay_prerequisites::rocketfuel(&files) else { return };
        for ((_, nodes, links), file) in maps.into_iter().zip(files) {
            let text = std::fs::read_to_string(folder.join(file)).expect("it is promised");
            let map = read(&text).expect(file);
            assert_eq!(map.notes, Vec::<String>::new());
            let map = map.without_loops();
            assert_eq!((map.nodes.len(), map.links.len()), (nodes, links), "{file}");
        }
    }
}
