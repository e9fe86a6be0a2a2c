//! SNDlib's native format (Orlowski et al., "SNDlib 1.0 - Survivable Network Design Library",
//! Networks 55(3), 2010).
//!
//! Sections of lines: `NODES ( id ( x y ) … )`,
//! `LINKS ( id ( source target ) capacity cost cost cost ( … ) … )`,
//! `DEMANDS ( id ( source target ) unit value most … )`; `META ( key = value … )` may state the
//! unit. Capacities that could be bought are not capacities that are there.

use super::ReadOptions;
use super::geography::{add_lengths, is_on_earth};
use super::text::{MapError, Word, fault, number, words};
use crate::map::{Map, MapDemand, MapLink, MapNode};
use crate::names::Names;
use std::collections::BTreeMap;

/// The words of a text, one after the other; parentheses are words.
struct Words<'a> {
    list: Vec<Word<'a>>,
    next: usize,
    end: usize,
}

pub(super) fn read(text: &str, options: &ReadOptions) -> Result<Map, MapError> {
    let mut words = Words::of(text);
    let mut sections = Sections::default();
    while let Some(section) = words.peek() {
        words.next += 1;
        words.take("(")?;
        match section.text {
            "META" => sections.meta(&mut words)?,
            "NODES" => sections.nodes(&mut words)?,
            "LINKS" => sections.links(&mut words)?,
            "DEMANDS" => sections.demands(&mut words)?,
            "ADMISSIBLE_PATHS" => words.skip_rest()?,
            _ => {
                return Err(section.wrong("META, NODES, LINKS, DEMANDS or ADMISSIBLE_PATHS"));
            }
        }
    }
    Ok(sections.finish(options))
}

