//! What a row of an experiment is measured by: a closed set of kinds, each one line of a file.

use forebay_base::DropReason;
use forebay_reference::Reference;
use forebay_report::{ClassMetrics, Metrics};
use forebay_router::inrpp::State;
use forebay_run::FlowResult;
use forebay_scenario::LinkNames;
use forebay_scenario::Scenario;
use forebay_scenario::statistics::{mean, quantile};
use forebay_scenario::trace_statistics::TraceStatistics;
use serde::Deserialize;

/// How a quantity is measured. Times are in seconds of simulated time; flows count from 1; ports
/// and links are named after their ends: "0-2" is what feeds the link from 0 to 2.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Measure {
    /// A metric of the run that is one number.
    Metric(String),
    /// A metric of the flows of a class.
    ClassMetric { class: String, metric: String },
    /// A metric of the flows of a class by that of those of another, in the same run.
    ClassRatio { class: String, to: String, metric: String },
    /// What is one number of a flow, added up over the flows of a class, by such a sum of another
    /// number; with `to`, by the same of that class.
    ClassSums { class: String, of: String, by: String, to: Option<String> },
    /// Mean goodput of the flows of a class by that of all flows: 1 is an even share.
    ClassShare { class: String },
    /// Over the flows of a class, the share of the looks at which the controller of its sender is
    /// in a phase, of those with a connection.
    PhaseShare { class: String, phase: String, take: Take },
    /// Busy share of a directed link between routers, in the window of the run.
    Utilisation { link: String },
    /// Mean busy share over both directions of all links between routers, in the window of the run.
    MeanUtilisation,
    /// The share of these directions whose busy share is in a range, its upper end included only
    /// if it is 1.
    UtilisationShare { range: [f64; 2] },
    /// Of the bytes that were to leave through INRPP ports that did not stay in the state P, the
    /// share that left on a detour.
    DetouredShare,
    /// What the same flows have under two protocols of the set-up with the same seed. Of the flows
    /// that completed in both, of this class or of one that begins with its name and a hyphen, of
    /// more than one number of bytes and at most another: the mean of the differences of their
    /// completion times, or the ratio of the means; or the same of their throughputs.
    Paired {
        with: String,
        class: Option<String>,
        #[serde(default)]
        of: PairedOf,
        #[serde(default)]
        over_bytes: u64,
        up_to_bytes: Option<u64>,
        take: Compare,
    },
    /// What is one number of a flow: a key of `per_flow` in results.
    FlowMetric { flow: u32, metric: String },
    /// Goodput of a flow by that of all flows.
    FlowShare { flow: u32 },
    /// Standard deviation by mean of such a number over the flows of a class, over all without one;
    /// of flows that have it.
    FlowSpread { of: String, class: Option<String> },
    /// A metric of the run, or of the flows of a class, under this protocol compared with that
    /// under another of the set-up with the same seed.
    Against { with: String, metric: String, class: Option<String>, take: Compare },
    /// What a directed link with a trace took by what its opportunities carried, in the window of
    /// the run.
    TraceUtilisation { link: String },
    /// A statistic of the trace that a directed link follows in the run: a key of `forebay channel
    /// show --json`, of those with three values followed by `_mean`, `_p5`, `_p50` or `_p95`.
    Channel { link: String, statistic: String },
    /// The same of the fluid reference, or its ratio `afct_ratio`.
    Reference(String),
    /// Packets dropped for that reason.
    Drops(String),
    /// When the last byte of a flow was in order at its receiver.
    CompletedAt { flow: u32 },
    /// When a sender had sent every byte once, to within a look.
    SentAll { flow: u32, since: Since },
    /// When an interface had let all of a flow pass, to within a look.
    PassedAll { port: String, flow: u32 },
    /// When an interface first came into a state: "P", "S&D", "B" or "DB".
    FirstEntry { port: String, state: String },
    /// When a cache first held this many bytes, to within a look.
    CacheReaches { port: String, bytes: u64 },
    /// Bytes in a cache.
    Cache { port: String, within_s: [f64; 2], take: Take },
    /// Bits per second that a directed link took, headers and framing included.
    LinkRate { link: String, within_s: [f64; 2] },
    /// Bits per second that a receiver got in order.
    Goodput { flow: u32, within_s: [f64; 2] },
    /// Bits per second that the receivers of a class got in order, per flow; the mean over the
    /// epochs.
    ClassGoodput { class: String, epochs_s: Vec<[f64; 2]> },
    /// Share of what a directed link could carry that it took, headers and framing included; the
    /// mean over the epochs. A link with a trace can carry what its opportunities do, another one
    /// its rate, as events and schedules change it.
    LinkShare { link: String, epochs_s: Vec<[f64; 2]> },
    /// Seconds that a directed link takes, at its rate, for what waits for it, at the looks of all
    /// epochs together.
    QueueDelay { link: String, epochs_s: Vec<[f64; 2]>, take: Take },
    /// The longest that the receivers of a class took, from one of these times on, to get `bps` per
    /// flow in the `over_s` before.
    ClassReaches { class: String, bps: f64, over_s: f64, after_s: Vec<f64> },
    /// Bits per second of IP packets that left an interface, detours included; in windows of
    /// `every_s`.
    PortOutput { port: String, within_s: [f64; 2], every_s: f64, take: Take },
    /// The smallest by the largest slope of the cached bytes of flows: 1 if all grow, or shrink,
    /// alike; 0 if one grows while another shrinks.
    ShareSlopes { port: String, flows: Vec<u32>, within_s: [f64; 2] },
    /// Payload of flows that left an interface by payload that their receivers got.
    PassedRatio { port: String, flows: Vec<u32>, within_s: [f64; 2] },
    /// Mean over bins of `every_s` of Jain's index over the throughputs of the flows, or of those
    /// of a class, that are alive in the whole bin (Zaki et al. 2015, eq. 7). The bins begin with
    /// the stretch, else at time 0; those with less than two such flows do not count, nor those in
    /// which none got anything. Throughput is payload that arrived for the first time.
    JainBins { every_s: f64, within_s: Option<[f64; 2]>, class: Option<String> },
    /// Bits per second in such bins of a flow, of those of a class together, or of all together.
    ThroughputBins {
        flow: Option<u32>,
        class: Option<String>,
        every_s: f64,
        within_s: Option<[f64; 2]>,
        take: Take,
    },
    /// The largest window of a sender, in segments of this many bytes, up to the look at which it
    /// first has a slow start threshold: its first slow start is over.
    SlowStartPeak { flow: u32, segment_bytes: u32 },
    /// Spearman's rank correlation, over the fits of flow 1's profile in a stretch, of what a
    /// directed link could carry in the `over_s` before a fit and the delay after it under a window
    /// of `packets`.
    ProfileFollows { link: String, packets: f64, over_s: f64, within_s: [f64; 2] },
    /// Mean over time (all of it if no stretch is given) of Jain's index over smoothed goodputs,
    /// sampled at this interval.
    JainSampled { every_s: f64, over: Over, within_s: Option<[f64; 2]> },
}

