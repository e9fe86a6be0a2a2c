//! One run over wires: its threads, its record, and how it went.

use super::kernel;
use crate::args::{LiveRun, RunArgs};
use crate::failure::Failure;
use crate::run::{Job, Recorded, Watched};
use crate::terminal::Progress;
use forebay_base::{Histogram, LinkId, NodeId, Span, Time};
use forebay_lab::record::{Ending, Record, RecordFolder, SiteRecorder, verify};
use forebay_lab::scenario::{LinkNames, Scenario};
use forebay_lab::{Batch, Store, WireReport};
use forebay_live::wire::Count;
use forebay_live::{
    Clock, KernelError, LiveError, LivePlan, LiveReport, NodeReport, Priority, os_secret, place_of,
    run_live,
};
use forebay_net::{AnswerCounts, NetSpec};
use forebay_sim::{RealWires, SiteOptions};
use std::collections::BTreeMap;
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
    /// What was answered to strangers, in words, if anything was.
    answered: Option<String>,
}

impl Lived {
    /// All of its results: it is done again from its record, with everything that looks on.
    pub fn results(&self, args: &RunArgs, watched: &Watched, store: Option<&Store>) -> Batch {
        let Lived { record, report, answered } = self;
        let (protocol, seed, inputs) = (&record.protocol, record.seed, &|| record.recording());
        let recorded = Some(Recorded { protocol, seed, inputs });
        let job = Job { args, scenario: &record.scenario, watched, recorded };
        // What was done until an interrupt is shown as well.
        let mut again = job.simulate(1, store, &AtomicBool::new(false));
        for run in &mut again.runs {
            run.notes.extend(report.unfit.iter().map(|reason| format!("unfit: {reason}")));
            run.notes.extend(answered.clone());
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
        });
        let reports = reports.map_err(|error| match error {
            LiveError::Spec(error) => Failure::run(format!("{error:?}")),
            LiveError::Kernel(error @ KernelError::Flow { .. }) => {
                Failure::input(format!("--kernel: {error}"))
            }
            error => Failure::Impossible(error.to_string()),
        })?;
        self.conclude(&spec, &folder, reports)
    }

    /// Finish the record, and do everything again.
    fn conclude(
        &self,
        spec: &NetSpec,
        folder: &RecordFolder,
        done: LiveReport<Keeper>,
    ) -> Result<Lived, Failure> {
        let LiveReport { nodes: reports, kernel_ends } = done;
        let mut report = report_of(spec, &reports);
        report.unfit.extend(lost_carriers(self.scenario, &reports));
        let answered = answers_of(&reports);
        let mut files = Vec::new();
        for node in reports {
            let until = node.ended_at.as_nanos();
            let ending = Ending::new(until, node.site.hash(), &node.site.conservation());
            match node.record.0.finish(&ending) {
                Ok(file) => files.push(file),
                Err(error) => report.unfit.push(error.to_string()),
            }
        }
        if let Err(error) = folder.kernel_ends(&kernel_ends) {
            report.unfit.push(error.to_string());
        }
        let record = Record::of_files(self.scenario.clone(), files, kernel_ends);
        let record = record.map_err(Failure::run)?;
        let verdicts = verify(&record, spec);
        let verdicts = verdicts.map_err(|error| Failure::run(format!("{error:?}")))?;
        report.replayed = verdicts.iter().all(|verdict| verdict.same == Some(true));
        if !report.replayed {
            report.unfit.push("its replay is not the same".to_string());
        }
        Ok(Lived { record, report, answered })
    }
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
) -> T {
    let (started, begun) = mpsc::channel::<Clock>();
    let (over, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
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
        });
        let done = work(started);
        drop(over);
        done
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
