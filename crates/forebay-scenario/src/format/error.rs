//! What can be wrong with a scenario, and where.
//!
//! A mistake is one line `file:line:column: key: problem`, the line of text that it is about, and a
//! hint if there is one.

use crate::format::faults::Faults;
use crate::format::source::{Loc, Sources, readable};
use std::fmt;

/// Most mistakes that an error tells.
pub(crate) const MOST_MISTAKES: usize = 20;

/// A scenario that cannot be used: all that is wrong with it.
#[derive(Debug, thiserror::Error)]
pub struct ScenarioError {
    /// The mistakes, 1 to 20, in the order of the file; those in `--set` and in CSV files behind.
    pub mistakes: Vec<Mistake>,
    /// Further mistakes that are not among them.
    pub more: usize,
}

impl ScenarioError {
    /// The first mistake.
    pub fn first(&self) -> &Mistake {
        &self.mistakes[0]
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, mistake) in self.mistakes.iter().enumerate() {
            let gap = if i > 0 { "\n\n" } else { "" };
            write!(f, "{gap}{mistake}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n\nand {more} more mistake{}", if more > 1 { "s" } else { "" }),
        }
    }
}

/// One mistake: what is wrong, where it stands, and what may have been meant.
#[derive(Debug)]
pub struct Mistake {
    /// What is wrong.
    pub problem: Box<Problem>,
    /// Where; None if it is about no text (a file that is not there).
    pub place: Option<Box<Place>>,
    /// What may have been meant, or what to do.
    pub hint: Option<String>,
    /// Further places with the same mistake.
    pub again: usize,
}

/// A place in a file or in a `--set` argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named, or `--set`.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key, from the top of the document: `links[0].rate`; for a CSV file the column's name.
    pub key: String,
    /// The line of text, tabs as spaces; of a long line what stands around the place, "…" for the
    /// rest.
    pub text: String,
    /// Characters of `text` before the place.
    pub indent: usize,
    /// Characters of `text` from there on that the message is about, at least 1.
    pub width: usize,
}

/// What can be wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A `--set` argument is not `key=value`.
    #[error("expected key=value, found `{0}`")]
    NotAssignment(String),
    /// A key that the format does not have.
    #[error("unknown key `{0}`")]
    UnknownKey(String),
    /// A key that must be there is not.
    #[error("the key `{key}` is missing: {meaning}")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// What it says.
        meaning: String,
    },
    /// A value of another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What belongs here.
        expected: String,
        /// What is here.
        found: String,
    },
    /// A number without a unit, or with one that does not belong here.
    #[error("expected {expected}, found `{found}` {why}")]
    Unit {
        /// What belongs here.
        expected: &'static str,
        /// What is here.
        found: String,
        /// What is wrong with its unit.
        why: String,
    },
    /// A value out of its range.
    #[error("`{found}` is out of range: expected {expected}")]
    OutOfRange {
        /// The value.
        found: String,
        /// What is accepted.
        expected: String,
    },
    /// A name that stands for nothing.
    #[error("there is no {kind} `{name}`")]
    UnknownName {
        /// What it should name.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A cell of a CSV file that, with the prefix put before it, names no node.
    #[error("there is no node `{prefix}{cell}` (`{cell}` with the prefix `{prefix}`)")]
    UnknownCell {
        /// What the scenario puts before it.
        prefix: String,
        /// The cell as it is written.
        cell: String,
    },
    /// Two things with one name.
    #[error("the {kind} `{name}` is declared twice")]
    Duplicate {
        /// What has the name.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A flow whose packets or acknowledgments have no path.
    #[error("there is no route from `{from}` to `{to}`")]
    NoRoute {
        /// The source of the flow.
        from: String,
        /// Its destination.
        to: String,
    },
    /// A scenario without a flow.
    #[error("the scenario has no flows")]
    NoFlows,
    /// Keys or values that do not go together.
    #[error("{0}")]
    Conflict(String),
    /// A full-sized packet that does not fit a link or its queue.
    #[error(
        "a full-sized packet has {packet_bytes} bytes (mss_bytes = {mss_bytes} and headers), more \
         than {what}"
    )]
    PacketTooLarge {
        /// Its length with headers, in bytes.
        packet_bytes: u64,
        /// The payload, in bytes.
        mss_bytes: u16,
        /// What it does not fit.
        what: String,
    },
    /// A CSV file whose rows cannot be read.
    #[error("{0}")]
    Csv(String),
    /// A file that is no delivery trace.
    #[error("{0}")]
    Trace(String),
    /// A file that cannot be used.
    #[error("cannot read `{path}`: {why}")]
    File {
        /// Its path.
        path: String,
        /// Why not.
        why: String,
    },
}