/// From when a time counts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Since {
    /// Time 0.
    Zero,
    /// The end of the flow's handshake at its sender.
    Established,
}

/// What is compared of the flows of two runs.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum PairedOf {
    /// Their completion times, in seconds.
    #[default]
    Fct,
    /// Their bytes by those times, in bits per second.
    Throughput,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Compare {
    /// The one minus the other.
    Difference,
    /// The one by the other.
    Ratio,
    /// The other by the one.
    Inverse,
}

impl Compare {
    /// Of the one and the other; None for what cannot be divided.
    pub fn of(self, one: f64, other: f64) -> Option<f64> {
        let value = match self {
            Compare::Difference => one - other,
            Compare::Ratio => one / other,
            Compare::Inverse => other / one,
        };
        Some(value).filter(|value| value.is_finite())
    }
}

/// What must be kept of a run for a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Looks while it goes on.
    pub looks: bool,
    /// At each look all flows.
    pub flows: bool,
    /// At each look what has arrived of all flows.
    pub arrived: bool,
}

/// Whose goodputs make up a sampled index: receivers whose smoothed goodput is more than 100 bit/s,
/// and of those
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Over {
    /// all, also those that have everything and whose meter still falls;
    Metered,
    /// those that still wait for something.
    Unfinished,
}

/// Which of several values.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Take {
    Mean,
    Lowest,
    Highest,
    /// The 5th percentile, by linear interpolation between ranks.
    P5,
    /// The median.
    P50,
    /// The 95th percentile.
    P95,
    /// The standard deviation (divisor n) by the mean.
    Spread,
}

