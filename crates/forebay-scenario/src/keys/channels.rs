//! How fast a link transmits: the keys `trace` of links, beside their rate.

use crate::format::error::{Fault, Problem};
use crate::format::fields::{
    At, Field, Fields, Section, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::traces::{self, OPPORTUNITY_BYTES, TraceFileError};
use crate::format::units::{Bytes, Number};
use crate::resolve::text::shown;
use forebay_base::{Rate, Rng, Span, Stream};
use forebay_net::{BucketSpec, CHANNEL_PROFILES, ChannelProfile, ChannelSpec, DeliveryTrace};
use serde_json::{Value as Json, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How fast one direction of a link transmits.
#[derive(Clone, Debug, PartialEq)]
pub enum Channel {
    /// At its rate.
    Constant,
    /// By a delivery trace of a file.
    Trace(TraceFile),
    /// By a trace that is generated for each seed.
    Generated(GeneratedTrace),
    /// By a token bucket that its rate fills.
    Bucket {
        /// Bytes that the bucket holds.
        burst_bytes: u64,
        /// Rate of what has its tokens.
        peak: Rate,
    },
}

/// A delivery trace of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile {
    /// The file, relative to the current folder or absolute.
    pub path: String,
    /// What it holds.
    pub trace: Arc<DeliveryTrace>,
    /// Where in the trace a run begins.
    pub offset: Offset,
}

/// A delivery trace that a run generates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratedTrace {
    /// The model.
    pub profile: &'static ChannelProfile,
    /// Length in s, after which it repeats.
    pub seconds: u32,
    /// The rate is so many times that of the profile.
    pub scale: f64,
    /// Its seed; None: drawn for each seed of a run and each direction of a link.
    pub seed: Option<u64>,
    /// Where in the trace a run begins.
    pub offset: Offset,
}

impl GeneratedTrace {
    /// The mean rate that it is scaled to, with the overhead of mahimahi.
    pub fn rate(&self) -> Rate {
        let bytes = f64::from(OPPORTUNITY_BYTES) / 1500.0;
        Rate::clamped((self.profile.rate_mbps() * self.scale * bytes * 1e6) as u64)
    }
    /// The trace of a seed.
    pub fn generate(&self, seed: u64) -> Arc<DeliveryTrace> {
        let trace = self.profile.generate(seed, self.seconds, self.scale, OPPORTUNITY_BYTES);
        Arc::new(trace.expect("there is an opportunity at the end of a trace"))
    }
}

/// Where in a trace a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// So long after its start.
    At(Span),
    /// Drawn for each seed and each direction, uniformly from the whole trace.
    Random,
}

impl Offset {
    /// What it is for the directed link `link` of a run with `seed`, in a trace that repeats after
    /// `period`.
    fn of(self, period: Span, seed: u64, link: u64) -> Span {
        match self {
            Offset::At(span) => span,
            Offset::Random => {
                let mut rng = Rng::new(seed, Stream::ChannelOffset, link);
                Span::from_nanos(rng.below(period.as_nanos()))
            }
        }
    }
}

impl Channel {
    /// The trace that it follows, if that is in a file.
    pub fn file(&self) -> Option<&TraceFile> {
        match self {
            Channel::Trace(file) => Some(file),
            Channel::Constant | Channel::Generated(_) | Channel::Bucket { .. } => None,
        }
    }
    /// True if it says the rate at all times, and events cannot.
    pub(crate) fn is_trace(&self) -> bool {
        matches!(self, Channel::Trace(_) | Channel::Generated(_))
    }
    /// True if the seed makes a difference.
    pub(crate) fn is_random(&self) -> bool {
        match self {
            Channel::Trace(file) => file.offset == Offset::Random,
            Channel::Generated(GeneratedTrace { seed, offset, .. }) => {
                seed.is_none() || *offset == Offset::Random
            }
            Channel::Constant | Channel::Bucket { .. } => false,
        }
    }
    /// What a run with `seed` builds for the directed link `link`.
    pub(crate) fn build(&self, rate: Rate, seed: u64, link: u64) -> ChannelSpec {
        match self {
            Channel::Constant => ChannelSpec::Constant(rate),
            Channel::Generated(generated) => {
                let drawn = || Rng::new(seed, Stream::Channel, link).next_u64();
                let trace = generated.generate(generated.seed.unwrap_or_else(drawn));
                let offset = generated.offset.of(trace.period(), seed, link);
                ChannelSpec::Trace { trace, offset }
            }
            &Channel::Bucket { burst_bytes, peak } => {
                ChannelSpec::Bucket(BucketSpec { rate, burst_bytes, peak })
            }
            Channel::Trace(TraceFile { trace, offset, .. }) => {
                let offset = offset.of(trace.period(), seed, link);
                ChannelSpec::Trace { trace: Arc::clone(trace), offset }
            }
        }
    }
}

