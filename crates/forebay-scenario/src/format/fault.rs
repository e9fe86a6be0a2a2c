//! A mistake and the place of its text, before it is known where that stands in a file.

use crate::format::error::Mistake;
pub(crate) use crate::format::error::Problem;
use crate::format::source::{Loc, Sources, readable};
use std::collections::BTreeSet;

/// Characters of a value or a name that a message shows.
const MAX_SHOWN: usize = 120;
/// Characters of a message made of several, and of a path.
const MAX_SAID: usize = 4_096;

/// A problem at a location that only its [`Sources`] can turn into a line and a column.
#[derive(Debug)]
pub(crate) struct Fault {
    pub problem: Box<Problem>,
    pub loc: Option<Loc>,
    pub key: String,
    pub hint: Option<String>,
    /// It comes from another mistake, and is not reported.
    pub follows: bool,
    /// Further mistakes in the same value.
    pub others: Vec<Fault>,
}

impl Fault {
    /// A problem at `loc`, which is the value of `key`.
    pub fn at(loc: Loc, key: impl Into<String>, problem: Problem) -> Fault {
        Fault { loc: Some(loc), key: key.into(), ..Fault::nowhere(problem) }
    }
    /// A problem of no place in any text.
    pub fn nowhere(problem: Problem) -> Fault {
        let (problem, others) = (Box::new(problem), Vec::new());
        Fault { problem, loc: None, key: String::new(), hint: None, follows: false, others }
    }
    /// The same as what comes from another mistake, if that is true.
    pub fn following(self, follows: bool) -> Fault {
        Fault { follows: self.follows || follows, ..self }
    }
    /// The same, where keys that are missing come from another mistake.
    pub fn missing_follows(mut self) -> Fault {
        self.others = self.others.into_iter().map(Fault::missing_follows).collect();
        let missing = matches!(*self.problem, Problem::MissingKey { .. });
        self.following(missing)
    }
    /// Both.
    pub fn and(mut self, other: Fault) -> Fault {
        self.others.push(other);
        self
    }
    /// The same, with the other form that a value of `key` may have where it is of neither.
    pub fn or_also(mut self, key: &str, other: &str) -> Fault {
        if let (Problem::WrongType { expected, .. }, true) =
            (self.problem.as_mut(), self.key == key)
        {
            expected.push_str(", or ");
            expected.push_str(other);
        }
        self
    }
    pub fn hint(self, hint: impl Into<String>) -> Fault {
        Fault { hint: Some(hint.into()), ..self }
    }
    /// Suggest the nearest of `names`, or list them, the first ones if they are many, if none is
    /// near.
    pub fn suggest<'a>(self, name: &str, names: impl IntoIterator<Item = &'a str>) -> Fault {
        self.suggest_of(name, names.into_iter().collect())
    }
    fn suggest_of(self, name: &str, names: Vec<&str>) -> Fault {
        let mut seen = BTreeSet::new();
        let names: Vec<&str> = names.into_iter().filter(|name| seen.insert(*name)).collect();
        match nearest(name, &names) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None if names.is_empty() => self,
            None if names.len() <= 40 => self.hint(format!("one of: {}", names.join(", "))),
            None => {
                let first = names[..10].join(", ");
                self.hint(format!("one of: {first}, and {} more", names.len() - 10))
            }
        }
    }
    /// Resolve the location of a fault that stands in `again` further places.
    pub fn mistake(self, sources: &Sources, again: usize) -> Mistake {
        let key = readable(&self.key, MAX_SHOWN);
        let place = self.loc.map(|loc| Box::new(sources.place(loc, key)));
        let mut problem = self.problem;
        problem.texts().into_iter().for_each(|(text, most)| *text = readable(text, most));
        Mistake { problem, place, hint: self.hint.map(|hint| readable(&hint, MAX_SAID)), again }
    }
}

/// The name most like `name`, if one is like it at all.
pub(crate) fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    names
        .iter()
        .map(|&candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|&(likeness, _)| likeness >= 0.8)
        // The first of equals, so that the answer does not depend on how ties are broken.
        .fold(None, |best: Option<(f64, &str)>, next| match best {
            Some(old) if old.0 >= next.0 => Some(old),
            _ => Some(next),
        })
        .map(|(_, candidate)| candidate)
}

impl Problem {
    /// The parts that may come from a file, and how many characters of each a message shows.
    fn texts(&mut self) -> Vec<(&mut String, usize)> {
        use Problem::{
            Conflict, Csv, Duplicate, File, LaterVersion, Map, MissingKey, NoFlows, NoRoute,
            NotAssignment, OptionsTooLong, OutOfRange, PacketTooLarge, Syntax, Trace, Unit,
            UnknownCell, UnknownKey, UnknownName, WrongType,
        };
        match self {
            NotAssignment(text) | UnknownKey(text) | LaterVersion { asked: text } => {
                vec![(text, MAX_SHOWN)]
            }
            UnknownName { name, .. }
            | Duplicate { name, .. }
            | OptionsTooLong { protocol: name, .. } => vec![(name, MAX_SHOWN)],
            WrongType { expected, found } | OutOfRange { found, expected } => {
                vec![(found, MAX_SHOWN), (expected, MAX_SAID)]
            }
            Unit { found, why, .. } => vec![(found, MAX_SHOWN), (why, MAX_SHOWN)],
            UnknownCell { prefix: a, cell: b } | NoRoute { from: a, to: b } => {
                vec![(a, MAX_SHOWN), (b, MAX_SHOWN)]
            }
            Conflict(text)
            | Csv(text)
            | Map(text)
            | Trace(text)
            | PacketTooLarge { what: text, .. } => {
                vec![(text, MAX_SAID)]
            }
            File { path, why } => vec![(path, MAX_SAID), (why, MAX_SAID)],
            // The parser's own words, in several lines; they quote one character at most.
            Syntax(_) | MissingKey { .. } | NoFlows => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_known_twice_is_listed_once() {
        let fault = Fault::nowhere(Problem::NoFlows).suggest("x", ["cache", "key", "cache"]);
        assert_eq!(fault.hint.as_deref(), Some("one of: cache, key"));
    }
}
