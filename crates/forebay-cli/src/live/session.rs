//! One run over wires: its threads, its record, and how it went.

use super::kernel;
use crate::args::{LiveRun, RunArgs};
use crate::failure::Failure;
use crate::run::{Job, Recorded, Watched};
use crate::terminal::Progress;
use forebay_base::{Histogram, LinkId, NodeId, Span, Time};
use forebay_lab::record::{
    Ending, Record, RecordError, RecordFolder, SiteFile, SiteRecorder, verify_until,
};
use forebay_lab::scenario::{LinkNames, Scenario};
use forebay_lab::{Batch, Store, WireReport};
use forebay_live::wire::Count;
use forebay_live::{
    BEHIND, Clock, KernelError, LiveError, LivePlan, LiveReport, NodeReport, PortReport, Priority,
    os_secret, place_of, run_live,
};
use forebay_net::{AnswerCounts, NetSpec};
use forebay_sim::{ForeignEnd, RealWires, SiteOptions};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Packets that a receive ring holds.
const RING_FRAMES: usize = 4096;
/// Later packets make a run unfit: 99th percentile.
const LATE_BOUND: Span = Span::from_millis(5);
/// More arrivals held back over 1 ms make it unfit.
const HELD_BACK_BOUND: f64 = 0.01;
/// A larger share of the time in which a node is behind makes it unfit: by about that share is a
/// flow slower that waits for it. Of runs of 2 s on two cores with ten threads that compiled
/// beside them some had 1.4 %, from one wait of 28 ms.
const BEHIND_BOUND: f64 = 0.02;
/// Time between two looks at the clock, for the progress.
const LOOK: Duration = Duration::from_millis(200);

/// What is to be run.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    pub args: &'a LiveRun,
    pub scenario: &'a Scenario,
    pub protocol: &'a str,
    pub seed: u64,
    /// No run follows: the main thread needs no rights any more.
    pub last: bool,
}

/// What a run over wires left.
pub struct Lived {
    pub record: Record,
    pub report: WireReport,
    /// What strangers sent and were answered, in words.
    strangers: Vec<String>,
    /// It was interrupted before its end.
    pub stopped: bool,
}

impl Lived {
    /// All of its results: it is done again from its record, with everything that looks on. What
    /// was done until an interrupt is shown as well; one that comes now ends this.
    pub fn results(
        &self,
        args: &RunArgs,
        watched: &Watched,
        store: Option<&Store>,
        cancel: &AtomicBool,
    ) -> Batch {
        let Lived { record, report, strangers, .. } = self;
        let (protocol, seed, inputs) = (&record.protocol, record.seed, &|| record.recording());
        let recorded = Some(Recorded { protocol, seed, inputs });
        let job = Job { args, scenario: &record.scenario, watched, recorded };
        let never = AtomicBool::new(false);
        let cancel = if self.stopped { &never } else { cancel };
        let mut again = job.simulate(1, store, cancel);
        for run in &mut again.runs {
            run.notes.extend(report.unfit.iter().map(|reason| format!("unfit: {reason}")));
            run.notes.extend(strangers.iter().cloned());
            run.wire = Some(report.clone());
        }
        again
    }
}

/// A node's record.
struct Keeper(SiteRecorder);

impl forebay_live::Record for Keeper {
    fn input(&mut self, at: Time, link: LinkId, packet: &[u8]) {
        self.0.input(at, link, packet);
    }
    fn carrier(&mut self, at: Time, link: LinkId, up: bool) {
        self.0.carrier(at, link, up);
    }
    fn reached(&mut self, at: Time) {
        self.0.reached(at);
    }
}