impl<'a> Words<'a> {
    /// The words of all lines but the header and comments.
    fn of(text: &'a str) -> Words<'a> {
        let mut list = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim_start_matches('\u{feff}').trim_start();
            if !content.starts_with(['?', '#']) {
                for word in words(line, start) {
                    let mut from = 0;
                    for (at, paren) in word.text.match_indices(['(', ')']) {
                        let before = &word.text[from..at];
                        let parts = [(before, from), (paren, at)];
                        let parts = parts.into_iter().filter(|(part, _)| !part.is_empty());
                        list.extend(parts.map(|(text, at)| Word { text, at: word.at + at }));
                        from = at + 1;
                    }
                    if from < word.text.len() {
                        list.push(Word { text: &word.text[from..], at: word.at + from });
                    }
                }
            }
            start += line.len();
        }
        Words { list, next: 0, end: text.len() }
    }
    fn peek(&self) -> Option<Word<'a>> {
        self.list.get(self.next).copied()
    }
    fn word(&mut self, expected: &str) -> Result<Word<'a>, MapError> {
        let word = self.peek().ok_or_else(|| {
            fault(self.end..self.end, format!("the file ends: expected {expected}"))
        })?;
        self.next += 1;
        if word.text == "(" || word.text == ")" { Err(word.wrong(expected)) } else { Ok(word) }
    }
    fn take(&mut self, paren: &str) -> Result<(), MapError> {
        let expected = format!("`{paren}`");
        match self.peek() {
            Some(word) if word.text == paren => {
                self.next += 1;
                Ok(())
            }
            Some(word) => Err(word.wrong(&expected)),
            None => Err(fault(self.end..self.end, format!("the file ends: expected {expected}"))),
        }
    }
    /// True if this parenthesis is next, which is passed.
    fn passes(&mut self, paren: &str) -> bool {
        let is = self.peek().is_some_and(|word| word.text == paren);
        self.next += usize::from(is);
        is
    }
    fn number(&mut self, expected: &str) -> Result<f64, MapError> {
        let word = self.word(expected)?;
        number(word.text).ok_or_else(|| word.wrong(expected))
    }
    /// Pass all up to the parenthesis that closes this one.
    fn skip_rest(&mut self) -> Result<(), MapError> {
        let mut depth = 1;
        while depth > 0 {
            let Some(word) = self.peek() else { return self.take(")") };
            self.next += 1;
            match word.text {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Sections<'a> {
    map: Map,
    names: Names,
    ids: BTreeMap<&'a str, usize>,
    /// Capacities of links, in units.
    capacities: Vec<f64>,
    unit_bps: Option<u64>,
}

impl<'a> Sections<'a> {
    fn meta(&mut self, words: &mut Words<'a>) -> Result<(), MapError> {
        while !words.passes(")") {
            let key = words.word("a key, or `)`")?;
            let equals = words.word("`=`")?;
            if equals.text != "=" {
                return Err(equals.wrong("`=`"));
            }
            let value = words.word("a value")?;
            // Words up to the next `=` belong to the value.
            let is_value = |words: &Words<'_>| {
                let next = words.list.get(words.next + 1);
                words.peek().is_some_and(|word| word.text != ")")
                    && next.is_some_and(|word| word.text != "=")
            };
            while is_value(words) {
                words.next += 1;
            }
            if key.text == "unit" {
                self.unit_bps = Some(unit_bps(value.text).ok_or_else(|| value.wrong(UNITS))?);
            }
        }
        Ok(())
    }

    fn nodes(&mut self, words: &mut Words<'a>) -> Result<(), MapError> {
        while !words.passes(")") {
            let id = words.word("the name of a node, or `)`")?;
            if self.ids.insert(id.text, self.map.nodes.len()).is_some() {
                return Err(fault(id.range(), format!("a second node `{}`", id.text)));
            }
            let at = if words.passes("(") {
                let at = [words.number("a position")?, words.number("a position")?];
                words.take(")")?;
                Some(at)
            } else {
                None
            };
            let name = self.names.unique(id.text, "");
            self.map.nodes.push(MapNode { name, at, ..MapNode::default() });
        }
        Ok(())
    }

    fn links(&mut self, words: &mut Words<'a>) -> Result<(), MapError> {
        while !words.passes(")") {
            words.word("the name of a link, or `)`")?;
            let ends = self.ends(words)?;
            self.capacities.push(words.number("a capacity")?);
            for _ in 0..3 {
                words.number("a cost")?;
            }
            words.take("(")?;
            words.skip_rest()?;
            self.map.links.push(MapLink { ends, ..MapLink::default() });
        }
        Ok(())
    }

    fn demands(&mut self, words: &mut Words<'a>) -> Result<(), MapError> {
        while !words.passes(")") {
            words.word("the name of a demand, or `)`")?;
            let [from, to] = self.ends(words)?;
            words.number("a routing unit")?;
            let value = words.peek();
            let bps = words.number("a demand")?;
            if let Some(value) = value.filter(|_| bps < 0.0) {
                return Err(value.wrong("a demand of 0 or more"));
            }
            words.word("a longest path, or UNLIMITED")?;
            if from != to && bps > 0.0 {
                self.map.demands.push(MapDemand { from, to, bps });
            }
        }
        Ok(())
    }

    fn ends(&self, words: &mut Words<'a>) -> Result<[usize; 2], MapError> {
        words.take("(")?;
        let [a, b] = [words.word("a node")?, words.word("a node")?];
        words.take(")")?;
        let node = |word: Word<'_>| {
            let found = self.ids.get(word.text).copied();
            found.ok_or_else(|| fault(word.range(), format!("there is no node `{}`", word.text)))
        };
        Ok([node(a)?, node(b)?])
    }

    fn finish(self, options: &ReadOptions) -> Map {
        let unit = options.unit(self.unit_bps);
        let mut map = self.map;
        for (link, capacity) in map.links.iter_mut().zip(self.capacities) {
            link.rate_bps = (capacity > 0.0).then_some((capacity * unit) as u64);
        }
        map.demands.iter_mut().for_each(|demand| demand.bps *= unit);
        finish(&mut map);
        map
    }
}

