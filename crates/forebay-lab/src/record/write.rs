//! Writing a record while the run goes on.

use super::kernel;
use super::names::Names;
use super::{Carrier, Ending, FORMAT, Header, Known, RecordError};
use crate::store::write_copy;
use forebay_base::{LinkId, Span, Time};
use forebay_net::Place;
use forebay_scenario::Scenario;
use forebay_sim::{ForeignEnd, HASH_EPOCH, RealWires};
use forebay_wire::pcapng::{Capture, Direction, Interface, PcapngWriter, Sink};
use std::env;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A run that is killed leaves a record up to so long before.
const FLUSH_INTERVAL: Span = Span::from_millis(500);

/// A record in the making: a folder, or files without names that go with the process.
#[derive(Debug)]
pub struct RecordFolder {
    /// None: files without names.
    folder: Option<PathBuf>,
    protocol: String,
    seed: u64,
    /// What the sites of the run have of [`SiteOptions::real`](forebay_sim::SiteOptions::real).
    real: Option<RealWires>,
    names: Names,
}

impl RecordFolder {
    /// Begin a record of a run of `scenario` in a new or empty folder. What is written stays there
    /// whatever happens to the run.
    pub fn create(
        folder: &Path,
        scenario: &Scenario,
        protocol: &str,
        seed: u64,
    ) -> Result<RecordFolder, RecordError> {
        private_folder(folder).map_err(RecordError::io("create", folder))?;
        let mut entries = folder.read_dir().map_err(RecordError::io("read", folder))?;
        if entries.next().is_some() {
            return Err(RecordError::Occupied { path: folder.to_path_buf() });
        }
        let version = env!("CARGO_PKG_VERSION");
        let head = format!("protocol {protocol} seed {seed} over real wires, Forebay {version}");
        write_copy(scenario, folder, &[head])?;
        Ok(RecordFolder::of(Some(folder.to_path_buf()), scenario, protocol, seed))
    }
    /// A record of which nothing is left when the process ends, however it ends.
    pub fn unnamed(scenario: &Scenario, protocol: &str, seed: u64) -> RecordFolder {
        RecordFolder::of(None, scenario, protocol, seed)
    }
    fn of(folder: Option<PathBuf>, scenario: &Scenario, protocol: &str, seed: u64) -> RecordFolder {
        let (protocol, names) = (protocol.to_string(), Names::new(scenario));
        RecordFolder { folder, protocol, seed, real: None, names }
    }
    /// The same of a run whose sites have this.
    #[must_use]
    pub fn with_real(self, real: Option<RealWires>) -> RecordFolder {
        RecordFolder { real, ..self }
    }

    /// Begin the record of one place. `begun_unix_ns`: see [`Header`].
    pub fn site(&self, place: &Place, begun_unix_ns: u64) -> Result<SiteRecorder, RecordError> {
        let name = self.names.file(place);
        let path = self.folder.as_ref().map_or(PathBuf::from(&name), |folder| folder.join(&name));
        let is_named = self.folder.is_some();
        let open = || if is_named { private_file(&path) } else { tempfile::tempfile() };
        let links = self.names.links();
        let header = Header {
            forebay_record: FORMAT,
            hash_epoch: HASH_EPOCH,
            forebay: env!("CARGO_PKG_VERSION").to_string(),
            protocol: self.protocol.clone(),
            seed: self.seed,
            nodes: place.nodes.iter().map(|n| self.names.node(*n).to_string()).collect(),
            offered: place.offered.iter().map(|l| links[l.index()].clone()).collect(),
            secret: self.real.map(|RealWires { secret: [a, b] }| format!("{a:016x}{b:016x}")),
            begun_unix_ns,
        };
        let begin = || -> std::io::Result<SiteRecorder> {
            let file = BufWriter::new(open()?);
            let comment = serde_json::to_string(&header)?;
            let mut writer = PcapngWriter::with_comment(Out(file), "Forebay live", &comment)?;
            let mut interfaces = vec![None; links.len()];
            for link in self.names.entries(place) {
                interfaces[link.index()] = Some(writer.interface(&links[link.index()])?);
            }
            let first = match interfaces.iter().flatten().next() {
                Some(&first) => first,
                None => writer.interface("nothing comes in")?,
            };
            writer.sink().0.flush()?;
            let flush_at = Time::ZERO + FLUSH_INTERVAL;
            let (path, links) = (path.clone(), links.to_vec());
            let failed = None;
            let of =
                SiteRecorder { writer, links, interfaces, first, path, is_named, flush_at, failed };
            Ok(of)
        };
        begin().map_err(|source| not_written(&path, is_named, source))
    }