impl Take {
    pub fn of(self, values: &[f64]) -> Option<f64> {
        let all = values.iter().copied();
        match self {
            Take::Mean => mean(values),
            Take::Lowest => all.reduce(f64::min),
            Take::Highest => all.reduce(f64::max),
            Take::P5 => percentile(values, 0.05),
            Take::P50 => percentile(values, 0.5),
            Take::P95 => percentile(values, 0.95),
            Take::Spread => {
                let mean = mean(values).filter(|&mean| mean > 0.0)?;
                let squares = all.map(|value| (value - mean) * (value - mean)).sum::<f64>();
                Some((squares / values.len() as f64).sqrt() / mean)
            }
        }
    }
}

impl Measure {
    /// The interface that it is about.
    pub fn port(&self) -> Option<&str> {
        match self {
            Measure::CacheReaches { port, .. }
            | Measure::Cache { port, .. }
            | Measure::PortOutput { port, .. }
            | Measure::ShareSlopes { port, .. }
            | Measure::PassedRatio { port, .. }
            | Measure::PassedAll { port, .. }
            | Measure::FirstEntry { port, .. } => Some(port),
            _ => None,
        }
    }

    /// The class of flows that looks are at.
    pub fn class(&self) -> Option<&str> {
        match self {
            Measure::ClassGoodput { class, .. }
            | Measure::ClassReaches { class, .. }
            | Measure::PhaseShare { class, .. } => Some(class),
            _ => None,
        }
    }

    /// The class of flows that it is about, looked at or not.
    fn of_class(&self) -> Option<&str> {
        match self {
            Measure::ClassMetric { class, .. }
            | Measure::ClassRatio { class, .. }
            | Measure::ClassShare { class }
            | Measure::ClassSums { class, .. } => Some(class),
            Measure::FlowSpread { class, .. }
            | Measure::Against { class, .. }
            | Measure::JainBins { class, .. }
            | Measure::ThroughputBins { class, .. } => class.as_deref(),
            _ => self.class(),
        }
    }

    /// The class of flows that it compares with, of the same run.
    fn to_class(&self) -> Option<&str> {
        match self {
            Measure::ClassRatio { to, .. } => Some(to),
            Measure::ClassSums { to, .. } => to.as_deref(),
            _ => None,
        }
    }

    /// The phase whose share it takes of the flows of a class.
    pub fn phase(&self) -> Option<&str> {
        match self {
            Measure::PhaseShare { phase, .. } => Some(phase),
            _ => None,
        }
    }

    /// The window, in packets, whose delay it takes from the profile of flow 1.
    pub fn profile_packets(&self) -> Option<f64> {
        match self {
            Measure::ProfileFollows { packets, .. } => Some(*packets),
            _ => None,
        }
    }

    /// The protocol that it compares with.
    pub fn other(&self) -> Option<&str> {
        match self {
            Measure::Paired { with, .. } | Measure::Against { with, .. } => Some(with),
            _ => None,
        }
    }

    /// True if the reference of the run must be worked out for it.
    pub fn needs_reference(&self) -> bool {
        matches!(self, Measure::Reference(_))
    }

    /// What must be kept of a run for it.
    pub fn needs(&self) -> Needs {
        match self {
            Measure::Metric(_)
            | Measure::ClassMetric { .. }
            | Measure::ClassRatio { .. }
            | Measure::ClassSums { .. }
            | Measure::ClassShare { .. }
            | Measure::Utilisation { .. }
            | Measure::MeanUtilisation
            | Measure::UtilisationShare { .. }
            | Measure::DetouredShare
            | Measure::Paired { .. }
            | Measure::FlowMetric { .. }
            | Measure::FlowShare { .. }
            | Measure::FlowSpread { .. }
            | Measure::Against { .. }
            | Measure::TraceUtilisation { .. }
            | Measure::Channel { .. }
            | Measure::Reference(_)
            | Measure::Drops(_)
            | Measure::FirstEntry { .. } => Needs::default(),
            Measure::LinkRate { .. }
            | Measure::LinkShare { .. }
            | Measure::QueueDelay { .. }
            | Measure::PhaseShare { .. }
            | Measure::ClassGoodput { .. }
            | Measure::ClassReaches { .. }
            | Measure::ProfileFollows { .. } => Needs { looks: true, ..Needs::default() },
            Measure::JainBins { .. } | Measure::ThroughputBins { .. } => {
                Needs { looks: true, flows: false, arrived: true }
            }
            _ => Needs { looks: true, flows: true, arrived: false },
        }
    }