impl Session<'_> {
    /// Run it over wires, and replay every place.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Lived, Failure> {
        let Session { args, scenario, protocol, seed, last } = *self;
        let spec = scenario.build(protocol, seed).map_err(Failure::input)?;
        let kernel_hosts = kernel::hosts(&args.kernel, scenario, &spec)?;
        let plan = LivePlan {
            spec: &spec,
            seed,
            end: scenario.until.unwrap_or(Time::MAX),
            ends_with_flows: !spec.flows.is_empty(),
            kernel_hosts,
            ring_frames: RING_FRAMES,
            seals: last,
        };
        let real = Some(RealWires { secret: os_secret().map_err(no_secret)? });
        let folder = match &args.record {
            Some(folder) => RecordFolder::create(folder, scenario, protocol, seed)
                .map_err(|error| Failure::input(format!("--record: {error}")))?,
            None => RecordFolder::unnamed(scenario, protocol, seed),
        };
        let folder = folder.with_real(real);
        let mut keepers = keepers(&plan, &folder)?;
        let equip = |node, _: &_| {
            let keeper = keepers.remove(&node).expect("there is one for each node");
            (SiteOptions { real, ..SiteOptions::default() }, keeper)
        };
        let reports = watched(self, &plan, cancel, |started| {
            run_live(&plan, cancel, equip, |_, clock| {
                // Nobody may listen any more.
                let _ = started.send(clock);
            })
        })?;
        let reports = reports.map_err(|error| match error {
            LiveError::Spec(error) => Failure::run(format!("{error:?}")),
            LiveError::Kernel(error @ KernelError::Flow { .. }) => {
                Failure::input(format!("--kernel: {error}"))
            }
            error => Failure::Impossible(error.to_string()),
        })?;
        self.conclude(&spec, &folder, reports, cancel)
    }

    /// Finish the record, and do everything again.
    fn conclude(
        &self,
        spec: &NetSpec,
        folder: &RecordFolder,
        done: LiveReport<Keeper>,
        cancel: &AtomicBool,
    ) -> Result<Lived, Failure> {
        let stopped = cancel.load(Ordering::Relaxed);
        let LiveReport { nodes: reports, kernel_ends } = done;
        let mut report = report_of(spec, &reports);
        report.unfit.extend(behind(self.scenario, &reports, &mut report.behind_share));
        report.unfit.extend(lost_carriers(self.scenario, &reports));
        let strangers = [foreign(report.foreign_packets), answers_of(&reports)];
        let strangers = strangers.into_iter().flatten().collect();
        // All figures come from the replay: without a whole record there are none.
        let files =
            ended(reports, folder, &kernel_ends).map_err(|error| self.unrecorded(&error))?;
        let record = Record::of_files(self.scenario.clone(), files, kernel_ends);
        let record = record.map_err(|error| self.unrecorded(&error))?;
        let never = AtomicBool::new(false);
        let verdicts = verify_until(&record, spec, if stopped { &never } else { cancel });
        let Some(verdicts) = verdicts.map_err(|error| Failure::run(format!("{error:?}")))? else {
            let protocol = self.protocol;
            let what = format!("{protocol}: while what was recorded was done again");
            return Err(Failure::Interrupted(what));
        };
        report.replayed = verdicts.iter().all(|verdict| verdict.same == Some(true));
        if !report.replayed {
            report.unfit.push("its replay is not the same".to_string());
        }
        Ok(Lived { record, report, strangers, stopped })
    }
}

impl Session<'_> {
    /// A run of which not everything could be recorded.
    fn unrecorded(&self, error: &RecordError) -> Failure {
        let (protocol, mut text) = (self.protocol, error.to_string());
        if let Some(folder) = &self.args.record {
            let folder = folder.display();
            let _ = write!(text, "\nhint: `forebay replay {folder}` shows what was recorded");
        }
        Failure::Unfit(format!("{protocol}: not all of the run is recorded: {text}"))
    }
}

/// The captures of all nodes, with their ends. No file gets one before everything else is written:
/// where the disk is full, all can still be replayed as far as they go.
fn ended(
    mut reports: Vec<NodeReport<Keeper>>,
    folder: &RecordFolder,
    kernel_ends: &[ForeignEnd],
) -> Result<Vec<SiteFile>, RecordError> {
    reports.iter_mut().try_for_each(|node| node.record.0.flush())?;
    let kernel = folder.kernel_ends(kernel_ends)?;
    let end = |node: NodeReport<Keeper>| {
        let until_ns = node.ended_at.as_nanos();
        let ending = Ending::new(until_ns, node.site.hash(), &node.site.conservation());
        node.record.0.finish(&Ending { kernel: kernel.clone(), ..ending })
    };
    reports.into_iter().map(end).collect()
}

