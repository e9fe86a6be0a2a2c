//! How a direction of a link transmits.

use crate::format::traces::OPPORTUNITY_BYTES;
use crate::keys::channels::Offset;
use forebay_base::{Rate, Rng, Span, Stream};
use forebay_net::{BucketSpec, ChannelProfile, ChannelSpec, DeliveryTrace};
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
    /// Multiplies the rate of the profile.
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

impl Offset {
    /// What it is for the directed link `link` of a run with `seed`, in a trace that repeats after
    /// `period`.
    fn of(self, period: Span, seed: u64, link: u64) -> Span {
        match self {
            Offset::Spanned(span) => span,
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
