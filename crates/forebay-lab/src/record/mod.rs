//! Records of runs over real wires: what came out of the wires, by place, with the time at which it
//! was executed. The machines do the same again when they are given the same.
//!
//! | File | What it holds |
//! |---|---|
//! | `scenario.toml` | the scenario as it was run, with `channel-N.trace` beside it |
//! | `NODE.pcapng` | what came to a place: an interface for each link, named after it |
//! | `kernel.json` | what the kernel told of ends of flows at its hosts, if it has any |
//!
//! A capture begins with a comment, JSON of [`Header`]; the statistics of its first interface end
//! it, with JSON of [`Ending`] as their comment. Such statistics with JSON of [`Known`] stand in
//! between, twice a second, and with JSON of [`Carrier`] where a wire was lost or came back: a
//! version that does not know them refuses the file.
//!
//! A record is whole or refused: every node is in a capture, or is the host of an offered link;
//! nothing follows an end; and `kernel.json` is what the ends say it was. Where no capture has an
//! end, the run was killed or its disk was full, and what is there can be replayed; where only
//! some have one, the others were cut short. Captures and `kernel.json` are readable by their owner
//! only.

mod kernel;
mod names;
mod read;
mod verify;
mod write;

pub use read::{Record, SiteRecord};
pub use verify::{Difference, SiteVerdict, verify, verify_until};
pub use write::{RecordFolder, SiteFile, SiteRecorder};

use forebay_scenario::ScenarioError;
use forebay_sim::{Conservation, RealWires};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The form of records that is written. Those before it are read, too: in form 1 nobody answers
/// strangers and there is no secret, and up to form 2 no end says what `kernel.json` is.
const FORMAT: u32 = 3;
/// From this form on ends say what `kernel.json` is.
const KERNEL_SEALED: u32 = 3;

/// What a capture of a record begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The form of the record.
    pub forebay_record: u32,
    /// [`forebay_sim::HASH_EPOCH`] when it was made.
    pub hash_epoch: u32,
    /// The version that made it.
    pub forebay: String,
    /// The protocol of the run.
    pub protocol: String,
    /// The seed of the run.
    pub seed: u64,
    /// Nodes of this place, by name.
    pub nodes: Vec<String>,
    /// Links that are here as a whole, because their hosts are not Forebay's, by name.
    pub offered: Vec<String>,
    /// The secret of [`RealWires`], in hexadecimal; None: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Nanoseconds between 1970 and the moment when the record was begun, shortly before time 0 of
    /// the run; 0 in virtual time.
    pub begun_unix_ns: u64,
}

/// What the header of a record of any form has.
#[derive(Deserialize)]
struct AnyHeader {
    forebay_record: u32,
    forebay: String,
}

/// How far a capture goes where this stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// All inputs until then stand before it, in nanoseconds of the run.
    pub known_until_ns: u64,
}

/// A wire was lost there, or came back: an input, as packets are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carrier {
    /// When it was executed, in nanoseconds of the run.
    pub carrier_at_ns: u64,
    /// The link that leaves over it, by name.
    pub link: String,
    /// True if it came back.
    pub up: bool,
}

/// What a capture of a record ends with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Until when this place ran, in nanoseconds of the run.
    pub until_ns: u64,
    /// [`forebay_sim::Site::hash`], in hexadecimal.
    pub hash: String,
    /// Packets that hosts and routers here made.
    pub sent: u64,
    /// Packets that came in.
    pub entered: u64,
    /// Packets that left.
    pub left: u64,
    /// Packets that hosts here took.
    pub delivered: u64,
    /// Packets dropped here.
    pub dropped: u64,
    /// The [`Digest`](forebay_base::Digest) of `kernel.json`, in hexadecimal; None: the record has
    /// none. The same in all captures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

impl Header {
    /// What it says of the wires; None if that is no secret.
    fn real(&self) -> Option<Option<RealWires>> {
        let Some(text) = &self.secret else { return Some(None) };
        let half = |text: Option<&str>| u64::from_str_radix(text?, 16).ok();
        let secret = [half(text.get(..16))?, half(text.get(16..))?];
        (text.len() == 32).then_some(Some(RealWires { secret }))
    }
}

impl Ending {
    /// Of a place that ran until then, in a record without `kernel.json`.
    pub fn new(until_ns: u64, hash: u64, conservation: &Conservation) -> Ending {
        let Conservation { sent, entered, left, delivered, dropped, .. } = *conservation;
        let hash = format!("{hash:016x}");
        Ending { until_ns, hash, sent, entered, left, delivered, dropped, kernel: None }
    }
}

/// A record cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The operating system refused a file that goes with the process.
    #[error(
        "cannot write what is recorded of `{name}` in `{}`, the folder of temporary files: \
         {source}\nhint: TMPDIR=FOLDER chooses another, --record DIR keeps the record there",
        folder.display()
    )]
    Temporary {
        /// The file, as it would be called.
        name: String,
        /// Where.
        folder: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A folder for a record must be new.
    #[error("`{}` exists and is not empty\nhint: choose another folder", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// There is no record in a folder.
    #[error(
        "`{}` holds no record: no file NODE.pcapng\nhint: `forebay live SCENARIO --record DIR` \
         makes one", path.display()
    )]
    Nothing {
        /// The folder.
        path: PathBuf,
    },
    /// A file is no record, or not a sound one.
    #[error("`{}`, byte {offset}: {why}", path.display())]
    Unsound {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: usize,
        /// What is wrong.
        why: String,
    },
    /// A later version of Forebay wrote the record, in a form that this one does not know.
    #[error(
        "`{}` is a record of form {found}, made by Forebay {made_by}; this is Forebay {}, which \
         reads forms 1 to {FORMAT}\nhint: replay it with the version that made it, or with a \
         later one", path.display(), env!("CARGO_PKG_VERSION")
    )]
    Later {
        /// The file.
        path: PathBuf,
        /// The version that made it.
        made_by: String,
        /// Its form.
        found: u32,
    },
    /// A part of the record is missing, or not what it was at the end of the run.
    #[error("`{}`: {why}", path.display())]
    Damaged {
        /// The file, or the folder that lacks one.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The machines of this version do not do the same as those that made the record.
    #[error(
        "`{}` was recorded by Forebay {made_by} with hashes of epoch {found}, and this version has \
         epoch {}\nhint: replay it with that version", path.display(), forebay_sim::HASH_EPOCH
    )]
    Epoch {
        /// The file.
        path: PathBuf,
        /// The version that made it.
        made_by: String,
        /// Its epoch.
        found: u32,
    },
    /// The scenario of the record cannot be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It cannot be copied to the record.
    #[error(transparent)]
    Copy(#[from] crate::StoreError),
}

impl RecordError {
    fn io(what: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| RecordError::Io { what, path, source }
    }
}
