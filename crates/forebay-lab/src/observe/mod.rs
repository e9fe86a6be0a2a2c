//! Watching packets: captures, and lines of text.

mod capture;
mod flow_monitor;
mod mm_link;
mod tracked;

use capture::CaptureFile;
use flow_monitor::FlowMonitor;
use forebay_base::{Arena, LinkId, Packet, Time};
use forebay_net::{NetSpec, Workload};
use forebay_run::{EventFilter, EventLines, RunError};
use forebay_scenario::{LinkNames, Scenario};
use forebay_sim::{Observer, PacketEvent};
use mm_link::LinkLog;
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

/// What is wanted of the packets of a run. The default is nothing.
#[derive(Default)]
pub(crate) struct Wanted<'a> {
    pub capture: Option<WantedCapture<'a>>,
    pub lines: Option<(EventFilter, &'a EventWriter)>,
    /// Where the totals of flows go.
    pub flow_monitor: Option<PathBuf>,
    /// Directed links, and where their logs go.
    pub link_logs: Vec<(LinkId, PathBuf)>,
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
    flow_monitor: Option<FlowMonitor>,
    link_logs: Vec<LinkLog>,
    error: Option<RunError>,
}

impl RunObserver {
    /// What is wanted of a run of `spec`.
    pub fn open(spec: &NetSpec, wanted: Wanted<'_>) -> Result<RunObserver, RunError> {
        let capture = wanted.capture.map(|WantedCapture { path, limit, filter }| {
            CaptureFile::create(&path, spec, limit, filter)
        });
        let capture = capture.transpose()?;
        let lines = wanted.lines.map(|(filter, writer)| Lines {
            lines: EventLines::new(filter, spec),
            writer: writer.clone(),
        });
        let flow_monitor = wanted.flow_monitor.map(|path| FlowMonitor::new(path, spec));
        let logs = wanted.link_logs.into_iter();
        let link_logs = logs.map(|(link, path)| LinkLog::create(path, spec, link));
        let link_logs = link_logs.collect::<Result<Vec<LinkLog>, _>>()?;
        let none = capture.is_none() && lines.is_none() && flow_monitor.is_none();
        if none && link_logs.is_empty() {
            return Ok(RunObserver(None));
        }
        let sinks = Mutex::new(Sinks { capture, lines, flow_monitor, link_logs, error: None });
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
        if let Some(flow_monitor) = sinks.flow_monitor.take() {
            flow_monitor.finish()?;
        }
        sinks.link_logs.drain(..).try_for_each(LinkLog::finish)?;
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
        if let Some(flow_monitor) = &mut self.flow_monitor {
            flow_monitor.packet(now, event, packet, arena);
        }
        for log in &mut self.link_logs {
            log.packet(now, event, packet, arena)?;
        }
        match &mut self.lines {
            Some(lines) => lines.packet(now, event, packet, arena).map_err(RunError::Events),
            None => Ok(()),
        }
    }
}