/// What both formats of SNDlib leave to be found out: whether positions are degrees.
pub(super) fn finish(map: &mut Map) {
    let mut placed = map.nodes.iter().filter_map(|node| node.at).peekable();
    map.geographic = placed.peek().is_some() && placed.all(is_on_earth);
    add_lengths(map);
}

/// The units that SNDlib's files state.
pub(super) const UNITS: &str = "BITPERSEC, KBITPERSEC, MBITPERSEC or GBITPERSEC";

/// What a unit is, in bit/s.
pub(super) fn unit_bps(name: &str) -> Option<u64> {
    match name {
        "BITPERSEC" => Some(1),
        "KBITPERSEC" => Some(1_000),
        "MBITPERSEC" => Some(1_000_000),
        "GBITPERSEC" => Some(1_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "?SNDlib native format; type: network; version: 1.0\n# network small\n\
        META (\n granularity = 15min\n unit = KBITPERSEC\n origin = made up for tests\n)\n\
        NODES (\n A ( 10.0 50.0 )\n B ( 11.0 50.0 )\n C (12.0 50.0)\n)\n\
        LINKS (\n L1 ( A B ) 100.00 0.00 0.00 0.00 ( 40.00 1.00 80.0 2.0 )\n\
        L2 ( B C ) 0.00 0.00 0.00 0.00 ( )\n)\n\
        DEMANDS (\n D1 ( A C ) 1 12.50 UNLIMITED\n D2 ( C A ) 1 0.00 UNLIMITED\n)\n\
        ADMISSIBLE_PATHS (\n D1 (\n P0 ( L1 L2 )\n )\n)\n";

    #[test]
    fn nodes_links_demands_and_their_unit() {
        let map = read(SMALL, &ReadOptions::default()).expect("a map");
        let names: Vec<_> = map.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["A", "B", "C"]);
        assert_eq!((map.nodes[2].at, map.geographic), (Some([12.0, 50.0]), true));
        let rates: Vec<_> = map.links.iter().map(|link| (link.ends, link.rate_bps)).collect();
        assert_eq!(rates, [([0, 1], Some(100_000)), ([1, 2], None)]);
        assert_eq!(map.demands, [MapDemand { from: 0, to: 2, bps: 12_500.0 }]);
        // A unit that is given wins; without one it is 1 Mbit/s.
        let given = ReadOptions { unit_bps: Some(10) };
        assert_eq!(read(SMALL, &given).expect("a map").demands[0].bps, 125.0);
        let without = SMALL.replace(" unit = KBITPERSEC\n", "");
        let map = read(&without, &ReadOptions::default()).expect("a map");
        assert_eq!(map.links[0].rate_bps, Some(100_000_000));
        // Positions beyond 90 degrees are places in a picture.
        let map = read(&SMALL.replace("12.0 50.0", "12.0 500.0"), &ReadOptions::default());
        let map = map.expect("a map");
        assert_eq!((map.geographic, map.links[0].length_m), (false, None));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let wrong = [
            ("L1 ( A B )", "L1 ( A X )", "X", "there is no node"),
            ("100.00 0.00", "much 0.00", "much", "a capacity"),
            ("12.50 UNL", "-1 UNL", "-1", "0 or more"),
            ("B ( 11.0", "A ( 11.0", "A", "a second node"),
            ("KBITPERSEC", "furlongs", "furlongs", "MBITPERSEC"),
            ("DEMANDS (", "WISHES (", "WISHES", "DEMANDS"),
            ("A ( 10.0 50.0 )", "A ( 10.0 )", ")", "a position"),
            (" P0 ( L1 L2 )\n )\n)\n", " P0 (", "", "the file ends"),
        ];
        for (old, new, place, expected) in wrong {
            assert!(SMALL.contains(old), "{old}");
            let text = SMALL.replacen(old, new, 1);
            let error = read(&text, &ReadOptions::default()).expect_err(new);
            assert_eq!(&text[error.range.clone()], place, "{new}: {error}");
            assert!(error.problem.contains(expected), "{new}: {error}");
        }
    }
}