fn no_secret(error: io::Error) -> Failure {
    Failure::Impossible(format!("/dev/urandom gives no random numbers: {error}"))
}

/// A record for each node.
fn keepers(
    plan: &LivePlan<'_>,
    folder: &RecordFolder,
) -> Result<BTreeMap<NodeId, Keeper>, Failure> {
    #[expect(clippy::disallowed_methods, reason = "a record says when it was begun")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let nodes = (0..plan.spec.nodes.len() as u32).map(NodeId);
    let forebays = nodes.filter(|node| !plan.kernel_hosts.contains_key(node));
    let keeper = |node| {
        let site = folder.site(&place_of(plan, node), since.as_nanos() as u64);
        Ok((node, Keeper(site.map_err(Failure::run)?)))
    };
    forebays.map(keeper).collect()
}

/// Show progress while `work` runs. It sends the clock once the run has started.
fn watched<T: Send>(
    session: &Session<'_>,
    plan: &LivePlan<'_>,
    cancel: &AtomicBool,
    work: impl FnOnce(mpsc::Sender<Clock>) -> T,
) -> Result<T, Failure> {
    let (started, begun) = mpsc::channel::<Clock>();
    let (over, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let show = move || {
            let bar = Progress::start().lines(!session.args.run.results.json);
            let Ok(clock) = begun.recv() else { return };
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let (now, end) = (clock.now().as_secs_f64(), plan.end);
                let share = if end < Time::MAX { now / end.as_secs_f64() } else { 0.0 };
                let protocol = session.protocol;
                let stopping = cancel.load(Ordering::Relaxed);
                let word = if stopping { ", stopping" } else { "" };
                bar.set(share, || format!("{protocol}: {now:.0} s of real time{word}"));
            }
            bar.finish();
        };
        let thread = std::thread::Builder::new().spawn_scoped(scope, show);
        thread.map_err(|error| {
            Failure::Impossible(format!("a thread for the progress: {error}: see `ulimit -u`"))
        })?;
        let done = work(started);
        drop(over);
        Ok(done)
    })
}

/// What nodes answered to packets that they could not pass on or take; None if nothing.
fn answers_of<R>(reports: &[NodeReport<R>]) -> Option<String> {
    let sum = |of: fn(&AnswerCounts) -> u64| -> u64 {
        reports.iter().map(|report| of(&report.site.answers())).sum()
    };
    let [errors, echoes] = [sum(|of| of.errors), sum(|of| of.echoes)];
    let [resets, withheld] = [sum(|of| of.resets), sum(|of| of.withheld)];
    (errors + echoes + resets + withheld > 0).then(|| {
        format!(
            "packets that no node could pass on or take were answered: {errors} ICMP errors, \
             {echoes} echo replies, {resets} resets; {withheld} more were not, for there were too \
             many"
        )
    })
}

/// Packets of strangers that links carried, in words; None if there were none.
fn foreign(packets: u64) -> Option<String> {
    (packets > 0).then(|| {
        format!(
            "{packets} packets came over links of the scenario that no node had sent: they took \
             room of its packets"
        )
    })
}

/// Packets that came over links and that the nodes of Forebay's where these begin had not sent.
fn foreign_packets<R>(reports: &[NodeReport<R>]) -> u64 {
    let ports = || reports.iter().flat_map(|report| &report.ports);
    let sent = ports().map(|port| (port.outgoing.0, port.counters[Count::Sent]));
    let sent: BTreeMap<u32, u64> = sent.collect();
    let foreign = |port: &PortReport| {
        let sent = sent.get(&port.incoming.0)?;
        Some(port.counters[Count::Received].saturating_sub(*sent))
    };
    ports().filter_map(foreign).sum()
}