/// Characters of a value or a name that a message shows.
const MOST_SHOWN: usize = 120;
/// Characters of a message made of several, and of a path.
const MOST_SAID: usize = 4_096;

impl Problem {
    /// The parts that may come from a file, and how many characters of each a message shows.
    fn texts(&mut self) -> Vec<(&mut String, usize)> {
        use Problem::{
            Conflict, Csv, Duplicate, File, MissingKey, NoFlows, NoRoute, NotAssignment,
            OutOfRange, PacketTooLarge, Syntax, Trace, Unit, UnknownCell, UnknownKey, UnknownName,
            WrongType,
        };
        match self {
            NotAssignment(text) | UnknownKey(text) => vec![(text, MOST_SHOWN)],
            UnknownName { name, .. } | Duplicate { name, .. } => vec![(name, MOST_SHOWN)],
            WrongType { expected, found } | OutOfRange { found, expected } => {
                vec![(found, MOST_SHOWN), (expected, MOST_SAID)]
            }
            Unit { found, why, .. } => vec![(found, MOST_SHOWN), (why, MOST_SHOWN)],
            UnknownCell { prefix: a, cell: b } | NoRoute { from: a, to: b } => {
                vec![(a, MOST_SHOWN), (b, MOST_SHOWN)]
            }
            Conflict(text) | Csv(text) | Trace(text) | PacketTooLarge { what: text, .. } => {
                vec![(text, MOST_SAID)]
            }
            File { path, why } => vec![(path, MOST_SAID), (why, MOST_SAID)],
            // The parser's own words, in several lines; they quote one character at most.
            Syntax(_) | MissingKey { .. } | NoFlows => Vec::new(),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{}:{}:{}: ", place.file, place.line, place.column)?;
            if !place.key.is_empty() {
                write!(f, "{}: ", place.key)?;
            }
        }
        write!(f, "{}", self.problem)?;
        if let Some(place) = &self.place {
            let margin = place.line.to_string().len() + 2;
            write!(f, "\n  {} | {}", place.line, place.text)?;
            let (indent, width) = (place.indent, place.width);
            write!(f, "\n{:margin$} | {:indent$}{}", "", "", "^".repeat(width))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        match self.again {
            0 => Ok(()),
            again => write!(f, "\n(and in {again} more place{})", if again > 1 { "s" } else { "" }),
        }
    }
}

/// A problem at a location that only its [`Sources`] can turn into a line and a column.
#[derive(Debug)]
pub(crate) struct Fault {
    pub problem: Box<Problem>,
    pub loc: Option<Loc>,
    pub key: String,
    pub hint: Option<String>,
    /// It comes from another mistake, and is not told.
    pub follows: bool,
    /// What else is wrong with the same value.
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
    pub fn hint(self, hint: impl Into<String>) -> Fault {
        Fault { hint: Some(hint.into()), ..self }
    }
    /// Suggest the nearest of `names`, or list them, the first ones if they are many, if none is
    /// near.
    pub fn suggest<'a>(self, name: &str, names: impl IntoIterator<Item = &'a str>) -> Fault {
        let names: Vec<&str> = names.into_iter().collect();
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
    /// As an error.
    pub fn resolve(self, sources: &Sources) -> ScenarioError {
        let mut faults = Faults::default();
        faults.add(self);
        faults.resolve(sources)
    }
    /// Resolve the location of a fault that stands in `again` further places.
    pub fn mistake(self, sources: &Sources, again: usize) -> Mistake {
        let key = readable(&self.key, MOST_SHOWN);
        let place = self.loc.map(|loc| Box::new(sources.place(loc, key)));
        let mut problem = self.problem;
        problem.texts().into_iter().for_each(|(text, most)| *text = readable(text, most));
        Mistake { problem, place, hint: self.hint.map(|hint| readable(&hint, MOST_SAID)), again }
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
