//! What a row of an experiment is measured by: a closed set of kinds, each one line of a file.

use forebay_base::DropReason;
use forebay_reference::Reference;
use forebay_report::{ClassMetrics, Metrics};
use forebay_router::inrpp::State;
use forebay_scenario::LinkNames;
use forebay_scenario::Scenario;
use forebay_scenario::statistics::mean;
use serde::Deserialize;
use std::collections::BTreeSet;

/// How a quantity is measured. Times are in seconds of simulated time; flows count from 1; ports
/// and links are named after their ends: "0-2" is what feeds the link from 0 to 2.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Measure {
    /// A metric of the run that is one number.
    Metric(String),
    /// A metric of the flows of a class.
    ClassMetric { class: String, metric: String },
    /// Busy share of a directed link between routers, in the window of the run.
    Utilisation { link: String },
    /// What the same flows have under two protocols of the set-up with the same seed. Of the flows
    /// that completed in both, of this class or of one that begins with its name and a hyphen, and
    /// of more than so many bytes: the mean of the differences of their completion times, or the
    /// ratio of the means.
    Paired {
        with: String,
        class: Option<String>,
        #[serde(default)]
        over_bytes: u64,
        take: Compare,
    },
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
    /// When a cache first held so many bytes, to within a look.
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
    /// Share of the rate of a directed link that it took, headers and framing included; the mean
    /// over the epochs.
    LinkShare { link: String, epochs_s: Vec<[f64; 2]> },
    /// The longest that the receivers of a class took to get `bps` per flow, in the `over_s` before,
    /// from one of these times on.
    ClassReaches { class: String, bps: f64, over_s: f64, after_s: Vec<f64> },
    /// Bits per second of IP packets that left an interface, detours included; in windows of
    /// `every_s`.
    PortOutput { port: String, within_s: [f64; 2], every_s: f64, take: Take },
    /// The smallest by the largest slope of the cached bytes of flows: 1 if all grow, or shrink,
    /// alike; 0 if one grows while another shrinks.
    ShareSlopes { port: String, flows: Vec<u32>, within_s: [f64; 2] },
    /// Payload of flows that left an interface by payload that their receivers got.
    PassedRatio { port: String, flows: Vec<u32>, within_s: [f64; 2] },
    /// The largest window of a sender, in segments of so many bytes, up to the look at which it
    /// first has a slow start threshold: its first slow start is over.
    SlowStartPeak { flow: u32, segment_bytes: u32 },
    /// Mean over time (all of it if no stretch is given) of Jain's index over smoothed goodputs,
    /// sampled so often.
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

/// How two values are compared.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Compare {
    /// The one minus the other.
    Difference,
    /// The one by the other.
    Ratio,
}

/// What must be kept of a run for a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Looks while it goes on.
    pub looks: bool,
    /// At each look all flows.
    pub flows: bool,
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
}

impl Take {
    pub fn of(self, values: &[f64]) -> Option<f64> {
        let all = values.iter().copied();
        match self {
            Take::Mean => mean(values),
            Take::Lowest => all.reduce(f64::min),
            Take::Highest => all.reduce(f64::max),
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
            Measure::ClassGoodput { class, .. } | Measure::ClassReaches { class, .. } => {
                Some(class)
            }
            _ => None,
        }
    }

    /// The protocol that it compares with.
    pub fn other(&self) -> Option<&str> {
        match self {
            Measure::Paired { with, .. } => Some(with),
            _ => None,
        }
    }

    /// What must be kept of a run for it.
    pub fn needs(&self) -> Needs {
        match self {
            Measure::Metric(_)
            | Measure::ClassMetric { .. }
            | Measure::Utilisation { .. }
            | Measure::Paired { .. }
            | Measure::Reference(_)
            | Measure::Drops(_)
            | Measure::FirstEntry { .. } => Needs::default(),
            Measure::LinkRate { .. }
            | Measure::LinkShare { .. }
            | Measure::ClassGoodput { .. }
            | Measure::ClassReaches { .. } => Needs { looks: true, flows: false },
            _ => Needs { looks: true, flows: true },
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
        let class = match self {
            Measure::ClassMetric { class, .. } => Some(class.as_str()),
            _ => self.class(),
        };
        class.map_or(Ok(()), |class| {
            let classes: BTreeSet<&str> =
                scenario.protocol_names().iter().flat_map(|p| scenario.classes(p)).collect();
            match classes.contains(class) {
                true => Ok(()),
                false => Err(format!("no flow has the class `{class}`")),
            }
        })?;
        let links = LinkNames::new(scenario);
        let link = match self {
            Measure::LinkRate { link, .. }
            | Measure::LinkShare { link, .. }
            | Measure::Utilisation { link } => Some(link.as_str()),
            _ => self.port(),
        };
        link.map_or(Ok(()), |link| named("link", link, links.iter()))?;
        match self {
            Measure::Metric(name) => named("metric", name, names(Metrics::default().numbers())),
            Measure::ClassMetric { metric, .. } => {
                named("metric of classes", metric, names(ClassMetrics::default().numbers()))
            }
            Measure::ClassReaches { over_s, .. } if *over_s <= 0.0 => {
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
            Measure::PortOutput { every_s, .. } | Measure::JainSampled { every_s, .. }
                if *every_s <= 0.0 =>
            {
                Err(format!("expected more than 0 seconds, found {every_s}"))
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
            | Measure::Goodput { flow, .. } => vec![*flow],
            Measure::ShareSlopes { flows, .. } | Measure::PassedRatio { flows, .. } => {
                flows.clone()
            }
            _ => Vec::new(),
        }
    }

    fn epochs_s(&self) -> &[[f64; 2]] {
        match self {
            Measure::ClassGoodput { epochs_s, .. } | Measure::LinkShare { epochs_s, .. } => {
                epochs_s
            }
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
            | Measure::PassedRatio { within_s, .. } => Some(*within_s),
            Measure::JainSampled { within_s, .. } => *within_s,
            _ => None,
        }
    }
}

fn names(
    numbers: impl IntoIterator<Item = (&'static str, Option<f64>)>,
) -> impl Iterator<Item = &'static str> {
    numbers.into_iter().map(|(name, _)| name)
}

fn named<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let known: Vec<&str> = known.collect();
    match known.contains(&name) {
        true => Ok(()),
        false => Err(format!("there is no {what} `{name}`; one of: {}", known.join(", "))),
    }
}