    /// Errors with what cannot be measured in `scenario`.
    pub fn check(&self, scenario: &Scenario) -> Result<(), String> {
        self.flows().into_iter().try_for_each(|flow| match flow as usize {
            n if (1..=scenario.flows.len()).contains(&n) => Ok(()),
            _ => Err(format!("there is no flow {flow} among {}", scenario.flows.len())),
        })?;
        let mut stretches = self.within_s().into_iter().chain(self.epochs_s().iter().copied());
        if let Some([from, until]) = stretches.find(|[from, until]| !(0.0 <= *from && from < until))
        {
            return Err(format!("expected a stretch of time, found {from} to {until}"));
        }
        let protocols = scenario.protocol_names();
        self.of_class().into_iter().chain(self.to_class()).try_for_each(|class| {
            let mut of_flows = scenario.flows.iter();
            if of_flows.any(|flow| protocols.iter().any(|p| flow.classes(p).contains(&class))) {
                Ok(())
            } else {
                Err(format!("no flow has the class `{class}`"))
            }
        })?;
        let link = match self {
            Measure::LinkRate { link, .. }
            | Measure::LinkShare { link, .. }
            | Measure::QueueDelay { link, .. }
            | Measure::TraceUtilisation { link }
            | Measure::Channel { link, .. }
            | Measure::ProfileFollows { link, .. }
            | Measure::Utilisation { link } => Some(link.as_str()),
            _ => self.port(),
        };
        // An experiment has hundreds of rows, a network thousands of links.
        link.map_or(Ok(()), |link| named("link", link, LinkNames::new(scenario).iter()))?;
        self.check_values(scenario)
    }

    /// The same of its other keys.
    fn check_values(&self, scenario: &Scenario) -> Result<(), String> {
        match self {
            Measure::TraceUtilisation { link } | Measure::Channel { link, .. }
                if !scenario.traced_links().contains(link) =>
            {
                Err(format!("the link `{link}` follows no trace"))
            }
            Measure::ThroughputBins { flow: Some(_), class: Some(_), .. } => {
                Err("expected a flow or a class, found both".to_string())
            }
            Measure::Channel { statistic, .. } => {
                named("statistic of channels", statistic, CHANNEL.iter().map(|(name, _)| *name))
            }
            Measure::FlowMetric { metric, .. } | Measure::FlowSpread { of: metric, .. } => {
                named("number of flows", metric, names(FlowResult::default().numbers()))
            }
            Measure::ClassSums { of, by, .. } => [of, by].into_iter().try_for_each(|number| {
                named("number of flows", number, names(FlowResult::default().numbers()))
            }),
            Measure::Metric(name) | Measure::Against { metric: name, class: None, .. } => {
                named("metric", name, names(Metrics::default().numbers()))
            }
            Measure::ClassMetric { metric, .. }
            | Measure::ClassRatio { metric, .. }
            | Measure::Against { metric, class: Some(_), .. } => {
                named("metric of classes", metric, names(ClassMetrics::default().numbers()))
            }
            Measure::ClassReaches { over_s, .. } | Measure::ProfileFollows { over_s, .. }
                if *over_s <= 0.0 =>
            {
                Err(format!("expected more than 0 seconds, found {over_s}"))
            }
            Measure::Reference(name) => {
                named("number of the reference", name, names(Reference::default().numbers()))
            }
            Measure::Drops(reason) => {
                named("reason", reason, DropReason::ALL.iter().map(|reason| reason.name()))
            }
            Measure::FirstEntry { state, .. } => {
                named("state", state, State::ALL.iter().map(|state| state.name()))
            }
            Measure::PortOutput { every_s, .. }
            | Measure::JainSampled { every_s, .. }
            | Measure::JainBins { every_s, .. }
            | Measure::ThroughputBins { every_s, .. }
                if *every_s <= 0.0 =>
            {
                Err(format!("expected more than 0 seconds, found {every_s}"))
            }
            Measure::ProfileFollows { packets, .. } if *packets < 1.0 => {
                Err(format!("expected a window of 1 packet or more, found {packets}"))
            }
            Measure::SlowStartPeak { segment_bytes: 0, .. } => {
                Err("expected segments of 1 byte or more, found 0".to_string())
            }
            _ => Ok(()),
        }
    }