/// The node that was late for most of the time, in words; None if no node was for long. `share` is
/// what of the time that was.
fn behind<R>(scenario: &Scenario, reports: &[NodeReport<R>], share: &mut f64) -> Option<String> {
    let of = |node: &NodeReport<R>| {
        let whole_s = node.ended_at.as_secs_f64();
        (node.behind.as_secs_f64() / whole_s.max(1e-9), node.id)
    };
    let (most, node) = reports.iter().map(of).max_by(|a, b| a.0.total_cmp(&b.0))?;
    *share = most;
    (most > BEHIND_BOUND).then(|| {
        let name = &scenario.nodes[node.index()].name;
        let [late_ms, bound] = [BEHIND.as_nanos() as f64 * 1e-6, BEHIND_BOUND * 100.0];
        format!(
            "for {:.1} % of the time `{name}` was over {late_ms} ms late, and {bound} % is the \
             bound",
            most * 100.0
        )
    })
}

/// Links whose wires lost their carrier, in words; None if none has.
fn lost_carriers<R>(scenario: &Scenario, reports: &[NodeReport<R>]) -> Option<String> {
    let ports = reports.iter().flat_map(|report| &report.ports);
    let lost = ports.filter(|port| port.counters[Count::CarrierLost] > 0);
    let names = LinkNames::new(scenario);
    let links: Vec<&str> = lost.map(|port| names.of(port.outgoing.index())).collect();
    (!links.is_empty()).then(|| format!("the carrier was lost at {}", links.join(", ")))
}

/// How a run went, but for its replay.
fn report_of<R>(spec: &NetSpec, reports: &[NodeReport<R>]) -> WireReport {
    let ports = || reports.iter().flat_map(|report| &report.ports);
    let sum = |count: Count| ports().map(|port| port.counters[count]).sum::<u64>();
    // A kernel says nothing of single packets.
    let is_ours = |node: NodeId| reports.iter().any(|report| report.id == node);
    let between = |count: Count| {
        let ours = ports().filter(|port| is_ours(spec.links[port.outgoing.index()].to));
        ours.map(|port| port.counters[count]).sum::<u64>()
    };
    let mut late = Histogram::default();
    ports().for_each(|port| late.add(&port.late));
    let quantile = |q| late.quantile(q).unwrap_or_default();
    let (inputs, held_back) =
        ports().fold((0, 0), |(all, held), port| (all + port.inputs, held + port.held_back));
    let refused = Count::ALL.iter().filter(|&&count| count >= Count::ChecksumCompleted);
    let refused = refused.map(|&count| (count.name(), sum(count)));
    let fifo = reports.iter().all(|report| report.priority == Priority::Fifo);
    let us = |span: Span| span.as_nanos() as f64 * 1e-3;
    let mut report = WireReport {
        priority: if fifo { "fifo" } else { "ordinary" },
        late_p50_us: us(quantile(0.5)),
        late_p99_us: us(quantile(0.99)),
        late_max_us: us(quantile(1.0)),
        late_us: late.buckets().map(|(from, to, packets)| (us(from), us(to), packets)).collect(),
        sent_packets: sum(Count::Sent),
        missing_packets: between(Count::Sent).saturating_sub(between(Count::Received)),
        refused: refused.filter(|(_, number)| *number > 0).collect(),
        held_back_share: held_back as f64 / (inputs as f64).max(1.0),
        behind_share: 0.0,
        foreign_packets: foreign_packets(reports),
        replayed: false,
        unfit: Vec::new(),
    };
    let dropped: u64 = ports().map(|port| port.counters.dropped()).sum();
    let unfit = &mut report.unfit;
    unfit.extend(reports.iter().filter_map(|node| node.failed).map(|slow| slow.to_string()));
    unfit.dedup();
    if quantile(0.99) > LATE_BOUND {
        let (late, bound) = (us(quantile(0.99)) * 1e-3, LATE_BOUND.as_nanos() / 1_000_000);
        unfit.push(format!("packets left {late:.1} ms late (p99), and {bound} ms is the bound"));
    }
    if dropped > 0 {
        unfit.push(format!("interfaces dropped {dropped} packets"));
    }
    if report.held_back_share > HELD_BACK_BOUND {
        let share = report.held_back_share * 100.0;
        unfit.push(format!("{share:.1} % of arrivals were executed over 1 ms late"));
    }
    report
}