    /// Keep what the kernel told of ends of flows at its hosts, before any capture ends. What
    /// [`Ending::kernel`] is to say of it.
    pub fn kernel_ends(&self, ends: &[ForeignEnd]) -> Result<Option<String>, RecordError> {
        let Some(folder) = self.folder.as_ref().filter(|_| !ends.is_empty()) else {
            return Ok(None);
        };
        let path = folder.join(kernel::FILE);
        // A part of it is never read: without an end of a capture it does not count.
        let write = || {
            let text = kernel::to_json(ends)?;
            private_file(&path)?.write_all(text.as_bytes())?;
            Ok(Some(kernel::digest(text.as_bytes())))
        };
        write().map_err(RecordError::io("write", &path))
    }
}

/// Writes the record of one place. When the disk is full the record ends, and the run goes on.
#[derive(Debug)]
pub struct SiteRecorder {
    writer: PcapngWriter<Out>,
    /// Their names.
    links: Vec<String>,
    /// By link.
    interfaces: Vec<Option<Interface>>,
    first: Interface,
    /// Where it is, or would be.
    path: PathBuf,
    /// False: a file that goes with the process.
    is_named: bool,
    /// When what is buffered is written, with how far it goes.
    flush_at: Time,
    failed: Option<std::io::Error>,
}

impl SiteRecorder {
    /// A packet came over `link`, which ends here, and was executed at `at`.
    pub fn input(&mut self, at: Time, link: LinkId, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let interface = self.interfaces[link.index()].expect("a link that ends here");
        let capture = Capture { interface, at, direction: Direction::Inbound, comment: None };
        self.failed = self.writer.packet(&capture, bytes).err();
    }
    /// The carrier of the wire that `link` leaves over was lost, or is back (`up`), which was
    /// executed at `at`.
    pub fn carrier(&mut self, at: Time, link: LinkId, up: bool) {
        if self.failed.is_some() {
            return;
        }
        let link = self.links[link.index()].clone();
        self.failed = self.note(&Carrier { carrier_at_ns: at.as_nanos(), link, up }).err();
    }
    /// Everything up to and including `at` has been executed, and no input until then is to come.
    pub fn reached(&mut self, at: Time) {
        if at < self.flush_at || self.failed.is_some() {
            return;
        }
        self.flush_at = at + FLUSH_INTERVAL;
        let noted = self.note(&Known { known_until_ns: at.as_nanos() });
        self.failed = noted.and_then(|()| self.writer.sink().0.flush()).err();
    }
    fn note(&mut self, note: &impl serde::Serialize) -> std::io::Result<()> {
        self.writer.statistics(self.first, &serde_json::to_string(note)?)
    }
    /// Write what is buffered. Err if not all inputs so far could be recorded: then no place of the
    /// run is to have an end.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        let written = self.failed.take().map_or_else(|| self.writer.sink().0.flush(), Err);
        let written = match written {
            Ok(()) if self.is_named => is_at(&self.path, self.writer.sink().0.get_ref()),
            other => other,
        };
        written.map_err(|source| not_written(&self.path, self.is_named, source))
    }
    /// The run has ended: the file. Err if not all of it could be recorded.
    pub fn finish(mut self, ending: &Ending) -> Result<SiteFile, RecordError> {
        self.flush()?;
        let SiteRecorder { mut writer, first, path, is_named, .. } = self;
        let end = || -> std::io::Result<File> {
            writer.statistics(first, &serde_json::to_string(ending)?)?;
            writer.into_sink().0.into_inner().map_err(|error| error.into_error())
        };
        let file = end().map_err(|source| not_written(&path, is_named, source))?;
        Ok(SiteFile { path, file })
    }
}

/// Errors unless the open file is still the one at `path`.
#[cfg(unix)]
fn is_at(path: &Path, file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let of = |metadata: &std::fs::Metadata| (metadata.dev(), metadata.ino());
    match std::fs::metadata(path) {
        Ok(found) if of(&found) == of(&file.metadata()?) => Ok(()),
        _ => Err(std::io::Error::other("it was removed while it was written")),
    }
}
#[cfg(not(unix))]
fn is_at(_path: &Path, _file: &File) -> std::io::Result<()> {
    Ok(())
}

/// Why a capture cannot be written.
fn not_written(path: &Path, is_named: bool, source: std::io::Error) -> RecordError {
    if is_named {
        return RecordError::io("write", path)(source);
    }
    let name = path.display().to_string();
    RecordError::Temporary { name, folder: env::temp_dir(), source }
}

/// The whole record of one place.
#[derive(Debug)]
pub struct SiteFile {
    /// Where it is, or would be.
    pub(super) path: PathBuf,
    pub(super) file: File,
}

/// A file as the sink of a capture.
#[derive(Debug)]
struct Out(BufWriter<File>);

impl Sink for Out {
    type Error = std::io::Error;
    fn append(&mut self, block: &[u8]) -> std::io::Result<()> {
        self.0.write_all(block)
    }
}

fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Packets may hold what others should not read.
fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
