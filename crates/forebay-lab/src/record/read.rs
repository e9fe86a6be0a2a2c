//! Reading a record. Everything is checked before anything is run.

use super::kernel;
use super::names::Names;
use super::{
    AnyHeader, Carrier, Ending, FORMAT, Header, KERNEL_SEALED, Known, RecordError, SiteFile,
};
use forebay_base::{LinkId, NodeId, Time};
use forebay_net::Place;
use forebay_scenario::{LoadOptions, Registry, Scenario};
use forebay_sim::{ForeignEnd, HASH_EPOCH, Input, InputEvent, RealWires, RecordedSite, Recording};
use forebay_wire::pcapng::read::{Block, block, block_bytes};
use std::collections::BTreeSet;
use std::io::{Read, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A record that can be replayed.
pub struct Record {
    /// The scenario as it was run.
    pub scenario: Scenario,
    /// The protocol of the run.
    pub protocol: String,
    /// The seed of the run.
    pub seed: u64,
    /// Its places, in the order of their files.
    pub sites: Vec<SiteRecord>,
    /// What the kernel told of ends of flows at its hosts.
    pub kernel_ends: Vec<ForeignEnd>,
    /// What its sites had of [`SiteOptions::real`](forebay_sim::SiteOptions::real).
    pub real: Option<RealWires>,
    /// The form in which it is written.
    form: u32,
}

/// The record of one place.
pub struct SiteRecord {
    /// The file.
    pub path: PathBuf,
    /// What was there.
    pub place: Place,
    /// How it ended; None if the run was killed or the disk was full.
    pub ending: Option<Ending>,
    /// Up to when all inputs are there, if it has no end.
    known_until: Time,
    /// The file.
    bytes: Arc<Vec<u8>>,
    /// What came, in order of time.
    inputs: Arc<Vec<(Time, LinkId, Recorded)>>,
}

/// An input of the file.
#[derive(Clone)]
enum Recorded {
    /// A packet: where its bytes are.
    Packet(Range<usize>),
    /// See [`Carrier`].
    Carrier(bool),
}

impl Record {
    /// The record in `folder`, under the names of `registry`.
    pub fn open(folder: &Path, registry: &Arc<Registry>) -> Result<Record, RecordError> {
        let files = captures(folder)?;
        let Some(first) = files.first() else {
            return Err(RecordError::Nothing { path: folder.to_path_buf() });
        };
        let header = Capture::read(first)?.header()?;
        let options = LoadOptions {
            protocols: vec![header.protocol],
            registry: Arc::clone(registry),
            ..LoadOptions::default()
        };
        let text = folder.join("scenario.toml");
        let scenario = Scenario::load(&text.to_string_lossy(), &options)?;
        let record = Record::of(scenario, files.iter().map(|path| Capture::read(path)))?;
        record.check_places(folder)?;
        record.check_ends()?;
        let kernel_ends = kernel_ends(folder, &record)?;
        Ok(Record { kernel_ends, ..record })
    }
    /// A record that was just made of a run of `scenario`.
    pub fn of_files(
        scenario: Scenario,
        files: impl IntoIterator<Item = SiteFile>,
        kernel_ends: Vec<ForeignEnd>,
    ) -> Result<Record, RecordError> {
        let record = Record::of(scenario, files.into_iter().map(Capture::of))?;
        Ok(Record { kernel_ends, ..record })
    }
    fn of(
        scenario: Scenario,
        captures: impl Iterator<Item = Result<Capture, RecordError>>,
    ) -> Result<Record, RecordError> {
        let names = Names::new(&scenario);
        let mut sites: Vec<SiteRecord> = Vec::new();
        let (mut run, mut seen) = (None, BTreeSet::new());
        for capture in captures {
            let capture = capture?;
            let here = capture.header()?;
            let real = here.real().ok_or_else(|| capture.unsound(0, "its secret is none"))?;
            let this = (here.protocol.clone(), here.seed, real, here.forebay_record);
            if *run.get_or_insert_with(|| this.clone()) != this {
                return Err(capture.unsound(0, "it is of another run than the first file"));
            }
            let site = capture.site(&here, &names)?;
            if site.place.nodes.iter().any(|node| !seen.insert(*node)) {
                let (path, why) =
                    (site.path, "a node of it is in another file as well".to_string());
                return Err(RecordError::Unsound { path, offset: 0, why });
            }
            sites.push(site);
        }
        let (protocol, seed, real, form) = run.expect("a record has a file");
        Ok(Record { scenario, protocol, seed, sites, kernel_ends: Vec::new(), real, form })
    }
    /// Errors if a node is in no file that is not a host of the kernel's, whose links are offered.
    fn check_places(&self, folder: &Path) -> Result<(), RecordError> {
        let (names, mut seen) = (Names::new(&self.scenario), BTreeSet::new());
        for Place { nodes, offered } in self.sites.iter().map(|site| &site.place) {
            seen.extend(nodes.iter().copied());
            seen.extend(offered.iter().map(|link| names.from(*link)));
        }
        let all = (0..self.scenario.nodes.len() as u32).map(NodeId);
        let absent = all.filter(|node| !seen.contains(node));
        let absent: Vec<String> = absent.map(|node| format!("`{}`", names.node(node))).collect();
        if absent.is_empty() {
            return Ok(());
        }
        let why = format!("it has no record of {}: a file is missing", absent.join(", "));
        Err(RecordError::Damaged { path: folder.to_path_buf(), why })
    }
    /// Errors if only some places have an end, or if their ends are of different runs.
    fn check_ends(&self) -> Result<(), RecordError> {
        let ended = self.sites.iter().filter(|site| site.ending.is_some()).count();
        let endless = self.sites.iter().find(|site| site.ending.is_none());
        if let (1.., Some(SiteRecord { path, .. })) = (ended, endless) {
            let why = format!(
                "it has no end, and {ended} of {} files have one: it was cut short",
                self.sites.len()
            );
            return Err(RecordError::Damaged { path: path.clone(), why });
        }
        let first = self.sites.first().and_then(SiteRecord::kernel);
        match self.sites.iter().find(|site| site.kernel() != first) {
            Some(SiteRecord { path, .. }) => {
                let why = format!("its end says otherwise of {} than the first file", kernel::FILE);
                Err(RecordError::Damaged { path: path.clone(), why })
            }
            None => Ok(()),
        }
    }

    /// Until when all of it is known.
    pub fn until(&self) -> Time {
        self.sites.iter().map(SiteRecord::until).min().unwrap_or(Time::ZERO)
    }
    /// True if no place lacks its end.
    pub fn is_whole(&self) -> bool {
        self.sites.iter().all(|site| site.ending.is_some())
    }
    /// The inputs of all places.
    pub fn recording(&self) -> Recording {
        let sites = self.sites.iter().map(|site| RecordedSite {
            place: site.place.clone(),
            inputs: Box::new(site.inputs()),
        });
        let foreign = self.kernel_ends.clone();
        Recording { sites: sites.collect(), foreign, until: self.until(), real: self.real }
    }
}

impl SiteRecord {
    /// What its end says of `kernel.json`.
    fn kernel(&self) -> Option<&str> {
        self.ending.as_ref().and_then(|ending| ending.kernel.as_deref())
    }
    /// What came, in order of time.
    pub fn inputs(&self) -> impl Iterator<Item = Input> + use<> {
        let (bytes, inputs) = (Arc::clone(&self.bytes), Arc::clone(&self.inputs));
        (0..inputs.len()).map(move |number| {
            let (at, link, recorded) = inputs[number].clone();
            let event = match recorded {
                Recorded::Packet(range) => InputEvent::Packet(bytes[range].to_vec()),
                Recorded::Carrier(up) => InputEvent::Carrier(up),
            };
            Input { at, link, event }
        })
    }
    /// Until when it is known.
    pub fn until(&self) -> Time {
        match &self.ending {
            Some(ending) => Time::from_nanos(ending.until_ns),
            None => self.known_until,
        }
    }
}

/// What the kernel told, if it did. A run that has not ended has nothing of it.
fn kernel_ends(folder: &Path, record: &Record) -> Result<Vec<ForeignEnd>, RecordError> {
    if !record.is_whole() {
        return Ok(Vec::new());
    }
    let path = folder.join(kernel::FILE);
    let text = match std::fs::read(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(RecordError::io("read", &path)(error)),
    };
    let (told, found) =
        (record.sites.first().and_then(SiteRecord::kernel), text.as_deref().map(kernel::digest));
    if record.form >= KERNEL_SEALED && told != found.as_deref() {
        let why = match (told, found) {
            (None, _) => "the record has none of its own",
            (_, None) => "it is missing, and the ends of the captures name it",
            _ => "it is not what the run wrote",
        };
        return Err(RecordError::Damaged { path, why: why.to_string() });
    }
    let Some(text) = text else { return Ok(Vec::new()) };
    let flows = record.scenario.build(&record.protocol, record.seed)?.flows.len();
    kernel::from_json(&text, flows).map_err(|why| RecordError::Unsound { path, offset: 0, why })
}

/// The captures in a folder, in order of name.
fn captures(folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let entries = folder.read_dir().map_err(RecordError::io("read", folder))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let paths: std::io::Result<Vec<PathBuf>> = paths.collect();
    let mut paths = paths.map_err(RecordError::io("read", folder))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pcapng"));
    paths.sort();
    Ok(paths)
}

/// A file of a record.
struct Capture {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Capture {
    fn read(path: &Path) -> Result<Capture, RecordError> {
        let bytes = std::fs::read(path).map_err(RecordError::io("read", path))?;
        Ok(Capture { path: path.to_path_buf(), bytes })
    }
    /// Of a file that was just written.
    fn of(written: SiteFile) -> Result<Capture, RecordError> {
        let SiteFile { path, mut file } = written;
        let mut bytes = Vec::new();
        let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
        read.map_err(RecordError::io("read", &path))?;
        Ok(Capture { path, bytes })
    }
    fn unsound(&self, offset: usize, why: impl ToString) -> RecordError {
        RecordError::Unsound { path: self.path.clone(), offset, why: why.to_string() }
    }
    /// The block at `offset`, and where it ends. None at the end, and before a block of which a
    /// part is missing there: the run was killed.
    fn block(&self, offset: usize) -> Result<Option<(Block<'_>, usize)>, RecordError> {
        let rest = &self.bytes[offset..];
        let len = block_bytes(rest).transpose().map_err(|error| self.unsound(offset, error))?;
        let Some(whole) = len.and_then(|len| rest.get(..len)) else { return Ok(None) };
        let read = block(whole).map_err(|error| self.unsound(offset, error))?;
        Ok(Some((read, offset + whole.len())))
    }
    fn header(&self) -> Result<Header, RecordError> {
        let Some((Block::Section(Some(text)), _)) = self.block(0)? else {
            return Err(self.unsound(0, "it is no record: it has no header of Forebay's"));
        };
        let no_record = |why: serde_json::Error| self.unsound(0, format!("it is no record: {why}"));
        let any: AnyHeader = serde_json::from_slice(text).map_err(no_record)?;
        if any.forebay_record > FORMAT {
            let (path, made_by) = (self.path.clone(), any.forebay);
            return Err(RecordError::Later { path, made_by, found: any.forebay_record });
        }
        let header: Header = serde_json::from_slice(text).map_err(no_record)?;
        if header.forebay_record == 0 {
            return Err(self.unsound(0, "it is no record: there is no form 0"));
        }
        if header.hash_epoch != HASH_EPOCH {
            let (path, made_by) = (self.path.clone(), header.forebay);
            return Err(RecordError::Epoch { path, made_by, found: header.hash_epoch });
        }
        Ok(header)
    }

    fn site(self, header: &Header, names: &Names) -> Result<SiteRecord, RecordError> {
        let place = names.place(header).map_err(|why| self.unsound(0, why))?;
        if place.nodes.is_empty() {
            return Err(self.unsound(0, "it is of no node"));
        }
        let (mut links, mut inputs, mut ending) = (Vec::new(), Vec::new(), None);
        let mut known_until = Time::ZERO;
        let mut offset = 0;
        while let Some((block, end)) = self.block(offset)? {
            let unsound = |why: String| self.unsound(offset, why);
            if ending.is_some() {
                return Err(unsound("something follows the end".to_string()));
            }
            match block {
                Block::Interface(name) => {
                    let name = std::str::from_utf8(name).map_err(|e| unsound(e.to_string()))?;
                    links.push(names.entry(name, &place).ok());
                }
                Block::Packet { interface, at, bytes } => {
                    let link = links.get(interface as usize).copied().flatten();
                    let link = link.ok_or_else(|| unsound("a packet of no link".to_string()))?;
                    let start = bytes.as_ptr() as usize - self.bytes.as_ptr() as usize;
                    inputs.push((at, link, Recorded::Packet(start..start + bytes.len())));
                }
                Block::Statistics(Some(text)) => {
                    if let Ok(Known { known_until_ns }) = serde_json::from_slice(text) {
                        known_until = known_until.max(Time::from_nanos(known_until_ns));
                    } else if let Ok(change) = serde_json::from_slice::<Carrier>(text) {
                        if header.secret.is_none() {
                            return Err(unsound("a wire of a run without wires".to_string()));
                        }
                        let link = names.exit(&change.link, &place).map_err(unsound)?;
                        let at = Time::from_nanos(change.carrier_at_ns);
                        inputs.push((at, link, Recorded::Carrier(change.up)));
                    } else {
                        let read: Result<Ending, _> = serde_json::from_slice(text);
                        ending = Some(read.map_err(|error| unsound(error.to_string()))?);
                    }
                }
                Block::Section(_) if offset > 0 => {
                    return Err(unsound("a second section".to_string()));
                }
                Block::Section(_) | Block::Statistics(None) | Block::Other => {}
            }
            offset = end;
        }
        if ending.is_some() && offset < self.bytes.len() {
            return Err(self.unsound(offset, "something follows the end"));
        }
        inputs.sort_by_key(|(at, ..)| *at);
        if ending.is_none() {
            // Earlier ones of other links may be missing.
            inputs.retain(|(at, ..)| *at <= known_until);
        }
        if inputs.first().is_some_and(|(at, ..)| *at == Time::ZERO) {
            return Err(self.unsound(0, "an input came before the run began"));
        }
        let Capture { path, bytes } = self;
        let (bytes, inputs) = (Arc::new(bytes), Arc::new(inputs));
        Ok(SiteRecord { path, place, ending, known_until, bytes, inputs })
    }
}