sections! {
    /// A generated delivery trace.
    pub struct GeneratorTable {
        required {
            /// The model: a name that `forebay channel generate --help` lists. Example:
            /// "city-driving".
            name: String,
        }
        optional {
            /// Length in whole seconds, after which the trace repeats. Range: 1s to 3600s. Default:
            /// "300s".
            length: Span,
            /// Multiplies the rate of the model. Measured uplinks have 0.22 to 0.25 of the rate of
            /// their downlinks. Range: more than 0, at most 100. Default: 1. Example: 0.25.
            scale: Number,
            /// Seed of the trace. Without it, each seed of a run and each direction has a trace of
            /// its own.
            seed: u32,
            /// Where in the trace a run begins: a time, or "random", drawn for each seed and
            /// direction. Default: "0s". Example: "random".
            offset: Offset,
        }
    }
    /// A token bucket.
    pub struct BucketTable {
        required {
            /// Capacity of the bucket. Range: one packet of the MTU or more. Example: "100kB".
            burst: Bytes,
        }
        optional {
            /// Rate at which a burst leaves. Range: the rate of the link or more. Default:
            /// "400Gbit/s". Example: "1Gbit/s".
            peak: Rate,
        }
    }
    /// A delivery trace.
    pub struct TraceTable {
        required {
            /// File in mahimahi's format, relative to the scenario file. Example: "lte.down".
            file: String,
        }
        optional {
            /// Where in the trace a run begins: a time, or "random", drawn for each seed and
            /// direction. Default: "0s". Example: "random".
            offset: Offset,
        }
    }
}

impl Field for Offset {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::String(text) if text == "random" => Ok(Offset::Random),
            Value::String(text) if text.starts_with(|first: char| first.is_ascii_digit()) => {
                Span::read(item, key).map(Offset::At)
            }
            _ => Err(item.expected(key, "a time such as \"5s\", or \"random\"")),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            Offset::At(span) => span.write(),
            Offset::Random => toml::Value::String("random".into()),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [Span::schema(), { "const": "random" }] })
    }
    fn stand_in() -> Option<Self> {
        Some(Offset::At(Span::ZERO))
    }
}

impl Default for Offset {
    fn default() -> Self {
        Offset::At(Span::ZERO)
    }
}

/// A trace: its file, or a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct TraceKey(pub TraceTable);

impl Field for TraceKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => TraceTable::read(item, key).map(TraceKey),
            Value::String(_) => {
                Ok(TraceKey(TraceTable { file: At::read(item, key)?, offset: None }))
            }
            _ => {
                let expected =
                    "a file, or a table such as { file = \"lte.trace\", offset = \"random\" }";
                Err(item.expected(key, expected))
            }
        }
    }
    fn write(&self) -> toml::Value {
        if self.0.offset.is_none() { self.0.file.write() } else { self.0.write() }
    }
    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), TraceTable::schema()] })
    }
}

/// A generator: its name, or a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratorKey(pub GeneratorTable);

impl Field for GeneratorKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => GeneratorTable::read(item, key).map(GeneratorKey),
            Value::String(_) => {
                let name = At::read(item, key)?;
                Ok(GeneratorKey(GeneratorTable { name, ..GeneratorTable::default() }))
            }
            _ => {
                let expected = "a name such as \"city-driving\", or a table such as { name = \
                                \"city-driving\", scale = 0.25 }";
                Err(item.expected(key, expected))
            }
        }
    }
    fn write(&self) -> toml::Value {
        self.0.write()
    }
    fn schema() -> Json {
        let names: Vec<&str> = CHANNEL_PROFILES.iter().map(|profile| profile.name).collect();
        json!({ "anyOf": [{ "enum": names }, GeneratorTable::schema()] })
    }
}

