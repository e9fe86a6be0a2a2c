//! What is kept of runs besides their results.

use crate::observe::{
    CaptureFilter, CaptureLimit, EventWriter, RunObserver, Wanted, WantedCapture,
};
use crate::store::{SeriesWriter, Store};
use forebay_base::LinkId;
use forebay_run::{EventFilter, Record, Recorder, RunError, RunStart};
use forebay_sim::{Observer, Simulation};

/// What is kept of runs besides their results; by default nothing.
#[derive(Clone, Copy, Default)]
pub struct Outputs<'a> {
    /// Where series go (and a capture, if wanted); None: no series.
    pub store: Option<&'a Store>,
    /// Write packets to `packets.pcapng` of the store, which must be given with it.
    pub capture: Option<CaptureLimit>,
    /// What the capture holds.
    pub capture_filter: CaptureFilter<'a>,
    /// Write `flow-monitor-PROTOCOL-SEED.xml` of the store, which must be given with it: totals of
    /// flows in the format of ns-3's FlowMonitor.
    pub flow_monitor: bool,
    /// Write `mm-link-PROTOCOL-SEED-LINK.log` of the store, which must be given with it: the logs
    /// of these directed links, in the format of mahimahi's mm-link.
    pub link_logs: &'a [LinkId],
    /// Write a line for each packet event of a flow or node.
    pub events: Option<(EventFilter, &'a EventWriter)>,
}

impl<'a> Outputs<'a> {
    /// Series, to a store.
    pub fn to(store: &'a Store) -> Outputs<'a> {
        Outputs { store: Some(store), ..Outputs::default() }
    }
}

impl Record for Outputs<'_> {
    fn samples(&self) -> bool {
        self.store.is_some()
    }

    fn open(&self, start: &RunStart<'_>) -> Result<Box<dyn Recorder>, RunError> {
        let files = self.capture.is_some() || self.flow_monitor || !self.link_logs.is_empty();
        assert!(!files || self.store.is_some(), "files need a store");
        let capture = self.store.zip(self.capture).map(|(store, limit)| WantedCapture {
            path: store.capture_path(start.protocol, start.seed),
            limit,
            filter: self.capture_filter,
        });
        let of_run = |store: &Store| store.flow_monitor_path(start.protocol, start.seed);
        let log = |store: &Store, link: LinkId| {
            let name = start.names.of(link.index());
            (link, store.link_log_path(start.protocol, start.seed, name))
        };
        let logs = self.store.into_iter();
        let logs = logs.flat_map(|store| self.link_logs.iter().map(move |&link| log(store, link)));
        let wanted = Wanted {
            capture,
            lines: self.events,
            flow_monitor: self.store.filter(|_| self.flow_monitor).map(of_run),
            link_logs: logs.collect(),
        };
        let observer = RunObserver::open(start.spec, wanted)?;
        let series = self.store.map(|store| store.series(start)).transpose()?;
        Ok(Box::new(RunOutputs { observer, series }))
    }
}

/// Those of one run.
struct RunOutputs {
    observer: RunObserver,
    series: Option<SeriesWriter>,
}

impl Recorder for RunOutputs {
    fn observer(&mut self) -> Option<Box<dyn Observer>> {
        self.observer.observer()
    }

    fn begin(&mut self, simulation: &Simulation) {
        self.observer.begin(simulation.workload());
    }

    fn sample(&mut self, simulation: &Simulation) -> Result<(), RunError> {
        match &mut self.series {
            Some(series) => Ok(series.sample(simulation)?),
            None => Ok(()),
        }
    }

    fn check(&mut self) -> Result<(), RunError> {
        self.observer.check()
    }

    fn finish(self: Box<Self>) -> Result<(), RunError> {
        self.observer.finish()?;
        match self.series {
            Some(series) => Ok(series.finish()?),
            None => Ok(()),
        }
    }
}
