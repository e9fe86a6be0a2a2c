//! What can be wrong with a scenario, and where.
//!
//! A mistake is one line `file:line:column: key: problem`, the line of text that it is about, and a
//! hint if there is one.

use std::borrow::Cow;
use std::fmt;

/// A scenario that cannot be used: all that is wrong with it.
#[derive(Debug, thiserror::Error)]
pub struct ScenarioError {
    /// The mistakes, 1 to 20, in the order of the file; those in `--set` and in CSV files at the
    /// end.
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
    /// A suggestion, or advice.
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
        key: Cow<'static, str>,
        /// Its text.
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
    /// The file asks for a later version of Forebay.
    #[error("the file asks for Forebay {asked}, and this is {}", env!("CARGO_PKG_VERSION"))]
    LaterVersion {
        /// The version that it asks for.
        asked: String,
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
    /// Data of a protocol have more options than a TCP header holds.
    #[error(
        "data of `{protocol}` have {option_bytes} bytes of TCP options ({parts}), and a header \
         holds 40"
    )]
    OptionsTooLong {
        /// Its name.
        protocol: String,
        /// All of them, without padding, in bytes.
        option_bytes: usize,
        /// What they are made of.
        parts: String,
    },
    /// A CSV file whose rows cannot be read.
    #[error("{0}")]
    Csv(String),
    /// A file that is no delivery trace.
    #[error("{0}")]
    Trace(String),
    /// A file that is no map.
    #[error("{0}")]
    Map(String),
    /// A file that cannot be used.
    #[error("cannot read `{path}`: {why}")]
    File {
        /// Its path.
        path: String,
        /// Why not.
        why: String,
    },
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
