//! Watching packets: captures, and lines of text.

mod capture;

use capture::CaptureFile;
use forebay_base::{Arena, LinkId, Packet, Time};
use forebay_net::{NetSpec, Workload};
use forebay_run::{EventFilter, EventLines, RunError};
use forebay_scenario::{LinkNames, Scenario};
use forebay_sim::{Observer, PacketEvent};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Most bytes that a capture may have, 2 GB by default. A run whose capture would be longer fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimit(pub u64);

impl Default for CaptureLimit {
    fn default() -> Self {
        CaptureLimit(2_000_000_000)
    }
}

/// What a capture holds of a run. The default is all of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaptureFilter<'a> {
    /// Directed links on which packets are captured; None: all. See [`directed_links`].
    pub links: Option<&'a [LinkId]>,
    /// Bytes that are kept of each packet, from the IP header on; None: all.
    pub snap_bytes: Option<u32>,
}

/// A text names directed links that are not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no link `{name}`{hint}{}",
    others.iter().map(|other| format!("\n{other}")).collect::<String>()
)]
pub struct UnknownLink {
    /// The name.
    pub name: String,
    /// A suggestion, as a line of its own; may be empty.
    pub hint: String,
    /// The others that are not there.
    pub others: Vec<UnknownLink>,
}

/// Most links that a message lists.
const MAX_LISTED: usize = 40;

/// The directed links that names stand for, separated by commas, as results call them: `a-b` from a
/// to b and `b-a` back; of a
/// link with a name of its own, `name` and `name:reverse`.
pub fn directed_links(names: &str, scenario: &Scenario) -> Result<Vec<LinkId>, UnknownLink> {
    let known = LinkNames::new(scenario);
    let one = |name: &str| {
        let found = known.iter().position(|known| known == name);
        found.map(|index| LinkId(index as u32)).ok_or_else(|| {
            let likeness = |other: &str| strsim::jaro_winkler(name, other);
            let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            let hint = match nearest.filter(|near| likeness(near) >= 0.8) {
                Some(near) => format!("\nhint: did you mean `{near}`?"),
                None if known.iter().count() <= MAX_LISTED => {
                    format!("\nhint: one of: {}", known.iter().collect::<Vec<_>>().join(", "))
                }
                None => String::new(),
            };
            UnknownLink { name: name.to_string(), hint, others: Vec::new() }
        })
    };
    let (mut links, mut unknown) = (Vec::new(), None::<UnknownLink>);
    for found in names.split(',').map(|name| one(name.trim())) {
        match (found, &mut unknown) {
            (Ok(link), _) => links.push(link),
            (Err(next), None) => unknown = Some(next),
            (Err(next), Some(first)) => first.others.push(next),
        }
    }
    unknown.map_or(Ok(links), Err)
}

/// Where lines of packet events go: standard output, a file, memory.
pub type EventWriter = Arc<Mutex<dyn Write + Send>>;

/// Lines of packet events, and where they go.
struct Lines {
    lines: EventLines,
    writer: EventWriter,
}

impl Lines {
    fn packet(
        &mut self,
        now: Time,
        event: PacketEvent,
        packet: &Packet,
        arena: &Arena,
    ) -> io::Result<()> {
        match self.lines.line(now, event, packet, arena) {
            Some(line) => locked(&self.writer)?.write_all(line.as_bytes()),
            None => Ok(()),
        }
    }
    fn flush(&self) -> io::Result<()> {
        locked(&self.writer)?.flush()
    }
}

fn locked(writer: &EventWriter) -> io::Result<MutexGuard<'_, dyn Write + Send + 'static>> {
    writer.lock().map_err(|_| io::Error::other("a writer panicked"))
}

/// A capture that is wanted, and where.
pub(crate) struct WantedCapture<'a> {
    pub path: PathBuf,
    pub limit: CaptureLimit,
    pub filter: CaptureFilter<'a>,
}

/// The observers of a run: shared between the run, which opens and ends it, and the simulation,
/// which feeds it.
pub(crate) struct RunObserver(Option<Arc<Shared>>);

struct Shared {
    sinks: Mutex<Sinks>,
    /// Set with `Sinks::error`, so that a look costs no lock.
    failed: AtomicBool,
}

struct Sinks {
    capture: Option<CaptureFile>,
    lines: Option<Lines>,
    error: Option<RunError>,
}

impl RunObserver {
    /// A capture, if one is wanted, and lines of packet events.
    pub fn open(
        spec: &NetSpec,
        capture: Option<WantedCapture<'_>>,
        lines: Option<(EventFilter, &EventWriter)>,
    ) -> Result<RunObserver, RunError> {
        let capture = capture.map(|WantedCapture { path, limit, filter }| {
            CaptureFile::create(&path, spec, limit, filter)
        });
        let capture = capture.transpose()?;
        let lines = lines.map(|(filter, writer)| Lines {
            lines: EventLines::new(filter, spec),
            writer: writer.clone(),
        });
        if capture.is_none() && lines.is_none() {
            return Ok(RunObserver(None));
        }
        let sinks = Mutex::new(Sinks { capture, lines, error: None });
        Ok(RunObserver(Some(Arc::new(Shared { sinks, failed: AtomicBool::new(false) }))))
    }
    /// What the simulation feeds, if anyone observes.
    pub fn observer(&self) -> Option<Box<dyn Observer>> {
        let shared = self.0.clone()?;
        Some(Box::new(Tap(shared)))
    }
    /// The flows have their addresses.
    pub fn begin(&self, workload: &Workload) {
        let Some(shared) = &self.0 else { return };
        if let Some(lines) = &mut shared.lock().lines {
            lines.lines.learn(workload);
        }
    }
    /// The first error of a sink, if there was one.
    pub fn check(&self) -> Result<(), RunError> {
        let Some(shared) = self.0.as_ref().filter(|s| s.failed.load(Ordering::Relaxed)) else {
            return Ok(());
        };
        shared.lock().error.take().map_or(Ok(()), Err)
    }
    /// The run has ended: write what is held back.
    pub fn finish(&self) -> Result<(), RunError> {
        self.check()?;
        let Some(shared) = &self.0 else { return Ok(()) };
        let mut sinks = shared.lock();
        if let Some(capture) = sinks.capture.take() {
            capture.finish()?;
        }
        match &mut sinks.lines {
            Some(lines) => lines.flush().map_err(RunError::Events),
            None => Ok(()),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Sinks> {
        self.sinks.lock().expect("whoever held it did not panic")
    }
}

/// The simulation's end of a [`RunObserver`].
struct Tap(Arc<Shared>);

impl Observer for Tap {
    fn on_packet(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena) {
        let mut sinks = self.0.lock();
        if sinks.error.is_some() {
            return; // the run ends soon
        }
        if let Err(error) = sinks.on_packet(now, event, packet, arena) {
            sinks.error = Some(error);
            self.0.failed.store(true, Ordering::Relaxed);
        }
    }
}

impl Sinks {
    fn on_packet(
        &mut self,
        now: Time,
        event: PacketEvent,
        packet: &Packet,
        arena: &Arena,
    ) -> Result<(), RunError> {
        if let (Some(capture), PacketEvent::Arrived(link)) = (&mut self.capture, event) {
            capture.packet(now, link, packet, arena)?;
        }
        match &mut self.lines {
            Some(lines) => lines.packet(now, event, packet, arena).map_err(RunError::Events),
            None => Ok(()),
        }
    }
}
