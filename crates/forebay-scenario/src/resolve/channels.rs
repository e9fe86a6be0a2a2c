//! The channels that links name: trace files, generators, buckets.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::{Spanned, shown};
use crate::format::files::Files;
use crate::format::input;
use crate::format::traces::{self, TraceFileError};
use crate::format::units::Number;
use crate::keys::channels::{
    BucketTable, GeneratorKey, GeneratorTable, Offset, TraceKey, TraceTable,
};
use crate::model::channels::{Channel, GeneratedTrace, TraceFile};
use forebay_base::{Rate, Span};
use forebay_net::{CHANNEL_PROFILES, ChannelProfile, DeliveryTrace};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl GeneratorKey {
    /// The keys of a generated trace.
    pub fn describe(generated: &GeneratedTrace) -> GeneratorKey {
        let GeneratedTrace { profile, seconds, scale, seed, offset } = *generated;
        GeneratorKey(GeneratorTable {
            name: Spanned::new(profile.name.to_string()),
            length: Some(Spanned::new(Span::from_secs(seconds.into()))),
            scale: Some(Spanned::new(Number(scale))),
            seed: seed.map(|seed| Spanned::new(seed as u32)),
            offset: (offset != Offset::default()).then(|| Spanned::new(offset)),
        })
    }
    /// The values of the keys.
    pub fn resolve(&self) -> Result<GeneratedTrace, Fault> {
        let GeneratorTable { name, length, scale, seed, offset } = &self.0;
        let profile = ChannelProfile::find(&name.value).ok_or_else(|| {
            let problem = Problem::UnknownName { kind: "generator", name: name.value.clone() };
            name.fault(problem).suggest(&name.value, CHANNEL_PROFILES.iter().map(|p| p.name))
        })?;
        const SECOND_NS: u64 = 1_000_000_000;
        let whole = |at: &Spanned<Span>| {
            let ns = at.value.as_nanos();
            let fits = ns.is_multiple_of(SECOND_NS) && (1..=3_600).contains(&(ns / SECOND_NS));
            let (found, expected) = (shown(&at.value), "whole seconds, 1s to 3600s".to_string());
            let seconds = (ns / SECOND_NS) as u32;
            if fits { Ok(seconds) } else { Err(at.fault(Problem::OutOfRange { found, expected })) }
        };
        let scaled = |at: &Spanned<Number>| {
            if at.value.0 > 0.0 && at.value.0 <= 100.0 {
                Ok(at.value.0)
            } else {
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
        let offset = (file.offset != Offset::default()).then(|| Spanned::new(file.offset));
        TraceKey(TraceTable { file: Spanned::new(file.path.clone()), offset })
    }
}

/// The trace files of a scenario, each read once.
#[derive(Debug, Default)]
pub(crate) struct TraceFiles {
    files: Files,
    /// Rates that a trace stands in place of, as sentences.
    unused: RefCell<BTreeSet<String>>,
    known: RefCell<BTreeMap<String, Arc<DeliveryTrace>>>,
}

impl TraceFiles {
    /// None read yet.
    pub fn new(files: Files) -> TraceFiles {
        TraceFiles { files, ..TraceFiles::default() }
    }
    /// A rate is given next to a trace.
    pub fn note_unused(&self, rate: &Spanned<Rate>, trace: &str) {
        let note = format!("{} is not used: {trace} says the rate", rate.key);
        self.unused.borrow_mut().insert(note);
    }
    /// Notes for readers of the results.
    pub fn notes(&self) -> Vec<String> {
        self.unused.borrow().iter().cloned().collect()
    }
    /// The trace that a key names.
    pub fn open(&self, key: &Spanned<TraceKey>) -> Result<TraceFile, Fault> {
        let TraceTable { file, offset } = &key.value.0;
        let path = self.files.path(&file.value).display().to_string();
        let known = self.known.borrow().get(&path).cloned();
        let trace = match known {
            Some(trace) => trace,
            None => {
                let trace = Arc::new(self.read(file, &path)?);
                self.known.borrow_mut().insert(path.clone(), Arc::clone(&trace));
                trace
            }
        };
        let offset = offset.as_ref().map_or(Offset::default(), |at| at.value);
        Ok(TraceFile { path, trace, offset })
    }
    fn read(&self, file: &Spanned<String>, path: &str) -> Result<DeliveryTrace, Fault> {
        let opened = self.files.open(&file.value).map_err(|error| TraceFileError::Io {
            what: "read",
            path: path.to_string(),
            why: input::reason(&error),
        });
        let read = opened.and_then(|bytes| traces::parse_trace(bytes, path));
        read.map_err(|error| fault(file, error))
    }
}

/// A bucket in front of a link, checked against its rate and the longest packet in bytes.
pub(crate) fn bucket_of(
    bucket: &Spanned<BucketTable>,
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

fn fault(file: &Spanned<String>, error: TraceFileError) -> Fault {
    match error {
        TraceFileError::Io { path, why, .. } => {
            let hint = format!("give the file with --set {}=PATH", file.set_path());
            file.fault(Problem::File { path, why }).hint(hint)
        }
        error => file.fault(Problem::Trace(error.to_string())),
    }
}