    fn flows(&self) -> Vec<u32> {
        match self {
            Measure::CompletedAt { flow }
            | Measure::SentAll { flow, .. }
            | Measure::PassedAll { flow, .. }
            | Measure::SlowStartPeak { flow, .. }
            | Measure::FlowMetric { flow, .. }
            | Measure::FlowShare { flow }
            | Measure::ThroughputBins { flow: Some(flow), .. }
            | Measure::Goodput { flow, .. } => vec![*flow],
            Measure::ShareSlopes { flows, .. } | Measure::PassedRatio { flows, .. } => {
                flows.clone()
            }
            _ => Vec::new(),
        }
    }

    fn epochs_s(&self) -> &[[f64; 2]] {
        match self {
            Measure::ClassGoodput { epochs_s, .. }
            | Measure::LinkShare { epochs_s, .. }
            | Measure::QueueDelay { epochs_s, .. } => epochs_s,
            _ => &[],
        }
    }

    fn within_s(&self) -> Option<[f64; 2]> {
        match self {
            Measure::Cache { within_s, .. }
            | Measure::LinkRate { within_s, .. }
            | Measure::Goodput { within_s, .. }
            | Measure::PortOutput { within_s, .. }
            | Measure::ShareSlopes { within_s, .. }
            | Measure::ProfileFollows { within_s, .. }
            | Measure::PassedRatio { within_s, .. } => Some(*within_s),
            Measure::JainSampled { within_s, .. }
            | Measure::JainBins { within_s, .. }
            | Measure::ThroughputBins { within_s, .. } => *within_s,
            _ => None,
        }
    }
}

type Statistic = fn(&TraceStatistics) -> f64;

/// The statistics of channels, by name.
pub(super) const CHANNEL: &[(&str, Statistic)] = &[
    ("seconds", |of| of.seconds),
    ("opportunities", |of| of.opportunities as f64),
    ("mean_mbps", |of| of.mean_mbps),
    ("cv_20ms", |of| of.cv_20ms),
    ("cv_100ms", |of| of.cv_100ms),
    ("cv_1s", |of| of.cv_1s),
    ("autocorrelation_100ms", |of| of.autocorrelation_100ms),
    ("autocorrelation_1s", |of| of.autocorrelation_1s),
    ("autocorrelation_10s", |of| of.autocorrelation_10s),
    ("quantiles_1s_mbps_p5", |of| of.quantiles_1s_mbps[0]),
    ("quantiles_1s_mbps_p50", |of| of.quantiles_1s_mbps[1]),
    ("quantiles_1s_mbps_p95", |of| of.quantiles_1s_mbps[2]),
    ("empty_20ms", |of| of.empty_20ms),
    ("burst_mean", |of| of.burst[0]),
    ("burst_p50", |of| of.burst[1]),
    ("burst_p95", |of| of.burst[2]),
    ("gap_ms_mean", |of| of.gap_ms[0]),
    ("gap_ms_p50", |of| of.gap_ms[1]),
    ("gap_ms_p95", |of| of.gap_ms[2]),
    ("silences_per_minute", |of| of.silences_per_minute),
    ("silences_20ms_per_minute", |of| of.silences_20ms_per_minute),
    ("silences_50ms_per_minute", |of| of.silences_50ms_per_minute),
    ("silences_100ms_per_minute", |of| of.silences_100ms_per_minute),
    ("silences_1s_per_minute", |of| of.silences_1s_per_minute),
];

fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, share)
}

fn names(
    numbers: impl IntoIterator<Item = (&'static str, Option<f64>)>,
) -> impl Iterator<Item = &'static str> {
    numbers.into_iter().map(|(name, _)| name)
}

fn named<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let known: Vec<&str> = known.collect();
    if known.contains(&name) {
        Ok(())
    } else {
        Err(format!("there is no {what} `{name}`; one of: {}", known.join(", ")))
    }
}