impl GeneratorKey {
    /// The keys of a generated trace.
    pub fn describe(generated: &GeneratedTrace) -> GeneratorKey {
        let GeneratedTrace { profile, seconds, scale, seed, offset } = *generated;
        GeneratorKey(GeneratorTable {
            name: At::new(profile.name.to_string()),
            length: Some(At::new(Span::from_secs(seconds.into()))),
            scale: Some(At::new(Number(scale))),
            seed: seed.map(|seed| At::new(seed as u32)),
            offset: (offset != Offset::default()).then(|| At::new(offset)),
        })
    }
    /// What the keys say.
    pub fn resolve(&self) -> Result<GeneratedTrace, Fault> {
        let GeneratorTable { name, length, scale, seed, offset } = &self.0;
        let profile = ChannelProfile::find(&name.value).ok_or_else(|| {
            let problem = Problem::UnknownName { kind: "generator", name: name.value.clone() };
            name.fault(problem).suggest(&name.value, CHANNEL_PROFILES.iter().map(|p| p.name))
        })?;
        const SECOND_NS: u64 = 1_000_000_000;
        let whole = |at: &At<Span>| {
            let ns = at.value.as_nanos();
            let fits = ns.is_multiple_of(SECOND_NS) && (1..=3_600).contains(&(ns / SECOND_NS));
            let (found, expected) = (shown(&at.value), "whole seconds, 1s to 3600s".to_string());
            let seconds = (ns / SECOND_NS) as u32;
            if fits { Ok(seconds) } else { Err(at.fault(Problem::OutOfRange { found, expected })) }
        };
        let scaled = |at: &At<Number>| match at.value.0 > 0.0 && at.value.0 <= 100.0 {
            true => Ok(at.value.0),
            false => {
                let (found, expected) =
                    (at.value.0.to_string(), "above 0, at most 100".to_string());
                Err(at.fault(Problem::OutOfRange { found, expected }))
            }
        };
        Ok(GeneratedTrace {
            profile,
            seconds: length.as_ref().map(whole).transpose()?.unwrap_or(300),
            scale: scale.as_ref().map(scaled).transpose()?.unwrap_or(1.0),
            seed: seed.as_ref().map(|at| u64::from(at.value)),
            offset: offset.as_ref().map_or(Offset::default(), |at| at.value),
        })
    }
}

impl TraceKey {
    /// The keys of a trace.
    pub fn describe(file: &TraceFile) -> TraceKey {
        let offset = (file.offset != Offset::default()).then(|| At::new(file.offset));
        TraceKey(TraceTable { file: At::new(file.path.clone()), offset })
    }
}

/// The trace files of a scenario, each read once.
#[derive(Debug, Default)]
pub(crate) struct TraceFiles {
    base: PathBuf,
    /// Rates that a trace stands in place of, as sentences.
    unused: RefCell<BTreeSet<String>>,
    read: RefCell<BTreeMap<String, Arc<DeliveryTrace>>>,
}

impl TraceFiles {
    /// Files whose paths are relative to `base`.
    pub fn new(base: &Path) -> TraceFiles {
        TraceFiles { base: base.to_path_buf(), ..TraceFiles::default() }
    }
    /// A rate stands beside a trace.
    pub fn note_unused(&self, rate: &At<Rate>, trace: &str) {
        let note = format!("{} is not used: {trace} says the rate", rate.key);
        self.unused.borrow_mut().insert(note);
    }
    /// What a reader of the results should know.
    pub fn notes(&self) -> Vec<String> {
        self.unused.borrow().iter().cloned().collect()
    }
    /// The trace that a key names.
    pub fn open(&self, key: &At<TraceKey>) -> Result<TraceFile, Fault> {
        let TraceTable { file, offset } = &key.value.0;
        let full = self.base.join(&file.value);
        let path = full.display().to_string();
        let known = self.read.borrow().get(&path).cloned();
        let trace = match known {
            Some(trace) => trace,
            None => {
                let read = traces::read_trace(&full).map_err(|error| fault(file, error))?;
                let trace = Arc::new(read);
                self.read.borrow_mut().insert(path.clone(), Arc::clone(&trace));
                trace
            }
        };
        let offset = offset.as_ref().map_or(Offset::default(), |at| at.value);
        Ok(TraceFile { path, trace, offset })
    }
}

/// A bucket in front of a link, checked against its rate and the longest packet in bytes.
pub(crate) fn bucket_of(
    bucket: &At<BucketTable>,
    rate: Rate,
    packet_bytes: u64,
) -> Result<Channel, Fault> {
    let BucketTable { burst, peak } = &bucket.value;
    let highest = Rate::clamped(u64::MAX);
    if burst.value.0 < packet_bytes {
        let expected = format!("{packet_bytes} bytes or more, a packet of the MTU");
        let found = shown(&burst.value);
        return Err(burst.fault(Problem::OutOfRange { found, expected }));
    }
    match peak {
        Some(peak) if peak.value < rate => {
            let expected = format!("the rate of the link ({}) or more", shown(&rate));
            Err(peak.fault(Problem::OutOfRange { found: shown(&peak.value), expected }))
        }
        peak => Ok(Channel::Bucket {
            burst_bytes: burst.value.0,
            peak: peak.as_ref().map_or(highest, |at| at.value),
        }),
    }
}

fn fault(file: &At<String>, error: TraceFileError) -> Fault {
    match error {
        TraceFileError::Io { path, why, .. } => {
            let hint = format!("give the file with --set {}=PATH", file.set_path());
            file.fault(Problem::File { path, why }).hint(hint)
        }
        error => file.fault(Problem::Trace(error.to_string())),
    }
}
