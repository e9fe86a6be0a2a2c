//! From a run to the value of a measure.

use super::measure::{CHANNEL, Compare, Measure, Over, Since, Take};
use super::profile::rank_correlation;
use super::recording::{PortSample, Recording, Sample, growth};
use forebay_base::Time;
use forebay_run::{Capacity, FlowResult, InterfaceResult, RunResult};
use forebay_scenario::LinkNames;
use forebay_scenario::statistics::{jain, mean};
use forebay_scenario::trace_statistics::TraceStatistics;

/// Gains of the throughput meter in the authors' scripts: on its last value, and on the mean of the
/// last two samples.
const SMOOTHING: (f64, f64) = (0.4, 0.6);
/// In those scripts a receiver counts if its smoothed throughput is above this, in bits per second.
const ACTIVE_BPS: f64 = 100.0;

/// A run, for measures.
pub(super) struct Measured<'a> {
    /// By directed link.
    pub capacities: &'a [Capacity],
    pub result: &'a RunResult,
    pub recording: &'a Recording,
    pub names: &'a LinkNames,
}

impl Measured<'_> {
    /// The value of a measure that has been checked; None if there is none, because what it waits
    /// for did not happen, or because it is of two runs: then who has both gives it.
    pub fn value(&self, measure: &Measure) -> Option<f64> {
        match measure {
            Measure::Metric(_)
            | Measure::ClassMetric { .. }
            | Measure::ClassRatio { .. }
            | Measure::Utilisation { .. }
            | Measure::MeanUtilisation
            | Measure::UtilisationShare { .. }
            | Measure::DetouredShare
            | Measure::TraceUtilisation { .. }
            | Measure::Channel { .. }
            | Measure::Reference(_)
            | Measure::Drops(_)
            | Measure::FirstEntry { .. } => self.of_result(measure),
            Measure::FlowMetric { .. }
            | Measure::FlowShare { .. }
            | Measure::FlowSpread { .. }
            | Measure::ClassShare { .. }
            | Measure::ClassSums { .. }
            | Measure::SlowStartPeak { .. } => self.of_flows(measure),
            Measure::JainBins { .. } | Measure::ThroughputBins { .. } => self.of_bins(measure),
            Measure::LinkShare { .. }
            | Measure::QueueDelay { .. }
            | Measure::PhaseShare { .. }
            | Measure::ClassGoodput { .. }
            | Measure::ClassReaches { .. } => self.of_epochs(measure),
            Measure::Paired { .. } | Measure::Against { .. } => None,
            Measure::CompletedAt { flow } => self.completed_s(self.flow(*flow)),
            Measure::SentAll { flow, since } => self.sent_all_s(*flow, *since),
            Measure::PassedAll { port, flow } => {
                let bytes = self.flow(*flow).bytes?;
                let passed = |look| self.port(look, port).flows[index(*flow)].passed_bytes;
                let mut looks = self.recording.samples().iter();
                looks.find(|look| passed(look) >= bytes).map(|look| look.at_s)
            }
            Measure::CacheReaches { port, bytes } => {
                let mut looks = self.recording.samples().iter();
                looks.find(|look| self.port(look, port).cache_bytes >= *bytes).map(|look| look.at_s)
            }
            Measure::Cache { port, within_s, take } => {
                let looks = self.recording.within(*within_s).iter();
                let bytes = looks.map(|look| self.port(look, port).cache_bytes as f64);
                take.of(&bytes.collect::<Vec<_>>())
            }
            Measure::LinkRate { link, within_s } => {
                let link = self.link(link);
                let looks = self.recording.within(*within_s);
                growth(looks, |look| look.link_bytes[link]).map(|rate| rate * 8.0)
            }
            Measure::Goodput { flow, within_s } => {
                let looks = self.recording.within(*within_s);
                growth(looks, |look| look.received_bytes[index(*flow)]).map(|rate| rate * 8.0)
            }
            Measure::PortOutput { port, within_s, every_s, take } => {
                take.of(&self.outputs(port, *within_s, *every_s))
            }
            Measure::ShareSlopes { port, flows, within_s } => {
                self.share_slopes(port, flows, *within_s)
            }
            Measure::PassedRatio { port, flows, within_s } => {
                self.passed_ratio(port, flows, *within_s)
            }
            Measure::ProfileFollows { link, packets, over_s, within_s } => {
                self.profile_follows(self.link(link), *packets, *over_s, *within_s)
            }
            Measure::JainSampled { every_s, over, within_s } => {
                self.jain_sampled(*every_s, *over, within_s.unwrap_or([0.0, f64::INFINITY]))
            }
        }
    }

    /// Busy shares of both directions of all links between routers.
    fn utilisations(&self) -> Vec<f64> {
        self.result.metrics.utilisation.values().copied().collect()
    }

    /// What is in the result of the run.
    fn of_result(&self, measure: &Measure) -> Option<f64> {
        match measure {
            Measure::Metric(name) => number(self.result.metrics.numbers(), name),
            Measure::ClassMetric { class, metric } => {
                number(self.result.metrics.by_class.get(class)?.numbers(), metric)
            }
            Measure::ClassRatio { class, to, metric } => {
                let of = |class: &str| {
                    number(self.result.metrics.by_class.get(class)?.numbers(), metric)
                };
                Compare::Ratio.of(of(class)?, of(to)?)
            }
            Measure::Utilisation { link } => {
                self.result.metrics.utilisation.get(link.as_str()).copied()
            }
            Measure::MeanUtilisation => mean(&self.utilisations()),
            Measure::UtilisationShare { range: [low, high] } => {
                let within =
                    |share: &f64| (*low..*high).contains(share) || *high == 1.0 && *share >= 1.0;
                let all = self.utilisations();
                let inside = all.iter().filter(|share| within(share)).count();
                (!all.is_empty()).then(|| inside as f64 / all.len() as f64)
            }
            Measure::DetouredShare => {
                let sum = |of: fn(&InterfaceResult) -> u64| {
                    self.result.interfaces.iter().map(of).sum::<u64>() as f64
                };
                Compare::Ratio.of(sum(|i| i.detoured_bytes), sum(|i| i.offered_bytes))
            }
            Measure::TraceUtilisation { link } => {
                self.result.metrics.trace_utilisation.get(link.as_str()).copied()
            }
            Measure::Channel { link, statistic } => {
                let Capacity::Trace(trace, _) = &self.capacities[self.link(link)] else {
                    return None;
                };
                let (_, of) = CHANNEL.iter().find(|(name, _)| name == statistic)?;
                Some(of(&TraceStatistics::of(trace)))
            }
            Measure::Reference(name) => number(self.result.reference.numbers(), name),
            Measure::Drops(reason) => {
                let dropped = self.result.drops.get(reason.as_str());
                Some(dropped.copied().unwrap_or_default() as f64)
            }
            Measure::FirstEntry { port, state } => {
                let mut interfaces = self.result.interfaces.iter();
                let interface = interfaces.find(|interface| interface.port == *port)?;
                interface.first_entered_s.get(state.as_str()).copied()
            }
            _ => None,
        }
    }

    /// What is kept of single flows, and what classes have of it.
    fn of_flows(&self, measure: &Measure) -> Option<f64> {
        match measure {
            Measure::FlowMetric { flow, metric } => number(self.flow(*flow).numbers(), metric),
            Measure::FlowShare { flow } => {
                let all = self.result.per_flow.iter().filter_map(|flow| flow.goodput_bps);
                Some(self.flow(*flow).goodput_bps? / all.sum::<f64>())
            }
            Measure::FlowSpread { of, class } => {
                let flows = self.places(class.as_deref()).into_iter();
                let numbers = flows.map(|flow| self.result.per_flow[flow].numbers());
                let values: Vec<f64> = numbers.filter_map(|numbers| number(numbers, of)).collect();
                Take::Spread.of(&values)
            }
            Measure::SlowStartPeak { flow, segment_bytes } => {
                let bytes = self.recording.slow_start_bytes(index(*flow))?;
                Some(bytes as f64 / f64::from(*segment_bytes))
            }
            Measure::ClassShare { class } => {
                let goodput = |class: Option<&str>| {
                    let flows = self.places(class).into_iter();
                    let rates = flows.filter_map(|flow| self.result.per_flow[flow].goodput_bps);
                    mean(&rates.collect::<Vec<f64>>())
                };
                Compare::Ratio.of(goodput(Some(class))?, goodput(None)?)
            }
            Measure::ClassSums { class, of, by, to } => {
                let sum = |class: &str, name: &str| {
                    let flows = self.places(Some(class)).into_iter();
                    let numbers = flows.map(|flow| self.result.per_flow[flow].numbers());
                    numbers.filter_map(|numbers| number(numbers, name)).sum::<f64>()
                };
                let ratio = |class: &str| Compare::Ratio.of(sum(class, of), sum(class, by));
                match to {
                    None => ratio(class),
                    Some(to) => Compare::Ratio.of(ratio(class)?, ratio(to)?),
                }
            }
            _ => None,
        }
    }

    /// What flows had in bins.
    fn of_bins(&self, measure: &Measure) -> Option<f64> {
        let bins = |every_s: f64, within_s: Option<[f64; 2]>| {
            self.recording.bins(every_s, within_s.unwrap_or([0.0, f64::INFINITY]))
        };
        match measure {
            Measure::JainBins { every_s, within_s, class } => {
                bins(*every_s, *within_s).jain(&self.places(class.as_deref()))
            }
            Measure::ThroughputBins { flow, class, every_s, within_s, take } => {
                let flows = match flow {
                    Some(flow) => vec![index(*flow)],
                    None => self.places(class.as_deref()),
                };
                take.of(&bins(*every_s, *within_s).throughputs(&flows))
            }
            _ => None,
        }
    }

    /// The places of the flows of a class; of all flows without one.
    fn places(&self, class: Option<&str>) -> Vec<usize> {
        let flows = self.result.per_flow.iter().enumerate();
        let mine = |flow: &FlowResult| class.is_none_or(|class| flow.class == class);
        flows.filter(|(_, flow)| mine(flow)).map(|(place, _)| place).collect()
    }

    /// What classes and links had in stretches of time.
    fn of_epochs(&self, measure: &Measure) -> Option<f64> {
        match measure {
            Measure::LinkShare { link, epochs_s } => {
                let link = self.link(link);
                let shares = epochs_s.iter().map(|&epoch_s| self.link_share(link, epoch_s));
                mean(&shares.collect::<Option<Vec<f64>>>()?)
            }
            Measure::QueueDelay { link, epochs_s, take } => {
                let link = self.link(link);
                let looks = epochs_s.iter().flat_map(|&epoch_s| self.recording.within(epoch_s));
                take.of(&looks.map(|look| look.queue_s[link]).collect::<Vec<_>>())
            }
            Measure::PhaseShare { class, phase, take } => {
                take.of(&self.recording.phase_shares(class, phase))
            }
            Measure::ClassGoodput { class, epochs_s } => {
                let (class, flows) = self.recording.class(class);
                let all = self.over_epochs(epochs_s, |look| look.class_bytes[class])?;
                (flows > 0).then(|| all / flows as f64)
            }
            Measure::ClassReaches { class, bps, over_s, after_s } => {
                let times =
                    after_s.iter().map(|&from_s| self.reaches(class, *bps, *over_s, from_s));
                times.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
            }
            _ => None,
        }
    }

    fn flow(&self, number: u32) -> &FlowResult {
        &self.result.per_flow[index(number)]
    }
    /// What a directed link took between the first and the last look of a stretch, by what it could
    /// carry then.
    fn link_share(&self, link: usize, within_s: [f64; 2]) -> Option<f64> {
        let looks = self.recording.within(within_s);
        let (first, last) = (looks.first()?, looks.last()?);
        let could = self.capacities[link].bytes(time_of(first), time_of(last));
        let took = (last.link_bytes[link] - first.link_bytes[link]) as f64;
        (could > 0.0).then(|| took / could)
    }
    fn link(&self, name: &str) -> usize {
        self.names.iter().position(|link| link == name).expect("the link was checked")
    }
    fn port<'a>(&self, look: &'a Sample, port: &str) -> &'a PortSample {
        &look.ports[self.recording.place_of(self.link(port))]
    }

    /// The mean over the epochs of how fast a count of bytes grew, in bits per second.
    fn over_epochs(&self, epochs_s: &[[f64; 2]], bytes: impl Fn(&Sample) -> u64) -> Option<f64> {
        let rate = |&epoch_s: &[f64; 2]| growth(self.recording.within(epoch_s), &bytes);
        let rates = epochs_s.iter().map(rate).collect::<Option<Vec<f64>>>()?;
        mean(&rates).map(|bytes_per_s| bytes_per_s * 8.0)
    }

    /// How long after `from_s` the flows of a class first got `bps` each in the `over_s` before.
    fn reaches(&self, class: &str, bps: f64, over_s: f64, from_s: f64) -> Option<f64> {
        let (class, flows) = self.recording.class(class);
        let bytes = bps / 8.0 * over_s * flows as f64;
        let looks = self.recording.within([from_s, f64::INFINITY]);
        let mut before = looks.iter();
        let mut oldest = before.next()?;
        for look in looks {
            while look.at_s - oldest.at_s > over_s + 1e-7 {
                oldest = before.next()?;
            }
            let grown = look.class_bytes[class] - oldest.class_bytes[class];
            if look.at_s - oldest.at_s >= over_s - 1e-7 && grown as f64 >= bytes {
                return Some(look.at_s - from_s);
            }
        }
        None
    }

    /// When a flow completed: to the look before which its last byte was in order.
    fn completed_s(&self, flow: &FlowResult) -> Option<f64> {
        let bytes = flow.bytes?;
        let mut looks = self.recording.samples().iter();
        looks.find(|look| look.received_bytes[index(flow.id)] >= bytes).map(|look| look.at_s)
    }

    fn sent_all_s(&self, number: u32, since: Since) -> Option<f64> {
        let flow = self.flow(number);
        let bytes = flow.bytes?;
        let mut looks = self.recording.samples().iter();
        let at_s = looks.find(|look| look.sent_bytes[index(number)] >= bytes)?.at_s;
        Some(match since {
            Since::Zero => at_s,
            Since::Established => at_s - self.recording.established_s(index(number))?,
        })
    }

    /// The output of an interface in each whole window of `every_s`, in bits per second.
    fn outputs(&self, port: &str, [from_s, until_s]: [f64; 2], every_s: f64) -> Vec<f64> {
        let windows = ((until_s - from_s) / every_s + 1e-9).floor() as u32;
        let rate = |window: u32| {
            let start_s = from_s + f64::from(window) * every_s;
            let looks = self.recording.within([start_s, start_s + every_s]);
            growth(looks, |look| self.port(look, port).sent_bytes).map(|rate| rate * 8.0)
        };
        (0..windows).filter_map(rate).collect()
    }

    /// Rank correlation, over the fits of a stretch, of what the link could carry in the `over_s`
    /// before a fit and the delay that the profile has after it under that window.
    fn profile_follows(
        &self,
        link: usize,
        packets: f64,
        over_s: f64,
        within_s: [f64; 2],
    ) -> Option<f64> {
        let window = self.recording.place_of_window(packets);
        let pair = |looks: &[Sample]| {
            let [before, after] = [&looks[0], &looks[1]];
            let delay_s = after.profile_s[window]?;
            let fitted = before.profile_s[window] != Some(delay_s);
            let looks = self.recording.within([after.at_s - over_s, after.at_s]);
            let could = self.capacities[link].bytes(time_of(looks.first()?), time_of(after));
            fitted.then_some((could, delay_s))
        };
        let looks = self.recording.within(within_s);
        rank_correlation(&looks.windows(2).filter_map(pair).collect::<Vec<_>>())
    }

    fn passed_ratio(&self, port: &str, flows: &[u32], within_s: [f64; 2]) -> Option<f64> {
        let looks = self.recording.within(within_s);
        let sum = |of: &dyn Fn(usize) -> u64| flows.iter().map(|&flow| of(index(flow))).sum();
        let passed = growth(looks, |look| {
            let shares = &self.port(look, port).flows;
            sum(&|flow| shares[flow].passed_bytes)
        })?;
        let received = growth(looks, |look| sum(&|flow| look.received_bytes[flow]))?;
        (received > 0.0).then(|| passed / received)
    }

    fn share_slopes(&self, port: &str, flows: &[u32], within_s: [f64; 2]) -> Option<f64> {
        let looks = self.recording.within(within_s);
        let slope = |&flow: &u32| {
            growth(looks, |look| self.port(look, port).flows[index(flow)].cached_bytes)
        };
        let slopes: Vec<f64> = flows.iter().map(slope).collect::<Option<_>>()?;
        let least = slopes.iter().copied().reduce(f64::min)?;
        let most = slopes.iter().copied().reduce(f64::max)?;
        Some(match (least, most) {
            (least, most) if least > 0.0 => least / most,
            (least, most) if most < 0.0 => most / least,
            _ => 0.0,
        })
    }

    /// As the authors' scripts: every `every_s` the index over the receivers that are active, with
    /// their throughput smoothed; then the mean over the samples with one or more.
    fn jain_sampled(&self, every_s: f64, over: Over, [from_s, until_s]: [f64; 2]) -> Option<f64> {
        let last_s = self.recording.samples().last()?.at_s;
        let flows = self.result.per_flow.len();
        let mut meters = vec![Meter::default(); flows];
        let mut before = vec![0; flows];
        let mut indices = Vec::new();
        for sample in 1..=(last_s / every_s) as u32 {
            let at_s = f64::from(sample) * every_s;
            let looks = self.recording.within([at_s - every_s, at_s]);
            let Some(look) = looks.last() else { continue };
            for (flow, meter) in meters.iter_mut().enumerate() {
                let received = look.received_bytes[flow];
                meter.take((received - before[flow]) as f64 * 8.0 / every_s);
                before[flow] = received;
            }
            let counts = |flow: usize| match over {
                Over::Metered => true,
                Over::Unfinished => {
                    let bytes = self.result.per_flow[flow].bytes;
                    bytes.is_none_or(|bytes| before[flow] < bytes)
                }
            };
            let active = meters.iter().enumerate().filter(|(flow, _)| counts(*flow));
            let active = active.map(|(_, meter)| meter.smooth_bps);
            let active: Vec<f64> = active.filter(|&bps| bps > ACTIVE_BPS).collect();
            let within = from_s <= at_s && at_s <= until_s;
            indices.extend(jain(&active).filter(|_| within));
        }
        mean(&indices)
    }
}

/// The throughput meter of the authors' scripts.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    smooth_bps: f64,
    last_bps: f64,
}

impl Meter {
    fn take(&mut self, bps: f64) {
        let (old, new) = SMOOTHING;
        self.smooth_bps = old * self.smooth_bps + new * (bps + self.last_bps) / 2.0;
        self.last_bps = bps;
    }
}

/// When a look was.
fn time_of(look: &Sample) -> Time {
    Time::from_nanos((look.at_s * 1e9).round() as u64)
}

fn index(flow: u32) -> usize {
    flow as usize - 1
}

type Number = (&'static str, Option<f64>);

fn number(numbers: impl IntoIterator<Item = Number>, name: &str) -> Option<f64> {
    numbers.into_iter().find(|(known, _)| *known == name)?.1
}
